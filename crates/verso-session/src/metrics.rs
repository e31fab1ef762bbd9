//! Figures of a running database for programs that watch it over time.
//!
//! ```text
//! METRICS: name, kind, help ──► measure(instance) ─► samples with labels ─► verso-server, metrics/
//! ```
//!
//! Everything here is read from counters in memory: watching a database reads none of its pages and waits for none of its
//! transactions. The names are part of what users rely on; the guide and the dashboard name them, and tests compare.

use std::sync::atomic::Ordering;

use verso_storage::EngineStatistics;

use crate::cluster::Cluster;
use crate::instance::{Instance, SweepRecord};
use crate::registry::Activity;
use crate::registry::waits::{ADMISSION, COMMIT_FLUSH};
use crate::services::EPOCH_MICROS;

/// How a figure behaves over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows, from 0 when the database is opened.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How often what was measured was at most so large.
    Histogram,
}

/// A figure that there is.
#[derive(Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// How it behaves.
    pub kind: MetricKind,
    /// What it says.
    pub help: &'static str,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A count of things.
    Count(u64),
    /// Anything else: seconds, parts.
    Real(f64),
    /// Upper bounds with how many are at most so large, the sum of all, and how many there are.
    Histogram(Vec<(f64, u64)>, f64, u64),
}

/// A figure of one database.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Which.
    pub metric: &'static Metric,
    /// What tells it from others of that name, besides the database.
    pub label: Option<(&'static str, &'static str)>,
    /// The figure.
    pub figure: Figure,
}

