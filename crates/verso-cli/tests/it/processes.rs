//! Real processes: killed, interrupted, locking each other out.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use crate::world::World;

fn start(world: &World, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_verso"))
        .args(arguments)
        .current_dir(world.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
}

/// Rows that were acknowledged when the process was killed after `acknowledged` commits; the rows found afterwards.
fn killed_after(world: &World, acknowledged: u64) -> u64 {
    let mut child =
        start(world, &["shell", "a.verso", "--command", "CREATE TABLE t (a INTEGER)", "--file", "-"]);
    let mut input = child.stdin.take().expect("piped above");
    let writer = std::thread::Builder::new()
        .spawn(move || {
            // Ends when the killed process no longer reads.
            for row in 1_u64.. {
                if writeln!(input, "INSERT INTO t VALUES ({row}); -- {}", "padding ".repeat(20)).is_err() {
                    break;
                }
            }
        })
        .expect("a thread starts");
    let output = BufReader::new(child.stdout.take().expect("piped above"));
    let inserted = output.lines().map_while(Result::ok).filter(|line| line == "INSERT 0 1");
    assert_eq!(inserted.take(acknowledged as usize).count() as u64, acknowledged);
    child.kill().expect("kill -9");
    child.wait().expect("ended");
    writer.join().expect("the writer ends with the process");

    let text = world.sql("a.verso", "\\x\nSELECT count(*) AS rows, max(a) AS last, sum(a) AS total FROM t");
    let value = |name: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(name)).expect("it is there");
        line.rsplit("| ").next().and_then(|number| number.trim().parse().ok()).expect("a number")
    };
    let rows = value("rows");
    assert_eq!((value("last"), value("total")), (rows, rows * (rows + 1) / 2), "the rows are the first ones");
    rows
}

#[test]
fn kill_9_loses_nothing_that_was_acknowledged() {
    for acknowledged in [1, 40, 300] {
        let world = World::new();
        let found = killed_after(&world, acknowledged);
        assert!(found >= acknowledged, "{found} rows of {acknowledged} acknowledged");
        let check = world.verso(&["check", "a.verso"]);
        assert_eq!(check.code, 0, "{check:?}");
    }
}

#[test]
fn a_second_process_is_refused_while_the_first_is_open() {
    let world = World::new();
    let mut first = start(&world, &["shell", "a.verso"]);
    let mut input = first.stdin.take().expect("piped above");
    writeln!(input, "\\echo open").expect("it reads");
    let mut line = String::new();
    BufReader::new(first.stdout.take().expect("piped above")).read_line(&mut line).expect("it answers");
    assert_eq!(line, "open\n");

    let second = world.verso(&["shell", "a.verso", "--command", "SELECT 1"]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.err.contains("a.verso"), "{second:?}");
    drop(input);
    assert!(first.wait().expect("it ends").success());
    world.sql("a.verso", "SELECT 1");
}

#[test]
fn ctrl_c_cancels_the_statement_and_ends_the_script() {
    let world = World::new();
    let mut child = start(&world, &["shell", "a.verso"]);
    let mut input = child.stdin.take().expect("piped above");
    input
        .write_all(b"CREATE TABLE t (a INTEGER);\n\\echo started\nDO $$ BEGIN LOOP NULL; END LOOP; END $$;\n\\echo never\n")
        .expect("it reads");
    let mut output = BufReader::new(child.stdout.take().expect("piped above"));
    let mut line = String::new();
    while line != "started\n" {
        line.clear();
        output.read_line(&mut line).expect("it answers");
    }
    // The loop begins a moment after that line: before it does, Ctrl-C ends the process with 130. It is the only thing that
    // takes time from then on.
    let mut stderr = child.stderr.take().expect("piped above");
    let before = cpu_ticks(&child);
    while cpu_ticks(&child) < before + 20 {
        assert!(child.try_wait().expect("it is ours").is_none(), "the endless loop ended");
        std::thread::yield_now();
    }
    signal(&child, "-INT");
    drop(input);
    let status = child.wait().expect("it ends");
    let mut errors = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut errors).expect("text");
    assert_eq!(status.code(), Some(3), "{errors}");
    assert!(errors.contains("57014"), "{errors}");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut output, &mut rest).expect("text");
    assert!(!rest.contains("never"), "{rest}");
}

/// Whether a process has a handler of its own for the signal of Ctrl-C; none when it has ended.
fn catches_ctrl_c(child: &Child) -> Option<bool> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if field("State:").is_none_or(|state| state.starts_with('Z')) {
        return None;
    }
    let caught = field("SigCgt:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    Some(caught.is_some_and(|mask| mask & 2 != 0))
}

