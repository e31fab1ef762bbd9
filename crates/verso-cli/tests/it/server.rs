//! `verso serve` as a process: readiness, signals, kill -9 under load.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;

use postgres::{Client, NoTls};

use crate::world::World;

pub struct Server {
    child: Child,
    port: u16,
    /// Reads its log as it comes: it would wait for a reader once the pipe is full.
    log: Option<JoinHandle<String>>,
}

impl Server {
    pub fn start(world: &World, arguments: &[&str]) -> Server {
        Server::serve(world, "a.verso", arguments)
    }

    /// Serves a file, or a folder.
    pub fn serve(world: &World, what: &str, arguments: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_verso"))
            .args(["serve", what, "--listen", "127.0.0.1:0", "--pool-bytes", "16777216"])
            .args(arguments)
            .current_dir(world.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut errors = child.stderr.take().expect("piped above");
        #[expect(clippy::disallowed_methods, reason = "a reader beside the server under test")]
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            errors.read_to_string(&mut log).expect("text");
            log
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped above")).read_line(&mut line).expect("text");
        let port =
            line.trim().strip_prefix("verso: ready: listening on 127.0.0.1:").expect("the line of readiness");
        Server { port: port.parse().expect("a port"), child, log: Some(log) }
    }

    pub fn connect(&self) -> Result<Client, postgres::Error> {
        self.connect_to("verso")
    }

    pub fn connect_to(&self, database: &str) -> Result<Client, postgres::Error> {
        self.connect_as("verso", database)
    }

    pub fn connect_as(&self, user: &str, database: &str) -> Result<Client, postgres::Error> {
        Client::connect(&format!("host=127.0.0.1 port={} user={user} dbname={database}", self.port), NoTls)
    }

    /// Where tools reach it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Waits for its end; exit code and log.
    pub fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("ended").code();
        let log = self.log.take().map(|log| log.join().expect("read")).unwrap_or_default();
        (code, log)
    }
}

/// A test that fails leaves no server behind.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Transfers between accounts until the server is gone. A client's counter is raised in the same transaction; it goes on
/// from what was acknowledged, also when a transfer has failed.
fn transfer(client: &mut Client, number: i32, acknowledged: &AtomicI32) -> Result<(), postgres::Error> {
    for n in acknowledged.load(Ordering::SeqCst) + 1.. {
        let mut transaction = client.transaction()?;
        let (from, to) = (n % 10, (n / 10 + number) % 10);
        transaction.execute("UPDATE account SET balance = balance - 1 WHERE id = $1", &[&from])?;
        transaction.execute("UPDATE account SET balance = balance + 1 WHERE id = $1", &[&to])?;
        transaction.execute("UPDATE counter SET n = $2 WHERE client = $1", &[&number, &n])?;
        transaction.commit()?;
        acknowledged.store(n, Ordering::SeqCst);
    }
    Ok(())
}