macro_rules! metrics {
    ($list:ident: $($constant:ident $kind:ident $name:literal $help:literal;)*) => {
        $(static $constant: Metric = Metric { name: $name, kind: MetricKind::$kind, help: $help };)*
        /// All of one group, in the order in which they are shown.
        pub static $list: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! { SERVER_METRICS:
    INFO Gauge "verso_info" "1; the version of the server is a label.";
    STARTED Gauge "verso_start_time_seconds" "When the server opened its first database, in seconds since 1970.";
    CONNECTIONS_MAX Gauge "verso_max_connections" "Sessions that the server takes at a time.";
    SERVER_MEMORY Gauge "verso_server_memory_bytes" "Memory that statements of all databases hold.";
    SERVER_MEMORY_LIMIT Gauge "verso_server_memory_limit_bytes" "Memory that they may hold; 0 is no limit.";
    RESIDENT Gauge "verso_resident_memory_bytes" "Physical memory of the process.";
    PROCESSOR Counter "verso_processor_seconds_total" "Processor time of the process.";
}

metrics! { DATABASE_METRICS:
    COMMITS Counter "verso_commits_total" "Transactions committed.";
    ROLLBACKS Counter "verso_rollbacks_total" "Transactions rolled back.";
    SESSIONS Gauge "verso_sessions" "Sessions by what they do.";
    CONNECTED Counter "verso_sessions_started_total" "Sessions that have begun.";
    ROWS_INSERTED Counter "verso_rows_inserted_total" "Rows inserted, those of the catalog among them.";
    ROWS_UPDATED Counter "verso_rows_updated_total" "Rows updated, those of the catalog among them.";
    ROWS_DELETED Counter "verso_rows_deleted_total" "Rows deleted, those of the catalog among them.";
    ROWS_SCANNED Counter "verso_rows_scanned_total" "Rows read by scans of tables.";
    ROWS_FETCHED Counter "verso_rows_fetched_total" "Rows read one by one, through indexes.";
    POOL_FETCHES Counter "verso_buffer_fetches_total" "Pages looked at, in memory or not.";
    POOL_READS Counter "verso_buffer_reads_total" "Pages read from the file.";
    POOL_PREFETCHED Counter "verso_buffer_prefetched_total" "Pages read from the file ahead of a scan.";
    POOL_WRITES Counter "verso_buffer_writes_total" "Pages written to the file.";
    POOL_FOREGROUND Counter "verso_buffer_foreground_batches_total" "Batches of pages that a session had to write itself.";
    POOL_EVICTIONS Counter "verso_buffer_evictions_total" "Pages that left memory for others.";
    POOL_CAPACITY Gauge "verso_buffer_pool_bytes" "Memory for pages.";
    POOL_RESIDENT Gauge "verso_buffer_resident_bytes" "Pages in memory.";
    POOL_DIRTY Gauge "verso_buffer_dirty_bytes" "Pages in memory that differ from the file.";
    WAL_BYTES Counter "verso_wal_bytes_total" "Log records appended.";
    WAL_WRITTEN Counter "verso_wal_written_bytes_total" "Log written to files, headers and padding included.";
    WAL_FSYNC Histogram "verso_wal_fsync_seconds" "How long an fsync of the log took.";
    WAL_PENDING Gauge "verso_wal_commits_not_durable" "Commits that are not on disk yet.";
    DEADLOCKS Counter "verso_deadlocks_total" "Deadlocks that ended a statement.";
    LOCK_WAITERS Gauge "verso_lock_waiters" "Requests for locks that wait.";
    WAITS Counter "verso_waits_total" "Waits by what was waited for.";
    WAIT_SECONDS Counter "verso_wait_seconds_total" "Time of these waits that are over.";
    TEMP_FILES Counter "verso_temp_files_total" "Temporary files made.";
    TEMP_BYTES Counter "verso_temp_bytes_total" "Bytes written to temporary files.";
    MEMORY Gauge "verso_memory_bytes" "Memory that statements and sessions hold.";
    MEMORY_PEAK Gauge "verso_memory_peak_bytes" "The most that they have held.";
    MEMORY_LIMIT Gauge "verso_memory_limit_bytes" "Memory that they may hold; 0 is no limit.";
    FILE_BYTES Gauge "verso_file_bytes" "The database file.";
    FREE_BYTES Gauge "verso_free_bytes" "Pages of the file that nothing uses.";
    VERSION_BYTES Gauge "verso_version_bytes" "Pages of old versions.";
    SCRATCH_BYTES Gauge "verso_temporary_bytes" "Pages of temporary objects and of images of savepoints.";
    BEHIND Gauge "verso_oldest_interesting_behind" "Transactions between the oldest interesting one and the next.";
    OLDEST_TRANSACTION Gauge "verso_oldest_transaction_seconds" "Age of the oldest open transaction of a session.";
    OLDEST_SNAPSHOT Gauge "verso_oldest_snapshot_seconds" "Age of the oldest snapshot that a session reads under.";
    JOBS Gauge "verso_jobs" "Jobs of maintenance under way.";
    SWEEP_DONE Gauge "verso_sweep_progress" "Part of its phase that a sweep under way has done, from 0 to 1; 0 where there is none.";
    SWEEP_LAST Gauge "verso_sweep_last_time_seconds" "When the last sweep began, in seconds since 1970; 0 if there was none.";
    SWEEP_SECONDS Gauge "verso_sweep_last_seconds" "How long the last sweep took.";
    SHARES_WAITING Gauge "verso_queue_waiting" "Statements that wait for a share of the machine.";
    ARCHIVE_WAITING Gauge "verso_archive_waiting_bytes" "Log that is not in the archive yet.";
    ARCHIVE_FAILURES Counter "verso_archive_failures_total" "Failures of the archive.";
    DAMAGED Gauge "verso_damaged_pages" "Pages found damaged.";
}

/// Powers of two of microseconds at which fsyncs are told apart; what takes longer than the last is in the one without a bound.
const FSYNC_BUCKETS: u32 = 23;

/// What the collector of a database's samples fills.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    fn count(&mut self, metric: &'static Metric, count: u64) {
        self.0.push(Sample { metric, label: None, figure: Figure::Count(count) });
    }

    fn real(&mut self, metric: &'static Metric, real: f64) {
        self.0.push(Sample { metric, label: None, figure: Figure::Real(real) });
    }

    fn labelled(&mut self, metric: &'static Metric, name: &'static str, value: &'static str, figure: Figure) {
        self.0.push(Sample { metric, label: Some((name, value)), figure });
    }
}

/// The figures of an open database.
pub fn measure(instance: &Instance) -> Vec<Sample> {
    let mut out = Samples::default();
    work(instance, &mut out);
    pages_and_log(instance, &mut out);
    waits(instance, &mut out);
    maintenance(instance, &mut out);
    out.0
}

