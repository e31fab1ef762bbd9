//! What the condition of a policy, or the body of a function that is SQL's own, needs: it follows from what the names in the text
//! mean (`stored.rs`).

use crate::definition::Oid;

/// Something that a text needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// A relation.
    Relation(Oid),
    /// A column of one.
    Column(Oid, u16),
    /// A function.
    Function(Oid),
    /// A type.
    Type(Oid),
}

impl Need {
    /// As a function's row has it.
    pub(crate) fn note(self) -> String {
        match self {
            Need::Relation(oid) => format!("relation {oid}"),
            Need::Column(oid, column) => format!("column {oid} {column}"),
            Need::Function(oid) => format!("function {oid}"),
            Need::Type(oid) => format!("type {oid}"),
        }
    }

    /// What a note says.
    pub(crate) fn read(note: &str) -> Option<Need> {
        let mut parts = note.split(' ');
        let (word, oid) = (parts.next()?, Oid(parts.next()?.parse().ok()?));
        Some(match (word, parts.next()) {
            ("relation", None) => Need::Relation(oid),
            ("column", Some(column)) => Need::Column(oid, column.parse().ok()?),
            ("function", None) => Need::Function(oid),
            ("type", None) => Need::Type(oid),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_needs_is_read_as_it_was_written() {
        let oid = Oid(16_400);
        for need in [Need::Relation(oid), Need::Column(oid, 3), Need::Function(oid), Need::Type(oid)] {
            assert_eq!(Need::read(&need.note()), Some(need));
        }
        for wrong in ["", "relation", "relation x", "column 1", "other 1", "type 1 2"] {
            assert_eq!(Need::read(wrong), None, "{wrong}");
        }
    }
}
