//! Joins: their sides, USING, and marks that tell the rows which an outer join makes up.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, JoinKind, Plan, TypedExpr};
use verso_types::{SqlType, Value};

use super::super::Binder;
use super::super::aggregate::replace_outer;
use super::super::context::{Clause, Context};
use super::super::lock;
use super::super::null::may_be_null;
use super::super::scope::{Correlation, Hidden, Scope, ScopeTable};
use super::super::walk::columns_of;
use super::Input;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Join, JoinCondition, LockClause, Name};

impl Binder<'_> {
    pub(super) fn join(&self, join: &Join, locks: &[LockClause]) -> Result<Input, SqlError> {
        let mut left = self.item(&join.left, locks)?;
        let refs = RefCell::default();
        let mut right = {
            let before = Correlation {
                scope: &left.scope,
                parent: self.outer,
                refs: &refs,
                hidden: None,
                lateral: true,
                aggregates: None,
                groupings: None,
            };
            Binder { outer: Some(&before), ..self.clone() }.item(&join.right, locks)?
        };
        let mut outer = refs.into_inner();
        if let Some(name) = left.scope.shared_name(&right.scope) {
            let text = format!("table name \"{name}\" specified more than once");
            return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text));
        }
        let kind = match join.kind {
            syntax::JoinKind::Inner => JoinKind::Inner,
            syntax::JoinKind::Left => JoinKind::Left,
            syntax::JoinKind::Right => JoinKind::Right,
            syntax::JoinKind::Full => JoinKind::Full,
        };
        if kind.pads_left() {
            mark_rows(&mut left);
        }
        if kind.pads_right() {
            mark_rows(&mut right);
        }
        let mut scope = both(&left.scope, &right.scope);
        let marks = lock::joined(left.marks, right.marks, left.scope.columns.len(), kind)?;
        let filter = match &join.condition {
            JoinCondition::None => None,
            JoinCondition::On(condition) => {
                let mut cx = Context::new(&scope, Clause::JoinOn);
                let bound = Correlation::without_items(self.outer, Hidden::Beside, &mut |outer| {
                    Binder { outer, ..self.clone() }.expr(condition, &mut cx)
                })?;
                Some(self.boolean(bound, condition.at.start, "JOIN/ON")?)
            }
            JoinCondition::Using(names, alias) => {
                let names: Vec<(&str, u32)> =
                    names.iter().map(|name: &Name| (name.text.as_str(), name.at.start)).collect();
                let condition = self.using(&left.scope, &right.scope, &names, kind, &mut scope)?;
                if let Some(alias) = alias {
                    scope.add_merged(alias, names.len())?;
                }
                condition
            }
            JoinCondition::Natural => {
                let common = |(name, _): &(Arc<str>, TypedExpr)| {
                    right.scope.visible.iter().any(|(other, _)| other == name).then(|| Arc::clone(name))
                };
                let names: Vec<Arc<str>> = left.scope.visible.iter().filter_map(common).collect();
                let names: Vec<(&str, u32)> = names.iter().map(|name| (&**name, 0)).collect();
                self.using(&left.scope, &right.scope, &names, kind, &mut scope)?
            }
        };
        let own = |handed: &TypedExpr| columns_of(handed).first().copied();
        if kind.pads_left() && !outer.is_empty() {
            if let Some(column) = outer.iter().find_map(own) {
                return Err(other_side(&left.scope, column));
            }
            // Those of items outside of the join are the same for all of its rows.
            if right.plan.any(&mut |part| matches!(part, Plan::Shared { plan, .. } if plan.uses_outer())) {
                let text = "WITH beside a reference to items outside of a RIGHT or FULL JOIN";
                return Err(SqlError::unsupported(text));
            }
            hand_through(&mut right.plan, &outer);
            outer.clear();
        }
        let (left, right) = (Box::new(left.plan), Box::new(right.plan));
        let plan = if outer.is_empty() {
            Plan::Join { left, right, kind, equal: Vec::new(), filter }
        } else {
            Plan::Apply { left, right, outer, kind, filter, unread: Vec::new() }
        };
        Ok(Input { plan, scope, marks })
    }

    /// USING: the condition; in `scope` each pair of columns becomes one, in front of the others.
    pub(super) fn using(
        &self,
        left: &Scope,
        right: &Scope,
        names: &[(&str, u32)],
        kind: JoinKind,
        scope: &mut Scope,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let width = left.columns.len();
        let (mut merged, mut equal) = (Vec::new(), Vec::new());
        for (n, (name, at)) in names.iter().enumerate() {
            if names[..n].iter().any(|(known, _)| known == name) {
                let text = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
            }
            let side = |scope: &Scope, word: &str| -> Result<TypedExpr, SqlError> {
                let mut fits = scope.visible.iter().filter(|(column, _)| **column == **name);
                match (fits.next(), fits.next()) {
                    (Some((_, expr)), None) => {
                        scope.used(expr);
                        Ok(expr.clone())
                    }
                    (None, _) => {
                        let text = format!(
                            "column \"{name}\" specified in USING clause does not exist in {word} table"
                        );
                        Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text))
                    }
                    (Some(_), Some(_)) => {
                        let text =
                            format!("common column name \"{name}\" appears more than once in {word} table");
                        Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, text))
                    }
                }
            };
            let one = side(left, "left")?;
            let mut other = side(right, "right")?;
            super::super::walk::map_columns(&mut other, &mut |column| column + width);
            equal.push(self.operator("=", vec![(one.clone(), *at), (other.clone(), *at)], *at)?);
            let plain = [one.ty.clone(), other.ty.clone()];
            let (exprs, ty) = self.unify(vec![(one, *at), (other, *at)], "JOIN/USING")?;
            let mut exprs = exprs.into_iter();
            let (Some(one), Some(other)) = (exprs.next(), exprs.next()) else {
                return Err(SqlError::internal("USING without two sides"));
            };
            // Either would do for an inner join: one that is no cast.
            let takes_other = kind == JoinKind::Inner && one.ty != plain[0] && other.ty == plain[1];
            let expr = match kind {
                JoinKind::Inner if takes_other => other,
                JoinKind::Inner | JoinKind::Left => one,
                JoinKind::Right => other,
                JoinKind::Full => TypedExpr::new(K::Coalesce(vec![one, other]), ty),
            };
            merged.push((Arc::from(*name), expr));
        }
        let taken = |name: &str| names.iter().any(|(merged, _)| *merged == name);
        scope.visible.retain(|(name, _)| !taken(name));
        merged.append(&mut scope.visible);
        scope.visible = merged;
        Ok(match equal.len() {
            0 => None,
            1 => equal.pop(),
            _ => Some(TypedExpr::new(K::And(equal), SqlType::Bool)),
        })
    }
}

