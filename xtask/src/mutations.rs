//! `cargo xtask mutations`: a rule that no test would miss is only a comment.
//!
//! Reads docs/MUTATIONS.md, builds the tests, and runs each named test twice: it must pass with all
//! rules in force, and fail with its rule switched off. As many run at a time as there are processors.
//!
//! U1. A test that is not there, or does not pass with the rule in force, proves nothing: an error.
//! U2. A test that does not end in time has noticed, too: without its rule the engine may wait for ever. It has many times
//!     as long as it takes with the rule.
//! U3. What passed is remembered in the target folder with its commit, and is left out as long as nothing that its test is
//!     compiled of has changed since, unless all of them are asked for.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use super::changes;
use super::steps::{Outcome, command, now};

/// The list; its table is what counts.
const LIST: &str = "docs/MUTATIONS.md";
/// The longest that a test may take.
const LIMIT: Duration = Duration::from_secs(600);
/// The longest that it may take to notice (U2): so much, and so many times what it takes with the rule.
const NOTICE: Duration = Duration::from_secs(5);
const NOTICE_TIMES: u32 = 10;
/// Where the target folder remembers what passed (U3).
const PASSED: &str = "mutations-passed";

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Mutation {
    rule: String,
    package: String,
    /// `lib`, or the name of an integration test.
    binary: String,
    test: String,
}

/// Which mutations are to run.
pub enum Which<'a> {
    /// Those whose tests may have changed since they last passed.
    Changed,
    /// All of them.
    All,
    /// Those of these rules.
    Rules(&'a [&'a str]),
}

/// Runs mutations.
pub fn run(which: &Which<'_>) -> Outcome {
    let text = match std::fs::read_to_string(LIST) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{LIST}: {error}");
            return Outcome::Failed;
        }
    };
    let mut mutations = parse(&text);
    let listed = mutations.len();
    let named = |mutation: &Mutation, name: &str| {
        mutation.rule == name || mutation.rule.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'))
    };
    let mut passed = Passed::read();
    match which {
        Which::Changed => passed.retain_changed(&mut mutations),
        Which::All => {}
        Which::Rules(rules) => mutations.retain(|mutation| rules.iter().any(|name| named(mutation, name))),
    }
    if mutations.is_empty() {
        return match which {
            Which::Changed if listed > 0 => {
                println!("nothing that the {listed} mutations depend on has changed since they passed");
                Outcome::Passed
            }
            _ => {
                eprintln!("{LIST} names no such rule");
                Outcome::Failed
            }
        };
    }
    println!("{} of {listed} mutations", mutations.len());
    let Some(messages) = build() else { return Outcome::Failed };
    let mut binaries = BTreeMap::new();
    for Mutation { package, binary, .. } in &mutations {
        let place = (package.clone(), binary.clone());
        if let Entry::Vacant(vacant) = binaries.entry(place) {
            let Some(path) = path_in(&messages, package, binary) else {
                eprintln!("cargo names no test binary {binary} of {package}");
                return Outcome::Failed;
            };
            vacant.insert(path);
        }
    }
    let binary = |mutation: &Mutation| -> PathBuf {
        binaries[&(mutation.package.clone(), mutation.binary.clone())].clone()
    };
    // First every test with the rules in force, each once: how long it takes says how long it is waited for.
    let tests: BTreeMap<&str, &Mutation> =
        mutations.iter().map(|mutation| (mutation.test.as_str(), mutation)).collect();
    let sound: BTreeMap<&str, Duration> =
        beside_each_other(tests.into_iter().collect(), |(test, mutation)| {
            let started = now();
            passes(&binary(mutation), test, None, LIMIT).then(|| (test, started.elapsed()))
        });
    let problems = beside_each_other(mutations.iter().collect(), |mutation| {
        let Mutation { rule, test, .. } = mutation;
        let Some(usual) = sound.get(test.as_str()) else {
            return Some((mutation, Some(format!("{rule}: {test} does not pass with the rule in force"))));
        };
        let started = now();
        let noticed = !passes(&binary(mutation), test, Some(rule), NOTICE + *usual * NOTICE_TIMES);
        let word = if noticed { "noticed" } else { "NOT NOTICED" };
        println!("{rule:<20} {word} by {test} ({:.1} s)", started.elapsed().as_secs_f64());
        Some((mutation, (!noticed).then(|| format!("{rule}: {test} passes without the rule"))))
    });
    let problems: Vec<(&Mutation, Option<String>)> = problems;
    passed.add(problems.iter().filter(|(_, problem)| problem.is_none()).map(|(mutation, _)| *mutation));
    let mut outcome = Outcome::Passed;
    for (_, problem) in problems {
        if let Some(problem) = problem {
            eprintln!("{problem}");
            outcome = Outcome::Failed;
        }
    }
    outcome
}

/// Does the work for every item, as many at a time as there are processors; in no order.
fn beside_each_other<T: Send, R: Send, C: FromIterator<R>>(
    items: Vec<T>,
    work: impl Fn(T) -> Option<R> + Sync,
) -> C {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (left, done) = (Mutex::new(items), Mutex::new(Vec::new()));
    let next = || left.lock().ok().and_then(|mut left| left.pop());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = next() {
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        done.extend(result);
                    }
                }
            });
        }
    });
    done.into_inner().unwrap_or_default().into_iter().collect()
}

