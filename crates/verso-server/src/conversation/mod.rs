//! One client's messages, in order.
//!
//! ```text
//! startup ─► loop: Query                                   ─► results, ReadyForQuery
//!                  Parse, Bind, Describe, Execute … Sync   ─► results, ReadyForQuery
//! ```
//!
//! M1. Answers are sent when the client waits for them: after Sync, Query, Flush and errors, once no further message is here;
//!     so a pipeline of many is answered by few writes.
//! M2. After an error in the extended protocol everything up to Sync is skipped.
//! M3. A portal lives until its transaction ends, the unnamed ones until they are made again or a Query comes.
//! M4. Messages of NOTIFY are told outside of transactions: before ReadyForQuery, and when the client is waited for. They wake
//!     a session that waits (K7 of [`workers`](crate::workers)).
//! M5. A panic in a statement is an error of that statement (`Session::contained`); one outside of any ends the session,
//!     not the server.
//! M6. A commit that does not wait for the disk (`NOWAIT`) is answered before the session waits for anything, also where it is
//!     published behind commits that wait.
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

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use verso_session::errors::sqlstate;
use verso_session::{Session, SqlError, TransactionStatus};

use crate::backends::Connected;
use crate::databases::Lease;
use crate::network::input::{Frame, Input};
use crate::network::stream::{Peer, Waits};
use crate::protocol::Malformed;
use crate::protocol::backend::{Ready, Severity};
use crate::protocol::conversion::in_utf8;
use crate::protocol::frontend::Message;
use crate::server::Shared;
use crate::workers::{Client, Pool, Turn};
use extended::Prepared;
use sink::WireSink;
use startup::{REPORTED, Started};
use wire::{Wire, malformed};

/// Bytes of answers kept back before they are sent, though the client does not wait for them.
const SEND_BYTES: usize = 64 << 10;

