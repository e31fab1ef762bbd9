//! FROM: tables, functions, subqueries, and joins of them.
//!
//! ```text
//! a, b JOIN c ON … , LATERAL (SELECT … a.x …) l   ─►   Apply(Join(a, Join(b, c)), l over Outer)
//! ```
//!
//! Plans made here read whole tables; the rewriting of the whole query (`rewrite/`) moves conditions down and leaves
//! out columns that nothing uses.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use verso_catalog::{
    FunctionDef, FunctionReturn, Object, Oid, PolicyFor, Relation, Rights, SystemView, TableDef, kept,
};
use verso_env::recursion;
use verso_exec::functions::json::with_definitions;
use verso_exec::functions::records::{UNNEST_ROWS, VALUE};
use verso_exec::functions::{ArgType, ResultType, aggregate_candidates, window_candidates};
use verso_exec::plan::{ExprKind as K, JoinKind, OutputColumn, Plan, SetCall, SetColumns, TypedExpr, With};
use verso_types::{CastKind, RowType, SqlType, Value};

use super::Binder;
use super::aggregate::replace_outer;
use super::call::Found;
use super::collate::{made_of, searching};
use super::context::{Clause, Context};
use super::lock::{self, Locking, Mark, Wanted};
use super::null::may_be_null;
use super::past::refuse_past;
use super::polymorphic::is_polymorphic;
use super::resolve::{Resolution, function_error, resolve, result_type};
use super::rights::{Need, Noted, denied};
use super::row::with_fields;
use super::sample::no_sample_of;
use super::scope::{Correlation, Hidden, InSchema, Scope, ScopeTable, came_later};
use super::table_number::{RowNumber, RowNumbers, numbered};
use super::unbound;
use super::view::ColumnsThen;
use super::walk::columns_of;
use super::with::Cte;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{
    self, Call, FromItem, FromSource, Join, JoinCondition, LockClause, Name, QualifiedName, Statement,
};

