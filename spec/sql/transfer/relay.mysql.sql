-- What differs on MySQL's dialect, as MariaDB speaks it: several tables are joined in an update and in a delete.

-- name: insert_inbox rows: 64
insert ignore into inbox (run, worker, sequence, source, target, amount, state, batch)
values (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7)

-- name: insert_settlement rows: 64
insert ignore into settlement (batch, created, run, worker, sequence, source, state)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: lock_targets
select id
from account
where id in (select target from inbox where batch = ?1)
order by id
for update

-- name: credit_accounts
update account
join (
  select target, cast(sum(amount) as signed) as amount from inbox where batch = ?1 and state = 1 group by target
) as given on given.target = account.id
set account.balance = account.balance + given.amount

-- name: settle_transfers
update settlement
join transfer using (run, worker, sequence, source)
set transfer.state = 4, transfer.settled = cast(unix_timestamp(sysdate(6)) * 1000000 as signed)
where settlement.batch = ?1 and settlement.state = 4 and transfer.state = 3

-- name: refund_transfer
update transfer
set state = 5, settled = cast(unix_timestamp(sysdate(6)) * 1000000 as signed)
where run = ?1 and worker = ?2 and sequence = ?3 and source = ?4 and state = 3

-- name: delete_messages
delete outbox
from settlement
join outbox using (created, run, worker, sequence, source)
where settlement.batch = ?1
