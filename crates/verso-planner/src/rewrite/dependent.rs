//! A plan that runs once for each row of another, as one that runs once for all of them (rule `unnest`).
//!
//! ```text
//! domain: the distinct values that the rows hand in                          d
//! Filter(b, b.x = Outer 0 and b.y < Outer 1)  ─►  Filter(b × d, b.x = d.0 and b.y < d.1)
//! Aggregate(…)                                ─►  the same, grouped by d too; without keys: d left join it
//! Limit(Sort(…))                              ─►  row_number() over (partition by d …) <= n
//! ```
//!
//! D1. What comes out has the columns of the plan, and behind them those of the domain: for each of its rows the rows that the plan
//!     would have yielded with these values, in the same order where the plan has one.
//! D2. The domain is computed once, however often it is read. What does not use the row meets it in a product, whose conditions then
//!     choose how it is joined.
//! D3. What cannot be moved past the domain is refused, and the plan stays as it is.
//!
//! Source: Neumann, Kemper, "Unnesting arbitrary queries", 2015.
//!
//! Termination: each call consumes an operator and goes on with its inputs. Queries within its expressions get columns of the
//! domain in place of what they were handed; they are looked at when the result is rewritten, and are one level less deep.

use std::cell::Cell;
use std::sync::Arc;

use verso_exec::functions::{AggregateKind, ArgType, WindowKind, operator_candidates};
use verso_exec::plan::{
    AggregateCall, ExprKind as K, JoinKind, Plan, SetColumns, SortKey, TypedExpr, WindowCall, WindowFrame,
    WindowFunction,
};
use verso_types::{SqlType, Value};

use super::attach::marked;
use super::push::keep;
use super::unnest::has_outer;
use crate::bind::may_be_null;
use verso_env::recursion::check;

/// Rows of VALUES that use the row: each becomes a reader of the domain.
const VALUES_MAX: usize = 16;

/// The distinct values that the rows of a plan hand in to another.
pub(super) struct Domain {
    plan: Arc<Plan>,
    columns: Vec<SqlType>,
    /// Which of them may be NULL where that matters.
    nullable: Vec<bool>,
    /// How many readers it has.
    pub reads: Cell<usize>,
}

impl Domain {
    /// The domain of `args` over the rows of `source`, for a query. `None` where values of one type that are equal may differ, or cannot be
    /// compared with NULL in mind.
    pub fn new(source: Plan, args: &[TypedExpr], query: &Plan) -> Option<Domain> {
        let matters = |n: usize| !has_no_row_for_null(query, n);
        let nullable =
            args.iter().enumerate().map(|(n, arg)| may_be_null(&source, arg) && matters(n)).collect();
        let columns: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        if args.iter().any(TypedExpr::is_volatile) || columns.iter().any(|ty| some_value(ty).is_none()) {
            return None;
        }
        let names = args.iter().map(|_| Arc::from("domain")).collect();
        let project = Plan::Project { input: Box::new(source), exprs: args.to_vec(), names };
        let plan = Arc::new(Plan::Distinct { input: Box::new(project) });
        Some(Domain { plan, columns, nullable, reads: Cell::new(0) })
    }

    /// The plan that all readers share.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    fn reader(&self) -> Plan {
        self.reads.set(self.reads.get() + 1);
        Plan::shared(Arc::clone(&self.plan))
    }

    fn width(&self) -> usize {
        self.columns.len()
    }

    /// Its columns where they begin at `at`.
    fn at(&self, at: usize) -> Vec<TypedExpr> {
        let columns = self.columns.iter().enumerate();
        columns.map(|(n, ty)| TypedExpr::column(at + n, ty.clone())).collect()
    }

    /// Pairs for a join by which `ours` equal the domain's columns beginning at `at`, where NULL equals NULL.
    pub fn keys(&self, ours: &[TypedExpr], at: usize) -> Vec<(TypedExpr, TypedExpr)> {
        let mut pairs = Vec::new();
        for ((ours, theirs), nullable) in ours.iter().zip(self.at(at)).zip(&self.nullable) {
            if !nullable {
                pairs.push((ours.clone(), theirs));
                continue;
            }
            let absent = |expr: &TypedExpr| {
                TypedExpr::new(K::IsNull { arg: Box::new(expr.clone()), negated: false }, SqlType::Bool)
            };
            let present = |expr: TypedExpr| {
                let ty = expr.ty.clone();
                let instead = some_value(&ty).unwrap_or(Value::Null);
                TypedExpr::new(K::Coalesce(vec![expr, TypedExpr::literal(instead, ty.clone())]), ty)
            };
            pairs.push((absent(ours), absent(&theirs)));
            pairs.push((present(ours.clone()), present(theirs)));
        }
        pairs
    }
}

