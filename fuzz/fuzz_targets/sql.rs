//! SQL text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| verso_parser::fuzz_parse(data));
