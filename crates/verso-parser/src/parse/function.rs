//! CREATE FUNCTION and CREATE PROCEDURE, and how statements name functions.

use verso_types::{SqlType, sqlstate};

use super::block::{function_body, standard_body};
use super::cursor::Cursor;
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{
    ArgMode, CreateFunction, FunctionArg, Name, Planning, QualifiedName, Returns, RoutineType, Statement,
    Volatility,
};

/// CREATE FUNCTION, CREATE PROCEDURE.
pub(super) fn create_function(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement, SyntaxError> {
    let procedure = cursor.is(&["procedure"]);
    cursor.advance();
    let name = cursor.qualified()?;
    cursor.expect_token(&Token::LParen)?;
    let mut args = Vec::new();
    if !cursor.accept_token(&Token::RParen) {
        args = cursor.list(function_argument)?;
        cursor.expect_token(&Token::RParen)?;
    }
    let mut returns = None;
    if !procedure && cursor.accept(&["returns"]) {
        returns = Some(function_returns(cursor)?);
    }
    let (mut language, mut body, mut volatility, mut strict) = (None, None, None, None);
    let mut definer: Option<bool> = None;
    let mut leakproof: Option<bool> = None;
    let (mut standard, mut settings) = (None, Vec::new());
    let mut planning = Planning::default();
    while let Some(word) = cursor.word() {
        let at = cursor.here().start;
        let twice = match word.as_str() {
            "as" => {
                cursor.advance();
                let literal = function_body(cursor)?;
                if matches!(cursor.peek(), Token::Comma) {
                    return Err(cursor.unsupported("a function in an object file"));
                }
                body.replace(literal).is_some()
            }
            "language" => {
                cursor.advance();
                let at = cursor.here();
                let name = match cursor.peek() {
                    Token::String(_) => Name { text: string_literal(cursor)?.0, at },
                    _ => cursor.name()?,
                };
                language.replace(name).is_some()
            }
            "returns" if procedure && !cursor.is(&["returns", "null"]) => {
                cursor.advance();
                return Err(cursor.unexpected());
            }
            "immutable" | "stable" | "volatile" | "strict" | "called" | "returns" | "parallel" | "cost"
            | "rows" | "window"
                if procedure =>
            {
                let text = "invalid attribute in procedure definition";
                return Err(SyntaxError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).at(at));
            }
            "immutable" | "stable" | "volatile" => {
                cursor.advance();
                let level = match word.as_str() {
                    "immutable" => Volatility::Immutable,
                    "stable" => Volatility::Stable,
                    _ => Volatility::Volatile,
                };
                volatility.replace(level).is_some()
            }
            "strict" => {
                cursor.advance();
                strict.replace(true).is_some()
            }
            "called" => {
                cursor.expect(&["called", "on", "null", "input"])?;
                strict.replace(false).is_some()
            }
            "returns" => {
                cursor.expect(&["returns", "null", "on", "null", "input"])?;
                strict.replace(true).is_some()
            }
            "parallel" | "cost" | "rows" => planning_option(cursor, &mut planning)?,
            "security" | "external" if cursor.is_any(&["security", "external"]) => {
                cursor.accept(&["external"]);
                cursor.expect(&["security"])?;
                let is_definer = cursor.accept(&["definer"]);
                if !is_definer {
                    cursor.expect(&["invoker"])?;
                }
                definer.replace(is_definer).is_some()
            }
            "return" | "begin" => standard.replace(standard_body(cursor)?).is_some(),
            "set" => {
                cursor.advance();
                settings.extend(function_setting(cursor)?);
                false
            }
            "leakproof" => {
                cursor.advance();
                leakproof.replace(true).is_some()
            }
            "not" if cursor.accept(&["not", "leakproof"]) => leakproof.replace(false).is_some(),
            "window" | "support" | "transform" | "not" => {
                return Err(cursor.unsupported(&format!("CREATE FUNCTION … {}", word.to_uppercase())));
            }
            _ => return Err(cursor.unexpected()),
        };
        if twice {
            return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
        }
    }
    let invalid = |text: &str| SyntaxError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text);
    if let (Some(_), Some(body)) = (&standard, &body) {
        return Err(invalid("duplicate function body specified").at(body.at.start));
    }
    let unnamed = || Name { text: "sql".into(), at: Default::default() };
    let language = match (language, &standard) {
        (Some(language), _) => language,
        // A body of SQL's own says it.
        (None, Some(_)) => unnamed(),
        (None, None) if body.is_none() => return Err(invalid("no function body specified")),
        (None, None) => return Err(invalid("no language specified")),
    };
    if returns.is_none()
        && !procedure
        && !args.iter().any(|arg| matches!(arg.mode, ArgMode::Out | ArgMode::InOut))
    {
        return Err(invalid("function result type must be specified"));
    }
    let is_sql = language.text == "sql";
    if language.text != "plpgsql" && !is_sql {
        return Err(match language.text.as_str() {
            "c" | "internal" => SyntaxError::unsupported(format!("LANGUAGE {}", language.text)),
            other => {
                SyntaxError::new(sqlstate::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist"))
            }
        }
        .at(language.at.start));
    }
    let body = match (standard, body) {
        (Some(_), _) if !is_sql => {
            return Err(invalid("inline SQL function body only valid for language SQL"));
        }
        (Some(standard), _) => standard,
        (None, Some(body)) => body,
        (None, None) => return Err(invalid("no function body specified")),
    };
    Ok(Statement::CreateFunction(CreateFunction {
        name,
        or_replace,
        procedure,
        args,
        returns,
        language,
        body,
        volatility: volatility.unwrap_or(Volatility::Volatile),
        strict: strict.unwrap_or(false),
        security_definer: definer.unwrap_or(false),
        leakproof: leakproof.unwrap_or(false),
        planning,
        settings,
    }))
}

