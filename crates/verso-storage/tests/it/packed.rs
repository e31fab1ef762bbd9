//! Packed pages: tables whose data pages share pages, what reads and changes them, crashes.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use verso_env::Env;
use verso_sim::{FaultPlan, World, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::index::key;
use verso_storage::{
    CommitMode, Engine, IndexSpec, Isolation, KeyPart, ObjectId, Packing, RecordId, RecordLockMode,
    StorageError, SweepOptions, Txn, TxnOptions, WaitPolicy,
};
use verso_types::{KeyType, Value};

use crate::support::{
    COLUMNS, Row, batch, bump, create, fill, now, options, read, remove, rows, rows_of, sound, try_remove,
};

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

fn pack(engine: &Engine, heap: &Heap) -> Packing {
    engine
        .pack(&mut engine.begin(TxnOptions::default()), heap.object, SweepOptions::default(), &mut || Ok(()))
        .unwrap()
}

fn spec(table: ObjectId) -> IndexSpec {
    IndexSpec {
        table,
        parts: vec![KeyPart::ascending(1, KeyType::I64)],
        unique: true,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    }
}

fn change(
    engine: &Engine,
    body: impl FnOnce(&mut Txn) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement()?;
    body(&mut txn)?;
    txn.end_statement()?;
    txn.commit(CommitMode::Wait)
}

/// What rows are after [`bump`].
fn bumped(mut rows: Vec<Row>, suffix: &str, by: f64, which: impl Fn(i64) -> bool) -> Vec<Row> {
    for (_, name, amount) in rows.iter_mut().filter(|row| which(row.0)) {
        *name = name.take().map(|name| name + suffix);
        *amount += by;
    }
    rows
}

#[test]
fn a_packed_table_takes_less_space_and_reads_and_changes_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let mut txn = engine.begin(TxnOptions::default());
    engine.create_index(&mut txn, spec(heap.object), &mut |_| ControlFlow::Continue(())).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    fill(&engine, &heap, 0..20_000);
    let before = engine.table_space(heap.object).unwrap();
    let packing = pack(&engine, &heap);
    let after = engine.table_space(heap.object).unwrap();
    assert!(packing.packed > 200 && packing.freed > 100, "{packing:?}");
    assert_eq!((after.packed_pages, after.packed_into), (packing.packed, packing.made));
    assert!(after.pages * 2 <= before.pages, "{} pages, then {}", before.pages, after.pages);
    assert_eq!(after.swept_pages, after.data_pages);
    assert_eq!(now(&engine, &heap), rows(0..20_000));
    sound(&engine);
    assert_eq!(
        pack(&engine, &heap),
        Packing { left: packing.left, ..Packing::default() },
        "nothing is left to do"
    );
    // By key and by record.
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let index = Arc::clone(&heap.indexes.list()[0]);
    let mut out = ScanBatch::default();
    for id in [0i64, 77, 9_999, 19_999] {
        let mut its = Vec::new();
        key::encode_row(&index.spec().parts, &[&batch(&rows(id..id + 1)).columns[0]], 0, &mut its).unwrap();
        assert!(heap.get(&txn, &index, &its, &[1, 2, 3], &mut out).unwrap());
        assert_eq!(rows_of(&out), rows(id..id + 1));
        let record = out.records[0];
        assert!(heap.fetch(&txn, record, &[1, 2, 3], &mut out).unwrap());
        assert_eq!(rows_of(&out), rows(id..id + 1));
        assert!(!heap.fetch(&txn, RecordId { slot: 60_000, ..record }, &[1], &mut out).unwrap());
    }
    // Some columns of it.
    let mut scan = heap.scan(&txn, ScanSpec { columns: &[3], pages: 0..u32::MAX });
    let mut sum = 0.0;
    while scan.next(&mut out).unwrap() {
        for row in 0..out.batch.rows {
            let Value::Float8(amount) = out.batch.columns[0].value(row, &verso_types::SqlType::Float8) else {
                panic!("an amount")
            };
            sum += amount;
        }
    }
    assert_eq!(sum, (0..20_000).map(|id| f64::from(id) / 2.0).sum::<f64>());
    txn.end_statement().unwrap();
    drop((txn, scan));
    // Changes, with the older version for an older snapshot.
    let mut old = engine.begin(TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() });
    old.begin_statement().unwrap();
    change(&engine, |txn| bump(&heap, txn, "!", 1.0, |id| id % 2000 == 3)).unwrap();
    change(&engine, |txn| try_remove(&heap, txn, |id| id % 4000 == 5)).unwrap();
    let mut expected = bumped(rows(0..20_000), "!", 1.0, |id| id % 2000 == 3);
    expected.retain(|row| row.0 % 4000 != 5);
    assert_eq!(now(&engine, &heap), expected);
    assert_eq!(read(&heap, &old), rows(0..20_000));
    drop(old);
    let changed = engine.table_space(heap.object).unwrap();
    assert!(changed.packed_pages < after.packed_pages && changed.packed_pages + 20 > after.packed_pages);
    sound(&engine);
    // A key that is there is refused, one that is gone is not; rolled back, it is as it was.
    let twice = change(&engine, |txn| heap.insert(txn, &batch(&rows(50..51)), None));
    assert!(matches!(twice, Err(StorageError::Unique { .. })), "{twice:?}");
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    heap.insert(&mut txn, &batch(&rows(5..6)), None).unwrap();
    bump(&heap, &mut txn, "gone", 1.0, |id| (300..400).contains(&id)).unwrap();
    remove(&heap, &mut txn, |id| (400..500).contains(&id));
    txn.end_statement().unwrap();
    txn.rollback().unwrap();
    assert_eq!(now(&engine, &heap), expected);
    sound(&engine);
    // An index that is built over them finds them; a restart, too.
    let mut txn = engine.begin(TxnOptions::default());
    let names =
        IndexSpec { parts: vec![KeyPart::ascending(2, KeyType::Bytes)], unique: false, ..spec(heap.object) };
    engine.create_index(&mut txn, names, &mut |_| ControlFlow::Continue(())).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    sound(&engine);
    // What was unpacked is packed again, and its garbage is gone.
    engine.housekeeping().unwrap();
    pack(&engine, &heap);
    assert_eq!(now(&engine, &heap), expected);
    let again = engine.table_space(heap.object).unwrap();
    assert!(again.packed_pages >= after.packed_pages, "{again:?} after {after:?}");
    sound(&engine);
    let object = heap.object;
    engine.close().unwrap();
    drop((heap, engine));
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    assert_eq!(now(&engine, &engine.heap(object).unwrap()), expected);
    sound(&engine);
}

