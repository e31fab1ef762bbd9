//! What the shell prints, beside what psql prints.
//!
//! Each script in `golden/` has beside it what psql 18.4 has printed on standard output for it (`psql -X -f NAME.sql`, as a
//! superuser named `verso`, in an empty database of PostgreSQL 18.4). The shell prints the same, byte for byte, with a
//! file and with a server.

use std::path::Path;

use crate::server::Server;
use crate::world::World;

fn same_as_psql(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden");
    let read =
        |end: &str| std::fs::read_to_string(folder.join(format!("{name}.{end}"))).expect("it is there");
    let (script, expected) = (read("sql"), read("out"));
    let world = World::new();
    world.file("script.sql", &script);
    let run = world.verso(&["shell", "a.verso", "--file", "script.sql"]);
    compare(name, "a file", &run.out, &expected);
    let world = World::new();
    world.file("script.sql", &script);
    let server = Server::start(&world, &[]);
    let url = format!("postgres://verso@{}/verso", server.address());
    let run = world.verso(&["shell", &url, "--file", "script.sql"]);
    compare(name, "a server", &run.out, &expected);
}

/// The first line that differs says more than two long texts.
fn compare(name: &str, what: &str, found: &str, expected: &str) {
    for (at, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name} with {what}, line {}", at + 1);
    }
    assert_eq!(found, expected, "{name} with {what}");
}

#[test]
fn formats() {
    same_as_psql("formats");
}

#[test]
fn variables_and_the_query_buffer() {
    same_as_psql("variables");
}

#[test]
fn copy_and_files() {
    same_as_psql("copy");
}

#[test]
fn descriptions_and_lists() {
    same_as_psql("describe");
}
