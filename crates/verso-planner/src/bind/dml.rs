//! INSERT; what it shares with UPDATE and DELETE.

use std::sync::Arc;

use verso_catalog::{ColumnDef, ConstraintDef, ConstraintKind, Identity, IndexDef, Rights, TableDef};
use verso_exec::exec::{TriggerEvent, keep_others, set_generated, triggers_change_rows};
use verso_exec::plan::{
    Check, CheckOf, ConflictUpdate, ExprKind as K, Insert, NO_INDEX_OF_CONFLICT, OnConflict, OutputColumn,
    Plan, RowRules, TypedExpr,
};
use verso_types::{CastKind, SqlType, cast_kind};

use super::Binder;
use super::change::is_there;
use super::context::{Clause, Context};
use super::generated::filled_text;
use super::partition::share_rows;
use super::returning::{BoundReturning, Returned};
use super::scope::Scope;
use super::select::rows_of_sets;
use super::shown::{Change, Changed};
use super::start::read_at_start;
use super::steady::is_immutable;
use super::table_number::{RowNumber, RowNumbers};
use super::walk::same;
use crate::errors::{SqlError, sqlstate};
use crate::implied::implied;
use crate::plan::condition_of;
use verso_parser::syntax::{
    self, ConflictTarget, Expr, ExprKind, FromItem, FromSource, Name, QueryBody, SelectItem, Step,
};

/// The names of these columns.
pub(super) fn names_of<'c>(table: &TableDef, columns: impl Iterator<Item = &'c usize>) -> Vec<Arc<str>> {
    columns.filter_map(|column| Some(Arc::clone(&table.columns.get(*column)?.name))).collect()
}

/// The indexes that ON CONFLICT means.
struct Inferred {
    indexes: Vec<Arc<IndexDef>>,
    /// For other values of parameters there may be more.
    undecided: bool,
}

