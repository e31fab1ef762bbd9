//! Opening, closing, crashing: a toy table of byte pages through mini-transactions, on a disk that forgets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use verso_env::Env;
use verso_sim::{Rng, World, seeds};

use super::*;
use crate::engine_core::RedoTable;
use crate::mini::PageHandle;
use crate::page::bytes::{checked_u16, checked_u32, put_u64, u64_at};
use crate::page::{Flaw, PageKind, header};
use crate::space::{self, ExtentKind, ExtentRun};

/// Formats a page: owner u32, incarnation u16, page u32.
const TOY_INIT: RecordKind = RecordKind::TEST_INIT;
/// Writes bytes: offset u16, bytes.
const TOY_WRITE: RecordKind = RecordKind::TEST_PAGE;
/// A state record: key u64, value u64.
const TOY_STATE: RecordKind = RecordKind::TEST_STATE;

static REDO: RedoTable =
    RedoTable::new(&[(16, 19, space::redo), (21, 23, space::redo), (249, 250, toy_redo)]);

fn toy_redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    if kind == TOY_INIT {
        let (owner, incarnation) = (checked_u32(payload, 0)?, checked_u16(payload, 4)?);
        let id = PageId(checked_u32(payload, 6)?);
        header::init(page, id, PageKind::Data, ObjectId(owner), incarnation);
        return Ok(());
    }
    let offset = usize::from(checked_u16(payload, 0)?);
    if offset < header::SIZE || offset + payload.len() - 2 > page.len() || header::kind(page).is_none() {
        return Err(Flaw::from("not within a formatted page"));
    }
    page[offset..offset + payload.len() - 2].copy_from_slice(&payload[2..]);
    Ok(())
}

/// Keeps a map of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Numbers(BTreeMap<u64, u64>);

impl Numbers {
    fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(key, value)| [key.to_le_bytes(), value.to_le_bytes()].concat()).collect()
    }
}

impl StateRedo for Numbers {
    fn checkpoint(&mut self, state: &[u8]) -> Result<(), Flaw> {
        self.0 = state.chunks_exact(16).map(|pair| (u64_at(pair, 0), u64_at(pair, 8))).collect();
        Ok(())
    }

    fn state(&mut self, kind: RecordKind, _: TxnId, _: Lsn, payload: &[u8]) -> Result<(), Flaw> {
        assert_eq!(kind, TOY_STATE);
        self.0.insert(u64_at(payload, 0), u64_at(payload, 8));
        Ok(())
    }
}

fn options() -> StoreOptions {
    StoreOptions {
        open_damaged_log: false,
        pool: PoolOptions {
            page_size: 4096,
            capacity_bytes: 64 * 4096,
            max_database_bytes: 64 << 20,
            ..PoolOptions::default()
        },
        page_size: None,
        wal: WalOptions {
            segment_bytes_first: 64 << 10,
            segment_bytes_max: 256 << 10,
            chunk_bytes: 4 << 10,
            buffer_count: 4,
            sync_bytes: 64 << 10,
            background: false,
            spare_bytes_max: 256 << 10,
            ..WalOptions::default()
        },
    }
}

/// What should be there: the pages of the toy's objects and the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    pages: BTreeMap<u32, Vec<u8>>,
    extents: BTreeMap<u32, Vec<(u32, u32)>>,
    numbers: Numbers,
}

struct Toy {
    store: Store,
    space: SpaceMap,
    numbers: Numbers,
    /// Objects begin with pages that are given out one by one.
    singles: bool,
}

fn path() -> PathBuf {
    World::dir().join("toy.verso")
}

impl Toy {
    fn create(env: &Env) -> Result<Toy, StorageError> {
        let store = Store::create(env, &path(), &options(), &REDO)?;
        let space = store.load_space(4)?;
        Ok(Toy { store, space, numbers: Numbers::default(), singles: false })
    }

    fn open(env: &Env) -> Result<(Toy, RecoveryReport), StorageError> {
        let mut numbers = Numbers::default();
        let (store, report) = Store::open(env, &path(), &options(), &REDO, &mut numbers)?;
        let space = store.load_space(4)?;
        Ok((Toy { store, space, numbers, singles: false }, report))
    }

