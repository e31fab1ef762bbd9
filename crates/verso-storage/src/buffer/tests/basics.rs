//! One thread, one behaviour each.

use super::*;

fn corrupt(error: StorageError) -> (PageId, ObjectId, String) {
    match error {
        StorageError::Corrupt { page, owner, flaw } => (page, owner, flaw.to_string()),
        other => panic!("not corrupt: {other}"),
    }
}

#[test]
fn pages_survive_reopening_once_flushed() {
    let world = World::new(options(64));
    for page in 1..40 {
        world.create(page, u64::from(page) * 3, 10);
    }
    assert_eq!(world.pool.stats().dirty_pages, 39);
    assert_eq!(world.pool.flush_all().unwrap(), 39);
    assert_eq!(world.pool.stats().dirty_pages, 0);
    let world = world.reopen();
    for page in 1..40 {
        assert_eq!(world.value(page), u64::from(page) * 3);
    }
    let stats = world.pool.stats();
    assert_eq!((stats.reads, stats.fetches, stats.resident_pages), (39, 39, 39));
    assert_eq!(stats.reads_per_kind[PageKind::Data.index()], 39);
    assert_eq!(world.pool.flush_all().unwrap(), 0);
}

#[test]
fn memory_of_the_pages_to_come_is_there_before_they_are_created() {
    let world = World::new(options(64));
    let free = || world.pool.core.frames.free_count();
    world.create(8, 1, 1);
    assert_eq!(free(), 64 - 8, "the extent's");
    world.pool.prepare_ahead();
    assert_eq!(free(), 64 - 16, "and the next one's");
    world.pool.prepare_ahead();
    assert_eq!(free(), 64 - 16, "once");
    world.create(16, 2, 2);
    world.pool.prepare_ahead();
    assert_eq!(free(), 64 - 24, "also of pages that were prepared");
    world.create(24, 3, 3);
    world.create(32, 4, 4);
    world.create(40, 5, 5);
    assert_eq!((world.value(8), world.value(16), world.value(24)), (1, 2, 3));
    // Frames do not abound any more: nobody's pages go for pages that may never come.
    let before = free();
    assert!(before < 64 / 2);
    world.pool.prepare_ahead();
    assert_eq!(free(), before);
}

#[test]
fn a_database_ten_times_the_pool_works() {
    let (frames, pages) = (64, if cfg!(miri) { 100 } else { 640 });
    let world = World::new(options(frames));
    for page in 1..pages {
        world.create(page, u64::from(page), u64::from(page));
    }
    for round in 0..2 {
        for page in 1..pages {
            assert_eq!(world.value(page), u64::from(page) + round * 1000);
            world.update(page, u64::from(page) + (round + 1) * 1000, 1000 + round);
        }
    }
    let stats = world.pool.stats();
    assert!(stats.resident_pages <= frames, "{stats:?}");
    assert!(stats.evictions > u64::from(pages) && stats.writes > u64::from(pages), "{stats:?}");
    assert!(world.log.durable.load(Ordering::Relaxed) >= 1001);
}

#[test]
fn a_flipped_byte_is_reported_with_page_and_owner_and_the_page_stays_out() {
    let world = World::new(options(64));
    world.create(3, 1, 1);
    world.create(4, 1, 1);
    world.pool.flush_all().unwrap();
    world.file.change(|bytes| bytes[3 * PAGE_SIZE + 777] ^= 1);
    let world = world.reopen();
    for _ in 0..2 {
        let (page, owner, _) = corrupt(world.pool.read(PageId(3)).err().unwrap());
        assert_eq!((page, owner), (PageId(3), ObjectId(1007)));
        assert!(world.pool.write(PageId(3)).is_err());
    }
    assert_eq!(world.value(4), 1);
    // Rebuilding the page from nothing does not look at what was there.
    world.create(3, 9, 5);
    assert_eq!(world.value(3), 9);
}

/// D5 of the double-write area.
#[test]
fn a_damaged_page_of_the_catalog_comes_from_the_last_batch_if_it_is_there_whole() {
    let flipped = |page: usize, then: fn(&World)| {
        let world = World::new(options(64));
        world.create_of(ObjectId(7), 3, 1, 1);
        world.create(4, 1, 1);
        world.pool.flush_all().unwrap();
        world.file.change(|bytes| bytes[page * PAGE_SIZE + 777] ^= 1);
        then(&world);
        world.reopen()
    };
    let world = flipped(3, |_| ());
    assert_eq!(world.value(3), 1);
    // It is in its place again.
    assert_eq!(world.reopen().value(3), 1);
    // Neither pages of others, nor from a copy that is damaged, nor behind another batch.
    assert!(flipped(4, |_| ()).pool.read(PageId(4)).is_err());
    let damaged = |world: &World| world.area.change(|bytes| bytes[4096 + 100] ^= 1);
    assert!(flipped(3, damaged).pool.read(PageId(3)).is_err());
    let other = |world: &World| {
        world.update(4, 2, 5);
        world.pool.flush_all().unwrap();
    };
    assert!(flipped(3, other).pool.read(PageId(3)).is_err());
}

