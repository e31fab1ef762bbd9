//! Maintenance of the system's own relations, which keep themselves: statements that name them do nothing, as long as the role
//! may say so.

use verso_catalog::{RelationId, SystemRelation};

use super::Schema;
use verso_parser::syntax::QualifiedName;
use verso_planner::errors::{SqlError, sqlstate};

/// The system's relation of that name.
pub(crate) fn system_relation(name: &QualifiedName) -> Option<&'static SystemRelation> {
    let schema = name.schema_text().unwrap_or("pg_catalog");
    RelationId::find(schema, &name.name.text).map(RelationId::get)
}

/// What is said of a relation that VACUUM or ANALYZE leaves alone.
pub(crate) fn passed_over(name: &str, word: &str) -> String {
    format!("skipping \"{name}\" --- cannot {word} non-tables or special system tables")
}

impl Schema<'_> {
    /// Refuses REINDEX of one that the role may not maintain, and of a view.
    pub(super) fn keeps_itself(&self, system: &SystemRelation) -> Result<(), SqlError> {
        if system.kind != 'r' {
            let text = format!("\"{}\" is not a table or materialized view", system.name);
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
        }
        if self.may_maintain_system() {
            return Ok(());
        }
        let text = format!("permission denied for table {}", system.name);
        Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
    }

    /// Warns of one that a list of tables names, where there is something to say.
    pub(super) fn passes(&self, system: &SystemRelation, word: &str) {
        let notices = &self.frame.services.notices;
        if system.kind != 'r' {
            notices.warn("01000", &passed_over(system.name, word));
        } else if !self.may_maintain_system() {
            let text = format!("permission denied to {word} \"{}\", skipping it", system.name);
            notices.warn("01000", &text);
        }
    }

    fn may_maintain_system(&self) -> bool {
        let of_all = verso_catalog::authority::MAINTAIN;
        self.limited().is_none_or(|role| self.frame.catalog.inherits(role, of_all))
    }
}
