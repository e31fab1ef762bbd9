//! A group of the log behind a page that its records are run on.
#![no_main]

#[path = "../src/storage.rs"]
mod storage;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (page, group) = data.split_at(data.len().min(4096));
    storage::log(group, page);
});
