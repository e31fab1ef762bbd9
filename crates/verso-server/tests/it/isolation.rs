//! What transactions see of one another, through a driver: the scripts and histories of the library's tests.

use postgres::{NoTls, SimpleQueryMessage};
use verso_env::Env;

use super::World;
use super::lists::{By, LEVELS, appends, clean};
use super::specs::{Client, Server, run_all};

impl Server for World {
    fn connect(&self) -> Box<dyn Client> {
        Box::new(self.client())
    }
}

impl Client for postgres::Client {
    fn run(&mut self, sql: &str) -> Result<String, String> {
        let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let messages = self.simple_query(sql).map_err(|error| match error.code() {
            Some(code) => code.code().to_owned(),
            None => error.to_string(),
        })?;
        let (mut rows, mut changed) = (Vec::new(), 0);
        for message in &messages {
            match message {
                SimpleQueryMessage::Row(row) => {
                    let cells = (0..row.len()).map(|at| row.get(at).unwrap_or_default());
                    rows.push(cells.collect::<Vec<_>>().join("|"));
                }
                SimpleQueryMessage::CommandComplete(count) => changed = *count,
                _ => {}
            }
        }
        Ok(match &*word {
            "select" => format!("[{}]", rows.join(" ")),
            "insert" | "update" | "delete" => changed.to_string(),
            _ => "ok".to_owned(),
        })
    }
}

#[test]
fn named_anomalies_are_allowed_and_refused_through_the_wire_as_by_the_library() {
    let world = World::new();
    let failures = run_all(&Env::real(), &world);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn appends_through_the_wire_show_what_the_level_allows() {
    for ((seed, level), by) in (0..).zip(LEVELS).zip(By::ALL) {
        let world = World::new();
        let anomalies = appends(&Env::real(), &world, seed, level, 4, 40, by);
        clean(level, &anomalies, seed);
    }
}

#[test]
fn a_session_that_disconnects_leaves_its_transaction_undone() {
    let world = World::new();
    let mut one = world.client();
    one.batch_execute("CREATE TABLE t (a integer); INSERT INTO t VALUES (1)").unwrap();
    let text = format!("host=127.0.0.1 port={} user=verso dbname=verso", world.address.port());
    let mut two = postgres::Client::connect(&text, NoTls).unwrap();
    two.batch_execute("BEGIN; UPDATE t SET a = 2").unwrap();
    drop(two);
    // Its lock is free as soon as the server has noticed.
    assert_eq!(one.execute("UPDATE t SET a = a + 10", &[]).unwrap(), 1);
    assert_eq!(one.query_one("SELECT a FROM t", &[]).unwrap().get::<_, i32>(0), 11);
}
