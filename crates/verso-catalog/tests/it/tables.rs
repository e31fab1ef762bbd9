//! CREATE TABLE, DROP TABLE, TRUNCATE; what is seen of them and when.

use std::sync::Arc;

use verso_catalog::{CatalogError, NewColumn, ObjectKind, Oid};
use verso_storage::{CommitMode, Isolation};
use verso_types::{NumericSpec, SqlType};

use crate::{World, table};

#[test]
fn a_new_database_describes_its_system_tables() {
    let world = World::new();
    let seen = world.seen();
    for name in
        ["pg_namespace", "pg_class", "pg_attribute", "pg_attrdef", "pg_type", "pg_proc", "pg_sequence"]
    {
        assert!(seen.table(None, name).is_some_and(|table| table.is_system()), "{name}");
    }
    assert_eq!(seen.tables().filter(|table| !table.is_system()).count(), 0);
}

#[test]
fn a_table_is_there_after_commit_and_after_reopening() {
    let world = World::new();
    let mut new = table("t");
    new.columns.push(NewColumn {
        not_null: true,
        default: Some("1.5 + 1".into()),
        ..NewColumn::new("c", SqlType::Numeric(NumericSpec::new(18, 2)))
    });
    let oid = world.run(|catalog, txn| catalog.create_table(txn, &new, false)).unwrap().unwrap();
    assert!(oid >= Oid::FIRST_USER);
    let before = world.seen().table(None, "t").unwrap();
    assert_eq!(before.oid, oid);
    assert_eq!(before.columns.iter().map(|column| column.id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(before.columns[2].default.as_deref(), Some("1.5 + 1"));
    assert!(before.columns[2].not_null);

    let world = world.reopen();
    let after = world.seen().table(Some("public"), "t").unwrap();
    assert_eq!(after, before);
    assert_eq!(world.engine.heap(after.heap).unwrap().columns().len(), 3);
    let next = world.run(|catalog, txn| catalog.create_table(txn, &table("u"), false)).unwrap().unwrap();
    assert!(next > oid, "numbers are not used twice");
}

#[test]
fn rollback_leaves_nothing() {
    let world = World::new();
    let mut txn = world.begin(Isolation::ReadCommitted);
    world.statement(&mut txn, |catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    assert!(world.seen_by(&mut txn).table(None, "t").is_some(), "its own transaction sees it");
    assert!(world.seen().table(None, "t").is_none(), "no other does");
    txn.rollback().unwrap();
    assert!(world.seen().table(None, "t").is_none());
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    assert!(world.seen().table(None, "t").is_some());
}

#[test]
fn rollback_to_brings_back_what_was_known_then() {
    let world = World::new();
    let mut txn = world.begin(Isolation::ReadCommitted);
    world.statement(&mut txn, |catalog, txn| catalog.create_table(txn, &table("one"), false)).unwrap();
    txn.savepoint("s").unwrap();
    world.statement(&mut txn, |catalog, txn| catalog.create_table(txn, &table("two"), false)).unwrap();
    world.statement(&mut txn, |catalog, txn| catalog.drop_table(txn, None, "one", false)).unwrap();
    let two = world.seen_by(&mut txn);
    assert!(two.table(None, "one").is_none() && two.table(None, "two").is_some());
    txn.rollback_to("s").unwrap();
    let again = world.seen_by(&mut txn);
    assert!(again.table(None, "one").is_some() && again.table(None, "two").is_none());
    assert_ne!(again.version, two.version);
    // Other contents under the same names get a number of their own.
    let mut other = table("two");
    other.columns.pop();
    world.statement(&mut txn, |catalog, txn| catalog.create_table(txn, &other, false)).unwrap();
    assert_eq!(world.seen_by(&mut txn).table(None, "two").unwrap().columns.len(), 1);
    txn.commit(CommitMode::Wait).unwrap();
    let seen = world.seen();
    assert!(seen.table(None, "one").is_some());
    assert_eq!(seen.table(None, "two").unwrap().columns.len(), 1);
}

#[test]
fn statements_share_a_snapshot_until_the_schema_changes() {
    let world = World::new();
    let first = world.seen();
    assert!(Arc::ptr_eq(&first, &world.seen()));
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let second = world.seen();
    assert!(!Arc::ptr_eq(&first, &second));
    world.run(|catalog, txn| catalog.create_table(txn, &table("u"), false)).unwrap();
    let (old, new) = (second.table(None, "t").unwrap(), world.seen().table(None, "t").unwrap());
    assert!(Arc::ptr_eq(&old, &new), "what did not change stays the same definition");
}

#[test]
fn an_old_snapshot_sees_the_old_schema() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let mut old = world.begin(Isolation::Snapshot);
    let heap = world.seen_by(&mut old).table(None, "t").unwrap().heap;
    let definition = world.seen().table(None, "t").unwrap();
    world.run(|catalog, txn| catalog.truncate(txn, &[definition], false)).unwrap();
    world.run(|catalog, txn| catalog.create_table(txn, &table("u"), false)).unwrap();
    let seen = world.seen_by(&mut old);
    assert_eq!(seen.table(None, "t").unwrap().heap, heap);
    assert!(seen.table(None, "u").is_none());
    assert_ne!(world.seen().table(None, "t").unwrap().heap, heap);
    // It cannot change a schema that it does not see.
    let refused = world.statement(&mut old, |catalog, txn| catalog.create_table(txn, &table("u"), false));
    assert!(matches!(refused, Err(CatalogError::Exists { .. })), "{refused:?}");
    let refused = world.statement(&mut old, |catalog, txn| catalog.drop_table(txn, None, "t", false));
    assert!(matches!(refused, Err(CatalogError::Storage(verso_storage::StorageError::Conflict { .. }))));
    // Something else it can make.
    world.statement(&mut old, |catalog, txn| catalog.create_table(txn, &table("v"), false)).unwrap();
    old.commit(verso_storage::CommitMode::Wait).unwrap();
    assert!(world.seen().table(None, "v").is_some() && world.seen().table(None, "u").is_some());
}

#[test]
fn a_dirty_reader_sees_no_uncommitted_schema_but_its_own() {
    let world = World::new();
    let mut writer = world.begin(Isolation::ReadCommitted);
    world.statement(&mut writer, |catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let mut dirty = world.begin(Isolation::ReadUncommitted);
    assert!(world.seen_by(&mut dirty).table(None, "t").is_none());
    writer.rollback().unwrap();
    world.statement(&mut dirty, |catalog, txn| catalog.create_table(txn, &table("own"), false)).unwrap();
    assert!(world.seen_by(&mut dirty).table(None, "own").is_some());
    dirty.rollback().unwrap();
}

#[test]
fn names_and_columns_are_checked() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let create = |new| world.run(|catalog, txn| catalog.create_table(txn, &new, false)).unwrap_err();
    assert!(matches!(create(table("t")), CatalogError::Exists { kind: ObjectKind::Table, .. }));
    let again = world.run(|catalog, txn| catalog.create_table(txn, &table("t"), true)).unwrap();
    assert_eq!(again, None);

    let mut twice = table("u");
    twice.columns.push(NewColumn::new("a", SqlType::Bool));
    assert!(matches!(create(twice), CatalogError::DuplicateColumn { name } if name == "a"));
    let mut wide = table("u");
    wide.columns = (0..1601).map(|i| NewColumn::new(format!("c{i}"), SqlType::Int4)).collect();
    assert!(matches!(create(wide), CatalogError::TooManyColumns { limit: 1600 }));
    let mut elsewhere = table("u");
    elsewhere.schema = Some("nowhere".into());
    assert!(matches!(create(elsewhere), CatalogError::Missing { kind: ObjectKind::Schema, .. }));
    let mut system = table("u");
    system.schema = Some("pg_catalog".into());
    assert!(matches!(create(system), CatalogError::SystemObject { .. }));

    let drop = |name: &str| world.run(|catalog, txn| catalog.drop_table(txn, None, name, false)).unwrap_err();
    assert!(matches!(drop("u"), CatalogError::Missing { kind: ObjectKind::Table, .. }));
    assert!(matches!(drop("pg_class"), CatalogError::SystemObject { .. }));
    assert!(matches!(drop("verso_oid"), CatalogError::WrongKind { .. }));
}

#[test]
fn a_dropped_table_is_gone_with_its_heap() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let mut txn = world.begin(Isolation::ReadCommitted);
    world.statement(&mut txn, |catalog, txn| catalog.drop_table(txn, None, "t", false)).unwrap();
    assert!(world.seen().table(None, "t").is_some(), "until it commits");
    txn.commit(CommitMode::Wait).unwrap();
    assert!(world.seen().table(None, "t").is_none());
    let world = world.reopen();
    assert!(world.seen().table(None, "t").is_none());
}

#[test]
fn truncate_takes_another_heap_and_keeps_the_table() {
    let world = World::new();
    let oid = world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap().unwrap();
    let before = world.seen().table(None, "t").unwrap();
    let twice = [Arc::clone(&before), Arc::clone(&before)];
    world.run(|catalog, txn| catalog.truncate(txn, &twice, false)).unwrap();
    let after = world.seen().table(None, "t").unwrap();
    assert_eq!(after.oid, oid);
    assert_ne!(after.heap, before.heap);
    assert_eq!(after.columns, before.columns);
    // By an old definition the table of today is truncated.
    world.run(|catalog, txn| catalog.truncate(txn, &[before], false)).unwrap();
    assert_ne!(world.seen().table(None, "t").unwrap().heap, after.heap);
    let system = world.seen().table(None, "pg_class").unwrap();
    let refused = world.run(|catalog, txn| catalog.truncate(txn, &[system], false));
    assert!(matches!(refused, Err(CatalogError::SystemObject { .. })));
}

#[test]
fn a_hundred_tables_and_versions() {
    let world = World::new();
    for i in 0..100 {
        let new = table(&format!("t{i}"));
        world.run(|catalog, txn| catalog.create_table(txn, &new, false)).unwrap();
    }
    for i in (0..100).step_by(2) {
        world.run(|catalog, txn| catalog.drop_table(txn, None, &format!("t{i}"), false)).unwrap();
    }
    let world = world.reopen();
    let names: Vec<String> = world
        .seen()
        .tables()
        .filter(|table| !table.is_system())
        .map(|table| table.name.to_string())
        .collect();
    assert_eq!(names.len(), 50);
    assert!(names.iter().all(|name| name[1..].parse::<u32>().unwrap() % 2 == 1));
}

#[test]
fn one_statement_may_drop_several_tables_but_each_once() {
    let world = World::new();
    for name in ["a", "b"] {
        world.run(|catalog, txn| catalog.create_table(txn, &table(name), false)).unwrap();
    }
    let twice = world.run(|catalog, txn| {
        catalog.drop_table(txn, None, "a", false)?;
        catalog.drop_table(txn, None, "a", false)
    });
    assert!(matches!(twice, Err(CatalogError::Missing { kind: ObjectKind::Table, .. })), "{twice:?}");
    assert!(world.seen().table(None, "a").is_some(), "the statement failed as a whole");
    let both = |catalog: &verso_catalog::Catalog, txn: &mut verso_storage::Txn| {
        catalog.drop_table(txn, None, "a", false)?;
        catalog.drop_table(txn, None, "b", false)
    };
    world.run(both).unwrap();
    assert_eq!(world.seen().tables().filter(|table| !table.is_system()).count(), 0);
}
