//! Files read piece by piece.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::{OpenMode, Vfs, VfsFile};
use verso_exec::error::Result;
use verso_exec::files::unreadable;

/// Bytes read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// A file, and how far it was read.
pub(super) struct Pieces {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    at: u64,
}

impl Pieces {
    pub fn open(vfs: &dyn Vfs, path: &Path) -> Result<Pieces> {
        let mode = OpenMode { read_only: true, ..OpenMode::default() };
        let file = vfs.open(path, mode).map_err(|error| unreadable(path, &error))?;
        Ok(Pieces { file, path: path.to_owned(), at: 0 })
    }

    /// Appends the next piece; false at the end.
    pub fn read(&mut self, into: &mut Vec<u8>) -> Result<bool> {
        let length = into.len();
        into.resize(length + PIECE_BYTES, 0);
        let read = self.file.read_at(&mut into[length..], self.at);
        let count = read.map_err(|error| unreadable(&self.path, &error))?;
        into.truncate(length + count);
        self.at += count as u64;
        Ok(count > 0)
    }

    pub fn len(&self) -> u64 {
        self.file.len().unwrap_or(0)
    }
}

/// The bytes of all files together.
pub(super) fn total_bytes(vfs: &dyn Vfs, files: &[PathBuf]) -> Result<u64> {
    files.iter().map(|path| Pieces::open(vfs, path).map(|file| file.len())).sum()
}
