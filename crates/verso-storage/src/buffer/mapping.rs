//! Address space for every page of the largest possible database, backed by memory only where it is used.
//!
//! Linux: one anonymous mapping without reserved swap (`MAP_NORESERVE`), never in huge pages, so that memory comes
//! and goes page by page: the first touch brings a zeroed page, `madvise(MADV_DONTNEED)` gives it back. Under Miri
//! and on other systems: one zeroed heap allocation, where giving back means zeroing.
//!
//! M1. Bytes never touched, or given back since, read as zero.
//! M2. The mapping stays where it is until it is dropped; nothing outside `buffer/` keeps an address.
#![allow(unsafe_code)]

use std::alloc::{self, Layout};
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Alignment of every mapping: no page size is smaller.
const ALIGNMENT: usize = 4096;

/// A reserved range of addresses.
pub(super) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    backing: Backing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backing {
    #[cfg(all(target_os = "linux", not(miri)))]
    Anonymous,
    Heap,
}

// SAFETY: the mapping is plain memory owned by this value; whoever touches its bytes answers for races
// (`Mapping::at` hands out raw pointers only).
unsafe impl Send for Mapping {}
// SAFETY: as above; no method reads or writes the bytes except `release`, whose contract asks for exclusive use.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `length` bytes, rounded up to whole operating system pages.
    ///
    /// # Errors
    /// The operating system refuses that much address space.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(super) fn reserve(length: usize) -> io::Result<Mapping> {
        let length = length.max(1).next_multiple_of(ALIGNMENT);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range was mapped above. A refusal (kernel without huge pages) changes nothing.
        unsafe { libc::madvise(address, length, libc::MADV_NOHUGEPAGE) };
        let base = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Mapping { base, length, backing: Backing::Anonymous })
    }

    /// Reserves `length` bytes.
    ///
    /// # Errors
    /// There is not that much memory.
    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(super) fn reserve(length: usize) -> io::Result<Mapping> {
        Mapping::on_heap(length)
    }

    /// As [`Mapping::reserve`], from the heap: for systems without lazily backed mappings, Miri and tests.
    #[cfg_attr(
        all(target_os = "linux", not(miri), not(test)),
        expect(dead_code, reason = "for other systems")
    )]
    pub(super) fn on_heap(length: usize) -> io::Result<Mapping> {
        let length = length.max(1).next_multiple_of(ALIGNMENT);
        let layout = layout(length)?;
        // SAFETY: the layout has a size above zero.
        let base = NonNull::new(unsafe { alloc::alloc_zeroed(layout) });
        let base = base.ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Mapping { base, length, backing: Backing::Heap })
    }

    /// Length in bytes.
    #[cfg(test)]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Address of the byte at `offset`.
    ///
    /// # Panics
    /// When `offset` lies outside.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.length, "offset {offset} lies in the mapping of {}", self.length);
        // SAFETY: the offset lies within the one allocation that `base` starts.
        unsafe { self.base.add(offset) }
    }

    /// Gives the memory of a range back; it reads as zero afterwards.
    ///
    /// # Safety
    /// Nobody else reads or writes the range, and no reference into it is alive.
    pub(super) unsafe fn release(&self, offset: usize, length: usize) {
        assert!(offset + length <= self.length, "the range lies in the mapping");
        let start = self.at(offset).as_ptr();
        #[cfg(all(target_os = "linux", not(miri)))]
        if self.backing == Backing::Anonymous {
            // SAFETY: the range is part of our anonymous mapping and, by contract, nobody else's for now.
            let refused = unsafe { libc::madvise(start.cast(), length, libc::MADV_DONTNEED) };
            if refused == 0 {
                return;
            }
        }
        // SAFETY: in bounds by the assertion, exclusive by contract.
        unsafe { start.write_bytes(0, length) };
    }

    /// Brings memory for a range in one step instead of one trap per operating system page. A hint: contents stay
    /// as they are, and kernels before 5.14 do nothing.
    pub(super) fn populate(&self, offset: usize, length: usize) {
        assert!(offset + length <= self.length, "the range lies in the mapping");
        #[cfg(all(target_os = "linux", not(miri)))]
        if self.backing == Backing::Anonymous {
            const MADV_POPULATE_WRITE: libc::c_int = 23;
            // SAFETY: the range is part of our mapping; populating does not change what it reads as.
            unsafe { libc::madvise(self.at(offset).as_ptr().cast(), length, MADV_POPULATE_WRITE) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        match self.backing {
            #[cfg(all(target_os = "linux", not(miri)))]
            // SAFETY: mapped by `reserve` with this address and length; nothing borrows from it any more.
            Backing::Anonymous => unsafe {
                libc::munmap(self.base.as_ptr().cast(), self.length);
            },
            Backing::Heap => {
                let layout = layout(self.length).expect("it was allocated with this layout");
                // SAFETY: allocated by `on_heap` with this layout.
                unsafe { alloc::dealloc(self.base.as_ptr(), layout) }
            }
        }
    }
}

fn layout(length: usize) -> io::Result<Layout> {
    Layout::from_size_align(length, ALIGNMENT).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))
}

