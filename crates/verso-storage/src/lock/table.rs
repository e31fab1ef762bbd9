//! The common table of locks: who holds what, who waits for what, in which order.
//!
//! Everything here happens under the manager's mutex.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use super::advisory::AdvisoryKey;
use super::awaited::Awaited;
use super::mode::{RecordLockMode, TableLockMode};
use super::owner::OwnerCore;
use super::pages::{PageLock, PageLocks, TableRecords};
use crate::heap::slots::SlotSet;
use crate::page::{ObjectId, RecordId, TxnId};
use crate::rules::{Rule, disabled};

/// Pages in which an owner's record locks stand one by one.
pub(super) const PAGES_MAX: usize = 4096;

/// Where so many things are locked, or waited for, there are no further advisory locks: each takes some two hundred bytes, and only
/// the application bounds their number.
pub(super) const LOCKS_MAX: usize = 1 << 20;

/// What can be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Tag {
    Table(ObjectId),
    Advisory(AdvisoryKey),
    /// A name of the catalog, as a number that names of other things hardly ever have.
    Name(u64),
    /// Only its queue stands here; holders are in `lock/pages.rs`.
    Record(ObjectId, RecordId),
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A lock on a table or an advisory one.
    Lock { tag: Tag, mode: u8 },
    /// The right to lock or change a record, whose home record `writer` has changed. Who `passes` does not wait for those
    /// whose commit is logged (T3-logged).
    Record { object: ObjectId, record: RecordId, mode: RecordLockMode, writer: TxnId, passes: bool },
    /// The end of a transaction.
    End(TxnId),
}

impl Want {
    /// The queue in which it stands.
    pub(super) fn tag(&self) -> Option<Tag> {
        match self {
            Want::Lock { tag, .. } => Some(*tag),
            Want::Record { object, record, .. } => Some(Tag::Record(*object, *record)),
            Want::End(_) => None,
        }
    }

    /// Whether it does not wait for those whose commit is logged.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Want::Record { passes: true, .. })
    }

    pub(super) fn mode(&self) -> u8 {
        match self {
            Want::Lock { mode, .. } => *mode,
            Want::Record { mode, .. } => *mode as u8,
            Want::End(_) => 0,
        }
    }
}

/// Whether a transaction is in the way of those who pass, or do not pass, one whose commit is logged.
pub(super) type IsActive<'a> = &'a dyn Fn(TxnId, bool) -> bool;

/// The modes that `mode` excludes on things like `tag`.
pub(super) fn conflicts(tag: Tag, mode: u8) -> u8 {
    let table = |mode: u8| TableLockMode::ALL[usize::from(mode)].conflicts();
    match tag {
        Tag::Table(_) | Tag::Advisory(_) | Tag::Name(_) => table(mode),
        Tag::Record(..) => RecordLockMode::ALL[usize::from(mode)].conflicts(),
    }
}

/// One owner's hold on something in one mode.
pub(super) struct Granted {
    pub(super) owner: u64,
    pub(super) mode: u8,
    /// How often for the session and for the transaction.
    pub(super) session: u32,
    pub(super) txn: u32,
    /// The mark at which the transaction first took it.
    pub(super) since: u32,
}

#[derive(Default)]
pub(super) struct Entry {
    pub(super) granted: SmallVec<[Granted; 2]>,
    /// In the order in which they are served.
    pub(super) queue: VecDeque<(u64, u8)>,
}

/// An owner and what it has.
pub(super) struct OwnerState {
    pub(super) core: Arc<OwnerCore>,
    pub(super) tags: BTreeSet<Tag>,
    /// Pages in which it locks records one by one.
    pub(super) pages: Vec<(ObjectId, u32)>,
    /// Tables of which it locks whole pages.
    pub(super) ranges: Vec<ObjectId>,
    pub(super) want: Option<Want>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) tags: BTreeMap<Tag, Entry>,
    pub(super) records: BTreeMap<ObjectId, TableRecords>,
    pub(super) owners: BTreeMap<u64, OwnerState>,
    /// What waits for transactions (A2).
    pub(super) awaited: BTreeMap<TxnId, Awaited>,
    /// Owners that want something.
    pub(super) wanting: usize,
    pub(super) next_owner: u64,
}

impl State {
    /// Modes in which `owner` holds `tag`, a bit each.
    pub(super) fn held(&self, owner: u64, tag: Tag) -> u8 {
        if let Tag::Record(object, record) = tag {
            let own = self.holders(object, record).filter(|(holder, _)| *holder == owner);
            return own.fold(0, |held, (_, mode)| held | 1 << mode as u8);
        }
        let Some(entry) = self.tags.get(&tag) else { return 0 };
        let own = entry.granted.iter().filter(|granted| granted.owner == owner);
        own.fold(0, |held, granted| held | 1 << granted.mode)
    }

