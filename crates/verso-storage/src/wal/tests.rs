//! The log as a whole: order, durability, reading back, full disks, failed fsyncs.

use std::path::Path;
use std::sync::Arc;

use verso_env::Env;

use super::*;
use crate::StorageError;
use crate::page::{Lsn, PageId, TxnId};

const ID: DatabaseId = DatabaseId([3; 16]);

fn origin(epoch: u64, epoch_start: Lsn, redo: Lsn) -> LogOrigin {
    LogOrigin { database: ID, epoch, epoch_start, redo, gaps: LogGaps::default() }
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
        ..WalOptions::default()
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
    assert!(matches!(old, Err(StorageError::MissingLog { .. })));
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
    // The flush zeroed ahead; a disk is free to bring the stale sectors back if that was not durable.
    let mut now = std::fs::read(&path).unwrap();
    now[512 + 2048..512 + 3072].copy_from_slice(&bytes[512 + 2048..512 + 3072]);
    std::fs::write(&path, &now).unwrap();
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
    assert!(matches!(result, Err(StorageError::MissingLog { .. })), "a log that ends too early");
}

/// R4, with a file system that looks at the lock commits need whenever a name is changed or synced.
#[test]
fn r4_names_are_changed_and_synced_while_commits_go_on() {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use verso_env::{OpenMode, Vfs, VfsFile};

    struct Watching {
        inner: Arc<dyn Vfs>,
        wal: OnceLock<Wal>,
        looked: AtomicU64,
    }

    impl Watching {
        fn look(&self) {
            if let Some(wal) = self.wal.get() {
                self.looked.fetch_add(1, Ordering::Relaxed);
                assert!(wal.shared.tail.try_lock().is_some(), "a commit would wait for the folder");
            }
        }
    }

    impl Vfs for Watching {
        fn open(&self, path: &Path, mode: OpenMode) -> std::io::Result<Arc<dyn VfsFile>> {
            self.inner.open(path, mode)
        }
        fn exists(&self, path: &Path) -> std::io::Result<bool> {
            self.inner.exists(path)
        }
        fn remove_file(&self, path: &Path) -> std::io::Result<()> {
            self.look();
            self.inner.remove_file(path)
        }
        fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
            self.look();
            self.inner.rename(from, to)
        }
        fn create_dir_all(&self, path: &Path) -> std::io::Result<()> {
            self.inner.create_dir_all(path)
        }
        fn sync_dir(&self, path: &Path) -> std::io::Result<()> {
            self.look();
            self.inner.sync_dir(path)
        }
        fn list_dir(&self, path: &Path) -> std::io::Result<Vec<std::path::PathBuf>> {
            self.inner.list_dir(path)
        }
        fn remove_dir_all(&self, path: &Path) -> std::io::Result<()> {
            self.inner.remove_dir_all(path)
        }
    }

    let dir = tempfile::tempdir().unwrap();
    let mut env = Env::real();
    let vfs = Watching { inner: Arc::clone(&env.vfs), wal: OnceLock::new(), looked: AtomicU64::new(0) };
    let vfs = Arc::new(vfs);
    env.vfs = Arc::clone(&vfs) as Arc<dyn Vfs>;
    // Without a thread of its own: nobody else may have the lock.
    let options = WalOptions { background: false, spare_bytes_max: 64 << 10, ..small() };
    assert!(vfs.wal.set(create(&env, dir.path(), options)).is_ok());
    let wal = vfs.wal.get().unwrap();
    for number in 0..400 {
        wal.append(&mut group(number, &[1; 1500])).unwrap();
        if number % 100 == 99 {
            wal.flush(wal.appended()).unwrap();
            wal.recycle(wal.durable()).unwrap();
        }
    }
    assert!(wal.stats().segments_recycled > 0);
    assert!(vfs.looked.load(Ordering::Relaxed) > wal.stats().segments_recycled, "names were synced, too");
}

#[test]
fn r3_a_spare_made_ahead_is_written_and_its_name_durable_before_a_commit_enters_it() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = create(&env, dir.path(), WalOptions { background: false, ..small() });
    for number in 0..10 {
        wal.append(&mut group(number, &[1; 1500])).unwrap();
    }
    wal.flush(wal.appended()).unwrap();
    wal.shared.prepare_spares().unwrap();
    let tail = wal.shared.tail.lock();
    let ahead = tail.spares.back().expect("one was wanted");
    assert!(ahead.named && ahead.overwritable == ahead.size, "{}", ahead.overwritable);
    assert!(tail.room() >= wal.shared.room_wanted());
}

