//! Objects of further kinds, and statements over them.

use super::generator::Generator;

impl Generator {
    /// A column's name and what it is compared with, for a view over fields of rows.
    fn of_rows(&mut self) -> String {
        let (function, column) = (self.function(), self.column());
        let relation = self.relation();
        match self.rng.below(7) {
            0 => format!("SELECT q.{column} FROM {function}() AS q (id, a)"),
            1 => format!("SELECT q.*, q.{column} AS again FROM {function}() WITH ORDINALITY AS q"),
            2 => format!("SELECT ({function}()).*"),
            3 => format!("SELECT (x.a).*, x.id FROM {relation} AS x"),
            4 => format!(
                "SELECT x.{column}, q.a FROM {relation} AS x (one, id, a), LATERAL {function}(x.one) AS q (a)"
            ),
            5 => format!("SELECT (x.a).{column} AS part, (x.a) AS whole FROM {relation} AS x"),
            _ => format!("SELECT to_json(q) AS j, (q).{column} AS c FROM {function}() AS q"),
        }
    }

    /// A partitioned table with some partitions.
    fn divided(&mut self) -> Vec<String> {
        let (name, ty) = (self.name("t"), self.ty());
        let parts: Vec<String> = (0..3).map(|_| self.name("t")).collect();
        self.tables.extend([name.clone(), parts[0].clone()]);
        let columns = format!("id int NOT NULL, a {ty}, b int DEFAULT {}(2), w text", self.function());
        match self.rng.below(3) {
            0 => vec![
                format!("CREATE TABLE {name} ({columns}, PRIMARY KEY (id)) PARTITION BY RANGE (id)"),
                format!("CREATE TABLE {} PARTITION OF {name} FOR VALUES FROM (MINVALUE) TO (2)", parts[0]),
                format!(
                    "CREATE TABLE {} PARTITION OF {name} FOR VALUES FROM (2) TO (9) PARTITION BY LIST (b)",
                    parts[1]
                ),
                format!("CREATE TABLE {} PARTITION OF {} (w DEFAULT 'own') DEFAULT", parts[2], parts[1]),
            ],
            1 => vec![
                format!("CREATE TABLE {name} ({columns}) PARTITION BY HASH (id, w)"),
                format!(
                    "CREATE TABLE {} PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                    parts[0]
                ),
                format!(
                    "CREATE TABLE {} PARTITION OF {name} FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                    parts[1]
                ),
            ],
            _ => vec![
                format!("CREATE TABLE {} (w text, b int, a {ty}, id int NOT NULL, gone int)", parts[0]),
                format!("ALTER TABLE {} DROP COLUMN gone", parts[0]),
                format!("CREATE TABLE {name} ({columns}) PARTITION BY LIST (b)"),
                format!("ALTER TABLE {name} ATTACH PARTITION {} FOR VALUES IN (0, 1, NULL)", parts[0]),
            ],
        }
    }

    /// What belongs to a table or a view.
    fn belonging(&mut self) -> String {
        let table = Generator::some(&mut self.rng, &self.tables).to_owned();
        let view = Generator::some(&mut self.rng, &self.views).to_owned();
        let (column, function, number) = (self.column(), self.function(), self.count);
        match self.rng.below(12) {
            0 => format!(
                "CREATE POLICY p{number} ON {table} AS RESTRICTIVE FOR UPDATE TO clerk USING ({}) WITH CHECK ({})",
                self.condition(""),
                self.condition("")
            ),
            1 => format!(
                "CREATE TRIGGER tr{number} AFTER INSERT OR UPDATE OF {column} ON {table} REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION nothing('x', 5)"
            ),
            2 => format!(
                "CREATE TRIGGER tr{number} INSTEAD OF DELETE ON {view} FOR EACH ROW EXECUTE FUNCTION nothing()"
            ),
            3 => format!(
                "CREATE CONSTRAINT TRIGGER tr{number} AFTER DELETE ON {table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nothing()"
            ),
            4 => format!("ALTER TABLE {table} DISABLE TRIGGER ALL"),
            5 => format!("ALTER TABLE {table} SET (fillfactor = 50)"),
            6 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL"),
            7 => format!("ALTER TABLE {table} REPLICA IDENTITY FULL"),
            8 => format!(
                "ALTER TABLE {table} ALTER COLUMN {column} ADD GENERATED ALWAYS AS IDENTITY (START 5)"
            ),
            9 => format!(
                "ALTER TABLE {table} ADD COLUMN g{number} bigint GENERATED ALWAYS AS ({function}({column})) VIRTUAL"
            ),
            10 => {
                format!("ALTER TABLE {table} ADD COLUMN d{number} text COLLATE \"C\" DEFAULT {function}('q')")
            }
            _ => format!("ALTER VIEW {view} ALTER COLUMN {column} SET DEFAULT {function}(3)"),
        }
    }

