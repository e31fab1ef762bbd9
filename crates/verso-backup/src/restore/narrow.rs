//! Schemas where only some tables of an archive are restored: those that the statements which are run name, and no others. They
//! belong to the role that restores, for the archive's roles are not made.

use super::Plan;
use crate::archive::contents::{Kind, Step};
use crate::schema::schemas::{CREATE, created, names};

impl Plan {
    /// Leaves out the schemas that nothing restored is in, and whose they are. Into a database that is there (`existing`) only go
    /// statements about the tables.
    pub(super) fn leave_schemas(&mut self, existing: bool) {
        if self.selection.is_all() {
            return;
        }
        let steps = std::mem::take(&mut self.definitions.before);
        let runs =
            |step: &&Step| created(step).is_none() && (step.table.is_some() || !existing) && self.runs(step);
        let texts: Vec<&str> =
            steps.iter().chain(&self.definitions.after).filter(runs).map(|step| &*step.sql).collect();
        let kept: Vec<Step> = steps
            .iter()
            .filter_map(|step| match created(step) {
                Some(schema) if texts.iter().any(|text| names(text, schema)) => {
                    Some(Step { sql: format!("{CREATE}{schema}"), ..step.clone() })
                }
                Some(_) => None,
                None if step.kind == Kind::Schema && is_of_all(&step.sql) => None,
                None => Some(step.clone()),
            })
            .collect();
        self.definitions.before = kept;
    }
}

/// Whether a statement about schemas is about the database as a whole: whose `public` is, or that there is none.
fn is_of_all(sql: &str) -> bool {
    sql.starts_with("ALTER SCHEMA ") || sql.starts_with("DROP SCHEMA ")
}
