//! What a WHEN of MERGE does.

use std::sync::Arc;

use verso_catalog::{Identity, Rights, TableDef};
use verso_exec::exec::{TriggerEvent, keep_others, rules_over, set_generated, triggers_change_rows};
use verso_exec::plan::{Check, Delete, Insert, MergeAction, Plan, Returning, TypedExpr, Update};
use verso_types::{SqlType, Value};

use super::{ByAction, Secured};
use crate::bind::Binder;
use crate::bind::change::is_there;
use crate::bind::context::{Clause, Context};
use crate::bind::dml::{names_of, refuse_generated, refuse_identity};
use crate::bind::partition::StoredReturning;
use crate::bind::returning::Returned;
use crate::bind::scope::Scope;
use crate::bind::shown::Changed;
use crate::bind::table_number::{RowNumber, RowNumbers};
use crate::bind::walk::columns_of;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Expr, ExprKind, MergeClause, MergeRows, Name};

/// A WHEN, bound over the columns of the table and of the source.
pub(super) struct When {
    pub(super) rows: MergeRows,
    pub(super) condition: Option<TypedExpr>,
    /// Nothing for DO NOTHING.
    pub(super) action: Option<Action>,
}

/// What is done with a row, and the values that it takes.
pub(super) struct Action {
    kind: Kind,
    /// How many columns an UPDATE is given values for, without generated ones.
    given: usize,
    /// How many columns an UPDATE names: behind those, the others keep their values, for triggers that may set them.
    named: usize,
    /// Away once they are columns of the query.
    values: Vec<TypedExpr>,
    /// Those of a row that is added which are computed when it is: each in its place.
    late: Vec<Option<TypedExpr>>,
    /// Where these columns are, and how many.
    pub(super) first: usize,
    pub(super) count: usize,
}

enum Kind {
    /// Sets these columns, one a value.
    Update(Vec<usize>),
    Delete,
    /// Adds a row of these values, of which these columns are given.
    Insert(Vec<usize>),
}

impl Action {
    fn new(kind: Kind, values: Vec<TypedExpr>) -> Action {
        let count = values.len();
        Action { kind, given: count, named: count, count, values, late: Vec::new(), first: 0 }
    }

    /// What policies demand of the row that it changes.
    pub(super) fn guard(&self, secured: Option<&Secured>) -> Option<Check> {
        match &self.kind {
            Kind::Update(_) => secured?.updated.clone(),
            Kind::Delete => secured?.deleted.clone(),
            Kind::Insert(_) => None,
        }
    }

    /// What policies demand of the row that it makes, which has to be seen, too, where it was read or is given back.
    pub(super) fn demanded(&self, secured: Option<&Secured>, returned: bool) -> Vec<Check> {
        let Some(secured) = secured else { return Vec::new() };
        let (own, read) = match &self.kind {
            Kind::Update(_) => (&secured.new, &secured.read),
            Kind::Insert(_) if returned => (&secured.inserted, &secured.read),
            Kind::Insert(_) => (&secured.inserted, &None),
            Kind::Delete => return Vec::new(),
        };
        own.iter().chain(read).cloned().collect()
    }

    /// Notes which rights it takes.
    pub(super) fn needs(&self, changed: &Changed) {
        match &self.kind {
            Kind::Update(columns) => changed.changes(Rights::UPDATE, columns[..self.named].to_vec()),
            Kind::Delete => changed.needs(Rights::DELETE),
            Kind::Insert(columns) => changed.changes(Rights::INSERT, columns.clone()),
        }
    }

    /// The values, to be computed with the rows; those of an INSERT that draw something when the row is added, if `late`.
    pub(super) fn take(&mut self, number: usize, late: bool) -> Vec<ByAction> {
        let adds = self.adds();
        let mut values = std::mem::take(&mut self.values);
        if late && adds {
            let put_off = |value: &mut TypedExpr| {
                value.is_volatile_by_itself().then(|| {
                    let null = TypedExpr::null(value.ty.clone());
                    std::mem::replace(value, null)
                })
            };
            self.late = values.iter_mut().map(put_off).collect();
        }
        let by_action =
            |value: TypedExpr| ByAction { ty: value.ty.clone(), by_action: vec![(number, value)] };
        values.into_iter().map(by_action).collect()
    }

    /// Whether it is an UPDATE whose values are others each time.
    pub(super) fn updates_volatile(&self) -> bool {
        matches!(self.kind, Kind::Update(_)) && self.values.iter().any(TypedExpr::is_volatile)
    }

