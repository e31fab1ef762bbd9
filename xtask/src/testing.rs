//! `cargo test`, its output passed through unchanged while its results are added up.
//!
//! No test executed is a failure.

use std::io::{BufRead, BufReader};

use super::steps::{Outcome, Steps, cargo, command};

/// Test binaries named in the summary: those that took longest.
const SLOWEST: usize = 8;

/// Format, lints and tests of these crates; without any, of those with changes that are not committed yet.
pub fn of_crates(packages: &[&str]) -> std::process::ExitCode {
    let changed;
    let packages = if packages.is_empty() {
        changed = super::changes::crates_since("HEAD").unwrap_or_default();
        changed.iter().map(String::as_str).collect()
    } else {
        packages.to_vec()
    };
    if packages.is_empty() {
        eprintln!("no crate is named, and none has changes that are not committed");
        return std::process::ExitCode::from(2);
    }
    let named: Vec<&str> = packages.iter().flat_map(|package| ["--package", package]).collect();
    let with = |head: &[&'static str], tail: &[&'static str]| -> Vec<&str> {
        head.iter().chain(&named).chain(tail).copied().collect()
    };
    let mut steps = Steps::default();
    let mut totals = TestTotals::default();
    steps.run("format", || cargo(&with(&["fmt"], &["--", "--check"])));
    steps.run("lints", || cargo(&with(&["clippy"], &["--all-targets", "--locked", "--", "-D", "warnings"])));
    steps.run("tests", || totals.run(&with(&["test"], &["--locked", "--no-fail-fast"])));
    let code = steps.summary();
    totals.print();
    code
}

/// Sums of the closing lines of all test binaries, and how long each took.
#[derive(Default)]
pub struct TestTotals {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// The binary that runs now.
    running: String,
    times: Vec<(f64, String)>,
}

impl TestTotals {
    /// Runs cargo with these arguments.
    pub fn run(&mut self, arguments: &[&str]) -> Outcome {
        let child = std::io::pipe().and_then(|(output, input)| {
            let mut cargo = command(arguments);
            // Both into one pipe: names of binaries come on one way, their results on the other.
            Ok((output, cargo.stdout(input.try_clone()?).stderr(input).spawn()?))
        });
        let (output, mut child) = match child {
            Ok(child) => child,
            Err(error) => {
                eprintln!("cargo test does not start: {error}");
                return Outcome::Failed;
            }
        };
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            self.add(&line);
        }
        match child.wait() {
            Ok(status) if status.success() && self.passed > 0 => Outcome::Passed,
            Ok(status) if status.success() => {
                eprintln!("no test was executed");
                Outcome::Failed
            }
            _ => Outcome::Failed,
        }
    }

    /// Takes `Running tests/it/main.rs (…/deps/it-0123)` and
    /// `test result: ok. 12 passed; 0 failed; 1 ignored; …; finished in 1.21s`; other lines count nothing.
    fn add(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(name) = line.strip_prefix("Running ").or_else(|| line.strip_prefix("Doc-tests ")) {
            self.running = name.split("/deps/").last().unwrap_or(name).trim_end_matches(')').to_owned();
        }
        let Some(result) = line.strip_prefix("test result: ") else { return };
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
        let seconds =
            result.split("finished in ").nth(1).and_then(|rest| rest.trim_end_matches('s').parse().ok());
        if let Some(seconds) = seconds {
            self.times.push((seconds, self.running.clone()));
        }
    }

    /// Prints the sums, and which binaries took longest.
    pub fn print(&mut self) {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.ignored);
        self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (seconds, name) in self.times.iter().take(SLOWEST).filter(|(seconds, _)| *seconds >= 1.0) {
            println!("{seconds:>7.1} s  {name}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TestTotals;

    #[test]
    fn closing_lines_of_test_binaries_are_added_up() {
        let mut totals = TestTotals::default();
        totals.add("running 3 tests");
        totals.add("     Running tests/it/main.rs (target/debug/deps/it-0123456789)");
        totals.add(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s",
        );
        totals.add("   Doc-tests versodb");
        totals.add("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.21s");
        assert_eq!((totals.passed, totals.failed, totals.ignored), (15, 2, 1));
        assert_eq!(totals.times, [(0.01, "it-0123456789".to_owned()), (1.21, "versodb".to_owned())]);
    }
}
