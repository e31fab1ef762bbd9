//! What clients send.

use super::Malformed;

/// Version numbers: major in the upper half.
pub const VERSION_3_0: u32 = 3 << 16;
/// The latest version spoken.
pub const VERSION_3_2: u32 = 3 << 16 | 2;
const CANCEL_REQUEST: u32 = 1234 << 16 | 5678;
const SSL_REQUEST: u32 = 1234 << 16 | 5679;
const GSSENC_REQUEST: u32 = 1234 << 16 | 5680;

/// The longest first packet; as PostgreSQL's.
pub const STARTUP_BYTES_MAX: usize = 10_000;
/// The longest message whose kind has no use for a long one, and of anything before authentication.
pub const SMALL_BYTES_MAX: usize = 10_000;
/// The longest cancel key of version 3.2.
const CANCEL_KEY_MAX: usize = 256;

/// The first packet of a connection; before it there may be requests for encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Startup<'m> {
    /// May we speak TLS?
    Tls,
    /// May we speak GSSAPI?
    Gss,
    /// Cancel what another connection is doing.
    Cancel {
        /// Whose.
        backend: i32,
        /// The secret it was given.
        key: &'m [u8],
    },
    /// A session, please.
    Session {
        /// The version wanted.
        version: u32,
        /// `user`, `database`, settings.
        parameters: Vec<(&'m str, &'m str)>,
    },
}

