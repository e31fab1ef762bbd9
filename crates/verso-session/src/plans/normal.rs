//! The text of a statement without its literals, so that statements that differ in them share a plan.
//!
//! ```text
//! SELECT name FROM t WHERE id = 42 AND kind = 'tea'     42 (integer), 'tea' (no type yet)
//! SELECT name FROM t WHERE id = $1 AND kind = $2
//! ```
//!
//! M1. The scan is quick and cautious: what it is not sure of (comments, prefixed and dollar-quoted strings, several
//!     statements) it leaves alone. Whether the text with parameters means the same is decided by who prepares it.
//! M2. A number becomes a parameter of the type that the literal has, a string one without a type: so operators,
//!     functions and casts are found by the same rules.
//! M3. Behind ORDER or GROUP integers stay, as they may be numbers of columns.
//! M4. A pattern `'^(…)$'` stays: so psql names relations, and a plan that knows the name looks for that one only.
//! M5. Ranges that are empty or have no bounds stay: beside one a plan needs no element, not even one that is NULL.
//! M6. Texts that draw numbers and sort, group or tell repeats are left alone: two calls with equal literals may be one value
//!     there, which two parameters are not.
//! M7. The only argument of a call by the name of a type stays: a literal is cast there, a parameter is given to a function of
//!     that name.

use verso_types::{SqlType, TimeStyle, Value, parse_text};

/// Longer texts are executed as they are.
const TEXT_BYTES_MAX: usize = 4_096;
/// Texts with more literals are executed as they are.
const LITERALS_MAX: usize = 64;

/// Functions that give another value with each call.
const DRAWS: [&[u8]; 4] = [b"nextval", b"random", b"random_normal", b"clock_timestamp"];
/// Words of clauses in which equal expressions may be one.
const COMPARES: [&[u8]; 4] = [b"order", b"group", b"over", b"distinct"];

/// A text as the statement cache knows it. The buffers are used again.
#[derive(Debug, Default)]
pub struct Normal {
    /// The text with parameters, and behind a NUL their kinds.
    pub key: String,
    /// Bytes of the text.
    length: usize,
    /// The literals.
    pub values: Vec<Value>,
    /// Where they stand.
    spots: Vec<Spot>,
}

/// A literal's place, in bytes.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// In the text given.
    given: (usize, usize),
    /// In the text with parameters.
    normal: (usize, usize),
}

impl Normal {
    /// Reads a text; false where it is to be executed as it is.
    pub fn read(&mut self, sql: &str) -> bool {
        self.key.clear();
        self.values.clear();
        self.spots.clear();
        sql.len() <= TEXT_BYTES_MAX && starts_plain(sql) && self.scan(sql).is_some()
    }

    /// The text with parameters.
    pub fn text(&self) -> &str {
        &self.key[..self.length]
    }

    /// Types of the parameters, as far as the literals have one.
    pub fn types(&self) -> Vec<Option<SqlType>> {
        let ty = |value: &Value| match value {
            Value::Int4(_) => Some(SqlType::Int4),
            Value::Int8(_) => Some(SqlType::Int8),
            Value::Numeric(_) | Value::Big(_) => Some(SqlType::Numeric(None)),
            _ => None,
        };
        self.values.iter().map(ty).collect()
    }

    /// The place in the text given, in characters from 1, of one in the text with parameters.
    pub fn given_position(&self, sql: &str, position: u32) -> u32 {
        let normal = self.text();
        let at = normal.char_indices().nth(position.saturating_sub(1) as usize);
        let at = at.map_or(normal.len(), |(byte, _)| byte);
        let before = self.spots.iter().rfind(|spot| spot.normal.0 <= at);
        let byte = match before {
            Some(spot) if at < spot.normal.1 => spot.given.0,
            Some(spot) => at - spot.normal.1 + spot.given.1,
            None => at,
        };
        sql.get(..byte).map_or(1, |before| before.chars().count() as u32 + 1)
    }

