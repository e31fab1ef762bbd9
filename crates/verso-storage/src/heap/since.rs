//! What has changed in a table between two moments, for who copies its rows while others write.
//!
//! ```text
//! hold_now ─► a ─► copy as of a ─► hold_now ─► b ─► records changed since a, as of b ─► hold_now ─► c ─► …
//! ```
//!
//! Y1. A record whose writer the view of a moment sees is what it was at that moment. All others are *changed*: some of
//!     them were only locked, or given back as they were by a rollback, and are copied once more for nothing.
//! Y2. The view of the earlier moment is held until the later one is: a record that was there and is deleted stays in its
//!     slot, with the writer that deleted it, as long as somebody may see it.

use super::Heap;
use super::layout::{MAX_WRITER, PageLayout, SLOT_HIGH};
use super::packed::Image;
use super::read::{ScanBatch, Wanted, check_home, prepare, read_page};
use crate::HeldView;
use crate::StorageError;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{RecordId, TxnId};
use crate::txn::transaction::Txn;

impl Heap {
    /// Appends the places of a page at which something may be that was not there, or was another record, at a moment (Y1).
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn changed_since(
        &self,
        txn: &Txn,
        moment: &HeldView,
        page_index: u32,
        changed: &mut Vec<RecordId>,
    ) -> Result<(), StorageError> {
        let view = moment.view();
        let Some(home) = self.home(&txn.shared.core().pool, page_index, true)? else { return Ok(()) };
        let (id, mut image) = (home.id(), Image::default());
        let page = home.bytes(self, &mut image, Some(&[]))?;
        check_home(self, id, page, page_index)?;
        if TxnId(u64_at(page, MAX_WRITER)) < view.all_below() {
            return Ok(());
        }
        let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, self.object, flaw))?;
        let high = u16_at(page, SLOT_HIGH).min(layout.capacity as u16);
        let mut last = (TxnId::NONE, true);
        for slot in 0..high {
            let writer = TxnId(u64_at(page, layout.writer + usize::from(slot) * 8));
            if writer == TxnId::NONE {
                continue;
            }
            if writer != last.0 {
                last = (writer, view.visible(writer));
            }
            if !last.1 {
                changed.push(RecordId { page_index, slot });
            }
        }
        Ok(())
    }

    /// Reads those of some records, which ascend, that the statement sees into `out`.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn read_records(
        &self,
        txn: &Txn,
        records: &[RecordId],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<(), StorageError> {
        let (_registration, view) = txn.view_or_now();
        prepare(self, columns, out);
        for of_page in records.chunk_by(|one, next| one.page_index == next.page_index) {
            let slots: Vec<u16> = of_page.iter().map(|record| record.slot).collect();
            let page_index = of_page[0].page_index;
            read_page(&txn.shared, self, &view, page_index, Wanted::Slots(&slots), columns, out)?;
        }
        out.batch.rows = out.records.len();
        Ok(())
    }
}
