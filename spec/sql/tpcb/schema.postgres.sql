-- pgbench's own tables, as `pgbench -i` of PostgreSQL 15 makes them: types, nullable columns, names of keys, fill factors.
-- Keys are made after the rows are in, as there.

-- name: table_branches
create table pgbench_branches (
  bid int not null,
  bbalance int,
  filler char(88)
) with (fillfactor = 100)

-- name: table_tellers
create table pgbench_tellers (
  tid int not null,
  bid int,
  tbalance int,
  filler char(84)
) with (fillfactor = 100)

-- name: table_accounts
create table pgbench_accounts (
  aid int not null,
  bid int,
  abalance int,
  filler char(84)
) with (fillfactor = 100)

-- name: table_history
create table pgbench_history (
  tid int,
  bid int,
  aid int,
  delta int,
  mtime timestamp,
  filler char(22)
)

-- name: index_branches_key
alter table pgbench_branches add constraint pgbench_branches_pkey primary key (bid)

-- name: index_tellers_key
alter table pgbench_tellers add constraint pgbench_tellers_pkey primary key (tid)

-- name: index_accounts_key
alter table pgbench_accounts add constraint pgbench_accounts_pkey primary key (aid)

-- References are made only when they are asked for, as by `pgbench -i --foreign-keys`: each costs a look-up a row.

-- name: reference_tellers_branches
alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches (bid)

-- name: reference_accounts_branches
alter table pgbench_accounts add constraint pgbench_accounts_bid_fkey foreign key (bid) references pgbench_branches (bid)

-- name: reference_history_branches
alter table pgbench_history add constraint pgbench_history_bid_fkey foreign key (bid) references pgbench_branches (bid)

-- name: reference_history_tellers
alter table pgbench_history add constraint pgbench_history_tid_fkey foreign key (tid) references pgbench_tellers (tid)

-- name: reference_history_accounts
alter table pgbench_history add constraint pgbench_history_aid_fkey foreign key (aid) references pgbench_accounts (aid)
