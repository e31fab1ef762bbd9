//! Hearing that a thread is about to wait.
//!
//! Who gives a thread work wants to know when it stands still: another thread can use the processor meanwhile. A thread
//! says with [`listen`] who is to be told, and [`crate::sync::Condvar`] and real files tell him before they wait for
//! another thread or for the disk. Locks held for a few instructions do not count as waiting.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

thread_local! {
    static LISTENER: RefCell<Option<Rc<dyn Fn()>>> = const { RefCell::new(None) };
}

/// The thread's waits are told while this lives.
#[must_use = "nothing is told once it is dropped"]
pub struct Listening(PhantomData<Rc<()>>);

/// Calls `listener` before each wait of this thread, instead of who was called so far. It may be called with locks held:
/// it must not wait.
pub fn listen(listener: Rc<dyn Fn()>) -> Listening {
    LISTENER.set(Some(listener));
    Listening(PhantomData)
}

/// This thread is about to wait.
pub fn announce() {
    // Not held while it is called: what it does may wait in turn, and then nobody needs to hear of it again.
    let listener = LISTENER.try_with(RefCell::take).ok().flatten();
    if let Some(listener) = listener {
        listener();
        LISTENER.set(Some(listener));
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENER.set(None);
    }
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Listening")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;
    use crate::sync::{Condvar, Mutex};
    use crate::{Env, OpenMode};

    #[test]
    fn waits_for_threads_and_for_the_disk_are_told_and_nothing_else() {
        let told = Rc::new(Cell::new(0));
        let count = Rc::clone(&told);
        let listening = listen(Rc::new(move || {
            count.set(count.get() + 1);
            announce();
        }));
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let mut guard = mutex.lock();
        assert_eq!(told.get(), 0);
        assert!(condvar.wait_for(&mut guard, Duration::from_millis(1)));
        assert_eq!(told.get(), 1);

        let directory = tempfile::tempdir().unwrap();
        let mode = OpenMode { create: true, create_new: false, truncate: false, read_only: false };
        let file = Env::real().vfs.open(&directory.path().join("file"), mode).unwrap();
        file.write_at(b"x", 0).unwrap();
        assert_eq!(told.get(), 1);
        file.sync_data().unwrap();
        assert_eq!(told.get(), 2);

        drop(listening);
        assert!(condvar.wait_for(&mut guard, Duration::from_millis(1)));
        assert_eq!(told.get(), 2);
    }
}
