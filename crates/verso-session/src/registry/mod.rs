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
//!     the owner can undo its transaction. One whose statement ends at that moment calls the hook itself: the reason is
//!     stored before the other looks what the session does, and the session says what it does before it looks for a reason.
//! G3. A deadline is for one statement, one time of idling or one transaction: it is looked at, acted upon and replaced
//!     under a lock, so that none hits what comes after.

mod identity;
mod long;
pub(crate) mod waits;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use verso_env::{Clock, Env};
use verso_storage::{CancelHandle as Cancel, Isolation, Lsn, Waited};

use crate::cluster::Member;
use verso_planner::errors::{SqlError, sqlstate};

pub(crate) use identity::backend_id;
pub use identity::{Encryption, Identity, Terminate};
pub(crate) use long::{LongAction, LongTransactions};
pub(crate) use waits::Waits;

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
    /// All of them.
    pub(crate) const ALL: [Activity; 4] =
        [Activity::Idle, Activity::Active, Activity::IdleInTransaction, Activity::IdleInFailedTransaction];

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
    IdleSessionTimeout,
    Administrator,
    /// The transaction spans too much log; only the statement ends.
    LongTransaction,
    /// The same; the session ends.
    LongTransactionEnds,
    /// Its snapshot is older than snapshots may be; only the statement ends.
    OldSnapshot,
    /// The same; the session ends.
    OldSnapshotEnds,
}

impl Reason {
    fn from_u8(number: u8) -> Option<Reason> {
        [
            Reason::User,
            Reason::StatementTimeout,
            Reason::TransactionTimeout,
            Reason::IdleInTransactionTimeout,
            Reason::IdleSessionTimeout,
            Reason::Administrator,
            Reason::LongTransaction,
            Reason::LongTransactionEnds,
            Reason::OldSnapshot,
            Reason::OldSnapshotEnds,
        ]
        .into_iter()
        .find(|reason| *reason as u8 == number)
    }

    /// Whether the session ends with it.
    fn ends_session(self) -> bool {
        !matches!(
            self,
            Reason::User | Reason::StatementTimeout | Reason::LongTransaction | Reason::OldSnapshot
        )
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
            Reason::IdleSessionTimeout => {
                (sqlstate::IDLE_SESSION_TIMEOUT, "terminating connection due to idle-session timeout")
            }
            Reason::Administrator => {
                (sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
            }
            Reason::LongTransaction => {
                ("53400", "canceling statement because its transaction spans more log than long_tx_wal_limit")
            }
            Reason::LongTransactionEnds => (
                "53400",
                "terminating connection because its transaction spans more log than long_tx_wal_limit",
            ),
            Reason::OldSnapshot => (
                sqlstate::SNAPSHOT_TOO_OLD,
                "canceling statement because its snapshot is older than max_snapshot_age",
            ),
            Reason::OldSnapshotEnds => (
                sqlstate::SNAPSHOT_TOO_OLD,
                "terminating connection because its snapshot is older than max_snapshot_age",
            ),
        };
        SqlError::new(code, text)
    }
}

/// A session as others see it, on cache lines of its own: it changes with every statement.
#[repr(align(128))]
pub(crate) struct SessionInfo {
    pub(crate) number: u64,
    /// The database that it is connected to.
    pub(crate) member: Arc<Member>,
    pub(crate) connected: i64,
    /// Ends what runs or waits for a lock.
    handle: Cancel,
    /// A [`Reason`], 0 for none.
    reason: AtomicU8,
    /// The transaction whose next statement is cancelled, as it idled when that was decided: where its log begins; 0 for none.
    owes_cancel: AtomicU64,
    activity: AtomicU8,
    /// Workers that its statement has beside its own thread.
    pub(crate) workers: AtomicU32,
    /// Since when a commit waits for the disk, in the session's own thread or because its answer is held back: nanoseconds of
    /// the monotonic clock, 0 if none does.
    flushes_since: AtomicU64,
    /// What it has waited for.
    pub(crate) waits: Waits,
    clock: Arc<dyn Clock>,
    pub(crate) statement: Mutex<Arc<str>>,
    /// The number of that statement; 0 for none.
    pub(crate) query_id: AtomicI64,
    pub(crate) application: Mutex<Arc<str>>,
    pub(crate) identity: Mutex<Identity>,
    /// Microseconds since 2000; 0 for none.
    pub(crate) statement_started: AtomicI64,
    pub(crate) transaction_started: AtomicI64,
    /// How many transactions it has begun.
    pub(crate) transactions: AtomicU64,
    pub(crate) changed: AtomicI64,
    deadlines: Mutex<Deadlines>,
    hook: Mutex<Option<Terminate>>,
}

