//! The kinds of pages.

use std::fmt;

/// What a page holds. No kind is 0, so a zeroed page is never a valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// Page 0: where recovery starts.
    Superblock = 1,
    /// Which extents are free and whose the others are.
    SpaceMap = 2,
    /// First page of an object.
    Root = 3,
    /// The data pages of a table in order.
    Directory = 4,
    /// Home records, column by column.
    Data = 5,
    /// Values that outgrew their data pages.
    Companion = 6,
    /// Parts of a value longer than a page takes.
    Overflow = 7,
    /// Back versions of one transaction.
    Version = 8,
    /// Durable states of transactions.
    Inventory = 9,
    /// Scratch of one session; never logged, worthless after a restart.
    Temp = 10,
    /// Values of sequences.
    Sequence = 11,
    /// Index page of separators and children.
    IndexInner = 12,
    /// Index page of entries.
    IndexLeaf = 13,
    /// Several data pages, encoded column by column.
    Packed = 14,
    /// Symbols for the texts of packed pages.
    Dictionary = 15,
}

impl PageKind {
    /// Every kind, in the order of its number.
    pub const ALL: [PageKind; 15] = [
        PageKind::Superblock,
        PageKind::SpaceMap,
        PageKind::Root,
        PageKind::Directory,
        PageKind::Data,
        PageKind::Companion,
        PageKind::Overflow,
        PageKind::Version,
        PageKind::Inventory,
        PageKind::Temp,
        PageKind::Sequence,
        PageKind::IndexInner,
        PageKind::IndexLeaf,
        PageKind::Packed,
        PageKind::Dictionary,
    ];

    /// Size of an array indexed by [`PageKind::index`]; index 0 counts pages of no known kind.
    pub const COUNT: usize = PageKind::ALL.len() + 1;

    /// The kind with this number, if there is one.
    pub fn from_u8(number: u8) -> Option<PageKind> {
        PageKind::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The kind's number as an array index, from 1.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The kind's name in statistics and messages.
    pub fn name(self) -> &'static str {
        match self {
            PageKind::Superblock => "superblock",
            PageKind::SpaceMap => "space map",
            PageKind::Root => "root",
            PageKind::Directory => "directory",
            PageKind::Data => "data",
            PageKind::Companion => "companion",
            PageKind::Overflow => "overflow",
            PageKind::Version => "version",
            PageKind::Inventory => "inventory",
            PageKind::Temp => "temp",
            PageKind::Sequence => "sequence",
            PageKind::IndexInner => "index inner",
            PageKind::IndexLeaf => "index leaf",
            PageKind::Packed => "packed",
            PageKind::Dictionary => "dictionary",
        }
    }
}

impl fmt::Display for PageKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_back_to_its_kind_and_zero_to_none() {
        assert_eq!(PageKind::from_u8(0), None);
        assert_eq!(PageKind::from_u8(PageKind::COUNT as u8), None);
        assert_eq!(PageKind::from_u8(255), None);
        for kind in PageKind::ALL {
            assert_eq!(PageKind::from_u8(kind as u8), Some(kind));
        }
    }
}
