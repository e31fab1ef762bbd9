//! Record locks, serializable transactions, prepared transactions, at the level of storage.

use std::sync::Arc;
use std::time::Duration;

use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{
    CommitMode, Engine, Isolation, LockTarget, LockedRows, RecordLockMode, StorageError, TableLockMode, Txn,
    TxnOptions, TxnState, WaitPolicy,
};

use crate::support::{bump, create, fill, now, options, read, remove, rows, sound};

fn begin(engine: &Engine, isolation: Isolation) -> Txn {
    let mut txn = engine.begin(TxnOptions { isolation, ..TxnOptions::default() });
    txn.set_lock_timeout(Some(Duration::from_millis(5)));
    txn.begin_statement().unwrap();
    txn
}

/// Locks the rows with ids up to `last`.
fn lock(
    heap: &Arc<Heap>,
    txn: &mut Txn,
    last: i64,
    mode: RecordLockMode,
    policy: WaitPolicy,
) -> Result<LockedRows, StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
    let (mut out, mut all) = (ScanBatch::default(), LockedRows::default());
    while scan.next(&mut out)? {
        let ids: Vec<i64> = out.batch.columns[0].data.i64s().unwrap().to_vec();
        let selection: Vec<u32> = (0..ids.len() as u32).filter(|row| ids[*row as usize] <= last).collect();
        let some = heap.lock_records(txn, &out, Some(&selection), mode, policy)?;
        all.locked.extend(some.locked);
        all.changed.extend(some.changed);
        all.gone.extend(some.gone);
        all.skipped.extend(some.skipped);
    }
    Ok(all)
}

#[test]
fn r1_a_locked_record_is_changed_by_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..500);
    let mut locker = begin(&engine, Isolation::ReadCommitted);
    let locked = lock(&heap, &mut locker, 299, RecordLockMode::Share, WaitPolicy::Block).unwrap();
    assert_eq!(locked.locked.len(), 300);
    let held: u32 = engine
        .locks()
        .iter()
        .map(|lock| if let LockTarget::Records { count, .. } = lock.target { count } else { 0 })
        .sum();
    assert_eq!(held, 300);

    let mut other = begin(&engine, Isolation::ReadCommitted);
    let timed_out = bump(&heap, &mut other, "", 1.0, |id| id == 7);
    assert!(matches!(timed_out, Err(StorageError::LockTimeout)), "{timed_out:?}");
    bump(&heap, &mut other, "", 1.0, |id| id >= 300).unwrap();
    // Shared with other lockers, also while writers have what they need beside it.
    let shared = lock(&heap, &mut other, 299, RecordLockMode::KeyShare, WaitPolicy::NoWait).unwrap();
    assert_eq!(shared.locked.len(), 300);
    let denied = lock(&heap, &mut other, 0, RecordLockMode::NoKeyUpdate, WaitPolicy::NoWait);
    assert!(matches!(denied, Err(StorageError::LockNotAvailable)));
    other.abort_statement().unwrap();
    other.rollback().unwrap();

    // The holder itself may.
    bump(&heap, &mut locker, "", 1.0, |id| id == 7).unwrap();
    locker.end_statement().unwrap();
    locker.commit(CommitMode::Wait).unwrap();
    assert_eq!(engine.locks(), []);
    let mut other = begin(&engine, Isolation::ReadCommitted);
    bump(&heap, &mut other, "", 1.0, |_| true).unwrap();
    other.end_statement().unwrap();
    other.commit(CommitMode::Wait).unwrap();
    sound(&engine);
}

