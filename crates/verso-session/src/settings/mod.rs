//! The settings a session has: their names, values and texts, and what BEGIN takes from them.

mod accepted;
mod aliases;
mod commit;
mod current;
mod kinds;
mod messages;
mod otherwise;
mod path;
mod superuser;
mod zone;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use verso_catalog::Oid;
use verso_env::sync::Mutex;
use verso_exec::Executor;
use verso_exec::functions::text_search;
use verso_types::{DateOrder, DateStyle, IntervalStyle, TimeStyle, TimeZone};

use verso_parser::syntax::IsolationLevel;
use verso_planner::Rules;
use verso_planner::errors::{SqlError, sqlstate};

pub(crate) use aliases::{are_aliases, is_of_commits};
pub use commit::CommitLevel;
pub(crate) use commit::{OwedWait, Written, written};
pub(crate) use current::{Asked, Change, ChangedSettings, KnownRole, SessionSettings};
pub(crate) use kinds::{Allowed, allowed};
pub use messages::{LogLevel, LogSettings, LogVerbosity, MessageLevel};
pub use otherwise::unknown;
pub(crate) use path::names;
pub(crate) use superuser::{check_may_set, needs_superuser};

/// Names and descriptions, in the order of SHOW ALL.
pub const SETTINGS: &[(&str, &str)] = &[
    ("application_name", "Sets the application name to be reported in statistics and logs."),
    (
        "archive_target",
        "Folder, or s3://bucket/prefix, to which the log is archived; empty for none (ALTER SYSTEM SET).",
    ),
    (
        "archive_timeout",
        "Longest time until a change is archived; 0 waits for full segments (ALTER SYSTEM SET).",
    ),
    ("autovacuum", "Analyzes tables by itself of which enough rows have changed (ALTER SYSTEM SET)."),
    (
        "auto_readahead",
        "How scans read pages before they need them: 'mode,pages', mode 0 not at all, 1 the next pages, 2 the first ones, too (ALTER SYSTEM SET).",
    ),
    (
        "autovacuum_analyze_scale_factor",
        "Share of a table's rows that change before it is analyzed by itself (ALTER SYSTEM SET).",
    ),
    (
        "autovacuum_analyze_threshold",
        "Rows that change, beside that share, before it is analyzed by itself (ALTER SYSTEM SET).",
    ),
    ("autovacuum_naptime", "A table is analyzed by itself at most once in this time (ALTER SYSTEM SET)."),
    ("checkpoint_interval", "Longest time between checkpoints (ALTER SYSTEM SET)."),
    ("buffer_pool", "Memory that pages of the database take (ALTER SYSTEM SET)."),
    (
        "auto_backout",
        "Whether pages of dead transactions are put right by a thread of its own (ALTER DATABASE SET).",
    ),
    ("bytea_output", "Sets the output format for bytea."),
    ("client_encoding", "Sets the client's character set encoding."),
    ("client_min_messages", "Sets the message levels that are sent to the client."),
    ("colocate", "Whether tables place what one transaction writes in pages of its own (ALTER SYSTEM SET)."),
    ("compress", "Whether cold pages of tables are packed by themselves (ALTER SYSTEM SET)."),
    (
        "compress_delay",
        "How long pages are unchanged before they are packed by themselves (ALTER SYSTEM SET).",
    ),
    ("commit_logging", "Whether the log of a commit is written at once or with others: immediate or batch."),
    ("commit_wait", "Whether a commit waits for the disk: wait, nowait or force_wait."),
    ("datestyle", "Sets the display format for date and time values."),
    ("default_text_search_config", "Sets default text search configuration."),
    ("default_transaction_deferrable", "Sets the default deferrable status of new transactions."),
    ("default_transaction_isolation", "Sets the transaction isolation level of each new transaction."),
    ("default_transaction_read_only", "Sets the default read-only status of new transactions."),
    ("default_transaction_savepoints", "Off: each new transaction is a NO SAVEPOINT transaction."),
    ("enable_bitmapscan", "Enables reading tables by several indexes together, and by inverted indexes."),
    ("enable_hashjoin", "Enables joins by hash tables; off: they are the last resort."),
    ("enable_indexscan", "Enables reading tables by indexes."),
    ("enable_mergejoin", "Enables joins of sorted inputs; off: they are the last resort."),
    ("enable_nestloop", "Enables looking partners up for each row of a join; off: that is the last resort."),
    ("enable_seqscan", "Enables reading a table as a whole where an index would do."),
    ("executor", "Chooses the executor: auto, row or vector."),
    ("extra_float_digits", "Sets the number of digits displayed for floating-point values."),
    (
        "gc_policy",
        "Who removes old versions: a thread of its own (background), transactions when they end (cooperative), or both (combined) (ALTER SYSTEM SET).",
    ),
    ("idle_in_transaction_session_timeout", "Ends a session whose transaction idles longer than this."),
    ("idle_session_timeout", "Ends a session that idles longer than this outside of a transaction."),
    ("intervalstyle", "Sets the display format for interval values."),
    (
        "long_tx_action",
        "What happens beyond long_tx_wal_limit: warn, cancel or terminate (ALTER SYSTEM SET).",
    ),
    ("long_tx_wal_limit", "Most log that a transaction may span; 0 is no limit (ALTER SYSTEM SET)."),
    ("lock_timeout", "Ends a statement that waits longer than this for a lock."),
    ("log_error_verbosity", "Sets the verbosity of logged messages."),
    ("log_min_duration_statement", "Logs statements that take so long or longer; -1 logs none."),
    (
        "log_min_error_statement",
        "Causes all statements generating error at or above this level to be logged.",
    ),
    ("log_min_messages", "Sets the message levels that are logged."),
    ("log_statement", "Sets the type of statements logged."),
    ("log_plans", "Logs the plans of slow statements, too: off, on, or analyze, with what was measured."),
    (
        "lru_max_dirty",
        "The page cleaner starts when so many per cent of the buffer pool are dirty (ALTER SYSTEM SET).",
    ),
    (
        "lru_min_dirty",
        "The page cleaner stops when so many per cent of the buffer pool are dirty (ALTER SYSTEM SET).",
    ),
    ("maintenance_memory", "Memory that sorting an index may take; beyond it temporary files are used."),
    ("max_parallel_workers", "Most workers of a query or of a job of maintenance (ALTER DATABASE SET)."),
    (
        "max_pdq_priority",
        "The part of their pdq_priority that statements get, in per cent (ALTER SYSTEM SET).",
    ),
    (
        "max_snapshot_age",
        "Ends statements and transactions whose snapshot is older than this; 0 is never (ALTER SYSTEM SET).",
    ),
    ("max_wal_size", "Most log between checkpoints (ALTER SYSTEM SET)."),
    ("memory_limit", "Limits the memory of all statements of the database (ALTER DATABASE SET)."),
    (
        "min_parallel_table_scan_size",
        "A query reads tables with several workers where it reads so much or more.",
    ),
    (
        "pdq_priority",
        "The part of the machine that a statement with workers asks for, in per cent; default is to ask for nothing and to take what is free.",
    ),
    (
        "parallel_workers",
        "Workers of a query or of a job of maintenance: of CREATE INDEX, REINDEX and SWEEP.",
    ),
    ("plan_cache_mode", "Controls the planner's selection of custom or generic plan."),
    (
        "procedure_commit",
        "When commits within a procedure wait: once at its end (deferred_wait), or each (wait).",
    ),
    ("row_security", "Enables row security."),
    ("scram_iterations", "Sets the iteration count for SCRAM secret generation."),
    ("search_path", "Sets the schema search order for names that are not schema-qualified."),
    ("server_encoding", "Shows the server (database) character set encoding."),
    ("server_version", "Shows the server version."),
    ("server_version_num", "Shows the server version as an integer."),
    ("session_memory_limit", "Limits the memory that a session's statements and portals hold."),
    ("standard_conforming_strings", "Causes '...' strings to treat backslashes literally."),
    ("statement_memory_limit", "Limits the memory that a statement holds."),
    ("statement_statistics", "Counts what each statement costs, for SHOW STATEMENT STATISTICS."),
    ("statement_timeout", "Ends a statement that runs longer than this."),
    ("stmt_cache", "Whether the session looks for a text among those whose plans are kept for all sessions."),
    ("stmt_cache_size", "How many texts are kept for all sessions (ALTER SYSTEM SET)."),
    ("sweep_interval", "Transactions after which a sweep starts by itself; 0 is never (ALTER DATABASE SET)."),
    ("synchronous_commit", "Sets commit_wait and commit_logging: off is nowait and batch."),
    ("temp_file_limit", "Limits the temporary files of a session."),
    ("timezone", "Sets the time zone for displaying and interpreting time stamps."),
    ("transaction_deferrable", "Shows whether the current transaction waits for a safe snapshot."),
    ("transaction_isolation", "Shows the current transaction's isolation level."),
    ("transaction_read_only", "Shows the current transaction's read-only status."),
    ("transaction_savepoints", "Shows whether the current transaction has savepoints."),
    ("transaction_timeout", "Ends a session whose transaction lasts longer than this."),
    ("verso_rules_off", "Switches rewrites of plans off, by name, to compare answers in tests."),
    (
        "version_retention",
        "How long old versions stay, so that AS OF reads them; 0 is not at all (ALTER SYSTEM SET).",
    ),
    (
        "version_retention_size",
        "Most space of old versions, beyond which version_retention is cut short; 0 is no limit (ALTER SYSTEM SET).",
    ),
    ("wal_spare_size", "Most bytes of log files kept ready to be written (ALTER SYSTEM SET)."),
    ("work_mem", "Sets the maximum memory to be used for query workspaces."),
    ("worker_idle_timeout", "How long a worker without work stays (ALTER DATABASE SET)."),
];

