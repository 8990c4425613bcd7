-- What holds at any moment, also while calls are made, since each of them is done whole or not at all. A condition is a query: it
-- returns what breaks it. None has parameters, and all engines take the same text.

-- What is added to a teller is added to its branch.
-- name: tellers
select in_tellers, in_branches
from (select sum(tbalance) as in_tellers from pgbench_tellers) as t
cross join (select sum(bbalance) as in_branches from pgbench_branches) as b
where in_tellers <> in_branches

-- To an account.
-- name: accounts
select in_accounts, in_branches
from (select sum(abalance) as in_accounts from pgbench_accounts) as a
cross join (select sum(bbalance) as in_branches from pgbench_branches) as b
where in_accounts <> in_branches

-- And is in history.
-- name: history
select in_history, in_branches
from (select coalesce(sum(delta), 0) as in_history from pgbench_history) as h
cross join (select sum(bbalance) as in_branches from pgbench_branches) as b
where in_history <> in_branches