/// A value of a type whose equal values are the same in every respect.
fn some_value(ty: &SqlType) -> Option<Value> {
    Some(match ty {
        SqlType::Bool => Value::Bool(false),
        SqlType::Int2 => Value::Int2(0),
        SqlType::Int4 => Value::Int4(0),
        SqlType::Int8 => Value::Int8(0),
        SqlType::Text | SqlType::Varchar(_) => Value::text(""),
        SqlType::Date => Value::Date(0),
        SqlType::Timestamp(_) => Value::Timestamp(0),
        SqlType::Timestamptz(_) => Value::Timestamptz(0),
        SqlType::Uuid => Value::Uuid(0),
        _ => return None, // numeric knows 1.0 and 1.00, floats two zeros
    })
}

/// Whether a query has no row where the value `n` that it is handed is NULL, as one of its conditions compares with it.
fn has_no_row_for_null(plan: &Plan, n: usize) -> bool {
    if check().is_err() {
        return false;
    }
    let is_it = |expr: &TypedExpr| match &expr.kind {
        K::Outer(at) => *at == n,
        K::Cast { arg, .. } => matches!(arg.kind, K::Outer(at) if at == n),
        _ => false,
    };
    let is_strict = |condition: &TypedExpr| match &condition.kind {
        K::Call { function, args } => function.strict && args.iter().any(is_it),
        _ => false,
    };
    let refuses = |condition: &TypedExpr| match &condition.kind {
        K::And(parts) => parts.iter().any(is_strict),
        _ => is_strict(condition),
    };
    match plan {
        Plan::Filter { input, predicate } => refuses(predicate) || has_no_row_for_null(input, n),
        Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Distinct { input }
        | Plan::DistinctOn { input, .. }
        | Plan::Window { input, .. } => has_no_row_for_null(input, n),
        Plan::Aggregate { input, group_by, sets: None, .. } if !group_by.is_empty() => {
            has_no_row_for_null(input, n)
        }
        Plan::Join { left, right, kind, filter, .. } => match kind {
            JoinKind::Inner => {
                filter.as_ref().is_some_and(refuses)
                    || has_no_row_for_null(left, n)
                    || has_no_row_for_null(right, n)
            }
            JoinKind::Left => has_no_row_for_null(left, n),
            JoinKind::Right | JoinKind::Full => false,
        },
        Plan::Semi { left, .. } => has_no_row_for_null(left, n),
        Plan::Append { inputs, .. } => inputs.iter().all(|input| has_no_row_for_null(input, n)),
        _ => false,
    }
}

/// An expression over a plan's columns and `Outer` as one over the plan's columns, each moved by `place`, and the domain's
/// beginning at `at`.
fn over(expr: &TypedExpr, at: usize, place: &dyn Fn(usize) -> usize) -> TypedExpr {
    fn put(expr: &mut TypedExpr, at: usize, place: &dyn Fn(usize) -> usize) {
        match expr.kind {
            K::Outer(n) => expr.kind = K::Column(at + n),
            K::Column(column) => expr.kind = K::Column(place(column)),
            _ => expr.for_each_child_mut(&mut |child| put(child, at, place)),
        }
    }
    let mut expr = expr.clone();
    put(&mut expr, at, place);
    expr
}

