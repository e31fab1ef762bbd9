//! Indexes of collations: when they are used, and what becomes of them when another release has other collations.

use tempfile::TempDir;
use verso_storage::EngineOptions;
use verso_types::CollationData;
use versodb::{Connection, Database, Options};

use crate::new_database;

/// Collations of an older release: the same, turned around.
const OLD: CollationData =
    CollationData::for_tests("0.9", |key| key.iter_mut().for_each(|byte| *byte = byte.wrapping_neg()));

fn options(data: CollationData) -> Options {
    let engine = EngineOptions { collation_data: data, ..EngineOptions::default() };
    Options::new().engine(engine).auto_analyze(false)
}

fn texts(connection: &mut Connection, sql: &str) -> Vec<String> {
    let rows = connection.query(sql).unwrap().into_rows();
    rows.iter()
        .map(|row| (0..row.columns().len()).map(|n| row.text(n)).collect::<Vec<_>>().join(" "))
        .collect()
}

fn plan(connection: &mut Connection, sql: &str) -> String {
    texts(connection, &format!("explain {sql}")).join("\n")
}

const VALID: &str =
    "select indexrelid::regclass, indisvalid from pg_index order by indexrelid::regclass::text";

#[test]
fn indexes_of_other_collations_are_out_of_use_until_they_are_built_anew() {
    let directory: TempDir = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, options(OLD)).unwrap();
    let mut connection = database.connect().unwrap();
    for statement in [
        "create table t (id integer primary key, w text collate \"de-x-icu\", plain text, k text collate \"de-x-icu\" unique)",
        "create index t_w on t (w)",
        "create index t_plain on t (plain)",
        "create index t_c on t (w collate \"C\")",
        "create unique index t_sv on t (plain collate \"sv-x-icu\")",
        "insert into t select n, chr(96 + n), chr(96 + n), chr(96 + n) from generate_series(1, 26) n",
    ] {
        connection.execute(statement).unwrap();
    }
    // The old release has them the other way round, and its index, too.
    assert_eq!(texts(&mut connection, "select w from t order by w limit 2"), ["z", "y"]);
    assert!(plan(&mut connection, "select w from t order by w limit 2").contains("t_w"));
    assert_eq!(texts(&mut connection, "select count(*) from t where w < 'x'"), ["2"]);
    drop(connection);
    database.close().unwrap();

    let database = Database::open(&path, options(CollationData::BUILT_IN)).unwrap();
    let mut connection = database.connect().unwrap();
    let of_collations = ["t_c t", "t_k_key t", "t_pkey t", "t_plain t", "t_sv f", "t_w f"];
    assert_eq!(texts(&mut connection, VALID), of_collations);
    assert!(!plan(&mut connection, "select w from t order by w limit 2").contains("t_w"));
    assert_eq!(texts(&mut connection, "select w from t order by w limit 2"), ["a", "b"]);
    assert_eq!(texts(&mut connection, "select count(*) from t where w < 'x'"), ["23"]);
    assert_eq!(texts(&mut connection, "select id from t where k = 'c' and w = 'c' and plain = 'c'"), ["3"]);
    // What a unique index would have to check is refused; the key that is told by its bytes is not in question.
    let refused = connection.execute("insert into t values (27, 'ä', 'ä', 'ä')").unwrap_err();
    assert_eq!(refused.sqlstate, "55000");
    assert_eq!(connection.execute("reindex (parallel 2) collations").unwrap(), 0);
    assert!(texts(&mut connection, VALID).iter().all(|line| line.ends_with(" t")));
    assert_eq!(connection.execute("insert into t values (27, 'ä', 'ä', 'ä')").unwrap(), 1);
    assert_eq!(
        connection.execute("insert into t values (28, 'a', 'a', 'aa')").unwrap_err().sqlstate,
        "23505"
    );
    assert!(plan(&mut connection, "select w from t order by w limit 3").contains("t_w"));
    assert_eq!(texts(&mut connection, "select w from t order by w limit 3"), ["a", "ä", "b"]);
    assert_eq!(texts(&mut connection, "select count(*) from t where w < 'b'"), ["2"]);
    drop(connection);
    database.close().unwrap();

    // The older release again: what the newer one has written since is not in the keys that it knew.
    let database = Database::open(&path, options(OLD)).unwrap();
    let mut connection = database.connect().unwrap();
    assert_eq!(texts(&mut connection, VALID), of_collations);
    assert_eq!(texts(&mut connection, "select w from t order by w limit 2"), ["z", "y"]);
    drop(connection);
    // Each time that it is opened, until they are built.
    let outdated = database.outdated_indexes().unwrap();
    assert!(outdated > 0);
    database.close().unwrap();
    let database = Database::open(&path, options(OLD)).unwrap();
    assert_eq!(database.outdated_indexes().unwrap(), outdated);
    database.connect().unwrap().execute("reindex collations").unwrap();
    assert_eq!(database.outdated_indexes().unwrap(), 0);
    database.close().unwrap();
    // What goes takes the indexes along that were out of use.
    let database = Database::open(&path, options(CollationData::BUILT_IN)).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("drop table t").unwrap();
    assert_eq!(texts(&mut connection, VALID), Vec::<String>::new());
    assert_eq!(database.engine().check(&mut |_| {}).unwrap().problems.len(), 0);
}

