//! Pages of a tree: separators with children, or entries, in byte order.
//!
//! ```text
//! header 32 (24: right neighbour u32 │ level u16 │ entries u16) │ start u16 │ garbage u16 │ prefix u16 │
//! low fence: offset u16, length u16 │ high fence: offset u16, length u16 │ 2 bytes │ slots 8 each │ free │ ◄─ cells, fences
//! slot = cell's offset u16 │ length u16 │ first four bytes of the suffix, as a number, u32
//! cell = suffix, in an inner page with the child u32 in front
//! ```
//!
//! N1. A page is responsible for the strings from its low fence (included) to its high fence (excluded, none = to the
//!     end). What both fences begin with, all strings in between begin with: cells leave it out (prefix truncation).
//! N2. Cells ascend strictly. A separator is the low fence of its child; the first one is the page's own low fence.
//! N3. Pages name the right neighbour of their level, whose low fence is their high fence.
//!
//! Log records: `INDEX_INIT`, `INDEX_INSERT`, `INDEX_REMOVE`, `INDEX_FENCE`. Source: Graefe, "Modern B-Tree Techniques",
//! 2011 (fences, truncation, first bytes beside the offset).

use crate::page::bytes::{checked_slice, checked_u16, checked_u32, put_u16, put_u32, u16_at, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::wal::RecordKind;

const NEXT: usize = 24;
const LEVEL: usize = 28;
const COUNT: usize = 30;
const START: usize = 32;
const GARBAGE: usize = 34;
const PREFIX: usize = 36;
const LOW: usize = 38;
const HIGH: usize = 42;
const SLOTS: usize = 48;
/// Bytes of a slot.
pub const SLOT: usize = 8;
/// Length of a high fence that is none.
const NO_FENCE: u16 = u16::MAX;
/// Bytes of a child in front of a separator.
pub const CHILD: usize = 4;

/// The longest string that a tree of this page size takes: four of them, with fences, fit a page.
pub fn longest(page_size: usize) -> usize {
    (page_size - SLOTS) / 6 - SLOT - CHILD
}

/// A page of a tree, read.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    page: &'a [u8],
    count: usize,
    prefix: usize,
    child: usize,
}

