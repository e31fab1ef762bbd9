//! CREATE VIEW, ALTER VIEW.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, CatalogSnapshot, ColumnDef, ConstraintKind, FunctionDef, Lost, NewView, Object, ObjectKind,
    Oid, PolicyDef, Relation, StoredBody, TableDef, TableOptions, ViewDef, in_words, is_temporary,
    kept::names_constraint,
};
use verso_exec::functions::quote_ident;
use verso_types::SqlType;

use super::composite::refuse_pseudo;
use super::create_table::default_text;
use super::{Schema, options, text};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{
    AlterAction, AlterTable, CreateView, Expr, Name, QualifiedName, Statement, ViewStatement,
};
use verso_planner::bind::{Binder, keys_of_body, refuse_undetermined};
use verso_planner::errors::{SqlError, sqlstate};

/// What a constraint is needed for: columns that a primary key determines, or ON CONFLICT ON CONSTRAINT.
enum Needing {
    /// A view, or a materialized one.
    View(Arc<ViewDef>),
    /// A function whose body is SQL's own.
    Function(Arc<FunctionDef>),
    /// A policy of that table.
    Policy(Arc<PolicyDef>, Arc<TableDef>),
}

impl Needing {
    fn oid(&self) -> Oid {
        match self {
            Needing::View(view) => view.oid,
            Needing::Function(function) => function.oid,
            Needing::Policy(policy, _) => policy.oid,
        }
    }

    fn in_words(&self, catalog: &CatalogSnapshot) -> String {
        match self {
            Needing::View(view) => in_words(catalog, Lost::Relation(view.oid)),
            Needing::Function(function) => in_words(catalog, Lost::Function(function.oid)),
            Needing::Policy(policy, table) => {
                let table = in_words(catalog, Lost::Relation(table.oid));
                format!("policy {} on {table}", quote_ident(&policy.name))
            }
        }
    }
}