/// What FROM yields.
pub(super) struct Input {
    pub(super) plan: Plan,
    pub(super) scope: Scope,
    /// What of it is locked.
    pub(super) marks: Vec<Mark>,
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

impl Binder<'_> {
    /// Finds a table to read or write.
    pub fn table(&self, name: &QualifiedName) -> Result<Arc<TableDef>, SqlError> {
        self.check_schema(name)?;
        let schema = name.schema_text();
        let found = self.relation_named(name);
        let at = name.at().start;
        if let Some(Relation::Table(table)) = found {
            if table.is_temporary() && self.catalog.search_path().temporary() != Some(&table.schema) {
                let text = "cannot access temporary tables of other sessions";
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
            }
            return Ok(table);
        }
        if let Some(Relation::View(view)) = found {
            let text = format!("\"{}\" is not a table", view.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
        }
        if schema.is_none()
            && self.ctes.iter().filter_map(Cte::as_transition).any(|table| *table.name == *name.name.text)
        {
            let text = format!("relation \"{name}\" cannot be the target of a modifying statement");
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
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
            let text = format!("cannot change sequence \"{}\"", name.name.text);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at));
        }
        Err(SqlError::new(sqlstate::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")).at(at))
    }

    /// Binds FROM of a statement that changes the rows of a table: its items know that table, and may not use it.
    pub(super) fn items_beside(&self, target: &Scope, item: &FromItem) -> Result<Input, SqlError> {
        if self.outer.is_some() {
            return self.from(Some(item), &[]);
        }
        let refs = RefCell::default();
        let around = Correlation {
            scope: target,
            parent: None,
            refs: &refs,
            hidden: Some(Hidden::Changed),
            lateral: true,
            aggregates: None,
            groupings: None,
        };
        Binder { outer: Some(&around), ..self.clone() }.from(Some(item), &[])
    }

    /// Binds FROM; without one there is a single row without columns. What `locks` ask for is marked.
    pub(super) fn from(&self, item: Option<&FromItem>, locks: &[LockClause]) -> Result<Input, SqlError> {
        match item {
            Some(item) => self.item(item, locks),
            None => {
                let plan = Plan::Values { rows: vec![Vec::new()], columns: Vec::new() };
                Ok(Input { plan, scope: Scope::default(), marks: Vec::new() })
            }
        }
    }

    fn item(&self, item: &FromItem, locks: &[LockClause]) -> Result<Input, SqlError> {
        unbound::item(item)?;
        recursion::check()?;
        let wanted = |own: Option<&str>| match locks {
            [] => None,
            locks => Wanted::of(locks, item.alias.as_ref().map(|alias| alias.text.as_str()).or(own)),
        };
        let mut marks = Vec::new();
        // Names of columns where they are not the plan's own.
        let mut named: Option<ColumnsThen> = None;
        let own_name;
        let mut need = None;
        let (plan, own, single) = match &item.source {
            FromSource::Join(join) => {
                let mut input = self.join(join, locks)?;
                if let Some(alias) = &item.alias {
                    input.scope = input.scope.of_join(alias, &item.columns)?;
                    if let Some(own) = input.scope.tables.last_mut() {
                        own.place = place_of(item);
                    }
                    if let Some(trace) = self.traced {
                        let columns: Vec<_> = input
                            .scope
                            .visible
                            .iter()
                            .map(|(name, expr)| (Arc::clone(name), expr.ty.clone()))
                            .collect();
                        trace.item(place_of(item), &columns);
                    }
                }
                return Ok(input);
            }
            FromSource::Table(name) => {
                let own = name.name.text.as_str();
                if let Some(view) = self.view_named(name)? {
                    refuse_past(item, "a view")?;
                    if item.sample.is_some() {
                        return Err(no_sample_of(name.at().start));
                    }
                    let wanted = wanted(Some(own));
                    let then = ColumnsThen::of_view(self.view_columns(name.at().start, &view), &view);
                    let numbers = view.columns.iter().take(then.names.len()).map(|column| vec![column.id]);
                    let need = self.need_view(&view, numbers.collect(), true);
                    if let (Some(need), Some(_)) = (&need, &wanted) {
                        need.changes(Rights::UPDATE, []);
                    }
                    let (plan, inside) = self.view_locked(&view, wanted.as_ref(), then.names.len())?;
                    if let Some(wanted) = wanted {
                        marks = inside;
                        marks.push(wanted.whole());
                    }
                    let mut input = self.named_item(item, plan, Some(own), Some(then), marks, false)?;
                    note(&mut input.scope, need);
                    let known = self.catalog.relation_by_oid(view.oid).and_then(Relation::row_type);
                    if let (Some(SqlType::Row(row)), Some(own)) =
                        (known.map(|known| known.ty), input.scope.tables.first_mut())
                    {
                        own.row = Some(row);
                    }
                    return Ok(input);
                }
                let mut plan = self.relation(name)?;
                if !matches!(plan, Plan::TableScan { .. }) {
                    refuse_past(item, "a query, a sequence or a system view")?;
                }
                if let Plan::TableScan { table, columns, .. } = &mut plan
                    && let Some(then) = self.columns_then(name.at().start, table)
                {
                    named = Some(if then.is_in_order() {
                        then
                    } else {
                        let (known, then) = then.only_known();
                        *columns = known;
                        then
                    });
                }
                if let Plan::TableScan { table, columns, .. } = &plan {
                    need = self.need_table(table, columns.iter().copied(), true);
                }
                let mut command = PolicyFor::Select;
                if let Some(wanted) = wanted(Some(own)) {
                    if let Some(past) = &item.past {
                        let text = "rows of the past cannot be locked";
                        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(past.at));
                    }
                    if let Some(need) = &need {
                        need.changes(Rights::UPDATE, []);
                    }
                    command = PolicyFor::Update;
                    if let Some(sample) = &item.sample {
                        return Err(SqlError::unsupported("locks on a sample").at(sample.at));
                    }
                    marks.extend(wanted.relation(&mut plan)?);
                }
                // Who locks a row has to be allowed to change it.
                let commands = [PolicyFor::Select, command];
                let is_table = matches!(plan, Plan::TableScan { .. });
                plan = self
                    .secured(plan, if command == PolicyFor::Select { &commands[..1] } else { &commands })?;
                if let Some(past) = &item.past {
                    self.as_it_was(&mut plan, past)?;
                }
                if let Some(sample) = &item.sample {
                    plan = match is_table {
                        true => self.sampled_below(plan, sample)?,
                        false => return Err(no_sample_of(sample.at)),
                    };
                }
                (plan, Some(own), false)
            }
            FromSource::Function(call, _) if item.ordinality || unnests_several(call) => {
                let own = call.name.name.text.as_str();
                if let Some((name, _)) = item.definitions.first() {
                    let text = match item.ordinality {
                        true => "WITH ORDINALITY cannot be used with a column definition list",
                        false => "UNNEST() with multiple arguments cannot have a column definition list",
                    };
                    let error = SqlError::syntax(text).at(name.at.start);
                    return Err(match item.ordinality {
                        true => error.with_hint("Put the column definition list inside ROWS FROM()."),
                        false => error.with_hint(
                            "Use separate UNNEST() calls inside ROWS FROM(), and attach a column definition list to each one.",
                        ),
                    });
                }
                let (plan, single) = self.rows_from(&[(call.clone(), Vec::new())], item.ordinality)?;
                if let Some(wanted) = wanted(Some(own)) {
                    wanted.refuse_named("a function")?;
                }
                (plan, Some(own), single)
            }
            FromSource::Function(call, _)
                if let Some(plan) = self.file_scan(call, &self.definitions(&item.definitions)?)? =>
            {
                let own = call.name.name.text.as_str();
                if let Some(wanted) = wanted(Some(own)) {
                    wanted.refuse_named("a function")?;
                }
                (plan, Some(own), false)
            }
            FromSource::Function(call, _) => {
                let own = call.name.name.text.as_str();
                let (plan, single) = self.function_scan(call)?;
                let definitions = self.definitions(&item.definitions)?;
                let plan = defined(plan, &definitions, call.name.at().start)?;
                let single = single && item.definitions.is_empty();
                if let Some(wanted) = wanted(Some(own)) {
                    wanted.refuse_named("a function")?;
                }
                (plan, Some(own), single)
            }
            FromSource::Rows(calls, _) => {
                let own = calls.first().map(|(call, _)| call.name.name.text.clone()).unwrap_or_default();
                let (plan, single) = self.rows_from(calls, item.ordinality)?;
                if let Some(wanted) = wanted(Some(&own)) {
                    wanted.refuse_named("a function")?;
                }
                own_name = own;
                (plan, Some(own_name.as_str()), single)
            }
            FromSource::JsonTable(table) => {
                if let Some(wanted) = wanted(Some("json_table")) {
                    wanted.refuse_named("a function")?;
                }
                (self.json_table(table)?, Some("json_table"), false)
            }
            FromSource::Query(query, _) => {
                let wanted = wanted(None);
                let clause = wanted.as_ref().map(Wanted::clause);
                let locking =
                    Locking { locks: clause.as_slice().into(), export: clause.is_some(), places: false };
                let (plan, inside) = match self.outer {
                    Some(_) if !item.lateral => {
                        Correlation::without_items(self.outer, Hidden::Lateral, &mut |outer| {
                            Binder { outer, ..self.clone() }.query_locked(query, &[], locking.clone())
                        })?
                    }
                    // Inside, the items before this one are a query around.
                    Some(outer) => {
                        let around = Correlation { lateral: false, ..*outer };
                        Binder { outer: Some(&around), ..self.clone() }.query_locked(query, &[], locking)?
                    }
                    None => self.query_locked(query, &[], locking)?,
                };
                if let Some(wanted) = wanted {
                    marks = inside;
                    marks.push(wanted.whole());
                }
                (plan, None, false)
            }
        };
        let is_call = matches!(item.source, FromSource::Function(..) | FromSource::Rows(..));
        let rows = if is_call { self.needs_of_rows(&plan) } else { Noted::new() };
        if is_call {
            named = self.rows_then(&plan);
        }
        let mut input = self.named_item(item, plan, own, named, marks, single)?;
        note(&mut input.scope, need);
        input.scope.noted.extend(rows);
        Ok(input)
    }

