//! `cargo xtask mutations`: a rule that no test would miss is only a comment.
//!
//! Reads docs/MUTATIONS.md, builds the test binaries that it names, and runs each named test twice: it must pass with all
//! rules in force, and fail with its rule switched off.
//!
//! U1. A test that is not there, or does not pass with the rule in force, proves nothing: an error.
//! U2. A test that does not end in time has noticed, too: without its rule the engine may wait for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Outcome, command};

/// The list; its table is what counts.
const LIST: &str = "docs/MUTATIONS.md";
/// The longest that a test may take.
const LIMIT: Duration = Duration::from_secs(600);
/// The longest that it may take to notice (U2).
const NOTICE: Duration = Duration::from_secs(30);

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Mutation {
    rule: String,
    package: String,
    /// `lib`, or the name of an integration test.
    binary: String,
    test: String,
}

/// Runs the mutations of these rules; all without any.
pub fn run(rules: &[&str]) -> Outcome {
    let text = match std::fs::read_to_string(LIST) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{LIST}: {error}");
            return Outcome::Failed;
        }
    };
    let mut mutations = parse(&text);
    let named = |mutation: &Mutation, name: &str| {
        mutation.rule == name || mutation.rule.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    };
    mutations.retain(|mutation| rules.is_empty() || rules.iter().any(|name| named(mutation, name)));
    if mutations.is_empty() {
        eprintln!("{LIST} names no such rule");
        return Outcome::Failed;
    }
    let wanted: BTreeSet<(&str, &str)> =
        mutations.iter().map(|mutation| (mutation.package.as_str(), mutation.binary.as_str())).collect();
    let mut binaries = BTreeMap::new();
    for (package, binary) in wanted {
        match build(package, binary) {
            Some(path) => binaries.insert((package, binary), path),
            None => return Outcome::Failed,
        };
    }
    let mut sound = BTreeSet::new();
    let mut problems = Vec::new();
    for mutation in &mutations {
        let binary = &binaries[&(mutation.package.as_str(), mutation.binary.as_str())];
        if sound.insert(&mutation.test) && !passes(binary, &mutation.test, None) {
            problems
                .push(format!("{}: {} does not pass with the rule in force", mutation.rule, mutation.test));
            continue;
        }
        let started = now();
        let noticed = !passes(binary, &mutation.test, Some(&mutation.rule));
        let word = if noticed { "noticed" } else { "NOT NOTICED" };
        println!(
            "{:<20} {word} by {} ({:.1} s)",
            mutation.rule,
            mutation.test,
            started.elapsed().as_secs_f64()
        );
        if !noticed {
            problems.push(format!("{}: {} passes without the rule", mutation.rule, mutation.test));
        }
    }
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    if problems.is_empty() { Outcome::Passed } else { Outcome::Failed }
}

/// The rows of the table.
fn parse(text: &str) -> Vec<Mutation> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let mut words = cells.last()?.split('`').nth(1)?.split(' ');
        let mut word = || words.next().map(str::to_owned);
        Some(Mutation { rule: cells[0].to_owned(), package: word()?, binary: word()?, test: word()? })
    })
    .collect()
}

/// Builds a test binary and tells where it is.
fn build(package: &str, binary: &str) -> Option<PathBuf> {
    let mut cargo =
        command(&["test", "--locked", "--no-run", "--message-format", "json", "--package", package]);
    match binary {
        "lib" => cargo.arg("--lib"),
        name => cargo.args(["--test", name]),
    };
    let output = match cargo.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => output,
        _ => {
            eprintln!("the tests of {package} do not build");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    // One artefact has an executable; the messages are one object a line.
    let path =
        text.lines().filter_map(|line| line.split("\"executable\":\"").nth(1)?.split('"').next()).next_back();
    if path.is_none() {
        eprintln!("cargo names no test binary of {package}");
    }
    path.map(PathBuf::from)
}

/// Whether the one test is there and passes, without a rule if one is given.
fn passes(binary: &PathBuf, test: &str, rule: Option<&str>) -> bool {
    let mut run = Command::new(binary);
    run.args(["--exact", test]).stdout(Stdio::piped()).stderr(Stdio::null()).env("RUST_BACKTRACE", "0");
    match rule {
        Some(rule) => run.env("VERSO_DISABLE_RULE", rule),
        None => run.env_remove("VERSO_DISABLE_RULE"),
    };
    let mut child = match run.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{} does not start: {error}", binary.display());
            return false;
        }
    };
    // Read beside the waiting: a full pipe would block the test.
    let reader = child.stdout.take().map(|mut output| {
        spawn(move || {
            let mut text = String::new();
            let _ = std::io::Read::read_to_string(&mut output, &mut text);
            text
        })
    });
    let ended_well = wait(&mut child, if rule.is_some() { NOTICE } else { LIMIT });
    let text = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    ended_well && text.contains("test result: ok. 1 passed")
}

/// Waits for the end; whether it came in time and was a success.
fn wait(child: &mut Child, limit: Duration) -> bool {
    let started = now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if started.elapsed() < limit => pause(),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a chore outside the engine: no seed has to replay it")]
fn now() -> Instant {
    Instant::now()
}

fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

#[expect(clippy::disallowed_methods, reason = "a chore outside the engine: no seed has to replay it")]
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::spawn(body)
}

#[cfg(test)]
mod tests {
    use super::{Mutation, parse};

    #[test]
    fn rows_of_the_table_name_rule_and_test() {
        let text = "words\n\n| rule | what | where | test |\n|---|---|---|---|\n\
                    | F1 | images | `heap/change.rs` | `verso-storage it tables::f2` |\n";
        let expected = Mutation {
            rule: "F1".into(),
            package: "verso-storage".into(),
            binary: "it".into(),
            test: "tables::f2".into(),
        };
        assert_eq!(parse(text), [expected]);
    }
}
