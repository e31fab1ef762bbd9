//! Rows as values: their fields.

use std::cmp::Ordering;
use std::sync::Arc;

use verso_types::text::type_of as plainest;
use verso_types::{SqlType, TimeStyle, Value, cmp_sql, format_text, nesting};

use super::collected::Rows;
use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::plpgsql::check_row;

/// `(row).field`: a row and the number of the field, from 0. The binder writes it, and knows the type.
pub static FIELD: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: Some("."),
    args: &[ArgType::Exact(SqlType::Record), ArgType::Exact(SqlType::Int4)],
    variadic: false,
    result: ResultType::Fixed(SqlType::Text),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::Scalar(field),
    kernel: None,
};

/// `unnest(array) AS (a int, …)`: the elements of an array of rows whose fields the query says.
pub static UNNEST_ROWS: BuiltinFunction = BuiltinFunction {
    name: "unnest",
    operator: None,
    args: &[ArgType::AnyArray],
    variadic: false,
    result: ResultType::Fixed(SqlType::Record),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::TypedSet(unnest_rows),
    kernel: None,
};

/// What a form of SQL is that stands in FROM as functions do: its value, as the only row.
pub static VALUE: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: None,
    args: &[ArgType::AnyElement],
    variadic: false,
    result: ResultType::SameAs(0),
    strict: false,
    volatility: Volatility::Immutable,
    body: Body::Scalar(|_, args| match args {
        [value] => Ok(value.clone()),
        _ => Err(unexpected("a value", args)),
    }),
    kernel: None,
};

/// `row.field = value`: a row, the value, the number of the field, from 0, and how many there are. A NULL becomes a row.
pub static SET_FIELD: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: Some(".="),
    args: &[
        ArgType::Exact(SqlType::Record),
        ArgType::Any,
        ArgType::Exact(SqlType::Int4),
        ArgType::Exact(SqlType::Int4),
    ],
    variadic: false,
    result: ResultType::SameAs(0),
    strict: false,
    volatility: Volatility::Immutable,
    body: Body::Scalar(set_field),
    kernel: None,
};

/// The order of two rows, as `record_cmp` finds it: the rows, the number of the first column (from 0) of which the types differ, or
/// how many columns the shorter one has, or that of the first column without a comparison, and what is said then. With -1 the types are those of the values, for what has no
/// declared columns.
pub static UNLIKE_ROWS: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: Some(".<=>"),
    args: &[
        ArgType::Exact(SqlType::Record),
        ArgType::Exact(SqlType::Record),
        ArgType::Exact(SqlType::Int4),
        ArgType::Exact(SqlType::Text),
    ],
    variadic: false,
    result: ResultType::Fixed(SqlType::Int4),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::Scalar(unlike_rows),
    kernel: None,
};

/// A value as its type is after the fields of a row type within have changed: the value, and what to make of it ([`Shape`]).
pub static RESHAPED: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: Some(".>"),
    args: &[ArgType::Any, ArgType::Any],
    variadic: false,
    result: ResultType::SameAs(0),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::Scalar(reshaped),
    kernel: None,
};

/// What is to be made of the values of a type of which another one has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// They stay as they are.
    Same,
    /// Of an array: of each element.
    Elements(Box<Shape>),
    /// Of a row: of each new field the place of the old one, from 0, and what is made of that; none where there was none.
    Fields(Vec<Option<(usize, Shape)>>),
}

impl Shape {
    /// How values get from the one type to the other; fields are found by name.
    pub fn between(old: &SqlType, new: &SqlType) -> Shape {
        match (old, new) {
            _ if old == new => Shape::Same,
            (SqlType::Array(old), SqlType::Array(new)) => match Shape::between(old, new) {
                Shape::Same => Shape::Same,
                within => Shape::Elements(Box::new(within)),
            },
            (SqlType::Row(old), SqlType::Row(new)) => {
                let field = |(name, new): &(Arc<str>, SqlType)| {
                    let at = old.fields.iter().position(|(known, _)| known == name)?;
                    Some((at, Shape::between(&old.fields[at].1, new)))
                };
                let fields: Vec<_> = new.fields.iter().map(field).collect();
                let same = |(n, field): (usize, &Option<(usize, Shape)>)| *field == Some((n, Shape::Same));
                match old.fields.len() == fields.len() && fields.iter().enumerate().all(same) {
                    true => Shape::Same,
                    false => Shape::Fields(fields),
                }
            }
            _ => Shape::Same,
        }
    }