    /// The schema that may stand before the name of an item. A kept text names it as the text did when it was made.
    pub(super) fn schema_of_item(&self, item: &FromItem) -> InSchema {
        let FromSource::Table(name) = &item.source else { return InSchema::Nowhere };
        if item.alias.is_some() {
            return InSchema::Nowhere;
        }
        match name.schema_text() {
            Some(schema) if kept::number_of(Some(schema)).is_some() => InSchema::Any,
            Some(schema) => InSchema::Of(schema.into()),
            None if self.is_with_query(&name.name) => InSchema::Nowhere,
            None if self.stored.is_some() => InSchema::Any,
            None if self.catalog.system_view(None, &name.name.text).is_some() => {
                InSchema::Of("pg_catalog".into())
            }
            None => match self.catalog.relation(None, &name.name.text) {
                Some(relation) => InSchema::Of(Arc::clone(relation.schema())),
                None => InSchema::Any,
            },
        }
    }

    /// What an item of FROM yields, with its names.
    fn named_item(
        &self,
        item: &FromItem,
        plan: Plan,
        own: Option<&str>,
        named: Option<ColumnsThen>,
        marks: Vec<Mark>,
        single: bool,
    ) -> Result<Input, SqlError> {
        let wanted = !self.numbered.is_empty() && matches!(item.source, FromSource::Table(_));
        let numbered = if wanted { numbered(&plan, self.numbered, !marks.is_empty()) } else { None };
        if wanted && numbered.is_none() && !marks.is_empty() {
            let names: Vec<&str> = self.numbered.iter().map(RowNumber::name).collect();
            let what = format!("{} with FOR UPDATE, FOR SHARE and their like", names.join(", "));
            return Err(SqlError::unsupported(&what));
        }
        let (plan, whole) = match numbered {
            Some((plan, table)) => (plan, Some(table)),
            None => (plan, None),
        };
        let mut columns: Vec<(Arc<str>, SqlType)> =
            plan.output().into_iter().map(|column| (Arc::clone(&column.name), column.seen())).collect();
        // Places of records have no names, nor has the number of the table.
        let numbers = if whole.is_some() { self.numbered } else { RowNumbers::default() };
        let hidden = marks.iter().filter(|mark| mark.row.is_some()).count() + numbers.count();
        let places = columns.split_off(columns.len() - hidden);
        let table: Option<Arc<str>> =
            item.alias.as_ref().map(|alias| alias.text.as_str()).or(own).map(Arc::from);
        for ((column, _), name) in columns.iter_mut().zip(named.iter().flat_map(|then| &then.names)) {
            *column = Arc::clone(name);
        }
        // `generate_series(1, 3) AS g`: the alias names the one column, too.
        if let (true, Some(alias), [(name, _), ..]) = (single, &item.alias, columns.as_mut_slice()) {
            *name = alias.text.as_str().into();
        }
        let shown = match &plan {
            Plan::TableScan { table, .. } => columns.len().min(table.shown().len()),
            Plan::Past { table, .. } => columns.len().min(table.shown().len()),
            _ => columns.len(),
        };
        // A stored text may name some that have gone since.
        let shown = named.as_ref().map_or(shown, |then| then.places.len());
        if item.columns.len() > shown {
            let text = format!(
                "table \"{}\" has {} columns available but {} columns specified",
                table.as_deref().unwrap_or_default(),
                shown,
                item.columns.len()
            );
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text));
        }
        let mut aliased = Vec::new();
        for (n, alias) in item.columns.iter().enumerate() {
            let at = named.as_ref().map_or(Some(n), |then| then.places.get(n).copied().flatten());
            if let Some(at) = at
                && let Some((name, _)) = columns.get_mut(at)
            {
                *name = alias.text.as_str().into();
                aliased.push(at);
            }
        }
        let hidden = item.alias.as_ref().and(own).map(Arc::from);
        let mut scope = Scope::of(table, hidden, columns);
        if let (FromSource::Table(_), Plan::TableScan { table, columns, .. }, Some(own)) =
            (&item.source, &plan, scope.tables.first_mut())
            && columns.iter().copied().eq(0..table.columns.len())
        {
            own.relation = Some(table.oid.0);
        }
        if let (Some(table), Some(own)) = (&whole, scope.tables.first_mut()) {
            own.relation = Some(table.oid.0);
        }
        if let (FromSource::Function(..), [_], Plan::FunctionScan { call, .. }, Some(own)) =
            (&item.source, scope.columns.as_slice(), &plan, scope.tables.first_mut())
        {
            own.scalar = yields_values(call) && item.definitions.is_empty();
        }
        if let Some(own) = scope.tables.first_mut() {
            own.row = match &plan {
                Plan::FunctionScan { call, .. } => row_of_call(call),
                Plan::ProjectSet { calls, ordinality: false, .. } => match calls.as_slice() {
                    [only] if matches!(item.source, FromSource::Function(..) | FromSource::Rows(..)) => {
                        row_of_call(&only.call)
                    }
                    _ => None,
                },
                _ => None,
            };
        }
        if let (Plan::SystemScan { view: SystemView::Relation(id), .. }, Some(own)) =
            (&plan, scope.tables.first_mut())
        {
            own.relation = Some(id.get().oid.0);
        }
        let mut plan = plan;
        if let (FromSource::Table(_) | FromSource::Function(..), Some(name)) =
            (&item.source, item.alias.as_ref().map(|alias| alias.text.as_str()).or(own))
        {
            plan.call(name);
            // A function's columns have the names that FROM gives them.
            if let Plan::FunctionScan { columns, .. } = &mut plan {
                let own = |name: &Arc<str>| came_later(name).map_or_else(|| Arc::clone(name), Arc::from);
                let names = scope.columns.iter().map(|(name, _)| own(name));
                columns.iter_mut().zip(names).for_each(|(column, name)| column.name = name);
            }
        }
        if matches!(item.source, FromSource::Table(_)) {
            plan = self.with_virtual(plan)?;
        }
        // Rows of a change in WITH are read like those of a recursive query's last round, and are no recursion.
        scope.recursive = matches!((&item.source, &plan),
            (FromSource::Table(_), Plan::WorkTable { number, .. }) if *number < With::FIRST_NUMBER);
        if let Some(own) = scope.tables.first_mut() {
            own.place = place_of(item);
            own.schema = self.schema_of_item(item);
        }
        if let Some(trace) = self.traced {
            trace.item(place_of(item), &scope.columns);
            trace.aliased(place_of(item), aliased);
        }
        plan = match &item.source {
            FromSource::Function(call, _) if !unnests_several(call) => {
                self.of_json_rows(plan, &[&item.definitions])?
            }
            FromSource::Rows(calls, _) if !calls.iter().any(|(call, _)| unnests_several(call)) => {
                let definitions: Vec<_> = calls.iter().map(|(_, definitions)| &definitions[..]).collect();
                self.of_json_rows(plan, &definitions)?
            }
            _ => plan,
        };
        let unnamed = places.len() - numbers.count();
        scope.columns.extend(places.into_iter().take(unnamed).map(|(_, ty)| (Arc::from(""), ty)));
        numbers.add_to(&mut scope);
        Ok(Input { plan, scope, marks })
    }

    // ── joins ────────────────────────────────────────────────────────────────────────────────────────────────────

    fn join(&self, join: &Join, locks: &[LockClause]) -> Result<Input, SqlError> {
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
    fn using(
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
            super::walk::map_columns(&mut other, &mut |column| column + width);
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

    /// The system view that a name means. Of a kept text what names users' relations was noted.
    pub(super) fn system_view_named(&self, name: &QualifiedName) -> Option<SystemView> {
        let schema = match self.stored {
            Some(stored) if stored.relation_at(name.at().start).is_some() => return None,
            Some(_) => name.schema_text().or(Some("pg_catalog")),
            None => name.schema_text(),
        };
        self.catalog.system_view(schema, &name.name.text)
    }

    // ── leaves ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn relation(&self, name: &QualifiedName) -> Result<Plan, SqlError> {
        let schema = name.schema_text();
        if let (None, Some(plan)) = (schema, self.with_query(&name.name)?) {
            return Ok(plan);
        }
        if let Some(view) = self.system_view_named(name) {
            if !view.arguments().is_empty() {
                let text = format!("{name} is a function: give it its arguments");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(name.at().start));
            }
            if let SystemView::Relation(relation) = view {
                self.check_system(relation.get().name, relation.get().kind)?;
            }
            if let SystemView::Relation(relation) = view
                && let Some(plan) = self.system_query(relation.get())?
            {
                return Ok(plan);
            }
            let columns = view.columns();
            let output =
                columns.iter().map(|column| OutputColumn::new(column.name, column.ty.clone())).collect();
            let columns = (0..columns.len()).collect();
            return Ok(Plan::SystemScan { view, args: Vec::new(), columns, output, keys: Vec::new() });
        }
        if let Some(Relation::Sequence(sequence)) = self.relation_named(name) {
            let role = self.acting;
            let may = |role| self.catalog.rights(role, Object::Relation(sequence.oid)).has(Rights::SELECT);
            if !role.is_none_or(may) {
                return Err(denied("sequence", &sequence.name));
            }
            return self.sequence_row(sequence.oid);
        }
        let table = self.table(name)?;
        if let Some(noting) = self.noting {
            noting.relation(name.at().start, table.oid, table.shown());
        }
        if !self.unread
            && self.noting.is_none()
            && table.materialized.as_ref().is_some_and(|it| !it.populated)
        {
            let text = format!("materialized view \"{}\" has not been populated", table.name);
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text)
                .with_hint("Use the REFRESH MATERIALIZED VIEW command."));
        }
        let columns = (0..table.columns.len()).collect();
        Ok(Plan::TableScan { table: table.into(), columns, filter: None })
    }

    /// Where a sequence stands, as a row.
    fn sequence_row(&self, sequence: Oid) -> Result<Plan, SqlError> {
        let text = format!(
            "SELECT verso_sequence_number({0}) AS last_value, verso_sequence_ahead({0}) AS log_cnt, \
                    pg_sequence_last_value({0}) IS NOT NULL AS is_called",
            sequence.0
        );
        let parsed = verso_parser::parse_script(&text)?;
        match parsed.first().map(|parsed| &parsed.statement) {
            Some(Statement::Query(query)) => {
                Binder::new(self.catalog, self.time_zone, &[]).with_rules(self.rules).query(query)
            }
            _ => Err(SqlError::internal("a query that is none")),
        }
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
        Ok(Plan::SystemScan { view, args, columns: (0..columns.len()).collect(), output, keys: Vec::new() })
    }

    /// Functions side by side, perhaps numbered; whether the first column takes the alias for its name.
    fn rows_from(
        &self,
        calls: &[(Call, Vec<(Name, SqlType)>)],
        ordinality: bool,
    ) -> Result<(Plan, bool), SqlError> {
        let mut functions = Vec::new();
        let mut single = true;
        for (call, definitions) in calls {
            let definitions = self.definitions(definitions)?;
            let several = unnests_several(call);
            let parts: Vec<Call> = match several {
                // `unnest(a, b)`: each array by itself.
                true => {
                    call.args.iter().map(|arg| Call::plain(call.name.clone(), vec![arg.clone()])).collect()
                }
                false => vec![call.clone()],
            };
            for part in parts {
                let (plan, one) = self.function_scan(&part)?;
                single &= one && definitions.is_empty();
                match defined(plan, &definitions, part.name.at().start)? {
                    Plan::FunctionScan { call, columns } => functions.push(SetColumns { call, columns }),
                    _ => {
                        let what = "a system view beside other functions or numbered";
                        return Err(SqlError::unsupported(what).at(part.name.at().start));
                    }
                }
            }
        }
        single &= functions.len() == 1;
        let input = Box::new(Plan::Values { rows: vec![Vec::new()], columns: Vec::new() });
        Ok((Plan::ProjectSet { input, calls: functions, ordinality, unread: Vec::new() }, single))
    }

    /// A function in FROM; whether it yields one unnamed column.
    fn function_scan(&self, call: &verso_parser::syntax::Call) -> Result<(Plan, bool), SqlError> {
        let call = &*self.positional(call)?;
        let at = call.name.at().start;
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::From);
        if call.star || call.distinct || call.filter.is_some() {
            return Err(SqlError::syntax("syntax error: a function in FROM takes plain arguments").at(at));
        }
        let name = call.name.name.text.as_str();
        if let Some(form) = self.form_in_from(call, &mut cx)? {
            let to = vec![form.ty.clone()];
            return self.function_rows(Found::BuiltIn(&VALUE, vec![(form, at)], to), name);
        }
        let args = self.located(&call.args, &mut cx)?;
        if let Some(view) = SystemView::of_call(name)
            && matches!(call.name.schema_text(), None | Some("pg_catalog"))
        {
            return Ok((self.view_call(view, args, at)?, false));
        }
        if args.is_empty()
            && let Some(plan) = super::view_function::scan(self, &call.name)
        {
            return Ok((plan, false));
        }
        let found = match self.function(call, args) {
            Err(error) if error.sqlstate == sqlstate::UNDEFINED_FUNCTION => {
                return Err(self.no_plain_function(call).unwrap_or(error));
            }
            found => found?,
        };
        self.function_rows(found, name)
    }

    /// The value of a form of SQL that looks like a call, or of one that FROM takes for a call.
    fn form_in_from(&self, call: &Call, cx: &mut Context<'_>) -> Result<Option<TypedExpr>, SqlError> {
        match (call.args.as_slice(), &call.name.schema) {
            ([form], _) if call.form => self.expr(form, cx).map(Some),
            (_, None) if call.over.is_none() => {
                self.special_form(&call.name.name.text, call, call.name.at(), cx)
            }
            _ => Ok(None),
        }
    }

    /// What is wrong with an aggregate or a window function as a function in FROM.
    fn no_plain_function(&self, call: &Call) -> Option<SqlError> {
        let name = call.name.name.text.as_str();
        let (at, schema) = (call.name.at().start, call.name.schema_text());
        if schema.is_some_and(|schema| schema != "pg_catalog") {
            return None;
        }
        if !aggregate_candidates(name).is_empty() || self.is_user_aggregate(call) {
            let text = "aggregate functions are not allowed in functions in FROM";
            return Some(SqlError::new(sqlstate::GROUPING_ERROR, text).at(at));
        }
        let text = format!("window function {name} requires an OVER clause");
        let is_window = !window_candidates(name).is_empty();
        is_window.then(|| SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at))
    }

    /// The rows of a function that was found; whether they have one unnamed column.
    fn function_rows(&self, found: Found, name: &str) -> Result<(Plan, bool), SqlError> {
        match found {
            Found::BuiltIn(function, args, to) => {
                let args = args
                    .into_iter()
                    .zip(&to)
                    .map(|((arg, at), to)| self.coerce(arg, at, to, CastKind::Implicit))
                    .collect::<Result<Vec<_>, _>>()?;
                let (function, mut args) = searching(function, args)?;
                let populates = with_definitions(function.name).is_some();
                if let Some(row) = args.first_mut().filter(|_| populates) {
                    *row = with_fields(row.clone());
                }
                let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
                let ty = result_type(&function.result, &types);
                // Of rows without a type the query says the fields, whatever is known of them.
                let of_array = function.name == "unnest" && matches!(types.first(), Some(SqlType::Array(_)));
                let is_open = |row: &RowType| (of_array || populates) && row.of.is_none();
                let ty = match ty {
                    SqlType::Row(row) if is_open(&row) => SqlType::Record,
                    ty => ty,
                };
                let (columns, single) = match &ty {
                    SqlType::Row(row) => {
                        let column = |(name, ty): &(Arc<str>, SqlType)| {
                            OutputColumn::new(Arc::clone(name), ty.clone())
                        };
                        (row.fields.iter().map(column).collect(), false)
                    }
                    // the one OUT parameter has a name, which an alias of the function leaves as it is
                    _ if function.name.contains("_array_elements") => {
                        (vec![OutputColumn::new("value", ty)], false)
                    }
                    _ if function.name == "pg_partition_ancestors" => {
                        (vec![OutputColumn::new("relid", ty)], false)
                    }
                    _ => (vec![made_of(OutputColumn::new(name, ty), &args)], true),
                };
                Ok((Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns }, single))
            }
            Found::User(function, args) => {
                let (columns, single) = columns_of_routine(&function, name);
                Ok((Plan::FunctionScan { call: SetCall::User { function, args }, columns }, single))
            }
        }
    }
}

