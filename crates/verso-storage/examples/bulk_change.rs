//! What bulk updates cost in storage alone: `cargo run --release -p verso-storage --example bulk_change [rows] [rounds] [variant]`.
//!
//! The table and the five updates are those of experiment E1, without SQL: each round is one transaction. Prints the
//! milliseconds of each pass (the fastest round counts), of which reading and making the values. A variant, its name's
//! first letters, is for profiles of it alone.

use std::sync::Arc;

use verso_env::Env;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{ColumnSpec, CommitMode, Engine, EngineOptions, StorageError, Txn, TxnOptions};
use verso_types::{Batch, Column, ColumnData, Physical};

const COLUMNS: [ColumnSpec; 8] = [
    ColumnSpec { id: 1, physical: Physical::I64 },
    ColumnSpec { id: 2, physical: Physical::Bytes },
    ColumnSpec { id: 3, physical: Physical::Bytes },
    ColumnSpec { id: 4, physical: Physical::I32 },
    ColumnSpec { id: 5, physical: Physical::F64 },
    ColumnSpec { id: 6, physical: Physical::I64 },
    ColumnSpec { id: 7, physical: Physical::I64 },
    ColumnSpec { id: 8, physical: Physical::Bytes },
];
const PASSES: usize = 5;

fn row(number: i64) -> Batch {
    let bytes = |text: String| {
        let mut column = Column::new(Physical::Bytes);
        column.data.bytes_mut().expect("of bytes").push(text.as_bytes());
        column
    };
    let fixed = |data| Column { data, nulls: Default::default() };
    Batch::from_columns(vec![
        fixed(ColumnData::I64(vec![number * 100])),
        bytes(format!("name {number}")),
        bytes(format!("description of record {number}")),
        fixed(ColumnData::I32(vec![number as i32])),
        fixed(ColumnData::F64(vec![number as f64 * 0.5])),
        fixed(ColumnData::I64(vec![77])),
        fixed(ColumnData::I64(vec![77])),
        bytes(format!("notes of record {number}")),
    ])
}

/// One update of every row; nanoseconds in total, and without those of storage's changes.
fn pass(env: &Env, heap: &Arc<Heap>, txn: &mut Txn, number: usize) -> Result<(u64, u64), StorageError> {
    let start = env.clock.monotonic_nanos();
    txn.begin_statement()?;
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1, 2, 5, 6], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    let mut values = Batch::from_columns(
        [Physical::I64, Physical::F64, Physical::Bytes, Physical::I64].map(Column::new).into(),
    );
    let mut inside = 0;
    while scan.next(&mut out)? {
        values.clear();
        values.rows = out.batch.rows;
        let [id, qrt, name, stamp] = &mut values.columns[..] else { unreachable!("four columns") };
        if let (ColumnData::I64(to), ColumnData::I64(from)) = (&mut id.data, &out.batch.columns[0].data) {
            to.extend(from.iter().map(|value| value + 100));
        }
        if let (ColumnData::F64(to), ColumnData::F64(from)) = (&mut qrt.data, &out.batch.columns[2].data) {
            to.extend(from.iter().map(|value| value + 1.0));
        }
        let (to, from) = (name.data.bytes_mut().expect("of bytes"), out.batch.columns[1].data.bytes());
        for value in from.expect("of bytes").iter() {
            // The first pass of a round cuts off what the round before appended.
            let base = if number == 0 { value.iter().position(|byte| *byte == b'+') } else { None };
            to.push_with(|bytes| {
                bytes.extend_from_slice(&value[..base.unwrap_or(value.len())]);
                bytes.push(b'+');
            });
        }
        if let ColumnData::I64(to) = &mut stamp.data {
            to.resize(out.batch.rows, 1000 + number as i64);
        }
        let before = env.clock.monotonic_nanos();
        heap.update(txn, &out, None, &[1, 5, 2, 6], &values)?;
        inside += env.clock.monotonic_nanos() - before;
    }
    txn.end_statement()?;
    let total = env.clock.monotonic_nanos() - start;
    Ok((total, total - inside))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: i64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (rows, rounds) = (argument(100_000), argument(5));
    let only = arguments.next().unwrap_or_default();
    let env = Env::real();
    let folder = tempfile::tempdir()?;
    let options = EngineOptions { buffer_pool_bytes: 1 << 30, ..EngineOptions::default() };
    let engine = Engine::create(env.clone(), &folder.path().join("t.verso"), options)?;
    let mut txn = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
    let heap = engine.create_heap(&mut txn, &COLUMNS)?;
    let heap = engine.heap(heap)?;
    for number in 1..=rows {
        heap.insert(&mut txn, &row(number), None)?;
    }
    txn.commit(CommitMode::Wait)?;
    for (name, savepoints, between) in
        [("default", true, false), ("no savepoint", false, false), ("savepoints", true, true)]
    {
        if !name.starts_with(&only) {
            continue;
        }
        let mut best = [(u64::MAX, 0); PASSES];
        let mut commit = u64::MAX;
        for _ in 0..rounds {
            let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
            for (number, best) in best.iter_mut().enumerate() {
                if between && number > 0 {
                    txn.savepoint(&format!("pass {number}"))?;
                }
                *best = pass(&env, &heap, &mut txn, number)?.min(*best);
            }
            let start = env.clock.monotonic_nanos();
            txn.commit(CommitMode::Wait)?;
            commit = commit.min(env.clock.monotonic_nanos() - start);
            engine.housekeeping()?;
        }
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let sum: u64 = best.iter().map(|pass| pass.0).sum::<u64>() + commit;
        print!("{name:<14}");
        best.iter().for_each(|(total, besides)| print!(" {:>7.2} ({:>5.2})", ms(*total), ms(*besides)));
        println!("  commit {:>5.2}  sum {:>7.2}", ms(commit), ms(sum));
    }
    engine.close()?;
    Ok(())
}
