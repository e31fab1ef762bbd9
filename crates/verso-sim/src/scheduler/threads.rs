//! Simulated threads as the engine sees them: `Threads`, join handles, and each thread's link to its scheduler.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use verso_env::simulation::{self, Entered, Scheduler, WaitKey, WaitKind, Woken};
use verso_env::{Join, JoinHandle, Threads};

use super::core::Core;

thread_local! {
    static CURRENT: RefCell<Option<Arc<SimThread>>> = const { RefCell::new(None) };
}

/// Starts simulated threads; usable on threads of a running simulation only.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimThreads;

impl Threads for SimThreads {
    /// # Panics
    /// Outside of a simulation: wrap the test's body into `World::run`.
    fn try_spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle> {
        let current = CURRENT.with(|current| current.borrow().clone());
        let Some(current) = current else {
            panic!("thread {name} is started outside of a simulation: wrap the test into World::run");
        };
        let core = &current.core;
        let thread = core.add(name);
        let member = SimThread::new(core, thread);
        let main = move || {
            let core = member.core.clone();
            core.wait_for_turn(thread);
            let membership = Membership::enter(member);
            let result = catch_unwind(AssertUnwindSafe(body));
            drop(membership);
            core.finish(thread, result.err());
        };
        let handle = verso_env::Env::real().threads.try_spawn(name, Box::new(main));
        match handle {
            Ok(handle) => core.started(thread, handle),
            Err(error) => {
                core.never_started(thread);
                return Err(error);
            }
        }
        let join = SimJoin { core: core.clone(), thread };
        current.pause(Location::caller(), false);
        Ok(JoinHandle::new(name, Box::new(join)))
    }
}

/// Waits for a simulated thread.
struct SimJoin {
    core: Arc<Core>,
    thread: usize,
}

impl Join for SimJoin {
    fn join(self: Box<Self>) -> Result<(), Box<dyn Any + Send>> {
        let key = thread_key(self.thread);
        while !self.core.is_finished(self.thread) {
            let Some(scheduler) = simulation::current() else {
                panic!("a simulated thread that still runs is joined outside of its simulation");
            };
            if scheduler.block(key, None, Location::caller()) == Woken::Aborted {
                simulation::unwind_aborted();
            }
        }
        self.core.take_panic(self.thread).map_or(Ok(()), Err)
    }

    fn is_finished(&self) -> bool {
        self.core.is_finished(self.thread)
    }
}

/// What those wait for who join `thread`.
pub(super) fn thread_key(thread: usize) -> WaitKey {
    WaitKey { kind: WaitKind::Thread, address: thread }
}

/// One thread's link to its scheduler.
pub(super) struct SimThread {
    core: Arc<Core>,
    thread: usize,
}

impl SimThread {
    pub(super) fn new(core: &Arc<Core>, thread: usize) -> Arc<SimThread> {
        Arc::new(SimThread { core: core.clone(), thread })
    }
}

impl Scheduler for SimThread {
    fn pause(&self, at: &'static Location<'static>, spinning: bool) {
        self.core.pause(self.thread, at, spinning);
    }

    fn block(&self, on: WaitKey, timeout: Option<Duration>, at: &'static Location<'static>) -> Woken {
        self.core.block(self.thread, on, timeout, at)
    }

    fn wake(&self, on: WaitKey, all: bool) {
        self.core.wake(on, all);
    }
}

/// The calling thread is simulated as long as this lives.
pub(super) struct Membership {
    _entered: Entered,
}

impl Membership {
    pub(super) fn enter(thread: Arc<SimThread>) -> Membership {
        CURRENT.with(|current| *current.borrow_mut() = Some(thread.clone()));
        Membership { _entered: simulation::enter(thread) }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        CURRENT.with(|current| current.borrow_mut().take());
    }
}
