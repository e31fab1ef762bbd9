//! Views: the query that a name stands for, bound in its place; and what else the catalog keeps with what its names meant: bodies of
//! functions that are SQL's own, conditions of policies.
//!
//! V1. A view's query sees nothing of the query that names it: no columns, variables, parameters or queries of WITH.
//! V2. What its names mean was noted when it was made ([`StoredQuery`]), so its text is bound by these notes.
//! V3. A view that shows itself, be it by way of others, is refused (42P17).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ColumnDef, FunctionDef, NOWHERE, OWN, Oid, Relation, StoredBody, StoredColumn,
    StoredCondition, StoredQuery, StoredRelation, TableDef, ViewDef, kept,
};
use verso_env::recursion;
use verso_exec::plan::{ExprKind, OutputColumn, Plan, SetCall, Statement, TypedExpr};
use verso_types::{RowType, SqlType, TimeStyle};

use super::Binder;
use super::from::row_of_call;
use super::literals::settled;
use super::lock::{Locking, Mark, Wanted};
use super::plpgsql::{bind_kept_noting, bind_noting};
use super::rights::Need as Columns;
use super::scope::later;
use super::stored::Notes;
use super::table_number::RowNumbers;
use super::trace::Trace;
use crate::errors::SqlError;
use crate::rewrite::{Planning, Rules};
use verso_parser::syntax::{self, Expr, Literal, QualifiedName, Query, Span};

/// What is noted of the names in a query that becomes a view's.
#[derive(Debug, Default)]
pub(super) struct Noting {
    relations: RefCell<Vec<StoredRelation>>,
    functions: RefCell<Vec<(u32, Oid)>>,
    types: RefCell<Vec<(u32, Oid)>>,
    /// Which columns of the relations are used.
    needs: RefCell<Vec<Rc<Columns>>>,
    /// The fields of rows that are used, by the type of the rows.
    fields: RefCell<BTreeSet<(Oid, Arc<str>)>>,
    /// The types of which rows are made.
    made: RefCell<BTreeSet<Oid>>,
    /// The same of the rows of functions in FROM.
    rows: RefCell<Vec<(Rc<Columns>, Arc<RowType>)>>,
    /// Primary keys, as indexes, by which columns are determined that are not grouped by.
    keys: RefCell<BTreeSet<Oid>>,
    /// What is written otherwise in the text that is kept: literals, and types, collations and operators by number.
    written: Notes,
}

impl Noting {
    /// Where that is noted which is written otherwise in the text that is kept.
    pub(super) fn written(&self) -> &Notes {
        &self.written
    }

    /// A name means a relation with these columns; without a place a literal does.
    pub(super) fn relation(&self, place: u32, relation: Oid, columns: &[ColumnDef]) {
        let column =
            |column: &ColumnDef| StoredColumn { id: column.id, name: Arc::clone(&column.name), used: false };
        let columns = columns.iter().map(column).collect();
        let mut relations = self.relations.borrow_mut();
        let is_known =
            |known: &StoredRelation| known.place == place && (place != NOWHERE || known.relation == relation);
        if !relations.iter().any(is_known) {
            relations.push(StoredRelation { place, relation, columns });
        }
    }

    /// A name means a user's type.
    pub(super) fn user_type(&self, place: u32, ty: Oid) {
        let mut types = self.types.borrow_mut();
        if !types.contains(&(place, ty)) {
            types.push((place, ty));
        }
    }

    /// Columns of a relation may be used.
    pub(super) fn need(&self, need: &Rc<Columns>) {
        self.needs.borrow_mut().push(Rc::clone(need));
    }

    /// Columns of a function's rows may be used, which are fields of that type.
    pub(super) fn rows(&self, need: &Rc<Columns>, row: &Arc<RowType>) {
        self.rows.borrow_mut().push((Rc::clone(need), Arc::clone(row)));
    }

    /// A column is determined by a primary key.
    pub(super) fn key(&self, index: Oid) {
        self.keys.borrow_mut().insert(index);
    }

