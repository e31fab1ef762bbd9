//! History within reach: which state was there at which moment, and how long old versions stay.
//!
//! ```text
//! time:     first─until      first─until                   first─until
//! marks:    ├─ mark ─┤       ├─ mark ─┤   (no commits)     ├─ mark ─┤
//! numbers: before .. before' ───────────► before'' ────────► counter
//! ```
//!
//! A mark stands for commits that were published one after the other, the newer marks for those of one microsecond: the first of
//! them at `first`, the last at `until`; `before` is the number of the state that they found.
//!
//! H1. The horizon does not pass the state of the oldest mark; a mark goes when all its commits are older than the retention.
//! H2. A moment means the state behind the last mark before it. Within a mark it means the state that the mark found:
//!     never a commit that was published later than the moment.
//! H3. A checkpoint holds the marks and the numbers of all transactions that one of their states does not see. A restart takes
//!     them up, and gives the commits that the log has behind the checkpoint numbers in the order of the log.
//! H4. Where the space of old versions is bounded, the oldest marks go until the version pages fit (`maintenance/background.rs`).
//!
//! Memory: at most [`MARKS_MAX`] marks. When there are more, those within a [part](PARTS) of the retention are put together, so
//! that older moments are told apart less finely: by .2 s of an hour.

use std::collections::VecDeque;
use std::sync::Arc;

use verso_env::Clock;

use crate::page::bytes::{checked_slice, checked_u64};
use crate::page::{Flaw, TxnId};
use crate::rules::{Rule, disabled};

/// What marks span at least when they are put together.
const SPAN_MICROS: i64 = 1000;
/// Marks kept.
const MARKS_MAX: usize = 1 << 16;
/// Parts of the retention that are told apart in any case.
const PARTS: i64 = 1 << 14;

/// Commits that were published shortly one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// When the first of them was published, in microseconds since 1970.
    first: i64,
    /// When the last of them was.
    until: i64,
    /// The state that they found.
    pub before: u64,
    /// The oldest active transaction of that state.
    pub oldest_active: TxnId,
    /// Every transaction below is committed in that state.
    pub all_below: TxnId,
}

/// What is known of the past.
pub struct History {
    /// How long old versions stay.
    retention_micros: i64,
    /// No earlier moment can be read.
    start: i64,
    marks: VecDeque<Mark>,
    clock: Option<Arc<dyn Clock>>,
}

/// What can be read of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryReport {
    /// How long old versions stay, in microseconds.
    pub retention_micros: i64,
    /// The earliest moment that can be read, in microseconds since 1970.
    pub start: i64,
    /// The number of the state of that moment.
    pub oldest: u64,
    /// The number of the newest state.
    pub newest: u64,
    /// Moments that are told apart.
    pub moments: u64,
    /// The longest time within which moments are not told apart, in microseconds.
    pub span_micros: i64,
}

impl History {
    /// A history that begins now.
    pub(super) fn new(clock: Arc<dyn Clock>, retention_micros: i64) -> History {
        let start = clock.unix_micros();
        History { retention_micros, start, marks: VecDeque::new(), clock: Some(clock) }
    }

    pub(super) fn set_clock(&mut self, clock: &Arc<dyn Clock>) {
        self.clock = Some(Arc::clone(clock));
    }

    pub(super) fn set_retention(&mut self, micros: i64) {
        self.retention_micros = micros;
    }

    /// Now; never before what is known.
    fn now(&self) -> i64 {
        let known = self.marks.back().map_or(self.start, |last| last.until);
        self.clock.as_ref().map_or(known, |clock| clock.unix_micros().max(known))
    }

    /// A commit is about to be published; `moment` is the state that it finds.
    pub(super) fn publish(&mut self, moment: (u64, TxnId, TxnId)) {
        self.publish_at(self.now(), moment);
    }

    fn publish_at(&mut self, now: i64, (before, oldest_active, all_below): (u64, TxnId, TxnId)) {
        if self.marks.back().is_some_and(|last| last.first == now) {
            return;
        }
        if self.marks.len() >= MARKS_MAX {
            self.thin();
        }
        self.marks.push_back(Mark { first: now, until: now, before, oldest_active, all_below });
    }

