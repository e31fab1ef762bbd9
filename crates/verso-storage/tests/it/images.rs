//! Undo images on temporary pages (F3), and version pages that change hands while others write.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_sim::{FaultPlan, World, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::page::header;
use verso_storage::{
    CommitMode, Engine, EngineOptions, PageKind, StorageError, SweepOptions, Txn, TxnOptions,
};

use crate::support::{COLUMNS, Row, batch, bump, fill, now, options, read, remove, rows, sound};

const PAGE_SIZE: u64 = 4096;
const POOL_PAGES: u64 = 64;

fn small_pool() -> EngineOptions {
    EngineOptions { buffer_pool_bytes: POOL_PAGES * PAGE_SIZE, ..options() }
}

fn create_in(env: &Env, path: &Path) -> Result<(Engine, Arc<Heap>), StorageError> {
    let engine = Engine::create(env.clone(), path, small_pool())?;
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS)?;
    txn.commit(CommitMode::Wait)?;
    let heap = engine.heap(object)?;
    Ok((engine, heap))
}

/// What [`bump`] makes of rows.
fn bumped(rows: &[Row], suffix: &str, by: f64, which: impl Fn(i64) -> bool) -> Vec<Row> {
    let change = |row: &Row| match which(row.0) {
        true => (row.0, row.1.as_ref().map(|name| format!("{name}{suffix}")), row.2 + by),
        false => row.clone(),
    };
    rows.iter().map(change).collect()
}

#[test]
fn f3_images_survive_eviction_and_rollback_to_finds_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.verso");
    let (engine, heap) = create_in(&Env::real(), &path).unwrap();
    fill(&engine, &heap, 0..16000);
    let before = now(&engine, &heap);
    let mut txn = engine.begin(TxnOptions::default());
    bumps(&heap, &mut txn, "a", |_| true);
    let first = bumped(&before, "a", 1.0, |_| true);
    assert_eq!(engine.space().temporary_pages, 0, "a first change needs no image");
    txn.savepoint("one").unwrap();
    bumps(&heap, &mut txn, "b", |_| true);
    let second = bumped(&first, "b", 1.0, |_| true);
    let spilled = txn.statistics().undo_image_bytes;
    assert!(spilled > POOL_PAGES * PAGE_SIZE, "more images than the pool has room for: {spilled}");
    assert!(engine.space().temporary_pages * PAGE_SIZE > spilled);
    txn.savepoint("two").unwrap();
    bumps(&heap, &mut txn, "a longer name than there is room for on the page", |id| id % 3 == 0);
    remove(&heap, &mut txn, |id| id % 5 == 1);
    bumps(&heap, &mut txn, "c", |id| id % 2 == 0);
    txn.savepoint("three").unwrap();
    bumps(&heap, &mut txn, "d", |id| id % 4 == 0);
    txn.release("three").unwrap();
    txn.rollback_to("two").unwrap();
    assert_eq!(txn.statistics().undo_image_bytes, spilled, "what was undone is cut off");
    assert_eq!(read(&heap, &txn), second);
    txn.rollback_to("one").unwrap();
    assert_eq!(read(&heap, &txn), first);
    assert_eq!(txn.statistics().undo_image_bytes, 0);
    bumps(&heap, &mut txn, "e", |id| id % 2 == 0);
    txn.commit(CommitMode::Wait).unwrap();
    let after = bumped(&first, "e", 1.0, |id| id % 2 == 0);
    assert_eq!(now(&engine, &heap), after);
    assert_eq!(engine.space().temporary_pages, 0, "they go with the transaction");
    sound(&engine);
    let object = heap.object;
    engine.close().unwrap();
    drop((heap, engine));
    let engine = Engine::open(Env::real(), &path, small_pool()).unwrap();
    assert_eq!(now(&engine, &engine.heap(object).unwrap()), after);
    sound(&engine);
}

