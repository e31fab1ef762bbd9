//! Tables, constraints, indexes: CREATE TABLE, ALTER TABLE, CREATE INDEX, LOCK TABLE, SET CONSTRAINTS.

use sqlparser::tokenizer::Token;
use verso_catalog::{Identity, ReferentialAction};
use verso_types::SqlType;

use super::cursor::Cursor;
use super::ddl::{if_not_exists, sequence_options};
use super::string_literal;
use crate::errors::SqlError;
use crate::syntax::{
    AlterAction, AlterTable, ColumnDefinition, ConstraintClause, ConstraintDefinition, CreateIndex,
    CreateTable, DropKind, Expr, LockTable, Name, SetConstraints, Span, Statement, TableElement,
    TableLockMode,
};

// ── CREATE TABLE ─────────────────────────────────────────────────────────────────────────────────────────────────

/// Behind CREATE.
pub fn create_table(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = cursor.qualified()?;
    for (words, what) in [
        (&["as"][..], "CREATE TABLE … AS"),
        (&["of"], "CREATE TABLE … OF"),
        (&["partition", "of"], "PARTITION OF"),
    ] {
        if cursor.is(words) {
            return Err(cursor.unsupported(what));
        }
    }
    cursor.expect_token(&Token::LParen)?;
    let mut elements = Vec::new();
    if !cursor.accept_token(&Token::RParen) {
        elements = cursor.list(table_element)?;
        cursor.expect_token(&Token::RParen)?;
    }
    let options = if cursor.accept(&["with"]) { storage_parameters(cursor)? } else { Vec::new() };
    if let Some(word) = cursor.word() {
        let clause = match word.as_str() {
            "inherits" | "partition" | "using" | "with" | "without" | "on" | "tablespace" | "as" => {
                word.to_uppercase()
            }
            _ => return Err(cursor.unexpected()),
        };
        return Err(cursor.unsupported(&format!("CREATE TABLE … {clause}")));
    }
    Ok(Statement::CreateTable(CreateTable { name, if_not_exists, elements, options }))
}

fn table_element(cursor: &mut Cursor<'_>) -> Result<TableElement, SqlError> {
    if cursor.accept(&["like"]) {
        return like(cursor);
    }
    if let Some(constraint) = table_constraint(cursor)? {
        return Ok(TableElement::Constraint(constraint));
    }
    column_definition(cursor).map(TableElement::Column)
}

/// `smallserial`, `serial`, `bigserial`: the type of the column.
fn serial(word: &str) -> Option<SqlType> {
    Some(match word {
        "smallserial" | "serial2" => SqlType::Int2,
        "serial" | "serial4" => SqlType::Int4,
        "bigserial" | "serial8" => SqlType::Int8,
        _ => return None,
    })
}

