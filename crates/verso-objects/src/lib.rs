//! Folders of object stores as folders of the file system: `s3://bucket/prefix`.
//!
//! ```text
//! archive, verify, restore ─► Vfs ─┬─► the local disk
//!                                  └─► s3://…: ObjectVfs ─► object_store ─► S3 and what speaks like it
//! ```
//!
//! O1. A file is there whole or not at all: it is written to a local file, and its object is put when its name is final
//!     (`rename` of a file `….part`) or when it is synced. So is what the archive calls its rule A4.
//! O2. A folder of an object store is there as soon as it is named: listing one without objects is no error.
//! O3. What an object store answers is an error, never a panic; a request that fails is tried again a few times, and then is the
//!     caller's matter.
//!
//! The engine blocks; the store's futures run on one thread of their own, made when the first path of a store is met.
//! Why a crate: `docs/decisions/0023`.

mod file;
mod place;
mod store;

pub use store::{ObjectVfs, with_object_stores};
