//! What an expression or query means, as PostgreSQL's parse analysis leaves it: with casts, without sugar.

use std::sync::Arc;

use verso_parser::syntax::{FrameExclude, FrameMode, JoinKind, OrderItem, SetOperator};
use verso_types::SqlType;

use crate::bind::trace::Source;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A column.
    Var { source: Source, name: Arc<str> },
    /// With its type: the row of an item of FROM in a list that would take `t.*` apart, a query behind ANY that yields an array.
    Whole { row: Box<Node>, ty: SqlType },
    /// A constant; `None` is NULL. `Unknown` is the type of a literal that nothing has given one yet.
    Const { text: Option<String>, ty: SqlType },
    /// `$1`, or the argument of a function with that number.
    Param(u32),
    /// An operator before or between its operands.
    Op { op: String, args: Vec<Node> },
    /// AND, OR, NOT.
    Bool(Connective, Vec<Node>),
    /// A function by its name, as it is to be shown.
    Func { name: String, args: Vec<Node>, names: Vec<String>, variadic: bool },
    /// A function with words between its arguments.
    Sql(SqlForm, Vec<Node>),
    /// An aggregate or window function.
    Aggregate(Box<Aggregate>),
    /// A cast; one that nobody wrote is shown only where it matters. `function`: is it computed by a function?
    Cast { arg: Box<Node>, ty: SqlType, implicit: bool, function: bool },
    /// CASE.
    Case { operand: Option<Box<Node>>, branches: Vec<(Node, Node)>, otherwise: Box<Node> },
    /// `COALESCE(…)` and the like.
    Form(&'static str, Vec<Node>),
    /// `ARRAY[…]`, with its type where it is empty.
    Array(Vec<Node>, Option<SqlType>),
    /// IS NULL.
    IsNull { arg: Box<Node>, negated: bool },
    /// IS TRUE and the like.
    IsTruth { arg: Box<Node>, test: &'static str },
    /// `IS JSON` and the words behind.
    IsJson { arg: Box<Node>, words: &'static str },
    /// IS DISTINCT FROM.
    Distinct(Box<Node>, Box<Node>),
    /// `a op ANY (b)`.
    Each { op: String, all: bool, left: Box<Node>, right: Box<Node> },
    /// Two rows compared as a whole.
    Rows { op: String, left: Vec<Node>, right: Vec<Node> },
    /// A query.
    Sublink(Box<Sublink>),
    /// `a[i]`, `a[i:j]`.
    Subscript { array: Box<Node>, steps: Vec<Subscript> },
    /// `(r).f`.
    Field { arg: Box<Node>, name: String },
    /// COLLATE.
    Collate { arg: Box<Node>, name: String },
    /// A word, such as CURRENT_DATE.
    Word(String),
    /// A form of SQL/JSON as it was written, but for the expressions in it.
    Written(Written),
}

/// A text in which some expressions are what they are today: what stands before each, and the expression; then the rest.
pub(super) type Written = Vec<(String, Option<Node>)>;

/// What puts conditions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connective {
    And,
    Or,
    Not,
}

/// Functions that the standard gives a syntax of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SqlForm {
    Extract,
    Position,
    Overlay,
    Substring,
    Trim(&'static str),
    Normalize,
    IsNormalized,
    Overlaps,
    AtTimeZone,
}

/// `[lower:]upper`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Subscript {
    pub(super) slice: bool,
    pub(super) lower: Option<Node>,
    pub(super) upper: Option<Node>,
}

/// An aggregate or window function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aggregate {
    pub(super) name: String,
    pub(super) star: bool,
    pub(super) distinct: bool,
    pub(super) args: Vec<Node>,
    pub(super) order_by: Vec<Sort>,
    pub(super) within: Vec<Sort>,
    /// Words behind all that, in the parentheses.
    pub(super) behind: String,
    pub(super) filter: Option<Node>,
    pub(super) over: Option<Over>,
}

/// OVER.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Over {
    Name(String),
    Spec(Box<Window>),
}

/// A window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) base: Option<String>,
    pub(super) partition_by: Vec<Node>,
    pub(super) order_by: Vec<Sort>,
    pub(super) frame: Option<Frame>,
}

