//! A flaw of a value on a page whose checksum is right: the change that comes upon it is refused before anything has been changed,
//! and the database goes on taking changes.

use std::path::PathBuf;
use std::sync::Arc;

use verso_env::Vfs;
use verso_sim::World;
use verso_storage::heap::layout::{PageLayout, VARIABLE_START};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::page::header;
use verso_storage::{CommitMode, Engine, EngineOptions, ObjectId, PageKind, StorageError, Txn, TxnOptions};

use crate::support::{COLUMNS, Row, batch, options};

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

fn quiet() -> EngineOptions {
    EngineOptions { auto_backout: false, sweep_interval: 0, ..options() }
}

/// One transaction of one statement.
fn change(
    engine: &Engine,
    body: impl FnOnce(&mut Txn) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement()?;
    match body(&mut txn) {
        Ok(()) => {
            txn.end_statement()?;
            txn.commit(CommitMode::Wait)
        }
        Err(error) => {
            txn.abort_statement()?;
            txn.rollback()?;
            Err(error)
        }
    }
}

fn texts(ids: std::ops::Range<i64>, length: usize) -> Vec<Row> {
    ids.map(|id| (id, Some("t".repeat(length)), 0.5)).collect()
}

/// Gives the row with this number another text. Its own values are read only where they are sound.
fn retext(heap: &Arc<Heap>, txn: &mut Txn, id: i64, length: usize) -> Result<(), StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out)? {
        let is_it = |row: &u32| {
            let value = out.batch.columns[0].value(*row as usize, &verso_types::SqlType::Int8);
            value == verso_types::Value::Int8(id)
        };
        if let Some(row) = (0..out.batch.rows as u32).find(is_it) {
            let mut values = batch(&texts(id..id + 1, length));
            values.columns.remove(0);
            values.columns.remove(1);
            heap.update(txn, &out, Some(&[row]), &[2], &values)?;
        }
    }
    Ok(())
}

/// Breaks a sound data page, which is sealed anew.
type Breaks = fn(&mut [u8], &PageLayout);

const FLAWS: [(&str, Breaks); 3] = [
    ("the value of the third record stands behind the page", |page, layout| {
        let at = layout.columns[1].data + 2 * 8;
        page[at..at + 8].copy_from_slice(&(1u64 | 4090 << 16 | 100 << 32).to_le_bytes());
    }),
    ("the value slot of the third record is of no kind", |page, layout| {
        let at = layout.columns[1].data + 2 * 8;
        page[at..at + 8].copy_from_slice(&77u64.to_le_bytes());
    }),
    ("the variable bytes begin among the arrays", |page, layout| {
        let start = (layout.end - 8) as u16;
        page[VARIABLE_START..VARIABLE_START + 2].copy_from_slice(&start.to_le_bytes());
    }),
];

/// Files of two tables whose rows have come and gone, so that new values make a page's bytes move together.
fn files() -> (Vec<(PathBuf, Vec<u8>)>, [ObjectId; 2]) {
    let world = World::new(5);
    let tables = world.run(|env| {
        let engine = Engine::create(env.clone(), &path(), quiet()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let tables = [(); 2].map(|()| engine.create_heap(&mut txn, &COLUMNS).unwrap());
        txn.commit(CommitMode::Wait).unwrap();
        for table in tables {
            let heap = engine.heap(table).unwrap();
            change(&engine, |txn| heap.insert(txn, &batch(&texts(0..40, 60)), None)).unwrap();
            for id in 0..40 {
                change(&engine, |txn| retext(&heap, txn, id, 20 + id as usize)).unwrap();
            }
        }
        engine.checkpoint().unwrap();
        engine.close().unwrap();
        tables
    });
    let mut names = world.vfs().list_dir(&World::dir().join("t.verso-wal")).unwrap();
    names.insert(0, path());
    let files = names.into_iter().map(|name| (name.clone(), world.vfs().read_file(&name).unwrap())).collect();
    (files, tables)
}

#[test]
fn a_flaw_of_a_value_refuses_the_change_that_meets_it_and_no_other() {
    let (files, [broken, other]) = files();
    for (name, breaks) in FLAWS {
        let world = World::new(1);
        world.vfs().create_dir_all(&World::dir().join("t.verso-wal")).unwrap();
        for (file, content) in &files {
            let mut content = content.clone();
            if file.ends_with("doublewrite") {
                content.fill(0);
            }
            if *file == path() {
                for page in content.chunks_exact_mut(4096) {
                    let is_its = header::kind(page) == Some(PageKind::Data) && header::owner(page) == broken;
                    if is_its && header::verify(page, header::page_id(page)).is_ok() {
                        let layout = PageLayout::of(page).unwrap();
                        breaks(page, &layout);
                        header::seal(page);
                    }
                }
            }
            world.vfs().write_file(file, &content).unwrap();
        }
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), quiet()).unwrap();
            let (heap, sound) = (engine.heap(broken).unwrap(), engine.heap(other).unwrap());
            let mut refused = 0;
            let mut note = |done: Result<(), StorageError>| match done {
                Ok(()) => {}
                Err(error) => {
                    assert!(error.is_of_a_page(), "{name}: {error}");
                    refused += 1;
                }
            };
            // The record itself, others on its page with longer and shorter texts, texts that go elsewhere, deletions, new ones.
            for (id, length) in [(2, 10), (3, 200), (4, 1), (5, 3000), (6, 900), (2, 5000)] {
                note(change(&engine, |txn| retext(&heap, txn, id, length)));
            }
            note(change(&engine, |txn| crate::support::try_remove(&heap, txn, |id| id == 2)));
            for id in 100..160 {
                note(change(&engine, |txn| heap.insert(txn, &batch(&texts(id..id + 1, 90)), None)));
            }
            note(change(&engine, |txn| heap.insert(txn, &batch(&texts(200..204, 700)), None)));
            assert!(refused > 0, "{name}: nothing came upon it");
            change(&engine, |txn| sound.insert(txn, &batch(&texts(300..301, 90)), None)).unwrap();
            change(&engine, |txn| retext(&sound, txn, 3, 300)).unwrap();
            // Rows that come find a page sooner or later.
            change(&engine, |txn| heap.insert(txn, &batch(&texts(400..401, 90)), None)).unwrap();
        });
    }
}
