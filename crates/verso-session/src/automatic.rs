//! ANALYZE by itself: tables of which enough rows have changed are analyzed in the background.
//!
//! ```text
//! transactions ──enough rows──► thread: which tables are due? ──► ANALYZE (SKIP_LOCKED), one after the other
//!                                 ▲ sleeps as long as nothing happens
//! ```
//!
//! 1. A table is due when more rows have changed since it was analyzed last than `autovacuum_analyze_threshold` and the
//!    share `autovacuum_analyze_scale_factor` of its rows: PostgreSQL's rule, its settings and their defaults. A table may have
//!    its own (`WITH (autovacuum_analyze_threshold = …)`).
//! 2. No lock is waited for, and who waits for a lock of the table ends its analysis: both are tried again after [`RETRY`].
//! 3. A table is analyzed at most once in `autovacuum_naptime`, and once in a [`HASTE`]th of it when as many rows have changed
//!    as it had: what is known of a table that was analyzed in the middle of its load is of no use. Nothing is looked at while
//!    nothing changes.
//! 4. The thread holds the database only in its rounds; who drops the database last waits for the round.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use verso_catalog::TableDef;
use verso_env::JoinHandle;
use verso_storage::ObjectId;
use verso_storage::heap::ChangedRows;
use verso_storage::sleeper::Sleeper;
use verso_types::keyword::quoted;

use crate::client::Nowhere;
use crate::instance::Instance;
use crate::registry::CancelHandle;
use crate::session::Session;
use crate::settings::{duration, flag, number};
use verso_planner::errors::{SqlError, sqlstate};

/// From a call to the round for it: what a busy moment changes is looked at together.
const PAUSE: Duration = Duration::from_secs(1);
/// From a table that could not be analyzed to the next try.
const RETRY: Duration = Duration::from_secs(10);
/// A table that has become another one is analyzed after this part of the pause between two analyses.
const HASTE: u64 = 6;
/// Changed rows that are a reason to look at a table again of which nothing is known.
const UNKNOWN: u64 = 1_000;

/// The settings, of the database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AutoSettings {
    on: bool,
    threshold: u64,
    scale: f64,
    nap_ms: u64,
}

impl Default for AutoSettings {
    fn default() -> AutoSettings {
        AutoSettings { on: true, threshold: 50, scale: 0.1, nap_ms: 60_000 }
    }
}

impl AutoSettings {
    /// Their names.
    pub(crate) const NAMES: [&str; 4] = [
        "autovacuum",
        "autovacuum_analyze_scale_factor",
        "autovacuum_analyze_threshold",
        "autovacuum_naptime",
    ];

    /// Changes one of them; to its default without a value.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), SqlError> {
        let default = AutoSettings::default();
        match (name, value.map(str::trim)) {
            ("autovacuum", value) => self.on = flag(name, value, default.on)?,
            ("autovacuum_analyze_threshold", value) => {
                self.threshold = number(name, value, default.threshold)?;
            }
            ("autovacuum_analyze_scale_factor", None) => self.scale = default.scale,
            ("autovacuum_analyze_scale_factor", Some(value)) => {
                let share = value.parse().ok().filter(|share| (0.0..=100.0).contains(share));
                self.scale = share.ok_or_else(|| {
                    let range = format!("outside the valid range for parameter \"{name}\" (0 .. 100)");
                    let is_number = value.parse::<f64>().is_ok();
                    let invalid = format!("invalid value for parameter \"{name}\": \"{value}\"");
                    let text = if is_number { format!("{value} is {range}") } else { invalid };
                    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
                        .with_hint("A number from 0 to 100.")
                })?;
            }
            (_, value) => self.nap_ms = number(name, value, default.nap_ms)?,
        }
        Ok(())
    }

    /// As SHOW gives it.
    pub(crate) fn show(&self, name: &str) -> Option<String> {
        Some(match name {
            "autovacuum" => crate::settings::on(self.on),
            "autovacuum_analyze_threshold" => self.threshold.to_string(),
            "autovacuum_analyze_scale_factor" => self.scale.to_string(),
            "autovacuum_naptime" => duration(self.nap_ms),
            _ => return None,
        })
    }

    /// With what a table says for itself (`WITH (autovacuum_…)`); whether it is analyzed by itself goes by both.
    fn of(mut self, table: &TableDef) -> AutoSettings {
        let number = |name: &str| table.options.get(name).and_then(|value| value.parse::<f64>().ok());
        let off = |value: &str| value.starts_with(['f', 'n']) || value.starts_with("of") || value == "0";
        self.on &= !table.options.get("autovacuum_enabled").is_some_and(off);
        if let Some(rows) = number("autovacuum_analyze_threshold") {
            self.threshold = rows.round_ties_even() as u64;
        }
        self.scale = number("autovacuum_analyze_scale_factor").unwrap_or(self.scale);
        self
    }

    /// As many changed rows make a table due.
    fn due(&self, rows: f64) -> u64 {
        (self.threshold as f64 + self.scale * rows) as u64 + 1
    }

    /// The pause between two analyses of a table that had so many rows, of which so many have changed.
    fn nap_ms(&self, rows: f64, changed: u64) -> u64 {
        if changed as f64 >= rows { self.nap_ms / HASTE } else { self.nap_ms }
    }
}

