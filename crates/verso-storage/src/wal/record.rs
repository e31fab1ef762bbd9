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
    /// Formats the page map, which tells of pages that are given out one by one.
    SPACE_PAGES_INIT = 21, Init, "space pages init";
    /// The map page's own unit is one of those whose pages are given out one by one.
    SPACE_PAGES = 22, Page, "space pages";
    /// Free units at the end of a region go.
    SPACE_SHRINK = 23, Page, "space shrink";

    /// Bytes at offsets of an object root or directory page.
    PATCH = 32, Page, "patch";
    /// Formats the root page of an object.
    ROOT_INIT = 33, Init, "root init";
    /// Formats a directory page.
    DIRECTORY_INIT = 34, Init, "directory init";
    /// Formats a data page.
    DATA_INIT = 40, Init, "data init";
    /// New records of a data page.
    DATA_INSERT = 41, Page, "data insert";
    /// Changed columns, writers, back pointers or liveness of records of a data page.
    DATA_UPDATE = 42, Page, "data update";
    /// Slots of a data page became free.
    DATA_FREE = 43, Page, "data free";
    /// Sweep saw a data page: old back pointers go, flags are set.
    DATA_SWEEP = 44, Page, "data sweep";
    /// One new record behind the others of a data page.
    DATA_APPEND = 45, Page, "data append";
    /// One page of a value's overflow chain.
    OVERFLOW_INIT = 48, Init, "overflow init";
    /// A page of an object became free and names the next free one.
    PAGE_FREE = 49, Init, "page free";
    /// Formats a companion page.
    COMPANION_INIT = 50, Init, "companion init";
    /// A value of a companion page.
    COMPANION_PUT = 51, Page, "companion put";
    /// A value of a companion page went.
    COMPANION_FREE = 52, Page, "companion free";
    /// A page of several data pages, encoded.
    PACKED_INIT = 53, Init, "packed init";
    /// A data page left its packed page.
    PACKED_REMOVE = 54, Page, "packed remove";
    /// A data page with everything in it.
    DATA_IMAGE = 55, Init, "data image";
    /// Symbols for texts.
    DICTIONARY_INIT = 56, Init, "dictionary init";

    /// Formats a version page.
    VERSION_INIT = 64, Init, "version init";
    /// A version entry behind the others of its page.
    VERSION_APPEND = 65, Page, "version append";
    /// An insert note names more slots. Not written any more.
    NOTE_EXTEND = 66, Page, "note extend";
    /// A version entry was undone: nothing is purged for it.
    VERSION_VOID = 67, Page, "version void";
    /// An insert note behind the other entries of a version page, in short.
    VERSION_NOTE = 69, Page, "version note";
    /// A version page holds entries of one more transaction, or was retired.
    VERSION_RANGE = 68, State, "version range";

    /// A transaction is committed.
    COMMIT = 80, State, "commit";
    /// A transaction ended badly and is to be backed out.
    DEAD = 81, State, "dead";
    /// A dead transaction is backed out.
    BACKED_OUT = 82, State, "backed out";
    /// A transaction was undone: nothing of it is left.
    ROLLED_BACK = 83, State, "rolled back";
    /// Sweep moved the markers.
    SWEPT = 84, State, "swept";

    /// A transaction is prepared: it survives a restart undecided.
    PREPARED = 85, State, "prepared";

    /// The pages of an object are not logged from here on.
    UNLOGGED = 86, State, "unlogged";
    /// An unlogged object has gone.
    UNLOGGED_GONE = 87, State, "unlogged gone";
    /// Every page of an unlogged object is durable: they are logged from here on.
    LOADED = 88, State, "loaded";
    /// A place in the log has a name, to which a restore can go.
    RESTORE_POINT = 89, State, "restore point";

    /// A page of an index with all its entries.
    INDEX_INIT = 128, Init, "index init";
    /// New entries of a page of an index.
    INDEX_INSERT = 129, Page, "index insert";
    /// Entries of a page of an index went.
    INDEX_REMOVE = 130, Page, "index remove";
    /// A page of an index ends elsewhere: it was split, or took its right neighbour's place over.
    INDEX_FENCE = 131, Page, "index fence";

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
