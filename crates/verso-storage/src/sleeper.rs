//! Threads that sleep while nothing happens, and are called when there may be something to do.
//!
//! ```text
//! sleeper  listen ──► look for work: none ──► wait ……………………► look
//! others                change something ──► call (a load, unless somebody listens)
//! ```
//!
//! L1. No call is lost: a change is either seen by the look behind [`Sleeper::listen`], or its call ends the wait. What the
//!     sleeper looks at is therefore changed under a lock that the look takes too, or by sequentially consistent operations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

/// One thread that sleeps, as others see it.
/// On cache lines of its own, for all look whether it listens.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Sleeper {
    listening: AtomicBool,
    called: Mutex<bool>,
    changed: Condvar,
}

impl Sleeper {
    /// Calls count from now on. Before looking for work.
    pub fn listen(&self) {
        self.listening.store(true, Ordering::SeqCst);
    }

    /// There may be work. Behind the change that made it.
    #[inline]
    pub fn call(&self) {
        if self.listening.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// As [`Sleeper::call`], whether the thread listens or not.
    #[cold]
    pub fn wake(&self) {
        let mut called = self.called.lock();
        self.listening.store(false, Ordering::SeqCst);
        *called = true;
        self.changed.notify_one();
    }

    /// Sleeps until it has been called since it last slept, at most so long where a time is given; whether it was called.
    pub fn wait(&self, most: Option<Duration>) -> bool {
        let mut called = self.called.lock();
        while !*called {
            match most {
                None => self.changed.wait(&mut called),
                Some(most) => {
                    if self.changed.wait_for(&mut called, most) {
                        break;
                    }
                }
            }
        }
        self.listening.store(false, Ordering::SeqCst);
        std::mem::take(&mut *called)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use verso_env::Env;

    use super::*;

    /// In simulated schedules, where a lost call is a deadlock.
    #[test]
    fn l1_no_call_is_lost() {
        for seed in verso_sim::seeds(200) {
            let world = verso_sim::World::new(seed);
            world.run(|env: &Env| {
                let (sleeper, work) = (Arc::new(Sleeper::default()), Arc::new(AtomicU64::new(0)));
                let done = {
                    let (sleeper, work) = (Arc::clone(&sleeper), Arc::clone(&work));
                    env.spawn("sleeper", move || {
                        loop {
                            sleeper.listen();
                            verso_env::sync::pause_point();
                            if work.load(Ordering::SeqCst) == 3 {
                                return;
                            }
                            verso_env::sync::pause_point();
                            sleeper.wait(None);
                        }
                    })
                };
                for _ in 0..3 {
                    verso_env::sync::pause_point();
                    work.fetch_add(1, Ordering::SeqCst);
                    verso_env::sync::pause_point();
                    sleeper.call();
                }
                done.join().unwrap();
            });
        }
    }
}
