-- One warehouse as go-tpc loads it, by the rules of its loader: loaded lines are of 5 pieces, c_last of the first thousand customers
-- are the thousand names in turn and those of the rest are drawn, customers of orders are a permutation. Its texts are drawn
-- letter by letter; here they are pieces of hashes of the same lengths, which nothing reads.

select setseed(0.5);

create function pg_temp.drawn(low integer, high integer) returns integer volatile language sql as
  'select low + floor(random() * (high - low + 1))::integer';

create function pg_temp.letters(low integer, high integer) returns text volatile language sql as
  'select left(repeat(md5(random()::text), 16), pg_temp.drawn(low, high))';

create function pg_temp.last_name(number integer) returns text immutable language sql as
  $$ select syllables[number / 100 + 1] || syllables[number / 10 % 10 + 1] || syllables[number % 10 + 1]
     from (select array['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING']) as s(syllables) $$;

insert into item (i_id, i_im_id, i_name, i_price, i_data)
select i, pg_temp.drawn(1, 10000), pg_temp.letters(14, 24), pg_temp.drawn(100, 10000) / 100.0,
  case when random() < 0.1 then 'ORIGINAL' else '' end || pg_temp.letters(26, 42)
from generate_series(1, 100000) as i;

insert into warehouse
select 1, 'Wone', 'street', 'street', 'city', 'AB', '123411111', pg_temp.drawn(0, 2000) / 10000.0, 300000;

insert into district
select d, 1, 'Dist' || d, 'street', 'street', 'city', 'AB', '123411111', pg_temp.drawn(0, 2000) / 10000.0, 30000, 3001
from generate_series(1, 10) as d;

insert into stock
select i, 1, pg_temp.drawn(10, 100), dist, dist, dist, dist, dist, dist, dist, dist, dist, dist, 0, 0, 0,
  case when random() < 0.1 then 'ORIGINAL' else '' end || pg_temp.letters(26, 42)
from (select i, upper(left(md5(i::text), 24)) as dist from generate_series(1, 100000) as i) as items;

insert into customer
select c, d, 1, pg_temp.letters(8, 16), 'OE',
  pg_temp.last_name(case when c <= 1000 then c - 1 else ((pg_temp.drawn(0, 255) | pg_temp.drawn(0, 999)) + 157) % 1000 end),
  'street', 'street', 'city', 'AB', '123411111', '1234567890123456', localtimestamp,
  case when pg_temp.drawn(1, 10) = 1 then 'BC' else 'GC' end, 50000, pg_temp.drawn(0, 5000) / 10000.0, -10, 10, 1, 0,
  pg_temp.letters(300, 500)
from generate_series(1, 10) as d, generate_series(1, 3000) as c;

insert into history
select c, d, 1, d, 1, localtimestamp, 10, pg_temp.letters(12, 24)
from generate_series(1, 10) as d, generate_series(1, 3000) as c;

insert into orders
select o, d, 1, row_number() over (partition by d order by random()), localtimestamp,
  case when o < 2101 then pg_temp.drawn(1, 10) end, pg_temp.drawn(5, 15), 1
from generate_series(1, 10) as d, generate_series(1, 3000) as o;

insert into new_order
select o, d, 1 from generate_series(1, 10) as d, generate_series(2101, 3000) as o;

insert into order_line
select o_id, o_d_id, 1, number, 1 + floor(random() * 100000), 1, case when o_id < 2101 then localtimestamp end, 5,
  case when o_id < 2101 then 0 else (1 + floor(random() * 999999)) / 100 end, left(md5(random()::text), 24)
from orders, generate_series(1, o_ol_cnt) as number;

analyze;
