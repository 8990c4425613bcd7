-- What differs on PostgreSQL: rows are locked one by one, and times come from its clock.

-- name: lock_accounts
select id, balance
from account
where id in (?1, ?2)
order by id
for update

-- name: insert_transfer
insert into transfer (run, worker, sequence, source, target, amount, state, balance, created)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
on conflict do nothing

-- name: lock_account
select balance
from account
where id = ?1
for update

-- name: insert_message
insert into outbox (created, run, worker, sequence, source, target, amount)
values ((extract(epoch from clock_timestamp()) * 1000000)::bigint, ?1, ?2, ?3, ?4, ?5, ?6)
