//! Tables, constraints, indexes: CREATE TABLE and what it shares with ALTER TABLE, CREATE INDEX, LOCK TABLE.

mod alter;
mod column;
mod constraint;
mod index;
mod partition;
mod place;

pub use alter::alter;
pub(super) use column::{expression, generation, whole_expression};
pub(super) use constraint::check;
pub use constraint::set_constraints;
pub(super) use index::key_part;
pub use index::{analyze, analyzed, cluster, create_index, reindex, update_statistics};
pub(super) use place::{access_method, named_tablespace, tablespace};

use super::lexer::Token;

use self::column::column_definition;
use self::constraint::table_constraint;
use super::cursor::Cursor;
use super::ddl::{Persistence, if_not_exists, table_list};
use super::session::execute;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{
    CreateTable, CreateTableAs, ExecutePurpose, LockTable, OnCommit, PartitionOf, QualifiedName, Query,
    QueryBody, Statement, TableElement, TableLockMode,
};

/// Behind CREATE.
pub fn create_table(cursor: &mut Cursor<'_>, persistence: Persistence) -> Result<Statement, SyntaxError> {
    let unlogged = persistence == Persistence::Unlogged;
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = cursor.qualified()?;
    let names_only = matches!(cursor.peek(), Token::LParen)
        && matches!(cursor.peek_at(1), Token::Word(_) | Token::Quoted(_))
        && matches!(cursor.peek_at(2), Token::Comma | Token::RParen);
    let behind = ["as", "with", "on", "using", "tablespace"].iter().any(|word| cursor.is(&[word]));
    if names_only || behind {
        return create_table_as(cursor, name, if_not_exists, persistence);
    }
    let mut elements = Vec::new();
    let (mut partition_of, mut of_type) = (None, None);
    if cursor.accept(&["of"]) {
        of_type = Some(cursor.qualified()?);
        if cursor.accept_token(&Token::LParen) {
            elements = cursor.list(partition::element)?;
            cursor.expect_token(&Token::RParen)?;
        }
    } else if cursor.accept(&["partition", "of"]) {
        let parent = cursor.qualified()?;
        if cursor.accept_token(&Token::LParen) {
            elements = cursor.list(partition::element)?;
            cursor.expect_token(&Token::RParen)?;
        }
        let (bound, at) = partition::bound(cursor)?;
        partition_of = Some(PartitionOf { parent, bound, at });
    } else {
        cursor.expect_token(&Token::LParen)?;
        if !cursor.accept_token(&Token::RParen) {
            let of_table = |error| column::of_table(error, &name.name.text);
            elements = cursor.list(table_element).map_err(of_table)?;
            cursor.expect_token(&Token::RParen)?;
        }
    }
    let partition_by = if cursor.accept(&["partition", "by"]) { Some(partition::by(cursor)?) } else { None };
    access_method(cursor)?;
    let options = new_options(cursor)?;
    let temporary = on_commit(cursor, persistence)?;
    let at = cursor.here().start;
    if tablespace(cursor)? && partition_by.is_some() {
        let text = "cannot specify default tablespace for partitioned relations";
        return Err(SyntaxError::new("0A000", text).at(at));
    }
    let refused = ["inherits", "partition", "using", "with", "without", "on", "tablespace", "as"];
    if let Some(word) = cursor.word().filter(|word| refused.contains(&word.as_str())) {
        let error = cursor.unsupported(&format!("CREATE TABLE … {}", word.to_uppercase()));
        return Err(if word == "inherits" { error.with_hint(super::instead::INHERITANCE) } else { error });
    }
    Ok(Statement::CreateTable(CreateTable {
        name,
        if_not_exists,
        elements,
        options,
        temporary,
        unlogged,
        partition_by,
        partition_of,
        of_type,
    }))
}

