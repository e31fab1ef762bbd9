//! `read_csv`: delimiter, header and types are found out from the first rows; then COPY's reader reads the rows.

use std::path::PathBuf;
use std::sync::Arc;

use verso_env::Vfs;
use verso_exec::error::{ExecError, Result};
use verso_exec::files::{FileFormat, FileRequest, FileRows, FileTable, TableReader};
use verso_exec::plan::OutputColumn;
use verso_parser::syntax::{CopyFormat, CopyOptions, Header};
use verso_planner::errors::SqlError;
use verso_types::{Batch, SqlType, TimeStyle, Value};

use super::pieces::{Pieces, total_bytes};
use super::sniff::Kinds;
use super::{BATCH_ROWS, SAMPLE_BYTES, SAMPLE_ROWS, raised};
use crate::copy::layout::Layout;
use crate::copy::reader::{Progress, Reader};
use crate::copy::records::{Fields, Records};

/// What may stand between fields, where nothing is said.
const DELIMITERS: [&str; 4] = [",", ";", "\t", "|"];
/// Rows that a delimiter is chosen by.
const DELIMITER_ROWS: usize = 100;

/// The format.
pub(super) struct Csv;

impl FileFormat for Csv {
    fn function(&self) -> &'static str {
        "read_csv"
    }

    fn options(&self) -> &'static [(&'static str, SqlType)] {
        &[
            ("header", SqlType::Bool),
            ("delimiter", SqlType::Text),
            ("quote", SqlType::Text),
            ("escape", SqlType::Text),
            ("null_text", SqlType::Text),
            ("all_text", SqlType::Bool),
            ("null_padding", SqlType::Bool),
            ("sample_rows", SqlType::Int8),
        ]
    }

    fn describe(&self, request: &FileRequest<'_>) -> Result<Arc<FileTable>> {
        let wanted = Wanted::of(request.options);
        let sample = Sample::of(request, &wanted)?;
        let bytes = total_bytes(&*request.vfs, &request.files)?;
        let rows = match sample.rows.len() {
            0 => 0.0,
            rows => bytes as f64 / (sample.bytes as f64 / rows as f64),
        };
        let (header, columns) = match &request.columns {
            Some(columns) => {
                let header = if wanted.header.unwrap_or_else(|| sample.has_header()) {
                    Header::Present
                } else {
                    Header::None
                };
                (header, columns.clone())
            }
            None => sample.columns(&wanted),
        };
        let layout = Layout { header, ..sample.layout };
        let columns = columns.into_iter().map(|(name, ty)| OutputColumn::new(name.as_str(), ty)).collect();
        let vfs = Arc::clone(&request.vfs);
        let reader = Box::new(CsvReader { layout });
        Ok(Arc::new(FileTable {
            function: "read_csv",
            vfs,
            files: request.files.clone(),
            columns,
            rows,
            reader,
        }))
    }
}

/// The options of a call.
#[derive(Default)]
struct Wanted {
    header: Option<bool>,
    delimiter: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    null: Option<String>,
    all_text: bool,
    /// Fields that a row lacks are NULL.
    pads: bool,
    /// 0 for all.
    sample_rows: Option<usize>,
}

impl Wanted {
    fn of(options: &[(String, Value)]) -> Wanted {
        let mut wanted = Wanted::default();
        for (name, value) in options {
            let text = || value.as_str().map(str::to_owned);
            match name.as_str() {
                "header" => wanted.header = value.as_bool(),
                "delimiter" => wanted.delimiter = text(),
                "quote" => wanted.quote = text(),
                "escape" => wanted.escape = text(),
                "null_text" => wanted.null = text(),
                "all_text" => wanted.all_text = value.as_bool() == Some(true),
                "null_padding" => wanted.pads = value.as_bool() == Some(true),
                "sample_rows" => {
                    wanted.sample_rows = value.as_i64().map(|rows| usize::try_from(rows).unwrap_or(0));
                }
                _ => {}
            }
        }
        wanted
    }

    fn layout(&self, delimiter: Option<&str>) -> Result<Layout> {
        let options = CopyOptions {
            format: CopyFormat::Csv,
            delimiter: self.delimiter.clone().or(delimiter.map(str::to_owned)),
            quote: self.quote.clone(),
            escape: self.escape.clone(),
            null: self.null.clone(),
            ..CopyOptions::default()
        };
        Layout::of(&options, &[], true).map_err(raised)
    }
}

/// The first rows of the first file: each field, or none where it is NULL.
struct Sample {
    layout: Layout,
    rows: Vec<Vec<Option<String>>>,
    bytes: usize,
    /// How many fields a row has.
    width: usize,
}

/// A line without anything.
fn is_blank(row: &[Option<String>]) -> bool {
    matches!(row, [None]) || matches!(row, [Some(text)] if text.is_empty())
}