impl Binder<'_> {
    /// The columns that a query defines, with what the names of their types mean.
    fn definitions(&self, definitions: &[(Name, SqlType)]) -> Result<Vec<(Name, SqlType)>, SqlError> {
        let one = |(name, ty): &(Name, SqlType)| match self.data_type(ty)?.erased() {
            ty if is_polymorphic(&ty) => {
                let text = format!("column \"{}\" has pseudo-type {}", name.text, ty.pg_name());
                Err(SqlError::new("42P16", text))
            }
            ty => Ok((name.clone(), ty)),
        };
        definitions.iter().map(one).collect()
    }
}

/// The plan of a function whose columns the query defines: `AS t(a int, b text)`. Their names are its last argument.
fn defined(plan: Plan, definitions: &[(Name, SqlType)], at: u32) -> Result<Plan, SqlError> {
    if let Plan::FunctionScan { call: SetCall::User { function, args }, columns } = plan {
        return defined_routine(function, args, columns, definitions, at);
    }
    let Plan::FunctionScan { call: SetCall::Builtin { mut function, mut args }, columns } = plan else {
        return match definitions.first() {
            Some((name, _)) => Err(SqlError::unsupported("a column definition list").at(name.at.start)),
            None => Ok(plan),
        };
    };
    let open = function.result == verso_exec::functions::ResultType::Fixed(SqlType::Record);
    // What it yields are rows of which nothing says what their fields are.
    let yields_rows = matches!(columns.as_slice(), [OutputColumn { ty: SqlType::Record, .. }]);
    match (open || yields_rows, definitions.first()) {
        (true, None) => {
            let text = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::syntax(text).at(at));
        }
        (false, Some((name, _))) => {
            let text = match function.result {
                verso_exec::functions::ResultType::Columns(_)
                | verso_exec::functions::ResultType::Mixed(_) => {
                    "a column definition list is redundant for a function with OUT parameters"
                }
                verso_exec::functions::ResultType::SameAs(0)
                    if args.first().is_some_and(|row| row.ty.composite().is_some()) =>
                {
                    "a column definition list is redundant for a function returning a named composite type"
                }
                _ => "a column definition list is only allowed for functions returning \"record\"",
            };
            return Err(SqlError::syntax(text).at(name.at.start));
        }
        (false, None) => {
            return Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns });
        }
        (true, Some(_)) => {}
    }
    let columns =
        definitions.iter().map(|(name, ty)| OutputColumn::new(name.text.as_str(), ty.clone())).collect();
    if !open {
        if function.name == "unnest" {
            let function = &UNNEST_ROWS;
            return Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns });
        }
        let Some(defined) = with_definitions(function.name) else {
            return Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns });
        };
        function = defined;
        args.truncate(2);
    }
    let names: Vec<Value> = definitions.iter().map(|(name, _)| Value::text(&name.text)).collect();
    args.push(TypedExpr::literal(Value::Array(names.into()), SqlType::Array(Box::new(SqlType::Text))));
    Ok(Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns })
}