/// A column with its constraints.
fn column_definition(cursor: &mut Cursor<'_>) -> Result<ColumnDefinition, SqlError> {
    let name = cursor.name()?;
    let serial = cursor.word().and_then(|word| serial(&word));
    let ty = match &serial {
        Some(ty) => {
            cursor.advance();
            ty.clone()
        }
        None => cursor.data_type()?,
    };
    let mut column = ColumnDefinition {
        name,
        ty,
        not_null: false,
        default: None,
        serial: serial.is_some(),
        identity: None,
        constraints: Vec::new(),
    };
    let (mut null, mut not_null) = (false, false);
    while let Some(word) = cursor.word() {
        let at = cursor.here().start;
        let named = if cursor.accept(&["constraint"]) { Some(cursor.name()?) } else { None };
        let word = if named.is_some() { cursor.word().unwrap_or_default() } else { word };
        let own = |name: &Name| vec![name.clone()];
        match word.as_str() {
            "not" if cursor.word_at(1).as_deref() != Some("deferrable") => {
                cursor.expect(&["not", "null"])?; // a name for it is forgotten, as in PostgreSQL 15
                not_null = true;
            }
            "null" => {
                cursor.advance();
                null = true;
            }
            "default" => {
                cursor.advance();
                let default = expression(cursor)?;
                if column.default.replace(default).is_some() {
                    let text =
                        format!("multiple default values specified for column \"{}\"", column.name.text);
                    return Err(SqlError::syntax(text).at(at));
                }
            }
            "generated" => {
                if column.identity.replace(identity(cursor, &column.ty)?).is_some() {
                    let text =
                        format!("multiple identity specifications for column \"{}\"", column.name.text);
                    return Err(SqlError::syntax(text).at(at));
                }
                not_null = true;
            }
            "primary" | "unique" => {
                let clause = unique(cursor, Some(own(&column.name)))?;
                column.constraints.push(constraint(named, clause, at));
            }
            "check" => {
                let clause = check(cursor)?;
                column.constraints.push(constraint(named, clause, at));
            }
            "references" => {
                let clause = references(cursor, own(&column.name))?;
                column.constraints.push(constraint(named, clause, at));
            }
            "deferrable" | "not" | "initially" if named.is_none() && !column.constraints.is_empty() => {
                let last = column.constraints.last_mut().expect("there is one, as checked");
                if !deferral(cursor, last)? {
                    return Err(cursor.unexpected());
                }
            }
            "collate" if named.is_none() => collate(cursor)?,
            _ => {
                for (words, what) in [(&["storage"][..], "STORAGE"), (&["compression"], "COMPRESSION")] {
                    if cursor.is(words) {
                        return Err(cursor.unsupported(what));
                    }
                }
                return Err(cursor.unexpected());
            }
        }
        if null && not_null {
            let text = format!("conflicting NULL/NOT NULL declarations for column \"{}\"", column.name.text);
            return Err(SqlError::syntax(text).at(at));
        }
    }
    column.not_null = not_null;
    Ok(column)
}

fn constraint(name: Option<Name>, clause: ConstraintClause, at: u32) -> ConstraintDefinition {
    ConstraintDefinition { name, clause, deferrable: false, initially_deferred: false, at }
}

/// An expression and its text, which ends before what may follow it in a column's definition.
fn expression(cursor: &mut Cursor<'_>) -> Result<(Expr, String), SqlError> {
    let start = cursor.here().start;
    let expr = cursor.expr_before(|word| {
        [
            "not",
            "null",
            "constraint",
            "primary",
            "unique",
            "check",
            "references",
            "generated",
            "collate",
            "deferrable",
            "initially",
        ]
        .contains(&word)
    })?;
    let end = cursor.source().token_end_before(cursor.here().start);
    let text = cursor.source().slice(Span { start, end }).to_string();
    Ok((expr, text))
}

/// `COLLATE "C"`: the only collation there is.
fn collate(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    let at = cursor.here().start;
    cursor.expect(&["collate"])?;
    let name = cursor.qualified()?;
    match name.name.text.as_str() {
        "C" | "POSIX" | "default" => Ok(()),
        _ => Err(SqlError::unsupported(format!("COLLATE \"{}\"", name.name.text)).at(at)),
    }
}

/// `GENERATED ALWAYS | BY DEFAULT AS IDENTITY [(options)]`.
fn identity(
    cursor: &mut Cursor<'_>,
    ty: &SqlType,
) -> Result<(Identity, Box<crate::syntax::CreateSequence>), SqlError> {
    let start = cursor.here();
    cursor.expect(&["generated"])?;
    let kind = if cursor.accept(&["always"]) {
        Identity::Always
    } else {
        cursor.expect(&["by", "default"])?;
        Identity::ByDefault
    };
    cursor.expect(&["as"])?;
    if matches!(cursor.peek(), Token::LParen) {
        return Err(cursor.unsupported("a generated column"));
    }
    cursor.expect(&["identity"])?;
    let name = Name { text: String::new(), at: start };
    let mut sequence = super::ddl::empty_sequence(crate::syntax::QualifiedName { schema: None, name });
    if cursor.accept_token(&Token::LParen) {
        sequence_options(cursor, &mut sequence)?;
        cursor.expect_token(&Token::RParen)?;
    }
    sequence.ty = ty.clone();
    Ok((kind, Box::new(sequence)))
}