impl Binder<'_> {
    // ── INSERT ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn insert(&self, insert: &syntax::Insert) -> Result<Insert, SqlError> {
        self.as_it_reads(&|reads| self.insert_that(insert, reads))
    }

    /// The same of one that `reads` columns of its table, or none.
    fn insert_that(&self, insert: &syntax::Insert, reads: bool) -> Result<(Insert, Changed), SqlError> {
        let mut changed = self.changed(&insert.table, Change::Insert)?;
        // Whether a key is there is something read, too.
        let looks = insert.on_conflict.as_ref().is_some_and(|clause| clause.target.is_some());
        if reads || looks {
            self.reads_changed(&mut changed, Change::Insert)?;
        }
        let changed = changed;
        let table = Arc::clone(&changed.seen);
        let columns = changed.insert_columns(&insert.columns, &insert.places)?;
        let types = self.place_types(&table, &columns, insert)?;
        let (source, given) = match &insert.source {
            None => (Plan::Values { rows: vec![Vec::new()], columns: Vec::new() }, 0),
            Some(query) => match &query.body {
                QueryBody::Values(rows)
                    if query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none() =>
                {
                    self.insert_values(rows, &table, (&columns, &types), insert)?
                }
                _ => self.insert_query(query, &table, (&columns, &types), insert)?,
            },
        };
        if insert.places.iter().all(Vec::is_empty) {
            changed.check_given(&columns[..given.min(columns.len())])?;
        }
        // Those that are not given take no right.
        changed.changes(Rights::INSERT, columns[..given.min(columns.len())].to_vec());
        let explicit = !insert.columns.is_empty();
        let output = source.output();
        let mut values = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let first = columns.iter().position(|column| *column == index).filter(|n| *n < given);
            if first.is_some_and(|first| is_part(insert, first)) {
                values.push(self.inserted_parts(column, index, &columns[..given], &output, insert)?);
                continue;
            }
            values.push(match first {
                Some(n) => {
                    let at = insert.source.as_ref().map_or(0, |query| query.at.start);
                    self.assign(TypedExpr::column(n, output[n].ty.clone()), at, &column.name, &column.ty)?
                }
                None => self.column_default(&table, index)?,
            });
        }
        let all = columns.len() == table.shown().len();
        debug_assert!(explicit || changed.view().is_some() || self.stored.is_some() || all);
        let mut scope = changed.scope(insert.alias.as_ref());
        begins_at(&mut scope, insert.table.at().start);
        let numbers = self.numbers_of(&changed);
        let shown = changed.view().is_some();
        let numbers = if numbers.has(RowNumber::Place) && !shown { RowNumbers::default() } else { numbers };
        changed.add_numbers(numbers, &mut scope);
        let bound = self.returning_of(&insert.returning, &scope, (&table, RowNumbers::default()), false)?;
        let place = numbers.iter().position(|number| number == RowNumber::Place);
        if let (Some(place), Some(bound)) = (place, &bound)
            && bound.uses(table.columns.len() + place)
        {
            return Err(SqlError::unsupported("ctid of rows that INSERT returns"));
        }
        // A BEFORE ROW trigger may change whatever the source reads.
        let spool = reads_table(&source, &table)
            || triggers_change_rows(&table, TriggerEvent::Insert)
                && source.any(&mut |part| matches!(part, Plan::TableScan { .. }));
        let mut rules = changed.rules(self)?;
        rules.set = names_of(&changed.table, columns[..given.min(columns.len())].iter());
        let on_conflict = match &insert.on_conflict {
            Some(clause) => Some(Box::new(self.on_conflict(clause, &changed, &rules, insert)?)),
            None => None,
        };
        // Without DO UPDATE there is no row before.
        let updates = on_conflict.as_ref().is_some_and(|clause| clause.update.is_some());
        let uses_old = |bound: &BoundReturning| bound.uses_old() || numbers.has(RowNumber::Xmax);
        let returns_old = updates && bound.as_ref().is_some_and(uses_old);
        let own = table.columns.len();
        let returning = bound.map(|bound| {
            bound.over(&mut |returned, ty| match returned {
                Returned::Old(_) | Returned::WasThere if !returns_old => TypedExpr::null(ty.clone()),
                Returned::WasThere => TypedExpr::column(2 * own, SqlType::Bool),
                Returned::IsThere => is_there(),
                Returned::Old(column) => TypedExpr::column(own + column, ty.clone()),
                Returned::Own(column) | Returned::New(column) => TypedExpr::column(column, ty.clone()),
                Returned::Other(_) => {
                    let number = numbers.inserted(&changed.table, returned, returns_old);
                    number.unwrap_or_else(|| TypedExpr::null(ty.clone()))
                }
                Returned::Action => TypedExpr::null(ty.clone()),
            })
        });
        let table = Arc::clone(&changed.table);
        let (routes, keys) = (Vec::new(), Vec::new());
        let mut insert =
            Insert { table, source, values, spool, rules, on_conflict, returning, returns_old, routes, keys };
        read_at_start(&mut insert, self.planning())?;
        self.route(&mut insert)?;
        Ok((insert, changed))
    }

    /// The CHECK constraints, the domains and the generated columns of a table, and whose partition it is, over full rows.
    pub fn row_rules(&self, table: &TableDef) -> Result<RowRules, SqlError> {
        let mut checks = self.domain_checks(table)?;
        checks.extend(self.virtual_not_null(table)?);
        checks.extend(self.checks_among(table, |constraint| constraint.enforced)?);
        checks.extend(self.period_checks(table)?);
        let (generated, partition) = (self.generated(table)?, self.partition_rule(table));
        Ok(RowRules { checks, generated, partition, set: Vec::new() })
    }

    /// That periods of keys WITHOUT OVERLAPS are not empty.
    fn period_checks(&self, table: &TableDef) -> Result<Vec<Check>, SqlError> {
        let mut checks = Vec::new();
        for index in table.indexes.iter().filter(|index| index.is_temporal()) {
            let Some(at) = index.parts.last().and_then(|part| table.column_with_id(part.column)) else {
                continue;
            };
            let name = &table.columns[at].name;
            let condition = self.stored_condition(&filled_text(name), table)?;
            checks.push(Check { name: Arc::clone(name), condition, of: CheckOf::Period });
        }
        Ok(checks)
    }

    /// The CHECK constraints of a table, by name, over full rows.
    pub fn checks(&self, table: &TableDef) -> Result<Vec<Check>, SqlError> {
        self.checks_among(table, |_| true)
    }

    fn checks_among(
        &self,
        table: &TableDef,
        wanted: impl Fn(&ConstraintDef) -> bool,
    ) -> Result<Vec<Check>, SqlError> {
        let check = |constraint: &Arc<ConstraintDef>| match &constraint.kind {
            ConstraintKind::Check { expression } => {
                let condition = self.stored_condition(expression, table);
                Some(condition.map(|condition| Check {
                    name: Arc::clone(&constraint.name),
                    // What hangs on more than the row may be broken by now.
                    of: CheckOf::Table { validated: constraint.validated && is_immutable(&condition) },
                    condition,
                }))
            }
            ConstraintKind::Unique { .. }
            | ConstraintKind::Exclude { .. }
            | ConstraintKind::Foreign(_)
            | ConstraintKind::NotNull { .. } => None,
        };
        table.constraints.iter().filter(|constraint| wanted(constraint)).filter_map(check).collect()
    }

    // ── ON CONFLICT ──────────────────────────────────────────────────────────────────────────────────────────────

    fn on_conflict(
        &self,
        clause: &syntax::OnConflict,
        changed: &Changed,
        rules: &RowRules,
        insert: &syntax::Insert,
    ) -> Result<OnConflict, SqlError> {
        let table = &changed.seen;
        let unique = || table.indexes.iter().filter(|index| index.unique || index.excludes());
        let mut undecided = false;
        let indexes: Vec<Arc<IndexDef>> = match &clause.target {
            None if clause.update.is_some() => {
                let text = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                return Err(SqlError::syntax(text)
                    .with_hint("For example, ON CONFLICT (column_name).")
                    .at(clause.at));
            }
            None => unique().cloned().collect(),
            Some(ConflictTarget::Inferred(parts, predicate)) => {
                let found = self.inferred(table, insert.alias.as_ref(), parts, predicate.as_ref())?;
                undecided = found.undecided;
                found.indexes
            }
            Some(ConflictTarget::Constraint(name)) => {
                let constraint = table.constraint_kept(&name.text).ok_or_else(|| {
                    let text =
                        format!("constraint \"{}\" for table \"{}\" does not exist", name.text, table.name);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(clause.at)
                })?;
                self.notes().for_each(|notes| notes.constraint(name.at.start, constraint.oid));
                let its = unique().filter(|index| index.constraint == Some(constraint.oid));
                let its: Vec<_> = its.cloned().collect();
                if clause.update.is_some() && its.iter().any(|index| index.excludes()) {
                    let text = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
                }
                its
            }
        };
        if clause.target.is_some() {
            let ids = indexes.iter().flat_map(|index| &index.parts).map(|part| part.column);
            ids.filter_map(|id| table.column_with_id(id)).for_each(|column| changed.selects(column));
        }
        if indexes.iter().any(|index| index.deferrable) {
            let text = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as \
                        arbiters";
            return Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text));
        }
        if indexes.is_empty() && clause.target.is_some() && !undecided {
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, NO_INDEX_OF_CONFLICT));
        }
        let all = clause.target.is_none();
        let Some(update) = &clause.update else {
            return Ok(OnConflict { indexes, all, undecided, update: None });
        };
        let mut scope = changed.conflict_scope(insert.alias.as_ref());
        scope.note_again(table.columns.len(), table.columns.len());
        begins_at(&mut scope, insert.table.at().start);
        if let Some(second) = scope.tables.last_mut() {
            second.place = EXCLUDED;
        }
        let own = &changed.table;
        let both = |expr| self.expanded(self.expanded(expr, own, 0)?, own, own.columns.len());
        let filter = self.filter(update.filter.as_ref(), &scope)?.map(both).transpose()?;
        let known = changed.known_assignments(&update.assignments);
        let given = known.as_deref().unwrap_or(&update.assignments);
        let mut assignments = self.assignments(given, changed, &scope, None)?;
        for (_, value) in &mut assignments {
            *value = both(std::mem::replace(value, TypedExpr::null(SqlType::Unknown)))?;
        }
        changed.changes(Rights::UPDATE, assignments.iter().map(|(column, _)| *column).collect::<Vec<_>>());
        set_generated(&mut assignments, rules);
        let named = assignments.len();
        if triggers_change_rows(table, TriggerEvent::Update) {
            keep_others(&mut assignments, table);
        }
        let (mut shown, mut own_rules) = (None, None);
        if changed.is_secured() {
            // The row that is there is changed by the policies of UPDATE; one that they do not show is no reason to do nothing.
            let mut updated = self.changed(&insert.table, Change::Update)?;
            self.reads_changed(&mut updated, Change::Update)?;
            let name = &changed.table.name;
            shown = updated.policy_filter().map(|condition| Check {
                name: Arc::clone(name),
                condition,
                of: CheckOf::PolicyUsing,
            });
            own_rules = Some(Box::new(updated.rules(self)?));
        }
        let update = ConflictUpdate { assignments, named, filter, shown, rules: own_rules };
        Ok(OnConflict { indexes, all, undecided, update: Some(update) })
    }

    /// The unique indexes on these columns and expressions, in any order; partial ones where their condition follows. Whether it
    /// follows may hang on the values of parameters.
    fn inferred(
        &self,
        table: &Arc<TableDef>,
        alias: Option<&Name>,
        parts: &[Expr],
        predicate: Option<&Expr>,
    ) -> Result<Inferred, SqlError> {
        let derived = self.hidden(table);
        let scope = table_scope(table, alias);
        // Columns by their numbers; none for an expression that no index has.
        let mut ids = Vec::new();
        for part in parts {
            let bound = self.expr(part, &mut Context::new(&scope, Clause::IndexExpression))?;
            ids.push(match bound.kind {
                K::Column(at) => Some(table.columns[at].id),
                _ => {
                    let known = derived.iter().find(|(_, known)| same(known, &bound));
                    known.map(|(at, _)| table.columns[*at].id)
                }
            });
        }
        let bind = |expr: &Expr| self.conflict_predicate(expr, table, alias);
        let predicate = predicate.map(bind).transpose()?;
        let serves = |index: &IndexDef| {
            let Some(guard) = index.guard else { return true };
            let at = table.column_with_id(guard);
            let guard = derived.iter().find(|(known, _)| Some(*known) == at);
            let condition = guard.and_then(|(_, guard)| condition_of(guard));
            match (&predicate, condition) {
                (Some(given), Some(condition)) => implied(&[given], condition),
                _ => false,
            }
        };
        let fits = |index: &&Arc<IndexDef>| {
            index.parts.iter().all(|part| ids.contains(&Some(part.column)))
                && ids.iter().all(|id| index.parts.iter().any(|part| Some(part.column) == *id))
        };
        let unique = table.indexes.iter().filter(|index| index.unique && !index.excludes());
        let (indexes, others): (Vec<_>, Vec<_>) =
            unique.filter(fits).cloned().partition(|index| serves(index));
        let has_parameters = |given: &TypedExpr| given.any(&mut |part| matches!(part.kind, K::Parameter(_)));
        let undecided = !others.is_empty() && predicate.as_ref().is_some_and(has_parameters);
        Ok(Inferred { indexes, undecided })
    }

    /// The types of what the columns of an INSERT, or the places within them, get.
    fn place_types(
        &self,
        table: &TableDef,
        columns: &[usize],
        insert: &syntax::Insert,
    ) -> Result<Vec<SqlType>, SqlError> {
        let mut types = Vec::with_capacity(columns.len());
        for (n, index) in columns.iter().enumerate() {
            let column = &table.columns[*index];
            types.push(match insert.places.get(n) {
                Some(steps) if !steps.is_empty() => {
                    if column.generated {
                        return Err(refuse_generated(column));
                    }
                    self.place_type(&column.seen(), steps)
                }
                _ => column.ty.clone(),
            });
        }
        Ok(types)
    }

    /// A column whose parts an INSERT names: they are assigned to NULL, one after the other.
    fn inserted_parts(
        &self,
        column: &ColumnDef,
        index: usize,
        columns: &[usize],
        output: &[OutputColumn],
        insert: &syntax::Insert,
    ) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Values);
        let mut whole = TypedExpr::null(column.seen());
        for (n, _) in columns.iter().enumerate().filter(|(_, of)| **of == index) {
            let (Some(name), Some(steps)) = (insert.columns.get(n), insert.places.get(n)) else { continue };
            let at = name.at.start;
            let value = (TypedExpr::column(n, output[n].ty.clone()), at);
            whole = self.assigned_within(whole, (&column.name, at), steps, value, &mut cx)?;
        }
        self.assign(whole, 0, &column.name, &column.ty)
    }

    /// VALUES: each value goes straight to its column's type, and may be DEFAULT.
    fn insert_values(
        &self,
        rows: &[Vec<Expr>],
        table: &TableDef,
        (columns, types): (&[usize], &[SqlType]),
        insert: &syntax::Insert,
    ) -> Result<(Plan, usize), SqlError> {
        let spread: Vec<Vec<Expr>>;
        let scope = Scope::default();
        let rows = match rows.iter().flatten().any(Expr::is_starred) {
            false => rows,
            true => {
                spread = rows.iter().map(|row| self.spread_all(row, &scope)).collect();
                &spread
            }
        };
        let width = rows.first().map_or(0, Vec::len);
        let clause = if rows.len() == 1 { Clause::ValuesRow } else { Clause::Values };
        let mut cx = Context::new(&scope, clause);
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                let at = row.first().map_or(0, |expr| expr.at.start);
                return Err(SqlError::syntax("VALUES lists must all be the same length").at(at));
            }
            check_width(width, columns, insert, row.get(columns.len()).map(|expr| expr.at.start))?;
            let mut values = Vec::with_capacity(width);
            for (n, (expr, index)) in row.iter().zip(columns).enumerate() {
                let column = &table.columns[*index];
                values.push(match &expr.kind {
                    ExprKind::Default if is_part(insert, n) => {
                        let text = match insert.places[n].first() {
                            Some(Step::Field(_)) => "cannot set a subfield to DEFAULT",
                            _ => "cannot set an array element to DEFAULT",
                        };
                        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(expr.at.start));
                    }
                    _ if is_part(insert, n) => {
                        let value =
                            self.expr(expr, &mut cx).map_err(|error| unreachable_column(error, table))?;
                        let fits = cast_kind(&value.ty, &types[n]);
                        match fits.is_some_and(|kind| kind <= CastKind::Assignment) {
                            true => self.coerce(value, expr.at.start, &types[n], CastKind::Assignment)?,
                            false => {
                                let (steps, at) = (&insert.places[n], expr.at.start);
                                let whole = TypedExpr::null(column.seen());
                                let column = (&*column.name, insert.columns[n].at.start);
                                self.assigned_within(whole, column, steps, (value, at), &mut cx)?;
                                return Err(SqlError::internal("a value that does not fit was assigned"));
                            }
                        }
                    }
                    ExprKind::Default => self.column_default(table, *index)?,
                    _ if column.generated => return Err(refuse_generated(column)),
                    _ if insert.overriding == Some(false) && column.identity.is_some() => {
                        self.column_default(table, *index)?
                    }
                    _ if column.identity == Some(Identity::Always) && insert.overriding.is_none() => {
                        return Err(refuse_identity(column));
                    }
                    _ => {
                        let value =
                            self.expr(expr, &mut cx).map_err(|error| unreachable_column(error, table))?;
                        self.assign(value, expr.at.start, &column.name, &column.ty)?
                    }
                });
            }
            bound.push(values);
        }
        let output = columns[..width].iter().enumerate().map(|(n, index)| {
            let column = &table.columns[*index];
            let ty = if is_part(insert, n) { types[n].clone() } else { column.seen() };
            OutputColumn::new(Arc::clone(&column.name), ty)
        });
        let output: Vec<OutputColumn> = output.collect();
        if !cx.sets.is_empty()
            && let Some(row) = bound.pop()
        {
            let names = output.iter().map(|column| Arc::clone(&column.name)).collect();
            return Ok((rows_of_sets(row, names, std::mem::take(&mut cx.sets)), width));
        }
        Ok((Plan::Values { rows: bound, columns: output }, width))
    }

    fn insert_query(
        &self,
        query: &syntax::Query,
        table: &TableDef,
        (columns, targets): (&[usize], &[SqlType]),
        insert: &syntax::Insert,
    ) -> Result<(Plan, usize), SqlError> {
        let plan = self.query_for(query, targets)?;
        let width = plan.output().len();
        let extra = match &query.body {
            QueryBody::Select(select) => match select.items.get(columns.len()) {
                Some(SelectItem::Expr { expr, alias: _ }) => expr.at.start,
                _ => query.at.start,
            },
            _ => query.at.start,
        };
        check_width(width, columns, insert, Some(extra))?;
        if let Some(index) = columns[..width].iter().find(|index| table.columns[**index].generated) {
            return Err(refuse_generated(&table.columns[*index]));
        }
        let always = |index: &&usize| table.columns[**index].identity == Some(Identity::Always);
        if let Some(index) = columns[..width].iter().find(always)
            && insert.overriding.is_none()
        {
            return Err(refuse_identity(&table.columns[*index]));
        }
        let plan =
            if insert.overriding == Some(false) { self.overridden(plan, table, columns)? } else { plan };
        Ok((plan, width))
    }

    /// OVERRIDING USER VALUE: identity columns take their next number, whatever the query gives.
    fn overridden(&self, plan: Plan, table: &TableDef, columns: &[usize]) -> Result<Plan, SqlError> {
        let output = plan.output();
        let mut exprs = Vec::with_capacity(output.len());
        for (at, column) in output.iter().enumerate() {
            exprs.push(match table.columns[columns[at]].identity {
                Some(_) => self.column_default(table, columns[at])?,
                None => TypedExpr::column(at, column.seen()),
            });
        }
        let names = output.into_iter().map(|column| column.name).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }

    /// The default of a column; NULL where it has none.
    pub(super) fn column_default(&self, table: &TableDef, index: usize) -> Result<TypedExpr, SqlError> {
        self.stored_default(&table.columns[index])
    }

    // ── shared ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// A table to change: no system table.
    pub fn target(&self, name: &syntax::QualifiedName) -> Result<Arc<TableDef>, SqlError> {
        let view = self.system_view_named(name).is_some();
        let system = view || self.table(name)?.is_system();
        if system {
            let text = format!("permission denied: \"{}\" is a system catalog", name.name.text);
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).at(name.at().start));
        }
        let table = self.table(name)?;
        if let Some(noting) = self.noting {
            noting.relation(name.at().start, table.oid, table.shown());
        }
        if table.materialized.is_some() {
            let text = format!("cannot change materialized view \"{}\"", table.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
        }
        Ok(table)
    }

    /// The target of an UPDATE, DELETE or MERGE, and the columns that the statement may use.
    pub(super) fn target_scope(&self, item: &FromItem, change: Change) -> Result<(Changed, Scope), SqlError> {
        let FromSource::Table(name) = &item.source else {
            return Err(SqlError::internal("the target of a change is a table"));
        };
        let mut changed = self.changed(name, change)?;
        changed.alias = item.alias.as_ref().map(|alias| alias.text.as_str().into());
        let mut scope = changed.scope(item.alias.as_ref());
        begins_at(&mut scope, name.at().start);
        if let Some(own) = scope.tables.first_mut() {
            own.schema = self.schema_of_item(item);
        }
        Ok((changed, scope))
    }
}

