//! What packed pages cost and save: `cargo run --release -p verso-storage --example packed [rows] [page size]`.
//!
//! A table like TPC-H's `lineitem`, as it was loaded, packed, and packed with a dictionary: bytes, a scan of three columns and of all, reads of
//! single records by key, updates of single records all over it (each a transaction that does not wait for the disk), first and
//! again. Prints milliseconds, the fastest of some rounds, and what part of those of the plain table that is.

use std::sync::Arc;

use verso_env::{Clock, Env};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::index::key;
use verso_storage::{
    ColumnSpec, CommitMode, Engine, EngineOptions, Index, IndexSpec, KeyPart, Packing, StorageError,
    SweepOptions, Txn, TxnOptions,
};
use verso_types::{Batch, Column, ColumnData, KeyType, Physical};

/// By id: numbers of 32 and 64 bits, days, flags, texts, a comment.
const SHAPES: [Physical; 16] = [
    Physical::I64,
    Physical::I32,
    Physical::I32,
    Physical::I32,
    Physical::I64,
    Physical::I64,
    Physical::I64,
    Physical::I64,
    Physical::Bytes,
    Physical::Bytes,
    Physical::I32,
    Physical::I32,
    Physical::I32,
    Physical::Bytes,
    Physical::Bytes,
    Physical::Bytes,
];
const BATCH: u64 = 1000;
const SINGLE: u64 = 20_000;

fn columns() -> Vec<ColumnSpec> {
    (1..).zip(SHAPES).map(|(id, physical)| ColumnSpec { id, physical }).collect()
}

/// A number that has nothing to do with its neighbours'.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 7
}

fn push(batch: &mut Batch, number: u64) {
    const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
    const WORDS: [&str; 8] =
        ["carefully ", "final ", "deposits ", "sleep ", "quickly ", "even ", "ideas ", "nag "];
    let drawn = |column: u64, most: u64| mixed(number * 31 + column) % most;
    let day = 8000 + drawn(9, 2500);
    let comment: String = (0..2 + drawn(20, 5)).map(|at| WORDS[drawn(21 + at, 8) as usize]).collect();
    let texts = [
        ["A", "N", "R"][drawn(10, 3) as usize],
        ["O", "F"][drawn(11, 2) as usize],
        INSTRUCTIONS[drawn(12, 4) as usize],
        MODES[drawn(13, 7) as usize],
        &comment,
    ];
    let numbers = [
        number,
        drawn(1, 200_000),
        drawn(2, 10_000),
        number % 7 + 1,
        (drawn(3, 50) + 1) * 100,
        90_000 + drawn(4, 10_000_000),
        drawn(5, 11),
        drawn(6, 9),
        day,
        day + drawn(7, 90),
        day + drawn(8, 30),
    ];
    let (mut numbers, mut texts) = (numbers.into_iter(), texts.into_iter());
    for column in &mut batch.columns {
        match &mut column.data {
            ColumnData::I32(values) => values.push(numbers.next().expect("eleven numbers") as i32),
            ColumnData::I64(values) => values.push(numbers.next().expect("eleven numbers") as i64),
            ColumnData::Bytes(values) => values.push(texts.next().expect("five texts").as_bytes()),
            other => unreachable!("no column of {:?}", other.physical()),
        }
    }
    batch.rows += 1;
}

fn empty() -> Batch {
    Batch::from_columns(SHAPES.map(Column::new).into())
}

struct Table {
    engine: Engine,
    heap: Arc<Heap>,
    index: Arc<Index>,
    clock: Arc<dyn Clock>,
    rows: u64,
}

