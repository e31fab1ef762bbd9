//! Which kept texts may name a label of an enum type.
//!
//! The catalog keeps expressions and queries as texts, so a label that gets another name has to be looked for in all of them.
//! A text counts where a literal of it has the label (`'a'`, or within `'{a,b}'`, `'(a,1)'`) and where a value of the type is at
//! hand: by a column, an argument, or the name of a type, a function or a relation. That is more than really name it, so what is
//! found is told to the user and the change refused; bounds of partitions, whose types are known, follow the new name.

use std::sync::Arc;

use verso_storage::Txn;
use verso_types::{EnumType, RangeType, SqlType};

use super::needing::{shown, shown_type, view_name};
use super::types::array_name;
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, ConstraintKind, FunctionReturn, Oid, TableDef};
use crate::error::CatalogError;
use crate::partition::Bound;
use crate::partition::bound::{Datum, Edge};
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::system::row::InheritsRow;

/// Is a type this enum type, or are there values of it in its values?
fn holds(ty: &SqlType, oid: u32) -> bool {
    match ty {
        SqlType::Enum(ty) => ty.oid == oid,
        SqlType::Array(element) => holds(element, oid),
        SqlType::Domain(domain) => holds(&domain.base, oid),
        SqlType::Collated(collated) => holds(&collated.base, oid),
        SqlType::Range(RangeType::Own(own)) | SqlType::Multirange(RangeType::Own(own)) => {
            holds(&own.subtype, oid)
        }
        SqlType::Row(row) => row.fields.iter().any(|(_, ty)| holds(ty, oid)),
        _ => false,
    }
}

fn columns_of(relation: &Relation) -> &[ColumnDef] {
    match relation {
        Relation::Table(table) => &table.columns,
        Relation::View(view) => &view.columns,
        Relation::Sequence(_) | Relation::Index(_) => &[],
    }
}

/// Has a value of a literal this label, by itself or as a part of an array, a row or a range?
fn has_label(literal: &str, label: &str) -> bool {
    literal == label || (literal.starts_with(['{', '(', '[']) && literal.contains(label))
}

/// Looks for a label.
struct Search<'s> {
    snapshot: &'s CatalogSnapshot,
    oid: u32,
    label: &'s str,
    /// Types, functions and relations whose names bring values of the type into a text.
    names: Vec<Arc<str>>,
    found: Vec<String>,
}