/// How many columns rows have that a delimiter makes: as many as the first one has fields, if most others have so many or each
/// has several; those that differ are refused when they are read. 0 where the rows have nothing in common.
fn width_of(rows: &[Vec<Option<String>>], pads: bool) -> usize {
    let mut lengths = rows.iter().filter(|row| !is_blank(row)).map(Vec::len);
    let Some(first) = lengths.next() else { return usize::from(!rows.is_empty()) };
    let others: Vec<usize> = lengths.collect();
    if first == 1 {
        let is_even = others.iter().all(|length| *length == 1);
        return usize::from(is_even);
    }
    let same = others.iter().filter(|length| **length == first).count();
    let is_row = |length: &usize| *length > 1;
    match 2 * same >= others.len() || others.iter().all(is_row) {
        true if pads => others.iter().copied().fold(first, usize::max),
        true => first,
        false => 0,
    }
}

/// How many columns rows have whose lengths have nothing in common, but of which the first one and most others have a delimiter. They
/// are refused when they are read, which says more than one column of whole lines would.
fn ragged_width(rows: &[Vec<Option<String>>]) -> Option<usize> {
    let mut lengths = rows.iter().filter(|row| !is_blank(row)).map(Vec::len);
    let first = lengths.next().filter(|first| *first > 1)?;
    let others: Vec<usize> = lengths.collect();
    (2 * others.iter().filter(|length| **length > 1).count() > others.len()).then_some(first)
}

impl Sample {
    fn of(request: &FileRequest<'_>, wanted: &Wanted) -> Result<Sample> {
        let rows_max = match wanted.sample_rows {
            Some(0) => usize::MAX,
            Some(rows) => rows,
            None => SAMPLE_ROWS,
        };
        let bytes_max = if wanted.sample_rows.is_some() { usize::MAX } else { SAMPLE_BYTES };
        let Some(path) = request.files.first() else { return Err(ExecError::raised("22023", "no files")) };
        let mut data = Vec::new();
        let mut file = Pieces::open(&*request.vfs, path)?;
        let mut whole = false;
        // a row has at least a line
        while data.len() < bytes_max && data.iter().filter(|byte| **byte == b'\n').count() <= rows_max {
            if !file.read(&mut data)? {
                whole = true;
                break;
            }
        }
        let delimiters: &[&str] = if wanted.delimiter.is_some() { &DELIMITERS[..1] } else { &DELIMITERS };
        let mut best: Option<(usize, Layout)> = None;
        let mut ragged = None;
        for delimiter in delimiters {
            let layout = wanted.layout(Some(*delimiter))?;
            let found =
                rows(&data, whole, &layout, DELIMITER_ROWS).map_or_else(|_| Vec::new(), |(rows, _)| rows);
            let fit = width_of(&found, wanted.pads);
            if let (None, 0, Some(width)) = (&ragged, fit, ragged_width(&found)) {
                ragged = Some((width, layout.clone()));
            }
            if best.as_ref().is_none_or(|(most, _)| fit > *most) {
                best = Some((fit, layout));
            }
        }
        if best.as_ref().is_none_or(|(most, _)| *most <= 1) {
            best = ragged.or(best);
        }
        let Some((width, layout)) = best else { return Err(ExecError::raised("XX000", "no delimiter")) };
        let (mut rows, bytes) = rows(&data, whole, &layout, rows_max).map_err(|(error, line)| {
            raised(error.with_context(&format!("file {}, line {line}", path.display())))
        })?;
        // A row of one column may be empty; of several none is.
        let skips_blank = width > 1;
        if skips_blank {
            rows.retain(|row| !is_blank(row));
        }
        let layout = Layout { skips_blank, pads: wanted.pads, ..layout };
        Ok(Sample { layout, rows, bytes, width })
    }

    fn kinds(&self, from: usize, width: usize) -> Vec<Kinds> {
        let mut kinds = vec![Kinds::default(); width];
        for row in self.rows.iter().skip(from) {
            for (kind, field) in kinds.iter_mut().zip(row) {
                if let Some(text) = field {
                    kind.add(text);
                }
            }
        }
        kinds
    }

    /// Whether the first row looks like names: texts that differ, none of which is a number, a date or a boolean.
    fn has_header(&self) -> bool {
        let Some(first) = self.rows.first() else { return false };
        let names: Vec<&str> = first.iter().flatten().map(String::as_str).collect();
        let distinct = (1..names.len()).all(|at| !names[..at].contains(&names[at]));
        let texts = names.iter().all(|name| {
            let mut kind = Kinds::default();
            kind.add(name);
            !kind.is_typed() && !name.trim().is_empty()
        });
        names.len() == first.len() && distinct && texts
    }

