CREATE TABLE t (id integer, "a long|name" text, n numeric(10,2), ok boolean, j jsonb);
INSERT INTO t VALUES (1, 'one', 1234567.89, true, '{"a": [1, null]}'), (2, E'two\nlines', NULL, false, NULL),
  (-30, E'a|b "c" <d> & \\ tab\there', -0.5, NULL, '"x"'), (NULL, '', 0, true, '[]');
\pset null '(null)'
SELECT * FROM t ORDER BY n;
\pset border 0
SELECT * FROM t ORDER BY n;
\x
SELECT * FROM t ORDER BY n;
\pset border 1
SELECT * FROM t ORDER BY n;
\pset border 2
SELECT * FROM t ORDER BY n;
\x off
SELECT * FROM t ORDER BY n;
\pset linestyle unicode
SELECT * FROM t ORDER BY n;
\x on
SELECT * FROM t ORDER BY n;
\x off
\pset linestyle old-ascii
SELECT * FROM t ORDER BY n;
\pset border 1
SELECT * FROM t ORDER BY n;
\x on
SELECT * FROM t ORDER BY n;
\x off
\pset linestyle ascii
\pset numericlocale on
SELECT id, n FROM t ORDER BY n;
\pset numericlocale off
\pset format wrapped
\pset columns 30
SELECT * FROM t ORDER BY n;
SELECT 1 AS one, repeat('word ', 20) AS words;
\x
SELECT 1 AS one, repeat('word ', 20) AS words;
\x auto
SELECT 1 AS one, repeat('word ', 3) AS words;
\pset format aligned
SELECT 1 AS one, repeat('word ', 20) AS words;
\x off
\pset columns 0
\a
SELECT * FROM t ORDER BY n;
\pset fieldsep ';'
\pset recordsep ' / '
SELECT id, n FROM t ORDER BY n;
\x
SELECT id, n FROM t ORDER BY n;
\pset recordsep '\n'
SELECT id, n FROM t ORDER BY n;
\x
\t
SELECT id, n FROM t ORDER BY n;
\t
\a
\t on
SELECT id, n FROM t ORDER BY n;
\x
SELECT id, n FROM t ORDER BY n;
\x
\t off
\pset format csv
SELECT * FROM t ORDER BY n;
\pset csv_fieldsep '\t'
SELECT * FROM t ORDER BY n;
\x
SELECT id, ok FROM t ORDER BY n;
\x
\pset format asciidoc
SELECT * FROM t ORDER BY n;
\x
SELECT id, ok FROM t ORDER BY n;
\x
\H
\T class="x"
\C 'A <title>'
SELECT * FROM t ORDER BY n;
\x
SELECT id, ok FROM t ORDER BY n;
CREATE TABLE u (a integer);
\H
\x
SELECT id FROM t ORDER BY n;
\C
\pset footer off
SELECT id FROM t ORDER BY n;
SELECT id FROM t WHERE false;
\pset footer on
SELECT FROM t;
SELECT 'x' AS "two
lines", 1 AS b;
\x
SELECT 'x' AS "two
lines", 1 AS b;
SELECT id FROM t WHERE false;
SELECT FROM t;
\x
SELECT id, ok FROM t ORDER BY n \gx
SELECT id, ok FROM t ORDER BY n \g (format=csv tuples_only=on)
SELECT id, ok FROM t ORDER BY n \g (expanded border=2)
INSERT INTO u VALUES (1), (2) RETURNING a;
\f
\f :
\t
\t
\x auto
\pset linestyle
\pset null
