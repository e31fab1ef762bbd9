//! Arguments given by name, `f(a => x)`, and as a list, `f(VARIADIC ARRAY[x, y])`.
//!
//! The call is bound as if its arguments stood in the order of the function's parameters, defaults filled in.

use std::borrow::Cow;

use verso_exec::functions::candidates;

use super::Binder;
use crate::errors::SqlError;
use verso_parser::syntax::{Call, Expr, ExprKind, Literal};

/// A parameter and the number that it is if it is not given.
type Parameter<'p> = (&'p str, Option<&'static str>);

/// Built-in functions whose parameters have names, as PostgreSQL gives them.
static NAMED: &[(&str, &[Parameter<'static>])] = &[
    ("make_date", &[("year", None), ("month", None), ("day", None)]),
    ("make_time", &[("hour", None), ("min", None), ("sec", None)]),
    (
        "make_timestamp",
        &[("year", None), ("month", None), ("mday", None), ("hour", None), ("min", None), ("sec", None)],
    ),
    (
        "make_timestamptz",
        &[("year", None), ("month", None), ("mday", None), ("hour", None), ("min", None), ("sec", None)],
    ),
    (
        "make_timestamptz",
        &[
            ("year", None),
            ("month", None),
            ("mday", None),
            ("hour", None),
            ("min", None),
            ("sec", None),
            ("timezone", None),
        ],
    ),
    (
        "make_interval",
        &[
            ("years", Some("0")),
            ("months", Some("0")),
            ("weeks", Some("0")),
            ("days", Some("0")),
            ("hours", Some("0")),
            ("mins", Some("0")),
            ("secs", Some("0.0")),
        ],
    ),
];

impl Binder<'_> {
    /// The call with its arguments in order, one by one.
    pub(super) fn positional<'s>(&self, call: &'s Call) -> Result<Cow<'s, Call>, SqlError> {
        if let Some(ExprKind::Array(elements)) =
            call.args.last().filter(|_| call.variadic).map(|arg| &arg.kind)
            && candidates(&call.name.name.text).iter().any(|entry| entry.variadic)
        {
            // VARIADIC and a list written out: as if its elements stood there.
            let given = call.args[..call.args.len() - 1].iter().chain(elements).cloned().collect();
            return Ok(Cow::Owned(Call { args: given, variadic: false, ..call.clone() }));
        }
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
        let schema = call.name.schema_text();
        let built_in = NAMED
            .iter()
            .filter(|(name, _)| *name == function && schema.is_none_or(|schema| schema == "pg_catalog"));
        let built_in = built_in.map(|(_, parameters)| parameters.to_vec());
        let mut found = built_in.filter_map(|parameters: Vec<Parameter<'_>>| ordered(call, &parameters));
        // Those of users are told apart by their names when the function is looked for.
        Ok(match found.next() {
            Some(args) => Cow::Owned(Call { args, names: Vec::new(), ..call.clone() }),
            None => Cow::Borrowed(call),
        })
    }
}

/// The arguments in the order of the parameters; none where they do not fit.
fn ordered(call: &Call, parameters: &[Parameter<'_>]) -> Option<Vec<Expr>> {
    let plain = call.args.len() - call.names.len();
    let mut args: Vec<Option<Expr>> = vec![None; parameters.len()];
    for (n, arg) in call.args.iter().enumerate() {
        let at = match n.checked_sub(plain) {
            None => n,
            Some(n) => parameters.iter().position(|(name, _)| *name == call.names[n].text)?,
        };
        let place = args.get_mut(at)?;
        if place.replace(arg.clone()).is_some() {
            return None;
        }
    }
    let at = call.name.at();
    let filled = args.into_iter().zip(parameters).map(|(arg, (_, default))| {
        arg.or_else(|| {
            let kind = ExprKind::Literal(Literal::Number((*default)?.to_string()));
            Some(Expr { kind, at, point: at.start })
        })
    });
    filled.collect()
}
