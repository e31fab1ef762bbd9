//! Commands: what a statement must not see of its own transaction.
//!
//! ```text
//! SELECT f(), (SELECT count(*) FROM t)    command 1: t as it was here ───────────────────────────────►
//!   in f: INSERT INTO t SELECT g() FROM t   command 2: t as it is here, without what g adds ────────►
//!     in g: DELETE FROM t                     no command: nothing runs in between that changes rows
//! ```
//!
//! A statement sees what its transaction had done when it began, and nothing that it does itself, or the functions and triggers
//! that it calls. One that calls none reads what it needs before it changes that; it keeps nothing, and costs nothing. Of others
//! the executor says that they begin a *command*, whose number their view bears.
//!
//! T4. As long as a command lives, whoever changes a record first behind it keeps the record as it was: an image of all its
//!     columns where its newest version is the transaction's own already, else the note that it is *fresh* – what is to be read
//!     lies behind all own versions, or is nothing. A view with a command reads that in place of the home record. Keys of own
//!     versions that leave an index at once (I4) are kept beside it for the same readers.
//! 1. Numbers of commands ascend. What is kept bears the number of the newest command there was; a view reads the oldest that
//!    bears its own number or a greater one. Layers of a page between which no command lives become one.
//! 2. A record is noted with its page latched, before it changes: a reader on another thread that has read a page looks whether
//!    something was noted meanwhile, and reads it once more then.
//! 3. Undo notes nothing: a record is what it was then, as its image says it, and a fresh one has no own version.
//! 4. Images lie in an [`ImageStore`] of their own, beyond a few KiB on temporary pages; they go when no command lives any more.
//!
//! Locks: home page, notes, images. The images are enlarged with no page latched.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_env::sync::Mutex;

use super::frame::ImagePlace;
use super::image_store::ImageStore;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::heap::layout::PageLayout;
use crate::heap::slice::encode_from_page;
use crate::heap::slots::{SlotSet, Slots};
use crate::index::entries::Entries;
use crate::page::{ObjectId, PageId, RecordId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;

/// What a transaction has changed since its oldest living command began.
#[derive(Debug, Default)]
pub(crate) struct OwnChanges {
    noted: Mutex<Noted>,
    images: Mutex<ImageStore>,
    accounted: Mutex<Accounted>,
}

/// Memory that is accounted for, and what stands for it.
#[derive(Debug, Default)]
struct Accounted {
    bytes: usize,
    _held: Option<Box<dyn Any + Send>>,
}

/// Memory is accounted for in steps.
const ACCOUNTED_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
struct Noted {
    /// The number of the newest command there was.
    newest: u64,
    /// Those that somebody may read under, ascending.
    living: SmallVec<[u64; 4]>,
    pages: HashMap<(ObjectId, u32), PageNotes>,
    /// Entries that have left an index, by index.
    keys: BTreeMap<ObjectId, BTreeSet<Vec<u8>>>,
    /// Bytes of these.
    key_bytes: usize,
}

/// What is kept of the records of one page.
#[derive(Debug, Default)]
struct PageNotes {
    /// How often something was noted.
    notes: u64,
    /// By number, ascending.
    layers: SmallVec<[Layer; 1]>,
}

/// Records changed first behind some commands.
#[derive(Debug, Default)]
struct Layer {
    /// The newest command there was.
    number: u64,
    /// Those without an own version before.
    fresh: SlotSet,
    /// Images of the others.
    images: SmallVec<[Kept; 1]>,
}

/// Records as they were.
#[derive(Debug)]
struct Kept {
    slots: SlotSet,
    place: ImagePlace,
}

impl Layer {
    fn has(&self, slot: u16) -> bool {
        self.fresh.contains(slot) || self.images.iter().any(|kept| kept.slots.contains(slot))
    }

    /// Adds what a later layer has of other records.
    fn take_over(&mut self, mut later: Layer) {
        later.fresh.remove_if(|slot| self.has(slot));
        for mut kept in later.images {
            kept.slots.remove_if(|slot| self.has(slot));
            if !kept.slots.is_empty() {
                self.images.push(kept);
            }
        }
        self.fresh.union(&later.fresh);
    }
}

impl PageNotes {
    /// Whether a record as the newest living command has it is kept.
    fn has(&self, slot: u16, living: u64) -> bool {
        self.layers.iter().rev().take_while(|layer| layer.number >= living).any(|layer| layer.has(slot))
    }

    /// The layer that records go to which are noted now.
    fn layer(&mut self, newest: u64, living: &[u64]) -> &mut Layer {
        let last = living.last().copied().unwrap_or(newest);
        if self.layers.last().is_none_or(|layer| layer.number < last) {
            self.merge(living);
            self.layers.push(Layer { number: newest, ..Layer::default() });
        }
        self.layers.last_mut().expect("there is one")
    }

    /// Makes one of layers that all living commands read alike.
    fn merge(&mut self, living: &[u64]) {
        for at in (0..self.layers.len()).rev() {
            let before = at.checked_sub(1);
            let from = before.map_or(0, |before| self.layers[before].number);
            let to = self.layers[at].number;
            if living.iter().any(|number| from < *number && *number <= to) {
                continue;
            }
            let layer = self.layers.remove(at);
            if let Some(before) = before {
                self.layers[before].take_over(layer);
            }
        }
    }
}

/// The records of a page that a command does not see as they are.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// What the command sees of them lies behind all own versions.
    pub fresh: SlotSet,
    /// Records, and the image that has them: encoded slots, then as many column slices as there are.
    pub images: Vec<(SlotSet, Vec<u8>)>,
}

