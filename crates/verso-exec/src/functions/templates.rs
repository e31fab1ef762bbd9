//! `to_char` of timestamps and intervals: PostgreSQL's template patterns.
//!
//! A template is read piece by piece, once for many values: modifiers (`FM`, `TM`), the longest pattern that fits, a suffix (`TH`); all else,
//! and what stands in double quotes, is copied.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use verso_types::datetime::{self, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use verso_types::error::sqlstate;
use verso_types::{SqlType, TimeStyle, TypeError, Value};

use super::datetimes::{is_finite, iso_week, local, monday_based};
use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// Patterns written in capitals or in small letters alike; longer ones first where they start alike.
static PATTERNS: &[&str] = &[
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "D", "FF1", "FF2", "FF3",
    "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J", "MI",
    "MM", "MONTH", "MON", "MS", "OF", "P.M.", "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ",
    "US", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y",
];
/// Those of mixed case.
static MIXED: &[&str] = &["Day", "Dy", "Month", "Mon"];

pub(super) static MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// From Monday on.
pub(super) static DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
pub(super) static ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// How a pattern is written decides how its words are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Case {
    Upper,
    Lower,
    Capital,
}

impl Case {
    /// Appends a word, with blanks behind it up to a width.
    fn write(self, word: &str, width: usize, out: &mut String) -> std::fmt::Result {
        match self {
            Case::Upper => out.extend(word.chars().map(|c| c.to_ascii_uppercase())),
            Case::Lower => out.extend(word.chars().map(|c| c.to_ascii_lowercase())),
            Case::Capital => out.push_str(word),
        }
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(word.len())));
        Ok(())
    }
}

/// The longest pattern that the text starts with.
pub(super) fn pattern(text: &str) -> Option<(&'static str, Case)> {
    if let Some(found) = MIXED.iter().find(|name| text.starts_with(**name)) {
        let upper = PATTERNS.iter().find(|name| name.eq_ignore_ascii_case(found))?;
        return Some((upper, Case::Capital));
    }
    PATTERNS.iter().find_map(|name| {
        let head = text.get(..name.len())?;
        if head == *name {
            Some((*name, Case::Upper))
        } else if head.bytes().all(|b| !b.is_ascii_uppercase()) && head.eq_ignore_ascii_case(name) {
            Some((*name, Case::Lower))
        } else {
            None
        }
    })
}

/// The text behind the first of these that it starts with.
pub(super) fn behind<'t>(text: &'t str, prefixes: &[&str]) -> Option<&'t str> {
    prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))
}

/// The fields of a local timestamp.
struct Fields<'a> {
    day: i32,
    micros: i64,
    civil: datetime::Civil,
    /// Seconds east of UTC and the zone's abbreviation; 0 and nothing without a zone.
    offset: i32,
    zone: &'a str,
}

/// `st`, `nd`, `rd`, `th`: what `TH` adds to a number.
pub(super) fn ordinal(digits: &str) -> &'static str {
    match digits.as_bytes() {
        [.., b'1', _] => "th",
        [.., b'1'] => "st",
        [.., b'2'] => "nd",
        [.., b'3'] => "rd",
        _ => "th",
    }
}

/// The first digits of a second's millionths, and how many; they keep their zeros, see `piece`.
fn fraction_digits(name: &str, micros: i64) -> Option<(i64, usize)> {
    Some(match name {
        "FF1" => (micros / 100_000, 1),
        "FF2" => (micros / 10_000, 2),
        "FF3" | "MS" => (micros / 1000, 3),
        "FF4" => (micros / 100, 4),
        "FF5" => (micros / 10, 5),
        "FF6" | "US" => (micros, 6),
        _ => return None,
    })
}

impl Fields<'_> {
    fn is_morning(&self) -> bool {
        self.micros < MICROS_PER_DAY / 2
    }
}