    fn scan(&mut self, sql: &str) -> Option<()> {
        let bytes = sql.as_bytes();
        let mut at = 0;
        let mut copied = 0;
        let mut ordinals = false;
        let (mut draws, mut compares) = (false, false);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => {
                    let start = at;
                    at = word_end(bytes, at);
                    let word = &bytes[start..at];
                    ordinals |= word.eq_ignore_ascii_case(b"order") || word.eq_ignore_ascii_case(b"group");
                    draws |= DRAWS.iter().any(|drawn| word.eq_ignore_ascii_case(drawn));
                    compares |= COMPARES.iter().any(|clause| word.eq_ignore_ascii_case(clause));
                    if (draws && compares) || bytes.get(at) == Some(&b'\'') {
                        return None; // M6, E'…', X'…'
                    }
                }
                b'"' => at = quoted_end(bytes, at, b'"')?,
                b'\'' => {
                    let end = quoted_end(bytes, at, b'\'')?;
                    let inner = &sql[at + 1..end - 1];
                    let pattern = inner.starts_with("^(") && inner.ends_with(")$");
                    let range = matches!(inner, "empty" | "(,)" | "(,]" | "[,)" | "[,]");
                    if pattern || range || is_cast(bytes, at, end) {
                        at = end;
                        continue;
                    }
                    let value = if inner.contains('\'') {
                        Value::text(&inner.replace("''", "'"))
                    } else {
                        Value::text(inner)
                    };
                    self.replace(sql, &mut copied, (at, end), value)?;
                    at = end;
                }
                b'0'..=b'9' => {
                    let (end, whole) = number_end(bytes, at)?;
                    if !(whole && ordinals) {
                        let value = number(&sql[at..end], whole)?;
                        self.replace(sql, &mut copied, (at, end), value)?;
                    }
                    at = end;
                }
                b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => return None,
                b'$' => return None,
                b'-' if bytes.get(at + 1) == Some(&b'-') => return None,
                b'/' if bytes.get(at + 1) == Some(&b'*') => return None,
                b';' => {
                    if !sql[at + 1..].trim().is_empty() {
                        return None;
                    }
                    self.key.push_str(&sql[copied..at]);
                    copied = bytes.len();
                    at = bytes.len();
                }
                _ => at += 1,
            }
        }
        self.key.push_str(&sql[copied..]);
        self.length = self.key.len();
        self.key.push('\0');
        for value in &self.values {
            self.key.push(match value {
                Value::Int4(_) => 'i',
                Value::Int8(_) => 'l',
                Value::Numeric(_) | Value::Big(_) => 'n',
                _ => 's',
            });
        }
        Some(())
    }

    /// Puts the next parameter in the place of a literal.
    fn replace(&mut self, sql: &str, copied: &mut usize, given: (usize, usize), value: Value) -> Option<()> {
        if self.values.len() == LITERALS_MAX {
            return None;
        }
        self.key.push_str(&sql[*copied..given.0]);
        *copied = given.1;
        let start = self.key.len();
        self.values.push(value);
        let number = self.values.len();
        self.key.push('$');
        if number >= 10 {
            self.key.push(char::from(b'0' + (number / 10) as u8));
        }
        self.key.push(char::from(b'0' + (number % 10) as u8));
        self.spots.push(Spot { given, normal: (start, self.key.len()) });
        Some(())
    }
}

/// Whether the first word is that of a query or a change of rows.
pub fn starts_plain(sql: &str) -> bool {
    let bytes = sql.trim_start().as_bytes();
    let word = &bytes[..word_end(bytes, 0)];
    [&b"select"[..], b"insert", b"update", b"delete"].iter().any(|plain| word.eq_ignore_ascii_case(plain))
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    bytes[start..].iter().position(|byte| !part(byte)).map_or(bytes.len(), |length| start + length)
}

/// Whether a literal is all that a call by the name of a type of the system is given (M7).
fn is_cast(bytes: &[u8], start: usize, end: usize) -> bool {
    let behind = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace());
    let before = bytes[..start].trim_ascii_end();
    let (Some(b')'), Some((b'(', before))) = (behind, before.split_last()) else { return false };
    let name = before.trim_ascii_end();
    let name = name.strip_suffix(b"\"").unwrap_or(name);
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..);
    let name = &name[name.iter().rposition(|byte| !part(byte)).map_or(0, |at| at + 1)..];
    // Names of types are short.
    if name.is_empty() || name.len() > 63 {
        return false;
    }
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    verso_parser::type_of_call(None, &name, 0).is_some_and(|ty| !matches!(ty, SqlType::Named(_)))
}

