-- What must hold in each store of the bank, whatever has run on it. An audit is a query: it returns the rows that violate a
-- condition, so it must return nothing. What must hold over all stores together is judged from the sums of `tallies`.
--
-- Parameters, the same in all: ?1 the first account of this store; ?2 the last; ?3 what each held at first; ?4 the largest
-- amount that may be asked for. A transfer's state is 1 where it was made at once, 2 where it was declined, 3
-- while it is pending, 4 where it was settled and 5 where its money was given back.

-- name: account_entries
select account.id, account.balance, coalesce(moved, 0) as entered, coalesce(entries, 0) as entry_rows
from account
left join (
  select account, sum(amount) as moved, count(*) as entries
  from entry
  group by account
) as e on e.account = account.id
where account.balance <> ?3 * 1 + coalesce(moved, 0)

-- name: negative_balances
select id, balance
from account
where balance < 0

-- name: row_counts
select wanted, found, id_min, id_max
from (
  select ?2 * 1 - ?1 * 1 + 1 as wanted, count(*) as found, min(id) as id_min, max(id) as id_max
  from account
) as counts
where found <> wanted or id_min <> ?1 or id_max <> ?2 or id_min is null

-- name: shard_range
select ranges, first_account, last_account
from (
  select count(*) as ranges, min(first_account) as first_account, max(last_account) as last_account
  from shard_range
) as found
where ranges <> 1 or first_account <> ?1 or last_account <> ?2

-- A transfer that was accepted took its amount from its source once, and one that was declined took nothing.
-- name: transfer_debits
select t.run, t.worker, t.sequence, t.source, t.amount, t.state, coalesce(e.amount, 0) as debited
from transfer as t
left join entry as e
  on e.run = t.run and e.worker = t.worker and e.sequence = t.sequence and e.source = t.source and e.account = t.source
  and e.amount < 0
where coalesce(e.amount, 0) <> case when t.state = 2 then 0 else -t.amount end

-- It was given back where the target's store refused it, and nowhere else.
-- name: transfer_refunds
select t.run, t.worker, t.sequence, t.source, t.amount, t.state, coalesce(e.amount, 0) as refunded
from transfer as t
left join entry as e
  on e.run = t.run and e.worker = t.worker and e.sequence = t.sequence and e.source = t.source and e.account = t.source
  and e.amount > 0
where coalesce(e.amount, 0) <> case when t.state = 5 then t.amount else 0 end

-- And gave it to its target, where that account is in this store.
-- name: transfer_credits
select t.run, t.worker, t.sequence, t.source, t.target, t.amount, t.state, coalesce(e.amount, 0) as credited
from transfer as t
left join entry as e
  on e.run = t.run and e.worker = t.worker and e.sequence = t.sequence and e.source = t.source and e.account = t.target
where t.target between ?1 and ?2 and coalesce(e.amount, 0) <> case when t.state in (1, 4) then t.amount else 0 end

-- An entry belongs to a transfer, which lies in the store of its source.
-- name: entry_transfers
select e.run, e.worker, e.sequence, e.source, e.account, e.amount
from entry as e
left join transfer as t
  on t.run = e.run and t.worker = e.worker and t.sequence = e.sequence and t.source = e.source
where e.source between ?1 and ?2
  and (
    (t.run is null and not exists (select 1 from forgotten as f where f.run = e.run and f.worker = e.worker))
    or (e.account <> t.source and e.account <> t.target)
  )

-- What was forgotten is what the ledger has of transfers that are no longer there.
-- name: forgotten_entries
select f.run, f.worker, f.transfers, f.units, coalesce(o.entries, 0) as entries, coalesce(o.taken, 0) as taken
from (
  select run, worker, sum(transfers) as transfers, sum(units) as units, sum(mixed) as mixed
  from forgotten
  where sort = 13
  group by run, worker
) as f
left join (
  select e.run, e.worker, count(*) as entries, -sum(e.amount) as taken, sum(e.sequence * 48271 % 2147483647) as mixed
  from entry as e
  left join transfer as t
    on t.run = e.run and t.worker = e.worker and t.sequence = e.sequence and t.source = e.source
  where e.amount < 0 and t.run is null
  group by e.run, e.worker
) as o on o.run = f.run and o.worker = f.worker
where f.transfers <> coalesce(o.entries, 0) or f.units <> coalesce(o.taken, 0) or f.mixed <> coalesce(o.mixed, 0)

-- What is pending is in the outbox, and nothing else.
-- name: outbox_transfers
select t.run, t.worker, t.sequence, t.source, t.amount, t.state, coalesce(o.amount, 0) as in_outbox
from transfer as t
left join outbox as o
  on o.run = t.run and o.worker = t.worker and o.sequence = t.sequence and o.source = t.source and o.target = t.target
where coalesce(o.amount, 0) <> case when t.state = 3 then t.amount else 0 end
union all
select o.run, o.worker, o.sequence, o.source, 0, 0, o.amount
from outbox as o
left join transfer as t
  on t.run = o.run and t.worker = o.worker and t.sequence = o.sequence and t.source = o.source
where t.run is null

-- What came from another store was given to its account once, or to nobody where it was refused.
-- name: inbox_entries
select i.run, i.worker, i.sequence, i.source, i.target, i.amount, i.state, coalesce(e.amount, 0) as credited
from inbox as i
left join entry as e
  on e.run = i.run and e.worker = i.worker and e.sequence = i.sequence and e.source = i.source and e.account = i.target
where coalesce(e.amount, 0) <> case when i.state = 1 then i.amount else 0 end

