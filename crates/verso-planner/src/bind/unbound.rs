//! Clauses that are read and not bound yet: each is refused by its name, none is left out in silence.
//!
//! Whoever binds a clause takes its line away here.

use crate::errors::SqlError;
use verso_parser::syntax::{Call, Cte, FromItem, FromSource};

/// `0A000` for the first clause that is there.
fn refuse(clauses: &[(Option<u32>, &str)]) -> Result<(), SqlError> {
    match clauses.iter().find_map(|(at, what)| at.map(|at| (at, what))) {
        Some((at, what)) => Err(SqlError::unsupported(what).at(at)),
        None => Ok(()),
    }
}

/// Clauses of WITH.
pub(super) fn cte(cte: &Cte) -> Result<(), SqlError> {
    refuse(&[
        (cte.search.as_ref().map(|search| search.at), "SEARCH"),
        (cte.cycle.as_ref().map(|cycle| cycle.at), "CYCLE"),
    ])
}

/// Clauses of a call that no function or aggregate takes yet.
pub(super) fn call(call: &Call) -> Result<(), SqlError> {
    let at = call.name.at().start;
    refuse(&[
        (call.names.first().map(|name| name.at.start), "a named argument"),
        (call.variadic.then_some(at), "VARIADIC"),
    ])
}

/// Clauses of an item of FROM.
pub(super) fn item(item: &FromItem) -> Result<(), SqlError> {
    let alias = item.alias.as_ref().map(|alias| alias.at.start);
    let joined = matches!(item.source, FromSource::Join(_));
    refuse(&[
        (alias.filter(|_| joined), "an alias of a join"),
        (item.sample.as_ref().map(|sample| sample.at), "TABLESAMPLE"),
        (
            item.definitions.first().map(|(name, _)| name.at.start).filter(|_| item.ordinality),
            "a column definition list beside WITH ORDINALITY",
        ),
    ])
}
