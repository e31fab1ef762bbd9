//! How many workers a job of maintenance gets.

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
