//! Variables of `\set`: own ones, those that switch something, and those that say what has happened.

use std::collections::BTreeMap;

use super::format::layout::flag_of;

/// What is printed of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Echo {
    /// Nothing.
    #[default]
    None,
    /// Every line of a script.
    All,
    /// Every statement before it runs.
    Queries,
    /// Statements that fail.
    Errors,
}

/// How much is said of an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    #[default]
    Default,
    /// The first line alone.
    Terse,
    /// All there is.
    Verbose,
    /// The code alone.
    Sqlstate,
}

/// Which errors do not end the open transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rollback {
    #[default]
    Off,
    On,
    /// Those of statements that were typed.
    Interactive,
}

/// Variables that switch something, and what they are at the start.
const SWITCHES: [(&str, &str); 8] = [
    ("AUTOCOMMIT", "on"),
    ("ECHO", "none"),
    ("ECHO_HIDDEN", "off"),
    ("ON_ERROR_ROLLBACK", "off"),
    ("ON_ERROR_STOP", "off"),
    ("QUIET", "off"),
    ("VERBOSITY", "default"),
    ("WATCH_INTERVAL", "2"),
];

/// What a variable that switches something takes, as far as these are words.
pub fn values_of(name: &str) -> &'static [&'static str] {
    match name {
        "AUTOCOMMIT" | "ECHO_HIDDEN" | "ON_ERROR_STOP" | "QUIET" => &["on", "off"],
        "ECHO" => &["all", "errors", "none", "queries"],
        "ON_ERROR_ROLLBACK" => &["on", "off", "interactive"],
        "VERBOSITY" => &["default", "sqlstate", "terse", "verbose"],
        _ => &[],
    }
}

/// Variables of psql that this shell does not obey. To take their values in silence would promise what does not happen.
const NOT_OBEYED: [&str; 13] = [
    "COMP_KEYWORD_CASE",
    "FETCH_COUNT",
    "HIDE_TABLEAM",
    "HIDE_TOAST_COMPRESSION",
    "HISTCONTROL",
    "HISTFILE",
    "HISTSIZE",
    "IGNOREEOF",
    "PROMPT1",
    "SHOW_ALL_RESULTS",
    "SHOW_CONTEXT",
    "SINGLELINE",
    "SINGLESTEP",
];

/// All variables.
#[derive(Clone, Debug)]
pub struct Variables {
    values: BTreeMap<String, String>,
    /// Off: the first statement starts a transaction that lasts until COMMIT or ROLLBACK.
    pub autocommit: bool,
    /// A script ends at its first error.
    pub on_error_stop: bool,
    /// Savepoints around the statements of a transaction.
    pub on_error_rollback: Rollback,
    /// What is printed of the input.
    pub echo: Echo,
    /// The questions that commands ask are printed.
    pub echo_hidden: bool,
    /// Neither tags nor what a command has switched.
    pub quiet: bool,
    /// How much is said of errors.
    pub verbosity: Verbosity,
    /// Seconds between two runs of `\watch`.
    pub watch_interval: f64,
    /// Elapsed time after each statement.
    pub timing: bool,
    /// Statistics after each statement.
    pub statistics: bool,
    /// What it has changed, table by table.
    pub table_statistics: bool,
}

impl Default for Variables {
    fn default() -> Self {
        let values = SWITCHES.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        Variables {
            values: values.collect(),
            autocommit: true,
            on_error_stop: false,
            on_error_rollback: Rollback::Off,
            echo: Echo::None,
            echo_hidden: false,
            quiet: false,
            verbosity: Verbosity::Default,
            watch_interval: 2.0,
            timing: false,
            statistics: false,
            table_statistics: false,
        }
    }
}

