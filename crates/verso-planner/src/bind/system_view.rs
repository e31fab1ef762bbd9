//! System views that are queries over other relations of the catalogs: `pg_tables`, `information_schema.columns`, ….
//!
//! Their queries stand in `data/system_views.sql`, each behind a line `-- view NAME`. A query over such a view binds that
//! text in its place, with nothing of the statement around it in scope, and casts its columns to the view's types.
//! Columns are matched by name; those that the query does not yield are NULL.

use std::collections::HashMap;
use std::sync::OnceLock;

use verso_catalog::{SystemRelation, WantedPath};
use verso_exec::plan::{Plan, TypedExpr};
use verso_parser::syntax::Statement;

use super::{Binder, exactly};
use crate::errors::SqlError;

/// The text of a view's query.
fn query_of(relation: &SystemRelation) -> Option<&'static str> {
    static QUERIES: OnceLock<HashMap<(&'static str, &'static str), &'static str>> = OnceLock::new();
    let queries = QUERIES.get_or_init(|| {
        let parts = include_str!("../../data/system_views.sql").split("-- view ").skip(1);
        let one = |part: &'static str| {
            let (name, query) = part.split_once('\n')?;
            Some((name.trim().split_once('.')?, query.trim().trim_end_matches(';')))
        };
        parts.filter_map(one).collect()
    });
    queries.get(&(relation.schema, relation.name)).copied()
}

impl Binder<'_> {
    /// The plan of a system view that is a query; none of one whose rows the session makes.
    pub(super) fn system_query(&self, relation: &SystemRelation) -> Result<Option<Plan>, SqlError> {
        let Some(text) = query_of(relation) else { return Ok(None) };
        let broken = |error: SqlError| {
            SqlError::internal(format!("the system view {}: {}", relation.name, error.message))
        };
        let parsed = verso_parser::parse_script(text).map_err(|error| broken(error.into()))?;
        let [statement] = parsed.as_slice() else {
            return Err(SqlError::internal("a view of several statements"));
        };
        let Statement::Query(query) = &statement.statement else {
            return Err(SqlError::internal("a view that is no query"));
        };
        // Whoever may read the view may read what it is made of.
        let catalog = self.catalog.with_role(None);
        // Its names mean the system's own, whatever is searched before.
        let is_first = catalog.search_path().searched().first().is_some_and(|first| **first == *"pg_catalog");
        let catalog = if is_first { catalog } else { catalog.with_path(&WantedPath::default()) };
        let binder = Binder::new(&catalog, self.time_zone, &[]).with_rules(self.rules);
        let plan = binder.query(query).map_err(broken)?;
        let output = plan.output();
        if let Some(stray) = output.iter().find(|own| relation.column(&own.name).is_none()) {
            let text = format!("the system view {} has no column {}", relation.name, stray.name);
            return Err(SqlError::internal(text));
        }
        // What the query does not yield is NULL: Verso has nothing of the kind.
        let column = |column: &verso_catalog::SystemColumn| match output
            .iter()
            .position(|own| *own.name == *column.name)
        {
            Some(place) => exactly(TypedExpr::column(place, output[place].ty.clone()), &column.ty),
            None => TypedExpr::null(column.ty.clone()),
        };
        let exprs = relation.columns.iter().map(column).collect();
        let names = relation.columns.iter().map(|column| column.name.into()).collect();
        Ok(Some(Plan::Project { input: Box::new(plan), exprs, names }))
    }
}
