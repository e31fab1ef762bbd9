//! Memory for the moment in which there is none.
//!
//! Where the system refuses memory, a program in Rust ends: most of its lists grow without a way to say no. Of this allocator
//! such a request gets a piece of a region that was set aside when the program began. While a piece of it is in use
//! ([`is_used`]) the account of memory grants nothing more, so whatever asks next ends its statement with 53200, and gives back.
//!
//! S1. A word holds where the region's free part begins and how many pieces are in use; both change together.
//! S2. The region is empty again with the last piece that goes back. Pieces are not used again before.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Bytes of the region. Only addresses are taken until it is needed.
pub const BYTES: usize = 64 << 20;

/// Whether the system has refused memory, and what came in its place is in use.
#[inline]
pub fn is_used() -> bool {
    USED.load(Ordering::Relaxed) != 0
}

/// The last region that was asked: there is one allocator in a program.
static USED: AtomicU64 = AtomicU64::new(0);

/// Another allocator, with something to spare.
pub struct Spare<A> {
    inner: A,
    region: AtomicPtr<u8>,
    /// Bytes of the region that are given away: the upper half; pieces in use: the lower.
    state: AtomicU64,
}

impl<A: GlobalAlloc> Spare<A> {
    /// Over this allocator; nothing is set aside yet.
    pub const fn over(inner: A) -> Spare<A> {
        Spare { inner, region: AtomicPtr::new(ptr::null_mut()), state: AtomicU64::new(0) }
    }

    /// Sets the region aside. Whether it could.
    pub fn prepare(&self) -> bool {
        let Ok(layout) = Layout::from_size_align(BYTES, 4096) else { return false };
        // SAFETY: the layout has a size.
        let region = unsafe { self.inner.alloc(layout) };
        if region.is_null() {
            return false;
        }
        let before = ptr::null_mut();
        if self.region.compare_exchange(before, region, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: it is of this allocator and this layout, and nobody has seen it.
            unsafe { self.inner.dealloc(region, layout) };
        }
        true
    }

    fn is_within(&self, piece: *mut u8) -> bool {
        let region = self.region.load(Ordering::Relaxed) as usize;
        region != 0 && (piece as usize).wrapping_sub(region) < BYTES
    }

    /// A piece of the region; null if it has none so large.
    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        let region = self.region.load(Ordering::Acquire);
        if region.is_null() || layout.align() > 4096 {
            return ptr::null_mut();
        }
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            let (taken, pieces) = ((state >> 32) as usize, state & u64::from(u32::MAX));
            let from = taken.next_multiple_of(layout.align().max(16));
            let Some(end) = from.checked_add(layout.size()).filter(|end| *end <= BYTES) else {
                return ptr::null_mut();
            };
            let next = (end as u64) << 32 | (pieces + 1);
            match self.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    USED.store(1, Ordering::Relaxed);
                    // SAFETY: `from` and `layout.size()` behind it lie within the region, which is one allocation.
                    return unsafe { region.add(from) };
                }
                Err(now) => state = now,
            }
        }
    }

    #[cold]
    fn put_back(&self) {
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            let pieces = state & u64::from(u32::MAX);
            let next = if pieces <= 1 { 0 } else { state - 1 };
            match self.state.compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if next == 0 {
                        USED.store(0, Ordering::Relaxed);
                    }
                    return;
                }
                Err(now) => state = now,
            }
        }
    }
}

// SAFETY: memory comes from the inner allocator or is a piece of the region that no other caller has (S1, S2), as long and
// aligned as its layout says; a piece is told from the inner allocator's memory by its address.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Spare<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the inner allocator asks for.
        let memory = unsafe { self.inner.alloc(layout) };
        if memory.is_null() { self.take(layout) } else { memory }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the inner allocator asks for.
        let memory = unsafe { self.inner.alloc_zeroed(layout) };
        if !memory.is_null() {
            return memory;
        }
        let piece = self.take(layout);
        if !piece.is_null() {
            // SAFETY: the piece is `layout.size()` long and ours.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if self.is_within(memory) {
            return self.put_back();
        }
        // SAFETY: what is not of the region is the inner allocator's.
        unsafe { self.inner.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !self.is_within(memory) {
            // SAFETY: what is not of the region is the inner allocator's.
            let moved = unsafe { self.inner.realloc(memory, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that the size is none that a layout cannot have.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the new layout has a size, as the caller promises.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both are at least so long, and no piece of memory overlaps another.
            unsafe { ptr::copy_nonoverlapping(memory, moved, layout.size().min(size)) };
            // SAFETY: the old memory is the caller's, who gives it up.
            unsafe { self.dealloc(memory, layout) };
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::System;

    use super::*;

    /// Refuses what is longer than a page, once the region is there.
    struct Short(std::sync::atomic::AtomicBool);

    // SAFETY: it is the system's allocator, which may always refuse.
    unsafe impl GlobalAlloc for Short {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.size() > 4096 && self.0.load(Ordering::Relaxed) {
                return ptr::null_mut();
            }
            // SAFETY: the caller's promises.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: the caller's promises.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    #[test]
    fn what_the_system_refuses_comes_from_the_region_until_it_is_used_up() {
        let spare = Spare::over(Short(std::sync::atomic::AtomicBool::new(false)));
        assert!(spare.prepare());
        spare.inner.0.store(true, Ordering::Relaxed);
        let (small, large) = (Layout::new::<[u8; 64]>(), Layout::new::<[u64; 4096]>());
        // SAFETY: every piece of memory is used within its layout, and given back with it.
        unsafe {
            let plain = spare.alloc(small);
            assert!(!spare.is_within(plain) && !is_used());
            plain.write_bytes(7, 64);
            // It grows out of what the system gives, and again.
            let grown = spare.realloc(plain, small, 10_000);
            let of_grown = Layout::from_size_align(10_000, 1).expect("a layout");
            assert!(spare.is_within(grown) && is_used() && (0..64).all(|at| *grown.add(at) == 7));
            let more = spare.realloc(grown, of_grown, 20_000);
            let of_more = Layout::from_size_align(20_000, 1).expect("a layout");
            assert!(spare.is_within(more) && *more.add(63) == 7 && more != grown);
            let zeroed = spare.alloc_zeroed(large);
            assert!((zeroed as usize).is_multiple_of(8) && (0..large.size()).all(|at| *zeroed.add(at) == 0));
            // Small enough for the system again.
            let back = spare.realloc(more, of_more, 100);
            assert!(!spare.is_within(back) && *back == 7);
            spare.dealloc(back, Layout::from_size_align(100, 1).expect("a layout"));
            assert!(is_used());
            spare.dealloc(zeroed, large);
            assert!(!is_used());
            let all = Layout::from_size_align(BYTES, 16).expect("a layout");
            let whole = spare.alloc(all);
            assert!(spare.is_within(whole) && spare.alloc(large).is_null());
            spare.dealloc(whole, all);
            assert!(!is_used());
        }
    }
}
