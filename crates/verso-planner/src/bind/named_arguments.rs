//! Arguments given by name, `f(a => x)`.
//!
//! The call is bound as if its arguments stood in the order of the function's parameters, defaults filled in.

use std::borrow::Cow;

use verso_exec::functions::{Parameters, candidates, parameters};

use super::Binder;
use crate::errors::SqlError;
use verso_parser::parse_expression;
use verso_parser::syntax::{Call, Expr};

impl Binder<'_> {
    /// The call with its arguments in order, one by one.
    pub(super) fn positional<'s>(&self, call: &'s Call) -> Result<Cow<'s, Call>, SqlError> {
        if call.names.is_empty() {
            return Ok(Cow::Borrowed(call));
        }
        for (n, name) in call.names.iter().enumerate() {
            if call.names[..n].iter().any(|other| other.text == name.text) {
                let text = format!("argument name \"{}\" used more than once", name.text);
                return Err(SqlError::syntax(text).at(name.at.start));
            }
        }
        let function = call.name.name.text.as_str();
        let forms = match call.name.schema_text().is_none_or(|schema| schema == "pg_catalog") {
            true => parameters(function),
            false => &[],
        };
        for form in forms {
            if let Some(args) = ordered(call, form)? {
                return Ok(Cow::Owned(Call { args, names: Vec::new(), ..call.clone() }));
            }
        }
        // Those of users are told apart by their names when the function is looked for.
        Ok(Cow::Borrowed(call))
    }
}

/// The arguments in the order of the parameters; none where they do not fit. Defaults stand for what is not given, but for
/// those at the end that the function does without.
fn ordered(call: &Call, form: &Parameters) -> Result<Option<Vec<Expr>>, SqlError> {
    let plain = call.args.len() - call.names.len();
    let mut args: Vec<Option<&Expr>> = vec![None; form.list.len()];
    for (n, arg) in call.args.iter().enumerate() {
        let at = match n.checked_sub(plain) {
            None => Some(n),
            Some(n) => form.list.iter().position(|(name, _)| *name == call.names[n].text),
        };
        let Some(place) = at.and_then(|at| args.get_mut(at)) else { return Ok(None) };
        if place.replace(arg).is_some() {
            return Ok(None);
        }
    }
    if args.iter().zip(&form.list).any(|(arg, (_, default))| arg.is_none() && default.is_none()) {
        return Ok(None);
    }
    let given = args.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let takes =
        |count: usize| candidates(&call.name.name.text).iter().any(|function| function.args.len() == count);
    let count = (given..form.list.len()).find(|count| takes(*count)).unwrap_or(form.list.len());
    let mut filled = Vec::with_capacity(count);
    for (arg, (_, default)) in args.into_iter().zip(&form.list).take(count) {
        filled.push(match (arg, default) {
            (Some(arg), _) => arg.clone(),
            (None, default) => {
                let mut value = parse_expression(default.unwrap_or("NULL"))?;
                value.at = call.name.at();
                value.point = value.at.start;
                value
            }
        });
    }
    Ok(Some(filled))
}
