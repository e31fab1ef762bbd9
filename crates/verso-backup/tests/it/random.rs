//! Random schemas, saved and restored: definitions, rights, comments and rows are the same.
//!
//! A statement that the database refuses is left out, so the generator need not know what it may say.

use verso_backup::{BackupOptions, RestoreOptions};
use verso_sim::{Rng, seeds};
use versodb::{Connection, Database, Options};

use crate::world::{archive, open, restore, script};

const STATEMENTS: u64 = 120;

/// What is asked of every database, but for the contents of its relations.
const QUESTIONS: &[&str] = &[
    "SELECT c.oid::regclass::text, c.relkind, c.relpersistence, c.reloptions, c.relowner::regrole, c.relacl::text, c.relrowsecurity, c.relreplident,
            pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), c.reloftype::regtype
       FROM pg_class c WHERE c.oid >= 16384 ORDER BY 1",
    "SELECT c.oid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
            a.attcollation::regcollation, a.attacl::text, pg_get_expr(d.adbin, d.adrelid)
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.oid >= 16384 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, a.attnum",
    "SELECT c.oid::regclass::text, pg_get_viewdef(c.oid), pg_get_viewdef(c.oid, true) FROM pg_class c WHERE c.oid >= 16384 AND relkind IN ('v', 'm') ORDER BY 1",
    "SELECT conrelid::regclass::text, contypid::regtype::text, conname, contype, convalidated, condeferrable, pg_get_constraintdef(oid) FROM pg_constraint WHERE oid >= 16384 ORDER BY 1, 2, 3",
    "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid, indisclustered FROM pg_index WHERE indexrelid >= 16384 ORDER BY 1",
    "SELECT oid::regprocedure::text, prokind, pg_get_functiondef(oid), proacl::text FROM pg_proc WHERE oid >= 16384 AND prokind <> 'a' AND prosrc NOT LIKE 'range_constructor%' ORDER BY 1",
    "SELECT tgrelid::regclass::text, tgname, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
    "SELECT * FROM pg_policies ORDER BY 1, 2, 3",
    "SELECT t.oid::regtype::text, typtype, typnotnull, typdefault, typbasetype::regtype, typcollation::regcollation, typacl::text FROM pg_type t WHERE t.oid >= 16384 ORDER BY 1",
    "SELECT enumtypid::regtype::text, enumlabel FROM pg_enum ORDER BY 1, enumsortorder",
    "SELECT oprnamespace::regnamespace, oprname, oprleft::regtype, oprright::regtype, oprcode::regprocedure FROM pg_operator WHERE oid >= 16384 ORDER BY 1, 2, 3, 4",
    "SELECT collnamespace::regnamespace, collname, collisdeterministic, colllocale FROM pg_collation WHERE oid >= 16384 ORDER BY 1, 2",
    "SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext ORDER BY 1",
    "SELECT pg_describe_object(classoid, objoid, objsubid), description FROM pg_description WHERE objoid >= 16384 ORDER BY 1, 2",
    "SELECT inhrelid::regclass::text, inhparent::regclass FROM pg_inherits ORDER BY 1",
    "SELECT seqrelid::regclass::text, seqtypid::regtype, seqstart, seqincrement, pg_sequence_last_value(seqrelid) FROM pg_sequence ORDER BY 1",
    "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY 1",
];

/// The answer to a question, or why there is none.
fn ask(connection: &mut Connection, question: &str) -> Result<Vec<String>, String> {
    let rows = connection.query(question).map_err(|error| error.message.clone())?.into_rows();
    let text = |row: &versodb::Row| {
        let columns = row.columns().len();
        (0..columns).map(|at| row.text(at)).collect::<Vec<_>>().join("|")
    };
    Ok(rows.iter().map(text).collect())
}

/// Makes up statements.
struct Generator {
    rng: Rng,
    count: u64,
    /// What was made, by its name with its schema.
    tables: Vec<String>,
    views: Vec<String>,
    types: Vec<String>,
}

