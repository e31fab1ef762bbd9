//! UPDATE, DELETE.
//!
//! 1. A change looks at its table row by row where that gives what the state at its start says (rule T2). Otherwise a query
//!    finds all rows first, with the new values: where there is FROM or USING, where a subquery reads what the statement
//!    changes or depends on the row, so that it may become a join, and for `SET (a, b) = (SELECT …)`, which runs once a row.
//!    RETURNING is computed of each row when it has changed.
//! 2. WHERE CURRENT OF is a query, too: it finds the row on which the cursor stands.
//! 3. So is every change of a table with BEFORE ROW triggers, which may do anything: an UPDATE then sets all columns, those
//!    that it does not name to what they are.
//! 4. A subquery that depends on no row, and is asked for every row, runs before the first change.
//!
//! | module | what it is |
//! |---|---|
//! | [`found`] | the query that finds all rows first |
//! | [`assignments`] | SET |

mod assignments;
mod found;

use std::sync::Arc;

use verso_catalog::{Rights, TableDef};
use verso_exec::exec::{
    TriggerEvent, keep_others, key_columns_read, rules_over, set_generated, triggers_change_rows,
};
use verso_exec::plan::{Delete, ExprKind as K, TypedExpr, Update};

use super::Binder;
use super::dml::{names_of, reads_table};
use super::returning::Returned;
use super::scope::Scope;
use super::shown::{Change, Changed};
use super::table_number::RowNumbers;
use super::walk::{columns_of, map_columns, prune};
use crate::errors::{SqlError, sqlstate};
use crate::rewrite::asks_of_the_row;
use verso_parser::syntax;
use verso_types::{SqlType, Value};

