//! Values that a function collects before anybody takes the first: charged as they grow, and cancelled.

use verso_types::{TypeError, Value};

use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::{Reservation, VALUE_BYTES_MAX};

/// Values between two looks.
const STEP: usize = 1 << 12;
/// What a value of its own takes beside its bytes: two counts, and the allocator's share.
const VALUE_BYTES: usize = 32;

/// The rows of a function.
pub(super) type Rows = Box<dyn Iterator<Item = Value> + Send>;

/// Rows that are there, counted until the last is taken.
struct Collected {
    rows: std::vec::IntoIter<Value>,
    _held: Option<Reservation>,
}

impl Iterator for Collected {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        self.rows.next()
    }
}

/// The rows of a function that makes all of them at once.
pub(super) fn rows(cx: &EvalContext<'_>, values: impl Iterator<Item = Result<Value>>) -> Result<Rows> {
    let (rows, held) = collect(cx, values, usize::MAX)?;
    Ok(Box::new(Collected { rows: rows.into_iter(), _held: held }))
}

/// The elements of an array to be made, no more than one may have.
pub(super) fn elements(
    cx: &EvalContext<'_>,
    values: impl Iterator<Item = Result<Value>>,
) -> Result<Vec<Value>> {
    collect(cx, values, VALUE_BYTES_MAX / size_of::<Value>()).map(|(list, _)| list)
}

fn collect(
    cx: &EvalContext<'_>,
    values: impl Iterator<Item = Result<Value>>,
    most: usize,
) -> Result<(Vec<Value>, Option<Reservation>)> {
    let (mut list, mut held, mut parts) = (Vec::new(), None, 0);
    for value in values {
        let value = value?;
        parts += value_bytes(&value);
        if !list.is_empty() && list.len().is_multiple_of(STEP) {
            cx.runtime.check_cancelled()?;
            if list.len() + STEP > most {
                let text = format!("array size exceeds the maximum allowed ({VALUE_BYTES_MAX})");
                return Err(TypeError::new("54000", text).into());
            }
            // An array is a copy of the list, and a list that grows is one of itself.
            let bytes = 2 * list.capacity().max(list.len() + STEP) * size_of::<Value>() + parts;
            held.get_or_insert_with(|| cx.services.memory.account.reserve("an array", u64::MAX))
                .resize(bytes as u64)?;
        }
        list.push(value);
    }
    Ok((list, held))
}

/// What a value takes elsewhere.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() + VALUE_BYTES,
        Value::Array(parts) => parts.iter().map(of_part).sum::<usize>() + 2 * VALUE_BYTES,
        Value::Record(parts) => parts.iter().map(of_part).sum::<usize>() + VALUE_BYTES,
        Value::Jsonb(value) => value.bytes().len() + VALUE_BYTES,
        _ => 0,
    }
}

/// The same for a part of a value, whose own parts are left out.
fn of_part(part: &Value) -> usize {
    size_of::<Value>() + part.as_str().map_or(0, |text| text.len() + VALUE_BYTES)
}
