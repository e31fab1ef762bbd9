//! The rows of `pg_settings`: what a setting is, what values it takes, and who has said its present one.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, Oid};
use verso_types::Value;

use crate::settings::{
    Allowed, OF_DATABASE, SessionSettings, Settings, all, allowed, are_aliases, is_fixed, is_of_commits,
    needs_superuser, of_server, short,
};
use crate::views::Views;

/// The rows of `pg_settings`.
pub(super) fn settings(views: &Views<'_>, catalog: &CatalogSnapshot) -> Vec<Vec<Value>> {
    let said = Said::of(views, catalog);
    let row = |(name, description): &(&str, &str)| {
        let (shown, setting) = views.services.shown_as(name).ok()?;
        let is_fixed = is_fixed(name);
        let unit = UNITS.iter().find(|(known, _)| known == name).map(|(_, unit)| *unit);
        let counted = |text: String| unit.and_then(|unit| in_unit(&text, unit)).unwrap_or(text);
        let some = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
        let context = context(name, is_fixed);
        // Those of the transaction are said when it begins.
        let of_transaction = name.starts_with("transaction_") && *name != "transaction_timeout";
        let of_session = !of_transaction && !is_fixed && context != "internal" && !OF_DATABASE.contains(name);
        let reset = match of_session {
            true => said.session.reset_value(name).unwrap_or_else(|| setting.clone()),
            false => setting.clone(),
        };
        let boot = match of_session {
            true => said.boot.show(name).or_else(|| said.unless_set(name, &reset)),
            false => said.unless_set(name, &setting),
        };
        let source = match () {
            () if of_transaction => "override",
            () if context == "internal" => "default",
            () if of_session && setting != reset => "session",
            () => said.source(name, boot.as_ref() == Some(&reset)),
        };
        let (kind, [least, most], words) = shown_kind(name, &setting, unit);
        Some(vec![
            Value::text(&shown),
            Value::text(&counted(setting)),
            unit.map_or(Value::Null, Value::text),
            Value::text(category(name, context)),
            Value::text(description),
            Value::Null,
            Value::text(context),
            Value::text(kind),
            Value::text(source),
            some(least),
            some(most),
            words.map_or(Value::Null, |words| {
                Value::Array(words.iter().map(|word| Value::text(word)).collect())
            }),
            some(boot.map(&counted)),
            Value::text(&counted(reset)),
            Value::Null,
            Value::Null,
            Value::Bool(false),
        ])
    };
    all().iter().filter_map(row).collect()
}

/// Who has said what the session has begun with.
struct Said<'v> {
    session: &'v SessionSettings,
    /// Without a word from anybody.
    boot: Settings,
    /// In the order in which they count, the strongest first: what `pg_settings` calls them, and `name=value` of each.
    layers: Vec<(&'static str, Vec<String>)>,
}

impl Said<'_> {
    fn of<'v>(views: &Views<'v>, catalog: &CatalogSnapshot) -> Said<'v> {
        let services = views.services;
        let role = services.session_role();
        let of_role = |database: bool| {
            let kept = catalog.kept_settings().iter();
            let own =
                kept.filter(|(place, of, _)| (place.0 != 0) == database && *of == role && role != Oid(0));
            own.flat_map(|(.., config)| config.iter().map(|one: &Arc<str>| one.to_string())).collect()
        };
        let of_everybody = catalog.kept_settings().iter().filter(|(place, of, _)| place.0 == 0 && of.0 == 0);
        let of_everybody =
            of_everybody.flat_map(|(.., config)| config.iter().map(|one| one.to_string())).collect();
        let pairs =
            |all: &[(String, String)]| all.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let kept = services.instance.catalog.database_settings().unwrap_or_default();
        let (of_all, of_database): (Vec<_>, Vec<_>) =
            kept.into_iter().partition(|(name, _)| OF_DATABASE.contains(&name.as_str()));
        let layers = vec![
            ("database user", of_role(true)),
            ("user", of_role(false)),
            ("database", pairs(&of_database)),
            ("global", of_everybody),
            ("configuration file", pairs(&of_all)),
            ("configuration file", pairs(&services.instance.member.cluster().defaults())),
        ];
        Said { session: &services.settings, boot: Settings::default(), layers }
    }

    fn layer(&self, name: &str) -> Option<&'static str> {
        let is_it = |one: &String| {
            let of = one.split('=').next().unwrap_or_default();
            of == name || are_aliases(name, of) || (is_of_commits(name) && is_of_commits(of))
        };
        self.layers.iter().find(|(_, all)| all.iter().any(is_it)).map(|(layer, _)| *layer)
    }

    /// The value, where nobody has said it.
    fn unless_set(&self, name: &str, value: &str) -> Option<String> {
        self.layer(name).is_none().then(|| value.to_string())
    }

    /// Who has said the value that RESET brings back.
    fn source(&self, name: &str, is_boot: bool) -> &'static str {
        match self.layer(name) {
            Some(layer) => layer,
            None if is_boot => "default",
            None => "client",
        }
    }
}

