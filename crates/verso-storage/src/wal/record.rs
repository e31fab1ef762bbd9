//! The kinds of log records, of all modules, in one list.
//!
//! A kind is one byte; each module owns a range and gives its numbers out upward, never reusing one:
//!
//! | range | module |
//! |---|---|
//! | 1–15 | control: checkpoints |
//! | 16–31 | space map |
//! | 32–63 | object roots, directories, data pages, companions, overflow |
//! | 64–79 | version pages |
//! | 80–95 | transaction states |
//! | 96–111 | sequences, inventory pages |
//! | 128–191 | indexes |
//! | 249–251 | tests |
//!
//! R1. A *page* record changes exactly one page, and redo is a pure function of (page bytes, payload).
//! R2. An *init* record is a page record that rebuilds its page from nothing: redo never reads what was on disk,
//!     and skips all older records of that page.
//! R3. A *state* record names no page; recovery hands it to whoever keeps that state in memory.

use std::fmt;

/// What a log record does; the payload's layout hangs on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKind(pub u8);

/// What a record of some kind applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordShape {
    /// No page: state in memory (R3).
    State,
    /// One page, as it was before (R1).
    Page,
    /// One page, whatever it was before (R2).
    Init,
    /// One page, whose content means nothing from here on; redo skips all older records of that page.
    Void,
}

macro_rules! record_kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $shape:ident, $text:literal;)*) => {
        impl RecordKind {
            $($(#[$doc])* pub const $name: RecordKind = RecordKind($number);)*
        }
        const KINDS: &[(u8, RecordShape, &str)] = &[$(($number, RecordShape::$shape, $text),)*];
    };
}

record_kinds! {
    /// State of everything kept in memory at a checkpoint, possibly in several parts.
    CHECKPOINT = 1, State, "checkpoint";

    /// Formats the map page of a region.
    SPACE_MAP_INIT = 16, Init, "space map init";
    /// The region has more units: the file grew.
    SPACE_GROW = 17, Page, "space grow";
    /// Free units became an extent.
    SPACE_ALLOCATE = 18, Page, "space allocate";
    /// Units of extents became free; the content of their pages means nothing from here on.
    SPACE_FREE = 19, Page, "space free";
    /// A page that stays allocated lost its content (a retired version page).
    PAGE_VOID = 20, Void, "page void";

    /// For tests only: rebuilds a page.
    TEST_INIT = 249, Init, "test init";
    /// For tests only: changes a page.
    TEST_PAGE = 250, Page, "test page";
    /// For tests only: changes no page.
    TEST_STATE = 251, State, "test state";
}

/// The same by number; made from the list at compile time, which refuses a number given twice.
const TABLE: [Option<(RecordShape, &str)>; 256] = {
    let mut table: [Option<(RecordShape, &str)>; 256] = [None; 256];
    let mut index = 0;
    while index < KINDS.len() {
        let (number, shape, text) = KINDS[index];
        assert!(number != 0, "0 is no kind");
        assert!(table[number as usize].is_none(), "a number was given to two kinds of log records");
        table[number as usize] = Some((shape, text));
        index += 1;
    }
    table
};

impl RecordKind {
    /// What records of this kind apply to; `None` for a number nobody was given.
    #[inline]
    #[must_use]
    pub fn shape(self) -> Option<RecordShape> {
        TABLE[usize::from(self.0)].map(|(shape, _)| shape)
    }

    /// The kind's name in dumps and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[usize::from(self.0)].map_or("unknown", |(_, text)| text)
    }

    /// Every kind there is, by number.
    pub fn all() -> impl Iterator<Item = RecordKind> {
        KINDS.iter().map(|(number, _, _)| RecordKind(*number))
    }
}

impl fmt::Debug for RecordKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.0, self.name())
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
