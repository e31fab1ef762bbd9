//! Operators as nodes: what PostgreSQL calls them, and what it says of them.

mod scans;
mod statements;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::SystemView;
use verso_env::stack;
use verso_exec::exec::Probes;
use verso_exec::plan::{
    AggregateCall, CursorName, ExprKind, JoinKind, Plan, SetCall, SetOperation, SortKey, TypedExpr, With,
};
use verso_types::SqlType;

use super::expression::{Scope, list, text};
use super::node::{Field, Node};
use crate::cost::Known;
use crate::estimate::Estimate;
use crate::hints::JoinMethod;

/// Makes the nodes of one statement.
pub struct Tree<'p> {
    estimate: Estimate<'p>,
    /// What operators have done.
    probes: Option<&'p Probes>,
    /// With what each yields.
    verbose: bool,
    /// Columns are shown with their tables: there are several.
    qualified: bool,
    /// How often each table was met.
    tables: HashMap<Arc<str>, usize>,
    /// Plans read in several places that are shown already.
    shown: HashSet<*const Plan>,
    /// Queries in expressions, in the order of their numbers; and those that are shown already.
    subplans: RefCell<Vec<*const Plan>>,
    built: HashSet<*const Plan>,
    /// What the query around hands in, as texts.
    outer: Vec<String>,
}

/// An operator, and what the one above it needs to know.
struct Built {
    node: Node,
    /// Its columns as texts, and the bytes of each.
    columns: Vec<(String, f64)>,
    known: Known,
}

impl Built {
    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    /// It is taken to have so many rows.
    fn expect(&mut self, rows: f64) {
        self.known.rows = rows;
        if let Some((known, _)) = &mut self.node.expected {
            known.rows = rows;
        }
    }
}

