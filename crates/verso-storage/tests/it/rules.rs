//! A test for each rule that no other test would miss (docs/MUTATIONS.md).

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_sim::{FaultPlan, World};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::page::header;
use verso_storage::{
    CommitMode, Engine, EngineOptions, Isolation, PageKind, StorageError, SweepOptions, Txn, TxnOptions,
    TxnState,
};
use verso_types::Batch;

use crate::support::{COLUMNS, Row, batch, bump, create, fill, now, options, read, remove, rows, sound};

pub const SNAPSHOT: TxnOptions =
    TxnOptions { isolation: Isolation::Snapshot, savepoints: true, read_only: false };

pub fn statement(txn: &mut Txn, body: impl FnOnce(&mut Txn)) {
    txn.begin_statement().unwrap();
    body(txn);
    txn.end_statement().unwrap();
}

fn fetches(engine: &Engine, kind: PageKind) -> u64 {
    engine.statistics().pool.fetches_per_kind[kind.index()]
}

#[test]
fn v3_a_second_change_of_the_same_columns_links_nothing() {
    for savepoints in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, heap) = create(dir.path());
        fill(&engine, &heap, 0..500);
        let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
        let mut pass = || {
            statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |_| true).unwrap());
            engine.space().version_pages
        };
        let first = pass();
        assert!(first > 2);
        assert_eq!([pass(), pass(), pass()], [first; 3], "savepoints {savepoints}");
    }
}

#[test]
fn v3_a_further_column_is_kept_by_a_continuation() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..100);
    let mut old = engine.begin(SNAPSHOT);
    statement(&mut old, |_| ());
    let mut txn = engine.begin(TxnOptions::default());
    for column in [3, 2, 3, 1] {
        statement(&mut txn, |txn| set(&heap, txn, &[column], 1, 1));
        assert_eq!(read(&heap, &old), rows(0..100), "after column {column}");
    }
    txn.rollback().unwrap();
    assert_eq!(now(&engine, &heap), rows(0..100));
}

#[test]
fn v1_rows_inserted_one_by_one_are_noted_once_and_undone_with_their_statements() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let mut txn = engine.begin(TxnOptions::default());
    let insert = |txn: &mut Txn, id: i64| heap.insert(txn, &batch(&rows(id..id + 1)), None).unwrap();
    // The first page has room for names like the first row's.
    statement(&mut txn, |txn| insert(txn, 1));
    let noted = fetches(&engine, PageKind::Version);
    (2..10).for_each(|id| statement(&mut txn, |txn| insert(txn, id)));
    assert_eq!(fetches(&engine, PageKind::Version), noted, "one note for all of them");
    // F2: the record of a statement is its parent's, of one within another, too.
    txn.savepoint("s").unwrap();
    statement(&mut txn, |txn| insert(txn, 10));
    statement(&mut txn, |txn| {
        insert(txn, 11);
        statement(txn, |txn| insert(txn, 12));
        insert(txn, 13);
    });
    txn.rollback_to("s").unwrap();
    txn.begin_statement().unwrap();
    insert(&mut txn, 14);
    txn.abort_statement().unwrap();
    statement(&mut txn, |txn| insert(txn, 10));
    statement(&mut txn, |txn| assert_eq!(read(&heap, txn), rows(1..11)));
    txn.rollback().unwrap();
    assert_eq!(now(&engine, &heap), []);
    sound(&engine);
}