impl Binder<'_> {
    /// UPDATE.
    pub(super) fn update(&self, update: &syntax::Update) -> Result<Update, SqlError> {
        self.as_it_reads(&|reads| self.update_that(update, reads))
    }

    /// The same of one that `reads` columns of its table, or none.
    fn update_that(&self, update: &syntax::Update, reads: bool) -> Result<(Update, Changed), SqlError> {
        let (mut changed, mut scope) = self.target_scope(&update.table, Change::Update)?;
        let numbers = self.changed_numbers(&changed, &mut scope);
        if reads {
            self.reads_changed(&mut changed, Change::Update)?;
        }
        let changed = changed;
        changed.check_assigned(&update.assignments, "update")?;
        let known = changed.known_assignments(&update.assignments);
        let known = known.map(|assignments| syntax::Update { assignments, ..update.clone() });
        let update = known.as_ref().unwrap_or(update);
        refuse_current(&changed, update.current.as_ref())?;
        let table = &changed.table;
        if update.from.is_none()
            && update.current.is_none()
            && numbers.is_empty()
            && table.partitioned.is_none()
            && !triggers_change_rows(table, TriggerEvent::Update)
            && !self.changed_twice.contains(&table.oid)
            && let Some(update) = self.update_in_place(update, &changed, &scope)?
        {
            return Ok((update, changed));
        }
        Ok((self.update_found(update, &changed, &scope)?, changed))
    }

    /// What rows that change come with beside their columns: of views what these show, of partitioned tables nothing.
    pub(super) fn numbers_of(&self, changed: &Changed) -> RowNumbers {
        match () {
            () if changed.table.partitioned.is_some() => RowNumbers::default(),
            () if changed.view().is_some() => changed.numbers(),
            () => self.numbered,
        }
    }

    /// The same, added to the columns that the statement may use.
    fn changed_numbers(&self, changed: &Changed, scope: &mut Scope) -> RowNumbers {
        let numbers = self.numbers_of(changed);
        changed.add_numbers(numbers, scope);
        numbers
    }

    /// What OLD and NEW have of them, of tables.
    fn numbers_again(&self, changed: &Changed) -> RowNumbers {
        if changed.view().is_some() { RowNumbers::default() } else { self.numbers_of(changed) }
    }

    /// Row by row; none where that would be late.
    fn update_in_place(
        &self,
        update: &syntax::Update,
        changed: &Changed,
        scope: &Scope,
    ) -> Result<Option<Update>, SqlError> {
        let table = Arc::clone(&changed.seen);
        let own = |expr| self.expanded(expr, &changed.table, 0);
        let filter = self.filter(update.filter.as_ref(), scope)?.map(own).transpose()?;
        let mut filter = changed.filtered(filter);
        let mut rows = Vec::new();
        let mut assignments = self.assignments(&update.assignments, changed, scope, Some(&mut rows))?;
        self.expand_all(assignments.iter_mut().map(|(_, value)| value), &changed.table)?;
        changed.changes(Rights::UPDATE, assignments.iter().map(|(column, _)| *column).collect::<Vec<_>>());
        let mut rules = changed.rules(self)?;
        rules.set = names_of(&changed.table, assignments.iter().map(|(column, _)| column));
        set_generated(&mut assignments, &rules);
        // RETURNING sees the new values: of assigned columns those assigned, of others those read.
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let shift = table.columns.len();
        let bound = self.returning_of(&update.returning, scope, (&table, RowNumbers::default()), false)?;
        let mut returning = bound.map(|bound| bound.over(&mut updated(&assigned, shift)));
        let read = || assignments.iter().map(|(_, value)| value).chain(&filter);
        if !rows.is_empty() || depends(read(), &table) || read().any(asks_of_the_row) {
            return Ok(None);
        }
        let mut kept: Vec<TypedExpr> = Vec::new(); // what RETURNING needs of the read columns
        if let Some(returning) = &mut returning {
            for expr in &mut returning.exprs {
                map_columns(expr, &mut |column| {
                    if column < shift {
                        kept.push(TypedExpr::column(column, table.columns[column].seen()));
                    }
                    column
                });
            }
        }
        let mut needed = key_columns_read(&table, Some(&assigned));
        for check in rules.checks.iter().filter(|check| check.concerns(&assigned)) {
            needed.extend(columns_of(&check.condition).into_iter().filter(|one| !assigned.contains(one)));
        }
        if let Some(rule) = rules.partition.as_ref().filter(|rule| rule.concerns(&assigned)) {
            needed.extend(rule.keys().flat_map(columns_of).filter(|one| !assigned.contains(one)));
        }
        for generated in rules.generated.iter().filter(|generated| assigned.contains(&generated.column)) {
            needed.extend(columns_of(&generated.value).into_iter().filter(|one| !assigned.contains(one)));
        }
        kept.extend(needed.into_iter().map(|at| TypedExpr::column(at, table.columns[at].seen())));
        let values = assignments.iter_mut().map(|(_, value)| value);
        let mut exprs: Vec<&mut TypedExpr> = values.chain(filter.as_mut()).chain(kept.iter_mut()).collect();
        let columns = prune(&mut exprs);
        if let Some(returning) = &mut returning {
            for expr in &mut returning.exprs {
                map_columns(expr, &mut |column| match column.checked_sub(shift) {
                    Some(n) => columns.len() + n,
                    None => columns.binary_search(&column).unwrap_or(column),
                });
            }
        }
        let rules = rules_over(rules, &columns, &assigned);
        Ok(Some(Update {
            table: changed.scanned(),
            columns,
            joined: None,
            access: None,
            filter,
            named: assignments.len(),
            assignments,
            rules,
            returning,
            parts: None,
        }))
    }

    /// The rows come from a query.
    fn update_found(
        &self,
        update: &syntax::Update,
        changed: &Changed,
        target: &Scope,
    ) -> Result<Update, SqlError> {
        let table = Arc::clone(&changed.seen);
        let mut found = {
            let syntax::Update { from, filter, current, .. } = update;
            self.found(changed, target, from.as_ref(), filter.as_ref(), current.as_ref())?
        };
        let mut sources = Vec::new();
        let mut assignments =
            self.assignments(&update.assignments, changed, &found.scope, Some(&mut sources))?;
        self.expand_all(assignments.iter_mut().map(|(_, value)| value), &changed.table)?;
        self.expand_all(sources.iter_mut().flat_map(|source| &mut source.outer), &changed.table)?;
        changed.changes(Rights::UPDATE, assignments.iter().map(|(column, _)| *column).collect::<Vec<_>>());
        let mut rules = changed.rules(self)?;
        rules.set = names_of(&changed.table, assignments.iter().map(|(column, _)| column));
        let given = assignments.len();
        set_generated(&mut assignments, &rules);
        let named = assignments.len();
        if triggers_change_rows(&table, TriggerEvent::Update) {
            keep_others(&mut assignments, &table);
        }
        let bound =
            self.returning_of(&update.returning, &found.scope, (&table, self.numbers_again(changed)), false)?;
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let parted = table.partitioned.is_some();
        // A command of its own sees nothing of what it does: each row's functions are called when it is its turn.
        let is_command = || assignments.iter().any(|(_, value)| value.calls_volatile());
        let early = parted
            || !sources.is_empty()
            || (depends(assignments.iter().map(|(_, value)| value), &table)
                || assignments.iter().any(|(_, value)| asks_of_the_row(value)))
                && !is_command();
        found.add(sources);
        let width = found.scope.columns.len();
        let mut values = Vec::new();
        if early {
            for (n, (_, value)) in assignments.iter_mut().enumerate() {
                let column = TypedExpr::column(width + n, value.ty.clone());
                values.push(std::mem::replace(value, column));
            }
        }
        let read = width + values.len();
        let numbers = self.numbers_of(changed);
        let returning = bound.as_ref().map(|bound| {
            let mut plain = updated(&assigned, read);
            bound.over(&mut |returned, ty| {
                numbers.updated(table.columns.len(), returned).unwrap_or_else(|| plain(returned, ty))
            })
        });
        let joined = found.plan(values);
        let parts = match parted {
            true => {
                let over = |new: &dyn Fn(usize) -> usize, found: usize| {
                    bound.as_ref().map(|bound| bound.over(&mut stored(new, found)))
                };
                let assigned = &assignments[..given];
                let parts = self.update_parts(&changed.table, &rules, &joined, assigned, &over)?;
                Some(Box::new(parts))
            }
            false => None,
        };
        let rules = rules_over(rules, &(0..read).collect::<Vec<_>>(), &assigned);
        let columns = (0..table.columns.len()).collect();
        let joined = Some(joined);
        Ok(Update {
            table: changed.scanned(),
            parts,
            columns,
            joined,
            access: None,
            filter: None,
            assignments,
            named,
            rules,
            returning,
        })
    }

    /// DELETE.
    pub(super) fn delete(&self, delete: &syntax::Delete) -> Result<Delete, SqlError> {
        self.as_it_reads(&|reads| self.delete_that(delete, reads))
    }

    /// The same of one that `reads` columns of its table, or none.
    fn delete_that(&self, delete: &syntax::Delete, reads: bool) -> Result<(Delete, Changed), SqlError> {
        let (mut changed, mut scope) = self.target_scope(&delete.table, Change::Delete)?;
        let numbers = self.changed_numbers(&changed, &mut scope);
        changed.needs(Rights::DELETE);
        if reads {
            self.reads_changed(&mut changed, Change::Delete)?;
        }
        let changed = changed;
        refuse_current(&changed, delete.current.as_ref())?;
        let table = Arc::clone(&changed.seen);
        if delete.using.is_none()
            && delete.current.is_none()
            && numbers.is_empty()
            && table.partitioned.is_none()
            && !triggers_change_rows(&table, TriggerEvent::Delete)
            && !self.changed_twice.contains(&table.oid)
            && let Some(delete) = self.delete_in_place(delete, &changed, &scope)?
        {
            return Ok((delete, changed));
        }
        let found = {
            let syntax::Delete { using, filter, current, .. } = delete;
            self.found(&changed, &scope, using.as_ref(), filter.as_ref(), current.as_ref())?
        };
        let bound = self.returning_of(
            &delete.returning,
            &found.scope,
            (&table, self.numbers_again(&changed)),
            false,
        )?;
        let returning = bound.map(|bound| bound.over(&mut removed));
        let columns = (0..table.columns.len()).collect();
        let joined = Some(found.plan(Vec::new()));
        let table = Arc::clone(&changed.table);
        let parts = self.delete_parts(&table, joined.as_ref(), returning.as_ref())?;
        let table = changed.scanned();
        let delete = Delete { table, columns, joined, access: None, filter: None, returning, parts };
        Ok((delete, changed))
    }

    /// Row by row; none where that would be late.
    fn delete_in_place(
        &self,
        delete: &syntax::Delete,
        changed: &Changed,
        scope: &Scope,
    ) -> Result<Option<Delete>, SqlError> {
        let table = Arc::clone(&changed.seen);
        let own = |expr| self.expanded(expr, &changed.table, 0);
        let filter = self.filter(delete.filter.as_ref(), scope)?.map(own).transpose()?;
        let mut filter = changed.filtered(filter);
        let bound = self.returning_of(&delete.returning, scope, (&table, RowNumbers::default()), false)?;
        let mut returning = bound.map(|bound| bound.over(&mut removed));
        if depends(filter.iter(), &table) || filter.iter().any(asks_of_the_row) {
            return Ok(None);
        }
        let mut kept: Vec<TypedExpr> = key_columns_read(&table, None)
            .into_iter()
            .map(|at| TypedExpr::column(at, table.columns[at].seen()))
            .collect();
        let returned = returning.iter_mut().flat_map(|returning| returning.exprs.iter_mut());
        let mut exprs: Vec<&mut TypedExpr> = returned.chain(filter.as_mut()).chain(kept.iter_mut()).collect();
        let columns = prune(&mut exprs);
        let (table, parts) = (changed.scanned(), Vec::new());
        Ok(Some(Delete { table, columns, joined: None, access: None, filter, returning, parts }))
    }
}

