//! How to open a database, and how to begin a transaction.

use std::sync::Arc;

use verso_env::Env;
use verso_session::Member;
use verso_storage::{EngineOptions, Isolation};

/// How to create or open a database. All sizes are in bytes.
#[derive(Clone)]
pub struct Options {
    pub(crate) engine: EngineOptions,
    pub(crate) env: Env,
    /// See [`Options::unfinished`].
    pub(crate) unfinished: bool,
    /// See [`Options::member`].
    pub(crate) member: Option<Arc<Member>>,
    pub(crate) auto_analyze: bool,
    /// See [`Options::defaults`].
    pub(crate) defaults: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Options {
        let engine = EngineOptions { buffer_pool_bytes: usual_buffer_pool(), ..EngineOptions::default() };
        let defaults = Vec::new();
        Options { engine, env: Env::real(), unfinished: false, auto_analyze: true, member: None, defaults }
    }
}

/// The buffer pool of a database for which nobody has chosen one: a quarter of the memory that the process may use, in
/// bytes. Memory is taken as pages are read, so a small database does not occupy it.
fn usual_buffer_pool() -> u64 {
    pool_of(verso_env::process::machine_bytes())
}

/// The pool on a machine with this much memory; where that is not known, as much as is nowhere too much.
fn pool_of(machine_bytes: Option<u64>) -> u64 {
    machine_bytes.map_or(256 << 20, |bytes| (bytes / 4).max(16 << 20))
}

impl std::fmt::Debug for Options {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Options").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Options {
    /// The usual ones.
    pub fn new() -> Options {
        Options::default()
    }

    /// Page size of a new database: 4,096, 8,192, 16,384 or 32,768. An existing database keeps its own.
    pub fn page_size(mut self, bytes: u32) -> Options {
        self.engine.page_size = bytes;
        self
    }

    /// Memory for pages of the database; without it a quarter of the machine's, or of what its control group allows.
    pub fn buffer_pool(mut self, bytes: u64) -> Options {
        self.engine.buffer_pool_bytes = bytes;
        self
    }

    /// How much memory for pages that is, in bytes.
    pub fn buffer_pool_bytes(&self) -> u64 {
        self.engine.buffer_pool_bytes
    }

    /// The size beyond which the database file does not grow.
    pub fn max_database_size(mut self, bytes: u64) -> Options {
        self.engine.max_database_bytes = bytes;
        self
    }

    /// Memory for log not yet written.
    pub fn log_buffer(mut self, bytes: u64) -> Options {
        self.engine.log_buffer_bytes = bytes;
        self
    }

    /// Undo what transactions that died have left, in the background? Otherwise `SWEEP` does it.
    pub fn auto_backout(mut self, on: bool) -> Options {
        self.engine.auto_backout = on;
        self
    }

    /// Sweep by itself when the oldest snapshot is this many transactions ahead of the oldest interesting
    /// transaction; 0 for never.
    pub fn sweep_interval(mut self, transactions: u64) -> Options {
        self.engine.sweep_interval = transactions;
        self
    }

    /// Analyze tables in the background of which enough rows have changed, as the setting `autovacuum` has it? Otherwise
    /// `ANALYZE` does it, and [`Database::analyze_changed`](crate::Database::analyze_changed).
    pub fn auto_analyze(mut self, on: bool) -> Options {
        self.auto_analyze = on;
        self
    }

    /// Open a database whose log is damaged before its end? Otherwise that is an error (XX001). What stands behind the
    /// damage is lost then, and pages that were changed by it are damaged; [`Database::engine`](crate::Database::engine)'s
    /// `recovery` says how much that is.
    pub fn open_damaged_log(mut self, on: bool) -> Options {
        self.engine.open_damaged_log = on;
        self
    }

    /// For tools that restore: a database that is created says from its first commit on that it is unfinished, and one that
    /// says so can be opened. Without this, opening it is an error (55000) until
    /// [`Database::finish`](crate::Database::finish) was called.
    pub fn unfinished(mut self, on: bool) -> Options {
        self.unfinished = on;
        self
    }