    /// As a literal of the call.
    pub fn value(&self) -> Value {
        match self {
            Shape::Same => Value::Null,
            Shape::Elements(shape) => Value::Record([Value::Bool(true), shape.value()].into()),
            Shape::Fields(fields) => {
                let field = |field: &Option<(usize, Shape)>| match field {
                    Some((at, shape)) => [Value::Int4(i32::try_from(*at).unwrap_or(-1)), shape.value()],
                    None => [Value::Int4(-1), Value::Null],
                };
                let fields = fields.iter().flat_map(field);
                Value::Record([Value::Bool(false)].into_iter().chain(fields).collect())
            }
        }
    }
}

fn reshaped(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value, shape] = args else { return Err(unexpected("a row to change", args)) };
    Ok(reshape(value, shape))
}

/// As deep as the types are: see [`verso_types::composite::DEPTH_MAX`].
fn reshape(value: &Value, shape: &Value) -> Value {
    match (shape, value) {
        (Value::Record(shape), Value::Array(array)) if let [Value::Bool(true), shape] = &**shape => {
            let elements = array.iter().map(|element| reshape(element, shape)).collect();
            Value::Array(array.with_values(elements))
        }
        (Value::Record(shape), Value::Record(values)) if let [Value::Bool(false), fields @ ..] = &**shape => {
            let field = |field: &[Value]| match field {
                [Value::Int4(at), shape] => {
                    let old = usize::try_from(*at).ok().and_then(|at| values.get(at));
                    old.map_or(Value::Null, |old| reshape(old, shape))
                }
                _ => Value::Null,
            };
            Value::Record(fields.chunks(2).map(field).collect())
        }
        _ => value.clone(),
    }
}

fn unlike_rows(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Record(left), Value::Record(right), Value::Int4(unlike), Value::Text(text)] = args else {
        return Err(unexpected("rows to compare", args));
    };
    Ok(Value::Int4(order(left, right, *unlike, text)? as i32))
}

