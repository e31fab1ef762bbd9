//! CREATE, ALTER, DROP DATABASE.

use verso_types::sqlstate;

use super::cursor::Cursor;
use super::lexer::Token;
use super::schema::role_name;
use super::setting::{assigned_setting, name_list, setting_name, setting_value};
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{DatabaseOptions, DatabaseStatement, Name, Owned, Statement};

/// Behind CREATE.
pub(super) fn create_database(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["database"])?;
    let name = cursor.name()?;
    cursor.accept(&["with"]);
    let (mut template, mut owner, mut page_size) = (None, None, None);
    let mut options = DatabaseOptions::default();
    let mut seen: Vec<String> = Vec::new();
    while !cursor.at_end() && !matches!(cursor.peek(), Token::SemiColon) {
        let at = cursor.here().start;
        // Firebird's [DEFAULT] CHARACTER SET.
        cursor.accept(&["default"]);
        let mut option = cursor.word().ok_or_else(|| cursor.unexpected())?;
        cursor.advance();
        if option == "connection" {
            cursor.expect(&["limit"])?;
            option.push_str(" limit");
        }
        if option == "character" {
            cursor.expect(&["set"])?;
            option = "encoding".to_owned();
        }
        if seen.contains(&option) {
            return Err(SyntaxError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options").at(at));
        }
        if matches!(cursor.peek(), Token::Eq) {
            cursor.advance();
        }
        let default = cursor.accept(&["default"]);
        match option.as_str() {
            _ if default => {}
            "template" => template = Some(cursor.name()?),
            "owner" => owner = Some(role_name(cursor)?),
            "page_size" => page_size = Some(bytes_of_page(cursor)?),
            "connection limit" | "is_template" | "allow_connections" => {
                use_option(cursor, &option, at, &mut options)?;
            }
            _ => check_option(cursor, &option, at)?,
        }
        seen.push(option);
    }
    Ok(Statement::Database(DatabaseStatement::Create { name, template, owner, page_size, options }))
}

/// The bytes of a page: one of the sizes that there are.
fn bytes_of_page(cursor: &mut Cursor<'_>) -> Result<u32, SyntaxError> {
    let at = cursor.here().start;
    let value = setting_value(cursor)?.unwrap_or_default();
    let known = ["4096", "8192", "16384", "32768"].into_iter().find(|known| *known == value.trim());
    known.and_then(|bytes| bytes.parse().ok()).ok_or_else(|| {
        let text = format!("invalid value for option \"page_size\": \"{value}\"");
        SyntaxError::new("22023", text).with_detail("Pages have 4096, 8192, 16384 or 32768 bytes.").at(at)
    })
}

/// An option that says how the database may be used.
fn use_option(
    cursor: &mut Cursor<'_>,
    option: &str,
    at: u32,
    options: &mut DatabaseOptions,
) -> Result<(), SyntaxError> {
    if cursor.at_end() || matches!(cursor.peek(), Token::SemiColon) {
        return Err(cursor.unexpected());
    }
    let value = setting_value(cursor)?.unwrap_or_default();
    let wrong = |what: &str| {
        let text = format!("{} requires {what} value", option.replace(' ', "_"));
        Err(SyntaxError::new(sqlstate::SYNTAX_ERROR, text).at(at))
    };
    if option == "connection limit" {
        let Ok(limit) = value.parse() else { return wrong("an integer") };
        if limit < -1 {
            return Err(SyntaxError::new("22023", format!("invalid connection limit: {limit}")).at(at));
        }
        options.connection_limit = Some(limit);
        return Ok(());
    }
    let flag = match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => true,
        "false" | "off" | "0" => false,
        _ => return wrong("a Boolean"),
    };
    match option {
        "is_template" => options.is_template = Some(flag),
        _ => options.allow_connections = Some(flag),
    }
    Ok(())
}

