//! `verso backup` and `verso restore`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::server::Server;
use crate::world::World;

fn shop() -> World {
    let world = World::new();
    world.sql(
        "a.verso",
        "CREATE TABLE t (id integer PRIMARY KEY, v text); INSERT INTO t SELECT n, 'v' || n FROM generate_series(1, 3000) AS s(n);",
    );
    world
}

#[test]
fn the_commands_of_the_guide_run_as_they_stand() {
    let guide = include_str!("../../../../docs/guide/backup.md");
    let world = World::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_verso")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let mut printed = String::new();
    let blocks: Vec<&str> =
        guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 6);
    for block in blocks {
        let output = Command::new("sh")
            .args(["-e", "-c", block])
            .env("PATH", &path)
            .current_dir(world.path())
            .stdin(Stdio::null())
            .output()
            .expect("sh starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{block}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
        printed.push_str(&text);
    }
    assert_eq!(printed.matches("  1 | tea  |  3.50").count(), 3, "{printed}");
    assert!(printed.contains("     2\n"), "{printed}");
    // Restored from a base and the archive of the log.
    assert!(printed.contains("4.00") && printed.contains(" commits, from "), "{printed}");
    let log = std::fs::read_to_string(world.path().join("backup.log")).expect("a log");
    assert!(log.contains("public.item: 2 rows"), "{log}");
    assert!(world.sql("piped.verso", "SELECT count(*) FROM item").contains("     2\n"));
}

#[test]
fn a_folder_of_parquet_files_is_neither_piped_nor_packed_otherwise_nor_a_servers() {
    let world = shop();
    for (arguments, why) in [
        (&["backup", "a.verso", "-", "--format", "parquet"][..], "name one in place of -"),
        (&["backup", "a.verso", "out", "--format", "parquet", "--compress=lz4"], "packed with zstd"),
        (&["backup", "a.verso", "s3://b/out", "--format", "parquet"], "not to s3://"),
        (
            &["backup", "a", "out", "--format", "parquet", "--server", "localhost:1"],
            "COPY t TO STDOUT (FORMAT parquet)",
        ),
    ] {
        let run = world.verso(arguments);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.err.contains(why), "{run:?}");
    }
    assert!(!world.path().join("out").exists());
}

