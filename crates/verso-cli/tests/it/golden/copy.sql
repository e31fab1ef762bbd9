CREATE TABLE t (a integer, b text);
\copy t from stdin
1	one
2	\N
\.
COPY t (a, b) FROM STDIN (FORMAT csv);
3,"three, ""3"""
4,
\.
\copy t to 'out.csv' with (format csv, header)
\copy (SELECT a, b FROM t WHERE a < 3 ORDER BY a) to stdout
COPY t TO STDOUT (FORMAT csv);
\copy t from 'out.csv' csv header
SELECT count(*) FROM t;
\copy t (a) to 'out.bin' binary
CREATE TABLE u (a integer);
\copy u from 'out.bin' (format binary)
SELECT * FROM u;
COPY u TO STDOUT \g out.txt
\o out.txt
SELECT 'hidden' AS x;
\qecho in the file
\o
\! cat out.txt
SELECT 5 AS five \g out.txt
SELECT 6 AS six \g | cat
\! cat out.txt
SELECT 7
\w out.txt
\! cat out.txt
\r
