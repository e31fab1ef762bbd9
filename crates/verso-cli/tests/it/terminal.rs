//! The shell at a terminal: what is pasted, completed, shown page by page.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::world::World;

/// A shell at a terminal that `script` makes.
struct Typed {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    seen: String,
}

impl Typed {
    fn start(world: &World, variables: &[(&str, &str)]) -> Typed {
        let shell = format!("{} shell a.verso", env!("CARGO_BIN_EXE_verso"));
        // A text that never comes must not be waited for.
        let mut child = Command::new("timeout")
            .args(["--foreground", "60", "script", "-qec", &shell, "/dev/null"])
            .env("VERSO_HISTORY", "")
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env_remove("PSQL_PAGER")
            .envs(variables.iter().copied())
            .current_dir(world.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script is there, which runs a program at a terminal");
        let input = child.stdin.take().expect("piped above");
        let output = child.stdout.take().expect("piped above");
        let mut typed = Typed { child, input, output, seen: String::new() };
        typed.until("a=> ");
        typed
    }

    /// All at once, as a paste without brackets comes.
    fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).expect("written");
    }

    /// Reads until the text is there; what came before it goes.
    fn until(&mut self, text: &str) -> String {
        let mut part = [0; 4096];
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let read = self.output.read(&mut part).expect("readable");
            assert!(read > 0, "{text} is missing in {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&part[..read]));
        }
    }

    fn leave(mut self) {
        self.send("\n\\q\n");
        assert!(self.child.wait().expect("it ends").success());
    }
}

#[test]
fn a_database_that_cannot_be_opened_leaves_the_open_one_open() {
    let world = World::new();
    let mut typed = Typed::start(&world, &[]);
    typed.send("CREATE TABLE t (a integer);\n\\c nosuch.verso\n");
    typed.until("CREATE TABLE\r\n");
    typed.until("error:");
    typed.send("INSERT INTO t VALUES (1);\n");
    typed.until("INSERT 0 1\r\n");
    typed.send("CREATE DATABASE 'b.verso';\n");
    typed.until("connected to database \"b.verso\"");
    typed.send("\\c a.verso\n\\c a.verso\nSELECT 'so ' || count(*) FROM t;\n");
    typed.until("so 1");
    typed.leave();
}

#[test]
fn tabs_of_a_paste_stay_where_they_are() {
    let world = World::new();
    let mut typed = Typed::start(&world, &[]);
    typed.send("CREATE TABLE t (a integer, b text);\nCOPY t FROM STDIN;\n1\tone\n2\ttw\to\n\\.\n");
    typed.until("CREATE TABLE\r\n");
    // The second row has a column too many.
    typed.until("extra data after last expected column");
    typed.until("a=> ");
    typed.send("COPY t FROM STDIN;\n1\tone\n2\ttwo\n\\.\n");
    typed.until("COPY 2\r\n");
    typed.send("SELECT length('x\ty') + 40 AS n,\tcount(*)\nFROM\tt\n\tWHERE\ta > 0\t;\n");
    typed.until("43 |     2");
    // Brackets around a paste change nothing.
    typed.send("\x1b[200~SELECT length('\t\t')\t+ 50;\n\x1b[201~\n");
    typed.until("52\r\n");
    typed.leave();
}

/// Lines of a paste with brackets are lines: a comment ends with its own, and so does a command.
#[test]
fn several_lines_of_a_paste_run_one_after_the_other() {
    let world = World::new();
    let mut typed = Typed::start(&world, &[]);
    let paste = |lines: &str| format!("\x1b[200~{lines}\x1b[201~\n");
    typed.send(&paste(
        "SELECT 40 + 1;\n-- a comment\nSELECT 40 + 2;\nCREATE TABLE p (a int -- key\n, b text\n);",
    ));
    typed.until("41\r\n");
    typed.until("42\r\n");
    typed.until("CREATE TABLE\r\n");
    typed.send(&paste("\\set q 50\nSELECT :q + 1;\n\\echo one\nSELECT 50 + 2 AS a \\gx\nSELECT 50 + 3;"));
    typed.until("51\r\n");
    typed.until("one\r\n");
    typed.until("a | 52\r\n");
    typed.until("53\r\n");
    typed.send(&paste("COPY p FROM STDIN;\n1\tone\n2\ttwo\n\\.\nSELECT count(*) + 60 FROM p;"));
    typed.until("COPY 2\r\n");
    typed.until("62\r\n");
    assert_eq!(
        std::fs::read_dir(world.path())
            .expect("the folder")
            .filter(|entry| {
                let name = entry.as_ref().expect("an entry").file_name();
                !name.to_string_lossy().starts_with("a.verso")
            })
            .count(),
        0
    );
    typed.leave();
}

