//! `verso serve FOLDER`: each file a database; CREATE, ALTER, DROP DATABASE, and kill -9 in the middle of them.

use std::time::Duration;

use postgres::Client;

use crate::server::Server;
use crate::world::World;

/// A server of a folder that has no database yet.
fn serve(world: &World) -> Server {
    std::fs::create_dir_all(world.path().join("folder")).expect("made");
    Server::serve(world, "folder", &[])
}

fn names(client: &mut Client) -> Vec<String> {
    let rows = client.query("SELECT datname FROM pg_database ORDER BY datname", &[]).expect("read");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The SQLSTATE with which a statement fails.
fn code(result: Result<impl Sized, postgres::Error>) -> String {
    let error = result.err().expect("it fails");
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

/// The names in the folder that a database leaves, but for those of logs.
fn files(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.path().join("folder")).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("read").file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.contains(".verso") && !name.ends_with(".verso-wal"));
    names.sort();
    names
}

#[test]
fn databases_are_made_copied_renamed_and_dropped() {
    let world = World::new();
    let server = serve(&world);
    let mut first = server.connect().expect("an empty folder gets a database");
    first.batch_execute("CREATE DATABASE shop").expect("made");
    assert_eq!(code(first.batch_execute("CREATE DATABASE shop")), "42P04");
    assert_eq!(code(first.batch_execute("BEGIN; CREATE DATABASE other")), "25001");
    first.batch_execute("ROLLBACK").expect("ended");
    assert_eq!(code(first.batch_execute("CREATE DATABASE \"a/b\"")), "42602");
    assert_eq!(code(server.connect_to("nowhere")), "3D000");

    let mut shop = server.connect_to("shop").expect("connected");
    shop.batch_execute("CREATE TABLE item (id integer); INSERT INTO item VALUES (1), (2)").expect("made");
    let row = shop
        .query_one(
            "SELECT current_database()::text, count(*) FROM pg_stat_activity WHERE datname = 'shop'",
            &[],
        )
        .expect("read");
    assert_eq!((row.get::<_, String>(0), row.get::<_, i64>(1)), ("shop".to_owned(), 1));
    // A table of one database is not one of another.
    assert_eq!(code(first.batch_execute("SELECT * FROM item")), "42P01");
    assert_eq!(code(shop.batch_execute("DROP DATABASE shop")), "55006");
    assert_eq!(code(first.batch_execute("DROP DATABASE shop")), "55006");
    assert_eq!(code(first.batch_execute("CREATE DATABASE copy TEMPLATE shop")), "55006");
    drop(shop);

    first.batch_execute("CREATE DATABASE copy TEMPLATE shop").expect("nobody is in it");
    let mut copy = server.connect_to("copy").expect("connected");
    copy.batch_execute("INSERT INTO item VALUES (3)").expect("a database of its own");
    let mut shop = server.connect_to("shop").expect("connected");
    let count = |client: &mut Client| -> i64 {
        client.query_one("SELECT count(*) FROM item", &[]).expect("read").get(0)
    };
    assert_eq!((count(&mut copy), count(&mut shop)), (3, 2));

    // FORCE ends those who are there.
    first.batch_execute("DROP DATABASE copy WITH (FORCE)").expect("dropped");
    assert!(copy.batch_execute("SELECT 1").is_err());
    first.batch_execute("DROP DATABASE IF EXISTS copy").expect("a notice");
    assert_eq!(code(first.batch_execute("DROP DATABASE copy")), "3D000");
    drop(shop);
    first.batch_execute("ALTER DATABASE shop RENAME TO store").expect("renamed");
    assert_eq!(names(&mut first), ["postgres", "store", "verso"]);
    assert_eq!(count(&mut server.connect_to("store").expect("connected")), 2);
    server.signal("-TERM");
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(files(&world), ["postgres.verso", "store.verso", "verso.verso"]);
}