    /// Puts marks together that lie within a small part of the retention.
    fn thin(&mut self) {
        let mut span = (self.retention_micros / PARTS).max(SPAN_MICROS);
        // Two neighbours span more than a part then, so there are few; more only where housekeeping is late.
        while self.marks.len() >= MARKS_MAX {
            let mut kept: VecDeque<Mark> = VecDeque::with_capacity(MARKS_MAX);
            for mark in self.marks.drain(..) {
                match kept.back_mut().filter(|last| mark.until - last.first <= span) {
                    Some(last) => last.until = mark.until,
                    None => kept.push_back(mark),
                }
            }
            self.marks = kept;
            span *= 2;
        }
    }

    /// The number of the state of a moment; none for one that is too old.
    pub(super) fn number_at(&self, moment: i64, counter: u64) -> Option<u64> {
        if moment < self.start {
            return None;
        }
        let behind = self.marks.partition_point(|mark| mark.first <= moment);
        let found = match behind.checked_sub(1).and_then(|at| self.marks.get(at)) {
            Some(within) if moment < within.until && !disabled(Rule::H2) => Some(within),
            _ => self.marks.get(behind),
        };
        Some(found.map_or(counter, |mark| mark.before))
    }

    /// The last known state that is not newer than this number.
    pub(super) fn state_before(&self, number: u64) -> Option<&Mark> {
        let behind = self.marks.partition_point(|mark| mark.before <= number);
        behind.checked_sub(1).and_then(|at| self.marks.get(at))
    }

    /// The oldest state that can be read, where it is not the newest (H1).
    pub(super) fn oldest(&self) -> Option<&Mark> {
        self.marks.front().filter(|_| !disabled(Rule::H1))
    }

    /// Lets go what is older than the retention.
    pub(super) fn trim(&mut self) {
        let cutoff = self.now() - self.retention_micros;
        while self.marks.pop_front_if(|mark| mark.until <= cutoff).is_some() {}
        self.start = self.start.max(cutoff);
    }

    /// Lets an eighth of the marks go, the oldest; whether there were any.
    pub(super) fn shorten(&mut self) -> bool {
        let gone = self.marks.len().div_ceil(8);
        if let Some(last) = self.marks.drain(..gone).next_back() {
            self.start = self.start.max(last.until);
        }
        gone > 0
    }

    pub(super) fn report(&self, counter: u64) -> HistoryReport {
        HistoryReport {
            retention_micros: self.retention_micros,
            start: self.start,
            oldest: self.marks.front().map_or(counter, |mark| mark.before),
            newest: counter,
            moments: self.marks.len() as u64,
            span_micros: self.marks.iter().map(|mark| mark.until - mark.first).max().unwrap_or(0),
        }
    }

    /// Appends retention, start and marks for a checkpoint: `retention | start | count | (first, until, before)…`, each a
    /// little-endian u64; from the second mark on as variable-length differences.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.retention_micros as u64, self.start as u64, self.marks.len() as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let (mut time, mut before) = (0, 0);
        for mark in &self.marks {
            put(out, mark.first.wrapping_sub(time) as u64);
            put(out, mark.until.wrapping_sub(mark.first) as u64);
            put(out, mark.before.wrapping_sub(before));
            (time, before) = (mark.until, mark.before);
        }
    }

    /// Takes what [`History::encode`] wrote from the front of `bytes`. What a state sees is known roughly only: everything
    /// `all_below`.
    fn decode(bytes: &mut &[u8], all_below: TxnId) -> Result<History, Flaw> {
        let mut fixed = [0; 3];
        for number in &mut fixed {
            *number = checked_u64(bytes, 0)?;
            *bytes = &bytes[size_of::<u64>()..];
        }
        let [retention, start, count] = fixed;
        let disorder = || Flaw::from("moments of the past are out of order");
        let mut marks = VecDeque::new();
        let (mut time, mut before) = (0_i64, 0_u64);
        for _ in 0..count {
            let first = time.checked_add_unsigned(take(bytes)?).ok_or_else(disorder)?;
            let until = first.checked_add_unsigned(take(bytes)?).ok_or_else(disorder)?;
            before = before.checked_add(take(bytes)?).ok_or_else(disorder)?;
            time = until;
            marks.push_back(Mark { first, until, before, oldest_active: all_below, all_below });
        }
        if marks.len() > MARKS_MAX {
            return Err(Flaw::from("too many moments of the past"));
        }
        let retention_micros = i64::try_from(retention).map_err(|_| disorder())?;
        let start = i64::try_from(start).map_err(|_| disorder())?;
        Ok(History { retention_micros, start, marks, clock: None })
    }
}

