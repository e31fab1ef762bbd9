//! Locks that outlive the session that took them: those of prepared transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::manager::LockManager;
use super::mode::{RecordLockMode, TableLockMode};
use super::owner::OwnerCore;
use super::table::Tag;
use crate::StorageError;
use crate::heap::slots::Slots;
use crate::page::bytes::{checked_u8, checked_u32, checked_u64};
use crate::page::{Flaw, ObjectId, PageId, TxnId};

fn record_mode(code: u8) -> Result<RecordLockMode, Flaw> {
    let mode = RecordLockMode::ALL.get(usize::from(code)).copied();
    mode.ok_or_else(|| Flaw::from("unknown mode of a record lock"))
}

impl LockManager {
    /// Makes the locks of the transaction of `from` those of `to`, and its waiters too.
    pub(crate) fn hand_over(&self, from: &OwnerCore, to: &OwnerCore) {
        let mut state = self.state();
        let near = std::mem::take(&mut from.near.lock().tables);
        let mut to_near = to.near.lock();
        to_near.tables.extend(near);
        to_near.elsewhere = true;
        drop(to_near);
        let tags = state.owners.get(&from.id).map(|owner| owner.tags.clone()).unwrap_or_default();
        for tag in tags {
            let mut moved = Vec::new();
            let mut left = false;
            if let Some(entry) = state.tags.get_mut(&tag) {
                for held in entry.granted.iter_mut().filter(|held| held.owner == from.id) {
                    moved.extend((held.txn > 0).then_some(held.mode));
                    held.txn = 0;
                    left |= held.session > 0;
                }
                // The counters of strong locks stay as they are: the new grants take the old ones' places.
                entry.granted.retain(|held| held.owner != from.id || held.session > 0);
            }
            for mode in moved {
                state.grant(to.id, tag, mode, false);
            }
            if !left && let Some(owner) = state.owners.get_mut(&from.id) {
                owner.tags.remove(&tag);
            }
        }
        let pages = state.owners.get_mut(&from.id).map(|owner| std::mem::take(&mut owner.pages));
        for (object, page) in pages.into_iter().flatten() {
            if let Some(locks) = state.records.get_mut(&object).and_then(|table| table.pages.get_mut(&page)) {
                locks.iter_mut().filter(|lock| lock.owner == from.id).for_each(|lock| lock.owner = to.id);
            }
            if let Some(owner) = state.owners.get_mut(&to.id) {
                owner.pages.push((object, page));
            }
        }
        let tables = state.owners.get_mut(&from.id).map(|owner| std::mem::take(&mut owner.ranges));
        for object in tables.into_iter().flatten() {
            if let Some(table) = state.records.get_mut(&object) {
                let ranges = std::mem::take(&mut table.ranges).into_iter();
                let owner = |holder: u64| if holder == from.id { to.id } else { holder };
                table.ranges = ranges.map(|((holder, mode), pages)| ((owner(holder), mode), pages)).collect();
            }
            if let Some(owner) = state.owners.get_mut(&to.id) {
                owner.ranges.push(object);
            }
        }
        if let Some(awaited) = state.awaited.get(&from.txn()) {
            awaited.owner.set(Some(to.id));
        }
        to.begin(from.txn());
        from.begin(TxnId::NONE);
    }

