//! The baton: who runs, who waits for what, and who comes next.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use verso_env::JoinHandle;
use verso_env::simulation::{self, Abort, WaitKey, Woken};

use super::threads::thread_key;
use super::{RunReport, SchedulerOptions};
use crate::clock::{SimClock, nanos_of};
use crate::rng::Rng;

/// The thread that runs the body.
pub(super) const MAIN: usize = 0;
/// Simulated time that a step takes.
const STEP_NANOS: u64 = 200;
/// Steps that a report shows.
const RECENT_STEP_COUNT: usize = 24;
/// Steps of one spinning thread while no other can run, after which it spins for ever.
const LONE_SPIN_COUNT_MAX: u64 = 20_000;
/// Attempts of an unwinding thread to get what another one holds, after which it is given up.
const UNWIND_ROUND_COUNT_MAX: u32 = 2_000;
/// Real time without a step after which somebody hears of it.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A simulation's threads and choices.
pub(super) struct Core {
    seed: u64,
    clock: SimClock,
    options: SchedulerOptions,
    state: Mutex<State>,
}

struct State {
    rng: Rng,
    switch_one_in: u64,
    threads: Vec<Slot>,
    running: usize,
    failure: Option<String>,
    aborted: bool,
    step_count: u64,
    switch_count: u64,
    trace_hash: u64,
    trace: Option<Vec<(usize, &'static Location<'static>)>>,
    lone_spin_count: u64,
    body_end: Option<BodyEnd>,
    silence_told_at: Option<u64>,
    recent: VecDeque<(usize, &'static Location<'static>)>,
}

/// When the body returned.
struct BodyEnd {
    step_count: u64,
    nanos: u64,
}

struct Slot {
    name: String,
    status: Status,
    gate: Arc<Condvar>,
    at: Option<&'static Location<'static>>,
    woken: Woken,
    panic: Option<Box<dyn Any + Send>>,
    unwind_round_count: u32,
    real: Option<JoinHandle>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Runnable,
    Blocked {
        on: WaitKey,
        deadline: Option<u64>,
    },
    /// The body has returned; the others may end.
    Ending,
    Finished,
    /// Unwinding, but stuck behind another stuck thread: asleep for good.
    GivenUp,
}

/// How a run ended.
pub(super) struct Outcome {
    pub(super) report: RunReport,
    pub(super) failure: Option<String>,
}

impl Core {
    pub(super) fn new(seed: u64, mut rng: Rng, clock: SimClock, options: SchedulerOptions) -> Core {
        let switch_one_in = options.switch_one_in.unwrap_or_else(|| *rng.pick(&[1, 2, 4, 16, 64]));
        let state = State {
            rng,
            switch_one_in,
            threads: vec![Slot::new("main")],
            running: MAIN,
            failure: None,
            aborted: false,
            step_count: 0,
            switch_count: 0,
            trace_hash: 0xCBF2_9CE4_8422_2325,
            trace: options.keep_trace.then(Vec::new),
            lone_spin_count: 0,
            body_end: None,
            silence_told_at: None,
            recent: VecDeque::with_capacity(RECENT_STEP_COUNT),
        };
        Core { seed, clock, options, state: Mutex::new(state) }
    }

    /// Another thread, runnable from now on.
    pub(super) fn add(&self, name: &str) -> usize {
        let mut state = self.state.lock();
        state.threads.push(Slot::new(name));
        state.threads.len() - 1
    }

    pub(super) fn started(&self, thread: usize, real: JoinHandle) {
        self.state.lock().threads[thread].real = Some(real);
    }

    pub(super) fn never_started(&self, thread: usize) {
        self.state.lock().threads[thread].status = Status::Finished;
    }

    pub(super) fn is_finished(&self, thread: usize) -> bool {
        self.state.lock().threads[thread].status == Status::Finished
    }

    pub(super) fn take_panic(&self, thread: usize) -> Option<Box<dyn Any + Send>> {
        self.state.lock().threads[thread].panic.take()
    }

    /// Sleeps until `thread` has the baton.
    pub(super) fn wait_for_turn(&self, thread: usize) {
        self.sleep(&mut self.state.lock(), thread);
    }

