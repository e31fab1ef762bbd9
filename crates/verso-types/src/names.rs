//! Names of catalog entries, for the types that refer to them by number: `regclass` and its relatives.
//!
//! Reading and writing a value of such a type needs the catalog, which this crate knows nothing of. The session that runs
//! a statement lends the thread its view of the catalog ([`lend`]) before it binds or runs anything; the readers and writers
//! of values ask here. Without one, only numbers are read and written.
//!
//! 1. What was lent holds for the thread until something else is lent: a session lends its own whenever it has taken its
//!    view of the catalog, so a statement never sees that of another session which ran before it on the same thread.
//! 2. The session stays the owner: the thread does not keep a catalog alive, nor the database behind it.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use crate::error::TypeError;
use crate::sqlstate;
use crate::sqltype::SqlType;
use crate::system_type::SystemType;

/// The names of catalog entries, as one session sees them.
pub trait ObjectNames: Send + Sync {
    /// The entry that a text means, which is no number; none if there is no such entry.
    ///
    /// # Errors
    /// Where the text is no name, or means several entries.
    fn find(&self, ty: SystemType, text: &str) -> Result<Option<u32>, TypeError>;
    /// How the session writes the entry; none if there is no such entry.
    fn name(&self, ty: SystemType, oid: u32) -> Option<String>;
    /// The functions of the system that a call of this name with arguments of these types may mean: mostly one.
    fn called(&self, name: &str, types: &[u32]) -> Vec<u32> {
        let _ = (name, types);
        Vec::new()
    }
    /// Whether rows of the one type are rows of the other as well: those of a partition are rows of its table, those of a
    /// typed table are of its type.
    fn are_rows_of(&self, part: u32, whole: u32) -> bool {
        let _ = (part, whole);
        false
    }
    /// Whether the label of an enum type, by its number, waits for the commit of the transaction that added it.
    fn is_new_label(&self, label: u32) -> bool {
        let _ = label;
        false
    }
}

thread_local! {
    static NAMES: RefCell<Option<Weak<dyn ObjectNames>>> = const { RefCell::new(None) };
}

/// From now on the thread reads and writes names as these say.
pub fn lend(names: &Arc<dyn ObjectNames>) {
    NAMES.with(|cell| {
        let mut lent = cell.borrow_mut();
        let same = lent
            .as_ref()
            .is_some_and(|lent| lent.strong_count() > 0 && Weak::ptr_eq(lent, &Arc::downgrade(names)));
        if !same {
            *lent = Some(Arc::downgrade(names));
        }
    });
}

/// The names that the thread reads and writes.
pub fn lent() -> Option<Arc<dyn ObjectNames>> {
    NAMES.with(|cell| cell.borrow().as_ref()?.upgrade())
}

/// Reads a reference: a name, a number, or `-` for none.
///
/// # Errors
/// 42P01, 42704, 42883 and their relatives where there is no such entry.
pub fn parse_reference(ty: SystemType, text: &str) -> Result<i64, TypeError> {
    match find_reference(ty, text)? {
        Some(oid) => Ok(oid),
        None => Err(missing(ty, text)),
    }
}

/// As [`parse_reference`], but none where there is no such entry: `to_regclass` and its relatives.
///
/// # Errors
/// Where the text is no name.
pub fn find_reference(ty: SystemType, text: &str) -> Result<Option<i64>, TypeError> {
    let trimmed = text.trim();
    if text == "-" && ty != SystemType::Regoper {
        return Ok(Some(0));
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return crate::text::parse_oid(trimmed, "oid").map(Some);
    }
    match lent() {
        Some(names) => Ok(names.find(ty, trimmed)?.map(i64::from)),
        None => Ok(None),
    }
}

/// A type's name as the session writes it; none where no names are lent, or no such type is known.
pub fn type_name(oid: u32) -> Option<String> {
    lent()?.name(SystemType::Regtype, oid)
}

/// Whether nobody may use a label of an enum type yet; not where no names are lent.
pub fn is_new_label(label: u32) -> bool {
    lent().is_some_and(|names| names.is_new_label(label))
}

/// Whether rows of the one composite type are rows of the other as well; not where no names are lent.
pub fn are_rows_of(part: u32, whole: u32) -> bool {
    lent().is_some_and(|names| names.are_rows_of(part, whole))
}