    /// A field of a row is used.
    fn field(&self, row: &RowType, at: usize) {
        if let (Some(of), Some((name, _))) = (&row.of, row.fields.get(at)) {
            self.fields.borrow_mut().insert((Oid(of.oid), Arc::clone(name)));
        }
    }

    /// A row of this type is made.
    fn makes(&self, ty: Oid) {
        self.made.borrow_mut().insert(ty);
    }

    /// The columns of the relations that are used, as PostgreSQL counts them: those that the text names, be their values needed or not.
    fn used(&self) -> BTreeMap<Oid, BTreeSet<u16>> {
        let mut used: BTreeMap<Oid, BTreeSet<u16>> = BTreeMap::new();
        for need in self.needs.borrow().iter() {
            used.entry(need.relation()).or_default().extend(need.used());
        }
        used
    }

    /// The columns of the relations that are read as parts of whole rows: a row is what it is without one that has gone, so
    /// that nothing depends on these.
    fn in_rows(&self) -> BTreeMap<Oid, BTreeSet<u16>> {
        let mut used: BTreeMap<Oid, BTreeSet<u16>> = BTreeMap::new();
        for need in self.needs.borrow().iter() {
            used.entry(need.relation()).or_default().extend(need.used_in_rows());
        }
        used
    }

    /// The columns of relations that are used as fields of rows of their types.
    fn used_as_fields(&self, catalog: &CatalogSnapshot) -> Vec<StoredRelation> {
        for (need, row) in self.rows.borrow().iter() {
            need.used().into_iter().for_each(|at| self.field(row, usize::from(at)));
        }
        let fields = self.fields.borrow();
        // Of rows of functions, and of those that are made, all columns are known, so that those are told apart which come later.
        let mut of_functions: BTreeSet<Oid> =
            self.rows.borrow().iter().filter_map(|(_, row)| Some(Oid(row.of.as_ref()?.oid))).collect();
        of_functions.extend(self.made.borrow().iter().copied());
        let mut types = of_functions.clone();
        types.extend(fields.iter().map(|(ty, _)| *ty));
        let relation = |ty: Oid| {
            let column = |(id, name): (u16, Arc<str>)| {
                let used = fields.contains(&(ty, Arc::clone(&name)));
                StoredColumn { id, name, used }
            };
            let is_kept = |column: &StoredColumn| column.used || of_functions.contains(&ty);
            let columns = catalog.fields_of(ty).into_iter().map(column).filter(is_kept).collect();
            StoredRelation { place: NOWHERE, relation: ty, columns }
        };
        types.into_iter().map(relation).filter(|relation| !relation.columns.is_empty()).collect()
    }

    /// Adds the functions and types that a text needs which is not in this one, such as the default of an argument.
    pub(super) fn needs_of(&self, other: Noting) {
        other.functions.into_inner().into_iter().for_each(|(_, oid)| self.function(NOWHERE, oid));
        other.types.into_inner().into_iter().for_each(|(_, oid)| self.user_type(NOWHERE, oid));
    }

    /// The text whose names these are, with what its literals mean and with the numbers of types, collations and operators; of the
    /// tables it uses these columns. It begins at a character of the text that was bound.
    fn into_query(
        self,
        catalog: &CatalogSnapshot,
        (text, start): (&str, u32),
        read: &BTreeMap<Oid, BTreeSet<u16>>,
    ) -> StoredQuery {
        let (named, in_rows, fields) = (self.used(), self.in_rows(), self.used_as_fields(catalog));
        let mut relations = self.relations.into_inner();
        for relation in &mut relations {
            let oid = relation.relation;
            let is_of = |columns: &BTreeMap<Oid, BTreeSet<u16>>, id: u16| {
                columns.get(&oid).is_some_and(|columns| columns.contains(&id))
            };
            let is_used = |id: u16| is_of(&named, id) || is_of(read, id) && !is_of(&in_rows, id);
            relation.columns.iter_mut().for_each(|column| column.used = is_used(column.id));
        }
        for own in fields {
            let known = relations.iter_mut().find(|it| it.place == NOWHERE && it.relation == own.relation);
            match known {
                Some(known) => known.columns = own.columns,
                None => relations.push(own),
            }
        }
        let chars: Vec<char> = text.chars().collect();
        let (text, moved) = settled(&chars, &self.written.edits(&chars, start));
        let at = |place: u32| match place {
            NOWHERE | OWN => place,
            place => place.checked_sub(start).map_or(NOWHERE, &moved),
        };
        relations.iter_mut().for_each(|relation| relation.place = at(relation.place));
        let named = |(place, oid)| (at(place), oid);
        let functions = self.functions.into_inner().into_iter().map(named).collect();
        let types = self.types.into_inner().into_iter().map(named).collect();
        StoredQuery { rule: Oid(0), text: text.into(), relations, functions, types }
    }