    /// Who locks a record explicitly, and how.
    fn holders(&self, object: ObjectId, record: RecordId) -> impl Iterator<Item = (u64, RecordLockMode)> {
        self.records.get(&object).into_iter().flat_map(move |table| table.holders(record))
    }

    pub(super) fn page_locks(&self, object: ObjectId, page: u32) -> &[PageLock] {
        self.records.get(&object).and_then(|table| table.pages.get(&page)).map_or(&[], |locks| &locks[..])
    }

    /// The owners in the way of `owner` getting what it wants; none means that it may have it. Who stands in the queue
    /// already is behind those before it only.
    pub(super) fn blockers(&self, owner: u64, want: &Want, active: IsActive<'_>) -> SmallVec<[u64; 4]> {
        let mut found: SmallVec<[u64; 4]> = self.in_possession(owner, want).collect();
        found.extend(self.writer(owner, want, active, |writer| self.owner_of(writer)));
        found.extend(self.ahead(owner, want));
        found
    }

    /// Whether there are any [`State::blockers`], at the least cost: a look at the queue tells most who wait.
    pub(super) fn is_blocked(&self, owner: u64, want: &Want, active: IsActive<'_>) -> bool {
        self.ahead(owner, want).next().is_some()
            || self.in_possession(owner, want).next().is_some()
            // Whoever it is, he is not the one who waits.
            || self.writer(owner, want, active, |_| Some(0)).is_some()
    }

    /// Those in the way who hold a lock on what `owner` wants.
    pub(super) fn in_possession(&self, owner: u64, want: &Want) -> impl Iterator<Item = u64> {
        let (of_record, of_tag) = match *want {
            Want::End(_) => (None, None),
            Want::Record { object, record, mode, passes, .. } => {
                let denies = move |(holder, held): &(u64, RecordLockMode)| {
                    *holder != owner && mode.excludes(*held) && !(passes && self.is_logged(*holder))
                };
                (Some(self.holders(object, record).filter(denies).map(|(holder, _)| holder)), None)
            }
            Want::Lock { tag, mode } => {
                let excluded = conflicts(tag, mode);
                let granted = self.tags.get(&tag).into_iter().flat_map(|entry| &entry.granted);
                let denies = move |granted: &&Granted| {
                    granted.owner != owner && excluded >> granted.mode & 1 == 1 && !disabled(Rule::T3)
                };
                (None, Some(granted.filter(denies).map(|granted| granted.owner)))
            }
        };
        of_record.into_iter().flatten().chain(of_tag.into_iter().flatten())
    }

    /// The transaction in the way that holds nothing but has changed the record, or whose end is waited for.
    pub(super) fn writer(
        &self,
        owner: u64,
        want: &Want,
        active: IsActive<'_>,
        owner_of: impl FnOnce(TxnId) -> Option<u64>,
    ) -> Option<u64> {
        State::awaited_by(want, active).and_then(owner_of).filter(|by| *by != owner)
    }

    /// Whether the commit of an owner's transaction is logged, so that changes do not wait for it.
    pub(super) fn is_logged(&self, owner: u64) -> bool {
        self.owners.get(&owner).is_some_and(|owner| owner.core.is_logged())
    }

    /// Those in the way who stand before `owner` in the queue, or before the place it would get.
    pub(super) fn ahead(&self, owner: u64, want: &Want) -> impl Iterator<Item = u64> {
        self.ahead_at(owner, want).map(|(_, waiter)| waiter)
    }

    /// As [`State::ahead`], with their places.
    pub(super) fn ahead_at(&self, owner: u64, want: &Want) -> impl Iterator<Item = (usize, u64)> {
        let tag = want.tag();
        let entry = tag.and_then(|tag| self.tags.get(&tag)).filter(|_| !disabled(Rule::T3Fifo));
        let queue = entry.map(|entry| &entry.queue).filter(|queue| !queue.is_empty());
        let held = tag.filter(|_| queue.is_some()).map_or(0, |tag| self.held(owner, tag));
        let excluded = tag.map_or(0, |tag| conflicts(tag, want.mode()));
        queue
            .into_iter()
            .flatten()
            // Its own place is before the first that waits for what it holds.
            .take_while(move |(waiter, mode)| {
                *waiter != owner && tag.is_some_and(|tag| conflicts(tag, *mode) & held == 0)
            })
            .enumerate()
            .filter(move |(_, (_, mode))| excluded >> mode & 1 == 1)
            .map(|(place, (waiter, _))| (place, *waiter))
    }

