//! Enum types, domains, range types and composite types as statements, and how columns name them.
//!
//! T1. Rows hold the *places* of labels, so a type that is made again must give its labels the same ones. It is made empty, and
//!     its labels are added in the order in which they were added before, each beside the same neighbour; what comes of that is
//!     worked out when the archive is written, and a type for which it differs is refused.
//! T2. A table in the archive says which labels it needs at which places; who puts its rows anywhere compares them.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionReturn, Oid, TypeDef, is_temporary};
use verso_types::{DomainType, EnumLabel, EnumType, NewPlace, SqlType};

use super::needs::Finder;
use super::parts::{collate, literal, name, qualified, step};
use super::{Dialect, Selection};
use crate::archive::contents::{Kind, LabelOf, Step};
use crate::error::BackupError;

/// The type of a column as SQL spells it; a user's with its schema.
pub(crate) fn type_text(ty: &SqlType) -> String {
    match ty {
        SqlType::Enum(ty) => qualified(&ty.schema, &ty.name),
        SqlType::Domain(domain) => qualified(&domain.schema, &domain.name),
        SqlType::Row(row) if let Some(of) = &row.of => qualified(&of.schema, &of.name),
        SqlType::Range(of) if let Some(own) = of.own_name(false) => qualified(&own.schema, &own.name),
        SqlType::Multirange(of) if let Some(own) = of.own_name(true) => qualified(&own.schema, &own.name),
        SqlType::Array(element) => match **element {
            SqlType::Enum(_)
            | SqlType::Domain(_)
            | SqlType::Row(_)
            | SqlType::Range(_)
            | SqlType::Multirange(_) => format!("{}[]", type_text(element)),
            _ => ty.to_string(),
        },
        other => other.to_string(),
    }
}

/// The labels of a column's type and their places, of a composite type those of its fields; none for a type without.
pub(crate) fn labels_of(ty: &SqlType) -> Vec<LabelOf> {
    match ty {
        SqlType::Enum(ty) => ty
            .labels
            .iter()
            .map(|label| LabelOf { name: label.name.to_string(), place: label.place })
            .collect(),
        SqlType::Array(element) => labels_of(element),
        SqlType::Range(of) | SqlType::Multirange(of) => labels_of(&of.subtype()),
        SqlType::Row(row) => row.fields.iter().flat_map(|(_, ty)| labels_of(ty)).collect(),
        _ => Vec::new(),
    }
}

/// The types of users that are saved: all, or those that chosen tables need.
pub(super) fn wanted<'c>(
    catalog: &'c CatalogSnapshot,
    selection: &Selection,
    needed: &[SqlType],
) -> Vec<&'c Arc<TypeDef>> {
    let is_needed = |ty: &TypeDef| needed.iter().any(|one| uses(one, &ty.ty));
    let mut types: Vec<_> = catalog
        .types()
        .filter(|ty| !is_temporary(&ty.schema) && !ty.is_of_extension())
        .filter(|ty| selection.is_all() || is_needed(ty))
        .collect();
    types.sort_by_key(|ty| ty.oid);
    types
}

/// The statements that make these types.
pub(super) fn steps_of(types: Vec<&Arc<TypeDef>>, dialect: Dialect) -> Result<Vec<Step>, BackupError> {
    let mut steps = Vec::new();
    for ty in types {
        if let SqlType::Row(row) = &ty.ty {
            let fields: Vec<String> = row
                .as_written()
                .map(|(field, ty)| format!("{} {}{}", name(field), type_text(ty), collate(ty)))
                .collect();
            let place = qualified(&ty.schema, &ty.name);
            steps.push(step(Kind::Type, format!("CREATE TYPE {place} AS ({})", fields.join(", "))));
        }
        if let SqlType::Domain(domain) = &ty.ty {
            steps.push(step(Kind::Type, domain_text(domain)));
        }
        if let SqlType::Range(of) = &ty.ty
            && let Some(multi) = of.own_name(true)
        {
            let place = qualified(&ty.schema, &ty.name);
            let multi = qualified(&multi.schema, &multi.name);
            let text = format!(
                "CREATE TYPE {place} AS RANGE (subtype = {}, multirange_type_name = {multi})",
                type_text(&of.subtype())
            );
            steps.push(step(Kind::Type, text));
        }
        let SqlType::Enum(known) = &ty.ty else { continue };
        let texts = match dialect {
            Dialect::Verso => grown(known)?,
            Dialect::Postgres => {
                let labels: Vec<String> = known.labels.iter().map(|label| literal(&label.name)).collect();
                vec![format!(
                    "CREATE TYPE {} AS ENUM ({})",
                    qualified(&ty.schema, &ty.name),
                    labels.join(", ")
                )]
            }
        };
        steps.extend(texts.into_iter().map(|sql| step(Kind::Type, sql)));
    }
    Ok(steps)
}

