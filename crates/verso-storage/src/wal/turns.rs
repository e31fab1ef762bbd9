//! Group commit: who finds no flush under way leads one, for all that was appended so far; others wait.
//!
//! ```text
//! leads ── covers what was appended when it began: they wait for its end, and are done
//!   │
//!   └ end ─► heir: the first whose group came later; leads next, for all who came with him and wait for his end
//! ```
//!
//! G1. At most one leads.
//! G2. The end of a lead, however it comes, wakes those it covers and the heir; each looks again whether what he wants
//!     is done. Who waits behind an heir waits for the end of the next lead: there is one, or he is told of the error.
//!     So nobody sleeps while nobody leads.
//! G3. Where nothing fails nobody is woken twice: to be told that he is done, or to lead.
//!
//! All interleavings of it are tried by `tests/interleavings`.

use verso_env::sync::{Condvar, Mutex};

/// Whose turn it is.
pub(super) struct Turns {
    state: Mutex<State>,
    /// Those who wait for the end of the lead under way, and those for the end of the next: in turns.
    rounds: [Condvar; 2],
    heir: Condvar,
}

struct State {
    leading: bool,
    /// How far the lead under way goes, once it knows.
    target: Option<u64>,
    /// Leads ended.
    round: usize,
    /// The number of the one who leads next.
    heir: Option<u64>,
    /// Heirs so far.
    heirs: u64,
}

/// The lead; dropping it ends it.
#[must_use]
pub(super) struct Lead<'t>(&'t Turns);

impl Turns {
    pub(super) fn new() -> Turns {
        let state = State { leading: false, target: None, round: 0, heir: None, heirs: 0 };
        Turns { state: Mutex::new(state), rounds: [Condvar::new(), Condvar::new()], heir: Condvar::new() }
    }

    /// Waits until `done` (then nothing is left to do) or until nobody leads: then this thread does. A lead that goes as
    /// far as `upto` makes it done.
    ///
    /// # Errors
    /// That of `done`.
    pub(super) fn take<E>(
        &self,
        upto: u64,
        done: impl Fn() -> Result<bool, E>,
    ) -> Result<Option<Lead<'_>>, E> {
        let mut state = self.state.lock();
        let mut inherits = false;
        loop {
            match done() {
                Ok(false) => {}
                Ok(true) => {
                    // The lead went further than it had said, so the heir's is not needed: those behind him look again.
                    if inherits && !state.leading {
                        self.rounds[state.round % 2].notify_all();
                    }
                    return Ok(None);
                }
                Err(error) => {
                    // There may be no further lead whose end could wake the others.
                    state.heir = None;
                    self.rounds.iter().chain([&self.heir]).for_each(Condvar::notify_all);
                    return Err(error);
                }
            }
            if !state.leading {
                (state.leading, state.target) = (true, None);
                return Ok(Some(Lead(self)));
            }
            let round = state.round;
            if state.target.is_none_or(|target| upto <= target) {
                self.rounds[round % 2].wait(&mut state);
            } else if state.heir.is_some() {
                self.rounds[(round + 1) % 2].wait(&mut state);
            } else {
                state.heirs += 1;
                let own = Some(state.heirs);
                state.heir = own;
                while state.heir == own {
                    self.heir.wait(&mut state);
                }
                inherits = true;
            }
        }
    }
}

impl Lead<'_> {
    /// Says how far the lead goes; `target` is asked while nobody can begin to wait.
    pub(super) fn covers(&self, target: impl FnOnce() -> u64) -> u64 {
        let mut state = self.0.state.lock();
        let target = target();
        state.target = Some(target);
        target
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.leading = false;
        let (round, heir) = (state.round, state.heir.take());
        state.round = round.wrapping_add(1);
        // Under the lock, so that none of the next round is meant; the heir first, who has something to do.
        if heir.is_some() {
            self.0.heir.notify_all();
        }
        self.0.rounds[round % 2].notify_all();
    }
}
