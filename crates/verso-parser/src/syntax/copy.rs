//! The options of COPY as they are written.

use verso_types::Encoding;

/// The formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyFormat {
    /// A line a row, fields between tabs, backslash escapes.
    #[default]
    Text,
    /// Comma-separated values with quotes.
    Csv,
    /// Lengths and the protocol's binary values.
    Binary,
    /// Parquet files.
    Parquet,
}

/// What to do with a first line of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// There is none.
    #[default]
    None,
    /// Written, or skipped.
    Present,
    /// Skipped if it names the columns; an error otherwise.
    Match,
}

/// What becomes of rows with values that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// They end the COPY.
    #[default]
    Stop,
    /// They are left out.
    Ignore,
}

/// What is said of rows that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogVerbosity {
    /// Nothing.
    Silent,
    /// How many there were.
    #[default]
    Default,
    /// Each of them.
    Verbose,
}

/// Columns that an option names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// None of them.
    #[default]
    None,
    /// All of them (`*`).
    All,
    /// These.
    Named(Vec<String>),
}

/// Options as they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOptions {
    /// FORMAT.
    pub format: CopyFormat,
    /// DELIMITER.
    pub delimiter: Option<String>,
    /// NULL.
    pub null: Option<String>,
    /// DEFAULT: what stands for a column's default.
    pub default: Option<String>,
    /// HEADER.
    pub header: Header,
    /// QUOTE.
    pub quote: Option<String>,
    /// ESCAPE.
    pub escape: Option<String>,
    /// FORCE_QUOTE.
    pub force_quote: Columns,
    /// FORCE_NOT_NULL.
    pub force_not_null: Columns,
    /// FORCE_NULL.
    pub force_null: Columns,
    /// ON_ERROR.
    pub on_error: Option<OnError>,
    /// LOG_VERBOSITY.
    pub log_verbosity: Option<LogVerbosity>,
    /// REJECT_LIMIT.
    pub reject_limit: Option<u64>,
    /// FREEZE: rows are frozen as soon as nobody may miss them, whether it is asked for or not.
    pub freeze: bool,
    /// NOLOG: rows are not logged, but on disk at the end.
    pub nolog: bool,
    /// ENCODING of text and CSV; the client's without it.
    pub encoding: Option<Encoding>,
}
