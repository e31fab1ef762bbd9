//! Bodies of functions in SQL that may become part of the plans that call them.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef};
use verso_exec::plan::{PlReturn, Plan};
use verso_types::{SqlType, TimeStyle};

use super::Body;
use crate::bind::Binder;
use crate::bind::scope::value_type;
use verso_parser::syntax::{PlConflict, Statement};

/// The query that is the whole body, as it was bound: `Parameter(n)` is argument `n`. None where the body is something else, and
/// where it cannot be bound; what is wrong with it is told when the function is called.
pub(crate) fn body_as_query(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Option<Plan> {
    let statements = super::function_statements(function).ok()?;
    let [parsed] = statements.as_slice() else { return None };
    let Statement::Query(query) = &parsed.statement else { return None };
    if !query.locks.is_empty() || !parsed.databases.is_empty() {
        return None; // refused, or done, when it is called
    }
    let types: Vec<SqlType> = function.called_with().map(|arg| value_type(&arg.ty)).collect();
    let stored = function.stored.as_deref();
    let binder =
        Binder { stored: stored.map(|stored| &stored.query), ..Binder::new(catalog, time_zone, &types) };
    let name = stored.map_or(&function.name, |stored| &stored.name);
    let mut body = Body::new(binder, Arc::clone(name));
    body.conflict = PlConflict::Column;
    for arg in function.called_with() {
        body.declare(&arg.name, arg.ty.clone(), false);
    }
    let wanted = match super::returned(function) {
        PlReturn::Scalar(ty) => vec![ty],
        PlReturn::Rows(types) => types,
        PlReturn::Void | PlReturn::Trigger | PlReturn::Record | PlReturn::Records => return None,
    };
    let plan = body.binder.as_numbered(&|binder| binder.query_for(query, &wanted)).ok()?;
    // Hints in the body are for a plan of its own.
    body.binder.hints.is_empty().then_some(plan)
}
