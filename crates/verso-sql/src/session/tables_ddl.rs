//! Tables, their constraints and indexes: from syntax to the catalog's requests, and the checks of rows that are there.
//!
//! A constraint that is added checks the rows first; a change of columns copies them. Both run as plans of the executors,
//! each in a statement of its own, so that it sees what the part before it has done.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{
    CatalogError, ConstraintKind, NewColumn, NewConstraint, NewConstraintKind, NewIndex, NewTable,
    ObjectKind, Rewrite, SequenceBounds, SequenceRequest, TableChange, TableDef, TableOptions,
};
use verso_row::plan::{ExprKind, Insert, Plan, Statement as Bound, TypedExpr};
use verso_storage::{StorageError, TableLockMode, WaitPolicy};
use verso_types::{CastKind, SqlType, Value};

use super::api::CommandTag;
use super::run::{Failure, Frame};
use super::transaction::tag;
use crate::bind::Binder;
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{
    AlterAction, AlterTable, ColumnDefinition, ConstraintClause, ConstraintDefinition, CreateIndex,
    CreateSequence, CreateTable, DropKind, LockTable, Name, QualifiedName, TableElement, Truncate,
};

fn text(name: &Name) -> Arc<str> {
    name.text.as_str().into()
}

fn texts(names: &[Name]) -> Vec<Arc<str>> {
    names.iter().map(text).collect()
}

pub(super) fn schema(name: &QualifiedName) -> Option<Arc<str>> {
    name.schema_text().map(Arc::from)
}

pub(super) fn options(given: &[(String, String)]) -> TableOptions {
    TableOptions {
        given: given.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
    }
}

/// The bounds of a sequence as CREATE SEQUENCE or an identity column gives them.
pub(super) fn bounds(create: &CreateSequence) -> Result<SequenceBounds, CatalogError> {
    let CreateSequence { name: _, if_not_exists: _, ty, start, increment, min, max, cycle } = create;
    let request = SequenceRequest {
        ty: Some(ty.clone()),
        start: *start,
        increment: *increment,
        min: *min,
        max: *max,
        cycle: *cycle,
    };
    request.resolve()
}

