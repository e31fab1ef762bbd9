//! The files of a folder of databases.
//!
//! ```text
//! NAME.verso            a database; its log is in NAME.verso-wal
//! NAME.verso.new        one that is being made, with a log of its own
//! NAME.verso.dropped    one that is being removed
//! verso.lock            locked by the server that has the folder
//! ```
//!
//! A step that counts is one rename, made durable before anything goes on (O2).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::{Env, OpenMode, VfsFile};
use verso_session::SqlError;
use verso_session::cluster::CheckCancelled;
use verso_session::errors::sqlstate;
use verso_storage::StorageError;
use verso_storage::recovery::{renew_identity, temporary_dir, wal_dir};

const DATABASE: &str = ".verso";
const NEW: &str = ".verso.new";
const DROPPED: &str = ".verso.dropped";
const LOCK: &str = "verso.lock";
/// Bytes copied between two looks whether the statement is cancelled.
const COPY_BYTES: usize = 1 << 20;

/// The folder.
pub(super) struct Files {
    env: Env,
    path: PathBuf,
}

impl Files {
    pub fn new(env: Env, path: PathBuf) -> Files {
        Files { env, path }
    }

    /// The file of a database.
    pub fn database(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{DATABASE}"))
    }

    /// The file of a database that is being made.
    pub fn new_database(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{NEW}"))
    }

    /// Takes the folder, which is made if it is missing, for this server alone.
    pub fn lock(&self) -> Result<Arc<dyn VfsFile>, SqlError> {
        let vfs = &self.env.vfs;
        vfs.create_dir_all(&self.path).map_err(|e| failed("making", &self.path, e))?;
        let path = self.path.join(LOCK);
        let lock = vfs.open(&path, OpenMode::CREATE).map_err(|e| failed("opening", &path, e))?;
        if lock.try_lock().map_err(|e| failed("locking", &path, e))? {
            return Ok(lock);
        }
        let text = format!("another server has the folder {}", self.path.display());
        Err(SqlError::new(sqlstate::OBJECT_IN_USE, text))
    }

    /// Removes what a crash has left in the middle of a statement (O2).
    pub fn clean(&self) -> Result<(), SqlError> {
        for path in self.list()? {
            let Some(file) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let part = |end: &str| file.strip_suffix(end).map(str::to_owned);
            // A log may be left without its file.
            let new =
                part(NEW).or_else(|| part(&format!("{NEW}-wal"))).or_else(|| part(&format!("{NEW}-tmp")));
            if let Some(name) = new {
                tracing::info!(database = name, "removing a database that was not complete");
                self.remove_new(&name)?;
            } else if let Some(name) = part(DROPPED) {
                self.finish_removal(&name)?;
            }
        }
        Ok(())
    }

