//! Where an expression stands, and what is around it.

use std::cell::RefCell;
use std::sync::Arc;

use verso_exec::plan::{AggregateCall, ExprKind as K, SetColumns, TypedExpr};
use verso_parser::syntax::{Name, WindowSpec};

use super::scope::{Groupings, Scope};
use super::window::Windows;

/// Columns from here on stand for aggregates until grouping has numbered them.
pub(super) const AGGREGATE_BASE: usize = 1 << 24;
/// The same of GROUPING().
pub(super) const GROUPING_BASE: usize = 1 << 25;
/// The same of functions over windows.
pub(super) const WINDOW_BASE: usize = 1 << 26;
/// The same of set-returning functions.
pub(super) const SET_BASE: usize = 1 << 27;

/// Where an expression stands; decides whether aggregates may occur and how errors call the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// An output column.
    Select,
    /// WHERE.
    Where,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// ORDER BY.
    OrderBy,
    /// LIMIT.
    Limit,
    /// OFFSET.
    Offset,
    /// VALUES.
    Values,
    /// The only row of VALUES in an INSERT: it may become several rows.
    ValuesRow,
    /// SET of UPDATE.
    Set,
    /// RETURNING.
    Returning,
    /// AND behind a WHEN of MERGE.
    MergeWhen,
    /// A function in FROM.
    From,
    /// ON.
    JoinOn,
    /// DEFAULT.
    Default,
    /// DEFAULT of an argument: no column is in sight.
    ArgumentDefault,
    /// CHECK.
    Check,
    /// The expression of a generated column.
    Generated,
    /// An expression of an index.
    IndexExpression,
    /// WHERE of an index.
    IndexPredicate,
    /// An expression of the key by which a table is divided.
    PartitionKey,
    /// An expression of statistics.
    Statistics,
    /// USING of ALTER COLUMN … TYPE.
    Transform,
    /// WHERE of COPY.
    CopyWhere,
    /// PARTITION BY or ORDER BY of a window.
    Window,
    /// An offset of a window's frame.
    Frame,
    /// WHEN of a trigger.
    TriggerWhen,
    /// An expression of PL/pgSQL.
    Procedure,
    /// An argument of CALL.
    CallArgument,
    /// An argument of EXECUTE.
    ExecuteArgument,
}

impl Clause {
    pub(super) fn name(self) -> &'static str {
        match self {
            Clause::Select | Clause::Procedure => "SELECT",
            Clause::Where => "WHERE",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values | Clause::ValuesRow => "VALUES",
            Clause::Set => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::From => "functions in FROM",
            Clause::JoinOn => "JOIN conditions",
            Clause::Default | Clause::ArgumentDefault => "DEFAULT expressions",
            Clause::Check => "check constraints",
            Clause::Generated => "column generation expressions",
            Clause::IndexExpression => "index expressions",
            Clause::IndexPredicate => "index predicates",
            Clause::PartitionKey => "partition key expressions",
            Clause::Statistics => "statistics expressions",
            Clause::TriggerWhen => "trigger WHEN conditions",
            Clause::Transform => "transform expressions",
            Clause::CopyWhere => "COPY FROM WHERE conditions",
            Clause::Window | Clause::Frame => "window definitions",
            Clause::CallArgument => "CALL arguments",
            Clause::ExecuteArgument => "EXECUTE parameters",
        }
    }

    /// Is it computed of a row of one table, whose columns need no name of the table in front of them?
    pub(super) fn is_of_one_row(self) -> bool {
        matches!(
            self,
            Clause::Check
                | Clause::Generated
                | Clause::IndexExpression
                | Clause::IndexPredicate
                | Clause::PartitionKey
                | Clause::Statistics
        )
    }

    pub(super) fn allows_aggregates(self) -> bool {
        matches!(self, Clause::Select | Clause::Having | Clause::OrderBy | Clause::Window | Clause::Frame)
    }

    pub(super) fn allows_windows(self) -> bool {
        matches!(self, Clause::Select | Clause::OrderBy)
    }

    pub(super) fn allows_sets(self) -> bool {
        matches!(
            self,
            Clause::Select | Clause::OrderBy | Clause::GroupBy | Clause::Window | Clause::ValuesRow
        )
    }
}

