//! Constraints of ALTER TABLE: added, of an index that is there, validated, altered; keys of partitions.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{
    ColumnDef, ConstraintDef, ConstraintKind, NewConstraint, NewConstraintKind, Oid, Relation, TableChange,
    TableDef, TableOptions,
};

use super::alter_table::is_of_trigger;
use super::index::{like_index, named};
use super::partition::{check_key, check_not_null, refuse_moves, refuse_period};
use super::{Schema, text};
use crate::failure::Failure;
use verso_parser::syntax::{ConstraintChange, ConstraintClause, ConstraintDefinition, Name, QualifiedName};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::TableLockMode;

/// Refuses a constraint that the partitions of a table would not get.
pub(super) fn refuse_no_inherit(table: &str, constraint: &ConstraintDefinition) -> Result<(), SqlError> {
    match constraint.clause {
        ConstraintClause::NotNull(_) if constraint.no_inherit => {
            let text = "not-null constraints on partitioned tables cannot be NO INHERIT";
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
        }
        _ if constraint.no_inherit => Err(not_of_partitioned(table)),
        _ => Ok(()),
    }
}

/// What is said of such a constraint.
pub(super) fn not_of_partitioned(table: &str) -> SqlError {
    SqlError::new("42P16", format!("cannot add NO INHERIT constraint to partitioned table \"{table}\""))
}

/// What binds an expression of a table's generated column, which may ask for the table's number. Rows of partitions would be given
/// that of the whole.
pub(super) fn of_table<'b>(binder: Binder<'b>, table: &TableDef, text: &str) -> Result<Binder<'b>, SqlError> {
    if table.partitioned.is_some() && verso_parser::names(text, "tableoid") {
        return Err(SqlError::unsupported(
            "ALTER TABLE of a partitioned table's column that is made of tableoid",
        ));
    }
    Ok(binder.of_table(table.oid))
}