    /// A name means a user's function.
    pub(super) fn function(&self, place: u32, function: Oid) {
        let mut functions = self.functions.borrow_mut();
        if !functions.contains(&(place, function)) {
            functions.push((place, function));
        }
    }
}

/// Names and types of a view's columns.
type ViewColumns = Vec<(Arc<str>, SqlType)>;

impl Binder<'_> {
    /// The query of a new view, as the catalog keeps it, with its columns.
    ///
    /// # Errors
    /// Those of binding the query.
    pub fn view_query(&self, text: &str) -> Result<(StoredQuery, ViewColumns), SqlError> {
        let query = parsed(text)?;
        let (noting, plan) = self.as_numbered(&|binder| {
            let noting = Noting::default();
            let noted =
                Binder { noting: Some(&noting), acting: None, unread: true, ..binder.clone() }.query(&query);
            noted.map(|plan| (noting, plan))
        })?;
        let columns =
            plan.output().into_iter().map(|column| (Arc::clone(&column.name), column.seen())).collect();
        Ok((noting.into_query(self.catalog, (text, 0), &used_columns(plan)?), columns))
    }

    /// The condition of a new policy, as the catalog keeps it: its text, and where that begins in the statement.
    ///
    /// # Errors
    /// Those of binding it.
    pub fn policy_query(
        &self,
        expr: &Expr,
        written: (&str, u32),
        table: &Arc<TableDef>,
    ) -> Result<StoredCondition, SqlError> {
        let (noting, predicate) = self.as_numbered(&|binder| {
            let noting = Noting::default();
            noting.relation(OWN, table.oid, table.shown());
            let noted = Binder { noting: Some(&noting), acting: None, unread: true, ..binder.clone() }
                .policy_condition(expr, table, &table.name);
            noted.map(|predicate| (noting, predicate))
        })?;
        let columns = (0..table.columns.len()).collect();
        let scan = Plan::TableScan { table: Arc::clone(table).into(), columns, filter: None };
        let input = Box::new(Plan::Filter { input: Box::new(scan), predicate });
        let used = used_columns(Plan::Project { input, exprs: Vec::new(), names: Vec::new() })?;
        let query = noting.into_query(self.catalog, written, &used);
        Ok(StoredCondition { table: Arc::clone(&table.name), query })
    }

    /// The same of a text that an earlier release has kept alone.
    ///
    /// # Errors
    /// The same.
    pub fn policy_query_of(&self, text: &str, table: &Arc<TableDef>) -> Result<StoredCondition, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.policy_query_of(text, table);
        }
        let expr = verso_parser::parse_expression(text)?;
        self.in_kept_text().policy_query(&expr, (text, 0), table)
    }

    /// What binds a condition that the catalog keeps of a table's rows.
    pub(crate) fn over_condition<'b>(&'b self, condition: &'b StoredCondition) -> Binder<'b> {
        let stored = Some(&condition.query).filter(|_| !condition.is_plain());
        Binder { stored, ..self.in_kept_text() }
    }

    /// Binds a condition that the catalog keeps of a table's rows and notes what its text means. The table's item of the trace is 0.
    pub(crate) fn traced_condition(
        &self,
        condition: &StoredCondition,
        table: &TableDef,
        trace: &Trace,
    ) -> Result<Expr, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.traced_condition(condition, table, trace);
        }
        let expr = verso_parser::parse_expression(&condition.query.text)?;
        let binder =
            Binder { traced: Some(trace), acting: None, unread: true, ..self.over_condition(condition) };
        binder.as_numbered(&|binder| binder.policy_condition(&expr, table, &condition.table))?;
        Ok(expr)
    }

    /// Where the field of that name is among those of a row. In a stored text columns of a relation have the names that they had then.
    pub(crate) fn field_place(&self, row: &RowType, name: &str) -> Option<usize> {
        let noted = self.noted_field(row, name);
        noted.or_else(|| row.fields.iter().position(|(field, _)| **field == *name))
    }

    fn noted_field(&self, row: &RowType, name: &str) -> Option<usize> {
        let noted = self.fields_noted(row)?;
        let id = noted.columns.iter().find(|column| *column.name == *name)?.id;
        self.catalog.fields_of(noted.relation).iter().position(|(known, _)| *known == id)
    }

    /// The columns that a stored text uses as fields of rows of this type.
    fn fields_noted(&self, row: &RowType) -> Option<&StoredRelation> {
        let (stored, of) = (self.stored?, row.of.as_ref()?);
        let is_it = |known: &&StoredRelation| known.place == NOWHERE && known.relation.0 == of.oid;
        stored.relations.iter().find(is_it)
    }

    /// The name that a field has today which a kept text names by numbers; any other name is itself.
    pub(crate) fn field_named<'n>(&self, name: &'n str) -> Cow<'n, str> {
        let Some((of, field, then)) = kept::field_of(name) else { return Cow::Borrowed(name) };
        let today = self.catalog.fields_of(of).into_iter().find(|(id, _)| *id == field);
        today.map_or(Cow::Borrowed(then), |(_, name)| Cow::Owned(name.to_string()))
    }

    /// The name that a field has today which a stored text names so.
    pub(crate) fn field_today(&self, ty: &SqlType, name: &str) -> String {
        let SqlType::Row(row) = ty else { return name.to_string() };
        match self.noted_field(row, name).and_then(|at| row.fields.get(at)) {
            Some((today, _)) => today.to_string(),
            None => name.to_string(),
        }
    }

    /// Places and names of the fields that `(row).*` means in a stored text; none where they are those of today.
    pub(super) fn fields_then(&self, row: &RowType) -> Option<Vec<(usize, Arc<str>)>> {
        let noted = self.fields_noted(row)?;
        let then = ColumnsThen::of(&noted.columns, &self.catalog.fields_of(noted.relation));
        let place = |(then, at): (&StoredColumn, &Option<usize>)| {
            Some((at.filter(|at| *at < row.fields.len())?, Arc::clone(&then.name)))
        };
        let mut fields: Vec<_> = noted.columns.iter().zip(&then.places).filter_map(place).collect();
        fields.sort_by_key(|(at, _)| *at);
        Some(fields)
    }

    /// A row that a kept text makes of a type, as the type is by now: with NULL for what came later, and without what went. None
    /// where it is as it was.
    pub(crate) fn row_then(&self, row: &Expr, named: &SqlType, ty: &SqlType) -> Option<Expr> {
        let (syntax::ExprKind::Row(parts), SqlType::Row(of)) = (&row.kind, ty) else { return None };
        let oid = Oid(of.of.as_ref()?.oid);
        let today: Vec<u16> = self.catalog.fields_of(oid).into_iter().map(|(id, _)| id).collect();
        let kept = match named {
            SqlType::Named(named) => kept::fields_made(named.schema.as_deref()),
            _ => None,
        };
        let noted = || Some(self.fields_noted(of)?.columns.iter().map(|column| column.id).collect());
        let then: Vec<u16> = kept.or_else(noted)?;
        if then.len() != parts.len() || then == today {
            return None;
        }
        let null = Expr {
            kind: syntax::ExprKind::Literal(Literal::Null),
            at: Span { start: row.at.end, end: row.at.end },
            ..row.clone()
        };
        let part =
            |id: &u16| then.iter().position(|known| known == id).map_or(&null, |at| &parts[at]).clone();
        Some(Expr { kind: syntax::ExprKind::Row(today.iter().map(part).collect()), ..row.clone() })
    }

    /// Notes that a row is made of a type that is named there, by a text that is to be kept.
    pub(super) fn note_made(&self, row: &Expr, named: &SqlType, ty: &SqlType) {
        let (syntax::ExprKind::Row(_), SqlType::Row(of), SqlType::Named(named)) = (&row.kind, ty, named)
        else {
            return;
        };
        let Some(of) = &of.of else { return };
        if let Some(noting) = self.noting {
            noting.makes(Oid(of.oid));
        }
        if let Some(notes) = self.noted {
            let fields = self.catalog.fields_of(Oid(of.oid)).into_iter().map(|(id, _)| id).collect();
            notes.made(named.at, fields);
        }
    }

    /// The columns of functions in FROM as a stored text knows them; none where it knows nothing of their rows.
    pub(super) fn rows_then(&self, plan: &Plan) -> Option<ColumnsThen> {
        self.stored?;
        let calls = calls_in(plan);
        let output = plan.output();
        let (mut then, mut knows) = (ColumnsThen::default(), false);
        let as_they_are = |then: &mut ColumnsThen, columns: &[OutputColumn]| {
            for column in columns {
                then.places.push(Some(then.names.len()));
                then.names.push(Arc::clone(&column.name));
            }
        };
        for (call, count) in calls {
            let first = then.names.len();
            let columns = output.get(first..first + count)?;
            let noted = row_of_call(call).filter(|row| row.fields.len() == count);
            match noted.and_then(|row| self.fields_noted(&row)) {
                Some(noted) => {
                    knows = true;
                    let own = ColumnsThen::of(&noted.columns, &self.catalog.fields_of(noted.relation));
                    then.names.extend(own.names);
                    then.places.extend(own.places.into_iter().map(|at| Some(first + at?)));
                }
                None => as_they_are(&mut then, columns),
            }
        }
        // Behind them stands the number of WITH ORDINALITY.
        let rest = output.get(then.names.len()..)?;
        as_they_are(&mut then, rest);
        knows.then_some(then)
    }

    /// The columns of the table that is named at a place as a stored text knows them.
    pub(super) fn columns_then(&self, place: u32, table: &TableDef) -> Option<ColumnsThen> {
        let noted = self.stored?.relation_at(place)?;
        let today: Vec<_> = table.columns.iter().map(|now| (now.id, Arc::clone(&now.name))).collect();
        Some(ColumnsThen::of(&noted.columns, &today))
    }

    /// Notes that a field of a row is used by a text that is to be kept.
    pub(super) fn note_field(&self, row: &RowType, at: usize) {
        if let Some(noting) = self.noting {
            noting.field(row, at);
        }
    }

    /// The view that a name in FROM means.
    pub(super) fn view_named(&self, name: &QualifiedName) -> Result<Option<Arc<ViewDef>>, SqlError> {
        let schema = name.schema_text();
        if schema.is_none() && self.is_with_query(&name.name) {
            return Ok(None);
        }
        self.check_schema(name)?;
        Ok(match self.relation_named(name) {
            Some(Relation::View(view)) => {
                self.catalog.check_whole(view.oid)?;
                if let Some(noting) = self.noting {
                    noting.relation(name.at().start, view.oid, &view.columns);
                }
                Some(view)
            }
            _ => None,
        })
    }

    /// The relation that a name means: the one that was noted of it, or the one found along the path.
    pub(super) fn relation_named(&self, name: &QualifiedName) -> Option<Relation> {
        let found = self.relation_meant(name);
        if let Some(Relation::View(view)) = &found {
            self.views.borrow_mut().insert(view.oid);
        }
        found
    }

    fn relation_meant(&self, name: &QualifiedName) -> Option<Relation> {
        match self.stored {
            Some(stored) => {
                let noted = stored.relation_at(name.at().start)?;
                self.catalog.relation_by_oid(noted.relation).cloned()
            }
            None => {
                let schema = name.schema_text();
                if self.catalog.system_view(schema, &name.name.text).is_some() {
                    return None;
                }
                let found = self.catalog.relation(schema, &name.name.text).cloned();
                if let (Some(notes), Some(found)) = (self.noted, &found) {
                    notes.name(name.at().start, found.oid());
                }
                found
            }
        }
    }

    /// The columns of a table that a stored query sees, by the names that they had: positions and names.
    pub(super) fn stored_columns(&self, place: u32, table: &TableDef) -> Option<Vec<(usize, Arc<str>)>> {
        let noted = self.stored?.relation_at(place)?;
        let column =
            |column: &StoredColumn| Some((table.column_with_id(column.id)?, Arc::clone(&column.name)));
        Some(noted.columns.iter().filter_map(column).collect())
    }

    /// The names that a stored query knows the columns of the relation at a place by.
    pub(super) fn noted_names(&self, place: u32) -> Vec<Arc<str>> {
        let noted = self.stored.and_then(|stored| stored.relation_at(place));
        noted.map_or_else(Vec::new, |noted| {
            noted.columns.iter().map(|column| Arc::clone(&column.name)).collect()
        })
    }

    /// The names that a stored query knows the columns of a view by.
    pub(super) fn view_columns(&self, place: u32, view: &ViewDef) -> Vec<Arc<str>> {
        match self.stored.and_then(|stored| stored.relation_at(place)) {
            Some(noted) => noted.columns.iter().map(|column| Arc::clone(&column.name)).collect(),
            None => view.columns.iter().map(|column| Arc::clone(&column.name)).collect(),
        }
    }

    /// The rows of a view, its first columns only; all of them, and the places of records, where they are locked.
    pub(super) fn view_locked(
        &self,
        view: &Arc<ViewDef>,
        wanted: Option<&Wanted<'_>>,
        columns: usize,
    ) -> Result<(Plan, Vec<Mark>), SqlError> {
        let clause = wanted.map(Wanted::clause);
        let locking = Locking { locks: clause.as_slice().into(), export: clause.is_some(), places: false };
        let (plan, marks) = self.view(view, locking)?;
        Ok(if clause.is_some() { (plan, marks) } else { (first_columns(plan, columns), marks) })
    }

    /// The rows of a view.
    fn view(&self, view: &Arc<ViewDef>, locking: Locking<'_>) -> Result<(Plan, Vec<Mark>), SqlError> {
        recursion::check()?;
        let query = parsed(&view.query.text)?;
        let inside = self.within(view)?;
        // Positions in the view's text mean nothing to the statement.
        let bound = inside.as_numbered(&|inside| inside.query_locked(&query, &[], locking.clone()));
        let (plan, marks) = bound.map_err(|error| SqlError { position: None, ..error })?;
        Ok(match view.options.is_on("security_barrier") {
            true => (Plan::Barrier { input: Box::new(plan) }, marks),
            false => (plan, marks),
        })
    }

    /// The rows that a view's query has now, planned.
    pub fn rows_of(&self, view: &ViewDef) -> Result<Plan, SqlError> {
        self.catalog.check_whole(view.oid)?;
        let query = parsed(&view.query.text)?;
        let bound = self.within(view)?.as_numbered(&|inside| inside.query(&query));
        let plan = bound.map_err(|error| SqlError { position: None, ..error })?;
        let mut statement = Statement::Query(plan);
        crate::plan::choose(&mut statement, self.planning())?;
        match statement {
            Statement::Query(plan) => Ok(plan),
            _ => Err(SqlError::internal("a query that is none")),
        }
    }

    /// Binds the query of a view again and notes what its text means.
    pub(crate) fn traced_view(&self, view: &ViewDef, trace: &Trace) -> Result<Query, SqlError> {
        let query = parsed(&view.query.text)?;
        let inside = Binder { traced: Some(trace), acting: None, unread: true, ..self.within(view)? };
        inside.as_numbered(&|inside| inside.query(&query))?;
        Ok(query)
    }

    /// The primary keys, as indexes, without which a view's query would be none: it has columns that they determine.
    ///
    /// # Errors
    /// Those of binding the query.
    pub fn keys_of(&self, view: &ViewDef) -> Result<BTreeSet<Oid>, SqlError> {
        let noting = Noting::default();
        let query = parsed(&view.query.text)?;
        let inside = Binder { noting: Some(&noting), acting: None, ..self.within(view)? };
        inside.as_numbered(&|inside| inside.query(&query))?;
        Ok(noting.keys.into_inner())
    }

    /// The same of a condition of a policy over that table's rows.
    ///
    /// # Errors
    /// Those of binding it.
    pub fn keys_of_condition(
        &self,
        condition: &StoredCondition,
        table: &TableDef,
    ) -> Result<BTreeSet<Oid>, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.keys_of_condition(condition, table);
        }
        let expr = verso_parser::parse_expression(&condition.query.text)?;
        let noting = Noting::default();
        let binder =
            Binder { noting: Some(&noting), acting: None, unread: true, ..self.over_condition(condition) };
        binder.as_numbered(&|binder| binder.policy_condition(&expr, table, &condition.table))?;
        Ok(noting.keys.into_inner())
    }

    /// The fields of rows that a view's query uses, by the types of the rows.
    ///
    /// # Errors
    /// Those of binding the query.
    pub fn fields_used_by(&self, view: &ViewDef) -> Result<BTreeSet<(Oid, Arc<str>)>, SqlError> {
        let noting = Noting::default();
        let query = parsed(&view.query.text)?;
        let inside = Binder { noting: Some(&noting), acting: None, ..self.within(view)? };
        inside.as_numbered(&|inside| inside.query(&query))?;
        for (need, row) in noting.rows.borrow().iter() {
            need.used().into_iter().for_each(|at| noting.field(row, usize::from(at)));
        }
        Ok(noting.fields.into_inner())
    }

    /// The relation that was noted of the name at a place of a view's text.
    pub(crate) fn stored_relation(&self, place: u32) -> Option<&StoredRelation> {
        self.stored?.relation_at(place)
    }

    /// What binds the text of a view (V1, V2).
    pub(crate) fn within<'v>(&'v self, view: &'v ViewDef) -> Result<Binder<'v>, SqlError> {
        if self.expanding.contains(&view.oid) {
            let text = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
            return Err(SqlError::new("42P17", text));
        }
        let mut expanding = self.expanding.clone();
        expanding.push(view.oid);
        Ok(Binder {
            parameters: &[],
            inference: None,
            variables: Vec::new(),
            outer: None,
            ctes: Vec::new(),
            noted: None,
            noting: None,
            traced: None,
            stored: Some(&view.query),
            numbered: RowNumbers::default(),
            expanding,
            // A query that is kept is not run.
            acting: if self.unread { None } else { self.acting_within(view) },
            ..self.clone()
        })
    }
}

