//! What the catalog keeps as text, bound for the statement that needs it.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ColumnDef, FunctionDef, TableDef};
use verso_exec::context::Binding;
use verso_exec::error::{ExecError, Raised};
use verso_exec::plan::{Check, PlFunction, TypedExpr};

use super::Services;
use verso_parser::parse_body;
use verso_planner::bind::{Binder, bind_block, bind_function};
use verso_planner::errors::SqlError;

impl Services {
    /// Binds what the catalog keeps as text, for a statement that runs.
    fn bound<T>(&self, bind: impl FnOnce(&Binder<'_>) -> Result<T, SqlError>) -> Result<T, ExecError> {
        let catalog = self.catalog.borrow().clone();
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
        self.instance.function((function.oid.0, catalog.version), || {
            let block = parse_body(&function.body)?;
            bind_function(function, &block, catalog, &self.settings.time_zone)
        })
    }
}

impl Binding for Services {
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>, ExecError> {
        self.compile(function, catalog).map_err(|error| {
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
        })
    }

    fn row_checks(&self, table: &Arc<TableDef>) -> Result<Vec<Check>, ExecError> {
        self.bound(|binder| binder.checks(table))
    }

    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr, ExecError> {
        self.bound(|binder| binder.stored_default(column))
    }

    fn describe_error(&self, error: &ExecError) -> (Arc<str>, String) {
        let error = SqlError::from(error.clone());
        (error.sqlstate.into(), error.message)
    }
}