/// Types of which zeroed memory is a valid, shareable value.
///
/// # Safety
/// All-zero bytes are a valid value, it needs no drop, its alignment divides 4096, and `&T` may be shared between
/// threads while they change it.
pub(super) unsafe trait ZeroAtomic: Sync {}

// SAFETY: an atomic integer of zero.
unsafe impl ZeroAtomic for AtomicU32 {}
// SAFETY: an atomic integer of zero.
unsafe impl ZeroAtomic for AtomicU64 {}

/// A zeroed array of atomics, one per possible page, that costs memory only where it is touched.
pub(super) struct AtomicArray<T> {
    mapping: Mapping,
    count: usize,
    _elements: PhantomData<T>,
}

impl<T: ZeroAtomic> AtomicArray<T> {
    /// Reserves an array of `count` zeroes.
    ///
    /// # Errors
    /// As [`Mapping::reserve`].
    pub(super) fn reserve(count: usize) -> io::Result<AtomicArray<T>> {
        let length = count.checked_mul(size_of::<T>()).ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(AtomicArray { mapping: Mapping::reserve(length)?, count, _elements: PhantomData })
    }

    /// The element at `index`, if there is one.
    #[inline]
    pub(super) fn find(&self, index: usize) -> Option<&T> {
        if index >= self.count {
            return None;
        }
        // SAFETY: in bounds; zeroed or a `T` since (`ZeroAtomic`); only ever accessed through `&T`.
        Some(unsafe { &*self.mapping.base.as_ptr().cast::<T>().add(index) })
    }

    /// The element at `index`.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &T {
        self.find(index).expect("callers pass pages below the pool's page count")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    fn check(mapping: &Mapping) {
        let start = mapping.at(8192).as_ptr();
        // SAFETY: this test is alone with its mapping, and 16 bytes at 8192 lie inside.
        unsafe {
            assert_eq!(start.read(), 0);
            start.write_bytes(7, 16);
            mapping.populate(4096, 8192);
            assert_eq!(start.add(15).read(), 7);
            mapping.release(4096, 8192);
            assert_eq!(start.add(15).read(), 0);
        }
    }

    #[test]
    fn memory_starts_as_zero_and_is_zero_again_once_released() {
        check(&Mapping::reserve(40960).unwrap());
        check(&Mapping::on_heap(40960).unwrap());
    }

    #[test]
    fn arrays_start_as_zero_and_end_where_they_should() {
        let array = AtomicArray::<AtomicU64>::reserve(1000).unwrap();
        array.get(999).fetch_add(5, Ordering::Relaxed);
        assert_eq!(array.get(999).load(Ordering::Relaxed), 5);
        assert_eq!(array.get(0).load(Ordering::Relaxed), 0);
        assert!(array.find(1000).is_none());
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn more_than_there_is_can_be_reserved_but_not_everything() {
        let mapping = Mapping::reserve(1 << 40).unwrap();
        assert_eq!(mapping.length(), 1 << 40);
        assert!(Mapping::reserve(1 << 62).is_err());
    }
}
