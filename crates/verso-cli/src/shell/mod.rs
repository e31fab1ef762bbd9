//! The shell.
mod command;
mod figures;
mod help;
mod report;
mod scanner;
mod table;
