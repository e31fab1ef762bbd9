//! Reads and writes rows of the system tables through the heap, as any other table's.

use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::{Engine, Txn};

use crate::error::CatalogError;
use crate::system::row::SystemRow;

/// Every row of a system table that the transaction's statement sees.
pub(crate) fn read<R: SystemRow>(engine: &Engine, txn: &Txn) -> Result<Vec<R>, CatalogError> {
    let mut rows = Vec::new();
    scan::<R>(engine, txn, &mut |_, mut found| rows.append(&mut found))?;
    Ok(rows)
}

/// Adds rows.
pub(crate) fn insert<R: SystemRow>(engine: &Engine, txn: &mut Txn, rows: &[R]) -> Result<(), CatalogError> {
    if !rows.is_empty() {
        engine.heap(R::TABLE.heap)?.insert(txn, &R::to_batch(rows), None)?;
    }
    Ok(())
}

/// Deletes the rows that `matches` and gives them back.
pub(crate) fn delete<R: SystemRow>(
    engine: &Engine,
    txn: &mut Txn,
    matches: impl Fn(&R) -> bool,
) -> Result<Vec<R>, CatalogError> {
    let mut deleted = Vec::new();
    let heap = engine.heap(R::TABLE.heap)?;
    for (batch, selection, mut rows) in select(engine, txn, matches)? {
        heap.delete(txn, &batch, Some(&selection))?;
        deleted.append(&mut rows);
    }
    Ok(deleted)
}

/// Changes the rows that `matches`, as `change` says; how many there were.
pub(crate) fn update<R: SystemRow>(
    engine: &Engine,
    txn: &mut Txn,
    matches: impl Fn(&R) -> bool,
    change: impl Fn(&mut R),
) -> Result<usize, CatalogError> {
    let heap = engine.heap(R::TABLE.heap)?;
    let mut count = 0;
    for (batch, selection, mut rows) in select(engine, txn, matches)? {
        rows.iter_mut().for_each(&change);
        count += rows.len();
        heap.update(txn, &batch, Some(&selection), &R::column_ids(), &R::to_batch(&rows))?;
    }
    Ok(count)
}

/// Rows of one scanned batch: the batch, which of its rows, and these as structures.
type Selected<R> = (ScanBatch, Vec<u32>, Vec<R>);

/// The rows that `matches`, with what the heap needs to change them. All are read before the first is changed.
fn select<R: SystemRow>(
    engine: &Engine,
    txn: &Txn,
    matches: impl Fn(&R) -> bool,
) -> Result<Vec<Selected<R>>, CatalogError> {
    let mut selected = Vec::new();
    scan::<R>(engine, txn, &mut |batch, rows| {
        let mut selection = Vec::new();
        let mut kept = Vec::new();
        for (i, row) in (0..).zip(rows) {
            if matches(&row) {
                selection.push(i);
                kept.push(row);
            }
        }
        if !kept.is_empty() {
            selected.push((std::mem::take(batch), selection, kept));
        }
    })?;
    Ok(selected)
}

fn scan<R: SystemRow>(
    engine: &Engine,
    txn: &Txn,
    each: &mut dyn FnMut(&mut ScanBatch, Vec<R>),
) -> Result<(), CatalogError> {
    let heap = engine.heap(R::TABLE.heap)?;
    let columns = R::column_ids();
    let mut scan = heap.scan(txn, ScanSpec { columns: &columns, pages: 0..u32::MAX });
    let mut batch = ScanBatch::default();
    while scan.next(&mut batch)? {
        let rows = R::from_batch(&batch.batch)?;
        each(&mut batch, rows);
    }
    Ok(())
}
