//! Many sessions: limits, cancel, terminate, shutdown.

use std::time::Duration;

use super::World;
use super::raw::{Raw, query, startup};
use verso_server::ShutdownMode;

/// Long enough that nobody waits for its end.
const LONG: &str =
    "SELECT count(*) FROM generate_series(1, 100000000) AS a(n), generate_series(1, 100000000) AS b(n)";

/// What a session does.
fn state(admin: &mut Raw, id: i32) -> String {
    admin.value(&format!("SELECT state FROM pg_stat_activity WHERE pid = {id}"))
}

/// Waits until a session runs a statement: a cancel that comes before is one of nothing.
fn until_active(admin: &mut Raw, id: i32) {
    while state(admin, id) != "active" {
        std::thread::yield_now();
    }
}

#[test]
fn beyond_the_limit_sessions_are_refused_until_one_leaves() {
    let world = World::with(|config| config.max_connections = 2);
    let (mut first, second) = (world.connect(), world.connect());
    let mut third = Raw::open(world.address);
    third.send(&startup(3 << 16, &[("user", "verso"), ("database", "verso")]));
    assert_eq!(third.until('E').pop().unwrap().field('C').as_deref(), Some("53300"));
    drop(second);
    while world.server().sessions() > 1 {
        std::thread::yield_now();
    }
    assert_eq!(world.connect().value("SELECT 3"), "3");
    assert_eq!(first.value("SELECT 1"), "1");
}

/// Whatever refuses a client behind its registration.
#[test]
fn a_refused_session_does_not_count() {
    let world = World::with(|config| config.max_connections = 3);
    let mut first = world.connect();
    first.query("CREATE ROLE barred LOGIN CONNECTION LIMIT 0");
    let refused: [(&[(&str, &str)], &str); 3] = [
        (&[("user", "barred"), ("database", "verso")], "53300"),
        (&[("user", "verso"), ("database", "verso"), ("options", "-c nix=1")], "42704"),
        (&[("user", "verso"), ("database", "verso"), ("statement_timeout", "x")], "22023"),
    ];
    for (parameters, code) in refused {
        for _ in 0..4 {
            let mut raw = Raw::open(world.address);
            raw.send(&startup(3 << 16, parameters));
            assert_eq!(raw.until('E').pop().unwrap().field('C').as_deref(), Some(code));
            assert!(raw.next().is_none());
        }
    }
    while world.server().sessions() > 1 {
        std::thread::yield_now();
    }
    assert_eq!(world.connect().value("SELECT 3"), "3");
}

/// The watch over clients that have left, twice a second, does not take them for such.
#[test]
fn statements_may_end_in_the_time_of_a_shutdown() {
    let world = World::with(|config| config.shutdown_timeout = Duration::from_secs(60));
    let (mut admin, mut busy) = (world.connect(), world.connect());
    busy.send(&query("SELECT pg_sleep(2)"));
    until_active(&mut admin, busy.backend);
    world.shutdown(ShutdownMode::Smart);
    let replies = busy.until('E');
    let kinds: String = replies.iter().map(|reply| reply.kind).collect();
    assert_eq!(kinds, "TDCZE");
    assert_eq!(replies[4].field('C').as_deref(), Some("57P01"));
}

#[test]
fn a_cancel_request_needs_the_secret() {
    let world = World::new();
    let (mut raw, mut other) = (world.connect(), world.connect());
    raw.send(&query(LONG));
    until_active(&mut other, raw.backend);
    let request = |key: &[u8]| {
        let mut bytes = vec![0, 0, 0, 12 + key.len() as u8, 0x04, 0xd2, 0x16, 0x2e];
        bytes.extend_from_slice(&raw.backend.to_be_bytes());
        bytes.extend_from_slice(key);
        bytes
    };
    let (wrong, right) = (request(&[1, 2, 3, 4]), request(&raw.key));
    let ask = |bytes: &[u8]| {
        let mut other = Raw::open(world.address);
        other.send(bytes);
        assert!(other.next().is_none());
    };
    ask(&wrong);
    raw.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(raw.next().is_none(), "it still runs");
    raw.socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    ask(&right);
    let error = raw.until('E').pop().unwrap();
    assert_eq!(error.field('C').as_deref(), Some("57014"));
    assert_eq!(raw.until('Z').len(), 1);
    assert_eq!(raw.value("SELECT 1"), "1");
}

