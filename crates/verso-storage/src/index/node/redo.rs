//! Changes of a tree's pages, as the log has them.

use super::*;
use crate::page::ObjectId;
use crate::page::bytes::{checked_slice, checked_u16, put_u16, put_u32};
use crate::wal::RecordKind;

/// Bytes of a page with these fences before any entry.
pub fn room_of_empty(page_size: usize, low: &[u8], high: Option<&[u8]>) -> usize {
    (page_size - SLOTS).saturating_sub(low.len() + high.map_or(0, <[u8]>::len))
}

/// Length of the prefix that fences give.
pub fn prefix_of(low: &[u8], high: Option<&[u8]>) -> usize {
    high.map_or(0, |high| common(low, high))
}

/// What a page is, in an init record.
pub struct NewNode<'a> {
    /// Its number.
    pub page: PageId,
    /// Its index.
    pub owner: ObjectId,
    /// Distance from the leaves.
    pub level: u16,
    /// Right neighbour.
    pub next: PageId,
    /// Low fence.
    pub low: &'a [u8],
    /// High fence.
    pub high: Option<&'a [u8]>,
}

impl NewNode<'_> {
    /// Payload of [`RecordKind::INDEX_INIT`]; `cells` are whole: child in front, no prefix left out.
    pub fn encode<'c>(&self, out: &mut Vec<u8>, cells: impl Iterator<Item = (Option<PageId>, &'c [u8])>) {
        out.extend_from_slice(&self.page.0.to_le_bytes());
        out.extend_from_slice(&self.owner.0.to_le_bytes());
        out.extend_from_slice(&self.next.0.to_le_bytes());
        out.extend_from_slice(&self.level.to_le_bytes());
        encode_fence(out, Some(self.low));
        encode_fence(out, self.high);
        let prefix = prefix_of(self.low, self.high);
        let count_at = out.len();
        out.extend_from_slice(&[0; 2]);
        let mut count = 0u16;
        for (child, string) in cells {
            encode_cell(out, child, &string[prefix.min(string.len())..]);
            count += 1;
        }
        put_u16(out, count_at, count);
    }
}

fn encode_fence(out: &mut Vec<u8>, fence: Option<&[u8]>) {
    out.extend_from_slice(&fence.map_or(NO_FENCE, |fence| fence.len() as u16).to_le_bytes());
    out.extend_from_slice(fence.unwrap_or_default());
}

/// Appends a cell with its length in front.
pub fn encode_cell(out: &mut Vec<u8>, child: Option<PageId>, suffix: &[u8]) {
    let length = suffix.len() + child.map_or(0, |_| CHILD);
    out.extend_from_slice(&(length as u16).to_le_bytes());
    if let Some(child) = child {
        out.extend_from_slice(&child.0.to_le_bytes());
    }
    out.extend_from_slice(suffix);
}

/// Payload of [`RecordKind::INDEX_INSERT`] for one entry of a leaf.
pub fn insert_one_payload(out: &mut Vec<u8>, index: usize, cell: &[u8]) {
    let mut head = [0; 6];
    put_u16(&mut head, 0, 1);
    put_u16(&mut head, 2, index as u16);
    put_u16(&mut head, 4, cell.len() as u16);
    out.extend_from_slice(&head);
    out.extend_from_slice(cell);
}

/// Payload of [`RecordKind::INDEX_FENCE`]: the first `keep` entries stay, the range ends at `high`.
pub fn fence_payload(out: &mut Vec<u8>, keep: usize, next: PageId, high: Option<&[u8]>) {
    out.extend_from_slice(&(keep as u16).to_le_bytes());
    out.extend_from_slice(&next.0.to_le_bytes());
    encode_fence(out, high);
}

/// Runs a record of kinds 128–131 on a page.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    match kind {
        RecordKind::INDEX_INIT => init(page, payload),
        RecordKind::INDEX_INSERT => insert(page, payload),
        RecordKind::INDEX_REMOVE => remove(page, payload),
        RecordKind::INDEX_FENCE => fence(page, payload),
        _ => Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
    }
}

