//! `\watch`: the same statement again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::run::Request;
use super::super::{Flow, Shell};
use super::Call;

/// How often a wait looks whether Ctrl-C was hit.
const LOOK: Duration = Duration::from_millis(20);

struct Wanted {
    seconds: f64,
    runs: Option<u64>,
    rows_min: Option<usize>,
}

/// `[[i=]SEC] [c=N] [m=MIN]`.
fn wanted(call: &mut Call<'_, '_, '_>, usual: f64) -> Result<Wanted, String> {
    let mut wanted = Wanted { seconds: usual, runs: None, rows_min: None };
    let mut has_seconds = false;
    while let Some(word) = call.arguments.word()? {
        let (name, value) = word.split_once('=').unwrap_or(("i", &word));
        let positive = || value.parse::<u64>().ok().filter(|number| *number > 0);
        match name {
            "i" | "interval" => {
                if std::mem::replace(&mut has_seconds, true) {
                    return Err("\\watch: interval value is specified more than once".to_owned());
                }
                let seconds = value.parse::<f64>().ok().filter(|seconds| (0.0..1e6).contains(seconds));
                wanted.seconds = seconds.ok_or(format!("\\watch: incorrect interval value \"{value}\""))?;
            }
            "c" | "count" => {
                let runs = positive().ok_or(format!("\\watch: incorrect iteration count \"{value}\""))?;
                wanted.runs = Some(runs);
            }
            "m" | "min_rows" => {
                let rows = positive().ok_or(format!("\\watch: incorrect minimum row count \"{value}\""))?;
                wanted.rows_min = usize::try_from(rows).ok();
            }
            other => return Err(format!("\\watch: unrecognized parameter \"{other}\"")),
        }
    }
    Ok(wanted)
}

pub fn watch(shell: &mut Shell<'_>, call: &mut Call<'_, '_, '_>) -> Result<Flow, String> {
    let sql = shell.buffered(call);
    let wanted = wanted(call, shell.variables.watch_interval)?;
    let Some(sql) = sql else {
        return Err("\\watch cannot be used with an empty query".to_owned());
    };
    let mut run = 0;
    let flow = loop {
        let flow = once(shell, call, &sql, &wanted)?;
        run += 1;
        if flow.0 != Flow::On || wanted.runs == Some(run) {
            break flow.0;
        }
        if wanted.rows_min.is_some_and(|least| flow.1 < least) || !wait(shell, wanted.seconds) {
            break Flow::On;
        }
        if shell.output.is_closed() {
            break Flow::On;
        }
    };
    shell.interrupts.take();
    Ok(flow)
}

/// Runs it, prints its result below the time; how many rows there were.
fn once(
    shell: &mut Shell<'_>,
    call: &Call<'_, '_, '_>,
    sql: &str,
    wanted: &Wanted,
) -> Result<(Flow, usize), String> {
    // The session's time zone is the user's.
    let now = "SELECT pg_catalog.to_char(pg_catalog.clock_timestamp(), 'Dy Mon DD HH24:MI:SS YYYY')";
    let now = shell.silently(now).ok().and_then(|table| table.rows.into_iter().flatten().next().flatten());
    let place = call.reading.place();
    let (flow, tables) = shell.request(Request { keep: true, ..Request::new(sql, place.as_deref()) });
    let rows = tables.iter().map(|table| table.rows.len()).sum();
    for mut table in tables {
        let every = format!("{} (every {}s)\n", now.as_deref().unwrap_or_default(), wanted.seconds);
        table.title = Some(match &shell.layout.title {
            Some(title) => format!("{title}\t{every}"),
            None => every,
        });
        let text = table.render(&shell.layout, shell.output.screen().map(|(_, columns)| columns));
        shell.output.print(&text);
        shell.output.flush();
    }
    Ok((flow, rows))
}

/// False when Ctrl-C was hit meanwhile.
fn wait(shell: &mut Shell<'_>, seconds: f64) -> bool {
    let hit = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&hit);
    let clock = Arc::clone(&shell.env.clock);
    let end = clock.monotonic_nanos() + (seconds * 1e9) as u64;
    shell.interrupts.during(
        move || flag.store(true, Ordering::Relaxed),
        || {
            while !hit.load(Ordering::Relaxed) {
                let left = end.saturating_sub(clock.monotonic_nanos());
                if left == 0 {
                    return true;
                }
                clock.sleep(LOOK.min(Duration::from_nanos(left)));
            }
            false
        },
    )
}
