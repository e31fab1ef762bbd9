//! A message of the protocol, a first packet, and a stream of messages.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((kind, body)) = data.split_first() else { return };
    verso_server::fuzz_decode(*kind, body);
});