const SCHEMAS: [&str; 3] = ["public", "s", "\"Odd one\""];
/// Names of columns; of these every relation has some.
const COLUMNS: [&str; 5] = ["id", "a", "b", "w", "\"C d\""];
/// Names of functions: some are those of built-in ones.
const FUNCTIONS: [&str; 5] = ["f", "g", "upper", "abs", "length"];

impl Generator {
    fn schema(&mut self) -> &'static str {
        SCHEMAS[self.rng.index(SCHEMAS.len())]
    }

    fn name(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{}.{kind}{}", self.schema(), self.count)
    }

    fn some<'n>(rng: &mut Rng, names: &'n [String]) -> &'n str {
        if names.is_empty() { "nothing" } else { &names[rng.index(names.len())] }
    }

    fn column(&mut self) -> &'static str {
        COLUMNS[self.rng.index(COLUMNS.len())]
    }

    fn ty(&mut self) -> String {
        let plain = ["int", "int", "bigint", "smallint", "text", "varchar(9)", "numeric(8,2)"];
        match !self.types.is_empty() && self.rng.one_in(5) {
            true => self.rng.pick(&self.types).clone(),
            false => (*self.rng.pick(&plain)).to_owned(),
        }
    }

    /// A relation to read from.
    fn relation(&mut self) -> String {
        let names = if self.rng.one_in(3) { &self.views } else { &self.tables };
        Generator::some(&mut self.rng, names).to_owned()
    }

    fn function(&mut self) -> String {
        let schema = if self.rng.one_in(2) { String::new() } else { format!("{}.", self.schema()) };
        format!("{schema}{}", self.rng.pick(&FUNCTIONS))
    }

    /// A number or text over columns of an item called `of`.
    fn value(&mut self, of: &str) -> String {
        let column = format!("{of}{}", self.column());
        match self.rng.below(9) {
            0 => column,
            1 => format!("{column} + 1"),
            2 => format!("{}({column})", self.function()),
            3 => format!("{}({})", self.function(), self.rng.below(9)),
            4 => format!("{}('{}')", self.function(), self.rng.below(9)),
            5 => format!("coalesce({column}, {})", self.rng.below(5)),
            6 => format!("{column} OPERATOR({}.|+|) 1", self.schema()),
            7 => format!("{column} || 'x'"),
            _ => format!("CASE WHEN {column} IS NULL THEN 1 ELSE {} END", self.rng.below(5)),
        }
    }

    fn condition(&mut self, of: &str) -> String {
        let value = self.value(of);
        match self.rng.below(4) {
            0 => format!("{value} IS NOT NULL"),
            1 => format!("({value})::text <> 'nix'"),
            2 => format!("{value} > -5"),
            _ => format!("{value} IN ({value}, {value})"),
        }
    }

    fn query(&mut self) -> String {
        let (one, other) = (self.relation(), self.relation());
        let (x, y) = (self.value("x."), self.value("y."));
        match self.rng.below(8) {
            0 => format!("SELECT * FROM {one}"),
            1 => format!("SELECT x.*, {x} AS more FROM {one} AS x WHERE {}", self.condition("x.")),
            2 => format!("SELECT {x} AS one, {y} AS two FROM {one} AS x JOIN {other} AS y USING (id)"),
            3 => format!("SELECT {x} AS one, count(*) FROM {one} AS x GROUP BY 1"),
            4 => format!(
                "WITH y AS (SELECT * FROM {other}) SELECT {x} AS one, (SELECT max({y}) FROM y) FROM {one} AS x"
            ),
            5 => format!("SELECT x AS whole, (x).{} AS part FROM {one} AS x", self.column()),
            6 => format!("SELECT id, a FROM {one} UNION SELECT id, b FROM {other}"),
            _ => format!("SELECT q.{} FROM (SELECT id, a, b FROM {one}) AS q", self.column()),
        }
    }

    fn table(&mut self) -> Vec<String> {
        let name = self.name("t");
        let mut parts = vec![match self.rng.below(3) {
            0 => "id int PRIMARY KEY".to_owned(),
            1 => "id int GENERATED BY DEFAULT AS IDENTITY UNIQUE".to_owned(),
            _ => "id serial".to_owned(),
        }];
        for column in &COLUMNS[1..] {
            if self.rng.one_in(9) {
                continue;
            }
            let mut part = format!("{column} {}", self.ty());
            match self.rng.below(7) {
                0 => part.push_str(&format!(" DEFAULT {}({})", self.function(), self.rng.below(9))),
                1 => part.push_str(&format!(" DEFAULT '{}'", self.rng.below(9))),
                2 => part.push_str(&format!(" GENERATED ALWAYS AS ({}) STORED", self.value(""))),
                3 => part.push_str(" NOT NULL DEFAULT 1"),
                _ => {}
            }
            parts.push(part);
        }
        if self.rng.one_in(3) {
            parts.push(format!("CHECK ({})", self.condition("")));
        }
        if self.rng.one_in(4) {
            parts.push(format!(
                "FOREIGN KEY (a) REFERENCES {} (id)",
                Generator::some(&mut self.rng, &self.tables)
            ));
        }
        self.tables.push(name.clone());
        if self.rng.one_in(4) {
            let key = self.value("");
            let part = self.name("t");
            return vec![
                format!("CREATE TABLE {name} (id int, a int, b int, w text) PARTITION BY LIST (({key}))"),
                format!("CREATE TABLE {part} PARTITION OF {name} DEFAULT"),
            ];
        }
        vec![format!("CREATE TABLE {name} ({})", parts.join(", "))]
    }

    fn user_type(&mut self) -> String {
        let name = self.name("y");
        self.types.push(name.clone());
        match self.rng.below(5) {
            0 => format!("CREATE TYPE {name} AS ENUM ('0', '1', 'x y')"),
            1 => format!("CREATE TYPE {name} AS (id int, a {}, w text)", self.ty()),
            2 => format!(
                "CREATE DOMAIN {name} AS int DEFAULT {}(1) CHECK ({}(VALUE) IS NOT NULL)",
                self.function(),
                self.function()
            ),
            3 => format!("CREATE DOMAIN {name} AS text COLLATE \"C\" CHECK (VALUE <> 'nix')"),
            _ => format!("CREATE TYPE {name} AS RANGE (SUBTYPE = int)"),
        }
    }

    fn new_function(&mut self) -> String {
        let (name, returns) = (self.function(), *self.rng.pick(&["int", "bigint", "text"]));
        let argument = match self.rng.below(3) {
            0 => Generator::some(&mut self.rng, &self.tables).to_owned(),
            _ => self.ty(),
        };
        let head = format!("CREATE OR REPLACE FUNCTION {name}(id {argument}) RETURNS {returns}");
        match self.rng.below(6) {
            0 => format!("{head} IMMUTABLE LANGUAGE sql AS 'SELECT {}'", self.rng.below(9)),
            1 => format!("{head} IMMUTABLE RETURN {}", self.rng.below(9)),
            2 => format!("{head} IMMUTABLE RETURN {}({})", self.function(), self.rng.below(9)),
            3 => format!("{head} RETURN (id).{}", self.column()),
            4 => {
                let (table, column) =
                    (Generator::some(&mut self.rng, &self.tables).to_owned(), self.column());
                let value = self.value("");
                format!(
                    "{head} BEGIN ATOMIC UPDATE {table} AS x SET {column} = x.{column} WHERE x.id = -1; SELECT count({value}) FROM {table}; END"
                )
            }
            _ => format!(
                "{head} STABLE RETURN (SELECT max({}) FROM {} AS x)",
                self.value("x."),
                self.relation()
            ),
        }
    }

    fn alteration(&mut self) -> String {
        let table = Generator::some(&mut self.rng, &self.tables).to_owned();
        let column = self.column();
        match self.rng.below(8) {
            0 => format!("ALTER TABLE {table} RENAME COLUMN {column} TO x{}", self.count),
            1 => format!("ALTER TABLE {table} DROP COLUMN {column}"),
            2 => format!("ALTER TABLE {table} ADD COLUMN {column} {} DEFAULT '1'", self.ty()),
            3 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {}(7)", self.function()),
            4 => format!("ALTER TABLE {table} ADD CHECK ({}) NOT VALID", self.condition("")),
            5 => format!("ALTER TABLE {table} ALTER COLUMN {column} TYPE {}", self.ty()),
            6 => format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"),
            _ => format!("ALTER TABLE {table} RENAME TO z{}", self.count),
        }
    }

    /// A view of another form than [`Generator::query`] has.
    fn other_view(&mut self) -> String {
        let (one, other, column) = (self.relation(), self.relation(), self.column());
        let value = self.value("x.");
        let name = self.name("v");
        self.views.push(name.clone());
        match self.rng.below(7) {
            0 => format!(
                "CREATE VIEW {name} (x1, x2) AS SELECT id, {} FROM {one} WHERE id > 0 WITH CHECK OPTION",
                self.value("")
            ),
            1 => format!("CREATE VIEW {name} WITH (security_barrier) AS TABLE {one}"),
            2 => format!(
                "CREATE VIEW {name} AS SELECT row_number() OVER (PARTITION BY {value} ORDER BY x.id) AS r, x.id FROM {one} AS x ORDER BY x.{column} DESC"
            ),
            3 => format!(
                "CREATE VIEW {name} AS SELECT x.id, l.* FROM {one} AS x LEFT JOIN LATERAL (SELECT y.{column} AS lat FROM {other} AS y WHERE y.id = x.id) AS l ON true"
            ),
            4 => format!(
                "CREATE VIEW {name} AS SELECT id, {}(id) FROM {one} EXCEPT SELECT id, 5 FROM {other}",
                self.function()
            ),
            5 => format!(
                "CREATE VIEW {name} AS SELECT id, EXISTS (SELECT 1 FROM {other} AS y WHERE y.id = x.id) AS e, ARRAY(SELECT y.id FROM {other} AS y) AS a FROM {one} AS x"
            ),
            _ => format!("CREATE VIEW {name} AS SELECT q.{column} FROM {}() AS q", self.function()),
        }
    }

    /// Another name or place, a part, a comment, a right, or the end of something.
    fn afterwards(&mut self) -> String {
        let table = Generator::some(&mut self.rng, &self.tables).to_owned();
        let view = Generator::some(&mut self.rng, &self.views).to_owned();
        let ty = Generator::some(&mut self.rng, &self.types).to_owned();
        let (column, function, schema, number) = (self.column(), self.function(), self.schema(), self.count);
        match self.rng.below(34) {
            0 => format!("ALTER TABLE {table} SET SCHEMA {schema}"),
            1 => format!("ALTER VIEW {view} RENAME TO zv{number}"),
            2 => format!("ALTER VIEW {view} RENAME COLUMN {column} TO y{number}"),
            3 => format!("ALTER TYPE {ty} RENAME TO zy{number}"),
            4 => format!("ALTER TYPE {ty} SET SCHEMA {schema}"),
            5 => format!("ALTER FUNCTION {function}(bigint) SET SCHEMA {schema}"),
            6 => format!(
                "ALTER FUNCTION {function}(bigint) STRICT SECURITY DEFINER SET search_path = s, public"
            ),
            7 => format!("CREATE OR REPLACE VIEW {view} AS {}", self.query()),
            8 => format!(
                "ALTER TABLE {table} ADD FOREIGN KEY ({column}) REFERENCES {} ON DELETE CASCADE",
                Generator::some(&mut self.rng, &self.tables)
            ),
            9 => format!("ALTER TABLE {table} ADD UNIQUE NULLS NOT DISTINCT ({column})"),
            10 => format!("ALTER TABLE {table} ADD EXCLUDE USING gist ({column} WITH =)"),
            11 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET NOT NULL"),
            12 => format!("ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 77"),
            13 => format!("CREATE INDEX ON {table} ({column} DESC NULLS LAST) INCLUDE (id)"),
            14 => format!("ALTER TABLE {table} ALTER COLUMN a SET DEFAULT nextval('{table}_id_seq')"),
            15 => format!("CREATE TABLE {} (LIKE {table} INCLUDING ALL)", self.name("t")),
            16 => format!(
                "CREATE FUNCTION {function}() RETURNS SETOF {table} LANGUAGE sql STABLE AS 'SELECT * FROM {table}'"
            ),
            17 => format!(
                "CREATE FUNCTION {function}(x {table}, n int DEFAULT {}(2)) RETURNS TABLE (id int, a text) BEGIN ATOMIC SELECT y.id, y.w::text FROM {table} AS y WHERE y.id > n; END",
                self.function()
            ),
            18 => format!(
                "CREATE PROCEDURE {schema}.pr{number}(x int) BEGIN ATOMIC INSERT INTO {table} (id, {column}) VALUES (x, DEFAULT) ON CONFLICT DO NOTHING; DELETE FROM {table} WHERE {}; END",
                self.condition("")
            ),
            19 => format!(
                "CREATE OR REPLACE FUNCTION {function}(bigint) RETURNS bigint IMMUTABLE RETURN {}(5::numeric)",
                self.function()
            ),
            20 => format!("COMMENT ON TABLE {table} IS 'x'"),
            21 => format!("COMMENT ON FUNCTION {function}(bigint) IS 'z'"),
            22 => format!("COMMENT ON DOMAIN {ty} IS 'do'"),
            23 => format!("GRANT EXECUTE ON FUNCTION {function}(bigint) TO clerk WITH GRANT OPTION"),
            24 => format!("GRANT ALL ON {view} TO clerk"),
            25 => format!("ALTER TABLE {table} OWNER TO clerk"),
            26 => format!("ALTER DOMAIN {ty} ADD CHECK ({function}(VALUE) IS NOT NULL) NOT VALID"),
            27 => format!("ALTER TYPE {ty} ADD VALUE 'new' BEFORE '1'"),
            28 => format!("ALTER TYPE {ty} RENAME ATTRIBUTE a TO aa"),
            29 => format!("ALTER TYPE {ty} DROP ATTRIBUTE w"),
            30 => format!("DROP TABLE {table} CASCADE"),
            31 => format!("ALTER TABLE {table} DROP COLUMN {column} CASCADE"),
            32 => format!("DROP FUNCTION {function}(bigint) CASCADE"),
            _ => format!("UPDATE {table} SET {column} = {}", self.rng.below(4)),
        }
    }

    fn statements(&mut self) -> Vec<String> {
        let table = Generator::some(&mut self.rng, &self.tables).to_owned();
        let number = self.count;
        vec![match self.rng.below(24) {
            0..=2 => return self.table(),
            3 => self.user_type(),
            4 | 5 => self.new_function(),
            6 => {
                let (name, query) = (self.name("v"), self.query());
                self.views.push(name.clone());
                format!(
                    "CREATE {}VIEW {name} AS {query}",
                    if self.rng.one_in(4) { "MATERIALIZED " } else { "" }
                )
            }
            7 => {
                let (name, query) = (self.name("v"), self.query());
                self.views.push(name.clone());
                format!("CREATE VIEW {name} AS {query}")
            }
            8 => self.alteration(),
            9 => format!("CREATE INDEX ON {table} (({}))", self.value("")),
            10 => format!("CREATE UNIQUE INDEX ON {table} ({}) WHERE {}", self.column(), self.condition("")),
            11 => format!("CREATE POLICY p{number} ON {table} USING ({})", self.condition("")),
            12 => format!(
                "CREATE STATISTICS {}.st{number} ON {}, ({}) FROM {table}",
                self.schema(),
                self.column(),
                self.value("")
            ),
            13 => format!("COMMENT ON COLUMN {}.{} IS 'it''s {number}'", self.relation(), self.column()),
            14 => format!("GRANT SELECT ({}), INSERT ON {table} TO clerk", self.column()),
            15 => format!(
                "CREATE TRIGGER tr{number} BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({}) EXECUTE FUNCTION nothing()",
                self.condition("new.")
            ),
            16 => self.other_view(),
            17..=21 => self.afterwards(),
            _ => format!(
                "INSERT INTO {table} (id, {}) SELECT n, {} FROM generate_series(1, 3) AS n",
                self.column(),
                self.rng.below(3)
            ),
        }]
    }
}

