//! Rows as a Parquet file: groups of rows, packed with zstd.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use verso_exec::error::{ExecError, Result};
use verso_exec::files::FileSink;
use verso_exec::plan::OutputColumn;
use verso_types::datetime::{UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS};
use verso_types::{Batch, SqlType, TimeStyle, TypeError, Value, format_text};

use crate::guarded;
use crate::schema::schema;

/// Rows of a group.
const GROUP_ROWS: usize = 122_880;
/// Bytes of texts that are held for a group.
const GROUP_BYTES: usize = 16 << 20;

/// What the library has written and nobody has taken.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a file of rows with these columns.
pub(crate) fn sink(columns: &[OutputColumn], style: &TimeStyle) -> Result<Box<dyn FileSink>> {
    let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| other.name == column.name) {
            let text = format!("column name \"{}\" specified more than once", column.name);
            return Err(ExecError::raised("42701", text));
        }
    }
    let written = Written::default();
    let into = written.clone();
    let writer = guarded("output", || {
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
        SerializedFileWriter::new(into, schema(columns)?, Arc::new(properties.build()))
    })?;
    let rows = Batch::of_types(&types);
    Ok(Box::new(Sink { writer: Some(writer), written, rows, types, style: style.clone() }))
}

struct Sink {
    writer: Option<SerializedFileWriter<Written>>,
    written: Written,
    /// Of the group to come.
    rows: Batch,
    types: Vec<SqlType>,
    style: TimeStyle,
}

impl FileSink for Sink {
    fn rows(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        for (own, column) in self.rows.columns.iter_mut().zip(&batch.columns) {
            own.append_range(column, 0..batch.rows);
        }
        self.rows.rows += batch.rows;
        if self.rows.rows >= GROUP_ROWS || self.rows.variable_bytes() >= GROUP_BYTES {
            self.group()?;
            out.append(&mut self.written.0.lock());
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.rows.rows > 0 {
            self.group()?;
        }
        if let Some(writer) = self.writer.take() {
            guarded("output", || writer.close())?;
        }
        out.append(&mut self.written.0.lock());
        Ok(())
    }
}

impl Sink {
    /// Writes the rows as a group.
    fn group(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let (rows, types, style) = (&self.rows, &self.types, &self.style);
        guarded("output", || {
            let mut group = writer.next_row_group()?;
            let mut at = 0;
            while let Some(mut column) = group.next_column()? {
                let done = write_column(column.untyped(), rows, at, &types[at], style)?;
                if let Err(error) = done {
                    return Ok(Err(error));
                }
                column.close()?;
                at += 1;
            }
            group.close()?;
            Ok(Ok(()))
        })?
        .map_err(ExecError::from)?;
        self.rows.clear();
        Ok(())
    }
}

fn write_column(
    writer: &mut ColumnWriter<'_>,
    rows: &Batch,
    at: usize,
    ty: &SqlType,
    style: &TimeStyle,
) -> Result<Result<(), TypeError>, ParquetError> {
    let column = &rows.columns[at];
    let mut levels = Vec::with_capacity(rows.rows);
    macro_rules! write {
        ($writer:expr, $value:ident => $made:expr) => {{
            let mut values = Vec::with_capacity(rows.rows);
            for row in 0..rows.rows {
                match column.value(row, ty) {
                    Value::Null => levels.push(0),
                    $value => {
                        levels.push(1);
                        match $made {
                            Ok(made) => values.push(made),
                            Err(error) => return Ok(Err(error)),
                        }
                    }
                }
            }
            $writer.write_batch(&values, Some(&levels), None)?;
        }};
    }
    match writer {
        ColumnWriter::BoolColumnWriter(writer) => {
            write!(writer, value => Ok::<_, TypeError>(value.as_bool().unwrap_or_default()));
        }
        ColumnWriter::Int32ColumnWriter(writer) => write!(writer, value => small(&value)),
        ColumnWriter::Int64ColumnWriter(writer) => write!(writer, value => large(&value)),
        ColumnWriter::FloatColumnWriter(writer) => {
            write!(writer, value => Ok::<_, TypeError>(value.as_f64().unwrap_or_default() as f32));
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            write!(writer, value => Ok::<_, TypeError>(value.as_f64().unwrap_or_default()));
        }
        ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
            write!(writer, value => wide(&value));
        }
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            write!(writer, value => Ok::<_, TypeError>(ByteArray::from(shown(&value, ty, style))));
        }
        ColumnWriter::Int96ColumnWriter(_) => {
            return Err(ParquetError::General("a column of a type that is not written".into()));
        }
    }
    Ok(Ok(()))
}

fn infinite(what: &str) -> TypeError {
    TypeError::new("22008", format!("Parquet has no infinite {what}"))
}

fn small(value: &Value) -> Result<i32, TypeError> {
    Ok(match value {
        Value::Date(i32::MIN | i32::MAX) => return Err(infinite("dates")),
        Value::Date(days) => days + UNIX_EPOCH_DAYS,
        value => value.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or_default(),
    })
}

fn large(value: &Value) -> Result<i64, TypeError> {
    Ok(match value {
        Value::Timestamp(i64::MIN | i64::MAX) | Value::Timestamptz(i64::MIN | i64::MAX) => {
            return Err(infinite("timestamps"));
        }
        Value::Timestamp(micros) | Value::Timestamptz(micros) => micros
            .checked_add(UNIX_EPOCH_MICROS)
            .ok_or_else(|| TypeError::new("22008", "timestamp out of range"))?,
        Value::Time(micros) => *micros,
        Value::Numeric(number) => i64::try_from(number.unscaled()).unwrap_or_default(),
        value => value.as_i64().unwrap_or_default(),
    })
}

fn wide(value: &Value) -> Result<FixedLenByteArray, TypeError> {
    let bytes = match value {
        Value::Uuid(number) => number.to_be_bytes(),
        Value::Numeric(number) => number.unscaled().to_be_bytes(),
        _ => [0; 16],
    };
    Ok(ByteArray::from(bytes.to_vec()).into())
}

fn shown(value: &Value, ty: &SqlType, style: &TimeStyle) -> Vec<u8> {
    match value {
        Value::Bytes(bytes) => bytes.to_vec(),
        value => {
            let mut text = String::new();
            format_text(value, ty, style, &mut text);
            text.into_bytes()
        }
    }
}
