//! Runs the steps of a compiled function.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_types::{Array, Batch, Dimension, RowType, SqlType, TypeError, Value};

use super::block::{reraise, run_block};
use super::call_procedure;
use super::checks::{check_strict, check_width};
use super::cursor::{Looping, begin_loop, close, end_loop, fetch, open};
use super::diagnostics::diagnose;
use super::dynamic::{NO_DATA, execute};
use super::held::Held;
use super::message::raise;
use super::program::{Embedded, Program, Range, RowAssignment, Step, StepKind, slots};
use super::site::{CallSite, context_line};
use crate::aggregate::payload;
use crate::context::{Given, HeldSettings, Served, Services, TransactionEnds};
use crate::error::{ExecError, Raised, Result};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext, Sink, cast_row};
use crate::expr::RowExpr;
use crate::plan::{PlFunction, PlInto, PlPlace, PlReturn, PlTargets, PlVariable, Statement};
use crate::spill::Spool;

/// Times a statement of a block that may commit is tried again on a new snapshot.
const RESTARTS_MAX: u32 = 5;

/// A call under way.
pub(crate) struct Frame {
    pub(super) function: Arc<PlFunction>,
    pub slots: Vec<Value>,
    /// The memory that they take.
    pub(super) held: Held,
    /// The variables in the slots.
    pub(super) variables: Arc<[PlVariable]>,
    /// The fields that RECORD variables have, by slot.
    shapes: Vec<Option<Arc<RowType>>>,
    /// What RETURN gave.
    pub value: Value,
    /// The columns of the record that RETURN gave.
    pub value_shape: Option<Arc<RowType>>,
    /// What RETURN of a trigger gave.
    pub record: Option<Vec<Value>>,
    /// What RETURN NEXT and RETURN QUERY gave.
    pub rows: Spool,
    row_types: Vec<SqlType>,
    pending: Batch,
    pub(super) row_count: i64,
    /// Savepoints open in this call.
    pub(super) savepoints: u32,
    /// Cursors over whose rows a loop runs, by their slots.
    pub(super) looping: BTreeSet<usize>,
    /// Errors whose handlers run.
    pub(super) handled: Vec<ExecError>,
    /// The catalog and the settings after so many definitions.
    renewed: Option<(u32, Arc<HeldSettings>)>,
}

/// Where to go on.
#[derive(Debug)]
pub(super) enum Flow {
    Next,
    Exit(Option<Arc<str>>),
    Continue(Option<Arc<str>>),
    Return,
}

impl Frame {
    pub fn new(program: &Program, args: Vec<Value>, row_types: Vec<SqlType>) -> Self {
        Self {
            slots: slots(&program.function, args),
            held: Held::default(),
            function: Arc::clone(&program.function),
            variables: Arc::clone(&program.function.variables),
            shapes: Vec::new(),
            value: Value::Null,
            value_shape: None,
            record: None,
            rows: Spool::default(),
            pending: Batch::of_types(&row_types),
            row_types,
            row_count: 0,
            savepoints: 0,
            looping: BTreeSet::new(),
            handled: Vec::new(),
            renewed: None,
        }
    }

    /// The catalog and the settings, where statements have defined or set something since the call began.
    #[inline]
    fn renewed(&mut self, cx: &ExecContext<'_>) -> Result<Option<(u32, Arc<HeldSettings>)>> {
        let Some(defined) = cx.defined_since() else { return Ok(None) };
        if self.renewed.as_ref().is_none_or(|(known, _)| *known != defined) {
            self.renewed = Some((defined, Arc::new(cx.renewed_catalog()?)));
        }
        Ok(self.renewed.clone())
    }

    /// The value of an expression over the slots.
    #[inline]
    pub fn eval(&self, cx: &ExecContext<'_>, expr: &RowExpr) -> Result<Value> {
        let mut eval = cx.eval();
        eval.params = &self.slots;
        expr.eval_constant(&eval)
    }

    fn holds(&self, cx: &ExecContext<'_>, condition: &RowExpr) -> Result<bool> {
        Ok(self.eval(cx, condition)?.as_bool() == Some(true))
    }

    /// Sets a variable.
    pub fn assign(&mut self, cx: &ExecContext<'_>, slot: usize, value: Value) -> Result<()> {
        let variable = &self.variables[slot];
        if variable.not_null && value.is_null() {
            let message =
                format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", variable.name);
            return Err(TypeError::new("22004", message).into());
        }
        self.held.set(cx, slot, &value)?;
        self.slots[slot] = value;
        Ok(())
    }

