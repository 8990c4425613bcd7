-- pgbench's tables on SQLite: its names, whole numbers of 64 bits, times in seconds since 1970. Tables are strict, so that
-- a wrong type is an error and not a surprise. Rows are clustered by their ids.

-- name: table_branches
create table pgbench_branches (
  bid integer primary key,
  bbalance integer,
  filler text
) strict;

-- name: table_tellers
create table pgbench_tellers (
  tid integer primary key,
  bid integer,
  tbalance integer,
  filler text
) strict;

-- name: table_accounts
create table pgbench_accounts (
  aid integer primary key,
  bid integer,
  abalance integer,
  filler text
) strict;

-- No key: a row is only ever added.
-- name: table_history
create table pgbench_history (
  tid integer,
  bid integer,
  aid integer,
  delta integer,
  mtime integer,
  filler text
) strict;
