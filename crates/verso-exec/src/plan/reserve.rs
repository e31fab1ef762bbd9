//! Which UPDATEs reserve: they add to RESERVABLE columns of one row without waiting for others who do.

use std::sync::Arc;

use verso_catalog::{TriggerDef, TriggerKind};
use verso_types::SqlType;

use super::{CheckOf, ExprKind, IndexAccess, TypedExpr, Update};
use crate::functions::Volatility;

impl Update {
    /// What is added to each of the columns that it sets, if the statement reserves: `UPDATE t SET x = x ± d WHERE key = …`. The
    /// expressions are those of the assignments without the cast to the column's type, and give `d` where `x` is zero.
    ///
    /// All columns set are RESERVABLE, the row is found by the whole primary key and nothing else, `d` has nothing of the row
    /// in it, and nobody asks for the row: no RETURNING, no trigger. Every other UPDATE changes the row as usual.
    #[must_use]
    pub fn reserves(&self) -> Option<Vec<&TypedExpr>> {
        // The filter of a change says again what the key says: a condition for each part, and no other one.
        let conditions = |filter: &TypedExpr| filter.clone().conjuncts().len();
        let by_key = |access: &IndexAccess| {
            let said = self.filter.as_ref().map_or(0, conditions);
            access.is_point()
                && access.index.primary
                && !access.index.deferrable
                && said == access.equals.len()
        };
        let plain = self.joined.is_none()
            && self.parts.is_none()
            && self.returning.is_none()
            && self.table.has_reservable()
            && self.named == self.assignments.len()
            && self.rules.generated.is_empty()
            && self.rules.partition.is_none()
            && self.rules.checks.iter().all(|check| check.of == CheckOf::Table { validated: true })
            && self.access.as_ref().is_some_and(by_key);
        let on_update = |trigger: &Arc<TriggerDef>| trigger.kind.has(TriggerKind::UPDATE);
        if !plain || self.table.triggers.iter().any(on_update) {
            return None;
        }
        let added = |(column, value): &'_ (usize, TypedExpr)| -> bool {
            let at = self.columns.iter().position(|read| read == column);
            self.table.columns[*column].reservable
                && at.is_some_and(|at| adds_to(self.uncast(*column, value), at))
        };
        if !self.assignments.iter().all(added) {
            return None;
        }
        Some(self.assignments.iter().map(|(column, value)| self.uncast(*column, value)).collect())
    }

    /// The value before it was cast to the type of its column. Other casts stay, unless they are to a greater type: they round, or refuse
    /// what does not fit.
    fn uncast<'e>(&self, column: usize, value: &'e TypedExpr) -> &'e TypedExpr {
        let mut value = value;
        let mut assigned = false;
        while let ExprKind::Cast { arg, .. } = &value.kind {
            let assigns = !assigned && value.ty == self.table.columns[column].ty && rank(&arg.ty).is_some();
            if !assigns && !widens(&arg.ty, &value.ty) {
                break;
            }
            assigned = true;
            value = arg;
        }
        value
    }
}

/// Whether a cast keeps every value.
fn widens(from: &SqlType, to: &SqlType) -> bool {
    rank(from).zip(rank(to)).is_some_and(|(from, to)| from < to && to != 3)
}

/// Exact types, the smaller ones first: a cast to a greater one keeps the value.
fn rank(ty: &SqlType) -> Option<u8> {
    match ty {
        SqlType::Int2 => Some(0),
        SqlType::Int4 => Some(1),
        SqlType::Int8 => Some(2),
        SqlType::Numeric(Some(_)) | SqlType::LongNumeric(_) => Some(3),
        SqlType::Numeric(None) => Some(4),
        _ => None,
    }
}

/// Whether an expression is a column plus or minus what has nothing of the row in it, once or several times.
fn adds_to(value: &TypedExpr, column: usize) -> bool {
    let mut value = value;
    while let ExprKind::Call { function, args } = &value.kind {
        let [left, right] = args.as_slice() else { return false };
        if [&value.ty, &left.ty, &right.ty].iter().any(|ty| rank(ty).is_none()) {
            return false;
        }
        value = match function.operator {
            Some("+" | "-") if is_free(right) => left,
            Some("+") if is_free(left) => right,
            _ => return false,
        };
        if is_column(value, column) {
            return true;
        }
    }
    false
}

/// Whether it is the column, perhaps of a greater type.
fn is_column(arg: &TypedExpr, column: usize) -> bool {
    let mut arg = arg;
    while let ExprKind::Cast { arg: inner, .. } = &arg.kind {
        if !widens(&inner.ty, &arg.ty) {
            return false;
        }
        arg = inner;
    }
    matches!(arg.kind, ExprKind::Column(read) if read == column)
}

/// Whether nothing of the row is in it, and it may be computed twice.
fn is_free(arg: &TypedExpr) -> bool {
    !arg.any(&mut |part| match &part.kind {
        ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Cast { .. } => false,
        ExprKind::Call { function, .. } => function.volatility == Volatility::Volatile,
        _ => true,
    })
}
