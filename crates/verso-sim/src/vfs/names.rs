//! Directories: which names there are, and which of them are durable.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::inode::Loss;
use crate::rng::Rng;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    File(u64),
    Dir,
}

/// A change of names that is not durable yet.
#[derive(Clone, Debug)]
enum Change {
    Create(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf, Node),
}

/// The names of a disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    live: BTreeMap<PathBuf, Node>,
    durable: BTreeMap<PathBuf, Node>,
    /// In the order made; the directory that has to be synced stands first.
    pending: Vec<(PathBuf, Change)>,
}

impl Names {
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.is_dir(path) || self.live.contains_key(path)
    }

    /// The inode of a file.
    pub(super) fn file(&self, path: &Path) -> io::Result<u64> {
        match self.live.get(path) {
            Some(Node::File(inode)) => Ok(*inode),
            Some(Node::Dir) => Err(io::ErrorKind::IsADirectory.into()),
            None if self.is_root(path) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(missing(path)),
        }
    }

    pub(super) fn create_file(&mut self, path: &Path, inode: u64) -> io::Result<()> {
        self.check_parent(path)?;
        self.change(Change::Create(path.to_owned(), Node::File(inode)));
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        self.file(path)?;
        self.change(Change::Remove(path.to_owned()));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inode = self.file(from)?;
        self.check_parent(to)?;
        if self.is_dir(to) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        self.change(Change::Rename(from.to_owned(), to.to_owned(), Node::File(inode)));
        Ok(())
    }

    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        ancestors.reverse();
        for dir in ancestors {
            match self.live.get(dir) {
                Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                Some(Node::Dir) => {}
                None if self.is_root(dir) => {}
                None => self.change(Change::Create(dir.to_owned(), Node::Dir)),
            }
        }
        Ok(())
    }

    pub(super) fn remove_dir_all(&mut self, path: &Path) -> io::Result<()> {
        self.check_dir(path)?;
        let inside: Vec<PathBuf> = self.live.keys().filter(|name| name.starts_with(path)).cloned().collect();
        for name in inside.into_iter().rev() {
            self.change(Change::Remove(name));
        }
        Ok(())
    }

    pub(super) fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.check_dir(path)?;
        Ok(self.live.keys().filter(|name| name.parent() == Some(path)).cloned().collect())
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        self.check_dir(path)?;
        for (dir, change) in std::mem::take(&mut self.pending) {
            if dir == path {
                apply(&change, &mut self.durable);
            } else {
                self.pending.push((dir, change));
            }
        }
        Ok(())
    }

    /// Makes every name durable.
    pub(super) fn sync_all(&mut self) {
        for (_, change) in self.pending.drain(..) {
            apply(&change, &mut self.durable);
        }
    }

    /// Keeps a prefix of each directory's pending changes; names below a vanished directory vanish with it.
    pub(super) fn crash(&mut self, rng: &mut Rng, loss: Loss) {
        let dirs: BTreeSet<PathBuf> = self.pending.iter().map(|(dir, _)| dir.clone()).collect();
        let pending = std::mem::take(&mut self.pending);
        for dir in dirs {
            let changes: Vec<&Change> =
                pending.iter().filter(|(of, _)| *of == dir).map(|(_, change)| change).collect();
            let some = rng.index(changes.len() + 1);
            let kept_count = match loss {
                Loss::Everything => 0,
                Loss::Nothing => changes.len(),
                Loss::Random => *rng.pick(&[0, changes.len(), some]),
            };
            changes[..kept_count].iter().for_each(|change| apply(change, &mut self.durable));
        }
        self.live = self.durable.clone();
        let orphans: Vec<PathBuf> = self
            .live
            .keys()
            .filter(|name| name.ancestors().skip(1).any(|dir| !self.is_dir(dir)))
            .cloned()
            .collect();
        for orphan in orphans {
            self.live.remove(&orphan);
        }
        self.durable.clone_from(&self.live);
    }

    /// The inodes that programs see under a name.
    pub(super) fn inodes(&self) -> BTreeSet<u64> {
        let nodes = self.live.values();
        nodes.filter_map(|node| if let Node::File(inode) = node { Some(*inode) } else { None }).collect()
    }

    fn is_root(&self, path: &Path) -> bool {
        path.parent().is_none()
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.is_root(path) || self.live.get(path) == Some(&Node::Dir)
    }

    fn check_dir(&self, path: &Path) -> io::Result<()> {
        if self.is_dir(path) { Ok(()) } else { Err(missing(path)) }
    }

    fn check_parent(&self, path: &Path) -> io::Result<()> {
        self.check_dir(path.parent().ok_or(io::ErrorKind::IsADirectory)?)
    }

    fn change(&mut self, change: Change) {
        let (Change::Create(path, _) | Change::Remove(path) | Change::Rename(_, path, _)) = &change;
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        apply(&change, &mut self.live);
        self.pending.push((dir, change));
    }
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{} does not exist", path.display()))
}

fn apply(change: &Change, to: &mut BTreeMap<PathBuf, Node>) {
    match change {
        Change::Create(path, node) => {
            to.insert(path.clone(), *node);
        }
        Change::Remove(path) => {
            to.remove(path);
        }
        Change::Rename(from, path, node) => {
            to.remove(from);
            to.insert(path.clone(), *node);
        }
    }
}
