//! Constraints of columns and tables; SET CONSTRAINTS.

use super::super::lexer::Token;
use verso_types::ReferentialAction;

use super::super::cursor::Cursor;
use super::index::exclude;
use super::index::index_parameters;
use super::place::index_tablespace;
use crate::error::SyntaxError;
use crate::syntax::{
    AlterAction, ConstraintChange, ConstraintClause, ConstraintDefinition, Name, SetConstraints, Span,
    Statement,
};

/// A table constraint, if one comes next.
pub(super) fn table_constraint(cursor: &mut Cursor<'_>) -> Result<Option<ConstraintDefinition>, SyntaxError> {
    let at = cursor.here().start;
    let named = cursor.is(&["constraint"]);
    let first = usize::from(named) * 2;
    let word = cursor.word_at(first).unwrap_or_default();
    let behind_word = cursor.peek_at(first + 1);
    let excludes = word == "exclude"
        && (matches!(behind_word, Token::LParen) || cursor.word_at(first + 1).as_deref() == Some("using"));
    let not_null = word == "not" && cursor.word_at(first + 1).as_deref() == Some("null");
    if !not_null && !excludes && !["primary", "unique", "check", "foreign"].contains(&word.as_str()) {
        return Ok(None);
    }
    let name = if cursor.accept(&["constraint"]) { Some(cursor.name()?) } else { None };
    let clause = match word.as_str() {
        "check" => check(cursor)?,
        "exclude" => ConstraintClause::Exclude(Box::new(exclude(cursor)?)),
        "not" => {
            cursor.expect(&["not", "null"])?;
            ConstraintClause::NotNull(cursor.name()?)
        }
        "foreign" => {
            cursor.expect(&["foreign", "key"])?;
            let columns = key_names(cursor)?;
            references(cursor, columns)?
        }
        _ => unique(cursor, None)?,
    };
    let mut definition = constraint(name, clause, at);
    loop {
        let at = cursor.here().start;
        if no_inherit(cursor, &mut definition) {
            continue;
        }
        if cursor.accept(&["not", "valid"]) {
            let what = match definition.clause {
                ConstraintClause::Unique { primary: true, .. } => Some("PRIMARY KEY"),
                ConstraintClause::Unique { .. } => Some("UNIQUE"),
                ConstraintClause::Exclude(_) => Some("EXCLUDE"),
                _ => None,
            };
            if let Some(what) = what {
                let text = format!("{what} constraints cannot be marked NOT VALID");
                return Err(SyntaxError::new("0A000", text).at(at));
            }
            definition.not_valid = true;
        } else if !properties(cursor, &mut definition)? {
            return Ok(Some(definition));
        }
    }
}

pub(super) fn constraint(name: Option<Name>, clause: ConstraintClause, at: u32) -> ConstraintDefinition {
    ConstraintDefinition {
        name,
        clause,
        deferrable: false,
        initially_deferred: false,
        not_valid: false,
        not_enforced: false,
        no_inherit: false,
        at,
    }
}

pub(in crate::parse) fn check(cursor: &mut Cursor<'_>) -> Result<ConstraintClause, SyntaxError> {
    cursor.expect(&["check"])?;
    cursor.expect_token(&Token::LParen)?;
    let start = cursor.here().start;
    let expr = cursor.expr()?;
    let end = cursor.last().end;
    let text = cursor.source().slice(Span { start, end }).to_string();
    cursor.expect_token(&Token::RParen)?;
    Ok(ConstraintClause::Check(expr, text))
}

/// `NO INHERIT` of a CHECK or NOT NULL; false if it does not come next.
pub(super) fn no_inherit(cursor: &mut Cursor<'_>, constraint: &mut ConstraintDefinition) -> bool {
    let may = matches!(constraint.clause, ConstraintClause::Check(..) | ConstraintClause::NotNull(_));
    let given = may && cursor.accept(&["no", "inherit"]);
    constraint.no_inherit |= given;
    given
}

pub(super) fn unique(
    cursor: &mut Cursor<'_>,
    column: Option<Vec<Name>>,
) -> Result<ConstraintClause, SyntaxError> {
    let primary = cursor.accept(&["primary", "key"]);
    let mut nulls_distinct = true;
    if !primary {
        cursor.expect(&["unique"])?;
        nulls_distinct = nulls_are_distinct(cursor);
    }
    if column.is_none() && cursor.accept(&["using", "index"]) {
        let (columns, include, index) = (Vec::new(), Vec::new(), Some(cursor.name()?));
        return Ok(ConstraintClause::Unique {
            columns,
            primary,
            nulls_distinct: true,
            without_overlaps: false,
            include,
            index,
            options: Vec::new(),
        });
    }
    let of_table = column.is_none();
    let mut without_overlaps = false;
    let columns = match column {
        Some(column) => column,
        None => {
            cursor.expect_token(&Token::LParen)?;
            let names = cursor.list(Cursor::name)?;
            without_overlaps = cursor.accept(&["without", "overlaps"]);
            cursor.expect_token(&Token::RParen)?;
            names
        }
    };
    let include = if of_table && cursor.accept(&["include"]) { names(cursor)? } else { Vec::new() };
    let options = if cursor.accept(&["with"]) { index_parameters(cursor, &["btree"])? } else { Vec::new() };
    index_tablespace(cursor)?;
    let index = None;
    Ok(ConstraintClause::Unique {
        columns,
        primary,
        nulls_distinct,
        without_overlaps,
        include,
        index,
        options,
    })
}

