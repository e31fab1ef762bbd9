//! Deadlocks: who waits for whom, over all kinds of waits.
//!
//! W1. Edges are not stored: whom a wait is for is looked up in the lock table when asked, so a lock granted later needs
//!     no new edge.
//! W2. Only an owner that does not wait gets locks, so only a new wait can close a cycle; who closes it gives way, unless
//!     W4 helps.
//! W3. Only an owner that somebody waits for can close one; most that wait have nothing that anybody wants, and are not
//!     looked at further.
//! W4. Somebody who waits only because he came later may go before: a circle with such a wait is opened by another order
//!     of the queue, as long as no order closes another circle.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::mode::{RecordLockMode, TableLockMode};
use super::table::{IsActive, State, Tag, Want};
use crate::page::TxnId;
use crate::rules::{Rule, disabled};

/// One wait of a circle.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    waiter: u64,
    blocker: u64,
    /// The blocker has nothing that is wanted, it only stands before the waiter in a queue.
    soft: bool,
}

/// The waits by which `owner` waits for itself, if it does: its own first.
pub(super) fn cycle(state: &State, owner: u64, active: IsActive<'_>) -> Option<Vec<Edge>> {
    if disabled(Rule::T3Deadlock) || !may_be_waited_for(state, owner) {
        return None;
    }
    let mut from: BTreeMap<u64, Edge> = BTreeMap::new();
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
            let edge = Edge { waiter, blocker, soft: place.is_some() };
            if blocker == owner {
                let mut edges = vec![edge];
                while let Some(before) = from.get(&edges[edges.len() - 1].waiter) {
                    edges.push(*before);
                }
                edges.reverse();
                return Some(edges);
            }
            if seen.insert(blocker) {
                from.insert(blocker, edge);
                open.push((blocker, place));
            }
        }
    }
    None
}

/// Somebody who goes before another one in a queue now, though he came later (W4).
struct Turn {
    tag: Tag,
    first: u64,
    second: u64,
}

impl Turn {
    fn holds(&self, state: &State) -> bool {
        let Some(entry) = state.tags.get(&self.tag) else { return true };
        let place = |owner| entry.queue.iter().position(|(waiter, _)| *waiter == owner);
        place(self.first) < place(self.second)
    }
}

/// Opens a circle of waits that `owner` has closed by letting some go before others in queues (W4); the queues that have
/// changed. `Err` when there is no such way: what the circle looks like.
///
/// PostgreSQL's deadlock.c, `DeadLockCheckRecurse`.
pub(super) fn rearrange(
    state: &mut State,
    owner: u64,
    circle: &[Edge],
    active: IsActive<'_>,
) -> Result<Vec<Tag>, String> {
    let (mut turns, mut tries) = (Vec::new(), TRIES);
    if turn(state, owner, circle, active, &mut turns, &mut tries) {
        return Ok(turns.iter().map(|turn| turn.tag).collect());
    }
    Err(describe(state, circle, active))
}

/// Orders of queues that are looked at before the circle counts as one that nothing opens.
const TRIES: usize = 64;

fn turn(
    state: &mut State,
    owner: u64,
    circle: &[Edge],
    active: IsActive<'_>,
    turns: &mut Vec<Turn>,
    tries: &mut usize,
) -> bool {
    for edge in circle.iter().filter(|edge| edge.soft) {
        let want = state.owners.get(&edge.waiter).and_then(|waiter| waiter.want);
        let Some(tag) = want.as_ref().and_then(Want::tag) else { continue };
        let is_back = |turn: &Turn| (turn.tag, turn.first, turn.second) == (tag, edge.blocker, edge.waiter);
        if *tries == 0 || turns.iter().any(is_back) {
            continue;
        }
        *tries -= 1;
        let Some(entry) = state.tags.get_mut(&tag) else { continue };
        let place = |owner| entry.queue.iter().position(|(waiter, _)| *waiter == owner);
        let (Some(before), Some(at)) = (place(edge.blocker), place(edge.waiter)) else { continue };
        let queue = entry.queue.clone();
        let Some(waiting) = entry.queue.remove(at) else { continue };
        entry.queue.insert(before, waiting);
        turns.push(Turn { tag, first: edge.waiter, second: edge.blocker });
        if turns.iter().all(|turn| turn.holds(state)) {
            let concerned = turns.iter().flat_map(|turn| [turn.first, turn.second]);
            let concerned: BTreeSet<u64> = concerned.chain([owner]).collect();
            match concerned.into_iter().find_map(|other| cycle(state, other, active)) {
                None => return true,
                Some(left) if turn(state, owner, &left, active, turns, tries) => return true,
                Some(_) => {}
            }
        }
        turns.pop();
        if let Some(entry) = state.tags.get_mut(&tag) {
            entry.queue = queue;
        }
    }
    false
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

fn describe(state: &State, circle: &[Edge], active: IsActive<'_>) -> String {
    let label =
        |id: u64| state.owners.get(&id).map_or_else(|| format!("owner {id}"), |owner| owner.core.label());
    let line = |edge: &Edge| {
        let want = state.owners.get(&edge.waiter).and_then(|waiter| waiter.want);
        let mut who = label(edge.waiter);
        who[..1].make_ascii_uppercase();
        format!(
            "{who} waits for {}; blocked by {}.",
            want.map_or_else(String::new, |want| name(&want, State::awaited_by(&want, active))),
            label(edge.blocker)
        )
    };
    circle.iter().map(line).collect::<Vec<_>>().join("\n")
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
                Tag::Name(_) => format!("{mode} on a name of the catalog"),
                Tag::Record(object, record) => format!("{mode} on {record} of {object}"),
            }
        }
    }
}