/// `[WITH] option [=] value …` of ALTER DATABASE.
fn alter_options(cursor: &mut Cursor<'_>, name: Name) -> Result<Statement, SyntaxError> {
    let mut options = DatabaseOptions::default();
    let mut seen: Vec<String> = Vec::new();
    while !cursor.at_end() && !matches!(cursor.peek(), Token::SemiColon) {
        let at = cursor.here().start;
        let mut option = cursor.word().ok_or_else(|| cursor.unexpected())?;
        cursor.advance();
        if option == "connection" {
            cursor.expect(&["limit"])?;
            option.push_str(" limit");
        }
        if seen.contains(&option) {
            return Err(SyntaxError::new(sqlstate::SYNTAX_ERROR, "conflicting or redundant options").at(at));
        }
        if matches!(cursor.peek(), Token::Eq) {
            cursor.advance();
        }
        match option.as_str() {
            "connection limit" | "is_template" | "allow_connections" => {
                use_option(cursor, &option, at, &mut options)?;
            }
            "tablespace" => {
                super::table::named_tablespace(cursor)?;
            }
            other => {
                let text = format!("option \"{other}\" not recognized");
                return Err(SyntaxError::new(sqlstate::SYNTAX_ERROR, text).at(at));
            }
        }
        seen.push(option);
    }
    if !seen.iter().any(|option| option == "tablespace") {
        return Ok(Statement::Database(DatabaseStatement::Alter { name, options }));
    }
    if seen.len() > 1 {
        let text = "option \"tablespace\" cannot be specified with other options";
        return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    Ok(Statement::Database(DatabaseStatement::Tablespace { name }))
}

/// An option that has one value here; every other one is refused.
fn check_option(cursor: &mut Cursor<'_>, option: &str, at: u32) -> Result<(), SyntaxError> {
    let value = setting_value(cursor)?.unwrap_or_default();
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let fits = match option {
        // Texts are UTF-8 there, too: other bytes are refused and not kept unread.
        "encoding" => matches!(plain.as_str(), "utf8" | "unicode" | "6" | "sqlascii" | "0" | "none"),
        "locale" | "lc_collate" | "lc_ctype" => matches!(plain.as_str(), "c" | "posix" | "cutf8"),
        "builtin_locale" => matches!(plain.as_str(), "c" | "cutf8"),
        "locale_provider" => matches!(plain.as_str(), "builtin" | "libc"),
        "tablespace" if value == "pg_default" => true,
        "tablespace" => {
            let text = format!("tablespace \"{value}\" does not exist");
            return Err(SyntaxError::new("42704", text).at(at));
        }
        "collation_version" => plain == "1",
        "strategy" | "oid" | "icu_locale" | "icu_rules" => false,
        other => {
            let text = format!("option \"{other}\" not recognized");
            return Err(SyntaxError::new(sqlstate::SYNTAX_ERROR, text).at(at));
        }
    };
    let what = || format!("CREATE DATABASE with {} = {value}", option.to_uppercase());
    if fits { Ok(()) } else { Err(SyntaxError::unsupported(what()).at(at)) }
}

/// Behind DROP.
pub(super) fn drop_database(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["database"])?;
    let if_exists = cursor.accept(&["if", "exists"]);
    let name = cursor.name()?;
    let with = cursor.accept(&["with"]);
    let mut force = false;
    if matches!(cursor.peek(), Token::LParen) {
        cursor.advance();
        let options = cursor.list(|cursor| cursor.expect(&["force"]))?;
        force = !options.is_empty();
        if !matches!(cursor.peek(), Token::RParen) {
            return Err(cursor.unexpected());
        }
        cursor.advance();
    } else if with {
        return Err(cursor.unexpected());
    }
    Ok(Statement::Database(DatabaseStatement::Drop { name, if_exists, force }))
}

/// ALTER DATABASE, ALTER SYSTEM.
pub(super) fn alter_database(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let system = cursor.is(&["alter", "system"]);
    cursor.expect(&["alter", if system { "system" } else { "database" }])?;
    let mut database: Option<Name> = None;
    // Without a name it is the session's own one.
    if !system && !cursor.is(&["set"]) && !cursor.is(&["reset"]) {
        let name = cursor.name()?;
        if cursor.accept(&["rename", "to"]) {
            let to = cursor.name()?;
            return Ok(Statement::Database(DatabaseStatement::Rename { name, to }));
        }
        database = Some(name.clone());
        if let Some(statement) = super::rights::owner(cursor, || Owned::Database(Some(name)), false)? {
            return Ok(statement);
        }
    }
    if system && cursor.accept(&["add", "logfile", "size"]) {
        return Ok(Statement::AddLogFile { size: string_literal(cursor)?.0 });
    }
    if system && cursor.is(&["add"]) {
        cursor.expect(&["add", "logfile"])?;
        let text = "ALTER SYSTEM ADD LOGFILE needs a SIZE";
        return Err(SyntaxError::syntax(text)
            .at(cursor.here().start)
            .with_hint("Write, for example, ALTER SYSTEM ADD LOGFILE SIZE '64MB'."));
    }
    if system && cursor.accept(&["drop", "logfile"]) {
        let at = cursor.here().start;
        let number = u64::try_from(cursor.integer()?)
            .map_err(|_| SyntaxError::new("22023", "the number of a log file is not negative").at(at))?;
        return Ok(Statement::DropLogFile { number });
    }
    if cursor.accept(&["reset", "all"]) {
        let name = Name { text: "all".to_string(), at: cursor.last() };
        return Ok(Statement::AlterDatabase { system, database, name, value: None });
    }
    if cursor.accept(&["reset"]) {
        return Ok(Statement::AlterDatabase { system, database, name: setting_name(cursor)?, value: None });
    }
    if let (Some(name), true) = (&database, cursor.accept(&["set", "tablespace"])) {
        super::table::named_tablespace(cursor)?;
        return Ok(Statement::Database(DatabaseStatement::Tablespace { name: name.clone() }));
    }
    if !cursor.accept(&["set"]) {
        let Some(name) = database else { return Err(cursor.unexpected()) };
        let with = cursor.accept(&["with"]);
        if !with && (cursor.at_end() || matches!(cursor.peek(), Token::SemiColon)) {
            return Err(cursor.unexpected());
        }
        return alter_options(cursor, name);
    }
    let name = assigned_setting(cursor)?;
    let value = if name.text == "search_path" { name_list(cursor)? } else { setting_value(cursor)? };
    Ok(Statement::AlterDatabase { system, database, name, value })
}
