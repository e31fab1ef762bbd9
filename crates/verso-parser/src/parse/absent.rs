//! DROP of kinds of objects that databases do not have, or have only from the start.

use super::cursor::Cursor;
use super::ddl::cascade;
use crate::error::SyntaxError;
use crate::syntax::{AbsentKind, DropAbsent, QualifiedName, Statement, TypeStatement};

/// Behind DROP: the statement, if its kind is one of them.
pub(super) fn drop_absent(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, SyntaxError> {
    type Simple = (&'static [&'static str], AbsentKind, Named);
    let simple: [Simple; 15] = [
        (&["language"], AbsentKind::Language, Named::Several),
        (&["procedural", "language"], AbsentKind::Language, Named::Several),
        (&["server"], AbsentKind::Server, Named::Several),
        (&["foreign", "table"], AbsentKind::ForeignTable, Named::Qualified),
        (&["foreign", "data", "wrapper"], AbsentKind::ForeignDataWrapper, Named::Several),
        (&["publication"], AbsentKind::Publication, Named::Several),
        (&["subscription"], AbsentKind::Subscription, Named::One),
        (&["tablespace"], AbsentKind::Tablespace, Named::One),
        (&["event", "trigger"], AbsentKind::EventTrigger, Named::Several),
        (&["conversion"], AbsentKind::Conversion, Named::Qualified),
        (&["access", "method"], AbsentKind::AccessMethod, Named::Several),
        (&["text", "search", "parser"], AbsentKind::SearchParser, Named::Qualified),
        (&["text", "search", "dictionary"], AbsentKind::SearchDictionary, Named::Qualified),
        (&["text", "search", "template"], AbsentKind::SearchTemplate, Named::Qualified),
        (&["text", "search", "configuration"], AbsentKind::SearchConfiguration, Named::Qualified),
    ];
    let found = simple.into_iter().find(|(words, ..)| cursor.accept(words));
    let Some((_, kind, named)) = found else { return related(cursor) };
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = match named {
        Named::One => vec![plain(cursor)?],
        Named::Several => cursor.list(plain)?,
        Named::Qualified => cursor.list(Cursor::any_name)?,
    };
    if kind != AbsentKind::Tablespace {
        cascade(cursor);
    }
    Ok(Some(statement(DropAbsent { kind, names, if_exists })))
}

/// How a kind names its objects.
#[derive(Clone, Copy)]
enum Named {
    One,
    Several,
    Qualified,
}

/// Kinds whose objects belong to something else that the statement names.
fn related(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, SyntaxError> {
    let drop = if cursor.accept(&["rule"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        let name = plain(cursor)?;
        cursor.expect(&["on"])?;
        DropAbsent { kind: AbsentKind::Rule(cursor.qualified()?), names: vec![name], if_exists }
    } else if cursor.is(&["operator", "class"]) || cursor.is(&["operator", "family"]) {
        let class = cursor.is(&["operator", "class"]);
        cursor.advance();
        cursor.advance();
        let if_exists = cursor.accept(&["if", "exists"]);
        let name = cursor.any_name()?;
        cursor.expect(&["using"])?;
        let method = cursor.name()?;
        let kind = if class { AbsentKind::OperatorClass(method) } else { AbsentKind::OperatorFamily(method) };
        DropAbsent { kind, names: vec![name], if_exists }
    } else if cursor.accept(&["user", "mapping"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        cursor.expect(&["for"])?;
        let own = ["current_user", "current_role", "session_user", "user", "public"];
        let role = match own.iter().any(|word| cursor.accept(&[word])) {
            true => None,
            false => Some(cursor.label()?),
        };
        cursor.expect(&["server"])?;
        let name = plain(cursor)?;
        let drop = DropAbsent { kind: AbsentKind::UserMapping(role), names: vec![name], if_exists };
        return Ok(Some(statement(drop)));
    } else if cursor.accept(&["transform"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        cursor.expect(&["for"])?;
        let ty = cursor.data_type()?;
        cursor.expect(&["language"])?;
        DropAbsent { kind: AbsentKind::Transform(ty), names: vec![plain(cursor)?], if_exists }
    } else {
        return Ok(None);
    };
    cascade(cursor);
    Ok(Some(statement(drop)))
}

fn plain(cursor: &mut Cursor<'_>) -> Result<QualifiedName, SyntaxError> {
    Ok(QualifiedName { schema: None, name: cursor.name()? })
}

fn statement(drop: DropAbsent) -> Statement {
    Statement::Type(TypeStatement::DropAbsent(drop))
}
