//! Where tables and indexes are stored: there is one tablespace and one access method of tables, which statements may name.

use super::super::cursor::Cursor;
use crate::error::SyntaxError;
use crate::syntax::Name;

/// The access methods of indexes, which no table has.
const OF_INDEXES: [&str; 6] = ["btree", "hash", "gin", "gist", "brin", "spgist"];

/// `[USING heap]`.
pub(in crate::parse) fn access_method(cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
    if !cursor.accept(&["using"]) {
        return Ok(());
    }
    named_method(cursor)
}

/// The name of an access method of tables.
pub(super) fn named_method(cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
    let Name { text: name, at } = cursor.name()?;
    match name.as_str() {
        "heap" => Ok(()),
        name if OF_INDEXES.contains(&name) => {
            let text = format!("access method \"{name}\" is not of type TABLE");
            Err(SyntaxError::new("55000", text).at(at.start))
        }
        name => {
            let text = format!("access method \"{name}\" does not exist");
            Err(SyntaxError::new("42704", text).at(at.start))
        }
    }
}

/// `[TABLESPACE pg_default]`; whether one is named.
pub(in crate::parse) fn tablespace(cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
    if !cursor.accept(&["tablespace"]) {
        return Ok(false);
    }
    named_tablespace(cursor).map(|()| true)
}

/// The name of a tablespace.
pub(in crate::parse) fn named_tablespace(cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
    let Name { text: name, at } = cursor.name()?;
    match name.as_str() {
        "pg_default" => Ok(()),
        "pg_global" => {
            let text = "only shared relations can be placed in pg_global tablespace";
            Err(SyntaxError::new("22023", text).at(at.start))
        }
        name => {
            let text = format!("tablespace \"{name}\" does not exist");
            Err(SyntaxError::new("42704", text).at(at.start))
        }
    }
}

/// `[USING INDEX TABLESPACE pg_default]`, behind a constraint.
pub(super) fn index_tablespace(cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
    if !cursor.accept(&["using", "index", "tablespace"]) {
        return Ok(());
    }
    named_tablespace(cursor)
}
