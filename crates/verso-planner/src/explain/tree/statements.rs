//! Statements that change rows, and the queries within expressions.

use std::sync::Arc;

use verso_env::stack;
use verso_exec::plan::{
    Delete, ExprKind, IndexAccess, Insert, Merge, Plan, Scanned, Statement as Bound, SubqueryTest, TypedExpr,
    Update,
};

use crate::cost::Known;
use crate::explain::expression::list;
use crate::explain::node::{Field, Node};

use super::scans::named;
use super::{Built, Tree, attach};

impl Tree<'_> {
    /// The nodes of a statement.
    #[must_use]
    pub fn statement(mut self, bound: &Bound) -> Node {
        let mut scans = 0;
        bound.for_each_plan(&mut |plan| count_scans(plan, &mut scans));
        count_in_place(bound, &mut scans);
        self.qualified |= scans > 1;
        let mut node = self.of(bound);
        let mut ctes = Vec::new();
        take_ctes(&mut node, &mut ctes);
        node.children.splice(0..0, ctes);
        node
    }

    pub(super) fn of(&mut self, bound: &Bound) -> Node {
        match bound {
            Bound::Query(plan) => self.plan(plan).node,
            Bound::Insert(insert) => self.insert(insert),
            Bound::Update(update) => {
                let Update { table, columns, joined, access, filter, assignments, returning, .. } = update;
                let found =
                    self.changed_rows(joined.as_ref(), table, access.as_ref(), columns, filter.as_ref());
                let values = assignments.iter().map(|(_, value)| value);
                let returned = returning.iter().flat_map(|returning| &returning.exprs);
                let word = if update.reserves().is_some() { "Reserve" } else { "Update" };
                self.change(word, table, Some(found), values.chain(returned))
            }
            Bound::Delete(Delete { table, columns, joined, access, filter, returning, .. }) => {
                let found =
                    self.changed_rows(joined.as_ref(), table, access.as_ref(), columns, filter.as_ref());
                let returned = returning.iter().flat_map(|returning| &returning.exprs);
                self.change("Delete", table, Some(found), returned)
            }
            Bound::Merge(Merge { table, joined, .. }) => {
                let found = self.plan(joined);
                self.change("Merge", table, Some(found), [])
            }
            Bound::With(with) => {
                let mut main = with.main().map_or_else(Node::default, |main| self.of(main));
                let mut ctes = Vec::new();
                for part in &with.parts {
                    let Some(name) = &part.name else { continue };
                    let mut node = self.of(&part.statement);
                    if let Some(done) = self.probes.and_then(|probes| probes.of_change(&part.statement)) {
                        node.actual.get_or_insert(done);
                    }
                    node.label = Some(format!("CTE {name}"));
                    node.relationship = Some("InitPlan");
                    ctes.push(node);
                }
                main.children.splice(0..0, ctes);
                main
            }
        }
    }

    pub(super) fn insert(&mut self, insert: &Insert) -> Node {
        let mut source = self.plan(&insert.source);
        if matches!(insert.source, Plan::Values { .. }) {
            // The change takes its rows without an operator.
            source.node.actual = None;
        }
        let table = Scanned::from(Arc::clone(&insert.table));
        let mut node = self.change("Insert", &table, Some(source), []);
        if let Some(clause) = &insert.on_conflict {
            let resolution = if clause.update.is_some() { "UPDATE" } else { "NOTHING" };
            node.details.push(("Conflict Resolution", resolution.into()));
            let indexes: Vec<String> = clause.indexes.iter().map(|index| index.name.to_string()).collect();
            if !indexes.is_empty() {
                node.details.push(("Conflict Arbiter Indexes", Field::List(indexes)));
            }
        }
        node
    }

    /// A change of a table's rows.
    pub(super) fn change<'e>(
        &mut self,
        word: &'static str,
        table: &Scanned,
        found: Option<Built>,
        exprs: impl IntoIterator<Item = &'e TypedExpr>,
    ) -> Node {
        let on = named(self.table_name(table), table.called());
        let mut node = Node { title: format!("{word} on {on}"), ..Node::default() };
        node.head.push(("Node Type", "ModifyTable".into()));
        node.head.push(("Operation", word.into()));
        self.name_table(&mut node, table, table.called());
        let names = found.as_ref().map(Built::names).unwrap_or_default();
        let subplans = self.subqueries(exprs, &names);
        if let Some(mut found) = found {
            node.expected = Some((Known { rows: 0.0, ..found.known }, 0.0));
            found.node.relationship = Some("Outer");
            node.children.push(found.node);
        }
        attach(&mut node, subplans);
        node
    }

    /// Where UPDATE and DELETE find their rows: a scan, or the join of FROM or USING.
    pub(super) fn changed_rows(
        &mut self,
        joined: Option<&Plan>,
        table: &Scanned,
        access: Option<&IndexAccess>,
        columns: &[usize],
        filter: Option<&TypedExpr>,
    ) -> Built {
        if let Some(joined) = joined {
            return self.plan(joined);
        }
        let (table, columns, filter) = (table.clone(), columns.to_vec(), filter.cloned());
        let scan = match access {
            None => Plan::TableScan { table, columns, filter },
            Some(access) => Plan::IndexScan { table, columns, access: access.clone(), filter },
        };
        let mut found = self.plan(&scan);
        // It is part of the change, and not measured by itself. What is changed is visited.
        found.node.actual = None;
        found.node.title = found.node.title.replacen("Index Only Scan", "Index Scan", 1);
        if let Some((_, kind)) =
            found.node.head.first_mut().filter(|(_, kind)| *kind == "Index Only Scan".into())
        {
            *kind = "Index Scan".into();
        }
        found
    }

    /// The queries within expressions, as nodes below the operator that they belong to.
    pub(super) fn subqueries<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e TypedExpr>,
        columns: &[String],
    ) -> Vec<Node> {
        let mut found: Vec<(Arc<Plan>, Vec<TypedExpr>, bool)> = Vec::new();
        for expr in exprs {
            expr.any(&mut |part| {
                if let ExprKind::Subquery { plan, outer, test, .. } = &part.kind {
                    let once = outer.is_empty() && matches!(test, SubqueryTest::Scalar);
                    found.push((Arc::clone(plan), outer.clone(), once));
                }
                false
            });
        }
        let mut nodes = Vec::new();
        for (plan, outer, once) in found {
            if !self.built.insert(Arc::as_ptr(&plan)) {
                continue;
            }
            let number = {
                let mut subplans = self.subplans.borrow_mut();
                let known = subplans.iter().position(|known| std::ptr::eq(*known, Arc::as_ptr(&plan)));
                1 + known.unwrap_or_else(|| {
                    subplans.push(Arc::as_ptr(&plan));
                    subplans.len() - 1
                })
            };
            let handed = list(&outer, self.scope(columns));
            let around = std::mem::replace(&mut self.outer, handed);
            let mut node = self.plan(&plan).node;
            self.outer = around;
            let word = if once { "InitPlan" } else { "SubPlan" };
            node.label = Some(format!("{word} {number}"));
            node.relationship = Some(word);
            nodes.push(node);
        }
        nodes
    }
}

