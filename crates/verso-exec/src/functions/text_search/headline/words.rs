//! The words of a document, those of a query marked.

use verso_types::text_search::matching::Matches;
use verso_types::text_search::{LEXEME_MAX, Operand, POSITION_MAX, TsQuery};

use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::text_search::config::Config;
use crate::functions::text_search::documents::too_long;
use crate::functions::text_search::parser::{Kind, Parser};

/// Tokens between two looks at whether the statement is cancelled.
const STEP: usize = 1 << 10;

/// A token of the document.
#[derive(Clone)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    pub(super) kind: Kind,
    /// The place of its lexeme.
    pub(super) place: u16,
    /// The operand of the query that it is.
    pub(super) item: Option<usize>,
    /// The same word once more, for another operand.
    pub(super) repeated: bool,
    pub(super) selected: bool,
    pub(super) shown: bool,
    pub(super) blanked: bool,
    pub(super) skipped: bool,
}

impl Word<'_> {
    pub(super) fn counts(&self) -> bool {
        let (blanked, skipped) = hidden(self.kind);
        !(self.kind == Kind::Blank || blanked || skipped)
    }

    pub(super) fn is_interesting(&self) -> bool {
        self.item.is_some() && !self.repeated
    }

    /// Whether no headline should end here.
    pub(super) fn ends_badly(&self, short_word: i32) -> bool {
        let unwanted = !self.counts()
            || matches!(
                self.kind,
                Kind::Scientific
                    | Kind::Version
                    | Kind::Decimal
                    | Kind::Signed
                    | Kind::Unsigned
                    | Kind::Protocol
                    | Kind::Entity
            );
        let short = usize::try_from(short_word).is_ok_and(|short| self.text.len() <= short);
        (unwanted || short) && !self.is_interesting()
    }
}

/// Whether a blank stands for such a token, and whether it is left out, as its parts follow.
pub(super) fn hidden(kind: Kind) -> (bool, bool) {
    let whole = matches!(kind, Kind::Url | Kind::NumHyphened | Kind::AsciiHyphened | Kind::Hyphened);
    (kind == Kind::Tag, whole)
}

/// The words of a document, those of a query marked.
pub(super) fn words<'t>(
    cx: &EvalContext<'_>,
    config: Config,
    text: &'t str,
    query: &TsQuery,
) -> Result<Vec<Word<'t>>> {
    let operands: Vec<(usize, &Operand)> = query
        .items()
        .iter()
        .enumerate()
        .filter_map(|(n, item)| match item {
            verso_types::text_search::Item::Operand(operand) => Some((n, operand)),
            _ => None,
        })
        .collect();
    let mut held = cx.services.memory.account.reserve("a headline", u64::MAX);
    let mut words: Vec<Word<'t>> = Vec::new();
    let mut place = 0u16;
    let mut parser = Parser::new(text);
    let mut tokens = 0;
    while let Some((kind, token)) = parser.next() {
        tokens += 1;
        if tokens % STEP == 0 {
            cx.runtime.check_cancelled()?;
            held.resize((2 * words.len() * size_of::<Word<'_>>()) as u64)?;
        }
        if token.len() >= LEXEME_MAX {
            too_long(cx)?;
            continue;
        }
        let at = words.len();
        words.push(Word {
            text: token,
            kind,
            place: 0,
            item: None,
            repeated: false,
            selected: false,
            shown: false,
            blanked: false,
            skipped: false,
        });
        let Some(dictionary) = config.dictionary(kind) else { continue };
        place = place.saturating_add(1).min(POSITION_MAX);
        let Some(lexeme) = dictionary.lexeme(token) else { continue };
        words[at].place = place;
        for (n, operand) in &operands {
            let fits = match operand.prefix {
                true => lexeme.as_bytes().starts_with(operand.word.as_bytes()),
                false => *operand.word == *lexeme,
            };
            match (fits, words[at].item) {
                (false, _) => {}
                (true, None) => words[at].item = Some(*n),
                (true, Some(_)) => {
                    let again = Word { item: Some(*n), repeated: true, ..words[at].clone() };
                    words.push(again);
                }
            }
        }
    }
    Ok(words)
}

/// Where an operand stands among some of the words.
pub(super) fn look(words: &[Word<'_>], n: usize, places: Option<&mut Vec<u16>>) -> Matches {
    let mut found = words.iter().filter(|word| word.item == Some(n));
    let Some(places) = places else {
        return if found.next().is_some() { Matches::Yes } else { Matches::No };
    };
    for word in found {
        if places.last().is_none_or(|last| *last < word.place) {
            places.push(word.place);
        }
    }
    if places.is_empty() { Matches::No } else { Matches::Yes }
}
