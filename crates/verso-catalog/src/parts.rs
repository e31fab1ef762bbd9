//! Which relation a constraint, a trigger, a policy, a rule or a default is on, by its number; which relation is in an object of
//! storage; which extensions indexes use.
//!
//! Definitions of parts stand in those of their relations, so that a number alone does not lead to them. The tables that do
//! are made when a version of the catalog is asked for it first, in one walk over its relations, and go with that version.

use std::collections::HashMap;
use std::sync::OnceLock;

use verso_storage::page::ObjectId;

use crate::definition::Oid;
use crate::extensions::extensions_used;
use crate::snapshot::{CatalogSnapshot, Relation};

/// The relations of parts, once somebody has asked for one.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    parts: OnceLock<OfParts>,
    /// The relation whose rows, entries or value are in each object of storage.
    objects: OnceLock<HashMap<ObjectId, Oid>>,
    /// The extensions whose operator classes indexes have.
    extensions: OnceLock<Vec<&'static str>>,
}

/// The relation of each part.
#[derive(Debug, Default)]
struct OfParts {
    /// Of constraints, triggers and policies.
    parts: HashMap<Oid, Oid>,
    /// Of the rules that views and materialized views are.
    rules: HashMap<Oid, Oid>,
    /// Of defaults, which have numbers of another sequence: the table and the column.
    defaults: HashMap<u32, (Oid, u16)>,
}

/// A copy is the beginning of another version.
impl Clone for Owners {
    fn clone(&self) -> Owners {
        Owners::default()
    }
}

/// They say nothing that the relations do not say.
impl PartialEq for Owners {
    fn eq(&self, _: &Owners) -> bool {
        true
    }
}

/// The number of the default of a column: unique among them, as a table has 1,600 columns at most.
pub fn default_oid(table: Oid, column: u16) -> u32 {
    table.0.wrapping_mul(1600).wrapping_add(u32::from(column))
}

impl CatalogSnapshot {
    fn of_parts(&self) -> &OfParts {
        self.contents().owners.parts.get_or_init(|| {
            let mut of = OfParts::default();
            for relation in self.relations().filter(|relation| !relation.oid().is_system()) {
                let own = relation.oid();
                of.parts.extend(relation.triggers().iter().map(|trigger| (trigger.oid, own)));
                match relation {
                    Relation::Table(table) => {
                        of.parts.extend(table.constraints.iter().map(|constraint| (constraint.oid, own)));
                        of.rules.extend(table.materialized.as_ref().map(|view| (view.query.rule, own)));
                        let given = table.shown().iter().filter(|column| column.default.is_some());
                        let given = given.map(|column| (default_oid(own, column.id), (own, column.id)));
                        of.defaults.extend(given);
                    }
                    Relation::View(view) => {
                        of.rules.insert(view.query.rule, own);
                        let given = view.columns.iter().filter(|column| column.default.is_some());
                        let given = given.map(|column| (default_oid(own, column.id), (own, column.id)));
                        of.defaults.extend(given);
                    }
                    Relation::Index(_) | Relation::Sequence(_) => {}
                }
            }
            of.parts.extend(self.all_policies().map(|policy| (policy.oid, policy.table)));
            of
        })
    }

    /// The extensions whose operator classes indexes have, by name: looked for once in each version, as every look at a comment
    /// asks for them.
    pub fn extensions_used(&self) -> &[&'static str] {
        self.contents().owners.extensions.get_or_init(|| extensions_used(self.tables()))
    }

    /// The table, index or sequence that is in this object of storage.
    pub fn relation_of_object(&self, object: ObjectId) -> Option<&Relation> {
        let objects = self.contents().owners.objects.get_or_init(|| {
            let mut objects = HashMap::new();
            for relation in self.relations() {
                let object = match relation {
                    Relation::Table(table) => table.heap,
                    Relation::Index(index) => index.object,
                    Relation::Sequence(sequence) => sequence.object,
                    Relation::View(_) => continue,
                };
                objects.entry(object).or_insert(relation.oid());
            }
            objects
        });
        self.relation_by_oid(*objects.get(&object)?)
    }

    /// The relation of the constraint, trigger or policy with this number.
    pub fn owner_of_part(&self, part: Oid) -> Option<&Relation> {
        self.relation_by_oid(*self.of_parts().parts.get(&part)?)
    }

    /// The view or materialized view whose rule has this number.
    pub fn owner_of_rule(&self, rule: Oid) -> Option<&Relation> {
        self.relation_by_oid(*self.of_parts().rules.get(&rule)?)
    }

    /// The table or view and the column whose default has this number ([`default_oid`]).
    pub fn column_of_default(&self, number: u32) -> Option<(Oid, u16)> {
        self.of_parts().defaults.get(&number).copied()
    }
}
