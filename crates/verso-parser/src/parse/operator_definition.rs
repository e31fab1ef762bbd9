//! CREATE OPERATOR, CREATE CAST, and how statements name them.

use verso_types::SqlType;

use super::aggregate::option_value;
use super::cursor::Cursor;
use super::ddl::cascade;
use super::function::function_reference;
use super::lexer::Token;
use crate::error::SyntaxError;
use crate::syntax::{
    CastMethod, CastStatement, CastTime, Name, OperatorOption, OperatorReference, OperatorStatement,
    OptionValue, Owned, QualifiedName, Statement, TypeStatement,
};

/// `[schema.]symbol`.
pub(super) fn symbol(cursor: &mut Cursor<'_>) -> Result<QualifiedName, SyntaxError> {
    let mut schema = None;
    if matches!(cursor.peek(), Token::Word(_) | Token::Quoted(_)) {
        schema = Some(cursor.label()?);
        cursor.expect_token(&Token::Period)?;
    }
    let at = cursor.here();
    if !cursor.is_operator() {
        return Err(cursor.unexpected());
    }
    let text = cursor.operator_text();
    cursor.advance();
    let text = if text == "!=" { "<>".to_string() } else { text };
    Ok(QualifiedName { schema, name: Name { text, at } })
}

/// Behind CREATE.
pub(super) fn create_operator(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    if cursor.is(&["class"]) || cursor.is(&["family"]) {
        let what = if cursor.is(&["class"]) { "CREATE OPERATOR CLASS" } else { "CREATE OPERATOR FAMILY" };
        return Err(cursor.unsupported(what));
    }
    let name = symbol(cursor)?;
    cursor.expect_token(&Token::LParen)?;
    let options = cursor.list(option)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(Statement::Type(TypeStatement::Operator(OperatorStatement::Create { name, options })))
}

fn option(cursor: &mut Cursor<'_>) -> Result<OperatorOption, SyntaxError> {
    let name = cursor.label()?;
    if !cursor.accept_token(&Token::Eq) {
        return Ok(OperatorOption { name, value: OptionValue::None });
    }
    let value = match name.text.as_str() {
        "leftarg" | "rightarg" => OptionValue::Type(cursor.data_type()?),
        "commutator" | "negator" if cursor.accept(&["operator"]) => {
            cursor.expect_token(&Token::LParen)?;
            let name = symbol(cursor)?;
            cursor.expect_token(&Token::RParen)?;
            OptionValue::Name(name)
        }
        "commutator" | "negator" => OptionValue::Name(symbol(cursor)?),
        _ => option_value(cursor)?,
    };
    Ok(OperatorOption { name, value })
}

/// `symbol (left, right)`, NONE for no left side.
pub(super) fn operator_reference(cursor: &mut Cursor<'_>) -> Result<OperatorReference, SyntaxError> {
    let name = symbol(cursor)?;
    cursor.expect_token(&Token::LParen)?;
    let left = if cursor.accept(&["none"]) { None } else { Some(cursor.data_type()?) };
    cursor.expect_token(&Token::Comma)?;
    let right = cursor.data_type()?;
    cursor.expect_token(&Token::RParen)?;
    Ok(OperatorReference { name, left, right })
}

/// Behind ALTER.
pub(super) fn alter_operator(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    if cursor.is(&["class"]) || cursor.is(&["family"]) {
        return Err(cursor.unsupported("ALTER OPERATOR CLASS and FAMILY"));
    }
    let operator = operator_reference(cursor)?;
    if cursor.accept(&["set", "schema"]) {
        let statement = OperatorStatement::Move { operator, to: cursor.name()? };
        return Ok(Statement::Type(TypeStatement::Operator(statement)));
    }
    if !cursor.is(&["owner"]) && !cursor.is(&["set"]) {
        return Err(cursor.unexpected());
    }
    match super::rights::owner(cursor, || Owned::Operator(operator), false)? {
        Some(statement) => Ok(statement),
        None => Err(cursor.unsupported("ALTER OPERATOR … SET other than SCHEMA")),
    }
}

/// Behind DROP.
pub(super) fn drop_operator(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let operators = cursor.list(operator_reference)?;
    let cascade = cascade(cursor);
    let statement = OperatorStatement::Drop { operators, if_exists, cascade };
    Ok(Statement::Type(TypeStatement::Operator(statement)))
}

/// `(source AS target)`.
pub(super) fn cast_reference(cursor: &mut Cursor<'_>) -> Result<(SqlType, SqlType), SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let source = cursor.data_type()?;
    cursor.expect(&["as"])?;
    let target = cursor.data_type()?;
    cursor.expect_token(&Token::RParen)?;
    Ok((source, target))
}

/// Behind CREATE.
pub(super) fn create_cast(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let (source, target) = cast_reference(cursor)?;
    let method = if cursor.accept(&["without", "function"]) {
        CastMethod::Binary
    } else {
        cursor.expect(&["with"])?;
        match cursor.accept(&["inout"]) {
            true => CastMethod::Text,
            false => {
                if !(cursor.accept(&["function"]) || cursor.accept(&["routine"])) {
                    return Err(cursor.unexpected());
                }
                let (name, types) = function_reference(cursor)?;
                CastMethod::Function(name, types)
            }
        }
    };
    let time = match () {
        () if cursor.accept(&["as", "assignment"]) => CastTime::Assignment,
        () if cursor.accept(&["as", "implicit"]) => CastTime::Implicit,
        () => CastTime::Explicit,
    };
    Ok(Statement::Type(TypeStatement::Cast(CastStatement::Create { source, target, method, time })))
}

/// Behind DROP.
pub(super) fn drop_cast(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let (source, target) = cast_reference(cursor)?;
    cascade(cursor);
    Ok(Statement::Type(TypeStatement::Cast(CastStatement::Drop { source, target, if_exists })))
}
