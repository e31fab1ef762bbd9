use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use verso_env::Env;
use verso_sim::{FaultPlan, World};
use verso_types::Physical;

use super::manager::Request;
use super::table::{LOCKS_MAX, Tag};
use super::*;
use crate::page::{ObjectId, RecordId, TxnId};
use crate::txn::{RestoredTransactions, Transactions};
use crate::{ColumnSpec, CommitMode, Engine, EngineOptions, StorageError, TxnOptions};

const TABLE: ObjectId = ObjectId(1000);
const WAIT: Request = Request { policy: WaitPolicy::Block, timeout: None, passes: false };
const NOW: Request = Request { policy: WaitPolicy::NoWait, timeout: None, passes: false };
const SKIP: Request = Request { policy: WaitPolicy::SkipLocked, timeout: None, passes: false };

fn fresh() -> (Env, Arc<Transactions>, Arc<LockManager>) {
    let env = Env::real();
    let transactions = Arc::new(Transactions::new(RestoredTransactions::default()));
    let manager = LockManager::new(Arc::clone(&transactions), Arc::clone(&env.clock));
    (env, transactions, manager)
}

/// Waits until `count` owners wait.
fn until_waiting(manager: &LockManager, count: usize) {
    while manager.list().iter().filter(|lock| !lock.granted).count() < count {
        std::thread::yield_now();
    }
}

fn begin(transactions: &Transactions, owner: &LockOwner) -> TxnId {
    let id = transactions.begin_write();
    owner.core.begin(id);
    id
}

#[test]
fn weak_table_locks_move_to_the_table_when_a_strong_one_is_wanted() {
    let (_, _, manager) = fresh();
    let (a, b) = (manager.register(1), manager.register(2));
    assert!(manager.lock_table(&a.core, TABLE, TableLockMode::RowExclusive, NOW).unwrap());
    assert!(manager.lock_table(&b.core, TABLE, TableLockMode::AccessShare, NOW).unwrap());
    manager.with_state(|state| assert!(state.tags.is_empty()));
    let refused = manager.lock_table(&b.core, TABLE, TableLockMode::Share, NOW);
    assert!(matches!(refused, Err(StorageError::LockNotAvailable)));
    assert!(!manager.lock_table(&b.core, TABLE, TableLockMode::Share, SKIP).unwrap());
    manager.with_state(|state| assert_eq!(state.held(a.core.id, Tag::Table(TABLE)), 1 << 2));
    manager.end(&a.core);
    assert!(manager.lock_table(&b.core, TABLE, TableLockMode::Share, NOW).unwrap());
    assert!(matches!(
        manager.lock_table(&a.core, TABLE, TableLockMode::RowExclusive, NOW),
        Err(StorageError::LockNotAvailable)
    ));
    assert!(manager.lock_table(&a.core, TABLE, TableLockMode::RowShare, NOW).unwrap());
    manager.end(&b.core);
    manager.end(&a.core);
    assert_eq!(manager.list(), []);
    // Nobody wants a strong one any more, so weak ones stay with their owners again.
    manager.lock_table(&a.core, TABLE, TableLockMode::RowExclusive, NOW).unwrap();
    manager.with_state(|state| assert!(state.tags.is_empty()));
}

