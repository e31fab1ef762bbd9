//! Prepared transactions: somebody else decides how they end, perhaps after a restart.
//!
//! Active ── PREPARED in the log ──► Limbo ─┬─► Committed     commit_prepared
//!                                          └─► Dead          rollback_prepared; backed out in the background
//!
//! P1. The log record, and checkpoints after it, hold name, owner, time and locks, so that a restart finds the transaction
//!     in limbo: its changes stay invisible and, as the home writer, it goes on locking them; locks on tables and explicit
//!     ones on records are taken again before anybody else can ask.
//! P2. A name is taken from before the record is written until the decision is in the log.
//! P3. The locks change hands when the record is durable: a transaction whose preparation fails rolls back under its locks.
//!
//! Note (little-endian): `time i64 | name | owner | locks`, texts with their length (u16) in front; locks are
//! `count u32 | (table u32, modes u8) …`, then `count u32 | (table u32, page u32, mode u8, slots) …`, then
//! `count u32 | (table u32, mode u8, first page u32, last page u32) …`, then `count u32 | (name u64, modes u8) …`.
//! What a serializable transaction has read before it was prepared is not known after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ssi::Reader;
use super::transaction::Txn;
use crate::lock::LockOwner;
use crate::mini::Mini;
use crate::page::bytes::{checked_slice, checked_u16, checked_u64};
use crate::page::{Flaw, Lsn, TxnId};
use crate::shared::Shared;
use crate::wal::RecordKind;
use crate::{Engine, ObjectId, PageId, StorageError};

/// A prepared transaction.
pub struct Prepared {
    txn: TxnId,
    by: String,
    at_unix_micros: i64,
    owner: LockOwner,
    reader: Option<Arc<Reader>>,
    /// Its record is durable.
    ready: bool,
}

/// A prepared transaction, for monitoring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedInfo {
    /// The name given to it.
    pub name: String,
    /// Its number.
    pub txn: TxnId,
    /// Who prepared it.
    pub by: String,
    /// When, in microseconds since 1970.
    pub at_unix_micros: i64,
}

/// Writes the record; then the transaction's locks go to an owner of their own.
pub(crate) fn prepare(txn: &mut Txn, name: &str, by: &str) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let at_unix_micros = shared.env.clock.unix_micros();
    let mut note = at_unix_micros.to_le_bytes().to_vec();
    for text in [name, by] {
        let length = u16::try_from(text.len()).map_err(|_| StorageError::TooLarge {
            what: "the name of a prepared transaction".into(),
            size: text.len() as u64,
            limit: u64::from(u16::MAX),
        })?;
        note.extend_from_slice(&length.to_le_bytes());
        note.extend_from_slice(text.as_bytes());
    }
    shared.locks.encode_of(&txn.owner, &mut note);
    let owner = shared.locks.register(0);
    {
        let mut names = shared.prepared.lock();
        if names.contains_key(name) {
            return Err(StorageError::PreparedExists(name.to_owned()));
        }
        let reader = txn.reader.clone();
        let entry = Prepared { txn: txn.id, by: by.to_owned(), at_unix_micros, owner, reader, ready: false };
        names.insert(name.to_owned(), entry);
    }
    let mut mini = Mini::begin(shared.core(), txn.id);
    if let Err(error) = mini.state(RecordKind::PREPARED, &note) {
        // Nothing is logged: the transaction still has its locks, and rolls back under them (P3).
        shared.prepared.lock().remove(name);
        return Err(error);
    }
    let logged = mini.commit_with(|_, _| shared.transactions.mark_prepared(txn.id, note));
    if let Err(error) = logged.and_then(|(_, end)| shared.core().wal.flush(end)) {
        // In doubt until the restart: it keeps its locks, and nobody waits for them any more.
        shared.locks.fail(&error);
        txn.leave_in_doubt();
        return Err(error);
    }
    let mut names = shared.prepared.lock();
    let entry = names.get_mut(name).expect("nobody else removes what is not ready");
    shared.locks.hand_over(&txn.owner, &entry.owner.core);
    entry.ready = true;
    Ok(())
}