impl Pieces for Fields<'_> {
    fn number(&self, name: &str) -> Option<(i64, usize)> {
        let time = self.micros;
        // 1 BC is year 0 here
        let shown = |year: i32| i64::from(if year <= 0 { 1 - year } else { year });
        let year = shown(self.civil.year);
        // What few templates ask for is computed for them only.
        let iso_shown = || shown(iso_week(self.day).0);
        let iso_number = || iso_week(self.day).1;
        let weekday = || monday_based(self.day);
        let day_of_year = || i64::from(self.day) - datetime::days_from_civil(self.civil.year, 1, 1) + 1;
        let fraction = time % MICROS_PER_SECOND;
        let hour = time / MICROS_PER_HOUR;
        Some(match name {
            "HH" | "HH12" => (if hour % 12 == 0 { 12 } else { hour % 12 }, 2),
            "HH24" => (hour, 2),
            "MI" => (time / MICROS_PER_MINUTE % 60, 2),
            "SS" => (time / MICROS_PER_SECOND % 60, 2),
            "SSSS" | "SSSSS" => (time / MICROS_PER_SECOND, 1),
            "MM" => (self.civil.month.into(), 2),
            "DD" => (self.civil.day.into(), 2),
            "DDD" => (day_of_year(), 3),
            "D" => (i64::from((weekday() + 1) % 7) + 1, 1),
            "ID" => (i64::from(weekday()) + 1, 1),
            "IDDD" => (i64::from((iso_number() - 1) * 7 + weekday() + 1), 3),
            "IW" => (iso_number().into(), 2),
            "WW" => ((day_of_year() - 1) / 7 + 1, 2),
            "W" => ((i64::from(self.civil.day) - 1) / 7 + 1, 1),
            "Q" => ((i64::from(self.civil.month) - 1) / 3 + 1, 1),
            "CC" if self.civil.year > 0 => ((year - 1) / 100 + 1, 2),
            "CC" => (i64::from(self.civil.year / 100 - 1), 2),
            "J" => (i64::from(self.day) + 2_451_545, 1),
            "YYYY" => (year, 4),
            "YYY" => (year % 1000, 3),
            "YY" => (year % 100, 2),
            "Y" => (year % 10, 1),
            "IYYY" => (iso_shown(), 4),
            "IYY" => (iso_shown() % 1000, 3),
            "IY" => (iso_shown() % 100, 2),
            "I" => (iso_shown() % 10, 1),
            _ => return fraction_digits(name, fraction),
        })
    }

    fn word(&self, name: &str, case: Case, fill: bool, translated: bool, out: &mut String) -> Result<()> {
        let width = |width: usize| if fill && !translated { width } else { 0 };
        let weekday = DAYS[monday_based(self.day) as usize];
        let month = MONTHS[usize::from(self.civil.month) - 1];
        let (sign, seconds) = (if self.offset < 0 { '-' } else { '+' }, self.offset.unsigned_abs());
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let _ = match name {
            "AM" | "PM" => case.write(if self.is_morning() { "AM" } else { "PM" }, 0, out),
            "A.M." | "P.M." => case.write(if self.is_morning() { "A.M." } else { "P.M." }, 0, out),
            "AD" | "BC" => case.write(if self.civil.year > 0 { "AD" } else { "BC" }, 0, out),
            "A.D." | "B.C." => case.write(if self.civil.year > 0 { "A.D." } else { "B.C." }, 0, out),
            "MONTH" => case.write(month, width(9), out),
            "MON" => case.write(&month[..3], 0, out),
            "DAY" => case.write(weekday, width(9), out),
            "DY" => case.write(&weekday[..3], 0, out),
            "RM" => {
                let roman = ROMAN[usize::from(self.civil.month) - 1];
                case.write(roman, if fill { 4 } else { 0 }, out)
            }
            "Y,YYY" => {
                let year = if self.civil.year <= 0 { 1 - self.civil.year } else { self.civil.year };
                write!(out, "{},{:03}", year / 1000, year % 1000)
            }
            "TZ" => case.write(self.zone, 0, out),
            "TZH" => write!(out, "{sign}{hours:02}"),
            "TZM" => write!(out, "{minutes:02}"),
            "OF" if minutes == 0 => write!(out, "{sign}{hours:0>0$}", if fill { 2 } else { 0 }),
            "OF" => write!(out, "{sign}{hours:0>0$}:{minutes:02}", if fill { 2 } else { 0 }),
            // FX says how to read, not how to write
            _ => Ok(()),
        };
        Ok(())
    }
}

