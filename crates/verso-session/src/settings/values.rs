//! How values of settings are written: booleans, sizes, times.

use verso_planner::errors::{SqlError, sqlstate};

/// A boolean as SHOW prints it.
pub fn on(value: bool) -> String {
    if value { "on" } else { "off" }.to_string()
}

/// A boolean as PostgreSQL reads it: a word may be cut short as long as it is told from the others.
pub fn boolean(value: &str) -> Option<bool> {
    let value = value.to_ascii_lowercase();
    let is_short = |word: &str, least: usize| value.len() >= least && word.starts_with(&*value);
    if value == "1" || is_short("true", 1) || is_short("yes", 1) || value == "on" {
        return Some(true);
    }
    (value == "0" || is_short("false", 1) || is_short("no", 1) || is_short("off", 2)).then_some(false)
}

/// A boolean setting.
pub fn flag(name: &str, value: Option<&str>, default: bool) -> Result<bool, SqlError> {
    let Some(value) = value else { return Ok(default) };
    boolean(value).ok_or_else(|| {
        let text = format!("parameter \"{name}\" requires a Boolean value");
        SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
    })
}

/// `64kB`, `1.5MB`, `1GB`; a bare number counts kilobytes, as PostgreSQL's work_mem does. What is no number of kilobytes is
/// rounded to one.
pub(crate) fn memory_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(number_length(text));
    let shift = match unit.trim() {
        "B" => 0,
        "" | "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    if let (Ok(number), true) = (number.parse::<u64>(), shift > 0) {
        return number.checked_mul(1 << shift);
    }
    let number: f64 = number.parse().ok().filter(|number| *number >= 0.0)?;
    let kilobytes = (number * (1u64 << shift) as f64 / 1024.0).round_ties_even();
    (kilobytes < (1u64 << 53) as f64).then_some((kilobytes as u64) << 10)
}

/// How many bytes of a text are a number: digits, a fraction, an exponent.
pub(super) fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end += 1 + digits(end + 1);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        match digits(end + 1 + sign) {
            0 => {}
            exponent => end += 1 + sign + exponent,
        }
    }
    end
}

/// A size of the log: a bare number counts megabytes, as in PostgreSQL.
pub(crate) fn wal_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u64>().ok()?.checked_mul(1 << 20),
        false => memory_bytes(text),
    }
}

/// As SHOW gives it.
pub(crate) fn least_duration_text(ms: i64) -> String {
    u64::try_from(ms).map_or_else(|_| "-1".to_string(), duration)
}

/// A size in the largest unit that leaves no fraction.
pub(crate) fn size_text(bytes: u64) -> String {
    let unit = [(30, "GB"), (20, "MB")].into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift));
    let (shift, unit) = unit.unwrap_or((10, "kB"));
    format!("{}{unit}", bytes >> shift)
}

/// A limit of memory or files as SHOW prints it; 0 is none.
pub(crate) fn memory_text(bytes: u64) -> String {
    if bytes == 0 { "0".to_string() } else { size_text(bytes) }
}

/// In the largest unit that leaves no fraction.
pub(crate) fn duration(milliseconds: u64) -> String {
    if milliseconds == 0 {
        return "0".to_string();
    }
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = units.iter().find(|(size, _)| milliseconds.is_multiple_of(*size));
    unit.map_or_else(|| format!("{milliseconds}ms"), |(size, name)| format!("{}{name}", milliseconds / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_postgresql_reads_it() {
        let kilobytes = |text: &str| memory_bytes(text).map(|bytes| bytes >> 10);
        for (text, wanted) in [
            ("64", 64),
            (" 64 kB ", 64),
            ("1.5MB", 1536),
            ("2e3", 2000),
            ("2e3kB", 2000),
            ("1e-1 GB", 104_858),
            (".5MB", 512),
            ("1.", 1),
            ("2TB", 2 << 30),
            ("1536B", 2),
            ("0", 0),
        ] {
            assert_eq!(kilobytes(text), Some(wanted), "{text}");
        }
        for text in ["", "MB", "1mb", "1.5.5", "-1", "1e", "1x", "1e400", "18446744073709551615"] {
            assert_eq!(kilobytes(text), None, "{text}");
        }
    }
}
