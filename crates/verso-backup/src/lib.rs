//! Logical backup and restore.
//!
//! ```text
//!             ┌ worker: ranges of pages ─► columns ─► packed chunk ┐
//! database ───┤        all under one exported snapshot             ├─► archive ─► workers: chunk ─► table
//!             └ leader: definitions from the snapshot's catalog    ┘             then keys, indexes, foreign keys
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`archive`] | the file: frames, columns as bytes, checksums, contents |
//! | [`schema`] | definitions of all objects as statements, in order |
//! | [`backup`] | a database to an archive |
//! | [`script`] | a database to a script of SQL |
//! | [`parquet`] | a database to a folder of Parquet files |
//! | [`restore`] | an archive to a database, or only read |
//! | [`workers`] | threads that share a list of work |
//! | [`job`] | progress and cancelling |
//! | [`export`] | backups that a server hands to its clients |
//! | [`files`] | files of the outside world as streams |
//!
//! B1. All workers read one snapshot: what the archive holds is what was committed when the backup began.
//! B2. A backup to a file is there under its name only when it is complete; a restored database says from its first commit on
//!     that it is unfinished, until it is complete.
//! B3. An archive is not trusted: each byte is under a checksum, and what it says is compared with the tables that it is for.
#![forbid(unsafe_code)]

mod archive;
mod backup;
mod error;
mod export;
mod files;
mod job;
mod parquet;
mod references;
mod restore;
mod schema;
mod script;
mod workers;

pub use archive::compression::Compression;
pub use backup::{BackupOptions, BackupReport, backup, backup_to_file};
pub use error::{BackupError, Part};
pub use export::Archives;
pub use files::{reader, write_whole};
pub use job::{Event, Job, Unit};
pub use parquet::parquet_to_folder;
pub use restore::{RestoreOptions, RestoreReport, restore, verify};
pub use script::{script, script_to_file};
