//! RAISE: messages and errors of a body's own.

use verso_exec::plan::{PlStatementKind, RaiseLevel};

use super::Body;
use crate::errors::SqlError;
use verso_parser::syntax::{Expr, PlLevel, PlRaise, PlRaiseOption};

impl Body<'_> {
    pub(super) fn raise(&self, raise: &PlRaise) -> Result<PlStatementKind, SqlError> {
        if raise.format.is_none() && raise.sqlstate.is_none() && raise.options.is_empty() {
            if !self.in_handler {
                let text = "RAISE without parameters cannot be used outside an exception handler";
                return Err(SqlError::new("0Z002", text));
            }
            return Ok(PlStatementKind::Reraise);
        }
        // As its output function writes it, which is not its cast to text.
        let shown = |expr: &Expr| {
            let bound = self.bind(expr)?;
            self.binder.written(bound, expr.at.start)
        };
        let mut format = raise.format.clone();
        let mut by_option = false;
        let mut args = raise.args.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
        let code = raise.sqlstate.clone();
        let (mut detail, mut hint, mut errcode) = (None, None, None);
        let mut about = Vec::new();
        for (n, (option, expr)) in raise.options.iter().enumerate() {
            let coded = *option == PlRaiseOption::Errcode && raise.sqlstate.is_some();
            if coded || raise.options[..n].iter().any(|(known, _)| known == option) {
                return Err(SqlError::syntax(format!("RAISE option already specified: {}", option.word())));
            }
            match option {
                PlRaiseOption::Message => {
                    if raise.format.is_some() {
                        return Err(SqlError::syntax("RAISE option already specified: MESSAGE"));
                    }
                    format = Some("%".to_string());
                    args = vec![shown(expr)?];
                    by_option = true;
                }
                PlRaiseOption::Detail => detail = Some(shown(expr)?),
                PlRaiseOption::Hint => hint = Some(shown(expr)?),
                PlRaiseOption::About(what) => about.push((*what, shown(expr)?)),
                PlRaiseOption::Errcode => errcode = Some(shown(expr)?),
            }
        }
        Ok(PlStatementKind::Raise {
            level: match raise.level {
                PlLevel::Debug => RaiseLevel::Debug,
                PlLevel::Log => RaiseLevel::Log,
                PlLevel::Info => RaiseLevel::Info,
                PlLevel::Notice => RaiseLevel::Notice,
                PlLevel::Warning => RaiseLevel::Warning,
                PlLevel::Exception => RaiseLevel::Exception,
            },
            format: format.map(Into::into),
            args,
            by_option,
            sqlstate: code.map(Into::into),
            errcode,
            detail,
            hint,
            about,
        })
    }
}
