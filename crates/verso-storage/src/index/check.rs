//! Proof of an index: its tree is one, every record is in it, and nothing else.

use verso_types::inverted::Keys;

use super::entries::{RECORD, record_of};
use super::table::Index;
use super::versions::Versions;
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::packed::Image;
use crate::maintenance::check::{CheckProblem, pages_of};
use crate::page::bytes::u16_at;
use crate::page::{PageId, RecordId};
use crate::progress::Steps;
use crate::shared::Shared;
use crate::txn::TxnState;

/// Entries that are copied together, at most, with what each takes besides its bytes.
const TOGETHER_BYTES: usize = 8 << 20;
const ENTRY_BYTES: usize = size_of::<(Vec<u8>, PageId)>();

/// Tests the index while others work: structure (N1 to N3, I1), every version that somebody may see has its entry, and
/// (when nothing waits for purge or back-out) no entry is without a version (I3, I4).
pub(crate) fn check(
    shared: &Shared,
    heap: &Heap,
    index: &Index,
    steps: &mut Steps<'_>,
) -> Result<Vec<CheckProblem>, StorageError> {
    let pages = pages_of(shared, index.object());
    steps.enter("indexes", pages)?;
    let mut checker = Checker { shared, heap, index, steps, problems: Vec::new(), leaves: Vec::new() };
    // Nothing is left to be removed: version pages hold what is to be purged, the dead what is to be backed out.
    let settled = || {
        let transactions = &shared.transactions;
        shared.versions.in_use() == 0 && transactions.dead().is_empty() && transactions.active().is_empty()
    };
    let was_settled = settled();
    {
        let _structure = index.structure.lock();
        if let Some(tree) = index.look_for_tree(shared)? {
            checker.page(tree, None, &[], None)?;
            checker.neighbours()?;
        }
    }
    if checker.problems.is_empty() && !index.filling.is_on() {
        checker.steps.enter("indexes", u64::from(heap.page_count()))?;
        checker.records()?;
        checker.steps.enter("indexes", pages)?;
        let stale = checker.entries()?;
        if was_settled && settled() {
            for (entry, page) in stale {
                let message = format!("an entry of {} that no version of it has", record_of(&entry));
                checker.problem(page, "I3", message);
            }
        }
    }
    Ok(checker.problems)
}

struct Checker<'a, 'w> {
    shared: &'a Shared,
    heap: &'a Heap,
    index: &'a Index,
    steps: &'a mut Steps<'w>,
    problems: Vec<CheckProblem>,
    /// Leaves in the order of their parents.
    leaves: Vec<PageId>,
}

impl Checker<'_, '_> {
    fn problem(&mut self, page: PageId, rule: &'static str, message: String) {
        self.problems.push(CheckProblem { page, table: self.index.object(), rule, message });
    }

