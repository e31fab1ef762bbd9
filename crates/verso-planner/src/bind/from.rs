//! FROM: tables, functions, subqueries, and joins of them.
//!
//! ```text
//! a, b JOIN c ON … , LATERAL (SELECT … a.x …) l   ─►   Apply(Join(a, Join(b, c)), l over Outer)
//! ```
//!
//! Plans made here read whole tables; the rewriting of the whole query (`rewrite/`) moves conditions down and leaves
//! out columns that nothing uses.

mod function;
mod join;
mod relation;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use verso_catalog::{PolicyFor, Relation, Rights, SystemView, TableDef, kept};
use verso_env::recursion;
use verso_exec::plan::{Plan, With};
use verso_types::SqlType;

use super::Binder;
use super::lock::{Locking, Mark, Wanted};
use super::past::refuse_past;
use super::rights::{Need, Noted};
use super::sample::no_sample_of;
use super::scope::{Correlation, Hidden, InSchema, Scope, came_later};
use super::table_number::{RowNumber, RowNumbers, numbered};
use super::unbound;
use super::view::ColumnsThen;
use super::with::Cte;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{FromItem, FromSource, LockClause, QualifiedName};

use function::{defined, unnests_several, yields_values};

pub(super) use function::row_of_call;
pub(super) use join::{both, mark_rows};

/// What FROM yields.
pub(super) struct Input {
    pub(super) plan: Plan,
    pub(super) scope: Scope,
    /// What of it is locked.
    pub(super) marks: Vec<Mark>,
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
            self.catalog.check_whole(table.oid)?;
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

/// Adds what is noted when columns of a relation are used.
fn note(scope: &mut Scope, need: Option<Rc<Need>>) {
    scope.noted.extend(need.map(|need| (0..scope.columns.len(), need)));
}
