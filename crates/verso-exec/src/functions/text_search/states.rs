//! The states of the parser and their rules, which are tried from the first to the last.

use super::parser::Kind;
use super::parser::Kind as K;

/// What a rule is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    /// The end of the text.
    End,
    Is(char),
    AsciiLetter,
    Letter,
    Digit,
    HexDigit,
    Alphanumeric,
    NotAlphanumeric,
    Space,
    /// No letter, but part of a word.
    Mark,
    UrlChar,
    /// Whatever stands within a script.
    Ignored,
    /// A host was wanted; it is no more.
    HostEnds,
    /// A host begins here.
    Host,
    /// The path of a URL begins here.
    Path,
    Any,
}

/// What becomes of the places to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    Keep,
    /// The attempt has failed.
    Pop,
    /// An attempt begins.
    Push,
    /// The attempt is more than one.
    Clear,
    ClearAll,
    /// The attempt is over; what it has read stays read.
    Merge,
}

/// What else happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    None,
    /// A script may begin or end.
    Tag,
    /// The token is read again, as a host and a path.
    AgainWithHost,
    /// The token is read again, as its parts.
    Again,
    /// The token begins anew.
    AgainFromStart,
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub on: On,
    pub found: Option<Kind>,
    pub stack: Stack,
    pub to: Option<State>,
    /// The same character is looked at again.
    pub again: bool,
    pub special: Special,
}

const PLAIN: Rule =
    Rule { on: On::Any, found: None, stack: Stack::Keep, to: None, again: false, special: Special::None };

const fn go(on: On, to: State) -> Rule {
    Rule { on, to: Some(to), ..PLAIN }
}

const fn stay(on: On) -> Rule {
    Rule { on, ..PLAIN }
}

const fn attempt(on: On, to: State) -> Rule {
    Rule { on, stack: Stack::Push, to: Some(to), ..PLAIN }
}

const fn fail(on: On) -> Rule {
    Rule { on, stack: Stack::Pop, ..PLAIN }
}

const fn commit(on: On, to: State) -> Rule {
    Rule { on, stack: Stack::Clear, to: Some(to), ..PLAIN }
}

const fn found(on: On, kind: Kind, to: State) -> Rule {
    Rule { on, found: Some(kind), to: Some(to), ..PLAIN }
}

/// A token, and the attempt that led to it is more than one.
const fn found_committed(on: On, kind: Kind, to: State) -> Rule {
    Rule { on, found: Some(kind), stack: Stack::Clear, to: Some(to), ..PLAIN }
}

/// A token, whatever was attempted.
const fn found_alone(on: On, kind: Kind, to: State) -> Rule {
    Rule { on, found: Some(kind), stack: Stack::ClearAll, to: Some(to), ..PLAIN }
}

/// A hyphenated word, whose parts come next.
const fn hyphened(on: On, kind: Kind) -> Rule {
    Rule { special: Special::Again, ..found_alone(on, kind, State::ParseHyphen) }
}

const fn tag(on: On, to: Option<State>) -> Rule {
    Rule { on, to, special: Special::Tag, ..PLAIN }
}

macro_rules! states {
    ($($state:ident: [$($rule:expr),+ $(,)?],)+) => {
        /// Where the machine is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum State {
            $($state,)+
        }

        /// The rules of a state.
        pub(super) fn rules(state: State) -> &'static [Rule] {
            use On::*;
            use State as S;
            match state {
                $(S::$state => const { &[$($rule),+] },)+
            }
        }
    };
}

