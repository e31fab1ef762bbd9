//! Who may run a statement now: a few at a time, so that many sessions do not slow each other down.
//!
//! R1. A session in a transaction block never waits here: it may hold locks that those who run wait for.
//! R2. The others are let in in the order they came.
//! R3. A place is given back as soon as its session waits for its client. A statement under way then goes on without
//!     one: it may hold locks by now (R1).

use std::collections::VecDeque;
use std::sync::Arc;

use verso_env::sync::{Condvar, Mutex};

/// The places.
#[derive(Debug)]
pub struct Admission {
    places: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// Who waits, the first first (R2).
    queue: VecDeque<Arc<Turn>>,
}

/// One who waits.
#[derive(Debug, Default)]
struct Turn {
    come: Mutex<bool>,
    changed: Condvar,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub struct Place {
    admission: Arc<Admission>,
}

impl Admission {
    /// So many places.
    pub fn new(places: usize) -> Admission {
        Admission { places: places.max(1), state: Mutex::new(State::default()) }
    }

    /// Waits for a place.
    pub fn enter(self: &Arc<Self>) -> Place {
        let mut state = self.state.lock();
        if state.running < self.places {
            state.running += 1;
            return Place { admission: Arc::clone(self) };
        }
        let turn = Arc::new(Turn::default());
        state.queue.push_back(Arc::clone(&turn));
        drop(state);
        let mut come = turn.come.lock();
        while !*come {
            turn.changed.wait(&mut come);
        }
        Place { admission: Arc::clone(self) }
    }

    /// How many run, and how many wait.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.running, state.queue.len())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.admission.state.lock();
        // The place goes straight to the next in the queue, so nobody who comes later takes it.
        match state.queue.pop_front() {
            None => state.running -= 1,
            Some(turn) => {
                drop(state);
                *turn.come.lock() = true;
                turn.changed.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use verso_env::Env;

    #[test]
    fn never_more_than_the_places_run_and_all_come_through() {
        let admission = Arc::new(Admission::new(2));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let env = Env::real();
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (admission, now, most) = (Arc::clone(&admission), Arc::clone(&now), Arc::clone(&most));
                env.spawn("runner", move || {
                    for _ in 0..200 {
                        let place = admission.enter();
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        now.fetch_sub(1, Ordering::SeqCst);
                        drop(place);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert_eq!(admission.counts(), (0, 0));
    }
}
