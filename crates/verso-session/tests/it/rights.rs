//! What a role without rights is told, and what becomes of rights while a session lasts.

use crate::World;

/// A role that owns one table and may do nothing with all else.
const SETUP: &str = "
    create role ann login;
    create role bob login;
    create table t (a int primary key, b text);
    create view v as select a from t;
    create sequence s;
    create schema app;
    create table app.u (x int);
    create function f(x int) returns int language sql as 'select x + 1';
    create procedure p() language sql as 'select 1';
    create type mood as enum ('sad', 'ok');
    create function trg() returns trigger language plpgsql as 'begin return new; end';
    create trigger tr before insert on t for each row execute function trg();
    revoke execute on function f(int) from public;
    revoke execute on procedure p() from public;
    revoke execute on function trg() from public;
    create table own (x int);
    alter table own owner to ann;
    grant usage, create on schema public to ann;
    set role ann;
";

/// Every statement as that role: PostgreSQL's code and message, as `refused.tsv` has them from it.
#[test]
fn a_role_without_rights_is_refused_everything_as_postgresql_says() {
    let world = World::new();
    let mut client = world.connect();
    client.run(SETUP);
    let mut wrong = Vec::new();
    for line in include_str!("refused.tsv").lines() {
        let mut fields = line.splitn(3, '\t');
        let (code, message) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let statement = fields.next().unwrap_or_default();
        // LOCK TABLE wants a block.
        client.run("begin");
        let found = match client.try_run(statement) {
            Ok(_) => "it succeeded".to_string(),
            Err(error) => format!("{} {}", error.sqlstate, error.message),
        };
        client.run("rollback");
        if found != format!("{code} {message}") {
            wrong.push(format!("{statement}\n  found    {found}\n  expected {code} {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn prepared_statements_obey_what_is_granted_and_revoked_later() {
    let world = World::new();
    let (mut owner, mut client) = (world.connect(), world.connect());
    owner.run("create role ann; create table t (a int); insert into t values (1)");
    client.run("prepare q as select a from t; execute q; set role ann");
    assert_eq!(client.fails("execute q").0, "42501");
    owner.run("grant select on t to ann");
    assert_eq!(client.value("execute q"), "1");
    owner.run("revoke select on t from ann");
    assert_eq!(client.fails("execute q").0, "42501");
    client.run("reset role");
    assert_eq!(client.value("execute q"), "1");
}

#[test]
fn functions_of_their_owner_end_with_the_rights_of_the_caller() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "create role ann; create table t (a int); insert into t values (1);
         create function f() returns text language plpgsql security definer as $$
           declare n int; begin select a into n from t; return current_user || n; end $$;
         create function bad() returns int language plpgsql security definer as $$
           begin raise exception 'no'; end $$;
         set role ann",
    );
    assert_eq!(client.value("select f()"), "verso1");
    assert_eq!(client.value("select current_user"), "ann");
    assert_eq!(client.fails("select bad()").0, "P0001");
    assert_eq!(client.value("select current_user"), "ann");
    assert_eq!(client.fails("select a from t").0, "42501");
}

#[test]
fn a_rollback_takes_back_rights_and_roles() {
    let world = World::new();
    let mut client = world.connect();
    client.run("create role ann; create table t (a int); insert into t values (1)");
    client.run("begin; grant select on t to ann; savepoint s; set role ann");
    assert_eq!(client.value("select a from t"), "1");
    client.run("rollback to s");
    assert_eq!(client.value("select current_user"), "verso");
    client.run("rollback; set role ann");
    assert_eq!(client.fails("select a from t").0, "42501");
}

#[test]
fn policies_are_kept_apart_by_role_in_the_same_session() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "create role ann; create role bob; create table t (a int, who name);
         insert into t values (1, 'ann'), (2, 'bob'); grant select on t to ann, bob;
         alter table t enable row level security; create policy own on t using (who = current_user);
         prepare q as select a from t",
    );
    for (role, seen) in [("ann", "1"), ("bob", "2"), ("ann", "1")] {
        client.run(&format!("set role {role}"));
        assert_eq!(client.value("execute q"), seen);
        assert_eq!(client.value("select a from t"), seen);
    }
}

