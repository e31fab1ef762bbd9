//! V9: old versions between long snapshots are merged, and their pages go.

use std::sync::Arc;

use verso_sim::{Rng, World, seeds};
use verso_storage::heap::Heap;
use verso_storage::{CommitMode, Engine, IndexSpec, Isolation, KeyPart, SweepOptions, Txn, TxnOptions};
use verso_types::KeyType;

use crate::rules::{SNAPSHOT, statement};
use crate::support::{COLUMNS, Row, bump, create, fill, now, options, read, rows, sound};

/// One update of some rows, committed.
fn change(engine: &Engine, heap: &Arc<Heap>, suffix: &str, by: f64, which: impl Fn(i64) -> bool) {
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(heap, txn, suffix, by, which).unwrap());
    txn.commit(CommitMode::Wait).unwrap();
}

fn snapshot(engine: &Engine, isolation: Isolation) -> Txn {
    let mut txn = engine.begin(TxnOptions { isolation, ..SNAPSHOT });
    statement(&mut txn, |_| ());
    txn
}

#[test]
fn v9_versions_between_long_snapshots_take_bounded_space_and_snapshots_read_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..20);
    let mut held: Vec<(Txn, Vec<Row>)> = Vec::new();
    let mut most = 0;
    for round in 0..2000_u32 {
        if round % 500 == 0 {
            held.push((snapshot(&engine, Isolation::Snapshot), now(&engine, &heap)));
        }
        // Sometimes all rows of the page at once, sometimes another column, too.
        let suffix = if round % 7 == 0 { "x" } else { "" };
        let hot = i64::from(round % 3);
        change(&engine, &heap, &suffix[..usize::from(round < 300 && !suffix.is_empty())], 1.0, |id| {
            id == hot || round % 40 == 0
        });
        if round % 20 == 0 {
            engine.housekeeping().unwrap();
            most = most.max(engine.space().version_pages);
        }
        if round % 100 == 99 {
            held.iter().for_each(|(txn, rows)| assert_eq!(&read(&heap, txn), rows, "round {round}"));
        }
    }
    assert!(most < 25, "{most} version pages");
    assert!(engine.statistics().merged_entries > 1000, "{}", engine.statistics().merged_entries);
    sound(&engine);
    drop(held);
    engine.housekeeping().unwrap();
    assert_eq!(engine.space().version_pages, 0);
    sound(&engine);
}

#[test]
fn v9_what_a_serializable_reader_may_have_to_learn_of_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..2);
    let merged = || engine.statistics().merged_entries;
    let work = |rounds| (0..rounds).for_each(|_| change(&engine, &heap, "", 1.0, |id| id == 0));
    let reader = snapshot(&engine, Isolation::Serializable);
    work(100);
    assert_eq!(merged(), 0);
    assert_eq!(read(&heap, &reader), rows(0..2));
    drop(reader);
    let plain = snapshot(&engine, Isolation::Snapshot);
    work(100);
    assert!(merged() > 0);
    // A state between snapshots cannot be asked for any more.
    let number = plain.snapshot_number();
    assert_eq!(number, None);
    let mut other = engine.begin(SNAPSHOT);
    let newest = engine.begin(TxnOptions::default()).export_snapshot().unwrap();
    let newest = u64::from_str_radix(newest.split('-').nth(1).unwrap(), 16).unwrap();
    assert!(other.import_snapshot(&(newest - 50).to_string()).is_err());
    other.import_snapshot(&newest.to_string()).unwrap();
}

#[test]
fn v9_a_change_that_is_undone_leaves_the_merged_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..5);
    let reader = snapshot(&engine, Isolation::Snapshot);
    let mut expected = rows(0..5);
    for round in 0..200 {
        change(&engine, &heap, "", 1.0, |id| id == 1);
        expected[1].2 += 1.0;
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| bump(&heap, txn, "", 5.0, |id| id <= 1).unwrap());
        txn.savepoint("s").unwrap();
        statement(&mut txn, |txn| bump(&heap, txn, "y", 5.0, |_| true).unwrap());
        if round % 3 == 0 {
            txn.rollback_to("s").unwrap();
        }
        txn.rollback().unwrap();
        assert_eq!(now(&engine, &heap), expected, "round {round}");
    }
    assert!(engine.statistics().merged_entries > 100);
    assert_eq!(read(&heap, &reader), rows(0..5));
    sound(&engine);
}

