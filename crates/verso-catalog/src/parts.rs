//! Which relation a constraint, a trigger or a policy is on, by its number.
//!
//! Definitions of parts stand in those of their relations, so that a number alone does not lead to them. The table that does
//! is made when a version of the catalog is asked for it first, in one walk over its relations, and goes with that version.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::definition::Oid;
use crate::snapshot::{CatalogSnapshot, Relation};

/// The relations of parts, once somebody has asked for one.
#[derive(Debug, Default)]
pub(crate) struct Owners(OnceLock<HashMap<Oid, Oid>>);

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

impl CatalogSnapshot {
    /// The relation of the constraint, trigger or policy with this number.
    pub fn owner_of_part(&self, part: Oid) -> Option<&Relation> {
        let owners = self.contents().owners.0.get_or_init(|| {
            let mut owners = HashMap::new();
            for relation in self.relations() {
                let own = relation.oid();
                if let Relation::Table(table) = relation {
                    owners.extend(table.constraints.iter().map(|constraint| (constraint.oid, own)));
                }
                owners.extend(relation.triggers().iter().map(|trigger| (trigger.oid, own)));
            }
            owners.extend(self.all_policies().map(|policy| (policy.oid, policy.table)));
            owners
        });
        self.relation_by_oid(*owners.get(&part)?)
    }
}
