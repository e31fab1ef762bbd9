//! Partitions that are left out when a plan is opened: by values that are not known before.

use std::ops::Range;
use std::sync::Arc;

use verso_catalog::TableDef;

use super::{ExprKind, TypedExpr};

/// Which inputs of a [`Plan::Append`](super::Plan::Append) are read.
#[derive(Clone, Debug, Default)]
pub struct Pruning {
    /// What is looked at for each table that is partitioned.
    pub steps: Vec<PruningStep>,
    /// So many inputs were taken out already, for EXPLAIN.
    pub removed: usize,
}

/// The partitions of one table.
#[derive(Clone, Debug)]
pub struct PruningStep {
    /// The table.
    pub table: Arc<TableDef>,
    /// What the condition says of columns of its key, by number; without columns.
    pub terms: Vec<(u16, PruningTerm)>,
    /// Of each partition that the plan has its place and its inputs.
    pub inputs: Vec<(usize, Range<usize>)>,
}

/// What a condition says of a column.
#[derive(Clone, Debug)]
pub enum PruningTerm {
    /// It has this value.
    Equal(TypedExpr),
    /// It has one of these values.
    In(Vec<TypedExpr>),
    /// It has the value of an element of this array.
    Any(TypedExpr),
    /// It is NULL.
    Null,
    /// It has at least this value.
    Lower(TypedExpr),
    /// It has at most this value, or, if that is not included, less.
    Upper(TypedExpr, bool),
}

impl Pruning {
    /// Whether nothing but parameters decides: then the same inputs are read whenever the plan is opened in a statement.
    pub(crate) fn is_by_parameters(&self) -> bool {
        let given = |value: &TypedExpr| matches!(value.kind, ExprKind::Parameter(_) | ExprKind::Literal(_));
        let mut terms = self.steps.iter().flat_map(|step| &step.terms);
        !self.steps.is_empty() && terms.all(|(_, term)| term.values().iter().all(given))
    }
}

impl PruningTerm {
    /// Its values.
    pub fn values(&self) -> &[TypedExpr] {
        match self {
            PruningTerm::Equal(value)
            | PruningTerm::Any(value)
            | PruningTerm::Lower(value)
            | PruningTerm::Upper(value, _) => std::slice::from_ref(value),
            PruningTerm::In(values) => values,
            PruningTerm::Null => &[],
        }
    }
}