/// Its frame, where one is given; without an end, it ends at the current row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) mode: FrameMode,
    pub(super) start: Bound,
    pub(super) end: Option<Bound>,
    pub(super) exclude: FrameExclude,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    Fixed(&'static str),
    Distance(Node, &'static str),
}

/// A query in an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sublink {
    pub(super) kind: SublinkKind,
    /// What is compared with its rows.
    pub(super) left: Vec<Node>,
    pub(super) query: Query,
}

/// What is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SublinkKind {
    Scalar,
    Array,
    Exists,
    In,
    Any(String),
    All(String),
}

/// ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sort {
    pub(super) key: SortKey,
    /// The operator of USING, where no other word says the order.
    pub(super) using: Option<String>,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl Sort {
    pub(super) fn of(key: SortKey, item: &OrderItem) -> Sort {
        let using = item.using.as_ref().filter(|op| !matches!(op.text.as_str(), "<" | ">"));
        Sort {
            key,
            using: using.map(|op| op.text.clone()),
            descending: item.descending,
            nulls_first: item.nulls_first,
        }
    }
}

/// What rows are sorted or grouped by.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortKey {
    pub(super) node: Node,
    /// The column of the output that it is.
    pub(super) target: Option<usize>,
}

/// A query.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Query {
    pub(super) with: Vec<Cte>,
    pub(super) recursive: bool,
    pub(super) body: Body,
    pub(super) order_by: Vec<Sort>,
    pub(super) limit: Option<Node>,
    pub(super) ties: bool,
    pub(super) offset: Option<Node>,
    pub(super) locks: Vec<Lock>,
}

/// FOR UPDATE and the like, of items that begin at these places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lock {
    pub(super) words: &'static str,
    pub(super) of: Vec<u32>,
    pub(super) wait: &'static str,
}

/// Its middle.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Select(Box<Select>),
    /// Rows, and where their query begins.
    Values(Vec<Vec<Node>>, u32),
    Set(Box<Side>, SetOperator, bool, Box<Side>),
    /// A change in WITH.
    Change(Box<Statement>),
}

impl Default for Body {
    fn default() -> Body {
        Body::Values(Vec::new(), 0)
    }
}

/// A column of the VALUES that begin at a place, counted from 0.
pub(super) fn value_column(place: u32, number: usize) -> Node {
    let name = format!("column{}", number + 1).into();
    Node::Var { source: Source::Column(place, number), name }
}

/// A side of UNION.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Side {
    Leaf(Box<Query>),
    Set(Box<Side>, SetOperator, bool, Box<Side>),
}

/// A query of WITH.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cte {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) materialized: Option<bool>,
    pub(super) query: Query,
    /// SEARCH and CYCLE, as text.
    pub(super) behind: String,
}

/// SELECT.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Select {
    pub(super) distinct: bool,
    pub(super) distinct_on: Vec<SortKey>,
    pub(super) targets: Vec<Target>,
    pub(super) from: Vec<Item>,
    pub(super) filter: Option<Node>,
    pub(super) group_by: Vec<Group>,
    pub(super) group_distinct: bool,
    pub(super) having: Option<Node>,
    pub(super) windows: Vec<(String, Window)>,
}

/// A column of the output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) node: Node,
    pub(super) name: String,
    /// The type of the row of an item, which is shown behind it: `t.*` alone would be all of its columns, and `t` a column of that
    /// name as soon as there is one.
    pub(super) row: Option<SqlType>,
}

impl Target {
    /// What is no row of an item.
    pub(super) fn plain(node: Node, name: String) -> Target {
        Target { node, name, row: None }
    }
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Group {
    Key(SortKey),
    Set(Vec<SortKey>),
    Rollup(Vec<Vec<SortKey>>),
    Cube(Vec<Vec<SortKey>>),
    Sets(Vec<Group>),
}

/// A statement of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
}

/// WITH before a change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct With {
    pub(super) ctes: Vec<Cte>,
    pub(super) recursive: bool,
}

/// RETURNING; without columns there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Returning {
    /// What it calls OLD and NEW, where it says so.
    pub(super) called: [Option<String>; 2],
    pub(super) targets: Vec<Target>,
}

