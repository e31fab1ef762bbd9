use std::sync::Arc;

use verso_env::Env;
use verso_storage::{CommitMode, Engine, EngineOptions, Isolation, TxnOptions};
use verso_types::{SqlType, SystemType};

use super::super::row::AttributeRow;
use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::key_class::KeyClass;
use crate::{NewColumn, NewIndex, NewIndexPart, NewTable, TableOptions};

/// Runs one statement in a transaction of its own.
fn run<T>(
    (engine, catalog): (&Engine, &Catalog),
    work: impl FnOnce(&Catalog, &mut verso_storage::Txn) -> Result<T, CatalogError>,
) -> T {
    let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: false };
    let mut txn = engine.begin(options);
    txn.begin_statement().unwrap();
    let value = work(catalog, &mut txn).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    value
}

#[test]
fn an_index_in_the_order_that_a_type_had_earlier_is_out_of_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let engine = Engine::create(Env::real(), &path, EngineOptions::default()).unwrap();
    let catalog = Arc::new(Catalog::bootstrap(&engine).unwrap());
    let world = (&engine, &*catalog);
    let xid8 = SqlType::System(SystemType::Xid8);
    let index = |column: &str| NewIndex {
        name: Some(format!("by_{column}").into()),
        schema: None,
        table: "t".into(),
        parts: vec![NewIndexPart {
            name: column.into(),
            hidden: None,
            descending: false,
            nulls_first: false,
            class: KeyClass::default(),
            collation: None,
            excludes: None,
        }],
        include: Vec::new(),
        guard: None,
        unique: true,
        nulls_distinct: true,
        concurrently: false,
        part_of: None,
        options: TableOptions::default(),
    };
    let list = |ty: SqlType| SqlType::Array(Box::new(ty));
    let columns = vec![
        NewColumn::new("old", SqlType::Int8),
        NewColumn::new("new", xid8.clone()),
        NewColumn::new("olds", list(SqlType::Int8)),
        NewColumn::new("news", list(xid8.clone())),
        NewColumn::new("text", SqlType::Text),
        NewColumn::new("single", SqlType::System(SystemType::Char)),
    ];
    run(world, |catalog, txn| catalog.create_table(txn, &NewTable::new("t", columns), false));
    for column in ["old", "new", "olds", "news", "text", "single"] {
        run(world, |catalog, txn| catalog.create_index(txn, &index(column), false));
    }
    // As an earlier version has left it: the column is of the type, its index is one of signed numbers, or of texts.
    let table = run(world, |catalog, txn| Ok(catalog.snapshot(txn)?.table(None, "t"))).unwrap();
    let single = SqlType::System(SystemType::Char);
    for (column, ty) in [("old", xid8.clone()), ("olds", list(xid8.clone())), ("text", single)] {
        run(world, |catalog, txn| {
            let is_old = |row: &AttributeRow| row.attrelid == table.oid && &*row.attname.0 == column;
            catalog.update_rows(txn, table.oid, is_old, |row| row.atttypid = Oid(ty.pg_oid()))
        });
    }
    let check = |catalog: &Catalog, engine: &Engine| {
        let table = run((engine, catalog), |catalog, txn| Ok(catalog.snapshot(txn)?.table(None, "t")));
        let table = table.unwrap();
        let used: Vec<&str> = table.indexes.iter().map(|index| &*index.name).collect();
        let idle: Vec<(&str, bool)> =
            table.idle_indexes.iter().map(|index| (&*index.name, index.outdated)).collect();
        assert_eq!(
            (used, idle),
            (
                vec!["by_new", "by_news", "by_single"],
                vec![("by_old", true), ("by_olds", true), ("by_text", true)]
            )
        );
    };
    drop(catalog);
    engine.close().unwrap();
    drop(engine);
    let engine = Engine::open(Env::real(), &path, EngineOptions::default()).unwrap();
    let catalog = Arc::new(Catalog::load(&engine).unwrap());
    check(&catalog, &engine);
    run((&engine, &catalog), |catalog, txn| catalog.reindex(txn, None, "t", None, false));
    let table = run((&engine, &catalog), |catalog, txn| Ok(catalog.snapshot(txn)?.table(None, "t"))).unwrap();
    assert!(table.idle_indexes.is_empty() && table.indexes.len() == 6, "built anew, it is in use");
}
