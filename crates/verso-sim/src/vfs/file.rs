//! An open file of the simulated disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::MutexGuard;
use verso_env::VfsFile;
use verso_env::sync::pause_point;

use super::disk::Disk;
use super::faults::{OperationKind, Verdict, planned_failure, power_is_off};
use super::{SECTOR_BYTES, Shared};

/// An open file.
pub(super) struct SimFile {
    shared: Arc<Shared>,
    path: PathBuf,
    inode: u64,
    handle: u64,
    boot: u64,
    is_read_only: bool,
}

impl SimFile {
    pub(super) fn new(
        shared: Arc<Shared>,
        path: &Path,
        inode: u64,
        handle: u64,
        boot: u64,
        is_read_only: bool,
    ) -> SimFile {
        SimFile { shared, path: path.to_owned(), inode, handle, boot, is_read_only }
    }

    /// The disk, if it has not lost power since this file was opened.
    fn disk(&self) -> io::Result<MutexGuard<'_, Disk>> {
        let disk = self.shared.disk.lock();
        disk.check_power()?;
        if disk.boot == self.boot { Ok(disk) } else { Err(power_is_off()) }
    }

    /// As [`SimFile::disk`], for changing the file.
    fn writable_disk(&self) -> io::Result<MutexGuard<'_, Disk>> {
        pause_point();
        if self.is_read_only {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.disk()
    }

    fn failure(&self, kind: OperationKind) -> io::Error {
        planned_failure(kind, &self.path)
    }

    /// Judges a change of length or space, which happens or not.
    fn begin_resize(&self, disk: &mut Disk, kind: OperationKind, offset: u64, len: u64) -> io::Result<()> {
        match disk.judge(kind, &self.path, offset, len)? {
            Verdict::PowerOff => Err(power_is_off()),
            Verdict::Fail => Err(self.failure(kind)),
            _ => Ok(()),
        }
    }
}

impl VfsFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        pause_point();
        let mut disk = self.disk()?;
        let verdict = disk.judge(OperationKind::Read, &self.path, offset, buf.len() as u64)?;
        let live = disk.inode(self.inode).live();
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(live.len());
        let mut count = buf.len().min(live.len() - from);
        buf[..count].copy_from_slice(&live[from..from + count]);
        match verdict {
            Verdict::Fail => return Err(self.failure(OperationKind::Read)),
            Verdict::ShortRead if count > 0 => count = disk.rng.index(count),
            Verdict::FlipBit if count > 0 => buf[disk.rng.index(count)] ^= 1 << disk.rng.below(8),
            _ => {}
        }
        Ok(count)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut disk = self.writable_disk()?;
        let verdict = disk.judge(OperationKind::Write, &self.path, offset, buf.len() as u64)?;
        let at = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let fitting = disk.fitting_bytes(self.inode, offset, buf.len() as u64) as usize;
        if matches!(verdict, Verdict::Fail | Verdict::PowerOff | Verdict::NoRoom) {
            let sector_count = disk.rng.index(buf.len() / SECTOR_BYTES + 1);
            let done = (sector_count * SECTOR_BYTES).min(fitting);
            disk.inode_mut(self.inode).write(at, &buf[..done]);
            return Err(match verdict {
                Verdict::PowerOff => power_is_off(),
                Verdict::NoRoom => io::ErrorKind::StorageFull.into(),
                _ => self.failure(OperationKind::Write),
            });
        }
        disk.inode_mut(self.inode).write(at, &buf[..fitting]);
        if fitting < buf.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync_data(&self) -> io::Result<()> {
        pause_point();
        let mut disk = self.disk()?;
        let verdict = disk.judge(OperationKind::Sync, &self.path, 0, 0)?;
        let point = disk.inode(self.inode).sync_point();
        drop(disk);
        if verdict == Verdict::PowerOff {
            return Err(power_is_off());
        }
        self.shared.take_sync_time();
        let mut disk = self.disk()?;
        if verdict == Verdict::Fail {
            let mut rng = disk.rng.fork();
            disk.inode_mut(self.inode).fail_sync(&mut rng);
            return Err(self.failure(OperationKind::Sync));
        }
        disk.inode_mut(self.inode).sync_to(point);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        pause_point();
        Ok(self.disk()?.inode(self.inode).live().len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut disk = self.writable_disk()?;
        self.begin_resize(&mut disk, OperationKind::SetLen, 0, len)?;
        let len = usize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        disk.inode_mut(self.inode).set_len(len);
        Ok(())
    }

    fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut disk = self.writable_disk()?;
        self.begin_resize(&mut disk, OperationKind::Preallocate, offset, len)?;
        if disk.fitting_bytes(self.inode, offset, len) < len {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if len > 0 {
            disk.inode_mut(self.inode).preallocate(offset, len);
        }
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        pause_point();
        let mut disk = self.disk()?;
        let holder = &mut disk.inode_mut(self.inode).locked_by;
        Ok(*holder.get_or_insert(self.handle) == self.handle)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut disk = self.shared.disk.lock();
        if disk.boot == self.boot {
            let holder = &mut disk.inode_mut(self.inode).locked_by;
            if *holder == Some(self.handle) {
                *holder = None;
            }
        }
    }
}
