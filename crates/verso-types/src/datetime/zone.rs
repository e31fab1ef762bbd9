//! Local time and UTC, through the time zone database; PostgreSQL's rules where the clocks change.

use std::collections::HashMap;
use std::sync::LazyLock;

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

/// Whether a zone's clocks are put ahead for summer at a moment.
pub fn is_summer_time(micros: i64, tz: &TimeZone) -> bool {
    let unix = within_library(micros).saturating_add(UNIX_EPOCH_MICROS);
    let moment = jiff::Timestamp::from_microsecond(unix);
    moment.is_ok_and(|moment| tz.to_offset_info(moment).dst().is_dst())
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

/// What an abbreviation of a zone stands for.
#[derive(Clone, Debug)]
pub(super) enum Abbreviation {
    /// Always so many seconds ahead of UTC.
    Fixed(i32),
    /// What clocks of this zone were ahead when they were called so.
    Of(TimeZone),
}

/// PostgreSQL's default set, by name: the offset in seconds, or the zone in which the abbreviation has meant several.
static ABBREVIATIONS: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("../../data/abbreviations.tsv").lines().filter_map(|line| line.split_once('\t')).collect()
});

/// Those of them that PostgreSQL's set says are of clocks put ahead in summer.
const OF_SUMMER: &str = "acdt acsst adt aedt aesst akdt almst awsst azost bdst brst bst cadt cdt cest cetdst chadt clst clt easst east \
    edt eest eetdst egst fjst fnst idt kdt kgst lhdt mdt mest mesz metdst msd must ndt nzdt pdt pkst pmdt pyst sadt ulast uyst uzst \
    wadt wdt wetdst wgst yekst";

/// 2026-01-01: the meanings of abbreviations are those of the time around it.
const RECENT_MICROS: i64 = 9_497 * MICROS_PER_DAY;

/// Most changes of a zone's clocks that are looked through for an abbreviation.
const CHANGES_MAX: usize = 600;

/// The meaning of an abbreviation in lower case, and whether it is that of clocks put ahead in summer: the session's own zone
/// first, then those that are known.
pub(super) fn abbreviation(name: &str, session: &TimeZone) -> Option<(Abbreviation, bool)> {
    // Which mean the same everywhere.
    if matches!(name, "utc" | "z" | "zulu" | "uct") {
        return Some((Abbreviation::Fixed(0), false));
    }
    // Names of months and the like come here, too: clocks are called by three letters or more.
    if name.len() < 3 || !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    if let Some(summer) = is_abbreviation_of(name, session) {
        return Some((Abbreviation::Of(session.clone()), summer));
    }
    let known = ABBREVIATIONS.get(name)?;
    match known.parse::<i32>() {
        Ok(seconds) => Some((Abbreviation::Fixed(seconds), false)),
        Err(_) => {
            let zone = TimeZone::get(known).ok()?;
            Some((Abbreviation::Of(zone), false))
        }
    }
}

/// Whether clocks of the zone were ever called so, and whether they were ahead then.
fn is_abbreviation_of(name: &str, zone: &TimeZone) -> Option<bool> {
    let recent = jiff::Timestamp::from_microsecond(UNIX_EPOCH_MICROS + RECENT_MICROS).ok()?;
    let info = zone.to_offset_info(recent);
    if info.abbreviation().eq_ignore_ascii_case(name) {
        return Some(info.dst().is_dst());
    }
    let found = |change: &jiff::tz::TimeZoneTransition<'_>| change.abbreviation().eq_ignore_ascii_case(name);
    let change = zone.preceding(recent).take(CHANGES_MAX).find(found);
    let change = change.or_else(|| zone.following(recent).take(CHANGES_MAX / 4).find(found));
    match change {
        Some(change) => Some(change.dst().is_dst()),
        None => first_offset(name, zone).map(|_| false),
    }
}

/// Seconds by which clocks of the zone were ahead of UTC before they were changed for the first time, if they were called so: by the
/// sun of the place, as a rule (`LMT`).
fn first_offset(name: &str, zone: &TimeZone) -> Option<i32> {
    let first = zone.to_offset_info(jiff::Timestamp::MIN);
    first.abbreviation().eq_ignore_ascii_case(name).then(|| first.offset().seconds())
}

