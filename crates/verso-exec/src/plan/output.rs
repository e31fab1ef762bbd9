//! What plans yield: names and types of columns, and the tables' columns that they are.

use std::ops::Deref;
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Collation, Derivation, RowType, SqlType};

use super::{AggregateCall, ExprKind, Plan, TypedExpr};

/// Name and type of a column that a plan yields.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// The name shown to the user; need not be unique.
    pub name: Arc<str>,
    /// The type.
    pub ty: SqlType,
    /// The collation of its values, where it is not the database's.
    pub collation: Option<Arc<Collation>>,
    /// The column of a table that it is, unchanged.
    pub origin: Option<Origin>,
    /// What FROM calls the function, view or query of WITH whose column it is.
    pub of: Option<Arc<Named>>,
}

/// What a statement calls a source of rows that is no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its own name, of a query in WITH.
    pub own: Option<Arc<str>>,
    /// The name that FROM gives it.
    pub alias: Arc<str>,
}

/// A table where a statement reads it.
#[derive(Clone, Debug)]
pub struct Scanned {
    table: Arc<TableDef>,
    /// The name that FROM gives it there, if that is another one.
    pub alias: Option<Arc<str>>,
    /// The partitioned table that the statement names, whose leaf it is.
    pub whole: Option<Arc<TableDef>>,
}

impl From<Arc<TableDef>> for Scanned {
    fn from(table: Arc<TableDef>) -> Scanned {
        Scanned { table, alias: None, whole: None }
    }
}

impl Deref for Scanned {
    type Target = Arc<TableDef>;

    fn deref(&self) -> &Arc<TableDef> {
        &self.table
    }
}

impl Scanned {
    /// The name under which the statement knows it.
    #[must_use]
    pub fn called(&self) -> &Arc<str> {
        self.alias.as_ref().unwrap_or(&self.table.name)
    }

    /// A table of this name in the statement.
    #[must_use]
    pub fn called_so(table: Arc<TableDef>, name: Arc<str>) -> Scanned {
        let alias = (*table.name != *name).then_some(name);
        Scanned { table, alias, whole: None }
    }

    /// A leaf of a partitioned table that the statement names.
    #[must_use]
    pub fn of_whole(self, whole: &Arc<TableDef>) -> Scanned {
        Scanned { whole: Some(Arc::clone(whole)), ..self }
    }
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
        let (ty, derived) = ty.split_collation();
        let collation = derived.kept().or_else(|| ty.own_collation().cloned());
        Self { name: name.into(), ty, collation, origin: None, of: None }
    }

    /// The type with its collation.
    #[must_use]
    pub fn seen(&self) -> SqlType {
        match &self.collation {
            Some(collation) => self.ty.clone().collated(&Derivation::of_kept(collation)),
            None => self.ty.clone(),
        }
    }

    /// Column `index` of a table.
    #[must_use]
    pub fn of_table(table: &TableDef, index: usize) -> Option<Self> {
        let column = table.columns.get(index)?;
        let origin = Some(Origin { table: table.oid.0, column: column.id });
        let collation = column.declared().collation();
        Some(Self { name: Arc::clone(&column.name), ty: column.ty.clone(), collation, origin, of: None })
    }

    /// What an expression over such columns is.
    pub(super) fn of_expr(expr: &TypedExpr, name: Arc<str>, origins: &[Option<Origin>]) -> Self {
        let origin = match expr.kind {
            ExprKind::Column(index) => origins.get(index).copied().flatten(),
            _ => None,
        };
        Self { name, ty: expr.ty.clone(), collation: expr.collation.kept(), origin, of: None }
    }
}

/// Stands in a scan's columns, as the last one, for the record's place: a bigint that means something to
/// [`Plan::LockRows`] only.
pub const RECORD_COLUMN: usize = usize::MAX;

/// Where in a place the number of the leaf stands, of rows of a partitioned table.
const LEAF_SHIFT: u32 = 48;
/// So many leaves a partitioned table may have for its rows to be changed or locked.
pub const LEAVES_MAX: usize = 1 << 15;

/// What is added to the places of a leaf's records, so that they are places in the whole table: `leaf` is its number among the
/// [leaves](verso_catalog::TableDef::leaves).
#[must_use]
pub fn place_in(leaf: usize) -> i64 {
    (leaf as i64) << LEAF_SHIFT
}

/// The number of the leaf that has the record at a place in a partitioned table.
#[must_use]
pub fn leaf_of(place: i64) -> usize {
    (place >> LEAF_SHIFT) as usize
}

/// The same place within the leaf.
#[must_use]
pub fn place_in_leaf(place: i64) -> i64 {
    place & ((1 << LEAF_SHIFT) - 1)
}

impl Plan {
    /// A reader of a plan that others read too.
    #[must_use]
    pub fn shared(plan: Arc<Plan>) -> Plan {
        let columns = plan.output();
        Plan::Shared { plan, columns, fence: false }
    }

    /// Notes the name that FROM gives this source of rows; does nothing for what is made of several.
    pub fn call(&mut self, alias: &str) {
        match self {
            Plan::TableScan { table, .. }
            | Plan::IndexScan { table, .. }
            | Plan::CurrentRow { table, .. } => {
                let whole = table.whole.take();
                *table = Scanned { whole, ..Scanned::called_so(Arc::clone(table), alias.into()) };
            }
            Plan::SystemScan { output: columns, .. }
            | Plan::FunctionScan { columns, .. }
            | Plan::Shared { columns, .. }
            | Plan::WorkTable { columns, .. } => {
                let own = columns.first().and_then(|column| column.of.as_ref()?.own.clone());
                let named = Arc::new(Named { own, alias: alias.into() });
                columns.iter_mut().for_each(|column| column.of = Some(Arc::clone(&named)));
            }
            Plan::Past { input, .. } => input.call(alias),
            _ => {}
        }
    }

