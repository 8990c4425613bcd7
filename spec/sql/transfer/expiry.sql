-- The statements of whoever forgets keys that have expired. Canonical form, which SQLite takes as it is; what differs on another
-- engine is in expiry.ENGINE.sql. All go along the keys: no table is read through, and nothing that is younger is touched.
--
-- A range is of one run ?1 and worker ?2, behind the sequence ?3 up to ?4.

-- name: next_worker
select run, worker
from transfer
where run = ?1 and worker > ?2
order by worker
limit 1

-- name: next_run
select run, worker
from transfer
where run >= ?1
order by run, worker
limit 1

-- name: range_end
select coalesce(max(sequence), -1)
from (
  select sequence
  from transfer
  where run = ?1 and worker = ?2 and sequence > ?3
  order by sequence
  limit 256
) as following

-- What was made before the moment that is given, ?5 microseconds ago, is old; and how many of the range are not, or are on their
-- way yet.
-- name: range_young
select cast(unixepoch('subsec') * 1000000 as integer) - ?5 as made_before, coalesce(sum(case when state = 3 or created >= cast(unixepoch('subsec') * 1000000 as integer) - ?5 then 1 else 0 end), 0) as young
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4

-- Who forgets keys of a store holds its range of accounts, so that two of them do not count the same keys.
-- name: lock_forgetting
select first_account
from shard_range
order by first_account
limit 1

-- What of the range has gone to the accounts ?5 to ?6 of another store, and must have arrived there before it is forgotten; and what
-- has come there from the accounts ?5 to ?6.
-- name: count_sent
select count(*)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and target between ?5 and ?6 and state in (1, 4)

-- name: count_received
select count(*)
from entry
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and source between ?5 and ?6 and amount > 0

-- What is forgotten stays as sums, in the form of those for the ledger.
-- name: sum_transfers
insert into forgotten (sort, run, worker, transfers, units, mixed)
select 1, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state in (1, 4, 5)
group by run, worker
union all
select 13, run, worker, count(*), sum(amount), sum(sequence * 48271 % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state in (1, 4, 5)
group by run, worker
union all
select 2, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 2
group by run, worker
union all
select 12, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 2
  and not exists (select 1 from shard_range where transfer.target between first_account and last_account)
group by run, worker
union all
select 8, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 4
group by run, worker
union all
select 9, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state = 5
group by run, worker
on conflict (run, worker, sort) do update
set transfers = forgotten.transfers + excluded.transfers,
  units = forgotten.units + excluded.units,
  mixed = forgotten.mixed + excluded.mixed

-- A decision is needed as long as its transfer is not there.
-- name: delete_decisions
delete from decision
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4
  and exists (
    select 1
    from transfer
    where transfer.run = decision.run and transfer.worker = decision.worker and transfer.sequence = decision.sequence
      and transfer.source = decision.source and transfer.created < ?5
  )

-- name: delete_transfers
delete from transfer
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and created < ?5 and state <> 3

-- The same of what came from the store of the accounts ?5 to ?6.
-- name: sum_inbox
insert into forgotten (sort, run, worker, transfers, units, mixed)
select state + 9, run, worker, count(*), sum(amount),
  sum((sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647)
from inbox
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and source between ?5 and ?6
group by run, worker, state
on conflict (run, worker, sort) do update
set transfers = forgotten.transfers + excluded.transfers,
  units = forgotten.units + excluded.units,
  mixed = forgotten.mixed + excluded.mixed

-- name: delete_inbox
delete from inbox
where run = ?1 and worker = ?2 and sequence > ?3 and sequence <= ?4 and source between ?5 and ?6
