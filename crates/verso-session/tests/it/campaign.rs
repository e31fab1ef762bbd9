//! Campaign: generated statements – valid, mutated, deep, wide and huge – from eight sessions against one database.
//!
//! Whatever a statement says, it ends: with rows, or with an error that is the statement's own. No error says that the
//! server has a bug, no session is lost, no memory is left, the transfers that go on beside all that lose nothing, and the
//! database is in order at the end.
//!
//! `CAMPAIGN_MINUTES=60` goes on for so long, `SEED=7` starts elsewhere; a failure prints the session's seed and the text.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Env;

use crate::{Client, World};

const SESSIONS: u64 = 8;
/// Statements of each session in the everyday run.
const STATEMENTS: u64 = 60;
/// No statement may take longer, though its timeout is a tenth of a second: the machine may be busy.
const LONGEST: Duration = Duration::from_secs(30);
const ACCOUNTS: usize = 20;

/// What statements are about.
const TABLES: &str = "CREATE TABLE accounts (id int PRIMARY KEY, amount int);
         INSERT INTO accounts SELECT i, 100 FROM generate_series(0, 19) AS s(i);
         CREATE TABLE facts (id int, grp int, name text, n numeric);
         INSERT INTO facts SELECT i, i % 7, 'name ' || i % 50, i / 3.0 FROM generate_series(1, 200) AS s(i);
         CREATE INDEX ON facts (id); CREATE INDEX ON facts (grp, name);
         CREATE TABLE tree (id int PRIMARY KEY, parent int REFERENCES tree ON DELETE CASCADE);
         INSERT INTO tree SELECT i, nullif(i / 2, 0) FROM generate_series(1, 200) AS s(i)";

pub(crate) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    pub fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

/// An expression over a row of `facts AS f`.
pub(crate) fn expr(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        let leaves = ["f.id", "f.grp", "f.n", "1", "0", "-7", "NULL", "2.5", "length(f.name)", "f.id % 5"];
        return random.of(&leaves).to_string();
    }
    let (a, b) = (expr(random, depth - 1), expr(random, depth - 1));
    match random.below(9) {
        0..=2 => format!("({a} {} {b})", random.of(&["+", "-", "*", "/", "%"])),
        3 => format!("CASE WHEN {} THEN {a} ELSE {b} END", condition(random, depth - 1)),
        4 => format!("coalesce({a}, {b})"),
        5 => format!("nullif({a}, {b})"),
        6 => format!("greatest({a}, {b}, 3)"),
        7 => format!("(SELECT max(g.grp) FROM facts AS g WHERE g.id < {a})"),
        _ => format!("length(repeat('ab', abs(({a})::int) % 40))"),
    }
}

pub(crate) fn condition(random: &mut Random, depth: u32) -> String {
    let (a, b) = (expr(random, depth), expr(random, depth));
    match random.below(8) {
        0..=2 => format!("{a} {} {b}", random.of(&["=", "<>", "<", ">=", "IS DISTINCT FROM"])),
        3 => format!("{a} IS NULL"),
        4 => format!("{a} IN (1, 2, {b})"),
        5 => format!("f.name LIKE '%{}%'", random.below(9)),
        6 => format!("EXISTS (SELECT FROM tree WHERE parent = {a})"),
        _ => format!("NOT ({a} < {b} OR f.grp BETWEEN 1 AND 3)"),
    }
}

