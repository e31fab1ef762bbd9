//! What the user can switch: variables of `\set` and the switches of the output.

use crate::shell::command::parse_flag;

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

/// The state of all switches.
#[derive(Clone, Debug)]
pub struct Variables {
    /// Off: the first statement starts a transaction that lasts until COMMIT or ROLLBACK.
    pub autocommit: bool,
    /// A script ends at its first error.
    pub on_error_stop: bool,
    /// What is printed of the input.
    pub echo: Echo,
    /// Elapsed time after each statement.
    pub timing: bool,
    /// Statistics after each statement.
    pub statistics: bool,
    /// One block for each record.
    pub expanded: bool,
}

impl Default for Variables {
    fn default() -> Self {
        Variables {
            autocommit: true,
            on_error_stop: false,
            echo: Echo::None,
            timing: false,
            statistics: false,
            expanded: false,
        }
    }
}

impl Variables {
    /// Sets a variable by its upper-case name.
    ///
    /// # Errors
    /// A message for the user: no such variable, no such value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        // `\set NAME` alone switches on, as in psql.
        let flag = || {
            let value = if value.is_empty() { "on" } else { value };
            parse_flag(value)
                .ok_or_else(|| format!("unrecognized value \"{value}\" for \"{name}\": on or off expected"))
        };
        match name {
            "AUTOCOMMIT" => self.autocommit = flag()?,
            "ON_ERROR_STOP" => self.on_error_stop = flag()?,
            "ECHO" => {
                self.echo = match value.to_ascii_lowercase().as_str() {
                    "" | "none" => Echo::None,
                    "all" => Echo::All,
                    "queries" => Echo::Queries,
                    "errors" => Echo::Errors,
                    _ => {
                        let expected = "none, all, queries or errors expected";
                        return Err(format!("unrecognized value \"{value}\" for \"ECHO\": {expected}"));
                    }
                }
            }
            _ => return Err(format!("there is no variable \"{name}\"; \\set shows all")),
        }
        Ok(())
    }

    /// Sets a variable back to what it is at the start.
    ///
    /// # Errors
    /// A message for the user: no such variable.
    pub fn unset(&mut self, name: &str) -> Result<(), String> {
        let value = match name {
            "AUTOCOMMIT" => "on",
            "ON_ERROR_STOP" => "off",
            _ => "none",
        };
        self.set(name, value)
    }

    /// All variables, one a line, as `\set` shows them.
    pub fn show(&self) -> String {
        let word = |flag: bool| if flag { "on" } else { "off" };
        let echo = match self.echo {
            Echo::None => "none",
            Echo::All => "all",
            Echo::Queries => "queries",
            Echo::Errors => "errors",
        };
        format!(
            "AUTOCOMMIT = '{}'\nECHO = '{echo}'\nON_ERROR_STOP = '{}'\n",
            word(self.autocommit),
            word(self.on_error_stop)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_take_words_and_numbers() {
        let mut variables = Variables::default();
        variables.set("AUTOCOMMIT", "off").expect("known");
        variables.set("ON_ERROR_STOP", "1").expect("known");
        variables.set("ECHO", "ALL").expect("known");
        assert_eq!(variables.show(), "AUTOCOMMIT = 'off'\nECHO = 'all'\nON_ERROR_STOP = 'on'\n");
        for name in ["AUTOCOMMIT", "ON_ERROR_STOP", "ECHO"] {
            variables.unset(name).expect("known");
        }
        assert_eq!(variables.show(), Variables::default().show());
    }

    #[test]
    fn unknown_names_and_values_are_told_and_change_nothing() {
        let mut variables = Variables::default();
        assert!(variables.set("NOSUCH", "1").is_err());
        assert!(variables.unset("NOSUCH").is_err());
        assert!(variables.set("AUTOCOMMIT", "perhaps").is_err());
        assert!(variables.set("ECHO", "loud").is_err());
        assert_eq!(variables.show(), Variables::default().show());
    }
}