// ── constraints ──────────────────────────────────────────────────────────────────────────────────────────────────

/// A table constraint, if one comes next.
fn table_constraint(cursor: &mut Cursor<'_>) -> Result<Option<ConstraintDefinition>, SqlError> {
    let at = cursor.here().start;
    let named = cursor.is(&["constraint"]);
    let first = usize::from(named) * 2;
    let word = cursor.word_at(first).unwrap_or_default();
    if word == "exclude" && cursor.word_at(first + 1).as_deref() == Some("using") {
        return Err(cursor.unsupported("EXCLUDE"));
    }
    if !["primary", "unique", "check", "foreign"].contains(&word.as_str()) {
        return Ok(None);
    }
    let name = if cursor.accept(&["constraint"]) { Some(cursor.name()?) } else { None };
    let clause = match word.as_str() {
        "check" => check(cursor)?,
        "foreign" => {
            cursor.expect(&["foreign", "key"])?;
            let columns = names(cursor)?;
            references(cursor, columns)?
        }
        _ => unique(cursor, None)?,
    };
    let mut definition = constraint(name, clause, at);
    while deferral(cursor, &mut definition)? {}
    Ok(Some(definition))
}

fn names(cursor: &mut Cursor<'_>) -> Result<Vec<Name>, SqlError> {
    cursor.expect_token(&Token::LParen)?;
    let names = cursor.list(Cursor::name)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(names)
}

fn check(cursor: &mut Cursor<'_>) -> Result<ConstraintClause, SqlError> {
    cursor.expect(&["check"])?;
    cursor.expect_token(&Token::LParen)?;
    let start = cursor.here().start;
    let expr = cursor.expr()?;
    let end = cursor.source().token_end_before(cursor.here().start);
    let text = cursor.source().slice(Span { start, end }).to_string();
    cursor.expect_token(&Token::RParen)?;
    if cursor.is(&["no", "inherit"]) {
        return Err(cursor.unsupported("NO INHERIT"));
    }
    Ok(ConstraintClause::Check(expr, text))
}

fn unique(cursor: &mut Cursor<'_>, column: Option<Vec<Name>>) -> Result<ConstraintClause, SqlError> {
    let primary = cursor.accept(&["primary", "key"]);
    let mut nulls_distinct = true;
    if !primary {
        cursor.expect(&["unique"])?;
        nulls_distinct = nulls_are_distinct(cursor);
    }
    if cursor.is(&["using", "index"]) && column.is_none() {
        return Err(cursor.unsupported("USING INDEX"));
    }
    let columns = match column {
        Some(column) => column,
        None => names(cursor)?,
    };
    if cursor.is(&["include"]) {
        return Err(cursor.unsupported("INCLUDE"));
    }
    if cursor.accept(&["with"]) {
        storage_parameters(cursor)?; // fillfactor: pages fill as they fill
    }
    if cursor.is(&["using", "index", "tablespace"]) {
        return Err(cursor.unsupported("TABLESPACE"));
    }
    Ok(ConstraintClause::Unique { columns, primary, nulls_distinct })
}

/// `NULLS [NOT] DISTINCT`.
fn nulls_are_distinct(cursor: &mut Cursor<'_>) -> bool {
    if cursor.accept(&["nulls", "not", "distinct"]) {
        return false;
    }
    cursor.accept(&["nulls", "distinct"]);
    true
}

