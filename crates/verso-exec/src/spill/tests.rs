//! Files of rows: what comes back, what is refused, what is left behind.

use std::sync::Arc;

use verso_env::Env;
use verso_types::{Batch, Interval, SqlType, Value};

use super::*;

fn space(limit_bytes: u64) -> (tempfile::TempDir, Arc<TempSpace>) {
    let directory = tempfile::tempdir().expect("a directory");
    let files = TempFiles::new(Env::real().vfs, directory.path().join("tmp"));
    (directory, Arc::new(TempSpace::new(Arc::new(files), limit_bytes)))
}

fn rows() -> (Vec<SqlType>, Batch) {
    let types = vec![SqlType::Int4, SqlType::Text, SqlType::Bool, SqlType::Interval(None)];
    let mut batch = Batch::of_types(&types);
    for i in 0..130 {
        let text = if i % 3 == 0 { Value::Null } else { Value::text(&"é".repeat(i as usize)) };
        let int = if i % 64 == 63 { Value::Null } else { Value::Int4(i) };
        let span = Value::Interval(Interval { days: i, ..Interval::default() });
        batch.push_row(&[int, text, Value::Bool(i % 2 == 0), span], &types).expect("a row");
    }
    (types, batch)
}

#[test]
fn rows_come_back_as_they_were_and_nothing_is_left_behind() {
    let (directory, space) = space(0);
    let (types, batch) = rows();
    {
        let mut file = SpillFile::create(&space).expect("a file");
        let (mut one, mut two) = (Run::default(), Run::default());
        file.append(&mut one, &batch).expect("written");
        file.append(&mut two, &batch.gather(&[63, 0])).expect("written");
        file.append(&mut one, &batch.gather(&[5])).expect("written");
        assert_eq!((one.rows, two.rows, space.used_bytes()), (131, 2, file.bytes()));
        let mut out = Batch::of_types(&types);
        let mut reader = RunReader::default();
        assert!(reader.next(&file, &one, &mut out).expect("read"));
        out.check().expect("sound");
        assert_eq!(out, batch);
        assert!(reader.next(&file, &one, &mut out).expect("read"));
        assert_eq!(out.row(0, &types), batch.row(5, &types));
        assert!(!reader.next(&file, &one, &mut out).expect("the end"));
        assert!(RunReader::default().next(&file, &two, &mut out).expect("read"));
        assert_eq!(out.row(0, &types), batch.row(63, &types));
        assert_eq!(space.files().open_files(), 1);
    }
    assert_eq!((space.used_bytes(), space.files().open_files()), (0, 0));
    let left = std::fs::read_dir(directory.path().join("tmp")).expect("the directory").count();
    assert_eq!(left, 0);
}

#[test]
fn every_flipped_byte_is_noticed() {
    let (types, batch) = rows();
    let batch = batch.gather(&[1, 2, 3, 63]);
    let mut bytes = Vec::new();
    codec::encode(&batch, &mut bytes);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        let mut out = Batch::of_types(&types);
        assert!(codec::decode(&damaged, &mut out).is_err(), "byte {at}");
    }
    for length in 0..bytes.len() {
        assert!(codec::decode(&bytes[..length], &mut Batch::of_types(&types)).is_err(), "{length}");
    }
}

#[test]
fn the_limit_of_temporary_files_is_kept() {
    let (_directory, space) = space(10_000);
    let (_, batch) = rows();
    let mut file = SpillFile::create(&space).expect("a file");
    let mut run = Run::default();
    let error = (0..100).try_for_each(|_| file.append(&mut run, &batch)).expect_err("the limit");
    assert_eq!(error.to_string(), "temporary file size exceeds \"temp_file_limit\" (9kB)");
    assert!(space.used_bytes() <= 10_000);
    drop(file);
    assert_eq!(space.used_bytes(), 0);
}

/// A block is written when it is full, not sooner because one before it was.
#[test]
fn blocks_are_as_long_as_they_may_be() {
    let (_directory, space) = space(0);
    let (types, batch) = rows();
    let mut partitions = Partitions::new(&space, &types, 64 << 10).expect("a file");
    for row in (0..130).cycle().take(130 * 40) {
        partitions.push(&batch, std::iter::once((row, 0))).expect("written");
    }
    let (file, runs) = partitions.finish().expect("written");
    let (mut blocks, mut reader, mut out) = (0, RunReader::default(), Batch::of_types(&types));
    while reader.next(&file, &runs[0], &mut out).expect("read") {
        blocks += 1;
    }
    let most = 2 + 40 * batch.used_bytes() / (4 << 10);
    assert!((2..=most).contains(&blocks), "{blocks} blocks, {most} at most");
}

#[test]
fn partitions_hold_every_row_once_in_its_order() {
    let (_directory, space) = space(0);
    let (types, batch) = rows();
    let mut partitions = Partitions::new(&space, &types, 64 << 10).expect("a file");
    let part = |row: u32| partition_of(u64::from(row).wrapping_mul(0x9e37_79b9_7f4a_7c15), 0);
    for _ in 0..20 {
        partitions.push(&batch, (0..130).map(|row| (row, part(row)))).expect("written");
    }
    let (file, runs) = partitions.finish().expect("written");
    assert_eq!(runs.iter().map(|run| run.rows).sum::<u64>(), 20 * 130);
    let mut out = Batch::of_types(&types);
    for (number, run) in runs.iter().enumerate() {
        let expected: Vec<u32> = (0..130).filter(|row| part(*row) == number).collect();
        let mut reader = RunReader::default();
        let mut seen = Vec::new();
        while reader.next(&file, run, &mut out).expect("read") {
            seen.extend((0..out.rows).map(|row| out.row(row, &types)));
        }
        let once: Vec<_> = expected.iter().map(|row| batch.row(*row as usize, &types)).collect();
        assert_eq!(seen, vec![once; 20].concat());
    }
}
