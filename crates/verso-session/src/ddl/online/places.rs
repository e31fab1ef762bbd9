//! Which record of a copy a record of a table has become.

use std::collections::HashMap;

use verso_storage::RecordId;

/// Records that follow each other, as do their copies.
#[derive(Debug)]
struct Run {
    from: RecordId,
    to: RecordId,
    count: u16,
}

/// The copies of records: first of all of them, in their order, which mostly make long runs; then of some that were
/// copied once more, or went.
#[derive(Debug, Default)]
pub(super) struct Places {
    runs: Vec<Run>,
    later: HashMap<RecordId, Option<RecordId>>,
}

fn follows(record: RecordId, first: RecordId, count: u16) -> bool {
    record.page_index == first.page_index
        && u32::from(record.slot) == u32::from(first.slot) + u32::from(count)
}

impl Places {
    /// Notes copies of records that come behind all those noted so.
    pub fn append(&mut self, from: &[RecordId], to: &[RecordId]) {
        for (from, to) in from.iter().copied().zip(to.iter().copied()) {
            match self.runs.last_mut() {
                Some(last)
                    if last.count < u16::MAX
                        && follows(from, last.from, last.count)
                        && follows(to, last.to, last.count) =>
                {
                    last.count += 1;
                }
                _ => self.runs.push(Run { from, to, count: 1 }),
            }
        }
    }

    /// Notes a copy.
    pub fn put(&mut self, from: RecordId, to: RecordId) {
        self.later.insert(from, Some(to));
    }

    /// The copy of a record, if it has one.
    pub fn get(&self, record: RecordId) -> Option<RecordId> {
        if let Some(later) = self.later.get(&record) {
            return *later;
        }
        let behind = self.runs.partition_point(|run| run.from <= record);
        let run = &self.runs[behind.checked_sub(1)?];
        let is_within = record.page_index == run.from.page_index && record.slot - run.from.slot < run.count;
        is_within.then(|| RecordId { slot: run.to.slot + (record.slot - run.from.slot), ..run.to })
    }

    /// The copy of a record, which is given up.
    pub fn take(&mut self, record: RecordId) -> Option<RecordId> {
        let copy = self.get(record)?;
        self.later.insert(record, None);
        Some(copy)
    }

    /// Bytes that the notes take, about.
    pub fn bytes(&self) -> u64 {
        let later = self.later.capacity() * (size_of::<(RecordId, Option<RecordId>)>() + 1);
        (self.runs.capacity() * size_of::<Run>() + later) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page_index: u32, slot: u16) -> RecordId {
        RecordId { page_index, slot }
    }

    #[test]
    fn every_record_finds_its_copy_and_no_other_one() {
        let mut places = Places::default();
        assert_eq!(places.get(at(0, 0)), None);
        // Slot 3 of page 1 is free, and the copies of page 2 begin another page.
        let from = [at(1, 1), at(1, 2), at(1, 4), at(2, 0), at(2, 1)];
        let to = [at(0, 0), at(0, 1), at(0, 2), at(0, 3), at(1, 0)];
        places.append(&from[..2], &to[..2]);
        places.append(&from[2..], &to[2..]);
        assert_eq!(places.runs.len(), 4);
        for (from, to) in from.iter().zip(to) {
            assert_eq!(places.get(*from), Some(to));
        }
        for other in [at(0, 9), at(1, 0), at(1, 3), at(1, 5), at(2, 2), at(3, 0)] {
            assert_eq!(places.get(other), None, "{other:?}");
        }
        assert_eq!(places.take(at(1, 2)), Some(at(0, 1)));
        assert_eq!((places.take(at(1, 2)), places.get(at(1, 2))), (None, None));
        places.put(at(1, 2), at(7, 7));
        places.put(at(9, 0), at(7, 8));
        assert_eq!((places.get(at(1, 2)), places.get(at(9, 0))), (Some(at(7, 7)), Some(at(7, 8))));
        assert_eq!(places.get(at(1, 1)), Some(at(0, 0)));
        assert!(places.bytes() >= 4 * 16);
    }
}
