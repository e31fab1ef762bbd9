//! What a transaction has said by LISTEN, UNLISTEN and NOTIFY, in the order in which it did.
//!
//! 1. A message that is there already is not said again.
//! 2. What came behind a savepoint goes with it. Those of sessions remember how much there was ([`Mark`]); those of handlers in
//!    PL/pgSQL, which end in the order of a stack, are marked here.

use std::collections::HashSet;
use std::sync::Arc;

use verso_exec::error::Result;
use verso_exec::memory::{Memory, Reservation};

use crate::marks::Marks;

/// Bytes of what is around the text of a message or a channel.
pub(super) const AROUND_BYTES: u64 = 128;

/// What a channel is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub channel: Arc<str>,
    pub payload: Arc<str>,
}

impl Message {
    /// What it takes.
    pub(super) fn bytes(&self) -> u64 {
        AROUND_BYTES + (self.channel.len() + self.payload.len()) as u64
    }
}

/// What is done to the channels of the session.
#[derive(Debug)]
pub(super) enum Action {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
}

impl Action {
    fn bytes(&self) -> u64 {
        match self {
            Action::Listen(channel) | Action::Unlisten(channel) => AROUND_BYTES + channel.len() as u64,
            Action::UnlistenAll => AROUND_BYTES,
        }
    }
}

/// A place in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    actions: usize,
    messages: usize,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(super) actions: Vec<Action>,
    pub(super) messages: Vec<Message>,
    /// The same messages.
    seen: HashSet<Message>,
    bytes: u64,
    held: Option<Reservation>,
    marks: Marks<Mark>,
}

impl Pending {
    /// Keeps a message, unless it was said before.
    pub(super) fn say(&mut self, message: Message, memory: Memory<'_>) -> Result<()> {
        if self.seen.contains(&message) {
            return Ok(());
        }
        self.charge(message.bytes(), memory)?;
        self.seen.insert(message.clone());
        self.messages.push(message);
        Ok(())
    }

    /// Keeps what is to be done.
    pub(super) fn act(&mut self, action: Action, memory: Memory<'_>) -> Result<()> {
        self.charge(action.bytes(), memory)?;
        self.actions.push(action);
        Ok(())
    }

    fn charge(&mut self, bytes: u64, memory: Memory<'_>) -> Result<()> {
        let held = self.held.get_or_insert_with(|| memory.account.reserve("notifications", u64::MAX));
        held.add(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.actions.is_empty()
    }

    /// Whether there is not even a mark.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() && self.marks.is_empty()
    }

    pub(super) fn is_without_actions(&self) -> bool {
        self.actions.is_empty()
    }

    /// How much there is.
    pub(super) fn mark(&self) -> Mark {
        Mark { actions: self.actions.len(), messages: self.messages.len() }
    }

    /// Forgets what came behind the mark.
    pub(super) fn truncate(&mut self, mark: Mark) {
        if mark.messages < self.messages.len() {
            for message in self.messages.drain(mark.messages..) {
                self.bytes -= message.bytes();
                self.seen.remove(&message);
            }
        }
        if mark.actions < self.actions.len() {
            self.bytes -= self.actions.drain(mark.actions..).map(|action| action.bytes()).sum::<u64>();
        }
        if let Some(held) = &mut self.held {
            // Less is never refused.
            let _ = held.resize(self.bytes);
        }
    }

    /// A savepoint of a handler.
    pub(crate) fn mark_named(&mut self, name: &str) {
        self.marks.set(name, self.mark());
    }

    /// Back to it; it stays.
    pub(crate) fn return_to_named(&mut self, name: &str) {
        if let Some(mark) = self.marks.return_to(name) {
            self.truncate(mark);
        }
    }

    /// It ends.
    pub(crate) fn release_named(&mut self, name: &str) {
        self.marks.release(name);
    }
}
