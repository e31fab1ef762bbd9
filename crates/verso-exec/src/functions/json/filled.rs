//! Arrays from JSON: what a column of an array type gets in `json_to_record` and its relatives.
//!
//! 1. The first elements say how many dimensions there are: as many as arrays begin within one another. What stands deeper is a
//!    value of the element type, also where it is an array; what is no array above is an error.
//! 2. Arrays of one dimension are of one length.

use verso_env::stack;
use verso_types::array::Dimension;
use verso_types::{Array, SqlType, TimeStyle, TypeError, Value, json};

use super::expand::column_value;
use crate::error::{ExecError, Result};

/// An array that is being filled.
struct Filling<'a> {
    element: &'a SqlType,
    /// The key of the object whose value the array is.
    key: Option<&'a str>,
    tz: &'a TimeStyle,
    values: Vec<Value>,
    /// Of each dimension how many places of the array at hand are filled; empty until their number is known (1).
    filled: Vec<usize>,
    /// How long the arrays of each dimension are, once one has ended (2).
    lengths: Vec<Option<usize>>,
}

/// The array that a JSON array stands for, as its text.
pub(super) fn array_of(raw: &str, element: &SqlType, key: Option<&str>, tz: &TimeStyle) -> Result<Value> {
    let mut filling =
        Filling { element, key, tz, values: Vec::new(), filled: Vec::new(), lengths: Vec::new() };
    filling.fill(raw, 1)?;
    let Filling { values, filled, mut lengths, .. } = filling;
    if values.is_empty() {
        return Ok(Value::Array(Array::default()));
    }
    if let (Some(first), Some(count)) = (lengths.first_mut(), filled.first()) {
        *first = Some(*count);
    }
    let dimension = |length: Option<usize>| Dimension {
        // More elements than that are no array.
        length: length.unwrap_or_default().try_into().unwrap_or(i32::MAX),
        lower: 1,
    };
    let dimensions: Vec<Dimension> = lengths.into_iter().map(dimension).collect();
    Ok(Value::Array(Array::shaped(values, &dimensions)?))
}

impl Filling<'_> {
    /// Takes the elements of an array that is that deep.
    fn fill(&mut self, raw: &str, depth: usize) -> Result<()> {
        stack::check()?;
        let Some(elements) = json::elements(raw)? else { return Err(self.no_array(depth - 1)) };
        let goes_on = elements.first().is_some_and(|first| first.trim_start().starts_with('['));
        if self.filled.is_empty() && !goes_on {
            self.filled = vec![0; depth];
            self.lengths = vec![None; depth];
        }
        for element in elements {
            if self.filled.is_empty() || depth < self.filled.len() {
                self.fill(element, depth + 1)?;
                self.end(depth)?;
            } else {
                self.values.push(column_value(element, self.element, &Value::Null, None, self.tz)?);
                self.filled[depth - 1] += 1;
            }
        }
        Ok(())
    }

    /// Ends an array within one that is that deep.
    fn end(&mut self, depth: usize) -> Result<()> {
        let length = std::mem::take(&mut self.filled[depth]);
        if *self.lengths[depth].get_or_insert(length) != length {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return Err(TypeError::new("22P02", "malformed JSON array").with_detail(detail).into());
        }
        self.filled[depth - 1] += 1;
        Ok(())
    }

    /// 22P02: the value at hand of an array that is that deep, or with 0 the whole.
    fn no_array(&self, depth: usize) -> ExecError {
        let places: String = self.filled.iter().take(depth).map(|place| format!("[{place}]")).collect();
        let error = TypeError::new("22P02", "expected JSON array");
        let hint = match (places.as_str(), self.key) {
            ("", None) => return error.into(),
            ("", Some(key)) => format!("See the value of key \"{key}\"."),
            (places, None) => format!("See the array element {places}."),
            (places, Some(key)) => format!("See the array element {places} of key \"{key}\"."),
        };
        error.with_hint(&hint).into()
    }
}