/// A plan that reads values of a query around it through another one, of which it needs no column: now it reads them itself.
fn hand_through(plan: &mut Plan, outer: &[TypedExpr]) {
    plan.for_each_expr_mut(&mut |expr| replace_outer(expr, outer));
    match plan {
        // What its right side reads are the values that it hands in.
        Plan::Apply { left, .. } => hand_through(left, outer),
        plan => plan.for_each_input_mut(&mut |input| hand_through(input, outer)),
    }
}

/// A column of the left side of a join is named on its right side, whose rows may stand alone.
fn other_side(left: &Scope, column: usize) -> SqlError {
    let item = left.tables.iter().find(|item| item.columns.contains(&column));
    let name = item.and_then(|item| item.name.as_deref()).unwrap_or_default();
    let text = format!("invalid reference to FROM-clause entry for table \"{name}\"");
    SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text)
        .with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.")
}

/// Lets the rows of each item be told from those that an outer join makes up: by a column that has no NULL, or by one more.
pub(in crate::bind) fn mark_rows(input: &mut Input) {
    let known = |column: &usize| {
        let ty = input.scope.columns[*column].1.clone();
        !may_be_null(&input.plan, &TypedExpr::column(*column, ty))
    };
    let mut marks: Vec<Option<usize>> =
        input.scope.tables.iter().map(|table| table.columns.clone().find(known)).collect();
    let lacks = |(table, mark): (&ScopeTable, &Option<usize>)| {
        table.there.is_none() && mark.is_none() && !table.columns.is_empty()
    };
    if input.scope.tables.iter().zip(&marks).any(lacks) {
        let width = input.scope.columns.len();
        let there = TypedExpr::literal(Value::Bool(true), SqlType::Bool);
        let name: Arc<str> = "\0there".into();
        match &mut input.plan {
            Plan::Project { exprs, names, .. } => {
                exprs.push(there);
                names.push(Arc::clone(&name));
            }
            plan => {
                let output = plan.output();
                let own = output.iter().enumerate();
                let exprs = own.map(|(at, column)| TypedExpr::column(at, column.seen())).chain([there]);
                let names = output.iter().map(|column| Arc::clone(&column.name));
                *plan = Plan::Project {
                    exprs: exprs.collect(),
                    names: names.chain([Arc::clone(&name)]).collect(),
                    input: Box::new(std::mem::replace(plan, Plan::Values { rows: vec![], columns: vec![] })),
                };
            }
        }
        input.scope.columns.push((name, SqlType::Bool));
        marks.iter_mut().for_each(|mark| *mark = mark.or(Some(width)));
    }
    for (table, mark) in input.scope.tables.iter_mut().zip(marks) {
        table.there = table.there.or(mark);
    }
}

/// The columns of both, those of `right` behind.
pub(in crate::bind) fn both(left: &Scope, right: &Scope) -> Scope {
    let width = left.columns.len();
    let mut scope = left.clone();
    scope.recursive |= right.recursive;
    scope.columns.extend(right.columns.iter().cloned());
    for table in &right.tables {
        let mut table = table.clone();
        table.columns = table.columns.start + width..table.columns.end + width;
        table.there = table.there.map(|column| column + width);
        for (_, expr) in &mut table.merged {
            super::super::walk::map_columns(expr, &mut |column| column + width);
        }
        scope.tables.push(table);
    }
    let noted = right.noted.iter();
    scope.noted.extend(noted.map(|(range, need)| (range.start + width..range.end + width, Rc::clone(need))));
    for (name, expr) in &right.visible {
        let mut expr = expr.clone();
        super::super::walk::map_columns(&mut expr, &mut |column| column + width);
        scope.visible.push((Arc::clone(name), expr));
    }
    scope
}
