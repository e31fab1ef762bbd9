//! Which values the details of errors show: none that the role could not read itself.
//!
//! S1. Of a row all columns, where the role may read the table; otherwise, with their names, those that it may read and those that
//!     the statement gave values for. Of a key, all or nothing.
//! S2. Nothing at all, where policies decide which rows of the table the role sees.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::Value;

use super::ExecContext;
use super::check::values_text;

/// A table with those that it is a partition of: a right to read one of them is one to read its rows by that.
fn whole_of(cx: &ExecContext<'_>, table: &TableDef) -> Vec<Arc<TableDef>> {
    let mut all = Vec::new();
    let mut next = table.partition_of.as_ref().and_then(|of| cx.catalog.table_by_oid(of.parent));
    while let Some(whole) = next {
        next = whole.partition_of.as_ref().and_then(|of| cx.catalog.table_by_oid(of.parent));
        all.push(whole);
    }
    all
}

/// Whether the role may read these columns of a table: all of them.
pub(crate) fn may_show(cx: &ExecContext<'_>, table: &TableDef, columns: &[u16]) -> bool {
    let whole = whole_of(cx, table);
    if whole.iter().any(|whole| cx.catalog.is_hidden_by_policies(whole.oid)) {
        return false;
    }
    let by_whole = |whole: &Arc<TableDef>| {
        let name = |id: &u16| Some(&table.columns[table.column_with_id(*id)?].name);
        let own = |id: &u16| Some(whole.columns[whole.column(name(id)?)?].id);
        let columns: Option<Vec<u16>> = columns.iter().map(own).collect();
        columns.is_some_and(|columns| cx.catalog.may_show(whole.oid, &columns))
    };
    cx.catalog.may_show(table.oid, columns)
        || !cx.catalog.is_hidden_by_policies(table.oid) && whole.iter().any(by_whole)
}

/// The DETAIL of an error that refuses a row; `set` are the columns that the statement gave values for.
pub(crate) fn refused_row(
    cx: &ExecContext<'_>,
    values: &[Value],
    table: &TableDef,
    set: &[Arc<str>],
) -> Option<String> {
    let shown = table.shown();
    let ids: Vec<u16> = shown.iter().map(|column| column.id).collect();
    let all = may_show(cx, table, &ids);
    let hidden = cx.catalog.is_hidden_by_policies(table.oid)
        || whole_of(cx, table).iter().any(|whole| cx.catalog.is_hidden_by_policies(whole.oid));
    if hidden {
        return None;
    }
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (value, column) in values.iter().zip(shown) {
        if all || set.contains(&column.name) || may_show(cx, table, &[column.id]) {
            names.push(&*column.name);
            texts.push(match column.is_virtual {
                true => "virtual".to_string(),
                false => values_text(cx, std::slice::from_ref(value), std::iter::once(&column.ty)),
            });
        }
    }
    let row = texts.join(", ");
    match (all, names.is_empty()) {
        (true, _) => Some(format!("Failing row contains ({row}).")),
        (false, true) => None,
        (false, false) => Some(format!("Failing row contains ({}) = ({row}).", names.join(", "))),
    }
}
