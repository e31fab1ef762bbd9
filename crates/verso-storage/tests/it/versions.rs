//! What snapshots see of records that others keep changing: whole runs, parts of runs and single records.
//!
//! Writers work on disjoint records of the same pages, so that pages carry several writers, entries with gaps,
//! continuations and undone parts at once; every open snapshot must read what it read at its beginning.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_env::Env;
use verso_sim::{Rng, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{
    ColumnSpec, CommitMode, Engine, EngineOptions, Isolation, RecordId, SweepOptions, Txn, TxnOptions,
};
use verso_types::{Batch, Column, Physical, SqlType, Value};

const COLUMNS: [(ColumnSpec, SqlType); 5] = [
    (ColumnSpec { id: 3, physical: Physical::I64 }, SqlType::Int8),
    (ColumnSpec { id: 4, physical: Physical::Bytes }, SqlType::Text),
    (ColumnSpec { id: 6, physical: Physical::Bool }, SqlType::Bool),
    (ColumnSpec { id: 7, physical: Physical::I128 }, SqlType::Uuid),
    (ColumnSpec { id: 9, physical: Physical::Bytes }, SqlType::Text),
];
const WRITERS: usize = 3;

type Row = Vec<Value>;
type Table = BTreeMap<RecordId, Row>;

fn value(rng: &mut Rng, ordinal: usize) -> Value {
    if rng.one_in(6) {
        return Value::Null;
    }
    let long = if rng.one_in(60) { 3000 } else { 9 };
    match ordinal {
        0 => Value::Int8(rng.below(1000) as i64),
        2 => Value::Bool(rng.one_in(2)),
        3 => Value::Uuid(u128::from(rng.below(1 << 40)) << 50),
        _ => Value::Text("abcdefghi".repeat(400)[..rng.index(long + 1)].into()),
    }
}

fn batch(ordinals: &[usize], rows: &[Row]) -> Batch {
    let columns = ordinals.iter().enumerate().map(|(at, ordinal)| {
        let (spec, ty) = &COLUMNS[*ordinal];
        let mut column = Column::new(spec.physical);
        rows.iter().for_each(|row| column.push_value(&row[at], ty).unwrap());
        column
    });
    Batch::from_columns(columns.collect())
}

fn ids(ordinals: &[usize]) -> Vec<u16> {
    ordinals.iter().map(|ordinal| COLUMNS[*ordinal].0.id).collect()
}

fn some_columns(rng: &mut Rng) -> Vec<usize> {
    (0..COLUMNS.len()).filter(|_| rng.one_in(2)).collect()
}

fn rows_of(out: &ScanBatch, ordinals: &[usize]) -> Table {
    let row = |at: usize| -> Row {
        let columns = ordinals.iter().zip(&out.batch.columns);
        columns.map(|(ordinal, column)| column.value(at, &COLUMNS[*ordinal].1)).collect()
    };
    out.batch.columns.iter().for_each(|column| column.check().unwrap());
    assert!(out.batch.columns.iter().all(|column| column.len() == out.records.len()));
    out.records.iter().enumerate().map(|(at, record)| (*record, row(at))).collect()
}

fn scan(heap: &Arc<Heap>, txn: &Txn, ordinals: &[usize]) -> Table {
    let mut scan = heap.scan(txn, ScanSpec { columns: &ids(ordinals), pages: 0..u32::MAX });
    let (mut out, mut found) = (ScanBatch::default(), Table::new());
    while scan.next(&mut out).unwrap() {
        found.extend(rows_of(&out, ordinals));
    }
    found
}

fn part(table: &Table, ordinals: &[usize]) -> Table {
    table
        .iter()
        .map(|(record, row)| (*record, ordinals.iter().map(|at| row[*at].clone()).collect()))
        .collect()
}

/// A transaction that writes, what it should see, and what it saw at its savepoint.
struct Writer {
    txn: Txn,
    table: Table,
    savepoint: Option<Table>,
}

struct History {
    engine: Engine,
    heap: Arc<Heap>,
    rng: Rng,
    committed: Table,
    /// Whose records these are; new ones are their writer's.
    owners: BTreeMap<RecordId, usize>,
    writers: Vec<Option<Writer>>,
    readers: Vec<(Txn, Table)>,
}

impl History {
    fn begin(&mut self) -> Txn {
        let options = TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() };
        let mut txn = self.engine.begin(options);
        txn.begin_statement().unwrap();
        txn.end_statement().unwrap();
        txn
    }

    /// Records of a writer that stand together: one, a few, every so many, or all.
    fn some_records(&mut self, writer: usize, table: &Table) -> Vec<RecordId> {
        let own: Vec<RecordId> =
            table.keys().copied().filter(|record| self.owners[record] == writer).collect();
        if own.is_empty() {
            return own;
        }
        let first = self.rng.index(own.len());
        let count = *self.rng.pick(&[1, 5, 40, 400]);
        let step = *self.rng.pick(&[1, 1, 2, 3]);
        own.into_iter().skip(first / 2).take(count).step_by(step).collect()
    }

    fn write(&mut self, index: usize) {
        let mut writer = match self.writers[index].take() {
            Some(writer) => writer,
            None => Writer { txn: self.begin(), table: self.committed.clone(), savepoint: None },
        };
        match self.rng.below(12) {
            0 => {
                let count = *self.rng.pick(&[1, 8, 60]);
                let rows: Vec<Row> = (0..count)
                    .map(|_| (0..COLUMNS.len()).map(|ordinal| value(&mut self.rng, ordinal)).collect())
                    .collect();
                let all: Vec<usize> = (0..COLUMNS.len()).collect();
                let mut records = Vec::new();
                writer.txn.begin_statement().unwrap();
                self.heap.insert(&mut writer.txn, &batch(&all, &rows), Some(&mut records)).unwrap();
                writer.txn.end_statement().unwrap();
                self.owners.extend(records.iter().map(|record| (*record, index)));
                writer.table.extend(records.into_iter().zip(rows));
            }
            1 => self.change(index, &mut writer, true),
            2 => {
                writer.txn.savepoint("s").unwrap();
                writer.savepoint = Some(writer.table.clone());
            }
            3 => {
                if let Some(table) = &writer.savepoint {
                    writer.txn.rollback_to("s").unwrap();
                    writer.table.clone_from(table);
                }
            }
            4 => {
                // What others committed meanwhile stays as it is.
                let own = |record: &RecordId| self.owners[record] == index;
                self.committed.retain(|record, _| !own(record));
                self.committed.extend(writer.table.into_iter().filter(|(record, _)| own(record)));
                writer.txn.commit(CommitMode::Wait).unwrap();
                return;
            }
            5 => {
                writer.txn.rollback().unwrap();
                return;
            }
            _ => self.change(index, &mut writer, false),
        }
        let ordinals = some_columns(&mut self.rng);
        assert_eq!(scan(&self.heap, &writer.txn, &ordinals), part(&writer.table, &ordinals), "its own view");
        self.writers[index] = Some(writer);
    }

    fn change(&mut self, index: usize, writer: &mut Writer, delete: bool) {
        let records = self.some_records(index, &writer.table);
        let mut ordinals = some_columns(&mut self.rng);
        if ordinals.is_empty() {
            ordinals.push(self.rng.index(COLUMNS.len()));
        }
        writer.txn.begin_statement().unwrap();
        let mut scan = self.heap.scan(&writer.txn, ScanSpec { columns: &ids(&ordinals), pages: 0..u32::MAX });
        let mut out = ScanBatch::default();
        while scan.next(&mut out).unwrap() {
            let selection: Vec<u32> = (0..out.records.len() as u32)
                .filter(|row| records.binary_search(&out.records[*row as usize]).is_ok())
                .collect();
            if selection.is_empty() {
                continue;
            }
            if delete {
                self.heap.delete(&mut writer.txn, &out, Some(&selection)).unwrap();
                continue;
            }
            let rows: Vec<Row> = selection
                .iter()
                .map(|_| ordinals.iter().map(|ordinal| value(&mut self.rng, *ordinal)).collect())
                .collect();
            let values = batch(&ordinals, &rows);
            self.heap.update(&mut writer.txn, &out, Some(&selection), &ids(&ordinals), &values).unwrap();
            for (row, values) in selection.iter().zip(rows) {
                let old = writer.table.get_mut(&out.records[*row as usize]).unwrap();
                ordinals.iter().zip(values).for_each(|(ordinal, value)| old[*ordinal] = value);
            }
        }
        writer.txn.end_statement().unwrap();
        if delete {
            records.iter().for_each(|record| {
                writer.table.remove(record);
            });
        }
    }

    fn read(&mut self) {
        let ordinals = some_columns(&mut self.rng);
        for (txn, table) in &self.readers {
            assert_eq!(scan(&self.heap, txn, &ordinals), part(table, &ordinals), "columns {ordinals:?}");
        }
        let Some((txn, table)) = self.readers.last() else { return };
        let mut out = ScanBatch::default();
        for record in self.owners.keys() {
            let there = self.heap.fetch(txn, *record, &ids(&ordinals), &mut out).unwrap();
            assert_eq!(there, table.contains_key(record), "{record} fetched");
            for (record, row) in rows_of(&out, &ordinals) {
                let expected: Row = ordinals.iter().map(|at| table[&record][*at].clone()).collect();
                assert_eq!(row, expected, "{record} fetched");
            }
        }
    }
}

