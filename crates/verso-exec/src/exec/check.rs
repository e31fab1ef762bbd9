//! What is done with new rows before they are stored, a batch at a time: generated columns, then NOT NULL and CHECK.
//!
//! Generated columns are computed behind BEFORE triggers, of what these made of the row.
//!
//! The error reported is the one that checking row by row meets first (F6): in a row policies come before NULLs, and NULLs before
//! conditions, columns in their order, conditions by name, as in PostgreSQL.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Batch, SqlType, TypeError, Value, format_text};

use super::ExecContext;
use super::route::PartitionCheck;
use super::shown_values::refused_row;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{Check, CheckOf, ExprKind, RowRules, TypedExpr};

/// The checks of a statement, compiled.
pub(crate) struct RowChecks {
    table: Arc<TableDef>,
    /// Columns of the new values that take no NULL, with their indexes in `table.columns`.
    not_null: Vec<(usize, usize)>,
    /// True where the condition is broken: in the order in which a row is asked.
    broken: Vec<(Broken, Predicate)>,
    /// Of views, whose functions see the row when it is there, or whose rows may not come to be: asked behind its change. Each row is changed by itself then.
    stored: Vec<(Broken, Predicate)>,
    generated: Option<Box<GeneratedColumns>>,
    partition: Option<PartitionCheck>,
    /// The row that only a view has refused ([`RowChecks::refused_by_view`]).
    by_view: Option<usize>,
    selection: Vec<u32>,
    /// The columns that the statement gives values for.
    pub(crate) set: Vec<Arc<str>>,
}

/// A condition that a row breaks.
#[derive(Clone)]
struct Broken {
    name: Arc<str>,
    of: CheckOf,
}

/// The generated columns of a statement, compiled.
struct GeneratedColumns {
    exprs: ExprList,
    /// Of each its place among the new values, and its index in `table.columns`.
    places: Vec<(usize, usize)>,
    batch: Batch,
}

impl GeneratedColumns {
    fn new(targets: &[usize], rules: &RowRules, executor: Executor) -> Option<Box<GeneratedColumns>> {
        let place = |column: usize| targets.iter().position(|target| *target == column);
        let set: Vec<_> = rules
            .generated
            .iter()
            .filter_map(|generated| Some((&generated.value, (place(generated.column)?, generated.column))))
            .collect();
        if set.is_empty() {
            return None;
        }
        let exprs = ExprList::compile(set.iter().map(|(value, _)| *value), executor);
        let batch = Batch::of_types(exprs.types());
        let places = set.into_iter().map(|(_, place)| place).collect();
        Some(Box::new(GeneratedColumns { exprs, places, batch }))
    }
}

impl RowChecks {
    /// Checks of new values that are stored in `targets`, indexes into `table.columns`.
    pub fn new(table: &Arc<TableDef>, targets: &[usize], rules: &RowRules, executor: Executor) -> Self {
        let is_late = |check: &&Check| check.of == CheckOf::View && check.condition.calls_volatile();
        Self::with_late(table, targets, rules, executor, is_late)
    }

    /// The same of rows that are inserted one by one, if they do not meet another row: a view asks of those only that are there then.
    pub fn unless_there(
        table: &Arc<TableDef>,
        targets: &[usize],
        rules: &RowRules,
        executor: Executor,
    ) -> Self {
        Self::with_late(table, targets, rules, executor, |check| check.of == CheckOf::View)
    }

    fn with_late(
        table: &Arc<TableDef>,
        targets: &[usize],
        rules: &RowRules,
        executor: Executor,
        is_late: impl Fn(&&Check) -> bool,
    ) -> Self {
        let broken = |check: &Check| {
            let arg = Box::new(check.condition.clone());
            let ty = check.condition.ty.clone();
            let of = check.of;
            let strict = matches!(of, CheckOf::View | CheckOf::Policy | CheckOf::PolicyUsing);
            let broken = ExprKind::IsBool { arg, value: Some(strict), negated: strict };
            let broken = Predicate::compile(&TypedExpr::new(broken, ty), executor);
            (Broken { name: Arc::clone(&check.name), of }, broken)
        };
        let (late, mut early): (Vec<&Check>, Vec<&Check>) = rules.checks.iter().partition(is_late);
        early.sort_by_key(|check| turn(check.of));
        Self {
            table: Arc::clone(table),
            not_null: targets
                .iter()
                .copied()
                .enumerate()
                .filter(|(_, target)| {
                    let column = &table.columns[*target];
                    column.not_null && !column.is_virtual
                })
                .collect(),
            broken: early.into_iter().map(broken).collect(),
            stored: late.into_iter().map(broken).collect(),
            generated: GeneratedColumns::new(targets, rules, executor),
            partition: rules.partition.as_deref().map(|rule| PartitionCheck::new(rule, executor)),
            by_view: None,
            selection: Vec::new(),
            set: rules.set.clone(),
        }
    }

