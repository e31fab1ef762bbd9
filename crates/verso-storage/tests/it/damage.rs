//! Damaged bytes, one after the other: a right answer, a refusal that names the place, or a repair; never less data without a
//! word, and nothing else is held up.
//!
//! ```text
//! victim: two tables with indexes, long values, deleted rows, a dead transaction ── killed ──► its files
//! trial:  flip one byte ──► open ──► read all ──► change, sweep, housekeeping, check ──► read all
//! ```
//!
//! Everyday trials are spread evenly over all bytes in use; `CAMPAIGN_MINUTES=60` goes on until each had its turn.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use verso_env::{Env, Vfs};
use verso_sim::{Rng, World, trials};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::page::header;
use verso_storage::{
    CommitMode, Engine, EngineOptions, IndexScanSpec, IndexSpec, KeyPart, KeyRange, ObjectId, PageKind,
    StorageError, SweepOptions, Txn, TxnOptions,
};
use verso_types::KeyType;

use crate::support::{COLUMNS, Row, batch, bump, options, rows, try_remove};

/// Files of a database that was killed, what its tables were after each commit since its last checkpoint, and the tables.
struct Victim {
    files: Vec<(PathBuf, Vec<u8>)>,
    states: Vec<[Vec<Row>; 2]>,
    tables: [ObjectId; 2],
}

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

fn quiet() -> EngineOptions {
    EngineOptions { auto_backout: false, sweep_interval: 0, ..options() }
}

fn go_on<T>(_: T) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// One transaction of one statement.
fn change(
    engine: &Engine,
    savepoints: bool,
    body: impl FnOnce(&mut Txn) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
    let done = txn.begin_statement().and_then(|()| match body(&mut txn) {
        Ok(()) => txn.end_statement(),
        Err(error) => {
            // What cannot be undone now is backed out later.
            let _ = txn.abort_statement();
            Err(error)
        }
    });
    match done {
        Ok(()) => txn.commit(CommitMode::Wait),
        Err(error) => txn.rollback().and(Err(error)),
    }
}

/// The rows by their numbers; whatever breaks the format on the way is an error.
fn all(heap: &Arc<Heap>, txn: &Txn) -> Result<Vec<Row>, StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
    let (mut out, mut found) = (ScanBatch::default(), Vec::new());
    while scan.next(&mut out)? {
        found.append(&mut crate::support::rows_of(&out));
    }
    found.sort_by_key(|row| row.0);
    for index in heap.indexes.list().iter() {
        let spec = IndexScanSpec { columns: &[1, 2, 3], range: KeyRange::all(), descending: false };
        let mut scan = heap.index_scan(txn, index, spec);
        let mut through = Vec::new();
        while scan.next(&mut out)? {
            through.append(&mut crate::support::rows_of(&out));
        }
        through.sort_by_key(|row| row.0);
        assert!(through == found, "{} rows in the table, {} through its index", found.len(), through.len());
    }
    Ok(found)
}

fn read(engine: &Engine, table: ObjectId) -> Result<Vec<Row>, StorageError> {
    let heap = engine.heap(table)?;
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement()?;
    all(&heap, &txn)
}

