//! Expressions and queries.

use verso_types::SqlType;

use super::{JsonForm, JsonTable, Name, Over, QualifiedName, Span, Statement, WindowSpec};

/// An expression and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// All of its text.
    pub at: Span,
    /// What an error points at: the operator of `a + b`, the name of `f(x)`, else the start.
    pub point: u32,
}

impl Expr {
    /// Whether it stands for several: `t.*`, `(row).*`.
    #[must_use]
    pub fn is_starred(&self) -> bool {
        match &self.kind {
            ExprKind::Column(parts) => parts.last().is_some_and(|part| part.text == "*"),
            ExprKind::Field { name, .. } => name.text == "*",
            _ => false,
        }
    }
}

/// The kinds of expression.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the parts of the form that the variant's comment spells out")]
pub enum ExprKind {
    /// `a`, `t.a`, `s.t.a`.
    Column(Vec<Name>),
    /// A constant.
    Literal(Literal),
    /// `$1`, numbered from 1.
    Parameter(u32),
    /// `- a` and the like.
    Unary { op: String, arg: Box<Expr> },
    /// `a + b` and the like.
    Binary { op: String, left: Box<Expr>, right: Box<Expr> },
    /// `a AND b AND …`.
    And(Vec<Expr>),
    /// `a OR b OR …`.
    Or(Vec<Expr>),
    /// `NOT a`.
    Not(Box<Expr>),
    /// `a IS [NOT] NULL`.
    IsNull { arg: Box<Expr>, negated: bool },
    /// `a IS [NOT] TRUE | FALSE | UNKNOWN` (`None` is UNKNOWN).
    IsTruth { arg: Box<Expr>, truth: Option<bool>, negated: bool },
    /// `a IS [NOT] DISTINCT FROM b`.
    IsDistinct { left: Box<Expr>, right: Box<Expr>, negated: bool },
    /// `a [NOT] IN (…)`.
    InList { arg: Box<Expr>, list: Vec<Expr>, negated: bool },
    /// `a [NOT] BETWEEN low AND high`.
    Between { arg: Box<Expr>, low: Box<Expr>, high: Box<Expr>, negated: bool },
    /// `a [NOT] LIKE | ILIKE pattern [ESCAPE e]`.
    Like {
        arg: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
        case_insensitive: bool,
    },
    /// `CASE [operand] WHEN … END`.
    Case { operand: Option<Box<Expr>>, branches: Vec<(Expr, Expr)>, otherwise: Option<Box<Expr>> },
    /// `CAST(a AS t)`, `a::t`, `t 'literal'`.
    Cast { arg: Box<Expr>, ty: SqlType, at_type: u32 },
    /// A function or aggregate call.
    Call(Box<Call>),
    /// `ARRAY[…]`.
    Array(Vec<Expr>),
    /// `a[i]`.
    Subscript { array: Box<Expr>, index: Box<Expr> },
    /// `a[lower:upper]`.
    Slice { array: Box<Expr>, lower: Option<Box<Expr>>, upper: Option<Box<Expr>> },
    /// `(r).f`.
    Field { arg: Box<Expr>, name: Name },
    /// `ROW(a, b)`, `(a, b)`.
    Row(Vec<Expr>),
    /// `(query)` as a value.
    Subquery(Box<Query>),
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `a [NOT] IN (query)`, `(a, b) [NOT] IN (query)`, also spelled `= ANY` and `<> ALL`.
    InSubquery { args: Vec<Expr>, query: Box<Query>, negated: bool },
    /// `ARRAY(query)`.
    ArraySubquery(Box<Query>),
    /// `a op ANY | ALL (query)`, `(a, b) op ANY | ALL (query)`, but `= ANY` and `<> ALL`.
    QuantifiedSubquery { args: Vec<Expr>, op: String, all: bool, query: Box<Query> },
    /// `a [NOT] SIMILAR TO pattern [ESCAPE e]`.
    SimilarTo { arg: Box<Expr>, pattern: Box<Expr>, escape: Option<Box<Expr>>, negated: bool },
    /// `a COLLATE c`.
    Collate { arg: Box<Expr>, collation: QualifiedName },
    /// `a IS [NOT] JSON [VALUE | OBJECT | ARRAY | SCALAR] [WITH UNIQUE KEYS]`.
    IsJson { arg: Box<Expr>, kind: JsonKind, unique_keys: bool, negated: bool },
    /// A form of SQL/JSON: `JSON_VALUE(…)`, `JSON_OBJECT(…)`.
    Json(Box<JsonForm>),
    /// `DEFAULT`, only as a value to store.
    Default,
}

