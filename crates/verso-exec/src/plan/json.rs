//! Forms of SQL/JSON that apply a path to a document.

use std::sync::Arc;

use super::TypedExpr;

/// What is asked of the items that a path finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonPathTest {
    /// JSON_EXISTS: is there one?
    Exists,
    /// JSON_VALUE: the one scalar.
    Value,
    /// JSON_QUERY: the items as JSON.
    Query,
}

impl JsonPathTest {
    /// The form's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            JsonPathTest::Exists => "JSON_EXISTS",
            JsonPathTest::Value => "JSON_VALUE",
            JsonPathTest::Query => "JSON_QUERY",
        }
    }
}

/// When JSON_QUERY puts what it finds into an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonWrapping {
    /// Never.
    Never,
    /// Unless there is exactly one item.
    Conditional,
    /// Always.
    Always,
}

/// `JSON_VALUE(document, path PASSING … RETURNING … ON EMPTY … ON ERROR)` and its relatives.
#[derive(Clone, Debug)]
pub struct JsonPathCall {
    /// What is asked.
    pub test: JsonPathTest,
    /// The document, a `jsonb`.
    pub document: TypedExpr,
    /// The path, a `jsonpath`.
    pub path: TypedExpr,
    /// The values of variables; a path knows the types that JSON has and dates and times.
    pub passing: Vec<(Arc<str>, TypedExpr)>,
    /// WRAPPER.
    pub wrapping: JsonWrapping,
    /// OMIT QUOTES.
    pub omit_quotes: bool,
    /// The column of JSON_TABLE that it computes: errors name it.
    pub column: Option<Arc<str>>,
    /// What a domain makes of the value, which is `Parameter(0)`.
    pub domain: Option<TypedExpr>,
    /// ON EMPTY; without it an error.
    pub on_empty: Option<TypedExpr>,
    /// ON ERROR; without it the error itself.
    pub on_error: Option<TypedExpr>,
    /// How errors name what stands before ON EMPTY and ON ERROR, where it is made a value of the type without an error of its own.
    pub named: [Option<&'static str>; 2],
}

impl JsonPathCall {
    /// The expressions of the surrounding row.
    pub fn parts(&self) -> impl Iterator<Item = &TypedExpr> {
        let passing = self.passing.iter().map(|(_, value)| value);
        [&self.document, &self.path].into_iter().chain(passing).chain(&self.on_empty).chain(&self.on_error)
    }

    /// The same, to change them.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut TypedExpr> {
        let passing = self.passing.iter_mut().map(|(_, value)| value);
        [&mut self.document, &mut self.path]
            .into_iter()
            .chain(passing)
            .chain(&mut self.on_empty)
            .chain(&mut self.on_error)
    }
}