/// Sets columns of one row in `every` to something that depends on `by`.
fn set(heap: &Arc<Heap>, txn: &mut Txn, columns: &[u16], by: i64, every: usize) {
    if columns.is_empty() {
        return;
    }
    let mut scan = heap.scan(txn, ScanSpec { columns, pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out).unwrap() {
        let selection: Vec<u32> = (0..out.batch.rows as u32).step_by(every).collect();
        let row = |id: &u32| (-i64::from(*id) - by, Some(format!("new {by}")), by as f64);
        let all = batch(&selection.iter().map(row).collect::<Vec<Row>>()).columns;
        let wanted = columns.iter().map(|column| all[usize::from(*column) - 1].clone());
        heap.update(txn, &out, Some(&selection), columns, &Batch::from_columns(wanted.collect())).unwrap();
    }
}

#[test]
fn v5_what_is_deleted_gives_its_slots_and_chains_back() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let many: Vec<Row> = (0..50).map(|id| (id, Some("long ".repeat(600)), 0.0)).collect();
    let mut pages = Vec::new();
    for _ in 0..4 {
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| heap.insert(txn, &batch(&many), None).unwrap());
        txn.commit(CommitMode::Wait).unwrap();
        pages.push(engine.table_space(heap.object).unwrap().pages);
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| bump(&heap, txn, "longer", 0.0, |id| id % 2 == 0).unwrap());
        statement(&mut txn, |txn| remove(&heap, txn, |_| true));
        txn.commit(CommitMode::Wait).unwrap();
        engine.housekeeping().unwrap();
        sound(&engine);
    }
    assert_eq!(pages[1..], [pages[1]; 3], "{pages:?}");
}

#[test]
fn v5_closing_a_long_snapshot_frees_version_pages_without_reading_any_page() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..500);
    let mut old = engine.begin(SNAPSHOT);
    statement(&mut old, |_| ());
    for pass in 0..6 {
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| bump(&heap, txn, "x", 1.0, |id| id % 3 != pass % 3).unwrap());
        txn.commit(CommitMode::Wait).unwrap();
        engine.housekeeping().unwrap();
    }
    assert_eq!(read(&heap, &old), rows(0..500));
    assert!(engine.space().version_pages > 20, "{:?}", engine.space());
    let kinds = [PageKind::Data, PageKind::Version, PageKind::Overflow, PageKind::Directory, PageKind::Root];
    drop(old);
    let before = kinds.map(|kind| fetches(&engine, kind));
    let reads = engine.statistics().pool.reads;
    engine.housekeeping().unwrap();
    assert_eq!(engine.space().version_pages, 0);
    assert_eq!(kinds.map(|kind| fetches(&engine, kind)), before, "pages fetched");
    assert_eq!(engine.statistics().pool.reads, reads, "pages read from the file");
}

/// Changes a page of the closed database at `path` and repairs its checksum.
pub fn tamper(
    path: &Path,
    page_size: usize,
    which: impl Fn(&[u8]) -> bool,
    change: impl Fn(&mut [u8]),
) -> usize {
    let mut bytes = std::fs::read(path).unwrap();
    let mut count = 0;
    for page in bytes.chunks_exact_mut(page_size).skip(1) {
        if which(page) {
            change(page);
            header::seal(page);
            count += 1;
        }
    }
    std::fs::write(path, bytes).unwrap();
    count
}

#[test]
fn v6_a_pointer_into_another_incarnation_of_a_page_is_corruption() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10);
    engine.set_auto_backout(false);
    let mut txn = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
    statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |_| true).unwrap());
    txn.rollback().unwrap();
    engine.close().unwrap();
    let (path, object) = (dir.path().join("t.verso"), heap.object);
    drop((heap, engine));
    let is_version = |page: &[u8]| header::kind(page) == Some(PageKind::Version);
    assert!(tamper(&path, 4096, is_version, |page| page[6] ^= 1) > 0);
    let engine =
        Engine::open(Env::real(), &path, EngineOptions { auto_backout: false, ..options() }).unwrap();
    let heap = engine.heap(object).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let mut scan = heap.scan(&txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
    let found = scan.next(&mut ScanBatch::default());
    assert!(matches!(found, Err(StorageError::Corrupt { .. })), "{found:?}");
}

#[test]
fn v7_a_change_takes_the_flags_of_sweep_away() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..200);
    let sweep = || engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    // A snapshot from before the update keeps its versions, so the pages are not swept.
    let mut old = engine.begin(SNAPSHOT);
    statement(&mut old, |_| ());
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "x", 1.0, |_| true).unwrap());
    txn.commit(CommitMode::Wait).unwrap();
    sweep();
    sound(&engine);
    assert_eq!(read(&heap, &old), rows(0..200));
    drop(old);
    sweep();
    let space = engine.table_space(heap.object).unwrap();
    assert_eq!(space.swept_pages, space.data_pages, "all pages swept");
    sound(&engine);
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "y", 1.0, |id| id == 5).unwrap());
    assert_eq!(engine.table_space(heap.object).unwrap().swept_pages, space.swept_pages - 1);
    sound(&engine);
    txn.commit(CommitMode::Wait).unwrap();
    let report = sweep();
    assert_eq!((report.pages_visited, report.pages_skipped), (1, space.swept_pages - 1));
}

