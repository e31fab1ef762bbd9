//! GROUP BY: keys, grouping sets, and what is computed above the groups.
//!
//! ```text
//! GROUP BY a, ROLLUP (b, c)   ─►   keys a, b, c   sets {a b c} {a b} {a}
//! ```
//!
//! A column that the keys determine (they have the primary key of its table) is grouped by, too: that changes no group.

use std::collections::BTreeMap;

use verso_exec::plan::{AggregateCall, ExprKind as K, GroupingSets, Plan, SetColumns, TypedExpr};

use super::Binder;
use super::aggregate::{add_dependent, over_groups};
use super::collate::{distinguished, with_texts};
use super::computed::sorted_values;
use super::context::{AGGREGATE_BASE, Clause, Context, GROUPING_BASE, SET_BASE, WINDOW_BASE};
use super::scope::Scope;
use super::select::{Item, check_targets};
use super::walk::{map_columns, same};
use super::window::Windows;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, ExprKind, GroupItem};
use verso_types::{SqlType, Value};

/// More grouping sets than this are refused, as PostgreSQL refuses them.
const SETS_MAX: usize = 4096;

/// What stands above the groups.
pub(super) struct Above {
    pub(super) exprs: Vec<TypedExpr>,
    pub(super) having: Option<TypedExpr>,
    pub(super) windows: Windows,
    pub(super) set_calls: Vec<SetColumns>,
}

impl Above {
    pub(super) fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut TypedExpr)) {
        self.exprs.iter_mut().chain(&mut self.having).for_each(&mut *visit);
        self.windows.for_each_expr_mut(visit);
        self.set_calls.iter_mut().flat_map(|call| call.call.args_mut()).for_each(visit);
    }

    /// Some of the set-returning functions stand below by now, `made` at these columns: their arguments are no longer looked at.
    pub(super) fn made_below(&mut self, made: &BTreeMap<usize, usize>, done: &[bool]) {
        if made.is_empty() {
            return;
        }
        let mut place = |column: usize| made.get(&column).copied().unwrap_or(column);
        self.for_each_expr_mut(&mut |expr| map_columns(expr, &mut place));
        let calls = self.set_calls.iter_mut().zip(done).filter(|(_, done)| **done);
        calls.for_each(|(call, _)| call.call.args_mut().clear());
    }
}

/// The keys of GROUP BY.
#[derive(Default)]
pub(super) struct Keys {
    /// How many of them are no entries of the output.
    hidden: usize,
    pub(super) exprs: Vec<TypedExpr>,
    /// The entry of the output that each of them is; kept only where that tells keys apart.
    pub(super) entries: Vec<Option<usize>>,
    by_entry: bool,
    /// Numbers of keys; none where all of them make one set.
    pub(super) sets: Option<Vec<Vec<usize>>>,
}

/// Keys and aggregates.
pub(super) struct Grouping<'c> {
    pub(super) keys: Vec<TypedExpr>,
    /// The entry of the output that each of them is, where there are several sets.
    pub(super) entries: Vec<Option<usize>>,
    /// Numbers of keys; none where all of them make one set.
    pub(super) sets: Option<Vec<Vec<usize>>>,
    pub(super) aggregates: Vec<AggregateCall>,
    /// The arguments of GROUPING(), and where it stands.
    pub(super) groupings: Vec<(Vec<TypedExpr>, u32)>,
    /// Columns used plainly, where and under which name.
    pub(super) plain_columns: &'c [(usize, u32, String)],
    /// What is NULL whatever its columns are: these are to be grouped nevertheless.
    pub(super) nulls: Vec<TypedExpr>,
}

