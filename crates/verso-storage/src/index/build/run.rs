//! A sorted run of entries in a temporary file.
//!
//! ```text
//! file   block │ block │ …        block: length and whether equal keys are allowed u16 │ bytes of the entry, each
//! memory first entry and place of each block
//! ```
//!
//! The file has no name any more: it goes with its handle, whatever happens. Nothing is synced.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use verso_env::{OpenMode, VfsFile};

use super::collect::{SortFiles, TemporarySpace};
use super::losers::{ENDED, code_of};
use super::merge::AHEAD;
use crate::StorageError;
use crate::index::entries::Entries;
use crate::page::Flaw;
use crate::page::bytes::{checked_slice, checked_u16};
use crate::shared::Shared;

/// Bit of an entry's length that says that equal keys are allowed.
const FREE: u16 = 1 << 15;

/// A run in a file.
pub(in crate::index) struct FileRun {
    file: Arc<dyn VfsFile>,
    space: Option<Arc<dyn TemporarySpace>>,
    blocks: Vec<Block>,
    /// Bytes of a block, about.
    block_bytes: usize,
    /// Entries.
    pub count: u64,
    /// Bytes of the entries themselves.
    pub bytes: u64,
    end: u64,
}

struct Block {
    offset: u64,
    length: usize,
    first: Box<[u8]>,
}

fn failed(error: io::Error) -> StorageError {
    StorageError::io("a temporary file of CREATE INDEX", error)
}

impl FileRun {
    /// An empty run in a new file.
    pub fn create(shared: &Shared, files: &SortFiles) -> Result<FileRun, StorageError> {
        let vfs = &shared.env.vfs;
        let file = loop {
            let path = files.path();
            let opened = match vfs.open(&path, OpenMode::CREATE_NEW) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    vfs.create_dir_all(files.directory()).map_err(failed)?;
                    vfs.open(&path, OpenMode::CREATE_NEW)
                }
                opened => opened,
            };
            match opened {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let file = opened.map_err(failed)?;
                    vfs.remove_file(&path).map_err(failed)?;
                    break file;
                }
            }
        };
        let (space, block_bytes) = (files.space.clone(), files.block_bytes);
        Ok(FileRun { file, space, blocks: Vec::new(), block_bytes, count: 0, bytes: 0, end: 0 })
    }

    /// Sorted entries as a run.
    pub fn write(shared: &Shared, files: &SortFiles, entries: &Entries) -> Result<FileRun, StorageError> {
        let mut run = FileRun::create(shared, files)?;
        let mut writer = RunWriter::default();
        for at in 0..entries.len() {
            if at.is_multiple_of(AHEAD) {
                entries.touch(at..(at + AHEAD).min(entries.len()));
            }
            writer.add(&mut run, entries.entry(at), entries.is_free(at))?;
        }
        writer.finish(&mut run)?;
        Ok(run)
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.end
    }

    /// Bytes of memory.
    pub fn held_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| (size_of::<Block>() + block.first.len()) as u64).sum()
    }

    /// Bytes that a reader of it holds.
    pub fn reader_bytes(&self) -> u64 {
        self.block_bytes as u64
    }

    /// First entries of its blocks.
    pub fn firsts(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.blocks.iter().map(|block| (&*block.first, block.length as u64))
    }

    /// The block in which entries from `low` on begin.
    fn block_of(&self, low: &[u8]) -> usize {
        self.blocks.partition_point(|block| &*block.first < low).saturating_sub(1)
    }
}

impl Drop for FileRun {
    fn drop(&mut self) {
        if let Some(space) = &self.space {
            space.give_back(self.end);
        }
    }
}

/// Puts entries together to blocks.
#[derive(Default)]
pub(in crate::index) struct RunWriter {
    buffer: Vec<u8>,
    first: Vec<u8>,
}

impl RunWriter {
    /// Adds an entry behind those before.
    pub fn add(&mut self, run: &mut FileRun, entry: &[u8], free: bool) -> Result<(), StorageError> {
        if self.buffer.is_empty() {
            self.first.clear();
            self.first.extend_from_slice(entry);
        }
        // No entry is longer than a page.
        let length = entry.len() as u16 | if free { FREE } else { 0 };
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(entry);
        run.count += 1;
        run.bytes += entry.len() as u64;
        if self.buffer.len() >= run.block_bytes { self.finish(run) } else { Ok(()) }
    }

