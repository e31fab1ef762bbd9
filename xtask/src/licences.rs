//! Licences and sources of everything that Verso is linked with, as `deny.toml` allows them.
//!
//! `cargo deny check` says the same and more (it reads licence texts, and knows advisories); this needs nothing installed,
//! so it runs everywhere and each time.
//!
//! C1. What is not understood is not allowed: a package without a licence, an expression that does not parse.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::Value;

use super::steps::{Outcome, command};

/// What `cargo deny` reads, too.
const POLICY: &str = "deny.toml";

/// Checks every package of the lock file that is built for one of the platforms.
pub fn check() -> Outcome {
    match findings() {
        Ok((packages, problems)) if problems.is_empty() => {
            println!("{packages} packages: licences and sources are allowed");
            Outcome::Passed
        }
        Ok((_, problems)) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            Outcome::Failed
        }
        Err(error) => {
            eprintln!("{error}");
            Outcome::Failed
        }
    }
}

fn findings() -> Result<(usize, Vec<String>), String> {
    let policy = std::fs::read_to_string(POLICY).map_err(|error| format!("{POLICY}: {error}"))?;
    let allowed = quoted(&policy, "allow = [");
    let platforms = quoted(&policy, "targets = [");
    if allowed.is_empty() || platforms.is_empty() {
        return Err(format!("{POLICY}: no licence is allowed, or no platform named"));
    }
    let mut arguments = vec!["metadata", "--format-version", "1", "--locked", "--all-features"];
    for platform in &platforms {
        arguments.extend(["--filter-platform", platform]);
    }
    let output = command(&arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo metadata does not start: {error}"))?;
    if !output.status.success() {
        return Err("cargo metadata fails".to_owned());
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
    let mut problems = Vec::new();
    for package in packages {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let name = format!("{} {}", text("name"), text("version"));
        if !accepts(text("license"), &allowed) {
            problems.push(format!("{name}: licence {:?} is not allowed by {POLICY}", text("license")));
        }
        // None: a path, hence our own.
        let source = package["source"].as_str();
        if source.is_some_and(|source| !source.starts_with("registry+")) {
            problems.push(format!("{name}: comes from {}", text("source")));
        }
    }
    Ok((packages.len(), problems))
}

/// The strings of the list that starts with `head`.
fn quoted(policy: &str, head: &str) -> BTreeSet<String> {
    let Some((_, rest)) = policy.split_once(head) else { return BTreeSet::new() };
    let list = rest.split(']').next().unwrap_or_default();
    list.lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

/// Whether an SPDX expression leaves a choice of allowed licences; a `/` is an old spelling of OR.
fn accepts(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// `a OR b`; `None` is no expression.
fn either(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut result = both(words, allowed)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        result |= both(words, allowed)?;
    }
    Some(result)
}

/// `a AND b`, which binds tighter.
fn both(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut result = one(words, allowed)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        result &= one(words, allowed)?;
    }
    Some(result)
}

/// A licence, with its exception; or something in parentheses.
fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let (result, rest) = match *words {
        ["(", rest @ ..] => {
            let mut inside = rest;
            let result = either(&mut inside, allowed)?;
            let [")", rest @ ..] = inside else { return None };
            (result, rest)
        }
        [licence, "WITH", exception, rest @ ..] => {
            (allowed.contains(&format!("{licence} WITH {exception}")), rest)
        }
        [licence, rest @ ..] if !["OR", "AND", "WITH", ")"].contains(licence) => {
            (allowed.contains(*licence), rest)
        }
        _ => return None,
    };
    *words = rest;
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::{accepts, quoted};

    #[test]
    fn expressions_are_accepted_if_they_leave_a_choice_that_is_allowed() {
        let allowed = quoted("allow = [\n \"MIT\", # a reason\n \"A WITH e\",\n]\n\"Zlib\"", "allow = [");
        assert_eq!(allowed.len(), 2);
        for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND MIT", "X OR A WITH e"] {
            assert!(accepts(good, &allowed), "{good}");
        }
        for bad in
            ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT OR", "(MIT", "MIT)", "A", "MIT WITH e", "MIT GPL", "Zlib"]
        {
            assert!(!accepts(bad, &allowed), "{bad}");
        }
    }
}
