//! The bytes of a map page, and the redo of its log records.
//!
//! ```text
//! page header (32): at 24 units u32 │ at 28 regions u32 (region 0) or the region's number (others)
//! entry per unit (8): owner u32 │ kind u8 │ flags u8 │ 0 u16            all zero: free
//! ```
//!
//! A page map is the same for the pages of a [`Group`]:
//!
//! ```text
//! page header (32): at 24 pages u32
//! entry per page (8)
//! ```
//!
//! ```text
//! region   group │ group │ … 8 of them │ less than 8 units that belong to no group
//! ```

use crate::page::bytes::{checked_u8, checked_u32, put_u32, u8_at, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::wal::RecordKind;

/// Pages per unit, the smallest extent.
pub const UNIT_PAGES: u32 = 8;
/// Flag of an entry: the first unit of an object, whose first page is the object's root.
pub const FLAG_ROOT: u8 = 1;

const UNITS: usize = header::KIND_SPECIFIC;
const REGION: usize = header::KIND_SPECIFIC + 4;
const ENTRIES: usize = header::SIZE;
const ENTRY: usize = 8;

/// What an extent is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ExtentKind {
    /// A table, index or sequence.
    Object = 1,
    /// Version pages.
    Version = 2,
    /// Scratch, worthless after a restart.
    Temp = 3,
    /// The transaction inventory.
    Inventory = 4,
    /// The first unit of a region, which holds the map page.
    Map = 5,
    /// A unit whose pages are given out one by one.
    Pages = 6,
    /// Such a unit, whose first page is the page map of its group.
    PagesWithMap = 7,
}

/// The page map of the first group.
pub(super) const PAGE_MAP: PageId = PageId(2);
/// Pages that it needs for itself, for the superblock and the map page.
pub(super) const PAGES_OF_MAP: u32 = 3;
/// Groups of a region.
const GROUPS: u32 = UNIT_PAGES;

/// Units one behind the other, which have a page map once pages of them are given out one by one. Numbered through the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Group(pub u32);

impl Group {
    /// The first of all.
    pub const FIRST: Group = Group(0);

    /// The one that a unit belongs to; a few at a region's end belong to none.
    pub fn of_unit(unit: u32, page_size: usize) -> Option<Group> {
        let (region, index) = (unit / region_units(page_size), unit % region_units(page_size));
        let group = index / group_units(page_size);
        (group < GROUPS).then(|| Group(region * GROUPS + group))
    }

    /// The one that tells of a page, if one does.
    pub fn of_page(page: u32, page_size: usize) -> Option<Group> {
        Group::of_unit(page / UNIT_PAGES, page_size)
    }

    /// Its first page.
    pub fn first_page(self, page_size: usize) -> u32 {
        let unit = self.0 / GROUPS * region_units(page_size) + self.0 % GROUPS * group_units(page_size);
        unit * UNIT_PAGES
    }

    /// Its pages, of which the file need not have all.
    pub fn pages(self, page_size: usize) -> std::ops::Range<u32> {
        let first = self.first_page(page_size);
        first..first + group_units(page_size) * UNIT_PAGES
    }

    /// Whether its page map may stand on that page.
    fn may_have_map(self, page: u32, page_size: usize) -> bool {
        match self {
            Group::FIRST => page == PAGE_MAP.0,
            // A region's first unit is its map page's.
            _ => {
                page.is_multiple_of(UNIT_PAGES)
                    && !(page / UNIT_PAGES).is_multiple_of(region_units(page_size))
            }
        }
    }
}

impl ExtentKind {
    /// Every kind, in the order of its number.
    pub const ALL: [ExtentKind; 7] = [
        ExtentKind::Object,
        ExtentKind::Version,
        ExtentKind::Temp,
        ExtentKind::Inventory,
        ExtentKind::Map,
        ExtentKind::Pages,
        ExtentKind::PagesWithMap,
    ];

    /// The kind of that number.
    pub fn from_u8(number: u8) -> Option<ExtentKind> {
        ExtentKind::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Whether a page map says whose each page of the unit is.
    pub(super) fn is_of_pages(self) -> bool {
        matches!(self, ExtentKind::Pages | ExtentKind::PagesWithMap)
    }
}

/// An allocated unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub owner: ObjectId,
    pub kind: ExtentKind,
    pub root: bool,
}