/// Where a trace says that the row begins which an INSERT would add: nothing of a text is there.
pub(crate) const EXCLUDED: u32 = u32::MAX;

/// The table that a statement changes is named there.
fn begins_at(scope: &mut Scope, place: u32) {
    if let Some(table) = scope.tables.first_mut() {
        table.place = place;
    }
}

pub(super) fn table_scope(table: &TableDef, alias: Option<&Name>) -> Scope {
    let mut scope = Scope::of(
        Some(alias.map_or_else(|| Arc::clone(&table.name), |alias| alias.text.as_str().into())),
        alias.map(|_| Arc::clone(&table.name)),
        table.columns.iter().map(|column| (Arc::clone(&column.name), column.seen())).collect(),
    );
    if let Some(own) = scope.tables.first_mut() {
        own.relation = Some(table.oid.0);
    }
    scope
}

pub(super) fn target_column(table: &TableDef, name: &Name) -> Result<usize, SqlError> {
    table.column(&name.text).ok_or_else(|| {
        let text = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
        SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(name.at.start)
    })
}

/// VALUES sees no columns; says so where one of the target was meant.
fn unreachable_column(error: SqlError, table: &TableDef) -> SqlError {
    let named = |column: &&verso_catalog::ColumnDef| {
        error.message == format!("column \"{}\" does not exist", column.name)
    };
    match table.columns.iter().find(named) {
        Some(column) => {
            let hint = format!(
                "There is a column named \"{}\" in table \"{}\", but it cannot be referenced from this part of the query.",
                column.name, table.name
            );
            error.with_hint(hint)
        }
        None => error,
    }
}

