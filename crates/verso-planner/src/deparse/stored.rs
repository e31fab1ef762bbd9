//! Expressions that the catalog keeps as text: defaults, checks, keys and conditions of indexes, WHEN of triggers.

use std::sync::Arc;

use verso_catalog::{TableDef, TriggerDef};
use verso_parser::syntax::ExprKind;
use verso_types::SqlType;

use super::Style;
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
    let call = matches!(node, Node::Func { .. } | Node::Sql(..) | Node::Form(..) | Node::Word(_));
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
