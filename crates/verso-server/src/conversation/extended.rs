//! The extended protocol: statements and portals.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_session::errors::sqlstate;
use verso_session::{Portal, PortalEnd, Prepared as Statement, SqlError};
use verso_types::encoding::has_text;
use verso_types::{SqlType, Value, parse_binary, parse_text, wire};

use super::Conversation;
use super::sink::{ResultFormats, WireSink};
use crate::protocol::frontend::{Bind, Format, Formats, Target};

/// Statements and portals of a conversation. Named statements are the session's: SQL's PREPARE, EXECUTE and DEALLOCATE
/// know them, too.
#[derive(Debug, Default)]
pub struct Prepared {
    unnamed: Option<Arc<Statement>>,
    /// The portal that has no name, which most statements use.
    portal: Option<OpenPortal>,
    portals: BTreeMap<Box<str>, OpenPortal>,
    /// Memory for the parameters of the next one.
    params: Vec<Value>,
}

/// Parameters for which memory is kept.
const PARAMS_KEEP: usize = 64;

#[derive(Debug)]
struct OpenPortal {
    portal: Portal,
    formats: ResultFormats,
}

impl Prepared {
    /// A simple query takes the unnamed ones away.
    pub fn forget_unnamed(&mut self) {
        self.unnamed = None;
        self.close_unnamed();
    }

    /// The transaction has ended (M3).
    pub fn forget_portals(&mut self) {
        self.close_unnamed();
        if !self.portals.is_empty() {
            self.portals.clear();
        }
    }

    fn close_unnamed(&mut self) {
        if let Some(open) = self.portal.take() {
            self.params = open.portal.into_params();
            self.params.clear();
            self.params.shrink_to(PARAMS_KEEP);
        }
    }

    fn portal(&self, name: &str) -> Option<&OpenPortal> {
        if name.is_empty() { self.portal.as_ref() } else { self.portals.get(name) }
    }

    fn portal_mut(&mut self, name: &str) -> Option<&mut OpenPortal> {
        if name.is_empty() { self.portal.as_mut() } else { self.portals.get_mut(name) }
    }
}

