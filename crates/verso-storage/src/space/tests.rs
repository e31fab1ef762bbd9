//! The space map against a list of units.

use std::collections::BTreeMap;
use std::path::PathBuf;

use verso_sim::{FaultPlan, Rng, World, seeds};

use super::*;
use crate::Lsn;
use crate::buffer::PoolOptions;
use crate::engine_core::RedoTable;
use crate::page::TxnId;
use crate::recovery::{StateRedo, Store, StoreOptions};
use crate::wal::WalOptions;

static REDO: RedoTable = RedoTable::new(&[(16, 19, redo), (21, 23, redo)]);

struct Nothing;

impl StateRedo for Nothing {
    fn checkpoint(&mut self, _: &[u8]) -> Result<(), Flaw> {
        Ok(())
    }
    fn state(&mut self, _: RecordKind, _: TxnId, _: Lsn, _: &[u8]) -> Result<(), Flaw> {
        Ok(())
    }
}

fn options(max_bytes: u64) -> StoreOptions {
    StoreOptions {
        open_damaged_log: false,
        pool: PoolOptions {
            page_size: 4096,
            capacity_bytes: 64 * 4096,
            max_database_bytes: max_bytes,
            ..PoolOptions::default()
        },
        page_size: None,
        wal: WalOptions { segment_bytes_first: 1 << 16, chunk_bytes: 1 << 12, ..WalOptions::default() },
    }
}

fn path() -> PathBuf {
    World::dir().join("space.verso")
}

fn allocate(
    store: &Store,
    space: &SpaceMap,
    owner: u32,
    units: u32,
    use_reserve: bool,
) -> Result<ExtentRun, StorageError> {
    let mut mini = Mini::begin(&store.core, TxnId::NONE);
    if use_reserve {
        mini.use_reserve();
    }
    let run = space.allocate(&mut mini, ObjectId(owner), ExtentKind::Object, units, false)?;
    mini.commit()?;
    Ok(run)
}

#[test]
fn random_allocations_equal_a_list_of_units_also_after_reopening() {
    for seed in seeds(20) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        world.run(|env| {
            let store = Store::create(env, &path(), &options(256 << 20), &REDO).unwrap();
            let space = store.load_space(4).unwrap();
            let mut model: BTreeMap<u32, u32> = BTreeMap::new(); // unit → owner
            for round in 0..150 {
                if round > 1 && rng.one_in(3) && !model.is_empty() {
                    let units: Vec<u32> = model.keys().copied().collect();
                    let first = *rng.pick(&units);
                    let mut mini = Mini::begin(&store.core, TxnId::NONE);
                    if rng.one_in(2) {
                        let owner = model[&first];
                        let freed = space.free_owner(&mut mini, ObjectId(owner)).unwrap();
                        let before = model.len();
                        model.retain(|_, other| *other != owner);
                        assert_eq!(freed, (before - model.len()) as u64 * u64::from(UNIT_PAGES));
                    } else {
                        let run = ExtentRun { first: PageId(first * UNIT_PAGES), pages: UNIT_PAGES };
                        space.free_runs(&mut mini, &[run]).unwrap();
                        model.remove(&first);
                    }
                    mini.commit().unwrap();
                } else {
                    let owner = 1 + rng.below(10) as u32;
                    let most = if rng.one_in(10) { 300 } else { 10 };
                    let units = if round < 2 { 400 } else { 1 + rng.below(most) as u32 };
                    let run = allocate(&store, &space, owner, units, false).unwrap();
                    assert_eq!(run.pages, units * UNIT_PAGES);
                    for unit in run.first.0 / UNIT_PAGES..(run.first.0 + run.pages) / UNIT_PAGES {
                        assert_eq!(model.insert(unit, owner), None, "unit {unit} is given out once");
                    }
                }
            }
            let same = |space: &SpaceMap, store: &Store| {
                space.check(&store.core.pool).unwrap();
                let mut found = BTreeMap::new();
                for (owner, run) in space.extents_of_kind(ExtentKind::Object) {
                    let units = run.first.0 / UNIT_PAGES..(run.first.0 + run.pages) / UNIT_PAGES;
                    found.extend(units.map(|unit| (unit, owner.0)));
                }
                assert_eq!(found, model);
                let stats = space.stats();
                let used: u64 = stats.pages_per_kind.iter().sum();
                assert_eq!(used + stats.free_pages, stats.total_pages);
            };
            same(&space, &store);
            assert!(space.stats().total_pages > 508 * 8, "several regions: {:?}", space.stats());
            store.core.wal.flush(store.core.wal.appended()).unwrap();
            drop((space, store));
            let (store, _) = Store::open(env, &path(), &options(256 << 20), &REDO, &mut Nothing).unwrap();
            same(&store.load_space(4).unwrap(), &store);
        });
    }
}