/// What leads from a value into it, where it is assigned to.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `[i]`.
    Index(Expr),
    /// `[lower:upper]`.
    Slice(Option<Expr>, Option<Expr>),
    /// `.field`.
    Field(Name),
}

/// What IS JSON asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// Any.
    Value,
    /// OBJECT.
    Object,
    /// ARRAY.
    Array,
    /// SCALAR.
    Scalar,
}

/// A call as written; keyword forms (`EXTRACT(… FROM …)`) arrive as calls of the function behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function's name.
    pub name: QualifiedName,
    /// The arguments.
    pub args: Vec<Expr>,
    /// `f(*)`.
    pub star: bool,
    /// `f(DISTINCT …)`.
    pub distinct: bool,
    /// Names of the last arguments: `f(1, b => 2)` has one.
    pub names: Vec<Name>,
    /// `f(…, VARIADIC a)`.
    pub variadic: bool,
    /// `f(… ORDER BY …)`.
    pub order_by: Vec<OrderItem>,
    /// `WITHIN GROUP (ORDER BY …)`.
    pub within_group: Vec<OrderItem>,
    /// `FILTER (WHERE …)`.
    pub filter: Option<Box<Expr>>,
    /// `OVER …`.
    pub over: Option<Over>,
    /// Written as a keyword without parentheses, such as `CURRENT_TIMESTAMP`.
    pub keyword: bool,
    /// What FROM takes for a call though it is none: `CAST(a AS b)`, `JSON_VALUE(…)`. It is the only argument; the name is what its
    /// column is called.
    pub form: bool,
}

impl Call {
    /// A call with nothing but arguments.
    pub fn plain(name: QualifiedName, args: Vec<Expr>) -> Call {
        Call {
            name,
            args,
            star: false,
            distinct: false,
            names: Vec::new(),
            variadic: false,
            order_by: Vec::new(),
            within_group: Vec::new(),
            filter: None,
            over: None,
            keyword: false,
            form: false,
        }
    }
}

/// A constant as written; its type is the binder's business.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `TRUE`, `FALSE`.
    Bool(bool),
    /// Digits, perhaps with point and exponent.
    Number(String),
    /// A quoted string, unescaped.
    String(String),
    /// A bit string: `b` or `x`, and the digits.
    Bits(String),
}

/// One SELECT or VALUES with what stands around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// WITH.
    pub with: Vec<Cte>,
    /// SELECT or VALUES.
    pub body: QueryBody,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT or FETCH; `None` is all.
    pub limit: Option<Expr>,
    /// FETCH … WITH TIES: rows equal to the last one come, too.
    pub with_ties: bool,
    /// OFFSET.
    pub offset: Option<Expr>,
    /// FOR UPDATE and its relatives.
    pub locks: Vec<LockClause>,
    /// The query of a cursor: the places of its rows come out as further columns.
    pub places: bool,
    /// All of its text.
    pub at: Span,
}

impl Query {
    /// Whether its WITH changes rows.
    #[must_use]
    pub fn changes_rows(&self) -> bool {
        self.with.iter().any(|query| matches!(query.query.body, QueryBody::Change(_)))
    }

    /// A query with nothing around it.
    pub fn of(body: QueryBody, at: Span) -> Query {
        Query {
            with: Vec::new(),
            body,
            order_by: Vec::new(),
            limit: None,
            with_ties: false,
            offset: None,
            locks: Vec::new(),
            places: false,
            at,
        }
    }

    /// Whether there is nothing around its middle: no WITH, ORDER BY, LIMIT, OFFSET, locks.
    pub fn is_bare(&self) -> bool {
        self.with.is_empty()
            && self.order_by.is_empty()
            && self.limit.is_none()
            && self.offset.is_none()
            && self.locks.is_empty()
    }
}