/// When something has lasted too long; nanoseconds of the monotonic clock (G3).
#[derive(Clone, Copy, Debug)]
struct Deadlines {
    statement: u64,
    /// Idling in a transaction.
    idle: u64,
    /// Idling outside of one.
    waiting: u64,
    transaction: u64,
}

impl Deadlines {
    /// What has lasted too long; it is told once.
    fn late(&mut self, now: u64) -> Option<Reason> {
        let deadlines = [
            (&mut self.transaction, Reason::TransactionTimeout),
            (&mut self.idle, Reason::IdleInTransactionTimeout),
            (&mut self.waiting, Reason::IdleSessionTimeout),
            (&mut self.statement, Reason::StatementTimeout),
        ];
        let (late, reason) = deadlines.into_iter().find(|(deadline, _)| **deadline <= now)?;
        *late = NEVER;
        Some(reason)
    }
}

impl std::fmt::Debug for SessionInfo {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SessionInfo").field("number", &self.number).finish_non_exhaustive()
    }
}

impl SessionInfo {
    /// Looked at by running statements.
    #[inline]
    pub(crate) fn cancel_flag(&self) -> &Arc<AtomicBool> {
        self.handle.flag()
    }

    pub(crate) fn activity(&self) -> Activity {
        match self.activity.load(Ordering::SeqCst) {
            1 => Activity::Active,
            2 => Activity::IdleInTransaction,
            3 => Activity::IdleInFailedTransaction,
            _ => Activity::Idle,
        }
    }

    /// The session now does this.
    pub(crate) fn set_activity(&self, activity: Activity, now: i64) {
        self.activity.store(activity as u8, Ordering::SeqCst);
        self.changed.store(now, Ordering::Relaxed);
    }

    /// The session now runs a statement. Who does not see that yet calls the hook in vain (G2), as if it had been earlier.
    #[inline]
    pub(crate) fn set_active(&self, now: i64) {
        self.activity.store(Activity::Active as u8, Ordering::Release);
        self.changed.store(now, Ordering::Relaxed);
    }

    /// Whether a commit of the session waits for the disk from now on.
    #[inline]
    pub(crate) fn set_flushing(&self, flushes: bool) {
        let since = self.flushes_since.load(Ordering::Relaxed);
        if flushes == (since > 0) {
            return;
        }
        let now = self.clock.monotonic_nanos();
        let since = if flushes { now.max(1) } else { 0 };
        let began = self.flushes_since.swap(since, Ordering::Relaxed);
        if began > 0 {
            let nanos = now.saturating_sub(began);
            self.waits.flush.took(nanos);
            self.member.waits().flush.took(nanos);
        }
    }

    /// A wait for a share of the machine is over.
    pub(crate) fn queued(&self, nanos: u64) {
        self.waits.queue.took(nanos);
        self.member.waits().queue.took(nanos);
    }

    /// Since when it has the snapshot that its transaction reads under, in microseconds since 2000. At READ COMMITTED a snapshot
    /// is its statement's.
    pub(crate) fn snapshot_since(&self, isolation: Isolation) -> Option<i64> {
        let since = match isolation.by_statement() {
            true if self.activity() != Activity::Active => return None,
            true => &self.statement_started,
            false => &self.transaction_started,
        };
        Some(since.load(Ordering::Relaxed)).filter(|since| *since != 0)
    }

    /// How it has waited for locks.
    pub(crate) fn lock_waits(&self) -> &Waited {
        self.handle.waited()
    }

    /// Whether a commit of the session waits for the disk.
    pub(crate) fn is_flushing(&self) -> bool {
        self.flushes_since.load(Ordering::Relaxed) > 0
    }