/// The columns of a plan in another order, or some of them.
pub(super) fn columns(plan: Plan, order: impl IntoIterator<Item = usize>) -> Plan {
    let output = plan.output();
    let order: Vec<usize> = order.into_iter().collect();
    Plan::Project {
        exprs: order.iter().map(|at| TypedExpr::column(*at, output[*at].seen())).collect(),
        names: order.iter().map(|at| Arc::clone(&output[*at].name)).collect(),
        input: Box::new(plan),
    }
}

/// Whether the rows of a plan have an order that it says.
fn is_ordered(plan: &Plan) -> bool {
    match plan {
        Plan::Sort { .. } => true,
        Plan::Project { input, .. }
        | Plan::Filter { input, .. }
        | Plan::DistinctOn { input, .. }
        | Plan::Limit { input, .. } => is_ordered(input),
        _ => false,
    }
}

/// The plan for all rows of the domain (D1).
pub(super) fn for_all(plan: Plan, domain: &Domain) -> Option<Plan> {
    check().ok()?;
    let k = domain.width();
    if !plan.uses_outer() {
        return Some(Plan::Join {
            left: Box::new(plan),
            right: Box::new(domain.reader()),
            kind: JoinKind::Inner,
            equal: Vec::new(),
            filter: None,
        });
    }
    let stays = |column: usize| column;
    Some(match plan {
        Plan::Filter { input, predicate } => {
            let width = input.output().len();
            let input = Box::new(for_all(*input, domain)?);
            Plan::Filter { input, predicate: over(&predicate, width, &stays) }
        }
        Plan::Project { input, exprs, mut names } => {
            let width = input.output().len();
            let input = Box::new(for_all(*input, domain)?);
            let mut exprs: Vec<TypedExpr> = exprs.iter().map(|expr| over(expr, width, &stays)).collect();
            exprs.extend(domain.at(width));
            names.extend((0..k).map(|_| Arc::from("domain")));
            Plan::Project { input, exprs, names }
        }
        Plan::Join { left, right, kind: kind @ (JoinKind::Inner | JoinKind::Left), equal, filter } => {
            joined((*left, *right), kind, equal, filter, domain)?
        }
        Plan::Semi { left, right, equal, filter, anti } => {
            let width = left.output().len();
            let behind = right.output().len();
            let place = |column: usize| if column < width { column } else { column + k };
            let depends = right.uses_outer();
            let left = Box::new(for_all(*left, domain)?);
            let right = Box::new(if depends { for_all(*right, domain)? } else { *right });
            let mut pairs = pairs(equal, (width, behind), depends)?;
            if depends {
                pairs.extend(domain.keys(&domain.at(width), behind));
            }
            let filter = filter.map(|filter| over(&filter, width, &place));
            Plan::Semi { left, right, equal: pairs, filter, anti }
        }
        Plan::Aggregate { input, group_by, aggregates, sets: None } => {
            grouped(*input, group_by, aggregates, domain)?
        }
        Plan::Distinct { input } => Plan::Distinct { input: Box::new(for_all(*input, domain)?) },
        Plan::DistinctOn { input, keys } => {
            let width = input.output().len();
            let mut keys: Vec<TypedExpr> = keys.iter().map(|key| over(key, width, &stays)).collect();
            keys.extend(domain.at(width));
            Plan::DistinctOn { input: Box::new(for_all(*input, domain)?), keys }
        }
        Plan::Sort { input, keys, .. } => {
            let width = input.output().len();
            let own = keys.into_iter().map(|key| SortKey { expr: over(&key.expr, width, &stays), ..key });
            let keys = ascending(domain.at(width)).chain(own).collect();
            Plan::Sort { input: Box::new(for_all(*input, domain)?), keys, sorted: 0 }
        }
        Plan::Limit { input, limit, offset, ties } if ties.is_empty() => {
            limited(*input, limit.as_ref(), offset.as_ref(), domain)?
        }
        Plan::Append { inputs, pruning: None } => {
            let inputs = inputs.into_iter().map(|input| for_all(input, domain)).collect::<Option<_>>()?;
            Plan::Append { inputs, pruning: None }
        }
        Plan::SetOperation { left, right, operation, all, collators } => Plan::SetOperation {
            left: Box::new(for_all(*left, domain)?),
            right: Box::new(for_all(*right, domain)?),
            operation,
            all,
            collators,
        },
        Plan::Apply { left, right, outer, kind, filter, .. } => {
            let (width, behind) = (left.output().len(), right.output().len());
            let place = |column: usize| if column < width { column } else { column + k };
            let left = Box::new(for_all(*left, domain)?);
            let outer = outer.iter().map(|expr| over(expr, width, &stays)).collect();
            let filter = filter.map(|filter| over(&filter, width, &place));
            let plan = Plan::Apply { left, right, outer, kind, filter, unread: Vec::new() };
            columns(plan, (0..width).chain(width + k..width + k + behind).chain(width..width + k))
        }
        Plan::Window { input, partition_by, order_by, calls, until: None } => {
            let (width, made) = (input.output().len(), calls.len());
            let mut calls = calls;
            // Offsets of frames have no columns.
            if calls.iter().any(|call| call.frame.offsets().any(has_outer)) {
                return None;
            }
            for expr in calls.iter_mut().flat_map(WindowCall::exprs_mut) {
                *expr = over(expr, width, &stays);
            }
            let input = Box::new(by_domain(*input, domain)?);
            let own = partition_by.iter().map(|key| over(key, width, &stays));
            let partition_by = domain.at(width).into_iter().chain(own).collect();
            let order_by = order_by.into_iter();
            let order_by =
                order_by.map(|key| SortKey { expr: over(&key.expr, width, &stays), ..key }).collect();
            let plan = Plan::Window { input, partition_by, order_by, calls, until: None };
            columns(plan, (0..width).chain(width + k..width + k + made).chain(width..width + k))
        }
        Plan::ProjectSet { input, calls, ordinality, .. } => {
            let width = input.output().len();
            let input = Box::new(for_all(*input, domain)?);
            sets(input, width, calls, ordinality, domain)
        }
        Plan::FunctionScan { call, columns } => {
            sets(Box::new(domain.reader()), 0, vec![SetColumns { call, columns }], false, domain)
        }
        Plan::Values { rows, columns } if rows.len() <= VALUES_MAX => {
            let mut inputs: Vec<Plan> = (rows.iter())
                .map(|row| {
                    let exprs = row.iter().map(|expr| over(expr, 0, &stays)).chain(domain.at(0)).collect();
                    let names = columns.iter().map(|column| Arc::clone(&column.name));
                    let names = names.chain((0..k).map(|_| Arc::from("domain"))).collect();
                    Plan::Project { input: Box::new(domain.reader()), exprs, names }
                })
                .collect();
            match inputs.len() {
                1 => inputs.remove(0),
                _ => Plan::Append { inputs, pruning: None },
            }
        }
        _ => return None,
    })
}

