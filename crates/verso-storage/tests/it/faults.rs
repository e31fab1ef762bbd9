//! Disks that fail or are full, files that are damaged: a clear error, and nothing lost.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::Env;
use verso_sim::{FaultPlan, Rng, World, seeds};
use verso_storage::archive::ArchiveOptions;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::page::header;
use verso_storage::{
    CommitMode, Engine, EngineOptions, ObjectId, PageId, PageKind, StorageError, SweepOptions, Txn,
    TxnOptions, TxnState,
};

use crate::support::{COLUMNS, Row, batch, bump, create, fill, now, options, read, remove, rows, sound};

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

/// A table in a simulated world.
fn create_in(env: &Env, options: EngineOptions) -> (Engine, Arc<Heap>) {
    let engine = Engine::create(env.clone(), &path(), options).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    (engine, heap)
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| row.0);
    rows
}

fn insert(heap: &Arc<Heap>, txn: &mut Txn, new: &[Row]) -> Result<(), StorageError> {
    txn.begin_statement()?;
    match heap.insert(txn, &batch(new), None) {
        Ok(()) => txn.end_statement(),
        Err(error) => {
            match txn.abort_statement() {
                // Undo may use room kept for it; without any the whole transaction is undone later.
                Ok(()) | Err(StorageError::Full { .. }) => Err(error),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn a_failed_fsync_closes_the_engine_and_a_restart_has_what_was_acknowledged() {
    for seed in seeds(40) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let ending = *rng.pick(&[".log", ".verso", "doublewrite"]);
        let mut acknowledged: Vec<Row> = Vec::new();
        let mut in_doubt: Vec<Row> = Vec::new();
        let object = world.run(|env| {
            let (engine, heap) = create_in(env, options());
            fill(&engine, &heap, 0..50);
            acknowledged.extend(rows(0..50));
            let fail_sync = Some(rng.between(1, 3));
            let only_paths_ending = Some(ending.to_owned());
            world.vfs().set_faults(FaultPlan { fail_sync, only_paths_ending, ..FaultPlan::default() });
            let mut failed = false;
            for first in (50..110).step_by(10) {
                let mut txn = engine.begin(TxnOptions::default());
                let new = rows(first..first + 10);
                let done = insert(&heap, &mut txn, &new).and_then(|()| txn.commit(CommitMode::Wait));
                match done {
                    Ok(()) => {
                        assert!(!failed, "the engine is closed");
                        acknowledged.extend(new);
                    }
                    Err(error) if failed => {
                        assert!(matches!(error, StorageError::Poisoned { .. }), "{error}")
                    }
                    Err(error) => {
                        assert!(
                            matches!(error, StorageError::Io { .. } | StorageError::Poisoned { .. }),
                            "{error}"
                        );
                        in_doubt.extend(new);
                        failed = true;
                    }
                }
                if !failed && let Err(error) = engine.checkpoint() {
                    assert!(matches!(error, StorageError::Io { .. }), "{error}");
                    failed = true;
                }
            }
            assert!(failed, "the plan fails a sync of {ending}");
            assert_eq!(sorted(now(&engine, &heap)), sorted(acknowledged.clone()), "reads go on");
            assert!(matches!(engine.checkpoint(), Err(StorageError::Poisoned { .. })));
            heap.object
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            let found = sorted(now(&engine, &heap));
            let with: Vec<Row> = sorted(acknowledged.iter().chain(&in_doubt).cloned().collect());
            assert!(found == sorted(acknowledged.clone()) || found == with, "{} rows", found.len());
            sound(&engine);
            fill(&engine, &heap, 500..510);
        });
    }
}

/// More pages than fit into the pool, of which some have been changed since the checkpoint.
fn more_than_the_pool(env: &Env) -> (Engine, Arc<Heap>, Vec<Row>) {
    let small = EngineOptions { buffer_pool_bytes: 32 * 4096, ..options() };
    let (engine, heap) = create_in(env, small);
    let long = |id: i64, amount| (id, Some("n".repeat(300)), amount);
    for first in (0..600).step_by(20) {
        let mut txn = engine.begin(TxnOptions::default());
        let new: Vec<Row> = (first..first + 20).map(|id| long(id, 0.0)).collect();
        insert(&heap, &mut txn, &new).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    }
    engine.checkpoint().unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "", 1.0, |id| id % 200 < 5).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let rows = (0..600).map(|id| long(id, if id % 200 < 5 { 1.0 } else { 0.0 })).collect();
    (engine, heap, rows)
}

#[test]
fn b5_reads_go_on_after_a_failed_write_or_sync_of_the_database_file() {
    for seed in seeds(40) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let only_paths_ending = Some(rng.pick(&[".verso", "doublewrite"]).to_string());
        let plan = match rng.one_in(2) {
            true => FaultPlan { fail_sync: Some(1), only_paths_ending, ..FaultPlan::default() },
            false => FaultPlan { fail_write: Some(1), only_paths_ending, ..FaultPlan::default() },
        };
        let (object, expected) = world.run(|env| {
            let (engine, heap, expected) = more_than_the_pool(env);
            world.vfs().set_faults(plan);
            assert!(matches!(engine.checkpoint(), Err(StorageError::Io { .. })));
            for _ in 0..3 {
                assert_eq!(sorted(now(&engine, &heap)), expected);
            }
            let mut txn = engine.begin(TxnOptions::default());
            match insert(&heap, &mut txn, &rows(1000..1001)) {
                Err(StorageError::Poisoned { why: Some(why) }) => {
                    assert!(matches!(&*why, StorageError::Io { .. }), "{why}");
                }
                other => panic!("{other:?}"),
            }
            drop(txn);
            assert_eq!(sorted(now(&engine, &heap)), expected);
            (heap.object, expected)
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            assert_eq!(sorted(now(&engine, &heap)), expected);
            sound(&engine);
        });
    }
}

#[test]
fn b6_a_checkpoint_without_room_stops_changes_until_there_is_some() {
    for seed in seeds(60) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let only_paths_ending = Some(rng.pick(&[".verso", "doublewrite"]).to_string());
        let full = FaultPlan { full_from_write: Some(1), only_paths_ending, ..FaultPlan::default() };
        let object = world.run(|env| {
            let (engine, heap, mut expected) = more_than_the_pool(env);
            world.vfs().set_faults(full);
            for _ in 0..2 {
                assert!(matches!(engine.checkpoint(), Err(StorageError::Full { .. })));
                assert_eq!(sorted(now(&engine, &heap)), expected, "reads go on");
                let mut txn = engine.begin(TxnOptions::default());
                let refused = insert(&heap, &mut txn, &rows(1000..1001));
                assert!(matches!(refused, Err(StorageError::Full { .. })), "{refused:?}");
                txn.rollback().unwrap();
            }
            if rng.one_in(2) {
                return (heap.object, expected);
            }
            world.vfs().set_faults(FaultPlan::default());
            // The change sends the pages that wait, unless the page cleaner is trying at this very moment: then it is refused.
            let mut txn = engine.begin(TxnOptions::default());
            if let Err(error) = insert(&heap, &mut txn, &rows(1000..1001)) {
                assert!(matches!(error, StorageError::Full { .. }), "{error}");
                engine.checkpoint().unwrap();
            }
            txn.rollback().unwrap();
            fill(&engine, &heap, 1000..1010);
            expected.extend(rows(1000..1010));
            engine.checkpoint().unwrap();
            engine.housekeeping().unwrap();
            assert_eq!(sorted(now(&engine, &heap)), expected);
            sound(&engine);
            (heap.object, expected)
        });
        let (object, expected) = object;
        world.vfs().set_faults(FaultPlan::default());
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            assert_eq!(sorted(now(&engine, &heap)), expected);
            sound(&engine);
            fill(&engine, &heap, 2000..2010);
        });
    }
}