/// Those of the database as a whole, which nobody sets for a session.
pub(crate) const OF_DATABASE: [&str; 31] = [
    "archive_target",
    "archive_timeout",
    "auto_backout",
    "auto_readahead",
    "autovacuum",
    "autovacuum_analyze_scale_factor",
    "autovacuum_analyze_threshold",
    "autovacuum_naptime",
    "buffer_pool",
    "checkpoint_interval",
    "checkpoint_timeout",
    "colocate",
    "compress",
    "compress_delay",
    "gc_policy",
    "long_tx_action",
    "long_tx_wal_limit",
    "lru_max_dirty",
    "lru_min_dirty",
    "max_parallel_workers",
    "max_pdq_priority",
    "max_snapshot_age",
    "max_wal_size",
    "memory_limit",
    "shared_buffers",
    "stmt_cache_size",
    "sweep_interval",
    "version_retention",
    "version_retention_size",
    "wal_spare_size",
    "worker_idle_timeout",
];

/// The search path of a session that sets none.
const DEFAULT_PATH: &str = "\"$user\", public";

/// The modes of a running transaction, as SHOW tells them.
#[derive(Clone, Copy)]
pub(crate) struct ShownModes {
    pub(crate) isolation: &'static str,
    pub(crate) read_only: bool,
    pub(crate) savepoints: bool,
    pub(crate) deferrable: bool,
}

