//! Days to year, month and day and back (Howard Hinnant, "chrono-compatible low-level date algorithms").

use super::{MICROS_PER_DAY, UNIX_EPOCH_DAYS};

/// Days of an era of 400 years.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 2000-01-01.
const EPOCH_SHIFT: i64 = 719_468 + UNIX_EPOCH_DAYS as i64;

/// A calendar date; the year is astronomical (0 is 1 BC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical year.
    pub year: i32,
    /// 1 ..= 12
    pub month: u8,
    /// 1 ..= 31
    pub day: u8,
}

/// Days since 2000-01-01. Month and day are taken as they are, in range or not.
pub fn days_from_civil(year: i32, month: u8, day: u8) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - EPOCH_SHIFT
}

/// The calendar date of a day.
pub fn civil_from_days(days: i32) -> Civil {
    let days = i64::from(days) + EPOCH_SHIFT;
    let era = days.div_euclid(ERA_DAYS);
    let day_of_era = days.rem_euclid(ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil { year: year as i32, month: month as u8, day: day as u8 }
}

/// Is 29 February in that year?
pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month (1 ..= 12).
pub fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of a timestamp and the microseconds within it.
pub fn split_timestamp(micros: i64) -> (i32, i64) {
    // i64 / day < 2^27, so the day always fits
    (micros.div_euclid(MICROS_PER_DAY) as i32, micros.rem_euclid(MICROS_PER_DAY))
}

#[cfg(test)]
mod tests {
    use super::super::{END_TIMESTAMP, MAX_DATE, MIN_DATE, MIN_TIMESTAMP};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_the_range_are_postgresql_s() {
        assert_eq!(civil_from_days(0), Civil { year: 2000, month: 1, day: 1 });
        assert_eq!(civil_from_days(MIN_DATE), Civil { year: -4713, month: 11, day: 24 });
        assert_eq!(civil_from_days(MAX_DATE), Civil { year: 5_874_897, month: 12, day: 31 });
        assert_eq!(MIN_TIMESTAMP, i64::from(MIN_DATE) * MICROS_PER_DAY);
        assert_eq!(END_TIMESTAMP, days_from_civil(294_277, 1, 1) * MICROS_PER_DAY);
        assert_eq!(days_from_civil(1970, 1, 1), -i64::from(UNIX_EPOCH_DAYS));
    }

    proptest! {
        #[test]
        fn days_round_trip(days in MIN_DATE..=MAX_DATE) {
            let civil = civil_from_days(days);
            prop_assert!((1..=days_in_month(civil.year, civil.month)).contains(&civil.day));
            prop_assert_eq!(days_from_civil(civil.year, civil.month, civil.day), i64::from(days));
        }
    }
}