impl Table {
    /// Milliseconds of the fastest of some rounds.
    fn fastest(
        &self,
        rounds: usize,
        mut run: impl FnMut() -> Result<(), StorageError>,
    ) -> Result<f64, StorageError> {
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let start = self.clock.monotonic_nanos();
            run()?;
            best = best.min((self.clock.monotonic_nanos() - start) as f64 / 1e6);
        }
        Ok(best)
    }

    fn scan(&self, columns: &[u16]) -> Result<f64, StorageError> {
        self.fastest(5, || {
            let mut txn = self.engine.begin(TxnOptions::default());
            txn.begin_statement()?;
            let mut scan = self.heap.scan(&txn, ScanSpec { columns, pages: 0..u32::MAX });
            let (mut out, mut count) = (ScanBatch::default(), 0);
            while scan.next(&mut out)? {
                count += out.batch.rows as u64;
            }
            assert_eq!(count, self.rows);
            txn.end_statement()
        })
    }

    fn key(&self, number: u64) -> Vec<u8> {
        let mut numbers = Column::new(Physical::I64);
        if let ColumnData::I64(values) = &mut numbers.data {
            values.push(number as i64);
        }
        let mut key = Vec::new();
        key::encode_row(&self.index.spec().parts, &[&numbers], 0, &mut key).expect("a number is a key");
        key
    }

    fn points(&self) -> Result<f64, StorageError> {
        let mut out = ScanBatch::default();
        self.fastest(3, || {
            let mut txn = self.engine.begin(TxnOptions::default());
            txn.begin_statement()?;
            for at in 0..SINGLE {
                let key = self.key(mixed(at) % self.rows);
                assert!(self.heap.get(&txn, &self.index, &key, &[1, 5, 6, 16], &mut out)?);
            }
            txn.end_statement()
        })
    }

    /// Updates of single records, of other ones with each seed.
    fn updates(&self, seed: u64) -> Result<f64, StorageError> {
        let mut out = ScanBatch::default();
        self.fastest(1, || {
            for at in 0..SINGLE {
                let mut txn = self.engine.begin(TxnOptions::default());
                txn.begin_statement()?;
                let key = self.key(mixed(at + seed) % self.rows);
                assert!(self.heap.get(&txn, &self.index, &key, &[5], &mut out)?);
                let mut value = Column::new(Physical::I64);
                if let ColumnData::I64(values) = &mut value.data {
                    values.push(at as i64);
                }
                self.heap.update(&mut txn, &out, None, &[5], &Batch::from_columns(vec![value]))?;
                txn.end_statement()?;
                txn.commit(CommitMode::NoWait)?;
            }
            Ok(())
        })
    }
}

fn main() -> Result<(), StorageError> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let (rows, page_size) = (arguments.next().unwrap_or(600_000), arguments.next().unwrap_or(16 << 10));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let env = Env::real();
    let options = EngineOptions {
        page_size: page_size as u32,
        buffer_pool_bytes: 1 << 30,
        background: false,
        ..EngineOptions::default()
    };
    let engine = Engine::create(env.clone(), &dir.path().join("t.verso"), options)?;
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &columns())?;
    let parts = vec![KeyPart::ascending(1, KeyType::I64)];
    let spec = IndexSpec {
        table: object,
        parts,
        unique: true,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    };
    engine.create_index(&mut txn, spec, &mut |_| std::ops::ControlFlow::Continue(()))?;
    txn.commit(CommitMode::Wait)?;
    let heap = engine.heap(object)?;
    for first in (0..rows).step_by(BATCH as usize) {
        let mut batch = empty();
        (first..rows.min(first + BATCH)).for_each(|number| push(&mut batch, number));
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement()?;
        heap.insert(&mut txn, &batch, None)?;
        txn.end_statement()?;
        txn.commit(CommitMode::NoWait)?;
    }
    let index = Arc::clone(&heap.indexes.list()[0]);
    let table = Table { engine, heap, index, clock: env.clock, rows };
    let all: Vec<u16> = (1..=16).collect();
    let measure = |updates: bool| -> Result<Vec<f64>, StorageError> {
        let mut figures = vec![
            (table.engine.pages_of(object) * page_size) as f64 / 1e6,
            table.scan(&[5, 6, 11])?,
            table.scan(&all)?,
            table.points()?,
        ];
        if updates {
            figures.push(table.updates(0)?);
            figures.push(table.updates(0)?);
        }
        Ok(figures)
    };
    let plain = measure(true)?;
    table.engine.housekeeping()?;
    let timed = |how: &str, pack: &dyn Fn(&mut Txn) -> Result<Packing, StorageError>| {
        let start = table.clock.monotonic_nanos();
        let packing = pack(&mut table.engine.begin(TxnOptions::default()))?;
        let seconds = (table.clock.monotonic_nanos() - start) as f64 / 1e9;
        println!("{rows} rows, pages of {page_size} bytes; {how} in {seconds:.2} s: {packing:?}");
        Ok::<(), StorageError>(())
    };
    let options = SweepOptions::default;
    timed("packed", &|txn| table.engine.pack(txn, object, options(), &mut || Ok(())))?;
    let packed = measure(true)?;
    table.engine.housekeeping()?;
    let mut txn = table.engine.begin(TxnOptions::default());
    println!("{:?}", table.engine.create_dictionary(&mut txn, object, &mut || Ok(()))?);
    drop(txn);
    timed("repacked", &|txn| table.engine.repack(txn, object, options(), &mut || Ok(())))?;
    let symbols = measure(true)?;
    let names =
        ["MB", "scan of 3 columns", "scan of all", "20,000 by key", "20,000 updates", "the same again"];
    println!("{:<20}{:>10}{:>10}{:>10}{:>12}{:>10}", "", "plain", "packed", "ratio", "dictionary", "ratio");
    for (((name, plain), packed), symbols) in names.into_iter().zip(&plain).zip(&packed).zip(&symbols) {
        let (ratio, its) = (packed / plain, symbols / plain);
        println!("{name:<20}{plain:>10.1}{packed:>10.1}{ratio:>10.2}{symbols:>12.1}{its:>10.2}");
    }
    Ok(())
}
