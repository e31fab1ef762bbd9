//! A call under way: its variables, and what it has returned so far.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use verso_types::{Batch, CastKind, RowType, SqlType, TypeError, Value, cast_kind, nesting};

use super::embedded::{in_statement, runs_again};
use super::growing::{Growing, Reads};
use super::held::Held;
use super::program::{Embedded, Program, ProgramPool, RowAssignment, slots};
use crate::aggregate::payload;
use crate::context::{EvalContext, HeldSettings};
use crate::error::{ExecError, Raised, Result};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext, InUse, cast_row};
use crate::expr::RowExpr;
use crate::plan::{PlFunction, PlPlace, PlReturn, PlTargets, PlTrigger, PlVariable};
use crate::spill::Spool;

/// A call under way.
pub(crate) struct Frame {
    pub(super) function: Arc<PlFunction>,
    pub slots: Vec<Value>,
    /// The memory that they take.
    pub(super) held: Held,
    /// Variables that grow: their slots are NULL meanwhile.
    pub(super) growing: Vec<Growing>,
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
    pub(super) row_types: Vec<SqlType>,
    pending: Batch,
    pub(super) row_count: i64,
    /// Savepoints open in this call.
    pub(super) savepoints: u32,
    /// Cursors over whose rows a loop runs, by their slots.
    pub(super) looping: BTreeSet<usize>,
    /// Errors whose handlers run.
    pub(super) handled: Vec<ExecError>,
    /// An error says which of its statements it is of.
    pub(super) located: bool,
    /// A statement that has just failed was bound to definitions that others have changed since: it is bound and run anew.
    pub(super) stale: Cell<bool>,
    /// The catalog and the settings after the last definitions.
    renewed: Option<Renewed>,
}

/// What a call goes on with after so many definitions.
#[derive(Clone)]
pub(super) struct Renewed {
    pub defined: u32,
    pub now: Arc<HeldSettings>,
    /// The functions compiled for them.
    pub programs: Rc<ProgramPool>,
}

impl Frame {
    pub fn new(program: &Program, args: Vec<Value>, row_types: Vec<SqlType>) -> Self {
        Self {
            slots: slots(&program.function, args),
            held: Held::default(),
            growing: Vec::new(),
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
            located: false,
            stale: Cell::new(false),
            renewed: None,
        }
    }

    /// The catalog and the settings, where statements have defined or set something since the call began.
    #[inline]
    pub(super) fn renewed(&mut self, cx: &ExecContext<'_>) -> Result<Option<Renewed>> {
        let Some(defined) = cx.defined_since() else { return Ok(None) };
        if self.renewed.as_ref().is_none_or(|known| known.defined != defined) {
            let now = Arc::new(cx.renewed_catalog()?);
            self.renewed = Some(Renewed { defined, now, programs: Rc::default() });
        }
        Ok(self.renewed.clone())
    }

    /// The value of an expression over the slots. One that reads rows is a statement by itself: it sees what was committed by
    /// now (L5).
    #[inline]
    pub fn eval(&self, cx: &ExecContext<'_>, expr: &RowExpr) -> Result<Value> {
        if expr.depends_on_view() && !self.function.read_only {
            return as_statement(cx, &self.stale, expr.begins_command(), || self.value(cx, expr));
        }
        self.value(cx, expr)
    }

    #[inline]
    fn value(&self, cx: &ExecContext<'_>, expr: &RowExpr) -> Result<Value> {
        let Some(tables) = expr.uses() else {
            return expr.eval_constant(&EvalContext { params: &self.slots, ..cx.eval() });
        };
        let in_use = InUse::always(tables, cx.in_use());
        let cx = cx.evaluating(&in_use);
        expr.eval_constant(&EvalContext { params: &self.slots, ..cx.eval() })
    }