/// What kind of call an expression stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Of none that matters.
    Nothing,
    /// Of an aggregate.
    Aggregate,
    /// Of the FILTER of an aggregate.
    Filter,
    /// Of a function over a window.
    Window,
}

/// The surroundings of an expression.
pub struct Context<'s> {
    pub(super) scope: &'s Scope,
    pub(super) clause: Clause,
    /// Aggregates found, in order; `Column(AGGREGATE_BASE + i)` stands for number `i`. A query inside adds those of its
    /// aggregates that are this query's.
    pub(super) aggregates: RefCell<Vec<AggregateCall>>,
    /// The arguments of GROUPING(), and where it stands; also of one that a query inside has and that is this query's.
    pub(super) groupings: RefCell<Groupings>,
    /// Functions over windows.
    pub(super) windows: Windows,
    /// The WINDOW clause.
    pub(super) named_windows: &'s [(Name, WindowSpec)],
    /// Set-returning functions, in order.
    pub(super) sets: Vec<SetColumns>,
    /// Those of them that windows are ordered or divided by.
    pub(super) sets_of_windows: Vec<usize>,
    pub(super) inside: Inside,
    /// Columns used outside of aggregates, where and under which name.
    pub(super) plain_columns: Vec<(usize, u32, String)>,
    /// Calls with columns that are NULL, as they were written, of what is computed above the groups.
    pub(super) nulls: Vec<TypedExpr>,
    /// Arguments of GROUPING(): like keys, what others are compared with.
    pub(super) of_grouping: bool,
    /// What the columns of scalar subqueries are called, by where these begin.
    pub(super) queries: Vec<(u32, Arc<str>)>,
}

impl<'s> Context<'s> {
    pub(super) fn new(scope: &'s Scope, clause: Clause) -> Context<'s> {
        Context {
            scope,
            clause,
            aggregates: RefCell::default(),
            groupings: RefCell::default(),
            windows: Windows::default(),
            named_windows: &[],
            sets: Vec::new(),
            sets_of_windows: Vec::new(),
            inside: Inside::Nothing,
            plain_columns: Vec::new(),
            nulls: Vec::new(),
            of_grouping: false,
            queries: Vec::new(),
        }
    }

    /// Whether an aggregate of this query may stand here; else why not.
    pub(super) fn refuses_aggregates(&self) -> Option<String> {
        match self.inside {
            Inside::Aggregate => return Some("aggregate function calls cannot be nested".to_string()),
            Inside::Filter => return Some("aggregate functions are not allowed in FILTER".to_string()),
            Inside::Nothing | Inside::Window => {}
        }
        (!self.clause.allows_aggregates())
            .then(|| format!("aggregate functions are not allowed in {}", self.clause.name()))
    }

    pub(super) fn scope(&self) -> &'s Scope {
        self.scope
    }

    /// Notes the columns of an expression as used at a place, unless an aggregate is around them.
    pub(super) fn uses(&mut self, expr: &TypedExpr, at: u32) {
        self.scope.used(expr);
        self.names(expr, at);
    }

    /// The same of columns that are parts of a whole row.
    pub(super) fn uses_in_row(&mut self, expr: &TypedExpr, at: u32) {
        self.scope.used_in_row(expr);
        self.names(expr, at);
    }

    fn names(&mut self, expr: &TypedExpr, at: u32) {
        if matches!(self.inside, Inside::Aggregate | Inside::Filter) {
            return;
        }
        expr.any(&mut |part| {
            if let K::Column(index) = part.kind
                && index < AGGREGATE_BASE
            {
                let (name, _) = &self.scope.columns[index];
                let table = self.scope.tables.iter().find(|table| table.columns.contains(&index));
                let shown = match table.and_then(|table| table.name.as_deref()) {
                    Some(table) => format!("{table}.{name}"),
                    None => name.to_string(),
                };
                self.plain_columns.push((index, at, shown));
            }
            false
        });
    }
}
