//! Merging of version entries between long snapshots (V9).
//!
//! ```text
//! before   home ─► e6 ─► e5 ─► e4 ─► │ e3 ─► e2 ─► e1 ─► │ older
//!                 (6)   (5)   (4)   S2 (3)   (2)   (1)   S1         commits; S1 and S2 are snapshots, now is behind 6
//! after    home ─► own ─► E654 ────► │ E321 ───────────► │ older
//! ```
//! V9. Of a record's versions only those stay reachable that somebody may read ([`Needed`]). Neighbouring entries whose version
//!     between them nobody may read become one: it has the union of their columns, the older value where several have
//!     one, and the prior writer and pointer of the oldest.
//!
//! 1. Who changes a record for the first time looks at the chain that its own entry is to lead to, with the home page
//!    latched, if the oldest snapshot is long. When [`WORTH`] entries or more would go, it appends the merged ones to its own
//!    version page, in the group of the log that has its change: after a crash both are there, or neither. An undo gives the
//!    record back with the merged chain, which says the same.
//! 2. Merged entries name the transaction that wrote them down as their writer: their page is not retired before that has ended,
//!    and then by its number, which is above those of all versions in them (V4).
//! 3. Entries stay as they are on their pages (V1); nothing leads to the merged ones any more. Of their pages those where
//!    nothing else is are retired early, and purged as always: keys that only versions in between had go.
//! 4. Deletes stay, and entries that name values elsewhere, for these are freed by way of them; what is older than such an
//!    entry stays, too.
//! 5. Where every state may be read, as of a history that is kept, or where a serializable reader has to learn of each
//!    writer that it skips, nothing behind that state is merged.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use smallvec::SmallVec;

use super::owners::{Owners, rank};
use super::slice::{ColumnSlice, Variable};
use super::slots::Slots;
use super::table::Heap;
use super::undo::encode_part;
use crate::StorageError;
use crate::mini::Mini;
use crate::page::{Flaw, PageId, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::version::entry::{Entry, EntryKind, NewEntry, VersionPointer};
use crate::version::page as version_page;

/// Entries that have to go for others to be written.
const WORTH: usize = 3;
/// Entries of a chain that are looked at.
const DEEPEST: usize = 64;
/// Chains of one change that are looked at.
const CHAINS: usize = 64;

/// An entry of a chain, copied.
struct Link {
    pointer: VersionPointer,
    bytes: Vec<u8>,
    /// The commit that has made the version before this entry's change.
    made: u64,
    /// That of this entry's change.
    replaced: u64,
}

impl Link {
    fn entry(&self) -> Result<Entry<'_>, Flaw> {
        Entry::linked(&self.bytes, 0)
    }
}

/// Records of a change, all with one writer and back pointer, and what merged entries of theirs say.
pub(super) struct Chain<'s> {
    group: Cow<'s, [u16]>,
    writer: u64,
    /// Newest first.
    entries: Vec<Merged>,
    /// Pages of the entries that these stand for.
    gone: Vec<PageId>,
}

