//! The hook by which a simulation takes over locks, waits and thread switches.
//!
//! `verso-sim` implements [`Scheduler`] and registers it on each of its threads with [`enter`]. The locks of
//! [`crate::sync`] ask [`is_running`] first, a relaxed load of a static, and only then look at the thread-local.
//!
//! S1. A thread belongs to at most one scheduler; objects in [`crate::sync`] that simulated threads use are not
//!     shared with threads outside of their simulation while it runs.
//! S2. Between two calls into its scheduler a simulated thread runs alone among its peers.
//! S3. A scheduler never unwinds out of [`Scheduler::block`]; it answers [`Woken::Aborted`] and the lock decides.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Number of threads that belong to a simulation now.
static SIMULATED_THREAD_COUNT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SCHEDULER: RefCell<Option<Arc<dyn Scheduler>>> = const { RefCell::new(None) };
}

/// What a blocked thread waits for; the address is an identity only, never an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitKey {
    /// Kind of the object, for the deadlock report.
    pub kind: WaitKind,
    /// Address of the object, or 0.
    pub address: usize,
}

/// Kinds of things a thread can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitKind {
    /// A locked mutex.
    Mutex,
    /// A locked reader-writer lock.
    RwLock,
    /// A notification.
    Condvar,
    /// The end of a thread; its number takes the address's place.
    Thread,
    /// The passing of time only.
    Sleep,
}

/// Why [`Scheduler::block`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Somebody called [`Scheduler::wake`]; the condition has to be checked again.
    Notified,
    /// The time given has passed.
    TimedOut,
    /// The simulation is over (a deadlock, a failed thread): the caller shall unwind.
    Aborted,
}

/// Decides which simulated thread runs next. Called on simulated threads only.
pub trait Scheduler: Send + Sync {
    /// A point where another thread may run first. `spinning`: the caller cannot proceed alone, so others go first.
    /// Unwinds with [`Abort`] when the simulation is over, unless the thread unwinds already.
    fn pause(&self, at: &'static Location<'static>, spinning: bool);

    /// Blocks until `wake` with the same key or until `timeout`, and lets others run.
    fn block(&self, on: WaitKey, timeout: Option<Duration>, at: &'static Location<'static>) -> Woken;

    /// Makes one (which one, the seed decides) or all threads blocked on `on` runnable; does not switch.
    fn wake(&self, on: WaitKey, all: bool);
}

/// Registers `scheduler` as that of the calling thread until the guard is dropped.
///
/// # Panics
/// When the thread has one already.
#[must_use]
pub fn enter(scheduler: Arc<dyn Scheduler>) -> Entered {
    SCHEDULER.with(|slot| {
        let mut slot = slot.borrow_mut();
        assert!(slot.is_none(), "a thread belongs to one simulation");
        *slot = Some(scheduler);
    });
    SIMULATED_THREAD_COUNT.fetch_add(1, Ordering::SeqCst);
    Entered { _not_send: std::marker::PhantomData }
}

/// The calling thread's membership in a simulation.
pub struct Entered {
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        SIMULATED_THREAD_COUNT.fetch_sub(1, Ordering::SeqCst);
        SCHEDULER.with(|slot| slot.borrow_mut().take());
    }
}

/// Whether any thread of this process is simulated; one relaxed load. A simulated thread always sees `true`,
/// because it counted itself.
#[inline]
pub fn is_running() -> bool {
    SIMULATED_THREAD_COUNT.load(Ordering::Relaxed) != 0
}

/// The calling thread's scheduler, if it is a simulated thread.
#[inline]
pub fn current() -> Option<Arc<dyn Scheduler>> {
    if is_running() { current_slow() } else { None }
}

/// Out of line: only processes that simulate come here.
#[cold]
#[inline(never)]
fn current_slow() -> Option<Arc<dyn Scheduler>> {
    SCHEDULER.try_with(|slot| slot.borrow().clone()).ok().flatten()
}

/// Payload of the panic by which an aborted simulation unwinds its threads.
#[derive(Debug)]
pub struct Abort;

/// Unwinds the calling thread of an aborted simulation, without a message; does nothing if it unwinds already.
pub fn unwind_aborted() {
    if !std::thread::panicking() {
        std::panic::resume_unwind(Box::new(Abort));
    }
}
