//! A headline of several runs: the covers with the most words of the query, cut and stretched.

use super::shown::{Headline, Run};
use crate::context::EvalContext;
use crate::error::Result;

/// A piece of a cover.
struct Fragment {
    run: Run,
    /// Words, and words that are looked for.
    length: i32,
    wanted: i32,
    /// Shown already, or in the way of one that is.
    taken: bool,
}

impl Headline<'_, '_> {
    /// Several runs: the covers with the most words of the query, cut to what is allowed and stretched.
    pub(super) fn show_fragments(&mut self, cx: &EvalContext<'_>) -> Result<()> {
        let mut fragments = self.fragments(cx)?;
        let mut shown = 0;
        for _ in 0..self.options.max_fragments {
            let mut best: Option<usize> = None;
            for (n, fragment) in fragments.iter().enumerate().filter(|(_, fragment)| !fragment.taken) {
                let (most, fewest) = best
                    .map_or((0, i32::MAX), |best: usize| (fragments[best].wanted, fragments[best].length));
                if most < fragment.wanted || (most == fragment.wanted && fewest > fragment.length) {
                    best = Some(n);
                }
            }
            let Some(best) = best else { break };
            let run = self.stretched(&fragments[best]);
            self.show(run);
            shown += 1;
            for (n, fragment) in fragments.iter_mut().enumerate() {
                let Run { begin, end } = fragment.run;
                let overlaps = (run.begin..=run.end).contains(&begin)
                    || (run.begin..=run.end).contains(&end)
                    || (begin < run.begin && end > run.end);
                fragment.taken |= n == best || overlaps;
            }
        }
        if shown == 0 {
            self.show_beginning();
        }
        Ok(())
    }

    /// All covers, cut into pieces that are short enough and have words of the query at both ends.
    fn fragments(&self, cx: &EvalContext<'_>) -> Result<Vec<Fragment>> {
        let mut list = Vec::new();
        let mut from = 0;
        while let Some(cover) = self.cover(cx, &mut from)? {
            let mut begin = cover.begin;
            while begin <= cover.end {
                let fragment = self.piece(Run { begin, end: cover.end });
                begin = fragment.run.end + 1;
                list.push(fragment);
            }
        }
        Ok(list)
    }

    /// The first piece of a run.
    fn piece(&self, run: Run) -> Fragment {
        let interesting = |at: &usize| self.words[*at].is_interesting();
        let begin = (run.begin..=run.end).find(interesting).unwrap_or(run.end);
        let (mut length, mut wanted) = (0, 0);
        let mut at = begin;
        while at <= run.end && length < self.options.max_words {
            let (counted, interesting) = self.count(at);
            length += counted;
            wanted += interesting;
            at += 1;
        }
        let mut end = run.end;
        if run.end > at {
            end = at;
            for back in (begin..=at).rev() {
                end = back;
                if interesting(&back) {
                    break;
                }
                length -= self.count(back).0;
            }
        }
        Fragment { run: Run { begin, end }, length, wanted, taken: false }
    }

    /// A fragment, lengthened on both sides up to good ends and to words that are shown already.
    fn stretched(&self, fragment: &Fragment) -> Run {
        let max = self.options.max_words;
        let Run { mut begin, mut end } = fragment.run;
        let mut length = fragment.length;
        if length >= max {
            return fragment.run;
        }
        let most = (max - length) / 2;
        let (mut stretch, mut mark) = (0, begin);
        let mut at = begin;
        while at > 0 && stretch < most && !self.words[at - 1].shown {
            at -= 1;
            let counted = self.count(at).0;
            length += counted;
            stretch += counted;
            mark = at;
        }
        while mark < begin && self.ends_badly(mark) {
            length -= self.count(mark).0;
            mark += 1;
        }
        begin = mark;
        mark = end;
        at = end + 1;
        while at < self.words.len() && length < max && !self.words[at].shown {
            length += self.count(at).0;
            mark = at;
            at += 1;
        }
        while mark > end && self.ends_badly(mark) {
            mark -= 1;
        }
        end = mark;
        Run { begin, end }
    }
}