#[test]
fn a_page_behind_the_end_of_the_file_is_corrupt() {
    let world = World::new(options(64));
    world.create(3, 1, 1);
    world.pool.flush_all().unwrap();
    world.file.change(|bytes| bytes.truncate(3 * PAGE_SIZE + 100));
    let world = world.reopen();
    let (page, owner, flaw) = corrupt(world.pool.read(PageId(3)).err().unwrap());
    assert_eq!((page, owner, flaw.as_str()), (PageId(3), ObjectId(1007), "beyond end of file"));
    assert_eq!(corrupt(world.pool.read(PageId(9)).err().unwrap()).2, "beyond end of file");
    assert_eq!(corrupt(world.pool.write(PageId(u32::MAX)).err().unwrap()).2, "beyond end of file");
    assert!(matches!(world.pool.create(PageId(u32::MAX)), Err(StorageError::Full { .. })));
}

#[test]
fn a_discarded_page_is_never_written() {
    let world = World::new(options(64));
    for page in 1..30 {
        world.create(page, 5, 1);
    }
    world.pool.discard_run(PageId(3), 20);
    world.pool.discard(PageId(25));
    let stats = world.pool.stats();
    assert_eq!((stats.discards, stats.dirty_pages, stats.resident_pages), (21, 8, 31));
    assert_eq!(world.pool.oldest_dirty(), Some(Lsn(1)));
    assert_eq!(world.pool.flush_all().unwrap(), 8);
    world.create(3, 6, 9);
    assert_eq!(world.pool.oldest_dirty(), Some(Lsn(9)));
    assert_eq!(world.value(3), 6);
    assert_eq!(world.pool.stats().writes, 8);
}

#[test]
fn created_pages_are_empty_whatever_was_there() {
    let world = World::new(options(64));
    world.create(3, 5, 1);
    assert!(world.pool.create(PageId(3)).unwrap().iter().all(|byte| *byte == 0));
    world.pool.discard(PageId(3));
    assert!(world.pool.create(PageId(3)).unwrap().iter().all(|byte| *byte == 0));
    assert_eq!(world.file.reads.load(Ordering::Relaxed), 0);
}

#[test]
fn the_redo_point_is_the_oldest_change_not_the_newest() {
    let world = World::new(options(64));
    world.create(1, 1, 50);
    world.create(2, 1, 60);
    world.update(1, 2, 70);
    assert_eq!(world.pool.oldest_dirty(), Some(Lsn(50)));
    assert_eq!(world.pool.read(PageId(1)).unwrap().lsn(), Lsn(71));
    let mut told = Vec::new();
    assert_eq!(
        world
            .pool
            .flush_dirty_before(Lsn(60), &mut |done| {
                told.push(done.written);
                Ok(())
            })
            .unwrap(),
        1
    );
    assert_eq!(told, [1]);
    assert_eq!(world.pool.oldest_dirty(), Some(Lsn(60)));
    world.update(1, 3, 80);
    assert_eq!(world.pool.flush_dirty_before(Lsn(61), &mut |_| Ok(())).unwrap(), 1);
    assert_eq!(world.pool.oldest_dirty(), Some(Lsn(80)));
    world.pool.flush_all().unwrap();
    assert_eq!(world.pool.oldest_dirty(), None);
}

#[test]
fn logged_pages_are_written_in_the_order_that_survives() {
    let world = World::new(options(64));
    for page in [9, 3, 4, 5] {
        world.create(page, 1, u64::from(page) * 10);
    }
    world.pool.flush_all().unwrap();
    let expected = ["log 91", "area write 0+5", "area sync", "file write 3+3", "file write 9+1", "file sync"];
    assert_eq!(world.take_trace(), expected);
    let stats = world.pool.stats();
    assert_eq!((stats.writes, stats.write_batches, stats.syncs), (4, 1, 2));
}

/// D4.
#[test]
fn the_double_write_area_grows_with_batches_and_on_a_full_disk_they_go_in_pieces() {
    for (is_full, pieces) in [(true, 10), (false, 1)] {
        let world = World::new(options(64));
        world.area.is_full.store(is_full, Ordering::Relaxed);
        let before = world.area.len().unwrap();
        for page in 1..=40 {
            world.create(page, u64::from(page), 1);
        }
        assert_eq!(world.pool.flush_all().unwrap(), 40);
        assert_eq!(world.pool.stats().write_batches, pieces);
        assert_eq!(world.area.len().unwrap() == before, pieces == 10);
        world.pool.give_area_back();
        assert_eq!(world.area.len().unwrap(), before, "what it always has stays");
        world.area.is_full.store(false, Ordering::Relaxed);
        let world = world.reopen();
        assert!((1..=40).all(|page| world.value(page) == u64::from(page)));
    }
}

