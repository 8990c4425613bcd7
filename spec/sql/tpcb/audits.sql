-- What must hold in the tables of pgbench's TPC-B-like transaction, whoever made them and whatever ran on them. An audit is
-- a query. Those of the first two parts return the rows that violate a condition, so they must return nothing; those of the
-- third return figures, and code judges them.
--
-- Parameters, the same in all: ?1 branches; ?2 accounts a branch (100,000); ?3 tellers a branch (10); ?4 branches whose ids
-- come before, in other stores (0 where there is one); ?5 and ?6 the first and the last date that history may have, in seconds since 1970.
-- Sums are cast to 64 bits, because engines give them in whatever type cannot overflow.
--
-- History begins at the load, or where somebody emptied it: pgbench does before a run, unless told not to (-n). Queries that
-- compare it with balances say what differs, and code knows what can be told from that.

-- Balances and history --------------------------------------------------------------------------------------------------

-- One row an account that history names, from one pass over history.
-- name: prepare_account_moves
create temporary table account_moves (
  aid integer not null primary key,
  entries bigint not null,
  moved bigint not null
)

-- name: prepare_account_moves_rows
insert into account_moves
select aid, count(*), coalesce(sum(delta), 0)
from pgbench_history
where aid is not null
group by aid

-- Every call adds the same amount in all three tables.
-- name: balance_sums
select in_accounts, in_tellers, in_branches
from (select cast(coalesce(sum(abalance), 0) as bigint) as in_accounts from pgbench_accounts) as a
cross join (select cast(coalesce(sum(tbalance), 0) as bigint) as in_tellers from pgbench_tellers) as t
cross join (select cast(coalesce(sum(bbalance), 0) as bigint) as in_branches from pgbench_branches) as b
where in_accounts <> in_tellers or in_tellers <> in_branches or in_accounts <> in_branches

-- And says so in history.
-- name: history_sum
select in_branches, in_history, entries
from (select cast(coalesce(sum(bbalance), 0) as bigint) as in_branches from pgbench_branches) as b
cross join (
  select cast(coalesce(sum(delta), 0) as bigint) as in_history, count(*) as entries
  from pgbench_history
) as h
where in_branches <> in_history

-- name: branch_history
select pgbench_branches.bid, bbalance, coalesce(moved, 0) as in_history, coalesce(entries, 0) as history_rows
from pgbench_branches
left join (
  select bid, cast(coalesce(sum(delta), 0) as bigint) as moved, count(*) as entries
  from pgbench_history
  group by bid
) as h on h.bid = pgbench_branches.bid
where bbalance <> coalesce(moved, 0)
order by pgbench_branches.bid

-- name: teller_history
select pgbench_tellers.tid, tbalance, coalesce(moved, 0) as in_history, coalesce(entries, 0) as history_rows
from pgbench_tellers
left join (
  select tid, cast(coalesce(sum(delta), 0) as bigint) as moved, count(*) as entries
  from pgbench_history
  group by tid
) as h on h.tid = pgbench_tellers.tid
where tbalance <> coalesce(moved, 0)
order by pgbench_tellers.tid

-- name: account_history
select pgbench_accounts.aid, abalance, coalesce(moved, 0) as in_history, coalesce(entries, 0) as history_rows
from pgbench_accounts
left join account_moves on account_moves.aid = pgbench_accounts.aid
where abalance <> coalesce(moved, 0)

-- Shape ------------------------------------------------------------------------------------------------------------------

-- No row of a bank comes or goes, and ids have no gap.
-- name: row_counts
select bank_table, wanted, found, ids, id_min, id_max
from (
  select 'pgbench_branches' as bank_table, ?4 * 1 as ids_before, ?1 * 1 as wanted, count(*) as found,
    count(distinct bid) as ids, min(bid) as id_min, max(bid) as id_max
  from pgbench_branches
  union all
  select 'pgbench_tellers', ?4 * ?3, ?1 * ?3, count(*), count(distinct tid), min(tid), max(tid)
  from pgbench_tellers
  union all
  select 'pgbench_accounts', ?4 * ?2, ?1 * ?2, count(*), count(distinct aid), min(aid), max(aid)
  from pgbench_accounts
) as counts
where found <> wanted or ids <> wanted or id_min <> ids_before + 1 or id_max <> ids_before + wanted or id_min is null

-- name: missing_balances
select 'pgbench_branches' as bank_table, count(*) as balances
from pgbench_branches
where bbalance is null
having count(*) > 0
union all
select 'pgbench_tellers', count(*)
from pgbench_tellers
where tbalance is null
having count(*) > 0
union all
select 'pgbench_accounts', count(*)
from pgbench_accounts
where abalance is null
having count(*) > 0

-- name: account_branches
select aid, bid
from pgbench_accounts
where bid is null or aid <= (bid - 1) * ?2 or aid > bid * ?2 or filler is null

-- name: teller_branches
select tid, bid
from pgbench_tellers
where bid is null or tid <= (bid - 1) * ?3 or tid > bid * ?3

