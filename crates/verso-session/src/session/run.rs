//! A statement within a transaction: opened, run, closed, and run again after a conflict (S1 to S3).

use std::cell::RefCell;

use verso_exec::context::TransitionsSeen;
use verso_storage::rules::{Rule, disabled};
use verso_storage::{ObjectId, StorageError, TableLockMode, Txn, WaitPolicy};
use verso_types::SqlType;
use verso_types::text::type_of;

use super::{Ending, Session};
use crate::client::{Client, Nowhere, Results, StatementSink};
use crate::constraints::{add_reserved, check_at_commit};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::framed;
use crate::plans::Prepared;
use crate::plans::{Begins, changes, changes_schema, in_read_only, maintains};
use crate::plans::{Done, Job};
use crate::services::Outgoing;
use crate::tables::explain_unique;
use crate::transaction::{Active, Block};
use crate::views::Views;
use verso_parser::syntax::{IsolationLevel, Statement};
use verso_planner::errors::{SqlError, sqlstate};

/// Times a statement of READ COMMITTED is tried again on a new snapshot. Behind these comes one more, with the tables
/// locked over which it has had conflicts.
pub(super) const RESTARTS_MAX: u32 = 5;
/// The same of one that looks names up as they are now. It has changed nothing by then, and is tried again only when others have
/// changed what it names once more.
const LOOKUPS_MAX: u32 = 100;

impl Session {
    /// Refuses a statement on databases where transactions are READ ONLY: it stands outside of them, and changes something all
    /// the same.
    pub(super) fn check_writable(&self, statement: &Statement) -> Result<(), SqlError> {
        let modes = self.transaction.state().map(|state| state.modes.read_only);
        match changes(statement) {
            Some(word) if modes.unwrap_or(self.services.settings.read_only) => Err(in_read_only(word)),
            _ => Ok(()),
        }
    }

    /// Runs a statement within the open transaction, or within one of its own that ends with it.
    pub(crate) fn transactional(
        &mut self,
        job: &Job<'_>,
        sink: &mut dyn StatementSink,
    ) -> Result<Done, SqlError> {
        // In a transaction of its own a block may end it; of several statements that are one transaction none may.
        let alone = !self.transaction.is_in_block();
        self.services.may_end.set(alone && matches!(job.statement, Statement::Do(_) | Statement::Call(_)));
        self.services.has_ended.set(false);
        // One that lets others go on for long meets what they define meanwhile, and goes on from there.
        let level = job.statement.stands_alone().map(|_| IsolationLevel::ReadCommitted);
        self.ensure_active_at(level, job.prepared.is_some_and(Prepared::only_reads))?;
        let Some(active) = self.transaction.active_mut() else {
            return Err(SqlError::internal("no transaction"));
        };
        let state = &mut active.state;
        state.pristine = false;
        let lifted = state.modes.read_only && maintains(job.statement);
        if alone && matches!(job.statement, Statement::LockTable(_)) {
            let text = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        }
        if alone && matches!(job.statement, Statement::SetConstraints(_)) {
            let text = "SET CONSTRAINTS can only be used in transaction blocks";
            self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
        }
        state.changed_schema |= changes_schema(job.statement);
        self.set_aside_for(job)?;
        let types: Vec<SqlType> = match job.prepared {
            Some(prepared) if prepared.is_plain() => Vec::new(),
            Some(prepared) => prepared.params().to_vec(),
            None => job.params.iter().map(type_of).collect(),
        };
        let client = Client::new(sink);
        let mut results = Results::new(&client, self.services.memory.lend());
        let begins = Begins::of(job.statement);
        if lifted && let Some(active) = self.transaction.active_mut() {
            active.set_read_only(false);
        }
        let done = self
            .framed(begins, &mut results, |frame, results| framed::statement(frame, job, &types, results));
        if lifted && let Some(active) = self.transaction.active_mut() {
            active.set_read_only(true);
        }
        if done.is_err()
            && self.services.wants_frames.take()
            && let Some(prepared) = job.prepared
        {
            // Functions have become others since it was prepared.
            drop(results);
            prepared.may_change();
            self.abandon();
            return self.transactional(job, sink);
        }
        let done = done?;
        results.finish()?;
        self.change_asked_settings()?;
        self.note_definitions();
        if let Some(active) = self.transaction.take_block(Block::Statement) {
            self.end(active, Ending::usual())?;
        }
        Ok(done)
    }

