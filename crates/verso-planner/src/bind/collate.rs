//! COLLATE and SIMILAR TO.

use verso_exec::plan::TypedExpr;
use verso_parser::syntax::{Expr, QualifiedName};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::context::Context;
use super::resolve::{Resolution, function_error, shown};
use crate::errors::{SqlError, sqlstate};

impl Binder<'_> {
    /// `a COLLATE c`: texts compare by bytes, so only collations that say so are there.
    pub(super) fn collated(
        &self,
        arg: &Expr,
        collation: &QualifiedName,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let bound = self.expr(arg, cx)?;
        let bound = self.settle(bound, arg.at.start)?;
        let system = collation.schema_text().is_none_or(|schema| schema == "pg_catalog");
        let name = collation.name.text.as_str();
        if !system || !matches!(name, "C" | "POSIX" | "default" | "ucs_basic") {
            let text = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(point));
        }
        let element = match &bound.ty {
            SqlType::Array(element) => &**element,
            ty => ty,
        };
        if !element.is_text() {
            let text = format!("collations are not supported by type {}", shown(&bound.ty));
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(point));
        }
        Ok(bound)
    }

    /// `a [NOT] SIMILAR TO pattern [ESCAPE e]`: a regular expression for the whole text.
    pub(super) fn similar_to(
        &self,
        arg: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let text = |expr: &Expr, cx: &mut Context<'_>| {
            let bound = self.expr(expr, cx)?;
            let fits = bound.ty.is_text();
            if !fits {
                let types = [bound.ty.clone()];
                return Err(function_error("similar_to_escape", &types, &Resolution::None).at(point));
            }
            self.coerce(bound, expr.at.start, &SqlType::Text, CastKind::Implicit)
        };
        let value = (self.expr(arg, cx)?, arg.at.start);
        let mut args = vec![(text(pattern, cx)?, pattern.at.start)];
        if let Some(escape) = escape {
            args.push((text(escape, cx)?, escape.at.start));
        }
        let functions = verso_exec::functions::candidates("similar_to_escape");
        let function = functions.iter().find(|function| function.args.len() == args.len());
        let function = function.ok_or_else(|| SqlError::internal("no similar_to_escape"))?;
        let to = vec![SqlType::Text; args.len()];
        let regex = self.built_in(function, args, &to)?;
        self.operator(if negated { "!~" } else { "~" }, vec![value, (regex, pattern.at.start)], point)
    }
}