/// Behind the closing quote; a doubled one is a part of the text.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == quote)? + 1;
        if bytes.get(at) != Some(&quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// Behind the number, and whether it is a whole one; none for one that runs into a word.
fn number_end(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    let digits = |from: usize| {
        bytes[from..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |n| from + n)
    };
    let mut end = digits(start);
    let mut whole = true;
    if bytes.get(end) == Some(&b'.') {
        whole = false;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        whole = false;
        end += 1;
        if matches!(bytes.get(end), Some(b'+' | b'-')) {
            end += 1;
        }
        let exponent = digits(end);
        if exponent == end {
            return None;
        }
        end = exponent;
    }
    let stops =
        !matches!(bytes.get(end), Some(b'.' | b'_' | b'$' | b'a'..=b'z' | b'A'..=b'Z' | b'\'' | 0x80..));
    stops.then_some((end, whole))
}

/// The value that the binder gives the literal; none for one that has another type with a minus before it.
fn number(digits: &str, whole: bool) -> Option<Value> {
    const LEAST: [u64; 2] = [1 << 31, 1 << 63];
    if whole {
        if digits.parse::<u64>().is_ok_and(|value| LEAST.contains(&value)) {
            return None;
        }
        if let Ok(value) = digits.parse() {
            return Some(Value::Int4(value));
        }
        if let Ok(value) = digits.parse() {
            return Some(Value::Int8(value));
        }
    }
    parse_text(&SqlType::Numeric(None), digits, &TimeStyle::UTC).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(sql: &str) -> Option<(String, Vec<String>)> {
        let mut normal = Normal::default();
        let read = normal.read(sql);
        let values = normal.values.iter().map(|value| format!("{value:?}")).collect();
        read.then(|| (normal.key.replace('\0', " | "), values))
    }

    #[test]
    fn m6_calls_that_may_be_one_value_stay() {
        assert!(normal("select array_agg(nextval('s') order by nextval('s')) from t").is_none());
        assert!(normal("select sum(x) over (order by floor(RANDOM() * 2)) from t").is_none());
        assert!(normal("insert into t values (nextval('s'), 7)").is_some());
        assert!(normal("select x from t where y = 3 order by x").is_some());
    }

    #[test]
    fn literals_become_parameters() {
        let of = |sql: &str| normal(sql).map(|(key, _)| key);
        assert_eq!(
            of("SELECT a1 FROM t WHERE id = 42 AND b='it''s' AND c<1.5e3;").as_deref(),
            Some("SELECT a1 FROM t WHERE id = $1 AND b=$2 AND c<$3 | isn")
        );
        assert_eq!(of("select -3000000000").as_deref(), Some("select -$1 | l"));
        assert_eq!(
            of("SELECT \"a 1\" FROM t WHERE x=7 ORDER BY 1 LIMIT 5").as_deref(),
            Some("SELECT \"a 1\" FROM t WHERE x=$1 ORDER BY 1 LIMIT 5 | i")
        );
        assert_eq!(
            of("SELECT a FROM pg_class WHERE relname ~ '^(t)$' AND a = 'b'").as_deref(),
            Some("SELECT a FROM pg_class WHERE relname ~ '^(t)$' AND a = $1 | s")
        );
        assert_eq!(
            of("SELECT text('g'), pg_catalog.\"text\" ( 'g' ), lower('g'), int4('1', 'a'), ('g')").as_deref(),
            Some("SELECT text('g'), pg_catalog.\"text\" ( 'g' ), lower($1), int4($2, $3), ($4) | ssss")
        );
        let (_, values) = normal("INSERT INTO t VALUES (1, 'it''s', NULL)").expect("plain");
        assert_eq!(values, ["Int4(1)", "Text(\"it's\")"]);
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        for sql in [
            "SELECT E'a'",
            "SELECT $1",
            "SELECT $$x$$",
            "SELECT 1 -- one",
            "SELECT 1 /* one */",
            "SELECT 1; SELECT 2",
            "BEGIN",
            "SELECT 'open",
            "SELECT 0x1F",
            "SELECT 1_000",
            "SELECT .5",
        ] {
            assert_eq!(normal(sql), None, "{sql}");
        }
    }

    #[test]
    fn places_are_found_again() {
        let sql = "SELECT 'ä', 1000 + x FROM t";
        let mut normal = Normal::default();
        assert!(normal.read(sql));
        assert_eq!(normal.text(), "SELECT $1, $2 + x FROM t");
        let x = normal.text().find('x').expect("x") as u32 + 1;
        assert_eq!(normal.given_position(sql, x), 20);
    }
}
