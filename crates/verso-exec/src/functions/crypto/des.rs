//! DES, with the salt that `crypt` puts between expansion and key. Source: FIPS 46-3.
//!
//! Blocks are numbers of 64 bits whose highest bit is the first one; the tables count bits from 1, as the standard does.

const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48,
    40, 32, 24, 16, 8, 57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61, 53, 45, 37, 29, 21,
    13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];
/// The way back from [`INITIAL`].
const FINAL: [u8; 64] = {
    let mut back = [0; 64];
    let mut n = 0;
    while n < 64 {
        back[INITIAL[n] as usize - 1] = n as u8 + 1;
        n += 1;
    }
    back
};
/// Which bits of the key both halves of the schedule begin with.
const KEY: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44,
    36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20,
    12, 4,
];
/// Which bits of the schedule are the key of a round.
const OF_ROUND: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37,
    47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
const TURNS: [u32; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
const MIXED: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6,
    22, 11, 4, 25,
];
const BOXES: [[u8; 64]; 8] = [
    [
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7, 0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5,
        3, 8, 4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0, 15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14,
        10, 0, 6, 13,
    ],
    [
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10, 3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9,
        11, 5, 0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15, 13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12,
        0, 5, 14, 9,
    ],
    [
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8, 13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11,
        15, 1, 13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7, 1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3,
        11, 5, 2, 12,
    ],
    [
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15, 13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10,
        14, 9, 10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4, 3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11,
        12, 7, 2, 14,
    ],
    [
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9, 14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9,
        8, 6, 4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14, 11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9,
        10, 4, 5, 3,
    ],
    [
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11, 10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11,
        3, 8, 9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6, 4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7,
        6, 0, 8, 13,
    ],
    [
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1, 13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15,
        8, 6, 1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2, 6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15,
        14, 2, 3, 12,
    ],
    [
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7, 1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14,
        9, 2, 7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8, 2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0,
        3, 5, 6, 11,
    ],
];

/// For each box and its six bits what comes out, where [`MIXED`] puts it.
static OUT: [[u32; 64]; 8] = {
    let mut all = [[0; 64]; 8];
    let mut n = 0;
    while n < 8 {
        let mut bits = 0;
        while bits < 64 {
            let row = (bits >> 4) & 2 | bits & 1;
            let found = BOXES[n][row << 4 | (bits >> 1) & 15] as u64;
            all[n][bits] = permuted(found << (28 - 4 * n), 32, &MIXED) as u32;
            bits += 1;
        }
        n += 1;
    }
    all
};

/// The bits of a number of `width` bits that a table names, in its order.
const fn permuted(value: u64, width: u32, table: &[u8]) -> u64 {
    let mut out = 0;
    let mut n = 0;
    while n < table.len() {
        out = out << 1 | (value >> (width - table[n] as u32)) & 1;
        n += 1;
    }
    out
}

/// A half of the schedule, turned to the left.
fn turned(half: u64, by: u32) -> u64 {
    (half << by | half >> (28 - by)) & 0xfff_ffff
}

/// A key, ready for its rounds.
pub(super) struct Des([u64; 16]);

impl Des {
    /// Of a key of eight bytes, the lowest bit of each of which says nothing.
    pub(super) fn new(key: u64) -> Des {
        let begin = permuted(key, 64, &KEY);
        let (mut left, mut right) = (begin >> 28, begin & 0xfff_ffff);
        Des(TURNS.map(|by| {
            (left, right) = (turned(left, by), turned(right, by));
            permuted(left << 28 | right, 56, &OF_ROUND)
        }))
    }

    /// A block after so many encryptions, with a salt of 24 bits, the lowest bit first.
    pub(super) fn encrypted(&self, block: u64, salt: u32, count: u32) -> u64 {
        self.run(block, salt.reverse_bits() >> 8, count, self.0.iter())
    }

    /// The block that an encrypted one was.
    pub(super) fn decrypted(&self, block: u64) -> u64 {
        self.run(block, 0, 1, self.0.iter().rev())
    }

    fn run<'k>(&self, block: u64, salt: u32, count: u32, keys: impl Iterator<Item = &'k u64> + Clone) -> u64 {
        let block = permuted(block, 64, &INITIAL);
        let (mut left, mut right) = ((block >> 32) as u32, block as u32);
        for _ in 0..count {
            for key in keys.clone() {
                (left, right) = (right, left ^ round(right, *key, salt));
            }
            (left, right) = (right, left);
        }
        permuted(u64::from(left) << 32 | u64::from(right), 64, &FINAL)
    }
}

/// What a round makes of a half: each box takes four bits of it and their neighbours. A bit of the salt exchanges the bits at
/// its place of both halves of what the boxes take.
fn round(half: u32, key: u64, salt: u32) -> u32 {
    let group = |n: u32| half.rotate_right(1).rotate_left(4 * n) >> 26;
    let four = |n| group(n) << 18 | group(n + 1) << 12 | group(n + 2) << 6 | group(n + 3);
    let (high, low) = (four(0), four(4));
    let exchanged = (high ^ low) & salt;
    let high = high ^ exchanged ^ (key >> 24) as u32;
    let low = low ^ exchanged ^ (key & 0xff_ffff) as u32;
    let out = |box_at: usize, bits: u32, n: usize| OUT[box_at][(bits >> (18 - 6 * n)) as usize & 63];
    (0..4).fold(0, |all, n| all | out(n, high, n) | out(n + 4, low, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_the_standard() {
        let des = Des::new(0x1334_5779_9bbc_dff1);
        assert_eq!(des.encrypted(0x0123_4567_89ab_cdef, 0, 1), 0x85e8_1354_0f0a_b405);
        assert_eq!(des.decrypted(0x85e8_1354_0f0a_b405), 0x0123_4567_89ab_cdef);
        let twice = des.encrypted(des.encrypted(7, 5, 3), 5, 4);
        assert_eq!(twice, des.encrypted(7, 5, 7), "encryptions follow each other");
    }
}
