//! Texts in symbols: up to 255 byte strings of up to eight bytes, each of which becomes one byte.
//!
//! ```text
//! carefully ironic deposits        ─►  [careful][ly ][ironic][ deposit][s]         255 and a byte: that byte itself
//! ```
//!
//! The symbols are chosen in rounds: those of the last one, and pairs of them that stand beside each other, by the bytes that
//! each would have saved. Any text can be encoded, and each by itself, so that one is read without the others. Source: Boncz, Neumann,
//! Leis, *FSST: Fast Random Access String Compression*, VLDB 2020.

use std::collections::HashMap;

use crate::page::Flaw;
use crate::page::bytes::checked_slice;

/// The code behind which a byte stands for itself.
const ESCAPE: u8 = 255;
/// Most symbols.
const SYMBOLS_MAX: usize = 255;
/// Most bytes of a symbol.
const LENGTH_MAX: usize = 8;
/// Rounds in which they are chosen.
const ROUNDS: usize = 5;

/// A table of symbols, for both directions.
#[derive(Clone, Debug)]
pub(super) struct Symbols {
    count: usize,
    /// By code; without a symbol their length is 0.
    symbols: Box<[[u8; LENGTH_MAX]; 256]>,
    lengths: Box<[u8; 256]>,
    /// Codes by first byte, the longest in front, and where those of each byte begin.
    order: Vec<u8>,
    starts: Box<[u16; 257]>,
}

impl Symbols {
    /// A table of these, each of which has one to eight bytes.
    fn of(list: &[&[u8]]) -> Symbols {
        let mut table = Symbols {
            count: list.len(),
            symbols: Box::new([[0; LENGTH_MAX]; 256]),
            lengths: Box::new([0; 256]),
            order: (0..list.len() as u8).collect(),
            starts: Box::new([0; 257]),
        };
        for (code, symbol) in list.iter().enumerate() {
            table.symbols[code][..symbol.len()].copy_from_slice(symbol);
            table.lengths[code] = symbol.len() as u8;
        }
        let Symbols { symbols, lengths, order, starts, .. } = &mut table;
        order.sort_unstable_by_key(|code| {
            let code = usize::from(*code);
            (symbols[code][0], std::cmp::Reverse(lengths[code]), code)
        });
        for (byte, start) in starts.iter_mut().enumerate() {
            *start = order.partition_point(|code| usize::from(symbols[usize::from(*code)][0]) < byte) as u16;
        }
        table
    }

    /// The symbols that suit some texts; the same for the same texts.
    pub fn train(texts: &[&[u8]]) -> Symbols {
        let mut table = Symbols::of(&[]);
        for _ in 0..ROUNDS {
            let mut gains: HashMap<Vec<u8>, u64> = HashMap::new();
            for text in texts {
                let mut before: Option<&[u8]> = None;
                let mut rest = *text;
                while !rest.is_empty() {
                    let length =
                        table.find(rest).map_or(1, |code| usize::from(table.lengths[usize::from(code)]));
                    let (symbol, behind) = rest.split_at(length);
                    // A byte that is no symbol takes two.
                    let worth = if length == 1 { 2 } else { length as u64 };
                    *gains.entry(symbol.to_vec()).or_default() += worth;
                    if let Some(before) = before.filter(|before| before.len() < LENGTH_MAX) {
                        let both = [before, &symbol[..length.min(LENGTH_MAX - before.len())]].concat();
                        let worth = both.len() as u64;
                        *gains.entry(both).or_default() += worth;
                    }
                    (before, rest) = (Some(symbol), behind);
                }
            }
            let mut best: Vec<(&Vec<u8>, u64)> = gains.iter().map(|(symbol, gain)| (symbol, *gain)).collect();
            best.sort_unstable_by(|(one, gain), (other, its)| its.cmp(gain).then_with(|| one.cmp(other)));
            best.truncate(SYMBOLS_MAX);
            table = Symbols::of(&best.iter().map(|(symbol, _)| symbol.as_slice()).collect::<Vec<_>>());
        }
        table
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The code of the longest symbol that a text begins with.
    #[inline]
    fn find(&self, text: &[u8]) -> Option<u8> {
        let first = usize::from(*text.first()?);
        let codes = &self.order[usize::from(self.starts[first])..usize::from(self.starts[first + 1])];
        codes.iter().copied().find(|code| {
            let code = usize::from(*code);
            let length = usize::from(self.lengths[code]);
            text.get(..length) == Some(&self.symbols[code][..length])
        })
    }

    /// Appends the codes of a text.
    pub fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut rest = text;
        while let Some(first) = rest.first() {
            match self.find(rest) {
                Some(code) => {
                    out.push(code);
                    rest = &rest[usize::from(self.lengths[usize::from(code)])..];
                }
                None => {
                    out.extend_from_slice(&[ESCAPE, *first]);
                    rest = &rest[1..];
                }
            }
        }
    }

