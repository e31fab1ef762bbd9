//! Packing by itself, beside those who change the table, and free pages that go back to the database.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use verso_sim::{FaultPlan, World, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{
    CommitMode, Engine, IndexSpec, KeyPart, ObjectId, Packing, RecordId, StorageError, SweepOptions,
    TableSpace, Txn, TxnOptions,
};
use verso_types::KeyType;

use crate::support::{
    COLUMNS, Row, batch, bump, create, fill, now, options, read, remove, rows, sound, try_remove,
};

fn spec(table: ObjectId) -> IndexSpec {
    IndexSpec {
        table,
        parts: vec![KeyPart::ascending(1, KeyType::I64)],
        unique: true,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    }
}

fn index(engine: &Engine, heap: &Heap) {
    let mut txn = engine.begin(TxnOptions::default());
    engine.create_index(&mut txn, spec(heap.object), &mut |_| ControlFlow::Continue(())).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
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

fn space(engine: &Engine, heap: &Heap) -> TableSpace {
    engine.table_space(heap.object).unwrap()
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| row.0);
    rows
}

#[test]
fn cold_pages_are_packed_by_themselves_and_those_that_change_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    index(&engine, &heap);
    fill(&engine, &heap, 0..10_000);
    engine.housekeeping().unwrap();
    assert_eq!(space(&engine, &heap).packed_pages, 0, "nobody has asked for it");
    let before = space(&engine, &heap);
    engine.set_packing(&heap, true);
    engine.set_packing_delay(Duration::from_secs(3600));
    engine.housekeeping().unwrap();
    assert_eq!(space(&engine, &heap).packed_pages, 0, "the pages are not cold");
    engine.set_packing_delay(Duration::ZERO);
    engine.housekeeping().unwrap();
    let packed = space(&engine, &heap);
    assert!(
        packed.packed_pages + 3 > before.data_pages && packed.own_packed == packed.packed_pages,
        "{packed:?}"
    );
    assert!(packed.pages * 2 <= before.pages, "{} pages, then {}", before.pages, packed.pages);
    assert_eq!(now(&engine, &heap), rows(0..10_000));
    sound(&engine);
    // Changed pages are pages of their own until they are cold again.
    engine.set_packing_delay(Duration::from_secs(3600));
    change(&engine, |txn| bump(&heap, txn, "", 1.0, |id| id % 1000 == 7)).unwrap();
    engine.housekeeping().unwrap();
    let changed = space(&engine, &heap);
    assert_eq!((changed.unpacked, packed.packed_pages - changed.packed_pages), (10, 10));
    engine.set_packing_delay(Duration::ZERO);
    engine.housekeeping().unwrap();
    engine.housekeeping().unwrap();
    assert!(space(&engine, &heap).packed_pages >= packed.packed_pages);
    // A table at rest costs nothing: no page is packed, and nothing is logged.
    let logged = engine.logged();
    let again = space(&engine, &heap);
    engine.housekeeping().unwrap();
    assert_eq!((engine.logged(), space(&engine, &heap).own_packed), (logged, again.own_packed));
    sound(&engine);
}

