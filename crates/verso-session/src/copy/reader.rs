//! The data of a COPY to rows.

use verso_types::encoding::has_text;
use verso_types::wire::utf8;
use verso_types::{Batch, Column, ColumnData, SqlType, TimeStyle, Value, parse_binary, parse_text};

use super::SIGNATURE;
use verso_parser::syntax::{CopyFormat, Header, LogVerbosity, OnError};

use super::layout::Layout;
use super::records::{Fields, Records, SHOWN_MAX, bad, shown};
use verso_planner::errors::SqlError;

/// Reads the data of COPY FROM.
#[derive(Debug)]
pub struct Reader {
    layout: Layout,
    /// What errors say is read.
    subject: String,
    names: Vec<String>,
    types: Vec<SqlType>,
    /// Where the values of each column of text go in a batch; none of those that nobody wants.
    places: Vec<Option<usize>>,
    /// Which columns have a default, where the data may ask for it: a flag for each column stands behind its values.
    defaults: Vec<bool>,
    time_zone: TimeStyle,
    records: Records,
    fields: Fields,
    /// The header was read.
    begun: bool,
    /// The data said that they end.
    ended: bool,
    /// Rows left out because of values that cannot be read.
    skipped: u64,
    /// What there is to say of them.
    messages: Vec<String>,
    /// The rows of the batch that is made.
    origins: Origins,
}

/// Where the rows of a batch come from.
#[derive(Debug, Default)]
struct Origins {
    /// The line of each row, and where its text ends.
    lines: Vec<(u64, usize)>,
    /// The texts, of each what an error shows.
    texts: Vec<u8>,
}

impl Origins {
    fn clear(&mut self) {
        self.lines.clear();
        self.texts.clear();
    }

    fn push(&mut self, line: u64, text: &[u8]) {
        // One byte more says that there was more.
        self.texts.extend_from_slice(&text[..text.len().min(SHOWN_MAX + 1)]);
        self.lines.push((line, self.texts.len()));
    }

    fn get(&self, row: usize) -> Option<(u64, &[u8])> {
        let (line, end) = *self.lines.get(row)?;
        let start = row.checked_sub(1).and_then(|before| self.lines.get(before)).map_or(0, |(_, end)| *end);
        Some((line, self.texts.get(start..end)?))
    }
}

/// How far reading came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The batch is full, or more data are needed first.
    More,
    /// All rows were read.
    Done,
}

impl Reader {
    /// For rows of these columns; `subject` is what errors say is read.
    pub fn new(layout: Layout, subject: &str, columns: &[(String, SqlType)], time_zone: TimeStyle) -> Reader {
        Reader {
            layout,
            subject: subject.to_owned(),
            names: columns.iter().map(|(name, _)| name.clone()).collect(),
            types: columns.iter().map(|(_, ty)| ty.clone()).collect(),
            places: (0..columns.len()).map(Some).collect(),
            defaults: Vec::new(),
            time_zone,
            records: Records::default(),
            fields: Fields::default(),
            begun: false,
            ended: false,
            skipped: 0,
            messages: Vec::new(),
            origins: Origins::default(),
        }
    }

    /// Batches have these columns only, in this order; the text of others is not looked at.
    #[must_use]
    pub fn only(self, wanted: &[usize]) -> Reader {
        let place = |column| wanted.iter().position(|wanted| *wanted == column);
        Reader { places: (0..self.types.len()).map(place).collect(), ..self }
    }

    /// The data may ask for the defaults of those columns that have one.
    #[must_use]
    pub fn with_defaults(self, defaults: Vec<bool>) -> Reader {
        Reader { defaults, ..self }
    }

    /// Where the next piece of data is to be appended.
    pub fn more(&mut self) -> &mut Vec<u8> {
        self.records.more()
    }

    /// Bytes of which no row was made yet.
    pub fn pending(&self) -> usize {
        self.records.rest().len()
    }

    /// No more data come.
    pub fn end(&mut self) {
        self.records.end();
    }

    /// What there is to say of rows that were left out; at the end of a COPY that succeeded how many there were.
    pub fn messages(&mut self, succeeded: bool) -> Vec<String> {
        let mut messages = std::mem::take(&mut self.messages);
        if succeeded && self.skipped > 0 && self.layout.log_verbosity != LogVerbosity::Silent {
            let rows = if self.skipped == 1 { "row was" } else { "rows were" };
            messages.push(format!("{} {rows} skipped due to data type incompatibility", self.skipped));
        }
        messages
    }

    /// Leaves out a row whose column has a value that cannot be read.
    fn skip(&mut self, column: usize, shown: &str) -> Result<(), SqlError> {
        self.skipped += 1;
        let line = self.records.line;
        if self.layout.log_verbosity == LogVerbosity::Verbose {
            let name = &self.names[column];
            self.messages.push(format!(
                "skipping row due to data type incompatibility at line {line} for column \"{name}\": \"{shown}\""
            ));
        }
        if self.skipped > self.layout.reject_limit {
            let limit = self.layout.reject_limit;
            let text =
                format!("skipped more than REJECT_LIMIT ({limit}) rows due to data type incompatibility");
            return Err(SqlError::new("22P02", text));
        }
        Ok(())
    }

