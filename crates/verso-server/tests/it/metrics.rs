//! Figures over HTTP, and that they tell what happened.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::World;
use super::raw::query;
use verso_server::{Config, Server, ShutdownMode};
use versodb::Options;

fn watched() -> World {
    World::with(|config| config.metrics = vec!["127.0.0.1:0".parse().unwrap()])
}

fn ask(address: SocketAddr, request: &str) -> String {
    try_ask(address, request).unwrap()
}

fn try_ask(address: SocketAddr, request: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(Duration::from_secs(30)))?;
    socket.write_all(request.as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Series and their values; checks the format on the way.
fn figures(address: SocketAddr) -> HashMap<String, f64> {
    let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: verso\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(body.ends_with('\n'));
    let (mut series, mut typed) = (HashMap::new(), Vec::new());
    for line in body.lines() {
        if let Some(of) = line.strip_prefix("# TYPE ") {
            let name = of.split(' ').next().unwrap().to_owned();
            assert!(!typed.contains(&name), "{name} stands in two places");
            typed.push(name);
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let of = typed.last().unwrap();
            assert!(name.starts_with(of.as_str()), "{name} stands behind {of}");
            let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
            assert!(series.insert(name.to_owned(), value).is_none(), "{name} is there twice");
        }
    }
    series
}

#[test]
fn figures_follow_what_happens() {
    let world = watched();
    let address = world.server().metrics_addresses()[0];
    let mut client = world.connect();
    client.query("CREATE TABLE t (a int PRIMARY KEY)");
    let before = figures(address);
    let of = |figures: &HashMap<String, f64>, name: &str| {
        *figures.get(name).unwrap_or_else(|| panic!("{name} of {:?}", figures.keys()))
    };
    client.query("INSERT INTO t SELECT generate_series(1, 100)");
    client.query("BEGIN");
    client.query("DELETE FROM t");
    let mut waiting = world.connect();
    waiting.send(&query("DELETE FROM t WHERE a = 1"));
    while world.connect().value("SELECT count(*) FROM verso_locks WHERE NOT granted") != "1" {
        std::thread::yield_now();
    }
    let during = figures(address);
    assert_eq!(of(&during, r#"verso_lock_waiters{database="verso"}"#), 1.0);
    assert_eq!(of(&during, r#"verso_sessions{database="verso",state="idle in transaction"}"#), 1.0);
    assert_eq!(of(&during, r#"verso_sessions{database="verso",state="active"}"#), 1.0);
    assert!(of(&during, r#"verso_oldest_transaction_seconds{database="verso"}"#) > 0.0);
    client.query("ROLLBACK");
    waiting.until('Z');
    let after = figures(address);
    let grown = |name: &str| {
        let name = format!("{name}{{database=\"verso\"}}");
        of(&after, &name) - of(&before, &name)
    };
    assert!(grown("verso_commits_total") >= 2.0);
    // Connections, and what the server looks up for itself, end in none.
    assert_eq!(grown("verso_rollbacks_total"), 1.0);
    assert!(grown("verso_rows_inserted_total") >= 100.0);
    assert!(grown("verso_wal_bytes_total") > 1000.0);
    assert!(grown("verso_buffer_fetches_total") > 0.0);
    assert!(grown("verso_wal_fsync_seconds_count") >= 1.0);
    assert_eq!(of(&after, r#"verso_waits_total{database="verso",event="Lock"}"#), 1.0);
    assert!(of(&after, r#"verso_wait_seconds_total{database="verso",event="Lock"}"#) > 0.0);
    assert_eq!(of(&after, r#"verso_lock_waiters{database="verso"}"#), 0.0);
    let all = of(&after, r#"verso_wal_fsync_seconds_bucket{database="verso",le="+Inf"}"#);
    assert_eq!(all, of(&after, r#"verso_wal_fsync_seconds_count{database="verso"}"#));
    assert_eq!(of(&after, "verso_max_connections"), 100.0);
}

#[test]
fn other_requests_and_clients_that_say_nothing_do_no_harm() {
    let world = watched();
    let address = world.server().metrics_addresses()[0];
    // More than are answered at a time, and they say nothing.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    drop(silent);
    assert_eq!(world.connect().value("SELECT 1"), "1");
    // Who comes while others say nothing is turned away; they are seen to be gone soon.
    let answered = (0..600).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        try_ask(address, "POST /metrics HTTP/1.1\r\n\r\n").ok()
    });
    assert!(answered.expect("an answer once they are gone").starts_with("HTTP/1.1 405 "));
    assert!(ask(address, "GET /../verso.conf HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(figures(address).len() > 50);
}

#[test]
fn nothing_listens_unless_it_is_asked_for() {
    assert!(World::new().server().metrics_addresses().is_empty());
}

#[test]
fn databases_of_a_folder_are_told_apart_and_none_is_opened_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        metrics: vec!["127.0.0.1:0".parse().unwrap()],
        ..Config::default()
    };
    let options = || Options::new().buffer_pool(32 << 20);
    let server = Server::start_folder(directory.path(), options(), config.clone()).unwrap();
    let login = |database: &str| {
        let port = server.addresses()[0].port();
        let text = format!("host=127.0.0.1 port={port} dbname={database} user=verso");
        postgres::Client::connect(&text, postgres::NoTls).unwrap()
    };
    login("verso").batch_execute("CREATE DATABASE shop").unwrap();
    login("shop").batch_execute("CREATE TABLE t (a int)").unwrap();
    let both = figures(server.metrics_addresses()[0]);
    assert!(both.contains_key(r#"verso_commits_total{database="shop"}"#));
    assert!(both.contains_key(r#"verso_commits_total{database="verso"}"#));
    server.shutdown(ShutdownMode::Fast).unwrap();
    let server = Server::start_folder(directory.path(), options(), config).unwrap();
    let one = figures(server.metrics_addresses()[0]);
    assert!(!one.contains_key(r#"verso_commits_total{database="shop"}"#), "nobody has used it yet");
    server.shutdown(ShutdownMode::Fast).unwrap();
}
