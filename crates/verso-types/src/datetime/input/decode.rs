//! The fields of a date or time put together, as PostgreSQL's `DecodeDateTime` and `DecodeTimeOnly` do it.

use jiff::tz::TimeZone;

use super::Flaw;
use super::fields::{Field, Kind};
use super::numbers::{displacement, fraction, integer};
use super::words::{Reserved, Word, word};
use crate::datetime::{
    Abbreviation, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, abbreviation,
    days_from_civil, offset_at_local, offset_at_utc, offset_of_abbreviation, split_timestamp, time_zone,
};
use crate::time_style::{DateOrder, TimeStyle};

// What a text has said so far.
pub(super) const YEAR: u32 = 1;
pub(super) const MONTH: u32 = 2;
pub(super) const DAY: u32 = 4;
pub(super) const DATE: u32 = YEAR | MONTH | DAY;
pub(super) const DAY_OF_YEAR: u32 = 8;
pub(super) const TIME: u32 = 16;
pub(super) const ZONE: u32 = 32;
const SUMMER: u32 = 64;
const NOON: u32 = 128;
const ERA: u32 = 256;
const WEEKDAY: u32 = 512;

/// Days from Julian day 0 to 2000-01-01.
const JULIAN_EPOCH: i64 = 2_451_545;

/// What the fields say.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    pub(super) year: i32,
    pub(super) month: i32,
    pub(super) day: i32,
    pub(super) hour: i32,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) micros: i32,
    pub(super) day_of_year: i32,
    pub(super) order: DateOrder,
    /// The year was written with one or two digits.
    pub(super) short_year: bool,
    pub(super) before_christ: bool,
    pub(super) julian: bool,
}

/// A zone as it was written; which offset it has may depend on the date.
#[derive(Clone, Debug)]
enum Zone {
    /// Seconds east of UTC.
    Offset(i32),
    Named(TimeZone),
    Abbreviated(String, TimeZone),
}

/// A text as a whole.
#[derive(Clone, Debug)]
pub(super) enum Decoded {
    Epoch,
    Late,
    Early,
    Moment(Moment),
}

/// A date and a time of day, or one of them.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// Days since 2000-01-01, if there is a date.
    pub(super) days: Option<i64>,
    /// Microseconds of the day.
    pub(super) time: i64,
    /// Seconds east of UTC: of the zone that was named, or the session's; none where that depends on a date that is not there.
    pub(super) offset: Option<i32>,
}

/// What is expected of the next field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    None,
    Julian,
    Time,
    Other,
}

struct Decoder<'s> {
    style: &'s TimeStyle,
    /// A time of day is wanted: a date beside it is taken in few places.
    only_time: bool,
    parts: Parts,
    known: u32,
    prefix: Prefix,
    text_month: bool,
    afternoon: Option<bool>,
    zone: Option<Zone>,
    special: Option<Decoded>,
}

/// Decodes fields.
pub(super) fn decode(fields: &[Field], only_time: bool, style: &TimeStyle) -> Result<Decoded, Flaw> {
    let mut decoder = Decoder {
        style,
        only_time,
        parts: Parts { order: style.order, ..Parts::default() },
        known: 0,
        prefix: Prefix::None,
        text_month: false,
        afternoon: None,
        zone: None,
        special: None,
    };
    for at in 0..fields.len() {
        let Some(found) = decoder.field(fields, at)? else { continue };
        if found & decoder.known != 0 {
            return Err(Flaw::Syntax);
        }
        decoder.known |= found;
    }
    if decoder.prefix != Prefix::None {
        return Err(Flaw::Syntax);
    }
    match decoder.special.take() {
        Some(special) => Ok(special),
        None => decoder.finish().map(Decoded::Moment),
    }
}

/// Which zone the word names, if any.
fn zone_of(text: &str) -> Option<TimeZone> {
    time_zone(text).ok()
}

