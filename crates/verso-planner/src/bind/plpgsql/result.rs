//! RETURN, RETURN NEXT, RETURN QUERY.

use verso_exec::plan::{ExprKind, PlReturn, PlStatementKind, TypedExpr};
use verso_types::SqlType;

use super::Body;
use super::statement::planned;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Statement};

impl Body<'_> {
    pub(super) fn return_value(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let mismatch = |text: &str| self.refuse(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        if self.returns == PlReturn::Trigger {
            return self.return_row(value);
        }
        let value = match (&self.returns, value) {
            (PlReturn::Void | PlReturn::Rows(_), None) => None,
            (PlReturn::Scalar(ty), Some(value)) => Some(self.value(value, "return value", ty)?),
            (PlReturn::Void | PlReturn::Trigger, Some(value)) => {
                let text = "RETURN cannot have a parameter in function returning void";
                return Err(mismatch(text).at(value.at.start));
            }
            (PlReturn::Rows(_), Some(value)) => {
                return Err(mismatch("RETURN cannot have a parameter in function returning set")
                    .with_hint("Use RETURN NEXT or RETURN QUERY.")
                    .at(value.at.start));
            }
            (PlReturn::Scalar(_) | PlReturn::Trigger, None) => {
                return Err(self.refuse(SqlError::syntax("missing expression at or near \";\"")));
            }
        };
        Ok(PlStatementKind::Return { value })
    }

    pub(super) fn return_next(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let PlReturn::Rows(types) = &self.returns else {
            let text = "cannot use RETURN NEXT in a non-SETOF function";
            return Err(self.refuse(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)));
        };
        let values = match (value, self.result_slots.as_slice(), types.as_slice()) {
            (None, slots @ [_, ..], types) => {
                let variable =
                    |(slot, ty): (&usize, &SqlType)| TypedExpr::new(ExprKind::Parameter(*slot), ty.erased());
                slots.iter().zip(types).map(variable).collect()
            }
            (Some(value), [], [ty]) => vec![self.value(value, "return value", ty)?],
            (None, [], _) => return Err(self.refuse(SqlError::syntax("RETURN NEXT must have a parameter"))),
            (Some(value), _, _) => {
                let text = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                return Err(self.refuse(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(value.at.start)));
            }
        };
        Ok(PlStatementKind::ReturnNext { values })
    }

    pub(super) fn return_query(&self, statement: &Statement) -> Result<PlStatementKind, SqlError> {
        let PlReturn::Rows(types) = &self.returns else {
            let text = "cannot use RETURN QUERY in a non-SETOF function";
            return Err(self.refuse(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)));
        };
        let query = match statement {
            Statement::Query(query) if !query.changes_rows() => {
                planned(&self.binder, self.binder.query_for(query, types)?)?
            }
            changing => Box::new(self.binder.statement(changing)?),
        };
        let (given, wanted) = (query.output().len(), types.len());
        if given != wanted {
            let detail = format!(
                "Number of returned columns ({given}) does not match expected column count ({wanted})."
            );
            let text = "structure of query does not match function result type";
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_detail(detail));
        }
        Ok(PlStatementKind::ReturnQuery { query })
    }
}