/// Collations of a newer release that take neighbours in the alphabet for equal.
const MERGES: CollationData =
    CollationData::for_tests("3.0", |key| key.iter_mut().for_each(|byte| *byte &= 0xf0));

#[test]
fn keys_that_newer_collations_take_for_equal_can_be_deleted() {
    let directory: TempDir = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, options(CollationData::BUILT_IN)).unwrap();
    let mut connection = database.connect().unwrap();
    for statement in [
        "create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create table parent (id integer, name text collate blind unique)",
        "create table child (name text collate blind references parent (name) on delete cascade)",
        "create table other (name text collate blind unique)",
        "insert into parent values (1, 'a'), (2, 'b')",
        "insert into child values ('a')",
        "insert into other values ('a'), ('z')",
    ] {
        connection.execute(statement).unwrap();
    }
    drop(connection);
    database.close().unwrap();

    let database = Database::open(&path, options(MERGES)).unwrap();
    let mut connection = database.connect().unwrap();
    let failed = |connection: &mut Connection, statement: &str| connection.execute(statement).unwrap_err();
    for statement in [
        "insert into parent values (3, 'z')",
        "update parent set id = 4 where id = 1",
        "insert into child values ('b')",
        "create table third (name text collate blind references parent (name))",
        "alter table other add foreign key (name) references parent (name)",
    ] {
        let error = failed(&mut connection, statement);
        assert_eq!(error.sqlstate, "55000", "{statement}: {error:?}");
        assert!(error.message.contains("parent_name_key"), "{statement}: {error:?}");
    }
    let error = failed(&mut connection, "insert into child values ('b')");
    assert_eq!(error.hint.as_deref(), Some("Run REINDEX COLLATIONS."));
    // The index with the key that is there twice stays as it is; the one behind it is built.
    let error = failed(&mut connection, "reindex collations");
    assert_eq!(error.sqlstate, "23505");
    assert!(error.hint.is_some_and(|hint| hint.contains("Delete the rows")));
    assert_eq!(texts(&mut connection, VALID), ["other_name_key t", "parent_name_key f"]);
    assert_eq!(connection.execute("delete from parent where id = 2").unwrap(), 1);
    connection.execute("reindex collations").unwrap();
    assert_eq!(texts(&mut connection, VALID), ["other_name_key t", "parent_name_key t"]);
    assert_eq!(connection.execute("insert into parent values (3, 'z')").unwrap(), 1);
    assert_eq!(failed(&mut connection, "insert into parent values (4, 'B')").sqlstate, "23505");
    assert_eq!(database.engine().check(&mut |_| {}).unwrap().problems.len(), 0);
}

