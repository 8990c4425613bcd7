-- The statements of a relay, which brings what is in an outbox to the store that it is for, and settles it where it came from.
-- Canonical form, which SQLite takes as it is; what differs on another engine is in relay.ENGINE.sql. Those for many rows get
-- the last one again where there are fewer: it is there already then.

-- The oldest that are for accounts of a range. Nothing is locked: what two relays read is done once.
-- name: read_outbox
select created, run, worker, sequence, source, target, amount
from outbox
where target between ?1 and ?2
order by created, run, worker, sequence, source
limit ?3

-- What is new of a batch; what is there already has been done.
-- name: insert_inbox rows: 64
insert into inbox (run, worker, sequence, source, target, amount, state, batch)
values (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7)
on conflict do nothing

-- In the order in which everybody locks accounts. SQLite's transaction holds the only write lock already.
-- name: lock_targets
select id
from account
where id in (select target from inbox where batch = ?1)
order by id

-- name: refuse_credits
update inbox
set state = 2
where batch = ?1 and not exists (select 1 from account where account.id = inbox.target)

-- name: credit_accounts
update account
set balance = account.balance + given.amount
from (select target, sum(amount) as amount from inbox where batch = ?1 and state = 1 group by target) as given
where account.id = given.target

-- name: insert_credits
insert into entry (run, worker, sequence, source, account, amount)
select run, worker, sequence, source, target, amount
from inbox
where batch = ?1 and state = 1

-- name: read_inbox
select state
from inbox
where run = ?1 and worker = ?2 and sequence = ?3 and source = ?4

-- name: insert_settlement rows: 64
insert into settlement (batch, created, run, worker, sequence, source, state)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
on conflict do nothing

-- A transfer that was settled before stays what it is.
-- name: settle_transfers
update transfer
set state = 4, settled = cast(unixepoch('subsec') * 1000000 as integer)
from settlement
where settlement.batch = ?1 and settlement.state = 4 and transfer.state = 3
  and transfer.run = settlement.run and transfer.worker = settlement.worker
  and transfer.sequence = settlement.sequence and transfer.source = settlement.source

-- name: refund_transfer
update transfer
set state = 5, settled = cast(unixepoch('subsec') * 1000000 as integer)
where run = ?1 and worker = ?2 and sequence = ?3 and source = ?4 and state = 3

-- name: refund_account
update account
set balance = balance + ?2
where id = ?1

-- name: insert_refund
insert into entry (run, worker, sequence, source, account, amount)
values (?1, ?2, ?3, ?4, ?4, ?5)

-- name: delete_messages
delete from outbox
where (created, run, worker, sequence, source) in (
  select created, run, worker, sequence, source from settlement where batch = ?1
)

-- name: delete_settlement
delete from settlement
where batch = ?1