fn victim() -> Victim {
    let world = World::new(9);
    let mut states = Vec::new();
    let tables = world.run(|env| {
        let engine = Engine::create(env.clone(), &path(), quiet()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let tables = [(); 2].map(|()| {
            let table = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            let parts = vec![KeyPart::ascending(1, KeyType::I64)];
            let spec = IndexSpec {
                table,
                parts,
                unique: true,
                nulls_distinct: true,
                fill_factor: IndexSpec::FILL_FACTOR,
            };
            engine.create_index(&mut txn, spec, &mut go_on).unwrap();
            table
        });
        txn.commit(CommitMode::Wait).unwrap();
        let heaps = tables.map(|table| engine.heap(table).unwrap());
        // Of the first one some pages are packed, and one of them is unpacked again.
        change(&engine, true, |txn| heaps[0].insert(txn, &batch(&rows(-300..0)), None)).unwrap();
        let packing = engine
            .pack(
                &mut engine.begin(TxnOptions::default()),
                tables[0],
                SweepOptions::default(),
                &mut || Ok(()),
            )
            .unwrap();
        assert!(packing.made > 0, "{packing:?}");
        change(&engine, true, |txn| bump(&heaps[0], txn, "x", 1.0, |id| id == -250)).unwrap();
        let long = |id: i64, length: usize| (id, Some("long ".repeat(length)), 0.5);
        for (heap, own) in heaps.iter().zip([0, 40]) {
            change(&engine, true, |txn| heap.insert(txn, &batch(&rows(own..own + 120)), None)).unwrap();
            let new: Vec<Row> = (500..506).map(|id| long(id, if id % 2 == 0 { 150 } else { 1200 })).collect();
            change(&engine, true, |txn| heap.insert(txn, &batch(&new), None)).unwrap();
            // Old values that a purge frees, old versions, deleted rows.
            change(&engine, true, |txn| bump(heap, txn, "x", 1.0, |id| id >= 500 || id >= 0 && id % 5 == 0))
                .unwrap();
            change(&engine, true, |txn| try_remove(heap, txn, |id| id % 10 == 3)).unwrap();
        }
        // Dead, and left to sweep.
        let dead = change(&engine, false, |txn| {
            bump(&heaps[0], txn, "dead", 1.0, |id| id % 4 == 1)?;
            bump(&heaps[1], txn, "dead", 1.0, |id| id % 4 == 1)?;
            Err(StorageError::Cancelled)
        });
        assert!(matches!(dead, Err(StorageError::Cancelled)));
        engine.checkpoint().unwrap();
        let mut note = || states.push(tables.map(|table| read(&engine, table).unwrap()));
        note();
        for round in 0..6 {
            let heap = &heaps[round as usize % 2];
            let new = rows(700 + round * 10..705 + round * 10);
            change(&engine, true, |txn| {
                heap.insert(txn, &batch(&new), None)?;
                bump(heap, txn, "", 2.0, |id| id >= 0 && id % 7 == round)
            })
            .unwrap();
            note();
        }
        tables
    });
    world.vfs().crash_losing_nothing();
    let mut names = world.vfs().list_dir(&World::dir().join("t.verso-wal")).unwrap();
    names.insert(0, path());
    let files = names.into_iter().map(|name| (name.clone(), world.vfs().read_file(&name).unwrap())).collect();
    Victim { files, states, tables }
}

impl Victim {
    /// Every byte of sectors that hold something, but those of the double-write area, which only mends what is torn.
    fn bytes(&self) -> Vec<(usize, usize)> {
        let mut bytes = Vec::new();
        for (file, (name, content)) in self.files.iter().enumerate() {
            if name.ends_with("doublewrite") {
                continue;
            }
            for (sector, content) in content.chunks(512).enumerate() {
                if content.iter().any(|byte| *byte != 0) {
                    bytes.extend((0..content.len()).map(|at| (file, sector * 512 + at)));
                }
            }
        }
        bytes
    }

    fn world(&self, seed: u64, file: usize, at: usize, mask: u8) -> World {
        let world = World::new(seed);
        world.vfs().create_dir_all(&World::dir().join("t.verso-wal")).unwrap();
        for (index, (name, content)) in self.files.iter().enumerate() {
            let mut content = content.clone();
            if index == file {
                content[at] ^= mask;
            }
            // It still mends what was written last; a batch later it would not.
            if name.ends_with("doublewrite") && !seed.is_multiple_of(4) {
                content.fill(0);
            }
            world.vfs().write_file(name, &content).unwrap();
        }
        world
    }
}

/// What a damaged database does; how often each was seen.
type Outcomes = BTreeMap<&'static str, u64>;

fn is_named(error: &StorageError) -> bool {
    error.is_of_a_page()
        || matches!(
            error,
            StorageError::DamagedLog { .. }
                | StorageError::MissingLog { .. }
                | StorageError::NotADatabase { .. }
        )
}

/// Reads, changes and sweeps all there is; whatever fails names a page, and what is read is right.
fn work(engine: &Engine, victim: &Victim, expected: &[Vec<Row>; 2]) -> &'static str {
    let mut met = 0;
    for (table, expected) in victim.tables.iter().zip(expected) {
        // Rows that were changed meanwhile; the others say the same as before.
        let mut kept = expected.clone();
        match read(engine, *table) {
            Ok(found) => assert!(found == kept, "{} rows instead of {}", found.len(), kept.len()),
            Err(error) => {
                assert!(error.is_of_a_page(), "{error}");
                met += 1;
                continue;
            }
        }
        let heap = engine.heap(*table).unwrap();
        let changed = change(engine, true, |txn| {
            bump(&heap, txn, "", 1.0, |_| true)?;
            heap.insert(txn, &batch(&rows(900..903)), None)
        });
        match changed {
            Ok(()) => {
                kept.iter_mut().for_each(|row| row.2 += 1.0);
                kept.extend(rows(900..903));
            }
            Err(error) => {
                assert!(error.is_of_a_page(), "{error}");
                met += 1;
            }
        }
        for _ in 0..2 {
            engine.housekeeping().unwrap();
        }
        match engine.sweep(SweepOptions { table: Some(*table), ..SweepOptions::default() }, &mut go_on) {
            Ok(_) => {}
            Err(error) => {
                assert!(error.is_of_a_page(), "{error}");
                met += 1;
            }
        }
        match read(engine, *table) {
            Ok(found) => assert!(found == kept, "{} rows instead of {}", found.len(), kept.len()),
            Err(error) => {
                assert!(error.is_of_a_page(), "{error}");
                met += 1;
            }
        }
    }
    engine.checkpoint().unwrap();
    let report = engine.check(&mut |_| ()).unwrap();
    if met > 0 {
        assert!(!report.problems.is_empty() && !engine.damaged_pages().is_empty(), "nobody is told of it");
        return "damage that was told of";
    }
    if report.problems.is_empty() { "right" } else { "right, and check finds damage" }
}