/// What patterns stand for.
pub(super) trait Pieces {
    /// The number that a pattern shows, and how many digits it has at least.
    fn number(&self, name: &str) -> Option<(i64, usize)>;
    /// Appends what stands for a pattern that is no number.
    ///
    /// # Errors
    /// 22007 where it means nothing.
    fn word(&self, name: &str, case: Case, fill: bool, translated: bool, out: &mut String) -> Result<()>;

    /// Appends what stands for a pattern, without its suffix. `fill`: blanks and zeros fill it up to its usual width.
    fn piece(&self, name: &str, case: Case, fill: bool, translated: bool, out: &mut String) -> Result<()> {
        let Some((number, digits)) = self.number(name) else {
            return self.word(name, case, fill, translated, out);
        };
        let keeps = name.starts_with("FF") || matches!(name, "MS" | "US");
        let width = match () {
            () if !fill && !keeps => 0,
            () if number < 0 => digits + 1,
            () => digits,
        };
        push_padded(number, width, out);
        Ok(())
    }

    /// The template with what its patterns stand for.
    ///
    /// # Errors
    /// Those of the words.
    fn format(&self, template: &[Step]) -> Result<String> {
        let mut out = String::with_capacity(32);
        for step in template {
            let Step::Piece { name, case, fill, translated, suffix } = step else {
                if let Step::Text(text) = step {
                    out.push_str(text);
                }
                continue;
            };
            let start = out.len();
            self.piece(name, *case, *fill, *translated, &mut out)?;
            if let Some(upper) = suffix
                && (*name == "Y,YYY" || self.number(name).is_some())
            {
                let word = ordinal(&out[start..]);
                let case = if *upper { Case::Upper } else { Case::Lower };
                let _ = case.write(word, 0, &mut out);
            }
        }
        Ok(out)
    }
}

/// A piece of a template.
#[derive(Debug)]
pub(super) enum Step {
    /// Copied.
    Text(String),
    /// A pattern, and whether `TH` in capitals or in small letters stands behind it.
    Piece { name: &'static str, case: Case, fill: bool, translated: bool, suffix: Option<bool> },
}

/// Templates longer than this are read for every value.
const KEPT_BYTES: usize = 256;
/// Templates that a thread keeps.
const KEPT: usize = 8;

thread_local! {
    /// The templates that were used last, the latest one first.
    static STEPS: Recent<[Step]> = const { Recent::new() };
}

/// What was read of the texts that were used last, the latest one first.
pub(super) struct Recent<T: ?Sized>(RefCell<Vec<(Box<str>, Rc<T>)>>);

impl<T: ?Sized> Recent<T> {
    pub const fn new() -> Recent<T> {
        Recent(RefCell::new(Vec::new()))
    }

    /// What is kept of a text, or what is read of it now.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn get(&self, text: &str, read: impl FnOnce() -> Result<Rc<T>>) -> Result<Rc<T>> {
        let mut kept = self.0.borrow_mut();
        if let Some(at) = kept.iter().position(|(known, _)| **known == *text) {
            kept[..=at].rotate_right(1);
            return Ok(Rc::clone(&kept[0].1));
        }
        let new = read()?;
        if text.len() <= KEPT_BYTES {
            kept.truncate(KEPT - 1);
            kept.insert(0, (text.into(), Rc::clone(&new)));
        }
        Ok(new)
    }
}

