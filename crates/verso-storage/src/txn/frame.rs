//! Savepoint frames: what undoing a statement or a savepoint has to restore.
//!
//! F1. A frame holds, per table and page, a bit for each record whose *first* change by this transaction happened in
//!     it, and *images* of the columns of records first changed in an outer frame. An image of a column is added when
//!     the record's writer is this transaction, the record has no bit here, and the column no image here.
//! F2. Undo: bit – step back over all own entries; image – restore those columns and liveness. Order does not matter.
//!     Release: a parent's bit wins, else columns the parent lacks move up; whole tables are relinked where the parent
//!     has nothing.

use smallvec::SmallVec;

use super::image_store::ImageStore;
use super::page_map::PageMap;
use crate::heap::slots::SlotSet;
use crate::page::{Lsn, ObjectId, RecordId};
use crate::rules::{Rule, disabled};
use crate::version::entry::VersionPointer;
use crate::wal::LogPin;

/// Columns of some records of a page as they were when the frame began.
#[derive(Debug)]
pub struct ImageRun {
    /// Where the image stands: encoded slots, then as many column slices as there are.
    pub place: ImagePlace,
    /// Number of the list of columns that still matter; empty for an image of liveness alone.
    pub columns: u32,
    /// The records were live.
    pub live: bool,
    /// Records that still matter.
    pub slots: SlotSet,
}

/// Where an image stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImagePlace {
    /// In the [`ImageStore`].
    Store {
        /// Where it begins.
        at: u64,
        /// Its bytes.
        length: u32,
    },
    /// In the log: the record of a page's change that wrote what the image holds.
    Log(Logged),
    /// Here, on its way from the log.
    Here(Box<[u8]>),
}

/// A group of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Where it begins.
    pub lsn: Lsn,
    /// Its bytes.
    pub length: u32,
}

/// The transaction's last change of a page, if it was an update of many records one behind the other: what it wrote
/// stands in the log.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Its group.
    pub logged: Logged,
    /// Number of the list of columns.
    pub columns: u32,
    /// The first record.
    pub first: u16,
    /// How many.
    pub count: u16,
}

impl Written {
    /// The page's LSN as long as nothing else has changed it since.
    pub fn page_lsn(&self) -> Lsn {
        Lsn(self.logged.lsn.0 + u64::from(self.logged.length))
    }
}

/// What a frame knows of one page.
#[derive(Debug, Default)]
pub struct PageUndo {
    /// Records first changed in this frame.
    pub bits: SlotSet,
    /// Images of others; older ones in front.
    pub images: SmallVec<[ImageRun; 1]>,
    /// The frame's last change of the page, where the log can serve as its image.
    pub written: Option<Written>,
}

impl PageUndo {
    /// Whether the frame holds an image of the column of this record.
    pub fn has_image(&self, store: &ImageStore, slot: u16, column: u16) -> bool {
        let mut runs = self.images.iter();
        runs.any(|run| run.slots.contains(slot) && store.columns(run.columns).contains(&column))
    }

    /// Takes out of a newer image what is here already.
    fn outdate(&self, run: &mut ImageRun, store: &mut ImageStore) {
        let lists = &*store;
        let columns = lists.columns(run.columns).to_vec();
        let live = run.live;
        run.slots.remove_if(|slot| {
            columns.iter().all(|column| self.has_image(lists, slot, *column))
                && (!live || self.has_live_image(slot))
        });
        // A run covers whole columns: keep one only while some record of it still needs it.
        let slots = run.slots.to_vec();
        let needed = |column: &u16| slots.iter().any(|slot| !self.has_image(lists, *slot, *column));
        let columns: SmallVec<[u16; 8]> = columns.into_iter().filter(needed).collect();
        run.columns = store.number_of(&columns);
    }

    /// Whether the frame holds an image of this record's liveness.
    pub fn has_live_image(&self, slot: u16) -> bool {
        self.images.iter().any(|run| run.live && run.slots.contains(slot))
    }
}

/// An entry whose purge must not happen if its frame is undone, because what it saved is in the home record again.
#[derive(Debug)]
pub struct Voidable {
    /// The entry.
    pub pointer: VersionPointer,
    /// Set where it saved nothing of somebody else's version, but a value elsewhere of the transaction's own. That comes
    /// back only if the undo restores this very value.
    pub own_value: Option<OwnValue>,
}

/// A value outside of its record's page that the transaction itself wrote, and replaced later.
#[derive(Clone, Copy, Debug)]
pub struct OwnValue {
    /// Whose record.
    pub table: ObjectId,
    /// Which record.
    pub record: RecordId,
    /// Which column.
    pub column: u16,
    /// The raw value slot.
    pub raw: u64,
}