#[test]
fn a_tab_completes_keywords_names_settings_and_commands() {
    let world = World::new();
    world.sql("a.verso", "CREATE TABLE customer (id integer, surname text); CREATE TABLE other (x integer)");
    let mut typed = Typed::start(&world, &[]);
    for (typed_text, completed) in [
        ("SEL\t", "SELECT "),
        ("sel\t", "select "),
        ("SELECT * FROM cus\t", "FROM customer "),
        ("SELECT * FROM customer WHERE surn\t", "WHERE surname "),
        ("INSERT INTO oth\t", "INTO other "),
        ("SET statement_time\t", "SET statement_timeout "),
        ("\\tim\t", "\\timing "),
        ("\\pset format mark\t", "format markdown "),
        ("\\d cust\t", "\\d customer "),
    ] {
        typed.send(typed_text);
        typed.until(completed);
        // Ctrl-C forgets the line.
        typed.send("\x03");
        typed.until("a=> ");
    }
    // Two tabs list what may follow.
    typed.send("SELECT * FROM \t\t");
    let list = typed.until("other");
    assert!(list.contains("customer"), "{list}");
    // The line stands below the list again; what is typed together with Ctrl-C would go with it.
    typed.until("a=> SELECT * FROM ");
    typed.send("\x03");
    typed.until("a=> ");
    typed.leave();
}

#[test]
fn long_results_go_through_the_pager() {
    let world = World::new();
    let mut typed = Typed::start(&world, &[("PAGER", "sed s/^/paged:/")]);
    typed.send("SELECT 1 AS short;\n");
    let short = typed.until("(1 row)");
    assert!(!short.contains("paged:"), "{short}");
    typed.send("SELECT * FROM generate_series(1, 200);\n");
    typed.until("paged: generate_series");
    typed.until("paged:(200 rows)");
    typed.until("a=> ");
    typed.send("\\pset pager off\nSELECT * FROM generate_series(1, 201);\n");
    let plain = typed.until("(201 rows)");
    assert!(!plain.contains("paged:"), "{plain}");
    typed.leave();
}

#[test]
fn an_editor_gives_back_the_statement() {
    let world = World::new();
    world.file("editor", "sed -i 's/1 AS edited/42 AS edited;/' \"$1\"\n");
    let mut typed = Typed::start(&world, &[("EDITOR", "sh editor"), ("PSQL_EDITOR", "")]);
    typed.send("SELECT 1 AS edited;\n\\e\n");
    typed.until("(1 row)");
    typed.until("42\r\n(1 row)");
    typed.leave();
}

#[test]
fn statements_that_take_long_have_a_bar() {
    let world = World::new();
    let mut typed = Typed::start(&world, &[]);
    typed.send("SELECT 'sle' || 'pt' FROM pg_sleep(3);\n");
    typed.until("00:02 [");
    typed.until("slept");
    typed.leave();
}

#[test]
fn the_history_has_commands_with_their_arguments() {
    let world = World::new();
    let mut typed = Typed::start(&world, &[]);
    typed.send("SELECT 40 + 1 AS n \\gset x_\n");
    typed.until("a=> ");
    typed.send("\\echo :x_n\n");
    typed.until("41\r\n");
    typed.send("\\s history.txt\n");
    typed.until("Wrote history");
    let history = std::fs::read_to_string(world.path().join("history.txt")).expect("written");
    assert!(history.contains("SELECT 40 + 1 AS n \\gset x_\n"), "{history}");
    assert!(history.contains("\\echo :x_n\n") && history.contains("\\s history.txt"), "{history}");
    typed.leave();
}