fn decode_fence<'a>(payload: &'a [u8], at: &mut usize) -> Result<Option<&'a [u8]>, Flaw> {
    let length = checked_u16(payload, *at)?;
    *at += 2;
    if length == NO_FENCE {
        return Ok(None);
    }
    let fence = checked_slice(payload, *at, usize::from(length))?;
    *at += fence.len();
    Ok(Some(fence))
}

/// An empty node with fences; room was checked.
fn format(page: &mut [u8], level: u16, next: PageId, low: &[u8], high: Option<&[u8]>) {
    page[NEXT..].fill(0);
    format_empty(page, level, next, low, high);
}

/// As [`format`] for a page of zeroes behind its header.
fn format_empty(page: &mut [u8], level: u16, next: PageId, low: &[u8], high: Option<&[u8]>) {
    put_u32(page, NEXT, next.0);
    put_u16(page, LEVEL, level);
    let mut start = page.len();
    start -= low.len();
    page[start..start + low.len()].copy_from_slice(low);
    put_u16(page, LOW, start as u16);
    put_u16(page, LOW + 2, low.len() as u16);
    put_u16(page, HIGH + 2, NO_FENCE);
    if let Some(high) = high {
        start -= high.len();
        page[start..start + high.len()].copy_from_slice(high);
        put_u16(page, HIGH, start as u16);
        put_u16(page, HIGH + 2, high.len() as u16);
    }
    put_u16(page, PREFIX, prefix_of(low, high) as u16);
    put_u16(page, START, start as u16);
}

/// Adds a cell at `index`; room was checked.
#[inline]
fn place(page: &mut [u8], index: usize, child: usize, cell: &[u8]) {
    let count = usize::from(u16_at(page, COUNT));
    let start = usize::from(u16_at(page, START)) - cell.len();
    page[start..start + cell.len()].copy_from_slice(cell);
    let (slot, end) = (SLOTS + index * SLOT, SLOTS + count * SLOT);
    if slot < end {
        page.copy_within(slot..end, slot + SLOT);
    }
    put_slot(page, slot, start, cell.len(), head(&cell[child.min(cell.len())..]));
    put_u16(page, START, start as u16);
    put_u16(page, COUNT, (count + 1) as u16);
}

/// Adds an entry to a leaf that has [room at once](Node::room_at_once) for it, as [`redo`] does with the payload of
/// [`insert_one_payload`].
#[inline]
pub fn place_one(page: &mut [u8], index: usize, cell: &[u8]) {
    place(page, index, 0, cell);
}

#[inline]
fn put_slot(page: &mut [u8], slot: usize, start: usize, length: usize, head: u32) {
    let mut bytes = [0; SLOT];
    put_u16(&mut bytes, 0, start as u16);
    put_u16(&mut bytes, 2, length as u16);
    put_u32(&mut bytes, 4, head);
    page[slot..slot + SLOT].copy_from_slice(&bytes);
}

fn init(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let (id, owner) = (checked_u32(payload, 0)?, checked_u32(payload, 4)?);
    let (next, level) = (checked_u32(payload, 8)?, checked_u16(payload, 12)?);
    let mut at = 14;
    let low = decode_fence(payload, &mut at)?.unwrap_or_default();
    let high = decode_fence(payload, &mut at)?;
    let count = usize::from(checked_u16(payload, at)?);
    at += 2;
    let (first, mut need) = (at, 0);
    let child = if level == 0 { 0 } else { CHILD };
    for _ in 0..count {
        let length = usize::from(checked_u16(payload, at)?);
        checked_slice(payload, at + 2, length)?;
        need += length + SLOT;
        at += 2 + length;
    }
    if at != payload.len() {
        return Err(Flaw::from("bytes behind the entries of an index page"));
    }
    check_room(page, low, high, need)?;
    let kind = if level == 0 { PageKind::IndexLeaf } else { PageKind::IndexInner };
    header::init(page, PageId(id), kind, ObjectId(owner), 0);
    format_empty(page, level, PageId(next), low, high);
    at = first;
    for index in 0..count {
        let length = usize::from(u16_at(payload, at));
        place(page, index, child, &payload[at + 2..at + 2 + length]);
        at += 2 + length;
    }
    Ok(())
}

