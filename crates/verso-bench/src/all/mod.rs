//! All five experiments and TPC-H in one run, on one page: what was published, what peers do here, what Verso does.
//!
//!     e1 ─► e1.json, e1.svg ─┐
//!     e2 ─► …                ├─► sections: tables beside the published figures ─► index.html, report.md
//!     …                      ┘
//!
//! A1. A page shows only what the files of this run say: each table is made from an experiment's JSON.
//! A2. An experiment that fails stands on the page with its error; the others run all the same, and the run fails at its end.

mod figures;
mod html;
mod markdown;
mod page;
mod published;
mod sections;

use std::path::{Path, PathBuf};

use serde_json::Value;
use verso_env::Env;

use crate::calibration::calibrate;
use crate::folder::WorkFolder;
use crate::machine::Machine;
use crate::peers::Peer;
use crate::{BenchError, E1Options, E2Options, E3Options, E4Options, E5Options, TpchOptions};
use page::{Page, Section};

/// Options of `verso bench all`.
#[derive(Clone, Debug, clap::Args)]
pub struct AllOptions {
    /// Where the page goes, with the figures and plots that it shows: index.html, report.md, e1.json, e1.svg, …
    #[arg(long, value_name = "FOLDER")]
    pub report: PathBuf,
    /// Small tables and short measurements: minutes instead of an hour. Its figures are not to be compared with published ones
    #[arg(long)]
    pub quick: bool,
    /// Engines beside Verso and SQLite, where the experiment knows them: duckdb, postgres=DSN
    #[arg(long, value_name = "PEER,…", value_delimiter = ',')]
    pub peers: Vec<Peer>,
    /// Only these: e1, e2, e3, e4, e5, tpch
    #[arg(long, value_enum, value_name = "EXPERIMENT,…", value_delimiter = ',')]
    pub only: Vec<Experiment>,
    /// Where the databases stand while measured; it decides which disk is measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// What can be on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Experiment {
    /// Bulk updates of the same rows in one transaction.
    E1,
    /// A commit for each of a million rows.
    E2,
    /// What one transaction writes, together or spread.
    E3,
    /// Maintenance by several workers.
    E4,
    /// A billing batch beside TPC-C.
    E5,
    /// 22 analytical queries.
    Tpch,
}

impl Experiment {
    const ALL: [Experiment; 6] =
        [Experiment::E1, Experiment::E2, Experiment::E3, Experiment::E4, Experiment::E5, Experiment::Tpch];

