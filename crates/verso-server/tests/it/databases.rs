//! A folder of databases: made, copied, renamed, removed, and what a crash leaves of it.

use std::path::Path;

use postgres::{Client, NoTls};
use verso_server::{Config, Server, ShutdownMode};
use versodb::Options;

fn start(folder: &Path) -> Server {
    let config = Config { listen: vec!["127.0.0.1:0".parse().unwrap()], ..Config::default() };
    Server::start_folder(folder, Options::new().buffer_pool(16 << 20), config).unwrap()
}

fn connect(server: &Server, database: &str) -> Result<Client, postgres::Error> {
    let port = server.addresses()[0].port();
    Client::connect(&format!("host=127.0.0.1 port={port} user=verso dbname={database}"), NoTls)
}

/// The SQLSTATE with which a statement fails.
fn refused(client: &mut Client, sql: &str) -> String {
    client.batch_execute(sql).unwrap_err().code().unwrap().code().to_owned()
}

fn names(client: &mut Client) -> Vec<String> {
    let rows = client.query("SELECT datname::text FROM pg_database ORDER BY 1", &[]).unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn paths_of_the_machine_are_shown_to_those_who_may_see_them() {
    let folder = tempfile::tempdir().unwrap();
    let listen = vec!["127.0.0.1:0".parse().unwrap()];
    let config = Config { listen, folder: Some(folder.path().to_owned()), ..Config::default() };
    let server = Server::start_folder(folder.path(), Options::new().buffer_pool(16 << 20), config).unwrap();
    let mut client = connect(&server, "verso").unwrap();
    let shown = |client: &mut Client, name: &str| -> String {
        client.query_one(&format!("SHOW {name}"), &[]).unwrap().get(0)
    };
    assert_eq!(shown(&mut client, "data_directory"), folder.path().display().to_string());
    assert_eq!((shown(&mut client, "config_file"), shown(&mut client, "ident_file")), Default::default());
    assert_eq!(refused(&mut client, "SET data_directory = '/'"), "55P02");
    client.batch_execute("CREATE ROLE guest; SET ROLE guest").unwrap();
    assert_eq!(refused(&mut client, "SHOW data_directory"), "42501");
    let seen = "SELECT count(*) FROM pg_settings WHERE name IN ('data_directory', 'ident_file')";
    assert_eq!(client.query_one(seen, &[]).unwrap().get::<_, i64>(0), 1);
    client.batch_execute("RESET ROLE; GRANT pg_read_all_settings TO guest; SET ROLE guest").unwrap();
    assert_eq!(shown(&mut client, "data_directory"), folder.path().display().to_string());
    drop(client);
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn rights_owners_and_comments_of_another_database_are_changed_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    first.batch_execute("CREATE ROLE keeper").unwrap();
    first.batch_execute("CREATE DATABASE shop").unwrap();
    first.batch_execute("ALTER DATABASE shop OWNER TO keeper").unwrap();
    first.batch_execute("REVOKE ALL ON DATABASE shop FROM public").unwrap();
    first.batch_execute("GRANT CONNECT ON DATABASE shop TO pg_monitor").unwrap();
    first.batch_execute("COMMENT ON DATABASE shop IS 'goods'").unwrap();
    first.batch_execute("ALTER ROLE keeper IN DATABASE shop SET work_mem = '9MB'").unwrap();
    assert_eq!(refused(&mut first, "GRANT CONNECT ON DATABASE shop TO nobody_there"), "42704");
    assert_eq!(refused(&mut first, "GRANT CONNECT ON DATABASE nowhere TO keeper"), "3D000");
    // It could not be taken back with the block.
    assert_eq!(refused(&mut first, "BEGIN; COMMENT ON DATABASE shop IS 'x'"), "0A000");
    first.batch_execute("ROLLBACK; SET ROLE keeper").unwrap();
    assert_eq!(refused(&mut first, "ALTER DATABASE verso OWNER TO keeper"), "42501");
    let mut shop = connect(&server, "shop").unwrap();
    let sql = "SELECT pg_get_userbyid(datdba), datacl::text, shobj_description(oid, 'pg_database'), \
               (SELECT setconfig::text FROM pg_db_role_setting WHERE setdatabase = d.oid AND setrole <> 0) \
               FROM pg_database d WHERE datname = 'shop'";
    let row = shop.query_one(sql, &[]).unwrap();
    let text = |at: usize| row.get::<_, String>(at);
    assert_eq!((text(0), text(2), text(3)), ("keeper".into(), "goods".into(), "{work_mem=9MB}".into()));
    assert_eq!(text(1), "{keeper=CTc/keeper,pg_monitor=c/keeper}");
    drop((first, shop));
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn sessions_begin_with_what_alter_database_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    let shown = |database: &str, setting: &str| -> String {
        let mut client = connect(&server, database).unwrap();
        client.query_one(&format!("SELECT current_setting('{setting}')"), &[]).unwrap().get(0)
    };
    first.batch_execute("CREATE DATABASE shop").unwrap();
    first.batch_execute("ALTER DATABASE verso SET search_path = a, b").unwrap();
    first.batch_execute("ALTER DATABASE shop SET statement_timeout = '7s'").unwrap();
    assert_eq!(refused(&mut first, "ALTER DATABASE shop SET nix = 1"), "42704");
    assert_eq!(refused(&mut first, "ALTER DATABASE shop SET statement_timeout = 'x'"), "22023");
    assert_eq!(shown("verso", "search_path"), "a, b");
    assert_eq!(shown("shop", "search_path"), "\"$user\", public");
    assert_eq!(shown("shop", "statement_timeout"), "7s");
    assert_eq!(shown("verso", "statement_timeout"), "0");
    // What a role has counts more.
    first.batch_execute("ALTER ROLE verso SET search_path = c").unwrap();
    assert_eq!(shown("verso", "search_path"), "c");
    first.batch_execute("ALTER ROLE verso RESET search_path").unwrap();
    let rows = "SELECT setconfig::text FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase \
                WHERE setrole = 0 AND datname = current_database()";
    assert_eq!(first.query_one(rows, &[]).unwrap().get::<_, String>(0), "{\"search_path=a, b\"}");
    first.batch_execute("ALTER DATABASE verso RESET search_path").unwrap();
    first.batch_execute("ALTER DATABASE shop RESET ALL").unwrap();
    assert_eq!(shown("verso", "search_path"), "\"$user\", public");
    assert_eq!(shown("shop", "statement_timeout"), "0");
    drop(first);
    server.shutdown(ShutdownMode::Fast).unwrap();
}

/// How a role without a password is let in.
fn connect_as(server: &Server, user: &str, database: &str) -> Result<Client, String> {
    let port = server.addresses()[0].port();
    let client = Client::connect(&format!("host=127.0.0.1 port={port} user={user} dbname={database}"), NoTls);
    client.map_err(|error| error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()))
}