/// Ctrl-C as soon as a tool listens to it: the work, which begins then, ends in its midst and says so. A run that was done
/// before the signal came is tried again, after `prepare`.
fn is_cut_short(world: &World, arguments: &[&str], prepare: impl Fn()) {
    for _ in 0..10 {
        prepare();
        let child = start(world, arguments);
        while catches_ctrl_c(&child) == Some(false) {
            std::thread::yield_now();
        }
        signal(&child, "-INT");
        let output = child.wait_with_output().expect("it ends");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.code() {
            Some(0) => {}
            code => {
                assert_eq!((code, &*out), (Some(130), ""), "{arguments:?}: {err}");
                assert!(err.contains("canceling statement due to user request"), "{arguments:?}: {err}");
                return;
            }
        }
    }
    panic!("{arguments:?} was done before Ctrl-C ten times");
}

#[test]
fn ctrl_c_ends_check_sweep_and_the_verification_of_an_archive() {
    let world = World::new();
    let log = world.path().join("log");
    std::fs::create_dir(&log).expect("made");
    let settings = format!("ALTER SYSTEM SET archive_target = '{}'", log.display());
    world.sql("a.verso", &settings);
    world.sql(
        "a.verso",
        "CREATE TABLE t (id integer PRIMARY KEY, v text); INSERT INTO t SELECT n, md5(n::text) FROM generate_series(1, 60000) AS s(n); CREATE INDEX ON t (v)",
    );
    assert_eq!(world.verso(&["backup", "--physical", "a.verso", "base"]).code, 0);
    is_cut_short(&world, &["check", "a.verso"], || ());
    is_cut_short(&world, &["archive", "verify", "log", "base"], || ());
    let die = || {
        world.sql("a.verso", "BEGIN NO SAVEPOINT; UPDATE t SET v = v || 'x'; ROLLBACK");
    };
    is_cut_short(&world, &["sweep", "a.verso"], die);
    // Each does its work the next time, and finds all as it was.
    for arguments in [&["sweep", "a.verso"][..], &["check", "a.verso"], &["archive", "verify", "log", "base"]]
    {
        let run = world.verso(arguments);
        assert_eq!(run.code, 0, "{run:?}");
    }
    let question = "SELECT concat_ws(',', count(*), count(*) FILTER (WHERE v = md5(id::text))) FROM t";
    assert!(world.sql("a.verso", question).contains(" 60000,60000\n"));
}

/// Processor time of a process in clock ticks (user mode).
fn cpu_ticks(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// All lines of what was pasted run, not only the first that was read with the others.
#[test]
fn the_shell_takes_several_lines_at_once_from_a_terminal() {
    let world = World::new();
    let shell = format!("{} shell a.verso", env!("CARGO_BIN_EXE_verso"));
    let mut child = Command::new("script")
        .args(["-qec", &shell, "/dev/null"])
        .env("VERSO_HISTORY", "")
        .env("TERM", "xterm")
        .current_dir(world.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script is there, which runs a program at a terminal");
    let mut stdin = child.stdin.take().expect("piped above");
    let mut out = child.stdout.take().expect("piped above");
    let (mut seen, mut part) = (String::new(), [0; 4096]);
    let mut until = |text: &str, seen: &mut String| {
        while !seen.contains(text) {
            let read = out.read(&mut part).expect("readable");
            assert!(read > 0, "{text} is missing in {seen}");
            seen.push_str(&String::from_utf8_lossy(&part[..read]));
        }
    };
    until("a=>", &mut seen);
    let pasted = "SELECT 'fi' || 'rst';\nSELECT\n 'sec' || 'ond';\nSELECT 'thi' || 'rd';\n\\q\n";
    stdin.write_all(pasted.as_bytes()).expect("written");
    for text in ["first", "second", "third"] {
        until(text, &mut seen);
    }
    assert!(child.wait().expect("it ends").success());
}

/// The file has reached the limit of the process: the statement fails, the process goes on.
#[test]
fn a_file_at_the_limit_of_the_process_is_an_error() {
    let world = World::new();
    let script = "ulimit -f 40000; exec \"$0\" shell a.verso --command \"$1\" --command \"$2\"";
    let fill = "CREATE TABLE t AS SELECT repeat('x', 1000) AS s FROM generate_series(1, 60000)";
    let run = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_verso"), "CREATE TABLE one (a int)", fill])
        .current_dir(world.path())
        .output()
        .expect("a shell is there");
    assert_eq!(run.status.code(), Some(1), "{run:?}");
    assert!(String::from_utf8_lossy(&run.stderr).contains("File too large"), "{run:?}");
    assert_eq!(world.verso(&["check", "a.verso"]).code, 0);
}
