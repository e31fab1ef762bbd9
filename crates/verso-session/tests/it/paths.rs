//! Search paths of several sessions over the same texts.

use crate::World;

#[test]
fn a_text_means_what_its_sessions_path_says() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE SCHEMA a; CREATE SCHEMA b");
    one.run("CREATE TABLE a.t (x int); INSERT INTO a.t VALUES (1)");
    one.run("CREATE TABLE b.t (x text, y int); INSERT INTO b.t VALUES ('two', 2)");
    one.run("SET search_path = a");
    two.run("SET search_path = b");
    for _ in 0..3 {
        assert_eq!(one.run("SELECT * FROM t WHERE x = '1'"), ["1", "SELECT 1"]);
        assert_eq!(two.run("SELECT * FROM t WHERE x = 'two'"), ["two|2", "SELECT 1"]);
        assert_eq!(two.run("SELECT * FROM t WHERE x = '1'"), ["SELECT 0"]);
    }
    one.run("PREPARE p AS SELECT count(*) FROM t");
    one.run("INSERT INTO t VALUES (2)");
    assert_eq!(one.value("EXECUTE p"), "2");
    one.run("BEGIN; SET LOCAL search_path = b");
    assert_eq!(one.value("EXECUTE p"), "1");
    one.run("ROLLBACK");
    assert_eq!(one.value("EXECUTE p"), "2");
}

#[test]
fn a_schema_of_the_users_name_comes_first() {
    let world = World::new();
    let mut client = world.connect();
    let user = client.value("SELECT current_user");
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    assert_eq!(client.value("SELECT a FROM t"), "1");
    client.run(&format!("CREATE SCHEMA \"{user}\"; CREATE TABLE \"{user}\".t (a int)"));
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    assert_eq!(client.value("SELECT current_schema"), user);
}

#[test]
fn a_default_means_what_it_meant_when_it_was_made() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE SCHEMA s; SET search_path = s");
    client.run(
        "CREATE FUNCTION seven() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 7; END $$;
         CREATE SEQUENCE numbers START 5;
         CREATE TABLE t (id serial, a int DEFAULT seven() + 1, b bigint DEFAULT nextval('numbers'))",
    );
    client.run("SET search_path = public; INSERT INTO s.t DEFAULT VALUES");
    assert_eq!(client.run("SELECT * FROM s.t")[0], "1|8|5");
    client.run("ALTER SEQUENCE s.t_id_seq RENAME TO renamed; ALTER SCHEMA s RENAME TO u");
    client.run("INSERT INTO u.t (a, b) VALUES (0, 0)");
    assert_eq!(client.value("SELECT max(id) FROM u.t"), "2");
}
