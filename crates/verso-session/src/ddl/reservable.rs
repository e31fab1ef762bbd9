//! What a table with RESERVABLE columns has to be: looked at behind every statement that makes or changes one.
//!
//! A table that has no primary key yet may get them by ALTER TABLE, as a dump does it, which adds the keys last: they are as
//! other columns until it has one. CREATE TABLE demands the key, and a key that is there stays.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ConstraintKind, IndexDef, Oid, TableDef, is_temporary};
use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::SqlType;

use super::Schema;
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{AlterAction, ColumnDefinition, QualifiedName, Statement, TableElement};
use verso_planner::bind::{Binder, columns_of};
use verso_planner::errors::SqlError;

/// Most RESERVABLE columns of a table, as in Oracle.
const COLUMNS_MAX: usize = 10;

/// The tables that a statement may leave with RESERVABLE columns that cannot be such: their numbers, or the name of a new
/// one.
pub(super) struct Concerned<'s> {
    /// With whether they had a key before.
    known: Vec<(Oid, bool)>,
    made: Option<&'s QualifiedName>,
}

impl<'s> Concerned<'s> {
    pub(super) fn of(catalog: &CatalogSnapshot, statement: &'s Statement) -> Concerned<'s> {
        let mut concerned = Concerned { known: Vec::new(), made: None };
        let reserves = |column: &ColumnDefinition| column.reservable;
        let mut add = |name: &QualifiedName, now: bool| {
            let table = catalog.table(name.schema_text(), &name.name.text);
            concerned.known.extend(
                table
                    .filter(|table| now || table.has_reservable())
                    .map(|table| (table.oid, key_of(&table).is_some())),
            );
        };
        match statement {
            Statement::CreateIndex(create) => add(&create.table, false),
            Statement::AlterTable(alter) => {
                let makes = |action: &AlterAction| match action {
                    AlterAction::Reservable { .. } => true,
                    AlterAction::ColumnOptions { options, .. } => {
                        options.iter().any(|(name, _)| name == "reservable")
                    }
                    AlterAction::AddColumn { column, .. } => reserves(column),
                    _ => false,
                };
                add(&alter.name, alter.actions.iter().any(makes));
                for action in &alter.actions {
                    if let AlterAction::AttachPartition { partition, .. } = action {
                        add(partition, false);
                    }
                }
            }
            Statement::CreateTable(create) => {
                let makes = |element: &TableElement| match element {
                    TableElement::Column(column) | TableElement::Options(column) => reserves(column),
                    TableElement::Like { .. } => true,
                    TableElement::Constraint(_) => false,
                };
                concerned.made = create.elements.iter().any(makes).then_some(&create.name);
            }
            _ => {}
        }
        concerned
    }

    /// Looks at them as they are now.
    pub(super) fn check(&self, frame: &Frame<'_>) -> Result<(), Failure> {
        if self.known.is_empty() && self.made.is_none() {
            return Ok(());
        }
        frame.inside_now(|frame| {
            let made = self.made.and_then(|name| frame.catalog.table(name.schema_text(), &name.name.text));
            let known = self.known.iter();
            let known = known.filter_map(|(oid, keyed)| Some((frame.catalog.table_by_oid(*oid)?, *keyed)));
            let tables: Vec<(Arc<TableDef>, bool)> = known.chain(made.map(|made| (made, true))).collect();
            Ok(tables.iter().try_for_each(|(table, keyed)| check_table(frame, table, *keyed))?)
        })
    }
}

/// The primary key by which rows are reserved.
fn key_of(table: &TableDef) -> Option<&Arc<IndexDef>> {
    table.primary_key().filter(|key| !key.deferrable)
}

/// Refuses a table that has RESERVABLE columns where it cannot; `keyed` is one that has to have a key.
fn check_table(frame: &Frame<'_>, table: &TableDef, keyed: bool) -> Result<(), SqlError> {
    let reservable: Vec<usize> =
        (0..table.columns.len()).filter(|at| table.columns[*at].reservable).collect();
    let Some(first) = reservable.first() else { return Ok(()) };
    if table.partitioned.is_some() || table.partition_of.is_some() {
        return Err(SqlError::unsupported("RESERVABLE columns of partitioned tables"));
    }
    if is_temporary(&table.schema) {
        return Err(SqlError::unsupported("RESERVABLE columns of temporary tables"));
    }
    if reservable.len() > COLUMNS_MAX {
        let text = format!("a table can have {COLUMNS_MAX} RESERVABLE columns at most");
        return Err(SqlError::new("54011", text));
    }
    let key = key_of(table);
    if key.is_none() && keyed {
        let name = &table.columns[*first].name;
        let text =
            format!("column \"{name}\" cannot be RESERVABLE: table \"{}\" has no primary key", table.name);
        return Err(invalid(text).with_detail("A primary key that is not deferrable is needed."));
    }
    let heap = frame.services.instance.engine.heap(table.heap)?;
    let packed = verso_catalog::packs::Pack::of(&heap, table.columns.iter().map(|column| column.id));
    if packed.is_some() {
        return Err(SqlError::unsupported("RESERVABLE columns of tables with so many columns"));
    }
    let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
    for at in reservable {
        let column = &table.columns[at];
        let refuse = |why: &str| invalid(format!("column \"{}\" cannot be RESERVABLE: {why}", column.name));
        let exact = matches!(
            column.ty,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(_) | SqlType::LongNumeric(_)
        );
        if !exact || column.domain.is_some() {
            return Err(refuse("only smallint, integer, bigint and numeric can be reserved"));
        }
        if !table.is_never_null(at) {
            return Err(refuse("it is not NOT NULL"));
        }
        if column.generated || column.identity.is_some() {
            return Err(refuse("its values are generated"));
        }
        if key.is_some_and(|key| key.columns().any(|id| id == column.id)) {
            return Err(refuse("it is in the primary key"));
        }
        if table.all_indexes().any(|index| index.columns().any(|id| id == column.id)) {
            return Err(refuse("it is in an index"));
        }
        if table.generated_from(&column.name).next().is_some() {
            return Err(refuse("other columns, or indexes, are computed of it"));
        }
        for constraint in table.constraints.iter().chain(&table.referenced_by) {
            match &constraint.kind {
                ConstraintKind::Foreign(key)
                    if (constraint.table == table.oid && key.columns.contains(&column.id))
                        || (key.referenced == table.oid && key.referenced_columns.contains(&column.id)) =>
                {
                    return Err(refuse("it is in a foreign key"));
                }
                ConstraintKind::Check { expression } => {
                    let condition = binder.stored_condition(expression, table)?;
                    if !is_bound(&condition, at) {
                        let why = format!(
                            "check constraint \"{}\" does not compare it with constants alone",
                            constraint.name
                        );
                        return Err(refuse(&why).with_hint(
                            "Conditions of such a column are comparisons with <, <=, >, >=, BETWEEN, joined by AND.",
                        ));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

impl Schema<'_> {
    /// Refuses to change a table of which the transaction has reserved something: what it adds at the commit was tested against the table
    /// as it is, and would not be tested again (55006).
    pub(super) fn refuse_reserved(&self, table: &TableDef) -> Result<(), SqlError> {
        if !self.frame.services.deferred.borrow().reserved.has_table(table.oid) {
            return Ok(());
        }
        let text = format!(
            "cannot change table \"{}\" because it has pending reservations of this transaction",
            table.name
        );
        Err(SqlError::new("55006", text))
    }
}

/// `42P16`.
fn invalid(text: String) -> SqlError {
    SqlError::new("42P16", text)
}

/// Whether a condition has an interval of values of a column: comparisons with constants, joined by AND. Those of other columns may be among
/// them: they are NULL where the ends are tested, and hold. What says nothing of the column does not matter.
fn is_bound(condition: &TypedExpr, column: usize) -> bool {
    if !columns_of(condition).contains(&column) {
        return true;
    }
    let mut open = vec![condition];
    while let Some(part) = open.pop() {
        let compares = |function: &verso_exec::functions::BuiltinFunction| {
            matches!(function.operator, Some("<" | "<=" | ">" | ">="))
        };
        match &part.kind {
            ExprKind::And(parts) => open.extend(parts),
            ExprKind::Call { function, args } if compares(function) => {
                let [left, right] = args.as_slice() else { return false };
                let of_any = |arg: &TypedExpr| columns_of(arg).iter().any(|at| is_column(arg, *at));
                let of_one = of_any(left) && is_constant(right) || of_any(right) && is_constant(left);
                if !of_one {
                    return false;
                }
            }
            ExprKind::IsNull { arg, negated: true } if is_column(arg, column) => {}
            _ => return false,
        }
    }
    true
}

/// Whether it is the column, perhaps as a greater type.
fn is_column(expr: &TypedExpr, column: usize) -> bool {
    let mut expr = expr;
    while let ExprKind::Cast { arg, .. } = &expr.kind {
        if !matches!(expr.ty, SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(None)) {
            return false;
        }
        expr = arg;
    }
    matches!(expr.kind, ExprKind::Column(read) if read == column)
}

/// Whether it has the same value for all rows and at all times.
fn is_constant(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Literal(_) | ExprKind::Cast { .. } => false,
        ExprKind::Call { function, .. } => {
            function.volatility != verso_exec::functions::Volatility::Immutable
        }
        _ => true,
    })
}
