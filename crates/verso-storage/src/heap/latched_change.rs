//! The change of records of one page under its latch: entries with the old values, then the page itself.
//!
//! V1. A change writes in place and links one immutable entry with the old values; bulk changes link one entry for
//!     many records.
//! V3. A later change by the same transaction to columns its own entries already hold adds nothing; for further columns
//!     it links a continuation whose prior writer is the transaction itself. A value outside of the page that it replaces
//!     goes at once; where a savepoint's image still needs it, or a command (T4), an entry of its own gets it, to be freed as
//!     other old values are.

use std::borrow::Cow;
use std::slice;

use smallvec::SmallVec;

use super::ahead::Ahead;
use super::apply::{self, CLEAR_LIVE, EACH, UNIFORM};
use super::change::Change;
use super::image;
use super::layout::PageLayout;
use super::link::bytes_of_rows;
use super::owners::{Link, Owners, rank};
use super::slice::encode_column;
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::ValueSlot;
use super::{companion, moved, overflow};
use crate::StorageError;
use crate::index::maintain;
use crate::mini::{Mini, PageHandle};
use crate::page::Flaw;
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::{ImageRun, OwnValue};
use crate::txn::transaction::Txn;
use crate::version::entry::VersionPointer;
use crate::wal::RecordKind;

/// Most replaced values that go with one change of a page; the room in the log for them is a mini-transaction's usual one.
/// Values beyond wait for the retirement of an entry.
const FREED_TOGETHER: usize = 1024;

