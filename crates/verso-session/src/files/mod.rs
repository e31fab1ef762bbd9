//! Formats of files that queries read like tables, but for those that need large libraries.
//!
//! | module | what it is |
//! |---|---|
//! | [`pieces`] | files read piece by piece, one after the other |
//! | [`sniff`] | types from texts |
//! | [`csv`] | `read_csv` |
//! | [`json`] | `read_json` |

mod csv;
mod json;
mod pieces;
mod sniff;

use verso_exec::error::{ExecError, Raised};
use verso_exec::files;
use verso_planner::errors::SqlError;

/// Rows made at a time.
const BATCH_ROWS: usize = 1_024;
/// Most bytes that are looked at to find out types, unless all rows are.
const SAMPLE_BYTES: usize = 8 << 20;
/// Most rows that are looked at.
const SAMPLE_ROWS: usize = 20_480;

/// Makes the formats known to queries of this process.
pub(crate) fn provide() {
    files::provide(&csv::Csv);
    files::provide(&json::Json);
}

/// An error as queries have it.
fn raised(error: SqlError) -> ExecError {
    let context = error.context.as_deref().map(str::to_owned);
    let raised = Raised {
        sqlstate: error.sqlstate.into(),
        message: error.message,
        detail: error.detail.map(Into::into),
        hint: error.hint.map(Into::into),
    };
    files::within(raised, context.as_deref())
}
