//! The words of dates, times and intervals, and what they mean.

/// What a word of a date or time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A month, from 1 on.
    Month(i32),
    /// A day of the week: read, and not compared with the date.
    Weekday,
    /// Says nothing.
    Ignored,
    /// Now, today and their like.
    Reserved(Reserved),
    /// Before or after noon.
    Noon { after: bool },
    /// Years before or after Christ.
    Era { before: bool },
    /// `DST` behind a zone: its clocks are an hour ahead.
    Summer,
    /// The next field is a Julian day.
    Julian,
    /// The next field is of a unit that dates do not have.
    Unit,
    /// `T`: the next field is a time of day.
    Time,
}

/// Words that are a whole moment, or part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    Now,
    Yesterday,
    Today,
    Tomorrow,
    /// `allballs`: midnight of UTC.
    Zulu,
    Epoch,
    /// infinity
    Late,
    /// -infinity
    Early,
}

/// The meaning of a word in lower case.
pub(super) fn word(text: &str) -> Option<Word> {
    Some(match text {
        "jan" | "january" => Word::Month(1),
        "feb" | "february" => Word::Month(2),
        "mar" | "march" => Word::Month(3),
        "apr" | "april" => Word::Month(4),
        "may" => Word::Month(5),
        "jun" | "june" => Word::Month(6),
        "jul" | "july" => Word::Month(7),
        "aug" | "august" => Word::Month(8),
        "sep" | "sept" | "september" => Word::Month(9),
        "oct" | "october" => Word::Month(10),
        "nov" | "november" => Word::Month(11),
        "dec" | "december" => Word::Month(12),
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday"
        | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Word::Weekday,
        "at" | "on" => Word::Ignored,
        "now" => Word::Reserved(Reserved::Now),
        "yesterday" => Word::Reserved(Reserved::Yesterday),
        "today" => Word::Reserved(Reserved::Today),
        "tomorrow" => Word::Reserved(Reserved::Tomorrow),
        "allballs" => Word::Reserved(Reserved::Zulu),
        "epoch" => Word::Reserved(Reserved::Epoch),
        "infinity" | "+infinity" => Word::Reserved(Reserved::Late),
        "-infinity" => Word::Reserved(Reserved::Early),
        "am" => Word::Noon { after: false },
        "pm" => Word::Noon { after: true },
        "ad" => Word::Era { before: false },
        "bc" => Word::Era { before: true },
        "dst" => Word::Summer,
        "j" | "jd" | "julian" => Word::Julian,
        "d" | "dow" | "doy" | "h" | "isodow" | "isoyear" | "m" | "mm" | "s" | "y" => Word::Unit,
        "t" => Word::Time,
        _ => return None,
    })
}

/// A unit of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

/// The unit of a word in lower case, of which ten letters count.
pub(super) fn unit(text: &str) -> Option<Unit> {
    Some(match text.get(..10).unwrap_or(text) {
        "us" | "usec" | "usecs" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "mseconds" | "millisecon" => Unit::Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
        _ => return None,
    })
}
