//! Scans that pass over pages by the bounds of their values (PB1, PB2), and what several indexes find together.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use verso_storage::heap::Condition;
use verso_storage::index::Gather;
use verso_storage::work;

use super::*;

/// What a scan yields whose condition lets it pass over pages, and what is left of a scan without it.
fn agree(table: &Table, txn: &Txn, (column, low, high): (u16, i64, i64), when: &str) {
    let value = |row: &Row| if column == 1 { row.0 } else { i64::from(row.2) };
    let spec = || ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX };
    let read = |condition: Option<Condition>| {
        let mut scan = table.heap.scan(txn, spec());
        assert!(condition.is_none_or(|condition| scan.sift(&[condition])));
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            rows.extend(decode(&out));
        }
        rows.sort();
        rows
    };
    let mut all = read(None);
    all.retain(|row| (low..=high).contains(&value(row)));
    assert_eq!(read(Some(Condition::Range { column, low, high })), all, "{when}, {column} {low}..={high}");
}

/// What ranges of two indexes find together is all that either finds, and what both find is among what they find together.
fn gathered(table: &Table, txn: &Txn, (low, high): (i64, i64), name: &str) {
    let rows = table.rows(txn);
    let by_id = || {
        let range = KeyRange {
            lower: std::ops::Bound::Included(id_key(low)),
            upper: std::ops::Bound::Included(id_key(high)),
        };
        Gather::Ranges(Arc::clone(&table.primary), vec![range])
    };
    let by_name = || {
        let value = Value::text(name);
        let key = key::encode(&table.second.spec().parts[..1], [(&value, &SqlType::Text)]).unwrap();
        Gather::Ranges(Arc::clone(&table.second), vec![KeyRange::prefix(&key)])
    };
    let found = |gather: &Gather<Arc<Index>>| {
        let mut scan = table.heap.gathered(txn, gather, &[1, 2, 3]).unwrap();
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            assert!(out.records.is_sorted());
            rows.extend(decode(&out));
        }
        rows.sort();
        rows
    };
    let has_id = |row: &Row| (low..=high).contains(&row.0);
    let has_name = |row: &Row| row.1.as_deref() == Some(name);
    let mut any = found(&Gather::Any(vec![by_id(), by_name(), by_id()]));
    any.retain(|row| has_id(row) || has_name(row));
    assert_eq!(any, rows.iter().filter(|row| has_id(row) || has_name(row)).cloned().collect::<Vec<_>>());
    let mut all = found(&Gather::All(vec![by_id(), by_name()]));
    all.retain(|row| has_id(row) && has_name(row));
    assert_eq!(all, rows.iter().filter(|row| has_id(row) && has_name(row)).cloned().collect::<Vec<_>>());
}

/// Pages that a scan with `id >= low` passes over, whose answer is right.
fn passed_over(table: &Table, low: i64, when: &str) -> u64 {
    let before = work::done();
    agree(table, &table.begin(), (1, low, i64::MAX), when);
    (work::done() - before).passed_over
}

fn sweep(table: &Table) {
    for _ in 0..2 {
        table.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
        table.engine.housekeeping().unwrap();
    }
}

#[test]
fn pb2_pages_are_passed_over_before_and_after_changes() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..3000), false);
    let pages = u64::from(table.heap.page_count());
    assert!(pages > 20);
    assert_eq!(passed_over(&table, 3000, "just filled"), pages);
    let change = |from: i64, to: i64| {
        let mut txn = table.begin();
        table.update(&mut txn, from, &(to, None, 1), &[1, 2, 3]).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    };
    change(7, 5000);
    assert_eq!(passed_over(&table, 3000, "the page of the change is read"), pages - 1);
    assert_eq!(passed_over(&table, 5001, "and passed over above it"), pages);
    change(5000, 7);
    assert_eq!(passed_over(&table, 3000, "bounds do not get narrower by themselves"), pages - 1);
    sweep(&table);
    assert_eq!(passed_over(&table, 3000, "but by sweep"), pages);
    let mut txn = table.begin();
    table.insert(&mut txn, &[row(4000)]).unwrap();
    assert_eq!(passed_over(&table, 4001, "a row that is not committed"), pages);
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(passed_over(&table, 3000, "its page is read"), pages - 1);
    let mut txn = table.begin();
    table.update(&mut txn, 9, &(6000, None, 1), &[1, 2, 3]).unwrap();
    txn.rollback().unwrap();
    passed_over(&table, 3000, "what was rolled back");
    let table = table.reopened(dir.path(), options());
    assert_eq!(passed_over(&table, 3000, "nothing is known after a restart"), 0);
    sweep(&table);
    assert_eq!(passed_over(&table, 4001, "until a sweep"), pages);
    table.sound();
}

