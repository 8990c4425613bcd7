-- An audit next to those of audits.sql, in the same form for all engines.

-- Shape: these texts are as long as they can be loaded (4.3.3.1). Payments by customers with bad credit keep c_data within 300 and 500
-- characters: they put a note in front of it and cut it at 500.
-- name: loaded_texts
select 's_data' as text_name, s_w_id as w_id, count(*) as changed, min(s_i_id) as lowest
from stock
where (length(s_data) between 26 and 50) is not true
group by s_w_id
union all
select 'c_data', c_w_id, count(*), min(c_id)
from customer
where (length(c_data) between 300 and 500) is not true
group by c_w_id
union all
select 'i_data', 0, count(*), min(i_id)
from item
where (length(i_data) between 26 and 50) is not true
having count(*) > 0
