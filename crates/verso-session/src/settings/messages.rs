//! Which messages a client is sent, `client_min_messages`, and which the log gets: `log_min_messages`,
//! `log_min_error_statement`, `log_error_verbosity`.

/// How much a message weighs, the least first. INFO is sent whatever is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageLevel {
    /// The most detailed of the levels for developers.
    Debug5,
    /// Less detailed.
    Debug4,
    /// Less detailed.
    Debug3,
    /// Less detailed.
    Debug2,
    /// RAISE DEBUG.
    Debug1,
    /// RAISE LOG.
    Log,
    /// RAISE NOTICE.
    Notice,
    /// RAISE WARNING.
    Warning,
    /// Errors only.
    Error,
}

/// The levels by name.
const NAMES: [(&str, MessageLevel); 9] = [
    ("debug5", MessageLevel::Debug5),
    ("debug4", MessageLevel::Debug4),
    ("debug3", MessageLevel::Debug3),
    ("debug2", MessageLevel::Debug2),
    ("debug1", MessageLevel::Debug1),
    ("log", MessageLevel::Log),
    ("notice", MessageLevel::Notice),
    ("warning", MessageLevel::Warning),
    ("error", MessageLevel::Error),
];

impl MessageLevel {
    /// Which names there are.
    pub(super) const HINT: &'static str =
        "Available values: debug5, debug4, debug3, debug2, debug1, log, notice, warning, error.";

    /// The names of all of them.
    pub(super) fn words() -> Vec<&'static str> {
        NAMES.iter().map(|(name, _)| *name).collect()
    }

    /// The level of that name, in any case.
    pub(super) fn named(name: &str) -> Option<MessageLevel> {
        let name = if name.eq_ignore_ascii_case("debug") { "debug2" } else { name };
        NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, level)| *level)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// The level of messages that are called so when they are sent.
    pub(crate) fn of(severity: &str) -> MessageLevel {
        match severity {
            "DEBUG" => MessageLevel::Debug1,
            "LOG" => MessageLevel::Log,
            "NOTICE" => MessageLevel::Notice,
            "WARNING" => MessageLevel::Warning,
            _ => MessageLevel::Error,
        }
    }
}

/// How much a message or an error weighs in the log, the least first: LOG is said whatever fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// As of the client.
    Debug5,
    /// As of the client.
    Debug4,
    /// As of the client.
    Debug3,
    /// As of the client.
    Debug2,
    /// RAISE DEBUG.
    Debug1,
    /// RAISE INFO.
    Info,
    /// RAISE NOTICE.
    Notice,
    /// RAISE WARNING.
    Warning,
    /// A statement that fails.
    Error,
    /// RAISE LOG, statements that `log_statement` and `log_min_duration_statement` name.
    Log,
    /// The end of a session.
    Fatal,
    /// The end of the server.
    Panic,
}

/// These levels by name.
const LOG_NAMES: [(&str, LogLevel); 12] = [
    ("debug5", LogLevel::Debug5),
    ("debug4", LogLevel::Debug4),
    ("debug3", LogLevel::Debug3),
    ("debug2", LogLevel::Debug2),
    ("debug1", LogLevel::Debug1),
    ("info", LogLevel::Info),
    ("notice", LogLevel::Notice),
    ("warning", LogLevel::Warning),
    ("error", LogLevel::Error),
    ("log", LogLevel::Log),
    ("fatal", LogLevel::Fatal),
    ("panic", LogLevel::Panic),
];

impl LogLevel {
    /// Which names there are.
    const HINT: &'static str = "Available values: debug5, debug4, debug3, debug2, debug1, info, notice, warning, error, log, fatal, panic.";

