//! Relational operators.

use std::sync::Arc;

use verso_catalog::{FunctionDef, SystemView, TableDef};
use verso_storage::{RecordLockMode, WaitPolicy};
use verso_types::{Collator, SqlType};

use super::pruning::Pruning;
use super::{IndexAccess, KeyMatch, OutputColumn, Scanned, TypedExpr, WindowCall};
use crate::files::FileTable;
use crate::functions::{AggregateFunction, BuiltinFunction};

/// How WHERE CURRENT OF names its cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorName {
    /// By its name.
    Named(Arc<str>),
    /// By a variable of a function: the name is in this slot.
    Variable(usize),
    /// Not at all: this is the place of the row, which has just been locked.
    Place(i64),
}

/// A query: a tree of operators, leaves first.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "plans are few and behind boxes; scans are what they mostly are"
)]
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
        table: Scanned,
        /// Which columns are yielded: indexes into `table.columns`.
        columns: Vec<usize>,
        /// Keeps the rows for which it is true; over the yielded columns.
        filter: Option<TypedExpr>,
    },
    /// Visible rows of a table, found through an index and in its order.
    IndexScan {
        /// The table.
        table: Scanned,
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
        table: Scanned,
        /// Which columns are yielded, as those of a scan.
        columns: Vec<usize>,
        /// The cursor.
        cursor: CursorName,
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
        /// Columns of the view, and what they are to be equal to: expressions without columns. Rows that do not fit may be
        /// among those yielded. Several values are looked up for one of the columns at most.
        keys: Vec<(usize, KeyMatch)>,
    },
    /// Rows of files.
    FileScan {
        /// The files.
        table: Arc<FileTable>,
        /// Which of their columns are yielded.
        columns: Vec<usize>,
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
        /// Grouping by several subsets of the keys, one after the other; then the values of GROUPING() come behind the
        /// aggregates, and a condition on a key does not hold for the rows that it is made of.
        sets: Option<GroupingSets>,
    },
    /// The same of an input in which rows with the same keys come one behind the other: each group comes out when the next one
    /// begins.
    SortedAggregate {
        /// The input.
        input: Box<Plan>,
        /// The keys; one at least.
        group_by: Vec<TypedExpr>,
        /// The aggregates.
        aggregates: Vec<AggregateCall>,
    },
    /// The input's columns, and one for each function over the window. The input is sorted by `partition_by`, then
    /// `order_by`.
    Window {
        /// The input.
        input: Box<Plan>,
        /// What tells partitions apart; empty means one.
        partition_by: Vec<TypedExpr>,
        /// The order within a partition; rows equal in it are peers.
        order_by: Vec<SortKey>,
        /// The functions.
        calls: Vec<WindowCall>,
        /// A condition over its own columns that is false for all further rows of a partition once it is for one: these are not
        /// wanted.
        until: Option<TypedExpr>,
    },
    /// For each row of the input the rows of set-returning functions side by side: as many as the longest yields, the
    /// others padded with NULLs. The input's columns come first, then those of the functions.
    ProjectSet {
        /// The input.
        input: Box<Plan>,
        /// The functions, their arguments over the input's columns.
        calls: Vec<SetColumns>,
        /// A last column numbers the rows made of each row of the input (`WITH ORDINALITY`).
        ordinality: bool,
        /// Columns of the input that only the arguments read: they come out as NULL, so that an array is not copied for each
        /// of its elements.
        unread: Vec<usize>,
    },
    /// All rows in order.
    Sort {
        /// The input.
        input: Box<Plan>,
        /// The order; most significant first.
        keys: Vec<SortKey>,
        /// The rows come in the order of so many of the keys already.
        sorted: usize,
    },
    /// A range of the rows.
    Limit {
        /// The input.
        input: Box<Plan>,
        /// How many at most, a bigint without columns; NULL or none means all.
        limit: Option<TypedExpr>,
        /// How many are skipped first.
        offset: Option<TypedExpr>,
        /// Rows equal to the last one in these come out too (`WITH TIES`); empty means none do.
        ties: Vec<TypedExpr>,
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
    /// The first row of those that are equal in the keys (`DISTINCT ON`).
    DistinctOn {
        /// The input.
        input: Box<Plan>,
        /// What tells rows apart, over the input's columns.
        keys: Vec<TypedExpr>,
    },
    /// A table as it was: the rows of a scan of it in an earlier state.
    Past {
        /// The scan: of this table, with conditions that run no statements.
        input: Box<Plan>,
        /// The table.
        table: Arc<TableDef>,
        /// The moment (`timestamptz`), or the number of the state (`bigint`); without columns.
        moment: TypedExpr,
    },
    /// The row of the input, if it has one; a second one is an error (21000).
    Single {
        /// The input.
        input: Box<Plan>,
    },
    /// The rows of a view that keeps others from being told of (`security_barrier`): the rewriter moves conditions into it that
    /// tell nothing of their arguments only, and leaves the input.
    Barrier {
        /// The input.
        input: Box<Plan>,
    },
    /// The rows of a join of which a hint says how many there are; the executor passes it over.
    Estimated {
        /// The join.
        input: Box<Plan>,
        /// Rows that it is taken to have.
        rows: f64,
    },
    /// The rows of all inputs, one after the other (`UNION ALL`).
    Append {
        /// The inputs; equal types, names of the first.
        inputs: Vec<Plan>,
        /// Of the partitions of a table: which of them are read at all.
        pruning: Option<Arc<Pruning>>,
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
    /// Pairs of rows with equal keys, of inputs that are in the ascending order of these, NULL last.
    MergeJoin {
        /// The left input.
        left: Box<Plan>,
        /// The right input.
        right: Box<Plan>,
        /// Pairs of expressions, over left and right, that are equal and not NULL; at least one, of types with the same keys.
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
        /// Left columns that only `outer` reads: they come out as NULL.
        unread: Vec<usize>,
    },
    /// Left rows that have a partner on the right, or that have none.
    Semi {
        /// The left input, whose rows come out, in their order.
        left: Box<Plan>,
        /// The right input, which is held in memory.
        right: Box<Plan>,
        /// As those of a join.
        equal: Vec<(TypedExpr, TypedExpr)>,
        /// What else makes two rows a pair; over the columns of both.
        filter: Option<TypedExpr>,
        /// Those that have none.
        anti: bool,
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
        /// Of each column the nondeterministic collation that tells its texts apart; those that are missing are told apart by bytes.
        collators: Vec<Option<Collator>>,
    },
    /// A query computed once per statement and read in several places (`WITH`).
    Shared {
        /// The query; the same `Arc` wherever it is read.
        plan: Arc<Plan>,
        /// What it yields.
        columns: Vec<OutputColumn>,
        /// `AS MATERIALIZED`: it is computed by itself even where it has one reader.
        fence: bool,
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
        /// As of a `SetOperation`.
        collators: Vec<Option<Collator>>,
    },
    /// The rows that the statement of a trigger has changed, in the trigger's function.
    Transition {
        /// As they are, not as they were.
        new: bool,
        /// The table's columns.
        columns: Vec<OutputColumn>,
    },
    /// The rows of the last round of a `Recursive` around it; those of a change in WITH.
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

/// A set-returning function beside others, and the columns it yields.
#[derive(Clone, Debug)]
pub struct SetColumns {
    /// The call.
    pub call: SetCall,
    /// Names and types of its columns.
    pub columns: Vec<OutputColumn>,
}

/// GROUPING SETS, ROLLUP and CUBE, written out.
#[derive(Clone, Debug)]
pub struct GroupingSets {
    /// Each a subset of the keys, by their numbers; other keys are NULL in its rows.
    pub sets: Vec<Vec<usize>>,
    /// The arguments of each GROUPING(), keys by their numbers: one bit each, set where the key is not in the set.
    pub calls: Vec<Vec<usize>>,
}

/// One aggregate of an `Aggregate` operator.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The function.
    pub function: &'static AggregateFunction,
    /// Only distinct argument values count.
    pub distinct: bool,
    /// The arguments; empty for `count(*)`. Of an ordered-set aggregate what WITHIN GROUP sorts by.
    pub args: Vec<TypedExpr>,
    /// The order in which values are taken, over the input's columns.
    pub order_by: Vec<SortKey>,
    /// The arguments before WITHIN GROUP, evaluated once per group.
    pub direct: Vec<TypedExpr>,
    /// Only rows for which this is true count.
    pub filter: Option<TypedExpr>,
    /// Type of the result.
    pub ty: SqlType,
    /// Name of the output column.
    pub name: Arc<str>,
}

impl AggregateCall {
    /// A call without arguments or clauses.
    #[must_use]
    pub fn plain(function: &'static AggregateFunction, ty: SqlType, name: Arc<str>) -> Self {
        Self {
            function,
            distinct: false,
            args: Vec::new(),
            order_by: Vec::new(),
            direct: Vec::new(),
            filter: None,
            ty,
            name,
        }
    }

    /// Every expression of it.
    pub fn exprs(&self) -> impl Iterator<Item = &TypedExpr> {
        let keys = self.order_by.iter().map(|key| &key.expr);
        self.args.iter().chain(keys).chain(&self.direct).chain(&self.filter)
    }

    /// Every expression of it, to change it.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut TypedExpr> {
        let keys = self.order_by.iter_mut().map(|key| &mut key.expr);
        self.args.iter_mut().chain(keys).chain(&mut self.direct).chain(&mut self.filter)
    }
}

impl SetCall {
    /// The arguments.
    #[must_use]
    pub fn args(&self) -> &[TypedExpr] {
        match self {
            SetCall::Builtin { args, .. } | SetCall::User { args, .. } => args,
        }
    }

    /// The arguments, to change them.
    pub fn args_mut(&mut self) -> &mut Vec<TypedExpr> {
        match self {
            SetCall::Builtin { args, .. } | SetCall::User { args, .. } => args,
        }
    }

    /// Whether its rows may differ each time.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        match self {
            SetCall::Builtin { function, .. } => {
                function.volatility == crate::functions::Volatility::Volatile
            }
            SetCall::User { function, .. } => function.volatility == verso_catalog::Volatility::Volatile,
        }
    }
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
