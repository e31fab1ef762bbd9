//! Expressions and conditions of indexes, as a scan with a filter meets them.

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_exec::plan::{ExprKind, TypedExpr};

use crate::bind::{Binder, map_columns, same};
use crate::estimate::Estimate;
use crate::implied::implied;
use crate::rewrite::{inlined, plain};

/// The hidden columns of a table, each with what it is computed from.
#[derive(Default)]
pub(super) struct Derived {
    /// Number in storage, expression over the columns of the table; one that calls functions in SQL stands there as plans have
    /// it, too.
    columns: Vec<(u16, TypedExpr)>,
}

impl Derived {
    /// Those of a table; few have any.
    pub fn of(table: &TableDef, estimate: Estimate<'_>) -> Derived {
        let any = table.columns.last().is_some_and(|column| column.is_hidden());
        let Some(catalog) = estimate.catalog.filter(|_| any) else { return Derived::default() };
        let utc = verso_types::TimeStyle::UTC; // nothing in them depends on it
        let hidden = Binder::new(catalog, &utc, &[]).hidden(table);
        let mut columns = Vec::with_capacity(hidden.len());
        for (at, expr) in hidden {
            let id = table.columns[at].id;
            columns.extend(inlined(&expr, catalog).map(|own| (id, own)));
            columns.push((id, expr));
        }
        Derived { columns }
    }

    /// The hidden column that has the values of an expression over `columns` of the table.
    pub fn column(&self, columns: &[usize], expr: &TypedExpr) -> Option<u16> {
        if self.columns.is_empty() || matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(_)) {
            return None;
        }
        let expr = over_table(columns, expr);
        self.columns.iter().find(|(_, known)| same(known, &expr)).map(|(column, _)| *column)
    }

    /// Whether an index has all rows that a filter over `columns` wants.
    pub fn serves(&self, index: &IndexDef, columns: &[usize], filter: Option<&TypedExpr>) -> bool {
        let Some(guard) = index.guard else { return true };
        let Some(filter) = filter else { return false };
        let filter = over_table(columns, filter);
        self.conditions(guard).any(|condition| {
            // The filter is plain where its query was rewritten.
            let in_plain_form = || {
                let mut own = condition.clone();
                plain(&mut own);
                implied(&[&filter], &own)
            };
            implied(&[&filter], condition) || in_plain_form()
        })
    }

    /// The condition within the expression of a guard, in its forms.
    fn conditions(&self, guard: u16) -> impl Iterator<Item = &TypedExpr> {
        self.columns
            .iter()
            .filter_map(move |(column, expr)| (*column == guard).then_some(expr))
            .filter_map(condition_of)
    }
}

/// The condition within the expression of a guard: `CASE WHEN condition THEN true END`.
pub(crate) fn condition_of(guard: &TypedExpr) -> Option<&TypedExpr> {
    match &guard.kind {
        ExprKind::Case { branches, .. } => branches.first().map(|(condition, _)| condition),
        _ => None,
    }
}

fn over_table(columns: &[usize], expr: &TypedExpr) -> TypedExpr {
    let mut expr = expr.clone();
    map_columns(&mut expr, &mut |column| columns.get(column).copied().unwrap_or(usize::MAX));
    expr
}

/// The indexes that have entries: those of a partitioned table have none, each of its partitions has its own.
fn used(table: &TableDef) -> impl Iterator<Item = &Arc<IndexDef>> {
    table.indexes.iter().filter(|_| table.partitioned.is_none())
}

/// Inverted indexes that serve a filter.
pub(super) fn serving_inverted<'t>(
    table: &'t TableDef,
    derived: &Derived,
    columns: &[usize],
    filter: Option<&TypedExpr>,
) -> impl Iterator<Item = &'t Arc<IndexDef>> {
    used(table).filter(move |index| index.is_inverted() && derived.serves(index, columns, filter))
}

/// Indexes in the order of their keys that serve a filter.
pub(super) fn serving<'t>(
    table: &'t TableDef,
    derived: &Derived,
    columns: &[usize],
    filter: Option<&TypedExpr>,
) -> impl Iterator<Item = &'t Arc<IndexDef>> {
    used(table).filter(move |index| !index.is_inverted() && derived.serves(index, columns, filter))
}
