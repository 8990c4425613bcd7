#!/usr/bin/env bash
# Runs every test there is and closes with one line of counts, which also goes to the file $TEST_COUNTS if that is set.
# Exit 1: a test failed, or, with CI=true, the browser tests could not run.
#
# Everything is linked once and then runs side by side, as many programs at a time as there are cores. Tests that need an
# engine, and not one of their own, share one of each kind, which is started here.
set -uo pipefail
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
  echo "error: bash $BASH_VERSION cannot wait for whichever program ends first; 5.1 or newer can" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
export CARGO=${CARGO:-cargo}

# Programs that take long, longest first; the others follow. Those that measure are disturbed by each other, and take turns.
longest=(tests/conformance tests/e2e tests/survive tests/engines rig/it browser admin/it)
measuring=' tests/e2e tests/survive tests/engines browser '
slots=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# A test that hangs (it was named after a minute) ends its program after this, and the other programs run.
limit=()
if timeout --verbose --kill-after=1 1 true 2>/dev/null; then
  limit=(timeout --verbose --kill-after=10 25m)
fi

room=$(mktemp -d)
# Not with the other temporary files, which may lie in memory; engines have accounts of their own, and pass through it.
engines=$(mktemp -d /var/tmp/stackmark-tests-XXXXXX)
chmod 711 "$engines"
notes=()
failed=0

