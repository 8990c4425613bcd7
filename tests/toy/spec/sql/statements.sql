-- The statements of the toy's transaction, in its order. Parameters: ?1, ?2, …

-- The box first: it is locked until the commit, so that what is read next is what this call has made of it.
-- name: add_to_box
update boxes
set notes = notes + 1, total = total + ?2
where id = ?1

-- name: read_box
select notes, total
from boxes
where id = ?1

-- By the clock of the database, which also says when a note has arrived.
-- name: insert_note
insert into notes (box, number, arrives_ms)
values (?1, ?2, cast(unixepoch('subsec') * 1000 as integer) + ?3)
