//! PREPARE, EXECUTE, DEALLOCATE; DECLARE, FETCH, MOVE, CLOSE.
//!
//! C1. A cursor reads the state at DECLARE (T2): it is a portal, opened at once. One with SCROLL collects its rows then.
//! C2. A cursor ends with its transaction, or is held beyond its commit (WITH HOLD).
//! C3. A position is before the first row, on a row, or behind the last: 0, 1 … n, n + 1.

mod position;

use std::sync::Arc;

use verso_exec::plan::{Plan, Statement as Bound};
use verso_types::{Batch, SqlType, Value};

use crate::Session;
use crate::client::Results;
use crate::client::{Collect, Nowhere};
use crate::client::{CommandTag, OutputColumn, StatementSink};
use crate::plans::Prepared;
use crate::plans::{Done, Job};
use crate::portal::{Portal, PortalEnd};
use crate::transaction::{Block, Ending, tag};
use verso_parser::syntax::{Cursor, Direction, Expr, Fetch, Name, Prepare, Statement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

pub(crate) use position::{Places, Position};

/// A prepared statement that has a name.
#[derive(Debug)]
pub(crate) struct Named {
    prepared: Arc<Prepared>,
    /// By PREPARE, not by the protocol.
    from_sql: bool,
    /// When.
    at: i64,
}

/// An open cursor.
#[derive(Debug)]
pub(crate) struct SqlCursor {
    /// The text of its DECLARE, and when that was.
    text: Box<str>,
    at: i64,
    portal: Portal,
    /// With BINARY.
    binary: bool,
    /// All rows, of one with SCROLL.
    rows: Option<Batch>,
    position: i64,
    hold: bool,
    /// The transaction it was declared in, until that has committed.
    transaction: Option<u64>,
    depth: usize,
    place: Places,
}

impl Session {
    // ── prepared statements ──────────────────────────────────────────────────────────────────────────────────────────

    /// PREPARE.
    pub(crate) fn prepare_named(&mut self, job: &Job<'_>, prepare: &Prepare) -> Result<CommandTag, SqlError> {
        let name = &prepare.name.text;
        if self.services.statements.contains_key(name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_STATEMENT, text));
        }
        let parsed = Some((*prepare.statement).clone());
        let prepared = self.prepare_parsed(job.shown().into(), parsed, &prepare.types)?;
        self.keep_statement(name, Arc::new(prepared), true);
        Ok(tag("PREPARE"))
    }

    /// EXECUTE.
    pub(crate) fn execute_named(
        &mut self,
        name: &Name,
        args: &[Expr],
        job: &Job<'_>,
        sink: &mut dyn StatementSink,
    ) -> Result<Done, SqlError> {
        let prepared = Arc::clone(self.statement(&name.text)?);
        if args.len() != prepared.params().len() {
            let text = format!("wrong number of parameters for prepared statement \"{}\"", name.text);
            let detail = format!("Expected {} parameters but got {}.", prepared.params().len(), args.len());
            return Err(SqlError::syntax(text).with_detail(detail));
        }
        let values = if args.is_empty() { Vec::new() } else { self.values_of(args, &prepared)? };
        let inner = Job::prepared(&prepared, &values);
        let inner = inner.ok_or_else(|| SqlError::internal("an empty statement was prepared"))?;
        self.transactional(&Job { ends: job.ends, ..inner }, sink)
    }

    /// The values of EXECUTE's arguments, in the parameters' types. Opens the transaction that the statement runs in.
    fn values_of(&mut self, args: &[Expr], prepared: &Prepared) -> Result<Vec<Value>, SqlError> {
        self.ensure_active_for(false)?;
        let mut nowhere = Nowhere;
        let mut results = Results::new(&mut nowhere);
        let batch = self.framed(false, &mut results, |frame, _| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            let row = args
                .iter()
                .zip(prepared.params())
                .enumerate()
                .map(|(index, (arg, ty))| binder.argument(arg, index, ty))
                .collect::<Result<Vec<_>, SqlError>>()?;
            let columns = prepared.params().iter().map(|ty| OutputColumn::new("", ty.clone())).collect();
            let bound = Bound::Query(Plan::Values { rows: vec![row], columns });
            let mut rows = Vec::new();
            let mut sink = Collect(&mut rows);
            let mut results = Results::new(&mut sink);
            results.streams = true;
            frame.execute(&bound, &[], &mut results)?;
            Ok(rows.pop())
        })?;
        let batch = batch.ok_or_else(|| SqlError::internal("no row of arguments"))?;
        Ok(batch.row(0, prepared.params()))
    }

    /// The prepared statement of that name, of PREPARE or of the protocol's Parse.
    ///
    /// # Errors
    /// 26000.
    pub fn statement(&self, name: &str) -> Result<&Arc<Prepared>, SqlError> {
        self.services.statements.get(name).map(|named| &named.prepared).ok_or_else(|| {
            let text = format!("prepared statement \"{name}\" does not exist");
            SqlError::new(sqlstate::INVALID_STATEMENT_NAME, text)
        })
    }

    /// Gives a prepared statement a name, so that EXECUTE finds it.
    ///
    /// # Errors
    /// 42P05 if there is one of that name.
    pub fn name_statement(&mut self, name: &str, prepared: Arc<Prepared>) -> Result<(), SqlError> {
        if self.services.statements.contains_key(name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_STATEMENT, text));
        }
        self.keep_statement(name, prepared, false);
        Ok(())
    }

    fn keep_statement(&mut self, name: &str, prepared: Arc<Prepared>, from_sql: bool) {
        let named = Named { prepared, from_sql, at: self.services.now_rough() };
        self.services.statements.insert(name.to_string(), named);
    }

    /// Forgets a named statement; whether there was one.
    pub fn forget_statement(&mut self, name: &str) -> bool {
        self.services.statements.remove(name).is_some()
    }

    /// DEALLOCATE.
    pub(crate) fn deallocate(&mut self, name: Option<&Name>) -> Result<CommandTag, SqlError> {
        let Some(name) = name else {
            self.services.statements.clear();
            return Ok(tag("DEALLOCATE ALL"));
        };
        self.statement(&name.text)?;
        self.services.statements.remove(&name.text);
        Ok(tag("DEALLOCATE"))
    }

    /// DISCARD ALL.
    pub(crate) fn discard_all(&mut self) -> Result<CommandTag, SqlError> {
        if self.active.is_some() {
            let text = "DISCARD ALL cannot run inside a transaction block";
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        self.services.cursors.clear();
        self.services.statements.clear();
        self.services.forget_sequences();
        self.services.instance.engine.advisory_unlock_all(&self.services.owner);
        self.reset_all()?;
        Ok(tag("DISCARD ALL"))
    }

    /// What a cursor of DECLARE yields; none where there is no such cursor.
    pub fn cursor_columns(&self, name: &str) -> Option<&[OutputColumn]> {
        self.services.cursors.get(name)?.columns()
    }

    // ── cursors ──────────────────────────────────────────────────────────────────────────────────────────────────────

    /// DECLARE.
    pub(crate) fn declare(
        &mut self,
        job: &Job<'_>,
        cursor: &Cursor,
        sink: &mut dyn StatementSink,
    ) -> Result<CommandTag, SqlError> {
        let name = &cursor.name.text;
        let block = self.series || !self.autocommit || self.active.is_some();
        if !block && !cursor.hold {
            let text = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        }
        if self.services.cursors.contains_key(name) {
            let text = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_CURSOR, text));
        }
        let mut parsed = (*cursor.query).clone();
        if let Statement::Query(query) = &mut parsed.statement {
            query.places = true;
        }
        let locks = matches!(&parsed.statement, Statement::Query(query) if !query.locks.is_empty());
        let types: Vec<_> = job.params.iter().map(|value| Some(verso_types::text::type_of(value))).collect();
        let prepared = Arc::new(self.prepare_parsed(job.shown().into(), Some(parsed), &types)?);
        let mut portal = self.bind(&prepared, job.params.to_vec())?;
        portal.set_name(name);
        self.ensure_active_for(false)?;
        let place = self.places(&portal, locks)?;
        self.open_portal(&mut portal, cursor.hold, sink)?;
        let depth = self.active.as_ref().map_or(0, |active| active.depth());
        let transaction = Some(self.transaction_serial());
        let hold = cursor.hold;
        let (text, at) = (job.shown().into(), self.services.statement_started.get());
        let binary = cursor.binary;
        let mut open =
            SqlCursor { text, at, portal, binary, rows: None, position: 0, hold, transaction, depth, place };
        if cursor.scroll {
            let mut batches = Vec::new();
            self.advance(&mut open.portal, 0, &mut Collect(&mut batches))?;
            let types: Vec<_> =
                prepared.columns().unwrap_or_default().iter().map(|column| column.ty.clone()).collect();
            let mut rows = Batch::of_types(&types);
            batches.iter().for_each(|batch| rows.append(batch));
            let bytes = rows.heap_bytes() as u64;
            let limit_bytes = self.services.settings.work_memory_bytes;
            if bytes > limit_bytes {
                let what = "a cursor with SCROLL";
                return Err(verso_exec::ExecError::OutOfMemory { what, limit_bytes }.into());
            }
            open.rows = Some(rows);
        }
        self.services.cursors.insert(name.clone(), open);
        if let Some(active) = self.active.take_if(|active| active.block == Block::Statement) {
            self.end(active, Ending::Commit)?;
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
        let Some(mut cursor) = self.services.cursors.remove(name) else {
            let text = format!("cursor \"{name}\" does not exist");
            return Err(SqlError::new(sqlstate::INVALID_CURSOR_NAME, text));
        };
        let mut silent = Nowhere;
        let sink: &mut dyn StatementSink = if fetch.moves { &mut silent } else { sink };
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
        self.services.cursors.insert(name.clone(), cursor);
        let count = count?;
        let word = if fetch.moves { "MOVE" } else { "FETCH" };
        Ok(CommandTag { text: format!("{word} {count}"), rows: count })
    }

    /// Of a cursor without SCROLL: rows ahead only.
    fn fetch_forward(
        &mut self,
        cursor: &mut SqlCursor,
        direction: Direction,
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        let backward = || {
            SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                .with_hint("Declare it with SCROLL option to enable backward scan.")
        };
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
            self.services.cursors.clear();
            return Ok(tag("CLOSE CURSOR ALL"));
        };
        if self.services.cursors.remove(&name.text).is_none() {
            let text = format!("cursor \"{}\" does not exist", name.text);
            return Err(SqlError::new(sqlstate::INVALID_CURSOR_NAME, text));
        }
        Ok(tag("CLOSE CURSOR"))
    }

    /// When a transaction ends, its cursors do, but for those that are held (C2).
    pub(crate) fn end_cursors(&mut self, committed: bool) {
        self.services.cursors.retain(|_, cursor| {
            let keeps = cursor.transaction.is_none() || committed && cursor.hold;
            cursor.transaction = None;
            cursor.place.end();
            keeps
        });
    }

    /// Whether the open transaction has declared a cursor that would outlive it.
    pub(crate) fn declares_held_cursors(&self) -> bool {
        self.services.cursors.values().any(|cursor| cursor.hold && cursor.transaction.is_some())
    }

    /// RELEASE hands on those declared behind the savepoint to what is around it.
    pub(crate) fn keep_cursors_at(&mut self, depth: usize) {
        self.services.cursors.values_mut().for_each(|cursor| cursor.depth = cursor.depth.min(depth));
    }

    /// ROLLBACK TO ends those declared behind the savepoint.
    pub(crate) fn end_cursors_above(&mut self, depth: usize) {
        self.services.cursors.retain(|_, cursor| cursor.transaction.is_none() || cursor.depth <= depth);
    }
}

