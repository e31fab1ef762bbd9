//! Parquet files as a table.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use verso_env::{OpenMode, Vfs, VfsFile};
use verso_exec::error::{ExecError, Result};
use verso_exec::files::{FileRequest, FileRows, FileTable, TableReader, unreadable};
use verso_exec::plan::OutputColumn;
use verso_types::datetime::{self, MICROS_PER_DAY, UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS};
use verso_types::wire::utf8;
use verso_types::{
    Batch, Column, ColumnData, Decimal, Interval, Number, SqlType, TimeStyle, TypeError, Value,
};

use crate::guarded;
use crate::schema::{FileColumn, Stored, columns};

/// Rows made at a time.
const BATCH_ROWS: usize = 2_048;
/// 1970-01-01 as a Julian day.
const JULIAN_1970: i64 = 2_440_588;

/// A file as the library reads it.
struct Source {
    file: Arc<dyn VfsFile>,
    length: u64,
}

/// A file from some place on.
struct SourceReader {
    file: Arc<dyn VfsFile>,
    at: u64,
}

impl Read for SourceReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(into, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = SourceReader;

    fn get_read(&self, start: u64) -> Result<SourceReader, ParquetError> {
        Ok(SourceReader { file: Arc::clone(&self.file), at: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a part of it lies behind its end".into()));
        }
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(|error| ParquetError::General(error.to_string()))?;
        Ok(bytes.into())
    }
}

fn open(vfs: &dyn Vfs, path: &Path) -> Result<SerializedFileReader<Source>> {
    let mode = OpenMode { read_only: true, ..OpenMode::default() };
    let file = vfs.open(path, mode).map_err(|error| unreadable(path, &error))?;
    let length = file.len().map_err(|error| unreadable(path, &error))?;
    guarded(&path.display().to_string(), || SerializedFileReader::new(Source { file, length }))
}

fn columns_of(reader: &SerializedFileReader<Source>) -> Vec<FileColumn> {
    columns(reader.metadata().file_metadata().schema())
}

/// Looks into all files: they have the same columns.
pub(crate) fn describe(request: &FileRequest<'_>) -> Result<Arc<FileTable>> {
    if request.columns.is_some() {
        let text = "a Parquet file says which columns it has: a column definition list is redundant";
        return Err(ExecError::raised("42601", text));
    }
    let mut found: Option<Vec<FileColumn>> = None;
    let mut rows = 0.0;
    for path in &request.files {
        let reader = open(&*request.vfs, path)?;
        rows += reader.metadata().file_metadata().num_rows() as f64;
        let own = columns_of(&reader);
        if found.as_ref().is_some_and(|found| !alike(found, &own)) {
            let text = format!("file \"{}\" has other columns than the first one", path.display());
            return Err(ExecError::raised("22P04", text));
        }
        found.get_or_insert(own);
    }
    let file_columns = found.unwrap_or_default();
    let output = |column: &FileColumn| OutputColumn::new(column.name.as_str(), column.ty.clone());
    let columns = file_columns.iter().map(output).collect();
    let vfs = Arc::clone(&request.vfs);
    Ok(Arc::new(FileTable {
        function: "read_parquet",
        vfs,
        files: request.files.clone(),
        columns,
        rows,
        reader: Box::new(ParquetReader { columns: file_columns }),
    }))
}

/// The same names and types, however they are stored.
fn alike(a: &[FileColumn], b: &[FileColumn]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name == b.name && a.ty == b.ty)
}

struct ParquetReader {
    columns: Vec<FileColumn>,
}

impl TableReader for ParquetReader {
    fn open(&self, table: &FileTable, wanted: &[usize], _: &TimeStyle) -> Result<Box<dyn FileRows>> {
        for at in wanted {
            if let Some(FileColumn { stored: Stored::Nested, name, .. }) = self.columns.get(*at) {
                let text = format!("column \"{name}\" of a list, a map or a group is not supported");
                return Err(ExecError::raised("0A000", text));
            }
        }
        Ok(Box::new(ParquetRows {
            vfs: Arc::clone(&table.vfs),
            files: table.files.clone().into_iter(),
            expected: self.columns.clone(),
            wanted: wanted.to_vec(),
            open: None,
        }))
    }
}

