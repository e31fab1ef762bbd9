//! Plans as text: one line an operator, its inputs below it.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_row::exec::reads_whole;
use verso_row::plan::{
    Delete, ExprKind, IndexAccess, Insert, JoinKind, KeyMatch, Plan, SetCall, SetOperation,
    Statement as Bound, SubqueryTest, TypedExpr, Update,
};
use verso_row::{ExecContext, ExecError};
use verso_types::{Batch, SqlType, Value, format_text};

use super::api::{CommandTag, OutputColumn};
use super::run::{Failure, Frame, Results};
use crate::errors::SqlError;

impl Frame<'_> {
    /// EXPLAIN [ANALYZE].
    pub(super) fn explain(
        &self,
        bound: &Bound,
        analyze: bool,
        params: &[Value],
        results: &mut Results<'_>,
    ) -> Result<CommandTag, Failure> {
        let mut lines = Vec::new();
        let mut shown = bound.clone();
        self.with_context(params, |cx| settle(cx, &mut shown))?;
        statement(&shown, &mut lines);
        if analyze {
            let start = self.services.env.clock.monotonic_nanos();
            results.counts_only = true;
            let rows = self.execute(bound, params, results);
            results.counts_only = false;
            let rows = rows?;
            let nanos = self.services.env.clock.monotonic_nanos().saturating_sub(start);
            lines.push(format!("Rows: {rows}"));
            lines.push(format!("Execution Time: {:.3} ms", nanos as f64 / 1e6));
        }
        let mut batch = Batch::of_types(&[SqlType::Text]);
        for line in &lines {
            batch.columns[0].push_value(&Value::text(line), &SqlType::Text).map_err(SqlError::from)?;
            batch.rows += 1;
        }
        results.begin(&[OutputColumn::new("QUERY PLAN", SqlType::Text)].into())?;
        results.push(batch);
        Ok(CommandTag { text: "EXPLAIN".to_string(), rows: lines.len() as u64 })
    }
}

/// Replaces the scans that would read the whole table, were they opened now, by what they would do.
fn settle(cx: &ExecContext<'_>, bound: &mut Bound) -> Result<(), ExecError> {
    match bound {
        Bound::Query(plan) => settle_plan(cx, plan),
        Bound::Insert(insert) => settle_plan(cx, &mut insert.source),
        Bound::Update(Update { joined: Some(plan), .. })
        | Bound::Delete(Delete { joined: Some(plan), .. }) => settle_plan(cx, plan),
        Bound::Update(Update { table, access, .. }) | Bound::Delete(Delete { table, access, .. }) => {
            if let Some(wanted) = access
                && reads_whole(cx, table, wanted)?
            {
                *access = None;
            }
            Ok(())
        }
    }
}

fn settle_plan(cx: &ExecContext<'_>, plan: &mut Plan) -> Result<(), ExecError> {
    if let Plan::IndexScan { table, columns, access, filter } = plan
        && reads_whole(cx, table, access)?
    {
        let condition = access.instead.take().map(|condition| *condition);
        let filter = TypedExpr::conjunction(condition.into_iter().chain(filter.take()).collect());
        *plan = Plan::TableScan { table: Arc::clone(table), columns: std::mem::take(columns), filter };
    }
    let mut result = Ok(());
    plan.for_each_input_mut(&mut |input| {
        if result.is_ok() {
            result = settle_plan(cx, input);
        }
    });
    result
}

/// The plans of queries within expressions.
fn subplans<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>, depth: usize, lines: &mut Vec<String>) {
    for expr in exprs {
        expr.any(&mut |part| {
            if let ExprKind::Subquery { plan: inner, .. } = &part.kind {
                lines.push(format!("{}SubPlan", "  ".repeat(depth)));
                plan(inner, depth + 1, lines);
            }
            false
        });
    }
}

