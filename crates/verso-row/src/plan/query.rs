//! Relational operators.

use std::sync::Arc;

use verso_catalog::{FunctionDef, SystemView, TableDef};
use verso_storage::{RecordLockMode, WaitPolicy};
use verso_types::SqlType;

use super::{ExprKind, IndexAccess, TypedExpr};
use crate::functions::{AggregateFunction, BuiltinFunction, Volatility};

/// Name and type of a column that a plan yields.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// The name shown to the user; need not be unique.
    pub name: Arc<str>,
    /// The type.
    pub ty: SqlType,
    /// The column of a table that it is, unchanged.
    pub origin: Option<Origin>,
}

/// A column of a table, as `pg_attribute` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `attrelid`.
    pub table: u32,
    /// `attnum`; [`Origin::RECORD`] for the place of a record.
    pub column: u16,
}

impl Origin {
    /// Stands for the place of a record.
    pub const RECORD: u16 = u16::MAX;
}

impl OutputColumn {
    /// A column of this name and type, of no table.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, ty: SqlType) -> Self {
        Self { name: name.into(), ty, origin: None }
    }

    /// Column `index` of a table.
    #[must_use]
    pub fn of_table(table: &TableDef, index: usize) -> Option<Self> {
        let column = table.columns.get(index)?;
        let origin = Some(Origin { table: table.oid.0, column: column.id });
        Some(Self { name: Arc::clone(&column.name), ty: column.ty.clone(), origin })
    }

    /// What an expression over such columns is.
    pub(super) fn of_expr(expr: &TypedExpr, name: Arc<str>, origins: &[Option<Origin>]) -> Self {
        let origin = match expr.kind {
            ExprKind::Column(index) => origins.get(index).copied().flatten(),
            _ => None,
        };
        Self { name, ty: expr.ty.clone(), origin }
    }
}