/// `NULLS [NOT] DISTINCT`.
pub(super) fn nulls_are_distinct(cursor: &mut Cursor<'_>) -> bool {
    if cursor.accept(&["nulls", "not", "distinct"]) {
        return false;
    }
    cursor.accept(&["nulls", "distinct"]);
    true
}

pub(super) fn references(
    cursor: &mut Cursor<'_>,
    (columns, period): (Vec<Name>, bool),
) -> Result<ConstraintClause, SyntaxError> {
    cursor.expect(&["references"])?;
    let table = cursor.qualified()?;
    // Without a list, the primary key says whether its last column is a period.
    let (referenced, other_period) = match cursor.peek() {
        Token::LParen => key_names(cursor)?,
        _ => (Vec::new(), period),
    };
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
        period: (period, other_period),
        match_full,
        on_delete: on_delete.unwrap_or_default(),
        on_update: on_update.unwrap_or_default(),
        delete_columns,
    })
}

fn action(cursor: &mut Cursor<'_>) -> Result<ReferentialAction, SyntaxError> {
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

/// `[NOT] DEFERRABLE`, `INITIALLY DEFERRED | IMMEDIATE`, `[NOT] ENFORCED`; false if none comes next.
pub(super) fn properties(
    cursor: &mut Cursor<'_>,
    constraint: &mut ConstraintDefinition,
) -> Result<bool, SyntaxError> {
    let at = cursor.here().start;
    if cursor.accept(&["enforced"]) {
        if constraint.not_enforced {
            return Err(SyntaxError::syntax("conflicting constraint properties").at(at));
        }
        return Ok(true);
    }
    if cursor.accept(&["not", "enforced"]) {
        let what = match constraint.clause {
            ConstraintClause::Check(..) | ConstraintClause::Foreign { .. } => {
                constraint.not_enforced = true;
                return Ok(true);
            }
            ConstraintClause::NotNull(_) => "NOT NULL",
            ConstraintClause::Unique { primary: true, .. } => "PRIMARY KEY",
            ConstraintClause::Unique { .. } => "UNIQUE",
            ConstraintClause::Exclude(_) => "EXCLUDE",
        };
        let text = format!("{what} constraints cannot be marked NOT ENFORCED");
        return Err(SyntaxError::new("0A000", text).at(at));
    }
    let initially = cursor.is(&["initially"]);
    let known = if cursor.accept(&["not", "deferrable"]) {
        constraint.deferrable = false;
        if constraint.initially_deferred {
            let text = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return Err(SyntaxError::syntax(text).at(at));
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
        return Err(SyntaxError::unsupported("a deferrable CHECK").at(at));
    }
    Ok(known)
}

pub(super) fn names(cursor: &mut Cursor<'_>) -> Result<Vec<Name>, SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let names = cursor.list(Cursor::name)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(names)
}

/// `(column, …[, PERIOD column])`; whether the last one is a period.
fn key_names(cursor: &mut Cursor<'_>) -> Result<(Vec<Name>, bool), SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let mut names = vec![cursor.name()?];
    let mut period = false;
    while !period && cursor.accept_token(&Token::Comma) {
        let is_name = matches!(cursor.peek_at(1), Token::Word(_) | Token::Quoted(_));
        period = is_name && cursor.accept(&["period"]);
        names.push(cursor.name()?);
    }
    cursor.expect_token(&Token::RParen)?;
    Ok((names, period))
}

/// ALTER CONSTRAINT, behind ALTER.
pub(super) fn alter_constraint(cursor: &mut Cursor<'_>) -> Result<AlterAction, SyntaxError> {
    cursor.expect(&["constraint"])?;
    let name = cursor.name()?;
    let mut change = ConstraintChange::default();
    loop {
        let at = cursor.here().start;
        let conflict = || Err(SyntaxError::syntax("conflicting constraint properties").at(at));
        if cursor.accept(&["not", "deferrable"]) {
            if change.deferrable.replace(false) == Some(true) {
                return conflict();
            }
        } else if cursor.accept(&["deferrable"]) {
            if change.deferrable.replace(true) == Some(false) {
                return conflict();
            }
        } else if cursor.accept(&["initially", "deferred"]) {
            if change.initially_deferred.replace(true) == Some(false) {
                return conflict();
            }
        } else if cursor.accept(&["initially", "immediate"]) {
            if change.initially_deferred.replace(false) == Some(true) {
                return conflict();
            }
        } else if cursor.accept(&["not", "enforced"]) {
            if change.enforced.replace(false) == Some(true) {
                return conflict();
            }
        } else if cursor.accept(&["enforced"]) {
            if change.enforced.replace(true) == Some(false) {
                return conflict();
            }
        } else if cursor.accept(&["no", "inherit"]) {
            change.inherit = Some(false);
        } else if cursor.accept(&["inherit"]) {
            change.inherit = Some(true);
        } else if cursor.is(&["not", "valid"]) {
            return Err(SyntaxError::new("0A000", "constraints cannot be altered to be NOT VALID").at(at));
        } else {
            return Ok(AlterAction::AlterConstraint { name, change });
        }
        if change.initially_deferred == Some(true) && change.deferrable == Some(false) {
            let text = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
            return Err(SyntaxError::syntax(text).at(at));
        }
    }
}

/// SET CONSTRAINTS, behind SET.
pub fn set_constraints(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["constraints"])?;
    let names = if cursor.accept(&["all"]) { Vec::new() } else { cursor.list(Cursor::qualified)? };
    let deferred = cursor.accept(&["deferred"]);
    if !deferred {
        cursor.expect(&["immediate"])?;
    }
    Ok(Statement::SetConstraints(SetConstraints { names, deferred }))
}
