//! The account of memory: what running statements hold, and what they may hold.
//!
//! ```text
//! instance (memory_limit) ◄── session ◄── statement (statement_memory_limit) ◄── reservation of an operator (work_mem)
//! ```
//!
//! 1. A reservation is made larger before, or at once after, the memory behind it grows by no more than one batch; what the
//!    instance, the session, the statement or the operator may not have is refused, and nothing is charged then.
//! 2. Whoever is refused gives up memory of its own (it spills) or ends its statement with 53200, which names the operator.
//!    Nobody takes memory away from another thread.
//! 3. A reservation gives back what it holds when it is dropped, however its statement ends.
//! 4. Less than [`SMALL_BYTES`] in one place is not counted: short statements touch no shared counter.
//!
//! Any thread may charge an account: the counters are atomic, and no lock is held. Tests:
//! `memory/account.rs`, and `exec/tests/memory.rs`, in which each request is refused once.

use std::sync::Arc;

use crate::spill::TempSpace;

mod account;
mod value;

pub use account::{Account, Refused, Reservation, SMALL_BYTES, Scope};
pub use value::room_to_read;
pub(crate) use value::{Bytes, LONG_BYTES, LongValues, VALUE_BYTES_MAX, check_length};

/// The least that an operator may hold before it goes on in files: the least `work_mem`.
const LEAST_BYTES: u64 = 64 << 10;

/// What a session lends a statement of its memory.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    /// How much a sort, a grouping or a spool may hold by itself.
    pub work_bytes: u64,
    /// The statement's account.
    pub account: &'a Account,
    /// Where operators put rows that they may not hold; `None`: they fail with 53200 then.
    pub temporary: Option<&'a Arc<TempSpace>>,
}

impl Memory<'_> {
    /// Room for an operator, up to the session's work memory. A column of bytes ends at 4 GiB.
    #[must_use]
    pub fn reserve(&self, what: &'static str) -> Reservation {
        self.account.reserve(what, self.work_bytes.min(3 << 30))
    }

    /// The same for an operator that goes on in files: no more than a quarter of what the accounts allow, so that something is
    /// left to the operators around it, and to itself while it writes and merges.
    #[must_use]
    pub fn reserve_before_files(&self, what: &'static str) -> Reservation {
        if self.temporary.is_none() {
            return self.reserve(what);
        }
        let share = self.account.least_limit_bytes() / 4;
        self.account.reserve(what, self.work_bytes.min(3 << 30).min(share.max(LEAST_BYTES)))
    }
}
