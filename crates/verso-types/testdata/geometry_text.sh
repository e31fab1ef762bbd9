#!/usr/bin/env bash
# Writes geometry_text.tsv from a PostgreSQL server: texts of geometric values, good ones and such with characters left out,
# doubled and exchanged, and what `('text'::type)::text` prints, or its error. The texts are the same at each run.
#
#     PGHOST=… PGPORT=… PGUSER=… ./geometry_text.sh
set -euo pipefail
cd "$(dirname "$0")"
psql -X -q -At -v ON_ERROR_STOP=1 -d template1 > geometry_text.tsv <<'SQL'
set extra_float_digits = 1;
create temp table texts (n serial, ty text, text text);
insert into texts (ty, text)
  select ty, text from (values
    (array['point'], array['(1,2)', '1,2', ' ( 1 , 2 ) ', '(1 2)', '(1,2', '1,2)', '(1,2)x', '((1,2))', '', '(,)', '(1,2,3)', '(1e400,1)',
      '(-1e-400,1)', '(inf,-INFINITY)', '(nan,NaN)', '(0x1p3,0x.8)', '(1.,.5)', '(1e,2)', '(1e+,2)', '(+5,-0)', '(1e5x,2)', '(4.9e-324,1)',
      '(1_0,2)', '[1,2]', '<1,2>', '(1,2) ', E'\f(1,\v2)']),
    (array['lseg', 'line', 'box', 'path', 'polygon'], array['[(1,2),(3,4)]', '((1,2),(3,4))', '(1,2),(3,4)', '1,2,3,4', '(1,2,3,4)',
      '[1,2,3,4]', ' [ ( 1 , 2 ) , ( 3 , 4 ) ] ', '((1,2),(3,4)', '(1,2),(3,4))', '[(1,2),(3,4)', '[(1,2),(3,4))', '((1,2),(3,4)]',
      '(1,2)(3,4)', '(1,2) (3,4)', '(1,2),3,4', '1,2,(3,4)', '((1,2)),((3,4))', '(((1,2),(3,4)))', '(1,2),(3,4),', ',(1,2),(3,4)',
      '(1,2),(3,4),(5,6)', '[(1,2),(3,4),(5,6)]', '((1,2),(3,4),(5,6))', '1,2,3,4,5,6', '(1,2)', '1,2', '((1,2))', '[(1,2)]', '([1,2])',
      '(1,2,3)', '1,2,3', '(3,1),(1,3)', '(NaN,2),(3,-inf)', '(1,1),(1,1)', '(1,2),(1.0000001,5)', '', '()', '[]', '((', '(1,2),(3,x)',
      '(1e300,1e300),(-1e300,-1e300)', '1,2,3,4 ', '( ( 1,2 ),( 3,4 ) )', '((1,2) , (3,4) )']),
    (array['line'], array['{1,2,3}', ' { 1 , 2 , 3 } ', '{1,2}', '{1,2,3', '{1,2,3,4}', '{0,0,1}', '{1e-7,-1e-7,1}', '{nan,1,2}', '{1,2,3}x',
      '{ 1,2,inf}', '{(1,2),3}', '{}', '[(1,2),(1,5)]', '(2,7),(9,7)', '(0,0),(3,1)', '(1,2),(2,4)', '(1e308,1),(-1e308,2)',
      '{1,2,3e400}', '(0,0),(1e-5,1e5)']),
    (array['circle'], array['<(1,2),3>', '((1,2),3)', '(1,2),3', '1,2,3', '(1,2,3)', '<1,2,3>', '<(1,2) 3>', '<(1,2)3>', ' < ( 1 , 2 ) , 3 > ',
      '<(1,2),3', '(1,2),3>', '<(1,2),-1>', '<(1,2),0>', '<(1,2),nan>', '<(1,2),inf>', '<(1,2),-0>', '<(1,2),3)', '((1,2),3>', '((1,2),3',
      '<(1,2,3>', '<((1,2)),3>', '(((1,2),3))', '<(1,2),3>>', '<(1,2),3> x', '', '<>', '<(1,2),>', '<(1,2),1e999>'])
  ) v(types, list), unnest(types) ty, unnest(list) text;

-- One character of a text at a time is left out, doubled, or another one.
do $$ begin perform setseed(0.25); end $$;
insert into texts (ty, text)
  select ty, left(text, at - 1) || case (random() * 3)::int when 0 then '' when 1 then substr(text, at, 1) || substr(text, at, 1)
      else substr('()[]{}<>,. 019eE+-xnif', 1 + (random() * 21)::int, 1) end || substr(text, at + 1)
  from (select n, ty, text, 1 + (random() * greatest(length(text) - 1, 0))::int as at from texts, generate_series(1, 5)) mutated order by n;

create function pg_temp.result(ty text, text text) returns text language plpgsql as $$
declare found text;
begin
  execute format('select (%L::%s)::text', text, ty) into found;
  return found;
exception when others then
  return 'ERROR ' || sqlstate || ' ' || sqlerrm;
end $$;
select distinct on (ty, text) ty || E'\t' || text || E'\t' || pg_temp.result(ty, text) from texts order by ty, text;
SQL
