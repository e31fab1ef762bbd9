//! Local time and UTC, through the time zone database; PostgreSQL's rules where the clocks change.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::{MICROS_PER_DAY, MICROS_PER_SECOND, UNIX_EPOCH_MICROS, civil_from_days, split_timestamp};
use crate::error::{TypeError, sqlstate};

/// The Gregorian calendar, and every rule of a zone far ahead, repeats after 400 years.
const CYCLE_MICROS: i64 = 146_097 * MICROS_PER_DAY;
/// Years from here on are looked up in an earlier cycle: the time zone library ends in 9999.
const LAST_KNOWN_MICROS: i64 = 7000 * 365 * MICROS_PER_DAY;

/// A moment within the time zone library's range with the same local rules.
fn within_library(micros: i64) -> i64 {
    let cycle_start = LAST_KNOWN_MICROS - CYCLE_MICROS;
    if micros < LAST_KNOWN_MICROS { micros } else { cycle_start + (micros - cycle_start) % CYCLE_MICROS }
}

/// Seconds by which local time is ahead of UTC at a moment.
pub fn offset_at_utc(micros: i64, tz: &TimeZone) -> i32 {
    let unix = within_library(micros).saturating_add(UNIX_EPOCH_MICROS);
    let moment = jiff::Timestamp::from_microsecond(unix);
    moment.map_or(0, |moment| tz.to_offset(moment).seconds())
}

/// Seconds by which local time is ahead of UTC at a local time. In the gap when clocks go forward the offset before the
/// change is meant, in the hour that happens twice the offset after it (as PostgreSQL's `DetermineTimeZoneOffset`).
pub fn offset_at_local(micros: i64, tz: &TimeZone) -> i32 {
    let (days, time) = split_timestamp(within_library(micros));
    let civil = civil_from_days(days);
    let seconds = time / MICROS_PER_SECOND;
    let local = i16::try_from(civil.year).ok().and_then(|year| {
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        DateTime::new(year, civil.month as i8, civil.day as i8, hour as i8, minute as i8, second as i8, 0)
            .ok()
    });
    let Some(local) = local else { return 0 };
    match tz.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
        AmbiguousOffset::Gap { before, .. } => before.seconds(),
        AmbiguousOffset::Fold { after, .. } => after.seconds(),
    }
}

/// What a zone's clocks are called at a moment: `CET`, or `+03` where they have no name.
pub fn zone_abbreviation(micros: i64, tz: &TimeZone) -> String {
    let unix = within_library(micros).saturating_add(UNIX_EPOCH_MICROS);
    let moment = jiff::Timestamp::from_microsecond(unix);
    moment.map_or_else(|_| String::new(), |moment| tz.to_offset_info(moment).abbreviation().to_string())
}

/// Timestamptz to local timestamp; infinities stay.
pub fn to_local(micros: i64, tz: &TimeZone) -> i64 {
    match micros {
        i64::MIN | i64::MAX => micros,
        _ => micros.saturating_add(i64::from(offset_at_utc(micros, tz)) * MICROS_PER_SECOND),
    }
}

/// Local timestamp to timestamptz; infinities stay.
/// # Errors
/// 22008 outside the range.
pub fn to_utc(micros: i64, tz: &TimeZone) -> Result<i64, TypeError> {
    match micros {
        i64::MIN | i64::MAX => Ok(micros),
        _ => {
            let offset = i64::from(offset_at_local(micros, tz)) * MICROS_PER_SECOND;
            super::checked_timestamp(i128::from(micros) - i128::from(offset))
        }
    }
}

