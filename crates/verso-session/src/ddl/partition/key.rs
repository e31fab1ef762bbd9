//! PARTITION BY: by which columns and expressions a table is divided, and which unique keys it may have then.

use std::sync::Arc;

use verso_catalog::partition::{PartOrder, Strategy, hash};
use verso_catalog::{KeyClass, KeyPartOf, NewConstraintKind, NewKeyPart, NewTable, Partitioned, TableDef};
use verso_exec::plan::ExprKind;
use verso_parser::syntax::{IndexKey, PartitionBy, PartitionKeyPart};
use verso_planner::bind::{Binder, ColumnInScope, columns_of};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::key::KeyType;
use verso_types::{Collation, Derivation, SqlType, Within};

use super::super::composite::is_system_name;
use super::super::index::key_class;
use super::foreign::refuse_moves;

/// PARTITION BY of a new table, whose columns and constraints are known.
pub(in crate::ddl) fn divided_by(
    binder: &Binder<'_>,
    new: &NewTable,
    by: &PartitionBy,
) -> Result<(Strategy, Vec<NewKeyPart>), SqlError> {
    let strategy = match by.strategy.text.to_ascii_lowercase().as_str() {
        "list" => Strategy::List,
        "range" => Strategy::Range,
        "hash" => Strategy::Hash,
        _ => {
            let text = format!("unrecognized partitioning strategy \"{}\"", by.strategy.text);
            return Err(SqlError::new("22023", text).at(by.strategy.at.start));
        }
    };
    if new.unlogged {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "partitioned tables cannot be unlogged"));
    }
    if strategy == Strategy::List && by.keys.len() > 1 {
        let text = "cannot use \"list\" partition strategy with more than one column";
        return Err(SqlError::new("42P17", text));
    }
    if by.keys.len() > 32 {
        let text = "cannot partition using more than 32 columns";
        return Err(SqlError::new("54011", text));
    }
    let columns: Vec<ColumnInScope> = new
        .columns
        .iter()
        .map(|column| (Arc::clone(&column.name), column.ty.seen(), column.generated))
        .collect();
    let mut parts = Vec::with_capacity(by.keys.len());
    for PartitionKeyPart { key, at, collation, class } in &by.keys {
        let (mut part, ty) = match key {
            IndexKey::Column(name) => column_part(&columns, &name.text, at.start)?,
            IndexKey::Expression(expr, text) => {
                let bind = |binder: &Binder<'_>| binder.partition_expression(expr, &new.name, &columns);
                let (text, bound) = binder.kept_text(expr, text, bind)?;
                match bound.kind {
                    // `(a)` is the column.
                    ExprKind::Column(at_column) => {
                        let (mut part, ty) = column_part(&columns, &columns[at_column].0, at.start)?;
                        // `(a COLLATE c)` is the column in that order.
                        if let Derivation::Explicit(collation) = &bound.collation {
                            part.new.order.collation = Some(Arc::clone(collation));
                        }
                        (part, ty)
                    }
                    _ => {
                        let used = columns_of(&bound).into_iter().map(|at| Arc::clone(&columns[at].0));
                        let ty = bound.seen();
                        (
                            Part {
                                new: NewKeyPart {
                                    of: KeyPartOf::Expression(ty.clone(), text.into()),
                                    order: PartOrder::default(),
                                },
                                used: used.collect(),
                            },
                            ty,
                        )
                    }
                }
            }
        };
        let shown = ty.uncollated().without_modifiers().pg_name();
        if let Some(name) = collation {
            if !ty.erased().is_collatable() {
                let text = format!("collations are not supported by type {shown}");
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(at.start));
            }
            let found = binder.collation_named(name.schema_text(), &name.name.text, name.at().start)?;
            part.new.order.collation = Some(Arc::clone(&found.collation));
        }
        let own = ty.collation().map_or(Collation::DEFAULT, |one| one.oid);
        part.new.order.collation = part.new.order.collation.take().filter(|one| one.oid != own);
        let method = if strategy == Strategy::Hash { "hash" } else { "btree" };
        part.new.order.class = key_class(Some(method), class.as_ref(), ty.uncollated())?;
        let is_coarse = |ty: &SqlType| ty.collation().is_some_and(|one| !one.is_deterministic());
        if part.new.order.class != KeyClass::Ordered
            && is_coarse(&PartOrder { class: KeyClass::Ordered, ..part.new.order.clone() }.of(&ty))
        {
            let class = part.new.order.class.name();
            let text =
                format!("nondeterministic collations are not supported for operator class \"{class}\"");
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let ty = part.new.order.of(&ty);
        if strategy == Strategy::Hash && !hash::is_hashed(&ty) {
            return Err(SqlError::unsupported(format!("PARTITION BY HASH of type {shown}")).at(at.start));
        }
        // Keys of partitions compare the texts within arrays and rows by their bytes.
        let is_array = matches!(ty.plain(), SqlType::Array(_));
        let counts = |one: &Collation| {
            one.collator.is_some() && (strategy != Strategy::Hash || !one.is_deterministic())
        };
        let of_array = ty.collation().filter(|one| is_array && counts(one));
        let of_row = Within::of(&ty).filter(|within| strategy == Strategy::Range || within.is_coarse());
        if of_array.is_some() || of_row.is_some() {
            let text = format!("a partition key of type {shown} with texts under a collation");
            return Err(SqlError::unsupported(text).at(at.start));
        }
        if strategy != Strategy::Hash && KeyType::of(&ty).is_none() {
            let text = format!("data type {shown} has no default operator class for access method \"btree\"");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).with_hint(
                "You must specify a btree operator class or define a default btree operator class for the data type.",
            ));
        }
        parts.push(part);
    }
    let key = || parts.iter().map(|part| (part.new.column(), part.new.order.collation.is_some()));
    let used: Vec<&str> = parts.iter().flat_map(|part| &part.used).map(|name| &**name).collect();
    for constraint in &new.constraints {
        match &constraint.kind {
            NewConstraintKind::Unique { columns, primary, .. } => {
                let columns: Vec<&str> = columns.iter().map(|name| &**name).collect();
                check_unique(&new.name, key(), &columns, *primary)?;
                refuse_period_among(key().filter_map(|(name, _)| name), &constraint.kind)?;
            }
            NewConstraintKind::Foreign { .. } => refuse_moves(&used, &constraint.kind)?,
            NewConstraintKind::NotNull { .. }
            | NewConstraintKind::Check { .. }
            | NewConstraintKind::Exclude { .. } => {}
        }
    }
    Ok((strategy, parts.into_iter().map(|part| part.new).collect()))
}

