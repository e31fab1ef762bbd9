//! Tables through the engine: what one transaction does and what others see.

use std::ops::ControlFlow;

use verso_env::Env;
use verso_sim::World;
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::{
    CommitMode, Engine, EngineOptions, IndexSpec, Isolation, KeyPart, ObjectId, StorageError, SweepOptions,
    Txn, TxnOptions, TxnState,
};
use verso_types::{Batch, Column, KeyType, Physical};

use crate::support::{COLUMNS, Row, batch, bump, create, fill, now, options, read, remove, rows, sound};

#[test]
fn rows_come_back_and_survive_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..2000);
    assert_eq!(now(&engine, &heap), rows(0..2000));
    let object: ObjectId = heap.object;
    for clean in [true, false] {
        sound(&engine);
        if clean {
            engine.close().unwrap();
        }
    }
    drop((engine, heap));
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    let heap = engine.heap(object).unwrap();
    fill(&engine, &heap, 2000..2100);
    drop((heap, engine)); // as a crash
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    let heap = engine.heap(object).unwrap();
    let mut found = now(&engine, &heap);
    found.sort_by_key(|row| row.0);
    assert_eq!(found, rows(0..2100));
    sound(&engine);
}

#[test]
fn values_of_another_form_than_the_column_s_are_refused_before_anything_changes() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10);
    let other = |rows: usize, form: Physical| {
        let mut column = Column::new(form);
        column.push_nulls(rows);
        column
    };
    for count in [1, 5] {
        let mut txn = engine.begin(TxnOptions::default());
        let good = batch(&rows(20..20 + count));
        let mut bad = good.clone();
        bad.columns[1] = other(good.rows, Physical::I64);
        let refused = heap.insert(&mut txn, &bad, None).unwrap_err();
        assert!(
            matches!(refused, StorageError::OtherForm { column: 2, found: Physical::I64, .. }),
            "{refused}"
        );
        let mut scan = heap.scan(&txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
        let mut out = ScanBatch::default();
        assert!(scan.next(&mut out).unwrap());
        let picked: Vec<u32> = (0..count as u32).collect();
        let values = Batch::from_columns(vec![other(picked.len(), Physical::I128)]);
        let refused = heap.update(&mut txn, &out, Some(&picked), &[3], &values).unwrap_err();
        assert!(
            matches!(refused, StorageError::OtherForm { column: 3, found: Physical::I128, .. }),
            "{refused}"
        );
        // The transaction goes on.
        heap.insert(&mut txn, &good, None).unwrap();
        txn.rollback().unwrap();
    }
    assert_eq!(now(&engine, &heap), rows(0..10));
    sound(&engine);
}

#[test]
fn v2_snapshots_see_the_past_through_passes_of_updates() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..500);
    let snapshot = TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() };
    let mut old = engine.begin(snapshot);
    old.begin_statement().unwrap();
    for pass in 0..5 {
        let mut txn = engine.begin(TxnOptions { savepoints: pass % 2 == 0, ..TxnOptions::default() });
        for _ in 0..2 {
            txn.begin_statement().unwrap();
            bump(&heap, &mut txn, "x", 1.0, |id| id % 3 != pass).unwrap();
            txn.end_statement().unwrap();
        }
        assert_eq!(read(&heap, &old), rows(0..500), "pass {pass}, before its commit");
        txn.commit(CommitMode::Wait).unwrap();
        engine.housekeeping().unwrap();
        assert_eq!(read(&heap, &old), rows(0..500), "pass {pass}");
        sound(&engine);
    }
    assert!(engine.space().version_pages > 0);
    drop(old);
    engine.housekeeping().unwrap();
    assert_eq!(engine.space().version_pages, 0, "V4: nobody needs them");
    let expected = |(id, name, amount): Row| {
        let times = (0..5).filter(|pass| id % 3 != *pass).count() * 2;
        (id, name.map(|name| name + &"x".repeat(times)), amount + times as f64)
    };
    assert_eq!(now(&engine, &heap), rows(0..500).into_iter().map(expected).collect::<Vec<_>>());
}