/// Abbreviations with a fixed offset in hours, from PostgreSQL's default set.
const ABBREVIATIONS: [(&str, i32); 32] = [
    ("utc", 0),
    ("gmt", 0),
    ("z", 0),
    ("zulu", 0),
    ("ut", 0),
    ("uct", 0),
    ("wet", 0),
    ("west", 1),
    ("bst", 1),
    ("cet", 1),
    ("met", 1),
    ("cest", 2),
    ("mest", 2),
    ("eet", 2),
    ("sast", 2),
    ("eest", 3),
    ("msk", 3),
    ("msd", 4),
    ("pkt", 5),
    ("hkt", 8),
    ("jst", 9),
    ("kst", 9),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
    ("hst", -10),
    ("akst", -9),
];

/// The offset in seconds of a zone abbreviation such as `EST`.
pub fn abbreviation_offset(name: &str) -> Option<i32> {
    let found = ABBREVIATIONS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    found.map(|(_, hours)| hours * 3600)
}

/// The time zone that `SET TimeZone` or a literal names: an IANA name, an abbreviation, or hours (`-8`, `+05:30`, as in
/// ISO 8601 east of UTC is positive).
/// # Errors
/// 22023.
pub fn time_zone(name: &str) -> Result<TimeZone, TypeError> {
    let trimmed = name.trim();
    let fixed = |seconds: i32| jiff::tz::Offset::from_seconds(seconds).ok().map(TimeZone::fixed);
    if trimmed.eq_ignore_ascii_case("utc") {
        return Ok(TimeZone::UTC);
    }
    // numbers never are names; names before abbreviations, as SET TimeZone wants EST5EDT rules where there are some
    let numeric = trimmed.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let zone = match numeric {
        true => super::parse::parse_offset(trimmed).and_then(fixed),
        false => TimeZone::get(trimmed).ok().or_else(|| abbreviation_offset(trimmed).and_then(fixed)),
    };
    zone.ok_or_else(|| {
        TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
    })
}

/// The names of all zones of the database of time zones.
pub fn zone_names() -> Vec<String> {
    jiff::tz::db().available().map(|name| name.as_str().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::days_from_civil;
    use super::*;

    fn moment(year: i32, month: u8, day: u8, hour: i64) -> i64 {
        days_from_civil(year, month, day) * MICROS_PER_DAY + hour * 3600 * MICROS_PER_SECOND
    }

    #[test]
    fn clock_changes_follow_postgresql() {
        let tz = time_zone("America/New_York").expect("known");
        // 02:30 does not exist on 2021-03-14: the offset before the change holds; 01:30 is twice on 2021-11-07: after
        assert_eq!(offset_at_local(moment(2021, 3, 14, 2), &tz), -5 * 3600);
        assert_eq!(offset_at_local(moment(2021, 11, 7, 1), &tz), -5 * 3600);
        assert_eq!(offset_at_local(moment(2021, 7, 1, 0), &tz), -4 * 3600);
    }

    #[test]
    fn far_years_use_the_rules_of_an_earlier_cycle() {
        let tz = time_zone("Europe/Berlin").expect("known");
        for year in [9998, 10_000, 20_400, 294_276] {
            assert_eq!(offset_at_local(moment(year, 7, 1, 0), &tz), 7200, "{year}");
            assert_eq!(offset_at_utc(moment(year, 1, 10, 0), &tz), 3600, "{year}");
        }
        assert_eq!(offset_at_utc(super::super::MIN_TIMESTAMP, &tz), 3208);
    }

    #[test]
    fn zones_are_found_by_name_abbreviation_and_offset() {
        let offset = |name: &str| time_zone(name).map(|tz| offset_at_utc(0, &tz)).map_err(|e| e.sqlstate);
        assert_eq!(offset("utc"), Ok(0));
        assert_eq!(offset("Asia/Kolkata"), Ok(19_800));
        assert_eq!(offset("PST"), Ok(-8 * 3600));
        assert_eq!(offset("+05:30"), Ok(19_800));
        assert_eq!(offset("-8"), Ok(-8 * 3600));
        assert_eq!(offset("Nowhere/Land"), Err("22023"));
        assert_eq!(offset(""), Err("22023"));
    }
}
