//! SET, RESET, SHOW: names and values of settings.

use super::lexer::Token;

use super::cursor::Cursor;
use super::string_literal;
use super::transaction::some_modes;
use crate::error::SyntaxError;
use crate::syntax::{ActAs, AlterAction, AlterTable, IsolationLevel, Name, Statement, TransactionModes};

/// SET, of a setting or of a transaction.
pub(super) fn set(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    if cursor.accept(&["session", "characteristics", "as", "transaction"]) {
        return Ok(Statement::SetSessionCharacteristics(some_modes(cursor)?));
    }
    // Firebird's SET TRANSACTION SNAPSHOT [AT NUMBER n] is a list of modes.
    if cursor.is(&["transaction", "snapshot"]) && matches!(cursor.peek_at(2), Token::String(_)) {
        cursor.expect(&["transaction", "snapshot"])?;
        let snapshot = Some(string_literal(cursor)?.0);
        return Ok(Statement::SetTransaction(TransactionModes { snapshot, ..TransactionModes::default() }));
    }
    if cursor.accept(&["transaction"]) {
        return Ok(Statement::SetTransaction(some_modes(cursor)?));
    }
    if cursor.is(&["constraints"]) {
        return super::table::set_constraints(cursor);
    }
    if let Some(statement) = super::rights::act_as(cursor)? {
        return Ok(statement);
    }
    if cursor.is(&["table"]) && !matches!(cursor.peek_at(1), Token::Eq) && !cursor.is(&["table", "to"]) {
        return memory_resident(cursor);
    }
    if cursor.is(&["isolation"]) {
        return informix_isolation(cursor);
    }
    if cursor.is(&["lock", "mode"]) {
        return informix_lock_mode(cursor);
    }
    if let Some(statement) = firebird_statistics(cursor)? {
        return Ok(statement);
    }
    if cursor.is(&["pdqpriority"])
        && !matches!(cursor.peek_at(1), Token::Eq)
        && !cursor.is(&["pdqpriority", "to"])
    {
        return informix_priority(cursor);
    }
    let local = cursor.accept(&["local"]);
    if !local {
        cursor.accept(&["session"]);
    }
    let statement = set_behind(cursor)?;
    Ok(match statement {
        Statement::Set { name, value, .. } => Statement::Set { name, value, local },
        other => other,
    })
}

/// `SET TABLE t {MEMORY_RESIDENT | NON_RESIDENT}`, as Informix had it.
fn memory_resident(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.qualified()?;
    let value = if cursor.accept(&["memory_resident"]) {
        "on"
    } else {
        cursor.expect(&["non_resident"])?;
        "off"
    };
    let options = AlterAction::Options(vec![("memory_resident".to_string(), value.to_string())]);
    let (if_exists, materialized) = (false, false);
    Ok(Statement::AlterTable(AlterTable {
        name,
        if_exists,
        actions: vec![options],
        materialized,
        only: false,
    }))
}

/// `SET ISOLATION [TO] level`, as Informix has it: of the session's transactions from the next one on.
fn informix_isolation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    cursor.accept(&["to"]);
    let levels = [
        (&["dirty", "read"][..], IsolationLevel::ReadUncommitted),
        (&["committed", "read"], IsolationLevel::ReadCommitted),
        // A row that is fetched stays as it is while the cursor is on it: which is so where each statement has a snapshot.
        (&["cursor", "stability"], IsolationLevel::ReadCommitted),
        (&["repeatable", "read"], IsolationLevel::Serializable),
    ];
    let found = levels.into_iter().find(|(words, _)| cursor.accept(words));
    let Some((_, level)) = found else { return Err(cursor.unexpected()) };
    if level == IsolationLevel::ReadCommitted {
        // Nobody waits to read what is committed, so it says what is so.
        cursor.accept(&["last", "committed"]);
    }
    if cursor.is(&["retain", "update", "locks"]) {
        return Err(cursor.unsupported("RETAIN UPDATE LOCKS"));
    }
    Ok(Statement::SetSessionCharacteristics(TransactionModes {
        isolation: Some(level),
        ..TransactionModes::default()
    }))
}

/// `SET PDQPRIORITY n`, as Informix has it, without an equals sign; DEFAULT is what the session began with.
fn informix_priority(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let at = cursor.here();
    cursor.advance();
    let name = Name { text: "pdq_priority".to_string(), at };
    let words = [("low", "1"), ("high", "100"), ("off", "0")];
    let word = words.into_iter().find(|(word, _)| cursor.accept(&[word]));
    let value = match word {
        Some((_, value)) => Some(value.to_string()),
        None if cursor.accept(&["default"]) => None,
        None => Some(super::table::signed_number(cursor).ok_or_else(|| cursor.unexpected())?),
    };
    Ok(Statement::Set { name, value, local: false })
}

