//! Views whose rows change: INSERT, UPDATE and DELETE of a view over one table change that table.
//!
//! U1. A view is one of these if each of its rows is one of a table, or of such a view: no DISTINCT, grouping, window, set
//!     operation, LIMIT or WITH, and a single table in FROM. Others are refused (55000).
//! U2. The statement is bound over the columns of the table, by the names that the view gives them; what the view computes can
//!     be read, not set.
//! U3. Rows that the view does not show are not changed. Under WITH CHECK OPTION none is made (44000): CASCADED holds for the
//!     views below, too.
//! U4. A column that is not given gets the default that the view has for it, else that of the view below, at last the table's.
//!     `SET column = DEFAULT` is the default of the view that the statement names, or NULL.
//! U5. INSTEAD OF triggers do what would be done to the rows of their view: it stands in place of the table then, whatever its
//!     query is, and the statements for views over it end there.

use std::rc::Rc;
use std::sync::Arc;

use verso_catalog::{Oid, PolicyFor, Relation, Rights, StoredColumn, TableDef, TriggerKind, ViewDef};
use verso_env::recursion;
use verso_exec::plan::{Check, CheckOf, ExprKind as K, Plan, RowRules, Scanned, TypedExpr};
use verso_types::{Derivation, SqlType};

use super::Binder;
use super::context::{AGGREGATE_BASE, Clause, Context, SET_BASE, WINDOW_BASE};
use super::dml::{insert_columns, table_scope};
use super::rights::Need;
use super::scope::Scope;
use super::table_number::{RowNumbers, missing};
use super::view::parsed;
use super::walk::{columns_of, in_turn_together, map_columns, same};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{
    Assignment, FromItem, FromSource, Name, QualifiedName, Query, QueryBody, Select, Step,
};

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Insert,
    Update,
    Delete,
    /// MERGE into a view with triggers that do all of its actions.
    Merge,
    /// MERGE into a view that does nothing.
    Nothing,
}

impl Change {
    /// Whether triggers of a view do it.
    fn is_replaced(self, view: &ViewDef) -> bool {
        match self {
            Change::Insert => view.is_replaced(TriggerKind::INSERT),
            Change::Update => view.is_replaced(TriggerKind::UPDATE),
            Change::Delete => view.is_replaced(TriggerKind::DELETE),
            Change::Nothing => true,
            Change::Merge => {
                [Change::Insert, Change::Update, Change::Delete].iter().any(|one| one.is_replaced(view))
            }
        }
    }
}

/// The table whose rows a statement changes.
pub(super) struct Changed {
    /// The table.
    pub table: Arc<TableDef>,
    /// The same by the names that the statement knows: the view's, where it names a view.
    pub seen: Arc<TableDef>,
    /// What the statement calls it, if it has another name for it.
    pub alias: Option<Arc<str>>,
    view: Option<Shown>,
    /// Of a table that a stored text names: the columns that it had then, by their places and names.
    known: Option<Vec<(usize, Arc<str>)>>,
    /// The rows of a view that stands in place of the table: triggers do what would be done to them.
    rows: Option<Plan>,
    /// What the role needs for it: of the view and those below it, of the table.
    needs: Vec<Rc<Need>>,
    /// Who the table is changed as: it is this role's policies that hold.
    acting: Option<Oid>,
    /// Which rows policies show.
    shown: Option<TypedExpr>,
    /// What policies demand of new rows.
    demanded: Vec<Check>,
    /// What the view shows that rows have beside their columns.
    numbers: RowNumbers,
}

/// What a view shows of its table; expressions are over the table's columns.
struct Shown {
    oid: Oid,
    name: Arc<str>,
    /// A column that the view computes and has a default for.
    given: Option<Arc<str>>,
    columns: Vec<(Arc<str>, TypedExpr)>,
    /// The defaults that it has itself, by columns of the table.
    defaults: Vec<(usize, Arc<str>)>,
    /// Its condition and those of the views below it, the lowest first, by the names of the views.
    filters: Vec<(Arc<str>, TypedExpr)>,
    checks: Vec<Check>,
}

