//! Rows of `pg_constraint`.

use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ColumnDef, ConstraintDef, ConstraintKind, ForeignKey, Oid, Relation, TableDef,
    TriggerDef,
};
use verso_types::{SqlType, Value};

use super::fixed::equality;
use super::keys::Keys;
use super::relations::{declared, namespace, of_users};
use super::{attnum, letter, number, oid, shorts};
use crate::views::Views;

/// The rows of `pg_constraint`.
pub(super) fn constraints(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let referenced = keys.oid("confrelid").filter(|table| table.0 != 0);
    let listed = |relation: Option<&Relation>| relation.cloned().into_iter().collect::<Vec<_>>();
    let of_domains = keys.oid("contypid").is_some_and(|ty| ty.0 != 0);
    let tables: Vec<Relation> = match (keys.oid("conrelid"), referenced, keys.oid("oid")) {
        _ if of_domains => Vec::new(),
        (None, _, Some(own)) => listed(catalog.owner_of_part(own)),
        // Only tables with foreign keys on that one can have rows.
        (None, Some(referenced), None) => {
            let Some(table) = catalog.table_by_oid(referenced) else { return rows };
            let mut referencing: Vec<_> =
                table.referenced_by.iter().map(|constraint| constraint.table).collect();
            referencing.sort_unstable();
            referencing.dedup();
            referencing.into_iter().filter_map(|table| catalog.relation_by_oid(table).cloned()).collect()
        }
        (None, None, None) if keys.oid("conindid").is_some_and(|index| index.0 != 0) => {
            of_index(catalog, keys.oid("conindid").unwrap_or_default())
        }
        _ => of_users(catalog, keys, "conrelid", None),
    };
    for relation in tables {
        let Relation::Table(table) = relation else { continue };
        let fits = |constraint: &&Arc<ConstraintDef>| {
            keys.takes("oid", constraint.oid)
                && keys.text("conname").is_none_or(|name| *name == *constraint.name)
                && keys.text("contype").is_none_or(|kind| kind.starts_with(letter_of(constraint)))
        };
        let row = |constraint: &Arc<ConstraintDef>| row((views, keys), catalog, &table, constraint);
        rows.extend(table.constraints.iter().filter(fits).filter_map(row));
        let fits = |trigger: &&Arc<TriggerDef>| {
            trigger.constraint
                && keys.takes("oid", trigger.oid)
                && keys
                    .text("conname")
                    .is_none_or(|name| trigger.own_constraint().is_some_and(|own| *name == **own))
        };
        rows.extend(table.triggers.iter().filter(fits).map(|trigger| trigger_row(catalog, &table, trigger)));
    }
    rows.extend(super::domains::constraints(views, catalog, keys));
    rows
}

/// The tables whose constraints may have this index: its own, and those that refer to that.
fn of_index(catalog: &Arc<CatalogSnapshot>, index: Oid) -> Vec<Relation> {
    let Some(Relation::Index(index)) = catalog.relation_by_oid(index) else { return Vec::new() };
    let Some(table) = catalog.table_by_oid(index.table) else { return Vec::new() };
    let mut tables: Vec<Oid> = table.referenced_by.iter().map(|constraint| constraint.table).collect();
    tables.push(table.oid);
    tables.sort_unstable();
    tables.dedup();
    tables.into_iter().filter_map(|table| catalog.relation_by_oid(table).cloned()).collect()
}

/// `contype`.
fn letter_of(constraint: &ConstraintDef) -> char {
    match &constraint.kind {
        ConstraintKind::Check { .. } => 'c',
        ConstraintKind::NotNull { .. } => 'n',
        ConstraintKind::Unique { primary: true, .. } => 'p',
        ConstraintKind::Unique { primary: false, .. } => 'u',
        ConstraintKind::Exclude { .. } => 'x',
        ConstraintKind::Foreign(_) => 'f',
    }
}

/// The row of a constraint trigger.
fn trigger_row(catalog: &CatalogSnapshot, table: &TableDef, trigger: &TriggerDef) -> Vec<Value> {
    let blank = || letter(' ');
    let mut row = vec![
        oid(trigger.oid),
        Value::Text(Arc::clone(trigger.own_constraint().unwrap_or(&trigger.name))),
        namespace(catalog, &table.schema),
        letter('t'),
        Value::Bool(trigger.deferrable),
        Value::Bool(trigger.initially_deferred),
        Value::Bool(true),
        Value::Bool(true),
        oid(table.oid),
    ];
    row.extend([number(0), number(0), number(0), number(0), blank(), blank(), blank()]);
    row.extend([Value::Bool(true), Value::Int2(0), Value::Bool(true), Value::Bool(false)]);
    row.extend(std::iter::repeat_n(Value::Null, 8));
    row
}

