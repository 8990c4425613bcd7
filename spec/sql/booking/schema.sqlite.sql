-- Events and bookings on SQLite. Tables are strict, so that a wrong type is an error and not a surprise; rows are clustered by
-- their keys. Times are microseconds since 1970.

-- `limited` is 1 where each user may have one booking.
-- name: table_event
create table event (
  id integer primary key,
  stock integer not null check (stock > 0),
  available integer not null check (available >= 0),
  limited integer not null check (limited in (0, 1))
) strict;

-- A booking is stored under the key that it was asked for with: 64 bits of run, 32 of worker, 32 of sequence. `limited_to` is
-- its user where the event is limited, and null elsewhere.
-- name: table_booking
create table booking (
  run integer not null,
  worker integer not null,
  sequence integer not null,
  event integer not null,
  user_id integer not null,
  quantity integer not null check (quantity > 0),
  limited_to integer,
  created integer not null,
  primary key (run, worker, sequence)
) strict, without rowid;

-- A row for each booking that is to be announced, in the order of its number; whoever has announced it removes it.
-- name: table_outbox
create table outbox (
  id integer primary key autoincrement,
  run integer not null,
  worker integer not null,
  sequence integer not null,
  event integer not null,
  user_id integer not null,
  quantity integer not null,
  created integer not null
) strict;

-- Who announces, and until when nobody else does.
-- name: table_outbox_lease
create table outbox_lease (
  id integer primary key,
  holder integer not null,
  expires integer not null
) strict;

-- name: index_booking_limited
create unique index booking_limited on booking (event, limited_to) where limited_to is not null;