    /// A possible switch.
    pub(super) fn pause(&self, thread: usize, at: &'static Location<'static>, spinning: bool) {
        let mut state = self.state.lock();
        self.step(&mut state, thread, at);
        if state.aborted {
            if std::thread::panicking() {
                if spinning {
                    self.yield_unwinding(&mut state, thread);
                }
                return;
            }
            drop(state);
            return simulation::unwind_aborted();
        }
        let others = state.runnable(Some(thread));
        let next = if spinning && others.is_empty() {
            self.lone_spin(&mut state, thread)
        } else if others.is_empty() {
            thread
        } else if spinning {
            *state.rng.pick(&others)
        } else if state.switches_now() {
            state.pick_any()
        } else {
            thread
        };
        self.switch(&mut state, thread, next);
        if state.aborted {
            drop(state);
            simulation::unwind_aborted();
        }
    }

    /// Waits for a wake or for the end of `timeout`.
    pub(super) fn block(
        &self,
        thread: usize,
        on: WaitKey,
        timeout: Option<Duration>,
        at: &'static Location<'static>,
    ) -> Woken {
        let mut state = self.state.lock();
        self.step(&mut state, thread, at);
        if state.aborted {
            self.yield_unwinding(&mut state, thread);
            return Woken::Aborted;
        }
        let deadline = timeout.map(|timeout| self.clock.now().saturating_add(nanos_of(timeout)));
        state.threads[thread].status = Status::Blocked { on, deadline };
        let next = self.next_or_abort(&mut state);
        self.switch(&mut state, thread, next);
        if state.aborted { Woken::Aborted } else { state.threads[thread].woken }
    }

    /// Makes one or all of those that wait for `on` runnable.
    pub(super) fn wake(&self, on: WaitKey, all: bool) {
        let mut state = self.state.lock();
        let mut waiters: Vec<usize> =
            state.ids(|status| matches!(status, Status::Blocked { on: key, .. } if key == on));
        if !all && waiters.len() > 1 {
            waiters = vec![*state.rng.pick(&waiters)];
        }
        for waiter in waiters {
            state.threads[waiter].wake(Woken::Notified);
        }
    }

    /// `thread` has ended; somebody else runs on.
    pub(super) fn finish(&self, thread: usize, panic: Option<Box<dyn Any + Send>>) {
        self.wake(thread_key(thread), true);
        let mut state = self.state.lock();
        state.threads[thread].status = Status::Finished;
        state.threads[thread].panic = panic.filter(|payload| !payload.is::<Abort>());
        let next = self.next_or_abort(&mut state);
        state.hand_to(next);
    }

    /// The body has returned: lets the other threads run to their end.
    pub(super) fn end_body(&self, panicked: bool) -> Outcome {
        let mut state = self.state.lock();
        state.body_end = Some(BodyEnd { step_count: state.step_count, nanos: self.clock.now() });
        if panicked {
            state.abort();
        }
        state.threads[MAIN].status = Status::Ending;
        let next = self.next_or_abort(&mut state);
        self.switch(&mut state, MAIN, next);
        let mut ended = Vec::new();
        let mut unjoined = None;
        for slot in &mut state.threads {
            if slot.status != Status::GivenUp {
                ended.extend(slot.real.take());
            }
            if let Some(payload) = slot.panic.take() {
                unjoined.get_or_insert_with(|| format!("thread {} panicked: {}", slot.name, text(&*payload)));
            }
        }
        let report = RunReport {
            step_count: state.step_count,
            switch_count: state.switch_count,
            trace_hash: state.trace_hash,
            trace: state.trace.take().unwrap_or_default(),
        };
        let failure = state.failure.take().or(unjoined.map(|text| format!("{text} (SEED={})", self.seed)));
        drop(state);
        for real in ended {
            real.join().expect("panics of simulated threads are caught");
        }
        Outcome { report, failure }
    }

