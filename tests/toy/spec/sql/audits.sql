-- What must hold in the toy's tables, whatever ran on them. Queries return the rows that violate a condition.
--
-- Parameters, the same in all: ?1 boxes.

-- A box holds the notes that were posted into it, and the sum of their numbers.
-- name: box_notes
select boxes.id, boxes.notes, coalesce(posted.notes, 0) as posted, boxes.total, coalesce(posted.total, 0) as posted_total
from boxes
left join (
  select box, count(*) as notes, sum(number) as total
  from notes
  group by box
) as posted on posted.box = boxes.id
where boxes.notes <> coalesce(posted.notes, 0) or boxes.total <> coalesce(posted.total, 0)
order by boxes.id

-- name: note_boxes
select notes.box, notes.number
from notes
left join boxes on boxes.id = notes.box
where boxes.id is null

-- No box comes or goes, and ids have no gap.
-- name: box_ids
select boxes, id_min, id_max
from (select count(*) as boxes, min(id) as id_min, max(id) as id_max from boxes) as counts
where boxes <> ?1 or id_min <> 1 or id_max <> ?1

-- For the ledger, and for what a trial waits for: each box, and its notes that are still on their way.
-- name: stored
select boxes.id, boxes.notes, boxes.total, coalesce(pending.notes, 0) as pending
from boxes
left join (
  select box, count(*) as notes
  from notes
  where arrives_ms > cast(unixepoch('subsec') * 1000 as integer)
  group by box
) as pending on pending.box = boxes.id
order by boxes.id
