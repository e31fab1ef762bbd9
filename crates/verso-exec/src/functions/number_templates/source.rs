//! Numbers that are shown by templates: rounded, or with an exponent.

use verso_types::{Decimal, Number, Value};

use crate::error::Result;

/// What is shown: a number that is exact, or a float of which so many digits are known.
pub(super) enum Source {
    Exact(Decimal),
    Number(Number),
    Float { value: f64, known: usize },
}

impl Source {
    pub(super) fn of(value: &Value) -> Option<Source> {
        Some(match value {
            Value::Numeric(number) => Source::Exact(*number),
            Value::Big(number) => Source::Number((**number).clone()),
            Value::Float8(value) => Source::Float { value: *value, known: 15 },
            Value::Float4(value) => Source::Float { value: (*value).into(), known: 6 },
            other => Source::Exact(Decimal::from(other.as_i64()?)),
        })
    }

    pub(super) fn is_finite(&self) -> bool {
        match self {
            Source::Exact(_) => true,
            Source::Number(number) => matches!(number, Number::Finite { .. }),
            Source::Float { value, .. } => value.is_finite(),
        }
    }

    /// The nearest integer.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Source::Exact(number) => number.rescale(0).ok()?.to_i64(),
            Source::Number(number) => number.round(0).to_i64(),
            Source::Float { value, .. } => Some(value.round_ties_even() as i64).filter(|_| value.is_finite()),
        }
    }

    pub(super) fn times_ten_to(self, power: usize) -> Result<Source> {
        let number = match self {
            Source::Float { value, known } => {
                return Ok(Source::Float { value: value * 10f64.powi(power as i32), known });
            }
            Source::Exact(number) => Number::from(number),
            Source::Number(number) => number,
        };
        let factor = Number::of(&Number::parse_value(&format!("1e{power}"))?);
        Ok(Source::Number(factor.map_or(number.clone(), |factor| number.times(&factor))))
    }

    /// Rounded to so many places, as a text.
    pub(super) fn rounded(&self, places: usize) -> String {
        match self {
            Source::Exact(number) => {
                let scale = u8::try_from(places).ok().filter(|scale| *scale <= Decimal::MAX_SCALE);
                match scale.and_then(|scale| number.rescale(scale).ok()) {
                    Some(rounded) => rounded.to_string(),
                    None => {
                        Number::from(*number).round(i32::try_from(places).unwrap_or(i32::MAX)).to_string()
                    }
                }
            }
            Source::Number(number) => number.round(i32::try_from(places).unwrap_or(i32::MAX)).to_string(),
            Source::Float { value, .. } if value.is_infinite() => {
                if *value < 0.0 {
                    "-Infinity".into()
                } else {
                    "Infinity".into()
                }
            }
            Source::Float { value, .. } => format!("{value:.places$}"),
        }
    }

    pub(super) fn scientific(&self, digits: usize) -> String {
        match self {
            Source::Exact(number) => scientific(&number.to_string(), digits),
            Source::Number(number) => scientific(&number.to_string(), digits),
            Source::Float { value, .. } => {
                // A double has fewer digits than that, and a precision in a format 16 bits.
                let shown = digits.min(1100);
                let text = format!("{:.shown$e}", value.abs());
                let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let mantissa = format!("{mantissa}{}", "0".repeat(digits - shown));
                let sign = if value.is_sign_negative() { '-' } else { ' ' };
                let (mark, exponent) = match exponent.strip_prefix('-') {
                    Some(exponent) => ('-', exponent),
                    None => ('+', exponent),
                };
                format!("{sign}{mantissa}e{mark}{exponent:0>2}")
            }
        }
    }
}

/// `1.23e+04`, with so many digits behind the point.
fn scientific(plain: &str, digits: usize) -> String {
    let negative = plain.starts_with('-');
    let body = plain.trim_start_matches('-');
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let all: String = format!("{whole}{fraction}");
    let first = all.bytes().position(|digit| digit != b'0');
    let (significant, exponent) = match first {
        None => ("0".to_owned(), 0i64),
        Some(first) => (all[first..].to_owned(), whole.len() as i64 - 1 - first as i64),
    };
    let mut kept: Vec<u8> = significant.bytes().map(|digit| digit - b'0').collect();
    let (mut exponent, round_up) = (exponent, kept.get(digits + 1).is_some_and(|digit| *digit >= 5));
    kept.resize(digits + 1, 0);
    if round_up {
        let mut at = kept.len();
        loop {
            let Some(next) = at.checked_sub(1) else {
                kept.insert(0, 1);
                kept.truncate(digits + 1);
                exponent += 1;
                break;
            };
            at = next;
            if kept[at] < 9 {
                kept[at] += 1;
                break;
            }
            kept[at] = 0;
        }
    }
    let shown: String = kept.iter().map(|digit| char::from(b'0' + digit)).collect();
    let point = if digits > 0 { "." } else { "" };
    let (sign, exponent_sign) = (if negative { '-' } else { ' ' }, if exponent < 0 { '-' } else { '+' });
    format!("{sign}{}{point}{}e{exponent_sign}{:02}", &shown[..1], &shown[1..], exponent.unsigned_abs())
}
