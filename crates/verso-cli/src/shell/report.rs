//! Errors and notices as psql prints them, with the SQLSTATE (psql's verbose form of the first line):
//!
//!     verso:script.sql:12: ERROR:  42703: column "nosuch" does not exist
//!     LINE 2:    nosuch,
//!                ^
//!     HINT:  …
//!
//! The line shown is the one of the statement that holds the position, cut to 60 columns around it (as libpq does).

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use super::variables::Verbosity;

/// Columns of the statement's line that are shown.
const LINE_COLUMNS: usize = 60;
/// Columns kept to the right of the position when a line is cut on the left.
const RIGHT_COLUMNS: usize = 10;

/// What is known about an error or notice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report<'a> {
    /// `ERROR`, `NOTICE`, `WARNING`, …
    pub severity: &'a str,
    /// Five characters; empty where there is none.
    pub sqlstate: &'a str,
    /// The first line.
    pub message: &'a str,
    /// More about it.
    pub detail: Option<&'a str>,
    /// What to do.
    pub hint: Option<&'a str>,
    /// Where in a function it happened.
    pub context: Option<&'a str>,
    /// Character of the statement, from 1.
    pub position: Option<u32>,
}

/// An error, or a notice, as the database or the server has said it.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// `ERROR`, `FATAL`, `NOTICE`, …
    pub severity: String,
    /// Five characters.
    pub sqlstate: String,
    /// The first line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where in a function it happened.
    pub context: Option<String>,
    /// Character of the statement, from 1.
    pub position: Option<u32>,
    /// What it is about: `TABLE NAME` and the like, and the name.
    pub subject: Vec<(&'static str, String)>,
    /// Nothing more can be done with the database or the connection.
    pub is_lost: bool,
}

impl Said {
    /// An error of the shell's own.
    pub fn new(sqlstate: &str, message: impl Into<String>) -> Said {
        let (severity, sqlstate) = ("ERROR".to_owned(), sqlstate.to_owned());
        Said { severity, sqlstate, message: message.into(), ..Said::default() }
    }

    /// As it is printed.
    pub fn report(&self) -> Report<'_> {
        Report {
            severity: &self.severity,
            sqlstate: &self.sqlstate,
            message: &self.message,
            detail: self.detail.as_deref(),
            hint: self.hint.as_deref(),
            context: self.context.as_deref(),
            position: self.position,
        }
    }

    /// The printed lines.
    pub fn render(&self, statement: &str, place: Option<&str>, verbosity: Verbosity) -> String {
        let report = self.report();
        match verbosity {
            Verbosity::Default => report.render(statement, place),
            Verbosity::Sqlstate => format!("{}{}:  {}\n", prefix(place), self.severity, self.sqlstate),
            Verbosity::Terse => {
                let at = self.position.map(|position| format!(" at character {position}"));
                let at = at.unwrap_or_default();
                format!("{}{}:  {}{at}\n", prefix(place), self.severity, self.message)
            }
            Verbosity::Verbose => {
                let mut out = report.render(statement, place);
                for (what, name) in &self.subject {
                    let _ = writeln!(out, "{what}:  {name}");
                }
                out
            }
        }
    }

    /// On one line.
    pub fn one_line(&self) -> String {
        let mut text = match self.sqlstate.as_str() {
            "" => self.message.clone(),
            code => format!("{code}: {}", self.message),
        };
        for more in [&self.detail, &self.hint].into_iter().flatten() {
            let _ = write!(text, " ({more})");
        }
        text
    }
}

impl From<&versodb::Error> for Said {
    fn from(error: &versodb::Error) -> Said {
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let subject = error.subject.as_deref();
        let named = |what, name: Option<&String>| name.map(|name| (what, name.clone()));
        let subject = subject.map(|of| {
            [
                named("SCHEMA NAME", of.schema.as_ref()),
                named("TABLE NAME", of.table.as_ref()),
                named("COLUMN NAME", of.column.as_ref()),
                named("DATATYPE NAME", of.datatype.as_ref()),
                named("CONSTRAINT NAME", of.constraint.as_ref()),
            ]
        });
        Said {
            severity: "ERROR".to_owned(),
            sqlstate: error.sqlstate.to_owned(),
            message: error.message.clone(),
            detail: text(&error.detail),
            hint: text(&error.hint),
            context: text(&error.context),
            position: error.position,
            subject: subject.into_iter().flatten().flatten().collect(),
            // The database was closed under the session.
            is_lost: error.sqlstate == "57P01",
        }
    }
}

fn prefix(place: Option<&str>) -> String {
    place.map(|place| format!("verso:{place}: ")).unwrap_or_default()
}