#[test]
fn options_that_would_have_no_effect_are_refused() {
    let world = shop();
    for (arguments, why) in [
        (&["backup", "a.verso", "out", "--incremental-from", "base"][..], "--physical"),
        (&["backup", "a", "out", "--incremental-from", "base", "--server", "localhost:1"], "--physical"),
        (&["backup", "a.verso", "out", "--format", "sql", "--compress=zstd"], "--compress"),
        (&["backup", "a", "out", "--format", "sql", "--compress", "--server", "localhost:1"], "--compress"),
    ] {
        let run = world.verso(arguments);
        assert!(run.code != 0 && run.err.contains(why), "{arguments:?} {run:?}");
        assert!(!world.path().join("out").exists(), "{arguments:?}");
    }
    let run = world.verso(&["backup", "a.verso", "out", "--format", "sql", "--compress=none"]);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_partitioned_table_alone_is_saved_with_a_notice() {
    let world = shop();
    world.sql(
        "a.verso",
        "CREATE TABLE pt (a int) PARTITION BY LIST (a); CREATE TABLE pt1 PARTITION OF pt FOR VALUES IN (1);",
    );
    let text = "table public.pt is saved without its partitions, and these have its rows: public.pt1";
    let run = world.verso(&["backup", "a.verso", "pt.backup", "--table", "pt"]);
    assert!(run.code == 0 && run.err.contains(text), "{run:?}");
    drop(world);
    let world = shop();
    let server = Server::start(&world, &[]);
    let mut client = server.connect().expect("connected");
    client
        .batch_execute("CREATE TABLE pt (a int) PARTITION BY LIST (a); CREATE TABLE pt1 PARTITION OF pt FOR VALUES IN (1)")
        .expect("made");
    for format in ["archive", "sql"] {
        let address = server.address();
        let file = format!("pt.{format}");
        let run = world
            .verso(&["backup", "--server", &address, "verso", &file, "--table", "pt", "--format", format]);
        assert!(run.code == 0 && run.err.contains(text), "{run:?}");
    }
}

#[test]
fn options_say_what_is_saved_and_told() {
    let world = shop();
    let run =
        world.verso(&["backup", "a.verso", "a.backup", "--verbose", "--verbint", "1000", "--parallel", "1"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""), "{run:?}");
    assert!(run.err.contains("data: begins") && run.err.contains("public.t: 3000 rows"), "{run:?}");
    assert!(run.err.contains("1 tables, 3000 rows, "), "{run:?}");
    let again = world.verso(&["backup", "a.verso", "a.backup"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.err.contains("--replace"), "{again:?}");
    for (how, code) in
        [("--compress", 0), ("--compress=none", 0), ("--compress=zstd:1", 0), ("--compress=gzip", 1)]
    {
        let run = world.verso(&["backup", "a.verso", "b.backup", "--replace", how]);
        assert_eq!(run.code, code, "{run:?}");
    }
    let run = world.verso(&["backup", "a.verso", "c.backup", "--schema-only", "--no-gc"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = world.verso(&["restore", "c.backup", "c.verso", "--page-size", "4096"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(world.sql("c.verso", "SELECT count(*) FROM t").contains("     0\n"));
    let run = world.verso(&["restore", "a.backup", "c.verso", "--data-only"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(world.sql("c.verso", "SELECT count(*) FROM t").contains("  3000\n"));
    let run = world.verso(&["restore", "a.backup"]);
    assert_eq!(run.code, 1, "{run:?}");
}

#[test]
fn figures_stand_in_front_of_the_lines_that_are_told() {
    let world = shop();
    let run = world.verso(&[
        "backup",
        "a.verso",
        "a.backup",
        "--stat",
        "tdrw",
        "--verbint",
        "1000",
        "--parallel",
        "1",
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.starts_with("      time     delta     reads    writes\n"), "{run:?}");
    let figures = |line: &str| -> Vec<f64> {
        line.split_whitespace().take(4).map(|figure| figure.parse().expect(line)).collect()
    };
    let lines: Vec<&str> = run.err.lines().skip(1).take_while(|line| line.starts_with(' ')).collect();
    assert!(lines.iter().any(|line| line.ends_with("  public.t: 3000 rows")), "{run:?}");
    assert!(lines.last().is_some_and(|line| line.ends_with("  ended")), "{run:?}");
    let all: Vec<Vec<f64>> = lines.iter().map(|line| figures(line)).collect();
    assert!(all.windows(2).all(|pair| pair[0][0] <= pair[1][0]), "{run:?}");
    assert!(all.last().is_some_and(|last| last[0] > 0.0), "opening a database takes a millisecond: {run:?}");
    assert!(all.iter().map(|figures| figures[2]).sum::<f64>() > 10.0, "pages were read: {run:?}");
    let run = world.verso(&["restore", "a.backup", "b.verso", "--stat", "w", "--log", "b.log"]);
    assert_eq!((run.code, run.err.lines().count()), (0, 1), "{run:?}");
    let log = std::fs::read_to_string(world.path().join("b.log")).expect("a log");
    assert!(log.starts_with("    writes\n") && log.contains("  definitions: begins\n"), "{log}");
    assert_eq!(world.verso(&["backup", "a.verso", "a.backup", "--stat", "tt"]).code, 1);
    let server = &["backup", "--server", "127.0.0.1:1", "a", "b.backup", "--stat", "r"];
    assert!(world.verso(server).err.contains("--stat r and w"), "{:?}", world.verso(server));
}

#[test]
fn a_damaged_archive_has_an_exit_code_of_its_own() {
    let world = shop();
    assert_eq!(world.verso(&["backup", "a.verso", "a.backup"]).code, 0);
    let path = world.path().join("a.backup");
    let mut bytes = std::fs::read(&path).expect("there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&path, &bytes).expect("written");
    for arguments in [&["restore", "--verify", "a.backup"][..], &["restore", "a.backup", "b.verso"]] {
        let run = world.verso(arguments);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.err.contains("the archive is damaged in chunk 1"), "{run:?}");
    }
    assert!(!world.path().join("b.verso").exists());
    // A base that cannot be written is not damaged; one that lacks its manifest is.
    let run = world.verso(&["backup", "--physical", "a.verso", "a.backup/base"]);
    assert_eq!(run.code, 1, "{run:?}");
    let run = world.verso(&["restore", "--physical", ".", "b.verso"]);
    assert_eq!(run.code, 3, "{run:?}");
}

#[test]
fn a_database_that_a_server_has_open_is_saved_by_the_server() {
    let world = shop();
    let server = Server::start(&world, &[]);
    let address = server.address();
    let mut client = server.connect().expect("connected");
    // What is not committed is not saved.
    let mut open = client.transaction().expect("begun");
    open.batch_execute("UPDATE t SET v = 'changed'").expect("changed");
    let from = |more: &[&str]| {
        let arguments = [&["backup", "--server", &address, "verso"], more].concat();
        world.verso(&arguments)
    };
    let run = from(&["a.backup", "--compress=zstd:3", "--parallel", "2"]);
    assert!(run.code == 0 && run.err.contains(" bytes, "), "{run:?}");
    assert_eq!(world.verso(&["restore", "a.backup", "b.verso"]).code, 0);
    let question = "SELECT concat_ws(',', count(*), min(id), max(id), count(DISTINCT v), min(v)) FROM t";
    assert!(world.sql("b.verso", question).contains(" 3000,1,3000,3000,v1\n"), "{run:?}");
    let run = from(&["a.sql", "--format", "sql", "--table", "t"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(world.verso(&["shell", "c.verso", "--file", "a.sql"]).code, 0);
    assert!(world.sql("c.verso", question).contains(" 3000,1,3000,3000,v1\n"));
    // Refused, each by whoever knows: the file is there, the server has no such table or database.
    let cases = [
        ("a.backup", "t", "--replace"),
        ("d.backup", "missing", "missing"),
        ("a.sql", "missing", "--replace"),
    ];
    for (file, table, said) in cases {
        let run = from(&[file, "--table", table]);
        assert!(run.code == 1 && run.err.contains(said), "{run:?}");
    }
    let run = world.verso(&["backup", "--server", &address, "other", "d.backup"]);
    assert!(run.code == 1 && run.err.contains("database \"other\" does not exist"), "{run:?}");
    let run = from(&["d.backup", "--no-gc"]);
    assert!(
        run.code == 1 && run.err.contains("--no-gc") && !world.path().join("d.backup.part").exists(),
        "{run:?}"
    );
    open.batch_execute("ROLLBACK; CREATE ROLE guest LOGIN").expect("rolled back");
    let guest = format!("postgres://guest@{address}");
    let run = world.verso(&["backup", "--server", &guest, "verso", "d.backup"]);
    assert!(run.code == 1 && run.err.contains("permission denied to back up"), "{run:?}");
    assert!(!world.path().join("d.backup").exists() && !world.path().join("d.backup.part").exists());
}

#[test]
fn a_base_backup_of_a_database_that_a_server_has_open() {
    let world = shop();
    let server = Server::start(&world, &[]);
    let address = server.address();
    let at = |name: &str| world.path().join(name).to_str().expect("a path").to_owned();
    let base = |folder: &str, more: &[&str]| {
        world.verso(&[&["backup", "--physical", "--server", &address, "verso", folder], more].concat())
    };
    let run = base(&at("monday"), &[]);
    assert!(run.code == 0 && run.out.contains("monday"), "{run:?}");
    let mut client = server.connect().expect("connected");
    client.batch_execute("UPDATE t SET v = 'tuesday' WHERE id = 1").expect("changed");
    let run = base(&at("tuesday"), &["--incremental-from", &at("monday")]);
    assert_eq!(run.code, 0, "{run:?}");
    // The folders are the server's; those that are there are kept.
    for (folder, said) in [("relative", "absolute path"), (&*at("monday"), "monday")] {
        let run = base(folder, &[]);
        assert!(run.code == 1 && run.err.contains(said), "{run:?}");
    }
    let run = world.verso(&["restore", "--physical", "monday", "m.verso"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = world.verso(&["restore", "--physical", "monday", "t.verso", "--increment", "tuesday"]);
    assert_eq!(run.code, 0, "{run:?}");
    let question = "SELECT concat_ws(',', count(*), max(v) FILTER (WHERE id = 1)) FROM t";
    assert!(world.sql("m.verso", question).contains(" 3000,v1\n"));
    assert!(world.sql("t.verso", question).contains(" 3000,tuesday\n"));
}

/// A process that ends at a signal.
fn interrupted(world: &World, signal: &str, arguments: &[&str], begun: &str) -> (i32, Vec<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_verso"))
        .args(arguments)
        .current_dir(world.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    for _ in 0..60_000 {
        if world.path().join(begun).exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill starts");
    assert!(killed.success());
    let code = child.wait().expect("it ends").code().unwrap_or(-1);
    let mut left: Vec<String> = std::fs::read_dir(world.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    (code, left)
}

#[test]
fn ctrl_c_leaves_nothing_half_done() {
    stopped("-INT", 130);
}

#[test]
fn sigterm_leaves_nothing_half_done() {
    stopped("-TERM", 143);
}

/// Stops backups and restores by a signal; `said` is their exit code.
fn stopped(signal: &str, said: i32) {
    let world = World::new();
    world.sql(
        "a.verso",
        "CREATE TABLE t (id integer PRIMARY KEY, v text); INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 150000) AS s(n); CREATE INDEX ON t (v)",
    );
    assert_eq!(world.verso(&["backup", "a.verso", "a.backup"]).code, 0);
    let interrupted = |arguments: &[&str], begun: &str| interrupted(&world, signal, arguments, begun);
    let (code, left) = interrupted(&["restore", "a.backup", "b.verso"], "b.verso-wal");
    assert!(code == said || code == 0, "{code}");
    let half = left.iter().any(|name| name.starts_with("b.verso"));
    assert_eq!(half, code == 0, "{left:?}");
    for (name, options) in
        [("b.backup", "--compress=zstd:19"), ("b.sql", "--format=sql"), ("b.pq", "--format=parquet")]
    {
        let part = format!("{name}.part");
        let (code, left) = interrupted(&["backup", "a.verso", name, options], &part);
        assert!(code == said || code == 0, "{name}: {code}");
        assert_eq!(left.iter().any(|left| left == name), code == 0, "{left:?}");
        assert!(!left.iter().any(|name| name.ends_with(".part")), "{left:?}");
    }

    assert_eq!(world.verso(&["backup", "--physical", "a.verso", "base"]).code, 0);
    let (code, left) = interrupted(&["restore", "--physical", "base", "c.verso"], "c.verso.restoring-wal");
    assert!(code == said || code == 0, "{code}");
    let of_target: Vec<_> = left.iter().filter(|name| name.starts_with("c.verso")).collect();
    assert!(if code == 0 { of_target == ["c.verso"] } else { of_target.is_empty() }, "{code}: {left:?}");
}
