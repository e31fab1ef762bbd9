//! Which crates have changed since a commit, and which crates a crate is made of.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::steps::command;

/// Changes all that is compiled, though it lies in no crate.
const OF_ALL: [&str; 3] = ["Cargo.lock", "Cargo.toml", ".cargo/config.toml"];

/// Folders outside of `crates/`, and the crate whose tests read them.
const ELSEWHERE: [(&str, &str); 4] = [
    ("xtask/", "xtask"),
    ("tests/interleavings/", "verso-interleavings"),
    ("tests/isolation/", "versodb"),
    ("tests/slt/", "versodb"),
];

/// The files that differ from a commit, whether committed since or not; `None` if git does not know it.
pub fn files_since(commit: &str) -> Option<Vec<String>> {
    let mut files = git(&["diff", "--name-only", commit, "--"])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    Some(files)
}

/// The crates with files that differ from a commit; `None` if git does not know it.
pub fn crates_since(commit: &str) -> Option<Vec<String>> {
    let crates: BTreeSet<String> = files_since(commit)?.iter().filter_map(|file| crate_of(file)).collect();
    Some(crates.into_iter().collect())
}

/// The last commit, if all that lies here is committed.
pub fn clean_head() -> Option<String> {
    let clean = git(&["status", "--porcelain"])?.is_empty();
    if clean { git(&["rev-parse", "HEAD"])?.pop() } else { None }
}

/// Whether one of the files is part of one of the crates.
pub fn touch(files: &[String], crates: &BTreeSet<String>) -> bool {
    files.iter().any(|file| {
        OF_ALL.contains(&file.as_str()) || crate_of(file).is_some_and(|name| crates.contains(&name))
    })
}

/// The crate, and the crates of the workspace that it is built and tested with.
pub fn parts_of(package: &str) -> Option<BTreeSet<String>> {
    let arguments = ["tree", "--locked", "--package", package, "--prefix", "none", "--format", "{p}"];
    let output = command(&arguments).stderr(Stdio::inherit()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    // Ours have a path: `verso-env v0.1.0 (/…/crates/verso-env)`.
    let ours = text.lines().filter(|line| line.contains("(/"));
    Some(ours.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

/// The crate that a file belongs to.
fn crate_of(file: &str) -> Option<String> {
    let named = file.strip_prefix("crates/").and_then(|rest| rest.split_once('/')).map(|(name, _)| name);
    let elsewhere = || ELSEWHERE.iter().find(|(folder, _)| file.starts_with(folder)).map(|(_, name)| *name);
    named.or_else(elsewhere).map(str::to_owned)
}

/// The lines that git prints, if it is content.
fn git(arguments: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("git").args(arguments).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    Some(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{crate_of, parts_of, touch};

    #[test]
    fn files_belong_to_crates_and_some_to_all_of_them() {
        assert_eq!(crate_of("crates/verso-exec/src/lib.rs").as_deref(), Some("verso-exec"));
        assert_eq!(crate_of("xtask/src/main.rs").as_deref(), Some("xtask"));
        assert_eq!(crate_of("tests/slt/types/text.slt").as_deref(), Some("versodb"));
        assert_eq!(crate_of("README.md"), None);
        let crates = BTreeSet::from(["verso-exec".to_owned()]);
        assert!(touch(&["crates/verso-exec/benches/a.rs".to_owned()], &crates));
        assert!(touch(&["Cargo.lock".to_owned()], &crates));
        assert!(!touch(&["crates/verso-storage/src/lib.rs".to_owned(), "docs/a.md".to_owned()], &crates));
    }

    #[test]
    fn a_crate_is_made_of_those_below_it() {
        let parts = parts_of("verso-storage").expect("cargo tree runs");
        for part in ["verso-storage", "verso-types", "verso-env", "verso-sim"] {
            assert!(parts.contains(part), "{part}");
        }
        assert!(!parts.contains("verso-catalog") && !parts.contains("parking_lot"));
    }
}
