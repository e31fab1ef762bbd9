//! Answers of plans that run for each row of another, kept by the values handed in: rows that hand in the same values get what
//! the first of them was told.
//!
//! K1. Values are the same when their bytes are ([`encode_row`]): `1.0` and `1.00` are equal, and shown differently.
//! K2. Nothing that may differ the next time is kept ([`may_keep`]); nothing outlives the statement, or a round of a recursion.
//! K3. The first [`FREE`] rows are not looked up, so short statements pay nothing. Where too few rows find something, no more are
//!     looked up, and everything kept is given back.
//! K4. What is kept stays below [`KEPT_BYTES`], and an eighth of what an operator may hold. Beyond it all of it goes, and
//!     keeping begins anew. Who is refused memory keeps nothing.

use std::collections::HashMap;

use verso_types::{Value, encode_row};

use super::ExecContext;
use crate::memory::Reservation;
use crate::plan::Plan;

/// Rows before the first that is looked up.
const FREE: u64 = if cfg!(test) { 2 } else { 16 };
/// After so many look-ups it is decided whether they pay, again and again.
const TRIAL: u64 = 256;
/// One in so many has to find something.
const LEAST: u64 = 8;
/// The most bytes of all that is kept.
const KEPT_BYTES: u64 = 4 << 20;
/// What an entry takes beside its key and its answer.
const ENTRY_BYTES: u64 = 96;

/// Answers by the values that were handed in.
pub(super) struct Memo<T> {
    answers: HashMap<Box<[u8]>, T>,
    /// Of the values looked up last.
    key: Vec<u8>,
    rows: u64,
    found: u64,
    bytes: u64,
    held: Option<Reservation>,
    /// Whether the plan lets anything be kept (K2).
    may_keep: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not looked up yet (K3).
    Free,
    On,
    /// It does not pay, or is not allowed.
    Off,
}

/// What a look-up says.
pub(super) enum Looked<'m, T> {
    Known(&'m T),
    /// Not known: the answer is to be kept with this.
    Asked(Ticket),
    /// Neither known nor to be kept.
    Alone,
}

/// For the answer of values that were looked up: by their key, which stays theirs whatever is looked up meanwhile.
pub(super) struct Ticket(Box<[u8]>);

impl<T> Memo<T> {
    /// For a plan of which something may be kept, or not.
    pub fn new(may_keep: bool) -> Self {
        Self {
            answers: HashMap::new(),
            key: Vec::new(),
            rows: 0,
            found: 0,
            bytes: 0,
            held: None,
            may_keep,
            state: if may_keep { State::Free } else { State::Off },
        }
    }

    /// The answer for these values, if it is known.
    pub fn find(&mut self, outer: &[Value]) -> Looked<'_, T> {
        match self.state {
            State::Off => return Looked::Alone,
            State::Free => {
                self.rows += 1;
                if self.rows > FREE {
                    (self.state, self.rows) = (State::On, 1);
                } else {
                    return Looked::Alone;
                }
            }
            State::On => self.rows += 1,
        }
        if self.rows.is_multiple_of(TRIAL) && self.found < self.rows / LEAST {
            self.forget();
            self.state = State::Off;
            return Looked::Alone;
        }
        self.key.clear();
        encode_row(outer, &mut self.key);
        match self.answers.get(self.key.as_slice()) {
            Some(answer) => {
                self.found += 1;
                Looked::Known(answer)
            }
            None => Looked::Asked(Ticket(self.key.as_slice().into())),
        }
    }

    /// The most bytes that one answer may have.
    pub fn answer_max(&self, cx: &ExecContext<'_>) -> u64 {
        room(cx) / 8
    }

    /// Keeps the answer, of so many bytes, for the values of the ticket.
    pub fn keep(&mut self, cx: &ExecContext<'_>, ticket: Ticket, answer: T, bytes: u64) {
        if bytes > self.answer_max(cx) || self.state == State::Off {
            return;
        }
        let added = bytes + ticket.0.len() as u64 + ENTRY_BYTES;
        if self.bytes + added > room(cx) {
            self.forget();
        }
        let held = self.held.get_or_insert_with(|| cx.reserve("answers of a subquery"));
        if held.try_resize(self.bytes + added).is_err() {
            self.forget();
            self.state = State::Off;
            return;
        }
        self.bytes += added;
        self.answers.insert(ticket.0, answer);
    }

    /// As it was at first, for another run of the plan.
    pub fn reset(&mut self) {
        self.forget();
        (self.rows, self.found) = (0, 0);
        self.state = if self.may_keep { State::Free } else { State::Off };
    }

    /// One for a copy of the plan.
    pub fn of_part(&self) -> Self {
        Self::new(self.may_keep)
    }

    /// Everything is asked anew.
    pub fn forget(&mut self) {
        (self.answers, self.held, self.bytes) = (HashMap::new(), None, 0);
    }
}

/// What all that is kept may take (K4).
fn room(cx: &ExecContext<'_>) -> u64 {
    KEPT_BYTES.min(cx.services.memory.work_bytes / 8)
}

/// Whether a plan says the same each time it is handed the same values, and does nothing else (K2).
pub(super) fn may_keep(plan: &Plan) -> bool {
    let differs = |part: &Plan| {
        matches!(
            part,
            Plan::LockRows { .. }
                | Plan::External { .. }
                | Plan::CurrentRow { .. }
                | Plan::WorkTable { .. }
                | Plan::Transition { .. }
        )
    };
    !plan.is_volatile() && !plan.any(&mut |part| differs(part))
}
