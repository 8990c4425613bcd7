#!/usr/bin/env bash
# Runs every test there is and closes with one line of counts.
# Exit 1: a test failed, or, with CI=true, could not run.
set -uo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
not_run=()

scripts/setup-tests.sh
browser_ready=$?

"$CARGO" test --workspace --locked --no-fail-fast 2>&1 | tee -a "$log"
((PIPESTATUS[0] == 0)) || failed=1

if [[ -f tests/browser/package.json ]]; then
  if ((browser_ready == 0)); then
    npm test --prefix tests/browser 2>&1 | tee -a "$log"
    ((PIPESTATUS[0] == 0)) || failed=1
  else
    not_run+=("browser tests (see setup-tests above)")
  fi
fi

# Lines of cargo: `test result: ok. 3 passed; 0 failed; …`; of node's runner: `# pass 3`, or with a sign before the word.
echo
grep -E '^test result:' "$log" | sort | uniq -c | sort -rn
awk '
  /^test result:/            { passed += $4; failed += $6; next }
  /^[^a-zA-Z0-9]+ pass [0-9]+$/ { passed += $NF }
  /^[^a-zA-Z0-9]+ fail [0-9]+$/ { failed += $NF }
  END { printf "%d passed, %d failed", passed, failed }
' "$log"
for what in ${not_run[@]+"${not_run[@]}"}; do
  printf ', NOT RUN: %s' "$what"
  if [[ ${CI:-} == true ]]; then failed=1; fi
done
echo
exit "$failed"