/// Who may set it, and when it counts.
fn context(name: &str, is_fixed: bool) -> &'static str {
    match name {
        "server_version" | "server_version_num" | "server_encoding" => "internal",
        _ if is_fixed && of_server(name) => "postmaster",
        _ if is_fixed => "internal",
        name if OF_DATABASE.contains(&name) => "sighup",
        name if needs_superuser(name) => "superuser",
        _ => "user",
    }
}

/// Where PostgreSQL's manual has settings like it.
fn category(name: &str, context: &str) -> &'static str {
    match name {
        _ if context == "internal" => "Preset Options",
        _ if context == "postmaster" => "Connections and Authentication / Connection Settings",
        name if name.starts_with("enable_") || matches!(name, "plan_cache_mode" | "verso_rules_off") => {
            "Query Tuning / Planner Method Configuration"
        }
        name if name.starts_with("autovacuum") || name.starts_with("sweep") => {
            "Vacuuming / Automatic Vacuuming"
        }
        name if name.starts_with("log_") => "Reporting and Logging / What to Log",
        name if name.starts_with("archive_") => "Write-Ahead Log / Archiving",
        "synchronous_commit" | "commit_wait" | "commit_logging" | "procedure_commit" | "wal_spare_size" => {
            "Write-Ahead Log / Settings"
        }
        "checkpoint_interval"
        | "checkpoint_timeout"
        | "max_wal_size"
        | "long_tx_wal_limit"
        | "long_tx_action" => "Write-Ahead Log / Checkpoints",
        "work_mem"
        | "maintenance_memory"
        | "memory_limit"
        | "buffer_pool"
        | "session_memory_limit"
        | "statement_memory_limit" => "Resource Usage / Memory",
        "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => {
            "Client Connection Defaults / Locale and Formatting"
        }
        "password_encryption" => "Connections and Authentication / Authentication",
        "allow_system_table_mods" => "Developer Options",
        "deadlock_timeout" => "Lock Management",
        name if name.starts_with("geqo") => "Query Tuning / Genetic Query Optimizer",
        name if name.starts_with("jit_") || name == "recursive_worktable_factor" => {
            "Query Tuning / Other Planner Options"
        }
        name if name.ends_with("_cost") && !name.starts_with("vacuum_") => {
            "Query Tuning / Planner Cost Constants"
        }
        "constraint_exclusion"
        | "cursor_tuple_fraction"
        | "default_statistics_target"
        | "from_collapse_limit"
        | "jit"
        | "join_collapse_limit" => "Query Tuning / Other Planner Options",
        "effective_cache_size" => "Query Tuning / Planner Cost Constants",
        "maintenance_work_mem" | "shared_buffers" | "temp_buffers" => "Resource Usage / Memory",
        "max_parallel_workers_per_gather" | "parallel_leader_participation" => {
            "Resource Usage / Worker Processes"
        }
        "track_activities" | "track_counts" | "track_functions" => {
            "Statistics / Cumulative Query and Index Statistics"
        }
        "vacuum_cost_delay" => "Vacuuming / Cost-Based Vacuum Delay",
        "transform_null_equals" => "Version and Platform Compatibility / Other Platforms and Clients",
        "array_nulls"
        | "backslash_quote"
        | "escape_string_warning"
        | "quote_all_identifiers"
        | "synchronize_seqscans" => "Version and Platform Compatibility / Previous PostgreSQL Versions",
        "temp_file_limit" => "Resource Usage / Disk",
        "datestyle"
        | "intervalstyle"
        | "timezone"
        | "client_encoding"
        | "extra_float_digits"
        | "default_text_search_config" => "Client Connection Defaults / Locale and Formatting",
        _ => "Client Connection Defaults / Statement Behavior",
    }
}