    /// Writes what there is.
    pub fn finish(&mut self, run: &mut FileRun) -> Result<(), StorageError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let length = self.buffer.len();
        if let Some(space) = &run.space {
            space.charge(length as u64)?;
        }
        let offset = run.end;
        // Counted first: what was written in part is given back, too.
        run.end += length as u64;
        run.file.write_at(&self.buffer, offset).map_err(failed)?;
        run.blocks.push(Block { offset, length, first: self.first.as_slice().into() });
        self.buffer.clear();
        Ok(())
    }
}

/// Reads the entries of a run from `low` on, up to `high`.
pub(in crate::index) struct RunReader<'r> {
    run: &'r FileRun,
    high: Option<&'r [u8]>,
    block: usize,
    buffer: Vec<u8>,
    at: usize,
    /// Whether entries of this block may be beyond `high`.
    is_last: bool,
    current: Option<(Range<usize>, bool)>,
    /// The last entry of the block before.
    before: Vec<u8>,
}

impl<'r> RunReader<'r> {
    /// Stands at the first entry that is not less than `low`.
    pub fn new(run: &'r FileRun, low: &[u8], high: Option<&'r [u8]>) -> Result<RunReader<'r>, StorageError> {
        let (block, buffer, before) = (run.block_of(low), Vec::new(), Vec::new());
        let mut reader = RunReader { run, high, block, buffer, at: 0, is_last: false, current: None, before };
        reader.step()?;
        while reader.current().is_some_and(|(entry, _)| entry < low) {
            reader.step()?;
        }
        Ok(reader)
    }

    /// The entry it stands at, and whether equal keys are allowed.
    #[inline]
    pub fn current(&self) -> Option<(&[u8], bool)> {
        self.current.as_ref().map(|(range, free)| (&self.buffer[range.clone()], *free))
    }

    /// Goes on, and tells the code of the next entry, of this one as the base.
    #[inline]
    pub fn advance(&mut self) -> Result<u64, StorageError> {
        let Some((before, _)) = self.current.clone() else { return Ok(ENDED) };
        let block = self.block;
        if self.at == self.buffer.len() {
            self.before.clear();
            self.before.extend_from_slice(&self.buffer[before.clone()]);
        }
        self.step()?;
        let Some((range, _)) = &self.current else { return Ok(ENDED) };
        let before = if self.block == block { &self.buffer[before] } else { &self.before[..] };
        Ok(code_of(&self.buffer[range.clone()], before))
    }

    fn step(&mut self) -> Result<(), StorageError> {
        if self.at == self.buffer.len() && !self.next_block()? {
            self.current = None;
            return Ok(());
        }
        let read = || -> Result<_, Flaw> {
            let length = checked_u16(&self.buffer, self.at)?;
            let from = self.at + 2;
            let entry = checked_slice(&self.buffer, from, usize::from(length & !FREE))?;
            Ok((from..from + entry.len(), length & FREE != 0))
        };
        // Others than those that were written: a disk that lies.
        let (range, free) = read().map_err(|flaw| failed(io::Error::other(flaw.to_string())))?;
        self.at = range.end;
        let is_beyond = self.is_last && self.high.is_some_and(|high| &self.buffer[range.clone()] >= high);
        self.current = (!is_beyond).then_some((range, free));
        Ok(())
    }

    /// Reads the next block, if there is one.
    fn next_block(&mut self) -> Result<bool, StorageError> {
        let Some(block) = self.run.blocks.get(self.block) else { return Ok(false) };
        self.block += 1;
        self.is_last = match (self.high, self.run.blocks.get(self.block)) {
            (Some(high), Some(next)) => &*next.first >= high,
            _ => true,
        };
        self.at = 0;
        self.buffer.resize(block.length, 0);
        self.run.file.read_exact_at(&mut self.buffer, block.offset).map_err(failed)?;
        Ok(true)
    }
}
