//! CREATE TABLE: columns and constraints from syntax to the catalog's request.

use std::sync::Arc;

use verso_catalog::{
    Identity, NewColumn, NewConstraint, NewConstraintKind, NewTable, Object, Oid, Rights, TableOptions,
};
use verso_types::SqlType;

use super::alter_columns::{ColumnWords, kept_as};
use super::composite::{is_system_name, pseudo_named, refuse_pseudo, refuse_system_name};
use super::like::{copy_columns, copy_constraints, plain_indexes, statistics_like, words_of_columns};
use super::partition::{divided_by, refuse_parameters, same_kind};
use super::sequence::bounds;
use super::{Schema, options, text, texts};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{
    AlterAction, ColumnDefinition, ConstraintClause, ConstraintDefinition, CreateSequence, CreateTable, Expr,
    ExprKind, Literal, Name, QualifiedName, TableElement,
};
use verso_planner::bind::{Binder, columns_of};
use verso_planner::errors::{SqlError, sqlstate};

/// Refuses keys of what rows have beside their columns.
fn refuse_of_system(clause: &ConstraintClause) -> Result<(), SqlError> {
    let named = |columns: &[Name]| columns.iter().find(|column| is_system_name(&column.text)).cloned();
    let text = match clause {
        ConstraintClause::Unique { columns, primary: true, .. } if let Some(column) = named(columns) => {
            format!("cannot add not-null constraint on system column \"{}\"", column.text)
        }
        ConstraintClause::Unique { columns, .. } if named(columns).is_some() => {
            "index creation on system columns is not supported".to_string()
        }
        ConstraintClause::Foreign { columns, referenced, .. }
            if named(columns).or_else(|| named(referenced)).is_some() =>
        {
            "system columns cannot be used in foreign keys".to_string()
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
}

impl Schema<'_> {
    /// Tells that a relation is there already, which IF NOT EXISTS takes for enough.
    pub(super) fn skip_relation(&self, name: &str, words: &'static str) -> CommandTag {
        let text = format!("relation \"{name}\" already exists, skipping");
        self.skip_known(sqlstate::DUPLICATE_TABLE, text);
        tag(words)
    }

    /// CREATE TABLE.
    pub(super) fn create_table(
        &self,
        binder: &Binder<'_>,
        create: &CreateTable,
    ) -> Result<CommandTag, Failure> {
        let mut new = NewTable::new(create.name.name.text.as_str(), Vec::new());
        let place = match create.temporary {
            Some(_) => self.temporary_place(&create.name)?,
            None => self.place(&create.name)?,
        };
        // What is there already is no reason to look at what is wanted.
        if create.if_not_exists && self.frame.catalog.relation(Some(&place), &new.name).is_some() {
            return Ok(self.skip_relation(&new.name, "CREATE TABLE"));
        }
        new.schema = Some(Arc::clone(&place));
        if create.partition_by.is_some() {
            refuse_parameters(&create.options)?;
        }
        new.options = options(&create.options);
        new.unlogged = self.unlogged(create.unlogged, &place)?;
        if let Some(of) = &create.partition_of {
            self.partition_of(binder, create, of, &place, &mut new)?;
        }
        if let Some(of) = &create.of_type {
            self.columns_of_type(create, of, &mut new)?;
        }
        let mut constraints: Vec<&ConstraintDefinition> = Vec::new();
        let mut copied: Vec<(Option<Oid>, String)> = Vec::new();
        let mut commented = Vec::new();
        let mut words: Vec<(Arc<str>, ColumnWords)> = Vec::new();
        let makes_sequences = create.elements.iter().any(|element| {
            matches!(element, TableElement::Column(column) if column.serial || column.identity.is_some())
        });
        // Their defaults may name a sequence that comes with another column.
        let mut named_late: Vec<&ColumnDefinition> = Vec::new();
        for element in &create.elements {
            match element {
                TableElement::Column(column) => {
                    let twice = new.columns.iter().any(|other| *other.name == *column.name.text);
                    if twice {
                        let text = format!("column \"{}\" specified more than once", column.name.text);
                        return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
                    }
                    refuse_system_name(&column.name.text)?;
                    let made = match self.new_column(binder, &create.name.name.text, column) {
                        Err(failure)
                            if makes_sequences
                                && column.default.is_some()
                                && failure.error.sqlstate == sqlstate::UNDEFINED_TABLE =>
                        {
                            named_late.push(column);
                            let plain = ColumnDefinition { default: None, ..column.clone() };
                            self.new_column(binder, &create.name.name.text, &plain)?
                        }
                        made => made?,
                    };
                    words.push((Arc::clone(&made.name), kept_as(column, &made.ty)?));
                    new.columns.push(made);
                    constraints.extend(&column.constraints);
                }
                TableElement::Options(column) => {
                    self.column_of_partition(binder, &mut new, column)?;
                    constraints.extend(&column.constraints);
                }
                TableElement::Constraint(constraint) => constraints.push(constraint),
                TableElement::Like {
                    table,
                    defaults,
                    constraints,
                    indexes,
                    identity,
                    generated,
                    statistics,
                    comments,
                    storage,
                    compression,
                } => {
                    let table = self.like_what(binder, table)?;
                    // What is reserved is noted under the primary key, which comes with the indexes.
                    let keyed = *indexes && create.temporary.is_none() && create.partition_by.is_none();
                    let identity = identity.then(|| self.frame.catalog.as_ref());
                    copy_columns(&table, &mut new, *defaults, identity, *generated, keyed);
                    words.extend(words_of_columns(&table, *storage, *compression));
                    self.refuse_whole_rows(&table, *constraints, *indexes)?;
                    copy_constraints(&table, &mut new, *constraints, *indexes, false);
                    if *indexes {
                        let copies = plain_indexes(&table, &place, &create.name.name.text);
                        copied.extend(copies.into_iter().map(|(_, text)| (None, text)));
                    }
                    if *statistics {
                        let target = (&*place, create.name.name.text.as_str());
                        copied.extend(statistics_like(&table, target).map(|text| (None, text)));
                    }
                    if *comments {
                        commented.push((table, (*constraints, *indexes, *statistics)));
                    }
                }
            }
        }
        let whole = new.partition_of.as_ref().and_then(|of| self.frame.catalog.table_by_oid(of.parent));
        if let Some(whole) = &whole {
            words.splice(..0, words_of_columns(whole, true, true));
            let parts = plain_indexes(whole, &place, &create.name.name.text);
            copied.extend(parts.into_iter().map(|(oid, text)| (Some(oid), text)));
        }
        let columns: Vec<(Arc<str>, SqlType)> =
            new.columns.iter().map(|column| (Arc::clone(&column.name), column.ty.seen())).collect();
        self.bind_generated(binder, create, &mut new)?;
        let (exclusions, constraints): (Vec<_>, Vec<_>) =
            constraints.into_iter().partition(|one| matches!(one.clause, ConstraintClause::Exclude(_)));
        let before = new.constraints.len();
        // Those that LIKE has copied.
        if create.partition_by.is_some() && new.constraints.iter().any(|one| one.no_inherit) {
            return Err(super::alter_constraints::not_of_partitioned(&new.name).into());
        }
        for constraint in constraints {
            if create.partition_by.is_some() {
                super::alter_constraints::refuse_no_inherit(&new.name, constraint)?;
            }
            let made = self.new_constraint(binder, (&place, &new.name), &columns, constraint)?;
            // A new table has no rows that could break it.
            let made = NewConstraint { validated: true, ..made };
            if !joined(&mut new.constraints[before..], &made) {
                new.constraints.push(made);
            }
        }
        if let Some(by) = &create.partition_by {
            new.partition_by = Some(divided_by(binder, &new, by)?);
        }
        let catalog = &self.frame.services.instance.catalog;
        let made = catalog.create_table(&mut self.frame.txn.borrow_mut(), &new, create.if_not_exists)?;
        if made.is_none() {
            return Ok(self.skip_relation(&new.name, "CREATE TABLE"));
        }
        self.note_temporary(made, create.temporary);
        if let Some(oid) = made {
            self.made(Object::Relation(oid), Some(&place))?;
        }
        for (part_of, index) in &copied {
            self.run_like(index, *part_of)?;
        }
        if let Some(oid) = made.filter(|_| !commented.is_empty()) {
            self.frame.inside_now(|frame| {
                let schema = Schema { frame };
                commented.iter().try_for_each(|(table, what)| schema.copy_comments(table, oid, *what))
            })?;
        }
        let name = Name { text: place.to_string(), at: create.name.at() };
        let name = QualifiedName { schema: Some(name), name: create.name.name.clone() };
        for column in named_late {
            let (column, default) = (column.name.clone(), column.default.clone());
            let action = AlterAction::Default { column, default };
            self.frame.inside_now(|frame| Schema { frame }.alter_action(&name, &action, false))?;
        }
        for (column, words) in words {
            self.tell_column(&name, &column, words)?;
        }
        for definition in exclusions {
            if let ConstraintClause::Exclude(exclude) = &definition.clause {
                self.frame.inside_now(|frame| {
                    Schema { frame }.add_exclusion(&name, definition, exclude, None, false)
                })?;
            }
        }
        if let (Some(whole), Some(oid)) = (&whole, made) {
            self.frame.inside_now(|frame| {
                let part = frame.catalog.table_by_oid(oid);
                part.map_or(Ok(()), |part| Schema { frame }.triggers_of_partition(whole, &part))
            })?;
        }
        Ok(tag("CREATE TABLE"))
    }

    /// What a partition says of a column that the whole table has.
    fn column_of_partition(
        &self,
        binder: &Binder<'_>,
        new: &mut NewTable,
        options: &ColumnDefinition,
    ) -> Result<(), Failure> {
        let name = &options.name.text;
        let table = Arc::clone(&new.name);
        let Some(column) = new.columns.iter_mut().find(|column| *column.name == **name) else {
            let text = format!("column \"{name}\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text).into());
        };
        if options.identity.is_some() {
            let text = "identity columns are not supported on partitions";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        match (column.generated, options.default.is_some(), options.generated.is_some()) {
            (true, true, _) => {
                let text = format!("column \"{name}\" inherits from generated column but specifies default");
                return Err(SqlError::new("42611", text).into());
            }
            (false, _, true) => {
                let text = format!("child column \"{name}\" specifies generation expression");
                let hint = "A child table column cannot be generated unless its parent column is.";
                return Err(SqlError::new("42611", text).with_hint(hint).into());
            }
            _ => {}
        }
        if options.generated.is_some() {
            same_kind(name, column.is_virtual, options.is_virtual)?;
        }
        column.not_null |= options.not_null;
        let own = ColumnDefinition { ty: column.ty.clone(), not_null: false, ..options.clone() };
        let default = self.new_column(binder, &table, &own)?.default;
        if options.default.is_some() {
            column.default = default;
        }
        Ok(())
    }

    /// Binds the expressions of generated columns, which see all columns of the table.
    fn bind_generated(
        &self,
        binder: &Binder<'_>,
        create: &CreateTable,
        new: &mut NewTable,
    ) -> Result<(), Failure> {
        let scope: Vec<_> = new
            .columns
            .iter()
            .map(|column| (Arc::clone(&column.name), column.ty.seen(), column.generated))
            .collect();
        for element in &create.elements {
            let (TableElement::Column(column) | TableElement::Options(column)) = element else { continue };
            let ColumnDefinition { name, generated: Some((expr, text)), .. } = column else { continue };
            let Some(column) = new.columns.iter_mut().find(|column| *column.name == *name.text) else {
                continue;
            };
            let ty = column.ty.erased();
            let bind = |binder: &Binder<'_>| binder.generation(expr, &new.name, &scope, (&name.text, &ty));
            let (text, value) = binder.kept_text(expr, text, bind)?;
            if column.is_virtual {
                binder.check_virtual(&name.text, &column.ty, (&value, &text))?;
            }
            column.default = Some(text.into());
        }
        Ok(())
    }

    /// A column, of a new table or to be added to one; the expression of a generated one is not bound yet.
    pub(super) fn new_column(
        &self,
        binder: &Binder<'_>,
        table: &str,
        column: &ColumnDefinition,
    ) -> Result<NewColumn, Failure> {
        let name = &column.name.text;
        let ty = binder.data_type(&column.ty);
        let ty = ty.map_err(|error| pseudo_named(name, &column.ty).unwrap_or(error))?;
        self.may_use(&ty)?;
        refuse_pseudo(&column.name.text, &ty)?;
        let mut new = NewColumn::new(column.name.text.as_str(), ty.clone());
        new.not_null = column.not_null;
        new.serial = column.serial;
        new.reservable = column.reservable;
        if let Some((expr, _)) = &column.generated {
            let other = match (column.default.is_some() || column.serial, column.identity.is_some()) {
                (true, _) => Some("default"),
                (_, true) => Some("identity"),
                _ => None,
            };
            if let Some(other) = other {
                let name = &column.name.text;
                let text = format!(
                    "both {other} and generation expression specified for column \"{name}\" of table \"{table}\""
                );
                return Err(SqlError::syntax(text).at(expr.at.start).into());
            }
            new.generated = true;
            new.is_virtual = column.is_virtual;
        }
        if let Some((expr, text)) = &column.default {
            if column.serial || column.identity.is_some() {
                let both = if column.serial { "default values" } else { "default and identity" };
                let text = format!("multiple {both} specified for column \"{}\"", column.name.text);
                return Err(SqlError::syntax(text).at(expr.at.start).into());
            }
            new.default = default_text(binder, (expr, text.as_str()), &column.name.text, &ty)?;
        }
        if column.serial && column.identity.is_some() {
            let name = &column.name.text;
            let text =
                format!("both default and identity specified for column \"{name}\" of table \"{table}\"");
            return Err(SqlError::syntax(text).at(column.name.at.start).into());
        }
        if let Some((identity, sequence)) = &column.identity {
            let identity = identity_column(&column.name, ty, *identity, sequence)?;
            return Ok(NewColumn { not_null: new.not_null, ..identity });
        }
        Ok(new)
    }

    /// A constraint of a table with these columns.
    pub(super) fn new_constraint(
        &self,
        binder: &Binder<'_>,
        own: (&Arc<str>, &str),
        columns: &[(Arc<str>, SqlType)],
        constraint: &ConstraintDefinition,
    ) -> Result<NewConstraint, Failure> {
        refuse_of_system(&constraint.clause)?;
        let kind = match &constraint.clause {
            ConstraintClause::Check(expr, text) => {
                let bind = |binder: &Binder<'_>| binder.condition(expr, own.1, columns);
                let (text, condition) = binder.kept_text(expr, text, bind)?;
                let mut used: Vec<usize> = Vec::new();
                for column in columns_of(&condition) {
                    if !used.contains(&column) {
                        used.push(column);
                    }
                }
                let columns = used.iter().map(|column| Arc::clone(&columns[*column].0)).collect();
                NewConstraintKind::Check { expression: text.into(), columns }
            }
            ConstraintClause::NotNull(column) => NewConstraintKind::NotNull { column: text(column) },
            ConstraintClause::Unique { index: Some(_), .. } => {
                let text = "cannot use an existing index in CREATE TABLE";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(constraint.at).into());
            }
            ConstraintClause::Unique {
                columns,
                primary,
                nulls_distinct,
                without_overlaps,
                include,
                index: None,
                options: _,
            } => NewConstraintKind::Unique {
                include: texts(include),
                columns: texts(columns),
                primary: *primary,
                nulls_distinct: *nulls_distinct,
                without_overlaps: *without_overlaps,
            },
            ConstraintClause::Exclude(_) => {
                return Err(SqlError::internal("an exclusion constraint comes by itself").into());
            }
            ConstraintClause::Foreign {
                columns,
                table,
                referenced,
                period,
                match_full,
                on_delete,
                on_update,
                delete_columns,
            } => NewConstraintKind::Foreign {
                columns: texts(columns),
                schema: {
                    let home = self.referenced_home(table, own);
                    if let Some(known) = self.frame.catalog.table(Some(&home), &table.name.text) {
                        let columns = referenced.iter().filter_map(|name| known.column(&name.text));
                        binder.require(&known, Rights::REFERENCES, &columns.collect::<Vec<_>>())?;
                    }
                    self.check_persistence(own.0, &home)?;
                    Some(home)
                },
                table: text(&table.name),
                referenced: texts(referenced),
                period: *period,
                match_full: *match_full,
                on_delete: *on_delete,
                on_update: *on_update,
                delete_columns: texts(delete_columns),
            },
        };
        let given = match &constraint.clause {
            ConstraintClause::Unique { options, .. } => options.as_slice(),
            _ => &[],
        };
        Ok(NewConstraint {
            options: options(given),
            name: constraint.name.as_ref().map(text),
            kind,
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
            validated: !constraint.not_valid,
            enforced: !constraint.not_enforced,
            part_of: None,
            no_inherit: constraint.no_inherit,
        })
    }
}

/// Refuses a type that no identity column has.
pub(super) fn refuse_identity_of(ty: &SqlType) -> Result<(), Failure> {
    if ty.is_integer() {
        return Ok(());
    }
    let text = "identity column type must be smallint, integer, or bigint";
    Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text).into())
}

