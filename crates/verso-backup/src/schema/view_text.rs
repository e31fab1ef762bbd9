//! CREATE VIEW from what the catalog keeps of a view.

use verso_catalog::{CatalogSnapshot, ViewDef, view_text};

use super::parts::{literal, name, qualified};

/// The statement that makes the view.
pub(super) fn statement(catalog: &CatalogSnapshot, view: &ViewDef) -> String {
    let columns: Vec<String> = view.columns.iter().map(|column| name(&column.name)).collect();
    let options: Vec<String> = view
        .options
        .given
        .iter()
        .map(|(option, value)| format!("{} = {}", name(option), literal(value)))
        .collect();
    let options = if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) };
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    let place = qualified(&view.schema, &view.name);
    let text = view_text(catalog, view);
    match catalog.table_by_oid(view.oid).and_then(|table| table.materialized.clone()) {
        Some(it) => {
            let data = if it.populated { "" } else { "\nWITH NO DATA" };
            format!("CREATE MATERIALIZED VIEW {place}{columns}{options} AS {text}{data}")
        }
        None => format!("CREATE VIEW {place}{columns}{options} AS {text}"),
    }
}
