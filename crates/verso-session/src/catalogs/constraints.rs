//! Rows of `pg_constraint` and `pg_depend`.

use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ColumnDef, ConstraintDef, ConstraintKind, Oid, Relation, TableDef, TriggerDef,
};
use verso_types::Value;

use super::keys::Keys;
use super::relations::{default_oid, namespace, of_users};
use super::{attnum, letter, number, oid, shorts};
use crate::views::Views;

/// Numbers of the catalogs that `pg_depend` refers to.
const CLASS: u32 = 1259;
const CONSTRAINT: u32 = 2606;
const ATTRDEF: u32 = 2604;
const NAMESPACE: u32 = 2615;
const PROC: u32 = 1255;

/// The rows of `pg_constraint`.
pub(super) fn constraints(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let referenced = keys.oid("confrelid").filter(|table| table.0 != 0);
    let tables: Vec<Relation> = match (keys.oid("conrelid"), referenced) {
        // Only tables with foreign keys on that one can have rows.
        (None, Some(referenced)) => {
            let Some(table) = catalog.table_by_oid(referenced) else { return rows };
            let mut referencing: Vec<_> =
                table.referenced_by.iter().map(|constraint| constraint.table).collect();
            referencing.sort_unstable();
            referencing.dedup();
            referencing.into_iter().filter_map(|table| catalog.relation_by_oid(table).cloned()).collect()
        }
        _ => of_users(catalog, keys, "conrelid", None),
    };
    for relation in tables {
        let Relation::Table(table) = relation else { continue };
        let fits = |constraint: &&Arc<ConstraintDef>| {
            keys.takes("oid", constraint.oid)
                && keys.text("conname").is_none_or(|name| *name == *constraint.name)
        };
        rows.extend(
            table.constraints.iter().filter(fits).map(|constraint| row(views, catalog, &table, constraint)),
        );
        let fits = |trigger: &&Arc<TriggerDef>| {
            trigger.constraint
                && keys.takes("oid", trigger.oid)
                && keys.text("conname").is_none_or(|name| *name == *trigger.name)
        };
        rows.extend(table.triggers.iter().filter(fits).map(|trigger| trigger_row(catalog, &table, trigger)));
    }
    rows.extend(super::domains::constraints(views, catalog, keys));
    rows
}

