//! Policies keep what their names meant: no definition elsewhere shows a row that they hide, or hides one that they show.
//!
//! Definitions are generated beside a model of the names: columns that would take the place of others, tables, views and functions
//! that get the names which others had. Before and after each of them a role reads the same rows. `SEED` and `VERSO_POLICIES` (how
//! many definitions) go elsewhere and on for longer.

use std::sync::Arc;

use verso_catalog::{PolicyDef, StoredCondition, StoredQuery};
use verso_env::Env;
use verso_session::{Instance, Member, Session};
use verso_storage::{Engine, EngineOptions, TxnOptions};

use crate::campaign::Random;
use crate::{Client, World};

const DEFINITIONS: usize = 300;
const COLUMNS: [&str; 7] = ["id", "k", "w", "m", "n", "seven", "x"];
const RELATIONS: [&str; 5] = ["g", "b", "v", "o", "p"];
const FUNCTIONS: [&str; 3] = ["allowed", "permitted", "granted"];
const SCHEMAS: [&str; 4] = ["one", "two", "three", "four"];

/// Rows 1 and 4 are hidden; each of the others is shown by one policy.
const SETUP: &str = "
    create role reader;
    create schema one; create schema two;
    create table one.g (id int, k int, w int);
    create table one.b (m int, n int);
    insert into one.g values (1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 0), (5, 4, 2), (6, 60, 0);
    insert into one.b values (2, 1), (3, 1), (4, 5);
    create view one.v as select m, 7 as seven from one.b;
    create function one.allowed(int) returns boolean language sql immutable return $1 > 5;
    grant usage on schema one, two to reader;
    grant select on one.g, one.b, one.v to reader;
    set search_path = one, two;
    create policy p1 on g using (exists (select from b where m = k and n < 5));
    create policy p2 on g using ((k, 7) in (select v.m, seven from v where w > 1));
    create policy p3 on g using (allowed(w));
    create policy p4 on g using (row(g.*) = row(6, 60, 0));
    create policy p5 on g using (one.g.id < 0 and g is null);
    alter table g enable row level security;
";
const SHOWN: [&str; 4] = ["2", "3", "5", "6"];

/// A relation: its schema by number, its name, the names of its columns; the first ones are those that the policies use.
struct Named {
    schema: usize,
    name: &'static str,
    columns: Vec<&'static str>,
    used: usize,
}

impl Named {
    fn new(name: &'static str, columns: &[&'static str]) -> Named {
        Named { schema: 0, name, columns: columns.to_vec(), used: columns.len() }
    }
}

struct Model {
    client: Client,
    _world: World,
    random: Random,
    schemas: [&'static str; 2],
    guarded: Named,
    base: Named,
    view: Named,
    function: &'static str,
}

impl Model {
    fn new(seed: u64) -> Model {
        let world = World::new();
        let mut client = world.connect();
        client.run(SETUP);
        Model {
            client,
            _world: world,
            random: Random(seed),
            schemas: ["one", "two"],
            guarded: Named::new("g", &["id", "k", "w"]),
            base: Named::new("b", &["m", "n"]),
            view: Named::new("v", &["m", "seven"]),
            function: "allowed",
        }
    }

    /// Runs a definition; whether it took place. A name that is taken already is no error.
    fn define(&mut self, sql: &str) -> bool {
        match self.client.try_run(sql) {
            Ok(_) => true,
            Err(error) if ["42701", "42P07", "42723", "42P06"].contains(&error.sqlstate) => false,
            Err(error) => panic!("{sql}: {error:?}"),
        }
    }

    fn path(&self, of: &Named) -> String {
        format!("{}.{}", self.schemas[of.schema], of.name)
    }

    fn pick(&mut self, which: usize) -> &mut Named {
        match which {
            0 => &mut self.guarded,
            1 => &mut self.base,
            _ => &mut self.view,
        }
    }

    fn word(which: usize) -> &'static str {
        if which == 2 { "view" } else { "table" }
    }

