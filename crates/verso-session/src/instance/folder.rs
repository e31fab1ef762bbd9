//! The folders that statements name for archives and backups.

use std::path::PathBuf;

use verso_env::Vfs;

use verso_planner::errors::{SqlError, sqlstate};

/// The folder that a statement names: an absolute path of this machine.
fn local_folder(text: &str) -> Result<PathBuf, SqlError> {
    if let Some((scheme, _)) = text.split_once("://") {
        let text = format!("archives and backups at \"{scheme}://\" are not supported");
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_hint("Name a folder."));
    }
    let folder = PathBuf::from(text);
    match folder.is_absolute() {
        true => Ok(folder),
        false => {
            let text = format!("\"{text}\" is not an absolute path");
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
        }
    }
}

/// The folder of an archive or a backup: one of the disk, or of an object store that the program knows.
///
/// # Errors
/// 0A000, 22023.
pub(crate) fn archive_folder(text: &str, vfs: &dyn Vfs) -> Result<PathBuf, SqlError> {
    match text.split_once("://") {
        Some((scheme, rest)) if vfs.knows(scheme) => {
            let rest = rest.trim_matches('/');
            if rest.is_empty() {
                let text = format!("\"{text}\" names no bucket");
                return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
            }
            Ok(PathBuf::from(format!("{scheme}://{rest}")))
        }
        _ => local_folder(text),
    }
}
