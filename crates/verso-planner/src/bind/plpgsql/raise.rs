//! RAISE: messages and errors of a body's own.

use verso_exec::plan::{ExprKind as ExecKind, PlStatementKind, RaiseLevel, TypedExpr};
use verso_types::{CastKind, SqlType, Value};

use super::Body;
use crate::errors::{SqlError, sqlstate};
use verso_parser::condition_code;
use verso_parser::syntax::{Expr, ExprKind, Literal, PlLevel, PlRaise, PlRaiseOption};

impl Body<'_> {
    pub(super) fn raise(&self, raise: &PlRaise) -> Result<PlStatementKind, SqlError> {
        if raise.format.is_none() && raise.sqlstate.is_none() && raise.options.is_empty() {
            if !self.in_handler {
                let text = "RAISE without parameters cannot be used outside an exception handler";
                return Err(SqlError::new("0Z002", text));
            }
            return Ok(PlStatementKind::Reraise);
        }
        let as_text = |expr: &Expr| {
            let bound = self.bind(expr)?;
            self.binder.coerce(bound, expr.at.start, &SqlType::Text, CastKind::Explicit)
        };
        // As its output function writes it, which is not its cast to text.
        let shown = |expr: &Expr| {
            let bound = self.bind(expr)?;
            let word = |word: &str| TypedExpr::literal(Value::text(word), SqlType::Text);
            match bound.ty {
                SqlType::Bool => {
                    let not = TypedExpr::new(ExecKind::Not(Box::new(bound.clone())), SqlType::Bool);
                    let branches = vec![(bound, word("t")), (not, word("f"))];
                    Ok(TypedExpr::new(ExecKind::Case { branches, otherwise: None }, SqlType::Text))
                }
                _ => self.binder.coerce(bound, expr.at.start, &SqlType::Text, CastKind::Explicit),
            }
        };
        let mut format = raise.format.clone();
        let mut args = raise.args.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
        let mut code = raise.sqlstate.clone();
        let (mut detail, mut hint) = (None, None);
        let mut about = Vec::new();
        for (option, expr) in &raise.options {
            match option {
                PlRaiseOption::Message => {
                    if raise.format.is_some() {
                        return Err(
                            SqlError::syntax("RAISE option already specified: MESSAGE").at(expr.at.start)
                        );
                    }
                    format = Some("%".to_string());
                    args = vec![as_text(expr)?];
                }
                PlRaiseOption::Detail => detail = Some(as_text(expr)?),
                PlRaiseOption::Hint => hint = Some(as_text(expr)?),
                PlRaiseOption::About(what) => about.push((*what, as_text(expr)?)),
                PlRaiseOption::Errcode => code = Some(error_code(expr)?),
            }
        }
        let format = format.or_else(|| code.clone()).unwrap_or_default();
        Ok(PlStatementKind::Raise {
            level: match raise.level {
                PlLevel::Debug => RaiseLevel::Debug,
                PlLevel::Log => RaiseLevel::Log,
                PlLevel::Info => RaiseLevel::Info,
                PlLevel::Notice => RaiseLevel::Notice,
                PlLevel::Warning => RaiseLevel::Warning,
                PlLevel::Exception => RaiseLevel::Exception,
            },
            format: format.into(),
            args,
            sqlstate: code.map(Into::into),
            detail,
            hint,
            about,
        })
    }
}

/// The code that USING ERRCODE names: a literal, either five characters or a condition's name.
fn error_code(expr: &Expr) -> Result<String, SqlError> {
    let ExprKind::Literal(Literal::String(text)) = &expr.kind else {
        return Err(SqlError::unsupported("an ERRCODE that is no literal").at(expr.at.start));
    };
    if let Some(code) = condition_code(&text.to_lowercase()) {
        return Ok(code.to_string());
    }
    match text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
        true => Ok(text.clone()),
        false => {
            let text = format!("unrecognized exception condition \"{text}\"");
            Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(expr.at.start))
        }
    }
}