    /// Waits for the disk by `wait`, and lets others see that meanwhile.
    pub(crate) fn flushing<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.set_flushing(true);
        let done = wait();
        self.set_flushing(false);
        done
    }

    /// Ends what runs for this reason; a weaker reason does not replace one that ends the session.
    pub(crate) fn interrupt(&self, reason: Reason) {
        self.mark(reason);
        if reason.ends_session() && self.activity() != Activity::Active {
            self.tell();
        }
    }

    /// The next statement of the transaction whose log begins there is to be cancelled.
    pub(crate) fn cancel_next(&self, first: Lsn) {
        self.owes_cancel.store(first.0, Ordering::SeqCst);
    }

    /// The transaction of which that was asked, once.
    #[inline]
    pub(crate) fn take_cancel_next(&self) -> Option<Lsn> {
        if self.owes_cancel.load(Ordering::Relaxed) == 0 {
            return None;
        }
        Some(Lsn(self.owes_cancel.swap(0, Ordering::SeqCst)))
    }

    /// Stores the reason and cancels what runs.
    fn mark(&self, reason: Reason) {
        self.replace_reason(reason as u8);
        self.handle.cancel();
    }

    /// Another reason, or none, in place of one that does not end the session; whether it took the place.
    fn replace_reason(&self, new: u8) -> bool {
        let replaces = |old| Reason::from_u8(old).is_none_or(|old| !old.ends_session()).then_some(new);
        self.reason.fetch_update(Ordering::SeqCst, Ordering::SeqCst, replaces).is_ok()
    }

    /// Tells the owner of the idle session that it is to end.
    pub(crate) fn tell(&self) {
        let hook = self.hook.lock().clone();
        if let Some(hook) = hook {
            hook();
        }
    }

    /// Why the session was interrupted.
    pub(crate) fn reason(&self) -> Reason {
        Reason::from_u8(self.reason.load(Ordering::SeqCst)).unwrap_or(Reason::User)
    }

    /// The reason for which the session is to end.
    #[inline]
    pub(crate) fn ending(&self) -> Option<Reason> {
        Reason::from_u8(self.reason.load(Ordering::SeqCst)).filter(|reason| reason.ends_session())
    }

    /// Forgets a cancel that came when nothing ran; one that ends the session stays.
    #[inline]
    pub(crate) fn clear(&self) {
        if self.cancel_flag().load(Ordering::Relaxed) && self.replace_reason(0) {
            self.handle.reset();
            std::sync::atomic::fence(Ordering::SeqCst);
            if self.ending().is_some() {
                self.handle.cancel(); // it came in between
            }
        }
    }

    /// A statement begins that is to end by then; a cancel of what was before it is to be cleared after this (G3).
    pub(crate) fn start_statement(&self, deadline: Option<u64>) {
        let mut deadlines = self.deadlines.lock();
        deadlines.statement = deadline.unwrap_or(NEVER);
        deadlines.idle = NEVER;
        deadlines.waiting = NEVER;
    }

    /// The statement ends; its transaction, or the session if it has none, may idle until then.
    pub(crate) fn end_statement(&self, idle: Option<u64>, in_transaction: bool) {
        let mut deadlines = self.deadlines.lock();
        deadlines.statement = NEVER;
        let until = idle.unwrap_or(NEVER);
        (deadlines.idle, deadlines.waiting) = if in_transaction { (until, NEVER) } else { (NEVER, until) };
    }

    /// The setting has changed within a transaction: a deadline that there is stays, unless none is wanted any more.
    pub(crate) fn change_transaction_deadline(&self, deadline: Option<u64>) {
        let known = &mut self.deadlines.lock().transaction;
        *known = deadline.map_or(NEVER, |deadline| if *known == NEVER { deadline } else { *known });
    }

    /// From when on the transaction is too late.
    pub(crate) fn set_transaction_deadline(&self, deadline: Option<u64>) {
        self.deadlines.lock().transaction = deadline.unwrap_or(NEVER);
    }

    /// Whom to tell when the idle session is to end.
    pub(crate) fn set_hook(&self, hook: Option<Terminate>) {
        *self.hook.lock() = hook;
    }

    /// Interrupts what is too late.
    fn look(&self, now: u64) {
        let late = {
            let mut deadlines = self.deadlines.lock();
            let late = deadlines.late(now);
            late.inspect(|reason| self.mark(*reason))
        };
        // The owner may take deadlines back when it hears of it: not under their lock.
        if late.is_some_and(Reason::ends_session) && self.activity() != Activity::Active {
            self.tell();
        }
    }
}

