//! PREPARE, EXECUTE, DEALLOCATE, DISCARD; LISTEN, NOTIFY, UNLISTEN; DECLARE, FETCH, MOVE, CLOSE.

use super::lexer::Token;

use super::cursor::Cursor;
use verso_types::{SqlType, sqlstate};

use crate::error::SyntaxError;
use crate::syntax::{
    Cursor as Declared, Direction, Discarded, ExecutePurpose, Expr, Fetch, Fingerprint, Name, Parsed,
    Prepare, Statement,
};

/// Parses one of these statements, if `word` begins one.
pub fn statement(cursor: &mut Cursor<'_>, word: &str) -> Result<Option<Statement>, SyntaxError> {
    Ok(Some(match word {
        "prepare" if !cursor.is(&["prepare", "transaction"]) => prepare(cursor)?,
        "execute" => {
            let (name, args) = execute(cursor)?;
            Statement::Execute { name, args, purpose: ExecutePurpose::Run }
        }
        "deallocate" => {
            cursor.advance();
            let _ = cursor.accept(&["prepare"]);
            let all = cursor.accept(&["all"]);
            Statement::Deallocate(if all { None } else { Some(cursor.name()?) })
        }
        "discard" => {
            cursor.advance();
            let parts = [
                ("plans", Discarded::Plans),
                ("sequences", Discarded::Sequences),
                ("temp", Discarded::Temporary),
                ("temporary", Discarded::Temporary),
            ];
            if cursor.accept(&["all"]) {
                Statement::DiscardAll
            } else {
                let part = parts.into_iter().find(|(word, _)| cursor.accept(&[word]));
                Statement::Discard(part.ok_or_else(|| cursor.unexpected())?.1)
            }
        }
        "declare" => declare(cursor)?,
        "fetch" | "move" => {
            let moves = word == "move";
            cursor.advance();
            fetch(cursor, moves)?
        }
        "unlisten" => {
            cursor.advance();
            let all = cursor.accept_token(&Token::Mul);
            Statement::Unlisten(if all { None } else { Some(cursor.name()?) })
        }
        "listen" => {
            cursor.advance();
            Statement::Listen(cursor.name()?)
        }
        "notify" => {
            cursor.advance();
            let channel = cursor.name()?;
            let comma = cursor.accept_token(&Token::Comma);
            let payload = if comma { super::string_literal(cursor)?.0 } else { String::new() };
            Statement::Notify(channel, payload)
        }
        "close" => {
            cursor.advance();
            let all = cursor.accept(&["all"]);
            Statement::Close(if all { None } else { Some(cursor.name()?) })
        }
        _ => return Ok(None),
    }))
}

/// `void`, perhaps with its schema: it is a type of parameters here.
fn is_void(cursor: &mut Cursor<'_>) -> bool {
    let start = cursor.mark();
    if cursor.accept(&["pg_catalog"]) && !cursor.accept_token(&Token::Period) {
        cursor.back(start);
        return false;
    }
    let is = cursor.accept(&["void"]);
    if !is {
        cursor.back(start);
    }
    is
}

/// `PREPARE name [(type, …)] AS statement`.
fn prepare(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.name()?;
    let mut types = Vec::new();
    if cursor.accept_token(&Token::LParen) {
        types = cursor.list(|cursor| {
            let unknown = cursor.accept(&["unknown"]);
            // A parameter that only comes out, as drivers declare it.
            let void = !unknown && is_void(cursor);
            Ok(match (unknown, void) {
                (true, _) => None,
                (_, true) => Some(SqlType::Void),
                _ => Some(cursor.data_type()?.without_modifiers()),
            })
        })?;
        cursor.expect_token(&Token::RParen)?;
    }
    cursor.expect(&["as"])?;
    let at = cursor.here();
    let statement = super::statement(cursor)?;
    match &statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => {}
        _ => return Err(cursor.source().near(at.start)),
    }
    let at = at.to(cursor.here());
    Ok(Statement::Prepare(Prepare {
        name,
        types,
        statement: Box::new(Parsed {
            statement,
            at,
            databases: Vec::new(),
            fingerprint: Fingerprint::default(),
        }),
    }))
}

