-- pgbench's tables on MariaDB (InnoDB). Rows are clustered by their keys, which are therefore made with the tables;
-- references are made after the rows are in. `filler` of an account is a varchar and not a char, because reading a char
-- gives it back without the blanks that were stored; rows are as wide as elsewhere.

-- name: table_branches
create table pgbench_branches (
  bid int not null,
  bbalance int,
  filler char(88),
  primary key (bid)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_tellers
create table pgbench_tellers (
  tid int not null,
  bid int,
  tbalance int,
  filler char(84),
  primary key (tid)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_accounts
create table pgbench_accounts (
  aid int not null,
  bid int,
  abalance int,
  filler varchar(84),
  primary key (aid)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_history
create table pgbench_history (
  tid int,
  bid int,
  aid int,
  delta int,
  mtime datetime,
  filler char(22)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

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
