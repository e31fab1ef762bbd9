//! Where an expression stands, and what is around it.

use verso_exec::plan::{AggregateCall, ExprKind as K, TypedExpr};

use super::scope::Scope;

/// Columns from here on stand for aggregates until grouping has numbered them.
pub(super) const AGGREGATE_BASE: usize = 1 << 24;

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
    /// SET of UPDATE.
    Set,
    /// RETURNING.
    Returning,
    /// A function in FROM.
    From,
    /// ON.
    JoinOn,
    /// DEFAULT.
    Default,
    /// CHECK.
    Check,
    /// USING of ALTER COLUMN … TYPE.
    Transform,
    /// WHERE of COPY.
    CopyWhere,
    /// An expression of PL/pgSQL.
    Procedure,
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
            Clause::Values => "VALUES",
            Clause::Set => "UPDATE",
            Clause::Returning => "RETURNING",
            Clause::From => "functions in FROM",
            Clause::JoinOn => "JOIN conditions",
            Clause::Default => "DEFAULT expressions",
            Clause::Check => "check constraints",
            Clause::Transform => "transform expressions",
            Clause::CopyWhere => "COPY FROM WHERE conditions",
        }
    }

    pub(super) fn allows_aggregates(self) -> bool {
        matches!(self, Clause::Select | Clause::Having | Clause::OrderBy)
    }
}

/// The surroundings of an expression.
pub struct Context<'s> {
    pub(super) scope: &'s Scope,
    pub(super) clause: Clause,
    /// Aggregates found, in order; `Column(AGGREGATE_BASE + i)` stands for number `i`.
    pub(super) aggregates: Vec<AggregateCall>,
    pub(super) inside_aggregate: bool,
    /// Columns used outside of aggregates, where and under which name.
    pub(super) plain_columns: Vec<(usize, u32, String)>,
}

impl<'s> Context<'s> {
    pub(super) fn new(scope: &'s Scope, clause: Clause) -> Context<'s> {
        Context { scope, clause, aggregates: Vec::new(), inside_aggregate: false, plain_columns: Vec::new() }
    }

    pub(super) fn scope(&self) -> &'s Scope {
        self.scope
    }

    /// Notes the columns of an expression as used at a place, unless an aggregate is around them.
    pub(super) fn uses(&mut self, expr: &TypedExpr, at: u32) {
        if self.inside_aggregate {
            return;
        }
        expr.any(&mut |part| {
            if let K::Column(index) = part.kind {
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