    /// The context of an error of what becomes of the rows; of this row of the batch, if it is known.
    pub fn context(&self, row: Option<usize>) -> String {
        let subject = &self.subject;
        match row.and_then(|row| self.origins.get(row)) {
            None => subject.clone(),
            Some((line, _)) if self.layout.format == CopyFormat::Binary => {
                format!("{subject}, line {line}")
            }
            Some((line, text)) => format!("{subject}, line {line}: \"{}\"", shown(text)),
        }
    }

    /// Adds rows to the batch, up to `rows_max`; `at_end` says that no more data come.
    ///
    /// # Errors
    /// 22P04 and those of values, with the line and the column as context.
    pub fn read(&mut self, batch: &mut Batch, rows_max: usize, at_end: bool) -> Result<Progress, SqlError> {
        if batch.rows == 0 {
            self.origins.clear();
        }
        while batch.rows < rows_max && !self.ended {
            let read = match self.layout.format {
                CopyFormat::Binary => {
                    self.records.line += 1;
                    let read = self.binary_row(batch);
                    self.records.line -= u64::from(matches!(read, Ok(false)));
                    read
                }
                _ => self.text_row(batch),
            };
            let context = || {
                let (subject, line) = (&self.subject, self.records.line);
                match (self.layout.format, self.records.last()) {
                    (CopyFormat::Binary, _) | (_, []) => format!("{subject}, line {line}"),
                    (_, text) => format!("{subject}, line {line}: \"{}\"", shown(text)),
                }
            };
            let read = read.map_err(|error| match &error.context {
                Some(_) => error,
                None => error.with_context(&context()),
            })?;
            if !read {
                // Data without any line have no names either.
                if at_end && !self.begun && self.layout.header == Header::Match {
                    self.fields.split(b"", &self.layout)?;
                    self.check_header().map_err(|error| error.with_context(&context()))?;
                }
                let cut = !self.begun || !self.records.rest().is_empty();
                // Data that end between two rows need no trailer.
                if at_end && !self.ended && self.layout.format == CopyFormat::Binary && cut {
                    return Err(bad("unexpected EOF in COPY data").with_context(&context()));
                }
                return Ok(if at_end || self.ended { Progress::Done } else { Progress::More });
            }
        }
        Ok(if self.ended { Progress::Done } else { Progress::More })
    }

    // ── text and CSV ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Reads a row; false if there is none yet.
    fn text_row(&mut self, batch: &mut Batch) -> Result<bool, SqlError> {
        let Some(record) = self.records.next(&self.layout)? else { return Ok(false) };
        let bytes = self.records.bytes(&record);
        let header = !std::mem::replace(&mut self.begun, true) && self.layout.header != Header::None;
        // In CSV it is a value like any other.
        if bytes == b"\\." && !header && self.layout.format == CopyFormat::Text {
            self.ended = true;
            return Ok(false);
        }
        if self.layout.skips_blank && bytes.is_empty() {
            self.begun &= !header;
            return Ok(true);
        }
        if header {
            utf8(bytes)?;
            if self.layout.header == Header::Match {
                self.fields.split(bytes, &self.layout)?;
                self.check_header()?;
            }
            return Ok(true);
        }
        self.fields.split(bytes, &self.layout)?;
        // A table without columns has empty lines as rows.
        let none = self.types.is_empty() && bytes.is_empty();
        if self.fields.len() > self.types.len() && !none {
            return Err(bad("extra data after last expected column"));
        }
        for i in 0..self.types.len() {
            if i >= self.fields.len() && self.layout.pads {
                if let Some(place) = self.places[i] {
                    batch.columns[place].push_null();
                }
                continue;
            }
            if i >= self.fields.len() {
                batch.truncate(batch.rows);
                return Err(bad(format!("missing data for column \"{}\"", self.names[i])));
            }
            let Some(place) = self.places[i] else { continue };
            let (field, text) = self.fields.get(i);
            if let Some(has_default) = self.defaults.get(i) {
                if field.default && !has_default {
                    let detail = format!("Column \"{}\" has no default value.", self.names[i]);
                    return Err(bad("unexpected default marker in COPY data").with_detail(detail));
                }
                let flags = &mut batch.columns[self.types.len() + i];
                flags.push_value(&Value::Bool(field.default), &SqlType::Bool)?;
            }
            let null = (field.null && !self.layout.force_not_null[i])
                || (field.quoted_null && self.layout.force_null[i])
                || field.default;
            let pushed = match null {
                true => {
                    batch.columns[place].push_null();
                    Ok(())
                }
                false => push_text(&mut batch.columns[place], &self.types[i], text, &self.time_zone),
            };
            if let Err(error) = pushed {
                batch.truncate(batch.rows);
                let shown = shown(text);
                let (subject, line) = (&self.subject, self.records.line);
                let context = format!("{subject}, line {line}, column {}: \"{shown}\"", self.names[i]);
                // Bytes that are no text are no values of any type.
                let skips = self.layout.on_error == OnError::Ignore && error.sqlstate != "22021";
                let failed = if skips { self.skip(i, &shown) } else { Err(error) };
                return failed.map(|()| true).map_err(|error| error.with_context(&context));
            }
        }
        batch.rows += 1;
        self.origins.push(self.records.line, self.records.last());
        Ok(true)
    }