/// P1, P2, and S8: against a list of pages.
#[test]
fn pages_given_out_one_by_one_equal_a_list_also_after_reopening() {
    for seed in seeds(20) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        world.run(|env| {
            let store = Store::create(env, &path(), &options(256 << 20), &REDO).unwrap();
            let space = store.load_space(4).unwrap();
            let begun = space.stats();
            let mut model: BTreeMap<u32, u32> = BTreeMap::new(); // page → owner
            for _ in 0..300 {
                let owner = 1 + rng.below(40) as u32;
                let mut mini = Mini::begin(&store.core, TxnId::NONE);
                if !model.is_empty() && rng.one_in(3) {
                    // All of some owner, or a page that was given out by itself.
                    let pages: Vec<u32> = model.keys().copied().collect();
                    let page = *rng.pick(&pages);
                    let owner = model[&page];
                    let is_single = space.runs.lock().has_pages(page / UNIT_PAGES);
                    if rng.one_in(2) || !is_single {
                        space.free_owner(&mut mini, ObjectId(owner)).unwrap();
                        model.retain(|_, other| *other != owner);
                    } else {
                        space.free_runs(&mut mini, &[single(page)]).unwrap();
                        model.remove(&page);
                    }
                } else {
                    // Two in one mini-transaction, the second of which may use the reserve.
                    for _ in 0..1 + rng.below(2) {
                        let units = 1 + rng.below(3) as u32;
                        let run = space.extend(&mut mini, ObjectId(owner), ExtentKind::Object, units);
                        for page in run.unwrap().page_ids() {
                            assert_eq!(model.insert(page.0, owner), None, "page {page} is given out once");
                        }
                    }
                }
                mini.commit().unwrap();
            }
            let same = |space: &SpaceMap, store: &Store| {
                space.check(&store.core.pool).unwrap();
                let mut found = BTreeMap::new();
                for (owner, run) in space.extents_of_kind(ExtentKind::Object) {
                    found.extend(run.page_ids().map(|page| (page.0, owner.0)));
                    assert!(run.by_unit().map(|piece| piece.pages).sum::<u32>() == run.pages);
                }
                assert_eq!(found, model);
                for owner in 1..=40 {
                    let own: Vec<u32> = space
                        .extents_of(ObjectId(owner))
                        .into_iter()
                        .flat_map(|run| run.page_ids().map(|page| page.0))
                        .collect();
                    assert!(own.iter().all(|page| model[page] == owner) && own.is_sorted());
                    assert_eq!(own.len(), model.values().filter(|other| **other == owner).count());
                }
                let stats = space.stats();
                assert_eq!(stats.pages_per_kind.iter().sum::<u64>() + stats.free_pages, stats.total_pages);
                assert!(space.is_map_page(PageId(2)));
            };
            same(&space, &store);
            store.core.wal.flush(store.core.wal.appended()).unwrap();
            drop((space, store));
            let (store, _) = Store::open(env, &path(), &options(256 << 20), &REDO, &mut Nothing).unwrap();
            let space = store.load_space(4).unwrap();
            same(&space, &store);
            let mut mini = Mini::begin(&store.core, TxnId::NONE);
            for owner in 1..=40 {
                space.free_owner(&mut mini, ObjectId(owner)).unwrap();
            }
            mini.commit().unwrap();
            space.check(&store.core.pool).unwrap();
            let stats = space.stats();
            assert_eq!(stats.total_pages - stats.free_pages, begun.total_pages - begun.free_pages - 5);
        });
    }
}