#[test]
fn temporary_pages_are_written_without_log_area_or_sync() {
    let world = World::new(options(64));
    for page in [8, 7] {
        let mut temporary = world.pool.create(PageId(page)).unwrap();
        temporary.init(PageKind::Temp, ObjectId(1), 0);
        put_value(&mut temporary, u64::from(page));
        temporary.mark_dirty_unlogged();
    }
    assert_eq!(world.pool.oldest_dirty(), None);
    assert_eq!(world.pool.flush_dirty_before(Lsn(u64::MAX), &mut |_| Ok(())).unwrap(), 0);
    world.pool.flush_all().unwrap();
    let mut trace = world.take_trace();
    trace.sort();
    assert_eq!(trace, ["file write 7+1", "file write 8+1"]);
    let world = world.reopen();
    assert_eq!((world.value(7), world.value(8)), (7, 8));
}

#[test]
fn a_failed_sync_poisons_and_is_not_tried_again() {
    for of_area in [true, false] {
        let world = World::new(options(64));
        world.create(1, 1, 1);
        let failing = if of_area { &world.area } else { &world.file };
        failing.fail_sync.store(true, Ordering::Relaxed);
        assert!(matches!(world.pool.flush_all(), Err(StorageError::Io { .. })));
        failing.fail_sync.store(false, Ordering::Relaxed);
        world.take_trace();
        assert!(world.pool.is_poisoned());
        assert!(matches!(world.pool.flush_all(), Err(StorageError::Poisoned { .. })));
        let Err(StorageError::Poisoned { why: Some(why) }) = world.pool.check_changes() else {
            panic!("it says why")
        };
        assert!(matches!(&*why, StorageError::Io { what, .. } if what.starts_with("syncing the ")), "{why}");
        assert!(world.take_trace().is_empty());
        // What is only in memory stays there, and can be read.
        assert!(world.pool.read(PageId(1)).is_ok());
    }
}

#[test]
fn prefetch_reads_a_run_with_one_call_and_passes_over_what_is_wrong() {
    let world = World::new(options(64));
    for page in 8..24 {
        world.create(page, u64::from(page), 1);
    }
    world.pool.flush_all().unwrap();
    world.file.change(|bytes| bytes[10 * PAGE_SIZE + 50] ^= 1);
    let world = world.reopen();
    world.pool.prefetch(PageId(8), 8);
    assert_eq!(world.file.reads.load(Ordering::Relaxed), 1);
    assert_eq!(world.pool.stats().prefetched, 7);
    world.pool.prefetch(PageId(8), 8);
    world.pool.prefetch(PageId(20), 1000);
    for page in [8, 9, 11, 15, 23] {
        assert_eq!(world.value(page), u64::from(page));
    }
    assert!(world.pool.read(PageId(10)).is_err());
}

#[test]
fn a_scan_pushes_out_itself_not_the_pages_others_use() {
    let world = with_used_pages();
    for page in 20..110 {
        world.pool.prefetch(PageId(page), 4);
        assert_eq!(value(&world.pool.read_for_scan(PageId(page)).unwrap()), u64::from(page));
    }
    let before = world.pool.stats().reads;
    (1..20).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    assert_eq!(world.pool.stats().reads, before, "used pages stayed");
}

/// A pool of 64 frames over 400 pages in the file, of which 1 to 19 are visited again and again.
fn with_used_pages() -> World {
    let world = World::new(options(64));
    for page in 1..400 {
        world.create(page, u64::from(page), 1);
    }
    world.pool.flush_all().unwrap();
    let world = world.reopen();
    for _ in 0..3 {
        (1..20).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    }
    world
}

/// How many of the pages 1 to 19 have to be read again.
fn lost_pages(world: &World) -> u64 {
    let before = world.pool.stats().reads;
    (1..20).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    world.pool.stats().reads - before
}

#[test]
fn pages_with_chances_stay_however_much_scans_bring() {
    let world = with_used_pages();
    for _ in 0..5 {
        for page in (20..148).step_by(4) {
            world.pool.prefetch(PageId(page), 4);
            for page in (page..page + 4).map(PageId) {
                assert_eq!(value(&world.pool.read_for_scan(page).unwrap()), u64::from(page.0));
            }
        }
    }
    assert_eq!(lost_pages(&world), 0);
    // One that changes what it meets, and another that adds pages.
    for page in 20..148 {
        let mut changed = world.pool.write_for_scan(PageId(page)).unwrap();
        put_value(&mut changed, u64::from(page) + 1);
        changed.set_lsn(Lsn(10), Lsn(11));
    }
    (400..528).for_each(|page| world.create(page, 5, 12));
    assert_eq!(lost_pages(&world), 0);
    assert_eq!((world.value(30), world.value(410)), (31, 5));
}

