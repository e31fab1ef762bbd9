//! The thread that makes checkpoints by time and by volume of log, each spread over the time until the next.
//!
//! ```text
//! log    ──┬─────────────── interval, or log_bytes ──────────────┬──
//! pages    └ batch ── batch ── batch ── batch ── … ── 9/10 ──────┘
//! ```
//!
//! P1. A checkpoint writes as far as the time and the log used up since it began, whichever is further on, so that the disk
//!     is never busy with it for long. One that somebody waits for, or that is under way when the database closes, goes on
//!     without a pause.
//! P2. While nothing is appended the thread sleeps until the next checkpoint is due by time, or without end if there is
//!     nothing to make durable.

use std::sync::Arc;
use std::time::Duration;

use verso_env::sync::Mutex;
use verso_env::{Env, JoinHandle};

use crate::StorageError;
use crate::buffer::FlushProgress;
use crate::sleeper::Sleeper;

/// When checkpoints are made without being asked for.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointerOptions {
    /// At the latest this long after the last one, if anything was logged since.
    pub interval: Duration,
    /// When recovery would have to read this much log.
    pub log_bytes: u64,
    /// How often the volume is looked at while it grows.
    pub poll: Duration,
}

impl Default for CheckpointerOptions {
    fn default() -> CheckpointerOptions {
        CheckpointerOptions {
            interval: Duration::from_secs(300),
            log_bytes: 256 << 20,
            poll: Duration::from_millis(200),
        }
    }
}

/// So long nothing is tried again after a checkpoint that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What the thread asks of the engine.
pub trait CheckpointTarget: Send + Sync + 'static {
    /// Bytes of log that recovery would have to read now, more than any limit where one more checkpoint is wanted; none is left
    /// out whose append did not call the sleeper.
    fn redo_bytes(&self) -> u64;

    /// Makes a checkpoint, and calls `pace` behind each batch of pages.
    ///
    /// # Errors
    /// Ends the thread if it is `Poisoned` or `Closed`; otherwise the next try comes in time.
    fn checkpoint(&self, pace: &mut dyn FnMut(FlushProgress)) -> Result<(), StorageError>;

    /// Whether somebody waits for the checkpoint under way.
    fn is_awaited(&self) -> bool;
}

/// A running thread; [`Checkpointer::stop`] or dropping ends it.
pub struct Checkpointer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle>>,
}

struct Shared {
    options: Mutex<(CheckpointerOptions, bool)>,
    /// The thread, which appends call as well.
    sleeper: Arc<Sleeper>,
}

impl Checkpointer {
    /// Starts the thread for `target`; whoever appends to its log calls `sleeper`.
    ///
    /// # Errors
    /// The operating system refuses a thread.
    pub fn start(
        env: &Env,
        options: CheckpointerOptions,
        target: Arc<dyn CheckpointTarget>,
        sleeper: Arc<Sleeper>,
    ) -> Result<Checkpointer, StorageError> {
        let shared = Arc::new(Shared { options: Mutex::new((options, false)), sleeper });
        let body = {
            let (shared, env) = (Arc::clone(&shared), env.clone());
            move || shared.run(&env, &*target)
        };
        let thread = env.threads.try_spawn("verso-checkpoint", Box::new(body));
        let thread = thread.map_err(|e| StorageError::io("starting the checkpoint thread", e))?;
        Ok(Checkpointer { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Changes the settings from now on.
    pub fn configure(&self, options: CheckpointerOptions) {
        self.shared.options.lock().0 = options;
        self.shared.sleeper.wake();
    }

    /// Ends the thread, after the checkpoint under way if there is one.
    pub fn stop(&self) {
        self.shared.options.lock().1 = true;
        self.shared.sleeper.wake();
        if let Some(thread) = self.thread.lock().take() {
            // Its panic was reported by its own thread; a checkpoint missing is no loss.
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self, env: &Env, target: &dyn CheckpointTarget) {
        let now = || env.clock.monotonic_nanos();
        let (mut last, mut seen) = (now(), None);
        loop {
            let (options, stopped) = *self.options.lock();
            if stopped {
                return;
            }
            let redo_bytes = target.redo_bytes();
            let rest = options.interval.saturating_sub(Duration::from_nanos(now().saturating_sub(last)));
            let worth_it = redo_bytes > CHECKPOINT_BYTES_OWN;
            if redo_bytes < options.log_bytes && !(worth_it && rest.is_zero()) {
                let grows = seen.replace(redo_bytes) != Some(redo_bytes);
                if grows {
                    // Appends need not call while the volume is looked at anyway.
                    self.sleeper.wait(Some(options.poll.min(options.interval)));
                    continue;
                }
                self.sleeper.listen();
                if target.redo_bytes() == redo_bytes && !self.options.lock().1 {
                    self.sleeper.wait(worth_it.then_some(rest));
                }
                continue;
            }
            let mut pace = Pace { shared: self, env, target, began: now(), redo_bytes };
            match target.checkpoint(&mut |done| pace.rest(done)) {
                Ok(()) => (),
                Err(StorageError::Poisoned { .. } | StorageError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "a checkpoint failed; the next one will be tried in time");
                    // What makes it due most likely does so still.
                    self.sleeper.wait(Some(AFTER_FAILURE.min(options.interval)));
                }
            }
            last = now();
        }
    }
}

/// Spreads a checkpoint (P1).
struct Pace<'a> {
    shared: &'a Shared,
    env: &'a Env,
    target: &'a dyn CheckpointTarget,
    began: u64,
    /// As it began.
    redo_bytes: u64,
}

impl Pace<'_> {
    /// Sleeps as long as more is written than has to be by now.
    fn rest(&mut self, done: FlushProgress) {
        let share = |part: f64, whole: f64| part / whole.max(1.0);
        let written = share(done.written as f64, done.total as f64) * SPREAD;
        loop {
            let (options, stopped) = *self.shared.options.lock();
            if stopped || self.target.is_awaited() {
                return;
            }
            let interval = options.interval.as_nanos() as f64;
            let time = self.env.clock.monotonic_nanos().saturating_sub(self.began) as f64;
            let log = self.target.redo_bytes().saturating_sub(self.redo_bytes) as f64;
            let due = share(time, interval).max(share(log, options.log_bytes as f64));
            if written <= due {
                return;
            }
            let ahead = Duration::from_nanos(((written * interval) - time) as u64);
            self.shared.sleeper.wait(Some(ahead.clamp(PAUSE_MIN, options.poll.max(PAUSE_MIN))));
        }
    }
}

/// A checkpoint takes so much of the time or of the log until the next one.
const SPREAD: f64 = 0.9;
/// Shortest sleep between two batches.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// A checkpoint's own log is no reason for another one.
pub(crate) const CHECKPOINT_BYTES_OWN: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use verso_sim::World;

