//! EXPLAIN and its options.
//!
//! Options are checked as PostgreSQL checks them. Those that ask for something that is not measured are refused (0A000) when
//! they are on.

use super::lexer::Token;

use super::cursor::Cursor;
use verso_types::sqlstate;

use crate::error::SyntaxError;
use crate::syntax::{
    CreateTableAs, ExecutePurpose, ExplainFormat, ExplainOptions, ExplainSerialize, Statement, ViewStatement,
};

/// Options that are on or off.
const FLAGS: [&str; 10] = [
    "analyze",
    "verbose",
    "costs",
    "settings",
    "generic_plan",
    "buffers",
    "wal",
    "timing",
    "summary",
    "memory",
];

/// SERIALIZE BINARY among the options.
const SERIALIZE_BINARY: &str = "serialize binary";

/// `EXPLAIN [(option, …) | [ANALYZE] [VERBOSE]] statement`.
pub(super) fn explain(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let options = if matches!(cursor.peek(), Token::LParen) && is_option_list(cursor) {
        cursor.advance();
        let options = cursor.list(option)?;
        cursor.expect_token(&Token::RParen)?;
        check(&options)?
    } else {
        let analyze = cursor.accept(&["analyze"]) || cursor.accept(&["analyse"]);
        let verbose = cursor.accept(&["verbose"]);
        let usual = ExplainOptions { costs: true, ..ExplainOptions::default() };
        ExplainOptions { analyze, verbose, buffers: analyze, timing: analyze, summary: analyze, ..usual }
    };
    let at = cursor.here();
    if cursor.is(&["explain"]) {
        return Err(cursor.unexpected()); // before it recurses
    }
    let statement = super::statement(cursor)?;
    match statement {
        Statement::Execute { name, args, .. } => {
            Ok(Statement::Execute { name, args, purpose: ExecutePurpose::Explain(options) })
        }
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => Ok(Statement::Explain { options, statement: Box::new(statement) }),
        Statement::Declare(declared) => {
            Ok(Statement::Explain { options, statement: Box::new(declared.query.statement) })
        }
        Statement::CreateTableAs(_) | Statement::View(ViewStatement::CreateMaterialized(_))
            if options.analyze =>
        {
            Err(SyntaxError::unsupported("EXPLAIN ANALYZE of CREATE … AS").at(at.start))
        }
        Statement::CreateTableAs(CreateTableAs { query, .. }) => {
            Ok(Statement::Explain { options, statement: Box::new(Statement::Query(query)) })
        }
        Statement::View(ViewStatement::CreateMaterialized(create)) => {
            Ok(Statement::Explain { options, statement: Box::new(Statement::Query(create.query)) })
        }
        _ => Err(cursor.source().near(at.start)),
    }
}

/// `EXPLAIN (SELECT 1)` is a query in parentheses, `EXPLAIN (ANALYZE) …` has options.
fn is_option_list(cursor: &Cursor<'_>) -> bool {
    cursor.word_at(1).is_some_and(|word| !matches!(word.as_str(), "select" | "values" | "with" | "table"))
}

/// An option, and whether it is on; FORMAT has its value behind it: `format json`. SERIALIZE is another one, `serialize binary`, where it says that.
fn option(cursor: &mut Cursor<'_>) -> Result<(String, bool), SyntaxError> {
    let at = cursor.here().start;
    let Some(mut name) = cursor.word() else { return Err(cursor.unexpected()) };
    if name == "analyse" {
        name = "analyze".to_string();
    }
    cursor.advance();
    let value = match cursor.peek() {
        Token::Comma | Token::RParen => None,
        Token::String(text) => Some(cursor.source().meaning(text).to_ascii_lowercase()),
        Token::Number(digits) => Some(cursor.source().meaning(digits).to_string()),
        _ => Some(cursor.word().ok_or_else(|| cursor.unexpected())?),
    };
    if value.is_some() {
        cursor.advance();
    }
    let wrong = |what: String| Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, what).at(at));
    let unrecognized =
        |value: &str| wrong(format!("unrecognized value for EXPLAIN option \"{name}\": \"{value}\""));
    let on = match (name.as_str(), value.as_deref()) {
        (flag, value) if FLAGS.contains(&flag) => match value {
            None | Some("true" | "on" | "1") => true,
            Some("false" | "off" | "0") => false,
            Some(_) => return Err(SyntaxError::syntax(format!("{flag} requires a Boolean value"))),
        },
        ("serialize", Some("none" | "off")) => false,
        ("serialize", None | Some("text")) => true,
        ("serialize", Some("binary")) => return Ok((SERIALIZE_BINARY.to_owned(), true)),
        ("format", None) => return Err(SyntaxError::syntax("format requires a parameter")),
        ("format", Some(format @ ("text" | "json" | "xml" | "yaml"))) => {
            return Ok((format!("format {format}"), true));
        }
        ("format" | "serialize", Some(value)) => return unrecognized(value),
        _ => return Err(SyntaxError::syntax(format!("unrecognized EXPLAIN option \"{name}\"")).at(at)),
    };
    Ok((name, on))
}

/// Which options go together, and what they say.
fn check(options: &[(String, bool)]) -> Result<ExplainOptions, SyntaxError> {
    let given = |wanted: &str| options.iter().rev().find(|(name, _)| name == wanted).map(|(_, on)| *on);
    let is_on = |wanted: &str| given(wanted).unwrap_or(false);
    let analyze = is_on("analyze");
    let wrong = |text: String| Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
    // The last one given counts.
    let serialize = options.iter().rev().find(|(name, _)| name.starts_with("serialize"));
    let serialize = match serialize {
        Some((name, true)) if name == SERIALIZE_BINARY => Some(ExplainSerialize::Binary),
        Some((_, true)) => Some(ExplainSerialize::Text),
        _ => None,
    };
    let asked = |name: &&str| if *name == "serialize" { serialize.is_some() } else { is_on(name) };
    if let Some(name) = ["wal", "timing", "serialize"].into_iter().find(|name| asked(name) && !analyze) {
        return wrong(format!("EXPLAIN option {} requires ANALYZE", name.to_uppercase()));
    }
    if analyze && is_on("generic_plan") {
        return wrong("EXPLAIN options ANALYZE and GENERIC_PLAN cannot be used together".to_string());
    }
    Ok(ExplainOptions {
        analyze,
        verbose: is_on("verbose"),
        costs: given("costs").unwrap_or(true),
        settings: is_on("settings"),
        buffers: given("buffers").unwrap_or(analyze),
        wal: is_on("wal"),
        memory: is_on("memory"),
        generic_plan: is_on("generic_plan"),
        serialize,
        timing: given("timing").unwrap_or(analyze),
        summary: given("summary").unwrap_or(analyze),
        format: match options.iter().rev().find_map(|(name, _)| name.strip_prefix("format ")) {
            Some("json") => ExplainFormat::Json,
            Some("yaml") => ExplainFormat::Yaml,
            Some("xml") => ExplainFormat::Xml,
            _ => ExplainFormat::Text,
        },
    })
}
