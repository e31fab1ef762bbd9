//! UPDATEs that reserve: the row keeps its values until the commit, which adds what was reserved.

use verso_types::{Batch, Number, SqlType, Value};

use super::super::tables::Reserving;
use super::{ExecContext, UpdateStatement};
use crate::error::{ExecError, Result};
use crate::exec::access::Found;

impl UpdateStatement {
    /// Reserves, where it can; the usual way does the rest: where there is no such row, where an amount is NULL, not finite or has
    /// more digits than its column.
    pub(super) fn run_reserving(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        let Self { scan, targets, values, checks, amounts: Some(amounts), .. } = self else {
            return Ok(false);
        };
        let Some(access) = &mut scan.access else { return Ok(false) };
        let (index, Found::Point(key)) = access.open_parts(&cx.eval())? else { return Ok(false) };
        let mut zero = Batch::of_types(&scan.types);
        for ((column, at), ty) in zero.columns.iter_mut().zip(&*scan.columns).zip(&*scan.types) {
            match scan.table.columns[*at].reservable {
                true => column.push_value(&Number::zero().assigned_to(ty)?, ty)?,
                false => column.push_null(),
            }
        }
        zero.rows = 1;
        let mut added = Batch::of_types(amounts.types());
        amounts.eval(&cx.eval(), &zero, &mut added)?;
        let mut reserved = Vec::with_capacity(targets.len());
        for (value, ty) in added.row(0, amounts.types()).iter().zip(values.types()) {
            let Some(amount) = Number::of(value).filter(|amount| matches!(amount, Number::Finite { .. }))
            else {
                return Ok(false);
            };
            let stored = Number::of(&amount.clone().assigned_to(ty)?);
            if stored.is_none_or(|stored| stored.compare(&amount).is_ne()) {
                return Ok(false);
            }
            reserved.push(amount);
        }
        let types: Vec<SqlType> = scan.types.iter().chain(values.types()).cloned().collect();
        let mut test = |least: &[Value], most: &[Value]| -> Result<()> {
            let (mut both, mut new) = (Batch::of_types(&types), Batch::of_types(values.types()));
            for ends in [least, most] {
                let (read, set) = both.columns.split_at_mut(scan.types.len());
                read.iter_mut().for_each(verso_types::Column::push_null);
                for (((value, ty), column), new) in
                    ends.iter().zip(values.types()).zip(set).zip(&mut new.columns)
                {
                    column.push_value(value, ty)?;
                    new.push_value(value, ty)?;
                }
                both.rows += 1;
                new.rows += 1;
            }
            let mut failed = 0;
            let checked = checks.check(cx, &new, &both, |row| {
                failed = row;
                Vec::new()
            });
            checked.map_err(|error| explained(error, &scan.table.columns, targets, [least, most][failed]))
        };
        let reserving = Reserving { table: &scan.table, index, key, columns: targets, amounts: &reserved };
        cx.tables()?.reserve(&reserving, cx.services.memory, &mut test)
    }
}

/// The error of a CHECK, with what the columns may come to.
fn explained(
    error: ExecError,
    columns: &[verso_catalog::ColumnDef],
    targets: &[usize],
    values: &[Value],
) -> ExecError {
    let ExecError::Violation(mut violation) = error else { return error };
    let shown = |(target, value): (&usize, &Value)| {
        let number = Number::of(value).map_or_else(String::new, |number| number.to_string());
        format!("\"{}\" may come to {number}", columns[*target].name)
    };
    let shown: Vec<String> = targets.iter().zip(values).map(shown).collect();
    violation.detail = Some(format!("With all pending reservations {}.", shown.join(", ")));
    ExecError::Violation(violation)
}
