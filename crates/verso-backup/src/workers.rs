//! Threads that share a list of work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::Mutex;
use verso_env::{Env, panic_message};

use crate::error::BackupError;
use crate::job::Job;

/// What a worker asks whether it shall go on.
pub(crate) struct Team {
    pub job: Arc<Job>,
    failed: AtomicBool,
    /// The first error.
    error: Mutex<Option<BackupError>>,
}

impl Team {
    /// # Errors
    /// `Cancelled` when the job is to end, or another worker has failed.
    pub fn check(&self) -> Result<(), BackupError> {
        if self.failed.load(Ordering::Acquire) { Err(BackupError::Cancelled) } else { self.job.check() }
    }

    /// The work has failed. Whoever holds a lock under which others would meet what follows from it says so before it lets go.
    pub fn fail(&self, error: BackupError) {
        let mut first = self.error.lock();
        if first.is_none() {
            *first = Some(error);
        }
        self.failed.store(true, Ordering::Release);
    }

    /// Does a worker's share. A panic is its error, so that the others stop at once and this thread waits for them.
    fn does(&self, work: &impl Fn(&Team) -> Result<(), BackupError>) {
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(error),
            Err(panic) => {
                self.fail(BackupError::Refused(format!("a bug in a worker: {}", panic_message(&*panic))));
            }
        }
    }
}

/// Runs `work` on so many threads, this one among them, until all have ended.
///
/// # Errors
/// The first of theirs; the others stop then.
pub(crate) fn run(
    env: &Env,
    job: &Arc<Job>,
    count: usize,
    work: impl Fn(&Team) -> Result<(), BackupError> + Send + Sync + 'static,
) -> Result<(), BackupError> {
    let team = Team { job: Arc::clone(job), failed: AtomicBool::new(false), error: Mutex::new(None) };
    let (team, work) = (Arc::new(team), Arc::new(work));
    let mut threads = Vec::new();
    for number in 1..count.max(1) {
        let (team, work) = (Arc::clone(&team), Arc::clone(&work));
        let body = move || team.does(&*work);
        match env.threads.try_spawn(&format!("verso-backup-{number}"), Box::new(body)) {
            Ok(thread) => threads.push(thread),
            Err(_) => break, // fewer do it, too
        }
    }
    team.does(&*work);
    for thread in threads {
        if let Err(panic) = thread.join() {
            team.fail(BackupError::Refused(panic.to_string()));
        }
    }
    let error = team.error.lock().take();
    error.map_or(Ok(()), Err)
}
