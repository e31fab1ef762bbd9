//! Shares of the machine for statements that use much of it: admission, its queue, and giving way.
//!
//! ```text
//! statement reads much ─► wants p of 100 units ─► free? ─ yes ─► granted until the statement ends
//!                                                   └ no ─► queue, in its order ─► granted, or alone
//! workers: batch ─► others waiting for a processor? ─► rest for a moment ─► next batch
//! ```
//!
//! Q1. The units granted are 100 at most, and while somebody waits nobody who came later is granted any: none starves.
//! Q2. Only a statement that holds no locks but those of its own reading waits, and no longer than [`WAIT_MAX`]; others go on with
//!     one thread. So no circle of units and locks lasts.
//! Q3. Units go back when the grant is dropped, whatever ended the statement.
//! Q4. Workers rest between two batches, when they hold no latch, and only where sessions with short statements want a processor:
//!     statements with workers of their own share the machine by its scheduler.
//! Q5. Workers of a sweep rest between two pages as long as sessions have run statements lately: each of those has two processors to
//!     itself, one for its client or the log, and a worker keeps [`SHARE_OF_SWEEP`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Clock;
use verso_env::sync::{Condvar, Mutex};
use verso_exec::context::GivesWay;

use crate::registry::{Registry, SessionInfo};
use crate::services::EPOCH_MICROS;

/// All units.
const UNITS: u32 = 100;
/// A statement waits in the queue for so long at most.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Between two looks of who waits, at whether it is cancelled.
const LOOK: Duration = Duration::from_millis(20);
/// Workers look this often whether others want a processor.
const TURN_NANOS: u64 = 500_000;
/// The part of the time that workers of a session run that says nothing of it, in per cent, where others want all processors.
const SHARE_UNSAID: u8 = 25;
/// The part of the time that a worker of a sweep runs in any case, in per cent.
const SHARE_OF_SWEEP: u64 = 10;
/// A session that has begun or ended a statement within this time is about to run the next one.
const LATELY_MICROS: i64 = 20_000;
/// The longest rest.
const REST_MAX_NANOS: u64 = 10_000_000;

/// A statement in the queue, or one that has units.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    number: u64,
    /// Its session.
    pub session: u64,
    /// Units wanted or granted.
    pub units: u32,
    /// Since when it waits or runs, by the monotonic clock.
    pub since_nanos: u64,
}

#[derive(Debug, Default)]
struct State {
    used: u32,
    running: Vec<Entry>,
    waiting: VecDeque<Entry>,
    next: u64,
}

/// The units of a database.
pub(crate) struct Shares {
    state: Mutex<State>,
    freed: Condvar,
    clock: Arc<dyn Clock>,
    /// `max_pdq_priority`.
    max: AtomicU8,
}

/// Units that a statement has, until this is dropped (Q3).
pub(crate) struct Grant {
    shares: Arc<Shares>,
    number: u64,
}

impl fmt::Debug for Grant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Grant({})", self.number)
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let mut state = self.shares.state.lock();
        if let Some(at) = state.running.iter().position(|entry| entry.number == self.number) {
            state.used -= state.running.remove(at).units;
        }
        drop(state);
        self.shares.freed.notify_all();
    }
}

impl Shares {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Shares {
        Shares { state: Mutex::default(), freed: Condvar::new(), clock, max: AtomicU8::new(100) }
    }

    /// `max_pdq_priority`: the share of what statements ask for that they get, in per cent.
    pub(crate) fn max(&self) -> u8 {
        self.max.load(Ordering::Relaxed)
    }

    pub(crate) fn set_max(&self, max: u8) {
        self.max.store(max, Ordering::Relaxed);
    }

    /// What a statement of this priority counts for.
    pub(crate) fn scaled(&self, priority: u8) -> u8 {
        (u32::from(priority) * u32::from(self.max()) / 100) as u8
    }

