//! An array of objects, one a line. Numbers and booleans are those of JSON, NULL is `null`, values of json and jsonb
//! stand as they are.

use super::{Cell, Kind, Table};

/// Prints all rows.
pub fn print(table: &Table, out: &mut String) {
    out.push('[');
    for (number, row) in table.rows.iter().enumerate() {
        out.push_str(if number > 0 { ",\n{" } else { "{" });
        for (at, (column, value)) in table.columns.iter().zip(row).enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&quoted(&column.title));
            out.push(':');
            out.push_str(&value_of(value, column.kind));
        }
        out.push('}');
    }
    out.push_str("]\n");
}

fn value_of(value: &Cell, kind: Kind) -> String {
    let Some(text) = value else { return "null".to_owned() };
    match kind {
        Kind::Bool if text == "t" => "true".to_owned(),
        Kind::Bool if text == "f" => "false".to_owned(),
        // NaN and Infinity are no numbers of JSON, `12.` and money's signs neither.
        Kind::Number if serde_json::from_str::<serde_json::Number>(text).is_ok() => text.clone(),
        Kind::Json => text.clone(),
        _ => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
