//! Files of an object store: objects that are read, and files that become objects.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use verso_env::VfsFile;

use crate::place::Place;
use crate::store::Remote;

/// Bytes asked for at once: readers of logs ask for less, one piece behind the other.
const PIECE_BYTES: u64 = 4 << 20;
/// How the name of a file ends that gets another when it is whole.
const PART: &str = ".part";

/// An object that is read.
pub(crate) struct ObjectFile {
    pub(crate) remote: Arc<Remote>,
    pub(crate) place: Place,
    pub(crate) length: u64,
    /// The last piece, and where it begins.
    pub(crate) piece: Mutex<(u64, Bytes)>,
}

impl VfsFile for ObjectFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.length.min(offset.saturating_add(buf.len() as u64));
        if offset >= end {
            return Ok(0);
        }
        let mut piece = self.piece.lock();
        let has = |piece: &(u64, Bytes), range: &Range<u64>| {
            piece.0 <= range.start && range.end <= piece.0 + piece.1.len() as u64
        };
        let wanted = offset..end;
        if !has(&piece, &wanted) {
            let until = self.length.min(end.max(offset + PIECE_BYTES));
            *piece = (offset, self.remote.read(&self.place, offset..until)?);
            if !has(&piece, &wanted) {
                let text = format!("s3://{}/{} is shorter than it was", self.place.bucket, self.place.key);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
        }
        let from = (offset - piece.0) as usize;
        let count = (end - offset) as usize;
        buf[..count].copy_from_slice(&piece.1[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(unchangeable())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(unchangeable())
    }

    fn preallocate(&self, _: u64, _: u64) -> io::Result<()> {
        Err(unchangeable())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Err(unchangeable())
    }
}

fn unchangeable() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "an object of an object store is written once")
}

/// A local file that becomes an object (O1).
pub(crate) struct StagedFile {
    pub(crate) remote: Arc<Remote>,
    pub(crate) place: Place,
    pub(crate) local: Arc<dyn VfsFile>,
    /// Where it is, to be removed with the last handle.
    pub(crate) path: PathBuf,
}

impl StagedFile {
    /// Puts the object, under this name.
    pub(crate) fn put(&self, to: &Place) -> io::Result<()> {
        self.remote.put(to, &*self.local)
    }
}

impl VfsFile for StagedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.local.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.local.write_at(buf, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.place.key.ends_with(PART) { Ok(()) } else { self.put(&self.place) }
    }

    fn len(&self) -> io::Result<u64> {
        self.local.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.local.set_len(len)
    }

    fn preallocate(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Err(unchangeable())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // What stays behind is a file in the folder for temporary ones.
        let _ = self.remote.local.remove_file(&self.path);
    }
}
