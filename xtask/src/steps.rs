//! Steps of a run: each prints its name before and its time after, and none hides those behind it.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// How a step ended.
pub enum Outcome {
    /// Nothing is wrong.
    Passed,
    /// Something is.
    Failed,
    /// It cannot run here, for this reason.
    Skipped(&'static str),
}

impl Outcome {
    /// The exit code of a step that was asked for by itself.
    pub fn code(&self) -> ExitCode {
        match self {
            Outcome::Passed => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::FAILURE,
            Outcome::Skipped(why) => {
                println!("skipped: {why}");
                ExitCode::SUCCESS
            }
        }
    }

    fn word(&self) -> String {
        match self {
            Outcome::Passed => "ok".to_owned(),
            Outcome::Failed => "FAILED".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
        }
    }
}

/// The steps that have run.
#[derive(Default)]
pub struct Steps {
    done: Vec<(&'static str, Outcome, Duration)>,
}

impl Steps {
    /// Runs a step.
    pub fn run(&mut self, name: &'static str, step: impl FnOnce() -> Outcome) {
        println!("── {name} ──");
        let start = now();
        let outcome = step();
        let elapsed = start.elapsed();
        println!("── {name}: {} after {:.1} s", outcome.word(), elapsed.as_secs_f64());
        self.done.push((name, outcome, elapsed));
    }

    /// Prints what ran, how it ended and how long it took; fails if one of them did.
    pub fn summary(&self) -> ExitCode {
        println!("\n── summary ──");
        for (name, outcome, elapsed) in &self.done {
            println!("{name:<14} {:<10} {:>7.1} s", outcome.word(), elapsed.as_secs_f64());
        }
        let whole: Duration = self.done.iter().map(|(_, _, elapsed)| *elapsed).sum();
        println!("{:<25} {:>7.1} s", "all of it", whole.as_secs_f64());
        let failed = self.done.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed));
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Runs cargo with these arguments.
pub fn cargo(arguments: &[&str]) -> Outcome {
    run(&mut command(arguments))
}

/// The cargo that runs this program, with these arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(_) => Outcome::Failed,
        Err(error) => {
            eprintln!("{:?} does not start: {error}", command.get_program());
            Outcome::Failed
        }
    }
}

/// The moment.
#[expect(clippy::disallowed_methods, reason = "a chore outside the engine: no seed has to replay it")]
pub fn now() -> Instant {
    Instant::now()
}
