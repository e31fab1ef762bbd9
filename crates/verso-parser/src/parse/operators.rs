//! Where an operator ends.
//!
//! PostgreSQL takes the longest run of operator characters, up to a comment, and takes a `+` or `-` from its end unless
//! there is a character in it that no operator of the standard has: `>-1` is `>` and `-1`, `@-1` is `@-` and `1`. The
//! tokenizer takes the whole run. So blanks are put between what belongs apart, and taken out of the places of tokens.

use std::borrow::Cow;

use sqlparser::tokenizer::{Location, TokenWithSpan};

use super::split::walk;

/// A text whose operators stand apart.
pub(super) struct Spaced<'a> {
    pub text: Cow<'a, str>,
    /// Lines and columns of the blanks put in, in order.
    blanks: Vec<(u64, u64)>,
}

impl<'a> Spaced<'a> {
    /// Puts blanks where PostgreSQL ends an operator and the tokenizer would not.
    pub fn new(text: &'a str) -> Spaced<'a> {
        let gaps = if may_run_on(text.as_bytes()) { operator_ends(text) } else { Vec::new() };
        if gaps.is_empty() {
            return Spaced { text: Cow::Borrowed(text), blanks: Vec::new() };
        }
        let mut spaced = String::with_capacity(text.len() + gaps.len());
        let mut blanks = Vec::with_capacity(gaps.len());
        let (mut from, mut line, mut column) = (0, 1, 1);
        for gap in gaps {
            for c in text[from..gap].chars() {
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            spaced.push_str(&text[from..gap]);
            spaced.push(' ');
            blanks.push((line, column));
            column += 1;
            from = gap;
        }
        spaced.push_str(&text[from..]);
        Spaced { text: Cow::Owned(spaced), blanks }
    }

    /// The place in the text given of one in the text with blanks.
    pub fn given(&self, location: Location) -> Location {
        let before = |column| self.blanks.partition_point(|blank| *blank < (location.line, column));
        let shift = (before(location.column) - before(0)) as u64;
        Location { column: location.column - shift, ..location }
    }

    /// Puts a token where it stands in the text given.
    pub fn move_back(&self, token: &mut TokenWithSpan) {
        if !self.blanks.is_empty() {
            token.span.start = self.given(token.span.start);
            token.span.end = self.given(token.span.end);
        }
    }
}

/// Whether an operator can run on into a sign or a comment at all; most texts have none that does.
fn may_run_on(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| {
        matches!(pair[1], b'+' | b'-' | b'/') && is_operator(pair[0]) && !matches!(pair, b"--" | b"*/")
    })
}

/// Bytes at which an operator ends though another character of operators, or a comment, follows. Each byte is looked at
/// a few times only, however long a run is.
fn operator_ends(text: &str) -> Vec<usize> {
    let mut gaps = Vec::new();
    walk(text, |at| {
        let rest = &text.as_bytes()[at..];
        let ends = |i: usize| !is_operator(rest[i]) || matches!(rest.get(i..i + 2), Some(b"--" | b"/*"));
        let run = (0..rest.len()).find(|i| ends(*i)).unwrap_or(rest.len());
        let special = |byte: &u8| !matches!(byte, b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=');
        let mut operator = run;
        if !rest[..run].iter().any(special) {
            while operator > 1 && matches!(rest[operator - 1], b'+' | b'-') {
                operator -= 1;
            }
        }
        // The signs taken off are an operator each.
        let comment = run > 0 && rest.get(run).is_some_and(|byte| is_operator(*byte));
        let end = run + usize::from(comment);
        gaps.extend((operator..end).filter(|gap| *gap > 0).map(|gap| at + gap));
        run
    });
    gaps
}

fn is_operator(byte: u8) -> bool {
    b"~!@#^&|`?+-*/%<>=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_ends_no_operator_of_the_standard() {
        for (text, spaced) in [
            ("a>-1", "a> -1"),
            ("a<>-1 and b>=+1", "a<> -1 and b>= +1"),
            ("a=-+-1", "a= - + -1"),
            ("a||-1", "a||-1"),
            ("@-1", "@-1"),
            ("a->-1", "a-> -1"),
            ("a>--b\n-1", "a> --b\n-1"),
            ("a>/*b*/-1", "a> /*b*/-1"),
            ("a||/*b*/-1", "a|| /*b*/-1"),
            ("a||--b", "a|| --b"),
            ("+/**/+/**/-+-/**/", "+ /**/+ /**/- + - /**/"),
            ("'a>-1' || \">-\" || $$>-$$ -- >-1\n/* >-1 */ || E'\\'>-'", ""),
            ("a--b>-1\n>-1", "a--b>-1\n> -1"),
        ] {
            let expected = if spaced.is_empty() { text } else { spaced };
            assert_eq!(Spaced::new(text).text, expected);
        }
    }

    #[test]
    fn long_runs_take_no_longer() {
        for text in ["-+".repeat(500_000), "+/**/".repeat(200_000), ">-".repeat(500_000)] {
            assert!(Spaced::new(&text).text.len() > text.len());
        }
    }

    #[test]
    fn places_are_those_of_the_text_given() {
        let spaced = Spaced::new("é>-1\n>-2>-3 x");
        assert_eq!(spaced.text, "é> -1\n> -2> -3 x");
        for ((line, column), given) in
            [((1, 1), 1), ((1, 2), 2), ((1, 4), 3), ((2, 1), 1), ((2, 3), 2), ((2, 7), 5), ((2, 10), 8)]
        {
            assert_eq!(spaced.given(Location { line, column }), Location { line, column: given });
        }
    }
}