/// What WITH says of a new table; WITHOUT OIDS is how all are.
fn new_options(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>, SyntaxError> {
    if !cursor.accept(&["with"]) {
        cursor.accept(&["without", "oids"]);
        return Ok(Vec::new());
    }
    let at = cursor.here().start;
    let mut options = parameters(cursor, |name, value| match (name, boolean(value)) {
        ("oids", Some(_)) => Ok(()),
        _ => check_parameter(name, value),
    })?;
    let oids = options.extract_if(.., |(name, _)| name == "oids").last();
    if oids.is_some_and(|(_, value)| boolean(&value) == Some(true)) {
        return Err(SyntaxError::new("0A000", "tables declared WITH OIDS are not supported").at(at));
    }
    Ok(options)
}

/// ON COMMIT, which only a temporary table may have.
fn on_commit(cursor: &mut Cursor<'_>, persistence: Persistence) -> Result<Option<OnCommit>, SyntaxError> {
    let temporary = persistence == Persistence::Temporary;
    let at = cursor.here().start;
    if !cursor.accept(&["on", "commit"]) {
        return Ok(temporary.then(OnCommit::default));
    }
    let action = if cursor.accept(&["preserve", "rows"]) {
        OnCommit::Preserve
    } else if cursor.accept(&["delete", "rows"]) {
        OnCommit::Delete
    } else if cursor.accept(&["drop"]) {
        OnCommit::Drop
    } else {
        return Err(cursor.unexpected());
    };
    if !temporary {
        let text = "ON COMMIT can only be used on temporary tables";
        return Err(SyntaxError::new("42P16", text).at(at));
    }
    Ok(Some(action))
}

/// Behind the table's name: columns, USING, WITH (…), ON COMMIT, TABLESPACE, AS, the query.
fn create_table_as(
    cursor: &mut Cursor<'_>,
    name: QualifiedName,
    if_not_exists: bool,
    persistence: Persistence,
) -> Result<Statement, SyntaxError> {
    let unlogged = persistence == Persistence::Unlogged;
    let mut columns = Vec::new();
    if cursor.accept_token(&Token::LParen) {
        columns = cursor.list(Cursor::name)?;
        cursor.expect_token(&Token::RParen)?;
    }
    access_method(cursor)?;
    let options = new_options(cursor)?;
    let temporary = on_commit(cursor, persistence)?;
    tablespace(cursor)?;
    cursor.expect(&["as"])?;
    let start = cursor.here();
    if cursor.is(&["execute"]) {
        let (prepared, args) = execute(cursor)?;
        let with_data = with_data(cursor);
        // The prepared statement's query takes the place of this one when it is executed.
        let query = Query::of(QueryBody::Values(Vec::new()), cursor.since(start));
        let create = CreateTableAs {
            name,
            columns,
            if_not_exists,
            options,
            query,
            with_data,
            temporary,
            unlogged,
            selects: false,
            executes: true,
        };
        let purpose = ExecutePurpose::Table(Box::new(create));
        return Ok(Statement::Execute { name: prepared, args, purpose });
    }
    if !matches!(cursor.peek(), Token::LParen)
        && !["select", "values", "with", "table"].iter().any(|word| cursor.is(&[word]))
    {
        return Err(cursor.unexpected());
    }
    let query = cursor.query()?;
    let with_data = with_data(cursor);
    let create = CreateTableAs {
        name,
        columns,
        if_not_exists,
        options,
        query,
        with_data,
        temporary,
        unlogged,
        selects: false,
        executes: false,
    };
    Ok(Statement::CreateTableAs(create))
}

/// `WITH [NO] DATA`.
fn with_data(cursor: &mut Cursor<'_>) -> bool {
    if cursor.accept(&["with", "no", "data"]) {
        return false;
    }
    cursor.accept(&["with", "data"]);
    true
}

fn table_element(cursor: &mut Cursor<'_>) -> Result<TableElement, SyntaxError> {
    if cursor.accept(&["like"]) {
        return like(cursor);
    }
    if let Some(constraint) = table_constraint(cursor)? {
        return Ok(TableElement::Constraint(constraint));
    }
    column_definition(cursor).map(TableElement::Column)
}

fn like(cursor: &mut Cursor<'_>) -> Result<TableElement, SyntaxError> {
    let table = cursor.qualified()?;
    let (mut defaults, mut constraints, mut indexes) = (false, false, false);
    let (mut identity, mut generated, mut statistics, mut comments) = (false, false, false, false);
    let (mut storage, mut compression) = (false, false);
    while cursor.is(&["including"]) || cursor.is(&["excluding"]) {
        let including = cursor.is(&["including"]);
        cursor.advance();
        let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
        match word.as_str() {
            "defaults" => defaults = including,
            "constraints" => constraints = including,
            "indexes" => indexes = including,
            "identity" => identity = including,
            "generated" => generated = including,
            "statistics" => statistics = including,
            "comments" => comments = including,
            "all" => {
                (defaults, constraints, indexes) = (including, including, including);
                (identity, generated) = (including, including);
                (statistics, comments) = (including, including);
                (storage, compression) = (including, including);
            }
            "storage" => storage = including,
            "compression" => compression = including,
            _ => return Err(cursor.unexpected()),
        }
        cursor.advance();
    }
    Ok(TableElement::Like {
        table,
        defaults,
        constraints,
        indexes,
        identity,
        generated,
        statistics,
        comments,
        storage,
        compression,
    })
}

/// `(name [= value], …)`.
pub(super) fn storage_parameters(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>, SyntaxError> {
    parameters(cursor, check_parameter)
}

/// A number with its sign, if one comes next.
pub(in crate::parse) fn signed_number(cursor: &mut Cursor<'_>) -> Option<String> {
    let is_signed = matches!(cursor.peek(), Token::Minus | Token::Plus);
    let Token::Number(digits) = cursor.peek_at(usize::from(is_signed)) else { return None };
    let digits = cursor.source().meaning(digits).to_string();
    let sign = if matches!(cursor.peek(), Token::Minus) { "-" } else { "" };
    if is_signed {
        cursor.advance();
    }
    cursor.advance();
    Some(format!("{sign}{digits}"))
}

fn parameters(
    cursor: &mut Cursor<'_>,
    check: impl Fn(&str, &str) -> Result<(), SyntaxError>,
) -> Result<Vec<(String, String)>, SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let mut seen: Vec<String> = Vec::new();
    let parameters = cursor.list(|cursor| {
        let at = cursor.here().start;
        let mut name = cursor.name()?.text;
        if cursor.accept_token(&Token::Period) {
            if name != "toast" {
                let text = format!("unrecognized parameter namespace \"{name}\"");
                return Err(SyntaxError::new("22023", text).at(at));
            }
            name = format!("{name}.{}", cursor.label()?.text);
        }
        let value = if cursor.accept_token(&Token::Eq) {
            match (signed_number(cursor), cursor.peek()) {
                (Some(number), _) => number,
                (None, Token::Word(_) | Token::Quoted(_)) => cursor.label()?.text.to_ascii_lowercase(),
                (None, _) => string_literal(cursor)?.0,
            }
        } else {
            "true".to_string()
        };
        said_once(&mut seen, &name)?;
        check(&name, &value).map_err(|error| error.at(at))?;
        Ok((name, value))
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(parameters)
}

/// Refuses an option that stands in the list already.
pub(in crate::parse) fn said_once(seen: &mut Vec<String>, name: &str) -> Result<(), SyntaxError> {
    if seen.iter().any(|known| known == name) {
        return Err(SyntaxError::new("22023", format!("parameter \"{name}\" specified more than once")));
    }
    seen.push(name.to_owned());
    Ok(())
}

/// `(name [= value], …)` of a relation of which it is not known yet whether it is a table or a view, and what it takes:
/// [`check_options`] is asked then.
fn unchecked_parameters(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>, SyntaxError> {
    parameters(cursor, |_, _| Ok(()))
}

/// Whose options they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsOf<'m> {
    /// A table's, or a materialized view's.
    Table,
    /// A view's.
    View,
    /// Those of an index with this access method.
    Index(&'m str),
}

/// Refuses options that a table, a view or an index does not have, and values that they do not take, of `ALTER TABLE … SET (…)`.
///
/// # Errors
/// 22023.
pub fn check_options(of: OptionsOf<'_>, given: &[(String, String)]) -> Result<(), SyntaxError> {
    given.iter().try_for_each(|(name, value)| match of {
        OptionsOf::Table => check_parameter(name, value),
        OptionsOf::View => super::view::check_option(name, value),
        OptionsOf::Index(method) => index::check_index_parameter(&[method], name, value),
    })
}

/// Kilobytes of a size with a unit, or without one.
fn size_kb(value: &str) -> Option<u64> {
    let value = value.trim();
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = value[..digits].parse().ok()?;
    let unit = match value[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "kb" => 1,
        "mb" => 1 << 10,
        "gb" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// A truth value as options take it: a word or its beginning, or a number.
fn boolean(value: &str) -> Option<bool> {
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(value);
    match value {
        _ if begins("true", 1) || begins("yes", 1) || value == "on" || value == "1" => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) || value == "0" => Some(false),
        _ => None,
    }
}

/// Parameters of PostgreSQL's own upkeep that are whole numbers, with their bounds; they are kept and change nothing.
const UPKEEP_NUMBERS: [(&str, i64, i64); 13] = [
    ("autovacuum_vacuum_threshold", 0, 2_147_483_647),
    ("autovacuum_vacuum_max_threshold", -1, 2_147_483_647),
    ("autovacuum_vacuum_insert_threshold", -1, 2_147_483_647),
    ("autovacuum_vacuum_cost_limit", 1, 10_000),
    ("autovacuum_freeze_min_age", 0, 1_000_000_000),
    ("autovacuum_freeze_max_age", 100_000, 2_000_000_000),
    ("autovacuum_freeze_table_age", 0, 2_000_000_000),
    ("autovacuum_multixact_freeze_min_age", 0, 1_000_000_000),
    ("autovacuum_multixact_freeze_max_age", 10_000, 2_000_000_000),
    ("autovacuum_multixact_freeze_table_age", 0, 2_000_000_000),
    ("log_autovacuum_min_duration", -1, 2_147_483_647),
    ("toast_tuple_target", 128, 8160),
    ("parallel_workers", 0, 1024),
];

/// The same of those that are shares.
const UPKEEP_SHARES: [(&str, f64, f64); 5] = [
    ("autovacuum_vacuum_scale_factor", 0.0, 100.0),
    ("autovacuum_vacuum_insert_scale_factor", 0.0, 100.0),
    ("autovacuum_analyze_scale_factor", 0.0, 100.0),
    ("autovacuum_vacuum_cost_delay", -1.0, 100.0),
    ("vacuum_max_eager_freeze_failure_rate", 0.0, 1.0),
];

/// Parameters that tables of long values have in PostgreSQL; they are kept with their table.
fn is_of_toast(name: &str) -> bool {
    let is_upkeep = name.starts_with("autovacuum_") || name.starts_with("vacuum_");
    (is_upkeep || name == "log_autovacuum_min_duration") && !name.starts_with("autovacuum_analyze")
}

/// Refuses storage parameters that are not known, and values they do not take.
fn check_parameter(name: &str, value: &str) -> Result<(), SyntaxError> {
    let out_of_bounds = |detail: String| {
        let text = format!("value {value} out of bounds for option \"{name}\"");
        Err(SyntaxError::new("22023", text).with_detail(detail))
    };
    match name {
        "fillfactor" => match value.parse::<i64>() {
            Ok(10..=100) => Ok(()),
            Ok(_) => out_of_bounds("Valid values are between \"10\" and \"100\".".to_string()),
            Err(_) => {
                let text = format!("invalid value for integer option \"{name}\": {value}");
                Err(SyntaxError::new("22023", text))
            }
        },
        "lock_level" if ["row", "page"].contains(&value) => Ok(()),
        "lock_level" => {
            let text = format!("invalid value for enum option \"lock_level\": {value}");
            Err(SyntaxError::new("22023", text).with_detail("Valid values are \"row\" and \"page\"."))
        }
        "version_format" if value == "delta" => Ok(()),
        "version_format" => {
            let text = format!("invalid value for enum option \"version_format\": {value}");
            let detail = "Old versions hold the columns that have changed: \"delta\" says how it is.";
            Err(SyntaxError::new("22023", text).with_detail(detail))
        }
        "memory_resident" if ["on", "off", "true", "false"].contains(&value) => Ok(()),
        "memory_resident" => {
            let text = format!("invalid value for boolean option \"{name}\": {value}");
            Err(SyntaxError::new("22023", text))
        }
        "extent_size" | "next_extent" => match size_kb(value) {
            // The longest extent of pages of 4 kB is shorter, but how long those are is not known here.
            Some(1..=261_120) => Ok(()),
            None if value.strip_prefix('-').is_some_and(|value| size_kb(value).is_some()) => {
                out_of_bounds("Valid values are between \"1kB\" and \"255MB\".".to_string())
            }
            Some(_) => out_of_bounds("Valid values are between \"1kB\" and \"255MB\".".to_string()),
            None => {
                let text = format!("invalid value for size option \"{name}\": {value}");
                Err(SyntaxError::new("22023", text)
                    .with_detail("Units are kB, MB and GB; without one it is kB."))
            }
        },
        "colocate" | "compress" if ["on", "off", "true", "false"].contains(&value) => Ok(()),
        "colocate" | "compress" => {
            let text = format!("invalid value for boolean option \"{name}\": {value}");
            Err(SyntaxError::new("22023", text))
        }
        "autovacuum_enabled" if boolean(value).is_some() => Ok(()),
        "autovacuum_enabled" => {
            let text = format!("invalid value for boolean option \"{name}\": {value}");
            Err(SyntaxError::new("22023", text))
        }
        "autovacuum_analyze_threshold" => match value.parse::<f64>().map(f64::round_ties_even) {
            Ok(rows) if (0.0..=2_147_483_647.0).contains(&rows) => Ok(()),
            Ok(_) => out_of_bounds("Valid values are between \"0\" and \"2147483647\".".to_string()),
            Err(_) => {
                let text = format!("invalid value for integer option \"{name}\": {value}");
                Err(SyntaxError::new("22023", text))
            }
        },
        "vacuum_truncate" | "user_catalog_table" if boolean(value).is_some() => Ok(()),
        "vacuum_truncate" | "user_catalog_table" => {
            let text = format!("invalid value for boolean option \"{name}\": {value}");
            Err(SyntaxError::new("22023", text))
        }
        "vacuum_index_cleanup" if value == "auto" || boolean(value).is_some() => Ok(()),
        "vacuum_index_cleanup" => {
            let text = format!("invalid value for enum option \"{name}\": {value}");
            Err(SyntaxError::new("22023", text)
                .with_detail("Valid values are \"on\", \"off\", and \"auto\"."))
        }
        _ if let Some(own) = name.strip_prefix("toast.") => match is_of_toast(own) {
            true => check_parameter(own, value),
            false => Err(SyntaxError::new("22023", format!("unrecognized parameter \"{own}\""))),
        },
        _ if let Some((_, least, most)) = UPKEEP_NUMBERS.iter().find(|(known, ..)| *known == name) => {
            match value.parse::<i64>() {
                Ok(number) if (*least..=*most).contains(&number) => Ok(()),
                Ok(_) => out_of_bounds(format!("Valid values are between \"{least}\" and \"{most}\".")),
                Err(_) => {
                    let text = format!("invalid value for integer option \"{name}\": {value}");
                    Err(SyntaxError::new("22023", text))
                }
            }
        }
        _ if let Some((_, least, most)) = UPKEEP_SHARES.iter().find(|(known, ..)| *known == name) => {
            match value.parse::<f64>() {
                Ok(share) if (*least..=*most).contains(&share) => Ok(()),
                Ok(_) => out_of_bounds(format!("Valid values are between \"{least:.6}\" and \"{most:.6}\".")),
                Err(_) => {
                    let text = format!("invalid value for floating point option \"{name}\": {value}");
                    Err(SyntaxError::new("22023", text))
                }
            }
        }
        _ => Err(SyntaxError::new("22023", format!("unrecognized parameter \"{name}\""))),
    }
}

/// LOCK TABLE.
pub fn lock_table(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["lock"])?;
    cursor.accept(&["table"]);
    let tables = table_list(cursor)?;
    let mut mode = TableLockMode::AccessExclusive;
    if cursor.accept(&["in"]) {
        let found = [
            (&["access", "share", "mode"][..], TableLockMode::AccessShare),
            (&["row", "share", "mode"], TableLockMode::RowShare),
            (&["row", "exclusive", "mode"], TableLockMode::RowExclusive),
            (&["share", "update", "exclusive", "mode"], TableLockMode::ShareUpdateExclusive),
            (&["share", "row", "exclusive", "mode"], TableLockMode::ShareRowExclusive),
            (&["share", "mode"], TableLockMode::Share),
            (&["exclusive", "mode"], TableLockMode::Exclusive),
            (&["access", "exclusive", "mode"], TableLockMode::AccessExclusive),
        ]
        .into_iter()
        .find(|(words, _)| cursor.accept(words));
        mode = found.ok_or_else(|| cursor.unexpected())?.1;
    }
    let nowait = cursor.accept(&["nowait"]);
    Ok(Statement::LockTable(LockTable { tables, mode, nowait }))
}
