//! The extended protocol: statements and portals.

use std::collections::HashMap;
use std::sync::Arc;

use verso_sql::errors::sqlstate;
use verso_sql::{Portal, PortalEnd, Prepared as Statement, SqlError};
use verso_types::{SqlType, Value, parse_binary, parse_text};

use super::Conversation;
use super::sink::{ResultFormats, WireSink, changes_settings, takes_statements};
use crate::protocol::frontend::{Bind, Format, Formats, Target};

/// Statements and portals of a conversation, by name; the unnamed ones have the empty name.
#[derive(Debug, Default)]
pub struct Prepared {
    statements: HashMap<Box<str>, Arc<Statement>>,
    portals: HashMap<Box<str>, OpenPortal>,
}

#[derive(Debug)]
struct OpenPortal {
    portal: Portal,
    formats: ResultFormats,
}

impl Prepared {
    /// A simple query takes the unnamed ones away.
    pub fn forget_unnamed(&mut self) {
        self.statements.remove("");
        self.portals.remove("");
    }

    /// DEALLOCATE ALL.
    pub fn forget_statements(&mut self) {
        self.statements.clear();
    }

    /// The transaction has ended (M3).
    pub fn forget_portals(&mut self) {
        self.portals.clear();
    }
}

impl Conversation {
    pub(super) fn parse(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<(), SqlError> {
        if !name.is_empty() && self.prepared.statements.contains_key(name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(self.failed(SqlError::new(sqlstate::DUPLICATE_STATEMENT, text)));
        }
        self.admit();
        let types = types.iter().map(|oid| parameter_type(*oid)).collect::<Result<Vec<_>, _>>();
        let types = types.map_err(|error| self.failed(error))?;
        let statement = self.session.prepare(sql, &types)?;
        self.prepared.statements.insert(name.into(), statement);
        self.wire.output.parse_complete();
        Ok(())
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>) -> Result<(), SqlError> {
        let Some(statement) = self.prepared.statements.get(bind.statement).map(Arc::clone) else {
            return Err(self.failed(no_statement(bind.statement)));
        };
        if !bind.portal.is_empty() && self.prepared.portals.contains_key(bind.portal) {
            let text = format!("cursor \"{}\" already exists", bind.portal);
            return Err(self.failed(SqlError::new(sqlstate::DUPLICATE_CURSOR, text)));
        }
        let params = self.parameters(&statement, bind).map_err(|error| self.failed(error))?;
        let columns = statement.columns().map_or(0, <[_]>::len);
        let formats = result_formats(bind.results, columns).map_err(|error| self.failed(error))?;
        let portal = self.session.bind(&statement, params)?;
        self.prepared.portals.insert(bind.portal.into(), OpenPortal { portal, formats });
        self.wire.output.bind_complete();
        Ok(())
    }

    fn parameters(&self, statement: &Statement, bind: &Bind<'_>) -> Result<Vec<Value>, SqlError> {
        let types = statement.params();
        if bind.count != types.len() {
            let text = format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                bind.count,
                bind.statement,
                types.len()
            );
            return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
        }
        let time_zone = self.session.timezone();
        let read = |(i, (bytes, ty)): (usize, (Option<&[u8]>, &SqlType))| {
            let Some(bytes) = bytes else { return Ok(Value::Null) };
            let value = match bind.formats.of(i) {
                Format::Binary => parse_binary(ty, bytes).map_err(SqlError::from),
                Format::Text => match std::str::from_utf8(bytes) {
                    Ok(text) if !text.contains('\0') => {
                        parse_text(ty, text, time_zone).map_err(SqlError::from)
                    }
                    _ => {
                        let text = "invalid byte sequence for encoding \"UTF8\"";
                        Err(SqlError::new("22021", text))
                    }
                },
            };
            value.map_err(|error| error.with_context(&format!("unnamed portal parameter ${}", i + 1)))
        };
        bind.values().zip(types).enumerate().map(read).collect()
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<(), SqlError> {
        match target {
            Target::Statement => {
                let Some(statement) = self.prepared.statements.get(name) else {
                    return Err(self.failed(no_statement(name)));
                };
                let output = &mut self.wire.output;
                output.parameter_description(statement.params().iter().map(SqlType::pg_oid));
                match statement.columns() {
                    Some(columns) => output.row_description(columns, |_| Format::Text),
                    None => output.no_data(),
                }
            }
            Target::Portal => {
                let Some(open) = self.prepared.portals.get(name) else {
                    // A cursor of DECLARE is a portal, too; its rows come as text.
                    let Some(columns) = self.session.cursor_columns(name) else {
                        return Err(self.failed(no_portal(name)));
                    };
                    self.wire.output.row_description(columns, |_| Format::Text);
                    return Ok(());
                };
                match open.portal.columns() {
                    Some(columns) => self.wire.output.row_description(columns, |i| open.formats.of(i)),
                    None => self.wire.output.no_data(),
                }
            }
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, name: &str, rows_max: u32) -> Result<(), SqlError> {
        self.admit();
        let Some(open) = self.prepared.portals.get_mut(name) else {
            return Err(self.failed(no_portal(name)));
        };
        let time_zone = self.session.timezone().clone();
        let mut sink = WireSink::portal(&mut self.wire, &open.formats, time_zone);
        let end = self.session.run_portal(&mut open.portal, rows_max.into(), &mut sink)?;
        match end {
            PortalEnd::Suspended => self.wire.output.portal_suspended(),
            PortalEnd::Complete(tag) => {
                self.settings_changed |= changes_settings(&tag.text);
                if takes_statements(&tag.text) {
                    self.prepared.forget_statements();
                }
                self.wire.output.command_complete(&tag.text);
            }
            PortalEnd::Empty => self.wire.output.empty_query(),
        }
        Ok(())
    }

    pub(super) fn close(&mut self, target: Target, name: &str) {
        match target {
            Target::Statement => drop(self.prepared.statements.remove(name)),
            Target::Portal => drop(self.prepared.portals.remove(name)),
        }
        self.wire.output.close_complete();
    }

    /// An error that the session has not seen: its transaction fails all the same.
    fn failed(&mut self, error: SqlError) -> SqlError {
        self.session.fail();
        error
    }
}

/// The type of a parameter that the client declares; none is to be found out.
fn parameter_type(oid: u32) -> Result<Option<SqlType>, SqlError> {
    match oid {
        0 | 705 => Ok(None),
        oid => SqlType::from_pg_oid(oid, -1).map(Some).ok_or_else(|| {
            SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("type with OID {oid} does not exist"))
        }),
    }
}

fn result_formats(formats: Formats<'_>, columns: usize) -> Result<ResultFormats, SqlError> {
    if !formats.fit(columns) && columns > 0 {
        let text =
            format!("bind message has {} result formats but query has {columns} columns", formats.count());
        return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
    }
    Ok(match formats.count() {
        0 => ResultFormats::Text,
        1 if formats.of(0) == Format::Binary => ResultFormats::Binary,
        1 => ResultFormats::Text,
        _ => ResultFormats::Each((0..columns).map(|i| formats.of(i)).collect()),
    })
}

fn no_statement(name: &str) -> SqlError {
    let text = match name {
        "" => "unnamed prepared statement does not exist".to_owned(),
        name => format!("prepared statement \"{name}\" does not exist"),
    };
    SqlError::new(sqlstate::INVALID_STATEMENT_NAME, text)
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
