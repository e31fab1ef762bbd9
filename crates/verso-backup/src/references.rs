//! Columns whose values name objects by number, as `regclass` and its relatives do, also within arrays, rows, ranges and domains.
//! Another database has other numbers, so an archive holds their texts: names with their schema.
//!
//! R1. Functions and operators are named with their arguments, whatever the type: a name alone may mean several.
//! R2. A name whose object is made behind the rows (an index, a view) stands for a number that no object has until that object is
//!     there: [`References::settle`] puts in the right one. There are as many such names as objects at most.

use std::collections::HashMap;
use std::sync::Arc;

use verso_env::sync::Mutex;
use verso_exec::functions::quote_ident;
use verso_types::names::{self, ObjectNames};
use verso_types::{
    Column, RowType, SqlType, SystemType, TimeStyle, TypeError, Value, format_text, parse_text,
};
use versodb::{Connection, Error};

use crate::archive::contents::TableOf;
use crate::error::{BackupError, Part};

/// Whether values of a type name objects.
pub(crate) fn names_objects(ty: &SqlType) -> bool {
    match ty {
        SqlType::System(ty) => ty.is_reference(),
        SqlType::Array(element) => names_objects(element),
        SqlType::Row(row) => row.fields.iter().any(|(_, ty)| names_objects(ty)),
        SqlType::Domain(domain) => names_objects(&domain.base),
        SqlType::Range(range) | SqlType::Multirange(range) => {
            range.own_name(false).is_some() && names_objects(&range.subtype())
        }
        _ => false,
    }
}

/// The type with the texts that the archive has (R1).
fn saved(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::System(SystemType::Regproc) => SqlType::System(SystemType::Regprocedure),
        SqlType::System(SystemType::Regoper) => SqlType::System(SystemType::Regoperator),
        SqlType::Array(element) => SqlType::Array(Box::new(saved(element))),
        SqlType::Domain(domain) => saved(&domain.base),
        SqlType::Row(row) => {
            let fields = row.fields.iter().map(|(name, ty)| (Arc::clone(name), saved(ty)));
            SqlType::Row(Arc::new(RowType { of: row.of.clone(), fields: fields.collect(), declared: None }))
        }
        other => other.clone(),
    }
}

/// The column with texts for values. The thread has the names of the database.
pub(crate) fn to_texts(column: &Column, ty: &SqlType) -> Result<Column, TypeError> {
    let ty = saved(ty);
    let mut texts = Column::new(SqlType::Text.physical());
    let mut text = String::new();
    for row in 0..column.len() {
        let value = column.value(row, &ty);
        if value.is_null() {
            texts.push_null();
            continue;
        }
        text.clear();
        format_text(&value, &ty, &TimeStyle::UTC, &mut text);
        texts.push_value(&Value::text(&text), &SqlType::Text)?;
    }
    Ok(texts)
}

/// A column with names that mean nothing yet.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Waiting {
    table: String,
    column: String,
    ty: SystemType,
    of_array: bool,
    name: String,
}

/// What the names of an archive mean in the database that its rows go into.
pub(crate) struct References {
    names: Option<Arc<dyn ObjectNames>>,
    /// The names that mean nothing yet, with the numbers that stand for them; none where all have to be there.
    waiting: Option<Mutex<HashMap<Waiting, u32>>>,
}

impl References {
    /// Those that the session of this thread has lent it; `later`, whether objects come behind the rows.
    pub fn lent(later: bool) -> References {
        References { names: names::lent(), waiting: later.then(Mutex::default) }
    }

