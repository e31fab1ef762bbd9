//! CREATE, ALTER and DROP TRIGGER, in PostgreSQL's form and in Informix's.
//!
//! ```text
//! CREATE TRIGGER t {BEFORE|AFTER|INSTEAD OF} event [OR …] ON … [FOR EACH …] [WHEN (…)] EXECUTE FUNCTION f (…)
//! CREATE TRIGGER t event ON … [REFERENCING NEW AS n] FOR EACH ROW [WHEN (…)] (statement, …)        Informix
//! ```
//! The statements of the second form become the body of a function in PL/pgSQL; positions of errors in them are lost.

use super::cursor::Cursor;
use super::lexer::Token;
use super::plpgsql::parse_body;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{
    AlterAction, CreateTrigger, DropTrigger, FunctionBody, Name, QualifiedName, RenameTrigger, Span,
    Statement, TriggerAction, TriggerState, TriggerTiming, WhichTriggers,
};

/// `[CONSTRAINT] TRIGGER …`, behind CREATE [OR REPLACE].
pub(super) fn create_trigger(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement, SyntaxError> {
    let start = cursor.here().start;
    let constraint = cursor.accept(&["constraint"]);
    if constraint && or_replace {
        let text = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
        return Err(SyntaxError::new("0A000", text).at(start));
    }
    cursor.expect(&["trigger"])?;
    if_not_exists_refused(cursor)?;
    let name = cursor.name()?;
    let timing = if cursor.accept(&["before"]) {
        TriggerTiming::Before
    } else if cursor.accept(&["instead", "of"]) {
        TriggerTiming::InsteadOf
    } else if cursor.accept(&["after"]) {
        TriggerTiming::After
    } else if !constraint && cursor.is_any(&["insert", "update", "delete"]) {
        return informix(cursor, name, or_replace);
    } else {
        return Err(cursor.unexpected());
    };
    if constraint && timing != TriggerTiming::After {
        return Err(cursor.source().near(cursor.last().start));
    }
    let table = QualifiedName { schema: None, name: name.clone() };
    let action = TriggerAction::Function { function: table.clone(), args: Vec::new() };
    let mut trigger = CreateTrigger { or_replace, constraint, ..empty(name, timing, table, action) };
    loop {
        event(cursor, &mut trigger)?;
        if !cursor.accept(&["or"]) {
            break;
        }
    }
    cursor.expect(&["on"])?;
    trigger.table = cursor.qualified()?;
    if constraint && cursor.accept(&["from"]) {
        trigger.from = Some(cursor.qualified()?);
    }
    if constraint {
        deferral(cursor, &mut trigger)?;
    }
    if !constraint && cursor.accept(&["referencing"]) {
        while transition(cursor, &mut trigger)? {}
    }
    if cursor.accept(&["for"]) {
        cursor.accept(&["each"]);
        trigger.each_row = cursor.accept(&["row"]);
        if !trigger.each_row {
            if constraint {
                return Err(cursor.unexpected());
            }
            cursor.expect(&["statement"])?;
        }
    } else if constraint {
        return Err(cursor.unexpected());
    }
    when(cursor, &mut trigger)?;
    cursor.expect(&["execute"])?;
    if !cursor.accept(&["function"]) {
        cursor.expect(&["procedure"])?;
    }
    let function = cursor.qualified()?;
    cursor.expect_token(&Token::LParen)?;
    let mut args = Vec::new();
    if !cursor.accept_token(&Token::RParen) {
        args = cursor.list(argument)?;
        cursor.expect_token(&Token::RParen)?;
    }
    trigger.action = TriggerAction::Function { function, args };
    Ok(Statement::CreateTrigger(Box::new(trigger)))
}

fn if_not_exists_refused(cursor: &Cursor<'_>) -> Result<(), SyntaxError> {
    // PostgreSQL has no such form: the word is a name then.
    if cursor.is(&["if", "not", "exists"]) { Err(cursor.unexpected()) } else { Ok(()) }
}

fn empty(name: Name, timing: TriggerTiming, table: QualifiedName, action: TriggerAction) -> CreateTrigger {
    CreateTrigger {
        name,
        or_replace: false,
        constraint: false,
        timing,
        on_insert: false,
        on_update: false,
        on_delete: false,
        on_truncate: false,
        columns: Vec::new(),
        table,
        from: None,
        deferrable: false,
        initially_deferred: false,
        old_table: None,
        new_table: None,
        each_row: false,
        when: None,
        action,
    }
}

/// `INSERT | DELETE | TRUNCATE | UPDATE [OF column, …]`.
fn event(cursor: &mut Cursor<'_>, trigger: &mut CreateTrigger) -> Result<(), SyntaxError> {
    let start = cursor.here().start;
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    let flag = match word.as_str() {
        "insert" => &mut trigger.on_insert,
        "update" => &mut trigger.on_update,
        "delete" => &mut trigger.on_delete,
        "truncate" => &mut trigger.on_truncate,
        _ => return Err(cursor.unexpected()),
    };
    let twice = std::mem::replace(flag, true);
    let own = cursor.written();
    cursor.advance();
    if word == "update" && cursor.accept(&["of"]) {
        trigger.columns = cursor.list(Cursor::name)?;
    }
    if twice {
        // PostgreSQL knows of the second UPDATE when it sees what stands behind it.
        let near = if word == "update" { cursor.written() } else { own };
        let text = format!("duplicate trigger events specified at or near \"{near}\"");
        return Err(SyntaxError::syntax(text).at(start));
    }
    Ok(())
}

fn deferral(cursor: &mut Cursor<'_>, trigger: &mut CreateTrigger) -> Result<(), SyntaxError> {
    let (mut refused, mut immediate) = (false, false);
    loop {
        let start = cursor.here().start;
        if cursor.accept(&["not", "deferrable"]) {
            refused = true;
        } else if cursor.accept(&["deferrable"]) {
            trigger.deferrable = true;
        } else if cursor.accept(&["initially", "deferred"]) {
            trigger.initially_deferred = true;
        } else if cursor.accept(&["initially", "immediate"]) {
            immediate = true;
        } else {
            break;
        }
        if refused && trigger.initially_deferred {
            let text = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return Err(SyntaxError::syntax(text).at(start));
        }
        if refused && trigger.deferrable || immediate && trigger.initially_deferred {
            return Err(SyntaxError::syntax("conflicting constraint properties").at(start));
        }
    }
    trigger.deferrable |= trigger.initially_deferred;
    Ok(())
}

/// `{OLD | NEW} TABLE [AS] name`.
fn transition(cursor: &mut Cursor<'_>, trigger: &mut CreateTrigger) -> Result<bool, SyntaxError> {
    if !cursor.is_any(&["old", "new"]) {
        return Ok(false);
    }
    let new = cursor.is(&["new"]);
    cursor.advance();
    if !cursor.accept(&["table"]) {
        let start = cursor.here().start;
        let text = "ROW variable naming in the REFERENCING clause is not supported";
        let hint = "Use OLD TABLE or NEW TABLE for naming transition tables.";
        return Err(SyntaxError::new("0A000", text).at(start).with_hint(hint));
    }
    cursor.accept(&["as"]);
    let name = cursor.name()?;
    let (place, word) = match new {
        true => (&mut trigger.new_table, "NEW TABLE"),
        false => (&mut trigger.old_table, "OLD TABLE"),
    };
    if place.replace(name).is_some() {
        let text = format!("{word} cannot be specified multiple times");
        return Err(SyntaxError::new("42P17", text));
    }
    Ok(true)
}

/// `WHEN (condition)`.
fn when(cursor: &mut Cursor<'_>, trigger: &mut CreateTrigger) -> Result<(), SyntaxError> {
    if !cursor.accept(&["when"]) {
        return Ok(());
    }
    cursor.expect_token(&Token::LParen)?;
    let start = cursor.here().start;
    let condition = cursor.expr()?;
    let end = cursor.last().end;
    let text = cursor.source().slice(Span { start, end }).to_string();
    cursor.expect_token(&Token::RParen)?;
    trigger.when = Some((condition, text));
    Ok(())
}

/// An argument: a literal or a word, which stands for its text.
fn argument(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    match cursor.peek() {
        Token::String(_) => Ok(string_literal(cursor)?.0),
        Token::Number(_) => {
            let text = cursor.written().to_string();
            cursor.advance();
            Ok(text)
        }
        _ => Ok(cursor.label()?.text),
    }
}

// ── Informix's form ──────────────────────────────────────────────────────────────────────────────────────────────

/// From the event on.
fn informix(cursor: &mut Cursor<'_>, name: Name, or_replace: bool) -> Result<Statement, SyntaxError> {
    let at = cursor.here();
    let table = QualifiedName { schema: None, name: name.clone() };
    let body = FunctionBody { text: String::new(), at, start: None, doubled: false, standard: false };
    let none = TriggerAction::Statements { old: None, new: None, body: body.clone() };
    let mut trigger =
        CreateTrigger { or_replace, each_row: true, ..empty(name, TriggerTiming::After, table, none) };
    event(cursor, &mut trigger)?;
    cursor.expect(&["on"])?;
    trigger.table = cursor.qualified()?;
    let (mut old, mut new) = (None, None);
    if cursor.accept(&["referencing"]) {
        while cursor.is_any(&["old", "new"]) {
            let place = if cursor.is(&["new"]) { &mut new } else { &mut old };
            cursor.advance();
            cursor.accept(&["as"]);
            if place.replace(cursor.name()?).is_some() {
                return Err(cursor.source().near(cursor.last().start));
            }
        }
    }
    for (named, word, without) in [(&old, "OLD", trigger.on_insert), (&new, "NEW", trigger.on_delete)] {
        if let (Some(name), true) = (named, without) {
            let event = if trigger.on_insert { "INSERT" } else { "DELETE" };
            let text = format!("a trigger for {event} has no {word} row");
            return Err(SyntaxError::new("42P17", text).at(name.at.start));
        }
    }
    if cursor.is_any(&["before", "after"]) {
        let what = format!("CREATE TRIGGER … {} (…)", cursor.written().to_uppercase());
        return Err(cursor.unsupported(&what));
    }
    cursor.expect(&["for", "each", "row"])?;
    when(cursor, &mut trigger)?;
    let text = statements(cursor)?;
    if matches!(cursor.peek(), Token::Comma) {
        return Err(cursor.unsupported("several lists of actions in CREATE TRIGGER"));
    }
    parse_body(&text).map_err(|error| SyntaxError { position: None, ..error })?;
    let body = FunctionBody { text, ..body };
    trigger.action = TriggerAction::Statements { old, new, body };
    Ok(Statement::CreateTrigger(Box::new(trigger)))
}

/// `(statement, …)` as the text of a function's body.
fn statements(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let mut text = "BEGIN\n".to_string();
    loop {
        if !is_statement(cursor, 0) {
            return Err(cursor.unexpected());
        }
        let call = cursor.accept(&["execute", "procedure"]) || cursor.accept(&["execute", "function"]);
        let start = cursor.here().start;
        let mut depth = 0;
        loop {
            match cursor.peek() {
                Token::End => return Err(cursor.unexpected()),
                Token::RParen if depth == 0 => break,
                Token::Comma if depth == 0 && is_statement(cursor, 1) => break,
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                Token::Word(_) if call && depth == 0 && cursor.is(&["into"]) => {
                    return Err(cursor.unsupported("EXECUTE PROCEDURE … INTO in CREATE TRIGGER"));
                }
                _ => {}
            }
            cursor.advance();
        }
        let end = cursor.last().end;
        text.push_str(if call { "EXECUTE PROCEDURE " } else { "" });
        text.push_str(cursor.source().slice(Span { start, end }));
        text.push_str(";\n");
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::RParen)?;
    text.push_str("RETURN NULL;\nEND");
    Ok(text)
}

/// Whether a statement starts `n` behind the next token: a comma before it ends the one before.
fn is_statement(cursor: &Cursor<'_>, n: usize) -> bool {
    let two = |first: &str, second: &[&str]| {
        cursor.is_at(n, first) && second.iter().any(|word| cursor.is_at(n + 1, word))
    };
    let update = || {
        let qualified = cursor.peek_at(n + 2) == Token::Period;
        cursor.is_at(n, "update") && cursor.is_at(n + if qualified { 4 } else { 2 }, "set")
    };
    two("insert", &["into"])
        || two("delete", &["from"])
        || two("execute", &["procedure", "function"])
        || update()
}

// ── DROP, ALTER ──────────────────────────────────────────────────────────────────────────────────────────────────

/// `name [ON table] [CASCADE]`, behind DROP TRIGGER [IF EXISTS].
pub(super) fn drop_trigger(cursor: &mut Cursor<'_>, if_exists: bool) -> Result<Statement, SyntaxError> {
    let name = cursor.name()?;
    let table = if cursor.accept(&["on"]) { Some(cursor.qualified()?) } else { None };
    if !cursor.accept(&["cascade"]) {
        cursor.accept(&["restrict"]); // nothing depends on a trigger
    }
    Ok(Statement::DropTrigger(DropTrigger { name, table, if_exists }))
}

/// `name ON table RENAME TO name`, behind ALTER TRIGGER.
pub(super) fn alter_trigger(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let name = cursor.name()?;
    cursor.expect(&["on"])?;
    let table = cursor.qualified()?;
    if cursor.is(&["depends"]) || cursor.is(&["no", "depends"]) {
        return Err(cursor.unsupported("ALTER TRIGGER … DEPENDS ON EXTENSION"));
    }
    cursor.expect(&["rename", "to"])?;
    Ok(Statement::RenameTrigger(RenameTrigger { name, table, to: cursor.name()? }))
}

/// `ENABLE [REPLICA | ALWAYS] TRIGGER …`, `DISABLE TRIGGER …` of ALTER TABLE, if that comes next.
pub(super) fn trigger_action(cursor: &mut Cursor<'_>) -> Result<Option<AlterAction>, SyntaxError> {
    let state = if cursor.accept(&["enable", "trigger"]) {
        TriggerState::Origin
    } else if cursor.accept(&["disable", "trigger"]) {
        TriggerState::Disabled
    } else if cursor.accept(&["enable", "replica", "trigger"]) {
        TriggerState::Replica
    } else if cursor.accept(&["enable", "always", "trigger"]) {
        TriggerState::Always
    } else {
        return Ok(None);
    };
    let which = if cursor.accept(&["all"]) {
        WhichTriggers::All
    } else if cursor.accept(&["user"]) {
        WhichTriggers::User
    } else {
        WhichTriggers::Named(cursor.name()?)
    };
    Ok(Some(AlterAction::Triggers { which, state }))
}
