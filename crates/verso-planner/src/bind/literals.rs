//! Literals in texts that the catalog keeps: what they mean does not depend on who uses the text.
//!
//! ```text
//! DateStyle = DMY, TimeZone = Asia/Tokyo     what is kept
//! DEFAULT '01/02/2024'                       DEFAULT '2024-02-01'
//! CHECK (t > '2024-01-01 00:00')             CHECK (t > '2023-12-31 15:00:00+00')
//! SELECT nextval('s')                        SELECT nextval('16430'::regclass)
//! ```
//!
//! M1. A literal of a date, a time or an interval is read with the settings of the session that gives the text, once. The text is
//!     kept with what it means in its place, written in ISO 8601 and UTC, and read so from then on. `now` and `today` mean the
//!     moment at which the text is given.
//! M2. Casts that heed a setting (`timestamp '…'::timestamptz`) are computed when a kept text is used, as in PostgreSQL.
//! M3. A literal that names a user's object (`'t'::regclass`) is kept as its number, so neither another name nor another search
//!     path changes what it means.
//! M4. A literal is replaced where it stands: one whose place is not known for sure stays as it was written.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use verso_catalog::{NOWHERE, Oid};
use verso_types::{SqlType, SystemType, TimeStyle, Value, format_text};

use super::Binder;

/// Literals of one text, by their places.
#[derive(Debug, Default)]
pub(super) struct Literals(RefCell<BTreeMap<Place, Literal>>);

/// Where a literal stands: its first character, or which one it is in a row that begins there.
type Place = (u32, Option<usize>);

#[derive(Debug)]
struct Literal {
    written: Box<str>,
    meant: Box<str>,
    /// The type that it has to be cast to, so that it means an object by its number.
    cast: Option<&'static str>,
}

impl Literals {
    /// Notes what the literal of a moment at a place of the statement means.
    fn moment(&self, at: Place, written: &str, value: &Value, ty: &SqlType) {
        let mut meant = String::new();
        format_text(value, ty, &TimeStyle::UTC, &mut meant);
        if meant != written {
            let literal = Literal { written: written.into(), meant: meant.into(), cast: None };
            self.0.borrow_mut().insert(at, literal);
        }
    }

    /// Notes that the literal at a place of the statement names objects by `meant`, and of which type it is.
    fn objects(&self, at: Place, written: &str, meant: String, ty: &'static str) {
        let literal = Literal { written: written.into(), meant: meant.into(), cast: Some(ty) };
        self.0.borrow_mut().insert(at, literal);
    }

    /// The literals of a text that begins at a place of the statement, and what is to stand for them; in order.
    pub(super) fn edits(self, text: &[char], start: u32) -> Vec<(Range<usize>, String)> {
        let edit = |((at, part), noted): (Place, Literal)| {
            let from = at.checked_sub(start)? as usize;
            let from = part.map_or(Some(from), |part| part_of_row(text, from, part))?;
            // Parentheses around it say nothing.
            let from =
                from + text.get(from..)?.iter().take_while(|c| **c == '(' || c.is_whitespace()).count();
            let (end, written) = literal(text, from)?;
            let is_it = written.is_none_or(|written| *written == *noted.written);
            let behind: String = text[end..].iter().filter(|c| !c.is_whitespace()).take(16).collect();
            let is_cast = |ty: &&str| behind.to_lowercase().starts_with(&format!("::{ty}"));
            let cast = noted.cast.filter(|ty| !is_cast(ty)).map_or_else(String::new, |ty| format!("::{ty}"));
            is_it.then(|| (from..end, format!("'{}'{cast}", noted.meant.replace('\'', "''"))))
        };
        let mut edits: Vec<(Range<usize>, String)> =
            self.0.into_inner().into_iter().filter_map(edit).collect();
        // One that was noted twice, as itself and as a part of a row, say, is replaced once.
        edits.sort_by_key(|(place, _)| place.start);
        edits.dedup_by_key(|(place, _)| place.start);
        edits
    }
}