#[test]
fn f2_savepoints_restore_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..300);
    let mut txn = engine.begin(TxnOptions::default());
    let statement = |txn: &mut Txn, suffix: &str| {
        txn.begin_statement().unwrap();
        bump(&heap, txn, suffix, 1.0, |id| id % 2 == 0).unwrap();
        txn.end_statement().unwrap();
    };
    statement(&mut txn, "a");
    let after_a = {
        txn.begin_statement().unwrap();
        let rows = read(&heap, &txn);
        txn.end_statement().unwrap();
        rows
    };
    txn.savepoint("s").unwrap();
    statement(&mut txn, "b");
    txn.savepoint("t").unwrap();
    statement(&mut txn, "c");
    txn.begin_statement().unwrap();
    remove(&heap, &mut txn, |id| id < 50);
    heap.insert(&mut txn, &batch(&rows(1000..1100)), None).unwrap();
    txn.end_statement().unwrap();
    txn.rollback_to("s").unwrap();
    txn.begin_statement().unwrap();
    assert_eq!(read(&heap, &txn), after_a);
    bump(&heap, &mut txn, "lost", 1.0, |_| true).unwrap();
    txn.abort_statement().unwrap();
    txn.begin_statement().unwrap();
    assert_eq!(read(&heap, &txn), after_a);
    txn.end_statement().unwrap();
    sound(&engine);
    txn.rollback().unwrap();
    assert_eq!(now(&engine, &heap), rows(0..300));
    sound(&engine);
}

#[test]
fn f5_a_dead_transaction_is_stepped_over_at_once_and_backed_out_by_sweep() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    engine.set_auto_backout(false);
    fill(&engine, &heap, 0..300);
    let mut txn = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
    for _ in 0..5 {
        txn.begin_statement().unwrap();
        bump(&heap, &mut txn, "1", 1.0, |_| true).unwrap();
        txn.end_statement().unwrap();
    }
    heap.insert(&mut txn, &batch(&rows(5000..5100)), None).unwrap();
    remove(&heap, &mut txn, |id| id < 10);
    let id = txn.id().unwrap();
    txn.rollback().unwrap();
    assert_eq!(engine.txn_state(id), TxnState::Dead);
    assert_eq!(now(&engine, &heap), rows(0..300));
    let before = engine.markers();
    fill(&engine, &heap, 300..310);
    assert_eq!(engine.markers().oit, before.oit, "OIT stands still");
    assert_eq!(before.oit, id);
    let report = engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.after.oit > id);
    assert_eq!(engine.txn_state(id), TxnState::Committed);
    sound(&engine);
    let mut found = now(&engine, &heap);
    found.sort_by_key(|row| row.0);
    assert_eq!(found, rows(0..310));
    let space = engine.table_space(heap.object).unwrap();
    assert!(space.swept_pages > 0, "{space:?}");
}

/// Housekeeping that would begin one of its own has nothing to report.
#[test]
fn who_closes_a_database_does_not_wait_until_a_large_change_is_backed_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.verso");
    let resting = EngineOptions { background: true, ..options() };
    let (engine, heap) = create(dir.path());
    let object = heap.object;
    fill(&engine, &heap, 0..60_000);
    engine.close().unwrap();
    drop((engine, heap));
    let engine = Engine::open(Env::real(), &path, resting).unwrap();
    let heap = engine.heap(object).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "lost", 1.0, |_| true).unwrap();
    txn.end_statement().unwrap();
    let id = txn.id().unwrap();
    txn.rollback().unwrap();
    engine.close().unwrap();
    drop((engine, heap));
    // A thousand pages and more: housekeeping rests most of the time, and closing does 512 at most.
    let engine = Engine::open(Env::real(), &path, options()).unwrap();
    let heap = engine.heap(object).unwrap();
    assert_eq!(engine.txn_state(id), TxnState::Dead);
    assert_eq!(sorted(now(&engine, &heap)), rows(0..60_000));
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_ne!(engine.txn_state(id), TxnState::Dead);
    assert_eq!(sorted(now(&engine, &heap)), rows(0..60_000));
    sound(&engine);
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| row.0);
    rows
}

#[test]
fn a_sweep_that_is_due_while_one_runs_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    engine.set_auto_backout(false);
    engine.set_sweep_interval(1);
    fill(&engine, &heap, 0..10);
    let due = || {
        let mut txn = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
        txn.begin_statement().unwrap();
        bump(&heap, &mut txn, "", 1.0, |_| true).unwrap();
        txn.end_statement().unwrap();
        txn.rollback().unwrap();
        (0..3).for_each(|i| fill(&engine, &heap, 10 * i..10 * i + 10));
        let markers = engine.markers();
        assert!(markers.ost.0 - markers.oit.0 > 1, "{markers:?}");
    };
    let mut asked = false;
    let sweep = &mut |_| {
        if !std::mem::replace(&mut asked, true) {
            due();
            engine.housekeeping().unwrap();
        }
        ControlFlow::Continue(())
    };
    engine.sweep(SweepOptions::default(), sweep).unwrap();
    assert!(asked);
}

