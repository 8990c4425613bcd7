#!/usr/bin/env bash
# Runs every test there is and closes with one line of counts, which also goes to the file $TEST_COUNTS if that is set.
# Exit 1: a test failed, or, with CI=true, could not run.
set -uo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
notes=()
failed=0

# Runs a command, keeps what it prints, and notes its failure under a name.
run() {
  local name=$1
  shift
  "$@" 2>&1 | tee -a "$log"
  ((PIPESTATUS[0] == 0)) || { notes+=("FAILED: $name"); failed=1; }
}

scripts/setup-tests.sh
browser_ready=$?

# Tests that run the binary would build it with the features of one package; here it shares what the tests are made of.
if "$CARGO" build --workspace --locked --tests --bin stackmark; then
  target=$("$CARGO" metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
  export STACKMARK_BIN=$target/debug/stackmark
fi

# A test that hangs (it was named after a minute) ends its program after this, and the other programs run. Without a
# terminal whatever it has started ends with it; with one, Ctrl-C must reach it.
limit=()
if timeout --verbose --kill-after=1 1 true 2>/dev/null; then
  foreground=
  [[ ! -t 0 ]] || foreground="'--foreground', "
  limit=(--config "target.'cfg(unix)'.runner = ['timeout', $foreground'--verbose', '--kill-after=10', '25m']")
fi
run 'cargo test' "$CARGO" test --workspace --locked --no-fail-fast ${limit[@]+"${limit[@]}"}

if [[ -f tests/browser/package.json ]]; then
  if ((browser_ready == 0)); then
    run 'browser tests' npm test --prefix tests/browser
  else
    notes+=('NOT RUN: browser tests, see setup-tests above')
    if [[ ${CI:-} == true ]]; then failed=1; fi
  fi
fi

# Lines of cargo: `test result: ok. 3 passed; 0 failed; …`; of node's runner: `# pass 3`, or with a sign for the `#`.
printf '\n'
grep -E '^test result:' "$log" | grep -v ' 0 passed; 0 failed; 0 ignored'
counts=$(awk '
  /^test result:/               { passed += $4; failed += $6; next }
  /^[^a-zA-Z0-9]+ pass [0-9]+$/ { passed += $NF }
  /^[^a-zA-Z0-9]+ fail [0-9]+$/ { failed += $NF }
  END { printf "%d passed, %d failed", passed, failed }
' "$log")
for note in ${notes[@]+"${notes[@]}"}; do counts+="; $note"; done
printf '%s\n' "$counts" | tee "${TEST_COUNTS:-/dev/null}"
exit "$failed"