impl OwnChanges {
    /// A new command: what is changed from now on is not seen under it.
    pub fn begin(self: &Arc<Self>) -> Arc<Command> {
        let mut noted = self.noted.lock();
        noted.newest += 1;
        let number = noted.newest;
        noted.living.push(number);
        Arc::new(Command { number, changes: Arc::clone(self) })
    }

    /// Whether no command lives.
    pub fn is_idle(&self) -> bool {
        self.noted.lock().living.is_empty()
    }

    /// Has memory that grows with what is changed accounted for, if it has grown.
    pub fn account<E>(&self, reserve: impl FnOnce(u64) -> Result<Box<dyn Any + Send>, E>) -> Result<(), E> {
        let bytes = self.noted.lock().key_bytes;
        let mut accounted = self.accounted.lock();
        if bytes < accounted.bytes + ACCOUNTED_BYTES {
            return Ok(());
        }
        *accounted = Accounted::default();
        *accounted = Accounted { bytes, _held: Some(reserve(bytes as u64)?) };
        Ok(())
    }

    /// Notes records of a latched page that are about to change: `own` ones of the transaction's and `fresh` ones. `Some` says how
    /// many bytes have to be [reserved](OwnChanges::reserve) first; nothing is noted then.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; nothing is noted then.
    pub fn note(
        &self,
        pool: &BufferPool,
        (table, page_index): (ObjectId, u32),
        (id, page, layout): (PageId, &[u8], &PageLayout),
        own: &[u16],
        fresh: &[u16],
    ) -> Result<Option<usize>, StorageError> {
        let mut noted = self.noted.lock();
        let Noted { newest, living, pages, .. } = &mut *noted;
        let Some(last) = living.last().copied().filter(|_| !is_definition(table)) else { return Ok(None) };
        let notes = pages.entry((table, page_index)).or_default();
        let lacks = |slots: &[u16]| -> Vec<u16> {
            slots.iter().copied().filter(|slot| !notes.has(*slot, last)).collect()
        };
        let (own, fresh) = (lacks(own), lacks(fresh));
        if own.is_empty() && fresh.is_empty() {
            return Ok(None);
        }
        let mut image = None;
        if !own.is_empty() {
            let slots = Slots::from_list(&own);
            let made = self.images.lock().append(pool, |out| {
                slots.encode(out);
                layout.columns.iter().try_for_each(|place| {
                    encode_from_page(out, page, place, slots)
                        .map_err(|flaw| StorageError::corrupt(id, table, flaw))
                })
            })?;
            let (at, length) = match made {
                Ok(place) => place,
                Err(length) => return Ok(Some(length)),
            };
            let place = ImagePlace::Store { at, length: length as u32 };
            image = Some(Kept { slots: slots.into(), place });
        }
        notes.notes += 1;
        let layer = notes.layer(*newest, living);
        layer.images.extend(image);
        layer.fresh.extend(Slots::from_list(&fresh));
        Ok(None)
    }

    /// Notes records of a latched page that are about to be inserted.
    pub fn note_inserted(&self, table: ObjectId, page_index: u32, slots: Slots<'_>) {
        let mut noted = self.noted.lock();
        let Noted { newest, living, pages, .. } = &mut *noted;
        let Some(last) = living.last().copied().filter(|_| !is_definition(table)) else { return };
        let notes = pages.entry((table, page_index)).or_default();
        // One that was inserted and undone is fresh already.
        let list: Vec<u16> = slots.iter().filter(|slot| !notes.has(*slot, last)).collect();
        notes.notes += 1;
        notes.layer(*newest, living).fresh.extend(Slots::from_list(&list));
    }

