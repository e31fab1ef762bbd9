//! Chores of the project: `cargo xtask ci` is the whole test run, the one that must pass before a change lands.
//!
//! The steps, cheapest first, so that a slip is reported in seconds:
//!
//!     fmt ─► licences ─► clippy ─► aarch64 ─► doc ─► test ─► clients ─► mutations ─► advisories ─► summary
//!
//! `cargo xtask mutations` is that step alone: tests must fail when the rule that they prove is switched off.
//! `cargo xtask miri` is not among them: it takes too long.
//!
//! X1. A failing step does not hide the later ones: all run, and the summary names every failure.
//! X2. A step that cannot run here (cargo-deny not installed, no network for its database) is named as skipped, never silently left out.
//! X3. No test executed is a failure.

mod licences;
mod mutations;

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ci"] => ci(),
        ["mutations", rules @ ..] => ended(&mutations::run(rules)),
        ["licences"] => ended(&licences::check()),
        ["miri"] => ended(&miri()),
        _ => {
            eprintln!(
                "usage: cargo xtask ci                  format, lints, documentation, all tests, licences"
            );
            eprintln!(
                "       cargo xtask mutations [RULE …]  tests must fail without the rule that they prove"
            );
            eprintln!(
                "       cargo xtask licences            licences and sources of everything that is linked"
            );
            eprintln!("       cargo xtask miri                the modules with unsafe code under Miri");
            ExitCode::from(2)
        }
    }
}

/// How a step ended.
enum Outcome {
    Passed,
    Failed,
    Skipped(&'static str),
}

/// The exit code of a step that was asked for by itself.
fn ended(outcome: &Outcome) -> ExitCode {
    match outcome {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::Skipped(why) => {
            println!("skipped: {why}");
            ExitCode::SUCCESS
        }
    }
}

fn ci() -> ExitCode {
    let mut steps = Vec::new();
    let mut totals = TestTotals::default();
    run_step(&mut steps, "format", || cargo(&["fmt", "--all", "--check"]));
    run_step(&mut steps, "licences", licences::check);
    run_step(&mut steps, "lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
    });
    run_step(&mut steps, "aarch64", aarch64);
    run_step(&mut steps, "documentation", || {
        run(command(&["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"))
    });
    run_step(&mut steps, "tests", || tests(&mut totals));
    run_step(&mut steps, "clients", clients);
    run_step(&mut steps, "mutations", || mutations::run(&[]));
    run_step(&mut steps, "advisories", || match deny(&["fetch", "db"]) {
        Outcome::Failed => Outcome::Skipped("the advisory database cannot be fetched"),
        Outcome::Passed => deny(&["check", "advisories"]),
        skipped @ Outcome::Skipped(_) => skipped,
    });

    println!("\n── summary ──");
    for (name, outcome, elapsed) in &steps {
        let word = match outcome {
            Outcome::Passed => "ok".to_owned(),
            Outcome::Failed => "FAILED".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
        };
        println!("{name:<14} {word:<10} {:>7.1} s", elapsed.as_secs_f64());
    }
    println!("{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.ignored);
    let failed = steps.iter().any(|(_, outcome, _)| matches!(outcome, Outcome::Failed));
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[expect(clippy::disallowed_methods, reason = "a chore outside the engine: no seed has to replay it")]
fn run_step(
    steps: &mut Vec<(&'static str, Outcome, Duration)>,
    name: &'static str,
    step: impl FnOnce() -> Outcome,
) {
    println!("── {name} ──");
    let start = Instant::now();
    let outcome = step();
    steps.push((name, outcome, start.elapsed()));
}

/// The crates without C code, type checked for the other platform.
fn aarch64() -> Outcome {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    // Without rustup whoever installed the compiler may have the target all the same: cargo tells.
    let _ = Command::new("rustup").args(["target", "add", TARGET]).stderr(Stdio::null()).status();
    let installed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = installed.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if !folder.is_ok_and(|folder| std::path::Path::new(&folder).is_dir()) {
        return Outcome::Skipped("the target aarch64-unknown-linux-gnu is not installed");
    }
    cargo(&["check", "--locked", "--target", TARGET, "--package", "versodb"])
}

/// The modules with unsafe code, and the tests that reach them without the operating system's memory, under Miri.
fn miri() -> Outcome {
    let miri = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(["+nightly", "miri"]).args(arguments).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    let installed =
        miri(&["--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    if !installed {
        return Outcome::Skipped("there is no Miri: rustup toolchain install nightly --component miri");
    }
    let test = ["test", "--package", "verso-storage", "--lib", "--"];
    let pool = run(miri(&test).arg("buffer::").env("MIRIFLAGS", "-Zmiri-disable-isolation"));
    if matches!(pool, Outcome::Failed) {
        return pool;
    }
    // Other orders of threads, other values that relaxed loads may see.
    let many = "-Zmiri-disable-isolation -Zmiri-many-seeds=0..8";
    run(miri(&test).arg("buffer::latch::").env("MIRIFLAGS", many))
}

/// Drivers of other languages, psql and pgbench against `verso serve`; those that cannot be installed are skipped by name.
fn clients() -> Outcome {
    if let failed @ Outcome::Failed = cargo(&["build", "-p", "verso-cli", "--locked"]) {
        return failed;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let binary = std::path::Path::new(&target).join("debug").join("verso");
    run(Command::new("bash").arg("tests/clients/run").arg(binary))
}

fn cargo(arguments: &[&str]) -> Outcome {
    run(&mut command(arguments))
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

fn run(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(_) => Outcome::Failed,
        Err(error) => {
            eprintln!("{:?} does not start: {error}", command.get_program());
            Outcome::Failed
        }
    }
}

/// Sums of the closing lines of all test binaries.
#[derive(Default)]
struct TestTotals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl TestTotals {
    /// Takes `test result: ok. 12 passed; 0 failed; 1 ignored; …`; other lines count nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        for part in result.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// All tests; the output passes through unchanged while its closing lines are added up.
fn tests(totals: &mut TestTotals) -> Outcome {
    let child =
        command(&["test", "--workspace", "--locked", "--no-fail-fast"]).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            eprintln!("cargo test does not start: {error}");
            return Outcome::Failed;
        }
    };
    let output = child.stdout.take().expect("stdout is piped above");
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        totals.add(&line);
    }
    match child.wait() {
        Ok(status) if status.success() && totals.passed > 0 => Outcome::Passed,
        Ok(status) if status.success() => {
            eprintln!("no test was executed");
            Outcome::Failed
        }
        _ => Outcome::Failed,
    }
}

/// `cargo deny` with these arguments, where it is installed.
fn deny(arguments: &[&str]) -> Outcome {
    let installed = command(&["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        return Outcome::Skipped("cargo-deny is not installed");
    }
    run(command(&["deny"]).args(arguments))
}

#[cfg(test)]
mod tests {
    use super::TestTotals;

    #[test]
    fn closing_lines_of_test_binaries_are_added_up() {
        let mut totals = TestTotals::default();
        totals.add("running 3 tests");
        totals.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        totals.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.21s");
        assert_eq!((totals.passed, totals.failed, totals.ignored), (15, 2, 1));
    }
}
