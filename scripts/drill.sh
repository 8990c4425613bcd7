#!/bin/sh
# Long drills: at least 200 faults over all kinds of components, with nothing lost and nothing doubled. Twenty minutes, or so.
# `scripts/drill.sh STACKMARK [FOLDER]` writes the results into FOLDER.
set -eu
stackmark=$1
folder=${2:-results/drills}
mkdir -p "$folder"

# Faults, and what they strike. Each kind of component, of engine, and of way between two stores is there.
while read -r faults subject; do
  printf '\n== %s\n' "$subject"
  "$stackmark" drill "$subject" --faults "$faults" --out "$folder" </dev/null
done <<SUBJECTS
18 tpcb/sqlite/rusqlite
18 tpcc/sqlite/axum+rusqlite
24 transfer/sqlite/axum+rusqlite/saga
18 catalogue/postgres/axum+tokio-postgres
30 transfer/postgres/tokio-postgres/2pc
40 transfer/postgres/axum+tokio-postgres/2pc
30 transfer/postgres/axum+tokio-postgres/2pc-log
36 transfer/postgres/axum+tokio-postgres/saga
30 transfer/mariadb/axum+mysql-async/2pc
30 transfer/mariadb/mysql-async/2pc-log
24 transfer/mariadb/axum+mysql-async/saga
18 transfer/postgres/net-http+pgx/saga
SUBJECTS