/// The row of a constraint trigger.
fn trigger_row(catalog: &CatalogSnapshot, table: &TableDef, trigger: &TriggerDef) -> Vec<Value> {
    let blank = || letter(' ');
    let mut row = vec![
        oid(trigger.oid),
        Value::Text(Arc::clone(&trigger.name)),
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

fn row(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &Arc<TableDef>,
    constraint: &ConstraintDef,
) -> Vec<Value> {
    let numbers = |columns: &[u16]| shorts(columns.iter().map(|column| attnum(*column)));
    let blank = || letter(' ');
    let (mut kind, mut index, mut referenced) = ('c', number(0), number(0));
    let mut part_of = Oid(0);
    let (mut update, mut delete, mut matches) = (blank(), blank(), blank());
    let (mut key, mut other, mut set, mut condition) = (Value::Null, Value::Null, Value::Null, Value::Null);
    let mut operators = Value::Null;
    match &constraint.kind {
        ConstraintKind::Check { .. } => {
            if let Some((text, columns)) =
                super::definitions::check_text(views, table, &constraint.name, false)
            {
                condition = Value::text(&text);
                key = shorts(columns.iter().map(|column| attnum(*column)));
            }
        }
        ConstraintKind::NotNull { column } => {
            kind = 'n';
            key = numbers(&[*column]);
        }
        ConstraintKind::Unique { .. } | ConstraintKind::Exclude { .. } => {
            let Some((own, index_def)) =
                constraint.kind.own_index().and_then(|own| Some((own, table.index(own)?)))
            else {
                return Vec::new();
            };
            if let Some(Relation::Index(whole)) =
                index_def.part_of.and_then(|whole| catalog.relation_by_oid(whole))
            {
                part_of = whole.constraint.unwrap_or_default();
            }
            kind = match constraint.kind {
                ConstraintKind::Unique { primary: true, .. } => 'p',
                ConstraintKind::Unique { .. } => 'u',
                _ => 'x',
            };
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
            kind = 'f';
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
        }
    }
    vec![
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
        Value::Bool(part_of == Oid(0)),
        Value::Int2(i16::from(part_of != Oid(0))),
        Value::Bool(!matches!(kind, 'c' | 'n') || constraint.no_inherit),
        Value::Bool(match &constraint.kind {
            ConstraintKind::Foreign(foreign) => foreign.period,
            ConstraintKind::Unique { index, .. } => {
                table.index(*index).is_some_and(|index| index.is_temporal())
            }
            _ => false,
        }),
        key,
        other,
        Value::Null,
        Value::Null,
        Value::Null,
        set,
        operators,
        condition,
    ]
}

/// The rows of `pg_depend`: what belongs to schemas, tables and columns of users.
pub(super) fn depends(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut add = |own: (u32, u32, i32), other: (u32, u32, i32), kind: char| {
        rows.push(vec![
            number(own.0),
            number(own.1),
            Value::Int4(own.2),
            number(other.0),
            number(other.1),
            Value::Int4(other.2),
            letter(kind),
        ]);
    };
    for relation in catalog.relations().filter(|relation| !relation.oid().is_system()) {
        let own = relation.oid().0;
        let (schema, _) = relation.path();
        if let (Some(schema), false) = (catalog.schema(schema), matches!(relation, Relation::Index(_))) {
            add((CLASS, own, 0), (NAMESPACE, schema.oid.0, 0), 'n');
        }
        match relation {
            Relation::Table(table) => {
                for column in table.shown().iter().filter(|column| column.default.is_some()) {
                    let place = i32::from(column.id);
                    if column.identity.is_none() {
                        add((ATTRDEF, default_oid(table.oid, column.id), 0), (CLASS, own, place), 'a');
                    }
                }
                for constraint in &table.constraints {
                    let constrained = (CONSTRAINT, constraint.oid.0, 0);
                    match &constraint.kind {
                        ConstraintKind::Check { .. } => add(constrained, (CLASS, own, 0), 'a'),
                        ConstraintKind::NotNull { column } => {
                            add(constrained, (CLASS, own, i32::from(*column)), 'a');
                        }
                        ConstraintKind::Unique { columns, index, .. }
                        | ConstraintKind::Exclude { columns, index, .. } => {
                            for column in columns.iter().filter(|column| !ColumnDef::is_hidden_id(**column)) {
                                add(constrained, (CLASS, own, i32::from(*column)), 'a');
                            }
                            add((CLASS, index.0, 0), constrained, 'i');
                        }
                        ConstraintKind::Foreign(foreign) => {
                            for column in &foreign.columns {
                                add(constrained, (CLASS, own, i32::from(*column)), 'a');
                            }
                            for column in &foreign.referenced_columns {
                                add(constrained, (CLASS, foreign.referenced.0, i32::from(*column)), 'n');
                            }
                        }
                    }
                }
            }
            Relation::Index(index) if index.constraint.is_none() => {
                let Some(table) = catalog.table_by_oid(index.table) else { continue };
                let mut needed: Vec<u16> = Vec::new();
                for id in index.columns() {
                    let of = match index.expression(&table, id) {
                        None => vec![id],
                        Some(text) => table.named_in(text).collect(),
                    };
                    of.into_iter().for_each(|id| needed.extend((!needed.contains(&id)).then_some(id)));
                }
                for column in needed {
                    add((CLASS, own, 0), (CLASS, index.table.0, i32::from(column)), 'a');
                }
            }
            Relation::Index(_) | Relation::View(_) => {}
            Relation::Sequence(sequence) => {
                if let Some(owner) = sequence.owned_by {
                    let identity = catalog.table_by_oid(owner.table).is_some_and(|table| {
                        let column = table.column_with_id(owner.column);
                        column.is_some_and(|column| table.columns[column].identity.is_some())
                    });
                    let kind = if identity { 'i' } else { 'a' };
                    add((CLASS, own, 0), (CLASS, owner.table.0, i32::from(owner.column)), kind);
                }
            }
        }
    }
    for function in catalog.all_functions() {
        if let Some(schema) = catalog.schema(&function.schema) {
            add((PROC, function.oid.0, 0), (NAMESPACE, schema.oid.0, 0), 'n');
        }
    }
    rows
}
