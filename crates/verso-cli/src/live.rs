//! `verso stat --live`: what a running server does, as rates between two looks, on a page that is drawn anew.
//!
//! ```text
//! Reading (by SQL, over a connection like any other) ── two of them ─► page ─► terminal, or one page behind the other
//! ```
//!
//! Time is the server's: a look that was late divides by the time that has really gone by.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};
use unicode_width::UnicodeWidthChar;

use crate::remote::configuration;
use crate::run_shell::EXIT_USAGE;

/// Figures of which there is one.
const FIGURES: &str = "SELECT d.name, to_char(clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS') AS clock,
    extract(epoch FROM clock_timestamp()) AS seconds, d.commits, d.rollbacks, d.next_xid - d.oit AS behind,
    d.buffer_pool_bytes, d.resident_pages * d.page_size AS resident, d.dirty_pages * d.page_size AS dirty,
    d.log_bytes, d.total_pages * d.page_size AS file, d.free_pages * d.page_size AS free,
    d.version_pages * d.page_size AS versions, s.blks_read, s.blks_hit, s.tup_returned, s.tup_fetched,
    s.tup_inserted, s.tup_updated, s.tup_deleted, s.temp_bytes, s.deadlocks, w.fsyncs, w.fsync_time,
    (SELECT coalesce(sum(writes), 0) FROM verso_page_writes) AS writes
    FROM verso_database d, pg_stat_database s, verso_wal w WHERE s.datname = d.name";
const STATES: &str =
    "SELECT coalesce(state, 'background') AS state, count(*) FROM pg_stat_activity GROUP BY 1 ORDER BY 1";
const WAITS: &str = "SELECT kind, waits, wait_ms FROM verso_waits WHERE session IS NULL";
const JOBS: &str = "SELECT operation, table_name, phase, done, total FROM verso_progress";
/// The statements that have run longest.
const STATEMENTS: &str = "SELECT pid, usename, coalesce(wait_event, '') AS waits,
    extract(epoch FROM clock_timestamp() - query_start) AS seconds, query FROM pg_stat_activity
    WHERE state = 'active' AND pid <> pg_backend_pid() ORDER BY query_start LIMIT 10";

/// A row, by the names of its columns; NULL is empty.
type Row = HashMap<String, String>;

/// What one look has found.
#[derive(Default)]
struct Reading {
    figures: Row,
    states: Vec<Row>,
    waits: Vec<Row>,
    jobs: Vec<Row>,
    statements: Vec<Row>,
}

/// Shows pages until the connection or the process ends, or `count` were shown.
pub fn run(server: &str, interval: Duration, count: Option<u64>) -> ExitCode {
    match show(server, interval, count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let message = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
            eprintln!("verso: error: {message}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn show(server: &str, interval: Duration, count: Option<u64>) -> Result<(), postgres::Error> {
    let mut client = configuration(server, None, "verso stat")?.connect(NoTls)?;
    let clock = crate::environment().clock;
    let mut out = std::io::stdout();
    let redraws = out.is_terminal();
    let mut before = read(&mut client)?;
    let mut shown = 0;
    while count.is_none_or(|count| shown < count) {
        clock.sleep(interval);
        let now = read(&mut client)?;
        let page = page(&before, &now);
        let written = match redraws {
            // From the upper left corner, and each line to its end: a page drawn so does not flicker.
            true => write!(out, "\x1b[H{}\x1b[J", page.replace('\n', "\x1b[K\n")),
            false => writeln!(out, "{page}"),
        };
        if written.and_then(|()| out.flush()).is_err() {
            break; // nobody reads it
        }
        before = now;
        shown += 1;
    }
    Ok(())
}

fn read(client: &mut Client) -> Result<Reading, postgres::Error> {
    Ok(Reading {
        figures: rows(client, FIGURES)?.pop().unwrap_or_default(),
        states: rows(client, STATES)?,
        waits: rows(client, WAITS)?,
        jobs: rows(client, JOBS)?,
        statements: rows(client, STATEMENTS)?,
    })
}

fn rows(client: &mut Client, question: &str) -> Result<Vec<Row>, postgres::Error> {
    let of = |row: SimpleQueryRow| {
        let names = row.columns().iter().map(|column| column.name().to_owned());
        names.enumerate().map(|(i, name)| (name, row.get(i).unwrap_or_default().to_owned())).collect()
    };
    let answers = client.simple_query(question)?.into_iter();
    let row = |answer| match answer {
        SimpleQueryMessage::Row(row) => Some(of(row)),
        _ => None,
    };
    Ok(answers.filter_map(row).collect())
}

fn text<'r>(row: &'r Row, name: &str) -> &'r str {
    row.get(name).map_or("", String::as_str)
}

