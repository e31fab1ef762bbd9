//! Rows of `pg_statistic_ext`, `pg_statistic_ext_data`, `pg_stats_ext` and `pg_stats_ext_exprs`; what CREATE STATISTICS has made as text.
//!
//! 1. Columns come before expressions, as they are kept; a call stands alone, another expression in parentheses.
//! 2. In the two views stands what a member of the table's owner may see, unless policies hide rows of the table.

use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, CommonValues, ExtendedStatistics, Object, Oid, StatisticsDef, StatisticsKind, TableDef,
};
use verso_exec::functions::quote_ident;
use verso_planner::deparse;
use verso_types::array::Array;
use verso_types::{SqlType, TimeStyle, Value, text::format_text};

use super::definitions::binder;
use super::keys::Keys;
use super::names::relation_name;
use super::relations::namespace;
use super::statistics::{array_text, column_values};
use super::{attnum, letter, oid, vector};
use crate::views::Views;

/// All that tables of users have, by number.
fn objects(catalog: &CatalogSnapshot) -> Vec<(Arc<TableDef>, Arc<StatisticsDef>)> {
    objects_of(catalog.tables().cloned())
}

/// All that these tables have.
fn objects_of(tables: impl Iterator<Item = Arc<TableDef>>) -> Vec<(Arc<TableDef>, Arc<StatisticsDef>)> {
    let of = |table: Arc<TableDef>| {
        let all = table.extended.clone();
        all.into_iter().map(move |one| (Arc::clone(&table), one))
    };
    let mut all: Vec<_> = tables.flat_map(of).collect();
    all.sort_by_key(|(_, one)| one.oid);
    all
}

/// Of the statistics with that number the table and the definition.
fn object(catalog: &CatalogSnapshot, oid: Oid) -> Option<(Arc<TableDef>, Arc<StatisticsDef>)> {
    let one = catalog.statistics_by_oid(oid)?;
    Some((catalog.table_by_oid(one.table)?, Arc::clone(one)))
}

/// An array of texts; NULL without any.
fn texts(texts: &[String]) -> Value {
    match texts.is_empty() {
        true => Value::Null,
        false => Value::Array(texts.iter().map(|text| Value::text(text)).collect()),
    }
}

/// The letters of what is found out.
fn kinds(one: &StatisticsDef) -> Value {
    Value::Array(one.kinds.iter().map(|kind| letter(kind.letter())).collect())
}

/// The expressions as text, and whether each is a call.
fn expressions(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    one: &StatisticsDef,
    pretty: bool,
) -> Vec<(String, bool)> {
    let binder = binder(views, catalog);
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let text = |stored: &Arc<str>| {
        deparse::key_expression(&binder, stored, table, pretty).or_else(|| {
            let bound = binder.kept_statistics_expression(stored, table).ok()?;
            Some((deparse::expression(&bound, &names, pretty), false))
        })
    };
    one.expressions.iter().map(|stored| text(stored).unwrap_or_else(|| (stored.to_string(), false))).collect()
}

fn expression_texts(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    one: &StatisticsDef,
) -> Vec<String> {
    expressions(views, catalog, table, one, false).into_iter().map(|(text, _)| text).collect()
}

/// The types of the columns and of the expressions, in this order.
fn types(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    table: &TableDef,
    one: &StatisticsDef,
) -> Vec<SqlType> {
    let column = |id: &u16| table.column_with_id(*id).map(|at| table.columns[at].ty.clone());
    let binder = binder(views, catalog);
    let expression = |text: &Arc<str>| binder.kept_statistics_expression(text, table).ok();
    let columns = one.columns.iter().filter_map(column);
    columns.chain(one.expressions.iter().filter_map(expression).map(|expr| expr.ty.erased())).collect()
}

/// `pg_get_statisticsobjdef_columns`: what they are about.
pub(super) fn items_text(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, oid: Oid) -> Option<String> {
    let (table, one) = object(catalog, oid)?;
    let column = |id: &u16| Some(quote_ident(&table.columns[table.column_with_id(*id)?].name));
    let columns = one.columns.iter().filter_map(column);
    let expressions = expressions(views, catalog, &table, &one, true);
    let expressions = expressions.into_iter().map(|(text, is_call)| match is_call {
        true => text,
        false => format!("({text})"),
    });
    Some(columns.chain(expressions).collect::<Vec<_>>().join(", "))
}

