//! Relational operators.

use std::sync::Arc;

use verso_catalog::{FunctionDef, SystemView, TableDef};
use verso_types::SqlType;

use super::TypedExpr;
use crate::functions::{AggregateFunction, BuiltinFunction};

/// Name and type of a column that a plan yields.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// The name shown to the user; need not be unique.
    pub name: Arc<str>,
    /// The type.
    pub ty: SqlType,
}

impl OutputColumn {
    /// A column of this name and type.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, ty: SqlType) -> Self {
        Self { name: name.into(), ty }
    }
}

/// A query: a tree of operators, leaves first.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Rows of expressions over no input.
    Values {
        /// The rows, each as long as `columns`.
        rows: Vec<Vec<TypedExpr>>,
        /// What they are called.
        columns: Vec<OutputColumn>,
    },
    /// Visible rows of a table.
    TableScan {
        /// The table.
        table: Arc<TableDef>,
        /// Which columns are yielded: indexes into `table.columns`.
        columns: Vec<usize>,
        /// Keeps the rows for which it is true; over the yielded columns.
        filter: Option<TypedExpr>,
    },
    /// Rows of a system view, made by the session.
    SystemScan {
        /// The view.
        view: SystemView,
        /// The arguments of one that is called as a function (`verso_tip`), cast to its types.
        args: Vec<TypedExpr>,
        /// Which columns of the view are yielded.
        columns: Vec<usize>,
        /// Names and types of the yielded columns.
        output: Vec<OutputColumn>,
    },
    /// The rows of a set-returning function, or the one value of another.
    FunctionScan {
        /// The call; its arguments have no columns.
        call: SetCall,
        /// What is yielded.
        columns: Vec<OutputColumn>,
    },
    /// One output row per input row.
    Project {
        /// The input.
        input: Box<Plan>,
        /// One per output column, over the input's columns.
        exprs: Vec<TypedExpr>,
        /// Names of the output columns.
        names: Vec<Arc<str>>,
    },
    /// Rows for which the predicate is true.
    Filter {
        /// The input.
        input: Box<Plan>,
        /// A boolean.
        predicate: TypedExpr,
    },
    /// Groups and aggregates; yields the group keys, then the aggregates. Without keys exactly one row.
    Aggregate {
        /// The input.
        input: Box<Plan>,
        /// The keys; empty means one group.
        group_by: Vec<TypedExpr>,
        /// The aggregates.
        aggregates: Vec<AggregateCall>,
    },
    /// All rows in order.
    Sort {
        /// The input.
        input: Box<Plan>,
        /// The order; most significant first.
        keys: Vec<SortKey>,
    },
    /// A range of the rows.
    Limit {
        /// The input.
        input: Box<Plan>,
        /// How many at most, a bigint without columns; NULL or none means all.
        limit: Option<TypedExpr>,
        /// How many are skipped first.
        offset: Option<TypedExpr>,
    },
    /// Rows without duplicates (NULLs count as equal), the first of each kept.
    Distinct {
        /// The input.
        input: Box<Plan>,
    },
    /// The rows of all inputs, one after the other (`UNION ALL`).
    Append {
        /// The inputs; equal types, names of the first.
        inputs: Vec<Plan>,
    },
}

/// A function called for its rows.
#[derive(Clone, Debug)]
pub enum SetCall {
    /// A built-in one.
    Builtin {
        /// The function.
        function: &'static BuiltinFunction,
        /// Its arguments.
        args: Vec<TypedExpr>,
    },
    /// One of the catalog.
    User {
        /// The catalog's entry.
        function: Arc<FunctionDef>,
        /// Its arguments, cast to the declared types.
        args: Vec<TypedExpr>,
    },
}

/// One aggregate of an `Aggregate` operator.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function.
    pub function: &'static AggregateFunction,
    /// Only distinct argument values count.
    pub distinct: bool,
    /// The arguments; empty for `count(*)`.
    pub args: Vec<TypedExpr>,
    /// Only rows for which this is true count.
    pub filter: Option<TypedExpr>,
    /// Type of the result.
    pub ty: SqlType,
    /// Name of the output column.
    pub name: Arc<str>,
}

/// One key of a sort.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// What is compared, over the input's columns.
    pub expr: TypedExpr,
    /// `DESC`.
    pub descending: bool,
    /// `NULLS FIRST`; PostgreSQL's default is true for `DESC` and false otherwise.
    pub nulls_first: bool,
}

impl Plan {
    /// Names and types of what the plan yields.
    #[must_use]
    pub fn output(&self) -> Vec<OutputColumn> {
        match self {
            Plan::Values { columns, .. } | Plan::FunctionScan { columns, .. } => columns.clone(),
            Plan::SystemScan { output, .. } => output.clone(),
            Plan::TableScan { table, columns, .. } => columns
                .iter()
                .map(|&index| {
                    let column = &table.columns[index];
                    OutputColumn { name: Arc::clone(&column.name), ty: column.ty.clone() }
                })
                .collect(),
            Plan::Project { exprs, names, .. } => exprs
                .iter()
                .zip(names)
                .map(|(expr, name)| OutputColumn { name: Arc::clone(name), ty: expr.ty.clone() })
                .collect(),
            Plan::Aggregate { group_by, aggregates, .. } => group_by
                .iter()
                .map(|key| OutputColumn::new("?column?", key.ty.clone()))
                .chain(
                    aggregates
                        .iter()
                        .map(|call| OutputColumn { name: Arc::clone(&call.name), ty: call.ty.clone() }),
                )
                .collect(),
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Distinct { input } => input.output(),
            Plan::Append { inputs } => inputs.first().map(Plan::output).unwrap_or_default(),
        }
    }
}