#[test]
fn the_database_has_a_comment_that_its_owner_gives() {
    let world = World::new();
    let mut client = world.connect();
    let name = client.value("SELECT current_database()");
    client.run(&format!("COMMENT ON DATABASE \"{name}\" IS 'mine'"));
    let shown =
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()";
    assert_eq!(client.value(shown), "mine");
    assert_eq!(client.value("SELECT count(*) FROM pg_shdescription WHERE description = 'mine'"), "1");
    assert_eq!(client.value("SELECT count(*) FROM pg_description WHERE description = 'mine'"), "0");
    let lines = client.run("COMMENT ON DATABASE nope IS 'x'");
    assert_eq!(lines, ["WARNING: database \"nope\" does not exist", "COMMENT"]);
    client.run("CREATE ROLE other; SET ROLE other");
    assert_eq!(client.fails(&format!("COMMENT ON DATABASE \"{name}\" IS 'x'")).0, "42501");
    client.run(&format!("RESET ROLE; COMMENT ON DATABASE \"{name}\" IS NULL"));
    assert_eq!(client.value(shown), "NULL");
}

/// As in PostgreSQL, which has the names and texts of these errors.
#[test]
fn a_prepared_transaction_is_finished_by_who_prepared_it_or_a_superuser() {
    let world = World::new();
    let (mut owner, mut client) = (world.connect(), world.connect());
    owner.run("create role ann; create role bob; create table t (a int); grant all on t to ann, bob");
    let refused = ("42501", "permission denied to finish prepared transaction".to_string());
    client.run("set role ann; begin; insert into t values (1); prepare transaction 'p'; reset role");
    client.run("set role bob");
    assert_eq!(client.fails("commit prepared 'p'"), refused);
    assert_eq!(client.fails("rollback prepared 'p'"), refused);
    assert_eq!(client.fails("commit prepared 'q'").0, "42704");
    let error = client.try_run("commit prepared 'p'").expect_err("of another");
    let hint = "Must be superuser or the user that prepared the transaction.";
    assert_eq!(error.hint.as_deref(), Some(hint));
    assert_eq!(owner.value("select owner from pg_prepared_xacts"), "ann");
    client.run("set role ann; commit prepared 'p'");
    client.run("begin; insert into t values (2); prepare transaction 'p'");
    owner.run("rollback prepared 'p'");
    assert_eq!(owner.value("select sum(a) from t"), "1");
}

/// Statements, keys and amounts of others are not shown to whom they do not concern.
#[test]
fn views_hide_what_others_run_and_what_is_in_tables_that_a_role_may_not_read() {
    let world = World::new();
    let (mut owner, mut client) = (world.connect(), world.connect());
    owner.run("create role ann; create role reader; grant pg_read_all_stats to reader");
    owner.run("create table stock (id int primary key, pieces int reservable)");
    owner.run("insert into stock values (7, 10)");
    owner.run("select 'secret', id from stock where id = 7");
    owner.run("begin; update stock set pieces = pieces - 3 where id = 7");
    let hidden = "<insufficient privilege>";
    let cached = "select count(*) from verso_statement_cache where statement like '%from stock%'";
    let texts = "select count(*) from verso_statement_cache where statement <> '<insufficient privilege>'";
    let reserved =
        "select key || coalesce(operation, '-') || coalesce(amount::text, '-') from verso_reservations";
    assert_ne!(client.value(cached), "0");
    assert_eq!(client.value(reserved), "(7)-3");
    client.run("set role ann");
    assert_eq!(client.value(texts), "0");
    assert_eq!(client.value(reserved), format!("{hidden}--"));
    let of_others = "select count(*) from {} where {} like 'update stock%'";
    for (view, column) in
        [("pg_stat_activity", "query"), ("verso_activity", "statement"), ("verso_sessions", "statement")]
    {
        let sql = of_others.replacen("{}", view, 1).replacen("{}", column, 1);
        assert_eq!(client.value(&sql), "0", "{view}");
        client.run("reset role");
        assert_eq!(client.value(&sql), "1", "{view}");
        client.run("set role reader");
        assert_eq!(client.value(&sql), "1", "{view}");
        client.run("set role ann");
    }
    // Members of pg_read_all_stats see texts, but no rows.
    client.run("reset role; set role reader");
    assert_ne!(client.value(cached), "0");
    assert_eq!(client.value(reserved), format!("{hidden}--"));
    // A BEGIN in the same text would take the grant into its block.
    owner.run("commit; grant select on stock to ann");
    owner.run("begin; update stock set pieces = pieces - 2 where id = 7");
    client.run("reset role; set role ann");
    assert_eq!(client.value(reserved), "(7)-2");
    owner.run("commit; alter table stock enable row level security");
    owner.run("begin; update stock set pieces = pieces - 1 where id = 7");
    assert_eq!(client.value(reserved), format!("{hidden}--"), "a policy hides rows");
    owner.run("rollback");
}
