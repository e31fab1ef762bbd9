//! Threads as a trait.

use std::any::Any;
use std::io;

/// Starts threads.
pub trait Threads: Send + Sync {
    /// Starts a thread named `name` that runs `body`.
    ///
    /// # Errors
    /// The operating system refuses one more thread.
    fn try_spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle>;

    /// As [`Threads::try_spawn`].
    ///
    /// # Panics
    /// When the operating system refuses one more thread.
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> JoinHandle {
        match self.try_spawn(name, body) {
            Ok(handle) => handle,
            Err(error) => panic!("cannot start thread {name}: {error}"),
        }
    }
}

/// The end of a started thread; dropping it detaches the thread.
pub struct JoinHandle {
    name: String,
    join: Box<dyn Join>,
}

/// How an implementation of [`Threads`] waits for one of its threads.
pub trait Join: Send + Sync {
    /// Waits for the end of the thread; the error is what it panicked with.
    ///
    /// # Errors
    /// The panic's payload.
    fn join(self: Box<Self>) -> Result<(), Box<dyn Any + Send>>;

    /// Whether the thread has ended.
    fn is_finished(&self) -> bool;
}

impl JoinHandle {
    /// Wraps an implementation's handle of the thread `name`.
    pub fn new(name: &str, join: Box<dyn Join>) -> JoinHandle {
        JoinHandle { name: name.to_owned(), join }
    }

    /// The thread's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the thread has ended.
    pub fn is_finished(&self) -> bool {
        self.join.is_finished()
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    /// The thread panicked.
    pub fn join(self) -> Result<(), ThreadPanicked> {
        let JoinHandle { name, join } = self;
        join.join().map_err(|payload| ThreadPanicked { name, message: panic_message(&*payload) })
    }
}

impl std::fmt::Debug for JoinHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A joined thread had panicked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("thread {name} panicked: {message}")]
pub struct ThreadPanicked {
    /// The thread's name.
    pub name: String,
    /// The panic's message.
    pub message: String,
}

/// The text of a panic's payload.
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "(no message)".to_owned()
    }
}
