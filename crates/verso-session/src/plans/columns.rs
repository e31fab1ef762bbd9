//! Columns of statements that yield rows without a plan.

use verso_types::SqlType;

use crate::client::OutputColumn;
use verso_parser::syntax::ExplainFormat;

/// The column that EXPLAIN yields.
pub(crate) fn explain_columns(format: ExplainFormat) -> Vec<OutputColumn> {
    let ty = match format {
        // There is no type xml.
        ExplainFormat::Text | ExplainFormat::Yaml | ExplainFormat::Xml => SqlType::Text,
        ExplainFormat::Json => SqlType::Json,
    };
    vec![OutputColumn::new("QUERY PLAN", ty)]
}

/// What SHOW ALL yields.
pub(crate) const SHOW_ALL_COLUMNS: [&str; 3] = ["name", "setting", "description"];
/// What SHOW STATEMENT STATISTICS yields.
pub(crate) const STATISTICS_COLUMNS: [&str; 2] = ["statistic", "value"];

/// Columns of texts.
pub(crate) fn text_columns(names: &[&str]) -> Vec<OutputColumn> {
    names.iter().map(|name| OutputColumn::new(*name, SqlType::Text)).collect()
}