    /// Rights and comments.
    fn said(&mut self) -> String {
        let table = Generator::some(&mut self.rng, &self.tables).to_owned();
        let view = Generator::some(&mut self.rng, &self.views).to_owned();
        let ty = Generator::some(&mut self.rng, &self.types).to_owned();
        let (schema, number) = (self.schema(), self.count);
        match self.rng.below(14) {
            0 => format!("GRANT USAGE ON SCHEMA {schema} TO clerk WITH GRANT OPTION"),
            1 => format!("GRANT USAGE ON TYPE {ty} TO clerk"),
            2 => format!("REVOKE ALL ON TYPE {ty} FROM PUBLIC"),
            3 => format!("ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO clerk"),
            4 => "ALTER DEFAULT PRIVILEGES FOR ROLE clerk REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC".to_owned(),
            5 => format!("REVOKE EXECUTE ON FUNCTION {}(bigint) FROM PUBLIC", self.function()),
            6 => format!("COMMENT ON SCHEMA {schema} IS 'of {number}'"),
            7 => format!("COMMENT ON VIEW {view} IS 'of {number}'"),
            8 => format!("COMMENT ON TYPE {ty} IS E'two\\nlines'"),
            9 => format!("COMMENT ON CONSTRAINT not_there ON {table} IS 'x'"),
            10 => format!("COMMENT ON SEQUENCE {table}_id_seq IS 'counts'"),
            11 => format!("COMMENT ON COLUMN {ty}.a IS 'a field'"),
            12 => format!("ALTER VIEW {view} OWNER TO clerk"),
            _ => format!("GRANT SELECT, UPDATE ({}) ON {view} TO PUBLIC", self.column()),
        }
    }

    /// Types and what is made of them.
    fn typed(&mut self) -> Vec<String> {
        let ty = Generator::some(&mut self.rng, &self.types).to_owned();
        let (number, function, column) = (self.count, self.function(), self.column());
        vec![match self.rng.below(11) {
            0 => {
                let name = self.name("t");
                self.tables.push(name.clone());
                format!("CREATE TABLE {name} OF {ty} (id WITH OPTIONS PRIMARY KEY, w DEFAULT 'typed')")
            }
            1 => format!("ALTER TYPE {ty} ADD ATTRIBUTE x{number} {} CASCADE", self.ty()),
            2 => format!("ALTER TYPE {ty} DROP ATTRIBUTE {column} CASCADE"),
            3 => format!("ALTER TYPE {ty} ALTER ATTRIBUTE {column} TYPE bigint CASCADE"),
            4 => format!("ALTER TYPE {ty} RENAME ATTRIBUTE {column} TO r{number} CASCADE"),
            5 => format!(
                "CREATE FUNCTION {function}() RETURNS SETOF {ty} STABLE LANGUAGE sql BEGIN ATOMIC SELECT NULL::{ty}; END"
            ),
            6 => format!("CREATE FUNCTION {function}({ty}) RETURNS int IMMUTABLE RETURN ($1).id"),
            7 => {
                let name = self.name("y");
                self.types.push(name.clone());
                format!("CREATE TYPE {name} AS (id {ty}, a {ty}[], b int)")
            }
            8 => {
                let name = self.name("y");
                self.types.push(name.clone());
                format!("CREATE DOMAIN {name} AS {ty} CHECK (VALUE IS NOT NULL)")
            }
            9 => format!(
                "CREATE AGGREGATE {}.ag{number} ({ty}) (SFUNC = array_append, STYPE = {ty}[])",
                self.schema()
            ),
            _ => {
                let table = Generator::some(&mut self.rng, &self.tables).to_owned();
                format!("ALTER TABLE {table} ADD COLUMN c{number} {ty}[], ADD COLUMN e{number} {ty}")
            }
        }]
    }

    /// Sequences and what counts by them.
    fn counted(&mut self) -> Vec<String> {
        let name = self.name("q");
        let table = Generator::some(&mut self.rng, &self.tables).to_owned();
        let column = self.column();
        let made =
            format!("CREATE SEQUENCE {name} AS smallint INCREMENT -2 MAXVALUE 50 MINVALUE -50 START 7 CYCLE");
        let used = match self.rng.below(4) {
            0 => format!("ALTER SEQUENCE {name} OWNED BY {table}.{column}"),
            1 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT nextval('{name}')"),
            2 => format!("SELECT nextval('{name}'), nextval('{name}')"),
            _ => format!("GRANT USAGE ON SEQUENCE {name} TO clerk"),
        };
        vec![made, used]
    }

    /// Statements of kinds that [`Generator::statements`] has not by itself.
    pub(super) fn more(&mut self) -> Vec<String> {
        match self.rng.below(8) {
            0 => self.divided(),
            1 => vec![self.belonging()],
            2 => vec![self.said()],
            3 | 4 => self.typed(),
            5 => self.counted(),
            _ => {
                let query = self.of_rows();
                let name = self.name("v");
                self.views.push(name.clone());
                let kind = if self.rng.one_in(4) { "MATERIALIZED " } else { "" };
                vec![format!("CREATE {kind}VIEW {name} AS {query}")]
            }
        }
    }
}
