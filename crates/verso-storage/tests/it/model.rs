//! The engine against the model: random work, housekeeping in between, power cuts.
//!
//! ```text
//! Runner ── the same steps ──► Model           every answer compared, and what each transaction sees
//!        └─────────────────► Tables ► Engine ► simulated disk (a power cut in any operation)
//! ```
//!
//! Besides what the runner asks for, `Tables` adds what must not change an answer: statements that fail halfway, bulk
//! updates that write back what was read (`disturb`), sweeps, checkpoints, back-outs.

mod disturb;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use verso_env::Env;
use verso_sim::model::{ColumnShape, Ending, Mix, Model, Refusal, Row, Runner, Subject, difference};
use verso_sim::{FaultPlan, Rng, World, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::index::key::{encode_row, is_inverted};
use verso_storage::{
    CommitMode, Engine, EngineOptions, Index, IndexScanSpec, IndexSpec, Isolation, KeyPart, KeyRange,
    ObjectId, StorageError, SweepOptions, Txn, TxnOptions,
};
use verso_types::inverted::{Keys, Search, extract};
use verso_types::{Column, KeyType};

use crate::columns::{COLUMNS, PAGE_SIZE, TABLE_COUNT, batch, ids, record, rid, rows_of};
/// The indexes of a table: one of a single column, one of two, one that few values crowd, and an inverted one of the rows that
/// have a small number.
fn indexes(table: ObjectId) -> [IndexSpec; 4] {
    let first = KeyPart::ascending(1, KeyType::I64);
    let name = KeyPart { descending: true, nulls_first: true, ..KeyPart::ascending(2, KeyType::Bytes) };
    let small = KeyPart::ascending(4, KeyType::I16);
    let of = |parts: Vec<KeyPart>| IndexSpec {
        table,
        parts,
        unique: false,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    };
    let trigrams = KeyPart::ascending(2, KeyType::Trigrams);
    [
        of(vec![first]),
        of(vec![name, first]),
        of(vec![KeyPart { descending: true, ..small }, name]),
        of(vec![trigrams, KeyPart::guard(4, KeyType::I16)]),
    ]
}

/// What is packed has few numbers and texts made of words: packing, and a dictionary, have something to gain then.
fn mix(rng: &mut Rng, besides: &Besides) -> Mix {
    let mut columns: Vec<ColumnShape> = COLUMNS.iter().map(|(_, shape)| *shape).collect();
    let (row_counts, maintenances, open_most) = match besides {
        Besides::Packing(_) => {
            // Pages with values that stand elsewhere are not packed.
            let (few, words) = (ColumnShape::Few, ColumnShape::Words);
            columns = vec![few(8), words(40), few(2), words(200), few(16)];
            ([40, 120, 250], [10, 25], 3)
        }
        Besides::GivingBack(_) => {
            // Values of several pages, so that whole units become free.
            columns[3] = ColumnShape::Bytes(24_000);
            ([5, 20, 40], [10, 25], 3)
        }
        Besides::Nothing => ([5, 40, 120], [1, 4], 6),
    };
    Mix {
        columns,
        table_count: TABLE_COUNT,
        open_count_max: 1 + rng.index(open_most),
        row_count_max: *rng.pick(&row_counts),
        deletes: *rng.pick(&[2, 8, 25]),
        maintenances: *rng.pick(&maintenances),
        rollbacks_to: *rng.pick(&[4, 12]),
        ..Mix::default()
    }
}

pub fn options(rng: &mut Rng) -> EngineOptions {
    EngineOptions {
        background: false,
        page_size: PAGE_SIZE,
        buffer_pool_bytes: u64::from(PAGE_SIZE) * 64,
        max_database_bytes: 64 << 20,
        auto_backout: rng.one_in(2),
        eager_rollback_records: *rng.pick(&[0, 3, 1000]),
        ..EngineOptions::default()
    }
}

/// What is done besides sweeps, checkpoints and back-outs, and how often it was met.
#[derive(Clone)]
enum Besides {
    Nothing,
    /// Pages are packed, by themselves and by statements; pages that were packed, and dictionaries made.
    Packing(Arc<Mutex<(u64, u64)>>),
    /// Free pages go back to the database; how many.
    GivingBack(Arc<Mutex<u64>>),
}

/// A few tables of an engine.
struct Tables {
    engine: Engine,
    heaps: Vec<Arc<Heap>>,
    rng: Mutex<Rng>,
    besides: Besides,
    /// Also with each transaction that has changed something: statements that pack want a table for themselves.
    changing: Arc<()>,
}

/// A transaction and the records that it has changed.
struct Work {
    txn: Txn,
    no_savepoint: bool,
    own: Vec<(u32, u64)>,
    changing: Option<Arc<()>>,
    /// How many of `own` there were at each savepoint.
    savepoints: Vec<usize>,
}

fn refusal(error: StorageError) -> Refusal {
    match error {
        StorageError::Conflict { .. } => Refusal::Changed,
        other => Refusal::Failed(other.to_string()),
    }
}

impl Tables {
    fn create(env: &Env, options: EngineOptions, rng: Rng, besides: &Besides) -> (Tables, Vec<ObjectId>) {
        let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let specs = COLUMNS.map(|(spec, _)| spec);
        let objects: Vec<ObjectId> =
            (0..TABLE_COUNT).map(|_| engine.create_heap(&mut txn, &specs).unwrap()).collect();
        for (number, table) in objects.iter().enumerate() {
            // An entry for each key of a value is much work: the first table has the inverted one.
            for spec in indexes(*table).into_iter().filter(|spec| number == 0 || !is_inverted(&spec.parts)) {
                engine.create_index(&mut txn, spec, &mut |_| ControlFlow::Continue(())).unwrap();
            }
        }
        txn.commit(CommitMode::Wait).unwrap();
        (Tables::over(engine, &objects, rng, besides), objects)
    }

    fn open(
        env: &Env,
        options: EngineOptions,
        objects: &[ObjectId],
        rng: Rng,
        besides: &Besides,
    ) -> Result<Tables, StorageError> {
        let engine = Engine::open(env.clone(), &World::dir().join("t.verso"), options)?;
        Ok(Tables::over(engine, objects, rng, besides))
    }

    fn over(engine: Engine, objects: &[ObjectId], rng: Rng, besides: &Besides) -> Tables {
        let heaps: Vec<_> = objects.iter().map(|object| engine.heap(*object).unwrap()).collect();
        // Every other table has its transactions share pages.
        heaps.iter().enumerate().for_each(|(number, heap)| heap.set_colocation(number % 2 == 0));
        // And one is packed by statements only.
        let packs = matches!(besides, Besides::Packing(_));
        heaps
            .iter()
            .enumerate()
            .for_each(|(number, heap)| engine.set_packing(heap, packs && number % 2 == 0));
        engine.set_packing_delay(Duration::ZERO);
        Tables { engine, heaps, rng: Mutex::new(rng), besides: besides.clone(), changing: Arc::new(()) }
    }

    fn heap(&self, table: u32) -> &Arc<Heap> {
        &self.heaps[table as usize]
    }

    fn sound(&self) {
        self.check().unwrap();
    }

    fn check(&self) -> Result<(), StorageError> {
        let report = self.engine.check(&mut |_| ())?;
        // A page that cannot be read is a problem of its own; here it is the end of this life.
        if let Some(cut) =
            report.problems.iter().find(|problem| problem.message.ends_with("simulated power cut"))
        {
            return Err(StorageError::io("checking", std::io::Error::other(cut.message.clone())));
        }
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        // Nor has anybody followed a reference to a page that holds something else.
        let mut damaged = self.engine.damaged_pages();
        damaged.retain(|page| !page.message.contains("simulated power cut"));
        assert!(damaged.is_empty(), "{damaged:?}");
        Ok(())
    }

    fn read(&self, txn: &Txn, table: u32) -> Result<BTreeMap<u64, Row>, StorageError> {
        let ids = ids();
        let mut scan = self.heap(table).scan(txn, ScanSpec { columns: &ids, pages: 0..u32::MAX });
        let (mut out, mut rows) = (ScanBatch::default(), BTreeMap::new());
        while scan.next(&mut out)? {
            for (row, record) in rows_of(&out).into_iter().zip(&out.records) {
                assert_eq!(rows.insert(rid(*record), row), None, "{record} twice in one scan");
            }
        }
        for index in self.heap(table).indexes.list().iter() {
            if index.is_inverted() {
                if self.rng.lock().one_in(4) {
                    self.search(txn, table, index, &rows)?;
                }
                continue;
            }
            let through = self.read_through(txn, table, index)?;
            if let Some(text) = difference(&rows, &through) {
                panic!("table {table} through {}: {text}", index.object());
            }
        }
        Ok(rows)
    }

    /// Looks the keys of a few rows up in an inverted index: all rows that have one are found, none twice.
    fn search(
        &self,
        txn: &Txn,
        table: u32,
        index: &Arc<Index>,
        rows: &BTreeMap<u64, Row>,
    ) -> Result<(), StorageError> {
        let keys_of = |row: &Row| {
            let mut keys = Keys::default();
            if row[2].is_some() {
                extract(KeyType::Trigrams, 0, row[1].as_deref(), &mut keys).unwrap();
            }
            keys.sort();
            keys
        };
        let ids = ids();
        for _ in 0..2 {
            let skipped = self.rng.lock().index(rows.len().max(1));
            let Some(row) = rows.values().nth(skipped) else { break };
            let mut wanted: Vec<Vec<u8>> = keys_of(row).iter().map(<[u8]>::to_vec).collect();
            wanted.truncate(3);
            let search = match self.rng.lock().below(3) {
                0 => Search::Any(wanted.iter().cloned().map(Search::Key).collect()),
                1 => Search::Some(2, wanted.iter().cloned().map(Search::Key).collect()),
                _ => Search::all(wanted.iter().cloned().map(Search::Key)),
            };
            let is_found = |row: &Row| {
                let keys = keys_of(row);
                let count = wanted.iter().filter(|key| keys.iter().any(|own| own == **key)).count();
                match &search {
                    Search::Any(_) => count > 0,
                    Search::Some(least, _) => count >= *least,
                    Search::Unknown => !keys.is_empty(),
                    _ => count == wanted.len(),
                }
            };
            let expected: BTreeMap<u64, Row> =
                rows.iter().filter(|(_, row)| is_found(row)).map(|(rid, row)| (*rid, row.clone())).collect();
            let mut found: BTreeMap<u64, Row> = BTreeMap::new();
            let mut scan = self.heap(table).candidates(txn, index, &search, &ids)?;
            let mut out = ScanBatch::default();
            while scan.next(&mut out)? {
                for (row, record) in rows_of(&out).into_iter().zip(&out.records) {
                    // Candidates that are none, by now or for this snapshot, are sorted out by whoever asks.
                    if is_found(&row) {
                        assert_eq!(found.insert(rid(*record), row), None, "{record} twice in one search");
                    }
                }
            }
            if let Some(text) = difference(&expected, &found) {
                panic!("table {table}, {search:?} in {}: {text}", index.object());
            }
        }
        Ok(())
    }

    /// The same through an index, in either direction.
    fn read_through(
        &self,
        txn: &Txn,
        table: u32,
        index: &Arc<Index>,
    ) -> Result<BTreeMap<u64, Row>, StorageError> {
        let ids = ids();
        let descending = self.rng.lock().one_in(2);
        let spec = IndexScanSpec { columns: &ids, range: KeyRange::all(), descending };
        let mut scan = self.heap(table).index_scan(txn, index, spec);
        let (mut out, mut rows) = (ScanBatch::default(), BTreeMap::new());
        let mut keys: Vec<Vec<u8>> = Vec::new();
        while scan.next(&mut out)? {
            let parts = &index.spec().parts;
            let columns: Vec<&Column> = parts
                .iter()
                .map(|part| &out.batch.columns[ids.iter().position(|id| *id == part.column).unwrap()])
                .collect();
            for (at, (row, record)) in rows_of(&out).into_iter().zip(&out.records).enumerate() {
                let mut key = Vec::new();
                encode_row(parts, &columns, at, &mut key).unwrap();
                keys.push(key);
                assert_eq!(rows.insert(rid(*record), row), None, "{record} twice in one scan");
            }
        }
        assert!(keys.is_sorted_by(|a, b| if descending { a >= b } else { a <= b }), "keys out of order");
        Ok(rows)
    }

    /// One of the statements that pack a table which nobody else changes.
    fn pack(&self, rng: &mut Rng) -> Result<(), StorageError> {
        let object = rng.pick(&self.heaps).object;
        let mut txn = self.engine.begin(TxnOptions::default());
        let (engine, options, go_on) = (&self.engine, SweepOptions::default(), &mut || Ok(()));
        let packing = match rng.below(4) {
            0 => engine.pack(&mut txn, object, options, go_on)?,
            1 => {
                let trained = engine.create_dictionary(&mut txn, object, go_on)?;
                self.met(0, trained.columns.min(1));
                return Ok(());
            }
            2 => engine.repack(&mut txn, object, options, go_on)?,
            _ => engine.shrink(&mut txn, object, options, go_on)?,
        };
        self.met(packing.packed, 0);
        Ok(())
    }

    /// Gives free pages of a table back that nobody else changes: SHRINK has it for itself.
    fn give_back(&self, rng: &mut Rng) -> Result<(), StorageError> {
        let object = rng.pick(&self.heaps).object;
        let mut txn = self.engine.begin(TxnOptions::default());
        let given = self.engine.shrink(&mut txn, object, SweepOptions::default(), &mut || Ok(()))?;
        if let Besides::GivingBack(pages) = &self.besides {
            *pages.lock() += given.freed;
        }
        self.check()
    }

    /// Pages are packed by themselves where housekeeping finds some.
    fn housekeeping(&self) -> Result<(), StorageError> {
        let packed = || -> Result<u64, StorageError> {
            self.heaps.iter().map(|heap| Ok(self.engine.table_space(heap.object)?.own_packed)).sum()
        };
        let before = packed()?;
        self.engine.housekeeping()?;
        self.met(packed()? - before, 0);
        Ok(())
    }

    /// So many pages were packed, and dictionaries made.
    fn met(&self, pages: u64, dictionaries: u64) {
        if let Besides::Packing(packs) = &self.besides {
            let mut met = packs.lock();
            *met = (met.0 + pages, met.1 + dictionaries);
        }
    }

    /// One statement; undone if it fails.
    fn statement<T>(
        &self,
        work: &mut Work,
        body: impl FnOnce(&mut Work) -> Result<T, StorageError>,
    ) -> Result<T, Refusal> {
        work.txn.begin_statement().map_err(refusal)?;
        match body(work) {
            Ok(value) => {
                work.txn.end_statement().map_err(refusal)?;
                Ok(value)
            }
            Err(error) => {
                work.txn.abort_statement().map_err(refusal)?;
                Err(refusal(error))
            }
        }
    }
}

impl Subject for Tables {
    type Txn = Work;

    fn begin(&self, no_savepoint: bool) -> Result<Work, Refusal> {
        let isolation = Isolation::Snapshot;
        let options = TxnOptions { isolation, savepoints: !no_savepoint, read_only: false };
        let mut txn = self.engine.begin(options);
        // The first statement takes the snapshot.
        txn.begin_statement().map_err(refusal)?;
        txn.end_statement().map_err(refusal)?;
        Ok(Work { txn, no_savepoint, own: Vec::new(), changing: None, savepoints: Vec::new() })
    }

    fn insert(&self, work: &mut Work, table: u32, row: &Row) -> Result<u64, Refusal> {
        self.disturb(work)?;
        let ordinals: Vec<usize> = (0..COLUMNS.len()).collect();
        let mut records = Vec::new();
        self.statement(work, |work| {
            self.heap(table).insert(&mut work.txn, &batch(&[row], &ordinals), Some(&mut records))
        })?;
        assert_eq!(records.len(), 1);
        work.own.push((table, rid(records[0])));
        Ok(rid(records[0]))
    }

    fn update(
        &self,
        work: &mut Work,
        table: u32,
        rid: u64,
        changes: &[(usize, Option<Vec<u8>>)],
    ) -> Result<(), Refusal> {
        self.disturb(work)?;
        let mut row: Row = vec![None; COLUMNS.len()];
        changes.iter().for_each(|(ordinal, value)| row[*ordinal].clone_from(value));
        let ordinals: Vec<usize> = changes.iter().map(|(ordinal, _)| *ordinal).collect();
        let ids: Vec<u16> = ordinals.iter().map(|ordinal| COLUMNS[*ordinal].0.id).collect();
        let found = self.statement(work, |work| {
            let mut out = ScanBatch::default();
            if !self.heap(table).fetch(&work.txn, record(rid), &ids, &mut out)? {
                return Ok(false);
            }
            self.heap(table).update(&mut work.txn, &out, None, &ids, &batch(&[&row], &ordinals))?;
            Ok(true)
        })?;
        work.own.push((table, rid));
        if found { Ok(()) } else { Err(Refusal::Missing) }
    }

    fn delete(&self, work: &mut Work, table: u32, rid: u64) -> Result<(), Refusal> {
        self.disturb(work)?;
        let found = self.statement(work, |work| {
            let mut out = ScanBatch::default();
            if !self.heap(table).fetch(&work.txn, record(rid), &[], &mut out)? {
                return Ok(false);
            }
            self.heap(table).delete(&mut work.txn, &out, None)?;
            Ok(true)
        })?;
        work.own.push((table, rid));
        if found { Ok(()) } else { Err(Refusal::Missing) }
    }

    fn scan(&self, work: &mut Work, table: u32) -> Result<BTreeMap<u64, Row>, Refusal> {
        self.statement(work, |work| self.read(&work.txn, table))
    }

    fn savepoint(&self, work: &mut Work) -> Result<(), Refusal> {
        work.txn.savepoint(&format!("s{}", work.savepoints.len())).map_err(refusal)?;
        work.savepoints.push(work.own.len());
        Ok(())
    }

    fn rollback_to(&self, work: &mut Work, depth: usize) -> Result<(), Refusal> {
        work.txn.rollback_to(&format!("s{depth}")).map_err(refusal)?;
        work.own.truncate(work.savepoints[depth]);
        work.savepoints.truncate(depth + 1);
        Ok(())
    }

    fn release(&self, work: &mut Work, depth: usize) -> Result<(), Refusal> {
        work.txn.release(&format!("s{depth}")).map_err(refusal)?;
        work.savepoints.truncate(depth);
        Ok(())
    }

    fn commit(&self, work: Work) -> Result<(), Refusal> {
        work.txn.commit(CommitMode::Wait).map_err(refusal)
    }

    fn rollback(&self, work: Work) -> Result<(), Refusal> {
        work.txn.rollback().map_err(refusal)
    }

    fn maintain(&self, rng: &mut Rng) -> Result<(), Refusal> {
        let is_alone = Arc::strong_count(&self.changing) == 1;
        let done =
            match (rng.below(if matches!(self.besides, Besides::Nothing) { 4 } else { 8 }), &self.besides) {
                (4.., Besides::Packing(_)) if is_alone => self.pack(rng),
                (4.., Besides::GivingBack(_)) if is_alone => self.give_back(rng),
                (4.., _) => self.housekeeping(),
                (0, _) => self.engine.housekeeping(),
                (1, _) => {
                    self.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).map(|_| ())
                }
                (2, _) => self.engine.checkpoint(),
                _ => self.check(),
            };
        done.map_err(refusal)
    }
}

