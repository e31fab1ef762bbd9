//! What the catalog keeps as text, bound for the statement that needs it.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ColumnDef, FunctionDef, FunctionLanguage, TableDef, TriggerDef};
use verso_exec::context::{Binding, Described};
use verso_exec::error::{ExecError, Raised};
use verso_exec::plan::{ExprKind, PlFunction, RowRules, Statement as Bound, TypedExpr};
use verso_types::SqlType;

use super::Services;
use verso_parser::syntax::Statement;
use verso_parser::{parse_body, parse_script};
use verso_planner::bind::{
    Binder, bind_block, bind_function, bind_sql_function, bind_trigger, function_statements,
};
use verso_planner::errors::{SqlError, sqlstate};

impl Services {
    /// Binds what the catalog keeps as text, for a statement that runs.
    fn bound<T>(&self, bind: impl FnOnce(&Binder<'_>) -> Result<T, SqlError>) -> Result<T, ExecError> {
        let catalog = self.known_catalog();
        let catalog = catalog.ok_or_else(|| ExecError::raised("XX000", "no statement is running"))?;
        let binder = Binder::new(&catalog, &self.settings.time_zone, &[]);
        bind(&binder).map_err(|error| ExecError::raised(error.sqlstate, error.message))
    }

    fn compile(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, SqlError> {
        if function.oid.0 == 0 {
            let block = parse_body(&function.body)?;
            return bind_block(&block, catalog, &self.settings.time_zone).map(Arc::new);
        }
        let bind = || {
            if function.language == FunctionLanguage::Sql {
                let statements = function_statements(function)?;
                return bind_sql_function(function, &statements, catalog, &self.settings.time_zone);
            }
            let block = parse_body(&function.body)?;
            bind_function(function, &block, catalog, &self.settings.time_zone)
        };
        match function.variant {
            0 => self.instance.function((function.oid.0, catalog.key()), bind),
            // Of a polymorphic function each statement keeps its own.
            _ => bind().map(Arc::new),
        }
    }
}

impl Binding for Services {
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        self.compile(function, catalog).map_err(uncompiled)
    }

    fn compile_trigger(
        &self,
        trigger: &Arc<TriggerDef>,
        function: Option<&Arc<FunctionDef>>,
        table: &Arc<TableDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        let bound = self.instance.function((trigger.oid.0, catalog.key()), || {
            let statements = trigger.action.as_ref().map(|action| &action.body);
            let text = function.map(|function| &function.body).or(statements);
            let block = parse_body(text.map_or("", |text| text))?;
            let zone = &self.settings.time_zone;
            bind_trigger(trigger, function.map(|function| &**function), table, &block, catalog, zone)
        });
        bound.map_err(uncompiled)
    }

    fn trigger_condition(
        &self,
        trigger: &Arc<TriggerDef>,
        table: &Arc<TableDef>,
    ) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| binder.stored_trigger_condition(trigger, table))
    }

    fn row_rules(&self, table: &Arc<TableDef>) -> Result<RowRules, ExecError> {
        self.bound(|binder| binder.row_rules(table))
    }

    fn value_of_domain(&self, domain: &SqlType) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| {
            let value = TypedExpr::new(ExprKind::Parameter(0), domain.erased());
            binder.of_domain(value, domain)
        })
    }

    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| binder.stored_default(column))
    }

    fn describe_error(&self, error: &ExecError) -> Described {
        let error = SqlError::from(error.clone());
        let subject = error.subject.map(|subject| *subject).unwrap_or_default();
        Described {
            sqlstate: error.sqlstate.into(),
            message: error.message,
            detail: error.detail.map(String::from),
            hint: error.hint.map(String::from),
            context: error.context.map(String::from),
            column: subject.column,
            constraint: subject.constraint,
            datatype: subject.datatype,
            table: subject.table,
            schema: subject.schema,
        }
    }

    fn bind_text(
        &self,
        text: &str,
        types: &[SqlType],
        places: bool,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Bound>, ExecError> {
        let bind = || {
            let mut statements = parse_script(text)?;
            let parsed = match (statements.pop(), statements.is_empty()) {
                (Some(parsed), true) => parsed.statement,
                (None, _) => return Err(SqlError::unsupported("EXECUTE of an empty text")),
                (Some(_), false) => return Err(SqlError::unsupported("EXECUTE of several statements")),
            };
            let mut parsed = parsed;
            if let Statement::Query(query) = &mut parsed {
                query.places = places;
            }
            match parsed {
                Statement::Commit { .. } | Statement::Rollback { .. } | Statement::Begin { .. } => {
                    let text = "EXECUTE of transaction commands is not implemented";
                    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
                }
                Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::Merge(_) => {
                    let settings = &self.settings;
                    let binder = Binder::new(catalog, &settings.time_zone, types).with_rules(settings.rules);
                    binder.statement(&parsed).map(Some)
                }
                parsed if parsed.defines() => Ok(None),
                _ => Err(SqlError::unsupported("EXECUTE of what is no query or change of rows")),
            }
        };
        bind().map_err(|error| {
            let raised = Raised {
                sqlstate: error.sqlstate.into(),
                message: error.message,
                detail: error.detail.map(Into::into),
                hint: error.hint.map(Into::into),
            };
            let context = format!("SQL statement \"{text}\"");
            ExecError::InFunction { error: Box::new(ExecError::Raised(Box::new(raised))), context }
        })
    }
}

/// The error of a body that cannot be bound.
fn uncompiled(error: SqlError) -> ExecError {
    let context = error.context.map(String::from);
    let raised = Raised {
        sqlstate: error.sqlstate.into(),
        message: error.message,
        detail: error.detail.map(Into::into),
        hint: error.hint.map(Into::into),
    };
    let inner = ExecError::Raised(Box::new(raised));
    match context {
        Some(context) => ExecError::InFunction { error: Box::new(inner), context },
        None => inner,
    }
}
