//! The rows of a result.

use std::collections::VecDeque;
use std::sync::Arc;

use verso_session::OutputColumn;
use verso_types::{Batch, TimeStyle, Value, format_text};

use crate::Error;
use crate::convert::{FromValue, read};

/// The result of a query: an iterator over its [`Row`]s.
///
/// The result is held as columns, so it takes less memory than its rows would.
#[derive(Debug)]
pub struct Rows {
    head: Arc<Head>,
    batches: VecDeque<Batch>,
    /// The next row of the first batch.
    next: usize,
    remaining: usize,
}

/// What all rows of a result share.
#[derive(Debug)]
struct Head {
    columns: Vec<OutputColumn>,
    timezone: TimeStyle,
}

impl Rows {
    pub(crate) fn new(columns: Vec<OutputColumn>, batches: Vec<Batch>, timezone: TimeStyle) -> Rows {
        let remaining = batches.iter().map(|batch| batch.rows).sum();
        Rows { head: Arc::new(Head { columns, timezone }), batches: batches.into(), next: 0, remaining }
    }

    /// The columns: their names and types.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.head.columns
    }

    /// The rows that have not been taken yet, all at once.
    pub fn into_rows(self) -> Vec<Row> {
        self.collect()
    }
}

impl Iterator for Rows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        while self.batches.front().is_some_and(|batch| self.next >= batch.rows) {
            self.batches.pop_front();
            self.next = 0;
        }
        let batch = self.batches.front()?;
        let columns = batch.columns.iter().zip(&self.head.columns);
        let values = columns.map(|(column, output)| column.value(self.next, &output.ty)).collect();
        self.next += 1;
        self.remaining -= 1;
        Some(Row { head: Arc::clone(&self.head), values })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Rows {}

/// A row of a result.
#[derive(Clone, Debug)]
pub struct Row {
    head: Arc<Head>,
    values: Vec<Value>,
}

impl Row {
    /// The value of a column, named by its position from 0 or by its name.
    ///
    /// # Errors
    /// 42703 if there is no such column, 42804 if its type does not fit `T`, 22002 if it is NULL and `T` no `Option`.
    pub fn get<T: FromValue>(&self, column: impl ColumnIndex) -> Result<T, Error> {
        let at = column.find(&self.head.columns)?;
        let output = &self.head.columns[at];
        read(&self.values[at], &output.name, &output.ty)
    }

    /// The text of a value as PostgreSQL prints it; empty for NULL and for a column that is not there.
    pub fn text(&self, column: impl ColumnIndex) -> String {
        let mut text = String::new();
        if let Ok(at) = column.find(&self.head.columns)
            && !matches!(self.values[at], Value::Null)
        {
            format_text(&self.values[at], &self.head.columns[at].ty, &self.head.timezone, &mut text);
        }
        text
    }

    /// All values in the order of the columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The columns: their names and types.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.head.columns
    }
}

/// What names a column of a result: a position from 0, or a name.
pub trait ColumnIndex {
    /// The position.
    ///
    /// # Errors
    /// 42703 if there is no such column.
    fn find(&self, columns: &[OutputColumn]) -> Result<usize, Error>;
}

impl ColumnIndex for usize {
    fn find(&self, columns: &[OutputColumn]) -> Result<usize, Error> {
        if *self < columns.len() {
            return Ok(*self);
        }
        Err(Error::new("42703", format!("the result has {} columns, none at {self}", columns.len())))
    }
}

impl ColumnIndex for &str {
    fn find(&self, columns: &[OutputColumn]) -> Result<usize, Error> {
        let found = columns.iter().position(|column| *column.name == **self);
        found.ok_or_else(|| Error::new("42703", format!("the result has no column \"{self}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verso_types::{Column, SqlType};

    fn rows() -> Rows {
        let columns = vec![OutputColumn::new("id", SqlType::Int4), OutputColumn::new("name", SqlType::Text)];
        let batch = |values: &[(i32, Option<&str>)]| {
            let mut ids = Column::new(SqlType::Int4.physical());
            let mut names = Column::new(SqlType::Text.physical());
            for (id, name) in values {
                ids.push_value(&Value::Int4(*id), &SqlType::Int4).unwrap();
                let name = name.map_or(Value::Null, |name| Value::Text(name.into()));
                names.push_value(&name, &SqlType::Text).unwrap();
            }
            Batch::from_columns(vec![ids, names])
        };
        let batches = vec![batch(&[(1, Some("a")), (2, None)]), batch(&[]), batch(&[(3, Some("c"))])];
        Rows::new(columns, batches, TimeStyle::UTC)
    }

    #[test]
    fn rows_come_in_order_across_batches() {
        let mut rows = rows();
        assert_eq!(rows.len(), 3);
        let first = rows.next().unwrap();
        assert_eq!(first.get::<i32>("id").unwrap(), 1);
        assert_eq!(first.get::<String>(1).unwrap(), "a");
        assert_eq!(rows.len(), 2);
        let second = rows.next().unwrap();
        assert_eq!(second.get::<Option<String>>("name").unwrap(), None);
        assert_eq!((second.text("id"), second.text("name")), ("2".to_string(), String::new()));
        assert_eq!(rows.next().unwrap().values()[0], Value::Int4(3));
        assert!(rows.next().is_none());
    }

    #[test]
    fn a_column_that_is_not_there_is_an_error() {
        let row = rows().next().unwrap();
        assert_eq!(row.get::<i32>("nothing").unwrap_err().sqlstate, "42703");
        assert_eq!(row.get::<i32>(2).unwrap_err().sqlstate, "42703");
        assert_eq!(row.get::<i32>("name").unwrap_err().sqlstate, "42804");
    }
}