impl Decoder<'_> {
    /// What is known by the time fields are decoded: for a time alone the date counts as known.
    fn before(&self) -> u32 {
        if self.only_time { self.known | DATE } else { self.known }
    }

    /// One field; none if it is to be passed over.
    fn field(&mut self, fields: &[Field], at: usize) -> Result<Option<u32>, Flaw> {
        let text = fields[at].text.as_str();
        Ok(Some(match fields[at].kind {
            Kind::Date => self.dated(fields, at)?,
            Kind::Time => {
                if !matches!(std::mem::replace(&mut self.prefix, Prefix::None), Prefix::None | Prefix::Time) {
                    return Err(Flaw::Syntax);
                }
                let found = self.parts.time(text)?;
                self.check_time()?;
                found
            }
            Kind::Signed => {
                self.zone = Some(Zone::Offset(displacement(text)?));
                ZONE
            }
            Kind::Number => self.number(fields, at)?,
            Kind::Word | Kind::Special => return self.word(text),
        }))
    }

    fn check_time(&self) -> Result<(), Flaw> {
        let Parts { hour, minute, second, .. } = self.parts;
        let fits = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
        if fits && self.micros() <= MICROS_PER_DAY { Ok(()) } else { Err(Flaw::Range) }
    }

    fn micros(&self) -> i64 {
        let Parts { hour, minute, second, micros, .. } = self.parts;
        i64::from(hour) * MICROS_PER_HOUR
            + i64::from(minute) * MICROS_PER_MINUTE
            + i64::from(second) * MICROS_PER_SECOND
            + i64::from(micros)
    }

    /// Something with punctuation in it: a date, the name of a zone, or a time with its zone.
    fn dated(&mut self, fields: &[Field], at: usize) -> Result<u32, Flaw> {
        let text = fields[at].text.as_str();
        if self.prefix == Prefix::Julian && !self.only_time {
            // A Julian day with its zone.
            let (day, rest) = integer(text)?;
            self.julian(day)?;
            self.zone = Some(Zone::Offset(displacement(rest)?));
            self.prefix = Prefix::None;
            return Ok(DATE | TIME | ZONE);
        }
        let takes_date = match self.only_time {
            true => {
                at == 0
                    && fields.len() >= 2
                    && (fields[fields.len() - 1].kind == Kind::Date || fields[1].kind == Kind::Time)
            }
            false => self.prefix == Prefix::None && self.known & (MONTH | DAY) != MONTH | DAY,
        };
        if takes_date {
            return self.parts.date(text, self.known);
        }
        if !text.starts_with(|c: char| c.is_ascii_digit()) && (self.only_time || self.prefix == Prefix::None)
        {
            let zone = zone_of(text).ok_or_else(|| Flaw::UnknownZone(text.to_owned()))?;
            self.zone = Some(Zone::Named(zone));
            return Ok(ZONE);
        }
        // hhmmss-zz
        match std::mem::replace(&mut self.prefix, Prefix::None) {
            Prefix::None | Prefix::Time => {}
            Prefix::Julian | Prefix::Other => return Err(Flaw::Syntax),
        }
        let Some(sign) = text.find('-').filter(|_| self.known & TIME != TIME) else {
            return Err(Flaw::Syntax);
        };
        self.zone = Some(Zone::Offset(displacement(&text[sign..])?));
        let known = self.before();
        let found = self.parts.run_together(&text[..sign], known)?;
        Ok(found | ZONE)
    }

    fn julian(&mut self, day: i32) -> Result<(), Flaw> {
        self.parts.set_day(i64::from(day) - JULIAN_EPOCH)?;
        self.parts.julian = true;
        Ok(())
    }

    fn number(&mut self, fields: &[Field], at: usize) -> Result<u32, Flaw> {
        let text = fields[at].text.as_str();
        match std::mem::replace(&mut self.prefix, Prefix::None) {
            Prefix::None => {}
            Prefix::Other => return Err(Flaw::Syntax),
            Prefix::Time => {
                return match self.parts.run_together(text, self.known | DATE)? {
                    TIME => Ok(TIME),
                    _ => Err(Flaw::Syntax),
                };
            }
            Prefix::Julian => {
                let (day, rest) = integer(text)?;
                self.julian(day)?;
                if rest.is_empty() {
                    return Ok(DATE);
                }
                let time = (fraction(rest)? * MICROS_PER_DAY as f64).round_ties_even() as i64;
                self.set_time(time);
                return Ok(DATE | TIME);
            }
        }
        let (length, point) = (text.len(), text.find('.'));
        let known = self.before();
        if self.only_time {
            return match point {
                Some(_) if at == 0 && fields.len() >= 2 && fields[fields.len() - 1].kind == Kind::Date => {
                    self.parts.date(text, self.known)
                }
                Some(point) if point > 2 => self.parts.run_together(text, known),
                Some(_) => Err(Flaw::Syntax),
                None if length > 4 => self.parts.run_together(text, known),
                None => self.parts.number(text, false, known),
            };
        }
        match point {
            Some(_) if known & DATE == 0 => self.parts.date(text, known),
            Some(point) if point > 2 => self.parts.run_together(text, known),
            _ if length >= 6 && (known & DATE == 0 || known & TIME == 0) => {
                self.parts.run_together(text, known)
            }
            _ => self.parts.number(text, self.text_month, known),
        }
    }

    fn set_time(&mut self, micros: i64) {
        let part = |unit: i64, of: i64| (micros / unit % of) as i32;
        self.parts.hour = part(MICROS_PER_HOUR, 25);
        self.parts.minute = part(MICROS_PER_MINUTE, 60);
        self.parts.second = part(MICROS_PER_SECOND, 60);
        self.parts.micros = part(1, MICROS_PER_SECOND);
    }

    fn word(&mut self, text: &str) -> Result<Option<u32>, Flaw> {
        if let Some((abbreviation, summer)) = abbreviation(text, &self.style.zone) {
            self.zone = Some(match abbreviation {
                Abbreviation::Fixed(offset) => Zone::Offset(offset),
                Abbreviation::Of(zone) => Zone::Abbreviated(text.to_owned(), zone),
            });
            return Ok(Some(if summer { ZONE | SUMMER } else { ZONE }));
        }
        let Some(word) = word(text) else {
            let zone = zone_of(text).ok_or(Flaw::Syntax)?;
            self.zone = Some(Zone::Named(zone));
            return Ok(Some(ZONE));
        };
        let prefixed = |this: &mut Self, prefix: Prefix| match this.prefix {
            Prefix::None => {
                this.prefix = prefix;
                Ok(Some(0))
            }
            _ => Err(Flaw::Syntax),
        };
        Ok(Some(match word {
            Word::Ignored => return Ok(None),
            Word::Month(_) | Word::Weekday if self.only_time => return Err(Flaw::Syntax),
            Word::Month(month) => {
                let mut found = MONTH;
                let numeric = self.known & (MONTH | DAY) == MONTH && !self.text_month;
                if numeric && (1..=31).contains(&self.parts.month) {
                    // What was taken for the month was the day.
                    self.parts.day = self.parts.month;
                    found = DAY;
                }
                self.text_month = true;
                self.parts.month = month;
                found
            }
            Word::Weekday => WEEKDAY,
            Word::Noon { after } => {
                self.afternoon = Some(after);
                NOON
            }
            Word::Era { before } => {
                self.parts.before_christ = before;
                ERA
            }
            Word::Summer => {
                let Some(Zone::Offset(offset)) = &mut self.zone else { return Err(Flaw::Syntax) };
                *offset += 3600;
                SUMMER
            }
            Word::Julian => return prefixed(self, Prefix::Julian),
            Word::Unit => return prefixed(self, Prefix::Other),
            Word::Time => {
                if !self.only_time && self.known & DATE != DATE {
                    return Err(Flaw::Syntax);
                }
                return prefixed(self, Prefix::Time);
            }
            Word::Reserved(reserved) => self.reserved(reserved)?,
        }))
    }

    fn reserved(&mut self, reserved: Reserved) -> Result<u32, Flaw> {
        if self.only_time && !matches!(reserved, Reserved::Now | Reserved::Zulu) {
            return Err(Flaw::Syntax);
        }
        let special = match reserved {
            Reserved::Zulu => {
                self.set_time(0);
                self.zone = Some(Zone::Offset(0));
                return Ok(TIME | ZONE);
            }
            Reserved::Epoch => Decoded::Epoch,
            Reserved::Late => Decoded::Late,
            Reserved::Early => Decoded::Early,
            day => {
                let (today, time, offset) = self.now().ok_or(Flaw::Syntax)?;
                let shift = match day {
                    Reserved::Yesterday => -1,
                    Reserved::Tomorrow => 1,
                    _ => 0,
                };
                if day != Reserved::Now {
                    self.parts.set_day(today + shift)?;
                    return Ok(DATE);
                }
                self.set_time(time);
                if self.only_time {
                    return Ok(TIME);
                }
                self.parts.set_day(today)?;
                self.zone = Some(Zone::Offset(offset));
                return Ok(DATE | TIME | ZONE);
            }
        };
        self.special = Some(special);
        Ok(DATE | TIME | ZONE)
    }

    /// The transaction's start by the session's clocks: the day, the microseconds of it, the offset.
    fn now(&self) -> Option<(i64, i64, i32)> {
        let moment = self.style.now()?;
        let offset = offset_at_utc(moment, self.style);
        let (day, time) = split_timestamp(moment.saturating_add(i64::from(offset) * MICROS_PER_SECOND));
        Some((day.into(), time, offset))
    }

    fn finish(mut self) -> Result<Moment, Flaw> {
        self.parts.validate(self.known)?;
        if let Some(after) = self.afternoon {
            let hour = &mut self.parts.hour;
            if *hour > 12 {
                return Err(Flaw::Range);
            }
            *hour = *hour % 12 + if after { 12 } else { 0 };
        }
        let has_date = self.known & DATE == DATE;
        if self.only_time {
            self.check_time()?;
            if self.known & TIME != TIME {
                return Err(Flaw::Syntax);
            }
        } else if !has_date {
            return Err(Flaw::Syntax);
        }
        let time = self.micros();
        let days =
            has_date.then(|| days_from_civil(self.parts.year, self.parts.month as u8, self.parts.day as u8));
        // Without a date today is meant, where that matters; half a date is none.
        let day = match (days, self.known & DATE) {
            (None, 0) => self.now().map(|(today, ..)| today),
            (days, _) => days,
        };
        let local = day.map(|day| day.saturating_mul(MICROS_PER_DAY).saturating_add(time));
        let modified = self.known & SUMMER != 0;
        let offset = match &self.zone {
            Some(Zone::Offset(offset)) => Some(*offset),
            _ if modified && !matches!(self.zone, Some(Zone::Abbreviated(..))) => return Err(Flaw::Syntax),
            Some(Zone::Named(zone)) => match zone.to_fixed_offset() {
                Ok(offset) => Some(offset.seconds()),
                Err(_) if !has_date => return Err(Flaw::Syntax),
                Err(_) => local.map(|local| offset_at_local(local, zone)),
            },
            Some(Zone::Abbreviated(name, zone)) => {
                local.map(|local| offset_of_abbreviation(name, zone, local))
            }
            None if self.only_time && days.is_none() => None,
            None => local.map(|local| offset_at_local(local, self.style)),
        };
        Ok(Moment { days, time, offset })
    }
}
