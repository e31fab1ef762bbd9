//! What values settings take, as `pg_settings` tells: `set` refuses others.

use super::messages::{LogLevel, MessageLevel};
use super::{accepted, range};

/// See the module.
pub(crate) enum Allowed {
    /// One of these words.
    Words(Vec<&'static str>),
    /// Yes or no.
    Flag,
    /// A whole number, of the setting's units where it has some.
    Count(i64, i64),
    /// A number.
    Real(f64, f64),
    /// What its own rules say.
    Text,
}

const ISOLATION: [&str; 4] = ["serializable", "repeatable read", "read committed", "read uncommitted"];

/// What the setting of that name takes.
pub(crate) fn allowed(name: &str) -> Allowed {
    let words = |words: &[&'static str]| Allowed::Words(words.to_vec());
    match name {
        "client_min_messages" => Allowed::Words(MessageLevel::words()),
        "log_min_messages" | "log_min_error_statement" => Allowed::Words(LogLevel::words()),
        "log_error_verbosity" => words(&["terse", "default", "verbose"]),
        "log_statement" => words(&["none", "ddl", "mod", "all"]),
        "log_plans" => words(&["off", "on", "analyze"]),
        "bytea_output" => words(&["escape", "hex"]),
        "intervalstyle" => words(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "executor" => words(&["auto", "row", "vector"]),
        "compute_query_id" => words(&["auto", "regress", "on", "off"]),
        "pg_stat_statements.track" => words(&["none", "top", "all"]),
        "plan_cache_mode" => words(&["auto", "force_generic_plan", "force_custom_plan"]),
        "procedure_commit" => words(&["deferred_wait", "wait"]),
        "default_transaction_isolation" | "transaction_isolation" => words(&ISOLATION),
        "commit_wait" => words(&["wait", "nowait", "force_wait"]),
        "commit_logging" => words(&["immediate", "batch"]),
        "synchronous_commit" => words(&["local", "remote_write", "remote_apply", "on", "off"]),
        "gc_policy" => words(&["background", "cooperative", "combined"]),
        "long_tx_action" => words(&["warn", "cancel", "terminate"]),
        "auto_backout"
        | "autovacuum"
        | "colocate"
        | "compress"
        | "pg_stat_statements.track_planning"
        | "pg_stat_statements.track_utility"
        | "row_security"
        | "quote_all_identifiers"
        | "stmt_cache"
        | "standard_conforming_strings"
        | "statement_statistics" => Allowed::Flag,
        name if name.starts_with("enable_") => Allowed::Flag,
        name if name.starts_with("transaction_") && name != "transaction_timeout" => Allowed::Flag,
        name if name.starts_with("default_transaction_") => Allowed::Flag,
        "autovacuum_analyze_scale_factor" => Allowed::Real(0.0, 100.0),
        name => match range(name) {
            Some(range) => range.allowed(),
            None => accepted::allowed(name).unwrap_or(Allowed::Text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OF_DATABASE, SETTINGS, Settings};
    use super::*;

    #[test]
    fn sessions_take_these_values_and_no_others() {
        let of_session = |name: &&str| !OF_DATABASE.contains(name) && !name.starts_with("transaction_");
        for name in SETTINGS.iter().map(|(name, _)| *name).filter(of_session) {
            let takes = |value: &str| Settings::default().set(name, Some(value)).is_ok();
            match allowed(name) {
                Allowed::Words(words) => {
                    words.iter().for_each(|word| assert!(takes(word), "{name} = {word}"));
                    assert!(!takes("something else"), "{name}");
                }
                Allowed::Flag => assert!(takes("on") && !takes("perhaps"), "{name}"),
                Allowed::Count(least, most) => {
                    assert!(takes(&least.to_string()) && takes(&most.to_string()), "{name}");
                    assert!(!takes(&(least - 1).to_string()) && !takes(&(most + 1).to_string()), "{name}");
                }
                Allowed::Real(..) | Allowed::Text => {}
            }
        }
    }
}
