//! EXECUTE and GET DIAGNOSTICS.

use verso_exec::plan::{PlDynamic, PlReturn, PlStatementKind, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::super::with::Cte;
use super::Body;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Expr};

impl Body<'_> {
    /// A value as its type writes it.
    pub(super) fn as_text(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        let bound = self.bind(expr)?;
        self.binder.written(bound, expr.at.start)
    }

    /// The text of a statement, and its parameters; a literal of no type is a text.
    pub(super) fn dynamic(&self, dynamic: &syntax::PlDynamic) -> Result<PlDynamic, SqlError> {
        let value = |expr: &Expr| {
            let bound = self.bind(expr)?;
            match bound.ty {
                SqlType::Unknown => {
                    self.binder.coerce(bound, expr.at.start, &SqlType::Text, CastKind::Implicit)
                }
                _ => Ok(bound),
            }
        };
        let using = dynamic.using.iter().map(value).collect::<Result<_, SqlError>>()?;
        let transitions = self.binder.ctes.iter().filter_map(Cte::as_transition).collect();
        let explained = dynamic.explained.as_deref();
        let explained =
            explained.map(|statement| self.binder.statement(statement).map(Box::new)).transpose()?;
        Ok(PlDynamic { text: self.as_text(&dynamic.text)?, using, transitions, explained })
    }

    /// `RETURN QUERY EXECUTE`.
    pub(super) fn return_execute(&self, text: &syntax::PlDynamic) -> Result<PlStatementKind, SqlError> {
        let (PlReturn::Rows(_) | PlReturn::Records) = &self.returns else {
            let text = "cannot use RETURN QUERY in a non-SETOF function";
            return Err(self.refuse_here(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)));
        };
        Ok(PlStatementKind::ReturnExecute { text: self.dynamic(text)? })
    }
}
