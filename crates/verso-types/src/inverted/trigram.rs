//! Trigrams of texts, as PostgreSQL's `pg_trgm` takes them.
//!
//! A word is a run of letters and digits, in lower case, with two blanks before it and one behind it; its trigrams are all
//! runs of three characters of that.

use super::Search;

/// Three characters: themselves where each is one byte, otherwise three bytes of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trigram([u8; 3]);

/// As `pg_trgm` orders them on most machines: by bytes that have a sign.
impl Ord for Trigram {
    fn cmp(&self, other: &Trigram) -> std::cmp::Ordering {
        self.0.map(u8::cast_signed).cmp(&other.0.map(u8::cast_signed))
    }
}

impl PartialOrd for Trigram {
    fn partial_cmp(&self, other: &Trigram) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Trigram {
    fn new(chars: &[char]) -> Trigram {
        let mut bytes = [0; 12];
        let mut length = 0;
        for char in chars {
            length += char.encode_utf8(&mut bytes[length..]).len();
        }
        if length == 3 {
            return Trigram([bytes[0], bytes[1], bytes[2]]);
        }
        let [a, b, c, _] = legacy_checksum(&bytes[..length]).to_le_bytes();
        Trigram([a, b, c])
    }

    /// As `show_trgm` shows it.
    #[must_use]
    pub fn text(self) -> String {
        let [a, b, c] = self.0;
        match self.0.iter().all(|byte| byte.is_ascii() && (*byte == b' ' || byte.is_ascii_alphanumeric())) {
            true => self.0.iter().map(|byte| char::from(*byte)).collect(),
            false => format!("0x{a:02x}{b:02x}{c:02x}"),
        }
    }

    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    /// The search for texts that have it.
    #[must_use]
    pub fn search(self, part: u8) -> Search {
        Search::one(part, |out| self.put(out))
    }
}

/// PostgreSQL's CRC of old: the table of one direction, used in the other.
pub(crate) fn legacy_checksum(bytes: &[u8]) -> u32 {
    let entry = |index: u32| {
        (0..8).fold(index, |value, _| if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 })
    };
    let step = |sum: u32, byte: &u8| entry((sum >> 24 ^ u32::from(*byte)) & 0xff) ^ sum << 8;
    !bytes.iter().fold(u32::MAX, step)
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric()
}

/// A character in lower case: the same one for all that differ in case only, as `s` and `ſ` do.
fn lower(char: char) -> impl Iterator<Item = char> {
    let mut upper = char.to_uppercase();
    let char = match (upper.next(), upper.next()) {
        (Some(upper), None) if !char.is_ascii() => upper,
        _ => char,
    };
    char.to_lowercase()
}

/// The words of a text, each with its blanks.
#[must_use]
pub fn words(text: &str) -> Vec<Vec<char>> {
    let mut words = Vec::new();
    let mut word: Vec<char> = Vec::new();
    for char in text.chars().flat_map(lower).chain([' ']) {
        if is_word(char) {
            if word.is_empty() {
                word.extend([' ', ' ']);
            }
            word.push(char);
        } else if !word.is_empty() {
            word.push(' ');
            words.push(std::mem::take(&mut word));
        }
    }
    words
}

/// The trigrams of a word with its blanks, one behind the other.
#[must_use]
pub fn of_word(word: &[char]) -> Vec<Trigram> {
    word.windows(3).map(Trigram::new).collect()
}

/// The trigrams of a text, in order, each once.
#[must_use]
pub fn of(text: &str) -> Vec<Trigram> {
    sorted(words(text).iter().flat_map(|word| of_word(word)).collect())
}

fn sorted(mut trigrams: Vec<Trigram>) -> Vec<Trigram> {
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

/// A piece of a text of which not all is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// This character, in whatever case.
    Char(char),
    /// Any text, or none.
    Gap,
}

/// The trigrams that every text has which begins with the first piece, goes on with the next, and ends with the last.
#[must_use]
pub fn required(pieces: &[Piece]) -> Vec<Trigram> {
    let mut trigrams = Vec::new();
    let mut word: Vec<char> = Vec::new();
    // What stands before a word and behind it begins and ends it, but for a gap, where it may go on.
    let mut after_gap = false;
    let mut end = |word: &mut Vec<char>, ends: bool| {
        if word.iter().any(|char| is_word(*char)) {
            word.extend(ends.then_some(' '));
            trigrams.extend(word.windows(3).map(Trigram::new));
        }
        word.clear();
    };
    for piece in pieces {
        match piece {
            Piece::Gap => {
                end(&mut word, false);
                after_gap = true;
            }
            Piece::Char(char) => {
                for char in lower(*char) {
                    if is_word(char) {
                        if word.is_empty() && !after_gap {
                            word.extend([' ', ' ']);
                        }
                        word.push(char);
                    } else {
                        end(&mut word, true);
                    }
                    after_gap = false;
                }
            }
        }
    }
    end(&mut word, true);
    sorted(trigrams)
}

/// The trigrams that every text has which is LIKE or ILIKE a pattern with `\` as its escape character.
#[must_use]
pub fn like(pattern: &str) -> Vec<Trigram> {
    let mut pieces = Vec::new();
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        pieces.push(match char {
            '%' | '_' => Piece::Gap,
            '\\' => match chars.next() {
                Some(char) => Piece::Char(char),
                None => break,
            },
            char => Piece::Char(char),
        });
    }
    required(&pieces)
}
