//! The standard's way of reading a text: its template says of which type the value is.

use verso_types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use verso_types::opaque::timetz::TimeTz;
use verso_types::{CastKind, SqlType, TimeStyle, TypeError, Value, cast};

use super::read;
use super::template::{Node, nodes};
use crate::error::{ExecError, Result};

/// A text read by a template as the standard's `datetime(template)` does: the template says of which type the value is. Beside a
/// timestamp with zone comes how many seconds its clock is ahead of UTC.
pub(in crate::functions) fn read_standard(
    text: &str,
    template: &str,
) -> Result<(Value, SqlType, Option<i32>)> {
    let refused = |text: &str| Err(ExecError::from(TypeError::new("22007", text)));
    let (mut dated, mut timed, mut zoned) = (false, false, false);
    for node in nodes(template, true)?.iter() {
        let Node::Field { name, .. } = node else { continue };
        match *name {
            "FX" => {}
            "TZ" | "TZH" | "TZM" | "OF" => zoned = true,
            "A.M." | "AM" | "P.M." | "PM" | "HH" | "HH12" | "HH24" | "MI" | "SS" | "SSSS" | "SSSSS"
            | "MS" | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                timed = true;
            }
            _ => dated = true,
        }
    }
    let kept = |value: Value, ty: SqlType, exact: SqlType| -> Result<Value> {
        Ok(cast(&value, &ty, &exact, CastKind::Explicit, &TimeStyle::UTC)?)
    };
    let parts = read(text, template, true)?;
    let digits = parts.digits;
    let offset = |local: i64| -> Result<i64> {
        let missing = if dated { "timestamptz" } else { "timetz" };
        let missing = format!("missing time zone in input string for type {missing}");
        Ok(parts.offset(text, local)?.ok_or_else(|| TypeError::new("22007", missing))?)
    };
    let range = |ty: &str| TypeError::new("22008", format!("{ty} out of range"));
    let moment = || -> Result<i64> {
        let micros = parts.date(text)?.checked_mul(MICROS_PER_DAY);
        let micros = micros.and_then(|micros| micros.checked_add(parts.time(text).ok()?));
        Ok(micros.filter(|micros| datetime::is_timestamp(*micros)).ok_or_else(|| range("timestamp"))?)
    };
    match (dated, timed, zoned) {
        (true, true, true) => {
            parts.time(text)?;
            let local = moment()?;
            let offset = offset(local)?;
            let moment = local - offset * MICROS_PER_SECOND;
            if !datetime::is_timestamp(moment) {
                return Err(range("timestamptz").into());
            }
            let ty = SqlType::Timestamptz(None);
            let value = kept(Value::Timestamptz(moment), ty.clone(), SqlType::Timestamptz(digits))?;
            Ok((value, ty, Some(offset as i32)))
        }
        (true, true, false) => {
            parts.time(text)?;
            let ty = SqlType::Timestamp(None);
            let value = kept(Value::Timestamp(moment()?), ty.clone(), SqlType::Timestamp(digits))?;
            Ok((value, ty, None))
        }
        (false, true, true) => {
            let time = TimeTz { micros: parts.time(text)?, offset: offset(0)? as i32 };
            let ty = SqlType::Timetz(None);
            Ok((kept(time.into_value(), ty.clone(), SqlType::Timetz(digits))?, ty, None))
        }
        (false, true, false) => {
            let ty = SqlType::Time(None);
            Ok((kept(Value::Time(parts.time(text)?), ty.clone(), SqlType::Time(digits))?, ty, None))
        }
        (true, false, true) => refused("datetime format is zoned but not timed"),
        (true, false, false) => {
            let day = i32::try_from(parts.date(text)?).ok().filter(|day| datetime::is_date(i64::from(*day)));
            Ok((Value::Date(day.ok_or_else(|| range("date"))?), SqlType::Date, None))
        }
        (false, false, _) => refused("datetime format is not dated and not timed"),
    }
}