    fn checkpoint(&mut self) -> Result<(), StorageError> {
        let numbers = &self.numbers;
        self.store.checkpoint(|| numbers.encode()).map(drop)
    }

    /// Shuts down in order; a small one gives back what it need not keep.
    fn close(&self, small: bool) -> Result<(), StorageError> {
        let bytes = if small { Some(self.space.shorten(&self.store.core)?) } else { None };
        self.store.close(|| bytes, || self.numbers.encode())
    }

    /// What is there, by reading everything.
    fn observe(&self) -> Model {
        let mut model = Model { numbers: self.numbers.clone(), ..Model::default() };
        for (owner, run) in self.space.extents_of_kind(ExtentKind::Object) {
            model.extents.entry(owner.0).or_default().push((run.first.0, run.pages));
            for id in run.page_ids() {
                let page = self.store.core.pool.read(id).unwrap();
                assert_eq!(header::owner(&page), owner);
                model.pages.insert(id.0, page[header::SIZE..header::SIZE + 64].to_vec());
            }
        }
        self.space.check(&self.store.core.pool).unwrap();
        model
    }
}

fn write_byte(mini: &mut Mini<'_>, page: PageHandle, offset: usize, byte: u8) -> Result<(), StorageError> {
    let offset = u16::try_from(header::SIZE + offset).unwrap();
    mini.apply_with(page, TOY_WRITE, |out| {
        out.extend_from_slice(&offset.to_le_bytes());
        out.push(byte);
    })
}

fn format_run(mini: &mut Mini<'_>, owner: u32, run: ExtentRun) -> Result<(), StorageError> {
    for id in run.page_ids() {
        let page = mini.create(id)?;
        mini.apply_with(page, TOY_INIT, |out| {
            out.extend_from_slice(&owner.to_le_bytes());
            out.extend_from_slice(&7u16.to_le_bytes());
            out.extend_from_slice(&id.0.to_le_bytes());
        })?;
    }
    Ok(())
}

/// One random mini-transaction on both; returns its end.
fn step(toy: &mut Toy, model: &mut Model, rng: &mut Rng) -> Result<Lsn, StorageError> {
    let mut after = model.clone();
    let mut mini = Mini::begin(&toy.store.core, TxnId(1));
    let owners: Vec<u32> = model.extents.keys().copied().collect();
    let step = rng.below(8);
    match step {
        0 | 1 | 3 if toy.singles && model.pages.len() < 200 && !rng.one_in(4) => {
            let owner = 1 + rng.below(30) as u32;
            let run = match model.extents.contains_key(&owner) {
                false => toy.space.begin(&mut mini, ObjectId(owner))?,
                true => toy.space.extend(&mut mini, ObjectId(owner), ExtentKind::Object, 1)?,
            };
            format_run(&mut mini, owner, run)?;
            run.page_ids().for_each(|id| drop(after.pages.insert(id.0, vec![0; 64])));
        }
        0 | 1 if model.pages.len() < 200 => {
            let owner = 1 + rng.below(6) as u32;
            let units = 1 + rng.below(3) as u32;
            let new = !model.extents.contains_key(&owner);
            let run = toy.space.allocate(&mut mini, ObjectId(owner), ExtentKind::Object, units, new)?;
            format_run(&mut mini, owner, run)?;
            run.page_ids().for_each(|id| drop(after.pages.insert(id.0, vec![0; 64])));
        }
        2 | 4 if !owners.is_empty() && (step == 2 || toy.singles) => {
            let owner = *rng.pick(&owners);
            toy.space.free_owner(&mut mini, ObjectId(owner))?;
            for (first, pages) in after.extents.remove(&owner).unwrap() {
                (first..first + pages).for_each(|id| drop(after.pages.remove(&id)));
            }
        }
        _ => {
            let ids: Vec<u32> = model.pages.keys().copied().collect();
            // Every page is latched before the first is changed.
            let mut chosen = Vec::new();
            for _ in 0..1 + rng.below(3) {
                if !ids.is_empty() {
                    let id = *rng.pick(&ids);
                    chosen.push((id, mini.write(PageId(id))?));
                }
            }
            for (id, page) in chosen {
                let (offset, byte) = (rng.index(64), rng.below(256) as u8);
                write_byte(&mut mini, page, offset, byte)?;
                after.pages.get_mut(&id).unwrap()[offset] = byte;
            }
            let (key, value) = (rng.below(5), rng.next_u64());
            let mut payload = [0; 16];
            put_u64(&mut payload, 0, key);
            put_u64(&mut payload, 8, value);
            mini.state(TOY_STATE, &payload)?;
            after.numbers.0.insert(key, value);
        }
    }
    let (_, end) = mini.commit()?;
    toy.numbers = after.numbers.clone();
    after.extents = model_extents(toy);
    *model = after;
    Ok(end)
}

