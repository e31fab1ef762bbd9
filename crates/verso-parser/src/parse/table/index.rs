//! CREATE INDEX, REINDEX, ANALYZE.

use super::super::lexer::Token;

use super::super::cursor::Cursor;
use super::super::ddl::if_not_exists;
use super::column::collate;
use super::constraint::{names, nulls_are_distinct};
use super::storage_parameters;
use crate::error::SyntaxError;
use crate::syntax::{Analyze, CreateIndex, Name, QualifiedName, Statement};

/// CREATE [UNIQUE] INDEX, behind CREATE.
pub fn create_index(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
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
            return Err(SyntaxError::unsupported(format!("an index USING {method}")).at(at));
        }
    }
    cursor.expect_token(&Token::LParen)?;
    let parts = cursor.list(index_part)?;
    cursor.expect_token(&Token::RParen)?;
    if cursor.is(&["include"]) {
        return Err(cursor.unsupported("INCLUDE"));
    }
    let nulls_distinct = nulls_are_distinct(cursor);
    let mut parallel = None;
    if cursor.accept(&["with"]) {
        let given = storage_parameters(cursor)?;
        let workers = given.iter().find(|(name, _)| name == "parallel_workers");
        parallel = workers.and_then(|(_, value)| value.parse().ok());
    }
    for (word, what) in [("where", "a partial index (WHERE)"), ("tablespace", "TABLESPACE")] {
        if cursor.is(&[word]) {
            return Err(cursor.unsupported(what));
        }
    }
    Ok(Statement::CreateIndex(CreateIndex {
        name,
        if_not_exists,
        unique,
        nulls_distinct,
        table,
        parts,
        parallel,
    }))
}

fn index_part(cursor: &mut Cursor<'_>) -> Result<(Name, bool, bool), SyntaxError> {
    if matches!(cursor.peek(), Token::LParen) || matches!(cursor.peek_at(1), Token::LParen) {
        return Err(cursor.unsupported("an index on an expression"));
    }
    let name = cursor.name()?;
    if cursor.is(&["collate"]) {
        collate(cursor)?;
    }
    // Texts are ordered by their bytes, which is what these classes ask for.
    let by_bytes = ["text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops"];
    if !by_bytes.iter().any(|class| cursor.accept(&[class]))
        && cursor.word().is_some_and(|word| word.ends_with("_ops"))
    {
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
pub fn reindex(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["reindex"])?;
    let parallel = reindex_options(cursor)?;
    let index = cursor.accept(&["index"]);
    if !index && !cursor.accept(&["table"]) {
        let what = cursor.word().unwrap_or_default().to_uppercase();
        return Err(cursor.unsupported(&format!("REINDEX {what}")));
    }
    if cursor.is(&["concurrently"]) {
        return Err(cursor.unsupported("REINDEX … CONCURRENTLY"));
    }
    Ok(Statement::Reindex { index, name: cursor.qualified()?, parallel })
}

/// `(PARALLEL n, VERBOSE)`, behind REINDEX: the workers asked for.
fn reindex_options(cursor: &mut Cursor<'_>) -> Result<Option<u32>, SyntaxError> {
    let mut parallel = None;
    if !cursor.accept_token(&Token::LParen) {
        return Ok(parallel);
    }
    cursor.list(|cursor| {
        let at = cursor.here().start;
        if cursor.accept(&["parallel"]) {
            let workers = cursor.integer()?;
            let fits = u32::try_from(workers).ok().filter(|workers| (1..=1024).contains(workers));
            let error = || SyntaxError::new("22023", "PARALLEL must be between 1 and 1024").at(at);
            parallel = Some(fits.ok_or_else(error)?);
            return Ok(());
        }
        match cursor.word().as_deref() {
            Some(word @ ("verbose" | "concurrently" | "tablespace")) => {
                Err(cursor.unsupported(&format!("REINDEX ({})", word.to_uppercase())))
            }
            Some(word) => Err(SyntaxError::syntax(format!("unrecognized REINDEX option \"{word}\"")).at(at)),
            None => Err(cursor.unexpected()),
        }
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(parallel)
}

/// `ANALYZE [(VERBOSE) | VERBOSE] [table [(column, …)], …]`.
pub fn analyze(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let mut verbose = false;
    if matches!(cursor.peek(), Token::LParen) {
        cursor.advance();
        cursor.list(|cursor| {
            let at = cursor.here().start;
            let Some(word) = cursor.word() else { return Err(cursor.unexpected()) };
            match word.as_str() {
                "verbose" => {
                    cursor.advance();
                    let off = cursor.accept(&["off"]) || cursor.accept(&["false"]);
                    verbose = !off;
                    if !off && !cursor.accept(&["on"]) {
                        cursor.accept(&["true"]);
                    }
                    Ok(())
                }
                "skip_locked" | "buffer_usage_limit" => {
                    Err(cursor.unsupported(&format!("ANALYZE ({})", word.to_uppercase())))
                }
                _ => Err(SyntaxError::syntax(format!("unrecognized ANALYZE option \"{word}\"")).at(at)),
            }
        })?;
        cursor.expect_token(&Token::RParen)?;
    } else {
        verbose = cursor.accept(&["verbose"]);
    }
    Ok(Statement::Analyze(Analyze { verbose, tables: analyzed(cursor)? }))
}

/// Tables to analyze, with columns.
pub fn analyzed(cursor: &mut Cursor<'_>) -> Result<Vec<(QualifiedName, Vec<Name>)>, SyntaxError> {
    if cursor.at_end() {
        return Ok(Vec::new());
    }
    cursor.list(|cursor| {
        let table = cursor.qualified()?;
        let columns = match cursor.peek() {
            Token::LParen => names(cursor)?,
            _ => Vec::new(),
        };
        Ok((table, columns))
    })
}