#[test]
fn sql_shows_cancels_and_ends_sessions() {
    let world = World::new();
    let (mut admin, mut idle, mut busy) = (world.connect(), world.connect(), world.connect());
    busy.send(&query(LONG));
    until_active(&mut admin, busy.backend);
    assert_eq!(state(&mut admin, idle.backend), "idle");
    assert_eq!(admin.value("SELECT pg_backend_pid()"), admin.backend.to_string());
    assert_eq!(admin.value(&format!("SELECT pg_cancel_backend({})", busy.backend)), "t");
    assert_eq!(busy.until('E').pop().unwrap().field('C').as_deref(), Some("57014"));
    assert_eq!(admin.value(&format!("SELECT pg_terminate_backend({})", idle.backend)), "t");
    let last = idle.until('E').pop().unwrap();
    assert_eq!((last.field('S').as_deref(), last.field('C').as_deref()), (Some("FATAL"), Some("57P01")));
    assert!(idle.next().is_none());
    assert_eq!(admin.value("SELECT pg_cancel_backend(999999)"), "f");
}

#[test]
fn a_shutdown_tells_everybody() {
    let world = World::new();
    let (mut idle, mut busy) = (world.connect(), world.connect());
    busy.send(&query("BEGIN"));
    busy.until('Z');
    busy.send(&query(LONG));
    let address = world.address;
    world.shutdown(ShutdownMode::Fast);
    assert_eq!(idle.until('E').pop().unwrap().field('C').as_deref(), Some("57P01"));
    let codes: Vec<_> = busy.until('X').iter().filter_map(|reply| reply.field('C')).collect();
    assert!(codes.contains(&"57P01".to_owned()), "{codes:?}");
    assert!(std::net::TcpStream::connect(address).is_err());
}

/// However they are waiting, and although their reads end at different moments of it.
#[test]
fn nobody_is_cut_off_without_a_word_by_a_shutdown() {
    for mode in [ShutdownMode::Smart, ShutdownMode::Fast] {
        let world = World::with(|config| config.max_connections = 300);
        let mut idle: Vec<Raw> = (0..250).map(|_| world.connect()).collect();
        let mut copying = world.connect();
        copying.send(&query("CREATE TABLE t (a int); COPY t FROM STDIN"));
        copying.until('G');
        world.shutdown(mode);
        for session in idle.iter_mut().chain([&mut copying]) {
            let last = session.until('E').pop().expect("an error before the end");
            assert_eq!(
                (last.field('S').as_deref(), last.field('C').as_deref()),
                (Some("FATAL"), Some("57P01"))
            );
            assert!(session.next().is_none());
        }
    }
}

/// In a process of its own: what other tests take does not count.
#[test]
fn a_thousand_idle_sessions_fit_into_little_memory() {
    const ALONE: &str = "VERSO_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let test = "sessions::a_thousand_idle_sessions_fit_into_little_memory";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let output = alone.args(["--exact", test]).env(ALONE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let world = World::with(|config| config.max_connections = 1_000);
    let before = verso_env::process::resident_bytes().unwrap();
    let mut sessions: Vec<Raw> = (0..1_000).map(|_| world.connect()).collect();
    assert_eq!(sessions[999].value("SELECT 1"), "1");
    let used = verso_env::process::resident_bytes().unwrap().saturating_sub(before);
    assert!(used < 200 << 20, "{} MiB", used >> 20);
}

/// Rows that no socket holds, of which the client reads none.
const STREAM: &str = "SELECT repeat('x', 1000) FROM generate_series(1, 300000)";