fn model_extents(toy: &Toy) -> BTreeMap<u32, Vec<(u32, u32)>> {
    let mut extents: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    for (owner, run) in toy.space.extents_of_kind(ExtentKind::Object) {
        extents.entry(owner.0).or_default().push((run.first.0, run.pages));
    }
    extents
}

/// Merges neighbouring runs, which memory and map may cut differently.
fn canonical(mut model: Model) -> Model {
    for runs in model.extents.values_mut() {
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (first, pages) in runs.drain(..) {
            match merged.last_mut() {
                Some((before, length)) if *before + *length == first => *length += pages,
                _ => merged.push((first, pages)),
            }
        }
        *runs = merged;
    }
    model
}

/// Runs a history with checkpoints and reopenings, the power failing somewhere; afterwards everything acknowledged is
/// there, in whole mini-transactions and without gaps.
fn crash_once(world: &World, rng: &mut Rng, singles: bool) {
    let power_off =
        |at| verso_sim::FaultPlan { power_off_at_op: Some(at), ..verso_sim::FaultPlan::default() };
    // States that may be there after the crash: the last acknowledged one and those since.
    let mut states = Vec::new();
    world.run(|env| {
        let mut toy = Toy::create(env).unwrap();
        toy.singles = singles;
        if singles {
            // The first group ends soon.
            let mut mini = Mini::begin(&toy.store.core, TxnId::NONE);
            toy.space.allocate(&mut mini, ObjectId::SYSTEM, ExtentKind::Temp, 61, false).unwrap();
            let (_, end) = mini.commit().unwrap();
            toy.store.core.wal.flush(end).unwrap();
        }
        states.push(Model::default());
        world.vfs().set_faults(power_off(1 + rng.below(400)));
        let _ = history(env, toy, rng, &mut states);
    });
    world.crash();
    // Recovery itself is cut off a few times.
    for _ in 0..rng.below(3) {
        world.vfs().set_faults(power_off(1 + rng.below(20)));
        world.run(|env| drop(Toy::open(env)));
        world.crash();
    }
    let mut model = Model::default();
    world.run(|env| {
        let (mut toy, report) = Toy::open(env).unwrap();
        model = canonical(toy.observe());
        assert!(
            states.contains(&model),
            "none of {} possible states; {report:?}\nfound {model:?}\nlast {:?}",
            states.len(),
            states.last()
        );
        toy.singles = singles;
        for _ in 0..if singles { 20 } else { 5 } {
            step(&mut toy, &mut model, rng).unwrap();
        }
        toy.close(true).unwrap();
    });
    world.crash();
    world.run(|env| {
        let (toy, report) = Toy::open(env).unwrap();
        assert!(report.clean && !report.log_missing, "{report:?}");
        assert_eq!(canonical(toy.observe()), canonical(model));
    });
}

fn history(env: &Env, mut toy: Toy, rng: &mut Rng, states: &mut Vec<Model>) -> Result<(), StorageError> {
    let mut model = Model::default();
    for _ in 0..20 + rng.below(60) {
        // Whatever goes wrong now, the new state may come to be durable.
        let end = step(&mut toy, &mut model, rng)?;
        states.push(canonical(model.clone()));
        if rng.one_in(4) {
            toy.store.core.wal.flush(end)?;
            states.drain(..states.len() - 1);
        }
        if rng.one_in(10) {
            toy.checkpoint()?;
        }
        if rng.one_in(30) {
            toy.close(rng.one_in(2))?;
            states.drain(..states.len() - 1);
            toy = Toy { singles: toy.singles, ..Toy::open(env)?.0 };
        }
    }
    Ok(())
}

