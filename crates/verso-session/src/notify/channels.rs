//! Who listens to what, and the messages on their way: one for the instance.
//!
//! 1. A transaction takes its place at the end of the line. Places go from its front: those that were given up, and those
//!    whose transactions are visible, whose messages then are in the inboxes of who listens. So one that is not visible yet
//!    keeps back those behind it, as long as its commit takes.
//! 2. Sessions are told when something comes into an empty inbox, and never under the lock.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use verso_exec::memory::{Account, Reservation};

use super::pending::{AROUND_BYTES, Message};
use verso_planner::errors::SqlError;

/// What may wait for listeners, in bytes.
pub(super) const QUEUE_BYTES: u64 = 64 << 20;
/// Bytes of a message's place in an inbox.
const ENTRY_BYTES: u64 = 16;

/// Tells the owner of a session that messages have come, from another thread.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// A message that a session gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The number of the session that has sent it.
    pub backend: i32,
    /// The channel.
    pub channel: Arc<str>,
    /// What was said; empty if nothing was.
    pub payload: Arc<str>,
}

/// A message on its way.
struct Queued {
    by: i32,
    message: Message,
    /// Inboxes that it is in; changed under the lock.
    inboxes: AtomicU32,
}

/// A transaction's place in the line.
enum Place {
    /// It is not visible yet, and may never be.
    Taken,
    /// It is visible.
    Due(Vec<Arc<Queued>>),
    /// It has been rolled back.
    Empty,
}

/// What a session that listens gets.
struct Inbox {
    /// In the order in which it began to listen to them.
    channels: Vec<Arc<str>>,
    waiting: VecDeque<Arc<Queued>>,
    /// There is something.
    ready: Arc<AtomicBool>,
    wake: Option<Wake>,
}

/// All of it.
pub(crate) struct Channels {
    state: Mutex<State>,
}

struct State {
    listeners: HashMap<Arc<str>, BTreeSet<u64>>,
    inboxes: HashMap<u64, Inbox>,
    line: VecDeque<Place>,
    /// The number of the place at its front.
    first: u64,
    /// What messages take, in the line and in inboxes.
    queued: u64,
    /// What the names of channels take.
    named: u64,
    held: Reservation,
}

/// A place in the line; given up if it is dropped.
pub(super) struct Placed {
    channels: Arc<Channels>,
    number: u64,
    messages: Vec<Arc<Queued>>,
}

impl Channels {
    /// Of an instance with that account.
    pub(crate) fn new(memory: &Account) -> Channels {
        let state = State {
            listeners: HashMap::new(),
            inboxes: HashMap::new(),
            line: VecDeque::new(),
            first: 0,
            queued: 0,
            named: 0,
            held: memory.reserve("notifications", u64::MAX),
        };
        Channels { state: Mutex::new(state) }
    }

    /// Takes a place for messages of session `by`.
    pub(super) fn place(self: Arc<Self>, by: i32, messages: Vec<Message>) -> Result<Placed, SqlError> {
        let bytes: u64 = messages.iter().map(Message::bytes).sum();
        let queue = |message| Arc::new(Queued { by, message, inboxes: AtomicU32::new(0) });
        let messages = messages.into_iter().map(queue).collect();
        let mut state = self.state.lock();
        if state.queued + bytes > QUEUE_BYTES {
            return Err(SqlError::new("54000", "too many notifications in the NOTIFY queue"));
        }
        let wanted = state.queued + state.named + bytes;
        state.held.resize(wanted)?;
        state.queued += bytes;
        state.line.push_back(Place::Taken);
        let number = state.first + state.line.len() as u64 - 1;
        drop(state);
        Ok(Placed { channels: self, number, messages })
    }

    /// A session listens to a channel from now on.
    pub(super) fn listen(
        &self,
        session: u64,
        channel: Arc<str>,
        ready: &Arc<AtomicBool>,
        wake: Option<Wake>,
    ) {
        let mut state = self.state.lock();
        if !state.listeners.entry(Arc::clone(&channel)).or_default().insert(session) {
            return;
        }
        state.named += AROUND_BYTES + channel.len() as u64;
        let fresh =
            || Inbox { channels: Vec::new(), waiting: VecDeque::new(), ready: Arc::clone(ready), wake };
        state.inboxes.entry(session).or_insert_with(fresh).channels.push(channel);
        state.count();
    }

    /// A session listens to a channel no more, and does not get what has come from it.
    pub(super) fn unlisten(&self, session: u64, channel: &str) {
        let mut state = self.state.lock();
        state.remove(session, channel);
        let Some(inbox) = state.inboxes.get_mut(&session) else { return };
        inbox.channels.retain(|known| **known != *channel);
        let waiting = std::mem::take(&mut inbox.waiting);
        let (gone, kept) = waiting.into_iter().partition(|queued| *queued.message.channel == *channel);
        inbox.waiting = kept;
        let inbox_is_empty = inbox.waiting.is_empty();
        inbox.ready.store(!inbox_is_empty, Ordering::SeqCst);
        if inbox.channels.is_empty() {
            state.inboxes.remove(&session);
        }
        state.release(gone);
        state.count();
    }

