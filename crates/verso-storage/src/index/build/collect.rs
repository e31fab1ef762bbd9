//! The keys of a table's records: sorted runs, in memory or in temporary files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use verso_types::inverted::Keys;

use super::run::FileRun;
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::packed::Image;
use crate::index::entries::Entries;
use crate::index::node;
use crate::index::stale::OldKeys;
use crate::index::table::Index;
use crate::index::versions::Versions;
use crate::page::bytes::u16_at;
use crate::page::{RecordId, TxnId};
use crate::shared::Shared;
use crate::workers::Job;

/// Who counts the temporary files of a job.
pub trait TemporarySpace: Send + Sync {
    /// So many more bytes are written.
    ///
    /// # Errors
    /// `NoTemporarySpace`, with nothing counted.
    fn charge(&self, bytes: u64) -> Result<(), StorageError>;

    /// So many bytes have gone.
    fn give_back(&self, bytes: u64);
}

/// Where the runs of a build are written.
#[derive(Clone)]
pub(in crate::index) struct SortFiles {
    pub directory: PathBuf,
    pub space: Option<Arc<dyn TemporarySpace>>,
    /// Bytes of a block of a run, about.
    pub block_bytes: usize,
    pub next: Arc<AtomicU64>,
}

impl SortFiles {
    /// A name that no other file of the directory has.
    pub fn path(&self) -> PathBuf {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.directory().join(format!("sort.{number}"))
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// What one worker has collected for one index.
#[derive(Default)]
pub(in crate::index) struct Collected {
    /// Not sorted before [`Collected::end`].
    pub entries: Entries,
    /// Whether `entries` has room for its share of memory, and is not to grow.
    is_fitted: bool,
    pub files: Vec<FileRun>,
    /// Keys that only older versions have, by page.
    pub old: Vec<(u32, OldKeys)>,
    /// What it has told the job that it holds.
    told: u64,
}

impl Collected {
    /// Adds the keys of a page's records: of every version that anybody may still see. `false` when there is no such page.
    ///
    /// # Errors
    /// `TooLarge` for a key that no page has room for; `Corrupt`, `Io`.
    pub fn page(
        &mut self,
        shared: &Shared,
        heap: &Heap,
        index: &Index,
        page_index: u32,
    ) -> Result<bool, StorageError> {
        let Some(home) = heap.home(&shared.core().pool, page_index, true)? else { return Ok(false) };
        let mut image = Image::default();
        let page = home.bytes(heap, &mut image, Some(&index.columns()))?;
        let layout =
            PageLayout::of(page).map_err(|flaw| StorageError::corrupt(home.id(), heap.object, flaw))?;
        let _walking = shared.versions.walk();
        let horizon = shared.transactions.horizon();
        // The first old key of each record, then the second of those that have one, and so on: slots ascend in each.
        let mut rounds: Vec<OldKeys> = Vec::new();
        let (entries, mut keys, mut more) = (&mut self.entries, Keys::default(), Keys::default());
        // Rows of one writer stand together.
        let mut seen_by_all = TxnId::NONE;
        for slot in 0..u16_at(page, SLOT_HIGH) {
            let record = RecordId { page_index, slot };
            let mut versions = Versions::home(shared, heap, index, page, &layout, page_index, slot);
            let writer = versions.writer;
            if writer == TxnId::NONE {
                continue;
            }
            let first = entries.len();
            if index.is_inverted() {
                versions.keys(&mut keys)?;
                entries.push_keys(&keys, record, true);
            } else {
                entries.push_with(record, |out| versions.key(out).map(|any_null| index.is_free(any_null)))?;
            }
            if writer == seen_by_all {
                continue;
            }
            if shared.transactions.commit_number(writer).is_some_and(|number| number <= horizon) {
                seen_by_all = writer;
                continue;
            }
            if !versions.older_writer()? {
                continue;
            }
            let mut round = 0;
            versions.walk(horizon, |version, own, any_null| {
                let before = entries.len();
                more.clone_from(own);
                more.subtract(&keys);
                for key in more.iter() {
                    if !(first..before).any(|other| entries.key(other) == key) {
                        entries.push(key, record, index.is_free(any_null));
                    }
                }
                if entries.len() == before {
                    return Ok(());
                }
                if round == rounds.len() {
                    rounds.push(OldKeys::default());
                }
                rounds[round].push(heap, index, slot, &version.values()?);
                round += 1;
                Ok(())
            })?;
        }
        drop(home);
        self.old.extend(rounds.into_iter().map(|keys| (page_index, keys)));
        let limit = node::longest(shared.page_size);
        if self.entries.longest() > limit {
            return Err(index.too_large(self.entries.longest(), limit));
        }
        Ok(true)
    }

    /// Whether a run is to be written: more entries might take more than `bytes` of memory.
    pub fn is_much(&self, bytes: u64) -> bool {
        if self.entries.is_empty() {
            return false;
        }
        let is_over = match self.is_fitted {
            true => self.entries.is_near_room(),
            // An allocation that grows becomes twice as large, and stands beside its old self for a moment.
            false => self.entries.used_bytes() as u64 > bytes / 3,
        };
        is_over || self.entries.is_full()
    }

    /// Writes what there is as one run, and makes room for the next one, which is to take `bytes` of memory and not to grow.
    ///
    /// # Errors
    /// `Io`, `Full`, `NoTemporarySpace`.
    pub fn spill(
        &mut self,
        shared: &Shared,
        files: &SortFiles,
        job: &Job,
        bytes: u64,
    ) -> Result<(), StorageError> {
        self.entries.sort();
        let run = FileRun::write(shared, files, &self.entries)?;
        job.spilled(run.file_bytes());
        self.files.push(run);
        // An eighth is left for the blocks that are written, and for what is known of them.
        let bytes = (bytes - bytes / 8) as usize;
        match self.is_fitted && self.entries.heap_bytes() <= bytes {
            true => self.entries.clear(),
            false => self.entries.renew(bytes),
        }
        self.is_fitted = true;
        Ok(())
    }

    /// The last run: what is in memory, in order, where there is no other; else a file as the others, which are merged in the
    /// memory that it took.
    ///
    /// # Errors
    /// As [`Collected::spill`].
    pub fn end(&mut self, shared: &Shared, files: &SortFiles, job: &Job) -> Result<(), StorageError> {
        if self.files.is_empty() {
            self.entries.sort();
            return Ok(());
        }
        if !self.entries.is_empty() {
            self.spill(shared, files, job, 0)?;
        }
        self.entries = Entries::default();
        Ok(())
    }

    /// Tells the job what it holds.
    pub fn tell(&mut self, job: &Job) {
        let files: u64 = self.files.iter().map(FileRun::held_bytes).sum();
        let now = self.entries.heap_bytes() as u64 + files;
        job.hold(self.told, now);
        self.told = now;
    }
}