/// What a restart knows of the past (H3).
pub struct RestoredHistory {
    history: History,
    /// Transactions from this one on have their numbers below; those before are seen by every state that can be read.
    pub(super) first: TxnId,
    /// Commit numbers; 0 for those that have none.
    pub(super) numbers: Vec<u64>,
    counter: u64,
}

impl RestoredHistory {
    /// Appends to a checkpoint what a restart needs beside the marks: `first u64 | count u64`, then of each transaction the
    /// difference of its number to the one before, zigzag and plus 1, or 0 where it has none.
    pub(super) fn encode_numbers(first: TxnId, numbers: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
        out.extend_from_slice(&first.0.to_le_bytes());
        let at = out.len();
        out.extend_from_slice(&[0; 8]);
        let (mut count, mut before) = (0_u64, 0_u64);
        for number in numbers {
            count += 1;
            if number == 0 {
                put(out, 0);
                continue;
            }
            let difference = number.wrapping_sub(before) as i64;
            put(out, ((difference << 1) ^ (difference >> 63)) as u64 + 1);
            before = number;
        }
        out[at..at + 8].copy_from_slice(&count.to_le_bytes());
    }

    /// Reads numbers and marks of a checkpoint at which the newest number was `counter`.
    ///
    /// # Errors
    /// A flaw for junk.
    pub(crate) fn decode(mut bytes: &[u8], counter: u64) -> Result<RestoredHistory, Flaw> {
        let (first, count) = (TxnId(checked_u64(bytes, 0)?), checked_u64(bytes, 8)?);
        bytes = &bytes[16..];
        // Each takes a byte at least.
        let count = usize::try_from(count).ok().filter(|count| *count <= bytes.len());
        let count = count.ok_or_else(|| Flaw::from("numbers of transactions cut short"))?;
        let (mut numbers, mut before) = (Vec::with_capacity(count), 0_u64);
        for _ in 0..count {
            let number = match take(&mut bytes)?.checked_sub(1) {
                None => 0,
                Some(code) => {
                    let difference = (code >> 1) as i64 ^ -((code & 1) as i64);
                    before = before.wrapping_add_signed(difference);
                    before
                }
            };
            if number > counter {
                return Err(Flaw::from("a commit number beyond the newest one"));
            }
            numbers.push(number);
        }
        let history = History::decode(&mut bytes, first)?;
        if history.marks.back().is_some_and(|mark| mark.before > counter) {
            return Err(Flaw::from("a moment beyond the newest commit"));
        }
        Ok(RestoredHistory { history, first, numbers, counter })
    }

    /// The log says that a transaction has committed, or that nothing is left of it; with the time where it says one.
    pub(crate) fn ended(&mut self, txn: TxnId, stamp: Option<i64>) {
        if let Some(stamp) = stamp {
            let now = self.history.marks.back().map_or(self.history.start, |last| last.until).max(stamp);
            self.history.publish_at(now, (self.counter, self.first, self.first));
        }
        self.counter += 1;
        let Some(at) = txn.0.checked_sub(self.first.0).and_then(|at| usize::try_from(at).ok()) else {
            return;
        };
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, 0);
        }
        self.numbers[at] = self.counter;
    }

    /// Whether a state that can be read does not see the transaction.
    pub(crate) fn is_missed(&self, txn: TxnId) -> bool {
        let oldest = self.history.marks.front().map_or(self.counter, |mark| mark.before);
        let at = txn.0.checked_sub(self.first.0).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.numbers.get(at)).is_some_and(|number| *number > oldest)
    }

    /// The newest number.
    pub(super) fn counter(&self) -> u64 {
        self.counter
    }

    /// The marks, of which every state sees the transactions below `all_below`.
    pub(super) fn into_history(mut self, all_below: TxnId) -> History {
        for mark in &mut self.history.marks {
            (mark.oldest_active, mark.all_below) = (all_below, all_below);
        }
        self.history
    }
}