#[test]
fn who_may_use_a_database_is_said_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    let usage = |client: &mut Client, database: &str| -> (bool, bool, i32) {
        let row = client
            .query_one(
                "SELECT datistemplate, datallowconn, datconnlimit FROM pg_database WHERE datname::text = $1",
                &[&database],
            )
            .unwrap();
        (row.get(0), row.get(1), row.get(2))
    };
    first.batch_execute("CREATE ROLE ann LOGIN").unwrap();
    first.batch_execute("CREATE DATABASE shop CONNECTION LIMIT 1").unwrap();
    assert_eq!(usage(&mut first, "shop"), (false, true, 1));
    let ann = connect_as(&server, "ann", "shop").unwrap();
    assert_eq!(connect_as(&server, "ann", "shop").err().as_deref(), Some("53300"));
    // Superusers are let in all the same.
    drop(connect(&server, "shop").unwrap());
    first.batch_execute("ALTER DATABASE shop CONNECTION LIMIT 2").unwrap();
    let second = connect_as(&server, "ann", "shop").unwrap();
    drop((ann, second));
    for (options, sqlstate) in [
        ("CONNECTION LIMIT -2", "22023"),
        ("CONNECTION LIMIT 'x'", "42601"),
        ("CONNECTION LIMIT 1 CONNECTION LIMIT 2", "42601"),
        ("IS_TEMPLATE 'x'", "42601"),
        ("IS_TEMPLATE", "42601"),
        ("ALLOW_CONNECTIONS 5", "42601"),
        ("FOO 3", "42601"),
        ("TABLESPACE pg_default CONNECTION LIMIT 3", "0A000"),
    ] {
        assert_eq!(refused(&mut first, &format!("ALTER DATABASE shop {options}")), sqlstate, "{options}");
    }
    assert_eq!(refused(&mut first, "ALTER DATABASE nowhere CONNECTION LIMIT 1"), "3D000");
    assert_eq!(refused(&mut first, "ALTER DATABASE verso ALLOW_CONNECTIONS false"), "22023");
    first.batch_execute("ALTER DATABASE shop WITH IS_TEMPLATE = on ALLOW_CONNECTIONS off").unwrap();
    assert_eq!(usage(&mut first, "shop"), (true, false, 2));
    assert_eq!(connect_as(&server, "verso", "shop").err().as_deref(), Some("55000"));
    assert_eq!(refused(&mut first, "DROP DATABASE shop"), "42809");
    // A copy is used as its own statement says.
    first.batch_execute("CREATE DATABASE copied TEMPLATE shop").unwrap();
    assert_eq!(usage(&mut first, "copied"), (false, true, -1));
    drop(connect(&server, "copied").unwrap());
    // What is Verso's own stands in no view of settings.
    let kept = "SELECT count(*) FROM pg_db_role_setting";
    assert_eq!(first.query_one(kept, &[]).unwrap().get::<_, i64>(0), 0);
    drop(first);
    server.shutdown(ShutdownMode::Fast).unwrap();

    let server = start(folder.path());
    assert_eq!(connect_as(&server, "verso", "shop").err().as_deref(), Some("55000"));
    let mut first = connect(&server, "verso").unwrap();
    assert_eq!(usage(&mut first, "shop"), (true, false, 2));
    first.batch_execute("ALTER DATABASE shop IS_TEMPLATE false").unwrap();
    first.batch_execute("DROP DATABASE shop").unwrap();
    drop(first);
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn sessions_of_all_roles_begin_with_what_alter_role_all_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    let shown = |user: &str| -> String {
        let mut client = connect_as(&server, user, "verso").unwrap();
        client.query_one("SELECT current_setting('work_mem')", &[]).unwrap().get(0)
    };
    let usual = shown("verso");
    first.batch_execute("CREATE ROLE ann LOGIN").unwrap();
    first.batch_execute("ALTER ROLE ALL SET work_mem = '5MB'").unwrap();
    assert_eq!((shown("verso"), shown("ann")), ("5MB".to_owned(), "5MB".to_owned()));
    let kept = "SELECT setdatabase::int8, setrole::int8, setconfig::text FROM pg_db_role_setting";
    let row = first.query_one(kept, &[]).unwrap();
    assert_eq!((row.get(0), row.get(1), row.get(2)), (0_i64, 0_i64, "{work_mem=5MB}"));
    // A database and a role say more.
    first.batch_execute("ALTER DATABASE verso SET work_mem = '6MB'").unwrap();
    assert_eq!(shown("ann"), "6MB");
    first.batch_execute("ALTER ROLE ann SET work_mem = '7MB'").unwrap();
    assert_eq!((shown("verso"), shown("ann")), ("6MB".to_owned(), "7MB".to_owned()));
    first.batch_execute("ALTER ROLE ALL IN DATABASE verso SET work_mem = '8MB'").unwrap();
    assert_eq!(shown("verso"), "8MB");
    first.batch_execute("ALTER ROLE ALL IN DATABASE verso RESET work_mem").unwrap();
    assert_eq!(shown("verso"), "5MB");
    first.batch_execute("ALTER ROLE ALL RESET ALL").unwrap();
    assert_eq!((shown("verso"), shown("ann")), (usual, "7MB".to_owned()));
    assert_eq!(refused(&mut first, "ALTER ROLE ALL SUPERUSER"), "42601");
    let mut ann = connect_as(&server, "ann", "verso").unwrap();
    assert_eq!(refused(&mut ann, "ALTER ROLE ALL SET work_mem = '5MB'"), "42501");
    // A session may begin as another role, to which RESET ROLE goes back; where that may not be, as the one that has logged in.
    first.batch_execute("CREATE ROLE keepers; ALTER ROLE ann SET role = 'keepers'").unwrap();
    for (grant, begun) in [("SELECT 1", "ann"), ("GRANT keepers TO ann", "keepers")] {
        first.batch_execute(grant).unwrap();
        let mut member = connect_as(&server, "ann", "verso").unwrap();
        for statement in ["SELECT 1", "SET ROLE ann", "RESET ROLE", "SET ROLE NONE"] {
            member.batch_execute(statement).unwrap();
            let row = member.query_one("SELECT current_user::text, session_user::text", &[]).unwrap();
            let acts: String = row.get(0);
            let expected = if statement.starts_with("SET") { "ann" } else { begun };
            assert_eq!((acts.as_str(), row.get::<_, String>(1).as_str()), (expected, "ann"), "{statement}");
        }
    }
    drop((first, ann));
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn a_new_folder_has_the_database_that_tools_connect_to() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    // As createdb does.
    let mut tool = connect(&server, "postgres").unwrap();
    tool.batch_execute("CREATE DATABASE made").unwrap();
    assert_eq!(names(&mut tool), ["made", "postgres", "verso"]);
    let owner = "SELECT pg_get_userbyid(datdba)::text FROM pg_database WHERE datname = current_database()";
    assert_eq!(tool.query_one(owner, &[]).unwrap().get::<_, String>(0), "verso");
    drop(tool);
    let mut first = connect(&server, "verso").unwrap();
    first.batch_execute("DROP DATABASE postgres").unwrap();
    drop(first);
    server.shutdown(ShutdownMode::Fast).unwrap();
    // Where it was dropped it stays away.
    let server = start(folder.path());
    assert_eq!(names(&mut connect(&server, "verso").unwrap()), ["made", "verso"]);
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn databases_are_made_copied_renamed_and_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    first.batch_execute("CREATE ROLE app LOGIN CREATEDB PASSWORD 'x'; CREATE ROLE staff ROLE app").unwrap();
    first.batch_execute("CREATE DATABASE shop OWNER app TEMPLATE = template0 ENCODING 'UTF8'").unwrap();
    assert_eq!(refused(&mut first, "CREATE DATABASE shop"), "42P04");
    assert_eq!(refused(&mut first, "CREATE DATABASE template1"), "42P04");
    assert_eq!(refused(&mut first, "CREATE DATABASE \"../x\""), "42602");
    assert_eq!(refused(&mut first, "BEGIN; CREATE DATABASE x"), "25001");
    first.batch_execute("ROLLBACK").unwrap();
    assert_eq!(refused(&mut first, "DROP DATABASE verso"), "55006");
    assert_eq!(refused(&mut first, "DROP DATABASE nix"), "3D000");
    assert_eq!(refused(&mut first, "CREATE DATABASE x TEMPLATE nix"), "3D000");
    assert_eq!(names(&mut first), ["postgres", "shop", "verso"]);
    let owner = "SELECT pg_get_userbyid(datdba)::text FROM pg_database WHERE datname = 'shop'";
    assert_eq!(first.query_one(owner, &[]).unwrap().get::<_, String>(0), "app");

    // A new database begins with the roles of the one that it was made from.
    let mut shop = connect(&server, "shop").unwrap();
    shop.batch_execute("CREATE TABLE t AS SELECT 7 AS a").unwrap();
    let member = "SELECT pg_has_role('app', 'staff', 'member') AND current_database() = 'shop'";
    assert!(shop.query_one(member, &[]).unwrap().get::<_, bool>(0));
    let seen = "SELECT string_agg(datname, ',' ORDER BY datname) FROM pg_stat_activity";
    assert_eq!(first.query_one(seen, &[]).unwrap().get::<_, String>(0), "shop,verso");
    assert_eq!(refused(&mut first, "DROP DATABASE shop"), "55006");
    drop(shop);

    first.batch_execute("CREATE DATABASE copy TEMPLATE shop").unwrap();
    first.batch_execute("ALTER DATABASE shop RENAME TO store").unwrap();
    for database in ["copy", "store"] {
        let mut client = connect(&server, database).unwrap();
        assert_eq!(client.query_one("SELECT a FROM t", &[]).unwrap().get::<_, i32>(0), 7, "{database}");
    }
    let missing = connect(&server, "shop").err().unwrap();
    assert_eq!(missing.code().unwrap().code(), "3D000");
    let mut used = connect(&server, "copy").unwrap();
    first.batch_execute("DROP DATABASE copy WITH (FORCE)").unwrap();
    assert!(used.simple_query("SELECT 1").is_err());
    assert_eq!(names(&mut first), ["postgres", "store", "verso"]);
    drop((first, used));
    server.shutdown(ShutdownMode::Fast).unwrap();

    let server = start(folder.path());
    assert_eq!(names(&mut connect(&server, "store").unwrap()), ["postgres", "store", "verso"]);
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn roles_own_other_databases_only_by_name_and_password() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    first
        .batch_execute(
            "CREATE ROLE open LOGIN CREATEDB; CREATE ROLE app CREATEDB PASSWORD 'x'; CREATE ROLE poor",
        )
        .unwrap();
    first.batch_execute("CREATE DATABASE one OWNER app; CREATE DATABASE two OWNER open").unwrap_err();
    for name in ["one OWNER app", "two OWNER open"] {
        first.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    }
    first.batch_execute("SET ROLE poor").unwrap();
    assert_eq!(refused(&mut first, "CREATE DATABASE three"), "42501");
    first.batch_execute("SET ROLE open").unwrap();
    assert_eq!(refused(&mut first, "DROP DATABASE two"), "42501", "anybody could have that name");
    first.batch_execute("SET ROLE app").unwrap();
    assert_eq!(refused(&mut first, "DROP DATABASE two"), "42501");
    first.batch_execute("DROP DATABASE one").unwrap();
    // Whom the server lets log in by a name without a password has no password anywhere.
    let mut open = connect_as(&server, "open", "verso").unwrap();
    open.batch_execute("CREATE DATABASE three").unwrap();
    open.batch_execute("DROP DATABASE two").unwrap();
    open.batch_execute("DROP DATABASE three").unwrap();
    first.batch_execute("RESET ROLE").unwrap();
    first.batch_execute("CREATE DATABASE four").unwrap();
    assert_eq!(refused(&mut open, "DROP DATABASE four"), "42501");
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn what_a_crash_leaves_of_a_database_is_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    server.shutdown(ShutdownMode::Fast).unwrap();
    let path = |name: &str| folder.path().join(name);
    // In the middle of CREATE DATABASE: all is there but the last rename; or a part of the log only.
    std::fs::copy(path("verso.verso"), path("half.verso.new")).unwrap();
    std::fs::create_dir(path("half.verso.new-wal")).unwrap();
    std::fs::create_dir(path("less.verso.new-wal")).unwrap();
    // In the middle of DROP DATABASE.
    std::fs::copy(path("verso.verso"), path("gone.verso.dropped")).unwrap();
    std::fs::create_dir(path("gone.verso-wal")).unwrap();
    let server = start(folder.path());
    let mut client = connect(&server, "verso").unwrap();
    assert_eq!(names(&mut client), ["postgres", "verso"]);
    client.batch_execute("CREATE DATABASE half").unwrap();
    assert!(connect(&server, "half").is_ok());
    let left = [
        "half.verso.new",
        "half.verso.new-wal",
        "less.verso.new-wal",
        "gone.verso.dropped",
        "gone.verso-wal",
    ];
    assert!(left.iter().all(|name| !path(name).exists()));
    server.shutdown(ShutdownMode::Fast).unwrap();
}

