//! Many sessions that append to lists: what they saw must be free of the anomalies that their level refuses. By the
//! library and through the server, as [`crate::specs`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use verso_env::Env;
use verso_sim::Rng;
use verso_sim::history::{Anomaly, Executed, Op, check};

use crate::specs::{Client, Server};

/// The levels that differ.
pub const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

const KEYS: u64 = 4;

/// `[1,2,]` as a client shows it.
fn parse(text: &str) -> Vec<u64> {
    let text = text.trim_matches(['[', ']']);
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect()
}

fn list(client: &mut dyn Client, key: u64, by: By) -> Result<Vec<u64>, String> {
    let indexed = by.built().unwrap_or("key");
    client.run(&format!("SELECT list FROM lists WHERE {indexed} = {key}")).map(|text| parse(&text))
}

/// One transaction of reads and appends; what it did, or nothing if its first statement failed.
fn transaction(client: &mut dyn Client, rng: &mut Rng, level: &str, by: By, next: &mut u64) -> Executed {
    let mut ops = Vec::new();
    let mut run = || -> Result<(), String> {
        client.run(&format!("BEGIN ISOLATION LEVEL {level}"))?;
        for _ in 0..1 + rng.below(4) {
            let key = rng.below(KEYS);
            if rng.below(2) == 0 {
                ops.push(Op::Read { key, values: list(client, key, by)? });
            } else {
                let value = *next;
                *next += 1;
                ops.push(Op::Append { key, value });
                client.run(&format!("UPDATE lists SET list = list || '{value},' WHERE key = {key}"))?;
            }
        }
        client.run("COMMIT").map(drop)
    };
    match run() {
        Ok(()) => Executed { ops, committed: true },
        Err(code) => {
            assert!(matches!(&*code, "40001" | "40P01"), "{code}");
            // The commit itself may have failed: there is nothing to roll back then, which is only warned of.
            client.run("ROLLBACK").unwrap();
            Executed { ops, committed: false }
        }
    }
}

/// How the lists are found, and what was read of them is noted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// By a scan of the table.
    Scan,
    /// Through the index of the primary key.
    Key,
    /// Through an index that a further session builds concurrently, sweeps and drops, again and again.
    BuiltMeanwhile,
    /// Through such an index that is on an expression: the rows are copied for each build.
    CopiedMeanwhile,
}

impl By {
    /// All of them.
    pub const ALL: [By; 4] = [By::Scan, By::Key, By::BuiltMeanwhile, By::CopiedMeanwhile];

    /// What is indexed meanwhile.
    fn built(self) -> Option<&'static str> {
        match self {
            By::Scan | By::Key => None,
            By::BuiltMeanwhile => Some("key"),
            By::CopiedMeanwhile => Some("(key + 0)"),
        }
    }
}

/// Builds and drops the index until `is_over`. The build waits for transactions, and may be the one that ends a deadlock.
fn build(client: &mut dyn Client, indexed: &str, is_over: &dyn Fn() -> bool) {
    loop {
        for sql in [
            &*format!("CREATE UNIQUE INDEX CONCURRENTLY lists_key ON lists ({indexed})"),
            "SWEEP TABLE lists",
            "DROP INDEX CONCURRENTLY IF EXISTS lists_key",
        ] {
            if let Err(code) = client.run(sql) {
                assert_eq!(code, "40P01", "{sql}");
            }
        }
        if is_over() {
            return;
        }
    }
}

/// Runs `sessions` threads of `count` transactions each on a fresh database; what they saw that some level refuses.
pub fn appends(
    env: &Env,
    server: &dyn Server,
    seed: u64,
    level: &'static str,
    sessions: u64,
    count: u64,
    by: By,
) -> Vec<Anomaly> {
    let mut control = server.connect();
    let key = if by == By::Key { "PRIMARY KEY" } else { "" };
    control.run(&format!("CREATE TABLE lists (key bigint {key}, list text)")).unwrap();
    for key in 0..KEYS {
        control.run(&format!("INSERT INTO lists VALUES ({key}, '')")).unwrap();
    }
    let history = Arc::new(Mutex::new(Vec::new()));
    let builder = by.built().map(|indexed| {
        let (mut client, history) = (server.connect(), Arc::clone(&history));
        env.spawn("builder", move || {
            build(&mut *client, indexed, &|| history.lock().unwrap().len() as u64 == sessions * count)
        })
    });
    let threads: Vec<_> = (0..sessions)
        .map(|session| {
            let (mut client, history) = (server.connect(), Arc::clone(&history));
            if by.built().is_some() {
                client.run("SET enable_seqscan = off").unwrap();
            }
            env.spawn("session", move || {
                let mut rng = Rng::new(seed ^ ((session + 1) << 32));
                let mut next = (session + 1) * 1_000_000;
                for _ in 0..count {
                    let done = transaction(&mut *client, &mut rng, level, by, &mut next);
                    history.lock().unwrap().push(done);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    if let Some(builder) = builder {
        builder.join().unwrap();
    }
    let lists: BTreeMap<u64, Vec<u64>> =
        (0..KEYS).map(|key| (key, list(&mut *control, key, by).unwrap())).collect();
    let history = history.lock().unwrap();
    assert!(history.iter().any(|txn| txn.committed));
    check(&history, &lists)
}

/// What a level lets through.
fn allowed(level: &str, anomaly: &Anomaly) -> bool {
    match level {
        "read committed" => matches!(anomaly, Anomaly::GSingle(_) | Anomaly::G2(_)),
        "repeatable read" => matches!(anomaly, Anomaly::G2(_)),
        _ => false,
    }
}

/// Nothing that the level refuses was seen.
pub fn clean(level: &str, anomalies: &[Anomaly], seed: u64) {
    let refused: Vec<_> = anomalies.iter().filter(|anomaly| !allowed(level, anomaly)).collect();
    assert!(refused.is_empty(), "{level}, SEED={seed}: {refused:?}");
}