impl Variables {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Sets a variable.
    ///
    /// # Errors
    /// A message for the user: no such name, no such value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name.is_empty() || !name.bytes().all(super::arguments::is_name) {
            return Err(format!("invalid variable name: \"{name}\""));
        }
        if NOT_OBEYED.contains(&name) || matches!(name, "PROMPT2" | "PROMPT3") {
            return Err(format!("the variable \"{name}\" is not supported by this shell"));
        }
        // `\set NAME` alone switches on.
        let value = if value.is_empty() && self.is_flag(name) { "on" } else { value };
        let flag = || {
            let wrong = || format!("unrecognized value \"{value}\" for \"{name}\": Boolean expected");
            flag_of(value).ok_or_else(wrong)
        };
        let one_of = |allowed: &str| {
            format!("unrecognized value \"{value}\" for \"{name}\"\nAvailable values are: {allowed}.")
        };
        let lower = value.to_ascii_lowercase();
        match name {
            "AUTOCOMMIT" => self.autocommit = flag()?,
            "ON_ERROR_STOP" => self.on_error_stop = flag()?,
            "QUIET" => self.quiet = flag()?,
            "ECHO_HIDDEN" => self.echo_hidden = flag()?,
            "ON_ERROR_ROLLBACK" => {
                self.on_error_rollback = match (lower.as_str(), flag_of(value)) {
                    ("interactive", _) => Rollback::Interactive,
                    (_, Some(true)) => Rollback::On,
                    (_, Some(false)) => Rollback::Off,
                    _ => return Err(one_of("on, off, interactive")),
                }
            }
            "ECHO" => {
                self.echo = match lower.as_str() {
                    "" | "none" => Echo::None,
                    "all" => Echo::All,
                    "queries" => Echo::Queries,
                    "errors" => Echo::Errors,
                    _ => return Err(one_of("none, errors, queries, all")),
                }
            }
            "VERBOSITY" => {
                self.verbosity = match lower.as_str() {
                    "default" => Verbosity::Default,
                    "terse" => Verbosity::Terse,
                    "verbose" => Verbosity::Verbose,
                    "sqlstate" => Verbosity::Sqlstate,
                    _ => return Err(one_of("default, verbose, terse, sqlstate")),
                }
            }
            "WATCH_INTERVAL" => {
                let seconds = value.parse::<f64>().ok().filter(|seconds| (0.0..1e6).contains(seconds));
                let wrong = || format!("invalid value \"{value}\" for variable \"{name}\"");
                self.watch_interval = seconds.ok_or_else(wrong)?;
            }
            _ => {}
        }
        self.note(name, value);
        Ok(())
    }

    /// Sets a variable of the shell's own, which switches nothing.
    pub fn note(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a variable, or sets it back to what it is at the start.
    pub fn unset(&mut self, name: &str) {
        match SWITCHES.iter().find(|(switch, _)| *switch == name) {
            Some((_, value)) => self.set(name, value).expect("a value from the start"),
            None => {
                self.values.remove(name);
            }
        }
    }

    fn is_flag(&self, name: &str) -> bool {
        matches!(name, "AUTOCOMMIT" | "ECHO_HIDDEN" | "ON_ERROR_ROLLBACK" | "ON_ERROR_STOP" | "QUIET")
    }

    /// All variables, one a line, as `\set` shows them.
    pub fn show(&self) -> String {
        self.values.iter().map(|(name, value)| format!("{name} = '{value}'\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_take_words_and_numbers() {
        let mut variables = Variables::default();
        let before = variables.show();
        variables.set("AUTOCOMMIT", "off").expect("known");
        variables.set("ON_ERROR_STOP", "1").expect("known");
        variables.set("ECHO", "ALL").expect("known");
        variables.set("own", "it's").expect("any name");
        assert!(!variables.autocommit && variables.on_error_stop && variables.echo == Echo::All);
        assert_eq!(variables.get("own"), Some("it's"));
        for name in ["AUTOCOMMIT", "ON_ERROR_STOP", "ECHO", "own", "never"] {
            variables.unset(name);
        }
        assert_eq!(variables.show(), before);
        assert!(variables.autocommit && !variables.on_error_stop && variables.echo == Echo::None);
    }

    #[test]
    fn unknown_values_are_told_and_change_nothing() {
        let mut variables = Variables::default();
        let before = variables.show();
        for (name, value) in [
            ("AUTOCOMMIT", "perhaps"),
            ("ECHO", "loud"),
            ("VERBOSITY", "mute"),
            ("WATCH_INTERVAL", "-1"),
            ("FETCH_COUNT", "10"),
            ("no-name", "1"),
        ] {
            assert!(variables.set(name, value).is_err(), "{name}");
        }
        assert_eq!(variables.show(), before);
    }
}