/// Every table as one of the models has it; that model.
fn fitting(tables: &Tables, models: Vec<Model>) -> Model {
    let mut work = tables.begin(false).unwrap();
    let found: Vec<_> = (0..TABLE_COUNT).map(|table| tables.scan(&mut work, table).unwrap()).collect();
    tables.rollback(work).unwrap();
    let mut differences = Vec::new();
    for model in models {
        let different = (0..TABLE_COUNT).find_map(|table| {
            let expected = model.scan_at(model.snapshot(), table);
            difference(&expected, &found[table as usize]).map(|text| format!("table {table}: {text}"))
        });
        match different {
            None => return model,
            Some(text) => differences.push(text),
        }
    }
    panic!("after the crash no outcome fits: {differences:?}")
}

fn run_steps(seed: u64, step_count: u64, besides: &Besides) {
    let world = World::new(seed);
    let mut rng = world.rng();
    world.run(|env| {
        let (tables, _) = Tables::create(env, options(&mut rng), rng.fork(), besides);
        let mix = mix(&mut rng, besides);
        let mut runner = Runner::new(&tables, Model::new(), rng.fork(), mix);
        assert_eq!(runner.run(step_count), Ending::Done);
        let model = runner.finish();
        tables.sound();
        tables.engine.housekeeping().unwrap();
        tables.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
        tables.engine.housekeeping().unwrap();
        tables.sound();
        assert_eq!(tables.engine.space().version_pages, 0, "V4: nobody needs them");
        fitting(&tables, vec![model]);
    });
}

