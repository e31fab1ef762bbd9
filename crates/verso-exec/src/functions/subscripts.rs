//! Subscripts and slices of arrays: reading them, and storing to them.
//!
//! The binder writes `a[i][j]` as a call of [`ELEMENT`] and `a[1:2][:3]` as one of [`SLICE`]; the target of an assignment
//! becomes the new value of the whole array by [`SET_ELEMENT`] and [`SET_SLICE`]. Their operators cannot be written. Points and
//! other values of a fixed number of parts ([`parts_of`]) are subscripted from 0.

use verso_types::array::{element_count, offset};
use verso_types::geometry::{part, with_part};
use verso_types::{Array, Dimension, SqlType, SystemType, TypeError, Value};

use super::arrays::{hold_elements, subscript_error};
use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, ScalarFn, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

const fn entry(
    operator: &'static str,
    args: &'static [ArgType],
    result: ResultType,
    strict: bool,
    body: ScalarFn,
) -> BuiltinFunction {
    BuiltinFunction {
        name: "",
        operator: Some(operator),
        args,
        variadic: true,
        result,
        strict,
        volatility: Volatility::Immutable,
        body: Body::Scalar(body),
        kernel: None,
    }
}

/// The last byte of a name, which is a zero.
const NAME_MAX: usize = 63;

const INT4: ArgType = ArgType::Exact(SqlType::Int4);

/// `array[i]…`: array, subscripts. NULL where there is no such place.
pub static ELEMENT: BuiltinFunction =
    entry("[]", &[ArgType::AnyArray, INT4], ResultType::ElementOf(0), true, element);
/// `array[a:b]…`: array, which bounds are given (bit 2n for the lower one of dimension n, 2n + 1 for the upper one), and
/// for each dimension both bounds, anything for one not given.
pub static SLICE: BuiltinFunction =
    entry("[:]", &[ArgType::AnyArray, INT4, INT4], ResultType::SameAs(0), true, slice);
/// `array[i]… = value`: array, value, subscripts.
pub static SET_ELEMENT: BuiltinFunction =
    entry("[]=", &[ArgType::AnyArray, ArgType::AnyElement, INT4], ResultType::SameAs(0), false, set_element);
/// `array[a:b]… = values`: array, values, and as [`SLICE`].
pub static SET_SLICE: BuiltinFunction = entry(
    "[:]=",
    &[ArgType::AnyArray, ArgType::AnyArray, INT4, INT4],
    ResultType::SameAs(0),
    false,
    set_slice,
);

/// `name[i]`: the bytes of a name are counted from 0, and behind its end there are zeros.
pub static NAME_BYTE: BuiltinFunction = entry(
    "[]",
    &[ArgType::Exact(SqlType::Name), INT4],
    ResultType::Fixed(SqlType::System(SystemType::Char)),
    true,
    name_byte,
);

/// What reads and what writes parts of a type with a fixed number of them.
pub struct Parts {
    /// `value[i]`: NULL where there is no such part.
    pub read: BuiltinFunction,
    /// `value[i] = part`: value, part, subscript.
    pub write: BuiltinFunction,
}

macro_rules! parts {
    ($($ty:ident $part:expr;)*) => {
        [$((SystemType::$ty, Parts {
            read: entry(
                "[]",
                &[ArgType::Exact(SqlType::System(SystemType::$ty)), INT4],
                ResultType::Fixed($part),
                true,
                part_of,
            ),
            write: entry(
                "[]=",
                &[ArgType::Exact(SqlType::System(SystemType::$ty)), ArgType::Exact($part), INT4],
                ResultType::SameAs(0),
                false,
                set_part,
            ),
        }),)*]
    };
}

static PARTS: [(SystemType, Parts); 4] = parts! {
    Point SqlType::Float8;
    Line SqlType::Float8;
    Lseg SqlType::System(SystemType::Point);
    Box SqlType::System(SystemType::Point);
};

/// How parts of a type are read and written; `None` where it has no subscripts.
#[must_use]
pub fn parts_of(ty: SystemType) -> Option<&'static Parts> {
    PARTS.iter().find(|(of, _)| *of == ty).map(|(_, parts)| parts)
}

/// More than one subscript means nothing here.
fn part_of(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Opaque(value), Value::Int4(at)] => Ok(part(value, *at).unwrap_or(Value::Null)),
        [Value::Opaque(_), ..] => Ok(Value::Null),
        _ => Err(unexpected("a subscript", args)),
    }
}

/// Neither a NULL gets a part nor a part becomes NULL: the value stays as it is.
fn set_part(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value, part, places @ ..] = args else { return Err(unexpected("a subscript", args)) };
    let places = target_subscripts(places)?;
    match (value, part, places.as_slice()) {
        (Value::Null, ..) | (_, Value::Null, _) => Ok(value.clone()),
        (Value::Opaque(value), part, [at]) => Ok(Value::Opaque(with_part(value, *at, part)?)),
        _ => Err(subscript_error("wrong number of array subscripts")),
    }
}

