//! Moments of a session: now, and when its statement and its transaction began.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use verso_env::Clock;

/// Microseconds from 1970 to 2000, PostgreSQL's epoch.
pub(crate) const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// The clock of a session. Moments are microseconds since 2000.
pub(crate) struct Clocks {
    clock: Arc<dyn Clock>,
    /// Shared with the settings, which read `now` in texts.
    transaction_started: Arc<AtomicI64>,
    statement_started: Cell<i64>,
    /// When the statement begins that is read now.
    foreseen: Cell<Option<i64>>,
}

impl Clocks {
    /// Of a session that begins.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Clocks {
        let now = clock.unix_micros() - EPOCH_MICROS;
        Clocks {
            clock,
            transaction_started: Arc::new(AtomicI64::new(now)),
            statement_started: Cell::new(now),
            foreseen: Cell::new(None),
        }
    }

    /// A text is read whose first statement begins a transaction: what `now` means in its literals is when that begins.
    pub(crate) fn foresee(&self) {
        let now = self.now();
        self.foreseen.set(Some(now));
        self.transaction_started.store(now, Ordering::Relaxed);
    }

    /// No statement follows any more.
    pub(crate) fn forget_foreseen(&self) {
        self.foreseen.set(None);
    }

    /// Literals or parameters are read outside of a transaction.
    pub(crate) fn read_outside(&self) {
        // Where the statement is foreseen that they belong to, they mean its beginning.
        if self.foreseen.get().is_none() {
            self.transaction_started.store(self.now_rough(), Ordering::Relaxed);
        }
    }

    /// When the transaction began.
    #[inline]
    pub(crate) fn transaction_started(&self) -> i64 {
        self.transaction_started.load(Ordering::Relaxed)
    }

    /// The same, for what outlives a call.
    pub(crate) fn transaction_clock(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.transaction_started)
    }

    /// The moment.
    pub(crate) fn now(&self) -> i64 {
        self.clock.unix_micros() - EPOCH_MICROS
    }

    /// The moment or a few milliseconds before it, cheaper to be had.
    #[inline]
    pub(crate) fn now_rough(&self) -> i64 {
        self.clock.unix_micros_rough() - EPOCH_MICROS
    }

    /// For durations.
    pub(crate) fn nanos(&self) -> u64 {
        self.clock.monotonic_nanos()
    }

    /// When so many milliseconds from now have passed; never for 0.
    pub(crate) fn deadline(&self, timeout_ms: u64) -> Option<u64> {
        let now = self.clock.monotonic_nanos();
        (timeout_ms > 0).then(|| now.saturating_add(timeout_ms.saturating_mul(1_000_000)))
    }

    /// A statement begins now; when that is. Roughly, where nobody will ask for the time, but not before its transaction.
    #[inline]
    pub(crate) fn start_statement(&self, rough: bool) -> i64 {
        let now = match self.foreseen.take() {
            Some(foreseen) => foreseen,
            None if rough => self.now_rough().max(self.transaction_started()),
            None => self.now(),
        };
        self.statement_started.set(now);
        now
    }

    /// When the statement began.
    #[inline]
    pub(crate) fn statement_started(&self) -> i64 {
        self.statement_started.get()
    }

    /// A transaction begins with the statement.
    pub(crate) fn start_transaction(&self) {
        self.transaction_started.store(self.statement_started.get(), Ordering::Relaxed);
    }

    /// A transaction begins within the statement, behind another one; when that is, roughly.
    pub(crate) fn restart_transaction(&self) -> i64 {
        let now = self.now_rough().max(self.transaction_started());
        self.transaction_started.store(now, Ordering::Relaxed);
        now
    }

    /// The end of the statement, told roughly, and not before its beginning.
    #[inline]
    pub(crate) fn end_statement(&self) -> i64 {
        self.now_rough().max(self.statement_started.get())
    }
}

impl verso_exec::context::Clock for Clocks {
    fn transaction_timestamp(&self) -> i64 {
        self.transaction_started()
    }

    fn statement_timestamp(&self) -> i64 {
        self.statement_started.get()
    }

    fn clock_timestamp(&self) -> i64 {
        self.now()
    }
}