/// `SET STAT[S] {ON | OFF}`, as Firebird's shell has it: a value of `statement_statistics`. What a shell alone can do is refused
/// by name.
fn firebird_statistics(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, SyntaxError> {
    let at = cursor.here();
    let is_switch =
        |cursor: &Cursor<'_>, word: &str| ["on", "off"].into_iter().find(|value| cursor.is(&[word, value]));
    for word in ["stat", "stats"] {
        if let Some(value) = is_switch(cursor, word) {
            cursor.expect(&[word, value])?;
            let name = Name { text: "statement_statistics".to_string(), at };
            return Ok(Some(Statement::Set { name, value: Some(value.to_string()), local: false }));
        }
    }
    for word in ["time", "per_table_stats"] {
        if is_switch(cursor, word).is_some() {
            let text = format!("SET {} outside of the shell", word.to_ascii_uppercase());
            return Err(cursor.unsupported(&text));
        }
    }
    Ok(None)
}

/// `SET LOCK MODE TO {NOT WAIT | WAIT [seconds]}`, as Informix has it: a value of `lock_timeout`.
fn informix_lock_mode(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let at = cursor.here();
    cursor.expect(&["lock", "mode", "to"])?;
    let value = if cursor.accept(&["not", "wait"]) {
        // The shortest time that can be set: 0 means no limit.
        "1ms".to_string()
    } else {
        cursor.expect(&["wait"])?;
        match super::table::signed_number(cursor).as_deref() {
            // For no second: not at all.
            Some("0") => "1ms".to_string(),
            Some(seconds) => format!("{seconds}s"),
            None => "0".to_string(),
        }
    };
    let name = Name { text: "lock_timeout".to_string(), at };
    Ok(Statement::Set { name, value: Some(value), local: false })
}

/// A setting and its value.
fn set_behind(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let local = false;
    if cursor.is(&["time", "zone"]) {
        let at = cursor.here();
        cursor.expect(&["time", "zone"])?;
        let name = Name { text: "timezone".to_string(), at };
        if cursor.accept(&["local"]) {
            return Ok(Statement::Set { name, value: None, local });
        }
        if cursor.is(&["interval"]) {
            return Ok(Statement::Set { name, value: Some(zone_interval(cursor)?), local });
        }
        return Ok(Statement::Set { name, value: setting_value(cursor)?, local });
    }
    if cursor.is(&["names"]) && !matches!(cursor.peek_at(1), Token::Eq) && !cursor.is(&["names", "to"]) {
        let at = cursor.here();
        cursor.advance();
        let name = Name { text: "client_encoding".to_string(), at };
        let bare = cursor.at_end() || matches!(cursor.peek(), Token::SemiColon);
        let value = if bare { None } else { setting_value(cursor)? };
        return Ok(Statement::Set { name, value, local });
    }
    if cursor.is(&["schema"]) && matches!(cursor.peek_at(1), Token::String(_)) {
        let at = cursor.here();
        cursor.advance();
        let name = Name { text: "search_path".to_string(), at };
        let value = string_literal(cursor)?.0;
        return Ok(Statement::Set { name, value: Some(listed_name(&value)), local });
    }
    let name = assigned_setting(cursor)?;
    if name.text == "search_path" {
        return Ok(Statement::Set { name, value: name_list(cursor)?, local });
    }
    let values = setting_values(cursor)?;
    if !LISTS.contains(&&*name.text) && values.as_ref().is_some_and(|values| values.len() > 1) {
        return Err(SyntaxError::new("22023", format!("SET {} takes only one argument", name.text)));
    }
    Ok(Statement::Set { name, value: values.map(|values| values.join(", ")), local })
}

/// Settings that take several values, one behind the other.
const LISTS: [&str; 16] = [
    "begin_options",
    "createrole_self_grant",
    "datestyle",
    "debug_io_direct",
    "listen_addresses",
    "local_preload_libraries",
    "log_connections",
    "log_destination",
    "restrict_nonsystem_relation_kind",
    "session_preload_libraries",
    "shared_preload_libraries",
    "synchronous_standby_names",
    "temp_tablespaces",
    "unix_socket_directories",
    "verso_rules_off",
    "wal_consistency_checking",
];

/// `INTERVAL '…' [HOUR | HOUR TO MINUTE]`, as a time zone.
fn zone_interval(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    cursor.advance();
    if matches!(cursor.peek(), Token::LParen) {
        cursor.advance();
        if !matches!(cursor.peek(), Token::Number(_)) {
            return Err(cursor.unexpected());
        }
        cursor.advance();
        cursor.expect_token(&Token::RParen)?;
    }
    let mut text = string_literal(cursor)?.0;
    let bare = text.trim().parse::<f64>().is_ok();
    if cursor.accept(&["hour", "to", "minute"]) {
        // A number counts what the last field says.
        text += if bare { " minutes" } else { "" };
    } else if cursor.accept(&["hour"]) {
        text += if bare { " hours" } else { "" };
    } else if ["year", "month", "day", "minute", "second"].iter().any(|field| cursor.is(&[field])) {
        let text = "time zone interval must be HOUR or HOUR TO MINUTE";
        return Err(SyntaxError::syntax(text).at(cursor.here().start));
    }
    Ok(format!("INTERVAL '{text}'"))
}

/// `name {= | TO} value`, behind SET.
pub(super) fn one_setting(cursor: &mut Cursor<'_>) -> Result<(Name, Option<String>), SyntaxError> {
    match set_behind(cursor)? {
        Statement::Set { name, value, local: false } => Ok((name, value)),
        _ => Err(cursor.unexpected()),
    }
}

/// The value of a setting that is a list of names: each as it has to be quoted to be read again.
pub(super) fn name_list(cursor: &mut Cursor<'_>) -> Result<Option<String>, SyntaxError> {
    if cursor.accept(&["default"]) {
        return Ok(None);
    }
    let names = cursor.list(|cursor| match cursor.peek() {
        Token::String(_) => Ok(listed_name(&string_literal(cursor)?.0)),
        Token::Number(_) => Err(cursor.unexpected()),
        _ => Ok(listed_name(&cursor.name()?.text)),
    })?;
    Ok(Some(names.join(", ")))
}

/// A name as PostgreSQL lists it: quoted unless it is a plain word.
fn listed_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// SHOW.
pub(super) fn show(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    if cursor.accept(&["all"]) {
        return Ok(Statement::ShowAll);
    }
    if cursor.accept(&["statement", "statistics"]) {
        return Ok(Statement::ShowStatementStatistics);
    }
    let at = cursor.here();
    if cursor.accept(&["transaction", "isolation", "level"]) {
        return Ok(Statement::Show(Name { text: "transaction_isolation".to_string(), at }));
    }
    if cursor.accept(&["time", "zone"]) {
        return Ok(Statement::Show(Name { text: "timezone".to_string(), at }));
    }
    if cursor.accept(&["session", "authorization"]) {
        return Ok(Statement::Show(Name { text: "session_authorization".to_string(), at }));
    }
    Ok(Statement::Show(setting_name(cursor)?))
}

/// RESET.
pub(super) fn reset(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    if cursor.accept(&["all"]) {
        return Ok(Statement::ResetAll);
    }
    if cursor.accept(&["role"]) {
        return Ok(Statement::ActAs { who: ActAs::Role(None), local: false, reset: true });
    }
    if cursor.accept(&["session", "authorization"]) {
        return Ok(Statement::ActAs { who: ActAs::Session(None), local: false, reset: true });
    }
    let at = cursor.here();
    if cursor.accept(&["transaction", "isolation", "level"]) {
        return Ok(Statement::Reset(Name { text: "transaction_isolation".into(), at: cursor.since(at) }));
    }
    if cursor.accept(&["time", "zone"]) {
        return Ok(Statement::Reset(Name { text: "timezone".into(), at: cursor.since(at) }));
    }
    Ok(Statement::Reset(setting_name(cursor)?))
}

/// A setting's name with the `=` or TO behind it.
pub(super) fn assigned_setting(cursor: &mut Cursor<'_>) -> Result<Name, SyntaxError> {
    let name = setting_name(cursor)?;
    if !cursor.accept_token(&Token::Eq) {
        cursor.expect(&["to"])?;
    }
    Ok(name)
}

/// A setting's name, whose letters mean the same in either case; `a.b` is one name.
pub(super) fn setting_name(cursor: &mut Cursor<'_>) -> Result<Name, SyntaxError> {
    let mut name = cursor.name()?;
    while cursor.accept_token(&Token::Period) {
        let part = cursor.name()?;
        name.text = format!("{}.{}", name.text, part.text);
        name.at = name.at.to(part.at);
    }
    // be it quoted or not
    name.text.make_ascii_lowercase();
    Ok(name)
}

/// A setting's value; `None` is DEFAULT. Several values become one text with commas.
pub(super) fn setting_value(cursor: &mut Cursor<'_>) -> Result<Option<String>, SyntaxError> {
    Ok(setting_values(cursor)?.map(|values| values.join(", ")))
}

/// The values of a setting; `None` is DEFAULT.
fn setting_values(cursor: &mut Cursor<'_>) -> Result<Option<Vec<String>>, SyntaxError> {
    if cursor.accept(&["default"]) {
        return Ok(None);
    }
    let parts = cursor.list(|cursor| {
        let sign = match cursor.peek() {
            Token::Minus => "-",
            Token::Plus => "+",
            _ => "",
        };
        if !sign.is_empty() {
            cursor.advance();
        }
        let text = match cursor.peek() {
            Token::Number(digits) => format!("{sign}{}", cursor.source().meaning(digits)),
            _ if !sign.is_empty() => return Err(cursor.unexpected()),
            Token::Word(_) => cursor.written().to_lowercase(),
            Token::Quoted(text) => cursor.source().meaning(text).to_string(),
            _ => return Ok(string_literal(cursor)?.0),
        };
        cursor.advance();
        Ok(text)
    })?;
    Ok(Some(parts))
}
