//! Threads that jobs share, and the crew of one job.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};
use verso_env::{Env, JoinHandle};

use super::job::{Job, JobInfo, Jobs, Listed};
use crate::StorageError;
use crate::page::ObjectId;

/// How often a caller that waits for its workers looks whether it is to go on.
const LOOK: Duration = Duration::from_millis(20);

/// Asked whether a job is to go on.
pub type Watch<'w> = &'w mut (dyn FnMut() -> Result<(), StorageError> + 'w);

/// How long one of so many workers of housekeeping is to rest before its next pages, for others want the processors.
pub type Rest = dyn Fn(u32) -> Duration + Send + Sync;

/// A worker that gives way works so long between two looks at whether others want the processors.
const TURN_NANOS: u64 = 500_000;

type Work = Box<dyn FnOnce() + Send>;

/// A part of a round that nobody has begun.
struct Waiting {
    job: Arc<Job>,
    work: Work,
}

/// A thread as others see it.
#[derive(Clone, Debug)]
pub struct WorkerInfo {
    /// Its number.
    pub number: u64,
    /// What it works at: the job's first words and session.
    pub job: Option<JobInfo>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// What each thread works at.
    threads: BTreeMap<u64, Option<Arc<Job>>>,
    /// Threads without work.
    idle: usize,
    /// Threads lent to crews.
    lent: u32,
    next: u64,
    handles: Vec<JoinHandle>,
    closed: bool,
}

struct Pool {
    env: Env,
    state: Mutex<State>,
    called: Condvar,
    /// Most threads at a time.
    most: AtomicU32,
    idle_millis: AtomicU64,
    /// Who knows what others want; nobody gives way without.
    rest: OnceLock<Arc<Rest>>,
}

/// The threads of a database for jobs of maintenance. They come when a job wants them and go when none has for a while.
#[derive(Clone)]
pub struct WorkerPool {
    pool: Arc<Pool>,
    jobs: Arc<Jobs>,
}

impl WorkerPool {
    /// Without a thread yet.
    #[must_use]
    pub fn new(env: Env) -> WorkerPool {
        let pool = Pool {
            env,
            state: Mutex::default(),
            called: Condvar::new(),
            most: AtomicU32::new(8),
            idle_millis: AtomicU64::new(60_000),
            rest: OnceLock::new(),
        };
        WorkerPool { pool: Arc::new(pool), jobs: Arc::default() }
    }

    /// At most so many threads from now on, those of the callers not among them; a thread without work ends after this time.
    pub fn configure(&self, most: u32, idle: Duration) {
        self.pool.most.store(most, Ordering::Relaxed);
        self.pool.idle_millis.store(idle.as_millis() as u64, Ordering::Relaxed);
        // Those that idle begin to wait anew.
        let _state = self.pool.state.lock();
        self.pool.called.notify_all();
    }

    /// From now on workers that give way ask this; the first who says so is heard.
    pub fn rest_by(&self, rest: Arc<Rest>) {
        let _ = self.pool.rest.set(rest);
    }

    /// Lists a job, which begins, perhaps at a table.
    #[must_use]
    pub fn begin(&self, what: &'static str, session: u64, table: Option<ObjectId>) -> Listed {
        self.jobs.begin(what, session, table, self.pool.env.clock.monotonic_nanos())
    }

    /// The jobs under way.
    pub fn jobs(&self) -> Vec<JobInfo> {
        self.jobs.list()
    }

    /// The threads.
    pub fn workers(&self) -> Vec<WorkerInfo> {
        let jobs = self.jobs();
        let at = |job: &Arc<Job>| jobs.iter().find(|info| info.number == job.number()).cloned();
        let state = self.pool.state.lock();
        let info = |(number, job): (&u64, &Option<Arc<Job>>)| WorkerInfo {
            number: *number,
            job: job.as_ref().and_then(at),
        };
        state.threads.iter().map(info).collect()
    }

    /// The caller alone, for a job that is not listed.
    #[must_use]
    pub fn alone(&self) -> Crew {
        let job = Arc::new(Job::new(0, "", 0, 0));
        Crew { pool: Arc::clone(&self.pool), job, lent: 0, gives_way: false }
    }

    /// As many workers for a job as it wants and there are, the caller among them.
    #[must_use]
    pub fn gather(&self, job: &Arc<Job>, wanted: u32) -> Crew {
        let mut state = self.pool.state.lock();
        let free = self.pool.most.load(Ordering::Relaxed).saturating_sub(state.lent);
        let lent = if state.closed { 0 } else { wanted.saturating_sub(1).min(free) };
        state.lent += lent;
        job.workers.store(lent + 1, Ordering::Relaxed);
        Crew { pool: Arc::clone(&self.pool), job: Arc::clone(job), lent, gives_way: false }
    }

    /// As [`WorkerPool::gather`], for the parts of a query, which is not listed among the jobs.
    #[must_use]
    pub fn lend(&self, wanted: u32) -> Crew {
        self.gather(&Arc::new(Job::new(0, "", 0, 0)), wanted)
    }

    /// Ends all threads; work that they have is done first.
    pub fn close(&self) {
        let handles = {
            let mut state = self.pool.state.lock();
            state.closed = true;
            self.pool.called.notify_all();
            std::mem::take(&mut state.handles)
        };
        for handle in handles {
            let _ = handle.join();
        }
    }
}

/// What a thread does: work, as long as there is some.
fn run_thread(pool: &Pool, number: u64) {
    let mut state = pool.state.lock();
    loop {
        if let Some(Waiting { job, work }) = state.waiting.pop_front() {
            state.threads.insert(number, Some(job));
            drop(state);
            work();
            state = pool.state.lock();
            state.threads.insert(number, None);
            continue;
        }
        if state.closed {
            break;
        }
        state.idle += 1;
        let patience = Duration::from_millis(pool.idle_millis.load(Ordering::Relaxed));
        let late = pool.called.wait_for(&mut state, patience);
        state.idle -= 1;
        if late && state.waiting.is_empty() {
            break;
        }
    }
    state.threads.remove(&number);
}

/// The workers of one job. Dropping it gives them back.
pub struct Crew {
    pool: Arc<Pool>,
    job: Arc<Job>,
    lent: u32,
    gives_way: bool,
}

/// Which parts stop when one has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All.
    All,
    /// Those behind it (W4).
    Behind,
}