/// Stands in a scan's columns, as the last one, for the record's place: a bigint that means something to
/// [`Plan::LockRows`] only.
pub const RECORD_COLUMN: usize = usize::MAX;

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
    /// Rows handed in from outside, such as those of COPY.
    External {
        /// Their names and types.
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
    /// Visible rows of a table, found through an index and in its order.
    IndexScan {
        /// The table.
        table: Arc<TableDef>,
        /// Which columns are yielded: indexes into `table.columns`.
        columns: Vec<usize>,
        /// Which part of the index.
        access: IndexAccess,
        /// Keeps the rows for which it is true; over the yielded columns.
        filter: Option<TypedExpr>,
    },
    /// The row on which a cursor stands, as it is now, if it is still there.
    CurrentRow {
        /// The table.
        table: Arc<TableDef>,
        /// Which columns are yielded, as those of a scan.
        columns: Vec<usize>,
        /// The cursor.
        cursor: Arc<str>,
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
    /// The rows of the input, locked (`FOR UPDATE` and its relatives). The input's last columns are the places of the
    /// records, one a lock.
    LockRows {
        /// The input.
        input: Box<Plan>,
        /// What is locked of each row, in this order.
        locks: Vec<RowLock>,
        /// At most so many rows are wanted, the sum of these (`LIMIT`, `OFFSET`); empty means all.
        bound: Vec<TypedExpr>,
    },
    /// Rows without duplicates (NULLs count as equal), the first of each kept.
    Distinct {
        /// The input.
        input: Box<Plan>,
    },
    /// The row of the input, if it has one; a second one is an error (21000).
    Single {
        /// The input.
        input: Box<Plan>,
    },
    /// The rows of all inputs, one after the other (`UNION ALL`).
    Append {
        /// The inputs; equal types, names of the first.
        inputs: Vec<Plan>,
    },
    /// Pairs of rows; the columns of the left input, then those of the right one.
    Join {
        /// The left input, which gives the order.
        left: Box<Plan>,
        /// The right input, which is held in memory.
        right: Box<Plan>,
        /// What becomes of rows without a partner.
        kind: JoinKind,
        /// Pairs of expressions, over left and right, that are equal and not NULL; of one type.
        equal: Vec<(TypedExpr, TypedExpr)>,
        /// What else makes two rows a pair; over the columns of both.
        filter: Option<TypedExpr>,
    },
    /// For each left row the rows of a right input that depends on it (`LATERAL`, index nested loop).
    Apply {
        /// The left input.
        left: Box<Plan>,
        /// The right input; `Outer(n)` in it is the value of `outer[n]`.
        right: Box<Plan>,
        /// Over the left columns.
        outer: Vec<TypedExpr>,
        /// `Inner` or `Left`.
        kind: JoinKind,
        /// What makes two rows a pair; over the columns of both.
        filter: Option<TypedExpr>,
    },
    /// `INTERSECT` or `EXCEPT`.
    SetOperation {
        /// The left input, whose rows come out.
        left: Box<Plan>,
        /// The right input; equal types.
        right: Box<Plan>,
        /// Which.
        operation: SetOperation,
        /// `ALL`: rows are counted, not only told apart.
        all: bool,
    },
    /// A query computed once per statement and read in several places (`WITH`).
    Shared {
        /// The query; the same `Arc` wherever it is read.
        plan: Arc<Plan>,
    },
    /// `WITH RECURSIVE`: the base's rows, then the step's over the rows of the round before, until there are none.
    Recursive {
        /// Its number within the statement.
        number: usize,
        /// Where it starts.
        base: Box<Plan>,
        /// What a round adds; reads `WorkTable { number }`.
        step: Box<Plan>,
        /// `UNION ALL`: duplicates stay.
        all: bool,
    },
    /// The rows of the last round of a `Recursive` around it.
    WorkTable {
        /// Which.
        number: usize,
        /// Names and types.
        columns: Vec<OutputColumn>,
    },
}

/// How the records of one table are locked.
#[derive(Clone, Debug)]
pub struct RowLock {
    /// The table.
    pub table: Arc<TableDef>,
    /// How strongly.
    pub mode: RecordLockMode,
    /// What to do about records that others have locked.
    pub wait: WaitPolicy,
}

/// What becomes of rows without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// They are dropped.
    Inner,
    /// Left ones come out with NULLs for the right columns.
    Left,
    /// Right ones come out with NULLs for the left columns.
    Right,
    /// Both.
    Full,
}

impl JoinKind {
    /// May the left columns be NULL because no row was there?
    #[must_use]
    pub fn pads_left(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }

    /// May the right columns be NULL because no row was there?
    #[must_use]
    pub fn pads_right(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full)
    }
}