#[test]
fn pages_are_packed_beside_those_who_read_and_change_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    index(&engine, &heap);
    fill(&engine, &heap, 0..4000);
    engine.set_packing(&heap, true);
    engine.set_packing_delay(Duration::ZERO);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (engine, heap, done) = (&engine, &heap, &done);
        let writers: Vec<_> = (0..3)
            .map(|part| {
                scope.spawn(move || {
                    for step in 0..40 {
                        let mine = move |id: i64| id % 3 == part;
                        match step % 4 {
                            0 => {
                                let first = 10_000 * (part + 1) + step * 100;
                                change(engine, |txn| {
                                    heap.insert(txn, &batch(&rows(first..first + 60)), None)
                                })
                                .unwrap();
                            }
                            1 => change(engine, |txn| {
                                bump(heap, txn, "", 1.0, |id| mine(id) && id % 400 == step * 3)
                            })
                            .unwrap(),
                            2 => {
                                let mut txn = engine.begin(TxnOptions::default());
                                txn.begin_statement().unwrap();
                                bump(heap, &mut txn, "gone", 5.0, |id| mine(id) && id % 300 == step).unwrap();
                                remove(heap, &mut txn, |id| mine(id) && id % 500 == step);
                                txn.end_statement().unwrap();
                                txn.rollback().unwrap();
                            }
                            _ => {
                                change(engine, |txn| try_remove(heap, txn, |id| mine(id) && id % 700 == step))
                                    .unwrap()
                            }
                        }
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                engine.housekeeping().unwrap();
            }
        });
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let found = now(engine, heap);
                assert!(found.iter().filter(|row| row.0 % 2100 == 1).count() >= 2);
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    // What each writer has done to its rows, one step behind the other.
    let mut expected: Vec<Row> = Vec::new();
    for part in 0..3 {
        let mut its: Vec<Row> = rows(0..4000).into_iter().filter(|row| row.0 % 3 == part).collect();
        for step in (0..40).filter(|step| step % 4 == 0) {
            let first = 10_000 * (part + 1) + step * 100;
            expected.extend(rows(first..first + 60));
        }
        for step in 0..40 {
            match step % 4 {
                1 => its.iter_mut().filter(|row| row.0 % 400 == step * 3).for_each(|row| row.2 += 1.0),
                3 => its.retain(|row| row.0 % 700 != step),
                _ => {}
            }
        }
        expected.append(&mut its);
    }
    // Rows above 4000 are everybody's: only the sum of what happened to them is known from the steps.
    let (found, expected) = (sorted(now(&engine, &heap)), sorted(expected));
    let low = |rows: &[Row]| rows.iter().filter(|row| row.0 < 4000).cloned().collect::<Vec<_>>();
    assert_eq!(low(&found), low(&expected));
    assert!(space(&engine, &heap).own_packed > 0);
    engine.housekeeping().unwrap();
    sound(&engine);
}

#[test]
fn free_pages_go_back_to_the_database_and_rows_come_to_pages_without_records() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    index(&engine, &heap);
    fill(&engine, &heap, 0..20_000);
    change(&engine, |txn| try_remove(&heap, txn, |id| id >= 100)).unwrap();
    engine.housekeeping().unwrap();
    let (before, free) = (space(&engine, &heap), engine.space().free_pages);
    let shrink = || {
        let mut txn = engine.begin(TxnOptions::default());
        engine.shrink(&mut txn, heap.object, SweepOptions::default(), &mut || Ok(())).unwrap()
    };
    let done = shrink();
    let after = space(&engine, &heap);
    assert!(done.freed > 0 && after.pages * 5 < before.pages, "{done:?}: {before:?}, then {after:?}");
    assert!(engine.space().free_pages >= free + (before.pages - after.pages));
    assert_eq!(now(&engine, &heap), rows(0..100));
    sound(&engine);
    // Once more there is little left to do.
    shrink();
    assert!(space(&engine, &heap).pages <= after.pages);
    // The data pages that are left without records are used again.
    fill(&engine, &heap, 100..20_000);
    assert_eq!(space(&engine, &heap).data_pages, before.data_pages);
    assert_eq!(sorted(now(&engine, &heap)), rows(0..20_000));
    sound(&engine);
}

/// Sweeps as SWEEP and VACUUM do; how many pages were given back.
fn sweep(engine: &Engine) -> Result<u64, StorageError> {
    let options = SweepOptions { waits: true, gives_back: true, ..SweepOptions::default() };
    engine.sweep(options, &mut |_| ControlFlow::Continue(())).map(|report| report.pages_freed)
}

/// The rows with their names.
fn named(engine: &Engine, heap: &Arc<Heap>) -> Vec<(RecordId, i64)> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let (mut all, mut found) = (Vec::new(), ScanBatch::default());
    let mut scan = heap.scan(&txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
    while scan.next(&mut found).unwrap() {
        let ids = found.batch.columns[0].data.i64s().unwrap().iter().copied();
        all.extend(found.records.iter().copied().zip(ids));
    }
    all
}

#[test]
fn a_sweep_gives_whole_units_of_a_table_and_its_indexes_back_and_no_row_moves() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    index(&engine, &heap);
    fill(&engine, &heap, 0..20_000);
    let long = |id: i64| (id, Some("x".repeat(400_000)), 0.0);
    change(&engine, |txn| heap.insert(txn, &batch(&[long(50_000), long(50_001)]), None)).unwrap();
    change(&engine, |txn| try_remove(&heap, txn, |id| id >= 100 && id % 5000 != 4999)).unwrap();
    engine.housekeeping().unwrap();
    let (before, free) = (space(&engine, &heap), engine.space().free_pages);
    let left = named(&engine, &heap);
    assert_eq!(left.len(), 104);
    // One that starts by itself gives nothing back.
    let own = SweepOptions::default();
    assert_eq!(engine.sweep(own, &mut |_| ControlFlow::Continue(())).unwrap().pages_freed, 0);
    assert_eq!(engine.space().free_pages, free);
    let freed = sweep(&engine).unwrap();
    let after = space(&engine, &heap);
    assert!(after.pages * 3 < before.pages, "{before:?}, then {after:?}");
    let of_table = before.pages - after.pages;
    assert!(
        freed > of_table,
        "{freed} pages, of which {of_table} of the table: those of the index go back, too"
    );
    // Packed pages may have taken a unit.
    assert!(engine.space().free_pages + 8 >= free + freed);
    assert_eq!(named(&engine, &heap), left);
    sound(&engine);
    // Nothing is looked at, or logged, where nothing has changed since.
    sweep(&engine).unwrap();
    let logged = engine.logged();
    assert_eq!(sweep(&engine).unwrap(), 0);
    let swept = engine.logged().0 - logged.0;
    assert!(swept < 1000, "{swept} bytes");
    // Pages without records are used again.
    fill(&engine, &heap, 100_000..110_000);
    assert!(space(&engine, &heap).data_pages <= before.data_pages);
    sound(&engine);
}