    /// The names of all databases.
    pub fn names(&self) -> Result<Vec<String>, SqlError> {
        let paths = self.list()?;
        let names = paths.iter().filter_map(|path| path.file_name()?.to_str()?.strip_suffix(DATABASE));
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Copies the file of a closed database for one that is being made, and gives the copy an identity of its own.
    pub fn copy(&self, template: &str, name: &str, check: CheckCancelled<'_>) -> Result<(), SqlError> {
        let (from, to) = (self.database(template), self.new_database(name));
        let vfs = &self.env.vfs;
        let source = vfs.open(&from, OpenMode::READ_ONLY).map_err(|e| failed("opening", &from, e))?;
        let copy = vfs.open(&to, OpenMode::CREATE).map_err(|e| failed("making", &to, e))?;
        let mut bytes = vec![0; COPY_BYTES];
        let mut offset = 0;
        loop {
            check()?;
            let count = source.read_at(&mut bytes, offset).map_err(|e| failed("reading", &from, e))?;
            if count == 0 {
                break;
            }
            copy.write_at(&bytes[..count], offset).map_err(|e| failed("writing", &to, e))?;
            offset += count as u64;
        }
        renew_identity(&self.env, &*copy)?;
        copy.sync_data().map_err(|e| failed("writing", &to, e))
    }

    /// Gives a database that is complete, and closed, its name.
    pub fn finish(&self, name: &str) -> Result<(), SqlError> {
        let (from, to) = (self.new_database(name), self.database(name));
        self.remove_folders(&from)?;
        self.rename_whole(&from, &to)
    }

    /// Gives a closed database another name.
    pub fn rename(&self, name: &str, new: &str) -> Result<(), SqlError> {
        let from = self.database(name);
        self.rename_whole(&from, &self.database(new))?;
        // It is of no use any more; a database of that name would begin with removing it.
        self.remove_folders(&from)
    }

    /// Removes a closed database.
    pub fn remove(&self, name: &str) -> Result<(), SqlError> {
        let (from, to) = (self.database(name), self.path.join(format!("{name}{DROPPED}")));
        let file = self.env.vfs.open(&from, OpenMode::EXISTING).map_err(|e| failed("opening", &from, e))?;
        if !file.try_lock().map_err(|e| failed("locking", &from, e))? {
            let text = format!("database \"{name}\" is open in another process");
            return Err(SqlError::new(sqlstate::OBJECT_IN_USE, text));
        }
        self.env.vfs.rename(&from, &to).map_err(|e| failed("renaming", &from, e))?;
        self.sync()?;
        self.finish_removal(name)
    }

    /// Removes what was made of a database that is not complete.
    pub fn remove_new(&self, name: &str) -> Result<(), SqlError> {
        let path = self.new_database(name);
        self.remove_folders(&path)?;
        self.remove_file(&path)
    }

    /// Bytes of a database's file.
    pub fn size(&self, name: &str) -> Result<u64, SqlError> {
        let path = self.database(name);
        let file = self.env.vfs.open(&path, OpenMode::READ_ONLY).map_err(|e| failed("opening", &path, e))?;
        file.len().map_err(|e| failed("reading", &path, e))
    }

    fn finish_removal(&self, name: &str) -> Result<(), SqlError> {
        let file = self.database(name);
        // One of the same name may have come meanwhile.
        let again = self.env.vfs.exists(&file).map_err(|e| failed("looking for", &file, e))?;
        if !again {
            self.remove_folders(&file)?;
        }
        self.remove_file(&self.path.join(format!("{name}{DROPPED}")))
    }

    /// Renames the file of a closed database, which is whole without its log (O3).
    fn rename_whole(&self, from: &Path, to: &Path) -> Result<(), SqlError> {
        // The log of a database that is gone would be taken for this one's.
        self.remove_folders(to)?;
        self.sync()?;
        self.env.vfs.rename(from, to).map_err(|e| failed("renaming", from, e))?;
        self.sync()
    }

    fn remove_folders(&self, database: &Path) -> Result<(), SqlError> {
        for folder in [wal_dir(database), temporary_dir(database)] {
            let there = self.env.vfs.exists(&folder).map_err(|e| failed("looking for", &folder, e))?;
            if there {
                self.env.vfs.remove_dir_all(&folder).map_err(|e| failed("removing", &folder, e))?;
            }
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> Result<(), SqlError> {
        match self.env.vfs.remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed("removing", path, error))
            }
            _ => self.sync(),
        }
    }

    fn sync(&self) -> Result<(), SqlError> {
        self.env.vfs.sync_dir(&self.path).map_err(|e| failed("syncing", &self.path, e))
    }

    fn list(&self) -> Result<Vec<PathBuf>, SqlError> {
        self.env.vfs.list_dir(&self.path).map_err(|e| failed("reading", &self.path, e))
    }
}

fn failed(doing: &str, path: &Path, error: std::io::Error) -> SqlError {
    StorageError::io(format!("{doing} {}", path.display()), error).into()
}
