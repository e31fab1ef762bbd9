//! SELECT and VALUES.
//!
//! ```text
//! FROM ─► WHERE ─► [Aggregate ─► HAVING] ─► Project (output and hidden sort keys) ─► Distinct ─► Sort ─► Limit
//! ```

use std::sync::Arc;

use verso_catalog::{FunctionReturn, SystemView, TableDef};
use verso_row::functions::ArgType;
use verso_row::plan::{ExprKind as K, OutputColumn, Plan, SetCall, SortKey, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::aggregate::over_groups;
use super::expr::{Clause, Context, Found};
use super::names::output_name;
use super::resolve::{Resolution, function_error, resolve, result_type};
use super::scope::Scope;
use super::walk::{map_columns, same};
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{
    Expr, ExprKind, FromItem, FromSource, Literal, OrderItem, QualifiedName, Query, QueryBody, Select,
    SelectItem,
};

/// An output column, bound.
pub(super) struct Item {
    pub(super) expr: TypedExpr,
    pub(super) name: Arc<str>,
    at: u32,
}

/// What FROM yields.
struct Input {
    source: InputSource,
    scope: Scope,
}

enum InputSource {
    /// A table: the columns scanned are chosen when all expressions are known.
    Table(Arc<TableDef>),
    /// Anything else.
    Plan(Plan),
}

impl Binder<'_> {
    /// Binds a query.
    pub(super) fn query(&self, query: &Query) -> Result<Plan, SqlError> {
        self.query_for(query, &[])
    }

    /// Binds a query whose untyped literals become the target's types where there are targets, else text.
    pub(super) fn query_for(&self, query: &Query, targets: &[SqlType]) -> Result<Plan, SqlError> {
        let plan = match &query.body {
            QueryBody::Select(select) => self.select(select, &query.order_by, targets)?,
            QueryBody::Values(rows) => {
                let plan = self.values(rows)?;
                self.order_output(plan, &query.order_by)?
            }
            QueryBody::Nested(inner) => {
                let plan = self.query_for(inner, targets)?;
                self.order_output(plan, &query.order_by)?
            }
        };
        let limit = self.count(query.limit.as_ref(), Clause::Limit)?;
        let offset = self.count(query.offset.as_ref(), Clause::Offset)?;
        if limit.is_none() && offset.is_none() {
            return Ok(plan);
        }
        Ok(Plan::Limit { input: Box::new(plan), limit, offset })
    }

    /// LIMIT or OFFSET.
    fn count(&self, expr: Option<&Expr>, clause: Clause) -> Result<Option<TypedExpr>, SqlError> {
        let Some(expr) = expr else { return Ok(None) };
        if let ExprKind::Column(parts) = &expr.kind
            && let [only] = parts.as_slice()
            && clause == Clause::Limit
            && only.text == "all"
        {
            return Ok(None);
        }
        let scope = Scope::default();
        let mut cx = Context::new(&scope, clause);
        let bound = self.expr(expr, &mut cx)?;
        let word = if clause == Clause::Limit { "LIMIT" } else { "OFFSET" };
        if !bound.ty.is_number() && bound.ty != SqlType::Unknown {
            let text = format!(
                "argument of {word} must be type bigint, not type {}",
                super::resolve::shown(&bound.ty)
            );
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(expr.at.start));
        }
        self.coerce(bound, expr.at.start, &SqlType::Int8, CastKind::Assignment).map(Some)
    }

    fn values(&self, rows: &[Vec<Expr>]) -> Result<Plan, SqlError> {
        let width = rows.first().map_or(0, Vec::len);
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Values);
        let mut columns: Vec<Vec<(TypedExpr, u32)>> = vec![Vec::new(); width];
        for row in rows {
            if row.len() != width {
                let at = row.first().map_or(0, |expr| expr.at.start);
                return Err(SqlError::syntax("VALUES lists must all be the same length").at(at));
            }
            for (column, expr) in columns.iter_mut().zip(row) {
                column.push((self.expr(expr, &mut cx)?, expr.at.start));
            }
        }
        let mut output = Vec::new();
        let mut table: Vec<Vec<TypedExpr>> = vec![Vec::new(); rows.len()];
        for (number, column) in columns.into_iter().enumerate() {
            let (exprs, ty) = self.unify(column, "VALUES")?;
            output.push(OutputColumn::new(format!("column{}", number + 1), ty));
            for (row, expr) in table.iter_mut().zip(exprs) {
                row.push(expr);
            }
        }
        Ok(Plan::Values { rows: table, columns: output })
    }

    // ── FROM ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Finds a table to read or write.
    pub(crate) fn table(&self, name: &QualifiedName) -> Result<Arc<TableDef>, SqlError> {
        let schema = name.schema_text();
        if let Some(table) = self.catalog.table(schema, &name.name.text) {
            return Ok(table);
        }
        let at = name.at().start;
        if let Some(schema) = schema
            && self.catalog.schema(schema).is_none()
        {
            return Err(SqlError::new(
                sqlstate::UNDEFINED_TABLE,
                format!("relation \"{name}\" does not exist"),
            )
            .at(at));
        }
        if self.catalog.sequence(schema, &name.name.text).is_some() {
            return Err(SqlError::unsupported("reading a sequence as a table").at(at));
        }
        Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")).at(at))
    }

    fn from(&self, item: Option<&FromItem>) -> Result<Input, SqlError> {
        let Some(item) = item else {
            let plan = Plan::Values { rows: vec![Vec::new()], columns: Vec::new() };
            return Ok(Input { source: InputSource::Plan(plan), scope: Scope::default() });
        };
        let (source, own_name, single) = match &item.source {
            FromSource::Table(name) => (self.relation(name)?, Some(name.name.text.as_str()), false),
            FromSource::Function(call, _) => {
                let (plan, single) = self.function_scan(call)?;
                (InputSource::Plan(plan), Some(call.name.name.text.as_str()), single)
            }
            FromSource::Query(query, at) => {
                if item.alias.is_none() {
                    return Err(SqlError::syntax("subquery in FROM must have an alias")
                        .with_hint("For example, FROM (SELECT ...) [AS] foo.")
                        .at(at.start));
                }
                (InputSource::Plan(self.query(query)?), None, false)
            }
        };
        let mut columns: Vec<(Arc<str>, SqlType)> = match &source {
            InputSource::Table(table) => {
                table.columns.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect()
            }
            InputSource::Plan(plan) => {
                plan.output().into_iter().map(|column| (column.name, column.ty)).collect()
            }
        };
        let table: Option<Arc<str>> =
            item.alias.as_ref().map(|alias| alias.text.as_str()).or(own_name).map(Arc::from);
        // `generate_series(1, 3) AS g`: the alias names the one column, too.
        if let (true, Some(alias), [(name, _)]) = (single, &item.alias, columns.as_mut_slice()) {
            *name = alias.text.as_str().into();
        }
        if item.columns.len() > columns.len() {
            let text = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                table.as_deref().unwrap_or_default(),
                columns.len(),
                item.columns.len()
            );
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text));
        }
        for ((name, _), alias) in columns.iter_mut().zip(&item.columns) {
            *name = alias.text.as_str().into();
        }
        let hidden = item.alias.as_ref().and(own_name).map(Arc::from);
        Ok(Input { source, scope: Scope { table, hidden, columns } })
    }

    fn relation(&self, name: &QualifiedName) -> Result<InputSource, SqlError> {
        let schema = name.schema_text();
        if let Some(view) = self.catalog.system_view(schema, &name.name.text) {
            if !view.arguments().is_empty() {
                let text = format!("{name} is a function: give it its arguments");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(name.at().start));
            }
            let columns = view.columns();
            let output =
                columns.iter().map(|column| OutputColumn::new(column.name, column.ty.clone())).collect();
            let columns = (0..columns.len()).collect();
            return Ok(InputSource::Plan(Plan::SystemScan { view, args: Vec::new(), columns, output }));
        }
        Ok(InputSource::Table(self.table(name)?))
    }

    /// A system view that takes arguments.
    fn view_call(&self, view: SystemView, args: Vec<(TypedExpr, u32)>, at: u32) -> Result<Plan, SqlError> {
        let declared = vec![view.arguments().iter().cloned().map(ArgType::Exact).collect()];
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let to = match resolve(&declared, &types, false) {
            Resolution::One(_, to) => to,
            found => return Err(function_error(view.name(), &types, &found).at(at)),
        };
        let args = args
            .into_iter()
            .zip(&to)
            .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
            .collect::<Result<Vec<_>, _>>()?;
        let columns = view.columns();
        let output = columns.iter().map(|column| OutputColumn::new(column.name, column.ty.clone())).collect();
        Ok(Plan::SystemScan { view, args, columns: (0..columns.len()).collect(), output })
    }

    /// A function in FROM; whether it yields one unnamed column.
    fn function_scan(&self, call: &crate::syntax::Call) -> Result<(Plan, bool), SqlError> {
        let at = call.name.at().start;
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::From);
        if call.star || call.distinct || call.filter.is_some() {
            return Err(SqlError::syntax("syntax error: a function in FROM takes plain arguments").at(at));
        }
        let args = self.located(&call.args, &mut cx)?;
        let name = call.name.name.text.as_str();
        if let Some(view) = self.catalog.system_view(call.name.schema_text(), name)
            && !view.arguments().is_empty()
        {
            return Ok((self.view_call(view, args, at)?, false));
        }
        match self.function(call, args)? {
            Found::BuiltIn(function, args, to) => {
                let args = args
                    .into_iter()
                    .zip(&to)
                    .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
                    .collect::<Result<Vec<_>, _>>()?;
                let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
                let column = OutputColumn::new(name, result_type(&function.result, &types));
                Ok((
                    Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns: vec![column] },
                    true,
                ))
            }
            Found::User(function, args) => {
                let one = |ty: &SqlType| vec![OutputColumn::new(name, ty.clone())];
                let (columns, single) = match &function.returns {
                    FunctionReturn::Void => (one(&SqlType::Void), true),
                    FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => (one(ty), true),
                    FunctionReturn::Table(columns) => {
                        let output = |(name, ty): &(Arc<str>, SqlType)| {
                            OutputColumn::new(Arc::clone(name), ty.clone())
                        };
                        (columns.iter().map(output).collect(), false)
                    }
                };
                Ok((Plan::FunctionScan { call: SetCall::User { function, args }, columns }, single))
            }
        }
    }

    // ── SELECT ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn select(&self, select: &Select, order_by: &[OrderItem], targets: &[SqlType]) -> Result<Plan, SqlError> {
        let Input { source, scope } = self.from(select.from.as_ref())?;
        let mut filter = self.filter(select.filter.as_ref(), &scope)?;
        let mut cx = Context::new(&scope, Clause::Select);
        let mut items = self.items(&select.items, &mut cx)?;
        for (number, item) in items.iter_mut().enumerate() {
            let expr = std::mem::replace(&mut item.expr, TypedExpr::null(SqlType::Unknown));
            item.expr = match targets.get(number) {
                Some(target) if expr.ty == SqlType::Unknown => {
                    self.coerce(expr, item.at, target, CastKind::Assignment)?
                }
                _ => self.settle(expr, item.at)?,
            };
        }
        cx.clause = Clause::GroupBy;
        let mut keys = Vec::new();
        for key in &select.group_by {
            let key = self.group_key(key, &items, &mut cx)?;
            if !keys.iter().any(|known| same(known, &key)) {
                keys.push(key);
            }
        }
        cx.clause = Clause::Having;
        let mut having = match &select.having {
            Some(having) => {
                let bound = self.expr(having, &mut cx)?;
                Some(self.boolean(bound, having.at.start, "HAVING")?)
            }
            None => None,
        };
        cx.clause = Clause::OrderBy;
        let mut hidden: Vec<TypedExpr> = Vec::new();
        let mut sort = Vec::new();
        for item in order_by {
            let column = match self.output_reference(&item.expr, &items, "ORDER BY")? {
                Some(column) => column,
                None => {
                    let bound = self.expr(&item.expr, &mut cx)?;
                    let bound = self.settle(bound, item.expr.at.start)?;
                    let known = items
                        .iter()
                        .map(|item| &item.expr)
                        .chain(&hidden)
                        .position(|expr| same(expr, &bound));
                    known.unwrap_or_else(|| {
                        hidden.push(bound);
                        items.len() + hidden.len() - 1
                    })
                }
            };
            if select.distinct && column >= items.len() {
                let text = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(item.expr.at.start));
            }
            sort.push((column, item.descending, item.nulls_first));
        }
        let Context { mut aggregates, plain_columns, .. } = cx;
        let grouped = !aggregates.is_empty() || !keys.is_empty() || having.is_some();
        let names: Vec<Arc<str>> = items.iter().map(|item| Arc::clone(&item.name)).collect();
        let mut exprs: Vec<TypedExpr> = items.into_iter().map(|item| item.expr).chain(hidden).collect();
        if grouped {
            for expr in exprs.iter_mut().chain(having.as_mut()) {
                over_groups(expr, &keys, &plain_columns)?;
            }
        }
        // What is computed directly over the input decides which columns are read.
        let arguments =
            aggregates.iter_mut().flat_map(|call| call.args.iter_mut().chain(call.filter.as_mut()));
        let plan = if grouped {
            scan(source, &mut filter, keys.iter_mut().chain(arguments))
        } else {
            scan(source, &mut filter, exprs.iter_mut())
        };
        let mut plan = plan;
        if grouped {
            plan = Plan::Aggregate { input: Box::new(plan), group_by: keys, aggregates };
            if let Some(predicate) = having {
                plan = Plan::Filter { input: Box::new(plan), predicate };
            }
        }
        Ok(finish(plan, exprs, names, select.distinct, sort))
    }

    /// WHERE.
    pub(super) fn filter(&self, filter: Option<&Expr>, scope: &Scope) -> Result<Option<TypedExpr>, SqlError> {
        let Some(filter) = filter else { return Ok(None) };
        let mut cx = Context::new(scope, Clause::Where);
        let bound = self.expr(filter, &mut cx)?;
        self.boolean(bound, filter.at.start, "WHERE").map(Some)
    }

    /// An output list; `*` is every column of the scope.
    pub(super) fn items(&self, items: &[SelectItem], cx: &mut Context<'_>) -> Result<Vec<Item>, SqlError> {
        let mut all = Vec::new();
        for item in items {
            match item {
                SelectItem::Expr { expr, alias } => {
                    let name = match alias {
                        Some(alias) => alias.text.clone(),
                        None => output_name(expr),
                    };
                    all.push(Item { expr: self.expr(expr, cx)?, name: name.into(), at: expr.at.start });
                }
                SelectItem::Wildcard { table, at } => {
                    let scope = cx.scope();
                    if let Some(table) = table
                        && scope.table.as_deref() != Some(&table.name.text)
                    {
                        return Err(scope.missing_table(&table.name));
                    }
                    if scope.table.is_none() && scope.columns.is_empty() {
                        return Err(
                            SqlError::syntax("SELECT * with no tables specified is not valid").at(at.start)
                        );
                    }
                    let table = scope.table.clone();
                    for (index, (name, ty)) in scope.columns.clone().into_iter().enumerate() {
                        let shown = table
                            .as_ref()
                            .map_or_else(|| name.to_string(), |table| format!("{table}.{name}"));
                        cx.plain_columns.push((index, at.start, shown));
                        all.push(Item { expr: TypedExpr::column(index, ty), name, at: at.start });
                    }
                }
            }
        }
        Ok(all)
    }

    fn group_key(&self, key: &Expr, items: &[Item], cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let is_input = match &key.kind {
            ExprKind::Column(parts) => match parts.as_slice() {
                [name] => cx.scope().columns.iter().any(|(column, _)| **column == *name.text),
                _ => true,
            },
            _ => false,
        };
        if !is_input && let Some(column) = self.output_reference(key, items, "GROUP BY")? {
            let expr = items[column].expr.clone();
            if expr.any(
                &mut |part| matches!(part.kind, K::Column(column) if column >= super::expr::AGGREGATE_BASE),
            ) {
                let text = "aggregate functions are not allowed in GROUP BY";
                return Err(SqlError::new(sqlstate::GROUPING_ERROR, text).at(items[column].at));
            }
            return Ok(expr);
        }
        let bound = self.expr(key, cx)?;
        self.settle(bound, key.at.start)
    }

    /// The output column that a bare name or number in ORDER BY or GROUP BY means.
    fn output_reference(&self, expr: &Expr, items: &[Item], clause: &str) -> Result<Option<usize>, SqlError> {
        match &expr.kind {
            ExprKind::Literal(Literal::Number(digits)) => match digits.parse::<i32>() {
                Ok(position) => {
                    match usize::try_from(position).ok().filter(|n| (1..=items.len()).contains(n)) {
                        Some(position) => Ok(Some(position - 1)),
                        None => {
                            let text = format!("{clause} position {position} is not in select list");
                            Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(expr.at.start))
                        }
                    }
                }
                Err(_) => {
                    Err(SqlError::syntax(format!("non-integer constant in {clause}")).at(expr.at.start))
                }
            },
            ExprKind::Literal(_) => {
                Err(SqlError::syntax(format!("non-integer constant in {clause}")).at(expr.at.start))
            }
            ExprKind::Column(parts) => {
                let [name] = parts.as_slice() else { return Ok(None) };
                let mut fits = items.iter().enumerate().filter(|(_, item)| *item.name == *name.text);
                let Some((first, item)) = fits.next() else { return Ok(None) };
                if fits.any(|(_, other)| !same(&other.expr, &item.expr)) {
                    let text = format!("{clause} \"{}\" is ambiguous", name.text);
                    return Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, text).at(name.at.start));
                }
                Ok(Some(first))
            }
            _ => Ok(None),
        }
    }

    /// ORDER BY over the output of a plan.
    fn order_output(&self, plan: Plan, order_by: &[OrderItem]) -> Result<Plan, SqlError> {
        if order_by.is_empty() {
            return Ok(plan);
        }
        let output = plan.output();
        let item = |(index, column): (usize, &OutputColumn)| Item {
            expr: TypedExpr::column(index, column.ty.clone()),
            name: Arc::clone(&column.name),
            at: 0,
        };
        let items: Vec<Item> = output.iter().enumerate().map(item).collect();
        let columns = output.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect();
        let scope = Scope { table: None, hidden: None, columns };
        let mut keys = Vec::new();
        for order in order_by {
            let expr = match self.output_reference(&order.expr, &items, "ORDER BY")? {
                Some(column) => items[column].expr.clone(),
                None => {
                    let bound = self.expr(&order.expr, &mut Context::new(&scope, Clause::Limit))?;
                    self.settle(bound, order.expr.at.start)?
                }
            };
            keys.push(SortKey { expr, descending: order.descending, nulls_first: order.nulls_first });
        }
        Ok(Plan::Sort { input: Box::new(plan), keys })
    }
}

