//! All that a statement consists of, wherever it stands: its plans, the expressions outside of them, the tables that it changes. Who
//! asks what a statement may come to do asks here.

use std::sync::Arc;

use verso_catalog::TableDef;

use super::{Delete, Insert, MergeAction, Plan, Returning, RowRules, Statement, TypedExpr, Update};

/// What a statement consists of.
#[derive(Default)]
pub(crate) struct Parts<'s> {
    /// What its rows come from.
    pub plans: Vec<&'s Plan>,
    /// Outside of the plans.
    pub exprs: Vec<&'s TypedExpr>,
    /// Those of RETURNING, which are among them.
    pub returned: Vec<&'s TypedExpr>,
    /// The tables that it changes.
    pub tables: Vec<&'s Arc<TableDef>>,
}

impl<'s> Parts<'s> {
    fn statement(&mut self, statement: &'s Statement) {
        match statement {
            Statement::Query(plan) => self.plans.push(plan),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => {
                self.plans.push(&merge.joined);
                self.tables.push(&merge.table);
                self.exprs.extend(merge.guards.iter().flatten().map(|guard| &guard.condition));
                for action in &merge.actions {
                    match action {
                        MergeAction::Update(update) => self.update(update),
                        MergeAction::Delete(delete) => self.delete(delete),
                        MergeAction::Insert(insert) => self.insert(insert),
                    }
                }
            }
            Statement::With(with) => with.parts.iter().for_each(|part| self.change(&part.statement)),
        }
    }

    /// A part of a WITH, which has no WITH of its own.
    fn change(&mut self, statement: &'s Statement) {
        if !matches!(statement, Statement::With(_)) {
            self.statement(statement);
        }
    }

    fn insert(&mut self, insert: &'s Insert) {
        self.plans.push(&insert.source);
        self.inserts(insert);
        insert.routes.iter().for_each(|route| self.inserts(route));
    }

    fn inserts(&mut self, insert: &'s Insert) {
        self.tables.push(&insert.table);
        self.exprs.extend(&insert.values);
        self.rules(&insert.rules);
        self.returning(insert.returning.as_ref());
        let Some(update) = insert.on_conflict.as_ref().and_then(|clause| clause.update.as_ref()) else {
            return;
        };
        self.exprs.extend(update.assignments.iter().map(|(_, value)| value));
        self.exprs.extend(update.filter.iter().chain(update.shown.iter().map(|check| &check.condition)));
        update.rules.iter().for_each(|rules| self.rules(rules));
    }

    fn update(&mut self, update: &'s Update) {
        self.updates(update);
        if let Some(parts) = &update.parts {
            parts.leaves.iter().for_each(|leaf| self.updates(leaf));
            self.insert(&parts.moved);
        }
    }

    fn updates(&mut self, update: &'s Update) {
        self.tables.push(&update.table);
        self.plans.extend(&update.joined);
        self.exprs.extend(update.filter.iter().chain(update.assignments.iter().map(|(_, value)| value)));
        self.rules(&update.rules);
        self.returning(update.returning.as_ref());
    }

    fn delete(&mut self, delete: &'s Delete) {
        for delete in std::iter::once(delete).chain(&delete.parts) {
            self.tables.push(&delete.table);
            self.plans.extend(&delete.joined);
            self.exprs.extend(&delete.filter);
            self.returning(delete.returning.as_ref());
        }
    }

    fn rules(&mut self, rules: &'s RowRules) {
        self.exprs.extend(rules.checks.iter().map(|check| &check.condition));
        self.exprs.extend(rules.generated.iter().map(|generated| &generated.value));
        self.exprs.extend(rules.partition.iter().flat_map(|rule| rule.keys()));
    }

    fn returning(&mut self, returning: Option<&'s Returning>) {
        let exprs = returning.iter().flat_map(|returning| &returning.exprs);
        self.exprs.extend(exprs.clone());
        self.returned.extend(exprs);
    }
}

impl Statement {
    /// What it consists of.
    pub(crate) fn parts(&self) -> Parts<'_> {
        let mut parts = Parts::default();
        parts.statement(self);
        parts
    }

    /// Whether functions of the catalog are called anywhere in it, also in its checks, its policies, and its RETURNING.
    pub(crate) fn calls_users(&self) -> bool {
        let parts = self.parts();
        let of_plan = |plan: &Plan| plan.any(&mut |part| part.calls_users());
        parts.plans.into_iter().any(of_plan)
            || parts.exprs.into_iter().any(|expr| {
                let mut found = expr.calls_users();
                expr.for_each_subquery(&mut |plan| found |= of_plan(plan));
                found
            })
    }
}
