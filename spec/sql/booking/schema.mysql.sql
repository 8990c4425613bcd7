-- Events and bookings on MariaDB (InnoDB). Rows are clustered by their keys, which are therefore made with the tables.

-- `limited` is 1 where each user may have one booking.
-- name: table_event
create table event (
  id bigint not null,
  stock bigint not null check (stock > 0),
  available bigint not null check (available >= 0),
  limited bigint not null check (limited in (0, 1)),
  primary key (id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- A booking is stored under the key that it was asked for with: 64 bits of run, 32 of worker, 32 of sequence. `limited_to` is
-- its user where the event is limited, and null elsewhere. An index over some rows only does not exist here: it has all of them.
-- name: table_booking
create table booking (
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  event bigint not null,
  user_id bigint not null,
  quantity bigint not null check (quantity > 0),
  limited_to bigint,
  created bigint not null,
  primary key (run, worker, sequence),
  unique key booking_limited (event, limited_to)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- A row for each booking that is to be announced, in the order of its number; whoever has announced it removes it.
-- name: table_outbox
create table outbox (
  id bigint not null auto_increment,
  run bigint not null,
  worker bigint not null,
  sequence bigint not null,
  event bigint not null,
  user_id bigint not null,
  quantity bigint not null,
  created bigint not null,
  primary key (id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin

-- Who announces, and until when nobody else does.
-- name: table_outbox_lease
create table outbox_lease (
  id bigint not null,
  holder bigint not null,
  expires bigint not null,
  primary key (id)
) engine = InnoDB, character set = utf8mb4, collate = utf8mb4_bin