/// Makes the database of a seed; the statements that it took.
fn make(connection: &mut Connection, seed: u64) -> Vec<String> {
    let made = "CREATE SCHEMA s; CREATE SCHEMA \"Odd one\"; CREATE ROLE clerk;
        CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        CREATE FUNCTION f(bigint) RETURNS bigint IMMUTABLE RETURN $1 + 1;
        CREATE FUNCTION s.f(numeric) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 5';
        CREATE FUNCTION s.plus(bigint, bigint) RETURNS bigint IMMUTABLE RETURN $1 + $2;
        CREATE OPERATOR s.|+| (FUNCTION = s.plus, LEFTARG = bigint, RIGHTARG = bigint);
        CREATE OPERATOR public.|+| (FUNCTION = s.plus, LEFTARG = bigint, RIGHTARG = bigint);
        CREATE FUNCTION g(text) RETURNS int IMMUTABLE RETURN length($1);
        CREATE FUNCTION g(numeric) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 6';
        CREATE FUNCTION \"Odd one\".f(bigint) RETURNS bigint IMMUTABLE RETURN $1 + 2;
        CREATE FUNCTION s.abs(bigint) RETURNS bigint IMMUTABLE RETURN $1 + 3;
        CREATE FUNCTION s.length(text) RETURNS int IMMUTABLE RETURN 4;
        SET statement_timeout = '5s'";
    connection.execute(made).unwrap();
    let mut generator =
        Generator { rng: Rng::new(seed), count: 0, tables: Vec::new(), views: Vec::new(), types: Vec::new() };
    let mut taken = Vec::new();
    for number in 0..STATEMENTS {
        let known = (generator.tables.len(), generator.views.len(), generator.types.len());
        let statements = if number < 3 { generator.table() } else { generator.statements() };
        for statement in statements {
            if connection.execute(&statement).is_err() {
                generator.tables.truncate(known.0);
                generator.views.truncate(known.1);
                generator.types.truncate(known.2);
                break;
            }
            taken.push(statement);
        }
    }
    // Their rows are found anew by a restore.
    let filled = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'm' AND oid >= 16384 ORDER BY oid";
    for view in ask(connection, filled).unwrap() {
        let _ = connection.execute(&format!("REFRESH MATERIALIZED VIEW {view}"));
    }
    taken
}

