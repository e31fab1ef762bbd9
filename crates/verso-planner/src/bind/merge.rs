//! MERGE.
//!
//! ```text
//! table ⟗ source ON …  ─►  which WHEN fits, by number  ─►  the values that it gives  ─►  the changes
//! ```
//!
//! 1. A query finds all rows first: those of the table and of the source that belong together, and what of either has no
//!    partner, as far as a WHEN asks for it. With them come the action of each row and the values that it gives, so that all of it
//!    is what the state at the start of the statement says (rule T2).
//! 2. The values of an action are computed for its rows only.
//! 3. A condition or a value sees what its WHEN has: both rows, the table's, or the source's.
//! 4. Into a view whose INSTEAD OF triggers do all of its actions: the rows of the view are those of the table then.
//!
//! | module | what it is |
//! |---|---|
//! | [`action`] | what a WHEN does, and what RETURNING says of it |

mod action;

use std::sync::Arc;

use verso_catalog::{PolicyFor, Relation, TableDef};
use verso_exec::exec::{TriggerEvent, triggers_change_rows};
use verso_exec::plan::{
    Check, CheckOf, ExprKind as K, JoinKind, Merge, OutputColumn, Plan, RECORD_COLUMN, Returning, TypedExpr,
};
use verso_types::{SqlType, Value};

use super::Binder;
use super::change::stored;
use super::context::{Clause, Context};
use super::from::{both, mark_rows};
use super::returning::{BoundReturning, Returned};
use super::scope::Scope;
use super::shown::{Change, Changed, as_merge_tells};
use super::table_number::{RowNumber, RowNumbers};
use super::walk::{columns_of, map_columns};
use crate::errors::{SqlError, sqlstate};
use action::{Action, When};
use verso_parser::syntax::{self, FromItem, FromSource, MergeClause, MergeRows};