/// Reads a template, or remembers it.
fn steps(template: &str) -> Result<Rc<[Step]>> {
    STEPS.with(|steps| steps.get(template, || Ok(read_steps(template).into())))
}

fn read_steps(template: &str) -> Vec<Step> {
    let (mut rest, mut steps, mut text) = (template, Vec::new(), String::new());
    while !rest.is_empty() {
        let (mut fill, mut translated, mut at) = (true, false, rest);
        while let Some(next) = behind(at, &["FM", "fm", "TM", "tm"]) {
            if at.starts_with(['F', 'f']) {
                fill = false
            } else {
                translated = true
            }
            at = next;
        }
        let Some((name, case)) = pattern(at) else {
            // a modifier without a pattern leaves no trace
            rest = if at.len() < rest.len() { at } else { copy(rest, &mut text) };
            continue;
        };
        if !text.is_empty() {
            steps.push(Step::Text(std::mem::take(&mut text)));
        }
        rest = &at[name.len()..];
        let mut suffix = None;
        if let Some(next) = behind(rest, &["TH", "th"]) {
            suffix = Some(rest.starts_with('T'));
            rest = next;
        } else if let Some(next) = behind(rest, &["SP"]) {
            rest = next;
        }
        steps.push(Step::Piece { name, case, fill, translated, suffix });
    }
    if !text.is_empty() {
        steps.push(Step::Text(text));
    }
    steps
}

/// Appends a number, with zeros in front up to a width; the sign counts.
fn push_padded(number: i64, width: usize, out: &mut String) {
    let mut digits = [b'0'; 24];
    let (mut rest, mut at) = (number.unsigned_abs(), digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let sign = usize::from(number < 0);
    if sign > 0 {
        out.push('-');
    }
    let shown = digits.len() - at;
    out.extend(std::iter::repeat_n('0', width.saturating_sub(shown + sign)));
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// Copies a character, or what is quoted; what is left.
fn copy<'t>(text: &'t str, out: &mut String) -> &'t str {
    let mut chars = text.chars();
    match chars.next() {
        Some('"') => {
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => out.extend(chars.next()),
                    c => out.push(c),
                }
            }
        }
        Some('\\') if chars.as_str().starts_with('"') => out.extend(chars.next()),
        Some(c) => out.push(c),
        None => {}
    }
    chars.as_str()
}

/// A local timestamp by a template, which may ask for nothing; infinities are NULL.
fn shown(micros: i64, template: &[Step], offset: i32, zone: &str) -> Result<Value> {
    if !is_finite(micros) {
        return Ok(Value::Null);
    }
    let (day, time) = datetime::split_timestamp(micros);
    let fields = Fields { day, micros: time, civil: datetime::civil_from_days(day), offset, zone };
    Ok(Value::Text(fields.format(template)?.into()))
}

fn timestamp_to_char(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Timestamp(_), Value::Text(template)] if template.is_empty() => Ok(Value::Null),
        [Value::Timestamp(micros), Value::Text(template)] => shown_plain(*micros, &steps(template)?),
        _ => Err(unexpected("to_char", args)),
    }
}

/// Without a zone.
fn shown_plain(micros: i64, template: &[Step]) -> Result<Value> {
    shown(micros, template, 0, "")
}

fn timestamptz_to_char(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Timestamptz(micros), Value::Text(template)] = args else {
        return Err(unexpected("to_char", args));
    };
    let zone: &TimeStyle = cx.services.time_zone;
    if template.is_empty() || !is_finite(*micros) {
        return Ok(Value::Null);
    }
    let template = steps(template)?;
    let shows_zone = |step: &Step| matches!(step, Step::Piece { name: "TZ" | "TZH" | "TZM" | "OF", .. });
    if !template.iter().any(shows_zone) {
        return shown_plain(local(cx, *micros), &template);
    }
    let unix = micros.saturating_add(datetime::UNIX_EPOCH_MICROS);
    let name = jiff::Timestamp::from_microsecond(unix)
        .map(|at| zone.to_offset_info(at).abbreviation().to_owned())
        .unwrap_or_default();
    shown(local(cx, *micros), &template, datetime::offset_at_utc(*micros, zone), &name)
}