/// The columns of an item of FROM as a stored text knows them.
#[derive(Debug, Default)]
pub(super) struct ColumnsThen {
    /// The names that the columns of today have in the text: one that came later has none that a text can have.
    pub(super) names: Vec<Arc<str>>,
    /// Where the columns stand today that the text knows, in its order, which is that of a list of aliases; none of one that has gone.
    pub(super) places: Vec<Option<usize>>,
}

impl ColumnsThen {
    fn of(noted: &[StoredColumn], today: &[(u16, Arc<str>)]) -> ColumnsThen {
        let places: HashMap<u16, usize> = today.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        let then: HashMap<u16, &Arc<str>> = noted.iter().map(|then| (then.id, &then.name)).collect();
        let name =
            |(id, name): &(u16, Arc<str>)| then.get(id).map_or_else(|| later(name), |then| Arc::clone(then));
        ColumnsThen {
            names: today.iter().map(name).collect(),
            places: noted.iter().map(|then| places.get(&then.id).copied()).collect(),
        }
    }

    /// The columns of a view: none of them goes, and those that come stand behind the others.
    pub(super) fn of_view(known: Vec<Arc<str>>, view: &ViewDef) -> ColumnsThen {
        let places = (0..known.len()).map(Some).collect();
        let later = view.columns.iter().skip(known.len()).map(|column| later(&column.name));
        ColumnsThen { names: known.iter().cloned().chain(later).collect(), places }
    }