impl Report<'_> {
    /// The printed lines; `place` is `file:line` of a script.
    pub fn render(&self, statement: &str, place: Option<&str>) -> String {
        let mut out = prefix(place);
        let _ = write!(out, "{}:  ", self.severity);
        if !self.sqlstate.is_empty() && self.sqlstate != "00000" {
            let _ = write!(out, "{}: ", self.sqlstate);
        }
        let _ = writeln!(out, "{}", self.message);
        if let Some(position) = self.position {
            point_at(statement, position, &mut out);
        }
        for (name, text) in [("DETAIL", self.detail), ("HINT", self.hint), ("CONTEXT", self.context)] {
            if let Some(text) = text {
                let _ = writeln!(out, "{name}:  {text}");
            }
        }
        out
    }
}

/// `LINE n: …` and a caret below the position.
fn point_at(statement: &str, position: u32, out: &mut String) {
    let characters: Vec<char> = statement.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let Some(at) = (position as usize).checked_sub(1).filter(|&at| at <= characters.len()) else { return };
    let is_end = |c: &char| matches!(c, '\n' | '\r');
    let mut begin = characters[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let mut end = characters[at..].iter().position(is_end).map_or(characters.len(), |end| at + end);
    let number = 1 + statement
        .chars()
        .take(at)
        .collect::<String>()
        .replace("\r\n", "\n")
        .matches(['\n', '\r'])
        .count();

    let columns = |range: &[char]| range.iter().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let (mut cut_left, mut cut_right) = (false, false);
    if columns(&characters[begin..end]) > LINE_COLUMNS {
        if columns(&characters[begin..at]) + RIGHT_COLUMNS <= LINE_COLUMNS {
            while columns(&characters[begin..end]) > LINE_COLUMNS {
                end -= 1;
            }
            cut_right = true;
        } else {
            while columns(&characters[at..end]) > RIGHT_COLUMNS {
                end -= 1;
                cut_right = true;
            }
            while columns(&characters[begin..end]) > LINE_COLUMNS {
                begin += 1;
                cut_left = true;
            }
        }
    }
    let mut prefix = format!("LINE {number}: ");
    if cut_left {
        prefix.push_str("...");
    }
    let line: String = characters[begin..end].iter().collect();
    let _ = writeln!(out, "{prefix}{line}{}", if cut_right { "..." } else { "" });
    let _ = writeln!(out, "{:indent$}^", "", indent = prefix.len() + columns(&characters[begin..at]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &'static str, position: u32) -> Report<'static> {
        Report {
            severity: "ERROR",
            sqlstate: "42703",
            message,
            position: Some(position),
            ..Report::default()
        }
    }

    // The LINE and caret lines below are psql 15's own output for the same statements.
    #[test]
    fn the_caret_stands_below_the_position() {
        let statement = "select * from nosuch;";
        assert_eq!(
            error("relation \"nosuch\" does not exist", 15).render(statement, Some("a.sql:12")),
            "verso:a.sql:12: ERROR:  42703: relation \"nosuch\" does not exist\n\
             LINE 1: select * from nosuch;\n                      ^\n"
        );
    }

    #[test]
    fn the_line_of_the_position_is_shown() {
        let statement = "select 1,\n   nosuch,\n  2;";
        assert_eq!(
            error("column \"nosuch\" does not exist", 14).render(statement, None),
            "ERROR:  42703: column \"nosuch\" does not exist\nLINE 2:    nosuch,\n           ^\n"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_position() {
        let long = "12345678901234567890123456789012345678901234567890";
        let statement = format!("select '{long}', nosuch, '{long}', 1 from t where t.id = 1;");
        let position = statement.find("nosuch").expect("it is there") as u32 + 1;
        assert_eq!(
            error("m", position).render(&statement, None),
            "ERROR:  42703: m\n\
             LINE 1: ...45678901234567890123456789012345678901234567890', nosuch, '1...\n\
            \x20                                                            ^\n"
        );
    }

    #[test]
    fn a_position_near_the_start_cuts_the_end_only() {
        let statement = format!("select nosuch, '{}';", "x".repeat(80));
        assert_eq!(
            error("m", 8).render(&statement, None),
            format!("ERROR:  42703: m\nLINE 1: select nosuch, '{}...\n               ^\n", "x".repeat(44))
        );
    }

    #[test]
    fn detail_hint_and_context_follow() {
        let report = Report {
            severity: "ERROR",
            sqlstate: "25V01",
            message: "must roll back",
            detail: Some("no savepoint"),
            hint: Some("ROLLBACK"),
            context: Some("function f"),
            position: None,
        };
        assert_eq!(
            report.render("x", None),
            "ERROR:  25V01: must roll back\nDETAIL:  no savepoint\nHINT:  ROLLBACK\nCONTEXT:  function f\n"
        );
    }

    #[test]
    fn a_position_behind_the_end_shows_no_line() {
        assert_eq!(error("m", 99).render("select", None), "ERROR:  42703: m\n");
        assert_eq!(
            error("m", 7).render("select", None),
            "ERROR:  42703: m\nLINE 1: select\n              ^\n"
        );
    }
}
