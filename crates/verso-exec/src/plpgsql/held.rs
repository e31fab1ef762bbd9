//! The memory of the values in a call's variables.
//!
//! Numbers and short texts cost nothing and are not counted; what a variable gets beyond them is charged to the statement's
//! account, until another value takes its place or the call ends.

use verso_types::Value;

use crate::aggregate::payload;
use crate::error::Result;
use crate::exec::ExecContext;
use crate::memory::Reservation;

/// Bytes of a value that is not looked at.
const SHORT_BYTES: usize = 512;

/// What the variables of a call hold.
#[derive(Default)]
pub(super) struct Held {
    /// By slot, once a value was not short.
    slots: Vec<usize>,
    all: usize,
    reservation: Option<Reservation>,
}

impl Held {
    /// A variable gets a value.
    ///
    /// # Errors
    /// 53200, of the statement, the session or the instance.
    #[inline]
    pub fn set(&mut self, cx: &ExecContext<'_>, slot: usize, value: &Value) -> Result<()> {
        let bytes = payload(value);
        if bytes <= SHORT_BYTES && self.slots.is_empty() {
            return Ok(());
        }
        self.replace(cx, slot, bytes)
    }

    /// A variable's value has so many more bytes, and so many fewer.
    pub fn change(&mut self, cx: &ExecContext<'_>, slot: usize, more: usize, fewer: usize) -> Result<()> {
        if more == fewer || (more <= SHORT_BYTES && self.slots.is_empty()) {
            return Ok(());
        }
        let now = self.slots.get(slot).copied().unwrap_or(0);
        self.replace(cx, slot, (now + more).saturating_sub(fewer))
    }

    /// What a variable is to get takes so many bytes.
    pub fn hold(&mut self, cx: &ExecContext<'_>, slot: usize, bytes: usize) -> Result<()> {
        self.replace(cx, slot, bytes)
    }

    /// A variable's value takes no more than so many bytes any more.
    pub fn lessen(&mut self, slot: usize, bytes: usize) {
        let Some(known) = self.slots.get_mut(slot).filter(|known| **known > bytes) else { return };
        self.all -= std::mem::replace(known, bytes) - bytes;
        if let Some(reservation) = &mut self.reservation {
            // Nobody is refused what is given back.
            let _ = reservation.resize(self.all as u64);
        }
    }

    /// A variable has no value any more.
    pub fn forget(&mut self, slot: usize) {
        if let Some(bytes) = self.slots.get_mut(slot) {
            self.all -= std::mem::take(bytes);
        }
    }

    fn replace(&mut self, cx: &ExecContext<'_>, slot: usize, bytes: usize) -> Result<()> {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, 0);
        }
        self.all = self.all - self.slots[slot] + bytes;
        self.slots[slot] = bytes;
        let account = cx.eval().services.memory.account;
        self.reservation
            .get_or_insert_with(|| account.reserve("the variables of a function", u64::MAX))
            .resize(self.all as u64)
    }
}
