//! `time with time zone`.

use super::{Opaque, OpaqueKind, ordered, put_ordered};
use crate::TimeStyle;
use crate::cast::limit_time;
use crate::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::{TypeError, sqlstate};
use crate::sqltype::SqlType;
use crate::value::{Interval, Value};

/// A time of day and how far its clock is ahead of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    /// Microseconds since midnight by that clock.
    pub micros: i64,
    /// Seconds ahead of UTC.
    pub offset: i32,
}

/// Offsets are within a little less than sixteen hours, as in PostgreSQL.
const OFFSET_MAX: i32 = 16 * 3600;

impl TimeTz {
    /// The time of a moment by the session's clocks.
    pub fn of_moment(moment: i64, style: &TimeStyle) -> TimeTz {
        let offset = datetime::offset_at_utc(moment, style);
        let local = moment.saturating_add(i64::from(offset) * MICROS_PER_SECOND);
        TimeTz { micros: datetime::split_timestamp(local).1, offset }
    }

    /// A time of today in the session's zone.
    pub fn of_time(micros: i64, style: &TimeStyle) -> TimeTz {
        let now = style.now().unwrap_or(0);
        let (today, _) = datetime::split_timestamp(datetime::to_local(now, style));
        let local = i64::from(today).saturating_mul(MICROS_PER_DAY).saturating_add(micros);
        TimeTz { micros, offset: datetime::offset_at_local(local, style) }
    }

    /// Reads `04:05:06+02`, `04:05 PST`, `2003-04-12 04:05:06 America/New_York`.
    /// # Errors
    /// 22007, 22008, 22009.
    pub fn parse(text: &str, style: &TimeStyle) -> Result<TimeTz, TypeError> {
        let (micros, offset) = datetime::parse_timetz(text, style)?;
        Ok(match offset {
            Some(offset) => TimeTz { micros, offset },
            None => TimeTz::of_time(micros, style),
        })
    }

    /// With the digits of a second that a type has.
    #[must_use]
    pub fn limit(self, ty: &SqlType) -> TimeTz {
        let SqlType::Timetz(digits) = ty else { return self };
        match limit_time(Value::Time(self.micros), &SqlType::Time(*digits)) {
            Value::Time(micros) => TimeTz { micros, ..self },
            _ => self,
        }
    }

    /// The same moment by a clock so far ahead of UTC.
    #[must_use]
    pub fn at(self, offset: i32) -> TimeTz {
        let micros = self.micros + (i64::from(offset) - i64::from(self.offset)) * MICROS_PER_SECOND;
        TimeTz { micros: micros.rem_euclid(MICROS_PER_DAY), offset }
    }

    /// Later by the hours of an interval.
    #[must_use]
    pub fn plus(self, interval: Interval) -> TimeTz {
        TimeTz { micros: datetime::time_plus_interval(self.micros, interval), ..self }
    }

    /// Appends `04:05:06+02`.
    pub fn format(self, out: &mut String) {
        datetime::format_time(self.micros, out);
        datetime::put_offset(self.offset, out);
    }

    /// The stored value: by its time in UTC, then by its zone, the western one last.
    pub fn value(self) -> Opaque {
        let mut bytes = Vec::with_capacity(12);
        put_ordered(self.micros - i64::from(self.offset) * MICROS_PER_SECOND, &mut bytes);
        bytes.extend_from_slice(&((-self.offset).cast_unsigned() ^ 1 << 31).to_be_bytes());
        Opaque::new(OpaqueKind::TimeTz, bytes)
    }

    /// As [`TimeTz::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The time that a stored value is.
    pub fn of(value: &Opaque) -> TimeTz {
        let utc = ordered(value.bytes());
        let west = value.bytes().get(8..).and_then(<[u8]>::first_chunk);
        let west = west.map_or(1 << 31, |bytes| u32::from_be_bytes(*bytes)) ^ 1 << 31;
        let offset = west.cast_signed().saturating_neg();
        let micros = utc.saturating_add(i64::from(offset) * MICROS_PER_SECOND);
        TimeTz { micros: micros.clamp(0, MICROS_PER_DAY), offset }
    }

    pub(super) fn send(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.micros.to_be_bytes());
        out.extend_from_slice(&(-self.offset).to_be_bytes());
    }

    pub(super) fn receive(bytes: &[u8]) -> Result<TimeTz, TypeError> {
        // Its parts are looked at one after the other.
        let (time, zone) = bytes.split_first_chunk().ok_or_else(crate::wire::insufficient)?;
        let micros = i64::from_be_bytes(*time);
        if !(0..=MICROS_PER_DAY).contains(&micros) {
            return Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "time out of range"));
        }
        let west = i32::from_be_bytes(super::exactly(zone)?);
        if !(-OFFSET_MAX + 1..OFFSET_MAX).contains(&west) {
            return Err(TypeError::new("22009", "time zone displacement out of range"));
        }
        Ok(TimeTz { micros, offset: -west })
    }
}
