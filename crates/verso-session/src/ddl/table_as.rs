//! CREATE TABLE … AS, SELECT … INTO.

use std::sync::Arc;

use verso_catalog::{NewColumn, NewTable, Object};
use verso_exec::plan::{Insert, Statement as Bound, TypedExpr};
use verso_types::{Collation, SqlType, Value};

use super::composite::{refuse_pseudo, refuse_system_name};
use super::{Schema, holding_named, options};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{CreateTableAs, Statement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

/// The query of CREATE TABLE AS: as it is written, or bound already to what it names.
pub(super) enum Source<'s> {
    Unbound(&'s Binder<'s>),
    Bound(&'s Bound),
}

impl Schema<'_> {
    /// Makes a table with the columns of a query, and fills it with its rows.
    pub(super) fn create_table_as(
        &self,
        source: Source<'_>,
        create: &CreateTableAs,
        params: &[Value],
    ) -> Result<CommandTag, Failure> {
        let name = &create.name.name.text;
        let place = match create.temporary {
            Some(_) => self.temporary_place(&create.name)?,
            None => self.place(&create.name)?,
        };
        let mut query = match source {
            Source::Unbound(binder) if !create.with_data => {
                binder.clone().unread().statement(&Statement::Query(create.query.clone()))?
            }
            Source::Unbound(binder) => binder.statement(&Statement::Query(create.query.clone()))?,
            Source::Bound(query) => query.clone(),
        };
        if create.if_not_exists && self.frame.catalog.relation(Some(&place), name).is_some() {
            return Ok(self.skip_relation(name, "CREATE TABLE AS"));
        }
        let output = query.output();
        let read = match &query {
            Bound::With(with) => with.main(),
            query => Some(query),
        };
        let domains = match read {
            Some(Bound::Query(plan)) => plan.domains(),
            _ => Vec::new(),
        };
        if create.columns.len() > output.len() {
            return Err(SqlError::syntax("too many column names were specified").into());
        }
        let mut new = NewTable::new(name.as_str(), Vec::new());
        new.schema = Some(Arc::clone(&place));
        new.options = options(&create.options);
        new.unlogged = self.unlogged(create.unlogged, &place)?;
        for (n, column) in output.iter().enumerate() {
            let given = create.columns.get(n).map(|given| Arc::from(given.text.as_str()));
            let name = given.unwrap_or_else(|| Arc::clone(&column.name));
            if new.columns.iter().any(|other| other.name == name) {
                let text = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
            }
            refuse_pseudo(&name, &column.ty)?;
            refuse_system_name(&name)?;
            let ty = column.seen();
            refuse_open(&name, &ty)?;
            let domain = domains.get(n).cloned().flatten();
            let ty = domain.unwrap_or(ty);
            self.may_use(&ty)?;
            new.columns.push(NewColumn::new(name, ty));
        }
        // Before it is filled, which may take long.
        holding_named(self.frame, || {
            let catalog = &self.frame.services.instance.catalog;
            let made = catalog.create_table(&mut self.frame.txn.borrow_mut(), &new, false)?;
            self.note_temporary(made, create.temporary);
            made.map_or(Ok(()), |oid| self.made(Object::Relation(oid), Some(&place)))
        })?;
        if !create.with_data {
            return Ok(match create.executes {
                true => CommandTag::counted("SELECT", 0),
                false => tag("CREATE TABLE AS"),
            });
        }
        let rows = self.frame.inside(|frame| {
            let table = frame.catalog.table(Some(&place), name);
            let table = table.ok_or_else(|| SqlError::internal("the new table is not there"))?;
            let values = output.iter().enumerate().map(|(n, column)| TypedExpr::column(n, column.ty.clone()));
            let filled = match &mut query {
                Bound::With(with) => with.main_mut(),
                query => Some(query),
            };
            let Some(Bound::Query(source)) = filled.as_deref() else {
                return Err(SqlError::internal("a query that is none").into());
            };
            let insert = Insert::plain(table, source.clone(), values.collect());
            if let Some(filled) = filled {
                *filled = Bound::Insert(insert);
            }
            frame.count(&query, params)
        })?;
        Ok(CommandTag::counted("SELECT", rows))
    }
}

/// Refuses a column of a table for whose texts no collation follows.
pub(super) fn refuse_open(name: &str, ty: &SqlType) -> Result<(), SqlError> {
    if ty.collation().is_none_or(|collation| collation.oid != Collation::OPEN) {
        return Ok(());
    }
    let shown = ty.uncollated().without_modifiers().pg_name();
    let text = format!("no collation was derived for column \"{name}\" with collatable type {shown}");
    let hint = "Use the COLLATE clause to set the collation explicitly.";
    Err(SqlError::new("42P22", text).with_hint(hint))
}
