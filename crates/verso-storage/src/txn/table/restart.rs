//! What a checkpoint notes of the transactions, and what a restart makes of it.

use std::collections::{BTreeMap, BTreeSet};

use super::Transactions;
use crate::page::bytes::{checked_slice, checked_u64};
use crate::page::{Flaw, TxnId};
use crate::txn::history::RestoredHistory;

/// What a restart knows. All ids below `next` that are not dead are committed and visible to all.
#[derive(Default)]
pub struct RestoredTransactions {
    /// The next id to be given; 0 counts as 1.
    pub next: u64,
    /// The newest commit number; 0 counts as 1.
    pub commit_counter: u64,
    /// Rolled back, but with changes left in the pages.
    pub dead: BTreeSet<TxnId>,
    /// Prepared and not decided, with what their preparation noted.
    pub limbo: BTreeMap<TxnId, Vec<u8>>,
    /// What became of those from here on is known: the next one of the checkpoint.
    pub known: TxnId,
    /// Those of them of which nothing is left.
    pub undone: BTreeSet<TxnId>,
    /// Marker of the former life.
    pub oit: TxnId,
    /// Marker of the former life.
    pub oat: TxnId,
    /// Marker of the former life.
    pub ost: TxnId,
    /// The past, where it is kept: without it, all that is not dead is committed long ago.
    pub history: Option<RestoredHistory>,
}

impl Transactions {
    /// Appends what a restart needs: next, counter, the markers, the dead, the active that are neither committing nor
    /// prepared, each a little-endian u64, lists with their count in front; then the prepared ones, with their count,
    /// each its id, the length of its note and the note.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut state = self.state.lock();
        let markers = state.markers();
        for number in [state.next, state.newest(), markers.oit.0, markers.oat.0, markers.ost.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let limbo: Vec<(&TxnId, &Vec<u8>)> =
            state.limbo.iter().filter(|(txn, _)| !state.committing.contains(txn)).collect();
        let active: Vec<TxnId> = state
            .active
            .difference(&state.committing)
            .filter(|txn| !state.limbo.contains_key(txn))
            .copied()
            .collect();
        for ids in [state.dead.iter().copied().collect(), active] {
            out.extend_from_slice(&(ids.len() as u64).to_le_bytes());
            ids.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
        }
        out.extend_from_slice(&(limbo.len() as u64).to_le_bytes());
        for (txn, note) in limbo {
            out.extend_from_slice(&txn.0.to_le_bytes());
            out.extend_from_slice(&(note.len() as u64).to_le_bytes());
            out.extend_from_slice(note);
        }
    }

    /// Takes what [`Transactions::encode`] wrote from the front of `bytes`: also the transactions then active.
    ///
    /// # Errors
    /// A flaw if it is cut short or names ids that were never given.
    pub fn decode(bytes: &mut &[u8]) -> Result<(RestoredTransactions, Vec<TxnId>), Flaw> {
        let (next, commit_counter) = (take(bytes)?, take(bytes)?);
        let (oit, oat, ost) = (TxnId(take(bytes)?), TxnId(take(bytes)?), TxnId(take(bytes)?));
        if oit.0.max(oat.0).max(ost.0) > next {
            return Err(Flaw::from("a transaction marker is beyond the next transaction"));
        }
        let dead = take_ids(bytes, next)?.into_iter().collect();
        let active = take_ids(bytes, next)?;
        let mut limbo = BTreeMap::new();
        for _ in 0..take(bytes)? {
            let (id, length) = (take(bytes)?, take(bytes)?);
            if id >= next {
                return Err(Flaw::new(format!("prepared transaction {id} beyond the next one, {next}")));
            }
            let length = usize::try_from(length).map_err(|_| Flaw::from("a note longer than memory"))?;
            limbo.insert(TxnId(id), checked_slice(bytes, 0, length)?.to_vec());
            *bytes = &bytes[length..];
        }
        let (known, undone) = (TxnId(next), BTreeSet::new());
        let restored = RestoredTransactions {
            next,
            commit_counter,
            dead,
            limbo,
            known,
            undone,
            oit,
            oat,
            ost,
            history: None,
        };
        Ok((restored, active))
    }
}

fn take(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    let number = checked_u64(bytes, 0)?;
    *bytes = &bytes[size_of::<u64>()..];
    Ok(number)
}

fn take_ids(bytes: &mut &[u8], next: u64) -> Result<Vec<TxnId>, Flaw> {
    let count = take(bytes)?;
    let mut ids = Vec::new();
    for _ in 0..count {
        let id = take(bytes)?;
        let before = ids.last().map_or(0, |last: &TxnId| last.0);
        if id <= before || id >= next {
            return Err(Flaw::new(format!("transaction {id} out of order in a list below {next}")));
        }
        ids.push(TxnId(id));
    }
    Ok(ids)
}
