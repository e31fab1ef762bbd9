//! The numbers that settings take: what each counts, from where to where, and how any other value is refused.
//!
//! Whatever is wrong with a value, 22023 says the whole range: a number outside of it in PostgreSQL's words, for what is no
//! number, or has a unit that there is not, the hint does. `pg_settings` shows the same ranges.

use verso_planner::errors::{SqlError, sqlstate};

use super::Allowed;
use super::values::number_length;

/// Most that PostgreSQL's settings count: an integer of four bytes.
const MOST: i64 = i32::MAX as i64;

/// Which numbers a setting takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    counts: Counts,
    /// In what it counts, here and below.
    least: i64,
    most: i64,
    /// A number with a meaning of its own, which may lie outside.
    apart: Option<(i64, &'static str)>,
}

/// What a number without a unit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Things,
    Kilobytes,
    Pages,
    Megabytes,
    Milliseconds,
    Seconds,
}

impl Counts {
    /// As errors and `pg_settings` call it, and how many bytes or milliseconds it is.
    fn unit(self) -> (&'static str, i64) {
        match self {
            Counts::Things => ("", 1),
            Counts::Kilobytes => ("kB", 1 << 10),
            Counts::Pages => ("8kB", 8 << 10),
            Counts::Megabytes => ("MB", 1 << 20),
            Counts::Milliseconds => ("ms", 1),
            Counts::Seconds => ("s", 1_000),
        }
    }

    /// How many bytes or milliseconds a number with this unit stands for.
    fn scale(self, unit: &str) -> Option<f64> {
        if unit.is_empty() {
            return Some(self.unit().1 as f64);
        }
        Some(match (self, unit) {
            (Counts::Things, _) => return None,
            (Counts::Milliseconds | Counts::Seconds, unit) => match unit {
                "us" => 0.001,
                "ms" => 1.0,
                "s" => 1e3,
                "min" => 60e3,
                "h" => 3_600e3,
                "d" => 86_400e3,
                _ => return None,
            },
            (_, unit) => match unit {
                "B" => 1.0,
                "kB" => (1u64 << 10) as f64,
                "MB" => (1u64 << 20) as f64,
                "GB" => (1u64 << 30) as f64,
                "TB" => (1u64 << 40) as f64,
                _ => return None,
            },
        })
    }

    /// Which units there are, for hints.
    fn units(self) -> Option<&'static str> {
        match self {
            Counts::Things => None,
            Counts::Milliseconds | Counts::Seconds => Some(r#""us", "ms", "s", "min", "h", and "d""#),
            _ => Some(r#""B", "kB", "MB", "GB", and "TB""#),
        }
    }
}

impl Range {
    /// Numbers that count anything.
    pub(crate) const fn things(least: i64, most: i64) -> Range {
        Range { counts: Counts::Things, least, most, apart: None }
    }

    const fn of_counts(counts: Counts, least: i64, most: i64) -> Range {
        Range { counts, least, most, apart: None }
    }

    const fn or(mut self, number: i64, meaning: &'static str) -> Range {
        self.apart = Some((number, meaning));
        self
    }

    /// With a greatest that the machine says: so many bytes.
    pub(crate) fn up_to(mut self, bytes: u64) -> Range {
        let most = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.most = (most / self.counts.unit().1).max(self.least);
        self
    }

    /// The least and the greatest of what the setting counts, as `pg_settings` shows them.
    pub(super) fn allowed(&self) -> Allowed {
        let apart = self.apart.map_or(self.least, |(number, _)| number);
        Allowed::Count(self.least.min(apart), self.most.max(apart))
    }

    /// The number that a text says: in bytes, in milliseconds, or as it is.
    ///
    /// # Errors
    /// 22023, with the range.
    pub(crate) fn read(&self, name: &str, text: &str) -> Result<i64, SqlError> {
        let Some(number) = self.parsed(text) else {
            return Err(invalid(name, text).with_hint(self.hint()));
        };
        let scale = i128::from(self.counts.unit().1);
        let is_apart = self.apart.is_some_and(|(apart, _)| i128::from(apart) * scale == number);
        let within = i128::from(self.least) * scale..=i128::from(self.most) * scale;
        match i64::try_from(number).ok().filter(|_| is_apart || within.contains(&number)) {
            Some(number) => Ok(number),
            None => Err(self.outside(name, text, number)),
        }
    }

    /// The same of what is never below zero.
    ///
    /// # Errors
    /// 22023, with the range.
    pub(crate) fn size(&self, name: &str, text: &str) -> Result<u64, SqlError> {
        Ok(u64::try_from(self.read(name, text)?).unwrap_or(0))
    }