/// Cancels what a session is doing, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle {
    pub(crate) info: Arc<SessionInfo>,
}

impl CancelHandle {
    /// The statement that runs now ends with 57014, also while it waits for a lock; without one nothing happens.
    pub fn cancel(&self) {
        self.info.interrupt(Reason::User);
    }

    /// The session ends: what runs is cancelled, the transaction rolled back, and every further call says 57P01.
    pub fn terminate(&self) {
        self.info.interrupt(Reason::Administrator);
    }

    /// Whether the session is to end, for whatever reason.
    pub fn is_ending(&self) -> bool {
        self.info.ending().is_some()
    }
}

/// The sessions of a server, whatever database they are connected to; those of a program that has one open.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    sessions: Mutex<BTreeMap<u64, Arc<SessionInfo>>>,
    next: AtomicU64,
    timer: AtomicBool,
    /// What the timer looks at besides: it belongs to the databases.
    watches: Mutex<Vec<Weak<LongTransactions>>>,
}

impl Registry {
    /// Has the timer look at transactions of a database, too.
    pub(crate) fn watch(self: &Arc<Self>, env: &Env, watch: &Arc<LongTransactions>) {
        let mut watches = self.watches.lock();
        watches.retain(|known| known.strong_count() > 0);
        if !watches.iter().any(|known| known.as_ptr() == Arc::as_ptr(watch)) {
            watches.push(Arc::downgrade(watch));
        }
        drop(watches);
        self.start_timer(env);
    }

    /// A number for one more session.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a session.
    pub(crate) fn add(
        &self,
        number: u64,
        member: &Arc<Member>,
        connected: i64,
        handle: Cancel,
        clock: &Arc<dyn Clock>,
    ) -> Arc<SessionInfo> {
        member.sessions.fetch_add(1, Ordering::Relaxed);
        let info = Arc::new(SessionInfo {
            number,
            member: Arc::clone(member),
            connected,
            handle,
            reason: AtomicU8::new(0),
            owes_cancel: AtomicU64::new(0),
            activity: AtomicU8::new(Activity::Idle as u8),
            workers: AtomicU32::new(0),
            flushes_since: AtomicU64::new(0),
            waits: Waits::default(),
            clock: Arc::clone(clock),
            statement: Mutex::new("".into()),
            query_id: AtomicI64::new(0),
            transactions: AtomicU64::new(0),
            application: Mutex::new("".into()),
            identity: Mutex::default(),
            statement_started: AtomicI64::new(0),
            transaction_started: AtomicI64::new(0),
            changed: AtomicI64::new(connected),
            deadlines: Mutex::new(Deadlines {
                statement: NEVER,
                idle: NEVER,
                waiting: NEVER,
                transaction: NEVER,
            }),
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

    /// The sessions of a database, oldest first.
    pub(crate) fn of(&self, member: &Member) -> Vec<Arc<SessionInfo>> {
        let mut own = self.all();
        own.retain(|info| info.member.number() == member.number());
        own
    }

    /// How many sessions run a statement now on their own thread alone.
    pub(crate) fn active_alone(&self) -> usize {
        let alone = |session: &SessionInfo| {
            session.activity() == Activity::Active && session.workers.load(Ordering::Relaxed) == 0
        };
        self.sessions.lock().values().filter(|session| alone(session)).count()
    }

    /// How many sessions have run a statement on their own thread alone since a moment, in microseconds since 2000, or run one now.
    pub(crate) fn alone_since(&self, moment: i64) -> usize {
        let alone = |session: &SessionInfo| {
            let lately = || session.changed.load(Ordering::Relaxed) >= moment;
            session.workers.load(Ordering::Relaxed) == 0
                && (session.activity() == Activity::Active || lately())
        };
        self.sessions.lock().values().filter(|session| alone(session)).count()
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
                let watches: Vec<_> = registry.watches.lock().iter().filter_map(Weak::upgrade).collect();
                watches.iter().for_each(|watch| watch.look(&registry));
                drop(watches);
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
