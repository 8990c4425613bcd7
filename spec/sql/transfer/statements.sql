-- The statements of a transfer. Canonical form, which SQLite takes as it is; what differs on another engine is in
-- statements.ENGINE.sql under the same name. Parameters: ?1, ?2, …

-- Both accounts in order of their numbers, so that of two transfers between the same accounts one waits for the other, and
-- neither for each other. SQLite's transaction holds the only write lock already.
-- name: lock_accounts
select id, balance
from account
where id in (?1, ?2)
order by id

-- A key that is there already is left alone.
-- name: insert_transfer
insert into transfer (run, worker, sequence, source, target, amount, state, balance, created)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, cast(unixepoch('subsec') * 1000000 as integer))
on conflict do nothing

-- ?3 from the first to the second.
-- name: move_money
update account
set balance = case when id = ?1 then balance - ?3 else balance + ?3 end
where id in (?1, ?2)

-- Entries that are there already are of a transfer whose key was forgotten.
-- name: insert_entries
insert into entry (run, worker, sequence, source, account, amount)
values (?1, ?2, ?3, ?4, ?4, ?6), (?1, ?2, ?3, ?4, ?5, ?7)
on conflict do nothing

-- name: read_transfer
select target, amount, state, balance
from transfer
where run = ?1 and worker = ?2 and sequence = ?3 and source = ?4

-- name: read_account
select balance
from account
where id = ?1

-- Of a transfer whose accounts lie in two stores, each does its part.
-- name: lock_account
select balance
from account
where id = ?1

-- name: add_money
update account
set balance = balance + ?2
where id = ?1

-- An entry that is there already is of a transfer that was made.
-- name: insert_entry
insert into entry (run, worker, sequence, source, account, amount)
values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict do nothing

-- What a relay is to give to an account of another store.
-- name: insert_message
insert into outbox (created, run, worker, sequence, source, target, amount)
values (cast(unixepoch('subsec') * 1000000 as integer), ?1, ?2, ?3, ?4, ?5, ?6)

-- What a coordinator with a log of its own decides: that both branches are to be committed.
-- name: insert_decision
insert into decision (run, worker, sequence, source, target)
values (?1, ?2, ?3, ?4, ?5)
on conflict do nothing
