//! Bound statements as text: one line an operator, what belongs to it below, its inputs behind that, each deeper by one.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_env::stack;
use verso_exec::exec::{Measured, Probes};
use verso_exec::plan::{
    AggregateCall, Delete, ExprKind, IndexAccess, Insert, JoinKind, KeyMatch, Merge, Plan, SetCall,
    SetOperation, SortKey, Statement as Bound, TypedExpr, Update, With,
};

use super::expression::{list, text};

/// The lines of a plan.
#[derive(Default)]
pub struct Lines<'p> {
    lines: Vec<String>,
    /// What its operators have done.
    probes: Option<&'p Probes<'p>>,
    /// Plans read in several places that are shown already, by address.
    shown: HashSet<*const Plan>,
}

impl<'p> Lines<'p> {
    /// Lines that say what operators have done.
    pub fn measured(probes: &'p Probes<'p>) -> Lines<'p> {
        Lines { probes: Some(probes), ..Lines::default() }
    }

    /// Adds a line.
    pub fn add(&mut self, depth: usize, line: impl Display) {
        self.lines.push(format!("{}{line}", "  ".repeat(depth)));
    }

    /// The lines, first to last.
    pub fn finish(self) -> Vec<String> {
        self.lines
    }

    /// Adds a statement.
    pub fn statement(&mut self, bound: &Bound) {
        match bound {
            Bound::Query(input) => self.plan(input, 0),
            Bound::Insert(insert) => self.insert(insert),
            Bound::Update(update) => {
                let Update {
                    table,
                    columns,
                    joined,
                    access,
                    filter,
                    assignments,
                    named,
                    checks: _,
                    returning,
                } = update;
                let assigned: Vec<usize> = assignments[..*named].iter().map(|(column, _)| *column).collect();
                let assigned = column_names(table, &assigned).join(", ");
                self.add(0, format!("Update on {}: {assigned}", table.name));
                self.changed_rows(joined.as_ref(), table, access.as_ref(), columns, filter.as_ref());
                let values = assignments.iter().map(|(_, value)| value);
                let returned = returning.iter().flat_map(|returning| &returning.exprs);
                self.subplans(filter.iter().chain(values).chain(returned), 1);
            }
            Bound::With(with) => {
                with.main().into_iter().for_each(|main| self.statement(main));
                for part in &with.parts {
                    let Some(name) = &part.name else { continue };
                    self.add(1, format!("CTE {name}"));
                    let mut inner = Lines {
                        shown: std::mem::take(&mut self.shown),
                        probes: self.probes,
                        ..Lines::default()
                    };
                    inner.statement(&part.statement);
                    self.shown = std::mem::take(&mut inner.shown);
                    inner.finish().into_iter().for_each(|line| self.add(2, line));
                }
            }
            Bound::Merge(Merge { table, joined, actions: _, output: _ }) => {
                self.add(0, format!("Merge on {}", table.name));
                self.plan(joined, 1);
            }
            Bound::Delete(Delete { table, columns, joined, access, filter, returning }) => {
                self.add(0, format!("Delete on {}", table.name));
                self.changed_rows(joined.as_ref(), table, access.as_ref(), columns, filter.as_ref());
                let returned = returning.iter().flat_map(|returning| &returning.exprs);
                self.subplans(filter.iter().chain(returned), 1);
            }
        }
    }

    fn insert(&mut self, insert: &Insert) {
        let Insert { table, source, values: _, spool, checks: _, on_conflict, .. } = insert;
        self.add(0, format!("Insert on {}", table.name));
        if let Some(clause) = on_conflict {
            let resolution = if clause.update.is_some() { "UPDATE" } else { "NOTHING" };
            self.add(1, format!("Conflict Resolution: {resolution}"));
            let indexes: Vec<&str> = clause.indexes.iter().map(|index| &*index.name).collect();
            if !indexes.is_empty() {
                self.add(1, format!("Conflict Arbiter Indexes: {}", indexes.join(", ")));
            }
        }
        if *spool {
            self.add(1, "Spool");
        }
        self.plan(source, if *spool { 2 } else { 1 });
    }

    /// Where UPDATE and DELETE find their rows: a scan, or the join of FROM or USING.
    fn changed_rows(
        &mut self,
        joined: Option<&Plan>,
        table: &TableDef,
        access: Option<&IndexAccess>,
        columns: &[usize],
        filter: Option<&TypedExpr>,
    ) {
        match joined {
            Some(joined) => self.plan(joined, 1),
            None => {
                self.add(1, scan_line(table, columns, access, false));
                self.scan_details(table, columns, access, filter, 2);
            }
        }
    }

    /// What belongs to a scan: the range of its index, and the condition on its rows.
    fn scan_details(
        &mut self,
        table: &TableDef,
        columns: &[usize],
        access: Option<&IndexAccess>,
        filter: Option<&TypedExpr>,
        depth: usize,
    ) {
        let condition = access.map(|access| index_condition(table, access)).unwrap_or_default();
        if !condition.is_empty() {
            self.add(depth, format!("Index Cond: {condition}"));
        }
        if let Some(filter) = filter {
            self.add(depth, format!("Filter: {}", text(filter, &column_names(table, columns))));
        }
    }

    /// The plans of queries within expressions.
    fn subplans<'e>(&mut self, exprs: impl IntoIterator<Item = &'e TypedExpr>, depth: usize) {
        for expr in exprs {
            expr.any(&mut |part| {
                if let ExprKind::Subquery { plan: inner, .. } = &part.kind {
                    self.add(depth, "SubPlan");
                    self.plan(inner, depth + 1);
                }
                false
            });
        }
    }

    fn plan(&mut self, operator: &Plan, depth: usize) {
        if stack::check().is_err() {
            return self.add(depth, "…");
        }
        self.add(depth, format!("{}{}", headline(operator), self.actual(operator)));
        self.details(operator, depth + 1);
        if let Plan::Shared { plan, .. } = operator
            && !self.shown.insert(Arc::as_ptr(plan))
        {
            return;
        }
        for input in operator.inputs() {
            self.plan(input, depth + 1);
        }
        self.subplans(operator.exprs(), depth + 1);
    }

    /// What an operator has done, by loop; nothing where it did not run by itself.
    fn actual(&self, operator: &Plan) -> String {
        let Some(probes) = self.probes else { return String::new() };
        let Some(Measured { loops, rows, first_nanos, nanos }) =
            probes.of(operator).filter(|own| own.loops > 0)
        else {
            return String::new();
        };
        let each = |sum: u64, unit: f64| sum as f64 / unit / loops as f64;
        let times = match probes.is_timed() {
            true => format!("time={:.3}..{:.3} ", each(first_nanos, 1e6), each(nanos, 1e6)),
            false => String::new(),
        };
        format!(" (actual {times}rows={:.2} loops={loops})", each(rows, 1.0))
    }

    /// The lines that belong to an operator, below its first.
    fn details(&mut self, operator: &Plan, depth: usize) {
        match operator {
            Plan::TableScan { table, columns, filter } => {
                self.scan_details(table, columns, None, filter.as_ref(), depth);
            }
            Plan::IndexScan { table, columns, access, filter } => {
                self.scan_details(table, columns, Some(access), filter.as_ref(), depth);
            }
            Plan::Aggregate { input, group_by, aggregates: _, sets: Some(sets) } => {
                let names = output_names(input);
                for set in &sets.sets {
                    let keys: Vec<String> = set
                        .iter()
                        .filter_map(|key| group_by.get(*key))
                        .map(|key| text(key, &names))
                        .collect();
                    self.add(
                        depth,
                        format!(
                            "Group Key: {}",
                            if keys.is_empty() { "()".to_string() } else { keys.join(", ") }
                        ),
                    );
                }
            }
            Plan::Aggregate { input, group_by, aggregates: _, sets: None } if !group_by.is_empty() => {
                self.add(depth, format!("Group Key: {}", list(group_by, &output_names(input))));
            }
            Plan::Window { input, partition_by, order_by, calls: _ } => {
                let names = output_names(input);
                if !partition_by.is_empty() {
                    self.add(depth, format!("Partition By: {}", list(partition_by, &names)));
                }
                if !order_by.is_empty() {
                    self.add(depth, format!("Order By: {}", sort_keys(order_by, &names)));
                }
            }
            Plan::Join { left, right, kind: _, equal, filter }
            | Plan::Semi { left, right, equal, filter, anti: _ } => {
                if !equal.is_empty() {
                    let (left, right) = (output_names(left), output_names(right));
                    let pair = |(a, b): &(TypedExpr, TypedExpr)| {
                        format!("({} = {})", text(a, &left), text(b, &right))
                    };
                    let pairs: Vec<String> = equal.iter().map(pair).collect();
                    self.add(depth, format!("Hash Cond: {}", pairs.join(" AND ")));
                }
                self.join_filter(left, right, filter.as_ref(), depth);
            }
            Plan::Apply { left, right, outer, kind: _, filter } => {
                if !outer.is_empty() {
                    let names = [output_names(left), output_names(right)].concat();
                    self.add(depth, format!("Outer: {}", list(outer, &names)));
                }
                self.join_filter(left, right, filter.as_ref(), depth);
            }
            _ => {}
        }
    }

    fn join_filter(&mut self, left: &Plan, right: &Plan, filter: Option<&TypedExpr>, depth: usize) {
        if let Some(filter) = filter {
            let names = [output_names(left), output_names(right)].concat();
            self.add(depth, format!("Join Filter: {}", text(filter, &names)));
        }
    }
}