/// What is kept of the left rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// Those that are on the right, too.
    Intersect,
    /// Those that are not.
    Except,
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
            Plan::Values { columns, .. }
            | Plan::FunctionScan { columns, .. }
            | Plan::External { columns } => columns.clone(),
            Plan::SystemScan { output, .. } => output.clone(),
            Plan::TableScan { table, columns, .. }
            | Plan::IndexScan { table, columns, .. }
            | Plan::CurrentRow { table, columns, .. } => columns
                .iter()
                .map(|&index| {
                    OutputColumn::of_table(table, index).unwrap_or_else(|| {
                        let origin = Some(Origin { table: table.oid.0, column: Origin::RECORD });
                        OutputColumn { origin, ..OutputColumn::new("record", SqlType::Int8) }
                    })
                })
                .collect(),
            Plan::Project { input, exprs, names } => {
                let origins = input.origins();
                let columns = exprs.iter().zip(names);
                columns.map(|(expr, name)| OutputColumn::of_expr(expr, Arc::clone(name), &origins)).collect()
            }
            Plan::Aggregate { input, group_by, aggregates } => {
                let origins = input.origins();
                let keys = group_by.iter().map(|key| OutputColumn::of_expr(key, "?column?".into(), &origins));
                let calls =
                    aggregates.iter().map(|call| OutputColumn::new(Arc::clone(&call.name), call.ty.clone()));
                keys.chain(calls).collect()
            }
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Single { input }
            | Plan::Distinct { input } => input.output(),
            // Rows of several origins.
            Plan::Append { inputs } => inputs.first().map(Plan::rootless).unwrap_or_default(),
            Plan::Join { left, right, .. } | Plan::Apply { left, right, .. } => {
                left.output().into_iter().chain(right.output()).collect()
            }
            Plan::SetOperation { left, .. } => left.rootless(),
            Plan::Shared { plan } => plan.output(),
            Plan::Recursive { base, .. } => base.rootless(),
            Plan::WorkTable { columns, .. } => columns.clone(),
        }
    }

    /// The output, of no table.
    fn rootless(&self) -> Vec<OutputColumn> {
        let mut output = self.output();
        output.iter_mut().for_each(|column| column.origin = None);
        output
    }

    /// The tables' columns that its own are.
    fn origins(&self) -> Vec<Option<Origin>> {
        self.output().iter().map(|column| column.origin).collect()
    }

    /// The operators whose rows this one reads.
    #[must_use]
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::Values { .. }
            | Plan::External { .. }
            | Plan::TableScan { .. }
            | Plan::IndexScan { .. }
            | Plan::CurrentRow { .. }
            | Plan::SystemScan { .. }
            | Plan::FunctionScan { .. }
            | Plan::WorkTable { .. } => Vec::new(),
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Single { input }
            | Plan::Distinct { input } => vec![input],
            Plan::Append { inputs } => inputs.iter().collect(),
            Plan::Join { left, right, .. }
            | Plan::Apply { left, right, .. }
            | Plan::SetOperation { left, right, .. } => vec![left, right],
            Plan::Shared { plan } => vec![plan],
            Plan::Recursive { base, step, .. } => vec![base, step],
        }
    }

    /// Calls `visit` on the operators whose rows this one reads and owns, to change them; shared ones are left out.
    pub fn for_each_input_mut(&mut self, visit: &mut dyn FnMut(&mut Plan)) {
        match self {
            Plan::Values { .. }
            | Plan::External { .. }
            | Plan::TableScan { .. }
            | Plan::IndexScan { .. }
            | Plan::CurrentRow { .. }
            | Plan::SystemScan { .. }
            | Plan::FunctionScan { .. }
            | Plan::WorkTable { .. }
            | Plan::Shared { .. } => {}
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Single { input }
            | Plan::Distinct { input } => visit(input),
            Plan::Append { inputs } => inputs.iter_mut().for_each(visit),
            Plan::Join { left, right, .. }
            | Plan::Apply { left, right, .. }
            | Plan::SetOperation { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Plan::Recursive { base, step, .. } => {
                visit(base);
                visit(step);
            }
        }
    }

    /// Whether it needs values of a query around it (P5).
    #[must_use]
    pub fn uses_outer(&self) -> bool {
        let own = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::Outer(_)));
        if self.exprs().into_iter().any(own) {
            return true;
        }
        match self {
            Plan::Apply { left, .. } => left.uses_outer(), // the right side's are the apply's own
            other => other.inputs().into_iter().any(Plan::uses_outer),
        }
    }

    /// The expressions of this operator, not of its inputs.
    #[must_use]
    pub fn exprs(&self) -> Vec<&TypedExpr> {
        match self {
            Plan::Values { rows, .. } => rows.iter().flatten().collect(),
            Plan::TableScan { filter, .. } => filter.iter().collect(),
            Plan::IndexScan { access, filter, .. } => access.exprs().chain(filter).collect(),
            Plan::LockRows { bound, .. } => bound.iter().collect(),
            Plan::SystemScan { args, .. } => args.iter().collect(),
            Plan::FunctionScan {
                call: SetCall::Builtin { args, .. } | SetCall::User { args, .. }, ..
            } => args.iter().collect(),
            Plan::Project { exprs, .. } => exprs.iter().collect(),
            Plan::Filter { predicate, .. } => vec![predicate],
            Plan::Aggregate { group_by, aggregates, .. } => group_by
                .iter()
                .chain(aggregates.iter().flat_map(|call| call.args.iter().chain(&call.filter)))
                .collect(),
            Plan::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
            Plan::Limit { limit, offset, .. } => limit.iter().chain(offset).collect(),
            Plan::Join { equal, filter, .. } => {
                equal.iter().flat_map(|(left, right)| [left, right]).chain(filter).collect()
            }
            Plan::Apply { outer, filter, .. } => outer.iter().chain(filter).collect(),
            Plan::Distinct { .. }
            | Plan::CurrentRow { .. }
            | Plan::Single { .. }
            | Plan::External { .. }
            | Plan::Append { .. }
            | Plan::SetOperation { .. }
            | Plan::Shared { .. }
            | Plan::Recursive { .. }
            | Plan::WorkTable { .. } => Vec::new(),
        }
    }

    /// Calls `visit` on the expressions of this operator, not of its inputs, to change them.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut TypedExpr)) {
        match self {
            Plan::Values { rows, .. } => rows.iter_mut().flatten().for_each(visit),
            Plan::TableScan { filter, .. } => filter.iter_mut().for_each(visit),
            Plan::IndexScan { access, filter, .. } => {
                access.for_each_expr_mut(visit);
                filter.iter_mut().for_each(visit);
            }
            Plan::LockRows { bound, .. } => bound.iter_mut().for_each(visit),
            Plan::SystemScan { args, .. } => args.iter_mut().for_each(visit),
            Plan::FunctionScan {
                call: SetCall::Builtin { args, .. } | SetCall::User { args, .. }, ..
            } => args.iter_mut().for_each(visit),
            Plan::Project { exprs, .. } => exprs.iter_mut().for_each(visit),
            Plan::Filter { predicate, .. } => visit(predicate),
            Plan::Aggregate { group_by, aggregates, .. } => {
                group_by.iter_mut().for_each(&mut *visit);
                aggregates
                    .iter_mut()
                    .flat_map(|call| call.args.iter_mut().chain(&mut call.filter))
                    .for_each(visit);
            }
            Plan::Sort { keys, .. } => keys.iter_mut().for_each(|key| visit(&mut key.expr)),
            Plan::Limit { limit, offset, .. } => limit.iter_mut().chain(offset).for_each(visit),
            Plan::Join { equal, filter, .. } => {
                for (left, right) in equal {
                    visit(left);
                    visit(right);
                }
                filter.iter_mut().for_each(visit);
            }
            Plan::Apply { outer, filter, .. } => outer.iter_mut().chain(filter).for_each(visit),
            Plan::Distinct { .. }
            | Plan::CurrentRow { .. }
            | Plan::Single { .. }
            | Plan::External { .. }
            | Plan::Append { .. }
            | Plan::SetOperation { .. }
            | Plan::Shared { .. }
            | Plan::Recursive { .. }
            | Plan::WorkTable { .. } => {}
        }
    }

    /// Whether `test` holds for this operator, one that it reads, or one of a query within their expressions.
    pub fn any(&self, test: &mut dyn FnMut(&Plan) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let in_expr = |expr: &TypedExpr, test: &mut dyn FnMut(&Plan) -> bool| {
            expr.any(&mut |part| match &part.kind {
                ExprKind::Subquery { plan, .. } => plan.any(test),
                _ => false,
            })
        };
        self.exprs().into_iter().any(|expr| in_expr(expr, test))
            || self.inputs().into_iter().any(|input| input.any(test))
    }

    /// Whether running it twice may give two answers.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |part| match part {
            Plan::FunctionScan { call: SetCall::User { .. }, .. } => true,
            Plan::FunctionScan { call: SetCall::Builtin { function, .. }, .. }
                if function.volatility == Volatility::Volatile =>
            {
                true
            }
            _ => part.exprs().into_iter().any(TypedExpr::is_volatile),
        })
    }

    /// Whether `test` holds for an expression of the whole tree, or any part of one.
    pub fn any_expr(&self, test: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
        self.any(&mut |plan| plan.exprs().into_iter().any(|expr| expr.any(test)))
    }
}