impl Heap {
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn change_latched<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mut mini: Mini<'e>,
        home: PageHandle,
        layout: &PageLayout,
        page_index: u32,
        slots: &[u16],
        (own, fresh): (&[u16], &[u16]),
        mut owners: Owners,
        image: Option<ImageRun>,
        change: Change<'_>,
        (purge, changes_key): (bool, bool),
        ahead: &mut Ahead,
    ) -> Result<(), StorageError> {
        let id = txn.id;
        let columns: &[u16] = match change {
            Change::Update { columns, .. } => columns,
            Change::Delete => &[],
        };
        let saved = maintain::saved_columns(self, columns);
        let corrupt = |flaw: Flaw| StorageError::corrupt(self.root, self.object, flaw);
        let is_delete = matches!(change, Change::Delete);

        // V1, V3: which columns need an entry, for which records.
        let mut links: SmallVec<[Link<'_>; 1]> = SmallVec::new();
        if !fresh.is_empty() {
            links.push((Cow::Borrowed(fresh), saved.clone()));
        }
        if own.is_empty() {
        } else if is_delete {
            links.push((Cow::Borrowed(own), SmallVec::new()));
        } else if disabled(Rule::V3) {
            links.push((Cow::Borrowed(own), saved.clone()));
        } else {
            let mut memo: Option<(u64, SmallVec<[u16; 8]>)> = None;
            for slot in own {
                let back = owners.get(rank(slots, *slot)).1;
                if memo.as_ref().is_none_or(|(pointer, _)| *pointer != back) {
                    let (missing, whole_run) =
                        self.missing_columns(shared, id, VersionPointer(back), *slot, &saved)?;
                    if whole_run && matches!(owners, Owners::Alike(_)) {
                        // One answer for all.
                        if !missing.is_empty() {
                            links.push((Cow::Borrowed(own), missing));
                        }
                        break;
                    }
                    memo = Some((if whole_run { back } else { u64::MAX }, missing));
                }
                let missing = &memo.as_ref().expect("set above").1;
                if !missing.is_empty() {
                    match links
                        .iter_mut()
                        .skip(usize::from(!fresh.is_empty()))
                        .find(|(_, set)| set == missing)
                    {
                        Some((list, _)) => list.to_mut().push(*slot),
                        None => links.push((Cow::Owned(vec![*slot]), missing.clone())),
                    }
                }
            }
        }

        let merged = self.mergeable(shared, page_index, fresh, slots, &owners)?;
        let own_values = self.own_values(mini.page(home), layout, page_index, own, columns, &links);
        let (mut kept, mut freed) = (Vec::new(), Vec::new());
        for value in own_values {
            let imaged = image.as_ref().is_some_and(|image| {
                let columns = txn.images.columns(image.columns);
                image.slots.contains(value.record.slot) && columns.contains(&value.column)
            });
            let needed = imaged || txn.own_changes.is_some();
            // Read now: what is corrupt is to fail before anything is changed.
            let pool = &shared.core().pool;
            let goes = freed.len() < FREED_TOGETHER.min(pool.capacity() / 8) && !needed;
            match ValueSlot::decode(value.raw) {
                Some(ValueSlot::Overflow { page, incarnation }) if goes => {
                    overflow::look(pool, self.object, page, incarnation)?;
                    freed.push(value.raw);
                }
                Some(ValueSlot::Companion { page, item }) if goes => {
                    companion::read(pool, self.object, page, item, &mut Vec::new())?;
                    freed.push(value.raw);
                }
                _ => kept.push(value),
            }
        }

        // What the page itself would refuse only behind the change of others.
        let need = match change {
            Change::Update { values, first_row, .. } => {
                let rows = first_row..first_row + slots.len();
                values.columns.iter().map(|column| bytes_of_rows(column, rows.clone())).sum()
            }
            Change::Delete => 0,
        };
        let looked_at = saved.iter().chain(columns).copied();
        apply::look(mini.page(home), layout, Slots::from_list(slots), looked_at, need)
            .map_err(|flaw| StorageError::corrupt(mini.page_id(home), self.object, flaw))?;

        // Before the entries: the object's root is latched before the space map, as everywhere.
        let references = match change {
            Change::Update { values, first_row, .. } => {
                self.make_room(shared, &mut mini, home, layout, slots, columns, values, first_row, ahead)?
            }
            Change::Delete => Vec::new(),
        };
        if !references.is_empty() {
            mini.use_reserve();
        }
        self.merge(shared, txn, &mut mini, page_index, merged, slots, &mut owners)?;
        let mut voids = Vec::new();
        let linked = links.iter().map(|(group, saved)| (&**group, &**saved, purge, None));
        let kept_alone = kept.iter().map(|value: &OwnValue| {
            (slice::from_ref(&value.record.slot), slice::from_ref(&value.column), false, Some(*value))
        });
        for (group, saved, purge, own_value) in linked.chain(kept_alone) {
            self.link(
                shared,
                txn,
                &mut mini,
                home,
                layout,
                page_index,
                group,
                saved,
                is_delete,
                purge,
                columns,
                slots,
                &mut owners,
                &mut voids,
                own_value,
                changes_key,
            )?;
        }
        let stays = links.is_empty() && kept.is_empty();
        let changed = if stays { SmallVec::new() } else { owners.of_group(slots, slots) };
        let write = |out: &mut Vec<u8>| {
            let form = match changed.len() {
                0 => 0,
                1 => UNIFORM,
                _ => EACH,
            };
            out.push(form | if is_delete { CLEAR_LIVE } else { 0 });
            Slots::from_list(slots).encode(out);
            for (writer, back) in &changed {
                out.extend_from_slice(&writer.to_le_bytes());
                out.extend_from_slice(&back.to_le_bytes());
            }
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            if let Change::Update { values, first_row, .. } = change {
                for (index, (column_id, column)) in columns.iter().zip(&values.columns).enumerate() {
                    let moved =
                        references.get(index).filter(|list: &&Vec<u64>| !list.is_empty()).map(Vec::as_slice);
                    encode_column(out, *column_id, column, first_row..first_row + slots.len(), moved);
                }
            }
        };
        let redo = |page: &mut [u8], payload: &[u8]| apply::update(page, layout, payload);
        mini.apply_known(home, RecordKind::DATA_UPDATE, write, redo).map_err(|error| match error {
            StorageError::Corrupt { flaw, .. } => corrupt(flaw),
            other => other,
        })?;
        for raw in freed {
            moved::free_or_leave(&mut mini, shared, self, raw)?;
        }
        let lsns = mini.commit()?;
        ahead.taken_over();
        txn.wrote(lsns);
        // F1: bits and images of the innermost frame.
        let written = match txn.frames.is_empty() || is_delete || shared.core().unlogged.contains(self.object)
        {
            true => None,
            false => image::written(&mut txn.images, slots, columns, lsns),
        };
        if let Some(frame) = txn.frame() {
            frame.voids.extend(voids);
            let undo = frame.page(self.object, page_index);
            undo.images.extend(image);
            undo.written = written;
            if !fresh.is_empty() && !disabled(Rule::F1Bits) {
                frame.records += undo.bits.extend(Slots::from_list(fresh)) as u64;
            }
        }
        Ok(())
    }
}