/// The values of one session.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The zone's name as given.
    pub time_zone_name: String,
    /// The zone, and the styles of dates and intervals.
    pub time_zone: TimeStyle,
    /// Which executor runs statements.
    pub executor: Executor,
    /// Level of new transactions.
    pub isolation: IsolationLevel,
    /// New transactions only read.
    pub read_only: bool,
    /// New transactions have savepoints.
    pub savepoints: bool,
    /// New transactions, if serializable and read-only, wait for a safe snapshot.
    pub deferrable: bool,
    /// What the client calls itself.
    pub application_name: String,
    /// The configuration of text search where a call names none.
    pub text_search_config: String,
    /// What a sort, a grouping or a spool may use.
    pub work_memory_bytes: u64,
    /// What sorting an index may use.
    pub maintenance_memory_bytes: u64,
    /// Workers of a query or a job of maintenance, where the session says something about it.
    pub parallel_workers: Option<u32>,
    /// The part of the machine that statements with workers ask for, in per cent.
    pub pdq_priority: Option<u8>,
    /// Bytes of tables that a query must read for it to have several workers.
    pub parallel_scan_bytes: u64,
    /// What a statement may hold; 0 is as much as the session and the instance allow, here and below.
    pub statement_memory_bytes: u64,
    /// What a session may hold, with its portals and cursors.
    pub session_memory_bytes: u64,
    /// What the temporary files of a session may hold.
    pub temp_file_bytes: u64,
    /// Statements are measured.
    pub statement_statistics: bool,
    /// How long a statement may run; 0 is as long as it wants, here and below.
    pub statement_timeout_ms: u64,
    /// How long it may wait for one lock.
    pub lock_timeout_ms: u64,
    /// How long a transaction may idle.
    pub idle_in_transaction_timeout_ms: u64,
    /// How long a session may idle outside of a transaction before it ends; 0 for any time.
    pub idle_session_timeout_ms: u64,
    /// How long a transaction may last.
    pub transaction_timeout_ms: u64,
    /// Statements that take so long are logged; -1 for none, and nothing where the database says it.
    pub log_min_duration_ms: Option<i64>,
    /// Whether their plans are.
    pub log_plans: LogPlans,
    /// Whether prepared statements are planned for the values of their parameters.
    pub plan_cache_mode: PlanCacheMode,
    /// Which statements are logged when they begin.
    pub log_statement: LogStatement,
    /// What the log gets of messages and errors.
    pub log: LogSettings,
    /// From which level on messages go to the client.
    pub messages_from: MessageLevel,
    /// How commits are written, where the session says something about it.
    pub commit: CommitLevel,
    /// A commit within a procedure does not wait before the procedure ends.
    pub procedure_waits_later: bool,
    /// Texts are looked up among those whose plans are kept.
    pub keeps_statements: bool,
    /// Which rewrites of plans are on.
    pub rules: Rules,
    /// The setting that says so.
    pub rules_off: String,
    /// The schemas in which names without one are looked up, in order.
    pub search_path: Vec<Arc<str>>,
    /// The setting that says so.
    pub search_path_text: String,
    /// SET ROLE: the role that statements run as, and its name.
    pub role: Option<(Oid, Arc<str>)>,
    /// SET SESSION AUTHORIZATION: the role that the session belongs to from then on.
    pub session_role: Option<(Oid, Arc<str>)>,
    /// `client_encoding` is SQL_ASCII: the client takes UTF-8 for bytes that it does not convert.
    pub bare_texts: bool,
    /// Rounds of the verifiers that are made of passwords.
    pub scram_iterations: u32,
    /// Policies decide which rows are seen; else that they would is an error.
    pub row_security: bool,
    /// Of the client's own making: names with a period.
    pub custom: BTreeMap<String, String>,
    /// The names that `custom` has ever had in this session: without a value they are empty from then on, as in PostgreSQL,
    /// also where SET LOCAL or a transaction that was rolled back has set them.
    pub named: Arc<Mutex<BTreeSet<String>>>,
}