/// R7.
#[test]
fn a_log_that_is_closed_short_is_two_segments_and_goes_on_in_them_until_there_is_a_change() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let sizes = WalOptions {
        segment_bytes_least: 16 << 10,
        segment_bytes_first: 64 << 10,
        segment_bytes_max: 1 << 20,
        background: false,
        ..small()
    };
    let wal = create(&env, dir.path(), sizes);
    for number in 0..2000 {
        let _room = wal.reserve(2000).unwrap();
        wal.append(&mut group(number, &[1; 1000])).unwrap();
    }
    wal.flush(wal.appended()).unwrap();
    assert!(wal.segments().len() > 1 && wal.disk_bytes() > 1 << 20);
    wal.begin_short(2000).unwrap();
    let close = |wal: &Wal, number| {
        let _room = wal.reserve_kept(2000).unwrap();
        let (last, _) = wal.append(&mut group(number, b"the last")).unwrap();
        wal.flush(wal.appended()).unwrap();
        wal.recycle(last).unwrap();
        last
    };
    let mut last = close(&wal, 2000);
    wal.stop_within(0).unwrap();
    assert_eq!(wal.disk_bytes(), 32 << 10);
    drop(wal);
    // Opened and closed without a change, as often as one likes.
    let (mut epoch, mut start) = (1, FIRST_LSN);
    for number in 2001..2040 {
        let (mut image, groups) = read(&env, dir.path(), origin(epoch, start, last));
        assert_eq!(groups, [(number - 1, b"the last".to_vec())]);
        image.settle();
        (epoch, start) = (epoch + 1, image.end());
        let wal = image.start(&env, sizes, epoch).unwrap();
        last = close(&wal, number);
        assert_eq!((wal.disk_bytes(), wal.stats().segments_created), (32 << 10, 0));
        if number == 2039 {
            let _room = wal.reserve(2000).unwrap();
            assert!(wal.disk_bytes() > 90 << 10, "room is kept for undo from the first change on");
        }
    }
}

/// R5: a segment that has all of the log is given back, where what is promised has its room elsewhere.
#[test]
fn a_log_in_one_segment_goes_on_in_a_spare_when_somebody_was_refused_room() {
    use verso_sim::{FaultPlan, World};
    let world = World::new(1);
    let dir = World::dir().join("wal");
    world.run(|env| {
        let wal = create(env, &dir, WalOptions { background: false, ..small() });
        let capacity_bytes = Some(world.vfs().used_bytes());
        world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
        let (mut number, mut refused) = (0, 0);
        while number < 500 {
            match wal.reserve(1000) {
                Ok(_room) => {
                    wal.append(&mut group(number, &[1; 900])).unwrap();
                    wal.flush(wal.appended()).unwrap();
                    number += 1;
                    continue;
                }
                Err(error) => assert!(matches!(error, StorageError::Full { .. }), "{error}"),
            }
            assert!(refused < 200, "{number} groups");
            refused += 1;
            // A checkpoint.
            wal.turn_over_if_starved(1000).unwrap();
            let _room = wal.reserve_kept(100).unwrap();
            let (begin, end) = wal.append(&mut group(0, b"state")).unwrap();
            wal.flush(end).unwrap();
            wal.recycle(begin).unwrap();
            wal.is_fed();
        }
        assert!(refused > 2);
    });
}

/// What a thread of the crash simulation did, in the order it did it.
#[derive(Default)]
struct Told {
    /// (thread, number) in log order.
    appended: Vec<(u64, u64)>,
    /// How many of the groups in log order were acknowledged as durable, at least.
    acknowledged: usize,
}