/// Tests that fences leave room for so many bytes.
fn check_room(page: &[u8], low: &[u8], high: Option<&[u8]>, need: usize) -> Result<(), Flaw> {
    if SLOTS + low.len() + high.map_or(0, <[u8]>::len) + need > page.len() {
        return Err(Flaw::from("entries do not fit between the fences of an index page"));
    }
    Ok(())
}

/// Moves the cells together, so that all garbage becomes contiguous room for `need` bytes.
fn compact(page: &mut [u8], need: usize) -> Result<(), Flaw> {
    let old = page.to_vec();
    let node = Node::of(&old)?;
    check_room(page, node.low(), node.high(), node.used() + need)?;
    format(page, node.level(), node.next(), node.low(), node.high());
    for index in 0..node.count() {
        place(page, index, node.child, node.cell(index));
    }
    Ok(())
}

/// Payload: `count u16`, then per entry `index u16 | length u16 | cell`, each index as it is when those before are in.
fn insert(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let node = Node::of(page)?;
    // One entry, most of the time.
    if let [1, 0, a, b, c, d, cell @ ..] = payload {
        let (index, length) =
            (usize::from(u16::from_le_bytes([*a, *b])), usize::from(u16::from_le_bytes([*c, *d])));
        let (child, need) = (node.child, SLOT + length);
        if length != cell.len() || index > node.count() || length < child || need > node.room() {
            return Err(Flaw::from("an entry does not fit the index page"));
        }
        if need > node.room() - usize::from(u16_at(page, GARBAGE)) {
            compact(page, need)?;
        }
        place(page, index, child, cell);
        return Ok(());
    }
    let (child, room, before) = (node.child, node.room(), node.count());
    let count = usize::from(checked_u16(payload, 0)?);
    let (mut at, mut need) = (2, 0);
    for added in 0..count {
        let (index, length) =
            (usize::from(checked_u16(payload, at)?), usize::from(checked_u16(payload, at + 2)?));
        checked_slice(payload, at + 4, length)?;
        if index > before + added || length < child {
            return Err(Flaw::from("an entry behind the end of an index page"));
        }
        need += SLOT + length;
        at += 4 + length;
    }
    if at != payload.len() || need > room {
        return Err(Flaw::from("entries do not fit the index page"));
    }
    if need > room.saturating_sub(usize::from(u16_at(page, GARBAGE))) {
        compact(page, need)?;
    }
    at = 2;
    for _ in 0..count {
        let (index, length) = (usize::from(u16_at(payload, at)), usize::from(u16_at(payload, at + 2)));
        place(page, index, child, &payload[at + 4..at + 4 + length]);
        at += 4 + length;
    }
    Ok(())
}

/// Payload: indexes u16 of the entries that go, ascending.
fn remove(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let node = Node::of(page)?;
    let count = node.count();
    let gone: Vec<usize> = payload.chunks_exact(2).map(|bytes| usize::from(u16_at(bytes, 0))).collect();
    if !payload.len().is_multiple_of(2)
        || !gone.is_sorted_by(|a, b| a < b)
        || gone.last().is_some_and(|last| *last >= count)
    {
        return Err(Flaw::from("entries to remove are not on the index page"));
    }
    let freed: usize = gone.iter().map(|index| node.cell(*index).len()).sum();
    let first = gone.first().copied().unwrap_or(count);
    let mut kept = first;
    let mut rest = gone.iter().peekable();
    for index in first..count {
        if rest.peek() == Some(&&index) {
            rest.next();
            continue;
        }
        let (from, to) = (SLOTS + index * SLOT, SLOTS + kept * SLOT);
        let mut slot = [0; SLOT];
        slot.copy_from_slice(&page[from..from + SLOT]);
        page[to..to + SLOT].copy_from_slice(&slot);
        kept += 1;
    }
    put_u16(page, COUNT, kept as u16);
    let garbage = usize::from(u16_at(page, GARBAGE)) + freed;
    put_u16(page, GARBAGE, garbage as u16);
    Ok(())
}

