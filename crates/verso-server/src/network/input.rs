//! Messages out of a connection's bytes.
//!
//! I1. The buffer grows with the bytes that have come, never with the length that a message claims.
//! I2. A message longer than its kind may be is refused as soon as its length is known.
//! I3. What a long message takes is counted before the buffer grows, once the connection has an account. One that is refused is
//!     passed over as it comes; what follows is understood.

use std::io::{self, Read};
use std::ops::Range;

use verso_session::{Account, Reservation, SqlError};

use crate::protocol::Malformed;
use crate::protocol::frontend::{STARTUP_BYTES_MAX, length_max};

/// Bytes of the buffer between messages.
const BUFFER_BYTES: usize = 8 << 10;
/// Bytes asked for at once while a long message comes.
const READ_BYTES: usize = 64 << 10;

/// The first byte of a TLS connection: a record of the handshake.
const HANDSHAKE: u8 = 0x16;

/// Bytes that have come and were not yet used.
#[derive(Debug)]
pub struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    large: usize,
    held: Option<Reservation>,
    /// Bytes to come of a message that was refused.
    skip: usize,
}

/// A message within the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its body; valid until the next [`Input::fill`].
    pub body: Range<usize>,
}

impl Input {
    /// An empty one; long messages may have `large` bytes.
    pub fn new(large: usize) -> Input {
        Input { buffer: Vec::new(), start: 0, end: 0, large, held: None, skip: 0 }
    }

    /// Changes how long messages may be.
    pub fn set_large(&mut self, large: usize) {
        self.large = large;
    }

    /// From now on the memory of long messages is charged to an account (I3).
    pub fn charge_to(&mut self, account: &Account) {
        self.held = Some(account.reserve("a message", u64::MAX));
    }

    /// Counts the buffer's bytes, where they are many.
    fn charge(&mut self, bytes: usize) -> io::Result<()> {
        match &mut self.held {
            Some(held) if bytes > READ_BYTES => held
                .resize(bytes as u64)
                .map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, SqlError::from(error))),
            Some(held) => {
                held.clear();
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Bytes that came and were not used.
    pub fn pending(&self) -> usize {
        self.end - self.start
    }

    /// Whether the last read filled the buffer, so that there may be more.
    pub fn is_full(&self) -> bool {
        self.end == self.buffer.len()
    }

    /// Whether a message of that type comes next and its start is here already.
    pub fn next_is(&self, kind: u8) -> bool {
        self.buffer[self.start..self.end].first() == Some(&kind)
    }

    /// The body of a frame.
    pub fn body(&self, frame: &Frame) -> &[u8] {
        &self.buffer[frame.body.clone()]
    }

    /// The next message, if all of it has come.
    ///
    /// # Errors
    /// A type that does not exist, a length that cannot be (I2): what follows cannot be understood any more.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Malformed> {
        let bytes = &self.buffer[self.start..self.end];
        let [kind, a, b, c, d, ..] = *bytes else { return Ok(None) };
        let length = i32::from_be_bytes([a, b, c, d]);
        let limit = length_max(kind, self.large)
            .ok_or_else(|| Malformed::new(format!("invalid frontend message type {kind}")))?;
        let length = usize::try_from(length)
            .ok()
            .filter(|length| (4..=limit.max(4)).contains(length))
            .ok_or_else(|| {
                Malformed::new(format!("invalid message length {length} of message type {}", kind as char))
            })?;
        Ok(self.take(1, length).map(|body| Frame { kind, body }))
    }

    /// The first packet of a connection, if all of it has come.
    ///
    /// # Errors
    /// A length that cannot be.
    pub fn next_startup(&mut self) -> Result<Option<Range<usize>>, Malformed> {
        let bytes = &self.buffer[self.start..self.end];
        let [a, b, c, d, ..] = *bytes else { return Ok(None) };
        let length = i32::from_be_bytes([a, b, c, d]);
        let length = usize::try_from(length)
            .ok()
            .filter(|length| (8..=STARTUP_BYTES_MAX).contains(length))
            .ok_or_else(|| Malformed::new("invalid length of startup packet"))?;
        Ok(self.take(0, length))
    }

    /// Whether a handshake of TLS begins here, which no startup packet does.
    pub fn begins_handshake(&self) -> bool {
        self.next_is(HANDSHAKE)
    }

