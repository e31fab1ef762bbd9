//! Rows of `pg_stats`.

use verso_catalog::{CatalogSnapshot, ColumnStatistics, Relation, Rights, TableDef};
use verso_types::{SqlType, TimeStyle, Value, text::format_text};

/// What ANALYZE has found out about the columns of users' tables.
pub(super) fn statistics(catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let tables = catalog.relations().filter_map(|relation| match relation {
        Relation::Table(table) if !table.oid.is_system() => Some(table),
        _ => None,
    });
    let sees = |table: &TableDef, column: u16| {
        let may = |role| catalog.may_columns(role, table.oid, Rights::SELECT, &[column]);
        catalog.acting_role().is_none_or(|role| may(role) && !catalog.is_secured_for(table.oid, role))
    };
    tables.flat_map(|table| columns(catalog, table, |column| sees(table, column))).collect()
}

fn columns(catalog: &CatalogSnapshot, table: &TableDef, sees: impl Fn(u16) -> bool) -> Vec<Vec<Value>> {
    let Some(known) = catalog.statistics(table) else { return Vec::new() };
    let row = |column: &verso_catalog::ColumnDef| {
        let own = known.columns.get(&column.id).filter(|_| sees(column.id))?;
        let mut row = vec![
            Value::text(&table.schema),
            Value::text(&table.name),
            Value::text(&column.name),
            Value::Bool(false),
        ];
        row.extend(column_values(own, &column.ty));
        // Elements of arrays and bounds of ranges: not collected.
        row.resize(17, Value::Null);
        Some(row)
    };
    table.shown().iter().filter_map(row).collect()
}

/// What is known of a column or an expression: from `null_frac` to `correlation`.
pub(super) fn column_values(own: &ColumnStatistics, ty: &SqlType) -> Vec<Value> {
    let values = |values: Vec<&Value>| match values.is_empty() {
        true => Value::Null,
        false => Value::text(&array_text(&values, ty)),
    };
    let parts: Vec<Value> = own.common.iter().map(|(_, part)| Value::Float4(*part as f32)).collect();
    let parts = if parts.is_empty() { Value::Null } else { Value::Array(parts.into_iter().collect()) };
    vec![
        Value::Float4(own.null_fraction as f32),
        Value::Int4(own.width.round() as i32),
        Value::Float4(own.distinct as f32),
        values(own.common.iter().map(|(value, _)| value).collect()),
        parts,
        values(own.bounds.iter().collect()),
        own.correlation.map_or(Value::Null, |correlation| Value::Float4(correlation as f32)),
    ]
}

/// Values as the text of an array: what its type is differs from row to row.
pub(super) fn array_text(values: &[&Value], ty: &SqlType) -> String {
    let mut out = "{".to_string();
    let mut one = String::new();
    for (n, value) in values.iter().enumerate() {
        out.push_str(if n > 0 { "," } else { "" });
        one.clear();
        if value.is_null() {
            out.push_str("NULL");
            continue;
        }
        format_text(value, ty, &TimeStyle::UTC, &mut one);
        let plain = !one.is_empty()
            && !one.eq_ignore_ascii_case("null")
            && !one.contains(|c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || c.is_whitespace());
        if plain {
            out.push_str(&one);
        } else {
            out.push('"');
            for c in one.chars() {
                if matches!(c, '"' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push('"');
        }
    }
    out.push('}');
    out
}
