//! Proves that what definitions name by number is there: part of `verso check`.
//!
//! ```text
//! table public.t  ─ CHECK ((a) OPERATOR("␀16440".===) (b)) ─► 16440?   the operator is gone: a problem
//! ```
//!
//! G1. Every number of a user's object in a definition, in its structure or in one of its texts, is that of an object that is
//!     there. A literal of a type like `regclass` may be any number, unless it is a sequence that a default takes numbers from.

use std::fmt;
use std::sync::Arc;

use super::CatalogSnapshot;
use super::naming::Named;
use crate::definition::Oid;
use crate::kept::{bare, objects_of, required_by};
use crate::row_type::relation_of;

/// A definition that names something which is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dangling {
    /// The definition, by its kind and name.
    pub definition: String,
    /// The number of what is not there.
    pub named: Oid,
    /// The text of the definition that names it; none where its structure does.
    pub text: Option<String>,
}

impl fmt::Display for Dangling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dangling { definition, named, text } = self;
        write!(out, "catalog: {definition} names object {named}, which is not there (rule G1)")?;
        match text {
            Some(text) => write!(out, ": {text}"),
            None => Ok(()),
        }
    }
}

impl CatalogSnapshot {
    /// What definitions name and is not there (G1). Costs a walk over all definitions and their texts.
    pub fn dangling(&self) -> Vec<Dangling> {
        let mut found = Vec::new();
        let path = |schema: &str, name: &str| format!("{schema}.{name}");
        for relation in self.relations().filter(|relation| !relation.oid().is_system()) {
            let definition = || format!("{} {}", relation.kind(), path(relation.schema(), relation.name()));
            self.look(Named::with_texts().relation(relation), definition, &mut found);
        }
        for function in self.all_functions() {
            let definition = || format!("function {}", path(&function.schema, &function.signature()));
            self.look(Named::with_texts().function(function), definition, &mut found);
        }
        for ty in self.types() {
            let definition = || format!("type {}", path(&ty.schema, &ty.name));
            self.look(Named::with_texts().definition_of_type(ty), definition, &mut found);
        }
        for policy in self.all_policies() {
            let table = self.relation_by_oid(policy.table);
            let table = table.map_or_else(|| policy.table.to_string(), |one| path(one.schema(), one.name()));
            let definition = || format!("policy {} of table {table}", policy.name);
            self.look(Named::with_texts().policy(policy), definition, &mut found);
        }
        for operator in self.operators() {
            let definition = || format!("operator {}", path(&operator.schema, &operator.name));
            self.look(Named::with_texts().operator(operator), definition, &mut found);
        }
        for cast in self.casts() {
            let name =
                |oid: Oid| self.type_by_oid(oid.0, -1).map_or_else(|| oid.to_string(), |ty| ty.to_string());
            let definition = || format!("cast from {} to {}", name(cast.source), name(cast.target));
            self.look(Named::with_texts().cast(cast), definition, &mut found);
        }
        found
    }

    fn look(&self, named: Named, definition: impl Fn() -> String, found: &mut Vec<Dangling>) {
        let (numbers, texts) = named.into_parts();
        // Types of extensions have numbers of the system: they go with the extension, as a whole.
        for oid in numbers.into_iter().filter(|oid| !oid.is_system() && !self.knows(*oid)) {
            let names = |text: &&Arc<str>| objects_of(text).into_iter().any(|one| relation_of(one) == oid);
            let requires =
                |text: &&Arc<str>| required_by(text).into_iter().any(|one| relation_of(one) == oid);
            let text = texts.iter().find(requires);
            if text.is_none() && texts.iter().any(|text| names(&text)) {
                continue;
            }
            found.push(Dangling { definition: definition(), named: oid, text: text.map(|text| bare(text)) });
        }
    }
}

#[cfg(test)]
mod tests {
    use verso_types::SqlType;

    use super::*;
    use crate::aggregate::Callee;
    use crate::definition::{ColumnDef, TableDef};
    use crate::kept::numbered;
    use crate::operator::OperatorDef;
    use crate::snapshot::PUBLIC;
    use verso_storage::page::ObjectId;

    fn table(oid: u32, name: &str, default: String) -> TableDef {
        let column = ColumnDef { default: Some(default.into()), ..ColumnDef::new("a", 1, SqlType::Int4) };
        TableDef::new(Oid(oid), PUBLIC, name, ObjectId(oid), vec![column])
    }

    #[test]
    fn what_is_named_and_gone_is_told_by_definition_and_text() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_table(table(16_500, "sound", "1".to_owned()));
        builder.add_table(table(16_501, "of_function", format!("{}f(1)", numbered(Oid(16_600)))));
        builder.add_table(table(16_502, "of_sequence", "nextval('16601'::regclass)".to_owned()));
        // Whatever number a client has written.
        builder.add_table(table(16_503, "of_literal", "('16602'::regclass)::oid".to_owned()));
        builder.add_operator(OperatorDef {
            oid: Oid(16_801),
            schema: PUBLIC.into(),
            name: "===".into(),
            owner: Oid(10),
            left: None,
            right: Oid(23),
            result: Oid(16),
            function: Callee::User(Oid(16_603)),
            commutator: None,
            negator: None,
            restrict: None,
            join: None,
            hashes: false,
            merges: false,
        });
        let found = builder.build().dangling();
        let told: Vec<(&str, u32, bool)> =
            found.iter().map(|one| (one.definition.as_str(), one.named.0, one.text.is_some())).collect();
        assert_eq!(
            told,
            [
                ("table public.of_function", 16_600, true),
                ("table public.of_sequence", 16_601, true),
                ("operator public.===", 16_603, false)
            ]
        );
        assert!(found[0].to_string().contains("which is not there (rule G1): f(1)"), "{}", found[0]);
    }
}
