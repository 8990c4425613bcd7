#!/usr/bin/env bash
# Compares a server as it is with a revision of it, and writes what was found into the summary of the job and into junit.xml. The exit
# status is that of stackmark.
set -euo pipefail

if [[ -z $BASE || $BASE =~ ^0+$ ]]; then
  echo "error: there is no revision to compare with; hint: give the input \`base\`" >&2
  exit 2
fi
# A checkout has one commit, unless it was told otherwise.
if ! git -C "$SERVER" rev-parse --quiet --verify "$BASE^{commit}" >/dev/null; then
  depth=()
  if [[ $(git -C "$SERVER" rev-parse --is-shallow-repository) == true ]]; then depth=(--depth 1); fi
  if ! git -C "$SERVER" fetch --quiet ${depth[@]+"${depth[@]}"} origin "$BASE"; then
    echo "error: the remote \`origin\` has no $BASE; hint: give the input \`base\` a commit, a branch or a tag of it" >&2
    exit 2
  fi
  BASE=$(git -C "$SERVER" rev-parse FETCH_HEAD)
fi

inconclusive=()
if [[ $ACCEPT_INCONCLUSIVE == true ]]; then inconclusive=(--accept-inconclusive); fi
status=0
mkdir -p "$RESULTS"
started=$(mktemp "$RESULTS/started.XXXXXX")
set -f
# shellcheck disable=SC2086 # Several words, and none where there is no subject.
stackmark compare --server "$SERVER@$BASE" --server "$SERVER" $SUBJECT --max-loss "$MAX_LOSS" ${inconclusive[@]+"${inconclusive[@]}"} \
  --out "$RESULTS" $OPTIONS || status=$?

find "$RESULTS" -mindepth 2 -maxdepth 2 -name result.json -newer "$started" | sort | while read -r result; do
  # Without a report the comparison still says whether the job passes.
  stackmark report "$result" --format md >>"${GITHUB_STEP_SUMMARY:-/dev/stderr}" || echo "error: no summary" >&2
  stackmark report "$result" --format junit -o "$RESULTS/junit.xml" || echo "error: no junit.xml" >&2
done
rm -f "$started"
exit "$status"
