//! Settings of PostgreSQL that change nothing here.
//!
//! Drivers, frameworks and the scripts of `pg_dump` set them without asking whether anybody cares. They are kept and shown;
//! a value that would ask for something Verso does not do is refused.

/// The value that such a setting has as long as nobody sets it; none if there is none of that name.
pub(crate) fn default(name: &str) -> Option<&'static str> {
    Some(match name {
        "check_function_bodies"
        | "enable_indexonlyscan"
        | "enable_bitmapscan"
        | "enable_sort"
        | "enable_hashagg"
        | "enable_material"
        | "escape_string_warning"
        | "geqo"
        | "jit"
        | "synchronize_seqscans" => "on",
        "conflict_policy" => "updater",
        "use_last_committed" => "all",
        "constraint_exclusion" => "partition",
        "cursor_tuple_fraction" => "0.1",
        "deadlock_timeout" => "1s",
        "default_statistics_target" => "100",
        "default_table_access_method" => "heap",
        "default_tablespace" | "default_toast_compression" | "temp_tablespaces" => "",
        "effective_cache_size" => "4GB",
        "idle_session_timeout" => "0",
        "from_collapse_limit" | "join_collapse_limit" => "8",
        "max_parallel_workers_per_gather" => "2",
        "plan_cache_mode" => "auto",
        "quote_all_identifiers" | "default_with_oids" | "array_nulls" => "off",
        "password_encryption" => "scram-sha-256",
        "parallel_leader_participation" | "track_activities" | "track_counts" => "on",
        "allow_system_table_mods" | "transform_null_equals" => "off",
        "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => "C",
        "track_functions" => "none",
        "vacuum_cost_delay" => "0",
        "random_page_cost" => "4",
        "seq_page_cost" => "1",
        "session_replication_role" => "origin",
        "temp_buffers" => "8MB",
        "xmloption" => "content",
        "plpgsql.check_asserts" => "on",
        "plpgsql.print_strict_params" => "off",
        "plpgsql.extra_warnings" | "plpgsql.extra_errors" => "none",
        "plpgsql.variable_conflict" => "error",
        _ => return None,
    })
}

/// Whether one of them may have this value: any, but those of which Verso does one thing only.
pub(crate) fn takes(name: &str, value: &str) -> bool {
    match name {
        // What these say is how it is; the other values would ask for something that there is not.
        "password_encryption"
        | "parallel_leader_participation"
        | "track_activities"
        | "track_counts"
        | "allow_system_table_mods"
        | "transform_null_equals"
        | "track_functions" => default(name).is_some_and(|only| same_flag(value, only)),
        "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => {
            ["c", "posix"].contains(&value.to_ascii_lowercase().as_str())
        }
        "vacuum_cost_delay" => value.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim() == "0",
        "default_tablespace" => value.is_empty() || value == "pg_default",
        "temp_tablespaces" => {
            value.split(',').all(|name| ["", "pg_default"].contains(&name.trim().trim_matches('"')))
        }
        "default_table_access_method" => value == "heap",
        "conflict_policy" => value.eq_ignore_ascii_case("updater"),
        "use_last_committed" => value.eq_ignore_ascii_case("all"),
        "default_with_oids" => !matches!(value.to_ascii_lowercase().as_str(), "on" | "true" | "1" | "yes"),
        "idle_session_timeout" => value.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim() == "0",
        "session_replication_role" => {
            ["origin", "replica", "local"].iter().any(|role| value.eq_ignore_ascii_case(role))
        }
        "plpgsql.check_asserts" | "plpgsql.print_strict_params" => {
            same_flag(value, "on") || same_flag(value, "off")
        }
        "plpgsql.variable_conflict" => ["error", "use_variable", "use_column"].contains(&value),
        "plpgsql.extra_warnings" | "plpgsql.extra_errors" => value.split(',').all(|word| {
            let checks = ["all", "none", "shadowed_variables", "too_many_rows", "strict_multi_assignment"];
            checks.iter().any(|check| word.trim().eq_ignore_ascii_case(check))
        }),
        _ => true,
    }
}

/// Why such a setting does not take a value, where it names what there is not.
pub(crate) fn detail(name: &str, value: &str) -> Option<String> {
    match name {
        "default_tablespace" | "temp_tablespaces" => Some(format!("Tablespace \"{value}\" does not exist.")),
        "default_table_access_method" if value.is_empty() => Some(format!("\"{name}\" cannot be empty.")),
        "default_table_access_method" => {
            Some(format!("Table access method \"{value}\" does not exist."))
        }
        _ => None,
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
            "on" => matches!(value.as_str(), "true" | "yes" | "1"),
            "off" => matches!(value.as_str(), "false" | "no" | "0"),
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
            ("idle_session_timeout", "0ms"),
            ("default_tablespace", "pg_default"),
            ("temp_tablespaces", "pg_default, pg_default"),
        ] {
            assert!(settings.show(name).is_some(), "{name}");
            settings.set(name, Some(value)).expect(name);
            assert_eq!(settings.show(name).as_deref(), Some(value), "{name}");
            settings.reset(name, &Settings::default()).expect(name);
            assert_eq!(settings.show(name).as_deref(), super::default(name), "{name}");
        }
        for (name, value) in [
            ("password_encryption", "md5"),
            ("track_counts", "off"),
            ("idle_session_timeout", "5min"),
            ("session_replication_role", "nobody"),
            ("default_with_oids", "on"),
            ("default_tablespace", "nix"),
            ("temp_tablespaces", "pg_default, nix"),
            ("default_table_access_method", ""),
        ] {
            assert_eq!(settings.set(name, Some(value)).expect_err(name).sqlstate, "22023");
        }
        for name in ["use_last_committed", "conflict_policy"] {
            assert!(settings.set(name, Some("none")).expect_err(name).hint.is_some());
        }
        assert_eq!(settings.set("nosuch", Some("1")).expect_err("none").sqlstate, "42704");
    }
}