#[test]
fn a_full_disk_refuses_statements_and_loses_nothing() {
    for seed in seeds(40) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let mut expected = Vec::new();
        let object = world.run(|env| {
            let small = EngineOptions { buffer_pool_bytes: 64 * 4096, ..options() };
            let (engine, heap) = create_in(env, small);
            fill(&engine, &heap, 0..100);
            expected.extend(rows(0..100));
            let capacity_bytes = Some(world.vfs().used_bytes() + rng.below(400 << 10));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let (mut refused, mut undone) = (0, 0);
            let mut next = 100;
            while refused < 6 {
                let savepoints = !rng.one_in(4);
                let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
                let mut own = Vec::new();
                let mut full = false;
                for _ in 0..rng.between(1, 20) {
                    let long = rng.index(3000);
                    let new: Vec<Row> =
                        (next..next + 10).map(|id| (id, Some("x".repeat(long)), 0.5)).collect();
                    next += 10;
                    match insert(&heap, &mut txn, &new) {
                        Ok(()) => own.extend(new),
                        Err(StorageError::Full { .. }) => full = true,
                        Err(StorageError::MustRollback) if !savepoints && full => {}
                        Err(error) => panic!("{error}"),
                    }
                    if txn.must_rollback() || (full && rng.one_in(2)) {
                        break;
                    }
                }
                refused += usize::from(full);
                if !txn.must_rollback() {
                    let mut seen: Vec<Row> = expected.clone();
                    seen.extend(own.iter().cloned());
                    txn.begin_statement().unwrap();
                    assert_eq!(sorted(read(&heap, &txn)), sorted(seen));
                    txn.end_statement().unwrap();
                }
                undone += usize::from(full && !txn.must_rollback());
                if rng.one_in(3) {
                    txn.rollback().unwrap();
                } else {
                    match txn.commit(CommitMode::Wait) {
                        Ok(()) => expected.extend(own),
                        Err(StorageError::Full { .. }) => refused += 1,
                        Err(StorageError::MustRollback) => assert!(full),
                        Err(error) => panic!("{error}"),
                    }
                }
                match engine.checkpoint() {
                    Ok(()) | Err(StorageError::Full { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                match engine.housekeeping() {
                    Ok(()) | Err(StorageError::Full { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                assert_eq!(sorted(now(&engine, &heap)), sorted(expected.clone()));
            }
            sound(&engine);
            assert!(undone > 0, "statements are undone on a full disk");
            world.vfs().set_faults(FaultPlan::default());
            fill(&engine, &heap, 1_000_000..1_000_100);
            expected.extend(rows(1_000_000..1_000_100));
            engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            engine.housekeeping().unwrap();
            assert_eq!(engine.space().version_pages, 0, "with room everything is backed out");
            sound(&engine);
            heap.object
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            assert_eq!(sorted(now(&engine, &heap)), sorted(expected.clone()));
            sound(&engine);
        });
    }
}

#[test]
fn a_dead_shrink_whose_space_was_used_again_is_backed_out_on_a_full_disk_too() {
    for savepoints in [false, true] {
        let world = World::new(7);
        world.run(|env| {
            let small = EngineOptions { eager_rollback_records: 0, auto_backout: false, ..options() };
            let (engine, heap) = create_in(env, small);
            let name = |id: i64| "n".repeat(100 + id as usize % 50);
            let many: Vec<Row> = (0..400).map(|id| (id, Some(name(id)), 0.0)).collect();
            let mut txn = engine.begin(TxnOptions::default());
            insert(&heap, &mut txn, &many).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            // Half of the records shrink, and the one who did it dies.
            let mut dead = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
            dead.begin_statement().unwrap();
            rename(&heap, &mut dead, |id| (id % 2 == 0).then(String::new));
            dead.end_statement().unwrap();
            let id = dead.id().unwrap();
            dead.rollback().unwrap();
            assert_eq!(engine.txn_state(id), TxnState::Dead);
            // The others grow into the room.
            let mut txn = engine.begin(TxnOptions::default());
            txn.begin_statement().unwrap();
            let overflow = engine.table_space(heap.object).unwrap().pages;
            rename(&heap, &mut txn, |id| (id % 2 == 1).then(|| name(id).repeat(2)));
            txn.end_statement().unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            assert_eq!(engine.table_space(heap.object).unwrap().pages, overflow, "in their pages");
            // Nobody finds room any more.
            let capacity_bytes = Some(world.vfs().used_bytes());
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let mut filler = engine.begin(TxnOptions::default());
            let long: Vec<Row> = vec![(-1, Some("x".repeat(20_000)), 0.0)];
            while insert(&heap, &mut filler, &long).is_ok() {}
            engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(engine.txn_state(id), TxnState::Committed, "backed out");
            filler.rollback().unwrap();
            engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            let expected: Vec<Row> = many
                .into_iter()
                .map(|(id, old, amount)| {
                    (id, if id % 2 == 1 { Some(name(id).repeat(2)) } else { old }, amount)
                })
                .collect();
            assert_eq!(sorted(now(&engine, &heap)), expected);
            sound(&engine);
        });
    }
}

/// Gives the rows for which `new` says so another name.
fn rename(heap: &Arc<Heap>, txn: &mut Txn, new: impl Fn(i64) -> Option<String>) {
    try_rename(heap, txn, new).unwrap();
}

fn try_rename(
    heap: &Arc<Heap>,
    txn: &mut Txn,
    new: impl Fn(i64) -> Option<String>,
) -> Result<(), StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out)? {
        let ids = out.batch.columns[0].data.i64s().unwrap().to_vec();
        let (mut selection, mut values) = (Vec::new(), Vec::new());
        for (row, id) in ids.into_iter().enumerate() {
            if let Some(name) = new(id) {
                selection.push(row as u32);
                values.push((id, Some(name), 0.0));
            }
        }
        if selection.is_empty() {
            continue;
        }
        let mut values = batch(&values);
        values.columns = vec![values.columns.swap_remove(1)];
        heap.update(txn, &out, Some(&selection), &[2], &values)?;
    }
    Ok(())
}

/// R5 of the log: checkpoints keep giving it room, unless an archive that does not get on has all of it stay.
#[test]
fn a_statement_that_fills_the_log_is_undone_whole() {
    for is_archived in [false, true] {
        let world = World::new(3);
        world.run(|env| {
            let (engine, heap) = create_in(env, options());
            if is_archived {
                let target = World::dir().join("archive");
                env.vfs.create_dir_all(&target).unwrap();
                engine
                    .set_archive(Some(ArchiveOptions { target, timeout: std::time::Duration::ZERO }))
                    .unwrap();
            }
            let before: Vec<Row> = (0..600).map(|id| (id, Some("n".repeat(200)), 0.0)).collect();
            let mut txn = engine.begin(TxnOptions::default());
            insert(&heap, &mut txn, &before).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let capacity_bytes = Some(world.vfs().used_bytes());
            let mut txn = engine.begin(TxnOptions::default());
            // Much to undo, then changes until not even the smallest has room in the log, or it was used several times over.
            txn.begin_statement().unwrap();
            rename(&heap, &mut txn, |_| Some("m".repeat(190)));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let begun = engine.statistics().log.bytes;
            let goes_on = || engine.statistics().log.bytes < begun + (16 << 20);
            while goes_on() && bump(&heap, &mut txn, "", 1.0, |_| true).is_ok() {}
            assert_eq!(goes_on(), is_archived, "the log is given room, or kept for the archive");
            while is_archived && bump(&heap, &mut txn, "", 1.0, |id| id == 5).is_ok() {}
            if is_archived {
                let error = bump(&heap, &mut txn, "", 1.0, |id| id == 5).unwrap_err();
                assert!(matches!(error, StorageError::Full { .. }), "{error}");
            }
            txn.abort_statement().unwrap();
            assert!(!txn.must_rollback());
            txn.begin_statement().unwrap();
            assert_eq!(sorted(read(&heap, &txn)), before);
            txn.end_statement().unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            sound(&engine);
        });
    }
}

/// A closed database of 500 rows; its file, its table.
fn closed(dir: &Path) -> (PathBuf, ObjectId) {
    let (engine, heap) = create(dir);
    fill(&engine, &heap, 0..500);
    engine.close().unwrap();
    (dir.join("t.verso"), heap.object)
}

fn scan_all(path: &Path, object: ObjectId) -> Result<Vec<Row>, StorageError> {
    let engine = Engine::open(Env::real(), path, options())?;
    let heap = engine.heap(object)?;
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement()?;
    let mut scan = heap.scan(&txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out)? {}
    bump(&heap, &mut txn, "", 0.0, |_| true)?;
    Ok(read(&heap, &txn))
}

#[test]
fn a_flipped_bit_anywhere_in_a_table_is_an_error_that_names_page_and_table() {
    let dir = tempfile::tempdir().unwrap();
    let (path, object) = closed(dir.path());
    let good = std::fs::read(&path).unwrap();
    let mut rng = Rng::new(3);
    let mut count = 0;
    for index in 1..good.len() / 4096 {
        let page = &good[index * 4096..][..4096];
        let used = matches!(header::kind(page), Some(PageKind::Data | PageKind::Root | PageKind::Directory));
        if !used || header::owner(page) != object || header::verify(page, header::page_id(page)).is_err() {
            continue;
        }
        let mut bad = good.clone();
        // The owner is taken from the page, as far as it can be believed.
        let at = *rng.pick(&[0, 8, 24, 100, 4000]) + rng.index(4);
        bad[index * 4096 + at] ^= 1 << rng.below(8);
        std::fs::write(&path, &bad).unwrap();
        match scan_all(&path, object) {
            Err(StorageError::Corrupt { page, owner, .. }) => {
                assert_eq!((page.0 as usize, owner), (index, object));
            }
            other => panic!("page {index}, byte {at}: {other:?}"),
        }
        count += 1;
    }
    assert!(count > 5, "{count} pages");
    std::fs::write(&path, &good).unwrap();
    assert_eq!(scan_all(&path, object).unwrap().len(), 500);
}

/// D5 of the double-write area.
#[test]
fn a_damaged_map_page_of_a_closed_database_is_mended_or_told_alike_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let (path, object) = closed(dir.path());
    let good = std::fs::read(&path).unwrap();
    let log = dir.path().join("t.verso-wal");
    let kept: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(&log)
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|file| (file.clone(), std::fs::read(&file).unwrap()))
        .collect();
    for (page, is_copied) in [(1, true), (2, true), (1, false), (2, false)] {
        let mut bytes = good.clone();
        bytes[page * 4096 + 2000] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        std::fs::remove_dir_all(&log).unwrap();
        std::fs::create_dir(&log).unwrap();
        kept.iter().for_each(|(file, bytes)| std::fs::write(file, bytes).unwrap());
        if !is_copied {
            std::fs::write(log.join("doublewrite"), b"").unwrap();
        }
        for time in 0..2 {
            match scan_all(&path, object) {
                Ok(found) => assert!(is_copied && found == rows(0..500), "page {page}, opening {time}"),
                Err(StorageError::Corrupt { page: at, .. }) => {
                    assert!(!is_copied && at.0 as usize == page, "page {page}, opening {time}: {at}");
                }
                Err(error) => panic!("page {page}, opening {time}: {error}"),
            }
        }
        let now = std::fs::read(&path).unwrap();
        let is_whole = header::verify(&now[page * 4096..][..4096], PageId(page as u32)).is_ok();
        assert_eq!(is_whole, is_copied);
    }
}

#[test]
fn a_file_cut_off_is_an_error_never_a_wrong_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..500);
    engine.checkpoint().unwrap();
    let (path, object) = (dir.path().join("t.verso"), heap.object);
    drop((heap, engine));
    let good = std::fs::read(&path).unwrap();
    let log = dir.path().join("t.verso-wal");
    let kept: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(&log)
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|file| (file.clone(), std::fs::read(&file).unwrap()))
        .collect();
    let mut rng = Rng::new(5);
    for _ in 0..40 {
        let length = rng.index(good.len());
        std::fs::write(&path, &good[..length]).unwrap();
        std::fs::remove_dir_all(&log).unwrap();
        std::fs::create_dir(&log).unwrap();
        kept.iter().for_each(|(file, bytes)| std::fs::write(file, bytes).unwrap());
        match scan_all(&path, object) {
            Ok(found) => assert_eq!(found, rows(0..500), "cut at {length}: only unused pages were lost"),
            Err(
                StorageError::Corrupt { .. }
                | StorageError::NotADatabase { .. }
                | StorageError::MissingLog { .. },
            ) => {}
            Err(error) => panic!("cut at {length}: {error}"),
        }
    }
}