/// Power cuts in the middle of work, and at times in recovery; work goes on after each.
fn run_crashes(seed: u64, round_count: u64, besides: &Besides) {
    let world = World::new(seed);
    let mut rng = world.rng();
    let options = options(&mut rng);
    let cut_at = |at| world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
    let objects = world.run(|env| {
        let (tables, objects) = Tables::create(env, options.clone(), rng.fork(), besides);
        tables.engine.close().unwrap();
        objects
    });
    let mut models = vec![Model::new()];
    for _ in 0..round_count {
        if rng.one_in(3) {
            cut_at(rng.between(1, 60));
            world.run(|env| drop(Tables::open(env, options.clone(), &objects, rng.fork(), besides)));
            world.crash();
        }
        models = world.run(|env| {
            let tables = Tables::open(env, options.clone(), &objects, rng.fork(), besides).unwrap();
            let model = recovered(&tables, std::mem::take(&mut models), &mut rng);
            // Packing needs some work before it, as giving back does.
            let most = if matches!(besides, Besides::Nothing) { 600 } else { 1600 };
            let at = if rng.one_in(2) { rng.between(1, 40) } else { rng.between(1, most) };
            cut_at(at);
            let mut runner = Runner::new(&tables, model, rng.fork(), mix(&mut rng, besides));
            let ending = runner.run(1000);
            assert!(ending == Ending::Done || world.vfs().is_off(), "{ending:?}");
            runner.after_crash()
        });
        world.crash();
    }
    world.run(|env| {
        let tables = Tables::open(env, options.clone(), &objects, rng.fork(), besides).unwrap();
        recovered(&tables, models, &mut rng);
    });
}

