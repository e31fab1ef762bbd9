//! CREATE SCHEMA, DROP SCHEMA.

use verso_catalog::{CatalogError, NewColumn, NewTable, ObjectKind};
use verso_types::SqlType;

use crate::{World, table};

#[test]
fn a_schema_is_a_name_space() {
    let world = World::new();
    let create = |name: &str| world.run(|catalog, txn| catalog.create_schema(txn, &name.into(), None, false));
    create("s").unwrap();
    assert!(matches!(create("s"), Err(CatalogError::Exists { kind: ObjectKind::Schema, .. })));
    assert!(matches!(create("pg_mine"), Err(CatalogError::ReservedName { .. })));
    let inside = NewTable { schema: Some("s".into()), ..table("t") };
    world.run(|catalog, txn| catalog.create_table(txn, &inside, false)).unwrap();
    let seen = world.seen();
    assert!(seen.table(None, "t").is_none());
    assert!(seen.table(Some("s"), "t").is_some());
}

#[test]
fn a_schema_is_dropped_with_its_contents_only_by_cascade() {
    let world = World::new();
    world.run(|catalog, txn| catalog.create_schema(txn, &"s".into(), None, false)).unwrap();
    let serial = NewColumn { serial: true, ..NewColumn::new("id", SqlType::Int8) };
    let inside = NewTable { schema: Some("s".into()), ..NewTable::new("t", vec![serial]) };
    world.run(|catalog, txn| catalog.create_table(txn, &inside, false)).unwrap();
    let default = world.seen().table(Some("s"), "t").unwrap().columns[0].default.clone();
    assert_eq!(default.as_deref(), Some("nextval('s.t_id_seq')"));
    let refused = world.run(|catalog, txn| catalog.drop_schema(txn, "s", false));
    match refused {
        Err(CatalogError::Needed { what, detail }) => {
            assert_eq!((what.as_str(), detail.as_str()), ("schema s", "table s.t depends on schema s"));
        }
        other => panic!("{other:?}"),
    }
    world.run(|catalog, txn| catalog.drop_schema(txn, "s", true)).unwrap();
    let world = world.reopen();
    assert!(world.seen().schema("s").is_none());
    assert!(world.seen().table(Some("s"), "t").is_none());
    let gone = world.run(|catalog, txn| catalog.drop_schema(txn, "s", false));
    assert!(matches!(gone, Err(CatalogError::Missing { kind: ObjectKind::Schema, .. })));
    let system = world.run(|catalog, txn| catalog.drop_schema(txn, "pg_catalog", true));
    assert!(matches!(system, Err(CatalogError::SystemObject { .. })));
}

#[test]
fn public_can_be_dropped_and_made_again() {
    let world = World::new();
    world.run(|catalog, txn| catalog.drop_schema(txn, "public", false)).unwrap();
    let homeless = world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false));
    assert!(matches!(homeless, Err(CatalogError::Missing { kind: ObjectKind::Schema, .. })));
    world.run(|catalog, txn| catalog.create_schema(txn, &"public".into(), None, false)).unwrap();
    world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    assert!(world.seen().table(None, "t").is_some());
}