#[test]
fn f3_images_of_a_statement_go_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create_in(&Env::real(), &dir.path().join("t.verso")).unwrap();
    fill(&engine, &heap, 0..3000);
    let mut txn = engine.begin(TxnOptions::default());
    let mut pages = Vec::new();
    for _ in 0..4 {
        txn.begin_statement().unwrap();
        bump(&heap, &mut txn, "", 1.0, |_| true).unwrap();
        pages.push(engine.space().temporary_pages);
        txn.end_statement().unwrap();
        assert_eq!(txn.statistics().undo_image_bytes, 0);
    }
    assert!(pages[0] == 0 && pages[1] > 0, "{pages:?}");
    assert_eq!(pages[1..], vec![pages[1]; 3], "the pages are used again");
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "gone", 1.0, |id| id < 1000).unwrap();
    txn.abort_statement().unwrap();
    let expected: Vec<Row> = bumped(&rows(0..3000), "", 4.0, |_| true);
    assert_eq!(read(&heap, &txn), expected);
    txn.rollback().unwrap();
    assert_eq!(engine.space().temporary_pages, 0);
    engine.housekeeping().unwrap();
    assert_eq!(now(&engine, &heap), rows(0..3000));
    sound(&engine);
}

/// One statement of its own.
fn bumps(heap: &Arc<Heap>, txn: &mut Txn, suffix: &str, which: impl Fn(i64) -> bool) {
    txn.begin_statement().unwrap();
    bump(heap, txn, suffix, 1.0, which).unwrap();
    txn.end_statement().unwrap();
}

/// Lets others write more log than is kept for undo in debug builds, and checkpoints make room of all that nobody needs.
fn log_goes_on(engine: &Engine, megabytes: usize) {
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    let before = engine.statistics().log.bytes;
    while engine.statistics().log.bytes < before + ((megabytes as u64) << 20) {
        fill(engine, &heap, 0..2000);
        engine.checkpoint().unwrap();
    }
}

#[test]
fn f3_what_stands_in_the_log_is_not_copied_and_stays_there() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create_in(&Env::real(), &dir.path().join("t.verso")).unwrap();
    fill(&engine, &heap, 0..1000);
    let before = now(&engine, &heap);
    let mut txn = engine.begin(TxnOptions::default());
    bumps(&heap, &mut txn, "a", |_| true);
    txn.savepoint("one").unwrap();
    let log = txn.statistics().log_bytes;
    bumps(&heap, &mut txn, "b", |_| true);
    let (log, images) = (txn.statistics().log_bytes - log, txn.statistics().undo_image_bytes);
    assert!(images * 10 < log, "{images} bytes of images, {log} bytes of changes");
    let recycled = engine.statistics().log.segments_recycled;
    log_goes_on(&engine, 6);
    assert_eq!(engine.statistics().log.segments_recycled, recycled, "the log is kept");
    txn.rollback_to("one").unwrap();
    assert_eq!(read(&heap, &txn), bumped(&before, "a", 1.0, |_| true));
    log_goes_on(&engine, 2);
    assert!(engine.statistics().log.segments_recycled > recycled, "it is needed no more");
    bumps(&heap, &mut txn, "c", |_| true);
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "d", 1.0, |_| true).unwrap();
    txn.abort_statement().unwrap();
    let after = bumped(&bumped(&before, "a", 1.0, |_| true), "c", 1.0, |_| true);
    assert_eq!(read(&heap, &txn), after);
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(now(&engine, &heap), after);
    sound(&engine);
}

#[test]
fn f3_the_log_is_no_image_of_what_was_changed_since() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create_in(&Env::real(), &dir.path().join("t.verso")).unwrap();
    fill(&engine, &heap, 0..1000);
    let before = now(&engine, &heap);
    let mut txn = engine.begin(TxnOptions::default());
    bumps(&heap, &mut txn, "a", |_| true);
    // A record alone is no part of what the log is used for.
    bumps(&heap, &mut txn, "alone", |id| id % 90 == 7);
    let first = bumped(&bumped(&before, "a", 1.0, |_| true), "alone", 1.0, |id| id % 90 == 7);
    assert_eq!(read(&heap, &txn), first);
    txn.savepoint("one").unwrap();
    bumps(&heap, &mut txn, "b", |_| true);
    txn.rollback_to("one").unwrap();
    assert_eq!(read(&heap, &txn), first);
    txn.rollback().unwrap();
    sound(&engine);
}