fn ascending(keys: Vec<TypedExpr>) -> impl Iterator<Item = SortKey> {
    keys.into_iter().map(|expr| SortKey { expr, descending: false, nulls_first: false })
}

/// The rows for all of the domain, those of one value of it together and in the plan's order.
fn by_domain(plan: Plan, domain: &Domain) -> Option<Plan> {
    let (ordered, width) = (is_ordered(&plan), plan.output().len());
    let plan = for_all(plan, domain)?;
    if ordered {
        return Some(plan);
    }
    Some(Plan::Sort { input: Box::new(plan), keys: ascending(domain.at(width)).collect(), sorted: 0 })
}

/// Pairs of a join whose left input has the domain behind its `width` columns, and whose right input has it behind its
/// `behind` ones if it depends on the row.
fn pairs(
    equal: Vec<(TypedExpr, TypedExpr)>,
    (width, behind): (usize, usize),
    depends: bool,
) -> Option<Vec<(TypedExpr, TypedExpr)>> {
    let stays = |column: usize| column;
    let pair = |(ours, theirs): (TypedExpr, TypedExpr)| {
        let alone = !depends && has_outer(&theirs);
        (!alone).then(|| (over(&ours, width, &stays), over(&theirs, behind, &stays)))
    };
    equal.into_iter().map(pair).collect()
}

