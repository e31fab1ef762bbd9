//! CREATE VIEW from what the catalog keeps of a view.

use verso_catalog::{CatalogSnapshot, ViewDef};

use super::parts::{collate, literal, name, qualified};
use super::types::type_text;

/// A view of the same columns that has nothing in them, for what is made of its rows and comes before the view can be made.
pub(super) fn hollow(view: &ViewDef) -> String {
    let columns: Vec<String> = view
        .columns
        .iter()
        .map(|column| {
            let (ty, collation) = (column.declared().uncollated(), collate(column.declared()));
            format!("CAST(NULL AS {}){collation} AS {}", type_text(ty), name(&column.name))
        })
        .collect();
    format!("CREATE VIEW {} AS SELECT {}", qualified(&view.schema, &view.name), columns.join(", "))
}

/// How a view is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// As it is.
    Own,
    /// In place of what [`hollow`] has made.
    Replacement,
    /// A materialized view that is filled later.
    Unfilled,
}

/// The statement that makes the view of this query.
pub(super) fn statement(catalog: &CatalogSnapshot, view: &ViewDef, text: &str, form: As) -> String {
    let columns: Vec<String> = view.columns.iter().map(|column| name(&column.name)).collect();
    let options: Vec<String> = view
        .options
        .shown()
        .map(|(option, value)| format!("{} = {}", name(option), literal(value)))
        .collect();
    let options = if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) };
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    let place = qualified(&view.schema, &view.name);
    match catalog.table_by_oid(view.oid).and_then(|table| table.materialized.clone()) {
        Some(it) => {
            let is_filled = it.populated && form == As::Own;
            let data = if is_filled { "" } else { "\nWITH NO DATA" };
            format!("CREATE MATERIALIZED VIEW {place}{columns}{options} AS {text}{data}")
        }
        None if form == As::Replacement => {
            format!("CREATE OR REPLACE VIEW {place}{columns}{options} AS {text}")
        }
        None => format!("CREATE VIEW {place}{columns}{options} AS {text}"),
    }
}