    use super::*;

    /// Writes ten batches, and notes when.
    struct Target {
        env: Env,
        redo_bytes: AtomicU64,
        awaited: AtomicBool,
        batches: Mutex<Vec<u64>>,
    }

    impl CheckpointTarget for Target {
        fn redo_bytes(&self) -> u64 {
            self.redo_bytes.load(Ordering::SeqCst)
        }
        fn checkpoint(&self, pace: &mut dyn FnMut(FlushProgress)) -> Result<(), StorageError> {
            for written in 1..=10 {
                self.batches.lock().push(self.env.clock.monotonic_nanos() / 1_000_000_000);
                pace(FlushProgress { written, total: 10 });
            }
            self.redo_bytes.store(0, Ordering::SeqCst);
            Ok(())
        }
        fn is_awaited(&self) -> bool {
            self.awaited.load(Ordering::SeqCst)
        }
    }

    /// Seconds at which the batches of the first checkpoint were written, of ten every hundred seconds.
    fn batches(log_bytes: u64, during: impl FnOnce(&Env, &Target)) -> Vec<u64> {
        let world = World::new(1);
        world.run(|env| {
            let target = Arc::new(Target {
                env: env.clone(),
                redo_bytes: AtomicU64::new(1 << 20),
                awaited: AtomicBool::default(),
                batches: Mutex::default(),
            });
            let interval = Duration::from_secs(100);
            let options = CheckpointerOptions { interval, log_bytes, ..CheckpointerOptions::default() };
            let (sleeper, asked) = (Arc::new(Sleeper::default()), Arc::clone(&target));
            let thread = Checkpointer::start(env, options, asked, sleeper).expect("a thread");
            // The first one begins.
            env.clock.sleep(Duration::from_secs(101));
            during(env, &target);
            thread.stop();
            target.batches.lock().clone()
        })
    }

    #[test]
    fn p1_batches_are_spread_over_the_time_until_the_next_checkpoint() {
        let times = batches(1 << 30, |env, _| env.clock.sleep(Duration::from_secs(100)));
        assert_eq!(times, (0..10).map(|batch| 100 + 9 * batch).collect::<Vec<_>>());
    }

    #[test]
    fn p1_log_that_is_used_up_drives_a_checkpoint_on() {
        let times = batches(10 << 20, |env, target| {
            // Nine tenths of the volume at once.
            target.redo_bytes.fetch_add(8 << 20, Ordering::SeqCst);
            env.clock.sleep(Duration::from_secs(100));
        });
        assert!(times[..8].iter().all(|second| *second <= 102), "{times:?}");
        assert!(times[9] > 180, "{times:?}");
    }

    #[test]
    fn p1_a_checkpoint_that_is_awaited_or_the_last_one_goes_on_without_a_pause() {
        let times = batches(1 << 30, |env, target| {
            target.awaited.store(true, Ordering::SeqCst);
            env.clock.sleep(Duration::from_secs(1));
        });
        assert!(times.len() == 10 && times[9] <= 103, "{times:?}");
        let times = batches(1 << 30, |_, _| ());
        assert!(times.len() == 10 && times[9] <= 103, "{times:?}");
    }

    #[test]
    fn p2_without_appends_nobody_looks() {
        struct Idle(AtomicU64);
        impl CheckpointTarget for Idle {
            fn redo_bytes(&self) -> u64 {
                self.0.fetch_add(1, Ordering::SeqCst);
                100
            }
            fn checkpoint(&self, _: &mut dyn FnMut(FlushProgress)) -> Result<(), StorageError> {
                panic!("there is nothing to do");
            }
            fn is_awaited(&self) -> bool {
                false
            }
        }
        World::new(1).run(|env| {
            let target = Arc::new(Idle(AtomicU64::new(0)));
            let (sleeper, asked) = (Arc::new(Sleeper::default()), Arc::clone(&target));
            let thread = Checkpointer::start(env, CheckpointerOptions::default(), asked, sleeper);
            env.clock.sleep(Duration::from_secs(3600));
            let looks = target.0.load(Ordering::SeqCst);
            assert!(looks < 5, "{looks} looks in an hour");
            drop(thread);
        });
    }
}
