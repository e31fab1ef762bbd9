//! `check` finds what breaks a rule: each kind of finding in a file damaged accordingly, checksums repaired.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::Env;
use verso_sim::{SchedulerOptions, World, seeds};
use verso_storage::heap::layout::{
    FLAG_ALIKE, FLAG_SWEPT, GARBAGE, LIVE_COUNT, MAX_WRITER, PAGE_INDEX, PageLayout, VARIABLE_START,
};
use verso_storage::page::bytes::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use verso_storage::page::header;
use verso_storage::{CommitMode, Engine, EngineOptions, PageKind, SweepOptions, TxnOptions};

use crate::rules::{copy_database, tamper};
use crate::support::{COLUMNS, Row, batch, bump, create, fill, options, sound};

/// A closed database: 60 records updated by a transaction that committed, 3 with long values, and a dead change of all.
fn make(dir: &Path) {
    let (engine, heap) = create(dir);
    engine.set_auto_backout(false);
    fill(&engine, &heap, 0..60);
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(&heap, &mut txn, "x", 1.0, |_| true).unwrap();
    let long: Vec<Row> = (100..103).map(|id| (id, Some("long ".repeat(500)), 0.0)).collect();
    heap.insert(&mut txn, &batch(&long), None).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let mut dead = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
    dead.begin_statement().unwrap();
    bump(&heap, &mut dead, "", 1.0, |id| id < 60).unwrap();
    dead.end_statement().unwrap();
    dead.rollback().unwrap();
    engine.close().unwrap();
}

/// The rules that `check` finds broken once all pages of a kind are changed so.
fn findings(kind: PageKind, change: impl Fn(&mut [u8])) -> Vec<(&'static str, String)> {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = dir.path().join("t.verso");
    let is_kind =
        |page: &[u8]| header::kind(page) == Some(kind) && header::verify(page, header::page_id(page)).is_ok();
    assert!(tamper(&path, 4096, is_kind, change) > 0);
    let options = EngineOptions { auto_backout: false, ..options() };
    let engine = Engine::open(Env::real(), &path, options).unwrap();
    let report = engine.check(&mut |_| ()).unwrap();
    report.problems.into_iter().map(|problem| (problem.rule, problem.message)).collect()
}

/// Some finding is of this rule and says this.
fn finds(kind: PageKind, rule: &str, says: &str, change: impl Fn(&mut [u8])) {
    let found = findings(kind, change);
    let fits = |(its, message): &(&str, String)| *its == rule && message.contains(says);
    assert!(found.iter().any(fits), "{rule}, {says}: {found:?}");
}

/// Layout of the page, and the column of names.
fn names(page: &[u8]) -> (PageLayout, usize) {
    let layout = PageLayout::of(page).unwrap();
    let data = layout.columns[1].data;
    (layout, data)
}

#[test]
fn a_sound_database_has_no_findings() {
    assert_eq!(findings(PageKind::Data, |_| ()), []);
}

#[test]
fn counts_and_bytes_of_a_page_are_proven() {
    let add = |at: usize| move |page: &mut [u8]| put_u16(page, at, u16_at(page, at) + 1);
    finds(PageKind::Data, "page format", "counts", add(LIVE_COUNT));
    finds(PageKind::Data, "page format", "add up", add(GARBAGE));
    finds(PageKind::Data, "page format", "unknown value slot", |page| {
        let (_, data) = names(page);
        page[data + 8] = 9;
    });
    finds(PageKind::Data, "page format", "outside", |page| {
        let start = u16_at(page, VARIABLE_START);
        let (_, data) = names(page);
        let high = u64_at(page, data + 8) & !0xFFFF_0000;
        put_u64(page, data + 8, high | u64::from(start - 1) << 16);
    });
}

#[test]
fn the_directory_is_proven() {
    finds(PageKind::Data, "directory", "names a page", |page| put_u32(page, PAGE_INDEX, 77));
}

#[test]
fn every_page_of_a_table_is_used_once_or_free() {
    const NEVER_USED: usize = 40;
    const FREE_LIST: usize = 48;
    let add =
        |by: u32| move |page: &mut [u8]| put_u32(page, NEVER_USED, u32_at(page, NEVER_USED).wrapping_add(by));
    finds(PageKind::Root, "free list", "nothing leads to it", add(1));
    finds(PageKind::Root, "free list", "never used at once", add(1u32.wrapping_neg()));
    finds(PageKind::Root, "free list", "but in use", |page| {
        put_u32(page, FREE_LIST, header::page_id(page).0);
    });
    finds(PageKind::Root, "free list", "not in the table's extents", |page| {
        put_u32(page, NEVER_USED + 4, 99)
    });
}

#[test]
fn v1_v7_writers_and_flags_are_proven() {
    finds(PageKind::Data, "V1", "without a writer", |page| {
        let (layout, _) = names(page);
        put_u64(page, layout.writer, 0);
    });
    finds(PageKind::Data, "V2", "than its flag says", |page| {
        let (layout, _) = names(page);
        header::set_flags(page, header::flags(page) | FLAG_ALIKE);
        put_u64(page, layout.writer, u64_at(page, layout.writer) - 1);
    });
    finds(PageKind::Data, "V7", "above the page's greatest", |page| put_u64(page, MAX_WRITER, 0));
    finds(PageKind::Data, "V7", "swept flag", |page| {
        header::set_flags(page, header::flags(page) | FLAG_SWEPT);
    });
}