/// Seven bits a byte, the lowest first.
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let byte = checked_slice(bytes, 0, 1)?[0];
        *bytes = &bytes[1..];
        if shift >= 63 && byte > 1 {
            return Err(Flaw::from("a number of more than 64 bits"));
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(times: &[i64]) -> History {
        let mut history =
            History { retention_micros: 3_600_000_000, start: 0, marks: VecDeque::new(), clock: None };
        for (at, time) in times.iter().enumerate() {
            history.publish_at(*time, (at as u64 + 1, TxnId(5), TxnId(5)));
        }
        history
    }

    #[test]
    fn h2_a_moment_is_the_state_of_what_was_published_before_it() {
        // Numbers 2 and 3 at once, then 4; after a while, 5 and 6.
        let mut history = history(&[10_000, 10_000, 10_900, 50_000, 70_000]);
        assert_eq!(history.marks.len(), 4);
        assert_eq!([9_999, 10_000, 10_899].map(|at| history.number_at(at, 6)), [1, 3, 3].map(Some));
        // As they are told apart when there are many.
        history.marks[0].until = 10_900;
        history.marks.remove(1);
        for (moment, number) in [
            (9_999, 1),
            (10_000, 1),
            (10_899, 1),
            (10_900, 4),
            (49_999, 4),
            (50_000, 5),
            (69_999, 5),
            (70_000, 6),
        ] {
            assert_eq!(history.number_at(moment, 6), Some(number), "{moment}");
        }
        assert_eq!(history.number_at(-1, 6), None);
    }

    #[test]
    fn marks_are_bounded_and_older_ones_tell_less() {
        let count = MARKS_MAX as i64 * 3;
        let mut history = history(&(0..count).map(|at| at * 2_000).collect::<Vec<_>>());
        assert!(history.marks.len() <= MARKS_MAX);
        for commit in (0..count).step_by(997) {
            let number = history.number_at(commit * 2_000, count as u64 + 1).unwrap();
            // Never the future, and not more than a part of the retention behind.
            assert!(number <= commit as u64 + 2, "{commit}: {number}");
            assert!((number as i64 + 3_600_000_000 / PARTS / 2_000) >= commit, "{commit}: {number}");
        }
        history.set_retention(1_000_000);
        history.trim();
        assert!(history.start > 0 && history.marks.front().unwrap().until > history.start);
    }

    #[test]
    fn h3_numbers_and_marks_survive_a_checkpoint() {
        let past = history(&[10_000, 50_000, 70_000]);
        let mut bytes = Vec::new();
        let numbers = [3, 0, 2, 4, 0, 1_000_000, 5];
        RestoredHistory::encode_numbers(TxnId(100), numbers.iter().copied(), &mut bytes);
        past.encode(&mut bytes);
        let mut restored = RestoredHistory::decode(&bytes, 1_000_000).unwrap();
        assert_eq!((restored.first, &restored.numbers[..]), (TxnId(100), &numbers[..]));
        let times = |history: &History| -> Vec<_> {
            history.marks.iter().map(|mark| (mark.first, mark.until, mark.before)).collect()
        };
        assert_eq!(times(&restored.history), times(&past));
        restored.ended(TxnId(110), Some(90_000));
        assert_eq!(restored.counter(), 1_000_001);
        assert!(restored.is_missed(TxnId(110)) && !restored.is_missed(TxnId(99)));
        for length in 0..bytes.len() {
            assert!(RestoredHistory::decode(&bytes[..length], 1_000_000).is_err(), "{length}");
        }
        assert!(RestoredHistory::decode(&bytes, 999_999).is_err());
    }
}