/// How two rows are ordered, as [`UNLIKE_ROWS`] says.
fn order(left: &[Value], right: &[Value], unlike: i32, text: &str) -> Result<Ordering> {
    let is_uncompared = unlike >= 0 && text.starts_with("could not identify");
    let mismatch = |text: String| ExecError::raised(if is_uncompared { "42883" } else { "42804" }, text);
    for (n, (left, right)) in left.iter().zip(right.iter()).enumerate() {
        if usize::try_from(unlike) == Ok(n) {
            break;
        }
        let order = match (left.is_null(), right.is_null()) {
            (false, false) => {
                let (one, other) = (type_of(left), type_of(right));
                if unlike < 0 && one != other {
                    let text = "cannot compare dissimilar column types";
                    return Err(mismatch(format!("{text} {one} and {other} at record column {}", n + 1)));
                }
                cmp_sql(left, right)
            }
            (one, other) => one.cmp(&other),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    match unlike {
        0.. => Err(mismatch(text.to_string())),
        _ if left.len() != right.len() => Err(mismatch(UNEQUAL_COUNTS.to_owned())),
        _ => Ok(Ordering::Equal),
    }
}

/// The two rows of a call.
fn pair<'a>(name: &str, args: &'a [Value]) -> Result<(&'a [Value], &'a [Value])> {
    match args {
        [Value::Record(left), Value::Record(right)] => Ok((left, right)),
        _ => Err(unexpected(name, args)),
    }
}

fn by_values(name: &str, args: &[Value]) -> Result<Ordering> {
    let (left, right) = pair(name, args)?;
    order(left, right, -1, "")
}

/// How two rows are ordered by what their values are made of: 1.0 is another number than 1.00 then. Numbers go by their bits, texts by
/// their bytes.
fn by_images(name: &str, args: &[Value]) -> Result<Ordering> {
    let (left, right) = pair(name, args)?;
    let mismatch = |text: String| Err(ExecError::raised("42804", text));
    for (n, (left, right)) in left.iter().zip(right).enumerate() {
        let (one, other) = (type_of(left), type_of(right));
        let order = match (left.is_null(), right.is_null()) {
            (false, false) if one != other => {
                let text = "cannot compare dissimilar column types";
                return mismatch(format!("{text} {one} and {other} at record column {}", n + 1));
            }
            (false, false) => image_order(left, right),
            (one, other) => one.cmp(&other),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    match left.len() == right.len() {
        true => Ok(Ordering::Equal),
        false => mismatch(UNEQUAL_COUNTS.to_owned()),
    }
}

fn image_order(left: &Value, right: &Value) -> Ordering {
    let bits = |value: &Value| match value {
        Value::Float8(number) => Some(number.to_bits()),
        Value::Float4(number) => Some(u64::from(number.to_bits())),
        Value::Date(day) => Some(i64::from(*day).cast_unsigned()),
        Value::Time(moment) | Value::Timestamp(moment) | Value::Timestamptz(moment) => {
            Some(moment.cast_unsigned())
        }
        value => value.as_i64().map(i64::cast_unsigned),
    };
    match (bits(left), bits(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ if left == right => Ordering::Equal,
        _ => {
            // What is equal in SQL and made of something else is told apart by how it is written.
            let text = |value: &Value| {
                let mut text = String::new();
                format_text(value, &plainest(value), &TimeStyle::UTC, &mut text);
                text
            };
            cmp_sql(left, right).then_with(|| text(left).cmp(&text(right)))
        }
    }
}

fn larger(args: &[Value], larger: bool) -> Result<Value> {
    let order = by_values("record_larger", args)?;
    let first = if larger { order.is_gt() } else { order.is_lt() };
    Ok(args[usize::from(!first)].clone())
}

const RECORD: ArgType = ArgType::Exact(SqlType::Record);

macro_rules! of_rows {
    ($($name:literal $op:expr, $result:expr, $body:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: $op,
            args: &[RECORD, RECORD],
            variadic: false,
            result: $result,
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar($body),
            kernel: None,
        },)*]
    };
}

const AS_INTEGER: ResultType = ResultType::Fixed(SqlType::Int4);
const AS_BOOL: ResultType = ResultType::Fixed(SqlType::Bool);

static ROWS: &[BuiltinFunction] = of_rows! {
    "btrecordcmp" None, AS_INTEGER, |_, args| Ok(Value::Int4(by_values("btrecordcmp", args)? as i32));
    "record_larger" None, ResultType::SameAs(0), |_, args| larger(args, true);
    "record_smaller" None, ResultType::SameAs(0), |_, args| larger(args, false);
    "btrecordimagecmp" None, AS_INTEGER, |_, args| Ok(Value::Int4(by_images("btrecordimagecmp", args)? as i32));
    "record_image_eq" Some("*="), AS_BOOL, |_, args| Ok(Value::Bool(by_images("record_image_eq", args)?.is_eq()));
    "record_image_ne" Some("*<>"), AS_BOOL, |_, args| Ok(Value::Bool(by_images("record_image_ne", args)?.is_ne()));
    "record_image_lt" Some("*<"), AS_BOOL, |_, args| Ok(Value::Bool(by_images("record_image_lt", args)?.is_lt()));
    "record_image_le" Some("*<="), AS_BOOL, |_, args| Ok(Value::Bool(by_images("record_image_le", args)?.is_le()));
    "record_image_gt" Some("*>"), AS_BOOL, |_, args| Ok(Value::Bool(by_images("record_image_gt", args)?.is_gt()));
    "record_image_ge" Some("*>="), AS_BOOL, |_, args| Ok(Value::Bool(by_images("record_image_ge", args)?.is_ge()));
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [ROWS];

/// What `record_cmp` says of rows of which one has more columns.
pub const UNEQUAL_COUNTS: &str = "cannot compare record types with different numbers of columns";

/// The type of a value of which no more is known than what it is.
fn type_of(value: &Value) -> String {
    let name = match value {
        Value::Null => "unknown",
        Value::Bool(_) => "boolean",
        Value::Int2(_) => "smallint",
        Value::Int4(_) => "integer",
        Value::Int8(_) => "bigint",
        Value::Xid8(_) => "xid8",
        Value::Float4(_) => "real",
        Value::Float8(_) => "double precision",
        Value::Numeric(_) | Value::Big(_) => "numeric",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytea",
        Value::Date(_) => "date",
        Value::Time(_) => "time without time zone",
        Value::Timestamp(_) => "timestamp without time zone",
        Value::Timestamptz(_) => "timestamp with time zone",
        Value::Interval(_) => "interval",
        Value::Uuid(_) => "uuid",
        Value::Jsonb(_) => "jsonb",
        Value::Record(_) => "record",
        Value::Array(_) => "anyarray",
        Value::Range(_) => "anyrange",
        Value::Multirange(_) => "anymultirange",
        Value::Opaque(value) => return value.kind().plain_type().pg_name(),
    };
    name.to_owned()
}

fn unnest_rows(_: &EvalContext<'_>, args: &[Value], _: &[SqlType], types: &[SqlType]) -> Result<Rows> {
    let [Value::Array(values)] = args else { return Err(unexpected("unnest", args)) };
    // Before the first is taken: what is not of these fields is no row of them.
    for value in values.iter() {
        if let Value::Record(fields) = value {
            check_row(fields, types)?;
        }
    }
    let (count, values, single) = (values.len(), values.clone(), types.len() == 1);
    let one = move |n: usize| match &values[n] {
        // Of one column: a value by itself.
        Value::Record(fields) if single => fields.first().cloned().unwrap_or(Value::Null),
        value => value.clone(),
    };
    Ok(Box::new((0..count).map(one)))
}

fn set_field(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [row, value, Value::Int4(index), Value::Int4(count)] = args else {
        return Err(unexpected("a field to store to", args));
    };
    let mut values = match row {
        Value::Record(values) => values.to_vec(),
        _ => vec![Value::Null; usize::try_from(*count).unwrap_or(0)],
    };
    if let Some(field) = usize::try_from(*index).ok().and_then(|index| values.get_mut(index)) {
        nesting::check_fields(std::slice::from_ref(value))?;
        field.clone_from(value);
    }
    Ok(Value::Record(values.into()))
}

fn field(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Record(values), Value::Int4(index)] = args else { return Err(unexpected("a field", args)) };
    let index = usize::try_from(*index).unwrap_or(usize::MAX);
    Ok(values.get(index).cloned().unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests {
    use verso_types::{Array, CompositeName, RowType};

    use super::*;

    fn row(fields: &[(&str, SqlType)]) -> SqlType {
        let of = CompositeName { oid: 20_001, array: 20_000, schema: "public".into(), name: "t".into() };
        let fields = fields.iter().map(|(name, ty)| ((*name).into(), ty.clone())).collect();
        SqlType::Row(Arc::new(RowType::named(of, fields)))
    }

    fn record(values: &[i32]) -> Value {
        Value::Record(values.iter().map(|value| Value::Int4(*value)).collect())
    }

    #[test]
    fn rows_within_arrays_and_rows_get_the_fields_of_their_new_type() {
        let old = row(&[("a", SqlType::Int4), ("b", SqlType::Int4), ("c", SqlType::Int4)]);
        let new = row(&[("a", SqlType::Int4), ("c", SqlType::Int4), ("d", SqlType::Int4)]);
        let array = |ty: &SqlType| SqlType::Array(Box::new(ty.clone()));
        let changed = Value::Record([Value::Int4(1), Value::Int4(3), Value::Null].into());
        let shape = Shape::between(&old, &new).value();
        assert_eq!(reshape(&record(&[1, 2, 3]), &shape), changed);
        assert_eq!(reshape(&Value::Null, &shape), Value::Null);
        let shape = Shape::between(&array(&old), &array(&new)).value();
        let before = Value::Array(Array::vector(vec![record(&[1, 2, 3]), Value::Null]));
        assert_eq!(reshape(&before, &shape), Value::Array(Array::vector(vec![changed.clone(), Value::Null])));
        let shape = Shape::between(&row(&[("x", array(&old))]), &row(&[("x", array(&new))])).value();
        let within = |value: Value| Value::Record([value].into());
        let after = Value::Array(Array::vector(vec![changed, Value::Null]));
        assert_eq!(reshape(&within(before), &shape), within(after));
        assert_eq!(Shape::between(&old, &old), Shape::Same);
    }
}