    fn rename_column(&mut self, which: usize) {
        let to = self.random.of(&COLUMNS);
        let of = [&self.guarded, &self.base, &self.view][which];
        let at = self.random.below(of.columns.len());
        let sql =
            format!("alter {} {} rename column {} to {to}", Self::word(which), self.path(of), of.columns[at]);
        if self.define(&sql) {
            self.pick(which).columns[at] = to;
        }
    }

    fn rename(&mut self, which: usize) {
        let to = self.random.of(&RELATIONS);
        let of = [&self.guarded, &self.base, &self.view][which];
        let sql = format!("alter {} {} rename to {to}", Self::word(which), self.path(of));
        if self.define(&sql) {
            self.pick(which).name = to;
        }
    }

    fn move_it(&mut self, which: usize) {
        let of = [&self.guarded, &self.base, &self.view][which];
        let to = 1 - of.schema;
        let sql = format!("alter {} {} set schema {}", Self::word(which), self.path(of), self.schemas[to]);
        if self.define(&sql) {
            self.pick(which).schema = to;
        }
    }

    fn add_column(&mut self, which: usize) {
        let name = self.random.of(&COLUMNS);
        let value = self.random.of(&["2", "7", "100", "null"]);
        let of = [&self.guarded, &self.base, &self.view][which];
        let sql = format!("alter table {} add column {name} int default {value}", self.path(of));
        if self.define(&sql) {
            self.pick(which).columns.push(name);
        }
    }

    /// A column that no policy uses goes; one that they use stays.
    fn drop_column(&mut self, which: usize) {
        let of = [&self.guarded, &self.base][which];
        let at = self.random.below(of.columns.len());
        let sql = format!("alter table {} drop column {}", self.path(of), of.columns[at]);
        match at < of.used {
            true => assert_eq!(self.client.fails(&sql).0, "2BP01", "{sql}"),
            false => {
                self.client.run(&sql);
                self.pick(which).columns.remove(at);
            }
        }
    }

    fn replace_view(&mut self) {
        let name = self.random.of(&COLUMNS);
        let value = self.random.of(&["2", "7", "100", "null::int"]);
        if self.view.columns.contains(&name) {
            return;
        }
        let columns = &self.view.columns;
        let others: Vec<String> =
            columns[2..].iter().map(|column| format!("{value} as {column}, ")).collect();
        let sql = format!(
            "create or replace view {} as select {} as {}, 7 as {}, {}{value} as {name} from {}",
            self.path(&self.view),
            self.base.columns[0],
            columns[0],
            columns[1],
            others.concat(),
            self.path(&self.base)
        );
        self.client.run(&sql);
        self.view.columns.push(name);
    }

    fn rename_schema(&mut self) {
        let (at, to) = (self.random.below(2), self.random.of(&SCHEMAS));
        if self.define(&format!("alter schema {} rename to {to}", self.schemas[at])) {
            self.schemas[at] = to;
            self.client.run(&format!("set search_path = {}", self.schemas.join(", ")));
        }
    }

    /// The function gets another name, and another function the one that it had.
    fn rename_function(&mut self) {
        let (from, to) = (self.function, self.random.of(&FUNCTIONS));
        let schema = self.schemas[0];
        if from == to {
            return;
        }
        if !self.define(&format!("alter function {schema}.{from}(int) rename to {to}")) {
            self.client.run(&format!("drop function {schema}.{to}(int)"));
            return;
        }
        self.function = to;
        let same = format!(
            "create function {schema}.{from}(int) returns boolean language sql immutable return true"
        );
        self.client.run(&same);
    }

    /// A policy is made anew of the text that it is shown with.
    fn read_again(&mut self) {
        let policy = self.random.of(&["p1", "p2", "p3", "p4", "p5"]);
        let shown = "select pg_get_expr(polqual, polrelid) from pg_policy where polname";
        let text = self.client.value(&format!("{shown} = '{policy}'"));
        let sql = format!("alter policy {policy} on {} using ({text})", self.path(&self.guarded));
        self.client.run(&sql);
    }