    /// A session listens to nothing any more.
    pub(crate) fn forget(&self, session: u64) {
        let mut state = self.state.lock();
        let Some(inbox) = state.inboxes.remove(&session) else { return };
        inbox.channels.iter().for_each(|channel| state.remove(session, channel));
        state.release(inbox.waiting);
        state.count();
    }

    /// The channels of a session.
    pub(super) fn of(&self, session: u64) -> Vec<Arc<str>> {
        self.state.lock().inboxes.get(&session).map_or_else(Vec::new, |inbox| inbox.channels.clone())
    }

    /// How full the queue is, from 0 to 1.
    pub(super) fn usage(&self) -> f64 {
        (self.state.lock().queued as f64 / QUEUE_BYTES as f64).min(1.0)
    }

    /// Takes messages out of a session's inbox, until they have so many bytes or there are no more.
    pub(super) fn take(&self, session: u64, bytes_max: usize) -> Vec<Notification> {
        let mut state = self.state.lock();
        let Some(inbox) = state.inboxes.get_mut(&session) else { return Vec::new() };
        let (mut bytes, mut taken) = (0, Vec::new());
        while bytes < bytes_max as u64
            && let Some(queued) = inbox.waiting.pop_front()
        {
            bytes += queued.message.bytes();
            taken.push(queued);
        }
        if inbox.waiting.is_empty() {
            inbox.waiting.shrink_to(64);
            inbox.ready.store(false, Ordering::SeqCst);
        }
        let told = |queued: &Arc<Queued>| Notification {
            backend: queued.by,
            channel: Arc::clone(&queued.message.channel),
            payload: Arc::clone(&queued.message.payload),
        };
        let notifications = taken.iter().map(told).collect();
        state.release(taken);
        state.count();
        notifications
    }

    /// The place's transaction has ended; `own` is its session, which need not be told of what has come.
    fn settle(&self, number: u64, place: Place, own: Option<u64>) {
        let mut wakes = Vec::new();
        {
            let mut state = self.state.lock();
            let at = number.wrapping_sub(state.first) as usize;
            if let Some(known) = state.line.get_mut(at) {
                *known = place;
            }
            state.advance(own, &mut wakes);
            state.count();
        }
        wakes.iter().for_each(|wake| wake());
    }
}

impl State {
    /// Lets places go from the front of the line.
    fn advance(&mut self, own: Option<u64>, wakes: &mut Vec<Wake>) {
        while let Some(place) = self.line.pop_front() {
            match place {
                Place::Taken => {
                    self.line.push_front(place);
                    break;
                }
                Place::Empty => {}
                Place::Due(messages) => {
                    messages.into_iter().for_each(|queued| self.hand_out(queued, own, wakes))
                }
            }
            self.first += 1;
        }
    }

    /// Puts a message into the inboxes of who listens to its channel.
    fn hand_out(&mut self, queued: Arc<Queued>, own: Option<u64>, wakes: &mut Vec<Wake>) {
        let mut count = 0;
        for session in self.listeners.get(&queued.message.channel).into_iter().flatten() {
            let Some(inbox) = self.inboxes.get_mut(session) else { continue };
            inbox.waiting.push_back(Arc::clone(&queued));
            count += 1;
            if !inbox.ready.swap(true, Ordering::SeqCst) && own != Some(*session) {
                wakes.extend(inbox.wake.clone());
            }
        }
        queued.inboxes.store(count, Ordering::Relaxed);
        self.queued += u64::from(count) * ENTRY_BYTES;
        if count == 0 {
            self.queued -= queued.message.bytes();
        }
    }

    /// These have left an inbox.
    fn release(&mut self, gone: impl IntoIterator<Item = Arc<Queued>>) {
        for queued in gone {
            self.queued -= ENTRY_BYTES;
            if queued.inboxes.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.queued -= queued.message.bytes();
            }
        }
    }

    /// A session is no listener of the channel any more.
    fn remove(&mut self, session: u64, channel: &str) {
        let Some(sessions) = self.listeners.get_mut(channel) else { return };
        if sessions.remove(&session) {
            self.named -= AROUND_BYTES + channel.len() as u64;
        }
        if sessions.is_empty() {
            self.listeners.remove(channel);
        }
    }

    /// Counts what there is.
    fn count(&mut self) {
        self.held.hold(self.queued + self.named);
    }
}

impl Placed {
    /// Its transaction is visible, one of session `own`.
    pub(super) fn go(mut self, own: u64) {
        let messages = std::mem::take(&mut self.messages);
        self.channels.settle(self.number, Place::Due(messages), Some(own));
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if self.messages.is_empty() {
            return; // it has gone
        }
        let bytes: u64 = self.messages.iter().map(|queued| queued.message.bytes()).sum();
        self.channels.state.lock().queued -= bytes;
        self.channels.settle(self.number, Place::Empty, None);
    }
}
