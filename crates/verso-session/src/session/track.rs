//! What goes into `pg_stat_statements`: how long a statement takes, what it reads and writes.
//!
//! 1. Where nothing is tracked, a statement pays for a look at the settings and at one flag: nothing is where the database has not
//!    asked for the extension and nobody has set `pg_stat_statements.track`.
//! 2. A statement that fails is not counted, as in PostgreSQL.
//! 3. Making a plan belongs to no execution: it is told apart where `pg_stat_statements.track_planning` asks for it.
//! 4. The commit of a statement that is its own transaction belongs to the statement: nobody sends another one for it.
//! 5. EXECUTE counts as what was prepared, PREPARE as nothing.

use std::sync::Arc;

use verso_exec::context::{Begun, StatementFigures};
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_storage::Work;
use verso_storage::work;

use super::Session;
use crate::plans::{Identity, Job, Prepared};
use crate::services::Services;
use crate::settings::QueryIds;
use crate::tracked::{Key, Run};

/// How things stood when a statement began.
pub(super) struct Tracking {
    nanos: u64,
    work: Work,
    /// Time that plans had taken.
    planned: u64,
}

impl Session {
    /// A statement begins; none where it is not tracked.
    #[inline]
    pub(super) fn track(&mut self, job: &Job<'_>) -> Option<Tracking> {
        let is_plain = job.prepared.is_some_and(Prepared::is_plain) || has_plan(job.statement);
        let services = &self.services;
        if !services.settings.tracks.top(is_plain, services.instance.tracked.is_asked())
            || job.identity.id() == 0
        {
            services.planned.set((0, 0));
            return None;
        }
        self.executed = None;
        let planned = services.planned.get().1;
        Some(Tracking { nanos: services.clocks.nanos(), work: work::done(), planned })
    }

    /// It has ended, with so many rows; it counts as so many calls.
    #[inline]
    pub(super) fn tracked(&mut self, job: &Job<'_>, tracking: &Tracking, rows: u64, calls: u64) {
        let services = &self.services;
        let (plans, plan_nanos) = services.planned.replace((0, 0));
        let within = plan_nanos.saturating_sub(tracking.planned);
        let plans = if services.settings.tracks.planning { plans } else { 0 };
        let nanos = services.clocks.nanos().saturating_sub(tracking.nanos).saturating_sub(within);
        let work = work::done() - tracking.work;
        if matches!(job.statement, Statement::Prepare(_)) {
            return;
        }
        // The first statement of a session finds out whether the database has the extension.
        if services.settings.tracks.which.is_none() && !services.instance.tracked.is_asked() {
            return;
        }
        let executed = self.executed.take();
        let executed = executed.as_deref().and_then(|prepared| Job::prepared(prepared, &[]));
        let (identity, sql) = executed.map_or((job.identity, job.sql), |inner| (inner.identity, inner.sql));
        let run = Run { calls, nanos, rows, work, plans, plan_nanos };
        services.count_run(identity, sql, true, &run);
    }

    /// A plan was made for a statement that is executed later.
    pub(super) fn tracked_plan(&self, prepared: &Prepared) {
        let services = &self.services;
        let (plans, plan_nanos) = services.planned.replace((0, 0));
        let tracks = &services.settings.tracks;
        if plans > 0
            && tracks.planning
            && tracks.top(true, services.instance.tracked.is_asked())
            && let Some(job) = Job::prepared(prepared, &[])
        {
            services.count_run(job.identity, job.sql, true, &Run { plans, plan_nanos, ..Run::default() });
        }
    }
}

impl Services {
    /// The number that others see of a statement.
    #[inline]
    pub(crate) fn query_id(&self, id: i64) -> i64 {
        if self.settings.tracks.ids == QueryIds::Off { 0 } else { id }
    }

    /// Counts what a statement has cost.
    pub(crate) fn count_run(&self, identity: Identity<'_>, sql: &str, is_top: bool, run: &Run) {
        let key = Key { id: identity.id(), role: self.running_role(), is_top };
        let place = (&self.instance.tracked, self.info.number);
        self.figures.count(place, key, run, || self.clocks.now(), || identity.text(sql));
    }

    /// What was planned since the last statement are ways to plan one.
    #[inline]
    pub(crate) fn planned_once(&self) {
        let (plans, nanos) = self.planned.get();
        if plans > 1 {
            self.planned.set((1, nanos));
        }
    }

    /// Runs what makes a plan, and notes how long it takes.
    pub(crate) fn planning<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = self.clocks.nanos();
        let made = work();
        let (plans, nanos) = self.planned.get();
        self.planned.set((plans + 1, nanos + self.clocks.nanos().saturating_sub(start)));
        made
    }
}

impl StatementFigures for Services {
    fn begin(&self) -> Option<Begun> {
        let tracks = self.settings.tracks.nested();
        tracks.then(|| Begun { nanos: self.clocks.nanos(), work: work::done() })
    }

    fn ended(&self, text: &Arc<str>, begun: &Begun, rows: u64) {
        let nanos = self.clocks.nanos().saturating_sub(begun.nanos);
        let run = Run { calls: 1, nanos, rows, work: work::done() - begun.work, ..Run::default() };
        // Of what is no text of one statement nobody keeps figures.
        if let Ok([parsed]) = parse_script(text).as_deref() {
            self.count_run(Identity::OfText(&parsed.fingerprint), text, false, &run);
        }
    }
}

/// Whether it is a query or a change of rows.
fn has_plan(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Execute { .. }
    )
}