    /// The row that a trigger's record is; none where it is none.
    fn record(&self, first: usize) -> Option<Vec<Value>> {
        let width = self.function.trigger.as_ref()?.columns;
        let is_row = self.slots[first + width].as_bool() == Some(true);
        is_row.then(|| self.slots[first..first + width].to_vec())
    }

    /// A row that a trigger returns, as one of its table.
    fn as_row_of_table(
        &self,
        cx: &ExecContext<'_>,
        mut row: Vec<Value>,
        types: &[SqlType],
    ) -> Result<Vec<Value>> {
        let trigger = self.function.trigger.as_ref();
        let (new, width, shown) =
            trigger.map_or((0, 0, 0), |trigger| (trigger.new, trigger.columns, trigger.shown));
        if types.len() != shown {
            let text = "returned row structure does not match the structure of the triggering table";
            return Err(ExecError::raised("42804", text));
        }
        let to: Vec<SqlType> =
            self.variables[new..new + width].iter().map(|column| column.ty.clone()).collect();
        cast_row(cx, &mut row, types, &to[..shown])?;
        // What indexes keep beside the columns is computed anew.
        row.resize(width, Value::Null);
        Ok(row)
    }

    fn set_found(&mut self, found: bool) {
        if let Some(slot) = self.function.found {
            self.slots[slot] = Value::Bool(found);
        }
    }

    pub(super) fn counted(&mut self, rows: u64) {
        self.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
        self.set_found(rows > 0);
    }

    /// Takes a row of the result.
    fn push_row(&mut self, cx: &ExecContext<'_>, values: &[Value]) -> Result<()> {
        self.pending.push_row(values, &self.row_types)?;
        if self.pending.rows >= BATCH_ROWS || self.pending.variable_bytes() >= BATCH_BYTES {
            self.flush(cx)
        } else {
            Ok(())
        }
    }

    /// Completes the spool of rows.
    pub fn flush(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.pending.rows == 0 {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.pending, Batch::of_types(&self.row_types));
        self.rows.push(cx.services.memory, "the rows of a function", batch)
    }

    fn push_batch(&mut self, cx: &ExecContext<'_>, batch: &Batch, types: &[SqlType]) -> Result<()> {
        let function = Arc::clone(&self.function);
        let domains = match &function.returns {
            PlReturn::Rows(declared) if declared.iter().any(SqlType::is_constrained) => Some(declared),
            _ => None,
        };
        if types == self.row_types && domains.is_none() {
            self.flush(cx)?;
            return self.rows.push(cx.services.memory, "the rows of a function", batch.clone());
        }
        // One column may be the whole row.
        if let ([SqlType::Row(row_type)], true) = (types, self.row_types.len() != 1) {
            let fields: Vec<SqlType> = row_type.fields.iter().map(|(_, ty)| ty.clone()).collect();
            for row in 0..batch.rows {
                let mut values = match batch.row(row, types).pop() {
                    Some(Value::Record(values)) => values.to_vec(),
                    _ => vec![Value::Null; fields.len()],
                };
                cast_row(cx, &mut values, &fields, &self.row_types.clone())?;
                self.push_row(cx, &values)?;
            }
            return Ok(());
        }
        for row in 0..batch.rows {
            let mut values = batch.row(row, types);
            cast_row(cx, &mut values, types, domains.unwrap_or(&self.row_types))?;
            self.push_row(cx, &values)?;
        }
        Ok(())
    }

    /// Sets variables from a row of a query.
    pub(super) fn take_row(
        &mut self,
        cx: &ExecContext<'_>,
        targets: &PlTargets,
        mut row: Vec<Value>,
        types: &[SqlType],
        shape: &Arc<RowType>,
    ) -> Result<()> {
        match targets {
            PlTargets::Places(places) => {
                let mut values = row.into_iter().zip(types);
                for place in places {
                    let (value, from) = values.next().unwrap_or((Value::Null, &place.ty));
                    self.put(cx, place, value, from)?;
                }
                Ok(())
            }
            PlTargets::Row { slot, types: to } => {
                row.resize(to.len(), Value::Null);
                cast_row(cx, &mut row, types, to)?;
                self.assign(cx, *slot, Value::Record(row.into()))
            }
            PlTargets::Record { slot } => {
                self.set_shape(*slot, Some(shape));
                self.assign(cx, *slot, Value::Record(row.into()))
            }
            PlTargets::TriggerRow { first, types: to } => {
                row.resize(to.len(), Value::Null);
                cast_row(cx, &mut row, types, to)?;
                for (n, value) in row.into_iter().enumerate() {
                    self.assign(cx, first + n, value)?;
                }
                self.assign(cx, first + to.len(), Value::Bool(true))
            }
        }
    }

