//! FOR UPDATE and its relatives.

use sqlparser::ast;

use super::super::source::Source;
use crate::error::SyntaxError;
use crate::syntax::{LockClause, LockStrength, LockWait, Name};

/// FOR UPDATE and its relatives of the query that starts there.
pub fn lock_clauses(
    locks: Vec<ast::LockClause>,
    source: &Source<'_>,
    start: u32,
) -> Result<Vec<LockClause>, SyntaxError> {
    let mut clauses = Vec::new();
    for ast::LockClause { lock_type, of, nonblock } in locks {
        let taken = source.lock(start).ok_or_else(|| source.near(start))?;
        let strength = match (lock_type, taken.key) {
            (ast::LockType::Update, false) => LockStrength::Update,
            (ast::LockType::Update, true) => LockStrength::NoKeyUpdate,
            (ast::LockType::Share, false) => LockStrength::Share,
            (ast::LockType::Share, true) => LockStrength::KeyShare,
        };
        if of.is_some() {
            return Err(source.near(taken.start));
        }
        let name = |parts: &Vec<Name>| match parts.as_slice() {
            [name] => Ok(name.clone()),
            parts => {
                let text = format!("{} must specify unqualified relation names", strength.as_str());
                Err(SyntaxError::syntax(text).at(parts.first().map_or(taken.start, |part| part.at.start)))
            }
        };
        clauses.push(LockClause {
            strength,
            of: taken.of.iter().map(name).collect::<Result<_, _>>()?,
            wait: match nonblock {
                None => LockWait::Block,
                Some(ast::NonBlock::Nowait) => LockWait::NoWait,
                Some(ast::NonBlock::SkipLocked) => LockWait::SkipLocked,
            },
            at: taken.start,
        });
    }
    Ok(clauses)
}