impl Heap {
    /// What the entries of the records `fresh`, which are changed for the first time by this transaction, are to lead to
    /// where that is not what they lead to now. The home page is latched, and no version page.
    pub(super) fn mergeable<'s>(
        &self,
        shared: &Shared,
        page_index: u32,
        fresh: &'s [u16],
        slots: &[u16],
        owners: &Owners,
    ) -> Result<Vec<Chain<'s>>, StorageError> {
        let mut found = Vec::new();
        if fresh.is_empty() || shared.transactions.long_horizon().is_none() {
            return Ok(found);
        }
        // The horizon of now: nothing above it is retired as long as this walks.
        let _walking = shared.versions.walk();
        let Some(horizon) = shared.transactions.long_horizon() else { return Ok(found) };
        if let Owners::Alike(pair) = *owners {
            // All of them are fresh.
            found.extend(self.merged(shared, page_index, Cow::Borrowed(fresh), pair, horizon)?);
            return Ok(found);
        }
        let mut chains: BTreeMap<(u64, u64), Vec<u16>> = BTreeMap::new();
        for slot in fresh {
            let pair = owners.get(rank(slots, *slot));
            if pair.1 != 0 && (chains.len() < CHAINS || chains.contains_key(&pair)) {
                chains.entry(pair).or_default().push(*slot);
            }
        }
        for (pair, group) in chains {
            found.extend(self.merged(shared, page_index, Cow::Owned(group), pair, horizon)?);
        }
        Ok(found)
    }

    /// Writes merged entries down and has their records lead to them.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn merge<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mini: &mut Mini<'e>,
        page_index: u32,
        chains: Vec<Chain<'_>>,
        slots: &[u16],
        owners: &mut Owners,
    ) -> Result<(), StorageError> {
        for Chain { group, writer, entries, gone } in chains {
            let mut pointer = None;
            for merged in entries.iter().rev() {
                let (prior, oldest) = merged.prior;
                let entry = NewEntry {
                    kind: EntryKind::Update,
                    table: self.object,
                    writer: txn.id,
                    page_index,
                    slots: Slots::from_list(&group),
                    prior: &[(prior.0, pointer.unwrap_or(oldest).0)],
                    columns: &merged.columns,
                    column_count: merged.count,
                    purge: merged.purge,
                    own: false,
                    changes_key: merged.changes_key,
                };
                let slot = txn.slot.as_mut().expect("begin_write gave one");
                let (space, transactions) = (&shared.space, &shared.transactions);
                pointer = Some(shared.versions.append(
                    mini,
                    space,
                    transactions,
                    slot,
                    self.placement(),
                    &entry,
                )?);
                mini.use_reserve();
            }
            owners.set(slots, &group, (writer, pointer.map_or(0, |pointer| pointer.0)));
            let records = group.len() as u64;
            let fewer = (gone.len() - entries.len()) as u64;
            mini.on_commit(move |_, _| shared.versions.unlinked(&gone, records, fewer));
        }
        Ok(())
    }

    /// The merged entries of the records `group`, whose writer and back pointer are `pair`; none if it is not worth it.
    fn merged<'s>(
        &self,
        shared: &Shared,
        page_index: u32,
        group: Cow<'s, [u16]>,
        (writer, back): (u64, u64),
        horizon: u64,
    ) -> Result<Option<Chain<'s>>, StorageError> {
        let Some(newest) = shared.transactions.number_given(TxnId(writer)) else { return Ok(None) };
        let back = VersionPointer(back);
        let mut links = self.links(shared, page_index, &group, (newest, back), horizon)?;
        if links.len() <= WORTH {
            return Ok(None);
        }
        let needed = shared.transactions.needed(newest);
        links.retain(|link| link.replaced > needed.oldest());
        // Parts of the chain, newest first, each to be one entry.
        let mut parts: Vec<Range<usize>> = Vec::new();
        for at in 0..links.len() {
            match parts.last_mut() {
                Some(part) if needed.is_unneeded(links[at - 1].made, links[at - 1].replaced) => {
                    part.end = at + 1;
                }
                _ => parts.push(at..at + 1),
            }
        }
        // Those behind the last that is merged stay as they are.
        let rewritten = parts.iter().rposition(|part| part.len() > 1).map_or(0, |last| last + 1);
        parts.truncate(rewritten);
        links.truncate(parts.last().map_or(0, |part| part.end));
        if links.len() < parts.len() + WORTH {
            return Ok(None);
        }
        let mut entries = Vec::with_capacity(parts.len());
        for part in parts {
            let part = &links[part];
            let merged = Merged::of(part, &group);
            let merged =
                merged.map_err(|flaw| StorageError::corrupt(part[0].pointer.page(), self.object, flaw))?;
            if merged.columns.len() > version_page::capacity(shared.page_size) / 2 {
                return Ok(None);
            }
            entries.push(merged);
        }
        let gone = links.iter().map(|link| link.pointer.page()).collect();
        Ok(Some(Chain { group, writer, entries, gone }))
    }

    /// The entries that the records `group` lead to, all to the same, newest first: as far as somebody may follow them and
    /// they can be merged.
    fn links(
        &self,
        shared: &Shared,
        page_index: u32,
        group: &[u16],
        (mut replaced, mut back): (u64, VersionPointer),
        horizon: u64,
    ) -> Result<Vec<Link>, StorageError> {
        let mut links = Vec::new();
        while !back.is_none() && replaced > horizon && links.len() < DEEPEST {
            let id = back.page();
            let page = shared.core().pool.read(id)?;
            let corrupt = |flaw: Flaw| StorageError::corrupt(id, self.object, flaw);
            if header::kind(&page) != Some(PageKind::Version)
                || header::incarnation(&page) != back.incarnation()
            {
                let flaw = "a back pointer leads to a page that was given out anew (V6)";
                return Err(corrupt(Flaw::from(flaw)));
            }
            let entry = Entry::linked(&page, back.offset()).map_err(corrupt)?;
            if entry.table() != self.object || entry.page_index() != page_index {
                return Err(corrupt(Flaw::from("a back pointer leads to another record's version (V6)")));
            }
            let ranks: Option<SmallVec<[usize; 4]>> =
                group.iter().map(|slot| entry.slots.rank(*slot)).collect();
            let ranks =
                ranks.ok_or_else(|| corrupt(Flaw::from("a version entry without its record (V6)")))?;
            let prior = entry.prior(ranks[0]);
            let alike = entry.is_uniform() || ranks.iter().all(|rank| entry.prior(*rank) == prior);
            let mut plain = true;
            entry.each_column(|_| true, |slice| plain &= !slice.has_references()).map_err(corrupt)?;
            if entry.kind != EntryKind::Update || entry.is_own() || !alike || !plain {
                break;
            }
            let Some(made) = shared.transactions.number_given(prior.0) else { break };
            let bytes = entry.bytes().to_vec();
            links.push(Link { pointer: back, bytes, made, replaced });
            (replaced, back) = (made, prior.1);
        }
        Ok(links)
    }
}

