//! Dictionaries of a table: symbols for its texts, in pages that its root leads to, the newest first.
//!
//! ```text
//! root ─► dictionary ─► dictionary of before ─► …            parts say which one their texts are encoded with
//! header 32, at 24: next page u32, columns u8 │ column u16, symbols │ …
//! ```
//!
//! A dictionary never changes. It goes when no part needs it any more, which is looked at when the table is packed anew. They are in
//! memory as soon as somebody has read them.

use std::collections::HashMap;
use std::sync::Arc;

use verso_env::sync::RwLock;

use super::container;
use super::part::{Image, Part};
use super::symbols::Symbols;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::value_slot::ValueSlot;
use crate::heap::{Heap, apply, root};
use crate::mini::Mini;
use crate::page::bytes::{checked_slice, checked_u16, checked_u32, put_u32, u16_at, u32_at, u64_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, TxnId, header};
use crate::shared::Shared;
use crate::wal::RecordKind;

/// Offset of the next page, u32, and of the number of columns, u8.
const NEXT: usize = header::KIND_SPECIFIC;
const COLUMNS: usize = NEXT + 4;
/// Pages of a table that are looked at for a dictionary, and bytes of each column.
const PAGES_SAMPLED: u32 = 64;
const BYTES_SAMPLED: usize = 64 << 10;
/// A column gets symbols if they take a sixth off its bytes.
const GAIN: usize = 6;
/// Fewer bytes tell nothing.
const BYTES_LEAST: usize = 1024;

/// The symbols of a page, by column.
#[derive(Debug)]
pub(crate) struct Dictionary {
    /// The page.
    pub(super) page: PageId,
    next: PageId,
    columns: Vec<(u16, Symbols)>,
}

impl Dictionary {
    /// Reads a page.
    ///
    /// # Errors
    /// A flaw of it.
    pub fn of(page: &[u8], owner: ObjectId) -> Result<Dictionary, Flaw> {
        if header::kind(page) != Some(PageKind::Dictionary) || header::owner(page) != owner {
            return Err(Flaw::from("not a dictionary of this table"));
        }
        let (mut at, mut columns) = (header::SIZE, Vec::new());
        for _ in 0..page[COLUMNS] {
            let column = checked_u16(page, at)?;
            let (symbols, length) = Symbols::read(checked_slice(page, at + 2, page.len() - at - 2)?)?;
            columns.push((column, symbols));
            at += 2 + length;
        }
        Ok(Dictionary { page: header::page_id(page), next: PageId(u32_at(page, NEXT)), columns })
    }

    /// The symbols of a column, and their number in the page.
    pub(super) fn of_column(&self, column: u16) -> Option<&Symbols> {
        self.columns.iter().find(|(id, _)| *id == column).map(|(_, symbols)| symbols)
    }
}

/// Runs a record of kind 56: `page u32 │ owner u32 │ next u32 │ columns u8 │ body`.
pub(super) fn redo(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
    let (next, columns) = (checked_u32(payload, 8)?, checked_slice(payload, 12, 1)?[0]);
    let body = &payload[13..];
    if header::SIZE + body.len() > page.len() {
        return Err(Flaw::from("a dictionary that does not fit a page"));
    }
    header::init(page, id, PageKind::Dictionary, owner, 0);
    put_u32(page, NEXT, next);
    page[COLUMNS] = columns;
    page[header::SIZE..header::SIZE + body.len()].copy_from_slice(body);
    Ok(())
}

/// Those that are in memory.
#[derive(Default)]
pub(crate) struct Dictionaries(RwLock<HashMap<PageId, Arc<Dictionary>>>);

/// A column of variable width, by its number, and some of its values.
type Sample = (u16, Vec<Vec<u8>>);

/// What making a dictionary has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trained {
    /// Columns that have symbols now.
    pub columns: u64,
    /// How many, of all of them.
    pub symbols: u64,
    /// Bytes of their values that were looked at.
    pub sampled: u64,
    /// What these take in symbols.
    pub encoded: u64,
}