#[test]
fn v8_a_restart_keeps_what_the_dead_need_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let path = dir.path().join("t.verso");
    fill(&engine, &heap, 0..300);
    engine.set_auto_backout(false);
    for pass in 0..3 {
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| bump(&heap, txn, "x", 1.0, |_| true).unwrap());
        txn.commit(CommitMode::Wait).unwrap();
        assert!(engine.space().version_pages > pass);
    }
    let expected = now(&engine, &heap);
    let object = heap.object;
    drop((heap, engine)); // as a crash
    let engine = Engine::open(Env::real(), &path, options()).unwrap();
    assert_eq!(engine.space().version_pages, 0, "no transaction is dead, so no version page is kept");
    let heap = engine.heap(object).unwrap();
    assert_eq!(now(&engine, &heap), expected);
    let mut dead = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
    statement(&mut dead, |txn| bump(&heap, txn, "dead", 7.0, |id| id % 2 == 1).unwrap());
    dead.rollback().unwrap();
    fill(&engine, &heap, 300..301); // makes the log durable
    drop((heap, engine));
    let engine =
        Engine::open(Env::real(), &path, EngineOptions { auto_backout: false, ..options() }).unwrap();
    let heap = engine.heap(object).unwrap();
    assert!(engine.space().version_pages > 0);
    let mut found = now(&engine, &heap);
    found.retain(|row| row.0 < 300);
    assert_eq!(found, expected);
    sound(&engine);
}

#[test]
fn t1_a_transaction_that_logs_after_a_younger_one_is_dead_after_a_restart_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10);
    // The loser of a conflict has a number and has logged nothing.
    let mut older = engine.begin(SNAPSHOT);
    statement(&mut older, |_| ());
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |id| id == 1).unwrap());
    txn.commit(CommitMode::Wait).unwrap();
    older.begin_statement().unwrap();
    assert!(bump(&heap, &mut older, "", 5.0, |id| id == 1).is_err());
    older.abort_statement().unwrap();
    let mut younger = engine.begin(TxnOptions::default());
    statement(&mut younger, |txn| bump(&heap, txn, "", 1.0, |id| id == 2).unwrap());
    assert!(older.id() < younger.id());
    statement(&mut older, |txn| bump(&heap, txn, "lost", 9.0, |id| id == 3).unwrap());
    younger.commit(CommitMode::Wait).unwrap();
    let (expected, object) = (now(&engine, &heap), heap.object);
    let copy = dir.path().join("copy.verso");
    copy_database(&dir.path().join("t.verso"), &copy); // what a crash would leave
    let again = Engine::open(Env::real(), &copy, options()).unwrap();
    assert_eq!(now(&again, &again.heap(object).unwrap()), expected);
    assert_eq!(again.txn_state(older.id().unwrap()), TxnState::Dead);
}

/// Copies a database that is in use, with its log.
pub(crate) fn copy_database(from: &Path, to: &Path) {
    let folder = |path: &Path| std::path::PathBuf::from(format!("{}-wal", path.display()));
    std::fs::copy(from, to).unwrap();
    std::fs::create_dir(folder(to)).unwrap();
    for file in std::fs::read_dir(folder(from)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder(to).join(file.file_name())).unwrap();
    }
}

#[test]
fn t1_a_commit_is_published_behind_its_fsync_only() {
    let world = World::new(1);
    world.run(|env| {
        let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        let heap = engine.heap(object).unwrap();
        fill(&engine, &heap, 0..3);
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| bump(&heap, txn, "!", 1.0, |_| true).unwrap());
        let id = txn.id().unwrap();
        world.vfs().set_faults(FaultPlan { fail_sync: Some(1), ..FaultPlan::default() });
        assert!(txn.commit(CommitMode::Wait).is_err());
        assert_ne!(engine.txn_state(id), TxnState::Committed, "nobody may see what may be lost");
    });
}

