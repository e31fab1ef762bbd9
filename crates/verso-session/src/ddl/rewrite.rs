//! Changes of columns that copy a table's rows into a new heap.
//!
//! The copy runs as a plan of the executors, in a statement of its own that sees all that is committed: the table is
//! locked against everybody else. What the new columns require is checked behind it, by a further one.

use std::sync::Arc;

use verso_catalog::{ColumnDef, ConstraintDef, ConstraintKind, Rewrite, TableChange, TableDef, packs};
use verso_exec::functions::records::{RESHAPED, Shape};
use verso_exec::plan::{ExprKind, Insert, Plan, Statement as Bound, TypedExpr};
use verso_types::SqlType;

use super::Schema;
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::QualifiedName;
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;
use verso_storage::workers::Listed;

/// The first words of the statement that makes such a change.
fn word_of(change: &TableChange) -> &'static str {
    match change {
        TableChange::ForIndex { .. } => "CREATE INDEX",
        _ => "ALTER TABLE",
    }
}

impl Schema<'_> {
    /// Copies a table's rows into a new heap; yields the table as it is then. `value` gives the column that is new or changes, over the old columns.
    pub(super) fn rewrite(
        &self,
        name: &QualifiedName,
        change: &TableChange,
        value: impl FnOnce(&TableDef) -> Result<Option<TypedExpr>, SqlError>,
    ) -> Result<Arc<TableDef>, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let rewrite = {
            let txn = &mut self.frame.txn.borrow_mut();
            catalog.begin_rewrite(txn, Some(&self.home(name)), &name.name.text, change)?
        };
        let Rewrite { old, new } = &rewrite;
        let listed = self.list_copy(word_of(change), "copying rows", &rewrite)?;
        let value = value(old)?;
        let (changes, remade): (_, Vec<u16>) = match change {
            TableChange::ColumnType { column, hidden, .. } => {
                (Some(column), hidden.iter().map(|column| column.id).collect())
            }
            TableChange::Expression { column, .. } => {
                let hidden = new.generated_from(column).filter(|column| column.is_hidden());
                (None, hidden.map(|column| column.id).collect())
            }
            _ => (None, Vec::new()),
        };
        let copy = self.copy_rows(old, new, value, (changes, &remade))?;
        listed.job().enter("checking constraints", 0);
        self.frame.inside_now(|frame| Schema { frame }.check_copy(old, &copy, new, change))?;
        listed.job().enter("building indexes", 0);
        catalog.finish_rewrite(&mut self.frame.txn.borrow_mut(), &rewrite)?;
        if let TableChange::ColumnType { column, .. } | TableChange::Expression { column, .. } = change
            && let Some(at) = old.column(column)
        {
            let id = old.columns[at].id;
            self.frame.inside_now(|frame| Schema { frame }.check_keys_of(old, id))?;
        }
        Ok(rewrite.new)
    }

    /// Checks the foreign keys that have a column whose values have changed, on either side: the indexes that they are looked
    /// up in are built.
    fn check_keys_of(&self, old: &TableDef, column: u16) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let Some(table) = self.frame.catalog.table_by_oid(old.oid) else { return Ok(()) };
        let is_checked = |constraint: &ConstraintDef| constraint.validated && constraint.enforced;
        for constraint in table.constraints.iter().filter(|constraint| is_checked(constraint)) {
            let ConstraintKind::Foreign(key) = &constraint.kind else { continue };
            if key.columns.contains(&column) {
                self.check_rows(&binder, &table, constraint)?;
            }
        }
        for constraint in table.referenced_by.iter().filter(|constraint| is_checked(constraint)) {
            let ConstraintKind::Foreign(key) = &constraint.kind else { continue };
            // One of the table itself has been among its own.
            if constraint.table == table.oid || !key.referenced_columns.contains(&column) {
                continue;
            }
            let Some(child) = self.frame.catalog.table_by_oid(constraint.table) else { continue };
            // Its partitions have parts of the key, and the rows.
            if child.partitioned.is_none() {
                self.check_rows(&binder, &child, constraint)?;
            }
        }
        Ok(())
    }

    /// Lists a copy of a table's rows as a job, until what is returned is dropped: it is as far as its new heap has pages.
    pub(super) fn list_copy(
        &self,
        what: &'static str,
        phase: &'static str,
        rewrite: &Rewrite,
    ) -> Result<Listed, Failure> {
        let services = self.frame.services;
        let engine = &services.instance.engine;
        let listed = engine.begin_job(what, services.info.number, Some(rewrite.old.heap));
        let (from, to) = (engine.heap(rewrite.old.heap)?, engine.heap(rewrite.new.heap)?);
        listed.job().enter_filling(phase, to, from.page_count().into());
        Ok(listed)
    }

    /// Copies the rows of a table whose columns are made of a row type that has other fields now. `before` is the table as it was.
    pub(super) fn reshape(&self, before: &TableDef) -> Result<(), Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let rewrite = {
            let txn = &mut self.frame.txn.borrow_mut();
            catalog.begin_rewrite(txn, Some(&before.schema), &before.name, &TableChange::RowTypes)?
        };
        let Rewrite { old, new } = &rewrite;
        let _listed = self.list_copy("ALTER TYPE", "copying rows", &rewrite)?;
        let mut values = Vec::new();
        for column in &new.columns {
            let known = before.columns.iter().find(|known| known.id == column.id);
            let at = old.columns.iter().position(|known| known.id == column.id);
            let (Some(known), Some(at)) = (known, at) else {
                return Err(SqlError::internal("a column that was not there before").into());
            };
            let value = TypedExpr::column(at, column.ty.clone());
            values.push(match Shape::between(&known.ty, &column.ty) {
                Shape::Same => value,
                shape => {
                    let shape = TypedExpr::literal(shape.value(), SqlType::Record);
                    let kind = ExprKind::Call { function: &RESHAPED, args: vec![value, shape] };
                    TypedExpr::new(kind, column.ty.clone())
                }
            });
        }
        self.insert_copied(old, new, values)?;
        catalog.finish_rewrite(&mut self.frame.txn.borrow_mut(), &rewrite)?;
        Ok(())
    }

    /// Numbers of a table's columns of these names if some of them do not stand by themselves, as the columns of an index
    /// do: its rows are to be copied first.
    pub(super) fn packed(&self, table: &TableDef, names: &[&str]) -> Result<Vec<u16>, Failure> {
        let named = table.shown().iter().filter(|column| names.contains(&&*column.name));
        let named: Vec<u16> = named.map(|column| column.id).collect();
        let heap = self.frame.services.instance.engine.heap(table.heap)?;
        Ok(if packs::are_stored(&heap, named.iter().copied()) { Vec::new() } else { named })
    }

    /// Copies the rows; yields the table that they are in now, as it takes them: with NULLs wherever they are.
    fn copy_rows(
        &self,
        old: &Arc<TableDef>,
        new: &Arc<TableDef>,
        mut value: Option<TypedExpr>,
        (changes, remade): (Option<&Arc<str>>, &[u16]),
    ) -> Result<Arc<TableDef>, Failure> {
        let mut values = Vec::new();
        for column in &new.columns {
            if remade.contains(&column.id) {
                values.push(TypedExpr::null(column.ty.clone()));
                continue;
            }
            let before = old.columns.iter().position(|known| known.id == column.id);
            let changed = before.is_none_or(|before| {
                let before = &old.columns[before];
                // The type may stay as it is, and USING changes the values all the same.
                changes == Some(&column.name) || before.generated && before.default != column.default
            });
            values.push(match (changed, before) {
                (false, Some(before)) => TypedExpr::column(before, column.ty.clone()),
                _ => {
                    let value = match value.take() {
                        Some(value) => value,
                        None if column.is_hidden() => self.hidden_value(column, old)?,
                        None => self.new_value(column)?,
                    };
                    self.of_column(column, value)?
                }
            });
        }
        if remade.is_empty() {
            return self.insert_copied(old, new, values);
        }
        // Those are computed of the row as it is then.
        let all: Vec<usize> = (0..old.columns.len()).collect();
        let scan = Plan::TableScan { table: Arc::clone(old).into(), columns: all, filter: None };
        let mut behind = Vec::with_capacity(values.len());
        for (at, column) in new.columns.iter().enumerate() {
            behind.push(match remade.contains(&column.id) {
                true => self.hidden_value(column, new)?,
                false => TypedExpr::column(at, values[at].ty.clone()),
            });
        }
        let names = new.columns.iter().map(|column| Arc::clone(&column.name)).collect();
        let source = Plan::Project { input: Box::new(scan), exprs: values, names };
        self.insert_copied_from(new, source, behind)
    }

    /// Puts these values of each row of a table into its new heap.
    fn insert_copied(
        &self,
        old: &Arc<TableDef>,
        new: &Arc<TableDef>,
        values: Vec<TypedExpr>,
    ) -> Result<Arc<TableDef>, Failure> {
        let all: Vec<usize> = (0..old.columns.len()).collect();
        let source = Plan::TableScan { table: Arc::clone(old).into(), columns: all, filter: None };
        self.insert_copied_from(new, source, values)
    }

    /// The same of rows in another order.
    pub(super) fn insert_copied_from(
        &self,
        new: &Arc<TableDef>,
        source: Plan,
        values: Vec<TypedExpr>,
    ) -> Result<Arc<TableDef>, Failure> {
        let mut copy = (**new).clone();
        copy.columns.iter_mut().for_each(|column| column.not_null = false);
        let copy = Arc::new(copy);
        let calls = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::UserCall { .. }));
        let calls_functions = values.iter().any(calls) || source.any_expr(&mut |part| calls(part));
        let insert = Bound::Insert(Insert::plain(Arc::clone(&copy), source, values));
        self.frame.inside_now(|frame| {
            // Functions that read the table find it as it was: the heap that is being filled has its rows in the end. Sequences that
            // belong to new columns are known now only.
            let catalog = if calls_functions { self.frame.catalog } else { frame.catalog };
            self.frame.services.lend_names(catalog);
            let before = Frame { catalog, ..*frame };
            // The expressions of indexes are the owner's.
            before.as_owner_of(new, |frame| frame.count(&insert, &[]))
        })?;
        Ok(copy)
    }

    /// Checks what the copied rows have to keep: NOT NULL, and the conditions on a column of another type or expression now.
    fn check_copy(
        &self,
        old: &TableDef,
        copy: &Arc<TableDef>,
        new: &TableDef,
        change: &TableChange,
    ) -> Result<(), Failure> {
        let required: Vec<_> = new
            .columns
            .iter()
            .filter(|column| {
                let known = old.not_null_of(column.id);
                column.not_null && known.is_none_or(|known| known.validated)
            })
            .collect();
        let required: Vec<Arc<str>> = required.iter().map(|column| Arc::clone(&column.name)).collect();
        self.refuse_nulls(copy, &required)?;
        let texts = match change {
            TableChange::ColumnType { texts, .. } => texts.checks.as_slice(),
            TableChange::Expression { .. } => &[],
            _ => return Ok(()),
        };
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let mut checks = old.constraints.iter().filter(|constraint| {
            matches!(constraint.kind, ConstraintKind::Check { .. }) && constraint.validated
        });
        checks.try_for_each(|constraint| {
            let text = texts.iter().find(|(oid, _)| *oid == constraint.oid);
            let Some((_, text)) = text else { return self.check_rows(&binder, copy, constraint) };
            let kind = ConstraintKind::Check { expression: Arc::clone(text) };
            let now = Arc::new(ConstraintDef { kind, ..(**constraint).clone() });
            self.check_rows(&binder, copy, &now)
        })
    }

    /// The value of a column, checked where it is of a domain.
    fn of_column(&self, column: &ColumnDef, value: TypedExpr) -> Result<TypedExpr, Failure> {
        let Some(domain) = &column.domain else { return Ok(value) };
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        Ok(binder.of_domain(value, domain)?)
    }

    /// The value of a new hidden column.
    fn hidden_value(&self, column: &ColumnDef, old: &TableDef) -> Result<TypedExpr, Failure> {
        self.frame.inside(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            Ok(binder.stored_generation(column, old)?)
        })
    }

    /// The value that a new column has in rows that are there: of a sequence the next one, else NULL.
    fn new_value(&self, column: &ColumnDef) -> Result<TypedExpr, Failure> {
        match &column.default {
            None if column.domain.is_none() => Ok(TypedExpr::null(column.ty.clone())),
            _ => self.frame.inside(|frame| {
                let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                Ok(binder.stored_default(column)?)
            }),
        }
    }
}
