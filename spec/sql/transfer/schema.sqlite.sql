-- The bank on SQLite. Tables are strict, so that a wrong type is an error and not a surprise; rows are clustered by their
-- keys. Money is whole numbers of the least unit of the currency, times are seconds since 1970.

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
  primary key (run, worker, sequence, source, account)
) strict, without rowid;
