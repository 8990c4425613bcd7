#!/usr/bin/env bash
# Sets up and runs the tests, and closes with one line of counts, which also goes to the file $TEST_COUNTS if that is set.
# Arguments go to cargo-nextest and restrict the run to its tests: `scripts/test.sh -E 'test(saga)'`.
# Exit 1: a test failed, more than three were flaky, or, with CI=true, the browser tests could not run.
#
# Rust's tests run under cargo-nextest, as .config/nextest.toml says. Those in a browser and those of the servers in other
# languages have runners of their own. All share one engine of a kind and one folder of fixtures, which are made here.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO=${CARGO:-cargo}
parts=$#
# `browser` names the tests in a browser, which are not among Rust's.
pages=0
[[ $parts != 0 && $* != browser ]] || pages=1
# Soaks of 30 s, and browser tests of every page in every width and theme.
[[ ${NEXTEST_PROFILE:-} != all ]] || export STACKMARK_SOAK_S=${STACKMARK_SOAK_S:-30} STACKMARK_ALL_PAGES=1
# Most runs of the tests are about something else than the answers to random calls, of which each makes 500 before it begins.
[[ ${NEXTEST_PROFILE:-} = all ]] || export STACKMARK_CONFORMANCE_CALLS=${STACKMARK_CONFORMANCE_CALLS:-50}
target=$PWD/target
[[ -z ${CARGO_TARGET_DIR:-} ]] || target=$(mkdir -p "$CARGO_TARGET_DIR" && cd "$CARGO_TARGET_DIR" && pwd)
export PATH=$target/tools/bin:$PATH

# Temporary files and engines use memory where this many GiB are free: tests copy and delete thousands of files. Power
# cuts are simulated and do not depend on the file system.
memory_min=12
place=/var/tmp
has_room() {
  local free
  free=$(df --output=avail -B 1G "$1" 2>/dev/null | tail -1)
  ((${free:-0} >= memory_min)) && (($(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo) >= memory_min)) &&
    [[ -w $1 ]] && findmnt -no OPTIONS "$1" 2>/dev/null | grep -qv noexec
}
! has_room /dev/shm || place=/dev/shm
# All that the tests write. Engines run under accounts of their own, which need to pass through it.
room=$(mktemp -d "$place/stackmark-XXXXXX")
engines=$room/engines
mkdir -m 711 "$engines" "$room/private"
mkdir -m 700 "$room/tmp" "$room/fixtures" "$room/reports"
chmod 711 "$room"
export TMPDIR=$room/tmp STACKMARK_RIG_DIR=$room/private
export STACKMARK_TEST_ENGINES=$engines STACKMARK_TEST_FIXTURES=$room/fixtures STACKMARK_TESTS_NOT_RUN=$room/not-run
: >"$STACKMARK_TESTS_NOT_RUN"
notes=()
failed=0
# A flaky test is a defect to be mended, and no reason to throw away a day of work; several at once are.
flaky_max=3

