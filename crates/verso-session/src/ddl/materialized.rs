//! Materialized views: tables with the rows that a query had.
//!
//! A refresh gives the view a new heap, as a change of columns does: who reads the old one goes on where it is CONCURRENTLY,
//! and everybody sees the old rows until the transaction commits.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, NewColumn, NewTable, Object, ObjectKind, Relation, Rewrite, Rights, TableChange, TableDef,
    is_temporary,
};
use verso_exec::plan::{Insert, Statement as Bound, TypedExpr};
use verso_types::SqlType;

use super::composite::{refuse_pseudo, refuse_system_name};
use super::table_as::refuse_open;
use super::{Schema, options, text};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{CreateMaterialized, Name, QualifiedName, Statement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// CREATE MATERIALIZED VIEW.
    pub(super) fn create_materialized(
        &self,
        binder: &Binder<'_>,
        create: &CreateMaterialized,
    ) -> Result<CommandTag, Failure> {
        let name = &create.name.name.text;
        let place = self.place(&create.name)?;
        // For errors with their places; then by itself, with places in its own text.
        let unread = binder.clone().unread();
        unread.statement(&Statement::Query(create.query.clone()))?;
        if create.if_not_exists && self.frame.catalog.relation(Some(&place), name).is_some() {
            return Ok(self.skip_relation(name, "CREATE MATERIALIZED VIEW"));
        }
        let (query, output) = binder.view_query(&create.text)?;
        let temporary = query.relations.iter().any(|relation| {
            let found = self.frame.catalog.relation_by_oid(relation.relation);
            found.is_some_and(|relation| is_temporary(relation.schema()))
        });
        if temporary {
            let text = "materialized views must not use temporary tables or views";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        if create.columns.len() > output.len() {
            return Err(SqlError::syntax("too many column names were specified").into());
        }
        let mut new = NewTable::new(name.as_str(), Vec::new());
        new.schema = Some(Arc::clone(&place));
        new.options = options(&create.options);
        for (n, (own, ty)) in output.into_iter().enumerate() {
            let name = create.columns.get(n).map_or(own, text);
            if new.columns.iter().any(|other| other.name == name) {
                let text = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
            }
            let ty = if ty == SqlType::Unknown { SqlType::Text } else { ty };
            refuse_pseudo(&name, &ty)?;
            refuse_system_name(&name)?;
            refuse_open(&name, &ty)?;
            self.may_use(&ty)?;
            new.columns.push(NewColumn::new(name, ty));
        }
        new.materialized = Some(query);
        let catalog = &self.frame.services.instance.catalog;
        let made = catalog.create_table(&mut self.frame.txn.borrow_mut(), &new, false)?;
        if let Some(oid) = made {
            self.made(Object::Relation(oid), Some(&place))?;
        }
        if !create.with_data {
            return Ok(tag("CREATE MATERIALIZED VIEW"));
        }
        let mut name = create.name.clone();
        name.schema = Some(Name { text: place.to_string(), at: name.at() });
        let rows = self.frame.inside_now(|frame| Schema { frame }.refresh(&name, false, true))?;
        Ok(CommandTag::counted("SELECT", rows))
    }

    /// REFRESH MATERIALIZED VIEW; how many rows it has then.
    pub(super) fn refresh(
        &self,
        name: &QualifiedName,
        concurrently: bool,
        populated: bool,
    ) -> Result<u64, Failure> {
        let home = self.home(name);
        let shown = &name.name.text;
        let table = match self.frame.catalog.relation(Some(&home), shown) {
            Some(Relation::Table(table)) if table.materialized.is_some() => Arc::clone(table),
            Some(Relation::Table(_)) => {
                let text = format!("\"{shown}\" is not a materialized view");
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            Some(_) => {
                let text = format!("\"{shown}\" is not a table or materialized view");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            None => return Err(CatalogError::missing(ObjectKind::Relation, name.to_string()).into()),
        };
        if concurrently {
            check_concurrently(&table)?;
        }
        let catalog = &self.frame.services.instance.catalog;
        self.needs(Object::Relation(table.oid), Rights::MAINTAIN, "materialized view", shown)?;
        let change = TableChange::Refresh { populated, concurrently };
        let rewrite: Rewrite =
            catalog.begin_rewrite(&mut self.frame.txn.borrow_mut(), Some(&home), shown, &change)?;
        let listed = self.list_copy("REFRESH MATERIALIZED VIEW", "copying rows", &rewrite)?;
        let mut rows = 0;
        if populated {
            let new = Arc::clone(&rewrite.new);
            rows = self.frame.inside_now(|frame| {
                frame.as_owner_of(&new, |frame| {
                    let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                    let insert = fill(&binder, &new)?;
                    frame.count(&insert, &[])
                })
            })?;
        }
        listed.job().enter("building indexes", 0);
        catalog.finish_rewrite(&mut self.frame.txn.borrow_mut(), &rewrite)?;
        Ok(rows)
    }
}

/// The statement that puts the rows of a materialized view's query into it.
fn fill(binder: &Binder<'_>, table: &Arc<TableDef>) -> Result<Bound, SqlError> {
    let view = table.as_view().ok_or_else(|| SqlError::internal("no materialized view"))?;
    let source = binder.rows_of(&view)?;
    let mut values = Vec::with_capacity(table.columns.len());
    for (at, column) in table.columns.iter().enumerate() {
        values.push(match column.is_hidden() {
            true => binder.stored_generation(column, table)?,
            false => TypedExpr::column(at, column.ty.clone()),
        });
    }
    Ok(Bound::Insert(Insert::plain(Arc::clone(table), source, values)))
}

/// What PostgreSQL asks of a view that is refreshed while others read it.
fn check_concurrently(table: &TableDef) -> Result<(), SqlError> {
    if table.materialized.as_ref().is_some_and(|it| !it.populated) {
        let text = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    let hidden = |column: u16| table.column_with_id(column).is_some_and(|at| table.columns[at].is_hidden());
    let fits = table.indexes.iter().any(|index| {
        index.unique && index.guard.is_none() && !index.parts.iter().any(|part| hidden(part.column))
    });
    if fits {
        return Ok(());
    }
    let text = format!("cannot refresh materialized view \"{}.{}\" concurrently", table.schema, table.name);
    let hint = "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
    Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text).with_hint(hint))
}
