//! New jsonb values from old ones.

use verso_types::Value;
use verso_types::json::{JsonRef, Node};

use super::access::index_of;
use super::types::{AS_JSON, AS_JSONB, BOOL, INT4, JSON, JSONB, TEXT, TEXTS};
use super::{encoded, invalid, json_function, texts};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::define::unexpected;
use crate::functions::{Body, BuiltinFunction};
use verso_types::{Array, TypeError, json};

/// The elements; a scalar or object is one.
fn as_elements(value: JsonRef<'_>, bytes: &[u8]) -> Vec<Node> {
    match value {
        JsonRef::Array(array) => array.iter_raw().map(|raw| Node::Encoded(raw.to_vec())).collect(),
        _ => vec![Node::Encoded(bytes.to_vec())],
    }
}

fn pairs(value: JsonRef<'_>) -> Vec<(String, Node)> {
    match value {
        JsonRef::Object(object) => {
            object.iter_raw().map(|(key, raw)| (key.to_owned(), Node::Encoded(raw.to_vec()))).collect()
        }
        _ => Vec::new(),
    }
}

/// `||`
fn concat(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(a), Value::Jsonb(b)] = args else { return Err(unexpected("||", args)) };
    let (left, right) = (a.root(), b.root());
    if let (JsonRef::Object(_), JsonRef::Object(_)) = (left, right) {
        let mut all = pairs(left);
        all.extend(pairs(right));
        return encoded(Node::Object(all));
    }
    let mut all = as_elements(left, a.bytes());
    all.extend(as_elements(right, b.bytes()));
    encoded(Node::Array(all))
}

fn delete_keys(value: JsonRef<'_>, bytes: &[u8], keys: &[Option<&str>]) -> Result<Value> {
    let gone = |key: &str| keys.contains(&Some(key));
    match value {
        JsonRef::Object(_) => {
            encoded(Node::Object(pairs(value).into_iter().filter(|(key, _)| !gone(key)).collect()))
        }
        JsonRef::Array(array) => {
            let kept =
                array.iter_raw().filter(|raw| !matches!(JsonRef::read(raw), JsonRef::String(s) if gone(s)));
            encoded(Node::Array(kept.map(|raw| Node::Encoded(raw.to_vec())).collect()))
        }
        _ if bytes.is_empty() => Ok(Value::Null),
        _ => Err(invalid("cannot delete from scalar")),
    }
}

/// Keys and steps of paths are lists.
fn refuse_dimensions(array: &Array) -> Result<()> {
    match array.dimension_count() > 1 {
        true => Err(TypeError::new("2202E", "wrong number of array subscripts").into()),
        false => Ok(()),
    }
}

/// `- text`, `- text[]`
fn delete(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Jsonb(value), Value::Text(key)] => delete_keys(value.root(), value.bytes(), &[Some(key)]),
        [Value::Jsonb(value), Value::Array(keys)] => {
            refuse_dimensions(keys)?;
            delete_keys(value.root(), value.bytes(), &texts(keys))
        }
        _ => Err(unexpected("-", args)),
    }
}

/// `- integer`
fn delete_index(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Int4(index)] = args else { return Err(unexpected("-", args)) };
    let JsonRef::Array(array) = value.root() else {
        return Err(invalid(match value.root() {
            JsonRef::Object(_) => "cannot delete from object using integer index",
            _ => "cannot delete from scalar",
        }));
    };
    let mut elements = as_elements(value.root(), value.bytes());
    if let Some(place) = place_of(i64::from(*index), array.len()) {
        elements.remove(place);
    }
    encoded(Node::Array(elements))
}

/// The place that an index means, where there is an element.
fn place_of(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 { index + length as i64 } else { index };
    usize::try_from(index).ok().filter(|place| *place < length)
}