/// A statement that may be right.
fn valid(random: &mut Random, session: u64) -> String {
    let (a, b, c) = (expr(random, 2), expr(random, 1), condition(random, 1));
    let number = random.below(1000);
    match random.below(20) {
        0 => format!("SELECT {a} AS x, {b} FROM facts AS f WHERE {c} ORDER BY 1, 2 LIMIT 20"),
        1 => format!(
            "SELECT grp, count(*), sum({b}), array_agg(f.name ORDER BY id) FROM facts AS f GROUP BY ROLLUP (grp)"
        ),
        2 => format!("SELECT f.id, t.id FROM facts AS f LEFT JOIN tree AS t ON t.parent = {b} WHERE {c}"),
        3 => format!("SELECT {a}, rank() OVER (PARTITION BY grp ORDER BY {b}) FROM facts AS f"),
        4 => format!(
            "WITH RECURSIVE r(i) AS (SELECT 1 UNION SELECT i + 1 FROM r WHERE i < {number}) SELECT sum(i) FROM r"
        ),
        5 => format!("SELECT DISTINCT ON (grp) {a} FROM facts AS f ORDER BY grp, {b}"),
        6 => format!("(SELECT {b} FROM facts AS f) EXCEPT ALL (SELECT parent FROM tree) ORDER BY 1"),
        7 => format!(
            "UPDATE facts AS f SET grp = ({a})::int % 100, name = name || '{number}' WHERE {c} AND id % 7 = 1"
        ),
        8 => format!(
            "INSERT INTO facts AS f SELECT id + 1000, {b}, left(name, 50), n FROM facts AS f WHERE {c} LIMIT 30"
        ),
        9 => format!("DELETE FROM facts AS f WHERE {c} AND id > 300"),
        10 => format!(
            "INSERT INTO tree VALUES ({number}, {}) ON CONFLICT (id) DO UPDATE SET parent = NULL",
            number / 2
        ),
        11 => format!("DELETE FROM tree WHERE id = {number}"),
        12 => format!("CREATE TABLE own_{session} AS SELECT {a} AS x, f.* FROM facts AS f WHERE {c}"),
        13 => format!("DROP TABLE IF EXISTS own_{session}"),
        14 => format!("ALTER TABLE own_{session} ADD COLUMN c{number} numeric DEFAULT {number}"),
        15 => format!("CREATE INDEX ON own_{session} (x, name)"),
        16 => format!(
            "BEGIN; SAVEPOINT a; UPDATE facts SET n = n + 1 WHERE id < 9; ROLLBACK TO a; SELECT {number}; COMMIT"
        ),
        17 => format!(
            "DO $$ DECLARE i int := 0; BEGIN WHILE i < {number} LOOP i := i + 1; END LOOP; RAISE NOTICE '%', i; END $$"
        ),
        18 => format!(
            "MERGE INTO tree USING facts AS f ON tree.id = f.id WHEN MATCHED AND {c} THEN UPDATE SET parent = NULL WHEN NOT MATCHED AND f.id < 9 THEN INSERT VALUES (f.id, NULL)"
        ),
        _ => format!("EXPLAIN SELECT {a} FROM facts AS f WHERE {c}"),
    }
}

/// A text with some of its words left out, doubled, exchanged or replaced.
fn mutated(random: &mut Random, text: &str) -> String {
    let mut words: Vec<String> = text.split_inclusive([' ', '(', ')', ',']).map(str::to_owned).collect();
    let others = [
        "SELECT ",
        "FROM ",
        "NULL ",
        "(",
        ")",
        ", ",
        "' ",
        "\" ",
        "$1 ",
        "1e400 ",
        "-- ",
        "/* ",
        "; ",
        ":: ",
        "int ",
        "OVER () ",
        "facts ",
        "f.* ",
        "WITH RECURSIVE ",
        "UNION ALL ",
        "LATERAL ",
        "GROUPING SETS (()) ",
        "99999999999999999999 ",
        "array[1, NULL] ",
        "ROW(1, 'a') ",
        "é ",
        "\u{0} ",
        "LIMIT -1 ",
        "NOT ",
        "DISTINCT ",
        "FOR UPDATE ",
        "interval '1' ",
    ];
    for _ in 0..1 + random.below(4) {
        let (at, other) = (random.below(words.len()), random.below(words.len()));
        if words.is_empty() {
            break;
        }
        match random.below(5) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[other].clone()),
            2 => words.swap(at, other),
            3 => words[at] = random.of(&others).to_string(),
            _ => words.insert(at, random.of(&others).to_string()),
        }
    }
    let mut text = words.concat();
    if random.below(4) == 0 {
        let cut = random.below(text.len() + 1);
        text.truncate((0..=cut).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
    }
    text
}

fn deep(random: &mut Random) -> String {
    let depth = 20 + random.below(4000);
    let around = |open: &str, middle: &str, close: &str| open.repeat(depth) + middle + &close.repeat(depth);
    match random.below(9) {
        0 => format!("SELECT {}", around("(", "1", ")")),
        1 => format!("SELECT {}", around("(SELECT ", "1", ")")),
        2 => format!("SELECT * FROM {}", around("(SELECT * FROM ", "facts", ") AS s")),
        3 => format!("SELECT {}", around("CASE WHEN true THEN ", "1", " END")),
        4 => format!("SELECT {}", around("- ", "1", "::int")),
        5 => format!("SELECT {}", around("coalesce(", "NULL", ", 1)")),
        6 => format!("SELECT 1 WHERE {}", around("NOT EXISTS (SELECT 1 WHERE ", "true", ")")),
        7 => format!("SELECT {}", around("ARRAY[", "1", "]")),
        _ => around("WITH a AS (", "SELECT 1", ") SELECT * FROM a"),
    }
}