-- name: history_references
select h.tid, h.bid, h.aid, h.delta
from pgbench_history as h
left join pgbench_tellers as t on t.tid = h.tid
left join pgbench_branches as b on b.bid = h.bid
left join pgbench_accounts as a on a.aid = h.aid
where t.tid is null or b.bid is null or a.aid is null

-- name: history_amounts
select tid, bid, aid, delta, case when mtime is null then 1 else 0 end as without_time
from pgbench_history
where delta is null or delta < -5000 or delta > 5000 or mtime is null

-- In the time of whatever zone wrote them.
-- name: history_dates
select bid, count(*) as row_count, min(mtime) as earliest, max(mtime) as latest
from pgbench_history
where typeof(mtime) = 'integer' and (mtime < ?5 or mtime > ?6)
group by bid
order by bid

-- What calls have left behind: figures -----------------------------------------------------------------------------------

-- Accounts, draws of them, and how often two draws met on one, counted both ways.
-- name: account_spread
select (select count(*) from pgbench_accounts) as numbers, cast(coalesce(sum(entries), 0) as bigint) as draws,
  cast(coalesce(sum(entries * (entries - 1)), 0) as bigint) as meetings
from account_moves

-- name: teller_spread
select (select count(*) from pgbench_tellers) as numbers, cast(coalesce(sum(entries), 0) as bigint) as draws,
  cast(coalesce(sum(entries * (entries - 1)), 0) as bigint) as meetings
from (select count(*) as entries from pgbench_history group by tid) as draws_of_tellers

-- name: branch_spread
select (select count(*) from pgbench_branches) as numbers, cast(coalesce(sum(entries), 0) as bigint) as draws,
  cast(coalesce(sum(entries * (entries - 1)), 0) as bigint) as meetings
from (select count(*) as entries from pgbench_history group by bid) as draws_of_branches

-- Rows, their sum, and the sum of their squares.
-- name: amount_mean
select count(delta), cast(coalesce(sum(delta), 0) as bigint)
from pgbench_history

-- name: amount_spread
select count(delta), cast(coalesce(sum(cast(delta as bigint) * delta), 0) as bigint)
from pgbench_history

-- Calls, and those whose account belongs to their branch.
-- name: accounts_at_home
select count(*), count(case when a.bid = h.bid then 1 end)
from pgbench_history as h
join pgbench_accounts as a on a.aid = h.aid

-- name: tellers_at_home
select count(*), count(case when t.bid = h.bid then 1 end)
from pgbench_history as h
join pgbench_tellers as t on t.tid = h.tid

-- For the ledger ---------------------------------------------------------------------------------------------------------

-- Every place where amounts are entered: its sort (1 the accounts of a branch together, 2 a teller, 3 a branch), its id, its
-- balance, and its rows of history, their sum, and a checksum of what they say.
-- name: tallies
select 1 as place, a.bid as id, a.balance, coalesce(h.entries, 0) as entries, coalesce(h.moved, 0) as moved,
  coalesce(h.mixed, 0) as mixed
from (
  select bid, cast(coalesce(sum(abalance), 0) as bigint) as balance
  from pgbench_accounts
  group by bid
) as a
left join (
  select pgbench_accounts.bid, count(*) as entries, cast(coalesce(sum(delta), 0) as bigint) as moved,
    cast(coalesce(sum(
      cast(pgbench_history.aid as bigint) * 48271 % 2147483647
      * ((cast(tid as bigint) * 16807 + cast(pgbench_history.bid as bigint) * 69621
        + (cast(delta as bigint) + 5001) * 40692) % 2147483647) % 2147483647
    ), 0) as bigint) as mixed
  from pgbench_history
  join pgbench_accounts on pgbench_accounts.aid = pgbench_history.aid
  group by pgbench_accounts.bid
) as h on h.bid = a.bid
union all
select 2, t.tid, coalesce(t.tbalance, 0), coalesce(h.entries, 0), coalesce(h.moved, 0), coalesce(h.mixed, 0)
from pgbench_tellers as t
left join (
  select tid, count(*) as entries, cast(coalesce(sum(delta), 0) as bigint) as moved,
    cast(coalesce(sum(
      cast(aid as bigint) * 48271 % 2147483647
      * ((cast(tid as bigint) * 16807 + cast(bid as bigint) * 69621
        + (cast(delta as bigint) + 5001) * 40692) % 2147483647) % 2147483647
    ), 0) as bigint) as mixed
  from pgbench_history
  group by tid
) as h on h.tid = t.tid
union all
select 3, b.bid, coalesce(b.bbalance, 0), coalesce(h.entries, 0), coalesce(h.moved, 0), coalesce(h.mixed, 0)
from pgbench_branches as b
left join (
  select bid, count(*) as entries, cast(coalesce(sum(delta), 0) as bigint) as moved,
    cast(coalesce(sum(
      cast(aid as bigint) * 48271 % 2147483647
      * ((cast(tid as bigint) * 16807 + cast(bid as bigint) * 69621
        + (cast(delta as bigint) + 5001) * 40692) % 2147483647) % 2147483647
    ), 0) as bigint) as mixed
  from pgbench_history
  group by bid
) as h on h.bid = b.bid
order by 1, 2

-- What pgbench itself asks to learn the scale.
-- name: scale
select count(*)
from pgbench_branches
