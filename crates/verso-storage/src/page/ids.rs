//! Identities: a number that means one thing is a type of its own.

use std::fmt;

/// Number of a page in the database file; its offset is number × page size.
///
/// Page 0 is the superblock, which nothing ever points at, so 0 stands for "none" in links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

impl PageId {
    /// "No page" in a link; also the superblock, the one page that no link names.
    pub const NONE: PageId = PageId(0);

    /// Whether a link holding this value leads nowhere.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The page `pages` further on.
    pub fn offset(self, pages: u32) -> PageId {
        PageId(self.0 + pages)
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "page {}", self.0)
    }
}

/// A place in the log: the logical byte offset of a group of log records since the database was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Before everything in the log.
    pub const ZERO: Lsn = Lsn(0);
}

impl fmt::Display for Lsn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// Number of a transaction; 0 is none, later transactions have greater numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxnId(pub u64);

impl TxnId {
    /// No transaction.
    pub const NONE: TxnId = TxnId(0);
}

impl fmt::Display for TxnId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// Number of a stored object: a table, an index, a sequence. 0 is the database itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// Owner of pages that belong to no table or index: space maps, inventory, version pages.
    pub const SYSTEM: ObjectId = ObjectId(0);
    /// Objects below this are the catalog's.
    pub const FIRST_OF_USERS: ObjectId = ObjectId(1000);

    /// Whether it is a table or an index of the catalog.
    pub fn is_of_catalog(self) -> bool {
        self != ObjectId::SYSTEM && self < ObjectId::FIRST_OF_USERS
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(out, "the database itself"),
            number => write!(out, "object {number}"),
        }
    }
}

/// Name of a record in its table for the whole of its life, wherever its page moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// Position of the data page in the table's directory.
    pub page_index: u32,
    /// Slot within the page.
    pub slot: u16,
}

impl fmt::Display for RecordId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "record {}.{}", self.page_index, self.slot)
    }
}