fn wide(random: &mut Random) -> String {
    let count = 10 + random.below(2500);
    let list = |item: &dyn Fn(usize) -> String, between: &str| {
        (0..count).map(item).collect::<Vec<_>>().join(between)
    };
    match random.below(9) {
        0 => format!("SELECT count(*) FROM facts WHERE id IN ({})", list(&|i| i.to_string(), ", ")),
        1 => format!("SELECT {}", list(&|i| format!("{i} AS c{i}"), ", ")),
        2 => list(&|i| format!("SELECT {i}"), " UNION "),
        3 => format!("SELECT count(*) FROM facts WHERE {}", list(&|i| format!("id = {i}"), " OR ")),
        4 => format!("CREATE TABLE own_wide ({})", list(&|i| format!("c{i} int"), ", ")),
        5 => format!("SELECT * FROM {}", list(&|i| format!("(SELECT 1) AS t{i}"), ", ")),
        6 => format!("VALUES {}", list(&|i| format!("({i}, 'x')"), ", ")),
        7 => format!("SELECT {}", list(&|_| "1".to_string(), " + ")),
        _ => list(&|i| format!("SELECT {i}"), "; "),
    }
}

fn huge(random: &mut Random) -> String {
    let many = 10_usize.pow(5 + random.below(5) as u32);
    match random.below(9) {
        0 => format!("SELECT length('{}')", "x".repeat(1 << 20)),
        1 => format!("SELECT length(replace(repeat('x', {many}), 'x', 'yy'))"),
        2 => format!("SELECT count(DISTINCT i) FROM generate_series(1, {many}) AS s(i)"),
        3 => format!("SELECT string_agg(i::text, ',') FROM generate_series(1, {many}) AS s(i)"),
        4 => format!("SELECT sum(a.i) FROM generate_series(1, {many}) AS a(i) JOIN generate_series(1, {many}) AS b(i) USING (i)"),
        5 => "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + i FROM r, (VALUES (1), (2)) AS v(i)) SELECT count(*) FROM r".into(),
        6 => format!("SELECT repeat('a', {many}) LIKE '%' || repeat('_', 1000) || 'b'"),
        7 => format!("SELECT i FROM generate_series(1, {many}) AS s(i) ORDER BY -i LIMIT 3"),
        _ => format!("SELECT array_agg(array[i, i]) FROM generate_series(1, {many}) AS s(i)"),
    }
}

fn now() -> Duration {
    static WORLD: LazyLock<Env> = LazyLock::new(Env::real);
    Duration::from_nanos(WORLD.clock.monotonic_nanos())
}

/// Ends what the session has begun, and sets its limits again. Its own timeout may hit that, too.
fn settle(client: &mut Client) {
    let limits =
        "SET lock_timeout = '50ms'; SET statement_memory_limit = '64MB'; SET temp_file_limit = '32MB';
                  SET work_mem = '1MB'; SET statement_timeout = '100ms'; SET min_parallel_table_scan_size = 0;
                  SET parallel_workers = 3";
    let mut settled = || ["ROLLBACK", "RESET ALL", limits].iter().all(|sql| client.try_run(sql).is_ok());
    assert!((0..100).any(|_| settled()), "the session does not come to rest");
}

/// Runs a text; what is wrong with how it ended.
fn outcome(client: &mut Client, text: &str) -> Option<String> {
    let begun = now();
    let error = client.try_run(text).err();
    let took = now() - begun;
    if took > LONGEST {
        return Some(format!("took {took:?}"));
    }
    // A bug of the server, damage, a failed disk.
    let wrong = error.filter(|error| error.sqlstate.starts_with("XX") || error.sqlstate == "58030");
    wrong.map(|error| format!("{error:?}"))
}

