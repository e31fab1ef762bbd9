//! CREATE VIEW, ALTER VIEW.

use super::cursor::Cursor;
use super::lexer::Token;
use super::schema::set_schema;
use crate::error::SyntaxError;
use crate::syntax::{
    CreateMaterialized, CreateView, DropKind, Name, Owned, QualifiedName, Span, Statement, ViewStatement,
};

/// Whether `[TEMP | TEMPORARY] [RECURSIVE] VIEW` comes next.
pub(super) fn is_next(cursor: &Cursor<'_>) -> bool {
    let words: [&[&str]; 7] = [
        &["view"],
        &["recursive", "view"],
        &["temp", "view"],
        &["temporary", "view"],
        &["temp", "recursive", "view"],
        &["temporary", "recursive", "view"],
        &["local", "temp", "view"],
    ];
    words.iter().any(|words| cursor.is(words))
}

/// Behind CREATE [OR REPLACE].
pub(super) fn create_view(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement, SyntaxError> {
    cursor.accept(&["local"]);
    let temporary = cursor.accept(&["temp"]) || cursor.accept(&["temporary"]);
    let recursive = cursor.accept(&["recursive"]);
    cursor.expect(&["view"])?;
    let name = cursor.qualified()?;
    let mut columns = Vec::new();
    if recursive || matches!(cursor.peek(), Token::LParen) {
        columns = cursor.listed(Cursor::name)?;
    }
    let options = if cursor.accept(&["with"]) { view_options(cursor)? } else { Vec::new() };
    cursor.expect(&["as"])?;
    let start = cursor.here().start;
    let query = cursor.query()?;
    let text = cursor.source().slice(Span { start, end: cursor.last().end }).to_string();
    let mut check = None;
    if cursor.accept(&["with"]) {
        let local = cursor.accept(&["local"]);
        if !local {
            cursor.accept(&["cascaded"]);
        }
        cursor.expect(&["check", "option"])?;
        check = Some(!local);
    }
    let mut view = CreateView { name, or_replace, temporary, columns, options, query, text, check };
    if recursive {
        if view.check.is_some() {
            return Err(cursor.unsupported("WITH CHECK OPTION on a recursive view"));
        }
        recurse(&mut view)?;
    }
    Ok(Statement::View(ViewStatement::Create(Box::new(view))))
}

/// Makes the query of a recursive view one of WITH RECURSIVE.
fn recurse(view: &mut CreateView) -> Result<(), SyntaxError> {
    let own = super::quoted(&view.name.name.text);
    let columns: Vec<String> = view.columns.iter().map(|column| super::quoted(&column.text)).collect();
    let columns = columns.join(", ");
    view.text = format!("WITH RECURSIVE {own} ({columns}) AS ({}) SELECT {columns} FROM {own}", view.text);
    let statements = super::parse_script(&view.text)?;
    match statements.into_iter().next().map(|parsed| parsed.statement) {
        Some(Statement::Query(query)) => view.query = query,
        _ => return Err(SyntaxError::syntax("a recursive view is no query")),
    }
    Ok(())
}

/// CREATE MATERIALIZED VIEW, behind CREATE.
pub(super) fn create_materialized(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["materialized", "view"])?;
    let if_not_exists = super::ddl::if_not_exists(cursor)?;
    let name = cursor.qualified()?;
    let columns =
        if matches!(cursor.peek(), Token::LParen) { cursor.listed(Cursor::name)? } else { Vec::new() };
    super::table::access_method(cursor)?;
    let options =
        if cursor.accept(&["with"]) { super::table::storage_parameters(cursor)? } else { Vec::new() };
    super::table::tablespace(cursor)?;
    cursor.expect(&["as"])?;
    let start = cursor.here().start;
    let query = cursor.query()?;
    let text = cursor.source().slice(Span { start, end: cursor.last().end }).to_string();
    let with_data = with_data(cursor)?.unwrap_or(true);
    let view = CreateMaterialized { name, if_not_exists, columns, options, query, text, with_data };
    Ok(Statement::View(ViewStatement::CreateMaterialized(Box::new(view))))
}

/// `WITH [NO] DATA`.
fn with_data(cursor: &mut Cursor<'_>) -> Result<Option<bool>, SyntaxError> {
    if !cursor.accept(&["with"]) {
        return Ok(None);
    }
    let no = cursor.accept(&["no"]);
    cursor.expect(&["data"])?;
    Ok(Some(!no))
}