    /// None where it is no number, or has a unit that there is not. Sizes are whole kilobytes, times whole milliseconds.
    fn parsed(&self, text: &str) -> Option<i128> {
        let text = text.trim();
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (number, unit) = digits.split_at(number_length(digits));
        let scale = self.counts.scale(unit.trim())?;
        let whole = match self.counts {
            Counts::Things | Counts::Milliseconds | Counts::Seconds => 1,
            Counts::Kilobytes | Counts::Pages | Counts::Megabytes => 1 << 10,
        };
        // A whole number of a unit that is one is exact, however large it is.
        if let (Ok(number), true) = (number.parse::<u64>(), scale >= whole as f64) {
            return Some(sign * i128::from(number) * (scale as i128));
        }
        let number: f64 = number.parse().ok()?;
        Some(sign * ((number * scale / whole as f64).round_ties_even() as i128).saturating_mul(whole))
    }

    /// The ends, with their units.
    fn ends_text(&self, between: &str) -> String {
        format!("{} {between} {}", self.counted(self.least), self.counted(self.most))
    }

    fn counted(&self, number: i64) -> String {
        match self.counts.unit().0 {
            "" => number.to_string(),
            unit => format!("{number} {unit}"),
        }
    }

    #[cold]
    fn outside(&self, name: &str, text: &str, number: i128) -> SqlError {
        let scale = i128::from(self.counts.unit().1);
        // PostgreSQL reads a number before it looks at the range.
        if self.most <= MOST && (number / scale).abs() > i128::from(MOST) {
            return invalid(name, text).with_hint(format!("Value exceeds integer range. {}", self.hint()));
        }
        let counted = i64::try_from(number / scale).ok().filter(|_| number % scale == 0);
        let shown = counted.map_or_else(|| text.trim().to_string(), |number| self.counted(number));
        let range = self.ends_text("..");
        let error = format!("{shown} is outside the valid range for parameter \"{name}\" ({range})");
        let error = SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, error);
        match self.apart {
            Some((number, meaning)) => error.with_hint(format!("{number} is {meaning}.")),
            None => error,
        }
    }

    fn hint(&self) -> String {
        let what = match self.counts {
            Counts::Things => "A number",
            Counts::Milliseconds | Counts::Seconds => "A time",
            _ => "A size",
        };
        let mut hint = format!("{what} from {}", self.ends_text("to"));
        if let Some((number, meaning)) = self.apart {
            hint += &format!(", or {number}, which is {meaning}");
        }
        if let Some(units) = self.counts.units() {
            let unit = self.counts.unit().0;
            hint += &format!(". Valid units are {units}; a number alone counts {unit}");
        }
        hint + "."
    }
}

fn invalid(name: &str, text: &str) -> SqlError {
    let error = format!("invalid value for parameter \"{name}\": \"{text}\"");
    SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, error)
}

/// The bytes that a text says for a setting that is a size, as SQL reads it; none where it is no size.
#[must_use]
pub fn setting_bytes(name: &str, text: &str) -> Option<u64> {
    u64::try_from(range(name)?.parsed(text)?).ok()
}

/// The numbers that the setting of that name takes; none if its values are no numbers.
pub(crate) fn range(name: &str) -> Option<Range> {
    const NO_LIMIT: &str = "no limit";
    let sizes = |least, most| Range::of_counts(Counts::Kilobytes, least, most);
    let logs = |least| Range::of_counts(Counts::Megabytes, least, MOST);
    let seconds = |least, most| Range::of_counts(Counts::Seconds, least, most);
    let times = |least| Range::of_counts(Counts::Milliseconds, least, MOST);
    let pages = |least, most| Range::of_counts(Counts::Pages, least, most);
    Some(match name {
        "work_mem" | "maintenance_memory" | "maintenance_work_mem" => sizes(64, MOST),
        "statement_memory_limit" | "session_memory_limit" => sizes(64, MOST << 10).or(0, NO_LIMIT),
        "memory_limit" => sizes(16 << 10, MOST << 10).or(0, NO_LIMIT),
        "temp_file_limit" => sizes(-1, MOST).or(-1, NO_LIMIT),
        "version_retention_size" => sizes(1 << 10, MOST << 10).or(0, NO_LIMIT),
        "buffer_pool" => sizes(1 << 10, MOST << 10),
        "shared_buffers" => pages(128, MOST << 7),
        "min_parallel_table_scan_size" => pages(0, MOST / 3),
        "effective_cache_size" => pages(1, MOST),
        "temp_buffers" => pages(100, MOST / 2),
        "max_wal_size" => logs(2),
        "long_tx_wal_limit" => logs(1).or(0, NO_LIMIT),
        "wal_spare_size" => logs(0),
        "checkpoint_interval" | "checkpoint_timeout" => seconds(1, 86_400),
        "version_retention" | "max_snapshot_age" => seconds(0, 31 * 86_400),
        "archive_timeout" | "compress_delay" | "worker_idle_timeout" => seconds(0, 86_400),
        "autovacuum_naptime" => seconds(1, MOST / 1_000),
        "statement_timeout"
        | "lock_timeout"
        | "idle_in_transaction_session_timeout"
        | "idle_session_timeout"
        | "transaction_timeout" => times(0),
        "deadlock_timeout" => times(1),
        "log_min_duration_statement" => times(-1).or(-1, "to log nothing"),
        "vacuum_cost_delay" => Range::of_counts(Counts::Milliseconds, 0, 100),
        "parallel_workers" | "max_parallel_workers" => Range::things(1, 1_024),
        "pdq_priority" | "pdqpriority" | "max_pdq_priority" | "lru_min_dirty" | "lru_max_dirty" => {
            Range::things(0, 100)
        }
        "scram_iterations" => Range::things(1, MOST),
        "extra_float_digits" => Range::things(-15, 3),
        "autovacuum_analyze_threshold" => Range::things(0, MOST),
        "stmt_cache_size" => Range::things(0, 1_000_000),
        "pg_stat_statements.max" => Range::things(100, MOST / 2),
        "sweep_interval" => Range::things(0, i64::MAX),
        _ => return None,
    })
}