impl<'p> Tree<'p> {
    /// Nodes with these estimates.
    #[must_use]
    pub fn new(estimate: Estimate<'p>, verbose: bool) -> Tree<'p> {
        Tree {
            estimate,
            probes: None,
            verbose,
            qualified: verbose,
            tables: HashMap::new(),
            shown: HashSet::new(),
            subplans: RefCell::default(),
            built: HashSet::new(),
            outer: Vec::new(),
        }
    }

    /// The same, with what operators have done.
    #[must_use]
    pub fn measured(self, probes: &'p Probes) -> Tree<'p> {
        Tree { probes: Some(probes), ..self }
    }

    /// Names and widths of the columns of groups: their keys, as they are shown, and aggregates.
    fn grouped(
        &self,
        (keys, group_by): (Vec<String>, &[TypedExpr]),
        aggregates: &[AggregateCall],
        (names, below): (&[String], &[(String, f64)]),
    ) -> Vec<(String, f64)> {
        let keys = keys.into_iter().zip(group_by).map(|(key, expr)| {
            let width = match expr.kind {
                ExprKind::Column(at) => below.get(at).map_or(8.0, |column| column.1),
                _ => self.estimate.width(&expr.ty),
            };
            (key, width)
        });
        let scope = self.scope(names);
        let calls =
            aggregates.iter().map(|call| (short(aggregate(call, scope)), self.estimate.width(&call.ty)));
        keys.chain(calls).collect()
    }

    fn scope<'a>(&'a self, columns: &'a [String]) -> Scope<'a> {
        Scope { columns, outer: &self.outer, subplans: &self.subplans }
    }

    /// A condition: what of it is asked once, and what of each row.
    fn filters(&self, condition: &TypedExpr, names: &[String]) -> Vec<(&'static str, Field)> {
        let shown = |part: &TypedExpr| Field::Text(text(part, self.scope(names)));
        let (once, rest) = match condition.asked_once() {
            Some((once, rest)) => (Some(once), rest),
            None => (None, Some(condition.clone())),
        };
        let once = once.iter().map(|once| ("One-Time Filter", shown(once)));
        once.chain(rest.iter().map(|rest| ("Filter", shown(rest)))).collect()
    }

    fn plan(&mut self, operator: &Plan) -> Built {
        if stack::check().is_err() {
            let node = Node { title: "…".to_string(), ..Node::default() };
            return Built { node, columns: Vec::new(), known: Known::default() };
        }
        let actual = self.probes.map(|probes| probes.of(operator).unwrap_or_default());
        if let Plan::Estimated { input, rows } = operator {
            let mut built = self.plan(input);
            built.expect(*rows);
            return built;
        }
        if let Plan::Project { input, .. } | Plan::Filter { input, .. } = operator {
            let below = self.plan(input);
            return self.folded(operator, below, actual);
        }
        let mut inputs: Vec<Built> = Vec::new();
        let again = match operator {
            Plan::Shared { plan, .. } => !self.shown.insert(Arc::as_ptr(plan)),
            _ => false,
        };
        if let Plan::Apply { left, right, outer, .. } = operator {
            let left = self.plan(left);
            let handed = list(outer, self.scope(&left.names()));
            let around = std::mem::replace(&mut self.outer, handed);
            let right = self.plan(right);
            self.outer = around;
            inputs.extend([left, right]);
        } else if !again {
            inputs.extend(operator.inputs().into_iter().map(|input| self.plan(input)));
        }
        let known: Vec<Known> = inputs.iter().map(|input| input.known).collect();
        let known = self.estimate.known(operator, &known);
        let below: Vec<(String, f64)> = inputs.iter().flat_map(|input| input.columns.clone()).collect();
        let names: Vec<String> = below.iter().map(|(name, _)| name.clone()).collect();
        let mut node = Node { actual, ..Node::default() };
        let columns = self.describe(operator, &mut node, &below, &names);
        if self.verbose && !columns.is_empty() {
            let output = columns.iter().map(|(name, _)| name.clone()).collect();
            node.details.insert(0, ("Output", Field::List(output)));
        }
        node.expected = Some((known, columns.iter().map(|(_, bytes)| bytes).sum()));
        let words: &[&'static str] = match operator {
            Plan::Append { .. } => &["Member"],
            _ => &["Outer", "Inner"],
        };
        if let Plan::Limit { input, limit: Some(_), ties, .. } = operator
            && let (Plan::Sort { .. }, true, Some(sort)) = (&**input, ties.is_empty(), inputs.first_mut())
        {
            sort.node.keeps_the_first();
        }
        for (n, mut input) in inputs.into_iter().enumerate() {
            input.node.relationship = words.get(n).or(words.last()).copied();
            if let Some(name) = shared_name(operator) {
                input.node.label = Some(format!("CTE {name}"));
                input.node.relationship = Some("InitPlan");
            }
            node.children.push(input.node);
        }
        // What a scan says of a row is over the columns that it reads.
        let own: Vec<String> = match operator.inputs().is_empty() {
            true => columns.iter().map(|(name, _)| name.clone()).collect(),
            false => names,
        };
        let subplans = self.subqueries(operator.exprs(), &own);
        attach(&mut node, subplans);
        Built { node, columns, known }
    }

    /// A projection or a condition, as part of the operator below it.
    fn folded(&mut self, operator: &Plan, below: Built, actual: Option<verso_exec::exec::Measured>) -> Built {
        let names = below.names();
        let known = self.estimate.known(operator, &[below.known]);
        let Built { mut node, mut columns, .. } = below;
        let subplans = self.subqueries(operator.exprs(), &names);
        match operator {
            Plan::Project { exprs, .. } => {
                columns = (exprs.iter())
                    .map(|expr| match expr.kind {
                        ExprKind::Column(at) if at < columns.len() => columns[at].clone(),
                        _ => (short(text(expr, self.scope(&names))), self.estimate.width(&expr.ty)),
                    })
                    .collect();
                node.details.retain(|(key, _)| *key != "Output");
                if self.verbose && !columns.is_empty() {
                    let output = columns.iter().map(|(name, _)| name.clone()).collect();
                    node.details.insert(0, ("Output", Field::List(output)));
                }
            }
            Plan::Filter { predicate, .. } => {
                let parts = self.filters(predicate, &names);
                if node.details.iter().any(|(key, _)| *key == "Filter") {
                    // A condition of its own above an operator that has one.
                    node.relationship = Some("Outer");
                    node = Node {
                        title: "Result".to_string(),
                        head: vec![("Node Type", "Result".into())],
                        children: vec![node],
                        ..Node::default()
                    };
                }
                node.details.extend(parts);
                if let (Some(own), Some(below)) =
                    (actual.filter(|own| own.loops > 0), node.actual.filter(|below| below.loops > 0))
                {
                    let removed = below.rows.saturating_sub(own.rows) / own.loops;
                    if removed > 0 {
                        node.details.push(("Rows Removed by Filter", Field::Count(removed)));
                    }
                }
            }
            _ => {}
        }
        if let Some(own) = actual.filter(|own| own.loops > 0) {
            let below = node.actual.unwrap_or_default();
            node.actual = Some(own.with_memory_of(&below));
        }
        node.expected = Some((known, columns.iter().map(|(_, bytes)| bytes).sum()));
        attach(&mut node, subplans);
        Built { node, columns, known }
    }

    /// What an operator is called and what belongs to it; the columns that it yields.
    fn describe(
        &mut self,
        operator: &Plan,
        node: &mut Node,
        below: &[(String, f64)],
        names: &[String],
    ) -> Vec<(String, f64)> {
        let title = |node: &mut Node, kind: &'static str, title: String| {
            node.title = title;
            node.head.push(("Node Type", kind.into()));
        };
        let plain = |kind: &'static str| kind.to_string();
        match operator {
            Plan::Values { rows, columns } => {
                let one = rows.len() <= 1;
                match one {
                    true => title(node, "Result", plain("Result")),
                    false => title(node, "Values Scan", "Values Scan on \"*VALUES*\"".to_string()),
                }
                if rows.is_empty() {
                    node.details.push(("One-Time Filter", "false".into()));
                }
                if let [row] = rows.as_slice() {
                    let scope = self.scope(names);
                    return row
                        .iter()
                        .map(|expr| (short(text(expr, scope)), self.estimate.width(&expr.ty)))
                        .collect();
                }
                let name = |n: usize| format!("\"*VALUES*\".column{}", n + 1);
                let columns = columns.iter().enumerate();
                return columns.map(|(n, column)| (name(n), self.estimate.width(&column.ty))).collect();
            }
            Plan::TableScan { table, columns, filter } => {
                return self.scan(node, table, columns, None, filter.as_ref());
            }
            Plan::IndexScan { table, columns, access, filter } => {
                return self.scan(node, table, columns, Some(access), filter.as_ref());
            }
            Plan::CurrentRow { table, columns, cursor } => {
                let alias = self.alias(table.called());
                title(
                    node,
                    "Tid Scan",
                    format!("Tid Scan on {}", scans::named(self.table_name(table), &alias)),
                );
                self.name_table(node, table, &alias);
                let cursor = match cursor {
                    CursorName::Named(name) => name.to_string(),
                    CursorName::Variable(slot) => format!("${}", slot + 1),
                    CursorName::Place(place) => place.to_string(),
                };
                node.details.push(("TID Cond", Field::Text(format!("CURRENT OF {cursor}"))));
                return self.table_columns(table, columns, &alias);
            }
            Plan::SystemScan { view, output, keys, .. } => {
                let is_key = |column: usize| matches!(view, SystemView::Relation(relation) if relation.get().is_key(column));
                let keys: Vec<_> = keys.iter().filter(|(column, _)| is_key(*column)).cloned().collect();
                if !keys.is_empty() {
                    let condition = self.system_condition(*view, &keys);
                    node.details.push(("Key Cond", Field::Text(condition)));
                }
                title(node, "Seq Scan", "Seq Scan on ".to_string());
                node.head.push(("Relation Name", view.name().into()));
                return self.leaf(node, view.name().to_string(), output);
            }
            Plan::FileScan { table, .. } => {
                let name = table.function;
                title(node, "Function Scan", format!("Function Scan on {name}"));
                node.head.push(("Function Name", Field::Text(name.to_owned())));
                let output = operator.output();
                return self.output(output.iter().map(|column| (column.name.to_string(), &column.ty)));
            }
            Plan::FunctionScan { call, columns } => {
                let name = call_name(call);
                title(node, "Function Scan", "Function Scan on ".to_string());
                node.head.push(("Function Name", Field::Text(name.clone())));
                if self.verbose {
                    let args = list(call.args(), self.scope(names)).join(", ");
                    node.details.push(("Function Call", Field::Text(format!("{name}({args})"))));
                }
                return self.leaf(node, name, columns);
            }
            Plan::Aggregate { group_by, aggregates, sets, .. } => {
                let strategy = match (sets, group_by.is_empty()) {
                    (Some(_), _) => "Mixed",
                    (None, true) => "Plain",
                    (None, false) => "Hashed",
                };
                let word = match strategy {
                    "Mixed" => "MixedAggregate",
                    "Plain" => "Aggregate",
                    _ => "HashAggregate",
                };
                title(node, "Aggregate", plain(word));
                node.head.push(("Strategy", strategy.into()));
                let scope = self.scope(names);
                let keys = list(group_by, scope);
                match sets {
                    Some(sets) => {
                        for set in &sets.sets {
                            let set: Vec<String> =
                                set.iter().filter_map(|key| keys.get(*key)).cloned().collect();
                            let set = if set.is_empty() { vec!["()".to_string()] } else { set };
                            node.details.push(("Group Key", Field::List(set)));
                        }
                    }
                    None if !keys.is_empty() => node.details.push(("Group Key", Field::List(keys.clone()))),
                    None => {}
                }
                let grouped = self.grouped((keys, group_by), aggregates, (names, below));
                let groupings =
                    sets.iter().flat_map(|sets| &sets.calls).map(|_| ("GROUPING".to_string(), 4.0));
                return grouped.into_iter().chain(groupings).collect();
            }
            Plan::SortedAggregate { group_by, aggregates, .. } => {
                title(node, "Aggregate", plain("GroupAggregate"));
                node.head.push(("Strategy", "Sorted".into()));
                let scope = self.scope(names);
                let keys = list(group_by, scope);
                node.details.push(("Group Key", Field::List(keys.clone())));
                return self.grouped((keys, group_by), aggregates, (names, below));
            }
            Plan::Window { partition_by, order_by, calls, until, .. } => {
                title(node, "WindowAgg", plain("WindowAgg"));
                let scope = self.scope(names);
                let mut parts = Vec::new();
                if !partition_by.is_empty() {
                    parts.push(format!("PARTITION BY {}", list(partition_by, scope).join(", ")));
                }
                if !order_by.is_empty() {
                    parts.push(format!("ORDER BY {}", sort_keys(order_by, scope).join(", ")));
                }
                node.details.push(("Window", Field::Text(format!("({})", parts.join(" ")))));
                let own = calls.iter().map(|call| {
                    let args = list(&call.args, scope).join(", ");
                    (format!("{}({args}) OVER (?)", call.function.name()), self.estimate.width(&call.ty))
                });
                let columns: Vec<(String, f64)> = below.iter().cloned().chain(own).collect();
                if let Some(until) = until {
                    let names: Vec<String> = columns.iter().map(|column| column.0.clone()).collect();
                    node.details.push(("Run Condition", Field::Text(text(until, self.scope(&names)))));
                }
                return columns;
            }
            Plan::ProjectSet { calls, ordinality, .. } => {
                title(node, "ProjectSet", plain("ProjectSet"));
                let mut columns = below.to_vec();
                for call in calls {
                    let args = list(call.call.args(), self.scope(names)).join(", ");
                    let name = format!("{}({args})", call_name(&call.call));
                    columns.extend(
                        (call.columns.iter())
                            .map(|column| (short(name.clone()), self.estimate.width(&column.ty))),
                    );
                }
                if *ordinality {
                    columns.push(("ordinality".to_string(), 8.0));
                }
                return columns;
            }
            Plan::Sort { keys, sorted, .. } => {
                let name = if *sorted > 0 { "Incremental Sort" } else { "Sort" };
                title(node, name, plain(name));
                node.details.push(("Sort Key", Field::List(sort_keys(keys, self.scope(names)))));
                if *sorted > 0 {
                    let presorted = sort_keys(&keys[..*sorted], self.scope(names));
                    node.details.push(("Presorted Key", Field::List(presorted)));
                }
                if let (0, Some(actual)) = (sorted, node.actual.filter(|actual| actual.loops > 0)) {
                    let (method, bytes) = match actual.spilled_bytes {
                        0 => ("quicksort", actual.peak_bytes),
                        bytes => ("external merge", bytes),
                    };
                    let sorted = Field::Sorted { method, bytes, on_disk: actual.spilled_bytes > 0 };
                    node.details.push(("Sort Method", sorted));
                }
            }
            Plan::Limit { .. } => title(node, "Limit", plain("Limit")),
            Plan::LockRows { .. } => title(node, "LockRows", plain("LockRows")),
            Plan::Past { moment, .. } => {
                title(node, "Past State", plain("Past State"));
                node.details.push(("As Of", Field::Text(text(moment, self.scope(&[])))));
            }
            Plan::Barrier { .. } => title(node, "Subquery Scan", plain("Subquery Scan")),
            // The input was shown in its place.
            Plan::Estimated { .. } => {}
            Plan::Single { .. } => title(node, "Single Row", plain("Single Row")),
            Plan::Distinct { .. } => {
                title(node, "Aggregate", plain("HashAggregate"));
                node.head.push(("Strategy", "Hashed".into()));
                node.details.push(("Group Key", Field::List(names.to_vec())));
            }
            Plan::DistinctOn { keys, .. } => {
                title(node, "Unique", plain("Unique"));
                if self.verbose {
                    node.details.push(("Unique Key", Field::List(list(keys, self.scope(names)))));
                }
            }
            Plan::External { columns } => {
                title(node, "External Rows", plain("External Rows"));
                return self.output(columns.iter().map(|column| (column.name.to_string(), &column.ty)));
            }
            Plan::Append { inputs, pruning } => {
                title(node, "Append", plain("Append"));
                if let Some(removed) = pruning.as_ref().map(|it| it.removed).filter(|removed| *removed > 0) {
                    node.details.push(("Subplans Removed", Field::Count(removed as u64)));
                }
                let width = inputs.first().map_or(0, |input| input.output().len());
                return below.iter().take(width).cloned().collect();
            }
            Plan::Join { equal, filter, kind, left, .. } => {
                let method = if equal.is_empty() { JoinMethod::Loop } else { JoinMethod::Hash };
                self.join(node, method, join_word(*kind));
                self.conditions(node, ("Hash Cond", equal), filter.as_ref(), left.output().len(), names);
            }
            Plan::MergeJoin { equal, filter, left, .. } => {
                self.join(node, JoinMethod::Merge, join_word(JoinKind::Inner));
                self.conditions(node, ("Merge Cond", equal), filter.as_ref(), left.output().len(), names);
            }
            Plan::Apply { kind, filter, left, .. } => {
                self.join(node, JoinMethod::Loop, join_word(*kind));
                self.conditions(node, ("Hash Cond", &[]), filter.as_ref(), left.output().len(), names);
            }
            Plan::Semi { equal, filter, anti, left, .. } => {
                let method = if equal.is_empty() { JoinMethod::Loop } else { JoinMethod::Hash };
                self.join(node, method, if *anti { "Anti" } else { "Semi" });
                let width = left.output().len();
                self.conditions(node, ("Hash Cond", equal), filter.as_ref(), width, names);
                return below.iter().take(width).cloned().collect();
            }
            Plan::SetOperation { operation, all, left, .. } => {
                let word = match operation {
                    SetOperation::Intersect => "Intersect",
                    SetOperation::Except => "Except",
                };
                let word = format!("{word}{}", if *all { " All" } else { "" });
                title(node, "SetOp", format!("HashSetOp {word}"));
                node.head.push(("Strategy", "Hashed".into()));
                node.head.push(("Command", Field::Text(word)));
                return below.iter().take(left.output().len()).cloned().collect();
            }
            Plan::Shared { columns, .. } => {
                title(node, "CTE Scan", plain("CTE Scan"));
                return self.query_of_with(node, columns);
            }
            Plan::Recursive { base, .. } => {
                title(node, "Recursive Union", plain("Recursive Union"));
                return below.iter().take(base.output().len()).cloned().collect();
            }
            Plan::Transition { columns, .. } => {
                title(node, "Named Tuplestore Scan", plain("Named Tuplestore Scan"));
                return self.output(columns.iter().map(|column| (column.name.to_string(), &column.ty)));
            }
            Plan::WorkTable { number, columns } => {
                match *number >= With::FIRST_NUMBER {
                    true => title(node, "CTE Scan", plain("CTE Scan")),
                    false => title(node, "WorkTable Scan", plain("WorkTable Scan")),
                }
                return self.query_of_with(node, columns);
            }
            Plan::Project { .. } | Plan::Filter { .. } => {} // part of the operator below
        }
        below.to_vec()
    }

    fn output<'c>(&self, columns: impl Iterator<Item = (String, &'c SqlType)>) -> Vec<(String, f64)> {
        columns.map(|(name, ty)| (name, self.estimate.width(ty))).collect()
    }

    /// The name under which a table's columns are shown: its own, with a number from the second time on.
    fn alias(&mut self, name: &str) -> String {
        let times = self.tables.entry(Arc::from(name)).or_default();
        *times += 1;
        if *times == 1 { name.to_string() } else { format!("{name}_{}", *times - 1) }
    }

    /// Names a join.
    fn join(&self, node: &mut Node, method: JoinMethod, kind: &'static str) {
        let (word, way) = match method {
            JoinMethod::Hash => ("Hash Join", "Hash"),
            JoinMethod::Merge => ("Merge Join", "Merge"),
            JoinMethod::Loop => ("Nested Loop", "Nested Loop"),
        };
        node.title = match kind {
            "Inner" => word.to_string(),
            kind => format!("{way} {kind} Join"),
        };
        node.head.push(("Node Type", word.into()));
        node.head.push(("Join Type", kind.into()));
    }

    fn conditions(
        &self,
        node: &mut Node,
        (name, equal): (&'static str, &[(TypedExpr, TypedExpr)]),
        filter: Option<&TypedExpr>,
        width: usize,
        names: &[String],
    ) {
        if !equal.is_empty() {
            let (left, right) = names.split_at(width.min(names.len()));
            let pair = |(a, b): &(TypedExpr, TypedExpr)| {
                format!("({} = {})", text(a, self.scope(left)), text(b, self.scope(right)))
            };
            let pairs: Vec<String> = equal.iter().map(pair).collect();
            let all =
                if let [one] = pairs.as_slice() { one.clone() } else { format!("({})", pairs.join(" AND ")) };
            node.details.push((name, Field::Text(all)));
        }
        if let Some(filter) = filter {
            node.details.push(("Join Filter", Field::Text(text(filter, self.scope(names)))));
        }
    }
}