#[test]
fn foreign_and_locked_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (path, object) = closed(dir.path());
    let open = Engine::open(Env::real(), &path, options()).unwrap();
    assert!(matches!(scan_all(&path, object), Err(StorageError::Locked)));
    fill(&open, &open.heap(object).unwrap(), 500..501);
    drop(open); // as a crash: the log is needed
    // The page size is the file's, whatever the options say.
    let other_size = EngineOptions { page_size: 16384, ..options() };
    let open = Engine::open(Env::real(), &path, other_size).unwrap();
    assert_eq!(open.space().page_size, 4096);
    drop(open);
    let other = tempfile::tempdir().unwrap();
    let (foreign, _) = closed(other.path());
    let open = Engine::open(Env::real(), &foreign, options()).unwrap();
    drop(open);
    // The log of another database.
    let log = dir.path().join("t.verso-wal");
    let own = dir.path().join("own-wal");
    std::fs::rename(&log, &own).unwrap();
    std::fs::rename(other.path().join("t.verso-wal"), &log).unwrap();
    assert!(matches!(scan_all(&path, object), Err(StorageError::NotADatabase { .. })));
    // No log at all.
    std::fs::remove_dir_all(&log).unwrap();
    assert!(matches!(scan_all(&path, object), Err(StorageError::MissingLog { .. })));
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::rename(&own, &log).unwrap();
    assert_eq!(scan_all(&path, object).unwrap().len(), 501);
    for junk in [&b""[..], b"SQLite format 3\0", &[0; 100_000], &[0xA5; 70_000]] {
        std::fs::write(&foreign, junk).unwrap();
        let found = scan_all(&foreign, object);
        assert!(matches!(found, Err(StorageError::NotADatabase { .. })), "{found:?}");
    }
}

