CREATE SCHEMA s;
CREATE TABLE s.t (a integer PRIMARY KEY, b text NOT NULL DEFAULT 'x' CHECK (b <> ''), c integer GENERATED ALWAYS AS IDENTITY,
  d integer GENERATED ALWAYS AS (a * 2) STORED, e numeric(5,2) UNIQUE DEFERRABLE);
COMMENT ON TABLE s.t IS 'a comment';
COMMENT ON COLUMN s.t.a IS 'of a column';
CREATE INDEX t_b ON s.t (b DESC) WHERE a > 0;
CREATE VIEW s.v AS SELECT a FROM s.t;
CREATE MATERIALIZED VIEW s.m AS SELECT 1 AS a;
CREATE SEQUENCE s.q OWNED BY s.t.a;
CREATE TYPE s.color AS ENUM ('red', 'green');
CREATE DOMAIN s.positive AS integer DEFAULT 3 CHECK (VALUE > 0);
CREATE TYPE s.pair AS (a integer, b text);
CREATE TABLE s.p (a integer REFERENCES s.t, b date) PARTITION BY RANGE (b);
CREATE TABLE s.p1 PARTITION OF s.p FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE s.p2 PARTITION OF s.p DEFAULT;
CREATE FUNCTION s.f(a integer, OUT b text) LANGUAGE sql AS $$SELECT 'x'$$;
ALTER TABLE s.t ENABLE ROW LEVEL SECURITY;
CREATE POLICY po ON s.t FOR SELECT USING (a > 1);
CREATE ROLE ann LOGIN CREATEDB;
CREATE ROLE crew;
GRANT crew TO ann;
GRANT SELECT, UPDATE (b) ON s.t TO ann;
ALTER DEFAULT PRIVILEGES FOR ROLE verso IN SCHEMA s GRANT SELECT ON TABLES TO ann;
\d s.t
\d+ s.t
\d s.v
\d+ s.v
\d+ s.m
\d s.q
\d s.t_pkey
\d s.t_b
\d s.p
\d+ s.p
\d s.p1
\d s.pair
\d s.?
\dt s.*
\dt s.t
\dtv s.*
\di s.*
\dix s.t_b
\ds s.*
\dm s.*
\dv s.*
\d
\dt
SET search_path = s;
\d
\dt p?
\df
\df f integer
\df f text
\dn s
\dn+ s
\dT+ s.*
\dT
\dD+ s.*
\du ann
\du+ crew
\drg verso
\dp t
\z s.v
\ddp
\dC bigint
\dP
\dP s.*
\dd
\dconfig default_transaction_isolation
\sf f
\sf+ f
\sv v
\sv+ v
\pset format csv
\dt
\pset format aligned
\x
\dt t
\d p1
\x
\t
\dt
\t
