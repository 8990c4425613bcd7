-- Replaces a statement on PostgreSQL in style `outbox-notify`: the transaction also notifies the relay. PostgreSQL delivers notifications
-- after the commit, and holds a lock of the whole cluster during the commit of a transaction that notifies.

-- name: insert_outbox
with added as (
  insert into outbox (run, worker, sequence, event, user_id, quantity, created)
  values (?1, ?2, ?3, ?4, ?5, ?6, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
  returning id
)
select pg_notify('stackmark_outbox', '') from added
