//! Functions of PostgreSQL that yield the rows of a system view: its views are queries over them, and clients call them, too.

use verso_exec::plan::{OutputColumn, Plan};
use verso_parser::syntax::QualifiedName;

use super::Binder;

/// A function, the view, and which of its columns the function has; all of them where none is named.
const FUNCTIONS: [(&str, &str, &[&str]); 10] = [
    ("pg_available_extensions", "pg_available_extensions", &["name", "default_version", "comment"]),
    (
        "pg_available_extension_versions",
        "pg_available_extension_versions",
        &["name", "version", "superuser", "trusted", "relocatable", "schema", "requires", "comment"],
    ),
    ("pg_cursor", "pg_cursors", &[]),
    ("pg_lock_status", "pg_locks", &[]),
    ("pg_prepared_statement", "pg_prepared_statements", &[]),
    ("pg_prepared_xact", "pg_prepared_xacts", &["transaction", "gid", "prepared"]),
    ("pg_show_all_settings", "pg_settings", &[]),
    ("pg_stat_statements_info", "pg_stat_statements_info", &[]),
    ("pg_timezone_abbrevs_abbrevs", "pg_timezone_abbrevs", &[]),
    ("pg_timezone_names", "pg_timezone_names", &[]),
];

/// Whether binding puts something in the place of calls of that name, so that no registry of functions has it.
#[must_use]
pub fn is_form(name: &str) -> bool {
    super::is_json_aggregate(name)
        || matches!(name, "pg_collation_for" | "system_user")
        || FUNCTIONS.iter().any(|(function, ..)| *function == name)
}

/// The rows of the function of that name, called without arguments; none where it is no such function.
pub(super) fn scan(binder: &Binder<'_>, name: &QualifiedName) -> Option<Plan> {
    if !binder.is_built_in(name.schema_text(), &name.name.text) {
        return None;
    }
    let (_, of, wanted) = FUNCTIONS.iter().find(|(function, ..)| *function == name.name.text)?;
    let view = binder.catalog.system_view(Some("pg_catalog"), of)?;
    let all = view.columns();
    let columns: Vec<usize> = match wanted {
        [] => (0..all.len()).collect(),
        wanted => wanted
            .iter()
            .map(|name| all.iter().position(|column| column.name == *name))
            .collect::<Option<_>>()?,
    };
    let output = columns.iter().map(|at| OutputColumn::new(all[*at].name, all[*at].ty.clone())).collect();
    Some(Plan::SystemScan { view, args: Vec::new(), columns, output, keys: Vec::new() })
}
