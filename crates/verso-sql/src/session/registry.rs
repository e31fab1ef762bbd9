//! Who is connected, what they are doing, and what ends it: cancel, terminate, timeouts.
//!
//! ```text
//! session thread ──stores──► SessionInfo ◄──reads── pg_stat_activity
//!                   deadline │        ▲ cancel, terminate
//!                            ▼        │
//!                     timer thread, one for the instance, looks every few milliseconds
//! ```
//!
//! G1. A statement costs a session a few stores into memory of its own: no lock is shared, and the timer thread exists
//!     only once a session has set a timeout.
//! G2. A session that is to end is told through its flag, and through the hook of whoever owns it if it is idle: only
//!     the owner can undo its transaction.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use verso_env::Env;
use verso_storage::CancelHandle;

use super::identity::{Identity, Terminate};
use crate::errors::{SqlError, sqlstate};

/// How often the timer looks.
const TICK: Duration = Duration::from_millis(5);
/// No deadline.
const NEVER: u64 = u64::MAX;

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    Idle,
    Active,
    IdleInTransaction,
    IdleInFailedTransaction,
}

impl Activity {
    /// As `pg_stat_activity` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Activity::Idle => "idle",
            Activity::Active => "active",
            Activity::IdleInTransaction => "idle in transaction",
            Activity::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// Why a statement was cancelled or a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    User = 1,
    StatementTimeout,
    TransactionTimeout,
    IdleInTransactionTimeout,
    Administrator,
}

impl Reason {
    fn from_u8(number: u8) -> Option<Reason> {
        [
            Reason::User,
            Reason::StatementTimeout,
            Reason::TransactionTimeout,
            Reason::IdleInTransactionTimeout,
            Reason::Administrator,
        ]
        .into_iter()
        .find(|reason| *reason as u8 == number)
    }

    /// Whether the session ends with it.
    fn ends_session(self) -> bool {
        !matches!(self, Reason::User | Reason::StatementTimeout)
    }

    /// What the client is told.
    pub(crate) fn error(self) -> SqlError {
        let (code, text) = match self {
            Reason::User => (sqlstate::QUERY_CANCELED, "canceling statement due to user request"),
            Reason::StatementTimeout => {
                (sqlstate::QUERY_CANCELED, "canceling statement due to statement timeout")
            }
            Reason::TransactionTimeout => {
                (sqlstate::TRANSACTION_TIMEOUT, "terminating connection due to transaction timeout")
            }
            Reason::IdleInTransactionTimeout => (
                sqlstate::IDLE_IN_TRANSACTION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            ),
            Reason::Administrator => {
                (sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
            }
        };
        SqlError::new(code, text)
    }
}

/// A session as others see it.
pub(crate) struct SessionInfo {
    pub(crate) number: u64,
    pub(crate) connected: i64,
    /// Ends what runs or waits for a lock.
    handle: CancelHandle,
    /// A [`Reason`], 0 for none.
    reason: AtomicU8,
    activity: AtomicU8,
    pub(crate) statement: Mutex<Arc<str>>,
    pub(crate) application: Mutex<Arc<str>>,
    pub(crate) identity: Mutex<Identity>,
    /// Microseconds since 2000; 0 for none.
    pub(crate) statement_started: AtomicI64,
    pub(crate) transaction_started: AtomicI64,
    pub(crate) changed: AtomicI64,
    /// When the statement, or the idle transaction, has lasted too long; nanoseconds of the monotonic clock.
    deadline: AtomicU64,
    /// The same for the transaction.
    transaction_deadline: AtomicU64,
    hook: Mutex<Option<Terminate>>,
}

impl std::fmt::Debug for SessionInfo {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SessionInfo").field("number", &self.number).finish_non_exhaustive()
    }
}

impl SessionInfo {
    /// Looked at by running statements.
    #[inline]
    pub(crate) fn cancel_flag(&self) -> &AtomicBool {
        self.handle.flag()
    }

    pub(crate) fn activity(&self) -> Activity {
        match self.activity.load(Ordering::Relaxed) {
            1 => Activity::Active,
            2 => Activity::IdleInTransaction,
            3 => Activity::IdleInFailedTransaction,
            _ => Activity::Idle,
        }
    }

    /// The session now does this.
    pub(crate) fn set_activity(&self, activity: Activity, now: i64) {
        self.activity.store(activity as u8, Ordering::Relaxed);
        self.changed.store(now, Ordering::Relaxed);
    }