fn name_byte(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(name), Value::Int4(index)] = args else { return Err(unexpected("a subscript", args)) };
    let Some(at) = usize::try_from(*index).ok().filter(|at| *at <= NAME_MAX) else { return Ok(Value::Null) };
    Ok(match name.as_bytes().get(at) {
        None => Value::text(""),
        Some(byte) if byte.is_ascii() => Value::text(char::from(*byte).encode_utf8(&mut [0; 4])),
        Some(byte) => Value::text(&format!("\\{byte:03o}")),
    })
}

fn subscripts(args: &[Value]) -> Result<Vec<i32>> {
    let number = |arg: &Value| match arg {
        Value::Int4(number) => Ok(*number),
        _ => Err(unexpected("a subscript", args)),
    };
    args.iter().map(number).collect()
}

/// Those of an assignment, which are not NULL.
fn target_subscripts(args: &[Value]) -> Result<Vec<i32>> {
    if args.iter().any(Value::is_null) {
        return Err(TypeError::new("22004", "array subscript in assignment must not be null").into());
    }
    subscripts(args)
}

fn element(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Array(array), Value::Int4(index)] => Ok(array.at(&[*index]).cloned().unwrap_or(Value::Null)),
        [Value::Array(array), rest @ ..] => Ok(array.at(&subscripts(rest)?).cloned().unwrap_or(Value::Null)),
        _ => Err(unexpected("a subscript", args)),
    }
}

/// For each dimension the first place that is meant, and how many; none where that is nothing.
type Places = Vec<(usize, usize)>;

/// The bounds that a slice means: of dimensions that it does not name all places.
fn bounds(dimensions: &[Dimension], given: i32, values: &[i32]) -> Vec<(i32, i32)> {
    let bound = |(n, dimension): (usize, &Dimension)| {
        let value = |at: usize, other: i32| {
            if given >> at & 1 == 1 { values.get(at).copied().unwrap_or(other) } else { other }
        };
        (value(2 * n, dimension.lower), value(2 * n + 1, dimension.upper()))
    };
    dimensions.iter().enumerate().map(bound).collect()
}

/// Calls `visit` with the offset and length of each run of neighbours among the places.
fn runs(dimensions: &[Dimension], places: &[(usize, usize)], mut visit: impl FnMut(usize, usize)) {
    let Some(((first, length), outer)) = places.split_last() else { return };
    let mut at = vec![0; outer.len()];
    loop {
        let mut start = 0;
        for ((dimension, (first, _)), at) in dimensions.iter().zip(outer).zip(&at) {
            start = start * dimension.length as usize + first + at;
        }
        let inner = dimensions.get(outer.len()).map_or(0, |dimension| dimension.length as usize);
        visit(start * inner + first, *length);
        let mut level = outer.len();
        loop {
            let Some(next) = level.checked_sub(1) else { return };
            level = next;
            at[level] += 1;
            if at[level] < outer[level].1 {
                break;
            }
            at[level] = 0;
        }
    }
}

fn slice(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), Value::Int4(given), rest @ ..] = args else {
        return Err(unexpected("a slice", args));
    };
    let values = subscripts(rest)?;
    Ok(Value::Array(slice_of(array, *given, &values)?))
}

/// The slice of an array; nothing where the array has fewer dimensions.
pub(super) fn slice_of(array: &Array, given: i32, values: &[i32]) -> Result<Array> {
    let dimensions = array.dimensions();
    if dimensions.len() < values.len() / 2 || dimensions.is_empty() {
        return Ok(Array::default());
    }
    let mut places: Places = Vec::with_capacity(dimensions.len());
    let mut shape = Vec::with_capacity(dimensions.len());
    for (dimension, (lower, upper)) in dimensions.iter().zip(bounds(&dimensions, given, values)) {
        let (lower, upper) = (lower.max(dimension.lower), upper.min(dimension.upper()));
        if lower > upper {
            return Ok(Array::default());
        }
        let length = upper - lower + 1;
        places.push(((lower - dimension.lower) as usize, length as usize));
        shape.push(Dimension { length, lower: 1 });
    }
    let mut kept = Vec::with_capacity(element_count(&shape)?);
    runs(&dimensions, &places, |start, length| kept.extend_from_slice(&array[start..start + length]));
    Ok(Array::shaped(kept, &shape)?)
}

/// The array that is changed: NULL counts as one without elements.
fn target(array: &Value) -> Result<Array> {
    match array {
        Value::Null => Ok(Array::default()),
        Value::Array(array) => Ok(array.clone()),
        other => Err(unexpected("an assignment", std::slice::from_ref(other))),
    }
}

