//! What is made before the rows, and the views and what needs them behind the rows, each behind what it needs.
//!
//! ```text
//! before:  types, sequences, functions, operators, casts, tables and their parts, in the order of their needs
//! after:   views, and the functions, operators and casts over them, in the order of their needs
//! ```
//!
//! O1. A table comes whole where it can; a default or CHECK that needs what comes behind its table is given to it later.
//! O2. A view that something before the rows needs is made twice, as `pg_dump` does: first with its columns and nothing in them, for
//!     it may read what is made behind the rows, then as it is. So are views that read themselves, be it by way of others, as CREATE OR
//!     REPLACE VIEW lets them. A materialized view cannot be replaced: it is made without rows, and
//!     filled behind those of the tables.
//! O3. Functions, operators and casts that need a view come behind the rows with the views, unless something before needs them.
//!     So do functions whose bodies are bound when they are made and read tables: ON CONFLICT and GROUP BY may ask for a key.
//! O4. Functions whose bodies are bound when they are made and that call each other, or themselves, are made twice, as views are: first
//!     with a body that names nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, ConstraintKind, FunctionDef, IndexDef, NOWHERE, Oid, SequenceDef, TableDef, TypeDef,
    ViewDef, has_other_columns, has_other_names, is_temporary,
};
use verso_types::SqlType;
use versodb::Error;

use super::needs::{Needs, rows_in};
use super::parts::{self, bounds, name, qualified, unlogged};
use super::queue::{self, Pending, Waiting};
use super::{Maker, is_own, made, owned, owning_column, partitions, types, uses, view_text};
use crate::archive::contents::Kind;
use crate::error::BackupError;

/// What is made.
#[derive(Clone)]
pub(super) enum Object {
    Type(Arc<TypeDef>),
    Sequence(Arc<SequenceDef>),
    /// That of a column of this table.
    OwnedSequence(Arc<SequenceDef>, Arc<TableDef>),
    Function(Arc<FunctionDef>),
    /// The body of one that was made without it (O4).
    Body(Arc<FunctionDef>),
    /// Its place among the operators, or casts.
    Operator(usize),
    Cast(usize),
    Table(Arc<TableDef>),
    /// A default or condition, as a statement; of a domain or of a table.
    Part(Option<Arc<TableDef>>, String),
    /// The columns of a view.
    Hollow(Arc<ViewDef>),
    /// A materialized view without rows.
    Unfilled(Arc<ViewDef>),
    /// A view as it is.
    View(Arc<ViewDef>),
}

impl Object {
    /// Whether it may come behind the rows where nothing before needs it (O3).
    fn can_wait(&self) -> bool {
        matches!(self, Object::Function(_) | Object::Operator(_) | Object::Cast(_))
    }

    fn is_view(&self) -> bool {
        matches!(self, Object::Hollow(_) | Object::Unfilled(_))
    }

    /// Whether it is a function that may need the keys of tables when it is made (O3).
    fn may_need_keys(&self) -> bool {
        let Object::Function(function) = self else { return false };
        function
            .stored
            .as_ref()
            .is_some_and(|stored| stored.query.relations.iter().any(|relation| relation.place != NOWHERE))
    }
}

/// Which defaults and conditions of a table come later (O1).
#[derive(Default)]
pub(super) struct Later {
    /// Columns by number.
    defaults: HashSet<u16>,
    /// Constraints by number.
    checks: HashSet<Oid>,
}

impl Later {
    pub fn has_default(&self, column: u16) -> bool {
        self.defaults.contains(&column)
    }

    pub fn has_check(&self, constraint: Oid) -> bool {
        self.checks.contains(&constraint)
    }
}

type All = Vec<Waiting<Object>>;

impl Maker<'_, '_> {
    // ── before the rows ──────────────────────────────────────────────────────────────────────────────────────────