/// Takes up the transactions that were in limbo when the database was left.
pub(crate) fn restore(shared: &Arc<Shared>, limbo: BTreeMap<TxnId, Vec<u8>>) -> Result<(), StorageError> {
    for (txn, note) in limbo {
        let flaw = |flaw: Flaw| StorageError::corrupt(PageId(0), ObjectId::SYSTEM, flaw);
        let mut at = 8;
        let at_unix_micros = checked_u64(&note, 0).map_err(flaw)? as i64;
        let mut text = || -> Result<String, Flaw> {
            let length = usize::from(checked_u16(&note, at)?);
            let bytes = checked_slice(&note, at + 2, length)?;
            at += 2 + length;
            String::from_utf8(bytes.to_vec()).map_err(|_| Flaw::from("a name that is no text"))
        };
        let (name, by) = (text().map_err(flaw)?, text().map_err(flaw)?);
        let owner = shared.locks.register(0);
        owner.core.begin(txn);
        // Of an unlogged table nothing is left to be locked (U2).
        let counter = |object| {
            let heap = shared.heap_if_there(object)?;
            Ok(heap.map_or_else(Arc::default, |heap| Arc::clone(&heap.explicit_locks)))
        };
        shared.locks.restore(&owner.core, &note[at..], counter)?;
        let entry = Prepared { txn, by, at_unix_micros, owner, reader: None, ready: true };
        shared.prepared.lock().insert(name, entry);
    }
    Ok(())
}

impl Engine {
    /// Commits a prepared transaction.
    ///
    /// # Errors
    /// `NoSuchPrepared`; `Poisoned` when the log failed.
    pub fn commit_prepared(&self, name: &str) -> Result<(), StorageError> {
        self.decide(name, true, |_| true).map(drop)
    }

    /// Rolls a prepared transaction back; it is backed out in the background.
    ///
    /// # Errors
    /// As [`Engine::commit_prepared`].
    pub fn rollback_prepared(&self, name: &str) -> Result<(), StorageError> {
        self.decide(name, false, |_| true).map(drop)
    }

    /// Commits a prepared transaction or rolls it back, if `may` says so of the name that it was prepared by; whether it
    /// did.
    ///
    /// # Errors
    /// As [`Engine::commit_prepared`].
    pub fn decide(
        &self,
        name: &str,
        commit: bool,
        may: impl FnOnce(&str) -> bool,
    ) -> Result<bool, StorageError> {
        let shared = self.shared();
        let txn = {
            let mut names = shared.prepared.lock();
            let entry = names.get_mut(name).filter(|entry| entry.ready);
            let entry = entry.ok_or_else(|| StorageError::NoSuchPrepared(name.to_owned()))?;
            if !may(&entry.by) {
                return Ok(false);
            }
            // Nobody else decides meanwhile.
            entry.ready = false;
            entry.txn
        };
        let mut mini = Mini::begin(shared.core(), txn);
        if commit {
            mini.state(RecordKind::COMMIT, &shared.core().wal.commit_stamp())?;
            let (wal, mut needs) = (&shared.core().wal, Lsn::ZERO);
            mini.commit_with(|_, end| needs = shared.transactions.mark_committing(txn, end))?;
            wal.flush(needs)?;
            shared.publish(wal.durable());
        } else {
            mini.state(RecordKind::DEAD, &[0])?;
            let (_, end) = mini.commit_with(|_, _| shared.transactions.mark_dead(txn))?;
            // The coordinator forgets the name when this returns, so it must not come back.
            shared.core().wal.flush(end)?;
        }
        shared.versions.ended(txn, &shared.transactions);
        let entry = shared.prepared.lock().remove(name);
        if let Some(Prepared { reader, owner, .. }) = entry {
            if let Some(reader) = reader {
                reader.ended(commit);
            }
            drop(owner);
        }
        Ok(true)
    }

    /// The prepared transactions, by name.
    pub fn prepared(&self) -> Vec<PreparedInfo> {
        let names = self.shared().prepared.lock();
        let info = |(name, entry): (&String, &Prepared)| PreparedInfo {
            name: name.clone(),
            txn: entry.txn,
            by: entry.by.clone(),
            at_unix_micros: entry.at_unix_micros,
        };
        names.iter().filter(|(_, entry)| entry.ready).map(info).collect()
    }
}