    /// Ends what runs for this reason; a weaker reason does not replace one that ends the session.
    pub(crate) fn interrupt(&self, reason: Reason) {
        let known = Reason::from_u8(self.reason.load(Ordering::Relaxed));
        if known.is_none_or(|known| !known.ends_session()) {
            self.reason.store(reason as u8, Ordering::Relaxed);
        }
        self.handle.cancel();
        if reason.ends_session()
            && self.activity() != Activity::Active
            && let Some(hook) = &*self.hook.lock()
        {
            hook();
        }
    }

    /// Why the session was interrupted.
    pub(crate) fn reason(&self) -> Reason {
        Reason::from_u8(self.reason.load(Ordering::Relaxed)).unwrap_or(Reason::User)
    }

    /// The reason for which the session is to end.
    pub(crate) fn ending(&self) -> Option<Reason> {
        Reason::from_u8(self.reason.load(Ordering::Relaxed)).filter(|reason| reason.ends_session())
    }

    /// Forgets a cancel that came when nothing ran; one that ends the session stays.
    #[inline]
    pub(crate) fn clear(&self) {
        if self.cancel_flag().load(Ordering::Relaxed) && self.ending().is_none() {
            self.reason.store(0, Ordering::Relaxed);
            self.handle.reset();
        }
    }

    /// From when on the statement, or the idle transaction, is too late.
    pub(crate) fn set_deadline(&self, deadline: Option<u64>) {
        self.deadline.store(deadline.unwrap_or(NEVER), Ordering::Relaxed);
    }

    /// From when on the transaction is too late.
    pub(crate) fn set_transaction_deadline(&self, deadline: Option<u64>) {
        self.transaction_deadline.store(deadline.unwrap_or(NEVER), Ordering::Relaxed);
    }

    /// Whom to tell when the idle session is to end.
    pub(crate) fn set_hook(&self, hook: Option<Terminate>) {
        *self.hook.lock() = hook;
    }

    /// Interrupts what is too late.
    fn look(&self, now: u64) {
        if self.transaction_deadline.load(Ordering::Relaxed) <= now {
            self.set_transaction_deadline(None);
            self.interrupt(Reason::TransactionTimeout);
        }
        if self.deadline.load(Ordering::Relaxed) <= now {
            self.set_deadline(None);
            match self.activity() {
                Activity::Active => self.interrupt(Reason::StatementTimeout),
                Activity::Idle => {}
                Activity::IdleInTransaction | Activity::IdleInFailedTransaction => {
                    self.interrupt(Reason::IdleInTransactionTimeout);
                }
            }
        }
    }
}

/// The sessions of an instance.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    sessions: Mutex<BTreeMap<u64, Arc<SessionInfo>>>,
    next: AtomicU64,
    timer: AtomicBool,
}

impl Registry {
    /// A number for one more session.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a session.
    pub(crate) fn add(&self, number: u64, connected: i64, handle: CancelHandle) -> Arc<SessionInfo> {
        let info = Arc::new(SessionInfo {
            number,
            connected,
            handle,
            reason: AtomicU8::new(0),
            activity: AtomicU8::new(Activity::Idle as u8),
            statement: Mutex::new("".into()),
            application: Mutex::new("".into()),
            identity: Mutex::default(),
            statement_started: AtomicI64::new(0),
            transaction_started: AtomicI64::new(0),
            changed: AtomicI64::new(connected),
            deadline: AtomicU64::new(NEVER),
            transaction_deadline: AtomicU64::new(NEVER),
            hook: Mutex::new(None),
        });
        self.sessions.lock().insert(number, Arc::clone(&info));
        info
    }

    pub(crate) fn remove(&self, number: u64) {
        self.sessions.lock().remove(&number);
    }

    pub(crate) fn find(&self, number: u64) -> Option<Arc<SessionInfo>> {
        self.sessions.lock().get(&number).cloned()
    }

    /// All sessions, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<SessionInfo>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// How many sessions there are.
    pub(crate) fn len(&self) -> usize {
        self.sessions.lock().len()
    }

    /// Starts the timer unless it runs; it ends when the registry has gone.
    pub(crate) fn start_timer(self: &Arc<Self>, env: &Env) {
        if self.timer.swap(true, Ordering::Relaxed) {
            return;
        }
        let registry = Arc::downgrade(self);
        let clock = Arc::clone(&env.clock);
        let body = move || {
            while let Some(registry) = Weak::upgrade(&registry) {
                let now = clock.monotonic_nanos();
                registry.all().iter().for_each(|session| session.look(now));
                drop(registry);
                clock.sleep(TICK);
            }
        };
        if env.threads.try_spawn("verso-timer", Box::new(body)).is_err() {
            // Without the thread nothing is late; the next session to set a timeout tries again.
            self.timer.store(false, Ordering::Relaxed);
        }
    }
}
