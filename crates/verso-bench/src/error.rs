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

/// What was asked of a server, or its words where the statement took longer than it may; other errors stay what they are.
pub(crate) fn in_time<T>(asked: Result<T, BenchError>) -> Result<Result<T, String>, BenchError> {
    match asked {
        // 57014, in the words of all servers of this protocol.
        Err(BenchError::Engine { message, .. }) if message.contains("due to statement timeout") => {
            Ok(Err(message))
        }
        asked => asked.map(Ok),
    }
}

/// An error with what it came from: a driver says "db error", and what the server has said stands behind it.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

impl BenchError {
    /// For `map_err` on the calls of an engine.
    pub(crate) fn engine<E: std::error::Error>(engine: &'static str) -> impl Fn(E) -> BenchError {
        move |error| BenchError::Engine { engine, message: words(&error) }
    }

    /// For `map_err` on files.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> BenchError {
        let path = path.into();
        move |source| BenchError::File { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("db error")]
    struct Driver(#[source] Server);

    #[derive(Debug, thiserror::Error)]
    #[error("ERROR: canceling statement due to statement timeout")]
    struct Server;

    #[test]
    fn what_a_server_says_is_shown_and_a_statement_out_of_time_is_told_from_other_errors() {
        let refused = BenchError::engine("server")(Driver(Server));
        assert_eq!(
            refused.to_string(),
            "server: db error: ERROR: canceling statement due to statement timeout"
        );
        assert!(matches!(in_time::<()>(Err(refused)), Ok(Err(_))));
        assert!(matches!(in_time(Ok(7)), Ok(Ok(7))));
        assert!(in_time::<()>(Err(BenchError::Usage("other".to_owned()))).is_err());
    }
}