/// Seconds by which clocks of the zone that were called so were ahead of UTC: at that local time, or else the last time before, or
/// the first after (as PostgreSQL's `DetermineTimeZoneAbbrevOffset`).
pub(super) fn offset_of_abbreviation(name: &str, zone: &TimeZone, local: i64) -> i32 {
    let offset = offset_at_local(local, zone);
    let utc = within_library(local.saturating_sub(i64::from(offset) * MICROS_PER_SECOND));
    offset_of_abbreviation_at(name, zone, utc).unwrap_or(offset)
}

/// The same at a moment; none if clocks were never called so.
fn offset_of_abbreviation_at(name: &str, zone: &TimeZone, utc: i64) -> Option<i32> {
    let moment = jiff::Timestamp::from_microsecond(utc.saturating_add(UNIX_EPOCH_MICROS)).ok()?;
    let is_it = |abbreviation: &str| abbreviation.eq_ignore_ascii_case(name);
    let then = zone.to_offset_info(moment);
    if is_it(then.abbreviation()) {
        return Some(then.offset().seconds());
    }
    let before = zone.preceding(moment).take(CHANGES_MAX).find(|change| is_it(change.abbreviation()));
    let after = || zone.following(moment).take(CHANGES_MAX).find(|change| is_it(change.abbreviation()));
    let before = before.map(|change| change.offset().seconds()).or_else(|| first_offset(name, zone));
    before.or_else(|| after().map(|change| change.offset().seconds()))
}

/// The offset in seconds of a zone abbreviation such as `EST`: of one that has meant several the newest.
pub fn abbreviation_offset(name: &str) -> Option<i32> {
    let known = ABBREVIATIONS.get(name.to_ascii_lowercase().as_str())?;
    known.parse().ok().or_else(|| {
        let zone = TimeZone::get(known).ok()?;
        Some(offset_of_abbreviation(name, &zone, RECENT_MICROS))
    })
}

/// PostgreSQL's default set of abbreviations, by name: with the offset in seconds, and whether clocks are put ahead then.
pub fn zone_abbreviations() -> Vec<(String, i32, bool)> {
    let one = |name: &&'static str| {
        let summer = OF_SUMMER.split_whitespace().any(|known| known == *name);
        Some((name.to_ascii_uppercase(), abbreviation_offset(name)?, summer))
    };
    let mut all: Vec<_> = ABBREVIATIONS.keys().filter_map(one).collect();
    all.sort();
    all
}

fn unknown(name: &str) -> TypeError {
    TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("time zone \"{name}\" not recognized"))
}