    fn step(&mut self) {
        let which = self.random.below(3);
        match self.random.below(11) {
            0 | 1 if which < 2 => self.add_column(which),
            2 | 3 => self.rename_column(which),
            4 => self.rename(which),
            5 => self.move_it(which),
            6 if which < 2 => self.drop_column(which),
            7 => self.replace_view(),
            8 => self.rename_schema(),
            9 => self.rename_function(),
            _ => self.read_again(),
        }
    }

    fn check(&mut self) {
        let sql =
            format!("select {0} from {1} order by {0}", self.guarded.columns[0], self.path(&self.guarded));
        self.client.run("set role reader");
        let mut rows = self.client.run(&sql);
        self.client.run("reset role");
        rows.pop();
        assert_eq!(rows, SHOWN, "{sql}");
    }
}

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn no_definition_elsewhere_changes_which_rows_a_policy_shows() {
    let seed = number("SEED", 1);
    eprintln!("SEED={seed}");
    let mut model = Model::new(seed as u64);
    model.check();
    for _ in 0..number("VERSO_POLICIES", DEFINITIONS) {
        model.step();
        model.check();
    }
}

#[test]
fn policies_that_earlier_releases_kept_as_texts_follow_names_once_the_database_is_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.verso");
    let engine = Engine::create(Env::real(), &path, EngineOptions::default()).expect("a database");
    let instance = Arc::new(Instance::create(engine, Member::alone()).expect("a catalog"));
    let mut client = Client { session: Session::new(Arc::clone(&instance)) };
    client.run(
        "create role reader; create table t (a int, k int); create table u (m int);
         insert into t values (1, 1), (2, 2); insert into u values (2);
         create function two() returns int language sql immutable return 2;
         create policy p on t using (true); create policy lost on t using (true);
         alter table t enable row level security; grant select on t, u to reader",
    );
    // As they were kept: a text alone, in which functions may have numbers.
    let mut txn = instance.engine.begin(TxnOptions { savepoints: true, ..TxnOptions::default() });
    txn.begin_statement().expect("a statement");
    let catalog = instance.catalog.snapshot(&txn).expect("a catalog");
    let (table, two) = (catalog.table(None, "t").expect("t"), catalog.functions(None, "two")[0].oid);
    let texts = [
        ("p", format!("(exists (select from public.u where m = k)) and k = \"\0{two}\".two()")),
        ("lost", "gone(a)".to_string()),
    ];
    for (name, text) in texts {
        let known =
            catalog.policies(table.oid).iter().find(|policy| *policy.name == *name).expect("a policy");
        let query = StoredQuery { text: text.into(), ..StoredQuery::default() };
        let using = Some(StoredCondition { table: "".into(), query });
        let earlier = PolicyDef { using, ..PolicyDef::clone(known) };
        instance.catalog.put_policy(&mut txn, &table, &earlier).expect("it is kept");
    }
    txn.end_statement().expect("its end");
    txn.commit(verso_storage::CommitMode::Wait).expect("it is committed");
    // A version of the catalog keeps the database open.
    drop((client, catalog, table));
    instance.engine.close().expect("it closes");
    drop(instance);

    let engine = Engine::open(Env::real(), &path, EngineOptions::default()).expect("it opens");
    let instance = Arc::new(Instance::open(engine, Member::alone()).expect("a catalog"));
    let mut client = Client { session: Session::new(instance) };
    // One that means nothing is in the way of queries, as before.
    client.run("set role reader");
    assert_eq!(client.fails("select a from t").0, "42883");
    client.run("reset role; drop policy lost on t");
    client.run("alter table u add column k int default 2; alter table t rename column k to kk; alter table t rename to t2");
    client.run("alter function two() rename to zwei; set role reader");
    assert_eq!(client.run("select a from t2"), ["2", "SELECT 1"]);
    client.run("reset role");
    assert_eq!(client.fails("alter table u drop column m").0, "2BP01");
    assert_eq!(client.fails("drop function zwei()").0, "2BP01");
}
