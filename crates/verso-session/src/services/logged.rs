//! Messages and errors in the log, as `log_min_messages`, `log_min_error_statement` and `log_error_verbosity` say.
//!
//! 1. A line has the SQLSTATE and the text of the statement as fields of its own.
//! 2. Of a text the log gets no password: a literal behind the word PASSWORD is left out.
//! 3. A message of any length takes little room: values of hundreds of megabytes stand in some errors.

use std::borrow::Cow;

use super::Services;
use crate::client::Notice;
use crate::session::in_one_line;
use crate::settings::{LogLevel, LogSettings, LogVerbosity};
use verso_planner::errors::{SqlError, Subject};

/// The most characters of a text in a line.
const TEXT_MAX: usize = 16 << 10;

impl Services {
    /// Logs a message that is no error.
    pub(super) fn log_notice(&self, notice: &Notice, log: LogSettings) {
        let Notice { severity, sqlstate, message, .. } = notice;
        let message = cut(message);
        let message = in_one_line(&message);
        let shown = |text: &'_ Option<String>| {
            let text = text.as_deref().filter(|_| log.verbosity > LogVerbosity::Terse);
            text.map(|text| cut(text).into_owned())
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
        let shown = |text: Option<&'_ str>| text.filter(|_| more).map(|text| cut(text).into_owned());
        let detail = shown(error.detail.as_deref());
        let hint = shown(error.hint.as_deref());
        let context = shown(error.context.as_deref());
        let internal = shown(error.internal.as_deref().map(|internal| internal.query.as_str()));
        let message = cut(&error.message);
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

/// A statement's text as the log gets it.
fn for_log(text: &str) -> Cow<'_, str> {
    let text = cut(text);
    match without_passwords(&text) {
        Some(shown) => Cow::Owned(shown),
        None => text,
    }
}

/// The text without literals behind the word PASSWORD; none if it has no such word.
fn without_passwords(text: &str) -> Option<String> {
    const WORD: &str = "password";
    let lower = text.to_ascii_lowercase();
    let mut shown = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some(found) = lower[from..].find(WORD) {
        from += found + WORD.len();
        let behind = &text[from..];
        let space = behind.len() - behind.trim_start_matches(|c: char| c.is_whitespace() || c == '=').len();
        // E'…' and the like.
        let prefix = usize::from(behind[space..].starts_with(['e', 'E', 'n', 'N']));
        let start = from + space + prefix;
        if !text[start..].starts_with('\'') {
            continue;
        }
        // To the end of the literal; a quote that is doubled or behind a backslash is a part of it.
        let mut end = start + 1;
        let bytes = text.as_bytes();
        while end < bytes.len() {
            match bytes[end] {
                b'\'' if bytes.get(end + 1) == Some(&b'\'') => end += 1,
                b'\\' if prefix > 0 => end += 1,
                b'\'' => break,
                _ => {}
            }
            end += 1;
        }
        shown.push_str(&text[kept..start]);
        shown.push_str("'…'");
        kept = (end + 1).min(text.len());
        from = kept;
    }
    if kept == 0 {
        return None;
    }
    shown.push_str(&text[kept..]);
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out_of_what_is_logged() {
        for (text, shown) in [
            ("SELECT 1", "SELECT 1"),
            ("ALTER ROLE a PASSWORD 'x''y' LOGIN", "ALTER ROLE a PASSWORD '…' LOGIN"),
            (
                "create user a encrypted password\n'é'; select 'é'",
                "create user a encrypted password\n'…'; select 'é'",
            ),
            (r"ALTER ROLE a PASSWORD E'x\'y' LOGIN", "ALTER ROLE a PASSWORD E'…' LOGIN"),
            ("ALTER ROLE a PASSWORD 'without an end", "ALTER ROLE a PASSWORD '…'"),
            ("SELECT password FROM t WHERE password = 'x'", "SELECT password FROM t WHERE password = '…'"),
            ("ALTER ROLE a PASSWORD NULL", "ALTER ROLE a PASSWORD NULL"),
        ] {
            assert_eq!(for_log(text), shown);
        }
        let long = "é".repeat(TEXT_MAX + 1);
        assert_eq!(for_log(&long).chars().count(), TEXT_MAX + 2);
    }
}