impl<'m> Startup<'m> {
    /// Reads the packet behind its length.
    ///
    /// # Errors
    /// What is no such packet; a major version other than 3 is not an error of this function.
    pub fn parse(body: &'m [u8]) -> Result<Startup<'m>, Malformed> {
        let mut reader = Reader { rest: body };
        let code = reader.i32()?.cast_unsigned();
        match code {
            SSL_REQUEST => reader.finish().map(|()| Startup::Tls),
            GSSENC_REQUEST => reader.finish().map(|()| Startup::Gss),
            CANCEL_REQUEST => {
                let backend = reader.i32()?;
                let key = reader.rest;
                if key.is_empty() || key.len() > CANCEL_KEY_MAX {
                    return Err(Malformed::new("invalid length of cancel key"));
                }
                Ok(Startup::Cancel { backend, key })
            }
            version => {
                if version >> 16 != 3 {
                    // Another major version: its layout is not known.
                    return Ok(Startup::Session { version, parameters: Vec::new() });
                }
                let mut parameters = Vec::new();
                loop {
                    let name = reader.text()?;
                    if name.is_empty() {
                        break;
                    }
                    parameters.push((name, reader.text()?));
                }
                reader.finish().map_err(|_| {
                    Malformed::new("invalid startup packet layout: expected terminator as last byte")
                })?;
                Ok(Startup::Session { version, parameters })
            }
        }
    }
}

/// A message after the start.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'m> {
    /// Q: run this text.
    Query(&'m str),
    /// P: prepare a statement.
    Parse {
        /// Its name, empty for the unnamed one.
        name: &'m str,
        /// Its text.
        sql: &'m str,
        /// Types of the first parameters; 0 for those to be found out.
        types: Vec<u32>,
    },
    /// B: bind a statement to values.
    Bind(Bind<'m>),
    /// D: describe a statement or portal.
    Describe(Target, &'m str),
    /// E: run a portal.
    Execute {
        /// Its name.
        portal: &'m str,
        /// Rows wanted at most, 0 for all.
        rows_max: u32,
    },
    /// C: forget a statement or portal.
    Close(Target, &'m str),
    /// S: end of a series.
    Sync,
    /// H: send what there is.
    Flush,
    /// X: goodbye.
    Terminate,
    /// d: a piece of a COPY.
    CopyData(&'m [u8]),
    /// c: the end of a COPY.
    CopyDone,
    /// f: the COPY is to fail.
    CopyFail(&'m str),
    /// p: a password, or a step of SASL.
    Password(&'m [u8]),
    /// F: the old way to call a function.
    FunctionCall,
}

/// What Describe and Close are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// A Bind message. Formats and values are read as they are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind<'m> {
    /// The portal to make.
    pub portal: &'m str,
    /// The statement to bind.
    pub statement: &'m str,
    /// One for all parameters, or one for each, or none for text.
    pub formats: Formats<'m>,
    /// How many values.
    pub count: usize,
    values: &'m [u8],
    /// Formats of the columns of the result.
    pub results: Formats<'m>,
}

impl<'m> Bind<'m> {
    /// The values; `None` is NULL.
    pub fn values(&self) -> impl Iterator<Item = Option<&'m [u8]>> + use<'m> {
        let mut reader = Reader { rest: self.values };
        (0..self.count).map(move |_| reader.value().ok().flatten())
    }
}

/// Format codes as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Formats<'m> {
    codes: &'m [u8],
}

/// A format of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As text.
    Text,
    /// As bytes.
    Binary,
}

impl<'m> Formats<'m> {
    /// Those of a message.
    pub(super) fn of_codes(codes: &'m [u8]) -> Formats<'m> {
        Formats { codes }
    }
}

impl Formats<'_> {
    /// How many codes.
    pub fn count(&self) -> usize {
        self.codes.len() / 2
    }

    /// Whether they fit `values` values: none, one for all, or one for each.
    pub fn fit(&self, values: usize) -> bool {
        matches!(self.count(), 0 | 1) || self.count() == values
    }

    /// The format of value `i`.
    pub fn of(&self, i: usize) -> Format {
        let at = if self.count() == 1 { 0 } else { i };
        match self.codes.get(at * 2 + 1) {
            Some(1) => Format::Binary,
            _ => Format::Text,
        }
    }

    /// The first code that is none.
    pub fn unknown(&self) -> Option<i16> {
        let mut codes = self.codes.chunks_exact(2);
        codes.find(|code| !matches!(code, [0, 0 | 1])).map(|code| i16::from_be_bytes([code[0], code[1]]))
    }
}

/// How long a message of that type may be; `None` if there is no such type. `large` is the limit for those that may
/// be long.
pub fn length_max(kind: u8, large: usize) -> Option<usize> {
    match kind {
        b'Q' | b'P' | b'B' | b'd' | b'F' => Some(large),
        b'D' | b'E' | b'C' | b'S' | b'H' | b'X' | b'c' | b'f' | b'p' => Some(SMALL_BYTES_MAX.min(large)),
        _ => None,
    }
}

impl<'m> Message<'m> {
    /// Reads the body of a message of type `kind`.
    ///
    /// # Errors
    /// What breaks the message's layout.
    pub fn parse(kind: u8, body: &'m [u8]) -> Result<Message<'m>, Malformed> {
        let mut reader = Reader { rest: body };
        let message = match kind {
            b'Q' => Message::Query(reader.text()?),
            b'P' => {
                let (name, sql) = (reader.text()?, reader.text()?);
                let count = reader.count(4)?;
                let types =
                    (0..count).map(|_| reader.i32().map(i32::cast_unsigned)).collect::<Result<_, _>>()?;
                Message::Parse { name, sql, types }
            }
            b'B' => Message::Bind(reader.bind()?),
            b'D' => {
                let (target, name) = reader.target("DESCRIBE")?;
                Message::Describe(target, name)
            }
            b'C' => {
                let (target, name) = reader.target("CLOSE")?;
                Message::Close(target, name)
            }
            b'E' => {
                let portal = reader.text()?;
                // Negative means all, as 0 does.
                Message::Execute { portal, rows_max: u32::try_from(reader.i32()?).unwrap_or(0) }
            }
            b'S' => Message::Sync,
            b'H' => Message::Flush,
            b'X' => Message::Terminate,
            b'd' => Message::CopyData(reader.all()),
            b'c' => Message::CopyDone,
            b'f' => Message::CopyFail(reader.text()?),
            b'p' => Message::Password(reader.all()),
            b'F' => {
                reader.all();
                Message::FunctionCall
            }
            other => return Err(Malformed::new(format!("invalid frontend message type {other}"))),
        };
        reader.finish()?;
        Ok(message)
    }
}

/// A step of SASL: the mechanism chosen and the first response.
pub fn sasl_initial(body: &[u8]) -> Result<(&str, &[u8]), Malformed> {
    let mut reader = Reader { rest: body };
    let mechanism = reader.text()?;
    let response = reader.value()?.unwrap_or_default();
    reader.finish()?;
    Ok((mechanism, response))
}

struct Reader<'m> {
    rest: &'m [u8],
}

impl<'m> Reader<'m> {
    fn bytes(&mut self, count: usize) -> Result<&'m [u8], Malformed> {
        let (head, tail) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| Malformed::new("insufficient data left in message"))?;
        self.rest = tail;
        Ok(head)
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.bytes(4)?);
        Ok(i32::from_be_bytes(bytes))
    }

    /// A count of things that take `size` bytes at least (P1).
    fn count(&mut self, size: usize) -> Result<usize, Malformed> {
        let bytes = self.bytes(2)?;
        let count = usize::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        if count * size > self.rest.len() {
            return Err(Malformed::new("insufficient data left in message"));
        }
        Ok(count)
    }

    fn text(&mut self) -> Result<&'m str, Malformed> {
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| Malformed::new("invalid string in message"))?;
        let text = verso_types::wire::utf8(&self.rest[..end]).map_err(Malformed::text)?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    fn all(&mut self) -> &'m [u8] {
        std::mem::take(&mut self.rest)
    }

    fn finish(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::new("invalid message format")) }
    }

    /// Bytes with their length in front, -1 for NULL.
    fn value(&mut self) -> Result<Option<&'m [u8]>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length)
                    .map_err(|_| Malformed::new("insufficient data left in message"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    fn target(&mut self, message: &str) -> Result<(Target, &'m str), Malformed> {
        let target = match self.bytes(1)?[0] {
            b'S' => Target::Statement,
            b'P' => Target::Portal,
            other => {
                return Err(Malformed::new(format!("invalid {message} message subtype {other}")));
            }
        };
        Ok((target, self.text()?))
    }

    fn formats(&mut self) -> Result<Formats<'m>, Malformed> {
        let count = self.count(2)?;
        Ok(Formats { codes: self.bytes(count * 2)? })
    }

    fn bind(&mut self) -> Result<Bind<'m>, Malformed> {
        let (portal, statement) = (self.text()?, self.text()?);
        let formats = self.formats()?;
        let count = self.count(4)?;
        let start = self.rest;
        for _ in 0..count {
            self.value()?;
        }
        let values = &start[..start.len() - self.rest.len()];
        if !formats.fit(count) {
            let text =
                format!("bind message has {} parameter formats but {count} parameters", formats.count());
            return Err(Malformed::new(text));
        }
        Ok(Bind { portal, statement, formats, count, values, results: self.formats()? })
    }
}

#[cfg(test)]
#[path = "frontend_tests.rs"]
mod tests;
