//! Conditions moved towards the tables, and joins put into an order that needs no cross products.

use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, JoinKind, Plan, TypedExpr};
use verso_types::SqlType;

use crate::bind::{columns_of, exactly, map_columns};

/// Moves the conditions of the whole plan.
pub fn push(plan: Plan) -> Plan {
    push_into(plan, Vec::new())
}

/// The plan with only the rows for which all conditions are true.
fn push_into(plan: Plan, mut conditions: Vec<TypedExpr>) -> Plan {
    match plan {
        Plan::Filter { input, predicate } => {
            let mut all = predicate.conjuncts();
            all.append(&mut conditions);
            push_into(*input, all)
        }
        Plan::TableScan { table, columns, filter } => {
            let mut all: Vec<TypedExpr> = filter.map(TypedExpr::conjuncts).unwrap_or_default();
            all.append(&mut conditions);
            Plan::TableScan { table, columns, filter: TypedExpr::conjunction(all) }
        }
        Plan::Join { kind: JoinKind::Inner, .. } => inner(plan, conditions),
        Plan::Join { left, right, kind, equal, filter } => {
            outer_join(*left, *right, kind, equal, filter, conditions)
        }
        Plan::Apply { left, right, outer, kind, filter } => {
            let width = left.output().len();
            let (below, above) = split(conditions, |used| used.iter().all(|column| *column < width));
            let left = Box::new(push_into(*left, below));
            let right = Box::new(push(*right));
            keep(Plan::Apply { left, right, outer, kind, filter }, above)
        }
        Plan::Project { input, exprs, names } => {
            let plain = |expr: &TypedExpr| {
                !expr.is_volatile() && !expr.any(&mut |part| matches!(part.kind, K::Subquery { .. }))
            };
            let (below, above) = split(conditions, |used| used.iter().all(|column| plain(&exprs[*column])));
            let below = below.into_iter().map(|condition| substitute(condition, &exprs)).collect();
            let input = Box::new(push_into(*input, below));
            keep(Plan::Project { input, exprs, names }, above)
        }
        Plan::Sort { input, keys } => Plan::Sort { input: Box::new(push_into(*input, conditions)), keys },
        Plan::Distinct { input } => Plan::Distinct { input: Box::new(push_into(*input, conditions)) },
        Plan::Append { inputs } => {
            let one = |input| push_into(input, conditions.clone());
            Plan::Append { inputs: inputs.into_iter().map(one).collect() }
        }
        mut other => {
            other.for_each_input_mut(&mut |input| {
                let nothing = Plan::Values { rows: Vec::new(), columns: Vec::new() };
                *input = push(std::mem::replace(input, nothing));
            });
            keep(other, conditions)
        }
    }
}

fn keep(plan: Plan, conditions: Vec<TypedExpr>) -> Plan {
    match TypedExpr::conjunction(conditions) {
        Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
        None => plan,
    }
}

/// The conditions that `fits` lets move, by the columns they use, and the others.
fn split(conditions: Vec<TypedExpr>, fits: impl Fn(&[usize]) -> bool) -> (Vec<TypedExpr>, Vec<TypedExpr>) {
    conditions.into_iter().partition(|condition| !condition.is_volatile() && fits(&columns_of(condition)))
}