/// The first four bytes as a number.
#[inline]
fn head(bytes: &[u8]) -> u32 {
    match bytes.first_chunk::<4>() {
        Some(chunk) => u32::from_be_bytes(*chunk),
        None => {
            let mut chunk = [0; 4];
            chunk[..bytes.len()].copy_from_slice(bytes);
            u32::from_be_bytes(chunk)
        }
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl<'a> Node<'a> {
    /// The page as a node.
    ///
    /// # Errors
    /// A flaw when it is none.
    #[inline]
    pub fn of(page: &'a [u8]) -> Result<Node<'a>, Flaw> {
        let child = match header::kind(page) {
            Some(PageKind::IndexLeaf) => 0,
            Some(PageKind::IndexInner) => CHILD,
            _ => return Err(Flaw::from("not a page of an index")),
        };
        let node = Node {
            page,
            count: usize::from(u16_at(page, COUNT)),
            prefix: usize::from(u16_at(page, PREFIX)),
            child,
        };
        let start = usize::from(u16_at(page, START));
        if SLOTS + node.count * SLOT > start || start > page.len() {
            return Err(Flaw::from("slots and cells of an index page overlap"));
        }
        if node.prefix > usize::from(u16_at(page, LOW + 2)) {
            return Err(Flaw::from("a prefix longer than the low fence"));
        }
        Ok(node)
    }

    /// Whether it is a leaf.
    #[inline]
    pub fn is_leaf(&self) -> bool {
        self.child == 0
    }

    /// Distance from the leaves.
    pub fn level(&self) -> u16 {
        u16_at(self.page, LEVEL)
    }

    /// Entries.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The right neighbour on the same level.
    pub fn next(&self) -> PageId {
        PageId(u32_at(self.page, NEXT))
    }

    #[inline]
    fn piece(&self, at: usize) -> &'a [u8] {
        let (offset, length) = (usize::from(u16_at(self.page, at)), usize::from(u16_at(self.page, at + 2)));
        self.page.get(offset..offset + length).unwrap_or_default()
    }

    /// The low fence.
    #[inline]
    pub fn low(&self) -> &'a [u8] {
        self.piece(LOW)
    }

    /// The high fence.
    #[inline]
    pub fn high(&self) -> Option<&'a [u8]> {
        (u16_at(self.page, HIGH + 2) != NO_FENCE).then(|| self.piece(HIGH))
    }

    /// What all strings of the page begin with.
    pub fn prefix(&self) -> &'a [u8] {
        self.low().get(..self.prefix).unwrap_or_default()
    }

    /// Whether the page is responsible for `string` (N1).
    #[inline]
    pub fn covers(&self, string: &[u8]) -> bool {
        self.low() <= string && self.high().is_none_or(|high| string < high)
    }

    #[inline]
    fn slot_head(&self, index: usize) -> u32 {
        u32_at(self.page, SLOTS + index * SLOT + 4)
    }

    /// The whole cell at `index`.
    #[inline]
    pub fn cell(&self, index: usize) -> &'a [u8] {
        self.piece(SLOTS + index * SLOT)
    }

    /// The string at `index` without the page's prefix.
    #[inline]
    pub fn suffix(&self, index: usize) -> &'a [u8] {
        self.cell(index).get(self.child..).unwrap_or_default()
    }

    /// Appends the string at `index`.
    pub fn string_into(&self, index: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix());
        out.extend_from_slice(self.suffix(index));
    }

    /// The string at `index`.
    pub fn string(&self, index: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.prefix + self.suffix(index).len());
        self.string_into(index, &mut out);
        out
    }

    /// The child at `index` of an inner page.
    #[inline]
    pub fn child(&self, index: usize) -> PageId {
        PageId(checked_u32(self.cell(index), 0).unwrap_or(0))
    }

    /// The part of `string` behind the prefix; `string` is one that the page is responsible for.
    #[inline]
    pub fn truncated<'s>(&self, string: &'s [u8]) -> &'s [u8] {
        string.get(self.prefix..).unwrap_or_default()
    }

    /// How the string at `index` compares with one whose part behind the prefix is `suffix`.
    #[inline]
    fn compare(&self, index: usize, head: u32, suffix: &[u8]) -> std::cmp::Ordering {
        self.slot_head(index).cmp(&head).then_with(|| self.suffix(index).cmp(suffix))
    }

    /// Index of the first string that is not less than `string`, which the page is responsible for, and whether it
    /// equals it.
    #[inline]
    pub fn find(&self, string: &[u8]) -> (usize, bool) {
        let suffix = self.truncated(string);
        let head = head(suffix);
        let (mut low, mut high) = (0, self.count);
        // Who appends finds the end at once.
        if self.count > 0 && self.compare(self.count - 1, head, suffix).is_lt() {
            return (self.count, false);
        }
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.compare(middle, head, suffix) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return (middle, true),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        (low, false)
    }

    /// As [`Node::find`], most quickly if the string is not there and belongs at `guess`.
    #[inline]
    pub fn find_near(&self, string: &[u8], guess: usize) -> (usize, bool) {
        let suffix = self.truncated(string);
        let head = head(suffix);
        let between = guess <= self.count
            && (guess == 0 || self.compare(guess - 1, head, suffix).is_lt())
            && (guess == self.count || self.compare(guess, head, suffix).is_gt());
        if between { (guess, false) } else { self.find(string) }
    }

    /// Whether `entry` goes behind all others of the leaf, which is responsible for it and for all that begins with `key`, as
    /// the entry does, and has room at once. No entry there, or on another leaf, begins with `key` then.
    #[inline]
    pub fn ends_before(&self, entry: &[u8], key: &[u8]) -> bool {
        let within = match self.high() {
            None => true,
            // A prefix longer than the key would be the beginning of both fences.
            Some(high) => entry < high && !high.starts_with(key) && entry.starts_with(self.prefix()),
        };
        let suffix = self.truncated(key);
        within
            && self.count > 0
            && self.compare(self.count - 1, head(suffix), suffix).is_lt()
            && self.room_at_once() >= SLOT + entry.len()
    }

    /// Index of the child responsible for `string`.
    #[inline]
    pub fn child_for(&self, string: &[u8]) -> usize {
        match self.find(string) {
            (index, true) => index,
            (index, false) => index.saturating_sub(1),
        }
    }

    /// Bytes for further slots and cells, garbage included.
    #[inline]
    pub fn room(&self) -> usize {
        usize::from(u16_at(self.page, START)) - SLOTS - self.count * SLOT
            + usize::from(u16_at(self.page, GARBAGE))
    }

    /// Bytes for further slots and cells without moving any.
    #[inline]
    pub fn room_at_once(&self) -> usize {
        usize::from(u16_at(self.page, START)) - SLOTS - self.count * SLOT
    }

    /// Bytes that slots and cells could take between these fences.
    pub fn room_between(&self, low: &[u8], high: Option<&[u8]>) -> usize {
        room_of_empty(self.page.len(), low, high)
    }

    /// Bytes that slots and cells take.
    pub fn used(&self) -> usize {
        (0..self.count).map(|index| SLOT + self.cell(index).len()).sum()
    }

    /// Proves that the page is what it says; the strings ascend within the fences (N1, N2).
    ///
    /// # Errors
    /// A flaw says what is wrong.
    pub fn check(&self) -> Result<(), Flaw> {
        let start = usize::from(u16_at(self.page, START));
        let mut bytes = 0;
        for at in (0..self.count).map(|index| SLOTS + index * SLOT).chain([LOW, HIGH]) {
            let (offset, length) = (usize::from(u16_at(self.page, at)), u16_at(self.page, at + 2));
            if at == HIGH && length == NO_FENCE {
                continue;
            }
            if offset < start || offset + usize::from(length) > self.page.len() {
                return Err(Flaw::from("a cell outside of the page's cells"));
            }
            bytes += usize::from(length);
        }
        if start + bytes + usize::from(u16_at(self.page, GARBAGE)) != self.page.len() {
            return Err(Flaw::from("cells and garbage do not add up"));
        }
        let expected = self.high().map_or(0, |high| common(self.low(), high));
        if self.prefix != expected {
            return Err(Flaw::from("the prefix is not what the fences have in common"));
        }
        let mut before: Option<&[u8]> = None;
        for index in 0..self.count {
            if self.cell(index).len() < self.child {
                return Err(Flaw::from("a separator without a child"));
            }
            let suffix = self.suffix(index);
            if self.slot_head(index) != head(suffix) {
                return Err(Flaw::from("a slot with another's first bytes"));
            }
            if before.is_some_and(|before| before >= suffix) {
                return Err(Flaw::from("strings out of order"));
            }
            before = Some(suffix);
        }
        if self.count > 0 && (!self.covers(&self.string(0)) || !self.covers(&self.string(self.count - 1))) {
            return Err(Flaw::from("a string outside of the fences"));
        }
        if !self.is_leaf() && (self.count == 0 || self.string(0) != self.low()) {
            return Err(Flaw::from("an inner page does not begin at its low fence"));
        }
        Ok(())
    }
}

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
        let from = SLOTS + index * SLOT;
        page.copy_within(from..from + SLOT, SLOTS + kept * SLOT);
        kept += 1;
    }
    put_u16(page, COUNT, kept as u16);
    let garbage = usize::from(u16_at(page, GARBAGE)) + freed;
    put_u16(page, GARBAGE, garbage as u16);
    Ok(())
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
