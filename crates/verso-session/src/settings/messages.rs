//! Which messages a client is sent: `client_min_messages`.

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
}