#[test]
#[ignore = "a search over seeds, which takes minutes"]
fn random_schemas_come_back() {
    for seed in seeds(12) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.verso");
        let original = Database::create(&path, Options::new()).unwrap();
        let mut before = original.connect().unwrap();
        let taken = make(&mut before, seed).join(";\n");
        let bytes = archive(&original, &BackupOptions::default());
        let path = folder.path().join("b.verso");
        let restored = restore(&bytes, &path, &RestoreOptions::default());
        if let Err(error) = restored {
            panic!("seed {seed}: {error}\n{taken}");
        }
        let copy = open(&path);
        let mut after = copy.connect().unwrap();
        let relations = "SELECT c.oid::regclass::text FROM pg_class c WHERE c.oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm') ORDER BY 1";
        let mut questions: Vec<String> = QUESTIONS.iter().map(|question| (*question).to_owned()).collect();
        for relation in ask(&mut before, relations).unwrap() {
            questions.push(format!("SELECT x::text FROM {relation} AS x ORDER BY 1"));
        }
        after.execute("SET statement_timeout = '5s'").unwrap();
        for question in questions {
            let (before, after) = (ask(&mut before, &question), ask(&mut after, &question));
            assert_eq!(before, after, "seed {seed}: {question}\n{taken}");
        }
        assert_eq!(script(&original), script(&copy), "seed {seed}\n{taken}");
    }
}
