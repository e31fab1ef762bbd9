//! What became of a transaction: while it runs, when it has ended, after the power was cut, and when nobody knows any more.

use std::sync::Arc;

use verso_sim::World;
use verso_storage::heap::Heap;
use verso_storage::{CommitMode, Engine, Txn, TxnFate, TxnId, TxnOptions};

use crate::support::{COLUMNS, batch, options};

fn insert(engine: &Engine, heap: &Arc<Heap>, id: i64) -> (Txn, TxnId) {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    heap.insert(&mut txn, &batch(&[(id, None, 0.0)]), None).unwrap();
    txn.end_statement().unwrap();
    let id = txn.id().unwrap();
    (txn, id)
}

#[test]
fn a_transaction_is_known_to_have_committed_or_not_until_it_is_too_old() {
    let world = World::new(1);
    let path = World::dir().join("t.verso");
    let (ids, after) = world.run(|env| {
        let engine = Engine::create(env.clone(), &path, options()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        let heap = engine.heap(object).unwrap();
        let fate = |id| engine.txn_fate(id);
        engine.checkpoint().unwrap();

        let (kept, committed) = insert(&engine, &heap, 1);
        assert_eq!(fate(committed), Some(TxnFate::InProgress));
        kept.commit(CommitMode::Wait).unwrap();
        assert_eq!(fate(committed), Some(TxnFate::Committed));
        let (gone, undone) = insert(&engine, &heap, 2);
        gone.rollback().unwrap();
        assert_eq!(fate(undone), Some(TxnFate::Aborted));
        let (open, cut_off) = insert(&engine, &heap, 3);
        // Its change is on disk, its commit never will be.
        engine.flush_log(engine.logged()).unwrap();
        assert_eq!(fate(cut_off), Some(TxnFate::InProgress));
        assert_eq!(fate(TxnId(cut_off.0 + 1)), None);
        let after = world.fork_crashed();
        drop(open);
        ((committed, undone, cut_off), after)
    });
    after.run(|env| {
        let (committed, undone, cut_off) = ids;
        let engine = Engine::open(env.clone(), &path, options()).unwrap();
        let fate = |id| engine.txn_fate(id);
        assert_eq!(fate(committed), Some(TxnFate::Committed));
        assert_eq!(fate(undone), Some(TxnFate::Aborted));
        assert_eq!(fate(cut_off), Some(TxnFate::Aborted));
        engine.housekeeping().unwrap();
        assert_eq!(fate(cut_off), Some(TxnFate::Aborted), "it was backed out");
        engine.close().unwrap();
        drop(engine);
        let engine = Engine::open(env.clone(), &path, options()).unwrap();
        for id in [committed, undone, cut_off] {
            assert_eq!(engine.txn_fate(id), Some(TxnFate::Unknown), "it is older than the log");
        }
        engine.close().unwrap();
    });
}