#[test]
fn t3_requests_are_served_in_order_and_holders_go_first() {
    let (env, _, manager) = fresh();
    let owners: Vec<_> = (1..=4).map(|session| Arc::new(manager.register(session))).collect();
    let lock = |owner: &LockOwner, mode, request| manager.lock_table(&owner.core, TABLE, mode, request);
    lock(&owners[0], TableLockMode::Share, NOW).unwrap();
    let order = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for (turn, mode) in [(1, TableLockMode::AccessExclusive), (2, TableLockMode::Share)] {
        let (owner, other, order) = (Arc::clone(&owners[turn]), Arc::clone(&manager), Arc::clone(&order));
        threads.push(env.spawn("waiter", move || {
            other.lock_table(&owner.core, TABLE, mode, WAIT).unwrap();
            assert_eq!(order.fetch_add(1, Ordering::SeqCst), turn - 1);
            other.end(&owner.core);
        }));
        until_waiting(&manager, turn);
    }
    // Share would go with the holder's, but the exclusive one was first; the holder itself goes before both.
    assert!(matches!(lock(&owners[3], TableLockMode::Share, NOW), Err(StorageError::LockNotAvailable)));
    lock(&owners[0], TableLockMode::RowExclusive, NOW).unwrap();
    assert_eq!(order.load(Ordering::SeqCst), 0);
    manager.end(&owners[0].core);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_wait_ends_with_the_holder_with_time_or_when_cancelled() {
    let (env, transactions, manager) = fresh();
    let (a, b) = (Arc::new(manager.register(1)), manager.register(2));
    let id = begin(&transactions, &b);
    let short = Request { timeout: Some(Duration::from_millis(1)), ..WAIT };
    assert!(matches!(manager.wait_end(&a.core, (id, manager.seen()), short), Err(StorageError::LockTimeout)));
    let handle = a.cancel_handle();
    let waiter = |result: fn(Result<bool, StorageError>)| {
        let (other, a) = (Arc::clone(&manager), Arc::clone(&a));
        let thread = env.spawn("waiter", move || result(other.wait_end(&a.core, (id, other.seen()), WAIT)));
        until_waiting(&manager, 1);
        thread
    };
    let cancelled = waiter(|result| assert!(matches!(result, Err(StorageError::Cancelled))));
    handle.cancel();
    cancelled.join().unwrap();
    handle.reset();
    let ended = waiter(|result| assert!(result.unwrap()));
    transactions.publish_commit(id);
    manager.end(&b.core);
    ended.join().unwrap();
    assert_eq!(manager.list(), []);
}

#[test]
fn who_sleeps_wakes_with_time_or_when_cancelled() {
    let (env, _, manager) = fresh();
    let owner = Arc::new(manager.register(1));
    owner.sleep(Duration::from_micros(1)).unwrap();
    let handle = owner.cancel_handle();
    let other = Arc::clone(&owner);
    let sleeper = env.spawn("sleeper", move || {
        assert!(matches!(other.sleep(Duration::MAX), Err(StorageError::Cancelled)));
    });
    handle.cancel();
    sleeper.join().unwrap();
}

/// Each of `count` transactions waits for the next; the last closes the cycle.
fn ring(count: usize) {
    let (env, transactions, manager) = fresh();
    let owners: Vec<_> = (0..count).map(|index| Arc::new(manager.register(index as u64 + 1))).collect();
    let ids: Vec<TxnId> = owners.iter().map(|owner| begin(&transactions, owner)).collect();
    let mut waiters = Vec::new();
    for index in 0..count - 1 {
        let (other, transactions) = (Arc::clone(&manager), Arc::clone(&transactions));
        let (owner, id, holder) = (Arc::clone(&owners[index]), ids[index], ids[index + 1]);
        waiters.push(env.spawn("waiter", move || {
            other.wait_end(&owner.core, (holder, other.seen()), WAIT).unwrap();
            transactions.publish_commit(id);
            other.end(&owner.core);
        }));
    }
    until_waiting(&manager, count - 1);
    let last = count - 1;
    match manager.wait_end(&owners[last].core, (ids[0], manager.seen()), WAIT) {
        Err(StorageError::Deadlock { victim, detail }) => {
            assert_eq!(victim, ids[last]);
            assert_eq!(detail.lines().count(), count, "{detail}");
            let first = format!(
                "Session {count} waits for ShareLock on transaction {}; blocked by session 1.",
                ids[0]
            );
            assert_eq!(detail.lines().next(), Some(&first[..]));
        }
        other => panic!("{other:?}"),
    }
    transactions.rolled_back_clean(ids[last]);
    manager.end(&owners[last].core);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    assert_eq!(transactions.active(), []);
}

#[test]
fn a_deadlock_of_two_and_of_three_is_found() {
    ring(2);
    ring(3);
}

#[test]
fn deadlocks_cross_kinds_of_locks() {
    let (env, transactions, manager) = fresh();
    let (a, b) = (Arc::new(manager.register(1)), manager.register(2));
    let id = begin(&transactions, &b);
    let key = Tag::Advisory(AdvisoryKey::Two(1, 2));
    manager.acquire(&a.core, key, TableLockMode::Exclusive as u8, true, NOW).unwrap();
    let (other, waiter) = (Arc::clone(&manager), Arc::clone(&a));
    let thread =
        env.spawn("waiter", move || assert!(other.wait_end(&waiter.core, (id, other.seen()), WAIT).unwrap()));
    until_waiting(&manager, 1);
    let closed = manager.acquire(&b.core, key, TableLockMode::Share as u8, false, WAIT);
    match closed {
        Err(StorageError::Deadlock { detail, .. }) => {
            assert!(detail.contains("advisory lock [1,2]"), "{detail}")
        }
        other => panic!("{other:?}"),
    }
    transactions.publish_commit(id);
    manager.end(&b.core);
    thread.join().unwrap();
    // Of session scope: still there.
    manager.end(&a.core);
    assert_eq!(manager.list().len(), 1);
    assert!(manager.release_one(&a.core, key, TableLockMode::Exclusive as u8));
    assert!(!manager.release_one(&a.core, key, TableLockMode::Exclusive as u8));
    assert_eq!(manager.list(), []);
}

#[test]
fn an_owner_that_goes_leaves_nothing() {
    let (_, _, manager) = fresh();
    let (a, b) = (manager.register(1), manager.register(2));
    let key = Tag::Advisory(AdvisoryKey::One(7));
    for _ in 0..2 {
        manager.acquire(&a.core, key, TableLockMode::Exclusive as u8, true, NOW).unwrap();
    }
    manager.lock_table(&a.core, TABLE, TableLockMode::AccessExclusive, NOW).unwrap();
    assert!(manager.lock_table(&b.core, TABLE, TableLockMode::AccessShare, NOW).is_err());
    drop(a);
    assert_eq!(manager.list(), []);
    manager.lock_table(&b.core, TABLE, TableLockMode::AccessShare, NOW).unwrap();
    manager.acquire(&b.core, key, TableLockMode::Share as u8, true, NOW).unwrap();
}

/// `a` holds SHARE, `b` ROW SHARE; `c` waits for `a`, and `b` behind it. Now `a` wants everything: it goes before `c`, but
/// `b` goes before `a`, for which it does not wait.
#[test]
fn who_holds_what_a_newcomer_wants_goes_before_it_and_hears_of_that() {
    let (env, transactions, manager) = fresh();
    let owners: [_; 3] = std::array::from_fn(|index| Arc::new(manager.register(index as u64 + 1)));
    owners.iter().for_each(|owner| _ = begin(&transactions, owner));
    let [a, b, c] = &owners;
    manager.lock_table(&b.core, TABLE, TableLockMode::RowShare, NOW).unwrap();
    manager.lock_table(&a.core, TABLE, TableLockMode::Share, NOW).unwrap();
    let waits = |owner: &Arc<LockOwner>, mode, count| {
        let (manager, owner) = (Arc::clone(&manager), Arc::clone(owner));
        let waiter = Arc::clone(&manager);
        let thread = env.spawn("waiter", move || {
            assert!(waiter.lock_table(&owner.core, TABLE, mode, WAIT).unwrap());
            waiter.end(&owner.core);
        });
        until_waiting(&manager, count);
        thread
    };
    let second = waits(c, TableLockMode::RowExclusive, 1);
    let first = waits(b, TableLockMode::Share, 2);
    assert!(manager.lock_table(&a.core, TABLE, TableLockMode::AccessExclusive, WAIT).unwrap());
    first.join().unwrap();
    manager.end(&a.core);
    second.join().unwrap();
    assert_eq!(manager.list(), []);
}

/// Threads lock tables and advisory keys in any order and give up where they would wait for ever. The scheduler fails
/// when all of them wait at once: a lost wake-up, or a deadlock that was not found.
#[test]
fn t3_under_the_scheduler_no_wait_is_forgotten() {
    let mut deadlocks = 0;
    for seed in verso_sim::seeds(40) {
        let world = verso_sim::World::new(seed);
        deadlocks += world.run(|env| {
            let transactions = Arc::new(Transactions::new(RestoredTransactions::default()));
            let manager = LockManager::new(Arc::clone(&transactions), Arc::clone(&env.clock));
            let deadlocks = Arc::new(AtomicUsize::new(0));
            let holders: Arc<[AtomicUsize; 3]> = Arc::new([const { AtomicUsize::new(0) }; 3]);
            let threads: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let (manager, transactions) = (Arc::clone(&manager), Arc::clone(&transactions));
                    let (deadlocks, holders) = (Arc::clone(&deadlocks), Arc::clone(&holders));
                    env.spawn("session", move || {
                        let mut rng = verso_sim::Rng::new(seed ^ ((thread + 1) << 20));
                        let owner = manager.register(thread + 1);
                        for _ in 0..12 {
                            let id = begin(&transactions, &owner);
                            let mut exclusive = Vec::new();
                            for _ in 0..1 + rng.below(3) {
                                let table = rng.below(3);
                                let object = ObjectId(1000 + table as u32);
                                let mode = *rng.pick(&TableLockMode::ALL);
                                match manager.lock_table(&owner.core, object, mode, WAIT) {
                                    Ok(got) => assert!(got),
                                    Err(StorageError::Deadlock { .. }) => {
                                        deadlocks.fetch_add(1, Ordering::Relaxed);
                                        break;
                                    }
                                    Err(error) => panic!("{error}"),
                                }
                                if mode >= TableLockMode::ShareRowExclusive && !exclusive.contains(&table) {
                                    let before = holders[table as usize].fetch_add(1, Ordering::Relaxed);
                                    assert_eq!(before, 0, "table {table} has two exclusive holders");
                                    exclusive.push(table);
                                }
                                verso_env::sync::pause_point();
                            }
                            for table in exclusive {
                                holders[table as usize].fetch_sub(1, Ordering::Relaxed);
                            }
                            transactions.publish_commit(id);
                            manager.end(&owner.core);
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(manager.list(), []);
            deadlocks.load(Ordering::Relaxed)
        });
    }
    assert!(deadlocks > 0 || std::env::var_os("SEED").is_some(), "no run has shown a deadlock");
}

/// Whom a record was seen to belong to may have stepped back before he is waited for: he would never come again.
#[test]
fn a_writer_that_stepped_back_since_it_was_seen_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::create(Env::real(), &dir.path().join("t.verso"), EngineOptions::default()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &[]).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    let (_, transactions, manager) = fresh();
    let (a, b) = (manager.register(1), manager.register(2));
    let writer = begin(&transactions, &b);
    let record = RecordId { page_index: 0, slot: 0 };
    let wait = |seen| {
        let place = manager.wait_record(&a.core, &heap, record, RecordLockMode::Update, (writer, seen), NOW);
        place.map(|place| place.is_some())
    };
    let seen = manager.seen();
    assert!(matches!(wait(seen), Err(StorageError::LockNotAvailable)));
    manager.look_again(&b.core);
    assert!(matches!(wait(seen), Ok(true)), "it looks again");
    assert!(matches!(wait(manager.seen()), Err(StorageError::LockNotAvailable)));
}

/// A wait behind somebody who came earlier, and has nothing yet, is no reason to give way: the queue is put into another
/// order (PostgreSQL's deadlock-soft).
#[test]
fn t3_a_circle_is_opened_by_another_order_of_the_queue() {
    let (env, _, manager) = fresh();
    let owners: Vec<_> = (1..=3).map(|session| Arc::new(manager.register(session))).collect();
    let other = ObjectId(1001);
    let (share, exclusive) = (TableLockMode::Share, TableLockMode::AccessExclusive);
    manager.lock_table(&owners[0].core, TABLE, share, NOW).unwrap();
    manager.lock_table(&owners[2].core, other, exclusive, NOW).unwrap();
    let started = Arc::new(AtomicUsize::new(0));
    let go = |owner: usize, object, mode, waiting| {
        let (manager, owner) = (Arc::clone(&manager), Arc::clone(&owners[owner]));
        let (started, of) = (Arc::clone(&started), Arc::clone(&manager));
        let thread = env.spawn("waiter", move || {
            of.lock_table(&owner.core, object, mode, WAIT).unwrap();
            started.fetch_add(1, Ordering::SeqCst);
            of.end(&owner.core);
        });
        until_waiting(&manager, waiting);
        thread
    };
    // 2 waits for 1, 3 stands behind 2 though 1 would let it, and 1 closes the circle.
    let second = go(1, TABLE, exclusive, 1);
    let third = {
        let (manager, owner) = (Arc::clone(&manager), Arc::clone(&owners[2]));
        let of = Arc::clone(&manager);
        let thread = env.spawn("waiter", move || {
            of.lock_table(&owner.core, TABLE, share, WAIT).unwrap();
            of.end(&owner.core);
        });
        until_waiting(&manager, 2);
        thread
    };
    manager.lock_table(&owners[0].core, other, share, WAIT).unwrap();
    assert_eq!(started.load(Ordering::SeqCst), 0, "the second goes last");
    manager.end(&owners[0].core);
    third.join().unwrap();
    second.join().unwrap();
    assert_eq!(manager.list(), []);

    // Who closes the circle may be the one that goes first then.
    manager.lock_table(&owners[0].core, TABLE, share, NOW).unwrap();
    manager.lock_table(&owners[2].core, other, exclusive, NOW).unwrap();
    let second = go(1, TABLE, exclusive, 1);
    let first = go(0, other, share, 2);
    manager.lock_table(&owners[2].core, TABLE, share, WAIT).unwrap();
    manager.end(&owners[2].core);
    first.join().unwrap();
    second.join().unwrap();
    assert_eq!(manager.list(), []);
}

/// The last of many locks is taken and given back as quickly as the first, and there are no more than there is room for.
#[test]
fn advisory_locks_are_as_many_as_there_is_room_for() {
    let (_, _, manager) = fresh();
    let owner = manager.register(1);
    let key = |number: usize| Tag::Advisory(AdvisoryKey::One(number as i64));
    let take = |number| manager.acquire(&owner.core, key(number), TableLockMode::Exclusive as u8, true, NOW);
    assert!((0..LOCKS_MAX).all(|number| take(number).unwrap()));
    assert!(matches!(take(LOCKS_MAX), Err(StorageError::TooManyLocks { .. })));
    assert!(take(7).unwrap(), "what it has already");
    manager.lock_table(&owner.core, TABLE, TableLockMode::AccessExclusive, NOW).unwrap();
    manager.release_session(&owner.core);
    manager.end(&owner.core);
    assert_eq!(manager.list(), []);
    assert!(take(LOCKS_MAX).unwrap());
}

/// P3: what fails before it is logged is rolled back under the transaction's locks.
#[test]
fn a_preparation_that_finds_no_room_in_the_log_keeps_its_locks() {
    let world = World::new(1);
    let path = World::dir().join("t.verso");
    let options = || EngineOptions { background: false, ..EngineOptions::default() };
    let names = |engine: &Engine| {
        engine.locks().into_iter().filter(|lock| lock.target == LockTarget::Name(7)).count()
    };
    world.run(|env| {
        let engine = Engine::create(env.clone(), &path, options()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let columns = [ColumnSpec { id: 1, physical: Physical::I64 }];
        let object = engine.create_heap(&mut txn, &columns).unwrap();
        engine.lock_table(&mut txn, object, TableLockMode::AccessExclusive, WaitPolicy::Block).unwrap();
        txn.lock_name(7, TableLockMode::Exclusive).unwrap();
        let held = engine.locks();
        let capacity_bytes = Some(world.vfs().used_bytes());
        world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
        let (mut taken, mut size) = (Vec::new(), 1 << 20);
        while size > 0 {
            match engine.shared().core().wal.reserve(size) {
                Ok(reserved) => taken.push(reserved),
                Err(_) => size /= 2,
            }
        }
        let refused = crate::txn::prepared::prepare(&mut txn, "n", "me");
        assert!(matches!(refused, Err(StorageError::Full { .. })), "{refused:?}");
        assert_eq!(engine.locks(), held);
        drop(taken);
        world.vfs().set_faults(FaultPlan::default());
        txn.prepare("n", "me").unwrap();
        assert_eq!(names(&engine), 1);
        engine.close().unwrap();
    });
    world.run(|env| {
        let engine = Engine::open(env.clone(), &path, options()).unwrap();
        assert_eq!(names(&engine), 1, "nobody else may make anything of that name yet");
        engine.rollback_prepared("n").unwrap();
        assert_eq!(names(&engine), 0);
    });
}
