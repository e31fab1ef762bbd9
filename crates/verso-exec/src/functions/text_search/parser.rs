//! PostgreSQL's default parser: texts as tokens of 23 kinds.
//!
//! A machine with a stack of places to go back to. Each state has [rules](super::states) that are tried in order; a rule may
//! *attempt* another state, which either finds a token or fails, and then the rules behind the attempt go on from where it began.
//!
//! 1. Every token is a part of the text, and together they are all of it, but for parts that are found twice: a hyphenated
//!    word and its parts, a URL and its host and path.
//! 2. The machine calls itself for hosts and paths only, [`DEPTH_MAX`] times at most.

use super::states::{On, Rule, Special, Stack, State, rules};

/// How often a host may be looked for within a host.
const DEPTH_MAX: usize = 64;

/// What a token is. The numbers are PostgreSQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    AsciiWord = 1,
    Word = 2,
    NumWord = 3,
    Email = 4,
    Url = 5,
    Host = 6,
    Scientific = 7,
    Version = 8,
    NumPart = 9,
    Part = 10,
    AsciiPart = 11,
    Blank = 12,
    Tag = 13,
    Protocol = 14,
    NumHyphened = 15,
    AsciiHyphened = 16,
    Hyphened = 17,
    UrlPath = 18,
    File = 19,
    Decimal = 20,
    Signed = 21,
    Unsigned = 22,
    Entity = 23,
}

impl Kind {
    pub(super) const ALL: [Kind; 23] = [
        Kind::AsciiWord,
        Kind::Word,
        Kind::NumWord,
        Kind::Email,
        Kind::Url,
        Kind::Host,
        Kind::Scientific,
        Kind::Version,
        Kind::NumPart,
        Kind::Part,
        Kind::AsciiPart,
        Kind::Blank,
        Kind::Tag,
        Kind::Protocol,
        Kind::NumHyphened,
        Kind::AsciiHyphened,
        Kind::Hyphened,
        Kind::UrlPath,
        Kind::File,
        Kind::Decimal,
        Kind::Signed,
        Kind::Unsigned,
        Kind::Entity,
    ];

    /// Its short name, and what it is.
    pub(super) fn facts(self) -> (&'static str, &'static str) {
        match self {
            Kind::AsciiWord => ("asciiword", "Word, all ASCII"),
            Kind::Word => ("word", "Word, all letters"),
            Kind::NumWord => ("numword", "Word, letters and digits"),
            Kind::Email => ("email", "Email address"),
            Kind::Url => ("url", "URL"),
            Kind::Host => ("host", "Host"),
            Kind::Scientific => ("sfloat", "Scientific notation"),
            Kind::Version => ("version", "Version number"),
            Kind::NumPart => ("hword_numpart", "Hyphenated word part, letters and digits"),
            Kind::Part => ("hword_part", "Hyphenated word part, all letters"),
            Kind::AsciiPart => ("hword_asciipart", "Hyphenated word part, all ASCII"),
            Kind::Blank => ("blank", "Space symbols"),
            Kind::Tag => ("tag", "XML tag"),
            Kind::Protocol => ("protocol", "Protocol head"),
            Kind::NumHyphened => ("numhword", "Hyphenated word, letters and digits"),
            Kind::AsciiHyphened => ("asciihword", "Hyphenated word, all ASCII"),
            Kind::Hyphened => ("hword", "Hyphenated word, all letters"),
            Kind::UrlPath => ("url_path", "URL path"),
            Kind::File => ("file", "File or path name"),
            Kind::Decimal => ("float", "Decimal notation"),
            Kind::Signed => ("int", "Signed integer"),
            Kind::Unsigned => ("uint", "Unsigned integer"),
            Kind::Entity => ("entity", "XML entity"),
        }
    }
}

/// A place in the text, and what is to be done there.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    /// Bytes of the token so far.
    length: usize,
    state: State,
    /// The rule to begin with.
    rule: usize,
}

/// A text on its way to tokens.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    text: &'t str,
    place: Place,
    /// Where attempts began.
    stack: Vec<Place>,
    /// Within `<script>` or `<style>`.
    ignores: bool,
    /// A host ends before a path.
    wants_host: bool,
    depth: usize,
}

/// Letters as most locales have them, and digits of other scripts, which no number begins with.
fn is_letter(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphabetic(),
        false => c.is_alphabetic() || (c >= '\u{660}' && c.is_numeric()),
    }
}

