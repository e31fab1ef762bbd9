//! Storage as a whole: tables, versions, savepoints, restarts.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic and copies files")]

mod archive;
mod check;
mod columns;
mod companions;
mod damage;
mod fates;
mod faults;
mod flaws;
mod history;
mod images;
mod indexes;
mod io_calls;
mod junk;
mod locks;
mod logged;
mod long_values;
mod merging;
mod model;
mod nowait;
mod own_packing;
mod packed;
mod rules;
mod support;
mod tables;
mod threads;
mod unlogged;
mod versions;
mod wide_rows;
