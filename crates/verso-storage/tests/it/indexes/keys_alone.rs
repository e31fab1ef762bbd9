//! Scans that read keys alone, and what they agree with (I1).

use super::*;

/// What the keys of an index say is read from them alone, where nothing waits to be cleared up: whatever happens, a scan of
/// key columns yields what the heap does, for every snapshot.
#[test]
fn i1_scans_of_keys_alone_agree_with_the_heap() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..3000), true);
    let keys = |txn: &Txn, index: &Arc<Index>, columns: &[u16]| -> Vec<Vec<Option<Vec<u8>>>> {
        let spec = IndexScanSpec { columns, range: KeyRange::all(), descending: false };
        let mut scan = table.heap.index_scan(txn, index, spec);
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            assert_eq!(out.records.len(), out.batch.rows);
            let value =
                |column: &Column, row: usize| (!column.is_null(row)).then(|| column.raw_at(row).to_vec());
            let row = |row: usize| out.batch.columns.iter().map(|column| value(column, row)).collect();
            rows.extend((0..out.batch.rows).map(row));
        }
        rows
    };
    let heap = |txn: &Txn, columns: &[u16]| -> Vec<Vec<Option<Vec<u8>>>> {
        let mut scan = table.heap.scan(txn, ScanSpec { columns, pages: 0..u32::MAX });
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            let value =
                |column: &Column, row: usize| (!column.is_null(row)).then(|| column.raw_at(row).to_vec());
            let row = |row: usize| out.batch.columns.iter().map(|column| value(column, row)).collect();
            rows.extend((0..out.batch.rows).map(row));
        }
        rows.sort();
        rows
    };
    let agree = |txn: &Txn, when: &str| {
        for (index, columns) in [
            (&table.primary, &[1_u16][..]),
            (&table.second, &[2, 3]),
            (&table.second, &[3]),
            (&table.second, &[]),
        ] {
            let mut through = keys(txn, index, columns);
            through.sort();
            assert_eq!(through, heap(txn, columns), "{when}, {columns:?}");
        }
    };
    let sweep = || {
        for _ in 0..2 {
            table.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            table.engine.housekeeping().unwrap();
        }
    };
    let fetches = |txn: &Txn, columns: &[u16]| {
        let before = table.engine.statistics().pool.fetches;
        keys(txn, &table.primary, columns);
        table.engine.statistics().pool.fetches - before
    };
    let txn = table.begin();
    let visiting = fetches(&txn, &[1]);
    agree(&txn, "never swept");
    txn.commit(CommitMode::Wait).unwrap();
    sweep();
    let txn = table.begin();
    agree(&txn, "swept");
    let alone = fetches(&txn, &[1]);
    assert!(
        fetches(&txn, &[1, 3]) > alone && alone * 3 < visiting * 2,
        "{alone} pages alone, {visiting} with the table"
    );
    txn.commit(CommitMode::Wait).unwrap();
    let mut rng = verso_sim::Rng::new(7);
    let mut old = Vec::new();
    for round in 0..40 {
        let mut txn = table.begin();
        for _ in 0..rng.below(4) {
            let id = rng.below(3000) as i64;
            let seen = table.through(&txn, &table.primary, KeyRange::prefix(&id_key(id)), false);
            match (seen.is_empty(), rng.below(4)) {
                (true, _) => table.insert(&mut txn, &[row(id)]).unwrap(),
                (false, 0) => table.delete(&mut txn, id).unwrap(),
                (false, 1) => {
                    let free = 3000 + rng.below(1_000_000) as i64;
                    table.update(&mut txn, id, &(free, None, 1), &[1, 2, 3]).unwrap();
                }
                (false, _) => {
                    let changed = (id, Some(format!("changed {round}")), round);
                    table.update(&mut txn, id, &changed, &[2, 3]).unwrap();
                }
            }
        }
        agree(&txn, "one's own changes");
        match rng.below(3) {
            0 => txn.rollback().unwrap(),
            _ => txn.commit(CommitMode::Wait).unwrap(),
        }
        if rng.below(4) == 0 {
            old.push(table.begin());
        }
        if rng.below(5) == 0 {
            sweep();
        }
        for txn in &old {
            agree(txn, "an old snapshot");
        }
        agree(&table.begin(), "now");
        if old.len() > 3 {
            old.remove(0).commit(CommitMode::Wait).unwrap();
        }
    }
    old.into_iter().for_each(|txn| txn.commit(CommitMode::Wait).unwrap());
    sweep();
    agree(&table.begin(), "swept again");
    table.sound();
}