    /// All bytes that came and were not used.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The bytes of a startup packet.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// The body of a message whose length stands behind `prefix` bytes, if it is here.
    fn take(&mut self, prefix: usize, length: usize) -> Option<Range<usize>> {
        if self.pending() < prefix + length {
            return None;
        }
        let body = self.start + prefix + 4..self.start + prefix + length;
        self.start = body.end;
        Some(body)
    }

    /// Gives up the message that has begun to come, and its memory; its type.
    pub fn pass_over(&mut self) -> u8 {
        let bytes = &self.buffer[self.start..self.end];
        let [kind, a, b, c, d, ..] = *bytes else { return 0 };
        let length = usize::try_from(i32::from_be_bytes([a, b, c, d])).unwrap_or(0);
        self.skip = (1 + length).saturating_sub(bytes.len());
        self.buffer = Vec::new();
        (self.start, self.end) = (0, 0);
        self.held.iter_mut().for_each(Reservation::clear);
        kind
    }

    /// Reads what the stream has, waiting for some; 0 is its end.
    ///
    /// # Errors
    /// Those of the stream; `OutOfMemory`, with the error of the account, where a message needs more than it gives: the
    /// caller [passes it over](Input::pass_over).
    pub fn fill(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.buffer.len() > READ_BYTES {
                // A long message was here: its memory goes back.
                self.buffer = Vec::new();
                self.charge(0)?;
            }
        } else if self.start > 0 && self.buffer.len() - self.end < BUFFER_BYTES {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() - self.end < BUFFER_BYTES / 2 {
            // Twice what came, so that long messages are copied a constant number of times (I1).
            let wanted = (self.end * 2).clamp(BUFFER_BYTES, self.end + (16 << 20));
            let wanted = wanted.max(self.end + BUFFER_BYTES / 2);
            self.charge(wanted)?;
            self.buffer.resize(wanted, 0);
        }
        loop {
            match stream.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    let count = result?;
                    let skipped = count.min(self.skip);
                    self.skip -= skipped;
                    if skipped > 0 {
                        self.buffer.copy_within(skipped..count, 0);
                    }
                    self.end += count - skipped;
                    return Ok(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(bytes: &[u8]) -> Input {
        let mut input = Input::new(1 << 30);
        let mut rest = bytes;
        while !rest.is_empty() {
            input.fill(&mut rest).unwrap();
        }
        input
    }

    #[test]
    fn messages_come_out_whole_and_in_order() {
        let mut input = input(b"S\0\0\0\x04Q\0\0\0\x06a\0X\0\0\0");
        assert_eq!(input.next_frame().unwrap().unwrap().kind, b'S');
        let frame = input.next_frame().unwrap().unwrap();
        assert_eq!(input.body(&frame), b"a\0");
        assert_eq!(input.next_frame().unwrap(), None);
        input.fill(&mut &b"\x04"[..]).unwrap();
        assert_eq!(input.next_frame().unwrap().unwrap().kind, b'X');
        assert_eq!(input.pending(), 0);
    }

    #[test]
    fn a_claimed_gigabyte_takes_no_memory() {
        let mut input = input(b"Q\x3f\xff\xff\xff");
        assert_eq!(input.next_frame().unwrap(), None);
        assert!(input.buffer.len() <= BUFFER_BYTES * 2);
        input.set_large(1 << 20);
        assert!(input.next_frame().is_err());
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for bytes in
            [&b"Q\0\0\0\x03"[..], b"Q\xff\xff\xff\xff", b"S\0\x10\0\0", b"@\0\0\0\x04", b"\0\0\0\0\x04"]
        {
            assert!(input(bytes).next_frame().is_err(), "{bytes:?}");
        }
        for bytes in [&b"\0\0\0\x07"[..], b"\0\0\xff\xff", b"GET /"] {
            assert!(input(bytes).next_startup().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn long_messages_come_in_pieces_and_their_memory_goes_back() {
        let mut bytes = b"Q\0\x10\0\x04".to_vec();
        bytes.resize(5 + (1 << 20), b'x');
        let mut input = input(&bytes);
        let frame = input.next_frame().unwrap().unwrap();
        assert_eq!(input.body(&frame).len(), 1 << 20);
        input.fill(&mut &b"S"[..]).unwrap();
        assert!(input.buffer.len() <= READ_BYTES);
    }
}
