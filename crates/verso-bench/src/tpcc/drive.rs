//! Terminals: a thread for each, which runs transactions until the time is over and notes how long each took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use verso_env::Env;

use super::random::Random;
use super::rows::DISTRICTS;
use super::session::{Failure, Target};
use super::transactions::{Kind, Outcome, Terminal};
use crate::BenchError;

/// A transaction that fails for others' sake begins again so often; then the run ends.
const ATTEMPTS: u32 = 1_000;

/// What is asked of a run.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub warehouses: u32,
    pub connections: u32,
    /// Runs before anything is noted.
    pub warm_up: Duration,
    /// Is noted.
    pub duration: Duration,
    /// Do terminals type and think, as people do?
    pub think: bool,
    /// Is each transaction one call of its procedure?
    pub procedures: bool,
    pub seed: u64,
}

/// What terminals noted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// Microseconds of each transaction that ended in the time that counts, by kind.
    pub micros: [Vec<u32>; 5],
    /// New orders whose changes are there.
    pub new_orders: u64,
    /// Transactions that began again.
    pub retries: u64,
    /// Transactions that failed otherwise, and the first one's words.
    pub errors: u64,
    pub first_error: Option<String>,
    /// The time that counted, in nanoseconds.
    pub nanos: u64,
    /// Processor time of this process and of the server within it.
    pub driver_nanos: u64,
    pub server_nanos: Option<u64>,
}

impl Notes {
    fn add(&mut self, other: Notes) {
        for (all, own) in self.micros.iter_mut().zip(other.micros) {
            all.extend(own);
        }
        self.new_orders += other.new_orders;
        self.retries += other.retries;
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }
}

/// When terminals note, and when they end.
struct Phase {
    counts: AtomicBool,
    over: AtomicBool,
}

/// Runs the load and gives what its terminals noted.
pub(crate) fn drive<T: Target>(env: &Env, target: &T, load: &Load) -> Result<Notes, BenchError> {
    let connected =
        (0..load.connections).map(|_| target.connect(load.procedures)).collect::<Result<Vec<_>, _>>()?;
    let phase = &Phase { counts: AtomicBool::new(false), over: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let terminals: Vec<_> = connected
            .into_iter()
            .zip(0..)
            .map(|(mut session, number)| {
                scope.spawn(move || terminal::<T>(env, &mut session, load, number, phase))
            })
            .collect();
        env.clock.sleep(load.warm_up);
        let (begun, cpu) = (env.clock.monotonic_nanos(), verso_env::process::processor_nanos());
        let server_cpu = target.server_nanos();
        phase.counts.store(true, Ordering::Relaxed);
        env.clock.sleep(load.duration);
        phase.counts.store(false, Ordering::Relaxed);
        let mut notes =
            Notes { nanos: env.clock.monotonic_nanos().saturating_sub(begun), ..Notes::default() };
        notes.driver_nanos =
            verso_env::process::processor_nanos().unwrap_or(0).saturating_sub(cpu.unwrap_or(0));
        let spent = |(after, before): (u64, u64)| after.saturating_sub(before);
        notes.server_nanos = target.server_nanos().zip(server_cpu).map(spent);
        phase.over.store(true, Ordering::Relaxed);
        for terminal in terminals {
            let panicked =
                |_| BenchError::Engine { engine: "driver", message: "a terminal panicked".to_owned() };
            notes.add(terminal.join().map_err(panicked)?);
        }
        Ok(notes)
    })
}

/// One terminal's life.
fn terminal<T: Target>(
    env: &Env,
    session: &mut T::Session,
    load: &Load,
    number: u32,
    phase: &Phase,
) -> Notes {
    let mut terminal = Terminal {
        warehouses: load.warehouses,
        warehouse: number % load.warehouses + 1,
        district: number / load.warehouses % DISTRICTS + 1,
        random: Random::new(load.seed ^ (u64::from(number) << 40)),
    };
    let mut notes = Notes::default();
    while !phase.over.load(Ordering::Relaxed) {
        let kind = Kind::draw(&mut terminal.random);
        let (typing, thinking) = kind.pacing();
        pause(env, phase, load.think.then_some(typing));
        let started = env.clock.monotonic_nanos();
        let ended = once::<T>(env, session, &mut terminal, (kind, load.procedures), &mut notes.retries);
        let micros = env.clock.monotonic_nanos().saturating_sub(started) / 1_000;
        if phase.counts.load(Ordering::Relaxed) {
            match ended {
                Ok(outcome) => {
                    notes.micros[kind as usize].push(u32::try_from(micros).unwrap_or(u32::MAX));
                    notes.new_orders += u64::from(kind == Kind::NewOrder && outcome == Outcome::Committed);
                }
                Err(failure) => {
                    notes.errors += 1;
                    let text = || format!("{}: {} {}", kind.name(), failure.sqlstate, failure.message);
                    notes.first_error.get_or_insert_with(text);
                    if failure.sqlstate.is_empty() {
                        // The connection is gone, or answers are not what they should be: nothing more comes of it.
                        break;
                    }
                }
            }
        }
        let mean = -terminal.random.unit().ln() * thinking;
        pause(env, phase, load.think.then_some(mean.min(thinking * 10.0)));
    }
    notes
}

/// A transaction, begun again as long as it fails for others' sake.
fn once<T: Target>(
    env: &Env,
    session: &mut T::Session,
    terminal: &mut Terminal,
    (kind, procedures): (Kind, bool),
    retries: &mut u64,
) -> Result<Outcome, Failure> {
    let mut attempts = 0;
    loop {
        let now = env.clock.unix_micros() - super::MICROS_2000;
        match terminal.run(session, kind, procedures, now) {
            Err(failure) if failure.is_transient() && attempts < ATTEMPTS => {
                attempts += 1;
                *retries += 1;
            }
            ended => return ended,
        }
    }
}

/// Waits in slices, so that the end of the run is noticed.
fn pause(env: &Env, phase: &Phase, seconds: Option<f64>) {
    const SLICE: f64 = 0.1;
    let mut left = seconds.unwrap_or(0.0);
    while left > 0.0 && !phase.over.load(Ordering::Relaxed) {
        env.clock.sleep(Duration::from_secs_f64(left.min(SLICE)));
        left -= SLICE;
    }
}