/// `DECLARE name [BINARY] [ASENSITIVE | INSENSITIVE] [[NO] SCROLL] CURSOR [{WITH | WITHOUT} HOLD] FOR query`.
fn declare(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.name()?;
    let (mut binary, mut scroll, mut no_scroll) = (false, false, false);
    let (mut insensitive, mut asensitive) = (false, false);
    while !cursor.accept(&["cursor"]) {
        let mark = match () {
            () if cursor.accept(&["binary"]) => &mut binary,
            () if cursor.accept(&["no", "scroll"]) => &mut no_scroll,
            () if cursor.accept(&["scroll"]) => &mut scroll,
            () if cursor.accept(&["insensitive"]) => &mut insensitive,
            () if cursor.accept(&["asensitive"]) => &mut asensitive,
            () => return Err(cursor.unexpected()),
        };
        *mark = true;
    }
    for (both, words) in [
        (scroll && no_scroll, "SCROLL and NO SCROLL"),
        (insensitive && asensitive, "ASENSITIVE and INSENSITIVE"),
    ] {
        if both {
            return Err(SyntaxError::new("42P11", format!("cannot specify both {words}")));
        }
    }
    let hold = cursor.accept(&["with", "hold"]);
    if !hold {
        cursor.accept(&["without", "hold"]);
    }
    cursor.expect(&["for"])?;
    let at = cursor.here();
    let query = cursor.query()?;
    let at = at.to(cursor.here());
    let (statement, fingerprint) = (Statement::Query(query), Fingerprint::default());
    let query = Box::new(Parsed { statement, at, databases: Vec::new(), fingerprint });
    Ok(Statement::Declare(Declared { name, binary, scroll, insensitive, hold, query }))
}

/// Behind FETCH or MOVE: `[direction] [FROM | IN] name`.
fn fetch(cursor: &mut Cursor<'_>, moves: bool) -> Result<Statement, SyntaxError> {
    // A lone name may be that of a cursor called like a direction.
    let direction = if cursor.word_at(1).is_none() && cursor.word().is_some() && ends(cursor, 1) {
        Direction::Forward(Some(1))
    } else {
        direction(cursor)?
    };
    let _ = cursor.accept(&["from"]) || cursor.accept(&["in"]);
    Ok(Statement::Fetch(Fetch { name: cursor.name()?, direction, moves }))
}

fn ends(cursor: &Cursor<'_>, n: usize) -> bool {
    matches!(cursor.peek_at(n), Token::End)
}

pub(super) fn direction(cursor: &mut Cursor<'_>) -> Result<Direction, SyntaxError> {
    Ok(if cursor.accept(&["next"]) {
        Direction::Forward(Some(1))
    } else if cursor.accept(&["prior"]) {
        Direction::Backward(Some(1))
    } else if cursor.accept(&["first"]) {
        Direction::Absolute(1)
    } else if cursor.accept(&["last"]) {
        Direction::Absolute(-1)
    } else if cursor.accept(&["absolute"]) {
        Direction::Absolute(signed(cursor)?)
    } else if cursor.accept(&["relative"]) {
        Direction::Relative(signed(cursor)?)
    } else if cursor.accept(&["all"]) {
        Direction::Forward(None)
    } else if cursor.accept(&["forward"]) {
        counted(cursor, Direction::Forward)?
    } else if cursor.accept(&["backward"]) {
        counted(cursor, Direction::Backward)?
    } else if matches!(cursor.peek(), Token::Number(..) | Token::Minus | Token::Plus) {
        Direction::Forward(Some(signed(cursor)?))
    } else {
        Direction::Forward(Some(1))
    })
}

/// `[count | ALL]`; one without.
fn counted(
    cursor: &mut Cursor<'_>,
    direction: impl Fn(Option<i64>) -> Direction,
) -> Result<Direction, SyntaxError> {
    if cursor.accept(&["all"]) {
        return Ok(direction(None));
    }
    let count = match cursor.peek() {
        Token::Number(..) | Token::Minus | Token::Plus => signed(cursor)?,
        _ => 1,
    };
    Ok(direction(Some(count)))
}

fn signed(cursor: &mut Cursor<'_>) -> Result<i64, SyntaxError> {
    let at = cursor.here();
    let negative = cursor.accept_token(&Token::Minus);
    if !negative {
        cursor.accept_token(&Token::Plus);
    }
    let Token::Number(digits) = cursor.peek() else { return Err(cursor.unexpected()) };
    let value: i64 = cursor.source().meaning(digits).parse().map_err(|_| {
        SyntaxError::new(sqlstate::SYNTAX_ERROR, "the number of rows is no integer").at(at.start)
    })?;
    cursor.advance();
    Ok(if negative { -value } else { value })
}

/// `EXECUTE name (args)`.
pub(super) fn execute(cursor: &mut Cursor<'_>) -> Result<(Name, Vec<Expr>), SyntaxError> {
    cursor.expect(&["execute"])?;
    let name = cursor.name()?;
    let mut args = Vec::new();
    if cursor.accept_token(&Token::LParen) {
        args = cursor.list(Cursor::expr)?;
        cursor.expect_token(&Token::RParen)?;
    }
    Ok((name, args))
}
