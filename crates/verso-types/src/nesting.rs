//! How far rows may stand in rows.
//!
//! The type of an anonymous row says nothing of its depth: `r := row(r)` makes it deeper with every turn of a loop. The text
//! of a row has the rows in it in quotes and doubles the quotes that are there already, so that each level doubles the
//! text, and whatever walks a value goes down level by level. Who builds a row of values asks here first; then all that
//! reads, compares, writes or drops it meets few levels and a text that can be.
//!
//! 1. Each value in a row has passed [`check_fields`], and rows nest at most [`LEVELS_MAX`] levels deep.
//! 2. The quotes in a row's text, doubled as often as it is nested, are less than [`QUOTES_MAX`].

use crate::error::TypeError;
use crate::sqlstate;
use crate::value::Value;

/// Levels of rows in a row. Quotes alone make 32 MiB of a row's text then.
const LEVELS_MAX: u32 = 24;

/// PostgreSQL's longest text.
const QUOTES_MAX: u64 = (1 << 30) - 1;

/// Whether a row may be made of these values.
///
/// # Errors
/// 54001 where rows would nest too deeply, 54000 where the row's text would be too long.
pub fn check_fields(fields: &[Value]) -> Result<(), TypeError> {
    let mut quotes = Quotes { left: QUOTES_MAX };
    fields.iter().filter(|field| nests(field)).try_for_each(|field| quotes.field(field, 1, 0))
}

/// May there be a row in it?
fn nests(value: &Value) -> bool {
    matches!(value, Value::Record(_) | Value::Array(_))
}

/// The quotes that a text may still have.
struct Quotes {
    left: u64,
}

impl Quotes {
    /// Counts the quotes that a field needs, within so many levels of rows; each quote in it is written so many times.
    fn field(&mut self, value: &Value, times: u64, level: u32) -> Result<(), TypeError> {
        match value {
            Value::Record(fields) => self.row(fields, times, level),
            Value::Array(values) => {
                // All elements are of one type: of most types there is nothing to count.
                let first = values.iter().find(|value| !value.is_null());
                match first {
                    Some(Value::Record(_)) => {}
                    Some(Value::Text(_) | Value::Jsonb(_)) if level > 0 => {}
                    _ => return Ok(()),
                }
                // An array writes a backslash before each quote, and the row around it doubles both.
                let times = times.saturating_mul(2);
                values.iter().try_for_each(|value| match value {
                    Value::Record(fields) => self.row(fields, times, level),
                    value => self.leaf(value, times),
                })
            }
            value => self.leaf(value, times),
        }
    }

    fn row(&mut self, fields: &[Value], times: u64, level: u32) -> Result<(), TypeError> {
        if level == LEVELS_MAX {
            return Err(too_deep());
        }
        self.spend(times.saturating_mul(2))?;
        let times = times.saturating_mul(2);
        fields.iter().try_for_each(|field| self.field(field, times, level + 1))
    }

    /// Counts what is doubled in the text of a value that is no row; of `jsonb` about as many as its bytes may be.
    fn leaf(&mut self, value: &Value, times: u64) -> Result<(), TypeError> {
        let doubled = match value {
            Value::Text(text) => text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count(),
            Value::Jsonb(json) => json.bytes().len() / 8,
            _ => return Ok(()),
        };
        self.spend(times.saturating_mul(doubled as u64))
    }

    fn spend(&mut self, quotes: u64) -> Result<(), TypeError> {
        self.left = self.left.checked_sub(quotes).ok_or_else(too_long)?;
        Ok(())
    }
}

#[cold]
fn too_deep() -> TypeError {
    TypeError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .with_detail(format!("Rows nest in a row at most {LEVELS_MAX} levels deep."))
}

#[cold]
fn too_long() -> TypeError {
    TypeError::new(
        sqlstate::PROGRAM_LIMIT_EXCEEDED,
        "string buffer exceeds maximum allowed length (1073741823 bytes)",
    )
    .with_detail("Each level of rows doubles the quotes in the text of a row.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of the row that a step makes again and again of the row before it, and why no more.
    fn levels(first: Value, step: impl Fn(Value) -> Vec<Value>) -> (u32, &'static str) {
        let mut row = Value::Record([first].into());
        for level in 0..100 {
            let fields = step(row);
            if let Err(error) = check_fields(&fields) {
                return (level, error.sqlstate);
            }
            row = Value::Record(fields.into());
        }
        (100, "")
    }

    #[test]
    fn rows_in_rows_end_before_their_texts_do() {
        assert_eq!(levels(Value::Int4(1), |row| vec![row]), (24, "54001"));
        // Two of each level are a text that is four times as long.
        assert_eq!(levels(Value::Int4(1), |row| vec![row.clone(), row]), (14, "54000"));
        assert!(levels(Value::Int4(1), |row| vec![Value::Array(vec![row].into())]).0 < 24);
        assert!(levels(Value::text(&"\"".repeat(1 << 16)), |row| vec![row]).0 < 14);
    }

    #[test]
    fn flat_rows_may_hold_anything() {
        let long = Value::text(&"\"".repeat(1 << 20));
        let row = vec![Value::Int4(1), long.clone(), Value::Array(vec![long; 3].into())];
        assert_eq!(check_fields(&row), Ok(()));
        assert_eq!(check_fields(&[Value::Record(row.into())]), Ok(()));
    }
}