fn trial(victim: &Victim, seed: u64, (file, at): (usize, usize), outcomes: &mut Outcomes) {
    let mask = Rng::new(seed).between(1, 255) as u8;
    let name = &victim.files[file].0;
    let place = format!("{}, byte {at} ({mask:#04x})", name.display());
    let world = victim.world(seed, file, at, mask);
    let last = victim.states.last().unwrap();
    let in_log = name.extension().is_some_and(|extension| extension == "log");
    let outcome = world.run(|env: &Env| {
        let hint = FailingTrial(&place);
        let outcome = match Engine::open(env.clone(), &path(), quiet()) {
            Ok(engine) => {
                let told = engine.recovery().unwrap().torn;
                let found = victim.tables.map(|table| read(&engine, table).ok());
                let state = victim.states.iter().rev().find(|state| {
                    found
                        .iter()
                        .zip(*state)
                        .all(|(found, known)| found.as_ref().is_none_or(|found| found == known))
                });
                let state = state.expect("a state that was committed, as far as it can be read");
                assert!(state == last || (in_log && told), "less without a word");
                work(&engine, victim, state)
            }
            Err(error) => {
                assert!(is_named(&error), "{error}");
                if matches!(error, StorageError::DamagedLog { .. }) {
                    let opening = EngineOptions { open_damaged_log: true, ..quiet() };
                    match Engine::open(env.clone(), &path(), opening) {
                        Ok(engine) => {
                            assert!(engine.recovery().unwrap().lost.is_some());
                            let found = victim.tables.map(|table| read(&engine, table).ok());
                            let state = victim.states.iter().find(|state| {
                                found
                                    .iter()
                                    .zip(*state)
                                    .all(|(found, known)| found.as_ref().is_none_or(|found| found == known))
                            });
                            work(&engine, victim, state.expect("what was committed up to some moment"));
                        }
                        Err(error) => assert!(is_named(&error), "{error}"),
                    }
                }
                "refused"
            }
        };
        std::mem::forget(hint);
        outcome
    });
    *outcomes.entry(outcome).or_default() += 1;
}

/// Says which byte it was.
struct FailingTrial<'p>(&'p str);

impl Drop for FailingTrial<'_> {
    fn drop(&mut self) {
        eprintln!("damaged: {}", self.0);
    }
}

