//! Texts of statements without the passwords in them, for logs and for other sessions.
//!
//! 1. A literal behind the word PASSWORD is left out, however it is quoted, also within a literal that EXECUTE runs. Other words
//!    are shown as they are: what stands there was typed by mistake as often as not, but nothing tells it from a name.
//! 2. A text without the word is only looked through.

use std::borrow::Cow;

const WORD: &[u8] = b"password";
/// What stands for a password.
const LEFT_OUT: &str = "'…'";

/// The text without passwords.
pub(crate) fn without_passwords(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut shown = String::new();
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = word(bytes, at) {
        at = found + WORD.len();
        let Some((start, end)) = literal(bytes, at) else { continue };
        shown.push_str(&text[kept..start]);
        shown.push_str(LEFT_OUT);
        (kept, at) = (end, end);
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[kept..]);
    Cow::Owned(shown)
}

/// Where the word stands next.
fn word(bytes: &[u8], from: usize) -> Option<usize> {
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let is_it = |at: &usize| {
        let (before, behind) = (at.checked_sub(1), at + WORD.len());
        bytes[*at..behind].eq_ignore_ascii_case(WORD)
            && !before.is_some_and(|before| of_name(&bytes[before]))
            && !bytes.get(behind).is_some_and(of_name)
    };
    let last = bytes.len().checked_sub(WORD.len())?;
    (from..=last).find(is_it)
}

/// The literal that stands there, behind blanks and comments: its quotes and what they begin with belong to it.
fn literal(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut start = from;
    loop {
        let rest = bytes.get(start..)?;
        start += match rest {
            [b'/', b'*', ..] => rest.windows(2).skip(2).position(|two| two == b"*/")? + 4,
            [b'-', b'-', ..] => rest.iter().position(|byte| *byte == b'\n')?,
            [byte, ..] if byte.is_ascii_whitespace() || *byte == b'=' => 1,
            _ => break,
        };
    }
    let rest = &bytes[start..];
    let prefix = match rest {
        [b'e' | b'E' | b'n' | b'N' | b'b' | b'B' | b'x' | b'X', b'\'', ..] => 1,
        [b'u' | b'U', b'&', b'\'', ..] => 2,
        _ => 0,
    };
    let open = start + prefix;
    let end = match bytes[open..] {
        [b'\'', ..] => quoted(bytes, open, matches!(rest[0], b'e' | b'E') && prefix > 0)?,
        [b'$', ..] => {
            let tag = 1 + bytes[open + 1..].iter().position(|byte| *byte == b'$')? + 1;
            let (tag, body) = bytes[open..].split_at(tag);
            if !tag[1..tag.len() - 1]
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
            {
                return None;
            }
            let body_at = open + tag.len();
            body.windows(tag.len())
                .position(|end| end == tag)
                .map_or(bytes.len(), |end| body_at + end + tag.len())
        }
        _ => return None,
    };
    Some((start, end))
}

/// Behind the end of a literal that begins with a quote; none for an empty one. One without an end goes to that of the text.
fn quoted(bytes: &[u8], open: usize, escapes: bool) -> Option<usize> {
    let quotes = bytes[open..].iter().take_while(|byte| **byte == b'\'').count();
    let behind = bytes.get(open + quotes);
    if quotes % 2 == 0 {
        // Within a literal quotes are doubled; on their own these are an empty one.
        if behind.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b')' | b',')) {
            return None;
        }
        let delimiter = &bytes[open..open + quotes];
        let body = &bytes[open + quotes..];
        let end = body.windows(quotes).position(|end| end == delimiter);
        return Some(end.map_or(bytes.len(), |end| open + quotes + end + quotes));
    }
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 1,
            b'\\' if escapes => at += 1,
            b'\'' => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    Some(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out_however_they_are_quoted() {
        for (text, shown) in [
            ("SELECT 1", "SELECT 1"),
            ("ALTER ROLE a PASSWORD 'x''y' LOGIN", "ALTER ROLE a PASSWORD '…' LOGIN"),
            (
                "create user a encrypted password\n'é'; select 'é'",
                "create user a encrypted password\n'…'; select 'é'",
            ),
            (r"ALTER ROLE a PASSWORD E'x\'y' LOGIN", "ALTER ROLE a PASSWORD '…' LOGIN"),
            ("ALTER ROLE a PASSWORD U&'x' LOGIN", "ALTER ROLE a PASSWORD '…' LOGIN"),
            ("ALTER ROLE a PASSWORD $$x$y$$ LOGIN", "ALTER ROLE a PASSWORD '…' LOGIN"),
            ("ALTER ROLE a PASSWORD $é$x$$y$é$", "ALTER ROLE a PASSWORD '…'"),
            ("ALTER ROLE a PASSWORD /* p */ 'x' -- 'y'", "ALTER ROLE a PASSWORD /* p */ '…' -- 'y'"),
            ("ALTER ROLE a PASSWORD -- p\n 'x'", "ALTER ROLE a PASSWORD -- p\n '…'"),
            ("ALTER ROLE a PASSWORD 'without an end", "ALTER ROLE a PASSWORD '…'"),
            ("ALTER ROLE a PASSWORD $$without an end", "ALTER ROLE a PASSWORD '…'"),
            ("ALTER ROLE a PASSWORD '''x'", "ALTER ROLE a PASSWORD '…'"),
            (
                "DO $$BEGIN EXECUTE 'ALTER ROLE a PASSWORD ''x'''; END$$",
                "DO $$BEGIN EXECUTE 'ALTER ROLE a PASSWORD '…''; END$$",
            ),
            ("SELECT password FROM t WHERE password = 'x'", "SELECT password FROM t WHERE password = '…'"),
            (
                "SELECT password_hash, 'x' FROM my_password('y')",
                "SELECT password_hash, 'x' FROM my_password('y')",
            ),
            ("ALTER ROLE a PASSWORD NULL", "ALTER ROLE a PASSWORD NULL"),
            ("ALTER ROLE a PASSWORD ''", "ALTER ROLE a PASSWORD ''"),
            ("ALTER ROLE a PASSWORD", "ALTER ROLE a PASSWORD"),
            ("PASSWORD '", "PASSWORD '…'"),
            ("password $", "password $"),
            ("passwordé 'x' password/*", "passwordé 'x' password/*"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
