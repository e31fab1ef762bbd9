//! RETURN, RETURN NEXT, RETURN QUERY.

use std::sync::Arc;

use verso_exec::plan::{ExprKind, PlReturn, PlStatementKind, TypedExpr};
use verso_types::{CastKind, RowType, SqlType, cast_kind};

use super::{Body, not_assigned};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Expr, Statement};

impl Body<'_> {
    pub(super) fn return_value(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let mismatch = |text: &str| self.refuse(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        if self.returns == PlReturn::Trigger {
            return self.return_row(value);
        }
        if let (Some(value), true) = (value, self.gives_back || !self.result_slots.is_empty())
            && !matches!(self.returns, PlReturn::Rows(_))
        {
            let text = "RETURN cannot have a parameter in function with OUT parameters";
            return Err(mismatch(text).at(value.at.start));
        }
        let value = match (&self.returns, value) {
            (PlReturn::Void | PlReturn::Rows(_) | PlReturn::Records, None) => None,
            (PlReturn::Scalar(_), None) if !self.result_slots.is_empty() => self.outgoing(),
            (PlReturn::Record, Some(value)) => {
                let (value, shape) = self.row_value(value).map_err(not_composite)?;
                return Ok(PlStatementKind::ReturnComposite { value, shape, types: None });
            }
            (PlReturn::Scalar(SqlType::Row(row)), Some(value)) => {
                let shown = value;
                let (value, shape) = self.row_value(value).map_err(not_composite)?;
                let (shape, types) = (as_written(shown, shape), Some(Arc::clone(row)));
                return Ok(PlStatementKind::ReturnComposite { value, shape, types });
            }
            (PlReturn::Scalar(ty), Some(value)) => return self.return_cast(value, ty),
            (PlReturn::Void | PlReturn::Trigger, Some(value)) => {
                let at = value.at.start;
                return Err(match self.procedure {
                    true => {
                        let text = "RETURN cannot have a parameter in a procedure";
                        self.refuse(SqlError::syntax(text).at(at))
                    }
                    false => mismatch("RETURN cannot have a parameter in function returning void").at(at),
                });
            }
            (PlReturn::Rows(_) | PlReturn::Records, Some(value)) => {
                return Err(mismatch("RETURN cannot have a parameter in function returning set")
                    .with_hint("Use RETURN NEXT or RETURN QUERY.")
                    .at(value.at.start));
            }
            (PlReturn::Scalar(_) | PlReturn::Record | PlReturn::Trigger, None) => {
                return Err(self.missing_expression());
            }
        };
        Ok(PlStatementKind::Return { value })
    }

    /// A RETURN without the expression that it needs.
    pub(super) fn missing_expression(&self) -> SqlError {
        self.refuse(SqlError::syntax("missing expression at or near \";\"").at(self.at.1))
    }

    /// A value that may have to be cast to the type of the result: by a cast that may fail the function does that when it has
    /// returned, and says so.
    fn return_cast(&self, expr: &Expr, to: &SqlType) -> Result<PlStatementKind, SqlError> {
        let bound = self.bind(expr)?;
        let from = bound.ty.clone();
        let is_literal = from == SqlType::Unknown;
        let is_safe = !to.is_constrained()
            && (from.same_base(to) || cast_kind(&from, to) == Some(CastKind::Implicit))
            || self.binder.has_user_cast(&from, to, CastKind::Assignment);
        if is_literal || is_safe {
            match self.value_of(bound, expr.at.start, "return value", to) {
                Err(_) if is_literal => {}
                value => return Ok(PlStatementKind::Return { value: Some(value?) }),
            }
        }
        // By way of text where there is no such cast.
        let is_cast = cast_kind(&from, to).is_some_and(|kind| kind <= CastKind::Assignment);
        let value = if is_literal || !is_cast { self.as_text(expr)? } else { self.bind(expr)? };
        let (from, to) = (value.ty.clone(), to.clone());
        Ok(PlStatementKind::ReturnCast { value, from, to })
    }

    /// What a function returns whose arguments come out: the only one of them, or a row of them.
    pub(super) fn outgoing(&self) -> Option<TypedExpr> {
        let parameter =
            |slot: &usize| TypedExpr::new(ExprKind::Parameter(*slot), self.variables[*slot].ty.erased());
        match (&self.returns, self.result_slots.as_slice()) {
            (PlReturn::Scalar(ty @ SqlType::Row(_)), slots @ [_, _, ..]) => {
                Some(TypedExpr::new(ExprKind::Row(slots.iter().map(parameter).collect()), ty.clone()))
            }
            (PlReturn::Scalar(_), [only]) => Some(parameter(only)),
            _ => None,
        }
    }

    pub(super) fn return_next(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let types: &[SqlType] = match &self.returns {
            PlReturn::Rows(types) => types,
            PlReturn::Records => &[],
            _ => {
                let text = "cannot use RETURN NEXT in a non-SETOF function";
                return Err(self.refuse_here(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)));
            }
        };
        if let (Some(value), true) = (value, self.result_slots.is_empty() && self.returns_rows) {
            let (row, shape) = self.row_value(value).map_err(not_composite)?;
            let shape = as_written(value, shape);
            // Only as a value it is NULL while it is not assigned.
            if let (syntax::ExprKind::Column(names), true) = (&value.kind, shape.fields.is_empty())
                && let [name] = names.as_slice()
            {
                return Err(not_assigned(&name.text));
            }
            return Ok(PlStatementKind::ReturnNextComposite { value: row, shape });
        }
        let values = match (value, self.result_slots.as_slice(), types) {
            (None, slots @ [_, ..], types) => {
                let variable =
                    |(slot, ty): (&usize, &SqlType)| TypedExpr::new(ExprKind::Parameter(*slot), ty.erased());
                slots.iter().zip(types).map(variable).collect()
            }
            (Some(value), [], [ty]) => vec![self.first_value(value, "return value", ty)?],
            (None, [], _) => return Err(self.missing_expression()),
            (Some(value), _, _) => {
                let text = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                return Err(self.refuse(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(value.at.start)));
            }
        };
        Ok(PlStatementKind::ReturnNext { values })
    }

    pub(super) fn return_query(
        &self,
        statement: &Statement,
        text: &str,
    ) -> Result<PlStatementKind, SqlError> {
        if !matches!(self.returns, PlReturn::Rows(_) | PlReturn::Records) {
            let text = "cannot use RETURN QUERY in a non-SETOF function";
            return Err(self.refuse_here(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)));
        }
        // Whether its columns are those that are wanted is asked when it runs; they are cast to nothing.
        let query = Box::new(self.binder.statement(statement)?);
        Ok(PlStatementKind::ReturnQuery { query, text: Some(text.into()) })
    }
}

/// The fields of a row that is returned: literals in it have no type, and become nothing else.
fn as_written(value: &Expr, shape: Arc<RowType>) -> Arc<RowType> {
    use syntax::{ExprKind as E, Literal};
    let E::Row(parts) = &value.kind else { return shape };
    let is_open = |part: &Expr| matches!(part.kind, E::Literal(Literal::String(_) | Literal::Null));
    if shape.of.is_some() || parts.len() != shape.fields.len() || !parts.iter().any(is_open) {
        return shape;
    }
    let field = |((name, ty), part): (&(Arc<str>, SqlType), &Expr)| {
        (Arc::clone(name), if is_open(part) { SqlType::Unknown } else { ty.clone() })
    };
    Arc::new(RowType::unnamed(shape.fields.iter().zip(parts).map(field).collect()))
}

/// What is said of a RETURN that is no row where one is wanted.
pub(super) fn not_composite(error: SqlError) -> SqlError {
    match error.sqlstate {
        sqlstate::DATATYPE_MISMATCH => SqlError::new(
            sqlstate::DATATYPE_MISMATCH,
            "cannot return non-composite value from function returning composite type",
        ),
        _ => error,
    }
}
