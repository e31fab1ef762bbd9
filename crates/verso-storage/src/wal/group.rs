//! Groups of log records: what one mini-transaction writes, all or nothing.
//!
//! ```text
//! group   len u32 │ records u32 │ txn u64 │ record … record          (len counts everything, itself included)
//! record  kind u8 │ page u32 │ len u32 │ payload[len]               (page 0: a state record)
//! ```
//!
//! G1. A group lies in one chunk, so it is durable whole or not at all.
//! G2. The decoder trusts no byte: junk is a [`Flaw`], never a panic.

use std::cell::RefCell;

use super::RecordKind;
use crate::page::bytes::{checked_slice, checked_u32, checked_u64, put_u32, put_u64};
use crate::page::{Flaw, PageId, TxnId};

/// Bytes before the first record of a group.
pub const GROUP_HEADER: usize = 16;
/// Bytes before the payload of a record.
pub const RECORD_HEADER: usize = 9;
/// A group is at most this long.
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
    record_count: u32,
}

impl Group {
    /// An empty group of `txn` ([`TxnId::NONE`] for housekeeping).
    #[must_use]
    pub fn new(txn: TxnId) -> Group {
        let mut bytes =
            SPARES.try_with(|spares| spares.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        let mut header = [0; GROUP_HEADER];
        put_u64(&mut header, 8, txn.0);
        bytes.clear();
        bytes.extend_from_slice(&header);
        Group { bytes, record_count: 0 }
    }

    /// Adds a record.
    pub fn push(&mut self, kind: RecordKind, page: PageId, payload: &[u8]) {
        let start = self.begin_record(kind, page);
        self.bytes.extend_from_slice(payload);
        self.end_record(start);
    }

    /// Adds a record whose payload `write` appends to the buffer it is given (which holds other bytes before).
    /// Returns the place of the payload for [`Group::payload`].
    #[inline]
    pub fn push_with(&mut self, kind: RecordKind, page: PageId, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.begin_record(kind, page);
        write(&mut self.bytes);
        assert!(self.bytes.len() >= start, "a payload is appended, nothing before it removed");
        self.end_record(start);
        start
    }

    fn begin_record(&mut self, kind: RecordKind, page: PageId) -> usize {
        // Its length follows when it is known.
        let mut header = [0; RECORD_HEADER];
        header[0] = kind.0;
        put_u32(&mut header, 1, page.0);
        self.bytes.extend_from_slice(&header);
        self.bytes.len()
    }

    fn end_record(&mut self, start: usize) {
        let length = u32::try_from(self.bytes.len() - start).expect("a payload is far shorter than 4 GiB");
        put_u32(&mut self.bytes, start - 4, length);
        self.record_count += 1;
    }

    /// The payload of the newest record, which starts at `start`.
    #[must_use]
    pub fn payload(&self, start: usize) -> &[u8] {
        &self.bytes[start..]
    }

    /// Takes the newest record, whose payload starts at `start`, back.
    pub fn pop(&mut self, start: usize) {
        self.bytes.truncate(start - RECORD_HEADER);
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
        self.bytes.truncate(GROUP_HEADER);
        self.record_count = 0;
    }

    /// Fills in the header and returns the group as it stands in the log.
    pub fn finish(&mut self) -> &[u8] {
        let length = u32::try_from(self.bytes.len()).expect("a group is far shorter than 4 GiB");
        put_u32(&mut self.bytes, 0, length);
        put_u32(&mut self.bytes, 4, self.record_count);
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
    record_count: u32,
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
        let length = checked_u32(bytes, 0)? as usize;
        if !(GROUP_HEADER..=MAX_GROUP).contains(&length) {
            return Err(Flaw::new(format!("log group of {length} bytes")));
        }
        let txn = TxnId(checked_u64(bytes, 8)?);
        let record_count = checked_u32(bytes, 4)?;
        Ok(GroupView { bytes: checked_slice(bytes, 0, length)?, txn, record_count })
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
        let (bytes, count) = (self.bytes, self.record_count);
        let mut offset = GROUP_HEADER;
        let mut seen = 0u32;
        std::iter::from_fn(move || {
            if offset == bytes.len() {
                let complete = seen == count;
                seen = count;
                return if complete { None } else { Some(Err(Flaw::from("log group lacks records"))) };
            }
            let record = match seen < count {
                true => parse_record(bytes, offset),
                false => Err(Flaw::from("log group has bytes behind its last record")),
            };
            match &record {
                Ok(record) => {
                    offset += RECORD_HEADER + record.payload.len();
                    seen += 1;
                }
                Err(_) => {
                    offset = bytes.len();
                    seen = count;
                }
            }
            Some(record)
        })
    }
}

fn parse_record(bytes: &[u8], offset: usize) -> Result<RecordView<'_>, Flaw> {
    let header = checked_slice(bytes, offset, RECORD_HEADER)?;
    let length = checked_u32(header, 5)? as usize;
    let payload = checked_slice(bytes, offset + RECORD_HEADER, length)?;
    Ok(RecordView { kind: RecordKind(header[0]), page: PageId(checked_u32(header, 1)?), payload, offset })
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

    fn records() -> impl Strategy<Value = Vec<(u8, u32, Vec<u8>)>> {
        prop::collection::vec((1u8.., any::<u32>(), prop::collection::vec(any::<u8>(), 0..40)), 0..8)
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
        fn junk_is_a_flaw_and_never_a_panic(
            records in records(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = build(&records);
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
            let mut bytes = build(&[(1, 0, vec![1]), (2, 5, vec![2])]);
            put_u32(&mut bytes, 4, count);
            assert!(GroupView::parse(&bytes).unwrap().records().any(|record| record.is_err()), "{count}");
        }
    }

    #[test]
    fn the_newest_record_can_be_taken_back() {
        let mut group = Group::new(TxnId(1));
        group.push(RecordKind(1), PageId(2), b"kept");
        let before = group.len();
        let at = group.push_with(RecordKind(1), PageId(2), |out| out.extend(b"gone"));
        group.pop(at);
        assert_eq!((group.len(), group.record_count()), (before, 1));
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