#[test]
fn one_file_is_one_database() {
    let world = crate::World::new();
    let mut client = world.client();
    assert_eq!(refused(&mut client, "CREATE DATABASE other"), "0A000");
    assert_eq!(names(&mut client), ["verso"]);
    let port = world.address.port();
    let other = Client::connect(&format!("host=127.0.0.1 port={port} user=verso dbname=postgres"), NoTls);
    assert_eq!(other.err().unwrap().code().unwrap().code(), "3D000");
}

#[test]
fn databases_have_numbers_as_tools_expect_them_and_pages_as_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    let mut first = connect(&server, "verso").unwrap();
    first.batch_execute("CREATE DATABASE small PAGE_SIZE 4096").unwrap();
    first.batch_execute("CREATE DATABASE plain WITH PAGE_SIZE = 8192 DEFAULT CHARACTER SET NONE").unwrap();
    assert_eq!(refused(&mut first, "CREATE DATABASE copy TEMPLATE small PAGE_SIZE 8192"), "22023");
    assert_eq!(refused(&mut first, "CREATE DATABASE odd PAGE_SIZE 5000"), "22023");
    let rows = first.query("SELECT datname::text, oid FROM pg_database", &[]).unwrap();
    for row in rows {
        let (name, number): (String, u32) = (row.get(0), row.get(1));
        match name.as_str() {
            "verso" => assert_eq!(number, 16_384),
            "postgres" => assert_eq!(number, 5),
            _ => assert!((16_385..=i32::MAX as u32).contains(&number), "{name} {number}"),
        }
    }
    for (name, bytes) in [("small", "4096"), ("plain", "8192"), ("verso", "16384")] {
        let mut client = connect(&server, name).unwrap();
        let shown: String = client.query_one("SELECT current_setting('block_size')", &[]).unwrap().get(0);
        assert_eq!(shown, bytes, "{name}");
    }
    let shown = |name: &str| -> String {
        let mut client = connect(&server, "verso").unwrap();
        client.query_one("SELECT setting FROM pg_settings WHERE name = $1", &[&name]).unwrap().get(0)
    };
    assert_eq!(shown("port"), server.addresses()[0].port().to_string());
    assert_eq!(shown("listen_addresses"), "127.0.0.1");
    assert_eq!(shown("ssl"), "off");
    drop(first);
    server.shutdown(ShutdownMode::Fast).unwrap();
}