/// When a table was analyzed since the database was opened, and how often. Times are PostgreSQL's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Analyzed {
    pub(crate) last: Option<i64>,
    pub(crate) count: u64,
    pub(crate) last_automatic: Option<i64>,
    pub(crate) count_automatic: u64,
}

impl Analyzed {
    /// It was analyzed once more.
    pub(crate) fn again(&mut self, at: i64, automatic: bool) {
        let (last, count) = match automatic {
            true => (&mut self.last_automatic, &mut self.count_automatic),
            false => (&mut self.last, &mut self.count),
        };
        (*last, *count) = (Some(at), *count + 1);
    }
}

/// What is known about ANALYZE of the tables of a database.
#[derive(Debug, Default)]
pub(crate) struct AutoAnalyze {
    pub(crate) settings: Mutex<AutoSettings>,
    pub(crate) tables: Mutex<HashMap<ObjectId, Analyzed>>,
    /// The session that analyzes now.
    running: Mutex<Option<CancelHandle>>,
}

impl Instance {
    /// Analyzes the tables that are due, as the background does; those analyzed lately, too. For databases without one.
    ///
    /// # Errors
    /// Those of storage.
    pub fn analyze_changed(self: &Arc<Self>) -> Result<(), SqlError> {
        round(self, false, &AtomicBool::new(false)).map(drop)
    }
}

/// A table that is due.
struct Due {
    table: Arc<TableDef>,
    changed: Arc<ChangedRows>,
}

/// Analyzes what is due; after which time there may be more without anything having changed.
fn round(instance: &Arc<Instance>, naps: bool, stop: &AtomicBool) -> Result<Option<Duration>, SqlError> {
    let mut session = Session::new(Arc::clone(instance));
    *instance.automatic.running.lock() = Some(session.cancel_handle());
    let done = session.analyze_due(naps, stop);
    *instance.automatic.running.lock() = None;
    done
}

impl Session {
    fn analyze_due(&mut self, naps: bool, stop: &AtomicBool) -> Result<Option<Duration>, SqlError> {
        let settings = "SET application_name = 'autovacuum'; SET statement_timeout = 0; SET lock_timeout = 0;
                        SET transaction_timeout = 0; SET idle_in_transaction_session_timeout = 0";
        self.execute(settings, &[], &mut Nowhere)?;
        self.set_automatic();
        let mut tried = Vec::new();
        let mut next = None;
        let mut wait = |time: Duration| next = Some(next.map_or(time, |next: Duration| next.min(time)));
        // The second look says when to call again, from what the first has found out.
        for last in [false, true] {
            for Due { table, changed } in self.due(naps, &mut wait)? {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                if last || tried.contains(&table.heap) {
                    // It changes faster than it is analyzed, or could not be.
                    wait(RETRY);
                    continue;
                }
                let before = changed.since_analyze();
                let sql = format!("ANALYZE (SKIP_LOCKED) {}.{}", quoted(&table.schema), quoted(&table.name));
                tried.push(table.heap);
                match self.execute(&sql, &[], &mut Nowhere) {
                    Ok(()) => tracing::debug!(table = &*table.name, rows = before, "analyzed by itself"),
                    Err(error) if matches!(error.sqlstate, "58030" | "08003") => return Err(error),
                    Err(error) => {
                        tracing::debug!(table = &*table.name, %error, "not analyzed; tried again later");
                    }
                }
            }
        }
        Ok(next)
    }

