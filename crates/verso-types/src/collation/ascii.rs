//! The short way to the sort key of a text of ASCII: the weights of its characters, one behind the other.
//!
//! 1. The table is learnt from ICU when a collation is used first: the key of every character, and whether the key of every
//!    pair is what the two make. Pairs that are not (contractions, as `ch` of Czech) send their texts the long way.
//! 2. It takes collations of three levels without options. Others always go the long way.
//! 3. A test compares both ways in every locale.

use icu_collator::CollatorBorrowed;
use icu_collator::options::{AlternateHandling, CaseLevel, Strength};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};

const SEPARATOR: u8 = 1;
const COMMON: u8 = 5;
/// A secondary level writes up to so many common weights as one byte.
const SECONDARY_MAX: usize = 0x21;
const SECONDARY_MIDDLE: u8 = COMMON + 0x20;
/// The same of a tertiary level.
const TERTIARY_MAX: usize = 0x61;
const TERTIARY_MIDDLE: u8 = COMMON + 0x60;
const TERTIARY_HIGH: u8 = COMMON + 0xc0;

/// The weights of a character.
#[derive(Clone, Copy, Default)]
struct Weights {
    /// One to three bytes; none where the character goes the long way.
    primary: [u8; 3],
    length: u8,
    /// Whether what has the same first byte and stands behind it leaves that out.
    compresses: bool,
    tertiary: u8,
}

/// The weights of all characters of ASCII.
pub(super) struct AsciiTable {
    weights: [Weights; 128],
    /// By the first one: pairs that have a weight of their own.
    pairs: [u128; 128],
}

impl AsciiTable {
    /// Learns the weights; `None` for a collation that does not go this way.
    pub fn learn(icu: &CollatorBorrowed<'static>) -> Option<AsciiTable> {
        let options = icu.resolved_options();
        let plain = options.strength == Strength::Tertiary
            && options.alternate_handling == AlternateHandling::NonIgnorable
            && options.case_level == CaseLevel::Off
            && options.case_first == CollationCaseFirst::False
            && options.numeric == CollationNumericOrdering::False;
        if !plain {
            return None;
        }
        let key = |text: &[u8]| {
            let mut key = Vec::new();
            let Ok(()) = icu.write_sort_key_utf8_to(text, &mut key);
            key
        };
        let mut table = AsciiTable { weights: [Weights::default(); 128], pairs: [0; 128] };
        for byte in 0x20..0x7f_u8 {
            let alone = key(&[byte]);
            let levels: Vec<&[u8]> = alone.split(|byte| *byte == SEPARATOR).collect();
            let [primary, [COMMON], [tertiary]] = levels.as_slice() else { continue };
            if primary.is_empty() || primary.len() > 3 {
                continue;
            }
            let twice = key(&[byte, byte]);
            let compresses = primary.len() > 1 && twice.starts_with(&[primary, &primary[1..], &[1]].concat());
            let mut weights = Weights { compresses, tertiary: *tertiary, ..Weights::default() };
            weights.primary[..primary.len()].copy_from_slice(primary);
            weights.length = primary.len() as u8;
            table.weights[usize::from(byte)] = weights;
        }
        let mut made = Vec::new();
        for one in 0x20..0x7f_u8 {
            for two in 0x20..0x7f_u8 {
                made.clear();
                let text = [one, two];
                if table.sort_key(&text, &mut made) && made != key(&text) {
                    table.pairs[usize::from(one)] |= 1 << two;
                }
            }
        }
        Some(table)
    }

    /// Appends the sort key of a text; leaves `out` as it was and says no where the text has to go the long way.
    pub fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        if text.is_empty() {
            return false;
        }
        // The first byte of the last primary weight, while what follows may leave it out, and the rest of it.
        let mut open: Option<[u8; 3]> = None;
        let mut before = 0_u8;
        for byte in text {
            let Some(weights) = self.weights.get(usize::from(*byte)).filter(|weights| weights.length > 0)
            else {
                out.truncate(start);
                return false;
            };
            if self.pairs[usize::from(before)] >> byte & 1 == 1 {
                out.truncate(start);
                return false;
            }
            before = *byte;
            let primary = &weights.primary[..usize::from(weights.length)];
            match open {
                Some(last) if last[0] == primary[0] => out.extend_from_slice(&primary[1..]),
                _ => {
                    if let Some(last) = open {
                        out.push(if weights.primary < last { 3 } else { 0xff });
                    }
                    out.extend_from_slice(primary);
                }
            }
            open = weights.compresses.then_some(weights.primary);
        }
        out.push(SEPARATOR);
        let mut common = text.len() - 1;
        while common >= SECONDARY_MAX {
            out.push(SECONDARY_MIDDLE);
            common -= SECONDARY_MAX;
        }
        out.push(COMMON + common as u8);
        out.push(SEPARATOR);
        let mut common = 0;
        for byte in text {
            let tertiary = self.weights[usize::from(*byte)].tertiary;
            if tertiary == COMMON {
                common += 1;
                continue;
            }
            if common > 0 {
                let last = TERTIARY_HIGH - run(&mut common, out);
                out.push(last);
            }
            out.push(tertiary);
        }
        if common > 0 {
            let last = COMMON + run(&mut common, out);
            out.push(last);
        }
        true
    }
}

/// Writes a run of common weights but for the last byte, and says how many that one is for.
fn run(common: &mut usize, out: &mut Vec<u8>) -> u8 {
    *common -= 1;
    while *common >= TERTIARY_MAX {
        out.push(TERTIARY_MIDDLE);
        *common -= TERTIARY_MAX;
    }
    std::mem::take(common) as u8
}