impl Named {
    /// As `pg_prepared_statements` shows it.
    pub(crate) fn row(&self, name: &str) -> Vec<Value> {
        let columns = self.prepared.columns();
        vec![
            Value::text(name),
            Value::Text(Arc::clone(self.prepared.text())),
            Value::Timestamptz(self.at),
            type_names(self.prepared.params().iter()),
            columns.map_or(Value::Null, |columns| type_names(columns.iter().map(|column| &column.ty))),
            Value::Bool(self.from_sql),
        ]
    }
}

fn type_names<'t>(types: impl Iterator<Item = &'t SqlType>) -> Value {
    Value::Array(types.map(|ty| Value::text(&ty.pg_name())).collect())
}

impl SqlCursor {
    /// As `pg_cursors` shows it.
    pub(crate) fn row(&self, name: &str) -> Vec<Value> {
        let scrolls = Value::Bool(self.rows.is_some());
        let flags = [Value::Bool(self.hold), Value::Bool(self.binary), scrolls];
        let head = [Value::text(name), Value::text(&self.text)];
        head.into_iter().chain(flags).chain([Value::Timestamptz(self.at)]).collect()
    }

    /// What its rows are made of.
    pub(crate) fn columns(&self) -> Option<&[OutputColumn]> {
        Some(self.place.visible(self.portal.columns()?))
    }