/// Images of savepoints around others are put behind those of the inner ones then.
#[test]
fn f3_a_log_that_grows_too_long_is_not_kept_for_images() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create_in(&Env::real(), &dir.path().join("t.verso")).unwrap();
    fill(&engine, &heap, 0..1000);
    let before = now(&engine, &heap);
    let mut txn = engine.begin(TxnOptions::default());
    bumps(&heap, &mut txn, "a", |_| true);
    let first = bumped(&before, "a", 1.0, |_| true);
    txn.savepoint("one").unwrap();
    bumps(&heap, &mut txn, "b", |_| true);
    let second = bumped(&first, "b", 1.0, |_| true);
    txn.savepoint("two").unwrap();
    bumps(&heap, &mut txn, "c", |id| id % 3 == 0);
    let few = txn.statistics().undo_image_bytes;
    let recycled = engine.statistics().log.segments_recycled;
    log_goes_on(&engine, 2);
    bumps(&heap, &mut txn, "d", |id| id % 2 == 0);
    assert!(txn.statistics().undo_image_bytes > few + 16_000, "they were copied");
    log_goes_on(&engine, 2);
    assert!(engine.statistics().log.segments_recycled > recycled);
    txn.rollback_to("two").unwrap();
    assert_eq!(read(&heap, &txn), second);
    bumps(&heap, &mut txn, "e", |id| id % 5 == 0);
    txn.rollback_to("one").unwrap();
    assert_eq!(read(&heap, &txn), first);
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(now(&engine, &heap), first);
    assert_eq!(engine.space().temporary_pages, 0);
    sound(&engine);
}

/// Updates the names, or the amounts, or both, of rows with these numbers.
fn set(heap: &Arc<Heap>, txn: &mut Txn, ids: &[i64], name: Option<&str>, amount: Option<f64>) {
    txn.begin_statement().unwrap();
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out).unwrap() {
        let numbers = out.batch.columns[0].data.i64s().unwrap();
        let selection: Vec<u32> =
            (0..numbers.len() as u32).filter(|row| ids.contains(&numbers[*row as usize])).collect();
        let row = (0, name.map(str::to_owned), amount.unwrap_or_default());
        let mut values = batch(&vec![row; selection.len()]);
        values.columns.remove(0);
        let columns = [(2, name.is_some()), (3, amount.is_some())];
        let mut wanted = columns.iter().map(|column| column.1);
        values.columns.retain(|_| wanted.next().unwrap());
        let ids: Vec<u16> = columns.iter().filter(|column| column.1).map(|column| column.0).collect();
        heap.update(txn, &out, Some(&selection), &ids, &values).unwrap();
    }
    txn.end_statement().unwrap();
}

/// Two images of one value, the newer one too long for what others have left of the page: it moves out, and the older one
/// frees it again in the same mini-transaction.
#[test]
fn f2_undo_frees_a_value_that_it_has_just_moved_out() {
    // How much the others may take so that the newer image does not fit, but they do.
    let given_back: usize = (100..1000).step_by(50).map(undo_beside).sum();
    assert!(given_back > 0, "a value has been out, and its page was given back");
}

/// Pages given back by an undo after another transaction has taken so many bytes of the page.
fn undo_beside(others: usize) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.verso");
    let (engine, heap) = create_in(&Env::real(), &path).unwrap();
    fill(&engine, &heap, 0..20);
    let mut txn = engine.begin(TxnOptions::default());
    set(&heap, &mut txn, &[1, 2], Some("own"), Some(0.0));
    txn.savepoint("s").unwrap();
    let long = "x".repeat(600);
    set(&heap, &mut txn, &[1], Some(&long), None);
    set(&heap, &mut txn, &[2], None, Some(5.0));
    set(&heap, &mut txn, &[1, 2], Some("short"), Some(7.0));
    let mut other = engine.begin(TxnOptions::default());
    set(&heap, &mut other, &[3], Some(&"p".repeat(others)), None);
    other.commit(CommitMode::Wait).unwrap();
    txn.rollback_to("s").unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let rows = now(&engine, &heap);
    assert_eq!((rows[1].1.as_deref(), rows[1].2), (Some("own"), 0.0));
    assert_eq!((rows[2].1.as_deref(), rows[2].2), (Some("own"), 0.0));
    sound(&engine);
    engine.close().unwrap();
    let file = std::fs::read(&path).unwrap();
    // A free page of a table is an overflow page without a value.
    let free = |page: &[u8]| header::kind(page) == Some(PageKind::Overflow);
    file.chunks(PAGE_SIZE as usize).filter(|page| free(page)).count()
}