/// Takes the queries of WITH from below the operators that read them first: they stand below the statement's topmost one, each
/// behind those that it reads.
fn take_ctes(node: &mut Node, taken: &mut Vec<Node>) {
    if stack::check().is_err() {
        return;
    }
    for mut child in std::mem::take(&mut node.children) {
        take_ctes(&mut child, taken);
        match &child.label {
            Some(label) if label.starts_with("CTE ") => taken.push(child),
            _ => node.children.push(child),
        }
    }
}

/// The same of changes that look at their table row by row: the table, and the queries in what they say of a row.
fn count_in_place(bound: &Bound, scans: &mut usize) {
    let exprs: Vec<&TypedExpr> = match bound {
        Bound::Update(Update { joined: None, filter, assignments, .. }) => {
            filter.iter().chain(assignments.iter().map(|(_, value)| value)).collect()
        }
        Bound::Delete(Delete { joined: None, filter, .. }) => filter.iter().collect(),
        Bound::With(with) => {
            return with.parts.iter().for_each(|part| count_in_place(&part.statement, scans));
        }
        _ => return,
    };
    *scans += 1;
    exprs.into_iter().for_each(|expr| count_asked(expr, scans));
}

/// The scans of the queries in an expression.
fn count_asked(expr: &TypedExpr, scans: &mut usize) {
    expr.any(&mut |part| {
        if let ExprKind::Subquery { plan, .. } = &part.kind {
            count_scans(plan, scans);
        }
        false
    });
}

/// Counts scans up to the second.
fn count_scans(plan: &Plan, scans: &mut usize) {
    if *scans > 1 || stack::check().is_err() {
        return;
    }
    if let Plan::TableScan { .. }
    | Plan::IndexScan { .. }
    | Plan::SystemScan { .. }
    | Plan::FunctionScan { .. }
    | Plan::Shared { .. }
    | Plan::FileScan { .. }
    | Plan::CurrentRow { .. } = plan
    {
        *scans += 1;
    }
    plan.exprs().into_iter().for_each(|expr| count_asked(expr, scans));
    plan.inputs().into_iter().for_each(|input| count_scans(input, scans));
}