/// The files of a database that was killed, on another disk: bytes of it may be changed.
fn killed(work: impl FnOnce(&Engine, &Arc<Heap>), options: EngineOptions) -> (World, ObjectId) {
    let world = World::new(5);
    let object = world.run(|env| {
        let (engine, heap) = create_in(env, options);
        work(&engine, &heap);
        heap.object
    });
    world.vfs().crash_losing_nothing();
    (world, object)
}

/// Flips a bit in the middle of the log's `nth` chunk of those that `which` picks by their bytes; its offset.
fn damage_chunk(world: &World, nth: usize) -> u64 {
    let log = World::dir().join("t.verso-wal/0000000000000001.log");
    let bytes = world.vfs().read_file(&log).unwrap();
    let chunks = (1..bytes.len() / 512).filter(|sector| &bytes[sector * 512 + 4..][..4] == b"VLOG");
    let at = chunks.map(|sector| sector as u64 * 512).nth(nth).unwrap();
    world.vfs().flip_bit(&log, at + 60, 3).unwrap();
    at
}

#[test]
fn a_log_damaged_before_its_end_is_refused_and_opened_to_there_on_demand() {
    let mut acknowledged = 0;
    let (world, object) = killed(
        |engine, heap| {
            engine.checkpoint().unwrap();
            for first in 0..100 {
                fill(engine, heap, first * 5..first * 5 + 5);
                acknowledged += 5;
            }
        },
        options(),
    );
    let offset = damage_chunk(&world, 60);
    world.run(|env| {
        for _ in 0..2 {
            let refused = Engine::open(env.clone(), &path(), options()).err().unwrap();
            let StorageError::DamagedLog { segment, offset: at, commits, .. } = &refused else {
                panic!("{refused}")
            };
            assert!(segment.ends_with("0000000000000001.log") && *at == offset, "{refused}");
            assert!((30..60).contains(commits), "{refused}");
        }
        let opening = EngineOptions { open_damaged_log: true, ..options() };
        let engine = Engine::open(env.clone(), &path(), opening).unwrap();
        let lost = engine.recovery().unwrap().lost.unwrap();
        assert_eq!(lost.pages, 0, "no page was written");
        let heap = engine.heap(object).unwrap();
        let found = sorted(now(&engine, &heap));
        // What stands before the damage, all of it, and with the rest that is told of nothing is missing.
        assert_eq!(found, rows(0..found.len() as i64));
        assert_eq!(
            found.len() as u64 / 5 + lost.commits + 1,
            acknowledged / 5,
            "one commit was in the damaged chunk"
        );
        sound(&engine);
        fill(&engine, &heap, 1000..1005);
    });
    world.vfs().crash_losing_nothing();
    world.run(|env| {
        // The log goes on behind the gap.
        let engine = Engine::open(env.clone(), &path(), options()).unwrap();
        let heap = engine.heap(object).unwrap();
        assert!(now(&engine, &heap).iter().any(|row| row.0 == 1004));
        sound(&engine);
        engine.close().unwrap();
    });
    world.run(|env| drop(Engine::open(env.clone(), &path(), options()).unwrap()));
}