/// Which statements are logged when they begin; each of these includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogStatement {
    /// None.
    #[default]
    None,
    /// Those that define something.
    Ddl,
    /// Those that change rows.
    Mod,
    /// All.
    All,
}

impl LogStatement {
    const ALL: [LogStatement; 4] =
        [LogStatement::None, LogStatement::Ddl, LogStatement::Mod, LogStatement::All];

    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            LogStatement::None => "none",
            LogStatement::Ddl => "ddl",
            LogStatement::Mod => "mod",
            LogStatement::All => "all",
        }
    }
}

/// What is logged of the plans of slow statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogPlans {
    /// Nothing.
    #[default]
    Off,
    /// The plan.
    On,
    /// The plan, with what each operator did.
    Analyze,
}

impl LogPlans {
    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            LogPlans::Off => "off",
            LogPlans::On => "on",
            LogPlans::Analyze => "analyze",
        }
    }
}

/// Whether a prepared statement is planned anew for the values of its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanCacheMode {
    /// As long as that may pay.
    #[default]
    Auto,
    /// Never.
    ForceGeneric,
    /// Each time.
    ForceCustom,
}

impl PlanCacheMode {
    const ALL: [PlanCacheMode; 3] =
        [PlanCacheMode::Auto, PlanCacheMode::ForceGeneric, PlanCacheMode::ForceCustom];

    /// As SHOW prints it.
    pub fn name(self) -> &'static str {
        match self {
            PlanCacheMode::Auto => "auto",
            PlanCacheMode::ForceGeneric => "force_generic_plan",
            PlanCacheMode::ForceCustom => "force_custom_plan",
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            time_zone_name: "UTC".to_string(),
            time_zone: TimeStyle::UTC,
            executor: Executor::Auto,
            isolation: IsolationLevel::ReadCommitted,
            read_only: false,
            savepoints: true,
            deferrable: false,
            application_name: String::new(),
            text_search_config: "pg_catalog.english".to_string(),
            work_memory_bytes: 256 << 20,
            maintenance_memory_bytes: 256 << 20,
            parallel_workers: None,
            pdq_priority: None,
            parallel_scan_bytes: 4 << 20,
            statement_memory_bytes: 0,
            session_memory_bytes: 0,
            temp_file_bytes: 0,
            statement_statistics: false,
            statement_timeout_ms: 0,
            lock_timeout_ms: 0,
            idle_in_transaction_timeout_ms: 0,
            idle_session_timeout_ms: 0,
            transaction_timeout_ms: 0,
            log_min_duration_ms: None,
            log_statement: LogStatement::None,
            log_plans: LogPlans::Off,
            plan_cache_mode: PlanCacheMode::Auto,
            log: LogSettings::default(),
            messages_from: MessageLevel::Notice,
            commit: CommitLevel::default(),
            procedure_waits_later: true,
            keeps_statements: true,
            rules: Rules::ALL,
            rules_off: String::new(),
            search_path: path::names(DEFAULT_PATH).unwrap_or_default(),
            search_path_text: DEFAULT_PATH.to_string(),
            role: None,
            session_role: None,
            bare_texts: false,
            scram_iterations: crate::scram::ITERATIONS,
            row_security: true,
            custom: BTreeMap::new(),
            named: Arc::default(),
        }
    }
}

