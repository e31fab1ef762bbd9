//! DECLARE, FETCH, MOVE and CLOSE as texts of EXECUTE.
//!
//! A cursor that is declared so collects its rows at once: what the function does next may change them. One that locks its rows locks
//! them as they are fetched.

use std::sync::Arc;

use verso_catalog::Oid;
use verso_exec::context::Given;
use verso_exec::exec::tables_used;
use verso_exec::plan::Movement;
use verso_exec::spill::Spool;
use verso_types::{Batch, SqlType, Value};

use super::{Places, SqlCursor, check_query, placed, tables_placed};
use crate::client::{Client, Kept, Nowhere, OutputColumn, Results, StatementSink};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::{Prepared, Ready};
use crate::portal::{Held, Lives, Open, Portal};
use crate::services::Services;
use verso_parser::syntax::{Cursor, Direction, Fetch, Name};
use verso_planner::errors::{SqlError, sqlstate};

/// DECLARE.
pub(crate) fn declare(
    frame: &Frame<'_>,
    cursor: &Cursor,
    text: &str,
    given: Given<'_>,
) -> Result<(), Failure> {
    let services = frame.services;
    let name = &cursor.name.text;
    check_query(cursor)?;
    check_free(services, name)?;
    services.cursors.reserve(name);
    let opened = open(frame, cursor, text, given).inspect_err(|_| services.cursors.release(name))?;
    services.cursors.keep(name, opened);
    Ok(())
}

/// The cursor of a DECLARE, whose query has run.
fn open(frame: &Frame<'_>, cursor: &Cursor, text: &str, given: Given<'_>) -> Result<SqlCursor, Failure> {
    let services = frame.services;
    let name = &cursor.name.text;
    let (parsed, locks) = placed(cursor);
    let types: Vec<Option<SqlType>> = given.types.iter().cloned().map(Some).collect();
    let style = &services.settings.time_zone;
    let prepared = Prepared::unbound(text.into(), Some(parsed), &types).for_others();
    let prepared = Arc::new(prepared.bind(frame.catalog, style, &types, false)?);
    let lives = Lives { transaction: None, depth: 0, hold: cursor.hold };
    let fetched = match locks {
        true => open_to_lock(frame, &prepared, given.params, lives)?,
        false => None,
    };
    let (columns, mut spool, tables) = match &fetched {
        Some(open) => {
            let tables = tables_used(&open.ready.planned.bound);
            (Arc::clone(&open.ready.planned.columns), Spool::default(), tables)
        }
        None => collect(frame, &prepared, given.params)?,
    };
    let used = Some(services.portals.used.begin(&tables));
    let tables = tables_placed(&columns);
    let view = match tables.is_empty() {
        true => None,
        false => {
            let mut txn = frame.txn.borrow_mut();
            txn.begin_statement()?;
            Some(txn.end_statement_holding()?)
        }
    };
    let (mut rows, mut held) = (None, None);
    if cursor.scroll {
        let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
        let mut reserved = services.memory.keep().lend().reserve("a cursor with SCROLL");
        let (mut all, mut batch) = (Batch::of_types(&types), Batch::default());
        while spool.next(&mut batch)? {
            all.append(&batch);
            reserved.resize(all.heap_bytes() as u64)?;
        }
        (rows, held) = (Some(all), Some(reserved));
    }
    let mut portal = Portal::new(prepared, given.params.to_vec());
    portal.set_name(name);
    let memory = services.memory.keep();
    match fetched {
        Some(open) => portal.open(open),
        None => portal.hold(Held::new(columns, (None, spool), None, lives)),
    }
    Ok(SqlCursor {
        _kept: services.memory.for_kept(&services.settings, text)?,
        text: text.into(),
        at: services.clocks.statement_started(),
        portal,
        binary: cursor.binary,
        rows,
        has_all: true,
        held,
        position: 0,
        hold: cursor.hold,
        // As long as it is not none it ends with the transaction.
        transaction: Some(0),
        serial: services.portals.number(),
        used,
        place: Places::new(tables, locks, view, frame.catalog, memory.lend().account),
    })
}

/// Columns and rows of a query, and the tables that it uses.
type Collected = (Arc<[OutputColumn]>, Spool, Arc<[Oid]>);

/// Reads all rows of a query.
fn collect(frame: &Frame<'_>, prepared: &Prepared, params: &[Value]) -> Result<Collected, Failure> {
    let services = frame.services;
    let mut nowhere = Nowhere;
    let mut kept = Kept::new(&mut nowhere, services.memory.keep());
    let used = frame.inside(|frame| {
        let planned = prepared.plan(frame.catalog, &services.settings.time_zone, false)?;
        let client = Client::new(&mut kept);
        let mut results = Results::aside(&client, services.memory.lend());
        results.streams = true;
        results.begin(&planned.columns);
        frame.execute(&planned.bound, params, &mut results)?;
        results.finish()?;
        Ok(tables_used(&planned.bound))
    })?;
    Ok((kept.columns.take().unwrap_or_default(), std::mem::take(&mut kept.rows), used))
}