/// Units that one map page describes.
pub(super) fn region_units(page_size: usize) -> u32 {
    u32::try_from((page_size - ENTRIES) / ENTRY).expect("a page is small")
}

/// Units of a group: as many as have an entry for each of their pages on one page.
pub(super) fn group_units(page_size: usize) -> u32 {
    region_units(page_size) / UNIT_PAGES
}

/// The map page of a region.
pub(super) fn map_page(region: u32, page_size: usize) -> PageId {
    PageId(region * region_units(page_size) * UNIT_PAGES + 1)
}

/// Units of the region that exist in the file.
pub(super) fn units(page: &[u8]) -> Result<u32, Flaw> {
    let units = u32_at(page, UNITS);
    let fits =
        header::kind(page) == Some(PageKind::SpaceMap) && (1..=region_units(page.len())).contains(&units);
    if fits { Ok(units) } else { Err(Flaw::new(format!("not a map page of {units} units"))) }
}

/// Number of regions; only on the map page of region 0.
pub(super) fn regions(page: &[u8]) -> u32 {
    u32_at(page, REGION)
}

/// The entry of a unit below [`units`]; `None` if it is free.
pub(super) fn entry(page: &[u8], unit: u32) -> Result<Option<Entry>, Flaw> {
    let at = ENTRIES + unit as usize * ENTRY;
    let owner = ObjectId(u32_at(page, at));
    let (kind, flags) = (u8_at(page, at + 4), u8_at(page, at + 5));
    match ExtentKind::from_u8(kind) {
        Some(kind) if flags & !FLAG_ROOT == 0 => Ok(Some(Entry { owner, kind, root: flags != 0 })),
        None if kind == 0 && flags == 0 && owner.0 == 0 => Ok(None),
        _ => Err(Flaw::new(format!("map entry {unit} has kind {kind} and flags {flags}"))),
    }
}

fn put_entry(page: &mut [u8], unit: u32, entry: Option<Entry>) {
    let at = ENTRIES + unit as usize * ENTRY;
    page[at..at + ENTRY].fill(0);
    if let Some(entry) = entry {
        put_u32(page, at, entry.owner.0);
        page[at + 4] = entry.kind as u8;
        page[at + 5] = if entry.root { FLAG_ROOT } else { 0 };
    }
}

pub(super) fn pages_payload(map: PageId, page_size: usize) -> [u8; 8] {
    pair(map.0, group_units(page_size) * UNIT_PAGES)
}

pub(super) fn shrink_payload(units: u32) -> [u8; 8] {
    pair(units, 0)
}

pub(super) fn init_payload(region: u32, units: u32) -> [u8; 8] {
    pair(region, units)
}

pub(super) fn grow_payload(units: u32, regions: u32) -> [u8; 8] {
    pair(units, regions)
}

pub(super) fn free_payload(first: u32, count: u32) -> [u8; 8] {
    pair(first, count)
}

pub(super) fn allocate_payload(first: u32, count: u32, entry: Entry) -> [u8; 14] {
    let mut payload = [0; 14];
    payload[..8].copy_from_slice(&pair(first, count));
    put_u32(&mut payload, 8, entry.owner.0);
    payload[12] = entry.kind as u8;
    payload[13] = if entry.root { FLAG_ROOT } else { 0 };
    payload
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    let mut payload = [0; 8];
    put_u32(&mut payload, 0, first);
    put_u32(&mut payload, 4, second);
    payload
}

/// Whether that is a page map; of a page that is a page map or a map page.
fn is_page_map(page: PageId) -> bool {
    page.0 % UNIT_PAGES != 1
}

/// The pages that a [`RecordKind::SPACE_FREE`] record on map page or page map `map` frees: the first one and how many.
pub(crate) fn freed_pages(map: PageId, payload: &[u8], page_size: usize) -> Result<(PageId, u32), Flaw> {
    let (first, count) = (checked_u32(payload, 0)?, checked_u32(payload, 4)?);
    let (unit, base) = match is_page_map(map) {
        false => (UNIT_PAGES, map.0 / UNIT_PAGES * UNIT_PAGES),
        true => {
            let group = Group::of_page(map.0, page_size).ok_or("a page map of no group")?;
            (1, group.first_page(page_size))
        }
    };
    let start = first.checked_mul(unit).and_then(|pages| base.checked_add(pages));
    let pages = count.checked_mul(unit);
    match (start, pages) {
        (Some(start), Some(pages)) if start.checked_add(pages).is_some() => Ok((PageId(start), pages)),
        _ => Err(Flaw::from("units to free lie beyond any file")),
    }
}

