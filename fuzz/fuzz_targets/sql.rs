//! SQL text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verso_sql::fuzz_parse(data));
