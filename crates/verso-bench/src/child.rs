//! Child processes: the binary runs itself again with a hidden subcommand, the task as its argument, the figures on
//! standard output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use verso_env::Env;

use crate::e1::{self, Engine, Variant};
use crate::{BenchError, Measured};

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
    /// What to do: nothing means creating the database.
    pub variant: Option<Variant>,
}

impl ChildTask {
    fn title(&self) -> String {
        match self.variant {
            Some(variant) => format!("{} {}", self.engine.name(), variant.name()),
            None => format!("creating the database of {}", self.engine.name()),
        }
    }
}

/// The child's side: does the task and prints its figures as JSON.
///
/// # Errors
/// As the task's engine says.
pub fn run_child(task: &str) -> Result<(), BenchError> {
    let task: ChildTask =
        serde_json::from_str(task).map_err(|error| BenchError::Usage(format!("task: {error}")))?;
    let figures = e1::run_task(&Env::real(), &task)?;
    let json = serde_json::to_string(&figures).map_err(|error| BenchError::Usage(error.to_string()))?;
    println!("{json}");
    Ok(())
}

/// The parent's side: runs the task in a child process and waits for its figures.
pub(crate) fn spawn(task: &ChildTask) -> Result<Measured, BenchError> {
    let failed = |message: String| BenchError::Child { task: task.title(), message };
    let binary = std::env::current_exe().map_err(BenchError::file("the running binary"))?;
    let argument = serde_json::to_string(task).map_err(|error| failed(error.to_string()))?;
    let output = Command::new(binary)
        .args([SUBCOMMAND, &argument])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(format!("its figures: {error}")))
}
