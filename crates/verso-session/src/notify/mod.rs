//! LISTEN, NOTIFY, UNLISTEN: messages from transactions to the sessions that listen.
//!
//! ```text
//! NOTIFY, pg_notify ─► pending, of the transaction ─COMMIT─► a place in the line ─visible─► inboxes ─► who owns the sessions
//! LISTEN, UNLISTEN ──►                             ─visible─► who listens to what
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`pending`] | what a transaction has said and nobody knows yet |
//! | [`channels`] | who listens to what, the line, the inboxes; one for the instance |
//! | [`leaving`] | what a transaction that commits takes to them |
//!
//! N1. Nothing leaves a transaction before its commit is visible, and nothing of one that is rolled back, or of what was
//!     rolled back within it.
//! N2. Messages reach every listener in the order in which their transactions took their places in the line, which they do
//!     before they are visible: who has seen another's commit stands behind it.
//! N3. Who listens is asked when the transaction is visible: who began to listen, and then looked at the tables, misses
//!     nothing.
//! N4. A commit that finds no room fails; what waits for listeners is bounded by [`channels::QUEUE_BYTES`] and charged to the
//!     instance's memory. A message's text is counted once, however many it waits for.
//! N5. A session's messages are taken out by its owner, outside of transactions; a session that ends leaves nothing behind.

mod channels;
mod leaving;
mod pending;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_exec::context::Notifications;
use verso_exec::error::{ExecError, Result};

pub(crate) use channels::Channels;
pub use channels::{Notification, Wake};
pub(crate) use leaving::Leaving;
pub(crate) use pending::Mark;
use pending::{Action, Message, Pending};

use crate::services::Services;
use verso_planner::errors::{SqlError, sqlstate};

/// Bytes of a channel's name, as of every name.
const CHANNEL_BYTES_MAX: usize = 63;
/// Bytes of a payload, as in PostgreSQL: a message fits on a page of it.
const PAYLOAD_BYTES_MAX: usize = 7999;

/// A session's part of it.
#[derive(Default)]
pub(crate) struct Notify {
    pending: RefCell<Pending>,
    /// The session has listened to something since it began, or since it gave up everything.
    listens: Cell<bool>,
    /// There is something in its inbox.
    ready: Arc<AtomicBool>,
    /// Whom to tell.
    wake: RefCell<Option<Wake>>,
}

impl Notify {
    /// Whether messages have come.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.listens.get() && self.ready.load(Ordering::SeqCst)
    }

    /// Whether the session may listen to something.
    pub(crate) fn listens(&self) -> bool {
        self.listens.get()
    }

    /// Whom to tell of messages that have come.
    pub(crate) fn set_wake(&self, wake: Wake) {
        *self.wake.borrow_mut() = Some(wake);
    }

    /// What was said since the mark did not happen.
    pub(crate) fn return_to(&self, mark: Mark) {
        self.pending.borrow_mut().truncate(mark);
    }

    /// How much the transaction has said.
    pub(crate) fn mark(&self) -> Mark {
        self.pending.borrow().mark()
    }

    /// Nothing of it happened.
    pub(crate) fn forget(&self) {
        if !self.pending.borrow().is_unused() {
            self.pending.take();
        }
    }

    /// Whether the transaction has neither listened nor said anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.borrow().is_empty()
    }

    /// Savepoints of handlers in PL/pgSQL, by their names.
    pub(crate) fn handlers(&self) -> std::cell::RefMut<'_, Pending> {
        self.pending.borrow_mut()
    }
}

impl Services {
    /// LISTEN.
    pub(crate) fn listen(&self, channel: &str) -> std::result::Result<(), SqlError> {
        let mut pending = self.notify.pending.borrow_mut();
        Ok(pending.act(Action::Listen(channel.into()), self.memory.lend())?)
    }

    /// UNLISTEN of one channel, or of all. Who listens to nothing has nothing to do.
    pub(crate) fn unlisten(&self, channel: Option<&str>) -> std::result::Result<(), SqlError> {
        let mut pending = self.notify.pending.borrow_mut();
        if !self.notify.listens.get() && pending.is_without_actions() {
            return Ok(());
        }
        let action = channel.map_or(Action::UnlistenAll, |channel| Action::Unlisten(channel.into()));
        Ok(pending.act(action, self.memory.lend())?)
    }

    /// The session listens to nothing from now on.
    pub(crate) fn unlisten_all(&self) {
        if self.notify.listens.replace(false) {
            self.instance.channels.forget(self.info.number);
            self.notify.ready.store(false, Ordering::SeqCst);
        }
    }

    /// Takes out messages that have come, up to so many bytes of them.
    pub(crate) fn take_notifications(&self, bytes_max: usize) -> Vec<Notification> {
        match self.notify.is_ready() {
            true => self.instance.channels.take(self.info.number, bytes_max),
            false => Vec::new(),
        }
    }
}

impl Notifications for Services {
    fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        let refused = |text: &str| Err(ExecError::raised(sqlstate::INVALID_PARAMETER_VALUE, text.to_owned()));
        match (channel.len(), payload.len()) {
            (0, _) => return refused("channel name cannot be empty"),
            (length, _) if length > CHANNEL_BYTES_MAX => return refused("channel name too long"),
            (_, length) if length > PAYLOAD_BYTES_MAX => return refused("payload string too long"),
            _ => {}
        }
        let message = Message { channel: channel.into(), payload: payload.into() };
        self.notify.pending.borrow_mut().say(message, self.memory.lend())
    }

    fn listening(&self) -> Vec<Arc<str>> {
        match self.notify.listens.get() {
            true => self.instance.channels.of(self.info.number),
            false => Vec::new(),
        }
    }

    fn queue_usage(&self) -> f64 {
        self.instance.channels.usage()
    }
}
