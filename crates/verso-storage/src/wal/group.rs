//! Groups of log records: what one mini-transaction writes, all or nothing.
//!
//! ```text
//! group   len u24 │ 0x80 + n u8 │ txn [n] │ record … record          (len counts everything, itself included)
//! record  kind u8 │ page varint │ len varint │ payload[len]         (page 0: a state record)
//! ```
//!
//! Most groups are a row, an index entry or a commit: what stands around their few bytes is what a log of small transactions
//! consists of. Numbers have as many bytes as they need: those of transactions without leading zeroes, the others seven bits a
//! byte, the lowest first, with the highest bit set in all but the last.
//!
//! Logs of formats 1 and 2 have other groups, told by their fourth byte, which is 0:
//!
//! ```text
//! group   len u32 │ records u32 │ txn u64 │ record … record
//! record  kind u8 │ page u32 │ len u32 │ payload[len]
//! ```
//!
//! G1. A group lies in one chunk, so it is durable whole or not at all.
//! G2. The decoder trusts no byte: junk is a [`Flaw`], never a panic.

use std::cell::RefCell;

use super::RecordKind;
use crate::page::bytes::{checked_slice, checked_u32, checked_u64, put_u32};
use crate::page::{Flaw, PageId, TxnId};

/// Says in the fourth byte that a group is of format 3; the number of bytes of its transaction's number stands below.
const COMPACT: u8 = 0x80;
/// Bytes before the first record of a group of a former format.
const OLD_GROUP_HEADER: usize = 16;
/// Bytes before the payload of a record of a former format.
const OLD_RECORD_HEADER: usize = 9;
/// A group is at most this long, so that three bytes say how long it is.
pub const MAX_GROUP: usize = 8 << 20;

/// Spare buffers each thread keeps; a mini-transaction inside another is rare, a third level does not occur.
const SPARE_BUFFERS: usize = 2;
/// Longer spare buffers are given back to the allocator.
const SPARE_CAPACITY_MAX: usize = 1 << 20;

thread_local! {
    static SPARES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A group under construction. Its buffer returns to the thread when it is dropped, so that building the next one
/// allocates nothing.
#[derive(Debug)]
pub struct Group {
    bytes: Vec<u8>,
    txn: TxnId,
    record_count: u32,
    /// Where the newest record begins.
    newest: usize,
}

/// A number, seven bits a byte: its bytes, and how many they are.
pub(crate) fn varint_bytes(mut value: u64) -> ([u8; 10], usize) {
    let (mut bytes, mut last) = ([0; 10], 0);
    while value >= 0x80 {
        bytes[last] = value as u8 | 0x80;
        value >>= 7;
        last += 1;
    }
    bytes[last] = value as u8;
    (bytes, last + 1)
}

/// Appends a number, seven bits a byte.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    let (bytes, count) = varint_bytes(value);
    out.extend_from_slice(&bytes[..count]);
}

/// The number that [`put_varint`] has put at `at`, which goes behind it.
///
/// # Errors
/// A flaw where it does not end, or has more than 64 bits.
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, Flaw> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or_else(|| Flaw::from("a number of the log is cut off"))?;
        *at += 1;
        let bits = u64::from(byte & 0x7F);
        if shift == 63 && bits > 1 {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Flaw::from("a number of the log is too long"))
}

/// The same of a number of 32 bits.
///
/// # Errors
/// As [`varint`].
pub(crate) fn varint_u32(bytes: &[u8], at: &mut usize) -> Result<u32, Flaw> {
    let value = varint(bytes, at)?;
    u32::try_from(value).map_err(|_| Flaw::new(format!("a number of the log is {value}")))
}