/// A session in a write that waits for its client.
fn blocked(world: &World, before: &str) -> Raw {
    let mut client = world.connect();
    client.query(before);
    client.send(&query(STREAM));
    // It has begun to answer; the sockets hold only some of it.
    assert_eq!(client.next().unwrap().kind, 'T');
    client
}

#[test]
fn a_client_that_does_not_read_keeps_no_shutdown_waiting() {
    let patient = |config: &mut verso_server::Config| config.shutdown_timeout = Duration::from_secs(3600);
    let world = World::with(patient);
    let mut client = blocked(&world, "BEGIN");
    world.shutdown(ShutdownMode::Fast);
    // What was on its way can still be read, and it ends in the middle.
    assert_ne!(client.until('Z').pop().unwrap().kind, 'Z');
}

#[test]
fn a_client_that_does_not_read_is_ended_by_an_administrator_and_by_a_timeout() {
    let world = World::new();
    let mut admin = world.connect();
    admin.query("CREATE TABLE t (a int)");
    let client = blocked(&world, "BEGIN; INSERT INTO t VALUES (1)");
    assert_eq!(admin.value(&format!("SELECT pg_terminate_backend({})", client.backend)), "t");
    while world.server().sessions() > 1 {
        std::thread::yield_now();
    }
    let late = blocked(&world, "SET transaction_timeout = '200ms'; BEGIN; LOCK TABLE t");
    while world.server().sessions() > 1 {
        std::thread::yield_now();
    }
    // Its lock is gone with it, and so is what the first one has inserted.
    assert_eq!(admin.value("SELECT count(*) FROM t"), "0");
    assert_eq!(admin.kinds(&query("LOCK TABLE t")), "EZI", "outside of a block");
    assert_eq!(admin.kinds(&query("DROP TABLE t")), "CZI");
    drop((client, late));
}

#[test]
fn a_client_that_reads_late_hears_why_its_session_ends() {
    let world = World::new();
    let mut client = blocked(&world, "SELECT 1");
    let mut admin = world.connect();
    assert_eq!(admin.value(&format!("SELECT pg_terminate_backend({})", client.backend)), "t");
    let last = client.until('E').pop().unwrap();
    assert_eq!((last.kind, last.field('C').as_deref()), ('E', Some("57P01")));
}

/// As PostgreSQL does on SIGHUP.
#[test]
fn a_setting_that_the_configuration_names_no_more_is_the_usual_one() {
    let world = World::new();
    let configured = |lines: &[(&str, &str)]| {
        let session_defaults = lines.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        world.server().reload(verso_server::Config { session_defaults, ..verso_server::Config::default() })
    };
    let settings = || {
        let mut client = world.connect();
        ["sweep_interval", "work_mem", "synchronous_commit"].map(|name| client.value(&format!("SHOW {name}")))
    };
    let usual = settings();
    let lines = [("sweep_interval", "77"), ("work_mem", "7MB"), ("synchronous_commit", "off")];
    configured(&lines).unwrap();
    assert_eq!(settings(), ["77", "7MB", "off"]);
    assert!(configured(&[("sweep_interval", "78"), ("work_mem", "much")]).is_err());
    world.connect().query("ALTER SYSTEM SET work_mem = '9MB'");
    configured(&[]).unwrap();
    assert_eq!(settings(), [usual[0].as_str(), "9MB", usual[2].as_str()]);
    world.connect().query("ALTER SYSTEM RESET work_mem");
    assert_eq!(settings(), usual);
}

#[test]
fn the_servers_own_settings_are_shown_and_no_statement_changes_them() {
    let world = World::with(|config| config.worker_threads = 3);
    let mut client = world.connect();
    assert_eq!(client.value("SHOW worker_threads"), "3");
    assert_eq!(client.value("SELECT current_setting('max_connections')"), "100");
    assert_eq!(client.code("SET worker_threads = 4"), "55P02");
    assert_eq!(client.code("ALTER SYSTEM SET listen = '*'"), "55P02");
}