impl Schema<'_> {
    /// VALIDATE CONSTRAINT: checks the rows that are there.
    pub(super) fn validate_constraint(
        &self,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &Name,
    ) -> Result<(), Failure> {
        let known = table.constraint(&constraint.text);
        if known.is_some_and(|known| !known.enforced) {
            return Err(SqlError::new("55000", "cannot validate NOT ENFORCED constraint").into());
        }
        if let Some(known) = known.filter(|known| !known.validated) {
            // Writers go on: all that they have added since it is there keeps it, and what was there before is seen behind the lock.
            self.frame.tables().lock(table, TableLockMode::ShareUpdateExclusive)?;
            if let ConstraintKind::Foreign(key) = &known.kind
                && let Some(referenced) = self.frame.catalog.table_by_oid(key.referenced)
            {
                self.frame.tables().lock(&referenced, TableLockMode::RowShare)?;
            }
            self.frame.inside_now(|frame| {
                let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                Schema { frame }.check_rows(&binder, table, known)
            })?;
        }
        if known.is_some_and(|known| known.kind.own_index().is_some()) || is_of_trigger(table, constraint) {
            let text =
                format!("cannot validate constraint \"{}\" of relation \"{}\"", constraint.text, table.name);
            let detail = "This operation is not supported for this type of constraint.";
            return Err(SqlError::new("42809", text).with_detail(detail).into());
        }
        self.alter(name, &TableChange::Validated(text(constraint)))
    }

    /// ALTER CONSTRAINT: a foreign key that is enforced from now on is checked for the rows that are there.
    pub(super) fn alter_constraint(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &Name,
        change: ConstraintChange,
    ) -> Result<(), Failure> {
        let wrong = |text: String| Err(SqlError::new("42809", text).into());
        let of = format!("constraint \"{}\" of relation \"{}\"", constraint.text, table.name);
        let Some(known) = table.constraint(&constraint.text) else {
            return match is_of_trigger(table, constraint) {
                true => wrong(format!("{of} is not a foreign key constraint")),
                false => Err(SqlError::new("42704", format!("{of} does not exist")).into()),
            };
        };
        let is_foreign = matches!(known.kind, ConstraintKind::Foreign(_));
        let defers = change.deferrable.is_some() || change.initially_deferred.is_some();
        if defers && !is_foreign {
            return wrong(format!("{of} is not a foreign key constraint"));
        }
        if change.enforced.is_some() && !is_foreign {
            return wrong(format!("cannot alter enforceability of {of}"));
        }
        if change.inherit.is_some() && !matches!(known.kind, ConstraintKind::NotNull { .. }) {
            return wrong(format!("{of} is not a not-null constraint"));
        }
        if change.inherit == Some(false) && table.partitioned.is_some() {
            let text = "not-null constraints on partitioned tables cannot be NO INHERIT";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        if change.enforced == Some(true) && !known.enforced {
            let enforced = Arc::new(ConstraintDef { enforced: true, ..(**known).clone() });
            self.check_rows(binder, table, &enforced)?;
        }
        let altered = TableChange::AlterConstraint {
            name: text(constraint),
            deferrable: change.deferrable,
            initially_deferred: change.initially_deferred,
            enforced: change.enforced.filter(|enforced| *enforced != known.enforced),
            no_inherit: change.inherit.map(|inherit| !inherit),
        };
        self.alter(name, &altered)
    }

    /// Adds a constraint, then checks the rows that are there. With `only` the partitions of a table do not get a part of a key.
    pub(super) fn add_constraint(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &ConstraintDefinition,
        only: bool,
    ) -> Result<(), Failure> {
        if let ConstraintClause::Unique { index: Some(index), primary, .. } = &constraint.clause {
            return self.add_constraint_of_index(name, table, constraint, index, *primary);
        }
        if let ConstraintClause::Exclude(exclude) = &constraint.clause {
            return self.add_exclusion(name, constraint, exclude, None, only);
        }
        if table.partitioned.is_some() {
            refuse_no_inherit(&table.name, constraint)?;
        }
        let columns: Vec<_> = table.columns.iter().map(|c| (Arc::clone(&c.name), c.seen())).collect();
        let new = self.new_constraint(binder, (&table.schema, &table.name), &columns, constraint)?;
        // A NOT NULL that is NOT VALID is in the way of another one, whatever the rows have.
        let open = |name: &Arc<str>| {
            let id = table.column(name).map(|at| table.columns[at].id);
            id.and_then(|id| table.not_null_of(id)).is_some_and(|constraint| !constraint.validated)
        };
        let required = match &new.kind {
            NewConstraintKind::NotNull { column } if new.validated => std::slice::from_ref(column),
            NewConstraintKind::Unique { columns, primary: true, .. } => columns.as_slice(),
            _ => &[],
        };
        if !required.is_empty() && !required.iter().any(open) {
            self.refuse_nulls_there(table, required)?;
        }
        if let NewConstraintKind::Unique { columns, without_overlaps: true, .. } = &new.kind {
            self.refuse_empty_there(table, columns.last())?;
        }
        if let NewConstraintKind::Unique { columns, .. } = &new.kind {
            let apart = self.packed(table, &columns.iter().map(|name| &**name).collect::<Vec<_>>())?;
            if !apart.is_empty() {
                self.rewrite(name, &TableChange::ForIndex { hidden: Vec::new(), apart }, |_| Ok(None))?;
            }
        }
        // NULLs were looked for before.
        let checked = new.validated && new.enforced && !matches!(new.kind, NewConstraintKind::NotNull { .. });
        let known: HashSet<_> = table.constraints.iter().map(|known| known.oid).collect();
        if let (Some(partitioned), NewConstraintKind::Unique { columns, primary, .. }) =
            (&table.partitioned, &new.kind)
        {
            check_key(table, partitioned, columns, *primary)?;
            refuse_period(table, partitioned, &new.kind)?;
            if only && *primary {
                check_not_null(table, columns)?;
            }
        }
        if table.partitioned.is_some() {
            let key = table.divided_by().into_iter().filter_map(|id| table.column_with_id(id));
            let key: Vec<&str> = key.map(|at| &*table.columns[at].name).collect();
            refuse_moves(&key, &new.kind)?;
        }
        let change = TableChange::AddConstraint(new.clone());
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))?;
        if table.partitioned.is_some() && matches!(new.kind, NewConstraintKind::Unique { .. }) {
            if only {
                return Ok(());
            }
            return self.frame.inside_now(|frame| Schema { frame }.key_of_partitions(name, &new, &known));
        }
        if !checked {
            return Ok(());
        }
        self.frame.inside_now(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            let table = binder.table(name)?;
            let added = table.constraints.iter().find(|one| !known.contains(&one.oid));
            added.map_or(Ok(()), |added| Schema { frame }.check_rows(&binder, &table, added))
        })
    }

    /// ADD CONSTRAINT … USING INDEX.
    fn add_constraint_of_index(
        &self,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &ConstraintDefinition,
        index: &Name,
        primary: bool,
    ) -> Result<(), Failure> {
        let at = index.at.start.min(constraint.at);
        let refused = |code: &'static str, text: String| SqlError::new(code, text).at(at);
        if table.partitioned.is_some() {
            let text = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        let found = self.frame.catalog.relation(Some(&table.schema), &index.text);
        let Some(Relation::Index(found)) = found else {
            return Err(refused("42704", format!("index \"{}\" does not exist", index.text)).into());
        };
        if found.table != table.oid {
            let text = format!("index \"{}\" does not belong to table \"{}\"", found.name, table.name);
            return Err(refused("55000", text).into());
        }
        if found.constraint.is_some() {
            let text = format!("index \"{}\" is already associated with a constraint", found.name);
            return Err(refused("55000", text).into());
        }
        if !found.valid {
            return Err(refused("55000", format!("index \"{}\" is not valid", found.name)).into());
        }
        let is_plain = |part: &verso_catalog::IndexPart| !part.descending && !part.nulls_first;
        let flaw = if !found.unique {
            Some(format!("\"{}\" is not a unique index", found.name))
        } else if found.parts.iter().any(|part| ColumnDef::is_hidden_id(part.column)) {
            Some(format!("index \"{}\" contains expressions", found.name))
        } else if found.guard.is_some() {
            Some(format!("\"{}\" is a partial index", found.name))
        } else {
            found.parts.iter().position(|part| !is_plain(part)).map(|place| {
                format!(
                    "index \"{}\" column number {} does not have default sorting behavior",
                    found.name,
                    place + 1
                )
            })
        };
        if let Some(text) = flaw {
            let detail = "Cannot create a primary key or unique constraint using such an index.";
            return Err(refused("42809", text).with_detail(detail).into());
        }
        let names = found.parts.iter().filter_map(|part| table.column_with_id(part.column));
        let columns: Vec<Arc<str>> = names.map(|at| Arc::clone(&table.columns[at].name)).collect();
        if primary && !found.nulls_distinct {
            return Err(SqlError::new("42P16", "primary keys cannot use NULLS NOT DISTINCT indexes").into());
        }
        if let Some(given) = constraint.name.as_ref().filter(|given| *given.text != *found.name) {
            self.skip(format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{}\"",
                found.name, given.text
            ));
        }
        if primary {
            self.refuse_nulls_there(table, &columns)?;
        }
        let new = NewConstraint {
            name: constraint.name.as_ref().map(text),
            kind: NewConstraintKind::Unique {
                columns,
                primary,
                nulls_distinct: found.nulls_distinct,
                without_overlaps: false,
                include: Vec::new(),
            },
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
            validated: true,
            enforced: true,
            part_of: None,
            no_inherit: false,
            options: TableOptions::default(),
        };
        let change = TableChange::ConstraintOfIndex { index: found.oid, new };
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))
    }

    /// Gives the partitions of a table a part of its new key, which is none of those known before; or takes the one that they
    /// have already for it.
    fn key_of_partitions(
        &self,
        name: &QualifiedName,
        new: &NewConstraint,
        known: &HashSet<Oid>,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = binder.table(name)?;
        let added = table.constraints.iter().find_map(|constraint| match constraint.kind {
            ConstraintKind::Unique { index, .. } if !known.contains(&constraint.oid) => table.index(index),
            _ => None,
        });
        let Some(index) = added else { return Ok(()) };
        for partition in table.partitioned.iter().flat_map(|partitioned| &partitioned.partitions) {
            if let Some(like) = like_index(partition, index, &table) {
                let catalog = &self.frame.services.instance.catalog;
                catalog.attach_index(&mut self.frame.txn.borrow_mut(), like, index.oid)?;
                continue;
            }
            let own = NewConstraint { name: None, part_of: Some(index.oid), ..new.clone() };
            let name = named(partition, name);
            self.frame.inside_now(|frame| Schema { frame }.key_of_partition(&name, &own, &table))?;
        }
        Ok(())
    }

    /// The same of one of them.
    pub(super) fn key_of_partition(
        &self,
        name: &QualifiedName,
        new: &NewConstraint,
        whole: &TableDef,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = binder.table(name)?;
        if let NewConstraintKind::Unique { columns, primary, .. } = &new.kind {
            if let Some(partitioned) = &table.partitioned {
                check_key(&table, partitioned, columns, *primary)?;
            }
            if *primary {
                self.refuse_nulls_there(&table, columns)?;
                for column in columns {
                    self.same_not_null(name, &table, whole, column)?;
                }
            }
            let apart = self.packed(&table, &columns.iter().map(|name| &**name).collect::<Vec<_>>())?;
            if !apart.is_empty() {
                self.rewrite(name, &TableChange::ForIndex { hidden: Vec::new(), apart }, |_| Ok(None))?;
            }
        }
        let known: HashSet<_> = table.constraints.iter().map(|known| known.oid).collect();
        let change = TableChange::AddConstraint(new.clone());
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))?;
        match table.partitioned {
            Some(_) => self.frame.inside_now(|frame| Schema { frame }.key_of_partitions(name, new, &known)),
            None => Ok(()),
        }
    }

    /// Makes a column of a partition NOT NULL by a constraint of the name that it has in the whole table.
    pub(super) fn same_not_null(
        &self,
        name: &QualifiedName,
        table: &TableDef,
        whole: &TableDef,
        column: &Arc<str>,
    ) -> Result<(), Failure> {
        let of = |table: &TableDef| {
            let id = table.columns[table.column(column)?].id;
            table.not_null_of(id).cloned()
        };
        let (None, Some(constraint)) = (of(table), of(whole)) else { return Ok(()) };
        let change = TableChange::AddConstraint(NewConstraint {
            name: Some(Arc::clone(&constraint.name)),
            kind: NewConstraintKind::NotNull { column: Arc::clone(column) },
            deferrable: false,
            initially_deferred: false,
            validated: constraint.validated,
            enforced: true,
            part_of: None,
            no_inherit: false,
            options: TableOptions::default(),
        });
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))
    }
}
