//! Settings of PostgreSQL that change nothing here.
//!
//! Drivers, frameworks and the scripts of `pg_dump` set them without asking whether anybody cares. They are kept and shown;
//! a value that would ask for something Verso does not do is refused. Which settings are of this kind, and why:
//! docs/decisions/0028.

use super::kept::{Kept, value_of};
use super::values::{boolean, on};
use super::{Allowed, Range, range};
use verso_planner::errors::{SqlError, sqlstate};

/// Their names, what each is as long as nobody sets it, and what it does in PostgreSQL.
pub(crate) const LIST: &[Kept] = &[
    ("allow_in_place_tablespaces", "off", "Allows tablespaces directly inside pg_tblspc, for testing."),
    ("allow_system_table_mods", "off", "Allows modifications of the structure of system tables."),
    ("array_nulls", "on", "Enables input of NULL elements in arrays."),
    ("backslash_quote", "safe_encoding", "Sets whether \"\\'\" is allowed in string literals."),
    ("check_function_bodies", "on", "Check routine bodies during CREATE FUNCTION and CREATE PROCEDURE."),
    (
        "conflict_policy",
        "updater",
        "Who gives way where two transactions change a row: the one that came later.",
    ),
    ("constraint_exclusion", "partition", "Enables the planner to use constraints to optimize queries."),
    (
        "cpu_index_tuple_cost",
        "0.005",
        "Sets the planner's estimate of the cost of processing each index entry during an index scan.",
    ),
    (
        "cpu_operator_cost",
        "0.0025",
        "Sets the planner's estimate of the cost of processing each operator or function call.",
    ),
    ("cpu_tuple_cost", "0.01", "Sets the planner's estimate of the cost of processing each tuple (row)."),
    (
        "cursor_tuple_fraction",
        "0.1",
        "Sets the planner's estimate of the fraction of a cursor's rows that will be retrieved.",
    ),
    ("deadlock_timeout", "1s", "Sets the time to wait on a lock before checking for deadlock."),
    ("debug_parallel_query", "off", "Forces the planner's use parallel query nodes."),
    ("debug_print_parse", "off", "Logs each query's parse tree."),
    ("debug_print_plan", "off", "Logs each query's execution plan."),
    ("debug_print_rewritten", "off", "Logs each query's rewritten parse tree."),
    ("default_statistics_target", "100", "Sets the default statistics target."),
    ("default_table_access_method", "heap", "Sets the default table access method for new tables."),
    ("default_tablespace", "", "Sets the default tablespace to create tables and indexes in."),
    ("default_toast_compression", "", "Sets the default compression method for compressible values."),
    ("default_with_oids", "off", "Create new tables with OIDs by default."),
    ("effective_cache_size", "4GB", "Sets the planner's assumption about the total size of the data caches."),
    ("enable_async_append", "on", "Enables the planner's use of async append plans."),
    ("enable_distinct_reordering", "on", "Enables reordering of DISTINCT keys."),
    ("enable_gathermerge", "on", "Enables the planner's use of gather merge plans."),
    ("enable_group_by_reordering", "on", "Enables reordering of GROUP BY keys."),
    ("enable_hashagg", "on", "Enables the planner's use of hashed aggregation plans."),
    ("enable_incremental_sort", "on", "Enables the planner's use of incremental sort steps."),
    ("enable_indexonlyscan", "on", "Enables the planner's use of index-only-scan plans."),
    ("enable_material", "on", "Enables the planner's use of materialization."),
    ("enable_memoize", "on", "Enables the planner's use of memoization."),
    ("enable_parallel_append", "on", "Enables the planner's use of parallel append plans."),
    ("enable_parallel_hash", "on", "Enables the planner's use of parallel hash plans."),
    ("enable_partition_pruning", "on", "Enables plan-time and execution-time partition pruning."),
    ("enable_partitionwise_aggregate", "off", "Enables partitionwise aggregation and grouping."),
    ("enable_partitionwise_join", "off", "Enables partitionwise join."),
    (
        "enable_presorted_aggregate",
        "on",
        "Enables the planner's ability to produce plans that provide presorted input for ORDER BY / DISTINCT aggregate functions.",
    ),
    ("enable_self_join_elimination", "on", "Enables removal of unique self-joins."),
    ("enable_sort", "on", "Enables the planner's use of explicit sort steps."),
    ("enable_tidscan", "on", "Enables the planner's use of TID scan plans."),
    ("escape_string_warning", "on", "Warn about backslash escapes in ordinary string literals."),
    ("exit_on_error", "off", "Terminate session on any error."),
    ("from_collapse_limit", "8", "Sets the FROM-list size beyond which subqueries are not collapsed."),
    ("geqo", "on", "Enables genetic query optimization."),
    ("geqo_effort", "5", "GEQO: effort is used to set the default for other GEQO parameters."),
    ("geqo_generations", "0", "GEQO: number of iterations of the algorithm."),
    ("geqo_pool_size", "0", "GEQO: number of individuals in the population."),
    ("geqo_seed", "0", "GEQO: seed for random path selection."),
    ("geqo_selection_bias", "2", "GEQO: selective pressure within the population."),
    ("geqo_threshold", "12", "Sets the threshold of FROM items beyond which GEQO is used."),
    ("ignore_checksum_failure", "off", "Continues processing after a checksum failure."),
    ("jit", "on", "Allow JIT compilation."),
    ("jit_above_cost", "100000", "Perform JIT compilation if query is more expensive."),
    ("jit_dump_bitcode", "off", "Write out LLVM bitcode to facilitate JIT debugging."),
    ("jit_expressions", "on", "Allow JIT compilation of expressions."),
    ("jit_inline_above_cost", "500000", "Perform JIT inlining if query is more expensive."),
    ("jit_optimize_above_cost", "500000", "Optimize JIT-compiled functions if query is more expensive."),
    ("jit_tuple_deforming", "on", "Allow JIT compilation of tuple deforming."),
    ("join_collapse_limit", "8", "Sets the FROM-list size beyond which JOIN constructs are not flattened."),
    ("lc_messages", "C", "Sets the language in which messages are displayed."),
    ("lc_monetary", "C", "Sets the locale for formatting monetary amounts."),
    ("lc_numeric", "C", "Sets the locale for formatting numbers."),
    ("lc_time", "C", "Sets the locale for formatting date and time values."),
    (
        "lo_compat_privileges",
        "off",
        "Enables backward compatibility mode for privilege checks on large objects.",
    ),
    ("log_duration", "off", "Logs the duration of each completed SQL statement."),
    ("log_executor_stats", "off", "Writes executor performance statistics to the server log."),
    ("log_lock_failures", "off", "Logs lock failures."),
    ("log_lock_waits", "off", "Logs long lock waits."),
    ("log_parser_stats", "off", "Writes parser performance statistics to the server log."),
    ("log_planner_stats", "off", "Writes planner performance statistics to the server log."),
    ("log_replication_commands", "off", "Logs each replication command."),
    ("log_statement_stats", "off", "Writes cumulative performance statistics to the server log."),
    (
        "max_parallel_workers_per_gather",
        "2",
        "Sets the maximum number of parallel processes per executor node.",
    ),
    ("parallel_leader_participation", "on", "Controls whether Gather and Gather Merge also run subplans."),
    (
        "parallel_setup_cost",
        "1000",
        "Sets the planner's estimate of the cost of starting up worker processes for parallel query.",
    ),
    (
        "parallel_tuple_cost",
        "0.1",
        "Sets the planner's estimate of the cost of passing each tuple (row) from worker to leader backend.",
    ),
    ("password_encryption", "scram-sha-256", "Chooses the algorithm for encrypting passwords."),
    ("plpgsql.check_asserts", "on", "Perform checks given in ASSERT statements."),
    ("plpgsql.extra_errors", "none", "List of programming constructs that should produce an error."),
    ("plpgsql.extra_warnings", "none", "List of programming constructs that should produce a warning."),
    (
        "plpgsql.print_strict_params",
        "off",
        "Print information about parameters in the DETAIL part of the error messages generated on INTO ... STRICT failures.",
    ),
    (
        "plpgsql.variable_conflict",
        "error",
        "Sets handling of conflicts between PL/pgSQL variable names and table column names.",
    ),
    (
        "random_page_cost",
        "4",
        "Sets the planner's estimate of the cost of a nonsequentially fetched disk page.",
    ),
    (
        "recursive_worktable_factor",
        "10",
        "Sets the planner's estimate of the average size of a recursive query's working table.",
    ),
    ("seq_page_cost", "1", "Sets the planner's estimate of the cost of a sequentially fetched disk page."),
    ("session_replication_role", "origin", "Sets the session's behavior for triggers and rewrite rules."),
    ("stats_fetch_consistency", "none", "Sets the consistency of accesses to statistics data."),
    ("synchronize_seqscans", "on", "Enables synchronized sequential scans."),
    ("temp_buffers", "8MB", "Sets the maximum number of temporary buffers used by each session."),
    ("temp_tablespaces", "", "Sets the tablespace(s) to use for temporary tables and sort files."),
    ("trace_notify", "off", "Generates debugging output for LISTEN and NOTIFY."),
    ("trace_sort", "off", "Emit information about resource usage in sorting."),
    ("track_activities", "on", "Collects information about executing commands."),
    ("track_cost_delay_timing", "off", "Collects timing statistics for cost-based vacuum delay."),
    ("track_counts", "on", "Collects statistics on database activity."),
    ("track_functions", "none", "Collects function-level statistics on database activity."),
    ("transform_null_equals", "off", "Treats \"expr=NULL\" as \"expr IS NULL\"."),
    ("use_last_committed", "all", "Which readers see the last committed version instead of waiting: all."),
    ("vacuum_cost_delay", "0", "Vacuum cost delay in milliseconds."),
    ("wal_compression", "off", "Compresses full-page writes written in WAL file with specified method."),
    (
        "xmloption",
        "content",
        "Sets whether XML data in implicit parsing and serialization operations is to be considered as documents or content fragments.",
    ),
    ("zero_damaged_pages", "off", "Continues processing past damaged page headers."),
];