/// One query of WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: Name,
    /// `name (a, b)`.
    pub columns: Vec<Name>,
    /// What it reads.
    pub query: Query,
    /// `AS MATERIALIZED`, `AS NOT MATERIALIZED`.
    pub materialized: Option<bool>,
    /// Stands in WITH RECURSIVE.
    pub recursive: bool,
    /// SEARCH.
    pub search: Option<Search>,
    /// CYCLE.
    pub cycle: Option<Cycle>,
}

/// `SEARCH DEPTH | BREADTH FIRST BY a, b SET c`.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// DEPTH, not BREADTH.
    pub depth: bool,
    /// BY.
    pub by: Vec<Name>,
    /// SET.
    pub set: Name,
    /// Its first word.
    pub at: u32,
}

/// `CYCLE a, b SET c [TO x DEFAULT y] USING d`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// The columns that are the same when it has come round.
    pub columns: Vec<Name>,
    /// SET.
    pub set: Name,
    /// TO and DEFAULT: true and false where they are not given.
    pub values: Option<Box<(Expr, Expr)>>,
    /// USING.
    pub using: Name,
    /// Its first word.
    pub at: u32,
}

/// How rows of two queries are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// UNION.
    Union,
    /// INTERSECT.
    Intersect,
    /// EXCEPT.
    Except,
}

impl SetOperator {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except => "EXCEPT",
        }
    }
}

/// `FOR UPDATE [OF t, …] [NOWAIT | SKIP LOCKED]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LockClause {
    /// How strongly.
    pub strength: LockStrength,
    /// Rows of which tables; empty means all.
    pub of: Vec<Name>,
    /// What to do about rows that others have locked.
    pub wait: LockWait,
    /// Where it starts.
    pub at: u32,
}

/// How strongly rows are locked, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockStrength {
    /// FOR KEY SHARE.
    KeyShare,
    /// FOR SHARE.
    Share,
    /// FOR NO KEY UPDATE.
    NoKeyUpdate,
    /// FOR UPDATE.
    Update,
}

impl LockStrength {
    /// As in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

/// What to do about rows that others have locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    Block,
    /// NOWAIT: fail.
    NoWait,
    /// SKIP LOCKED: leave them out.
    SkipLocked,
}

/// The middle of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// `SELECT …`.
    Select(Box<Select>),
    /// `VALUES (…), (…)`.
    Values(Vec<Vec<Expr>>),
    /// `(query)`, with clauses of its own inside.
    Nested(Box<Query>),
    /// `query UNION query` and the like.
    Set {
        /// Which.
        operator: SetOperator,
        /// ALL.
        all: bool,
        /// The first query, without clauses behind it.
        left: Box<Query>,
        /// The second.
        right: Box<Query>,
    },
    /// INSERT, UPDATE, DELETE or MERGE in WITH: the rows of RETURNING.
    Change(Box<Statement>),
}

/// One SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// DISTINCT.
    pub distinct: bool,
    /// DISTINCT ON (…); then `distinct` is false.
    pub distinct_on: Vec<Expr>,
    /// The output.
    pub items: Vec<SelectItem>,
    /// FROM; items separated by commas are joins without a condition.
    pub from: Option<FromItem>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<GroupItem>,
    /// GROUP BY DISTINCT: grouping sets that are the same count once.
    pub group_distinct: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<(Name, WindowSpec)>,
    /// Hints in comments behind SELECT.
    pub hints: Vec<Hint>,
}

impl Select {
    /// `SELECT items [FROM from]`, and nothing else.
    #[must_use]
    pub fn of(items: Vec<SelectItem>, from: Option<FromItem>) -> Select {
        Select {
            distinct: false,
            distinct_on: Vec::new(),
            items,
            from,
            filter: None,
            group_by: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
            hints: Vec::new(),
        }
    }
}