    fn columns(&self, wanted: &Wanted) -> (Header, Vec<(String, SqlType)>) {
        let width = match self.rows.first() {
            None => 0,
            Some(first) => self.width.max(first.len()),
        };
        let header = wanted.header.unwrap_or_else(|| self.has_header());
        let types: Vec<SqlType> = match wanted.all_text {
            true => vec![SqlType::Text; width],
            false => self.kinds(usize::from(header), width).iter().map(Kinds::ty).collect(),
        };
        let usual = |at: usize| format!("column{}", at + 1);
        let mut names: Vec<String> = Vec::with_capacity(width);
        let mut as_written = true;
        for at in 0..width {
            let written = self.rows[0].get(at).and_then(Option::as_deref).filter(|_| header);
            let base = written.map_or_else(|| usual(at), str::to_owned);
            let mut name = base.clone();
            let mut number = 1;
            while names.contains(&name) {
                number += 1;
                name = format!("{base}_{number}");
            }
            as_written &= written == Some(name.as_str());
            names.push(name);
        }
        let header = match (header, as_written) {
            (false, _) => Header::None,
            // so that other files have the same columns
            (true, true) => Header::Match,
            (true, false) => Header::Present,
        };
        (header, names.into_iter().zip(types).collect())
    }
}

/// Rows of fields, and how many bytes they take; a last row that is cut is left out. Errors come with their line.
type Rows = (Vec<Vec<Option<String>>>, usize);

fn rows(
    data: &[u8],
    whole: bool,
    layout: &Layout,
    rows_max: usize,
) -> std::result::Result<Rows, (SqlError, u64)> {
    let mut records = Records::default();
    records.more().extend_from_slice(data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data));
    if whole {
        records.end();
    }
    let (mut fields, mut rows, mut bytes) = (Fields::default(), Vec::new(), 0);
    while rows.len() < rows_max {
        // A quote that is never closed is looked for where its row begins.
        let line = records.line + 1;
        let Some(record) = records.next(layout).map_err(|error| (error, line))? else { break };
        bytes += record.len() + 1;
        fields.split(records.bytes(&record), layout).map_err(|error| (error, line))?;
        let field = |at: usize| {
            let (field, text) = fields.get(at);
            (!field.null).then(|| String::from_utf8_lossy(text).into_owned())
        };
        rows.push((0..fields.len()).map(field).collect());
    }
    Ok((rows, bytes))
}

/// CSV files of a layout.
struct CsvReader {
    layout: Layout,
}

impl TableReader for CsvReader {
    fn open(&self, table: &FileTable, wanted: &[usize], style: &TimeStyle) -> Result<Box<dyn FileRows>> {
        let columns: Vec<(String, SqlType)> =
            table.columns.iter().map(|column| (column.name.to_string(), column.ty.clone())).collect();
        let options = |count: usize| vec![false; count];
        let layout = Layout {
            force_quote: options(columns.len()),
            force_not_null: options(columns.len()),
            force_null: options(columns.len()),
            ..self.layout.clone()
        };
        Ok(Box::new(CsvRows {
            vfs: Arc::clone(&table.vfs),
            files: table.files.clone().into_iter(),
            layout,
            columns,
            wanted: wanted.to_vec(),
            style: style.clone(),
            open: None,
        }))
    }
}

/// Rows on their way.
struct CsvRows {
    vfs: Arc<dyn Vfs>,
    files: std::vec::IntoIter<PathBuf>,
    layout: Layout,
    columns: Vec<(String, SqlType)>,
    wanted: Vec<usize>,
    style: TimeStyle,
    open: Option<Open>,
}

struct Open {
    reader: Reader,
    file: Pieces,
    begun: bool,
    at_end: bool,
}

impl FileRows for CsvRows {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        while out.rows < BATCH_ROWS {
            let Some(open) = &mut self.open else {
                // rows of one file are a batch, so that errors know their lines
                if out.rows > 0 {
                    break;
                }
                let Some(path) = self.files.next() else { return Ok(false) };
                let file = Pieces::open(&*self.vfs, &path)?;
                let subject = format!("file {}", path.display());
                let reader = Reader::new(self.layout.clone(), &subject, &self.columns, self.style.clone())
                    .only(&self.wanted);
                self.open = Some(Open { reader, file, begun: false, at_end: false });
                continue;
            };
            if open.reader.read(out, BATCH_ROWS, open.at_end).map_err(raised)? == Progress::Done {
                self.open = None;
                continue;
            }
            if out.rows < BATCH_ROWS {
                let into = open.reader.more();
                let before = into.len();
                if !open.file.read(into)? {
                    open.at_end = true;
                    open.reader.end();
                } else if !std::mem::replace(&mut open.begun, true)
                    && into[before..].starts_with(b"\xef\xbb\xbf")
                {
                    into.drain(before..before + 3);
                }
            }
        }
        Ok(out.rows > 0)
    }

    fn pending(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.reader.pending())
    }
}
