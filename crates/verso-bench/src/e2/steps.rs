//! What single steps of a procedure cost, without the loop around them.

use std::collections::BTreeMap;

use verso_env::Env;

use super::E2Task;
use super::procedures::{NAME, create};
use crate::BenchError;

/// Rows that are found by their key.
const KEYS: u64 = 100_000;

/// Nanoseconds of each step.
pub(super) fn run(env: &Env, task: &E2Task) -> Result<BTreeMap<String, f64>, BenchError> {
    let error = BenchError::engine::<versodb::Error>(NAME);
    let (database, mut connection) = create(task)?;
    let found = measure(env, task.rows, &mut |sql| connection.execute(sql).map(drop).map_err(&error))?;
    drop(connection);
    database.close().map_err(&error)?;
    Ok(found)
}

/// The same of whatever runs statements; its table `demo` is there, and empty.
pub(super) fn measure(
    env: &Env,
    turns: u64,
    execute: &mut dyn FnMut(&str) -> Result<(), BenchError>,
) -> Result<BTreeMap<String, f64>, BenchError> {
    let last = KEYS - 1;
    for sql in [
        format!("INSERT INTO demo SELECT i, 'Katie', i FROM generate_series(0, {last}) AS g(i)"),
        "CREATE OR REPLACE FUNCTION one_more(x integer) RETURNS integer AS $$ BEGIN RETURN x + 1; END $$ LANGUAGE plpgsql"
            .to_owned(),
    ] {
        execute(&sql)?;
    }
    let mut nanos_of = |body: &str, turns: u64| -> Result<f64, BenchError> {
        let sql = format!(
            "DO $$ DECLARE a INTEGER := 0; b INTEGER := 1; x INTEGER; BEGIN {} END $$",
            body.replace("TURNS", &turns.to_string())
        );
        let start = env.clock.monotonic_nanos();
        execute(&sql)?;
        Ok((env.clock.monotonic_nanos() - start) as f64 / turns as f64)
    };
    let of_loop = |step: &str| format!("FOR i IN 1..TURNS LOOP {step} END LOOP;");
    let empty = nanos_of(&of_loop("NULL;"), turns)?;
    let mut found = BTreeMap::from([("empty_loop_ns".to_owned(), empty)]);
    for (name, step, turns) in [
        ("add_ns", "a := a + b;", turns.min(100_000_000)),
        ("select_by_key_ns", "SELECT number INTO x FROM demo WHERE id = i % 100000;", turns.min(1_000_000)),
        ("update_by_key_ns", "UPDATE demo SET number = i WHERE id = i % 100000;", turns.min(200_000)),
        ("call_ns", "x := one_more(i);", turns),
    ] {
        let nanos = nanos_of(&of_loop(step), turns)? - empty;
        found.insert(name.to_owned(), nanos.max(0.0));
    }
    let query = format!("FOR x IN SELECT number FROM demo WHERE id <= {last} LOOP NULL; END LOOP;");
    found.insert("query_loop_ns_per_row".to_owned(), nanos_of(&query, KEYS)?);
    Ok(found)
}