/// Which of the models the tables are after a crash; now and then after everything is backed out, too.
fn recovered(tables: &Tables, models: Vec<Model>, rng: &mut Rng) -> Model {
    let model = fitting(tables, models);
    tables.sound();
    if rng.one_in(2) {
        tables.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
        tables.engine.housekeeping().unwrap();
        tables.sound();
        assert_eq!(tables.engine.space().version_pages, 0, "everything is backed out");
        return fitting(tables, vec![model]);
    }
    model
}

/// Trials with packing; that it was met, unless only one seed is replayed.
fn packed_trials(count: u64, trial: impl Fn(u64, &Besides)) {
    let packs = Arc::new(Mutex::new((0, 0)));
    let mut trials = 0;
    for seed in seeds(count) {
        trial(seed, &Besides::Packing(Arc::clone(&packs)));
        trials += 1;
    }
    let (pages, dictionaries) = *packs.lock();
    assert!(
        trials < count || (pages > count && dictionaries > count / 4),
        "{pages} pages, {dictionaries} dictionaries"
    );
}

#[test]
fn random_work_answers_as_the_model_does() {
    for seed in seeds(150) {
        run_steps(seed, 400, &Besides::Nothing);
    }
}

#[test]
fn power_cuts_keep_what_was_committed_and_nothing_else() {
    for seed in seeds(200) {
        run_crashes(seed, 3, &Besides::Nothing);
    }
}

#[test]
fn random_work_on_packed_tables_answers_as_the_model_does() {
    packed_trials(20, |seed, besides| run_steps(seed, 1500, besides));
}

#[test]
fn power_cuts_keep_what_was_committed_to_packed_tables() {
    packed_trials(30, |seed, besides| run_crashes(seed, 4, besides));
}

/// Old values may stand on pages that go back and come to other tables, with what a crash leaves of either.
#[test]
fn power_cuts_keep_what_was_committed_when_free_pages_go_back() {
    let given = Arc::new(Mutex::new(0));
    let mut trials = 0;
    for seed in seeds(12) {
        let besides = Besides::GivingBack(Arc::clone(&given));
        run_steps(seed, 500, &besides);
        run_crashes(seed, 4, &besides);
        trials += 1;
    }
    assert!(trials < 12 || *given.lock() > 0, "nothing went back");
}

#[test]
fn v5_a_power_cut_between_purge_and_retirement_frees_no_chain_twice() {
    run_crashes(5, 3, &Besides::Nothing);
}

#[test]
fn a_log_that_cannot_grow_fails_a_row_of_large_values_before_anything_is_changed() {
    run_crashes(94, 3, &Besides::Nothing);
}
