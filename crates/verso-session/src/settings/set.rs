//! SET and RESET: the value of a setting, read from its text.

use verso_exec::Executor;
use verso_exec::functions::text_search;
use verso_types::{DateOrder, DateStyle, Encoding, IntervalStyle};

use verso_parser::syntax::IsolationLevel;
use verso_planner::Rules;
use verso_planner::errors::{SqlError, sqlstate};

use super::listed::OF_DATABASE;
use super::messages::MessageLevel;
use super::otherwise::{check_custom, unknown};
use super::statements::{LogPlans, LogStatement, PlanCacheMode, QueryIds, Track};
use super::values::{boolean, flag};
use super::{DEFAULT_PATH, Settings, number, range, small};
use super::{accepted, fixed, path, zone};

/// A number that may be less than none, in bytes, in milliseconds, or as it is.
fn signed(name: &str, value: Option<&str>) -> Result<Option<i64>, SqlError> {
    value.zip(range(name)).map(|(value, range)| range.read(name, value)).transpose()
}

impl Settings {
    fn timeout(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "statement_timeout" => &mut self.statement_timeout_ms,
            "lock_timeout" => &mut self.lock_timeout_ms,
            "idle_in_transaction_session_timeout" => &mut self.idle_in_transaction_timeout_ms,
            "idle_session_timeout" => &mut self.idle_session_timeout_ms,
            "transaction_timeout" => &mut self.transaction_timeout_ms,
            _ => return None,
        })
    }

    /// Brings one back to what it is in `defaults`.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn reset(&mut self, name: &str, defaults: &Settings) -> Result<(), SqlError> {
        match name {
            // What the session began with may be that it leaves it to the database.
            "log_min_duration_statement" => self.log_min_duration_ms = defaults.log_min_duration_ms,
            "pg_stat_statements.track" => self.tracks.which = defaults.tracks.which,
            "commit_wait" => self.commit.wait = defaults.commit.wait,
            "commit_logging" => self.commit.logging = defaults.commit.logging,
            "synchronous_commit" => self.commit = defaults.commit,
            "begin_options" => {
                let Settings { isolation, read_only, deferrable, savepoints, .. } = *defaults;
                (self.isolation, self.read_only) = (isolation, read_only);
                (self.deferrable, self.savepoints) = (deferrable, savepoints);
            }
            name => self.set(name, defaults.show(name).as_deref())?,
        }
        Ok(())
    }

    /// `begin_options`: all that BEGIN without words of its own begins a transaction with, as one list; what it does not name
    /// is as usual.
    fn set_begin_options(&mut self, list: &str) -> Result<(), SqlError> {
        let mut wanted = Settings::default();
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let plain = word.to_ascii_lowercase().replace(['_', '-'], " ");
            match plain.as_str() {
                "no savepoint" => wanted.savepoints = false,
                "savepoint" => wanted.savepoints = true,
                "read only" => wanted.read_only = true,
                "read write" => wanted.read_only = false,
                "deferrable" => wanted.deferrable = true,
                "not deferrable" => wanted.deferrable = false,
                level => {
                    wanted.isolation = IsolationLevel::parse(level).ok_or_else(|| {
                        let text = format!("invalid value for parameter \"begin_options\": \"{list}\"");
                        SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text).with_hint(
                            "A list of no_savepoint, read_only, deferrable, their opposites (savepoint, read_write, not_deferrable), and an isolation level.",
                        )
                    })?;
                }
            }
        }
        (self.isolation, self.read_only) = (wanted.isolation, wanted.read_only);
        (self.deferrable, self.savepoints) = (wanted.deferrable, wanted.savepoints);
        Ok(())
    }

    /// Sets one; `None` is what it is without a configuration.
    ///
    /// # Errors
    /// 22023 for a value that it cannot have, 42704 if there is none of that name, 55P02 if nobody can change it.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let default = Settings::default();
        let invalid = |value: &str| {
            let shown = match name {
                "timezone" => "TimeZone",
                "datestyle" => "DateStyle",
                "intervalstyle" => "IntervalStyle",
                name => name,
            };
            let text = format!("invalid value for parameter \"{shown}\": \"{value}\"");
            SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
        };
        match (name, value) {
            ("timezone", None) => {
                self.time_zone_name = default.time_zone_name;
                self.time_zone.zone = default.time_zone.zone;
            }
            ("timezone", Some(value)) => {
                let fixed = zone::fixed(value).map_err(|detail| invalid(value).with_detail(detail))?;
                let name = fixed.unwrap_or_else(|| value.to_string());
                self.time_zone.zone = zone::of_name(&name).ok_or_else(|| invalid(value))?;
                // Shown as the list of zones writes it.
                self.time_zone_name = match self.time_zone.zone.iana_name() {
                    Some(known) if known.eq_ignore_ascii_case(&name) => known.to_string(),
                    Some(_) => name,
                    None => name.to_ascii_uppercase(),
                };
            }
            ("executor", value) => {
                self.executor = match value.map(str::to_ascii_lowercase).as_deref() {
                    None | Some("auto") => Executor::Auto,
                    Some("row") => Executor::Row,
                    Some("vector") => Executor::Vector,
                    Some(value) => {
                        return Err(invalid(value).with_hint("Available values: auto, row, vector."));
                    }
                };
            }
            ("default_transaction_isolation", None) => self.isolation = default.isolation,
            ("default_transaction_isolation", Some(value)) => {
                self.isolation = IsolationLevel::parse(value).ok_or_else(|| {
                    invalid(value).with_hint(
                        "Available values: serializable, repeatable read, read committed, read uncommitted.",
                    )
                })?;
            }
            ("default_transaction_read_only", value) => {
                self.read_only = flag(name, value, default.read_only)?
            }
            ("default_transaction_deferrable", value) => {
                self.deferrable = flag(name, value, default.deferrable)?
            }
            ("default_transaction_savepoints", value) => {
                self.savepoints = flag(name, value, default.savepoints)?
            }
            ("begin_options", value) => self.set_begin_options(value.unwrap_or_default())?,
            ("application_name", value) => self.application_name = value.unwrap_or_default().to_string(),
            ("default_text_search_config", None) => self.text_search_config = default.text_search_config,
            ("default_text_search_config", Some(value)) => {
                let known = text_search::configuration(value).ok_or_else(|| invalid(value))?;
                self.text_search_config = format!("pg_catalog.{known}");
            }
            ("work_mem", value) => {
                self.work_memory_bytes = number(name, value, default.work_memory_bytes)?;
            }
            ("maintenance_memory" | "maintenance_work_mem", value) => {
                self.maintenance_memory_bytes = number(name, value, default.maintenance_memory_bytes)?;
            }
            ("parallel_workers", value) => {
                self.parallel_workers = value.map(|_| small(name, value, 1)).transpose()?;
            }
            ("pdq_priority" | "pdqpriority", value) => {
                let value = value.filter(|value| !value.eq_ignore_ascii_case("default"));
                self.pdq_priority = value.map(|_| small(name, value, 0)).transpose()?;
            }
            ("min_parallel_table_scan_size", value) => {
                self.parallel_scan_bytes = number(name, value, default.parallel_scan_bytes)?;
            }
            ("verso_rules_off", value) => {
                let list = value.unwrap_or_default();
                let rules = Rules::without(list).ok_or_else(|| {
                    invalid(list).with_hint(format!("Available values: all, {}.", Rules::NAMES.join(", ")))
                })?;
                self.rules = Rules { methods: self.rules.methods, ..rules };
                self.rules_off = list.to_string();
            }
            ("statement_memory_limit", value) => self.statement_memory_bytes = number(name, value, 0)?,
            ("session_memory_limit", value) => self.session_memory_bytes = number(name, value, 0)?,
            ("temp_file_limit", value) => {
                // -1, PostgreSQL's word for no limit, is no number of bytes.
                self.temp_file_bytes = signed(name, value)?.and_then(|bytes| u64::try_from(bytes).ok());
            }
            (name, _) if OF_DATABASE.contains(&name) => {
                let text = format!("parameter \"{name}\" cannot be changed for a session");
                return Err(SqlError::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, text)
                    .with_hint(format!("ALTER DATABASE SET {name} = … changes it for all of them.")));
            }
            ("commit_wait" | "commit_logging" | "synchronous_commit", value) => {
                self.commit.set(name, value)?;
            }
            ("procedure_commit", value) => {
                self.procedure_waits_later = match value.map(str::to_ascii_lowercase).as_deref() {
                    None | Some("deferred_wait") => true,
                    Some("wait") => false,
                    Some(value) => {
                        return Err(invalid(value).with_hint("Available values: deferred_wait, wait."));
                    }
                };
            }
            ("client_min_messages", value) => {
                let level = |value: &str| {
                    MessageLevel::named(value).ok_or_else(|| invalid(value).with_hint(MessageLevel::HINT))
                };
                self.messages_from = value.map_or(Ok(MessageLevel::Notice), level)?;
            }
            ("log_min_duration_statement", value) => {
                self.log_min_duration_ms = signed(name, value)?;
            }
            ("log_statement", value) => {
                let wanted = value.unwrap_or("none");
                let found = LogStatement::ALL.into_iter().find(|one| wanted.eq_ignore_ascii_case(one.name()));
                self.log_statement = found
                    .ok_or_else(|| invalid(wanted).with_hint("Available values: none, ddl, mod, all."))?;
            }
            ("log_min_messages" | "log_min_error_statement" | "log_error_verbosity", value) => {
                let set = self.log.set(name, value);
                set.map_err(|hint| invalid(value.unwrap_or_default()).with_hint(hint))?;
            }
            ("log_plans", value) => {
                self.log_plans = match value.map(str::to_ascii_lowercase).as_deref() {
                    Some("analyze") => LogPlans::Analyze,
                    _ => match flag(name, value, false) {
                        Ok(true) => LogPlans::On,
                        Ok(false) => LogPlans::Off,
                        Err(_) => {
                            let text = value.unwrap_or_default();
                            return Err(invalid(text).with_hint("Available values: off, on, analyze."));
                        }
                    },
                };
            }
            ("plan_cache_mode", value) => {
                let named =
                    |mode: &PlanCacheMode| value.is_some_and(|value| value.eq_ignore_ascii_case(mode.name()));
                self.plan_cache_mode = match value {
                    None => default.plan_cache_mode,
                    Some(value) => PlanCacheMode::ALL.into_iter().find(named).ok_or_else(|| {
                        invalid(value)
                            .with_hint("Available values: auto, force_generic_plan, force_custom_plan.")
                    })?,
                };
            }
            ("compute_query_id", value) => {
                let wanted = value.unwrap_or("auto");
                let named = |ids: &QueryIds| wanted.eq_ignore_ascii_case(ids.name());
                self.tracks.ids = match QueryIds::ALL.into_iter().find(named) {
                    Some(ids) => ids,
                    None => match boolean(wanted) {
                        Some(true) => QueryIds::On,
                        Some(false) => QueryIds::Off,
                        None => {
                            let hint = "Available values: auto, regress, on, off.";
                            return Err(invalid(wanted).with_hint(hint));
                        }
                    },
                };
            }
            ("pg_stat_statements.track", value) => {
                let named = |wanted: &str| {
                    let found = Track::ALL.into_iter().find(|one| wanted.eq_ignore_ascii_case(one.name()));
                    found.ok_or_else(|| invalid(wanted).with_hint("Available values: none, top, all."))
                };
                self.tracks.which = value.map(named).transpose()?;
            }
            ("pg_stat_statements.track_utility", value) => self.tracks.utility = flag(name, value, true)?,
            ("pg_stat_statements.track_planning", value) => self.tracks.planning = flag(name, value, false)?,
            ("stmt_cache", value) => {
                self.keeps_statements = flag(name, value, default.keeps_statements)?;
            }
            ("statement_statistics", value) => {
                self.statement_statistics = flag(name, value, default.statement_statistics)?;
            }
            (
                "statement_timeout"
                | "lock_timeout"
                | "idle_in_transaction_session_timeout"
                | "idle_session_timeout"
                | "transaction_timeout",
                value,
            ) => {
                let milliseconds = number(name, value, 0)?;
                if let Some(timeout) = self.timeout(name) {
                    *timeout = milliseconds;
                }
            }
            ("client_encoding", value) => {
                let value = value.unwrap_or("UTF8");
                let encoding = Encoding::named(value).ok_or_else(|| invalid(value))?;
                if !encoding.is_known() {
                    let detail = format!("Conversion between {} and UTF8 is not supported.", encoding.name());
                    let text = invalid(value).message;
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(detail));
                }
                self.time_zone.encoding = encoding;
            }
            ("datestyle", None) => {
                (self.time_zone.date, self.time_zone.order) = (DateStyle::Iso, DateOrder::Mdy);
            }
            ("datestyle", Some(value)) => {
                self.time_zone.set_date_style(value).map_err(|detail| invalid(value).with_detail(detail))?;
            }
            ("standard_conforming_strings", value) => {
                if !flag(name, value, true)? {
                    return Err(SqlError::unsupported(format!("{name} = off"))
                        .with_hint("Write E'…' where a backslash is to escape."));
                }
            }
            ("intervalstyle", None) => self.time_zone.interval = IntervalStyle::Postgres,
            ("intervalstyle", Some(value)) => {
                if !self.time_zone.set_interval_style(value) {
                    return Err(invalid(value)
                        .with_hint("Available values: postgres, postgres_verbose, sql_standard, iso_8601."));
                }
            }
            ("bytea_output", value) => {
                self.time_zone.escapes_bytes = match value.map(str::to_ascii_lowercase).as_deref() {
                    None | Some("hex") => false,
                    Some("escape") => true,
                    Some(value) => return Err(invalid(value).with_hint("Available values: escape, hex.")),
                };
            }
            ("extra_float_digits", value) => {
                let digits = signed(name, value)?.and_then(|digits| i8::try_from(digits).ok());
                self.time_zone.float_digits = digits.unwrap_or(1);
            }
            ("scram_iterations", value) => {
                self.scram_iterations = small(name, value, default.scram_iterations)?;
            }
            ("row_security", value) => self.row_security = flag(name, value, true)?,
            ("quote_all_identifiers", value) => self.quote_all_identifiers = flag(name, value, false)?,
            ("search_path", value) => {
                let value = value.unwrap_or(DEFAULT_PATH);
                self.search_path = path::names(value)
                    .ok_or_else(|| invalid(value).with_detail("List syntax is invalid."))?;
                self.search_path_text = value.to_string();
            }
            (name, _)
                if [
                    "server_version",
                    "server_version_num",
                    "server_encoding",
                    "block_size",
                    "archive_mode",
                ]
                .contains(&name)
                    || fixed::value(name).is_some() =>
            {
                let text = format!("parameter \"{name}\" cannot be changed");
                return Err(SqlError::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, text));
            }
            (name, value) if self.rules.methods.by_setting(name).is_some() => {
                let is_on = flag(name, value, true)?;
                self.rules.methods.by_setting(name).into_iter().for_each(|method| *method = is_on);
            }
            (name, value) if name.contains('.') && accepted::default(name).is_none() => {
                check_custom(name)?;
                // Without a value it is as usual.
                if let Some(value) = value.filter(|value| accepted::is_threshold(name) && !value.is_empty()) {
                    accepted::check(name, value, invalid)?;
                }
                self.named.lock().insert(name.to_string());
                self.custom.insert(name.into(), value.unwrap_or_default().into());
            }
            (name, value) => {
                let usual = accepted::default(name).ok_or_else(|| unknown(name))?;
                let value = value.unwrap_or(usual);
                accepted::check(name, value, invalid)?;
                self.custom.insert(name.into(), accepted::shown(name, value).into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_take_what_they_know_and_refuse_the_rest() {
        let mut settings = Settings::default();
        settings.set("executor", Some("ROW")).expect("known");
        assert_eq!(settings.show("executor").as_deref(), Some("row"));
        settings.set("default_transaction_isolation", Some("snapshot")).expect("alias");
        assert_eq!(settings.show("default_transaction_isolation").as_deref(), Some("repeatable read"));
        settings.set("default_transaction_savepoints", Some("off")).expect("boolean");
        assert!(!settings.savepoints);
        settings.set("default_transaction_savepoints", None).expect("default");
        assert!(settings.savepoints);
        assert_eq!(settings.set("executor", Some("fast")).expect_err("unknown").sqlstate, "22023");
        assert_eq!(settings.set("nosuch", Some("1")).expect_err("unknown").sqlstate, "42704");
        assert_eq!(settings.set("server_version", Some("1")).expect_err("fixed").sqlstate, "55P02");
        for name in ["a b.c", "custom.bad-guc", "a.", ".b", "a..b", "1a.b", "a.1b", "plpgsql.foo"] {
            assert_eq!(settings.set(name, Some("1")).expect_err(name).sqlstate, "42602", "{name}");
            assert_eq!(settings.set(name, None).expect_err(name).sqlstate, "42602", "{name}");
        }
        for name in ["a.b", "a.b.c", "_a.b$1", "ä.ö"] {
            settings.set(name, Some("1")).expect(name);
        }
        settings.set("work_mem", Some("4MB")).expect("memory");
        assert_eq!(settings.show("work_mem").as_deref(), Some("4MB"));
        assert!(settings.set("work_mem", Some("1 cow")).is_err());
    }

    #[test]
    fn timeouts_have_units() {
        let mut settings = Settings::default();
        for (given, shown) in [
            ("1500", "1500ms"),
            ("2s", "2s"),
            ("90 s", "90s"),
            ("1.5min", "90s"),
            ("120s", "2min"),
            ("1h", "1h"),
            ("0", "0"),
        ] {
            settings.set("statement_timeout", Some(given)).expect(given);
            assert_eq!(settings.show("statement_timeout").as_deref(), Some(shown), "{given}");
        }
        for wrong in ["-1", "1 year", "soon", "30d"] {
            assert_eq!(settings.set("lock_timeout", Some(wrong)).expect_err(wrong).sqlstate, "22023");
        }
    }

    #[test]
    fn zones_are_found_by_name() {
        let mut settings = Settings::default();
        settings.set("timezone", Some("Europe/Berlin")).expect("known");
        assert_eq!(settings.time_zone_name, "Europe/Berlin");
        assert!(settings.set("timezone", Some("Mars/Base")).is_err());
    }
}