/// A zone whose clocks are always so many seconds ahead of UTC.
fn fixed(seconds: i32) -> Option<TimeZone> {
    jiff::tz::Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// The time zone that `SET TimeZone` or a literal names: an IANA name, an abbreviation, or a rule of POSIX (`GMT+1`,
/// `PST8PDT,M3.2.0,M11.1.0`), whose name may be missing: `+05:30` is what has to be added to get UTC, so it is west of it.
/// # Errors
/// 22023.
pub fn time_zone(name: &str) -> Result<TimeZone, TypeError> {
    let trimmed = name.trim();
    if trimmed.eq_ignore_ascii_case("utc") {
        return Ok(TimeZone::UTC);
    }
    // numbers never are names; names before abbreviations, as SET TimeZone wants EST5EDT rules where there are some
    let numeric = trimmed.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let zone = match numeric {
        true => super::input::parse_offset(trimmed)
            .or_else(|| fraction_of_hours(trimmed))
            .and_then(|east| fixed(-east)),
        false => TimeZone::get(trimmed)
            .ok()
            .or_else(|| abbreviation_offset(trimmed).and_then(fixed))
            .or_else(|| offset_behind_name(trimmed).and_then(fixed))
            .or_else(|| summer_rule(trimmed)),
    };
    zone.ok_or_else(|| unknown(name))
}

/// A distance from UTC as it stands behind a time, where east is positive: `+05:30`.
/// # Errors
/// 22023.
pub fn zone_of_distance(text: &str) -> Result<TimeZone, TypeError> {
    super::input::parse_offset(text).and_then(fixed).ok_or_else(|| unknown(text))
}

/// The zone that a function's argument names: an abbreviation, with what it means today, first.
/// # Errors
/// 22023.
pub fn named_zone(name: &str) -> Result<TimeZone, TypeError> {
    zone_for_local(name, RECENT_MICROS)
}

/// The zone that AT TIME ZONE names for clocks that show `local`: an abbreviation first, with what it meant then.
/// # Errors
/// 22023.
pub fn zone_for_local(name: &str, local: i64) -> Result<TimeZone, TypeError> {
    zone_or_abbreviation(name, |name, zone| offset_of_abbreviation(name, zone, local))
}

/// The zone that AT TIME ZONE names at a moment: an abbreviation first, with what it meant then.
/// # Errors
/// 22023.
pub fn zone_for_moment(name: &str, micros: i64) -> Result<TimeZone, TypeError> {
    zone_or_abbreviation(name, |name, zone| {
        offset_of_abbreviation_at(name, zone, within_library(micros))
            .unwrap_or_else(|| offset_at_utc(micros, zone))
    })
}

fn zone_or_abbreviation(name: &str, meaning: impl Fn(&str, &TimeZone) -> i32) -> Result<TimeZone, TypeError> {
    let lower = name.trim().to_ascii_lowercase();
    let Some(known) = ABBREVIATIONS.get(lower.as_str()) else { return time_zone(name) };
    let zone = match known.parse::<i32>() {
        Ok(seconds) => fixed(seconds),
        Err(_) => TimeZone::get(known).ok().and_then(|zone| fixed(meaning(&lower, &zone))),
    };
    zone.ok_or_else(|| unknown(name))
}

/// POSIX's zones with clocks that are put ahead in summer: `FOO8BAR` by the rules of the United States, unless it has its own.
fn summer_rule(text: &str) -> Option<TimeZone> {
    TimeZone::posix(text).or_else(|_| TimeZone::posix(&format!("{text},M3.2.0,M11.1.0"))).ok()
}

/// Seconds of POSIX's `GMT+1`, which is an hour behind Greenwich: any name, and what has to be added to its time to get that of
/// UTC.
fn offset_behind_name(text: &str) -> Option<i32> {
    if let Some((name, offset)) = text.strip_prefix('<').and_then(|text| text.split_once('>')) {
        let fits = name.len() >= 3
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b':'));
        return super::input::parse_offset(offset).filter(|_| fits).map(|offset| -offset);
    }
    let (name, offset) = text.split_at(text.find(|c: char| c.is_ascii_digit() || c == '+' || c == '-')?);
    let letters = name.chars().all(|c| c.is_ascii_alphabetic() || c == '/' || c == '_');
    let offset = super::input::parse_offset(offset).filter(|_| letters && name.len() >= 3)?;
    Some(-offset)
}

/// The POSIX name of a zone so many seconds east of Greenwich: `<+05:30>-05:30`.
#[must_use]
pub fn zone_of_offset(seconds: i32) -> String {
    let (ahead, behind) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
    let seconds = seconds.unsigned_abs();
    let mut shown = format!("{:02}", seconds / 3600);
    if !seconds.is_multiple_of(3600) {
        shown += &format!(":{:02}", seconds / 60 % 60);
    }
    if !seconds.is_multiple_of(60) {
        shown += &format!(":{:02}", seconds % 60);
    }
    format!("<{ahead}{shown}>{behind}{shown}")
}

/// Seconds of `-1.5` hours.
fn fraction_of_hours(text: &str) -> Option<i32> {
    let hours: f64 = text.contains('.').then(|| text.parse().ok()).flatten()?;
    (hours.abs() <= 168.0).then_some((hours * 3600.0) as i32)
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
        assert_eq!(offset("+05:30"), Ok(-19_800));
        assert_eq!(offset("-8"), Ok(8 * 3600));
        assert_eq!(offset("PST8PDT,M3.2.0,M11.1.0"), Ok(-8 * 3600));
        assert_eq!(offset("FOO8BAR"), Ok(-8 * 3600));
        assert_eq!(offset("Nowhere/Land"), Err("22023"));
        assert_eq!(offset(""), Err("22023"));
    }
}
