//! Collations of the texts within rows, and within arrays of rows: each field has its own.
//!
//! ```text
//! (name text COLLATE "de-x-icu", n int, at citext[])  ─►  row of a text by "de-x-icu", nothing, an array of texts by citext's
//! ```
//!
//! What compares such values compares values with keys in place of their texts; the rest of them stays.

use super::{Collation, Collator};
use crate::sqltype::SqlType;

/// Levels that are looked into; values nest less deeply.
const LEVELS_MAX: usize = 64;

/// How the texts within a value are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// A text, or all texts of an array, by a collation; blanks at the end of `char(n)` do not count.
    Text {
        /// The collation.
        collator: Collator,
        /// Of `char(n)`.
        padded: bool,
    },
    /// A text for which no collation follows.
    Open,
    /// Each element of an array.
    Elements(Box<Within>),
    /// The fields of a row, nothing of those that are compared as they are.
    Fields(Vec<Option<Within>>),
}

impl Within {
    /// Of the values of a type that is a row, or an array of rows; none where all of them are compared as they are.
    pub fn of(ty: &SqlType) -> Option<Within> {
        Within::of_type(ty, LEVELS_MAX)
    }

    /// Of a field that was declared as a type.
    pub fn of_field(declared: &SqlType) -> Option<Within> {
        Within::of_part(declared, LEVELS_MAX)
    }

    /// Of a text, or an array of texts, under a collation.
    pub fn of_text(ty: &SqlType, collation: &Collation) -> Option<Within> {
        if collation.oid == Collation::OPEN {
            return Some(Within::Open);
        }
        let mut base = ty.plain();
        while let SqlType::Array(element) = base {
            base = element.plain();
        }
        let padded = matches!(base, SqlType::Char(_));
        collation.collator.map(|collator| Within::Text { collator, padded })
    }

    fn of_type(ty: &SqlType, levels: usize) -> Option<Within> {
        let levels = levels.checked_sub(1)?;
        match ty {
            SqlType::Row(row) => {
                let fields = (0..row.fields.len()).map(|at| Within::of_part(row.written(at), levels));
                Within::of_fields(fields.collect())
            }
            SqlType::Array(element) => Some(Within::Elements(Box::new(Within::of_type(element, levels)?))),
            SqlType::Domain(domain) => Within::of_type(&domain.base, levels),
            _ => None,
        }
    }

    fn of_part(declared: &SqlType, levels: usize) -> Option<Within> {
        match declared.collation() {
            Some(collation) => Within::of_text(declared, &collation),
            None => Within::of_type(declared, levels),
        }
    }

    /// Of a row whose fields are compared so.
    pub fn of_fields(fields: Vec<Option<Within>>) -> Option<Within> {
        fields.iter().any(Option::is_some).then_some(Within::Fields(fields))
    }

    /// How two values are compared with each other: texts that have different collations have none.
    #[must_use]
    pub fn and(one: Option<Within>, other: Option<Within>) -> Option<Within> {
        match (one, other) {
            (Some(Within::Elements(one)), Some(Within::Elements(other))) => {
                Some(Within::Elements(Box::new(Within::and(Some(*one), Some(*other))?)))
            }
            (Some(Within::Fields(one)), Some(Within::Fields(other))) => {
                let (mut one, mut other) = (one.into_iter(), other.into_iter());
                let count = one.len().max(other.len());
                let both = |_| Within::and(one.next().flatten(), other.next().flatten());
                Within::of_fields((0..count).map(both).collect())
            }
            (None, None) => None,
            (one, other) if one == other => one,
            (Some(within @ (Within::Elements(_) | Within::Fields(_))), None)
            | (None, Some(within @ (Within::Elements(_) | Within::Fields(_)))) => Some(within.opened()),
            _ => Some(Within::Open),
        }
    }

    /// The same where no collation follows for any of the texts.
    fn opened(self) -> Within {
        match self {
            Within::Text { .. } | Within::Open => Within::Open,
            Within::Elements(element) => Within::Elements(Box::new(element.opened())),
            Within::Fields(fields) => {
                Within::Fields(fields.into_iter().map(|field| field.map(Within::opened)).collect())
            }
        }
    }

    /// Whether equal texts may have different bytes, or no collation follows for one.
    pub fn is_coarse(&self) -> bool {
        match self {
            Within::Text { collator, padded: _ } => !collator.is_deterministic(),
            Within::Open => true,
            Within::Elements(element) => element.is_coarse(),
            Within::Fields(fields) => fields.iter().flatten().any(Within::is_coarse),
        }
    }

    /// As text, for [`Within::read`].
    pub fn write(&self, out: &mut String) {
        match self {
            Within::Text { collator, padded } => {
                let spec = collator.spec();
                out.push(if *padded { 'p' } else { 't' });
                out.push_str(&spec.len().to_string());
                out.push(':');
                out.push_str(spec);
            }
            Within::Open => out.push('o'),
            Within::Elements(element) => {
                out.push('a');
                element.write(out);
            }
            Within::Fields(fields) => {
                out.push('r');
                for field in fields {
                    match field {
                        Some(field) => field.write(out),
                        None => out.push('-'),
                    }
                }
                out.push(';');
            }
        }
    }

    /// What was written; none for what is no such text.
    pub fn read(text: &str) -> Option<Within> {
        let mut rest = text;
        Within::read_from(&mut rest, LEVELS_MAX).filter(|_| rest.is_empty())
    }

    fn read_from(rest: &mut &str, levels: usize) -> Option<Within> {
        let levels = levels.checked_sub(1)?;
        let kind = rest.chars().next()?;
        *rest = &rest[kind.len_utf8()..];
        Some(match kind {
            't' | 'p' => {
                let (length, behind) = rest.split_once(':')?;
                let length: usize = length.parse().ok()?;
                let collator = Collator::of_spec(behind.get(..length)?)?;
                *rest = &behind[length..];
                Within::Text { collator, padded: kind == 'p' }
            }
            'o' => Within::Open,
            'a' => Within::Elements(Box::new(Within::read_from(rest, levels)?)),
            'r' => {
                let mut fields = Vec::new();
                while !rest.starts_with(';') {
                    match rest.strip_prefix('-') {
                        Some(behind) => {
                            fields.push(None);
                            *rest = behind;
                        }
                        None => fields.push(Some(Within::read_from(rest, levels)?)),
                    }
                }
                *rest = &rest[1..];
                Within::Fields(fields)
            }
            _ => return None,
        })
    }
}
