//! What others may know of an open transaction, for monitoring.
//!
//! The transaction stores its figures here at the end of each statement, without a lock; who lists the open transactions
//! reads them whenever it likes, each figure by itself.

use std::sync::atomic::{AtomicU64, Ordering};

use super::transaction::{Isolation, TxnOptions, TxnStatistics};
use crate::page::{Lsn, TxnId};

/// An open transaction, for monitoring.
#[derive(Clone, Debug)]
pub struct TxnInfo {
    /// Its number, once it has written.
    pub id: Option<TxnId>,
    /// What it sees of others.
    pub isolation: Isolation,
    /// Whether it keeps frames.
    pub savepoints: bool,
    /// Whether it may only read.
    pub read_only: bool,
    /// Commit number of its snapshot, while it holds one.
    pub snapshot: Option<u64>,
    /// Memory of undo bitmaps, as of the last statement that made them an eighth larger.
    pub undo_bitmap_bytes: u64,
    /// Bytes of undo images, nearly all of them on temporary pages, as of the last statement.
    pub undo_image_bytes: u64,
    /// Log written.
    pub log_bytes: u64,
    /// Its first log record.
    pub first_lsn: Lsn,
}

/// No snapshot.
const NONE: u64 = u64::MAX;

/// The figures of one open transaction, on cache lines of their own: they change with every statement.
#[derive(Debug)]
#[repr(align(128))]
pub struct LiveTxn {
    options: TxnOptions,
    id: AtomicU64,
    snapshot: AtomicU64,
    undo_bitmap_bytes: AtomicU64,
    undo_image_bytes: AtomicU64,
    log_bytes: AtomicU64,
    first_lsn: AtomicU64,
}

impl LiveTxn {
    /// One that has done nothing yet.
    pub fn new(options: TxnOptions) -> LiveTxn {
        LiveTxn {
            options,
            id: AtomicU64::new(TxnId::NONE.0),
            snapshot: AtomicU64::new(NONE),
            undo_bitmap_bytes: AtomicU64::new(0),
            undo_image_bytes: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            first_lsn: AtomicU64::new(Lsn::ZERO.0),
        }
    }

    /// Tells where the transaction stands.
    pub fn publish(&self, id: TxnId, snapshot: Option<u64>, figures: &TxnStatistics) {
        let put = |to: &AtomicU64, value: u64| to.store(value, Ordering::Relaxed);
        put(&self.id, id.0);
        put(&self.snapshot, snapshot.unwrap_or(NONE));
        put(&self.undo_bitmap_bytes, figures.undo_bitmap_bytes);
        put(&self.undo_image_bytes, figures.undo_image_bytes);
        put(&self.log_bytes, figures.log_bytes);
        put(&self.first_lsn, figures.first_lsn.0);
    }

    /// What it told last.
    pub fn info(&self) -> TxnInfo {
        let get = |from: &AtomicU64| from.load(Ordering::Relaxed);
        let id = TxnId(get(&self.id));
        TxnInfo {
            id: (id != TxnId::NONE).then_some(id),
            isolation: self.options.isolation,
            savepoints: self.options.savepoints,
            read_only: self.options.read_only,
            snapshot: Some(get(&self.snapshot)).filter(|number| *number != NONE),
            undo_bitmap_bytes: get(&self.undo_bitmap_bytes),
            undo_image_bytes: get(&self.undo_image_bytes),
            log_bytes: get(&self.log_bytes),
            first_lsn: Lsn(get(&self.first_lsn)),
        }
    }
}