impl Settings {
    /// Whether any timeout is set.
    pub fn has_timeouts(&self) -> bool {
        let timeouts = [
            self.statement_timeout_ms,
            self.lock_timeout_ms,
            self.idle_in_transaction_timeout_ms,
            self.idle_session_timeout_ms,
            self.transaction_timeout_ms,
        ];
        timeouts.iter().any(|timeout| *timeout > 0)
    }

    /// What sorting an index may use, where a statement may not hold as much: what it holds besides has to fit, too.
    pub(crate) fn job_memory_bytes(&self) -> u64 {
        let limits = [self.statement_memory_bytes, self.session_memory_bytes];
        let halves = limits.into_iter().filter(|limit| *limit > 0).map(|limit| limit / 2);
        halves.fold(self.maintenance_memory_bytes, u64::min)
    }

    /// How long to wait for one lock.
    pub fn lock_timeout(&self) -> Option<Duration> {
        (self.lock_timeout_ms > 0).then(|| Duration::from_millis(self.lock_timeout_ms))
    }

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
            "commit_wait" => self.commit.wait = defaults.commit.wait,
            "commit_logging" => self.commit.logging = defaults.commit.logging,
            "synchronous_commit" => self.commit = defaults.commit,
            name => self.set(name, defaults.show(name).as_deref())?,
        }
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
                self.time_zone.zone = time_zone(&name).ok_or_else(|| invalid(value))?;
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
            ("application_name", value) => self.application_name = value.unwrap_or_default().to_string(),
            ("default_text_search_config", None) => self.text_search_config = default.text_search_config,
            ("default_text_search_config", Some(value)) => {
                let known = text_search::configuration(value).ok_or_else(|| invalid(value))?;
                self.text_search_config = format!("pg_catalog.{known}");
            }
            ("work_mem", None) => self.work_memory_bytes = default.work_memory_bytes,
            ("work_mem", Some(value)) => {
                let bytes = memory_bytes(value).filter(|bytes| *bytes >= 64 << 10);
                self.work_memory_bytes = bytes
                    .ok_or_else(|| invalid(value).with_hint("At least 64kB; units are kB, MB and GB."))?;
            }
            ("maintenance_memory" | "maintenance_work_mem", None) => {
                self.maintenance_memory_bytes = default.maintenance_memory_bytes;
            }
            ("maintenance_memory" | "maintenance_work_mem", Some(value)) => {
                let bytes = memory_bytes(value).filter(|bytes| *bytes >= 64 << 10);
                self.maintenance_memory_bytes = bytes
                    .ok_or_else(|| invalid(value).with_hint("At least 64kB; units are kB, MB and GB."))?;
            }
            ("parallel_workers", value) => {
                let workers = |value: &str| {
                    let number = value.trim().parse().ok().filter(|number| (1..=1024).contains(number));
                    number.ok_or_else(|| invalid(value).with_hint("Between 1 and 1024."))
                };
                self.parallel_workers = value.map(workers).transpose()?;
            }
            ("pdq_priority" | "pdqpriority", value) => {
                let parse = |value: &str| {
                    let number = value.trim().parse().ok().filter(|number| (0..=100).contains(number));
                    number.ok_or_else(|| invalid(value).with_hint("Between 0 and 100, or default."))
                };
                let value = value.filter(|value| !value.eq_ignore_ascii_case("default"));
                self.pdq_priority = value.map(parse).transpose()?;
            }
            ("min_parallel_table_scan_size", None) => self.parallel_scan_bytes = default.parallel_scan_bytes,
            ("min_parallel_table_scan_size", Some(value)) => {
                let bytes = memory_bytes(value);
                self.parallel_scan_bytes =
                    bytes.ok_or_else(|| invalid(value).with_hint("Units are kB, MB and GB."))?;
            }
            ("verso_rules_off", value) => {
                let list = value.unwrap_or_default();
                let rules = Rules::without(list).ok_or_else(|| {
                    invalid(list).with_hint(format!("Available values: all, {}.", Rules::NAMES.join(", ")))
                })?;
                self.rules = Rules { methods: self.rules.methods, ..rules };
                self.rules_off = list.to_string();
            }
            ("statement_memory_limit" | "session_memory_limit" | "temp_file_limit", value) => {
                let bytes = match value {
                    // -1 is PostgreSQL's word for no limit.
                    None | Some("-1") => 0,
                    Some(value) => {
                        memory_bytes(value).filter(|bytes| *bytes == 0 || *bytes >= 64 << 10).ok_or_else(
                            || invalid(value).with_hint("0 or at least 64kB; units are kB, MB and GB."),
                        )?
                    }
                };
                match name {
                    "statement_memory_limit" => self.statement_memory_bytes = bytes,
                    "session_memory_limit" => self.session_memory_bytes = bytes,
                    _ => self.temp_file_bytes = bytes,
                }
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
                let least = |value: &str| least_duration(value).ok_or_else(|| invalid(value));
                self.log_min_duration_ms = value.map(least).transpose()?;
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
                let milliseconds = match value {
                    None => 0,
                    Some(value) => milliseconds(value).ok_or_else(|| {
                        // A time that is too long, or less than none.
                        let digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | ' ');
                        if milliseconds(&format!("1{}", value.trim().trim_start_matches(digits))).is_some() {
                            let unit = if value.trim().ends_with(|c: char| c.is_ascii_digit()) { " ms" } else { "" };
                            return SqlError::new(
                                sqlstate::INVALID_PARAMETER_VALUE,
                                format!(
                                    "{value}{unit} is outside the valid range for parameter \"{name}\" (0 ms .. 2147483647 ms)"
                                ),
                            );
                        }
                        invalid(value).with_hint(
                            "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".",
                        )
                    })?,
                };
                if let Some(timeout) = self.timeout(name) {
                    *timeout = milliseconds;
                }
            }
            // Settings with one value: drivers set them at the start of a connection.
            ("client_encoding", value) => {
                let value = value.unwrap_or("UTF8");
                self.bare_texts = match encoding(value).as_str() {
                    "utf8" | "unicode" => false,
                    "sqlascii" => true,
                    other if is_encoding(other) => {
                        return Err(SqlError::unsupported(format!("client_encoding {value}"))
                            .with_hint("Texts are UTF-8; a client that wants others converts them."));
                    }
                    _ => return Err(invalid(value)),
                };
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
                let value = value.unwrap_or("1");
                let digits: i64 = value.trim().parse().map_err(|_| invalid(value))?;
                let within = i8::try_from(digits).ok().filter(|digits| (-15..=3).contains(digits));
                self.time_zone.float_digits = within.ok_or_else(|| {
                    let text = format!(
                        "{digits} is outside the valid range for parameter \"extra_float_digits\" (-15 .. 3)"
                    );
                    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
                })?;
            }
            ("scram_iterations", value) => {
                let usual = default.scram_iterations.to_string();
                let value = value.unwrap_or(&usual);
                let rounds: i64 = value.trim().parse().map_err(|_| invalid(value))?;
                let within =
                    u32::try_from(rounds).ok().filter(|rounds| (1..=i32::MAX as u32).contains(rounds));
                self.scram_iterations = within.ok_or_else(|| {
                    let text = format!(
                        "{rounds} is outside the valid range for parameter \"scram_iterations\" (1 .. {})",
                        i32::MAX
                    );
                    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
                })?;
            }
            ("row_security", value) => self.row_security = flag(name, value, true)?,
            ("search_path", value) => {
                let value = value.unwrap_or(DEFAULT_PATH);
                self.search_path = path::names(value)
                    .ok_or_else(|| invalid(value).with_detail("List syntax is invalid."))?;
                self.search_path_text = value.to_string();
            }
            ("server_version" | "server_version_num" | "server_encoding", _) => {
                let text = format!("parameter \"{name}\" cannot be changed");
                return Err(SqlError::new(sqlstate::CANT_CHANGE_RUNTIME_PARAM, text));
            }
            (name, value) if self.rules.methods.by_setting(name).is_some() => {
                let is_on = flag(name, value, true)?;
                self.rules.methods.by_setting(name).into_iter().for_each(|method| *method = is_on);
            }
            (name, value) if name.contains('.') && accepted::default(name).is_none() => {
                self.named.lock().insert(name.to_string());
                self.custom.insert(name.to_string(), value.unwrap_or_default().to_string());
            }
            (name, value) => {
                let usual = accepted::default(name).ok_or_else(|| unknown(name))?;
                let value = value.unwrap_or(usual);
                accepted::check(name, value, invalid)?;
                self.custom.insert(name.to_string(), value.to_string());
            }
        }
        Ok(())
    }

    /// Whether the body of a function is checked when it is created.
    pub(crate) fn checks_bodies(&self) -> bool {
        self.show("check_function_bodies").is_none_or(|value| matches!(&*value, "on" | "true" | "yes" | "1"))
    }

    /// Shows one that does not depend on the transaction.
    pub fn show(&self, name: &str) -> Option<String> {
        let on = |value: bool| if value { "on" } else { "off" }.to_string();
        Some(match name {
            "timezone" => self.time_zone_name.clone(),
            "executor" => match self.executor {
                Executor::Auto => "auto",
                Executor::Row => "row",
                Executor::Vector => "vector",
            }
            .to_string(),
            "default_transaction_isolation" => self.isolation.as_str().to_string(),
            "default_transaction_read_only" => on(self.read_only),
            "default_transaction_savepoints" => on(self.savepoints),
            "stmt_cache" => on(self.keeps_statements),
            "default_transaction_deferrable" => on(self.deferrable),
            "application_name" => self.application_name.clone(),
            "default_text_search_config" => self.text_search_config.clone(),
            "pdq_priority" | "pdqpriority" => {
                self.pdq_priority.map_or_else(|| "default".to_string(), |priority| priority.to_string())
            }
            "commit_wait" | "commit_logging" | "synchronous_commit" => {
                self.commit.show(name, CommitLevel::default())?.to_string()
            }
            "client_min_messages" => self.messages_from.name().to_string(),
            "procedure_commit" => {
                if self.procedure_waits_later { "deferred_wait" } else { "wait" }.to_string()
            }
            "statement_statistics" => on(self.statement_statistics),
            "statement_timeout" => duration(self.statement_timeout_ms),
            "lock_timeout" => duration(self.lock_timeout_ms),
            "idle_in_transaction_session_timeout" => duration(self.idle_in_transaction_timeout_ms),
            "idle_session_timeout" => duration(self.idle_session_timeout_ms),
            "transaction_timeout" => duration(self.transaction_timeout_ms),
            "verso_rules_off" => self.rules_off.clone(),
            "log_min_duration_statement" => least_duration_text(self.log_min_duration_ms.unwrap_or(-1)),
            "log_statement" => self.log_statement.name().to_string(),
            "log_min_messages" | "log_min_error_statement" | "log_error_verbosity" => {
                self.log.show(name).to_string()
            }
            "log_plans" => self.log_plans.name().to_string(),
            "plan_cache_mode" => self.plan_cache_mode.name().to_string(),
            "work_mem" => size_text(self.work_memory_bytes),
            "min_parallel_table_scan_size" => size_text(self.parallel_scan_bytes),
            "maintenance_memory" | "maintenance_work_mem" => size_text(self.maintenance_memory_bytes),
            "statement_memory_limit" => memory_text(self.statement_memory_bytes),
            "session_memory_limit" => memory_text(self.session_memory_bytes),
            "temp_file_limit" => memory_text(self.temp_file_bytes),
            "client_encoding" if self.bare_texts => "SQL_ASCII".to_string(),
            "client_encoding" | "server_encoding" => "UTF8".to_string(),
            "datestyle" => self.time_zone.date_style(),
            "intervalstyle" => self.time_zone.interval_style().to_string(),
            "bytea_output" => if self.time_zone.escapes_bytes { "escape" } else { "hex" }.to_string(),
            "standard_conforming_strings" => "on".to_string(),
            "search_path" => self.search_path_text.clone(),
            "row_security" => on(self.row_security),
            "scram_iterations" => self.scram_iterations.to_string(),
            "extra_float_digits" => self.time_zone.float_digits.to_string(),
            "server_version_num" => "180000".to_string(),
            "server_version" => format!("18.0 (Verso {})", env!("CARGO_PKG_VERSION")),
            name if let Some(method) = { self.rules.methods }.by_setting(name) => on(*method),
            name => match self.custom.get(name) {
                Some(value) => value.clone(),
                None => match accepted::default(name) {
                    None if self.named.lock().contains(name) => String::new(),
                    usual => usual?.to_string(),
                },
            },
        })
    }
}