/// The kind of a setting's values, the least and the greatest, and the words it takes.
fn shown_kind(
    name: &str,
    setting: &str,
    unit: Option<&str>,
) -> (&'static str, [Option<String>; 2], Option<Vec<&'static str>>) {
    match allowed(name) {
        Allowed::Words(words) => ("enum", [None, None], Some(words)),
        Allowed::Flag => ("bool", [None, None], None),
        Allowed::Count(least, most) => ("integer", [Some(least.to_string()), Some(most.to_string())], None),
        Allowed::Real(least, most) => ("real", [Some(short(least)), Some(short(most))], None),
        Allowed::Text if setting == "on" || setting == "off" => ("bool", [None, None], None),
        Allowed::Text if unit.is_some() => ("integer", [None, None], None),
        Allowed::Text if !setting.is_empty() && setting.bytes().all(|byte| byte.is_ascii_digit()) => {
            ("integer", [None, None], None)
        }
        Allowed::Text => ("string", [None, None], None),
    }
}

/// What the numbers of settings count, as PostgreSQL's do where it has the setting.
const UNITS: &[(&str, &str)] = &[
    ("archive_timeout", "s"),
    ("autovacuum_naptime", "s"),
    ("buffer_pool", "kB"),
    ("checkpoint_interval", "s"),
    ("checkpoint_timeout", "s"),
    ("compress_delay", "s"),
    ("authentication_timeout", "s"),
    ("deadlock_timeout", "ms"),
    ("effective_cache_size", "8kB"),
    ("idle_in_transaction_session_timeout", "ms"),
    ("idle_session_timeout", "ms"),
    ("lock_timeout", "ms"),
    ("log_min_duration_statement", "ms"),
    ("long_tx_wal_limit", "MB"),
    ("maintenance_memory", "kB"),
    ("maintenance_work_mem", "kB"),
    ("max_wal_size", "MB"),
    ("memory_limit", "kB"),
    ("min_parallel_table_scan_size", "8kB"),
    ("session_memory_limit", "kB"),
    ("shared_buffers", "8kB"),
    ("shutdown_timeout", "s"),
    ("statement_memory_limit", "kB"),
    ("statement_timeout", "ms"),
    ("temp_buffers", "8kB"),
    ("temp_file_limit", "kB"),
    ("transaction_timeout", "ms"),
    ("vacuum_cost_delay", "ms"),
    ("wal_spare_size", "MB"),
    ("work_mem", "kB"),
    ("worker_idle_timeout", "s"),
];

/// A setting as a number of its units; none where it is no number.
fn in_unit(setting: &str, unit: &str) -> Option<String> {
    let end = setting.find(|c: char| !c.is_ascii_digit()).unwrap_or(setting.len());
    let number: u64 = setting[..end].parse().ok()?;
    let size = |unit: &str| {
        Some(match unit {
            "B" => 1,
            "kB" => 1 << 10,
            "8kB" => 8 << 10,
            "MB" => 1 << 20,
            "GB" => 1 << 30,
            "TB" => 1 << 40,
            "ms" => 1,
            "s" => 1000,
            "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        })
    };
    if end == setting.len() {
        return Some(number.to_string());
    }
    let all = number.checked_mul(size(setting[end..].trim_start())?)?;
    Some((all / size(unit)?).to_string())
}