    /// Types, sequences, functions and tables.
    pub(super) fn objects_before(&mut self, tables: &[Arc<TableDef>]) -> Result<(), BackupError> {
        let catalog = Arc::clone(self.source.catalog);
        let all = self.source.selection.is_all();
        let mut objects = self.types(tables);
        let free = catalog.sequences().filter(|sequence| {
            !sequence.oid.is_system() && !is_temporary(&sequence.schema) && sequence.owned_by.is_none()
        });
        let free = free.filter(|sequence| all || tables.iter().any(|table| uses(table, sequence)));
        objects.extend(free.map(|sequence| {
            Waiting::new(Object::Sequence(Arc::clone(sequence)), [sequence.oid], Needs::new())
        }));
        if all {
            objects.extend(self.callable());
        }
        self.parts_of_domains(&mut objects);
        for table in partitions::wholes_first(tables) {
            objects.push(self.waiting_table(&table, tables)?);
            for sequence in owned(&catalog, &table) {
                let is_made_with_it = owning_column(&table, sequence)
                    .is_none_or(|it| it.identity.is_some() && catalog.identity_of(sequence).is_some());
                if !is_made_with_it {
                    let what = Object::OwnedSequence(Arc::clone(sequence), Arc::clone(&table));
                    objects.push(Waiting::new(what, [sequence.oid], Needs::from([table.oid])));
                }
            }
        }
        if all {
            objects.extend(self.views_for_others());
        }
        let (now, later) = self.before_and_behind(objects, tables);
        self.behind = later;
        self.refuse_rows_of_others(&now, tables)?;
        queue::run(now, |object, pending| self.make(object, pending, tables))
    }

    /// The types that are wanted; arrays and multiranges come with others.
    fn types(&mut self, tables: &[Arc<TableDef>]) -> All {
        let catalog = Arc::clone(self.source.catalog);
        let columns = tables.iter().flat_map(|table| table.shown());
        let element = |ty: &SqlType| match ty {
            SqlType::Array(element) => (**element).clone(),
            other => other.clone(),
        };
        let needed: Vec<SqlType> = columns.map(|column| element(column.declared().uncollated())).collect();
        let wanted = types::wanted(&catalog, self.source.selection, &needed);
        self.made.extend(wanted.iter().map(|ty| ty.oid));
        let own = wanted.into_iter().filter(|ty| !matches!(ty.ty, SqlType::Multirange(_)));
        own.map(|ty| Waiting::new(Object::Type(Arc::clone(ty)), [ty.oid], self.finder.of_definition(ty)))
            .collect()
    }

    /// Functions, operators and casts of users.
    fn callable(&self) -> All {
        let catalog = self.source.catalog;
        let mut functions: Vec<_> = catalog.all_functions().filter(|function| is_own(function)).collect();
        functions.sort_by_key(|function| function.oid);
        let mut all: All = Vec::new();
        for function in functions {
            all.push(Waiting {
                loose: self.finder.of_body(function),
                ..Waiting::new(
                    Object::Function(Arc::clone(function)),
                    [function.oid],
                    self.finder.of_function(function),
                )
            });
        }
        for (place, operator) in catalog.operators().iter().enumerate() {
            if !is_temporary(&operator.schema) {
                let needs = self.finder.of_operator(operator);
                all.push(Waiting::new(Object::Operator(place), [operator.oid], needs));
            }
        }
        for (place, cast) in catalog.casts().iter().enumerate() {
            all.push(Waiting::new(Object::Cast(place), [cast.oid], self.finder.of_cast(cast)));
        }
        all
    }

    /// The defaults and conditions of the domains among these: they may call functions over what is made of the domain.
    fn parts_of_domains(&self, objects: &mut All) {
        let mut found = Vec::new();
        for one in objects.iter() {
            let Object::Type(ty) = &one.what else { continue };
            let SqlType::Domain(domain) = &ty.ty else { continue };
            for (text, sql) in types::domain_parts(&self.finder, domain) {
                let mut needs = Needs::from([ty.oid]);
                self.finder.of_text(text, &mut needs);
                found.push(Waiting::new(Object::Part(None, sql), [], needs));
            }
        }
        objects.append(&mut found);
    }