-- What a coordinator has decided was done.
-- name: decision_transfers
select d.run, d.worker, d.sequence, d.source, d.target, coalesce(t.target, 0) as made_to, coalesce(t.state, 0) as state
from decision as d
left join transfer as t
  on t.run = d.run and t.worker = d.worker and t.sequence = d.sequence and t.source = d.source
where t.run is null or t.state <> 1 or t.target <> d.target

-- Money is taken from the source and given to another account, or back; and an entry lies in the store of its account.
-- name: entry_shape
select run, worker, sequence, source, account, amount
from entry
where account < ?1 or account > ?2 or amount > ?4 or amount + ?4 < 0
  or (account <> source and amount < 0)

-- A run has the number of nanoseconds since 1970 at its begin, and a row the microseconds since then by the clock of the engine. Other
-- callers may number their runs otherwise.
-- name: transfer_shape
select run, worker, sequence, source, target, amount, state, balance
from transfer
where source < ?1 or source > ?2 or target = source or amount < 1 or amount > ?4 or state not in (1, 2, 3, 4, 5)
  or balance < 0 or (state = 2 and balance >= amount) or created <= 0 or (settled > 0) <> (state in (4, 5))
  or run > 1577836800000000000 and run < 4102444800000000000
    and (created / 1000000 < run / 1000000000 - 93600 or created / 1000000 > run / 1000000000 + 2764800)
  or settled > 0 and settled < created - 3600000000

-- For the ledger ---------------------------------------------------------------------------------------------------------

-- By run and worker, with count, amounts and a checksum, of entries of the sequences alone: transfers that were accepted (1) and declined (2), debits (3) and
-- credits (4), transfers that are pending (7), were settled (8) and refunded (9), what came from other stores and was given (10) or
-- refused (11), declined transfers to accounts of other stores (12), those that were accepted once more, with sequences mixed as
-- entries have them (13), credits but for money that was returned, with a transfer's checksum (14), and all transfers with the balance that
-- each was answered with (15); accounts (5) with what they hold; and branches that are prepared and not decided (6), where an engine has such.
-- name: tallies
select 1 as sort, run, worker, count(*) as transfers, cast(sum(amount) as bigint) as units,
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint) as mixed
from transfer
where state <> 2
group by run, worker
union all
select 2, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 2
group by run, worker
union all
select 3, run, worker, count(*), cast(-sum(amount) as bigint), cast(sum(sequence * 48271 % 2147483647) as bigint)
from entry
where amount < 0
group by run, worker
union all
select 4, run, worker, count(*), cast(sum(amount) as bigint), cast(sum(sequence * 48271 % 2147483647) as bigint)
from entry
where amount > 0
group by run, worker
union all
select 12, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 2 and not exists (select 1 from shard_range where transfer.target between first_account and last_account)
group by run, worker
union all
select 7, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 3
group by run, worker
union all
select 8, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 4
group by run, worker
union all
select 9, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from transfer
where state = 5
group by run, worker
union all
select 10, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from inbox
where state = 1
group by run, worker
union all
select 11, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + target * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from inbox
where state = 2
group by run, worker
union all
select 13, run, worker, count(*), cast(sum(amount) as bigint), cast(sum(sequence * 48271 % 2147483647) as bigint)
from transfer
where state <> 2
group by run, worker
union all
select 14, run, worker, count(*), cast(sum(amount) as bigint),
  cast(sum(
    (sequence + 1) * 48271 % 2147483647 * ((source * 16807 + account * 69621 + amount * 40692) % 2147483647) % 2147483647
  ) as bigint)
from entry
where amount > 0 and account <> source
group by run, worker
union all
select 15, run, worker, count(*), cast(sum(balance) as bigint),
  cast(sum((sequence + 1) * 48271 % 2147483647 * (balance * 16807 % 2147483647) % 2147483647) as bigint)
from transfer
group by run, worker
union all
select sort, run, worker, transfers, units, mixed
from forgotten
union all
select 5, 0, 0, count(*), cast(coalesce(sum(balance), 0) as bigint), 0
from account
order by 1, 2, 3

-- What became of transfers that were pending at first and were accepted from ?1 until before ?2, in microseconds: after so many
-- tenths of a millisecond so many were settled (1); so many of them were given back (2); in which second how many were
-- accepted (3) and settled (4); and how many were pending at ?1 (5).
-- name: settlement
select 1 as sort, (settled - created) / 100 as number, count(*) as transfers
from transfer
where state in (4, 5) and created >= ?1 and created < ?2
group by 2
union all
select 2, 0, count(*)
from transfer
where state = 5 and created >= ?1 and created < ?2
union all
select 3, (created - ?1) / 1000000, count(*)
from transfer
where state in (3, 4, 5) and created >= ?1 and created < ?2
group by 2
union all
select 4, (settled - ?1) / 1000000, count(*)
from transfer
where state in (4, 5) and settled >= ?1 and settled < ?2
group by 2
union all
select 5, 0, count(*)
from transfer
where state in (3, 4, 5) and created < ?1 and (settled = 0 or settled >= ?1)

-- What has become of the transfer under the key of run ?1, worker ?2 and sequence ?3; asked of the store of its source.
-- name: stored_transfer
select state
from transfer
where run = ?1 and worker = ?2 and sequence = ?3

-- Not an audit: balances that belong to the accounts that have them. Nothing changes them after the last answer.
-- name: totals
select count(*), cast(coalesce(sum(id % 2147483647 * (balance % 2147483647) % 2147483647), 0) as bigint)
from account