impl Search<'_> {
    fn of_columns(&self, columns: &[ColumnDef]) -> bool {
        columns.iter().any(|column| holds(column.declared(), self.oid))
    }

    fn of_relation(&self, relation: Oid) -> bool {
        self.snapshot.relation_by_oid(relation).is_some_and(|one| self.of_columns(columns_of(one)))
    }

    /// May a text name the label, where a value of the type is `at_hand` or its names bring one?
    fn may_name(&self, text: &str, at_hand: impl FnOnce() -> bool) -> bool {
        // By the names of today, which are what is looked for.
        let text = &crate::kept::with_names(self.snapshot, text);
        verso_parser::literals(text).iter().any(|literal| has_label(literal, self.label))
            && (at_hand() || self.names.iter().any(|name| verso_parser::names(text, name)))
    }

    fn note(
        &mut self,
        text: Option<&str>,
        at_hand: impl FnOnce(&Self) -> bool,
        what: impl FnOnce() -> String,
    ) {
        if text.is_some_and(|text| self.may_name(text, || at_hand(self))) {
            self.found.push(what());
        }
    }

    fn collect_names(&mut self) {
        let (snapshot, oid) = (self.snapshot, self.oid);
        for ty in snapshot.types().filter(|one| holds(&one.ty, oid)) {
            self.names.extend([Arc::clone(&ty.name), array_name(&ty.name)]);
        }
        for function in snapshot.all_functions() {
            let result = match &function.returns {
                FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => holds(ty, oid),
                FunctionReturn::Table(columns) => columns.iter().any(|(_, ty)| holds(ty, oid)),
                FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => false,
            };
            if result || function.args.iter().any(|arg| holds(&arg.ty, oid)) {
                self.names.push(Arc::clone(&function.name));
            }
        }
        let relations = snapshot.relations().filter(|one| self.of_columns(columns_of(one)));
        let relations: Vec<Arc<str>> = relations.map(|one| Arc::clone(one.name())).collect();
        self.names.extend(relations);
    }

    fn in_table(&mut self, table: &TableDef, followed: &dyn Fn(Oid, u16) -> bool) {
        let named = || shown(self.snapshot, &Relation::Table(Arc::new(table.clone())));
        let place = named();
        let own = |search: &Self| search.of_columns(&table.columns);
        for column in table.columns.iter().filter(|column| !followed(table.oid, column.id)) {
            let index = || {
                let of_it = |index: &&Arc<crate::definition::IndexDef>| {
                    index.guard == Some(column.id) || index.columns().any(|id| id == column.id)
                };
                let index = table.all_indexes().find(of_it);
                index.map_or_else(
                    || format!("an index of table {place}"),
                    |index| format!("index {}", index.name),
                )
            };
            self.note(column.default.as_deref(), own, || match column.is_hidden() {
                true => index(),
                false if column.generated => format!("generated column {} of table {place}", column.name),
                false => format!("default value for column {} of table {place}", column.name),
            });
        }
        for constraint in &table.constraints {
            if let ConstraintKind::Check { expression } = &constraint.kind {
                let what = || format!("constraint {} on table {place}", constraint.name);
                self.note(Some(expression), own, what);
            }
        }
    }

    fn in_triggers(&mut self, relation: &Relation) {
        for trigger in relation.triggers() {
            let what = || format!("trigger {} on {}", trigger.name, relation.name());
            let own = |search: &Self| search.of_columns(columns_of(relation));
            let action = trigger.action.as_ref().map(|action| &*action.body);
            for text in [trigger.condition.as_deref(), action] {
                self.note(text, own, what);
            }
        }
    }

    fn everywhere(&mut self, followed: &dyn Fn(Oid, u16) -> bool) {
        let snapshot = self.snapshot;
        for table in snapshot.tables().filter(|table| !table.is_system()) {
            self.in_table(table, followed);
            if let Some(of) = &table.partition_of {
                let whole = snapshot.table_by_oid(of.parent).and_then(|whole| whole.partitioned.clone());
                let types = whole.map(|whole| whole.types).unwrap_or_default();
                if has_other(&of.bound, &types, self.oid, self.label) {
                    self.found.push(format!("the bound of partition {}", table.name));
                }
            }
        }
        snapshot.relations().for_each(|relation| self.in_triggers(relation));
        for view in snapshot.all_views() {
            let own =
                |search: &Self| view.query.relations.iter().any(|named| search.of_relation(named.relation));
            self.note(Some(&view.query.text), own, || view_name(snapshot, &view));
        }
        for policy in snapshot.all_policies() {
            for condition in policy.conditions() {
                let own = |search: &Self| {
                    let mut named = condition.query.relations.iter();
                    search.of_relation(policy.table) || named.any(|named| search.of_relation(named.relation))
                };
                self.note(Some(&condition.query.text), own, || format!("policy {}", policy.name));
            }
        }
        for ty in snapshot.types() {
            let SqlType::Domain(domain) = &ty.ty else { continue };
            let checks = domain.checks.iter().map(|check| &*check.expression);
            for text in domain.default.as_deref().into_iter().chain(checks) {
                let what = || format!("domain {}", shown_type(snapshot, ty));
                self.note(Some(text), |search| holds(&ty.ty, search.oid), what);
            }
        }
        for function in snapshot.all_functions() {
            let what = || format!("function {}", function.name);
            for arg in &function.args {
                self.note(arg.default.as_deref(), |search| holds(&arg.ty, search.oid), what);
            }
            if let Some(body) = &function.stored {
                let own = |search: &Self| {
                    body.query.relations.iter().any(|named| search.of_relation(named.relation))
                        || function.args.iter().any(|arg| holds(&arg.ty, search.oid))
                };
                self.note(Some(&body.query.text), own, what);
            }
        }
        self.found.dedup();
    }
}

