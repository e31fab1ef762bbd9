//! Indexes that are built while others write (`index/filling.rs`): writers step in between the pages of the scan and between
//! the entries that are added.

use verso_sim::{FaultPlan, Rng, World, seeds};
use verso_storage::JobLimits;

use super::*;

/// A third index: on the third column, or unique on the first two.
fn third(table: ObjectId, unique: bool) -> IndexSpec {
    let parts = match unique {
        true => vec![KeyPart::ascending(3, KeyType::I32), KeyPart::ascending(1, KeyType::I64)],
        false => vec![KeyPart::ascending(3, KeyType::I32), KeyPart::ascending(2, KeyType::Bytes)],
    };
    IndexSpec { table, parts, unique, nulls_distinct: true, fill_factor: IndexSpec::FILL_FACTOR }
}

/// Three sessions that go on while the index is built: each step is a statement of one of them, or the end of its
/// transaction. Each has rows of its own, so that none waits for another.
struct Writers<'t> {
    table: &'t Table,
    open: [Option<Txn>; 3],
    next: i64,
}

impl<'t> Writers<'t> {
    fn new(table: &'t Table) -> Writers<'t> {
        Writers { table, open: [const { None }; 3], next: 2000 }
    }

    fn step(&mut self, rng: &mut Rng) {
        let table = self.table;
        let at = rng.below(3) as usize;
        let mut txn = match self.open[at].take() {
            Some(txn) => txn,
            None => table.engine.begin(TxnOptions::default()),
        };
        let id = rng.below(500) as i64 * 3 + at as i64;
        match rng.below(10) {
            0 => {
                self.next += 1;
                let id = self.next * 1000;
                table.insert(&mut txn, &fill(id..id + rng.between(1, 20) as i64)).unwrap();
            }
            1..=5 => {
                let columns: &[u16] = [&[2][..], &[3], &[2, 3]][rng.below(3) as usize];
                let amount = rng.below(7) as i32;
                let new = (id, Some(format!("to {amount}")), amount);
                if self.is_there(&mut txn, id) {
                    table.update(&mut txn, id, &new, columns).unwrap();
                }
            }
            6 => {
                if self.is_there(&mut txn, id) {
                    table.delete(&mut txn, id).unwrap();
                }
            }
            7 => {
                // A statement that is taken back.
                txn.begin_statement().unwrap();
                self.next += 1;
                table.heap.insert(&mut txn, &batch(&[row(self.next * 1000)]), None).unwrap();
                txn.abort_statement().unwrap();
            }
            8 => return txn.rollback().unwrap(),
            _ => {
                txn.commit(CommitMode::Wait).unwrap();
                if rng.below(3) == 0 {
                    table.engine.housekeeping().unwrap();
                }
                return;
            }
        }
        self.open[at] = Some(txn);
    }

    fn is_there(&self, txn: &mut Txn, id: i64) -> bool {
        txn.begin_statement().unwrap();
        let mut out = ScanBatch::default();
        let there = self.table.heap.get(txn, &self.table.primary, &id_key(id), &[1], &mut out).unwrap();
        txn.end_statement().unwrap();
        there
    }

    fn end(self) {
        for txn in self.open.into_iter().flatten() {
            txn.commit(CommitMode::Wait).unwrap();
        }
    }
}

/// The index holds what a snapshot's rows say.
fn same_through(table: &Table, index: &Arc<Index>, txn: &Txn) {
    let mut rows = table.rows(txn);
    let mut through = table.through(txn, index, KeyRange::all(), false);
    assert!(through.is_sorted_by_key(|row| row.2));
    rows.sort();
    through.sort();
    assert_eq!(through, rows);
}

#[test]
fn b3_an_index_built_beside_writers_has_what_their_rows_have() {
    let mut in_files = 0;
    for seed in seeds(30) {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(seed);
        let mut rng = world.rng();
        let table = Table::new(dir.path(), &fill(0..1500), true);
        let before = table.begin();
        let mut writers = Writers::new(&table);
        // Some have begun before.
        for _ in 0..40 {
            writers.step(&mut rng);
        }
        let mut txn = table.engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        if seed % 2 == 0 {
            in_files += 1;
            txn.set_job_limits(
                JobLimits { workers: 1, memory_bytes: 24 << 10, ..JobLimits::default() },
                None,
            );
        }
        let spec = third(table.heap.object, seed % 3 == 0);
        let built = table.engine.create_index_concurrently(&mut txn, spec, "third", &mut |_| {
            for _ in 0..rng.below(12) {
                writers.step(&mut rng);
            }
            ControlFlow::Continue(())
        });
        let index = table.engine.index(built.unwrap()).unwrap();
        txn.end_statement().unwrap();
        for _ in 0..20 {
            writers.step(&mut rng);
        }
        txn.commit(CommitMode::Wait).unwrap();
        // A snapshot from before the index reads the same through it.
        same_through(&table, &index, &before);
        for _ in 0..60 {
            writers.step(&mut rng);
        }
        writers.end();
        same_through(&table, &index, &before);
        before.rollback().unwrap();
        table.settled();
        let mut txn = table.engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        same_through(&table, &index, &txn);
    }
    assert!(in_files > 0);
}

#[test]
fn b5_a_key_that_two_records_have_is_found_by_the_later_comer() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..1500), true);
    let unique = |columns: &[u16]| IndexSpec {
        table: table.heap.object,
        parts: columns
            .iter()
            .map(|column| {
                KeyPart::ascending(*column, if *column == 3 { KeyType::I32 } else { KeyType::Bytes })
            })
            .collect(),
        unique: true,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    };
    // Two that were there before.
    let mut txn = table.begin();
    let error = table.engine.create_index_concurrently(&mut txn, unique(&[3]), "u", &mut go_on).unwrap_err();
    assert!(matches!(error, StorageError::Unique { .. }), "{error}");
    txn.rollback().unwrap();
    assert_eq!(table.heap.indexes.list().len(), 2);
    table.settled();
    // One that comes while the scan is at work, of a record that the scan has passed, and of one that it has not.
    let mut writer = table.begin();
    for id in 0..1500 {
        table.update(&mut writer, id, &(id, Some(format!("only {id}")), 0), &[2]).unwrap();
    }
    writer.commit(CommitMode::Wait).unwrap();
    for (first, second) in [(2, 1400), (1400, 2)] {
        let mut txn = table.begin();
        let mut writer = Some(table.begin());
        let mut calls = 0;
        let built = table.engine.create_index_concurrently(&mut txn, unique(&[2]), "u", &mut |_| {
            calls += 1;
            if calls == 5
                && let Some(mut writer) = writer.take()
            {
                let name = Some(format!("only {second}"));
                let result = table.update(&mut writer, first, &(first, name, 0), &[2]);
                match result {
                    Ok(()) => writer.commit(CommitMode::NoWait).map(drop).unwrap(),
                    Err(StorageError::Unique { index, .. }) => {
                        let label = table.engine.index(index).unwrap().label().cloned();
                        assert_eq!(label.as_deref(), Some("u"));
                        writer.rollback().unwrap();
                        return ControlFlow::Break(());
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            ControlFlow::Continue(())
        });
        let error = built.unwrap_err();
        assert!(matches!(error, StorageError::Unique { .. } | StorageError::Cancelled), "{error}");
        txn.rollback().unwrap();
        let mut back = table.begin();
        table.update(&mut back, first, &(first, Some(format!("only {first}")), 0), &[2]).unwrap();
        back.commit(CommitMode::Wait).unwrap();
        table.settled();
    }
    // Nothing is left of those that failed: the index is made, and refuses.
    let mut txn = table.begin();
    let made = table.engine.create_index_concurrently(&mut txn, unique(&[2]), "u", &mut go_on).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let mut txn = table.begin();
    let refused = table.update(&mut txn, 3, &(3, Some("only 4".into()), 0), &[2]).unwrap_err();
    assert!(matches!(refused, StorageError::Unique { index, .. } if index == made));
    txn.rollback().unwrap();
    table.settled();
}

/// A purge has looked at a record and not yet taken its key out when the record gets the key back: the index that is being
/// filled has no such entry yet.
#[test]
fn b4_a_key_that_comes_back_while_an_index_is_filled_stays() {
    for seed in seeds(20) {
        let dir = tempfile::tempdir().unwrap();
        let world = World::new(seed);
        let mut rng = world.rng();
        let table = Table::new(dir.path(), &fill(0..600), true);
        let set = |amount: i32| {
            let mut txn = table.begin();
            for id in (0..600).step_by(3) {
                table.update(&mut txn, id, &(id, None, amount), &[3]).unwrap();
            }
            txn.commit(CommitMode::NoWait).unwrap();
        };
        set(5);
        let mut txn = table.engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        let spec = third(table.heap.object, false);
        let built = table.engine.create_index_concurrently(&mut txn, spec, "third", &mut |_| {
            if rng.below(6) == 0 {
                set(rng.below(2) as i32);
                table.engine.housekeeping().unwrap();
            }
            ControlFlow::Continue(())
        });
        let index = table.engine.index(built.unwrap()).unwrap();
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        table.settled();
        let mut txn = table.engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        same_through(&table, &index, &txn);
    }
}

/// The power goes while an index is built beside writers: their work stays, and nothing of the index (B7).
#[test]
fn b7_after_a_crash_nothing_is_left_of_an_index_that_was_being_filled() {
    for seed in seeds(6) {
        let world = World::new(seed);
        let path = World::dir().join("t.verso");
        let mut rng = world.rng();
        let object = world.run(|env| {
            let engine = Engine::create(env.clone(), &path, options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            engine.heap(object).unwrap().insert(&mut txn, &batch(&fill(0..2000)), None).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            engine.close().unwrap();
            object
        });
        let committed = world.run(|env| {
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            let heap = engine.heap(object).unwrap();
            let mut committed = 0;
            let mut txn = engine.begin(TxnOptions::default());
            let stop = rng.between(3, 60);
            let mut calls = 0;
            let spec = third(object, true);
            let _ = engine.create_index_concurrently(&mut txn, spec, "third", &mut |_| {
                calls += 1;
                if calls == stop {
                    world.vfs().set_faults(FaultPlan { power_off_at_op: Some(1), ..FaultPlan::default() });
                }
                let mut writer = engine.begin(TxnOptions::default());
                let row = row(10_000 + calls as i64);
                let done = heap
                    .insert(&mut writer, &batch(&[row]), None)
                    .and_then(|()| writer.commit(CommitMode::Wait).map(drop));
                committed += i64::from(done.is_ok());
                if calls == stop {
                    engine.checkpoint().ok();
                }
                ControlFlow::Continue(())
            });
            committed
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            let heap = engine.heap(object).unwrap();
            // A double key is refused by nobody, back-out or not.
            assert!(heap.indexes.list().is_empty(), "seed {seed}");
            let mut txn = engine.begin(TxnOptions::default());
            heap.insert(&mut txn, &batch(&[row(1), row(1)]), None).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            engine.housekeeping().unwrap();
            let report = engine.check(&mut |_| ()).unwrap();
            assert!(report.problems.is_empty(), "seed {seed}: {:?}", report.problems);
            let mut txn = engine.begin(TxnOptions::default());
            txn.begin_statement().unwrap();
            let mut scan = heap.scan(&txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
            let (mut out, mut rows) = (ScanBatch::default(), 0);
            while scan.next(&mut out).unwrap() {
                rows += out.batch.rows as i64;
            }
            // The one that the power cut off may be on disk, too.
            assert!(
                (committed..=committed + 1).contains(&(rows - 2002)),
                "seed {seed}: {rows} and {committed}"
            );
        });
    }
}
