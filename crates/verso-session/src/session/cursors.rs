//! DECLARE, FETCH, MOVE, CLOSE.

use std::sync::Arc;

use verso_types::Batch;

use super::{Ending, Session};
use crate::client::{Client, CommandTag, Nowhere, OutputColumn, PassOver, Results, StatementSink, tag};
use crate::cursors::{Places, SqlCursor, backward, check_query, placed, served, tables_placed};
use crate::failure::Failure;
use crate::plans::Job;
use crate::portal::{Portal, PortalEnd};
use crate::transaction::Block;
use verso_parser::syntax::{Cursor, Direction, Fetch, Name};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// DECLARE.
    pub(crate) fn declare(
        &mut self,
        job: &Job<'_>,
        cursor: &Cursor,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let name = &cursor.name.text;
        check_query(cursor)?;
        if !self.transaction.is_in_block() && !cursor.hold {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        }
        served::check_free(&self.services, name)?;
        self.services.cursors.reserve(name);
        match self.open_cursor(job, cursor, sink) {
            Ok(open) => self.services.cursors.keep(name, open),
            Err(error) => {
                self.services.cursors.release(name);
                return Err(error);
            }
        }
        if let Some(active) = self.transaction.take_block(Block::Statement) {
            self.end(active, Ending::usual())?;
        }
        Ok(tag("DECLARE CURSOR"))
    }

    /// The cursor of a DECLARE, opened.
    fn open_cursor(
        &mut self,
        job: &Job<'_>,
        cursor: &Cursor,
        sink: &mut dyn StatementSink,
    ) -> Result<SqlCursor, SqlError> {
        let name = &cursor.name.text;
        let (parsed, locks) = placed(cursor);
        let types: Vec<_> = job.params.iter().map(|value| Some(verso_types::text::type_of(value))).collect();
        let held = self.services.memory.for_text(&self.services.settings, job.shown())?;
        let prepared = Arc::new(self.prepare_parsed(job.shown().into(), Some(parsed), &types, held)?);
        let mut portal = self.bind(&prepared, job.params.to_vec())?;
        portal.set_name(name);
        self.ensure_active_for(false)?;
        let place = self.places(&portal, locks)?;
        self.open_portal(&mut portal, cursor.hold, sink)?;
        let used = Some(self.services.portals.used.begin(&portal.tables_used()));
        let serial = self.services.portals.number();
        let transaction = Some(self.transaction.serial());
        let hold = cursor.hold;
        let (text, at) = (job.shown().into(), self.services.clocks.statement_started());
        let binary = cursor.binary;
        let mut open = SqlCursor {
            _kept: self.services.memory.for_kept(&self.services.settings, job.shown())?,
            text,
            at,
            portal,
            binary,
            rows: None,
            has_all: false,
            held: None,
            position: 0,
            hold,
            transaction,
            serial,
            used,
            place,
        };
        if cursor.scroll {
            let types: Vec<_> =
                prepared.columns().unwrap_or_default().iter().map(|column| column.ty.clone()).collect();
            open.rows = Some(Batch::of_types(&types));
            open.held = Some(self.services.memory.keep().lend().reserve("a cursor with SCROLL"));
        }
        Ok(open)
    }

    /// FETCH, MOVE.
    pub(crate) fn fetch(
        &mut self,
        fetch: &Fetch,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let name = &fetch.name.text;
        let mut over;
        let sink: &mut dyn StatementSink = match fetch.moves {
            true => {
                over = PassOver(sink);
                &mut over
            }
            false => sink,
        };
        let word = if fetch.moves { "MOVE" } else { "FETCH" };
        self.reach_opened(fetch)?;
        if let Some(count) = served::fetch_opened(&self.services, fetch, sink)? {
            return Ok(CommandTag { text: format!("{word} {count}"), rows: count });
        }
        if let Some(portal) = self.portals.named(name, self.transaction.serial()) {
            let count = self.fetch_from(portal, fetch.direction, sink)?;
            return Ok(CommandTag { text: format!("{word} {count}"), rows: count });
        }
        let mut cursor = self.services.cursors.take(name)?.ok_or_else(|| served::missing(name))?;
        if cursor.binary {
            sink.binary();
        }
        let mut advance =
            |portal: &mut Portal, rows, sink: &mut dyn StatementSink| self.advance(portal, rows, sink);
        let count = cursor.fetch(fetch.direction, sink, &mut advance);
        self.services.cursors.keep(name, cursor);
        let count = count?;
        self.change_asked_settings()?;
        Ok(CommandTag { text: format!("{word} {count}"), rows: count })
    }

    /// Fetches the rows that a cursor is about to pass which a function has opened, where it locks them then.
    fn reach_opened(&mut self, fetch: &Fetch) -> Result<(), SqlError> {
        if !self.services.portals.fetches(&fetch.name.text) {
            return Ok(());
        }
        self.ensure_active_for(false)?;
        if let Some(active) = self.transaction.active_mut() {
            active.state.pristine = false;
        }
        let active = self.transaction.get()?;
        self.set_all_aside(active)?;
        active.txn.borrow_mut().begin_statement()?;
        let mut nowhere = Nowhere;
        let client = Client::new(&mut nowhere);
        let mut results = Results::aside(&client, self.services.memory.lend());
        let reached = self.in_frame(active, &mut results, &mut |frame, _| {
            served::reach_opened(frame, fetch).map_err(Failure::from)
        });
        match reached {
            Ok(()) => self.end_checked(active),
            Err(Failure { error, .. }) => {
                active.txn.borrow_mut().abort_statement()?;
                Err(error)
            }
        }
    }

    /// Of a portal of the protocol: rows ahead only.
    fn fetch_from(
        &mut self,
        mut portal: Portal,
        direction: Direction,
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        let Some(columns) = portal.columns().map(<[_]>::to_vec) else {
            let text = format!("portal \"{}\" cannot be run", portal.name());
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text));
        };
        let (skip, take) = match direction {
            Direction::Forward(None) => (0, 0),
            Direction::Forward(Some(count)) if count > 0 => (0, count),
            Direction::Relative(count) if count > 0 => (count - 1, 1),
            Direction::Absolute(_) => {
                return Err(SqlError::unsupported("FETCH ABSOLUTE of a portal of the protocol"));
            }
            Direction::Forward(_) | Direction::Relative(_) | Direction::Backward(_) => return Err(backward()),
        };
        if portal.is_ready() {
            self.ensure_active_for(false)?;
            self.open_portal(&mut portal, false, sink)?;
        }
        if skip > 0 {
            let (_, end) = self.advance(&mut portal, skip.unsigned_abs(), &mut PassOver(&mut *sink))?;
            if end != PortalEnd::Suspended {
                sink.begin(&columns)?;
                return Ok(0);
            }
        }
        Ok(self.advance(&mut portal, take.unsigned_abs(), sink)?.0)
    }

    /// CLOSE.
    pub(crate) fn close_cursor(&mut self, name: Option<&Name>) -> Result<CommandTag, SqlError> {
        let Some(known) = name else {
            self.portals.close_named();
            served::close(&self.services, name)?;
            return Ok(tag("CLOSE CURSOR ALL"));
        };
        match self.portals.named(&known.text, self.transaction.serial()) {
            Some(mut portal) => portal.close(),
            None => served::close(&self.services, name)?,
        }
        Ok(tag("CLOSE CURSOR"))
    }

    /// The columns of a cursor that a function has opened, or of a portal of the protocol.
    pub(crate) fn columns_of_named(&self, name: &str) -> Option<Vec<OutputColumn>> {
        let own = || Some(self.portals.named(name, self.transaction.serial())?.columns()?.to_vec());
        self.columns_of_portal(name).or_else(own)
    }

    /// The columns of a cursor that a function has opened.
    pub(crate) fn columns_of_portal(&self, name: &str) -> Option<Vec<OutputColumn>> {
        served::columns_of_opened(&self.services, name)
    }

    /// The places of a cursor about to be opened.
    pub(crate) fn places(&self, portal: &Portal, locks: bool) -> Result<Places, SqlError> {
        let tables = tables_placed(portal.columns().unwrap_or_default());
        let view = match self.transaction.active() {
            Some(active) if !tables.is_empty() => {
                let mut txn = active.txn.borrow_mut();
                txn.begin_statement()?;
                Some(txn.end_statement_holding()?)
            }
            _ => None,
        };
        let memory = self.services.memory.keep();
        self.with_catalog(|_, catalog, _| {
            Ok(Places::new(tables, locks, view, catalog, memory.lend().account))
        })
    }
}
