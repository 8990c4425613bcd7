-- Boxes, and the notes that were posted into them. Tables are strict, so that a wrong type is an error and not a surprise.

-- What is in a box is kept beside it: how many notes, and the sum of their numbers.
-- name: table_boxes
create table boxes (
  id integer primary key,
  notes integer not null,
  total integer not null
) strict;

-- No key: a row is only ever added. A note is on its way until the moment `arrives_ms`, in milliseconds since 1970.
-- name: table_notes
create table notes (
  box integer not null,
  number integer not null,
  arrives_ms integer not null
) strict;
