//! Statements as trees of text, so that one whose answer is wrong can be made smaller.

use crate::Type;

/// What a piece of a statement is: it may be replaced by another of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An expression.
    Value(Type),
    /// A query of columns of these types.
    Query(Vec<Type>),
    /// An item of FROM; it stands in no other one's place.
    Item,
}

/// A part of a statement.
#[derive(Clone, Debug)]
pub enum Part {
    /// Text as it is.
    Text(String),
    /// A piece that may be replaced.
    Piece(Kind, Vec<Part>),
    /// What may be left out.
    Optional(Vec<Part>),
    /// Of these any but the last one left may be left out.
    List(Vec<Vec<Part>>, &'static str),
}

/// Parts of nothing but text.
pub fn text(words: impl Into<String>) -> Part {
    Part::Text(words.into())
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement(pub Vec<Part>);

impl Statement {
    /// Its text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        write(&self.0, &mut out);
        out
    }

    /// The statement with its `nth` reduction made; none if it has fewer.
    pub fn reduced(&self, nth: usize) -> Option<Statement> {
        let mut smaller = self.clone();
        let mut left = nth;
        reduce(&mut smaller.0, &mut left).then_some(smaller)
    }

    /// The smallest statement found for which `fails` still holds.
    pub fn shrunk(self, mut fails: impl FnMut(&Statement) -> bool) -> Statement {
        let mut best = self;
        let mut nth = 0;
        while let Some(smaller) = best.reduced(nth) {
            if smaller.text().len() < best.text().len() && fails(&smaller) {
                best = smaller;
                nth = nth.saturating_sub(2);
            } else {
                nth += 1;
            }
        }
        best
    }
}

fn write(parts: &[Part], out: &mut String) {
    for part in parts {
        match part {
            Part::Text(words) => out.push_str(words),
            Part::Piece(_, parts) | Part::Optional(parts) => write(parts, out),
            Part::List(items, separator) => {
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push_str(separator);
                    }
                    write(item, out);
                }
            }
        }
    }
}

/// Makes the reduction that is `left` places away; false if there are fewer.
fn reduce(parts: &mut Vec<Part>, left: &mut usize) -> bool {
    let mut at = 0;
    while at < parts.len() {
        match &mut parts[at] {
            Part::Text(_) => {}
            Part::Optional(inner) => {
                if take(left) {
                    parts.remove(at);
                    return true;
                }
                if reduce(inner, left) {
                    return true;
                }
            }
            Part::List(items, _) => {
                for item in 0..items.len() {
                    if items.len() > 1 && take(left) {
                        items.remove(item);
                        return true;
                    }
                }
                if items.iter_mut().any(|item| reduce(item, left)) {
                    return true;
                }
            }
            Part::Piece(kind, inner) => {
                let kind = kind.clone();
                let mut below = Vec::new();
                of_kind(inner, &kind, &mut below);
                for piece in below {
                    if take(left) {
                        parts[at] = Part::Piece(kind, piece);
                        return true;
                    }
                }
                if let Some(plain) = plainest(&kind)
                    && !matches!(inner.as_slice(), [Part::Text(words)] if *words == plain)
                    && take(left)
                {
                    *inner = vec![Part::Text(plain)];
                    return true;
                }
                if reduce(inner, left) {
                    return true;
                }
            }
        }
        at += 1;
    }
    false
}

fn take(left: &mut usize) -> bool {
    if *left == 0 {
        return true;
    }
    *left -= 1;
    false
}

/// The nearest pieces of this kind within.
fn of_kind(parts: &[Part], kind: &Kind, found: &mut Vec<Vec<Part>>) {
    for part in parts {
        match part {
            Part::Text(_) => {}
            Part::Optional(parts) => of_kind(parts, kind, found),
            Part::List(items, _) => items.iter().for_each(|item| of_kind(item, kind, found)),
            Part::Piece(this, parts) if this == kind => found.push(parts.clone()),
            Part::Piece(_, parts) => of_kind(parts, kind, found),
        }
    }
}

/// The plainest piece of a kind.
fn plainest(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Value(Type::Bool) => Some("true".into()),
        Kind::Value(Type::Int) => Some("1".into()),
        Kind::Value(Type::Text) => Some("'a'::text".into()),
        Kind::Value(ty) => Some(format!("NULL::{}", ty.name())),
        Kind::Query(types) => {
            let nulls: Vec<String> = types
                .iter()
                .enumerate()
                .map(|(n, ty)| format!("NULL::{} AS c{}", ty.name(), n + 1))
                .collect();
            Some(format!("SELECT {}", nulls.join(", ")))
        }
        Kind::Item => None,
    }
}