/// The composite type of the rows that a function yields; none of those that nothing but the function knows.
pub(super) fn row_of_call(call: &SetCall) -> Option<Arc<RowType>> {
    let ty = match call {
        SetCall::User { function, .. } => match &function.returns {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => ty.clone(),
            _ => return None,
        },
        SetCall::Builtin { function, args } => {
            let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
            result_type(&function.result, &types)
        }
    };
    match ty {
        SqlType::Row(row) if row.of.is_some() => Some(row),
        _ => None,
    }
}

/// Whether a call whose rows have one column yields values: the name of its item then is that of a value, not of a row.
fn yields_values(call: &SetCall) -> bool {
    match call {
        SetCall::User { function, .. } => match &function.returns {
            FunctionReturn::Table(_) => true,
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => !ty.is_row(),
            FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => true,
        },
        SetCall::Builtin { function, .. } => {
            !matches!(function.result, ResultType::Columns(_) | ResultType::Mixed(_))
                && row_of_call(call).is_none()
        }
    }
}

/// The columns of a user's function in FROM; whether it is one that has no name.
fn columns_of_routine(function: &FunctionDef, name: &str) -> (Vec<OutputColumn>, bool) {
    let output = |(name, ty): &(Arc<str>, SqlType)| OutputColumn::new(Arc::clone(name), ty.erased());
    let one = |ty: &SqlType| match function.outputs().next() {
        // The only argument that comes out names the column.
        Some(arg) if !arg.name.is_empty() => {
            (vec![OutputColumn::new(Arc::clone(&arg.name), ty.erased())], false)
        }
        _ => (vec![OutputColumn::new(name, ty.erased())], true),
    };
    match &function.returns {
        FunctionReturn::Void | FunctionReturn::Procedure | FunctionReturn::Trigger => one(&SqlType::Void),
        FunctionReturn::Scalar(SqlType::Row(row)) | FunctionReturn::Set(SqlType::Row(row)) => {
            (row.fields.iter().map(output).collect(), false)
        }
        FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => one(ty),
        FunctionReturn::Table(columns) => (columns.iter().map(output).collect(), false),
    }
}

