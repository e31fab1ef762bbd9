//! Configurations and dictionaries: what becomes of a token.
//!
//! | dictionary | what it makes of a token |
//! |---|---|
//! | `simple` | the token in lower case |
//! | `english_stem` and its like | nothing, if that is a stop word of the language; otherwise its stem by Snowball |
//!
//! A configuration names the dictionary for words of ASCII, and that for words with other letters; the rest is `simple`'s, and
//! blanks, tags, protocols and entities are left out. Numbers are PostgreSQL's.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use tantivy_stemmers::algorithms as stem;
use verso_types::TypeError;

use super::parser::Kind;

/// Longer words are not stemmed, as in PostgreSQL.
const STEMMED_MAX: usize = 1000;
/// The dictionary `simple`, and the configuration of that name.
const SIMPLE_DICTIONARY: i64 = 3765;
const SIMPLE: i64 = 3748;

/// A language of Snowball.
struct Language {
    name: &'static str,
    /// Its configuration; the dictionary is the number before.
    config: i64,
    stem: fn(&str) -> Cow<'_, str>,
    /// What the list of stop words is called.
    stops: Option<&'static str>,
    /// Whether words of ASCII are English.
    ascii_english: bool,
}

const fn language(
    name: &'static str,
    config: i64,
    stem: fn(&str) -> Cow<'_, str>,
    stops: Option<&'static str>,
) -> Language {
    Language { name, config, stem, stops, ascii_english: false }
}

/// Where English stands in the list.
const ENGLISH: usize = 6;

static LANGUAGES: [Language; 26] = [
    language("arabic", 13_087, stem::arabic, None),
    language("armenian", 13_089, stem::armenian_mkrtchyan, None),
    language("basque", 13_091, stem::basque, None),
    language("catalan", 13_093, stem::catalan, None),
    language("danish", 13_095, stem::danish, Some("da")),
    language("dutch", 13_097, stem::dutch, Some("nl")),
    language("english", 13_099, stem::english_porter_2, Some("en")),
    language("estonian", 13_101, stem::estonian_freienthal, None),
    language("finnish", 13_103, stem::finnish, Some("fi")),
    language("french", 13_105, stem::french, Some("fr")),
    language("german", 13_107, stem::german, Some("de")),
    language("greek", 13_109, stem::greek, None),
    Language { ascii_english: true, ..language("hindi", 13_111, stem::hindi_lightweight, None) },
    language("hungarian", 13_113, stem::hungarian, Some("hu")),
    language("indonesian", 13_115, stem::indonesian_tala, None),
    language("irish", 13_117, stem::irish_gaelic, None),
    language("italian", 13_119, stem::italian, Some("it")),
    language("lithuanian", 13_121, stem::lithuanian_jocas, None),
    language("norwegian", 13_125, stem::norwegian_bokmal, Some("no")),
    language("portuguese", 13_127, stem::portuguese, Some("pt")),
    language("romanian", 13_129, stem::romanian, None),
    Language { ascii_english: true, ..language("russian", 13_131, stem::russian, Some("ru")) },
    language("spanish", 13_135, stem::spanish, Some("es")),
    language("swedish", 13_137, stem::swedish, Some("sv")),
    language("turkish", 13_141, stem::turkish_cilden, Some("tr")),
    language("yiddish", 13_143, stem::yiddish_urieli, None),
];

/// PostgreSQL's stop words of English.
const ENGLISH_STOPS: &str = "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself \
    she her hers herself it its itself they them their theirs themselves what which who whom this that these those am is \
    are was were be been being have has had having do does did doing a an the and but if or because as until while of at \
    by for with about against between into through during before after above below to from up down in out on off over \
    under again further then once here there when where why how all any both each few more most other some such no nor \
    not only own same so than too very s t can will just don should now";

/// What PostgreSQL's lists of other languages have in place of words of the lists that are built in: words that go, words
/// that come.
const CORRECTIONS: [(&str, &str, &str); 5] = [
    ("fr", "ils les", ""),
    ("de", "dass unsere unserem unseren unseres", "unse unsem unsen unses"),
    ("hu", "elsõ elõ elõször elõtt õ õk õket", "első elő először előtt ő ők őket"),
    ("pt", "estar haver ser é", ""),
    ("es", "vosotras vosotros", "vosostras vosostros"),
];

fn stop_words(code: &str) -> HashSet<&'static str> {
    if code == "en" {
        return ENGLISH_STOPS.split_whitespace().collect();
    }
    let mut words: HashSet<&str> = stop_words::lookup(code).unwrap_or_default().iter().copied().collect();
    for (_, without, with) in CORRECTIONS.iter().filter(|(of, ..)| *of == code) {
        without.split(' ').for_each(|word| {
            words.remove(word);
        });
        words.extend(with.split_whitespace());
    }
    words
}

/// A word in lower case, character by character.
pub(super) fn lower(word: &str) -> String {
    let one = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(lower), None) => lower,
            // İ, the only one that becomes two
            _ => 'i',
        }
    };
    word.chars().map(one).collect()
}

