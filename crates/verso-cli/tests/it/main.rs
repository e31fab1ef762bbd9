//! The binary as a user runs it: exit codes, output, scripts, tools.

mod backup;
mod bench;
mod databases;
mod experiments;
mod golden;
mod output;
mod processes;
mod scripts;
mod server;
mod soak;
mod terminal;
mod tools;
mod world;
