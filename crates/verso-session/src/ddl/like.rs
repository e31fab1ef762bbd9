//! CREATE TABLE … LIKE: what a new table takes over from another one.

use std::sync::Arc;

use verso_catalog::{
    COLUMN_COMPRESSION, COLUMN_STORAGE, ColumnDef, ConstraintKind, IndexDef, NewColumn, NewConstraint,
    NewConstraintKind, NewTable, Oid, StatisticsKind, TableDef, TableOptions,
};

use verso_exec::functions::quote_ident;

use super::alter_table::ColumnWords;
use super::exclusion::exclusion_statement;

/// Adds the columns of a table.
pub(super) fn copy_columns(
    table: &TableDef,
    new: &mut NewTable,
    defaults: bool,
    identity: bool,
    generated: bool,
    reservable: bool,
) {
    for column in table.shown() {
        let mut copy = NewColumn::new(Arc::clone(&column.name), column.declared().clone());
        copy.not_null = column.not_null;
        copy.reservable = column.reservable && reservable;
        if let Some(kind) = column.identity {
            copy.identity = identity.then_some(kind);
            copy.serial = identity;
        } else {
            let taken = if column.generated { generated } else { defaults };
            copy.default = column.default.clone().filter(|_| taken);
            copy.generated = column.generated && generated;
            copy.is_virtual = column.is_virtual && generated;
        }
        new.columns.push(copy);
    }
}

/// What is said of how the values of a table's columns are kept, by their names.
pub(super) fn words_of_columns(
    table: &TableDef,
    storage: bool,
    compression: bool,
) -> Vec<(Arc<str>, ColumnWords)> {
    let word = |name: &str, wanted: bool, letter: Option<char>| {
        letter
            .filter(|_| wanted)
            .map(|letter| (Arc::<str>::from(name), Some(Arc::<str>::from(letter.to_string()))))
    };
    let of = |column: &ColumnDef| {
        let kept = word(COLUMN_STORAGE, storage, table.column_storage(column.id));
        let packed = word(COLUMN_COMPRESSION, compression, table.column_compression(column.id));
        (Arc::clone(&column.name), kept.into_iter().chain(packed).collect())
    };
    table.shown().iter().map(of).collect()
}

/// Adds the checks of a table and its keys, where they are wanted; foreign keys never. Of a partition the keys are parts of
/// those of its table.
pub(super) fn copy_constraints(table: &TableDef, new: &mut NewTable, checks: bool, keys: bool, part: bool) {
    let name_of = |id: &u16| table.column_with_id(*id).map(|at| Arc::clone(&table.columns[at].name));
    for constraint in &table.constraints {
        let part_of = match &constraint.kind {
            ConstraintKind::Unique { index, .. } if part => Some(*index),
            _ => None,
        };
        let (name, kind) = match &constraint.kind {
            ConstraintKind::Check { expression } if checks => {
                let kind =
                    NewConstraintKind::Check { expression: Arc::clone(expression), columns: Vec::new() };
                (Some(Arc::clone(&constraint.name)), kind)
            }
            ConstraintKind::NotNull { column } => match name_of(column) {
                // always, and under its name
                Some(column) => (Some(Arc::clone(&constraint.name)), NewConstraintKind::NotNull { column }),
                None => continue,
            },
            ConstraintKind::Unique { columns, index, primary } if keys => {
                let kind = NewConstraintKind::Unique {
                    columns: columns.iter().filter_map(name_of).collect(),
                    primary: *primary,
                    nulls_distinct: table.index(*index).is_none_or(|index| index.nulls_distinct),
                    without_overlaps: table.index(*index).is_some_and(|index| index.is_temporal()),
                    include: {
                        let include = table.index(*index).map(|index| index.include.as_slice());
                        include.unwrap_or_default().iter().filter_map(name_of).collect()
                    },
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
            // A new table has no rows that could break it.
            validated: true,
            enforced: constraint.enforced,
            part_of,
            no_inherit: constraint.no_inherit,
            options: constraint
                .kind
                .own_index()
                .and_then(|index| table.index(index))
                .map_or_else(TableOptions::default, |index| index.options.clone()),
        });
    }
}

/// The indexes that belong to no constraint, and those of exclusion constraints, as statements for another table.
pub(super) fn plain_indexes(table: &TableDef, schema: &str, target: &str) -> Vec<(Oid, String)> {
    let name = format!("{}.{}", quote_ident(schema), quote_ident(target));
    let statement = |index: &Arc<IndexDef>| {
        let owner = table.constraints.iter().find(|constraint| Some(constraint.oid) == index.constraint);
        let text = match (owner, index.excluding.is_some()) {
            (None, _) => index_statement(index, table, &name),
            (Some(owner), true) => exclusion_statement(index, owner, table, &name),
            (Some(_), false) => return None,
        };
        Some((index.oid, text))
    };
    table.indexes.iter().filter_map(statement).collect()
}

/// The statistics of a table as statements for another one, in a schema; they get new names there.
pub(super) fn statistics_like<'t>(
    table: &'t TableDef,
    (schema, target): (&str, &str),
) -> impl Iterator<Item = String> + 't {
    let target = format!("{}.{}", quote_ident(schema), quote_ident(target));
    table.extended.iter().map(move |one| {
        let named = StatisticsKind::NAMED.into_iter().filter(|kind| one.has(*kind));
        let kinds: Vec<&str> = named.map(StatisticsKind::word).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!("({}) ", kinds.join(", ")) };
        let column = |id: &u16| table.column_with_id(*id).map(|at| quote_ident(&table.columns[at].name));
        let columns = one.columns.iter().filter_map(column);
        let expressions = one.expressions.iter().map(|text| format!("({text})"));
        let items: Vec<String> = columns.chain(expressions).collect();
        format!("CREATE STATISTICS {kinds}ON {} FROM {target}", items.join(", "))
    })
}

/// An index of a table as a statement for another one.
pub(super) fn index_statement(index: &IndexDef, table: &TableDef, target: &str) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    format!("CREATE {unique}INDEX ON {target} {}", index.declaration(table, quote_ident))
}