/// What is to be done at the end of a path.
#[derive(Clone, Copy, PartialEq)]
enum Change<'a> {
    Delete,
    /// Put a value in the place of another; where there is none, and the flag says so, add it.
    Set(&'a [u8], bool),
    /// Put a value before or behind an element; a key must be new.
    Insert(&'a [u8], bool),
}

/// The value with the change at the end of a path, of which `depth` steps are done.
fn changed(bytes: &[u8], path: &[Option<&str>], depth: usize, change: Change<'_>) -> Result<Node> {
    verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
    let value = JsonRef::read(bytes);
    let Some((step, rest)) = path.get(depth..).and_then(<[_]>::split_first) else {
        return Ok(Node::Encoded(bytes.to_vec()));
    };
    let Some(step) = step else {
        let text = format!("path element at position {} is null", depth + 1);
        return Err(TypeError::new("22004", text).into());
    };
    let last = rest.is_empty();
    match value {
        JsonRef::Object(_) => {
            let mut all = pairs(value);
            let place = all.iter().position(|(key, _)| key == step);
            match (place, change) {
                (Some(place), Change::Delete) if last => drop(all.remove(place)),
                (Some(place), Change::Set(new, _)) if last => all[place].1 = Node::Encoded(new.to_vec()),
                (Some(_), Change::Insert(..)) if last => {
                    return Err(invalid("cannot replace existing key")
                        .hinted("Try using the function jsonb_set to replace key value."));
                }
                (Some(place), _) => {
                    if let JsonRef::Object(object) = value {
                        all[place].1 = changed(object.get(step).unwrap_or(&[1]), path, depth + 1, change)?;
                    }
                }
                (None, Change::Set(new, true) | Change::Insert(new, _)) if last => {
                    all.push(((*step).to_owned(), Node::Encoded(new.to_vec())));
                }
                (None, _) => {}
            }
            Ok(Node::Object(all))
        }
        JsonRef::Array(array) => {
            let Some(index) = index_of(step) else {
                let text = format!("path element at position {} is not an integer: \"{step}\"", depth + 1);
                return Err(TypeError::new("22P02", text).into());
            };
            let mut elements = as_elements(value, bytes);
            match (place_of(index, array.len()), change) {
                (Some(place), Change::Delete) if last => drop(elements.remove(place)),
                (Some(place), Change::Set(new, _)) if last => elements[place] = Node::Encoded(new.to_vec()),
                (Some(place), Change::Insert(new, after)) if last => {
                    elements.insert(place + usize::from(after), Node::Encoded(new.to_vec()));
                }
                (Some(place), _) => {
                    elements[place] = changed(array.raw(place).unwrap_or(&[1]), path, depth + 1, change)?;
                }
                (None, Change::Set(new, true) | Change::Insert(new, _)) if last => {
                    let place = if index < 0 { 0 } else { elements.len() };
                    elements.insert(place, Node::Encoded(new.to_vec()));
                }
                (None, _) => {}
            }
            Ok(Node::Array(elements))
        }
        _ => Ok(Node::Encoded(bytes.to_vec())),
    }
}

/// A HINT for an error.
trait Hinted {
    fn hinted(self, hint: &str) -> Self;
}

impl Hinted for ExecError {
    fn hinted(self, hint: &str) -> Self {
        match self {
            ExecError::Type(error) => ExecError::Type(error.with_hint(hint)),
            other => other,
        }
    }
}

fn at_path(value: &json::Jsonb, path: &Array, what: &str, change: Change<'_>) -> Result<Value> {
    if value.root().is_scalar() {
        return Err(invalid(format!("cannot {what} scalar")));
    }
    refuse_dimensions(path)?;
    let empty = match value.root() {
        JsonRef::Array(array) => array.is_empty(),
        JsonRef::Object(object) => object.is_empty(),
        _ => true,
    };
    let adds = matches!(change, Change::Set(_, true) | Change::Insert(..));
    if path.is_empty() || (empty && !adds) {
        return Ok(Value::Jsonb(value.clone()));
    }
    encoded(changed(value.bytes(), &texts(path), 0, change)?)
}

/// `#-`
fn delete_path(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Array(path)] = args else { return Err(unexpected("#-", args)) };
    at_path(value, path, "delete path in", Change::Delete)
}

fn set(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Array(path), Value::Jsonb(new), create @ ..] = args else {
        return Err(unexpected("jsonb_set", args));
    };
    let create = create.first().and_then(Value::as_bool).unwrap_or(true);
    at_path(value, path, "set path in", Change::Set(new.bytes(), create))
}

/// `jsonb_set_lax(target, path, value [, create [, what NULL means]])`
fn set_lax(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [target, path, new, rest @ ..] = args else { return Err(unexpected("jsonb_set_lax", args)) };
    let (Value::Jsonb(target), Value::Array(path)) = (target, path) else { return Ok(Value::Null) };
    let create = match rest.first() {
        Some(Value::Null) => return Ok(Value::Null),
        Some(create) => create.as_bool().unwrap_or(true),
        None => true,
    };
    let treatment = match rest.get(1) {
        None => "use_json_null",
        Some(Value::Text(treatment)) => &**treatment,
        Some(_) => {
            let text = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                        \"raise_exception\"";
            return Err(invalid(text));
        }
    };
    if let Value::Jsonb(new) = new {
        return at_path(target, path, "set path in", Change::Set(new.bytes(), create));
    }
    match treatment {
        "raise_exception" => Err(TypeError::new("22004", "JSON value must not be null")
            .with_detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .with_hint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")
            .into()),
        "use_json_null" => at_path(target, path, "set path in", Change::Set(&[1], create)),
        "delete_key" => at_path(target, path, "delete path in", Change::Delete),
        "return_target" => Ok(Value::Jsonb(target.clone())),
        _ => {
            let text = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                        \"raise_exception\"";
            Err(invalid(text))
        }
    }
}