/// Where the literal ends that begins at a place, and what it says, if it is a plain one.
fn literal(text: &[char], start: usize) -> Option<(usize, Option<String>)> {
    let prefix = text.get(start..)?.iter().take_while(|c| c.is_ascii_alphabetic() || **c == '&').count();
    let open = start + prefix;
    match text.get(open)? {
        '\'' if prefix <= 2 => {
            let escapes = matches!(text[start], 'e' | 'E');
            let (mut at, mut said) = (open + 1, String::new());
            loop {
                match (*text.get(at)?, text.get(at + 1)) {
                    ('\'', Some('\'')) => at += 1,
                    ('\'', _) => match continued(text, at + 1) {
                        Some(next) => {
                            at = next;
                            continue;
                        }
                        None => return Some((escaped(text, start, at + 1), (prefix == 0).then_some(said))),
                    },
                    ('\\', Some(_)) if escapes => at += 1,
                    _ => {}
                }
                said.push(text[at]);
                at += 1;
            }
        }
        '$' if prefix == 0 => {
            let tag = 2 + text[open + 1..].iter().position(|c| *c == '$')?;
            let (tag, within) = text[open..].split_at(tag);
            let said = within.windows(tag.len()).position(|part| part == tag)?;
            Some((open + 2 * tag.len() + said, Some(within[..said].iter().collect())))
        }
        _ => None,
    }
}

/// Where a literal goes on that ends on a line before: behind the quote that follows.
fn continued(text: &[char], end: usize) -> Option<usize> {
    let blanks = text[end..].iter().take_while(|c| c.is_whitespace()).count();
    let goes_on = text[end..end + blanks].contains(&'\n') && text.get(end + blanks) == Some(&'\'');
    goes_on.then_some(end + blanks + 1)
}

/// Where a literal ends, with what stands behind `U&'…'`: `UESCAPE '!'`.
fn escaped(text: &[char], start: usize, end: usize) -> usize {
    let word = text[end..].iter().take_while(|c| c.is_whitespace()).count() + end;
    let is_word = matches!(text[start], 'u' | 'U')
        && text[word..].iter().take(7).collect::<String>().eq_ignore_ascii_case("uescape");
    let quoted = |open: usize| text[open..].iter().position(|c| *c == '\'').map(|at| open + at + 1);
    is_word.then(|| quoted(word).and_then(quoted)).flatten().unwrap_or(end)
}

/// Where the n-th part of a row begins, be it written with ROW or without.
fn part_of_row(text: &[char], start: usize, part: usize) -> Option<usize> {
    let mut at = start + text.get(start..)?.iter().position(|c| *c == '(')? + 1;
    let (mut depth, mut before) = (0, 0);
    while before < part {
        match text.get(at)? {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => return None,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => before += 1,
            '"' => at += 1 + text[at + 1..].iter().position(|c| *c == '"')?,
            _ => {
                if let Some((end, _)) = literal(text, at) {
                    at = end;
                    continue;
                }
            }
        }
        at += 1;
    }
    Some(at)
}

/// A text with these changes made, and where a place of it is then.
pub(super) fn settled(
    text: &[char],
    edits: &[(Range<usize>, String)],
) -> (String, impl Fn(u32) -> u32 + use<>) {
    let (mut out, mut next, mut shifts) = (String::new(), 0, Vec::new());
    for (place, new) in edits {
        out.extend(&text[next..place.start]);
        out.push_str(new);
        next = place.end;
        // What only comes in stands in front of the character at its place.
        let from = if place.is_empty() { place.start } else { place.start + 1 };
        shifts.push((from as u32, new.chars().count() as i64 - place.len() as i64));
    }
    out.extend(&text[next..]);
    let moved = move |place: u32| {
        let before = shifts.iter().filter(|(from, _)| *from <= place).map(|(_, shift)| shift).sum::<i64>();
        u32::try_from(i64::from(place) + before).unwrap_or(place)
    };
    (out, moved)
}

