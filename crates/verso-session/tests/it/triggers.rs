//! Triggers: what their functions tell the client, and how much they may take.

use crate::World;

#[test]
fn messages_and_errors_of_trigger_functions_say_where_they_come_from() {
    // As PostgreSQL 18 has them.
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, v int);
         CREATE FUNCTION deny() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  raise notice '% % % % % %', tg_name, tg_when, tg_op, tg_level, old, new;
  if new.v > 5 then
    raise exception 'too much: %', new.v using hint = 'Less.';
  end if;
  return new;
end $$;
         CREATE TRIGGER deny BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION deny()",
    );
    assert_eq!(
        client.run("INSERT INTO t VALUES (1, 1)"),
        ["NOTICE: deny BEFORE INSERT ROW <NULL> (1,1)", "INSERT 0 1"]
    );
    let error = client.try_run("INSERT INTO t VALUES (2, 9)").expect_err("refused");
    assert_eq!((error.sqlstate, error.message.as_str()), ("P0001", "too much: 9"));
    assert_eq!(error.hint.as_deref(), Some("Less."));
    assert_eq!(error.context.as_deref(), Some("PL/pgSQL function deny() line 5 at RAISE"));
    assert_eq!(client.run("DELETE FROM t"), ["NOTICE: deny BEFORE DELETE ROW (1,1) <NULL>", "DELETE 0"]);
    client.run(
        "DROP TRIGGER deny ON t;
         CREATE FUNCTION bad() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  new.nosuch := 1;
  return new;
end $$;
         CREATE TRIGGER bad BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION bad()",
    );
    let error = client.try_run("UPDATE t SET v = 2").expect_err("there is no such field");
    assert_eq!((error.sqlstate, error.message.as_str()), ("42703", "record \"new\" has no field \"nosuch\""));
    assert!(error.context.expect("where").ends_with("PL/pgSQL function bad() line 3 at assignment"));
}

#[test]
fn triggers_that_fire_each_other_for_ever_end() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (n int);
         CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO t VALUES (NEW.n + 1); RETURN NULL; END $$;
         CREATE TRIGGER more AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION more()",
    );
    let error = client.try_run("INSERT INTO t VALUES (1)").expect_err("it has no end");
    assert_eq!(error.sqlstate, "54001");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("recursion")), "{:?}", error.hint);
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    client.run("CREATE FUNCTION f(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN f(n + 1); END $$");
    let error = client.try_run("SELECT f(1)").expect_err("it has no end");
    assert_eq!(error.sqlstate, "54001");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("recursion")), "{:?}", error.hint);
    client.run(
        "DROP TRIGGER more ON t; CREATE TRIGGER more BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION more()",
    );
    assert_eq!(client.fails("INSERT INTO t VALUES (1)").0, "54001");
}

#[test]
fn rows_for_triggers_go_to_a_file_when_they_are_too_many() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (id int, v text);
         CREATE TABLE seen (id int, n bigint);
         CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO seen VALUES (NEW.id, length(NEW.v)); RETURN NULL; END $$;
         CREATE FUNCTION all_of_them() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO seen SELECT -1, count(*) FROM fresh; RETURN NULL; END $$;
         CREATE TRIGGER see AFTER INSERT ON t FOR EACH ROW WHEN (NEW.id % 2 = 0) EXECUTE FUNCTION see();
         CREATE TRIGGER them AFTER INSERT ON t REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION all_of_them();
         SET work_mem = '64kB'",
    );
    client.run("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 5000) AS g");
    assert_eq!(client.run("SELECT count(*), sum(n) FROM seen WHERE id > 0")[0], "2500|250000");
    assert_eq!(client.value("SELECT n FROM seen WHERE id = -1"), "5000");
}

#[test]
fn a_prepared_insert_fires_a_trigger_that_came_later() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int); PREPARE p AS INSERT INTO t VALUES ($1); EXECUTE p(1)");
    client.run(
        "CREATE FUNCTION ten() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.id := NEW.id * 10; RETURN NEW; END $$;
         CREATE TRIGGER ten BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION ten()",
    );
    client
        .run("EXECUTE p(2); BEGIN; EXECUTE p(3); EXECUTE p(4); COMMIT; DROP TRIGGER ten ON t; EXECUTE p(5)");
    assert_eq!(client.run("SELECT id FROM t ORDER BY id"), ["1", "5", "20", "30", "40", "SELECT 5"]);
}

#[test]
fn deferred_triggers_take_no_more_memory_than_their_statement_may() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (id int, v text);
         CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER c AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION nothing();
         SET statement_memory_limit = '1MB'",
    );
    let many = "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 5000) AS g";
    assert_eq!(client.fails(many).0, "53200");
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    client.run("RESET statement_memory_limit");
    client.run(many);
    assert_eq!(client.value("SELECT count(*) FROM t"), "5000");
}
