//! Messages of clients with another encoding than UTF-8, as they would be with it.
//!
//! Only texts are converted: names, statements, and values that come as text. What is no message of its kind stays as it is, and is
//! refused when it is read.

use verso_types::Encoding;

use super::Malformed;
use super::frontend::{Format, Formats};

/// The body of a message in UTF-8; none where it is that already.
///
/// # Errors
/// 22021 and 22P05 for what is no text in the encoding.
pub fn in_utf8(kind: u8, body: &[u8], encoding: Encoding) -> Result<Option<Vec<u8>>, Malformed> {
    if !encoding.converts() || body.is_ascii() {
        return Ok(None);
    }
    let mut message =
        Conversion { rest: body, encoding, out: Vec::with_capacity(body.len() + body.len() / 2) };
    match kind {
        b'Q' | b'E' | b'f' => {
            message.text()?;
        }
        b'P' if message.text()? => {
            message.text()?;
        }
        b'D' | b'C' if message.copy(1).is_some() => {
            message.text()?;
        }
        b'B' if message.text()? && message.text()? => message.values()?,
        b'P' | b'D' | b'C' | b'B' => {}
        _ => return Ok(None),
    }
    // The rest is numbers, or no message.
    message.out.extend_from_slice(message.rest);
    Ok(Some(message.out))
}

struct Conversion<'m> {
    rest: &'m [u8],
    encoding: Encoding,
    out: Vec<u8>,
}

impl<'m> Conversion<'m> {
    /// Takes over so many bytes; none where there are fewer.
    fn copy(&mut self, count: usize) -> Option<&'m [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.out.extend_from_slice(bytes);
        self.rest = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes = self.copy(2)?;
        Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }

    /// A text and its end; false where it has none.
    fn text(&mut self) -> Result<bool, Malformed> {
        let Some(end) = self.rest.iter().position(|byte| *byte == 0) else { return Ok(false) };
        let (text, behind) = self.rest.split_at(end);
        self.out.extend_from_slice(self.encoding.decode(text).map_err(Malformed::text)?.as_bytes());
        self.rest = behind;
        Ok(self.copy(1).is_some())
    }

    /// Formats, and values of them, as far as there are any.
    fn values(&mut self) -> Result<(), Malformed> {
        let Some(count) = self.number() else { return Ok(()) };
        let Some(codes) = self.copy(2 * count) else { return Ok(()) };
        let formats = Formats::of_codes(codes);
        let Some(count) = self.number() else { return Ok(()) };
        for i in 0..count {
            let Some((length, behind)) = self.rest.split_at_checked(4) else { return Ok(()) };
            let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
            // NULL has no bytes.
            let bytes = usize::try_from(length).unwrap_or(0);
            let Some((value, behind)) = behind.split_at_checked(bytes) else { return Ok(()) };
            if formats.of(i) == Format::Binary || bytes == 0 {
                self.copy(4 + bytes);
                continue;
            }
            let text = self.encoding.decode(value).map_err(Malformed::text)?;
            let length = i32::try_from(text.len()).map_err(|_| Malformed::new("a value is too long"))?;
            self.out.extend_from_slice(&length.to_be_bytes());
            self.out.extend_from_slice(text.as_bytes());
            self.rest = behind;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frontend::Message;

    fn latin1() -> Encoding {
        Encoding::named("LATIN1").expect("it is known")
    }

    #[test]
    fn texts_of_messages_are_converted_and_nothing_else() {
        let body = in_utf8(b'Q', b"SELECT '\xe9'\0", latin1()).expect("a text").expect("another one");
        assert_eq!(Message::parse(b'Q', &body), Ok(Message::Query("SELECT 'é'")));
        assert_eq!(in_utf8(b'Q', b"SELECT 1\0", latin1()), Ok(None));
        assert_eq!(in_utf8(b'Q', "é".as_bytes(), Encoding::UTF8), Ok(None));
        let bind = b"p\xe9\0\0\0\x02\0\0\0\x01\0\x03\0\0\0\x01\xe9\0\0\0\x01\xe9\xff\xff\xff\xff\0\0";
        let body = in_utf8(b'B', bind, latin1()).expect("texts").expect("other ones");
        // Three values need three formats.
        assert!(Message::parse(b'B', &body).is_err());
        let bind = b"p\xe9\0\0\0\x02\0\0\0\x01\0\x02\0\0\0\x01\xe9\0\0\0\x01\xe9\0\0";
        let body = in_utf8(b'B', bind, latin1()).expect("texts").expect("other ones");
        let Ok(Message::Bind(bind)) = Message::parse(b'B', &body) else { panic!("it was one") };
        assert_eq!(bind.portal, "pé");
        let values: Vec<_> = bind.values().collect();
        assert_eq!(values, [Some("é".as_bytes()), Some(&b"\xe9"[..])]);
    }

    #[test]
    fn what_is_no_message_stays_none() {
        for body in [&b"\xe9"[..], b"\xe9\0", b"\xe9\0\xe9\0\0\x09", b"\xe9\0\0\0\0\0\x01\0\0\0\x09\xe9"] {
            let converted = in_utf8(b'B', body, latin1()).expect("texts").expect("other ones");
            assert!(Message::parse(b'B', &converted).is_err(), "{body:x?}");
        }
    }
}
