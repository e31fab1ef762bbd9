//! SQL/JSON: queries by a path, constructors, aggregates, JSON_TABLE.

use verso_types::SqlType;

use super::{Expr, Name, OrderItem, Over, Query, Span};

/// `FORMAT JSON [ENCODING e]`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonFormat {
    /// ENCODING.
    pub encoding: Option<Name>,
    /// Its first word.
    pub at: u32,
}

/// `a [FORMAT JSON]`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonInput {
    /// The value.
    pub value: Expr,
    /// FORMAT.
    pub format: Option<JsonFormat>,
}

/// `RETURNING t [FORMAT JSON]`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonOutput {
    /// The type.
    pub ty: SqlType,
    /// Where it stands.
    pub at: u32,
    /// SETOF, which is refused.
    pub set: bool,
    /// FORMAT.
    pub format: Option<JsonFormat>,
}

/// What a form of SQL/JSON yields where there is nothing, or where something goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonFallback {
    /// ERROR.
    Error,
    /// NULL.
    Null,
    /// TRUE, FALSE; none is UNKNOWN.
    Truth(Option<bool>),
    /// EMPTY, EMPTY ARRAY.
    EmptyArray,
    /// EMPTY OBJECT.
    EmptyObject,
    /// DEFAULT.
    Default(Expr),
}

/// WRAPPER of JSON_QUERY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonWrapper {
    /// Not given.
    Unspecified,
    /// WITHOUT WRAPPER.
    Without,
    /// WITH CONDITIONAL WRAPPER.
    Conditional,
    /// WITH WRAPPER.
    Always,
}

/// Which of the forms that apply a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonQueryKind {
    /// JSON_EXISTS.
    Exists,
    /// JSON_VALUE.
    Value,
    /// JSON_QUERY.
    Query,
}

impl JsonQueryKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            JsonQueryKind::Exists => "JSON_EXISTS",
            JsonQueryKind::Value => "JSON_VALUE",
            JsonQueryKind::Query => "JSON_QUERY",
        }
    }
}

/// What says how the results of a path become a value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonResult {
    /// WRAPPER.
    pub wrapper: JsonWrapper,
    /// KEEP QUOTES (true), OMIT QUOTES (false).
    pub quotes: Option<bool>,
    /// ON EMPTY, with its place.
    pub on_empty: Option<(JsonFallback, u32)>,
    /// ON ERROR, with its place.
    pub on_error: Option<(JsonFallback, u32)>,
}

/// PASSING.
pub type JsonPassing = Vec<(JsonInput, Name)>;

/// `JSON_VALUE(document, path PASSING … RETURNING … …)` and its relatives.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPathQuery {
    /// Which.
    pub kind: JsonQueryKind,
    /// What the path is applied to.
    pub document: JsonInput,
    /// The path.
    pub path: Expr,
    /// PASSING.
    pub passing: JsonPassing,
    /// RETURNING.
    pub returning: Option<JsonOutput>,
    /// WRAPPER, QUOTES, ON EMPTY, ON ERROR.
    pub result: JsonResult,
}

/// `JSON_ARRAYAGG(…)`, `JSON_OBJECTAGG(…)` with what stands behind.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonAggregate {
    /// The key of JSON_OBJECTAGG.
    pub key: Option<Expr>,
    /// The value.
    pub value: JsonInput,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ABSENT ON NULL.
    pub absent: bool,
    /// WITH UNIQUE KEYS.
    pub unique: bool,
    /// RETURNING.
    pub returning: Option<JsonOutput>,
    /// FILTER.
    pub filter: Option<Expr>,
    /// OVER.
    pub over: Option<Over>,
}

