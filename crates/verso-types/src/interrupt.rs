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

/// Bytes between two questions, of work that takes little for each of them.
const PIECE_BYTES: usize = 1 << 20;

/// The parts of a long value one after the other, between which it is asked whether the work is wanted.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = Result<&[u8], TypeError>> {
    bytes.chunks(PIECE_BYTES).enumerate().map(|(number, piece)| {
        if number > 0 {
            check()?;
        }
        Ok(piece)
    })
}

/// The same of a text, whose parts end with whole characters.
pub fn text_pieces(text: &str) -> impl Iterator<Item = Result<&str, TypeError>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let is_first = rest.len() == text.len();
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        rest = behind;
        Some(if is_first { Ok(piece) } else { check().map(|()| piece) })
    })
}

/// Asks whether the work is wanted.
///
/// # Errors
/// 57014 if it is not.
#[cold]
pub fn check() -> Result<(), TypeError> {
    match WANTED.get() {
        Some(is_wanted) if !is_wanted() => {
            Err(TypeError::new(QUERY_CANCELED, "canceling statement due to user request"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_text_are_the_text() {
        for count in [0, 1, PIECE_BYTES / 2, PIECE_BYTES] {
            let text = "aé".repeat(count);
            let parts: String = text_pieces(&text).map(|piece| piece.expect("wanted")).collect();
            assert_eq!(parts.len(), text.len());
            assert!(parts == text);
            let bytes: Vec<u8> =
                pieces(text.as_bytes()).flat_map(|piece| piece.expect("wanted").to_vec()).collect();
            assert!(bytes == text.as_bytes());
        }
    }
}