/// One savepoint, statement or transaction.
#[derive(Debug, Default)]
pub struct Frame {
    /// Name of a savepoint.
    pub name: Option<String>,
    /// Whether a statement opened it.
    pub statement: bool,
    /// Undo by table and page. Few transactions touch so many tables that a list is too slow.
    pub(super) tables: SmallVec<[(ObjectId, PageMap); 1]>,
    /// Objects created.
    pub created: Vec<ObjectId>,
    /// Entries linked within it that have to be purged one day.
    pub voids: Vec<Voidable>,
    /// Records with a bit.
    pub records: u64,
    /// Where its images begin in the [`ImageStore`].
    pub images_from: u64,
    /// Keeps the part of the log in which its images stand.
    pub log: Option<LogPin>,
    /// The mark of what a savepoint's transaction has locked since (T3).
    pub locks_from: u32,
    /// Pages of which the frames around it know something, which rest while it is open.
    pub(super) outer_pages: usize,
    /// The oldest part of the log that one of them keeps.
    pub(super) outer_log: Option<Lsn>,
}

impl Frame {
    /// Opens the frame within another one.
    pub fn open_in(&mut self, outer: &Frame) {
        self.outer_pages = outer.pages_in_all();
        self.outer_log = outer.oldest_log();
    }

    /// Pages of which it or a frame around it knows something; one of several counts several times.
    pub fn pages_in_all(&self) -> usize {
        self.outer_pages + self.pages()
    }

    /// The oldest part of the log that it or a frame around it keeps.
    pub fn oldest_log(&self) -> Option<Lsn> {
        self.log.iter().map(LogPin::lsn).chain(self.outer_log).min()
    }

    /// Merges frames, each within the one before, into the one around them (F2), the outermost first: each page of a frame
    /// is moved once, however many they are. What no one needs any more of their images is cut off.
    pub fn release(frames: impl IntoIterator<Item = Frame>, parent: &mut Frame, store: &mut ImageStore) {
        let (mut images_from, mut kept) = (None, false);
        for frame in frames {
            images_from = images_from.or(Some(frame.images_from));
            kept |= frame.merge_into(parent, store);
        }
        if let Some(images_from) = images_from.filter(|_| !kept) {
            store.truncate(images_from);
        }
    }

    /// Merges the frame into its parent; whether images of it still matter.
    fn merge_into(self, parent: &mut Frame, store: &mut ImageStore) -> bool {
        parent.created.extend(self.created);
        parent.voids.extend(self.voids);
        if disabled(Rule::F2Release) {
            return true;
        }
        let mut kept = false;
        let mut logged = false;
        for (table, mut pages) in self.tables {
            let Some(at) = parent.position(table) else {
                parent.records += pages.values().map(|page| page.bits.len() as u64).sum::<u64>();
                kept |= pages.values().any(|page| !page.images.is_empty());
                logged |= kept;
                parent.tables.push((table, pages));
                continue;
            };
            let into = &mut parent.tables[at].1;
            let mut merge = |index: u32, page: PageUndo| {
                let target = into.entry(index);
                for mut run in page.images {
                    run.slots.subtract(&target.bits);
                    if !target.images.is_empty() && !run.slots.is_empty() {
                        target.outdate(&mut run, store);
                    }
                    if !run.slots.is_empty() {
                        kept = true;
                        logged |= matches!(run.place, ImagePlace::Log(_));
                        // Older images win: they stand in front and are restored last.
                        target.images.push(run);
                    }
                }
                target.written = page.written.or(target.written);
                parent.records += target.bits.union(&page.bits) as u64;
            };
            match pages.take_single() {
                Some((index, page)) => merge(index, page),
                None => pages.into_iter().for_each(|(index, page)| merge(index, page)),
            }
        }
        if logged {
            parent.pin(self.log);
        }
        kept
    }

    /// Keeps what the pin keeps, too.
    pub fn pin(&mut self, pin: Option<LogPin>) {
        if let Some(pin) = pin
            && self.log.as_ref().is_none_or(|kept| pin.lsn() < kept.lsn())
        {
            self.log = Some(pin);
        }
    }

    /// Whether a record was changed since the frame was opened.
    pub fn knows(&self, table: ObjectId, record: RecordId) -> bool {
        self.find(table, record.page_index).is_some_and(|undo| {
            undo.bits.contains(record.slot) || undo.images.iter().any(|run| run.slots.contains(record.slot))
        })
    }

    /// What is known of a page.
    pub fn find(&self, table: ObjectId, page_index: u32) -> Option<&PageUndo> {
        self.tables[self.position(table)?].1.get(page_index)
    }

    fn position(&self, table: ObjectId) -> Option<usize> {
        self.tables.iter().rposition(|(known, _)| *known == table)
    }

    /// Takes out what is known of each table.
    pub fn take_tables(&mut self) -> impl Iterator<Item = (ObjectId, PageMap)> + use<> {
        std::mem::take(&mut self.tables).into_iter()
    }

    /// Puts back what was [taken out](Frame::take_tables) of a table of which nothing else is known.
    pub fn put_back(&mut self, table: ObjectId, pages: PageMap) {
        self.tables.push((table, pages));
    }

    /// Pages of which something is known.
    pub fn pages(&self) -> usize {
        self.tables.iter().map(|(_, pages)| pages.page_count()).sum()
    }

    /// Notes a record that was inserted.
    pub fn inserted(&mut self, table: ObjectId, record: RecordId) {
        let undo = self.page(table, record.page_index);
        self.records += u64::from(undo.bits.insert(record.slot));
    }

