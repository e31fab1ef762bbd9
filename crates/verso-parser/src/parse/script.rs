//! A text of any number of statements. The trees of the first ones are kept; those of others are made again when they
//! are taken, since a tree takes a hundred times its text.

use std::ops::Range;

use super::cursor::{NAME_BYTES_MAX, truncate};
use super::lexer::{Lexeme, Token};
use super::source::Source;
use super::{parsed, statements_of};
use crate::error::SyntaxError;
use crate::syntax::{Parsed, Statement};

/// Trees of so many statements are kept.
const KEPT: usize = 64;

/// A text whose statements are executed one after the other.
pub struct Script<'s> {
    source: Source<'s>,
    /// The tokens of each statement.
    statements: Vec<Range<usize>>,
    /// The trees of the first ones, none of those that were taken.
    kept: Vec<Option<Parsed>>,
}

impl<'s> Script<'s> {
    /// Reads a text; `visit` meets each statement. Nothing of it is to be executed if any of it is wrong.
    ///
    /// # Errors
    /// Those of the syntax, of any statement.
    pub fn read(text: &'s str, visit: &mut dyn FnMut(&Statement)) -> Result<Script<'s>, SyntaxError> {
        let source = Source::new(text)?;
        let statements = statements_of(&source);
        let mut kept = Vec::new();
        for tokens in &statements {
            let parsed = parsed(&source, tokens)?;
            visit(&parsed.statement);
            if kept.len() < KEPT {
                kept.push(Some(parsed));
            }
        }
        Ok(Script { source, statements, kept })
    }

    /// Where each statement stands in the text, in bytes.
    pub fn places(&self) -> Vec<Range<usize>> {
        let tokens = self.source.tokens();
        let place = |statement: &Range<usize>| {
            tokens[statement.start].start as usize..tokens[statement.end - 1].end as usize
        };
        self.statements.iter().map(place).collect()
    }

    /// Names that are longer than names are: each as it is written and as it is taken, in their order.
    #[must_use]
    pub fn cut_names(&self) -> Vec<(String, String)> {
        let long = |lexeme: &&Lexeme| (lexeme.end - lexeme.start) as usize > NAME_BYTES_MAX;
        let names = self.source.tokens().iter().filter(long).filter_map(|lexeme| match lexeme.token {
            Token::Word(_) => Some(self.source.written(lexeme).to_ascii_lowercase()),
            Token::Quoted(text) => Some(self.source.meaning(text).to_owned()),
            _ => None,
        });
        let too_long = names.filter(|name| name.len() > NAME_BYTES_MAX);
        too_long.map(|name| (name.clone(), truncate(name))).collect()
    }

    /// How many statements there are.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// The statement with this number, from 0; each is taken once.
    ///
    /// # Errors
    /// None that [`Script::read`] has not met.
    ///
    /// # Panics
    /// Where there is no such statement.
    pub fn take(&mut self, number: usize) -> Result<Parsed, SyntaxError> {
        match self.kept.get_mut(number).and_then(Option::take) {
            Some(parsed) => Ok(parsed),
            None => parsed(&self.source, &self.statements[number]),
        }
    }
}
