//! Chores of the project: `cargo xtask ci` is the whole test run, the one that must pass before a change lands.
//!
//! The steps, cheapest first, so that a slip is reported in seconds:
//!
//!     fmt ─► licences ─► clippy ─► aarch64 ─► doc ─► test ─► clients ─► compare ─► mutations ─► advisories ─► summary
//!
//! | module | what it is |
//! |---|---|
//! | [`steps`] | steps, their times, the summary |
//! | [`testing`] | tests, their results added up; `cargo xtask test` is the quick loop over one crate |
//! | [`mutations`] | tests must fail when the rule that they prove is switched off |
//! | [`changes`] | which crates have changed |
//! | [`licences`] | licences and sources of everything that is linked |
//!
//! `cargo xtask miri` is not among the steps: it takes too long.
//!
//! X1. A failing step does not hide the later ones: all run, and the summary names every failure.
//! X2. A step that cannot run here (cargo-deny not installed, no network for its database) is named as skipped, never silently left out.
//! X3. No test executed is a failure.

mod changes;
mod licences;
mod mutations;
mod steps;
mod testing;

use std::process::{Command, ExitCode, Stdio};

use mutations::Which;
use steps::{Outcome, Steps, cargo, command, run};

const USAGE: &str = "\
usage: cargo xtask test [CRATE …]       format, lints and tests of these crates, or of those with changes
       cargo xtask ci [--all]           format, lints, documentation, all tests, licences; mutations as below
       cargo xtask mutations            tests must fail without the rule that they prove: those that have changed
       cargo xtask mutations --all      all of them, as before a release
       cargo xtask mutations RULE …     those of these rules
       cargo xtask clients [--all | CLIENT …]  drivers and tools of PostgreSQL against a server: a small set, all, or these
       cargo xtask compare [MINUTES [SEED [SCHEMAS]]]  generated queries, their answers compared with PostgreSQL's
       cargo xtask licences             licences and sources of everything that is linked
       cargo xtask miri                 the modules with unsafe code under Miri";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test", crates @ ..] => testing::of_crates(crates),
        ["ci"] => ci(&Which::Changed),
        ["ci", "--all"] => ci(&Which::All),
        ["mutations"] => mutations::run(&Which::Changed).code(),
        ["mutations", "--all"] => mutations::run(&Which::All).code(),
        ["mutations", rules @ ..] => mutations::run(&Which::Rules(rules)).code(),
        ["clients", which @ ..] => clients(which).code(),
        ["compare", of @ ..] => compare(of).code(),
        ["licences"] => licences::check().code(),
        ["miri"] => miri().code(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn ci(which: &Which<'_>) -> ExitCode {
    let mut steps = Steps::default();
    let mut totals = testing::TestTotals::default();
    steps.run("format", || cargo(&["fmt", "--all", "--check"]));
    steps.run("licences", licences::check);
    steps.run("lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
    });
    steps.run("aarch64", aarch64);
    steps.run("documentation", || {
        run(command(&["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.run("tests", || totals.run(&["test", "--workspace", "--locked", "--no-fail-fast"]));
    steps.run("clients", || clients(&[]));
    // Always the same queries, however quick the machine.
    steps.run("compare", || compare(&["5", "1", "15"]));
    steps.run("mutations", || mutations::run(which));
    steps.run("advisories", || match deny(&["fetch", "db"]) {
        Outcome::Failed => Outcome::Skipped("the advisory database cannot be fetched"),
        Outcome::Passed => deny(&["check", "advisories"]),
        skipped @ Outcome::Skipped(_) => skipped,
    });
    let code = steps.summary();
    totals.print();
    code
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

/// Drivers of other languages, psql, pgbench and whatever else lives on PostgreSQL, against `verso serve`: a small set of them, all
/// (`--all`), or those named. What cannot be installed is skipped by name.
fn clients(which: &[&str]) -> Outcome {
    match built() {
        Ok(folder) => {
            run(Command::new("bash").arg("tests/clients/run").arg(folder.join("verso")).args(which))
        }
        Err(failed) => failed,
    }
}

/// Generated queries on Verso and on PostgreSQL, for so many minutes, from this seed on, over so many schemas.
fn compare(of: &[&str]) -> Outcome {
    let folder = match built() {
        Ok(folder) => folder,
        Err(failed) => return failed,
    };
    let binaries = [folder.join("verso"), folder.join("compare")];
    let ended = Command::new("bash").arg("tests/generator/run").args(binaries).args(of).status();
    match ended.ok().and_then(|status| status.code()) {
        Some(0) => Outcome::Passed,
        Some(77) => Outcome::Skipped("there is no PostgreSQL, and it cannot be installed from npm"),
        _ => Outcome::Failed,
    }
}

/// The folder with the binaries of the workspace. They are built as its tests are, with the same features of the same
/// libraries: after the tests there is next to nothing left to build.
fn built() -> Result<std::path::PathBuf, Outcome> {
    if let failed @ Outcome::Failed = cargo(&["build", "--locked", "--workspace", "--bins", "--tests"]) {
        return Err(failed);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(std::path::Path::new(&target).join("debug"))
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