/// The value that such a setting has as long as nobody sets it; none if there is none of that name.
pub(crate) fn default(name: &str) -> Option<&'static str> {
    value_of(LIST, name)
}

/// What a setting may say.
enum Kind {
    /// Yes or no.
    Flag,
    /// Yes or no, of which Verso does this one.
    Only(&'static str),
    /// One of these words, of which Verso does as many as the number says, the first ones.
    Word(&'static [&'static str], usize),
    /// A whole number.
    Count(i64, i64),
    /// A number.
    Real(f64, f64),
    /// A time.
    Time,
    /// A time, of which Verso does 0.
    NoTime,
    /// A size.
    Size,
    /// A list of the checks of PL/pgSQL.
    Checks,
    /// A list of tablespaces.
    Tablespaces,
    /// Locales, of which there is the one by bytes.
    Locale,
}

fn kind(name: &str) -> Kind {
    match name {
        "password_encryption" => Kind::Word(&["scram-sha-256", "md5"], 1),
        "parallel_leader_participation" | "track_activities" | "track_counts" | "array_nulls" => {
            Kind::Only("on")
        }
        "allow_system_table_mods" | "transform_null_equals" | "default_with_oids" => Kind::Only("off"),
        // What Verso never does.
        "allow_in_place_tablespaces"
        | "debug_print_parse"
        | "debug_print_plan"
        | "debug_print_rewritten"
        | "exit_on_error"
        | "ignore_checksum_failure"
        | "jit_dump_bitcode"
        | "lo_compat_privileges"
        | "log_duration"
        | "log_executor_stats"
        | "log_lock_failures"
        | "log_lock_waits"
        | "log_parser_stats"
        | "log_planner_stats"
        | "log_replication_commands"
        | "log_statement_stats"
        | "trace_notify"
        | "trace_sort"
        | "track_cost_delay_timing"
        | "zero_damaged_pages" => Kind::Only("off"),
        "track_functions" => Kind::Word(&["none", "pl", "all"], 1),
        // Between quotes a backslash is a letter, and in E'…' it quotes.
        "backslash_quote" => {
            Kind::Word(&["safe_encoding", "on", "true", "yes", "1", "off", "false", "no", "0"], 5)
        }
        "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => Kind::Locale,
        "vacuum_cost_delay" => Kind::NoTime,
        "deadlock_timeout" => Kind::Time,
        "default_tablespace" | "temp_tablespaces" => Kind::Tablespaces,
        "default_table_access_method" => Kind::Word(&["heap"], 1),
        "default_toast_compression" => Kind::Word(&["pglz"], 1),
        "conflict_policy" => Kind::Word(&["updater"], 1),
        "use_last_committed" => Kind::Word(&["all"], 1),
        "constraint_exclusion" => Kind::Word(&["partition", "on", "off"], 3),
        "session_replication_role" => Kind::Word(&["origin", "replica", "local"], 3),
        "xmloption" => Kind::Word(&["content", "document"], 2),
        "plpgsql.variable_conflict" => Kind::Word(&["error", "use_variable", "use_column"], 3),
        "plpgsql.extra_warnings" | "plpgsql.extra_errors" => Kind::Checks,
        "default_statistics_target" => Kind::Count(1, 10_000),
        "from_collapse_limit" | "join_collapse_limit" => Kind::Count(1, i32::MAX.into()),
        "max_parallel_workers_per_gather" => Kind::Count(0, 1024),
        "debug_parallel_query" => Kind::Word(&["off", "on", "regress"], 1),
        "wal_compression" => Kind::Word(&["off", "on", "pglz", "lz4", "zstd"], 1),
        "stats_fetch_consistency" => Kind::Word(&["none", "cache", "snapshot"], 1),
        "random_page_cost"
        | "seq_page_cost"
        | "cpu_index_tuple_cost"
        | "cpu_operator_cost"
        | "cpu_tuple_cost"
        | "parallel_setup_cost"
        | "parallel_tuple_cost" => Kind::Real(0.0, f64::MAX),
        "jit_above_cost" | "jit_inline_above_cost" | "jit_optimize_above_cost" => Kind::Real(-1.0, f64::MAX),
        "recursive_worktable_factor" => Kind::Real(0.001, 1e6),
        "geqo_effort" => Kind::Count(1, 10),
        "geqo_generations" | "geqo_pool_size" => Kind::Count(0, i32::MAX.into()),
        "geqo_seed" => Kind::Real(0.0, 1.0),
        "geqo_selection_bias" => Kind::Real(1.5, 2.0),
        "geqo_threshold" => Kind::Count(2, i32::MAX.into()),
        "cursor_tuple_fraction" => Kind::Real(0.0, 1.0),
        name if is_threshold(name) => Kind::Real(0.0, 1.0),
        "effective_cache_size" | "temp_buffers" => Kind::Size,
        _ => Kind::Flag,
    }
}