    /// Whether the columns stand in the order that the text knows.
    pub(super) fn is_in_order(&self) -> bool {
        self.places.iter().flatten().is_sorted()
    }

    /// The same of the columns that the text knows and nothing else, in its order.
    pub(super) fn only_known(&self) -> (Vec<usize>, ColumnsThen) {
        let known: Vec<usize> = self.places.iter().flatten().copied().collect();
        let names = known.iter().map(|at| Arc::clone(&self.names[*at])).collect();
        let mut next = 0..;
        let places = self.places.iter().map(|at| at.and_then(|_| next.next())).collect();
        (known, ColumnsThen { names, places })
    }
}

/// The functions whose rows a plan has beside each other, be they numbered, and how many columns each has.
pub(super) fn calls_in(plan: &Plan) -> Vec<(&SetCall, usize)> {
    match plan {
        Plan::FunctionScan { call, columns } => vec![(call, columns.len())],
        Plan::ProjectSet { calls, .. } => calls.iter().map(|one| (&one.call, one.columns.len())).collect(),
        _ => Vec::new(),
    }
}

pub(super) fn parsed(text: &str) -> Result<Query, SqlError> {
    match verso_parser::parse_kept_script(text)?.into_iter().next().map(|parsed| parsed.statement) {
        Some(syntax::Statement::Query(query)) => Ok(query),
        _ => Err(SqlError::internal("a view without a query")),
    }
}