    /// The tables that are due; of the others it is said when they are.
    fn due(&self, naps: bool, wait: &mut impl FnMut(Duration)) -> Result<Vec<Due>, SqlError> {
        let instance = self.instance();
        let settings = *instance.automatic.settings.lock();
        let counted = instance.engine.changed_rows();
        if !settings.on {
            for (_, changed) in &counted {
                changed.tell_at(u64::MAX);
            }
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        self.with_catalog(|session, catalog, _| {
            let tables: HashMap<ObjectId, &Arc<TableDef>> =
                catalog.tables().map(|table| (table.heap, table)).collect();
            let mut known = instance.automatic.tables.lock();
            known.retain(|heap, _| tables.contains_key(heap));
            for (heap, changed) in counted {
                let Some(table) = tables.get(&heap) else {
                    // Of a transaction under way, or dropped.
                    changed.tell_at(changed.since_analyze() + UNKNOWN);
                    continue;
                };
                let settings = settings.of(table);
                if table.is_temporary() || !settings.on || catalog.is_damaged(table.oid) {
                    changed.tell_at(u64::MAX);
                    continue;
                }
                let rows = catalog.statistics(table).map_or(0.0, |known| known.rows);
                if !changed.tell_at(settings.due(rows)) {
                    continue;
                }
                let last = known.get(&heap).and_then(|known| known.last_automatic);
                let passed = last.map_or(u64::MAX, |last| session.micros_since(last) / 1_000);
                let nap_ms = settings.nap_ms(rows, changed.since_analyze());
                if naps && passed < nap_ms {
                    let hastens = nap_ms == settings.nap_ms;
                    changed.tell_at(if hastens { rows.ceil() as u64 } else { u64::MAX });
                    wait(Duration::from_millis(nap_ms - passed));
                    continue;
                }
                due.push(Due { table: Arc::clone(table), changed });
            }
            Ok(())
        })?;
        due.sort_by_key(|due| due.table.oid);
        Ok(due)
    }
}

/// The thread that analyzes by itself. It ends with this.
#[derive(Default)]
pub struct Background {
    instance: Weak<Instance>,
    stop: Arc<AtomicBool>,
    changes: Arc<Sleeper>,
    thread: Mutex<Option<JoinHandle>>,
}

impl std::fmt::Debug for Background {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Background").field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl Background {
    /// Starts it.
    pub fn start(instance: &Arc<Instance>) -> Background {
        let background = Background {
            instance: Arc::downgrade(instance),
            stop: Arc::default(),
            changes: Arc::clone(instance.engine.changes()),
            thread: Mutex::new(None),
        };
        // The first change may come before the thread looks.
        background.changes.listen();
        let (weak, stop) = (Arc::downgrade(instance), Arc::clone(&background.stop));
        let changes = Arc::clone(&background.changes);
        let run = move || run(&weak, &changes, &stop);
        *background.thread.lock() = Some(instance.engine.env().spawn("verso-analyze", run));
        background
    }

    /// Ends it, its statement too; nothing is analyzed by itself any more.
    pub fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        self.stop.store(true, Ordering::SeqCst);
        if let Some(instance) = self.instance.upgrade()
            && let Some(running) = &*instance.automatic.running.lock()
        {
            running.cancel();
        }
        self.changes.wake();
        let _ = thread.join();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(instance: &Weak<Instance>, changes: &Sleeper, stop: &AtomicBool) {
    let mut next = None;
    // The same failure again and again is told once.
    let mut told = None;
    loop {
        changes.wait(next);
        if stop.load(Ordering::SeqCst) {
            return;
        }
        changes.wait(Some(PAUSE));
        // Before the round: what changes behind its looks calls for another one.
        changes.listen();
        let Some(instance) = instance.upgrade().filter(|_| !stop.load(Ordering::SeqCst)) else { return };
        match round(&instance, true, stop) {
            Ok(wait) => (next, told) = (wait, None),
            Err(error) if told.as_ref() == Some(&error.message) => next = Some(RETRY),
            Err(error) => {
                tracing::warn!(%error, "tables could not be analyzed; tried again later");
                (next, told) = (Some(RETRY), Some(error.message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AutoSettings;

    #[test]
    fn a_table_that_has_become_another_one_waits_less() {
        let settings = AutoSettings::default();
        assert_eq!(settings.nap_ms(1_000.0, 150), 60_000);
        assert_eq!(settings.nap_ms(1_000.0, 999), 60_000);
        assert_eq!(settings.nap_ms(1_000.0, 1_000), 10_000);
        assert_eq!(settings.nap_ms(0.0, 51), 10_000);
    }
}