    /// Sets the variables of FOREACH to an element, whose fields they get where they are several, or a row.
    fn take_element(
        &mut self,
        cx: &ExecContext<'_>,
        targets: &PlTargets,
        value: Value,
        from: &SqlType,
    ) -> Result<()> {
        if let PlTargets::Places(places) = targets
            && let [place] = places.as_slice()
        {
            return self.put(cx, place, value, from);
        }
        let SqlType::Row(shape) = from else {
            let text = "cannot assign non-composite value to a record variable";
            return Err(ExecError::raised("42804", text));
        };
        let types: Vec<SqlType> = shape.fields.iter().map(|(_, ty)| ty.clone()).collect();
        let row = match value {
            Value::Record(row) => row.to_vec(),
            _ => vec![Value::Null; types.len()],
        };
        self.take_row(cx, targets, row, &types, shape)
    }

    /// Sets a variable or a field to a value of this type.
    pub(super) fn put(
        &mut self,
        cx: &ExecContext<'_>,
        place: &PlPlace,
        mut value: Value,
        from: &SqlType,
    ) -> Result<()> {
        let one = std::slice::from_ref;
        cast_row(cx, std::slice::from_mut(&mut value), one(from), one(&place.ty))?;
        let Some((index, width)) = place.field else { return self.assign(cx, place.slot, value) };
        let more = payload(&value);
        let mut row = match std::mem::replace(&mut self.slots[place.slot], Value::Null) {
            Value::Record(row) => row,
            _ => vec![Value::Null; width].into(),
        };
        let fewer = payload(&row[index]);
        match Arc::get_mut(&mut row) {
            Some(own) => own[index] = value,
            None => {
                let mut copy = row.to_vec();
                copy[index] = value;
                row = copy.into();
            }
        }
        self.slots[place.slot] = Value::Record(row);
        self.held.change(cx, place.slot, more, fewer)
    }

    /// Sets a row or a record to a row, or to NULL.
    fn assign_composite(&mut self, cx: &ExecContext<'_>, assignment: &RowAssignment) -> Result<()> {
        let value = self.eval(cx, &assignment.value)?;
        let (slot, is_record) = match &assignment.target {
            PlTargets::Row { slot, .. } => (*slot, false),
            PlTargets::Record { slot } => (*slot, true),
            PlTargets::Places(_) => return Err(ExecError::raised("XX000", "a row for several variables")),
            PlTargets::TriggerRow { types, .. } => {
                let row = match value {
                    Value::Record(row) => row.to_vec(),
                    _ => vec![Value::Null; types.len()],
                };
                return self.take_row(cx, &assignment.target, row, &assignment.types, &assignment.shape);
            }
        };
        match value {
            Value::Record(row) => {
                self.take_row(cx, &assignment.target, row.to_vec(), &assignment.types, &assignment.shape)
            }
            _ if is_record => {
                self.clear(slot);
                Ok(())
            }
            _ => self.assign(cx, slot, Value::Null),
        }
    }

    /// The fields that a RECORD has; none where it is not assigned.
    pub(super) fn shape(&self, slot: usize) -> Option<&Arc<RowType>> {
        self.shapes.get(slot)?.as_ref()
    }

    fn set_shape(&mut self, slot: usize, shape: Option<&Arc<RowType>>) {
        if self.shapes.len() <= slot {
            self.shapes.resize(slot + 1, None);
        }
        let same = match (&self.shapes[slot], shape) {
            (Some(known), Some(shape)) => Arc::ptr_eq(known, shape),
            _ => false,
        };
        if !same {
            self.shapes[slot] = shape.cloned();
        }
    }

    /// A variable becomes what it is before it is assigned.
    pub(super) fn clear(&mut self, slot: usize) {
        self.slots[slot] = Value::Null;
        self.held.forget(slot);
        if let Some(shape) = self.shapes.get_mut(slot) {
            *shape = None;
        }
    }
}

/// A row with the columns that are declared.
fn as_declared(
    cx: &ExecContext<'_>,
    mut row: Vec<Value>,
    shape: &RowType,
    types: &[SqlType],
    mismatch: &str,
) -> Result<Vec<Value>> {
    let given: Vec<SqlType> = shape.fields.iter().map(|(_, ty)| ty.clone()).collect();
    if given.len() != types.len() {
        let (given, wanted) = (given.len(), types.len());
        return Err(ExecError::Raised(Box::new(Raised {
            sqlstate: "42804".into(),
            message: mismatch.into(),
            detail: Some(format!(
                "Number of returned columns ({given}) does not match expected column count ({wanted})."
            )),
            hint: None,
        })));
    }
    cast_row(cx, &mut row, &given, types)?;
    Ok(row)
}