#[test]
fn r2_lockers_see_what_writers_have_and_skip_or_find_it_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10);
    let mut writer = begin(&engine, Isolation::ReadCommitted);
    bump(&heap, &mut writer, "", 1.0, |id| id < 3).unwrap();
    remove(&heap, &mut writer, |id| id == 3);
    let mut locker = begin(&engine, Isolation::ReadCommitted);
    // No key has changed, so foreign keys go on; the deleted record is another matter.
    let keys = lock(&heap, &mut locker, 9, RecordLockMode::KeyShare, WaitPolicy::SkipLocked).unwrap();
    assert_eq!((keys.locked.len(), keys.skipped), (9, vec![3]));
    let all = lock(&heap, &mut locker, 9, RecordLockMode::Share, WaitPolicy::SkipLocked).unwrap();
    assert_eq!((all.locked.len(), all.skipped), (6, vec![0, 1, 2, 3]));
    writer.end_statement().unwrap();
    writer.commit(CommitMode::Wait).unwrap();
    let all = lock(&heap, &mut locker, 9, RecordLockMode::Share, WaitPolicy::Block).unwrap();
    assert_eq!((all.locked.len(), all.changed, all.gone), (6, vec![0, 1, 2], vec![3]));
    locker.end_statement().unwrap();
    locker.rollback().unwrap();
    assert_eq!(engine.locks(), []);
}

/// Beyond some thousand pages an owner's locks are those of whole pages, in ranges: others are denied what they were,
/// however sparse the locked records are, and the memory for it stays what it is.
#[test]
fn t3_a_million_locked_records_take_bounded_memory() {
    const ROWS: i64 = 1_000_000;
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..ROWS);
    for sparse in [false, true] {
        let mut locker = begin(&engine, Isolation::ReadCommitted);
        let mut scan = heap.scan(&locker, ScanSpec { columns: &[1], pages: 0..u32::MAX });
        let (mut out, mut locked, mut most) = (ScanBatch::default(), 0, 0);
        while scan.next(&mut out).unwrap() {
            let pages = out.records.iter().enumerate().filter(|(_, record)| {
                !sparse || record.page_index % 2 == 0 && record.page_index.is_multiple_of(7)
            });
            let selection: Vec<u32> = pages.map(|(row, _)| row as u32).collect();
            let (mode, policy) = (RecordLockMode::Update, WaitPolicy::Block);
            locked +=
                heap.lock_records(&mut locker, &out, Some(&selection), mode, policy).unwrap().locked.len();
            most = most.max(engine.record_lock_parts());
        }
        assert!(sparse || locked == ROWS as usize);
        assert!(most <= 5 * 1024, "{most} parts of {locked} locks");
        assert!(sparse || engine.record_lock_parts() == 1);
        let mut other = begin(&engine, Isolation::ReadCommitted);
        let denied = |other: &mut Txn, id: i64| {
            let refused = bump(&heap, other, "", 1.0, |its| its == id);
            matches!(refused, Err(StorageError::LockTimeout))
        };
        assert!(denied(&mut other, 0));
        if !sparse {
            assert!(denied(&mut other, ROWS / 2) && denied(&mut other, ROWS - 1));
        }
        other.abort_statement().unwrap();
        other.rollback().unwrap();
        locker.end_statement().unwrap();
        locker.rollback().unwrap();
        assert_eq!(engine.locks(), []);
    }
    let mut other = begin(&engine, Isolation::ReadCommitted);
    bump(&heap, &mut other, "", 1.0, |id| id == ROWS / 2).unwrap();
    other.end_statement().unwrap();
    other.commit(CommitMode::Wait).unwrap();
}