impl Binder<'_> {
    /// MERGE.
    pub(super) fn merge(&self, merge: &syntax::Merge) -> Result<Merge, SqlError> {
        if let Some(with) = merge.with.iter().find(|with| with.recursive) {
            let text = "WITH RECURSIVE is not supported for MERGE statement";
            return Err(SqlError::syntax(text).at(with.name.at.start));
        }
        self.as_it_reads(&|reads| self.merge_that(merge, reads))
    }

    /// The same of one that `reads` columns of its table, or none.
    fn merge_that(&self, merge: &syntax::Merge, reads: bool) -> Result<(Merge, Changed), SqlError> {
        let change = match self.is_replaced(merge)? {
            _ if self.does_nothing_to_view(merge) => Change::Nothing,
            true => Change::Merge,
            false => Change::Update,
        };
        let (mut changed, mut target) = self.target_scope(&merge.table, change)?;
        let numbers = match changed.view() {
            Some(_) => RowNumbers::default(),
            None => self.numbers_of(&changed),
        };
        if !changed.numbers().is_empty() {
            leave_out_numbers(&mut target, changed.table.columns.len());
        }
        changed.add_numbers(numbers, &mut target);
        let secured = match changed.is_secured() {
            false => None,
            true => Some(self.secured_merge(&merge.table, &mut changed, reads)?),
        };
        let table = Arc::clone(&changed.table);
        let mut source = self.items_beside(&target, &merge.source)?;
        if merge.clauses.iter().any(|clause| clause.rows == MergeRows::NotMatchedBySource) {
            mark_rows(&mut source);
        }
        if let Some(name) = target.shared_name(&source.scope) {
            let text = format!("name \"{name}\" specified more than once");
            return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text)
                .with_detail("The name is used both as MERGE target table and data source."));
        }
        let scope = both(&target, &source.scope);
        let mut cx = Context::new(&scope, Clause::JoinOn);
        let on = self.expr(&merge.on, &mut cx)?;
        let on = self.boolean(on, merge.on.at.start, "JOIN/ON")?;
        let on = self.expanded(on, &table, 0)?;
        check_reachable(&merge.clauses)?;
        let whens = self.whens(&merge.clauses, &changed, (&scope, table.columns.len() + numbers.count()))?;
        for action in whens.iter().filter_map(|when| when.action.as_ref()) {
            action.needs(&changed);
        }
        let joined = join(&changed, numbers, source.plan, on, &merge.clauses);
        let mut found = found(joined, &table, &scope, &whens);
        let mut actions: Vec<Action> = whens.into_iter().filter_map(|when| when.action).collect();
        let width = scope.columns.len();
        let bound = self.returning_of(
            &merge.returning,
            &source_first(&scope, target.visible.len()),
            (&changed.seen, RowNumbers::default()),
            true,
        )?;
        let late = draws_late(&table, &actions);
        let values = actions.iter_mut().enumerate().flat_map(|(number, action)| action.take(number, late));
        let given = width + found.add(width, values.collect());
        let mut first = width;
        for action in &mut actions {
            action.first = first;
            first += action.count;
        }
        let own = table.columns.len();
        if let (Some(place), Some(bound)) = (numbers.iter().position(|one| one == RowNumber::Place), &bound)
            && bound.uses(own + place)
            && actions.iter().any(Action::adds)
        {
            return Err(SqlError::unsupported("ctid of rows that MERGE adds and returns"));
        }
        let returned = |action: &Action| -> Option<Returning> {
            let mut of_action = |returned: Returned, ty: &SqlType| {
                let number = action.returned_number(returned, numbers, &table);
                number.unwrap_or_else(|| action.returned(returned, ty, own, given))
            };
            bound.as_ref().map(|bound| bound.over(&mut of_action))
        };
        let returned: Vec<Option<Returning>> = actions.iter().map(returned).collect();
        let rows = handed_in(&found.plan);
        let output = bound.as_ref().map_or_else(Vec::new, |bound| output_of(bound, &table));
        let mut bound_actions = Vec::new();
        let guards = actions.iter().map(|action| action.guard(secured.as_ref())).collect();
        for (action, returning) in actions.into_iter().zip(returned) {
            let over = |new: &dyn Fn(usize) -> usize, found: usize| {
                bound.as_ref().map(|bound| {
                    bound.over(&mut |returned, ty| match returned {
                        Returned::Action => TypedExpr::literal(Value::text("UPDATE"), SqlType::Text),
                        _ => stored(new, found)(returned, ty),
                    })
                })
            };
            let demanded = action.demanded(secured.as_ref(), returning.is_some());
            changed.demand(demanded);
            bound_actions.push(self.changes(action, &changed, &rows, returning, &over)?);
        }
        let table = changed.scanned();
        let merge = Merge { table, joined: found.plan, actions: bound_actions, guards, output };
        Ok((merge, changed))
    }

    /// What policies demand, by action; a row that a query would not see is none of the table, where columns are read.
    fn secured_merge(
        &self,
        item: &FromItem,
        changed: &mut Changed,
        reads: bool,
    ) -> Result<Secured, SqlError> {
        let view = match &item.source {
            FromSource::Table(name) => match self.relation_named(name) {
                Some(Relation::View(view)) => Some(view),
                _ => None,
            },
            _ => None,
        };
        let mut secured = match view {
            // For the role that the view reads as.
            Some(view) => self.below_view(&view, &mut |inside, table| inside.policies_of(table))?,
            None => self.policies_of(&changed.table)?,
        };
        if !reads {
            secured.read = None;
        }
        changed.show(secured.read.as_ref().map(|check| check.condition.clone()));
        Ok(secured)
    }

    /// All that the policies of a table say to the role that acts.
    fn policies_of(&self, table: &Arc<TableDef>) -> Result<Secured, SqlError> {
        let check = |condition: Option<TypedExpr>, of: CheckOf| {
            condition.map(|condition| Check { name: Arc::clone(&table.name), condition, of })
        };
        Ok(Secured {
            read: check(self.policy_filter(table, PolicyFor::Select)?, CheckOf::Policy),
            updated: check(self.policy_filter(table, PolicyFor::Update)?, CheckOf::PolicyUsing),
            deleted: check(self.policy_filter(table, PolicyFor::Delete)?, CheckOf::PolicyUsing),
            new: self.policy_checks(table, PolicyFor::Update)?,
            inserted: self.policy_checks(table, PolicyFor::Insert)?,
        })
    }

    /// Whether MERGE leaves all rows of a view as they are: it need not be one whose rows can change.
    fn does_nothing_to_view(&self, merge: &syntax::Merge) -> bool {
        let FromSource::Table(name) = &merge.table.source else { return false };
        merge.clauses.iter().all(|clause| clause.action == syntax::MergeAction::Nothing)
            && matches!(self.relation_named(name), Some(Relation::View(_)))
    }

    /// Whether triggers of a view do what the actions say. Refuses a view through which one of them cannot be done.
    fn is_replaced(&self, merge: &syntax::Merge) -> Result<bool, SqlError> {
        let FromSource::Table(name) = &merge.table.source else { return Ok(false) };
        let (mut view, mut stored) = (None, false);
        for clause in &merge.clauses {
            let change = match &clause.action {
                syntax::MergeAction::Nothing => continue,
                syntax::MergeAction::Delete => Change::Delete,
                syntax::MergeAction::Update(_) => Change::Update,
                syntax::MergeAction::Insert { .. } => Change::Insert,
            };
            let changed = self.changed(name, change).map_err(|error| as_merge_tells(error, change))?;
            match changed.table.is_view() {
                true => view = Some(changed.table),
                false => stored = true,
            }
        }
        match view {
            Some(view) if stored => {
                let text = format!("cannot merge into view \"{}\"", view.name);
                let detail =
                    "MERGE is not supported for views with INSTEAD OF triggers for some actions but not all.";
                let hint = "To enable merging into the view, either provide a full set of INSTEAD OF triggers or drop \
                            the existing INSTEAD OF triggers.";
                let error = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text);
                Err(error.with_detail(detail).with_hint(hint))
            }
            view => Ok(view.is_some()),
        }
    }
}