/// Rows of a query whose caller said which columns it wants.
fn check_columns(frame: &Frame, types: &[SqlType]) -> Result<()> {
    if frame.function.returns != PlReturn::Records {
        return Ok(());
    }
    check_types("structure of query does not match function result type", types.iter(), &frame.row_types)
}

/// Whether a row's columns have the types that are wanted of them; `text` says of what the error is (42804).
pub(super) fn check_types<'t>(
    text: &str,
    given: impl ExactSizeIterator<Item = &'t SqlType>,
    wanted: &[SqlType],
) -> Result<()> {
    let mismatch = |detail: String| {
        Err(ExecError::Raised(Box::new(Raised {
            sqlstate: "42804".into(),
            message: text.into(),
            detail: Some(detail),
            hint: None,
        })))
    };
    if given.len() != wanted.len() {
        let (given, wanted) = (given.len(), wanted.len());
        return mismatch(format!(
            "Number of returned columns ({given}) does not match expected column count ({wanted})."
        ));
    }
    for (n, (given, wanted)) in given.zip(wanted).enumerate() {
        if *given != SqlType::Unknown && !given.same_base(wanted) {
            let (given, wanted) = (given.pg_name(), wanted.pg_name());
            return mismatch(format!(
                "Returned type {given} does not match expected type {wanted} in column {}.",
                n + 1
            ));
        }
    }
    Ok(())
}