    /// Takes units for a statement; waits for them in the queue where it `may_wait` (Q2). None where it goes on without.
    /// And how many nanoseconds it was in the queue, if it was.
    pub(crate) fn admit(
        self: &Arc<Self>,
        session: u64,
        units: u32,
        may_wait: bool,
        cancelled: &AtomicBool,
    ) -> (Option<Grant>, Option<u64>) {
        let units = units.clamp(1, UNITS);
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        let began = self.clock.monotonic_nanos();
        let entry = Entry { number, session, units, since_nanos: began };
        if state.waiting.is_empty() && state.used + units <= UNITS {
            return (Some(self.grant(&mut state, entry)), None);
        }
        if !may_wait {
            return (None, None);
        }
        state.waiting.push_back(entry);
        loop {
            let first = state.waiting.front().is_some_and(|first| first.number == number);
            if first && state.used + units <= UNITS {
                let entry = state.waiting.pop_front().expect("it is the first");
                let grant = self.grant(&mut state, entry);
                drop(state);
                // The next one may fit, too.
                self.freed.notify_all();
                return (Some(grant), Some(self.clock.monotonic_nanos().saturating_sub(began)));
            }
            let waited = self.clock.monotonic_nanos().saturating_sub(began);
            if cancelled.load(Ordering::Relaxed) || waited >= WAIT_MAX.as_nanos() as u64 {
                state.waiting.retain(|entry| entry.number != number);
                drop(state);
                self.freed.notify_all();
                return (None, Some(waited));
            }
            self.freed.wait_for(&mut state, LOOK);
        }
    }

    fn grant(self: &Arc<Self>, state: &mut State, entry: Entry) -> Grant {
        let number = entry.number;
        state.used += entry.units;
        let since_nanos = self.clock.monotonic_nanos();
        state.running.push(Entry { since_nanos, ..entry });
        Grant { shares: Arc::clone(self), number }
    }

    /// Who has units, and who waits for some, each in order.
    pub(crate) fn list(&self) -> (Vec<Entry>, Vec<Entry>) {
        let state = self.state.lock();
        (state.running.clone(), state.waiting.iter().cloned().collect())
    }

    /// Time since a moment of its clock, in milliseconds.
    pub(crate) fn millis_since(&self, nanos: u64) -> f64 {
        self.clock.monotonic_nanos().saturating_sub(nanos) as f64 / 1e6
    }
}

/// A session that counts as one with workers until this is dropped: nobody gives way to it.
pub(crate) struct WithWorkers(Arc<SessionInfo>);

impl WithWorkers {
    pub(crate) fn new(session: Arc<SessionInfo>) -> WithWorkers {
        session.workers.fetch_add(1, Ordering::Relaxed);
        WithWorkers(session)
    }
}

