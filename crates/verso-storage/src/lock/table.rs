//! The common table of locks: who holds what, who waits for what, in which order.
//!
//! Everything here happens under the manager's mutex.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use super::advisory::AdvisoryKey;
use super::mode::{RecordLockMode, TableLockMode};
use super::owner::OwnerCore;
use crate::heap::slots::SlotSet;
use crate::page::{ObjectId, RecordId, TxnId};
use crate::rules::{Rule, disabled};

/// What can be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Tag {
    Table(ObjectId),
    Advisory(AdvisoryKey),
    /// Only its queue stands here; holders are in [`Records`].
    Record(ObjectId, RecordId),
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A lock on a table or an advisory one.
    Lock { tag: Tag, mode: u8 },
    /// The right to lock or change a record, whose home record `writer` has changed.
    Record { object: ObjectId, record: RecordId, mode: RecordLockMode, writer: TxnId },
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

    pub(super) fn mode(&self) -> u8 {
        match self {
            Want::Lock { mode, .. } => *mode,
            Want::Record { mode, .. } => *mode as u8,
            Want::End(_) => 0,
        }
    }
}

/// The modes that `mode` excludes on things like `tag`.
pub(super) fn conflicts(tag: Tag, mode: u8) -> u8 {
    let table = |mode: u8| TableLockMode::ALL[usize::from(mode)].conflicts();
    match tag {
        Tag::Table(_) | Tag::Advisory(_) => table(mode),
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
}

#[derive(Default)]
pub(super) struct Entry {
    pub(super) granted: SmallVec<[Granted; 2]>,
    /// In the order in which they are served.
    pub(super) queue: VecDeque<(u64, u8)>,
}

/// Explicit record locks of one page: who locks which slots how.
pub(super) type PageLocks = SmallVec<[(u64, RecordLockMode, SlotSet); 1]>;

/// Explicit record locks of one table.
pub(super) struct TableRecords {
    /// Pages with locks and records with queues, for who wants to know without the mutex.
    pub(super) count: Arc<AtomicU32>,
    pub(super) pages: BTreeMap<u32, PageLocks>,
}

/// An owner and what it has.
pub(super) struct OwnerState {
    pub(super) core: Arc<OwnerCore>,
    pub(super) tags: Vec<Tag>,
    /// Pages in which it locks records.
    pub(super) pages: Vec<(ObjectId, u32)>,
    pub(super) want: Option<Want>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) tags: HashMap<Tag, Entry>,
    pub(super) records: HashMap<ObjectId, TableRecords>,
    pub(super) owners: BTreeMap<u64, OwnerState>,
    pub(super) next_owner: u64,
}

impl State {
    /// Modes in which `owner` holds `tag`, a bit each.
    pub(super) fn held(&self, owner: u64, tag: Tag) -> u8 {
        if let Tag::Record(object, record) = tag {
            let page = self.page_locks(object, record.page_index);
            let own =
                page.iter().filter(|(holder, _, slots)| *holder == owner && slots.contains(record.slot));
            return own.fold(0, |held, (_, mode, _)| held | 1 << *mode as u8);
        }
        let Some(entry) = self.tags.get(&tag) else { return 0 };
        let own = entry.granted.iter().filter(|granted| granted.owner == owner);
        own.fold(0, |held, granted| held | 1 << granted.mode)
    }

    pub(super) fn page_locks(&self, object: ObjectId, page: u32) -> &[(u64, RecordLockMode, SlotSet)] {
        self.records.get(&object).and_then(|table| table.pages.get(&page)).map_or(&[], |locks| &locks[..])
    }

