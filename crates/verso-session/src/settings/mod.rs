//! The settings a session has: their names, values and texts, and what BEGIN takes from them.

mod accepted;
mod aliases;
mod commit;
mod current;
mod fixed;
mod kept;
mod kinds;
mod listed;
mod messages;
mod otherwise;
mod path;
mod ranges;
mod set;
mod show;
mod statements;
mod superuser;
mod values;
mod zone;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use verso_catalog::{Oid, SharedMap};
use verso_env::sync::Mutex;
use verso_exec::Executor;
use verso_types::TimeStyle;

use verso_parser::syntax::IsolationLevel;
use verso_planner::Rules;

pub(crate) use accepted::short;
pub(crate) use aliases::{aliases, are_aliases, is_of_commits};
pub use commit::CommitLevel;
pub(crate) use commit::{OwedWait, Written, written};
pub(crate) use current::{Asked, Change, ChangedSettings, KnownRole, SessionSettings};
pub(crate) use fixed::{is_fixed, is_secret, of_server, value as fixed_value};
pub(crate) use kinds::{Allowed, allowed};
pub use listed::SETTINGS;
pub(crate) use listed::{OF_DATABASE, all};
pub use messages::{LogLevel, LogSettings, LogVerbosity, MessageLevel};
pub use otherwise::unknown;
pub(crate) use path::names;
pub use ranges::setting_bytes;
pub(crate) use ranges::{Range, number, range, small};
pub use statements::{LogPlans, LogStatement, PlanCacheMode, QueryIds, Tracks};
pub(crate) use superuser::{check_may_set, needs_superuser, parameter_number, parameter_numbered};
pub(crate) use values::{duration, least_duration_text, memory_bytes, memory_text, size_text, wal_bytes};
pub use values::{flag, on};

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
    /// What the temporary files of a session may hold; none where it is as much as the disk does.
    pub temp_file_bytes: Option<u64>,
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
    /// Of which statements figures are kept.
    pub tracks: Tracks,
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
    /// Rounds of the verifiers that are made of passwords.
    pub scram_iterations: u32,
    /// Policies decide which rows are seen; else that they would is an error.
    pub row_security: bool,
    /// Whether names that definitions and catalogs show stand in quotes throughout.
    pub quote_all_identifiers: bool,
    /// Of the client's own making: names with a period.
    pub custom: SharedMap<Arc<str>, Arc<str>>,
    /// The names that `custom` has ever had in this session: without a value they are empty from then on, as in PostgreSQL,
    /// also where SET LOCAL or a transaction that was rolled back has set them.
    pub named: Arc<Mutex<BTreeSet<String>>>,
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
            temp_file_bytes: None,
            statement_statistics: false,
            statement_timeout_ms: 0,
            lock_timeout_ms: 0,
            idle_in_transaction_timeout_ms: 0,
            idle_session_timeout_ms: 0,
            transaction_timeout_ms: 0,
            log_min_duration_ms: None,
            log_statement: LogStatement::None,
            log_plans: LogPlans::Off,
            tracks: Tracks::default(),
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
            scram_iterations: crate::scram::ITERATIONS,
            row_security: true,
            quote_all_identifiers: false,
            custom: SharedMap::default(),
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

    /// Whether the body of a function is checked when it is created.
    pub(crate) fn checks_bodies(&self) -> bool {
        self.show("check_function_bodies").is_none_or(|value| values::boolean(&value) == Some(true))
    }
}