/// The moment as a text in the zone of the session.
pub(super) fn time_of_day(cx: &EvalContext<'_>) -> Result<std::sync::Arc<str>> {
    let moment = Value::Timestamptz(cx.services.clock.clock_timestamp());
    let text = timestamptz_to_char(cx, &[moment, Value::text("Dy Mon DD HH24:MI:SS.US YYYY TZ")])?;
    Ok(text.as_str().unwrap_or_default().into())
}

macro_rules! to_char {
    ($ty:ident $volatility:ident $f:expr) => {
        BuiltinFunction {
            name: "to_char",
            operator: None,
            args: &[ArgType::Exact(super::define::sql_type!($ty)), ArgType::Exact(SqlType::Text)],
            variadic: false,
            result: ResultType::Fixed(SqlType::Text),
            strict: true,
            volatility: Volatility::$volatility,
            body: Body::Scalar($f),
            kernel: None,
        }
    };
}

/// The fields of an interval, each with its sign.
struct Lengths {
    years: i64,
    months: i64,
    days: i64,
    micros: i64,
}

impl Lengths {
    /// Of days in months of thirty.
    fn all_days(&self) -> i64 {
        (self.years * 12 + self.months) * 30 + self.days
    }
}

/// A number whose sign is one of its places.
fn signed(number: i64, places: usize) -> (i64, usize) {
    (number, if number < 0 { places - 1 } else { places })
}

/// A date in the calendar of weeks.
#[derive(Clone, Copy)]
struct WeekDate {
    year: i32,
    week: i32,
    day: i32,
}

/// The day of a date whose fields may be anything. As in PostgreSQL, numbers that are too large begin again.
fn day_of(year: i32, month: i32, day: i32) -> i32 {
    let (year, month) = match month {
        3.. => (year.wrapping_add(4800), month + 1),
        _ => (year.wrapping_add(4799), month + 13),
    };
    let century = year / 100;
    let days = year.wrapping_mul(365).wrapping_sub(32_167);
    let days = days.wrapping_add(year / 4 - century + century / 4);
    days.wrapping_add(7834 * month / 256).wrapping_add(day)
}

/// The Monday of the first week of a year.
fn first_week(year: i32) -> i32 {
    let fourth = day_of(year, 1, 4);
    fourth.wrapping_sub(fourth.rem_euclid(7))
}

impl Lengths {
    /// The date that the fields would be, by weeks: nothing is sensible about it, and PostgreSQL shows it.
    fn iso(&self) -> WeekDate {
        // months are i32 in an interval, and years fewer
        let (mut year, month) = (self.years as i32, self.months as i32);
        let today = day_of(year, month, self.days as i32);
        let mut start = first_week(year);
        if today < start {
            year = year.wrapping_sub(1);
            start = first_week(year);
        }
        let mut week = today.wrapping_sub(start) / 7 + 1;
        if week >= 52 {
            let next = first_week(year.wrapping_add(1));
            if today >= next {
                year = year.wrapping_add(1);
                start = next;
                week = today.wrapping_sub(start) / 7 + 1;
            }
        }
        WeekDate { year, week, day: today.wrapping_sub(start).wrapping_add(1) }
    }

    /// A year of weeks: the places count its sign, and are one more where the interval's own years are fewer than none.
    fn by_years(&self, number: i64, places: usize) -> (i64, usize) {
        match places {
            1 => (number, 1),
            _ => signed(number, if self.years < 0 { places + 1 } else { places }),
        }
    }
}

