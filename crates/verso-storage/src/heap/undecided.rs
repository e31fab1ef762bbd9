//! The newest version of a record together with what a prepared transaction would make of it: for who has to know every
//! value that the record may come to have.

use super::layout::PageLayout;
use super::packed::Image;
use super::read::{ScanBatch, Wanted, prepare, read_page};
use super::table::Heap;
use crate::StorageError;
use crate::page::bytes::u64_at;
use crate::page::{Flaw, RecordId, TxnId};
use crate::txn::TxnState;
use crate::txn::transaction::Txn;

impl ScanBatch {
    /// Whether these newest versions ([`Heap::fetch_newest`]) have what a transaction has done, or would have if it had done
    /// something to them.
    #[must_use]
    pub fn sees(&self, txn: TxnId) -> bool {
        self.newest.as_deref().is_some_and(|(_, view)| view.visible_committed(txn))
    }
}

impl Heap {
    /// As [`Heap::fetch_newest`] for one record. Where a transaction has changed it that is prepared, and not one of those
    /// `known`, `prepared` gets the record as it is if that commits: then the transaction is told.
    ///
    /// The writer in the record's home is read first. Whoever is there later was not prepared when the newest version was
    /// read, so nothing that only a prepared transaction knows of is left out.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn fetch_undecided(
        &self,
        txn: &Txn,
        record: RecordId,
        columns: &[u16],
        out: &mut ScanBatch,
        prepared: &mut ScanBatch,
        known: &dyn Fn(TxnId) -> bool,
    ) -> Result<Option<TxnId>, StorageError> {
        let writer = self.home_writer(txn, record)?;
        self.fetch_newest(txn, &[record], columns, out)?;
        let is_prepared = writer != TxnId::NONE
            && Some(writer) != txn.id()
            && !out.sees(writer)
            && !known(writer)
            && txn.shared.transactions.state(writer) == TxnState::Limbo;
        if !is_prepared {
            return Ok(None);
        }
        let Some((_, view)) = out.newest.as_deref() else { return Ok(None) };
        prepare(self, columns, prepared);
        let view = view.clone().with_own(writer);
        let wanted = Wanted::Slots(&[record.slot]);
        read_page(&txn.shared, self, &view, record.page_index, wanted, columns, prepared)?;
        prepared.batch.rows = prepared.records.len();
        Ok(Some(writer))
    }

    /// Whether the statement's snapshot has a record. Serializable transactions do not conflict over that.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn is_in_snapshot(&self, txn: &Txn, record: RecordId) -> Result<bool, StorageError> {
        let (_registration, view) = txn.view_or_now();
        let view = view.with_reader(None);
        let mut out = ScanBatch::default();
        prepare(self, &[], &mut out);
        read_page(&txn.shared, self, &view, record.page_index, Wanted::Slots(&[record.slot]), &[], &mut out)?;
        Ok(!out.records.is_empty())
    }

    /// The writer in a record's home.
    fn home_writer(&self, txn: &Txn, record: RecordId) -> Result<TxnId, StorageError> {
        let mut image = Image::default();
        let home = self.home(&txn.shared.core().pool, record.page_index, false)?;
        let home = home.ok_or(StorageError::NoSuchObject(self.object))?;
        let corrupt = |flaw: Flaw| StorageError::corrupt(home.id(), self.object, flaw);
        let page = home.bytes(self, &mut image, Some(&[]))?;
        let layout = PageLayout::of(page).map_err(corrupt)?;
        if usize::from(record.slot) >= layout.capacity {
            return Ok(TxnId::NONE);
        }
        Ok(TxnId(u64_at(page, layout.writer + usize::from(record.slot) * 8)))
    }
}
