//! The operating system's randomness, drawn in blocks so that most calls cost no system call.

use parking_lot::Mutex;

use crate::Random;

/// Numbers drawn at once.
const BLOCK_NUMBERS: usize = 32;

/// The operating system's randomness.
pub(crate) struct RealRandom {
    ready: Mutex<Vec<u64>>,
}

impl RealRandom {
    pub(crate) fn new() -> RealRandom {
        RealRandom { ready: Mutex::new(Vec::with_capacity(BLOCK_NUMBERS)) }
    }
}

impl Random for RealRandom {
    fn next_u64(&self) -> u64 {
        let mut ready = self.ready.lock();
        loop {
            match ready.pop() {
                Some(number) => return number,
                None => refill(&mut ready),
            }
        }
    }
}

/// Draws a block from the kernel.
///
/// # Panics
/// When the system has no source of randomness: going on with guessable numbers would be worse.
#[cfg(target_os = "linux")]
fn refill(ready: &mut Vec<u64>) {
    let mut bytes = [0_u8; BLOCK_NUMBERS * 8];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("the operating system has no randomness: {error}"),
        }
    }
    let (numbers, _) = bytes.as_chunks::<8>();
    ready.extend(numbers.iter().map(|number| u64::from_le_bytes(*number)));
}

/// Draws a block through the standard library, whose hash keys the system seeds.
#[cfg(not(target_os = "linux"))]
fn refill(ready: &mut Vec<u64>) {
    use std::hash::{BuildHasher, RandomState};
    ready.extend((0..BLOCK_NUMBERS).map(|i| RandomState::new().hash_one(i)));
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_do_not_repeat_across_blocks_or_sources() {
        let sources = [RealRandom::new(), RealRandom::new()];
        let numbers: HashSet<u64> = (0..200).map(|i| sources[i % 2].next_u64()).collect();
        assert_eq!(numbers.len(), 200);
    }
}
