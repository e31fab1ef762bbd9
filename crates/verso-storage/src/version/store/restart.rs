//! What the log and a checkpoint say of version pages, and what a restart makes of it.
//!
//! V8. Which transactions a page holds is logged, so that restart frees every page that names no dead one.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::{PageInfo, VersionStore};
use crate::page::bytes::{checked_slice, checked_u8};
use crate::page::{Flaw, PageId, TxnId};
use crate::wal::{varint_bytes, varint_u32};

/// Bytes of a range that names its transaction.
const RANGE_BYTES: usize = 13;

/// State record: `page u32 | txn u64 (0 = retired) | purge u8`. Records of the transaction's own groups are shorter
/// ([`own_range_payload`]).
pub(super) fn range_payload(page: PageId, txn: TxnId, purge: bool) -> [u8; RANGE_BYTES] {
    let mut out = [0; RANGE_BYTES];
    out[..4].copy_from_slice(&page.0.to_le_bytes());
    out[4..12].copy_from_slice(&txn.0.to_le_bytes());
    out[12] = u8::from(purge);
    out
}

/// The same of the transaction that the record's group belongs to: `page varint | purge u8`.
pub(super) fn own_range_payload(page: PageId, purge: bool) -> SmallVec<[u8; 8]> {
    let (bytes, count) = varint_bytes(u64::from(page.0));
    let mut out: SmallVec<[u8; 8]> = SmallVec::from_slice(&bytes[..count]);
    out.push(u8::from(purge));
    out
}

/// What restart knows of version pages: from the checkpoint, then from state records (V8).
#[derive(Default)]
pub struct RestoredVersions {
    /// Pages in use.
    pub pages: BTreeMap<PageId, PageInfo>,
}

impl RestoredVersions {
    /// Takes in a [`RecordKind::VERSION_RANGE`](crate::wal::RecordKind::VERSION_RANGE) record of a group of `txn`.
    ///
    /// # Errors
    /// A flaw for junk.
    pub fn note(&mut self, txn: TxnId, payload: &[u8]) -> Result<(), Flaw> {
        if payload.len() == RANGE_BYTES {
            return self.note_of_any(payload);
        }
        let mut at = 0;
        let page = PageId(varint_u32(payload, &mut at)?);
        let purge = checked_u8(payload, at)? != 0;
        if payload.len() != at + 1 || txn == TxnId::NONE {
            return Err(Flaw::from("a version range of another size"));
        }
        self.add(page, txn, purge);
        Ok(())
    }

    fn note_of_any(&mut self, payload: &[u8]) -> Result<(), Flaw> {
        let bytes = checked_slice(payload, 0, RANGE_BYTES)?;
        let page = PageId(u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")));
        let txn = TxnId(u64::from_le_bytes(bytes[4..12].try_into().expect("eight bytes")));
        match txn {
            TxnId::NONE => drop(self.pages.remove(&page)),
            txn => self.add(page, txn, bytes[12] != 0),
        }
        Ok(())
    }

    fn add(&mut self, page: PageId, txn: TxnId, purge: bool) {
        let info = self.pages.entry(page).or_default();
        if !info.txns.contains(&txn) {
            info.txns.push(txn);
        }
        info.purge |= purge;
    }

    /// Reads what [`VersionStore::encode`] wrote.
    ///
    /// # Errors
    /// A flaw for junk.
    pub fn decode(bytes: &mut &[u8]) -> Result<RestoredVersions, Flaw> {
        let mut restored = RestoredVersions::default();
        while !bytes.is_empty() {
            restored.note_of_any(bytes)?;
            *bytes = &bytes[RANGE_BYTES..];
        }
        Ok(restored)
    }
}

impl VersionStore {
    /// For a checkpoint (V8).
    pub fn encode(&self, out: &mut Vec<u8>) {
        for (page, info) in self.pages() {
            for txn in &info.txns {
                out.extend_from_slice(&range_payload(page, *txn, info.purge));
            }
        }
    }
}
