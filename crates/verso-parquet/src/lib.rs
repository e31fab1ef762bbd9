//! Parquet files as tables, and rows as Parquet files: `read_parquet('f.parquet')`, `COPY … (FORMAT parquet)`.
//!
//! | module | what it is |
//! |---|---|
//! | [`schema`] | which type of SQL a column of a file has, and the other way round |
//! | [`read`] | files to batches: column by column, only those that are wanted |
//! | [`write`] | batches to files |
//!
//! Columns of lists, maps and groups are there by name and cannot be read yet (0A000).
#![forbid(unsafe_code)]

mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::errors::ParquetError;
use verso_exec::error::{ExecError, Result};
use verso_exec::files::{self, FileFormat, FileRequest, FileSink, FileTable};
use verso_exec::plan::OutputColumn;
use verso_types::{SqlType, TimeStyle};

/// The format.
struct Parquet;

/// Makes the format known to queries of this process.
pub fn provide() {
    files::provide(&Parquet);
}

impl FileFormat for Parquet {
    fn function(&self) -> &'static str {
        "read_parquet"
    }

    fn options(&self) -> &'static [(&'static str, SqlType)] {
        &[]
    }

    fn describe(&self, request: &FileRequest<'_>) -> Result<Arc<FileTable>> {
        read::describe(request)
    }

    fn writer(&self, columns: &[OutputColumn], style: &TimeStyle) -> Result<Box<dyn FileSink>> {
        write::sink(columns, style)
    }
}

/// Runs what looks into a file. The library panics over some files that are damaged; that is an error of the file.
fn guarded<T>(name: &str, run: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    let error = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its bytes contradict each other".to_owned(),
    };
    Err(ExecError::raised("22P04", format!("Parquet file \"{name}\": {error}")))
}
