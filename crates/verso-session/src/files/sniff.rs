//! Types from texts: the narrowest that all texts of a column are read as.

use verso_types::{SqlType, TimeStyle, parse_text};

/// What the texts of a column have been so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kinds {
    seen: bool,
    boolean: bool,
    integer: bool,
    float: bool,
    /// Numbers with more digits than a float keeps.
    long: bool,
    date: bool,
    timestamp: bool,
    timestamptz: bool,
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds {
            seen: false,
            boolean: true,
            integer: true,
            float: true,
            long: false,
            date: true,
            timestamp: true,
            timestamptz: true,
        }
    }
}

impl Kinds {
    /// One more text.
    pub fn add(&mut self, text: &str) {
        self.seen = true;
        self.boolean &= text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
        let digits = text.strip_prefix('-').unwrap_or(text);
        // 007 is a name
        let padded = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
        self.integer &= !padded && text.parse::<i64>().is_ok() && !text.starts_with('+');
        self.float &= !padded && is_number(digits);
        self.long |= self.float && digits.bytes().filter(u8::is_ascii_digit).count() > 15;
        if self.date || self.timestamp || self.timestamptz {
            self.moment(text);
        }
    }

    fn moment(&mut self, text: &str) {
        let dated = text.len() >= 10 && {
            let bytes = text.as_bytes();
            let shaped = (0..10).all(|at| match at {
                4 | 7 => bytes[at] == b'-',
                _ => bytes[at].is_ascii_digit(),
            });
            shaped && parse_text(&SqlType::Date, &text[..10], &TimeStyle::UTC).is_ok()
        };
        self.date &= dated && text.len() == 10;
        let clock = text.get(10..).filter(|_| dated).unwrap_or_default();
        let timed = clock.starts_with([' ', 'T']) && clock.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let zoned = timed && (clock.ends_with('Z') || clock[1..].contains(['+', '-']));
        let reads = |ty: SqlType| parse_text(&ty, text, &TimeStyle::UTC).is_ok();
        self.timestamp &= dated && !zoned && (clock.is_empty() || timed && reads(SqlType::Timestamp(None)));
        self.timestamptz &= zoned && reads(SqlType::Timestamptz(None));
    }

    /// Whether there were texts, and a narrower type than text has them all.
    pub fn is_typed(&self) -> bool {
        self.ty() != SqlType::Text
    }

    pub fn ty(&self) -> SqlType {
        match self {
            Kinds { seen: false, .. } => SqlType::Text,
            Kinds { boolean: true, .. } => SqlType::Bool,
            Kinds { integer: true, .. } => SqlType::Int8,
            Kinds { float: true, long: true, .. } => SqlType::Numeric(None),
            Kinds { float: true, .. } => SqlType::Float8,
            Kinds { date: true, .. } => SqlType::Date,
            Kinds { timestamp: true, .. } => SqlType::Timestamp(None),
            Kinds { timestamptz: true, .. } => SqlType::Timestamptz(None),
            _ => SqlType::Text,
        }
    }
}

/// Digits with a point and an exponent at most, which a float can hold.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> SqlType {
        let mut kinds = Kinds::default();
        texts.iter().for_each(|text| kinds.add(text));
        kinds.ty()
    }

    #[test]
    fn the_narrowest_type_of_all_texts() {
        let cases: [(&[&str], SqlType); 16] = [
            (&[], SqlType::Text),
            (&["1", "-2", "9223372036854775807"], SqlType::Int8),
            (&["1", "9223372036854775808"], SqlType::Numeric(None)),
            (&["1", "2.5", "1e3"], SqlType::Float8),
            (&["0.1234567890123456"], SqlType::Numeric(None)),
            (&["007", "1"], SqlType::Text),
            (&["0", "0.5"], SqlType::Float8),
            (&["true", "FALSE"], SqlType::Bool),
            (&["true", "1"], SqlType::Text),
            (&["2024-02-29", "2024-03-01"], SqlType::Date),
            (&["2023-02-29"], SqlType::Text),
            (&["2024-02-29", "2024-03-01 10:11:12.5"], SqlType::Timestamp(None)),
            (&["2024-03-01T10:11:12"], SqlType::Timestamp(None)),
            (&["2024-03-01T10:11:12Z", "2024-03-01 10:11+02"], SqlType::Timestamptz(None)),
            (&["2024-03-01T10:11:12Z", "2024-03-01"], SqlType::Text),
            (&["+1", "inf"], SqlType::Text),
        ];
        for (texts, expected) in cases {
            assert_eq!(of(texts), expected, "{texts:?}");
        }
    }
}