/// The figures of what databases share.
pub fn measure_server(cluster: &Cluster) -> Vec<Sample> {
    let mut out = Samples::default();
    out.labelled(&INFO, "version", env!("CARGO_PKG_VERSION"), Figure::Count(1));
    out.real(&STARTED, (cluster.moments().0 + EPOCH_MICROS) as f64 / 1e6);
    out.count(&CONNECTIONS_MAX, cluster.connections_max() as u64);
    out.count(&SERVER_MEMORY, cluster.memory().used_bytes());
    out.count(&SERVER_MEMORY_LIMIT, cluster.memory().limit_bytes());
    if let Some(bytes) = verso_env::process::resident_bytes() {
        out.count(&RESIDENT, bytes);
    }
    if let Some(nanos) = verso_env::process::processor_nanos() {
        out.real(&PROCESSOR, nanos as f64 / 1e9);
    }
    out.0
}

/// Transactions, sessions, rows.
fn work(instance: &Instance, out: &mut Samples) {
    let EngineStatistics { commits, rollbacks, rows, read, .. } = instance.engine.statistics();
    out.count(&COMMITS, commits);
    out.count(&ROLLBACKS, rollbacks);
    let sessions = instance.sessions.of(&instance.member);
    for state in Activity::ALL {
        let count = sessions.iter().filter(|session| session.activity() == state).count();
        out.labelled(&SESSIONS, "state", state.name(), Figure::Count(count as u64));
    }
    out.count(&CONNECTED, instance.member.sessions.load(Ordering::Relaxed));
    out.count(&ROWS_INSERTED, rows.inserted);
    out.count(&ROWS_UPDATED, rows.updated);
    out.count(&ROWS_DELETED, rows.deleted);
    out.count(&ROWS_SCANNED, read.scanned);
    out.count(&ROWS_FETCHED, read.fetched);
    let now = instance.engine.env().clock.unix_micros() - EPOCH_MICROS;
    let age = |since: Option<i64>| since.map_or(0.0, |since| now.saturating_sub(since).max(0) as f64 / 1e6);
    let started = sessions.iter().map(|session| session.transaction_started.load(Ordering::Relaxed));
    out.real(&OLDEST_TRANSACTION, age(started.filter(|started| *started != 0).min()));
    let snapshots = instance.engine.transactions().into_iter().filter_map(|txn| {
        let session = sessions.iter().find(|session| session.number == txn.session)?;
        session.snapshot_since(txn.isolation)
    });
    out.real(&OLDEST_SNAPSHOT, age(snapshots.min()));
}

/// Buffer pool, log, space.
fn pages_and_log(instance: &Instance, out: &mut Samples) {
    let EngineStatistics { pool, log, deadlocks, .. } = instance.engine.statistics();
    let space = instance.engine.space();
    out.count(&POOL_FETCHES, pool.fetches);
    out.count(&POOL_READS, pool.reads);
    out.count(&POOL_PREFETCHED, pool.prefetched);
    out.count(&POOL_WRITES, pool.writes);
    out.count(&POOL_FOREGROUND, pool.foreground_batches);
    out.count(&POOL_EVICTIONS, pool.evictions);
    out.count(&POOL_CAPACITY, pool.capacity_pages * space.page_size);
    out.count(&POOL_RESIDENT, pool.resident_pages * space.page_size);
    out.count(&POOL_DIRTY, pool.dirty_pages * space.page_size);
    out.count(&WAL_BYTES, log.bytes);
    out.count(&WAL_WRITTEN, log.bytes_written);
    let progress = instance.engine.log_progress();
    out.0.push(Sample {
        metric: &WAL_FSYNC,
        label: None,
        figure: histogram(&progress.fsync_micros, log.fsync_nanos),
    });
    out.count(&WAL_PENDING, progress.commits.saturating_sub(progress.commits_durable));
    out.count(&DEADLOCKS, deadlocks);
    out.count(&FILE_BYTES, space.total_pages * space.page_size);
    out.count(&FREE_BYTES, space.free_pages * space.page_size);
    out.count(&VERSION_BYTES, space.version_pages * space.page_size);
    out.count(&SCRATCH_BYTES, space.temporary_pages * space.page_size);
    let archive = instance.engine.archive_status();
    out.count(&ARCHIVE_WAITING, archive.waiting_bytes);
    out.count(&ARCHIVE_FAILURES, archive.failures);
    out.count(&DAMAGED, instance.engine.damaged_pages().len() as u64);
}