    /// Of rows that were found to belong to the partition before triggers saw them.
    pub fn routed(&mut self) {
        if let Some(partition) = &mut self.partition {
            partition.routed();
        }
    }

    /// Takes out the check that rows belong to the partition: others are not refused, but move.
    pub fn take_partition(&mut self) -> Option<PartitionCheck> {
        self.partition.take()
    }

    /// The row that only a view has refused of those that were checked last. It is there before its view is asked, and so are those
    /// before it: a key that one of them breaks is told first.
    pub fn refused_by_view(&self) -> Option<usize> {
        self.by_view
    }

    /// Whether conditions are checked.
    pub fn has_conditions(&self) -> bool {
        !self.broken.is_empty() || !self.stored.is_empty() || self.partition.is_some()
    }

    /// Whether there are generated columns among the new values.
    pub fn generates(&self) -> bool {
        self.generated.is_some()
    }

    /// Computes the generated columns of whole new rows.
    pub fn generate_rows(&mut self, cx: &ExecContext<'_>, rows: &mut Batch) -> Result<()> {
        let Some(generated) = &mut self.generated else { return Ok(()) };
        let GeneratedColumns { exprs, places, batch } = &mut **generated;
        exprs.eval(&cx.eval(), rows, batch)?;
        for ((_, column), value) in places.iter().zip(&mut batch.columns) {
            std::mem::swap(&mut rows.columns[*column], value);
        }
        Ok(())
    }

    /// Computes the generated columns of changed rows: `both` has what was read, then the new values, which stand in
    /// `values` too.
    pub fn generate_values(
        &mut self,
        cx: &ExecContext<'_>,
        both: &mut Batch,
        values: &mut Batch,
    ) -> Result<()> {
        let Some(generated) = &mut self.generated else { return Ok(()) };
        let GeneratedColumns { exprs, places, batch } = &mut **generated;
        exprs.eval(&cx.eval(), both, batch)?;
        let first = both.columns.len() - values.columns.len();
        for ((place, _), value) in places.iter().zip(&mut batch.columns) {
            both.columns[first + place] = value.clone();
            std::mem::swap(&mut values.columns[*place], value);
        }
        Ok(())
    }

    /// Checks a batch: `values` are those stored in the targets, `rows` what the conditions are over. `shown` makes the
    /// whole row of an error's detail.
    pub fn check(
        &mut self,
        cx: &ExecContext<'_>,
        values: &Batch,
        rows: &Batch,
        shown: impl FnOnce(usize) -> Vec<Value>,
    ) -> Result<()> {
        let nulls = self.not_null.iter().filter_map(|(at, target)| {
            let row = values.columns.get(*at)?.nulls.iter().next()?;
            Some((row, *target))
        });
        let null = nulls.min();
        let first = first_broken(&mut self.broken, &mut self.selection, cx, rows);
        let by_view = |first: &FirstBroken| match first {
            (row, _, Ok(Broken { of: CheckOf::View, .. })) if null.is_none_or(|(other, _)| *row < other) => {
                Some(*row)
            }
            _ => None,
        };
        self.by_view = first.as_ref().and_then(by_view);
        match (null, first) {
            (None, None) => match &mut self.partition {
                Some(partition) => partition.check(cx, rows, shown, &self.set),
                None => Ok(()),
            },
            (null, first) => self.refuse(cx, null, first, shown),
        }
    }

    /// The same of what is asked of rows that are there: it has no NULLs any more where there may be none.
    #[inline]
    pub fn check_stored(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &Batch,
        shown: impl FnOnce(usize) -> Vec<Value>,
    ) -> Result<()> {
        match first_broken(&mut self.stored, &mut self.selection, cx, rows) {
            None => Ok(()),
            first => self.refuse(cx, None, first, shown),
        }
    }