    /// Notes that `thread` came by `at`; time passes; gives up when that has happened too often.
    fn step(&self, state: &mut State, thread: usize, at: &'static Location<'static>) {
        assert_eq!(state.running, thread, "only the holder of the baton runs");
        self.clock.advance(Duration::from_nanos(STEP_NANOS));
        state.note(thread, at);
        if state.aborted {
            return;
        }
        if state.step_count > self.options.steps_max {
            let report = self.report(state, "livelock: too many steps");
            return state.fail(report);
        }
        if let Some(end) = &state.body_end
            && (state.step_count - end.step_count > self.options.ending_steps_max
                || self.clock.now() - end.nanos > nanos_of(self.options.ending_time_max))
        {
            let report = self.report(state, "threads do not end although the body has returned");
            return state.fail(report);
        }
        if state.rng.one_in(self.options.impatient_one_in) {
            let limit = self.clock.now().saturating_add(nanos_of(self.options.impatience));
            if let Some((deadline, _)) = state.next_deadline().filter(|(deadline, _)| *deadline <= limit) {
                self.clock.advance_to(deadline);
            }
        }
        state.expire(self.clock.now());
    }

    /// The next thread to run; with none left that can, aborts the run.
    fn next_or_abort(&self, state: &mut State) -> usize {
        if let Some(next) = self.next(state) {
            return next;
        }
        if state.ids(|status| matches!(status, Status::Blocked { .. })).is_empty() {
            return MAIN;
        }
        let report = self.report(state, "deadlock: every thread is blocked");
        state.fail(report);
        self.next(state).expect("an abort makes blocked threads runnable")
    }

    /// A runnable thread, or else the one whose timed wait ends first.
    fn next(&self, state: &mut State) -> Option<usize> {
        state.expire(self.clock.now());
        if state.runnable(None).is_empty() {
            let (deadline, _) = state.next_deadline()?;
            self.clock.advance_to(deadline);
            state.expire(deadline);
        }
        Some(state.pick_any())
    }

    /// `thread` spins and only timed waits can help.
    fn lone_spin(&self, state: &mut State, thread: usize) -> usize {
        if let Some((deadline, _)) = state.next_deadline() {
            self.clock.advance_to(deadline);
            state.expire(deadline);
            let others = state.runnable(Some(thread));
            return *state.rng.pick(&others);
        }
        state.lone_spin_count += 1;
        if state.lone_spin_count > LONE_SPIN_COUNT_MAX {
            let report = self.report(state, "livelock: one thread spins, every other is blocked");
            state.fail(report);
        }
        thread
    }

    /// Hands the baton to `next` and sleeps until it comes back.
    fn switch(&self, state: &mut MutexGuard<'_, State>, thread: usize, next: usize) {
        if next != thread {
            state.lone_spin_count = 0;
            state.hand_to(next);
            self.sleep(state, thread);
        }
    }

    fn sleep(&self, state: &mut MutexGuard<'_, State>, thread: usize) {
        let gate = state.threads[thread].gate.clone();
        while state.running != thread {
            let step_count = state.step_count;
            let timed_out = gate.wait_for(state, SILENCE_MAX).timed_out();
            let is_silent = timed_out && state.step_count == step_count && !state.aborted;
            if is_silent && state.silence_told_at != Some(step_count) {
                state.silence_told_at = Some(step_count);
                let report =
                    self.report(state, "no step for a minute: the running thread blocks or computes");
                eprintln!("{report}");
            }
        }
    }

    /// Lets the other threads of an aborted run unwind while `thread` needs something that one of them holds.
    fn yield_unwinding(&self, state: &mut MutexGuard<'_, State>, thread: usize) {
        let count = state.threads.len();
        let next = (1..count)
            .map(|distance| (thread + distance) % count)
            .find(|other| state.threads[*other].status == Status::Runnable);
        let slot = &mut state.threads[thread];
        slot.unwind_round_count += 1;
        let is_alone = next.is_none() && std::thread::panicking();
        if slot.unwind_round_count > UNWIND_ROUND_COUNT_MAX || is_alone {
            self.give_up(state, thread);
        }
        if let Some(next) = next {
            self.switch(state, thread, next);
        }
    }

    /// `thread` cannot unwind: it waits in a destructor for something that never comes.
    fn give_up(&self, state: &mut MutexGuard<'_, State>, thread: usize) {
        let report = self.report(state, "a thread of the failed run cannot unwind");
        eprintln!("{}\n{report}", state.failure.as_deref().unwrap_or("the body panicked"));
        if thread == MAIN {
            // The main thread belongs to the test harness and cannot be left behind.
            std::process::abort();
        }
        state.threads[thread].status = Status::GivenUp;
        let next = self.next_or_abort(state);
        state.hand_to(next);
        loop {
            self.sleep(state, thread);
        }
    }

