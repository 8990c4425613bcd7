-- What differs on PostgreSQL: accounts are locked one by one, and times come from its clock.

-- name: lock_targets
select id
from account
where id in (select target from inbox where batch = ?1)
order by id
for update

-- name: settle_transfers
update transfer
set state = 4, settled = (extract(epoch from clock_timestamp()) * 1000000)::bigint
from settlement
where settlement.batch = ?1 and settlement.state = 4 and transfer.state = 3
  and transfer.run = settlement.run and transfer.worker = settlement.worker
  and transfer.sequence = settlement.sequence and transfer.source = settlement.source

-- name: refund_transfer
update transfer
set state = 5, settled = (extract(epoch from clock_timestamp()) * 1000000)::bigint
where run = ?1 and worker = ?2 and sequence = ?3 and source = ?4 and state = 3