    pub(super) fn holds(&self, cx: &ExecContext<'_>, condition: &RowExpr) -> Result<bool> {
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
        self.forget_growing(slot);
        self.slots[slot] = value;
        self.begin_row(slot);
        Ok(())
    }

    /// Where a variable is a column of NEW or OLD: that is a row from now on, if the event has none.
    pub(super) fn begin_row(&mut self, slot: usize) {
        let Some(PlTrigger { new, old, columns, .. }) = self.function.trigger.as_deref() else { return };
        for first in [*new, *old] {
            if (first..first + columns).contains(&slot) {
                self.slots[first + columns] = Value::Bool(true);
            }
        }
    }

    /// What grows becomes the values of its variables.
    #[inline]
    pub(super) fn settle(&mut self) {
        if !self.growing.is_empty() {
            self.settle_read(|_| true);
        }
    }

    /// The same of the variables that an expression reads.
    #[inline]
    pub(super) fn settle_for(&mut self, reads: Reads) {
        if !self.growing.is_empty() {
            self.settle_read(|slot| reads.has(slot));
        }
    }

    #[cold]
    fn settle_read(&mut self, is_read: impl Fn(usize) -> bool) {
        let slots = &mut self.slots;
        for grown in self.growing.extract_if(.., |growing| is_read(growing.slot)) {
            let slot = grown.slot;
            slots[slot] = grown.into_value();
            self.held.lessen(slot, payload(&slots[slot]));
        }
    }

    #[inline]
    fn forget_growing(&mut self, slot: usize) {
        if !self.growing.is_empty() {
            self.growing.retain(|growing| growing.slot != slot);
        }
    }

    /// The row that a trigger's record is; none where it is none.
    pub(super) fn record(&self, first: usize) -> Option<Vec<Value>> {
        let width = self.function.trigger.as_ref()?.columns;
        let is_row = self.slots[first + width].as_bool() == Some(true);
        is_row.then(|| self.slots[first..first + width].to_vec())
    }

    /// Whether a row that a trigger returns has the columns of its table, which are variables from the slot `first` on.
    fn check_row_of_table(&mut self, types: &[SqlType], wanted: &[SqlType], first: usize) -> Result<()> {
        let other =
            |(given, wanted): (&SqlType, &SqlType)| *given != SqlType::Unknown && !given.same_base(wanted);
        match types.iter().zip(wanted).position(other) {
            Some(n) => Err(self.other_structure(types, wanted, (first, Some(n)))),
            None if types.len() == wanted.len() => Ok(()),
            None => Err(self.other_structure(types, wanted, (first, None))),
        }
    }

    /// Refuses a row that NEW or OLD is to be, which the trigger could not return: of columns of other types than the table's.
    fn check_row_assigned(
        &mut self,
        row: &[Value],
        types: &[SqlType],
        wanted: &[SqlType],
        first: usize,
    ) -> Result<()> {
        let is_text = |ty: &SqlType| matches!(ty.plain(), SqlType::Text | SqlType::Varchar(_));
        let other = row.iter().zip(types).zip(wanted).position(|((value, given), wanted)| match given {
            SqlType::Unknown => !value.is_null() && !is_text(wanted),
            given => !given.same_base(wanted),
        });
        match other {
            Some(n) => Err(self.other_structure(types, wanted, (first, Some(n)))),
            None => Ok(()),
        }
    }

    /// Of a row that a trigger returns: what is wrong with its columns, or with the one at a place.
    #[cold]
    fn other_structure(
        &mut self,
        types: &[SqlType],
        wanted: &[SqlType],
        (first, place): (usize, Option<usize>),
    ) -> ExecError {
        let detail = match place {
            Some(n) => format!(
                "Returned type {} does not match expected type {} in column \"{}\" (position {}).",
                types[n].pg_name(),
                wanted[n].pg_name(),
                self.variables[first + n].name,
                n + 1
            ),
            None => format!(
                "Number of returned columns ({}) does not match expected column count ({}).",
                types.len(),
                wanted.len()
            ),
        };
        self.located = true;
        let context = format!("PL/pgSQL function {} during function exit", self.function.signature);
        let message = "returned row structure does not match the structure of the triggering table".into();
        let raised = Raised { sqlstate: "42804".into(), message, detail: Some(detail), hint: None };
        ExecError::Raised(Box::new(raised)).in_function(context)
    }

