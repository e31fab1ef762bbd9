//! Queries over all of the language and all types give the same rows however they run: with rewrites and without, with one worker
//! and several, with little memory, with other joins and other paths. `cargo xtask compare` asks PostgreSQL the same queries.
//!
//! `VERSO_GENERATED` sets how many queries, `SEED` the first schema; a failure prints both and the text.

use verso_generator::{Random, Schema, Writer};

use crate::{Client, World};

/// Queries of the everyday run, and those over one schema.
const QUERIES: u64 = 240;
const OF_A_SCHEMA: u64 = 80;

/// Ways to run a query.
const WAYS: [&str; 6] = [
    "SET verso_rules_off = 'all'",
    "SET verso_rules_off = 'costs'",
    "SET parallel_workers = 2; SET min_parallel_table_scan_size = 0",
    "SET work_mem = '64kB'",
    "SET enable_hashjoin = off; SET enable_indexscan = off; SET enable_nestloop = off",
    "SET enable_nestloop = off; SET enable_seqscan = off; SET work_mem = '64kB'; SET parallel_workers = 2; \
     SET min_parallel_table_scan_size = 0",
];

/// Ends a query, not the comparison.
enum Ended {
    /// Which values are computed is left open; an aggregate may hold no more than `work_mem`.
    OfData,
    Late,
    Other(String),
}

fn answer(client: &mut Client, text: &str) -> Result<Vec<String>, Ended> {
    match client.try_run(text) {
        Ok(mut lines) => {
            lines.sort();
            Ok(lines)
        }
        Err(error) if error.sqlstate == "57014" => Err(Ended::Late),
        Err(error) if error.sqlstate.starts_with("22") || ["21000", "53200"].contains(&error.sqlstate) => {
            Err(Ended::OfData)
        }
        Err(error) if error.message.contains("multidimensional") || error.message.contains("infinity") => {
            Err(Ended::OfData)
        }
        Err(error) => Err(Ended::Other(format!("{} {}", error.sqlstate, error.message))),
    }
}

/// Runs a query in all ways; what is wrong.
fn differs(client: &mut Client, text: &str) -> Option<String> {
    let expected = match answer(client, text) {
        Ok(rows) => Ok(rows),
        Err(Ended::Other(error)) => Err(error),
        Err(Ended::OfData | Ended::Late) => return None,
    };
    WAYS.iter().find_map(|way| {
        client.run(way);
        let found = answer(client, text);
        client.run("RESET ALL; SET statement_timeout = '4s'");
        match (&expected, &found) {
            (_, Err(Ended::OfData | Ended::Late)) => None,
            (Ok(expected), Ok(found)) if expected == found => None,
            (Err(expected), Err(Ended::Other(found))) if expected == found => None,
            (expected, found) => {
                let found = found.as_ref().map_err(|ended| match ended {
                    Ended::Other(error) => error.as_str(),
                    Ended::OfData | Ended::Late => "",
                });
                Some(format!("{way}: {found:?} instead of {expected:?}"))
            }
        }
    })
}

#[test]
fn generated_queries_give_the_same_rows_however_they_run() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first: u64 = number("SEED").unwrap_or(1);
    let queries = number("VERSO_GENERATED").unwrap_or(QUERIES);
    let mut with_rows = 0;
    for seed in first..first + queries.div_ceil(OF_A_SCHEMA) {
        let world = World::new();
        let mut client = world.connect();
        let schema = Schema::new(&mut Random::new(seed));
        for statement in &schema.statements {
            // An index of a type that has no order.
            if let Err(error) = client.try_run(statement) {
                assert_eq!(error.sqlstate, "42704", "{statement}: {error:?}");
            }
        }
        client.run("SET statement_timeout = '4s'");
        for query in 0..OF_A_SCHEMA {
            let statement = Writer::new(&schema, seed << 20 | query).statement();
            with_rows += u64::from(answer(&mut client, &statement.text()).is_ok_and(|rows| rows.len() > 1));
            if differs(&mut client, &statement.text()).is_some() {
                let small = statement.shrunk(|smaller| differs(&mut client, &smaller.text()).is_some());
                let text = small.text();
                let what = differs(&mut client, &text);
                panic!("schema {seed}, query {query}: {text}\n{what:?}");
            }
        }
    }
    assert!(with_rows * 4 > queries, "only {with_rows} of {queries} queries have rows: waste");
}