    fn waiting_table(
        &self,
        table: &Arc<TableDef>,
        tables: &[Arc<TableDef>],
    ) -> Result<Waiting<Object>, BackupError> {
        let (mut needs, mut loose) = (Needs::new(), Needs::new());
        for column in table.shown() {
            self.finder.of_type(column.declared(), &mut needs);
            let of_default = self.finder.of_default(column);
            if column.generated {
                needs.extend(of_default)
            } else {
                loose.extend(of_default)
            };
        }
        for constraint in &table.constraints {
            if let (ConstraintKind::Check { expression }, true) = (&constraint.kind, constraint.validated) {
                self.finder.of_text(expression, &mut loose);
            }
        }
        let key = table.columns.iter().filter(|column| column.is_hidden() && table.is_divided_by(column.id));
        key.for_each(|column| needs.extend(self.finder.of_default(column)));
        needs.extend(partitions::whole_of(table, tables).map(|whole| whole.oid));
        let mut makes = vec![table.oid];
        for sequence in owned(self.source.catalog, table) {
            match self.source.catalog.identity_of(sequence) {
                Some(_) => makes.push(sequence.oid),
                // It needs its table.
                None => drop(loose.remove(&sequence.oid)),
            }
        }
        for own in &makes {
            needs.remove(own);
            loose.remove(own);
        }
        Ok(Waiting { what: Object::Table(Arc::clone(table)), makes, needs, loose })
    }

    /// Views as others need them before the rows (O2).
    fn views_for_others(&self) -> All {
        let catalog = self.source.catalog;
        let waiting = |view: Arc<ViewDef>| {
            let oid = view.oid;
            match is_materialized(catalog, oid) {
                true => Waiting::new(Object::Unfilled(Arc::clone(&view)), [oid], self.finder.of_view(&view)),
                false => {
                    Waiting::new(Object::Hollow(Arc::clone(&view)), [oid], self.finder.of_columns(&view))
                }
            }
        };
        views(catalog).into_iter().map(waiting).collect()
    }

