#!/bin/sh
# Load from several machines by GNU parallel over ssh, and the merged result. Every machine has `stackmark` in its PATH.
#
#     stackmark run SUBJECT --db … --write-plan plan.json
#     STACKMARK_DB=… ./ssh.sh plan.json one.example two.example three.example
#
# The address of the database goes to the machines by standard input, so that no list of processes shows it, and the plan after it. What a
# part has counted comes back as an archive. WAIT is how many seconds from now calls begin [30].
set -eu
plan=$1
shift
: "${STACKMARK_DB:?the address of the database}"
export STACKMARK_DB
start=$(date -u -d "+${WAIT:-30} seconds" +%FT%TZ)

# {#} is the number of a machine, {} its name.
part="dir=\$(mktemp -d) && cd \"\$dir\" && read -r STACKMARK_DB && export STACKMARK_DB && cat >plan.json &&
  stackmark run --plan plan.json --part {#}/$# --start-at $start --out parts >&2
  tar cf - parts && cd / && rm -r \"\$dir\""
# One that fails has left what it can, and `merge` names it.
printf '%s\n' "$@" | parallel --jobs "$#" --tag \
    "{ printf '%s\n' \"\$STACKMARK_DB\"; cat '$plan'; } | ssh {} '$part' | tar xf -" || true

id=$(sed -n 's/^  "id": "\(.*\)",$/\1/p' "$plan")
exec stackmark merge "parts/$id"-part-*