/// `/*+ … */` or `{+ … }` behind the first word of a statement or query.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// What stands between the plus and the end.
    pub text: String,
    /// All of the comment.
    pub at: Span,
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// An expression, the name or the number of an output column.
    Expr(Expr),
    /// `()`; `(a, b)` within GROUPING SETS.
    Set(Vec<Expr>, Span),
    /// `ROLLUP (a, (b, c))`: each list of expressions comes or goes as a whole.
    Rollup(Vec<Vec<Expr>>, Span),
    /// `CUBE (a, (b, c))`.
    Cube(Vec<Vec<Expr>>, Span),
    /// `GROUPING SETS (…)`.
    Sets(Vec<GroupItem>, Span),
}

/// An output column or several.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectItem {
    /// An expression, perhaps named.
    Expr {
        /// The expression.
        expr: Expr,
        /// `AS name`.
        alias: Option<Name>,
    },
    /// `*` or `t.*`.
    Wildcard {
        /// The table.
        table: Option<QualifiedName>,
        /// Its place.
        at: Span,
    },
    /// `(r).*`.
    Fields {
        /// The composite value.
        expr: Expr,
        /// Its place.
        at: Span,
    },
}

/// What a SELECT reads.
#[derive(Clone, Debug, PartialEq)]
pub struct FromItem {
    /// Table or function.
    pub source: FromSource,
    /// `AS t`.
    pub alias: Option<Name>,
    /// `AS t(a, b)`.
    pub columns: Vec<Name>,
    /// `AS t(a int, b text)`: names and types of a function's columns; then `columns` is empty.
    pub definitions: Vec<(Name, SqlType)>,
    /// LATERAL: may use the columns of the items before it.
    pub lateral: bool,
    /// WITH ORDINALITY: a function's rows are numbered.
    pub ordinality: bool,
    /// TABLESAMPLE.
    pub sample: Option<Box<Sample>>,
    /// `AS OF`: a table as it was.
    pub past: Option<Box<Past>>,
}

/// `AS OF {TIMESTAMP time | SNAPSHOT number}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// The moment, or the number of the state.
    pub moment: Expr,
    /// As it is written.
    pub text: String,
    /// It is a number.
    pub numbered: bool,
    /// Its first word.
    pub at: u32,
}

impl FromItem {
    /// A source with nothing behind it.
    pub fn of(source: FromSource) -> FromItem {
        FromItem {
            source,
            alias: None,
            columns: Vec::new(),
            definitions: Vec::new(),
            lateral: false,
            ordinality: false,
            sample: None,
            past: None,
        }
    }
}

/// `TABLESAMPLE method (arguments) [REPEATABLE (seed)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// BERNOULLI, SYSTEM.
    pub method: QualifiedName,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// REPEATABLE.
    pub seed: Option<Expr>,
    /// Its first word.
    pub at: u32,
}

/// Where the rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum FromSource {
    /// A table or system view.
    Table(QualifiedName),
    /// `f(…)`.
    Function(Call, Span),
    /// `ROWS FROM (f(…), g(…) AS (a int), …)`: functions with their column definitions.
    Rows(Vec<(Call, Vec<(Name, SqlType)>)>, Span),
    /// `JSON_TABLE (…)`.
    JsonTable(Box<JsonTable>),
    /// `(query)`.
    Query(Box<Query>, Span),
    /// `a JOIN b …`.
    Join(Box<Join>),
}

/// Two FROM items.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// The first.
    pub left: FromItem,
    /// The second.
    pub right: FromItem,
    /// Which rows come out.
    pub kind: JoinKind,
    /// Which rows belong together.
    pub condition: JoinCondition,
}

/// What becomes of rows without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `[INNER] JOIN`, `CROSS JOIN`, a comma.
    Inner,
    /// `LEFT JOIN`.
    Left,
    /// `RIGHT JOIN`.
    Right,
    /// `FULL JOIN`.
    Full,
}

/// Which rows belong together.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// All.
    None,
    /// `ON a`.
    On(Expr),
    /// `USING (a, b) [AS t]`.
    Using(Vec<Name>, Option<Name>),
    /// `NATURAL`.
    Natural,
}

/// One sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// What to sort by: a name, a position or an expression.
    pub expr: Expr,
    /// The operator of USING.
    pub using: Option<Name>,
    /// DESC, or USING an operator that is greater-than.
    pub descending: bool,
    /// NULLS FIRST; PostgreSQL's default where not given.
    pub nulls_first: bool,
}
