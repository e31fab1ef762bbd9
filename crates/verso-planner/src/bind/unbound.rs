//! Clauses that are read and not bound yet: each is refused by its name, none is left out in silence.
//!
//! Whoever binds a clause takes its line away here.

use crate::errors::SqlError;
use verso_parser::syntax::FromItem;

/// `0A000` for the first clause that is there.
fn refuse(clauses: &[(Option<u32>, &str)]) -> Result<(), SqlError> {
    match clauses.iter().find_map(|(at, what)| at.map(|at| (at, what))) {
        Some((at, what)) => Err(SqlError::unsupported(what).at(at)),
        None => Ok(()),
    }
}

/// Clauses of an item of FROM.
pub(super) fn item(item: &FromItem) -> Result<(), SqlError> {
    let definition = item.definitions.first().map(|(name, _)| name.at.start);
    refuse(&[(definition.filter(|_| item.ordinality), "a column definition list beside WITH ORDINALITY")])
}