/// Rows on their way.
struct ParquetRows {
    vfs: Arc<dyn Vfs>,
    files: std::vec::IntoIter<PathBuf>,
    expected: Vec<FileColumn>,
    wanted: Vec<usize>,
    open: Option<OpenFile>,
}

struct OpenFile {
    name: String,
    reader: SerializedFileReader<Source>,
    /// The columns that are wanted, as this file stores them.
    columns: Vec<FileColumn>,
    /// The row group behind the one that is read.
    next_group: usize,
    /// Rows of the group that were not read.
    left: usize,
    readers: Vec<ColumnReader>,
    levels: Vec<i16>,
}

impl FileRows for ParquetRows {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        loop {
            let Some(file) = &mut self.open else {
                let Some(path) = self.files.next() else { return Ok(false) };
                let reader = open(&*self.vfs, &path)?;
                let own = columns_of(&reader);
                if !alike(&own, &self.expected) {
                    let text = format!("the columns of file \"{}\" have changed", path.display());
                    return Err(ExecError::raised("22P04", text));
                }
                let columns = self.wanted.iter().map(|at| own[*at].clone()).collect();
                let name = path.display().to_string();
                let (readers, levels) = (Vec::new(), Vec::new());
                self.open = Some(OpenFile { name, reader, columns, next_group: 0, left: 0, readers, levels });
                continue;
            };
            if file.left == 0 && !file.begin_group()? {
                self.open = None;
                continue;
            }
            file.fill(out)?;
            if out.rows > 0 {
                return Ok(true);
            }
        }
    }

    fn pending(&self) -> usize {
        0
    }
}

impl OpenFile {
    /// Goes to the next row group; false if there is none.
    fn begin_group(&mut self) -> Result<bool> {
        if self.next_group >= self.reader.num_row_groups() {
            return Ok(false);
        }
        let (reader, at, columns) = (&self.reader, self.next_group, &self.columns);
        let packing = guarded(&self.name, || {
            let group = reader.metadata().row_group(at);
            let of = |column: &FileColumn| unknown_packing(group.column(column.leaf).compression());
            Ok(columns.iter().find_map(|column| Some((column.name.clone(), of(column)?))))
        })?;
        if let Some((column, packing)) = packing {
            let text = format!(
                "Parquet file \"{}\": column \"{column}\" is compressed with {packing}, which is not supported",
                self.name
            );
            let hint = "Columns may be compressed with Snappy or Zstandard, or not at all.";
            return Err(TypeError::new("0A000", text).with_hint(hint).into());
        }
        (self.readers, self.left) = guarded(&self.name, || {
            let group = reader.get_row_group(at)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let readers = columns.iter().map(|column| group.get_column_reader(column.leaf));
            Ok((readers.collect::<Result<Vec<_>, ParquetError>>()?, rows))
        })?;
        self.next_group += 1;
        Ok(true)
    }

    fn fill(&mut self, out: &mut Batch) -> Result<()> {
        let rows = self.left.min(BATCH_ROWS);
        for ((column, reader), into) in self.columns.iter().zip(&mut self.readers).zip(&mut out.columns) {
            let levels = &mut self.levels;
            let read = guarded(&self.name, || read_column(reader, column, rows, levels, into))?;
            let count = read.map_err(ExecError::from)?;
            if count != rows {
                let text = format!("Parquet file \"{}\": column \"{}\" ends early", self.name, column.name);
                return Err(ExecError::raised("22P04", text));
            }
        }
        self.left -= rows;
        out.rows += rows;
        Ok(())
    }
}

/// Appends values of a column; how many there were.
type ReadValues = Result<Result<usize, TypeError>, ParquetError>;

