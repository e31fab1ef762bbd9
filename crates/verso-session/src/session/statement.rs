//! What goes around every statement, whatever it is: clocks, what other sessions see of it, its failure, its messages.
//!
//! ```text
//! begin_work ─► dispatch ─┬──────────────► end_work ─► notices
//!                         └─► fail_work ──┘
//! ```
//!
//! 1. Between [`Session::begin_work`] and [`Session::end_work`] others see the session active, with the statement's text,
//!    and may cancel it.
//! 2. A session that is to end starts no further statement, and gives up its transaction.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Ending, Session};
use crate::client::StatementSink;
use crate::plans::{Done, Job};
use crate::plans::{Prepared, ends_transaction};
use crate::registry::{Activity, Reason};
use crate::session::measure::Measure;
use crate::transaction::{Block, TransactionStatus};
use verso_env::recursion::Cancellable;
use verso_parser::syntax::Statement;
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Runs a statement of a text and tells the sink how it ended.
    pub(crate) fn one(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<(), SqlError> {
        let epoch = self.services.settings.epoch();
        let done = self.perform(job, sink)?;
        if self.services.settings.epoch() != epoch {
            sink.time_zone(&self.services.settings.time_zone);
        }
        sink.complete(&done.into_tag())
    }

    /// Runs a statement; with all that goes around it.
    pub(crate) fn perform(&mut self, job: &Job<'_>, sink: &mut dyn StatementSink) -> Result<Done, SqlError> {
        self.begin_work(job)?;
        self.tell_begin(job);
        let slow = self.slow_start();
        let counts = *job.statement != Statement::ShowStatementStatistics;
        let measures = counts && self.services.settings.statement_statistics;
        let measure = measures.then(|| Measure::start(&self.services));
        let tracking = self.track(job);
        let mut result =
            self.contained(|session| session.check_owed(job).and_then(|()| session.dispatch(job, sink)));
        if result.is_ok() && job.ends {
            result = self.end_series().and(result);
        }
        // Also where the rest has failed: what was committed before the client will find.
        if let Err(error) = self.pay() {
            result = Err(error);
        }
        if let Err(error) = &mut result {
            self.fail_work(error);
        }
        if counts {
            self.measures.count(result.as_ref().map_or(0, Done::rows));
        }
        if let (Some(tracking), Ok(done)) = (tracking, &result) {
            self.tracked(job, &tracking, done.rows(), 1);
        }
        if let Some(measure) = measure {
            measure.finish(&mut self.measures, &self.services);
        }
        self.tell_slow(job, slow);
        self.end_work();
        let notices = self.services.send_notices(sink);
        if self.services.memory.held_much() {
            verso_env::memory::give_back(self.services.clocks.nanos());
        }
        if self.services.memory.held_some() {
            // Who called us frees more.
            verso_env::memory::give_back_later();
        }
        notices?;
        result
    }

    /// While the result lives, binding and planning on this thread end with the statement that they are for.
    pub(crate) fn cancellable(&self) -> Cancellable {
        Cancellable::by(Arc::clone(self.services.info.cancel_flag()))
    }

    /// Runs part of a statement. A panic in it is an error of the statement, which fails its transaction: whatever was
    /// half done there goes with it. (Within a mini-transaction it has closed the engine, as every half of one does.)
    pub(crate) fn contained<T>(
        &mut self,
        work: impl FnOnce(&mut Session) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let _cancellable = self.cancellable();
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(result) => result,
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                // Operators that were stopped in between are not used again.
                self.plans.ready = RefCell::default();
                Err(SqlError::internal(format!("the statement failed by a bug of the server: {text}")))
            }
        }
    }

    /// Tells others what the session does now, and starts its clocks.
    pub(crate) fn begin_work(&mut self, job: &Job<'_>) -> Result<(), SqlError> {
        self.check_ending()?;
        self.settle()?;
        self.services.acting.set(None);
        // What follows another statement in its transaction may hold locks that others wait for.
        self.services.may_queue.set(!self.transaction.is_open());
        let services = &mut self.services;
        services.memory.begin_statement(&services.settings);
        let services = &self.services;
        let info = &services.info;
        if self.is_timed {
            info.start_statement(services.clocks.deadline(services.settings.statement_timeout_ms));
        }
        info.clear();
        // What goes the short way does not ask for the time.
        let now = services.clocks.start_statement(self.may_be_direct(job));
        info.statement_started.store(now, Ordering::Relaxed);
        info.query_id.store(services.query_id(job.identity.id()), Ordering::Relaxed);
        let shared = job.prepared.filter(|_| job.shows).map(Prepared::text);
        if !shared.is_some_and(|text| Arc::ptr_eq(&self.shown, text)) {
            self.shown = shared.map_or_else(|| job.shown().into(), Arc::clone);
            *info.statement.lock() = Arc::clone(&self.shown);
        }
        info.set_active(now);
        Ok(())
    }

    /// Refuses a statement of a transaction that was to be cancelled while it idled; what ends it goes on.
    pub(crate) fn check_owed(&self, job: &Job<'_>) -> Result<(), SqlError> {
        let Some(first) = self.services.info.take_cancel_next() else { return Ok(()) };
        // Another transaction may have begun since.
        let is_it = self.transaction.active().is_some_and(|active| active.txn.borrow().first_lsn() == first);
        match is_it && !ends_transaction(job.statement) {
            true => Err(Reason::LongTransaction.error()),
            false => Ok(()),
        }
    }

    /// Refuses everything once the session is to end, and gives up its transaction.
    pub(crate) fn check_ending(&mut self) -> Result<(), SqlError> {
        let Some(reason) = self.services.info.ending() else { return Ok(()) };
        self.abandon();
        Err(reason.error())
    }

    /// Rolls the open transaction back; its error would have nobody to go to.
    pub fn abandon(&mut self) {
        if let Some(active) = self.transaction.take() {
            let _ = self.end(active, Ending::Rollback);
        }
    }

    /// After a failure: the transaction fails, and a cancel is called what it was.
    pub(crate) fn fail_work(&mut self, error: &mut SqlError) {
        // A COPY that its client breaks off has the same code, and words of its own.
        if error.sqlstate == sqlstate::QUERY_CANCELED
            && self.services.info.cancel_flag().load(Ordering::Relaxed)
        {
            let reason = self.services.info.reason().error();
            (error.sqlstate, error.message) = (reason.sqlstate, reason.message);
        }
        let kept = self.services.settings.take_kept();
        self.services.forget_asked();
        self.fail_transaction();
        // What transactions of the statement have set that had committed stays; it was accepted then.
        for change in &kept {
            let _ = self.change(change, false);
        }
        if self.services.info.ending().is_some() {
            self.abandon();
        }
    }

    /// Tells others that the statement is over, and takes its clocks back.
    pub(crate) fn end_work(&mut self) {
        let activity = match self.status() {
            TransactionStatus::Idle => Activity::Idle,
            TransactionStatus::InTransaction => Activity::IdleInTransaction,
            TransactionStatus::Failed => Activity::IdleInFailedTransaction,
        };
        let services = &self.services;
        if self.is_timed {
            let in_transaction = activity != Activity::Idle;
            let timeout = match in_transaction {
                true => services.settings.idle_in_transaction_timeout_ms,
                false => services.settings.idle_session_timeout_ms,
            };
            services.info.end_statement(services.clocks.deadline(timeout), in_transaction);
        }
        if services.grant.borrow().is_some() {
            services.grant.take();
        }
        // A statement's end is told roughly, and not before its beginning.
        let now = services.clocks.end_statement();
        services.info.set_activity(activity, now);
        // Who wanted the session to end while the statement ran left it to the session.
        if services.info.ending().is_some() {
            self.abandon();
            self.services.info.tell();
        }
    }

    /// A failed statement fails its transaction; one of its own is rolled back.
    pub(crate) fn fail_transaction(&mut self) {
        match self.transaction.take() {
            Some(mut active) if active.state.block == Block::Explicit => {
                if active.state.fail() {
                    self.undo_failed(&mut active);
                }
                self.transaction.put_back(active);
            }
            Some(active) => {
                // The error that the client gets is the statement's; a dead transaction is rolled back anyway.
                let _ = self.end(active, Ending::Rollback);
            }
            None => {}
        }
    }
}