    /// For servers: the database's place among those that the server has open. Without it the database is alone.
    pub fn member(mut self, member: &Arc<Member>) -> Options {
        self.member = Some(Arc::clone(member));
        self
    }

    /// Settings, by name, that the database and its sessions begin with where nothing else is said: by `ALTER SYSTEM SET`,
    /// `ALTER ROLE … SET` or a client. For servers, which read them from their configuration.
    pub fn defaults(mut self, defaults: Vec<(String, String)>) -> Options {
        self.defaults = defaults;
        self
    }

    /// The database's place among those of its server, which knows the defaults.
    pub(crate) fn place(&mut self) -> Arc<Member> {
        let member = self.member.take().unwrap_or_else(Member::alone);
        if !self.defaults.is_empty() {
            member.cluster().set_defaults(&self.defaults);
        }
        member
    }

    /// The outside world that was chosen.
    pub fn outside(&self) -> &Env {
        &self.env
    }

    /// All settings of the storage engine.
    pub fn engine(mut self, engine: EngineOptions) -> Options {
        self.engine = engine;
        self
    }

    /// The outside world: files, clock, threads. For tests that simulate them.
    pub fn env(mut self, env: Env) -> Options {
        self.env = env;
        self
    }
}

/// How a transaction runs; whatever is not set is as the session's defaults have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxOptions {
    isolation: Option<Isolation>,
    no_savepoint: bool,
    read_only: bool,
}

impl TxOptions {
    /// The session's defaults.
    pub fn new() -> TxOptions {
        TxOptions::default()
    }

    /// The isolation level; READ COMMITTED unless the session has another default.
    pub fn isolation(mut self, isolation: Isolation) -> TxOptions {
        self.isolation = Some(isolation);
        self
    }

    /// No savepoints: no undo is kept, so after the first error only reads and a rollback are possible.
    pub fn no_savepoint(mut self) -> TxOptions {
        self.no_savepoint = true;
        self
    }

    /// Nothing may be changed.
    pub fn read_only(mut self) -> TxOptions {
        self.read_only = true;
        self
    }

    /// The statement that begins such a transaction.
    pub(crate) fn begin_statement(self) -> String {
        let mut sql = String::from("BEGIN");
        if let Some(isolation) = self.isolation {
            sql.push_str(match isolation {
                Isolation::ReadUncommitted => " ISOLATION LEVEL READ UNCOMMITTED",
                Isolation::ReadCommitted => " ISOLATION LEVEL READ COMMITTED",
                Isolation::Snapshot => " ISOLATION LEVEL SNAPSHOT",
                Isolation::Serializable => " ISOLATION LEVEL SERIALIZABLE",
            });
        }
        if self.read_only {
            sql.push_str(" READ ONLY");
        }
        if self.no_savepoint {
            sql.push_str(" NO SAVEPOINT");
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_the_words_of_begin() {
        assert_eq!(TxOptions::new().begin_statement(), "BEGIN");
        let all = TxOptions::new().isolation(Isolation::Snapshot).read_only().no_savepoint();
        assert_eq!(all.begin_statement(), "BEGIN ISOLATION LEVEL SNAPSHOT READ ONLY NO SAVEPOINT");
    }

    #[test]
    fn the_pool_is_a_quarter_of_the_machine() {
        assert_eq!(pool_of(Some(64 << 30)), 16 << 30);
        assert_eq!(pool_of(Some(32 << 20)), 16 << 20, "never less than a working minimum");
        assert_eq!(pool_of(None), 256 << 20);
        let Some(machine) = verso_env::process::machine_bytes() else { return };
        let pool = Options::new().buffer_pool_bytes();
        assert_eq!(pool, pool_of(Some(machine)));
        assert_eq!(Options::new().buffer_pool(1 << 20).buffer_pool_bytes(), 1 << 20);
    }
}
