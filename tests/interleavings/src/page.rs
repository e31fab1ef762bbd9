//! What the latch knows of pages.

/// As in the storage engine.
#[derive(Clone, Copy)]
pub struct PageId(pub u32);