/// The number that a text says of the setting of that name, in bytes, in milliseconds, or as it is; its default without a text.
///
/// # Errors
/// 22023, with the range.
pub(crate) fn number(name: &str, text: Option<&str>, usual: u64) -> Result<u64, SqlError> {
    match (text, range(name)) {
        (Some(text), Some(range)) => range.size(name, text),
        _ => Ok(usual),
    }
}

/// The same of one of a few small numbers.
///
/// # Errors
/// 22023, with the range.
pub(crate) fn small<N: TryFrom<u64> + Copy>(name: &str, text: Option<&str>, usual: N) -> Result<N, SqlError> {
    match text {
        Some(_) => Ok(N::try_from(number(name, text, 0)?).unwrap_or(usual)),
        None => Ok(usual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<i64, String> {
        let range = range(name).expect(name);
        range.read(name, text).map_err(|error| error.message)
    }

    #[test]
    fn numbers_are_read_with_their_units() {
        for (name, text, wanted) in [
            ("work_mem", "64", 64 << 10),
            ("work_mem", " 64 kB ", 64 << 10),
            ("work_mem", "1.5MB", 1536 << 10),
            ("work_mem", "2e3", 2000 << 10),
            ("work_mem", "1e-1 GB", 104_858 << 10),
            ("work_mem", "2147483647", 2_147_483_647 << 10),
            ("temp_file_limit", "1536B", 2 << 10),
            ("temp_file_limit", "-1", -1 << 10),
            ("temp_file_limit", "0", 0),
            ("session_memory_limit", "0", 0),
            ("min_parallel_table_scan_size", "4", 32 << 10),
            ("max_wal_size", "10TB", 10 << 40),
            ("max_wal_size", "2", 2 << 20),
            ("version_retention", "31d", 2_678_400_000),
            ("version_retention", "90", 90_000),
            ("lock_timeout", "1.5s", 1_500),
            ("lock_timeout", "1500us", 2),
            ("log_min_duration_statement", "-1", -1),
            ("extra_float_digits", "-15", -15),
            ("stmt_cache_size", "2.5", 2),
            ("sweep_interval", "9223372036854775807", i64::MAX),
        ] {
            assert_eq!(read(name, text), Ok(wanted), "{name} = {text}");
        }
    }

    #[test]
    fn numbers_outside_are_told_as_postgresql_tells_them() {
        for (name, text, wanted) in [
            (
                "work_mem",
                "1kB",
                "1 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)",
            ),
            (
                "work_mem",
                "-1",
                "-1 kB is outside the valid range for parameter \"work_mem\" (64 kB .. 2147483647 kB)",
            ),
            (
                "min_parallel_table_scan_size",
                "-1",
                "-1 8kB is outside the valid range for parameter \"min_parallel_table_scan_size\" (0 8kB .. 715827882 8kB)",
            ),
            (
                "max_wal_size",
                "1",
                "1 MB is outside the valid range for parameter \"max_wal_size\" (2 MB .. 2147483647 MB)",
            ),
            (
                "lock_timeout",
                "-1",
                "-1 ms is outside the valid range for parameter \"lock_timeout\" (0 ms .. 2147483647 ms)",
            ),
            (
                "checkpoint_timeout",
                "500ms",
                "500ms is outside the valid range for parameter \"checkpoint_timeout\" (1 s .. 86400 s)",
            ),
            ("lock_timeout", "1e400", "invalid value for parameter \"lock_timeout\": \"1e400\""),
        ] {
            assert_eq!(read(name, text).expect_err(name), wanted);
        }
    }
}
