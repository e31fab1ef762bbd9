//! A connection as the conversation uses it: messages in, messages out, a place among those who run.

use std::io;
use std::sync::Arc;

use verso_sql::SqlError;
use verso_sql::errors::sqlstate;

use super::sink::write_all;
use crate::admission::Place;
use crate::backends::Backend;
use crate::network::input::{Frame, Input};
use crate::network::patience::Patience;
use crate::network::stream::Stream;
use crate::protocol::Malformed;
use crate::protocol::backend::Output;

/// Bytes of the output buffer kept between messages.
const OUTPUT_KEEP: usize = 8 << 10;

/// Both directions of a connection.
#[derive(Debug)]
pub struct Wire {
    /// The bytes.
    pub stream: Stream,
    /// What has come.
    pub input: Input,
    /// What is to go.
    pub output: Output,
    /// Who may end this connection from outside; once the client is known.
    pub backend: Option<Arc<Backend>>,
    /// Nothing more can be said or understood.
    pub broken: bool,
    /// The place among those who run, given back when the client is waited for.
    pub place: Option<Place>,
    /// How the client is waited for.
    pub patience: Patience,
}

impl Wire {
    /// A fresh connection.
    pub fn new(stream: Stream, message_bytes_max: usize) -> Wire {
        Wire {
            stream,
            input: Input::new(message_bytes_max),
            output: Output::default(),
            backend: None,
            broken: false,
            place: None,
            patience: Patience::default(),
        }
    }

    /// Reads what the client sends, waiting for it; 0 at the end of the connection.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn fill(&mut self) -> io::Result<usize> {
        self.place = None;
        let Wire { input, stream, patience, .. } = self;
        match stream {
            Stream::Plain(socket) => input.fill(&mut patience.awake(socket)),
            encrypted @ Stream::Tls(_) => input.fill(encrypted),
        }
    }

    /// Whether somebody wants this connection to end.
    pub fn is_ending(&self) -> bool {
        self.backend.as_ref().is_some_and(|backend| backend.is_ending())
    }

    /// Sends what there is.
    ///
    /// # Errors
    /// 08006 if the client is gone.
    pub fn send(&mut self) -> Result<(), SqlError> {
        self.place = None;
        write_all(&mut self.output, &mut self.stream, OUTPUT_KEEP).map_err(|error| self.lost(&error))
    }

    /// The next message, waiting for it.
    ///
    /// # Errors
    /// 08006 if the client is gone, 08P01 if it says what is no message, 57P01 if the session was told to end; all end
    /// the connection.
    pub fn wait_frame(&mut self) -> Result<Frame, SqlError> {
        loop {
            match self.input.next_frame() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(error) => {
                    self.broken = true;
                    return Err(malformed(error));
                }
            }
            match self.fill() {
                // Its end was asked for: the caller is not lost, and hears so.
                Ok(0) | Err(_) if self.is_ending() => return Err(ended()),
                Ok(0) => return Err(self.lost(&io::Error::from(io::ErrorKind::UnexpectedEof))),
                Ok(_) => {}
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    #[cold]
    fn lost(&mut self, error: &io::Error) -> SqlError {
        self.broken = true;
        SqlError::new(sqlstate::CONNECTION_FAILURE, format!("connection to client lost: {error}"))
    }
}

/// 57P01.
#[cold]
pub fn ended() -> SqlError {
    SqlError::new(sqlstate::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
}

/// 08P01.
#[cold]
pub fn malformed(error: Malformed) -> SqlError {
    SqlError::new(sqlstate::PROTOCOL_VIOLATION, error.what)
}