/// Power cuts while images are on pages that a dropped table gave back.
#[test]
fn f3_temporary_pages_are_free_after_a_crash() {
    let mut cut_with_pages = 0;
    for seed in seeds(12) {
        let world = World::new(seed);
        let path = World::dir().join("t.verso");
        let mut rng = world.rng();
        let object = world.run(|env| {
            let (engine, heap) = create_in(env, &path).unwrap();
            fill(&engine, &heap, 0..2500);
            let mut txn = engine.begin(TxnOptions::default());
            let other = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            txn.begin_statement().unwrap();
            engine.heap(other).unwrap().insert(&mut txn, &batch(&rows(0..5000)), None).unwrap();
            txn.end_statement().unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            engine.drop_object(&mut txn, other).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            engine.close().unwrap();
            heap.object
        });
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path, small_pool()).unwrap();
            let heap = engine.heap(object).unwrap();
            let at = rng.between(40, 400);
            world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
            let mut work = || -> Result<(), StorageError> {
                engine.housekeeping()?;
                let mut txn = engine.begin(TxnOptions::default());
                for round in 0..4 {
                    txn.savepoint(&format!("s{round}"))?;
                    txn.begin_statement()?;
                    bump(&heap, &mut txn, "x", 1.0, |_| true)?;
                    txn.end_statement()?;
                    cut_with_pages += u32::from(engine.space().temporary_pages > 0);
                }
                engine.checkpoint()?;
                // Not committed: nothing reaches the disk any more, so the crash takes it back.
                world.vfs().set_faults(FaultPlan { power_off_at_op: Some(1), ..FaultPlan::default() });
                Ok(())
            };
            let _ = work();
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path, small_pool()).unwrap();
            assert_eq!(engine.space().temporary_pages, 0, "seed {seed}");
            let heap = engine.heap(object).unwrap();
            assert_eq!(now(&engine, &heap), rows(0..2500), "seed {seed}");
            sound(&engine);
            engine.housekeeping().unwrap();
            assert_eq!(now(&engine, &heap), rows(0..2500), "seed {seed}");
            sound(&engine);
        });
    }
    assert!(cut_with_pages > 0, "some seed gets as far as temporary pages");
}

/// A page is given out again only when its retirement is in the log and its frame is gone.
#[test]
fn v4_writers_and_housekeeping_do_not_share_a_version_page() {
    for seed in seeds(12) {
        let world = World::new(seed);
        world.run(|env| {
            let (engine, heap) = create_in(env, &World::dir().join("t.verso")).unwrap();
            fill(&engine, &heap, 0..60);
            let keeper = {
                let engine = engine.clone();
                env.spawn("keeper", move || {
                    for _ in 0..12 {
                        engine.housekeeping().unwrap();
                    }
                })
            };
            let mut expected = rows(0..60);
            for _ in 0..12 {
                let mut txn = engine.begin(TxnOptions::default());
                txn.begin_statement().unwrap();
                bump(&heap, &mut txn, "", 1.0, |_| true).unwrap();
                txn.end_statement().unwrap();
                assert_eq!(now(&engine, &heap), expected, "seed {seed}: not committed yet");
                txn.commit(CommitMode::Wait).unwrap();
                expected = bumped(&expected, "", 1.0, |_| true);
                assert_eq!(now(&engine, &heap), expected, "seed {seed}");
            }
            keeper.join().unwrap();
            sound(&engine);
        });
    }
}

/// Pages of overflow chains, and all pages of the table.
fn chain_pages(engine: &Engine, heap: &Heap) -> (u64, u64) {
    let space = engine.table_space(heap.object).unwrap();
    (space.overflow_pages, space.pages)
}

/// Nobody needs old versions any more.
fn settle(engine: &Engine) {
    engine.housekeeping().unwrap();
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    engine.housekeeping().unwrap();
    assert_eq!(engine.space().version_pages, 0);
    sound(engine);
}