    /// Divides them: what comes before the rows, and what can wait (O2, O3).
    fn before_and_behind(&self, objects: All, tables: &[Arc<TableDef>]) -> (All, All) {
        let makers: HashMap<Oid, usize> = objects
            .iter()
            .enumerate()
            .flat_map(|(at, one)| one.makes.iter().map(move |oid| (*oid, at)))
            .collect();
        let needed = |at: usize| {
            objects[at].needs.iter().chain(&objects[at].loose).filter_map(|oid| makers.get(oid).copied())
        };
        // Whom a view leads to is found from the views backwards.
        let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); objects.len()];
        for at in 0..objects.len() {
            needed(at).for_each(|other| needed_by[other].push(at));
        }
        let behind =
            (0..objects.len()).filter(|at| objects[*at].what.is_view() || objects[*at].what.may_need_keys());
        let over_them = reached(behind, objects.len(), |at| needed_by[at].clone());
        let is_free =
            |at: usize| !(objects[at].what.is_view() || objects[at].what.can_wait() && over_them[at]);
        let of_indexes = tables.iter().flat_map(|table| self.finder.of_indexes(table));
        let roots: Vec<usize> = (0..objects.len())
            .filter(|at| is_free(*at))
            .chain(of_indexes.filter_map(|oid| makers.get(&oid).copied()))
            .collect();
        let before = reached(roots.into_iter(), objects.len(), |at| needed(at).collect());
        let (mut now, mut behind) = (Vec::new(), Vec::new());
        for (one, is_before) in objects.into_iter().zip(before) {
            match is_before {
                true => now.push(one),
                false if !one.what.is_view() => behind.push(one),
                false => {}
            }
        }
        (now, behind)
    }

    /// Tables and types have to be made of the rows of what is saved with them.
    fn refuse_rows_of_others(&self, now: &All, tables: &[Arc<TableDef>]) -> Result<(), BackupError> {
        let made: HashSet<Oid> = now.iter().flat_map(|one| one.makes.iter().copied()).collect();
        let refuse = |what: String| {
            let text = "is made of the rows of a table or view that is not saved with it";
            Err(BackupError::Refused(format!("{what} {text}")))
        };
        let is_lost = |ty: &SqlType| rows_in(ty).iter().any(|oid| !made.contains(oid));
        for table in tables {
            if table.shown().iter().any(|column| is_lost(column.declared())) {
                return refuse(format!("table {}.{}", table.schema, table.name));
            }
        }
        for one in now {
            if let Object::Type(ty) = &one.what
                && is_lost(&ty.ty)
            {
                return refuse(format!("type {}.{}", ty.schema, ty.name));
            }
        }
        Ok(())
    }

    // ── behind the rows ──────────────────────────────────────────────────────────────────────────────────────────

    /// Views, those that are there already as they are, and what needs them.
    pub(super) fn objects_behind(&mut self, tables: &[Arc<TableDef>]) -> Result<(), BackupError> {
        let mut objects = Vec::new();
        for view in views(self.source.catalog) {
            let needs = self.finder.of_view(&view);
            let what = Object::View(Arc::clone(&view));
            let is_whole = is_materialized(self.source.catalog, view.oid) || self.there.contains(&view.oid);
            objects.push(match is_whole {
                true => Waiting::new(what, [view.oid], needs),
                // Its columns can be there before it reads anything (O2).
                false => {
                    Waiting { loose: needs, ..Waiting::new(what, [view.oid], self.finder.of_columns(&view)) }
                }
            });
        }
        objects.append(&mut self.behind);
        queue::run(objects, |object, pending| self.make(object, pending, tables))
    }

    // ── each of them ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Makes an object; gives its parts that have to come later.
    fn make(
        &mut self,
        object: Object,
        pending: &Pending,
        tables: &[Arc<TableDef>],
    ) -> Result<All, BackupError> {
        let catalog = Arc::clone(self.source.catalog);
        let is_behind = self.is_behind;
        let kind = if is_behind { Kind::View } else { Kind::Function };
        match object {
            Object::Type(ty) => {
                self.steps.append(&mut types::steps_of(vec![&ty], self.source.dialect)?);
                self.steps.append(&mut types::renamed_constructors(&catalog, &ty));
            }
            Object::Sequence(sequence) => {
                let text = sequence_text(&sequence);
                self.add(Kind::Sequence, None, text);
            }
            Object::OwnedSequence(sequence, table) => {
                let Some(column) = owning_column(&table, &sequence) else { return Ok(Vec::new()) };
                let (place, column) = (qualified(&table.schema, &table.name), name(&column.name));
                let text = format!("{} OWNED BY {place}.{column}", sequence_text(&sequence));
                self.add(Kind::Sequence, Some(&table), text);
            }
            Object::Function(function) => {
                let text = self.function_text(&function)?;
                let needs = self.finder.of_body(&function);
                if (!pending.has_none_of(&needs) || self.finder.calls_itself(&function))
                    && let Some(stub) = without_body(&text)
                {
                    self.add(kind, None, stub);
                    return Ok(vec![Waiting::new(Object::Body(function), [], needs)]);
                }
                self.add(kind, None, text);
            }
            Object::Body(function) => {
                let text = self.function_text(&function)?;
                self.add(kind, None, text);
            }
            Object::Operator(place) => {
                let text = made::operator(&catalog, &catalog.operators()[place]);
                text.into_iter().for_each(|text| self.add(kind, None, text));
            }
            Object::Cast(place) => {
                let text = made::cast(&catalog, &catalog.casts()[place]);
                text.into_iter().for_each(|text| self.add(kind, None, text));
            }
            Object::Table(table) => return self.make_table(&table, pending, tables),
            Object::Part(table, text) => {
                let kind = if table.is_some() { Kind::Default } else { Kind::Type };
                self.add(kind, table.as_deref(), text);
            }
            Object::Hollow(view) => {
                self.there.insert(view.oid);
                self.add(Kind::View, None, view_text::hollow(&view));
            }
            Object::Unfilled(view) => {
                self.there.insert(view.oid);
                let text = self.query_text(&view)?;
                let sql = view_text::statement(&catalog, &view, &text, view_text::As::Unfilled);
                self.add(Kind::View, None, sql);
            }
            Object::View(view) => {
                let needs = self.finder.of_view(&view);
                let is_early = view.query.names(view.oid) || !pending.has_none_of(&needs);
                if is_early && !is_materialized(&catalog, view.oid) && self.there.insert(view.oid) {
                    self.add(Kind::View, None, view_text::hollow(&view));
                    return Ok(vec![Waiting::new(Object::View(view), [], needs)]);
                }
                self.make_view(&view)?;
            }
        }
        Ok(Vec::new())
    }

    fn make_table(
        &mut self,
        table: &Arc<TableDef>,
        pending: &Pending,
        tables: &[Arc<TableDef>],
    ) -> Result<All, BackupError> {
        let place = qualified(&table.schema, &table.name);
        let (mut later, mut parts): (Later, All) = (Later::default(), Vec::new());
        // That of an identity column comes with the table.
        let own: Needs = owned(self.source.catalog, table).map(|sequence| sequence.oid).collect();
        let mut wait = |needs: Needs, text: String| {
            parts.push(Waiting::new(Object::Part(Some(Arc::clone(table)), text), [], needs));
        };
        for column in table.shown().iter().filter(|column| !column.generated && column.identity.is_none()) {
            let needs = self.finder.of_default(column);
            let is_there = pending.has_none_of(&needs) && needs.is_disjoint(&own);
            if let (Some(text), false) = (&column.default, is_there) {
                later.defaults.insert(column.id);
                let (column, text) = (name(&column.name), self.finder.text(table.oid, text));
                wait(needs, format!("ALTER TABLE {place} ALTER COLUMN {column} SET DEFAULT {text}"));
            }
        }
        for constraint in &table.constraints {
            let ConstraintKind::Check { expression } = &constraint.kind else { continue };
            let mut needs = Needs::new();
            self.finder.of_text(expression, &mut needs);
            if !constraint.validated || pending.has_none_of(&needs) {
                continue;
            }
            later.checks.insert(constraint.oid);
            // The whole table gives its own to its partitions.
            let whole = partitions::whole_of(table, tables);
            if whole.is_none_or(|whole| whole.constraint(&constraint.name).is_none()) {
                let check = parts::check_text(&self.finder, constraint, expression);
                wait(needs, format!("ALTER TABLE {place} ADD {check}"));
            }
        }
        let texts = partitions::table_texts(self, table, tables, &later);
        for (n, sql) in texts.into_iter().enumerate() {
            self.add(Kind::Table, Some(table), sql);
            if n > 0 {
                self.with_other(partitions::whole_of(table, tables).map(|whole| &**whole));
            }
        }
        Ok(parts)
    }

    fn function_text(&mut self, function: &FunctionDef) -> Result<String, BackupError> {
        let text = match function.is_aggregate() {
            true => {
                let arguments = self.ask("pg_get_function_arguments", function.oid)?;
                let damaged = || Error::new("XX001", format!("aggregate {} is damaged", function.name));
                made::aggregate(self.source.catalog, function, &arguments).ok_or_else(damaged)?
            }
            false => self.ask("pg_get_functiondef", function.oid)?,
        };
        Ok(text.trim_end().to_owned())
    }

    /// The query of a view: as it was given, with the names of today. Over relations that have other columns or names by now, it is
    /// spelled anew, as only so rows as a whole are of the relation's type again; and where only casts say which function is meant.
    fn query_text(&mut self, view: &ViewDef) -> Result<String, BackupError> {
        let plain = !self.finder.meanings.of_query_need_casts(&view.query);
        let catalog = self.source.catalog;
        if plain && !has_other_columns(catalog, view) && !has_other_names(catalog, view) {
            return Ok(verso_catalog::view_text(catalog, view));
        }
        let text = self.ask("pg_get_viewdef", view.oid)?;
        Ok(text.trim().trim_end_matches(';').to_owned())
    }

    /// A view, with its indexes if it is materialized.
    fn make_view(&mut self, view: &ViewDef) -> Result<(), BackupError> {
        let catalog = Arc::clone(self.source.catalog);
        let materialized = catalog.table_by_oid(view.oid).and_then(|table| table.materialized.clone());
        let is_there = self.there.contains(&view.oid);
        match materialized {
            Some(it) if is_there => {
                if it.populated {
                    let place = qualified(&view.schema, &view.name);
                    self.add(Kind::View, None, format!("REFRESH MATERIALIZED VIEW {place}"));
                }
            }
            _ => {
                let text = self.query_text(view)?;
                let filled = materialized.as_ref().is_some_and(|it| it.populated);
                // What it calls is run along the path that the database has.
                let later = filled && self.finder.meanings.is_taken(&text);
                let form = match () {
                    () if is_there => view_text::As::Replacement,
                    () if later => view_text::As::Unfilled,
                    () => view_text::As::Own,
                };
                self.add(Kind::View, None, view_text::statement(&catalog, view, &text, form));
                if later {
                    let place = qualified(&view.schema, &view.name);
                    self.add(Kind::View, None, format!("REFRESH MATERIALIZED VIEW {place}"));
                }
                for column in &view.columns {
                    let Some(default) = column.default.as_deref().filter(|_| materialized.is_none()) else {
                        continue;
                    };
                    let (place, column) = (qualified(&view.schema, &view.name), name(&column.name));
                    let text = self.finder.text(view.oid, default);
                    let sql = format!("ALTER VIEW {place} ALTER COLUMN {column} SET DEFAULT {text}");
                    self.add(Kind::View, None, sql);
                }
            }
        }
        let table = catalog.table_by_oid(view.oid);
        let indexes: Vec<Arc<IndexDef>> =
            table.iter().flat_map(|table| table.all_indexes()).cloned().collect();
        for index in indexes {
            let sql = self.ask("pg_get_indexdef", index.oid)?;
            self.add(Kind::View, None, sql);
        }
        match &table {
            Some(table) => self.extended(table, None),
            None => Ok(()),
        }
    }
}

