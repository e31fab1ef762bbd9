//! The disk's promises D1–D5, faults, and space.

use std::collections::HashSet;

use super::*;
use crate::seeds;

const PATH: &str = "/db/file";

fn disk(seed: u64) -> SimVfs {
    let vfs = SimVfs::new(seed, &SimClock::new());
    vfs.create_dir_all(Path::new("/db")).unwrap();
    vfs.sync_dir(Path::new("/")).unwrap();
    vfs
}

fn durable_file(vfs: &SimVfs) -> Arc<dyn VfsFile> {
    let file = vfs.open(Path::new(PATH), OpenMode::CREATE).unwrap();
    vfs.sync_dir(Path::new("/db")).unwrap();
    file
}

fn plan(vfs: &SimVfs, plan: FaultPlan) {
    vfs.set_faults(plan);
}

/// Every content that each sector, and every length that the file has had since the last sync.
struct History {
    bytes: Vec<u8>,
    lens: Vec<usize>,
    since_sync: Vec<Vec<u8>>,
}

impl History {
    fn sector(bytes: &[u8], sector: usize) -> Vec<u8> {
        let from = (sector * SECTOR_BYTES).min(bytes.len());
        let mut content = bytes[from..(from + SECTOR_BYTES).min(bytes.len())].to_vec();
        content.resize(SECTOR_BYTES, 0);
        content
    }

    fn allows(&self, found: &[u8]) -> Result<(), String> {
        if !self.lens.contains(&found.len()) {
            return Err(format!("length {} of {:?}", found.len(), self.lens));
        }
        for sector in 0..found.len().div_ceil(SECTOR_BYTES) {
            let content = History::sector(found, sector);
            let is_known = self.since_sync.iter().any(|bytes| {
                let mut then = History::sector(bytes, sector);
                let visible = (found.len() - sector * SECTOR_BYTES).min(SECTOR_BYTES);
                then[visible..].fill(0);
                then == content
            });
            if !is_known {
                return Err(format!("sector {sector} has a content that it never had"));
            }
        }
        Ok(())
    }
}

#[test]
fn synced_bytes_survive_every_crash_and_sectors_have_contents_they_had() {
    let mut outcomes = HashSet::new();
    for seed in seeds(300) {
        let vfs = disk(seed);
        let file = durable_file(&vfs);
        let mut rng = Rng::new(seed);
        let mut history = History { bytes: Vec::new(), lens: vec![0], since_sync: vec![Vec::new()] };
        for _ in 0..rng.between(1, 40) {
            if rng.one_in(6) {
                file.sync_data().unwrap();
                history.lens = vec![history.bytes.len()];
                history.since_sync = vec![history.bytes.clone()];
                continue;
            }
            if rng.one_in(5) {
                history.bytes.resize(rng.index(5000), 0);
                file.set_len(history.bytes.len() as u64).unwrap();
            } else {
                let (offset, len) = (rng.index(5000), rng.index(2000));
                let bytes = rng.bytes(len);
                file.write_at(&bytes, offset as u64).unwrap();
                if len > 0 {
                    history.bytes.resize(history.bytes.len().max(offset + len), 0);
                    history.bytes[offset..offset + len].copy_from_slice(&bytes);
                }
            }
            history.lens.push(history.bytes.len());
            history.since_sync.push(history.bytes.clone());
        }
        assert_eq!(vfs.read_file(Path::new(PATH)).unwrap(), history.bytes);
        for crash_seed in 0..4 {
            let crashed = vfs.fork_crashed(crash_seed, &SimClock::new());
            let found = crashed.read_file(Path::new(PATH)).unwrap();
            if let Err(flaw) = history.allows(&found) {
                panic!("{flaw}");
            }
            outcomes.insert((found == history.bytes, found == history.since_sync[0]));
        }
        vfs.crash_losing_all();
        assert_eq!(vfs.read_file(Path::new(PATH)).unwrap(), history.since_sync[0]);
    }
    assert!(outcomes.contains(&(false, false)) || std::env::var("SEED").is_ok(), "{outcomes:?}");
}

