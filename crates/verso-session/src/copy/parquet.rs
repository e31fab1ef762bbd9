//! COPY of Parquet files: rows through the format that the program has for `read_parquet`.
//!
//! A column of the table takes the column of the file that has its name; values become those of the table's types as
//! in an assignment.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use verso_exec::ExternalRows;
use verso_exec::error::{ExecError, Result};
use verso_exec::files::{self, FileFormat, FileRequest, FileRows, FileSink};
use verso_exec::plan::OutputColumn;
use verso_types::{Batch, CastKind, SqlType, TimeStyle, cast, cast_kind};

use crate::frame::Frame;
use verso_parser::syntax::CopyPlace;
use verso_planner::errors::{SqlError, sqlstate};

fn format() -> Result<&'static dyn FileFormat, SqlError> {
    files::format("read_parquet").ok_or_else(|| {
        SqlError::unsupported("COPY FORMAT parquet").with_hint(
            "The server program has it; a program that embeds Verso turns the feature \"parquet\" on.",
        )
    })
}

/// What makes a file of rows.
pub(super) fn sink(columns: &[OutputColumn], style: &TimeStyle) -> Result<Box<dyn FileSink>, SqlError> {
    Ok(format()?.writer(columns, style)?)
}

/// Rows of a file for columns of a table.
pub(super) struct Source {
    rows: RefCell<(Box<dyn FileRows>, Batch)>,
    /// The types of the file's columns, and those of the table's.
    types: Vec<(SqlType, SqlType)>,
    style: TimeStyle,
}

/// The rows of the file that a COPY names.
pub(super) fn source(
    place: &CopyPlace,
    columns: &[(String, SqlType)],
    frame: &Frame<'_>,
) -> Result<Source, SqlError> {
    let format = format()?;
    let CopyPlace::File(path) = place else {
        return Err(SqlError::unsupported("COPY of Parquet data that a client sends")
            .with_hint("Name a file of the server: a Parquet file is read from its end."));
    };
    let style = frame.services.settings.time_zone.clone();
    let vfs = Arc::clone(&frame.services.env.vfs);
    let files = vec![PathBuf::from(path)];
    let table = format.describe(&FileRequest { vfs, files, options: &[], columns: None, style: &style })?;
    let (mut wanted, mut types) = (Vec::new(), Vec::new());
    for (name, ty) in columns {
        let at = table.columns.iter().position(|column| *column.name == **name).ok_or_else(|| {
            let text = format!("file \"{path}\" has no column \"{name}\"");
            SqlError::new(sqlstate::BAD_COPY_FORMAT, text)
        })?;
        let own = &table.columns[at].ty;
        if !matches!(cast_kind(own, ty), Some(CastKind::Implicit | CastKind::Assignment)) && !own.is_text() {
            let text = format!(
                "column \"{name}\" is of type {} but its values in the file are of type {}",
                ty.pg_name(),
                own.pg_name()
            );
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        }
        wanted.push(at);
        types.push((own.clone(), ty.clone()));
    }
    let rows = table.open(&wanted, &style)?;
    let batch = Batch::of_types(&types.iter().map(|(own, _)| own.clone()).collect::<Vec<_>>());
    Ok(Source { rows: RefCell::new((rows, batch)), types, style })
}

impl ExternalRows for Source {
    fn next(&self, out: &mut Batch) -> Result<bool> {
        out.clear();
        let (rows, batch) = &mut *self.rows.borrow_mut();
        if !rows.next(batch)? {
            return Ok(false);
        }
        for ((from, (own, ty)), into) in batch.columns.iter().zip(&self.types).zip(&mut out.columns) {
            if own == ty {
                into.append(from);
                continue;
            }
            for row in 0..batch.rows {
                let value = cast(&from.value(row, own), own, ty, CastKind::Assignment, &self.style);
                into.push_value(&value.map_err(ExecError::from)?, ty)?;
            }
        }
        out.rows = batch.rows;
        Ok(true)
    }
}