/// Work with snapshots that are held, cut off in the middle of a change whose chains were just merged: after the power
/// cut everything that was committed is there, and the rest can be backed out.
#[test]
fn v9_a_power_cut_leaves_records_with_what_was_committed() {
    for seed in seeds(6) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        let path = World::dir().join("t.verso");
        let mut expected = rows(0..30);
        let (object, after) = world.run(|env| {
            let engine = Engine::create(env.clone(), &path, options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let heap = engine.heap(object).unwrap();
            fill(&engine, &heap, 0..30);
            let mut held = vec![(snapshot(&engine, Isolation::Snapshot), rows(0..30))];
            for _ in 0..100 + rng.below(200) {
                let (first, count) = (rng.below(30) as i64, *rng.pick(&[1, 1, 4, 30]));
                let which = |id: i64| id >= first && id < first + count;
                change(&engine, &heap, "", 1.0, which);
                expected.iter_mut().filter(|row| which(row.0)).for_each(|row| row.2 += 1.0);
                match rng.below(30) {
                    0 => held.push((snapshot(&engine, Isolation::Snapshot), expected.clone())),
                    1 => engine.checkpoint().unwrap(),
                    2 => engine.housekeeping().unwrap(),
                    3 if held.len() > 2 => drop(held.remove(rng.index(held.len()))),
                    4 => {
                        held.iter().for_each(|(txn, rows)| assert_eq!(&read(&heap, txn), rows, "seed {seed}"))
                    }
                    _ => {}
                }
            }
            assert!(engine.statistics().merged_entries > 0, "seed {seed}");
            let mut txn = engine.begin(TxnOptions::default());
            statement(&mut txn, |txn| bump(&heap, txn, "z", 7.0, |id| id % 2 == 0).unwrap());
            // In the log, as another commit is behind it; perhaps in the file, too.
            fill(&engine, &heap, 30..31);
            expected.extend(rows(30..31));
            if rng.one_in(2) {
                engine.checkpoint().unwrap();
            }
            (object, world.fork_crashed())
        });
        after.run(|env| {
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            let heap = engine.heap(object).unwrap();
            assert_eq!(now(&engine, &heap), expected, "seed {seed}");
            engine.sweep(SweepOptions::default(), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
            engine.housekeeping().unwrap();
            assert_eq!(now(&engine, &heap), expected, "seed {seed}");
            assert_eq!(engine.space().version_pages, 0, "seed {seed}");
            sound(&engine);
        });
    }
}

#[test]
fn v9_keys_that_only_merged_versions_had_go_and_those_of_snapshots_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..5);
    let mut txn = engine.begin(TxnOptions::default());
    let parts = vec![KeyPart::ascending(3, KeyType::F64)];
    let spec = IndexSpec {
        table: heap.object,
        parts,
        unique: false,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    };
    let goes_on = &mut |_| std::ops::ControlFlow::Continue(());
    let index = engine.create_index(&mut txn, spec, goes_on).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let index = engine.index(index).unwrap();
    let reader = snapshot(&engine, Isolation::Snapshot);
    for round in 0..400 {
        change(&engine, &heap, "", 100.0, |id| id == 1);
        if round % 50 == 0 {
            engine.housekeeping().unwrap();
        }
    }
    engine.housekeeping().unwrap();
    let entries = |txn: &Txn| index.statistics(txn).unwrap().entries;
    let txn = engine.begin(TxnOptions::default());
    assert!(entries(&txn) < 120, "{} entries of 406 keys", entries(&txn));
    assert_eq!(read(&heap, &reader), rows(0..5));
    sound(&engine);
    drop((reader, txn));
    engine.housekeeping().unwrap();
    let txn = engine.begin(TxnOptions::default());
    assert_eq!(entries(&txn), 5);
    sound(&engine);
}
