//! A connection as the conversation uses it: messages in, messages out.

use std::io;

use verso_session::errors::sqlstate;
use verso_session::{Account, Reservation, SqlError};
use verso_types::SqlType;

use super::sink::write_all;
use crate::backends::Registered;
use crate::network::input::{Frame, Input};
use crate::network::patience::Patience;
use crate::network::stream::{Stream, Waits};
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
    /// Types of the columns of the result that is being sent.
    pub types: Vec<SqlType>,
    /// Who may end this connection from outside; once the client is known.
    pub backend: Option<Registered>,
    /// Nothing more can be said or understood.
    pub broken: bool,
    /// How the client is waited for.
    pub patience: Patience,
    /// The last read has taken all that there was.
    drained: bool,
    /// For a long row.
    held: Option<Reservation>,
}

impl Wire {
    /// A fresh connection.
    pub fn new(stream: Stream, message_bytes_max: usize) -> Wire {
        Wire {
            stream,
            input: Input::new(message_bytes_max),
            output: Output::default(),
            types: Vec::new(),
            backend: None,
            broken: false,
            patience: Patience::default(),
            drained: false,
            held: None,
        }
    }

    /// Reads what the client sends, waiting for it; 0 at the end of the connection.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn fill(&mut self) -> io::Result<usize> {
        let filled = self.input.fill(&mut self.stream);
        self.note_drained(filled.is_ok());
        filled
    }

    /// A turn begins: something has come.
    pub fn heard(&mut self) {
        self.drained = false;
    }

    /// Reads what the client has sent; 0 at the end of the connection. If nothing more is there it is waited for; `None`
    /// if nothing comes that long.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn read(&mut self, waits: Waits) -> io::Result<Option<usize>> {
        if !self.drained
            && let Some(count) = self.take(Waits::No)?
        {
            return Ok(Some(count));
        }
        let mut patience = std::mem::take(&mut self.patience);
        let heard = patience.stay_awake(|| self.take(Waits::No));
        self.patience = patience;
        match heard? {
            None if waits != Waits::No => self.take(waits),
            heard => Ok(heard),
        }
    }

    /// Reads what comes while it waits; `None` if nothing does.
    fn take(&mut self, waits: Waits) -> io::Result<Option<usize>> {
        self.stream.set_waits(waits);
        match self.fill() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            filled => filled.map(Some),
        }
    }

    /// A read that could have taken more than it did has taken all. A connection that is encrypted may still have bytes
    /// that its socket has not.
    fn note_drained(&mut self, has_read: bool) {
        self.drained = !has_read || !self.stream.is_encrypted() && !self.input.is_full();
    }

    /// Whether somebody wants this connection to end.
    pub fn is_ending(&self) -> bool {
        self.backend.as_ref().is_some_and(|registered| registered.backend().is_ending())
    }

    /// Sends what there is.
    ///
    /// # Errors
    /// 08006 if the client is gone.
    pub fn send(&mut self) -> Result<(), SqlError> {
        write_all(&mut self.output, &mut self.stream, OUTPUT_KEEP).map_err(|error| self.lost(&error))
    }

    /// The next message, waiting for it.
    ///
    /// # Errors
    /// 08006 if the client is gone, 08P01 if it says what is no message, 57P01 if the session was told to end; all these end
    /// the connection. 53200 if there is no memory for it.
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
            if self.backend.is_some() {
                // Beyond its start a client may take its time.
                self.stream.set_waits(Waits::Ever);
            }
            match self.fill() {
                // Its end was asked for: the caller is not lost, and hears so.
                Ok(0) | Err(_) if self.is_ending() => return Err(ended()),
                Ok(0) => return Err(self.lost(&io::Error::from(io::ErrorKind::UnexpectedEof))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    return Err(self.refused(&error).1);
                }
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    /// From now on what long messages take, both ways, is charged to an account.
    pub fn charge_to(&mut self, account: &Account) {
        self.input.charge_to(account);
        self.held = Some(account.reserve("a row of the result", u64::MAX));
    }

    /// Counts what a long row takes until it is sent.
    ///
    /// # Errors
    /// 53200.
    pub fn hold(&mut self, bytes: usize) -> Result<(), SqlError> {
        match &mut self.held {
            Some(held) => Ok(held.resize(bytes as u64)?),
            None => Ok(()),
        }
    }

    /// Passes over a message that needs more memory than there is: its type, and what the client is told.
    #[cold]
    pub fn refused(&mut self, error: &io::Error) -> (u8, SqlError) {
        let kind = self.input.pass_over();
        let refused = error.get_ref().and_then(|error| error.downcast_ref::<SqlError>()).cloned();
        (kind, refused.unwrap_or_else(|| SqlError::new(sqlstate::OUT_OF_MEMORY, "out of memory")))
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

/// As the client is told.
#[cold]
pub fn malformed(error: Malformed) -> SqlError {
    SqlError::new(error.sqlstate, error.what)
}