/// Refuses a value for a column that is GENERATED ALWAYS.
pub(super) fn refuse_identity(column: &ColumnDef) -> SqlError {
    let text = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
    SqlError::new("428C9", text)
        .with_detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
        .with_hint("Use OVERRIDING SYSTEM VALUE to override.")
}

/// Refuses a value for a generated column.
pub(super) fn refuse_generated(column: &ColumnDef) -> SqlError {
    let text = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
    SqlError::new("428C9", text).with_detail(format!("Column \"{}\" is a generated column.", column.name))
}

/// The columns an INSERT names, or all.
pub(super) fn insert_columns(
    table: &TableDef,
    names: &[Name],
    places: &[Vec<Step>],
) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        return Ok((0..table.shown().len()).collect());
    }
    let is_part = |n: usize| places.get(n).is_some_and(|steps| !steps.is_empty());
    let mut columns = Vec::with_capacity(names.len());
    for (n, name) in names.iter().enumerate() {
        let index = target_column(table, name)?;
        // Several parts of a column may be named, but not beside the whole.
        let known = columns.iter().position(|known| *known == index);
        if known.is_some_and(|known| !(is_part(known) && is_part(n))) {
            let text = format!("column \"{}\" specified more than once", name.text);
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).at(name.at.start));
        }
        columns.push(index);
    }
    Ok(columns)
}