fn set_element(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array, value, rest @ ..] = args else { return Err(unexpected("an assignment", args)) };
    let (array, subscripts) = (target(array)?, target_subscripts(rest)?);
    Ok(Value::Array(with_element(cx, &array, value, &subscripts)?))
}

/// The array with another element; one dimension grows to where the element is.
pub(super) fn with_element(
    cx: &EvalContext<'_>,
    array: &Array,
    value: &Value,
    subscripts: &[i32],
) -> Result<Array> {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        let shape: Vec<_> = subscripts.iter().map(|lower| Dimension { length: 1, lower: *lower }).collect();
        return Ok(Array::shaped(std::iter::once(value.clone()).collect(), &shape)?);
    }
    if dimensions.len() != subscripts.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if let ([dimension], [index]) = (&dimensions[..], subscripts)
        && !(dimension.lower..=dimension.upper()).contains(index)
    {
        let (mut values, grown) = grown(cx, array, *dimension, *index, *index)?;
        values[(*index - grown.lower) as usize] = value.clone();
        return Ok(Array::shaped(values, &[grown])?);
    }
    let at =
        offset(&dimensions, subscripts).ok_or_else(|| subscript_error("array subscript out of range"))?;
    let mut values = array.to_vec();
    values[at] = value.clone();
    Ok(array.with_values(values))
}

/// The elements of an array of one dimension that reaches from `lower` to `upper` at least, with NULLs in the gaps.
fn grown(
    cx: &EvalContext<'_>,
    array: &Array,
    dimension: Dimension,
    lower: i32,
    upper: i32,
) -> Result<(Vec<Value>, Dimension)> {
    let first = lower.min(dimension.lower);
    let length = i64::from(upper.max(dimension.upper())) - i64::from(first) + 1;
    let length = i32::try_from(length).map_err(|_| ExecError::from(verso_types::array::too_large()))?;
    let grown = Dimension { length, lower: first };
    let count = element_count(&[grown])?;
    let _held = hold_elements(cx, count)?;
    let mut values = Vec::with_capacity(count);
    values.resize((dimension.lower - first) as usize, Value::Null);
    values.extend_from_slice(array);
    values.resize(count, Value::Null);
    Ok((values, grown))
}

fn set_slice(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array, source, Value::Int4(given), rest @ ..] = args else {
        return Err(unexpected("an assignment", args));
    };
    let (array, given, values) = (target(array)?, *given, target_subscripts(rest)?);
    // NULL changes nothing.
    let Value::Array(source) = source else { return Ok(Value::Array(array)) };
    let mut dimensions = array.dimensions();
    let named = values.len() / 2;
    let reversed = || subscript_error("upper bound cannot be less than lower bound");
    if dimensions.is_empty() {
        if given != (1 << values.len()) - 1 {
            let error = TypeError::new("2202E", "array slice subscript must provide both boundaries");
            let detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified.";
            return Err(error.with_detail(detail).into());
        }
        let mut shape = Vec::with_capacity(named);
        for pair in values.chunks_exact(2) {
            if pair[0] > pair[1] {
                return Err(reversed());
            }
            let length = i64::from(pair[1]) - i64::from(pair[0]) + 1;
            let length = i32::try_from(length).map_err(|_| verso_types::array::too_large())?;
            shape.push(Dimension { length, lower: pair[0] });
        }
        let count = element_count(&shape)?;
        let taken = source.get(..count).ok_or_else(too_small)?;
        return Ok(Value::Array(Array::shaped(taken.into(), &shape)?));
    }
    if dimensions.len() < named {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    let mut wanted = bounds(&dimensions, given, &values);
    let mut elements = array.to_vec();
    if let ([dimension], [(lower, upper)]) = (&dimensions[..], &wanted[..]) {
        if lower > upper {
            return Err(reversed());
        }
        let (values, grown) = grown(cx, &array, *dimension, *lower, *upper)?;
        (elements, dimensions) = (values, vec![grown]);
    } else {
        for ((lower, upper), dimension) in wanted.iter_mut().zip(&dimensions) {
            if lower > upper {
                return Err(reversed());
            }
            if *lower < dimension.lower || *upper > dimension.upper() {
                return Err(subscript_error("array subscript out of range"));
            }
        }
    }
    let place = |((lower, upper), dimension): (&(i32, i32), &Dimension)| {
        ((lower - dimension.lower) as usize, (upper - lower) as usize + 1)
    };
    let places: Places = wanted.iter().zip(&dimensions).map(place).collect();
    let count: usize = places.iter().map(|(_, length)| length).product();
    if source.len() < count {
        return Err(too_small());
    }
    let mut next = 0;
    runs(&dimensions, &places, |start, length| {
        elements[start..start + length].clone_from_slice(&source[next..next + length]);
        next += length;
    });
    Ok(Value::Array(Array::shaped(elements, &dimensions)?))
}

#[cold]
fn too_small() -> ExecError {
    subscript_error("source array too small")
}
