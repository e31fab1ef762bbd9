//! The type "char": a byte as a text.

use std::sync::LazyLock;

use crate::error::TypeError;
use crate::value::Value;

/// The `"char"` of a number.
pub(super) fn char_of(number: i32) -> Result<Value, TypeError> {
    let byte = i8::try_from(number).map_err(|_| TypeError::out_of_range("\"char\""))?;
    Ok(Value::text(char_of_byte(byte.cast_unsigned())))
}

/// The texts of "char": nothing for 0, `\377` and its like for what is beyond ASCII.
static CHARS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let shown = |byte: u8| match byte {
        0 => String::new(),
        byte if byte.is_ascii() => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    (0..=u8::MAX).map(shown).collect()
});

pub(crate) fn char_of_byte(byte: u8) -> &'static str {
    &CHARS[usize::from(byte)]
}

/// The byte that a text means as "char": the first one, or that of `\377`. Values of the type are compared by it.
#[inline]
pub fn byte_of_char(text: &[u8]) -> u8 {
    let octal = |byte: u8| (b'0'..=b'7').contains(&byte).then_some(u32::from(byte - b'0'));
    if let [b'\\', a, b, c] = *text
        && let (Some(a), Some(b), Some(c)) = (octal(a), octal(b), octal(c))
    {
        return ((a * 64 + b * 8 + c) & 0xFF) as u8;
    }
    text.first().copied().unwrap_or(0)
}
