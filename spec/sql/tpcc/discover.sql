-- How much there is in a database that somebody else loaded; the same text on every engine.

-- Warehouses; items; customers and orders placed in the first district. Loads give each customer one order (4.3.3.1), so a
-- run's orders are what goes beyond. Last names are not counted: which of them there must be follows from the customers.
-- name: cardinality
select (select count(*) from warehouse), (select count(*) from item), count(*),
  (select d_next_o_id - 1 from district where d_w_id = 1 and d_id = 1)
from customer
where c_w_id = 1 and c_d_id = 1