/// `pg_get_statisticsobjdef`.
pub(super) fn text(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, oid: Oid) -> Option<String> {
    let (table, one) = object(catalog, oid)?;
    let named: Vec<&str> =
        StatisticsKind::NAMED.into_iter().filter(|kind| one.has(*kind)).map(StatisticsKind::word).collect();
    let is_all = named.len() == StatisticsKind::NAMED.len() || one.columns.len() + one.expressions.len() < 2;
    let kinds = if is_all { String::new() } else { format!(" ({})", named.join(", ")) };
    let place = format!("{}.{}", quote_ident(&one.schema), quote_ident(&one.name));
    let of = relation_name(catalog, table.oid)?;
    Some(format!("CREATE STATISTICS {place}{kinds} ON {} FROM {of}", items_text(views, catalog, oid)?))
}

/// `pg_get_statisticsobjdef_expressions`.
pub(super) fn expression_list(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, oid: Oid) -> Value {
    let found = object(catalog, oid);
    found.map_or(Value::Null, |(table, one)| texts(&expression_texts(views, catalog, &table, &one)))
}

/// Whether their name alone means them; NULL where there are none of that number.
pub(super) fn is_visible(catalog: &CatalogSnapshot, oid: Oid) -> Value {
    let Some(one) = catalog.statistics_by_oid(oid) else { return Value::Null };
    Value::Bool(catalog.statistics_object(None, &one.name).is_some_and(|found| found.oid == oid))
}

/// The rows of `pg_statistic_ext`.
pub(super) fn definitions(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let row = |(table, one): (Arc<TableDef>, Arc<StatisticsDef>)| {
        let expressions = expression_texts(views, catalog, &table, &one);
        vec![
            oid(one.oid),
            oid(one.table),
            Value::text(&one.name),
            namespace(catalog, &one.schema),
            oid(one.owner),
            vector(one.columns.iter().map(|id| Value::Int2(attnum(*id)))),
            one.target.map_or(Value::Null, |target| Value::Int2(attnum(target))),
            kinds(&one),
            match expressions.is_empty() {
                true => Value::Null,
                false => Value::text(&expressions.join(", ")),
            },
        ]
    };
    let found = match keys.oid("stxrelid") {
        Some(table) => objects_of(catalog.table_by_oid(table).into_iter()),
        None => objects(catalog),
    };
    let mut rows: Vec<Vec<Value>> = found.into_iter().map(row).collect();
    rows.retain(|row| keys.fit(row));
    rows
}

/// Numbers of columns and expressions, as they stand in a text of statistics.
fn numbers(items: &[i16]) -> String {
    items.iter().map(i16::to_string).collect::<Vec<_>>().join(", ")
}

/// How many different values there are, as text.
fn distinct(known: &ExtendedStatistics, rows: f64) -> Value {
    let one = |(items, count): &(Vec<i16>, f64)| {
        let count = if *count < 0.0 { -count * rows } else { *count };
        format!("\"{}\": {count:.0}", numbers(items))
    };
    listed(known.distinct.iter().map(one).collect())
}

/// What says what, as text.
fn dependencies(known: &ExtendedStatistics) -> Value {
    let one = |(items, part): &(Vec<i16>, f64)| {
        let (implied, from) = items.split_last()?;
        Some(format!("\"{} => {implied}\": {part:.6}", numbers(from)))
    };
    listed(known.dependencies.iter().filter_map(one).collect())
}

fn listed(all: Vec<String>) -> Value {
    match all.is_empty() {
        true => Value::Null,
        false => Value::text(&format!("{{{}}}", all.join(", "))),
    }
}

/// A value as text; NULL stays NULL.
fn value_text(value: &Value, ty: &SqlType) -> Value {
    if value.is_null() {
        return Value::Null;
    }
    let mut text = String::new();
    format_text(value, ty, &TimeStyle::UTC, &mut text);
    Value::text(&text)
}

/// The rows of `pg_statistic_ext_data`. The types of its columns are PostgreSQL's own: what they say stands here as text.
pub(super) fn data(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let row = |(table, one): (Arc<TableDef>, Arc<StatisticsDef>)| {
        let statistics = catalog.statistics(&table)?;
        let known = statistics.extended.get(&one.oid)?;
        let types = types(views, catalog, &table, &one);
        let common = |common: &CommonValues| {
            let values = common.values.iter().zip(&types).map(|(value, ty)| value_text(value, ty));
            let values: Vec<Value> = values.collect();
            let values = array_text(&values.iter().collect::<Vec<_>>(), &SqlType::Text);
            format!("{values} {} {}", common.frequency, common.base)
        };
        let ordered = types.iter().skip(one.columns.len());
        let expressions = known.expressions.iter().zip(ordered).map(|(known, ty)| {
            let shown = column_values(known, ty).into_iter().map(|value| match value {
                Value::Array(array) => {
                    let values: Vec<&Value> = array.iter().collect();
                    Value::text(&array_text(&values, &SqlType::Float4))
                }
                Value::Float4(_) => value_text(&value, &SqlType::Float4),
                Value::Int4(_) => value_text(&value, &SqlType::Int4),
                other => other,
            });
            let shown: Vec<Value> = shown.collect();
            array_text(&shown.iter().collect::<Vec<_>>(), &SqlType::Text)
        });
        Some(vec![
            oid(one.oid),
            Value::Bool(false),
            distinct(known, statistics.rows),
            dependencies(known),
            listed(known.common.iter().map(common).collect()),
            listed(expressions.collect()),
        ])
    };
    let mut rows: Vec<Vec<Value>> = objects(catalog).into_iter().filter_map(row).collect();
    rows.retain(|row| keys.fit(row));
    rows
}