/// Mutations that have passed, and the commit of then (U3).
struct Passed {
    file: PathBuf,
    commits: BTreeMap<String, String>,
}

impl Passed {
    fn read() -> Passed {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let file = Path::new(&target).join(PASSED);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let known =
            |line: &str| line.split_once(' ').map(|(commit, key)| (key.to_owned(), commit.to_owned()));
        Passed { commits: text.lines().filter_map(known).collect(), file }
    }

    /// Keeps the mutations whose tests may do something else by now.
    fn retain_changed(&self, mutations: &mut Vec<Mutation>) {
        let (mut files, mut parts) = (BTreeMap::new(), BTreeMap::new());
        mutations.retain(|mutation| {
            let Some(commit) = self.commits.get(&mutation.key()) else { return true };
            let files = files.entry(commit.clone()).or_insert_with(|| changes::files_since(commit));
            let package = &mutation.package;
            let parts = parts.entry(package.clone()).or_insert_with(|| changes::parts_of(package));
            match (files, parts) {
                (Some(files), Some(parts)) => changes::touch(files, parts),
                _ => true,
            }
        });
    }

    /// Remembers those that pass; not those of what is not committed.
    fn add<'m>(&mut self, mutations: impl Iterator<Item = &'m Mutation>) {
        let Some(commit) = changes::clean_head() else { return };
        self.commits.extend(mutations.map(|mutation| (mutation.key(), commit.clone())));
        let line = |(key, commit): (&String, &String)| format!("{commit} {key}\n");
        let text: String = self.commits.iter().map(line).collect();
        if let Err(error) = std::fs::write(&self.file, text) {
            eprintln!("{}: {error}", self.file.display());
        }
    }
}

impl Mutation {
    /// What it is remembered by: another test is another mutation.
    fn key(&self) -> String {
        format!("{} {} {} {}", self.rule, self.package, self.binary, self.test)
    }
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

/// Builds all tests, as the tests of the workspace are built: after them nothing is left to do. What cargo says of each.
fn build() -> Option<String> {
    let mut cargo = command(&["test", "--locked", "--no-run", "--workspace", "--message-format", "json"]);
    match cargo.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => {
            eprintln!("the tests do not build");
            None
        }
    }
}

/// Where cargo's messages say that a test binary is; one message a line.
fn path_in(messages: &str, package: &str, binary: &str) -> Option<PathBuf> {
    let (by_folder, by_name) = (format!("/{package}#"), format!("#{package}@"));
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let executable = |message: serde_json::Value| {
        let id = message["package_id"].as_str()?;
        let (kind, name) = (message["target"]["kind"][0].as_str()?, message["target"]["name"].as_str()?);
        let of_it = kind == binary || (kind == "test" && name == binary);
        let of_it = of_it && (id.contains(&by_folder) || id.contains(&by_name));
        message["executable"].as_str().filter(|_| of_it).map(PathBuf::from)
    };
    messages.filter_map(executable).next_back()
}

/// Whether the one test is there and passes in time, without a rule if one is given.
fn passes(binary: &Path, test: &str, rule: Option<&str>, limit: Duration) -> bool {
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
    let ended_well = wait(&mut child, limit);
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

fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

#[expect(clippy::disallowed_methods, reason = "a chore outside the engine: no seed has to replay it")]
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::spawn(body)
}

#[cfg(test)]
mod tests {
    use super::{Mutation, beside_each_other, parse, path_in};

    #[test]
    fn binaries_are_found_in_messages_of_cargo() {
        let line = |id: &str, kind: &str, name: &str, executable: Option<&str>| {
            let target = serde_json::json!({ "kind": [kind], "name": name });
            let id = format!("path+file:///v/{id}");
            let message = serde_json::json!({ "package_id": id, "target": target, "executable": executable });
            format!("{message}\n")
        };
        let messages = [
            line("crates/verso-exec#0.1.0", "lib", "verso_exec", None),
            line("crates/verso-exec#0.1.0", "lib", "verso_exec", Some("/t/exec-lib")),
            line("crates/verso-exec#0.1.0", "test", "it", Some("/t/exec-it")),
            line("tests/x#verso-x@0.1.0", "lib", "verso_x", Some("/t/x-lib")),
        ]
        .concat();
        let path = |package, binary| path_in(&messages, package, binary);
        assert_eq!(path("verso-exec", "lib"), Some("/t/exec-lib".into()));
        assert_eq!(path("verso-exec", "it"), Some("/t/exec-it".into()));
        assert_eq!(path("verso-x", "lib"), Some("/t/x-lib".into()));
        assert_eq!(path("verso-x", "it"), None);
        assert_eq!(path("verso", "lib"), None);
    }

    #[test]
    fn work_is_done_once_for_every_item() {
        let mut done: Vec<u32> = beside_each_other((0..100).collect(), |n| (n % 3 == 0).then_some(n));
        done.sort_unstable();
        assert_eq!(done, (0..100).step_by(3).collect::<Vec<_>>());
    }

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