impl Conversation {
    pub(super) fn parse(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<(), SqlError> {
        let types = types.iter().map(|oid| self.session.parameter_type(*oid)).collect::<Result<Vec<_>, _>>();
        let types = types.map_err(|error| self.failed(error))?;
        self.session.foresee();
        let statement = self.session.prepare(sql, &types)?;
        if name.is_empty() {
            self.prepared.unnamed = Some(statement);
        } else if let Err(error) = self.session.name_statement(name, statement) {
            return Err(self.failed(error));
        }
        self.wire.output.parse_complete();
        Ok(())
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>) -> Result<(), SqlError> {
        let statement = match self.statement(bind.statement) {
            Ok(statement) => statement,
            Err(error) => return Err(self.failed(error)),
        };
        // CLOSE may have closed one.
        let taken = self.prepared.portals.get(bind.portal).is_some_and(|open| !open.portal.is_closed());
        if taken {
            let text = format!("cursor \"{}\" already exists", bind.portal);
            return Err(self.failed(SqlError::new(sqlstate::DUPLICATE_CURSOR, text)));
        }
        if bind.portal.is_empty() {
            self.prepared.close_unnamed();
        }
        let params = self.parameters(&statement, bind).map_err(|error| self.failed(error))?;
        let mut portal = self.session.bind(&statement, params)?;
        let columns = portal.columns().map_or(0, <[_]>::len);
        let formats = result_formats(bind.results, columns).map_err(|error| self.failed(error))?;
        if !bind.portal.is_empty() {
            self.session.name_portal(&mut portal, bind.portal)?;
        }
        let open = OpenPortal { portal, formats };
        if bind.portal.is_empty() {
            self.prepared.portal = Some(open);
        } else {
            self.prepared.portals.insert(bind.portal.into(), open);
        }
        self.wire.output.bind_complete();
        Ok(())
    }

    fn parameters(&mut self, statement: &Statement, bind: &Bind<'_>) -> Result<Vec<Value>, SqlError> {
        // As they are defined now.
        let types = &*self.session.parameter_types(statement);
        if bind.count != types.len() {
            let text = format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                bind.count,
                bind.statement,
                types.len()
            );
            return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
        }
        if !types.is_empty() {
            check_formats(bind.formats)?;
        }
        self.session.know_names(types);
        let time_zone = self.session.timezone();
        let read = |(i, (bytes, ty)): (usize, (Option<&[u8]>, &SqlType))| {
            let Some(bytes) = bytes else { return Ok(Value::Null) };
            let value = match bind.formats.of(i) {
                Format::Binary if time_zone.encoding.converts() && has_text(ty) => {
                    let text = time_zone.encoding.decode(bytes);
                    text.and_then(|text| parse_binary(ty, text.as_bytes())).map_err(SqlError::from)
                }
                Format::Binary => parse_binary(ty, bytes).map_err(|error| {
                    let mut error = SqlError::from(error);
                    if error.message == wire::SURPLUS {
                        error.message = format!("{} in bind parameter {}", wire::SURPLUS, i + 1);
                    }
                    error
                }),
                Format::Text => {
                    let value = wire::utf8(bytes).and_then(|text| parse_text(ty, text, time_zone));
                    value.map_err(SqlError::from)
                }
            };
            value.map_err(|error| error.with_context(&format!("unnamed portal parameter ${}", i + 1)))
        };
        let mut params = std::mem::take(&mut self.prepared.params);
        for value in bind.values().zip(types).enumerate() {
            params.push(read(value)?);
        }
        Ok(params)
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<(), SqlError> {
        match target {
            Target::Statement => {
                let statement = match self.statement(name) {
                    Ok(statement) => statement,
                    Err(error) => return Err(self.failed(error)),
                };
                let output = &mut self.wire.output;
                output.parameter_description(statement.params().iter().map(SqlType::pg_oid));
                match statement.columns() {
                    Some(columns) => output.row_description(columns, |_| Format::Text),
                    None => output.no_data(),
                }
            }
            Target::Portal => {
                let Some(open) = self.prepared.portal(name) else {
                    // A cursor of DECLARE, or of a function, is a portal, too; its rows come as text.
                    let Some(columns) = self.session.cursor_columns(name) else {
                        return Err(self.failed(no_portal(name)));
                    };
                    self.wire.output.row_description(&columns, |_| Format::Text);
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
        let last = self.wire.input.next_is(b'S');
        let time_zone = self.session.timezone().clone();
        let end = match self.prepared.portal_mut(name) {
            Some(open) => {
                let mut sink = WireSink::portal(&mut self.wire, &open.formats, time_zone);
                self.session.run_portal(&mut open.portal, rows_max.into(), last, &mut sink)?
            }
            // A cursor of DECLARE, or of a function, is a portal, too; its rows come as text.
            None if self.session.cursor_columns(name).is_some() => {
                let formats = ResultFormats::Text;
                let mut sink = WireSink::portal(&mut self.wire, &formats, time_zone);
                self.session.run_cursor(name, rows_max.into(), last, &mut sink)?
            }
            None => return Err(self.failed(no_portal(name))),
        };
        match end {
            PortalEnd::Suspended => self.wire.output.portal_suspended(),
            PortalEnd::Complete(tag) => self.wire.output.command_complete(&tag.text),
            PortalEnd::Empty => self.wire.output.empty_query(),
        }
        Ok(())
    }

    pub(super) fn close(&mut self, target: Target, name: &str) {
        match target {
            Target::Statement if name.is_empty() => self.prepared.unnamed = None,
            Target::Statement => {
                self.session.forget_statement(name);
            }
            Target::Portal if name.is_empty() => self.prepared.close_unnamed(),
            Target::Portal => {
                if self.prepared.portals.remove(name).is_none() {
                    self.session.forget_cursor(name);
                }
            }
        }
        self.wire.output.close_complete();
    }

    /// The text of a statement, and of that of a portal.
    pub(super) fn text_of(&self, statement: &str) -> Option<Arc<str>> {
        self.statement(statement).ok().map(|statement| Arc::clone(statement.text()))
    }

    pub(super) fn text_of_portal(&self, portal: &str) -> Option<Arc<str>> {
        self.prepared.portal(portal).map(|open| Arc::clone(open.portal.prepared().text()))
    }

    fn statement(&self, name: &str) -> Result<Arc<Statement>, SqlError> {
        if !name.is_empty() {
            return self.session.statement(name);
        }
        self.prepared.unnamed.clone().ok_or_else(|| {
            SqlError::new(sqlstate::INVALID_STATEMENT_NAME, "unnamed prepared statement does not exist")
        })
    }

    /// An error that the session has not seen: its transaction fails all the same.
    fn failed(&mut self, error: SqlError) -> SqlError {
        self.session.fail();
        error
    }
}

fn result_formats(formats: Formats<'_>, columns: usize) -> Result<ResultFormats, SqlError> {
    if !formats.fit(columns) && columns > 0 {
        let text =
            format!("bind message has {} result formats but query has {columns} columns", formats.count());
        return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
    }
    if columns > 0 {
        check_formats(formats)?;
    }
    Ok(match formats.count() {
        0 => ResultFormats::Text,
        1 if formats.of(0) == Format::Binary => ResultFormats::Binary,
        1 => ResultFormats::Text,
        _ => ResultFormats::Each((0..columns).map(|i| formats.of(i)).collect()),
    })
}

/// Formats of what is not there may be anything, as in PostgreSQL.
fn check_formats(formats: Formats<'_>) -> Result<(), SqlError> {
    let error =
        |code| SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("unsupported format code: {code}"));
    formats.unknown().map_or(Ok(()), |code| Err(error(code)))
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
