//! The bundle that is handed down to everything that needs the outside world.

use std::fmt;
use std::sync::Arc;

use crate::real::{RealClock, RealRandom, RealThreads, RealVfs};
use crate::{Clock, JoinHandle, Random, Threads, Vfs};

/// Files, clock, randomness and threads; cheap to clone.
#[derive(Clone)]
pub struct Env {
    /// Files and directories.
    pub vfs: Arc<dyn Vfs>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub random: Arc<dyn Random>,
    /// Threads.
    pub threads: Arc<dyn Threads>,
}

impl Env {
    /// The real world: the operating system's files, clock, randomness and threads.
    pub fn real() -> Env {
        Env {
            vfs: Arc::new(RealVfs),
            clock: Arc::new(RealClock::new()),
            random: Arc::new(RealRandom::new()),
            threads: Arc::new(RealThreads),
        }
    }

    /// Starts a thread; see [`Threads::spawn`].
    pub fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle {
        self.threads.spawn(name, Box::new(body))
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}