fn read_column(
    reader: &mut ColumnReader,
    column: &FileColumn,
    rows: usize,
    levels: &mut Vec<i16>,
    into: &mut Column,
) -> ReadValues {
    let stored = column.stored;
    let ty = &column.ty;
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value, into| into.push_value(&Value::Bool(*value), ty))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value, into| match (&mut into.data, stored) {
                (ColumnData::I32(data), Stored::Int) => {
                    data.push(*value);
                    Ok(())
                }
                (_, Stored::Unsigned) => into.push_value(&Value::Int8(i64::from(value.cast_unsigned())), ty),
                _ => into.push_value(&integer(i64::from(*value), stored, ty)?, ty),
            })
        }
        ColumnReader::Int64ColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value, into| match (&mut into.data, stored) {
                (ColumnData::I64(data), Stored::Int | Stored::Decimal(_)) => {
                    within(i128::from(*value), ty)?;
                    data.push(*value);
                    Ok(())
                }
                _ => into.push_value(&integer(*value, stored, ty)?, ty),
            })
        }
        ColumnReader::Int96ColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value, into| into.push_value(&julian(value)?, ty))
        }
        ColumnReader::FloatColumnReader(reader) => each(reader, column, rows, levels, into, |value, into| {
            into.push_value(&Value::Float4(*value), ty)
        }),
        ColumnReader::DoubleColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value, into| match &mut into.data {
                ColumnData::F64(data) => {
                    data.push(*value);
                    Ok(())
                }
                _ => into.push_value(&Value::Float8(*value), ty),
            })
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value: &ByteArray, into| {
                bytes(value.data(), stored, ty, into)
            })
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            each(reader, column, rows, levels, into, |value: &FixedLenByteArray, into| {
                bytes(value.data(), stored, ty, into)
            })
        }
    }
}

/// Reads values and hands them on, NULLs in between.
fn each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    column: &FileColumn,
    rows: usize,
    levels: &mut Vec<i16>,
    into: &mut Column,
    mut push: impl FnMut(&T::T, &mut Column) -> Result<(), TypeError>,
) -> ReadValues {
    let mut values: Vec<T::T> = Vec::with_capacity(rows);
    levels.clear();
    let wanted = column.nullable.then_some(&mut *levels);
    let (count, ..) = reader.read_records(rows, wanted, None, &mut values)?;
    let mut push_all = || {
        if levels.is_empty() {
            return values.iter().try_for_each(|value| push(value, into));
        }
        let mut values = values.iter();
        for level in levels.iter() {
            match *level {
                0 => into.push_null(),
                _ => match values.next() {
                    Some(value) => push(value, into)?,
                    None => return Err(TypeError::new("22P04", "a Parquet column has too few values")),
                },
            }
        }
        Ok(())
    };
    Ok(push_all().map(|()| count))
}

fn out_of_range(what: &str) -> TypeError {
    TypeError::new("22008", format!("{what} out of range"))
}

/// Units of which so many are a second, in microseconds.
fn micros(value: i64, per_second: i64) -> i128 {
    match per_second {
        1_000_000_000 => i128::from(value).div_euclid(1_000),
        1_000 => i128::from(value) * 1_000,
        _ => i128::from(value),
    }
}

fn integer(value: i64, stored: Stored, ty: &SqlType) -> Result<Value, TypeError> {
    Ok(match stored {
        Stored::Date => Value::Date(datetime::checked_date(value - i64::from(UNIX_EPOCH_DAYS))?),
        Stored::Time(per_second) => {
            let micros = i64::try_from(micros(value, per_second)).map_err(|_| out_of_range("time"))?;
            match (0..=MICROS_PER_DAY).contains(&micros) {
                true => Value::Time(micros),
                false => return Err(out_of_range("time")),
            }
        }
        Stored::Timestamp(per_second) => {
            let micros = micros(value, per_second) - i128::from(UNIX_EPOCH_MICROS);
            let micros = datetime::checked_timestamp(micros)?;
            match ty {
                SqlType::Timestamptz(_) => Value::Timestamptz(micros),
                _ => Value::Timestamp(micros),
            }
        }
        Stored::Decimal(scale) => {
            within(value.into(), ty)?;
            Value::Numeric(Decimal::new(value.into(), scale)?)
        }
        Stored::Unsigned if *ty == SqlType::Int8 => Value::Int8(value),
        Stored::Unsigned => Value::Numeric(Decimal::new(value.cast_unsigned().into(), 0)?),
        _ => match ty {
            SqlType::Int2 => {
                Value::Int2(i16::try_from(value).map_err(|_| TypeError::out_of_range("smallint"))?)
            }
            SqlType::Int4 => {
                Value::Int4(i32::try_from(value).map_err(|_| TypeError::out_of_range("integer"))?)
            }
            _ => Value::Int8(value),
        },
    })
}

/// Nanoseconds and a Julian day.
fn julian(value: &Int96) -> Result<Value, TypeError> {
    let data = value.data();
    let nanos = i128::from(data[0]) | i128::from(data[1]) << 32;
    let days = i128::from(data[2]) - i128::from(JULIAN_1970) - i128::from(UNIX_EPOCH_DAYS);
    datetime::checked_timestamp(days * i128::from(MICROS_PER_DAY) + nanos / 1_000).map(Value::Timestamp)
}

