//! How many workers a job of maintenance gets, and the parts of a query.

use std::sync::Arc;

use verso_exec::context::{Crew, GivesWay, Workers};

use super::Services;
use crate::shares::Turns;

impl Services {
    /// Workers of a job that asks for no number: what the session says, or one for each processor, within the limit.
    pub(crate) fn workers_wanted(&self) -> u32 {
        let most = self.instance.database.lock().workers_max;
        let wanted = self.settings.parallel_workers;
        wanted.unwrap_or_else(|| (verso_env::process::processors() as u32).min(most))
    }

    /// Workers of a job; `asked` is what its statement says. Warns, where that is wanted, if it is more than may be.
    pub(crate) fn workers_of(&self, asked: Option<u32>, warns: bool) -> u32 {
        let most = self.instance.database.lock().workers_max;
        let wanted = asked.unwrap_or_else(|| self.workers_wanted());
        if wanted > most && warns {
            let text = format!("{wanted} workers are more than max_parallel_workers allows: {most} work");
            self.notices.warn("01V10", &text);
        }
        wanted.clamp(1, most)
    }
}

impl Services {
    /// The part of the machine that the session's statements ask for, within `max_pdq_priority`; none where nothing is said of
    /// it.
    pub(crate) fn priority(&self) -> Option<u8> {
        let shares = &self.instance.shares;
        let own = self.settings.pdq_priority;
        own.or_else(|| (shares.max() < 100).then_some(100)).map(|priority| shares.scaled(priority))
    }

    /// Admits the running statement to several workers; how many of those wanted it gets.
    fn admitted(&self, wanted: u32) -> u32 {
        let Some(priority) = self.priority() else { return wanted };
        if priority == 0 || wanted < 2 {
            return 1;
        }
        if self.grant.borrow().is_none() {
            let shares = &self.instance.shares;
            let (grant, waited) = shares.admit(
                self.info.number,
                priority.into(),
                self.may_queue.get(),
                self.info.cancel_flag(),
            );
            if let Some(nanos) = waited {
                self.info.queued(nanos);
            }
            let Some(grant) = grant else { return 1 };
            *self.grant.borrow_mut() = Some(grant);
        }
        // The lowest priority reads with one worker beside it.
        (wanted * u32::from(priority)).div_ceil(100).clamp(2, wanted)
    }
}

impl Workers for Services {
    fn for_pages(&self, pages: u64) -> u32 {
        let least = self.settings.parallel_scan_bytes;
        let bytes = pages.saturating_mul(self.instance.engine.page_size() as u64);
        if pages == 0 || bytes < least {
            return 1;
        }
        // Each has half of the least to read, or more.
        let most = u32::try_from(bytes / (least / 2).max(1)).unwrap_or(u32::MAX);
        self.admitted(self.workers_of(None, false).min(most).max(1))
    }

    fn turns(&self, workers: u32) -> Option<Arc<dyn GivesWay>> {
        let (sessions, session) = (Arc::clone(&self.instance.sessions), Arc::clone(&self.info));
        let clock = Arc::clone(&self.env.clock);
        Some(Arc::new(Turns::new(sessions, session, clock, self.priority(), workers as usize)))
    }

    fn crew(&self, wanted: u32) -> Crew {
        self.instance.engine.worker_pool().lend(wanted)
    }
}
