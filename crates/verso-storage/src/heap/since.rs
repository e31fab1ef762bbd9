//! What has changed in a table between two moments, for who copies its rows while others write.
//!
//! ```text
//! hold_now ─► a ─► copy as of a ─► hold_now ─► b ─► records changed from a to b, as of b ─► hold_now ─► c ─► …
//! ```
//!
//! Y1. A record is *changed* if the later moment sees a version of it whose writer the earlier one does not see, or sees none
//!     where the earlier one sees one. Versions of those who have not ended, or were rolled back, are passed over, so what
//!     they do, or is undone, changes nothing. Some of the changed ones were only locked, and are copied once more for
//!     nothing.
//! Y2. Both views are held as long as anything is asked of them: a version that either sees stays in its chain, and a
//!     record that either sees stays in its slot. So the changed records are always the same for two moments.

use super::Heap;
use super::apply;
use super::layout::{MAX_WRITER, PageLayout, SLOT_HIGH};
use super::packed::Image;
use super::read::{BATCH_BYTES, ScanBatch, Wanted, check_home, is_long, prepare, read_page};
use super::restore::older_writer;
use crate::HeldView;
use crate::StorageError;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{RecordId, TxnId};
use crate::txn::transaction::Txn;
use crate::version::entry::VersionPointer;

impl Heap {
    /// Appends the places of a page's records that have changed from a moment to a later one (Y1).
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn changed_between(
        &self,
        txn: &Txn,
        (earlier, later): (&HeldView, &HeldView),
        page_index: u32,
        changed: &mut Vec<RecordId>,
    ) -> Result<(), StorageError> {
        let (earlier, later) = (earlier.view(), later.view());
        let Some(home) = self.home(&txn.shared.core().pool, page_index, true)? else { return Ok(()) };
        let (id, mut image) = (home.id(), Image::default());
        let page = home.bytes(self, &mut image, Some(&[]))?;
        check_home(self, id, page, page_index)?;
        if TxnId(u64_at(page, MAX_WRITER)) < earlier.all_below() {
            return Ok(());
        }
        let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, self.object, flaw))?;
        let high = u16_at(page, SLOT_HIGH).min(layout.capacity as u16);
        let mut last = (TxnId::NONE, true, true);
        for slot in 0..high {
            let at = |place: usize| u64_at(page, place + usize::from(slot) * 8);
            let writer = TxnId(at(layout.writer));
            if writer == TxnId::NONE {
                continue;
            }
            if writer != last.0 {
                let is_seen = earlier.visible(writer);
                last = (writer, is_seen, is_seen || later.visible(writer));
            }
            let (_, in_earlier, in_later) = last;
            // Whoever the earlier moment sees the later one sees, too.
            if in_earlier {
                continue;
            }
            let record = RecordId { page_index, slot };
            let older = |view| older_writer(&txn.shared, self, view, record, VersionPointer(at(layout.back)));
            let is_changed = match in_later {
                true => apply::is_live(page, &layout, slot) || older(earlier)?.is_some(),
                // A version of a record that has older ones is a change of them: what was deleted gets no newer one.
                false => older(later)?.is_some_and(|writer| !earlier.visible(writer)),
            };
            if is_changed {
                changed.push(record);
            }
        }
        Ok(())
    }

    /// Reads those of some records, which ascend, that the statement sees into `out`, of so many of the first ones that their
    /// values are not too long together. How many.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn read_records(
        &self,
        txn: &Txn,
        records: &[RecordId],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<usize, StorageError> {
        let (_registration, view) = txn.view_or_now();
        prepare(self, columns, out);
        let (mut count, mut slots) = (0, Vec::new());
        'pages: for of_page in records.chunk_by(|one, next| one.page_index == next.page_index) {
            let page_index = of_page[0].page_index;
            // As a scan does: the values of all records of such a page might be gigabytes.
            let most = match is_long(&txn.shared, self, page_index, columns)? {
                true => 1,
                false => of_page.len(),
            };
            for some in of_page.chunks(most) {
                if out.batch.variable_bytes() >= BATCH_BYTES {
                    break 'pages;
                }
                slots.clear();
                slots.extend(some.iter().map(|record| record.slot));
                read_page(&txn.shared, self, &view, page_index, Wanted::Slots(&slots), columns, out)?;
                count += some.len();
            }
        }
        out.batch.rows = out.records.len();
        Ok(count)
    }
}