/// Fences a page that keeps all its cells and leaves out no less of them than before: what a longer prefix takes off them
/// becomes garbage where they stand. So do full pages that appended entries leave behind, which nothing is added to any
/// more. Says whether there was room for the fence at once; nothing has changed if not.
fn fence_in_place(page: &mut [u8], next: u32, high: Option<&[u8]>, prefix: usize) -> bool {
    let Ok(node) = Node::of(page) else { return false };
    let (count, cut) = (node.count(), prefix - node.prefix);
    let start = usize::from(u16_at(page, START));
    let last = (SLOTS + count * SLOT).saturating_sub(SLOT);
    // The cell that came last begins where the room ends.
    let gained = if count > 0 && usize::from(u16_at(page, last)) == start { cut } else { 0 };
    let length = high.map_or(0, <[u8]>::len);
    if node.room_at_once() + gained < length || !node.is_leaf() {
        return false;
    }
    let garbage = usize::from(u16_at(page, GARBAGE)) + node.high().map_or(0, <[u8]>::len);
    let start = start + gained - length;
    put_u16(page, HIGH + 2, NO_FENCE);
    if let Some(high) = high {
        page[start..start + length].copy_from_slice(high);
        put_u16(page, HIGH, start as u16);
        put_u16(page, HIGH + 2, length as u16);
    }
    if cut > 0 {
        for slot in (SLOTS..SLOTS + count * SLOT).step_by(SLOT) {
            let (offset, length) = (usize::from(u16_at(page, slot)), usize::from(u16_at(page, slot + 2)));
            let head = head(&page[offset + cut..offset + length]);
            put_slot(page, slot, offset + cut, length - cut, head);
        }
    }
    put_u32(page, NEXT, next);
    put_u16(page, PREFIX, prefix as u16);
    put_u16(page, START, start as u16);
    put_u16(page, GARBAGE, (garbage + count * cut - gained) as u16);
    true
}

/// Payload: `keep u16 | next u32 | high fence`.
fn fence(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let old = page.to_vec();
    let node = Node::of(&old)?;
    let (keep, next) = (usize::from(checked_u16(payload, 0)?), checked_u32(payload, 2)?);
    let mut at = 6;
    let high = decode_fence(payload, &mut at)?;
    let low = node.low();
    let prefix = prefix_of(low, high);
    let put_back = node.prefix.saturating_sub(prefix);
    let cut = prefix.saturating_sub(node.prefix);
    if at != payload.len() || keep > node.count() {
        return Err(Flaw::from("an index page is cut behind its end"));
    }
    let mut need = 0;
    for index in 0..keep {
        if node.cell(index).len() < node.child + cut {
            return Err(Flaw::from("an entry outside of the new fences"));
        }
        need += SLOT + node.cell(index).len() + put_back - cut;
    }
    check_room(page, low, high, need)?;
    if keep == node.count() && put_back == 0 && fence_in_place(page, next, high, prefix) {
        return Ok(());
    }
    let lead = node.prefix().get(node.prefix - put_back..);
    let lead = lead.ok_or_else(|| Flaw::from("a prefix longer than the low fence"))?;
    format(page, node.level(), PageId(next), low, high);
    let mut start = usize::from(u16_at(page, START));
    for index in 0..keep {
        let (child, suffix) = node.cell(index).split_at(node.child);
        let suffix = &suffix[cut..];
        let length = child.len() + lead.len() + suffix.len();
        start -= length;
        let (to_child, rest) = page[start..start + length].split_at_mut(child.len());
        let (to_lead, to_suffix) = rest.split_at_mut(lead.len());
        to_child.copy_from_slice(child);
        to_lead.copy_from_slice(lead);
        to_suffix.copy_from_slice(suffix);
        let head = head(&page[start + child.len()..start + length]);
        put_slot(page, SLOTS + index * SLOT, start, length, head);
    }
    put_u16(page, START, start as u16);
    put_u16(page, COUNT, keep as u16);
    Ok(())
}