/// What gives the functions that came with a range type their names and schemas: these stay when the type gets others.
pub(super) fn renamed_constructors(catalog: &CatalogSnapshot, ty: &TypeDef) -> Vec<Step> {
    let SqlType::Range(of) = &ty.ty else { return Vec::new() };
    let (Some(range), Some(multi)) = (of.own_name(false), of.own_name(true)) else { return Vec::new() };
    let mut constructors: Vec<_> = catalog
        .all_functions()
        .filter(|function| function.is_range_constructor() && function.makes(&ty.ty))
        .collect();
    constructors.sort_by_key(|function| function.oid);
    let mut steps = Vec::new();
    for function in constructors {
        let FunctionReturn::Scalar(result) = &function.returns else { continue };
        let made = if matches!(result, SqlType::Multirange(_)) { multi } else { range };
        let arguments: Vec<String> = function.inputs().map(|arg| type_text(&arg.ty)).collect();
        let arguments = arguments.join(", ");
        if function.name != made.name {
            let place = qualified(&made.schema, &made.name);
            let text = format!("ALTER FUNCTION {place}({arguments}) RENAME TO {}", name(&function.name));
            steps.push(step(Kind::Type, text));
        }
        if function.schema != made.schema {
            let place = qualified(&made.schema, &function.name);
            let text = format!("ALTER FUNCTION {place}({arguments}) SET SCHEMA {}", name(&function.schema));
            steps.push(step(Kind::Type, text));
        }
    }
    steps
}

/// Is a type the other one, made of it, or over it?
fn uses(ty: &SqlType, other: &SqlType) -> bool {
    ty == other
        || match ty {
            SqlType::Domain(domain) => uses(&domain.base, other),
            SqlType::Array(element) => uses(element, other),
            SqlType::Range(of) => uses(&of.subtype(), other),
            // Made with its range type.
            SqlType::Multirange(of) => uses(&of.clone().ty(false), other),
            SqlType::Row(row) => row.as_declared().any(|(_, ty)| uses(ty, other)),
            _ => false,
        }
}

/// Whether a type, or something that it is made of, was declared with a collation.
pub(super) fn has_collation(ty: &SqlType, oid: u32) -> bool {
    match ty {
        SqlType::Collated(collated) => collated.collation.oid == oid,
        SqlType::Domain(domain) => has_collation(&domain.base, oid),
        SqlType::Array(element) => has_collation(element, oid),
        SqlType::Range(of) | SqlType::Multirange(of) => has_collation(&of.subtype(), oid),
        SqlType::Row(row) => row.as_written().any(|(_, ty)| has_collation(ty, oid)),
        _ => false,
    }
}

/// CREATE DOMAIN without what may call functions, which are made behind the types.
fn domain_text(domain: &DomainType) -> String {
    let place = qualified(&domain.schema, &domain.name);
    let mut text = format!("CREATE DOMAIN {place} AS {}", type_text(&domain.base));
    text.push_str(&super::parts::collate(&domain.base));
    if domain.not_null {
        text.push_str(&format!(" CONSTRAINT {} NOT NULL", name(&domain.not_null_name)));
    }
    text
}

