//! Committers around a log that is one number.

use loom::cell::Cell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

use super::turns::Turns;
use crate::explore;

/// The log: how much was appended, how much the disk has.
struct Log {
    turns: Turns,
    appended: AtomicU64,
    durable: AtomicU64,
    poisoned: AtomicBool,
    /// What the disk has; only who leads may touch it.
    disk: Cell<u64>,
}

// SAFETY: `disk` is accessed by who leads only; that this holds is what loom checks.
#[allow(unsafe_code)]
unsafe impl Sync for Log {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Send for Log {}

/// The log takes nothing more.
#[derive(Debug)]
struct Poisoned;

impl Log {
    fn new() -> Arc<Log> {
        Arc::new(Log {
            turns: Turns::new(),
            appended: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            poisoned: AtomicBool::new(false),
            disk: Cell::new(0),
        })
    }

    /// As the log of the engine: append, then flush up to one's own.
    fn commit(&self, fails: bool) -> Result<(), Poisoned> {
        let own = self.appended.fetch_add(1, Ordering::AcqRel) + 1;
        let reached = || self.durable.load(Ordering::Acquire) >= own;
        if reached() {
            return Ok(());
        }
        let check = || if self.poisoned.load(Ordering::Acquire) { Err(Poisoned) } else { Ok(false) };
        let Some(lead) = self.turns.take(own, || if reached() { Ok(true) } else { check() })? else {
            return Ok(());
        };
        let target = lead.covers(|| self.appended.load(Ordering::Acquire));
        assert!(own <= target, "who leads is covered");
        // What was appended meanwhile goes along.
        let target = self.appended.load(Ordering::Acquire).max(target);
        assert!(self.disk.get() <= target, "what was written is not written again");
        self.disk.set(target);
        if fails {
            self.poisoned.store(true, Ordering::Release);
            return Err(Poisoned);
        }
        self.durable.fetch_max(target, Ordering::AcqRel);
        Ok(())
    }
}

/// Committers among whom nothing fails; the log behind the last of them.
fn all_commit(committers: usize) -> Arc<Log> {
    let log = Log::new();
    let others: Vec<_> = (1..committers)
        .map(|_| {
            let log = Arc::clone(&log);
            thread::spawn(move || log.commit(false).expect("nothing fails"))
        })
        .collect();
    log.commit(false).expect("nothing fails");
    for other in others {
        other.join().expect("loom reports what went wrong");
    }
    assert_eq!(log.durable.load(Ordering::Acquire), committers as u64);
    log
}

/// Three committers: one writes at a time, and each finds its own on disk when it is told so.
pub fn commits() {
    explore(3, || {
        let log = all_commit(3);
        assert_eq!(log.disk.get(), 3);
    });
}

/// Four committers, so that one may wait behind an heir while a fourth takes the lead before him.
pub fn crowd() {
    explore(2, || {
        all_commit(4);
    });
}

/// A flush that fails: everybody who is not told so has his own on disk.
pub fn failure() {
    explore(3, || {
        let log = Log::new();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let log = Arc::clone(&log);
                thread::spawn(move || log.commit(false))
            })
            .collect();
        let mut acknowledged = u64::from(log.commit(true).is_ok());
        for other in others {
            acknowledged += u64::from(other.join().expect("loom reports what went wrong").is_ok());
        }
        assert!(acknowledged <= log.durable.load(Ordering::Acquire));
    });
}
