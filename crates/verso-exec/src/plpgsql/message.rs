//! RAISE.

use std::sync::Arc;

use verso_types::Value;
use verso_types::condition::condition_code;

use super::frame::Frame;
use super::program::Raise;
use super::site::context_of;
use crate::context::Notice;
use crate::error::{About, ExecError, Raised, Result};
use crate::exec::ExecContext;
use crate::expr::RowExpr;
use crate::plan::{PlDiagnostic, RaiseLevel};

/// Sends a message, or raises it as an error.
pub(super) fn raise(raise: &Raise, cx: &ExecContext<'_>, frame: &Frame) -> Result<()> {
    let notices = cx.services.notices;
    let args: Vec<Value> = raise.args.iter().map(|arg| frame.eval(cx, arg)).collect::<Result<_>>()?;
    let text = |expr: &Option<RowExpr>| -> Result<Option<String>> {
        expr.as_ref().map(|expr| option(cx, frame, expr)).transpose()
    };
    let (detail, hint) = (text(&raise.detail)?, text(&raise.hint)?);
    let named = text(&raise.errcode)?;
    let given = match &named {
        // No code of an error.
        Some(named) if named == "00000" => None,
        Some(named) => Some(code_of(named)?),
        None => raise.sqlstate.clone(),
    };
    if raise.by_option && args.iter().any(Value::is_null) {
        return Err(null_option());
    }
    let message = match (&raise.format, named, &given) {
        (Some(format), ..) => format_message(format, &args)?,
        // Without a message it is what the code was given as.
        (None, Some(named), _) => named,
        (None, None, code) => {
            let unnamed = if raise.level == RaiseLevel::Exception { "P0001" } else { "00000" };
            code.as_deref().unwrap_or(unnamed).to_owned()
        }
    };
    let mut about = About::default();
    for (what, text) in &raise.about {
        let text = Some(option(cx, frame, text)?);
        match what {
            PlDiagnostic::ColumnName => about.column = text,
            PlDiagnostic::ConstraintName => about.constraint = text,
            PlDiagnostic::DatatypeName => about.datatype = text,
            PlDiagnostic::TableName => about.table = text,
            _ => about.schema = text,
        }
    }
    let sqlstate = |default: &str| given.clone().unwrap_or_else(|| Arc::from(default));
    if raise.level == RaiseLevel::Exception {
        let raised = Raised { sqlstate: sqlstate("P0001"), message, detail, hint };
        let error = ExecError::Raised(Box::new(raised));
        if raise.about.is_empty() {
            return Err(error);
        }
        return Err(ExecError::About { error: Box::new(error), about: Box::new(about) });
    }
    let default = if raise.level == RaiseLevel::Warning { "01000" } else { "00000" };
    if !notices.hears(raise.level) {
        return Ok(());
    }
    let context = context_of(cx);
    let notice = Notice { level: raise.level, sqlstate: sqlstate(default), message, detail, hint, context };
    notices.notice(notice, cx.services.memory)
}

/// The value of an option of USING.
fn option(cx: &ExecContext<'_>, frame: &Frame, expr: &RowExpr) -> Result<String> {
    let value = frame.eval(cx, expr)?;
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(null_option)
}

fn null_option() -> ExecError {
    ExecError::raised("22004", "RAISE statement option cannot be null")
}

/// What USING ERRCODE says: a code, or the name of a condition.
fn code_of(text: &str) -> Result<Arc<str>> {
    if text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
        return Ok(text.into());
    }
    let code = condition_code(text)
        .ok_or_else(|| ExecError::raised("42704", format!("unrecognized exception condition \"{text}\"")))?;
    Ok(code.into())
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