/// What values one of them takes; none if there is none of that name.
pub(super) fn allowed(name: &str) -> Option<Allowed> {
    default(name)?;
    Some(match kind(name) {
        Kind::Flag | Kind::Only(_) => Allowed::Flag,
        Kind::Word(words, done) => Allowed::Words(words[..done].to_vec()),
        Kind::Count(least, most) => Allowed::Count(least, most),
        Kind::Real(least, most) => Allowed::Real(least, most),
        Kind::Time | Kind::NoTime | Kind::Size => range(name)?.allowed(),
        Kind::Checks | Kind::Tablespaces | Kind::Locale => Allowed::Text,
    })
}

/// Whether it is one of those by which `pg_trgm` compares: no setting of the list, but it takes no other values than there.
pub(super) fn is_threshold(name: &str) -> bool {
    matches!(
        name.strip_prefix("pg_trgm."),
        Some("similarity_threshold" | "word_similarity_threshold" | "strict_word_similarity_threshold")
    )
}

/// Refuses a value that one of them cannot have, with `invalid`, and one that would ask for what there is not (0A000).
pub(crate) fn check(name: &str, value: &str, invalid: impl Fn(&str) -> SqlError) -> Result<(), SqlError> {
    let is_flag = |value: &str| same_flag(value, "on") || same_flag(value, "off");
    let refused = || Err(SqlError::unsupported(format!("{name} = {value}")));
    let outside = |low: String, high: String| {
        let text = format!("{value} is outside the valid range for parameter \"{name}\" ({low} .. {high})");
        Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
    };
    match kind(name) {
        Kind::Flag | Kind::Only(_) if !is_flag(value) => {
            let text = format!("parameter \"{name}\" requires a Boolean value");
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
        }
        Kind::Only(only) if !same_flag(value, only) => refused(),
        Kind::Word(words, done) => match words.iter().position(|word| value.eq_ignore_ascii_case(word)) {
            Some(at) if at < done => Ok(()),
            // The one that stands for what PostgreSQL has in its place.
            None if value.is_empty() && name == "default_toast_compression" => Ok(()),
            Some(_) => refused(),
            None if let Some(hint) = hint(name) => {
                Err(invalid(value).with_hint(format!("Available values: {}. {hint}", words.join(", "))))
            }
            None if name == "default_table_access_method" => {
                let detail = match value {
                    "" => format!("\"{name}\" cannot be empty."),
                    value => format!("Table access method \"{value}\" does not exist."),
                };
                Err(invalid(value).with_detail(detail).with_hint("Available values: heap."))
            }
            None => Err(invalid(value).with_hint(format!("Available values: {}.", words.join(", ")))),
        },
        Kind::Count(low, high) => Range::things(low, high).read(name, value).map(|_| ()),
        Kind::Real(low, high) => match value.trim().parse::<f64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(()),
            Ok(_) => outside(short(low), short(high)),
            Err(_) => {
                let hint = format!("A number from {} to {}.", short(low), short(high));
                Err(invalid(value).with_hint(hint))
            }
        },
        Kind::Time | Kind::NoTime | Kind::Size => match range(name).map(|range| range.read(name, value)) {
            Some(Err(error)) => Err(error),
            Some(Ok(1..)) if matches!(kind(name), Kind::NoTime) => refused(),
            _ => Ok(()),
        },
        Kind::Checks => {
            let checks = ["all", "none", "shadowed_variables", "too_many_rows", "strict_multi_assignment"];
            let known = |word: &str| checks.iter().any(|check| word.trim().eq_ignore_ascii_case(check));
            if value.split(',').all(known) { Ok(()) } else { Err(invalid(value)) }
        }
        Kind::Tablespaces => {
            let mut names = value.split(',').map(|name| name.trim().trim_matches('"'));
            match names.find(|name| !["", "pg_default"].contains(name)) {
                None => Ok(()),
                Some(other) => {
                    Err(invalid(value).with_detail(format!("Tablespace \"{other}\" does not exist.")))
                }
            }
        }
        Kind::Locale if ["c", "posix"].contains(&value.to_ascii_lowercase().as_str()) => Ok(()),
        Kind::Locale => refused(),
        Kind::Flag | Kind::Only(_) => Ok(()),
    }
}

