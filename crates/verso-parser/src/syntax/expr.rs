//! Expressions and queries.

use verso_types::SqlType;

use super::{Name, QualifiedName, Span};

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
    Call(Call),
    /// `ARRAY[…]`.
    Array(Vec<Expr>),
    /// `a[i]`.
    Subscript { array: Box<Expr>, index: Box<Expr> },
    /// `(query)` as a value.
    Subquery(Box<Query>),
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `a [NOT] IN (query)`, `(a, b) [NOT] IN (query)`, also spelled `= ANY` and `<> ALL`.
    InSubquery { args: Vec<Expr>, query: Box<Query>, negated: bool },
    /// `ARRAY(query)`.
    ArraySubquery(Box<Query>),
    /// `DEFAULT`, only as a value to store.
    Default,
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
    /// `FILTER (WHERE …)`.
    pub filter: Option<Box<Expr>>,
    /// Written as a keyword without parentheses, such as `CURRENT_TIMESTAMP`.
    pub keyword: bool,
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
    /// OFFSET.
    pub offset: Option<Expr>,
    /// FOR UPDATE and its relatives.
    pub locks: Vec<LockClause>,
    /// The query of a cursor: the places of its rows come out as further columns.
    pub places: bool,
    /// All of its text.
    pub at: Span,
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
}

/// One SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// DISTINCT.
    pub distinct: bool,
    /// The output.
    pub items: Vec<SelectItem>,
    /// FROM; items separated by commas are joins without a condition.
    pub from: Option<FromItem>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// HAVING.
    pub having: Option<Expr>,
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
    /// LATERAL: may use the columns of the items before it.
    pub lateral: bool,
}

/// Where the rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum FromSource {
    /// A table or system view.
    Table(QualifiedName),
    /// `f(…)`.
    Function(Call, Span),
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
    /// `USING (a, b)`.
    Using(Vec<Name>),
    /// `NATURAL`.
    Natural,
}

/// One sort key.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    /// What to sort by: a name, a position or an expression.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST; PostgreSQL's default where not given.
    pub nulls_first: bool,
}