impl Program {
    /// Runs the function; whether a RETURN ended it.
    pub(crate) fn run(&mut self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<bool> {
        frame.set_found(false);
        match run_block(&mut self.body, cx, frame)? {
            Flow::Return => Ok(true),
            Flow::Next => Ok(false),
            Flow::Exit(_) | Flow::Continue(_) => {
                Err(ExecError::raised("42601", "EXIT or CONTINUE outside a loop"))
            }
        }
    }
}

pub(super) fn run_steps(steps: &mut [Step], cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    for step in steps {
        let renewed = frame.renewed(cx)?;
        let services =
            renewed.as_ref().map(|(_, now)| Services { time_zone: &now.time_zone, ..*cx.services });
        let renewed = renewed
            .as_ref()
            .zip(services.as_ref())
            .map(|((defined, now), services)| cx.with_renewed(&now.catalog, services, *defined));
        let cx = renewed.as_ref().unwrap_or(cx);
        if let Some(site) = cx.calls() {
            site.stands_at(step);
        }
        match run_step(step, cx, frame) {
            Ok(Flow::Next) => {}
            Ok(flow) => return Ok(flow),
            Err(error) => return Err(in_context(error, frame, step)),
        }
    }
    Ok(Flow::Next)
}

/// Adds the line of the innermost statement, once per call.
#[cold]
fn in_context(error: ExecError, frame: &Frame, step: &Step) -> ExecError {
    let line = context_line(&frame.function, step.line, step.kind.name());
    let here = format!("PL/pgSQL function {} line ", frame.function.signature);
    match error {
        // a statement within a statement of the same call has said it already
        ExecError::InFunction { error, context }
            if context.lines().last().is_some_and(|l| l.starts_with(&here)) =>
        {
            ExecError::InFunction { error, context }
        }
        ExecError::InFunction { error, context } => {
            ExecError::InFunction { error, context: format!("{context}\n{line}") }
        }
        error => ExecError::InFunction { error: Box::new(error), context: line },
    }
}

/// Runs a statement of the session's. What the body does behind it is bound to what the catalog is then.
pub(super) fn define(cx: &ExecContext<'_>, text: &str, given: Given<'_>) -> Result<Served> {
    cx.define(text, given).map_err(|error| in_statement(error, text))
}

/// The same in a body, whose row goes to variables.
fn define_into(
    text: &str,
    query: Option<&Statement>,
    into: Option<&PlInto>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let ends = cx.ends().filter(|_| frame.savepoints == 0);
    let served = define(cx, text, Given { query, ends, params: &frame.slots, types: &[] })?;
    frame.row_count = i64::try_from(served.rows).unwrap_or(i64::MAX);
    match (served.yields, into) {
        (None, None) => Ok(()),
        (Some(rows), Some(into)) => run_sql(&mut Embedded::new(&rows, cx.executor), Some(into), cx, frame),
        (Some(_), None) => Err(ExecError::raised("42601", "query has no destination for result data")),
        (None, Some(_)) => Err(ExecError::raised("42601", NO_DATA)),
    }
}

/// An error of a statement that is known as text.
pub(super) fn in_statement(error: ExecError, text: &str) -> ExecError {
    // It shows the text itself.
    if matches!(error, ExecError::InQuery { .. }) {
        return error;
    }
    ExecError::InFunction { error: Box::new(error), context: format!("SQL statement \"{text}\"") }
}

pub(super) fn run_step(step: &mut Step, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    match &mut step.kind {
        StepKind::Assign { slot, value } => {
            let value = value.eval(cx, frame)?;
            frame.assign(cx, *slot, value)?;
        }
        StepKind::Change(change) => change.run(cx, frame)?,
        StepKind::AssignField { place, value } => {
            let value = frame.eval(cx, value)?;
            let ty = place.ty.clone();
            frame.put(cx, place, value, &ty)?;
        }
        StepKind::AssignRow(assignment) => frame.assign_composite(cx, assignment)?,
        StepKind::Define { text, query, into } => {
            define_into(text, query.as_deref(), into.as_ref(), cx, frame)?;
        }
        StepKind::Later(later) => return later.run(step.line, cx, frame),
        StepKind::Sql { statement, into, .. } => run_sql(statement, into.as_ref(), cx, frame)?,
        StepKind::If { branches, otherwise } => {
            for (condition, body) in branches {
                if condition.holds(cx, frame)? {
                    return run_steps(body, cx, frame);
                }
            }
            return run_steps(otherwise, cx, frame);
        }
        StepKind::ForRange(range) => return run_range(range, cx, frame),
        StepKind::Loop { label, body } => loop {
            match turn(body, label.as_ref(), cx, frame)? {
                Turn::Again => {}
                Turn::Done => break,
                Turn::Leave(flow) => return Ok(flow),
            }
        },
        StepKind::While { label, condition, body } => {
            while condition.holds(cx, frame)? {
                match turn(body, label.as_ref(), cx, frame)? {
                    Turn::Again => {}
                    Turn::Done => break,
                    Turn::Leave(flow) => return Ok(flow),
                }
            }
        }
        StepKind::ForQuery { label, query, targets, cursor: Some(cursor), body } => {
            let looping = begin_loop(cursor, query, cx, frame)?;
            let flow = run_for_query(
                RowLoop { label: label.as_ref(), cursor: Some(&looping), targets },
                query,
                None,
                body,
                cx,
                frame,
            );
            end_loop(looping, cx, frame);
            return flow;
        }
        StepKind::ForQuery { label, query, targets, cursor: None, body } => {
            return run_for_query(
                RowLoop { label: label.as_ref(), cursor: None, targets },
                query,
                None,
                body,
                cx,
                frame,
            );
        }
        StepKind::Foreach { label, targets, slice, array, element, body } => {
            let Value::Array(array) = frame.eval(cx, array)? else {
                return Err(TypeError::new("22004", "FOREACH expression must not be null").into());
            };
            let mut leave = Flow::Next;
            let whole = SqlType::Array(Box::new(element.clone()));
            let from = if *slice == 0 { &*element } else { &whole };
            let (shape, width) = slices(&array, *slice)?;
            for values in array.chunks(width) {
                let value = match *slice {
                    0 => values[0].clone(),
                    _ => Value::Array(Array::shaped(values.into(), &shape)?),
                };
                frame.take_element(cx, targets, value, from)?;
                match turn(body, label.as_ref(), cx, frame)? {
                    Turn::Again => {}
                    Turn::Done => break,
                    Turn::Leave(flow) => {
                        leave = flow;
                        break;
                    }
                }
            }
            frame.set_found(!array.is_empty());
            return Ok(leave);
        }
        StepKind::Block(block) => return run_block(block, cx, frame),
        StepKind::Exit { label, when } => {
            if when.as_ref().map_or(Ok(true), |when| when.holds(cx, frame))? {
                return Ok(Flow::Exit(label.clone()));
            }
        }
        StepKind::Continue { label, when } => {
            if when.as_ref().map_or(Ok(true), |when| when.holds(cx, frame))? {
                return Ok(Flow::Continue(label.clone()));
            }
        }
        StepKind::Return { value } => {
            if let Some(value) = value {
                frame.value = frame.eval(cx, value)?;
            }
            return Ok(Flow::Return);
        }
        StepKind::ReturnComposite { value, shape, types } => {
            frame.value = match (frame.eval(cx, value)?, &types) {
                (Value::Record(row), Some(types)) => Value::Record(
                    as_declared(
                        cx,
                        row.to_vec(),
                        shape,
                        types,
                        "returned record type does not match expected record type",
                    )?
                    .into(),
                ),
                (value, _) => value,
            };
            if types.is_none() {
                frame.value_shape = Some(Arc::clone(shape));
            }
            return Ok(Flow::Return);
        }
        StepKind::ReturnNextComposite { value, shape } => {
            let types = frame.row_types.clone();
            let row = match frame.eval(cx, value)? {
                Value::Record(row) => {
                    as_declared(cx, row.to_vec(), shape, &types, "wrong record type supplied in RETURN NEXT")?
                }
                _ => vec![Value::Null; types.len()],
            };
            frame.push_row(cx, &row)?;
        }
        StepKind::ReturnRow { record } => {
            frame.record = record.and_then(|first| frame.record(first));
            return Ok(Flow::Return);
        }
        StepKind::ReturnRowValue { value, types } => {
            frame.record = match frame.eval(cx, value)? {
                Value::Record(row) => Some(frame.as_row_of_table(cx, row.to_vec(), types)?),
                _ => None,
            };
            return Ok(Flow::Return);
        }
        StepKind::ReturnNext { values } => {
            let row: Vec<Value> = values.iter().map(|value| frame.eval(cx, value)).collect::<Result<_>>()?;
            frame.push_row(cx, &row)?;
        }
        StepKind::ReturnQuery { query } => {
            check_columns(frame, &query.types)?;
            let rows = run_embedded(query, None, cx, frame, Taken::Result)?;
            frame.counted(rows);
        }
        StepKind::Raise(message) => raise(message, cx, frame)?,
        StepKind::Reraise => return Err(reraise(frame)),
        StepKind::GetDiagnostics { items } => diagnose(items, cx, frame)?,
        StepKind::Execute { text, into } => execute(text, into.as_ref(), cx, frame)?,
        StepKind::ForExecute { label, text, targets, body } => {
            let (mut query, params) = text.bind(cx, frame)?;
            return run_for_query(
                RowLoop { label: label.as_ref(), cursor: None, targets },
                &mut query,
                Some(&params),
                body,
                cx,
                frame,
            );
        }
        StepKind::ReturnExecute { text } => {
            let (mut query, params) = text.bind(cx, frame)?;
            check_columns(frame, &query.types)?;
            let rows = run_embedded(&mut query, Some(&params), cx, frame, Taken::Result)?;
            frame.counted(rows);
        }
        StepKind::Open { cursor, args, query, forward } => {
            for (slot, value) in args {
                let value = frame.eval(cx, value)?;
                frame.assign(cx, *slot, value)?;
            }
            open(cursor, query, None, *forward, cx, frame)?;
        }
        StepKind::OpenExecute { cursor, text, forward } => {
            let (mut query, params) = text.bind_cursor(cx, frame)?;
            if query.types.is_empty() {
                return Err(ExecError::raised(
                    "42P11",
                    "cannot open a query that returns no rows as a cursor",
                ));
            }
            open(cursor, &mut query, Some(&params), *forward, cx, frame)?;
        }
        StepKind::Fetch { cursor, movement, targets } => {
            fetch(cursor, *movement, targets.as_ref(), cx, frame)?
        }
        StepKind::Close { cursor } => close(cursor, cx, frame)?,
        StepKind::Assert { condition, message } => {
            if checks_asserts(cx) && !frame.holds(cx, condition)? {
                let message = message.as_ref().map(|message| frame.eval(cx, message)).transpose()?;
                let message = message.as_ref().and_then(Value::as_str).unwrap_or("assertion failed");
                return Err(ExecError::raised("P0004", message));
            }
        }
        StepKind::Call { function, args, out, text } => {
            let args = args.iter().map(|arg| frame.eval(cx, arg)).collect::<Result<Vec<_>>>()?;
            let site = CallSite::of_statement(cx.calls(), text);
            let values = call_procedure(&cx.calling(&site), function, args, frame.savepoints > 0)
                .map_err(|error| in_statement(error, text))?;
            for (arg, place) in out {
                frame.put(cx, place, values[*arg].clone(), &function.args[*arg].ty)?;
            }
        }
        StepKind::Commit { chain, write } => {
            let ends = may_end(cx, frame, "commit")?;
            ends.commit(*write, *chain)?;
        }
        StepKind::Rollback { chain } => {
            let ends = may_end(cx, frame, "roll back")?;
            ends.rollback(*chain)?;
        }
        StepKind::Nothing => {}
    }
    Ok(Flow::Next)
}

/// Whether ASSERT tests anything: `plpgsql.check_asserts`.
fn checks_asserts(cx: &ExecContext<'_>) -> bool {
    let setting = cx.services.settings.setting("plpgsql.check_asserts");
    !setting.is_some_and(|value| ["off", "false", "no", "0"].contains(&&*value.to_ascii_lowercase()))
}

/// The dimensions of each slice of an array, and how many elements it has.
fn slices(array: &Array, slice: usize) -> Result<(Vec<Dimension>, usize)> {
    let mut dimensions = array.dimensions();
    let Some(outer) = dimensions.len().checked_sub(slice) else {
        let count = dimensions.len();
        let text = format!("slice dimension ({slice}) is out of the valid range 0..{count}");
        return Err(ExecError::raised("2202E", text));
    };
    let shape = dimensions.split_off(outer);
    // An array without elements has no slice, whatever its width.
    let width = shape.iter().map(|one| usize::try_from(one.length).unwrap_or_default()).product::<usize>();
    Ok((shape, width.max(1)))
}

/// What ends the transaction, where a procedure or a block may do that here.
fn may_end<'a>(cx: &ExecContext<'a>, frame: &Frame, what: &str) -> Result<&'a dyn TransactionEnds> {
    let refused = |message: &str| ExecError::raised("2D000", message);
    let Some(ends) = cx.ends() else { return Err(refused("invalid transaction termination")) };
    if frame.savepoints > 0 {
        return Err(refused(&format!("cannot {what} while a subtransaction is active")));
    }
    Ok(ends)
}