impl Heap {
    /// The dictionary on a page.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    fn dictionary(&self, pool: &BufferPool, id: PageId) -> Result<Arc<Dictionary>, StorageError> {
        if let Some(known) = self.dictionaries.0.read().get(&id) {
            return Ok(Arc::clone(known));
        }
        let read = Dictionary::of(&pool.read(id)?, self.object).map_err(|flaw| self.corrupt(id, flaw))?;
        let mut known = self.dictionaries.0.write();
        Ok(Arc::clone(known.entry(id).or_insert(Arc::new(read))))
    }

    /// The dictionary that the wanted columns of a part need.
    ///
    /// # Errors
    /// `Corrupt` of the page with the part, or of the dictionary's; `Io`.
    #[inline]
    pub(super) fn dictionary_of(
        &self,
        part: &Part<'_>,
        wanted: Option<&[u16]>,
        page: PageId,
    ) -> Result<Option<Arc<Dictionary>>, StorageError> {
        match part.dictionary(wanted).map_err(|flaw| self.corrupt(page, flaw))? {
            None => Ok(None),
            Some(id) => self.dictionary(self.pool(), id).map(Some),
        }
    }

    /// The newest one, with which texts are encoded from now on.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn newest_dictionary(
        &self,
        pool: &BufferPool,
    ) -> Result<Option<Arc<Dictionary>>, StorageError> {
        let newest = root::dictionary(&pool.read(self.root)?);
        if newest.is_none() { Ok(None) } else { self.dictionary(pool, newest).map(Some) }
    }

    /// Every one, the newest first.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn all_dictionaries(&self, pool: &BufferPool) -> Result<Vec<PageId>, StorageError> {
        let (mut all, mut next) = (Vec::new(), root::dictionary(&pool.read(self.root)?));
        while !next.is_none() {
            if all.contains(&next) {
                return Err(self.corrupt(next, Flaw::from("a dictionary that leads back to itself")));
            }
            all.push(next);
            next =
                Dictionary::of(&pool.read(next)?, self.object).map_err(|flaw| self.corrupt(next, flaw))?.next;
        }
        Ok(all)
    }

    /// Chooses symbols for the texts of the table's rows, and makes them its newest dictionary where some column gains.
    /// Nobody else may use the table meanwhile.
    ///
    /// # Errors
    /// Those of `go_on`; `Full`, `Corrupt`, `Io`.
    pub(crate) fn train(
        &self,
        shared: &Shared,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Trained, StorageError> {
        let core = shared.core();
        let mut chosen = Vec::new();
        for (column, bytes) in self.sample(shared, go_on)? {
            go_on()?;
            let texts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
            let symbols = Symbols::train(&texts);
            let sampled: usize = texts.iter().map(|text| text.len()).sum();
            let mut codes = Vec::new();
            texts.iter().for_each(|text| symbols.encode(text, &mut codes));
            if sampled >= BYTES_LEAST && codes.len() + sampled / GAIN < sampled {
                chosen.push((sampled - codes.len(), column, symbols, sampled, codes.len()));
            }
        }
        // Those that save most, as far as a page goes.
        chosen.sort_by_key(|(saved, column, ..)| (std::cmp::Reverse(*saved), *column));
        let (mut trained, mut body) = (Trained::default(), Vec::new());
        for (_, column, symbols, sampled, encoded) in chosen {
            if header::SIZE + body.len() + 2 + symbols.size() > core.pool.page_size()
                || trained.columns >= 255
            {
                continue;
            }
            body.extend_from_slice(&column.to_le_bytes());
            symbols.write(&mut body);
            trained.columns += 1;
            trained.symbols += symbols.count() as u64;
            trained.sampled += sampled as u64;
            trained.encoded += encoded as u64;
        }
        if trained.columns == 0 {
            return Ok(trained);
        }
        shared.space.keep_reserve(core)?;
        let mut mini = Mini::begin(core, TxnId::NONE);
        let root = mini.write(self.root)?;
        let before = root::dictionary(mini.page(root));
        let page = root::allocate_page(&mut mini, &shared.space, self.object, root)?;
        mini.use_reserve();
        let handle = mini.create(page)?;
        mini.apply_with(handle, RecordKind::DICTIONARY_INIT, |out| {
            out.extend_from_slice(&page.0.to_le_bytes());
            out.extend_from_slice(&self.object.0.to_le_bytes());
            out.extend_from_slice(&before.0.to_le_bytes());
            out.push(trained.columns as u8);
            out.extend_from_slice(&body);
        })?;
        root::set_dictionary(&mut mini, root, page)?;
        mini.commit()?;
        Ok(trained)
    }

    /// Values of the columns of variable width, of some pages all over the table.
    fn sample(
        &self,
        shared: &Shared,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Vec<Sample>, StorageError> {
        let pages = self.page_count();
        let step = (pages / PAGES_SAMPLED).max(1);
        let mut image = Image::default();
        let mut columns: HashMap<u16, (usize, Vec<Vec<u8>>)> = HashMap::new();
        let each = BYTES_SAMPLED / PAGES_SAMPLED.min(pages.max(1)) as usize;
        for index in (0..pages).step_by(step as usize).take(PAGES_SAMPLED as usize) {
            go_on()?;
            let Some(home) = self.home(&shared.core().pool, index, true)? else { break };
            let page = home.bytes(self, &mut image, None)?;
            let layout = PageLayout::of(page).map_err(|flaw| self.corrupt(home.id(), flaw))?;
            let high = u16_at(page, SLOT_HIGH).min(layout.capacity as u16);
            for place in layout.columns.iter().filter(|place| place.is_variable()) {
                let (bytes, values) = columns.entry(place.id).or_default();
                let most = *bytes + each;
                for slot in (0..high).filter(|slot| apply::is_live(page, &layout, *slot)) {
                    let raw = u64_at(page, place.data + usize::from(slot) * 8);
                    let Some(ValueSlot::Inline { offset, length }) = ValueSlot::decode(raw) else { continue };
                    let value = checked_slice(page, usize::from(offset), usize::from(length));
                    let value = value.map_err(|flaw| self.corrupt(home.id(), flaw))?;
                    if *bytes + value.len() > most {
                        break;
                    }
                    *bytes += value.len();
                    values.push(value.to_vec());
                }
            }
        }
        let mut columns: Vec<_> = columns.into_iter().map(|(column, (_, values))| (column, values)).collect();
        columns.sort_unstable_by_key(|(column, _)| *column);
        Ok(columns)
    }

    /// Frees dictionaries that no part needs, but not the newest. Nobody else may use the table meanwhile.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn forget_dictionaries(&self, shared: &Shared) -> Result<(), StorageError> {
        let pool = &shared.core().pool;
        let all = self.all_dictionaries(pool)?;
        if all.len() < 2 {
            return Ok(());
        }
        let mut needed = Vec::new();
        for index in 0..self.page_count() {
            let Some(home) = self.home(pool, index, true)? else { break };
            if !home.is_packed() {
                continue;
            }
            let page = home.latched();
            for (_, range) in container::parts(page).map_err(|flaw| self.corrupt(home.id(), flaw))? {
                let its = Part::of(&page[range]).and_then(|part| part.dictionary(None));
                let its = its.map_err(|flaw| self.corrupt(home.id(), flaw))?;
                needed.extend(its.filter(|its| !needed.contains(its)));
            }
        }
        let mut mini = Mini::begin(shared.core(), TxnId::NONE);
        let root = mini.write(self.root)?;
        // All of them before the first change.
        let handles = all.iter().map(|id| mini.write(*id)).collect::<Result<Vec<_>, _>>()?;
        let mut last = handles[0];
        let mut gone = Vec::new();
        for (id, handle) in all.iter().zip(&handles).skip(1) {
            if needed.contains(id) {
                last = *handle;
                continue;
            }
            let behind = PageId(u32_at(mini.page(*handle), NEXT));
            let mut change = Vec::new();
            root::patch(&mut change, NEXT, &behind.0.to_le_bytes());
            mini.apply(last, RecordKind::PATCH, &change)?;
            gone.push(*id);
        }
        for id in &gone {
            root::free_page(&mut mini, self.object, root, *id)?;
        }
        if gone.is_empty() {
            return Ok(());
        }
        mini.commit()?;
        let mut known = self.dictionaries.0.write();
        gone.iter().for_each(|id| drop(known.remove(id)));
        Ok(())
    }
}