/// What WITH calls the query that several read.
fn shared_name(operator: &Plan) -> Option<&Arc<str>> {
    match operator {
        Plan::Shared { columns, .. } => columns.first()?.of.as_ref()?.own.as_ref(),
        _ => None,
    }
}

/// Puts the nodes of queries in expressions among an operator's: those computed once before its inputs.
fn attach(node: &mut Node, subplans: Vec<Node>) {
    let (once, each): (Vec<Node>, Vec<Node>) =
        subplans.into_iter().partition(|node| node.relationship == Some("InitPlan"));
    node.children.splice(0..0, once);
    node.children.extend(each);
}

/// A text of an expression that stands in others: names would grow without bounds otherwise.
fn short(text: String) -> String {
    const CHARACTERS_MAX: usize = 400;
    if text.len() <= CHARACTERS_MAX {
        text
    } else {
        text.chars().take(CHARACTERS_MAX).chain(['…']).collect()
    }
}

fn call_name(call: &SetCall) -> String {
    match call {
        SetCall::Builtin { function, .. } => function.name.to_string(),
        SetCall::User { function, .. } => function.name.to_string(),
    }
}

fn aggregate(call: &AggregateCall, scope: Scope<'_>) -> String {
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let args = if call.args.is_empty() { "*".to_string() } else { list(&call.args, scope).join(", ") };
    let filter = call.filter.as_ref().map(|filter| format!(" FILTER (WHERE {})", text(filter, scope)));
    format!("{}({distinct}{args}){}", call.function.name, filter.unwrap_or_default())
}

fn sort_keys(keys: &[SortKey], scope: Scope<'_>) -> Vec<String> {
    let key = |key: &SortKey| {
        let direction = if key.descending { " DESC" } else { "" };
        let nulls = match (key.descending, key.nulls_first) {
            (false, true) => " NULLS FIRST",
            (true, false) => " NULLS LAST",
            _ => "",
        };
        let shown = text(&key.expr, scope);
        // What is computed stands in parentheses.
        let shown = if shown.contains('(') && !shown.starts_with('(') { format!("({shown})") } else { shown };
        format!("{shown}{direction}{nulls}")
    };
    keys.iter().map(key).collect()
}

fn join_word(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner",
        JoinKind::Left => "Left",
        JoinKind::Right => "Right",
        JoinKind::Full => "Full",
    }
}