    /// Whether it adds rows.
    pub(super) fn adds(&self) -> bool {
        matches!(self.kind, Kind::Insert(_))
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Update(_) => "UPDATE",
            Kind::Delete => "DELETE",
            Kind::Insert(_) => "INSERT",
        }
    }

    /// What stands in RETURNING for what rows have beside the columns of their table, where that is not what the row came with.
    pub(super) fn returned_number(
        &self,
        returned: Returned,
        numbers: RowNumbers,
        table: &TableDef,
    ) -> Option<TypedExpr> {
        match self.kind {
            Kind::Update(_) => numbers.updated(table.columns.len(), returned),
            Kind::Insert(_) => numbers.inserted(table, returned, false),
            Kind::Delete => None,
        }
    }

    /// What stands for a column in RETURNING when the change has been made, of a row that came with `read` columns to a table of
    /// `own`.
    pub(super) fn returned(&self, returned: Returned, ty: &SqlType, own: usize, read: usize) -> TypedExpr {
        let column = |column| TypedExpr::column(column, ty.clone());
        match (returned, &self.kind) {
            (Returned::Action, _) => TypedExpr::literal(Value::text(self.name()), SqlType::Text),
            (Returned::Own(at) | Returned::New(at), Kind::Update(targets)) => {
                column(targets.iter().position(|target| *target == at).map_or(at, |n| read + n))
            }
            (Returned::Own(at) | Returned::New(at), Kind::Insert(_)) => column(at),
            (Returned::Other(at), Kind::Insert(_)) => column(own + at),
            (Returned::Other(at) | Returned::Own(at), _) => column(at),
            (Returned::Old(_) | Returned::WasThere, Kind::Insert(_))
            | (Returned::New(_) | Returned::IsThere, Kind::Delete) => TypedExpr::null(ty.clone()),
            (Returned::WasThere | Returned::IsThere, _) => is_there(),
            (Returned::Old(at), _) => column(at),
        }
    }
}