fn insert(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Array(path), Value::Jsonb(new), after @ ..] = args else {
        return Err(unexpected("jsonb_insert", args));
    };
    let after = after.first().and_then(Value::as_bool).unwrap_or(false);
    at_path(value, path, "set path in", Change::Insert(new.bytes(), after))
}

/// Without the pairs whose value is null, and perhaps the elements that are.
fn stripped(value: JsonRef<'_>, in_arrays: bool) -> Result<Node> {
    verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
    Ok(match value {
        JsonRef::Object(object) => {
            let mut kept = Vec::new();
            for (key, value) in object.iter().filter(|(_, value)| !matches!(value, JsonRef::Null)) {
                kept.push((key.to_owned(), stripped(value, in_arrays)?));
            }
            Node::Object(kept)
        }
        JsonRef::Array(array) => {
            let kept = array.iter().filter(|value| !in_arrays || !matches!(value, JsonRef::Null));
            Node::Array(kept.map(|value| stripped(value, in_arrays)).collect::<Result<_>>()?)
        }
        scalar => Node::shallow(scalar),
    })
}

fn strip_nulls(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let in_arrays = args.get(1).and_then(Value::as_bool).unwrap_or(false);
    match args.first() {
        Some(Value::Jsonb(value)) => encoded(stripped(value.root(), in_arrays)?),
        _ => Err(unexpected("jsonb_strip_nulls", args)),
    }
}

/// The same of a json text, whose order and duplicates stay; it comes out without blanks.
fn strip_text(text: &str, in_arrays: bool, out: &mut String) -> Result<()> {
    verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
    if let Some(fields) = json::fields(text)? {
        out.push('{');
        for (n, (key, value)) in fields.into_iter().filter(|(_, value)| *value != "null").enumerate() {
            if n > 0 {
                out.push(',');
            }
            json::escape_into(&key, out);
            out.push(':');
            strip_text(value, in_arrays, out)?;
        }
        out.push('}');
    } else if let Some(elements) = json::elements(text)? {
        out.push('[');
        let kept = elements.into_iter().filter(|value| !in_arrays || *value != "null");
        for (n, value) in kept.enumerate() {
            if n > 0 {
                out.push(',');
            }
            strip_text(value, in_arrays, out)?;
        }
        out.push(']');
    } else {
        out.push_str(text.trim());
    }
    Ok(())
}

fn strip_text_nulls(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let in_arrays = args.get(1).and_then(Value::as_bool).unwrap_or(false);
    let Some(Value::Text(text)) = args.first() else { return Err(unexpected("json_strip_nulls", args)) };
    let mut out = String::new();
    strip_text(text, in_arrays, &mut out)?;
    Ok(Value::Text(out.into()))
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    json_function!("jsonb_concat" ("||") [JSONB, JSONB] => AS_JSONB, concat),
    json_function!("jsonb_delete" ("-") [JSONB, TEXT] => AS_JSONB, delete),
    json_function!("jsonb_delete" ("-") [JSONB, INT4] => AS_JSONB, delete_index),
    json_function!("jsonb_delete" ("-") [JSONB, TEXTS] => AS_JSONB, delete),
    json_function!("jsonb_delete_path" ("#-") [JSONB, TEXTS] => AS_JSONB, delete_path),
    json_function!("jsonb_set" [JSONB, TEXTS, JSONB] => AS_JSONB, set),
    json_function!("jsonb_set" [JSONB, TEXTS, JSONB, BOOL] => AS_JSONB, set),
    json_function!("jsonb_set_lax" [JSONB, TEXTS, JSONB] => AS_JSONB, variadic false, strict false,
        Body::Scalar(set_lax)),
    json_function!("jsonb_set_lax" [JSONB, TEXTS, JSONB, BOOL] => AS_JSONB, variadic false, strict false,
        Body::Scalar(set_lax)),
    json_function!("jsonb_set_lax" [JSONB, TEXTS, JSONB, BOOL, TEXT] => AS_JSONB, variadic false, strict false,
        Body::Scalar(set_lax)),
    json_function!("jsonb_insert" [JSONB, TEXTS, JSONB] => AS_JSONB, insert),
    json_function!("jsonb_insert" [JSONB, TEXTS, JSONB, BOOL] => AS_JSONB, insert),
    json_function!("jsonb_strip_nulls" [JSONB] => AS_JSONB, strip_nulls),
    json_function!("jsonb_strip_nulls" [JSONB, BOOL] => AS_JSONB, strip_nulls),
    json_function!("json_strip_nulls" [JSON] => AS_JSON, strip_text_nulls),
    json_function!("json_strip_nulls" [JSON, BOOL] => AS_JSON, strip_text_nulls),
];

