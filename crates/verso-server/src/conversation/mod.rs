//! One client's messages, in order.
//!
//! ```text
//! startup ─► loop: Query                                   ─► results, ReadyForQuery
//!                  Parse, Bind, Describe, Execute … Sync   ─► results, ReadyForQuery
//! ```
//!
//! M1. Answers are sent when the client waits for them: after Sync, Query and Flush, once no further message is here;
//!     so a pipeline of many is answered by few writes.
//! M2. After an error in the extended protocol everything up to Sync is skipped.
//! M3. A portal lives until its transaction ends, the unnamed ones until they are made again or a Query comes.
//! M4. A panic in a statement ends its session, not the server.
//!
//! | module | what it is |
//! |---|---|
//! | [`startup`] | how a connection begins |
//! | [`extended`] | statements and portals |
//! | [`sink`] | results on their way out |
//! | [`wire`] | messages in and out |

pub mod extended;
pub mod sink;
pub mod startup;
pub mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use verso_sql::errors::sqlstate;
use verso_sql::{Session, SqlError, TransactionStatus};

use crate::network::input::{Frame, Input};
use crate::network::stream::{Peer, Socket};
use crate::protocol::backend::{Ready, Severity};
use crate::protocol::frontend::Message;
use crate::server::Shared;
use extended::Prepared;
use sink::WireSink;
use startup::{REPORTED, Started};
use wire::{Wire, malformed};

/// Bytes of answers kept back before they are sent, though the client does not wait for them.
const SEND_BYTES: usize = 64 << 10;

/// Serves a connection until it ends.
pub fn converse(shared: &Arc<Shared>, wire: Wire, socket: &Arc<Socket>, peer: Peer) {
    let mut connection = Some(wire);
    let started = match startup::start(shared, &mut connection, socket, peer) {
        Ok(Some(started)) => started,
        Ok(None) => return,
        Err(error) => {
            tracing::debug!(client = %peer, %error, "refused");
            if let Some(wire) = &mut connection {
                shared.report(wire, &error);
            }
            return;
        }
    };
    let Started { session, wire, reported } = started;
    let id = session.id();
    let mut conversation = Conversation {
        shared: Arc::clone(shared),
        wire,
        session,
        prepared: Prepared::default(),
        reported,
        settings_changed: false,
        skips: false,
        answers: true,
        body: Vec::new(),
    };
    // What a panic leaves behind is dropped with the session, whose transaction is rolled back (M4).
    let result = catch_unwind(AssertUnwindSafe(|| conversation.run()));
    let reason = match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(_) => Some(SqlError::internal("the session ended by a bug of the server")),
    };
    if let Some(error) = &reason {
        tracing::info!(session = id, %error, "disconnected");
        shared.report(&mut conversation.wire, error);
    } else {
        tracing::info!(session = id, "disconnected");
    }
    if let Some(backend) = &conversation.wire.backend {
        shared.backends.remove(backend.id);
    }
}

/// A client that has logged in.
struct Conversation {
    shared: Arc<Shared>,
    wire: Wire,
    session: Session,
    prepared: Prepared,
    /// Settings as the client was told.
    reported: Vec<String>,
    /// Some of them may have changed since.
    settings_changed: bool,
    /// An error happened; everything up to Sync is skipped (M2).
    skips: bool,
    /// The client waits for answers (M1).
    answers: bool,
    /// The message that is being answered, if it was copied.
    body: Vec<u8>,
}

/// What comes next.
enum Next {
    Message,
    End,
}

