//! Statements that the session runs for a function and that define nothing: SHOW and SET, EXPLAIN, CALL and DO, COPY of
//! files, CHECKPOINT, DECLARE, FETCH and CLOSE, PREPARE, EXECUTE and DEALLOCATE, DISCARD.
//!
//! 1. Rows that such a statement yields come back as a query over them: INTO, FOR, RETURN QUERY and cursors take those.
//! 2. What SET asks for holds at once for the function that says it, and for the session once its statement is done.
//! 3. CALL and DO as a text of EXECUTE cannot end the transaction.

use verso_exec::context::{Given, Served, SettingAccess};
use verso_exec::plan::{OutputColumn as PlanColumn, Plan, Statement as Bound, TypedExpr};
use verso_types::{Batch, SqlType, Value};

use crate::client::{Client, CommandTag, Notice, OutputColumn, Results, StatementSink};
use crate::cursors::served;
use crate::executing;
use crate::explain::{Explained, explain};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::framed;
use crate::plans::{Done, Job, SHOW_ALL_COLUMNS};
use crate::session::check_resets;
use crate::settings::ShownModes;
use verso_parser::syntax::{CopyPlace, Discarded, ExecutePurpose, Parsed, Statement, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

/// Runs one.
pub(crate) fn serve(
    frame: &Frame<'_>,
    parsed: &Parsed,
    text: &str,
    given: Given<'_>,
) -> Result<Served, Failure> {
    let services = frame.services;
    match &parsed.statement {
        Statement::Show(name) => Ok(texts(&[services.shown_as(&name.text)?])),
        Statement::ShowAll => Ok(table(&SHOW_ALL_COLUMNS, services.show_all())),
        Statement::Set { name, value, local } => set(frame, &name.text, value.as_deref(), *local),
        Statement::Reset(name) => set(frame, &name.text, None, false),
        Statement::ResetAll => {
            for name in services.settings.changed_names() {
                services.set_setting(name, None, false)?;
            }
            Ok(Served::default())
        }
        Statement::SetSessionCharacteristics(modes) => {
            let on = |value: bool| if value { "on" } else { "off" };
            let asked = [
                ("default_transaction_isolation", modes.isolation.map(|level| level.as_str())),
                ("default_transaction_read_only", modes.read_only.map(on)),
                ("default_transaction_deferrable", modes.deferrable.map(on)),
                ("default_transaction_savepoints", modes.savepoints.map(on)),
            ];
            for (name, value) in asked {
                if value.is_some() {
                    services.set_setting(name, value, false)?;
                }
            }
            Ok(Served::default())
        }
        Statement::ActAs { who, local, .. } => {
            services.ask_for_role(who, *local)?;
            Ok(Served::default())
        }
        Statement::SetTransaction(modes) => set_transaction(frame, modes, text, given),
        Statement::Checkpoint => {
            services.checkpoint()?;
            Ok(Served::default())
        }
        Statement::Copy(copy) if copy.place == CopyPlace::Client => {
            let text = match given.sql {
                true => "cannot COPY to/from client in an SQL function",
                false => "cannot COPY to/from client in PL/pgSQL",
            };
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into())
        }
        Statement::Declare(cursor) => {
            served::declare(frame, cursor, text, given)?;
            Ok(Served::default())
        }
        Statement::Fetch(fetch) => {
            let held = Some(services.memory.lend().reserve("rows of FETCH"));
            let mut gathered = Gathered { held, ..Gathered::default() };
            let rows = served::fetch(frame, fetch, &mut gathered)?;
            let yields = (!fetch.moves).then(|| values(gathered.columns, gathered.rows));
            // As in PostgreSQL the rows of MOVE do not count.
            Ok(Served { rows: if fetch.moves { 0 } else { rows }, yields })
        }
        Statement::Close(name) => {
            served::close(services, name.as_ref())?;
            Ok(Served::default())
        }
        Statement::Prepare(prepare) => {
            executing::prepare(frame, prepare, text)?;
            Ok(Served::default())
        }
        Statement::Deallocate(name) => {
            services.named.deallocate(name.as_ref().map(|name| name.text.as_str()))?;
            Ok(Served::default())
        }
        Statement::Discard(part) => {
            // Plans that run stay: one that does not fit any more is made anew before it runs again.
            if *part == Discarded::Sequences {
                services.sequences.forget();
            }
            Ok(Served::default())
        }
        Statement::Explain { .. }
        | Statement::Call(_)
        | Statement::Do(_)
        | Statement::Copy(_)
        | Statement::Execute { .. } => run(frame, parsed, text, given),
        _ => Err(SqlError::unsupported("this statement in a function").into()),
    }
}

