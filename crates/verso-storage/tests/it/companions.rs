//! Values that outgrow their data pages: many to a companion page, freed with their last reference.

use verso_storage::page::{PageKind, header};
use verso_storage::{CommitMode, Engine, SweepOptions, TxnOptions};

use crate::support::{batch, bump, create, fill, now, read, rows, sound};

const PAGE_SIZE: usize = 4096;

/// Pages of the closed database by kind.
fn pages(path: &std::path::Path, kind: PageKind) -> usize {
    let file = std::fs::read(path).unwrap();
    file.chunks(PAGE_SIZE).filter(|page| header::kind(page) == Some(kind)).count()
}

fn sweep(engine: &Engine) {
    engine.housekeeping().unwrap();
    engine.sweep(SweepOptions::default(), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    engine.housekeeping().unwrap();
}

/// Every name grows by 150 bytes, and most of them no longer fit: they share pages instead of taking one each.
#[test]
fn values_that_outgrow_their_pages_share_companions() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..2000);
    let before = engine.table_space(heap.object).unwrap().pages;
    let suffix = "x".repeat(150);
    let mut old =
        engine.begin(TxnOptions { isolation: verso_storage::Isolation::Snapshot, ..TxnOptions::default() });
    old.begin_statement().unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, &suffix, 1.0, |_| true).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let after = engine.table_space(heap.object).unwrap().pages;
    // 1,714 names of some 160 bytes are 67 pages' worth.
    assert!(after - before < 2 * 67 + 32, "{before} pages, then {after}");
    let grown: Vec<_> = rows(0..2000)
        .into_iter()
        .map(|(id, name, amount)| (id, name.map(|name| name + &suffix), amount + 1.0))
        .collect();
    assert_eq!(now(&engine, &heap), grown);
    assert_eq!(read(&heap, &old), rows(0..2000), "the older snapshot reads what was there");
    sound(&engine);
    drop(old);
    engine.close().unwrap();
    assert!(pages(&dir.path().join("t.verso"), PageKind::Companion) > 40);
}

/// Values moved out again and again, by an update whose old versions go: the table does not grow for ever.
#[test]
fn items_and_pages_are_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..1000);
    let update = |suffix: &str| {
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        bump(&heap, &mut txn, suffix, 1.0, |_| true).unwrap();
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        sweep(&engine);
    };
    update(&"y".repeat(120));
    update("");
    let settled = engine.table_space(heap.object).unwrap().pages;
    for _ in 0..6 {
        update("");
    }
    let after = engine.table_space(heap.object).unwrap().pages;
    assert!(after <= settled + 16, "{settled} pages, then {after}");
    sound(&engine);
}

/// What a rollback leaves, at once or by back-out: the old values, and no companion page.
#[test]
fn a_rollback_frees_what_was_moved_out() {
    for savepoints in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, heap) = create(dir.path());
        fill(&engine, &heap, 0..1000);
        let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
        txn.begin_statement().unwrap();
        bump(&heap, &mut txn, &"z".repeat(100), 1.0, |_| true).unwrap();
        txn.end_statement().unwrap();
        txn.rollback().unwrap();
        assert_eq!(now(&engine, &heap), rows(0..1000));
        sweep(&engine);
        assert_eq!(now(&engine, &heap), rows(0..1000));
        sound(&engine);
        engine.close().unwrap();
        let left = pages(&dir.path().join("t.verso"), PageKind::Companion);
        if savepoints {
            assert_eq!(left, 0, "companion pages without a value");
        }
    }
}

/// After a restart everything is read from the log and the file.
#[test]
fn companions_outlive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..500);
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    heap.insert(&mut txn, &batch(&[(-1, Some("q".repeat(900)), 0.0)]), None).unwrap();
    bump(&heap, &mut txn, &"w".repeat(200), 1.0, |id| id % 3 == 0).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let before = now(&engine, &heap);
    let object = heap.object;
    // Not closed: the log has it all.
    std::mem::forget((engine, heap));
    let copy = tempfile::tempdir().unwrap();
    for entry in walk(dir.path()) {
        let to = copy.path().join(entry.strip_prefix(dir.path()).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&entry, to).unwrap();
    }
    let engine =
        Engine::open(verso_env::Env::real(), &copy.path().join("t.verso"), crate::support::options())
            .unwrap();
    let heap = engine.heap(object).unwrap();
    assert_eq!(now(&engine, &heap), before);
    sound(&engine);
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}