/// An inner or left join; the columns of both, then the domain.
fn joined(
    (left, right): (Plan, Plan),
    kind: JoinKind,
    equal: Vec<(TypedExpr, TypedExpr)>,
    filter: Option<TypedExpr>,
    domain: &Domain,
) -> Option<Plan> {
    let k = domain.width();
    let (width, behind) = (left.output().len(), right.output().len());
    let here = |expr: &TypedExpr| has_outer(expr);
    let depends = right.uses_outer();
    let asks = filter.iter().any(here) || equal.iter().any(|(ours, theirs)| here(ours) || here(theirs));
    if kind == JoinKind::Inner && depends && !left.uses_outer() && !asks {
        let right = Box::new(for_all(right, domain)?);
        return Some(Plan::Join { left: Box::new(left), right, kind, equal, filter });
    }
    let left = Box::new(for_all(left, domain)?);
    let right = Box::new(if depends { for_all(right, domain)? } else { right });
    let mut equal = pairs(equal, (width, behind), depends)?;
    if depends {
        equal.extend(domain.keys(&domain.at(width), behind));
    }
    let place = |column: usize| if column < width { column } else { column + k };
    let filter = filter.map(|filter| over(&filter, width, &place));
    let plan = Plan::Join { left, right, kind, equal, filter };
    Some(columns(plan, (0..width).chain(width + k..width + k + behind).chain(width..width + k)))
}

/// Groups for each row of the domain; without keys also for those that have no rows.
fn grouped(
    input: Plan,
    group_by: Vec<TypedExpr>,
    mut aggregates: Vec<AggregateCall>,
    domain: &Domain,
) -> Option<Plan> {
    let (k, keys, calls) = (domain.width(), group_by.len(), aggregates.len());
    // Arguments before WITHIN GROUP have no columns.
    if aggregates.iter().any(|call| call.direct.iter().any(has_outer)) {
        return None;
    }
    let width = input.output().len();
    let stays = |column: usize| column;
    let empty = match keys {
        0 => aggregates.iter().map(empty).collect::<Option<Vec<_>>>()?,
        _ => Vec::new(),
    };
    for expr in aggregates.iter_mut().flat_map(AggregateCall::exprs_mut) {
        *expr = over(expr, width, &stays);
    }
    let own = group_by.iter().map(|key| over(key, width, &stays));
    let group_by = own.chain(domain.at(width)).collect();
    let input = Box::new(for_all(input, domain)?);
    let plan = Plan::Aggregate { input, group_by, aggregates, sets: None };
    if keys > 0 {
        return Some(columns(plan, (0..keys).chain(keys + k..keys + k + calls).chain(keys..keys + k)));
    }
    // [domain, calls] with a mark that there was a group.
    let output = plan.output();
    let joined = Plan::Join {
        left: Box::new(domain.reader()),
        right: Box::new(marked(plan)),
        kind: JoinKind::Left,
        equal: domain.keys(&domain.at(0), 0),
        filter: None,
    };
    let lonely = || {
        let mark = TypedExpr::column(k + k + calls, SqlType::Bool);
        TypedExpr::new(K::IsNull { arg: Box::new(mark), negated: false }, SqlType::Bool)
    };
    let mut exprs: Vec<TypedExpr> = Vec::new();
    for (n, empty) in empty.into_iter().enumerate() {
        let value = TypedExpr::column(k + k + n, output[k + n].seen());
        exprs.push(match empty.kind {
            K::Literal(Value::Null) => value,
            _ => {
                let ty = value.ty.clone();
                let kind = K::Case { branches: vec![(lonely(), empty)], otherwise: Some(Box::new(value)) };
                TypedExpr::new(kind, ty)
            }
        });
    }
    exprs.extend(domain.at(0));
    let names = output[k..].iter().chain(&output[..k]).map(|column| Arc::clone(&column.name)).collect();
    Some(Plan::Project { input: Box::new(joined), exprs, names })
}

