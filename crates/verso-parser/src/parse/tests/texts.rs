//! Generated texts: valid, mutated, deep and wide. Whatever they say, parsing ends with a tree or an error; a tree can be
//! copied, compared and freed where little stack is left; no error points outside of the text.
//!
//! `TEXTS=1000000` makes so many in place of a few thousand, `SEED=7` starts elsewhere.

use crate::parse::{parse_body, parse_script, split_statements};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }

    fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

fn expr(random: &mut Random, depth: u32) -> String {
    if depth == 0 {
        let leaves = [
            "a",
            "t.b",
            "1",
            "1.5e3",
            "'x'",
            "$1",
            "NULL",
            "true",
            "E'\\n'",
            "$$q$$",
            "U&'\\00e4'",
            "\"Q\"",
            "DATE '2020-01-01'",
            "interval '1' day",
            "current_date",
            "é",
        ];
        return random.of(&leaves).to_string();
    }
    let one = |random: &mut Random| expr(random, depth - 1);
    let (a, b, c) = (one(random), one(random), one(random));
    match random.below(26) {
        0..=3 => {
            format!(
                "({a}) {} ({b})",
                random.of(&["+", "-", "*", "/", "||", "^", "->", "=", "<>", "AND", "OR"])
            )
        }
        4 => format!("({a})"),
        5 => format!("- ({a})"),
        6 => format!("NOT ({a})"),
        7 => format!("({a}) IS NOT NULL"),
        8 => format!("({a}) BETWEEN ({b}) AND ({c})"),
        9 => format!("({a}) NOT IN ({b}, {c})"),
        10 => format!("({a}) LIKE ({b}) ESCAPE '!'"),
        11 => format!("CASE WHEN {a} THEN {b} ELSE {c} END"),
        12 => format!("({a})::numeric(5, 2)"),
        13 => format!("f({a}, {b}, x => {c})"),
        14 => format!("sum(DISTINCT {a} ORDER BY {b}) FILTER (WHERE {c})"),
        15 => format!("rank() OVER (PARTITION BY {a} ORDER BY {b} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"),
        16 => format!("(ARRAY[{a}, {b}])[{c}]"),
        17 => format!("EXISTS ({})", query(random, depth - 1)),
        18 => format!("({})", query(random, depth - 1)),
        19 => format!("({a}) = ANY ({})", query(random, depth - 1)),
        20 => format!("ROW({a}, {b}) < ({b}, {c})"),
        21 => format!("EXTRACT(year FROM {a})"),
        22 => format!("({a}) AT TIME ZONE 'UTC' COLLATE \"C\""),
        23 => format!("({a})[{b}:{c}]"),
        24 => format!("CAST({a} AS timestamp with time zone)"),
        _ => format!("({a}) IS DISTINCT FROM ({b})"),
    }
}

fn query(random: &mut Random, depth: u32) -> String {
    let e = |random: &mut Random| expr(random, depth.min(2));
    let (a, b) = (e(random), e(random));
    if depth == 0 {
        return format!("SELECT {a}");
    }
    let q = query(random, depth - 1);
    match random.below(12) {
        0 => format!("SELECT {a} AS x, * FROM t WHERE {b}"),
        1 => format!("SELECT {a} FROM ({q}) AS s (x), LATERAL g({b}) WITH ORDINALITY AS g"),
        2 => format!("SELECT t.* FROM t LEFT JOIN u USING (a) CROSS JOIN v NATURAL JOIN w WHERE {a}"),
        3 => format!("({q}) UNION ALL (SELECT {a}) ORDER BY 1 DESC NULLS LAST LIMIT 5 OFFSET 2"),
        4 => format!("WITH RECURSIVE w (x) AS ({q}) SELECT {a} FROM w"),
        5 => format!("VALUES ({a}), ({b})"),
        6 => format!(
            "SELECT DISTINCT ON ({a}) {b} FROM t GROUP BY ROLLUP (a, (b, c)), GROUPING SETS ((), (a)) HAVING {b}"
        ),
        7 => format!("SELECT {a} FROM t FETCH FIRST 3 ROWS ONLY FOR NO KEY UPDATE OF t SKIP LOCKED"),
        8 => format!("({q}) EXCEPT SELECT {a} INTERSECT ({q})"),
        9 => format!(
            "SELECT /*+ Leading(a b) */ {a} FROM t TABLESAMPLE system (10) WINDOW w AS (ORDER BY {b})"
        ),
        10 => "TABLE t".to_string(),
        _ => format!("SELECT FROM t JOIN u JOIN v ON {a} ON {b}"),
    }
}

