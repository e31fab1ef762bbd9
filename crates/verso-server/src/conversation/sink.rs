//! Results on their way to the client.

use std::io::Write;

use verso_session::errors::sqlstate;
use verso_session::{CommandTag, CopyLayout, Notice, OutputColumn, SqlError, StatementSink};
use verso_types::encoding::has_text;
use verso_types::{Batch, TimeStyle};

use super::wire::Wire;
use crate::protocol::backend::{Output, Severity};
use crate::protocol::frontend::{Format, Message};

/// Bytes of results kept back before they are sent.
const SEND_BYTES: usize = 64 << 10;

/// Formats of the columns of a result, as Bind asked for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResultFormats {
    /// All as text.
    #[default]
    Text,
    /// All in binary.
    Binary,
    /// Each as it is said.
    Each(Box<[Format]>),
}

impl ResultFormats {
    /// The format of column `i`.
    pub fn of(&self, i: usize) -> Format {
        match self {
            ResultFormats::Text => Format::Text,
            ResultFormats::Binary => Format::Binary,
            ResultFormats::Each(formats) => formats.get(i).copied().unwrap_or(Format::Text),
        }
    }
}

/// Takes a session's results and sends them.
pub struct WireSink<'c> {
    wire: &'c mut Wire,
    formats: &'c ResultFormats,
    time_zone: TimeStyle,
    /// Simple protocol: columns are described, and each statement's end is said, as it comes.
    simple: bool,
    copies: bool,
    /// The rows to come are a binary cursor's.
    binary: bool,
    /// Statements that ended.
    pub completed: usize,
}

impl<'c> WireSink<'c> {
    /// For the simple protocol.
    pub fn simple(wire: &'c mut Wire, time_zone: TimeStyle) -> WireSink<'c> {
        WireSink::new(wire, &ResultFormats::Text, time_zone, true)
    }

    /// For a portal.
    pub fn portal(wire: &'c mut Wire, formats: &'c ResultFormats, time_zone: TimeStyle) -> WireSink<'c> {
        WireSink::new(wire, formats, time_zone, false)
    }

    fn new(
        wire: &'c mut Wire,
        formats: &'c ResultFormats,
        time_zone: TimeStyle,
        simple: bool,
    ) -> WireSink<'c> {
        wire.output.encoding = time_zone.encoding;
        WireSink { wire, formats, time_zone, simple, copies: false, binary: false, completed: 0 }
    }

    fn formats(&self) -> &'c ResultFormats {
        if self.binary { &ResultFormats::Binary } else { self.formats }
    }

    fn rows(&mut self, batch: &Batch) -> Result<(), SqlError> {
        let (formats, time_zone) = (self.formats(), &self.time_zone);
        let any_long = batch.variable_bytes() > SEND_BYTES;
        for row in 0..batch.rows {
            let long = if any_long { batch.variable_bytes_at(row) } else { 0 };
            if long > SEND_BYTES {
                // Before it is put together: no more than what it holds already is needed to say no.
                check_row(long)?;
                // A bytea takes two characters a byte.
                self.wire.hold(2 * long)?;
            }
            let Wire { output, types, .. } = &mut *self.wire;
            let count = (types.len() as u16).to_be_bytes();
            let before = output.len();
            output.message(b'D', |out| {
                out.extend_from_slice(&count);
                for (i, (column, ty)) in batch.columns.iter().zip(&*types).enumerate() {
                    match formats.of(i) {
                        Format::Text => column.put_text(row, ty, time_zone, out),
                        Format::Binary => column.put_binary(row, ty, out),
                    }
                }
            });
            if time_zone.encoding.converts() {
                let is_text = |i: usize| formats.of(i) == Format::Text || types.get(i).is_some_and(has_text);
                if let Err(error) = output.convert_row(before, is_text) {
                    self.wire.hold(0)?;
                    return Err(error.into());
                }
            }
            if long > SEND_BYTES
                && let Err(error) = check_row(output.len() - before)
            {
                output.truncate(before);
                self.wire.hold(0)?;
                return Err(error);
            }
            if self.wire.output.len() >= SEND_BYTES {
                self.wire.send()?;
            }
            if long > SEND_BYTES {
                self.wire.hold(0)?;
            }
        }
        Ok(())
    }
}

/// The longest row that is sent.
const ROW_BYTES_MAX: usize = (1 << 30) - 1;

/// A message of so many bytes can be sent.
///
/// # Errors
/// 54000, as PostgreSQL words it.
fn check_row(bytes: usize) -> Result<(), SqlError> {
    if bytes <= ROW_BYTES_MAX {
        return Ok(());
    }
    let text = format!("string buffer exceeds maximum allowed length ({ROW_BYTES_MAX} bytes)");
    Err(SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text))
}

impl StatementSink for WireSink<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.wire.types.clear();
        self.wire.types.extend(columns.iter().map(|column| column.ty.clone()));
        if self.simple {
            let formats = self.formats();
            self.wire.output.row_description(columns, |i| formats.of(i));
        }
        Ok(())
    }

    fn binary(&mut self) {
        self.binary = self.simple; // a portal's Bind says which formats it wants
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.rows(batch)
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.completed += 1;
        self.binary = false;
        if self.simple {
            self.wire.output.command_complete(&tag.text);
        }
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.wire.output.notice(notice);
        Ok(())
    }

    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.wire.output.notice(notice);
        self.wire.send()
    }

    fn time_zone(&mut self, time_zone: &TimeStyle) {
        self.wire.output.encoding = time_zone.encoding;
        self.time_zone = time_zone.clone();
    }

    fn copy_out(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.copies = true;
        self.wire.output.copy_response(false, layout.binary, layout.columns);
        Ok(())
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), SqlError> {
        check_row(data.len())?;
        self.wire.output.copy_data(data);
        if self.wire.output.len() >= SEND_BYTES { self.wire.send() } else { Ok(()) }
    }

    fn copy_done(&mut self) -> Result<(), SqlError> {
        self.wire.output.copy_done();
        Ok(())
    }

    fn copy_in(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.wire.output.copy_response(true, layout.binary, layout.columns);
        self.wire.send()
    }

    fn copy_read(&mut self, into: &mut Vec<u8>) -> Result<bool, SqlError> {
        loop {
            let frame = self.wire.wait_frame()?;
            let message = Message::parse(frame.kind, self.wire.input.body(&frame));
            match message.map_err(super::wire::malformed)? {
                Message::CopyData(data) => {
                    into.extend_from_slice(data);
                    return Ok(true);
                }
                Message::CopyDone => return Ok(false),
                Message::CopyFail(reason) => {
                    let text = format!("COPY from stdin failed: {reason}");
                    return Err(SqlError::new(sqlstate::QUERY_CANCELED, text));
                }
                Message::Flush | Message::Sync => {} // to be ignored, says the protocol
                _ => {
                    let kind = frame.kind;
                    let text = format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    // The client is out of step for good: it hears why, and that this is the end.
                    self.wire
                        .output
                        .error(Severity::Error, &SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
                    self.wire.broken = true;
                    let end = "terminating connection because protocol synchronization was lost";
                    return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, end));
                }
            }
        }
    }
}

impl std::fmt::Debug for WireSink<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("WireSink").field("completed", &self.completed).finish_non_exhaustive()
    }
}

/// Sends all that is in `output`.
pub fn write_all(output: &mut Output, stream: &mut impl Write, keep: usize) -> std::io::Result<()> {
    let sent = stream.write_all(output.bytes()).and_then(|()| stream.flush());
    output.clear(keep);
    sent
}
