//! `read_json`: objects one behind the other (a line each, or over several lines), or in one array. Their keys are the columns.

use std::path::PathBuf;
use std::sync::Arc;

use verso_env::Vfs;
use verso_exec::error::{ExecError, Raised, Result};
use verso_exec::files::{FileFormat, FileRequest, FileRows, FileTable, TableReader, within};
use verso_exec::plan::OutputColumn;
use verso_types::json::{self, JsonRef};
use verso_types::wire::utf8;
use verso_types::{Batch, Jsonb, SqlType, TimeStyle, TypeError, Value, parse_text};

use super::pieces::{Pieces, total_bytes};
use super::sniff::Kinds;
use super::{BATCH_ROWS, SAMPLE_BYTES, SAMPLE_ROWS};

/// The format.
pub(super) struct Json;

impl FileFormat for Json {
    fn function(&self) -> &'static str {
        "read_json"
    }

    fn options(&self) -> &'static [(&'static str, SqlType)] {
        &[("sample_rows", SqlType::Int8)]
    }

    fn describe(&self, request: &FileRequest<'_>) -> Result<Arc<FileTable>> {
        let vfs = Arc::clone(&request.vfs);
        let asked = request.options.iter().find(|(name, _)| name == "sample_rows");
        let asked = asked.and_then(|(_, value)| value.as_i64());
        let rows_max = match asked {
            Some(rows) if rows <= 0 => usize::MAX,
            Some(rows) => usize::try_from(rows).unwrap_or(usize::MAX),
            None => SAMPLE_ROWS,
        };
        let bytes_max = if asked.is_some() { usize::MAX } else { SAMPLE_BYTES };
        let mut seen: Vec<(String, Values)> = Vec::new();
        let (mut rows, mut bytes) = (0usize, 0usize);
        for path in &request.files {
            let mut objects = Objects::open(&*vfs, path)?;
            while rows < rows_max && bytes < bytes_max && objects.next()? {
                let text = objects.text()?;
                (rows, bytes) = (rows + 1, bytes + text.len());
                for (key, value) in objects.fields()? {
                    let at = seen.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                        seen.push((key, Values::default()));
                        seen.len() - 1
                    });
                    seen[at].1.add(value)?;
                }
            }
        }
        let total = total_bytes(&*vfs, &request.files)? as f64;
        let estimate = if rows == 0 { 0.0 } else { total / (bytes as f64 / rows as f64) };
        let columns = match &request.columns {
            Some(columns) => columns.clone(),
            None => seen.into_iter().map(|(name, values)| (name, values.ty())).collect(),
        };
        let columns = columns.into_iter().map(|(name, ty)| OutputColumn::new(name.as_str(), ty)).collect();
        let (files, reader) = (request.files.clone(), Box::new(JsonReader));
        Ok(Arc::new(FileTable { function: "read_json", vfs, files, columns, rows: estimate, reader }))
    }
}

/// What the values of a key have been so far.
#[derive(Default)]
struct Values {
    strings: Kinds,
    others: Kinds,
    has_strings: bool,
    has_others: bool,
    has_parts: bool,
}

impl Values {
    fn add(&mut self, text: &str) -> Result<()> {
        match text.as_bytes().first() {
            Some(b'n') | None => {}
            Some(b'{' | b'[') => self.has_parts = true,
            Some(b'"') => {
                self.has_strings = true;
                self.strings.add(&unquoted(text)?);
            }
            Some(_) => {
                self.has_others = true;
                self.others.add(text);
            }
        }
        Ok(())
    }

    /// Numbers and booleans by their kind, strings as dates and timestamps or texts; what is mixed stays jsonb.
    fn ty(&self) -> SqlType {
        match (self.has_strings, self.has_others, self.has_parts) {
            (true, false, false) => match self.strings.ty() {
                ty @ (SqlType::Date | SqlType::Timestamp(_) | SqlType::Timestamptz(_)) => ty,
                _ => SqlType::Text,
            },
            (false, true, false) if self.others.is_typed() => self.others.ty(),
            _ => SqlType::Jsonb,
        }
    }
}