/// Redo of the space map's log records, 16–19 and 21–23.
///
/// # Errors
/// A flaw when page and payload do not fit together; the page is unchanged then.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let (first, second) = (checked_u32(payload, 0)?, checked_u32(payload, 4)?);
    match kind {
        RecordKind::SPACE_MAP_INIT => redo_init(page, first, second),
        RecordKind::SPACE_GROW => redo_grow(page, first, second),
        RecordKind::SPACE_ALLOCATE => {
            let owner = ObjectId(checked_u32(payload, 8)?);
            let kind = ExtentKind::from_u8(checked_u8(payload, 12)?).ok_or("extent of unknown kind")?;
            let root = match checked_u8(payload, 13)? {
                0 => false,
                FLAG_ROOT => true,
                flags => return Err(Flaw::new(format!("extent with flags {flags}"))),
            };
            redo_allocate(page, first, second, Entry { owner, kind, root })
        }
        RecordKind::SPACE_FREE => redo_free(page, first, second),
        RecordKind::SPACE_PAGES_INIT => redo_pages_init(page, first, second),
        RecordKind::SPACE_PAGES => redo_pages(page),
        RecordKind::SPACE_SHRINK => redo_shrink(page, first),
        _ => Err(Flaw::new(format!("log record of kind {} is not the space map's", kind.0))),
    }
}

fn redo_init(page: &mut [u8], region: u32, units: u32) -> Result<(), Flaw> {
    let capacity = region_units(page.len());
    let last_page = (u64::from(region) + 1) * u64::from(capacity) * u64::from(UNIT_PAGES);
    if !(1..=capacity).contains(&units) || last_page > u64::from(u32::MAX) {
        return Err(Flaw::new(format!("region {region} of {units} units")));
    }
    header::init(page, map_page(region, page.len()), PageKind::SpaceMap, ObjectId::SYSTEM, 0);
    put_u32(page, UNITS, units);
    put_u32(page, REGION, if region == 0 { 1 } else { region });
    put_entry(page, 0, Some(Entry { owner: ObjectId::SYSTEM, kind: ExtentKind::Map, root: false }));
    Ok(())
}

fn redo_pages_init(page: &mut [u8], id: u32, pages: u32) -> Result<(), Flaw> {
    let size = page.len();
    let group = Group::of_page(id, size).filter(|group| group.may_have_map(id, size));
    let Some(group) = group.filter(|_| pages == group_units(size) * UNIT_PAGES) else {
        return Err(Flaw::new(format!("page map {id} of {pages} pages")));
    };
    header::init(page, PageId(id), PageKind::SpaceMap, ObjectId::SYSTEM, 0);
    put_u32(page, UNITS, pages);
    let entry = Entry { owner: ObjectId::SYSTEM, kind: ExtentKind::Map, root: false };
    own_pages(group, id, size).for_each(|own| put_entry(page, own, Some(entry)));
    Ok(())
}

/// Which of a group's pages are the page map's, counted from the group's first one.
fn own_pages(group: Group, map: u32, page_size: usize) -> std::ops::Range<u32> {
    let own = map - group.first_page(page_size);
    if group == Group::FIRST { 0..PAGES_OF_MAP } else { own..own + 1 }
}

fn redo_pages(page: &mut [u8]) -> Result<(), Flaw> {
    units(page)?;
    match entry(page, 0)? {
        Some(first) if first.kind == ExtentKind::Map => {
            put_entry(page, 0, Some(Entry { kind: ExtentKind::Pages, ..first }));
            Ok(())
        }
        _ => Err(Flaw::from("a map page without a unit of its own")),
    }
}

