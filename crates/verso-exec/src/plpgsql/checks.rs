//! Checks that `plpgsql.extra_warnings` and `plpgsql.extra_errors` ask for while a body runs, and what
//! `plpgsql.print_strict_params` adds to the errors of INTO STRICT.

use verso_types::{SqlType, Value};

use super::frame::Frame;
use super::program::Embedded;
use super::site::context_of;
use crate::context::Notice;
use crate::error::{ExecError, Raised, Result};
use crate::exec::{ExecContext, cast_row};
use crate::plan::{PlInto, PlTargets, RaiseLevel};

/// A check, as the settings name it.
pub(super) const TOO_MANY_ROWS: &str = "too_many_rows";
/// Another one.
const STRICT_MULTI_ASSIGNMENT: &str = "strict_multi_assignment";

/// The setting that asks for a check, and whether what it finds is an error; none where nobody asks.
fn asked(cx: &ExecContext<'_>, check: &str) -> Option<(&'static str, bool)> {
    let names = |setting: &str| {
        let value = cx.services.settings.setting(setting).unwrap_or_default();
        value.split(',').any(|word| {
            let word = word.trim();
            word.eq_ignore_ascii_case(check) || word.eq_ignore_ascii_case("all")
        })
    };
    match () {
        () if names("plpgsql.extra_errors") => Some(("extra_errors", true)),
        () if names("plpgsql.extra_warnings") => Some(("extra_warnings", false)),
        () => None,
    }
}

/// Whether the session wants to know of INTO that leaves out rows.
pub(super) fn tests_rows(cx: &ExecContext<'_>) -> bool {
    asked(cx, TOO_MANY_ROWS).is_some()
}

/// Raises what a check has found, as an error or as a warning.
fn tell(cx: &ExecContext<'_>, is_error: bool, found: Raised) -> Result<()> {
    if is_error {
        return Err(ExecError::Raised(Box::new(found)));
    }
    let Raised { sqlstate, message, detail, hint } = found;
    let context = context_of(cx);
    let notice = Notice { level: RaiseLevel::Warning, sqlstate, message, detail, hint, context };
    cx.services.notices.notice(notice, cx.services.memory)
}

/// Whether a row has as many columns as there are targets: `strict_multi_assignment`.
#[inline]
pub(super) fn check_width(cx: &ExecContext<'_>, targets: &PlTargets, types: &[SqlType]) -> Result<()> {
    let wanted = match targets {
        PlTargets::Places(places) => places.len(),
        PlTargets::Row { types, .. } | PlTargets::TriggerRow { types, .. } => types.len(),
        PlTargets::Record { .. } => return Ok(()),
    };
    if wanted == types.len() || matches!(types, [row] if row.is_row()) {
        return Ok(());
    }
    other_width(cx)
}

#[cold]
fn other_width(cx: &ExecContext<'_>) -> Result<()> {
    let Some((setting, is_error)) = asked(cx, STRICT_MULTI_ASSIGNMENT) else { return Ok(()) };
    let found = Raised {
        sqlstate: "42804".into(),
        message: "number of source and target fields in assignment does not match".into(),
        detail: Some(format!("{STRICT_MULTI_ASSIGNMENT} check of {setting} is active.")),
        hint: Some("Make sure the query returns the exact list of columns.".into()),
    };
    tell(cx, is_error, found)
}

/// `INTO STRICT` wants one row, and a change at most one. `given` are the values of EXECUTE … USING; without them it is a
/// statement of the body.
pub(super) fn check_strict(
    into: &PlInto,
    rows: u64,
    statement: &Embedded,
    given: Option<(&[Value], &[SqlType])>,
    cx: &ExecContext<'_>,
    frame: &Frame,
) -> Result<()> {
    let is_error = match rows {
        1 => return Ok(()),
        0 if into.strict => true,
        0 => return Ok(()),
        _ if into.strict => true,
        // The value of a function in SQL is of the first row.
        _ if given.is_some() || frame.function.sql => return Ok(()),
        _ if !statement.is_query => true,
        _ => match asked(cx, TOO_MANY_ROWS) {
            Some((_, is_error)) => is_error,
            None => return Ok(()),
        },
    };
    let detail = if into.strict { parameters(into, given, cx, frame)? } else { None };
    let found = match rows {
        0 => {
            Raised { sqlstate: "P0002".into(), message: "query returned no rows".into(), detail, hint: None }
        }
        _ => Raised {
            sqlstate: "P0003".into(),
            message: "query returned more than one row".into(),
            detail,
            hint: given.is_none().then(|| "Make sure the query returns a single row, or use LIMIT 1.".into()),
        },
    };
    tell(cx, is_error, found)
}

/// The values that the statement was run with, where `plpgsql.print_strict_params` or the body's own option wants them.
fn parameters(
    into: &PlInto,
    given: Option<(&[Value], &[SqlType])>,
    cx: &ExecContext<'_>,
    frame: &Frame,
) -> Result<Option<String>> {
    let by_setting = || {
        let setting = cx.services.settings.setting("plpgsql.print_strict_params");
        setting.is_some_and(|value| ["on", "true", "yes", "1"].contains(&&*value.to_ascii_lowercase()))
    };
    if !frame.function.strict_params.unwrap_or_else(by_setting) {
        return Ok(None);
    }
    let named: Vec<(String, Value, SqlType)> = match given {
        Some((values, types)) => {
            let given = values.iter().zip(types).enumerate();
            given.map(|(n, (value, ty))| (format!("${}", n + 1), value.clone(), ty.clone())).collect()
        }
        None => {
            let variable = |slot: &usize| {
                let known = &frame.variables[*slot];
                (known.name.to_string(), frame.slots[*slot].clone(), known.ty.clone())
            };
            into.params.iter().map(variable).collect()
        }
    };
    if named.is_empty() {
        return Ok(None);
    }
    let mut shown = Vec::with_capacity(named.len());
    for (name, mut value, ty) in named {
        let one = std::slice::from_ref;
        cast_row(cx, std::slice::from_mut(&mut value), one(&ty), one(&SqlType::Text))?;
        shown.push(match value.as_str() {
            Some(text) => format!("{name} = '{}'", text.replace('\'', "''")),
            None => format!("{name} = NULL"),
        });
    }
    Ok(Some(format!("parameters: {}", shown.join(", "))))
}