/// Whether the value `n` of an INSERT is for a part of its column.
fn is_part(insert: &syntax::Insert, n: usize) -> bool {
    insert.places.get(n).is_some_and(|steps| !steps.is_empty())
}

impl Binder<'_> {
    /// The type of a place within a value; text where there is none, which the assignment tells.
    fn place_type(&self, ty: &SqlType, steps: &[Step]) -> SqlType {
        let Some((step, within)) = steps.split_first() else { return ty.clone() };
        match (step, ty) {
            (Step::Field(field), SqlType::Row(row)) => {
                let found = self.field_place(row, &self.field_named(&field.text));
                found.map_or(SqlType::Text, |at| self.place_type(&row.fields[at].1, within))
            }
            (_, SqlType::Jsonb) => SqlType::Jsonb,
            (Step::Index(_), SqlType::System(system)) if let Some(part) = system.part() => part,
            (Step::Index(_) | Step::Slice(..), SqlType::Array(element)) => {
                let brackets = steps.iter().take_while(|step| !matches!(step, Step::Field(_))).count();
                match steps[..brackets].iter().any(|step| matches!(step, Step::Slice(..))) {
                    true => ty.clone(),
                    false => self.place_type(element, &steps[brackets..]),
                }
            }
            _ => SqlType::Text,
        }
    }
}

fn check_width(
    width: usize,
    columns: &[usize],
    insert: &syntax::Insert,
    extra: Option<u32>,
) -> Result<(), SqlError> {
    if width > columns.len() {
        let error = SqlError::syntax("INSERT has more expressions than target columns");
        return Err(extra.map_or(error.clone(), |at| error.at(at)));
    }
    match insert.columns.get(width) {
        Some(name) => {
            Err(SqlError::syntax("INSERT has more target columns than expressions").at(name.at.start))
        }
        None => Ok(()),
    }
}

/// Whether a plan may read what is written to the table (rule T2): it scans it, or calls a function that may.
pub(super) fn reads_table(plan: &Plan, table: &TableDef) -> bool {
    plan.any(&mut |part| match part {
        Plan::TableScan { table: scanned, .. } if share_rows(scanned, table) => true,
        Plan::Values { rows, .. } => rows.len() > 1 && part.calls_users(), // a single row is there before it is written
        _ => part.calls_users(),
    })
}