/// Begins a connection on this thread, and leaves it to the pool once its client has logged in.
pub fn converse(shared: &Arc<Shared>, pool: &Arc<Pool>, wire: Wire, peer: Peer, connected: Connected) {
    let mut connection = Some(wire);
    let started = match startup::start(shared, &mut connection, &connected.socket, peer) {
        Ok(Some(started)) => started,
        Ok(None) => return,
        Err(error) => {
            tracing::info!(client = %peer, sqlstate = error.sqlstate, %error, "refused");
            if let Some(wire) = &mut connection {
                shared.report(wire, &error);
            }
            return;
        }
    };
    let Started { mut session, wire, reported, lease } = started;
    let socket = Arc::clone(&connected.socket);
    session.defer_commits();
    let line = Arc::clone(lease.line());
    let mut conversation = Conversation {
        shared: Arc::clone(shared),
        wire,
        session,
        prepared: Prepared::default(),
        reported,
        told_epoch: 0,
        skips: false,
        answers: true,
        uses_blocks: false,
        lost: None,
        body: Vec::new(),
        _lease: lease,
        _connected: connected,
    };
    if conversation.ready().is_err() {
        return;
    }
    let running = conversation.session.cancel_handle();
    let backend = conversation.wire.backend.as_ref().map(|registered| Arc::clone(registered.backend()));
    let gone = Box::new(move || {
        // The server has closed the reading side of one that is to end behind its statement, which looks the same.
        if !backend.as_ref().is_some_and(|backend| backend.is_ending()) {
            running.cancel();
        }
    });
    if let Err(error) = pool.adopt(&socket, &line, Box::new(conversation), gone) {
        tracing::warn!(%error, %peer, "cannot listen to a client");
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
    /// When that was, as the session counts changes of its settings.
    told_epoch: u64,
    /// An error happened; everything up to Sync is skipped (M2).
    skips: bool,
    /// The client waits for answers (M1).
    answers: bool,
    /// A transaction block was open since the client was last waited for in vain: it keeps its worker (K3 of
    /// [`workers`](crate::workers)).
    uses_blocks: bool,
    /// A commit that was not waited for has failed.
    lost: Option<SqlError>,
    /// The message that is being answered, if it was copied.
    body: Vec<u8>,
    /// Behind the session: who waits for the database to be free finds it free.
    _lease: Lease,
    /// The last to go.
    _connected: Connected,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The next message.
    Message,
    /// Nothing, until the client says more.
    Wait,
    /// Nothing, until the log is on disk up to there.
    Commit(u64),
    End,
}

#[cold]
fn broken() -> SqlError {
    SqlError::internal("the session ended by a bug of the server")
}

impl Client for Conversation {
    fn turn(&mut self) -> Turn {
        self.wire.heard();
        // What a panic leaves behind is dropped with the session, whose transaction is rolled back (M5).
        let result = catch_unwind(AssertUnwindSafe(|| self.answer_all()));
        let reason = match result {
            Ok(Ok(Next::Wait | Next::Message)) => return Turn::Waits,
            Ok(Ok(Next::Commit(upto))) => return Turn::Commits(upto),
            Ok(Ok(Next::End)) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(broken()),
        };
        self.leave(reason)
    }

    fn seated(&mut self, call: Arc<dyn Fn() + Send + Sync>) {
        self.session.on_notification(call);
    }

    fn is_called(&self) -> bool {
        self.session.listens()
    }

    fn committed(&mut self) {
        let settled = catch_unwind(AssertUnwindSafe(|| self.settle()));
        self.lost = settled.unwrap_or_else(|_| Err(broken())).err();
    }
}

impl Conversation {
    /// The end of the connection.
    fn leave(&mut self, reason: Option<SqlError>) -> Turn {
        // Answers to what came before are sent, though nobody may be there to read them.
        let reason = self.settle().err().or(reason);
        // Where the connection was cut because the session was to end, that is the reason.
        let reason = reason.map(|error| self.session.ending().unwrap_or(error));
        let _ = self.send_answers();
        let id = self.session.id();
        if let Some(error) = &reason {
            tracing::info!(session = id, %error, "disconnected");
            self.shared.report(&mut self.wire, error);
        } else {
            tracing::info!(session = id, "disconnected");
        }
        // From now on somebody else may come.
        drop(self.wire.backend.take());
        Turn::Ends
    }

    /// A commit that was not waited for is on disk before anything is sent or done.
    fn settle(&mut self) -> Result<(), SqlError> {
        self.session.settle().inspect_err(|_| {
            // Who was promised a commit that did not happen hears that instead.
            self.wire.output.clear(0);
            self.wire.broken = true;
        })
    }

    /// The same before something is sent, unless the client is to be answered at once (M6).
    fn settle_first(&mut self) -> Result<(), SqlError> {
        if self.session.answers_first() { Ok(()) } else { self.settle() }
    }

    /// Answers messages until no more are here or the client leaves; an error ends the connection.
    fn answer_all(&mut self) -> Result<Next, SqlError> {
        if let Some(error) = self.lost.take() {
            return Err(error);
        }
        loop {
            let frame = match self.wire.input.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => match self.refill()? {
                    Next::Message => continue,
                    next => return Ok(next),
                },
                Err(error) => return Err(malformed(error)),
            };
            if self.wire.is_ending() {
                return Err(self.ended());
            }
            if !matches!(frame.kind, b'S' | b'H' | b'C') {
                // What is no end of a series may look at what the commit has made.
                if self.session.answers_first() {
                    // The answer to the commit does not wait for that.
                    self.wire.send()?;
                }
                self.settle()?;
            }
            let next = self.dispatch(&frame);
            match next {
                Ok(Next::Message | Next::Wait | Next::Commit(_)) => {}
                Ok(Next::End) => return Ok(Next::End),
                Err(error) => self.fail(frame.kind, &error)?,
            }
            if self.wire.is_ending() {
                return Err(self.ended());
            }
            if self.wire.output.len() >= SEND_BYTES {
                self.settle_first()?;
                self.wire.send()?;
            }
        }
    }

    /// Sends the answers and takes what has come meanwhile.
    fn refill(&mut self) -> Result<Next, SqlError> {
        let waits = match self.session.in_transaction() {
            true => Waits::Ever,
            false if self.uses_blocks => Waits::Awhile,
            false => Waits::No,
        };
        self.uses_blocks = waits != Waits::No;
        match self.session.unsettled() {
            Some(upto) if waits == Waits::No => return Ok(Next::Commit(upto)),
            _ => self.settle_first()?,
        }
        self.deliver()?;
        self.send_answers()?;
        // What the commit leaves to its publication, messages to others among it, does not wait for what the client says next.
        self.session.settle_answered().inspect_err(|_| self.wire.broken = true)?;
        match self.wire.read(waits) {
            _ if self.wire.is_ending() => Err(self.ended()),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                let (kind, error) = self.wire.refused(&error);
                self.fail(kind, &error)?;
                Ok(Next::Message)
            }
            // A client that just leaves has its transaction rolled back.
            Ok(Some(0)) | Err(_) => Ok(Next::End),
            Ok(Some(_)) => Ok(Next::Message),
            Ok(None) => {
                self.uses_blocks = false;
                Ok(Next::Wait)
            }
        }
    }

    /// Tells the client of messages that have come for it (M4).
    fn deliver(&mut self) -> Result<(), SqlError> {
        // Behind an error the client is in the middle of a series.
        while !self.skips {
            let come = self.session.take_notifications(SEND_BYTES);
            if come.is_empty() {
                break;
            }
            self.answers = true;
            come.iter().for_each(|notification| self.wire.output.notification(notification));
            if self.wire.output.len() >= SEND_BYTES {
                self.settle_first()?;
                self.wire.send()?;
            }
        }
        Ok(())
    }

    /// Sends what the client waits for (M1).
    fn send_answers(&mut self) -> Result<(), SqlError> {
        let answers = std::mem::replace(&mut self.answers, false);
        if answers && !self.wire.output.is_empty() { self.wire.send() } else { Ok(()) }
    }

    /// Answers a message where it lies, or a copy of it if the answer may read on, for COPY.
    fn dispatch(&mut self, frame: &Frame) -> Result<Next, SqlError> {
        let encoding = self.session.timezone().encoding;
        if matches!(frame.kind, b'Q' | b'E') {
            let mut body = std::mem::take(&mut self.body);
            body.clear();
            match in_utf8(frame.kind, self.wire.input.body(frame), encoding) {
                Ok(Some(converted)) => body = converted,
                Ok(None) => body.extend_from_slice(self.wire.input.body(frame)),
                Err(flaw) => return Err(self.refused(flaw)),
            }
            let message = Message::parse(frame.kind, &body).map_err(|flaw| self.refused(flaw));
            let next = message.and_then(|message| self.answer(message));
            body.shrink_to(SEND_BYTES);
            self.body = body;
            return next;
        }
        let input = std::mem::replace(&mut self.wire.input, Input::new(0));
        let converted = in_utf8(frame.kind, input.body(frame), encoding).map_err(|flaw| self.refused(flaw));
        let next = converted.and_then(|converted| {
            let body = converted.as_deref().unwrap_or(input.body(frame));
            let message = Message::parse(frame.kind, body).map_err(|flaw| self.refused(flaw));
            message.and_then(|message| self.answer(message))
        });
        self.wire.input = input;
        next
    }

    /// A message that cannot be read fails the transaction, as a statement does.
    fn refused(&mut self, flaw: Malformed) -> SqlError {
        self.session.fail();
        malformed(flaw)
    }

    fn answer(&mut self, message: Message<'_>) -> Result<Next, SqlError> {
        if self.skips && !matches!(message, Message::Sync | Message::Terminate) {
            return Ok(Next::Message);
        }
        match message {
            Message::Query(sql) => {
                let done = self.query(sql);
                self.logged(done, |_| Some(sql.into()))?;
            }
            Message::Parse { name, sql, types } => {
                let done = self.parse(name, sql, &types);
                self.logged(done, |_| Some(sql.into()))?;
            }
            Message::Bind(bind) => {
                let done = self.bind(&bind);
                self.logged(done, |own| own.text_of(bind.statement))?;
            }
            Message::Describe(target, name) => {
                let done = self.describe(target, name);
                self.logged(done, |_| None)?;
            }
            Message::Execute { portal, rows_max } => {
                let done = self.execute(portal, rows_max);
                self.logged(done, |own| own.text_of_portal(portal))?;
            }
            Message::Close(target, name) => self.close(target, name),
            Message::Sync => self.sync()?,
            Message::Flush => self.answers = true,
            Message::Terminate => return Ok(Next::End),
            // A client may still send what belongs to a COPY that failed.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {}
            Message::FunctionCall => {
                self.answers = true;
                self.session.fail();
                let error = SqlError::unsupported("the function call message");
                self.session.log_error(&error, None);
                self.wire.output.error(Severity::Error, &error);
                self.ready()?;
            }
            Message::Password(_) => {
                let text = "invalid frontend message type 112";
                return Err(self.fatal(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text)));
            }
        }
        Ok(Next::Message)
    }

    /// Logs the error of a message, with the text of the statement that it is about. What ends the session is logged when
    /// it leaves.
    fn logged(
        &self,
        done: Result<(), SqlError>,
        text: impl FnOnce(&Conversation) -> Option<Arc<str>>,
    ) -> Result<(), SqlError> {
        if let Err(error) = &done
            && !self.wire.broken
            && self.session.ending().is_none()
        {
            self.session.log_error(error, text(self).as_deref());
        }
        done
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
        self.wire.output.error(Severity::Error, error);
        // Nobody has to ask for it: a Flush may be among what is skipped.
        self.answers = true;
        match kind {
            b'P' | b'B' | b'D' | b'C' | b'E' | b'H' => self.skips = true,
            _ => self.ready()?,
        }
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<(), SqlError> {
        self.answers = true;
        self.prepared.forget_unnamed();
        let time_zone = self.session.timezone().clone();
        let mut sink = WireSink::simple(&mut self.wire, time_zone);
        let result = self.session.execute(sql, &[], &mut sink);
        let completed = sink.completed;
        result?;
        if completed == 0 {
            self.wire.output.empty_query();
        }
        self.ready()
    }

    fn sync(&mut self) -> Result<(), SqlError> {
        self.answers = true;
        let skipped = std::mem::replace(&mut self.skips, false);
        if let Err(error) = self.session.sync()
            && !skipped
        {
            self.session.log_error(&error, None);
            self.wire.output.error(Severity::Error, &error);
        }
        self.ready()
    }

    /// ReadyForQuery, and before it the settings that have changed and the messages that have come.
    fn ready(&mut self) -> Result<(), SqlError> {
        let status = self.session.status();
        let epoch = self.session.settings_epoch();
        self.wire.output.encoding = self.session.timezone().encoding;
        if self.told_epoch != epoch {
            self.told_epoch = epoch;
            for (name, told) in REPORTED.iter().zip(&mut self.reported) {
                let value = self.session.show(name).unwrap_or_default();
                if value != *told {
                    self.wire.output.parameter_status(name, &value);
                    *told = value;
                }
            }
        }
        self.deliver()?;
        self.wire.output.ready(match status {
            TransactionStatus::Idle => {
                self.prepared.forget_portals();
                Ready::Idle
            }
            TransactionStatus::InTransaction => Ready::Transaction,
            TransactionStatus::Failed => Ready::Failed,
        });
        Ok(())
    }

    /// What a client hears whose session was told to end.
    fn ended(&self) -> SqlError {
        self.session.ending().unwrap_or_else(wire::ended)
    }
}
