//! One statement to be run, and how it ended.

use verso_types::Value;

use crate::client::CommandTag;
use crate::plans::Prepared;
use verso_parser::syntax::{Parsed, Span, Statement};

/// How much of a statement's text others are shown.
const SHOWN_TEXT_MAX: usize = 1_024;

/// A statement to be run.
#[derive(Clone, Copy)]
pub struct Job<'j> {
    pub(crate) statement: &'j Statement,
    /// The text it is a part of, and its place there.
    pub(crate) sql: &'j str,
    pub(crate) at: Span,
    pub(crate) params: &'j [Value],
    /// Instead of `params`: it runs once for each of these.
    pub(crate) sets: Option<&'j [Vec<Value>]>,
    /// Where its plan is kept; the parameters are of its types.
    pub(crate) prepared: Option<&'j Prepared>,
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
            params,
            sets: None,
            prepared: None,
            shows: false,
            ends: false,
        }
    }

    /// One execution of a prepared statement; none if it is empty.
    pub(crate) fn prepared(prepared: &'j Prepared, params: &'j [Value]) -> Option<Job<'j>> {
        let parsed = prepared.parsed.as_ref()?;
        Some(Job { prepared: Some(prepared), shows: true, ..Job::of(parsed, prepared.text(), params) })
    }

    /// The text others are shown.
    pub(crate) fn shown(&self) -> &'j str {
        let (start, end) = (self.at.start as usize, self.at.end as usize);
        let end = end.min(start + SHOWN_TEXT_MAX).min(self.sql.len());
        if self.sql.is_ascii() {
            return self.sql.get(start..end).unwrap_or_default();
        }
        let byte = |n: usize| self.sql.char_indices().nth(n).map_or(self.sql.len(), |(byte, _)| byte);
        self.sql.get(byte(start)..byte(end)).unwrap_or_default()
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