states! {
    Base: [
        stay(End),
        attempt(Is('<'), S::TagFirst),
        go(Ignored, S::Space),
        go(AsciiLetter, S::AsciiWord),
        go(Letter, S::Word),
        go(Digit, S::Unsigned),
        attempt(Is('-'), S::SignedFirst),
        attempt(Is('+'), S::SignedFirst),
        attempt(Is('&'), S::EntityFirst),
        attempt(Is('~'), S::FileTilde),
        attempt(Is('/'), S::FileFirst),
        attempt(Is('.'), S::PathFirstFirst),
        go(Any, S::Space),
    ],
    NumWord: [
        found(End, K::NumWord, S::Base),
        stay(Alphanumeric),
        stay(Mark),
        attempt(Is('@'), S::Email),
        attempt(Is('/'), S::FileFirst),
        attempt(Is('.'), S::FileNext),
        attempt(Is('-'), S::HyphenNumWordFirst),
        found(Any, K::NumWord, S::Base),
    ],
    AsciiWord: [
        found(End, K::AsciiWord, S::Base),
        stay(AsciiLetter),
        attempt(Is('.'), S::HostFirstDomain),
        attempt(Is('.'), S::FileNext),
        attempt(Is('-'), S::HostFirst),
        attempt(Is('-'), S::HyphenAsciiWordFirst),
        attempt(Is('_'), S::HostFirst),
        attempt(Is('@'), S::Email),
        attempt(Is(':'), S::ProtocolFirst),
        attempt(Is('/'), S::FileFirst),
        attempt(Digit, S::HostName),
        go(Digit, S::NumWord),
        go(Letter, S::Word),
        go(Mark, S::Word),
        found(Any, K::AsciiWord, S::Base),
    ],
    Word: [
        found(End, K::Word, S::Base),
        stay(Letter),
        stay(Mark),
        go(Digit, S::NumWord),
        attempt(Is('-'), S::HyphenWordFirst),
        found(Any, K::Word, S::Base),
    ],
    Unsigned: [
        found(End, K::Unsigned, S::Base),
        stay(Digit),
        attempt(Is('.'), S::HostFirstDomain),
        attempt(Is('.'), S::UnsignedDecimalFirst),
        attempt(Is('e'), S::ExponentFirst),
        attempt(Is('E'), S::ExponentFirst),
        attempt(Is('-'), S::HostFirst),
        attempt(Is('_'), S::HostFirst),
        attempt(Is('@'), S::Email),
        attempt(AsciiLetter, S::HostName),
        go(Letter, S::NumWord),
        go(Mark, S::NumWord),
        attempt(Is('/'), S::FileFirst),
        found(Any, K::Unsigned, S::Base),
    ],
    SignedFirst: [fail(End), commit(Digit, S::Signed), fail(Any)],
    Signed: [
        found(End, K::Signed, S::Base),
        stay(Digit),
        attempt(Is('.'), S::DecimalFirst),
        attempt(Is('e'), S::ExponentFirst),
        attempt(Is('E'), S::ExponentFirst),
        found(Any, K::Signed, S::Base),
    ],
    Space: [
        found(End, K::Blank, S::Base),
        found(Is('<'), K::Blank, S::Base),
        stay(Ignored),
        found(Is('-'), K::Blank, S::Base),
        found(Is('+'), K::Blank, S::Base),
        found(Is('&'), K::Blank, S::Base),
        found(Is('/'), K::Blank, S::Base),
        stay(NotAlphanumeric),
        found(Any, K::Blank, S::Base),
    ],
    UnsignedDecimalFirst: [fail(End), commit(Digit, S::UnsignedDecimal), fail(Any)],
    UnsignedDecimal: [
        found(End, K::Decimal, S::Base),
        stay(Digit),
        attempt(Is('.'), S::VersionFirst),
        attempt(Is('e'), S::ExponentFirst),
        attempt(Is('E'), S::ExponentFirst),
        found(Any, K::Decimal, S::Base),
    ],
    DecimalFirst: [fail(End), commit(Digit, S::Decimal), fail(Any)],
    Decimal: [
        found(End, K::Decimal, S::Base),
        stay(Digit),
        attempt(Is('.'), S::SignedVersion),
        attempt(Is('e'), S::ExponentFirst),
        attempt(Is('E'), S::ExponentFirst),
        found(Any, K::Decimal, S::Base),
    ],
    // A version has no sign: that becomes a token of its own.
    SignedVersion: [
        fail(End),
        Rule { again: true, special: Special::AgainFromStart, ..go(Digit, S::VersionSign) },
        fail(Any),
    ],
    VersionSign: [fail(End), found_alone(Digit, K::Blank, S::Unsigned), stay(Any)],
    VersionFirst: [fail(End), commit(Digit, S::Version), fail(Any)],
    Version: [
        found(End, K::Version, S::Base),
        stay(Digit),
        attempt(Is('.'), S::VersionFirst),
        found(Any, K::Version, S::Base),
    ],
    ExponentFirst: [
        fail(End),
        commit(Digit, S::Exponent),
        go(Is('+'), S::ExponentSign),
        go(Is('-'), S::ExponentSign),
        fail(Any),
    ],
    ExponentSign: [fail(End), commit(Digit, S::Exponent), fail(Any)],
    Exponent: [found(End, K::Scientific, S::Base), stay(Digit), found(Any, K::Scientific, S::Base)],
    EntityFirst: [
        fail(End),
        go(Is('#'), S::EntityNumberFirst),
        go(AsciiLetter, S::Entity),
        go(Is(':'), S::Entity),
        go(Is('_'), S::Entity),
        fail(Any),
    ],
    Entity: [
        fail(End),
        stay(Alphanumeric),
        stay(Is(':')),
        stay(Is('_')),
        stay(Is('.')),
        stay(Is('-')),
        go(Is(';'), S::EntityEnd),
        fail(Any),
    ],
    EntityNumberFirst: [
        fail(End),
        go(Is('x'), S::EntityHexFirst),
        go(Is('X'), S::EntityHexFirst),
        go(Digit, S::EntityNumber),
        fail(Any),
    ],
    EntityHexFirst: [fail(End), go(HexDigit, S::EntityHex), fail(Any)],
    EntityNumber: [fail(End), stay(Digit), go(Is(';'), S::EntityEnd), fail(Any)],
    EntityHex: [fail(End), stay(HexDigit), go(Is(';'), S::EntityEnd), fail(Any)],
    EntityEnd: [found_committed(Any, K::Entity, S::Base)],
    TagFirst: [
        fail(End),
        attempt(Is('/'), S::TagCloseFirst),
        attempt(Is('!'), S::CommentFirst),
        attempt(Is('?'), S::XmlBegin),
        attempt(AsciiLetter, S::TagName),
        attempt(Is(':'), S::TagName),
        attempt(Is('_'), S::TagName),
        fail(Any),
    ],
    XmlBegin: [fail(End), go(Is('x'), S::Tag), fail(Any)],
    TagCloseFirst: [fail(End), go(AsciiLetter, S::TagName), fail(Any)],
    TagName: [
        fail(End),
        go(Is('/'), S::TagBeginEnd),
        tag(Is('>'), Some(S::TagEnd)),
        tag(Space, Some(S::Tag)),
        stay(Alphanumeric),
        stay(Is(':')),
        stay(Is('_')),
        stay(Is('.')),
        stay(Is('-')),
        fail(Any),
    ],
    TagBeginEnd: [fail(End), go(Is('>'), S::TagEnd), fail(Any)],
    Tag: [
        fail(End),
        tag(Is('>'), Some(S::TagEnd)),
        go(Is('\''), S::TagSingleQuoted),
        go(Is('"'), S::TagDoubleQuoted),
        stay(AsciiLetter),
        stay(Digit),
        stay(Is('=')),
        stay(Is('-')),
        stay(Is('_')),
        stay(Is('#')),
        stay(Is('/')),
        stay(Is(':')),
        stay(Is('.')),
        stay(Is('&')),
        stay(Is('?')),
        stay(Is('%')),
        stay(Is('~')),
        tag(Space, None),
        fail(Any),
    ],
    TagSingleQuoted: [fail(End), attempt(Is('\\'), S::TagEscaped), go(Is('\''), S::Tag), stay(Any)],
    TagDoubleQuoted: [fail(End), attempt(Is('\\'), S::TagEscaped), go(Is('"'), S::Tag), stay(Any)],
    TagEscaped: [fail(End), Rule { stack: Stack::Merge, ..PLAIN }],
    TagEnd: [found_alone(Any, K::Tag, S::Base)],
    CommentFirst: [
        fail(End),
        go(Is('-'), S::CommentLast),
        go(Is('D'), S::Tag),
        go(Is('d'), S::Tag),
        fail(Any),
    ],
    CommentLast: [fail(End), go(Is('-'), S::Comment), fail(Any)],
    Comment: [fail(End), go(Is('-'), S::CommentCloseFirst), stay(Any)],
    CommentCloseFirst: [fail(End), go(Is('-'), S::CommentCloseLast), go(Any, S::Comment)],
    CommentCloseLast: [fail(End), stay(Is('-')), go(Is('>'), S::TagEnd), go(Any, S::Comment)],
    HostFirstDomain: [
        fail(End),
        go(AsciiLetter, S::HostDomainSecond),
        go(Digit, S::HostName),
        fail(Any),
    ],
    HostDomainSecond: [
        fail(End),
        go(AsciiLetter, S::HostDomain),
        attempt(Digit, S::HostName),
        attempt(Is('-'), S::HostFirst),
        attempt(Is('_'), S::HostFirst),
        attempt(Is('.'), S::HostFirstDomain),
        attempt(Is('@'), S::Email),
        fail(Any),
    ],
    HostDomain: [
        found_alone(End, K::Host, S::Base),
        stay(AsciiLetter),
        attempt(Digit, S::HostName),
        attempt(Is(':'), S::PortFirst),
        attempt(Is('-'), S::HostFirst),
        attempt(Is('_'), S::HostFirst),
        attempt(Is('.'), S::HostFirstDomain),
        attempt(Is('@'), S::Email),
        fail(Digit),
        found_alone(HostEnds, K::Host, S::UrlPathStart),
        attempt(Is('/'), S::FullUrl),
        found_alone(Any, K::Host, S::Base),
    ],
    PortFirst: [fail(End), go(Digit, S::Port), fail(Any)],
    Port: [
        found_alone(End, K::Host, S::Base),
        stay(Digit),
        found_alone(HostEnds, K::Host, S::UrlPathStart),
        attempt(Is('/'), S::FullUrl),
        found_alone(Any, K::Host, S::Base),
    ],
    HostFirst: [fail(End), go(Digit, S::HostName), go(AsciiLetter, S::HostName), fail(Any)],
    HostName: [
        fail(End),
        stay(Digit),
        stay(AsciiLetter),
        attempt(Is('@'), S::Email),
        attempt(Is('.'), S::HostFirstDomain),
        attempt(Is('-'), S::HostFirst),
        attempt(Is('_'), S::HostFirst),
        fail(Any),
    ],
    Email: [fail(HostEnds), found_alone(Host, K::Email, S::Base), fail(Any)],
    FileFirst: [
        fail(End),
        go(AsciiLetter, S::File),
        go(Digit, S::File),
        go(Is('.'), S::PathFirst),
        go(Is('_'), S::File),
        attempt(Is('~'), S::FileTilde),
        fail(Any),
    ],
    FileTilde: [
        fail(End),
        go(AsciiLetter, S::File),
        go(Digit, S::File),
        go(Is('_'), S::File),
        go(Is('/'), S::FileFirst),
        fail(Any),
    ],
    PathFirst: [
        fail(End),
        go(AsciiLetter, S::File),
        go(Digit, S::File),
        go(Is('_'), S::File),
        go(Is('.'), S::PathSecond),
        go(Is('/'), S::FileFirst),
        fail(Any),
    ],
    PathFirstFirst: [fail(End), go(Is('.'), S::PathSecond), go(Is('/'), S::FileFirst), fail(Any)],
    PathSecond: [
        found_committed(End, K::File, S::Base),
        attempt(Is('/'), S::FileFirst),
        found_committed(Is('/'), K::File, S::Base),
        found_committed(Space, K::File, S::Base),
        fail(Any),
    ],
    File: [
        found(End, K::File, S::Base),
        stay(AsciiLetter),
        stay(Digit),
        attempt(Is('.'), S::FileNext),
        stay(Is('_')),
        stay(Is('-')),
        attempt(Is('/'), S::FileFirst),
        found(Any, K::File, S::Base),
    ],
    FileNext: [
        fail(End),
        commit(AsciiLetter, S::File),
        commit(Digit, S::File),
        commit(Is('_'), S::File),
        fail(Any),
    ],
    UrlPathFirst: [fail(End), go(UrlChar, S::UrlPath), fail(Any)],
    UrlPathStart: [go(Any, S::UrlPath)],
    UrlPath: [found(End, K::UrlPath, S::Base), stay(UrlChar), found(Any, K::UrlPath, S::Base)],
    FullUrl: [
        fail(End),
        Rule { special: Special::AgainWithHost, ..found_alone(Path, K::Url, S::Base) },
        fail(Any),
    ],
    ProtocolFirst: [fail(End), go(Is('/'), S::ProtocolSecond), fail(Any)],
    ProtocolSecond: [fail(End), go(Is('/'), S::ProtocolEnd), fail(Any)],
    ProtocolEnd: [found_alone(Any, K::Protocol, S::Base)],
    HyphenAsciiWordFirst: [
        fail(End),
        go(AsciiLetter, S::HyphenAsciiWord),
        go(Letter, S::HyphenWord),
        go(Digit, S::HyphenDigits),
        fail(Any),
    ],
    HyphenAsciiWord: [
        hyphened(End, K::AsciiHyphened),
        stay(AsciiLetter),
        go(Letter, S::HyphenWord),
        go(Mark, S::HyphenWord),
        go(Digit, S::HyphenNumWord),
        attempt(Is('-'), S::HyphenAsciiWordFirst),
        hyphened(Any, K::AsciiHyphened),
    ],
    HyphenWordFirst: [
        fail(End),
        go(Letter, S::HyphenWord),
        go(Digit, S::HyphenDigits),
        fail(Any),
    ],
    HyphenWord: [
        hyphened(End, K::Hyphened),
        stay(Letter),
        stay(Mark),
        go(Digit, S::HyphenNumWord),
        attempt(Is('-'), S::HyphenWordFirst),
        hyphened(Any, K::Hyphened),
    ],
    HyphenNumWordFirst: [
        fail(End),
        go(Letter, S::HyphenNumWord),
        go(Digit, S::HyphenDigits),
        fail(Any),
    ],
    HyphenNumWord: [
        hyphened(End, K::NumHyphened),
        stay(Alphanumeric),
        stay(Mark),
        attempt(Is('-'), S::HyphenNumWordFirst),
        hyphened(Any, K::NumHyphened),
    ],
    HyphenDigits: [
        fail(End),
        stay(Digit),
        go(Letter, S::HyphenNumWord),
        go(Mark, S::HyphenNumWord),
        fail(Any),
    ],
    ParseHyphen: [
        Rule { again: true, ..go(End, S::Base) },
        go(AsciiLetter, S::AsciiPart),
        go(Letter, S::Part),
        attempt(Digit, S::PartDigits),
        attempt(Is('-'), S::ParseHyphenHyphen),
        Rule { again: true, ..go(Any, S::Base) },
    ],
    ParseHyphenHyphen: [
        fail(End),
        found_committed(Alphanumeric, K::Blank, S::ParseHyphen),
        found_committed(Mark, K::Blank, S::ParseHyphen),
        fail(Any),
    ],
    Part: [
        found(End, K::Part, S::Base),
        stay(Letter),
        stay(Mark),
        go(Digit, S::NumPart),
        found(Any, K::Part, S::ParseHyphen),
    ],
    AsciiPart: [
        found(End, K::AsciiPart, S::Base),
        stay(AsciiLetter),
        go(Letter, S::Part),
        go(Mark, S::Part),
        go(Digit, S::NumPart),
        found(Any, K::AsciiPart, S::ParseHyphen),
    ],
    NumPart: [
        found(End, K::NumPart, S::Base),
        stay(Alphanumeric),
        stay(Mark),
        found(Any, K::NumPart, S::ParseHyphen),
    ],
    PartDigits: [
        fail(End),
        stay(Digit),
        commit(Letter, S::NumPart),
        commit(Mark, S::NumPart),
        fail(Any),
    ],
}
