#!/bin/sh
# Words of our old dialect per 1,000 lines of Rust, for each crate. Below 20 is the aim; prints the crates from the most down.
set -eu
cd "$(dirname "$0")/.."
words='told|tell|tells|said|say|says|alone|beside|given|held|nobody|somebody|anybody|anew|lies|lie|lay|whoever|is no'
for folder in crates/*/ tests/ benches/; do
  files=$(find "$folder" -name '*.rs' -not -path '*/node_modules/*')
  [ -n "$files" ] || continue
  # Names of files have no blanks here.
  # shellcheck disable=SC2086
  cat $files | awk -v name="${folder%/}" -v words="(^|[^A-Za-z0-9_])($words)([^A-Za-z0-9_]|$)" '
    { line = $0; while (match(line, words)) { found++; line = substr(line, RSTART + RLENGTH - 1) } }
    END { printf "%6.1f  %-28s %5d of %6d lines\n", 1000 * found / NR, name, found, NR }'
done | sort -rn