#[test]
fn kill_9_under_load_loses_no_acknowledged_commit_and_leaves_none_half_done() {
    const CLIENTS: i32 = 4;
    let world = World::new();
    let server = Server::start(&world, &[]);
    let mut client = server.connect().expect("connected");
    client
        .batch_execute(
            "CREATE TABLE account (id integer, balance integer); CREATE TABLE counter (client integer, n integer);
             INSERT INTO account SELECT n, 1000 FROM generate_series(0, 9) AS s(n);
             INSERT INTO counter SELECT n, 0 FROM generate_series(0, 3) AS s(n)",
        )
        .expect("made");
    drop(client);
    let mut server = server;
    for round in 0..3 {
        let acknowledged: Vec<AtomicI32> = (0..CLIENTS).map(|_| AtomicI32::new(0)).collect();
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let (server, acknowledged) = (&server, &acknowledged);
                scope.spawn(move || {
                    // A transfer that fails while the server lives lost a race for a row: it is tried again.
                    while let Ok(mut client) = server.connect() {
                        let _ = transfer(&mut client, number, &acknowledged[number as usize]);
                        if client.is_closed() {
                            break;
                        }
                    }
                });
            }
            while acknowledged.iter().map(|n| n.load(Ordering::SeqCst)).sum::<i32>() < 40 * (round + 1) {
                std::thread::yield_now();
            }
            server.signal("-KILL");
        });
        let (_, _) = server.end();
        server = Server::start(&world, &[]);
        let mut client = server.connect().expect("it recovers");
        let total: i64 = client.query_one("SELECT sum(balance) FROM account", &[]).expect("read").get(0);
        assert_eq!(total, 10_000, "no transfer is half done");
        for (number, acknowledged) in acknowledged.iter().enumerate() {
            let row = client
                .query_one("SELECT n FROM counter WHERE client = $1", &[&(number as i32)])
                .expect("read");
            let (found, acknowledged) = (row.get::<_, i32>(0), acknowledged.load(Ordering::SeqCst));
            // One more may have been committed without the answer having arrived.
            assert!(
                (acknowledged..=acknowledged + 1).contains(&found) || acknowledged == 0,
                "{found} {acknowledged}"
            );
        }
    }
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
    assert_eq!(world.verso(&["check", "a.verso"]).code, 0);
}

#[test]
fn signals_reload_and_end_the_server() {
    let world = World::new();
    world.file("verso.conf", "log_level = info\nwork_mem = '1MB'\n");
    let server = Server::start(&world, &["--config", "verso.conf"]);
    let show = |server: &Server| -> String {
        let mut client = server.connect().expect("connected");
        client.query_one("SELECT current_setting('work_mem')", &[]).expect("shown").get(0)
    };
    assert_eq!(show(&server), "1MB");
    world.file("verso.conf", "log_level = info\nwork_mem = '2MB'\n");
    server.signal("-HUP");
    while show(&server) != "2MB" {
        std::thread::yield_now();
    }
    let connection = format!("host=127.0.0.1 port={} user=verso", server.port);
    let stat = world.verso(&["stat", "--server", &connection]);
    assert_eq!(stat.code, 0, "{stat:?}");
    assert!(stat.out.contains("next_xid") && stat.out.contains("verso stat"), "{stat:?}");
    let mut idle = server.connect().expect("connected");
    server.signal("-TERM");
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("database closed"), "{log}");
    assert!(idle.simple_query("SELECT 1").is_err());
}

#[test]
fn statements_that_fail_are_logged_as_the_settings_say() {
    let world = World::new();
    let server = Server::start(&world, &["-c", "log_error_verbosity=terse"]);
    let mut client = server.connect().expect("connected");
    client.batch_execute("CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t VALUES (1)").expect("made");
    client.batch_execute("SELECT 1; INSERT INTO t VALUES (1) -- one").expect_err("it is there");
    client.batch_execute("SET log_error_verbosity = verbose").expect("set");
    client.batch_execute("INSERT INTO t VALUES (1) -- two").expect_err("it is there");
    client.query("SELECT 1 / $1::int -- three", &[&0]).expect_err("by zero");
    client.prepare("SELECT nix -- four").expect_err("no column");
    client.batch_execute("ALTER ROLE nobody PASSWORD 'secret'").expect_err("no role");
    client.batch_execute("SET log_min_error_statement = fatal").expect("set");
    client.batch_execute("SELECT nix2 -- five").expect_err("no column");
    client.batch_execute("SET log_min_messages = fatal").expect("set");
    client.batch_execute("SELECT nix3 -- six").expect_err("no column");
    client.batch_execute("SET log_min_messages = notice; RESET log_min_error_statement").expect("set");
    client.batch_execute("DO $$ BEGIN RAISE NOTICE 'said so'; RAISE DEBUG 'not this'; END $$").expect("done");
    client.batch_execute("SET client_min_messages = error; ROLLBACK").expect("a warning, for the log alone");
    assert_eq!(server.connect_to("nix").err().expect("none").code().expect("its").code(), "3D000");
    drop(client);
    server.signal("-TERM");
    let (_, log) = server.end();
    let line = |what: &str| log.lines().find(|line| line.contains(what)).unwrap_or_default();
    let one = line("-- one");
    assert!(
        one.contains(" ERROR ") && one.contains("sqlstate=\"23505\"") && !one.contains("detail="),
        "{log}"
    );
    assert!(one.contains("statement=\"SELECT 1; INSERT INTO"), "the whole text: {one}");
    let two = line("-- two");
    assert!(two.contains("detail=\"Key (a)=(1)") && two.contains("about=\"schema public, table t"), "{log}");
    let expected = [("-- three", "22012"), ("-- four", "42703"), ("ALTER ROLE nobody", "42704")];
    for (text, code) in expected {
        assert!(line(text).contains(&format!("sqlstate=\"{code}\"")), "{text}: {log}");
    }
    assert!(line("-- four").contains("\"nix\" does not exist at character 8"), "{log}");
    assert!(!log.contains("secret") && line("ALTER ROLE nobody").contains("PASSWORD '…'"), "{log}");
    assert!(!log.contains("-- five") && line("nix2").contains("42703"), "{log}");
    assert!(!log.contains("nix3") && !log.contains("not this"), "{log}");
    assert!(line("said so").contains("INFO"), "{log}");
    let warned = line("there is no transaction in progress");
    assert!(warned.contains(" WARN ") && warned.contains("25P01") && !warned.contains("statement="), "{log}");
    assert!(line("login refused").contains("3D000"), "{log}");
}

