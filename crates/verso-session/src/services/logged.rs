//! Messages and errors in the log, as `log_min_messages`, `log_min_error_statement` and `log_error_verbosity` say.
//!
//! 1. A line has the SQLSTATE and the text of the statement as fields of its own.
//! 2. Of a text the log gets no password ([`crate::passwords`]).
//! 3. A message of any length takes little room: values of hundreds of megabytes stand in some errors.

use std::borrow::Cow;

use super::Services;
use crate::client::Notice;
use crate::passwords::without_passwords;
use crate::session::in_one_line;
use crate::settings::{LogLevel, LogSettings, LogVerbosity};
use verso_planner::errors::{SqlError, Subject};

/// The most characters of a text in a line.
const TEXT_MAX: usize = 16 << 10;

impl Services {
    /// Logs a message that is no error.
    pub(super) fn log_notice(&self, notice: &Notice, log: LogSettings) {
        let Notice { severity, sqlstate, message, .. } = notice;
        let message = for_log(message);
        let message = in_one_line(&message);
        let shown = |text: &'_ Option<String>| {
            let text = text.as_deref().filter(|_| log.verbosity > LogVerbosity::Terse);
            text.map(|text| for_log(text).into_owned())
        };
        let (detail, hint, context) = (shown(&notice.detail), shown(&notice.hint), shown(&notice.context));
        let level = LogLevel::of(severity);
        let statement = (level >= log.statements_from).then(|| self.info.statement.lock().clone());
        let statement = statement.as_deref().map(for_log);
        let session = self.info.number;
        match level {
            LogLevel::Warning => tracing::warn!(
                session,
                sqlstate = &**sqlstate,
                detail,
                hint,
                context,
                statement = statement.as_deref(),
                "{message}"
            ),
            // What a superuser asks for by log_min_messages is not left out for being a detail.
            _ => tracing::info!(
                session,
                severity,
                sqlstate = &**sqlstate,
                detail,
                hint,
                context,
                statement = statement.as_deref(),
                "{message}"
            ),
        }
    }

    /// Logs an error that a client is told of; `text` is the statement's, where there is one.
    pub(crate) fn log_error(&self, error: &SqlError, text: Option<&str>) {
        let log = self.settings.log;
        if log.from > LogLevel::Error {
            return;
        }
        let more = log.verbosity > LogVerbosity::Terse;
        let shown = |text: Option<&'_ str>| text.filter(|_| more).map(|text| for_log(text).into_owned());
        let detail = shown(error.detail.as_deref());
        let hint = shown(error.hint.as_deref());
        let context = shown(error.context.as_deref());
        let internal = shown(error.internal.as_deref().map(|internal| internal.query.as_str()));
        let message = for_log(&error.message);
        let about = error.subject.as_deref().filter(|_| log.verbosity == LogVerbosity::Verbose);
        let statement = text.filter(|_| log.statements_from <= LogLevel::Error).map(for_log);
        let place = error.position.map(|position| format!(" at character {position}")).unwrap_or_default();
        tracing::error!(
            session = self.info.number,
            sqlstate = error.sqlstate,
            detail,
            hint,
            query = internal,
            context,
            about = about.map(named),
            statement = statement.as_deref(),
            "{}{place}",
            in_one_line(&message)
        );
    }
}

/// The names of what an error is about.
fn named(subject: &Subject) -> String {
    let names = [
        ("schema", &subject.schema),
        ("table", &subject.table),
        ("column", &subject.column),
        ("constraint", &subject.constraint),
        ("type", &subject.datatype),
    ];
    let known = names.iter().filter_map(|(what, name)| Some(format!("{what} {}", name.as_ref()?)));
    known.collect::<Vec<_>>().join(", ")
}

/// A text with as many of its characters as the log gets.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(TEXT_MAX) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{} …", &text[..end])),
    }
}

/// A text as the log gets it.
fn for_log(text: &str) -> Cow<'_, str> {
    match cut(text) {
        Cow::Borrowed(text) => without_passwords(text),
        Cow::Owned(text) => Cow::Owned(without_passwords(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_have_no_passwords() {
        let long = "é".repeat(TEXT_MAX + 1);
        assert_eq!(for_log(&long).chars().count(), TEXT_MAX + 2);
        let statement = format!("ALTER ROLE a PASSWORD 'x' {long}");
        assert!(for_log(&statement).starts_with("ALTER ROLE a PASSWORD '…' é"));
    }
}
