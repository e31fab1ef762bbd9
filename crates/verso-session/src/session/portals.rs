//! Portals of the session: bound, run in portions, opened for cursors.

use std::sync::Arc;

use parking_lot::Mutex;
use verso_types::keyword::quoted;
use verso_types::{SqlType, Value};

use super::Session;
use super::run::RESTARTS_MAX;
use crate::client::{Client, CommandTag, Counted, Kept, Results, StatementSink};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::{Job, Prepared, arguments, ends_transaction};
use crate::portal::{Held, Open, Portal, PortalEnd, State};
use verso_parser::syntax::{ExecutePurpose, Parsed, Statement};
use verso_planner::errors::{SqlError, sqlstate};

/// The name is taken.
fn cursor_exists(name: &str) -> SqlError {
    SqlError::new(sqlstate::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists"))
}

impl Session {
    /// Makes a portal: checks the parameters' number and brings them to their types. Nothing runs yet.
    ///
    /// # Errors
    /// 08P01 for another number of parameters; 22P02 and others for texts that cannot be read; 25P02 in a failed
    /// transaction, but for statements that end it.
    pub fn bind(&mut self, prepared: &Arc<Prepared>, params: Vec<Value>) -> Result<Portal, SqlError> {
        let bound = self.as_named_now(prepared).and_then(|prepared| self.bind_within(&prepared, params));
        if bound.is_err() {
            self.fail_transaction();
        }
        bound
    }

    /// Gives a portal that has not run yet a name, by which FETCH, MOVE and CLOSE know it, too.
    ///
    /// # Errors
    /// 42P03 for a name that a cursor has.
    pub fn name_portal(&mut self, portal: &mut Portal, name: &str) -> Result<(), SqlError> {
        let taken = self.services.cursors.check_free(name).err();
        let taken = taken.or_else(|| self.services.portals.has(name).then(|| cursor_exists(name)));
        if let Some(error) = taken {
            self.fail_transaction();
            return Err(error);
        }
        portal.set_name(name);
        self.portals.name(portal, self.services.clocks.statement_started());
        Ok(())
    }

    /// Runs a cursor of DECLARE as a portal of the protocol: up to `max_rows` rows go to `sink`, 0 means all that are left.
    /// `last` as of [`Session::run_portal`].
    ///
    /// # Errors
    /// 34000 where there is no such cursor; those of its query.
    pub fn run_cursor(
        &mut self,
        name: &str,
        max_rows: u64,
        last: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        let count = if max_rows == 0 { "ALL".to_string() } else { max_rows.to_string() };
        let prepared = self.prepare(&format!("FETCH {count} FROM {}", quoted(name)), &[])?;
        let mut portal = self.bind(&prepared, Vec::new())?;
        Ok(match self.run_portal(&mut portal, 0, last, sink)? {
            PortalEnd::Complete(tag) if max_rows > 0 && tag.rows == max_rows => PortalEnd::Suspended,
            PortalEnd::Complete(tag) => PortalEnd::Complete(CommandTag::counted("SELECT", tag.rows)),
            end => end,
        })
    }

    /// Closes a cursor as a portal of the protocol; there need be none of that name.
    pub fn forget_cursor(&mut self, name: &str) {
        if !self.services.portals.close(name) {
            // Between statements no query runs.
            let _ = self.services.cursors.close(name);
        }
    }

    /// A statement that yields what a cursor or another prepared statement does: with the columns that these have by now.
    fn as_named_now(&mut self, prepared: &Arc<Prepared>) -> Result<Arc<Prepared>, SqlError> {
        let names_another = |parsed: &&Parsed| match &parsed.statement {
            Statement::Fetch(fetch) => !fetch.moves,
            Statement::Execute { purpose, .. } => matches!(purpose, ExecutePurpose::Run),
            _ => false,
        };
        let Some(parsed) = prepared.parsed.as_ref().filter(names_another) else {
            return Ok(Arc::clone(prepared));
        };
        let types: Vec<Option<SqlType>> = prepared.params().iter().cloned().map(Some).collect();
        let text = Arc::clone(prepared.text());
        self.prepare_parsed(text, Some(parsed.clone()), &types, None).map(Arc::new)
    }

    fn bind_within(&self, prepared: &Arc<Prepared>, params: Vec<Value>) -> Result<Portal, SqlError> {
        if let Some(parsed) = &prepared.parsed
            && !ends_transaction(&parsed.statement)
        {
            self.transaction.check_accepts(&parsed.statement)?;
        }
        let params = {
            let account = self.services.memory.lend().account;
            let types = self.parameter_types(prepared);
            arguments(&types, params, &self.services.settings.time_zone, account)?
        };
        Ok(Portal::new(Arc::clone(prepared), params))
    }

    /// Runs a portal: up to `max_rows` rows go to `sink`, 0 means all. Another run goes on where this one ended. The
    /// sink hears of columns, rows and notices; how it ended is returned.
    ///
    /// Outside of a transaction block everything up to [`Session::sync`] is one transaction. `last` says that nothing
    /// but the sync will follow, so that a query or change may end it.
    ///
    /// # Errors
    /// Those of the statement; 34000 if the portal's transaction has ended; 55000 if it is done.
    pub fn run_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        last: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        self.transaction.series = self.transaction.autocommit;
        let prepared = Arc::clone(portal.prepared());
        if max_rows == 0 && portal.finish_ready() {
            let Some(job) = Job::prepared(&prepared, portal.params()) else { return Ok(PortalEnd::Empty) };
            self.transaction.series &= !(last && prepared.is_plain());
            return Ok(PortalEnd::Complete(self.perform(&job, sink)?.into_tag()));
        }
        let shared = portal.shared();
        let Some(job) = Job::prepared(&prepared, portal.params()) else { return Ok(PortalEnd::Empty) };
        let serial = self.transaction.serial();
        let state = std::mem::replace(&mut *shared.lock(), State::Closed);
        if state.lives().and_then(|lives| lives.transaction).is_some_and(|of| of != serial) {
            return Err(portal.gone());
        }
        match state {
            State::Ready if prepared.only_reads() && max_rows > 0 => {
                self.pull(&job, &shared, None, max_rows, sink)
            }
            State::Ready if max_rows == 0 => {
                *shared.lock() = State::Done;
                Ok(PortalEnd::Complete(self.perform(&job, sink)?.into_tag()))
            }
            State::Ready => match self.pull_detached(&job, &shared, max_rows, sink)? {
                Some(end) => Ok(end),
                None => self.run_whole(&job, &shared, max_rows, sink),
            },
            State::Open(open) => self.pull(&job, &shared, Some(open), max_rows, sink),
            State::Held(held) => held.hand_out(&shared, max_rows, sink),
            State::Done => {
                *shared.lock() = State::Done;
                if prepared.only_reads() {
                    return Ok(PortalEnd::Complete(CommandTag::counted("SELECT", 0)));
                }
                self.fail_transaction();
                let text = format!("portal \"{}\" cannot be run", portal.name());
                Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text))
            }
            State::Closed => Err(portal.gone()),
        }
    }

    /// Runs a statement that changes something, to its end, and hands out the first of its rows.
    fn run_whole(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        let mut rows = Kept::new(sink, self.services.memory.keep());
        let tag = self.perform(job, &mut rows)?.into_tag();
        let Kept { columns, rows, .. } = rows;
        let Some(columns) = columns else {
            *state.lock() = State::Done;
            return Ok(PortalEnd::Complete(tag));
        };
        let held = Held::new(columns, (None, rows), Some(tag), self.lives(false));
        self.portals.note(state);
        held.hand_out(state, max_rows, sink)
    }

    /// A further run of a cursor's portal, within a statement: how many rows there were, and how it ended.
    pub(crate) fn advance(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<(u64, PortalEnd), SqlError> {
        let prepared = Arc::clone(portal.prepared());
        let shared = portal.shared();
        if !matches!(*shared.lock(), State::Open(_)) {
            return portal.hand_out(max_rows, sink);
        }
        let Some(job) = Job::prepared(&prepared, portal.params()) else { return Ok((0, PortalEnd::Empty)) };
        let State::Open(open) = std::mem::replace(&mut *shared.lock(), State::Closed) else {
            return Err(portal.gone());
        };
        if open.detached
            && let Some(active) = self.transaction.active()
        {
            // Its functions may change what others read.
            self.set_all_aside(active)?;
        }
        let mut counted = Counted { sink, rows: 0 };
        let end = self.pull_within(&job, &shared, Some(open), Some(max_rows), false, &mut counted)?;
        Ok((counted.rows, end))
    }

    /// Opens a cursor's portal without reading a row of it, so that it sees the state of now (T2).
    pub(crate) fn open_portal(
        &mut self,
        portal: &mut Portal,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        let prepared = Arc::clone(portal.prepared());
        let shared = portal.shared();
        let Some(job) = Job::prepared(&prepared, portal.params()) else { return Ok(()) };
        let mut silent = Kept::new(sink, self.services.memory.keep());
        if prepared.only_reads() {
            self.pull_within(&job, &shared, None, None, hold, &mut silent).map(drop)
        } else if self.open_detached(&job, &shared, hold, &mut silent)? {
            Ok(())
        } else {
            // Functions of the user's may change something: their statements run now.
            let done = self.transactional(&job, &mut silent)?;
            let columns = silent.columns.unwrap_or_default();
            let lives = self.lives(hold);
            let held = Held::new(columns, (None, silent.rows), Some(done.into_tag()), lives);
            *shared.lock() = State::Held(held);
            self.portals.note(&shared);
            Ok(())
        }
    }

    /// Opens a query whose functions may change something, and reads what it reads of tables: they are called as its rows are
    /// fetched. False where they are called elsewhere than for these rows; nothing is left of it then.
    fn open_detached(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<bool, SqlError> {
        let Some(prepared) = job.prepared else { return Err(SqlError::internal("no prepared statement")) };
        self.ensure_active_for(false)?;
        let lives = self.lives(hold);
        if let Some(active) = self.transaction.active_mut() {
            active.state.pristine = false;
        }
        let active = self.transaction.get()?;
        self.set_all_aside(active)?;
        active.txn.borrow_mut().begin_statement()?;
        let client = Client::new(sink);
        let mut results = Results::aside(&client, self.services.memory.lend());
        let memory = self.services.memory.keep();
        let opened = self.in_frame(active, &mut results, &mut |frame, _| {
            let mut ready = frame.taken(prepared, job)?;
            if !ready.compiled.can_set_aside() {
                return Ok(None);
            }
            frame.tell(&ready.planned.told);
            frame.with_context(job.params, |cx| ready.compiled.open(cx))?;
            let mut open = Box::new(Open::new(ready, job.params.into(), lives));
            open.detach(frame, &memory)?;
            Ok::<_, Failure>(Some(open))
        });
        match opened {
            Ok(opened) => {
                let view = active.txn.borrow_mut().end_statement_holding()?;
                let Some(mut open) = opened else { return Ok(false) };
                open.view = Some(view);
                *state.lock() = State::Open(open);
                self.note_definitions();
                self.portals.note(state);
                Ok(true)
            }
            Err(Failure { error, .. }) => {
                active.txn.borrow_mut().abort_statement()?;
                Err(error)
            }
        }
    }

    /// Runs a query up to the row limit.
    fn pull(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        open: Option<Box<Open>>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        let rows = |end: &PortalEnd| Some(end.rows(max_rows));
        self.pulled(job, open.is_none(), sink, rows, |session, sink| {
            if open.as_ref().is_some_and(|open| open.detached)
                && let Some(active) = session.transaction.active()
            {
                // Its functions may change what others read.
                session.set_all_aside(active)?;
            }
            session.pull_within(job, state, open, Some(max_rows), false, sink)
        })
    }

    /// Opens a query that locks its rows, or calls functions that do something, and runs it up to the row limit: rows behind it are
    /// neither locked nor computed. None, and nothing has happened, where it cannot be run in portions.
    fn pull_detached(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<Option<PortalEnd>, SqlError> {
        let is_query = |statement: &Statement| matches!(statement, Statement::Query(_));
        if !job.prepared.is_some_and(|prepared| {
            prepared.parsed.as_ref().is_some_and(|parsed| is_query(&parsed.statement))
        }) {
            return Ok(None);
        }
        let rows = |end: &Option<PortalEnd>| end.as_ref().map(|end| end.rows(max_rows));
        self.pulled(job, true, sink, rows, |session, sink| {
            if !session.open_detached(job, state, false, sink)? {
                return Ok(None);
            }
            let State::Open(open) = std::mem::replace(&mut *state.lock(), State::Closed) else {
                return Err(SqlError::internal("not open"));
            };
            session.pull_within(job, state, Some(open), Some(max_rows), false, sink).map(Some)
        })
    }

    /// Does the work of a run of a portal, its first one or another; `rows` tells how many there were, none where
    /// nothing has run.
    fn pulled<T>(
        &mut self,
        job: &Job<'_>,
        is_first: bool,
        sink: &mut dyn StatementSink,
        rows: impl FnOnce(&T) -> Option<u64>,
        work: impl FnOnce(&mut Session, &mut dyn StatementSink) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.begin_work(job)?;
        if is_first {
            self.tell_begin(job);
        }
        let slow = self.slow_start();
        let tracking = self.track(job);
        self.services.forget_asked();
        let mut result = self.contained(|session| {
            session.check_owed(job)?;
            work(session, sink)
        });
        result = result.and_then(|done| self.change_asked_settings().map(|()| done));
        match (&mut result, tracking) {
            (Err(error), _) => self.fail_work(error),
            (Ok(done), Some(tracking)) => {
                if let Some(rows) = rows(done) {
                    self.tracked(job, &tracking, rows, u64::from(is_first));
                }
            }
            (Ok(_), None) => {}
        }
        self.tell_slow(job, slow);
        self.end_work();
        self.services.send_notices(sink)?;
        result
    }

    /// Opens a query or goes on with it; without `max_rows` no row is read.
    pub(super) fn pull_within(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        open: Option<Box<Open>>,
        max_rows: Option<u64>,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        let Some(prepared) = job.prepared else { return Err(SqlError::internal("no prepared statement")) };
        self.ensure_active_for(false)?;
        let lives = self.lives(hold);
        if let Some(active) = self.transaction.active_mut() {
            active.state.pristine = false;
        }
        let active = self.transaction.get()?;
        let mut open = open;
        match open.as_mut().and_then(|open| open.view.take()) {
            Some(view) => active.txn.borrow_mut().begin_statement_under(view)?,
            None => active.txn.borrow_mut().begin_statement()?,
        }
        let client = Client::new(sink);
        self.services.notices.begin();
        let mut results = Results::new(&client, self.services.memory.lend());
        results.streams = true;
        let mut count = 0;
        let waiting = self.services.deferred.borrow().place();
        let mut tries = 0;
        let mut run = |frame: &Frame<'_>, results: &mut Results<'_>| {
            if open.is_none() {
                let mut ready = frame.taken(prepared, job)?;
                frame.tell(&ready.planned.told);
                frame.with_context(job.params, |cx| ready.compiled.open(cx))?;
                let params = job.params.into();
                open = Some(Box::new(Open::new(ready, params, lives)));
            }
            frame.services.may_restart.set(false);
            let Some(open) = &mut open else { return Err(SqlError::internal("not open").into()) };
            let Some(max_rows) = max_rows else { return Ok(false) };
            results.begin(&open.ready.planned.columns);
            let ended = open.send(frame, max_rows, results, &mut count)?;
            results.finish()?;
            frame.keep_plan(&open.ready.planned, None);
            Ok(ended)
        };
        let more = loop {
            self.services.may_restart.set(active.state.restarts() && tries < RESTARTS_MAX);
            let ran = self.in_frame(active, &mut results, &mut run);
            // Where it is off, rows were read, or nothing waited for may change what the next try would see.
            let may_restart = self.services.may_restart.replace(false);
            let Failure { error, conflict } = match ran {
                Ok(ended) => break !ended,
                Err(failure) => failure,
            };
            active.txn.borrow_mut().abort_statement()?;
            self.services.deferred.borrow_mut().go_back(waiting);
            if !conflict || !may_restart {
                return Err(error);
            }
            tries += 1;
            results.forget();
            self.services.notices.again();
            active.txn.borrow_mut().begin_statement()?;
        };
        let Some(mut open) = open else { return Err(SqlError::internal("not open")) };
        if more {
            open.view = Some(active.txn.borrow_mut().end_statement_holding()?);
            self.note_definitions();
            *state.lock() = State::Open(open);
            self.portals.note(state);
            return Ok(PortalEnd::Suspended);
        }
        self.end_checked(active)?;
        self.note_definitions();
        open.ready.compiled.close();
        if !open.ready.of_values && !open.detached {
            self.plans.ready.borrow_mut().put(prepared.number(), open.ready);
        }
        *state.lock() = State::Done;
        Ok(PortalEnd::Complete(CommandTag::counted("SELECT", count)))
    }
}