/// The plan of a user's function, whose columns the query defines if the function does not.
fn defined_routine(
    function: Arc<FunctionDef>,
    args: Vec<TypedExpr>,
    mut columns: Vec<OutputColumn>,
    definitions: &[(Name, SqlType)],
    at: u32,
) -> Result<Plan, SqlError> {
    let open = matches!(
        function.returns,
        FunctionReturn::Scalar(SqlType::Record) | FunctionReturn::Set(SqlType::Record)
    );
    match (open, definitions.first()) {
        (true, None) => {
            let text = "a column definition list is required for functions returning \"record\"";
            return Err(SqlError::syntax(text).at(at));
        }
        (false, Some((name, _))) => {
            let text = match &function.returns {
                FunctionReturn::Table(_) => {
                    "a column definition list is redundant for a function with OUT parameters"
                }
                FunctionReturn::Scalar(SqlType::Row(_)) | FunctionReturn::Set(SqlType::Row(_))
                    if function.rows_of.is_none() =>
                {
                    "a column definition list is redundant for a function with OUT parameters"
                }
                FunctionReturn::Scalar(SqlType::Row(_)) | FunctionReturn::Set(SqlType::Row(_)) => {
                    "a column definition list is redundant for a function returning a named composite type"
                }
                _ => "a column definition list is only allowed for functions returning \"record\"",
            };
            return Err(SqlError::syntax(text).at(name.at.start));
        }
        (false, None) => {}
        (true, Some(_)) => {
            let column = |(name, ty): &(Name, SqlType)| OutputColumn::new(name.text.as_str(), ty.clone());
            columns = definitions.iter().map(column).collect();
        }
    }
    Ok(Plan::FunctionScan { call: SetCall::User { function, args }, columns })
}

