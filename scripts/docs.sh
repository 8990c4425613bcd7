#!/usr/bin/env bash
# Makes the documentation as a book, in `target/book`, with mdBook: from PATH, else built into `target/tools`.
# Exit 1: a link of the book leads nowhere.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
home=https://github.com/stackmark/stackmark/blob/main
target=${CARGO_TARGET_DIR:-target}
export PATH=$PWD/target/tools/bin:$PATH
command -v mdbook >/dev/null ||
  "${CARGO:-cargo}" install mdbook --version "$version" --locked --no-default-features --root target/tools

source=$target/book-source
book=$PWD/$target/book
rm -rf "$source" "$book"
cp -r docs "$source"
# Raw results are files of the repository, and no pages.
rm -r "$source/results"
sed -E "s#\]\(((spec|servers|packaging|experiments|scripts|tests|crates|benches)/[^):]*|[A-Z]+(-[A-Z]+)?(\.md)?)\)#]($home/\1)#g" README.md | sed 's|](docs/|](|g' >"$source/README.md"
# What is outside of the book is in the repository.
while IFS= read -r page; do
  up=$(dirname "${page#"$source"/}" | sed 's|^\.$||; s|[^/][^/]*|..|g')
  sed -i -E \
    -e "s#\]\(${up:+$up/}\.\./README\.md#](${up:+$up/}README.md#g" \
    -e "s#\]\((\.\./)*results/#]($home/docs/results/#g" \
    -e "s#\]\(${up:+$up/}\.\./([^):]*)\)#]($home/\1)#g" "$page"
done < <(find "$source" -name '*.md')
# The first page of a folder is its index.
find "$source" -name '*.md' ! -name SUMMARY.md -exec sed -i -E 's#\]\((([a-z.]+/)*)README\.md#](\1index.md#g' {} +
mdbook build --dest-dir "$book" "$source"

failed=0
while IFS= read -r page; do
  while IFS= read -r link; do
    [[ -e $(dirname "$page")/$link ]] || { echo "error: ${page#"$book"/} links to $link, which is not there" >&2; failed=1; }
  done < <(grep -oE '(href|src)="[^"]+"' "$page" | sed -E 's/^[a-z]+="//; s/"$//; s/[?#].*$//' | grep -vE '^$|^[a-z]+:|^/' | sort -u)
done < <(find "$book" -name '*.html' ! -name 'print.html' ! -name '404.html' ! -name 'toc.html')
echo "open $book/index.html"
exit "$failed"
