//! What is kept of many transactions: `cargo run --release -p verso-storage --example many_transactions [number]`.
//!
//! Each updates one record. Prints after every tenth of them what a checkpoint adds to the log, version pages in use and
//! the memory of the process beyond the buffer pool's, first without a snapshot, then with one held open all the time.

use verso_env::{Env, process};
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::{ColumnSpec, CommitMode, Engine, EngineOptions, Isolation, TxnOptions};
use verso_types::{Batch, Column, ColumnData, Physical};

const RECORDS: u32 = 1000;

fn numbers(values: Vec<i64>) -> Batch {
    Batch::from_columns(vec![Column { data: ColumnData::I64(values), nulls: Default::default() }])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let env = Env::real();
    for held in [false, true] {
        let folder = tempfile::tempdir()?;
        let options = EngineOptions { buffer_pool_bytes: 4 << 30, ..EngineOptions::default() };
        let engine = Engine::create(env.clone(), &folder.path().join("t.verso"), options)?;
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &[ColumnSpec { id: 1, physical: Physical::I64 }])?;
        let heap = engine.heap(object)?;
        heap.insert(&mut txn, &numbers((0..i64::from(RECORDS)).collect()), None)?;
        txn.commit(CommitMode::Wait)?;

        let mut reader = engine.begin(TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() });
        let mut records = ScanBatch::default();
        reader.begin_statement()?;
        heap.scan(&reader, ScanSpec { columns: &[1], pages: 0..u32::MAX }).next(&mut records)?;
        reader.end_statement()?;
        let mut reader = Some(reader).filter(|_| held);

        println!("{}", if held { "a snapshot is held" } else { "no snapshot" });
        println!("transactions    checkpoint    version pages    memory");
        for number in 1..=count {
            let mut txn = engine.begin(TxnOptions::default());
            txn.begin_statement()?;
            let row = (number % u64::from(RECORDS)) as u32;
            heap.update(&mut txn, &records, Some(&[row]), &[1], &numbers(vec![number as i64]))?;
            txn.end_statement()?;
            txn.commit(CommitMode::Wait)?;
            if number.is_multiple_of((count / 10).max(1)) {
                engine.housekeeping()?;
                engine.checkpoint()?;
                let before = engine.statistics().log.bytes;
                engine.checkpoint()?;
                let checkpoint = engine.statistics().log.bytes - before;
                let pages = engine.space().version_pages;
                let memory =
                    process::resident_bytes().unwrap_or(0).saturating_sub(engine.pool_resident_bytes());
                println!("{number:>12} {checkpoint:>10} B {pages:>16} {:>6} MB", memory >> 20);
            }
        }
        if let Some(reader) = reader.take() {
            reader.commit(CommitMode::Wait)?;
        }
        engine.housekeeping()?;
        println!("{:>12} {:>31}", "closed", engine.space().version_pages);
        engine.close()?;
    }
    Ok(())
}
