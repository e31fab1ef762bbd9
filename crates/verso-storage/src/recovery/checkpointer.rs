//! The thread that makes checkpoints by time and by volume of log.

use std::sync::Arc;
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};
use verso_env::{Env, JoinHandle};

use crate::StorageError;

/// When checkpoints are made without being asked for.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointerOptions {
    /// At the latest this long after the last one, if anything was logged since.
    pub interval: Duration,
    /// When recovery would have to read this much log.
    pub log_bytes: u64,
    /// How often the volume is looked at.
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

/// What the thread asks of the engine.
pub trait CheckpointTarget: Send + Sync + 'static {
    /// Bytes of log that recovery would have to read now.
    fn redo_bytes(&self) -> u64;

    /// Makes a checkpoint.
    ///
    /// # Errors
    /// Ends the thread if it is `Poisoned` or `Closed`; otherwise the next try comes in time.
    fn checkpoint(&self) -> Result<(), StorageError>;
}

/// A running thread; [`Checkpointer::stop`] or dropping ends it.
pub struct Checkpointer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle>>,
}

struct Shared {
    options: Mutex<(CheckpointerOptions, bool)>,
    changed: Condvar,
}

impl Checkpointer {
    /// Starts the thread for `target`.
    ///
    /// # Errors
    /// The operating system refuses a thread.
    pub fn start(
        env: &Env,
        options: CheckpointerOptions,
        target: Arc<dyn CheckpointTarget>,
    ) -> Result<Checkpointer, StorageError> {
        let shared = Arc::new(Shared { options: Mutex::new((options, false)), changed: Condvar::new() });
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
        self.shared.changed.notify_all();
    }

    /// Ends the thread, after the checkpoint under way if there is one.
    pub fn stop(&self) {
        self.shared.options.lock().1 = true;
        self.shared.changed.notify_all();
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
        let mut last = env.clock.monotonic_nanos();
        loop {
            let options = {
                let mut guard = self.options.lock();
                if !guard.1 {
                    let poll = guard.0.poll.min(guard.0.interval);
                    self.changed.wait_for(&mut guard, poll);
                }
                if guard.1 {
                    return;
                }
                guard.0
            };
            let elapsed = env.clock.monotonic_nanos().saturating_sub(last);
            let redo_bytes = target.redo_bytes();
            let due = Duration::from_nanos(elapsed) >= options.interval && redo_bytes > CHECKPOINT_BYTES_OWN;
            if !due && redo_bytes < options.log_bytes {
                continue;
            }
            match target.checkpoint() {
                Ok(()) => (),
                Err(StorageError::Poisoned | StorageError::Closed) => return,
                Err(error) => {
                    tracing::warn!(%error, "a checkpoint failed; the next one will be tried in time")
                }
            }
            last = env.clock.monotonic_nanos();
        }
    }
}

/// A checkpoint's own log is no reason for another one.
const CHECKPOINT_BYTES_OWN: u64 = 64 << 10;