/// A part of a round, as the one sees it that does it.
pub struct Part<'p> {
    /// Which one.
    pub number: usize,
    job: &'p Job,
    watch: Option<Watch<'p>>,
    /// How it gives way, if it does.
    turns: Option<Turns>,
}

/// Work and rest of a worker that gives way (W5).
struct Turns {
    pool: Arc<Pool>,
    workers: u32,
    /// When it looks next.
    next: u64,
}

impl Turns {
    fn between_pages(&mut self) {
        let now = self.pool.env.clock.monotonic_nanos();
        if now < self.next {
            return;
        }
        let rest = self.pool.rest.get().map_or(Duration::ZERO, |rest| rest(self.workers));
        self.next = now + TURN_NANOS + rest.as_nanos() as u64;
        if !rest.is_zero() {
            self.pool.env.clock.sleep(rest);
        }
    }
}

impl Part<'_> {
    /// Looks whether it is to go on; between two pages.
    ///
    /// # Errors
    /// `Cancelled` when another part has failed; what the caller's watch says.
    #[inline]
    pub fn go_on(&mut self) -> Result<(), StorageError> {
        self.step(false)
    }

    /// As [`Part::go_on`]; in haste it does not rest: it holds what somebody waits for.
    ///
    /// # Errors
    /// As [`Part::go_on`].
    #[inline]
    pub fn step(&mut self, in_haste: bool) -> Result<(), StorageError> {
        if let Some(turns) = &mut self.turns
            && !in_haste
        {
            turns.between_pages();
        }
        if self.job.stop.load(Ordering::Relaxed) <= self.number {
            return Err(StorageError::Cancelled);
        }
        match &mut self.watch {
            None => Ok(()),
            Some(watch) => watch(),
        }
    }
}

/// What has become of a part; the outer error is its panic.
type Outcome<T> = std::thread::Result<Result<T, StorageError>>;

/// What has become of the parts of a round.
struct Round<T> {
    ends: Mutex<Ends<T>>,
    changed: Condvar,
}

struct Ends<T> {
    outcomes: Vec<Option<Outcome<T>>>,
    /// Parts that others do and have not ended.
    left: usize,
}

impl<T> Round<T> {
    fn note(&self, number: usize, outcome: Outcome<T>) {
        let mut ends = self.ends.lock();
        ends.outcomes[number] = Some(outcome);
        ends.left -= 1;
        self.changed.notify_all();
    }
}