impl Group {
    /// An empty group of `txn` ([`TxnId::NONE`] for housekeeping).
    #[must_use]
    pub fn new(txn: TxnId) -> Group {
        let mut bytes =
            SPARES.try_with(|spares| spares.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        bytes.clear();
        let width = 8 - txn.0.leading_zeros() as usize / 8;
        bytes.extend_from_slice(&[0, 0, 0, COMPACT | width as u8]);
        bytes.extend_from_slice(&txn.0.to_le_bytes()[..width]);
        let newest = bytes.len();
        Group { bytes, txn, record_count: 0, newest }
    }

    /// Whose group it is.
    #[must_use]
    pub fn txn(&self) -> TxnId {
        self.txn
    }

    /// Adds a record.
    pub fn push(&mut self, kind: RecordKind, page: PageId, payload: &[u8]) {
        self.push_with(kind, page, |out| out.extend_from_slice(payload));
    }

    /// Adds a record whose payload `write` appends to the buffer it is given (which holds other bytes before).
    /// Returns the place of the payload for [`Group::payload`].
    #[inline]
    pub fn push_with(&mut self, kind: RecordKind, page: PageId, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        self.newest = self.bytes.len();
        self.bytes.push(kind.0);
        put_varint(&mut self.bytes, u64::from(page.0));
        // Its length follows when it is known; that of most takes one byte.
        self.bytes.push(0);
        let start = self.bytes.len();
        write(&mut self.bytes);
        assert!(self.bytes.len() >= start, "a payload is appended, nothing before it removed");
        self.record_count += 1;
        let length = self.bytes.len() - start;
        if length < 0x80 {
            self.bytes[start - 1] = length as u8;
            return start;
        }
        self.put_length(start, length)
    }

    /// Makes room for the length of a payload that takes more than one byte; where it stands then.
    fn put_length(&mut self, start: usize, length: usize) -> usize {
        let (bytes, count) = varint_bytes(length as u64);
        let (end, moved) = (self.bytes.len(), start + count - 1);
        self.bytes.resize(end + count - 1, 0);
        self.bytes.copy_within(start..end, moved);
        self.bytes[start - 1..moved].copy_from_slice(&bytes[..count]);
        moved
    }

    /// The payload of the newest record, which starts at `start`.
    #[must_use]
    pub fn payload(&self, start: usize) -> &[u8] {
        &self.bytes[start..]
    }

    /// Takes the newest record back, once.
    pub fn pop(&mut self) {
        self.bytes.truncate(self.newest);
        self.record_count -= 1;
    }

    /// Whether there is no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// Length in bytes as it stands in the log.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Number of records.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        self.record_count
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.bytes.truncate(4 + usize::from(self.bytes[3] & !COMPACT));
        self.record_count = 0;
    }

    /// Fills in the header and returns the group as it stands in the log.
    pub fn finish(&mut self) -> &[u8] {
        // [`MAX_GROUP`] is far below what three bytes say: longer ones are refused before they are written.
        let length = self.bytes.len().min((1 << 24) - 1) as u32;
        let kind = self.bytes[3];
        put_u32(&mut self.bytes, 0, length | u32::from(kind) << 24);
        &self.bytes
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() == 0 || bytes.capacity() > SPARE_CAPACITY_MAX {
            return;
        }
        // A thread that ends has no spares any more; the buffer is then simply freed.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < SPARE_BUFFERS {
                spares.push(bytes);
            }
        });
    }
}

/// A group read from the log.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    bytes: &'a [u8],
    txn: TxnId,
    /// Where its first record begins.
    first: usize,
    /// Of a former format: the number of its records.
    old_count: Option<u32>,
}

/// A record read from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// What it does.
    pub kind: RecordKind,
    /// The page it applies to; [`PageId::NONE`] for a state record.
    pub page: PageId,
    /// The rest.
    pub payload: &'a [u8],
    /// Where the record starts, counted from the start of its group.
    pub offset: usize,
}