impl Schema<'_> {
    /// What needs a constraint is dropped along, or in the way of its end: views, functions and policies that group by the primary key
    /// that it is, and functions that name it. Whether there was anything.
    pub(super) fn release_constraint(
        &self,
        binder: &Binder<'_>,
        table: &TableDef,
        constraint: &Name,
        cascade: bool,
    ) -> Result<bool, Failure> {
        let catalog = self.frame.catalog;
        let Some(known) = table.constraint(&constraint.text) else { return Ok(false) };
        let key = match known.kind {
            ConstraintKind::Unique { primary: true, index, .. } => Some(index),
            _ => None,
        };
        let mut needing = match key {
            Some(key) => self.grouping_by(binder, table, key)?,
            None => Vec::new(),
        };
        for function in catalog.naming(table.oid).functions() {
            let names = |stored: &StoredBody| names_constraint(&stored.query.text, known.oid);
            // a body that groups by a key may name it, too
            if function.stored.as_deref().is_some_and(names)
                && !needing.iter().any(|one| one.oid() == function.oid)
            {
                needing.push(Needing::Function(Arc::clone(function)));
            }
        }
        if needing.is_empty() {
            return Ok(false);
        }
        needing.sort_by_key(Needing::oid);
        if !cascade {
            let what = format!("constraint {} on table {}", constraint.text, table.name);
            let line = |one: &Needing| format!("{} depends on {what}", one.in_words(catalog));
            let detail = needing.iter().map(line).collect::<Vec<_>>().join("\n");
            return Err(CatalogError::Needed { what, detail }.into());
        }
        let mut along = Vec::new();
        for one in &needing {
            along.push(one.in_words(catalog));
            along.extend(self.frame.inside(|frame| Schema { frame }.drop_needing(one))?);
        }
        self.tell_along(&along);
        Ok(true)
    }

    /// What has columns that a primary key of a table determines.
    fn grouping_by(&self, binder: &Binder<'_>, table: &TableDef, key: Oid) -> Result<Vec<Needing>, Failure> {
        let catalog = self.frame.catalog;
        let mut needing: Vec<Needing> = Vec::new();
        let naming = catalog.naming(table.oid);
        for view in naming.views().filter(|view| view.query.names(table.oid)) {
            if binder.keys_of(&view)?.contains(&key) {
                needing.push(Needing::View(view));
            }
        }
        let anybody = catalog.with_role(None);
        for function in naming.functions().filter(|function| function.stored.is_some()) {
            let time_zone = &self.frame.services.settings.time_zone;
            if keys_of_body(function, &anybody, time_zone)?.contains(&key) {
                needing.push(Needing::Function(Arc::clone(function)));
            }
        }
        for policy in catalog.all_policies() {
            let Some(own) = catalog.table_by_oid(policy.table) else { continue };
            for condition in policy.conditions().filter(|condition| condition.query.names(table.oid)) {
                if binder.keys_of_condition(condition, &own)?.contains(&key) {
                    needing.push(Needing::Policy(Arc::clone(policy), own));
                    break;
                }
            }
        }
        Ok(needing)
    }

    /// Drops what needs a constraint that goes, unless it has gone along with another one; what went along with it, in words.
    fn drop_needing(&self, one: &Needing) -> Result<Vec<String>, Failure> {
        let catalog = self.frame.catalog;
        let (store, txn) = (&self.frame.services.instance.catalog, &mut self.frame.txn.borrow_mut());
        let oid = one.oid();
        if let Needing::Policy(_, table) = one {
            if catalog.all_policies().any(|policy| policy.oid == oid) {
                store.drop_policy(txn, table, oid)?;
            }
            return Ok(Vec::new());
        }
        if let Some(table) = catalog.table_by_oid(oid) {
            return Ok(store.drop_tables(txn, &[table], true)?);
        }
        if let Some(view) = catalog.view_by_oid(oid) {
            return Ok(store.drop_views(txn, &[view], true)?);
        }
        match catalog.function_by_oid(oid) {
            Some(function) => Ok(store.drop_function(txn, function, true)?),
            None => Ok(Vec::new()),
        }
    }

    /// Runs a statement about views.
    pub(super) fn view(&self, binder: &Binder<'_>, statement: &ViewStatement) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        match statement {
            ViewStatement::Create(create) => self.create_view(binder, create),
            ViewStatement::CreateMaterialized(create) => self.create_materialized(binder, create),
            ViewStatement::Refresh { name, concurrently, with_data } => {
                self.refresh(name, *concurrently, *with_data)?;
                Ok(tag("REFRESH MATERIALIZED VIEW"))
            }
            ViewStatement::RenameColumn { name, column, to, if_exists } => {
                // As in PostgreSQL, it gives other names to columns of tables, materialized views and composite types, too.
                let relation = self.frame.catalog.relation(name.schema_text(), &name.name.text);
                if relation.is_some_and(|relation| !matches!(relation, Relation::View(_)))
                    || self.is_composite(name)
                {
                    let action = AlterAction::RenameColumn { column: column.clone(), to: to.clone() };
                    let alter = AlterTable {
                        name: name.clone(),
                        if_exists: *if_exists,
                        actions: vec![action],
                        materialized: false,
                        only: false,
                    };
                    return self.alter_table_quietly(&alter).map(|_| tag("ALTER VIEW"));
                }
                let Some(view) = self.view_to_change(name, *if_exists)? else { return Ok(tag("ALTER VIEW")) };
                let txn = &mut self.frame.txn.borrow_mut();
                catalog.rename_view_column(txn, &view, &column.text, &text(to))?;
                Ok(tag("ALTER VIEW"))
            }
            ViewStatement::Default { name, column, default, if_exists } => {
                let Some(view) = self.view_to_change(name, *if_exists)? else { return Ok(tag("ALTER VIEW")) };
                let default = default.as_ref().map(|(expr, text)| (expr, text.as_str()));
                self.view_default(binder, &view, column, default)?;
                Ok(tag("ALTER VIEW"))
            }
            ViewStatement::Options { name, options, if_exists } => {
                let Some(view) = self.view_to_change(name, *if_exists)? else { return Ok(tag("ALTER VIEW")) };
                let options = options.iter().map(|(name, value)| (name.as_str(), value.as_deref()));
                self.set_view_options(&view, options)?;
                Ok(tag("ALTER VIEW"))
            }
        }
    }

    /// Gives a view these options; one without a value goes.
    pub(super) fn set_view_options<'o>(
        &self,
        view: &ViewDef,
        options: impl Iterator<Item = (&'o str, Option<&'o str>)>,
    ) -> Result<(), Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let mut all = view.options.clone();
        for (name, value) in options {
            all.given.retain(|(known, _)| **known != *name);
            if let Some(value) = value {
                all.given.push((name.into(), value.into()));
            }
        }
        catalog.set_view_options(&mut self.frame.txn.borrow_mut(), view, &all)?;
        if all.get("check_option").is_some() {
            self.require_updatable(view.oid)?;
        }
        Ok(())
    }

    /// What INSERT into a view puts into a column that it does not name.
    pub(super) fn view_default(
        &self,
        binder: &Binder<'_>,
        view: &ViewDef,
        column: &Name,
        default: Option<(&Expr, &str)>,
    ) -> Result<(), Failure> {
        let known = view.columns.iter().find(|known| *known.name == *column.text);
        let kept: Option<Arc<str>> = match (default, known) {
            (Some((expr, text)), Some(known)) => {
                default_text(binder, (expr, text), &column.text, known.declared())?
            }
            _ => None,
        };
        let catalog = &self.frame.services.instance.catalog;
        catalog.set_view_default(&mut self.frame.txn.borrow_mut(), view, &column.text, kept.as_ref())?;
        Ok(())
    }

    fn create_view(&self, binder: &Binder<'_>, create: &CreateView) -> Result<CommandTag, Failure> {
        let CreateView { name, or_replace, columns: given, query, text, .. } = create;
        // For errors with their places; then by itself, with places in its own text.
        // What it reads is looked at when the view is read.
        let catalog = self.frame.catalog.with_role(None);
        let free = Binder::new(&catalog, &self.frame.services.settings.time_zone, &[]);
        free.unread().statement(&Statement::Query(query.clone()))?;
        let (query, output) = binder.view_query(text)?;
        let over_temporary = query.relations.iter().any(|relation| {
            let found = self.frame.catalog.relation_by_oid(relation.relation);
            found.is_some_and(|relation| is_temporary(relation.schema()))
        });
        let place =
            if create.temporary || over_temporary { self.temporary_place(name)? } else { self.place(name)? };
        if over_temporary && !create.temporary {
            self.skip(format!("view \"{}\" will be a temporary view", name.name.text));
        }
        if given.len() > output.len() {
            return Err(SqlError::syntax("CREATE VIEW specifies more column names than columns").into());
        }
        let mut columns: Vec<ColumnDef> = Vec::new();
        for (n, (own, ty)) in output.into_iter().enumerate() {
            let name: Arc<str> = given.get(n).map_or(own, |given| given.text.as_str().into());
            if columns.iter().any(|other| other.name == name) {
                let text = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).into());
            }
            let ty = if ty == SqlType::Unknown { SqlType::Text } else { ty };
            refuse_pseudo(&name, &ty)?;
            refuse_undetermined(&ty, &format!("view column \"{name}\""))?;
            let id = u16::try_from(n + 1).map_err(|_| CatalogError::TooManyColumns { limit: 1600 })?;
            columns.push(ColumnDef::new(name, id, ty));
        }
        if columns.len() > 1600 {
            return Err(CatalogError::TooManyColumns { limit: 1600 }.into());
        }
        let new = NewView {
            schema: place,
            name: super::text(&name.name),
            columns,
            query,
            options: view_options(create)?,
        };
        let checked = new.options.get("check_option").is_some();
        let catalog = &self.frame.services.instance.catalog;
        let known = self.frame.catalog.relation(Some(&new.schema), &new.name);
        if let (Some(known), true) = (known, *or_replace) {
            self.own_relation(known)?;
        }
        let is_new = known.is_none();
        let oid = catalog.create_view(&mut self.frame.txn.borrow_mut(), &new, *or_replace)?;
        if is_new {
            self.made(Object::Relation(oid), Some(&new.schema))?;
        }
        if checked {
            self.frame.inside(|frame| Schema { frame }.require_updatable(oid))?;
        }
        Ok(tag("CREATE VIEW"))
    }

    /// Refuses WITH CHECK OPTION of a view whose rows cannot be changed.
    fn require_updatable(&self, view: Oid) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let Some(view) = self.frame.catalog.view_by_oid(view) else { return Ok(()) };
        binder.updatable(&view).map_err(|error| {
            let text = "WITH CHECK OPTION is supported only on automatically updatable views";
            let refused = SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text);
            match error.detail {
                Some(why) => refused.with_hint(String::from(why)).into(),
                None => refused.into(),
            }
        })
    }

    /// The view of that name; none, with a notice, if it is missing and may be.
    fn view_to_change(&self, name: &QualifiedName, if_exists: bool) -> Result<Option<Arc<ViewDef>>, Failure> {
        let shown = &name.name.text;
        match self.frame.catalog.relation(name.schema_text(), shown) {
            Some(relation @ Relation::View(view)) => {
                self.own_relation(relation)?;
                Ok(Some(Arc::clone(view)))
            }
            Some(_) => Err(CatalogError::WrongKind { kind: ObjectKind::View, name: shown.clone() }.into()),
            None if if_exists => {
                self.skip(format!("relation \"{shown}\" does not exist, skipping"));
                Ok(None)
            }
            None => {
                self.refuse_composite(ObjectKind::View, name)?;
                Err(CatalogError::missing(ObjectKind::Relation, shown.as_str()).into())
            }
        }
    }
}

/// The options of a new view, WITH CHECK OPTION among them.
fn view_options(create: &CreateView) -> Result<TableOptions, SqlError> {
    let mut all = options(&create.options);
    if let Some(cascaded) = create.check {
        if all.get("check_option").is_some() {
            return Err(SqlError::syntax("parameter \"check_option\" specified more than once"));
        }
        let value = if cascaded { "cascaded" } else { "local" };
        all.given.push(("check_option".into(), value.into()));
    }
    Ok(all)
}