fn redo_shrink(page: &mut [u8], left: u32) -> Result<(), Flaw> {
    let old = units(page)?;
    if left == 0 || left >= old {
        return Err(Flaw::new(format!("a region of {old} units that is to have {left}")));
    }
    for unit in left..old {
        if entry(page, unit)?.is_some() {
            return Err(Flaw::new(format!("unit {unit} is to go and is not free")));
        }
    }
    put_u32(page, UNITS, left);
    Ok(())
}

fn redo_grow(page: &mut [u8], new_units: u32, new_regions: u32) -> Result<(), Flaw> {
    let old = units(page)?;
    if new_units < old || new_units > region_units(page.len()) || new_regions < regions(page) {
        return Err(Flaw::new(format!("growth from {old} to {new_units} units")));
    }
    put_u32(page, UNITS, new_units);
    put_u32(page, REGION, new_regions);
    Ok(())
}

fn checked_run(page: &[u8], first: u32, count: u32) -> Result<std::ops::Range<u32>, Flaw> {
    let limit = units(page)?;
    // A region's first unit is its map page's, the first page of a group anybody's.
    let least = u32::from(!is_page_map(header::page_id(page)));
    let end = first.checked_add(count).filter(|end| *end <= limit && count > 0 && first >= least);
    end.map(|end| first..end).ok_or_else(|| Flaw::new(format!("units {first} + {count} of {limit}")))
}

fn redo_allocate(page: &mut [u8], first: u32, count: u32, new: Entry) -> Result<(), Flaw> {
    let run = checked_run(page, first, count)?;
    for unit in run.clone() {
        if let Some(old) = entry(page, unit)? {
            return Err(Flaw::new(format!("unit {unit} is allocated already, to {}", old.owner)));
        }
    }
    for unit in run {
        put_entry(page, unit, Some(Entry { root: new.root && unit == first, ..new }));
    }
    Ok(())
}