fn references(cursor: &mut Cursor<'_>, columns: Vec<Name>) -> Result<ConstraintClause, SqlError> {
    cursor.expect(&["references"])?;
    let table = cursor.qualified()?;
    let referenced = if matches!(cursor.peek(), Token::LParen) { names(cursor)? } else { Vec::new() };
    let mut match_full = false;
    let (mut on_delete, mut on_update) = (None, None);
    let mut delete_columns = Vec::new();
    loop {
        if cursor.accept(&["match", "full"]) {
            match_full = true;
        } else if cursor.is(&["match", "partial"]) {
            return Err(cursor.unsupported("MATCH PARTIAL"));
        } else if cursor.accept(&["match", "simple"]) {
        } else if on_delete.is_none() && cursor.accept(&["on", "delete"]) {
            let action = action(cursor)?;
            let sets = matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault);
            if sets && matches!(cursor.peek(), Token::LParen) {
                delete_columns = names(cursor)?;
            }
            on_delete = Some(action);
        } else if on_update.is_none() && cursor.accept(&["on", "update"]) {
            on_update = Some(action(cursor)?);
        } else {
            break;
        }
    }
    Ok(ConstraintClause::Foreign {
        columns,
        table,
        referenced,
        match_full,
        on_delete: on_delete.unwrap_or_default(),
        on_update: on_update.unwrap_or_default(),
        delete_columns,
    })
}

fn action(cursor: &mut Cursor<'_>) -> Result<ReferentialAction, SqlError> {
    for (words, action) in [
        (&["no", "action"][..], ReferentialAction::NoAction),
        (&["restrict"], ReferentialAction::Restrict),
        (&["cascade"], ReferentialAction::Cascade),
        (&["set", "null"], ReferentialAction::SetNull),
        (&["set", "default"], ReferentialAction::SetDefault),
    ] {
        if cursor.accept(words) {
            return Ok(action);
        }
    }
    Err(cursor.unexpected())
}

/// `[NOT] DEFERRABLE`, `INITIALLY DEFERRED | IMMEDIATE`; false if none comes next.
fn deferral(cursor: &mut Cursor<'_>, constraint: &mut ConstraintDefinition) -> Result<bool, SqlError> {
    let at = cursor.here().start;
    if cursor.is(&["not", "valid"]) {
        return Err(cursor.unsupported("NOT VALID"));
    }
    let initially = cursor.is(&["initially"]);
    let known = if cursor.accept(&["not", "deferrable"]) {
        constraint.deferrable = false;
        if constraint.initially_deferred {
            let text = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return Err(SqlError::syntax(text).at(at));
        }
        return Ok(true);
    } else if cursor.accept(&["deferrable"]) {
        constraint.deferrable = true;
        true
    } else if cursor.accept(&["initially", "deferred"]) {
        constraint.deferrable = true;
        constraint.initially_deferred = true;
        true
    } else {
        cursor.accept(&["initially", "immediate"])
    };
    if known
        && matches!(constraint.clause, ConstraintClause::Check(..))
        && (!initially || constraint.deferrable)
    {
        return Err(SqlError::unsupported("a deferrable CHECK").at(at));
    }
    Ok(known)
}

fn like(cursor: &mut Cursor<'_>) -> Result<TableElement, SqlError> {
    let table = cursor.qualified()?;
    let (mut defaults, mut constraints, mut indexes, mut identity) = (false, false, false, false);
    while cursor.is(&["including"]) || cursor.is(&["excluding"]) {
        let including = cursor.is(&["including"]);
        cursor.advance();
        let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
        match word.as_str() {
            "defaults" => defaults = including,
            "constraints" => constraints = including,
            "indexes" => indexes = including,
            "identity" => identity = including,
            "all" => {
                (defaults, constraints, indexes, identity) = (including, including, including, including);
            }
            // There is none that could be included.
            "generated" | "storage" | "statistics" | "comments" | "compression" => {}
            _ => return Err(cursor.unexpected()),
        }
        cursor.advance();
    }
    Ok(TableElement::Like { table, defaults, constraints, indexes, identity })
}

