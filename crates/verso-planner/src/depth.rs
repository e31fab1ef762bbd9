//! Depth of what loops build: trees that are as deep as a chain in the text is long.

use verso_env::stack::{StackExhausted, left_bytes};

/// What walks without a check of their own (cloning, dropping) take of the stack for each level, and more.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 2 << 10 } else { 1 << 10 };

/// Whether a tree of so many levels may be built.
///
/// # Errors
/// Walks over it would not fit onto the stack.
pub(crate) fn levels(levels: usize) -> Result<(), StackExhausted> {
    if levels > left_bytes() / LEVEL_BYTES { Err(StackExhausted) } else { Ok(()) }
}
