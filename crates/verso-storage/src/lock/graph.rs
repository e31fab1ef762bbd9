//! Deadlocks: who waits for whom, over all kinds of waits.
//!
//! W1. Edges are not stored: whom a wait is for is looked up in the lock table when asked, so a lock granted later needs
//!     no new edge.
//! W2. Only an owner that does not wait gets locks, so only a new wait can close a cycle; who closes it gives way.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::mode::{RecordLockMode, TableLockMode};
use super::table::{IsActive, State, Tag, Want};
use crate::page::TxnId;
use crate::rules::{Rule, disabled};

/// Whether `owner` waits for itself, and if so along which way, a line for each wait.
pub(super) fn cycle(state: &State, owner: u64, active: IsActive<'_>) -> Option<String> {
    if disabled(Rule::T3Deadlock) {
        return None;
    }
    let mut from: BTreeMap<u64, u64> = BTreeMap::new();
    let mut seen = BTreeSet::from([owner]);
    let mut open = vec![owner];
    // Those who stand in one queue mostly wait for one transaction and for each other: its owner is looked for once, and
    // in the way of whoever stands before one who wants the same and was followed already there is nobody who was not.
    let mut writers: BTreeMap<TxnId, Option<u64>> = BTreeMap::new();
    let mut queues: BTreeMap<(Tag, u8, bool), usize> = BTreeMap::new();
    while let Some(waiter) = open.pop() {
        let Some(want) = state.owners.get(&waiter).and_then(|waiter| waiter.want.as_ref()) else { continue };
        let mut owner_of = |txn| *writers.entry(txn).or_insert_with(|| state.owner_of(txn));
        let mut blockers: SmallVec<[u64; 4]> = SmallVec::new();
        blockers.extend(state.writer(waiter, want, active, &mut owner_of));
        if let Some(tag) = want.tag() {
            let (place, key) = (state.place(waiter, tag), (tag, want.mode(), want.passes()));
            if queues.get(&key).is_none_or(|followed| place > *followed) {
                blockers.extend(state.in_possession(waiter, want));
                blockers.extend(state.ahead(waiter, want));
                // Who holds the thing already does not wait for all before him, and others wait for him.
                if state.held(waiter, tag) == 0 {
                    queues.insert(key, place);
                }
            }
        }
        for blocker in blockers {
            if blocker == owner {
                return Some(describe(state, owner, waiter, &from));
            }
            if seen.insert(blocker) {
                from.insert(blocker, waiter);
                open.push(blocker);
            }
        }
    }
    None
}

fn describe(state: &State, owner: u64, last: u64, from: &BTreeMap<u64, u64>) -> String {
    let mut way = vec![last];
    while let Some(before) = from.get(&way[way.len() - 1]) {
        way.push(*before);
    }
    way.reverse();
    let label =
        |id: u64| state.owners.get(&id).map_or_else(|| format!("owner {id}"), |owner| owner.core.label());
    let line = |index: usize| {
        let waiter = way[index];
        let by = way.get(index + 1).copied().unwrap_or(owner);
        let want = state.owners.get(&waiter).and_then(|waiter| waiter.want);
        let mut who = label(waiter);
        who[..1].make_ascii_uppercase();
        format!(
            "{who} waits for {}; blocked by {}.",
            want.map_or_else(String::new, |want| name(&want)),
            label(by)
        )
    };
    (0..way.len()).map(line).collect::<Vec<_>>().join("\n")
}

/// What is wanted, in PostgreSQL's words.
fn name(want: &Want) -> String {
    match *want {
        Want::End(txn) => format!("ShareLock on transaction {txn}"),
        Want::Record { writer, .. } if writer != TxnId::NONE => format!("ShareLock on transaction {writer}"),
        Want::Record { object, record, mode, .. } => {
            format!("{} lock on {record} of {object}", RecordLockMode::ALL[mode as usize].name())
        }
        Want::Lock { tag, mode } => {
            let mode = TableLockMode::ALL[usize::from(mode)].name();
            match tag {
                Tag::Table(object) => format!("{mode} on {object}"),
                Tag::Advisory(key) => format!("{mode} on advisory lock [{key}]"),
                Tag::Record(object, record) => format!("{mode} on {record} of {object}"),
            }
        }
    }
}