/// Two pages of a chain.
const CHAIN: usize = 5000;
/// Too much for many in a data page, little enough for a companion page.
const COMPANION: usize = 900;

fn long(letter: &str) -> String {
    letter.repeat(CHAIN)
}

#[test]
fn a_chain_replaced_by_its_own_transaction_goes_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create_in(&Env::real(), &dir.path().join("t.verso")).unwrap();
    fill(&engine, &heap, 0..10);
    let all: Vec<i64> = (0..10).collect();
    for savepoints in [false, true] {
        let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
        for letter in ["a", "b", "c", "d", "e", "f"] {
            set(&heap, &mut txn, &all, Some(&long(letter)), None);
        }
        // Two pages a value. Those that were there before wait for the commit, as do those of which an image was made.
        let pages = chain_pages(&engine, &heap).0;
        assert_eq!(pages, if savepoints { 140 } else { 20 });
        txn.commit(CommitMode::Wait).unwrap();
        settle(&engine);
        assert_eq!(chain_pages(&engine, &heap).0, 20);
        assert!(now(&engine, &heap).iter().all(|row| row.1 == Some(long("f"))));
    }
    let pages = chain_pages(&engine, &heap).1;
    for letter in ["g", "h", "i"] {
        let mut txn = engine.begin(TxnOptions::default());
        (0..6).for_each(|_| set(&heap, &mut txn, &all, Some(&long(letter)), None));
        txn.commit(CommitMode::Wait).unwrap();
        settle(&engine);
    }
    assert_eq!(chain_pages(&engine, &heap), (20, pages), "what is given back is used again");
}

/// Each ending after changes within savepoints that were undone, released, undone again.
#[test]
fn values_of_undone_savepoints_leave_nothing_behind() {
    for ending in 0..3 {
        for (eager, length) in [(0, CHAIN), (1000, CHAIN), (0, COMPANION), (1000, COMPANION)] {
            let value = |letter: &str| letter.repeat(length);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("t.verso");
            let options = EngineOptions { eager_rollback_records: eager, ..small_pool() };
            let engine = Engine::create(Env::real(), &path, options).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let heap = engine.heap(object).unwrap();
            fill(&engine, &heap, 0..4);
            let mut txn = engine.begin(TxnOptions::default());
            set(&heap, &mut txn, &[0, 1, 2], Some(&value("0")), None);
            txn.commit(CommitMode::Wait).unwrap();
            settle(&engine);
            let pages = if length == CHAIN { 6 } else { 0 };
            assert_eq!(chain_pages(&engine, &heap).0, pages);

            let mut txn = engine.begin(TxnOptions::default());
            // Record 0 changes its name before the savepoints, record 1 another column, record 2 nothing.
            set(&heap, &mut txn, &[0], Some(&value("a")), None);
            set(&heap, &mut txn, &[1], None, Some(1.0));
            txn.savepoint("outer").unwrap();
            set(&heap, &mut txn, &[0, 1], Some(&value("b")), None);
            txn.savepoint("inner").unwrap();
            set(&heap, &mut txn, &[0, 1, 2], Some(&value("c")), None);
            set(&heap, &mut txn, &[0, 1, 2], Some(&value("d")), Some(2.0));
            txn.rollback_to("inner").unwrap();
            set(&heap, &mut txn, &[0, 1, 2], Some(&value("e")), None);
            if ending > 0 {
                txn.rollback_to("outer").unwrap();
                set(&heap, &mut txn, &[0, 1], Some(&value("f")), None);
                set(&heap, &mut txn, &[0, 1], Some(&value("g")), None);
            }
            sound(&engine);
            if ending == 2 {
                txn.rollback().unwrap();
            } else {
                txn.commit(CommitMode::Wait).unwrap();
            }
            settle(&engine);
            let first = |id: usize| now(&engine, &heap)[id].1.as_ref().unwrap().chars().next().unwrap();
            let expected = [['e', 'e', 'e'], ['g', 'g', '0'], ['0', '0', '0']][ending];
            assert_eq!([first(0), first(1), first(2)], expected);
            assert_eq!(chain_pages(&engine, &heap).0, pages, "ending {ending}, eager {eager}");
            engine.close().unwrap();
        }
    }
}