/// What one entry says in place of some.
struct Merged {
    prior: (TxnId, VersionPointer),
    columns: Vec<u8>,
    count: u16,
    purge: bool,
    changes_key: bool,
}

impl Merged {
    /// Of neighbouring entries of a chain, newest first, for the records `group`.
    fn of(links: &[Link], group: &[u16]) -> Result<Merged, Flaw> {
        let oldest = links.last().ok_or_else(|| Flaw::from("no version entry to be merged"))?.entry()?;
        let first =
            oldest.slots.rank(group[0]).ok_or_else(|| Flaw::from("a version entry without its record"))?;
        let mut merged = Merged {
            prior: oldest.prior(first),
            columns: Vec::new(),
            count: 0,
            purge: false,
            changes_key: false,
        };
        let mut held: SmallVec<[u16; 16]> = SmallVec::new();
        let mut in_order: Vec<&Link> = links.iter().rev().collect();
        if disabled(Rule::V9Oldest) {
            in_order.reverse();
        }
        for link in in_order {
            let entry = link.entry()?;
            merged.purge |= entry.may_hold_keys();
            merged.changes_key |= entry.changes_key();
            let ranks: SmallVec<[usize; 4]> =
                group.iter().filter_map(|slot| entry.slots.rank(*slot)).collect();
            entry.each_column(|column| !held.contains(&column), |slice| merged.add(&slice, &ranks))?;
            held.extend(entry.column_ids()?);
        }
        Ok(merged)
    }

    fn add(&mut self, slice: &ColumnSlice<'_>, ranks: &[usize]) {
        let values: Vec<Variable<'_>> = match slice.physical.width() {
            Some(_) => Vec::new(),
            None => {
                let all: Vec<Variable<'_>> = slice.variables().collect();
                ranks.iter().map(|rank| all[*rank]).collect()
            }
        };
        encode_part(&mut self.columns, slice, ranks, &values);
        self.count += 1;
    }
}