#[test]
fn after_any_crash_acknowledged_mini_transactions_are_there_and_no_half_ones() {
    for seed in seeds(200) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        crash_once(&world, &mut rng, false);
    }
}

/// P1, P2: page maps come, tell and go in the mini-transactions of the pages that they tell of.
#[test]
fn after_any_crash_pages_given_out_one_by_one_are_whose_they_were() {
    for seed in seeds(200) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        crash_once(&world, &mut rng, true);
    }
}

/// D4: nothing was written when the double-write area could not grow, so nothing is wrong with what is there.
#[test]
fn pages_go_to_the_file_in_pieces_where_the_double_write_area_cannot_grow() {
    let world = World::new(10);
    world.run(|env| {
        let mut toy = Toy::create(env).unwrap();
        let (mut model, mut rng) = (Model::default(), Rng::new(10));
        while model.pages.len() < 20 {
            step(&mut toy, &mut model, &mut rng).unwrap();
        }
        world.vfs().set_faults(verso_sim::FaultPlan {
            only_paths_ending: Some("doublewrite".to_owned()),
            fail_resize: Some(1),
            ..verso_sim::FaultPlan::default()
        });
        toy.store.core.pool.flush_all().unwrap();
        assert_eq!(toy.store.core.pool.oldest_dirty(), None);
        step(&mut toy, &mut model, &mut rng).unwrap();
        toy.close(true).unwrap();
        drop(toy);
        let (toy, report) = Toy::open(env).unwrap();
        assert!(report.clean, "{report:?}");
        assert_eq!(canonical(toy.observe()), canonical(model));
    });
}

/// A closed database with some content.
fn closed(world: &World) -> Model {
    let mut rng = Rng::new(world.seed());
    world.run(|env| {
        let mut toy = Toy::create(env).unwrap();
        let mut model = Model::default();
        for _ in 0..30 {
            step(&mut toy, &mut model, &mut rng).unwrap();
        }
        toy.close(true).unwrap();
        canonical(model)
    })
}

#[test]
fn a_file_that_was_closed_is_whole_without_its_log() {
    let world = World::new(3);
    let model = closed(&world);
    world.run(|env| {
        env.vfs.remove_dir_all(&wal_dir(&path())).unwrap();
        let (mut toy, report) = Toy::open(env).unwrap();
        assert!(report.clean && report.log_missing, "{report:?}");
        assert_eq!(canonical(toy.observe()), model);
        // From now on it needs the log.
        let mut after = model.clone();
        let end = step(&mut toy, &mut after, &mut Rng::new(9)).unwrap();
        toy.store.core.wal.flush(end).unwrap();
        drop(toy);
        let (toy, report) = Toy::open(env).unwrap();
        assert!(!report.clean && !report.log_missing, "{report:?}");
        assert_eq!(canonical(toy.observe()), canonical(after));
        drop(toy);
        env.vfs.remove_dir_all(&wal_dir(&path())).unwrap();
        assert!(matches!(Toy::open(env), Err(StorageError::MissingLog { .. })));
    });
}

#[test]
fn files_that_do_not_fit_are_told_apart() {
    fn refused(change: impl FnOnce(&mut Vec<u8>)) -> StorageError {
        let world = World::new(4);
        closed(&world);
        world.run(|env| {
            let mut bytes = world.vfs().read_file(&path()).unwrap();
            change(&mut bytes);
            world.vfs().write_file(&path(), &bytes).unwrap();
            Toy::open(env).err().expect("the file was damaged")
        })
    }
    fn both(bytes: &mut [u8], change: impl Fn(&mut [u8])) {
        for at in [0, 2048] {
            change(&mut bytes[at..at + 512]);
            let crc = crc32c::crc32c(&bytes[at..at + 508]);
            bytes[at + 508..at + 512].copy_from_slice(&crc.to_le_bytes());
        }
    }
    assert!(matches!(refused(|bytes| bytes.clear()), StorageError::NotADatabase { .. }));
    assert!(matches!(refused(|bytes| bytes.fill(b'x')), StorageError::NotADatabase { .. }));
    // A later version, and one whose catalog had other columns.
    for other in [99, 2] {
        let version = refused(|bytes| both(bytes, |copy| copy[8] = other));
        assert!(
            matches!(version, StorageError::UnsupportedFormat { found, supported: FILE_FORMAT } if found == u32::from(other))
        );
    }
    assert!(matches!(refused(|bytes| both(bytes, |copy| copy[13] = 77)), StorageError::Corrupt { .. }));
    let damaged = refused(|bytes| [40, 2048 + 40].iter().for_each(|at| bytes[*at] ^= 1));
    assert!(matches!(damaged, StorageError::Corrupt { page: PageId(0), .. }));
    let cut = refused(|bytes| bytes.truncate(5 * 4096));
    assert!(matches!(cut, StorageError::Corrupt { page: PageId(5), .. }), "{cut}");
    let id = refused(|bytes| both(bytes, |copy| copy[16] ^= 1));
    assert!(matches!(id, StorageError::NotADatabase { .. }), "the log is that of another database: {id}");
}

