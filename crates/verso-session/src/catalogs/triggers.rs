//! Rows of `pg_trigger` and `pg_rewrite`, and `pg_get_triggerdef`.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, Oid, Relation, TriggerDef, kept};
use verso_planner::deparse;
use verso_types::Value;

use super::keys::Keys;
use super::names::relation_name;
use super::relations::of_users;
use super::{attnum, letter, number, oid, vector};
use crate::views::Views;

/// The rows of `pg_trigger`.
pub(super) fn triggers(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let relations = match (keys.oid("tgrelid"), keys.oid("oid")) {
        (None, Some(own)) => catalog.owner_of_part(own).cloned().into_iter().collect(),
        _ => of_users(catalog, keys, "tgrelid", None),
    };
    for relation in relations {
        let fits = |trigger: &&Arc<TriggerDef>| keys.takes("oid", trigger.oid);
        rows.extend(relation.triggers().iter().filter(fits).map(|trigger| row(catalog, trigger)));
    }
    rows
}

fn row(catalog: &CatalogSnapshot, trigger: &TriggerDef) -> Vec<Value> {
    let name = |name: &Option<Arc<str>>| name.clone().map_or(Value::Null, Value::Text);
    let mut args = Vec::new();
    for arg in &trigger.args {
        args.extend_from_slice(arg.as_bytes());
        args.push(0);
    }
    vec![
        oid(trigger.oid),
        oid(trigger.table),
        oid(trigger.part_of),
        Value::Text(Arc::clone(&trigger.name)),
        oid(trigger.function),
        Value::Int2(trigger.kind.0),
        letter(trigger.enabled.letter()),
        Value::Bool(false),
        oid(trigger.other_table),
        number(0),
        if trigger.constraint { oid(trigger.oid) } else { number(0) },
        Value::Bool(trigger.deferrable),
        Value::Bool(trigger.initially_deferred),
        Value::Int2(i16::try_from(trigger.args.len()).unwrap_or(i16::MAX)),
        vector(trigger.columns.iter().map(|column| Value::Int2(attnum(*column)))),
        Value::Bytes(args.into()),
        trigger.condition.as_ref().map_or(Value::Null, |text| Value::text(&kept::with_names(catalog, text))),
        name(&trigger.old_table),
        name(&trigger.new_table),
    ]
}

/// `pg_get_triggerdef`.
pub(super) fn trigger_text(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    wanted: Oid,
    pretty: bool,
) -> Option<String> {
    let relation = catalog.owner_of_part(wanted)?;
    let trigger = relation.triggers().iter().find(|trigger| trigger.oid == wanted)?;
    let table = relation.of_triggers()?;
    let function = catalog.function_by_oid(trigger.function);
    let binder = super::definitions::binder(views, catalog);
    let condition = deparse::trigger_condition(&binder, trigger, &table, pretty);
    let as_kept = || Some(kept::with_names(catalog, trigger.condition.as_deref()?));
    let condition = condition.or_else(as_kept).map(Into::into);
    let shown = TriggerDef { condition, ..TriggerDef::clone(trigger) };
    let visible = |function: &&FunctionDef| {
        let found = catalog.functions(None, &function.name);
        found.iter().any(|found| found.oid == function.oid)
    };
    let function = function.map(|function| &**function);
    let visible = function.as_ref().is_none_or(visible);
    let is_found = catalog.relation(None, &table.name).is_some_and(|found| found.oid() == table.oid);
    let other = relation_name(catalog, trigger.other_table);
    let function = function.map(|function| (function, visible));
    Some(shown.sql(&table, other.as_deref(), function, (!pretty || !is_found, pretty)))
}

/// The rows of `pg_rewrite`: one for each view.
///
/// PostgreSQL has the tree of the query in `ev_action`, and programs that look into it (PostgREST) take the text apart. Here it
/// is the sign of an empty list, from which they learn nothing: a query as text would be no tree to them, and an error.
pub(super) fn rules(catalog: &CatalogSnapshot, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let row = |view: Arc<verso_catalog::ViewDef>| {
        vec![
            oid(view.query.rule),
            Value::text("_RETURN"),
            oid(view.oid),
            letter('1'),
            letter('O'),
            Value::Bool(true),
            Value::text("<>"),
            Value::text("<>"),
        ]
    };
    let ruled = keys.oid("oid").map(|rule| catalog.owner_of_rule(rule).map_or(Oid(0), Relation::oid));
    match ruled.or(keys.oid("ev_class")).map(|view| catalog.relation_by_oid(view)) {
        Some(Some(Relation::View(view))) => vec![row(Arc::clone(view))],
        Some(Some(Relation::Table(table))) => table.as_view().map(Arc::new).map(row).into_iter().collect(),
        Some(_) => Vec::new(),
        None => catalog.all_views().map(row).collect(),
    }
}
