-- What holds at any moment, also while calls are made, since each of them is done whole or not at all. A condition is a query: it
-- returns what breaks it. None has parameters, and all engines take the same text.

-- Tickets that are not available are booked.
-- name: tickets
select sold, booked
from (select sum(stock - available) as sold from event) as e
cross join (select coalesce(sum(quantity), 0) as booked from booking) as b
where sold <> booked
