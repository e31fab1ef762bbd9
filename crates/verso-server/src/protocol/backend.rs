//! What the server sends: messages appended to a buffer that one write takes away.

use verso_session::{Notice, Notification, OutputColumn, SqlError};
use verso_types::{Encoding, TypeError};

use super::frontend::Format;

/// Messages on their way out.
#[derive(Debug)]
pub struct Output {
    bytes: Vec<u8>,
    /// That of the texts in them.
    pub encoding: Encoding,
}

impl Default for Output {
    fn default() -> Output {
        Output { bytes: Vec::new(), encoding: Encoding::UTF8 }
    }
}

/// How a session stands, as ReadyForQuery says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// No transaction block.
    Idle,
    /// In a transaction block.
    Transaction,
    /// In one that failed.
    Failed,
}

/// Who an error is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement.
    Error,
    /// The connection.
    Fatal,
}

impl Severity {
    fn text(self) -> &'static str {
        match self {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        }
    }
}

impl Output {
    /// The bytes not yet sent.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes are not yet sent.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether everything was sent.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Everything was sent; a large buffer is given back.
    pub fn clear(&mut self, keep: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep);
    }

    /// Forgets what was appended behind `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// A message of type `kind` whose body `write` appends.
    pub fn message(&mut self, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(kind);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - at).unwrap_or(u32::MAX);
        self.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    fn empty(&mut self, kind: u8) {
        self.bytes.extend_from_slice(&[kind, 0, 0, 0, 4]);
    }

    /// One byte that is no message: the answer to a request for encryption.
    pub fn raw(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    // ── start ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// R: the client is who it says.
    pub fn authentication_ok(&mut self) {
        self.message(b'R', |out| out.extend_from_slice(&0u32.to_be_bytes()));
    }

    /// R: prove it, by one of these mechanisms.
    pub fn authentication_sasl(&mut self, mechanisms: &[&str]) {
        self.message(b'R', |out| {
            out.extend_from_slice(&10u32.to_be_bytes());
            mechanisms.iter().for_each(|name| put_text(name, Encoding::UTF8, out));
            out.push(0);
        });
    }

    /// R: a step of SASL (11), or its last (12).
    pub fn authentication_step(&mut self, code: u32, data: &[u8]) {
        self.message(b'R', |out| {
            out.extend_from_slice(&code.to_be_bytes());
            out.extend_from_slice(data);
        });
    }

    /// S: a setting that clients know about.
    pub fn parameter_status(&mut self, name: &str, value: &str) {
        let encoding = self.encoding;
        self.message(b'S', |out| {
            put_text(name, encoding, out);
            put_text(value, encoding, out);
        });
    }

    /// K: what to say to cancel this session's statements.
    pub fn backend_key(&mut self, backend: i32, key: &[u8]) {
        self.message(b'K', |out| {
            out.extend_from_slice(&backend.to_be_bytes());
            out.extend_from_slice(key);
        });
    }

    /// v: the version that is spoken, in the form in which the client has asked for one, and the options that we do not know.
    pub fn negotiate_version(&mut self, version: u32, unknown: &[&str]) {
        self.message(b'v', |out| {
            out.extend_from_slice(&version.to_be_bytes());
            out.extend_from_slice(&(unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| put_text(name, Encoding::UTF8, out));
        });
    }

    /// Z: the next statement, please.
    pub fn ready(&mut self, ready: Ready) {
        let byte = match ready {
            Ready::Idle => b'I',
            Ready::Transaction => b'T',
            Ready::Failed => b'E',
        };
        self.bytes.extend_from_slice(&[b'Z', 0, 0, 0, 5, byte]);
    }

    // ── results ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// 1
    pub fn parse_complete(&mut self) {
        self.empty(b'1');
    }

    /// 2
    pub fn bind_complete(&mut self) {
        self.empty(b'2');
    }

    /// 3
    pub fn close_complete(&mut self) {
        self.empty(b'3');
    }

    /// n: no rows to be described.
    pub fn no_data(&mut self) {
        self.empty(b'n');
    }

    /// s: there are more rows.
    pub fn portal_suspended(&mut self) {
        self.empty(b's');
    }

    /// I: nothing was asked.
    pub fn empty_query(&mut self) {
        self.empty(b'I');
    }

    /// C
    pub fn command_complete(&mut self, tag: &str) {
        let encoding = self.encoding;
        self.message(b'C', |out| put_text(tag, encoding, out));
    }

    /// t: types of parameters.
    pub fn parameter_description(&mut self, types: impl ExactSizeIterator<Item = u32>) {
        self.message(b't', |out| {
            out.extend_from_slice(&(types.len() as u16).to_be_bytes());
            types.for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
        });
    }

    /// T: columns of the rows to come.
    pub fn row_description(&mut self, columns: &[OutputColumn], format: impl Fn(usize) -> Format) {
        let encoding = self.encoding;
        self.message(b'T', |out| {
            out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
            for (i, column) in columns.iter().enumerate() {
                put_text(&column.name, encoding, out);
                let (table, number) = column.origin.map_or((0, 0), |origin| (origin.table, origin.column));
                out.extend_from_slice(&table.to_be_bytes());
                out.extend_from_slice(&number.to_be_bytes());
                out.extend_from_slice(&column.ty.pg_oid().to_be_bytes());
                out.extend_from_slice(&column.ty.typlen().to_be_bytes());
                out.extend_from_slice(&column.ty.typmod().to_be_bytes());
                out.extend_from_slice(&(format(i) as u16).to_be_bytes());
            }
        });
    }

    /// Puts the texts of the last message, a row that begins at `start`, into the client's encoding; `is_text` says which columns
    /// have some.
    ///
    /// # Errors
    /// 22P05 for a character that the encoding does not have: the row is gone then.
    pub fn convert_row(&mut self, start: usize, is_text: impl Fn(usize) -> bool) -> Result<(), TypeError> {
        // Behind the kind, the length and the number of columns.
        let first = start + 7;
        let Some(values) = self.bytes.get(first..).filter(|values| !values.is_ascii()) else { return Ok(()) };
        let converted = match self.encoding.encode_fields(values, is_text) {
            Ok(converted) => converted,
            Err(error) => {
                self.bytes.truncate(start);
                return Err(error);
            }
        };
        self.bytes.truncate(first);
        self.bytes.extend_from_slice(&converted);
        let length = u32::try_from(self.bytes.len() - start - 1).unwrap_or(u32::MAX);
        self.bytes[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    // ── COPY ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// G: send us data; H: data comes. `columns` of them, all in one format.
    pub fn copy_response(&mut self, into_server: bool, binary: bool, columns: usize) {
        self.message(if into_server { b'G' } else { b'H' }, |out| {
            out.push(u8::from(binary));
            out.extend_from_slice(&(columns as u16).to_be_bytes());
            (0..columns).for_each(|_| out.extend_from_slice(&u16::from(binary).to_be_bytes()));
        });
    }

    /// d
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |out| out.extend_from_slice(data));
    }

    /// c
    pub fn copy_done(&mut self) {
        self.empty(b'c');
    }

    // ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────

    /// E
    pub fn error(&mut self, severity: Severity, error: &SqlError) {
        let encoding = self.encoding;
        self.message(b'E', |out| {
            let put_field =
                |kind: u8, text: Option<&str>, out: &mut Vec<u8>| put_field(kind, text, encoding, out);
            put_severity(severity.text(), error.sqlstate, &error.message, encoding, out);
            put_field(b'D', error.detail.as_deref(), out);
            put_field(b'H', error.hint.as_deref(), out);
            put_field(b'P', error.position.map(|position| position.to_string()).as_deref(), out);
            if let Some(internal) = &error.internal {
                put_field(b'p', Some(&internal.position.to_string()), out);
                put_field(b'q', Some(&internal.query), out);
            }
            put_field(b'W', error.context.as_deref(), out);
            if let Some(subject) = &error.subject {
                if subject.table.is_some() || subject.datatype.is_some() {
                    put_field(b's', Some(subject.schema.as_deref().unwrap_or("public")), out);
                }
                put_field(b't', subject.table.as_deref(), out);
                put_field(b'c', subject.column.as_deref(), out);
                put_field(b'd', subject.datatype.as_deref(), out);
                put_field(b'n', subject.constraint.as_deref(), out);
                put_field(b'R', subject.routine, out);
            }
            out.push(0);
        });
    }

    /// N
    pub fn notice(&mut self, notice: &Notice) {
        let encoding = self.encoding;
        self.message(b'N', |out| {
            let put_field =
                |kind: u8, text: Option<&str>, out: &mut Vec<u8>| put_field(kind, text, encoding, out);
            put_severity(notice.severity, &notice.sqlstate, &notice.message, encoding, out);
            put_field(b'D', notice.detail.as_deref(), out);
            put_field(b'H', notice.hint.as_deref(), out);
            put_field(b'P', notice.position.map(|position| position.to_string()).as_deref(), out);
            put_field(b'W', notice.context.as_deref(), out);
            out.push(0);
        });
    }

    /// A: what another session has said by NOTIFY, or this one.
    pub fn notification(&mut self, notification: &Notification) {
        let encoding = self.encoding;
        self.message(b'A', |out| {
            out.extend_from_slice(&notification.backend.to_be_bytes());
            put_text(&notification.channel, encoding, out);
            put_text(&notification.payload, encoding, out);
        });
    }
}

fn put_severity(severity: &str, sqlstate: &str, message: &str, encoding: Encoding, out: &mut Vec<u8>) {
    put_field(b'S', Some(severity), encoding, out);
    put_field(b'V', Some(severity), encoding, out);
    put_field(b'C', Some(sqlstate), encoding, out);
    put_field(b'M', Some(message), encoding, out);
}

fn put_field(kind: u8, text: Option<&str>, encoding: Encoding, out: &mut Vec<u8>) {
    if let Some(text) = text {
        out.push(kind);
        put_text(text, encoding, out);
    }
}

/// A text and its end; what would end it early is left out. A character that the client's encoding does not have is a question
/// mark: an error about it could not be told either.
fn put_text(text: &str, encoding: Encoding, out: &mut Vec<u8>) {
    if text.as_bytes().contains(&0) {
        put_text(&text.replace('\0', ""), encoding, out);
        return;
    }
    out.extend_from_slice(&encoding.encode_lossy(text));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use verso_types::SqlType;

    #[test]
    fn a_message_counts_its_length_but_not_its_type() {
        let mut output = Output::default();
        output.command_complete("SELECT 1");
        assert_eq!(output.bytes(), b"C\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn a_notification_names_its_sender_and_its_channel() {
        let mut output = Output::default();
        output.notification(&Notification { backend: 7, channel: "c".into(), payload: "".into() });
        assert_eq!(output.bytes(), b"A\0\0\0\x0b\0\0\0\x07c\0\0");
    }

    #[test]
    fn a_nul_cannot_end_a_text_early() {
        let mut output = Output::default();
        output.parameter_status("a\0b", "c");
        assert_eq!(output.bytes(), b"S\0\0\0\x09ab\0c\0");
    }

    #[test]
    fn a_row_description_names_types_and_formats() {
        let mut output = Output::default();
        output.row_description(&[OutputColumn::new("n", SqlType::Int4)], |_| Format::Binary);
        let expected = b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
        assert_eq!(output.bytes(), expected);
    }

    #[test]
    fn errors_carry_all_their_fields() {
        let mut output = Output::default();
        let error = SqlError::new("23502", "no").with_detail("d").at(4).with_table("t").with_column("c");
        output.error(Severity::Error, &error);
        let expected = b"SERROR\0VERROR\0C23502\0Mno\0Dd\0P5\0spublic\0tt\0cc\0\0";
        assert_eq!(&output.bytes()[5..], expected);
    }
}
