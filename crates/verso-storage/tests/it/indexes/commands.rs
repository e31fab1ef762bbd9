//! What a statement does not see of its own transaction (T4), through the heap and through every index.

use super::*;

/// As the running statement of the transaction sees the table without a command.
fn plain(table: &Table, txn: &mut Txn) -> Vec<Row> {
    txn.begin_statement().unwrap();
    let rows = table.rows(txn);
    txn.end_statement().unwrap();
    rows
}

/// Changes of all kinds, of keys too, by statements of their own; those of another pass are others.
fn changes(table: &Table, txn: &mut Txn, pass: i64) {
    let all = plain(table, txn);
    for (at, (id, ..)) in all.iter().enumerate() {
        match (at as i64 + pass) % 7 {
            0 => table.delete(txn, *id).unwrap(),
            1 => {
                // Keys go, come back and go once more.
                table.update(txn, *id, &row(id + 10_000), &[1, 2, 3]).unwrap();
                table.update(txn, id + 10_000, &(*id, None, pass as i32), &[1, 2, 3]).unwrap();
                table.update(txn, *id, &row(id + 1_000_000 * (pass + 1)), &[1, 2]).unwrap();
            }
            2 => table.update(txn, *id, &(*id, Some(format!("pass {pass}")), -1), &[2, 3]).unwrap(),
            _ => {}
        }
    }
    table.insert(txn, &fill(100_000 + pass * 1000..100_000 + pass * 1000 + 40)).unwrap();
}

#[test]
fn t4_a_command_reads_what_was_there_when_it_began() {
    for savepoints in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let table = Table::new(dir.path(), &fill(0..300), true);
        let mut txn = table.engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
        // Some of the rows are the transaction's own before.
        changes(&table, &mut txn, 0);
        let before = plain(&table, &mut txn);
        txn.begin_statement().unwrap();
        txn.begin_command();
        assert!(txn.in_command());
        assert_eq!(table.rows(&txn), before);
        let spec = || IndexScanSpec { columns: &[1, 2, 3], range: KeyRange::all(), descending: false };
        let mut late = table.heap.scan(&txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
        let mut late_through = table.heap.index_scan(&txn, &table.primary, spec());
        for pass in 1..4 {
            changes(&table, &mut txn, pass);
            assert_eq!(table.rows(&txn), before, "pass {pass}");
        }
        let so_far = plain(&table, &mut txn);
        assert_ne!(so_far, before);
        // One within it, which begins later.
        txn.begin_statement().unwrap();
        txn.begin_command();
        changes(&table, &mut txn, 4);
        assert_eq!(table.rows(&txn), so_far);
        txn.end_statement().unwrap();
        assert_eq!(table.rows(&txn), before);
        let so_far = plain(&table, &mut txn);
        if savepoints {
            txn.begin_statement().unwrap();
            txn.begin_command();
            changes(&table, &mut txn, 5);
            assert_eq!(table.rows(&txn), so_far);
            txn.abort_statement().unwrap();
            assert_eq!(plain(&table, &mut txn), so_far);
            assert_eq!(table.rows(&txn), before);
            changes(&table, &mut txn, 6);
        }
        let so_far = plain(&table, &mut txn);
        let mut out = ScanBatch::default();
        for (id, ..) in before.iter().chain(&so_far) {
            let found = table.heap.get(&txn, &table.primary, &id_key(*id), &[1, 2, 3], &mut out).unwrap();
            let expected = before.iter().find(|row| row.0 == *id);
            assert_eq!((found, decode(&out).pop()), (expected.is_some(), expected.cloned()), "{id}");
        }
        let (mut rows, mut through) = (Vec::new(), Vec::new());
        while late.next(&mut out).unwrap() {
            rows.extend(decode(&out));
        }
        while late_through.next(&mut out).unwrap() {
            through.extend(decode(&out));
        }
        rows.sort();
        assert_eq!((&rows, &through), (&before, &before), "scans that were opened before");
        drop((late, late_through));
        txn.end_command();
        assert_eq!(table.rows(&txn), so_far);
        txn.end_statement().unwrap();
        assert_eq!(plain(&table, &mut txn), so_far);
        table.sound();
        txn.commit(CommitMode::Wait).unwrap();
        assert_eq!(table.now(), so_far);
        table.settled();
    }
}

/// What a view keeps that outlives its statement, as a cursor's does.
#[test]
fn t4_a_view_that_is_held_keeps_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..100), true);
    let mut txn = table.engine.begin(TxnOptions::default());
    changes(&table, &mut txn, 0);
    let before = plain(&table, &mut txn);
    txn.begin_statement().unwrap();
    txn.begin_command();
    let mut held = txn.end_statement_holding().unwrap();
    for pass in 1..4 {
        changes(&table, &mut txn, pass);
        txn.begin_statement_under(held).unwrap();
        assert_eq!(table.rows(&txn), before, "pass {pass}");
        held = txn.end_statement_holding().unwrap();
    }
    let after = plain(&table, &mut txn);
    drop(held);
    changes(&table, &mut txn, 4);
    assert_ne!(plain(&table, &mut txn), after);
    txn.rollback().unwrap();
    assert_eq!(table.now(), fill(0..100));
    table.settled();
}

#[test]
fn a_record_counts_as_changed_by_what_the_command_has_called_and_what_was_not_undone() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..10), true);
    let mut txn = table.engine.begin(TxnOptions::default());
    table.update(&mut txn, 1, &row(1), &[3]).unwrap();
    txn.begin_statement().unwrap();
    let record = |txn: &Txn, id: i64| {
        let mut out = ScanBatch::default();
        assert!(table.heap.get(txn, &table.primary, &id_key(id), &[], &mut out).unwrap());
        out.records[0]
    };
    let records: Vec<_> = (0..10).map(|id| record(&txn, id)).collect();
    txn.begin_command();
    let changed = |txn: &Txn| -> Vec<usize> {
        (0..10).filter(|at| txn.has_changed(table.heap.object, records[*at])).collect()
    };
    assert!(changed(&txn).is_empty());
    table.update(&mut txn, 1, &(1, None, 9), &[2, 3]).unwrap();
    table.update(&mut txn, 2, &(2, None, 9), &[3]).unwrap();
    table.delete(&mut txn, 3).unwrap();
    assert_eq!(changed(&txn), [1, 2, 3]);
    txn.begin_statement().unwrap();
    table.update(&mut txn, 4, &(4, None, 9), &[3]).unwrap();
    txn.abort_statement().unwrap();
    assert_eq!(changed(&txn), [1, 2, 3]);
    txn.end_statement().unwrap();
    assert!(changed(&txn).is_empty());
}