impl Statement {
    /// The columns that it yields.
    pub(super) fn targets(&self) -> &[Target] {
        match self {
            Statement::Query(_) => &[],
            Statement::Insert(insert) => &insert.returning.targets,
            Statement::Update(update) => &update.returning.targets,
            Statement::Delete(delete) => &delete.returning.targets,
            Statement::Merge(merge) => &merge.returning.targets,
        }
    }
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Insert {
    pub(super) with: With,
    pub(super) target: Item,
    pub(super) columns: Vec<String>,
    /// Into each of them, for the first ones.
    pub(super) steps: Vec<Vec<Step>>,
    pub(super) overriding: Option<bool>,
    pub(super) source: Given,
    pub(super) conflict: Option<Conflict>,
    pub(super) returning: Returning,
}

/// What an INSERT adds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Defaults,
    Rows(Vec<Vec<Node>>),
    Query(Box<Query>),
}

/// ON CONFLICT; without DO UPDATE, DO NOTHING.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conflict {
    pub(super) constraint: Option<String>,
    pub(super) columns: Vec<String>,
    pub(super) predicate: Option<Node>,
    pub(super) update: Option<(Vec<Set>, Option<Node>)>,
}

/// A step into a column of which a part gets a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Field(String),
    Subscript(Subscript),
}

/// An item of SET; `row`: a query for several columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set {
    pub(super) columns: Vec<String>,
    /// Into the only column.
    pub(super) steps: Vec<Step>,
    pub(super) node: Node,
    pub(super) row: bool,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Update {
    pub(super) with: With,
    pub(super) target: Item,
    pub(super) sets: Vec<Set>,
    pub(super) from: Vec<Item>,
    pub(super) filter: Option<Node>,
    pub(super) returning: Returning,
}

/// DELETE; `from` is USING.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delete {
    pub(super) with: With,
    pub(super) target: Item,
    pub(super) from: Vec<Item>,
    pub(super) filter: Option<Node>,
    pub(super) returning: Returning,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Merge {
    pub(super) with: With,
    pub(super) target: Item,
    pub(super) source: Item,
    pub(super) on: Node,
    pub(super) clauses: Vec<When>,
    pub(super) returning: Returning,
}

/// `WHEN … THEN …`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct When {
    pub(super) rows: &'static str,
    pub(super) condition: Option<Node>,
    pub(super) action: Action,
}

/// What a WHEN does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Nothing,
    Delete,
    Update(Vec<Set>),
    Insert { columns: Vec<String>, overriding: Option<bool>, values: Option<Vec<Node>> },
}

/// What is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// Where it begins in the text, which is its identity.
    pub(super) place: u32,
    pub(super) kind: ItemKind,
    pub(super) alias: Option<String>,
    /// The name that it has without an alias.
    pub(super) own: Option<String>,
    /// The names of the columns that the text can mean.
    pub(super) columns: Vec<String>,
    /// Those of all columns that it has today, in their order, and which of them came later than the text.
    pub(super) today: Vec<(String, bool)>,
    /// They are shown behind the alias.
    pub(super) shows_columns: bool,
    pub(super) lateral: bool,
    /// TABLESAMPLE, and what stands between the name and the alias.
    pub(super) sample: Option<(String, Vec<Node>, Option<Node>)>,
    /// AS OF and the moment, as text.
    pub(super) past: Option<String>,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ItemKind {
    /// A table or view, by the name to show.
    Relation(String),
    /// A query of WITH.
    Cte(String),
    Query(Box<Query>),
    /// The rows of VALUES, as the only item of a query.
    Values(Vec<Vec<Node>>),
    /// Functions, with the columns that the query defines for each; numbered?
    Functions(Vec<(Node, Vec<(String, SqlType)>)>, bool),
    /// JSON_TABLE.
    Written(Written),
    Join(Box<Join>),
}

/// A join.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Join {
    pub(super) left: Item,
    pub(super) right: Item,
    pub(super) kind: JoinKind,
    pub(super) on: Option<Node>,
    pub(super) using: Vec<String>,
    pub(super) using_alias: Option<String>,
}

impl Join {
    /// The columns that it has today without an alias: those that it puts together, then the others of both sides.
    pub(super) fn today(&self) -> Vec<(String, bool)> {
        let merged = self.using.iter().map(|name| (name.clone(), false));
        let sides = self.left.today.iter().chain(&self.right.today);
        let others = sides.filter(|(name, later)| *later || !self.using.contains(name));
        merged.chain(others.cloned()).collect()
    }
}