#[test]
fn a_multi_sector_write_can_tear_in_any_order() {
    let mut kept = HashSet::new();
    for seed in 0..200 {
        let vfs = disk(seed);
        let file = durable_file(&vfs);
        file.write_at(&[1; 3 * SECTOR_BYTES], 0).unwrap();
        file.sync_data().unwrap();
        file.write_at(&[2; 3 * SECTOR_BYTES], 0).unwrap();
        vfs.crash(seed);
        let found = vfs.read_file(Path::new(PATH)).unwrap();
        let sectors: Vec<u8> = found.chunks(SECTOR_BYTES).map(|sector| sector[0]).collect();
        assert!(found.chunks(SECTOR_BYTES).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        kept.insert(sectors);
    }
    assert_eq!(kept.len(), 8, "every combination of kept and lost sectors occurs: {kept:?}");
}

#[test]
fn a_write_during_a_sync_stays_pending() {
    let found_lost = (0..40).any(|seed| {
        let clock = SimClock::new();
        let vfs = SimVfs::new(seed, &clock);
        let (inner, time) = (vfs.clone(), clock.clone());
        crate::simulate(seed, &clock, crate::SchedulerOptions::default(), move || {
            let file = inner.open(Path::new("/file"), OpenMode::CREATE).unwrap();
            inner.sync_dir(Path::new("/")).unwrap();
            file.write_at(&[1; 100], 0).unwrap();
            let before = time.monotonic_nanos();
            file.sync_data().unwrap();
            assert!(time.monotonic_nanos() - before >= 20_000, "a sync takes time");
            let other = file.clone();
            let body = move || other.write_at(&[2; 100], 100).unwrap();
            let writer = verso_env::Threads::spawn(&crate::SimThreads, "writer", Box::new(body));
            file.sync_data().unwrap();
            writer.join().unwrap();
        });
        vfs.crash_losing_all();
        let found = vfs.read_file(Path::new("/file")).unwrap();
        assert_eq!(found[..100], [1; 100]);
        found.len() == 100
    });
    assert!(found_lost);
}

#[test]
fn names_that_were_not_synced_may_vanish_and_synced_ones_stay() {
    let (mut seen, mut vanished, mut old_kept) = (0, 0, 0);
    for seed in seeds(60) {
        let vfs = disk(seed);
        let file = durable_file(&vfs);
        file.write_at(b"old", 0).unwrap();
        file.sync_data().unwrap();
        let other = vfs.open(Path::new("/db/new"), OpenMode::CREATE_NEW).unwrap();
        other.write_at(b"new", 0).unwrap();
        other.sync_data().unwrap();
        vfs.rename(Path::new("/db/new"), Path::new(PATH)).unwrap();
        vfs.crash(seed);
        let found = vfs.read_file(Path::new(PATH)).unwrap();
        if found == b"old" {
            old_kept += 1
        } else {
            assert_eq!(found, b"new")
        }

        vfs.create_dir_all(Path::new("/db/a/b")).unwrap();
        vfs.open(Path::new("/db/a/b/c"), OpenMode::CREATE).unwrap();
        vfs.sync_dir(Path::new("/db/a/b")).unwrap();
        vfs.crash(seed);
        match vfs.exists(Path::new("/db/a/b/c")).unwrap() {
            true => seen += 1,
            false => vanished += 1,
        }
        vfs.remove_file(Path::new(PATH)).unwrap();
        vfs.sync_dir(Path::new("/db")).unwrap();
        vfs.crash(seed);
        assert!(!vfs.exists(Path::new(PATH)).unwrap());
    }
    let is_all = std::env::var("SEED").is_err();
    assert!(!is_all || (seen > 0 && vanished > 0 && old_kept > 0), "{seen} {vanished} {old_kept}");
}

#[test]
fn a_failed_sync_loses_sectors_for_good() {
    let lost = (0..50).any(|seed| {
        let vfs = disk(seed);
        let file = durable_file(&vfs);
        file.write_at(&[1; 4 * SECTOR_BYTES], 0).unwrap();
        plan(&vfs, FaultPlan { fail_sync: Some(1), ..FaultPlan::default() });
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert_eq!(vfs.read_file(Path::new(PATH)).unwrap(), [1; 4 * SECTOR_BYTES]);
        vfs.crash_losing_nothing();
        vfs.read_file(Path::new(PATH)).unwrap() != [1; 4 * SECTOR_BYTES]
    });
    assert!(lost);
}

#[test]
fn handles_and_locks_die_with_the_power() {
    let vfs = disk(1);
    let file = durable_file(&vfs);
    let second = vfs.open(Path::new(PATH), OpenMode::EXISTING).unwrap();
    assert!(file.try_lock().unwrap() && file.try_lock().unwrap());
    assert!(!second.try_lock().unwrap());
    vfs.power_off();
    assert!(file.write_at(b"x", 0).is_err() && vfs.exists(Path::new(PATH)).is_err());
    vfs.crash(1);
    assert!(file.write_at(b"x", 0).is_err() && file.read_at(&mut [0], 0).is_err());
    assert!(file.sync_data().is_err() && file.len().is_err());
    let third = vfs.open(Path::new(PATH), OpenMode::EXISTING).unwrap();
    assert!(third.try_lock().unwrap());
    drop((file, second));
    let fourth = vfs.open(Path::new(PATH), OpenMode::EXISTING).unwrap();
    assert!(!fourth.try_lock().unwrap());
    drop(third);
    assert!(fourth.try_lock().unwrap());
}

#[test]
fn planned_faults_happen_once_at_their_operation() {
    let vfs = disk(1);
    let file = durable_file(&vfs);
    let other = vfs.open(Path::new("/db/other"), OpenMode::CREATE).unwrap();
    plan(
        &vfs,
        FaultPlan {
            only_paths_ending: Some("file".to_owned()),
            fail_write: Some(2),
            fail_read: Some(1),
            short_read: Some(2),
            flip_bit_in_read: Some(3),
            fail_resize: Some(1),
            ..FaultPlan::default()
        },
    );
    other.write_at(b"healthy", 0).unwrap();
    file.write_at(&[7; 1000], 0).unwrap();
    assert!(file.write_at(&[8; 10], 0).is_err());
    file.write_at(&[7; 1000], 0).unwrap();
    assert!(file.set_len(5).is_err());
    file.set_len(900).unwrap();
    let mut buf = [0; 900];
    assert!(file.read_at(&mut buf, 0).is_err());
    assert!(file.read_at(&mut buf, 0).unwrap() < 900);
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 900);
    assert_eq!(buf.iter().map(|byte| (byte ^ 7).count_ones()).sum::<u32>(), 1);
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(buf, [7; 900]);
    plan(&vfs, FaultPlan { fail_name_change: Some(1), ..FaultPlan::default() });
    assert!(vfs.sync_dir(Path::new("/db")).is_err());
    vfs.sync_dir(Path::new("/db")).unwrap();
    assert_eq!(vfs.stats().faults, 6);
}

