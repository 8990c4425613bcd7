-- The bank on MariaDB (InnoDB). Rows are clustered by their keys, which are therefore made with the tables.

-- What this store holds: a map of all stores is made of what each of them says.
-- name: table_shard_range
create table shard_range (
  first_account bigint not null,
  last_account bigint not null,
  primary key (first_account)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- name: table_account
create table account (
  id bigint not null,
  balance bigint not null check (balance >= 0),
  primary key (id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- A transfer lies in the store of its source, under the key that it was asked for with: 64 bits of run, 32 of worker, 32 of
-- sequence. `balance` is what the source held when it was answered, so that a repeated key is answered alike.
-- name: table_transfer
create table transfer (
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  source bigint not null,
  target bigint not null,
  amount bigint not null check (amount > 0),
  state bigint not null,
  balance bigint not null,
  created bigint not null,
  settled bigint not null default 0,
  primary key (run, worker, sequence, source)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- The ledger: what a transfer took from an account, below zero, and what it gave to one.
-- name: table_entry
create table entry (
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  source bigint not null,
  account bigint not null,
  amount bigint not null check (amount <> 0),
  primary key (run, worker, sequence, source, account, amount)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- What is still to be given to accounts of other stores: a row for each pending transfer, the oldest first.
-- name: table_outbox
create table outbox (
  created bigint not null,
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  source bigint not null,
  target bigint not null,
  amount bigint not null,
  primary key (created, run, worker, sequence, source)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- What came from other stores. A transfer is done once, however often it comes: state 1 was given to its account, 2 was refused.
-- name: table_inbox
create table inbox (
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  source bigint not null,
  target bigint not null,
  amount bigint not null,
  state bigint not null,
  batch bigint not null,
  primary key (run, worker, sequence, source),
  key inbox_batch (batch)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- Transfers that are being settled, within the transaction that does it; it is empty for everybody else.
-- name: table_settlement
create table settlement (
  batch bigint not null,
  created bigint not null,
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  source bigint not null,
  state bigint not null,
  primary key (batch, run, worker, sequence, source)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- Transfers of which a coordinator has decided, in a transaction of its own, that their branches are committed.
-- name: table_decision
create table decision (
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  source bigint not null,
  target bigint not null,
  primary key (run, worker, sequence, source)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- Sums over keys that were forgotten, in the form of those for the ledger: what of a run and worker is no longer there itself.
-- name: table_forgotten
create table forgotten (
  sort bigint not null,
  run bigint not null,
  worker bigint not null,
  transfers bigint not null,
  units bigint not null,
  mixed bigint not null,
  primary key (run, worker, sort)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin
