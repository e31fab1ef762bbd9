//! Files of the outside world as streams.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::{Env, OpenMode, VfsFile, open_alone};
use verso_storage::recovery::wal_dir;

use crate::error::BackupError;

/// Bytes written or read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// A file that is written from its beginning on; [`write_whole`] hands it out.
#[allow(missing_debug_implementations)]
pub struct FileWriter {
    file: Arc<dyn VfsFile>,
    at: u64,
    buffer: Vec<u8>,
}

impl FileWriter {
    fn new(file: Arc<dyn VfsFile>) -> FileWriter {
        FileWriter { file, at: 0, buffer: Vec::with_capacity(PIECE_BYTES) }
    }

    fn send(&mut self) -> io::Result<()> {
        self.file.write_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > PIECE_BYTES {
            self.send()?;
        }
        if bytes.len() > PIECE_BYTES {
            self.file.write_at(bytes, self.at)?;
            self.at += bytes.len() as u64;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

/// A file that is read from its beginning on.
struct FileReader {
    file: Arc<dyn VfsFile>,
    at: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Read for FileReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.used == self.buffer.len() {
            if bytes.len() >= PIECE_BYTES {
                let count = self.file.read_at(bytes, self.at)?;
                self.at += count as u64;
                return Ok(count);
            }
            self.buffer.resize(PIECE_BYTES, 0);
            let count = self.file.read_at(&mut self.buffer, self.at)?;
            self.buffer.truncate(count);
            self.at += count as u64;
            self.used = 0;
        }
        let count = bytes.len().min(self.buffer.len() - self.used);
        bytes[..count].copy_from_slice(&self.buffer[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

/// The file at `path`, to be read from its beginning, and its bytes.
///
/// # Errors
/// It cannot be opened.
pub fn reader(env: &Env, path: &Path) -> Result<(Box<dyn Read + Send>, u64), BackupError> {
    let error = |error| BackupError::io(path.display().to_string())(error);
    let file = env.vfs.open(path, OpenMode::READ_ONLY).map_err(error)?;
    let bytes = file.len().map_err(error)?;
    Ok((Box::new(FileReader { file, at: 0, buffer: Vec::new(), used: 0 }), bytes))
}

/// Writes a file that has its name only when it is complete; before, `.part` is behind it. What is left of a failed one is
/// removed.
///
/// # Errors
/// `Refused` where a file of that name is there and may not be replaced, or another backup writes it; those of `write`; those of the disk.
pub fn write_whole<T>(
    env: &Env,
    path: &Path,
    replace: bool,
    write: impl FnOnce(FileWriter) -> Result<T, BackupError>,
) -> Result<T, BackupError> {
    let vfs = &env.vfs;
    let error = |error| BackupError::io(path.display().to_string())(error);
    let refuse_whole = || -> Result<(), BackupError> {
        // The log of a database stands beside its file.
        if vfs.exists(&wal_dir(path)).map_err(error)? {
            return Err(BackupError::Refused(format!("{} is a database", path.display())));
        }
        if !replace && vfs.exists(path).map_err(error)? {
            let text = format!("{} exists; --replace replaces it", path.display());
            return Err(BackupError::Refused(text));
        }
        Ok(())
    };
    refuse_whole()?;
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let opened = open_alone(&**vfs, &part).map_err(BackupError::io(part.display().to_string()))?;
    let Some(file) = opened else {
        return Err(BackupError::Refused(format!("another backup writes {}", part.display())));
    };
    // Once more: another backup may have ended in between.
    let done = refuse_whole().and_then(|()| write(FileWriter::new(Arc::clone(&file)))).and_then(|done| {
        file.sync_data().map_err(error)?;
        vfs.rename(&part, path).map_err(error)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        vfs.sync_dir(folder.unwrap_or(Path::new("."))).map_err(error)?;
        Ok(done)
    });
    if done.is_err() {
        // The error that is reported is the one before.
        let _ = vfs.remove_file(&part);
    }
    done
}