    /// Makes room for images. The caller holds no latch.
    ///
    /// # Errors
    /// `Full`, as the mini-transaction.
    pub fn reserve(&self, shared: &Shared, bytes: usize) -> Result<(), StorageError> {
        self.images.lock().reserve(shared, bytes)
    }

    /// Keeps entries that are about to leave an index though a command may see their records with these keys.
    pub fn keep_keys(&self, index: ObjectId, entries: &Entries) {
        let mut noted = self.noted.lock();
        if noted.living.is_empty() || disabled(Rule::T4Keys) {
            return;
        }
        let Noted { keys, key_bytes, .. } = &mut *noted;
        let kept = keys.entry(index).or_default();
        for entry in entries.iter() {
            if kept.insert(entry.to_vec()) {
                *key_bytes += entry.len() + size_of::<Vec<u8>>();
            }
        }
    }

    /// Forgets everything, and gives the pages of images back.
    ///
    /// # Errors
    /// As the mini-transaction.
    pub fn clear(&self, shared: &Shared) -> Result<(), StorageError> {
        self.noted.lock().forget();
        *self.accounted.lock() = Accounted::default();
        self.images.lock().clear(shared)
    }
}

/// Whether it is a table of the catalog: what is defined is known at once.
fn is_definition(table: ObjectId) -> bool {
    table.0 < crate::Engine::FIRST_USER_OBJECT
}

impl Noted {
    fn forget(&mut self) {
        self.pages = HashMap::new();
        self.keys = BTreeMap::new();
        self.key_bytes = 0;
    }
}

/// A command that somebody may read under.
#[derive(Debug)]
pub(crate) struct Command {
    number: u64,
    changes: Arc<OwnChanges>,
}

impl Command {
    /// How often something was noted of a page.
    pub fn notes(&self, table: ObjectId, page_index: u32) -> u64 {
        let noted = self.changes.noted.lock();
        noted.pages.get(&(table, page_index)).map_or(0, |notes| notes.notes)
    }

