//! The parent's side of E1: one database for each engine, then every variant on a fresh copy in its own child process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use verso_env::Env;

use super::plot;
use crate::child::{self, ChildTask, Step};
use crate::e1::options::E1Options;
use crate::e1::{Engine, Variant, postgres, table};
use crate::folder::{WorkFolder, copy_database, remove_database};
use crate::machine::Machine;
use crate::peers::{Peer, duckdb};
use crate::results::{self, Scan};
use crate::{BenchError, Measured, Report, calibration, chart};

/// Page size of Verso unless told otherwise; the one the engine itself takes.
const PAGE_SIZE: u32 = 16 * 1024;

/// Calibrates, measures everything, prints the table, writes the files that were asked for.
///
/// # Errors
/// As [`crate::run`].
pub fn run(options: &E1Options) -> Result<Report, BenchError> {
    let env = Env::real();
    crate::results::check_outputs(options.json.as_ref(), options.plot.as_ref())?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, options.keep)?;
    let mut report = empty_report(options, calibration::calibrate(&env, folder.path())?);

    let (engines, skipped) = engines(options);
    report.skipped = skipped;
    let variants = |engine: Engine| match engine {
        Engine::Verso => &Variant::ALL[..],
        _ => &[Variant::Default][..],
    };
    let steps: u64 =
        engines.iter().map(|(engine, _)| 1 + variants(*engine).len() as u64 * u64::from(options.runs)).sum();
    let progress = progress_bar(steps);
    for (engine, place) in engines {
        let task = base_task(options, engine, place.as_deref(), folder.path());
        let measured = measure_engine(&task, variants(engine), options.runs, &progress)?;
        report.engines.insert(engine.name().to_owned(), measured);
    }
    progress.finish_and_clear();
    let default = report.engines.get("verso").and_then(|verso| verso.get("default"));
    report.scan = default
        .and_then(|measured| measured.scan_before_ms)
        .map(|count_sum_ms| Scan { rows: options.rows, count_sum_ms });

    print!("{}", table::render(&report));
    if let Some(path) = &options.json {
        results::write_json(&report, path)?;
    }
    if let Some(path) = &options.plot {
        chart::write(&[plot::passes(&report)], path)?;
    }
    Ok(report)
}

fn empty_report(options: &E1Options, calibration: crate::Calibration) -> Report {
    Report {
        workload: "e1".to_owned(),
        rows: options.rows,
        passes: options.passes,
        runs: options.runs,
        page_size: options.page_size.unwrap_or(PAGE_SIZE),
        pool_bytes: options.pool_bytes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::here(),
        calibration,
        scan: None,
        skipped: BTreeMap::new(),
        engines: BTreeMap::new(),
    }
}

type Engines = Vec<(Engine, Option<PathBuf>)>;

/// Who takes part, with the connection string of a server; and who was asked for but is not here.
fn engines(options: &E1Options) -> (Engines, BTreeMap<String, String>) {
    let mut engines = vec![(Engine::Verso, None), (Engine::Sqlite, None)];
    let mut skipped = BTreeMap::new();
    for peer in &options.peers {
        match peer {
            Peer::Duckdb if duckdb::is_here() => engines.push((Engine::Duckdb, None)),
            Peer::Duckdb => {
                let reason = "neither the program nor the Python package is here".to_owned();
                skipped.insert("duckdb".to_owned(), reason);
            }
            Peer::Firebird => {
                skipped.insert("firebird".to_owned(), "e4 measures it".to_owned());
            }
            Peer::Postgres(dsn) => match postgres::reachable(dsn) {
                Ok(()) => engines.push((Engine::Postgres, Some(PathBuf::from(dsn)))),
                Err(error) => {
                    skipped.insert("postgres".to_owned(), error.to_string());
                }
            },
        }
    }
    (engines, skipped)
}

fn base_task(options: &E1Options, engine: Engine, place: Option<&Path>, folder: &Path) -> ChildTask {
    let database = place.map_or_else(|| folder.join(format!("e1.{}", engine.name())), Path::to_path_buf);
    ChildTask {
        engine,
        database,
        rows: options.rows,
        passes: options.passes,
        page_size: options.page_size.unwrap_or(PAGE_SIZE),
        pool_bytes: options.pool_bytes,
        step: Step::Create,
    }
}

/// Creates the engine's database, then runs its variants in turns, so that a slow moment of the machine meets all alike.
fn measure_engine(
    task: &ChildTask,
    variants: &[Variant],
    runs: u32,
    progress: &ProgressBar,
) -> Result<BTreeMap<String, Measured>, BenchError> {
    let name = task.engine.name();
    progress.set_message(format!("{name}: creating {} rows", task.rows));
    child::spawn::<Measured>(task)?;
    progress.inc(1);
    let mut found: Vec<Vec<Measured>> = vec![Vec::new(); variants.len()];
    for run in 1..=runs {
        for (at, &variant) in variants.iter().enumerate() {
            progress.set_message(format!("{name} {}, run {run} of {runs}", variant.name()));
            found[at].push(measure_copy(task, variant)?);
            progress.inc(1);
        }
    }
    if task.engine == Engine::Postgres {
        postgres::clean_up(task)?;
    }
    let medians = variants.iter().zip(found);
    Ok(medians
        .filter_map(|(variant, runs)| Some((variant.name().to_owned(), Measured::median_run(runs)?)))
        .collect())
}

fn measure_copy(task: &ChildTask, variant: Variant) -> Result<Measured, BenchError> {
    let mut task = ChildTask { step: Step::Measure(variant), ..task.clone() };
    if task.engine == Engine::Postgres {
        return child::spawn(&task);
    }
    let copy = task.database.with_extension(format!("copy.{}", task.engine.name()));
    copy_database(&task.database, &copy)?;
    task.database = copy;
    let measured = child::spawn(&task)?;
    remove_database(&task.database)?;
    Ok(measured)
}

fn progress_bar(steps: u64) -> ProgressBar {
    // indicatif draws nothing where standard error is no terminal.
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}
