//! Sequences: numbers handed out once, whatever becomes of the transaction that asked.
//!
//! The root page holds `start, increment, min, max, last logged (i64 each), flags (bit 0 cycle, bit 1 called)`. Numbers
//! are logged 32 ahead, so a crash leaves a gap and never repeats one. Who closes the database leaves none.

use std::sync::Arc;

use verso_env::sync::Mutex;

use crate::StorageError;
use crate::heap::root::{BODY, OBJECT_KIND, SEQUENCE, patch};
use crate::mini::Mini;
use crate::page::bytes::{i64_at, u64_at};
use crate::page::{ObjectId, PageId, PageKind, TxnId, header};
use crate::shared::Shared;
use crate::wal::RecordKind;

const AHEAD: i64 = 32;

/// How a sequence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceSpec {
    /// First value.
    pub start: i64,
    /// Step, not 0.
    pub increment: i64,
    /// Least value.
    pub min: i64,
    /// Greatest value.
    pub max: i64,
    /// Whether it begins anew at the end.
    pub cycle: bool,
}

#[derive(Clone, Copy)]
struct State {
    last: i64,
    called: bool,
    /// Values that may be handed out before the next log record.
    ahead: i64,
}

/// A stored sequence.
pub struct Sequence {
    shared: std::sync::Weak<Shared>,
    object: ObjectId,
    root: PageId,
    spec: SequenceSpec,
    state: Mutex<State>,
}

/// The patch that writes a sequence's numbers.
pub(crate) fn body(spec: &SequenceSpec, last: i64, called: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [spec.start, spec.increment, spec.min, spec.max, last] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&(u64::from(spec.cycle) | u64::from(called) << 1).to_le_bytes());
    let mut out = Vec::new();
    patch(&mut out, BODY, &bytes);
    out
}

impl Sequence {
    pub(crate) fn load(
        shared: &Arc<Shared>,
        object: ObjectId,
        root: PageId,
    ) -> Result<Sequence, StorageError> {
        let page = shared.core().pool.read(root)?;
        if header::kind(&page) != Some(PageKind::Root) || page[OBJECT_KIND] != SEQUENCE {
            return Err(StorageError::corrupt(root, object, "not the root of a sequence"));
        }
        let number = |index: usize| i64_at(&page, BODY + index * 8);
        let flags = u64_at(&page, BODY + 40);
        let spec = SequenceSpec {
            start: number(0),
            increment: number(1),
            min: number(2),
            max: number(3),
            cycle: flags & 1 != 0,
        };
        let state = State { last: number(4), called: flags & 2 != 0, ahead: 0 };
        Ok(Sequence { shared: Arc::downgrade(shared), object, root, spec, state: Mutex::new(state) })
    }

    /// How it counts.
    pub fn spec(&self) -> SequenceSpec {
        self.spec
    }

    /// Its object.
    pub fn object(&self) -> ObjectId {
        self.object
    }

    fn step(&self, from: State) -> Result<i64, StorageError> {
        if !from.called {
            return Ok(from.last);
        }
        let spec = &self.spec;
        match from.last.checked_add(spec.increment).filter(|next| (spec.min..=spec.max).contains(next)) {
            Some(next) => Ok(next),
            None if spec.cycle => Ok(if spec.increment > 0 { spec.min } else { spec.max }),
            None => Err(StorageError::SequenceExhausted {
                limit: if spec.increment > 0 { spec.max } else { spec.min },
            }),
        }
    }

    /// The next number.
    ///
    /// # Errors
    /// `SequenceExhausted`; `Full`, `Poisoned`.
    pub fn next_value(&self) -> Result<i64, StorageError> {
        let mut state = self.state.lock();
        let next = self.step(*state)?;
        if state.ahead == 0 {
            let span = self.spec.increment.saturating_mul(AHEAD);
            let logged = next.saturating_add(span).clamp(self.spec.min, self.spec.max);
            self.log(logged, true)?;
            state.ahead = AHEAD;
        }
        *state = State { last: next, called: true, ahead: state.ahead - 1 };
        Ok(next)
    }

    /// The last number handed out, if any was.
    pub fn peek(&self) -> Option<i64> {
        let state = self.state.lock();
        state.called.then_some(state.last)
    }

    /// The number, and whether it was handed out: what [`Sequence::set_value`] takes.
    pub fn state(&self) -> (i64, bool) {
        let state = self.state.lock();
        (state.last, state.called)
    }

    /// How many numbers may be handed out before the next log record.
    pub fn ahead(&self) -> i64 {
        self.state.lock().ahead
    }

    /// Logs the number as it is: nothing is handed out any more.
    pub(crate) fn settle(&self) -> Result<(), StorageError> {
        let mut state = self.state.lock();
        if state.ahead > 0 {
            self.log(state.last, state.called)?;
            state.ahead = 0;
        }
        Ok(())
    }

    /// Sets the number; with `is_called` the next one is behind it, otherwise it is the next one itself.
    ///
    /// # Errors
    /// `SequenceBounds` for a number outside of its bounds; `Full`, `Poisoned`.
    pub fn set_value(&self, value: i64, is_called: bool) -> Result<(), StorageError> {
        if !(self.spec.min..=self.spec.max).contains(&value) {
            let limit = if value > self.spec.max { self.spec.max } else { self.spec.min };
            return Err(StorageError::SequenceBounds { limit });
        }
        let mut state = self.state.lock();
        self.log(value, is_called)?;
        *state = State { last: value, called: is_called, ahead: 0 };
        Ok(())
    }

    fn log(&self, last: i64, called: bool) -> Result<(), StorageError> {
        let shared = self.shared.upgrade().ok_or(StorageError::Closed)?;
        let mut mini = Mini::begin(shared.core(), TxnId::NONE);
        let root = mini.write(self.root)?;
        mini.apply(root, RecordKind::PATCH, &body(&self.spec, last, called))?;
        mini.commit()?;
        Ok(())
    }
}
