-- What a router is made of, on every engine: each store says which accounts it holds.

-- name: read_range
select first_account, last_account
from shard_range
order by first_account