/// The columns of each table that a query uses.
fn used_columns(plan: Plan) -> Result<BTreeMap<Oid, BTreeSet<u16>>, SqlError> {
    let mut statement = Statement::Query(plan);
    let rules = Rules { narrow: true, ..Rules::NONE };
    crate::rewrite::statement(&mut statement, Planning { rules, ..Planning::default() })?;
    Ok(read_columns(&mut statement))
}

/// The columns of each table that a statement reads.
fn read_columns(statement: &mut Statement) -> BTreeMap<Oid, BTreeSet<u16>> {
    let mut used: BTreeMap<Oid, BTreeSet<u16>> = BTreeMap::new();
    let mut visit = |part: &Plan| {
        if let Plan::TableScan { table, columns, .. } | Plan::IndexScan { table, columns, .. } = part {
            // behind them stand the places of records that are locked or sampled
            let ids = columns.iter().filter_map(|column| Some(table.columns.get(*column)?.id));
            used.entry(table.oid).or_default().extend(ids);
        }
        false
    };
    let (plans, exprs) = statement.parts_mut();
    for plan in plans {
        plan.any(&mut visit);
    }
    for expr in exprs {
        expr.any(&mut |part| {
            if let ExprKind::Subquery { plan, .. } = &part.kind {
                plan.any(&mut visit);
            }
            false
        });
    }
    used
}