fn number(row: &Row, name: &str) -> f64 {
    text(row, name).parse().unwrap_or(0.0)
}

/// What happened between two looks.
struct Between<'r> {
    before: &'r Reading,
    now: &'r Reading,
    seconds: f64,
}

impl Between<'_> {
    /// How much a counter has grown. One that fell belongs to a database that was opened anew.
    fn grown(&self, name: &str) -> f64 {
        let (before, now) = (number(&self.before.figures, name), number(&self.now.figures, name));
        if now < before { now } else { now - before }
    }

    fn rate(&self, name: &str) -> f64 {
        self.grown(name) / self.seconds
    }

    /// A rate with its digits in groups.
    fn shown(&self, name: &str) -> String {
        grouped(self.rate(name))
    }
}

/// The page.
fn page(before: &Reading, now: &Reading) -> String {
    let figures = &now.figures;
    let seconds = (number(figures, "seconds") - number(&before.figures, "seconds")).max(0.001);
    let between = Between { before, now, seconds };
    let rate = |name: &str| between.shown(name);
    let size = |name: &str| bytes(number(figures, name));
    let mut out = String::new();
    let mut put = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<11}{value}");
    };
    put("database", format!("{}  {}  over {seconds:.1} s", text(figures, "name"), text(figures, "clock")));
    let states: Vec<String> =
        now.states.iter().map(|row| format!("{} {}", text(row, "count"), text(row, "state"))).collect();
    put("sessions", states.join(", "));
    put(
        "commits",
        format!(
            "{}/s, rollbacks {}/s, deadlocks {}",
            rate("commits"),
            rate("rollbacks"),
            between.grown("deadlocks")
        ),
    );
    put(
        "rows",
        format!(
            "inserted {}/s, updated {}/s, deleted {}/s, fetched {}/s, scanned {}/s",
            rate("tup_inserted"),
            rate("tup_updated"),
            rate("tup_deleted"),
            rate("tup_fetched"),
            rate("tup_returned")
        ),
    );
    let (hit, read) = (between.grown("blks_hit"), between.grown("blks_read"));
    let part = if hit + read > 0.0 { 100.0 * hit / (hit + read) } else { 100.0 };
    put(
        "pages",
        format!("{part:.1} % in memory, read {}/s, written {}/s", rate("blks_read"), rate("writes")),
    );
    put("pool", format!("{} of {}, {} changed", size("resident"), size("buffer_pool_bytes"), size("dirty")));
    let fsyncs = between.grown("fsyncs");
    let each = if fsyncs > 0.0 { between.grown("fsync_time") / fsyncs } else { 0.0 };
    put(
        "log",
        format!("{}/s, fsyncs {}/s, {each:.2} ms each", bytes(between.rate("log_bytes")), rate("fsyncs")),
    );
    put("waits", waits(before, now, seconds));
    put(
        "space",
        format!(
            "file {}, free {}, old versions {}, {} transactions behind, temporary files {}/s",
            size("file"),
            size("free"),
            size("versions"),
            grouped(number(figures, "behind")),
            bytes(between.rate("temp_bytes"))
        ),
    );
    for job in &now.jobs {
        let total = number(job, "total");
        let done =
            if total > 0.0 { format!("{:.0} %", 100.0 * number(job, "done") / total) } else { String::new() };
        put(
            "job",
            format!("{} {} {} {done}", text(job, "operation"), text(job, "table_name"), text(job, "phase")),
        );
    }
    if !now.statements.is_empty() {
        let _ =
            writeln!(out, "\n{:>7}  {:<12} {:<14} {:>9}  statement", "pid", "user", "waits for", "seconds");
    }
    for row in &now.statements {
        let _ = writeln!(
            out,
            "{:>7}  {:<12} {:<14} {:>9.1}  {}",
            text(row, "pid"),
            text(row, "usename"),
            text(row, "waits"),
            number(row, "seconds"),
            one_line(text(row, "query"), 60)
        );
    }
    out
}