#[test]
fn v5_a_chain_belongs_to_one_value() {
    finds(PageKind::Data, "V5", "two values", |page| {
        let (_, data) = names(page);
        let chain = (0..).map(|slot| u64_at(page, data + slot * 8)).find(|raw| raw & 0xFF == 3).unwrap();
        let inline = (1..).find(|slot| u64_at(page, data + slot * 8) & 0xFF == 1).unwrap();
        put_u64(page, data + inline * 8, chain);
    });
}

#[test]
fn v6_pointers_are_proven() {
    finds(PageKind::Version, "V6", "given out anew", |page| page[6] ^= 1);
    finds(PageKind::Data, "V6", "version entry", |page| {
        // The record of slot 0 points 8 bytes further.
        let (layout, _) = names(page);
        put_u64(page, layout.back, u64_at(page, layout.back) ^ 0x0008_0000);
    });
}

#[test]
fn an_extent_of_another_owner_is_found() {
    // Of pages that were given out by themselves: the table's root, or those behind it, belong to somebody else.
    let change = |page: &mut [u8], root: u8| {
        if header::page_id(page).0 == 2 {
            let entries = (0..500).map(|page| 32 + page * 8);
            let entries: Vec<usize> =
                entries.filter(|at| page[at + 4] == 1 && page[at + 5] == root).collect();
            assert!(!entries.is_empty());
            entries.into_iter().for_each(|at| put_u32(page, at, 4242));
        }
    };
    finds(PageKind::SpaceMap, "directory", "of object 4242", |page| change(page, 1));
    finds(PageKind::SpaceMap, "free list", "not in the table's extents", |page| change(page, 0));
}

#[test]
fn a_table_that_goes_while_it_is_looked_at_is_no_problem() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let object = engine.create_heap(&mut txn, heap.columns()).unwrap();
    let rows: Vec<Row> = (0..500).map(|id| (id, Some("text".to_owned()), 0.0)).collect();
    engine.heap(object).unwrap().insert(&mut txn, &batch(&rows), None).unwrap();
    txn.end_statement().unwrap();
    let mut creation = Some(txn);
    let report = engine
        .check(&mut |_| {
            // Its creation is undone when the first page was looked at.
            if let Some(txn) = creation.take() {
                txn.rollback().unwrap();
                engine.housekeeping().unwrap();
            }
        })
        .unwrap();
    assert!(creation.is_none() && engine.heap(object).is_err());
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// A sweep knows the pages of the tables there were when it began.
#[test]
fn a_table_that_goes_while_it_is_swept_is_left_alone() {
    let names =
        |count: i64| -> Vec<Row> { (0..count).map(|id| (id, Some("text".to_owned()), 0.0)).collect() };
    for used_again in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, heap) = create(dir.path());
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, heap.columns()).unwrap();
        engine.heap(object).unwrap().insert(&mut txn, &batch(&names(2000)), None).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        let mut to_do = true;
        let report = engine
            .sweep(SweepOptions::default(), &mut |progress| {
                if std::mem::take(&mut to_do) {
                    assert!(progress.pages_total > 10);
                    let mut txn = engine.begin(TxnOptions::default());
                    engine.drop_object(&mut txn, object).unwrap();
                    txn.commit(CommitMode::Wait).unwrap();
                    engine.housekeeping().unwrap();
                    assert!(engine.heap(object).is_err());
                    if used_again {
                        fill(&engine, &heap, 0..2000);
                    }
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(!to_do && report.pages_visited < 3, "{report:?}");
        sound(&engine);
        // As after a kill: the log tells what is not in the file.
        let copy = dir.path().join("copy.verso");
        copy_database(&dir.path().join("t.verso"), &copy);
        let again = Engine::open(Env::real(), &copy, options()).unwrap();
        sound(&again);
    }
}

/// Long values go from their records to versions with an update and back with its undo: whoever looks at the two places one
/// after the other misses one that went back in between.
#[test]
fn values_that_come_and_go_beside_a_check_are_not_lost_pages() {
    for seed in seeds(60) {
        let world = World::new(seed);
        world.set_scheduler(SchedulerOptions { switch_one_in: Some(2), ..SchedulerOptions::default() });
        world.run(|env| {
            let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let heap = engine.heap(object).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let length = if seed % 2 == 0 { 3000 } else { 700 };
            let long: Vec<Row> = (0..6).map(|id| (id, Some("l".repeat(length)), 0.0)).collect();
            heap.insert(&mut txn, &batch(&long), None).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let done = Arc::new(AtomicBool::new(false));
            let writer = {
                let (engine, heap, done) = (engine.clone(), Arc::clone(&heap), Arc::clone(&done));
                env.spawn("writer", move || {
                    for round in 0..12 {
                        let mut txn = engine.begin(TxnOptions::default());
                        txn.savepoint("s").unwrap();
                        txn.begin_statement().unwrap();
                        bump(&heap, &mut txn, "x", 1.0, |_| true).unwrap();
                        txn.end_statement().unwrap();
                        txn.rollback_to("s").unwrap();
                        if round % 4 == 0 {
                            txn.commit(CommitMode::Wait).unwrap()
                        } else {
                            txn.rollback().unwrap()
                        }
                    }
                    done.store(true, Ordering::Release);
                })
            };
            while !done.load(Ordering::Acquire) {
                sound(&engine);
            }
            writer.join().unwrap();
            sound(&engine);
        });
    }
}
