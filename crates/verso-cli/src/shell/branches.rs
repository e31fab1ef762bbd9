//! `\if`, `\elif`, `\else`, `\endif`: which part of a script is read, and which is passed over.

/// A part between two of these commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Its condition holds.
    Taken,
    /// Its condition does not hold; a later one may.
    NotYet,
    /// Another part was taken, or all are within one that is passed over.
    Never,
    /// Behind `\else`.
    Else(bool),
}

/// How long the unfinished statement was, and its open parentheses: what is typed in a part that is passed over is
/// forgotten.
type Mark = (usize, u32);

/// The conditions that are open, the innermost last.
#[derive(Debug, Default)]
pub struct Branches {
    open: Vec<(Part, Mark)>,
}

impl Branches {
    /// Whether what is read now is passed over.
    pub fn passes_over(&self) -> bool {
        !matches!(self.open.last(), None | Some((Part::Taken | Part::Else(true), _)))
    }

    /// Whether any condition is open.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the next part's condition has to be evaluated: of `\if`, or with `again` of `\elif`.
    pub fn asks(&self, again: bool) -> bool {
        match self.open.last() {
            Some((part, _)) if again => *part == Part::NotYet,
            _ => !again && !self.passes_over(),
        }
    }

    /// `\if`.
    pub fn begin(&mut self, holds: bool, mark: Mark) {
        let part = match (self.passes_over(), holds) {
            (true, _) => Part::Never,
            (false, true) => Part::Taken,
            (false, false) => Part::NotYet,
        };
        self.open.push((part, mark));
    }

    /// `\elif`; the mark up to which the unfinished statement is kept.
    ///
    /// # Errors
    /// There is no `\if`, or it has come to its `\else`.
    pub fn again(&mut self, holds: bool, mark: Mark) -> Result<Mark, String> {
        let was_over = self.passes_over();
        let (part, begin) = self.open.last_mut().ok_or("\\elif: no matching \\if")?;
        *part = match part {
            Part::Else(_) => return Err("\\elif: cannot occur after \\else".to_owned()),
            Part::NotYet if holds => Part::Taken,
            Part::NotYet => Part::NotYet,
            Part::Taken | Part::Never => Part::Never,
        };
        Ok(kept(was_over, begin, mark))
    }

    /// `\else`; the mark as with `\elif`.
    ///
    /// # Errors
    /// There is no `\if`, or it has come to its `\else`.
    pub fn otherwise(&mut self, mark: Mark) -> Result<Mark, String> {
        let was_over = self.passes_over();
        let (part, begin) = self.open.last_mut().ok_or("\\else: no matching \\if")?;
        *part = match part {
            Part::Else(_) => return Err("\\else: cannot occur after \\else".to_owned()),
            Part::NotYet => Part::Else(true),
            Part::Taken | Part::Never => Part::Else(false),
        };
        Ok(kept(was_over, begin, mark))
    }

    /// `\endif`; the mark as with `\elif`.
    ///
    /// # Errors
    /// There is no `\if`.
    pub fn end(&mut self, mark: Mark) -> Result<Mark, String> {
        let was_over = self.passes_over();
        let (_, mut begin) = self.open.pop().ok_or("\\endif: no matching \\if")?;
        Ok(kept(was_over, &mut begin, mark))
    }

    /// Leaves all: Ctrl-C at the prompt leaves the innermost.
    pub fn leave(&mut self) {
        self.open.pop();
    }
}

/// What was typed in a part that was passed over goes; the next part begins where this one does now.
fn kept(was_over: bool, begin: &mut Mark, now: Mark) -> Mark {
    if !was_over {
        *begin = now;
    }
    *begin
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Mark = (0, 0);

    #[test]
    fn the_first_part_that_holds_is_taken() {
        let mut branches = Branches::default();
        branches.begin(false, AT);
        assert!(branches.passes_over() && branches.asks(true));
        branches.again(true, AT).expect("open");
        assert!(!branches.passes_over() && !branches.asks(true));
        branches.again(true, AT).expect("open");
        assert!(branches.passes_over());
        branches.otherwise(AT).expect("open");
        assert!(branches.passes_over());
        assert!(branches.otherwise(AT).is_err() && branches.again(true, AT).is_err());
        branches.end(AT).expect("open");
        assert!(!branches.passes_over() && branches.end(AT).is_err());
    }

    #[test]
    fn within_a_part_that_is_passed_over_nothing_is_taken() {
        let mut branches = Branches::default();
        branches.begin(false, AT);
        branches.begin(true, AT);
        assert!(branches.passes_over() && !branches.asks(false));
        branches.otherwise(AT).expect("open");
        assert!(branches.passes_over());
        branches.end(AT).expect("open");
        branches.otherwise(AT).expect("open");
        assert!(!branches.passes_over());
    }

    #[test]
    fn text_of_parts_passed_over_is_forgotten() {
        let mut branches = Branches::default();
        branches.begin(true, (7, 0));
        assert_eq!(branches.otherwise((10, 1)), Ok((10, 1)));
        assert_eq!(branches.end((20, 3)), Ok((10, 1)));
    }
}