#[test]
fn pages_changed_by_the_lost_part_of_a_log_are_damaged_and_stay_so() {
    let small = || EngineOptions { buffer_pool_bytes: 32 * 4096, ..options() };
    let (world, object) = killed(
        |engine, heap| {
            fill(engine, heap, 0..4000);
            engine.checkpoint().unwrap();
            for round in 0..10 {
                let mut txn = engine.begin(TxnOptions::default());
                txn.begin_statement().unwrap();
                // More than the pool holds: pages go to the disk with what is lost.
                bump(heap, &mut txn, "", 1.0, |id| id / 200 == round).unwrap();
                txn.end_statement().unwrap();
                txn.commit(CommitMode::Wait).unwrap();
            }
        },
        small(),
    );
    let log = World::dir().join("t.verso-wal/0000000000000001.log");
    let chunks = {
        let bytes = world.vfs().read_file(&log).unwrap();
        (1..bytes.len() / 512).filter(|sector| &bytes[sector * 512 + 4..][..4] == b"VLOG").count()
    };
    damage_chunk(&world, chunks - 12);
    let look = |engine: &Engine| {
        let heap = engine.heap(object).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        let (mut good, mut bad) = (0, 0);
        for index in 0..heap.page_count() {
            let mut scan = heap.scan(&txn, ScanSpec { columns: &[1, 3], pages: index..index + 1 });
            let mut out = ScanBatch::default();
            match scan.next(&mut out) {
                Ok(_) => good += out.batch.rows,
                Err(StorageError::Corrupt { flaw, .. }) => {
                    assert!(flaw.to_string().contains("part of the log that was lost"), "{flaw}");
                    bad += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        txn.end_statement().unwrap();
        (good, bad)
    };
    let mut first = None;
    for open_damaged_log in [true, false, false] {
        world.run(|env| {
            let engine =
                Engine::open(env.clone(), &path(), EngineOptions { open_damaged_log, ..small() }).unwrap();
            let found = look(&engine);
            assert!(found.0 > 500 && found.1 > 0, "{found:?}");
            assert_eq!(*first.get_or_insert(found), found);
            if let Some(lost) = engine.recovery().unwrap().lost {
                assert!(lost.pages >= found.1, "{lost:?}");
            }
            let report = engine.check(&mut |_| ()).unwrap();
            assert!(report.problems.len() as u64 >= found.1, "{:?}", report.problems);
        });
        world.vfs().crash_losing_nothing();
    }
}

/// Each change takes of the space that is kept for undo, once nothing may fail any more; it is replaced before the next begins.
#[test]
fn a_full_disk_refuses_new_objects_and_rows_and_they_come_when_there_is_room() {
    for seed in seeds(8) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            let (engine, heap) = create_in(env, options());
            fill(&engine, &heap, 0..100);
            let capacity_bytes = Some(world.vfs().used_bytes() + rng.below(600 << 10));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let create = |rows: bool| {
                let mut txn = engine.begin(TxnOptions::default());
                let done = engine.create_heap(&mut txn, &COLUMNS).and_then(|object| match rows {
                    true => insert(&engine.heap(object)?, &mut txn, &[(1, Some("x".repeat(700)), 0.5)]),
                    false => Ok(()),
                });
                match done {
                    Ok(()) => txn.commit(CommitMode::Wait),
                    Err(error) => txn.rollback().and(Err(error)),
                }
            };
            let (mut made, mut refused) = (0, 0);
            while refused < 200 {
                match create(rng.one_in(2)) {
                    Ok(()) => made += 1,
                    Err(StorageError::Full { .. }) => refused += 1,
                    Err(error) => panic!("seed {seed}, {made} made, {refused} refused: {error}"),
                }
                if rng.one_in(20) {
                    match engine.checkpoint() {
                        Ok(()) | Err(StorageError::Full { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            world.vfs().set_faults(FaultPlan::default());
            create(true).unwrap();
            sound(&engine);
        });
    }
}

/// The file cannot grow, and changes have taken of what is kept for undo: rows that go still make room for others.
#[test]
fn on_a_full_disk_rows_that_go_make_room_for_rows_that_come() {
    for seed in seeds(5) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            let (engine, heap) = create_in(env, EngineOptions { background: true, ..options() });
            fill(&engine, &heap, 0..100);
            let mut txn = engine.begin(TxnOptions::default());
            let spare = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let capacity_bytes = Some(world.vfs().used_bytes() + rng.below(400 << 10));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let mut next = 100;
            let mut add = |length: usize, count: i64| {
                let mut txn = engine.begin(TxnOptions::default());
                let new: Vec<Row> =
                    (next..next + count).map(|id| (id, Some("x".repeat(length)), 0.5)).collect();
                next += count;
                match insert(&heap, &mut txn, &new) {
                    Ok(()) => txn.commit(CommitMode::Wait),
                    Err(error) => txn.rollback().and(Err(error)),
                }
            };
            for round in 0..6 {
                let mut refused = 0;
                while refused < 40 {
                    match add(rng.index(6000), 1) {
                        Ok(()) => {}
                        Err(StorageError::Full { .. }) => refused += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
                let mut txn = engine.begin(TxnOptions::default());
                remove(&heap, &mut txn, |id| id % 3 != 0);
                txn.commit(CommitMode::Wait).unwrap();
                let swept = engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(()));
                for done in [swept.map(drop), engine.housekeeping(), engine.checkpoint().map(drop)] {
                    assert!(matches!(done, Ok(()) | Err(StorageError::Full { .. })), "{done:?}");
                }
                let mut tries = 0;
                for _ in 0..20 {
                    while let Err(error) = add(100, 1) {
                        // A checkpoint that nobody asks for gives the log room.
                        let is_log = matches!(&error, StorageError::Full { what } if what.contains("log"));
                        assert!(is_log && tries < 400, "seed {seed}, round {round}: {error}");
                        tries += 1;
                        env.clock.sleep(std::time::Duration::from_millis(25));
                    }
                }
            }
            // What makes room is not refused, and the engine closes: its log has what the file has no room for.
            let mut txn = engine.begin(TxnOptions::default());
            txn.set_makes_room(true);
            engine.drop_object(&mut txn, spare).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let expected = sorted(now(&engine, &heap));
            let object = heap.object;
            drop(heap);
            engine.close().unwrap();
            drop(engine);
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            let heap = engine.heap(object).unwrap();
            assert_eq!(sorted(now(&engine, &heap)), expected);
            sound(&engine);
        });
    }
}

/// The reserve is not whole and the file cannot grow: rows without long values come into pages with room, many at once, as they need no
/// pages of their table besides (S6).
#[test]
fn on_a_full_disk_many_short_rows_come_where_others_have_gone() {
    // Each has used one page more of the table's newest extent than the one before.
    for more in 0..8 {
        let world = World::new(more);
        let mut rng = world.rng();
        world.run(|env| {
            // The log has room, the file has none.
            let (engine, heap) = create_in(env, EngineOptions { max_database_bytes: 4 << 20, ..options() });
            let short =
                |count: i64| -> Vec<Row> { (0..count).map(|id| (id, Some("s".repeat(170)), 0.5)).collect() };
            let add = |heap: &Arc<Heap>, new: &[Row]| {
                let mut txn = engine.begin(TxnOptions::default());
                match insert(heap, &mut txn, new) {
                    Ok(()) => txn.commit(CommitMode::Wait),
                    Err(error) => txn.rollback().and(Err(error)),
                }
            };
            add(&heap, &short(1000 + more as i64 * 20)).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let filler = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let filler = engine.heap(filler).unwrap();
            let mut refused = 0;
            while refused < 40 {
                match add(&filler, &[(0, Some("f".repeat(rng.index(6000))), 0.5)]) {
                    Ok(()) => {}
                    Err(StorageError::Full { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            while engine.space().free_pages >= 480 {
                let mut txn = engine.begin(TxnOptions::default());
                txn.set_makes_room(true);
                insert(&filler, &mut txn, &[(0, Some("f".repeat(3000)), 0.5)]).unwrap();
                txn.commit(CommitMode::Wait).unwrap();
            }
            for round in 0..3 {
                let mut txn = engine.begin(TxnOptions::default());
                remove(&heap, &mut txn, |_| true);
                txn.commit(CommitMode::Wait).unwrap();
                engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
                engine.housekeeping().unwrap();
                let free = engine.space().free_pages;
                assert!(free < 512, "{free} pages: the reserve is whole");
                let new = short(800);
                add(&heap, &new).unwrap_or_else(|error| panic!("{more} pages more, round {round}: {error}"));
                assert_eq!(sorted(now(&engine, &heap)), new);
            }
            sound(&engine);
        });
    }
}

/// Values that no longer fit their page move out of it, several in one mini-transaction: the first may be refused, the others are not
/// allowed to find the disk full (M7).
#[test]
fn on_a_full_disk_rows_that_grow_are_refused_whole() {
    for seed in seeds(10) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            // The log has room, the file has none.
            let max_database_bytes = (4 << 20) + rng.below(1 << 20);
            let (engine, heap) = create_in(env, EngineOptions { max_database_bytes, ..options() });
            let mut expected: Vec<Row> = (0..2000).map(|id| (id, Some("n".repeat(90)), 0.0)).collect();
            let mut txn = engine.begin(TxnOptions::default());
            insert(&heap, &mut txn, &expected).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let mut refused = 0;
            for _ in 0..400 {
                let (first, count) = (rng.below(1900) as i64, rng.between(1, 100) as i64);
                let name = "m".repeat(rng.index(900));
                let mut txn = engine.begin(TxnOptions::default());
                txn.begin_statement().unwrap();
                let own = |id: i64| (first..first + count).contains(&id);
                match try_rename(&heap, &mut txn, |id| own(id).then(|| name.clone())) {
                    Ok(()) => match txn.end_statement().and_then(|()| txn.commit(CommitMode::Wait)) {
                        Ok(()) => {
                            let changed = expected.iter_mut().filter(|row| own(row.0));
                            changed.for_each(|row| row.1 = Some(name.clone()));
                        }
                        Err(StorageError::Full { .. }) => refused += 1,
                        Err(error) => panic!("seed {seed}: {error}"),
                    },
                    Err(StorageError::Full { .. }) => {
                        refused += 1;
                        txn.rollback().unwrap();
                    }
                    Err(error) => panic!("seed {seed}: {error}"),
                }
                for done in [engine.checkpoint().map(drop), engine.housekeeping()] {
                    assert!(matches!(done, Ok(()) | Err(StorageError::Full { .. })), "seed {seed}: {done:?}");
                }
                if refused > 20 {
                    break;
                }
            }
            assert!(refused > 0, "the file was full");
            assert_eq!(sorted(now(&engine, &heap)), expected);
            sound(&engine);
        });
    }
}

#[test]
fn the_log_of_a_database_whose_file_is_gone_is_not_overwritten() {
    let world = World::new(1);
    world.run(|env| {
        let (engine, heap) = create_in(env, options());
        fill(&engine, &heap, 0..10);
        drop((heap, engine));
        env.vfs.rename(&path(), &World::dir().join("away")).unwrap();
        let error =
            Engine::create(env.clone(), &path(), options()).err().expect("a log without its database");
        assert!(
            matches!(&error, StorageError::NotADatabase { what } if what.contains("t.verso-wal")),
            "{error}"
        );
        env.vfs.rename(&World::dir().join("away"), &path()).unwrap();
        drop(Engine::open(env.clone(), &path(), options()).unwrap());
    });
}

#[test]
fn a_disk_full_of_log_gets_room_by_a_checkpoint_that_nobody_asks_for() {
    let world = World::new(11);
    world.run(|env| {
        let (engine, heap) = create_in(env, EngineOptions { background: true, ..options() });
        let mut next = 0;
        let mut add = || {
            let mut txn = engine.begin(TxnOptions::default());
            let new: Vec<Row> = (next..next + 10).map(|id| (id, Some("x".repeat(900)), 0.5)).collect();
            next += 10;
            insert(&heap, &mut txn, &new).and_then(|()| txn.commit(CommitMode::Wait))
        };
        // Several segments, of which none can go.
        while engine.statistics().log.segments_created < 4 {
            add().unwrap();
        }
        let capacity_bytes = Some(world.vfs().used_bytes());
        world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
        let change = || {
            let mut txn = engine.begin(TxnOptions::default());
            txn.begin_statement()?;
            match bump(&heap, &mut txn, "", 1.0, |id| id < 50) {
                Ok(()) => txn.end_statement().and_then(|()| txn.commit(CommitMode::Wait)),
                Err(error) => txn.rollback().and(Err(error)),
            }
        };
        assert_eq!(engine.statistics().log.segments_recycled, 0);
        while engine.statistics().log.segments_recycled < 3 {
            match change() {
                Ok(()) => {}
                // The file has no room; the log gets some.
                Err(StorageError::Full { what }) => assert!(!what.contains("log"), "{what}"),
                Err(error) => panic!("{error}"),
            }
            // Old versions go meanwhile.
            env.clock.sleep(std::time::Duration::from_millis(25));
        }
        change().unwrap();
    });
}

/// R5, R7 of the log: a database whose log has just begun, or was left short when it was closed, finds its disk full.
#[test]
fn a_log_in_one_segment_on_a_full_disk_goes_on_when_there_is_a_checkpoint() {
    for seed in seeds(4) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            let background = || EngineOptions { background: true, ..options() };
            let (mut engine, mut heap) = create_in(env, background());
            fill(&engine, &heap, 0..60);
            let object = heap.object;
            if rng.one_in(2) {
                drop(heap);
                engine.close().unwrap();
                drop(engine);
                engine = Engine::open(env.clone(), &path(), background()).unwrap();
                heap = engine.heap(object).unwrap();
                // What was given back comes again with the first change.
                fill(&engine, &heap, 60..61);
            }
            let capacity_bytes = Some(world.vfs().used_bytes());
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let change = || {
                let mut txn = engine.begin(TxnOptions::default());
                txn.begin_statement()?;
                match bump(&heap, &mut txn, "", 1.0, |id| id < 50) {
                    Ok(()) => txn.end_statement().and_then(|()| txn.commit(CommitMode::Wait)),
                    Err(error) => txn.rollback().and(Err(error)),
                }
            };
            let (mut done, mut refused) = (0, 0);
            // Several times around the segments that there are.
            let begun = engine.statistics().log.bytes;
            while engine.statistics().log.bytes < begun + (12 << 20) {
                let mut tries = 0;
                while let Err(error) = change() {
                    assert!(matches!(error, StorageError::Full { .. }), "{error}");
                    assert!(tries < 100, "seed {seed}: after {done} changes it is stuck: {error}");
                    (tries, refused) = (tries + 1, refused + 1);
                    env.clock.sleep(std::time::Duration::from_millis(100));
                }
                done += 1;
            }
            let recycled = engine.statistics().log.segments_recycled;
            assert!(recycled > 4, "{recycled} segments were given back, {refused} changes refused");
            let found = sorted(now(&engine, &heap));
            assert!(found.iter().take(50).all(|row| row.2 == row.0 as f64 / 2.0 + f64::from(done)));
            sound(&engine);
        });
    }
}

/// R7 of the log, D4 of the double-write area: what a small database leaves when it is closed is enough to open it.
#[test]
fn a_small_database_is_opened_and_read_on_a_full_disk_as_often_as_one_likes() {
    let world = World::new(2);
    world.run(|env| {
        let (engine, heap) = create_in(env, options());
        fill(&engine, &heap, 0..60);
        let object = heap.object;
        drop(heap);
        engine.close().unwrap();
        drop(engine);
        let capacity_bytes = Some(world.vfs().used_bytes());
        world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
        for number in 0..300 {
            let engine = Engine::open(env.clone(), &path(), options());
            let engine = engine.unwrap_or_else(|error| panic!("opened {number} times: {error}"));
            let heap = engine.heap(object).unwrap();
            assert_eq!(sorted(now(&engine, &heap)), rows(0..60));
            if number % 10 == 0 {
                let mut txn = engine.begin(TxnOptions::default());
                let refused = insert(&heap, &mut txn, &rows(60..61));
                assert!(matches!(refused, Err(StorageError::Full { .. })), "{refused:?}");
                txn.rollback().unwrap();
                assert_eq!(sorted(now(&engine, &heap)), rows(0..60));
            }
            drop(heap);
            // As a crash, or in order.
            if number % 7 == 0 {
                engine.close().unwrap();
            }
        }
        world.vfs().set_faults(FaultPlan::default());
        let engine = Engine::open(env.clone(), &path(), options()).unwrap();
        let heap = engine.heap(object).unwrap();
        fill(&engine, &heap, 60..100);
        assert_eq!(sorted(now(&engine, &heap)), rows(0..100));
        sound(&engine);
    });
}

/// S10 of the space map: small tables come and go in what was lost, and map pages had been written with that.
#[test]
fn map_pages_changed_by_the_lost_part_of_a_log_do_not_keep_a_database_from_opening() {
    let small = || EngineOptions { buffer_pool_bytes: 32 * 4096, ..options() };
    let mut lost_maps = 0;
    for nth in (2..26).step_by(3) {
        let (world, object) = killed(
            |engine, heap| {
                fill(engine, heap, 0..2000);
                engine.checkpoint().unwrap();
                let mut made = Vec::new();
                for number in 0..24 {
                    let mut txn = engine.begin(TxnOptions::default());
                    let table = engine.create_heap(&mut txn, &COLUMNS).unwrap();
                    txn.commit(CommitMode::Wait).unwrap();
                    fill(engine, &engine.heap(table).unwrap(), 0..60 * (1 + number % 4));
                    made.push(table);
                    if number % 3 == 2 {
                        let mut txn = engine.begin(TxnOptions::default());
                        engine.drop_object(&mut txn, made.remove(0)).unwrap();
                        txn.commit(CommitMode::Wait).unwrap();
                        engine.housekeeping().unwrap();
                    }
                    // More than the pool holds: map pages go to the disk, too.
                    assert_eq!(now(engine, heap).len(), 2000);
                }
            },
            small(),
        );
        let log = World::dir().join("t.verso-wal/0000000000000001.log");
        let bytes = world.vfs().read_file(&log).unwrap();
        let chunks =
            (1..bytes.len() / 512).filter(|sector| &bytes[sector * 512 + 4..][..4] == b"VLOG").count();
        damage_chunk(&world, chunks - 1 - nth);
        for open_damaged_log in [true, false] {
            world.run(|env| {
                let file = world.vfs().read_file(&path()).unwrap();
                let opening = EngineOptions { open_damaged_log, ..small() };
                let engine = Engine::open(env.clone(), &path(), opening).unwrap();
                if let Some(lost) = engine.recovery().unwrap().lost {
                    let is_newer = |page: &usize| header::lsn(&file[page * 4096..][..4096]) > lost.from;
                    lost_maps += [1, 2].iter().filter(|page| is_newer(page)).count();
                }
                let heap = engine.heap(object).unwrap();
                assert_eq!(sorted(now(&engine, &heap)), rows(0..2000), "it was not changed");
                // What is made from now on is whole.
                let mut txn = engine.begin(TxnOptions::default());
                let table = engine.create_heap(&mut txn, &COLUMNS).unwrap();
                txn.commit(CommitMode::Wait).unwrap();
                let heap = engine.heap(table).unwrap();
                fill(&engine, &heap, 0..500);
                engine.housekeeping().unwrap();
                engine.checkpoint().unwrap();
                assert_eq!(sorted(now(&engine, &heap)), rows(0..500));
                let problems = engine.check(&mut |_| ()).unwrap().problems;
                assert!(
                    problems.iter().all(|problem| problem.table != object && problem.table != table),
                    "{problems:?}"
                );
            });
            world.vfs().crash_losing_nothing();
        }
    }
    assert!(lost_maps > 2, "{lost_maps} map pages were newer than the log");
}
