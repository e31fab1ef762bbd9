//! The query of a view as text: the text that was given, and what its names meant then.
//!
//! The names of relations and functions are replaced by what they are called now, with their schemas. A relation whose columns
//! have changed since is replaced by a query that shows those of then, so that `*` and renamed columns mean the same.

use verso_types::keyword::{Class, class_of, quoted};

use crate::definition::{ColumnDef, ViewDef};
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::stored::{NOWHERE, StoredColumn, StoredRelation};

fn name(name: &str) -> String {
    quoted(name)
}

fn qualified(schema: &str, relation: &str) -> String {
    format!("{}.{}", name(schema), name(relation))
}

/// The query of a view with the names that relations and functions have today.
pub fn view_text(catalog: &CatalogSnapshot, view: &ViewDef) -> String {
    let text: Vec<char> = view.query.text.chars().collect();
    let mut changes: Vec<(std::ops::Range<usize>, String)> = Vec::new();
    for relation in view.query.relations.iter().filter(|relation| relation.is_named()) {
        let Some(now) = catalog.relation_by_oid(relation.relation) else { continue };
        let start = relation.place as usize;
        let (end, written) = path(&text, start);
        let shown = relation_text(now, relation, &text, end, &written);
        let is_plain = shown == qualified(now.schema(), now.name());
        match table_word(&text, start).filter(|_| !is_plain) {
            // `TABLE t` has no other names for anything.
            Some(word) => changes.push((word..end, format!("SELECT * FROM {shown}"))),
            None => changes.push((start..end, shown)),
        }
    }
    for (place, oid) in view.query.functions.iter().filter(|(place, _)| *place != NOWHERE) {
        let Some(function) = catalog.function_by_oid(*oid) else { continue };
        let start = *place as usize;
        let (end, _) = path(&text, start);
        // Earlier releases noted places of other texts, too; a call goes on with its arguments.
        if text.get(skip(&text, end)) == Some(&'(') {
            changes.push((start..end, qualified(&function.schema, &function.name)));
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    let mut out = String::new();
    let mut at = 0;
    for (range, new) in changes {
        if range.start < at {
            continue; // noted twice
        }
        out.extend(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.extend(&text[at..]);
    // Literals name objects by their numbers, and so the text names types, collations and operators.
    crate::kept::with_names(catalog, &out)
}

/// Whether relations of a view have other columns than when it was made. [`view_text`] then has queries in their place, whose rows
/// as a whole are of no relation's type.
pub fn has_other_columns(catalog: &CatalogSnapshot, view: &ViewDef) -> bool {
    let is_other = |then: &StoredRelation| {
        let now = catalog.relation_by_oid(then.relation);
        now.is_some_and(|now| !has_same_columns(columns_of(now), &then.columns))
    };
    // Those without a place are used as fields of rows, or are rows of functions: their stars and names are all that there were.
    let has_other_fields = |then: &StoredRelation| {
        let now = catalog.fields_of(then.relation);
        let known = then.columns.iter().map(|then| (then.id, &then.name));
        !now.iter().map(|(id, name)| (*id, name)).eq(known)
    };
    let is_other = |then: &StoredRelation| match then.place {
        NOWHERE if then.columns.is_empty() => false,
        NOWHERE => has_other_fields(then),
        _ => is_other(then),
    };
    view.query.relations.iter().any(is_other)
}

/// Whether relations of a view are called otherwise than in its query, where that calls their columns by no other name. [`view_text`]
/// then calls them what they were called.
pub fn has_other_names(catalog: &CatalogSnapshot, view: &ViewDef) -> bool {
    let text: Vec<char> = view.query.text.chars().collect();
    view.query.relations.iter().filter(|relation| relation.is_named()).any(|then| {
        let (end, written) = path(&text, then.place as usize);
        let is_other = |now: &Relation| **now.name() != *written && !has_alias(&text, end);
        catalog.relation_by_oid(then.relation).is_some_and(is_other)
    })
}

fn columns_of(relation: &Relation) -> &[ColumnDef] {
    match relation {
        Relation::Table(table) => table.shown(),
        Relation::View(view) => &view.columns,
        Relation::Sequence(_) | Relation::Index(_) => &[],
    }
}

fn has_same_columns(now: &[ColumnDef], then: &[StoredColumn]) -> bool {
    now.len() == then.len()
        && now.iter().zip(then).all(|(now, then)| now.id == then.id && now.name == then.name)
}

/// What stands for a relation that is read, by what its name meant in the text: a query that shows its columns of then, if it has
/// others by now. The name, `written` so, ends at a character of the text.
pub fn relation_text(
    now: &Relation,
    then: &StoredRelation,
    text: &[char],
    end: usize,
    written: &str,
) -> String {
    let place = qualified(now.schema(), now.name());
    let columns = columns_of(now);
    let same = has_same_columns(columns, &then.columns);
    let shown = if same {
        place
    } else {
        let column = |then: &StoredColumn| {
            let now = columns.iter().find(|now| now.id == then.id)?;
            Some(match now.name == then.name {
                true => name(&now.name),
                false => format!("{} AS {}", name(&now.name), name(&then.name)),
            })
        };
        let list: Vec<String> = then.columns.iter().filter_map(column).collect();
        format!("(SELECT {} FROM {place})", list.join(", "))
    };
    let renamed = !same || **now.name() != *written;
    if renamed && !has_alias(text, end) { format!("{shown} AS {}", name(written)) } else { shown }
}

/// Where the name with points that begins at a place ends, and its last part.
fn path(text: &[char], start: usize) -> (usize, String) {
    let mut at = start;
    loop {
        let (end, part) = identifier(text, at);
        let behind = skip(text, end);
        let after = skip(text, behind + 1);
        let more = text.get(behind) == Some(&'.')
            && text.get(after).is_some_and(|next| *next == '"' || *next == '_' || next.is_alphabetic());
        if !more {
            return (end, part);
        }
        at = after;
    }
}

/// Where the name with points that begins at a place ends, and its last part.
pub fn path_at(text: &[char], start: usize) -> (usize, String) {
    path(text, start)
}

/// Where a name that begins at `start` ends, quoted or not, and what it means.
pub fn identifier(text: &[char], start: usize) -> (usize, String) {
    if text.get(start) != Some(&'"') {
        let is_part = |c: &&char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let part: String = text.get(start..).unwrap_or_default().iter().take_while(is_part).collect();
        return (start + part.chars().count(), part.to_lowercase());
    }
    let mut part = String::new();
    let mut at = start + 1;
    while let Some(c) = text.get(at) {
        at += 1;
        if *c == '"' {
            if text.get(at) != Some(&'"') {
                break;
            }
            at += 1;
        }
        part.push(*c);
    }
    (at, part)
}

/// Where the word TABLE stands before a name, if it does.
fn table_word(text: &[char], name: usize) -> Option<usize> {
    let blanks = text.get(..name)?.iter().rev().take_while(|c| c.is_whitespace()).count();
    let end = name - blanks;
    let word: String = text.get(end.checked_sub(5)?..end)?.iter().collect();
    let begins = end == 5 || !(text[end - 6].is_alphanumeric() || matches!(text[end - 6], '_' | '$' | '"'));
    (blanks > 0 && begins && word.eq_ignore_ascii_case("table")).then_some(end - 5)
}

/// Passes over blanks and comments.
fn skip(text: &[char], mut at: usize) -> usize {
    let pair = |at: usize, a: char, b: char| text.get(at) == Some(&a) && text.get(at + 1) == Some(&b);
    while at < text.len() {
        if text[at].is_whitespace() {
            at += 1;
        } else if pair(at, '-', '-') {
            while at < text.len() && text[at] != '\n' {
                at += 1;
            }
        } else if pair(at, '/', '*') {
            let mut depth = 0;
            loop {
                if pair(at, '/', '*') {
                    (depth, at) = (depth + 1, at + 2);
                } else if pair(at, '*', '/') {
                    (depth, at) = (depth - 1, at + 2);
                } else {
                    at += 1;
                }
                if depth == 0 || at >= text.len() {
                    break;
                }
            }
        } else {
            break;
        }
    }
    at
}

/// Whether an alias stands behind a relation.
pub(crate) fn has_alias(text: &[char], end: usize) -> bool {
    let mut at = skip(text, end);
    if text.get(at) == Some(&'*') {
        at = skip(text, at + 1);
    }
    if text.get(at) == Some(&'"') {
        return true;
    }
    let (_, word) = identifier(text, at);
    let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    word == "as" || (is_name && matches!(class_of(&word), Class::Plain | Class::Column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn names_end_where_they_end() {
        let end = |text: &str| path(&chars(text), 0);
        assert_eq!(end("Tab x"), (3, "tab".to_owned()));
        assert_eq!(end("a . /* c */ \"B \"\"q\" x"), (19, "B \"q".to_owned()));
        assert_eq!(end("a.b(1)"), (3, "b".to_owned()));
        assert_eq!(end("ärger"), (5, "ärger".to_owned()));
    }

    #[test]
    fn the_word_table_is_found_before_a_name() {
        let word = |text: &str| table_word(&chars(text), text.chars().count());
        assert_eq!(
            (word("TABLE "), word("(table\n "), word("select 1 union Table ")),
            (Some(0), Some(1), Some(15))
        );
        assert_eq!(
            (word("from "), word("a_table "), word("table"), word(""), word("vegetable ")),
            (None, None, None, None, None)
        );
    }

    #[test]
    fn aliases_are_told_from_what_may_follow() {
        for (behind, alias) in [
            ("", false),
            (" x", true),
            (" AS x", true),
            (" \"X\"", true),
            (" * x", true),
            (" -- c\n x", true),
            (" /* a /* b */ */ where true", false),
            (" left join b", false),
            (" JOIN b", false),
            (", b", false),
            (") q", false),
            (" order by 1", false),
            (" tablesample system (1)", false),
        ] {
            assert_eq!(has_alias(&chars(&format!("t{behind}")), 1), alias, "{behind}");
        }
    }
}
