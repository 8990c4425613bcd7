#!/usr/bin/env bash
# Makes what users install: a tarball and, where `dpkg-deb` and `objdump` are there, a Debian package. Both have the program, a man page for each
# command, completions, the experiments and the licences.
# `scripts/dist.sh PROGRAM [FOLDER [LEVEL]]` writes them into FOLDER, `target/dist` otherwise, compressed as gzip does at that level, 9
# otherwise.
set -euo pipefail
umask 022
program=$(realpath "$1")
here=$(realpath "$(dirname "$0")/..")
folder=${2:-$here/target/dist}
level=${3:-9}
mkdir -p "$folder"
folder=$(realpath "$folder")
cd "$here"

version=$("$program" --version | cut -d' ' -f2)
machine=$(uname -m)
system=$(uname -s | tr '[:upper:]' '[:lower:]')
name=stackmark-$version-$machine-$system
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
root=$room/$name
mkdir -p "$root/bin" "$root/share/man/man1" "$root/share/stackmark/experiments" "$root/share/doc/stackmark"

install -m 755 "$program" "$root/bin/stackmark"

"$program" man >"$root/share/man/man1/stackmark.1"
# Commands as the help lists them: indented by two, before the options.
for command in $("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
  [[ $command != help ]] || continue
  "$program" man "$command" >"$root/share/man/man1/stackmark-$command.1"
done
gzip -9n "$root"/share/man/man1/*.1

completion() {
  mkdir -p "$root/share/$(dirname "$2")"
  "$program" completions "$1" >"$root/share/$2"
}
completion bash bash-completion/completions/stackmark
completion zsh zsh/site-functions/_stackmark
completion fish fish/vendor_completions.d/stackmark.fish

install -m 644 experiments/*.toml "$root/share/stackmark/experiments/"
install -m 644 README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$root/share/doc/stackmark/"

# The same bytes for the same files, whoever makes it.
export SOURCE_DATE_EPOCH=0
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$room" -c "$name" | gzip "-${level}n" >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"

command -v dpkg-deb >/dev/null && command -v objdump >/dev/null || exit 0
package=$room/package
mkdir -p "$package/DEBIAN" "$package/usr"
cp -a "$root/bin" "$root/share" "$package/usr/"
mv "$package/usr/share/doc/stackmark/LICENSE-MIT" "$package/usr/share/doc/stackmark/copyright"
mkdir -p "$package/usr/share/zsh/vendor-completions"
mv "$package/usr/share/zsh/site-functions/_stackmark" "$package/usr/share/zsh/vendor-completions/"
rmdir "$package/usr/share/zsh/site-functions"
architecture=$(dpkg --print-architecture)
# The newest version of the C library whose symbols it uses.
libc=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | cut -d_ -f2)
cat >"$package/DEBIAN/control" <<CONTROL
Package: stackmark
Version: $version
Architecture: $architecture
Maintainer: The Stackmark authors <https://github.com/stackmark/stackmark>
Section: database
Priority: optional
Depends: libc6 (>= $libc), libgcc-s1
Suggests: postgresql, mariadb-server
Homepage: https://github.com/stackmark/stackmark
Description: benchmark of full-stack transactional services, audited
 The same transactions, data and random stream straight to the database and
 through an HTTP service, with audits that invalidate a result whose data is
 wrong.
CONTROL
dpkg-deb --root-owner-group -Zgzip "-z$level" --build "$package" "$folder/stackmark_${version}_$architecture.deb" >/dev/null
echo "$folder/stackmark_${version}_$architecture.deb"
