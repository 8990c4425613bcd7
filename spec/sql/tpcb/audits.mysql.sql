-- What differs on MySQL's dialect, as MariaDB speaks it: whole numbers of 64 bits are cast to by another name.

-- name: balance_sums
select in_accounts, in_tellers, in_branches
from (select cast(coalesce(sum(abalance), 0) as signed) as in_accounts from pgbench_accounts) as a
cross join (select cast(coalesce(sum(tbalance), 0) as signed) as in_tellers from pgbench_tellers) as t
cross join (select cast(coalesce(sum(bbalance), 0) as signed) as in_branches from pgbench_branches) as b
where in_accounts <> in_tellers or in_tellers <> in_branches or in_accounts <> in_branches

-- name: history_sum
select in_branches, in_history, entries
from (select cast(coalesce(sum(bbalance), 0) as signed) as in_branches from pgbench_branches) as b
cross join (
  select cast(coalesce(sum(delta), 0) as signed) as in_history, count(*) as entries
  from pgbench_history
) as h
where in_branches <> in_history

-- name: branch_history
select pgbench_branches.bid, bbalance, coalesce(moved, 0) as in_history, coalesce(entries, 0) as history_rows
from pgbench_branches
left join (
  select bid, cast(coalesce(sum(delta), 0) as signed) as moved, count(*) as entries
  from pgbench_history
  group by bid
) as h on h.bid = pgbench_branches.bid
where bbalance <> coalesce(moved, 0)
order by pgbench_branches.bid

-- name: teller_history
select pgbench_tellers.tid, tbalance, coalesce(moved, 0) as in_history, coalesce(entries, 0) as history_rows
from pgbench_tellers
left join (
  select tid, cast(coalesce(sum(delta), 0) as signed) as moved, count(*) as entries
  from pgbench_history
  group by tid
) as h on h.tid = pgbench_tellers.tid
where tbalance <> coalesce(moved, 0)
order by pgbench_tellers.tid

-- name: account_spread
select (select count(*) from pgbench_accounts) as numbers, cast(coalesce(sum(entries), 0) as signed) as draws,
  cast(coalesce(sum(entries * (entries - 1)), 0) as signed) as meetings
from account_moves

-- name: teller_spread
select (select count(*) from pgbench_tellers) as numbers, cast(coalesce(sum(entries), 0) as signed) as draws,
  cast(coalesce(sum(entries * (entries - 1)), 0) as signed) as meetings
from (select count(*) as entries from pgbench_history group by tid) as draws_of_tellers

-- name: branch_spread
select (select count(*) from pgbench_branches) as numbers, cast(coalesce(sum(entries), 0) as signed) as draws,
  cast(coalesce(sum(entries * (entries - 1)), 0) as signed) as meetings
from (select count(*) as entries from pgbench_history group by bid) as draws_of_branches

-- name: amount_mean
select count(delta), cast(coalesce(sum(delta), 0) as signed)
from pgbench_history

-- name: amount_spread
select count(delta), cast(coalesce(sum(cast(delta as signed) * delta), 0) as signed)
from pgbench_history

-- name: tallies
select 1 as place, a.bid as id, a.balance, coalesce(h.entries, 0) as entries, coalesce(h.moved, 0) as moved,
  coalesce(h.mixed, 0) as mixed
from (
  select bid, cast(coalesce(sum(abalance), 0) as signed) as balance
  from pgbench_accounts
  group by bid
) as a
left join (
  select pgbench_accounts.bid, count(*) as entries, cast(coalesce(sum(delta), 0) as signed) as moved,
    cast(coalesce(sum(
      pgbench_history.aid * 48271 % 2147483647
      * ((tid * 16807 + pgbench_history.bid * 69621 + (delta + 5001) * 40692) % 2147483647) % 2147483647
    ), 0) as signed) as mixed
  from pgbench_history
  join pgbench_accounts on pgbench_accounts.aid = pgbench_history.aid
  group by pgbench_accounts.bid
) as h on h.bid = a.bid
union all
select 2, t.tid, coalesce(t.tbalance, 0), coalesce(h.entries, 0), coalesce(h.moved, 0), coalesce(h.mixed, 0)
from pgbench_tellers as t
left join (
  select tid, count(*) as entries, cast(coalesce(sum(delta), 0) as signed) as moved,
    cast(coalesce(sum(
      aid * 48271 % 2147483647
      * ((tid * 16807 + bid * 69621 + (delta + 5001) * 40692) % 2147483647) % 2147483647
    ), 0) as signed) as mixed
  from pgbench_history
  group by tid
) as h on h.tid = t.tid
union all
select 3, b.bid, coalesce(b.bbalance, 0), coalesce(h.entries, 0), coalesce(h.moved, 0), coalesce(h.mixed, 0)
from pgbench_branches as b
left join (
  select bid, count(*) as entries, cast(coalesce(sum(delta), 0) as signed) as moved,
    cast(coalesce(sum(
      aid * 48271 % 2147483647
      * ((tid * 16807 + bid * 69621 + (delta + 5001) * 40692) % 2147483647) % 2147483647
    ), 0) as signed) as mixed
  from pgbench_history
  group by bid
) as h on h.bid = b.bid
order by 1, 2

-- name: history_dates
select bid, count(*) as row_count, timestampdiff(second, '1970-01-01', min(mtime)) as earliest, timestampdiff(second, '1970-01-01', max(mtime)) as latest
from pgbench_history
where mtime < timestampadd(second, ?5, '1970-01-01') or mtime > timestampadd(second, ?6, '1970-01-01')
group by bid
order by bid
