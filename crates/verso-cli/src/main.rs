//! The binary `verso`.
#![expect(
    dead_code,
    reason = "the shell's parts are tested by themselves until the library they run on is there"
)]

mod shell;

fn main() {
    eprintln!("verso {}: nothing to run yet", env!("CARGO_PKG_VERSION"));
}