fn redo_free(page: &mut [u8], first: u32, count: u32) -> Result<(), Flaw> {
    let run = checked_run(page, first, count)?;
    for unit in run.clone() {
        match entry(page, unit)? {
            None => return Err(Flaw::new(format!("unit {unit} is free already"))),
            Some(own) if own.kind == ExtentKind::Map => {
                return Err(Flaw::new(format!("unit {unit} is the map's own")));
            }
            Some(_) => {}
        }
    }
    run.for_each(|unit| put_entry(page, unit, None));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map() -> Vec<u8> {
        let mut page = vec![0; 4096];
        redo(RecordKind::SPACE_MAP_INIT, &mut page, &init_payload(0, 20)).unwrap();
        page
    }

    #[test]
    fn units_are_allocated_and_freed_once() {
        let mut page = map();
        let table = Entry { owner: ObjectId(5), kind: ExtentKind::Object, root: true };
        redo(RecordKind::SPACE_ALLOCATE, &mut page, &allocate_payload(3, 4, table)).unwrap();
        assert_eq!(entry(&page, 3), Ok(Some(table)));
        assert_eq!(entry(&page, 4), Ok(Some(Entry { root: false, ..table })));
        assert_eq!(entry(&page, 7), Ok(None));
        let before = page.clone();
        for (first, count) in [(6, 2), (18, 3), (0, 1), (9, 0), (u32::MAX, 2)] {
            assert!(
                redo(RecordKind::SPACE_ALLOCATE, &mut page, &allocate_payload(first, count, table)).is_err()
            );
        }
        assert!(redo(RecordKind::SPACE_FREE, &mut page, &free_payload(6, 2)).is_err());
        assert_eq!(page, before, "a flaw changes nothing");
        redo(RecordKind::SPACE_FREE, &mut page, &free_payload(3, 4)).unwrap();
        assert_eq!(page, map());
    }

    #[test]
    fn freed_pages_are_those_of_the_units() {
        let map = map_page(1, 4096);
        assert_eq!(map, PageId(508 * 8 + 1));
        let freed = |map, first, count| freed_pages(map, &free_payload(first, count), 4096);
        assert_eq!(freed(map, 2, 3), Ok((PageId(508 * 8 + 16), 24)));
        assert!(freed(map, u32::MAX, 3).is_err());
        assert_eq!(freed(PAGE_MAP, 13, 2), Ok((PageId(13), 2)));
        assert_eq!(freed(map_page(0, 4096), 2, 1), Ok((PageId(16), 8)));
        // The page map of the second group, in its sixth unit, and one of the second region's first.
        assert_eq!(freed(PageId((63 + 5) * 8), 13, 2), Ok((PageId(63 * 8 + 13), 2)));
        assert_eq!(freed(PageId((508 + 5) * 8), 0, 1), Ok((PageId(508 * 8), 1)));
        assert!(freed(PageId(505 * 8), 0, 1).is_err());
    }

    #[test]
    fn the_page_map_tells_of_pages() {
        let mut page = vec![9; 4096];
        redo(RecordKind::SPACE_PAGES_INIT, &mut page, &pages_payload(PAGE_MAP, 4096)).unwrap();
        assert_eq!(units(&page), Ok(63 * 8));
        let own = Entry { owner: ObjectId::SYSTEM, kind: ExtentKind::Map, root: false };
        assert!((0..4).all(|at| entry(&page, at) == Ok((at < 3).then_some(own))));
        let table = Entry { owner: ObjectId(5), kind: ExtentKind::Object, root: true };
        redo(RecordKind::SPACE_ALLOCATE, &mut page, &allocate_payload(3, 1, table)).unwrap();
        assert!(redo(RecordKind::SPACE_ALLOCATE, &mut page, &allocate_payload(2, 1, table)).is_err());
        redo(RecordKind::SPACE_FREE, &mut page, &free_payload(3, 1)).unwrap();
        let mut units = map();
        redo(RecordKind::SPACE_PAGES, &mut units, &[0; 8]).unwrap();
        assert_eq!(entry(&units, 0), Ok(Some(Entry { kind: ExtentKind::Pages, ..own })));
        assert!(redo(RecordKind::SPACE_PAGES, &mut units, &[0; 8]).is_err());
    }

    #[test]
    fn each_group_has_a_page_map_of_its_own() {
        for page_size in crate::page::PAGE_SIZES {
            let (units, group) = (region_units(page_size), group_units(page_size));
            assert_eq!(units / group, GROUPS);
            for unit in [0, 1, group - 1, group, units - 1, units, units + group * 7, units * 3 + 1] {
                let found = Group::of_unit(unit, page_size);
                let is_rest = unit % units >= group * GROUPS;
                assert_eq!(found.is_none(), is_rest, "{page_size}: {unit}");
                if let Some(found) = found {
                    assert!(found.pages(page_size).contains(&(unit * UNIT_PAGES)), "{page_size}: {unit}");
                    let behind = found.pages(page_size).end;
                    assert!(Group::of_page(behind, page_size) != Some(found));
                }
            }
        }
        let mut page = vec![9; 4096];
        let map = PageId((63 + 5) * 8);
        redo(RecordKind::SPACE_PAGES_INIT, &mut page, &pages_payload(map, 4096)).unwrap();
        let own = Entry { owner: ObjectId::SYSTEM, kind: ExtentKind::Map, root: false };
        assert!((0..63 * 8).all(|at| entry(&page, at) == Ok((at == 40).then_some(own))));
        let table = Entry { owner: ObjectId(5), kind: ExtentKind::Object, root: true };
        redo(RecordKind::SPACE_ALLOCATE, &mut page, &allocate_payload(0, 1, table)).unwrap();
        redo(RecordKind::SPACE_FREE, &mut page, &free_payload(0, 1)).unwrap();
        assert!(redo(RecordKind::SPACE_FREE, &mut page, &free_payload(40, 1)).is_err());
        // Not on a map page's unit, in no group, or not at the start of a unit.
        for id in [508 * 8, 505 * 8, 63 * 8 + 1, 8, 0] {
            let payload = pages_payload(PageId(id), 4096);
            assert!(redo(RecordKind::SPACE_PAGES_INIT, &mut page, &payload).is_err(), "{id}");
        }
    }

    proptest! {
        #[test]
        fn junk_payloads_and_pages_are_flaws_and_change_nothing(
            kind in 16u8..24, payload in prop::collection::vec(any::<u8>(), 0..20),
            junk in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..10),
        ) {
            let mut page = map();
            for (at, value) in junk {
                let at = at.index(300);
                page[at] = value;
            }
            let before = page.clone();
            if redo(RecordKind(kind), &mut page, &payload).is_err() {
                prop_assert_eq!(page, before);
            }
        }
    }
}