    /// A row that a trigger returns, as one of its table.
    pub(super) fn as_row_of_table(
        &mut self,
        cx: &ExecContext<'_>,
        mut row: Vec<Value>,
        types: &[SqlType],
    ) -> Result<Vec<Value>> {
        let trigger = self.function.trigger.as_ref();
        let (new, width, shown) =
            trigger.map_or((0, 0, 0), |trigger| (trigger.new, trigger.columns, trigger.shown));
        let to: Vec<SqlType> =
            self.variables[new..new + width].iter().map(|column| column.ty.clone()).collect();
        self.check_row_of_table(types, &to[..shown], new)?;
        cast_row(cx, &mut row, types, &to[..shown])?;
        // What indexes keep beside the columns is computed anew.
        row.resize(width, Value::Null);
        Ok(row)
    }

    pub(super) fn set_found(&mut self, found: bool) {
        if let Some(slot) = self.function.found {
            self.slots[slot] = Value::Bool(found);
        }
    }

    pub(super) fn counted(&mut self, rows: u64) {
        self.row_count = i64::try_from(rows).unwrap_or(i64::MAX);
        self.set_found(rows > 0);
    }

    /// Takes a row of the result.
    pub(super) fn push_row(&mut self, cx: &ExecContext<'_>, values: &[Value]) -> Result<()> {
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

    /// Whether the caller wants rows of a function that returns records of any kind as values.
    pub(super) fn wants_records(&self) -> bool {
        self.function.returns == PlReturn::Records && self.row_types == [SqlType::Record]
    }

    /// Whether the rows go to where PL/pgSQL may put them: records of any kind only with a list of columns.
    pub(super) fn check_takes_rows(&self) -> Result<()> {
        match self.wants_records() {
            true => Err(ExecError::raised(
                "0A000",
                "materialize mode required, but it is not allowed in this context",
            )),
            false => Ok(()),
        }
    }

    pub(super) fn push_batch(
        &mut self,
        cx: &ExecContext<'_>,
        batch: &Batch,
        types: &[SqlType],
    ) -> Result<()> {
        let function = Arc::clone(&self.function);
        let domains = match &function.returns {
            PlReturn::Rows(declared) if declared.iter().any(SqlType::is_constrained) => Some(declared),
            _ => None,
        };
        if types == self.row_types && domains.is_none() {
            self.flush(cx)?;
            return self.rows.push(cx.services.memory, "the rows of a function", batch.clone());
        }
        // In an output column a row is one value.
        if self.wants_records() && !matches!(types, [row] if row.is_row()) {
            for row in 0..batch.rows {
                self.push_row(cx, &[Value::Record(batch.row(row, types).into())])?;
            }
            return Ok(());
        }
        // One column may be the whole row.
        let is_column = self.row_types.len() == 1 && (!self.function.sql || self.row_types[..] == *types)
            || self.function.one_column
            || self.wants_records();
        if let ([SqlType::Row(row_type)], false) = (types, is_column) {
            let fields: Vec<SqlType> = row_type.as_declared().map(|(_, ty)| ty.clone()).collect();
            let to = domains.unwrap_or(&self.row_types).clone();
            for row in 0..batch.rows {
                let mut values = match batch.row(row, types).pop() {
                    Some(Value::Record(values)) => values.to_vec(),
                    _ => vec![Value::Null; fields.len()],
                };
                cast_row(cx, &mut values, &fields, &to)?;
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
                let given = types.len().min(to.len());
                row.resize(to.len(), Value::Null);
                cast_row(cx, &mut row, types, to)?;
                // Fields for which there is no column are NULL, which their domains may not allow.
                let missing = vec![SqlType::Unknown; to.len() - given];
                cast_row(cx, &mut row[given..], &missing, &to[given..])?;
                nesting::check_fields(&row)?;
                self.assign(cx, *slot, Value::Record(row.into()))
            }
            PlTargets::Record { slot } => {
                nesting::check_fields(&row)?;
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
    pub(super) fn take_element(
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
        let types: Vec<SqlType> = shape.as_declared().map(|(_, ty)| ty.clone()).collect();
        let row = match (value, targets) {
            (Value::Record(row), _) => row.to_vec(),
            (_, PlTargets::Row { slot, .. }) => return self.assign(cx, *slot, Value::Null),
            (_, PlTargets::Record { slot }) => {
                self.clear(*slot);
                return Ok(());
            }
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
        let mut from = from;
        if place.ty.is_row() && !from.is_row() && *from != SqlType::Text {
            // By way of text, as everywhere.
            cast_row(cx, std::slice::from_mut(&mut value), one(from), one(&SqlType::Text))?;
            from = &SqlType::Text;
        }
        cast_row(cx, std::slice::from_mut(&mut value), one(from), one(&place.ty))?;
        let Some((index, width)) = place.field else { return self.assign(cx, place.slot, value) };
        nesting::check_fields(std::slice::from_ref(&value))?;
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
    pub(super) fn assign_composite(
        &mut self,
        cx: &ExecContext<'_>,
        assignment: &RowAssignment,
    ) -> Result<()> {
        let value = self.eval(cx, &assignment.value)?;
        let (slot, is_record) = match &assignment.target {
            PlTargets::Row { slot, .. } => (*slot, false),
            PlTargets::Record { slot } => (*slot, true),
            PlTargets::Places(_) => return Err(ExecError::raised("XX000", "a row for several variables")),
            PlTargets::TriggerRow { first, types } => {
                let Value::Record(row) = value else {
                    // NEW and OLD are records: NULL leaves them as they are before they are assigned.
                    (0..types.len()).try_for_each(|n| self.assign(cx, first + n, Value::Null))?;
                    return self.assign(cx, first + types.len(), Value::Bool(false));
                };
                let row = row.to_vec();
                self.check_row_assigned(&row, &assignment.types, types, *first)?;
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

    pub(super) fn set_shape(&mut self, slot: usize, shape: Option<&Arc<RowType>>) {
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
        self.forget_growing(slot);
        self.slots[slot] = Value::Null;
        self.held.forget(slot);
        if let Some(shape) = self.shapes.get_mut(slot) {
            *shape = None;
        }
    }
}

/// Computes a value under a view of its own. Where it fails as others have changed what it was bound to, it is `stale`.
fn as_statement(
    cx: &ExecContext<'_>,
    stale: &Cell<bool>,
    begins_command: bool,
    compute: impl Fn() -> Result<Value>,
) -> Result<Value> {
    let mut tries = 0;
    loop {
        cx.tables()?.begin_statement()?;
        if begins_command {
            cx.tables()?.begin_command();
        }
        let error = match compute() {
            Ok(value) => {
                cx.tables()?.end_statement()?;
                return Ok(value);
            }
            Err(error) => error,
        };
        cx.tables()?.abort_statement()?;
        if !runs_again(cx, &error, &mut tries)? {
            return Err(error);
        }
        if let Some(ends) = cx.ends()
            && ends.look_anew(true)?
        {
            stale.set(true);
            return Err(error);
        }
    }
}

/// A row with the columns that are declared: those have to be of the same types, but for modifiers.
pub(super) fn as_declared(
    cx: &ExecContext<'_>,
    mut row: Vec<Value>,
    shape: &RowType,
    types: &[SqlType],
    names: &[Arc<str>],
    mismatch: &str,
) -> Result<Vec<Value>> {
    let given: Vec<SqlType> = shape.as_declared().map(|(_, ty)| ty.clone()).collect();
    check_columns_of_row(mismatch, &given, types, names)?;
    cast_row(cx, &mut row, &given, types)?;
    Ok(row)
}

fn check_columns_of_row(text: &str, given: &[SqlType], wanted: &[SqlType], names: &[Arc<str>]) -> Result<()> {
    check_types(text, given.iter(), wanted, names)?;
    // A literal without a type is of none.
    match given.iter().position(|ty| *ty == SqlType::Unknown) {
        Some(n) => Err(of_column(text, &given[n], &wanted[n], n, names)),
        None => Ok(()),
    }
}

/// Rows of RETURN QUERY have the columns that the function returns, or that its caller wants; nothing is cast. A function in SQL
/// casts them, or has cast them itself.
pub(super) fn check_columns(frame: &Frame, query: &Embedded) -> Result<()> {
    if frame.function.sql && frame.function.returns == PlReturn::Records {
        return match frame.wants_records() {
            true => Ok(()),
            false => check_assignable(&query.types, &frame.row_types),
        };
    }
    frame.check_takes_rows()?;
    let wanted = match &frame.function.returns {
        PlReturn::Records => frame.row_types.as_slice(),
        PlReturn::Rows(types) if !frame.function.sql => types,
        _ => return Ok(()),
    };
    let text = "structure of query does not match function result type";
    check_types(text, query.types.iter(), wanted, &frame.function.columns).map_err(|error| {
        match &query.text {
            Some(text) => in_statement(error, text),
            None => error,
        }
    })
}

/// Whether the columns of a function in SQL become those that its caller wants.
pub(super) fn check_assignable(given: &[SqlType], wanted: &[SqlType]) -> Result<()> {
    let mismatch = |detail: String| {
        Err(ExecError::Raised(Box::new(Raised {
            sqlstate: "42P13".into(),
            message: "return type mismatch in function declared to return record".into(),
            detail: Some(detail),
            hint: None,
        })))
    };
    // One column may be the whole row.
    if matches!(given, [row] if row.is_row()) {
        return Ok(());
    }
    if given.len() != wanted.len() {
        let many = if given.len() < wanted.len() { "few" } else { "many" };
        return mismatch(format!("Final statement returns too {many} columns."));
    }
    for (n, (given, wanted)) in given.iter().zip(wanted).enumerate() {
        let fits = *given == SqlType::Unknown
            || given.same_base(wanted)
            || cast_kind(given, wanted).is_some_and(|kind| kind <= CastKind::Assignment);
        if !fits {
            let (given, wanted) = (given.pg_name(), wanted.pg_name());
            return mismatch(format!(
                "Final statement returns {given} instead of {wanted} at column {}.",
                n + 1
            ));
        }
    }
    Ok(())
}

/// 42804 of one column.
fn of_column(text: &str, given: &SqlType, wanted: &SqlType, n: usize, names: &[Arc<str>]) -> ExecError {
    let (given, wanted) = (given.pg_name(), wanted.pg_name());
    let column = match names.get(n) {
        Some(name) => format!("\"{name}\" (position {})", n + 1),
        None => (n + 1).to_string(),
    };
    let detail = format!("Returned type {given} does not match expected type {wanted} in column {column}.");
    ExecError::Raised(Box::new(Raised {
        sqlstate: "42804".into(),
        message: text.into(),
        detail: Some(detail),
        hint: None,
    }))
}

/// Whether a row's columns have the types that are wanted of them; `text` says of what the error is (42804), `names` what the
/// columns are called, as far as that is known.
pub(super) fn check_types<'t>(
    text: &str,
    given: impl ExactSizeIterator<Item = &'t SqlType>,
    wanted: &[SqlType],
    names: &[Arc<str>],
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
            return Err(of_column(text, given, wanted, n, names));
        }
    }
    Ok(())
}