impl Grouping<'_> {
    /// The groups of a plan; what stands above is rewritten over them.
    pub(super) fn over(
        self,
        plan: Plan,
        above: &mut Above,
        depends: &dyn Fn(usize, &[TypedExpr]) -> bool,
    ) -> Result<Plan, SqlError> {
        let Grouping { mut keys, entries, mut sets, mut aggregates, groupings, plain_columns, nulls } = self;
        let written = keys.len();
        {
            // With several sets the primary key has to be in each of them.
            let common: Option<Vec<TypedExpr>> = sets.as_ref().map(|sets| {
                let is_common = |key: &usize| sets.iter().all(|set| set.contains(key));
                (0..written).filter(is_common).map(|key| keys[key].clone()).collect()
            });
            let depends =
                |column: usize, keys: &[TypedExpr]| depends(column, common.as_deref().unwrap_or(keys));
            above.for_each_expr_mut(&mut |expr| add_dependent(expr, &mut keys, &depends));
            nulls.iter().for_each(|expr| add_dependent(expr, &mut keys, &depends));
            aggregates.iter().flat_map(|call| &call.direct).for_each(|expr| {
                add_dependent(expr, &mut keys, &depends);
            });
        }
        sets.iter_mut().flatten().for_each(|set| set.extend(written..keys.len()));
        let tests = match &sets {
            Some(sets) => direct_by_set(&mut aggregates, &keys, sets, groupings.len(), above),
            None => Vec::new(),
        };
        let mut result = Ok(());
        let mut number = 0;
        above.for_each_expr_mut(&mut |expr| {
            // Of two entries that are the same expression each is NULL in the sets without its own key.
            let key = entries.iter().position(|entry| *entry == Some(number));
            number += 1;
            match key {
                Some(key) => expr.kind = K::Column(key),
                None if result.is_ok() => {
                    result = over_groups(expr, &keys, aggregates.len(), plain_columns);
                }
                None => {}
            }
        });
        result?;
        for mut expr in nulls {
            over_groups(&mut expr, &keys, aggregates.len(), plain_columns)?;
        }
        // Direct arguments are evaluated with the others, but may name grouped columns only.
        for expr in aggregates.iter_mut().flat_map(|call| &call.direct) {
            over_groups(&mut expr.clone(), &keys, 0, plain_columns)?;
        }
        let mut calls = Vec::with_capacity(groupings.len());
        for (args, at) in groupings {
            let number = |arg: &TypedExpr| keys.iter().position(|key| same(key, arg));
            let numbers = args.iter().map(number).collect::<Option<Vec<_>>>();
            calls.push(numbers.ok_or_else(|| {
                let text = "arguments to GROUPING must be grouping expressions of the associated query level";
                SqlError::new(sqlstate::GROUPING_ERROR, text).at(at)
            })?);
        }
        calls.extend(tests);
        let sets = match sets {
            None if calls.is_empty() => None,
            None => Some(GroupingSets { sets: vec![(0..keys.len()).collect()], calls }),
            Some(sets) => Some(GroupingSets { sets, calls }),
        };
        let keys = keys.into_iter().map(|key| distinguished(key, 0)).collect::<Result<Vec<_>, _>>()?;
        // Of one group without aggregates nothing depends on the rows: they are not read.
        let plan = match keys.is_empty() && aggregates.is_empty() {
            true => Plan::Values { rows: vec![Vec::new()], columns: Vec::new() },
            false => sorted_values(plan, &mut aggregates),
        };
        let groups = Plan::Aggregate { input: Box::new(plan), group_by: keys, aggregates, sets };
        with_texts(groups, Vec::new())
    }
}

/// Direct arguments name keys, which are NULL in the sets without them: a call with such an argument becomes one call for each
/// combination of keys that a set lacks, and a CASE over GROUPING() of these keys, of which there are `known` already. What the new ones
/// are about.
fn direct_by_set(
    aggregates: &mut Vec<AggregateCall>,
    keys: &[TypedExpr],
    sets: &[Vec<usize>],
    known: usize,
    above: &mut Above,
) -> Vec<Vec<usize>> {
    let mut tests: Vec<Vec<usize>> = Vec::new();
    for number in 0..aggregates.len() {
        let is_named = |key: &usize| {
            let is_it = |part: &TypedExpr| same(part, &keys[*key]);
            aggregates[number].direct.iter().any(|expr| expr.any(&mut |part| is_it(part)))
        };
        let lacks = |key: &usize| sets.iter().any(|set| !set.contains(key));
        let mut named: Vec<usize> = (0..keys.len()).filter(is_named).filter(lacks).collect();
        // GROUPING() has a bit for each.
        named.truncate(31);
        let bits = |set: &Vec<usize>| {
            named.iter().fold(0, |bits: i32, key| bits << 1 | i32::from(!set.contains(key)))
        };
        let mut combinations: Vec<(i32, &Vec<usize>)> = sets.iter().map(|set| (bits(set), set)).collect();
        combinations.sort_by_key(|(bits, _)| *bits);
        combinations.dedup_by_key(|(bits, _)| *bits);
        let ty = aggregates[number].ty.clone();
        let original = aggregates[number].clone();
        let mut branches = Vec::new();
        let grouping = TypedExpr::column(GROUPING_BASE + known + tests.len(), SqlType::Int4);
        for (bits, set) in combinations.into_iter().filter(|(bits, _)| *bits != 0) {
            let mut call = original.clone();
            for key in named.iter().filter(|key| !set.contains(key)) {
                call.direct.iter_mut().for_each(|expr| without_key(expr, &keys[*key]));
            }
            let bits = TypedExpr::literal(Value::Int4(bits), SqlType::Int4);
            let is_it = TypedExpr::new(
                K::IsDistinct { left: Box::new(grouping.clone()), right: Box::new(bits), negated: true },
                SqlType::Bool,
            );
            branches.push((is_it, TypedExpr::column(AGGREGATE_BASE + aggregates.len(), ty.clone())));
            aggregates.push(call);
        }
        if branches.is_empty() {
            continue;
        }
        let own = AGGREGATE_BASE + number;
        above.for_each_expr_mut(&mut |expr| by_set(expr, own, &branches));
        tests.push(named);
    }
    tests
}