/// The first rows for each row of the domain.
fn limited(
    input: Plan,
    limit: Option<&TypedExpr>,
    offset: Option<&TypedExpr>,
    domain: &Domain,
) -> Option<Plan> {
    let number = |expr: Option<&TypedExpr>| match expr.map(|expr| &expr.kind) {
        None | Some(K::Literal(Value::Null)) => Some(None),
        Some(K::Literal(Value::Int8(number))) if *number >= 0 => Some(Some(*number)),
        _ => None,
    };
    let (limit, offset) = (number(limit)?, number(offset)?.unwrap_or(0));
    if limit.is_none() && offset == 0 {
        return for_all(input, domain);
    }
    let k = domain.width();
    let width = input.output().len();
    let call = WindowCall {
        function: WindowFunction::Own(WindowKind::RowNumber),
        args: Vec::new(),
        filter: None,
        frame: WindowFrame::standard(),
        ty: SqlType::Int8,
        name: "row_number".into(),
        fold: None,
    };
    let plan = Plan::Window {
        input: Box::new(by_domain(input, domain)?),
        partition_by: domain.at(width),
        order_by: Vec::new(),
        calls: vec![call],
        until: None,
    };
    let compared = |operator: &str, with: i64| {
        let is_bigint = |arg: &ArgType| matches!(arg, ArgType::Exact(SqlType::Int8));
        let function = operator_candidates(operator)
            .iter()
            .copied()
            .find(|function| function.args.len() == 2 && function.args.iter().all(is_bigint))?;
        let args = vec![
            TypedExpr::column(width + k, SqlType::Int8),
            TypedExpr::literal(Value::Int8(with), SqlType::Int8),
        ];
        Some(TypedExpr::new(K::Call { function, args }, SqlType::Bool))
    };
    let mut conditions = Vec::new();
    if offset > 0 {
        conditions.push(compared(">", offset)?);
    }
    if let Some(limit) = limit {
        conditions.push(compared("<=", offset.saturating_add(limit))?);
    }
    Some(columns(keep(plan, conditions), 0..width + k))
}

/// Set-returning functions over an input of `width` columns and the domain.
fn sets(
    input: Box<Plan>,
    width: usize,
    mut calls: Vec<SetColumns>,
    ordinality: bool,
    domain: &Domain,
) -> Plan {
    let k = domain.width();
    for arg in calls.iter_mut().flat_map(|call| call.call.args_mut()) {
        *arg = over(arg, width, &|column| column);
    }
    let made = calls.iter().map(|call| call.columns.len()).sum::<usize>() + usize::from(ordinality);
    let plan = Plan::ProjectSet { input, calls, ordinality, unread: Vec::new() };
    columns(plan, (0..width).chain(width + k..width + k + made).chain(width..width + k))
}

/// What an aggregate says of no rows.
pub(super) fn empty(call: &AggregateCall) -> Option<TypedExpr> {
    match call.function.kind {
        AggregateKind::CountStar | AggregateKind::Count => {
            Some(TypedExpr::literal(Value::Int8(0), SqlType::Int8))
        }
        AggregateKind::Sum
        | AggregateKind::Avg
        | AggregateKind::Min
        | AggregateKind::Max
        | AggregateKind::BoolAnd
        | AggregateKind::BoolOr
        | AggregateKind::StringAgg
        | AggregateKind::ArrayAgg
        | AggregateKind::Gathered => Some(TypedExpr::null(call.ty.clone())),
        // Of the others some have a value for no rows.
        _ => None,
    }
}