/// `(name [= value], …)`.
fn storage_parameters(cursor: &mut Cursor<'_>) -> Result<Vec<(String, String)>, SqlError> {
    cursor.expect_token(&Token::LParen)?;
    let parameters = cursor.list(|cursor| {
        let at = cursor.here().start;
        let name = cursor.name()?.text;
        let value = if cursor.accept_token(&Token::Eq) {
            match cursor.peek().clone() {
                Token::Number(digits, _) => {
                    cursor.advance();
                    digits
                }
                Token::Word(word) => {
                    cursor.advance();
                    word.value.to_ascii_lowercase()
                }
                _ => string_literal(cursor)?.0,
            }
        } else {
            "true".to_string()
        };
        check_parameter(&name, &value).map_err(|error| error.at(at))?;
        Ok((name, value))
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(parameters)
}

/// Refuses storage parameters that are not known, and values they do not take.
fn check_parameter(name: &str, value: &str) -> Result<(), SqlError> {
    let out_of_bounds = |detail: String| {
        let text = format!("value {value} out of bounds for option \"{name}\"");
        Err(SqlError::new("22023", text).with_detail(detail))
    };
    match name {
        "fillfactor" => match value.parse::<i64>() {
            Ok(10..=100) => Ok(()),
            Ok(_) => out_of_bounds("Valid values are between \"10\" and \"100\".".to_string()),
            Err(_) => {
                let text = format!("invalid value for integer option \"{name}\": {value}");
                Err(SqlError::new("22023", text))
            }
        },
        "lock_level" if ["row", "page"].contains(&value) => Ok(()),
        "lock_level" => {
            let text = format!("invalid value for enum option \"lock_level\": {value}");
            Err(SqlError::new("22023", text).with_detail("Valid values are \"row\" and \"page\"."))
        }
        "autovacuum_enabled"
        | "autovacuum_vacuum_scale_factor"
        | "autovacuum_analyze_scale_factor"
        | "toast_tuple_target"
        | "parallel_workers" => Ok(()),
        _ => Err(SqlError::new("22023", format!("unrecognized parameter \"{name}\""))),
    }
}

// ── ALTER TABLE ──────────────────────────────────────────────────────────────────────────────────────────────────

/// ALTER TABLE, and ALTER INDEX or SEQUENCE … RENAME.
pub fn alter(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let start = cursor.here().start;
    cursor.expect(&["alter"])?;
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    let kind = match word.as_str() {
        "table" => None,
        "index" => Some(DropKind::Index),
        "sequence" => Some(DropKind::Sequence),
        _ => return Err(SqlError::unsupported(format!("ALTER {}", word.to_uppercase())).at(start)),
    };
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    cursor.accept(&["only"]);
    let name = cursor.qualified()?;
    if let Some(kind) = kind {
        if !cursor.accept(&["rename", "to"]) {
            return Err(cursor.unsupported(&format!("ALTER {} other than RENAME", word.to_uppercase())));
        }
        let to = cursor.name()?;
        return Ok(Statement::Rename { kind, name, to, if_exists });
    }
    cursor.accept_token(&Token::Mul);
    let actions = cursor.list(alter_action)?;
    Ok(Statement::AlterTable(AlterTable { name, if_exists, actions }))
}

fn cascade(cursor: &mut Cursor<'_>) -> bool {
    let cascade = cursor.accept(&["cascade"]);
    if !cascade {
        cursor.accept(&["restrict"]);
    }
    cascade
}

fn alter_action(cursor: &mut Cursor<'_>) -> Result<AlterAction, SqlError> {
    let start = cursor.here().start;
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    match word.as_str() {
        "add" => {
            cursor.advance();
            if let Some(constraint) = table_constraint(cursor)? {
                return Ok(AlterAction::AddConstraint(constraint));
            }
            cursor.accept(&["column"]);
            let if_not_exists = if_not_exists(cursor)?;
            Ok(AlterAction::AddColumn { column: column_definition(cursor)?, if_not_exists })
        }
        "drop" => {
            cursor.advance();
            let constraint = cursor.accept(&["constraint"]);
            if !constraint {
                cursor.accept(&["column"]);
            }
            let if_exists = cursor.accept(&["if", "exists"]);
            let name = cursor.name()?;
            let cascade = cascade(cursor);
            Ok(if constraint {
                AlterAction::DropConstraint { name, if_exists, cascade }
            } else {
                AlterAction::DropColumn { column: name, if_exists, cascade }
            })
        }
        "rename" => {
            cursor.advance();
            if cursor.accept(&["to"]) {
                return Ok(AlterAction::Rename(cursor.name()?));
            }
            let constraint = cursor.accept(&["constraint"]);
            if !constraint {
                cursor.accept(&["column"]);
            }
            let name = cursor.name()?;
            cursor.expect(&["to"])?;
            let to = cursor.name()?;
            Ok(if constraint {
                AlterAction::RenameConstraint { name, to }
            } else {
                AlterAction::RenameColumn { column: name, to }
            })
        }
        "set" if matches!(cursor.peek_at(1), Token::LParen) => {
            cursor.advance();
            storage_parameters(cursor).map(AlterAction::Options)
        }
        "lock" if cursor.accept(&["lock", "mode"]) => {
            cursor.expect_token(&Token::LParen)?;
            let level = cursor.name()?.text;
            check_parameter("lock_level", &level).map_err(|error| error.at(start))?;
            cursor.expect_token(&Token::RParen)?;
            Ok(AlterAction::Options(vec![("lock_level".to_string(), level)]))
        }
        "alter" => {
            cursor.advance();
            if cursor.is(&["constraint"]) {
                return Err(cursor.unsupported("ALTER CONSTRAINT"));
            }
            cursor.accept(&["column"]);
            let column = cursor.name()?;
            alter_column(cursor, column)
        }
        _ => {
            let what = match cursor.word_at(1) {
                Some(second) => format!("ALTER TABLE … {} {}", word.to_uppercase(), second.to_uppercase()),
                None => format!("ALTER TABLE … {}", word.to_uppercase()),
            };
            Err(SqlError::unsupported(what).at(start))
        }
    }
}

fn alter_column(cursor: &mut Cursor<'_>, column: Name) -> Result<AlterAction, SqlError> {
    if cursor.accept(&["set", "not", "null"]) {
        return Ok(AlterAction::NotNull { column, not_null: true });
    }
    if cursor.accept(&["drop", "not", "null"]) {
        return Ok(AlterAction::NotNull { column, not_null: false });
    }
    if cursor.accept(&["drop", "default"]) {
        return Ok(AlterAction::Default { column, default: None });
    }
    if cursor.accept(&["set", "default"]) {
        return Ok(AlterAction::Default { column, default: Some(expression(cursor)?) });
    }
    if cursor.accept(&["set", "data", "type"]) || cursor.accept(&["type"]) {
        let ty = cursor.data_type()?;
        if cursor.is(&["collate"]) {
            collate(cursor)?;
        }
        let using = if cursor.accept(&["using"]) { Some(cursor.expr()?) } else { None };
        return Ok(AlterAction::ColumnType { column, ty, using });
    }
    let words: Vec<String> = (0..2).filter_map(|n| cursor.word_at(n)).collect();
    if words.is_empty() {
        return Err(cursor.unexpected());
    }
    Err(cursor.unsupported(&format!("ALTER COLUMN … {}", words.join(" ").to_uppercase())))
}

// ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// CREATE [UNIQUE] INDEX, behind CREATE.
pub fn create_index(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let unique = cursor.accept(&["unique"]);
    cursor.expect(&["index"])?;
    if cursor.is(&["concurrently"]) {
        return Err(cursor.unsupported("CREATE INDEX CONCURRENTLY"));
    }
    let if_not_exists = if_not_exists(cursor)?;
    let name = if cursor.is(&["on"]) { None } else { Some(cursor.name()?) };
    if if_not_exists && name.is_none() {
        return Err(cursor.unexpected());
    }
    cursor.expect(&["on"])?;
    cursor.accept(&["only"]);
    let table = cursor.qualified()?;
    if cursor.accept(&["using"]) {
        let at = cursor.here().start;
        let method = cursor.name()?.text;
        if method != "btree" {
            return Err(SqlError::unsupported(format!("an index USING {method}")).at(at));
        }
    }
    cursor.expect_token(&Token::LParen)?;
    let parts = cursor.list(index_part)?;
    cursor.expect_token(&Token::RParen)?;
    if cursor.is(&["include"]) {
        return Err(cursor.unsupported("INCLUDE"));
    }
    let nulls_distinct = nulls_are_distinct(cursor);
    if cursor.accept(&["with"]) {
        storage_parameters(cursor)?;
    }
    for (word, what) in [("where", "a partial index (WHERE)"), ("tablespace", "TABLESPACE")] {
        if cursor.is(&[word]) {
            return Err(cursor.unsupported(what));
        }
    }
    Ok(Statement::CreateIndex(CreateIndex { name, if_not_exists, unique, nulls_distinct, table, parts }))
}

fn index_part(cursor: &mut Cursor<'_>) -> Result<(Name, bool, bool), SqlError> {
    if matches!(cursor.peek(), Token::LParen) || matches!(cursor.peek_at(1), Token::LParen) {
        return Err(cursor.unsupported("an index on an expression"));
    }
    let name = cursor.name()?;
    if cursor.is(&["collate"]) {
        collate(cursor)?;
    }
    if cursor.word().is_some_and(|word| word.ends_with("_ops")) {
        return Err(cursor.unsupported("an operator class"));
    }
    let descending = cursor.accept(&["desc"]);
    if !descending {
        cursor.accept(&["asc"]);
    }
    let nulls_first = if cursor.accept(&["nulls", "first"]) {
        true
    } else if cursor.accept(&["nulls", "last"]) {
        false
    } else {
        descending
    };
    Ok((name, descending, nulls_first))
}

/// REINDEX.
pub fn reindex(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect(&["reindex"])?;
    let index = cursor.accept(&["index"]);
    if !index && !cursor.accept(&["table"]) {
        let what = cursor.word().unwrap_or_default().to_uppercase();
        return Err(cursor.unsupported(&format!("REINDEX {what}")));
    }
    if cursor.is(&["concurrently"]) {
        return Err(cursor.unsupported("REINDEX … CONCURRENTLY"));
    }
    Ok(Statement::Reindex { index, name: cursor.qualified()? })
}

// ── locks, constraints of a transaction ──────────────────────────────────────────────────────────────────────────

/// LOCK TABLE.
pub fn lock_table(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect(&["lock"])?;
    cursor.accept(&["table"]);
    let tables = cursor.list(|cursor| {
        cursor.accept(&["only"]);
        let table = cursor.qualified()?;
        cursor.accept_token(&Token::Mul);
        Ok(table)
    })?;
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

/// SET CONSTRAINTS, behind SET.
pub fn set_constraints(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect(&["constraints"])?;
    let names = if cursor.accept(&["all"]) { Vec::new() } else { cursor.list(Cursor::qualified)? };
    let deferred = cursor.accept(&["deferred"]);
    if !deferred {
        cursor.expect(&["immediate"])?;
    }
    Ok(Statement::SetConstraints(SetConstraints { names, deferred }))
}

/// ANALYZE.
pub fn analyze(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    cursor.accept(&["verbose"]);
    if cursor.at_end() {
        return Ok(Statement::Analyze(Vec::new()));
    }
    let tables = cursor.list(|cursor| {
        let table = cursor.qualified()?;
        if matches!(cursor.peek(), Token::LParen) {
            names(cursor)?;
        }
        Ok(table)
    })?;
    Ok(Statement::Analyze(tables))
}