/// What no word ends at, though it is no letter: marks that take no room of their own.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && unicode_width::UnicodeWidthChar::width(c) == Some(0)
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Parser<'t> {
        Parser::within(text, State::Base, 0)
    }

    fn within(text: &'t str, state: State, depth: usize) -> Parser<'t> {
        let place = Place { at: 0, length: 0, state, rule: 0 };
        Parser { text, place, stack: Vec::new(), ignores: false, wants_host: false, depth }
    }

    fn char(&self) -> Option<char> {
        self.text[self.place.at..].chars().next()
    }

    /// Whether a rule is for what stands here. Looking for a host or a path goes behind it.
    fn holds(&mut self, on: On) -> bool {
        let c = self.char();
        match on {
            On::End => c.is_none(),
            On::Is(wanted) => c == Some(wanted),
            On::AsciiLetter => c.is_some_and(|c| c.is_ascii_alphabetic()),
            On::Letter => c.is_some_and(is_letter),
            On::Digit => c.is_some_and(|c| c.is_ascii_digit()),
            On::HexDigit => c.is_some_and(|c| c.is_ascii_hexdigit()),
            On::Alphanumeric => c.is_some_and(|c| is_letter(c) || c.is_ascii_digit()),
            On::NotAlphanumeric => c.is_none_or(|c| !is_letter(c) && !c.is_ascii_digit()),
            On::Space => c.is_some_and(char::is_whitespace),
            On::Mark => c.is_some_and(is_mark),
            On::UrlChar => c.is_some_and(|c| {
                c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
            }),
            On::Ignored => self.ignores,
            On::HostEnds => std::mem::take(&mut self.wants_host),
            On::Host => self.takes(State::Base, true, &[Kind::Host]),
            On::Path => self.takes(State::UrlPathFirst, false, &[Kind::UrlPath]),
            On::Any => true,
        }
    }

    /// Goes behind a token of one of these kinds, if one begins here.
    fn takes(&mut self, state: State, wants_host: bool, kinds: &[Kind]) -> bool {
        if self.depth >= DEPTH_MAX {
            return false;
        }
        let mut inner = Parser::within(&self.text[self.place.at..], state, self.depth + 1);
        inner.wants_host = wants_host;
        if state == State::UrlPathFirst {
            // A failed path goes back to the usual tokens, none of which is a path.
            inner.stack.push(Place { at: 0, length: 0, state: State::Base, rule: 0 });
        }
        let Some((kind, token)) = inner.next() else { return false };
        let found = kinds.contains(&kind);
        if found {
            self.place.at += token.len();
            self.place.length += token.len();
        }
        found
    }

    fn special(&mut self, special: Special, start: usize) {
        let place = &mut self.place;
        match special {
            Special::None => {}
            Special::Tag => {
                let tag = &self.text[start..place.at];
                for (name, ignores) in
                    [("<script", true), ("</script", false), ("<style", true), ("</style", false)]
                {
                    if tag.eq_ignore_ascii_case(name) {
                        self.ignores = ignores;
                    }
                }
            }
            Special::AgainWithHost => {
                self.wants_host = true;
                place.at -= place.length;
            }
            Special::Again => place.at -= place.length,
            Special::AgainFromStart => {
                place.at -= place.length;
                place.length = 0;
            }
        }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Option<(Kind, &'t str)> {
        let start = self.place.at;
        if start >= self.text.len() {
            return None;
        }
        self.place.rule = 0;
        loop {
            let rules = rules(self.place.state);
            let first = std::mem::take(&mut self.place.rule);
            let found = (first..rules.len()).find(|n| self.holds(rules[*n].on))?;
            let Rule { found: kind, stack, to, again, special, .. } = rules[found];
            self.special(special, start);
            let length = self.place.length;
            if kind.is_some() {
                self.place.length = 0;
            }
            match stack {
                Stack::Keep => {}
                Stack::Pop => self.place = self.stack.pop()?,
                Stack::Push => self.stack.push(Place { rule: found + 1, ..self.place }),
                Stack::Clear => {
                    self.stack.pop();
                }
                Stack::ClearAll => self.stack.clear(),
                Stack::Merge => {
                    let before = self.stack.pop()?;
                    self.place = Place { at: self.place.at, length: self.place.length, ..before };
                }
            }
            if let Some(state) = to {
                self.place.state = state;
            }
            if let Some(kind) = kind {
                // No later token goes back behind this one.
                self.stack.clear();
                return Some((kind, self.text.get(start..start + length)?));
            }
            if self.place.at >= self.text.len() && !again {
                return None;
            }
            if !again && stack != Stack::Pop {
                let width = self.char().map_or(0, char::len_utf8);
                self.place.at += width;
                self.place.length += width;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Parser;

    proptest! {
        #[test]
        fn any_text_is_taken_apart(text in ".{0,60}", other in "[a1 .@/:<>&;#x\\-_é'\"~=+]{0,60}") {
            for text in [text, other] {
                let mut parser = Parser::new(&text);
                let mut count = 0;
                while let Some((_, token)) = parser.next() {
                    prop_assert!(text.contains(token));
                    count += 1;
                    prop_assert!(count <= 8 * text.len() + 8);
                }
            }
        }
    }
}
