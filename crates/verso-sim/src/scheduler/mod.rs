//! Threads that run one at a time, in an order that the seed decides.
//!
//! Simulated threads are threads of the operating system that hand on a baton: who has it runs, the others sleep.
//! At every pause point, lock and wait (see `verso_env::simulation`) the holder asks the [`core::Core`] who goes
//! on. Waits with a timeout end when simulated time has come there; if nobody can run, time jumps to the next end.
//!
//! ```text
//! thread main   ──run──┐ pause            ┌─run── …
//! thread writer        └──run── block ─┐  │
//! thread cleaner                       └──┘ run, wake writer, block
//! ```
//!
//! H1. Exactly one thread has the baton; choices depend on the seed and on what threads did with it, on nothing else.
//! H2. When every thread is blocked and no wait has a timeout, the run ends with a deadlock report.
//! H3. A run ends by a return of its body and the end of every thread; threads that do not end are an error.
//! H4. A run that failed unwinds all its threads, one at a time, so that their guards release what they hold.

mod core;
mod threads;

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use verso_env::simulation;

use self::core::Core;
pub use self::threads::SimThreads;
use self::threads::{Membership, SimThread};
use crate::clock::SimClock;
use crate::rng::Rng;

/// How a simulation chooses and when it gives up.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// A pause point switches threads once in so many times; `None`: between 1 and 64, chosen by the seed.
    pub switch_one_in: Option<u64>,
    /// Once in so many steps time jumps to the end of the next timed wait although threads could run.
    pub impatient_one_in: u64,
    /// The furthest such a jump goes.
    pub impatience: Duration,
    /// Steps after which a run counts as a livelock.
    pub steps_max: u64,
    /// Steps, and simulated time, that threads may run on after the body has returned.
    pub ending_steps_max: u64,
    /// See `ending_steps_max`.
    pub ending_time_max: Duration,
    /// Whether the report has every step, 16 bytes each.
    pub keep_trace: bool,
}

impl Default for SchedulerOptions {
    fn default() -> SchedulerOptions {
        SchedulerOptions {
            switch_one_in: None,
            impatient_one_in: 500,
            impatience: Duration::from_secs(1),
            steps_max: 50_000_000,
            ending_steps_max: 1_000_000,
            ending_time_max: Duration::from_secs(24 * 3600),
            keep_trace: false,
        }
    }
}

/// What a run looked like; equal for equal seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// Pause points, locks and waits passed.
    pub step_count: u64,
    /// Changes of the running thread.
    pub switch_count: u64,
    /// A hash over which thread passed which source line, in order.
    pub trace_hash: u64,
    /// Which thread passed which source line, in order, if that was asked for.
    pub trace: Vec<(usize, &'static Location<'static>)>,
}

impl RunReport {
    /// Where two runs go apart: the number of the first step that differs, and both of them.
    pub fn difference(&self, other: &RunReport) -> Option<String> {
        let differs = |at: &usize| self.trace.get(*at) != other.trace.get(*at);
        let at = (0..self.trace.len().max(other.trace.len())).find(differs);
        let text = |report: &RunReport, at: usize| match report.trace.get(at) {
            Some((thread, place)) => format!("thread {thread} at {place}"),
            None => "the end".to_owned(),
        };
        match at {
            Some(at) => Some(format!("step {at}: {} / {}", text(self, at), text(other, at))),
            None if self == other => None,
            None => Some(format!("{} / {} steps", self.step_count, other.step_count)),
        }
    }
}

/// Runs `body` as thread `main` of a new simulation, until it and every thread that it started have ended.
///
/// # Panics
/// With the panic of `body`; with that of a thread that nobody joined; with a report of who waits where when all
/// threads are blocked, when a run takes too many steps, or when threads do not end behind the body.
pub fn simulate<T>(
    seed: u64,
    clock: &SimClock,
    options: SchedulerOptions,
    body: impl FnOnce() -> T,
) -> (T, RunReport) {
    simulate_with(seed, Rng::new(seed), clock, options, body)
}

/// As [`simulate`]; `seed` is only what a failure reports.
pub(crate) fn simulate_with<T>(
    seed: u64,
    rng: Rng,
    clock: &SimClock,
    options: SchedulerOptions,
    body: impl FnOnce() -> T,
) -> (T, RunReport) {
    assert!(simulation::current().is_none(), "a simulation cannot run inside a simulation");
    let core = Arc::new(Core::new(seed, rng, clock.clone(), options));
    let member = Membership::enter(SimThread::new(&core, core::MAIN));
    let result = catch_unwind(AssertUnwindSafe(body));
    drop(member);
    let outcome = core.end_body(result.is_err());
    match result {
        Ok(value) => match outcome.failure {
            None => (value, outcome.report),
            Some(failure) => panic!("{failure}"),
        },
        Err(payload) => fail(payload, outcome.failure),
    }
}

/// Goes on with the body's own panic, or with the reason for which the run was aborted.
fn fail(payload: Box<dyn Any + Send>, failure: Option<String>) -> ! {
    match failure {
        Some(failure) if payload.is::<simulation::Abort>() => panic!("{failure}"),
        _ => resume_unwind(payload),
    }
}

#[cfg(test)]
mod tests;
