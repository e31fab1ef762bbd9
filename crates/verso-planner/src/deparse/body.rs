//! Bodies of functions that are SQL's own (`RETURN …`, `BEGIN ATOMIC … END`), with the names of today.

use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, FunctionDef, NOWHERE, Relation, StoredQuery, StoredRelation, identifier, kept,
    relation_text,
};
use verso_exec::functions::quote_ident;
use verso_parser::syntax::{QueryBody, SelectItem, Statement};
use verso_types::TimeStyle;

use super::Style;
use super::layout::Printer;
use super::lower::Lowering;
use super::node::Node;
use crate::bind::trace::Trace;
use crate::bind::{Binder, traced_body};

/// The body of a function; where it has no text here (T1) as it was given, but with the names of relations, functions and
/// types that are in it as they are today.
pub fn body(function: &FunctionDef, catalog: &Arc<CatalogSnapshot>, time_zone: &TimeStyle) -> String {
    let Some(stored) = function.stored.as_deref() else { return function.body.to_string() };
    // Whoever asks may see the text of any function.
    let free = catalog.with_role(None);
    let returned = verso_parser::returned_query(&function.body).ok().flatten();
    let text = returned.as_deref().unwrap_or(&function.body);
    let printed = printed(function, &stored.query, text, (&free, time_zone), returned.is_some());
    printed.unwrap_or_else(|| {
        let text = renamed(text, &stored.query, &free);
        match returned.is_some() {
            true => text.replacen("SELECT", "RETURN", 1),
            false => text,
        }
    })
}

fn printed(
    function: &FunctionDef,
    stored: &StoredQuery,
    text: &str,
    (catalog, time_zone): (&Arc<CatalogSnapshot>, &TimeStyle),
    returned: bool,
) -> Option<String> {
    let trace = Trace::default();
    let statements = traced_body(function, catalog, time_zone, &trace).ok()?;
    let binder = Binder::over_stored(catalog, time_zone, stored);
    let mut lowering = Lowering::new(&binder, &trace, text);
    let mut printer = Printer::new(Style { pretty: false, wrap: 0 });
    printer.function = quote_ident(&function.name);
    printer.arguments = function.called_with().map(|arg| arg.name.to_string()).collect();
    if returned {
        let Statement::Query(query) = &statements.first()?.statement else { return None };
        let QueryBody::Select(select) = &query.body else { return None };
        let SelectItem::Expr { expr, .. } = select.items.first()? else { return None };
        let node: Node = lowering.settled(expr)?;
        return printer.returned(&node);
    }
    let lowered: Option<Vec<_>> =
        statements.iter().map(|parsed| lowering.statement(&parsed.statement)).collect();
    printer.body(&lowered?)
}

/// Where a name stands in a text, what it is today, and of a relation that is read how the text knows it.
type NamedToday<'s> = (u32, String, Option<(&'s Relation, &'s StoredRelation)>);

/// A text in which relations, functions and types are named as they are today. A relation that is read has the columns that it had.
pub(super) fn renamed(text: &str, stored: &StoredQuery, catalog: &CatalogSnapshot) -> String {
    let shown = |schema: &str, name: &str| format!("{}.{}", quote_ident(schema), quote_ident(name));
    let mut named: Vec<NamedToday<'_>> = Vec::new();
    for noted in stored.relations.iter().filter(|noted| noted.is_named()) {
        if let Some(relation) = catalog.relation_by_oid(noted.relation) {
            named.push((noted.place, shown(relation.schema(), relation.name()), Some((relation, noted))));
        }
    }
    for (place, oid) in stored.functions.iter().filter(|(place, _)| *place != NOWHERE) {
        if let Some(function) = catalog.function_by_oid(*oid) {
            named.push((*place, shown(&function.schema, &function.name), None));
        }
    }
    // Types are named by number, but in texts of earlier releases.
    let is_named =
        |place: &u32| *place != NOWHERE && !text.chars().skip(*place as usize).take(2).eq("\"\0".chars());
    for (place, oid) in stored.types.iter().filter(|(place, _)| is_named(place)) {
        if let Some(ty) = catalog.type_or_row_by_oid(*oid) {
            named.push((*place, shown(&ty.schema, &ty.name), None));
        }
    }
    named.sort_by_key(|(place, ..)| *place);
    let text: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    for (place, name, relation) in named {
        let place = place as usize;
        if place < at {
            continue;
        }
        out.extend(text.get(at..place).unwrap_or_default());
        let (then, end) = name_at(&text, place);
        at = end;
        if let Some((relation, noted)) =
            relation.filter(|_| !is_changed(text.get(..place).unwrap_or_default()))
        {
            out.push_str(&relation_text(relation, noted, &text, end, &then));
            continue;
        }
        out.push_str(&name);
        // What goes on calls it by the name that it had.
        if let Some((relation, _)) = relation
            && **relation.name() != *then
            && !is_aliased(&text, end)
        {
            out.push_str(&format!(" AS {}", quote_ident(&then)));
        }
    }
    out.extend(text.get(at..).unwrap_or_default());
    kept::with_names(catalog, &out)
}

/// Whether the table that is named behind this is the one that a statement changes.
fn is_changed(before: &[char]) -> bool {
    let before: String = before[before.len().saturating_sub(40)..].iter().collect();
    let before = before.to_lowercase();
    let words = before.split_whitespace().rev().map(|word| word.trim_start_matches('('));
    let mut words = words.skip_while(|word| *word == "only");
    match words.next() {
        Some("update" | "into") => true,
        Some("from") => words.next().is_some_and(|word| word == "delete"),
        _ => false,
    }
}

/// The last part of the name that begins at a place, and where the name ends.
fn name_at(text: &[char], place: usize) -> (String, usize) {
    let mut at = place;
    loop {
        let (end, part) = identifier(text, at);
        if text.get(end) != Some(&'.') {
            return (part, end);
        }
        at = end + 1;
    }
}

/// Whether an alias stands there: a name that no clause begins with.
fn is_aliased(text: &[char], at: usize) -> bool {
    const CLAUSES: [&str; 31] = [
        "set",
        "where",
        "on",
        "using",
        "join",
        "inner",
        "left",
        "right",
        "full",
        "cross",
        "natural",
        "order",
        "group",
        "having",
        "limit",
        "offset",
        "fetch",
        "for",
        "union",
        "intersect",
        "except",
        "values",
        "select",
        "default",
        "overriding",
        "returning",
        "when",
        "tablesample",
        "with",
        "window",
        "end",
    ];
    let mut start = at;
    while text.get(start).is_some_and(|c| c.is_whitespace()) {
        start += 1;
    }
    let (word, end) = name_at(text, start);
    end > start && !CLAUSES.contains(&word.as_str())
}
