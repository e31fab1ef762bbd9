//! One statement to be run, and how it ended.

use std::sync::Arc;

use verso_types::Value;

use crate::client::CommandTag;
use crate::plans::Prepared;
use crate::tracked::TEXT_BYTES_MAX;
use verso_parser::syntax::{Fingerprint, Parsed, Span, Statement};

/// How much of a statement's text others are shown.
const SHOWN_TEXT_MAX: usize = 1_024;

/// What a statement is apart from its constants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Identity<'j> {
    /// Of the text that the job has.
    OfText(&'j Fingerprint),
    /// Its number and its text, put together when it was prepared.
    Kept(&'j (i64, Arc<str>)),
}

impl Identity<'_> {
    /// Its number.
    #[inline]
    pub(crate) fn id(self) -> i64 {
        match self {
            Identity::OfText(fingerprint) => fingerprint.id,
            Identity::Kept((id, _)) => *id,
        }
    }

    /// Of EXPLAIN: the number of what it explains.
    pub(crate) fn explained(self) -> Option<i64> {
        match self {
            Identity::OfText(fingerprint) => {
                fingerprint.explained.or(Some(fingerprint.id)).filter(|id| *id != 0)
            }
            Identity::Kept((id, _)) => Some(*id),
        }
    }

    /// Its text with parameters for its constants; `sql` is what it was parsed from.
    pub(crate) fn text(self, sql: &str) -> String {
        match self {
            Identity::OfText(fingerprint) => fingerprint.normalized(sql, TEXT_BYTES_MAX),
            Identity::Kept((_, text)) => text.to_string(),
        }
    }
}

/// A statement to be run.
#[derive(Clone, Copy)]
pub struct Job<'j> {
    pub(crate) statement: &'j Statement,
    /// The text it is a part of, and its place there.
    pub(crate) sql: &'j str,
    pub(crate) at: Span,
    /// Where that begins in bytes, as far as it is known: to find it means to read the text up to there.
    pub(crate) byte: Option<usize>,
    pub(crate) identity: Identity<'j>,
    pub(crate) params: &'j [Value],
    /// Instead of `params`: it runs once for each of these.
    pub(crate) sets: Option<&'j [Vec<Value>]>,
    /// Where its plan is kept; the parameters are of its types.
    pub(crate) prepared: Option<&'j Prepared>,
    /// EXPLAIN EXECUTE shows the plan for any values.
    pub(crate) generic: bool,
    /// Others are shown the prepared statement's text.
    pub(crate) shows: bool,
    /// The implicit block ends with it.
    pub(crate) ends: bool,
}

impl<'j> Job<'j> {
    /// A statement of a text.
    pub(crate) fn of(parsed: &'j Parsed, sql: &'j str, params: &'j [Value]) -> Job<'j> {
        Job {
            statement: &parsed.statement,
            sql,
            at: parsed.at,
            byte: None,
            identity: Identity::OfText(&parsed.fingerprint),
            params,
            sets: None,
            prepared: None,
            generic: false,
            shows: false,
            ends: false,
        }
    }

    /// One execution of a prepared statement; none if it is empty.
    pub(crate) fn prepared(prepared: &'j Prepared, params: &'j [Value]) -> Option<Job<'j>> {
        let parsed = prepared.parsed.as_ref()?;
        let job = Job { prepared: Some(prepared), shows: true, ..Job::of(parsed, prepared.text(), params) };
        Some(Job { identity: prepared.identity().unwrap_or(job.identity), ..job })
    }

    /// The text others are shown.
    pub(crate) fn shown(&self) -> &'j str {
        let rest = self.rest();
        let length = self.at.end.saturating_sub(self.at.start) as usize;
        &rest[..byte_of(rest, length.min(SHOWN_TEXT_MAX))]
    }

    /// The text from its beginning on.
    fn rest(&self) -> &'j str {
        &self.sql[self.byte.unwrap_or_else(|| byte_of(self.sql, self.at.start as usize))..]
    }

    /// Whether others are shown only the beginning of it.
    pub(crate) fn is_cut(&self) -> bool {
        let length = self.at.end.saturating_sub(self.at.start) as usize;
        length > SHOWN_TEXT_MAX && self.rest().len() > self.shown().len()
    }
}

/// Where a character of a text begins; its end, where it has not so many.
fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte)
}

/// Places in a text, asked for in ascending order: each character is looked at once.
pub(crate) struct Places<'t> {
    text: &'t str,
    character: usize,
    byte: usize,
}

impl<'t> Places<'t> {
    pub(crate) fn of(text: &'t str) -> Places<'t> {
        Places { text, character: 0, byte: 0 }
    }

    /// Where a character begins in bytes.
    pub(crate) fn byte_of(&mut self, character: usize) -> usize {
        self.byte += byte_of(&self.text[self.byte..], character.saturating_sub(self.character));
        self.character = self.character.max(character);
        self.byte
    }
}

/// How a statement ended. A tag is put together only where somebody wants it.
#[derive(Debug)]
pub enum Done {
    /// With this tag.
    Tag(CommandTag),
    /// With so many rows.
    Rows(&'static str, u64),
}

impl Done {
    /// Rows returned or changed.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Done::Tag(tag) => tag.rows,
            Done::Rows(_, rows) => *rows,
        }
    }

    pub(crate) fn into_tag(self) -> CommandTag {
        match self {
            Done::Tag(tag) => tag,
            Done::Rows(word, rows) => CommandTag::counted(word, rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_ascending_order_are_those_that_each_has_by_itself() {
        let text = "é;a; ✓ b;c";
        let mut places = Places::of(text);
        for character in [0, 1, 1, 3, 5, 8, 9, 20] {
            assert_eq!(places.byte_of(character), byte_of(text, character), "{character}");
        }
    }
}
