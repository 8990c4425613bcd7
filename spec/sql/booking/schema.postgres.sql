-- Events and bookings on PostgreSQL. Keys are made after the rows are in. Events leave room in their pages, so that tickets are
-- taken beside the old version of a row and no index is touched.

-- `limited` is 1 where each user may have one booking.
-- name: table_event
create table event (
  id bigint not null,
  stock bigint not null check (stock > 0),
  available bigint not null check (available >= 0),
  limited bigint not null check (limited in (0, 1))
) with (fillfactor = 50)

-- A booking is stored under the key that it was asked for with: 64 bits of run, 32 of worker, 32 of sequence. `limited_to` is
-- its user where the event is limited, and null elsewhere.
-- name: table_booking
create table booking (
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  event bigint not null,
  user_id bigint not null,
  quantity bigint not null check (quantity > 0),
  limited_to bigint,
  created bigint not null
)

-- A row for each booking that is to be announced, in the order of its number; whoever has announced it removes it. Its key is there
-- from the start, since nothing is loaded into it.
-- name: table_outbox
create table outbox (
  id bigint generated always as identity primary key,
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  event bigint not null,
  user_id bigint not null,
  quantity bigint not null,
  created bigint not null
)

-- Who announces, and until when nobody else does.
-- name: table_outbox_lease
create table outbox_lease (
  id bigint not null,
  holder bigint not null,
  expires bigint not null
)

-- name: index_event_key
alter table event add constraint event_pkey primary key (id)

-- name: index_booking_key
alter table booking add constraint booking_pkey primary key (run, worker, sequence)

-- name: index_outbox_lease_key
alter table outbox_lease add constraint outbox_lease_pkey primary key (id)

-- name: index_booking_limited
create unique index booking_limited on booking (event, limited_to) where limited_to is not null
