//! What a statement cost, by counters of the engine and the process.
//!
//! Reading them takes microseconds, so it happens only where `statement_statistics` is on. Statements and their rows are
//! counted always.

use crate::client::StatementStatistics;
use crate::services::Services;
use crate::views::SessionTotals;

/// Counters at the start of a statement.
pub(crate) struct Measure {
    nanos: u64,
    memory_bytes: u64,
    counters: Counters,
}

#[derive(Clone, Copy)]
struct Counters {
    reads: u64,
    writes: u64,
    fetches: u64,
    redo_bytes: u64,
    buffers: u64,
    resident_pool_bytes: u64,
    waits: u64,
    wait_nanos: u64,
    commits: u64,
    commits_durable: u64,
    commit_groups: u64,
    fsyncs: u64,
    fsync_nanos: u64,
}

impl Counters {
    fn now(services: &Services) -> Counters {
        let engine = &services.instance.engine;
        let (statistics, log) = (engine.statistics(), engine.log_progress());
        let info = &services.info;
        let waited = [&info.waits.flush, &info.waits.queue, info.lock_waits()];
        Counters {
            reads: statistics.pool.reads,
            writes: statistics.pool.writes,
            fetches: statistics.pool.fetches,
            redo_bytes: statistics.log.bytes,
            buffers: statistics.pool.capacity_pages,
            resident_pool_bytes: statistics.pool.resident_pages * u64::from(engine.options().page_size),
            waits: waited.iter().map(|waited| waited.count()).sum(),
            wait_nanos: waited.iter().map(|waited| waited.nanos()).sum(),
            commits: log.commits,
            commits_durable: log.commits_durable,
            commit_groups: log.group_commits.iter().map(|(_, flushes)| flushes).sum(),
            fsyncs: statistics.log.fsyncs,
            fsync_nanos: statistics.log.fsync_nanos,
        }
    }
}

/// Memory of the process beside the pool's frames.
fn memory_bytes(counters: &Counters) -> u64 {
    verso_env::process::resident_bytes().unwrap_or(0).saturating_sub(counters.resident_pool_bytes)
}

/// What statements of the session have cost.
#[derive(Debug, Default)]
pub(crate) struct Measures {
    last: Option<StatementStatistics>,
    memory_max_bytes: u64,
    totals: SessionTotals,
}

impl Measures {
    /// What the last statement cost.
    pub(crate) fn last(&self) -> Option<&StatementStatistics> {
        self.last.as_ref()
    }

    /// A statement is done, with so many rows.
    #[inline]
    pub(crate) fn count(&mut self, rows: u64) {
        self.totals.statements += 1;
        self.totals.rows += rows;
    }

    /// What all of them cost.
    pub(crate) fn totals(&self) -> &SessionTotals {
        &self.totals
    }
}

impl Measure {
    pub(crate) fn start(services: &Services) -> Measure {
        let counters = Counters::now(services);
        let nanos = services.clocks.nanos();
        Measure { nanos, memory_bytes: memory_bytes(&counters), counters }
    }

    pub(crate) fn finish(self, measures: &mut Measures, services: &Services) {
        let elapsed_nanos = services.clocks.nanos().saturating_sub(self.nanos);
        let now = Counters::now(services);
        let memory = memory_bytes(&now);
        measures.memory_max_bytes = measures.memory_max_bytes.max(memory);
        let statistics = StatementStatistics {
            memory_current_bytes: memory,
            memory_delta_bytes: memory as i64 - self.memory_bytes as i64,
            memory_max_bytes: measures.memory_max_bytes,
            elapsed_nanos,
            buffers: now.buffers,
            reads: now.reads.saturating_sub(self.counters.reads),
            writes: now.writes.saturating_sub(self.counters.writes),
            fetches: now.fetches.saturating_sub(self.counters.fetches),
            redo_bytes: now.redo_bytes.saturating_sub(self.counters.redo_bytes),
            waits: now.waits.saturating_sub(self.counters.waits),
            wait_nanos: now.wait_nanos.saturating_sub(self.counters.wait_nanos),
            commits: now.commits.saturating_sub(self.counters.commits),
            commits_durable: now.commits_durable.saturating_sub(self.counters.commits_durable),
            commit_groups: now.commit_groups.saturating_sub(self.counters.commit_groups),
            fsyncs: now.fsyncs.saturating_sub(self.counters.fsyncs),
            fsync_nanos: now.fsync_nanos.saturating_sub(self.counters.fsync_nanos),
        };
        let totals = &mut measures.totals;
        totals.measured = true;
        totals.elapsed_nanos += elapsed_nanos;
        totals.fetches += statistics.fetches;
        totals.reads += statistics.reads;
        totals.writes += statistics.writes;
        totals.redo_bytes += statistics.redo_bytes;
        measures.last = Some(statistics);
    }
}