impl Frame<'_> {
    // ── CREATE TABLE ─────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn create_table(
        &self,
        binder: &Binder<'_>,
        create: &CreateTable,
    ) -> Result<CommandTag, Failure> {
        let mut new = NewTable::new(create.name.name.text.as_str(), Vec::new());
        new.schema = schema(&create.name);
        new.options = options(&create.options);
        let mut constraints: Vec<&ConstraintDefinition> = Vec::new();
        let mut copied_indexes: Vec<NewIndex> = Vec::new();
        for element in &create.elements {
            match element {
                TableElement::Column(column) => {
                    let twice = new.columns.iter().any(|other| *other.name == *column.name.text);
                    if twice {
                        let text = format!("column \"{}\" specified more than once", column.name.text);
                        return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
                    }
                    new.columns.push(self.new_column(binder, column)?);
                    constraints.extend(&column.constraints);
                }
                TableElement::Constraint(constraint) => constraints.push(constraint),
                TableElement::Like { table, defaults, constraints, indexes, identity } => {
                    let table = binder.table(table)?;
                    copy_columns(&table, &mut new, *defaults, *identity);
                    copy_constraints(&table, &mut new, *constraints, *indexes);
                    if *indexes {
                        copied_indexes.extend(plain_indexes(&table, &create.name));
                    }
                }
            }
        }
        let columns: Vec<(Arc<str>, SqlType)> =
            new.columns.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect();
        for constraint in constraints {
            let made = self.new_constraint(binder, &new.name, &columns, constraint)?;
            new.constraints.push(made);
        }
        let catalog = &self.services.instance.catalog;
        let made = catalog.create_table(&mut self.txn.borrow_mut(), &new, create.if_not_exists)?;
        if made.is_none() {
            let text = format!("relation \"{}\" already exists, skipping", create.name.name.text);
            self.skip_known(sqlstate::DUPLICATE_TABLE, text);
            return Ok(tag("CREATE TABLE"));
        }
        for index in &copied_indexes {
            self.inside(|_| Ok(catalog.create_index(&mut self.txn.borrow_mut(), index, false)?))?;
        }
        Ok(tag("CREATE TABLE"))
    }

    fn new_column(&self, binder: &Binder<'_>, column: &ColumnDefinition) -> Result<NewColumn, Failure> {
        let mut new = NewColumn::new(column.name.text.as_str(), column.ty.clone());
        new.not_null = column.not_null;
        new.serial = column.serial;
        if let Some((expr, text)) = &column.default {
            if column.serial || column.identity.is_some() {
                let both = if column.serial { "default values" } else { "default and identity" };
                let text = format!("multiple {both} specified for column \"{}\"", column.name.text);
                return Err(SqlError::syntax(text).at(expr.at.start).into());
            }
            binder.default_value(expr, &column.name.text, &column.ty)?;
            new.default = Some(text.as_str().into());
        }
        if let Some((identity, sequence)) = &column.identity {
            if !column.ty.is_integer() {
                let text = "identity column type must be smallint, integer, or bigint";
                return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text).into());
            }
            new.serial = true;
            new.identity = Some(*identity);
            new.sequence = Some(bounds(sequence)?);
        }
        Ok(new)
    }

    /// A constraint of a table with these columns.
    fn new_constraint(
        &self,
        binder: &Binder<'_>,
        table: &str,
        columns: &[(Arc<str>, SqlType)],
        constraint: &ConstraintDefinition,
    ) -> Result<NewConstraint, Failure> {
        let kind = match &constraint.clause {
            ConstraintClause::Check(expr, text) => {
                let condition = binder.condition(expr, table, columns)?;
                let mut used: Vec<usize> = Vec::new();
                condition.any(&mut |part| {
                    if let ExprKind::Column(column) = part.kind
                        && !used.contains(&column)
                    {
                        used.push(column);
                    }
                    false
                });
                let columns = used.iter().map(|column| Arc::clone(&columns[*column].0)).collect();
                NewConstraintKind::Check { expression: text.as_str().into(), columns }
            }
            ConstraintClause::Unique { columns, primary, nulls_distinct } => NewConstraintKind::Unique {
                columns: texts(columns),
                primary: *primary,
                nulls_distinct: *nulls_distinct,
            },
            ConstraintClause::Foreign {
                columns,
                table,
                referenced,
                match_full,
                on_delete,
                on_update,
                delete_columns,
            } => NewConstraintKind::Foreign {
                columns: texts(columns),
                schema: schema(table),
                table: text(&table.name),
                referenced: texts(referenced),
                match_full: *match_full,
                on_delete: *on_delete,
                on_update: *on_update,
                delete_columns: texts(delete_columns),
            },
        };
        Ok(NewConstraint {
            name: constraint.name.as_ref().map(text),
            kind,
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
        })
    }

    // ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<CommandTag, Failure> {
        let CreateIndex { name, if_not_exists, unique, nulls_distinct, table, parts } = create;
        let new = NewIndex {
            name: name.as_ref().map(text),
            schema: schema(table),
            table: text(&table.name),
            parts: parts
                .iter()
                .map(|(column, descending, nulls_first)| (text(column), *descending, *nulls_first))
                .collect(),
            unique: *unique,
            nulls_distinct: *nulls_distinct,
        };
        let catalog = &self.services.instance.catalog;
        if catalog.create_index(&mut self.txn.borrow_mut(), &new, *if_not_exists)?.is_none() {
            let name = name.as_ref().map_or("", |name| &name.text);
            let text = format!("relation \"{name}\" already exists, skipping");
            self.skip_known(sqlstate::DUPLICATE_TABLE, text);
        }
        Ok(tag("CREATE INDEX"))
    }

    pub(super) fn reindex(&self, index: bool, name: &QualifiedName) -> Result<CommandTag, Failure> {
        let catalog = &self.services.instance.catalog;
        let txn = &mut self.txn.borrow_mut();
        let schema = name.schema_text();
        if !index {
            catalog.reindex(txn, schema, &name.name.text, None)?;
            return Ok(tag("REINDEX"));
        }
        let index = self.catalog.index(schema, &name.name.text);
        let index = index.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, name.to_string()))?;
        let table = self.catalog.table_by_oid(index.table);
        let table = table.ok_or_else(|| SqlError::internal("an index without a table"))?;
        catalog.reindex(txn, Some(&table.schema), &table.name, Some(index.oid))?;
        Ok(tag("REINDEX"))
    }

    // ── TRUNCATE ─────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn truncate(&self, binder: &Binder<'_>, truncate: &Truncate) -> Result<CommandTag, Failure> {
        let mut tables = Vec::new();
        for name in &truncate.tables {
            tables.push(binder.target(name)?);
        }
        let mut next = 0;
        while let Some(table) = tables.get(next).cloned() {
            next += 1;
            for constraint in &table.referenced_by {
                if tables.iter().any(|table| table.oid == constraint.table) {
                    continue;
                }
                let Some(other) = self.catalog.table_by_oid(constraint.table) else { continue };
                if !truncate.cascade {
                    let text = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                        .with_detail(format!("Table \"{}\" references \"{}\".", other.name, table.name))
                        .with_hint(format!(
                            "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                            other.name
                        ))
                        .into());
                }
                self.skip(format!("truncate cascades to table \"{}\"", other.name));
                tables.push(other);
            }
        }
        let catalog = &self.services.instance.catalog;
        catalog.truncate(&mut self.txn.borrow_mut(), &tables, truncate.restart_identity)?;
        Ok(tag("TRUNCATE TABLE"))
    }

    // ── ALTER TABLE ──────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn alter_table(&self, alter: &AlterTable) -> Result<CommandTag, Failure> {
        let mut name = alter.name.clone();
        let relation = self.catalog.relation(name.schema_text(), &name.name.text);
        if relation.is_none() && alter.if_exists {
            self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
            return Ok(tag("ALTER TABLE"));
        }
        for action in &alter.actions {
            self.inside(|frame| frame.alter_action(&name, action))?;
            if let AlterAction::Rename(to) = action {
                name.name = to.clone();
            }
        }
        Ok(tag("ALTER TABLE"))
    }

    fn alter_action(&self, name: &QualifiedName, action: &AlterAction) -> Result<(), Failure> {
        let binder = Binder::new(self.catalog, &self.services.settings.time_zone, &[]);
        let table = binder.target(name)?;
        match action {
            AlterAction::AddColumn { column, if_not_exists } => {
                if *if_not_exists && table.column(&column.name.text).is_some() {
                    let text = format!(
                        "column \"{}\" of relation \"{}\" already exists, skipping",
                        column.name.text, table.name
                    );
                    self.skip_known(sqlstate::DUPLICATE_COLUMN, text);
                    return Ok(());
                }
                let new = self.new_column(&binder, column)?;
                let default = column.default.as_ref();
                let default = default
                    .map(|(expr, _)| binder.default_value(expr, &column.name.text, &column.ty))
                    .transpose()?;
                self.rewrite(name, &TableChange::AddColumn(new), |_, _| Ok(default.clone()))?;
                for constraint in &column.constraints {
                    let action = AlterAction::AddConstraint(constraint.clone());
                    self.inside(|frame| frame.alter_action(name, &action))?;
                }
                Ok(())
            }
            AlterAction::DropColumn { column, if_exists, cascade } => {
                if *if_exists && table.column(&column.text).is_none() {
                    let text = format!(
                        "column \"{}\" of relation \"{}\" does not exist, skipping",
                        column.text, table.name
                    );
                    self.skip_known(sqlstate::DUPLICATE_COLUMN, text);
                    return Ok(());
                }
                let change = TableChange::DropColumn { column: text(column), cascade: *cascade };
                self.rewrite(name, &change, |_, _| Ok(None))
            }
            AlterAction::ColumnType { column, ty, using } => {
                self.column_type(&binder, name, &table, column, ty, using.as_ref())
            }
            AlterAction::NotNull { column, not_null } => {
                if *not_null {
                    self.refuse_nulls_there(&table, &[text(column)])?;
                }
                self.alter(name, &TableChange::NotNull { column: text(column), not_null: *not_null })
            }
            AlterAction::Default { column, default } => {
                let at = table.column(&column.text);
                if let (Some((expr, _)), Some(at)) = (default, at) {
                    binder.default_value(expr, &column.text, &table.columns[at].ty)?;
                }
                let default = default.as_ref().map(|(_, text)| text.as_str().into());
                self.alter(name, &TableChange::Default { column: text(column), default })
            }
            AlterAction::AddConstraint(constraint) => {
                let columns: Vec<_> =
                    table.columns.iter().map(|c| (Arc::clone(&c.name), c.ty.clone())).collect();
                let new = self.new_constraint(&binder, &table.name, &columns, constraint)?;
                if let NewConstraintKind::Unique { columns, primary: true, .. } = &new.kind {
                    self.refuse_nulls_there(&table, columns)?;
                }
                self.alter(name, &TableChange::AddConstraint(new))?;
                let known: HashSet<_> = table.constraints.iter().map(|known| known.oid).collect();
                self.inside_now(|frame| {
                    let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                    let table = binder.table(name)?;
                    let added = table.constraints.iter().find(|one| !known.contains(&one.oid));
                    added.map_or(Ok(()), |added| frame.check_rows(&binder, &table, added))
                })
            }
            AlterAction::DropConstraint { name: constraint, if_exists, cascade } => {
                if *if_exists && table.constraint(&constraint.text).is_none() {
                    let text = format!(
                        "constraint \"{}\" of relation \"{}\" does not exist, skipping",
                        constraint.text, table.name
                    );
                    self.skip_known(sqlstate::DUPLICATE_COLUMN, text);
                    return Ok(());
                }
                let change = TableChange::DropConstraint { name: text(constraint), cascade: *cascade };
                self.alter(name, &change)
            }
            AlterAction::Rename(to) => self.alter(name, &TableChange::Rename(text(to))),
            AlterAction::RenameColumn { column, to } => {
                let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
                    ConstraintKind::Check { expression } => {
                        let renamed = crate::parse::rename_column(expression, &column.text, &to.text);
                        Some((constraint.oid, renamed.into()))
                    }
                    ConstraintKind::Unique { .. } | ConstraintKind::Foreign(_) => None,
                });
                let checks = checks.collect();
                self.alter(name, &TableChange::RenameColumn { column: text(column), to: text(to), checks })
            }
            AlterAction::RenameConstraint { name: constraint, to } => {
                self.alter(name, &TableChange::RenameConstraint { name: text(constraint), to: text(to) })
            }
            AlterAction::Options(given) => self.alter(name, &TableChange::Options(options(given))),
        }
    }

    pub(super) fn rename(
        &self,
        kind: DropKind,
        name: &QualifiedName,
        to: &Name,
        if_exists: bool,
    ) -> Result<CommandTag, Failure> {
        let (kind, word) = match kind {
            DropKind::Table => (ObjectKind::Table, "ALTER TABLE"),
            DropKind::Sequence => (ObjectKind::Sequence, "ALTER SEQUENCE"),
            DropKind::Index => (ObjectKind::Index, "ALTER INDEX"),
        };
        let catalog = &self.services.instance.catalog;
        if if_exists && self.catalog.relation(name.schema_text(), &name.name.text).is_none() {
            self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
            return Ok(tag(word));
        }
        let txn = &mut self.txn.borrow_mut();
        catalog.rename(txn, kind, name.schema_text(), &name.name.text, &text(to))?;
        Ok(tag(word))
    }

    /// A change that leaves the rows as they are.
    fn alter(&self, name: &QualifiedName, change: &TableChange) -> Result<(), Failure> {
        let catalog = &self.services.instance.catalog;
        let txn = &mut self.txn.borrow_mut();
        Ok(catalog.alter_table(txn, name.schema_text(), &name.name.text, change)?)
    }

    fn column_type(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        column: &Name,
        ty: &SqlType,
        using: Option<&crate::syntax::Expr>,
    ) -> Result<(), Failure> {
        let change = TableChange::ColumnType { column: text(column), ty: ty.clone() };
        let using = using.map(|using| binder.conversion(using, table)).transpose()?;
        let at = table.column(&column.text);
        self.rewrite(name, &change, |old, _| {
            let at = at.unwrap_or_default();
            let own = || TypedExpr::column(at, old.columns[at].ty.clone());
            let (value, kind) = match &using {
                Some(using) => (using.clone(), CastKind::Assignment),
                None => (own(), CastKind::Assignment),
            };
            let fits = verso_types::cast_kind(&value.ty, ty).is_some_and(|weakest| weakest <= kind);
            if !fits && value.ty != *ty {
                let (text, hint) = if using.is_some() {
                    let text = format!(
                        "result of USING clause for column \"{}\" cannot be cast automatically to type {}",
                        column.text,
                        ty.without_modifiers().pg_name()
                    );
                    (text, "You might need to add an explicit cast.".to_string())
                } else {
                    let shown = ty.without_modifiers().pg_name();
                    let text =
                        format!("column \"{}\" cannot be cast automatically to type {shown}", column.text);
                    (text, format!("You might need to specify \"USING {}::{shown}\".", column.text))
                };
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_hint(hint));
            }
            let cast = ExprKind::Cast { arg: Box::new(value), kind };
            Ok(Some(TypedExpr::new(cast, ty.clone())))
        })
    }

    /// Copies a table's rows into a new heap. `value` gives the column that is new or changes, over the old columns.
    fn rewrite(
        &self,
        name: &QualifiedName,
        change: &TableChange,
        value: impl FnOnce(&TableDef, &TableDef) -> Result<Option<TypedExpr>, SqlError>,
    ) -> Result<(), Failure> {
        let catalog = &self.services.instance.catalog;
        let rewrite = {
            let txn = &mut self.txn.borrow_mut();
            catalog.begin_rewrite(txn, name.schema_text(), &name.name.text, change)?
        };
        let Rewrite { old, new } = &rewrite;
        let mut value = value(old, new)?;
        let mut copy = (**new).clone();
        copy.columns.iter_mut().for_each(|column| column.not_null = false);
        let mut values = Vec::new();
        for column in &new.columns {
            let before = old.columns.iter().position(|known| known.id == column.id);
            let changed = before.is_none_or(|before| old.columns[before].ty != column.ty);
            values.push(match (changed, before) {
                (false, Some(before)) => TypedExpr::column(before, column.ty.clone()),
                _ => match value.take() {
                    Some(value) => value,
                    None => self.new_value(column)?,
                },
            });
        }
        let all: Vec<usize> = (0..old.columns.len()).collect();
        let source = Plan::TableScan { table: Arc::clone(old), columns: all, filter: None };
        let copy = Arc::new(copy);
        let insert = Bound::Insert(Insert::plain(Arc::clone(&copy), source, values));
        self.inside_now(|frame| frame.count(&insert))?;
        self.inside_now(|frame| {
            let required: Vec<_> = new.columns.iter().filter(|column| column.not_null).collect();
            let required: Vec<Arc<str>> = required.iter().map(|column| Arc::clone(&column.name)).collect();
            frame.refuse_nulls(&copy, &required)?;
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            if matches!(change, TableChange::ColumnType { .. }) {
                for constraint in &old.constraints {
                    if matches!(constraint.kind, ConstraintKind::Check { .. }) {
                        frame.check_rows(&binder, &copy, constraint)?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(catalog.finish_rewrite(&mut self.txn.borrow_mut(), &rewrite)?)
    }

    /// The value that a new column has in rows that are there: of a sequence the next one, else NULL.
    fn new_value(&self, column: &verso_catalog::ColumnDef) -> Result<TypedExpr, Failure> {
        match &column.default {
            None => Ok(TypedExpr::null(column.ty.clone())),
            Some(_) => self.inside(|frame| {
                let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                Ok(binder.stored_default(column)?)
            }),
        }
    }

    // ── LOCK TABLE ───────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn lock_table(&self, binder: &Binder<'_>, lock: &LockTable) -> Result<CommandTag, Failure> {
        use crate::syntax::TableLockMode as Asked;
        let mode = match lock.mode {
            Asked::AccessShare => TableLockMode::AccessShare,
            Asked::RowShare => TableLockMode::RowShare,
            Asked::RowExclusive => TableLockMode::RowExclusive,
            Asked::ShareUpdateExclusive => TableLockMode::ShareUpdateExclusive,
            Asked::Share => TableLockMode::Share,
            Asked::ShareRowExclusive => TableLockMode::ShareRowExclusive,
            Asked::Exclusive => TableLockMode::Exclusive,
            Asked::AccessExclusive => TableLockMode::AccessExclusive,
        };
        let policy = if lock.nowait { WaitPolicy::NoWait } else { WaitPolicy::Block };
        let engine = &self.services.instance.engine;
        for name in &lock.tables {
            let table = binder.table(name)?;
            let locked = engine.lock_table(&mut self.txn.borrow_mut(), table.heap, mode, policy);
            if matches!(locked, Ok(false) | Err(StorageError::LockNotAvailable)) {
                let text = format!("could not obtain lock on relation \"{}\"", table.name);
                return Err(SqlError::new(sqlstate::LOCK_NOT_AVAILABLE, text).into());
            }
            locked?;
            self.tables().check_definition(&mut self.txn.borrow_mut(), &table)?;
        }
        Ok(tag("LOCK TABLE"))
    }

    // ── rows that are there ──────────────────────────────────────────────────────────────────────────────────────

    /// The same for a table that others may be changing: when they are done.
    fn refuse_nulls_there(&self, table: &Arc<TableDef>, columns: &[Arc<str>]) -> Result<(), Failure> {
        self.tables().lock(table, TableLockMode::AccessExclusive)?;
        self.inside_now(|frame| frame.refuse_nulls(table, columns))
    }

    /// Refuses NULLs in columns that are to take none (23502).
    fn refuse_nulls(&self, table: &Arc<TableDef>, columns: &[Arc<str>]) -> Result<(), Failure> {
        for name in columns {
            let Some(at) = table.column(name) else { continue };
            let column = TypedExpr::column(0, table.columns[at].ty.clone());
            let null = ExprKind::IsNull { arg: Box::new(column), negated: false };
            let filter = TypedExpr::new(null, SqlType::Bool);
            let scan = Plan::TableScan { table: Arc::clone(table), columns: vec![at], filter: Some(filter) };
            if self.any_row(scan)? {
                let text = format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
                return Err(SqlError::new("23502", text)
                    .with_schema(&*table.schema)
                    .with_table(&*table.name)
                    .with_column(&**name)
                    .into());
            }
        }
        Ok(())
    }

    /// Checks a constraint for all rows of a table.
    fn check_rows(
        &self,
        binder: &Binder<'_>,
        table: &Arc<TableDef>,
        constraint: &Arc<verso_catalog::ConstraintDef>,
    ) -> Result<(), Failure> {
        match &constraint.kind {
            ConstraintKind::Unique { .. } => Ok(()), // building the index has
            ConstraintKind::Check { expression } => {
                let condition = binder.stored_condition(expression, table)?;
                let broken = TypedExpr::new(ExprKind::Not(Box::new(condition)), SqlType::Bool);
                let all: Vec<usize> = (0..table.columns.len()).collect();
                let scan = Plan::TableScan { table: Arc::clone(table), columns: all, filter: Some(broken) };
                if self.any_row(scan)? {
                    let text = format!(
                        "check constraint \"{}\" of relation \"{}\" is violated by some row",
                        constraint.name, table.name
                    );
                    return Err(SqlError::new("23514", text)
                        .with_schema(&*table.schema)
                        .with_table(&*table.name)
                        .with_constraint(&*constraint.name)
                        .into());
                }
                Ok(())
            }
            ConstraintKind::Foreign(_) => self.check_foreign_key(table, constraint),
        }
    }

    /// Whether a query yields a row.
    fn any_row(&self, plan: Plan) -> Result<bool, Failure> {
        let one = TypedExpr::literal(Value::Int8(1), SqlType::Int8);
        let limited = Plan::Limit { input: Box::new(plan), limit: Some(one), offset: None };
        Ok(self.count(&Bound::Query(limited))? > 0)
    }
}

// ── LIKE ─────────────────────────────────────────────────────────────────────────────────────────────────────────

fn copy_columns(table: &TableDef, new: &mut NewTable, defaults: bool, identity: bool) {
    for column in &table.columns {
        let mut copy = NewColumn::new(Arc::clone(&column.name), column.ty.clone());
        copy.not_null = column.not_null;
        if let Some(kind) = column.identity {
            copy.identity = identity.then_some(kind);
            copy.serial = identity;
        } else {
            copy.default = column.default.clone().filter(|_| defaults);
        }
        new.columns.push(copy);
    }
}

fn copy_constraints(table: &TableDef, new: &mut NewTable, checks: bool, keys: bool) {
    let name_of = |id: &u16| table.column_with_id(*id).map(|at| Arc::clone(&table.columns[at].name));
    for constraint in &table.constraints {
        let (name, kind) = match &constraint.kind {
            ConstraintKind::Check { expression } if checks => {
                let kind =
                    NewConstraintKind::Check { expression: Arc::clone(expression), columns: Vec::new() };
                (Some(Arc::clone(&constraint.name)), kind)
            }
            ConstraintKind::Unique { columns, index, primary } if keys => {
                let kind = NewConstraintKind::Unique {
                    columns: columns.iter().filter_map(name_of).collect(),
                    primary: *primary,
                    nulls_distinct: table.index(*index).is_none_or(|index| index.nulls_distinct),
                };
                (None, kind)
            }
            _ => continue,
        };
        new.constraints.push(NewConstraint {
            name,
            kind,
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
        });
    }
}

/// The indexes that belong to no constraint, for another table.
fn plain_indexes(table: &TableDef, target: &QualifiedName) -> Vec<NewIndex> {
    let plain = table.indexes.iter().filter(|index| index.constraint.is_none());
    let copy = |index: &Arc<verso_catalog::IndexDef>| NewIndex {
        name: None,
        schema: schema(target),
        table: text(&target.name),
        parts: index
            .parts
            .iter()
            .filter_map(|part| {
                let at = table.column_with_id(part.column)?;
                Some((Arc::clone(&table.columns[at].name), part.descending, part.nulls_first))
            })
            .collect(),
        unique: index.unique,
        nulls_distinct: index.nulls_distinct,
    };
    plain.map(copy).collect()
}