    /// Where it stands.
    pub(crate) fn place(&self) -> &Places {
        &self.place
    }

    /// Moves over the collected rows and sends those passed.
    fn scroll(
        &mut self,
        rows: &Batch,
        direction: Direction,
        sink: &mut dyn StatementSink,
    ) -> Result<u64, SqlError> {
        sink.begin(self.columns().unwrap_or_default())?;
        let last = rows.rows as i64;
        let (at, end) = (self.position, last + 1);
        let one = |number: i64| (number.clamp(0, end), vec![number]);
        let (position, numbers) = match direction {
            Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0) => one(at),
            Direction::Forward(Some(count)) if count < 0 => run(at, -1, count.saturating_neg(), end),
            Direction::Backward(Some(count)) if count < 0 => run(at, 1, count.saturating_neg(), end),
            Direction::Forward(count) => run(at, 1, count.unwrap_or(i64::MAX), end),
            Direction::Backward(count) => run(at, -1, count.unwrap_or(i64::MAX), end),
            Direction::Relative(count) => one(at.saturating_add(count)),
            Direction::Absolute(number) if number < 0 => one(end.saturating_add(number)),
            Direction::Absolute(number) => one(number),
        };
        self.position = position;
        self.place.stand(rows, position);
        let selection: Vec<u32> = numbers
            .into_iter()
            .filter(|number| (1..=last).contains(number))
            .map(|number| (number - 1) as u32)
            .collect();
        if !selection.is_empty() {
            sink.batch(&self.place.without(rows.gather(&selection)))?;
        }
        Ok(selection.len() as u64)
    }
}

/// So many steps from `at`: where they lead, and over which rows. Who asks for more rows than there are ends beyond the
/// last of them.
fn run(at: i64, step: i64, count: i64, end: i64) -> (i64, Vec<i64>) {
    let mut numbers = Vec::new();
    let mut position = at;
    for _ in 0..count {
        position += step;
        if !(1..end).contains(&position) {
            return (position.clamp(0, end), numbers);
        }
        numbers.push(position);
    }
    (position, numbers)
}