    /// Names and types of what the plan yields.
    #[must_use]
    pub fn output(&self) -> Vec<OutputColumn> {
        match self {
            Plan::Values { columns, .. }
            | Plan::FunctionScan { columns, .. }
            | Plan::Shared { columns, .. }
            | Plan::External { columns } => columns.clone(),
            Plan::SystemScan { output, .. } => output.clone(),
            Plan::FileScan { table, columns } => {
                columns.iter().filter_map(|index| table.columns.get(*index).cloned()).collect()
            }
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
            Plan::SortedAggregate { input, group_by, aggregates } => grouped(input, group_by, aggregates),
            Plan::Aggregate { input, group_by, aggregates, sets } => {
                let columns = grouped(input, group_by, aggregates);
                let groupings = sets.iter().flat_map(|sets| &sets.calls);
                let groupings = groupings.map(|_| OutputColumn::new("grouping", SqlType::Int4));
                columns.into_iter().chain(groupings).collect()
            }
            Plan::Window { input, calls, .. } => {
                let calls =
                    calls.iter().map(|call| OutputColumn::new(Arc::clone(&call.name), call.ty.clone()));
                input.output().into_iter().chain(calls).collect()
            }
            Plan::ProjectSet { input, calls, ordinality, .. } => {
                let number = ordinality.then(|| OutputColumn::new("ordinality", SqlType::Int8));
                let columns = calls.iter().flat_map(|call| call.columns.iter().cloned());
                input.output().into_iter().chain(columns).chain(number).collect()
            }
            Plan::Filter { input, .. }
            | Plan::DistinctOn { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Past { input, .. }
            | Plan::Single { input }
            | Plan::Barrier { input }
            | Plan::Estimated { input, .. }
            | Plan::Distinct { input } => input.output(),
            // Leaves of a partitioned table have lost which table's the places are.
            Plan::LockRows { input, locks, .. } => {
                let mut output = input.output();
                let first = output.len().saturating_sub(locks.len());
                for (column, lock) in output[first..].iter_mut().zip(locks) {
                    column.origin = Some(Origin { table: lock.table.oid.0, column: Origin::RECORD });
                }
                output
            }
            // Rows of several origins.
            Plan::Append { inputs, .. } => inputs.first().map(Plan::rootless).unwrap_or_default(),
            Plan::Join { left, right, .. }
            | Plan::MergeJoin { left, right, .. }
            | Plan::Apply { left, right, .. } => left.output().into_iter().chain(right.output()).collect(),
            Plan::Semi { left, .. } => left.output(),
            Plan::SetOperation { left, .. } => left.rootless(),
            Plan::Recursive { base, .. } => base.rootless(),
            Plan::Transition { columns, .. } | Plan::WorkTable { columns, .. } => columns.clone(),
        }
    }

    /// The output as a client is told of it: of rows that the query itself puts together it has the types of the fields,
    /// which a record in binary form names.
    pub(super) fn described(&self) -> Vec<OutputColumn> {
        let mut output = self.output();
        let mut top = self;
        while let Some(input) = top.chosen_from() {
            top = input;
        }
        match top {
            Plan::Project { exprs, .. } => describe(&mut output, exprs),
            Plan::Values { rows, .. } if rows.len() == 1 => describe(&mut output, &rows[0]),
            _ => {}
        }
        output
    }

    /// The input whose rows this yields with their columns, some of them or all, in whatever order.
    pub(super) fn chosen_from(&self) -> Option<&Plan> {
        match self {
            Plan::Filter { input, .. }
            | Plan::DistinctOn { input, .. }
            | Plan::Sort { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Limit { input, .. }
            | Plan::Past { input, .. }
            | Plan::Single { input }
            | Plan::Barrier { input }
            | Plan::Estimated { input, .. }
            | Plan::Distinct { input } => Some(input),
            _ => None,
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
}

fn describe(output: &mut [OutputColumn], exprs: &[TypedExpr]) {
    for (column, expr) in output.iter_mut().zip(exprs).filter(|(column, _)| column.ty == SqlType::Record) {
        column.ty = record_type(expr);
    }
}

/// The type of an expression, with the fields of a row that it puts together.
fn record_type(expr: &TypedExpr) -> SqlType {
    let (SqlType::Record, ExprKind::Row(parts)) = (&expr.ty, &expr.kind) else { return expr.ty.clone() };
    let field = |(part, n): (&TypedExpr, u32)| {
        let ty = record_type(part);
        let says_itself = ty.own_collation().is_some();
        let ty = if says_itself { ty } else { ty.collated(&part.collation) };
        (format!("f{n}").into(), ty)
    };
    SqlType::Row(Arc::new(RowType::collated(parts.iter().zip(1..).map(field).collect())))
}

/// The columns of groups: their keys and aggregates.
fn grouped(input: &Plan, group_by: &[TypedExpr], aggregates: &[AggregateCall]) -> Vec<OutputColumn> {
    let origins = input.origins();
    let keys = group_by.iter().map(|key| OutputColumn::of_expr(key, "?column?".into(), &origins));
    let call = |call: &AggregateCall| {
        let mut column = OutputColumn::new(Arc::clone(&call.name), call.ty.clone());
        if column.collation.is_none() && column.ty.is_collatable() {
            let derived = call.args.iter().fold(Derivation::Default, |all, arg| all.and(&arg.collation));
            column.collation = derived.kept();
        }
        column
    };
    let calls = aggregates.iter().map(call);
    keys.chain(calls).collect()
}