/// In any order, over many segments, while others append; from the buffers, too.
#[test]
fn pinned_groups_are_found_by_their_lsn_and_the_others_recycled() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = create(&env, dir.path(), WalOptions { background: false, ..small() });
    let mut rng = verso_sim::Rng::new(7);
    let mut groups = Vec::new();
    let mut append = |count: u64, groups: &mut Vec<(Lsn, Lsn, Vec<u8>)>| {
        for number in 0..count {
            let payload = vec![number as u8; 1 + rng.index(3000)];
            let (start, end) = wal.append(&mut group(number, &payload)).unwrap();
            groups.push((start, end, payload));
        }
    };
    append(300, &mut groups);
    let pin = wal.pin(groups[100].0).unwrap();
    assert_eq!(pin.lsn(), groups[100].0);
    let copy = wal.pin(groups[100].0).unwrap();
    wal.flush(groups[250].1).unwrap();
    wal.recycle(wal.durable()).unwrap();
    assert!(wal.pin(groups[0].0).is_none(), "gone already");
    assert!(wal.stats().segments_recycled > 0);
    drop(copy);
    append(50, &mut groups);
    wal.recycle(wal.durable()).unwrap();
    let mut lookup = wal.lookup();
    let mut order: Vec<usize> = (100..groups.len()).collect();
    order.extend((100..groups.len()).rev().step_by(7));
    for index in order {
        let (start, end, payload) = &groups[index];
        let found = lookup.group(*start, end.0 - start.0).unwrap();
        assert_eq!(found.records().next().unwrap().unwrap().payload, &payload[..], "group {index}");
    }
    let (start, end, _) = &groups[120];
    let wrong = lookup.group(*start, end.0 - start.0 - 1);
    assert!(matches!(wrong, Err(StorageError::Corrupt { .. })), "{wrong:?}");
    drop(pin);
    let recycled = wal.stats().segments_recycled;
    wal.recycle(wal.durable()).unwrap();
    assert!(wal.stats().segments_recycled > recycled);
    let gone = wal.lookup().group(*start, end.0 - start.0).err();
    assert!(matches!(gone, Some(StorageError::Corrupt { .. })), "{gone:?}");
}

#[test]
fn after_any_crash_the_log_is_a_prefix_with_everything_acknowledged() {
    use verso_env::sync::Mutex;
    use verso_sim::{FaultPlan, Rng, World, seeds};

    let mut lost = 0;
    for seed in seeds(300) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        let dir = World::dir().join("wal");
        let options = WalOptions { background: rng.one_in(2), ..small() };
        let plan = FaultPlan { power_off_at_op: Some(12 + rng.below(120)), ..FaultPlan::default() };
        let told = Arc::new(Mutex::new(Told::default()));
        world.run(|env| {
            let wal = Arc::new(create(env, &dir, options));
            env.vfs.sync_dir(World::dir()).unwrap();
            world.vfs().set_faults(plan);
            let handles: Vec<_> = (0..3u64)
                .map(|thread| {
                    let (wal, told, mut rng) = (Arc::clone(&wal), Arc::clone(&told), rng.fork());
                    env.spawn("committer", move || {
                        for number in 0..20 {
                            let payload = vec![thread as u8; 1 + rng.index(1200)];
                            let mut group = group(thread * 1000 + number, &payload);
                            let mut position = 0;
                            let appended = wal.append_with(&mut group, |_, _| {
                                let mut told = told.lock();
                                told.appended.push((thread, number));
                                position = told.appended.len();
                            });
                            let Ok((_, end)) = appended else { return };
                            if rng.one_in(2) {
                                if wal.flush(end).is_err() {
                                    return;
                                }
                                let mut told = told.lock();
                                told.acknowledged = told.acknowledged.max(position);
                            }
                        }
                    })
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().unwrap());
        });
        world.crash();
        let told = std::mem::take(&mut *told.lock());
        let (mut epoch, mut start) = (1, FIRST_LSN);
        let mut expected: Vec<(u64, u64)> = told.appended.clone();
        for round in 0..3 {
            let (found, end) = world.run(|env| {
                let (image, groups) = read(env, &dir, origin(epoch, start, FIRST_LSN));
                let found: Vec<_> = groups.iter().map(|(txn, _)| (txn / 1000, txn % 1000)).collect();
                let end = image.end();
                // The next life of the log, whose crash loses what it likes of two groups more.
                let wal = image.start(env, options, epoch + 1).unwrap();
                for number in 0..2 {
                    let size = 1 + rng.index(1500);
                    wal.append(&mut group(9000 + round * 10 + number, &vec![9; size])).unwrap();
                    wal.flush(wal.appended()).unwrap();
                }
                (found, end)
            });
            assert!(expected.starts_with(&found), "a prefix: {found:?} of {expected:?}");
            assert!(found.len() >= told.acknowledged, "{} of {}", found.len(), told.acknowledged);
            lost += u32::from(found.len() < told.appended.len());
            expected = found;
            expected.extend((0..2).map(|number| (9, round * 10 + number)));
            (epoch, start) = (epoch + 1, end);
            world.crash();
        }
    }
    assert!(lost > 0 || seeds(300).count() < 50, "some crash loses something");
}

