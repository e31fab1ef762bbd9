//! A document of which some runs of words are shown: where the query matches, and what is written then.

use verso_types::text_search::matching::{Flags, Matches, Places};
use verso_types::text_search::{Operand, TsQuery};

use super::options::Options;
use super::words::{Word, hidden, look};
use crate::context::EvalContext;
use crate::error::Result;

/// A document with what is looked for.
pub(super) struct Headline<'t, 'q> {
    pub(super) words: Vec<Word<'t>>,
    pub(super) query: &'q TsQuery,
    /// Where the parts of the query are that must be there.
    pub(super) locations: Vec<Places>,
    pub(super) options: &'q Options,
}

/// A run of words, both ends included.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl Headline<'_, '_> {
    /// The next shortest run that the query matches, from a place on; the place from which to go on.
    pub(super) fn cover(&self, cx: &EvalContext<'_>, from: &mut i32) -> Result<Option<Run>> {
        let mut place = *from;
        loop {
            cx.runtime.check_cancelled()?;
            let mut end = -1;
            for part in &self.locations {
                let first = part.places.iter().map(|at| i32::from(*at)).find(|at| *at >= place);
                let Some(first) = first else { return Ok(None) };
                end = end.max(first);
            }
            if end < 0 {
                return Ok(None);
            }
            let mut begin = i32::MAX - 1;
            for part in &self.locations {
                let starts = part.places.iter().rev().map(|at| i32::from(*at) - part.width as i32);
                begin = begin.min(starts.into_iter().find(|start| *start <= end).unwrap_or(-1));
            }
            let begin = begin.max(place);
            if begin <= end
                && let Some(run) = self.run(begin, end)
            {
                let inner = &self.words[run.begin..=run.end];
                let mut find = |n: usize, _: &Operand, places: Option<&mut Vec<u16>>| look(inner, n, places);
                if self.query.matches(Flags::default(), &mut find) != Matches::No {
                    *from = begin + 1;
                    return Ok(Some(run));
                }
            }
            place = begin + 1;
        }
    }

    /// The words of the query between two places.
    fn run(&self, begin: i32, end: i32) -> Option<Run> {
        let (mut first, mut last) = (None, None);
        for (n, word) in self.words.iter().enumerate().filter(|(_, word)| word.item.is_some()) {
            let place = i32::from(word.place);
            if first.is_none() && place >= begin {
                first = Some(n);
            }
            if place > end {
                break;
            }
            last = Some(n);
        }
        let run = Run { begin: first?, end: last? };
        (run.begin <= run.end).then_some(run)
    }

    pub(super) fn ends_badly(&self, at: usize) -> bool {
        self.words.get(at).is_none_or(|word| word.ends_badly(self.options.short_word))
    }

    /// How many words there are at a place, and how many that are looked for.
    pub(super) fn count(&self, at: usize) -> (i32, i32) {
        let word = &self.words[at];
        (word.counts().into(), word.is_interesting().into())
    }

    /// Marks a run as shown.
    pub(super) fn show(&mut self, run: Run) {
        let all = self.options.highlight_all;
        for word in self.words.get_mut(run.begin..=run.end).unwrap_or_default() {
            word.selected |= word.item.is_some();
            let (blanked, skipped) = hidden(word.kind);
            word.blanked |= blanked && !all;
            word.skipped |= skipped;
            word.shown = !word.repeated;
        }
    }

    /// The first words, where nothing was found.
    pub(super) fn show_beginning(&mut self) {
        let mut count = 0;
        let mut end = None;
        for at in 0..self.words.len() {
            if count >= self.options.min_words {
                break;
            }
            count += self.count(at).0;
            end = Some(at);
        }
        if let Some(end) = end {
            self.show(Run { begin: 0, end });
        }
    }

    /// What is shown, as text.
    pub(super) fn text(&self) -> String {
        let Options { start, stop, delimiter, .. } = self.options;
        let mut out = String::new();
        let (mut within, mut fragments) = (false, 0);
        for word in self.words.iter().filter(|word| !word.repeated) {
            if !word.shown {
                within = false;
                continue;
            }
            if !within {
                within = true;
                fragments += 1;
                if fragments > 1 {
                    out.push_str(delimiter);
                }
            }
            match word {
                Word { blanked: true, .. } => out.push(' '),
                Word { skipped: true, .. } => {}
                Word { selected: true, text, .. } => out.extend([start.as_str(), text, stop]),
                Word { text, .. } => out.push_str(text),
            }
        }
        out
    }
}