/// The scan of the input with its filter: reads the columns that `exprs` and the filter use, and renumbers them.
fn scan<'e>(
    source: InputSource,
    filter: &mut Option<TypedExpr>,
    exprs: impl Iterator<Item = &'e mut TypedExpr>,
) -> Plan {
    let mut filter = filter.take();
    match source {
        InputSource::Plan(plan) => match filter {
            Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
            None => plan,
        },
        InputSource::Table(table) => {
            let columns = {
                let mut exprs: Vec<&mut TypedExpr> = exprs.collect();
                exprs.extend(filter.as_mut());
                prune(&mut exprs)
            };
            Plan::TableScan { table, columns, filter }
        }
    }
}

/// The columns used, in the table's order; the expressions are renumbered to them.
pub(super) fn prune(exprs: &mut [&mut TypedExpr]) -> Vec<usize> {
    let mut used = Vec::new();
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |column| {
            used.push(column);
            column
        });
    }
    used.sort_unstable();
    used.dedup();
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |column| used.binary_search(&column).unwrap_or(column));
    }
    used
}

/// Project, Distinct and Sort over the input; hidden sort columns are behind the named ones and taken away again.
fn finish(
    input: Plan,
    exprs: Vec<TypedExpr>,
    names: Vec<Arc<str>>,
    distinct: bool,
    sort: Vec<(usize, bool, bool)>,
) -> Plan {
    let width = names.len();
    let types: Vec<SqlType> = exprs.iter().map(|expr| expr.ty.clone()).collect();
    let output = input.output();
    let unchanged = exprs.len() == output.len()
        && width == exprs.len()
        && exprs.iter().enumerate().all(|(n, expr)| matches!(expr.kind, K::Column(column) if column == n))
        && output.iter().zip(&names).all(|(column, name)| column.name == *name);
    let mut plan = input;
    if !unchanged {
        let hidden = (width..exprs.len()).map(|_| Arc::from("?column?"));
        let all_names = names.iter().cloned().chain(hidden).collect();
        plan = Plan::Project { input: Box::new(plan), exprs, names: all_names };
    }
    if distinct {
        plan = Plan::Distinct { input: Box::new(plan) };
    }
    if !sort.is_empty() {
        let key = |(column, descending, nulls_first): (usize, bool, bool)| SortKey {
            expr: TypedExpr::column(column, types[column].clone()),
            descending,
            nulls_first,
        };
        plan = Plan::Sort { input: Box::new(plan), keys: sort.into_iter().map(key).collect() };
    }
    if types.len() > width {
        let exprs = (0..width).map(|n| TypedExpr::column(n, types[n].clone())).collect();
        plan = Plan::Project { input: Box::new(plan), exprs, names };
    }
    plan
}
