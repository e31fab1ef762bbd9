//! The rows of the views of the log: how far it is, and how its flushes went.

use verso_storage::wal::{SegmentInfo, SegmentState};
use verso_storage::{CheckpointCounts, EngineStatistics, Lsn};
use verso_types::{Decimal, Value};

use crate::registry::Waits;
use crate::registry::waits::{ADMISSION, COMMIT_FLUSH};
use crate::services::EPOCH_MICROS;
use crate::views::{Views, int};

impl Views<'_> {
    /// `verso_wal`.
    pub(crate) fn wal_row(&self) -> Vec<Value> {
        let engine = &self.services.instance.engine;
        let (progress, EngineStatistics { log, .. }) = (engine.log_progress(), engine.statistics());
        vec![
            int(progress.appended),
            int(progress.written),
            int(progress.durable),
            int(progress.commits),
            int(progress.commits.saturating_sub(progress.commits_durable)),
            int(log.flushes),
            int(log.fsyncs),
            Value::Float8(log.fsync_nanos as f64 / 1e6),
            int(log.chunks),
            int(log.bytes_written),
            int(log.segments_created),
            int(log.segments_recycled),
        ]
    }

    /// `verso_logs`.
    pub(crate) fn log_rows(&self) -> Vec<Vec<Value>> {
        let lsn = |lsn: Option<Lsn>| lsn.map_or(Value::Null, |lsn| int(lsn.0));
        let row = |segment: SegmentInfo| {
            let state = match segment.state {
                SegmentState::Current => "current",
                SegmentState::Closed => "closed",
                SegmentState::Spare => "spare",
            };
            vec![
                int(segment.number),
                Value::text(&segment.file),
                int(segment.bytes),
                lsn(segment.first),
                lsn(segment.last),
                Value::text(state),
            ]
        };
        self.services.instance.engine.log_segments().into_iter().map(row).collect()
    }

    /// `verso_archive`.
    pub(crate) fn archive_row(&self) -> Vec<Value> {
        let status = self.services.instance.engine.archive_status();
        let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
        vec![
            text(status.target.map(|target| target.display().to_string())),
            int(status.archived.0),
            int(status.segments),
            int(status.waiting_bytes),
            int(status.failures),
            text(status.error),
            match status.archived_at {
                0 => Value::Null,
                at => Value::Timestamptz(at - EPOCH_MICROS),
            },
        ]
    }

    /// `verso_queue`: who has a share of the machine first, then who waits for one, in order.
    pub(crate) fn queue_rows(&self) -> Vec<Vec<Value>> {
        let instance = &self.services.instance;
        let (running, waiting) = instance.shares.list();
        let row = |state: &'static str, at: Option<usize>, entry: &crate::shares::Entry| {
            let session = instance.sessions.find(entry.session);
            vec![
                crate::views::session(entry.session),
                Value::text(state),
                at.map_or(Value::Null, |at| int(at as u64 + 1)),
                int(u64::from(entry.units)),
                Value::Float8(instance.shares.millis_since(entry.since_nanos)),
                session.map_or(Value::Null, |session| self.statement_of(&session)),
            ]
        };
        let running = running.iter().map(|entry| row("running", None, entry));
        running.chain(waiting.iter().enumerate().map(|(at, entry)| row("waiting", Some(at), entry))).collect()
    }

    /// `verso_history`.
    pub(crate) fn history_rows(&self) -> Vec<Vec<Value>> {
        let engine = &self.services.instance.engine;
        let Some(report) = engine.history() else { return Vec::new() };
        let space = engine.space();
        let most = self.services.instance.database.lock().version_retention_bytes;
        vec![vec![
            Value::Int8(report.retention_micros / 1000),
            Value::Timestamptz(report.start - EPOCH_MICROS),
            int(report.oldest),
            int(report.newest),
            int(report.moments),
            Value::Float8(report.span_micros as f64 / 1e3),
            int(space.version_pages),
            int(space.version_pages * space.page_size),
            if most == 0 { Value::Null } else { int(most) },
        ]]
    }

    /// `verso_waits`: of all sessions since the database was opened, then of each that is connected.
    pub(crate) fn wait_rows(&self) -> Vec<Vec<Value>> {
        let instance = &self.services.instance;
        let of = |session: Value, locks: (u64, u64), waits: &Waits| {
            let flush = (waits.flush.count(), waits.flush.nanos());
            let queue = (waits.queue.count(), waits.queue.nanos());
            [("Lock", locks), (COMMIT_FLUSH, flush), (ADMISSION, queue)].map(|(kind, (count, nanos))| {
                vec![session.clone(), Value::text(kind), int(count), Value::Float8(nanos as f64 / 1e6)]
            })
        };
        let mut rows = of(Value::Null, instance.engine.lock_waits(), instance.member.waits()).to_vec();
        for info in instance.sessions.of(&instance.member) {
            let locks = (info.lock_waits().count(), info.lock_waits().nanos());
            rows.extend(of(crate::views::session(info.number), locks, &info.waits));
        }
        rows
    }

    /// `verso_wal_histogram`.
    pub(crate) fn wal_histogram_rows(&self) -> Vec<Vec<Value>> {
        let progress = self.services.instance.engine.log_progress();
        let rows = |what: &'static str, buckets: Vec<(u64, u64)>| {
            buckets.into_iter().map(move |(below, count)| vec![Value::text(what), int(below), int(count)])
        };
        rows("fsync_us", progress.fsync_micros).chain(rows("commits", progress.group_commits)).collect()
    }

    /// `pg_stat_wal`: log groups are its records, and there are no images of pages in the log.
    /// The row of `pg_stat_checkpointer`: since the database was opened.
    pub(crate) fn pg_stat_checkpointer_row(&self) -> Vec<Value> {
        let CheckpointCounts { timed, requested, done, nanos, pages, last_at: _ } =
            self.services.instance.engine.statistics().checkpoints;
        let milliseconds = Value::Float8(nanos as f64 / 1e6);
        let counts = [timed, requested, done, 0, 0, 0].into_iter().map(int);
        // What waits for the disk is part of the writing.
        counts.chain([milliseconds, Value::Float8(0.0), int(pages), int(0), Value::Null]).collect()
    }

    /// The row of `pg_stat_bgwriter`: pages written ahead of those who need their frames, and frames taken.
    pub(crate) fn pg_stat_bgwriter_row(&self) -> Vec<Value> {
        let EngineStatistics { pool, checkpoints, .. } = self.services.instance.engine.statistics();
        let cleaned = pool.writes.saturating_sub(checkpoints.pages);
        vec![int(cleaned), int(0), int(pool.reads + pool.evictions), Value::Null]
    }

    /// The row of `pg_stat_archiver`: since the database was opened.
    pub(crate) fn pg_stat_archiver_row(&self) -> Vec<Value> {
        let status = self.services.instance.engine.archive_status();
        let at = (status.archived_at > 0).then(|| status.archived_at - EPOCH_MICROS);
        let (none, failed) = (Value::Null, int(status.failures));
        vec![
            int(status.segments),
            none.clone(),
            at.map_or(Value::Null, Value::Timestamptz),
            failed,
            none.clone(),
            none.clone(),
            none,
        ]
    }

    pub(crate) fn pg_stat_wal_row(&self) -> Vec<Value> {
        let EngineStatistics { log, .. } = self.services.instance.engine.statistics();
        let bytes = Decimal::new(i128::from(log.bytes), 0).map_or(Value::Null, Value::Numeric);
        vec![int(log.groups), int(0), bytes, int(log.buffers_full), Value::Null]
    }
}