impl Crew {
    /// Workers, the caller among them.
    #[must_use]
    pub fn size(&self) -> usize {
        self.lent as usize + 1
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Whether its workers give way from now on (W5).
    #[must_use]
    pub fn giving_way(mut self, gives_way: bool) -> Crew {
        self.gives_way = gives_way;
        self
    }

    /// The turns of a worker of this crew.
    fn turns(&self) -> Option<Turns> {
        let workers = self.lent + 1;
        self.gives_way.then(|| Turns { pool: Arc::clone(&self.pool), workers, next: 0 })
    }

    /// Does a round: `body` once for each worker, at the same time. `watch` is asked by the caller's part between two pages,
    /// and every few milliseconds while the caller waits for the others.
    ///
    /// # Errors
    /// That of the first part that has failed, or what `watch` says.
    ///
    /// # Panics
    /// As a part has, once all of them have ended.
    pub fn run<T: Send + 'static>(
        &self,
        stop: Stop,
        watch: &mut (dyn FnMut() -> Result<(), StorageError> + '_),
        body: impl Fn(&mut Part<'_>) -> Result<T, StorageError> + Send + Sync + 'static,
    ) -> Result<Vec<T>, StorageError> {
        let parts = self.size();
        self.job.stop.store(usize::MAX, Ordering::Relaxed);
        let ends = Ends { outcomes: (0..parts).map(|_| None).collect(), left: parts - 1 };
        let round = Arc::new(Round { ends: Mutex::new(ends), changed: Condvar::new() });
        let body = Arc::new(body);
        for number in 1..parts {
            let (round, body, job) = (Arc::clone(&round), Arc::clone(&body), Arc::clone(&self.job));
            let turns = self.turns();
            let work = move || {
                let outcome = one(Part { number, job: &job, watch: None, turns }, stop, &*body);
                // Before the round may end: what the job holds goes with the caller.
                drop(body);
                round.note(number, outcome);
            };
            self.hand_over(Box::new(work));
        }
        let mut refused = None;
        let mut asked = || {
            watch().inspect_err(|error| {
                self.job.stop.store(0, Ordering::Relaxed);
                refused.get_or_insert_with(|| error.clone());
            })
        };
        let part = Part { number: 0, job: &self.job, watch: Some(&mut asked), turns: self.turns() };
        let own = one(part, stop, &*body);
        // W2: parts that no thread has begun.
        while let Some(work) = self.take_back() {
            work();
        }
        loop {
            {
                let mut ends = round.ends.lock();
                if ends.left > 0 {
                    round.changed.wait_for(&mut ends, LOOK);
                }
                if ends.left == 0 {
                    break;
                }
            }
            // An error stops the others, who are waited for.
            let _ = asked();
        }
        let outcomes = std::mem::take(&mut round.ends.lock().outcomes);
        let outcomes = std::iter::once(own).chain(outcomes.into_iter().flatten());
        let mut values = Vec::with_capacity(parts);
        let (mut first, mut stopped) = (refused, None);
        for outcome in outcomes {
            match outcome.unwrap_or_else(|panic| resume_unwind(panic)) {
                Ok(value) => values.push(value),
                Err(error @ StorageError::Cancelled) => stopped = stopped.or(Some(error)),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.or(stopped).map_or(Ok(values), Err)
    }

    /// Gives work to a thread that idles, or to a new one.
    fn hand_over(&self, work: Work) {
        let pool = &self.pool;
        let mut state = pool.state.lock();
        state.waiting.push_back(Waiting { job: Arc::clone(&self.job), work });
        // One that has just ended its work comes back for more: there are never more threads than are lent.
        let wanted = state.idle < state.waiting.len() && state.threads.len() < state.lent as usize;
        if wanted && !state.closed {
            state.next += 1;
            let number = state.next;
            state.threads.insert(number, None);
            let its = Arc::clone(pool);
            let body = Box::new(move || run_thread(&its, number));
            match pool.env.threads.try_spawn(&format!("verso-worker-{number}"), body) {
                Ok(handle) => {
                    state.handles.retain(|handle| !handle.is_finished());
                    state.handles.push(handle);
                }
                // The caller does it (W2).
                Err(_) => drop(state.threads.remove(&number)),
            }
        }
        pool.called.notify_one();
    }

    /// Work of this job that no thread has begun.
    fn take_back(&self) -> Option<Work> {
        let mut state = self.pool.state.lock();
        let at = state.waiting.iter().position(|waiting| Arc::ptr_eq(&waiting.job, &self.job))?;
        state.waiting.remove(at).map(|waiting| waiting.work)
    }
}

/// Does one part. One that fails stops the others it says; one that panics stops all of them, and is waited for like any other.
fn one<T>(
    mut part: Part<'_>,
    stop: Stop,
    body: &impl Fn(&mut Part<'_>) -> Result<T, StorageError>,
) -> Outcome<T> {
    let (job, number) = (part.job, part.number);
    let outcome = catch_unwind(AssertUnwindSafe(|| body(&mut part)));
    if !matches!(outcome, Ok(Ok(_))) {
        let from = if stop == Stop::All || outcome.is_err() { 0 } else { number + 1 };
        job.stop.fetch_min(from, Ordering::Relaxed);
    }
    outcome
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.pool.state.lock().lent -= self.lent;
    }
}
