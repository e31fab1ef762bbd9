//! Who is connected: numbers, secrets, and the ways to cancel and to end a session from outside.
//!
//! B1. A cancel request needs the secret that only the session's own client was told; SQL needs the right role.
//! B2. Ending a session wakes it wherever it is: in a statement, in a read from its client, in a write to it.
//! B3. It is told that it ends before its read does: a read that ends unasked is a client that has left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::Random;
use verso_env::sync::{Condvar, Mutex};
use verso_session::errors::sqlstate;
use verso_session::{CancelHandle, SqlError};

use crate::auth::same;
use crate::network::stream::Socket;

/// A connection beyond its start.
#[derive(Debug)]
pub struct Backend {
    /// Its number.
    pub id: i32,
    key: Vec<u8>,
    socket: Arc<Socket>,
    cancel: CancelHandle,
    ending: AtomicBool,
}

impl Backend {
    /// Cancels its statement.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends it (B2). A statement that is just about to begin ends as well: the session knows why, so that it does not take
    /// the cancel for one of what was before.
    pub fn terminate(&self) {
        self.finish();
        self.cancel.terminate();
    }

    /// Asks it to end once its statement is done.
    pub fn finish(&self) {
        self.ending.store(true, Ordering::SeqCst);
        self.socket.stop_reading();
    }

    /// Ends it without a word.
    pub fn abort(&self) {
        self.terminate();
        self.socket.stop();
    }

    /// Whether it was told to end.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    /// The secret for cancel requests.
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

/// A session that counts among those that there may be, until this goes: also one that is refused behind its registration.
#[derive(Debug)]
pub struct Registered {
    backends: Arc<Backends>,
    backend: Arc<Backend>,
}

impl Registered {
    /// The session.
    pub fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.backends.known.lock().sessions.remove(&self.backend.id);
    }
}

/// A connection that is there: its end, however it comes, closes the socket and tells who waits for it.
#[derive(Debug)]
pub struct Connected {
    backends: Arc<Backends>,
    number: u64,
    /// Its socket.
    pub socket: Arc<Socket>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.socket.stop();
        self.backends.known.lock().sockets.remove(&self.number);
        self.backends.fewer.notify_all();
    }
}

/// All of them.
#[derive(Debug)]
pub struct Backends {
    max: usize,
    known: Mutex<Known>,
    fewer: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    /// Beyond their start.
    sessions: BTreeMap<i32, Arc<Backend>>,
    /// Sockets of all connections, also of those that have not said yet who they are.
    sockets: BTreeMap<u64, Arc<Socket>>,
    next_socket: u64,
    ending: bool,
}

impl Backends {
    /// At most `max` sessions.
    pub fn new(max: usize) -> Backends {
        Backends { max, known: Mutex::new(Known::default()), fewer: Condvar::new() }
    }

    /// A connection comes; `None` if the server ends or far too many have come.
    pub fn connect(self: &Arc<Backends>, socket: Socket) -> Option<Connected> {
        /// Connections beyond the sessions that may at least say that they want to cancel, or hear why not.
        const SPARE: usize = 64;
        let socket = Arc::new(socket);
        let mut known = self.known.lock();
        if known.ending || known.sockets.len() >= self.max + SPARE {
            return None;
        }
        let number = known.next_socket;
        known.next_socket += 1;
        known.sockets.insert(number, Arc::clone(&socket));
        Some(Connected { backends: Arc::clone(self), number, socket })
    }

    /// A connection becomes session `id`.
    ///
    /// # Errors
    /// 53300 if there are as many as there may be, 57P03 if the server ends.
    pub fn register(
        self: &Arc<Backends>,
        id: i32,
        socket: &Arc<Socket>,
        cancel: CancelHandle,
        key_bytes: usize,
        random: &dyn Random,
    ) -> Result<Registered, SqlError> {
        let mut key = Vec::with_capacity(key_bytes + 8);
        while key.len() < key_bytes {
            key.extend_from_slice(&random.next_u64().to_le_bytes());
        }
        key.truncate(key_bytes);
        let (socket, ending) = (Arc::clone(socket), AtomicBool::new(false));
        let backend = Arc::new(Backend { id, key, socket, cancel, ending });
        let mut known = self.known.lock();
        if known.ending {
            return Err(SqlError::new(sqlstate::CANNOT_CONNECT_NOW, "the database system is shutting down"));
        }
        if known.sessions.len() >= self.max {
            return Err(SqlError::new(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already"));
        }
        known.sessions.insert(id, Arc::clone(&backend));
        Ok(Registered { backends: Arc::clone(self), backend })
    }

    /// A session by its number.
    pub fn find(&self, id: i32) -> Option<Arc<Backend>> {
        self.known.lock().sessions.get(&id).cloned()
    }

    /// Cancels a session's statement for one who knows its secret (B1).
    pub fn cancel(&self, id: i32, key: &[u8]) -> bool {
        let found = self.find(id).filter(|backend| same(&backend.key, key));
        found.map(|backend| backend.cancel()).is_some()
    }

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        self.known.lock().sessions.len()
    }

    /// From now on nobody connects; everybody there is told to end: at once, or once the statement is done.
    pub fn end_all(&self, at_once: bool) {
        let mut known = self.known.lock();
        known.ending = true;
        // Sessions first: one whose read ends has to know already why (B3).
        known
            .sessions
            .values()
            .for_each(|backend| if at_once { backend.terminate() } else { backend.finish() });
        // Those who are still logging in are not sessions yet: their reads just end.
        known.sockets.values().for_each(|socket| socket.stop_reading());
    }

    /// Cuts all connections.
    pub fn abort_all(&self) {
        let known = self.known.lock();
        known.sockets.values().for_each(|socket| socket.stop());
        known.sessions.values().for_each(|backend| backend.abort());
    }

    /// Waits until everybody is gone; false if that takes longer.
    pub fn wait_gone(&self, patience: std::time::Duration) -> bool {
        let mut known = self.known.lock();
        while !known.sockets.is_empty() {
            if self.fewer.wait_for(&mut known, patience) {
                return known.sockets.is_empty();
            }
        }
        true
    }
}