/// A column whose values a sequence of its own gives.
pub(super) fn identity_column(
    name: &Name,
    ty: SqlType,
    identity: Identity,
    sequence: &CreateSequence,
) -> Result<NewColumn, Failure> {
    refuse_identity_of(&ty)?;
    let mut sequence = sequence.clone();
    sequence.options.ty = Some(ty.without_modifiers());
    let mut new = NewColumn::new(name.text.as_str(), ty);
    new.serial = true;
    new.identity = Some(identity);
    new.sequence = Some(bounds(&sequence)?);
    let given = &sequence.name.name.text;
    new.sequence_name = (!given.is_empty()).then(|| given.as_str().into());
    Ok(new)
}

/// The text that is kept of a column's default; none of a plain NULL, which is what there is without one. A NULL of a domain is
/// kept, which may have a default of its own, and one that is cast.
pub(super) fn default_text(
    binder: &Binder<'_>,
    (expr, source): (&Expr, &str),
    column: &str,
    ty: &SqlType,
) -> Result<Option<Arc<str>>, SqlError> {
    let own = ty.erased();
    let bind = |binder: &Binder<'_>| binder.default_value(expr, column, &own);
    let (kept, _) = binder.kept_text(expr, source, bind)?;
    let is_null = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(Literal::Null));
    let is_plain = match &expr.kind {
        ExprKind::Cast { arg, ty: to, .. } => is_null(arg) && binder.data_type(to)? == own,
        _ => is_null(expr),
    };
    let is_open = !matches!(ty, SqlType::Domain(_)) && own == own.without_modifiers();
    Ok((!is_plain || !is_open).then(|| kept.into()))
}

/// Whether a key is one of those already: of keys of the same columns a new table has one, which is the primary one if either is.
fn joined(known: &mut [NewConstraint], new: &NewConstraint) -> bool {
    fn is_primary(constraint: &mut NewConstraint) -> Option<&mut bool> {
        match &mut constraint.kind {
            NewConstraintKind::Unique { primary, .. } => Some(primary),
            _ => None,
        }
    }
    let plain = |constraint: &NewConstraint| {
        let mut plain = NewConstraint { name: None, options: TableOptions::default(), ..constraint.clone() };
        is_primary(&mut plain).map(std::mem::take).map(|primary| (plain, primary))
    };
    let Some((key, primary)) = plain(new) else { return false };
    for one in known {
        let Some((other, was_primary)) = plain(&*one) else { continue };
        // A second primary key is refused later.
        if other != key || was_primary && primary {
            continue;
        }
        if let Some(known) = is_primary(one) {
            *known |= primary;
        }
        if new.name.is_some() && (primary || one.name.is_none()) {
            one.name.clone_from(&new.name);
        }
        return true;
    }
    false
}
