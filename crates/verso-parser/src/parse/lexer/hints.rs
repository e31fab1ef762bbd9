//! Hints: comments behind the first word of a query or change, or in front of the statement.

use super::{Lexeme, Lexer, Token};
use crate::syntax::{Hint, Span};

/// The words behind which hints stand.
const QUERY_WORDS: [&str; 5] = ["select", "insert", "update", "delete", "merge"];

impl Lexer<'_> {
    /// Whether hints may stand here: behind the first word of a query or change.
    pub(super) fn takes_hints(&self) -> bool {
        let Some(last) = self.out.tokens.last() else { return false };
        matches!(last.token, Token::Word(_)) && is_query_word(self.text, last)
    }

    /// Keeps a hint, if one may stand where it does.
    pub(super) fn hint(&mut self, start: usize, from: usize, to: usize) {
        let early = !self.has_query && self.open.is_empty();
        let takes = self.takes_hints();
        if (takes || early) && from <= to {
            let at = Span { start: self.character(start), end: self.character(self.at) };
            let hint = Hint { text: self.text[from..to].trim().to_string(), at };
            match takes {
                true => self.out.hints.push((self.out.tokens.len(), hint)),
                false => self.early.push(hint),
            }
        }
    }

    /// A word outside of parentheses, before any query of the statement: behind the first word of one stand the hints that came
    /// before it.
    pub(super) fn first_words(&mut self, word: &Lexeme) {
        if is_query_word(self.text, word) {
            self.has_query = true;
            let place = self.out.tokens.len() + 1;
            self.out.hints.extend(self.early.drain(..).map(|hint| (place, hint)));
        }
    }
}

fn is_query_word(text: &str, lexeme: &Lexeme) -> bool {
    let word = &text[lexeme.start as usize..lexeme.end as usize];
    QUERY_WORDS.iter().any(|first| word.eq_ignore_ascii_case(first))
}