    /// The rows' columns that hold texts for values of these types, as values.
    pub fn read(
        &self,
        columns: &mut [Column],
        table: &TableOf,
        types: &[SqlType],
        part: Part,
    ) -> Result<(), BackupError> {
        if let Some(names) = &self.names {
            names::lend(names);
        }
        for (place, (column, of)) in columns.iter_mut().zip(&table.columns).enumerate() {
            if !of.named {
                continue;
            }
            let ty = saved(&types[place]);
            let mut values = Column::new(ty.physical());
            for row in 0..column.len() {
                if column.nulls.is_null(row) {
                    values.push_null();
                    continue;
                }
                let text = column.data.bytes().and_then(|texts| std::str::from_utf8(texts.get(row)).ok());
                let text = text.ok_or_else(|| BackupError::damaged(part, "a text is not UTF-8"))?;
                let value = self.value(text, &ty, table, place).map_err(|error| {
                    let at = format!("column {} of table {}.{}", of.name, table.schema, table.name);
                    BackupError::from(Error::new(error.sqlstate, format!("{}: {at}", error.message)))
                })?;
                values.push_value(&value, &ty)?;
            }
            *column = values;
        }
        Ok(())
    }

    fn value(&self, text: &str, ty: &SqlType, table: &TableOf, column: usize) -> Result<Value, TypeError> {
        match ty {
            SqlType::System(system) if system.is_reference() => self.one(text, *system, table, column, false),
            SqlType::Array(element) if let SqlType::System(system) = **element => {
                let texts = parse_text(&SqlType::Array(Box::new(SqlType::Text)), text, &TimeStyle::UTC)?;
                let Value::Array(texts) = texts else { return Ok(Value::Null) };
                let one = |text: &Value| match text {
                    Value::Text(text) => self.one(text, system, table, column, true),
                    _ => Ok(Value::Null),
                };
                let values = texts.iter().map(one).collect::<Result<Vec<Value>, TypeError>>()?;
                Ok(Value::Array(texts.with_values(values)))
            }
            ty => parse_text(ty, text, &TimeStyle::UTC),
        }
    }

    /// The number of an object, or the one that stands for its name (R2).
    fn one(
        &self,
        text: &str,
        ty: SystemType,
        table: &TableOf,
        column: usize,
        of_array: bool,
    ) -> Result<Value, TypeError> {
        let error = match names::parse_reference(ty, text) {
            Ok(number) => return Ok(Value::Int8(number)),
            Err(error) => error,
        };
        let of = &table.columns[column];
        let is_missing = matches!(error.sqlstate, "42P01" | "42704" | "42883" | "3F000");
        let Some(waiting) = self.waiting.as_ref().filter(|_| is_missing && !of.generated) else {
            return Err(error);
        };
        let waits = Waiting {
            table: format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name)),
            column: quote_ident(&of.name),
            ty,
            of_array,
            name: text.to_owned(),
        };
        let mut waiting = waiting.lock();
        let next = u32::MAX - u32::try_from(waiting.len()).unwrap_or(0);
        Ok(Value::Int8((*waiting.entry(waits).or_insert(next)).into()))
    }

    /// Puts in the numbers of objects that are there now. `last`: those that are not are missing.
    pub fn settle(&self, connection: &mut Connection, last: bool) -> Result<(), BackupError> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        let all: Vec<(Waiting, u32)> = waiting.lock().drain().collect();
        for (waits, number) in all {
            let Waiting { table, column, ty, of_array, name } = &waits;
            let literal = name.replace('\'', "''");
            let found = connection
                .query(&format!("SELECT E'{}'::{}::oid::bigint", literal.replace('\\', "\\\\"), ty.name()))
                .and_then(|rows| rows.into_rows().first().map_or(Ok(0), |row| row.get::<i64>(0)));
            let found = match found {
                Ok(found) => found,
                Err(error) if last => {
                    let text = format!("{}: column {column} of table {table}", error.message);
                    return Err(Error::new(error.sqlstate, text).into());
                }
                Err(_) => {
                    waiting.lock().insert(waits, number);
                    continue;
                }
            };
            let sql = match of_array {
                false => format!("UPDATE {table} SET {column} = {found}::oid WHERE {column}::oid = {number}"),
                true => format!(
                    "UPDATE {table} SET {column} = array_replace({column}::oid[], {number}::oid, {found}::oid)::{}[] \
                     WHERE {column}::oid[] @> ARRAY[{number}::oid]",
                    ty.name()
                ),
            };
            connection.execute(&sql)?;
        }
        Ok(())
    }
}
