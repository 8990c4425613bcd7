#!/bin/sh
# Long drills: at least 200 faults over all kinds of components, and 60 power cuts, with nothing lost and nothing done twice. About
# half an hour. Power cuts need root and are left out otherwise; the last drill needs Kafka.
# `scripts/drill.sh STACKMARK [FOLDER]` writes the results into FOLDER.
set -eu
stackmark=$1
folder=${2:-results/drills}
mkdir -p "$folder"

# Faults, and what they strike. Each kind of component, of engine, and of way between two stores is there.
while read -r faults subject options; do
  printf '\n== %s %s\n' "$subject" "$options"
  case $options in
  *--power-cut*) [ "$(id -u)" = 0 ] || { echo 'NOT RUN: not root'; continue; } ;;
  esac
  # shellcheck disable=SC2086 # Several words.
  "$stackmark" drill "$subject" --faults "$faults" $options --out "$folder" </dev/null
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
16 tpcb/postgres/tokio-postgres --power-cut
10 transfer/postgres/axum+tokio-postgres/2pc --power-cut
8 transfer/postgres/axum+tokio-postgres/saga --power-cut
12 tpcb/mariadb/mysql-async --power-cut
10 transfer/mariadb/axum+mysql-async/2pc --power-cut
12 tpcb/sqlite/rusqlite --power-cut
30 booking/postgres/axum+tokio-postgres/outbox --sink kafka --consumer
SUBJECTS
