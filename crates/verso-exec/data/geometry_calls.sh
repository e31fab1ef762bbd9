#!/usr/bin/env bash
# Writes geometry_calls.tsv from a PostgreSQL server: what each function over geometric types yields for all pairs of some
# values, errors included. The tests compare Verso's functions with it.
#
#     PGHOST=… PGPORT=… PGUSER=… ./geometry_calls.sh
#
# A line "value" has a type and a value of it. A line "call" has a function, the types of its arguments between commas and its
# results: of the first values of all arguments, then with the next value of the last argument, and so on.
set -euo pipefail
cd "$(dirname "$0")"
psql -X -q -At -v ON_ERROR_STOP=1 -d template1 > geometry_calls.tsv <<'SQL'
set extra_float_digits = 1;
create temp table samples (n serial, ty text, value text);
insert into samples (ty, value) values
  ('point', '(0,0)'), ('point', '(1,2)'), ('point', '(-3,4)'), ('point', '(5.1,34.5)'), ('point', '(10,10)'),
  ('point', '(4e-07,2)'), ('point', '(1e-300,-1e-300)'), ('point', '(1e+300,Infinity)'), ('point', '(NaN,3)'),
  ('point', '(-1.5e+308,1.5e+308)'),
  ('lseg', '[(1,2),(3,4)]'), ('lseg', '[(0,0),(6,6)]'), ('lseg', '[(10,-10),(-3,-4)]'),
  ('lseg', '[(-1000000,200),(300000,-40)]'), ('lseg', '[(2,2),(2,7)]'), ('lseg', '[(1,1),(9,1)]'), ('lseg', '[(4,4),(4,4)]'),
  ('lseg', '[(NaN,1),(NaN,90)]'), ('lseg', '[(-Infinity,0),(5,5)]'),
  ('line', '{0,-1,5}'), ('line', '{1,0,5}'), ('line', '{0,3,0}'), ('line', '{1,-1,0}'), ('line', '{-0.4,-1,-6}'),
  ('line', '{0,-1,3}'), ('line', '{-1,0,3}'), ('line', '{2,2,-8}'), ('line', '{3,NaN,5}'), ('line', '{NaN,NaN,NaN}'),
  ('box', '(2,2),(0,0)'), ('box', '(3,3),(1,1)'), ('box', '(2.5,3.5),(2.5,2.5)'), ('box', '(3,3),(3,3)'),
  ('box', '(8,2),(-2,-10)'), ('box', '(Infinity,5),(-1,-Infinity)'), ('box', '(NaN,1),(0,0)'), ('box', '(1e+200,1e+200),(0,0)'),
  ('path', '[(1,2),(3,4)]'), ('path', '((1,2),(3,4))'), ('path', '[(0,0),(3,0),(4,5),(1,6)]'),
  ('path', '((0,0),(4,0),(4,4),(0,4))'), ('path', '((10,20))'), ('path', '[(11,12)]'), ('path', '[(11,12),(13,14)]'),
  ('path', '((NaN,1),(2,3))'),
  ('polygon', '((2,0),(2,4),(0,0))'), ('polygon', '((3,1),(3,3),(1,0))'), ('polygon', '((1,2),(3,4),(5,6))'),
  ('polygon', '((7,8),(5,6),(3,4),(1,2))'), ('polygon', '((1,2),(7,8),(5,6),(3,-4))'), ('polygon', '((0,0))'),
  ('polygon', '((0,1),(0,1))'), ('polygon', '((0,0),(4,0),(4,4),(0,4))'), ('polygon', '((1,1),(3,1),(3,3),(1,3))'),
  ('polygon', '((4,4),(0,4),(0,0),(4,0))'), ('polygon', '((0,0),(5,0),(5,5),(2.5,1),(0,5))'), ('polygon', '((0,0),(NaN,1),(1,1))'),
  ('circle', '<(5,1),3>'), ('circle', '<(1,2),100>'), ('circle', '<(1,3),5>'), ('circle', '<(100,200),10>'),
  ('circle', '<(100,1),115>'), ('circle', '<(3,5),0>'), ('circle', '<(3,5),NaN>'), ('circle', '<(0,0),1e+200>'),
  ('circle', '<(1e+300,0),1.5e+308>'),
  ('double precision', '0'), ('double precision', '-2.5'), ('double precision', '1e+300'), ('double precision', 'NaN'),
  ('integer', '1'), ('integer', '2'), ('integer', '5');
select 'value' || E'\t' || ty || E'\t' || value from samples order by n;

create function pg_temp.result(name text, types text[], args text[]) returns text language plpgsql as $$
declare found text; list text;
begin
  select string_agg(quote_literal(a) || '::' || t, ', ') into list from unnest(args, types) u(a, t);
  execute format('select coalesce((pg_catalog.%I(%s))::text, ''NULL'')', name, list) into found;
  return found;
exception when others then
  return 'ERROR ' || sqlstate || ' ' || sqlerrm;
end $$;

create temp table calls as
  select p.oid, p.proname as name, array(select format_type(t, null) from unnest(p.proargtypes) with ordinality u(t, n) order by n) as types
  from pg_proc p
  where p.pronamespace = 11 and p.prokind = 'f' and p.pronargs in (1, 2)
    and p.proargtypes::oid[] && array[600, 601, 602, 603, 604, 628, 718]::oid[]
    and p.proargtypes::oid[] <@ array[600, 601, 602, 603, 604, 628, 718, 701, 23]::oid[]
    and p.proname !~ '_(in|out|recv|send)$|^(gist|spg)_'
  union all
  select oid, proname, array['double precision', 'double precision'] from pg_proc where proname = 'point' and pronargs = 2;

select 'call' || E'\t' || name || E'\t' || array_to_string(types, ',') || E'\t' || (
    select string_agg(pg_temp.result(name, types, case when b.value is null then array[a.value] else array[a.value, b.value] end), E'\t' order by a.n, b.n)
    from samples a left join samples b on b.ty = types[2] where a.ty = types[1])
from calls order by name, array_to_string(types, ',');
SQL