/// What the catalog keeps as a text that may name a label; without the defaults of columns that `followed` says of.
pub fn label_holders(
    snapshot: &CatalogSnapshot,
    ty: &EnumType,
    label: &str,
    followed: &dyn Fn(Oid, u16) -> bool,
) -> Vec<String> {
    let mut search = Search { snapshot, oid: ty.oid, label, names: Vec::new(), found: Vec::new() };
    search.collect_names();
    search.everywhere(followed);
    search.found
}

/// The values of a bound, with the types of the key's columns.
fn datums<'b>(bound: &'b Bound, types: &'b [SqlType]) -> Vec<(&'b Datum, &'b SqlType)> {
    let at = |(edge, ty): (&'b Edge, &'b SqlType)| match edge {
        Edge::At(datum) => Some((datum, ty)),
        Edge::Min | Edge::Max => None,
    };
    match bound {
        Bound::List(values) => values.iter().zip(types.iter().cycle()).collect(),
        Bound::Range { from, to } => {
            from.iter().zip(types).chain(to.iter().zip(types)).filter_map(at).collect()
        }
        Bound::Default | Bound::Hash { .. } => Vec::new(),
    }
}

fn is_enum(ty: &SqlType, oid: u32) -> bool {
    matches!(ty.erased(), SqlType::Enum(ty) if ty.oid == oid)
}

/// Has a bound the label within a value of another type?
fn has_other(bound: &Bound, types: &[SqlType], oid: u32, label: &str) -> bool {
    datums(bound, types).into_iter().any(|(datum, ty)| {
        holds(ty, oid) && !is_enum(ty, oid) && datum.text.as_ref().is_some_and(|text| text.contains(label))
    })
}

/// A bound in which a label has another name; none where the label does not stand in it.
fn with_label(bound: &Bound, types: &[SqlType], oid: u32, from: &str, to: &Arc<str>) -> Option<Bound> {
    let is_it = |datum: &Datum, ty: &SqlType| is_enum(ty, oid) && datum.text.as_deref() == Some(from);
    if !datums(bound, types).into_iter().any(|(datum, ty)| is_it(datum, ty)) {
        return None;
    }
    let mut bound = bound.clone();
    let rename = |datum: &mut Datum, ty: &SqlType| {
        if is_it(datum, ty) {
            datum.text = Some(Arc::clone(to));
        }
    };
    match &mut bound {
        Bound::List(values) => {
            values.iter_mut().zip(types.iter().cycle()).for_each(|(one, ty)| rename(one, ty))
        }
        Bound::Range { from, to } => {
            for (edge, ty) in from.iter_mut().zip(types).chain(to.iter_mut().zip(types)) {
                if let Edge::At(datum) = edge {
                    rename(datum, ty);
                }
            }
        }
        Bound::Default | Bound::Hash { .. } => {}
    }
    Some(bound)
}

impl Catalog {
    /// Writes the bounds of partitions in which a label gets another name; the change has begun.
    pub(super) fn rename_in_bounds(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        ty: &EnumType,
        (from, to): (&str, &Arc<str>),
    ) -> Result<(), CatalogError> {
        for table in snapshot.tables() {
            let Some(of) = &table.partition_of else { continue };
            let Some(whole) = snapshot.table_by_oid(of.parent) else { continue };
            let Some(whole) = &whole.partitioned else { continue };
            let Some(bound) = with_label(&of.bound, &whole.types, ty.oid, from, to) else { continue };
            let own = |row: &InheritsRow| row.inhrelid == table.oid && !row.bound.is_empty();
            self.update_rows(txn, table.oid, own, |row| row.bound = bound.stored())?;
        }
        Ok(())
    }
}
