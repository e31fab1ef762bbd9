//! Composite types: rows whose columns have a name in the catalog.
//!
//! A value is a [`Value::Record`], in columns the codec of [`row`](crate::row): one value per field, in order.
//!
//! C1. Two types are the same if their oids are; derived equality also compares the fields, so that a definition which holds
//!     a type changes when the type does.
//! C2. Types are nested at most [`DEPTH_MAX`] deep, so that whatever follows their fields ends.

use std::sync::Arc;

use crate::cast::{CastKind, cast, unpadded};
use crate::error::{TypeError, sqlstate};
use crate::keyword::quoted;
use crate::names;
use crate::sqltype::{RowType, SqlType};
use crate::text::{parse_text, type_of};
use crate::value::Value;
use crate::{RangeType, TimeStyle};

/// So many composite types may be in each other.
pub const DEPTH_MAX: usize = 16;

/// What the catalog calls a composite type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompositeName {
    /// Its row in `pg_type`.
    pub oid: u32,
    /// Its array's.
    pub array: u32,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
}

impl CompositeName {
    /// The name as the session writes it.
    pub fn shown(&self) -> String {
        names::type_name(self.oid).unwrap_or_else(|| quoted(&self.name))
    }
}

impl SqlType {
    /// The composite type that it is.
    pub fn composite(&self) -> Option<&CompositeName> {
        match self {
            SqlType::Row(row) => row.of.as_ref(),
            _ => None,
        }
    }

    /// How many composite types, and range types of users, are in each other in it.
    pub fn composite_depth(&self) -> usize {
        match self {
            SqlType::Row(row) => {
                let deepest = row.fields.iter().map(|(_, ty)| ty.composite_depth()).max().unwrap_or(0);
                deepest + usize::from(row.of.is_some())
            }
            SqlType::Array(element) => element.composite_depth(),
            SqlType::Range(of @ RangeType::Own(_)) | SqlType::Multirange(of @ RangeType::Own(_)) => {
                of.subtype().composite_depth() + 1
            }
            _ => 0,
        }
    }
}

/// A row as one of a composite type, field by field.
pub(crate) fn cast_fields(
    values: &[Value],
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
    tz: &TimeStyle,
) -> Result<Value, TypeError> {
    let Some(fields) = to.fields_of(values.len()) else {
        let count = if let SqlType::Row(row) = to { row.fields.len() } else { 0 };
        return Err(unequal(from, to, values.len() < count));
    };
    let known = from.fields_of(values.len());
    // Of a part of a table the columns may stand in another order.
    if let (Some(_), Some(known)) = (from.composite().filter(|of| to.composite() != Some(*of)), known) {
        let place = |(name, _): &(Arc<str>, SqlType)| known.iter().position(|(own, _)| own == name);
        if let Some(places) = fields.iter().map(place).collect::<Option<Vec<usize>>>()
            && !places.is_sorted()
        {
            let one =
                |(at, (_, to)): (usize, &(Arc<str>, SqlType))| cast(&values[at], &known[at].1, to, kind, tz);
            let values = places.into_iter().zip(fields).map(one).collect::<Result<_, _>>()?;
            return Ok(Value::Record(values));
        }
    }
    let one = |(n, value): (usize, &Value)| -> Result<Value, TypeError> {
        let from = known.map_or_else(|| type_of(value), |fields| fields[n].1.clone());
        match from == fields[n].1 {
            true => Ok(value.clone()),
            false => {
                let made = cast(value, &from, &fields[n].1, kind, tz)?;
                Ok(if fields[n].1 == SqlType::Char(None) { unpadded(made) } else { made })
            }
        }
    };
    Ok(Value::Record(values.iter().enumerate().map(one).collect::<Result<_, _>>()?))
}

/// The error of a row with other columns than the type.
pub fn unequal(from: &SqlType, to: &SqlType, few: bool) -> TypeError {
    let text = format!("cannot cast type {from} to {to}");
    let detail = format!("Input has too {} columns.", if few { "few" } else { "many" });
    TypeError::new(sqlstate::CANNOT_COERCE, text).with_detail(detail)
}

/// Reads `(1,"x y",)`.
pub(crate) fn parse_record(text: &str, row: &RowType, tz: &TimeStyle) -> Result<Value, TypeError> {
    let malformed = |detail: &str| {
        let message = format!("malformed record literal: \"{text}\"");
        TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let rest = text.trim_start_matches(blank);
    let mut rest = rest.strip_prefix('(').ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut values = Vec::with_capacity(row.fields.len());
    let mut item = String::new();
    for (n, (_, ty)) in row.fields.iter().enumerate() {
        if n > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| malformed("Too few columns."))?;
        }
        if rest.starts_with([',', ')']) {
            values.push(Value::Null);
            continue;
        }
        rest =
            field_until(rest, &[',', ')'], &mut item).ok_or_else(|| malformed("Unexpected end of input."))?;
        values.push(parse_text(ty, &item, tz)?);
    }
    let rest = rest.strip_prefix(')').ok_or_else(|| malformed("Too many columns."))?;
    match rest.trim_start_matches(blank).is_empty() {
        true => Ok(Value::Record(values.into())),
        false => Err(malformed("Junk after right parenthesis.")),
    }
}

/// The text of a field or bound into `item`, up to one of the characters that end it, and what begins there; none where the
/// text ends within.
pub(crate) fn field_until<'t>(text: &'t str, ends: &[char], item: &mut String) -> Option<&'t str> {
    item.clear();
    let mut quoted = false;
    let mut chars = text.chars();
    loop {
        let rest = chars.as_str();
        match chars.next()? {
            c if !quoted && ends.contains(&c) => return Some(rest),
            '\\' => item.push(chars.next()?),
            '"' if !quoted => quoted = true,
            '"' if chars.as_str().starts_with('"') => item.extend(chars.next()),
            '"' => quoted = false,
            c => item.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::format_text;

    fn row() -> SqlType {
        let of = CompositeName { oid: 20_001, array: 20_000, schema: "public".into(), name: "t".into() };
        let fields = vec![("a".into(), SqlType::Int4), ("b".into(), SqlType::Text)];
        SqlType::Row(Arc::new(RowType::named(of, fields)))
    }

    fn read(text: &str) -> Result<String, TypeError> {
        let mut out = String::new();
        format_text(&parse_text(&row(), text, &TimeStyle::UTC)?, &row(), &TimeStyle::UTC, &mut out);
        Ok(out)
    }

    #[test]
    fn texts_are_read_and_written_as_by_postgresql() {
        for (text, written) in [
            ("(1,x)", "(1,x)"),
            (" (1,) ", "(1,)"),
            ("(,\"\")", "(,\"\")"),
            ("( 1 , x y)", "(1,\" x y\")"),
            (r#"(1,"a""b\"c\\")"#, r#"(1,"a""b""c\\")"#),
            (r#"(1,a"b,c"d)"#, r#"(1,"ab,cd")"#),
        ] {
            assert_eq!(read(text).as_deref(), Ok(written), "{text}");
        }
    }

    #[test]
    fn what_is_malformed_says_why() {
        for (text, detail) in [
            ("1,2", "Missing left parenthesis."),
            ("(1)", "Too few columns."),
            ("(1,2,3)", "Too many columns."),
            ("(1,2", "Unexpected end of input."),
            ("(1,\"x", "Unexpected end of input."),
            ("(1,2) x", "Junk after right parenthesis."),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!((error.sqlstate, error.detail.as_deref()), ("22P02", Some(detail)), "{text}");
        }
    }
}
