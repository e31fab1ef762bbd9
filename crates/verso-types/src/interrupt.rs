//! Whether work on a long value is still wanted.
//!
//! Reading the text of a jsonb or an array of a hundred megabytes takes seconds. This crate knows no statements; whoever runs
//! them says once how to ask.

use std::sync::OnceLock;

use crate::TypeError;
use crate::sqlstate::QUERY_CANCELED;

static WANTED: OnceLock<fn() -> bool> = OnceLock::new();

/// From now on `is_wanted` is asked, on the thread that does the work. The first who says it counts.
pub fn ask(is_wanted: fn() -> bool) {
    WANTED.get_or_init(|| is_wanted);
}

/// Pieces of work between two questions.
const PIECES: u32 = 1 << 16;

/// Counts pieces of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pieces(u32);

impl Pieces {
    /// One more.
    ///
    /// # Errors
    /// 57014 if the work is not wanted any more, which is asked once in 65,536 pieces.
    #[inline]
    pub fn one_more(&mut self) -> Result<(), TypeError> {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(PIECES) { check() } else { Ok(()) }
    }
}

#[cold]
fn check() -> Result<(), TypeError> {
    match WANTED.get() {
        Some(is_wanted) if !is_wanted() => {
            Err(TypeError::new(QUERY_CANCELED, "canceling statement due to user request"))
        }
        _ => Ok(()),
    }
}