/// What a turn of a loop leads to.
enum Turn {
    Again,
    Done,
    Leave(Flow),
}

/// One turn of the loop of this label.
fn turn(
    body: &mut [Step],
    label: Option<&Arc<str>>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Turn> {
    cx.check_cancelled()?;
    let mine = |wanted: &Option<Arc<str>>| wanted.is_none() || wanted.as_ref() == label;
    Ok(match run_steps(body, cx, frame)? {
        Flow::Next => Turn::Again,
        Flow::Continue(wanted) if mine(&wanted) => Turn::Again,
        Flow::Exit(wanted) if mine(&wanted) => Turn::Done,
        flow => Turn::Leave(flow),
    })
}

fn run_range(range: &mut Range, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    let bound = |frame: &Frame, expr: &RowExpr, name: &str| -> Result<i64> {
        frame
            .eval(cx, expr)?
            .as_i64()
            .ok_or_else(|| TypeError::new("22004", format!("{name} of FOR loop cannot be null")).into())
    };
    let from = bound(frame, &range.from, "lower bound")?;
    let to = bound(frame, &range.to, "upper bound")?;
    let by = range.by.as_ref().map_or(Ok(1), |by| bound(frame, by, "BY value"))?;
    if by <= 0 {
        return Err(TypeError::new("22023", "BY value of FOR loop must be greater than zero").into());
    }
    let step = if range.reverse { -by } else { by };
    let mut at = from;
    let mut turned = false;
    let mut leave = Flow::Next;
    while if range.reverse { at >= to } else { at <= to } {
        turned = true;
        // bounds are int4, and so is what lies between
        frame.slots[range.slot] = Value::Int4(at as i32);
        match turn(&mut range.body, range.label.as_ref(), cx, frame)? {
            Turn::Again => {}
            Turn::Done => break,
            Turn::Leave(flow) => {
                leave = flow;
                break;
            }
        }
        at += step;
    }
    frame.set_found(turned);
    Ok(leave)
}

/// A loop over rows.
struct RowLoop<'l> {
    label: Option<&'l Arc<str>>,
    /// It is over the rows of this cursor.
    cursor: Option<&'l Looping>,
    targets: &'l PlTargets,
}