#[test]
fn a_crash_leaves_the_unfinished_dead_and_large_values_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let long = |id: i64| "long ".repeat(1000 + id as usize);
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let many: Vec<Row> = (0..20).map(|id| (id, Some(long(id)), 0.0)).collect();
    heap.insert(&mut txn, &batch(&many), None).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "!", 1.0, |id| id % 2 == 0).unwrap();
    engine.checkpoint().unwrap();
    // What is on disk now is what a crash would leave.
    let (from, to) = (dir.path().join("t.verso"), dir.path().join("copy.verso"));
    std::fs::copy(&from, &to).unwrap();
    std::fs::create_dir(dir.path().join("copy.verso-wal")).unwrap();
    for file in std::fs::read_dir(dir.path().join("t.verso-wal")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), dir.path().join("copy.verso-wal").join(file.file_name())).unwrap();
    }
    let id = txn.id().unwrap();
    let again = Engine::open(Env::real(), &to, options()).unwrap();
    let heap_again = again.heap(heap.object).unwrap();
    assert_eq!(again.txn_state(id), TxnState::Dead);
    assert_eq!(now(&again, &heap_again), many);
    sound(&again);
    again.housekeeping().unwrap();
    assert_eq!(again.txn_state(id), TxnState::Committed, "backed out");
    assert_eq!(now(&again, &heap_again), many);
    sound(&again);
    txn.end_statement().unwrap();
    txn.rollback().unwrap();
    assert_eq!(now(&engine, &heap), many);
    sound(&engine);
}

#[test]
fn t1_first_updater_wins_and_drops_come_after_the_horizon() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..100);
    let snapshot = TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() };
    let mut late = engine.begin(snapshot);
    late.begin_statement().unwrap();
    let mut first = engine.begin(snapshot);
    first.begin_statement().unwrap();
    bump(&heap, &mut first, "1", 1.0, |id| id == 5).unwrap();
    first.end_statement().unwrap();
    first.commit(CommitMode::Wait).unwrap();
    let conflict = bump(&heap, &mut late, "2", 1.0, |id| id == 5);
    assert!(matches!(conflict, Err(verso_storage::StorageError::Conflict { .. })), "{conflict:?}");
    late.abort_statement().unwrap();
    late.begin_statement().unwrap();
    let mut dropping = engine.begin(TxnOptions::default());
    engine.drop_object(&mut dropping, heap.object).unwrap();
    dropping.commit(CommitMode::Wait).unwrap();
    engine.housekeeping().unwrap();
    assert_eq!(read(&heap, &late), rows(0..100), "an older snapshot still reads the dropped table");
    let free = engine.space().free_pages;
    drop(late);
    engine.housekeeping().unwrap();
    assert!(engine.space().free_pages > free);
    assert!(engine.heap(heap.object).is_err());
}

#[test]
fn after_a_sweep_an_insert_looks_at_no_page_in_vain_and_finds_what_has_room() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10_000);
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "", 1.0, |_| true).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let sweep = || engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    sweep();
    let pages = u64::from(heap.page_count());
    assert!(pages > 80, "{pages}");
    let fetches = || engine.statistics().pool.fetches;
    let before = fetches();
    fill(&engine, &heap, 10_000..10_001);
    assert!(fetches() - before < 20, "{} fetches for one record", fetches() - before);
    // All records of one page go; their slots are found again, also by a sweep that has nothing else to do there.
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    remove(&heap, &mut txn, |id| (3000..3200).contains(&id));
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    sweep();
    engine.close().unwrap();
    let object = heap.object;
    drop((engine, heap));
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    let heap = engine.heap(object).unwrap();
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    let pages = heap.page_count();
    fill(&engine, &heap, 3000..3200);
    assert_eq!(heap.page_count(), pages);
    sound(&engine);
}