impl Changed {
    fn of(table: Arc<TableDef>) -> Changed {
        let seen = Arc::clone(&table);
        let (needs, demanded) = (Vec::new(), Vec::new());
        Changed {
            seen,
            table,
            alias: None,
            view: None,
            known: None,
            rows: None,
            needs,
            acting: None,
            shown: None,
            demanded,
            numbers: RowNumbers::default(),
        }
    }

    /// The same by the names that a stored text knows: the columns of a table at their places, those of a view in its order.
    /// The table as the statement's plan names it.
    pub fn scanned(&self) -> Scanned {
        let alias = self.alias.as_ref().filter(|_| self.view.is_none());
        let name = alias.unwrap_or(&self.table.name);
        Scanned::called_so(Arc::clone(&self.table), Arc::clone(name))
    }

    fn known_as(mut self, name: &str, columns: Vec<(usize, Arc<str>)>) -> Changed {
        let seen = Arc::make_mut(&mut self.seen);
        seen.name = name.into();
        match &mut self.view {
            Some(view) => {
                for (at, known) in columns {
                    let Some((own, expr)) = view.columns.get_mut(at) else { continue };
                    if let Some(column) = plain(expr) {
                        seen.columns[column].name = Arc::clone(&known);
                    }
                    *own = known;
                }
            }
            None => {
                seen.columns.iter_mut().enumerate().for_each(|(at, column)| column.name = hidden(at));
                columns.iter().for_each(|(at, known)| seen.columns[*at].name = Arc::clone(known));
                self.known = Some(columns);
            }
        }
        self
    }

    /// Notes that it takes a right on these columns.
    pub fn changes(&self, right: Rights, columns: impl IntoIterator<Item = usize> + Clone) {
        self.needs.iter().for_each(|need| need.changes(right, columns.clone()));
    }

    /// Notes that it takes a right on the whole of it.
    pub fn needs(&self, right: Rights) {
        self.needs.iter().for_each(|need| need.needs(right));
    }

    /// Notes that a column is read.
    pub fn selects(&self, column: usize) {
        self.needs.iter().for_each(|need| need.selects(column));
    }

    /// Whether the statement has used any column of it, but to set it.
    fn is_read(&self) -> bool {
        self.needs.iter().any(|need| need.is_read())
    }

    /// Adds to a scope over its columns what is noted when they are used.
    pub fn note(&self, scope: &mut Scope) {
        let count = self.table.columns.len();
        scope.noted.extend(self.needs.iter().map(|need| (0..count, Rc::clone(need))));
    }

    /// Adds what rows have beside their columns to a scope over these: they are noted as the whole of it.
    pub fn add_numbers(&self, numbers: RowNumbers, scope: &mut Scope) {
        let own = self.table.columns.len();
        numbers.add_to(scope);
        for (columns, need) in &mut scope.noted {
            if *columns == (0..own) && self.needs.iter().any(|known| Rc::ptr_eq(known, need)) {
                columns.end += numbers.count();
            }
        }
    }

    /// Whether policies decide about its rows.
    pub fn is_secured(&self) -> bool {
        self.shown.is_some() || !self.demanded.is_empty()
    }

    /// What the view shows that rows have beside their columns: over columns behind those of the table.
    pub fn numbers(&self) -> RowNumbers {
        self.numbers
    }

    /// Which rows of the table its policies show.
    pub fn policy_filter(&self) -> Option<TypedExpr> {
        self.shown.clone()
    }

    /// Only these rows of the table are there.
    pub fn show(&mut self, rows: Option<TypedExpr>) {
        self.shown = rows;
        self.demanded.clear();
    }

    /// This is demanded of new rows.
    pub fn demand(&mut self, checks: Vec<Check>) {
        self.demanded = checks;
    }

    /// The view that the statement names.
    pub fn view(&self) -> Option<&Arc<str>> {
        let instead = self.table.is_view().then_some(&self.table.name);
        self.view.as_ref().map(|view| &view.name).or(instead)
    }

    /// Of a view the default that it has itself for a column of the table.
    pub fn own_default(&self, column: usize) -> Option<Option<&Arc<str>>> {
        let defaults = &self.view.as_ref()?.defaults;
        Some(defaults.iter().find(|(own, _)| *own == column).map(|(_, default)| default))
    }

