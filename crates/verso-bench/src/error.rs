//! What can go wrong in a benchmark.

use std::path::PathBuf;

/// Grouped by whom it concerns.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The command line asks for what is not there.
    #[error("{0}")]
    Usage(String),
    /// An engine refused a statement.
    #[error("{engine}: {message}")]
    Engine {
        /// `verso`, `sqlite`, …
        engine: &'static str,
        /// Its own words.
        message: String,
    },
    /// An engine gave a wrong answer: nothing it was measured at counts.
    #[error("WRONG ANSWER from {engine}: {message}")]
    Wrong {
        /// `verso`, `sqlite`, …
        engine: &'static str,
        /// What was expected and what was found.
        message: String,
    },
    /// A child process failed; it has said why on standard error.
    #[error("the child process for {task} failed: {message}")]
    Child {
        /// What it should have done.
        task: String,
        /// How it ended.
        message: String,
    },
    /// A file of the benchmark itself.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The plot could not be drawn.
    #[error("plot: {0}")]
    Plot(String),
}

impl BenchError {
    /// For `map_err` on the calls of an engine.
    pub(crate) fn engine<E: std::fmt::Display>(engine: &'static str) -> impl Fn(E) -> BenchError {
        move |error| BenchError::Engine { engine, message: error.to_string() }
    }

    /// For `map_err` on files.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> BenchError {
        let path = path.into();
        move |source| BenchError::File { path, source }
    }
}
