//! The number of a statement, which constants have no say in.
//!
//! ```text
//! select a from t where b = 7      words and operators are hashed; 7, noted while it was read, counts as a constant
//! select A from t where b = 'x'    the same number
//! ```
//!
//! F1. The parser notes each constant of an expression where it makes one; a number that says which column is meant (ORDER BY 1) and
//!     what belongs to a type (`numeric(10, 2)`) is none.
//! F2. Of statements of the schema everything counts: they are no queries with constants.
//! F3. Numbers outlive the process: how they are made is never changed, or else figures of before have no namesake.

use super::lexer::{Class, Lexeme, Token};
use super::source::Source;
use crate::syntax::{Constant, Expr, ExprKind, Fingerprint, Literal, Span, Statement};

/// A constant that the parser has met, or a list of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    pub at: Span,
    pub is_list: bool,
}

/// The fingerprint of a statement: its tokens, and the constants noted in them.
pub(super) fn of(
    source: &Source<'_>,
    tokens: &[Lexeme],
    statement: &Statement,
    noted: Vec<Noted>,
) -> Fingerprint {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Fingerprint::default() };
    let noted = match constants_of(source, tokens, statement) {
        Constants::OfExpressions => outermost(noted),
        Constants::Only(only) => only.into_iter().collect(),
    };
    let (mut hash, mut constants) = (Hash::default(), Vec::with_capacity(noted.len()));
    let (mut next, mut parameters) = (noted.iter().peekable(), 0);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let Some(constant) = next.next_if(|constant| constant.at.start <= token.at.start) else {
            if let Token::Parameter(number) = token.token {
                parameters = parameters.max(number);
            }
            hash.token(source, token);
            continue;
        };
        at += tokens[at..].iter().take_while(|inner| inner.at.start < constant.at.end).count();
        hash.constant(constant.is_list);
        constants.push(Constant { start: token.start, end: tokens[at - 1].end, is_list: constant.is_list });
    }
    let explained = match statement {
        Statement::Explain { .. } => Some(id_of(source, &tokens[explained(source, tokens)..], &noted)),
        _ => None,
    };
    Fingerprint { id: hash.finish(), explained, place: first.start..last.end, constants, parameters }
}

/// The number of the statement of these tokens.
fn id_of(source: &Source<'_>, tokens: &[Lexeme], noted: &[Noted]) -> i64 {
    let start = tokens.first().map_or(0, |token| token.at.start);
    let mut next = noted.iter().filter(|constant| constant.at.start >= start).peekable();
    let (mut hash, mut end) = (Hash::default(), 0);
    for token in tokens {
        if token.at.start < end {
            continue;
        }
        match next.next_if(|constant| constant.at.start <= token.at.start) {
            Some(constant) => {
                hash.constant(constant.is_list);
                end = constant.at.end;
            }
            None => hash.token(source, token),
        }
    }
    hash.finish()
}

/// How many tokens stand before the statement that EXPLAIN explains.
fn explained(source: &Source<'_>, tokens: &[Lexeme]) -> usize {
    let is = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| super::source::is_word(source, token, word))
    };
    let options = tokens.get(1).filter(|token| token.token == Token::LParen);
    let ends = options.map(|open| 2 + open.width as usize);
    // `EXPLAIN (SELECT 1)` has no options.
    if let Some(end) = ends.filter(|end| *end < tokens.len() && *end > 2 && !is(2, "select")) {
        return end;
    }
    (1..tokens.len())
        .find(|at| !["analyze", "analyse", "verbose"].iter().any(|word| is(*at, word)))
        .unwrap_or(1)
}

/// Which constants a statement has.
enum Constants {
    /// Those of its expressions.
    OfExpressions,
    /// This one, or none.
    Only(Option<Noted>),
}

