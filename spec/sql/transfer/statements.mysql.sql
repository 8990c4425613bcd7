-- What differs on MySQL's dialect, as MariaDB speaks it: rows are locked one by one, times come from its clock, and a key that
-- is there already is ignored by another word.

-- name: lock_accounts
select id, balance
from account
where id in (?1, ?2)
order by id
for update

-- name: insert_transfer
insert ignore into transfer (run, worker, sequence, source, target, amount, state, balance, created)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: lock_account
select balance
from account
where id = ?1
for update

-- name: insert_entries
insert ignore into entry (run, worker, sequence, source, account, amount)
values (?1, ?2, ?3, ?4, ?4, ?6), (?1, ?2, ?3, ?4, ?5, ?7)

-- name: insert_entry
insert ignore into entry (run, worker, sequence, source, account, amount)
values (?1, ?2, ?3, ?4, ?5, ?6)

-- name: insert_message
insert into outbox (created, run, worker, sequence, source, target, amount)
values (cast(unix_timestamp(sysdate(6)) * 1000000 as signed), ?1, ?2, ?3, ?4, ?5, ?6)

-- name: insert_decision
insert ignore into decision (run, worker, sequence, source, target)
values (?1, ?2, ?3, ?4, ?5)