    /// What is known of a page, to be added to.
    pub fn page(&mut self, table: ObjectId, page_index: u32) -> &mut PageUndo {
        let at = self.position(table).unwrap_or_else(|| {
            self.tables.push((table, PageMap::default()));
            self.tables.len() - 1
        });
        self.tables[at].1.entry(page_index)
    }

    /// All pages of which something is known.
    pub fn pages_mut(&mut self) -> impl Iterator<Item = (ObjectId, u32, &mut PageUndo)> {
        let tables = self.tables.iter_mut();
        tables.flat_map(|(table, pages)| pages.iter_mut().map(|(index, undo)| (*table, index, undo)))
    }

    /// Bytes of bitmaps, and of what says where images stand.
    pub fn bitmap_bytes(&self) -> usize {
        let tables = || self.tables.iter().map(|(_, pages)| pages);
        let bits: usize = tables().flat_map(PageMap::values).map(|undo| undo.bits.heap_bytes()).sum();
        bits + tables().map(PageMap::heap_bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::slots::Slots;

    const TABLE: ObjectId = ObjectId(1000);

    fn image(store: &mut ImageStore, slots: &[u16], columns: &[u16]) -> ImageRun {
        let columns = store.number_of(columns);
        let place = ImagePlace::Store { at: 0, length: 0 };
        ImageRun { place, columns, live: false, slots: Slots::from_list(slots).into() }
    }

    fn page(frame: &mut Frame) -> &mut PageUndo {
        frame.page(TABLE, 0)
    }

    #[test]
    fn f2_a_parents_bit_wins_and_missing_columns_move_up() {
        let (mut parent, mut child, mut store) = (Frame::default(), Frame::default(), ImageStore::default());
        page(&mut parent).bits.insert(1);
        page(&mut parent).images.push(image(&mut store, &[2], &[7]));
        page(&mut child).images.push(image(&mut store, &[1, 2, 3], &[7]));
        page(&mut child).images.push(image(&mut store, &[2], &[8]));
        Frame::release([child], &mut parent, &mut store);
        let merged = page(&mut parent);
        let slots: Vec<Vec<u16>> = merged.images.iter().map(|run| run.slots.to_vec()).collect();
        assert_eq!(slots, [vec![2], vec![3], vec![2]]);
        assert!([(2, 7), (3, 7), (2, 8)].iter().all(|(slot, id)| merged.has_image(&store, *slot, *id)));
        assert!(!merged.has_image(&store, 1, 7) && !merged.has_image(&store, 3, 8));
    }

    #[test]
    fn f2_a_table_the_parent_lacks_moves_whole() {
        let (mut parent, mut child) = (Frame::default(), Frame::default());
        page(&mut child).bits.insert(9);
        Frame::release([child], &mut parent, &mut ImageStore::default());
        assert_eq!(parent.records, 1);
        assert!(page(&mut parent).bits.contains(9));
    }

    /// Three frames, each within the other, give the same whichever of their borders goes first.
    #[test]
    fn f2_frames_merge_from_the_outermost_as_from_the_innermost() {
        let frames = |store: &mut ImageStore| {
            let mut list: Vec<Frame> = (0..4).map(|_| Frame::default()).collect();
            page(&mut list[0]).bits.insert(1);
            page(&mut list[1]).images.push(image(store, &[1, 2], &[7]));
            page(&mut list[1]).bits.insert(3);
            page(&mut list[2]).images.push(image(store, &[2, 3], &[7, 8]));
            page(&mut list[2]).bits.insert(4);
            page(&mut list[3]).images.push(image(store, &[1, 2, 3, 4, 5], &[8, 9]));
            list[3].page(ObjectId(1001), 5).bits.insert(6);
            list
        };
        let told = |frame: &mut Frame, store: &ImageStore| {
            let bits = page(frame).bits.to_vec();
            let has = |slot, column| page_of(frame).has_image(store, slot, column);
            let held: Vec<(u16, u16)> = (1..6)
                .flat_map(|slot| (7..10).map(move |id| (slot, id)))
                .filter(|(s, c)| has(*s, *c))
                .collect();
            (bits, held, frame.records)
        };
        fn page_of(frame: &Frame) -> &PageUndo {
            frame.find(TABLE, 0).expect("known")
        }
        let mut store = ImageStore::default();
        let mut list = frames(&mut store);
        let rest = list.split_off(1);
        Frame::release(rest, &mut list[0], &mut store);
        let outermost = told(&mut list[0], &store);
        let mut store = ImageStore::default();
        let mut list = frames(&mut store);
        while let Some(inner) = (list.len() > 1).then(|| list.pop()).flatten() {
            let parent = list.last_mut().expect("one is left");
            Frame::release([inner], parent, &mut store);
        }
        assert_eq!(outermost, told(&mut list[0], &store));
        assert_eq!(outermost.0, [1, 3, 4]);
        assert_eq!(outermost.1, [(2, 7), (2, 8), (2, 9), (5, 8), (5, 9)]);
    }
}