#[test]
fn one_whole_copy_of_the_superblock_is_enough() {
    for at in [100, 2048 + 100] {
        let world = World::new(5);
        let mut model = closed(&world);
        world.run(|env| {
            let mut bytes = world.vfs().read_file(&path()).unwrap();
            bytes[at] ^= 1;
            world.vfs().write_file(&path(), &bytes).unwrap();
            let (toy, _) = Toy::open(env).unwrap();
            model.extents = canonical(toy.observe()).extents;
            assert_eq!(canonical(toy.observe()), model);
        });
    }
}

/// B2, S9, R7: whenever the power fails while a small database is closed, and whichever copy of the superblock is damaged then, the
/// other one does, and finds the log and the pages that it needs.
#[test]
fn either_copy_of_the_superblock_opens_what_was_being_closed() {
    for at in 0.. {
        let world = World::new(21);
        let (model, length, is_closed) = world.run(|env| {
            let mut toy = Toy::create(env).unwrap();
            let (mut model, mut rng) = (Model::default(), Rng::new(21));
            // More than one segment, checkpoints, units behind the last one in use.
            for number in 0..400 {
                let end = step(&mut toy, &mut model, &mut rng).unwrap();
                toy.store.core.wal.flush(end).unwrap();
                if number % 90 == 40 {
                    toy.checkpoint().unwrap();
                }
            }
            let length = env.vfs.open(&path(), OpenMode::READ_ONLY).unwrap().len().unwrap();
            let power_off_at_op = Some(1 + at);
            world
                .vfs()
                .set_faults(verso_sim::FaultPlan { power_off_at_op, ..verso_sim::FaultPlan::default() });
            let is_closed = toy.close(true).is_ok() && !world.vfs().is_off();
            (canonical(model), length, is_closed)
        });
        world.crash();
        let files: Vec<(PathBuf, Vec<u8>)> = {
            let mut names = world.vfs().list_dir(&wal_dir(&path())).unwrap();
            names.push(path());
            names.into_iter().map(|name| (name.clone(), world.vfs().read_file(&name).unwrap())).collect()
        };
        for damaged in [None, Some(100), Some(2048 + 100)] {
            if damaged.is_some() && !is_closed {
                // A damaged copy beside one that is being written is more than a disk does at once.
                continue;
            }
            let world = World::new(22);
            world.vfs().create_dir_all(&wal_dir(&path())).unwrap();
            for (name, content) in &files {
                let mut content = content.clone();
                if let Some(byte) = damaged.filter(|_| *name == path()) {
                    content[byte] ^= 1;
                }
                world.vfs().write_file(name, &content).unwrap();
            }
            world.run(|env| {
                let (mut toy, report) = Toy::open(env).unwrap();
                assert_eq!(canonical(toy.observe()), model, "cut at {at}, damaged {damaged:?}: {report:?}");
                if is_closed {
                    assert!(report.clean && !report.log_missing, "{report:?}");
                }
                // It goes on.
                let (mut after, mut rng) = (model.clone(), Rng::new(23));
                for _ in 0..20 {
                    step(&mut toy, &mut after, &mut rng).unwrap();
                }
                assert_eq!(canonical(toy.observe()), canonical(after));
            });
        }
        if is_closed {
            let sizes: Vec<u64> = files.iter().map(|(_, content)| content.len() as u64).collect();
            assert!(
                sizes[sizes.len() - 1] < length && sizes.iter().sum::<u64>() < length,
                "{sizes:?} of {length}"
            );
            assert!(at > 5, "something was cut");
            return;
        }
    }
}

