//! RAISE.

use std::sync::Arc;

use verso_types::Value;

use super::program::Raise;
use super::run::Frame;
use crate::context::Notice;
use crate::error::{About, ExecError, Raised, Result};
use crate::exec::ExecContext;
use crate::expr::RowExpr;
use crate::plan::{PlDiagnostic, RaiseLevel};

/// Sends a message, or raises it as an error.
pub(super) fn raise(raise: &Raise, cx: &ExecContext<'_>, frame: &Frame) -> Result<()> {
    let args: Vec<Value> = raise.args.iter().map(|arg| frame.eval(cx, arg)).collect::<Result<_>>()?;
    let message = format_message(&raise.format, &args)?;
    let text = |expr: &Option<RowExpr>| -> Result<Option<String>> {
        let Some(expr) = expr else { return Ok(None) };
        Ok(frame.eval(cx, expr)?.as_str().map(str::to_owned))
    };
    let (detail, hint) = (text(&raise.detail)?, text(&raise.hint)?);
    let sqlstate = |default: &str| raise.sqlstate.clone().unwrap_or_else(|| Arc::from(default));
    if raise.level == RaiseLevel::Exception {
        let raised = Raised { sqlstate: sqlstate("P0001"), message, detail, hint };
        let error = ExecError::Raised(Box::new(raised));
        if raise.about.is_empty() {
            return Err(error);
        }
        let mut about = About::default();
        for (what, text) in &raise.about {
            let text = frame.eval(cx, text)?.as_str().map(str::to_owned);
            match what {
                PlDiagnostic::ColumnName => about.column = text,
                PlDiagnostic::ConstraintName => about.constraint = text,
                PlDiagnostic::DatatypeName => about.datatype = text,
                PlDiagnostic::TableName => about.table = text,
                _ => about.schema = text,
            }
        }
        return Err(ExecError::About { error: Box::new(error), about: Box::new(about) });
    }
    let default = if raise.level == RaiseLevel::Warning { "01000" } else { "00000" };
    let notice = Notice { level: raise.level, sqlstate: sqlstate(default), message, detail, hint };
    cx.services.notices.notice(notice, cx.services.memory)
}

/// `%` stands for the next argument, `%%` for itself.
fn format_message(format: &str, args: &[Value]) -> Result<String> {
    let mut message = String::with_capacity(format.len());
    let mut args = args.iter();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            message.push(c);
        } else if chars.next_if_eq(&'%').is_some() {
            message.push('%');
        } else {
            let arg = args
                .next()
                .ok_or_else(|| ExecError::raised("42601", "too few parameters specified for RAISE"))?;
            message.push_str(arg.as_str().unwrap_or("<NULL>"));
        }
    }
    if args.next().is_some() {
        return Err(ExecError::raised("42601", "too many parameters specified for RAISE"));
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_stand_for_arguments() {
        let args = [Value::text("x"), Value::Null];
        assert_eq!(format_message("a % b % 100%%", &args).unwrap(), "a x b <NULL> 100%");
        assert!(format_message("%", &[]).is_err());
        assert!(format_message("", &args).is_err());
    }
}
