//! What a `CREATE` asks for, as the binder hands it over: names folded, types known, expressions as SQL text.

use std::sync::Arc;

use verso_types::SqlType;

use crate::definition::{FunctionArg, FunctionLanguage, FunctionReturn, Volatility};
use crate::sequence::SequenceBounds;

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// The schema; `None` is the first of the search path, `public`.
    pub schema: Option<Arc<str>>,
    /// The table's name.
    pub name: Arc<str>,
    /// Its columns in order.
    pub columns: Vec<NewColumn>,
}

/// A column of a [`NewTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: SqlType,
    /// NOT NULL?
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    pub default: Option<Arc<str>>,
    /// Make a sequence owned by the column, and its `nextval` the default (`serial`)?
    pub serial: bool,
}

impl NewColumn {
    /// A column that takes NULL and has no default.
    pub fn new(name: impl Into<Arc<str>>, ty: SqlType) -> NewColumn {
        NewColumn { name: name.into(), ty, not_null: false, default: None, serial: false }
    }
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSequence {
    /// The schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// The sequence's name.
    pub name: Arc<str>,
    /// Start, step, bounds.
    pub bounds: SequenceBounds,
    /// OWNED BY: table (in the same schema) and column.
    pub owned_by: Option<(Arc<str>, Arc<str>)>,
}

/// CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFunction {
    /// The schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// The function's name.
    pub name: Arc<str>,
    /// What it takes.
    pub args: Vec<FunctionArg>,
    /// What it gives.
    pub returns: FunctionReturn,
    /// What its body is written in.
    pub language: FunctionLanguage,
    /// The text between the quotes.
    pub body: Arc<str>,
    /// What the planner may assume.
    pub volatility: Volatility,
    /// `STRICT`?
    pub strict: bool,
}