/// A dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dictionary {
    Simple,
    /// Of the language at this place.
    Stem(usize),
}

impl Dictionary {
    /// The dictionary with this number.
    ///
    /// # Errors
    /// 42704.
    pub(super) fn find(oid: i64) -> Result<Dictionary, TypeError> {
        if oid == SIMPLE_DICTIONARY {
            return Ok(Dictionary::Simple);
        }
        match LANGUAGES.iter().position(|language| language.config == oid + 1) {
            Some(at) => Ok(Dictionary::Stem(at)),
            None => Err(missing("dictionary", oid)),
        }
    }

    /// Its number.
    pub(super) fn oid(self) -> i64 {
        match self {
            Dictionary::Simple => SIMPLE_DICTIONARY,
            Dictionary::Stem(at) => LANGUAGES[at].config - 1,
        }
    }

    /// What a token becomes; none for a stop word.
    pub(super) fn lexeme(self, token: &str) -> Option<String> {
        let word = lower(token);
        let at = match self {
            _ if word.is_empty() => return None,
            Dictionary::Simple => return Some(word),
            Dictionary::Stem(at) => at,
        };
        let language = &LANGUAGES[at];
        if word.len() > STEMMED_MAX {
            return Some(word);
        }
        if let Some(code) = language.stops {
            static STOPS: [OnceLock<HashSet<&'static str>>; LANGUAGES.len()] =
                [const { OnceLock::new() }; LANGUAGES.len()];
            if STOPS[at].get_or_init(|| stop_words(code)).contains(word.as_str()) {
                return None;
            }
        }
        match (language.stem)(&word) {
            Cow::Borrowed(_) => Some(word),
            Cow::Owned(stem) => Some(stem),
        }
    }
}

#[cold]
fn missing(what: &str, oid: i64) -> TypeError {
    TypeError::new("XX000", format!("cache lookup failed for text search {what} {oid}"))
}

/// A configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    ascii: Dictionary,
    other: Dictionary,
}

impl Config {
    /// The configuration with this number.
    ///
    /// # Errors
    /// XX000 as in PostgreSQL.
    pub(super) fn find(oid: i64) -> Result<Config, TypeError> {
        if oid == SIMPLE {
            return Ok(Config { ascii: Dictionary::Simple, other: Dictionary::Simple });
        }
        let at = LANGUAGES.iter().position(|language| language.config == oid);
        let at = at.ok_or_else(|| missing("configuration", oid))?;
        let ascii = if LANGUAGES[at].ascii_english { ENGLISH } else { at };
        Ok(Config { ascii: Dictionary::Stem(ascii), other: Dictionary::Stem(at) })
    }

    /// The dictionary for tokens of a kind.
    pub(super) fn dictionary(self, kind: Kind) -> Option<Dictionary> {
        match kind {
            Kind::AsciiWord | Kind::AsciiHyphened | Kind::AsciiPart => Some(self.ascii),
            Kind::Word | Kind::Hyphened | Kind::Part => Some(self.other),
            Kind::Blank | Kind::Tag | Kind::Protocol | Kind::Entity => None,
            _ => Some(Dictionary::Simple),
        }
    }
}

/// Whether there is a configuration or a dictionary with this number: PostgreSQL's rows of others are left out.
#[must_use]
pub fn is_known(oid: i64) -> bool {
    Config::find(oid).is_ok() || Dictionary::find(oid).is_ok()
}

/// The name of a configuration that a text names, perhaps with the schema.
#[must_use]
pub fn configuration(text: &str) -> Option<&'static str> {
    let name = text.trim().to_ascii_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    let mut names = std::iter::once("simple").chain(LANGUAGES.iter().map(|language| language.name));
    names.find(|own| *own == name)
}

/// The number of the configuration that a text names.
pub(super) fn number(text: &str) -> Option<i64> {
    let name = configuration(text)?;
    Some(LANGUAGES.iter().find(|language| language.name == name).map_or(SIMPLE, |language| language.config))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn languages_are_found_by_their_numbers() {
        assert_eq!(LANGUAGES[ENGLISH].name, "english");
        for language in &LANGUAGES {
            assert!(Config::find(language.config).is_ok() && is_known(language.config - 1));
        }
        assert_eq!(stop_words("en").len(), 127);
        for (code, count) in [("fr", 155), ("de", 231), ("hu", 199), ("pt", 203), ("es", 313), ("ru", 151)] {
            let words = stop_words(code).len();
            assert!(words <= count && words + 5 > count, "{code}: {words}");
        }
        let english = Dictionary::Stem(ENGLISH);
        assert_eq!(english.lexeme("Skies").as_deref(), Some("sky"));
        assert_eq!(english.lexeme("The"), None);
    }

    proptest! {
        #[test]
        fn any_word_has_a_stem(word in "\\PC{0,16}", letters in "[a-zäöüßéèçğışñ]{0,12}") {
            for at in 0..LANGUAGES.len() {
                let _ = Dictionary::Stem(at).lexeme(&word);
                let _ = Dictionary::Stem(at).lexeme(&letters);
            }
        }
    }
}
