//! Back versions: entries, their pages, and the store that hands pages out and retires them.

pub mod entry;
pub mod page;
mod placement;
pub mod store;