/// Refuses the place of a cursor in a view.
fn refuse_current(changed: &Changed, current: Option<&syntax::Name>) -> Result<(), SqlError> {
    if changed.view().is_none() || current.is_none() {
        return Ok(());
    }
    let text = "WHERE CURRENT OF on a view is not implemented";
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
}

/// What stands for a column in RETURNING of an UPDATE whose new values of the `assigned` columns are those from `new` on.
fn updated(assigned: &[usize], new: usize) -> impl FnMut(Returned, &SqlType) -> TypedExpr + '_ {
    move |returned, ty| {
        let column = match returned {
            Returned::Own(column) | Returned::New(column) => {
                assigned.iter().position(|assigned| *assigned == column).map_or(column, |n| new + n)
            }
            Returned::Other(column) | Returned::Old(column) => column,
            Returned::WasThere | Returned::IsThere => return is_there(),
            Returned::Action => return TypedExpr::null(ty.clone()),
        };
        TypedExpr::column(column, ty.clone())
    }
}

/// The same of a row that is stored in a leaf: `new` says where its new values are, and from `found` on it is as it was found.
pub(super) fn stored(
    new: &dyn Fn(usize) -> usize,
    found: usize,
) -> impl FnMut(Returned, &SqlType) -> TypedExpr + '_ {
    move |returned, ty| {
        let column = match returned {
            Returned::Own(column) | Returned::New(column) => new(column),
            Returned::Other(column) | Returned::Old(column) => found + column,
            Returned::WasThere | Returned::IsThere => return is_there(),
            Returned::Action => return TypedExpr::null(ty.clone()),
        };
        TypedExpr::column(column, ty.clone())
    }
}