    /// The error of the row that comes first: with a NULL in a column that takes none, or one that breaks a condition.
    fn refuse(
        &self,
        cx: &ExecContext<'_>,
        null: Option<(usize, usize)>,
        first: Option<FirstBroken>,
        shown: impl FnOnce(usize) -> Vec<Value>,
    ) -> Result<()> {
        let Self { table, set, .. } = self;
        let refused = |row: usize| {
            if let Some(external) = cx.external {
                external.refused(row);
            }
        };
        match (null, first) {
            (Some((row, target)), first)
                if first.as_ref().is_none_or(|(other, is_first, _)| (row, *is_first) <= (*other, false)) =>
            {
                refused(row);
                Err(ExecError::NotNull {
                    schema: Arc::clone(&table.schema),
                    table: Arc::clone(&table.name),
                    column: Arc::clone(&table.columns[target].name),
                    row: refused_row(cx, &shown(row), table, set),
                })
            }
            (_, Some((row, _, Ok(Broken { name, of: CheckOf::NotNull { .. } })))) => {
                refused(row);
                Err(ExecError::NotNull {
                    schema: Arc::clone(&table.schema),
                    table: Arc::clone(&table.name),
                    column: name,
                    row: refused_row(cx, &shown(row), table, set),
                })
            }
            (_, Some((row, _, Err(error)))) => {
                refused(row);
                Err(error)
            }
            (_, Some((_, _, Ok(Broken { name, of: CheckOf::Policy })))) => {
                // The row is not shown: the role may not see it.
                let message = format!("new row violates row-level security policy for table \"{name}\"");
                Err(TypeError::new("42501", message).into())
            }
            (_, Some((_, _, Ok(Broken { name, of: CheckOf::PolicyUsing })))) => {
                let message = format!(
                    "new row violates row-level security policy (USING expression) for table \"{name}\""
                );
                Err(TypeError::new("42501", message).into())
            }
            (_, Some((row, _, Ok(Broken { name, of: CheckOf::Period })))) => {
                refused(row);
                let message = format!(
                    "empty WITHOUT OVERLAPS value found in column \"{name}\" in relation \"{}\"",
                    table.name
                );
                Err(TypeError::new("23514", message).into())
            }
            (_, Some((row, _, Ok(Broken { name, of: CheckOf::View })))) => {
                let message = format!("new row violates check option for view \"{name}\"");
                let error = TypeError::new("44000", message);
                Err(match refused_row(cx, &shown(row), table, set) {
                    Some(detail) => error.with_detail(detail).into(),
                    None => error.into(),
                })
            }
            (_, Some((row, _, Ok(Broken { name, .. })))) => {
                refused(row);
                let message =
                    format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name);
                let detail = refused_row(cx, &shown(row), table, set);
                Err(ExecError::violation("23514", message, detail, table, &name))
            }
            (_, None) => Ok(()),
        }
    }
}

/// A row, whether it breaks what comes before NULLs, and what it breaks; an error of a condition counts as that condition.
type FirstBroken = (usize, bool, Result<Broken>);

/// The first row that breaks one of these conditions.
fn first_broken(
    conditions: &mut [(Broken, Predicate)],
    selection: &mut Vec<u32>,
    cx: &ExecContext<'_>,
    rows: &Batch,
) -> Option<FirstBroken> {
    let mut first: Option<FirstBroken> = None;
    for (name, predicate) in conditions {
        let is_first = turn(name.of) < turn(CheckOf::Table { validated: true });
        let error = predicate.select(&cx.eval(), rows, selection);
        let found = match (selection.first(), error) {
            (Some(row), _) => (*row as usize, is_first, Ok(name.clone())),
            (None, Some(error)) => (failing_row(predicate, cx, rows), is_first, Err(error)),
            (None, None) => continue,
        };
        if first.as_ref().is_none_or(|(row, _, _)| found.0 < *row) {
            first = Some(found);
        }
    }
    first
}

/// When a row is asked for a condition: domains as the value is computed, then policies, then NOT NULL and constraints, then views.
fn turn(of: CheckOf) -> u8 {
    match of {
        CheckOf::Domain => 0,
        CheckOf::Policy | CheckOf::PolicyUsing => 1,
        CheckOf::Table { .. } | CheckOf::NotNull { .. } | CheckOf::Period => 2,
        CheckOf::View => 3,
    }
}

/// The first row for which a condition fails.
fn failing_row(predicate: &mut Predicate, cx: &ExecContext<'_>, rows: &Batch) -> usize {
    let mut selection = Vec::new();
    let fails = |row: &usize| {
        let one = rows.gather(&[*row as u32]);
        predicate.select(&cx.eval(), &one, &mut selection).is_some()
    };
    (0..rows.rows).find(fails).unwrap_or(0)
}

/// Values as the details of errors show them.
pub(crate) fn values_text<'t>(
    cx: &ExecContext<'_>,
    values: &[Value],
    types: impl Iterator<Item = &'t SqlType>,
) -> String {
    let mut text = String::new();
    for (i, (value, ty)) in values.iter().zip(types).enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        match value {
            Value::Null => text.push_str("null"),
            value => format_text(value, ty, cx.services.time_zone, &mut text),
        }
    }
    text
}
