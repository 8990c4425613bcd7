-- The bank on SQLite. Tables are strict, so that a wrong type is an error and not a surprise; rows are clustered by their
-- keys. Money is whole numbers of the least unit of the currency, times are microseconds since
-- 1970.

-- What this store holds: a map of all stores is made of what each of them says.
-- name: table_shard_range
create table shard_range (
  first_account integer not null primary key,
  last_account integer not null
) strict;

-- name: table_account
create table account (
  id integer primary key,
  balance integer not null check (balance >= 0)
) strict;

-- A transfer lies in the store of its source, under the key that it was asked for with: 64 bits of run, 32 of worker, 32 of
-- sequence. `balance` is what the source held when it was answered, so that a repeated key is answered alike.
-- name: table_transfer
create table transfer (
  run integer not null,
  worker integer not null,
  sequence integer not null,
  source integer not null,
  target integer not null,
  amount integer not null check (amount > 0),
  state integer not null,
  balance integer not null,
  created integer not null,
  settled integer not null default 0,
  primary key (run, worker, sequence, source)
) strict, without rowid;

-- The ledger: what a transfer took from an account, below zero, and what it gave to one.
-- name: table_entry
create table entry (
  run integer not null,
  worker integer not null,
  sequence integer not null,
  source integer not null,
  account integer not null,
  amount integer not null check (amount <> 0),
  primary key (run, worker, sequence, source, account, amount)
) strict, without rowid;

-- What is still to be given to accounts of other stores: a row for each pending transfer, the oldest first.
-- name: table_outbox
create table outbox (
  created integer not null,
  run integer not null,
  worker integer not null,
  sequence integer not null,
  source integer not null,
  target integer not null,
  amount integer not null,
  primary key (created, run, worker, sequence, source)
) strict, without rowid;

-- What came from other stores. A transfer is done once, however often it comes: state 1 was given to its account, 2 was refused.
-- name: table_inbox
create table inbox (
  run integer not null,
  worker integer not null,
  sequence integer not null,
  source integer not null,
  target integer not null,
  amount integer not null,
  state integer not null,
  batch integer not null,
  primary key (run, worker, sequence, source)
) strict, without rowid;

-- Transfers that are being settled, within the transaction that does it; it is empty for everybody else.
-- name: table_settlement
create table settlement (
  batch integer not null,
  created integer not null,
  run integer not null,
  worker integer not null,
  sequence integer not null,
  source integer not null,
  state integer not null,
  primary key (batch, run, worker, sequence, source)
) strict, without rowid;

-- Transfers of which a coordinator has decided, in a transaction of its own, that their branches are committed.
-- name: table_decision
create table decision (
  run integer not null,
  worker integer not null,
  sequence integer not null,
  source integer not null,
  target integer not null,
  primary key (run, worker, sequence, source)
) strict, without rowid;

-- Sums over keys that were forgotten, in the form of those for the ledger: what of a run and worker is no longer there itself.
-- name: table_forgotten
create table forgotten (
  sort integer not null,
  run integer not null,
  worker integer not null,
  transfers integer not null,
  units integer not null,
  mixed integer not null,
  primary key (run, worker, sort)
) strict;

-- name: index_inbox_batch
create index inbox_batch on inbox (batch);
