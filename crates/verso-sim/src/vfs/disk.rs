//! Inodes, names, faults and power, under one lock.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use verso_env::OpenMode;

use super::faults::{Faults, OperationKind, Verdict, planned_failure, power_is_off};
use super::inode::{Inode, Loss};
use super::names::Names;
use crate::rng::Rng;

/// A disk's state.
#[derive(Clone)]
pub(super) struct Disk {
    inodes: BTreeMap<u64, Inode>,
    pub(super) names: Names,
    pub(super) faults: Faults,
    pub(super) rng: Rng,
    pub(super) is_off: bool,
    /// How often the power came back; handles of an earlier time are dead.
    pub(super) boot: u64,
    last_inode: u64,
    last_handle: u64,
}

impl Disk {
    pub(super) fn new(rng: Rng) -> Disk {
        Disk {
            inodes: BTreeMap::new(),
            names: Names::default(),
            faults: Faults::default(),
            rng,
            is_off: false,
            boot: 0,
            last_inode: 0,
            last_handle: 0,
        }
    }

    pub(super) fn check_power(&self) -> io::Result<()> {
        if self.is_off { Err(power_is_off()) } else { Ok(()) }
    }

    /// Counts an operation on names, which happens or not.
    pub(super) fn begin(&mut self, kind: OperationKind, path: &Path) -> io::Result<()> {
        match self.judge(kind, path, 0, 0)? {
            Verdict::PowerOff => Err(power_is_off()),
            Verdict::Fail => Err(planned_failure(kind, path)),
            _ => Ok(()),
        }
    }

    /// Counts an operation; the power is off behind `PowerOff`.
    pub(super) fn judge(
        &mut self,
        kind: OperationKind,
        path: &Path,
        offset: u64,
        len: u64,
    ) -> io::Result<Verdict> {
        self.check_power()?;
        let verdict = self.faults.judge(kind, path, offset, len);
        if verdict == Verdict::PowerOff {
            self.is_off = true;
        }
        Ok(verdict)
    }

    pub(super) fn open_inode(&mut self, path: &Path, mode: OpenMode) -> io::Result<u64> {
        match self.names.file(path) {
            Ok(_) if mode.create_new => Err(io::ErrorKind::AlreadyExists.into()),
            Ok(inode) => {
                if mode.truncate {
                    self.inode_mut(inode).set_len(0);
                }
                Ok(inode)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && (mode.create || mode.create_new) => {
                self.last_inode += 1;
                let inode = self.last_inode;
                self.names.create_file(path, inode)?;
                self.inodes.insert(inode, Inode::default());
                Ok(inode)
            }
            Err(error) => Err(error),
        }
    }

    /// A number for a new handle, and the time it belongs to.
    pub(super) fn new_handle(&mut self) -> (u64, u64) {
        self.last_handle += 1;
        (self.last_handle, self.boot)
    }

    pub(super) fn inode(&self, inode: u64) -> &Inode {
        self.inodes.get(&inode).expect("inodes live as long as their handles, until a crash")
    }

    pub(super) fn inode_mut(&mut self, inode: u64) -> &mut Inode {
        self.inodes.get_mut(&inode).expect("inodes live as long as their handles, until a crash")
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let named = self.names.inodes();
        let inodes = self.inodes.iter().filter(|(inode, _)| named.contains(inode));
        inodes.map(|(_, inode)| inode.used_bytes()).sum()
    }

    /// How many of `len` bytes from `offset` find space; a write stops there.
    pub(super) fn fitting_bytes(&self, inode: u64, offset: u64, len: u64) -> u64 {
        let Some(capacity) = self.faults.capacity_bytes() else { return len };
        let free = capacity.saturating_sub(self.used_bytes());
        let inode = self.inode(inode);
        if inode.missing_bytes(offset, len) <= free {
            return len;
        }
        // Space comes in units, so the longest prefix that fits is found by halving.
        let (mut fits, mut fails) = (0, len);
        while fails - fits > 1 {
            let middle = fits + (fails - fits) / 2;
            if inode.missing_bytes(offset, middle) <= free { fits = middle } else { fails = middle }
        }
        fits
    }

    /// Cuts the power and restores it.
    pub(super) fn crash(&mut self, rng: &mut Rng, loss: Loss) {
        self.names.crash(rng, loss);
        let named = self.names.inodes();
        self.inodes.retain(|inode, _| named.contains(inode));
        for inode in self.inodes.values_mut() {
            inode.crash(rng, loss);
        }
        self.faults.install(Default::default());
        self.is_off = false;
        self.boot += 1;
    }
}
