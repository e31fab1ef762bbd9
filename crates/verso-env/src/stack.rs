//! How much of the running thread's stack is left.
//!
//! Recursive functions whose depth follows from a client's text ask [`check`] at each level, so that a deep statement
//! ends with an error (54001) instead of the process. What is measured is the stack itself, not a count of calls: a count
//! is wrong as soon as a frame grows, a build is unoptimised or a thread is small.
//!
//! ```text
//! low address                                                              high address
//! | guard page | RESERVE_BYTES: kept free | room for recursion   ◄── grows | thread start |
//!              ▲ lowest usable byte       ▲ limit: `check` fails below it
//! ```
//!
//! S1. Above the limit a caller may go one level deeper; below it `RESERVE_BYTES` are left for functions without a check
//!     of their own: formatting an error, freeing a tree (whose depth its makers bound), a library's call.
//! S2. The bounds of a thread's stack are asked of the operating system once per thread. Where it cannot tell, the place of
//!     the first question is taken for the top of a stack of [`SMALLEST_BYTES`].
#![allow(unsafe_code)]

use std::cell::Cell;

/// Kept free below the limit.
pub const RESERVE_BYTES: usize = 256 << 10;
/// The stack of the threads that [`crate::Threads`] starts; memory is used only where it is touched.
pub const THREAD_BYTES: usize = 8 << 20;
/// What a stack has at least, where the operating system does not tell.
const SMALLEST_BYTES: usize = 1 << 20;

/// Nothing of the stack is left but the reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stack depth limit exceeded")]
pub struct StackExhausted;

impl StackExhausted {
    /// What a client may do about it.
    pub const HINT: &str =
        "The statement nests too deeply; write it with fewer nested parentheses or shorter chains.";

    /// The same where functions and triggers have led there.
    pub const HINT_OF_CALLS: &str = "Functions or triggers call each other too deeply; look for a recursion that does not end, or use a loop.";
}

thread_local! {
    /// The lowest address that recursion may reach; the highest there is until it is known.
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Whether the caller may recurse one level deeper. Costs a thread-local read and a comparison.
///
/// # Errors
/// Only the reserve is left.
#[inline]
pub fn check() -> Result<(), StackExhausted> {
    let here = here();
    if here > LIMIT.get() { Ok(()) } else { measured(here) }
}

/// Bytes that recursion of this thread may still use.
pub fn left_bytes() -> usize {
    let here = here();
    if LIMIT.get() == usize::MAX {
        LIMIT.set(limit(here));
    }
    here.saturating_sub(LIMIT.get())
}

/// An address in the frame of the caller.
#[inline(always)]
fn here() -> usize {
    let marker = 0u8;
    std::hint::black_box(&raw const marker).addr()
}

#[cold]
#[inline(never)]
fn measured(here: usize) -> Result<(), StackExhausted> {
    if LIMIT.get() == usize::MAX {
        LIMIT.set(limit(here));
    }
    if here > LIMIT.get() { Ok(()) } else { Err(StackExhausted) }
}

/// The limit of the running thread, which is at `here`.
fn limit(here: usize) -> usize {
    let lowest = lowest_byte().filter(|lowest| *lowest < here);
    lowest.unwrap_or_else(|| here.saturating_sub(SMALLEST_BYTES)).saturating_add(RESERVE_BYTES)
}

/// The lowest usable byte of the running thread's stack.
#[cfg(all(target_os = "linux", not(miri)))]
fn lowest_byte() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut bytes, mut guard) = (std::ptr::null_mut::<libc::c_void>(), 0, 0);
    // SAFETY: `attributes` is storage for what the first call makes; the other calls read it only where that one has
    // made it, and write to locals of their own; it is destroyed once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut bytes) == 0;
        if libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard) != 0 {
            guard = 0;
        }
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        // Some versions of the C library count the guard pages as part of the stack.
        found.then(|| start.addr() + guard)
    }
}

/// The lowest usable byte of the running thread's stack.
#[cfg(all(target_os = "macos", not(miri)))]
fn lowest_byte() -> Option<usize> {
    // SAFETY: both functions read what the system knows of the calling thread, whose handle is valid while it runs.
    unsafe {
        let thread = libc::pthread_self();
        let top = libc::pthread_get_stackaddr_np(thread).addr();
        top.checked_sub(libc::pthread_get_stacksize_np(thread))
    }
}

/// The lowest usable byte of the running thread's stack.
#[cfg(any(miri, not(any(target_os = "linux", target_os = "macos"))))]
fn lowest_byte() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls itself until the check refuses; the depth reached.
    fn dive(depth: usize) -> usize {
        let ballast = std::hint::black_box([depth as u8; 512]);
        match check() {
            Err(StackExhausted) => depth,
            Ok(()) => dive(depth + 1).max(usize::from(ballast[511])),
        }
    }

    fn dive_with(bytes: usize) -> usize {
        std::thread::Builder::new().stack_size(bytes).spawn(|| dive(0)).unwrap().join().unwrap()
    }

    #[test]
    fn recursion_ends_before_the_stack_does_and_goes_deeper_on_a_larger_one() {
        let (small, large) = (dive_with(1 << 20), dive_with(8 << 20));
        assert!(small > 100, "{small}");
        // The C library may give the smaller thread the stack of one that has ended, up to four times as large as asked for.
        assert!(2 * large > 3 * small, "{small} {large}");
    }

    #[test]
    fn a_thread_that_the_environment_starts_has_the_stack_it_should() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let body = move || sender.send(left_bytes()).unwrap();
        crate::Env::real().spawn("deep", body).join().unwrap();
        let left = receiver.recv().unwrap();
        assert!(left > THREAD_BYTES - RESERVE_BYTES - (64 << 10) && left < THREAD_BYTES, "{left}");
    }
}
