CREATE SCHEMA dumped;
SET search_path = dumped;
COMMENT ON SCHEMA dumped IS 'of every kind';
CREATE TYPE mood AS ENUM ('sad', 'it''s ok', 'happy');
CREATE TYPE pair AS (a integer, b text);
CREATE TYPE float_range AS RANGE (subtype = float8);
CREATE DOMAIN percent AS numeric(5,2) DEFAULT 0 NOT NULL CONSTRAINT small CHECK (VALUE <= 100);
CREATE SEQUENCE numbers INCREMENT 5 MINVALUE 10 MAXVALUE 1000 START 20 CACHE 3 CYCLE;
CREATE TABLE parents (
    id integer GENERATED ALWAYS AS IDENTITY (START WITH 7) PRIMARY KEY,
    big bigserial,
    name text NOT NULL,
    kind mood DEFAULT 'sad',
    share percent,
    a_pair pair,
    span float_range,
    tags text[] DEFAULT '{a,"b,c"}',
    price numeric(10,2) CONSTRAINT positive CHECK (price >= 0),
    gross numeric GENERATED ALWAYS AS (price * 1.2) STORED,
    doc jsonb,
    raw bytea,
    made timestamp with time zone DEFAULT now(),
    "Odd Name" integer,
    CONSTRAINT named UNIQUE (name, kind),
    CONSTRAINT one_of CHECK (price > 0 OR name <> 'free')
);
COMMENT ON TABLE parents IS 'parents''s table';
COMMENT ON COLUMN parents."Odd Name" IS 'odd';
INSERT INTO parents (name, kind, a_pair, span, price, doc, raw, "Odd Name")
    SELECT 'name ' || g || E'\t\\', 'happy', (g, 'x"y'), float_range(g, g + 0.5), g, jsonb_build_object('a', g), '\x00ff', nullif(g, 3)
    FROM generate_series(1, 20) g;
CREATE TABLE children (
    a integer, b integer,
    parent integer REFERENCES parents ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (a, b) INCLUDE (parent)
);
INSERT INTO children SELECT g, g, 6 + g FROM generate_series(1, 5) g;
CREATE INDEX children_parent ON children (parent DESC NULLS LAST) WHERE b > 2;
CREATE INDEX parents_lower ON parents (lower(name), ((price * 2)));
CREATE INDEX parents_doc ON parents USING gin (doc);
CREATE UNIQUE INDEX parents_one ON parents (price) NULLS NOT DISTINCT;
CREATE TABLE parts (id integer, day date) PARTITION BY RANGE (day);
CREATE TABLE parts_old PARTITION OF parts FOR VALUES FROM (MINVALUE) TO ('2024-01-01');
CREATE TABLE parts_new PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (id);
CREATE TABLE parts_new_1 PARTITION OF parts_new FOR VALUES IN (1, 2);
CREATE TABLE parts_rest PARTITION OF parts DEFAULT;
CREATE INDEX parts_id ON parts (id);
INSERT INTO parts VALUES (1, '2023-05-05'), (2, '2024-05-05'), (3, '2030-01-01');
CREATE UNLOGGED TABLE unlogged (a integer) WITH (fillfactor = 70);
CREATE VIEW seen AS SELECT p.id, p.name, count(c.a) AS children
    FROM parents p LEFT JOIN children c ON c.parent = p.id WHERE p.kind IN ('happy', 'sad') GROUP BY p.id, p.name HAVING count(*) > 0 ORDER BY p.name;
CREATE VIEW small WITH (security_barrier = true) AS SELECT * FROM children WHERE a < 3 WITH LOCAL CHECK OPTION;
CREATE MATERIALIZED VIEW kept AS SELECT id, upper(name) AS loud FROM parents;
CREATE UNIQUE INDEX kept_id ON kept (id);
CREATE FUNCTION twice(n integer, by integer DEFAULT 2) RETURNS integer LANGUAGE sql IMMUTABLE STRICT AS 'SELECT n * by';
CREATE FUNCTION plain(n integer) RETURNS integer LANGUAGE sql STABLE BEGIN ATOMIC SELECT n + 1; END;
CREATE PROCEDURE clear(IN wanted integer, INOUT cleared integer) LANGUAGE plpgsql SECURITY DEFINER SET work_mem = '1MB' AS $body$
BEGIN
    DELETE FROM children WHERE a = wanted;
    GET DIAGNOSTICS cleared = ROW_COUNT;
END;
$body$;
CREATE FUNCTION stamped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := trim(NEW.name); RETURN NEW; END; $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE OF name ON parents FOR EACH ROW WHEN (NEW.name IS NOT NULL) EXECUTE FUNCTION stamped();
CREATE AGGREGATE total(integer) (SFUNC = int4pl, STYPE = integer, INITCOND = '0');
CREATE OPERATOR #+# (FUNCTION = twice, LEFTARG = integer, RIGHTARG = integer);
-- pg_dump puts the function of a cast before others: its name is the first one anyway.
CREATE FUNCTION as_number(mood) RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE CAST (mood AS integer) WITH FUNCTION as_number(mood) AS ASSIGNMENT;
ALTER TABLE children ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON children FOR SELECT TO dump_reader USING (a > 1);
CREATE POLICY change ON children AS RESTRICTIVE FOR UPDATE USING (true) WITH CHECK (b < 100);
-- Names that were others when the texts were made.
CREATE TABLE clerks (who name, number integer, day date CHECK (day > '2020-01-01'::date));
CREATE POLICY theirs ON children FOR SELECT USING (EXISTS (SELECT FROM clerks WHERE who = current_user AND number = a) OR ROW(children.*) = ROW(1, 1, 7));
ALTER TABLE clerks RENAME COLUMN number TO a;
ALTER TABLE clerks RENAME COLUMN day TO date;
ALTER TABLE clerks RENAME COLUMN date TO since;
ALTER TABLE clerks RENAME TO staff;
ALTER TABLE children ADD COLUMN later integer;
GRANT SELECT, UPDATE (a) ON children TO dump_reader;
GRANT USAGE ON SCHEMA dumped TO dump_reader;
GRANT EXECUTE ON FUNCTION twice TO dump_reader;
REVOKE EXECUTE ON FUNCTION plain FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA dumped GRANT SELECT ON TABLES TO dump_reader;
SELECT setval('numbers', 55);
