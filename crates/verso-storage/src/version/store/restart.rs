//! What the log and a checkpoint say of version pages, and what a restart makes of it.
//!
//! V8. Which transactions a page holds is logged, so that restart frees every page that names no dead one.

use std::collections::BTreeMap;

use super::{PageInfo, VersionStore};
use crate::page::bytes::checked_slice;
use crate::page::{Flaw, PageId, TxnId};

/// State record: `page u32 | txn u64 (0 = retired) | purge u8`.
pub(super) fn range_payload(page: PageId, txn: TxnId, purge: bool) -> [u8; 13] {
    let mut out = [0; 13];
    out[..4].copy_from_slice(&page.0.to_le_bytes());
    out[4..12].copy_from_slice(&txn.0.to_le_bytes());
    out[12] = u8::from(purge);
    out
}

/// What restart knows of version pages: from the checkpoint, then from state records (V8).
#[derive(Default)]
pub struct RestoredVersions {
    /// Pages in use.
    pub pages: BTreeMap<PageId, PageInfo>,
}

impl RestoredVersions {
    /// Takes in a [`RecordKind::VERSION_RANGE`](crate::wal::RecordKind::VERSION_RANGE) record.
    ///
    /// # Errors
    /// A flaw for junk.
    pub fn note(&mut self, payload: &[u8]) -> Result<(), Flaw> {
        let bytes = checked_slice(payload, 0, 13)?;
        let page = PageId(u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")));
        let txn = TxnId(u64::from_le_bytes(bytes[4..12].try_into().expect("eight bytes")));
        if txn == TxnId::NONE {
            self.pages.remove(&page);
            return Ok(());
        }
        let info = self.pages.entry(page).or_default();
        if !info.txns.contains(&txn) {
            info.txns.push(txn);
        }
        info.purge |= bytes[12] != 0;
        Ok(())
    }

    /// Reads what [`VersionStore::encode`] wrote.
    ///
    /// # Errors
    /// A flaw for junk.
    pub fn decode(bytes: &mut &[u8]) -> Result<RestoredVersions, Flaw> {
        let mut restored = RestoredVersions::default();
        while !bytes.is_empty() {
            restored.note(bytes)?;
            *bytes = &bytes[13..];
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
