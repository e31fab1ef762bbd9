//! Files and directories as traits.
//!
//! F1. Reads and writes are positional and blocking; a file has no cursor, so threads share it freely.
//! F2. What was written is durable after `sync_data` of the file, and its *name* after `sync_dir` of its directory.
//! F3. After a failed `sync_data` nothing is known about the unsynced bytes; callers never retry it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file.
pub trait VfsFile: Send + Sync {
    /// Reads into `buf` from `offset`; fewer bytes than asked for only at the end of the file.
    ///
    /// # Errors
    /// What the operating system reports.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buf` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; otherwise what the operating system reports.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let read = self.read_at(buf, offset)?;
        if read == buf.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Writes all of `buf` at `offset`, extending the file where needed.
    ///
    /// # Errors
    /// A part may have been written.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;

    /// Writes `bufs` one behind the other from `offset`, as one call where the system has it.
    ///
    /// # Errors
    /// A part may have been written.
    fn write_vectored_at(&self, bufs: &[&[u8]], offset: u64) -> io::Result<()> {
        let mut offset = offset;
        for buf in bufs {
            self.write_at(buf, offset)?;
            offset += buf.len() as u64;
        }
        Ok(())
    }

    /// Makes everything written so far, and the file's length, durable.
    ///
    /// # Errors
    /// What is durable is then unknown (F3).
    fn sync_data(&self) -> io::Result<()>;

    /// The file's length in bytes.
    ///
    /// # Errors
    /// What the operating system reports.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file holds no bytes.
    ///
    /// # Errors
    /// As [`VfsFile::len`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file, or extends it with zeroes that need not have space on disk yet.
    ///
    /// # Errors
    /// What the operating system reports.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Reserves disk space for `len` bytes from `offset`, extending the file with zeroes if it is shorter; bytes
    /// that exist stay as they are.
    ///
    /// # Errors
    /// `StorageFull` when the disk is full; the file may have grown in part.
    fn preallocate(&self, offset: u64, len: u64) -> io::Result<()>;

    /// Takes the exclusive lock on the whole file; `false` when another handle or process has it. It is released
    /// with the last reference to this handle, or when the process ends in whatever way.
    ///
    /// # Errors
    /// What the operating system reports.
    fn try_lock(&self) -> io::Result<bool>;
}

/// How [`Vfs::open`] treats a file that is there or missing. All false: an existing file, read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    /// Create the file if it is missing.
    pub create: bool,
    /// Create the file; an existing one is an error. Implies `create`.
    pub create_new: bool,
    /// Cut an existing file to length zero.
    pub truncate: bool,
    /// Open for reading only.
    pub read_only: bool,
}

impl OpenMode {
    /// An existing file, read and written.
    pub const EXISTING: OpenMode =
        OpenMode { create: false, create_new: false, truncate: false, read_only: false };
    /// A file that is created if missing.
    pub const CREATE: OpenMode = OpenMode { create: true, ..OpenMode::EXISTING };
    /// A file that must not exist yet.
    pub const CREATE_NEW: OpenMode = OpenMode { create_new: true, ..OpenMode::EXISTING };
    /// An existing file, only read.
    pub const READ_ONLY: OpenMode = OpenMode { read_only: true, ..OpenMode::EXISTING };
}

/// A file system.
pub trait Vfs: Send + Sync {
    /// Opens `path`. A created file's name is durable only after [`Vfs::sync_dir`].
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists` (with `create_new`), and what the operating system reports.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>>;

    /// The path of the file that `path` leads to where that is a symbolic link: what lies beside a file is named after the file, and
    /// not after a link to it. Elsewhere `path` itself, also where there is nothing yet.
    ///
    /// # Errors
    /// What the operating system reports.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    /// Whether there is a file or directory at `path`.
    ///
    /// # Errors
    /// What the operating system reports.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Removes a file's name; open handles stay usable.
    ///
    /// # Errors
    /// `NotFound`, and what the operating system reports.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, replacing one at `to` in one step.
    ///
    /// # Errors
    /// `NotFound`, and what the operating system reports.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Creates a directory and its missing parents; one that is there is no error.
    ///
    /// # Errors
    /// What the operating system reports.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Makes the names created, renamed and removed in the directory `path` durable.
    ///
    /// # Errors
    /// What the operating system reports.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Full paths of the files and directories in `path`, sorted.
    ///
    /// # Errors
    /// `NotFound`, and what the operating system reports.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>>;

    /// Removes a directory and everything in it.
    ///
    /// # Errors
    /// `NotFound`, and what the operating system reports.
    fn remove_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Whether paths may begin with `scheme://`: a disk knows none.
    fn knows(&self, _scheme: &str) -> bool {
        false
    }
}

/// Opens a file that one program writes at a time, empty: what a program that was killed has left there goes. `None` while
/// another one writes it.
///
/// Whoever has finished gives the file another name. Therefore the lock counts only if the path still leads to the file
/// that is locked: a second handle of it does not get the lock, then. In a store of objects each writer has a file of its own
/// until it is whole.
///
/// # Errors
/// What the operating system reports.
pub fn open_alone(vfs: &dyn Vfs, path: &Path) -> io::Result<Option<Arc<dyn VfsFile>>> {
    if scheme_of(path).is_some() {
        return vfs.open(path, OpenMode { truncate: true, ..OpenMode::CREATE }).map(Some);
    }
    loop {
        let file = vfs.open(path, OpenMode::CREATE)?;
        if !file.try_lock()? {
            return Ok(None);
        }
        let is_still_there = match vfs.open(path, OpenMode::EXISTING) {
            Ok(again) => !again.try_lock()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if is_still_there {
            file.set_len(0)?;
            return Ok(Some(file));
        }
    }
}

/// The scheme of a path `scheme://…`.
pub fn scheme_of(path: &Path) -> Option<&str> {
    path.to_str()?.split_once("://").map(|(scheme, _)| scheme)
}