/// The text of a JSON string.
fn unquoted(text: &str) -> Result<String, TypeError> {
    match Jsonb::parse(text)?.root() {
        JsonRef::String(text) => Ok(text.to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Objects of a file, one after the other.
struct Objects {
    pieces: Pieces,
    name: String,
    data: Vec<u8>,
    /// Where the current object begins and ends.
    start: usize,
    end: usize,
    number: u64,
    /// Within the one array that the file is.
    in_array: bool,
    ended: bool,
}

impl Objects {
    fn open(vfs: &dyn Vfs, path: &std::path::Path) -> Result<Objects> {
        let pieces = Pieces::open(vfs, path)?;
        let name = path.display().to_string();
        let (data, start, end) = (Vec::new(), 0, 0);
        Ok(Objects { pieces, name, data, start, end, number: 0, in_array: false, ended: false })
    }

    /// Reads on, with what is before `keep` gone, by which `at` moves; false at the end of the file.
    fn more(&mut self, keep: usize, at: &mut usize) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.data.drain(..keep);
        *at -= keep;
        self.ended = !self.pieces.read(&mut self.data)?;
        Ok(!self.ended)
    }

    fn wrong(&self, detail: &str) -> ExecError {
        let raised = Raised {
            sqlstate: "22P02".into(),
            message: "invalid input syntax for type json".to_owned(),
            detail: Some(detail.to_owned()),
            hint: None,
        };
        within(raised, Some(&self.place()))
    }

    fn place(&self) -> String {
        format!("file {}, object {}", self.name, self.number)
    }

    fn placed(&self, error: TypeError) -> ExecError {
        let raised = Raised {
            sqlstate: error.sqlstate.into(),
            message: error.message.to_string(),
            detail: error.detail.map(|detail| detail.to_string()),
            hint: error.hint.map(|hint| hint.to_string()),
        };
        within(raised, Some(&self.place()))
    }

    /// Goes to the next object; false at the end.
    fn next(&mut self) -> Result<bool> {
        let mut at = self.end;
        loop {
            match self.data.get(at).copied() {
                None if !self.more(at, &mut at)? => {
                    return if self.in_array { Err(self.wrong("The array has no end.")) } else { Ok(false) };
                }
                None => {}
                Some(b'{') => break,
                Some(b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf) => at += 1,
                Some(b',') if self.in_array && self.number > 0 => at += 1,
                Some(b'[') if !self.in_array && self.number == 0 => {
                    self.in_array = true;
                    at += 1;
                }
                Some(b']') if self.in_array => {
                    self.in_array = false;
                    at += 1;
                }
                Some(_) => {
                    self.number += 1;
                    return Err(self.wrong("An object was expected."));
                }
            }
        }
        self.number += 1;
        self.start = at;
        let (mut depth, mut quoted) = (0usize, false);
        loop {
            let Some(byte) = self.data.get(at).copied() else {
                let keep = self.start;
                if !self.more(keep, &mut at)? {
                    return Err(self.wrong("The object has no end."));
                }
                self.start = 0;
                continue;
            };
            match byte {
                // the byte behind it belongs to it
                b'\\' if quoted => at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        self.end = at + 1;
                        return Ok(true);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn text(&self) -> Result<&str> {
        utf8(self.data.get(self.start..self.end).unwrap_or_default()).map_err(|error| self.placed(error))
    }

    fn fields(&self) -> Result<Vec<(String, &str)>> {
        let text = self.text()?;
        let fields = json::fields(text).map_err(|error| self.placed(error))?;
        fields.ok_or_else(|| self.wrong("An object was expected."))
    }
}

/// JSON files: there is nothing to know but their columns.
struct JsonReader;

impl TableReader for JsonReader {
    fn open(&self, table: &FileTable, wanted: &[usize], style: &TimeStyle) -> Result<Box<dyn FileRows>> {
        let column = |at: &usize| {
            let column = &table.columns[*at];
            (column.name.to_string(), column.ty.clone())
        };
        Ok(Box::new(JsonRows {
            vfs: Arc::clone(&table.vfs),
            files: table.files.clone().into_iter(),
            columns: wanted.iter().map(column).collect(),
            style: style.clone(),
            open: None,
        }))
    }
}

/// Rows on their way.
struct JsonRows {
    vfs: Arc<dyn Vfs>,
    files: std::vec::IntoIter<PathBuf>,
    /// Those that are wanted.
    columns: Vec<(String, SqlType)>,
    style: TimeStyle,
    open: Option<Objects>,
}

impl FileRows for JsonRows {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        while out.rows < BATCH_ROWS {
            let Some(objects) = &mut self.open else {
                let Some(path) = self.files.next() else { break };
                self.open = Some(Objects::open(&*self.vfs, &path)?);
                continue;
            };
            if !objects.next()? {
                self.open = None;
                continue;
            }
            let fields = objects.fields()?;
            for (column, (name, ty)) in out.columns.iter_mut().zip(&self.columns) {
                // of equal keys the last one counts, as in jsonb
                let text = fields.iter().rev().find(|(key, _)| key == name).map(|(_, text)| *text);
                let pushed = value(text, ty, &self.style).and_then(|value| column.push_value(&value, ty));
                pushed.map_err(|error| objects.placed(error))?;
            }
            out.rows += 1;
        }
        Ok(out.rows > 0)
    }

    fn pending(&self) -> usize {
        self.open.as_ref().map_or(0, |objects| objects.data.len())
    }
}

/// The value of a column from its text.
fn value(text: Option<&str>, ty: &SqlType, style: &TimeStyle) -> Result<Value, TypeError> {
    match text {
        None | Some("null") => Ok(Value::Null),
        Some(text) if matches!(ty, SqlType::Json | SqlType::Jsonb) => parse_text(ty, text, style),
        Some(text) if text.starts_with('"') => parse_text(ty, &unquoted(text)?, style),
        Some(text) => parse_text(ty, text, style),
    }
}