/// The first line of an operator.
fn headline(operator: &Plan) -> String {
    let all_word = |all: &bool| if *all { " All" } else { "" };
    match operator {
        Plan::Values { rows, columns: _ } if rows.len() == 1 => "Result".to_string(),
        Plan::Values { rows, columns: _ } => format!("Values: {} rows", rows.len()),
        Plan::TableScan { table, columns, filter: _ } => scan_line(table, columns, None, false),
        Plan::IndexScan { table, columns, access, filter: _ } => {
            scan_line(table, columns, Some(access), access.answers(table, columns))
        }
        Plan::SystemScan { view, .. } => format!("System View {}", view.name()),
        Plan::FunctionScan { call, columns: _ } => {
            let (name, args) = match call {
                SetCall::Builtin { function, args } => (function.name.to_string(), args),
                SetCall::User { function, args } => (function.name.to_string(), args),
            };
            format!("Function Scan: {name}({})", list(args, &[]))
        }
        Plan::Project { input, exprs, names: _ } => format!("Project: {}", list(exprs, &output_names(input))),
        Plan::Filter { input, predicate } => format!("Filter: {}", text(predicate, &output_names(input))),
        Plan::Aggregate { input, group_by: _, aggregates, sets: _ } => {
            format!("Aggregate: {}", aggregate_calls(aggregates, &output_names(input)))
        }
        Plan::Window { calls, .. } => {
            let names: Vec<&str> = calls.iter().map(|call| call.function.name()).collect();
            format!("WindowAgg: {}", names.join(", "))
        }
        Plan::ProjectSet { calls, .. } => {
            let names = calls.iter().map(|call| match &call.call {
                SetCall::Builtin { function, .. } => function.name.to_string(),
                SetCall::User { function, .. } => function.name.to_string(),
            });
            format!("ProjectSet: {}", names.collect::<Vec<_>>().join(", "))
        }
        Plan::DistinctOn { input, keys } => format!("Unique: {}", list(keys, &output_names(input))),
        Plan::Sort { input, keys } => format!("Sort: {}", sort_keys(keys, &output_names(input))),
        Plan::Limit { input: _, limit, offset, ties } => {
            let part = |word: &str, expr: &Option<TypedExpr>| {
                expr.as_ref().map(|expr| format!(" {word} {}", text(expr, &[]))).unwrap_or_default()
            };
            let ties = if ties.is_empty() { "" } else { " with ties" };
            format!("Limit{}{}{ties}", part("to", limit), part("from", offset))
        }
        Plan::LockRows { .. } => "LockRows".to_string(),
        Plan::Distinct { input: _ } => "Distinct".to_string(),
        Plan::CurrentRow { table, cursor, .. } => format!("Current Row of {cursor} on {}", table.name),
        Plan::Single { input: _ } => "Single Row".to_string(),
        Plan::External { columns: _ } => "External Rows".to_string(),
        Plan::Append { inputs: _ } => "Append".to_string(),
        Plan::Join { kind, equal, .. } if !equal.is_empty() => format!("Hash {}", join_word(*kind)),
        Plan::Join { kind, .. } | Plan::Apply { kind, .. } => format!("Nested Loop {}", join_word(*kind)),
        Plan::Semi { equal, anti, .. } => {
            let way = if equal.is_empty() { "Nested Loop" } else { "Hash" };
            format!("{way} {} Join", if *anti { "Anti" } else { "Semi" })
        }
        Plan::SetOperation { left: _, right: _, operation, all } => {
            let word = match operation {
                SetOperation::Intersect => "Intersect",
                SetOperation::Except => "Except",
            };
            format!("SetOp {word}{}", all_word(all))
        }
        Plan::Shared { .. } => "CTE Scan".to_string(),
        Plan::Recursive { base: _, step: _, all, number: _ } => format!("Recursive Union{}", all_word(all)),
        Plan::Transition { .. } => "Named Tuplestore Scan".to_string(),
        Plan::WorkTable { number, .. } if *number >= With::FIRST_NUMBER => "CTE Scan".to_string(),
        Plan::WorkTable { .. } => "WorkTable Scan".to_string(),
    }
}