/// S8, P2: wherever in the file they stand.
#[test]
fn a_thousand_small_tables_take_single_pages_and_give_them_back() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..100);
    let used = |engine: &Engine| engine.space().total_pages - engine.space().free_pages;
    let begun = used(&engine);
    let make = |engine: &Engine| {
        let mut txn = engine.begin(TxnOptions::default());
        let mut objects = Vec::new();
        for _ in 0..1000 {
            let table = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            let spec = IndexSpec {
                table,
                parts: vec![KeyPart::ascending(1, KeyType::I64)],
                unique: true,
                nulls_distinct: true,
                fill_factor: IndexSpec::FILL_FACTOR,
            };
            let index = engine.create_index(&mut txn, spec, &mut |_| ControlFlow::Continue(())).unwrap();
            objects.push((table, index));
        }
        (txn, objects)
    };
    let (txn, objects) = make(&engine);
    txn.commit(CommitMode::Wait).unwrap();
    // A page of each table and one of its key, which has no tree yet; pages of versions and page maps are few.
    let taken = used(&engine) - begun;
    assert!((2000..2100).contains(&taken), "{taken}");
    for (table, _) in objects.iter().step_by(100) {
        fill(&engine, &engine.heap(*table).unwrap(), 0..300);
    }
    sound(&engine);
    drop((heap, engine)); // as a crash
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    for (table, _) in objects.iter().step_by(100) {
        assert_eq!(now(&engine, &engine.heap(*table).unwrap()), rows(0..300));
    }
    sound(&engine);
    // Those of a transaction that is rolled back, and those that are dropped, give back theirs.
    let before = used(&engine);
    let (txn, _) = make(&engine);
    txn.rollback().unwrap();
    engine.housekeeping().unwrap();
    assert!(used(&engine) < before + 100, "{before} {}", used(&engine));
    let mut txn = engine.begin(TxnOptions::default());
    for (table, index) in objects {
        engine.drop_object(&mut txn, index).unwrap();
        engine.drop_object(&mut txn, table).unwrap();
    }
    txn.commit(CommitMode::Wait).unwrap();
    engine.housekeeping().unwrap();
    assert!(used(&engine) < begun + 100, "{begun} {}", used(&engine));
    sound(&engine);
    engine.close().unwrap();
    drop(engine);
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    assert!(used(&engine) <= begun, "{begun} {:?}", engine.space());
    sound(&engine);
}

#[test]
fn a_large_file_that_is_mostly_free_at_its_end_is_cut_when_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.verso");
    let options = || EngineOptions { page_size: 16384, ..options() };
    let engine = Engine::create(Env::real(), &path, options()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let objects = [(); 3].map(|()| engine.create_heap(&mut txn, &COLUMNS).unwrap());
    txn.commit(CommitMode::Wait).unwrap();
    let [kept, short, gone] = objects.map(|object| engine.heap(object).unwrap());
    fill(&engine, &short, 0..5000);
    let long = |ids: std::ops::Range<i64>| -> Vec<Row> {
        ids.map(|id| (id, Some("x".repeat(1 << 20)), 0.0)).collect()
    };
    for (heap, count) in [(&kept, 20), (&gone, 60)] {
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        heap.insert(&mut txn, &batch(&long(0..count)), None).unwrap();
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    }
    // Old versions stand behind all of them.
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&short, &mut txn, "", 1.0, |_| true).unwrap();
    txn.end_statement().unwrap();
    engine.drop_object(&mut txn, gone.object).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let bytes = || std::fs::metadata(&path).unwrap().len() >> 20;
    assert!(bytes() > 80, "{} MiB", bytes());
    let object = kept.object;
    drop((kept, short, gone));
    engine.close().unwrap();
    drop(engine);
    assert!(bytes() < 32, "{} MiB", bytes());
    let engine = Engine::open(Env::real(), &path, options()).unwrap();
    assert!(now(&engine, &engine.heap(object).unwrap()) == long(0..20));
    sound(&engine);
    engine.close().unwrap();
    assert!(bytes() < 32, "{} MiB", bytes());
}

/// Steps of all threads of an engine with which little is done and then nothing for so long.
fn steps_while_idle(hours: u64) -> u64 {
    let world = World::new(3);
    world.run(|env| {
        let options = EngineOptions { background: true, ..options() };
        let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &crate::support::COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        let heap = engine.heap(object).unwrap();
        fill(&engine, &heap, 0..2000);
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        bump(&heap, &mut txn, "!", 1.0, |_| true).unwrap();
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        env.clock.sleep(std::time::Duration::from_secs(hours * 3600));
        assert_eq!(engine.space().version_pages, 0, "what was left was dealt with");
        engine.close().unwrap();
    });
    world.last_report().unwrap().step_count
}

#[test]
fn an_idle_database_does_nothing() {
    let (short, long) = (steps_while_idle(1), steps_while_idle(20));
    assert!(long < short + 100, "{short} steps in an hour, {long} in twenty");
}