/// A boolean as SHOW prints it.
pub fn on(value: bool) -> String {
    if value { "on" } else { "off" }.to_string()
}

/// A boolean setting.
pub fn flag(name: &str, value: Option<&str>, default: bool) -> Result<bool, SqlError> {
    let Some(value) = value else { return Ok(default) };
    match fold(value).as_str() {
        "on" | "true" | "yes" | "1" | "t" | "y" => Ok(true),
        "off" | "false" | "no" | "0" | "f" | "n" => Ok(false),
        _ => {
            let text = format!("parameter \"{name}\" requires a Boolean value");
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
        }
    }
}

/// A name of an encoding as PostgreSQL compares them: letters and digits only.
fn encoding(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether PostgreSQL has an encoding of that name, which [`encoding`] has made plain.
fn is_encoding(plain: &str) -> bool {
    const OTHERS: [&str; 26] = [
        "abc",
        "alt",
        "big5",
        "euccn",
        "eucjis2004",
        "eucjp",
        "euckr",
        "euctw",
        "gb18030",
        "gbk",
        "johab",
        "koi8",
        "koi8r",
        "koi8u",
        "muleinternal",
        "mskanji",
        "shiftjis",
        "shiftjis2004",
        "sjis",
        "tcvn",
        "tcvn5712",
        "uhc",
        "vscii",
        "win",
        "windows949",
        "windows950",
    ];
    let numbered = ["latin", "win", "windows", "iso8859"].iter().any(|begins| {
        let number = plain.strip_prefix(begins);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    numbered || OTHERS.contains(&plain)
}

fn fold(value: &str) -> String {
    value.to_ascii_lowercase().replace('-', "")
}

/// A zone's name, or a fixed offset in hours.
fn time_zone(text: &str) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case("utc") || text.eq_ignore_ascii_case("z") {
        return Some(TimeZone::UTC);
    }
    verso_types::datetime::time_zone(text).ok()
}

/// `64kB`, `4MB`, `1GB`; a bare number counts kilobytes, as PostgreSQL's work_mem does.
pub(crate) fn memory_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match text[digits..].trim() {
        "" | "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// A size of the log: a bare number counts megabytes, as in PostgreSQL.
pub(crate) fn wal_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u64>().ok()?.checked_mul(1 << 20),
        false => memory_bytes(text),
    }
}

/// Milliseconds of a time for which a bare number counts seconds; how long it may be is said by who asks.
pub(crate) fn interval_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => any_milliseconds(&format!("{text}s")),
        false => any_milliseconds(text),
    }
}

