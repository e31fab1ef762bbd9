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

mod redo;

pub use redo::{
    NewNode, encode_cell, fence_payload, insert_one_payload, place_one, prefix_of, redo, room_of_empty,
};

use crate::page::bytes::{checked_u32, u16_at, u32_at};
use crate::page::{Flaw, PageId, PageKind, header};

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
/// Entries from which on a place is guessed.
const GUESSED_MIN: usize = 16;
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
        // Who appends finds the end at once.
        if self.count > 0 && self.compare(self.count - 1, head, suffix).is_lt() {
            return (self.count, false);
        }
        let (mut low, mut high) = self.around(head);
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

    /// Between which indexes the first string not less than one with this head is. Numbers in a row have heads that grow evenly, so the place is guessed from the first and the last head and
    /// sought from there in steps that double: a search by halves looks at ten places, each in another cache line.
    ///
    /// Source: Perl, Itai, Avni, "Interpolation search", 1978; Bentley, Yao, "An almost optimal algorithm for unbounded
    /// searching", 1976.
    #[inline]
    fn around(&self, head: u32) -> (usize, usize) {
        if self.count < GUESSED_MIN {
            return (0, self.count);
        }
        let last = self.count - 1;
        let (first_head, last_head) = (self.slot_head(0), self.slot_head(last));
        if head <= first_head || last_head <= first_head {
            return (0, self.count);
        }
        let along = u64::from(head - first_head) * last as u64 / u64::from(last_head - first_head);
        let guess = (along as usize).min(last);
        // Strings before `low` have lesser heads, those from `high` on greater ones.
        let (mut low, mut high, mut step) = (guess, guess, 1);
        while low > 0 && self.slot_head(low) >= head {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 1;
        while high < self.count && self.slot_head(high) <= head {
            high += step;
            step *= 2;
        }
        (low, high.min(self.count))
    }

    /// As [`Node::find`] for a string behind all entries before `from`: quick if it stands soon behind them, as the next one of
    /// a sorted list does. Steps that double, then halves: Bentley, Yao, "An almost optimal algorithm for unbounded
    /// searching", 1976.
    pub fn find_behind(&self, string: &[u8], from: usize) -> (usize, bool) {
        let suffix = self.truncated(string);
        let head = head(suffix);
        let (mut low, mut high, mut step) = (from.min(self.count), self.count, 1);
        while low < high {
            // Beyond the end of the doubling steps by halves.
            let middle = if step > 0 { (low + step - 1).min(high - 1) } else { usize::midpoint(low, high) };
            match self.compare(middle, head, suffix) {
                std::cmp::Ordering::Less => {
                    low = middle + 1;
                    step *= 2;
                }
                std::cmp::Ordering::Equal => return (middle, true),
                std::cmp::Ordering::Greater => {
                    high = middle;
                    step = 0;
                }
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

    /// Bytes that slots and cells take: all between them and the end of the page that is neither garbage nor a fence.
    pub fn used(&self) -> usize {
        let rest = usize::from(u16_at(self.page, START)) + usize::from(u16_at(self.page, GARBAGE));
        let fences = self.low().len() + self.high().map_or(0, <[u8]>::len);
        self.count * SLOT + self.page.len().saturating_sub(rest + fences)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::ObjectId;
    use crate::wal::RecordKind;

    fn leaf(strings: &[Vec<u8>]) -> Vec<u8> {
        let new =
            NewNode { page: PageId(9), owner: ObjectId(7), level: 0, next: PageId(0), low: b"", high: None };
        let mut payload = Vec::new();
        new.encode(&mut payload, strings.iter().map(|string| (None, &string[..])));
        let mut page = vec![0; 1 << 14];
        redo(RecordKind::INDEX_INIT, &mut page, &payload).unwrap();
        page
    }

    /// A leaf between `low` and the end that has taken `strings` one by one, until the next has no room.
    fn filled(low: &[u8], strings: impl Iterator<Item = Vec<u8>>) -> (Vec<u8>, Vec<Vec<u8>>) {
        let new = NewNode { page: PageId(9), owner: ObjectId(7), level: 0, next: PageId(0), low, high: None };
        let mut payload = Vec::new();
        new.encode(&mut payload, std::iter::empty());
        let mut page = vec![0; 1 << 12];
        redo(RecordKind::INDEX_INIT, &mut page, &payload).unwrap();
        let mut taken: Vec<Vec<u8>> = Vec::new();
        for string in strings {
            let index = taken.partition_point(|other| *other < string);
            let mut payload = Vec::new();
            insert_one_payload(&mut payload, index, &string);
            if redo(RecordKind::INDEX_INSERT, &mut page, &payload).is_err() {
                break;
            }
            taken.insert(index, string);
        }
        (page, taken)
    }

    #[test]
    fn a_full_page_that_is_fenced_keeps_its_strings() {
        let string = |n: u32, tail: usize| [&b"common"[..], &n.to_be_bytes(), &vec![7; tail]].concat();
        // However many bytes are left, and whether the last string has come last.
        for tail in 0..24 {
            for ascending in [true, false] {
                let number = |n: u32| if ascending { n } else { n ^ 1 };
                let (mut page, strings) = filled(b"common", (0..).map(|n| string(number(n), tail)));
                let used = Node::of(&page).unwrap().used();
                let cells: usize = strings.iter().map(|string| SLOT + string.len()).sum();
                assert_eq!(used, cells);
                for high in [&b"common\x01"[..], b"common\x01\x02\x03\x04\x05\x06\x07", b"common\x01\x02"] {
                    let mut payload = Vec::new();
                    fence_payload(&mut payload, strings.len(), PageId(11), Some(high));
                    redo(RecordKind::INDEX_FENCE, &mut page, &payload).unwrap();
                    let node = Node::of(&page).unwrap();
                    node.check().unwrap();
                    assert_eq!((node.next(), node.high()), (PageId(11), Some(high)));
                    assert_eq!(node.prefix(), b"common");
                    let found: Vec<Vec<u8>> = (0..node.count()).map(|index| node.string(index)).collect();
                    assert_eq!(found, strings);
                }
                // What became garbage can be used again.
                let mut payload = Vec::new();
                insert_one_payload(&mut payload, 0, b"");
                redo(RecordKind::INDEX_INSERT, &mut page, &payload).unwrap();
                Node::of(&page).unwrap().check().unwrap();
            }
        }
    }

    #[test]
    fn strings_are_found_however_their_first_bytes_are_spread() {
        let number = |n: u32, tail: u8| [&n.to_be_bytes()[..], &[tail]].concat();
        let spreads: [fn(u32) -> u32; 6] =
            [|n| n, |n| n * 1000, |n| n * n * n, |n| 1 << (n / 20), |n| u32::MAX - n * n, |_| 5];
        for spread in spreads {
            for count in [0, 1, 15, 16, 17, 400] {
                let mut strings: Vec<Vec<u8>> = (0..count).map(|n| number(spread(n), n as u8)).collect();
                strings.sort();
                strings.dedup();
                let page = leaf(&strings);
                let node = Node::of(&page).unwrap();
                node.check().unwrap();
                let near = strings.iter().flat_map(|string| {
                    let mut behind = string.clone();
                    behind.push(0);
                    [string.clone(), behind, string[..4].to_vec(), string[..2].to_vec()]
                });
                for sought in near.chain([Vec::new(), vec![0xff; 6]]) {
                    let found = node.find(&sought);
                    let expected = strings.partition_point(|string| *string < sought);
                    assert_eq!(found, (expected, strings.get(expected) == Some(&sought)), "{sought:?}");
                }
            }
        }
    }
}