clean() {
  trap '' INT TERM
  local job
  for job in $(jobs -p); do kill -- "-$job" 2>/dev/null; done
  wait
  [[ -z ${STACKMARK_BIN:-} ]] || STACKMARK_RIG_DIR=$engines "$STACKMARK_BIN" rig down >/dev/null
  rm -rf "$room" "$engines"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

scripts/setup-tests.sh
browser_ready=$?

# Beside what cargo builds.
scripts/servers.sh build >"$room/servers" 2>&1 &
servers=$!

# The tests, the binary that they run, the one with a workload of the tests' own beside it, and the example that they kill; a line for each target that was made.
built=$room/built
"$CARGO" build --release --workspace --locked --tests --bin stackmark --bin stackmark-toy --example hold \
  --message-format json-render-diagnostics >"$built" || { notes+=('FAILED: build'); failed=1; : >"$built"; }
STACKMARK_BIN=$(sed -n 's/.*"name":"stackmark".*"test":false},"features".*"executable":"\([^"]*\)".*/\1/p' "$built")
export STACKMARK_BIN
# The folder of a package, and the program: cargo runs one in the other.
mapfile -t programs < <(sed -n \
  's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"test":true},"features".*"executable":"\([^"]*\)".*/\1 \2/p' "$built")

declare -A command folder
for program in ${programs[@]+"${programs[@]}"}; do
  name=${program##*/}
  name=$(basename "${program% *}")/${name%-*}
  folder[$name]=${program% *} command[$name]=${program#* }
done
if [[ -f tests/browser/package.json ]]; then
  if ((browser_ready == 0)); then
    folder[browser]=tests/browser command[browser]='npm test'
  else
    notes+=('NOT RUN: browser tests, see setup-tests above')
    if [[ ${CI:-} == true ]]; then failed=1; fi
  fi
fi

# Servers in other languages have unit tests of their own. What they need and this machine has not is named by the tests of the
# whole, too, which would hold them to the contract.
if ! wait "$servers"; then
  notes+=('FAILED: a server in another language could not be built')
  failed=1
fi
cat "$room/servers"
for file in servers/*/Makefile; do
  name=${file%/Makefile}
  if grep -q "^NOT RUN: $name:" "$room/servers"; then
    notes+=("$(grep "^NOT RUN: $name:" "$room/servers" | head -c 160)")
  else
    folder[$name]=$name command[$name]='make --silent --no-print-directory test'
  fi
done

# From here on, jobs in process groups of their own: not deaf to Ctrl-C, as a shell's children in the background are, but
# told of it by us alone.
set -m
if [[ -n $STACKMARK_BIN ]]; then
  # Commits wait for no disk: what a crash would leave is no concern of tests that share. A package that is missing is
  # named by each test that needs it.
  for engine in postgres mariadb; do
    STACKMARK_RIG_DIR=$engines "$STACKMARK_BIN" rig up "$engine" --durability delayed >/dev/null &
  done
  wait
fi
export STACKMARK_TEST_ENGINES=$engines STACKMARK_TESTS_NOT_RUN=$room/not-run RUST_TEST_THREADS=${RUST_TEST_THREADS:-2}
: >"$STACKMARK_TESTS_NOT_RUN"

# Runs a program, with what it prints in a file of its own.
start() {
  # shellcheck disable=SC2086 # a command and its arguments
  (cd "${folder[$1]}" && CARGO_MANIFEST_DIR=$PWD exec "${limit[@]}" ${command[$1]}) \
    >"$room/${1//\//-}.log" 2>&1 </dev/null &
  running[$!]=$1 began[$!]=$SECONDS
}

# The next program that may start: one that measures waits for another that does.
choose() {
  local name other
  for name in "${waiting[@]}"; do
    if [[ $measuring == *" $name "* ]]; then
      for other in "${running[@]}"; do [[ $measuring != *" $other "* ]] || continue 2; done
    fi
    chosen=$name
    return
  done
  return 1
}

# Waits for a program to end, prints whole what it has said, and keeps account.
collect() {
  local ended name seconds log code=0
  wait -n -p ended "${!running[@]}" || code=$?
  name=${running[$ended]} seconds=$((SECONDS - began[$ended])) log=$room/${running[$ended]//\//-}.log
  unset "running[$ended]"
  printf '\n== %s, %d s\n' "$name" "$seconds"
  cat "$log"
  printf '%5d s  %-32s %s\n' "$seconds" "$name" "$(grep -E '^test result:' "$log" | tail -1)" >>"$room/summary"
  ((code == 0)) || { notes+=("FAILED: $name"); failed=1; }
}

waiting=() running=() began=()
for name in "${longest[@]}"; do [[ -z ${command[$name]:-} ]] || waiting+=("$name"); done
for name in $(printf '%s\n' "${!command[@]}" | sort); do
  [[ " ${longest[*]} " == *" $name "* ]] || waiting+=("$name")
done
touch "$room/summary" "$room/none.log"
while ((${#waiting[@]} + ${#running[@]} > 0)); do
  if ((${#running[@]} < slots)) && choose; then
    start "$chosen"
    rest=()
    for name in "${waiting[@]}"; do [[ $name == "$chosen" ]] || rest+=("$name"); done
    waiting=(${rest[@]+"${rest[@]}"})
  else
    collect
  fi
done

while read -r line; do notes+=("NOT RUN: ${line:0:160}"); done <"$STACKMARK_TESTS_NOT_RUN"
# Lines of Rust's tests: `test result: ok. 3 passed; 0 failed; …`; of node's runner: `# pass 3`, or with a sign for the `#`; of
# Go's: `--- PASS: TestX (0.00s)`; of those in C: `3 checks, 0 failed`; the last of pytest: `1 failed, 2 passed in 0.1s`.
printf '\n'
sort -rn "$room/summary"
counts=$(cat "$room"/*.log | awk '
  /^test result:/               { passed += $4; failed += $6; next }
  /^[0-9]+ checks, [0-9]+ failed$/ { passed += $1 - $3; failed += $3; next }
  /^--- PASS: /                 { passed += 1; next }
  /^--- FAIL: /                 { failed += 1; next }
  / in [0-9.]+s( |$)/           { for (i = 2; i <= NF; i++) { if ($i ~ /^passed/) passed += $(i - 1); if ($i ~ /^failed/) failed += $(i - 1) } }
  /^[^a-zA-Z0-9]+ pass [0-9]+$/ { passed += $NF }
  /^[^a-zA-Z0-9]+ fail [0-9]+$/ { failed += $NF }
  END { printf "%d passed, %d failed", passed, failed }
')
for note in ${notes[@]+"${notes[@]}"}; do counts+="; $note"; done
printf '%s\n' "$counts" | tee "${TEST_COUNTS:-/dev/null}"
exit "$failed"