#[test]
fn t3_a_rollback_to_a_savepoint_gives_back_what_was_locked_since() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..500);
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    lock(&heap, &mut txn, 9, RecordLockMode::Share, WaitPolicy::Block).unwrap();
    txn.end_statement().unwrap();
    let held = |txn: &mut Txn| {
        let seen = lock(&heap, txn, 499, RecordLockMode::Update, WaitPolicy::SkipLocked).unwrap();
        500 - seen.locked.len()
    };
    for round in 0..3 {
        txn.savepoint("a").unwrap();
        txn.begin_statement().unwrap();
        // Some of these it has already, in this mode or another.
        lock(&heap, &mut txn, 99, RecordLockMode::Share, WaitPolicy::Block).unwrap();
        lock(&heap, &mut txn, 4, RecordLockMode::Update, WaitPolicy::Block).unwrap();
        txn.end_statement().unwrap();
        txn.savepoint("b").unwrap();
        txn.begin_statement().unwrap();
        lock(&heap, &mut txn, 199, RecordLockMode::Share, WaitPolicy::Block).unwrap();
        engine.lock_table(&mut txn, heap.object, TableLockMode::Share, WaitPolicy::Block).unwrap();
        txn.end_statement().unwrap();
        if round > 0 {
            // What was locked in a savepoint that is released belongs to the one around it.
            txn.release("b").unwrap();
        }
        let mut other = begin(&engine, Isolation::ReadCommitted);
        assert_eq!(held(&mut other), 200);
        assert!(matches!(
            engine.lock_table(&mut other, heap.object, TableLockMode::RowExclusive, WaitPolicy::NoWait),
            Err(StorageError::LockNotAvailable)
        ));
        other.abort_statement().unwrap();
        other.rollback().unwrap();
        if round == 0 {
            txn.rollback_to("b").unwrap();
            let mut other = begin(&engine, Isolation::ReadCommitted);
            assert_eq!(held(&mut other), 100);
            other.abort_statement().unwrap();
            other.rollback().unwrap();
        }
        txn.rollback_to("a").unwrap();
        let mut other = begin(&engine, Isolation::ReadCommitted);
        assert_eq!(held(&mut other), 10);
        let (object, policy) = (heap.object, WaitPolicy::NoWait);
        assert!(engine.lock_table(&mut other, object, TableLockMode::RowExclusive, policy).unwrap());
        other.abort_statement().unwrap();
        other.rollback().unwrap();
    }
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(engine.locks(), []);
}

#[test]
fn ssi_refuses_write_skew() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..2);
    for (isolation, fails) in [(Isolation::Snapshot, false), (Isolation::Serializable, true)] {
        let mut both: Vec<Txn> = (0..2).map(|_| begin(&engine, isolation)).collect();
        for txn in &both {
            assert_eq!(read(&heap, txn).len(), 2);
        }
        for (id, txn) in both.iter_mut().enumerate() {
            bump(&heap, txn, "", 1.0, |its| its == id as i64).unwrap();
            txn.end_statement().unwrap();
        }
        let ends: Vec<bool> = both.into_iter().map(|txn| txn.commit(CommitMode::Wait).is_err()).collect();
        assert_eq!(ends, [false, fails], "{isolation:?}");
    }
    // Nothing is remembered once nobody overlaps.
    let mut alone = begin(&engine, Isolation::Serializable);
    bump(&heap, &mut alone, "", 1.0, |_| true).unwrap();
    alone.end_statement().unwrap();
    alone.commit(CommitMode::Wait).unwrap();
}

/// So many that they are summed up, while one overlaps them all: its write skew with one of them is found still.
#[test]
fn ssi_remembers_what_it_has_summed_up() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..2);
    let mut long = begin(&engine, Isolation::Serializable);
    assert_eq!(read(&heap, &long).len(), 2);
    for round in 0..700 {
        let mut txn = begin(&engine, Isolation::Serializable);
        assert_eq!(read(&heap, &txn).len(), 2);
        if round == 0 {
            bump(&heap, &mut txn, "", 1.0, |id| id == 1).unwrap();
        }
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    }
    let wrote = bump(&heap, &mut long, "", 1.0, |id| id == 0);
    let end = wrote.and_then(|()| long.end_statement()).and_then(|()| long.commit(CommitMode::Wait));
    assert!(matches!(end, Err(StorageError::Serialization { .. })), "{end:?}");
}