#[test]
fn a_full_disk_refuses_and_space_comes_back() {
    let vfs = disk(1);
    let file = durable_file(&vfs);
    plan(&vfs, FaultPlan { capacity_bytes: Some(64 << 10), ..FaultPlan::default() });
    file.preallocate(0, 32 << 10).unwrap();
    assert_eq!(file.preallocate(0, 65 << 10).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(file.len().unwrap(), 32 << 10);
    file.write_at(&[1; 32 << 10], 0).unwrap();
    let error = file.write_at(&vec![1; 64 << 10], 32 << 10).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!((file.len().unwrap(), vfs.used_bytes()), (64 << 10, 64 << 10));
    file.write_at(&[2; 64 << 10], 0).unwrap();
    file.set_len(5).unwrap();
    assert_eq!(vfs.used_bytes(), 4096);
    file.set_len(1 << 30).unwrap();
    assert_eq!(vfs.used_bytes(), 4096, "a sparse file takes no space");
    vfs.remove_file(Path::new(PATH)).unwrap();
    assert_eq!(vfs.used_bytes(), 0);
}

#[test]
fn operations_are_counted_and_traced() {
    let vfs = disk(1);
    vfs.start_trace();
    let file = vfs.open(Path::new(PATH), OpenMode::CREATE).unwrap();
    file.write_vectored_at(&[b"ab", b"cde"], 4).unwrap();
    file.sync_data().unwrap();
    let mut buf = [0; 9];
    file.read_exact_at(&mut buf, 0).unwrap();
    assert_eq!(&buf, b"\0\0\0\0abcde");
    let trace = vfs.take_trace();
    let kinds: Vec<_> =
        trace.iter().map(|operation| (operation.kind, operation.offset, operation.len)).collect();
    use OperationKind as K;
    assert_eq!(
        kinds,
        [(K::Create, 0, 0), (K::Write, 4, 2), (K::Write, 6, 3), (K::Sync, 0, 0), (K::Read, 0, 9)],
    );
    let stats = vfs.stats();
    assert_eq!((stats.writes, stats.written_bytes, stats.reads, stats.syncs), (2, 5, 1, 1));
    assert_eq!(stats.read_bytes, 9);
}

#[test]
fn the_power_goes_off_at_the_planned_operation() {
    let vfs = disk(1);
    let file = durable_file(&vfs);
    plan(&vfs, FaultPlan { power_off_at_op: Some(2), ..FaultPlan::default() });
    file.write_at(b"one", 0).unwrap();
    assert!(!vfs.is_off());
    assert!(file.sync_data().is_err() && vfs.is_off());
    assert!(file.write_at(b"two", 0).is_err());
    assert_eq!(vfs.change_count(), 2);
    vfs.crash_losing_all();
    assert_eq!(vfs.read_file(Path::new(PATH)).unwrap(), b"");
}

#[test]
fn files_and_directories_behave_as_real_ones() {
    let vfs = disk(1);
    let kind = |path: &str, mode| vfs.open(Path::new(path), mode).map(|_| ()).map_err(|error| error.kind());
    assert_eq!(kind(PATH, OpenMode::EXISTING), Err(io::ErrorKind::NotFound));
    assert_eq!(kind("/no/file", OpenMode::CREATE), Err(io::ErrorKind::NotFound));
    assert_eq!(kind(PATH, OpenMode::CREATE_NEW), Ok(()));
    assert_eq!(kind(PATH, OpenMode::CREATE_NEW), Err(io::ErrorKind::AlreadyExists));
    assert_eq!(kind("/db", OpenMode::EXISTING), Err(io::ErrorKind::IsADirectory));
    let file = vfs.open(Path::new(PATH), OpenMode::READ_ONLY).unwrap();
    assert_eq!(file.write_at(b"x", 0).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    vfs.write_file(Path::new(PATH), b"foreign").unwrap();
    vfs.flip_bit(Path::new(PATH), 0, 0).unwrap();
    assert!(vfs.flip_bit(Path::new(PATH), 7, 0).is_err());
    vfs.crash_losing_all();
    assert_eq!(vfs.read_file(Path::new(PATH)).unwrap(), b"goreign");
    kind(PATH, OpenMode { truncate: true, ..OpenMode::EXISTING }).unwrap();
    assert_eq!(vfs.read_file(Path::new(PATH)).unwrap(), b"");
    vfs.create_dir_all(Path::new("/db/x/y")).unwrap();
    kind("/db/x/y/b", OpenMode::CREATE).unwrap();
    kind("/db/x/y/a", OpenMode::CREATE).unwrap();
    let names = vfs.list_dir(Path::new("/db/x/y")).unwrap();
    assert_eq!(names, [Path::new("/db/x/y/a"), Path::new("/db/x/y/b")]);
    vfs.remove_dir_all(Path::new("/db/x")).unwrap();
    assert_eq!(vfs.list_dir(Path::new("/db")).unwrap(), [Path::new(PATH)]);
    assert!(vfs.list_dir(Path::new("/db/x")).is_err());
}

#[test]
fn bytes_cut_off_do_not_come_back_when_the_file_grows_again() {
    for seed in seeds(200) {
        let vfs = disk(seed);
        let file = durable_file(&vfs);
        file.write_at(&[1; 2 * SECTOR_BYTES], 0).unwrap();
        file.sync_data().unwrap();
        file.set_len(0).unwrap();
        file.write_at(&[2; SECTOR_BYTES], 0).unwrap();
        file.write_at(&[2; 10], SECTOR_BYTES as u64 + 200).unwrap();
        vfs.crash(seed);
        let found = vfs.read_file(Path::new(PATH)).unwrap();
        let is_cut = found.first().is_none_or(|byte| *byte != 1);
        assert!(!is_cut || !found.contains(&1));
    }
}

#[test]
fn a_failing_write_leaves_some_of_its_sectors() {
    let lens: HashSet<u64> = (0..40)
        .map(|seed| {
            let vfs = disk(seed);
            let file = durable_file(&vfs);
            plan(&vfs, FaultPlan { fail_write: Some(1), ..FaultPlan::default() });
            assert!(file.write_at(&[1; 3 * SECTOR_BYTES], 0).is_err());
            file.len().unwrap() / SECTOR_BYTES as u64
        })
        .collect();
    assert_eq!(lens, HashSet::from([0, 1, 2, 3]));
}
