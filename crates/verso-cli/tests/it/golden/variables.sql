\set v 'it''s'
\set n 5
\set cols 'id, name'
CREATE TABLE t (id integer, name text);
INSERT INTO t VALUES (:n, :'v'), (6, NULL);
SELECT :cols FROM t WHERE id = :n;
SELECT :n::text AS ":n", ':n' AS b FROM t;
SELECT name AS :"v" FROM t WHERE id IN (:n) AND (ARRAY[1,2,3])[1:2] IS NOT NULL;
\echo :v :'v' :"v" :{?v} :{?nope} ':v' a:v b
\echo 'tab\tnew\nline' "in quotes" `echo from a program`
\echo -n no end
\echo  of line
\qecho to the output
SELECT id AS a, name AS b FROM t ORDER BY id LIMIT 1 \gset
\echo :a :b
SELECT 1 AS one, NULL AS none \gset p_
\echo :p_one :{?p_none}
SELECT 'SELECT ' || g || ' AS g' FROM generate_series(1, 2) AS s(g)
\gexec
\if :{?v}
  \echo taken
  SELECT 'in if' AS c;
\else
  \echo never :v
  SELECT 1/0;
\endif
\if false
  \if true
    \echo never
  \endif
  SELECT 'never';
\elif :n
  \echo elif is not true
\else
  \echo otherwise
\endif
SELECT 1 AS a
\if true
  , 2 AS b
\else
  , 3 AS c
\endif
;
SELECT 1
\r
SELECT 2 AS two
\p
\g
\g
SELECT 3 AS three \; SELECT 4 AS four;
SELECT id, name, 1.5::numeric(4,1) AS x FROM t \gdesc
CREATE TABLE u (a integer) \gdesc
SELECT $1::integer + $2 AS sum \bind 3 4 \g
SELECT :ROW_COUNT AS rows, :'SQLSTATE' AS state, :'ERROR' AS failed;
\set AUTOCOMMIT off
INSERT INTO t VALUES (7, 'x');
ROLLBACK;
\set AUTOCOMMIT on
SELECT count(*) FROM t;
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO t VALUES (8, 'kept');
SELECT 1/0;
INSERT INTO t VALUES (9, 'kept, too');
COMMIT;
SELECT count(*) FROM t;
\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE
\set QUIET on
INSERT INTO t VALUES (10, 'no tag');
\x on
\x off
\set QUIET off
\unset v
\echo :v
\getenv home NO_SUCH_VARIABLE
\echo :{?home}
\setenv SHELL_TEST yes
\if :{?SERVER_VERSION_NUM}
SELECT :SERVER_VERSION_NUM >= 180000 AS server, :VERSION_NUM >= 1 AS own, :'SERVER_VERSION_NAME' LIKE '18.0%' AS named, :{?VERSION_NAME} AS known;
\endif
\getenv test SHELL_TEST
\echo :test
\! exit 3
\echo :SHELL_ERROR :SHELL_EXIT_CODE
SELECT 1 AS w \watch i=0.01 c=0.5