/// A join that keeps rows without a partner.
fn outer_join(
    left: Plan,
    right: Plan,
    kind: JoinKind,
    mut equal: Vec<(TypedExpr, TypedExpr)>,
    filter: Option<TypedExpr>,
    conditions: Vec<TypedExpr>,
) -> Plan {
    let width = left.output().len();
    let on_left = |used: &[usize]| used.iter().all(|column| *column < width);
    let on_right = |used: &[usize]| used.iter().all(|column| *column >= width);
    // Conditions on the finished rows may go to the side that is never padded.
    let (mut to_left, mut above) = match kind {
        JoinKind::Left => split(conditions, on_left),
        _ => (Vec::new(), conditions),
    };
    let mut to_right = Vec::new();
    if kind == JoinKind::Right {
        (to_right, above) = split(above, on_right);
    }
    // Conditions of the join may go to the side whose lonely rows are dropped.
    let mut rest = Vec::new();
    for condition in filter.map(TypedExpr::conjuncts).unwrap_or_default() {
        let used = columns_of(&condition);
        if condition.is_volatile() {
            rest.push(condition);
        } else if kind == JoinKind::Left && !used.is_empty() && on_right(&used) {
            to_right.push(condition);
        } else if kind == JoinKind::Right && on_left(&used) {
            to_left.push(condition);
        } else {
            match pair(condition, width) {
                Ok(pair) => equal.push(pair),
                Err(condition) => rest.push(condition),
            }
        }
    }
    to_right.iter_mut().for_each(|condition| map_columns(condition, &mut |column| column - width));
    let left = Box::new(push_into(left, to_left));
    let right = Box::new(push_into(right, to_right));
    keep(Plan::Join { left, right, kind, equal, filter: TypedExpr::conjunction(rest) }, above)
}

/// One input of a tree of inner joins.
struct Leaf {
    plan: Plan,
    /// Its columns within those of the whole tree.
    start: usize,
    width: usize,
}

/// A tree of inner joins: each condition goes to the first join that has all of its columns; inputs that no condition
/// ties to those before come last.
fn inner(plan: Plan, mut conditions: Vec<TypedExpr>) -> Plan {
    let output = plan.output();
    let mut leaves = Vec::new();
    flatten(plan, 0, &mut leaves, &mut conditions);
    let (volatile, conditions): (Vec<_>, Vec<_>) = conditions.into_iter().partition(TypedExpr::is_volatile);
    let leaf_of = |leaves: &[Leaf], column: usize| {
        leaves.iter().position(|leaf| (leaf.start..leaf.start + leaf.width).contains(&column)).unwrap_or(0)
    };
    let mut own: Vec<Vec<TypedExpr>> = leaves.iter().map(|_| Vec::new()).collect();
    let mut shared: Vec<(Vec<usize>, TypedExpr)> = Vec::new();
    for mut condition in conditions {
        let mut inputs: Vec<usize> =
            columns_of(&condition).into_iter().map(|column| leaf_of(&leaves, column)).collect();
        inputs.sort_unstable();
        inputs.dedup();
        match inputs.as_slice() {
            [] => own[0].push(condition),
            [one] => {
                let start = leaves[*one].start;
                map_columns(&mut condition, &mut |column| column - start);
                own[*one].push(condition);
            }
            _ => shared.push((inputs, condition)),
        }
    }
    // The order: as written, but an input tied to those before goes first.
    let mut order = vec![0];
    while order.len() < leaves.len() {
        let open = |leaf: &usize| !order.contains(leaf);
        let tied = (0..leaves.len()).filter(open).find(|leaf| {
            shared.iter().any(|(inputs, condition)| {
                is_equality(condition)
                    && inputs.contains(leaf)
                    && inputs.iter().all(|input| input == leaf || order.contains(input))
            })
        });
        let next = tied.or_else(|| (0..leaves.len()).find(open)).unwrap_or(0);
        order.push(next);
    }
    // Where each column of the tree ends up.
    let mut place = vec![0; output.len()];
    let mut at = 0;
    for leaf in &order {
        for column in 0..leaves[*leaf].width {
            place[leaves[*leaf].start + column] = at;
            at += 1;
        }
    }
    let mut plans: Vec<Option<Plan>> =
        leaves.into_iter().zip(own).map(|(leaf, own)| Some(push_into(leaf.plan, own))).collect();
    let mut tree: Option<Plan> = None;
    let mut done: Vec<usize> = Vec::new();
    for leaf in order {
        let Some(right) = plans[leaf].take() else { continue };
        done.push(leaf);
        let Some(left) = tree.take() else {
            tree = Some(right);
            continue;
        };
        let width = left.output().len();
        let (here, later): (Vec<_>, Vec<_>) =
            shared.into_iter().partition(|(inputs, _)| inputs.iter().all(|input| done.contains(input)));
        shared = later;
        let (mut equal, mut rest) = (Vec::new(), Vec::new());
        for (_, mut condition) in here {
            map_columns(&mut condition, &mut |column| place[column]);
            match pair(condition, width) {
                Ok(pair) => equal.push(pair),
                Err(condition) => rest.push(condition),
            }
        }
        let (left, right) = (Box::new(left), Box::new(right));
        tree = Some(Plan::Join {
            left,
            right,
            kind: JoinKind::Inner,
            equal,
            filter: TypedExpr::conjunction(rest),
        });
    }
    let mut tree = tree.unwrap_or_else(|| Plan::Values { rows: Vec::new(), columns: Vec::new() });
    if place.iter().enumerate().any(|(old, new)| old != *new) {
        let exprs = output.iter().zip(&place).map(|(column, at)| TypedExpr::column(*at, column.ty.clone()));
        let names = output.iter().map(|column| Arc::clone(&column.name)).collect();
        tree = Plan::Project { exprs: exprs.collect(), names, input: Box::new(tree) };
    }
    keep(tree, volatile)
}