/// A body of SQL's own (`RETURN …`, `BEGIN ATOMIC … END`), with what its names mean now.
///
/// # Errors
/// Those of binding it.
pub fn function_body(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<StoredBody, SqlError> {
    let noting = Noting::default();
    // Its plan is no measure of what it uses: a change reads all of its rows.
    bind_noting(function, catalog, time_zone, &noting)?;
    // Places in `RETURN e` are those of the query that it stands for.
    let returned = verso_parser::returned_query(&function.body)?;
    let mut query =
        noting.into_query(catalog, (returned.as_deref().unwrap_or(&function.body), 0), &BTreeMap::new());
    if returned.is_some() {
        query.text = query.text.replacen("SELECT", "RETURN", 1).into();
    }
    Ok(StoredBody { name: Arc::clone(&function.name), query })
}

/// The primary keys, as indexes, without which a body of SQL's own would be none: a query in it has columns that they determine.
///
/// # Errors
/// Those of binding it.
pub fn keys_of_body(
    function: &FunctionDef,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<BTreeSet<Oid>, SqlError> {
    let noting = Noting::default();
    bind_kept_noting(function, catalog, time_zone, &noting)?;
    Ok(noting.keys.into_inner())
}

/// The first columns of a plan.
fn first_columns(plan: Plan, count: usize) -> Plan {
    let output = plan.output();
    if output.len() <= count {
        return plan;
    }
    let kept = output.into_iter().take(count).enumerate();
    let (exprs, names) = kept.map(|(at, column)| (TypedExpr::column(at, column.seen()), column.name)).unzip();
    Plan::Project { input: Box::new(plan), exprs, names }
}