    /// Puts the text of some codes into `out` from `to` on; where it ends. What is behind that may be anything then.
    ///
    /// # Errors
    /// A flaw where it does not fit, or a code has no symbol.
    #[inline]
    pub fn decode(&self, codes: &[u8], out: &mut [u8], mut to: usize) -> Result<usize, Flaw> {
        let no_room = || Flaw::from("a text of symbols that does not fit its page");
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            if *code == ESCAPE {
                let byte = codes.next().ok_or_else(|| Flaw::from("a text of symbols that is cut off"))?;
                *out.get_mut(to).ok_or_else(no_room)? = *byte;
                to += 1;
                continue;
            }
            let symbol = &self.symbols[usize::from(*code)];
            let length = usize::from(self.lengths[usize::from(*code)]);
            if length == 0 {
                return Err(Flaw::from("a code without a symbol"));
            }
            match out.get_mut(to..to + LENGTH_MAX) {
                // All eight bytes at once; the next ones are put over those beyond its length.
                Some(place) => place.copy_from_slice(symbol),
                None => out.get_mut(to..to + length).ok_or_else(no_room)?.copy_from_slice(&symbol[..length]),
            }
            to += length;
        }
        Ok(to)
    }

    /// Bytes that [`Symbols::write`] appends.
    pub fn size(&self) -> usize {
        2 + self.count + self.lengths.iter().map(|length| usize::from(*length)).sum::<usize>()
    }

    /// Appends `count u8 │ – │ lengths u8 each │ the symbols`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.count as u8, 0]);
        out.extend_from_slice(&self.lengths[..self.count]);
        for (symbol, length) in self.symbols.iter().zip(&self.lengths[..self.count]) {
            out.extend_from_slice(&symbol[..usize::from(*length)]);
        }
    }

    /// What was written at the start of some bytes, and how many that are.
    ///
    /// # Errors
    /// A flaw where there is no such table.
    pub fn read(bytes: &[u8]) -> Result<(Symbols, usize), Flaw> {
        let count = usize::from(checked_slice(bytes, 0, 2)?[0]);
        let lengths = checked_slice(bytes, 2, count)?;
        if count > SYMBOLS_MAX || lengths.iter().any(|length| !(1..=LENGTH_MAX as u8).contains(length)) {
            return Err(Flaw::from("a symbol of no bytes, or of too many"));
        }
        let (mut at, mut list) = (2 + count, Vec::with_capacity(count));
        for length in lengths {
            list.push(checked_slice(bytes, at, usize::from(*length))?);
            at += usize::from(*length);
        }
        Ok((Symbols::of(&list), at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(table: &Symbols, text: &[u8]) -> usize {
        let mut codes = Vec::new();
        table.encode(text, &mut codes);
        let mut out = vec![7; text.len() + 3];
        let end = table.decode(&codes, &mut out[..text.len() + 1], 1).unwrap();
        assert_eq!((&out[1..end], out[0], &out[end..]), (text, 7, &[7, 7][..]));
        codes.len()
    }

    #[test]
    fn texts_come_back_and_take_less() {
        let words =
            ["carefully", "ironic", "deposits", "sleep", "furiously", "among", "the", "pending", "packages"];
        let text = |n: usize| {
            let word = |at: usize| words[(n * 7 + at * at * 3 + n / 5) % words.len()];
            (0..8).map(word).collect::<Vec<_>>().join(" ")
        };
        let texts: Vec<String> = (0..200).map(text).collect();
        let table = Symbols::train(&texts.iter().map(String::as_bytes).collect::<Vec<_>>());
        let (plain, coded) = texts.iter().fold((0, 0), |(plain, coded), text| {
            (plain + text.len(), coded + round(&table, text.as_bytes()))
        });
        assert!(coded * 3 < plain, "{coded} of {plain} bytes");
        // Whatever the symbols were chosen for.
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for text in [&b""[..], b"x", b"\xff\xff\xff", &all] {
            round(&table, text);
            round(&Symbols::train(&[]), text);
        }
        let mut written = vec![9];
        table.write(&mut written);
        assert_eq!(written.len(), 1 + table.size());
        let (read, length) = Symbols::read(&written[1..]).unwrap();
        assert_eq!((length, read.count()), (table.size(), table.count()));
        assert_eq!(round(&read, texts[3].as_bytes()), round(&table, texts[3].as_bytes()));
        for cut in 0..written.len() - 1 {
            assert!(Symbols::read(&written[1..][..cut]).is_err(), "cut to {cut}");
        }
    }

    #[test]
    fn damaged_codes_are_flaws() {
        let table = Symbols::of(&[b"ab", b"cdefghij"]);
        let mut out = [0; 16];
        assert!(table.decode(&[ESCAPE], &mut out, 0).is_err());
        assert!(table.decode(&[2], &mut out, 0).is_err());
        assert!(table.decode(&[1, 1, 0], &mut out, 0).is_err());
        assert_eq!(table.decode(&[1, 0, ESCAPE, 9], &mut out[..11], 0).unwrap(), 11);
        assert!(Symbols::read(&[1, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]).is_err());
        assert!(Symbols::read(&[1, 0, 0]).is_err());
    }
}