    /// What is told about a failed run: who waits where, and the last steps.
    fn report(&self, state: &State, what: &str) -> String {
        let mut text = format!("{what} (SEED={}, step {})", self.seed, state.step_count);
        for (thread, slot) in state.threads.iter().enumerate() {
            let doing = match slot.status {
                Status::Runnable if thread == state.running => "runs".to_owned(),
                Status::Runnable => "can run".to_owned(),
                Status::Blocked { on, deadline: None } => format!("waits for a {:?}", on.kind),
                Status::Blocked { on, deadline: Some(_) } => {
                    format!("waits for a {:?} or a timeout", on.kind)
                }
                Status::Ending => "has ended, as the body".to_owned(),
                Status::Finished => continue,
                Status::GivenUp => "was given up".to_owned(),
            };
            let at = slot.at.map_or(String::new(), |at| format!(" at {at}"));
            let _ = write!(text, "\n  {thread} {}: {doing}{at}", slot.name);
        }
        for slot in &state.threads {
            if let Some(payload) = &slot.panic {
                let _ = write!(text, "\n  {} had panicked: {}", slot.name, self::text(&**payload));
            }
        }
        text.push_str("\n  last steps:");
        for (thread, at) in &state.recent {
            let _ = write!(text, "\n    {} {at}", state.threads[*thread].name);
        }
        text
    }
}

impl State {
    fn ids(&self, wanted: impl Fn(Status) -> bool) -> Vec<usize> {
        let all = self.threads.iter().enumerate();
        all.filter(|(_, slot)| wanted(slot.status)).map(|(thread, _)| thread).collect()
    }

    fn runnable(&self, except: Option<usize>) -> Vec<usize> {
        let mut threads = self.ids(|status| status == Status::Runnable);
        threads.retain(|thread| Some(*thread) != except);
        threads
    }

    fn pick_any(&mut self) -> usize {
        let threads = self.runnable(None);
        *self.rng.pick(&threads)
    }

    fn switches_now(&mut self) -> bool {
        self.rng.one_in(self.switch_one_in)
    }

    fn next_deadline(&self) -> Option<(u64, usize)> {
        let deadlines = self.threads.iter().enumerate().filter_map(|(thread, slot)| match slot.status {
            Status::Blocked { deadline: Some(deadline), .. } => Some((deadline, thread)),
            _ => None,
        });
        deadlines.min()
    }

    /// Ends the timed waits that reach to `now`.
    fn expire(&mut self, now: u64) {
        for slot in &mut self.threads {
            if matches!(slot.status, Status::Blocked { deadline: Some(deadline), .. } if deadline <= now) {
                slot.wake(Woken::TimedOut);
            }
        }
    }

    fn hand_to(&mut self, next: usize) {
        self.running = next;
        self.switch_count += 1;
        self.threads[next].gate.notify_one();
    }

    fn note(&mut self, thread: usize, at: &'static Location<'static>) {
        self.step_count += 1;
        self.threads[thread].at = Some(at);
        for part in [thread as u64, at.file().len() as u64, u64::from(at.line()), u64::from(at.column())] {
            self.trace_hash = (self.trace_hash ^ part).wrapping_mul(0x0100_0000_01B3);
        }
        self.trace.iter_mut().for_each(|trace| trace.push((thread, at)));
        if self.recent.len() == RECENT_STEP_COUNT {
            self.recent.pop_front();
        }
        self.recent.push_back((thread, at));
    }

    fn fail(&mut self, report: String) {
        self.failure.get_or_insert(report);
        self.abort();
    }

    /// From now on every thread unwinds at its next step.
    fn abort(&mut self) {
        self.aborted = true;
        for slot in &mut self.threads {
            if matches!(slot.status, Status::Blocked { .. }) {
                slot.wake(Woken::Aborted);
            }
        }
    }
}

impl Slot {
    fn new(name: &str) -> Slot {
        Slot {
            name: name.to_owned(),
            status: Status::Runnable,
            gate: Arc::new(Condvar::new()),
            at: None,
            woken: Woken::Notified,
            panic: None,
            unwind_round_count: 0,
            real: None,
        }
    }

    fn wake(&mut self, why: Woken) {
        self.status = Status::Runnable;
        self.woken = why;
    }
}

/// The text of a panic's payload.
fn text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("(no message)")
}