#[test]
fn a_database_is_created_once_opened_by_one_and_of_one_page_size() {
    let world = World::new(6);
    closed(&world);
    world.run(|env| {
        assert!(matches!(Toy::create(env), Err(StorageError::Io { .. })), "there is one");
        let (toy, _) = Toy::open(env).unwrap();
        assert!(matches!(Toy::open(env), Err(StorageError::Locked)));
        drop(toy);
        let options = StoreOptions { page_size: Some(8192), ..options() };
        let other = Store::open(env, &path(), &options, &REDO, &mut Numbers::default());
        assert!(matches!(other, Err(StorageError::NotADatabase { .. })));
        Toy::open(env).unwrap();
    });
}

#[test]
fn a_creation_without_room_leaves_nothing() {
    for step in 0..200 {
        let world = World::new(8);
        let is_made = world.run(|env| {
            let capacity_bytes = Some(step * (64 << 10));
            let faults = verso_sim::FaultPlan::default();
            world.vfs().set_faults(verso_sim::FaultPlan { capacity_bytes, ..faults });
            match Toy::create(env) {
                Ok(_) => return true,
                Err(error) => assert!(matches!(error, StorageError::Full { .. }), "{error}"),
            }
            assert!(!env.vfs.exists(&path()).unwrap() && !env.vfs.exists(&wal_dir(&path())).unwrap());
            world.vfs().set_faults(verso_sim::FaultPlan::default());
            drop(Toy::create(env).unwrap());
            false
        });
        if is_made {
            assert!(step > 2, "some were refused");
            return;
        }
    }
    panic!("none was made");
}

/// A file whose creation did not end is made anew; one that only looks so, as its superblock is gone, is somebody's.
#[test]
fn a_file_that_holds_nothing_is_made_anew() {
    let world = World::new(9);
    world.run(|env| {
        for empty in [&[][..], &[0; 100][..]] {
            world.vfs().write_file(&path(), empty).unwrap();
            assert!(is_unborn(env, &path()).unwrap());
            drop(Toy::create(env).unwrap());
            assert!(!is_unborn(env, &path()).unwrap());
            remove_new(env, &path()).unwrap();
        }
    });
    closed(&world);
    world.run(|env| {
        let mut bytes = world.vfs().read_file(&path()).unwrap();
        bytes[..4096].fill(0);
        world.vfs().write_file(&path(), &bytes).unwrap();
        assert!(!is_unborn(env, &path()).unwrap());
        assert!(matches!(Toy::create(env), Err(StorageError::Io { .. })));
        assert!(matches!(Toy::open(env), Err(StorageError::NotADatabase { .. })));
        assert!(world.vfs().read_file(&path()).unwrap() == bytes, "it stays as it is");
    });
}

#[test]
fn a_long_state_of_a_checkpoint_comes_back() {
    let world = World::new(7);
    let many = Numbers((0..300_000).map(|key| (key, key * 3)).collect());
    world.run(|env| {
        let mut toy = Toy::create(env).unwrap();
        toy.numbers = many.clone();
        toy.checkpoint().unwrap();
        drop(toy);
        assert!(many.encode().len() > 4 * STATE_PART_BYTES);
        let (toy, _) = Toy::open(env).unwrap();
        assert!(toy.numbers == many);
    });
}