/// NULL for a key.
fn without_key(expr: &mut TypedExpr, key: &TypedExpr) {
    if same(expr, key) {
        expr.kind = K::Literal(Value::Null);
        return;
    }
    expr.for_each_child_mut(&mut |child| without_key(child, key));
}

/// The result of an aggregate, which is that of another call in some sets.
fn by_set(expr: &mut TypedExpr, own: usize, branches: &[(TypedExpr, TypedExpr)]) {
    if matches!(expr.kind, K::Column(column) if column == own) {
        let column = Box::new(expr.clone());
        expr.kind = K::Case { branches: branches.to_vec(), otherwise: Some(column) };
        return;
    }
    expr.for_each_child_mut(&mut |child| by_set(child, own, branches));
}

impl Binder<'_> {
    /// GROUP BY: each key once, and the sets of them where there are several.
    pub(super) fn group_keys(
        &self,
        group_by: &[GroupItem],
        distinct: bool,
        items: &[Item],
        cx: &mut Context<'_>,
    ) -> Result<Keys, SqlError> {
        cx.clause = Clause::GroupBy;
        let mut keys = Keys::default();
        let plain = group_by.iter().all(|item| match item {
            GroupItem::Expr(_) => true,
            GroupItem::Set(set, _) => !set.is_empty(),
            _ => false,
        });
        keys.by_entry = !plain;
        // The items multiply: each set of one with each of the next.
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for item in group_by {
            let own = self.item_sets(item, items, &mut keys, cx)?;
            if sets.len().saturating_mul(own.len()) > SETS_MAX {
                let text = format!("too many grouping sets present (maximum {SETS_MAX})");
                return Err(SqlError::new(sqlstate::STATEMENT_TOO_COMPLEX, text));
            }
            let with = |set: &Vec<usize>| {
                own.iter().map(|more| set.iter().chain(more).copied().collect()).collect::<Vec<Vec<usize>>>()
            };
            sets = sets.iter().flat_map(with).collect();
        }
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        if distinct {
            let mut once: Vec<Vec<usize>> = Vec::new();
            for set in sets {
                if !once.contains(&set) {
                    once.push(set);
                }
            }
            sets = once;
        }
        keys.sets = (!plain).then_some(sets);
        Ok(keys)
    }

    /// The sets that one item stands for, of numbers of keys.
    fn item_sets(
        &self,
        item: &GroupItem,
        items: &[Item],
        keys: &mut Keys,
        cx: &mut Context<'_>,
    ) -> Result<Vec<Vec<usize>>, SqlError> {
        let mut list = |exprs: &[Expr], cx: &mut Context<'_>| -> Result<Vec<usize>, SqlError> {
            let mut numbers = Vec::new();
            for expr in exprs {
                // Parentheses around several are no row here.
                let parts = match &expr.kind {
                    ExprKind::Row(parts) if !parts.is_empty() => parts.as_slice(),
                    _ => std::slice::from_ref(expr),
                };
                for part in parts {
                    numbers.push(self.key_number(part, items, keys, cx)?);
                }
            }
            Ok(numbers)
        };
        Ok(match item {
            GroupItem::Expr(key) => vec![list(std::slice::from_ref(key), cx)?],
            GroupItem::Set(set, _) => vec![list(set, cx)?],
            GroupItem::Rollup(parts, _) => {
                let parts = parts.iter().map(|part| list(part, cx)).collect::<Result<Vec<_>, _>>()?;
                (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
            }
            GroupItem::Cube(parts, at) => {
                if parts.len() > 12 {
                    let text = "CUBE is limited to 12 elements";
                    return Err(SqlError::new(sqlstate::TOO_MANY_COLUMNS, text).at(at.start));
                }
                let parts = parts.iter().map(|part| list(part, cx)).collect::<Result<Vec<_>, _>>()?;
                let count = parts.len();
                // All of them first, none last.
                let chosen = |bits: usize| {
                    let there = |n: &usize| bits >> (count - 1 - n) & 1 == 1;
                    (0..count).filter(there).flat_map(|n| parts[n].iter().copied()).collect()
                };
                (0..1usize << count).rev().map(chosen).collect()
            }
            GroupItem::Sets(parts, _) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.item_sets(part, items, keys, cx)?);
                }
                all
            }
        })
    }

    /// The number of a key, which is added where it is new.
    fn key_number(
        &self,
        key: &Expr,
        items: &[Item],
        keys: &mut Keys,
        cx: &mut Context<'_>,
    ) -> Result<usize, SqlError> {
        let (key, entry) = self.group_key(key, items, cx)?;
        let entry = entry.filter(|_| keys.by_entry);
        let mut known = keys.exprs.iter().zip(&keys.entries);
        if let Some(number) = known.position(|(known, of)| same(known, &key) && *of == entry) {
            return Ok(number);
        }
        keys.hidden += usize::from(!items.iter().any(|item| same(&item.expr, &key)));
        keys.exprs.push(key);
        keys.entries.push(entry);
        check_targets(items.len() + keys.hidden)?;
        Ok(keys.exprs.len() - 1)
    }

    /// A key, and the entry of the output that it is. A bare name is a column of FROM before it is one of the output.
    fn group_key(
        &self,
        key: &Expr,
        items: &[Item],
        cx: &mut Context<'_>,
    ) -> Result<(TypedExpr, Option<usize>), SqlError> {
        let is_input = match &key.kind {
            ExprKind::Column(parts) => match parts.as_slice() {
                [name] => cx.scope().visible.iter().any(|(column, _)| **column == *name.text),
                _ => true,
            },
            _ => false,
        };
        if !is_input && let Some(column) = self.output_reference(key, items, "GROUP BY")? {
            let expr = items[column].expr.clone();
            let mut refused = None;
            expr.any(&mut |part| {
                refused = refused.or(match part.kind {
                    K::Column(column) if (WINDOW_BASE..SET_BASE).contains(&column) => {
                        Some(("window", sqlstate::WINDOWING_ERROR))
                    }
                    K::Column(column) if (AGGREGATE_BASE..WINDOW_BASE).contains(&column) => {
                        Some(("aggregate", sqlstate::GROUPING_ERROR))
                    }
                    _ => None,
                });
                false
            });
            if let Some((kind, code)) = refused {
                let text = format!("{kind} functions are not allowed in GROUP BY");
                return Err(SqlError::new(code, text).at(items[column].at));
            }
            return Ok((expr, Some(column)));
        }
        let bound = self.expr(key, cx)?;
        let bound = self.settle(bound, key.at.start)?;
        let entry = items.iter().position(|item| same(&item.expr, &bound));
        Ok((bound, entry))
    }

    /// Whether a column of a table is determined by the keys: they have its primary key.
    pub(super) fn depends(&self, scope: &Scope, column: usize, keys: &[TypedExpr]) -> bool {
        let Some(item) = scope.tables.iter().find(|table| table.columns.contains(&column)) else {
            return false;
        };
        let Some(table) = item.relation.and_then(|oid| self.catalog.table_by_oid(verso_catalog::Oid(oid)))
        else {
            return false;
        };
        let Some(primary) = table.indexes.iter().find(|index| index.primary) else { return false };
        let depends = primary.parts.iter().all(|part| {
            let place = table.column_with_id(part.column).map(|at| item.columns.start + at);
            let is_key = |key: &TypedExpr| matches!(key.kind, K::Column(key) if Some(key) == place);
            keys.iter().any(is_key)
        });
        if let Some(noting) = self.noting.filter(|_| depends) {
            noting.key(primary.oid);
        }
        depends
    }
}