fn bytes(value: &[u8], stored: Stored, ty: &SqlType, into: &mut Column) -> Result<(), TypeError> {
    match (&mut into.data, stored) {
        (ColumnData::Bytes(data), Stored::Text) if *ty == SqlType::Text => {
            utf8(value)?;
            data.push(value);
            Ok(())
        }
        (_, Stored::Text) => {
            let value = verso_types::parse_text(ty, utf8(value)?, &TimeStyle::UTC)?;
            into.push_value(&value, ty)
        }
        (_, Stored::Decimal(scale)) => into.push_value(&decimal(value, scale, ty)?, ty),
        (_, Stored::Half) => {
            let bits = value.try_into().map(u16::from_le_bytes);
            let bits = bits.map_err(|_| TypeError::new("22P04", "a FLOAT16 of Parquet has 2 bytes"))?;
            into.push_value(&Value::Float4(from_half(bits)), ty)
        }
        (_, Stored::Uuid) => {
            let number = value.try_into().map(u128::from_be_bytes);
            let number = number.map_err(|_| TypeError::new("22P04", "a uuid of Parquet has 16 bytes"))?;
            into.push_value(&Value::Uuid(number), ty)
        }
        (_, Stored::Interval) => into.push_value(&interval(value)?, ty),
        _ => into.push_value(&Value::bytes(value), ty),
    }
}

/// Months, days and milliseconds of 32 bits each, none of them negative.
fn interval(value: &[u8]) -> Result<Value, TypeError> {
    let (parts, rest) = value.as_chunks::<4>();
    let ([months, days, millis], []) = (parts, rest) else {
        return Err(TypeError::new("22P04", "an INTERVAL of Parquet has 12 bytes"));
    };
    let part =
        |bytes: &[u8; 4]| i32::try_from(u32::from_le_bytes(*bytes)).map_err(|_| out_of_range("interval"));
    let micros = i64::from(u32::from_le_bytes(*millis)) * 1_000;
    Ok(Value::Interval(Interval { months: part(months)?, days: part(days)?, micros }))
}

/// A number of 16 bits as IEEE 754 has them: a sign, five bits of an exponent, ten of a fraction.
fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (bits >> 10 & 0x1f, f32::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        0x1f if fraction == 0.0 => f32::INFINITY,
        0x1f => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

/// What the pages of a column are packed with, where nothing here unpacks it.
fn unknown_packing(compression: Compression) -> Option<&'static str> {
    match compression {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_) => None,
        Compression::GZIP(_) => Some("gzip"),
        Compression::LZO => Some("LZO"),
        Compression::BROTLI(_) => Some("Brotli"),
        Compression::LZ4 | Compression::LZ4_RAW => Some("LZ4"),
    }
}

/// Whether the digits of a decimal are no more than its type has.
fn within(unscaled: i128, ty: &SqlType) -> Result<(), TypeError> {
    match ty {
        SqlType::Numeric(Some(spec)) if unscaled.unsigned_abs() >= 10u128.pow(spec.precision.into()) => {
            Err(TypeError::new("22003", "a decimal of Parquet has more digits than its column"))
        }
        _ => Ok(()),
    }
}

/// A number in two's complement, the greatest byte first.
fn decimal(value: &[u8], scale: u8, ty: &SqlType) -> Result<Value, TypeError> {
    let negative = value.first().is_some_and(|byte| byte & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let start = value.iter().position(|byte| *byte != fill).unwrap_or(value.len());
    let significant = &value[start..];
    let mut wide = [fill; 16];
    if significant.len() > 16 || significant.len() == 16 && (significant[0] & 0x80 != 0) != negative {
        return Err(TypeError::new("22003", "a decimal of Parquet has more than 38 digits"));
    }
    wide[16 - significant.len()..].copy_from_slice(significant);
    let unscaled = i128::from_be_bytes(wide);
    within(unscaled, ty)?;
    match Decimal::new(unscaled, scale) {
        Ok(number) => Ok(Value::Numeric(number)),
        // 39 digits
        Err(_) => Number::parse_value(&format!("{unscaled}e-{scale}")),
    }
}