#[test]
fn checkpoints_bound_the_log_and_come_by_volume() {
    use verso_env::sync::Mutex;
    struct Target(Arc<Mutex<Toy>>);
    impl CheckpointTarget for Target {
        fn redo_bytes(&self) -> u64 {
            self.0.lock().store.redo_bytes()
        }
        fn checkpoint(&self, _: &mut dyn FnMut(FlushProgress)) -> Result<(), StorageError> {
            self.0.lock().checkpoint()
        }
        fn is_awaited(&self) -> bool {
            false
        }
    }
    let world = World::new(8);
    world.run(|env| {
        let toy = Arc::new(Mutex::new(Toy::create(env).unwrap()));
        let settings = CheckpointerOptions { log_bytes: 100 << 10, ..CheckpointerOptions::default() };
        let sleeper = Arc::clone(toy.lock().store.core.wal.sleeper());
        let target = Arc::new(Target(Arc::clone(&toy)));
        let thread = Checkpointer::start(env, settings, target, sleeper).unwrap();
        let (mut model, mut rng, mut greatest) = (Model::default(), Rng::new(8), 0);
        for _ in 0..3000 {
            let mut toy = toy.lock();
            step(&mut toy, &mut model, &mut rng).unwrap();
            greatest = greatest.max(toy.store.redo_bytes());
            drop(toy);
            env.clock.sleep(std::time::Duration::from_millis(50));
        }
        thread.stop();
        let toy = toy.lock();
        assert!(toy.store.core.wal.appended().0 > 200 << 10, "{}", toy.store.core.wal.appended());
        assert!(greatest < 200 << 10, "{greatest}");
        assert!(toy.store.core.wal.disk_bytes() < 1 << 20);
    });
}

/// A page of the toy's object 1 that is formatted, durable and clean, and one that is allocated only.
fn two_pages(toy: &Toy) -> (PageId, PageId) {
    let mut mini = Mini::begin(&toy.store.core, TxnId(1));
    let run = toy.space.allocate(&mut mini, ObjectId(1), ExtentKind::Object, 1, true).unwrap();
    format_run(&mut mini, 1, ExtentRun { pages: 1, ..run }).unwrap();
    mini.commit().unwrap();
    toy.store.core.pool.flush_all().unwrap();
    (run.first, run.first.offset(1))
}

#[test]
fn records_of_a_page_before_it_was_voided_do_not_count() {
    let world = World::new(9);
    world.run(|env| {
        let toy = Toy::create(env).unwrap();
        let (other, page) = two_pages(&toy);
        let core = &toy.store.core;
        let write = |id: PageId, byte: u8| {
            let mut mini = Mini::begin(core, TxnId(1));
            let handle = mini.write(id).unwrap();
            write_byte(&mut mini, handle, 3, byte).unwrap();
            mini.commit().unwrap();
        };
        // Formatted before the redo LSN and never written, because it was voided before the checkpoint.
        let mut mini = Mini::begin(core, TxnId(1));
        format_run(&mut mini, 1, ExtentRun { first: page, pages: 1 }).unwrap();
        mini.commit().unwrap();
        write(other, 1);
        write(page, 2);
        let mut mini = Mini::begin(core, TxnId(1));
        mini.void(page).unwrap();
        mini.commit().unwrap();
        // A checkpoint during which all this happened.
        let redo = core.pool.oldest_dirty().unwrap();
        let (begin, end) = append_state(&core.wal, &[]).unwrap();
        core.wal.flush(end).unwrap();
        let note = |superblock: &mut Superblock| {
            (superblock.checkpoint, superblock.redo, superblock.has_checkpoint) = (begin, redo, true);
        };
        toy.store.write_superblock(note).unwrap();
        drop(toy);
        let (toy, report) = Toy::open(env).unwrap();
        assert_eq!((report.page_records_applied, report.page_records_skipped), (1, 1), "{report:?}");
        assert_eq!(toy.store.core.pool.read(other).unwrap()[header::SIZE + 3], 1);
    });
}

