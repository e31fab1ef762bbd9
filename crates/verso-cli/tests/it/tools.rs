//! `verso sweep`, `check`, `stat`.

use crate::world::World;

fn with_a_dead_transaction() -> World {
    let world = World::new();
    world.sql("a.verso", "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2), (3);");
    world.sql("a.verso", "BEGIN NO SAVEPOINT; UPDATE t SET a = a + 1; ROLLBACK;");
    world
}

#[test]
fn oit_stands_still_behind_a_dead_transaction_until_sweep() {
    let world = with_a_dead_transaction();
    let markers = |world: &World| {
        let text = world.sql("a.verso", "\\x\nSELECT oit, next_xid FROM verso_database");
        let value = |name: &str| -> u64 {
            let line = text.lines().find(|line| line.starts_with(name)).expect("it is there");
            line.rsplit("| ").next().and_then(|number| number.trim().parse().ok()).expect("a number")
        };
        (value("oit"), value("next_xid"))
    };
    let (oit, next) = markers(&world);
    assert!(oit < next);
    world.sql("a.verso", "INSERT INTO t VALUES (4)");
    assert_eq!(markers(&world).0, oit);

    let run = world.verso(&["sweep", "a.verso"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("before: OIT") && run.out.contains("after:  OIT"), "{run:?}");
    assert!(markers(&world).0 > oit);
    assert!(world.sql("a.verso", "SELECT sum(a) AS s FROM t").contains(" 10\n"));
}

#[test]
fn check_finds_nothing_wrong_with_a_sound_file() {
    let world = with_a_dead_transaction();
    let run = world.verso(&["check", "a.verso"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("no problem found"), "{run:?}");
}

#[test]
fn check_names_a_page_whose_bytes_were_changed() {
    let world = with_a_dead_transaction();
    let path = world.path().join("a.verso");
    let mut bytes = std::fs::read(&path).expect("readable");
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 4096] {
        *byte ^= 0x55;
    }
    // Where no page was in use nothing can be wrong: change all but the first pages.
    for byte in bytes.iter_mut().skip(48 * 1024).step_by(997) {
        *byte ^= 0x10;
    }
    std::fs::write(&path, bytes).expect("written");
    let run = world.verso(&["check", "a.verso"]);
    assert_ne!(run.code, 0, "{run:?}");
}

#[test]
fn stat_shows_markers_and_space() {
    let run = with_a_dead_transaction().verso(&["stat", "a.verso"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("oit") && run.out.contains("total_pages"), "{run:?}");
    assert!(run.out.starts_with("-[ RECORD 1 ]"), "{run:?}");
}

#[test]
fn a_missing_or_foreign_file_is_refused_and_not_made() {
    let world = World::new();
    assert_eq!(world.verso(&["check", "nosuch.verso"]).code, 1);
    assert!(!world.path().join("nosuch.verso").exists());
    world.file("text.verso", &"no database ".repeat(5_000));
    let run = world.verso(&["stat", "text.verso"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("text.verso"), "{run:?}");
}

/// Indexes that another release has built with other collations: whoever opens the file says so until they are built anew.
#[test]
fn indexes_out_of_use_are_told_each_time_the_file_is_opened() {
    const OLD: verso_types::CollationData = verso_types::CollationData::for_tests("0.9", |key| key.reverse());
    let world = World::new();
    let engine =
        verso_storage::EngineOptions { collation_data: OLD, ..verso_storage::EngineOptions::default() };
    let options = versodb::Options::new().engine(engine).auto_analyze(false);
    let database = versodb::Database::create(world.path().join("a.verso"), options).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (w text COLLATE \"de-x-icu\"); CREATE INDEX ON t (w)").unwrap();
    drop(connection);
    database.close().unwrap();
    let commands = [
        &["shell", "a.verso", "--command", "SELECT 1"][..],
        &["shell", "--command", "\\c a.verso"],
        &["backup", "a.verso", "a.backup", "--replace"],
        &["check", "a.verso"],
        &["stat", "a.verso"],
    ];
    let warning = "verso: warning: 1 index was built with another version of the collations and not used: REINDEX COLLATIONS builds it anew";
    for command in commands.iter().chain(&commands) {
        let run = world.verso(command);
        assert_eq!((run.code, run.err.matches(warning).count()), (0, 1), "{run:?}");
    }
    let run = world.verso(&["reindex-collations", "a.verso"]);
    assert_eq!(run.code, 0, "{run:?}");
    for command in commands {
        let run = world.verso(command);
        assert_eq!((run.code, run.err.contains("warning")), (0, false), "{run:?}");
    }
}

#[test]
fn a_damaged_log_is_refused_by_name_and_opened_to_there_on_demand() {
    let world = World::new();
    let (original, path) = (world.path().join("a.verso"), world.path().join("b.verso"));
    let database = versodb::Database::create(&original, versodb::Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a INTEGER)").unwrap();
    for a in 0..50 {
        connection.execute(&format!("INSERT INTO t VALUES ({a})")).unwrap();
    }
    // As a crash would leave it.
    std::fs::copy(&original, &path).unwrap();
    let log = world.path().join("b.verso-wal");
    std::fs::create_dir(&log).unwrap();
    for file in std::fs::read_dir(world.path().join("a.verso-wal")).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), log.join(file.file_name())).unwrap();
    }
    let segment = log.join("0000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    let chunks: Vec<usize> = (1..bytes.len() / 512)
        .map(|sector| sector * 512)
        .filter(|at| &bytes[at + 4..at + 8] == b"VLOG")
        .collect();
    let damaged = chunks[chunks.len() - 20];
    bytes[damaged + 70] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    for command in [&["check", "b.verso"][..], &["serve", "b.verso"], &["stat", "b.verso"]] {
        let run = world.verso(command);
        assert_eq!(run.code, 1, "{run:?}");
        let place = format!("offset {damaged} of ");
        assert!(run.err.contains(&place) && run.err.contains("0000000000000001.log"), "{run:?}");
        assert!(run.err.contains("--open-damaged-log"), "{run:?}");
    }
    let run = world.verso(&["check", "--open-damaged-log", "b.verso"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("at least 19 commits"), "{run:?}");
    // The damaged chunk held one more.
    assert!(world.sql("b.verso", "SELECT count(*) AS n FROM t").contains(" 30\n"));
}
