//! What can go wrong with a backup or a restore.

use std::fmt;
use std::io;

use verso_catalog::CatalogError;
use verso_storage::StorageError;
use verso_types::TypeError;
use versodb::Error;

/// A part of an archive, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first bytes.
    Header,
    /// The definitions of all objects.
    Definitions,
    /// The rows of this number, from 1 on.
    Chunk(u32),
    /// The table of contents.
    Contents,
    /// The last bytes.
    End,
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Header => write!(out, "its header"),
            Part::Definitions => write!(out, "its definitions"),
            Part::Chunk(number) => write!(out, "chunk {number}"),
            Part::Contents => write!(out, "its table of contents"),
            Part::End => write!(out, "its end"),
        }
    }
}

/// Why a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Report: the database said no.
    #[error("{0}")]
    Sql(Box<Error>),
    /// Report: a statement of the archive failed.
    #[error("{error}\nwhile running: {statement}")]
    Statement {
        /// What it said.
        error: Box<Error>,
        /// The statement, or its beginning.
        statement: String,
    },
    /// Report: the archive is not as it was written.
    #[error("the archive is damaged in {part}: {flaw}")]
    Damaged {
        /// Where.
        part: Part,
        /// What is wrong there.
        flaw: String,
    },
    /// Report: a file, or a pipe.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the operating system said.
        error: io::Error,
    },
    /// Report: it was asked for something that is not possible.
    #[error("{0}")]
    Refused(String),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl BackupError {
    pub(crate) fn damaged(part: Part, flaw: impl Into<String>) -> BackupError {
        BackupError::Damaged { part, flaw: flaw.into() }
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> BackupError {
        let what = what.into();
        move |error| BackupError::Io { what, error }
    }
}

impl From<Error> for BackupError {
    fn from(error: Error) -> BackupError {
        BackupError::Sql(Box::new(error))
    }
}

impl From<StorageError> for BackupError {
    fn from(error: StorageError) -> BackupError {
        match error {
            StorageError::Cancelled => BackupError::Cancelled,
            error => Error::from(error).into(),
        }
    }
}

impl From<TypeError> for BackupError {
    fn from(error: TypeError) -> BackupError {
        Error::from(error).into()
    }
}

impl From<CatalogError> for BackupError {
    fn from(error: CatalogError) -> BackupError {
        Error::from(error).into()
    }
}