#[test]
fn pages_go_back_beside_those_who_read_and_change_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    index(&engine, &heap);
    fill(&engine, &heap, 0..300);
    let (done, freed) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (engine, heap, done, freed) = (&engine, &heap, &done, &freed);
        let writers: Vec<_> = (1..4)
            .map(|part| {
                scope.spawn(move || {
                    for round in 0..12 {
                        let first = part * 100_000 + round * 1000;
                        let mine = move |id: i64| id / 100_000 == part && id % 1000 != 7;
                        change(engine, |txn| heap.insert(txn, &batch(&rows(first..first + 900)), None))
                            .unwrap();
                        change(engine, |txn| bump(heap, txn, "", 1.0, |id| mine(id) && id % 90 == 1))
                            .unwrap();
                        change(engine, |txn| try_remove(heap, txn, mine)).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                engine.housekeeping().unwrap();
                freed.fetch_add(sweep(engine).unwrap(), Ordering::Relaxed);
            }
        });
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let found = now(engine, heap);
                assert_eq!(found.iter().filter(|row| row.0 < 300).count(), 300);
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    engine.housekeeping().unwrap();
    freed.fetch_add(sweep(&engine).unwrap(), Ordering::Relaxed);
    assert!(freed.load(Ordering::Relaxed) > 0);
    let kept = (1..4).flat_map(|part| (0..12).map(move |round| part * 100_000 + round * 1000 + 7));
    let mut expected = rows(0..300);
    kept.for_each(|id| expected.extend(rows(id..id + 1)));
    assert_eq!(sorted(now(&engine, &heap)), expected);
    sound(&engine);
}

/// Long values that are gone leave chains of pages, which are given back like any others.
#[test]
fn pages_of_long_values_that_are_gone_go_back_to_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10);
    let long = |id: i64| (id, Some("x".repeat(400_000 + id as usize)), 0.0);
    let values: Vec<Row> = (100..112).map(long).collect();
    change(&engine, |txn| heap.insert(txn, &batch(&values), None)).unwrap();
    let full = space(&engine, &heap);
    change(&engine, |txn| try_remove(&heap, txn, |id| id >= 100 && id != 105)).unwrap();
    engine.housekeeping().unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let done = engine.shrink(&mut txn, heap.object, SweepOptions::default(), &mut || Ok(())).unwrap();
    drop(txn);
    let after = space(&engine, &heap);
    assert!(done.freed > 900 && after.pages + 900 < full.pages, "{done:?}: {full:?}, then {after:?}");
    let mut expected = rows(0..10);
    expected.push(long(105));
    assert_eq!(now(&engine, &heap), expected);
    sound(&engine);
}

fn shrink(engine: &Engine, heap: &Heap) -> u64 {
    let mut txn = engine.begin(TxnOptions::default());
    engine.shrink(&mut txn, heap.object, SweepOptions::default(), &mut || Ok(())).unwrap().freed
}

