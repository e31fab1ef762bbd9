//! Enum types: names in an order of their own.
//!
//! A value is the *place* of its label: a number that orders it among the others, so that columns, keys and comparisons are
//! those of integers. Places have wide gaps between them; a label that comes in between takes a place in the middle.
//!
//! E1. A label keeps its place for ever: what is stored with it stays in order when labels are added or renamed.
//! E2. `labels` ascend by place. Two types are the same if their oids are; derived equality also compares the labels, so
//!     that a definition which holds a type changes when the type does.
//! E3. A place without a label (a label that was added by a transaction which rolled back) is shown as its number, never
//!     a panic.

use std::sync::Arc;

use crate::error::{TypeError, sqlstate};
use crate::keyword::quoted;
use crate::names;
use crate::value::Value;

/// Between the places of labels that are made together: 40 labels find room between any two of them.
const GAP: i64 = 1 << 40;

/// An enum type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct EnumType {
    /// Its row in `pg_type`.
    pub oid: u32,
    /// Its array's.
    pub array: u32,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Its labels in their order.
    pub labels: Vec<EnumLabel>,
}

/// A label of an enum type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnumLabel {
    /// Its row in `pg_enum`.
    pub oid: u32,
    /// What values that have it are stored as.
    pub place: i64,
    /// Its text.
    pub name: Arc<str>,
}

/// Where a new label goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewPlace<'a> {
    /// Behind all others.
    Last,
    /// Directly in front of this one.
    Before(&'a str),
    /// Directly behind this one.
    After(&'a str),
}

impl EnumType {
    /// The place of label `index` of a type that is made with all its labels at once.
    pub fn initial_place(index: usize) -> i64 {
        i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1).saturating_mul(GAP)
    }

    /// The label at this place.
    pub fn at(&self, place: i64) -> Option<&EnumLabel> {
        let found = self.labels.binary_search_by_key(&place, |label| label.place).ok()?;
        self.labels.get(found)
    }

    /// The label of this name.
    pub fn label(&self, name: &str) -> Option<&EnumLabel> {
        self.labels.iter().find(|label| *label.name == *name)
    }

    /// The value that a text names.
    /// # Errors
    /// 22P02 for no label, 55P04 for one that waits for its commit.
    pub fn parse(&self, text: &str) -> Result<Value, TypeError> {
        match self.label(text) {
            Some(label) => self.used(label),
            None => {
                let message = format!("invalid input value for enum {}: \"{text}\"", self.shown());
                Err(TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message))
            }
        }
    }

    /// The value of a label that somebody uses.
    /// # Errors
    /// 55P04 for a label that was added to the type by a transaction which has not committed: it may roll back, and what
    /// keeps the value then, such as an index, would keep one without a label.
    pub fn used(&self, label: &EnumLabel) -> Result<Value, TypeError> {
        if names::is_new_label(label.oid) {
            let text = format!("unsafe use of new value \"{}\" of enum type {}", label.name, self.shown());
            return Err(TypeError::new("55P04", text)
                .with_hint("New enum values must be committed before they can be used."));
        }
        Ok(Value::Int8(label.place))
    }

    /// Appends the label at a place (E3).
    pub fn format(&self, place: i64, out: &mut String) {
        match self.at(place) {
            Some(label) => out.push_str(&label.name),
            None => crate::text::format_i64(place, out),
        }
    }

    /// The name as the session writes it.
    pub fn shown(&self) -> String {
        names::type_name(self.oid).unwrap_or_else(|| quoted(&self.name))
    }

    /// The place of a new label; `None` where its neighbour is no label, or no number is left between its neighbours.
    pub fn new_place(&self, at: NewPlace<'_>) -> Option<i64> {
        let position = |name: &str| self.labels.iter().position(|label| *label.name == *name);
        let index = match at {
            NewPlace::Last => self.labels.len(),
            NewPlace::Before(name) => position(name)?,
            NewPlace::After(name) => position(name)? + 1,
        };
        let below = index.checked_sub(1).map(|i| self.labels[i].place);
        match (below, self.labels.get(index).map(|label| label.place)) {
            (None, None) => Some(GAP),
            (Some(below), None) => below.checked_add(GAP),
            (None, Some(above)) => above.checked_sub(GAP),
            (Some(below), Some(above)) => {
                let middle = below + (above - below) / 2;
                (middle > below).then_some(middle)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood(names: &[&str]) -> EnumType {
        let label = |(index, name): (usize, &&str)| EnumLabel {
            oid: 1,
            place: EnumType::initial_place(index),
            name: Arc::from(*name),
        };
        EnumType {
            oid: 16_400,
            array: 16_399,
            schema: "public".into(),
            name: "Mood".into(),
            labels: names.iter().enumerate().map(label).collect(),
        }
    }

    #[test]
    fn labels_are_read_and_written() {
        let mood = mood(&["sad", "ok"]);
        let sad = mood.parse("sad").expect("a label");
        let Value::Int8(place) = sad else { panic!("{sad:?}") };
        let mut out = String::new();
        mood.format(place, &mut out);
        mood.format(7, &mut out);
        assert_eq!(out, "sad7");
        let error = mood.parse("SAD").expect_err("labels are not folded");
        assert_eq!(
            (error.sqlstate, error.message.as_str()),
            ("22P02", "invalid input value for enum \"Mood\": \"SAD\"")
        );
    }

    #[test]
    fn new_labels_find_a_place_between_any_two() {
        let mut mood = mood(&["a", "b"]);
        assert_eq!(mood.new_place(NewPlace::Before("x")), None);
        let mut added = 0;
        while let Some(place) = mood.new_place(NewPlace::Before("b")) {
            added += 1;
            let at = mood.labels.len() - 1;
            mood.labels.insert(at, EnumLabel { oid: 2, place, name: format!("n{added}").as_str().into() });
            assert!(mood.labels.is_sorted_by(|a, b| a.place < b.place));
        }
        assert_eq!(added, 40);
        assert!(mood.new_place(NewPlace::Before("a")) < Some(mood.labels[0].place));
        assert!(mood.new_place(NewPlace::Last) > mood.labels.last().map(|label| label.place));
    }
}