/// The first five columns of both views.
fn place(catalog: &CatalogSnapshot, table: &TableDef, one: &StatisticsDef) -> Vec<Value> {
    let owner = catalog.role_by_oid(one.owner);
    vec![
        Value::text(&table.schema),
        Value::text(&table.name),
        Value::text(&one.schema),
        Value::text(&one.name),
        owner.map_or(Value::Null, |owner| Value::text(&owner.name)),
    ]
}

/// Those whose contents whoever asks may see.
fn seen(catalog: &CatalogSnapshot) -> Vec<(Arc<TableDef>, Arc<StatisticsDef>)> {
    let sees = |table: &TableDef| {
        let owner = catalog.owner_of(Object::Relation(table.oid));
        let may = |role| catalog.inherits(role, owner) && !catalog.is_secured_for(table.oid, role);
        catalog.acting_role().is_none_or(may)
    };
    let mut all = objects(catalog);
    all.retain(|(table, _)| sees(table));
    all
}

/// The rows of `pg_stats_ext`.
pub(super) fn shown(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let row = |(table, one): (Arc<TableDef>, Arc<StatisticsDef>)| {
        let statistics = catalog.statistics(&table)?;
        let known = statistics.extended.get(&one.oid)?;
        let types = types(views, catalog, &table, &one);
        let column = |id: &u16| Some(table.columns[table.column_with_id(*id)?].name.to_string());
        let columns: Vec<String> = one.columns.iter().filter_map(column).collect();
        let rows_of = |of: &dyn Fn(&Value, &SqlType) -> Value| {
            let row = |common: &CommonValues| {
                Value::Array(common.values.iter().zip(&types).map(|(value, ty)| of(value, ty)).collect())
            };
            let rows: Vec<Value> = known.common.iter().map(row).collect();
            match rows.is_empty() {
                true => Value::Null,
                false => Array::stacked(&rows).map_or(Value::Null, Value::Array),
            }
        };
        let parts = |of: fn(&CommonValues) -> f64| match known.common.is_empty() {
            true => Value::Null,
            false => Value::Array(known.common.iter().map(|one| Value::Float8(of(one))).collect()),
        };
        let mut row = place(catalog, &table, &one);
        row.extend([
            texts(&columns),
            texts(&expression_texts(views, catalog, &table, &one)),
            kinds(&one),
            Value::Bool(false),
            distinct(known, statistics.rows),
            dependencies(known),
            rows_of(&value_text),
            rows_of(&|value: &Value, _: &SqlType| Value::Bool(value.is_null())),
            parts(|one| one.frequency),
            parts(|one| one.base),
        ]);
        Some(row)
    };
    seen(catalog).into_iter().filter_map(row).collect()
}

/// The rows of `pg_stats_ext_exprs`.
pub(super) fn shown_expressions(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let rows = |(table, one): (Arc<TableDef>, Arc<StatisticsDef>)| {
        let known = catalog.statistics(&table).and_then(|known| known.extended.get(&one.oid));
        let types = types(views, catalog, &table, &one);
        let texts = expression_texts(views, catalog, &table, &one);
        let known = known.map_or(&[][..], |known| known.expressions.as_slice());
        let row = |((text, known), ty): ((String, _), &SqlType)| {
            let mut row = place(catalog, &table, &one);
            row.extend([Value::text(&text), Value::Bool(false)]);
            row.extend(column_values(known, ty));
            // Elements of arrays: not collected.
            row.resize(17, Value::Null);
            row
        };
        let rows = texts.into_iter().zip(known).zip(types.iter().skip(one.columns.len())).map(row);
        rows.collect::<Vec<_>>()
    };
    seen(catalog).into_iter().flat_map(rows).collect()
}
