//! Expressions over the columns that are in sight.

use crate::aggregates::{AGGREGATES, LEAST};
use crate::templates::{ANY, TEMPLATES};
use crate::tree::{Kind, Part, text};
use crate::{Type, Writer};

/// A column in sight: how it is written, and its type.
pub type Column = (String, Type);

impl Writer<'_> {
    /// An expression of a type.
    pub(crate) fn value(&mut self, ty: Type, depth: usize, scope: &[Column]) -> Part {
        let parts = match self.random.below(if depth == 0 { 4 } else { 10 }) {
            0..=3 => vec![self.atom(ty, scope)],
            4 if depth > 1 => vec![self.subquery(ty, depth - 1, scope)],
            4 | 5 => {
                let template = *self.random.one(ANY);
                self.filled(template, ty, depth - 1, scope)
            }
            6 if ty == Type::Bool && depth > 1 => vec![self.predicate(depth - 1, scope)],
            _ => {
                let (_, of) = TEMPLATES.iter().find(|(of, _)| *of == ty).expect("every type has some");
                let template = *self.random.one(of);
                self.filled(template, ty, depth - 1, scope)
            }
        };
        Part::Piece(Kind::Value(ty), parts)
    }

    /// A column of the type or, where there is none, a literal.
    pub(crate) fn atom(&mut self, ty: Type, scope: &[Column]) -> Part {
        let fitting: Vec<&Column> = scope.iter().filter(|(_, of)| *of == ty).collect();
        if !fitting.is_empty() && !self.random.once_in(5) {
            return text(self.random.one(&fitting).0.clone());
        }
        text(ty.literal(&mut self.random))
    }

    /// A template with its places filled.
    pub(crate) fn filled(&mut self, template: &str, ty: Type, depth: usize, scope: &[Column]) -> Vec<Part> {
        let other = match scope {
            [] => Type::any(&mut self.random),
            scope => self.random.one(scope).1,
        };
        let mut parts: Vec<Part> = Vec::new();
        let mut first: Option<Part> = None;
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            // An array's literal is text.
            let Some((name, behind)) = after.split_once('}') else { break };
            let hole = match name {
                "T" => Some(self.value(ty, depth, scope)),
                "X" => Some(self.value(other, depth, scope)),
                "1" => first.clone(),
                _ => match (name.strip_prefix("col:"), Type::of(name)) {
                    (Some(column), _) => Type::of(column).map(|ty| self.atom(ty, scope)),
                    (None, Some(ty)) => Some(self.value(ty, depth, scope)),
                    (None, None) => None,
                },
            };
            match hole {
                Some(part) => {
                    parts.push(text(before));
                    // What stands twice is not made smaller at one place alone.
                    let part = if template.contains("{1}") { frozen(part) } else { part };
                    first.get_or_insert_with(|| part.clone());
                    parts.push(part);
                }
                None => parts.push(text(format!("{before}{{{name}}}"))),
            }
            rest = behind;
        }
        parts.push(text(rest));
        parts
    }

    /// An aggregate of this type over rows of `scope`; every type that has none gets one by way of its least value.
    pub(crate) fn aggregate(&mut self, ty: Type, depth: usize, scope: &[Column]) -> Part {
        let own: Vec<&str> =
            AGGREGATES.iter().filter(|(of, _)| *of == ty).map(|(_, template)| *template).collect();
        let template = match (own.is_empty(), ty.has_least()) {
            (false, true) if self.random.once_in(2) => *self.random.one(LEAST),
            (false, _) => *self.random.one(&own),
            (true, true) => *self.random.one(LEAST),
            (true, false) => {
                let column = self.frozen_atom(ty, scope);
                return Part::Piece(
                    Kind::Value(ty),
                    vec![text("min(("), column, text(format!(")::text)::{}", ty.name()))],
                );
            }
        };
        let mut parts = self.filled(template, ty, depth.min(1), scope);
        if self.random.once_in(4) {
            let condition = self.value(Type::Bool, depth.min(1), scope);
            parts.push(Part::Optional(vec![text(" FILTER (WHERE "), condition, text(")")]));
        }
        Part::Piece(Kind::Value(ty), parts)
    }

    fn frozen_atom(&mut self, ty: Type, scope: &[Column]) -> Part {
        frozen(self.atom(ty, scope))
    }

    /// A query of one value in the place of a value.
    fn subquery(&mut self, ty: Type, depth: usize, scope: &[Column]) -> Part {
        let (from, inner) = self.from(depth - 1, scope);
        let mut all = inner.clone();
        all.extend_from_slice(scope);
        let condition = self.value(Type::Bool, 1, &all);
        let wher = Part::Optional(vec![text(" WHERE "), condition]);
        if self.random.once_in(3) {
            let value = self.value(ty, 1, &all);
            // Of several rows the least: what LIMIT takes is the same for all orders of equal rows.
            let order = Part::Text(" ORDER BY 1 LIMIT 1)".into());
            return Part::Piece(
                Kind::Value(ty),
                vec![text("(SELECT "), value, text(" FROM "), from, wher, order],
            );
        }
        let value = self.aggregate(ty, 1, &inner);
        Part::Piece(Kind::Value(ty), vec![text("(SELECT "), value, text(" FROM "), from, wher, text(")")])
    }

    /// EXISTS, IN and comparisons with queries.
    fn predicate(&mut self, depth: usize, scope: &[Column]) -> Part {
        let not = *self.random.one(&["", "NOT "]);
        let ty = match scope {
            [] => Type::Int,
            scope => self.random.one(scope).1,
        };
        let query = self.query(&[ty], depth, scope);
        let parts = match self.random.below(5) {
            0 | 1 => vec![text(format!("({not}EXISTS (")), query, text("))")],
            2 | 3 => {
                let value = self.value(ty, 1, scope);
                vec![text("("), value, text(format!(" {not}IN (")), query, text("))")]
            }
            _ => {
                let value = self.value(ty, 1, scope);
                let compare = *self.random.one(&["= ANY", "<> ALL", "< ALL", ">= ANY", "> SOME"]);
                vec![text("("), value, text(format!(" {compare} (")), query, text("))")]
            }
        };
        Part::Piece(Kind::Value(Type::Bool), parts)
    }
}

/// The part as text alone.
pub(crate) fn frozen(part: Part) -> Part {
    text(crate::Statement(vec![part]).text())
}
