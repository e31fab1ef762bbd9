//! A backup of a database that others change meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_backup::{BackupOptions, RestoreOptions};
use verso_env::Env;
use versodb::params;

use crate::world::{answer, archive, database, open, restore};

const ACCOUNTS: i64 = 5_000;

#[test]
fn sums_hold_in_a_backup_that_was_taken_while_money_moved() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL, note text);
         CREATE TABLE other (id integer PRIMARY KEY, balance bigint NOT NULL);
         INSERT INTO account SELECT n, 100, repeat('x', 200) FROM generate_series(1, {ACCOUNTS}) AS s(n);
         INSERT INTO other SELECT n, 100 FROM generate_series(1, {ACCOUNTS}) AS s(n);"
    );
    let bank = database(&folder.path().join("bank.verso"), &script);
    let (stop, moved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..3)
        .map(|client: i64| {
            let (bank, stop, moved) = (bank.clone(), Arc::clone(&stop), Arc::clone(&moved));
            Env::real().spawn("client", move || {
                let mut connection = bank.connect().unwrap();
                connection.execute("SET synchronous_commit = off").unwrap();
                let take =
                    connection.prepare("UPDATE account SET balance = balance - $1 WHERE id = $2").unwrap();
                let give =
                    connection.prepare("UPDATE other SET balance = balance + $1 WHERE id = $2").unwrap();
                let mut seed = client + 1;
                while !stop.load(Ordering::Relaxed) {
                    seed =
                        seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let (from, to) =
                        ((seed >> 33).rem_euclid(ACCOUNTS) + 1, (seed >> 13).rem_euclid(ACCOUNTS) + 1);
                    connection.execute("BEGIN").unwrap();
                    take.execute(&params![seed % 50, from]).unwrap();
                    give.execute(&params![seed % 50, to]).unwrap();
                    connection.execute("COMMIT").unwrap();
                    moved.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut archives = Vec::new();
    for workers in [1, 3] {
        let before = moved.load(Ordering::Relaxed);
        while moved.load(Ordering::Relaxed) < before + 50 {
            std::thread::yield_now();
        }
        archives.push(archive(&bank, &BackupOptions { workers, ..BackupOptions::default() }));
    }
    stop.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().unwrap());
    let sum = "SELECT sum(a.balance) + (SELECT sum(balance) FROM other), count(*) FROM account a";
    let mut states = Vec::new();
    for (number, bytes) in archives.iter().enumerate() {
        let path = folder.path().join(format!("{number}.verso"));
        restore(bytes, &path, &RestoreOptions { workers: 2, ..RestoreOptions::default() }).unwrap();
        let copy = open(&path);
        let mut connection = copy.connect().unwrap();
        assert_eq!(answer(&mut connection, sum), format!("{}|{ACCOUNTS}", 200 * ACCOUNTS));
        states.push(answer(&mut connection, "SELECT sum(balance) FROM other"));
    }
    assert_ne!(states[0], states[1], "money moved between the two");
}

#[test]
fn what_is_dropped_and_emptied_meanwhile_is_in_the_backup() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE a (x integer); INSERT INTO a SELECT generate_series(1, 1000);
                  CREATE TABLE b (x integer); INSERT INTO b SELECT generate_series(1, 1000)";
    let saved = database(&folder.path().join("a.verso"), script);
    // The definitions are read under the snapshot; a session that changes them waits for the backup, or comes first.
    let done = Arc::new(AtomicBool::new(false));
    let (other, told) = (saved.clone(), Arc::clone(&done));
    let client = Env::real().spawn("client", move || {
        let mut connection = other.connect().unwrap();
        for n in 0..40 {
            connection.execute(&format!("CREATE TABLE t{n} (x integer)")).unwrap();
            connection.execute(&format!("INSERT INTO t{n} VALUES (1)")).unwrap();
            connection.execute("TRUNCATE b").unwrap();
            connection.execute("INSERT INTO b VALUES (7)").unwrap();
        }
        told.store(true, Ordering::Release);
    });
    let mut archives = Vec::new();
    while !done.load(Ordering::Acquire) && archives.len() < 20 {
        archives.push(archive(&saved, &BackupOptions { workers: 2, ..BackupOptions::default() }));
    }
    client.join().unwrap();
    for (number, bytes) in archives.iter().enumerate() {
        let path = folder.path().join(format!("{number}.verso"));
        restore(bytes, &path, &RestoreOptions::default()).unwrap();
        let copy = open(&path);
        let mut connection = copy.connect().unwrap();
        assert_eq!(answer(&mut connection, "SELECT count(*) FROM a"), "1000");
        let b = answer(&mut connection, "SELECT count(*), max(x) FROM b");
        assert!(["1000|1000", "1|7", "0|"].contains(&&*b), "{b}");
    }
}