    /// The layers of a page from this command on.
    fn layers<'n>(
        &self,
        noted: &'n Noted,
        table: ObjectId,
        page_index: u32,
    ) -> impl Iterator<Item = &'n Layer> + use<'n> {
        let number = self.number;
        let layers = noted.pages.get(&(table, page_index)).map_or(&[][..], |notes| &notes.layers);
        layers.iter().filter(move |layer| layer.number >= number && !disabled(Rule::T4))
    }

    /// Whether the command does not see a record as it is.
    pub fn hides(&self, table: ObjectId, record: RecordId) -> bool {
        let noted = self.changes.noted.lock();
        self.layers(&noted, table, record.page_index).any(|layer| layer.has(record.slot))
    }

    /// The same, where nothing was the transaction's own before; `None` where the command sees the record as it is.
    pub fn is_fresh(&self, table: ObjectId, record: RecordId) -> Option<bool> {
        let noted = self.changes.noted.lock();
        let mut layers = self.layers(&noted, table, record.page_index);
        let first = layers.find(|layer| layer.has(record.slot))?;
        Some(first.fresh.contains(record.slot))
    }

    /// What the command sees of records of a page that have changed since, if any of them `wanted` have; all of them without a
    /// list. The caller holds no latch.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn earlier(
        &self,
        pool: &BufferPool,
        table: ObjectId,
        page_index: u32,
        wanted: Option<&[u16]>,
    ) -> Result<Option<Earlier>, StorageError> {
        let mut held = SlotSet::default();
        let mut earlier = Earlier::default();
        let mut places: SmallVec<[(SlotSet, ImagePlace); 4]> = SmallVec::new();
        {
            let noted = self.changes.noted.lock();
            let left = |slots: &SlotSet, held: &SlotSet| {
                let mut left = slots.clone();
                left.subtract(held);
                match wanted {
                    Some(wanted) if !wanted.iter().any(|slot| left.contains(*slot)) => SlotSet::default(),
                    _ => left,
                }
            };
            for layer in self.layers(&noted, table, page_index) {
                earlier.fresh.union(&left(&layer.fresh, &held));
                for kept in &layer.images {
                    let slots = left(&kept.slots, &held);
                    if !slots.is_empty() {
                        places.push((slots, kept.place.clone()));
                    }
                }
                held.union(&layer.fresh);
                for kept in &layer.images {
                    held.union(&kept.slots);
                }
            }
        }
        if earlier.fresh.is_empty() && places.is_empty() {
            return Ok(None);
        }
        let images = self.changes.images.lock();
        for (slots, place) in places {
            earlier.images.push((slots, images.read(pool, &place)?));
        }
        Ok(Some(earlier))
    }

    /// The entries from `start` up to `end` that have left an index, which the command may see; in order. Asked for behind a look
    /// at the index itself, none is missed.
    pub fn kept_keys(&self, index: ObjectId, start: &[u8], end: Option<&[u8]>) -> Vec<Vec<u8>> {
        let noted = self.changes.noted.lock();
        let Some(kept) = noted.keys.get(&index) else { return Vec::new() };
        if end.is_some_and(|end| end <= start) {
            return Vec::new();
        }
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        kept.range::<[u8], _>((Bound::Included(start), end)).cloned().collect()
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let mut noted = self.changes.noted.lock();
        noted.living.retain(|number| *number != self.number);
        if noted.living.is_empty() {
            noted.forget();
            *self.changes.accounted.lock() = Accounted::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: ObjectId = ObjectId(1000);

    fn insert(changes: &OwnChanges, slots: &[u16]) {
        changes.note_inserted(TABLE, 0, Slots::from_list(slots));
    }

    fn hidden(command: &Command) -> Vec<u16> {
        (0..100).filter(|slot| command.hides(TABLE, RecordId { page_index: 0, slot: *slot })).collect()
    }

    fn layers(changes: &OwnChanges) -> usize {
        changes.noted.lock().pages.values().map(|notes| notes.layers.len()).sum()
    }

    #[test]
    fn t4_a_command_hides_what_is_changed_behind_it_and_nothing_else() {
        let changes = Arc::new(OwnChanges::default());
        insert(&changes, &[1]);
        let outer = changes.begin();
        insert(&changes, &[2, 3]);
        let inner = changes.begin();
        insert(&changes, &[4]);
        assert_eq!(hidden(&outer), [2, 3, 4]);
        assert_eq!(hidden(&inner), [4]);
        drop(inner);
        let next = changes.begin();
        assert_eq!(hidden(&next), Vec::<u16>::new());
        insert(&changes, &[2, 5]);
        assert_eq!((hidden(&outer), hidden(&next)), (vec![2, 3, 4, 5], vec![2, 5]));
        drop((next, outer));
        assert!(changes.is_idle() && layers(&changes) == 0);
    }

    #[test]
    fn layers_that_no_command_tells_apart_become_one() {
        let changes = Arc::new(OwnChanges::default());
        let outer = changes.begin();
        for slot in 0..60 {
            let _inner = changes.begin();
            insert(&changes, &[slot]);
        }
        assert!(layers(&changes) <= 2, "{}", layers(&changes));
        assert_eq!(hidden(&outer), (0..60).collect::<Vec<_>>());
        // One that lives on, as a cursor's, while others come and go.
        let cursor = changes.begin();
        drop(outer);
        for slot in 50..70 {
            let _inner = changes.begin();
            insert(&changes, &[slot]);
        }
        assert!(layers(&changes) <= 2, "{}", layers(&changes));
        assert_eq!(hidden(&cursor), (50..70).collect::<Vec<_>>());
    }

    #[test]
    fn t4_keys_that_left_an_index_are_found_by_range() {
        let changes = Arc::new(OwnChanges::default());
        let mut entries = Entries::default();
        let record = |slot| RecordId { page_index: 7, slot };
        entries.push(b"b", record(1), true);
        changes.keep_keys(TABLE, &entries);
        let command = changes.begin();
        assert!(command.kept_keys(TABLE, b"", None).is_empty());
        entries.push(b"d", record(2), true);
        changes.keep_keys(TABLE, &entries);
        changes.keep_keys(TABLE, &entries);
        let kept = |start: &[u8], end| command.kept_keys(TABLE, start, end).len();
        assert_eq!((kept(b"", None), kept(b"c", None), kept(b"", Some(&b"d"[..]))), (2, 1, 1));
        assert!(command.kept_keys(ObjectId(1001), b"", None).is_empty());
        assert!(changes.noted.lock().key_bytes > 0);
        drop(command);
        assert_eq!(changes.noted.lock().key_bytes, 0);
    }
}