#[test]
fn what_is_scanned_again_and_again_drives_out_what_nobody_uses() {
    let world = with_used_pages();
    let mut read = Vec::new();
    for _ in 0..12 {
        let before = world.pool.stats().reads;
        for page in 20..78 {
            drop(world.pool.read_for_scan(PageId(page)).unwrap());
        }
        read.push(world.pool.stats().reads - before);
    }
    // 58 pages beside 19: they do not fit until some of those have left.
    assert!(read[0] == 58 && *read.last().unwrap() < 10, "{read:?}");
}

#[test]
fn pages_to_be_kept_stay_until_nothing_else_is_left() {
    let world = World::new(options(16));
    for page in 1..100 {
        world.create(page, u64::from(page), 1);
    }
    world.pool.flush_all().unwrap();
    world.pool.set_resident(PageId(1)..PageId(9), true);
    (1..9).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    (9..100).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    let before = world.pool.stats().reads;
    (1..9).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    assert_eq!(world.pool.stats().reads, before);
    world.pool.set_resident(PageId(1)..PageId(100), true);
    (9..100).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
}

#[test]
fn c5_frames_behind_the_capacity_are_left_and_come_again() {
    let world = World::new(options(64));
    for page in 1..100 {
        world.create(page, u64::from(page), 1);
    }
    let held = world.pool.read(PageId(70)).unwrap();
    let bytes = |frames: u64| frames * PAGE_SIZE as u64;
    assert_eq!(world.pool.set_capacity(bytes(20)).unwrap(), bytes(20));
    // A page that somebody reads leaves later.
    let resident = world.pool.stats().resident_pages;
    assert!(resident <= 21, "{resident}");
    drop(held);
    (1..100).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    assert!(world.pool.stats().resident_pages <= 20);
    // The cleaner keeps some of them free.
    assert_eq!(world.pool.set_capacity(bytes(120)).unwrap(), bytes(120));
    for _ in 0..2 {
        (1..100).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    }
    assert_eq!(world.pool.stats().resident_pages, 99);
    let before = world.pool.stats().reads;
    (1..100).for_each(|page| assert_eq!(world.value(page), u64::from(page)));
    assert_eq!(world.pool.stats().reads, before, "all have a frame now");
    assert_eq!(world.pool.set_capacity(bytes(10_000)).unwrap(), bytes(256), "as many as there can be");
    assert_eq!(world.pool.set_capacity(0).unwrap(), bytes(MIN_FRAMES));
}

#[test]
fn trying_does_not_wait_for_others() {
    let world = World::new(options(64));
    world.create(1, 1, 1);
    let pool = &world.pool;
    let held = pool.write(PageId(1)).unwrap();
    assert!(pool.try_read(PageId(1)).unwrap().is_none() && pool.try_write(PageId(1)).unwrap().is_none());
    let held = held.downgrade();
    assert!(pool.try_read(PageId(1)).unwrap().is_some() && pool.try_write(PageId(1)).unwrap().is_none());
    let version = held.version();
    drop(held);
    assert_eq!(pool.try_write(PageId(1)).unwrap().unwrap().version(), version);
    assert_eq!(pool.try_read(PageId(1)).unwrap().unwrap().version(), version + 1);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "which it has latched itself")]
fn waiting_for_oneself_is_a_panic() {
    let world = World::new(options(64));
    world.create(1, 1, 1);
    let _held = world.pool.read(PageId(1)).unwrap();
    let _never = world.pool.write(PageId(1));
}

#[test]
fn the_cleaner_keeps_dirty_pages_few_and_frames_free() {
    let world = World::new(PoolOptions { lru_min_dirty: 10, lru_max_dirty: 20, ..options(64) });
    world.pool.core.cleaner.mute();
    (1..60).for_each(|page| world.create(page, 1, u64::from(page)));
    world.pool.core.clean().unwrap();
    assert!(world.pool.stats().dirty_pages <= 6);
    // The pages dirty for longest went first, so the redo point has moved on.
    assert!(world.pool.oldest_dirty().is_none_or(|lsn| lsn > Lsn(50)));
    (60..65).for_each(|page| world.create(page, 1, 100));
    world.pool.core.clean().unwrap();
    assert!(world.pool.stats().resident_pages < 64);
    assert_eq!(world.pool.stats().foreground_batches, 0);
}