/// S8: what a file of an earlier version has beside its map page means nothing, and small objects of it get these pages.
#[test]
fn an_objects_first_pages_are_single_and_further_ones_units() {
    let world = World::new(1);
    world.run(|env| {
        let store = Store::create(env, &path(), &options(64 << 20), &REDO).unwrap();
        let space = store.load_space(4).unwrap();
        assert!(!space.is_map_page(PageId(2)));
        let extend = |owner: u32, units: u32| {
            let mut mini = Mini::begin(&store.core, TxnId::NONE);
            let run = space.extend(&mut mini, ObjectId(owner), ExtentKind::Object, units).unwrap();
            mini.commit().unwrap();
            run
        };
        for page in 3..7 {
            assert_eq!(extend(1, 1), single(page));
        }
        assert_eq!(extend(1, 1).pages, UNIT_PAGES);
        assert_eq!(extend(1, 5).pages, 5 * UNIT_PAGES);
        assert_eq!(extend(2, 1), single(7));
        let other = extend(2, 1);
        assert_eq!((other.pages, other.first.0 % UNIT_PAGES), (1, 0));
        assert_eq!(extend(3, 1), single(other.first.0 + 1));
        assert_eq!(space.owner_of(other.first), Some((ObjectId(2), ExtentKind::Object)));
        assert_eq!(space.owner_of(other.first.offset(2)), None);
        // One that has gone leaves its page to the next one.
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        space.free_owner(&mut mini, ObjectId(3)).unwrap();
        mini.commit().unwrap();
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        let begun = space.begin(&mut mini, ObjectId(3)).unwrap();
        mini.commit().unwrap();
        assert_eq!(begun, ExtentRun { first: other.first.offset(1), pages: 1 });
        assert_eq!(space.roots(), [(ObjectId(3), begun.first)]);
        space.check(&store.core.pool).unwrap();
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        space.free_owner(&mut mini, ObjectId(2)).unwrap();
        space.free_owner(&mut mini, ObjectId(3)).unwrap();
        mini.commit().unwrap();
        space.check(&store.core.pool).unwrap();
        // The unit is one of any kind again.
        assert_eq!(allocate(&store, &space, 4, 1, false).unwrap().first, other.first);
    });
}

/// P1, P2: in every group, past the end of the first region, and with the units there that belong to no group.
#[test]
fn pages_are_given_out_one_by_one_wherever_there_is_a_free_unit() {
    for seed in seeds(5) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        world.run(|env| {
            let store = Store::create(env, &path(), &options(256 << 20), &REDO).unwrap();
            let space = store.load_space(4).unwrap();
            let begun = space.stats();
            let filler = 1 + rng.below(330) as u32;
            allocate(&store, &space, 9999, filler, false).unwrap();
            let mut model: BTreeMap<u32, u32> = BTreeMap::new(); // page → owner
            let (mut units, mut mini) = (0, Mini::begin(&store.core, TxnId::NONE));
            for owner in 1..=1500 {
                let run = space.begin(&mut mini, ObjectId(owner)).unwrap();
                let has_second = owner % 2 == 1 && run.pages == 1;
                let second = has_second
                    .then(|| space.extend(&mut mini, ObjectId(owner), ExtentKind::Object, 1).unwrap());
                for run in [Some(run), second].into_iter().flatten() {
                    assert!(run.pages == 1 || run.pages == UNIT_PAGES, "{run:?}");
                    units += u32::from(run.pages == UNIT_PAGES);
                    for page in run.page_ids() {
                        assert_eq!(model.insert(page.0, owner), None, "page {page} is given out once");
                    }
                }
                if rng.one_in(4) {
                    mini.commit().unwrap();
                    mini = Mini::begin(&store.core, TxnId::NONE);
                }
            }
            mini.commit().unwrap();
            assert!(units <= 4, "the units of no group");
            let same = |space: &SpaceMap, store: &Store, model: &BTreeMap<u32, u32>| {
                space.check(&store.core.pool).unwrap();
                let mut found = BTreeMap::new();
                for (owner, run) in space.extents_of_kind(ExtentKind::Object) {
                    found.extend(run.page_ids().map(|page| (page.0, owner.0)));
                }
                found.retain(|_, owner| *owner != 9999);
                assert_eq!(&found, model);
                let roots = space.roots();
                assert!(roots.iter().all(|(owner, page)| model[&page.0] == owner.0));
                assert_eq!(roots.len(), model.values().collect::<std::collections::BTreeSet<_>>().len());
                let stats = space.stats();
                assert_eq!(stats.pages_per_kind.iter().sum::<u64>() + stats.free_pages, stats.total_pages);
                let maps: Vec<u32> = space.runs.lock().pages.maps.values().copied().collect();
                assert!(maps.iter().all(|map| space.is_map_page(PageId(*map))));
                assert!(maps.iter().all(|map| {
                    space.owner_of(PageId(*map)) == Some((ObjectId::SYSTEM, ExtentKind::Map))
                }));
                maps.len()
            };
            let reopen = |store: Store, space: SpaceMap| {
                store.core.wal.flush(store.core.wal.appended()).unwrap();
                drop((space, store));
                let (store, _) = Store::open(env, &path(), &options(256 << 20), &REDO, &mut Nothing).unwrap();
                let space = store.load_space(4).unwrap();
                (store, space)
            };
            assert!(same(&space, &store, &model) > 3);
            let (store, space) = reopen(store, space);
            same(&space, &store, &model);
            // Some go, and others come in their places.
            let mut owner = 2000;
            for _ in 0..3 {
                let mut mini = Mini::begin(&store.core, TxnId::NONE);
                let gone: Vec<u32> = model.values().copied().filter(|_| rng.one_in(2)).collect();
                for gone in &gone {
                    space.free_owner(&mut mini, ObjectId(*gone)).unwrap();
                }
                model.retain(|_, owner| !gone.contains(owner));
                mini.commit().unwrap();
                same(&space, &store, &model);
                let mut mini = Mini::begin(&store.core, TxnId::NONE);
                for _ in 0..rng.below(300) {
                    owner += 1;
                    for page in space.begin(&mut mini, ObjectId(owner)).unwrap().page_ids() {
                        assert_eq!(model.insert(page.0, owner), None, "page {page} is given out once");
                    }
                }
                mini.commit().unwrap();
            }
            same(&space, &store, &model);
            let (store, space) = reopen(store, space);
            same(&space, &store, &model);
            // P2: nothing but what the first group has for itself stays.
            let mut mini = Mini::begin(&store.core, TxnId::NONE);
            let owners: std::collections::BTreeSet<u32> = model.values().copied().collect();
            for owner in owners.into_iter().chain([9999]) {
                space.free_owner(&mut mini, ObjectId(owner)).unwrap();
            }
            mini.commit().unwrap();
            assert_eq!(same(&space, &store, &BTreeMap::new()), 1);
            let stats = space.stats();
            let maps = |stats: &SpaceStats| stats.total_pages - stats.free_pages;
            let regions = u64::from(space.runs.lock().regions - 1) * u64::from(UNIT_PAGES);
            assert_eq!(maps(&stats), maps(&begun) - 5 + regions);
            let (store, space) = reopen(store, space);
            assert_eq!(same(&space, &store, &BTreeMap::new()), 1);
        });
    }
}

