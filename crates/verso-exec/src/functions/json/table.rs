//! The rows of JSON_TABLE: for each row the item that each of its paths has found, and which one of them it is.
//!
//! ```text
//! '$[*]'                       item, number │ item, number │ item, number
//!    ├─ nested '$.a[*]'        the outer    │ one of its a │ NULL          rows of the first nested path come first,
//!    └─ nested '$.b[*]'        the outer    │ NULL         │ one of its b  then those of the second
//! ```
//!
//! An item in which no nested path finds anything is a row by itself. The columns are computed over these rows.

use std::rc::Rc;
use std::sync::Arc;

use verso_types::json::path::JsonPath;
use verso_types::json::{Jsonb, Node};
use verso_types::{SqlType, TypeError, Value};

use super::json_function;
use super::path::path_of;
use super::path_eval::into_value;
use super::query::{Variables, is_about_data, with_items};
use super::types::{BOOL, JSONB, TEXTS};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::collected::{Rows, rows};
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// The document, whether what goes wrong in a path is an error, the paths, each behind its level, the names of variables,
/// and their values.
pub static JSON_TABLE: BuiltinFunction = BuiltinFunction {
    volatility: Volatility::Stable,
    ..json_function!("json_table" [JSONB, BOOL, TEXTS, TEXTS, ArgType::Any] => ResultType::Fixed(SqlType::Record),
        variadic true, strict false, Body::TypedSet(json_table))
};

/// A path, how far it is nested, and the paths nested in it right behind it.
struct Level {
    depth: usize,
    path: Rc<JsonPath>,
}

struct Walker<'a> {
    cx: &'a EvalContext<'a>,
    levels: Vec<Level>,
    variables: Variables,
    loud: bool,
}

impl Walker<'_> {
    /// The levels right below one.
    fn below(&self, level: usize) -> impl Iterator<Item = usize> {
        let depth = self.levels[level].depth;
        let within = move |n: &usize| self.levels[*n].depth > depth;
        (level + 1..self.levels.len()).take_while(within).filter(move |n| self.levels[*n].depth == depth + 1)
    }

    fn items(&self, level: usize, document: &Jsonb) -> Result<Vec<Value>> {
        let items =
            with_items(self.cx, document, &self.levels[level].path, &self.variables, false, |items| {
                items.into_iter().map(|item| into_value(item, self.cx)).collect()
            });
        match items {
            Err(error) if !self.loud && is_about_data(&error) => Ok(Vec::new()),
            items => items,
        }
    }

    /// The rows of one item of a level; the outer levels' values stand in `row`.
    fn item(
        &self,
        level: usize,
        number: usize,
        item: Value,
        row: &mut [Value],
        out: &mut Vec<Value>,
    ) -> Result<()> {
        verso_env::stack::check()?;
        let number = i32::try_from(number + 1).map_err(|_| TypeError::out_of_range("integer"))?;
        let document = match &item {
            Value::Jsonb(document) => document.clone(),
            _ => Node::Null.encode()?,
        };
        row[2 * level] = item;
        row[2 * level + 1] = Value::Int4(number);
        let before = out.len();
        for nested in self.below(level) {
            for (number, item) in self.items(nested, &document)?.into_iter().enumerate() {
                self.item(nested, number, item, row, out)?;
            }
            row[2 * nested] = Value::Null;
            row[2 * nested + 1] = Value::Null;
        }
        if out.len() == before {
            out.push(Value::Record(row.to_vec().into()));
        }
        Ok(())
    }
}

fn json_table(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType], _: &[SqlType]) -> Result<Rows> {
    let [document, Value::Bool(loud), Value::Array(paths), Value::Array(names), values @ ..] = args else {
        return Err(unexpected("JSON_TABLE", args));
    };
    let Value::Jsonb(document) = document else { return rows(cx, std::iter::empty()) };
    let mut levels = Vec::new();
    for pair in paths.chunks_exact(2) {
        let [Value::Text(depth), Value::Text(path)] = pair else {
            return Err(unexpected("JSON_TABLE", args));
        };
        levels.push(Level { depth: depth.len(), path: path_of(path)? });
    }
    let names: Vec<Arc<str>> =
        names.iter().map(|name| Arc::from(name.as_str().unwrap_or_default())).collect();
    let variables = Variables::of(cx, &names, values, types.get(4..).unwrap_or_default())?;
    let walker = Walker { cx, levels, variables, loud: *loud };
    let mut row = vec![Value::Null; 2 * walker.levels.len()];
    let items = walker.items(0, document)?;
    rows(
        cx,
        items.into_iter().enumerate().flat_map(|(number, item)| {
            let mut out = Vec::new();
            match walker.item(0, number, item, &mut row, &mut out) {
                Ok(()) => out.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            }
        }),
    )
}