/// Readers beside a writer see whatever was committed before their snapshot, by conditions that only its pages fulfil.
#[test]
fn pb2_snapshots_find_what_was_committed_before_them_while_pages_change() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..1000), false);
    let (committed, stop) = (AtomicI64::new(999), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for step in 0..400 {
                let next = 1000 + step;
                let mut txn = table.begin();
                if step % 3 == 0 {
                    table.insert(&mut txn, &[row(next)]).unwrap();
                } else {
                    // Anywhere in the table, also one that was changed before.
                    let from = table.rows(&txn)[(step * 37 % 900) as usize].0;
                    table.update(&mut txn, from, &(next, None, 5), &[1, 2, 3]).unwrap();
                }
                txn.commit(CommitMode::Wait).unwrap();
                committed.store(next, Ordering::Release);
                if step % 40 == 0 {
                    sweep(&table);
                }
            }
            stop.store(true, Ordering::Release);
        });
        let read = || {
            let mut passed = 0;
            while !stop.load(Ordering::Acquire) {
                let low = committed.load(Ordering::Acquire);
                let txn = table.begin();
                let mut scan = table.heap.scan(&txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
                assert!(scan.sift(&[Condition::Range { column: 1, low, high: i64::MAX }]));
                let (mut out, mut found) = (ScanBatch::default(), false);
                let before = work::done();
                while scan.next(&mut out).unwrap() {
                    found |= out.batch.rows > 0;
                }
                passed += (work::done() - before).passed_over;
                assert!(found, "{low} was committed before");
            }
            passed
        };
        let readers = [scope.spawn(read), scope.spawn(read)];
        writer.join().unwrap();
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
    });
    table.sound();
}

#[test]
fn pb2_scans_with_conditions_agree_with_scans_without() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..3000), false);
    let sweep = || sweep(&table);
    let mut rng = verso_sim::Rng::new(11);
    let mut old = Vec::new();
    for round in 0..60 {
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
                    let changed = (id, Some(format!("changed {round}")), 1_000_000 + round);
                    table.update(&mut txn, id, &changed, &[2, 3]).unwrap();
                }
            }
        }
        let low = rng.below(4000) as i64;
        let asked = [(1, low, low + 10), (1, 2990, i64::MAX), (3, 1_000_000, 2_000_000), (1, 5, 4)];
        let all = |txn: &Txn, when: &str| {
            asked.into_iter().for_each(|asked| agree(&table, txn, asked, when));
            gathered(&table, txn, (low, low + 30), &format!("changed {}", low % i64::from(round + 1)));
        };
        all(&txn, "one's own changes");
        match rng.below(3) {
            0 => txn.rollback().unwrap(),
            _ => txn.commit(CommitMode::Wait).unwrap(),
        }
        if rng.below(4) == 0 {
            old.push(table.begin());
        }
        if rng.below(4) == 0 {
            sweep();
        }
        old.iter().for_each(|txn| all(txn, "an old snapshot"));
        all(&table.begin(), "now");
        if old.len() > 3 {
            old.remove(0).commit(CommitMode::Wait).unwrap();
        }
    }
    old.into_iter().for_each(|txn| txn.commit(CommitMode::Wait).unwrap());
    sweep();
    agree(&table, &table.begin(), (3, 1_000_000, 2_000_000), "swept again");
    table.sound();
}