#[test]
fn a_session_of_another_database_is_ended_and_only_by_who_may() {
    let world = World::new();
    let server = serve(&world);
    let mut first = server.connect().expect("connected");
    first.batch_execute("CREATE ROLE plain LOGIN; CREATE ROLE maker LOGIN CREATEDB").expect("made");
    first.batch_execute("CREATE DATABASE shop").expect("made");
    let mut plain = server.connect_as("plain", "verso").expect("connected");
    assert_eq!(code(plain.batch_execute("CREATE DATABASE mine")), "42501");
    let mut maker = server.connect_as("maker", "shop").expect("the roles came along");
    assert_eq!(code(maker.batch_execute("DROP DATABASE verso")), "42501");
    let pid: i32 = maker.query_one("SELECT pg_backend_pid()", &[]).expect("read").get(0);
    assert_eq!(code(plain.query_one("SELECT pg_terminate_backend($1)", &[&pid])), "42501");
    let ended: bool = first.query_one("SELECT pg_terminate_backend($1)", &[&pid]).expect("asked").get(0);
    assert!(ended && maker.batch_execute("SELECT 1").is_err());
}

#[test]
fn kill_9_while_databases_come_and_go_leaves_each_whole_or_not_at_all() {
    let world = World::new();
    let mut server = serve(&world);
    let mut client = server.connect().expect("connected");
    client.batch_execute("CREATE DATABASE source").expect("made");
    server
        .connect_to("source")
        .expect("connected")
        .batch_execute(
            "CREATE TABLE t AS SELECT n, repeat('x', 500) AS x FROM generate_series(1, 20000) AS g(n)",
        )
        .expect("made");
    for round in 0..6_u64 {
        let mut client = server.connect().expect("connected");
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                for n in 0.. {
                    let sql = match n % 3 {
                        0 => "CREATE DATABASE copy TEMPLATE source",
                        1 => "ALTER DATABASE copy RENAME TO other",
                        _ => "DROP DATABASE other",
                    };
                    let _ = client.batch_execute(sql);
                    if client.is_closed() {
                        break;
                    }
                }
            });
            // The moment differs from round to round; what has to hold does not.
            std::thread::sleep(Duration::from_millis(40 + round * 37));
            server.signal("-KILL");
            worker.join().expect("no panic");
        });
        let (_, _) = server.end();
        server = serve(&world);
        let mut client = server.connect().expect("it starts again");
        let listed = names(&mut client);
        let known = ["copy", "other", "postgres", "source", "verso"];
        assert!(listed.iter().all(|name| known.contains(&&**name)), "{listed:?}");
        for name in listed.iter().filter(|name| !["postgres", "verso"].contains(&name.as_str())) {
            let mut whole = server.connect_to(name).expect("a database that is listed opens");
            let row = whole.query_one("SELECT count(*), sum(length(x)) FROM t", &[]).expect("read");
            assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (20_000, 10_000_000), "{name}");
        }
        let left = files(&world);
        assert!(left.iter().all(|name| name.ends_with(".verso")), "nothing half made is left: {left:?}");
        for name in ["copy", "other"] {
            client.batch_execute(&format!("DROP DATABASE IF EXISTS {name}")).expect("dropped");
        }
    }
}

#[test]
fn a_server_of_one_file_says_how_to_have_more() {
    let world = World::new();
    let server = Server::start(&world, &[]);
    let mut client = server.connect().expect("connected");
    let error = client.batch_execute("CREATE DATABASE shop").expect_err("refused");
    let error = error.as_db_error().expect("the server's");
    assert_eq!(error.code().code(), "0A000");
    assert!(error.hint().is_some_and(|hint| hint.contains("verso serve FOLDER")));
    assert_eq!(names(&mut client), ["verso"]);
    assert_eq!(code(client.batch_execute("ALTER DATABASE shop SET sweep_interval = 7")), "3D000");
}