#[test]
fn a_failed_sync_poisons_for_good_and_only_what_was_durable_before_is_acknowledged() {
    use verso_sim::{FaultPlan, World};
    let world = World::new(1);
    let dir = World::dir().join("wal");
    world.run(|env| {
        let wal = create(env, &dir, small());
        let (_, first) = wal.append(&mut group(1, b"durable")).unwrap();
        wal.flush(first).unwrap();
        world.vfs().set_faults(FaultPlan { fail_sync: Some(1), ..FaultPlan::default() });
        let (_, second) = wal.append(&mut group(2, b"lost")).unwrap();
        assert!(wal.flush(second).is_err());
        assert!(wal.is_poisoned() && wal.durable() == first);
        assert!(matches!(wal.flush(second), Err(StorageError::Poisoned { .. })));
        assert!(matches!(wal.append(&mut group(3, b"refused")), Err(StorageError::Poisoned { .. })));
        assert!(matches!(wal.reserve(1), Err(StorageError::Poisoned { .. })));
        wal.flush(first).unwrap();
    });
}

#[test]
fn a_full_disk_refuses_a_reservation_and_loses_nothing() {
    use verso_sim::{FaultPlan, World};
    for background in [false, true] {
        let world = World::new(1);
        let dir = World::dir().join("wal");
        let options = WalOptions { background, ..small() };
        world.run(|env| {
            let wal = create(env, &dir, options);
            let capacity_bytes = Some(world.vfs().used_bytes() + (70 << 10));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let mut written = 0;
            let full = loop {
                match wal.reserve(1500) {
                    Ok(_room) => wal.append(&mut group(written, &[1; 1000])).map(drop).unwrap(),
                    Err(error) => break error,
                }
                written += 1;
                wal.flush(wal.appended()).unwrap();
            };
            assert!(matches!(full, StorageError::Full { .. }), "{full}");
            assert!(written > 10 && !wal.is_poisoned());
            // Room again: it goes on.
            world.vfs().set_faults(FaultPlan::default());
            let room = wal.reserve(1500).unwrap();
            let (_, end) = wal.append(&mut group(written, b"again")).unwrap();
            wal.flush(end).unwrap();
            drop(room);
            drop(wal);
            let (_, groups) = read(env, &dir, origin(1, FIRST_LSN, FIRST_LSN));
            assert_eq!(groups.len() as u64, written + 1);
        });
    }
}

/// What a promise covers fits, however others flush in between; what it does not is refused before anything is lost.
#[test]
fn promises_for_many_groups_are_kept_on_a_full_disk() {
    use verso_sim::{FaultPlan, Rng, World};
    for seed in 0..8 {
        let world = World::new(seed);
        let dir = World::dir().join("wal");
        world.run(|env| {
            let wal = create(env, &dir, WalOptions { background: false, ..small() });
            let capacity_bytes = Some(world.vfs().used_bytes() + (3 << 20));
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let (mut rng, mut groups, mut promises) = (Rng::new(seed), 0, 0);
            while let Some(mut promise) = wal.promise_many() {
                promises += 1;
                while promise.holds() {
                    let group = &mut group(groups, &vec![7; 1 + rng.index(40_000)]);
                    let (start, end) = wal.append(group).expect("promised");
                    promise.used(end.0 - start.0);
                    groups += 1;
                    // Somebody else, with a promise of his own for each group.
                    if rng.one_in(3)
                        && let Ok(_room) = wal.reserve(2000)
                    {
                        wal.append(&mut super::tests::group(groups, &[1; 1000])).expect("reserved");
                        groups += 1;
                        wal.flush(wal.appended()).unwrap();
                    }
                }
            }
            assert!(promises > 3 && !wal.is_poisoned(), "{promises}");
            wal.flush(wal.appended()).unwrap();
            let _room = wal.reserve(2000).expect("what was promised was given back");
            let (_, found) = read(env, &dir, origin(1, FIRST_LSN, FIRST_LSN));
            assert_eq!(found.len() as u64, groups);
        });
    }
}