/// What the policies of a table demand.
struct Secured {
    /// Of rows that are read.
    read: Option<Check>,
    /// Of rows that are updated, and that are deleted.
    updated: Option<Check>,
    deleted: Option<Check>,
    /// Of what an UPDATE makes, and an INSERT.
    new: Option<Check>,
    inserted: Option<Check>,
}

/// Leaves out what a view shows that rows have beside their columns: MERGE does not know it.
fn leave_out_numbers(target: &mut Scope, own: usize) {
    let is_own = |(_, expr): &(Arc<str>, TypedExpr)| columns_of(expr).iter().all(|column| *column < own);
    target.visible.retain(is_own);
    target.tables.iter_mut().for_each(|table| table.merged.retain(is_own));
}

/// The rows of a MERGE as a query finds them: columns, the number of the action, the place of the table's row.
struct Found {
    plan: Plan,
}

impl Found {
    /// Adds columns behind the first `width`: each over these, for rows with one action or by action. How many there are.
    fn add(&mut self, width: usize, values: Vec<ByAction>) -> usize {
        let count = values.len();
        if count == 0 {
            return 0;
        }
        let columns = self.plan.output();
        let column = |n: usize| TypedExpr::column(n, columns[n].ty.clone());
        let action = column(width);
        let computed = values.into_iter().map(|ByAction { ty, by_action }| {
            let is = |number: usize| {
                let number = TypedExpr::literal(Value::Int4(number as i32), SqlType::Int4);
                let kind =
                    K::IsDistinct { left: Box::new(action.clone()), right: Box::new(number), negated: true };
                TypedExpr::new(kind, SqlType::Bool)
            };
            let branches = by_action.into_iter().map(|(number, value)| (is(number), value)).collect();
            TypedExpr::new(K::Case { branches, otherwise: None }, ty)
        });
        let exprs: Vec<TypedExpr> =
            (0..width).map(column).chain(computed).chain([column(width), column(width + 1)]).collect();
        let input =
            Box::new(std::mem::replace(&mut self.plan, Plan::Append { inputs: Vec::new(), pruning: None }));
        self.plan = project(input, exprs);
        count
    }
}

/// Whether numbers of sequences are drawn for each row that is added behind the triggers of the one before, which may look at
/// them. Where rows that are updated get some, too, all are drawn in the order of the rows.
fn draws_late(table: &Arc<TableDef>, actions: &[Action]) -> bool {
    let fires = |table: &TableDef| triggers_change_rows(table, TriggerEvent::Insert);
    (fires(table) || table.leaves().iter().any(|leaf| fires(leaf)))
        && !actions.iter().any(Action::updates_volatile)
}

/// A value that depends on the action: NULL for those not named.
struct ByAction {
    ty: SqlType,
    by_action: Vec<(usize, TypedExpr)>,
}

fn project(input: Box<Plan>, exprs: Vec<TypedExpr>) -> Plan {
    let names = exprs.iter().map(|_| Arc::from("")).collect();
    Plan::Project { input, exprs, names }
}

/// `42601` for a WHEN that no row reaches.
fn check_reachable(clauses: &[MergeClause]) -> Result<(), SqlError> {
    for (n, clause) in clauses.iter().enumerate() {
        if clauses[..n].iter().any(|before| before.rows == clause.rows && before.condition.is_none()) {
            let text = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(SqlError::syntax(text).at(clause.at));
        }
    }
    Ok(())
}