/// The lines of a statement.
pub fn statement(bound: &Bound, lines: &mut Vec<String>) {
    match bound {
        Bound::Query(input) => plan(input, 0, lines),
        Bound::Insert(insert) => {
            let Insert { table, source, values: _, spool, checks: _, on_conflict, returning: _ } = insert;
            lines.push(format!("Insert on {}", table.name));
            if let Some(clause) = on_conflict {
                let resolution = if clause.update.is_some() { "UPDATE" } else { "NOTHING" };
                lines.push(format!("  Conflict Resolution: {resolution}"));
                let indexes: Vec<&str> = clause.indexes.iter().map(|index| &*index.name).collect();
                if !indexes.is_empty() {
                    lines.push(format!("  Conflict Arbiter Indexes: {}", indexes.join(", ")));
                }
            }
            if *spool {
                lines.push("  Spool".to_string());
                plan(source, 2, lines);
            } else {
                plan(source, 1, lines);
            }
        }
        Bound::Update(update) => {
            let Update { table, columns, joined, access, filter, assignments, checks: _, returning } = update;
            let names = |index: &usize| table.columns[*index].name.to_string();
            let set: Vec<String> = assignments.iter().map(|(column, _)| names(column)).collect();
            lines.push(format!("Update on {}: {}", table.name, set.join(", ")));
            let read: Vec<String> = columns.iter().map(names).collect();
            push_rows(joined.as_ref(), table, access.as_ref(), &read, filter.as_ref(), lines);
            let values = assignments.iter().map(|(_, value)| value);
            let returned = returning.iter().flat_map(|returning| &returning.exprs);
            subplans(filter.iter().chain(values).chain(returned), 1, lines);
        }
        Bound::Delete(Delete { table, columns, joined, access, filter, returning }) => {
            lines.push(format!("Delete on {}", table.name));
            let read: Vec<String> = columns
                .iter()
                .filter_map(|index| table.columns.get(*index))
                .map(|c| c.name.to_string())
                .collect();
            push_rows(joined.as_ref(), table, access.as_ref(), &read, filter.as_ref(), lines);
            let returned = returning.iter().flat_map(|returning| &returning.exprs);
            subplans(filter.iter().chain(returned), 1, lines);
        }
    }
}

/// The lines of where UPDATE and DELETE find their rows: a scan, or the join of FROM or USING.
fn push_rows(
    joined: Option<&Plan>,
    table: &TableDef,
    access: Option<&IndexAccess>,
    names: &[String],
    filter: Option<&TypedExpr>,
    lines: &mut Vec<String>,
) {
    match joined {
        Some(joined) => plan(joined, 1, lines),
        None => push_scan(table, access.map(|access| (access, false)), names, filter, 1, lines),
    }
}