    fn check_header(&self) -> Result<(), SqlError> {
        if self.layout.header != Header::Match {
            return Ok(());
        }
        if self.fields.len() != self.names.len() {
            let text = format!(
                "wrong number of fields in header line: got {}, expected {}",
                self.fields.len(),
                self.names.len()
            );
            return Err(bad(text));
        }
        for (i, name) in self.names.iter().enumerate() {
            let (_, text) = self.fields.get(i);
            if text != name.as_bytes() {
                let got = String::from_utf8_lossy(text);
                let text = format!(
                    "column name mismatch in header line field {}: got \"{got}\", expected \"{name}\"",
                    i + 1
                );
                return Err(bad(text));
            }
        }
        Ok(())
    }

    // ── binary ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Reads a row; false if not all of it is here.
    fn binary_row(&mut self, batch: &mut Batch) -> Result<bool, SqlError> {
        if !self.begun {
            let rest = self.records.rest();
            if rest.len() < SIGNATURE.len() + 8 {
                return Ok(false);
            }
            let (signature, rest) = rest.split_at(SIGNATURE.len());
            if signature != SIGNATURE {
                return Err(bad("COPY file signature not recognized"));
            }
            let number = |at: usize| u32::from_be_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
            if number(0) != 0 {
                return Err(bad("unrecognized critical flags in COPY file header"));
            }
            let extension = number(4) as usize;
            if extension > 1 << 20 {
                return Err(bad("invalid COPY file header (wrong length)"));
            }
            if rest.len() < 8 + extension {
                return Ok(false);
            }
            self.records.skip(SIGNATURE.len() + 8 + extension);
            self.begun = true;
        }
        let rest = self.records.rest();
        let Some((count, mut fields)) = rest.split_at_checked(2) else { return Ok(false) };
        let count = i16::from_be_bytes([count[0], count[1]]);
        if count == -1 {
            if fields.is_empty() {
                self.ended = true;
                return Ok(false);
            }
            return Err(bad("received copy data after EOF marker"));
        }
        if usize::try_from(count) != Ok(self.types.len()) {
            let text = format!("row field count is {count}, expected {}", self.types.len());
            return Err(bad(text));
        }
        // All of the row must be here before any of it is used.
        let mut values = Vec::with_capacity(self.types.len());
        for _ in 0..self.types.len() {
            let Some((length, behind)) = fields.split_at_checked(4) else { return Ok(false) };
            let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
            fields = behind;
            if length == -1 {
                values.push(None);
                continue;
            }
            let Ok(length) = usize::try_from(length) else { return Err(bad("invalid field size")) };
            let Some((value, behind)) = fields.split_at_checked(length) else { return Ok(false) };
            fields = behind;
            values.push(Some(value));
        }
        let used = rest.len() - fields.len();
        let encoding = self.time_zone.encoding;
        for (i, value) in values.into_iter().enumerate() {
            let ty = &self.types[i];
            let value = match value {
                None => Ok(Value::Null),
                Some(bytes) if encoding.converts() && has_text(ty) => {
                    encoding.decode(bytes).and_then(|text| parse_binary(ty, text.as_bytes()))
                }
                Some(bytes) => parse_binary(ty, bytes),
            };
            let pushed = value.and_then(|value| batch.columns[i].push_value(&value, ty));
            if let Err(error) = pushed {
                batch.truncate(batch.rows);
                let (subject, line) = (&self.subject, self.records.line);
                let context = format!("{subject}, line {line}, column {}", self.names[i]);
                return Err(SqlError::from(error).with_context(&context));
            }
        }
        batch.rows += 1;
        self.origins.push(self.records.line, &[]);
        self.records.skip(used);
        Ok(true)
    }
}

/// Reads a value and appends it.
fn push_text(column: &mut Column, ty: &SqlType, bytes: &[u8], time_zone: &TimeStyle) -> Result<(), SqlError> {
    let text = utf8(bytes)?;
    match (&mut column.data, ty) {
        (ColumnData::Bytes(data), SqlType::Text | SqlType::Varchar(None)) => data.push(bytes),
        (ColumnData::I32(data), SqlType::Int4) => {
            data.push(verso_types::text::parse_integer(text, "integer")?);
        }
        _ => column.push_value(&parse_text(ty, text, time_zone)?, ty)?,
    }
    Ok(())
}