/// A log of `count` groups, each flushed by itself, and where their chunks stand: file and offset.
fn flushed_one_by_one(env: &Env, dir: &Path, count: u64) -> (Lsn, Vec<(std::path::PathBuf, u64)>) {
    let wal = create(env, dir, WalOptions { background: false, ..small() });
    let mut chunks = Vec::new();
    for txn in 0..count {
        // Numbers of the same length, so that all groups are of one.
        let (_, end) = wal.append(&mut group(1000 + txn, &vec![txn as u8; 900])).unwrap();
        wal.flush(end).unwrap();
        let tail = wal.shared.tail.lock();
        let number = tail.live.back().unwrap().segment.number;
        chunks.push((segment::path_of(dir, number), tail.position - 1024));
    }
    (wal.appended(), chunks)
}

fn flip(file: &Path, offset: u64) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[usize::try_from(offset).unwrap()] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn damage_before_the_end_of_the_log_is_told_from_a_torn_tail() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    for damaged in [0, 3, 15, 38, 39] {
        // In the header, in a group.
        for byte in [0, 30, 33, 41, 500] {
            let dir = dir.path().join(format!("{damaged} {byte}"));
            let (end, chunks) = flushed_one_by_one(&env, &dir, 40);
            let (file, offset) = &chunks[damaged];
            flip(file, offset + byte);
            let (image, groups) = read(&env, &dir, origin(1, FIRST_LSN, FIRST_LSN));
            assert_eq!(groups.len(), damaged);
            assert_eq!(
                image.place_of_end(),
                match &chunks[..damaged].last() {
                    // The first of a segment: nothing goes on behind the one before.
                    Some((before, at)) if before != file => (before.clone(), at + 1024),
                    _ => (file.clone(), *offset),
                }
            );
            let remains = image.remains();
            assert_eq!(remains.chunks, 39 - damaged as u64);
            assert!(remains.durable > image.end(), "byte {byte}: {remains:?}");
            if damaged < 39 {
                assert_eq!(remains.upto, end);
                continue;
            }
            // Only the mark tells of the last one. Without it nobody can tell whether the chunk ever was whole.
            assert_eq!(remains.durable, end);
            flip(&dir.join("durable"), 33);
            let (image, _) = read(&env, &dir, origin(1, FIRST_LSN, FIRST_LSN));
            let remains = image.remains();
            assert!(remains.durable <= image.end() && remains.torn, "byte {byte}: {remains:?}");
        }
    }
}

#[test]
fn what_is_cut_off_or_zeroed_at_the_very_end_is_missed() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    for cut in [true, false] {
        let dir = dir.path().join(cut.to_string());
        let (end, chunks) = flushed_one_by_one(&env, &dir, 10);
        let (file, offset) = &chunks[7];
        let mut bytes = std::fs::read(file).unwrap();
        let from = usize::try_from(*offset).unwrap();
        if cut {
            bytes.truncate(from);
        } else {
            bytes[from..].fill(0);
        }
        std::fs::write(file, bytes).unwrap();
        let (image, groups) = read(&env, &dir, origin(1, FIRST_LSN, FIRST_LSN));
        assert_eq!((groups.len(), image.remains().chunks, image.remains().durable), (7, 0, end));
        // Of another epoch, or of another database, the mark says nothing.
        let (image, _) = read(&env, &dir, origin(2, end, FIRST_LSN));
        assert_eq!(image.remains().durable, Lsn::ZERO);
    }
}

#[test]
fn chunks_that_were_not_synced_may_be_missing_in_any_order() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let wal = create(&env, dir.path(), WalOptions { background: false, ..small() });
    wal.append(&mut group(0, &[1; 900])).unwrap();
    wal.flush(wal.appended()).unwrap();
    let synced = wal.durable();
    let position = wal.shared.tail.lock().position;
    // On their way to the disk, none of them synced.
    for txn in 1..6 {
        wal.append(&mut group(txn, &[2; 1900])).unwrap();
    }
    wal.shared.write_one(&mut wal.shared.tail.lock()).unwrap();
    assert_eq!(wal.durable(), synced);
    drop(wal);
    flip(&segment::path_of(dir.path(), 1), position + 100);
    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!(groups.len(), 1);
    let remains = image.remains();
    assert!(remains.chunks >= 1 && remains.torn && remains.durable <= image.end(), "{remains:?}");
}

