//! Rows to the data of a COPY.

use verso_types::{Batch, SqlType, TimeStyle};

use super::SIGNATURE;
use verso_parser::syntax::{CopyFormat, Header};

use super::layout::Layout;

/// Makes the data of COPY TO.
#[derive(Debug)]
pub struct Writer<'l> {
    layout: &'l Layout,
    types: &'l [SqlType],
    time_zone: &'l TimeStyle,
    value: Vec<u8>,
}

impl<'l> Writer<'l> {
    /// For rows of these types.
    pub fn new(layout: &'l Layout, types: &'l [SqlType], time_zone: &'l TimeStyle) -> Writer<'l> {
        Writer { layout, types, time_zone, value: Vec::new() }
    }

    /// Whether the data are binary.
    pub fn is_binary(&self) -> bool {
        self.layout.format == CopyFormat::Binary
    }

    /// What comes before the rows; may be nothing.
    pub fn begin(&mut self, names: &[&str], out: &mut Vec<u8>) {
        match self.layout.format {
            CopyFormat::Binary => {
                out.extend_from_slice(SIGNATURE);
                out.extend_from_slice(&[0; 8]); // flags, length of the extension
            }
            format if self.layout.header != Header::None => {
                for (i, name) in names.iter().enumerate() {
                    if i > 0 {
                        out.push(self.layout.delimiter);
                    }
                    match format {
                        CopyFormat::Csv => self.put_csv(name.as_bytes(), false, names.len() == 1, out),
                        _ => self.put_text(name.as_bytes(), out),
                    }
                }
                out.push(b'\n');
            }
            _ => {}
        }
    }

    /// One row.
    pub fn row(&mut self, batch: &Batch, row: usize, out: &mut Vec<u8>) {
        if self.layout.format == CopyFormat::Binary {
            out.extend_from_slice(&(self.types.len() as u16).to_be_bytes());
            for (column, ty) in batch.columns.iter().zip(self.types) {
                column.put_binary(row, ty, out);
            }
            return;
        }
        let mut value = std::mem::take(&mut self.value);
        for (i, (column, ty)) in batch.columns.iter().zip(self.types).enumerate() {
            if i > 0 {
                out.push(self.layout.delimiter);
            }
            if column.is_null(row) {
                out.extend_from_slice(&self.layout.null);
                continue;
            }
            value.clear();
            column.append_text(row, ty, self.time_zone, &mut value);
            match self.layout.format {
                CopyFormat::Csv => {
                    self.put_csv(&value, self.layout.force_quote[i], self.types.len() == 1, out);
                }
                _ => self.put_text(&value, out),
            }
        }
        self.value = value;
        out.push(b'\n');
    }

    /// What comes behind the rows; may be nothing.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.layout.format == CopyFormat::Binary {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }

    fn put_text(&self, value: &[u8], out: &mut Vec<u8>) {
        for &byte in value {
            let letter = match byte {
                8 => b'b',
                12 => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                11 => b'v',
                b'\\' => b'\\',
                byte if byte == self.layout.delimiter => byte,
                byte => {
                    out.push(byte);
                    continue;
                }
            };
            out.extend_from_slice(&[b'\\', letter]);
        }
    }

    fn put_csv(&self, value: &[u8], force: bool, alone: bool, out: &mut Vec<u8>) {
        let Layout { delimiter, null, quote, escape, .. } = self.layout;
        let special = |byte: &u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        // A single \. would be taken for the end of the data.
        let needed = force || value == &null[..] || value.iter().any(special) || (alone && value == b"\\.");
        if !needed {
            return out.extend_from_slice(value);
        }
        out.push(*quote);
        for byte in value {
            if byte == quote || byte == escape {
                out.push(*escape);
            }
            out.push(*byte);
        }
        out.push(*quote);
    }
}