    /// The rows of a view whose triggers do what would be done to them.
    pub fn rows(&self) -> Option<&Plan> {
        self.rows.as_ref()
    }

    /// The columns that the statement may use.
    pub fn scope(&self, alias: Option<&Name>) -> Scope {
        let mut scope = table_scope(&self.seen, alias);
        if let Some(view) = &self.view {
            // All of them by what the view shows, in its order, none by its place in the table.
            scope.columns.iter_mut().enumerate().for_each(|(at, (name, _))| *name = hidden(at));
            scope.tables[0].merged.clone_from(&view.columns);
            scope.tables[0].relation = Some(view.oid.0);
            scope.visible.clone_from(&view.columns);
        }
        if let Some(known) = &self.known {
            let column = |(at, name): &(usize, Arc<str>)| {
                (Arc::clone(name), TypedExpr::column(*at, self.seen.columns[*at].seen()))
            };
            scope.visible = known.iter().map(column).collect();
        }
        self.note(&mut scope);
        scope
    }

    /// The columns of a row that is there, and those of the row that an INSERT would add, as `excluded`.
    pub fn conflict_scope(&self, alias: Option<&Name>) -> Scope {
        let own = self.table.columns.len();
        let mut scope = match &self.view {
            Some(_) => self.scope(alias),
            None => table_scope(&self.seen, alias),
        };
        scope = scope.with_second("excluded");
        let Some(view) = &self.view else {
            self.note(&mut scope);
            return scope;
        };
        // What rows have beside their columns is not there for the second one.
        let is_own = |(_, expr): &(Arc<str>, TypedExpr)| columns_of(expr).iter().all(|column| *column < own);
        scope.visible.retain(is_own);
        scope.tables.iter_mut().for_each(|table| table.merged.retain(is_own));
        let mut again: Vec<_> = view.columns.iter().filter(|column| is_own(column)).cloned().collect();
        again.iter_mut().for_each(|(_, expr)| map_columns(expr, &mut |column| column + own));
        scope.visible.extend(again.iter().cloned());
        if let Some(excluded) = scope.tables.last_mut() {
            excluded.relation = Some(view.oid.0);
            excluded.merged = again;
        }
        scope
    }

    /// The columns that an INSERT names, or all of them in their order, those before the first that the view computes.
    pub fn insert_columns(&self, names: &[Name], places: &[Vec<Step>]) -> Result<Vec<usize>, SqlError> {
        // A default of the view's is inserted like a value.
        if let Some(column) = self.view.as_ref().and_then(|view| view.given.as_deref()) {
            return Err(self.not_updatable(column, "insert into"));
        }
        match &self.view {
            Some(view) if names.is_empty() => {
                Ok(view.columns.iter().map_while(|(_, expr)| plain(expr)).collect())
            }
            None if names.is_empty() && self.known.is_some() => {
                Ok(self.known.iter().flatten().map(|(at, _)| *at).collect())
            }
            _ => {
                names.iter().try_for_each(|name| self.refuse_computed(name, "insert into"))?;
                let known: Vec<Option<Name>> = names.iter().map(|name| self.known_name(name)).collect();
                if known.iter().all(Option::is_none) {
                    return insert_columns(&self.seen, names, places);
                }
                let names: Vec<Name> = names
                    .iter()
                    .zip(known)
                    .map(|(name, known)| known.unwrap_or_else(|| name.clone()))
                    .collect();
                let mut columns = Vec::new();
                for (n, name) in names.iter().enumerate() {
                    let places = places.get(n).map(std::slice::from_ref).unwrap_or_default();
                    columns.extend(insert_columns(&self.seen, std::slice::from_ref(name), places)?);
                }
                self.check_given(&columns)?;
                Ok(columns)
            }
        }
    }

    /// What the statement's name of a column is called here: a view may show a column of its table under several names.
    fn known_name(&self, name: &Name) -> Option<Name> {
        let view = self.view.as_ref()?;
        let (_, expr) = view.columns.iter().find(|(own, _)| **own == *name.text)?;
        let known = &self.seen.columns.get(plain(expr)?)?.name;
        (**known != *name.text).then(|| Name { text: known.to_string(), at: name.at })
    }

