//! The folder of a run, and fresh copies of the databases in it.

use std::path::{Path, PathBuf};
use std::process::Child;

use verso_env::sync::Mutex;

use crate::BenchError;

/// What an interrupted run leaves behind unless somebody sees to it ([`give_up`]).
static LEFT: Mutex<Left> = Mutex::new(Left { folders: Vec::new(), children: Vec::new() });

struct Left {
    folders: Vec<PathBuf>,
    children: Vec<u32>,
}

/// A child process that ends with an interrupted run, as long as this lives.
#[derive(Debug)]
pub(crate) struct Watched(u32);

impl Watched {
    pub fn new(child: &Child) -> Watched {
        LEFT.lock().children.push(child.id());
        Watched(child.id())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        LEFT.lock().children.retain(|id| *id != self.0);
    }
}

/// Ends the children of a run that was interrupted and removes its folders, before the process ends.
pub fn give_up() {
    let left = LEFT.lock();
    for id in &left.children {
        // One that has ended already is as good.
        let _ = std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status();
    }
    for folder in &left.folders {
        // A child that is just ending may still make a file.
        for _ in 0..20 {
            if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
                break;
            }
            verso_env::Env::real().clock.sleep(std::time::Duration::from_millis(50));
        }
    }
}

/// A folder that goes away with its value, also when the run fails.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    keep: bool,
}

impl WorkFolder {
    /// Makes `verso-bench-<process id>` below `parent`, which has to be there: a name that was misspelled leaves nothing behind.
    pub fn create(parent: &Path, keep: bool) -> Result<WorkFolder, BenchError> {
        if !parent.is_dir() {
            return Err(BenchError::Usage(format!("there is no folder {}", parent.display())));
        }
        let path = parent.join(format!("verso-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(BenchError::file(&path))?;
        if !keep {
            LEFT.lock().folders.push(path.clone());
        }
        Ok(WorkFolder { path, keep })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing can be done about a folder that stays; its name says whose it is.
            let _ = std::fs::remove_dir_all(&self.path);
            LEFT.lock().folders.retain(|folder| *folder != self.path);
        }
    }
}

/// The files of a database: itself and what an engine keeps beside it (`x.verso-wal/`, `x.sqlite-wal`, …).
fn files_of(database: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let folder = database.parent().unwrap_or(Path::new("."));
    let name = database.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = std::fs::read_dir(folder).map_err(BenchError::file(folder))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(BenchError::file(folder))?.path();
        let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if own == name || own.strip_prefix(&name).is_some_and(|rest| rest.starts_with(['-', '.'])) {
            files.push(path);
        }
    }
    Ok(files)
}

/// Copies a cleanly closed database; what stood at `to` before goes away.
pub fn copy_database(from: &Path, to: &Path) -> Result<(), BenchError> {
    remove_database(to)?;
    let old = from.to_string_lossy().into_owned();
    for file in files_of(from)? {
        let suffix = file.to_string_lossy().strip_prefix(&old).unwrap_or_default().to_owned();
        copy_all(&file, &PathBuf::from(format!("{}{suffix}", to.to_string_lossy())))?;
    }
    Ok(())
}

/// Removes a database with all its files.
pub fn remove_database(database: &Path) -> Result<(), BenchError> {
    for file in files_of(database)? {
        let removed =
            if file.is_dir() { std::fs::remove_dir_all(&file) } else { std::fs::remove_file(&file) };
        removed.map_err(BenchError::file(&file))?;
    }
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> Result<(), BenchError> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(drop).map_err(BenchError::file(from));
    }
    std::fs::create_dir_all(to).map_err(BenchError::file(to))?;
    for entry in std::fs::read_dir(from).map_err(BenchError::file(from))? {
        let path = entry.map_err(BenchError::file(from))?.path();
        copy_all(&path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_leaves_neither_folder_nor_child() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let path = parent.path().join("verso-bench-0");
        std::fs::create_dir_all(path.join("t.verso-wal")).expect("made");
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("a child");
        let work = WorkFolder { path: path.clone(), keep: false };
        LEFT.lock().folders.push(path.clone());
        let watched = Watched::new(&child);
        give_up();
        assert!(!path.exists());
        assert!(!child.wait().expect("ended").success());
        drop((work, watched));
        let left = LEFT.lock();
        assert!(!left.folders.contains(&path) && !left.children.contains(&child.id()));
    }

    #[test]
    fn a_copy_has_the_file_and_its_log_folder_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a temporary folder");
        let work = WorkFolder::create(parent.path(), false).expect("made");
        let from = work.path().join("e1.verso");
        std::fs::write(&from, "pages").expect("written");
        std::fs::create_dir(work.path().join("e1.verso-wal")).expect("made");
        std::fs::write(work.path().join("e1.verso-wal").join("1.log"), "log").expect("written");
        std::fs::write(work.path().join("e10.verso"), "another").expect("written");

        let to = work.path().join("copy.verso");
        copy_database(&from, &to).expect("copied");
        assert_eq!(std::fs::read(&to).expect("there"), b"pages");
        assert_eq!(std::fs::read(work.path().join("copy.verso-wal").join("1.log")).expect("there"), b"log");
        remove_database(&to).expect("removed");
        assert_eq!(std::fs::read_dir(work.path()).expect("readable").count(), 3);
        drop(work);
        assert_eq!(std::fs::read_dir(parent.path()).expect("readable").count(), 0);
    }
}