fn statement(random: &mut Random) -> String {
    let depth = 1 + random.below(3) as u32;
    let (q, a) = (query(random, depth), expr(random, depth));
    match random.below(10) {
        0 => format!("INSERT INTO t (a, b) {q} ON CONFLICT (a) DO UPDATE SET b = {a} RETURNING *"),
        1 => format!("UPDATE t x SET (a, b) = ({q}), c = {a} FROM u WHERE {a}"),
        2 => format!("DELETE FROM t USING u WHERE {a} RETURNING {a} AS y"),
        3 => format!(
            "MERGE INTO t USING ({q}) s ON {a} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES ({a})"
        ),
        4 => format!("WITH x AS (DELETE FROM t RETURNING a) INSERT INTO u {q}"),
        5 => format!("CREATE TABLE t (a numeric(5, 2) DEFAULT 1 NOT NULL CHECK ({a}), UNIQUE (a))"),
        6 => format!("EXPLAIN (ANALYZE) {q}"),
        7 => format!("DO $b$ BEGIN IF {a} THEN PERFORM 1; END IF; END $b$"),
        _ => q,
    }
}

/// Takes out, doubles, or exchanges a few pieces of a text.
fn mutated(text: &str, random: &mut Random) -> String {
    let junk = [
        "(", ")", "'", "\"", ",", ";", "$$", "/*", "--\n", "::", "..", "SELECT", "NOT", "[", "]", "0x",
        "E'\\u", "\\", "é", "+-",
    ];
    let mut pieces: Vec<&str> = text.split_inclusive(' ').collect();
    for _ in 0..=random.below(3) {
        let at = random.below(pieces.len());
        match random.below(4) {
            0 => drop(pieces.remove(at)),
            1 => pieces.insert(at, random.of(&junk)),
            2 => pieces.insert(at, pieces[at]),
            _ => {
                let other = random.below(pieces.len());
                pieces.swap(at, other);
            }
        }
        if pieces.is_empty() {
            break;
        }
    }
    pieces.concat()
}

fn check(text: &str) -> bool {
    let end = text.chars().count() as u32;
    split_statements(text);
    let _ = parse_body(text);
    match parse_script(text) {
        Ok(parsed) => {
            assert!(parsed.iter().all(|one| one.at.start < one.at.end && one.at.end <= end), "{text}");
            assert_eq!(parsed.clone(), parsed, "{text}");
            true
        }
        Err(error) => {
            assert!(error.position.is_none_or(|at| at >= 1 && at <= end + 1), "{error:?} {text}");
            false
        }
    }
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn generated_statements_parse_and_mutated_ones_end() {
    let mut random = Random(setting("SEED", 1));
    for _ in 0..setting("TEXTS", 1_500) {
        let text = statement(&mut random);
        assert!(check(&text), "{text}: {:?}", parse_script(&text));
        check(&mutated(&text, &mut random));
    }
}

#[test]
fn trees_at_the_limit_can_be_freed_on_a_small_stack() {
    let wraps = [
        ("(", ")"),
        ("f(", ")"),
        ("- ", ""),
        ("NOT ", ""),
        ("", "::int"),
        ("", " IS NULL"),
        ("", " || 1"),
        ("", "[1]"),
        ("CASE WHEN 1 THEN ", " END"),
        ("(SELECT ", ")"),
        ("ARRAY[", "]"),
        ("1 + (", ")"),
        ("(1, ", ")"),
        ("EXISTS (SELECT * FROM (SELECT ", ") x)"),
    ];
    for (before, behind) in wraps {
        // The deepest that is accepted on a large stack.
        let accepted = |count: usize| {
            let text = format!("SELECT {}1{}", before.repeat(count), behind.repeat(count));
            parse_script(&text).ok()
        };
        let large = std::thread::Builder::new().stack_size(64 << 20);
        let tree =
            large.spawn(move || (1..=1_000).rev().step_by(37).find_map(accepted)).unwrap().join().unwrap();
        let tree = tree.unwrap_or_else(|| panic!("{before}…{behind}"));
        let small = std::thread::Builder::new().stack_size(2 << 20);
        small.spawn(move || assert!(tree.clone() == tree)).unwrap().join().unwrap();
    }
}

#[test]
fn deep_texts_end_on_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let run = || {
        for (before, behind) in
            [("(", ")"), ("f(", ")"), ("- ", ""), ("(SELECT ", ")"), ("CASE WHEN 1 THEN ", " END")]
        {
            let text = format!("SELECT {}1{}", before.repeat(900), behind.repeat(900));
            if let Err(error) = parse_script(&text) {
                assert_eq!(error.sqlstate, "54001");
            }
        }
    };
    small.spawn(run).unwrap().join().unwrap();
}
