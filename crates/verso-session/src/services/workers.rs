//! How many workers a job of maintenance gets, and the parts of a query.

use verso_exec::context::{Crew, Workers};

use super::Services;

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

impl Workers for Services {
    fn for_pages(&self, pages: u64) -> u32 {
        let least = self.settings.parallel_scan_bytes;
        let bytes = pages.saturating_mul(self.instance.engine.page_size() as u64);
        if pages == 0 || bytes < least {
            return 1;
        }
        // Each has half of the least to read, or more.
        let most = u32::try_from(bytes / (least / 2).max(1)).unwrap_or(u32::MAX);
        self.workers_of(None, false).min(most).max(1)
    }

    fn crew(&self, wanted: u32) -> Crew {
        self.instance.engine.worker_pool().lend(wanted)
    }
}