/// A form of SQL/JSON.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the parts of the form that the variant's comment spells out")]
pub enum JsonForm {
    /// JSON_EXISTS, JSON_VALUE, JSON_QUERY.
    PathQuery(JsonPathQuery),
    /// `JSON(a [WITH UNIQUE KEYS])`.
    Parse { input: JsonInput, unique: bool },
    /// `JSON_SCALAR(a)`.
    Scalar(Expr),
    /// `JSON_SERIALIZE(a RETURNING t)`.
    Serialize { input: JsonInput, returning: Option<JsonOutput> },
    /// `JSON_OBJECT(k: v, …)`.
    Object { pairs: Vec<(Expr, JsonInput)>, absent: bool, unique: bool, returning: Option<JsonOutput> },
    /// `JSON_ARRAY(a, …)`.
    Array { values: Vec<JsonInput>, absent: bool, returning: Option<JsonOutput> },
    /// `JSON_ARRAY(query)`.
    ArrayQuery { query: Box<Query>, format: Option<JsonFormat>, returning: Option<JsonOutput> },
    /// JSON_ARRAYAGG, JSON_OBJECTAGG.
    Aggregate(JsonAggregate),
}

impl JsonForm {
    /// Its name as a function's, which a column takes.
    pub fn name(&self) -> &'static str {
        match self {
            JsonForm::PathQuery(query) => match query.kind {
                JsonQueryKind::Exists => "json_exists",
                JsonQueryKind::Value => "json_value",
                JsonQueryKind::Query => "json_query",
            },
            JsonForm::Parse { .. } => "json",
            JsonForm::Scalar(_) => "json_scalar",
            JsonForm::Serialize { .. } => "json_serialize",
            JsonForm::Object { .. } => "json_object",
            JsonForm::Array { .. } | JsonForm::ArrayQuery { .. } => "json_array",
            JsonForm::Aggregate(aggregate) if aggregate.key.is_some() => "json_objectagg",
            JsonForm::Aggregate(_) => "json_arrayagg",
        }
    }

    /// Calls `visit` on the expressions right below it, queries left out.
    pub fn for_each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            JsonForm::PathQuery(query) => {
                visit(&query.document.value);
                visit(&query.path);
                query.passing.iter().for_each(|(input, _)| visit(&input.value));
                for (fallback, _) in query.result.on_empty.iter().chain(&query.result.on_error) {
                    if let JsonFallback::Default(expr) = fallback {
                        visit(expr);
                    }
                }
            }
            JsonForm::Parse { input, .. } | JsonForm::Serialize { input, .. } => visit(&input.value),
            JsonForm::Scalar(expr) => visit(expr),
            JsonForm::Object { pairs, .. } => {
                for (key, input) in pairs {
                    visit(key);
                    visit(&input.value);
                }
            }
            JsonForm::Array { values, .. } => values.iter().for_each(|input| visit(&input.value)),
            JsonForm::ArrayQuery { .. } => {}
            JsonForm::Aggregate(aggregate) => {
                aggregate.key.iter().for_each(&mut *visit);
                visit(&aggregate.value.value);
                aggregate.order_by.iter().for_each(|item| visit(&item.expr));
                aggregate.filter.iter().for_each(&mut *visit);
            }
        }
    }
}

/// `JSON_TABLE(…)` in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// What the path is applied to.
    pub document: JsonInput,
    /// PASSING.
    pub passing: JsonPassing,
    /// The path of the rows, and the columns.
    pub rows: JsonRows,
    /// ON ERROR, with its place.
    pub on_error: Option<(JsonFallback, u32)>,
}

/// A path whose items are rows, and the columns made of each.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRows {
    /// The path.
    pub path: Expr,
    /// `AS name`.
    pub name: Option<Name>,
    /// COLUMNS.
    pub columns: Vec<JsonColumn>,
    /// All of its text.
    pub at: Span,
}

/// One of COLUMNS.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumn {
    /// `a FOR ORDINALITY`.
    Ordinality(Name),
    /// `a t [FORMAT JSON] [PATH 'p'] …`, `a t EXISTS [PATH 'p'] …`.
    Regular {
        /// Its name.
        name: Name,
        /// Its type.
        ty: JsonOutput,
        /// EXISTS.
        exists: bool,
        /// PATH.
        path: Option<Expr>,
        /// WRAPPER, QUOTES, ON EMPTY, ON ERROR.
        result: Box<JsonResult>,
    },
    /// `NESTED [PATH] 'p' [AS name] COLUMNS (…)`.
    Nested(JsonRows),
}
