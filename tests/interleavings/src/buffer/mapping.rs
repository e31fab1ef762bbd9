//! What the latch knows of the pool's memory.
#![allow(unsafe_code)]

/// As in the storage engine; nothing is made of zeroes here.
///
/// # Safety
/// None needed.
pub(super) unsafe trait ZeroAtomic: Sync {}
