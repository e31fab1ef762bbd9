//! What needs objects that are to go together (DROP OWNED) and is none of them; what goes along with a column or a constraint.

use std::sync::Arc;

use super::collation::{CollationUse, collation_uses};
use super::constraint::relying_on;
use super::needing::{Lost, Needing, each_once, named, shown, shown_type};
use super::schema::{Contents, contents_of};
use super::table::{Reference, references_from_outside};
use super::types::TypeUses;
use crate::definition::{ColumnDef, ConstraintDef, Oid, SchemaDef, TableDef, TypeDef};
use crate::rights::Object;
use crate::snapshot::CatalogSnapshot;

/// What stays and needs some of these objects, in PostgreSQL's words and order: each by itself, and with what it needs.
///
/// Objects that need one another are no hindrance to each other.
pub fn needing_together(
    snapshot: &CatalogSnapshot,
    objects: &[Object],
    others: &[Lost],
) -> (Vec<String>, Vec<String>) {
    let mut needing = together(snapshot, objects, others);
    let operators = others.iter().filter_map(|other| snapshot.operator_by_oid(other.place().0));
    needing.leave(&operators.cloned().collect::<Vec<_>>(), &[]);
    (needing.names(snapshot), needing.lines(snapshot))
}

/// What goes along with a schema under CASCADE, what is in it and what needs that, in PostgreSQL's words: each by itself, and with what it
/// needs.
pub fn going_with_schema(snapshot: &CatalogSnapshot, schema: &SchemaDef) -> (Vec<String>, Vec<String>) {
    let contents = Contents::of(snapshot, schema);
    let own = contents.names(snapshot);
    let mut needing = together(snapshot, &contents.objects(), &contents.others());
    needing.leave(&contents.own_operators(), &[]);
    let lines = own.iter().map(|one| format!("{one} depends on schema {}", schema.name));
    let lines = each_once(lines.chain(needing.lines(snapshot)));
    let held = needing.held().map(str::to_string).collect::<Vec<_>>();
    (each_once(own.iter().cloned().chain(held).chain(needing.names(snapshot))), lines)
}

/// All that goes with a schema under CASCADE and that others may need.
pub fn lost_with_schema(snapshot: &CatalogSnapshot, schema: &SchemaDef) -> Vec<Lost> {
    Contents::of(snapshot, schema).lost()
}

/// What stays and needs some of these objects, or of these others.
fn together(snapshot: &CatalogSnapshot, objects: &[Object], others: &[Lost]) -> Needing {
    let mut objects: Vec<(Oid, Object)> =
        objects.iter().filter_map(|object| Some((number(*object)?, *object))).collect();
    // As PostgreSQL goes through them.
    objects.sort_unstable_by(|a, b| b.cmp(a));
    objects.dedup();
    let goes = |oid: Oid| objects.iter().any(|(known, _)| *known == oid);
    let lost = objects.iter().map(|(oid, object)| lost(*oid, *object)).chain(others.iter().copied());
    let mut lost: Vec<Lost> = lost.collect();
    lost.sort_by_key(|one| std::cmp::Reverse(one.place().0));
    let types: Vec<Arc<TypeDef>> = snapshot.types().filter(|ty| goes(ty.oid)).map(Arc::clone).collect();
    let going: Vec<Oid> = types.iter().map(|ty| ty.oid).collect();
    let mut needing = Needing::beside(snapshot, &lost, &going);
    let tables: Vec<Arc<TableDef>> = objects
        .iter()
        .filter_map(|(oid, _)| snapshot.table_by_oid(*oid))
        .flat_map(|one| one.with_partitions())
        .collect();
    let stays = |oid: Oid| !goes(oid) && tables.iter().all(|table| table.oid != oid);
    let references = references_from_outside(snapshot, &tables).into_iter();
    needing.note(references.map(|reference| {
        let Reference { constraint, name, referenced } = reference;
        (constraint.oid, name, Lost::Relation(referenced))
    }));
    for ty in &types {
        let uses = TypeUses::of(snapshot, ty);
        let what = Lost::Type(ty.oid);
        let columns = uses.columns.iter().rev().filter(|(table, _)| stays(*table));
        needing.note(
            columns.map(|(table, column)| (*table, named(snapshot, Lost::Column(*table, *column)), what)),
        );
        let tables = uses.tables.iter().filter(|table| stays(**table));
        needing.note(tables.map(|table| (*table, named(snapshot, Lost::Relation(*table)), what)));
        let domains = uses.domains.iter().filter(|domain| stays(**domain));
        needing.note(domains.map(|domain| (*domain, named(snapshot, Lost::Type(*domain)), what)));
        let fields = uses.fields.iter().filter(|(of, _)| stays(*of));
        needing.note(fields.map(|(of, field)| {
            let holder = snapshot.user_type(*of).map(|ty| shown_type(snapshot, ty)).unwrap_or_default();
            (*of, format!("column {field} of composite type {holder}"), what)
        }));
    }
    for (oid, object) in &objects {
        match object {
            Object::Function(function) => {
                let function = *function;
                let naming = snapshot.naming(function);
                let outside = naming.relations().filter(|relation| stays(relation.oid()));
                let calls = outside.flat_map(move |relation| {
                    let word = if relation.as_view().is_some() { "view" } else { "table" };
                    let its = relation.triggers().iter();
                    let its =
                        its.filter(move |trigger| trigger.function == function && trigger.part_of == Oid(0));
                    its.map(move |trigger| {
                        let name =
                            format!("trigger {} on {word} {}", trigger.name, shown(snapshot, relation));
                        (trigger.oid, name, Lost::Function(function))
                    })
                });
                needing.note(calls);
            }
            Object::Schema(_) => {
                if let Some(schema) = snapshot.schemas().find(|schema| schema.oid == *oid) {
                    let within = contents_of(snapshot, schema).into_iter();
                    let goes_too = |oid: Oid| others.iter().any(|other| other.place().0 == oid);
                    let within = within.filter(|(one, _)| stays(*one) && !goes_too(*one));
                    needing.note(within.map(|(one, name)| (one, name, Lost::Schema(*oid))));
                }
            }
            _ => {}
        }
    }
    for collation in others.iter().filter_map(|other| snapshot.collation_by_oid(other.place().0.0)) {
        let what = Lost::Other(collation.oid());
        let is_outside = |one: &CollationUse| match one {
            CollationUse::Column(table, _) | CollationUse::Check(table, _) | CollationUse::Key(table) => {
                stays(*table)
            }
            CollationUse::Domain(oid) | CollationUse::View(oid) => stays(*oid),
            CollationUse::Index(oid) => snapshot.owner_of_part(*oid).is_none_or(|table| stays(table.oid())),
        };
        let uses = collation_uses(snapshot, &collation.collation).into_iter();
        needing.note(uses.filter(|(one, _)| is_outside(one)).map(|(_, name)| (collation.oid(), name, what)));
    }
    needing
}

