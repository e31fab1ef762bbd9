//! What a server answers, and how two answers differ.

use std::fmt;

use postgres::{Client, NoTls, SimpleQueryMessage};

/// A connection.
pub struct Server {
    client: Client,
}

/// The answer to a query.
#[derive(PartialEq)]
pub enum Answer {
    /// Names and types of columns; rows in an order of their own.
    Rows { columns: Vec<(String, u32)>, rows: Vec<String> },
    /// An error.
    Error { code: String, message: String },
}

impl Server {
    pub fn connect(dsn: &str) -> Result<Server, postgres::Error> {
        let mut client = Client::connect(dsn, NoTls)?;
        client.batch_execute(
            "SET timezone = 'UTC'; SET client_min_messages = error; SET datestyle = 'ISO, MDY'",
        )?;
        Ok(Server { client })
    }

    /// Makes the tables anew, as long as it takes; queries have 4 seconds from then on. The messages of indexes that were refused.
    pub fn fill(&mut self, statements: &[String]) -> Result<Vec<String>, String> {
        let mut refused = Vec::new();
        let new =
            "DROP SCHEMA IF EXISTS generated CASCADE; CREATE SCHEMA generated; SET search_path = generated";
        let statements = statements.iter().map(String::as_str);
        let limited = ["SET statement_timeout = '4s'"];
        for statement in ["SET statement_timeout = 0", new].into_iter().chain(statements).chain(limited) {
            match self.client.batch_execute(statement) {
                // Tables without their index have the same rows.
                Err(error) if statement.starts_with("CREATE INDEX") => {
                    refused.push(
                        error
                            .as_db_error()
                            .map_or_else(|| error.to_string(), |error| error.message().to_string()),
                    );
                }
                other => other.map_err(|error| format!("{statement}: {error:?}"))?,
            }
        }
        Ok(refused)
    }

    pub fn set(&mut self, settings: &[&str]) -> Result<(), postgres::Error> {
        let all: Vec<String> = settings.iter().map(|setting| format!("SET {setting}")).collect();
        self.client.batch_execute(&all.join("; "))
    }

    pub fn answer(&mut self, text: &str) -> Answer {
        match self.try_answer(text) {
            Ok(answer) => answer,
            Err(error) => match error.as_db_error() {
                Some(error) => Answer::Error {
                    code: error.code().code().to_string(),
                    message: error.message().to_string(),
                },
                None => Answer::Error { code: "lost".into(), message: error.to_string() },
            },
        }
    }

    fn try_answer(&mut self, text: &str) -> Result<Answer, postgres::Error> {
        let statement = self.client.prepare(text)?;
        let columns: Vec<(String, u32)> = statement
            .columns()
            .iter()
            .map(|column| (column.name().to_string(), column.type_().oid()))
            .collect();
        let mut rows = Vec::new();
        for message in self.client.simple_query(text)? {
            if let SimpleQueryMessage::Row(row) = message {
                let values: Vec<String> = (0..row.len())
                    .map(|n| match row.get(n) {
                        None => "NULL".into(),
                        Some(value) if columns[n].1 == NUMERIC => plain(value),
                        Some(value) => format!("{value:?}"),
                    })
                    .collect();
                rows.push(values.join(", "));
            }
        }
        rows.sort();
        Ok(Answer::Rows { columns, rows })
    }
}

const NUMERIC: u32 = 1700;

/// A numeric without zeros at its end: 1 and 1.0 are equal, and which of equals a group shows is left open.
fn plain(value: &str) -> String {
    match value.contains('.') {
        true => value.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => value.to_string(),
    }
}

impl Answer {
    pub fn is_slow(&self) -> bool {
        matches!(self, Answer::Error { code, .. } if code == "57014")
    }

    /// Whether it is an error that hangs on which values are computed, which SQL leaves open.
    pub fn is_of_data(&self) -> bool {
        let Answer::Error { code, message } = self else { return false };
        let is_refused = |what| code == "0A000" && message.contains(what);
        code.starts_with("22")
            || code == "21000"
            || is_refused("multidimensional arrays")
            || is_refused("cannot convert infinity")
    }

    pub fn has_rows(&self) -> bool {
        matches!(self, Answer::Rows { rows, .. } if !rows.is_empty())
    }
}

/// Two answers that are not the same.
pub struct Difference {
    pub ours: Answer,
    pub theirs: Answer,
}

impl Difference {
    /// What differences of one cause mostly share.
    pub fn kind(&self) -> String {
        match (&self.ours, &self.theirs) {
            (Answer::Error { code, message }, Answer::Rows { .. }) => {
                format!("{code} {}", without_names(message))
            }
            (Answer::Error { code, .. }, Answer::Error { code: theirs, message }) => {
                format!("{code} for {theirs} {}", without_names(message))
            }
            (Answer::Rows { .. }, Answer::Error { code, message }) => {
                format!("not {code} {}", without_names(message))
            }
            (Answer::Rows { columns: ours, .. }, Answer::Rows { columns: theirs, .. }) if ours != theirs => {
                "columns".into()
            }
            _ => "rows".into(),
        }
    }

    /// The kind and, where it says little, the shape of the query that shows it.
    pub fn seen_in(&self, text: &str) -> String {
        match self.kind() {
            kind if kind == "rows" || kind == "columns" => format!("{kind}: {}", without_names(text)),
            kind => kind,
        }
    }
}

/// A message without digits and what stands in quotation marks.
fn without_names(message: &str) -> String {
    let outside: Vec<&str> = message.split('"').step_by(2).collect();
    outside.join("…").chars().filter(|c| !c.is_ascii_digit()).collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (who, answer, other) in
            [("Verso", &self.ours, &self.theirs), ("PostgreSQL", &self.theirs, &self.ours)]
        {
            match (answer, other) {
                (Answer::Error { code, message }, _) => writeln!(f, "  {who}: {code} {message}")?,
                (Answer::Rows { columns, rows }, Answer::Rows { columns: also, rows: others }) => {
                    if columns != also {
                        writeln!(f, "  {who}: columns {columns:?}")?;
                    }
                    let own: Vec<&String> = rows.iter().filter(|row| !others.contains(row)).take(4).collect();
                    writeln!(f, "  {who}: {} rows, of its own {own:?}", rows.len())?;
                }
                (Answer::Rows { rows, .. }, _) => {
                    writeln!(f, "  {who}: {} rows, {:?}", rows.len(), rows.first())?
                }
            }
        }
        Ok(())
    }
}