#[test]
fn pages_that_a_snapshot_still_needs_are_not_packed() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..3000);
    let mut old = engine.begin(TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() });
    old.begin_statement().unwrap();
    let before = read(&heap, &old);
    change(&engine, |txn| bump(&heap, txn, "x", 1.0, |id| id >= 1500)).unwrap();
    let first = pack(&engine, &heap);
    assert!(first.packed > 10 && first.left > 10, "{first:?}");
    assert_eq!(read(&heap, &old), before);
    drop(old);
    engine.housekeeping().unwrap();
    let second = pack(&engine, &heap);
    assert!(second.packed > 10, "{second:?}");
    assert_eq!(now(&engine, &heap), bumped(rows(0..3000), "x", 1.0, |id| id >= 1500));
    sound(&engine);
}

/// A page whose packed rows nearly all have left is packed anew with others.
#[test]
fn packed_pages_that_have_lost_their_parts_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..20_000);
    pack(&engine, &heap);
    let packed = engine.table_space(heap.object).unwrap();
    // All pages but some are unpacked.
    change(&engine, |txn| bump(&heap, txn, "", 1.0, |id| id % 1000 > 70)).unwrap();
    let spread = engine.table_space(heap.object).unwrap();
    assert!(spread.packed_pages * 3 < packed.packed_pages && spread.pages > packed.pages, "{spread:?}");
    engine.housekeeping().unwrap();
    let packing = pack(&engine, &heap);
    let again = engine.table_space(heap.object).unwrap();
    assert!(
        again.packed_pages + 4 > packed.packed_pages && again.packed_into <= packed.packed_into + 4,
        "{packing:?}"
    );
    assert_eq!(now(&engine, &heap), bumped(rows(0..20_000), "", 1.0, |id| id % 1000 > 70));
    sound(&engine);
}

/// Who locks a record of a packed page keeps others from changing it, which unpacks it.
#[test]
fn records_of_packed_pages_are_locked_where_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..2000);
    pack(&engine, &heap);
    let packed = engine.table_space(heap.object).unwrap().packed_pages;
    let mut locker = engine.begin(TxnOptions::default());
    locker.begin_statement().unwrap();
    let mut out = ScanBatch::default();
    let mut scan = heap.scan(&locker, ScanSpec { columns: &[1, 2, 3], pages: 0..1 });
    assert!(scan.next(&mut out).unwrap());
    heap.lock_records(&mut locker, &out, Some(&[0]), RecordLockMode::Update, WaitPolicy::Block).unwrap();
    assert_eq!(
        engine.table_space(heap.object).unwrap().packed_pages,
        packed,
        "reading and locking unpack nothing"
    );
    let mut other = engine.begin(TxnOptions::default());
    other.begin_statement().unwrap();
    let denied = heap.lock_records(&mut other, &out, Some(&[0]), RecordLockMode::Update, WaitPolicy::NoWait);
    assert!(matches!(denied, Err(StorageError::LockNotAvailable)), "{denied:?}");
    drop(other);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| change(&engine, |txn| bump(&heap, txn, "y", 1.0, |id| id == 0)));
        while engine.table_space(heap.object).unwrap().packed_pages == packed {
            std::thread::yield_now();
        }
        assert!(!waits.is_finished());
        locker.end_statement().unwrap();
        locker.rollback().unwrap();
        waits.join().unwrap().unwrap();
    });
    assert_eq!(now(&engine, &heap)[..2], bumped(rows(0..2), "y", 1.0, |id| id == 0));
    sound(&engine);
}

