//! A server of PostgreSQL's protocol as a target.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, NoTls, Statement};
use verso_types::{TimeStyle, format_binary, format_text, parse_binary};
use versodb::{SqlType, Value};

use super::procedures::Call;
use super::rows::Row;
use super::session::{Console, Failure, Fill, Session, Sql, Target, texts};
use crate::BenchError;
use crate::error::words;

/// Rows of one table that are sent together while tables are filled.
const COPY_BYTES: usize = 1 << 20;

/// A server, and how to reach it.
pub(crate) struct Server {
    name: String,
    dsn: String,
    process: Option<u32>,
}

impl Server {
    /// `process` is the number of the server's process if it is one of ours.
    pub fn new(name: &str, dsn: String, process: Option<u32>) -> Server {
        Server { name: name.to_owned(), dsn, process }
    }

    fn client(&self) -> Result<Client, BenchError> {
        Client::connect(&self.dsn, NoTls).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &postgres::Error) -> BenchError {
        BenchError::Engine { engine: "server", message: format!("{}: {}", self.name, words(error)) }
    }
}

/// A type of the benchmark's columns as the protocol numbers it.
fn type_of(ty: &Type) -> Option<SqlType> {
    Some(match *ty {
        Type::INT4 => SqlType::Int4,
        Type::INT8 => SqlType::Int8,
        Type::NUMERIC => SqlType::Numeric(None),
        Type::TIMESTAMP => SqlType::Timestamp(None),
        Type::TEXT => SqlType::Text,
        Type::VARCHAR => SqlType::Varchar(None),
        Type::BPCHAR => SqlType::Char(None),
        _ => return None,
    })
}

/// A value on its way to or from the server, in binary form.
#[derive(Debug)]
struct Cell(Value);

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Cell, Box<dyn Error + Sync + Send>> {
        let own = type_of(ty).ok_or_else(|| format!("no column has type {ty}"))?;
        Ok(Cell(parse_binary(&own, raw)?))
    }

    fn from_sql_null(_: &Type) -> Result<Cell, Box<dyn Error + Sync + Send>> {
        Ok(Cell(Value::Null))
    }

    fn accepts(ty: &Type) -> bool {
        type_of(ty).is_some()
    }
}

impl ToSql for Cell {
    fn to_sql(&self, ty: &Type, out: &mut bytes::BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        if self.0.is_null() {
            return Ok(IsNull::Yes);
        }
        let own = type_of(ty).ok_or_else(|| format!("no parameter has type {ty}"))?;
        // A driver of Rust's checks the width of integers; the values here are made as the statements want them.
        let mut bytes = Vec::with_capacity(32);
        format_binary(&self.0, &own, &mut bytes);
        out.extend_from_slice(&bytes);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        type_of(ty).is_some()
    }

    to_sql_checked!();
}

/// A connection with all statements prepared.
pub(crate) struct Wired {
    client: Client,
    statements: Vec<Statement>,
    server: String,
}

fn failure(error: &postgres::Error) -> Failure {
    let sqlstate = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
    Failure { sqlstate, message: words(error) }
}

impl Wired {
    fn query(&mut self, at: usize, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        let cells: Vec<Cell> = parameters.iter().cloned().map(Cell).collect();
        let parameters: Vec<&(dyn ToSql + Sync)> = cells.iter().map(|cell| cell as _).collect();
        let rows = self.client.query(&self.statements[at], &parameters);
        let rows = rows.map_err(|error| failure(&error))?;
        let value = |row: &postgres::Row, at: usize| {
            let cell: Result<Cell, _> = row.try_get(at);
            cell.map(|Cell(value)| value).map_err(|error| Failure {
                sqlstate: String::new(),
                message: format!("{}: {error}", self.server),
            })
        };
        rows.iter().map(|row| (0..row.len()).map(|at| value(row, at)).collect()).collect()
    }
}

impl Session for Wired {
    fn run(&mut self, sql: Sql, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        self.query(sql as usize, parameters)
    }

    fn call(&mut self, call: Call, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        self.query(call as usize, parameters)
    }

    fn control(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.client.batch_execute(sql).map_err(|error| failure(&error))
    }
}

impl Target for Server {
    type Session = Wired;

    fn name(&self) -> &str {
        &self.name
    }

    fn connect(&self, procedures: bool) -> Result<Wired, BenchError> {
        let mut client = self.client()?;
        let prepared = texts(procedures).iter().map(|text| client.prepare(text)).collect::<Result<_, _>>();
        let statements = prepared.map_err(|error| self.refused(&error))?;
        Ok(Wired { client, statements, server: self.name.clone() })
    }

    fn console(&self) -> Result<Box<dyn Console>, BenchError> {
        Ok(Box::new(Plain { client: self.client()?, server: self.name.clone() }))
    }

    fn load(&self, fill: Fill<'_>) -> Result<(), BenchError> {
        let mut client = self.client()?;
        let mut waiting: BTreeMap<&'static str, Vec<u8>> = BTreeMap::new();
        fill(&mut |table, row| {
            let buffer = waiting.entry(table).or_default();
            put_line(&row, buffer);
            match buffer.len() < COPY_BYTES {
                true => Ok(()),
                false => self.copy(&mut client, table, &std::mem::take(buffer)),
            }
        })?;
        waiting.iter().try_for_each(|(table, buffer)| self.copy(&mut client, table, buffer))
    }

    fn server_nanos(&self) -> Option<u64> {
        verso_env::process::processor_nanos_of(self.process?)
    }
}

/// A connection for texts that are not prepared.
struct Plain {
    client: Client,
    server: String,
}

impl Console for Plain {
    fn row(&mut self, sql: &str) -> Result<Vec<String>, BenchError> {
        let answers = self.client.simple_query(sql).map_err(|error| BenchError::Engine {
            engine: "server",
            message: format!("{}: {}", self.server, words(&error)),
        })?;
        let row = answers.iter().find_map(|answer| match answer {
            postgres::SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let text = |row: &postgres::SimpleQueryRow, at| row.get(at).unwrap_or_default().to_owned();
        Ok(row.map(|row| (0..row.len()).map(|at| text(row, at)).collect()).unwrap_or_default())
    }
}

impl Server {
    fn copy(&self, client: &mut Client, table: &str, lines: &[u8]) -> Result<(), BenchError> {
        let mut copy = || -> Result<(), Box<dyn Error>> {
            let mut writer = client.copy_in(&format!("COPY {table} FROM STDIN"))?;
            writer.write_all(lines)?;
            writer.finish()?;
            Ok(())
        };
        copy().map_err(|error| BenchError::Engine {
            engine: "server",
            message: format!("{}: COPY {table}: {error}", self.name),
        })
    }
}

/// Appends a row as COPY's text format has it. Texts of the benchmark are letters and digits, which need no escapes.
fn put_line(row: &[Value], out: &mut Vec<u8>) {
    let mut text = String::new();
    for (at, value) in row.iter().enumerate() {
        if at > 0 {
            out.push(b'\t');
        }
        text.clear();
        match value {
            Value::Null => text.push_str("\\N"),
            value => format_text(value, &text_type(value), &TimeStyle::UTC, &mut text),
        }
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'\n');
}

fn text_type(value: &Value) -> SqlType {
    match value {
        Value::Timestamp(_) => SqlType::Timestamp(None),
        Value::Numeric(_) => SqlType::Numeric(None),
        Value::Int4(_) => SqlType::Int4,
        _ => SqlType::Text,
    }
}