/// The default and the conditions of a domain: each as the catalog has it, and the statement.
pub(super) fn domain_parts<'d>(finder: &Finder, domain: &'d DomainType) -> Vec<(&'d str, String)> {
    let alter = format!("ALTER DOMAIN {}", qualified(&domain.schema, &domain.name));
    let mut parts = Vec::new();
    if let Some(default) = &domain.default {
        parts.push((&**default, format!("{alter} SET DEFAULT {}", finder.text(Oid(domain.oid), default))));
    }
    for check in &domain.checks {
        let valid = if check.validated { "" } else { " NOT VALID" };
        let (named, condition) = (name(&check.name), finder.text(Oid(domain.oid), &check.expression));
        let text = format!("{alter} ADD CONSTRAINT {named} CHECK ({condition}){valid}");
        parts.push((&*check.expression, text));
    }
    parts
}

/// CREATE TYPE with the labels that it was made with, as far as that can be told, and ADD VALUE for the others (T1).
fn grown(known: &EnumType) -> Result<Vec<String>, BackupError> {
    let place = qualified(&known.schema, &known.name);
    let mut by_age: Vec<&EnumLabel> = known.labels.iter().collect();
    by_age.sort_by_key(|label| label.oid);
    let mut made = EnumType {
        oid: known.oid,
        array: known.array,
        schema: known.schema.clone(),
        name: known.name.clone(),
        labels: Vec::new(),
    };
    let first =
        by_age.iter().enumerate().take_while(|(n, label)| label.place == EnumType::initial_place(*n)).count();
    let names: Vec<String> = by_age[..first].iter().map(|label| literal(&label.name)).collect();
    let mut texts = vec![format!("CREATE TYPE {place} AS ENUM ({})", names.join(", "))];
    made.labels.extend(by_age[..first].iter().map(|label| (*label).clone()));
    for label in &by_age[first..] {
        let behind = made.labels.partition_point(|other| other.place < label.place);
        let next = made.labels.get(behind).map(|label| label.name.clone());
        let (at, text) = match &next {
            Some(next) => (NewPlace::Before(next), format!(" BEFORE {}", literal(next))),
            None => (NewPlace::Last, String::new()),
        };
        if made.new_place(at) != Some(label.place) {
            let text =
                format!("the labels of type {place} cannot be added again in the order that they have");
            return Err(BackupError::Refused(text));
        }
        texts.push(format!("ALTER TYPE {place} ADD VALUE {}{text}", literal(&label.name)));
        made.labels.insert(behind, (*label).clone());
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(oid: u32, place: i64, name: &str) -> EnumLabel {
        EnumLabel { oid, place, name: name.into() }
    }

    fn mood(labels: Vec<EnumLabel>) -> EnumType {
        EnumType { oid: 9, array: 8, schema: "s".into(), name: "Mood".into(), labels }
    }

    #[test]
    fn labels_are_added_again_in_the_order_in_which_they_came() {
        let (one, two) = (EnumType::initial_place(0), EnumType::initial_place(1));
        let between = one + (two - one) / 2;
        let first = one - EnumType::initial_place(0);
        let texts = grown(&mood(vec![
            label(14, first, "least"),
            label(10, one, "sad"),
            label(12, between, "it's ok"),
            label(11, two, "happy"),
            label(13, EnumType::initial_place(2), "great"),
        ]));
        assert_eq!(
            texts.expect("statements"),
            [
                "CREATE TYPE s.\"Mood\" AS ENUM ('sad', 'happy')",
                "ALTER TYPE s.\"Mood\" ADD VALUE 'it''s ok' BEFORE 'happy'",
                "ALTER TYPE s.\"Mood\" ADD VALUE 'great'",
                "ALTER TYPE s.\"Mood\" ADD VALUE 'least' BEFORE 'sad'",
            ]
        );
    }

    #[test]
    fn a_type_that_cannot_come_to_the_same_places_is_refused() {
        assert!(grown(&mood(vec![label(10, EnumType::initial_place(0), "a"), label(11, 7, "b")])).is_err());
    }
}