/// A limit in six digits, as `%g` shows it.
pub(crate) fn short(limit: f64) -> String {
    match limit {
        f64::MAX => "1.79769e+308".to_string(),
        1e6 => "1e+06".to_string(),
        other => other.to_string(),
    }
}

/// A value as it is shown: flags by their first word.
pub(crate) fn shown(name: &str, value: &str) -> String {
    match (kind(name), boolean(value)) {
        (Kind::Count(low, high), _) => {
            let number = Range::things(low, high).read(name, value);
            number.map_or_else(|_| value.to_string(), |number| number.to_string())
        }
        (Kind::Flag | Kind::Only("on" | "off"), Some(value)) => on(value),
        _ => value.to_string(),
    }
}

/// What serves instead of a value that such a setting does not take.
pub(crate) fn hint(name: &str) -> Option<&'static str> {
    Some(match name {
        "use_last_committed" => {
            "Readers never wait for writers: \"all\" says how it is. SELECT … FOR SHARE waits."
        }
        "conflict_policy" => {
            "The first who changes a row goes on, and others wait for its end: \"updater\" says how it is."
        }
        _ => return None,
    })
}

/// Whether two values are the same word, or spell the same flag.
fn same_flag(value: &str, only: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value == only
        || match only {
            "on" => boolean(&value) == Some(true),
            "off" => boolean(&value) == Some(false),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn they_are_kept_and_shown_unless_they_ask_for_what_there_is_not() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("deadlock_timeout", "50ms"),
            ("password_encryption", "scram-sha-256"),
            ("default_tablespace", "pg_default"),
            ("temp_tablespaces", "pg_default, pg_default"),
            ("constraint_exclusion", "off"),
            ("cursor_tuple_fraction", "0.5"),
            ("temp_buffers", "8MB"),
            ("effective_cache_size", "1"),
            ("backslash_quote", "on"),
            ("parallel_setup_cost", "0"),
            ("jit_above_cost", "-1"),
            ("enable_partitionwise_join", "on"),
            ("log_duration", "off"),
        ] {
            assert!(settings.show(name).is_some(), "{name}");
            settings.set(name, Some(value)).expect(name);
            assert_eq!(settings.show(name).as_deref(), Some(value), "{name}");
            settings.reset(name, &Settings::default()).expect(name);
            assert_eq!(settings.show(name).as_deref(), super::default(name), "{name}");
        }
        for (name, value, code) in [
            ("password_encryption", "md5", "0A000"),
            ("password_encryption", "plain", "22023"),
            ("track_counts", "off", "0A000"),
            ("track_counts", "never", "22023"),
            ("array_nulls", "off", "0A000"),
            ("transform_null_equals", "on", "0A000"),
            ("backslash_quote", "off", "0A000"),
            ("backslash_quote", "never", "22023"),
            ("session_replication_role", "nobody", "22023"),
            ("default_with_oids", "on", "0A000"),
            ("default_tablespace", "nix", "22023"),
            ("temp_tablespaces", "pg_default, nix", "22023"),
            ("default_table_access_method", "", "22023"),
            ("constraint_exclusion", "nix", "22023"),
            ("geqo", "7", "22023"),
            ("geqo_effort", "11", "22023"),
            ("parallel_setup_cost", "-1", "22023"),
            ("enable_memoize", "perhaps", "22023"),
            ("log_duration", "on", "0A000"),
            ("debug_parallel_query", "regress", "0A000"),
            ("wal_compression", "pglz", "0A000"),
            ("deadlock_timeout", "abc", "22023"),
            ("random_page_cost", "-1", "22023"),
            ("cursor_tuple_fraction", "2", "22023"),
            ("from_collapse_limit", "0", "22023"),
            ("temp_buffers", "1", "22023"),
            ("lc_messages", "de_DE", "0A000"),
            ("client_encoding", "MULE_INTERNAL", "0A000"),
            ("client_encoding", "latin", "22023"),
            ("standard_conforming_strings", "off", "0A000"),
        ] {
            assert_eq!(settings.set(name, Some(value)).expect_err(name).sqlstate, code, "{name} = {value}");
        }
        settings.set("client_encoding", Some("sql_ascii")).expect("bytes as they are");
        assert_eq!(settings.show("client_encoding").as_deref(), Some("SQL_ASCII"));
        for name in ["use_last_committed", "conflict_policy"] {
            assert!(settings.set(name, Some("none")).expect_err(name).hint.is_some());
        }
        assert_eq!(settings.set("nosuch", Some("1")).expect_err("none").sqlstate, "42704");
    }
}