/// Writers each count in two pages and a state record while checkpoints go on; the power fails anywhere.
#[test]
fn checkpoints_beside_writers_lose_nothing_and_split_nothing() {
    use std::sync::Arc;
    use verso_env::sync::Mutex;
    for seed in seeds(300) {
        let world = World::new(seed);
        let mut rng = Rng::new(seed);
        let acknowledged = Arc::new(Mutex::new([0u64; 2]));
        let pages: Vec<[PageId; 2]> = world.run(|env| {
            let toy = Toy::create(env).unwrap();
            let mut mini = Mini::begin(&toy.store.core, TxnId(1));
            let run = toy.space.allocate(&mut mini, ObjectId(1), ExtentKind::Object, 1, true).unwrap();
            format_run(&mut mini, 1, run).unwrap();
            let (_, end) = mini.commit().unwrap();
            toy.store.core.wal.flush(end).unwrap();
            let pages: Vec<[PageId; 2]> =
                (0..2).map(|writer| [run.first.offset(writer), run.first.offset(writer + 4)]).collect();
            world.vfs().set_faults(verso_sim::FaultPlan {
                power_off_at_op: Some(1 + rng.below(200)),
                ..verso_sim::FaultPlan::default()
            });
            let (toy, numbers) = (Arc::new(toy), Arc::new(Mutex::new(Numbers::default())));
            let mut handles = Vec::new();
            for (writer, pages) in (0u64..).zip(pages.clone()) {
                let (toy, numbers, acknowledged) =
                    (Arc::clone(&toy), Arc::clone(&numbers), Arc::clone(&acknowledged));
                let mut rng = rng.fork();
                handles.push(env.spawn("writer", move || {
                    for count in 1..30u64 {
                        let Ok(end) = count_up(&toy.store.core, &numbers, writer, pages, count) else {
                            return;
                        };
                        if rng.one_in(3) {
                            if toy.store.core.wal.flush(end).is_err() {
                                return;
                            }
                            acknowledged.lock()[writer as usize] = count;
                        }
                    }
                }));
            }
            let checkpoints = 1 + rng.below(6);
            handles.push(env.spawn("checkpoints", move || {
                for _ in 0..checkpoints {
                    if toy.store.checkpoint(|| numbers.lock().encode()).is_err() {
                        return;
                    }
                }
            }));
            handles.into_iter().for_each(|handle| handle.join().unwrap());
            pages
        });
        world.crash();
        world.run(|env| {
            let (toy, report) = Toy::open(env).unwrap();
            for (writer, pages) in pages.iter().enumerate() {
                let [first, second] =
                    pages.map(|id| u64_at(&toy.store.core.pool.read(id).unwrap(), header::SIZE));
                let number = toy.numbers.0.get(&(writer as u64)).copied().unwrap_or(0);
                assert!(first == second && first == number, "{first} {second} {number} {report:?}");
                assert!(first >= acknowledged.lock()[writer], "{first} {:?} {report:?}", acknowledged.lock());
            }
        });
    }
}

fn count_up(
    core: &Core,
    numbers: &Mutex<Numbers>,
    writer: u64,
    pages: [PageId; 2],
    count: u64,
) -> Result<Lsn, StorageError> {
    let mut mini = Mini::begin(core, TxnId(writer + 1));
    let handles = [mini.write(pages[0])?, mini.write(pages[1])?];
    for handle in handles {
        mini.apply_with(handle, TOY_WRITE, |out| {
            out.extend_from_slice(&u16::try_from(header::SIZE).unwrap().to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
        })?;
    }
    let mut payload = [0; 16];
    put_u64(&mut payload, 0, writer);
    put_u64(&mut payload, 8, count);
    mini.state(TOY_STATE, &payload)?;
    let (_, end) = mini.commit_with(|_, _| numbers.lock().0.extend([(writer, count)]))?;
    Ok(end)
}

#[test]
#[cfg(debug_assertions)]
fn a_mini_transaction_dropped_with_changes_panics_and_poisons() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::real();
    let store = Store::create(&env, &dir.path().join("toy.verso"), &options(), &REDO).unwrap();
    let toy = Toy { space: store.load_space(4).unwrap(), store, numbers: Numbers::default(), singles: false };
    let (page, _) = two_pages(&toy);
    // Without changes nothing happens.
    let mut mini = Mini::begin(&toy.store.core, TxnId(1));
    let handle = mini.write(page).unwrap();
    let flawed = mini.apply(handle, TOY_WRITE, &[0, 0, 1]);
    assert!(matches!(flawed, Err(StorageError::Corrupt { .. })), "before the header's end");
    drop(mini);
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut mini = Mini::begin(&toy.store.core, TxnId(1));
        let handle = mini.write(page).unwrap();
        write_byte(&mut mini, handle, 0, 1).unwrap();
    }));
    assert!(dropped.is_err());
    assert!(toy.store.core.wal.is_poisoned() && toy.store.core.pool.is_poisoned());
    assert!(matches!(
        Mini::begin(&toy.store.core, TxnId(1)).state(TOY_STATE, &[]),
        Err(StorageError::Poisoned { why: None })
    ));
}
