//! Operators: where one ends, and how tightly each binds.
//!
//! The longest run of operator characters, up to a comment, is an operator, without a `+` or `-` at its end unless there
//! is a character in it that no operator of the standard has: `>-1` is `>` and `-1`, `@-1` is `@-` and `1`.
//!
//! Source: PostgreSQL 18, the precedence list of `gram.y`.

use super::lexer::Token;

/// How tightly the operators of PostgreSQL bind, the loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    Lowest,
    Or,
    And,
    Not,
    /// IS, ISNULL, NOTNULL.
    Is,
    /// `< > = <= >= <>`.
    Comparison,
    /// BETWEEN, IN, LIKE, ILIKE, SIMILAR.
    Like,
    /// Any operator that is not listed.
    Other,
    Additive,
    Multiplicative,
    Power,
    /// AT TIME ZONE.
    At,
    Collate,
    /// A sign in front.
    Sign,
    /// `::`.
    Cast,
}

impl Precedence {
    /// The next tighter one: what the right side of a left-associative operator must have at least.
    pub(super) fn tighter(self) -> Precedence {
        use Precedence as P;
        match self {
            P::Lowest => P::Or,
            P::Or => P::And,
            P::And => P::Not,
            P::Not => P::Is,
            P::Is => P::Comparison,
            P::Comparison => P::Like,
            P::Like => P::Other,
            P::Other => P::Additive,
            P::Additive => P::Multiplicative,
            P::Multiplicative => P::Power,
            P::Power => P::At,
            P::At => P::Collate,
            P::Collate => P::Sign,
            P::Sign | P::Cast => P::Cast,
        }
    }

    /// That of an operator made of signs, between two operands.
    pub(super) fn of(token: Token) -> Option<Precedence> {
        Some(match token {
            Token::Eq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq | Token::NotEq => {
                Precedence::Comparison
            }
            Token::Op => Precedence::Other,
            Token::Plus | Token::Minus => Precedence::Additive,
            Token::Mul | Token::Div | Token::Mod => Precedence::Multiplicative,
            Token::Caret => Precedence::Power,
            _ => return None,
        })
    }
}

/// Where the operator at the start ends, and where the run of operator characters it is part of does. What is between are
/// signs, each an operator.
pub(super) fn operator_end(rest: &[u8]) -> (usize, usize) {
    let ends = |i: usize| !is_operator(rest[i]) || matches!(rest.get(i..i + 2), Some(b"--" | b"/*"));
    let run = (0..rest.len()).find(|i| ends(*i)).unwrap_or(rest.len());
    let special = |byte: &u8| !matches!(byte, b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=');
    let mut operator = run;
    if !rest[..run].iter().any(special) {
        while operator > 1 && matches!(rest[operator - 1], b'+' | b'-') {
            operator -= 1;
        }
    }
    (operator, run)
}

pub(super) fn is_operator(byte: u8) -> bool {
    b"~!@#^&|`?+-*/%<>=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_ends_no_operator_of_the_standard() {
        for (text, ends) in [
            (">-1", (1, 2)),
            ("<>-1", (2, 3)),
            ("=-+-1", (1, 4)),
            ("||-1", (3, 3)),
            ("@-1", (2, 2)),
            ("->-1", (2, 3)),
            (">--b", (1, 1)),
            (">/*b*/-1", (1, 1)),
            ("||/*b*/", (2, 2)),
            ("+", (1, 1)),
            ("-+-+", (1, 4)),
        ] {
            assert_eq!(operator_end(text.as_bytes()), ends, "{text}");
        }
    }
}