/// What goes along with a column under CASCADE, in PostgreSQL's words and order: not its own indexes and constraints.
pub fn going_with_column(snapshot: &CatalogSnapshot, table: &TableDef, column: &ColumnDef) -> Vec<String> {
    needing_column(snapshot, table, column).names(snapshot)
}

/// What needs a column.
pub(super) fn needing_column(snapshot: &CatalogSnapshot, table: &TableDef, column: &ColumnDef) -> Needing {
    let lost = Lost::Column(table.oid, column.id);
    let mut needing = Needing::of(snapshot, &[lost]);
    let generated = table.generated_from(&column.name).filter(|other| !other.is_hidden());
    needing
        .note(generated.map(|other| (table.oid, named(snapshot, Lost::Column(table.oid, other.id)), lost)));
    let on = |what: String| format!("{what} on {}", named(snapshot, Lost::Relation(table.oid)));
    let triggers = table.triggers.iter().filter(|trigger| trigger.names(column));
    needing.note(triggers.map(|one| (one.oid, on(format!("trigger {}", one.name)), lost)));
    let keys = table.all_indexes().filter(|index| index.columns().any(|id| id == column.id));
    needing.note(
        keys.flat_map(|index| keys_over(snapshot, table, index.oid)).map(|(oid, key)| (oid, key, lost)),
    );
    needing
}

/// What goes along with a constraint under CASCADE: the foreign keys that rely on its index.
pub fn going_with_constraint(
    snapshot: &CatalogSnapshot,
    table: &TableDef,
    constraint: &ConstraintDef,
) -> Vec<String> {
    let keys = constraint.kind.own_index().into_iter().flat_map(|index| keys_over(snapshot, table, index));
    let mut keys: Vec<(Oid, String)> = keys.collect();
    keys.sort();
    keys.into_iter().map(|(_, key)| key).collect()
}

/// The foreign keys of other tables that rely on an index; parts go with the whole.
fn keys_over(snapshot: &CatalogSnapshot, table: &TableDef, index: Oid) -> Vec<(Oid, String)> {
    let keys = relying_on(table, index).into_iter().filter(|key| key.part_of.is_none());
    let name = |key: Arc<ConstraintDef>| {
        let text = format!("constraint {} on {}", key.name, named(snapshot, Lost::Relation(key.table)));
        (key.oid, text)
    };
    keys.map(name).collect()
}

/// What is dropped by its own number.
fn number(object: Object) -> Option<Oid> {
    match object {
        Object::Relation(oid) | Object::Function(oid) | Object::Type(oid) | Object::Schema(oid) => Some(oid),
        Object::Column(..)
        | Object::Language(_)
        | Object::Database
        | Object::Parameter(_)
        | Object::Tablespace(_) => None,
    }
}

fn lost(oid: Oid, object: Object) -> Lost {
    match object {
        Object::Function(_) => Lost::Function(oid),
        Object::Type(_) => Lost::Type(oid),
        Object::Schema(_) => Lost::Schema(oid),
        _ => Lost::Relation(oid),
    }
}