    /// The names of all of them.
    pub(super) fn words() -> Vec<&'static str> {
        LOG_NAMES.iter().map(|(name, _)| *name).collect()
    }

    /// The level of messages that are called so when they are sent.
    pub(crate) fn of(severity: &str) -> LogLevel {
        match severity {
            "DEBUG" => LogLevel::Debug1,
            "INFO" => LogLevel::Info,
            "NOTICE" => LogLevel::Notice,
            "WARNING" => LogLevel::Warning,
            "LOG" => LogLevel::Log,
            _ => LogLevel::Error,
        }
    }
}

/// How much of a message the log gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogVerbosity {
    /// The message itself.
    Terse,
    /// With detail, hint and context.
    Default,
    /// With the names of what it is about, too.
    Verbose,
}

/// These by name.
const VERBOSITIES: [(&str, LogVerbosity); 3] =
    [("terse", LogVerbosity::Terse), ("default", LogVerbosity::Default), ("verbose", LogVerbosity::Verbose)];

/// What the log gets of messages and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// From this level on.
    pub from: LogLevel,
    /// From this level on with the statement's text.
    pub statements_from: LogLevel,
    /// How much of each.
    pub verbosity: LogVerbosity,
}

impl Default for LogSettings {
    fn default() -> LogSettings {
        LogSettings {
            from: LogLevel::Warning,
            statements_from: LogLevel::Error,
            verbosity: LogVerbosity::Default,
        }
    }
}

impl LogSettings {
    /// Sets one of the three. Where it has no such value: which there are.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), &'static str> {
        let level = |usual| match value {
            None => Ok(usual),
            Some(name) => {
                let name = if name.eq_ignore_ascii_case("debug") { "debug2" } else { name };
                named(&LOG_NAMES, name).ok_or(LogLevel::HINT)
            }
        };
        let usual = LogSettings::default();
        match name {
            "log_min_messages" => self.from = level(usual.from)?,
            "log_min_error_statement" => self.statements_from = level(usual.statements_from)?,
            _ => {
                let found = value.map_or(Some(usual.verbosity), |name| named(&VERBOSITIES, name));
                self.verbosity = found.ok_or("Available values: terse, default, verbose.")?;
            }
        }
        Ok(())
    }

    /// One of the three as SHOW prints it.
    pub(super) fn show(&self, name: &str) -> &'static str {
        match name {
            "log_min_messages" => LOG_NAMES[self.from as usize].0,
            "log_min_error_statement" => LOG_NAMES[self.statements_from as usize].0,
            _ => VERBOSITIES[self.verbosity as usize].0,
        }
    }
}

fn named<T: Copy>(names: &[(&str, T)], name: &str) -> Option<T> {
    names.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_levels_agree() {
        for (at, (name, level)) in NAMES.into_iter().enumerate() {
            assert_eq!((level as usize, level.name(), MessageLevel::named(name)), (at, name, Some(level)));
        }
        assert_eq!(MessageLevel::named("DEBUG"), Some(MessageLevel::Debug2));
        assert_eq!(MessageLevel::named("loud"), None);
        assert!(MessageLevel::of("NOTICE") < MessageLevel::Warning);
    }

    #[test]
    fn names_and_levels_of_the_log_agree() {
        for (at, (_, level)) in LOG_NAMES.into_iter().enumerate() {
            assert_eq!(level as usize, at);
        }
        for (at, (_, verbosity)) in VERBOSITIES.into_iter().enumerate() {
            assert_eq!(verbosity as usize, at);
        }
        let mut log = LogSettings::default();
        assert_eq!(log.set("log_min_messages", Some("LOUD")), Err(LogLevel::HINT));
        for (given, shown) in [(Some("DEBUG"), "debug2"), (Some("panic"), "panic"), (None, "warning")] {
            assert_eq!(log.set("log_min_messages", given), Ok(()));
            assert_eq!(log.show("log_min_messages"), shown);
        }
        // In the log LOG comes before errors, for a client behind debugging.
        assert!(LogLevel::of("LOG") > LogLevel::Error && LogLevel::of("WARNING") < LogLevel::Error);
    }
}
