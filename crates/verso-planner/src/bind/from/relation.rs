//! Relations by their names: tables, queries of WITH, views of the system, sequences.

use verso_catalog::{Object, Oid, Relation, Rights, SystemView};
use verso_exec::functions::ArgType;
use verso_exec::plan::{OutputColumn, Plan, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::super::Binder;
use super::super::resolve::{Resolution, function_error, resolve};
use super::super::rights::denied;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{QualifiedName, Statement};

impl Binder<'_> {
    /// The system view that a name means. Of a kept text what names users' relations was noted.
    pub(in crate::bind) fn system_view_named(&self, name: &QualifiedName) -> Option<SystemView> {
        let schema = match self.stored {
            Some(stored) if stored.relation_at(name.at().start).is_some() => return None,
            Some(_) => name.schema_text().or(Some("pg_catalog")),
            None => name.schema_text(),
        };
        self.catalog.system_view(schema, &name.name.text)
    }

    pub(super) fn relation(&self, name: &QualifiedName) -> Result<Plan, SqlError> {
        let schema = name.schema_text();
        if let (None, Some(plan)) = (schema, self.with_query(&name.name)?) {
            return Ok(plan);
        }
        if let Some(view) = self.system_view_named(name) {
            if !view.arguments().is_empty() {
                let text = format!("{name} is a function: give it its arguments");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(name.at().start));
            }
            self.check_schema(name)?;
            if let Some(relation) = view.relation() {
                self.check_system(relation)?;
            }
            if let SystemView::Relation(relation) = view
                && let Some(plan) = self.system_query(relation.get())?
            {
                return Ok(plan);
            }
            let columns = view.columns();
            let output =
                columns.iter().map(|column| OutputColumn::new(column.name, column.ty.clone())).collect();
            let columns = (0..columns.len()).collect();
            return Ok(Plan::SystemScan { view, args: Vec::new(), columns, output, keys: Vec::new() });
        }
        if let Some(Relation::Sequence(sequence)) = self.relation_named(name) {
            self.catalog.check_whole(sequence.oid)?;
            if let Some(noting) = self.noting {
                // Its columns are the same for ever.
                noting.relation(name.at().start, sequence.oid, &[]);
            }
            let role = self.acting;
            let may = |role| self.catalog.rights(role, Object::Relation(sequence.oid)).has(Rights::SELECT);
            if !role.is_none_or(may) {
                return Err(denied("sequence", &sequence.name));
            }
            return self.sequence_row(sequence.oid);
        }
        let table = self.table(name)?;
        if let Some(noting) = self.noting {
            noting.relation(name.at().start, table.oid, table.shown());
        }
        if !self.unread
            && self.noting.is_none()
            && table.materialized.as_ref().is_some_and(|it| !it.populated)
        {
            let text = format!("materialized view \"{}\" has not been populated", table.name);
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text)
                .with_hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        let columns = (0..table.columns.len()).collect();
        Ok(Plan::TableScan { table: table.into(), columns, filter: None })
    }

    /// Where a sequence stands, as a row.
    pub(super) fn sequence_row(&self, sequence: Oid) -> Result<Plan, SqlError> {
        let text = format!(
            "SELECT verso_sequence_number({0}) AS last_value, verso_sequence_ahead({0}) AS log_cnt, \
                    pg_sequence_last_value({0}) IS NOT NULL AS is_called",
            sequence.0
        );
        let parsed = verso_parser::parse_script(&text)?;
        match parsed.first().map(|parsed| &parsed.statement) {
            Some(Statement::Query(query)) => {
                Binder::new(self.catalog, self.time_zone, &[]).with_rules(self.rules).query(query)
            }
            _ => Err(SqlError::internal("a query that is none")),
        }
    }

    /// A system view that takes arguments.
    pub(super) fn view_call(
        &self,
        view: SystemView,
        args: Vec<(TypedExpr, u32)>,
        at: u32,
    ) -> Result<Plan, SqlError> {
        let declared = vec![view.arguments().iter().cloned().map(ArgType::Exact).collect()];
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let to = match resolve(&declared, &types, false) {
            Resolution::One(_, to) => to,
            found => return Err(function_error(view.name(), &types, &found).at(at)),
        };
        let args = args
            .into_iter()
            .zip(&to)
            .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
            .collect::<Result<Vec<_>, _>>()?;
        let columns = view.columns();
        let output = columns.iter().map(|column| OutputColumn::new(column.name, column.ty.clone())).collect();
        Ok(Plan::SystemScan { view, args, columns: (0..columns.len()).collect(), output, keys: Vec::new() })
    }
}
