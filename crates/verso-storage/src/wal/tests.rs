//! The log as a whole: order, durability, reading back, full disks, failed fsyncs.

use std::path::Path;
use std::sync::Arc;

use verso_env::Env;

use super::*;
use crate::StorageError;
use crate::page::{Lsn, PageId, TxnId};

const ID: DatabaseId = DatabaseId([3; 16]);

fn origin(epoch: u64, epoch_start: Lsn, redo: Lsn) -> LogOrigin {
    LogOrigin { database: ID, epoch, epoch_start, redo }
}

fn small() -> WalOptions {
    WalOptions {
        segment_bytes_first: 16 << 10,
        segment_bytes_max: 64 << 10,
        chunk_bytes: 2 << 10,
        buffer_count: 4,
        sync_bytes: 16 << 10,
        background: true,
        spare_bytes_max: 128 << 10,
    }
}

fn create(env: &Env, dir: &Path, options: WalOptions) -> Wal {
    env.vfs.create_dir_all(dir).unwrap();
    LogImage::empty(dir, origin(1, FIRST_LSN, FIRST_LSN), FIRST_LSN).start(env, options, 1).unwrap()
}

fn group(txn: u64, payload: &[u8]) -> Group {
    let mut group = Group::new(TxnId(txn));
    group.push(RecordKind(32), PageId(9), payload);
    group
}

fn read(env: &Env, dir: &Path, origin: LogOrigin) -> (LogImage, Vec<(u64, Vec<u8>)>) {
    let mut groups = Vec::new();
    let image = LogImage::open(&*env.vfs, dir, origin, |_, group| {
        let record = group.records().next().unwrap().unwrap();
        groups.push((group.txn().0, record.payload.to_vec()));
        Ok(())
    })
    .unwrap();
    (image, groups)
}

#[test]
fn many_threads_append_and_flush_with_fewer_fsyncs_than_commits() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = Arc::new(create(&env, dir.path(), small()));
    let (threads, each) = (8, 50);
    let handles: Vec<_> = (0..threads)
        .map(|thread| {
            let wal = Arc::clone(&wal);
            env.spawn("committer", move || {
                for count in 0..each {
                    let payload = vec![thread as u8; 10 + (count as usize * 37) % 900];
                    let (start, end) = wal.append(&mut group(thread * 1000 + count, &payload)).unwrap();
                    assert!(start < end);
                    wal.flush(end).unwrap();
                    assert!(wal.durable() >= end);
                }
            })
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    let stats = wal.stats();
    assert_eq!(stats.groups, threads * each);
    assert!(stats.fsyncs < threads * each, "{stats:?}");
    let end = wal.appended();
    drop(wal);

    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!(image.end(), end);
    for thread in 0..threads {
        let mine: Vec<_> = groups.iter().map(|(txn, _)| *txn).filter(|txn| txn / 1000 == thread).collect();
        assert_eq!(mine, (0..each).map(|count| thread * 1000 + count).collect::<Vec<_>>());
    }
}

#[test]
fn a_group_longer_than_buffers_and_segments_goes_through() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    for background in [false, true] {
        let dir = dir.path().join(background.to_string());
        let wal = create(&env, &dir, WalOptions { background, ..small() });
        let sizes = [10, 200_000, 5, 3000, 1_000_000, 1];
        for (txn, size) in sizes.iter().enumerate() {
            wal.append(&mut group(txn as u64, &vec![7; *size])).unwrap();
        }
        wal.flush(wal.appended()).unwrap();
        let too_large = wal.append(&mut group(9, &vec![7; MAX_GROUP]));
        assert!(matches!(too_large, Err(StorageError::TooLarge { .. })));
        drop(wal);
        let (_, groups) = read(&env, &dir, origin(1, FIRST_LSN, FIRST_LSN));
        assert_eq!(groups.iter().map(|(_, payload)| payload.len()).collect::<Vec<_>>(), sizes);
    }
}

#[test]
fn segments_are_recycled_and_the_log_stays_bounded() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = create(&env, dir.path(), small());
    let mut redo = FIRST_LSN;
    for round in 0..40 {
        for txn in 0..20 {
            redo = wal.append(&mut group(round * 100 + txn, &[1; 1500])).unwrap().0;
        }
        wal.flush(wal.appended()).unwrap();
        wal.recycle(redo).unwrap();
        assert!(wal.disk_bytes() <= small().spare_bytes_max + 3 * small().segment_bytes_max);
    }
    let stats = wal.stats();
    assert!(stats.segments_recycled > 5, "{stats:?}");
    drop(wal);
    let (_, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, redo));
    assert_eq!(groups.len(), 1);
    // What was recycled is gone: recovery from before says so.
    let old = LogImage::open(&*env.vfs, dir.path(), origin(1, FIRST_LSN, FIRST_LSN), |_, _| Ok(()));
    assert!(matches!(old, Err(StorageError::NotADatabase { .. })));
}

#[test]
fn a_log_goes_on_in_a_new_epoch_and_its_old_tail_is_never_taken_for_a_continuation() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = create(&env, dir.path(), WalOptions { background: false, ..small() });
    let ends: Vec<Lsn> = (0..3)
        .map(|txn| {
            let (_, end) = wal.append(&mut group(txn, &[txn as u8; 600])).unwrap();
            wal.flush(end).unwrap();
            end
        })
        .collect();
    drop(wal);
    // The second chunk of three is lost; the third is a stale tail whose start LSN will come again.
    let path = dir.path().join("0000000000000001.log");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[512 + 1024..512 + 1024 + 512].fill(0);
    std::fs::write(&path, &bytes).unwrap();

    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!((groups.len(), image.end()), (1, ends[0]));
    let wal = image.start(&env, WalOptions { background: false, ..small() }, 2).unwrap();
    let (_, end) = wal.append(&mut group(100, &[9; 600])).unwrap();
    assert_eq!(end, ends[1], "the new group ends where the stale chunk starts");
    wal.flush(end).unwrap();
    drop(wal);
    let (image, groups) = read(&env, dir.path(), origin(2, ends[0], FIRST_LSN));
    assert_eq!((groups.len(), image.end()), (2, ends[1]));
    assert_eq!(groups[1].0, 100);
}

#[test]
fn logs_of_others_and_foreign_files() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = create(&env, dir.path(), small());
    wal.append(&mut group(1, b"x")).unwrap();
    wal.flush(wal.appended()).unwrap();
    drop(wal);
    std::fs::write(dir.path().join("notes.txt"), b"hello").unwrap();
    std::fs::write(dir.path().join("0000000000000777.log"), b"not a segment").unwrap();
    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!(groups.len(), 1);
    drop(image.start(&env, small(), 2).unwrap());
    assert_eq!(std::fs::read(dir.path().join("notes.txt")).unwrap(), b"hello");

    let other = LogOrigin { database: DatabaseId([4; 16]), ..origin(1, FIRST_LSN, FIRST_LSN) };
    let result = LogImage::open(&*env.vfs, dir.path(), other, |_, _| Ok(()));
    assert!(matches!(result, Err(StorageError::NotADatabase { .. })));
    let result = LogImage::open(&*env.vfs, dir.path(), origin(1, FIRST_LSN, Lsn(999_999)), |_, _| Ok(()));
    assert!(matches!(result, Err(StorageError::NotADatabase { .. })), "a log that ends too early");
}
