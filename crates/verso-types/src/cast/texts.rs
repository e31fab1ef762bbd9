//! Casts between the character types: lengths, and blanks at the end.

use super::kinds::{CastKind, is_string};
use super::single_byte::{byte_of_char, char_of_byte};
use crate::error::{TypeError, sqlstate};
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::value::Value;

/// Between the character types; the value is shared where nothing is cut.
pub(super) fn cast_text(
    value: &Value,
    text: &str,
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
) -> Result<Value, TypeError> {
    match (from, to) {
        // The length leaves the type, so its blanks go into the value.
        (SqlType::Char(Some(length)), SqlType::Char(None)) if kind != CastKind::Assignment => {
            let missing = (*length as usize).saturating_sub(text.chars().count());
            return Ok(match missing {
                0 => value.clone(),
                _ => Value::text(&format!("{text}{}", " ".repeat(missing))),
            });
        }
        (SqlType::Char(None), SqlType::Char(None)) if kind != CastKind::Assignment => {
            return Ok(value.clone());
        }
        (_, SqlType::Char(None)) if is_string(from) && kind != CastKind::Assignment => {
            return Ok(value.clone());
        }
        _ => {}
    }
    let seen = trim_char(text, from);
    let limited = limit_text(seen, to, kind == CastKind::Explicit)?;
    Ok(if limited == text { value.clone() } else { Value::text(limited) })
}

/// A text as a value of a character type: varchar(n) and char(n) hold n characters (22001 beyond, unless only blanks
/// are lost or `cut`, that is for explicit casts), char is stored without its trailing blanks, name has 63 bytes.
/// # Errors
/// 22001.
pub fn limit_text<'a>(text: &'a str, ty: &SqlType, cut: bool) -> Result<&'a str, TypeError> {
    let limited = match ty {
        SqlType::Varchar(Some(n)) | SqlType::Char(Some(n)) => {
            // bytes ≥ characters, so most texts need no counting
            let end = match text.len() <= *n as usize {
                true => None,
                false => text.char_indices().nth(*n as usize).map(|(end, _)| end),
            };
            let Some(end) = end else { return Ok(trim_char(text, ty)) };
            let (kept, lost) = text.split_at(end);
            if !cut && lost.bytes().any(|byte| byte != b' ') {
                return Err(TypeError::new(
                    sqlstate::STRING_DATA_RIGHT_TRUNCATION,
                    format!("value too long for type {}", ty.pg_name()),
                ));
            }
            kept
        }
        SqlType::Name if text.len() > 63 => &text[..text.floor_char_boundary(63)],
        SqlType::System(SystemType::Char) => char_of_byte(byte_of_char(text.as_bytes())),
        _ => text,
    };
    Ok(trim_char(limited, ty))
}

/// Trailing blanks of char(n) mean nothing and are not stored.
fn trim_char<'a>(text: &'a str, ty: &SqlType) -> &'a str {
    if matches!(ty, SqlType::Char(_)) { text.trim_end_matches(' ') } else { text }
}

/// A char as tables, arrays and rows keep it: without the blanks at its end. There it is compared by its bytes.
pub fn unpadded(value: Value) -> Value {
    match &value {
        Value::Text(text) if text.ends_with(' ') => Value::text(text.trim_end_matches(' ')),
        _ => value,
    }
}

/// A char as it is compared: blanks at its end do not count.
pub fn without_blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}