    /// A page and everything below it; its fences are those its parent says.
    fn page(
        &mut self,
        id: PageId,
        level: Option<u16>,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> Result<(), StorageError> {
        self.steps.advance(1)?;
        let bytes = self.shared.core().pool.read_for_scan(id)?.to_vec();
        let node = self.index.node(id, &bytes)?;
        if let Err(flaw) = node.check() {
            self.problem(id, "I1", flaw.to_string());
            return Ok(());
        }
        if level.is_some_and(|level| level != node.level()) || node.is_leaf() != (node.level() == 0) {
            self.problem(id, "I1", "is not of the level that its parent says".into());
            return Ok(());
        }
        if node.low() != low || node.high() != high {
            self.problem(id, "I1", "has other fences than its parent says".into());
        }
        if node.is_leaf() {
            self.leaves.push(id);
            return Ok(());
        }
        for at in 0..node.count() {
            let end = (at + 1 < node.count()).then(|| node.string(at + 1));
            let end = end.as_deref().or(node.high());
            self.page(node.child(at), node.level().checked_sub(1), &node.string(at), end)?;
        }
        Ok(())
    }

    /// Every leaf names the next one.
    fn neighbours(&mut self) -> Result<(), StorageError> {
        let leaves = std::mem::take(&mut self.leaves);
        for (at, id) in leaves.iter().enumerate() {
            self.steps.advance(1)?;
            let page = self.shared.core().pool.read_for_scan(*id)?;
            let next = self.index.node(*id, &page)?.next();
            if next != leaves.get(at + 1).copied().unwrap_or(PageId::NONE) {
                self.problem(*id, "I1", format!("names {next} as its right neighbour, wrongly"));
            }
        }
        self.leaves = leaves;
        Ok(())
    }

    /// Every committed version that somebody may see has its entry.
    fn records(&mut self) -> Result<(), StorageError> {
        let (shared, heap, index) = (self.shared, self.heap, self.index);
        let mut image = Image::default();
        for page_index in 0..heap.page_count() {
            self.steps.advance(1)?;
            let Some(latched) = heap.home(&shared.core().pool, page_index, true)? else { break };
            let id = latched.id();
            let page = latched.bytes(heap, &mut image, Some(&index.columns()))?;
            let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
            let _walking = shared.versions.walk();
            let horizon = shared.transactions.horizon();
            for slot in 0..u16_at(page, SLOT_HIGH) {
                let record = RecordId { page_index, slot };
                let home = Versions::home(shared, heap, index, page, &layout, page_index, slot);
                // A deleted record loses its entries a moment before its slot.
                if !home.live {
                    continue;
                }
                let mut missing = 0;
                home.walk(horizon, |version, keys, _| {
                    // Who has not ended may be between the record and its entry.
                    if shared.transactions.state(version.writer) != TxnState::Committed {
                        return Ok(());
                    }
                    for key in keys.iter() {
                        missing += u32::from(!index.has_entry(shared, key, record)?);
                    }
                    Ok(())
                })?;
                if missing > 0 {
                    self.problems.push(CheckProblem {
                        page: id,
                        table: index.object(),
                        rule: "I1",
                        message: format!("{missing} keys of {record} have no entry"),
                    });
                }
            }
        }
        Ok(())
    }

    /// The entries that no version has, with their leaves. Of many leaves together each record is visited once, for its versions may
    /// have as many keys as the index.
    fn entries(&mut self) -> Result<Vec<(Vec<u8>, PageId)>, StorageError> {
        let index = self.index;
        let (mut stale, mut gathered, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut from = Vec::new();
        loop {
            self.steps.advance(1)?;
            // Copied: no leaf is latched while the heap is visited.
            let high = {
                let leaf = index.read_leaf(self.shared, &from)?;
                let node = index.node(leaf.id(), &leaf)?;
                for at in 0..node.count() {
                    let entry = node.string(at);
                    bytes += entry.len() + ENTRY_BYTES;
                    gathered.push((entry, leaf.id()));
                }
                node.high().map(<[u8]>::to_vec)
            };
            if high.is_none() || bytes > TOGETHER_BYTES {
                self.unheld(std::mem::take(&mut gathered), &mut stale)?;
                bytes = 0;
            }
            match high {
                Some(high) => from = high,
                None => return Ok(stale),
            }
        }
    }

    /// Those among entries in the order of the tree that no version has.
    fn unheld(
        &self,
        mut entries: Vec<(Vec<u8>, PageId)>,
        stale: &mut Vec<(Vec<u8>, PageId)>,
    ) -> Result<(), StorageError> {
        let (shared, heap, index) = (self.shared, self.heap, self.index);
        // Stable: the keys of each record stay in order.
        entries.sort_by_key(|(entry, _)| record_of(entry));
        let (mut keys, mut image) = (Keys::default(), Image::default());
        for its in entries.chunk_by(|(a, _), (b, _)| record_of(a) == record_of(b)) {
            let record = record_of(&its[0].0);
            let key_of = |entry: &[u8]| entry.len().saturating_sub(RECORD);
            keys.clear();
            for (entry, _) in its {
                keys.push_with(|out| {
                    out.extend_from_slice(&entry[..key_of(entry)]);
                    Ok::<_, StorageError>(())
                })?;
            }
            if let Some(home) = heap.home(&shared.core().pool, record.page_index, true)? {
                let page = home.bytes(heap, &mut image, Some(&index.columns()))?;
                let layout = PageLayout::of(page)
                    .map_err(|flaw| StorageError::corrupt(home.id(), heap.object, flaw))?;
                let _walking = shared.versions.walk();
                let horizon = shared.transactions.horizon();
                let (page_index, slot) = (record.page_index, record.slot);
                Versions::home(shared, heap, index, page, &layout, page_index, slot)
                    .keep_unheld(&mut keys, horizon)?;
            }
            let mut left = keys.iter().peekable();
            for (entry, page) in its {
                if left.next_if(|key| **key == entry[..key_of(entry)]).is_some() {
                    stale.push((entry.clone(), *page));
                }
            }
        }
        Ok(())
    }
}