#[test]
fn every_flipped_byte_is_a_right_answer_a_named_refusal_or_a_repair() {
    let victim = victim();
    let bytes = victim.bytes();
    let count = bytes.len() as u64;
    // A step that visits all of them before it comes to one again.
    let mut step = count * 618 / 1000;
    while gcd(step, count) != 1 {
        step += 1;
    }
    let mut outcomes = Outcomes::new();
    for (done, number) in trials(250).enumerate() {
        if done as u64 == count {
            break;
        }
        let place = bytes[(u128::from(number) * u128::from(step) % u128::from(count)) as usize];
        trial(&victim, number, place, &mut outcomes);
    }
    println!("{count} bytes: {outcomes:?}");
    assert!(outcomes.len() > 2 || std::env::var("SEED").is_ok(), "{outcomes:?}");
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Page numbers of sound pages of a kind, and whose they are.
fn pages_of(bytes: &[u8], kind: PageKind, owner: ObjectId) -> Vec<usize> {
    let is_one = |page: &&[u8]| {
        header::kind(page) == Some(kind)
            && header::owner(page) == owner
            && header::verify(page, header::page_id(page)).is_ok()
    };
    let pages = bytes.chunks_exact(4096).enumerate();
    pages.filter(|(_, page)| is_one(page)).map(|(number, _)| number).collect()
}

#[test]
fn a_damaged_page_holds_up_nothing_but_what_needs_it() {
    let victim = victim();
    let file = &victim.files[0].1;
    let [first, second] = victim.tables;
    for page in pages_of(file, PageKind::Data, first).into_iter().take(3) {
        let world = victim.world(1, 0, page * 4096 + 200, 0x40);
        world.run(|env| {
            // Replay needs the page where the log behind the checkpoint changes it: then it is given up on demand.
            let opening = EngineOptions { open_damaged_log: true, auto_backout: true, ..quiet() };
            let engine = Engine::open(env.clone(), &path(), opening).unwrap();
            assert!(read(&engine, first).is_err_and(|error| error.is_of_a_page()));
            let dead: Vec<_> = engine.transactions();
            assert!(dead.is_empty());
            // The dead transaction has a page that cannot be read, so it stays; what else it did is backed out.
            for _ in 0..5 {
                engine.housekeeping().unwrap();
            }
            let sweep = engine.sweep(SweepOptions::default(), &mut go_on).unwrap();
            assert!(sweep.damaged > 0, "{sweep:?}");
            let one = |table| {
                engine.sweep(SweepOptions { table: Some(table), ..SweepOptions::default() }, &mut go_on)
            };
            one(second).unwrap();
            assert!(one(first).is_err_and(|error| error.is_of_a_page()));
            // Old versions of other tables go, so the file does not grow.
            let heap = engine.heap(second).unwrap();
            let mut grown = 0;
            for round in 0..60 {
                change(&engine, true, |txn| bump(&heap, txn, "", 1.0, |_| true)).unwrap();
                engine.housekeeping().unwrap();
                if round == 10 {
                    grown = engine.space().total_pages;
                }
            }
            assert_eq!(engine.space().total_pages, grown);
            let listed = engine.damaged_pages();
            assert!(listed.iter().any(|damage| damage.page.0 as usize == page), "{listed:?}");
            let problems = engine.check(&mut |_| ()).unwrap().problems;
            assert!(problems.iter().any(|problem| problem.page.0 as usize == page), "{problems:?}");
        });
    }
}

#[test]
fn a_damaged_version_page_does_not_keep_the_database_from_opening() {
    let victim = victim();
    let file = &victim.files[0].1;
    let pages = pages_of(file, PageKind::Version, ObjectId::SYSTEM);
    assert!(!pages.is_empty());
    let mut opened = 0;
    for page in pages {
        let world = victim.world(1, 0, page * 4096 + 64, 0x08);
        opened += world.run(|env| match Engine::open(env.clone(), &path(), quiet()) {
            Ok(engine) => {
                engine.sweep(SweepOptions::default(), &mut go_on).unwrap();
                change(&engine, true, |txn| {
                    engine.heap(victim.tables[1]).unwrap().insert(txn, &batch(&rows(950..951)), None)
                })
                .unwrap();
                1
            }
            // The log behind the checkpoint changes it.
            Err(error) => {
                assert!(error.is_of_a_page(), "{error}");
                0
            }
        });
    }
    assert!(opened > 0);
}