    /// How many stand before `owner` in the queue; all of them if it does not stand there.
    pub(super) fn place(&self, owner: u64, tag: Tag) -> usize {
        let Some(entry) = self.tags.get(&tag) else { return 0 };
        let place = entry.queue.iter().position(|(waiter, _)| *waiter == owner);
        place.unwrap_or(entry.queue.len())
    }

    /// Whether somebody stands behind `owner` in the queue.
    pub(super) fn is_followed(&self, owner: u64, tag: Tag) -> bool {
        let last = self.tags.get(&tag).and_then(|entry| entry.queue.back());
        last.is_some_and(|(last, _)| *last != owner)
    }

    /// Puts `owner` into the queue: at the end, or before the first that waits for what it holds already, or in front.
    pub(super) fn enqueue(&mut self, owner: u64, want: &Want, front: bool) {
        let Some(tag) = want.tag() else { return };
        let held = self.held(owner, tag);
        let entry = self.tags.entry(tag).or_default();
        if entry.queue.iter().any(|(waiter, _)| *waiter == owner) {
            return;
        }
        let at = entry.queue.iter().position(|(_, mode)| conflicts(tag, *mode) & held != 0);
        let at = if front { 0 } else { at.unwrap_or(entry.queue.len()) };
        entry.queue.insert(at, (owner, want.mode()));
        if let Tag::Record(object, _) = tag
            && let Some(table) = self.records.get(&object)
        {
            table.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes `owner` out of the queue; whether it stood there.
    pub(super) fn dequeue(&mut self, owner: u64, tag: Tag) -> bool {
        let Some(entry) = self.tags.get_mut(&tag) else { return false };
        let Some(at) = entry.queue.iter().position(|(waiter, _)| *waiter == owner) else { return false };
        entry.queue.remove(at);
        self.drop_if_empty(tag);
        if let Tag::Record(object, _) = tag
            && let Some(table) = self.records.get(&object)
        {
            table.count.fetch_sub(1, Ordering::Relaxed);
        }
        true
    }

    /// Gives the lock, which nobody blocks; whether the owner has not had it in this mode.
    pub(super) fn grant(&mut self, owner: u64, tag: Tag, mode: u8, session: bool) -> bool {
        let mark = self.owners.get(&owner).map_or(0, |owner| owner.core.mark());
        self.grant_since(owner, tag, mode, session, mark)
    }

    /// As [`State::grant`], of a lock that was taken at `mark`.
    pub(super) fn grant_since(&mut self, owner: u64, tag: Tag, mode: u8, session: bool, mark: u32) -> bool {
        let entry = self.tags.entry(tag).or_default();
        let own = entry.granted.iter().position(|granted| granted.owner == owner && granted.mode == mode);
        let at = own.unwrap_or_else(|| {
            entry.granted.push(Granted { owner, mode, session: 0, txn: 0, since: mark });
            entry.granted.len() - 1
        });
        let granted = &mut entry.granted[at];
        if granted.txn == 0 {
            granted.since = mark;
        }
        *(if session { &mut granted.session } else { &mut granted.txn }) += 1;
        if own.is_none()
            && let Some(state) = self.owners.get_mut(&owner)
        {
            state.tags.insert(tag);
        }
        own.is_none()
    }

    /// Notes explicit locks of `owner` on records of a page, or on all of it. Who locks records one by one in too many
    /// pages has whole pages from then on.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one lock")]
    pub(super) fn lock_slots(
        &mut self,
        owner: u64,
        object: ObjectId,
        count: &Arc<AtomicU32>,
        page: u32,
        slots: &[u16],
        mode: RecordLockMode,
        whole: bool,
    ) {
        let Some(state) = self.owners.get_mut(&owner) else { return };
        let since = state.core.mark();
        let table = self.records.entry(object).or_insert_with(|| TableRecords::new(count));
        if whole || table.ranges.contains_key(&(owner, mode)) {
            return self.lock_pages(owner, object, count, page..=page, mode);
        }
        let locks = table.pages.entry(page).or_insert_with(|| {
            table.count.fetch_add(1, Ordering::Relaxed);
            PageLocks::new()
        });
        let known = locks.iter().any(|lock| lock.owner == owner);
        let mut own = locks.iter_mut().filter(|lock| lock.owner == owner && lock.mode == mode);
        // What it has is not taken anew: it stays past a rollback to this savepoint.
        let mut new: SmallVec<[u16; 32]> = SmallVec::from_slice(slots);
        let mut newest = None;
        for lock in &mut own {
            new.retain(|slot| !lock.slots.contains(*slot));
            if lock.since == since {
                newest = Some(lock);
            }
        }
        let added = crate::heap::slots::Slots::from_list(&new);
        match newest {
            Some(lock) => {
                lock.slots.extend(added);
            }
            None if new.is_empty() => {}
            None => locks.push(PageLock { owner, mode, since, slots: added.into() }),
        }
        if !known {
            state.pages.push((object, page));
            if state.pages.len() > PAGES_MAX && !disabled(Rule::T3Pages) {
                self.escalate(owner);
            }
        }
    }

    /// Notes explicit locks of `owner` on whole pages.
    pub(super) fn lock_pages(
        &mut self,
        owner: u64,
        object: ObjectId,
        count: &Arc<AtomicU32>,
        pages: RangeInclusive<u32>,
        mode: RecordLockMode,
    ) {
        let Some(state) = self.owners.get_mut(&owner) else { return };
        let table = self.records.entry(object).or_insert_with(|| TableRecords::new(count));
        table.lock_range((owner, mode), *pages.start(), *pages.end(), state.core.mark());
        if !state.ranges.contains(&object) {
            state.ranges.push(object);
        }
    }

    /// Makes all of an owner's record locks locks of whole pages.
    fn escalate(&mut self, owner: u64) {
        let Some(state) = self.owners.get_mut(&owner) else { return };
        for (object, page) in std::mem::take(&mut state.pages) {
            let Some(table) = self.records.get_mut(&object) else { continue };
            let locks = table.pages.get(&page).into_iter().flatten();
            let own: SmallVec<[(RecordLockMode, u32); 4]> =
                locks.filter(|lock| lock.owner == owner).map(|lock| (lock.mode, lock.since)).collect();
            for (mode, since) in own {
                table.lock_range((owner, mode), page, page, since);
            }
            table.unlock_page(page, |lock| lock.owner == owner);
            if !state.ranges.contains(&object) {
                state.ranges.push(object);
            }
        }
    }

    pub(super) fn drop_if_empty(&mut self, tag: Tag) {
        if self.tags.get(&tag).is_some_and(|entry| entry.granted.is_empty() && entry.queue.is_empty()) {
            self.tags.remove(&tag);
        }
    }

    /// Wakes those in the queue of `tag` that nobody blocks any more.
    pub(super) fn wake_queue(&self, tag: Tag, active: IsActive<'_>) {
        let Some(entry) = self.tags.get(&tag) else { return };
        let holders: SmallVec<[u64; 8]> = match tag {
            Tag::Record(object, record) => self.holders(object, record).map(|(holder, _)| holder).collect(),
            Tag::Table(_) | Tag::Advisory(_) | Tag::Name(_) => {
                entry.granted.iter().map(|granted| granted.owner).collect()
            }
        };
        let mut ahead = 0;
        for (waiter, mode) in &entry.queue {
            // Most stand behind one whom they would exclude; who holds the thing already may go before him.
            let behind = conflicts(tag, *mode) & ahead != 0 && !disabled(Rule::T3Fifo);
            ahead |= 1 << mode;
            if behind && !holders.contains(waiter) {
                continue;
            }
            if let Some(OwnerState { core, want: Some(want), .. }) = self.owners.get(waiter)
                && want.tag() == Some(tag)
                && !self.is_blocked(*waiter, want, active)
            {
                core.wake.notify_all();
            }
        }
    }

    /// Queues of records of a page.
    pub(super) fn queues_of(
        &self,
        object: ObjectId,
        page_index: u32,
        slots: &SlotSet,
    ) -> impl Iterator<Item = Tag> {
        let (first, last) = match slots {
            SlotSet::Run { first, count } => (*first, first.saturating_add(count.saturating_sub(1))),
            SlotSet::Bits(_) => (0, u16::MAX),
        };
        let at = |slot: u16| Tag::Record(object, RecordId { page_index, slot });
        let tags = self.tags.range(at(first)..=at(last)).map(|(tag, _)| *tag);
        tags.filter(move |tag| matches!(tag, Tag::Record(_, record) if slots.contains(record.slot)))
    }

    /// Wakes those in the queues of records of a page whom nobody blocks any more.
    pub(super) fn wake_queues(&self, object: ObjectId, page: u32, slots: &SlotSet, active: IsActive<'_>) {
        self.queues_of(object, page, slots).for_each(|tag| self.wake_queue(tag, active));
    }

    /// Wakes those in the queues of a table's records whom nobody blocks any more.
    pub(super) fn wake_all_queues(&self, object: ObjectId, active: IsActive<'_>) {
        let at = |page_index: u32, slot: u16| Tag::Record(object, RecordId { page_index, slot });
        let range = at(0, 0)..=at(u32::MAX, u16::MAX);
        self.tags.range(range).for_each(|(tag, _)| self.wake_queue(*tag, active));
    }
}