/// `name {= | TO} value`, `name FROM CURRENT`, behind SET; none where the value is DEFAULT.
fn function_setting(cursor: &mut Cursor<'_>) -> Result<Option<(Name, Option<String>)>, SyntaxError> {
    let start = cursor.mark();
    let name = super::setting::setting_name(cursor)?;
    if cursor.accept(&["from", "current"]) {
        return Ok(Some((name, None)));
    }
    cursor.back(start);
    let (name, value) = super::setting::one_setting(cursor)?;
    Ok(value.map(|value| (name, Some(value))))
}

/// `IN | OUT | INOUT | IN OUT | VARIADIC`, if one stands here.
fn argument_mode(cursor: &mut Cursor<'_>) -> Option<ArgMode> {
    let alone = |cursor: &Cursor<'_>| matches!(cursor.peek_at(1), Token::Comma | Token::RParen);
    if cursor.accept(&["in", "out"]) {
        return Some(ArgMode::InOut);
    }
    let mode = match cursor.word()?.as_str() {
        "in" => ArgMode::In,
        "out" if !alone(cursor) => ArgMode::Out,
        "inout" if !alone(cursor) => ArgMode::InOut,
        "variadic" => ArgMode::Variadic,
        _ => return None,
    };
    cursor.advance();
    Some(mode)
}

/// `[mode] [name] type [DEFAULT e]`; the mode may stand behind the name.
pub(super) fn function_argument(cursor: &mut Cursor<'_>) -> Result<FunctionArg, SyntaxError> {
    let at = cursor.here().start;
    let mut mode = argument_mode(cursor);
    // A name stands before a type, unless the two words are one type.
    let two_words = cursor.is(&["double", "precision"])
        || cursor.is(&["character", "varying"])
        || cursor.is(&["char", "varying"])
        || cursor.is(&["national", "character"])
        || cursor.is(&["national", "char"]);
    let named = matches!(cursor.peek_at(1), Token::Word(_) | Token::Quoted(_))
        && !two_words
        && !cursor
            .word_at(1)
            .is_some_and(|word| matches!(word.as_str(), "default" | "with" | "without" | "array"));
    let name = if named { Some(cursor.name()?) } else { None };
    if mode.is_none() && name.is_some() {
        mode = argument_mode(cursor);
    }
    if cursor.is(&["setof"]) {
        let text = "functions cannot accept set arguments";
        return Err(SyntaxError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).at(at));
    }
    let ty = routine_type(cursor)?;
    let default = match cursor.accept(&["default"]) || cursor.accept_token(&Token::Eq) {
        false => None,
        true => {
            let start = cursor.here();
            let expr = cursor.expr()?;
            Some((expr, cursor.source().slice(cursor.since(start)).to_string()))
        }
    };
    Ok(FunctionArg { name, mode: mode.unwrap_or(ArgMode::In), ty, default, at })
}