    /// Assignments by the names that columns have here; none where they have these.
    pub fn known_assignments(&self, assignments: &[Assignment]) -> Option<Vec<Assignment>> {
        let mut is_other = false;
        let mut known = |name: &mut Name| {
            if let Some(known) = self.known_name(name) {
                *name = known;
                is_other = true;
            }
        };
        let mut assignments = assignments.to_vec();
        for assignment in &mut assignments {
            match assignment {
                Assignment::Value(name, _) | Assignment::Part(name, ..) => known(name),
                Assignment::Row(names, _) | Assignment::List(names, ..) => {
                    names.iter_mut().for_each(&mut known);
                }
            }
        }
        is_other.then_some(assignments)
    }

    /// Refuses values for one column under two of its names.
    pub fn check_given(&self, columns: &[usize]) -> Result<(), SqlError> {
        let twice = columns.iter().enumerate().find(|(n, column)| columns[..*n].contains(column));
        match twice {
            Some((_, column)) if self.view.is_some() => {
                let name = &self.table.columns[*column].name;
                Err(SqlError::syntax(format!("multiple assignments to same column \"{name}\"")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses assignments to columns that the view computes.
    pub fn check_assigned(&self, assignments: &[Assignment], doing: &str) -> Result<(), SqlError> {
        let refuse = |name: &Name| self.refuse_computed(name, doing);
        assignments.iter().try_for_each(|assignment| match assignment {
            Assignment::Value(name, _) | Assignment::Part(name, ..) => refuse(name),
            Assignment::Row(names, _) | Assignment::List(names, ..) => names.iter().try_for_each(refuse),
        })
    }

    /// Refuses a column that the view computes.
    pub fn refuse_computed(&self, name: &Name, doing: &str) -> Result<(), SqlError> {
        let Some(view) = &self.view else { return Ok(()) };
        let computed =
            |(column, expr): &(Arc<str>, TypedExpr)| **column == *name.text && plain(expr).is_none();
        if !view.columns.iter().any(computed) {
            return Ok(());
        }
        Err(self.not_updatable(&name.text, doing))
    }

    fn not_updatable(&self, column: &str, doing: &str) -> SqlError {
        let view = self.view().map_or("", |view| &**view);
        let text = format!("cannot {doing} column \"{column}\" of view \"{view}\"");
        let is_number = |(name, expr): &(Arc<str>, TypedExpr)| match &expr.kind {
            K::Coalesce(args) => {
                **name == *column && args.first().and_then(plain) >= Some(self.table.columns.len())
            }
            _ => false,
        };
        let detail = match self.view.as_ref().is_some_and(|view| view.columns.iter().any(is_number)) {
            true => "View columns that refer to system columns are not updatable.",
            false => "View columns that are not columns of their base relation are not updatable.",
        };
        SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(detail)
    }

    /// Which rows of the table the view shows.
    pub fn filter(&self) -> Option<TypedExpr> {
        let filters = self.view.iter().flat_map(|view| &view.filters).map(|(_, filter)| filter.clone());
        TypedExpr::conjunction(self.shown.iter().cloned().chain(filters).collect())
    }

    /// The same besides another condition.
    pub fn filtered(&self, filter: Option<TypedExpr>) -> Option<TypedExpr> {
        let all = self.filter().into_iter().chain(filter).flat_map(TypedExpr::conjuncts).collect();
        TypedExpr::conjunction(in_turn_together(all))
    }

    /// What becomes of new rows: the rules of the table, then the view's.
    pub fn rules(&self, binder: &Binder<'_>) -> Result<RowRules, SqlError> {
        let mut rules = binder.row_rules(&self.table)?;
        rules.checks.extend(self.view.iter().flat_map(|view| view.checks.iter().cloned()));
        rules.checks.extend(self.demanded.iter().cloned());
        Ok(rules)
    }
}

/// What is done with the table below a view, by a binder of whom the view reads it as.
pub(super) type WorkBelow<'w, T> = &'w mut dyn FnMut(&Binder<'_>, &Arc<TableDef>) -> Result<T, SqlError>;

impl Binder<'_> {
    /// The table whose rows a statement changes by this name.
    pub(super) fn changed(&self, name: &QualifiedName, change: Change) -> Result<Changed, SqlError> {
        match self.relation_named(name) {
            Some(Relation::View(view)) => {
                if let Some(noting) = self.noting {
                    noting.relation(name.at().start, view.oid, &view.columns);
                }
                let changed = self.view_changed(&view, change, true)?;
                Ok(match self.stored.and_then(|stored| stored.relation_at(name.at().start)) {
                    None => changed,
                    Some(noted) => {
                        let place = |id: u16| view.columns.iter().position(|column| column.id == id);
                        let column = |noted: &StoredColumn| Some((place(noted.id)?, Arc::clone(&noted.name)));
                        let columns = noted.columns.iter().filter_map(column).collect();
                        changed.known_as(&name.name.text, columns)
                    }
                })
            }
            _ => {
                let table = self.target(name)?;
                let known = self.stored_columns(name.at().start, &table);
                let changed = self.table_changed(table, change)?;
                Ok(match known {
                    None => changed,
                    Some(columns) => changed.known_as(&name.name.text, columns),
                })
            }
        }
    }

    /// A table whose rows change, with what that takes and what policies say.
    fn table_changed(&self, table: Arc<TableDef>, change: Change) -> Result<Changed, SqlError> {
        let mut changed = Changed { acting: self.acting, ..Changed::of(Arc::clone(&table)) };
        changed.needs.extend(self.need_table(&table, 0..table.columns.len(), false));
        let command = match change {
            Change::Insert => PolicyFor::Insert,
            Change::Update | Change::Merge | Change::Nothing => PolicyFor::Update,
            Change::Delete => PolicyFor::Delete,
        };
        if change != Change::Insert {
            changed.shown = self.policy_filter(&table, command)?;
        }
        if change != Change::Delete {
            changed.demanded.extend(self.policy_checks(&table, command)?);
        }
        Ok(changed)
    }

    /// Binds a change of rows: for policies as one that reads no column of its table, and once more where it is found that it does.
    pub(super) fn as_it_reads<T>(
        &self,
        bind: &dyn Fn(bool) -> Result<(T, Changed), SqlError>,
    ) -> Result<T, SqlError> {
        let (bound, changed) = bind(false)?;
        if changed.acting.is_none() || !changed.is_read() {
            return Ok(bound);
        }
        let inside = Binder { acting: changed.acting, ..self.clone() };
        match inside.policy_filter(&changed.table, PolicyFor::Select)? {
            None => Ok(bound),
            Some(_) => bind(true).map(|(bound, _)| bound),
        }
    }

    /// A change that reads rows, or gives columns of them back, sees those only that a query sees; so are the new ones to be.
    pub(super) fn reads_changed(&self, changed: &mut Changed, change: Change) -> Result<(), SqlError> {
        if changed.acting.is_none() {
            return Ok(());
        }
        // As whom the table is changed: below a view that is its owner, not who runs the statement.
        let inside = Binder { acting: changed.acting, ..self.clone() };
        let Some(read) = inside.policy_filter(&changed.table, PolicyFor::Select)? else { return Ok(()) };
        if change != Change::Delete {
            let (name, condition) = (Arc::clone(&changed.table.name), read.clone());
            // A policy for all commands is asked once.
            if !changed.demanded.iter().any(|check| same(&check.condition, &condition)) {
                changed.demanded.push(Check { name, condition, of: CheckOf::Policy });
            }
        }
        if change != Change::Insert {
            let mut both: Vec<TypedExpr> =
                changed.shown.take().into_iter().flat_map(TypedExpr::conjuncts).collect();
            for condition in read.conjuncts() {
                if !both.iter().any(|known| same(known, &condition)) {
                    both.push(condition);
                }
            }
            changed.shown = TypedExpr::conjunction(both);
        }
        Ok(())
    }

    /// Whether rows of a view can be changed.
    ///
    /// # Errors
    /// 55000 says why not.
    pub fn updatable(&self, view: &Arc<ViewDef>) -> Result<(), SqlError> {
        self.view_changed(view, Change::Update, false).map(drop)
    }

    /// Whether the column of that name can be set through a view.
    #[must_use]
    pub fn is_column_updatable(&self, view: &Arc<ViewDef>, column: &str) -> bool {
        let changed = self.view_changed(view, Change::Update, false);
        changed.is_ok_and(|changed| match &changed.view {
            Some(view) => view.columns.iter().any(|(own, expr)| **own == *column && plain(expr).is_some()),
            None => changed.seen.column(column).is_some(),
        })
    }

    /// A view whose INSTEAD OF triggers do the change, as a table.
    fn view_replaced(&self, view: &Arc<ViewDef>, change: Change) -> Result<Changed, SqlError> {
        let mut changed = Changed::of(Arc::new(view.as_table()));
        let numbers = view.columns.iter().map(|column| vec![column.id]).collect();
        changed.needs.extend(self.need_view(view, numbers, false));
        if change != Change::Insert {
            changed.rows = Some(self.view_locked(view, None, view.columns.len())?.0);
        }
        Ok(changed)
    }

    /// The table of a view's rows, or the first view on the way to it with triggers that do the change, if these are asked.
    fn view_changed(&self, view: &Arc<ViewDef>, change: Change, triggers: bool) -> Result<Changed, SqlError> {
        recursion::check()?;
        self.catalog.check_whole(view.oid)?;
        if triggers && change.is_replaced(view) {
            return self.view_replaced(view, change);
        }
        let inside = self.within(view)?;
        let query = parsed(&view.query.text)?;
        let (select, item, name) = simple(&query).map_err(|why| refused(view, change, why))?;
        let source = match inside.relation_named(name) {
            Some(Relation::View(other)) => inside.view_changed(&other, change, triggers)?,
            Some(Relation::Table(table)) if !table.is_system() => {
                self.catalog.check_whole(table.oid)?;
                inside.table_changed(table, change)?
            }
            _ => return Err(refused(view, change, NOT_ONE_TABLE)),
        };
        // Positions in the view's text mean nothing to the statement.
        let unplaced = |error: SqlError| SqlError { position: None, ..error };
        let bound = inside.as_numbered(&|inside| {
            let numbers = match source.view.is_some() || source.table.partitioned.is_some() {
                true => source.numbers,
                false => inside.numbered,
            };
            let mut scope = inside.shown_scope(&source, item, name);
            numbers.add_to(&mut scope);
            source.note(&mut scope);
            Ok((inside.shown_columns(select, &scope)?, scope, numbers))
        });
        let unshown = |error: SqlError| match missing(&error) {
            Some(_) => refused(view, change, SYSTEM_COLUMNS),
            None => unplaced(error),
        };
        let (shown, scope, numbers) = bound.map_err(unshown)?;
        let mut columns = Vec::new();
        for mut expr in shown {
            // It is no column of the table, or one with another order.
            let is_other = matches!(expr.collation, Derivation::Explicit(_));
            if plain(&expr).is_some_and(|column| is_other || column >= source.table.columns.len()) {
                let (ty, collation) = (expr.ty.clone(), expr.collation.clone());
                expr = TypedExpr { collation, ..TypedExpr::new(K::Coalesce(vec![expr]), ty) };
            }
            if let Some(why) = columns_of(&expr).into_iter().find_map(not_of_row) {
                return Err(refused(view, change, why));
            }
            let name =
                view.columns.get(columns.len()).map_or_else(|| "".into(), |column| Arc::clone(&column.name));
            columns.push((name, expr));
        }
        if change != Change::Delete && columns.iter().all(|(_, expr)| plain(expr).is_none()) {
            return Err(refused(view, change, "Views that have no updatable columns"));
        }
        let (mut filters, mut checks) =
            source.view.map_or_else(Default::default, |below| (below.filters, below.checks));
        let own = inside.filter(select.filter.as_ref(), &scope).map_err(unshown)?;
        let own = own.map(|own| inside.expanded(own, &source.table, 0)).transpose()?;
        let option = view.options.get("check_option").map(str::to_ascii_lowercase);
        let all = if option.as_deref() == Some("cascaded") { filters.as_slice() } else { &[] };
        let own = own.map(|own| (Arc::clone(&view.name), own));
        let checked = all.iter().chain(own.iter().filter(|_| option.is_some()));
        let known = checks.len();
        for (name, condition) in checked {
            if !checks[..known].iter().any(|check: &Check| check.name == *name) {
                checks.push(Check {
                    name: Arc::clone(name),
                    condition: condition.clone(),
                    of: CheckOf::View,
                });
            }
        }
        filters.extend(own);
        let mut seen = (*source.seen).clone();
        seen.name = Arc::clone(&view.name);
        let mut defaults = Vec::new();
        for (at, column) in seen.columns.iter_mut().enumerate() {
            let shown = columns.iter().find(|(_, expr)| plain(expr) == Some(at));
            column.name = shown.map_or_else(|| hidden(at), |(name, _)| Arc::clone(name));
            // What the view says goes before what the views below it and the table say.
            let names = columns.iter().filter(|(_, expr)| plain(expr) == Some(at)).map(|(name, _)| name);
            let mut own = names.filter_map(|name| view.columns.iter().find(|own| own.name == *name));
            let default = own.find_map(|own| own.default.as_ref());
            if let Some(default) = default.filter(|_| !column.generated) {
                column.default = Some(Arc::clone(default));
                defaults.push((at, Arc::clone(default)));
            }
        }
        let stands_for = (0..source.table.columns.len()).map(|at| {
            let uses = |(_, (_, expr)): &(usize, &(Arc<str>, TypedExpr))| columns_of(expr).contains(&at);
            let own = columns.iter().enumerate().filter(uses);
            own.filter_map(|(n, _)| view.columns.get(n)).map(|column| column.id).collect()
        });
        // As in PostgreSQL its owner needs to read what the view's query names where the statement reads any of it.
        let mut needs = source.needs;
        needs.iter().for_each(|need| need.put_off());
        needs.extend(self.need_view(view, stands_for.collect(), false));
        let computed = columns.iter().zip(&view.columns).filter(|((_, expr), _)| plain(expr).is_none());
        let mut given = computed.filter(|(_, own)| own.default.is_some());
        let given = given.next().map(|(_, own)| Arc::clone(&own.name));
        let (oid, name) = (view.oid, Arc::clone(&view.name));
        let shown = Shown { oid, name, given, columns, defaults, filters, checks };
        let (acting, policy, demanded) = (source.acting, source.shown, source.demanded);
        let (table, seen, rows) = (source.table, Arc::new(seen), source.rows);
        let view = Some(shown);
        Ok(Changed {
            table,
            seen,
            alias: None,
            view,
            known: None,
            rows,
            needs,
            acting,
            shown: policy,
            demanded,
            numbers,
        })
    }

    /// Does something with the table whose rows a view shows, as whom the view reads it.
    pub(super) fn below_view<T>(&self, view: &Arc<ViewDef>, work: WorkBelow<'_, T>) -> Result<T, SqlError> {
        recursion::check()?;
        let inside = self.within(view)?;
        let query = parsed(&view.query.text)?;
        let (_, _, name) = simple(&query).map_err(|why| refused(view, Change::Update, why))?;
        match inside.relation_named(name) {
            Some(Relation::View(other)) => inside.below_view(&other, work),
            Some(Relation::Table(table)) => work(&inside, &table),
            _ => Err(refused(view, Change::Update, NOT_ONE_TABLE)),
        }
    }

    /// The columns that a view's query sees, over those of the table.
    fn shown_scope(&self, source: &Changed, item: &FromItem, name: &QualifiedName) -> Scope {
        let place = name.at().start;
        // Where the columns stand among these that a list of aliases names.
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut known: Vec<(Arc<str>, TypedExpr)> = match &source.view {
            Some(view) => {
                let noted = self.noted_names(place);
                places.extend((0..view.columns.len()).map(Some));
                view.columns
                    .iter()
                    .enumerate()
                    .map(|(n, (own, expr))| {
                        (noted.get(n).cloned().unwrap_or_else(|| Arc::clone(own)), expr.clone())
                    })
                    .collect()
            }
            None => {
                let then = self.columns_then(place, &source.table).unwrap_or_default();
                let (columns, then) = then.only_known();
                places = then.places;
                let column = |(at, name): (usize, Arc<str>)| {
                    (name, TypedExpr::column(at, source.table.columns[at].seen()))
                };
                columns.into_iter().zip(then.names).map(column).collect()
            }
        };
        for (given, at) in item.columns.iter().zip(places) {
            if let Some((name, _)) = at.and_then(|at| known.get_mut(at)) {
                *name = given.text.as_str().into();
            }
        }
        let own = |(at, column): (usize, &verso_catalog::ColumnDef)| (hidden(at), column.ty.clone());
        let columns: Vec<(Arc<str>, SqlType)> = source.table.columns.iter().enumerate().map(own).collect();
        let alias = item.alias.as_ref().map_or(&name.name.text, |alias| &alias.text);
        let mut scope = Scope::of(Some(alias.as_str().into()), None, columns);
        scope.tables[0].merged.clone_from(&known);
        scope.visible = known;
        scope
    }

    /// The output of a view's query.
    fn shown_columns(&self, select: &Select, scope: &Scope) -> Result<Vec<TypedExpr>, SqlError> {
        let mut cx = Context::new(scope, Clause::Select);
        let items = self.items(&select.items, &mut cx)?;
        items.into_iter().map(|item| self.settle(item.expr, 0)).collect()
    }
}

const SYSTEM_COLUMNS: &str = "Views that return system columns";
const NOT_ONE_TABLE: &str = "Views that do not select from a single table or view";

/// A view's query, if it shows rows of one table or view; else which views do not (U1).
fn simple(query: &Query) -> Result<(&Select, &FromItem, &QualifiedName), &'static str> {
    if !query.with.is_empty() {
        return Err("Views containing WITH");
    }
    if query.limit.is_some() || query.offset.is_some() {
        return Err("Views containing LIMIT or OFFSET");
    }
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(inner) => return simple(inner),
        QueryBody::Set { .. } => return Err("Views containing UNION, INTERSECT, or EXCEPT"),
        QueryBody::Values(_) | QueryBody::Change(_) => return Err(NOT_ONE_TABLE),
    };
    if select.distinct || !select.distinct_on.is_empty() {
        return Err("Views containing DISTINCT");
    }
    if !select.group_by.is_empty() {
        return Err("Views containing GROUP BY");
    }
    if select.having.is_some() {
        return Err("Views containing HAVING");
    }
    let Some(item) = &select.from else { return Err(NOT_ONE_TABLE) };
    let FromSource::Table(name) = &item.source else { return Err(NOT_ONE_TABLE) };
    if item.sample.is_some() {
        return Err("Views containing TABLESAMPLE");
    }
    Ok((select, item, name))
}

/// Which views have a column like this one, which is no column of a row.
fn not_of_row(column: usize) -> Option<&'static str> {
    match column {
        SET_BASE.. => Some("Views that return set-returning functions"),
        WINDOW_BASE.. => Some("Views that return window functions"),
        AGGREGATE_BASE.. => Some("Views that return aggregate functions"),
        _ => None,
    }
}

/// What an error calls a change, what enables it, and its event.
fn words(change: Change) -> (&'static str, &'static str, &'static str) {
    match change {
        Change::Insert => ("insert into", "inserting into", "INSERT"),
        Change::Update | Change::Merge | Change::Nothing => ("update", "updating", "UPDATE"),
        Change::Delete => ("delete from", "deleting from", "DELETE"),
    }
}

/// What is refused of a view, as MERGE tells it.
pub(super) fn as_merge_tells(error: SqlError, change: Change) -> SqlError {
    match error.hint.as_deref().is_some_and(|hint| hint.starts_with("To enable ")) {
        false => error,
        true => {
            let (_, enabling, event) = words(change);
            error.with_hint(format!(
                "To enable {enabling} the view using MERGE, provide an INSTEAD OF {event} trigger."
            ))
        }
    }
}

fn refused(view: &ViewDef, change: Change, which: &str) -> SqlError {
    let (doing, enabling, event) = words(change);
    SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, format!("cannot {doing} view \"{}\"", view.name))
        .with_detail(format!("{which} are not automatically updatable."))
        .with_hint(format!(
            "To enable {enabling} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO \
             INSTEAD rule."
        ))
}

/// The column that an expression is.
fn plain(expr: &TypedExpr) -> Option<usize> {
    match expr.kind {
        K::Column(at) => Some(at),
        _ => None,
    }
}

/// The name of a column that nobody can name.
pub(super) fn hidden(at: usize) -> Arc<str> {
    format!("\0{at}").into()
}