#[test]
fn a_segment_without_its_header_and_chunks_nobody_needs_lose_nothing() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let (end, chunks) = flushed_one_by_one(&env, dir.path(), 40);
    let second = segment::path_of(dir.path(), 2);
    assert!(chunks.iter().any(|(file, _)| *file == second));
    flip(&second, 20);
    flip(&segment::path_of(dir.path(), 1), 9);
    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!((image.end(), groups.len()), (end, 40));
    assert_eq!(*image.remains(), Remains { durable: end, ..Remains::default() });
    // Their headers are there again once the log goes on.
    drop(image.start(&env, small(), 2).unwrap());
    let heads = segment::list(&*env.vfs, dir.path()).unwrap();
    assert!(heads[..2].iter().all(|(_, head)| matches!(head, chunk::Head::Used(_))));
    // Recovery starts at the sixth group: the fourth may be damaged.
    let length = (end.0 - FIRST_LSN.0) / 40;
    flip(&chunks[3].0, chunks[3].1 + 600);
    let (image, groups) = read(&env, dir.path(), origin(2, end, Lsn(FIRST_LSN.0 + 5 * length)));
    assert_eq!((image.end(), groups.len()), (end, 35));
}

#[test]
fn a_log_of_the_format_before_can_be_read_and_continued() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    let (end, chunks) = flushed_one_by_one(&env, dir.path(), 5);
    let file = segment::path_of(dir.path(), 1);
    // As version 1 has it: the number of groups where it is said now what was synced.
    let mut bytes = std::fs::read(&file).unwrap();
    let mut seal = |at: usize, place: usize, value: u32, length: usize| {
        bytes[at + place..at + place + 4].copy_from_slice(&value.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[at + 4..at + length]);
        bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
    };
    seal(0, 48, 1, SECTOR);
    let length = (end.0 - FIRST_LSN.0) as usize / 5;
    chunks.iter().for_each(|(_, at)| seal(*at as usize, 44, 1, CHUNK_HEADER + length));
    std::fs::write(&file, bytes).unwrap();
    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!((image.end(), groups.len()), (end, 5));
    let wal = image.start(&env, small(), 2).unwrap();
    wal.append(&mut group(5, &[1; 900])).unwrap();
    wal.flush(wal.appended()).unwrap();
    drop(wal);
    let (_, groups) = read(&env, dir.path(), origin(2, end, FIRST_LSN));
    assert_eq!(groups.len(), 6);
    // What its chunks say of themselves is no proof of anything.
    flip(&file, chunks[2].1 + 100);
    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    assert_eq!((image.remains().durable, groups.len()), (Lsn::ZERO, 2));
}

#[test]
fn a_log_of_longer_groups_is_read_and_marked_when_it_goes_on() {
    let env = Env::real();
    let dir = tempfile::tempdir().unwrap();
    // As version 2 has them.
    let old = |txn: u8| {
        let mut bytes = vec![28, 0, 0, 0, 1, 0, 0, 0, txn, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&[32, 9, 0, 0, 0, 3, 0, 0, 0, txn, txn, txn]);
        bytes
    };
    let header = chunk::SegmentHeader { database: ID, epoch: 1, start: FIRST_LSN, number: 1, format: 2 };
    let (mut bytes, mut end) = (header.encode().to_vec(), FIRST_LSN);
    for txn in 1..4 {
        let (mut chunk, start) = (chunk::ChunkBuffer::new(end, 64), end);
        chunk.push(&old(txn));
        end = chunk.end();
        bytes.extend_from_slice(chunk.seal(ID, 1, start));
    }
    bytes.resize(16 << 10, 0);
    let file = segment::path_of(dir.path(), 1);
    std::fs::write(&file, bytes).unwrap();
    let (image, groups) = read(&env, dir.path(), origin(1, FIRST_LSN, FIRST_LSN));
    let all: Vec<_> = (1u8..4).map(|txn| (u64::from(txn), vec![txn; 3])).collect();
    assert_eq!((image.end(), groups), (end, all));
    let wal = image.start(&env, WalOptions { background: false, ..small() }, 2).unwrap();
    wal.append(&mut group(4, &[4])).unwrap();
    wal.flush(wal.appended()).unwrap();
    drop(wal);
    let (_, groups) = read(&env, dir.path(), origin(2, end, FIRST_LSN));
    assert_eq!(groups.last(), Some(&(4, vec![4])));
    // A program of that version refuses what it does not know.
    let heads = segment::list(&*env.vfs, dir.path()).unwrap();
    assert!(matches!(heads[0].1, chunk::Head::Used(header) if header.format == LOG_FORMAT));
}