/// The lines of a scan of a table.
fn push_scan(
    table: &TableDef,
    access: Option<(&IndexAccess, bool)>,
    names: &[String],
    filter: Option<&TypedExpr>,
    depth: usize,
    lines: &mut Vec<String>,
) {
    let indent = "  ".repeat(depth);
    let shown = if names.is_empty() { "no columns".to_string() } else { names.join(", ") };
    match access {
        None => lines.push(format!("{indent}Seq Scan on {}: {shown}", table.name)),
        Some((access, only)) => {
            let backward = if access.descending { " Backward" } else { "" };
            let only = if only { "Only " } else { "" };
            lines.push(format!(
                "{indent}Index {only}Scan{backward} using {} on {}: {shown}",
                access.index.name, table.name
            ));
            let condition = index_condition(table, access);
            if !condition.is_empty() {
                lines.push(format!("{indent}  Index Cond: {condition}"));
            }
        }
    }
    push_filter(filter, names, depth + 1, lines);
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

fn push_filter(filter: Option<&TypedExpr>, names: &[String], depth: usize, lines: &mut Vec<String>) {
    if let Some(filter) = filter {
        lines.push(format!("{}Filter: {}", "  ".repeat(depth), text(filter, names)));
    }
}

fn plan(operator: &Plan, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let inside = |input: &Plan| -> Vec<String> {
        input.output().iter().map(|column| column.name.to_string()).collect()
    };
    let list = |exprs: &[TypedExpr], names: &[String]| -> String {
        exprs.iter().map(|expr| text(expr, names)).collect::<Vec<_>>().join(", ")
    };
    match operator {
        Plan::Values { rows, columns: _ } if rows.len() == 1 => lines.push(format!("{indent}Result")),
        Plan::Values { rows, columns: _ } => lines.push(format!("{indent}Values: {} rows", rows.len())),
        Plan::TableScan { table, columns, filter } => {
            let names: Vec<String> = columns
                .iter()
                .filter_map(|index| table.columns.get(*index))
                .map(|c| c.name.to_string())
                .collect();
            push_scan(table, None, &names, filter.as_ref(), depth, lines);
        }
        Plan::IndexScan { table, columns, access, filter } => {
            let names: Vec<String> = columns
                .iter()
                .filter_map(|index| table.columns.get(*index))
                .map(|c| c.name.to_string())
                .collect();
            let only = access.answers(table, columns);
            push_scan(table, Some((access, only)), &names, filter.as_ref(), depth, lines);
        }
        Plan::SystemScan { view, args: _, columns: _, output: _ } => {
            lines.push(format!("{indent}System View {}", view.name()));
        }
        Plan::FunctionScan { call, columns: _ } => {
            let (name, args) = match call {
                SetCall::Builtin { function, args } => (function.name.to_string(), args),
                SetCall::User { function, args } => (function.name.to_string(), args),
            };
            lines.push(format!("{indent}Function Scan: {name}({})", list(args, &[])));
        }
        Plan::Project { input, exprs, names: _ } => {
            lines.push(format!("{indent}Project: {}", list(exprs, &inside(input))));
            plan(input, depth + 1, lines);
        }
        Plan::Filter { input, predicate } => {
            lines.push(format!("{indent}Filter: {}", text(predicate, &inside(input))));
            plan(input, depth + 1, lines);
        }
        Plan::Aggregate { input, group_by, aggregates } => {
            let names = inside(input);
            let calls: Vec<String> = aggregates
                .iter()
                .map(|call| {
                    let distinct = if call.distinct { "DISTINCT " } else { "" };
                    let args = if call.args.is_empty() { "*".to_string() } else { list(&call.args, &names) };
                    let filter =
                        call.filter.as_ref().map(|filter| format!(" FILTER {}", text(filter, &names)));
                    format!("{}({distinct}{args}){}", call.function.name, filter.unwrap_or_default())
                })
                .collect();
            lines.push(format!("{indent}Aggregate: {}", calls.join(", ")));
            if !group_by.is_empty() {
                lines.push(format!("{indent}  Group Key: {}", list(group_by, &names)));
            }
            plan(input, depth + 1, lines);
        }
        Plan::Sort { input, keys } => {
            let names = inside(input);
            let keys: Vec<String> = keys
                .iter()
                .map(|key| {
                    let direction = if key.descending { " DESC" } else { "" };
                    let nulls = match (key.descending, key.nulls_first) {
                        (false, true) => " NULLS FIRST",
                        (true, false) => " NULLS LAST",
                        _ => "",
                    };
                    format!("{}{direction}{nulls}", text(&key.expr, &names))
                })
                .collect();
            lines.push(format!("{indent}Sort: {}", keys.join(", ")));
            plan(input, depth + 1, lines);
        }
        Plan::Limit { input, limit, offset } => {
            let part = |word: &str, expr: &Option<TypedExpr>| {
                expr.as_ref().map(|expr| format!(" {word} {}", text(expr, &[]))).unwrap_or_default()
            };
            lines.push(format!("{indent}Limit{}{}", part("to", limit), part("from", offset)));
            plan(input, depth + 1, lines);
        }
        Plan::LockRows { input, .. } => {
            lines.push(format!("{indent}LockRows"));
            plan(input, depth + 1, lines);
        }
        Plan::Distinct { input } => {
            lines.push(format!("{indent}Distinct"));
            plan(input, depth + 1, lines);
        }
        Plan::CurrentRow { table, cursor, .. } => {
            lines.push(format!("{indent}Current Row of {cursor} on {}", table.name));
        }
        Plan::Single { input } => {
            lines.push(format!("{indent}Single Row"));
            plan(input, depth + 1, lines);
        }
        Plan::External { columns: _ } => lines.push(format!("{indent}External Rows")),
        Plan::Append { inputs } => {
            lines.push(format!("{indent}Append"));
            inputs.iter().for_each(|input| plan(input, depth + 1, lines));
        }
        Plan::Join { left, right, kind, equal, filter } => {
            let names: Vec<String> = inside(left).into_iter().chain(inside(right)).collect();
            let way = if equal.is_empty() { "Nested Loop" } else { "Hash" };
            lines.push(format!("{indent}{way} {}", join_word(*kind)));
            if !equal.is_empty() {
                let pair = |(a, b): &(TypedExpr, TypedExpr)| {
                    format!("({} = {})", text(a, &inside(left)), text(b, &inside(right)))
                };
                let pairs: Vec<String> = equal.iter().map(pair).collect();
                lines.push(format!("{indent}  Hash Cond: {}", pairs.join(" AND ")));
            }
            if let Some(filter) = filter {
                lines.push(format!("{indent}  Join Filter: {}", text(filter, &names)));
            }
            plan(left, depth + 1, lines);
            plan(right, depth + 1, lines);
        }
        Plan::Apply { left, right, outer, kind, filter } => {
            let names: Vec<String> = inside(left).into_iter().chain(inside(right)).collect();
            lines.push(format!("{indent}Nested Loop {}", join_word(*kind)));
            if !outer.is_empty() {
                lines.push(format!("{indent}  Outer: {}", list(outer, &names)));
            }
            if let Some(filter) = filter {
                lines.push(format!("{indent}  Join Filter: {}", text(filter, &names)));
            }
            plan(left, depth + 1, lines);
            plan(right, depth + 1, lines);
        }
        Plan::SetOperation { left, right, operation, all } => {
            let word = match operation {
                SetOperation::Intersect => "Intersect",
                SetOperation::Except => "Except",
            };
            lines.push(format!("{indent}SetOp {word}{}", if *all { " All" } else { "" }));
            plan(left, depth + 1, lines);
            plan(right, depth + 1, lines);
        }
        Plan::Shared { plan: shared } => {
            lines.push(format!("{indent}CTE Scan"));
            plan(shared, depth + 1, lines);
        }
        Plan::Recursive { base, step, all, number: _ } => {
            lines.push(format!("{indent}Recursive Union{}", if *all { " All" } else { "" }));
            plan(base, depth + 1, lines);
            plan(step, depth + 1, lines);
        }
        Plan::WorkTable { .. } => lines.push(format!("{indent}WorkTable Scan")),
    }
    subplans(operator.exprs(), depth + 1, lines);
}

fn join_word(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Join",
        JoinKind::Left => "Left Join",
        JoinKind::Right => "Right Join",
        JoinKind::Full => "Full Join",
    }
}