/// While some change rows all over a packed table, others read it: each sees every row once.
#[test]
fn readers_find_pages_that_are_unpacked_under_them() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..6000);
    pack(&engine, &heap);
    let packed = engine.table_space(heap.object).unwrap().packed_pages;
    std::thread::scope(|scope| {
        for part in 0..3 {
            let (engine, heap) = (&engine, &heap);
            scope.spawn(move || {
                for id in (0..6000).filter(|id| id % 90 == part * 30) {
                    change(engine, |txn| bump(heap, txn, "", 1.0, |other| other == id)).unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..60 {
                    let found = now(&engine, &heap);
                    assert!(found.iter().map(|row| row.0).eq(0..6000), "{} rows", found.len());
                }
            });
        }
    });
    assert!(engine.table_space(heap.object).unwrap().packed_pages < packed / 4);
    assert_eq!(now(&engine, &heap), bumped(rows(0..6000), "", 1.0, |id| id % 30 == 0));
    sound(&engine);
}

#[test]
fn a_crash_while_pages_are_packed_or_unpacked_loses_nothing() {
    let mut cut = 0;
    for seed in seeds(24) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let object = world.run(|env| {
            let engine = Engine::create(env.clone(), &path(), options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            engine.create_index(&mut txn, spec(object), &mut |_| ControlFlow::Continue(())).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            fill(&engine, &engine.heap(object).unwrap(), 0..3000);
            engine.close().unwrap();
            object
        });
        let mut states = vec![rows(0..3000)];
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            let power_off_at_op = Some(rng.between(5, 160));
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let mut work = || -> Result<(), StorageError> {
                for round in 0..6 {
                    engine.pack(
                        &mut engine.begin(TxnOptions::default()),
                        object,
                        SweepOptions::default(),
                        &mut || Ok(()),
                    )?;
                    if rng.one_in(2) {
                        engine.checkpoint()?;
                    }
                    let which = |id: i64| id % 500 == round * 7;
                    states.push(bumped(states.last().unwrap().clone(), "u", 1.0, which));
                    change(&engine, |txn| bump(&heap, txn, "u", 1.0, which))?;
                    engine.housekeeping()?;
                }
                Ok(())
            };
            cut += u32::from(work().is_err());
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            let found = now(&engine, &heap);
            let known: Vec<&Vec<Row>> = states.iter().rev().take(2).collect();
            assert!(known.contains(&&found), "seed {seed}: an acknowledged commit, or the one under way");
            sound(&engine);
            pack(&engine, &heap);
            assert_eq!(now(&engine, &heap), found, "seed {seed}");
            sound(&engine);
            engine.close().unwrap();
        });
    }
    assert!(cut > 8, "only {cut} lives were cut off");
}

/// Packing that is cancelled leaves what is done, and goes on the next time.
#[test]
fn packing_may_be_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..5000);
    let before = engine.table_space(heap.object).unwrap().pages;
    let stopped = engine.pack(
        &mut engine.begin(TxnOptions::default()),
        heap.object,
        SweepOptions::default(),
        &mut || Err(StorageError::Cancelled),
    );
    assert!(matches!(stopped, Err(StorageError::Cancelled)));
    let mut calls = 0;
    let stopped = engine.pack(
        &mut engine.begin(TxnOptions::default()),
        heap.object,
        SweepOptions::default(),
        &mut || {
            calls += 1;
            if calls > 40 { Err(StorageError::Cancelled) } else { Ok(()) }
        },
    );
    // What was done until then stays, whole.
    assert_eq!(now(&engine, &heap), rows(0..5000));
    sound(&engine);
    let packing = pack(&engine, &heap);
    assert!(stopped.is_ok() || packing.packed > 0);
    assert!(engine.table_space(heap.object).unwrap().pages < before);
    assert_eq!(now(&engine, &heap), rows(0..5000));
    sound(&engine);
}
