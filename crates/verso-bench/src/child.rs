//! Child processes: the binary runs itself again with a hidden subcommand, the task as its argument, the figures on
//! standard output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use verso_env::Env;

use crate::e1::{self, Engine, Variant};
use crate::e2::{self, E2Task};
use crate::e4::{self, E4Task};
use crate::folder::Watched;
use crate::hot::{self, HotTask};
use crate::keys::{self, KeysTask};
use crate::tpch::{self, TpchTask};
use crate::{BenchError, Measured, pagesize};

/// The hidden subcommand of the binary that hands its argument to [`run_child`].
pub const SUBCOMMAND: &str = "bench-child";

/// What a child process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChildTask {
    /// Who.
    pub engine: Engine,
    /// On which file, or for a server by which connection string.
    pub database: PathBuf,
    /// Rows of the table.
    pub rows: u64,
    /// Passes of the transaction.
    pub passes: u32,
    /// Bytes of a page; for creation.
    pub page_size: u32,
    /// Bytes of the pool or cache.
    pub pool_bytes: u64,
    /// What to do.
    pub step: Step,
}

/// What a child process does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Makes it, with the tables of E1.
    Create,
    /// Measures a variant of E1.
    Measure(Variant),
    /// Makes one with a table of its own, reads and writes single records.
    Points,
}

impl ChildTask {
    fn title(&self) -> String {
        match self.step {
            Step::Create => format!("creating the database of {}", self.engine.name()),
            Step::Measure(variant) => format!("{} {}", self.engine.name(), variant.name()),
            Step::Points => format!("{}, pages of {} bytes", self.engine.name(), self.page_size),
        }
    }
}

/// The child's side: does the task and prints its figures as JSON.
///
/// # Errors
/// As the task's engine says.
pub fn run_child(task: &str) -> Result<(), BenchError> {
    let task: AnyTask =
        serde_json::from_str(task).map_err(|error| BenchError::Usage(format!("task: {error}")))?;
    let env = Env::real();
    let json = match task {
        AnyTask::E1(task) => match task.step {
            Step::Create => e1::create(&task).map(|()| serde_json::to_string(&Measured::default()))?,
            Step::Measure(variant) => serde_json::to_string(&e1::measure(&env, &task, variant)?),
            Step::Points => serde_json::to_string(&pagesize::measure(&env, &task)?),
        },
        AnyTask::E2(task) => serde_json::to_string(&e2::run_task(&env, &task)?),
        AnyTask::E4(task) => serde_json::to_string(&e4::run_task(&env, &task)?),
        AnyTask::Tpch(task) => serde_json::to_string(&tpch::run_task(&env, &task)?),
        AnyTask::Hot(task) => serde_json::to_string(&hot::run_task(&env, &task)?),
        AnyTask::Keys(task) => serde_json::to_string(&keys::run_task(&env, &task)?),
    };
    println!("{}", json.map_err(|error| BenchError::Usage(error.to_string()))?);
    Ok(())
}

/// The tasks of all workloads; their fields tell them apart.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum AnyTask {
    E1(ChildTask),
    E2(E2Task),
    E4(E4Task),
    Tpch(TpchTask),
    Keys(KeysTask),
    Hot(HotTask),
}

/// The parent's side: runs the task in a child process and waits for its figures.
pub(crate) fn spawn<F: DeserializeOwned>(task: &ChildTask) -> Result<F, BenchError> {
    spawn_task(task, &task.title())
}

/// The same for any workload's task.
pub(crate) fn spawn_task<F: DeserializeOwned>(task: &impl Serialize, title: &str) -> Result<F, BenchError> {
    let failed = |message: String| BenchError::Child { task: title.to_owned(), message };
    let binary = std::env::current_exe().map_err(BenchError::file("the running binary"))?;
    let argument = serde_json::to_string(task).map_err(|error| failed(error.to_string()))?;
    let child = Command::new(binary)
        .args([SUBCOMMAND, &argument])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let _watched = Watched::new(&child);
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(format!("its figures: {error}")))
}