fn constants_of(source: &Source<'_>, tokens: &[Lexeme], statement: &Statement) -> Constants {
    let last = || tokens.last().map(|token| Noted { at: token.at, is_list: false });
    match statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Explain { .. }
        | Statement::Declare(_)
        | Statement::Prepare(_)
        | Statement::Execute { .. }
        | Statement::CreateTableAs(_)
        | Statement::View(crate::syntax::ViewStatement::CreateMaterialized(_))
        | Statement::Call(_) => Constants::OfExpressions,
        // The name of a savepoint or a prepared statement is often made up for it.
        Statement::Savepoint(_) | Statement::Release { .. } | Statement::RollbackTo(_) => {
            Constants::Only(last())
        }
        Statement::Deallocate(Some(_)) => Constants::Only(last()),
        Statement::Set { .. } => {
            let gives =
                |token: &Lexeme| token.token == Token::Eq || super::source::is_word(source, token, "to");
            let value = tokens.iter().position(gives).and_then(|at| tokens.get(at + 1));
            Constants::Only(value.map(|token| Noted { at: token.at, is_list: false }))
        }
        _ => Constants::Only(None),
    }
}

/// The constants in the order of the text, without those within others, each once: what the parser went back over it has met twice.
fn outermost(mut noted: Vec<Noted>) -> Vec<Noted> {
    noted.sort_unstable_by_key(|constant| (constant.at.start, std::cmp::Reverse(constant.at.end)));
    let mut end = 0;
    noted.retain(|constant| {
        let is_outer = constant.at.start >= end;
        end = end.max(constant.at.end);
        is_outer
    });
    noted
}

/// The list that these elements are, where each is a constant or a parameter and there are several.
pub(super) fn list(elements: &[Expr]) -> Option<Noted> {
    let (first, last) = (elements.first()?, elements.last()?);
    let all = elements.len() > 1 && elements.iter().all(is_constant);
    all.then(|| Noted { at: first.at.to(last.at), is_list: true })
}

fn is_constant(mut expr: &Expr) -> bool {
    // What a constant is cast to belongs to it.
    while let ExprKind::Cast { arg, .. } = &expr.kind {
        expr = arg;
    }
    matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Parameter(_))
}

/// The place of a number that says which column of the result is meant.
pub(super) fn column_number(expr: &Expr) -> Option<Span> {
    let is_number = matches!(&expr.kind, ExprKind::Literal(Literal::Number(digits))
        if digits.bytes().all(|byte| byte.is_ascii_digit()));
    is_number.then_some(expr.at)
}

/// Where a statement stands that is a part of another one: the other one's fingerprint is its own.
pub(super) fn shared(statement: &mut Statement, whole: &Fingerprint) {
    if let Statement::Prepare(prepare) = statement {
        prepare.statement.fingerprint = whole.clone();
    }
}

/// What tells two tokens apart.
#[derive(Clone, Copy)]
enum Kind {
    Keyword = 1,
    Name,
    Symbol,
    Parameter,
    Constant,
    List,
}

/// A hash of 64 bits over tokens.
#[derive(Default)]
struct Hash(u64);

impl Hash {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }

    fn text(&mut self, kind: Kind, bytes: impl ExactSizeIterator<Item = u8>) {
        self.add((bytes.len() as u64) << 8 | kind as u64);
        let (mut word, mut filled) = (0u64, 0);
        for byte in bytes {
            word |= u64::from(byte) << filled;
            filled += 8;
            if filled == 64 {
                self.add(word);
                (word, filled) = (0, 0);
            }
        }
        if filled > 0 {
            self.add(word);
        }
    }

    fn token(&mut self, source: &Source<'_>, token: &Lexeme) {
        let written = source.written(token);
        let lower = || written.bytes().map(|byte| byte.to_ascii_lowercase());
        match token.token {
            Token::Word(Class::Reserved) => self.text(Kind::Keyword, lower()),
            Token::Word(_) => self.text(Kind::Name, lower()),
            Token::Quoted(text) => self.text(Kind::Name, source.meaning(text).bytes()),
            Token::Parameter(number) => {
                self.add(Kind::Parameter as u64);
                self.add(number.into());
            }
            Token::NotEq => self.text(Kind::Symbol, "<>".bytes()),
            _ => self.text(Kind::Symbol, written.bytes()),
        }
    }

    fn constant(&mut self, is_list: bool) {
        self.add(if is_list { Kind::List } else { Kind::Constant } as u64);
    }

    /// No statement has the number 0.
    fn finish(mut self) -> i64 {
        self.add(Kind::Symbol as u64);
        self.0 ^= self.0 >> 33;
        self.0 = self.0.wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 ^= self.0 >> 33;
        self.0.max(1).cast_signed()
    }
}