/// A query that locks its rows, opened; none where they cannot be locked as they are fetched.
fn open_to_lock(
    frame: &Frame<'_>,
    prepared: &Prepared,
    params: &[Value],
    lives: Lives,
) -> Result<Option<Box<Open>>, Failure> {
    frame.inside(|frame| {
        frame.txn.borrow_mut().begin_statement()?;
        let opened = open_below(frame, prepared, params, lives);
        let mut txn = frame.txn.borrow_mut();
        match opened {
            Ok(Some(mut open)) => {
                open.view = Some(txn.end_statement_holding()?);
                Ok(Some(open))
            }
            Ok(None) => {
                txn.end_statement()?;
                Ok(None)
            }
            Err(error) => {
                txn.abort_statement()?;
                Err(error)
            }
        }
    })
}

/// The same within the statement whose view it is to have.
fn open_below(
    frame: &Frame<'_>,
    prepared: &Prepared,
    params: &[Value],
    lives: Lives,
) -> Result<Option<Box<Open>>, Failure> {
    let settings = &frame.services.settings;
    let memory = frame.services.memory.keep();
    let planned = prepared.plan(frame.catalog, &settings.time_zone, false)?;
    let mut ready = Ready::new(planned, settings.executor, settings.epoch());
    if !ready.compiled.can_set_aside() {
        return Ok(None);
    }
    frame.with_context(params, |cx| ready.compiled.open(cx))?;
    let mut open = Box::new(Open::new(ready, params.into(), lives));
    open.detach(frame, &memory)?;
    Ok(Some(open))
}

/// FETCH, MOVE: over how many rows.
pub(crate) fn fetch(frame: &Frame<'_>, fetch: &Fetch, sink: &mut dyn StatementSink) -> Result<u64, SqlError> {
    let (services, name) = (frame.services, &fetch.name.text);
    reach_opened(frame, fetch)?;
    if let Some(count) = fetch_opened(services, fetch, sink)? {
        return Ok(count);
    }
    let fetched = frame.with_context(&[], |cx| services.cursors.fetch(cx, name, fetch.direction, sink));
    fetched.unwrap_or_else(|| Err(missing(name)))
}

fn movement_of(direction: Direction) -> Movement {
    match direction {
        Direction::Forward(count) => Movement::Forward(count),
        Direction::Backward(count) => Movement::Backward(count),
        Direction::Absolute(number) => Movement::Absolute(number),
        Direction::Relative(count) => Movement::Relative(count),
    }
}

/// Fetches the rows that a cursor is about to pass which a function has opened, and which locks them then.
pub(crate) fn reach_opened(frame: &Frame<'_>, fetch: &Fetch) -> Result<(), SqlError> {
    let (portals, name) = (&frame.services.portals, &fetch.name.text);
    if !portals.fetches(name) {
        return Ok(());
    }
    let reached = frame.with_context(&[], |cx| portals.reach(cx, name, movement_of(fetch.direction)));
    reached.map_err(SqlError::from)
}

/// The same of a cursor that a function has opened; none where there is none of that name.
pub(crate) fn fetch_opened(
    services: &Services,
    fetch: &Fetch,
    sink: &mut dyn StatementSink,
) -> Result<Option<u64>, SqlError> {
    let name = &fetch.name.text;
    let Some(columns) = columns_of_opened(services, name) else { return Ok(None) };
    let rows = services.portals.fetch(name, movement_of(fetch.direction))?.unwrap_or_default();
    sink.begin(&columns)?;
    if rows.rows > 0 {
        sink.batch(&rows)?;
    }
    Ok(Some(rows.rows as u64))
}

/// The columns of a cursor that a function has opened.
pub(crate) fn columns_of_opened(services: &Services, name: &str) -> Option<Vec<OutputColumn>> {
    let shape = services.portals.columns(name)?;
    let column = |(name, ty): &(Arc<str>, SqlType)| OutputColumn::new(Arc::clone(name), ty.clone());
    Some(shape.fields.iter().map(column).collect())
}

/// CLOSE.
pub(crate) fn close(services: &Services, name: Option<&Name>) -> Result<(), SqlError> {
    let Some(Name { text: name, .. }) = name else {
        services.cursors.clear();
        services.portals.clear();
        return Ok(());
    };
    match services.portals.close(name) || services.cursors.close(name)? {
        true => Ok(()),
        false => Err(missing(name)),
    }
}

/// Refuses the name of another cursor.
pub(crate) fn check_free(services: &Services, name: &str) -> Result<(), SqlError> {
    services.cursors.check_free(name)?;
    match services.portals.has(name) {
        true => Err(SqlError::new(sqlstate::DUPLICATE_CURSOR, format!("cursor \"{name}\" already exists"))),
        false => Ok(()),
    }
}

pub(crate) fn missing(name: &str) -> SqlError {
    SqlError::new(sqlstate::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}
