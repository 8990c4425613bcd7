-- The statements of pgbench's TPC-B-like transaction, in its order. Canonical form, which SQLite takes as it is; what
-- differs on another engine is in statements.ENGINE.sql under the same name. Parameters: ?1, ?2, …

-- name: add_to_account
update pgbench_accounts
set abalance = abalance + ?2
where aid = ?1

-- name: read_account
select abalance
from pgbench_accounts
where aid = ?1

-- name: add_to_teller
update pgbench_tellers
set tbalance = tbalance + ?2
where tid = ?1

-- The hot row: there are as few of them as the scale says, and every call updates one. It is locked until the commit.
-- name: add_to_branch
update pgbench_branches
set bbalance = bbalance + ?2
where bid = ?1

-- name: insert_history
insert into pgbench_history (tid, bid, aid, delta, mtime)
values (?1, ?2, ?3, ?4, unixepoch())