#[test]
fn keys_that_an_older_release_left_are_not_taken_for_checked() {
    let directory: TempDir = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, options(CollationData::BUILT_IN)).unwrap();
    let mut connection = database.connect().unwrap();
    for statement in [
        "create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "create table keys (name text collate blind primary key)",
        "create table child (name text collate blind references keys)",
        "create table plain (name text collate blind)",
        "create unique index plain_name on plain (name)",
        "create table excluded (name text collate blind, exclude using btree (name with =))",
        "insert into keys values ('a')",
        "insert into plain values ('a')",
        "insert into excluded values ('a')",
    ] {
        connection.execute(statement).unwrap();
    }
    drop(connection);
    database.close().unwrap();
    // The older release does not know these keys; whoever has made them comes back then.
    let database = Database::open(&path, options(OLD)).unwrap();
    let mut connection = database.connect().unwrap();
    let refused = [
        "insert into keys values ('A')",
        "insert into plain values ('A')",
        "insert into excluded values ('A')",
    ];
    for statement in refused {
        assert_eq!(connection.execute(statement).unwrap_err().sqlstate, "55000", "{statement}");
    }
    drop(connection);
    database.close().unwrap();

    let database = Database::open(&path, options(CollationData::BUILT_IN)).unwrap();
    let mut connection = database.connect().unwrap();
    for statement in
        refused.iter().chain(&["insert into child values ('a')", "update excluded set name = 'b'"])
    {
        let error = connection.execute(statement).unwrap_err();
        assert_eq!(error.sqlstate, "55000", "{statement}: {error:?}");
        assert_eq!(error.hint.as_deref(), Some("Run REINDEX COLLATIONS."), "{statement}");
    }
    connection.execute("reindex collations").unwrap();
    for statement in refused {
        let error = connection.execute(statement).unwrap_err();
        assert!(["23505", "23P01"].contains(&error.sqlstate), "{statement}: {error:?}");
    }
    connection.execute("insert into child values ('A')").unwrap();
    connection.execute("insert into keys values ('b')").unwrap();
    assert_eq!(database.engine().check(&mut |_| {}).unwrap().problems.len(), 0);
}

#[test]
fn indexes_are_used_in_the_order_of_their_collation_only() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    for statement in [
        "create table t (id integer, w text collate \"de-x-icu\")",
        "insert into t select n, chr(97 + n % 26) || n from generate_series(1, 5000) n",
        "create index t_w on t (w)",
        "analyze t",
    ] {
        connection.execute(statement).unwrap();
    }
    let by = |connection: &mut Connection, sql: &str| plan(connection, sql).contains("t_w");
    for used in [
        "select * from t where w = 'b1'",
        "select * from t where w in ('b1', 'c2')",
        "select * from t where w between 'b1' and 'b11'",
        "select * from t where w collate \"C\" = 'b1'",
        "select * from t order by w limit 1",
        "select * from t order by w desc limit 1",
        "select min(w) from t",
    ] {
        assert!(by(&mut connection, used), "{used}\n{}", plan(&mut connection, used));
    }
    for unused in [
        "select * from t where w collate \"C\" between 'b1' and 'b11'",
        "select * from t where w collate \"sv-x-icu\" between 'b1' and 'b11'",
        "select * from t where w like 'b1%'",
        "select * from t order by w collate \"C\" limit 1",
        "select min(w collate \"C\") from t",
    ] {
        assert!(!by(&mut connection, unused), "{unused}\n{}", plan(&mut connection, unused));
    }
    let shown = plan(&mut connection, "select * from t where w between 'b1' and 'b11'");
    assert!(shown.contains("'b1'") && shown.contains("'b11'") && !shown.contains("\\x"), "{shown}");
    let shown = plan(&mut connection, "select * from t where w collate \"sv-x-icu\" < 'b'");
    assert!(shown.contains("(w COLLATE \"sv-x-icu\") < 'b'"), "{shown}");
}
