//! ANALYZE by itself, in the background.

use std::time::Duration;

use verso_session::Background;
use verso_sim::{World, seeds};
use verso_storage::EngineOptions;
use versodb::{Connection, Database, Options};

/// Rows that have changed since the table was analyzed, and how often that has happened by itself.
fn counts(client: &mut Connection) -> (i64, i64) {
    let sql = "SELECT n_mod_since_analyze, autoanalyze_count FROM pg_stat_user_tables WHERE relname = 't'";
    let row = client.query(sql).unwrap().next().unwrap();
    (row.get(0).unwrap(), row.get(1).unwrap())
}

/// With threads and clock of a seed: after a pause, and again after the time of its nap, or sooner where as many rows have changed
/// as there were.
#[test]
fn tables_are_analyzed_after_a_while() {
    for seed in seeds(3) {
        let world = World::new(seed);
        let path = World::dir().join("t.verso");
        world.run(|env| {
            let engine = EngineOptions {
                page_size: 4096,
                buffer_pool_bytes: 4 << 20,
                max_database_bytes: 1 << 30,
                background: false,
                ..EngineOptions::default()
            };
            let options = Options::new().engine(engine).env(env.clone());
            let database = Database::create(&path, options).unwrap();
            let background = Background::start(database.instance());
            let mut client = database.connect().unwrap();
            let wait = |seconds| env.clock.sleep(Duration::from_secs(seconds));
            client.execute("CREATE TABLE t (id int)").unwrap();
            client.execute("INSERT INTO t SELECT generate_series(1, 100)").unwrap();
            wait(5);
            assert_eq!(counts(&mut client), (0, 1));
            client.execute("INSERT INTO t SELECT generate_series(1, 80)").unwrap();
            wait(15);
            assert_eq!(counts(&mut client), (80, 1), "the nap");
            client.execute("INSERT INTO t SELECT generate_series(1, 20)").unwrap();
            wait(15);
            assert_eq!(counts(&mut client), (0, 2), "it has become another table");
            client.execute("INSERT INTO t SELECT generate_series(1, 100)").unwrap();
            wait(30);
            assert_eq!(counts(&mut client), (100, 2), "the nap");
            wait(60);
            assert_eq!(counts(&mut client), (0, 3));
            background.stop();
            client.execute("INSERT INTO t SELECT generate_series(1, 1000)").unwrap();
            wait(120);
            assert_eq!(counts(&mut client), (1000, 3), "it has been stopped");
        });
    }
}

/// A round that is under way keeps nobody from opening a database that was dropped.
#[test]
fn a_dropped_database_can_be_opened_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.verso");
    for _ in 0..3 {
        let database = Database::open_or_create(&path, Options::new()).unwrap();
        let mut client = database.connect().unwrap();
        client.execute("CREATE TABLE IF NOT EXISTS t (id int)").unwrap();
        client.execute("INSERT INTO t SELECT generate_series(1, 5000)").unwrap();
        drop(database);
        drop(client);
    }
}