/// One that has a frame of its own.
fn run(frame: &Frame<'_>, parsed: &Parsed, text: &str, given: Given<'_>) -> Result<Served, Failure> {
    let held = Some(frame.services.memory.lend().reserve("rows of a statement in a function"));
    let mut gathered = Gathered { held, ..Gathered::default() };
    let tag = {
        let client = Client::new(&mut gathered);
        let mut results = Results::aside(&client, frame.services.memory.lend());
        let job = Job::of(parsed, text, given.params);
        let outer = frame.services.may_end.replace(false);
        let done = frame.inside(|frame| match (&parsed.statement, given.query) {
            (Statement::Explain { options, .. }, Some(query)) => {
                explain(frame, query, *options, Explained::default(), given.params, &mut results)
                    .map(Done::Tag)
            }
            (Statement::Execute { name, args, purpose }, _) => {
                executing::execute(frame, (name, args, purpose), &mut results)
            }
            _ => framed::statement(frame, &job, given.types, &mut results),
        });
        frame.services.may_end.set(outer);
        let tag = done?.into_tag();
        results.finish()?;
        tag
    };
    let yields = (!gathered.columns.is_empty()).then(|| values(gathered.columns, gathered.rows));
    // As in PostgreSQL, of a change by EXECUTE only the rows count that it yields.
    let counts = match &parsed.statement {
        Statement::Execute { purpose: ExecutePurpose::Run, .. } => yields.is_some(),
        _ => true,
    };
    Ok(Served { rows: if counts { tag.rows } else { 0 }, yields })
}

/// SET and RESET.
fn set(frame: &Frame<'_>, name: &str, value: Option<&str>, local: bool) -> Result<Served, Failure> {
    if value.is_none() {
        check_resets(name)?;
    }
    frame.services.set_setting(name, value, local)?;
    Ok(Served::default())
}

/// SET TRANSACTION: what stays as it is may be said at any time, all else at the beginning of a transaction.
fn set_transaction(
    frame: &Frame<'_>,
    modes: &TransactionModes,
    text: &str,
    given: Given<'_>,
) -> Result<Served, Failure> {
    if let Some(ends) = given.ends {
        ends.set_modes(text)?;
        return Ok(Served::default());
    }
    if let Some(known) = frame.services.transaction.get() {
        check_late(known, modes, Late::QUERIED)?;
    }
    if modes.read_only == Some(true) {
        frame.services.set_read_only(&mut frame.txn.borrow_mut(), true);
    }
    Ok(Served::default())
}

/// Why it is late for SET TRANSACTION.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    /// A query has run.
    pub(crate) queried: bool,
    /// A savepoint is open.
    pub(crate) nested: bool,
}

impl Late {
    /// Within a function, which a query has called.
    pub(crate) const QUERIED: Late = Late { queried: true, nested: false };
}

/// Refuses what SET TRANSACTION cannot change behind the first query, or within a savepoint: what stays as it is may be said again, and the
/// transaction may become READ ONLY, up to the end of the savepoint that it is in.
///
/// # Errors
/// 25001
pub(crate) fn check_late(known: ShownModes, wanted: &TransactionModes, late: Late) -> Result<(), SqlError> {
    let others = |wanted: Option<bool>, known: bool| wanted.is_some_and(|wanted| wanted != known);
    let text = match () {
        () if wanted.snapshot.is_some() => "SET TRANSACTION SNAPSHOT must be called before any query",
        () if wanted.isolation.is_some_and(|level| level.as_str() != known.isolation) => match late.queried {
            true => "SET TRANSACTION ISOLATION LEVEL must be called before any query",
            false => "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
        },
        () if known.read_only && wanted.read_only == Some(false) => match late.nested {
            true => "cannot set transaction read-write mode inside a read-only transaction",
            false => "transaction read-write mode must be set before any query",
        },
        () if others(wanted.deferrable, known.deferrable) => match late.nested {
            true => "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction",
            false => "SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
        },
        () if others(wanted.savepoints, known.savepoints) => {
            "SET TRANSACTION [NO] SAVEPOINT must be called before any query"
        }
        () => return Ok(()),
    };
    Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text))
}

/// A row of texts with their names.
fn texts(columns: &[(String, String)]) -> Served {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    table(&names, vec![columns.iter().map(|(_, value)| value.clone()).collect()])
}

fn table(names: &[&str], rows: Vec<Vec<String>>) -> Served {
    let columns = names.iter().map(|name| OutputColumn::new(*name, SqlType::Text)).collect();
    let count = rows.len() as u64;
    let rows = rows.into_iter().map(|row| row.iter().map(|text| Value::text(text)).collect()).collect();
    Served { rows: count, yields: Some(values(columns, rows)) }
}

/// Rows as the query that yields them.
fn values(columns: Vec<OutputColumn>, rows: Vec<Vec<Value>>) -> Box<Bound> {
    let of_row = |row: Vec<Value>| {
        row.into_iter()
            .zip(&columns)
            .map(|(value, column)| TypedExpr::literal(value, column.ty.clone()))
            .collect()
    };
    let rows = rows.into_iter().map(of_row).collect();
    let named = |column: &OutputColumn| PlanColumn::new(column.name.clone(), column.ty.clone());
    Box::new(Bound::Query(Plan::Values { rows, columns: columns.iter().map(named).collect() }))
}

/// What a value takes as an expression.
const VALUE_BYTES: usize = 2 * size_of::<TypedExpr>();

/// Keeps the few rows of such a statement.
#[derive(Default)]
struct Gathered {
    columns: Vec<OutputColumn>,
    rows: Vec<Vec<Value>>,
    /// For them, where there may be many.
    held: Option<verso_exec::memory::Reservation>,
}

impl StatementSink for Gathered {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        if let Some(held) = &mut self.held {
            // As rows of the query that they become.
            held.add(batch.heap_bytes() as u64 + (batch.rows * batch.columns.len() * VALUE_BYTES) as u64)?;
        }
        let types: Vec<SqlType> = self.columns.iter().map(|column| column.ty.clone()).collect();
        self.rows.extend((0..batch.rows).map(|row| batch.row(row, &types)));
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
        Ok(())
    }
}