/// An expression over columns of these names.
fn text(expr: &TypedExpr, names: &[String]) -> String {
    let one = |expr: &TypedExpr| text(expr, names);
    let all = |exprs: &[TypedExpr], between: &str| exprs.iter().map(one).collect::<Vec<_>>().join(between);
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match &expr.kind {
        ExprKind::Column(index) => names.get(*index).cloned().unwrap_or_else(|| format!("#{index}")),
        ExprKind::Parameter(index) => format!("${}", index + 1),
        ExprKind::Outer(index) => format!("outer.{}", index + 1),
        ExprKind::Subquery { plan: _, outer, test, args } => {
            let given = if outer.is_empty() { String::new() } else { format!(" of {}", all(outer, ", ")) };
            match test {
                SubqueryTest::Scalar => format!("(SubPlan{given})"),
                SubqueryTest::Exists => format!("EXISTS(SubPlan{given})"),
                SubqueryTest::Array => format!("ARRAY(SubPlan{given})"),
                SubqueryTest::In { negated } => {
                    format!("({} {}IN (SubPlan{given}))", all(args, ", "), not(negated))
                }
            }
        }
        ExprKind::Literal(Value::Null) => "NULL".to_string(),
        ExprKind::Literal(value) => {
            let mut out = String::new();
            format_text(value, &expr.ty, &verso_types::TimeZone::UTC, &mut out);
            if expr.ty.is_number() || expr.ty == SqlType::Bool {
                out
            } else {
                format!("'{}'", out.replace('\'', "''"))
            }
        }
        ExprKind::Call { function, args } => match (function.operator, args.as_slice()) {
            (Some(op), [left, right]) => format!("({} {op} {})", one(left), one(right)),
            (Some(op), [arg]) => format!("({op} {})", one(arg)),
            _ => format!("{}({})", function.name, all(args, ", ")),
        },
        ExprKind::UserCall { function, args } => format!("{}({})", function.name, all(args, ", ")),
        ExprKind::Cast { arg, kind: _ } => format!("{}::{}", one(arg), expr.ty),
        ExprKind::And(args) => format!("({})", all(args, " AND ")),
        ExprKind::Or(args) => format!("({})", all(args, " OR ")),
        ExprKind::Not(arg) => format!("(NOT {})", one(arg)),
        ExprKind::IsNull { arg, negated } => format!("({} IS {}NULL)", one(arg), not(negated)),
        ExprKind::IsBool { arg, value, negated } => {
            let word = match value {
                Some(true) => "TRUE",
                Some(false) => "FALSE",
                None => "UNKNOWN",
            };
            format!("({} IS {}{word})", one(arg), not(negated))
        }
        ExprKind::IsDistinct { left, right, negated } => {
            format!("({} IS {}DISTINCT FROM {})", one(left), not(negated), one(right))
        }
        ExprKind::Case { branches, otherwise } => {
            let mut out = "CASE".to_string();
            for (condition, result) in branches {
                out.push_str(&format!(" WHEN {} THEN {}", one(condition), one(result)));
            }
            if let Some(otherwise) = otherwise {
                out.push_str(&format!(" ELSE {}", one(otherwise)));
            }
            out + " END"
        }
        ExprKind::Coalesce(args) => format!("COALESCE({})", all(args, ", ")),
        ExprKind::NullIf { left, right } => format!("NULLIF({}, {})", one(left), one(right)),
        ExprKind::InList { arg, list, negated } => {
            format!("({} {}IN ({}))", one(arg), not(negated), all(list, ", "))
        }
        ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
            let word = if *case_insensitive { "ILIKE" } else { "LIKE" };
            let escape = escape.as_ref().map(|escape| format!(" ESCAPE {}", one(escape))).unwrap_or_default();
            format!("({} {}{word} {}{escape})", one(arg), not(negated), one(pattern))
        }
        ExprKind::Array(items) => format!("ARRAY[{}]", all(items, ", ")),
        ExprKind::Row(items) => format!("ROW({})", all(items, ", ")),
    }
}
