//! Temporary files and their space.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use verso_env::{OpenMode, Vfs, VfsFile};
use verso_storage::{StorageError, TemporarySpace};
use verso_types::Batch;

use super::codec;
use crate::error::{ExecError, Result};

/// The directory of an open database's temporary files.
pub struct TempFiles {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    next: AtomicU64,
    /// Files that are there now.
    open: AtomicU64,
    /// Files and bytes that were written since the database was opened.
    made: AtomicU64,
    written: AtomicU64,
}

impl std::fmt::Debug for TempFiles {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TempFiles").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl TempFiles {
    /// A directory for temporary files, made when the first one is. What an earlier process has left in it goes.
    #[must_use]
    pub fn new(vfs: Arc<dyn Vfs>, directory: PathBuf) -> TempFiles {
        // What cannot be removed stays; the next file's name is another one.
        if vfs.exists(&directory).unwrap_or(false) {
            let _ = vfs.remove_dir_all(&directory);
        }
        let (next, open) = (AtomicU64::new(0), AtomicU64::new(0));
        TempFiles { vfs, directory, next, open, made: AtomicU64::new(0), written: AtomicU64::new(0) }
    }

    /// How many temporary files there are.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// How many temporary files were made since the database was opened, and the bytes that went into them.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        (self.made.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }

    /// Makes a file that has no name any more.
    fn create(&self) -> io::Result<Arc<dyn VfsFile>> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.directory.join(format!("spill.{number}"));
            let mode = OpenMode::CREATE_NEW;
            let opened = match self.vfs.open(&path, mode) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.vfs.create_dir_all(&self.directory)?;
                    self.vfs.open(&path, mode)
                }
                opened => opened,
            };
            match opened {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    self.vfs.remove_file(&path)?;
                    return Ok(file);
                }
            }
        }
    }
}

/// The temporary files of one session, and how much they may hold.
#[derive(Debug)]
pub struct TempSpace {
    files: Arc<TempFiles>,
    used: AtomicU64,
    written: AtomicU64,
    limit: AtomicU64,
}

impl TempSpace {
    /// A session's share of the directory; a limit of 0 is none.
    #[must_use]
    pub fn new(files: Arc<TempFiles>, limit_bytes: u64) -> TempSpace {
        TempSpace {
            files,
            used: AtomicU64::new(0),
            written: AtomicU64::new(0),
            limit: AtomicU64::new(limit_bytes),
        }
    }

    /// Changes the limit; what is there stays.
    pub fn set_limit(&self, limit_bytes: u64) {
        self.limit.store(limit_bytes, Ordering::Relaxed);
    }

    /// What the files of the session hold now.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// All that was ever written to them.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The directory.
    #[must_use]
    pub fn files(&self) -> &Arc<TempFiles> {
        &self.files
    }

    fn charge(&self, bytes: u64) -> Result<()> {
        self.count(bytes).map_err(|limit| {
            let text = format!("temporary file size exceeds \"temp_file_limit\" ({}kB)", limit >> 10);
            ExecError::raised("53400", text)
        })
    }

    /// Counts bytes that are written; the limit where they are too many.
    fn count(&self, bytes: u64) -> std::result::Result<(), u64> {
        let limit = self.limit.load(Ordering::Relaxed);
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if limit > 0 && used > limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(limit);
        }
        self.written.fetch_add(bytes, Ordering::Relaxed);
        self.files.written.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// Sorts of CREATE INDEX.
impl TemporarySpace for TempSpace {
    fn charge(&self, bytes: u64) -> std::result::Result<(), StorageError> {
        self.count(bytes).map_err(|limit_bytes| StorageError::NoTemporarySpace { limit_bytes })
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cold]
fn failed(doing: &str, error: &io::Error) -> ExecError {
    let sqlstate = if error.kind() == io::ErrorKind::StorageFull { "53100" } else { "58030" };
    ExecError::raised(sqlstate, format!("could not {doing} temporary file: {error}"))
}

/// Some rows in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    offset: u64,
    length: u64,
}

/// Rows in a file, in their order.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Where they are.
    pub blocks: Vec<Block>,
    /// How many there are.
    pub rows: u64,
    /// Their bytes in the file.
    pub bytes: u64,
}

impl Run {
    /// The bytes of its largest block.
    pub fn largest(&self) -> u64 {
        self.blocks.iter().map(|block| block.length).max().unwrap_or(0)
    }
}

/// A temporary file, to which blocks are added.
pub(crate) struct SpillFile {
    file: Arc<dyn VfsFile>,
    space: Arc<TempSpace>,
    end: u64,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for SpillFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SpillFile").field("bytes", &self.end).finish_non_exhaustive()
    }
}

impl SpillFile {
    /// A new file.
    ///
    /// # Errors
    /// 58030, 53100.
    pub fn create(space: &Arc<TempSpace>) -> Result<SpillFile> {
        let file = space.files.create().map_err(|error| failed("create", &error))?;
        space.files.open.fetch_add(1, Ordering::Relaxed);
        space.files.made.fetch_add(1, Ordering::Relaxed);
        Ok(SpillFile { file, space: Arc::clone(space), end: 0, buffer: Vec::new() })
    }

    /// Adds the rows of a batch to a run, as one block; none if there are none.
    ///
    /// # Errors
    /// 53400 beyond the limit, 58030, 53100.
    pub fn append(&mut self, run: &mut Run, batch: &Batch) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        codec::encode(batch, &mut self.buffer);
        let length = self.buffer.len() as u64;
        self.space.charge(length)?;
        let offset = self.end;
        // Counted first: what was written in part is given back, too.
        self.end += length;
        self.file.write_at(&self.buffer, offset).map_err(|error| failed("write to", &error))?;
        run.blocks.push(Block { offset, length });
        run.rows += batch.rows as u64;
        run.bytes += length;
        self.buffer.clear();
        self.buffer.shrink_to(1 << 20);
        Ok(())
    }

    /// Replaces the rows of a batch of the same layout by those of a block; `buffer` is room for its bytes.
    ///
    /// # Errors
    /// 58030.
    pub fn read(&self, block: &Block, buffer: &mut Vec<u8>, out: &mut Batch) -> Result<()> {
        out.clear();
        buffer.clear();
        buffer.resize(block.length as usize, 0);
        self.file.read_exact_at(buffer, block.offset).map_err(|error| failed("read", &error))?;
        let result = codec::decode(buffer, out);
        buffer.shrink_to(1 << 20);
        result
    }

    /// Its bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.end
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.used.fetch_sub(self.end, Ordering::Relaxed);
        self.space.files.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where a reader of a run is.
#[derive(Debug, Default)]
pub(crate) struct RunReader {
    next: usize,
    buffer: Vec<u8>,
}

impl RunReader {
    /// Replaces `out` by the next rows of the run; false at its end.
    ///
    /// # Errors
    /// 58030.
    pub fn next(&mut self, file: &SpillFile, run: &Run, out: &mut Batch) -> Result<bool> {
        let Some(block) = run.blocks.get(self.next) else { return Ok(false) };
        self.next += 1;
        file.read(block, &mut self.buffer, out)?;
        Ok(true)
    }
}