/// The table's columns, its place and what its rows have besides, the columns of the source, and one that is NULL where there is no
/// row of the source.
fn join(
    changed: &Changed,
    numbers: RowNumbers,
    source: Plan,
    on: TypedExpr,
    clauses: &[MergeClause],
) -> Plan {
    let own = changed.table.columns.len();
    let table = changed.scanned();
    let left = match changed.rows() {
        None => Plan::TableScan { table, columns: (0..own).chain([RECORD_COLUMN]).collect(), filter: None },
        Some(rows) => without_records(rows.clone()),
    };
    let left = match changed.filter() {
        Some(predicate) => Plan::Filter { input: Box::new(left), predicate },
        None => left,
    };
    let left = if numbers.is_empty() { left } else { numbers.found(left, &changed.table) };
    let output = source.output();
    let here = TypedExpr::literal(Value::Bool(true), SqlType::Bool);
    let columns = output.iter().enumerate().map(|(n, column)| TypedExpr::column(n, column.seen()));
    let right = project(Box::new(source), columns.chain([here]).collect());
    let asks = |rows| clauses.iter().any(|clause| clause.rows == rows);
    let kind = match (asks(MergeRows::NotMatchedBySource), asks(MergeRows::NotMatchedByTarget)) {
        (false, false) => JoinKind::Inner,
        (true, false) => JoinKind::Left,
        (false, true) => JoinKind::Right,
        (true, true) => JoinKind::Full,
    };
    let filter = Some(over_join(on, own));
    Plan::Join { left: Box::new(left), right: Box::new(right), kind, equal: Vec::new(), filter }
}

/// Rows of a view; where places of records would be is what says that there is a row.
fn without_records(rows: Plan) -> Plan {
    let output = rows.output();
    let columns = output.iter().enumerate().map(|(at, column)| TypedExpr::column(at, column.seen()));
    let exprs = columns.chain([TypedExpr::literal(Value::Int8(0), SqlType::Int8)]).collect();
    project(Box::new(rows), exprs)
}

/// An expression over the scope's columns, over those of the join.
fn over_join(mut expr: TypedExpr, own: usize) -> TypedExpr {
    map_columns(&mut expr, &mut |column| if column < own { column } else { column + 1 });
    expr
}

/// The columns of the scope, the number of the action that each row is for, and the place.
fn found(joined: Plan, table: &TableDef, scope: &Scope, whens: &[When]) -> Found {
    let (own, width) = (table.columns.len(), scope.columns.len());
    let place = TypedExpr::column(own, SqlType::Int8);
    let here = TypedExpr::column(width + 1, SqlType::Bool);
    let mut exprs: Vec<TypedExpr> = (scope.columns.iter().enumerate())
        .map(|(column, (_, ty))| over_join(TypedExpr::column(column, ty.clone()), own))
        .collect();
    // By kind of row: the first of its WHENs whose condition is true.
    let mut number = 0;
    let mut of = [const { Vec::new() }; 3];
    for when in whens {
        let result = match &when.action {
            None => TypedExpr::null(SqlType::Int4),
            Some(_) => {
                number += 1;
                TypedExpr::literal(Value::Int4(number - 1), SqlType::Int4)
            }
        };
        let always = TypedExpr::literal(Value::Bool(true), SqlType::Bool);
        let condition = when.condition.clone().map_or(always, |condition| over_join(condition, own));
        of[when.rows as usize].push((condition, result));
    }
    let is_null = |expr: &TypedExpr| {
        TypedExpr::new(K::IsNull { arg: Box::new(expr.clone()), negated: false }, SqlType::Bool)
    };
    let first = |branches: Vec<(TypedExpr, TypedExpr)>| match branches.is_empty() {
        true => TypedExpr::null(SqlType::Int4),
        false => TypedExpr::new(K::Case { branches, otherwise: None }, SqlType::Int4),
    };
    let [matched, by_source, by_target] = of.map(first);
    let branches = vec![(is_null(&place), by_target), (is_null(&here), by_source)];
    exprs.push(TypedExpr::new(K::Case { branches, otherwise: Some(Box::new(matched)) }, SqlType::Int4));
    exprs.push(place);
    Found { plan: project(Box::new(joined), exprs) }
}

/// The scope with `*` as MERGE has it: the source's columns, then the table's.
fn source_first(scope: &Scope, own: usize) -> Scope {
    let mut scope = scope.clone();
    scope.visible.rotate_left(own);
    scope
}

/// What the actions are handed of a row: everything but its action.
fn handed_in(plan: &Plan) -> Plan {
    let mut columns = plan.output();
    columns.remove(columns.len() - 2);
    Plan::External { columns }
}

/// What RETURNING yields: columns of the table keep their origin.
fn output_of(bound: &BoundReturning, table: &Arc<TableDef>) -> Vec<OutputColumn> {
    let Returning { exprs, names } = bound.over(&mut |returned, ty| match returned {
        Returned::Own(column) | Returned::Old(column) | Returned::New(column) => {
            TypedExpr::column(column, ty.clone())
        }
        Returned::Other(_) | Returned::WasThere | Returned::IsThere | Returned::Action => {
            TypedExpr::null(ty.clone())
        }
    });
    let columns = (0..table.columns.len()).collect();
    let input = Box::new(Plan::TableScan { table: Arc::clone(table).into(), columns, filter: None });
    Plan::Project { input, exprs, names }.output()
}