/// Where an item begins, which tells it from the others of a text.
pub(crate) fn place_of(item: &FromItem) -> u32 {
    match &item.source {
        FromSource::Table(name) => name.at().start,
        FromSource::Function(call, _) => call.name.at().start,
        FromSource::Rows(_, at) | FromSource::Query(_, at) => at.start,
        FromSource::JsonTable(table) => table.rows.at.start,
        FromSource::Join(_) => item.alias.as_ref().map_or(0, |alias| alias.at.start),
    }
}

/// Lets the rows of each item be told from those that an outer join makes up: by a column that has no NULL, or by one more.
pub(super) fn mark_rows(input: &mut Input) {
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

/// `unnest` of several arrays is no function of its own.
fn unnests_several(call: &Call) -> bool {
    call.args.len() > 1 && call.name.schema.is_none() && call.name.name.text == "unnest"
}

/// Adds what is noted when columns of a relation are used.
fn note(scope: &mut Scope, need: Option<Rc<Need>>) {
    scope.noted.extend(need.map(|need| (0..scope.columns.len(), need)));
}

/// The columns of both, those of `right` behind.
pub(super) fn both(left: &Scope, right: &Scope) -> Scope {
    let width = left.columns.len();
    let mut scope = left.clone();
    scope.recursive |= right.recursive;
    scope.columns.extend(right.columns.iter().cloned());
    for table in &right.tables {
        let mut table = table.clone();
        table.columns = table.columns.start + width..table.columns.end + width;
        table.there = table.there.map(|column| column + width);
        for (_, expr) in &mut table.merged {
            super::walk::map_columns(expr, &mut |column| column + width);
        }
        scope.tables.push(table);
    }
    let noted = right.noted.iter();
    scope.noted.extend(noted.map(|(range, need)| (range.start + width..range.end + width, Rc::clone(need))));
    for (name, expr) in &right.visible {
        let mut expr = expr.clone();
        super::walk::map_columns(&mut expr, &mut |column| column + width);
        scope.visible.push((Arc::clone(name), expr));
    }
    scope
}