/// The users' views by name.
pub(super) fn views(catalog: &CatalogSnapshot) -> Vec<Arc<ViewDef>> {
    let own = |view: &Arc<ViewDef>| !view.oid.is_system() && !is_temporary(&view.schema);
    let mut all: Vec<Arc<ViewDef>> = catalog.all_views().filter(own).collect();
    all.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    all
}

fn is_materialized(catalog: &CatalogSnapshot, oid: Oid) -> bool {
    catalog.table_by_oid(oid).is_some()
}

fn sequence_text(sequence: &SequenceDef) -> String {
    let (unlogged, place) = (unlogged(sequence.unlogged), qualified(&sequence.schema, &sequence.name));
    format!("CREATE {unlogged}SEQUENCE {place}{}", bounds(&sequence.bounds, true))
}

/// The statement that makes a function whose body is SQL's own with another body, of which nobody asks while bodies given as texts are not
/// checked (O4); none for other functions.
fn without_body(text: &str) -> Option<String> {
    let language = "\n LANGUAGE sql";
    let from = text.find(language)? + language.len();
    let at = ["\nRETURN ", "\nBEGIN ATOMIC"].iter().filter_map(|word| text[from..].find(word)).min()?;
    Some(format!("{}\nAS 'SELECT NULL'", &text[..from + at]))
}

/// Which of so many can be reached from these, themselves too.
fn reached(
    from: impl Iterator<Item = usize>,
    count: usize,
    leads_to: impl Fn(usize) -> Vec<usize>,
) -> Vec<bool> {
    let mut seen = vec![false; count];
    let mut open: Vec<usize> = from.collect();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            open.extend(leads_to(at));
        }
    }
    seen
}
