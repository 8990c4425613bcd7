#!/usr/bin/env bash
# Makes a target of each server in another language, side by side: `scripts/servers.sh build`, or `test`, `lint`, `format`.
# What is up to date is left alone. A server whose language has not its tools on this machine is named, and the others go on.
# Exit 1: one could not be made.
set -uo pipefail
cd "$(dirname "$0")/../servers"
target=${1:?"which target? build, test, lint or format"}
# A `make` above this one has its own ideas of what is to be made.
unset MAKEFLAGS MFLAGS MAKELEVEL

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
declare -A running
for file in */Makefile; do
  name=${file%/Makefile}
  if ! why=$(make --silent --no-print-directory -C "$name" tools 2>&1); then
    echo "NOT RUN: servers/$name: ${why%%$'\n'*}"
    continue
  fi
  make --silent --no-print-directory -C "$name" "$target" >"$room/$name" 2>&1 </dev/null &
  running[$name]=$!
done
failed=0
for name in "${!running[@]}"; do
  if ! wait "${running[$name]}"; then
    printf '== servers/%s: make %s FAILED\n' "$name" "$target"
    failed=1
  fi
  cat "$room/$name"
done
exit "$failed"