/// A name as it is looked up: without quotes, and in small letters where it has none.
fn unquoted(text: &str) -> String {
    let (mut name, mut quoted, mut rest) = (String::new(), false, text.chars().peekable());
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => name.extend(rest.next()),
            '"' => quoted = !quoted,
            c if quoted => name.push(c),
            c => name.push(c.to_ascii_lowercase()),
        }
    }
    name
}

/// What the input functions say where there is no such entry.
#[cold]
fn missing(ty: SystemType, text: &str) -> TypeError {
    let text = match ty {
        SystemType::Regclass | SystemType::Regnamespace | SystemType::Regrole | SystemType::Regcollation => {
            &unquoted(text.trim())
        }
        _ => text.trim(),
    };
    let (code, message) = match ty {
        SystemType::Regclass => ("42P01", format!("relation \"{text}\" does not exist")),
        SystemType::Regtype => (sqlstate::UNDEFINED_OBJECT, format!("type \"{text}\" does not exist")),
        SystemType::Regnamespace => ("3F000", format!("schema \"{text}\" does not exist")),
        SystemType::Regrole => (sqlstate::UNDEFINED_OBJECT, format!("role \"{text}\" does not exist")),
        SystemType::Regoper | SystemType::Regoperator => {
            ("42883", format!("operator does not exist: {text}"))
        }
        SystemType::Regcollation => {
            let message = format!("collation \"{text}\" for encoding \"UTF8\" does not exist");
            (sqlstate::UNDEFINED_OBJECT, message)
        }
        SystemType::Regconfig => {
            let message = format!("text search configuration \"{text}\" does not exist");
            (sqlstate::UNDEFINED_OBJECT, message)
        }
        SystemType::Regdictionary => {
            (sqlstate::UNDEFINED_OBJECT, format!("text search dictionary \"{text}\" does not exist"))
        }
        _ => ("42883", format!("function \"{text}\" does not exist")),
    };
    TypeError::new(code, message)
}

/// Writes a reference: the entry's name, its number where there is no such entry, `-` for none (`0` for operators).
pub fn format_reference(ty: SystemType, oid: i64, out: &mut String) {
    use std::fmt::Write;
    if oid == 0 {
        let operator = matches!(ty, SystemType::Regoper | SystemType::Regoperator);
        return out.push(if operator { '0' } else { '-' });
    }
    let name = |oid: u32| {
        // Types of the system may be hidden by others along the search path; without a session they are called by their own names.
        let own = || SqlType::from_pg_oid(oid, -1).filter(|_| ty == SystemType::Regtype);
        lent().and_then(|names| names.name(ty, oid)).or_else(|| own().map(|known| known.regtype_name()))
    };
    let name = u32::try_from(oid).ok().and_then(name);
    match name {
        Some(name) => out.push_str(&name),
        None => write!(out, "{oid}").expect("a String takes everything"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl ObjectNames for One {
        fn find(&self, ty: SystemType, text: &str) -> Result<Option<u32>, TypeError> {
            Ok((ty == SystemType::Regclass && text == "t").then_some(16_400))
        }

        fn name(&self, ty: SystemType, oid: u32) -> Option<String> {
            (ty == SystemType::Regclass && oid == 16_400).then(|| "t".to_string())
        }
    }

    #[test]
    fn references_are_names_where_names_are_lent_and_numbers_otherwise() {
        let shown = |oid| {
            let mut out = String::new();
            format_reference(SystemType::Regclass, oid, &mut out);
            out
        };
        assert_eq!((shown(16_400).as_str(), shown(0).as_str()), ("16400", "-"));
        let mut ty = String::new();
        format_reference(SystemType::Regtype, 23, &mut ty);
        assert_eq!(ty, "integer");
        assert_eq!(parse_reference(SystemType::Regclass, "t").unwrap_err().sqlstate, "42P01");
        let names: Arc<dyn ObjectNames> = Arc::new(One);
        lend(&names);
        assert_eq!(parse_reference(SystemType::Regclass, " t "), Ok(16_400));
        assert_eq!(parse_reference(SystemType::Regclass, "77"), Ok(77));
        assert_eq!(parse_reference(SystemType::Regclass, "-"), Ok(0));
        assert_eq!(find_reference(SystemType::Regtype, "t"), Ok(None));
        assert_eq!((shown(16_400).as_str(), shown(77).as_str()), ("t", "77"));
        drop(names);
        assert_eq!(shown(16_400), "16400");
    }
}