/// Of buckets that tell how many took less than so many microseconds: how many took at most so many seconds.
fn histogram(below_micros: &[(u64, u64)], nanos: u64) -> Figure {
    let total = below_micros.iter().map(|(_, count)| count).sum();
    let at_most =
        |bound: u64| below_micros.iter().filter(|(below, _)| *below <= bound).map(|(_, count)| count).sum();
    let bounds = (0..FSYNC_BUCKETS).map(|bit| 1u64 << bit);
    let buckets = bounds.map(|bound| (bound as f64 / 1e6, at_most(bound))).collect();
    Figure::Histogram(buckets, nanos as f64 / 1e9, total)
}

/// Locks, memory, temporary files, the queue.
fn waits(instance: &Instance, out: &mut Samples) {
    let waiting = instance.engine.locks().iter().filter(|lock| !lock.granted).count();
    out.count(&LOCK_WAITERS, waiting as u64);
    let waits = instance.member.waits();
    let kinds = [
        ("Lock", instance.engine.lock_waits()),
        (COMMIT_FLUSH, (waits.flush.count(), waits.flush.nanos())),
        (ADMISSION, (waits.queue.count(), waits.queue.nanos())),
    ];
    for (kind, (count, _)) in kinds {
        out.labelled(&WAITS, "event", kind, Figure::Count(count));
    }
    for (kind, (_, nanos)) in kinds {
        out.labelled(&WAIT_SECONDS, "event", kind, Figure::Real(nanos as f64 / 1e9));
    }
    let (files, bytes) = instance.temporary.totals();
    out.count(&TEMP_FILES, files);
    out.count(&TEMP_BYTES, bytes);
    out.count(&MEMORY, instance.memory.used_bytes());
    out.count(&MEMORY_PEAK, instance.memory.peak_bytes());
    out.count(&MEMORY_LIMIT, instance.memory.limit_bytes());
    out.count(&SHARES_WAITING, instance.shares.list().1.len() as u64);
}

/// Markers, jobs, sweeps.
fn maintenance(instance: &Instance, out: &mut Samples) {
    let markers = instance.engine.markers();
    out.count(&BEHIND, markers.next.0.saturating_sub(markers.oit.0));
    let jobs = instance.engine.jobs();
    out.count(&JOBS, jobs.len() as u64);
    let sweep = jobs.iter().find(|job| job.what == "SWEEP" && job.total > 0);
    out.real(&SWEEP_DONE, sweep.map_or(0.0, |job| (job.done as f64 / job.total as f64).min(1.0)));
    let asked = instance.sweeps.lock().last().cloned();
    let own = instance.engine.own_sweeps().last().map(SweepRecord::automatic);
    let last = asked.into_iter().chain(own).max_by_key(|sweep| sweep.started);
    out.real(&SWEEP_LAST, last.as_ref().map_or(0.0, |sweep| (sweep.started + EPOCH_MICROS) as f64 / 1e6));
    out.real(&SWEEP_SECONDS, last.map_or(0.0, |sweep| sweep.seconds));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_differ_and_tell_the_kind() {
        let all: Vec<&Metric> = SERVER_METRICS.iter().chain(DATABASE_METRICS).copied().collect();
        let names: HashSet<&str> = all.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all.len());
        for metric in all {
            assert_eq!(
                metric.name.ends_with("_total"),
                metric.kind == MetricKind::Counter,
                "{}",
                metric.name
            );
            assert!(metric.name.starts_with("verso_") && metric.help.ends_with('.'), "{}", metric.name);
        }
    }

    #[test]
    fn fsyncs_are_counted_up_to_each_bound_and_long_ones_beyond_all() {
        let Figure::Histogram(buckets, sum, count) =
            histogram(&[(1, 2), (1024, 3), (1 << 23, 4)], 1_500_000_000)
        else {
            panic!("a histogram")
        };
        assert_eq!((buckets.len(), sum, count), (23, 1.5, 9));
        assert_eq!((buckets[0], buckets[9].1, buckets[10].1), ((1e-6, 2), 2, 5));
        assert_eq!(buckets[22].1, 5, "what takes eight seconds is in none of them");
    }
}
