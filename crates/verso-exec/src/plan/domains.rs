//! Which columns of a plan have a domain: expressions have the type beneath it, and what a table is made of is to keep it.

use verso_types::SqlType;

use super::{ExprKind, Plan, TypedExpr};

impl Plan {
    /// For each column the domain, or array of one, whose values it has as they are; none where they were computed.
    #[must_use]
    pub fn domains(&self) -> Vec<Option<SqlType>> {
        let of_tables = |columns: &[usize], table: &verso_catalog::TableDef| {
            let declared = |index: &usize| {
                let ty = table.columns.get(*index)?.declared();
                ty.is_constrained().then(|| ty.clone())
            };
            columns.iter().map(declared).collect()
        };
        if let Some(input) = self.chosen_from() {
            return input.domains();
        }
        match self {
            Plan::TableScan { table, columns, .. }
            | Plan::IndexScan { table, columns, .. }
            | Plan::CurrentRow { table, columns, .. } => of_tables(columns, table),
            Plan::Project { input, exprs, .. } => of_exprs(exprs, &input.domains()),
            Plan::Values { rows, columns } => match &rows[..] {
                [row] => of_exprs(row, &[]),
                _ => vec![None; columns.len()],
            },
            Plan::Aggregate { input, group_by, .. } | Plan::SortedAggregate { input, group_by, .. } => {
                let mut domains = of_exprs(group_by, &input.domains());
                domains.resize(self.output().len(), None);
                domains
            }
            Plan::Window { input, .. } | Plan::ProjectSet { input, .. } => {
                let mut domains = input.domains();
                domains.resize(self.output().len(), None);
                domains
            }
            Plan::Semi { left, .. } => left.domains(),
            Plan::Shared { plan, .. } => plan.domains(),
            Plan::Join { left, right, .. }
            | Plan::MergeJoin { left, right, .. }
            | Plan::Apply { left, right, .. } => left.domains().into_iter().chain(right.domains()).collect(),
            // Of two sides with one domain PostgreSQL keeps it, of others it takes the type beneath.
            Plan::SetOperation { left, right, .. } => both(left.domains(), &right.domains()),
            Plan::Append { inputs, .. } => {
                let mut domains = inputs.iter().map(Plan::domains);
                let first = domains.next().unwrap_or_default();
                domains.fold(first, |all, next| both(all, &next))
            }
            // Functions, files, system tables, what comes from outside.
            _ => vec![None; self.output().len()],
        }
    }
}

/// Domains that both sides have.
fn both(mut one: Vec<Option<SqlType>>, other: &[Option<SqlType>]) -> Vec<Option<SqlType>> {
    for (at, domain) in one.iter_mut().enumerate() {
        if other.get(at) != Some(domain) {
            *domain = None;
        }
    }
    one
}

/// The same of expressions over columns with these.
fn of_exprs(exprs: &[TypedExpr], columns: &[Option<SqlType>]) -> Vec<Option<SqlType>> {
    let of = |expr: &TypedExpr| match &expr.kind {
        ExprKind::Column(index) => columns.get(*index).cloned().flatten(),
        ExprKind::Domain { rules, .. } => Some(rules.ty()).filter(SqlType::is_constrained),
        _ => None,
    };
    exprs.iter().map(of).collect()
}
