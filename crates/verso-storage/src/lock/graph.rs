//! Deadlocks: who waits for whom, over all kinds of waits.
//!
//! W1. Edges are not stored: whom a wait is for is looked up in the lock table when asked, so a lock granted later needs
//!     no new edge.
//! W2. Only an owner that does not wait gets locks, so only a new wait can close a cycle; who closes it gives way.
//! W3. Only an owner that somebody waits for can close one; most that wait have nothing that anybody wants, and are not
//!     looked at further.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::mode::{RecordLockMode, TableLockMode};
use super::table::{IsActive, State, Tag, Want};
use crate::page::TxnId;
use crate::rules::{Rule, disabled};

/// Whether `owner` waits for itself, and if so along which way, a line for each wait.
pub(super) fn cycle(state: &State, owner: u64, active: IsActive<'_>) -> Option<String> {
    if disabled(Rule::T3Deadlock) || !may_be_waited_for(state, owner) {
        return None;
    }
    let mut from: BTreeMap<u64, u64> = BTreeMap::new();
    let mut seen = BTreeSet::from([owner]);
    let mut open = vec![(owner, None)];
    // Those who stand in one queue mostly wait for each other: in the way of whoever stands before one who wants the same
    // and was followed already there is nobody who was not.
    let mut queues: BTreeMap<(Tag, u8, bool), usize> = BTreeMap::new();
    while let Some((waiter, place)) = open.pop() {
        let Some(want) = state.owners.get(&waiter).and_then(|waiter| waiter.want.as_ref()) else { continue };
        let mut blockers: SmallVec<[(u64, Option<usize>); 4]> = SmallVec::new();
        blockers.extend(state.writer(waiter, want, active, |txn| state.owner_of(txn)).map(|by| (by, None)));
        if let Some(tag) = want.tag() {
            let place = place.unwrap_or_else(|| state.place(waiter, tag));
            let key = (tag, want.mode(), want.passes());
            if queues.get(&key).is_none_or(|followed| place > *followed) {
                blockers.extend(state.in_possession(waiter, want).map(|by| (by, None)));
                blockers.extend(state.ahead_at(waiter, want).map(|(place, by)| (by, Some(place))));
                // Who holds the thing already does not wait for all before him, and others wait for him.
                if state.held(waiter, tag) == 0 {
                    queues.insert(key, place);
                }
            }
        }
        for (blocker, place) in blockers {
            if blocker == owner {
                return Some(describe(state, owner, waiter, &from, active));
            }
            if seen.insert(blocker) {
                from.insert(blocker, waiter);
                open.push((blocker, place));
            }
        }
    }
    None
}

/// Whether somebody may wait for `owner` (W3).
fn may_be_waited_for(state: &State, owner: u64) -> bool {
    /// With more pages it is cheaper to follow the waits.
    const PAGES_LOOKED_AT: usize = 64;
    let Some(waiter) = state.owners.get(&owner) else { return false };
    let wanted = waiter.want.as_ref().and_then(Want::tag);
    let is_queued = |tag: &Tag| state.tags.get(tag).is_some_and(|entry| !entry.queue.is_empty());
    state.awaited.contains_key(&waiter.core.txn())
        || wanted.is_some_and(|tag| state.is_followed(owner, tag))
        || waiter.tags.iter().any(is_queued)
        || !waiter.ranges.is_empty()
        || waiter.pages.len() > PAGES_LOOKED_AT
        || waiter.pages.iter().any(|(object, page)| {
            let mut locks = state.page_locks(*object, *page).iter().filter(|lock| lock.owner == owner);
            locks.any(|lock| state.queues_of(*object, *page, &lock.slots).any(|tag| Some(tag) != wanted))
        })
}

fn describe(state: &State, owner: u64, last: u64, from: &BTreeMap<u64, u64>, active: IsActive<'_>) -> String {
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
            want.map_or_else(String::new, |want| name(&want, State::awaited_by(&want, active))),
            label(by)
        )
    };
    (0..way.len()).map(line).collect::<Vec<_>>().join("\n")
}

/// What is wanted, in PostgreSQL's words; `writer` is the transaction in the way, if one is.
fn name(want: &Want, writer: Option<TxnId>) -> String {
    if let Some(txn) = writer {
        return format!("ShareLock on transaction {txn}");
    }
    match *want {
        Want::End(txn) => format!("ShareLock on transaction {txn}"),
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
