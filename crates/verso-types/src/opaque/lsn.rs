//! `pg_lsn`: a place in the log, as two hexadecimal numbers.

use super::{Opaque, OpaqueKind};
use crate::error::TypeError;
use crate::value::Value;

/// Bytes from the begin of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PgLsn(pub u64);

impl PgLsn {
    /// Reads `16/B374D848`.
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str) -> Result<PgLsn, TypeError> {
        let half = |digits: &str| {
            let fits = (1..=8).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            fits.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
        };
        let halves = text.split_once('/').and_then(|(high, low)| Some((half(high)?, half(low)?)));
        let (high, low) = halves.ok_or_else(|| TypeError::syntax("pg_lsn", text))?;
        Ok(PgLsn(high << 32 | low))
    }

    /// Appends its text.
    pub fn format(self, out: &mut String) {
        // writing to a String cannot fail
        let _ =
            std::fmt::Write::write_fmt(out, format_args!("{:X}/{:X}", self.0 >> 32, self.0 & 0xffff_ffff));
    }

    /// The stored value.
    pub fn value(self) -> Opaque {
        Opaque::new(OpaqueKind::Lsn, self.0.to_be_bytes())
    }

    /// As [`PgLsn::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The place that a stored value is.
    pub fn of(value: &Opaque) -> PgLsn {
        PgLsn(value.bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)))
    }
}