/// A scan of a table, by an index where there is one, and then perhaps of that only.
fn scan_line(table: &TableDef, columns: &[usize], access: Option<&IndexAccess>, only: bool) -> String {
    let names = column_names(table, columns);
    let shown = if names.is_empty() { "no columns".to_string() } else { names.join(", ") };
    let Some(access) = access else { return format!("Seq Scan on {}: {shown}", table.name) };
    let only = if only { "Only " } else { "" };
    let backward = if access.descending { " Backward" } else { "" };
    format!("Index {only}Scan{backward} using {} on {}: {shown}", access.index.name, table.name)
}

fn column_names(table: &TableDef, columns: &[usize]) -> Vec<String> {
    columns.iter().filter_map(|at| table.columns.get(*at)).map(|column| column.name.to_string()).collect()
}

fn output_names(plan: &Plan) -> Vec<String> {
    plan.output().iter().map(|column| column.name.to_string()).collect()
}

/// The range of an index as a condition.
fn index_condition(table: &TableDef, access: &IndexAccess) -> String {
    let name = |n: usize| {
        let part = access.index.parts.get(n);
        let at = part.and_then(|part| table.column_with_id(part.column));
        at.map_or_else(String::new, |at| table.columns[at].name.to_string())
    };
    let one = |expr: &TypedExpr| text(expr, &[]);
    let mut conditions = Vec::new();
    for (n, part) in access.equals.iter().enumerate() {
        conditions.push(match part {
            KeyMatch::Equal(expr) => format!("({} = {})", name(n), one(expr)),
            KeyMatch::In(list) => {
                let list: Vec<String> = list.iter().map(one).collect();
                format!("({} IN ({}))", name(n), list.join(", "))
            }
            KeyMatch::Null => format!("({} IS NULL)", name(n)),
        });
    }
    let n = access.equals.len();
    if let Some((expr, inclusive)) = &access.lower {
        conditions.push(format!("({} {} {})", name(n), if *inclusive { ">=" } else { ">" }, one(expr)));
    }
    if let Some((expr, inclusive)) = &access.upper {
        conditions.push(format!("({} {} {})", name(n), if *inclusive { "<=" } else { "<" }, one(expr)));
    }
    match conditions.len() {
        0 | 1 => conditions.concat(),
        _ => format!("({})", conditions.join(" AND ")),
    }
}

fn aggregate_calls(calls: &[AggregateCall], names: &[String]) -> String {
    let call = |call: &AggregateCall| {
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let args = if call.args.is_empty() { "*".to_string() } else { list(&call.args, names) };
        let filter = call.filter.as_ref().map(|filter| format!(" FILTER {}", text(filter, names)));
        format!("{}({distinct}{args}){}", call.function.name, filter.unwrap_or_default())
    };
    calls.iter().map(call).collect::<Vec<_>>().join(", ")
}

fn sort_keys(keys: &[SortKey], names: &[String]) -> String {
    let key = |key: &SortKey| {
        let direction = if key.descending { " DESC" } else { "" };
        let nulls = match (key.descending, key.nulls_first) {
            (false, true) => " NULLS FIRST",
            (true, false) => " NULLS LAST",
            _ => "",
        };
        format!("{}{direction}{nulls}", text(&key.expr, names))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn join_word(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Join",
        JoinKind::Left => "Left Join",
        JoinKind::Right => "Right Join",
        JoinKind::Full => "Full Join",
    }
}