/// REFRESH MATERIALIZED VIEW.
pub(super) fn refresh(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["refresh", "materialized", "view"])?;
    let concurrently = cursor.accept(&["concurrently"]);
    let name = cursor.qualified()?;
    let with_data = with_data(cursor)?.unwrap_or(true);
    if concurrently && !with_data {
        return Err(SyntaxError::syntax(
            "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together",
        ));
    }
    Ok(Statement::View(ViewStatement::Refresh { name, concurrently, with_data }))
}

fn view_options(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>, SyntaxError> {
    let mut seen = Vec::new();
    cursor.listed(|cursor| {
        let at = cursor.here().start;
        let name = cursor.label()?.text;
        let value = if cursor.accept_token(&Token::Eq) { option_value(cursor)? } else { "true".to_string() };
        super::table::said_once(&mut seen, &name)?;
        check_option(&name, &value).map_err(|error| error.at(at))?;
        Ok((name, value))
    })
}

fn option_value(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    match cursor.peek() {
        Token::String(_) => Ok(super::string_literal(cursor)?.0),
        Token::Number(digits) => {
            let text = cursor.source().meaning(digits).to_string();
            cursor.advance();
            Ok(text)
        }
        _ => Ok(cursor.label()?.text),
    }
}

/// The options that views have.
pub(super) fn check_option(name: &str, value: &str) -> Result<(), SyntaxError> {
    let value = value.to_ascii_lowercase();
    match name {
        "security_barrier" | "security_invoker" => {
            match matches!(&*value, "true" | "false" | "on" | "off" | "yes" | "no" | "1" | "0") {
                true => Ok(()),
                false => {
                    let text = format!("invalid value for boolean option \"{name}\": {value}");
                    Err(SyntaxError::new("22023", text))
                }
            }
        }
        "check_option" if matches!(&*value, "local" | "cascaded") => Ok(()),
        "check_option" => {
            let text = format!("invalid value for enum option \"check_option\": {value}");
            Err(SyntaxError::new("22023", text))
        }
        _ => Err(SyntaxError::new("22023", format!("unrecognized parameter \"{name}\""))),
    }
}

/// Behind ALTER.
pub(super) fn alter_view(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let name = cursor.qualified()?;
    if let Some(statement) = set_schema(cursor, DropKind::View, &name, if_exists)? {
        return Ok(statement);
    }
    let of = || Owned::Relation(DropKind::View, name.clone());
    if let Some(statement) = super::rights::owner(cursor, of, if_exists)? {
        return Ok(statement);
    }
    if cursor.accept(&["rename", "to"]) {
        let to = cursor.name()?;
        return Ok(Statement::Rename { kind: DropKind::View, name, to, if_exists });
    }
    if cursor.accept(&["rename"]) {
        return rename_column(cursor, name, if_exists);
    }
    if cursor.accept(&["alter"]) {
        cursor.accept(&["column"]);
        let column = cursor.name()?;
        let default = if cursor.accept(&["drop", "default"]) {
            None
        } else {
            cursor.expect(&["set", "default"])?;
            Some(super::table::whole_expression(cursor)?)
        };
        return Ok(Statement::View(ViewStatement::Default { name, column, default, if_exists }));
    }
    let sets = cursor.is(&["set"]);
    if (sets || cursor.is(&["reset"])) && matches!(cursor.peek_at(1), Token::LParen) {
        cursor.advance();
        let options = match sets {
            true => view_options(cursor)?.into_iter().map(|(name, value)| (name, Some(value))).collect(),
            false => cursor.listed(|cursor| Ok((cursor.label()?.text, None)))?,
        };
        return Ok(Statement::View(ViewStatement::Options { name, options, if_exists }));
    }
    Err(cursor.unsupported(
        "ALTER VIEW other than RENAME, OWNER TO, SET SCHEMA, SET (…) and ALTER COLUMN … DEFAULT",
    ))
}

/// Behind RENAME.
fn rename_column(
    cursor: &mut Cursor<'_>,
    name: QualifiedName,
    if_exists: bool,
) -> Result<Statement, SyntaxError> {
    cursor.accept(&["column"]);
    let column: Name = cursor.name()?;
    cursor.expect(&["to"])?;
    let to = cursor.name()?;
    Ok(Statement::View(ViewStatement::RenameColumn { name, column, to, if_exists }))
}
