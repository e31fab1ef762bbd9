//! What a path into JSON asks of the keys of a document.
//!
//! Equalities of a path and a scalar, joined by `&&` and `||`, and the members that a path names. Whatever else a path says is
//! left to the operator.

use super::Search;
use super::jsonb::{self, Way};
use crate::json::JsonRef;
use crate::json::path::{Accessor, Comparison, Expr, JsonPath};
use crate::key::KeyType;

/// Where a path has come to.
#[derive(Clone)]
struct At {
    /// The members named on the way; of keys apart.
    members: Vec<Search>,
    /// The way, where it is known.
    way: Option<Way>,
    /// Conditions of filters on the way.
    filters: Vec<Search>,
}

struct Reader {
    paths: bool,
    part: u8,
}

/// The search for documents for which a path finds something, or for which it is true.
pub(super) fn search(ty: KeyType, part: u8, path: &JsonPath, matches: bool) -> Search {
    let reader = Reader { paths: ty == KeyType::JsonbPaths, part };
    let root = At { members: Vec::new(), way: Some(Way::root()), filters: Vec::new() };
    if matches { reader.condition(&path.root, &root) } else { reader.exists(&path.root, &root) }
}

impl Reader {
    /// What a predicate asks for; `current` is what `@` and `$` stand for.
    fn condition(&self, expr: &Expr, current: &At) -> Search {
        match expr {
            Expr::And(a, b) => Search::all([self.condition(a, current), self.condition(b, current)]),
            Expr::Or(a, b) => Search::any([self.condition(a, current), self.condition(b, current)]),
            Expr::Exists(path) => self.exists(path, current),
            Expr::Compare(Comparison::Equal, a, b) => match (scalar(a), scalar(b)) {
                (None, Some(value)) => self.equal(a, value, current),
                (Some(value), None) => self.equal(b, value, current),
                _ => Search::Unknown,
            },
            _ => Search::Unknown,
        }
    }

    fn equal(&self, path: &Expr, value: JsonRef<'_>, current: &At) -> Search {
        let Some(at) = self.follow(path, current) else { return Search::Unknown };
        let value = match (self.paths, at.way) {
            (true, Some(way)) => way.search(self.part, value),
            (true, None) => Search::Unknown,
            (false, _) => jsonb::scalar(self.part, value),
        };
        Search::all(at.members.into_iter().chain(at.filters).chain([value]))
    }

    /// What a path asks for that is to find something.
    fn exists(&self, path: &Expr, current: &At) -> Search {
        match self.follow(path, current) {
            Some(at) => Search::all(at.members.into_iter().chain(at.filters)),
            None => Search::Unknown,
        }
    }

    /// Goes along a path; `None` for what is none.
    fn follow(&self, path: &Expr, current: &At) -> Option<At> {
        let (start, accessors) = match path {
            Expr::Access(start, accessors) => (&**start, accessors.as_slice()),
            other => (other, &[][..]),
        };
        let mut at = match start {
            Expr::Current => current.clone(),
            Expr::Root => At { members: Vec::new(), way: Some(Way::root()), filters: Vec::new() },
            Expr::Access(..) => self.follow(start, current)?,
            _ => return None,
        };
        for accessor in accessors {
            match accessor {
                Accessor::Member(name) => {
                    at.way = at.way.map(|way| way.member(name));
                    if !self.paths {
                        at.members.push(jsonb::key(self.part, name));
                    }
                }
                Accessor::AnyElement | Accessor::Elements(_) => {}
                Accessor::AnyMember | Accessor::Deep(..) => at.way = None,
                Accessor::Filter(condition) => {
                    let asked = self.condition(condition, &At { filters: Vec::new(), ..at.clone() });
                    at.filters.push(asked);
                }
                // What it makes of the value is no part of the document.
                Accessor::Method(..) => return None,
            }
        }
        Some(at)
    }
}

fn scalar(expr: &Expr) -> Option<JsonRef<'_>> {
    Some(match expr {
        Expr::Null => JsonRef::Null,
        Expr::Bool(v) => JsonRef::Bool(*v),
        Expr::Number(v) => JsonRef::Number(*v),
        Expr::String(v) => JsonRef::String(v),
        _ => return None,
    })
}