/// Random steps; with `updates`, snapshots that are taken now and then are held until so many statements have written,
/// with 64 pages of memory.
fn run(seed: u64, updates: Option<u32>) {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(seed);
    let options = EngineOptions {
        background: false,
        page_size: 4096,
        max_database_bytes: 64 << 20,
        eager_rollback_records: *rng.pick(&[0, 20, 1000]),
        auto_backout: rng.one_in(2),
        buffer_pool_bytes: if updates.is_some() { 64 * 4096 } else { 1 << 24 },
        ..EngineOptions::default()
    };
    let engine = Engine::create(Env::real(), &dir.path().join("t.verso"), options).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS.map(|(spec, _)| spec)).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    let mut history = History {
        engine,
        heap,
        rng,
        committed: Table::new(),
        owners: BTreeMap::new(),
        writers: (0..WRITERS).map(|_| None).collect(),
        readers: Vec::new(),
    };
    let mut written = 0;
    let mut steps = 0;
    while updates.map_or(steps < 200, |updates| written < updates) {
        steps += 1;
        match history.rng.below(10) {
            0 if updates.is_none() || history.readers.len() as u32 <= written / 200 => {
                let txn = history.begin();
                let table = history.committed.clone();
                history.readers.push((txn, table));
            }
            0 => history.engine.checkpoint().unwrap(),
            1 if history.readers.len() > 3 && updates.is_none() => {
                let index = history.rng.index(history.readers.len());
                history.readers.remove(index);
            }
            2 if updates.is_none() || history.rng.one_in(10) => history.read(),
            3 => history.engine.housekeeping().unwrap(),
            4 if history.rng.one_in(3) => {
                let options = SweepOptions::default();
                let goes_on = &mut |_| std::ops::ControlFlow::Continue(());
                history.engine.sweep(options, goes_on).unwrap();
            }
            _ => {
                let index = history.rng.index(WRITERS);
                history.write(index);
                written += 1;
            }
        }
    }
    history.read();
    if updates.is_some() {
        history.readers.clear();
        history.writers.clear();
        history.engine.sweep(SweepOptions::default(), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        history.engine.housekeeping().unwrap();
        assert_eq!(history.engine.space().version_pages, 0, "V4: nobody needs them");
        let report = history.engine.check(&mut |_| ()).unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}

#[test]
fn v2_snapshots_held_across_a_thousand_updates_read_the_same() {
    for seed in seeds(3) {
        run(seed, Some(2000)); // every second write is an update
    }
}

#[test]
fn v2_snapshots_read_the_same_whatever_runs_and_parts_of_runs_others_change() {
    for seed in seeds(20) {
        run(seed, None);
    }
}

#[test]
fn v5_pages_of_a_dropped_table_are_free_when_its_drop_has_committed() {
    let dir = tempfile::tempdir().unwrap();
    let options = EngineOptions {
        background: false,
        page_size: 4096,
        max_database_bytes: 64 << 20,
        ..EngineOptions::default()
    };
    let engine = Engine::create(Env::real(), &dir.path().join("t.verso"), options).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let specs = COLUMNS.map(|(spec, _)| spec);
    let [dropped, kept] = [0, 1].map(|_| engine.create_heap(&mut txn, &specs).unwrap());
    let all: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut rng = Rng::new(1);
    let rows: Vec<Row> = (0..2000).map(|_| all.iter().map(|at| value(&mut rng, *at)).collect()).collect();
    for object in [dropped, kept] {
        engine.heap(object).unwrap().insert(&mut txn, &batch(&all, &rows), None).unwrap();
    }
    txn.commit(CommitMode::Wait).unwrap();
    let before = engine.space();
    let mut txn = engine.begin(TxnOptions::default());
    engine.drop_object(&mut txn, dropped).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let after = engine.space();
    assert!(after.free_pages > before.free_pages + 50, "{before:?} {after:?}");

    // A snapshot keeps them, but not the entries of whoever goes on in the same writer slot.
    let mut reader = engine.begin(TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() });
    reader.begin_statement().unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    engine.drop_object(&mut txn, kept).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let mut next = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut next, &specs).unwrap();
    engine.heap(object).unwrap().insert(&mut next, &batch(&all, &rows[..10]), None).unwrap();
    let held = engine.space();
    drop(reader);
    engine.housekeeping().unwrap();
    let freed = engine.space();
    assert!(freed.free_pages > held.free_pages + 50, "{held:?} {freed:?}");
    next.rollback().unwrap();
}