fn function_returns(cursor: &mut Cursor<'_>) -> Result<Returns, SyntaxError> {
    if cursor.accept(&["setof"]) {
        return Ok(Returns::Set(result_type(cursor)?));
    }
    if cursor.accept(&["table"]) {
        cursor.expect_token(&Token::LParen)?;
        let columns = cursor.list(|cursor| Ok((cursor.name()?, routine_type(cursor)?)))?;
        cursor.expect_token(&Token::RParen)?;
        return Ok(Returns::Table(columns));
    }
    if cursor.accept(&["trigger"]) {
        return Ok(Returns::Trigger);
    }
    if cursor.is(&["event_trigger"]) {
        return Err(cursor.unsupported("RETURNS event_trigger"));
    }
    Ok(Returns::Type(result_type(cursor)?))
}

fn result_type(cursor: &mut Cursor<'_>) -> Result<RoutineType, SyntaxError> {
    if cursor.accept(&["void"]) {
        return Ok(RoutineType::Plain(SqlType::Void));
    }
    routine_type(cursor)
}

/// A type, `record`, or `t.c%TYPE`.
fn routine_type(cursor: &mut Cursor<'_>) -> Result<RoutineType, SyntaxError> {
    let start = cursor.mark();
    if matches!(cursor.peek(), Token::Word(_) | Token::Quoted(_)) && cursor.peek_at(1) == Token::Period {
        let mut names = vec![cursor.name()?];
        while cursor.accept_token(&Token::Period) {
            names.push(cursor.label()?);
        }
        if cursor.accept_token(&Token::Mod) {
            cursor.expect(&["type"])?;
            return Ok(RoutineType::Column(names));
        }
        cursor.back(start);
    }
    if cursor.accept(&["record"]) {
        return Ok(RoutineType::Plain(SqlType::Record));
    }
    Ok(RoutineType::Plain(cursor.data_type()?))
}

/// A function that a statement names, and the types of what goes in, where they are given.
pub(super) fn function_reference(
    cursor: &mut Cursor<'_>,
) -> Result<(QualifiedName, Option<Vec<SqlType>>), SyntaxError> {
    let name = cursor.qualified()?;
    if !cursor.accept_token(&Token::LParen) {
        return Ok((name, None));
    }
    if cursor.accept_token(&Token::RParen) {
        return Ok((name, Some(Vec::new())));
    }
    let args = cursor.list(function_argument)?;
    cursor.expect_token(&Token::RParen)?;
    let mut types = Vec::new();
    for arg in args.into_iter().filter(|arg| arg.mode != ArgMode::Out) {
        match arg.ty {
            RoutineType::Plain(ty) => types.push(ty),
            RoutineType::Column(names) => {
                let at = names.first().map_or(0, |name| name.at.start);
                return Err(SyntaxError::unsupported("%TYPE in the name of a function").at(at));
            }
        }
    }
    Ok((name, Some(types)))
}

/// `COST n`, `ROWS n` or `PARALLEL word`: whether it was given before.
pub(super) fn planning_option(cursor: &mut Cursor<'_>, planning: &mut Planning) -> Result<bool, SyntaxError> {
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    cursor.advance();
    Ok(match word.as_str() {
        "cost" => planning.cost.replace(estimate(cursor, &word)?).is_some(),
        "rows" => planning.rows.replace(estimate(cursor, &word)?).is_some(),
        _ => {
            let name = cursor.name()?;
            let letter = match name.text.as_str() {
                "safe" => 's',
                "restricted" => 'r',
                "unsafe" => 'u',
                _ => {
                    let text = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                    return Err(SyntaxError::syntax(text));
                }
            };
            planning.parallel.replace(letter).is_some()
        }
    })
}

/// The number behind COST or ROWS: above zero.
fn estimate(cursor: &mut Cursor<'_>, word: &str) -> Result<f32, SyntaxError> {
    let signed = matches!(cursor.peek(), Token::Minus | Token::Plus);
    let negative = matches!(cursor.peek(), Token::Minus);
    if signed {
        cursor.advance();
    }
    let Token::Number(digits) = cursor.peek() else { return Err(cursor.unexpected()) };
    let number: f32 = cursor.source().meaning(digits).parse().unwrap_or(0.0);
    cursor.advance();
    if negative || number <= 0.0 {
        let text = format!("{} must be positive", word.to_uppercase());
        return Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
    }
    Ok(number)
}