#[test]
fn t2_a_statement_reads_the_state_at_its_start() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..20);
    let mut reader = engine.begin(TxnOptions::default());
    reader.begin_statement().unwrap();
    assert_eq!(read(&heap, &reader), rows(0..20));
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |_| true).unwrap());
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(read(&heap, &reader), rows(0..20), "the same statement");
    reader.end_statement().unwrap();
    reader.begin_statement().unwrap();
    assert_eq!(read(&heap, &reader), now(&engine, &heap), "the next statement");
}

#[test]
fn f4_a_small_rollback_leaves_nothing_and_a_large_one_is_instant() {
    let dir = tempfile::tempdir().unwrap();
    let small = EngineOptions { eager_rollback_records: 50, ..options() };
    let engine = Engine::create(Env::real(), &dir.path().join("t.verso"), small).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    fill(&engine, &heap, 0..200);
    for (count, after) in [(50, TxnState::Committed), (51, TxnState::Dead)] {
        let mut txn = engine.begin(TxnOptions::default());
        for _ in 0..2 {
            statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |id| id < count).unwrap());
        }
        let id = txn.id().unwrap();
        let fetched = fetches(&engine, PageKind::Data);
        txn.rollback().unwrap();
        assert_eq!(engine.txn_state(id), after, "{count} records");
        assert_eq!(fetches(&engine, PageKind::Data) == fetched, after == TxnState::Dead);
        assert_eq!(now(&engine, &heap), rows(0..200));
        engine.housekeeping().unwrap();
        assert_eq!(engine.txn_state(id), TxnState::Committed, "backed out in the background");
        assert_eq!(now(&engine, &heap), rows(0..200));
    }
}

#[test]
fn f5_without_savepoints_an_error_leaves_reads_and_rollback_and_sweep_does_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..20);
    let mut txn = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
    assert!(matches!(txn.savepoint("s"), Err(StorageError::SavepointsOff)));
    statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |id| id < 3).unwrap());
    txn.begin_statement().unwrap();
    txn.abort_statement().unwrap();
    txn.begin_statement().unwrap();
    let refused = bump(&heap, &mut txn, "", 1.0, |_| true);
    assert!(matches!(refused, Err(StorageError::MustRollback)), "{refused:?}");
    assert_eq!(read(&heap, &txn).len(), 20, "reads go on");
    txn.abort_statement().unwrap();
    let id = txn.id().unwrap();
    assert!(matches!(txn.commit(CommitMode::Wait), Err(StorageError::MustRollback)));
    engine.housekeeping().unwrap();
    assert_eq!(engine.txn_state(id), TxnState::Dead, "left to sweep, not to housekeeping");
    assert_eq!(engine.markers().oit, id);
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(engine.txn_state(id), TxnState::Committed);
    assert_eq!(now(&engine, &heap), rows(0..20));
}

#[test]
fn f2_the_image_of_the_outer_savepoint_wins() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..40);
    let mut txn = engine.begin(TxnOptions::default());
    let change = |txn: &mut Txn, columns: &[u16], by: i64, every: usize| {
        statement(txn, |txn| set(&heap, txn, columns, by, every));
        txn.begin_statement().unwrap();
        let found = read(&heap, txn);
        txn.end_statement().unwrap();
        found
    };
    let expected = change(&mut txn, &[1, 2, 3], 1, 1);
    txn.savepoint("outer").unwrap();
    change(&mut txn, &[2], 2, 2);
    txn.savepoint("inner").unwrap();
    // Images of two columns for all records; half of the records have one of the first column further out.
    change(&mut txn, &[2, 3], 3, 1);
    txn.release("inner").unwrap();
    txn.rollback_to("outer").unwrap();
    assert_eq!(change(&mut txn, &[], 0, 1), expected);
    txn.rollback().unwrap();
    assert_eq!(now(&engine, &heap), rows(0..40));
}