/// P3: what a damaged page map tells of is lost, once log was given up; without that the database is not opened.
#[test]
fn a_page_map_that_cannot_be_read_is_lost_room_only_where_log_was_given_up() {
    let world = World::new(4);
    world.run(|env| {
        let store = Store::create(env, &path(), &options(64 << 20), &REDO).unwrap();
        let space = store.load_space(4).unwrap();
        let filler = allocate(&store, &space, 1, 62, false).unwrap();
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        for owner in 2..12 {
            space.begin(&mut mini, ObjectId(owner)).unwrap();
        }
        mini.commit().unwrap();
        let map = *space.runs.lock().pages.maps.values().next_back().unwrap();
        assert_eq!(map, filler.first.0 + filler.pages);
        store.core.pool.flush_all().unwrap();
        let read = |gaps: bool| {
            // The same file, read by another pool.
            let file = env.vfs.open(&path(), verso_env::OpenMode::EXISTING).unwrap();
            let area = env.vfs.open(&World::dir().join("area"), verso_env::OpenMode::CREATE).unwrap();
            let gate: Arc<dyn crate::buffer::LogGate> = Arc::clone(&store.core.wal) as _;
            let pool = BufferPool::new(options(64 << 20).pool, env, file, area, gate).unwrap();
            if gaps {
                let mut lost = crate::wal::LogGaps::default();
                assert!(lost.add(crate::wal::LogGap { from: Lsn(u64::MAX - 2), to: Lsn(u64::MAX - 1) }));
                pool.give_up(lost);
            }
            read_runs(&pool).map(|(runs, _)| runs)
        };
        assert_eq!(read(false).unwrap().pages.used.len(), 3 + 1 + 10);
        let file = env.vfs.open(&path(), verso_env::OpenMode::EXISTING).unwrap();
        file.write_at(&[7; 16], u64::from(map) * 4096 + 100).unwrap();
        assert!(matches!(read(false), Err(StorageError::Corrupt { page, .. }) if page == PageId(map)));
        let runs = read(true).unwrap();
        assert_eq!(runs.pages.used.len(), 3 + 5);
        assert_eq!(runs.pages.lost.len(), 1);
        assert!(runs.has_pages(map / UNIT_PAGES) && runs.pages.free.is_empty());
    });
}

