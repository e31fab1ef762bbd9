//! The outside world as traits: files, clock, randomness, threads; real and simulated
#![forbid(unsafe_code)]