/// Whether what a literal of the type means depends on settings.
fn heeds_style(ty: &SqlType) -> bool {
    match ty {
        SqlType::Interval(_) => true,
        SqlType::Array(element) => heeds_style(element),
        SqlType::Row(row) => row.fields.iter().any(|(_, ty)| heeds_style(ty)),
        ty => ty.has_times(),
    }
}

/// What a type is called whose literals are kept as numbers (M3).
fn named_by(ty: SystemType) -> Option<&'static str> {
    match ty {
        SystemType::Regclass => Some("regclass"),
        SystemType::Regtype => Some("regtype"),
        SystemType::Regproc => Some("regproc"),
        SystemType::Regprocedure => Some("regprocedure"),
        SystemType::Regcollation => Some("regcollation"),
        _ => None,
    }
}

/// The same of an array's elements: what they are called, and the array.
fn named_in(element: &SqlType) -> Option<(&'static str, &'static str)> {
    let SqlType::System(element) = element else { return None };
    let name = named_by(*element)?;
    let of_array = match name {
        "regclass" => "regclass[]",
        "regtype" => "regtype[]",
        "regproc" => "regproc[]",
        "regprocedure" => "regprocedure[]",
        _ => return None,
    };
    Some((name, of_array))
}

impl Binder<'_> {
    /// Whether the text that is bound is one of the catalog's (M1).
    pub(super) fn reads_kept(&self) -> bool {
        self.kept || self.stored.is_some()
    }

    /// Whether the text that is bound is to be kept.
    pub(super) fn is_noted(&self) -> bool {
        self.literals().next().is_some()
    }

    /// Notes what a literal of a text that is to be kept means.
    pub(super) fn note_literal(&self, at: Place, written: &str, value: &Value, ty: &SqlType) {
        match (ty, value) {
            (SqlType::System(system), Value::Int8(oid)) => {
                let oid = u32::try_from(*oid).ok().map(Oid).filter(|oid| !oid.is_system());
                if let (Some(oid), Some(ty)) = (oid, named_by(*system)) {
                    self.note_object(at, written, oid, ty);
                }
            }
            (SqlType::Array(element), Value::Array(array))
                if array.is_plain() && named_in(element).is_some() =>
            {
                let Some((ty, of_array)) = named_in(element) else { return };
                let oids = array.iter().filter_map(Value::as_i64).filter_map(|oid| u32::try_from(oid).ok());
                let oids: Vec<Oid> = oids.map(Oid).collect();
                // NULLs stay as they are written; the system's own objects have their names for good.
                if oids.len() == array.len() && oids.iter().any(|oid| !oid.is_system()) {
                    let numbers: Vec<String> = oids.iter().map(ToString::to_string).collect();
                    let meant = format!("{{{}}}", numbers.join(","));
                    self.literals().for_each(|literals| {
                        literals.objects(at, written, meant.clone(), of_array);
                    });
                    oids.into_iter().filter(|oid| !oid.is_system()).for_each(|oid| self.note_use(oid, ty));
                }
            }
            (ty, value) if heeds_style(ty) => {
                self.literals().for_each(|literals| literals.moment(at, written, value, ty));
            }
            _ => {}
        }
    }

    /// Notes which object a literal names.
    pub(super) fn note_object(&self, at: Place, written: &str, oid: Oid, ty: &'static str) {
        self.literals().for_each(|literals| literals.objects(at, written, oid.to_string(), ty));
        self.note_use(oid, ty);
    }

    /// Notes that the text cannot do without an object.
    fn note_use(&self, oid: Oid, ty: &str) {
        if let Some(noting) = self.noting {
            match ty {
                "regtype" => noting.user_type(NOWHERE, oid),
                "regproc" | "regprocedure" => noting.function(NOWHERE, oid),
                "regclass" => noting.relation(NOWHERE, oid, &[]),
                _ => {}
            }
        }
    }

    fn literals(&self) -> impl Iterator<Item = &Literals> {
        self.notes().map(super::stored::Notes::literals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn literals_end_where_they_end() {
        let said = |text: &str| literal(&chars(text), 0);
        assert_eq!(said("'a''b' x"), Some((6, Some("a'b".to_owned()))));
        assert_eq!(said(r"E'a\'b' x"), Some((7, None)));
        assert_eq!(said("U&'ab' x"), Some((6, None)));
        assert_eq!(said("$$a$b$$ x"), Some((7, Some("a$b".to_owned()))));
        assert_eq!(said("$t$a$$b$t$ x"), Some((10, Some("a$$b".to_owned()))));
        assert_eq!(said("'a'\n  'b' x"), Some((9, Some("ab".to_owned()))));
        assert_eq!(said("'a' 'b'"), Some((3, Some("a".to_owned()))));
        assert_eq!(said("U&'a!2F' UESCAPE '!' x"), Some((20, None)));
        assert_eq!(said("U&'ab' uescaped"), Some((6, None)));
        assert_eq!(said("date 'a'"), None);
        assert_eq!(said("'open"), None);
        assert_eq!(said("x"), None);
    }

    #[test]
    fn only_the_literal_that_was_read_is_replaced_and_places_behind_it_move() {
        let text = chars("f('01/02/2024', g('x'))");
        let literals = Literals::default();
        literals.moment((102, None), "01/02/2024", &Value::text("2024-02-01"), &SqlType::Text);
        literals.moment((118, None), "y", &Value::text("z"), &SqlType::Text);
        let edits = literals.edits(&text, 100);
        assert_eq!(edits, [(2..14, "'2024-02-01'".to_owned())]);
        let longer = [(2..14, "'2024-02-01 15:00:00'".to_owned())];
        let (kept, moved) = settled(&text, &longer);
        assert_eq!(kept, "f('2024-02-01 15:00:00', g('x'))");
        assert_eq!((moved(0), moved(2), moved(16)), (0, 2, 25));
    }

    #[test]
    fn a_literal_is_found_in_parentheses_and_in_rows() {
        let edits = |text: &str, at: Place| {
            let literals = Literals::default();
            literals.moment(at, "a", &Value::text("b"), &SqlType::Text);
            literals.edits(&chars(text), 0).pop().map(|(place, _)| place)
        };
        assert_eq!(edits("( ('a'))", (0, None)), Some(3..6));
        assert_eq!(edits("row('a', 'a')", (0, Some(1))), Some(9..12));
        assert_eq!(edits("('x,y', f(1, \"),\"), array[1,2], 'a')", (0, Some(3))), Some(32..35));
        assert_eq!(edits("('x', 'b')", (0, Some(1))), None);
        assert_eq!(edits("('x')", (0, Some(1))), None);
    }

    #[test]
    fn a_literal_that_was_noted_twice_is_replaced_once_and_in_order() {
        let literals = Literals::default();
        for (at, written) in [((0, None), "a"), ((0, Some(0)), "a"), ((0, Some(1)), "b"), ((1, None), "a")] {
            literals.moment(at, written, &Value::text("c"), &SqlType::Text);
        }
        let text = chars("('a', 'b')");
        let edits = literals.edits(&text, 0);
        assert_eq!(settled(&text, &edits).0, "('c', 'c')");
    }

    #[test]
    fn a_number_in_place_of_a_name_is_cast_once() {
        let edits = |text: &str| {
            let literals = Literals::default();
            literals.objects((2, None), "s", "16430".to_owned(), "regclass");
            literals.edits(&chars(text), 0).pop().map(|(_, new)| new)
        };
        assert_eq!(edits("f('s')").as_deref(), Some("'16430'::regclass"));
        assert_eq!(edits("f('s' :: regclass)").as_deref(), Some("'16430'"));
        assert_eq!(edits("f('s'::text)").as_deref(), Some("'16430'::regclass"));
        assert_eq!(edits("f('other')"), None);
    }
}