    /// As on the command line and in the names of files.
    fn name(self) -> &'static str {
        match self {
            Experiment::E1 => "e1",
            Experiment::E2 => "e2",
            Experiment::E3 => "e3",
            Experiment::E4 => "e4",
            Experiment::E5 => "e5",
            Experiment::Tpch => "tpch",
        }
    }

    /// How a shell would run it alone.
    fn arguments(self, options: &AllOptions) -> Vec<String> {
        let sizes = match (self, options.quick) {
            (Experiment::E1, true) => "--rows 20000 --runs 1",
            (Experiment::E2, true) => "--rows 20000 --seconds 1",
            (Experiment::E3, true) => "--warehouses 1,2 --seconds 3 --warm-up 1",
            (Experiment::E4, true) => "--rows 100000 --workers 1,2",
            (Experiment::E5, true) => "--minutes 0.1 --warehouses 1 --connections 4 --limit 30",
            (Experiment::Tpch, true) => "--sf 0.05 --runs 1",
            (Experiment::E1, false) => "--rows 1000000",
            (_, false) => "",
        };
        let peers = options.peers.iter().filter_map(|peer| match (self, peer) {
            (Experiment::E1 | Experiment::E4 | Experiment::Tpch, Peer::Duckdb) => Some("duckdb".to_owned()),
            (Experiment::E4, Peer::Firebird) => Some("firebird".to_owned()),
            (Experiment::E3, Peer::Postgres(_)) => None,
            (_, Peer::Postgres(dsn)) => Some(format!("postgres={dsn}")),
            _ => None,
        });
        let mut arguments: Vec<String> = sizes.split_whitespace().map(str::to_owned).collect();
        arguments.extend(peers.flat_map(|peer| ["--peers".to_owned(), peer]));
        arguments
    }

    /// Runs it, with its figures and its plot in the report's folder.
    fn run(self, options: &AllOptions) -> Result<(), BenchError> {
        let mut arguments = self.arguments(options);
        for (option, ending) in [("--json", "json"), ("--plot", "svg")] {
            let path = options.report.join(format!("{}.{ending}", self.name()));
            arguments.extend([option.to_owned(), path.display().to_string()]);
        }
        if let Some(folder) = &options.folder {
            arguments.extend(["--folder".to_owned(), folder.display().to_string()]);
        }
        match self {
            Experiment::E1 => crate::run_e1(&parsed::<E1Options>(&arguments)?).map(drop),
            Experiment::E2 => crate::run_e2(&parsed::<E2Options>(&arguments)?),
            Experiment::E3 => crate::run_e3(&parsed::<E3Options>(&arguments)?),
            Experiment::E4 => crate::run_e4(&parsed::<E4Options>(&arguments)?),
            Experiment::E5 => crate::run_e5(&parsed::<E5Options>(&arguments)?),
            Experiment::Tpch => crate::run_tpch(&parsed::<TpchOptions>(&arguments)?),
        }
    }

    /// What the page says of it.
    fn section(self, options: &AllOptions, outcome: Result<Value, BenchError>) -> Section {
        let mut section = match self {
            Experiment::E1 => sections::e1(),
            Experiment::E2 => sections::e2(),
            Experiment::E3 => sections::e3(),
            Experiment::E4 => sections::e4(),
            Experiment::E5 => sections::e5(),
            Experiment::Tpch => sections::tpch(),
        };
        // A connection string may hold a password.
        let mut shown = self.arguments(options);
        shown
            .iter_mut()
            .filter(|part| part.starts_with("postgres="))
            .for_each(|part| *part = "postgres=DSN".to_owned());
        let shown = shown.join(" ");
        section.command = format!("verso bench {} {shown}", self.name()).trim_end().to_owned();
        match outcome {
            Err(error) => section.failed = Some(error.to_string()),
            Ok(json) => {
                section.tables.extend(match self {
                    Experiment::E1 => figures::e1(&json),
                    Experiment::E2 => figures::e2(&json),
                    Experiment::E3 => figures::e3(&json),
                    Experiment::E4 => figures::e4(&json),
                    Experiment::E5 => figures::e5(&json),
                    Experiment::Tpch => figures::tpch(&json),
                });
                section.plot = Some(format!("{}.svg", self.name()));
            }
        }
        section
    }
}

/// The options of an experiment, as its command line would give them.
fn parsed<T: clap::Args>(arguments: &[String]) -> Result<T, BenchError> {
    let command = T::augment_args(clap::Command::new("bench").no_binary_name(true));
    let matches = command.try_get_matches_from(arguments);
    let found = matches.and_then(|matches| T::from_arg_matches(&matches));
    found.map_err(|error| BenchError::Usage(error.to_string()))
}

/// Runs all experiments and writes the page.
///
/// # Errors
/// A folder that cannot be written; at the end the first experiment that failed.
pub fn run(options: &AllOptions) -> Result<(), BenchError> {
    std::fs::create_dir_all(&options.report).map_err(BenchError::file(&options.report))?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let calibration = {
        let work = WorkFolder::create(&parent, false)?;
        calibrate(&Env::real(), work.path())?
    };
    let asked = |experiment: &Experiment| options.only.is_empty() || options.only.contains(experiment);
    let mut page = Page::new(Machine::here(), calibration, options.quick);
    let mut failed = None;
    for experiment in Experiment::ALL.into_iter().filter(asked) {
        let outcome = experiment
            .run(options)
            .and_then(|()| read(&options.report.join(format!("{}.json", experiment.name()))));
        if let Err(error) = &outcome {
            eprintln!("{}: {error}", experiment.name());
            failed.get_or_insert(experiment.name());
        }
        page.sections.push(experiment.section(options, outcome));
        // After each, so that a run that is broken off has left a page.
        write(&page, &options.report)?;
    }
    println!("{}", options.report.join("index.html").display());
    match failed {
        None => Ok(()),
        Some(name) => Err(BenchError::Usage(format!("{name} has failed; the page says how"))),
    }
}

fn read(path: &Path) -> Result<Value, BenchError> {
    let text = std::fs::read_to_string(path).map_err(BenchError::file(path))?;
    serde_json::from_str(&text).map_err(|error| BenchError::Usage(format!("{}: {error}", path.display())))
}

fn write(page: &Page, folder: &Path) -> Result<(), BenchError> {
    let plot = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    for (name, text) in [("index.html", html::page(page, plot)), ("report.md", markdown::page(page))] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(BenchError::file(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
