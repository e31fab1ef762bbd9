//! Encodings of characters: those that clients, COPY and `convert` name, their bytes as texts, and back.
//!
//! E1. Texts are UTF-8 everywhere inside. Bytes of another encoding become texts where they come in, and again its bytes where
//!     they go out.
//! E2. SQL_ASCII is no conversion: its bytes are texts where they are UTF-8.
//! E3. Bytes that are no character of their encoding, and characters that another encoding does not have, are errors (22021,
//!     22P05). No character is ever replaced by another one, but in what is said about errors.
//!
//! Source: PostgreSQL 18, `encnames.c` and `conversion_procs`; the tables of characters are those of `encoding_rs`.

use std::borrow::Cow;

use encoding_rs as rs;

use crate::{SqlType, TypeError};

/// An encoding, by PostgreSQL's number of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding(u8);

/// Names by number.
const NAMES: [&str; 42] = [
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

/// Other names, as [`plain`] has them.
const ALIASES: &[(&str, &str)] = &[
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88599", "LATIN5"),
    ("koi8", "KOI8R"),
    ("mskanji", "SJIS"),
    ("shiftjis", "SJIS"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("unicode", "UTF8"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
    ("windows1250", "WIN1250"),
    ("windows1251", "WIN1251"),
    ("windows1252", "WIN1252"),
    ("windows1253", "WIN1253"),
    ("windows1254", "WIN1254"),
    ("windows1255", "WIN1255"),
    ("windows1256", "WIN1256"),
    ("windows1257", "WIN1257"),
    ("windows1258", "WIN1258"),
    ("windows866", "WIN866"),
    ("windows874", "WIN874"),
    ("windows932", "SJIS"),
    ("windows936", "GBK"),
    ("windows949", "UHC"),
    ("windows950", "BIG5"),
];

/// A name as PostgreSQL compares them: letters and digits only.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// How the characters of an encoding are found.
#[derive(Clone, Copy)]
enum Table {
    /// Bytes are UTF-8.
    Utf8,
    /// Each byte is the character of its number.
    Latin1,
    /// The same but for six letters.
    Latin5,
    /// As the library has it.
    Of(&'static rs::Encoding),
    /// The same, without the controls from 0x80 on that the library makes of bytes which are no characters.
    Windows(&'static rs::Encoding),
    /// There is none.
    Missing,
}

/// The letters of LATIN5 that LATIN1 does not have.
const TURKISH: [(u8, char); 6] =
    [(0xd0, 'Ğ'), (0xdd, 'İ'), (0xde, 'Ş'), (0xf0, 'ğ'), (0xfd, 'ı'), (0xfe, 'ş')];

/// Bytes between two looks at who might want to stop.
pub const STEP_BYTES: usize = 4 << 20;

impl Encoding {
    /// Bytes as they are.
    pub const SQL_ASCII: Encoding = Encoding(0);
    /// That of all texts.
    pub const UTF8: Encoding = Encoding(6);

    /// The one of that name, written in any of PostgreSQL's ways.
    pub fn named(name: &str) -> Option<Encoding> {
        let wanted = plain(name);
        let alias = ALIASES.iter().find(|(alias, _)| *alias == wanted).map(|(_, name)| *name);
        let is_it = |known: &&str| alias.map_or_else(|| plain(known) == wanted, |name| **known == *name);
        NAMES.iter().position(is_it).map(|number| Encoding(number as u8))
    }

    /// The one of that number.
    pub fn of_number(number: i64) -> Option<Encoding> {
        let number = u8::try_from(number).ok().filter(|number| usize::from(*number) < NAMES.len());
        number.map(Encoding)
    }

    /// PostgreSQL's number of it.
    pub fn number(self) -> i32 {
        self.0.into()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// Whether its bytes are other ones than those of texts.
    #[inline]
    pub fn converts(self) -> bool {
        self != Encoding::UTF8 && self != Encoding::SQL_ASCII
    }

    /// Whether there is a conversion.
    pub fn is_known(self) -> bool {
        !matches!(self.table(), Table::Missing)
    }

    fn table(self) -> Table {
        match self.name() {
            "UTF8" | "SQL_ASCII" => Table::Utf8,
            "LATIN1" => Table::Latin1,
            "LATIN2" => Table::Of(rs::ISO_8859_2),
            "LATIN3" => Table::Of(rs::ISO_8859_3),
            "LATIN4" => Table::Of(rs::ISO_8859_4),
            "LATIN5" => Table::Latin5,
            "LATIN6" => Table::Of(rs::ISO_8859_10),
            "LATIN7" => Table::Of(rs::ISO_8859_13),
            "LATIN8" => Table::Of(rs::ISO_8859_14),
            "LATIN9" => Table::Of(rs::ISO_8859_15),
            "LATIN10" => Table::Of(rs::ISO_8859_16),
            "ISO_8859_5" => Table::Of(rs::ISO_8859_5),
            "ISO_8859_6" => Table::Of(rs::ISO_8859_6),
            "ISO_8859_7" => Table::Of(rs::ISO_8859_7),
            "ISO_8859_8" => Table::Of(rs::ISO_8859_8),
            "WIN866" => Table::Of(rs::IBM866),
            "WIN874" => Table::Windows(rs::WINDOWS_874),
            "WIN1250" => Table::Windows(rs::WINDOWS_1250),
            "WIN1251" => Table::Windows(rs::WINDOWS_1251),
            "WIN1252" => Table::Windows(rs::WINDOWS_1252),
            "WIN1253" => Table::Windows(rs::WINDOWS_1253),
            "WIN1254" => Table::Windows(rs::WINDOWS_1254),
            "WIN1255" => Table::Windows(rs::WINDOWS_1255),
            "WIN1256" => Table::Windows(rs::WINDOWS_1256),
            "WIN1257" => Table::Windows(rs::WINDOWS_1257),
            "WIN1258" => Table::Windows(rs::WINDOWS_1258),
            "KOI8R" => Table::Of(rs::KOI8_R),
            "KOI8U" => Table::Of(rs::KOI8_U),
            "EUC_JP" => Table::Of(rs::EUC_JP),
            "EUC_KR" | "UHC" => Table::Of(rs::EUC_KR),
            "EUC_CN" | "GBK" => Table::Of(rs::GBK),
            "GB18030" => Table::Of(rs::GB18030),
            "SJIS" => Table::Of(rs::SHIFT_JIS),
            "BIG5" => Table::Of(rs::BIG5),
            _ => Table::Missing,
        }
    }

    /// How many bytes the character takes that these begin with; more than there are where it is cut off.
    fn width(self, bytes: &[u8]) -> usize {
        let first = bytes.first().copied().unwrap_or_default();
        match self.name() {
            "UTF8" | "SQL_ASCII" => match first {
                0xc0..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf7 => 4,
                _ => 1,
            },
            "EUC_JP" if first == 0x8f => 3,
            "GB18030" if first >= 0x80 => match bytes.get(1) {
                Some(0x30..=0x39) => 4,
                _ => 2,
            },
            "SJIS" => 1 + usize::from(matches!(first, 0x81..=0x9f | 0xe0..=0xfc)),
            "EUC_JP" | "EUC_KR" | "UHC" | "EUC_CN" | "GBK" | "BIG5" => 1 + usize::from(first >= 0x80),
            _ => 1,
        }
    }

    /// How many of the bytes, of `most` at the most, end with the end of a character.
    pub fn whole(self, bytes: &[u8], most: usize) -> usize {
        let most = most.min(bytes.len());
        if self == Encoding::UTF8 || self == Encoding::SQL_ASCII {
            let lead = (most.saturating_sub(4)..most).rev().find(|at| bytes[*at] & 0xc0 != 0x80);
            return lead.filter(|at| at + self.width(&bytes[*at..]) > most).unwrap_or(most);
        }
        if !matches!(self.table(), Table::Of(table) if !table.is_single_byte()) {
            return most;
        }
        let mut at = 0;
        while at < most {
            let width = self.width(&bytes[at..]);
            if at + width > most {
                break;
            }
            at += width;
        }
        at
    }

    /// Bytes as a text.
    ///
    /// # Errors
    /// 22021 for what is no character and for zeroes, 22P05 for one that Unicode does not have, 42883 without a conversion.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, TypeError> {
        let table = self.table();
        if !matches!(table, Table::Missing) && bytes.is_ascii() && !bytes.contains(&0) {
            // The first half is the same in all of them.
            return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| self.invalid(bytes));
        }
        let text = match table {
            Table::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Table::Latin1 => Some(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect())),
            Table::Latin5 => {
                let letter = |byte: &u8| {
                    let own = TURKISH.iter().find(|(known, _)| known == byte);
                    own.map_or(char::from(*byte), |(_, letter)| *letter)
                };
                Some(Cow::Owned(bytes.iter().map(letter).collect()))
            }
            Table::Of(table) => table.decode_without_bom_handling_and_without_replacement(bytes),
            Table::Windows(table) => table
                .decode_without_bom_handling_and_without_replacement(bytes)
                .filter(|text| !text.contains(is_high_control)),
            Table::Missing => return Err(missing(self.name(), Encoding::UTF8.name())),
        };
        match text {
            Some(text) if !text.contains('\0') => Ok(text),
            _ => Err(self.flaw(bytes)),
        }
    }

    /// What is wrong with bytes that are no text.
    #[cold]
    fn flaw(self, bytes: &[u8]) -> TypeError {
        let mut rest = bytes;
        while !rest.is_empty() {
            let width = self.width(rest);
            let Some((one, behind)) = rest.split_at_checked(width) else { return self.invalid(rest) };
            if one == [0] {
                return self.invalid(one);
            }
            let read = match self.table() {
                Table::Utf8 => std::str::from_utf8(one).is_ok(),
                Table::Of(table) => table.decode_without_bom_handling_and_without_replacement(one).is_some(),
                Table::Windows(table) => table
                    .decode_without_bom_handling_and_without_replacement(one)
                    .is_some_and(|text| !text.contains(is_high_control)),
                _ => true,
            };
            if !read {
                // Bytes of several that do not belong together are no character at all.
                let torn = one.len() > 1 && one[1..].iter().any(|byte| *byte < 0x30);
                return match self.converts() && !torn {
                    true => no_equivalent(one, self.name(), Encoding::UTF8.name()),
                    false => self.invalid(one),
                };
            }
            rest = behind;
        }
        self.invalid(bytes)
    }

    fn invalid(self, bytes: &[u8]) -> TypeError {
        let name = if self == Encoding::SQL_ASCII { Encoding::UTF8 } else { self }.name();
        let width = self.width(bytes).max(1);
        let text = format!("invalid byte sequence for encoding \"{name}\": {}", shown(bytes, width));
        TypeError::new("22021", text)
    }

    /// A text as bytes.
    ///
    /// # Errors
    /// 22P05 for a character that the encoding does not have, 42883 without a conversion.
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, TypeError> {
        let table = self.table();
        if matches!(table, Table::Missing) {
            return Err(missing(Encoding::UTF8.name(), self.name()));
        }
        if matches!(table, Table::Utf8) || text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut bytes = Vec::with_capacity(text.len());
        let lacks = |c: char| {
            let mut buffer = [0; 4];
            no_equivalent(c.encode_utf8(&mut buffer).as_bytes(), Encoding::UTF8.name(), self.name())
        };
        match self.put(text, &mut bytes) {
            None => Ok(Cow::Owned(bytes)),
            Some(c) => Err(lacks(c)),
        }
    }

    /// The same where nothing can be done about characters that the encoding does not have: each is a question mark.
    pub fn encode_lossy(self, text: &str) -> Cow<'_, [u8]> {
        match self.encode(text) {
            Ok(bytes) => bytes,
            Err(_) => {
                let mut bytes = Vec::with_capacity(text.len());
                let mut buffer = [0; 4];
                for c in text.chars() {
                    if self.put(c.encode_utf8(&mut buffer), &mut bytes).is_some() {
                        bytes.push(b'?');
                    }
                }
                Cow::Owned(bytes)
            }
        }
    }

    /// Values with their lengths before them, as rows of the protocol and of binary COPY have them, with the texts among them in
    /// the encoding; `is_text` says which ones these are.
    ///
    /// # Errors
    /// As [`Encoding::encode`].
    pub fn encode_fields(self, fields: &[u8], is_text: impl Fn(usize) -> bool) -> Result<Vec<u8>, TypeError> {
        let mut encoded = Vec::with_capacity(fields.len());
        let (mut rest, mut column) = (fields, 0);
        while let Some((length, behind)) = rest.split_at_checked(4) {
            let bytes = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
            // NULL has a length below 0.
            let end = usize::try_from(bytes).unwrap_or(0).min(behind.len());
            let (value, behind) = behind.split_at(end);
            match std::str::from_utf8(value) {
                Ok(text) if bytes > 0 && is_text(column) => {
                    let text = self.encode(text)?;
                    encoded.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    encoded.extend_from_slice(&text);
                }
                _ => {
                    encoded.extend_from_slice(length);
                    encoded.extend_from_slice(value);
                }
            }
            (rest, column) = (behind, column + 1);
        }
        Ok(encoded)
    }

    /// Appends the bytes of a text; the first character that has none, before which all are there.
    fn put(self, text: &str, bytes: &mut Vec<u8>) -> Option<char> {
        let of = |c: char| match self.table() {
            Table::Latin1 => u8::try_from(u32::from(c)).ok(),
            Table::Latin5 => {
                let own = TURKISH.iter().find(|(_, letter)| *letter == c).map(|(byte, _)| *byte);
                let plain = || u8::try_from(u32::from(c)).ok();
                own.or_else(|| plain().filter(|byte| TURKISH.iter().all(|(known, _)| known != byte)))
            }
            _ => None,
        };
        match self.table() {
            Table::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Table::Missing => return text.chars().next(),
            Table::Latin1 | Table::Latin5 => {
                for c in text.chars() {
                    match of(c) {
                        Some(byte) => bytes.push(byte),
                        None => return Some(c),
                    }
                }
            }
            Table::Of(table) | Table::Windows(table) => {
                let windows = matches!(self.table(), Table::Windows(_));
                let lacks = |text: &str| windows && text.contains(is_high_control);
                let (all, _, failed) = table.encode(text);
                if !failed && !lacks(text) {
                    bytes.extend_from_slice(&all);
                    return None;
                }
                let mut buffer = [0; 4];
                return text.chars().find(|c| {
                    let one = c.encode_utf8(&mut buffer);
                    table.encode(one).2 || lacks(one)
                });
            }
        }
        None
    }
}

/// Whether the binary values of a type are texts, which a client has in its own encoding.
pub fn has_text(ty: &SqlType) -> bool {
    matches!(
        ty.uncollated(),
        SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name | SqlType::Json
    )
}

/// Whether it is a control that the code pages of Windows do not have.
fn is_high_control(c: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&c)
}

fn shown(bytes: &[u8], most: usize) -> String {
    let all: Vec<String> = bytes.iter().take(most).map(|byte| format!("0x{byte:02x}")).collect();
    all.join(" ")
}

fn no_equivalent(bytes: &[u8], from: &str, to: &str) -> TypeError {
    let bytes = shown(bytes, bytes.len());
    let text = format!(
        "character with byte sequence {bytes} in encoding \"{from}\" has no equivalent in encoding \"{to}\""
    );
    TypeError::new("22P05", text)
}

fn missing(from: &str, to: &str) -> TypeError {
    let text = format!("default conversion function for encoding \"{from}\" to \"{to}\" does not exist");
    TypeError::new("42883", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_all_their_spellings() {
        for (name, number) in [
            ("utf8", 6),
            ("UTF-8", 6),
            ("Unicode", 6),
            ("latin1", 8),
            ("ISO-8859-1", 8),
            ("iso_8859_15", 16),
            ("WIN1252", 24),
            ("windows-1252", 24),
            ("SQL_ASCII", 0),
            ("Shift_JIS", 35),
            ("koi8-r", 22),
        ] {
            assert_eq!(Encoding::named(name).map(Encoding::number), Some(number), "{name}");
        }
        assert_eq!(Encoding::named("latin"), None);
        assert_eq!(Encoding::of_number(42), None);
        for number in 0..42 {
            let known = Encoding::of_number(number).expect("there are so many");
            assert_eq!(Encoding::named(known.name()), Some(known));
        }
    }

    #[test]
    fn what_one_byte_means_goes_there_and_back() {
        for number in 0..42 {
            let encoding = Encoding::of_number(number).expect("there are so many");
            if !encoding.converts() || !encoding.is_known() {
                continue;
            }
            for byte in (1..=255u8).filter(|byte| encoding.width(&[*byte]) == 1) {
                if let Ok(text) = encoding.decode(&[byte]) {
                    let back = encoding.encode(&text).expect("it has it");
                    assert_eq!(&*back, [byte], "{} {byte:02x}", encoding.name());
                }
            }
            assert_eq!(encoding.decode(b"a\0").expect_err("a zero").sqlstate, "22021");
        }
    }

    #[test]
    fn characters_of_several_bytes_are_not_cut() {
        for (name, text) in [
            ("SJIS", "日本語 abc カナ"),
            ("EUC_JP", "日本語 abc"),
            ("BIG5", "繁體中文 a"),
            ("GBK", "简体中文 a"),
            ("GB18030", "简体 é 😀"),
            ("UHC", "한국어 a"),
            ("UTF8", "aé日😀z"),
        ] {
            let encoding = Encoding::named(name).expect(name);
            let bytes = encoding.encode(text).expect(name);
            for most in 0..=bytes.len() {
                let whole = encoding.whole(&bytes, most);
                assert!(whole <= most && most - whole < 4, "{name} {most} {whole}");
                let (first, rest) = bytes.split_at(whole);
                let both = [encoding.decode(first).expect(name), encoding.decode(rest).expect(name)];
                assert_eq!(both.concat(), text, "{name} {most}");
                // What comes in pieces ends where it ends.
                let cut = encoding.whole(&bytes[..most], most);
                assert!(encoding.decode(&bytes[..cut]).is_ok(), "{name} {most}");
            }
        }
    }

    #[test]
    fn texts_among_values_are_converted() {
        let latin1 = Encoding::named("latin1").expect("known");
        let fields = b"\0\0\0\x02\xc3\xa9\xff\xff\xff\xff\0\0\0\x02\xc3\xa9\0\0\0\0";
        let encoded = latin1.encode_fields(fields, |column| column == 0).expect("it has them");
        assert_eq!(encoded, b"\0\0\0\x01\xe9\xff\xff\xff\xff\0\0\0\x02\xc3\xa9\0\0\0\0");
        assert_eq!(
            latin1.encode_fields("\0\0\0\u{3}€".as_bytes(), |_| true).expect_err("no euro").sqlstate,
            "22P05"
        );
    }

    #[test]
    fn what_does_not_fit_is_told_as_postgresql_does() {
        let latin1 = Encoding::named("latin1").expect("known");
        let error = latin1.encode("aé€").expect_err("no euro");
        let text = "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"";
        assert_eq!((error.sqlstate, error.message.as_str()), ("22P05", text));
        assert_eq!(&*latin1.encode_lossy("aé€"), b"a\xe9?");
        let windows = Encoding::named("win1252").expect("known");
        let error = windows.decode(b"a\x81").expect_err("nothing");
        let text = "character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\"";
        assert_eq!((error.sqlstate, error.message.as_str()), ("22P05", text));
        assert_eq!(windows.encode("\u{81}").expect_err("nothing").sqlstate, "22P05");
        assert_eq!(&*windows.decode(b"\x80").expect("known"), "€");
        let error = Encoding::UTF8.decode(b"a\xff").expect_err("no byte of UTF-8");
        assert_eq!(error.message, "invalid byte sequence for encoding \"UTF8\": 0xff");
        assert_eq!(
            Encoding::named("johab").expect("known").decode(b"\xff").expect_err("none").sqlstate,
            "42883"
        );
    }
}