impl Drop for WithWorkers {
    fn drop(&mut self) {
        self.0.workers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How the workers of a statement give way (Q4).
pub(crate) struct Turns {
    sessions: Arc<Registry>,
    clock: Arc<dyn Clock>,
    /// Part of the time that is its own where others want it, in per cent.
    share: u64,
    workers: usize,
    session: WithWorkers,
    next: AtomicU64,
    /// How often rows were between.
    rows: AtomicU32,
}

impl Turns {
    /// `share` is what the session has said.
    pub(crate) fn new(
        sessions: Arc<Registry>,
        session: Arc<SessionInfo>,
        clock: Arc<dyn Clock>,
        share: Option<u8>,
        workers: usize,
    ) -> Turns {
        let share = u64::from(share.unwrap_or(SHARE_UNSAID).clamp(1, 100));
        let session = WithWorkers::new(session);
        Turns { sessions, clock, share, workers, session, next: AtomicU64::new(0), rows: AtomicU32::new(0) }
    }
}

/// The rest behind a turn of one of so many workers: together they leave the others a processor each, but keep their share.
fn rest_nanos(share: u64, workers: usize, others: usize, processors: usize) -> u64 {
    let left = 100 * processors.saturating_sub(others) as u64 / workers.max(1) as u64;
    let share = share.max(left);
    if others == 0 || share >= 100 {
        return 0;
    }
    (TURN_NANOS * (100 - share) / share).min(REST_MAX_NANOS)
}

/// How long each of so many workers of a sweep rests after a turn (Q5).
pub(crate) fn rest_of_sweep(sessions: &Registry, clock: &dyn Clock, workers: u32) -> Duration {
    let now = clock.unix_micros() - EPOCH_MICROS;
    let others = sessions.alone_since(now - LATELY_MICROS);
    let processors = verso_env::process::processors();
    Duration::from_nanos(rest_nanos(SHARE_OF_SWEEP, workers as usize, 2 * others, processors))
}

/// Of so many rows one looks at the clock: that costs as much as many a function of a row.
const ROWS_UNTIMED: u32 = 16;

impl GivesWay for Turns {
    #[inline]
    fn between_rows(&self) {
        let rows = self.rows.load(Ordering::Relaxed).wrapping_add(1);
        self.rows.store(rows, Ordering::Relaxed);
        if rows.is_multiple_of(ROWS_UNTIMED) {
            self.between_batches();
        }
    }

    fn between_batches(&self) {
        let now = self.clock.monotonic_nanos();
        if now < self.next.load(Ordering::Relaxed) || self.share == 100 {
            return;
        }
        let others = self.sessions.active_alone();
        let rest = rest_nanos(self.share, self.workers, others, verso_env::process::processors());
        self.next.store(now + rest + TURN_NANOS, Ordering::Relaxed);
        if rest > 0 {
            self.clock.sleep(Duration::from_nanos(rest));
        }
    }

    fn of_worker(&self) -> Box<dyn GivesWay> {
        let (sessions, session) = (Arc::clone(&self.sessions), Arc::clone(&self.session.0));
        let share = u8::try_from(self.share).ok();
        Box::new(Turns::new(sessions, session, Arc::clone(&self.clock), share, self.workers))
    }
}

#[cfg(test)]
mod tests {
    use verso_sim::{World, seeds};

    use super::*;

    #[test]
    fn q1_units_are_never_more_than_all_and_nobody_starves() {
        for seed in seeds(60) {
            let world = World::new(seed);
            world.run(|env| {
                let shares = Arc::new(Shares::new(Arc::clone(&env.clock)));
                let (used, most, done) =
                    (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
                let mut rng = world.rng();
                let mut threads = Vec::new();
                for session in 0..8 {
                    let (shares, clock) = (Arc::clone(&shares), Arc::clone(&env.clock));
                    let (used, most, done) = (Arc::clone(&used), Arc::clone(&most), Arc::clone(&done));
                    let wanted: Vec<(u32, u64)> =
                        (0..4).map(|_| (*rng.pick(&[1, 20, 50, 60, 100]), rng.between(1, 40))).collect();
                    threads.push(env.spawn("statement", move || {
                        for (units, millis) in wanted {
                            let never = AtomicBool::new(false);
                            let grant = shares.admit(session, units, true, &never).0.expect("in time");
                            let now = used.fetch_add(units, Ordering::SeqCst) + units;
                            most.fetch_max(now, Ordering::SeqCst);
                            clock.sleep(Duration::from_millis(millis));
                            used.fetch_sub(units, Ordering::SeqCst);
                            drop(grant);
                            done.fetch_add(1, Ordering::SeqCst);
                        }
                    }));
                }
                threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
                assert!(most.load(Ordering::SeqCst) <= UNITS, "seed {seed}");
                assert_eq!(done.load(Ordering::SeqCst), 32, "seed {seed}");
                let (running, waiting) = shares.list();
                assert!(running.is_empty() && waiting.is_empty());
            });
        }
    }

    #[test]
    fn q2_who_may_not_wait_goes_on_alone_and_who_is_cancelled_leaves_the_queue() {
        let world = World::new(1);
        world.run(|env| {
            let shares = Arc::new(Shares::new(Arc::clone(&env.clock)));
            let never = AtomicBool::new(false);
            let all = shares.admit(1, 100, true, &never).0.expect("all are free");
            assert!(shares.admit(2, 1, false, &never).0.is_none());
            assert!(shares.admit(3, 1, true, &AtomicBool::new(true)).0.is_none());
            assert!(shares.list().1.is_empty());
            // Nobody gives any back: it goes on alone in the end.
            let began = env.clock.monotonic_nanos();
            assert!(shares.admit(4, 1, true, &never).0.is_none());
            assert!(env.clock.monotonic_nanos() - began >= WAIT_MAX.as_nanos() as u64);
            drop(all);
            assert!(shares.admit(5, 100, false, &never).0.is_some());
        });
    }

    #[test]
    fn q4_a_turn_and_its_rest_are_the_share_of_those_who_want_to_run() {
        // Two processors, two workers: as many others as there are processors leave them their share.
        assert_eq!(rest_nanos(50, 2, 2, 2), TURN_NANOS);
        assert_eq!(rest_nanos(25, 2, 9, 2), 3 * TURN_NANOS);
        assert_eq!(rest_nanos(1, 2, 9, 2), REST_MAX_NANOS);
        // One processor is left to them, half for each.
        assert_eq!(rest_nanos(25, 2, 1, 2), TURN_NANOS);
        // Nobody wants any, or there are enough, or all of it was asked for.
        // A sweep beside one session that writes, on two processors and on four.
        assert_eq!(rest_nanos(SHARE_OF_SWEEP, 2, 2, 2), 9 * TURN_NANOS);
        assert_eq!(rest_nanos(SHARE_OF_SWEEP, 2, 2, 4), 0);
        assert_eq!((rest_nanos(25, 2, 0, 2), rest_nanos(25, 4, 4, 8), rest_nanos(100, 2, 9, 2)), (0, 0, 0));
    }
}