impl<'a> GroupView<'a> {
    /// The group at the start of `bytes`, which may go on behind it.
    ///
    /// # Errors
    /// A flaw when it does not fit into `bytes` or its header makes no sense.
    pub fn parse(bytes: &'a [u8]) -> Result<GroupView<'a>, Flaw> {
        let head = checked_u32(bytes, 0)?;
        let kind = (head >> 24) as u8;
        if kind & COMPACT == 0 {
            return GroupView::parse_old(bytes, head as usize);
        }
        let (length, width) = ((head & 0xFF_FFFF) as usize, usize::from(kind & !COMPACT));
        let first = 4 + width;
        if width > 8 || !(first..=MAX_GROUP).contains(&length) {
            return Err(Flaw::new(format!("log group of {length} bytes")));
        }
        let bytes = checked_slice(bytes, 0, length)?;
        let mut txn = [0; 8];
        txn[..width].copy_from_slice(&bytes[4..first]);
        Ok(GroupView { bytes, txn: TxnId(u64::from_le_bytes(txn)), first, old_count: None })
    }

    fn parse_old(bytes: &'a [u8], length: usize) -> Result<GroupView<'a>, Flaw> {
        if !(OLD_GROUP_HEADER..=MAX_GROUP).contains(&length) {
            return Err(Flaw::new(format!("log group of {length} bytes")));
        }
        let txn = TxnId(checked_u64(bytes, 8)?);
        let old_count = Some(checked_u32(bytes, 4)?);
        Ok(GroupView { bytes: checked_slice(bytes, 0, length)?, txn, first: OLD_GROUP_HEADER, old_count })
    }

    /// Whose group it is.
    #[must_use]
    pub fn txn(&self) -> TxnId {
        self.txn
    }

    /// Length in bytes, the header included.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The records in order. The first flaw ends the iteration.
    pub fn records(&self) -> impl Iterator<Item = Result<RecordView<'a>, Flaw>> + use<'a> {
        let (bytes, count) = (self.bytes, self.old_count);
        let mut offset = self.first;
        let mut seen = 0u32;
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            if offset == bytes.len() {
                ended = true;
                let complete = count.is_none_or(|count| seen == count);
                return if complete { None } else { Some(Err(Flaw::from("log group lacks records"))) };
            }
            let record = match count {
                None => parse_record(bytes, offset),
                Some(count) if seen < count => parse_old_record(bytes, offset),
                Some(_) => Err(Flaw::from("log group has bytes behind its last record")),
            };
            seen += 1;
            match &record {
                Ok((_, next)) => offset = *next,
                Err(_) => ended = true,
            }
            Some(record.map(|(record, _)| record))
        })
    }
}

/// The record at `offset`, and where the next one begins.
fn parse_record(bytes: &[u8], offset: usize) -> Result<(RecordView<'_>, usize), Flaw> {
    let kind = RecordKind(checked_slice(bytes, offset, 1)?[0]);
    let mut at = offset + 1;
    let page = PageId(varint_u32(bytes, &mut at)?);
    let length = varint_u32(bytes, &mut at)? as usize;
    let payload = checked_slice(bytes, at, length)?;
    Ok((RecordView { kind, page, payload, offset }, at + length))
}

