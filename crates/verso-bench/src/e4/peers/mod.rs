//! The experiment on peers that are there: what each of them can do of it, with its own tools.
//!
//! | peer | index | backup, restore | sweep |
//! |---|---|---|---|
//! | [`postgres`] | `max_parallel_maintenance_workers` | `pg_dump -Fd -j`, `pg_restore -j` | `VACUUM (PARALLEL n)` |
//! | [`duckdb`] | `threads` | `EXPORT DATABASE` as Parquet, and reading it | – |
//! | [`firebird`] | one worker: `firebird.conf` decides | `gbak`, from Firebird 5 on `-parallel` | `gfix -sweep` |
//!
//! What a peer cannot do here, and why, is named beside its figures.

pub(super) mod duckdb;
pub(super) mod firebird;
pub(super) mod postgres;

use std::process::{Command, Stdio};

use verso_env::Env;

/// Runs a program to its end: seconds, and what it has printed.
///
/// # Errors
/// It is not there, or has failed: its name and its last line.
fn program(env: &Env, command: &mut Command) -> Result<(f64, String), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = env.clock.monotonic_nanos();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    let seconds = (env.clock.monotonic_nanos() - start) as f64 / 1e9;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let line = errors.lines().chain(text.lines()).find(|line| !line.trim().is_empty());
        return Err(format!("{name}: {}", line.unwrap_or("it failed").trim()));
    }
    text.push_str(&errors);
    Ok((seconds, text))
}