/// A version of a transaction that was rolled back still names the long value that went back to its record.
#[test]
fn what_an_undone_version_names_may_have_gone_back_to_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let mut txn = engine.begin(TxnOptions::default());
    let other = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let other = engine.heap(other).unwrap();
    // Versions of one transaction at a time on a page.
    [&heap, &other].into_iter().for_each(|heap| heap.set_colocation(true));
    let long: Row = (1, Some("x".repeat(400_000)), 0.0);
    change(&engine, |txn| heap.insert(txn, &batch(&[long]), None)).unwrap();
    // The file has the value, and keeps it where pages that go back are dropped unwritten.
    engine.checkpoint().unwrap();
    let mut undone = engine.begin(TxnOptions::default());
    undone.begin_statement().unwrap();
    bump(&heap, &mut undone, "short", 1.0, |_| true).unwrap();
    undone.end_statement().unwrap();
    undone.rollback().unwrap();
    // The page of its version stays in use.
    let mut stays = engine.begin(TxnOptions::default());
    stays.begin_statement().unwrap();
    other.insert(&mut stays, &batch(&rows(1..2)), None).unwrap();
    stays.end_statement().unwrap();
    change(&engine, |txn| bump(&heap, txn, "short", 1.0, |_| true)).unwrap();
    engine.housekeeping().unwrap();
    assert!(shrink(&engine, &heap) > 50);
    sound(&engine);
    // Neither when others have the pages, nor when the table has them again.
    fill(&engine, &other, 1000..6000);
    sound(&engine);
    fill(&engine, &heap, 1000..6000);
    sound(&engine);
    assert!(engine.damaged_pages().is_empty(), "{:?}", engine.damaged_pages());
    stays.commit(CommitMode::Wait).unwrap();
    engine.housekeeping().unwrap();
    sound(&engine);
}

#[test]
fn a_crash_while_pages_are_packed_by_themselves_or_given_back_loses_nothing() {
    crash_while(|engine, object| {
        let mut txn = engine.begin(TxnOptions::default());
        engine.shrink(&mut txn, object, SweepOptions::default(), &mut || Ok(())).map(drop)
    });
}

#[test]
fn a_crash_while_a_sweep_gives_pages_back_loses_nothing() {
    crash_while(|engine, _| sweep(engine).map(drop));
}

/// Lives with changes, packing, and what gives pages back, the power failing somewhere.
fn crash_while(give_back: impl Fn(&Engine, ObjectId) -> Result<(), StorageError>) {
    let mut cut = 0;
    for seed in seeds(24) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let path = World::dir().join("t.verso");
        let object = world.run(|env| {
            let engine = Engine::create(env.clone(), &path, options()).unwrap();
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
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            let heap: Arc<Heap> = engine.heap(object).unwrap();
            engine.set_packing(&heap, true);
            engine.set_packing_delay(Duration::ZERO);
            let power_off_at_op = Some(rng.between(5, 160));
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let mut work = || -> Result<(), StorageError> {
                for round in 0..6 {
                    engine.housekeeping()?;
                    if rng.one_in(2) {
                        engine.checkpoint()?;
                    }
                    let which = |id: i64| id % 500 == round * 7;
                    let mut next = states.last().unwrap().clone();
                    next.iter_mut().filter(|row| which(row.0)).for_each(|row| row.2 += 1.0);
                    states.push(next);
                    change(&engine, |txn| bump(&heap, txn, "", 1.0, which))?;
                    let gone = |id: i64| id / 300 == round + 1;
                    let mut next = states.last().unwrap().clone();
                    next.retain(|row| !gone(row.0));
                    states.push(next);
                    change(&engine, |txn| try_remove(&heap, txn, gone))?;
                    if rng.one_in(2) {
                        give_back(&engine, object)?;
                    }
                }
                Ok(())
            };
            cut += u32::from(work().is_err());
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            let heap = engine.heap(object).unwrap();
            let found = now(&engine, &heap);
            let known: Vec<&Vec<Row>> = states.iter().rev().take(2).collect();
            assert!(known.contains(&&found), "seed {seed}: an acknowledged commit, or the one under way");
            sound(&engine);
            engine.set_packing(&heap, true);
            engine.set_packing_delay(Duration::ZERO);
            engine.housekeeping().unwrap();
            assert_eq!(now(&engine, &heap), found, "seed {seed}");
            sound(&engine);
            engine.close().unwrap();
        });
    }
    assert!(cut > 8, "only {cut} lives were cut off");
}

/// Whoever still needs older versions keeps the pages as they are.
#[test]
fn pages_with_versions_that_a_snapshot_needs_are_not_packed_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..3000);
    let mut old =
        engine.begin(TxnOptions { isolation: verso_storage::Isolation::Snapshot, ..TxnOptions::default() });
    old.begin_statement().unwrap();
    let before = read(&heap, &old);
    change(&engine, |txn| bump(&heap, txn, "x", 1.0, |id| id >= 1500)).unwrap();
    engine.set_packing(&heap, true);
    engine.set_packing_delay(Duration::ZERO);
    engine.housekeeping().unwrap();
    let first = space(&engine, &heap);
    assert!(first.packed_pages > 10 && first.data_pages > first.packed_pages + 10, "{first:?}");
    assert_eq!(read(&heap, &old), before);
    drop(old);
    change(&engine, |txn| bump(&heap, txn, "", 0.0, |id| id == 3)).unwrap();
    engine.housekeeping().unwrap();
    engine.housekeeping().unwrap();
    assert!(space(&engine, &heap).packed_pages > first.packed_pages + 10);
    sound(&engine);
}

