//! Numbers of so many bits each, one behind the other; the first one in the lowest bits of the first byte.

use crate::page::Flaw;

/// Most bits of a number: with the bits before it in its first byte it fits eight bytes.
pub(super) const BITS_MAX: u8 = 56;

/// Bits that the greatest of some numbers needs.
pub(super) fn needed(greatest: u64) -> u8 {
    (64 - greatest.leading_zeros()) as u8
}

/// Bytes of `count` numbers.
pub(super) fn bytes(count: usize, bits: u8) -> usize {
    (count * usize::from(bits)).div_ceil(8)
}

/// Appends numbers.
pub(super) fn push(out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>, bits: u8) {
    let (mut held, mut count) = (0u64, 0);
    for number in numbers {
        held |= number << count;
        count += u32::from(bits);
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(held as u8);
    }
}

/// Packed numbers whose bytes were counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a> {
    bytes: &'a [u8],
    bits: u8,
    mask: u64,
}

impl<'a> Numbers<'a> {
    /// `count` numbers at the start of some bytes.
    ///
    /// # Errors
    /// A flaw where the bytes end before them.
    pub fn of(bytes: &'a [u8], count: usize, bits: u8) -> Result<Numbers<'a>, Flaw> {
        if bits > BITS_MAX {
            return Err(Flaw::from("packed numbers of too many bits"));
        }
        let length = self::bytes(count, bits);
        let bytes = bytes.get(..length).ok_or_else(|| Flaw::from("packed numbers beyond their column"))?;
        Ok(Numbers { bytes, bits, mask: (1 << bits) - 1 })
    }

    /// Bytes that they take.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The number at an index below the count.
    #[inline]
    pub fn get(&self, index: usize) -> u64 {
        let at = index * usize::from(self.bits);
        let rest = &self.bytes[at / 8..];
        let held = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => {
                let mut eight = [0; 8];
                eight[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(eight)
            }
        };
        held >> (at % 8) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        for bits in 0..=BITS_MAX {
            let greatest = (1u64 << bits) - 1;
            let numbers: Vec<u64> =
                (0..67u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) & greatest).collect();
            let mut out = Vec::new();
            push(&mut out, numbers.iter().copied(), bits);
            assert_eq!(out.len(), bytes(numbers.len(), bits));
            let packed = Numbers::of(&out, numbers.len(), bits).unwrap();
            let back: Vec<u64> = (0..numbers.len()).map(|index| packed.get(index)).collect();
            assert_eq!(back, numbers, "{bits} bits");
            assert!(bits == 0 || Numbers::of(&out[1..], numbers.len(), bits).is_err());
            assert!(needed(greatest) == bits);
        }
        assert!(Numbers::of(&[0; 100], 1, 57).is_err());
    }
}