#[test]
fn low_addresses_come_first_and_what_a_mini_transaction_frees_is_for_others() {
    let world = World::new(1);
    world.run(|env| {
        let store = Store::create(env, &path(), &options(64 << 20), &REDO).unwrap();
        let space = store.load_space(4).unwrap();
        let first = allocate(&store, &space, 1, 2, false).unwrap();
        let second = allocate(&store, &space, 2, 2, false).unwrap();
        assert!(first < second);
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        space.free_runs(&mut mini, &[first]).unwrap();
        let third = space.allocate(&mut mini, ObjectId(3), ExtentKind::Object, 2, true).unwrap();
        assert!(third > second, "not what is being freed");
        mini.commit().unwrap();
        assert_eq!(allocate(&store, &space, 4, 2, false).unwrap(), first);
        assert_eq!(space.roots(), [(ObjectId(3), third.first)]);
        assert_eq!(space.owner_of(second.first.offset(9)), Some((ObjectId(2), ExtentKind::Object)));
        assert_eq!(space.owner_of(PageId(1)), Some((ObjectId::SYSTEM, ExtentKind::Map)));
    });
}

#[test]
fn the_reserve_is_for_undo_and_a_full_disk_or_file_changes_nothing() {
    for full_disk in [false, true] {
        let world = World::new(2);
        world.run(|env| {
            let max_bytes = if full_disk { 64 << 20 } else { 4 << 20 };
            let store = Store::create(env, &path(), &options(max_bytes), &REDO).unwrap();
            let space = store.load_space(16).unwrap();
            if full_disk {
                let capacity_bytes = Some(world.vfs().used_bytes() + (256 << 10));
                world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            }
            let full = loop {
                if let Err(error) = allocate(&store, &space, 1, 3, false) {
                    break error;
                }
            };
            assert!(matches!(full, StorageError::Full { .. }), "{full}");
            space.check(&store.core.pool).unwrap();
            assert!(space.stats().free_pages >= 16 * 8);
            // Unit by unit: a large extent would leave nothing to others.
            assert!(matches!(allocate(&store, &space, 2, 3, true), Err(StorageError::Full { .. })));
            for _ in 0..16 {
                allocate(&store, &space, 2, 1, true).unwrap();
            }
            assert!(!store.core.wal.is_poisoned());
        });
    }
}

#[test]
fn what_a_crash_while_closing_has_left_behind_the_last_unit_goes() {
    let world = World::new(3);
    world.run(|env| {
        let store = Store::create(env, &path(), &options(64 << 20), &REDO).unwrap();
        let space = store.load_space(4).unwrap();
        let before = allocate(&store, &space, 1, 2, false).unwrap();
        let end = space.stats().total_pages * 4096;
        store.core.wal.flush(store.core.wal.appended()).unwrap();
        drop((space, store));
        let file = env.vfs.open(&path(), verso_env::OpenMode::EXISTING).unwrap();
        let state = vec![9; (2 << 20) + 100];
        file.write_at(&state, end).unwrap();
        file.sync_data().unwrap();
        let (store, _) = Store::open(env, &path(), &options(64 << 20), &REDO, &mut Nothing).unwrap();
        let space = store.load_space(4).unwrap();
        let mut left = vec![1; state.len()];
        file.read_exact_at(&mut left, end).unwrap();
        assert!(left.iter().all(|byte| *byte == 0));
        assert_eq!(space.owner_of(before.first), Some((ObjectId(1), ExtentKind::Object)));
        let behind = allocate(&store, &space, 2, 400, false).unwrap();
        assert!(u64::from(behind.first.0 + behind.pages) * 4096 > end, "{behind:?}");
        space.check(&store.core.pool).unwrap();
        assert!(space.is_map_page(PageId(1)) && !space.is_map_page(PageId(2)));
        assert!(space.is_map_page(PageId(508 * 8 + 1)) && !space.is_map_page(PageId(508 * 8)));
    });
}
