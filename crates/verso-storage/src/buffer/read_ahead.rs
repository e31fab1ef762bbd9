//! How scans of tables read pages before they need them: neighbours in the file with one read.
//!
//! ```text
//! mode 1:  [ read one by one ][ read ahead ] …     while the first window is looked at the next one is read
//! mode 2:  [ read ahead      ][ read ahead ] …     the first window comes with one read, too
//! ```

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// How far, and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAhead {
    /// 0 not at all, 1 the pages of the next window, 2 also those of the first one.
    mode: u8,
    /// Pages of a window.
    pages: u32,
}

impl Default for ReadAhead {
    fn default() -> ReadAhead {
        ReadAhead { mode: 1, pages: 8 }
    }
}

impl ReadAhead {
    /// Most pages of a window.
    pub const PAGES_MAX: u32 = 1024;

    /// `mode` or `mode,pages`.
    pub fn of(text: &str) -> Option<ReadAhead> {
        let (mode, pages) = text.split_once(',').map_or((text, None), |(mode, pages)| (mode, Some(pages)));
        let mode = mode.trim().parse().ok().filter(|mode| *mode <= 2)?;
        let pages = match pages {
            None => ReadAhead::default().pages,
            Some(pages) => {
                pages.trim().parse().ok().filter(|pages| (1..=ReadAhead::PAGES_MAX).contains(pages))?
            }
        };
        Some(ReadAhead { mode, pages })
    }

    /// Which pages a scan that is about to look at its page `next`, counted within its table, reads now. `is_first` if it has
    /// looked at none yet.
    pub(crate) fn window(self, next: u32, is_first: bool) -> Range<u32> {
        let end = next.saturating_add(self.pages);
        match self.mode {
            0 => 0..0,
            2 if is_first => next..end.saturating_add(self.pages),
            _ if next.is_multiple_of(self.pages) => end..end.saturating_add(self.pages),
            _ => 0..0,
        }
    }
}

impl fmt::Display for ReadAhead {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{},{}", self.mode, self.pages)
    }
}

/// One that changes while scans look at it.
pub(crate) struct ReadAheadCell(AtomicU32);

impl Default for ReadAheadCell {
    fn default() -> ReadAheadCell {
        let cell = ReadAheadCell(AtomicU32::new(0));
        cell.set(ReadAhead::default());
        cell
    }
}

impl ReadAheadCell {
    pub fn set(&self, wanted: ReadAhead) {
        self.0.store(u32::from(wanted.mode) << 16 | wanted.pages, Ordering::Relaxed);
    }

    pub fn get(&self) -> ReadAhead {
        let packed = self.0.load(Ordering::Relaxed);
        ReadAhead { mode: (packed >> 16) as u8, pages: packed & 0xffff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_mode_and_pages() {
        for (text, shown) in [("1", "1,8"), ("0", "0,8"), ("2, 16", "2,16"), ("1,1024", "1,1024")] {
            let read = ReadAhead::of(text).unwrap();
            assert_eq!(read.to_string(), shown);
            let cell = ReadAheadCell::default();
            cell.set(read);
            assert_eq!(cell.get(), read);
        }
        for wrong in ["", "3", "-1", "1,0", "1,1025", "1,", "on", "1,2,3"] {
            assert_eq!(ReadAhead::of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn windows_follow_each_other() {
        let of = |text: &str, next, is_first| ReadAhead::of(text).unwrap().window(next, is_first);
        assert_eq!((of("1,4", 0, true), of("1,4", 3, false), of("1,4", 4, false)), (4..8, 0..0, 8..12));
        assert_eq!((of("2,4", 0, true), of("2,4", 4, false), of("2,4", 5, true)), (0..8, 8..12, 5..13));
        assert!(of("0,4", 0, true).is_empty());
        assert_eq!(of("1,4", u32::MAX - 3, false), u32::MAX..u32::MAX);
    }
}
