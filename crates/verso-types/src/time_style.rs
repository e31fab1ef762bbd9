//! How a session reads and shows dates and times: its zone, DateStyle, IntervalStyle, and what it means by `now`.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::tz::TimeZone;

use crate::Encoding;

/// How dates and timestamps are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateStyle {
    /// `2001-02-03 04:05:06+01`
    #[default]
    Iso,
    /// `02/03/2001 04:05:06 CET`
    Sql,
    /// `Sat Feb 03 04:05:06 2001 CET`
    Postgres,
    /// `03.02.2001 04:05:06 CET`
    German,
}

/// What the numbers of a date mean that begins with no year, and how styles other than ISO order them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// How intervals are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

/// The session's conventions for dates and times, and for how bytes are shown. It stands for its zone.
#[derive(Clone, Debug)]
pub struct TimeStyle {
    /// `SET TimeZone`.
    pub zone: TimeZone,
    /// First part of `SET DateStyle`.
    pub date: DateStyle,
    /// Second part of `SET DateStyle`.
    pub order: DateOrder,
    /// `SET IntervalStyle`.
    pub interval: IntervalStyle,
    /// `SET bytea_output = escape`: bytes are shown as characters where they are some.
    pub escapes_bytes: bool,
    /// `SET extra_float_digits`: above 0 floating point is shown such that it reads back as the same number, otherwise
    /// with 15 digits (`real` with 6) and so many more.
    pub float_digits: i8,
    /// `SET client_encoding`: the encoding of what the client sends and gets. Nothing here depends on it.
    pub encoding: Encoding,
    /// What `now`, `today` and the like refer to: the start of the transaction, in microseconds since 2000-01-01 UTC.
    /// Without a clock these words are no times.
    pub clock: Option<Arc<AtomicI64>>,
}

impl TimeStyle {
    /// What a session begins with, and what the catalog keeps values in.
    pub const UTC: TimeStyle = TimeStyle::of_zone(TimeZone::UTC);

    /// The usual styles, in a zone.
    pub const fn of_zone(zone: TimeZone) -> TimeStyle {
        TimeStyle {
            zone,
            date: DateStyle::Iso,
            order: DateOrder::Mdy,
            interval: IntervalStyle::Postgres,
            escapes_bytes: false,
            float_digits: 1,
            encoding: Encoding::UTF8,
            clock: None,
        }
    }

    /// The same zone and clock with values shown as JSON and archives want them: ISO.
    #[must_use]
    pub fn iso(&self) -> TimeStyle {
        TimeStyle { date: DateStyle::Iso, interval: IntervalStyle::Postgres, ..self.clone() }
    }

    /// The same with the clock stopped: `now` means from then on what it means now.
    #[must_use]
    pub fn stopped(&self) -> TimeStyle {
        let clock = self.now().map(|now| Arc::new(AtomicI64::new(now)));
        TimeStyle { clock, ..self.clone() }
    }

    /// The start of the transaction.
    pub(crate) fn now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.load(Ordering::Relaxed))
    }

    /// The setting DateStyle as SHOW prints it.
    pub fn date_style(&self) -> String {
        let style = match self.date {
            DateStyle::Iso => "ISO",
            DateStyle::Sql => "SQL",
            DateStyle::Postgres => "Postgres",
            DateStyle::German => "German",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        format!("{style}, {order}")
    }

    /// Takes the words of a DateStyle: a style, an order, or both.
    ///
    /// # Errors
    /// What is wrong, as PostgreSQL's DETAIL says it.
    pub fn set_date_style(&mut self, text: &str) -> Result<(), String> {
        let (mut style, mut order) = (None, None);
        let differ = |conflict: bool| match conflict {
            true => Err("Conflicting \"DateStyle\" specifications.".to_string()),
            false => Ok(()),
        };
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let lower = word.to_ascii_lowercase();
            let named = match lower.as_str() {
                "iso" => Some(DateStyle::Iso),
                "sql" => Some(DateStyle::Sql),
                "german" => Some(DateStyle::German),
                _ if lower.starts_with("postgres") => Some(DateStyle::Postgres),
                _ => None,
            };
            if let Some(named) = named {
                differ(style.is_some_and(|style| style != named))?;
                style = Some(named);
                // as in PostgreSQL, German brings its order along
                if named == DateStyle::German && order.is_none() {
                    order = Some((DateOrder::Dmy, false));
                }
                continue;
            }
            let named = match lower.as_str() {
                "ymd" => DateOrder::Ymd,
                "dmy" => DateOrder::Dmy,
                "mdy" | "us" => DateOrder::Mdy,
                _ if lower.starts_with("euro") => DateOrder::Dmy,
                _ if lower.starts_with("noneuro") => DateOrder::Mdy,
                "default" => {
                    style.get_or_insert(DateStyle::Iso);
                    order.get_or_insert((DateOrder::Mdy, false));
                    continue;
                }
                _ => return Err(format!("Unrecognized key word: \"{word}\".")),
            };
            differ(order.is_some_and(|(order, written)| written && order != named))?;
            order = Some((named, true));
        }
        self.date = style.unwrap_or(self.date);
        self.order = order.map_or(self.order, |(order, _)| order);
        Ok(())
    }

    /// The setting IntervalStyle as SHOW prints it.
    pub fn interval_style(&self) -> &'static str {
        match self.interval {
            IntervalStyle::Postgres => "postgres",
            IntervalStyle::PostgresVerbose => "postgres_verbose",
            IntervalStyle::SqlStandard => "sql_standard",
            IntervalStyle::Iso8601 => "iso_8601",
        }
    }

    /// Takes an IntervalStyle; false if there is none of that name.
    pub fn set_interval_style(&mut self, text: &str) -> bool {
        self.interval = match text.to_ascii_lowercase().as_str() {
            "postgres" => IntervalStyle::Postgres,
            "postgres_verbose" => IntervalStyle::PostgresVerbose,
            "sql_standard" => IntervalStyle::SqlStandard,
            "iso_8601" => IntervalStyle::Iso8601,
            _ => return false,
        };
        true
    }
}

/// By what values mean and how they look; the clock runs on.
impl PartialEq for TimeStyle {
    fn eq(&self, other: &Self) -> bool {
        let looks = |style: &TimeStyle| {
            (style.date, style.order, style.interval, style.escapes_bytes, style.float_digits)
        };
        self.zone == other.zone && looks(self) == looks(other)
    }
}

impl Deref for TimeStyle {
    type Target = TimeZone;

    fn deref(&self) -> &TimeZone {
        &self.zone
    }
}
