//! Two transactions that change the schema at once.

use std::sync::Arc;
use std::sync::mpsc;

use verso_catalog::{Catalog, CatalogError};
use verso_env::Env;
use verso_storage::{CommitMode, Isolation, StorageError, Txn};

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
    for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::Snapshot] {
        let (world, end) = second_creator(isolation, true);
        assert!(matches!(end, Err(CatalogError::Exists { .. })), "{end:?}");
        assert_eq!(world.seen().tables().filter(|table| !table.is_system()).count(), 1);
    }
}

#[test]
fn the_second_creator_succeeds_if_the_first_rolls_back() {
    let (world, end) = second_creator(Isolation::ReadCommitted, false);
    assert!(end.is_ok(), "{end:?}");
    assert!(world.seen().table(None, "t").is_some());
}

/// Names of the tables of the user's that a transaction's next statement sees.
fn names(world: &World, txn: &mut Txn) -> Vec<String> {
    let seen = world.seen_by(txn);
    seen.tables().filter(|table| !table.is_system()).map(|table| table.name.to_string()).collect()
}

#[test]
fn who_makes_different_tables_goes_on_side_by_side_and_sees_what_is_its_own_and_committed() {
    for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::Snapshot] {
        let world = World::new();
        let (mut one, mut two) = (world.begin(isolation), world.begin(isolation));
        assert_eq!((names(&world, &mut one).len(), names(&world, &mut two).len()), (0, 0));
        let create = |txn: &mut Txn, name: &str| {
            world.statement(txn, |catalog, txn| catalog.create_table(txn, &table(name), false)).unwrap();
        };
        create(&mut one, "a");
        create(&mut two, "b");
        assert_eq!((names(&world, &mut one), names(&world, &mut two)), (vec!["a".into()], vec!["b".into()]));
        // What is taken back to a savepoint is not seen any more; and another one of the name may be made.
        one.savepoint("s").unwrap();
        create(&mut one, "c");
        assert_eq!(names(&world, &mut one), ["a", "c"]);
        one.rollback_to("s").unwrap();
        assert_eq!(names(&world, &mut one), ["a"]);
        create(&mut two, "c");
        two.commit(CommitMode::Wait).unwrap();
        let seen: &[&str] = if isolation == Isolation::Snapshot { &["a"] } else { &["a", "b", "c"] };
        assert_eq!(names(&world, &mut one), seen);
        world.statement(&mut one, |catalog, txn| catalog.drop_table(txn, None, "a", false)).unwrap();
        create(&mut one, "a");
        one.commit(CommitMode::Wait).unwrap();
        assert_eq!(names(&world, &mut world.begin(isolation)), ["a", "b", "c"]);
        let world = world.reopen();
        assert_eq!(names(&world, &mut world.begin(isolation)), ["a", "b", "c"]);
    }
}

#[test]
fn a_prepared_creation_keeps_its_name_and_is_seen_once_it_is_committed_whatever_was_between() {
    for restart in [false, true] {
        let mut world = World::new();
        let mut txn = world.begin(Isolation::ReadCommitted);
        world.statement(&mut txn, |catalog, txn| catalog.create_table(txn, &table("t"), false)).unwrap();
        txn.prepare("p", "me").unwrap();
        if restart {
            world = world.reopen();
        }
        let mut other = world.begin(Isolation::ReadCommitted);
        assert_eq!(names(&world, &mut other), [""; 0]);
        other.set_lock_timeout(Some(std::time::Duration::from_millis(1)));
        let refused =
            world.statement(&mut other, |catalog, txn| catalog.create_table(txn, &table("t"), false));
        assert!(matches!(refused, Err(CatalogError::Storage(StorageError::LockTimeout))), "{refused:?}");
        world.statement(&mut other, |catalog, txn| catalog.create_table(txn, &table("u"), false)).unwrap();
        world.engine.commit_prepared("p").unwrap();
        assert_eq!(names(&world, &mut other), ["t", "u"]);
        other.commit(CommitMode::Wait).unwrap();
    }
}
