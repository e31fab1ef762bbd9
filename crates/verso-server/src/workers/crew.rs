//! How many threads work, and who does.
//!
//! A worker *counts* while it listens or is in a short turn. One that waits counts no more, and another takes its place
//! (K2): a spare one, or a new one. One in a long turn neither, as long as there are not too many of them (K5). When a
//! worker is through it counts again if there is room, and is spare otherwise; spare for a minute, it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

/// How long a thread stays spare.
const SPARE: Duration = Duration::from_secs(60);

/// Listens, or is in a short turn.
const COUNTS: u8 = 0;
/// In a long turn.
const LONG: u8 = 1;
/// Waits, or is spare; or has waited in this turn.
const APART: u8 = 2;

/// A worker as the others see it; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Member {
    /// Turns begun and ended: odd within one.
    turns: AtomicU64,
    /// Changed with the crew locked.
    standing: AtomicU8,
}

/// The workers.
pub(super) struct Crew {
    /// How many are to count.
    wanted: usize,
    /// How many may be in long turns besides.
    long_max: usize,
    state: Mutex<State>,
    called: Condvar,
    gone: Condvar,
}

#[derive(Default)]
struct State {
    counting: usize,
    long: usize,
    spare: usize,
    /// Spare ones that are called and have not come yet; they count already.
    called: usize,
    /// All, and the turn in which each was seen last.
    members: Vec<(Arc<Member>, u64)>,
    ending: bool,
}

/// What a look at the workers found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Somebody who counts is in a turn.
    Busy,
    /// All who count listen.
    Quiet,
    /// The pool ends.
    Ending,
}

impl Member {
    /// A turn begins or ends.
    pub fn turns(&self) {
        self.turns.fetch_add(1, Ordering::SeqCst);
    }

    fn standing(&self) -> u8 {
        self.standing.load(Ordering::Acquire)
    }

    /// Whether it counts and is not in a turn.
    fn listens(&self) -> bool {
        self.standing() == COUNTS && self.turns.load(Ordering::SeqCst).is_multiple_of(2)
    }
}

impl State {
    fn stand(&mut self, member: &Member, standing: u8) {
        let count = |state: &mut State, of: u8, by: isize| match of {
            COUNTS => state.counting = state.counting.saturating_add_signed(by),
            LONG => state.long = state.long.saturating_add_signed(by),
            _ => {}
        };
        count(self, member.standing.swap(standing, Ordering::AcqRel), -1);
        count(self, standing, 1);
    }
}

impl Crew {
    /// Of nobody.
    pub fn new(wanted: usize, long_max: usize) -> Crew {
        let (called, gone) = (Condvar::new(), Condvar::new());
        Crew { wanted: wanted.max(1), long_max, state: Mutex::default(), called, gone }
    }

    /// Calls or starts as many workers as are missing. `start` starts a thread for the member, and says whether it
    /// could.
    pub fn fill(&self, start: impl FnMut(&Arc<Member>) -> bool) {
        self.fill_locked(&mut self.state.lock(), start);
    }

    fn fill_locked(&self, state: &mut State, mut start: impl FnMut(&Arc<Member>) -> bool) {
        while state.counting < self.wanted && !state.ending {
            if state.spare > state.called {
                state.called += 1;
                self.called.notify_one();
            } else {
                let member = Arc::new(Member::default());
                if !start(&member) {
                    // Who looks after them tries again.
                    return;
                }
                state.members.push((member, 0));
            }
            state.counting += 1;
        }
    }

    /// The worker is about to wait: it counts no more.
    pub fn stand_still(&self, member: &Member, start: impl FnMut(&Arc<Member>) -> bool) {
        if member.standing() == APART {
            return;
        }
        let mut state = self.state.lock();
        state.stand(member, APART);
        if !state.members.iter().any(|(member, _)| member.listens()) {
            self.fill_locked(&mut state, start);
        }
    }

    /// The worker is through with its turn. Waits until it is wanted again; false if it is not.
    pub fn join(&self, member: &Arc<Member>) -> bool {
        if member.standing() == COUNTS {
            return true;
        }
        let mut state = self.state.lock();
        state.stand(member, APART);
        if state.counting >= self.wanted || state.ending {
            state.spare += 1;
            let mut late = false;
            while state.called == 0 && !state.ending && !late {
                late = self.called.wait_for(&mut state, SPARE);
            }
            state.spare -= 1;
            if state.called == 0 {
                return false;
            }
            // Who called has counted it already.
            state.called -= 1;
            state.counting -= 1;
        }
        state.stand(member, COUNTS);
        true
    }

    /// Looks at all: who is in the turn in which he was seen last time counts no more, unless too many do that.
    pub fn look(&self, start: impl FnMut(&Arc<Member>) -> bool) -> Seen {
        let mut state = self.state.lock();
        let mut busy = false;
        for i in 0..state.members.len() {
            let (member, seen) = &mut state.members[i];
            let turns = member.turns.load(Ordering::SeqCst);
            if turns.is_multiple_of(2) || member.standing() != COUNTS {
                continue;
            }
            let stays = std::mem::replace(seen, turns) == turns;
            let member = Arc::clone(member);
            if stays && state.long < self.long_max {
                state.stand(&member, LONG);
            } else {
                busy = true;
            }
        }
        self.fill_locked(&mut state, start);
        match (state.ending, busy || state.counting < self.wanted) {
            (true, _) => Seen::Ending,
            (false, true) => Seen::Busy,
            (false, false) => Seen::Quiet,
        }
    }

    /// A worker's thread ends.
    pub fn leave(&self, member: &Arc<Member>) {
        let mut state = self.state.lock();
        state.stand(member, APART);
        state.members.retain(|(other, _)| !Arc::ptr_eq(member, other));
        drop(state);
        self.gone.notify_all();
    }

    /// Nobody is called or started any more.
    pub fn end(&self) {
        self.state.lock().ending = true;
        self.called.notify_all();
    }

    /// Whether the pool ends.
    pub fn is_ending(&self) -> bool {
        self.state.lock().ending
    }

    /// Waits until all are gone; false if that takes longer.
    pub fn wait_gone(&self, patience: Duration) -> bool {
        let mut state = self.state.lock();
        while !state.members.is_empty() {
            if self.gone.wait_for(&mut state, patience) {
                return state.members.is_empty();
            }
        }
        true
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.state.lock().members.len()
    }
}