/// The same of a former format.
fn parse_old_record(bytes: &[u8], offset: usize) -> Result<(RecordView<'_>, usize), Flaw> {
    let header = checked_slice(bytes, offset, OLD_RECORD_HEADER)?;
    let length = checked_u32(header, 5)? as usize;
    let payload = checked_slice(bytes, offset + OLD_RECORD_HEADER, length)?;
    let record =
        RecordView { kind: RecordKind(header[0]), page: PageId(checked_u32(header, 1)?), payload, offset };
    Ok((record, offset + OLD_RECORD_HEADER + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn build(records: &[(u8, u32, Vec<u8>)]) -> Vec<u8> {
        let mut group = Group::new(TxnId(77));
        for (index, (kind, page, payload)) in records.iter().enumerate() {
            if index % 2 == 0 {
                group.push(RecordKind(*kind), PageId(*page), payload);
            } else {
                let at = group.push_with(RecordKind(*kind), PageId(*page), |out| out.extend(payload));
                assert_eq!(group.payload(at), payload);
            }
        }
        group.finish().to_vec()
    }

    /// As formats 1 and 2 have it.
    fn build_old(records: &[(u8, u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = vec![0; OLD_GROUP_HEADER];
        for (kind, page, payload) in records {
            bytes.push(*kind);
            bytes.extend_from_slice(&page.to_le_bytes());
            bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
            bytes.extend_from_slice(payload);
        }
        let length = bytes.len() as u32;
        put_u32(&mut bytes, 0, length);
        put_u32(&mut bytes, 4, records.len() as u32);
        put_u32(&mut bytes, 8, 77);
        bytes
    }

    fn records() -> impl Strategy<Value = Vec<(u8, u32, Vec<u8>)>> {
        let payload = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            (120usize..140, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]),
            (16_380usize..16_390, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]),
        ];
        prop::collection::vec((1u8.., any::<u32>(), payload), 0..8)
    }

    proptest! {
        #[test]
        fn what_was_built_is_read_back(records in records(), behind in prop::collection::vec(any::<u8>(), 0..9)) {
            let mut bytes = build(&records);
            let length = bytes.len();
            bytes.extend(behind);
            let view = GroupView::parse(&bytes).unwrap();
            prop_assert_eq!((view.txn(), view.byte_len()), (TxnId(77), length));
            let read: Vec<_> = view.records().map(Result::unwrap)
                .map(|r| (r.kind.0, r.page.0, r.payload.to_vec())).collect();
            prop_assert_eq!(read, records);
        }

        #[test]
        fn groups_of_former_formats_are_read(records in records(), behind in prop::collection::vec(any::<u8>(), 0..9)) {
            let mut bytes = build_old(&records);
            let length = bytes.len();
            bytes.extend(behind);
            let view = GroupView::parse(&bytes).unwrap();
            prop_assert_eq!((view.txn(), view.byte_len()), (TxnId(77), length));
            let read: Vec<_> = view.records().map(Result::unwrap)
                .map(|r| (r.kind.0, r.page.0, r.payload.to_vec())).collect();
            prop_assert_eq!(read, records);
        }

        #[test]
        fn numbers_come_back(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut at = 0;
            prop_assert_eq!(varint(&bytes, &mut at).unwrap(), value);
            prop_assert_eq!(at, bytes.len());
            let mut group = Group::new(TxnId(value));
            prop_assert_eq!(GroupView::parse(group.finish()).unwrap().txn(), TxnId(value));
        }

        #[test]
        fn junk_is_a_flaw_and_never_a_panic(
            records in records(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(), old in any::<bool>(),
        ) {
            let mut bytes = if old { build_old(&records) } else { build(&records) };
            for (at, value) in flips {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            if let Ok(view) = GroupView::parse(&bytes) {
                let results: Vec<_> = view.records().collect();
                let (_, before_last) = results.split_last().map_or((None, &[][..]), |(l, b)| (Some(l), b));
                prop_assert!(before_last.iter().all(Result::is_ok), "a flaw ends the iteration");
            }
        }

        #[test]
        fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(view) = GroupView::parse(&bytes) {
                let _ = view.records().count();
            }
        }
    }

    #[test]
    fn a_wrong_record_count_shows() {
        for count in [0u32, 1, 3] {
            let mut bytes = build_old(&[(1, 0, vec![1]), (2, 5, vec![2])]);
            put_u32(&mut bytes, 4, count);
            assert!(GroupView::parse(&bytes).unwrap().records().any(|record| record.is_err()), "{count}");
        }
    }

    #[test]
    fn the_newest_record_can_be_taken_back() {
        let mut group = Group::new(TxnId(1));
        group.push(RecordKind(1), PageId(2), b"kept");
        let before = group.len();
        group.push_with(RecordKind(1), PageId(2), |out| out.extend(b"gone"));
        group.pop();
        assert_eq!((group.len(), group.record_count()), (before, 1));
    }

    #[test]
    fn a_commit_takes_a_few_bytes() {
        let mut group = Group::new(TxnId(1_000_000));
        group.push(RecordKind::COMMIT, PageId::NONE, &[]);
        assert_eq!(group.finish().len(), 4 + 3 + 3);
        group.clear();
        assert_eq!((group.len(), group.is_empty()), (7, true));
    }

    #[test]
    fn a_number_that_is_too_long_is_a_flaw() {
        for bytes in
            [[0xFF; 12].as_slice(), &[0x80], &[], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]]
        {
            assert!(varint(bytes, &mut 0).is_err(), "{bytes:?}");
        }
        assert!(varint_u32(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F], &mut 0).is_err());
    }

    #[test]
    fn a_thread_reuses_its_buffers() {
        let mut group = Group::new(TxnId(1));
        group.push(RecordKind(1), PageId(2), &[7; 5000]);
        let place = group.bytes.as_ptr();
        drop(group);
        let group = Group::new(TxnId(2));
        assert_eq!(group.bytes.as_ptr(), place);
        assert!(group.is_empty());
    }
}