clean() {
  trap '' INT TERM
  local job
  for job in $(jobs -p); do kill -- "-$job" 2>/dev/null; done
  wait
  [[ -z ${STACKMARK_BIN:-} ]] || STACKMARK_RIG_DIR=$engines "$STACKMARK_BIN" rig down >/dev/null
  rm -rf "$room"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

scripts/setup-tests.sh "$target/tools"
setup=$?
((setup < 2)) || exit 1
[[ -n ${STACKMARK_KAFKA_HOME:-} || ! -d $target/tools/kafka ]] || export STACKMARK_KAFKA_HOME=$target/tools/kafka
[[ -n ${STACKMARK_MYSQL_HOME:-} || ! -d $target/tools/mysql ]] || export STACKMARK_MYSQL_HOME=$target/tools/mysql
# The interpreter itself: a launcher in its place, such as pyenv's, starts a dozen processes each time.
mkdir "$room/bin"
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
  printf '#!/bin/sh\nexec %q "$@"\n' "$python" >"$room/bin/python3"
  chmod 755 "$room/bin/python3"
  export PATH=$room/bin:$PATH
fi
# Jobs in process groups of their own: not deaf to Ctrl-C, as a shell's children in the background are, but told of it by us alone.
set -m

# Beside what cargo builds: servers in other languages are built, and their own tests run.
{
  scripts/servers.sh build && { ((parts > 0)) || scripts/servers.sh test; }
} >"$room/servers.log" 2>&1 </dev/null &
servers=$!

# The tests, the binary that they run, the one with a workload of the tests' own beside it, the example that they kill, and the
# one that writes the pages for the browser; a line for each target that was made.
built=$room/built
"$CARGO" build --profile ci --workspace --locked --tests --bin stackmark --bin stackmark-toy --example hold --example sample \
  --message-format json-render-diagnostics >"$built" || { echo '0 passed, 0 failed; FAILED: build' | tee "${TEST_COUNTS:-/dev/null}"; exit 1; }
STACKMARK_BIN=$(sed -n 's/.*"name":"stackmark".*"test":false},"features".*"executable":"\([^"]*\)".*/\1/p' "$built")
sample=$(sed -n 's/.*"name":"sample".*"executable":"\([^"]*\)".*/\1/p' "$built")
export STACKMARK_BIN REPORTS=$room/reports

# Commits wait for no disk: what a crash would leave is no concern of tests that share. A package that is missing is
# named by each test that needs it.
for engine in postgres mariadb kafka; do
  STACKMARK_RIG_DIR=$engines "$STACKMARK_BIN" rig up "$engine" --durability delayed >/dev/null &
done
"$sample" "$room/reports" >/dev/null
wait %2 %3 %4 2>/dev/null

browser=
if ((pages && setup == 0)); then
  (cd tests/browser && npm test) >"$room/browser.log" 2>&1 </dev/null &
  browser=$!
elif ((pages)); then
  notes+=('NOT RUN: browser tests, see setup-tests above')
  [[ ${CI:-} != true ]] || failed=1
fi

: >"$room/nextest.log"
if ((parts == 0 || !pages)); then
  "$CARGO" nextest run --cargo-profile ci --workspace --locked "$@" 2>&1 </dev/null | tee "$room/nextest.log"
  ((PIPESTATUS[0] == 0)) || failed=1
fi

collect() {
  local name=$1 pid=$2
  [[ -n $pid ]] || return 0
  wait "$pid" || { notes+=("FAILED: $name"); failed=1; }
  printf '\n== %s\n' "$name"
  cat "$room/$name.log"
}
collect servers "$servers"
collect browser "$browser"

mapfile -t flaky < <(awk '$1 == "Summary" { on = 1 } on && $1 == "FLAKY" { sub(/^.*\] *(\([^)]*\) *)?/, ""); print }' "$room/nextest.log" | sort -u)
((${#flaky[@]} <= flaky_max)) || { notes+=("FAILED: more than $flaky_max tests were flaky"); failed=1; }
for name in ${flaky[@]+"${flaky[@]}"}; do notes+=("flaky: $name"); done
while read -r line; do notes+=("$line"); done < <(grep '^NOT RUN: ' "$room/servers.log" | cut -c -160 | sort -u)
while read -r line; do notes+=("NOT RUN: ${line:0:160}"); done < <(sort -u "$STACKMARK_TESTS_NOT_RUN")

printf '\n== the 15 slowest tests\n'
grep -E '^ +(TRY [0-9]+ )?(PASS|FAIL|LEAK|FLAKY) ' "$room/nextest.log" | sed 's/^.*\[ *\([0-9.]*\)s\]/\1/' | sort -rnu | head -15

# Lines of nextest: `Summary [ 1.2s] 9 tests run: 8 passed (1 flaky), 1 failed, 2 skipped`; of node's runner: `# pass 3`, or with a
# sign for the `#`; of Go's: `--- PASS: TestX (0.00s)`; of those in C: `3 checks, 0 failed`; the last of pytest: `1 failed, 2 passed in 0.1s`.
counts=$(cat "$room"/*.log | awk '
  function counted(word,  i) { for (i = 2; i <= NF; i++) if ($i ~ "^" word) return $(i - 1); return 0 }
  $1 == "Summary"                  { passed += counted("passed"); failed += counted("failed") + counted("timed"); next }
  /^[0-9]+ checks, [0-9]+ failed$/ { passed += $1 - $3; failed += $3; next }
  /^--- PASS: /                    { passed += 1; next }
  /^--- FAIL: /                    { failed += 1; next }
  /test result:/                   { next }
  / in [0-9.]+s( |$)/              { passed += counted("passed"); failed += counted("failed") }
  /^[^a-zA-Z0-9]+ pass [0-9]+$/    { passed += $NF }
  /^[^a-zA-Z0-9]+ fail [0-9]+$/    { failed += $NF }
  END { printf "%d passed, %d failed", passed, failed }
')
for note in ${notes[@]+"${notes[@]}"}; do counts+="; $note"; done
printf '\n%s\n' "$counts" | tee "${TEST_COUNTS:-/dev/null}"
exit "$failed"
