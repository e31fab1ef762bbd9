//! Two transactions that change the schema at once.

use std::sync::Arc;
use std::sync::mpsc;

use verso_catalog::{Catalog, CatalogError};
use verso_env::Env;
use verso_storage::{CommitMode, Isolation, StorageError};

use crate::{World, table};

/// The second creator's end, when the first ends with `commit` or a rollback while the second is at it.
fn second_creator(isolation: Isolation, commit: bool) -> (World, Result<(), CatalogError>) {
    let world = World::new();
    let mut first = world.begin(Isolation::ReadCommitted);
    world.statement(&mut first, |catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
    let mut second = world.begin(isolation);
    let catalog = Arc::clone(&world.catalog);
    let (started, is_started) = mpsc::channel();
    let (finished, is_finished) = mpsc::channel();
    let thread = Env::real().threads.spawn(
        "second",
        Box::new(move || {
            let attempt = |catalog: &Catalog| {
                second.begin_statement()?;
                started.send(()).expect("the test waits");
                match catalog.create_table(&mut second, &table("t"), false) {
                    Ok(_) => {
                        second.end_statement()?;
                        second.commit(CommitMode::Wait)?;
                        Ok(())
                    }
                    Err(error) => {
                        second.abort_statement()?;
                        second.rollback()?;
                        Err(error)
                    }
                }
            };
            finished.send(attempt(&catalog)).expect("the test waits");
        }),
    );
    is_started.recv().unwrap();
    if commit {
        first.commit(CommitMode::Wait).unwrap()
    } else {
        first.rollback().unwrap()
    }
    let end = is_finished.recv().unwrap();
    thread.join().unwrap();
    (world, end)
}

#[test]
fn the_second_creator_fails_once_the_first_has_committed() {
    for isolation in [Isolation::ReadCommitted, Isolation::Snapshot] {
        let (world, end) = second_creator(isolation, true);
        assert!(matches!(end, Err(CatalogError::Storage(StorageError::Conflict { .. }))), "{end:?}");
        // Asked again on a new snapshot, as READ COMMITTED does, the name is taken.
        let again = world.run(|catalog, txn| catalog.create_table(txn, &table("t"), false));
        assert!(matches!(again, Err(CatalogError::Exists { .. })));
        assert_eq!(world.seen().tables().filter(|table| !table.is_system()).count(), 1);
    }
}

#[test]
fn the_second_creator_succeeds_if_the_first_rolls_back() {
    let (world, end) = second_creator(Isolation::ReadCommitted, false);
    assert!(end.is_ok(), "{end:?}");
    assert!(world.seen().table(None, "t").is_some());
}