/// The same of a DELETE.
fn removed(returned: Returned, ty: &SqlType) -> TypedExpr {
    match returned {
        Returned::Own(column) | Returned::Other(column) | Returned::Old(column) => {
            TypedExpr::column(column, ty.clone())
        }
        Returned::WasThere => is_there(),
        Returned::New(_) | Returned::IsThere | Returned::Action => TypedExpr::null(ty.clone()),
    }
}

/// What stands for the mark of a row that is there.
pub(super) fn is_there() -> TypedExpr {
    TypedExpr::literal(Value::Bool(true), SqlType::Bool)
}

/// Whether a subquery would see what its own statement has done already (rule T2): one over the changed table that is run
/// anew for later rows, or may be run late for the first time. Of those in RETURNING the statement is a command of its own (T4).
fn depends<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>, table: &TableDef) -> bool {
    fn again(expr: &TypedExpr, table: &TableDef, maybe_late: bool) -> bool {
        let late = maybe_late || matches!(expr.kind, K::Case { .. } | K::Coalesce(_) | K::And(_) | K::Or(_));
        if let K::Subquery { plan, outer, .. } = &expr.kind
            && (late || !outer.is_empty())
            && reads_table(plan, table)
        {
            return true;
        }
        let mut found = false;
        expr.for_each_child(&mut |child| found |= again(child, table, late));
        found
    }
    exprs.into_iter().any(|expr| again(expr, table, false))
}
