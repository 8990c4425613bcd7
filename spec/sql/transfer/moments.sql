-- What holds at any moment, also while calls are made, since each of them is done whole or not at all. A condition is a query: it
-- returns what breaks it. None has parameters, and all engines take the same text.

-- A transfer takes from one account what it gives to another. Each account had 100,000 first.
-- name: balances
select count(*) as accounts, sum(balance) as balances
from account
having sum(balance) <> count(*) * 100000

-- The entries of an account are what has changed it: sums by account, so that none can stand for another.
-- name: entries
select in_accounts, in_entries
from (select sum(id * (balance - 100000)) as in_accounts from account) as a
cross join (select coalesce(sum(account * amount), 0) as in_entries from entry) as e
where in_accounts <> in_entries

-- A transfer that was not declined has taken its amount. What was forgotten is in entries alone.
-- name: transfers
select in_transfers, in_entries
from (select coalesce(sum(amount), 0) as in_transfers from transfer where state <> 2) as t
cross join (select coalesce(sum(-amount), 0) as in_entries from entry where amount < 0) as e
where in_transfers <> in_entries and not exists (select 1 from forgotten)
