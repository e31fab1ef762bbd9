//! A headline of one run: the best of the covers, made as long as it should be.

use super::options::Options;
use super::shown::{Headline, Run};
use crate::context::EvalContext;
use crate::error::Result;

impl Headline<'_, '_> {
    /// One run: the best of the covers, made as long as it should be.
    pub(super) fn show_one(&mut self, cx: &EvalContext<'_>) -> Result<()> {
        if self.options.highlight_all {
            if let Some(end) = self.words.len().checked_sub(1) {
                self.show(Run { begin: 0, end });
            }
            return Ok(());
        }
        let mut from = 0;
        let mut best: Option<(Run, i32, bool)> = None;
        while let Some(cover) = self.cover(cx, &mut from)? {
            let (run, words) = self.fitted(cover);
            let whole = run.begin <= cover.begin && run.end >= cover.end;
            let better = match &best {
                None => true,
                Some((_, _, best_whole)) if whole != *best_whole => whole,
                Some((_, best_words, _)) if words != *best_words => words > *best_words,
                Some((best_run, ..)) => !self.ends_badly(run.end) && self.ends_badly(best_run.end),
            };
            if better {
                best = Some((run, words, whole));
            }
        }
        match best {
            Some((run, ..)) => self.show(run),
            None => self.show_beginning(),
        }
        Ok(())
    }

    /// A cover with as many words as a headline should have, and how many of them are looked for.
    fn fitted(&self, cover: Run) -> (Run, i32) {
        let Options { max_words, min_words, .. } = *self.options;
        let (mut length, mut wanted) = (0, 0);
        let mut run = Run { begin: cover.begin, end: cover.begin };
        let mut at = cover.begin;
        while at <= cover.end && length < max_words {
            let (counted, interesting) = self.count(at);
            length += counted;
            wanted += interesting;
            run.end = at;
            at += 1;
        }
        if length < max_words {
            // Lengthened to the right up to a good end, the last word looked at again.
            at -= 1;
            while at < self.words.len() && length < max_words {
                if at > cover.end {
                    let (counted, interesting) = self.count(at);
                    length += counted;
                    wanted += interesting;
                }
                run.end = at;
                if !self.ends_badly(at) && length >= min_words {
                    break;
                }
                at += 1;
            }
            if length < min_words {
                // The text has ended: lengthened to the left.
                let mut begin = cover.begin;
                while begin > 0 {
                    begin -= 1;
                    let (counted, interesting) = self.count(begin);
                    length += counted;
                    wanted += interesting;
                    if length >= max_words || (!self.ends_badly(begin) && length >= min_words) {
                        break;
                    }
                }
                run.begin = begin;
            }
            return (run, wanted);
        }
        // Shortened to a good end.
        at = at.min(cover.end);
        while length > min_words && self.ends_badly(at) {
            let (counted, interesting) = self.count(at);
            length -= counted;
            wanted -= interesting;
            let Some(before) = at.checked_sub(1) else { break };
            run.end = before;
            at = before;
        }
        (run, wanted)
    }
}
