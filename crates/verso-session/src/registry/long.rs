//! Transactions that span much log: warned of, their statements cancelled, or their sessions ended. And those whose snapshot is
//! older than snapshots may be.
//!
//! A transaction spans the log from its first record to the end of the log, whoever wrote it: so much of the log is newer than
//! its oldest change. It does not keep the log from being used again; the limit is for those who want no such transactions.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;
use verso_storage::{Engine, Lsn};

use super::{Reason, Registry};
use crate::services::EPOCH_MICROS;

/// What happens to a transaction beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum LongAction {
    /// A line in the program's log.
    Warn,
    /// Its statement ends with an error.
    Cancel,
    /// Its session ends.
    Terminate,
}

impl LongAction {
    /// As the setting spells them.
    pub(crate) const NAMES: [&str; 3] = ["warn", "cancel", "terminate"];

    /// The action of that name.
    pub(crate) fn of(name: &str) -> Option<LongAction> {
        Some(match name.to_ascii_lowercase().as_str() {
            "warn" => LongAction::Warn,
            "cancel" => LongAction::Cancel,
            "terminate" | "kill" => LongAction::Terminate,
            _ => return None,
        })
    }

    fn from_u8(number: u8) -> LongAction {
        match number {
            0 => LongAction::Warn,
            1 => LongAction::Cancel,
            _ => LongAction::Terminate,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        LongAction::NAMES[self as usize]
    }
}

/// `long_tx_wal_limit` and `long_tx_action` of one database, and who was warned of.
pub(crate) struct LongTransactions {
    engine: Engine,
    /// Number of the database in its cluster.
    member: u32,
    /// Bytes; 0 is no limit.
    limit: AtomicU64,
    action: AtomicU8,
    /// Milliseconds; 0 is no limit.
    snapshot_age: AtomicU64,
    /// First records of transactions that were told of already.
    told: Mutex<HashSet<Lsn>>,
}

impl LongTransactions {
    pub(crate) fn new(engine: Engine, member: u32) -> LongTransactions {
        LongTransactions {
            engine,
            member,
            limit: AtomicU64::new(0),
            action: AtomicU8::new(LongAction::Warn as u8),
            snapshot_age: AtomicU64::new(0),
            told: Mutex::default(),
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn action(&self) -> LongAction {
        LongAction::from_u8(self.action.load(Ordering::Relaxed))
    }

    pub(crate) fn set_action(&self, action: LongAction) {
        self.action.store(action as u8, Ordering::Relaxed);
    }

    pub(crate) fn snapshot_age_ms(&self) -> u64 {
        self.snapshot_age.load(Ordering::Relaxed)
    }

    pub(crate) fn set_snapshot_age(&self, ms: u64) {
        self.snapshot_age.store(ms, Ordering::Relaxed);
    }

    /// Ends what reads under a snapshot that is too old: the statement; or the session, where its transaction idles, so that the
    /// snapshot goes.
    fn look_at_snapshots(&self, registry: &Registry) {
        let most = i64::try_from(self.snapshot_age_ms().saturating_mul(1000)).unwrap_or(i64::MAX);
        if most == 0 {
            return;
        }
        let now = self.engine.env().clock.unix_micros() - EPOCH_MICROS;
        for txn in self.engine.transactions() {
            let session = registry.find(txn.session).filter(|info| info.member.number() == self.member);
            let Some(session) = session else { continue };
            let active = session.activity() == super::Activity::Active;
            let Some(since) = session.snapshot_since(txn.isolation) else { continue };
            if now.saturating_sub(since) <= most {
                continue;
            }
            session.interrupt(if active { Reason::OldSnapshot } else { Reason::OldSnapshotEnds });
        }
    }

    /// Acts upon the transactions beyond the limits.
    pub(super) fn look(&self, registry: &Registry) {
        self.look_at_snapshots(registry);
        let limit = self.limit();
        if limit == 0 {
            return;
        }
        let end = self.engine.logged().0;
        let mut long = HashSet::new();
        for txn in self.engine.transactions() {
            let span = end.saturating_sub(txn.first_lsn.0);
            if txn.first_lsn == Lsn::ZERO || txn.session == 0 || span <= limit {
                continue;
            }
            long.insert(txn.first_lsn);
            let session = registry.find(txn.session).filter(|info| info.member.number() == self.member);
            let Some(session) = session else { continue };
            let action = self.action();
            if !self.told.lock().contains(&txn.first_lsn) {
                tracing::warn!(
                    session = txn.session,
                    txn = txn.id.map_or(0, |id| id.0),
                    span,
                    limit,
                    action = action.name(),
                    "a transaction spans more log than long_tx_wal_limit"
                );
            }
            match action {
                LongAction::Warn => {}
                // One that idles has no statement to cancel; the next one is.
                LongAction::Cancel if session.activity() == super::Activity::IdleInTransaction => {
                    session.cancel_next(txn.first_lsn);
                }
                LongAction::Cancel if session.activity() != super::Activity::Active => {}
                LongAction::Cancel => session.interrupt(Reason::LongTransaction),
                LongAction::Terminate => session.interrupt(Reason::LongTransactionEnds),
            }
        }
        *self.told.lock() = long;
    }
}