fn run_for_query(
    RowLoop { label, cursor, targets }: RowLoop<'_>,
    query: &mut Embedded,
    params: Option<&[Value]>,
    body: &mut [Step],
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Flow> {
    let mut rows = Spool::default();
    run_embedded(query, params, cx, frame, Taken::Spool(&mut rows))?;
    let turned = rows.rows() > 0;
    let mut batch = Batch::default();
    let mut leave = Flow::Next;
    'rows: while rows.next(&mut batch)? {
        for row in 0..batch.rows {
            let mut values = batch.row(row, &query.types);
            let places = values.split_off(query.visible().len());
            if let Some(cursor) = cursor {
                cursor.stand(cx, places);
            }
            check_width(cx, targets, query.visible())?;
            frame.take_row(cx, targets, values, query.visible(), &query.shape)?;
            match turn(body, label, cx, frame)? {
                Turn::Again => {}
                Turn::Done => break 'rows,
                Turn::Leave(flow) => {
                    leave = flow;
                    break 'rows;
                }
            }
        }
    }
    if !turned {
        let nulls = vec![Value::Null; query.visible().len()];
        frame.take_row(cx, targets, nulls, query.visible(), &query.shape)?;
    }
    frame.set_found(turned);
    Ok(leave)
}

fn run_sql(
    statement: &mut Embedded,
    into: Option<&PlInto>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<()> {
    let Some(into) = into else {
        let rows = run_embedded(statement, None, cx, frame, Taken::Nothing)?;
        frame.counted(rows);
        return Ok(());
    };
    let mut first = None;
    let rows = run_embedded(statement, None, cx, frame, Taken::First(&mut first))?;
    check_strict(into, rows, statement, None, cx, frame)?;
    frame.counted(if statement.is_query { rows.min(1) } else { rows });
    if first.is_some() {
        check_width(cx, &into.targets, &statement.types)?;
    }
    let row = first.unwrap_or_else(|| vec![Value::Null; statement.types.len()]);
    frame.take_row(cx, &into.targets, row, &statement.types, &statement.shape)
}

/// Where the rows of an embedded statement go.
pub(super) enum Taken<'t> {
    Nothing,
    /// Into the function's result.
    Result,
    Spool(&'t mut Spool),
    First(&'t mut Option<Vec<Value>>),
}

/// Takes the rows while the slots are lent to the statement.
struct Taker<'t, 'c> {
    cx: &'c ExecContext<'c>,
    types: &'c [SqlType],
    taken: Taken<'t>,
    /// Result rows, moved into the frame when the statement is done.
    result: Spool,
}

impl Taker<'_, '_> {
    /// Forgets the rows of a run that failed.
    fn forget(&mut self) {
        self.result = Spool::default();
        match &mut self.taken {
            Taken::Nothing | Taken::Result => {}
            Taken::Spool(spool) => **spool = Spool::default(),
            Taken::First(first) => **first = None,
        }
    }
}

impl Sink for Taker<'_, '_> {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        match &mut self.taken {
            Taken::Nothing => Ok(()),
            Taken::Result => self.result.push(self.cx.services.memory, "RETURN QUERY", batch.clone()),
            Taken::Spool(spool) => spool.push(self.cx.services.memory, "FOR over a query", batch.clone()),
            Taken::First(first) => {
                if first.is_none() && batch.rows > 0 {
                    **first = Some(batch.row(0, self.types));
                }
                Ok(())
            }
        }
    }
}

/// Runs a statement in a storage frame of its own (L2) and yields its number of rows.
pub(super) fn run_embedded(
    statement: &mut Embedded,
    params: Option<&[Value]>,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
    taken: Taken<'_>,
) -> Result<u64> {
    let to_result = matches!(taken, Taken::Result);
    let mut result = {
        let site = statement.text.as_ref().map(|text| CallSite::of_statement(cx.calls(), text));
        let inner = cx.with_params(params.unwrap_or(&frame.slots));
        let inner = match &site {
            Some(site) => inner.called(site),
            None => inner,
        };
        let mut taker = Taker { cx, types: &statement.types, taken, result: Spool::default() };
        let mut tries = 0;
        loop {
            cx.tables()?.begin_statement()?;
            let error = match statement.compiled.run(&inner, &mut taker) {
                Ok(rows) => {
                    cx.tables()?.end_statement()?;
                    break (rows, taker.result);
                }
                Err(error) => error,
            };
            cx.tables()?.abort_statement()?;
            // What was committed before keeps the block from being run again: its statements are, one by one.
            if cx.ends().is_none()
                || tries == RESTARTS_MAX
                || !error.is_conflict()
                || !cx.tables()?.restarts()
            {
                return Err(match &statement.text {
                    Some(text) => in_statement(error, text),
                    None => error,
                });
            }
            tries += 1;
            taker.forget();
            verso_env::sync::backoff(tries);
        }
    };
    if to_result {
        let mut batch = Batch::default();
        while result.1.next(&mut batch)? {
            frame.push_batch(cx, &batch, &statement.types)?;
        }
    }
    Ok(result.0)
}