/// How many sessions waited on average, by what for.
fn waits(before: &Reading, now: &Reading, seconds: f64) -> String {
    let of = |row: &Row| {
        let kind = text(row, "kind");
        let known = before.waits.iter().find(|other| text(other, "kind") == kind);
        let grown =
            |name: &str| (number(row, name) - known.map_or(0.0, |other| number(other, name))).max(0.0);
        format!(
            "{kind} {:.2} sessions ({}/s)",
            grown("wait_ms") / 1000.0 / seconds,
            grouped(grown("waits") / seconds)
        )
    };
    now.waits.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// A number without a fraction, its digits in groups of three; small ones with a fraction.
fn grouped(number: f64) -> String {
    if number > 0.0 && number < 10.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{:.0}", number.max(0.0));
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn bytes(number: f64) -> String {
    let (unit, name) = match number {
        number if number >= (1u64 << 30) as f64 => ((1u64 << 30) as f64, "GB"),
        number if number >= (1 << 20) as f64 => ((1 << 20) as f64, "MB"),
        _ => (1024.0, "kB"),
    };
    format!("{:.1} {name}", number.max(0.0) / unit)
}

/// A statement without its line breaks, and no control characters of it, in so many columns of the screen.
fn one_line(statement: &str, columns: usize) -> String {
    let words =
        statement.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join(" ");
    let mut width = 0;
    let fits = |c: &char| {
        width += c.width().unwrap_or(0);
        width <= columns
    };
    joined.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[(&str, &str)]) -> Row {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_page_tells_what_has_happened_in_between() {
        let of = |seconds: &str, commits: &str, hit: &str, fsync_time: &str, wait: &str| Reading {
            figures: row(&[
                ("name", "shop"),
                ("seconds", seconds),
                ("commits", commits),
                ("blks_hit", hit),
                ("blks_read", "0"),
                ("fsyncs", commits),
                ("fsync_time", fsync_time),
                ("buffer_pool_bytes", "2147483648"),
            ]),
            states: vec![row(&[("state", "active"), ("count", "3")])],
            waits: vec![row(&[("kind", "Lock"), ("waits", "4"), ("wait_ms", wait)])],
            jobs: vec![row(&[("operation", "SWEEP"), ("phase", "scan"), ("done", "1"), ("total", "4")])],
            statements: vec![row(&[("pid", "7"), ("query", "SELECT\n 1\u{1b}[2J"), ("seconds", "12.34")])],
        };
        let page = page(&of("10", "1000", "5", "50", "100"), &of("12", "3500", "15", "5050", "1100"));
        for part in [
            "commits    1,250/s",
            "100.0 % in memory",
            "fsyncs 1,250/s, 2.00 ms each",
            "of 2.0 GB",
            "sessions   3 active",
            "Lock 0.50 sessions (0/s)",
            "job        SWEEP  scan 25 %",
            "12.3  SELECT 1 [2J\n",
        ] {
            assert!(page.contains(part), "{part:?} in\n{page}");
        }
    }

    #[test]
    fn counters_of_a_database_that_was_opened_anew_begin_with_0() {
        let of = |commits: &str| Reading {
            figures: row(&[("commits", commits), ("seconds", commits)]),
            ..Reading::default()
        };
        let (before, now) = (of("100"), of("20"));
        assert_eq!(Between { before: &before, now: &now, seconds: 2.0 }.rate("commits"), 10.0);
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(
            [0.0, 0.25, 9.0, 999.6, 1234567.0].map(grouped),
            ["0", "0.2", "9.0", "1,000", "1,234,567"]
        );
        assert_eq!(bytes(1536.0), "1.5 kB");
        assert_eq!(one_line("a  b\tcdef", 5), "a b c");
    }
}