/// Moves an amount from one account to another, or not.
fn transfer(random: &mut Random, client: &mut Client) {
    let (from, to, amount) = (random.below(ACCOUNTS), random.below(ACCOUNTS), random.below(50));
    let end = if random.below(4) == 0 { "ROLLBACK" } else { "COMMIT" };
    let text = format!(
        "BEGIN; UPDATE accounts SET amount = amount - {amount} WHERE id = {from};
         UPDATE accounts SET amount = amount + {amount} WHERE id = {to}; {end}"
    );
    if client.try_run(&text).is_err() {
        settle(client); // it has waited for too long, or in a circle
    }
}

fn session(world: &World, number: u64, seed: u64, until: Option<Duration>, done: &AtomicU64) -> Vec<String> {
    let mut random = Random(seed);
    let mut client = world.connect();
    settle(&mut client);
    let mut failures = Vec::new();
    for count in 0.. {
        let go_on = until.map_or(count < STATEMENTS, |until| now() < until);
        if !go_on || failures.len() > 3 {
            break;
        }
        let text = match random.below(40) {
            0..=14 => valid(&mut random, number),
            15..=31 => {
                let text = valid(&mut random, number);
                mutated(&mut random, &text)
            }
            32..=34 => deep(&mut random),
            35 | 36 => wide(&mut random),
            37 => huge(&mut random),
            _ => {
                transfer(&mut random, &mut client);
                continue;
            }
        };
        if let Some(what) = outcome(&mut client, &text) {
            let shown: String = text.chars().take(600).collect();
            failures.push(format!("seed {seed}, statement {count}: {what}\n{shown}"));
        }
        done.fetch_add(1, Ordering::Relaxed);
        settle(&mut client);
        if count % 20 == 7 {
            let sum = client.try_run("SELECT sum(amount) FROM accounts");
            if sum.as_ref().is_ok_and(|sum| sum[0] != "2000") {
                failures.push(format!("seed {seed}, statement {count}: the accounts have {sum:?}"));
            }
        }
    }
    failures
}

#[test]
fn generated_statements_from_eight_sessions_end_and_harm_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let until = number("CAMPAIGN_MINUTES").map(|minutes| now() + Duration::from_secs(60 * minutes));
    let seed = number("SEED").unwrap_or(1);
    let world = World::new();
    let mut client = world.connect();
    client.run(TABLES);
    let done = AtomicU64::new(0);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let run = |number: u64| {
            let (world, done) = (&world, &done);
            scope.spawn(move || session(world, number, seed * 1000 + number, until, done))
        };
        let threads: Vec<_> = (0..SESSIONS).map(run).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a session's thread")).collect()
    });
    eprintln!("{} statements", done.load(Ordering::Relaxed));
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    assert_eq!(client.value("SELECT sum(amount) FROM accounts"), "2000");
    drop(client);
    assert_eq!(world.instance.held_bytes(), 0, "memory is left");
    let report = world.instance.engine.check(&mut |_| {}).expect("a check");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// Each request for memory of generated statements is refused once: the statement says so, or does without.
#[test]
fn memory_refused_at_each_request_of_generated_statements_ends_only_them() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let until = number("CAMPAIGN_MINUTES").map(|minutes| now() + Duration::from_secs(60 * minutes));
    let seed = number("SEED").unwrap_or(1);
    let mut random = Random(seed);
    let world = World::new();
    let mut client = world.connect();
    client.run(TABLES);
    client.run("UPDATE facts SET name = name || repeat('x', 300); SET work_mem = '64kB'");
    client.run("SET min_parallel_table_scan_size = 0; SET parallel_workers = 2");
    let memory = world.instance.memory();
    let (mut refused, most) = (0, if until.is_some() { 500 } else { 4 });
    for count in 0.. {
        if !until.map_or(count < 40, |until| now() < until) {
            break;
        }
        let text = valid(&mut random, 0);
        for request in 1..=most {
            client.run("BEGIN");
            memory.refuse_at(request);
            let result = client.try_run(&text);
            let was_refused = memory.has_refused();
            memory.refuse_at(0);
            if let Err(error) = result {
                let bug = error.sqlstate.starts_with("XX") || error.sqlstate == "58030";
                assert!(!bug, "seed {seed}, statement {count}, request {request}: {error:?}\n{text}");
            }
            client.run("ROLLBACK");
            if !was_refused {
                break;
            }
            refused += 1;
        }
    }
    eprintln!("{refused} refusals");
    assert!(refused > 0, "no request was refused");
    drop(client);
    assert_eq!(world.instance.held_bytes(), 0, "memory is left");
    let report = world.instance.engine.check(&mut |_| {}).expect("a check");
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}
