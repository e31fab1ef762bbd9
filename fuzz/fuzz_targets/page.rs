//! Pages as they come from the file.
#![no_main]

#[path = "../src/storage.rs"]
mod storage;

libfuzzer_sys::fuzz_target!(|data: &[u8]| storage::page(data));
