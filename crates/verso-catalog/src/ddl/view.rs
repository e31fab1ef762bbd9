//! CREATE VIEW, ALTER VIEW, DROP VIEW.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_storage::page::ObjectId;
use verso_types::SqlType;

use super::claim::{Taking, conflict, made_of};
use super::needing::{Lost, Needing};
use super::{persistence, target_schema};
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, Oid, TableOptions, ViewDef};
use crate::error::{CatalogError, ObjectKind};
use crate::request::NewView;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::stored::StoredQuery;
use crate::system::assemble::{attribute_row, class_row, options_row};
use crate::system::field::{Letter, Name};
use crate::system::row::{
    AttributeRow, ClassRow, DefaultRow, DependRow, ProcRow, RewriteRow, SystemRow, TypeRow,
};
use crate::system::{DEPENDS_INTERNAL, DEPENDS_NORMAL, KIND_VIEW};

impl Catalog {
    /// Makes a view, or with `replace` gives an existing one another query.
    ///
    /// # Errors
    /// `Exists`, `WrongKind`, `Missing` (the schema), `SystemObject`, `InvalidDefinition` (42P16: a replaced view would lose
    /// or change columns); storage's, of which `Conflict` says that another transaction changed what it relies on.
    pub fn create_view(&self, txn: &mut Txn, new: &NewView, replace: bool) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        let mut made = self.hold_relations(txn, &snapshot, &new.query)?;
        new.columns.iter().for_each(|column| made_of(column.declared(), &mut made));
        self.hold_made(txn, made)?;
        match snapshot.relation(Some(&schema.name), &new.name) {
            Some(Relation::View(view)) if replace => {
                self.lock_view(txn, view)?;
                check_columns(view, &new.columns)?;
                self.check_same(txn, &snapshot, [view.oid])?;
                self.change(txn, |txn| self.replace_view(txn, view, new))?;
                return Ok(view.oid);
            }
            Some(_) if replace => {
                return Err(CatalogError::WrongKind { kind: ObjectKind::View, name: new.name.to_string() });
            }
            Some(_) => return Err(CatalogError::exists(ObjectKind::View, &*new.name)),
            None => super::table::refuse_type_of_name(&snapshot, &schema, &new.name)?,
        }
        self.hold_schema(txn, &schema)?;
        if !self.take_name(txn, &schema.name, &new.name, Taking::Both)? {
            return Err(CatalogError::exists(ObjectKind::View, &*new.name));
        }
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        self.change(txn, |txn| {
            let class = class_row(oid, &new.name, schema.oid, ObjectId(0), KIND_VIEW, new.columns.len());
            let class = ClassRow {
                reloptions: options_row(&new.options),
                relpersistence: persistence(&schema),
                ..class
            };
            self.insert_rows(txn, &[class])?;
            self.insert_view_columns(txn, oid, &new.columns)?;
            self.insert_rule(txn, oid, &new.query)
        })?;
        Ok(oid)
    }

    /// Keeps others from changing a view, and from making something of it, until the transaction ends.
    ///
    /// # Errors
    /// `Conflict` where it is no longer as it was seen.
    fn lock_view(&self, txn: &mut Txn, view: &ViewDef) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        if snapshot.view_by_oid(view.oid).is_none_or(|known| known.columns != view.columns) {
            return Err(conflict());
        }
        self.lock_made(txn, &snapshot, view.oid)
    }

    /// The relations that a query names stay as they are until what keeps the query is there; yields the types that it names,
    /// which are to be held, too.
    pub(super) fn hold_relations(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        query: &StoredQuery,
    ) -> Result<BTreeSet<Oid>, CatalogError> {
        for relation in &query.relations {
            if let Some(table) = snapshot.table_by_oid(relation.relation) {
                self.lock_definition(txn, &table, snapshot, verso_storage::TableLockMode::AccessShare)?;
            }
        }
        let types = query.types.iter().map(|(_, ty)| *ty);
        let user = types.filter_map(|ty| snapshot.type_or_row_by_oid(ty)).map(|ty| ty.oid);
        Ok(user.filter(|oid| snapshot.user_type(*oid).is_some()).collect())
    }

    fn replace_view(&self, txn: &mut Txn, view: &ViewDef, new: &NewView) -> Result<(), CatalogError> {
        let columns = i16::try_from(new.columns.len()).expect("the number of columns was checked");
        self.update_rows(
            txn,
            view.oid,
            |row: &ClassRow| row.oid == view.oid,
            |row| {
                row.relnatts = columns;
                row.reloptions = options_row(&new.options);
            },
        )?;
        self.insert_view_columns(txn, view.oid, &new.columns[view.columns.len()..])?;
        self.remove_rule(txn, view.oid)?;
        self.insert_rule(txn, view.oid, &new.query)
    }

    fn insert_view_columns(
        &self,
        txn: &mut Txn,
        view: Oid,
        columns: &[ColumnDef],
    ) -> Result<(), CatalogError> {
        let rows: Vec<AttributeRow> = columns.iter().map(|column| attribute_row(view, column)).collect();
        self.insert_rows(txn, &rows)?;
        self.write_collations(txn, view, columns)
    }

    /// Writes what a view shows, and what that needs.
    pub(super) fn insert_rule(
        &self,
        txn: &mut Txn,
        view: Oid,
        query: &StoredQuery,
    ) -> Result<(), CatalogError> {
        let oid = self.new_oid()?;
        let rule = RewriteRow {
            oid,
            rulename: Name("_RETURN".into()),
            ev_class: view,
            ev_type: Letter('1'),
            ev_enabled: Letter('O'),
            is_instead: true,
            ev_qual: "<>".into(),
            ev_action: Arc::clone(&query.text),
            ev_names: query.notes(),
        };
        self.insert_rows(txn, &[rule])?;
        let link = |table: Oid, object: Oid, column: i32, kind: char| DependRow {
            classid: RewriteRow::TABLE.oid,
            objid: oid,
            objsubid: 0,
            refclassid: table,
            refobjid: object,
            refobjsubid: column,
            deptype: Letter(kind),
        };
        let mut links = vec![link(ClassRow::TABLE.oid, view, 0, DEPENDS_INTERNAL)];
        for relation in &query.relations {
            let used: Vec<i32> =
                relation.columns.iter().filter(|c| c.used).map(|c| i32::from(c.id)).collect();
            let used = if used.is_empty() { vec![0] } else { used };
            for column in used {
                let one = link(ClassRow::TABLE.oid, relation.relation, column, DEPENDS_NORMAL);
                if !links.contains(&one) {
                    links.push(one);
                }
            }
        }
        for (_, function) in &query.functions {
            links.push(link(ProcRow::TABLE.oid, *function, 0, DEPENDS_NORMAL));
        }
        for (_, ty) in &query.types {
            links.push(link(TypeRow::TABLE.oid, *ty, 0, DEPENDS_NORMAL));
        }
        self.insert_rows(txn, &links)
    }

    pub(super) fn remove_rule(&self, txn: &mut Txn, view: Oid) -> Result<(), CatalogError> {
        self.remove_objects(txn, view, |row: &RewriteRow| row.ev_class == view).map(drop)
    }

    /// Removes a view's rows; the change has begun.
    pub(super) fn remove_view(&self, txn: &mut Txn, view: &ViewDef) -> Result<(), CatalogError> {
        if self.remove_objects(txn, view.oid, |row: &ClassRow| row.oid == view.oid)?.is_empty() {
            return Err(CatalogError::missing(ObjectKind::View, &*view.name));
        }
        self.removes(txn, view.oid)?;
        self.delete_rows(txn, view.oid, |row: &AttributeRow| row.attrelid == view.oid)?;
        self.remove_objects(txn, view.oid, |row: &DefaultRow| row.adrelid == view.oid)?;
        self.remove_collated(txn, view.oid)?;
        self.remove_triggers(txn, view.oid)?;
        self.remove_rule(txn, view.oid)
    }

    /// Drops views; with `cascade` also those that show them. What went along, in PostgreSQL's words.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`, `Needed`; storage's.
    pub fn drop_views(
        &self,
        txn: &mut Txn,
        views: &[Arc<ViewDef>],
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let lost: Vec<Lost> = views.iter().map(|view| Lost::Relation(view.oid)).collect();
        let needing = Needing::of(&snapshot, &lost);
        if !cascade {
            needing.refuse(&snapshot)?;
        }
        self.claim_gone(txn, &snapshot, views.iter().map(|view| view.oid))?;
        match needing.is_empty() {
            true => self.check_same(txn, &snapshot, views.iter().map(|view| view.oid))?,
            // What goes along is needed by others in turn.
            false => self.check_newest(txn, &snapshot)?,
        }
        self.change(txn, |txn| {
            self.remove_needing(txn, &snapshot, &needing)?;
            views.iter().try_for_each(|view| self.remove_view(txn, view))
        })?;
        Ok(needing.names(&snapshot))
    }

    /// Gives a column of a view another name.
    ///
    /// # Errors
    /// `InvalidDefinition` (42701, 42703); storage's.
    pub fn rename_view_column(
        &self,
        txn: &mut Txn,
        view: &ViewDef,
        column: &str,
        to: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let Some(column) = view.columns.iter().find(|known| *known.name == *column) else {
            let text = format!("column \"{column}\" does not exist");
            return Err(CatalogError::invalid("42703", text));
        };
        if view.columns.iter().any(|known| known.name == *to) {
            let text = format!("column \"{to}\" of relation \"{}\" already exists", view.name);
            return Err(CatalogError::invalid("42701", text));
        }
        let number = i32::from(column.id);
        self.lock_view(txn, view)?;
        self.change(txn, |txn| {
            let is_it = |row: &AttributeRow| row.attrelid == view.oid && i32::from(row.attnum) == number;
            self.update_rows(txn, view.oid, is_it, |row| row.attname = Name(Arc::clone(to))).map(drop)
        })
    }

    /// Sets what INSERT into a view puts into a column that it does not name, as SQL text; or takes it away.
    ///
    /// # Errors
    /// `InvalidDefinition` (42703); storage's.
    pub fn set_view_default(
        &self,
        txn: &mut Txn,
        view: &ViewDef,
        column: &str,
        default: Option<&Arc<str>>,
    ) -> Result<(), CatalogError> {
        self.lock_view(txn, view)?;
        self.change(txn, |txn| self.set_default(txn, &view.as_table(), column, default))
    }

    /// Gives a view other options.
    ///
    /// # Errors
    /// Storage's.
    pub fn set_view_options(
        &self,
        txn: &mut Txn,
        view: &ViewDef,
        options: &TableOptions,
    ) -> Result<(), CatalogError> {
        self.lock_view(txn, view)?;
        self.change(txn, |txn| {
            let is_it = |row: &ClassRow| row.oid == view.oid;
            self.update_rows(txn, view.oid, is_it, |row| row.reloptions = options_row(options)).map(drop)
        })
    }
}

/// Whether the columns of a replaced view stay as they are; new ones may come behind them.
fn check_columns(view: &ViewDef, new: &[ColumnDef]) -> Result<(), CatalogError> {
    let refuse = |text: String| Err(CatalogError::invalid("42P16", text));
    if new.len() < view.columns.len() {
        return refuse("cannot drop columns from view".to_string());
    }
    for (old, new) in view.columns.iter().zip(new) {
        if old.name != new.name {
            let text = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            let hint = "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(CatalogError::invalid("42P16", text).with_hint(hint));
        }
        let (was, is) = (old.declared(), new.declared());
        if was.uncollated() != is.uncollated() {
            return refuse(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                was.pg_name(),
                is.pg_name()
            ));
        }
        let collation = |ty: &SqlType| match ty {
            SqlType::Collated(collated) => collated.collation.name.to_string(),
            _ => "default".to_string(),
        };
        if was != is {
            let (was, is) = (collation(was), collation(is));
            let text =
                format!("cannot change collation of view column \"{}\" from \"{was}\" to \"{is}\"", old.name);
            return refuse(text);
        }
    }
    Ok(())
}