    /// The owners in the way of `owner` getting what it wants; none means that it may have it. Who stands in the queue
    /// already is behind those before it only.
    pub(super) fn blockers(
        &self,
        owner: u64,
        want: &Want,
        active: &dyn Fn(TxnId) -> bool,
    ) -> SmallVec<[u64; 4]> {
        let mut found = SmallVec::new();
        let mut writer = TxnId::NONE;
        match *want {
            Want::End(txn) => writer = txn,
            Want::Record { object, record, mode, writer: by } => {
                writer = by;
                for (holder, held, slots) in self.page_locks(object, record.page_index) {
                    if *holder != owner && mode.excludes(*held) && slots.contains(record.slot) {
                        found.push(*holder);
                    }
                }
            }
            Want::Lock { tag, mode } => {
                let excluded = conflicts(tag, mode);
                let entry = self.tags.get(&tag);
                for granted in entry.iter().flat_map(|entry| &entry.granted) {
                    let denies = excluded >> granted.mode & 1 == 1 && !disabled(Rule::T3);
                    if granted.owner != owner && denies {
                        found.push(granted.owner);
                    }
                }
            }
        }
        if writer != TxnId::NONE && active(writer) {
            let by = self.owners.values().find(|other| other.core.txn() == writer);
            found.extend(by.map(|other| other.core.id).filter(|by| *by != owner));
        }
        if let Some(tag) = want.tag()
            && let Some(entry) = self.tags.get(&tag).filter(|_| !disabled(Rule::T3Fifo))
        {
            let held = self.held(owner, tag);
            let excluded = conflicts(tag, want.mode());
            for (waiter, mode) in &entry.queue {
                // Its own place is before the first that waits for what it holds.
                if *waiter == owner || conflicts(tag, *mode) & held != 0 {
                    break;
                }
                if excluded >> mode & 1 == 1 {
                    found.push(*waiter);
                }
            }
        }
        found
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
        let entry = self.tags.entry(tag).or_default();
        let own = entry.granted.iter().position(|granted| granted.owner == owner && granted.mode == mode);
        let at = own.unwrap_or_else(|| {
            entry.granted.push(Granted { owner, mode, session: 0, txn: 0 });
            entry.granted.len() - 1
        });
        let granted = &mut entry.granted[at];
        *(if session { &mut granted.session } else { &mut granted.txn }) += 1;
        if own.is_none()
            && let Some(state) = self.owners.get_mut(&owner)
            && !state.tags.contains(&tag)
        {
            state.tags.push(tag);
        }
        own.is_none()
    }

    /// Notes explicit locks of `owner` on records of a page.
    pub(super) fn lock_slots(
        &mut self,
        owner: u64,
        object: ObjectId,
        count: &Arc<AtomicU32>,
        page: u32,
        slots: &[u16],
        mode: RecordLockMode,
    ) {
        let table = self
            .records
            .entry(object)
            .or_insert_with(|| TableRecords { count: Arc::clone(count), pages: BTreeMap::new() });
        let locks = table.pages.entry(page).or_insert_with(|| {
            table.count.fetch_add(1, Ordering::Relaxed);
            PageLocks::new()
        });
        let mut known = false;
        let mut at = None;
        for (index, (holder, held, _)) in
            locks.iter().enumerate().filter(|(_, (holder, ..))| *holder == owner)
        {
            let _ = holder;
            known = true;
            if *held == mode {
                at = Some(index);
            }
        }
        let at = at.unwrap_or_else(|| {
            locks.push((owner, mode, SlotSet::default()));
            locks.len() - 1
        });
        locks[at].2.extend(crate::heap::slots::Slots::from_list(slots));
        if !known && let Some(state) = self.owners.get_mut(&owner) {
            state.pages.push((object, page));
        }
    }

    pub(super) fn drop_if_empty(&mut self, tag: Tag) {
        if self.tags.get(&tag).is_some_and(|entry| entry.granted.is_empty() && entry.queue.is_empty()) {
            self.tags.remove(&tag);
        }
    }

    /// Wakes those in the queue of `tag` that nobody blocks any more.
    pub(super) fn wake_queue(&self, tag: Tag, active: &dyn Fn(TxnId) -> bool) {
        let Some(entry) = self.tags.get(&tag) else { return };
        for (waiter, _) in &entry.queue {
            if let Some(OwnerState { core, want: Some(want), .. }) = self.owners.get(waiter)
                && want.tag() == Some(tag)
                && self.blockers(*waiter, want, active).is_empty()
            {
                core.wake.notify_all();
            }
        }
    }
}
