//! Functions in SQL: their statements one after the other, and what the last one yields.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, FunctionReturn};
use verso_exec::plan::{
    ExprKind, PlBlock, PlFunction, PlInto, PlPlace, PlReturn, PlStatement, PlStatementKind, PlTargets,
    Statement as Bound, TypedExpr,
};
use verso_types::{SqlType, TimeStyle};

use super::Body;
use super::statement::planned;
use crate::bind::Binder;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Parsed, Statement};

/// Binds a function in SQL.
///
/// # Errors
/// Those of its statements; 42P13 where the last one does not yield what the function returns.
pub fn bind_sql_function(
    function: &FunctionDef,
    statements: &[Parsed],
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<PlFunction, SqlError> {
    let types: Vec<SqlType> = function.args.iter().map(|arg| arg.ty.erased()).collect();
    let mut body = Body::new(Binder::new(catalog, time_zone, &types), Arc::clone(&function.name));
    body.weak = true;
    for arg in &function.args {
        body.declare(&arg.name, arg.ty.clone(), false);
    }
    let returns = match &function.returns {
        FunctionReturn::Void | FunctionReturn::Procedure(_) | FunctionReturn::Trigger => PlReturn::Void,
        FunctionReturn::Scalar(ty) => PlReturn::Scalar(ty.clone()),
        FunctionReturn::Set(ty) => PlReturn::Rows(vec![ty.clone()]),
        FunctionReturn::Table(columns) => PlReturn::Rows(columns.iter().map(|(_, ty)| ty.clone()).collect()),
    };
    let mut steps = Vec::new();
    let last = statements.len().saturating_sub(1);
    for (n, parsed) in statements.iter().enumerate() {
        let wanted = if n == last { &returns } else { &PlReturn::Void };
        body.sql_statement(&parsed.statement, wanted, &mut steps)?;
    }
    if statements.is_empty() && returns != PlReturn::Void {
        let detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE RETURNING.";
        return Err(mismatch(&returns, detail));
    }
    let line = |kind| PlStatement { line: 1, kind };
    let block = PlBlock { body: steps.into_iter().map(line).collect(), ..PlBlock::default() };
    Ok(PlFunction {
        signature: function.signature().into(),
        argument_count: function.args.len(),
        variables: body.variables.into(),
        returns,
        found: None,
        body: block,
        trigger: None,
    })
}

/// `42P13`.
fn mismatch(returns: &PlReturn, detail: &str) -> SqlError {
    let declared = match returns {
        PlReturn::Scalar(ty) => ty.pg_name(),
        PlReturn::Rows(types) if types.len() == 1 => types[0].pg_name(),
        PlReturn::Rows(_) => "record".to_string(),
        PlReturn::Void | PlReturn::Trigger => "void".to_string(),
    };
    let text = format!("return type mismatch in function declared to return {declared}");
    SqlError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).with_detail(detail.to_string())
}

impl Body<'_> {
    fn sql_statement(
        &mut self,
        statement: &Statement,
        returns: &PlReturn,
        steps: &mut Vec<PlStatementKind>,
    ) -> Result<(), SqlError> {
        let types: &[SqlType] = match returns {
            PlReturn::Void | PlReturn::Trigger => &[],
            PlReturn::Scalar(ty) => std::slice::from_ref(ty),
            PlReturn::Rows(types) => types,
        };
        let bound = match statement {
            Statement::Query(query) => planned(&self.binder, self.binder.query_for(query, types)?)?,
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) => {
                Box::new(self.binder.statement(statement)?)
            }
            _ => {
                return Err(SqlError::unsupported(
                    "a function in SQL with other statements than queries and changes",
                ));
            }
        };
        if *returns == PlReturn::Void {
            steps.push(PlStatementKind::Sql { statement: bound, into: None });
            return Ok(());
        }
        let given = bound.output();
        if given.is_empty() {
            let detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE/MERGE RETURNING.";
            return Err(mismatch(returns, detail));
        }
        if given.len() != types.len() {
            let detail = match types.len() {
                1 => "Final statement must return exactly one column.",
                more if more > given.len() => "Final statement returns too few columns.",
                _ => "Final statement returns too many columns.",
            };
            return Err(mismatch(returns, detail));
        }
        for (n, (given, wanted)) in given.iter().zip(types).enumerate() {
            let known = given.ty == SqlType::Unknown || given.ty.same_base(wanted);
            let assignable = verso_types::cast_kind(&given.ty, wanted)
                .is_some_and(|kind| kind <= verso_types::CastKind::Assignment);
            if !known && !assignable {
                let detail = match (types.len(), returns) {
                    (1, _) => format!("Actual return type is {}.", given.ty.pg_name()),
                    _ => format!(
                        "Final statement returns {} instead of {} at column {}.",
                        given.ty.pg_name(),
                        wanted.pg_name(),
                        n + 1
                    ),
                };
                return Err(mismatch(returns, &detail));
            }
        }
        match returns {
            PlReturn::Scalar(ty) => {
                let slot = self.declare("", ty.clone(), false);
                let place = PlPlace { slot, field: None, ty: ty.clone() };
                let into = Some(PlInto { targets: PlTargets::Places(vec![place]), strict: false });
                steps.push(PlStatementKind::Sql { statement: bound, into });
                let value = TypedExpr::new(ExprKind::Parameter(slot), ty.erased());
                steps.push(PlStatementKind::Return { value: Some(value) });
            }
            _ if matches!(*bound, Bound::Query(_)) => {
                steps.push(PlStatementKind::ReturnQuery { query: bound })
            }
            _ => return Err(SqlError::unsupported("rows of RETURNING as those of a function in SQL")),
        }
        Ok(())
    }
}