/// Milliseconds from which on something is logged; -1 is never.
pub(crate) fn least_duration(text: &str) -> Option<i64> {
    match text.trim() {
        "-1" => Some(-1),
        text => milliseconds(text).and_then(|ms| i64::try_from(ms).ok()),
    }
}

/// As SHOW gives it.
pub(crate) fn least_duration_text(ms: i64) -> String {
    u64::try_from(ms).map_or_else(|_| "-1".to_string(), duration)
}

/// A size in the largest unit that leaves no fraction.
pub(crate) fn size_text(bytes: u64) -> String {
    let unit = [(30, "GB"), (20, "MB")].into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift));
    let (shift, unit) = unit.unwrap_or((10, "kB"));
    format!("{}{unit}", bytes >> shift)
}

/// A limit of memory or files as SHOW prints it; 0 is none.
pub(crate) fn memory_text(bytes: u64) -> String {
    if bytes == 0 { "0".to_string() } else { size_text(bytes) }
}

/// `100`, `1.5s`, `2 min`: in milliseconds, rounded, as PostgreSQL reads timeouts; at most 2147483647.
fn milliseconds(text: &str) -> Option<u64> {
    any_milliseconds(text).filter(|milliseconds| *milliseconds <= i32::MAX as u64)
}

/// The same without an end.
fn any_milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "ms" => 1.0,
        "us" => 0.001,
        "s" => 1e3,
        "min" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return None,
    };
    Some((number * factor).round_ties_even() as u64)
}