impl Pieces for Lengths {
    fn number(&self, name: &str) -> Option<(i64, usize)> {
        let fraction = self.micros % MICROS_PER_SECOND;
        let hour = self.micros / MICROS_PER_HOUR;
        Some(match name {
            "HH" | "HH12" => (if hour % 12 == 0 { 12 } else { hour % 12 }, 2),
            "HH24" => (hour, 2),
            "MI" => (self.micros / MICROS_PER_MINUTE % 60, 2),
            "SS" => (self.micros / MICROS_PER_SECOND % 60, 2),
            "SSSS" | "SSSSS" => (self.micros / MICROS_PER_SECOND, 1),
            "MM" => (self.months, 2),
            // the sign is no place of its own here
            "DD" => (self.days, if self.days < 0 { 1 } else { 2 }),
            "DDD" => (self.all_days(), 3),
            "WW" => ((self.all_days() - 1) / 7 + 1, 2),
            "W" => ((self.days - 1) / 7 + 1, 1),
            "Q" if self.months != 0 => ((self.months - 1) / 3 + 1, 1),
            "CC" => (self.years / 100, 2),
            "YYYY" => (self.years, 4),
            "YYY" => (self.years % 1000, 3),
            "YY" => (self.years % 100, 2),
            "Y" => (self.years % 10, 1),
            "IYYY" => self.by_years(self.iso().year.into(), 4),
            "IYY" => self.by_years((self.iso().year % 1000).into(), 3),
            "IY" => self.by_years((self.iso().year % 100).into(), 2),
            "I" => self.by_years((self.iso().year % 10).into(), 1),
            "IW" => signed(self.iso().week.into(), 2),
            "IDDD" => signed(self.iso().day.into(), 3),
            "J" => {
                let months = self.years * 12 + self.months - 1;
                let year = i32::try_from(months.div_euclid(12)).ok()?;
                let month = u8::try_from(months.rem_euclid(12) + 1).ok()?;
                (datetime::days_from_civil(year, month, 1) + self.days - 1 + 2_451_545, 1)
            }
            _ => return fraction_digits(name, fraction),
        })
    }

    fn word(&self, name: &str, case: Case, fill: bool, _: bool, out: &mut String) -> Result<()> {
        let morning = self.micros / MICROS_PER_HOUR % 24 < 12;
        let _ = match name {
            "AM" | "PM" => case.write(if morning { "AM" } else { "PM" }, 0, out),
            "A.M." | "P.M." => case.write(if morning { "A.M." } else { "P.M." }, 0, out),
            "Y,YYY" => write!(out, "{},{:03}", self.years / 1000, self.years % 1000),
            "RM" if self.months != 0 || self.years != 0 => {
                // Before the epoch, months are counted back from December; whole years before it end in January.
                let month = match self.months {
                    0 if self.years < 0 => 1,
                    0 => 12,
                    months if months < 0 => months + 13,
                    months => months,
                };
                let roman = ROMAN[(month - 1).rem_euclid(12) as usize];
                case.write(roman, if fill { 4 } else { 0 }, out)
            }
            "RM" | "Q" | "FX" => Ok(()),
            _ => {
                let text = "invalid format specification for an interval value";
                let hint = "Intervals are not tied to specific calendar dates.";
                let error = TypeError::new(sqlstate::INVALID_DATETIME_FORMAT, text).with_hint(hint);
                return Err(error.into());
            }
        };
        Ok(())
    }
}

fn interval_to_char(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Interval(value), Value::Text(template)] = args else {
        return Err(unexpected("to_char", args));
    };
    if template.is_empty() || !value.is_finite() {
        return Ok(Value::Null);
    }
    let lengths = Lengths {
        years: (value.months / 12).into(),
        months: (value.months % 12).into(),
        days: value.days.into(),
        micros: value.micros,
    };
    Ok(Value::Text(lengths.format(&steps(template)?)?.into()))
}

static TEMPLATES: &[BuiltinFunction] = &[
    to_char!(Timestamp Immutable timestamp_to_char),
    to_char!(Timestamptz Stable timestamptz_to_char),
    to_char!(Interval Immutable interval_to_char),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [TEMPLATES];
