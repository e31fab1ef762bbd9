//! How the data of a COPY look.

use verso_parser::syntax::{Columns, CopyFormat, CopyOptions, Header, LogVerbosity, OnError};
use verso_planner::errors::{SqlError, sqlstate};

/// Options checked, with their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The format.
    pub format: CopyFormat,
    /// Between fields.
    pub delimiter: u8,
    /// What NULL looks like.
    pub null: Vec<u8>,
    /// What stands for a column's default.
    pub default: Option<Vec<u8>>,
    /// A first line of names.
    pub header: Header,
    /// Around CSV fields.
    pub quote: u8,
    /// Before a quote within quotes.
    pub escape: u8,
    /// Columns whose values are always quoted.
    pub force_quote: Vec<bool>,
    /// Columns in which nothing is NULL.
    pub force_not_null: Vec<bool>,
    /// Columns in which NULL's text is NULL even in quotes.
    pub force_null: Vec<bool>,
    /// What becomes of rows with values that cannot be read.
    pub on_error: OnError,
    /// What is said of them.
    pub log_verbosity: LogVerbosity,
    /// How many rows may be left out.
    pub reject_limit: u64,
    /// Lines without anything are no rows.
    pub skips_blank: bool,
    /// Fields that a row lacks at its end are NULL.
    pub pads: bool,
}

impl Layout {
    /// Checks the options of a COPY of these columns.
    ///
    /// # Errors
    /// 0A000, 22023, 42601, 42703, in PostgreSQL's words.
    pub fn of(options: &CopyOptions, columns: &[&str], from: bool) -> Result<Layout, SqlError> {
        let CopyOptions { format, delimiter, null, header, quote, escape, .. } = options;
        let csv = *format == CopyFormat::Csv;
        let binary = matches!(format, CopyFormat::Binary | CopyFormat::Parquet);
        let mode = if *format == CopyFormat::Parquet { "PARQUET" } else { "BINARY" };
        let default = options.default.as_ref();
        let given =
            [("DELIMITER", delimiter.is_some()), ("NULL", null.is_some()), ("DEFAULT", default.is_some())];
        if let (true, Some((name, _))) = (binary, given.iter().find(|(_, given)| *given)) {
            return Err(SqlError::syntax(format!("cannot specify {name} in {mode} mode")));
        }
        if binary && *header != Header::None {
            return Err(unsupported(&format!("cannot specify HEADER in {mode} mode")));
        }
        let only_csv = [
            ("QUOTE", quote.is_some()),
            ("ESCAPE", escape.is_some()),
            ("FORCE_QUOTE", options.force_quote != Columns::None),
            ("FORCE_NOT_NULL", options.force_not_null != Columns::None),
            ("FORCE_NULL", options.force_null != Columns::None),
        ];
        if let (false, Some((name, _))) = (csv, only_csv.iter().find(|(_, given)| *given)) {
            return Err(unsupported(&format!("COPY {name} requires CSV mode")));
        }
        if from && options.force_quote != Columns::None {
            return Err(unsupported("COPY FORCE_QUOTE cannot be used with COPY FROM"));
        }
        let only_from = [("FORCE_NOT_NULL", &options.force_not_null), ("FORCE_NULL", &options.force_null)];
        let given = only_from.iter().find(|(_, columns)| **columns != Columns::None);
        if let (false, Some((name, _))) = (from, given) {
            let text = format!("COPY {name} cannot be used with COPY TO");
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if !from && options.freeze {
            let text = "COPY FREEZE cannot be used with COPY TO";
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if !from && default.is_some() {
            return Err(unsupported("COPY DEFAULT cannot be used with COPY TO"));
        }
        if !from && *header == Header::Match {
            return Err(unsupported("cannot use \"match\" with HEADER in COPY TO"));
        }
        let on_error = options.on_error.unwrap_or_default();
        if !from && options.on_error.is_some() {
            let text = "COPY ON_ERROR cannot be used with COPY TO";
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if binary && on_error == OnError::Ignore {
            return Err(SqlError::syntax(format!("only ON_ERROR STOP is allowed in {mode} mode")));
        }
        if options.reject_limit.is_some() && on_error != OnError::Ignore {
            let text = "COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE";
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        let byte = |name: &str, text: &Option<String>, default: u8| match text.as_deref().map(str::as_bytes) {
            None => Ok(default),
            Some([byte]) => Ok(*byte),
            Some(_) => Err(unsupported(&format!("COPY {name} must be a single one-byte character"))),
        };
        let delimiter = byte("delimiter", delimiter, if csv { b',' } else { b'\t' })?;
        let quote = byte("quote", quote, b'"')?;
        let escape = byte("escape", escape, quote)?;
        let null = null.as_deref().unwrap_or(if csv { "" } else { "\\N" }).as_bytes().to_vec();
        let invalid = |text: &str| Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        if matches!(delimiter, b'\n' | b'\r') {
            return invalid("COPY delimiter cannot be newline or carriage return");
        }
        if null.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return invalid("COPY null representation cannot use newline or carriage return");
        }
        let reserved =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'\\' | b'.');
        if !csv && !binary && reserved(delimiter) {
            let text = format!("COPY delimiter cannot be \"{}\"", delimiter as char);
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if csv && delimiter == quote {
            return invalid("COPY delimiter and quote must be different");
        }
        if null.contains(&delimiter) {
            return invalid("COPY delimiter character must not appear in the NULL specification");
        }
        if csv && null.contains(&quote) {
            return invalid("CSV quote character must not appear in the NULL specification");
        }
        let default = default.map(|default| default.as_bytes().to_vec());
        if let Some(default) = &default {
            if default.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                return invalid("COPY default representation cannot use newline or carriage return");
            }
            if default.contains(&delimiter) {
                let text = "COPY delimiter character must not appear in the DEFAULT specification";
                return Err(unsupported(text));
            }
            if csv && default.contains(&quote) {
                return Err(unsupported("CSV quote character must not appear in the DEFAULT specification"));
            }
            if *default == null {
                return Err(unsupported("NULL specification and DEFAULT specification cannot be the same"));
            }
        }
        Ok(Layout {
            format: *format,
            delimiter,
            null,
            default,
            header: *header,
            quote,
            escape,
            force_quote: flags(&options.force_quote, columns)?,
            force_not_null: flags(&options.force_not_null, columns)?,
            force_null: flags(&options.force_null, columns)?,
            on_error,
            log_verbosity: options.log_verbosity.unwrap_or_default(),
            reject_limit: options.reject_limit.unwrap_or(u64::MAX),
            skips_blank: false,
            pads: false,
        })
    }
}

fn unsupported(text: &str) -> SqlError {
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
}

/// Which of `columns` are named.
fn flags(named: &Columns, columns: &[&str]) -> Result<Vec<bool>, SqlError> {
    let mut flags = vec![*named == Columns::All; columns.len()];
    if let Columns::Named(names) = named {
        for (n, name) in names.iter().enumerate() {
            if names[..n].contains(name) {
                let text = format!("column \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
            }
            let at = columns.iter().position(|column| column == name).ok_or_else(|| {
                SqlError::new(sqlstate::UNDEFINED_COLUMN, format!("column \"{name}\" does not exist"))
            })?;
            flags[at] = true;
        }
    }
    Ok(flags)
}