/// `target['a'][0] = value`: target, value, whether a new target is an array, and the subscripts as texts. What is
/// missing on the way is made, arrays with nulls in the gaps. The binder writes it.
pub static SET_SUBSCRIPT: BuiltinFunction = json_function!("" ("[j]=") [JSONB, JSONB, BOOL, TEXT] => AS_JSONB,
    variadic true, strict false, Body::Scalar(set_subscript));

fn set_subscript(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [target, value, Value::Bool(array), keys @ ..] = args else {
        return Err(unexpected("an assignment", args));
    };
    let new = match value {
        Value::Jsonb(value) => value.bytes(),
        _ => &[1],
    };
    let mut path = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(key) = key.as_str() else {
            return Err(TypeError::new("22004", "jsonb subscript in assignment must not be null").into());
        };
        path.push(key);
    }
    let empty = Node::Object(Vec::new()).encode()?;
    let list = Node::Array(Vec::new()).encode()?;
    let target = match target {
        Value::Jsonb(target) => target.bytes(),
        _ if *array => list.bytes(),
        _ => empty.bytes(),
    };
    encoded(filled(Some(target), &path, 0, new)?)
}

/// The value with another one at the end of a path.
fn filled(old: Option<&[u8]>, path: &[&str], depth: usize, new: &[u8]) -> Result<Node> {
    verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
    let Some(step) = path.get(depth) else { return Ok(Node::Encoded(new.to_vec())) };
    match old.map(JsonRef::read) {
        None => match index_of(step) {
            None => Ok(Node::Object(vec![((*step).to_owned(), filled(None, path, depth + 1, new)?)])),
            Some(index) => {
                let mut elements = vec![Node::Null; gap(index, 0, depth)?];
                elements.push(filled(None, path, depth + 1, new)?);
                Ok(Node::Array(elements))
            }
        },
        Some(value @ JsonRef::Object(object)) => {
            let mut all = pairs(value);
            let inner = filled(object.get(step), path, depth + 1, new)?;
            match all.iter_mut().find(|(key, _)| key == step) {
                Some((_, old)) => *old = inner,
                None => all.push(((*step).to_owned(), inner)),
            }
            Ok(Node::Object(all))
        }
        Some(value @ JsonRef::Array(array)) => {
            let Some(index) = index_of(step) else {
                let text = format!("path element at position {} is not an integer: \"{step}\"", depth + 1);
                return Err(TypeError::new("22P02", text).into());
            };
            let mut elements = as_elements(value, &[]);
            let place = match place_of(index, array.len()) {
                Some(place) => place,
                None => gap(index, array.len(), depth)?,
            };
            let inner = filled(array.raw(place), path, depth + 1, new)?;
            if place < elements.len() {
                elements[place] = inner;
            } else {
                elements.resize(place, Node::Null);
                elements.push(inner);
            }
            Ok(Node::Array(elements))
        }
        Some(_) => Err(TypeError::new("22023", "cannot replace existing key")
            .with_detail("The path assumes key is a composite object, but it is a scalar value.")
            .into()),
    }
}

/// A place behind the end of an array.
fn gap(index: i64, length: usize, depth: usize) -> Result<usize> {
    /// So many nulls make the longest array.
    const ELEMENTS_MAX: usize = 0x0fff_ffff / 2;
    let place = usize::try_from(index).ok().filter(|place| *place >= length);
    let text = || invalid(format!("path element at position {} is out of range: {index}", depth + 1));
    let place = place.ok_or_else(text)?;
    if place > ELEMENTS_MAX {
        let text = "total size of jsonb array elements exceeds the maximum of 268435455 bytes";
        return Err(TypeError::new("54000", text).into());
    }
    Ok(place)
}
