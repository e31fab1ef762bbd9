//! Expressions that the catalog keeps as text: defaults, checks of tables and domains, keys and conditions of indexes, WHEN of
//! triggers, conditions of policies.

use std::sync::Arc;

use verso_catalog::{OWN, StoredCondition, TableDef, TriggerDef};
use verso_exec::functions::quote_ident;
use verso_parser::syntax::ExprKind;
use verso_types::SqlType;

use super::Style;
use super::body::renamed;
use super::layout::Printer;
use super::lower::Lowering;
use super::names::{Level, Named};
use super::node::Node;
use crate::bind::Binder;
use crate::bind::trace::Trace;

/// What of a stored text is shown.
#[derive(Clone, Copy, Debug)]
pub enum Part<'t> {
    /// All of it, as it is assigned to something of that type.
    Value(&'t SqlType),
    /// All of it, whatever its type.
    Expression,
    /// The first condition of its CASE: that of a partial index.
    Guard,
}

/// An expression over a table's columns; none where it has no text here.
pub fn over_table(
    binder: &Binder<'_>,
    text: &str,
    table: &TableDef,
    part: Part<'_>,
    pretty: bool,
) -> Option<String> {
    let (node, _) = lowered(binder, text, table, None, part)?;
    printed(&node, vec![named(0, Some(&table.name), table)], pretty)
}

/// The condition of a domain over that type; none where it has no text here.
pub fn domain_condition(binder: &Binder<'_>, text: &str, base: &SqlType, pretty: bool) -> Option<String> {
    let text = &verso_catalog::kept::with_relations(binder.catalog, text);
    let expr = verso_parser::parse_expression(text).ok()?;
    let trace = Trace::default();
    binder.traced_domain_condition(&expr, base, &trace).ok()?;
    let mut lowering = Lowering::new(binder, &trace, text);
    lowering.of_domain = true;
    let node = lowering.typed(&expr, &SqlType::Bool)?;
    printed(&node, Vec::new(), pretty)
}

/// The key of an index, without the COLLATE that it ends with, which is one of the key.
pub fn index_key(binder: &Binder<'_>, text: &str, table: &TableDef, pretty: bool) -> Option<(String, bool)> {
    let (mut node, _) = lowered(binder, text, table, None, Part::Expression)?;
    while let Node::Collate { arg, .. } = node {
        node = *arg;
    }
    key(&node, table, pretty)
}

/// The same, and whether it looks like a call: as a key it needs no parentheses then.
pub fn key_expression(
    binder: &Binder<'_>,
    text: &str,
    table: &TableDef,
    pretty: bool,
) -> Option<(String, bool)> {
    let (node, _) = lowered(binder, text, table, None, Part::Expression)?;
    key(&node, table, pretty)
}

fn key(node: &Node, table: &TableDef, pretty: bool) -> Option<(String, bool)> {
    let call = match node {
        Node::Func { .. } | Node::Sql(..) | Node::Form(..) | Node::Word(_) => true,
        // The forms that apply a path, but not those that construct something.
        Node::Written(parts) => parts.first().is_some_and(|(words, _)| {
            ["JSON_EXISTS(", "JSON_VALUE(", "JSON_QUERY("].contains(&words.as_str())
        }),
        _ => false,
    };
    Some((printed(node, vec![named(0, Some(&table.name), table)], pretty)?, call))
}

/// The condition of a trigger.
pub fn trigger_condition(
    binder: &Binder<'_>,
    trigger: &TriggerDef,
    table: &TableDef,
    pretty: bool,
) -> Option<String> {
    let text = trigger.condition.as_deref()?;
    let (node, names) = lowered(binder, text, table, Some(trigger), Part::Value(&SqlType::Bool))?;
    let (old, new) = names?;
    // The scope has the columns of the old row, then those of the new one.
    printed(&node, vec![named(1, Some(&old), table), named(2, Some(&new), table)], pretty)
}

/// A condition over a table's rows with the names of today; where it has no text here (T1) as it was given, with other names where
/// something is called otherwise by now.
pub fn condition(binder: &Binder<'_>, condition: &StoredCondition, table: &TableDef, pretty: bool) -> String {
    let text = &condition.query.text;
    if condition.is_plain() {
        let shown = over_table(binder, text, table, Part::Value(&SqlType::Bool), pretty);
        return shown
            .unwrap_or_else(|| format!("({})", verso_catalog::kept::with_names(binder.catalog, text)));
    }
    let shown = || {
        let trace = Trace::default();
        let expr = binder.traced_condition(condition, table, &trace).ok()?;
        let inside = binder.over_condition(condition);
        let node = Lowering::new(&inside, &trace, text).typed(&expr, &SqlType::Bool)?;
        printed(&node, vec![named(0, Some(&table.name), table)], pretty)
    };
    shown().unwrap_or_else(|| as_given(binder, condition, table))
}

/// A condition as it was given: over a row that has the names which the table and its columns had then, where these are others.
fn as_given(binder: &Binder<'_>, condition: &StoredCondition, table: &TableDef) -> String {
    let text = renamed(&condition.query.text, &condition.query, binder.catalog);
    let then = condition.query.relation_at(OWN).map_or(&[][..], |own| own.columns.as_slice());
    let mut columns = Vec::new();
    let mut same = condition.table == table.name && then.len() == table.shown().len();
    for then in then {
        let Some(at) = table.column_with_id(then.id) else { continue };
        let now = &table.columns[at].name;
        same &= then.name == *now;
        columns.push(format!(
            "{}.{} AS {}",
            quote_ident(&table.name),
            quote_ident(now),
            quote_ident(&then.name)
        ));
    }
    match same {
        true => format!("({text})"),
        false => format!(
            "(SELECT {text} FROM (SELECT {}) AS {})",
            columns.join(", "),
            quote_ident(&condition.table)
        ),
    }
}

type RecordNames = (Arc<str>, Arc<str>);

fn lowered(
    binder: &Binder<'_>,
    text: &str,
    table: &TableDef,
    trigger: Option<&TriggerDef>,
    part: Part<'_>,
) -> Option<(Node, Option<RecordNames>)> {
    let text = &verso_catalog::kept::with_relations(binder.catalog, text);
    let expr = verso_parser::parse_expression(text).ok()?;
    let trace = Trace::default();
    let names = binder.traced_expression(&expr, table, trigger, &trace).ok()?;
    let mut lowering = Lowering::new(binder, &trace, text);
    let shown = match (part, &expr.kind) {
        (Part::Guard, ExprKind::Case { branches, .. }) => &branches.first()?.0,
        (Part::Guard, _) => return None,
        _ => &expr,
    };
    let node = match part {
        // the casts to the type of the column are not shown, and a constant is one of that type
        Part::Value(ty) => lowering.typed(shown, ty)?,
        Part::Guard => lowering.typed(shown, &SqlType::Bool)?,
        Part::Expression => lowering.settled(shown)?,
    };
    Some((node, names))
}

fn named(place: u32, name: Option<&Arc<str>>, table: &TableDef) -> Named {
    Named {
        place,
        name: name.map(|name| name.to_string()),
        columns: table.columns.iter().map(|column| column.name.to_string()).collect(),
    }
}

fn printed(node: &Node, items: Vec<Named>, pretty: bool) -> Option<String> {
    let mut printer = Printer::new(Style { pretty, wrap: 0 });
    let qualified = items.len() > 1;
    printer.levels.push(Level { items, qualified });
    printer.expr(node, false)?;
    Some(printer.out)
}
