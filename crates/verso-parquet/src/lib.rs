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

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Once};

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

thread_local! {
    /// A panic on this thread is an error of a file: nothing is said of it.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, panics of this thread leave no message.
struct Quiet {
    before: bool,
}

impl Quiet {
    fn begin() -> Quiet {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = take_hook();
            set_hook(Box::new(move |panic| {
                if !QUIET.try_with(Cell::get).unwrap_or(false) {
                    before(panic);
                }
            }));
        });
        Quiet { before: QUIET.replace(true) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.set(self.before);
    }
}

/// Runs what looks into a file. The library panics over some files that are damaged; that is an error of the file.
fn guarded<T>(name: &str, run: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    let quiet = Quiet::begin();
    let outcome = catch_unwind(AssertUnwindSafe(run));
    drop(quiet);
    let error = match outcome {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its bytes contradict each other".to_owned(),
    };
    Err(ExecError::raised("22P04", format!("Parquet file \"{name}\": {error}")))
}
