#!/bin/sh
# How precise a comparison of three minutes is, by repeating it: a direct route and HTTP, whose A/A control must hold 1; and a server and the
# same with a planted spin in each call, which must be found. Prints a line for each comparison. Ten of each take some 80 minutes on a
# machine with nothing else to do. Needs PostgreSQL, Go, git and Python.
# `scripts/precision.sh STACKMARK [TIMES] [MICROSECONDS] [FOLDER]`; a spin of 40 µs is about 3 % of what a call takes on two cores.
set -eu
stackmark=$(realpath "$1")
times=${2:-10}
spin=${3:-40}
folder=${4:-results/precision}
mkdir -p "$folder"
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

# The server as it is here, and one commit later with the spin.
servers=$(dirname "$0")/../servers
cp -r "$servers/go" "$servers/sql" "$planted"
git -C "$planted" init --quiet --initial-branch main
commit() {
  git -C "$planted" add --all
  git -C "$planted" -c user.name=stackmark -c user.email=stackmark@localhost commit --quiet --message "$1"
  git -C "$planted" tag "$1"
}
commit as-it-is
sed -i "s|^\tslot.taken.Store(taken.UnixNano())|&\n\tfor until := taken.Add($spin * time.Microsecond); time.Now().Before(until); {\n\t}|" \
  "$planted/go/internal/engine/pool.go"
commit with-spin

compare() {
  name=$1
  shift
  for number in $(seq "$times"); do
    result=$folder/$name-$number.json
    "$stackmark" compare "$@" --scale 10 --time 3m --seed "$number" --json --out "$folder" </dev/null >"$result"
    python3 - "$name" "$number" "$result" <<'PRINT'
import json, sys

name, number, result = sys.argv[1:]
comparison = json.load(open(result))["experiment"]["comparisons"][0]
words = lambda ratio: f'{ratio["value"] * 100:.1f} % ({ratio["low"] * 100:.1f}–{ratio["high"] * 100:.1f})'
ratio, noise = comparison["ratio"], comparison["noise"]
half = (ratio["high"] - ratio["low"]) / 2 * 100
print(name, number, comparison["verdict"], words(ratio), f"±{half:.1f}", "A/A", words(noise["ratio"]) if noise else "none", sep="\t", flush=True)
PRINT
  done
}
compare http tpcc/postgres/tokio-postgres tpcc/postgres/axum+tokio-postgres
compare planted tpcc/postgres --server "$planted/go@as-it-is" --server "$planted/go@with-spin"