/// In the largest unit that leaves no fraction.
pub(crate) fn duration(milliseconds: u64) -> String {
    if milliseconds == 0 {
        return "0".to_string();
    }
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = units.iter().find(|(size, _)| milliseconds.is_multiple_of(*size));
    unit.map_or_else(|| format!("{milliseconds}ms"), |(size, name)| format!("{}{name}", milliseconds / size))
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
        settings.set("work_mem", Some("4MB")).expect("memory");
        assert_eq!(settings.show("work_mem").as_deref(), Some("4MB"));
        assert!(settings.set("work_mem", Some("1 cow")).is_err());
    }

    #[test]
    fn every_setting_that_is_listed_shows_or_belongs_to_the_transaction() {
        let settings = Settings::default();
        for (name, _) in SETTINGS {
            let elsewhere = name.starts_with("transaction_")
                || name.starts_with("autovacuum")
                || OF_DATABASE.contains(name)
                || *name == "parallel_workers";
            assert!(settings.show(name).is_some() || elsewhere, "{name}");
        }
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
    fn intervals_of_a_month_are_read() {
        for (given, ms) in
            [("31d", 2_678_400_000), ("2678400", 2_678_400_000), ("90", 90_000), ("10min", 600_000)]
        {
            assert_eq!(interval_ms(given), Some(ms), "{given}");
        }
        assert_eq!(interval_ms("a month"), None);
    }

    #[test]
    fn zones_are_found_by_name() {
        let mut settings = Settings::default();
        settings.set("timezone", Some("Europe/Berlin")).expect("known");
        assert_eq!(settings.time_zone_name, "Europe/Berlin");
        assert!(settings.set("timezone", Some("Mars/Base")).is_err());
    }
}