    /// Functions of a statement may have defined something.
    pub(crate) fn note_definitions(&mut self) {
        if self.services.defined.get() > 0
            && let Some(active) = self.transaction.active_mut()
        {
            active.state.changed_schema = true;
        }
    }

    /// Opens a frame, runs `body` in it, and closes it; on a conflict perhaps again.
    pub(crate) fn framed<T>(
        &self,
        begins: Begins,
        results: &mut Results<'_>,
        mut body: impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, SqlError> {
        let active = self.transaction.get()?;
        self.services.notices.begin();
        let waiting = self.services.deferred.borrow().place();
        let said = self.services.notify.mark();
        let (opened, named) = (self.services.portals.opened(), self.services.named.now());
        let (restarts, restarts_max) = match begins.sees_newest() {
            true => (active.state.modes.savepoints, LOOKUPS_MAX),
            false => (active.state.restarts(), RESTARTS_MAX),
        };
        let mut tries = 0;
        self.services.contended.borrow_mut().clear();
        loop {
            self.services.forget_asked();
            if tries > restarts_max {
                self.lock_contended(active)?;
            }
            {
                let mut txn = active.txn.borrow_mut();
                // What a try before has made of it.
                self.services.set_read_only(&mut txn, active.state.modes.read_only);
                match begins {
                    Begins::Plain => txn.begin_statement()?,
                    Begins::Change => txn.begin_change()?,
                    Begins::Rowless => txn.begin_rowless()?,
                    Begins::Newest { rowless: true } => txn.begin_newest_rowless()?,
                    Begins::Newest { rowless: false } => txn.begin_newest()?,
                }
            }
            self.services.may_restart.set(active.state.restarts() && !results.sent);
            let result = self.in_frame(active, results, &mut body);
            self.services.may_restart.set(false);
            let Failure { error, conflict } = match result {
                Ok(value) => {
                    let checked = active.txn.borrow_mut().check_keys();
                    match checked {
                        Ok(()) => {
                            active.txn.borrow_mut().end_statement()?;
                            return Ok(value);
                        }
                        // Its rows are still as it has made them.
                        Err(error @ (StorageError::Unique { .. } | StorageError::Excluded { .. })) => {
                            self.explain_at_end(&active.txn, error)
                        }
                        Err(error) => {
                            active.txn.borrow_mut().abort_statement()?;
                            return Err(error.into());
                        }
                    }
                }
                // An error of the client's own comes back as it was.
                Err(failure) => match results.client().take_error() {
                    Some(error) => error.into(),
                    None => failure,
                },
            };
            active.txn.borrow_mut().abort_statement()?;
            self.services.deferred.borrow_mut().go_back(waiting);
            self.services.notify.return_to(said);
            let last = results.sent || self.services.has_ended.get();
            if !conflict || !restarts || last || tries > restarts_max {
                results.fail();
                return Err(error);
            }
            tries += 1;
            results.forget();
            self.services.notices.again();
            // Functions open cursors and prepare statements anew.
            self.services.portals.close_since(opened);
            self.services.cursors.end_since(opened);
            self.services.named.return_to(&named);
            verso_env::sync::backoff(tries);
        }
    }

    /// Keeps others from changing or locking rows of the tables over which the statement has had conflicts. Its next
    /// snapshot, taken afterwards, then sees all that it will meet there.
    fn lock_contended(&self, active: &Active) -> Result<(), SqlError> {
        let mut tables = std::mem::take(&mut *self.services.contended.borrow_mut());
        if disabled(Rule::T2LastTry) {
            return Ok(());
        }
        // In one order, and with nothing held that another such statement may wait for.
        tables.sort_unstable();
        tables.dedup();
        let mut txn = active.txn.borrow_mut();
        if active.state.block == Block::Statement {
            txn.release_locks();
        }
        let engine = &self.services.instance.engine;
        // The statement may have come to a partition by a table above it, which it locks first.
        for above in self.above(&tables) {
            engine.lock_table(&mut txn, above, TableLockMode::RowExclusive, WaitPolicy::Block)?;
        }
        for table in tables {
            engine.lock_table(&mut txn, table, TableLockMode::Exclusive, WaitPolicy::Block)?;
        }
        Ok(())
    }

    /// The partitioned tables above those with these heaps, each before what is in it.
    fn above(&self, heaps: &[ObjectId]) -> Vec<ObjectId> {
        let catalog = self.services.catalog.borrow();
        let mut above = Vec::new();
        for catalog in catalog.iter() {
            for table in catalog.tables().filter(|table| heaps.contains(&table.heap)) {
                let mut way: Vec<ObjectId> = catalog.tables_above(table).map(|table| table.heap).collect();
                way.reverse();
                way.retain(|heap| !above.contains(heap));
                above.append(&mut way);
            }
        }
        above
    }

    /// Closes the statement that the transaction is in. Where it has left a key double it is undone; the error shows that key.
    pub(super) fn end_checked(&self, active: &Active) -> Result<(), SqlError> {
        let checked = active.txn.borrow_mut().check_keys();
        if let Err(error) = checked {
            let error = self.explain_at_end(&active.txn, error).error;
            active.txn.borrow_mut().abort_statement()?;
            return Err(error);
        }
        Ok(active.txn.borrow_mut().end_statement()?)
    }

    /// A duplicate key that the end of a statement found, as the client is told; other errors as they are.
    pub(super) fn explain_at_end(&self, txn: &RefCell<Txn>, error: StorageError) -> Failure {
        let txn = txn.borrow();
        let catalog = match self.services.snapshot(&txn) {
            Ok(catalog) => catalog,
            Err(other) => return other.into(),
        };
        let engine = &self.services.instance.engine;
        explain_unique(&catalog, engine, &txn, &self.services.settings.time_zone, error).into()
    }

    /// Runs `body` in a frame over the statement that the transaction is in.
    pub(crate) fn in_frame<T>(
        &self,
        active: &Active,
        results: &mut Results<'_>,
        body: &mut impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let txn = &active.txn;
        // A frame takes the catalog anew: what functions of an earlier one defined is in it.
        self.services.defined.set(0);
        self.services.renewed.set(0);
        self.services.asked.set(0);
        self.services.redefined.take();
        self.services.refresh_catalog(&txn.borrow())?;
        let known = self.services.catalog.borrow();
        let Some(catalog) = &*known else { return Err(SqlError::internal("no catalog").into()) };
        self.services.lend_names(catalog);
        let views = Views {
            services: &self.services,
            portals: (&self.portals, active.state.serial),
            totals: self.measures.totals(),
        };
        let frame = Frame {
            services: &self.services,
            views: &views,
            txn,
            catalog,
            cancel: self.services.info.cancel_flag(),
            ready: &self.plans.ready,
            keeps: !active.state.changed_schema,
            outgoing: Outgoing { services: &self.services, client: results.told() },
            transitions: TransitionsSeen::default(),
        };
        body(&frame, results)
    }

    /// Checks, at commit, what was put off to it, and does what ON COMMIT asks for where it `empties` temporary tables; then
    /// adds what was reserved. That is a change that shows its client nothing, so commits of others that are in the log do not
    /// hold it up (T1-logged).
    pub(crate) fn check_deferred(&self, active: &Active, empties: bool) -> Result<(), SqlError> {
        if empties || self.services.deferred.borrow().has_checks() {
            active.txn.borrow_mut().begin_statement()?;
            self.at_commit(active, &mut |frame| {
                if empties {
                    crate::ddl::at_commit(frame)?;
                }
                check_at_commit(frame)
            })?;
        }
        // Triggers may have reserved something, too.
        if self.services.deferred.borrow().reserved.is_empty() {
            return Ok(());
        }
        active.txn.borrow_mut().begin_change()?;
        self.at_commit(active, &mut |frame| add_reserved(frame))
    }

    /// Fires, at commit, the triggers that were put off to it, ahead of what else is done then.
    pub(crate) fn fire_deferred(&self, active: &Active) -> Result<(), SqlError> {
        active.txn.borrow_mut().begin_statement()?;
        self.at_commit(active, &mut |frame| check_at_commit(frame))
    }

    /// Does something in the statement that was begun for it, and ends that.
    fn at_commit(
        &self,
        active: &Active,
        body: &mut dyn FnMut(&Frame<'_>) -> Result<(), Failure>,
    ) -> Result<(), SqlError> {
        let mut nowhere = Nowhere;
        let client = Client::new(&mut nowhere);
        let mut results = Results::aside(&client, self.services.memory.lend());
        let done = self.in_frame(active, &mut results, &mut |frame, _| body(frame));
        if done.is_ok() {
            let ended = active.txn.borrow_mut().end_statement();
            ended.map_err(|error| self.explain_at_end(&active.txn, error).error)?;
        } else {
            active.txn.borrow_mut().abort_statement()?;
        }
        done.map_err(|failure| failure.error)
    }
}
