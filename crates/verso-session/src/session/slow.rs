//! The log of statements: those that `log_statement` names, when they begin, the slow ones: those that take
//! `log_min_duration_statement` or longer, with their text, and with their plan where `log_plans` asks for it; and those
//! that fail.
//!
//! 1. Where it is off, a statement pays for a look at the setting.
//! 2. A slow statement that fails is told too, as in PostgreSQL; one in portions tells of each of them.
//! 3. A line break of a statement is followed by a tab, as in PostgreSQL's log: no statement writes what looks like another
//!    line of the log.
//! 4. No password of a statement comes into the log.

use std::borrow::Cow;

use super::Session;
use crate::passwords::without_passwords;
use crate::plans::{Job, log_class};
use crate::settings::{LogLevel, LogStatement};
use verso_planner::errors::SqlError;

impl Session {
    /// Logs an error that the client was told of, as `log_min_messages` and `log_min_error_statement` say; `text` is what it
    /// has sent, where that is known. Whoever talks with the client calls it: a program that embeds the database has the
    /// error itself.
    pub fn log_error(&self, error: &SqlError, text: Option<&str>) {
        self.services.log_error(error, text);
    }

    /// Tells of the statement that begins now, where `log_statement` asks for it.
    pub(super) fn tell_begin(&self, job: &Job<'_>) {
        let wanted = self.services.settings.log_statement;
        if wanted == LogStatement::None || self.services.settings.log.from > LogLevel::Log {
            return;
        }
        if log_class(job.statement, &self.services.named) <= wanted {
            let text = without_passwords(job.shown());
            let (text, cut) = (in_one_line(&text), if job.is_cut() { " …" } else { "" });
            let session = self.services.info.number;
            tracing::info!(session, "statement: {text}{cut}");
        }
    }

    /// When the statement that begins now is to be told of by its duration: now.
    pub(super) fn slow_start(&self) -> Option<u64> {
        let start = (self.services.log_min_duration_ms() >= 0).then(|| self.services.clocks.nanos());
        self.services.slow.begin(start);
        start
    }

    /// Tells of the statement that began then, if it took long enough.
    pub(super) fn tell_slow(&self, job: &Job<'_>, start: Option<u64>) {
        let Some(start) = start else { return };
        let services = &self.services;
        let plan = services.slow.end();
        let nanos = services.clocks.nanos().saturating_sub(start);
        // It may have switched the log off itself.
        if services.takes_long(nanos) && services.settings.log.from <= LogLevel::Log {
            let text = without_passwords(job.shown());
            let (text, cut) = (in_one_line(&text), if job.is_cut() { " …" } else { "" });
            let milliseconds = nanos as f64 / 1e6;
            let session = services.info.number;
            tracing::info!(session, "duration: {milliseconds:.3} ms  statement: {text}{cut}");
            if let Some(plan) = plan {
                let plan = in_one_line(&plan);
                tracing::info!(session, "duration: {milliseconds:.3} ms  plan:\n\t{plan}");
            }
        }
    }
}

/// A text as the log has it: what follows a line break is indented, so it does not look like a line of its own (3).
pub(crate) fn in_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace(['\n', '\r'], "\n\t"))
}

#[cfg(test)]
mod tests {
    use super::in_one_line;

    #[test]
    fn no_line_of_a_statement_begins_as_one_of_the_log() {
        assert_eq!(in_one_line("SELECT 1"), "SELECT 1");
        let forged = "SELECT 1\n2026-01-01T00:00:00Z ERROR disk lost\r\nX\rY";
        assert_eq!(in_one_line(forged), "SELECT 1\n\t2026-01-01T00:00:00Z ERROR disk lost\n\tX\n\tY");
    }
}