impl Binder<'_> {
    /// What the clauses say, over a scope whose first `own` columns are those of the table's rows.
    pub(super) fn whens(
        &self,
        clauses: &[MergeClause],
        changed: &Changed,
        (scope, own): (&Scope, usize),
    ) -> Result<Vec<When>, SqlError> {
        let table = &changed.table;
        let table_only = scope.without(|column| column >= own);
        let source_only = scope.without(|column| column < own);
        let when = |clause: &MergeClause| {
            let scope = match clause.rows {
                MergeRows::Matched => scope,
                MergeRows::NotMatchedBySource => &table_only,
                MergeRows::NotMatchedByTarget => &source_only,
            };
            let condition = match &clause.condition {
                None => None,
                Some(condition) => {
                    let mut cx = Context::new(scope, Clause::MergeWhen);
                    let bound = self.expr(condition, &mut cx)?;
                    let bound = self.boolean(bound, condition.at.start, "WHEN")?;
                    refuse_numbers(&bound, scope).map_err(|error| error.at(condition.at.start))?;
                    Some(self.expanded(bound, table, 0)?)
                }
            };
            let action = match &clause.action {
                syntax::MergeAction::Nothing => None,
                syntax::MergeAction::Delete => Some(Action::new(Kind::Delete, Vec::new())),
                syntax::MergeAction::Update(assignments) => {
                    changed.check_assigned(assignments, "merge into")?;
                    let renamed = changed.known_assignments(assignments);
                    let assignments = renamed.as_ref().unwrap_or(assignments);
                    let mut assigned = self.assignments(assignments, changed, scope, None)?;
                    self.expand_all(assigned.iter_mut().map(|(_, value)| value), table)?;
                    let given = assigned.len();
                    set_generated(&mut assigned, &changed.rules(self)?);
                    let named = assigned.len();
                    if triggers_change_rows(table, TriggerEvent::Update) {
                        keep_others(&mut assigned, table);
                    }
                    let (targets, values) = assigned.into_iter().unzip();
                    Some(Action { given, named, ..Action::new(Kind::Update(targets), values) })
                }
                syntax::MergeAction::Insert { columns, overriding, values } => {
                    let (values, given) =
                        self.merge_insert(columns, *overriding, values.as_deref(), changed, scope)?;
                    Some(Action::new(Kind::Insert(given), values))
                }
            };
            Ok(When { rows: clause.rows, condition, action })
        };
        clauses.iter().map(when).collect()
    }

    /// INSERT: a full row.
    fn merge_insert(
        &self,
        names: &[Name],
        overriding: Option<bool>,
        values: Option<&[Expr]>,
        changed: &Changed,
        scope: &Scope,
    ) -> Result<(Vec<TypedExpr>, Vec<usize>), SqlError> {
        let table = &changed.seen;
        names.iter().try_for_each(|name| changed.refuse_computed(name, "merge into"))?;
        let columns = changed.insert_columns(names, &[])?;
        let values = values.unwrap_or_default();
        let given = columns.iter().take(values.len()).copied().collect();
        if let Some(extra) = values.get(columns.len()) {
            return Err(
                SqlError::syntax("INSERT has more expressions than target columns").at(extra.at.start)
            );
        }
        if let Some(name) = names.get(values.len()).filter(|_| !values.is_empty()) {
            return Err(SqlError::syntax("INSERT has more target columns than expressions").at(name.at.start));
        }
        let mut cx = Context::new(scope, Clause::Values);
        let mut row = vec![None; table.columns.len()];
        for (expr, index) in values.iter().zip(columns) {
            let column = &table.columns[index];
            row[index] = match &expr.kind {
                ExprKind::Default => None,
                _ if column.generated => return Err(refuse_generated(column)),
                _ if overriding == Some(false) && column.identity.is_some() => None,
                _ if column.identity == Some(Identity::Always) && overriding.is_none() => {
                    return Err(refuse_identity(column));
                }
                _ => {
                    let value = self.expr(expr, &mut cx)?;
                    Some(self.assign(value, expr.at.start, &column.name, &column.ty)?)
                }
            };
        }
        let value = |(index, given): (usize, Option<TypedExpr>)| {
            given.map_or_else(|| self.column_default(table, index), Ok)
        };
        let values = row.into_iter().enumerate().map(value).collect::<Result<_, SqlError>>()?;
        Ok((values, given))
    }

    /// An action over the rows handed in; `returned` says RETURNING of a row in a leaf, as of [`super::super::change::stored`].
    pub(super) fn changes(
        &self,
        action: Action,
        changed: &Changed,
        rows: &Plan,
        returning: Option<Returning>,
        returned: StoredReturning<'_>,
    ) -> Result<MergeAction, SqlError> {
        let table = &changed.table;
        let output = rows.output();
        let read = output.len() - 1; // the place is none of them
        let all: Vec<usize> = (0..table.columns.len()).collect();
        let (table, joined) = (Arc::clone(table), Some(rows.clone()));
        let value = |n: usize| TypedExpr::column(action.first + n, output[action.first + n].ty.clone());
        Ok(match action.kind {
            Kind::Delete => MergeAction::Delete(Delete {
                parts: self.delete_parts(&table, joined.as_ref(), returning.as_ref())?,
                table: table.into(),
                columns: all,
                joined,
                access: None,
                filter: None,
                returning,
            }),
            Kind::Update(targets) => {
                let mut rules = changed.rules(self)?;
                rules.set = names_of(&changed.table, targets.iter().take(action.given));
                let parts = match table.partitioned {
                    None => None,
                    Some(_) => {
                        let given = targets.iter().take(action.given).enumerate();
                        let given: Vec<_> = given.map(|(n, target)| (*target, value(n))).collect();
                        Some(Box::new(self.update_parts(&table, &rules, rows, &given, returned)?))
                    }
                };
                MergeAction::Update(Update {
                    parts,
                    rules: rules_over(rules, &(0..read).collect::<Vec<_>>(), &targets),
                    columns: all,
                    joined,
                    access: None,
                    filter: None,
                    assignments: targets
                        .into_iter()
                        .enumerate()
                        .map(|(n, target)| (target, value(n)))
                        .collect(),
                    named: action.named,
                    returning,
                    table: table.into(),
                })
            }
            Kind::Insert(given) => {
                let mut late = action.late.into_iter();
                let values =
                    all.into_iter().map(|n| late.next().flatten().unwrap_or_else(|| value(n))).collect();
                let source = Plan::External { columns: output[..read].to_vec() };
                let mut rules = changed.rules(self)?;
                rules.set = names_of(&changed.table, given.iter());
                let mut insert = Insert { rules, returning, ..Insert::plain(table, source, values) };
                self.route(&mut insert)?;
                MergeAction::Insert(insert)
            }
        })
    }
}

/// A WHEN asks for nothing that rows have beside their columns but the number of the table, as in PostgreSQL.
fn refuse_numbers(condition: &TypedExpr, scope: &Scope) -> Result<(), SqlError> {
    let numbers = columns_of(condition).into_iter().filter_map(|column| {
        let (name, _) = scope.columns.get(column)?;
        RowNumber::of_column(name)
    });
    match numbers.into_iter().find(|number| *number != RowNumber::Table) {
        None => Ok(()),
        Some(number) => {
            let text = format!("cannot use system column \"{}\" in MERGE WHEN condition", number.name());
            Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text))
        }
    }
}
