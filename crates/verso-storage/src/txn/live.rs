//! What others may know of an open transaction, for monitoring.
//!
//! The transaction stores its figures here at the end of each statement, without a lock; who lists the open transactions
//! reads them whenever it likes, each figure by itself.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

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
    /// Its first log record; zero before.
    pub first_lsn: Lsn,
    /// The number of its session, or 0.
    pub session: u64,
}

/// No snapshot.
const NONE: u64 = u64::MAX;

/// The figures of one open transaction, on cache lines of their own: they change with every statement.
#[derive(Debug)]
#[repr(align(128))]
pub struct LiveTxn {
    /// The options, in bits, and whether it is open.
    options: AtomicU8,
    id: AtomicU64,
    snapshot: AtomicU64,
    undo_bitmap_bytes: AtomicU64,
    undo_image_bytes: AtomicU64,
    log_bytes: AtomicU64,
    first_lsn: AtomicU64,
    /// The session's number, or 0.
    session: u64,
}

impl LiveTxn {
    /// One of a session that has done nothing yet.
    pub fn new(options: TxnOptions, session: u64) -> LiveTxn {
        LiveTxn {
            session,
            options: AtomicU8::new(bits_of(options)),
            id: AtomicU64::new(TxnId::NONE.0),
            snapshot: AtomicU64::new(NONE),
            undo_bitmap_bytes: AtomicU64::new(0),
            undo_image_bytes: AtomicU64::new(0),
            log_bytes: AtomicU64::new(0),
            first_lsn: AtomicU64::new(Lsn::ZERO.0),
        }
    }

    /// The next transaction of the same handle begins.
    pub fn begin(&self, options: TxnOptions) {
        self.publish(TxnId::NONE, None, &TxnStatistics::default());
        self.options.store(bits_of(options), Ordering::Release);
    }

    /// It has ended, and another may begin.
    pub fn end(&self) {
        self.options.store(ENDED, Ordering::Release);
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

    /// It has written its first log record, here; told at once, for its statement may run for long.
    pub fn began_to_log(&self, at: Lsn) {
        self.first_lsn.store(at.0, Ordering::Relaxed);
    }

    /// What it told last; none if it has ended.
    pub fn info(&self) -> Option<TxnInfo> {
        let bits = self.options.load(Ordering::Acquire);
        let options = (bits != ENDED).then(|| options_of(bits))?;
        let get = |from: &AtomicU64| from.load(Ordering::Relaxed);
        let id = TxnId(get(&self.id));
        Some(TxnInfo {
            id: (id != TxnId::NONE).then_some(id),
            isolation: options.isolation,
            savepoints: options.savepoints,
            read_only: options.read_only,
            snapshot: Some(get(&self.snapshot)).filter(|number| *number != NONE),
            undo_bitmap_bytes: get(&self.undo_bitmap_bytes),
            undo_image_bytes: get(&self.undo_image_bytes),
            log_bytes: get(&self.log_bytes),
            first_lsn: Lsn(get(&self.first_lsn)),
            session: self.session,
        })
    }
}

/// Bits of no transaction's options.
const ENDED: u8 = u8::MAX;
const SAVEPOINTS: u8 = 4;
const READ_ONLY: u8 = 8;

fn bits_of(options: TxnOptions) -> u8 {
    let level = match options.isolation {
        Isolation::ReadUncommitted => 0,
        Isolation::ReadCommitted => 1,
        Isolation::Snapshot => 2,
        Isolation::Serializable => 3,
    };
    let flag = |set, bit| if set { bit } else { 0 };
    level | flag(options.savepoints, SAVEPOINTS) | flag(options.read_only, READ_ONLY)
}

fn options_of(bits: u8) -> TxnOptions {
    let isolation = match bits & 3 {
        0 => Isolation::ReadUncommitted,
        1 => Isolation::ReadCommitted,
        2 => Isolation::Snapshot,
        _ => Isolation::Serializable,
    };
    TxnOptions { isolation, savepoints: bits & SAVEPOINTS != 0, read_only: bits & READ_ONLY != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_tells_of_its_open_transaction_only() {
        for isolation in [
            Isolation::ReadUncommitted,
            Isolation::ReadCommitted,
            Isolation::Snapshot,
            Isolation::Serializable,
        ] {
            for (savepoints, read_only) in [(false, true), (true, false)] {
                let options = TxnOptions { isolation, savepoints, read_only };
                let live = LiveTxn::new(TxnOptions::default(), 5);
                live.publish(TxnId(7), Some(3), &TxnStatistics { log_bytes: 9, ..TxnStatistics::default() });
                live.end();
                assert!(live.info().is_none());
                live.begin(options);
                let info = live.info().unwrap();
                assert_eq!(
                    (info.isolation, info.savepoints, info.read_only),
                    (isolation, savepoints, read_only)
                );
                assert_eq!((info.id, info.snapshot, info.log_bytes), (None, None, 0));
                assert_eq!((info.first_lsn, info.session), (Lsn::ZERO, 5));
                live.began_to_log(Lsn(77));
                assert_eq!(live.info().unwrap().first_lsn, Lsn(77));
            }
        }
    }
}