/// Two transactions have each what the other one wants: changed records, records locked one by one, and whole pages.
#[test]
fn t3_a_circle_is_found_whatever_it_is_made_of() {
    type Take = fn(&Arc<Heap>, &mut Txn, i64);
    let changed: Take = |heap, txn, id| bump(heap, txn, "", 1.0, |row| row == id).unwrap();
    let locked: Take = |heap, txn, id| {
        let mut scan = heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
        let mut out = ScanBatch::default();
        while scan.next(&mut out).unwrap() {
            let ids = out.batch.columns[0].data.i64s().unwrap();
            let selection: Vec<u32> = (0..ids.len() as u32).filter(|row| ids[*row as usize] == id).collect();
            heap.lock_records(txn, &out, Some(&selection), RecordLockMode::Update, WaitPolicy::Block)
                .unwrap();
        }
    };
    // Rows of one page, and of two.
    for (others, last) in [(changed, 1), (locked, 1), (locked, 499)] {
        for pages in [false, true] {
            if pages && last == 1 {
                continue; // one lock
            }
            let dir = tempfile::tempdir().unwrap();
            let (engine, heap) = create(dir.path());
            fill(&engine, &heap, 0..500);
            heap.set_page_locks(pages);
            let mut a = begin(&engine, Isolation::ReadCommitted);
            let mut b = begin(&engine, Isolation::ReadCommitted);
            a.set_lock_timeout(None);
            b.set_lock_timeout(Some(Duration::from_secs(60)));
            others(&heap, &mut a, 0);
            others(&heap, &mut b, last);
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| bump(&heap, &mut a, "", 1.0, |id| id == last));
                while engine.locks().iter().all(|lock| lock.granted) {
                    std::thread::yield_now();
                }
                let circle = bump(&heap, &mut b, "", 1.0, |id| id == 0);
                assert!(matches!(circle, Err(StorageError::Deadlock { .. })), "{circle:?}");
                b.rollback().unwrap();
                waiter.join().unwrap().unwrap();
            });
            a.end_statement().unwrap();
            a.commit(CommitMode::Wait).unwrap();
            assert_eq!(engine.locks(), []);
        }
    }
}

#[test]
fn a_prepared_transaction_keeps_its_locks_through_checkpoints_and_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.verso");
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..100);
    let object = heap.object;
    let mut txn = begin(&engine, Isolation::ReadCommitted);
    engine.lock_table(&mut txn, object, TableLockMode::RowExclusive, WaitPolicy::Block).unwrap();
    lock(&heap, &mut txn, 9, RecordLockMode::Update, WaitPolicy::Block).unwrap();
    bump(&heap, &mut txn, "", 1.0, |id| id >= 50).unwrap();
    txn.end_statement().unwrap();
    let id = txn.id().unwrap();
    txn.prepare("p", "me").unwrap();
    let mut engine = Some((engine, heap));
    for round in 0..4 {
        let (running, heap) = engine.take().unwrap();
        assert_eq!(running.txn_state(id), TxnState::Limbo, "round {round}");
        let info = running.prepared();
        assert_eq!((info.len(), &*info[0].name, &*info[0].by, info[0].txn), (1, "p", "me", id));
        assert_eq!(now(&running, &heap), rows(0..100));
        let mut other = begin(&running, Isolation::ReadCommitted);
        for at in [5, 77] {
            let refused = bump(&heap, &mut other, "", 1.0, |id| id == at);
            assert!(
                matches!(refused, Err(StorageError::LockTimeout)),
                "round {round}, row {at}: {refused:?}"
            );
        }
        let strong = running.lock_table(&mut other, object, TableLockMode::Exclusive, WaitPolicy::SkipLocked);
        assert!(!strong.unwrap());
        other.abort_statement().unwrap();
        other.rollback().unwrap();
        running.housekeeping().unwrap();
        if round == 1 {
            running.checkpoint().unwrap();
        }
        sound(&running);
        if round == 2 {
            running.close().unwrap();
        }
        drop(heap);
        drop(running);
        let again = Engine::open(verso_env::Env::real(), &path, options()).unwrap();
        let heap = again.heap(object).unwrap();
        engine = Some((again, heap));
    }
    let (engine, heap) = engine.unwrap();
    engine.commit_prepared("p").unwrap();
    assert!(matches!(engine.commit_prepared("p"), Err(StorageError::NoSuchPrepared(_))));
    assert_eq!(engine.locks(), []);
    let changed = now(&engine, &heap).iter().zip(rows(0..100)).filter(|(new, old)| **new != *old).count();
    assert_eq!(changed, 50);
    sound(&engine);
}