/// The operators by which keys are compared: referenced with referencing columns, each with its own kind.
fn equalities(catalog: &CatalogSnapshot, table: &TableDef, key: &ForeignKey) -> [Value; 3] {
    let Some(referenced) = catalog.table_by_oid(key.referenced) else {
        return [Value::Null, Value::Null, Value::Null];
    };
    let types = |table: &TableDef, columns: &[u16]| -> Vec<SqlType> {
        columns.iter().map(|id| declared(table, *id).uncollated().clone()).collect()
    };
    let (ours, theirs) = (types(table, &key.columns), types(&referenced, &key.referenced_columns));
    let of = |left: &[SqlType], right: &[SqlType]| {
        let one = |(left, right): (&SqlType, &SqlType)| Value::Int8(equality(left, right));
        Value::Array(left.iter().zip(right).map(one).collect())
    };
    [of(&theirs, &ours), of(&theirs, &theirs), of(&ours, &ours)]
}

fn row(
    (views, keys): (&Views<'_>, &Keys<'_>),
    catalog: &Arc<CatalogSnapshot>,
    table: &Arc<TableDef>,
    constraint: &ConstraintDef,
) -> Option<Vec<Value>> {
    let numbers = |columns: &[u16]| shorts(columns.iter().map(|column| attnum(*column)));
    let blank = || letter(' ');
    let kind = letter_of(constraint);
    let (mut index, mut referenced) = (number(0), number(0));
    let mut part_of = Oid(0);
    let (mut update, mut delete, mut matches) = (blank(), blank(), blank());
    let (mut key, mut other, mut set, mut condition) = (Value::Null, Value::Null, Value::Null, Value::Null);
    let mut operators = Value::Null;
    let mut equal = [Value::Null, Value::Null, Value::Null];
    match &constraint.kind {
        ConstraintKind::Check { .. } => {
            if (keys.reads("conkey") || keys.reads("conbin"))
                && let Some((text, columns)) =
                    super::definitions::check_text(views, table, &constraint.name, false)
            {
                condition = Value::text(&text);
                key = shorts(columns.iter().map(|column| attnum(*column)));
            }
        }
        ConstraintKind::NotNull { column } => {
            key = numbers(&[*column]);
        }
        ConstraintKind::Unique { .. } | ConstraintKind::Exclude { .. } => {
            let own = constraint.kind.own_index()?;
            let index_def = table.index(own)?;
            if let Some(Relation::Index(whole)) =
                index_def.part_of.and_then(|whole| catalog.relation_by_oid(whole))
            {
                part_of = whole.constraint.unwrap_or_default();
            }
            index = oid(own);
            let declared = index_def.declared();
            key = shorts(declared.iter().map(|part| match ColumnDef::is_hidden_id(part.column) {
                true => 0,
                false => attnum(part.column),
            }));
            if index_def.excludes() {
                operators = super::relations::exclusion_operators(table, &declared);
            }
        }
        ConstraintKind::Foreign(foreign) => {
            part_of = constraint.part_of.unwrap_or_default();
            index = oid(foreign.index);
            referenced = oid(foreign.referenced);
            update = letter(foreign.on_update.letter());
            delete = letter(foreign.on_delete.letter());
            matches = letter(if foreign.match_full { 'f' } else { 's' });
            key = numbers(&foreign.columns);
            other = numbers(&foreign.referenced_columns);
            if !foreign.delete_columns.is_empty() {
                set = numbers(&foreign.delete_columns);
            }
            if ["conpfeqop", "conppeqop", "conffeqop"].iter().any(|column| keys.reads(column)) {
                equal = equalities(catalog, table, foreign);
            }
        }
    }
    // A demand of the whole table is one of its partitions.
    let inherited = part_of != Oid(0)
        || table.partition_of.as_ref().and_then(|of| catalog.table_by_oid(of.parent)).is_some_and(|whole| {
            matches!(constraint.kind, ConstraintKind::NotNull { .. } | ConstraintKind::Check { .. })
                && whole.constraint(&constraint.name).is_some_and(|known| !known.no_inherit)
        });
    Some(vec![
        oid(constraint.oid),
        Value::Text(Arc::clone(&constraint.name)),
        namespace(catalog, &table.schema),
        letter(kind),
        Value::Bool(constraint.deferrable),
        Value::Bool(constraint.initially_deferred),
        Value::Bool(constraint.enforced),
        Value::Bool(constraint.validated),
        oid(table.oid),
        number(0),
        index,
        oid(part_of),
        referenced,
        update,
        delete,
        matches,
        Value::Bool(!inherited),
        Value::Int2(i16::from(inherited)),
        Value::Bool(match kind {
            'c' | 'n' => constraint.no_inherit,
            'f' => part_of == Oid(0) && table.partitioned.is_none(),
            _ => part_of == Oid(0),
        }),
        Value::Bool(match &constraint.kind {
            ConstraintKind::Foreign(foreign) => foreign.period,
            ConstraintKind::Unique { index, .. } => {
                table.index(*index).is_some_and(|index| index.is_temporal())
            }
            _ => false,
        }),
        key,
        other,
        equal[0].clone(),
        equal[1].clone(),
        equal[2].clone(),
        set,
        operators,
        condition,
    ])
}