/// A part of a key, and the columns that it reads.
struct Part {
    new: NewKeyPart,
    used: Vec<Arc<str>>,
}

/// A column of a new table as a part of its key, and its type.
fn column_part(columns: &[ColumnInScope], name: &str, at: u32) -> Result<(Part, SqlType), SqlError> {
    let Some((name, ty, generated)) = columns.iter().find(|(known, ..)| **known == *name) else {
        if is_system_name(name) {
            let text = format!("cannot use system column \"{name}\" in partition key");
            return Err(SqlError::new("42P17", text).at(at));
        }
        let text = format!("column \"{name}\" named in partition key does not exist");
        return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(at));
    };
    if *generated {
        return Err(SqlError::new("42P17", "cannot use generated column in partition key")
            .with_detail(format!("Column \"{name}\" is a generated column."))
            .at(at));
    }
    let new = NewKeyPart { of: KeyPartOf::Column(Arc::clone(name)), order: PartOrder::default() };
    let part = Part { new, used: vec![Arc::clone(name)] };
    Ok((part, ty.clone()))
}

/// Refuses a unique key that does not have the columns by which a table is divided, in the same collation: each partition sees its
/// own rows only. Of a part of the key that is an expression there is no name.
fn check_unique<'k>(
    table: &str,
    key: impl Iterator<Item = (Option<&'k str>, bool)>,
    columns: &[&str],
    primary: bool,
) -> Result<(), SqlError> {
    let what = if primary { "PRIMARY KEY" } else { "UNIQUE" };
    for part in key {
        match part {
            (None, _) => return Err(of_expressions(what)),
            (Some(name), false) if columns.contains(&name) => {}
            (Some(missing), _) => {
                let text = "unique constraint on partitioned table must include all partitioning columns";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(format!(
                    "{what} constraint on table \"{table}\" lacks column \"{missing}\" which is part of the partition key."
                )));
            }
        }
    }
    Ok(())
}

/// A key of rows cannot be unique where expressions say which partition they are in.
pub(in crate::ddl) fn of_expressions(what: &str) -> SqlError {
    let text = format!("unsupported {what} constraint with partition key definition");
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
        .with_detail(format!("{what} constraints cannot be used when partition keys include expressions."))
}

/// The parts of the key of a table by name, expressions have none, and whether it says a collation for them.
fn names_of<'t>(
    table: &'t TableDef,
    partitioned: &'t Partitioned,
) -> impl Iterator<Item = (Option<&'t str>, bool)> {
    partitioned.columns.iter().zip(&partitioned.orders).filter_map(|(id, order)| {
        let column = &table.columns[table.column_with_id(*id)?];
        Some(((!column.is_hidden()).then_some(&*column.name), order.collation.is_some()))
    })
}

/// The same of a table that is there.
pub(in crate::ddl) fn check_key(
    table: &TableDef,
    partitioned: &Partitioned,
    columns: &[Arc<str>],
    primary: bool,
) -> Result<(), SqlError> {
    let columns: Vec<&str> = columns.iter().map(|name| &**name).collect();
    check_unique(&table.name, names_of(table, partitioned), &columns, primary)
}

/// Refuses a key whose periods may overlap those of other partitions.
pub(in crate::ddl) fn refuse_period(
    table: &TableDef,
    partitioned: &Partitioned,
    kind: &NewConstraintKind,
) -> Result<(), SqlError> {
    refuse_period_among(names_of(table, partitioned).filter_map(|(name, _)| name), kind)
}

fn refuse_period_among<'k>(
    mut key: impl Iterator<Item = &'k str>,
    kind: &NewConstraintKind,
) -> Result<(), SqlError> {
    let NewConstraintKind::Unique { columns, without_overlaps: true, .. } = kind else { return Ok(()) };
    let Some(period) = columns.last().filter(|period| key.any(|name| *name == ***period)) else {
        return Ok(());
    };
    let text =
        format!("cannot match partition key to index on column \"{period}\" using non-equal operator \"&&\"");
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
}

/// Refuses a primary key of a partitioned table alone while its columns may be NULL in partitions.
pub(in crate::ddl) fn check_not_null(table: &Arc<TableDef>, columns: &[Arc<str>]) -> Result<(), SqlError> {
    for part in &table.with_partitions()[1..] {
        for column in columns {
            if part.column(column).is_some_and(|at| !part.columns[at].not_null) {
                let text = format!("column \"{column}\" of table \"{}\" is not marked NOT NULL", part.name);
                return Err(SqlError::new("42P16", text));
            }
        }
    }
    Ok(())
}
