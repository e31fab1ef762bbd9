//! Time zones: by name, and as a distance from Greenwich: `SET TIME ZONE -7`, `SET TIME ZONE INTERVAL '-08:00'`.

use verso_types::TimeZone;
use verso_types::datetime::{parse_interval, time_zone, zone_of_offset};

/// The name of the zone that a number of hours or an interval means; none for the name of a zone.
///
/// # Errors
/// What is wrong with an interval.
pub(super) fn fixed(value: &str) -> Result<Option<String>, String> {
    if let Ok(hours) = value.trim().parse::<f64>() {
        let fits = hours.is_finite() && hours.abs() <= 168.0;
        return Ok(fits.then(|| zone_of_offset((hours * 3600.0) as i32)));
    }
    let text = value.strip_prefix("INTERVAL '").and_then(|text| text.strip_suffix('\''));
    let Some(interval) = text.and_then(|text| parse_interval(text).ok()) else { return Ok(None) };
    if interval.months != 0 {
        return Err("Cannot specify months in time zone interval.".to_string());
    }
    if interval.days != 0 {
        return Err("Cannot specify days in time zone interval.".to_string());
    }
    let seconds = i32::try_from(interval.micros / 1_000_000);
    Ok(seconds.ok().map(zone_of_offset))
}

/// The zone that a name means.
pub(super) fn of_name(text: &str) -> Option<TimeZone> {
    if text.eq_ignore_ascii_case("utc") || text.eq_ignore_ascii_case("z") {
        return Some(TimeZone::UTC);
    }
    time_zone(text).ok()
}