    /// Appends the table and record locks of the owner's transaction.
    pub(crate) fn encode_of(&self, owner: &OwnerCore, out: &mut Vec<u8>) {
        let state = self.state();
        let near = owner.near.lock().tables.clone();
        let mut tables: Vec<(ObjectId, u8)> =
            near.iter().map(|(object, modes, _)| (*object, *modes)).collect();
        let known = state.owners.get(&owner.id);
        for tag in known.iter().flat_map(|owner| &owner.tags) {
            if let Tag::Table(object) = tag {
                tables.push((*object, state.held(owner.id, *tag)));
            }
        }
        out.extend_from_slice(&(tables.len() as u32).to_le_bytes());
        for (object, modes) in tables {
            out.extend_from_slice(&object.0.to_le_bytes());
            out.push(modes);
        }
        let pages: Vec<(ObjectId, u32)> = known.map(|owner| owner.pages.clone()).unwrap_or_default();
        let records: Vec<_> = pages
            .iter()
            .flat_map(|(object, page)| {
                let locks = state.page_locks(*object, *page).iter();
                locks.filter(|lock| lock.owner == owner.id).map(move |lock| (*object, *page, lock))
            })
            .collect();
        out.extend_from_slice(&(records.len() as u32).to_le_bytes());
        for (object, page, lock) in records {
            out.extend_from_slice(&object.0.to_le_bytes());
            out.extend_from_slice(&page.to_le_bytes());
            out.push(lock.mode as u8);
            Slots::from_list(&lock.slots.to_vec()).encode(out);
        }
        let mut ranges = Vec::new();
        for object in known.iter().flat_map(|owner| &owner.ranges) {
            let table = state.records.get(object);
            for ((_, mode), pages) in
                table.iter().flat_map(|table| &table.ranges).filter(|((holder, _), _)| *holder == owner.id)
            {
                ranges.extend(pages.0.iter().map(|(first, (last, _))| (*object, *mode, *first, *last)));
            }
        }
        out.extend_from_slice(&(ranges.len() as u32).to_le_bytes());
        for (object, mode, first, last) in ranges {
            out.extend_from_slice(&object.0.to_le_bytes());
            out.push(mode as u8);
            out.extend_from_slice(&first.to_le_bytes());
            out.extend_from_slice(&last.to_le_bytes());
        }
        let names = known.iter().flat_map(|owner| &owner.tags).filter_map(|tag| match tag {
            Tag::Name(name) => Some((*name, state.held(owner.id, *tag))),
            _ => None,
        });
        let names: Vec<(u64, u8)> = names.collect();
        out.extend_from_slice(&(names.len() as u32).to_le_bytes());
        for (name, modes) in names {
            out.extend_from_slice(&name.to_le_bytes());
            out.push(modes);
        }
    }

    /// Takes the locks that [`LockManager::encode_of`] noted, before anybody else can have any. `counter` is that of a
    /// table's explicit locks.
    pub(crate) fn restore(
        &self,
        owner: &Arc<OwnerCore>,
        note: &[u8],
        counter: impl Fn(ObjectId) -> Result<Arc<AtomicU32>, StorageError>,
    ) -> Result<(), StorageError> {
        let flaw = |flaw: Flaw| StorageError::corrupt(PageId(0), ObjectId::SYSTEM, flaw);
        let mut at = 4;
        for _ in 0..checked_u32(note, 0).map_err(flaw)? {
            let object = ObjectId(checked_u32(note, at).map_err(flaw)?);
            let modes = checked_u8(note, at + 4).map_err(flaw)?;
            at += 5;
            for mode in TableLockMode::ALL.into_iter().filter(|mode| modes >> *mode as u8 & 1 == 1) {
                if mode.is_strong() {
                    self.stripe(object).fetch_add(1, Ordering::SeqCst);
                }
                self.state().grant(owner.id, Tag::Table(object), mode as u8, false);
            }
        }
        let count = checked_u32(note, at).map_err(flaw)?;
        at += 4;
        for _ in 0..count {
            let object = ObjectId(checked_u32(note, at).map_err(flaw)?);
            let page = checked_u32(note, at + 4).map_err(flaw)?;
            let mode = record_mode(checked_u8(note, at + 8).map_err(flaw)?).map_err(flaw)?;
            at += 9;
            let slots: Vec<u16> = Slots::decode(note, &mut at).map_err(flaw)?.iter().collect();
            let counter = counter(object)?;
            self.state().lock_slots(owner.id, object, &counter, page, &slots, mode, false);
        }
        // Earlier notes end here.
        let count = if at < note.len() { checked_u32(note, at).map_err(flaw)? } else { 0 };
        at += 4;
        for _ in 0..count {
            let object = ObjectId(checked_u32(note, at).map_err(flaw)?);
            let mode = record_mode(checked_u8(note, at + 4).map_err(flaw)?).map_err(flaw)?;
            let first = checked_u32(note, at + 5).map_err(flaw)?;
            let last = checked_u32(note, at + 9).map_err(flaw)?;
            at += 13;
            let counter = counter(object)?;
            self.state().lock_pages(owner.id, object, &counter, first..=last, mode);
        }
        let count = if at < note.len() { checked_u32(note, at).map_err(flaw)? } else { 0 };
        at += 4;
        for _ in 0..count {
            let name = checked_u64(note, at).map_err(flaw)?;
            let modes = checked_u8(note, at + 8).map_err(flaw)?;
            at += 9;
            for mode in (0..8).filter(|mode| modes >> mode & 1 == 1) {
                self.state().grant(owner.id, Tag::Name(name), mode, false);
            }
        }
        owner.near.lock().elsewhere = true;
        Ok(())
    }
}