/// Takes a tree of inner joins apart; conditions come out over the columns of the whole tree.
fn flatten(plan: Plan, start: usize, leaves: &mut Vec<Leaf>, conditions: &mut Vec<TypedExpr>) {
    match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } if equal.is_empty() => {
            let width = left.output().len();
            flatten(*left, start, leaves, conditions);
            flatten(*right, start + width, leaves, conditions);
            for mut condition in filter.map(TypedExpr::conjuncts).unwrap_or_default() {
                map_columns(&mut condition, &mut |column| column + start);
                conditions.push(condition);
            }
        }
        plan => {
            let width = plan.output().len();
            leaves.push(Leaf { plan, start, width });
        }
    }
}

fn is_equality(condition: &TypedExpr) -> bool {
    matches!(&condition.kind, K::Call { function, args } if function.operator == Some("=") && args.len() == 2)
}

/// An equality between the left `width` columns and the others as a pair to hash by; else the condition again.
fn pair(condition: TypedExpr, width: usize) -> Result<(TypedExpr, TypedExpr), TypedExpr> {
    if !is_equality(&condition) || condition.is_volatile() {
        return Err(condition);
    }
    let K::Call { args, .. } = &condition.kind else { return Err(condition) };
    let sides: Vec<Vec<usize>> = args.iter().map(columns_of).collect();
    let on_left = |used: &Vec<usize>| !used.is_empty() && used.iter().all(|column| *column < width);
    let on_right = |used: &Vec<usize>| !used.is_empty() && used.iter().all(|column| *column >= width);
    let (left, right) = if on_left(&sides[0]) && on_right(&sides[1]) {
        (0, 1)
    } else if on_left(&sides[1]) && on_right(&sides[0]) {
        (1, 0)
    } else {
        return Err(condition);
    };
    let Some(ty) = key_type(&args[0].ty, &args[1].ty) else { return Err(condition) };
    let (left, mut right) = (args[left].clone(), args[right].clone());
    map_columns(&mut right, &mut |column| column - width);
    Ok((exactly(left, &ty), exactly(right, &ty)))
}

/// The type in which equal values of both have equal keys.
fn key_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    if a == b {
        return Some(a.clone());
    }
    if a.same_base(b) && !matches!(a, SqlType::Char(_)) {
        return Some(a.without_modifiers());
    }
    if a.is_integer() && b.is_integer() {
        return Some(SqlType::Int8);
    }
    let varying = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_));
    (varying(a) && varying(b)).then_some(SqlType::Text)
}

/// The condition over the columns that `exprs` are computed from.
fn substitute(mut condition: TypedExpr, exprs: &[TypedExpr]) -> TypedExpr {
    if let K::Column(column) = condition.kind {
        return exprs[column].clone();
    }
    condition.for_each_child_mut(&mut |child| {
        let part = std::mem::replace(child, TypedExpr::null(SqlType::Unknown));
        *child = substitute(part, exprs);
    });
    condition
}
