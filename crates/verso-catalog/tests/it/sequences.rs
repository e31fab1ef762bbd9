//! CREATE SEQUENCE, DROP SEQUENCE, and sequences that belong to a column.

use verso_catalog::NewColumn;
use verso_catalog::{CatalogError, NewSequence, NewTable, ObjectKind, OwnedBy, SequenceBounds};
use verso_types::SqlType;

use crate::{World, table};

fn sequence(name: &str) -> NewSequence {
    NewSequence {
        schema: None,
        name: name.into(),
        bounds: SequenceBounds::default(),
        owned_by: None,
        unlogged: false,
    }
}

fn serial_table() -> NewTable {
    let id = NewColumn { serial: true, ..NewColumn::new("id", SqlType::Int4) };
    NewTable::new("t", vec![id, NewColumn::new("v", SqlType::Text)])
}

#[test]
fn a_sequence_counts_and_survives_reopening() {
    let world = World::new();
    let new = NewSequence {
        bounds: SequenceBounds { start: 5, increment: 5, ..SequenceBounds::default() },
        ..sequence("s")
    };
    world.run(|catalog, txn| catalog.create_sequence(txn, &new, false)).unwrap();
    let definition = world.seen().sequence(None, "s").unwrap();
    assert_eq!(definition.bounds, new.bounds);
    let object = world.engine.sequence(definition.object).unwrap();
    assert_eq!((object.next_value().unwrap(), object.next_value().unwrap()), (5, 10));
    drop(object);
    let world = world.reopen();
    let again = world.seen().sequence(None, "s").unwrap();
    assert_eq!(again, definition);
    assert!(world.engine.sequence(again.object).unwrap().next_value().unwrap() >= 15);
}

#[test]
fn tables_and_sequences_share_their_names() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_sequence(txn, &sequence("s"), false)).unwrap();
    let clash = world.run(|catalog, txn| catalog.create_table(txn, &table("s"), false));
    assert!(matches!(clash, Err(CatalogError::Exists { .. })));
    let again = world.run(|catalog, txn| catalog.create_sequence(txn, &sequence("s"), true)).unwrap();
    assert_eq!(again, None);
    let wrong = world.run(|catalog, txn| catalog.drop_table(txn, None, "s", false));
    assert!(matches!(wrong, Err(CatalogError::WrongKind { kind: ObjectKind::Table, .. })));
    world.run(|catalog, txn| catalog.drop_sequence(txn, None, "s", false)).unwrap();
    let gone = world.run(|catalog, txn| catalog.drop_sequence(txn, None, "s", false));
    assert!(matches!(gone, Err(CatalogError::Missing { kind: ObjectKind::Sequence, .. })));
}

#[test]
fn a_serial_column_owns_its_sequence() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &serial_table(), false)).unwrap();
    let seen = world.seen();
    let t = seen.table(None, "t").unwrap();
    assert_eq!(t.columns[0].default.as_deref(), Some("nextval('public.t_id_seq')"));
    assert!(t.columns[0].not_null);
    let owned = seen.sequence(None, "t_id_seq").unwrap();
    assert_eq!(owned.owned_by, Some(OwnedBy { table: t.oid, column: 1 }));
    assert_eq!(owned.bounds.max, i64::from(i32::MAX));

    let refused = world.run(|catalog, txn| catalog.drop_sequence(txn, None, "t_id_seq", false));
    match refused {
        Err(CatalogError::Needed { what, detail }) => {
            assert_eq!(what, "sequence t_id_seq");
            assert_eq!(detail, "default value for column id of table t depends on sequence t_id_seq");
        }
        other => panic!("{other:?}"),
    }
    world.run(|catalog, txn| catalog.drop_table(txn, None, "t", false)).unwrap();
    assert!(world.seen().relation(None, "t_id_seq").is_none());
}

#[test]
fn cascade_takes_the_default_along() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &serial_table(), false)).unwrap();
    world.run(|catalog, txn| catalog.drop_sequence(txn, None, "t_id_seq", true)).unwrap();
    let t = world.seen().table(None, "t").unwrap();
    assert_eq!(t.columns[0].default, None);
    assert!(t.columns[0].not_null);
}

#[test]
fn a_serial_sequence_takes_a_free_name() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_sequence(txn, &sequence("t_id_seq"), false)).unwrap();
    world.run(|catalog, txn| catalog.create_table(txn, &serial_table(), false)).unwrap();
    let t = world.seen().table(None, "t").unwrap();
    assert_eq!(t.columns[0].default.as_deref(), Some("nextval('public.t_id_seq1')"));
}

#[test]
fn restart_identity_begins_again_and_can_be_undone() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &serial_table(), false)).unwrap();
    let next = || {
        let definition = world.seen().sequence(None, "t_id_seq").unwrap();
        world.engine.sequence(definition.object).unwrap().next_value().unwrap()
    };
    assert_eq!((next(), next()), (1, 2));
    let t = world.seen().table(None, "t").unwrap();
    let mut txn = world.begin(verso_storage::Isolation::ReadCommitted);
    let tables = [t.clone()];
    world.statement(&mut txn, |catalog, txn| catalog.truncate(txn, &tables, true)).unwrap();
    txn.rollback().unwrap();
    assert_eq!(next(), 3);
    world.run(|catalog, txn| catalog.truncate(txn, &[t], true)).unwrap();
    assert_eq!(next(), 1);
}

#[test]
fn owned_by_names_a_column() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let owned = |column: &str| NewSequence { owned_by: Some(("t".into(), column.into())), ..sequence("s") };
    let missing = world.run(|catalog, txn| catalog.create_sequence(txn, &owned("z"), false));
    assert!(matches!(missing, Err(CatalogError::Missing { kind: ObjectKind::Column, .. })));
    world.run(|catalog, txn| catalog.create_sequence(txn, &owned("b"), false)).unwrap();
    world.run(|catalog, txn| catalog.drop_table(txn, None, "t", false)).unwrap();
    assert!(world.seen().relation(None, "s").is_none());
}