impl Conversation {
    /// Answers messages until the client leaves; an error ends the connection.
    fn run(&mut self) -> Result<(), SqlError> {
        self.ready();
        loop {
            let frame = match self.wire.input.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    if !self.refill()? {
                        return Ok(());
                    }
                    continue;
                }
                Err(error) => return Err(malformed(error)),
            };
            if self.wire.is_ending() {
                return Err(self.ended());
            }
            let next = self.dispatch(&frame);
            match next {
                Ok(Next::Message) => {}
                Ok(Next::End) => return Ok(()),
                Err(error) => self.fail(frame.kind, &error)?,
            }
            if self.wire.is_ending() {
                return Err(self.ended());
            }
            if self.wire.output.len() >= SEND_BYTES {
                self.wire.send()?;
            }
        }
    }

    /// Waits for more bytes; false at the end of the connection.
    fn refill(&mut self) -> Result<bool, SqlError> {
        if self.answers && !self.wire.output.is_empty() {
            self.wire.send()?;
        }
        self.answers = false;
        self.wire.place = None;
        match self.wire.fill() {
            _ if self.wire.is_ending() => Err(self.ended()),
            // A client that just leaves has its transaction rolled back.
            Ok(0) | Err(_) => Ok(false),
            Ok(_) => Ok(true),
        }
    }

    /// Answers a message where it lies, or a copy of it if the answer may read on, for COPY.
    fn dispatch(&mut self, frame: &Frame) -> Result<Next, SqlError> {
        if matches!(frame.kind, b'Q' | b'E') {
            let mut body = std::mem::take(&mut self.body);
            body.clear();
            body.extend_from_slice(self.wire.input.body(frame));
            let message = Message::parse(frame.kind, &body).map_err(malformed);
            let next = message.and_then(|message| self.answer(message));
            body.shrink_to(SEND_BYTES);
            self.body = body;
            return next;
        }
        let input = std::mem::replace(&mut self.wire.input, Input::new(0));
        let message = Message::parse(frame.kind, input.body(frame)).map_err(malformed);
        let next = message.and_then(|message| self.answer(message));
        self.wire.input = input;
        next
    }

    fn answer(&mut self, message: Message<'_>) -> Result<Next, SqlError> {
        if self.skips && !matches!(message, Message::Sync | Message::Terminate) {
            return Ok(Next::Message);
        }
        match message {
            Message::Query(sql) => self.query(sql)?,
            Message::Parse { name, sql, types } => self.parse(name, sql, &types)?,
            Message::Bind(bind) => self.bind(&bind)?,
            Message::Describe(target, name) => self.describe(target, name)?,
            Message::Execute { portal, rows_max } => self.execute(portal, rows_max)?,
            Message::Close(target, name) => self.close(target, name),
            Message::Sync => self.sync(),
            Message::Flush => self.answers = true,
            Message::Terminate => return Ok(Next::End),
            // A client may still send what belongs to a COPY that failed.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::FunctionCall => {
                self.answers = true;
                let error = SqlError::unsupported("the function call message");
                self.wire.output.error(Severity::Error, &error);
                self.ready();
            }
            Message::Password(_) => {
                let text = "invalid frontend message type 112";
                return Err(self.fatal(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text)));
            }
        }
        Ok(Next::Message)
    }

    /// An error that ends the connection.
    fn fatal(&mut self, error: SqlError) -> SqlError {
        self.wire.broken = true;
        error
    }

    /// Tells of an error; it is given back if it ends the connection.
    fn fail(&mut self, kind: u8, error: &SqlError) -> Result<(), SqlError> {
        let ends = self.wire.broken || error.sqlstate == sqlstate::ADMIN_SHUTDOWN;
        if ends || self.session.ending().is_some() {
            return Err(error.clone());
        }
        if self.wire.is_ending() && error.sqlstate == sqlstate::QUERY_CANCELED {
            // Cancelled because the session ends: that is what the client hears.
            return Err(self.ended());
        }
        tracing::debug!(session = self.session.id(), %error, "error");
        self.wire.output.error(Severity::Error, error);
        match kind {
            b'P' | b'B' | b'D' | b'C' | b'E' | b'H' => self.skips = true,
            _ => {
                self.answers = true;
                self.ready();
            }
        }
        Ok(())
    }

    /// Takes a place among those who run; it is kept until the client is waited for.
    fn admit(&mut self) {
        if self.wire.place.is_none() && !self.session.in_transaction() {
            self.wire.place = Some(self.shared.admission.enter());
        }
    }

    fn query(&mut self, sql: &str) -> Result<(), SqlError> {
        self.admit();
        self.answers = true;
        self.prepared.forget_unnamed();
        let time_zone = self.session.timezone().clone();
        let mut sink = WireSink::simple(&mut self.wire, time_zone);
        let result = self.session.execute(sql, &[], &mut sink);
        let (completed, changed) = (sink.completed, sink.settings_changed);
        self.settings_changed |= changed;
        result?;
        if completed == 0 {
            self.wire.output.empty_query();
        }
        self.ready();
        Ok(())
    }

    fn sync(&mut self) {
        self.answers = true;
        let skipped = std::mem::replace(&mut self.skips, false);
        if self.session.in_transaction() {
            // The series may be committed now, which waits for the disk (R3).
            self.wire.place = None;
        }
        if let Err(error) = self.session.sync()
            && !skipped
        {
            self.wire.output.error(Severity::Error, &error);
        }
        self.ready();
    }

    /// ReadyForQuery, and before it the settings that have changed.
    fn ready(&mut self) {
        let status = self.session.status();
        if self.settings_changed {
            for (name, told) in REPORTED.iter().zip(&mut self.reported) {
                let value = self.session.show(name).unwrap_or_default();
                if value != *told {
                    self.wire.output.parameter_status(name, &value);
                    *told = value;
                }
            }
            // The end of a transaction may bring old values back.
            self.settings_changed = status != TransactionStatus::Idle;
        }
        self.wire.output.ready(match status {
            TransactionStatus::Idle => {
                self.prepared.forget_portals();
                Ready::Idle
            }
            TransactionStatus::InTransaction => Ready::Transaction,
            TransactionStatus::Failed => Ready::Failed,
        });
    }

    /// What a client hears whose session was told to end.
    fn ended(&self) -> SqlError {
        self.session.ending().unwrap_or_else(wire::ended)
    }
}
