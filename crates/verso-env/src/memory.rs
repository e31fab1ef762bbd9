//! Memory that was freed, given back to the operating system.
//!
//! The C library keeps what threads have freed for their next requests: after a statement that held gigabytes the process would
//! go on holding them, however idle it is.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::time::Duration;

/// Nanoseconds between two times: to give back costs some milliseconds for each gigabyte, and to get it again, too.
const PAUSE_NANOS: u64 = 500_000_000;

static LAST: AtomicU64 = AtomicU64::new(0);

/// Gives back what is free, unless that was done just now. Whether it was done. Costs milliseconds.
pub fn give_back(now_nanos: u64) -> bool {
    let last = LAST.load(Ordering::Relaxed);
    let is_due = last == 0 || now_nanos.saturating_sub(last) >= PAUSE_NANOS;
    let taken =
        is_due && LAST.compare_exchange(last, now_nanos.max(1), Ordering::Relaxed, Ordering::Relaxed).is_ok();
    taken && trim()
}

/// Whether somebody has asked that free memory be given back a little later.
static ASKED: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Gives back what is free half a second from now, on a thread of its own: also what the caller frees only behind this call, and
/// however many ask. Costs a lock; the thread begins with the first who asks, and sleeps while nobody does.
pub fn give_back_later() {
    static THREAD: Once = Once::new();
    THREAD.call_once(|| {
        let thread = std::thread::Builder::new().name("verso-memory".into());
        // Without it memory goes back when a statement that held much ends.
        drop(thread.spawn(|| {
            loop {
                let asked = ASKED.0.lock().unwrap_or_else(PoisonError::into_inner);
                let mut asked =
                    ASKED.1.wait_while(asked, |asked| !*asked).unwrap_or_else(PoisonError::into_inner);
                *asked = false;
                drop(asked);
                std::thread::sleep(Duration::from_nanos(PAUSE_NANOS));
                trim();
            }
        }));
    });
    let mut asked = ASKED.0.lock().unwrap_or_else(PoisonError::into_inner);
    if !*asked {
        *asked = true;
        ASKED.1.notify_one();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
fn trim() -> bool {
    // SAFETY: the function takes no pointer; it locks the allocator's arenas one after the other, as `malloc` does.
    unsafe { libc::malloc_trim(0) != 0 }
}

/// Other allocators give memory back by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
fn trim() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_done_once_in_a_while() {
        let day = 86_400_000_000_000;
        // Other tests of the process may have done it.
        give_back(day);
        let last = LAST.load(Ordering::Relaxed);
        assert!(!give_back(last + 1) && LAST.load(Ordering::Relaxed) == last);
        give_back(last + PAUSE_NANOS);
        assert_eq!(LAST.load(Ordering::Relaxed), last + PAUSE_NANOS);
    }
}
