//! Savepoint frames: what undoing a statement or a savepoint has to restore.
//!
//! F1. A frame holds, per table and page, a bit for each record whose *first* change by this transaction happened in
//!     it, and *images* of the columns of records first changed in an outer frame. An image of a column is added when
//!     the record's writer is this transaction, the record has no bit here, and the column no image here.
//! F2. Undo: bit – step back over all own entries; image – restore those columns and liveness. Order does not matter.
//!     Release: a parent's bit wins, else columns the parent lacks move up; whole tables are relinked where the parent
//!     has nothing.

use std::collections::{BTreeMap, HashMap};

use crate::heap::slots::SlotSet;
use crate::page::ObjectId;
use crate::rules::{Rule, disabled};
use crate::version::entry::VersionPointer;

/// Columns of some records of a page as they were when the frame began.
#[derive(Debug)]
pub struct ImageRun {
    /// Which records, ascending.
    pub slots: Vec<u16>,
    /// Which columns; none for an image of liveness alone.
    pub columns: Vec<u16>,
    /// Encoded column slices of all `slots` (also of those no longer in `kept`).
    pub data: Box<[u8]>,
    /// The records were live.
    pub live: bool,
    /// Ranks of `slots` that still matter.
    pub kept: SlotSet,
    /// Columns that still matter.
    pub wanted: Vec<u16>,
}

/// What a frame knows of one page.
#[derive(Debug, Default)]
pub struct PageUndo {
    /// Records first changed in this frame.
    pub bits: SlotSet,
    /// Images of others.
    pub images: Vec<ImageRun>,
}

impl PageUndo {
    /// Whether the frame holds an image of the column of this record.
    pub fn has_image(&self, slot: u16, column: u16) -> bool {
        self.images.iter().any(|run| {
            run.wanted.contains(&column)
                && run.slots.binary_search(&slot).is_ok_and(|rank| run.kept.contains(rank as u16))
        })
    }

    /// Whether the frame holds an image of this record's liveness.
    pub fn has_live_image(&self, slot: u16) -> bool {
        self.images.iter().any(|run| {
            run.live && run.slots.binary_search(&slot).is_ok_and(|rank| run.kept.contains(rank as u16))
        })
    }
}

/// One savepoint, statement or transaction.
#[derive(Debug, Default)]
pub struct Frame {
    /// Name of a savepoint.
    pub name: Option<String>,
    /// Whether a statement opened it.
    pub statement: bool,
    /// Undo by table and page.
    pub tables: HashMap<ObjectId, BTreeMap<u32, PageUndo>>,
    /// Objects created.
    pub created: Vec<ObjectId>,
    /// Entries whose purge must not happen if this frame is undone.
    pub voids: Vec<VersionPointer>,
    /// Records with a bit.
    pub records: u64,
}

impl Frame {
    /// Merges the frame into its parent (F2).
    pub fn release_into(self, parent: &mut Frame) {
        parent.created.extend(self.created);
        parent.voids.extend(self.voids);
        if disabled(Rule::F2Release) {
            return;
        }
        for (table, pages) in self.tables {
            let Some(into) = parent.tables.get_mut(&table) else {
                parent.records += pages.values().map(|page| page.bits.len() as u64).sum::<u64>();
                parent.tables.insert(table, pages);
                continue;
            };
            for (index, page) in pages {
                let target = into.entry(index).or_default();
                for mut run in page.images {
                    for (rank, slot) in run.slots.iter().enumerate() {
                        let covered = target.bits.contains(*slot)
                            || (run.wanted.iter().all(|column| target.has_image(*slot, *column))
                                && (!run.live || target.has_live_image(*slot)));
                        if covered {
                            run.kept.remove(rank as u16);
                        }
                    }
                    // A run covers whole columns: keep one only while some record of it still needs it.
                    run.wanted.retain(|column| {
                        run.kept
                            .to_vec()
                            .iter()
                            .any(|rank| !target.has_image(run.slots[usize::from(*rank)], *column))
                    });
                    if !run.kept.is_empty() {
                        // Older images win: they stand in front and are restored last.
                        target.images.push(run);
                    }
                }
                parent.records += target.bits.union(&page.bits) as u64;
            }
        }
    }

    /// Bytes of bitmaps.
    pub fn bitmap_bytes(&self) -> usize {
        let page = |undo: &PageUndo| undo.bits.heap_bytes() + size_of::<PageUndo>() + 8;
        self.tables.values().flat_map(BTreeMap::values).map(page).sum()
    }

    /// Bytes of images.
    pub fn image_bytes(&self) -> usize {
        let runs = self.tables.values().flat_map(BTreeMap::values).flat_map(|page| &page.images);
        runs.map(|run| run.data.len() + run.slots.len() * 2).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: ObjectId = ObjectId(1000);

    fn image(slots: &[u16], columns: &[u16]) -> ImageRun {
        let mut kept = SlotSet::default();
        (0..slots.len() as u16).for_each(|rank| {
            kept.insert(rank);
        });
        ImageRun {
            slots: slots.to_vec(),
            columns: columns.to_vec(),
            data: Box::default(),
            live: false,
            kept,
            wanted: columns.to_vec(),
        }
    }

    fn page(frame: &mut Frame) -> &mut PageUndo {
        frame.tables.entry(TABLE).or_default().entry(0).or_default()
    }

    #[test]
    fn f2_a_parents_bit_wins_and_missing_columns_move_up() {
        let (mut parent, mut child) = (Frame::default(), Frame::default());
        page(&mut parent).bits.insert(1);
        page(&mut parent).images.push(image(&[2], &[7]));
        page(&mut child).images.push(image(&[1, 2, 3], &[7]));
        page(&mut child).images.push(image(&[2], &[8]));
        child.release_into(&mut parent);
        let merged = page(&mut parent);
        assert!(!merged.images.iter().any(|run| run.slots == [1, 2, 3] && run.kept.contains(0)));
        assert!(merged.has_image(2, 7) && merged.has_image(3, 7) && merged.has_image(2, 8));
        assert_eq!(
            merged.images.iter().filter(|run| run.wanted.contains(&7) && run.slots.contains(&2)).count(),
            2
        );
    }

    #[test]
    fn f2_a_table_the_parent_lacks_moves_whole() {
        let (mut parent, mut child) = (Frame::default(), Frame::default());
        page(&mut child).bits.insert(9);
        child.release_into(&mut parent);
        assert_eq!(parent.records, 1);
        assert!(page(&mut parent).bits.contains(9));
    }
}
