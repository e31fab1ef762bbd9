//! `a[i] := x` and `a := a || x`: an array that no one else holds is changed where it stands.
//!
//! The general way makes a new array of each assignment, so a loop that fills one would take time quadratic in its length.
//! What is no everyday case (an array that somebody else holds, or with other bounds; a subscript beyond its end) goes to the
//! function that the binder has chosen, with the values that were computed already: nothing is computed twice.

use verso_types::Value;
use verso_types::array::{DIMENSIONS_MAX, ELEMENTS_MAX};

use super::frame::Frame;
use super::short::BodyExpr;
use crate::aggregate::payload;
use crate::error::Result;
use crate::exec::ExecContext;
use crate::functions::arrays::hold_elements;
use crate::functions::subscripts::SET_ELEMENT;
use crate::functions::{Body, BuiltinFunction, ScalarFn};
use crate::plan::{ExprKind, TypedExpr};

/// A variable's array gets an element, or the elements of another one.
pub(super) struct ElementChange {
    slot: usize,
    value: BodyExpr,
    /// The value is an array whose elements come at the end.
    several: bool,
    /// Where; at the end without.
    subscripts: Vec<BodyExpr>,
    general: ScalarFn,
}

impl ElementChange {
    /// The assignment of `value` to the variable in `slot`, if it is one to an element.
    pub fn compile(slot: usize, value: &TypedExpr) -> Option<ElementChange> {
        let ExprKind::Call { function, args } = &value.kind else { return None };
        let general = scalar(function)?;
        let (array, value, subscripts) = match args.as_slice() {
            [array, value, subscripts @ ..] if std::ptr::eq(*function, &raw const SET_ELEMENT) => {
                (array, value, subscripts.iter().map(BodyExpr::compile).collect())
            }
            [array, value] if matches!(function.name, "array_append" | "array_cat") => {
                (array, value, Vec::new())
            }
            _ => return None,
        };
        let own = matches!(array.kind, ExprKind::Parameter(of) if of == slot);
        (own && subscripts.len() <= DIMENSIONS_MAX).then(|| ElementChange {
            slot,
            value: BodyExpr::compile(value),
            several: function.name == "array_cat",
            subscripts,
            general,
        })
    }

    pub fn run(&self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
        let value = self.value.eval(cx, frame)?;
        let mut held = [const { Value::Null }; DIMENSIONS_MAX];
        let subscripts = &mut held[..self.subscripts.len()];
        for (place, subscript) in subscripts.iter_mut().zip(&self.subscripts) {
            *place = subscript.eval(cx, frame)?;
        }
        let array = &mut frame.slots[self.slot];
        let outcome = match self.several {
            true => add_in_place(cx, array, value)?,
            false => set_in_place(cx, array, value, subscripts)?,
        };
        let value = match outcome {
            Outcome::Changed { more, fewer } => {
                frame.begin_row(self.slot);
                return frame.held.change(cx, self.slot, more, fewer);
            }
            Outcome::Not(value) => value,
        };
        let mut args = vec![frame.slots[self.slot].clone(), value];
        args.extend(subscripts.iter().cloned());
        let changed = (self.general)(&cx.eval(), &args)?;
        frame.assign(cx, self.slot, changed)
    }
}

fn scalar(function: &BuiltinFunction) -> Option<ScalarFn> {
    match function.body {
        Body::Scalar(body) => Some(body),
        _ => None,
    }
}

/// What became of a change in place.
enum Outcome {
    /// The array has so many bytes more, and so many fewer.
    Changed { more: usize, fewer: usize },
    /// It takes another array.
    Not(Value),
}

/// Sets the element, or adds it at the end; gives the value back where that takes another array.
fn set_in_place(
    cx: &ExecContext<'_>,
    array: &mut Value,
    value: Value,
    subscripts: &[Value],
) -> Result<Outcome> {
    let Value::Array(array) = array else { return Ok(Outcome::Not(value)) };
    let mut held = [0; DIMENSIONS_MAX];
    let places = &mut held[..subscripts.len()];
    let are_places = subscripts.iter().zip(&mut *places).all(|(subscript, place)| match subscript {
        Value::Int4(number) => {
            *place = *number;
            true
        }
        _ => false,
    });
    if !subscripts.is_empty()
        && are_places
        && let Some(element) = array.at_mut(places)
    {
        let (more, fewer) = (payload(&value), payload(element));
        *element = value;
        return Ok(Outcome::Changed { more, fewer });
    }
    let Some(values) = array.plain_values_mut().filter(|values| !values.is_empty()) else {
        return Ok(Outcome::Not(value));
    };
    // One behind the last.
    let last = i32::try_from(values.len()).ok();
    let behind = match subscripts {
        [] => true,
        [Value::Int4(subscript)] => subscript.checked_sub(1) == last,
        _ => false,
    };
    if !behind || values.len() >= ELEMENTS_MAX {
        return Ok(Outcome::Not(value));
    }
    let more = payload(&value) + make_room(cx, values, 1)?;
    values.push(value);
    Ok(Outcome::Changed { more, fewer: 0 })
}

/// Adds the elements of an array at the end; gives it back where that takes another array.
fn add_in_place(cx: &ExecContext<'_>, array: &mut Value, value: Value) -> Result<Outcome> {
    let (Value::Array(array), Value::Array(added)) = (&mut *array, &value) else {
        return Ok(Outcome::Not(value));
    };
    let own = array.plain_values_mut().filter(|values| !values.is_empty());
    let Some(values) = own.filter(|values| added.is_plain() && values.len() + added.len() <= ELEMENTS_MAX)
    else {
        return Ok(Outcome::Not(value));
    };
    let more = added.iter().map(payload).sum::<usize>() + make_room(cx, values, added.len())?;
    values.extend(added.iter().cloned());
    Ok(Outcome::Changed { more, fewer: 0 })
}

/// Makes room for so many elements behind those that are there; how many bytes it takes.
fn make_room(cx: &ExecContext<'_>, values: &mut Vec<Value>, count: usize) -> Result<usize> {
    let free = values.capacity() - values.len();
    if count <= free {
        return Ok(0);
    }
    // There has to be room for the longer list before it is made.
    let _room = hold_elements(&cx.eval(), values.len() + count)?;
    values.reserve(values.len().max(count));
    Ok((values.capacity() - values.len() - free) * size_of::<Value>())
}
