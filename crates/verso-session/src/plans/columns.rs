//! Columns of statements that yield rows without a plan.

use verso_types::SqlType;

use crate::client::OutputColumn;

/// The column that EXPLAIN yields.
pub(crate) const QUERY_PLAN: &str = "QUERY PLAN";

/// What SHOW ALL yields.
pub(crate) const SHOW_ALL_COLUMNS: [&str; 3] = ["name", "setting", "description"];
/// What SHOW STATEMENT STATISTICS yields.
pub(crate) const STATISTICS_COLUMNS: [&str; 2] = ["statistic", "value"];

/// Columns of texts.
pub(crate) fn text_columns(names: &[&str]) -> Vec<OutputColumn> {
    names.iter().map(|name| OutputColumn::new(*name, SqlType::Text)).collect()
}
