//! The operating system's files, by ordinary positional calls through libc (no memory-mapped file I/O), so that
//! fault-injecting shims between the process and the kernel see every one of them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{OpenMode, Vfs, VfsFile};

/// The operating system's file system.
pub(crate) struct RealVfs;

/// A file of the operating system.
struct RealFile {
    file: File,
}

impl VfsFile for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match read_some(&self.file, &mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            match write_some(&self.file, &buf[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn write_vectored_at(&self, bufs: &[&[u8]], mut offset: u64) -> io::Result<()> {
        /// The kernel's limit of buffers in one call.
        const IOV_MAX: usize = 1024;
        let mut all: Vec<io::IoSlice<'_>> =
            bufs.iter().filter(|buf| !buf.is_empty()).map(|buf| io::IoSlice::new(buf)).collect();
        let mut rest = &mut all[..];
        while !rest.is_empty() {
            let call_count = rest.len().min(IOV_MAX);
            match rustix::io::pwritev(&self.file, &rest[..call_count], offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    offset += count as u64;
                    io::IoSlice::advance_slices(&mut rest, count);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        crate::waiting::announce();
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 || allocate(&self.file, offset, len)? {
            return Ok(());
        }
        self.write_zeroes_behind_end(offset, len)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl RealFile {
    /// Where the file system cannot reserve space: the part behind the file's end is written with zeroes.
    fn write_zeroes_behind_end(&self, offset: u64, len: u64) -> io::Result<()> {
        const CHUNK_BYTES: usize = 256 << 10;
        let end = offset.checked_add(len).ok_or(io::ErrorKind::InvalidInput)?;
        let zeroes = vec![0_u8; CHUNK_BYTES];
        let mut at = self.len()?;
        while at < end {
            let count = usize::try_from(end - at).map_or(CHUNK_BYTES, |rest| rest.min(CHUNK_BYTES));
            self.write_at(&zeroes[..count], at)?;
            at += count as u64;
        }
        Ok(())
    }
}

/// Reserves disk space; `false` when the file system cannot.
#[cfg(target_os = "linux")]
fn allocate(file: &File, offset: u64, len: u64) -> io::Result<bool> {
    use rustix::io::Errno;
    loop {
        match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), offset, len) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_file: &File, _offset: u64, _len: u64) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn read_some(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(unix)]
fn write_some(file: &File, buf: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, buf, offset)
}

#[cfg(windows)]
fn read_some(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}

#[cfg(windows)]
fn write_some(file: &File, buf: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, buf, offset)
}

impl Vfs for RealVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(!mode.read_only)
            .create(mode.create)
            .create_new(mode.create_new)
            .truncate(mode.truncate)
            .open(path)?;
        Ok(Arc::new(RealFile { file }))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        match fs::symlink_metadata(path) {
            Ok(known) if known.is_symlink() => match path.canonicalize() {
                // A link to nothing: opening it says so, or makes the file.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
                resolved => resolved,
            },
            _ => Ok(path.to_path_buf()),
        }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "this is the real file system behind the trait")]
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // `Path::parent` of a bare file name is the empty path, which means the current directory.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        File::open(path)?.sync_all()
    }

    #[cfg(not(unix))]
    fn sync_dir(&self, _path: &Path) -> io::Result<()> {
        // Directories cannot be opened for syncing here; the file system journals names itself.
        Ok(())
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        RealVfs.open(path, mode)
    }

    #[test]
    fn writes_are_positional_and_reads_stop_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = open(&dir.path().join("a"), OpenMode::CREATE).unwrap();
        file.write_at(b"world", 6).unwrap();
        file.write_at(b"hello", 0).unwrap();
        let mut buf = [9_u8; 16];
        assert_eq!(file.read_at(&mut buf, 0).unwrap(), 11);
        assert_eq!(&buf[..11], b"hello\0world");
        assert_eq!(file.read_at(&mut buf, 100).unwrap(), 0);
        assert_eq!(file.read_exact_at(&mut buf, 0).unwrap_err().kind(), io::ErrorKind::UnexpectedEof,);
        file.set_len(3).unwrap();
        assert_eq!(file.len().unwrap(), 3);
        assert!(!file.is_empty().unwrap());
        file.sync_data().unwrap();
    }

    #[test]
    fn vectored_writes_beyond_the_kernels_limit_land_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let file = open(&dir.path().join("a"), OpenMode::CREATE).unwrap();
        let bytes: Vec<u8> = (0..5000_u32).map(|i| (i % 251) as u8).collect();
        let bufs: Vec<&[u8]> = bytes.chunks(2).flat_map(|chunk| [chunk, &[]]).collect();
        file.write_vectored_at(&bufs, 10).unwrap();
        let mut read = vec![0; 5000];
        file.read_exact_at(&mut read, 10).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(file.len().unwrap(), 5010);
    }

    #[test]
    fn preallocation_extends_with_zeroes_and_keeps_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = RealFile {
            file: OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(dir.path().join("a"))
                .unwrap(),
        };
        file.write_at(b"abc", 0).unwrap();
        file.preallocate(0, 1 << 20).unwrap();
        assert_eq!(file.len().unwrap(), 1 << 20);
        file.write_zeroes_behind_end(1 << 20, 300 << 10).unwrap();
        assert_eq!(file.len().unwrap(), (1 << 20) + (300 << 10));
        let mut buf = [1; 6];
        file.read_exact_at(&mut buf, 0).unwrap();
        assert_eq!(&buf, b"abc\0\0\0");
        file.preallocate(0, 0).unwrap();
    }

    #[test]
    fn a_second_handle_cannot_lock_until_the_first_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let first = open(&path, OpenMode::CREATE).unwrap();
        let second = open(&path, OpenMode::EXISTING).unwrap();
        assert!(first.try_lock().unwrap());
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
    }

    #[test]
    fn open_modes_tell_missing_from_existing_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let kind = |mode| open(&path, mode).map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind(OpenMode::EXISTING), Err(io::ErrorKind::NotFound));
        assert_eq!(kind(OpenMode::CREATE_NEW), Ok(()));
        assert_eq!(kind(OpenMode::CREATE_NEW), Err(io::ErrorKind::AlreadyExists));
        let file = open(&path, OpenMode::READ_ONLY).unwrap();
        assert!(file.write_at(b"x", 0).is_err());
        open(&path, OpenMode::CREATE).unwrap().write_at(b"xyz", 0).unwrap();
        assert_eq!(file.len().unwrap(), 3);
        open(&path, OpenMode { truncate: true, ..OpenMode::EXISTING }).unwrap();
        assert_eq!(file.len().unwrap(), 0);
    }

    #[test]
    fn directories_list_sorted_and_names_move() {
        let dir = tempfile::tempdir().unwrap();
        let sub = dir.path().join("x/y");
        RealVfs.create_dir_all(&sub).unwrap();
        RealVfs.create_dir_all(&sub).unwrap();
        open(&sub.join("b"), OpenMode::CREATE).unwrap();
        open(&sub.join("a"), OpenMode::CREATE).unwrap();
        RealVfs.rename(&sub.join("b"), &sub.join("c")).unwrap();
        RealVfs.sync_dir(&sub).unwrap();
        RealVfs.sync_dir(Path::new("")).unwrap();
        assert_eq!(RealVfs.list_dir(&sub).unwrap(), [sub.join("a"), sub.join("c")]);
        RealVfs.remove_file(&sub.join("a")).unwrap();
        assert!(!RealVfs.exists(&sub.join("a")).unwrap());
        RealVfs.remove_dir_all(&sub).unwrap();
        assert!(!RealVfs.exists(&sub).unwrap() && RealVfs.exists(dir.path()).unwrap());
    }
}