#[test]
fn sessions_that_have_gone_leave_no_open_files() {
    let world = World::new();
    let server = Server::start(&world, &[]);
    let mut client = server.connect().expect("connected");
    let path = format!("/proc/{}/fd", server.child.id());
    // Where the system does not say there is nothing to prove.
    let open = || std::fs::read_dir(&path).map_or(0, Iterator::count);
    let before = open();
    for _ in 0..20 {
        server.connect().expect("connected").simple_query("SELECT 1").expect("answered");
    }
    // A session goes a moment after its client; some files are the engine's own affair.
    while open() > before + 10 {
        std::thread::yield_now();
    }
    client.simple_query("SELECT 1").expect("answered");
    server.signal("-TERM");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn what_cannot_be_served_is_said() {
    let world = World::new();
    let run = world.verso(&["serve", "a.verso", "--listen", "0.0.0.0:0"]);
    assert_ne!(run.code, 0);
    assert!(run.err.contains("no role has a password"), "{run:?}");
    world.file("bad.conf", "max_connections = many\n");
    let run = world.verso(&["serve", "a.verso", "--config", "bad.conf"]);
    assert!(run.err.contains("bad.conf:1"), "{run:?}");
}

#[test]
fn stat_live_shows_rates_of_a_server() {
    let world = World::new();
    let server = Server::start(&world, &[]);
    let asked = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_verso")).arg("stat").args(more).output();
        let output = output.expect("the binary starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let address = server.address();
    let live = ["--live", "--server", &address, "--interval", "0.1", "--count", "2"];
    let (code, pages) = asked(&live);
    assert_eq!(code, Some(0));
    assert_eq!(pages.matches("database   verso  ").count(), 2, "{pages}");
    for name in ["sessions ", "commits ", "rows ", "pages ", "pool ", "log ", "waits ", "space "] {
        assert_eq!(pages.lines().filter(|line| line.starts_with(name)).count(), 2, "{name} in {pages}");
    }
    assert!(!pages.contains('\u{1b}'), "that is for terminals");
    assert_eq!(asked(&["--live", "a.verso"]).0, Some(1), "a file that nobody serves does nothing");
    assert_eq!(asked(&["--live", "--server", &address, "--interval", "0"]).0, Some(1));
}

/// What `verso shell` answers: code, standard output, standard error.
fn shell(world: &World, address: &str, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_verso"))
        .args(["shell", address])
        .args(arguments)
        .current_dir(world.path())
        .env("PGPASSWORD", "secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped above");
    std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("ended");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_shell_talks_to_a_server_as_to_a_file() {
    let world = World::new();
    let server = Server::start(&world, &[]);
    let url = format!("postgres://verso@{}/verso", server.address());
    let script = "CREATE TABLE t (a integer PRIMARY KEY, b text);\n\
        COPY t FROM STDIN;\n1\tone\n2\ttwo\n\\.\n\
        INSERT INTO t VALUES (30, NULL);\n\
        SELECT * FROM t ORDER BY a;\n\
        COPY t TO STDOUT;\n\
        SELECT nosuch FROM t;\n\
        DROP TABLE IF EXISTS none;\n\
        \\d t\n\\dt\n\\c\n";
    let (code, out, err) = shell(&world, &url, &[], script);
    let expected = "CREATE TABLE\nCOPY 2\nINSERT 0 1\n\
        \u{20}a  |  b  \n----+-----\n  1 | one\n  2 | two\n 30 | \n(3 rows)\n\n\
        1\tone\n2\ttwo\n30\t\\N\nDROP TABLE\n";
    assert!(out.starts_with(expected), "{out}");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("ERROR:  42703: column \"nosuch\" does not exist\nLINE 1: SELECT nosuch FROM t;\n               ^\n"), "{err}");
    assert!(err.contains("NOTICE:  table \"none\" does not exist, skipping"), "{err}");
    // The same as of a file, in which the same table was made.
    let (_, local, _) =
        shell(&world, "b.verso", &[], "CREATE TABLE t (a integer PRIMARY KEY, b text);\n\\d t\n\\dt\n");
    let listed = local.strip_prefix("CREATE TABLE\n").expect("made");
    let rest = &out[expected.len()..];
    assert!(rest.starts_with(listed), "{rest}\n{listed}");
    assert!(
        rest.ends_with(&format!("You are now connected to database \"verso\" at {}.\n", server.address())),
        "{rest}"
    );
}

#[test]
fn transactions_of_the_shell_at_a_server_end_as_they_are_told_to() {
    let world = World::new();
    let server = Server::start(&world, &[]);
    let mut admin = server.connect().expect("connected");
    admin
        .batch_execute("CREATE TABLE t (a integer); CREATE USER ann PASSWORD 'secret'; GRANT ALL ON t TO ann")
        .expect("made");
    let url = format!("postgres://ann@{}/verso", server.address());
    let mut rows = || admin.query_one("SELECT count(*) FROM t", &[]).expect("a row").get::<_, i64>(0);
    // Ann's password is proved; leaving rolls back, EXIT commits, and an error in a block is told to the next statement.
    shell(&world, &url, &["-c", "BEGIN; INSERT INTO t VALUES (1)"], "");
    assert_eq!(rows(), 0);
    let (code, _, err) = shell(&world, &url, &[], "\\set AUTOCOMMIT off\nINSERT INTO t VALUES (1);\nEXIT\n");
    assert_eq!((code, err.as_str(), rows()), (Some(0), "", 1));
    shell(&world, &url, &[], "\\set AUTOCOMMIT off\nINSERT INTO t VALUES (2);\nQUIT\n");
    assert_eq!(rows(), 1);
    let (code, _, err) = shell(&world, &url, &["-c", "SELECT 1/0"], "");
    assert_eq!((code, err.as_str()), (Some(1), "ERROR:  22012: division by zero\n"));
    // A session that is ended is lost, and an address where nobody answers is an error.
    let end = "SELECT pg_terminate_backend(pg_backend_pid());\nSELECT 1;\n";
    let super_user = format!("postgres://verso@{}/verso", server.address());
    assert_eq!(shell(&world, &super_user, &[], end).0, Some(2));
    assert_eq!(shell(&world, "postgres://127.0.0.1:1/verso", &[], "").0, Some(1));
    let (code, _, err) = shell(&world, &format!("postgres://ann:wrong@{}/verso", server.address()), &[], "");
    assert_eq!(code, Some(1));
    assert!(err.contains("28P01: password authentication failed for user \"ann\""), "{err}");
}
