//! Clauses that are read and not bound yet: each is refused by its name, none is left out in silence.
//!
//! Whoever binds a clause takes its line away here.

use crate::errors::SqlError;
use verso_parser::syntax::{Call, Cte, Delete, FromItem, FromSource, Insert, Query, Select, Update};

/// `0A000` for the first clause that is there.
fn refuse(clauses: &[(Option<u32>, &str)]) -> Result<(), SqlError> {
    match clauses.iter().find_map(|(at, what)| at.map(|at| (at, what))) {
        Some((at, what)) => Err(SqlError::unsupported(what).at(at)),
        None => Ok(()),
    }
}

/// Clauses of SELECT.
pub(super) fn select(select: &Select) -> Result<(), SqlError> {
    refuse(&[
        (select.distinct_on.first().map(|expr| expr.at.start), "DISTINCT ON"),
        (select.windows.first().map(|(name, _)| name.at.start), "WINDOW"),
    ])?;
    match select.group_distinct {
        true => Err(SqlError::unsupported("GROUP BY DISTINCT")),
        false => Ok(()),
    }
}

/// Clauses around a query.
pub(super) fn query(query: &Query) -> Result<(), SqlError> {
    let ties = query.with_ties.then(|| query.limit.as_ref().map_or(query.at.start, |limit| limit.at.start));
    refuse(&[(ties, "WITH TIES")])
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
        (call.over.as_ref().map(|_| at), "OVER (window functions)"),
        (call.within_group.first().map(|_| at), "WITHIN GROUP"),
        (call.order_by.first().map(|_| at), "ORDER BY inside a call"),
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
        (item.definitions.first().map(|(name, _)| name.at.start), "a column definition list"),
    ])?;
    match (&item.source, item.ordinality) {
        (FromSource::Function(_, at) | FromSource::Rows(_, at), true) => {
            Err(SqlError::unsupported("WITH ORDINALITY").at(at.start))
        }
        _ => Ok(()),
    }
}

/// WITH in front of INSERT.
pub(super) fn insert(insert: &Insert) -> Result<(), SqlError> {
    refuse(&[(insert.with.first().map(|cte| cte.name.at.start), "WITH in front of INSERT")])
}

/// WITH in front of UPDATE.
pub(super) fn update(update: &Update) -> Result<(), SqlError> {
    refuse(&[(update.with.first().map(|cte| cte.name.at.start), "WITH in front of UPDATE")])
}

/// WITH in front of DELETE.
pub(super) fn delete(delete: &Delete) -> Result<(), SqlError> {
    refuse(&[(delete.with.first().map(|cte| cte.name.at.start), "WITH in front of DELETE")])
}
