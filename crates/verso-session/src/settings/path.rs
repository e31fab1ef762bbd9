//! The value of `search_path`: a list of names.

use std::sync::Arc;

/// The names of a list, folded unless they are quoted; none if it is no list of names.
pub(crate) fn names(list: &str) -> Option<Vec<Arc<str>>> {
    let mut names = Vec::new();
    let mut rest = list.trim_start();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = name(rest)?;
        names.push(Arc::from(cut(&name)));
        let behind = behind.trim_start();
        if behind.is_empty() {
            return Some(names);
        }
        rest = behind.strip_prefix(',')?.trim_start();
    }
}

/// The name that a text begins with, and what is behind it.
fn name(text: &str) -> Option<(String, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut name = String::new();
        let mut chars = quoted.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    chars.next();
                    name.push('"');
                }
                '"' => return Some((name, &quoted[at + 1..])),
                c => name.push(c),
            }
        }
        return None;
    }
    let end = text.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_ascii_lowercase(), &text[end..]))
}

/// Names have at most 63 bytes.
fn cut(name: &str) -> &str {
    let end = (0..=name.len().min(63)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &str) -> Option<Vec<String>> {
        names(list).map(|names| names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn lists_of_names_are_read_as_postgresql_reads_them() {
        let some = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(texts("\"$user\", public"), some(&["$user", "public"]));
        assert_eq!(texts("A,\"B c\" , d"), some(&["a", "B c", "d"]));
        assert_eq!(texts("\"a\"\"b\""), some(&["a\"b"]));
        assert_eq!(texts(""), some(&[]));
        assert_eq!(texts("\"\""), some(&[""]));
        for wrong in ["a,", ",a", "a b", "\"a", "a,,b"] {
            assert_eq!(texts(wrong), None, "{wrong}");
        }
    }
}
