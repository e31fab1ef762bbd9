//! DECLARE, FETCH, MOVE, CLOSE.

use std::sync::Arc;

use verso_exec::plan::{Movement, Origin};
use verso_types::Batch;

use super::{Ending, Session};
use crate::client::{Collect, CommandTag, Nowhere, OutputColumn, StatementSink, tag};
use crate::cursors::{Places, SqlCursor};
use crate::plans::Job;
use crate::portal::{Portal, PortalEnd};
use crate::transaction::{Block, Transaction};
use verso_parser::syntax::{Cursor, Direction, Fetch, Name, Statement};
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
        if matches!(&cursor.query.statement, Statement::Query(query) if query.changes_rows()) {
            let text = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let Transaction { series, autocommit, .. } = self.transaction;
        let block = series || !autocommit || self.transaction.is_open();
        if !block && !cursor.hold {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        }
        if cursor.hold
            && matches!(&cursor.query.statement, Statement::Query(query) if !query.locks.is_empty())
        {
            let text = "DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                .with_detail("Holdable cursors must be READ ONLY."));
        }
        self.cursors.check_free(name)?;
        if self.services.portals.has(name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_CURSOR, text));
        }
        let mut parsed = (*cursor.query).clone();
        if let Statement::Query(query) = &mut parsed.statement {
            query.places = true;
        }
        let locks = matches!(&parsed.statement, Statement::Query(query) if !query.locks.is_empty());
        let types: Vec<_> = job.params.iter().map(|value| Some(verso_types::text::type_of(value))).collect();
        let held = self.services.memory.for_text(&self.services.settings, job.shown())?;
        let prepared = Arc::new(self.prepare_parsed(job.shown().into(), Some(parsed), &types, held)?);
        let mut portal = self.bind(&prepared, job.params.to_vec())?;
        portal.set_name(name);
        self.ensure_active_for(false)?;
        let place = self.places(&portal, locks)?;
        self.open_portal(&mut portal, cursor.hold, sink)?;
        let depth = self.transaction.depth();
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
            held: None,
            position: 0,
            hold,
            transaction,
            depth,
            place,
        };
        if cursor.scroll {
            let mut batches = Vec::new();
            let mut held = self.services.memory.keep().lend().reserve("a cursor with SCROLL");
            self.advance(&mut open.portal, 0, &mut Collect(&mut batches, &mut held))?;
            let types: Vec<_> =
                prepared.columns().unwrap_or_default().iter().map(|column| column.ty.clone()).collect();
            let mut rows = Batch::of_types(&types);
            batches.iter().for_each(|batch| rows.append(batch));
            held.resize(rows.heap_bytes() as u64)?;
            open.rows = Some(rows);
            open.held = Some(held);
        }
        self.cursors.keep(name, open);
        if let Some(active) = self.transaction.take_block(Block::Statement) {
            self.end(active, Ending::usual())?;
        }
        Ok(tag("DECLARE CURSOR"))
    }

    /// FETCH, MOVE.
    pub(crate) fn fetch(
        &mut self,
        fetch: &Fetch,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let name = &fetch.name.text;
        let mut silent = Nowhere;
        let sink: &mut dyn StatementSink = if fetch.moves { &mut silent } else { sink };
        let word = if fetch.moves { "MOVE" } else { "FETCH" };
        if let Some(columns) = self.columns_of_portal(name) {
            let movement = match fetch.direction {
                Direction::Forward(count) => Movement::Forward(count),
                Direction::Backward(count) => Movement::Backward(count),
                Direction::Absolute(number) => Movement::Absolute(number),
                Direction::Relative(count) => Movement::Relative(count),
            };
            let rows = self.services.portals.fetch(name, movement)?.unwrap_or_default();
            let count = rows.rows as u64;
            sink.begin(&columns)?;
            if count > 0 {
                sink.batch(&rows)?;
            }
            return Ok(CommandTag { text: format!("{word} {count}"), rows: count });
        }
        if let Some(portal) = self.portals.named(name, self.transaction.serial()) {
            let count = self.fetch_from(portal, fetch.direction, sink)?;
            return Ok(CommandTag { text: format!("{word} {count}"), rows: count });
        }
        let mut cursor = self.cursors.take(name)?;
        if cursor.binary {
            sink.binary();
        }
        let count = match cursor.rows.take() {
            Some(rows) => {
                let count = cursor.scroll(&rows, fetch.direction, sink);
                cursor.rows = Some(rows);
                count
            }
            None => self.fetch_forward(&mut cursor, fetch.direction, sink),
        };
        self.cursors.keep(name, cursor);
        let count = count?;
        Ok(CommandTag { text: format!("{word} {count}"), rows: count })
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
            let (_, end) = self.advance(&mut portal, skip.unsigned_abs(), &mut Nowhere)?;
            if end != PortalEnd::Suspended {
                sink.begin(&columns)?;
                return Ok(0);
            }
        }
        Ok(self.advance(&mut portal, take.unsigned_abs(), sink)?.0)
    }

    /// Of a cursor without SCROLL: rows ahead only.
    fn fetch_forward(
        &mut self,
        cursor: &mut SqlCursor,
        direction: Direction,
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        let (skip, take) = match direction {
            Direction::Forward(None) => (0, 0),
            Direction::Forward(Some(count)) if count > 0 => (0, count),
            Direction::Relative(count) if count > 0 => (count - 1, 1),
            Direction::Absolute(number) if number > cursor.position => (number - cursor.position - 1, 1),
            Direction::Forward(_) | Direction::Relative(_) | Direction::Absolute(_) => return Err(backward()),
            Direction::Backward(_) => return Err(backward()),
        };
        if skip > 0 {
            let end = self.advance(&mut cursor.portal, skip.unsigned_abs(), &mut Nowhere)?;
            cursor.position += skip;
            if end.1 != PortalEnd::Suspended {
                cursor.place.leave();
                sink.begin(cursor.columns().unwrap_or_default())?;
                return Ok(0);
            }
        }
        let mut placed = cursor.place.watch(sink);
        let (count, _) = self.advance(&mut cursor.portal, take.unsigned_abs(), &mut placed)?;
        if count == 0 || count < take.unsigned_abs() || take == 0 {
            cursor.place.leave();
        }
        cursor.position += count.cast_signed();
        Ok(count)
    }

    /// CLOSE.
    pub(crate) fn close_cursor(&mut self, name: Option<&Name>) -> Result<CommandTag, SqlError> {
        let Some(name) = name else {
            self.cursors.clear();
            self.portals.close_named();
            self.services.portals.clear();
            return Ok(tag("CLOSE CURSOR ALL"));
        };
        if let Some(mut portal) = self.portals.named(&name.text, self.transaction.serial()) {
            portal.close();
        } else if !self.services.portals.close(&name.text) {
            self.cursors.take(&name.text)?;
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
        let shape = self.services.portals.columns(name)?;
        let column =
            |(name, ty): &(Arc<str>, verso_types::SqlType)| OutputColumn::new(Arc::clone(name), ty.clone());
        Some(shape.fields.iter().map(column).collect())
    }

    /// The places of a cursor about to be opened.
    pub(crate) fn places(&self, portal: &Portal, locks: bool) -> Result<Places, SqlError> {
        let columns = portal.columns().unwrap_or_default();
        let record = |column: &OutputColumn| column.origin.filter(|origin| origin.column == Origin::RECORD);
        let tables: Vec<u32> = columns.iter().filter_map(record).map(|origin| origin.table).collect();
        let view = match self.transaction.active() {
            Some(active) if !tables.is_empty() => {
                let mut txn = active.txn.borrow_mut();
                txn.begin_statement()?;
                Some(txn.end_statement_holding()?)
            }
            _ => None,
        };
        Ok(Places::new(tables, locks, view))
    }

    /// Before a statement that may have WHERE CURRENT OF: where its cursor stands.
    pub(crate) fn note_position(&self, statement: &Statement) {
        let name = match statement {
            Statement::Update(update) => &update.current,
            Statement::Delete(delete) => &delete.current,
            Statement::Explain { statement, .. } => return self.note_position(statement),
            _ => return,
        };
        let Some(name) = name else { return };
        let position = self.cursors.position(&name.text);
        *self.services.position.borrow_mut() = position;
    }
}

fn backward() -> SqlError {
    SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}