/// Rows whose names share words.
fn wordy(range: std::ops::Range<i64>) -> Vec<Row> {
    const WORDS: [&str; 9] =
        ["carefully", "ironic", "deposits", "sleep", "furiously", "among", "the", "pending", "packages"];
    let word = |id: i64, at: i64| WORDS[((id * 7 + at * at * 3 + id / 5) % 9) as usize];
    let name =
        |id: i64| (0..6).map(|at| word(id, at)).collect::<Vec<_>>().join(" ") + &format!(" {}", id % 7919);
    range.map(|id| (id, (id % 11 != 0).then(|| name(id)), id as f64)).collect()
}

fn repack(engine: &Engine, heap: &Heap) -> Packing {
    let mut txn = engine.begin(TxnOptions::default());
    engine.repack(&mut txn, heap.object, SweepOptions::default(), &mut || Ok(())).unwrap()
}

#[test]
fn texts_take_less_with_a_dictionary_which_is_made_anew_with_the_packed_pages() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    index(&engine, &heap);
    let all = wordy(0..12_000);
    change(&engine, |txn| heap.insert(txn, &batch(&all), None)).unwrap();
    let pack = || {
        let mut txn = engine.begin(TxnOptions::default());
        engine.pack(&mut txn, heap.object, SweepOptions::default(), &mut || Ok(())).unwrap()
    };
    let plain = space(&engine, &heap);
    let trained = {
        let mut txn = engine.begin(TxnOptions::default());
        engine.create_dictionary(&mut txn, heap.object, &mut || Ok(())).unwrap()
    };
    assert!(trained.columns == 1 && trained.encoded * 2 < trained.sampled, "{trained:?}");
    pack();
    assert_eq!(space(&engine, &heap).packed_pages, plain.data_pages);
    change(&engine, |txn| bump(&heap, txn, "", 0.0, |id| id % 500 == 5)).unwrap();
    repack(&engine, &heap);
    let with = space(&engine, &heap);
    assert!(with.pages * 3 < plain.pages, "{with:?} of {plain:?}");
    assert_eq!(with.dictionary_pages, 1, "the first one is not needed any more");
    assert_eq!(now(&engine, &heap), all);
    sound(&engine);
    // Changes unpack, and are packed again with the dictionary there is.
    change(&engine, |txn| bump(&heap, txn, "!", 1.0, |id| id % 900 == 5)).unwrap();
    let mut expected = all.clone();
    for row in expected.iter_mut().filter(|row| row.0 % 900 == 5) {
        row.1 = row.1.take().map(|name| name + "!");
        row.2 += 1.0;
    }
    assert_eq!(now(&engine, &heap), expected);
    engine.housekeeping().unwrap();
    pack();
    assert_eq!(now(&engine, &heap), expected);
    sound(&engine);
    let object = heap.object;
    engine.close().unwrap();
    drop((heap, engine));
    let engine = Engine::open(verso_env::Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    let heap = engine.heap(object).unwrap();
    assert_eq!(now(&engine, &heap), expected);
    sound(&engine);
    // A damaged dictionary is told of, whoever needs it.
    engine.close().unwrap();
    drop((heap, engine));
    let path = dir.path().join("t.verso");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut damaged = Vec::new();
    for (page, bytes) in (0..).zip(bytes.chunks_exact_mut(4096)).filter(|(_, bytes)| bytes[4] == 15) {
        bytes[100] ^= 1;
        damaged.push(verso_storage::PageId(page));
    }
    std::fs::write(&path, bytes).unwrap();
    let engine = Engine::open(verso_env::Env::real(), &path, options()).unwrap();
    let heap = engine.heap(object).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let mut scan = heap.scan(&txn, verso_storage::heap::ScanSpec { columns: &[1, 3], pages: 0..u32::MAX });
    let mut out = verso_storage::heap::ScanBatch::default();
    while scan.next(&mut out).unwrap() {}
    let mut scan = heap.scan(&txn, verso_storage::heap::ScanSpec { columns: &[2], pages: 0..u32::MAX });
    let found = scan.next(&mut out);
    assert!(matches!(&found, Err(StorageError::Corrupt { page, .. }) if damaged.contains(page)), "{found:?}");
    assert!(!engine.check(&mut |_| ()).unwrap().problems.is_empty());
}
