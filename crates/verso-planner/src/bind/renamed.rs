//! Texts that the catalog keeps of a table's rows, when the table or one of its columns gets another name.
//!
//! Which words of such a text are names of the table and its columns, binding it tells: the same word may be a type, a field of
//! `extract` or a function there.

use std::ops::Range;

use verso_catalog::{TableDef, TriggerDef};
use verso_parser::quoted;

use super::Binder;
use super::trace::{Source, Trace};

/// What has another name.
#[derive(Clone, Copy, Debug)]
pub enum Renamed<'n> {
    /// The column at that place among all of the table.
    Column(usize, &'n str),
    /// The table.
    Table(&'n str),
}

impl Binder<'_> {
    /// The text of an expression over a table's columns, or over the rows of a trigger, with the new name; none where the text
    /// cannot be bound.
    pub fn renamed_text(
        &self,
        text: &str,
        table: &TableDef,
        trigger: Option<&TriggerDef>,
        renamed: Renamed<'_>,
    ) -> Option<String> {
        let named = self.named_in_text(text, table, trigger)?;
        let text: Vec<char> = text.chars().collect();
        let (mut out, mut at) = (String::new(), 0);
        for (place, source) in named {
            let parts = parts_at(&text, place as usize);
            let (Some(first), Some(last)) = (parts.first(), parts.last()) else { continue };
            let (replaced, name) = match (&source, renamed) {
                (Source::Column(_, column), Renamed::Column(changed, to)) if *column == changed => {
                    (last.clone(), quoted(to))
                }
                // OLD and NEW of a trigger are called what they were called.
                (_, Renamed::Table(_)) if trigger.is_some() => continue,
                (Source::Row(_), Renamed::Table(to)) => (first.start..last.end, quoted(to)),
                // Texts of earlier releases have the table in front of its columns.
                (Source::Column(..) | Source::Number(..), Renamed::Table(to)) if parts.len() > 1 => {
                    (first.start..parts[parts.len() - 2].end, quoted(to))
                }
                _ => continue,
            };
            if replaced.start < at {
                continue;
            }
            out.extend(&text[at..replaced.start]);
            out.push_str(&name);
            at = replaced.end;
        }
        out.extend(&text[at..]);
        Some(out)
    }
}

impl Binder<'_> {
    /// Whether an expression over a table's columns names whole rows of the table: another table has none of their type.
    pub fn names_whole_row(&self, text: &str, table: &TableDef) -> bool {
        let named = self.named_in_text(text, table, None).unwrap_or_default();
        named.iter().any(|(_, source)| matches!(source, Source::Row(_)))
    }

    /// Where a text names columns and whole rows, in order; none where it cannot be bound.
    fn named_in_text(
        &self,
        text: &str,
        table: &TableDef,
        trigger: Option<&TriggerDef>,
    ) -> Option<Vec<(u32, Source)>> {
        let expr = verso_parser::parse_expression(text).ok()?;
        let trace = Trace::default();
        self.traced_expression(&expr, table, trigger, &trace).ok()?;
        Some(trace.named())
    }
}

/// Where the names of a path with points stand that begins at a place; a star behind it is none of them.
fn parts_at(text: &[char], start: usize) -> Vec<Range<usize>> {
    let blanks = |at: usize| text[at..].iter().take_while(|c| c.is_whitespace()).count();
    let (mut parts, mut at) = (Vec::new(), start);
    loop {
        let (end, _) = verso_catalog::identifier(text, at);
        if end == at || end > text.len() {
            return parts;
        }
        parts.push(at..end);
        let point = end + blanks(end);
        if text.get(point) != Some(&'.') {
            return parts;
        }
        at = point + 1 + blanks(point + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths_are_found_without_the_star() {
        let parts = |text: &str| {
            let chars: Vec<char> = text.chars().collect();
            let parts = parts_at(&chars, 0);
            parts.into_iter().map(|part| chars[part].iter().collect()).collect::<Vec<String>>()
        };
        assert_eq!(parts("a = 1"), ["a"]);
        assert_eq!(parts("s . \"T.x\".a)"), ["s", "\"T.x\"", "a"]);
        assert_eq!(parts("t.*"), ["t"]);
        assert!(parts("").is_empty() && parts("(a)").is_empty());
    }
}
