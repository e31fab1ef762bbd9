//! The operating system's threads.

use std::any::Any;
use std::io;

use crate::{Join, JoinHandle, Threads};

/// The operating system's threads.
pub(crate) struct RealThreads;

impl Threads for RealThreads {
    fn try_spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle> {
        let handle = std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(crate::stack::THREAD_BYTES)
            .spawn(body)?;
        Ok(JoinHandle::new(name, Box::new(handle)))
    }
}

impl Join for std::thread::JoinHandle<()> {
    fn join(self: Box<Self>) -> Result<(), Box<dyn Any + Send>> {
        std::thread::JoinHandle::join(*self)
    }

    fn is_finished(&self) -> bool {
        std::thread::JoinHandle::is_finished(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_has_its_name_and_hands_back_its_panic() {
        let (sender, receiver) = mpsc::channel();
        let body = move || sender.send(std::thread::current().name().map(str::to_owned)).unwrap();
        RealThreads.spawn("log writer", Box::new(body)).join().unwrap();
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("log writer"));

        let handle =
            RealThreads.spawn("cleaner", Box::new(|| std::panic::resume_unwind(Box::new("no luck"))));
        let error = handle.join().unwrap_err();
        assert_eq!(error.to_string(), "thread cleaner panicked: no luck");
    }
}
