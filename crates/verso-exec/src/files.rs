//! Files that queries read like tables: `SELECT … FROM read_csv('f.csv')`.
//!
//! ```text
//! binder ─► FileFormat::describe ─► FileTable (names and types of columns) ─► Plan::FileScan
//!                                        │ open, for each execution
//!                                        ▼
//!                                    FileRows ─► batches with the columns that are wanted
//! ```
//!
//! Who can read a format says so ([`provide`]); what needs large libraries is provided by the programs that want it.

use std::fmt::Debug;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use verso_env::Vfs;
use verso_types::{Batch, SqlType, TimeStyle, Value};

use crate::error::{ExecError, Raised, Result};
use crate::plan::OutputColumn;

/// The functions that read files.
pub const FUNCTIONS: [&str; 3] = ["read_csv", "read_json", "read_parquet"];

/// What a call asks for.
pub struct FileRequest<'r> {
    /// Where files are.
    pub vfs: Arc<dyn Vfs>,
    /// The files, at least one.
    pub files: Vec<PathBuf>,
    /// Options by name.
    pub options: &'r [(String, Value)],
    /// The columns, where the query says what they are.
    pub columns: Option<Vec<(String, SqlType)>>,
    /// How dates are read.
    pub style: &'r TimeStyle,
}

/// A format of files.
pub trait FileFormat: Sync {
    /// The function that reads it.
    fn function(&self) -> &'static str;
    /// The options that the function takes by name.
    fn options(&self) -> &'static [(&'static str, SqlType)];
    /// Looks into the files for their columns.
    /// # Errors
    /// 22P04, 58P01 and their like.
    fn describe(&self, request: &FileRequest<'_>) -> Result<Arc<FileTable>>;
    /// Makes a file of rows with these columns.
    /// # Errors
    /// 0A000 where that cannot be done.
    fn writer(&self, columns: &[OutputColumn], style: &TimeStyle) -> Result<Box<dyn FileSink>> {
        let _ = (columns, style);
        Err(ExecError::raised("0A000", "files of this format cannot be written"))
    }
}

/// Makes a file, piece by piece.
pub trait FileSink: Send {
    /// Takes rows; what is known of the file goes to the end of `out`.
    /// # Errors
    /// Values that the format does not have.
    fn rows(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()>;
    /// No more rows come.
    /// # Errors
    /// As [`FileSink::rows`].
    fn end(&mut self, out: &mut Vec<u8>) -> Result<()>;
}

/// Files as a table.
pub struct FileTable {
    /// The function that reads it.
    pub function: &'static str,
    /// Where the files are.
    pub vfs: Arc<dyn Vfs>,
    /// The files, at least one.
    pub files: Vec<PathBuf>,
    /// The columns.
    pub columns: Vec<OutputColumn>,
    /// About how many rows there are.
    pub rows: f64,
    /// How they are read.
    pub reader: Box<dyn TableReader>,
}

impl Debug for FileTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FileTable { function, vfs: _, files, columns: _, rows: _, reader: _ } = self;
        f.debug_struct("FileTable").field("function", function).field("files", files).finish_non_exhaustive()
    }
}

impl FileTable {
    /// Begins to read, of the columns only `wanted`.
    /// # Errors
    /// 58P01 and its like.
    pub fn open(&self, wanted: &[usize], style: &TimeStyle) -> Result<Box<dyn FileRows>> {
        self.reader.open(self, wanted, style)
    }
}

/// Reads files of a format, with what describing them has found out.
pub trait TableReader: Send + Sync {
    /// See [`FileTable::open`].
    /// # Errors
    /// 58P01 and its like.
    fn open(&self, table: &FileTable, wanted: &[usize], style: &TimeStyle) -> Result<Box<dyn FileRows>>;
}

/// Rows of files.
pub trait FileRows: Send {
    /// Replaces the batch's rows by the next ones; false when there are none any more.
    /// # Errors
    /// Data that are not what the columns say; what the operating system reports.
    fn next(&mut self, out: &mut Batch) -> Result<bool>;
    /// Bytes that were read and have not become rows.
    fn pending(&self) -> usize;
}

static FORMATS: Mutex<Vec<&'static dyn FileFormat>> = Mutex::new(Vec::new());

/// From now on files of that format can be read in this process.
pub fn provide(format: &'static dyn FileFormat) {
    let mut formats = FORMATS.lock();
    if formats.iter().all(|known| known.function() != format.function()) {
        formats.push(format);
    }
}

/// The format that a function reads, if the program has it.
#[must_use]
pub fn format(function: &str) -> Option<&'static dyn FileFormat> {
    FORMATS.lock().iter().copied().find(|format| format.function() == function)
}

/// The error of a file that cannot be read.
#[must_use]
pub fn unreadable(path: &Path, error: &std::io::Error) -> ExecError {
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => "58P01",
        std::io::ErrorKind::PermissionDenied => "42501",
        _ => "58030",
    };
    let error = error.to_string();
    // Rust names the number behind the text.
    let why = error.split(" (os error").next().unwrap_or_default();
    ExecError::raised(code, format!("could not open file \"{}\" for reading: {why}", path.display()))
}

/// The files of a pattern, sorted: in a part of a path `*` stands for any characters and `?` for one.
///
/// # Errors
/// 58P01 where there is none.
pub fn matching(vfs: &dyn Vfs, pattern: &str) -> Result<Vec<PathBuf>> {
    if !pattern.contains(['*', '?']) {
        return Ok(vec![PathBuf::from(pattern)]);
    }
    let mut found = vec![PathBuf::new()];
    for part in Path::new(pattern).components() {
        let name = match part {
            Component::Normal(name) => name.to_string_lossy(),
            other => {
                found.iter_mut().for_each(|path| path.push(other));
                continue;
            }
        };
        if !name.contains(['*', '?']) {
            found.iter_mut().for_each(|path| path.push(&*name));
            continue;
        }
        let mut next = Vec::new();
        for folder in &found {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            // a folder that is not there has no files
            let Ok(entries) = vfs.list_dir(folder) else { continue };
            let fits = |path: &PathBuf| {
                path.file_name().is_some_and(|own| fits(name.as_bytes(), own.as_encoded_bytes()))
            };
            next.extend(entries.into_iter().filter(fits));
        }
        found = next;
    }
    found.retain(|path| vfs.exists(path).unwrap_or(false));
    found.sort();
    match found.is_empty() {
        true => Err(ExecError::raised("58P01", format!("no files are like \"{pattern}\""))),
        false => Ok(found),
    }
}

/// Whether a name is like a pattern: with one point of return, the last `*`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            _ => match retry {
                Some((after, from)) => {
                    (p, n) = (after, from + 1);
                    retry = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// An error within a file, with the place as its context.
#[must_use]
pub fn within(raised: Raised, context: Option<&str>) -> ExecError {
    let error = ExecError::Raised(Box::new(raised));
    match context {
        Some(context) => ExecError::InFunction { error: Box::new(error), context: context.to_owned() },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn names_are_like_patterns() {
        for (pattern, name, expected) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("a?c*", "abcd", true),
            ("a?c*", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b", "aab", true),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
