//! Patterns of names: `*` and `?`, a schema before a dot, quotes around what is meant as it stands.

use super::super::arguments::literal;

/// A pattern in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Of the schema, if one was given.
    pub schema: Option<Part>,
    /// Of the name; `None` for all.
    pub name: Option<Part>,
}

/// A name, or a regular expression of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    text: String,
    is_exact: bool,
}

impl Part {
    /// The condition that a column fits. Without anything special in the pattern it is an equality, for which the
    /// database need not look at all names.
    pub fn condition(&self, column: &str) -> String {
        match self.is_exact {
            true => format!("{column} = {}", literal(&self.text)),
            false => format!("{column} OPERATOR(pg_catalog.~) {}", literal(&format!("^({})$", self.text))),
        }
    }

    /// Whether all fit.
    pub fn is_all(&self) -> bool {
        !self.is_exact && self.text == ".*"
    }
}

impl Pattern {
    /// The pattern of a word; `None` is that of everything.
    ///
    /// # Errors
    /// It has more dots than a name has.
    pub fn of(word: Option<&str>) -> Result<Pattern, String> {
        let Some(word) = word else { return Ok(Pattern::default()) };
        let mut parts = split(word);
        let name = parts.pop();
        let schema = parts.pop();
        // A database before the schema can only be the one that is open.
        if parts.len() > 1 {
            return Err(format!("improper qualified name (too many dotted names): {word}"));
        }
        Ok(Pattern { schema, name })
    }

    /// The conditions: of the name, of the schema, or else that the object is visible without one.
    pub fn conditions(&self, name: &str, schema: &str, visible: &str) -> String {
        let mut out = String::new();
        if let Some(part) = self.name.as_ref().filter(|part| !part.is_all()) {
            out.push_str(&format!("\n  AND {}", part.condition(name)));
        }
        match &self.schema {
            Some(part) if !schema.is_empty() && part.is_all() => {}
            Some(part) if !schema.is_empty() => {
                out.push_str(&format!("\n  AND {}", part.condition(schema)));
            }
            _ if !visible.is_empty() => out.push_str(&format!("\n  AND {visible}")),
            _ => {}
        }
        out
    }

    /// The same of a name that may be one of two columns.
    pub fn either(&self, names: [&str; 2]) -> String {
        match self.name.as_ref().filter(|part| !part.is_all()) {
            Some(part) => format!("\n  AND ({} OR {})", part.condition(names[0]), part.condition(names[1])),
            None => String::new(),
        }
    }
}

/// Cuts at dots outside of quotes.
fn split(word: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut part = (String::new(), String::new(), true);
    let mut quoted = false;
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        let (exact, expression, is_exact) = &mut part;
        let mut keep = |character: char| {
            exact.push(character);
            if "|*+?()[]{}.^$\\".contains(character) {
                expression.push('\\');
            }
            expression.push(character);
        };
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => keep('"'),
            '"' => quoted = !quoted,
            other if quoted => keep(other),
            '.' => parts.push(std::mem::replace(&mut part, (String::new(), String::new(), true))),
            '*' => {
                expression.push_str(".*");
                *is_exact = false;
            }
            '?' => {
                expression.push('.');
                *is_exact = false;
            }
            // The dollar may stand in a name; all else is a regular expression's own.
            '$' => keep('$'),
            other if "|+()[]{}^\\".contains(other) => {
                expression.push(other);
                *is_exact = false;
            }
            other => other.to_lowercase().for_each(&mut keep),
        }
    }
    parts.push(part);
    let part = |(exact, expression, is_exact): (String, String, bool)| Part {
        text: if is_exact { exact } else { expression },
        is_exact,
    };
    parts.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(word: &str) -> String {
        let pattern = Pattern::of(Some(word)).expect("a pattern");
        pattern.conditions("c.relname", "n.nspname", "visible").replace("\n  AND ", "; ")
    }

    #[test]
    fn names_are_compared_and_patterns_matched() {
        assert_eq!(conditions("Test"), "; c.relname = 'test'; visible");
        assert_eq!(
            conditions("\"Te st\".T*"),
            "; c.relname OPERATOR(pg_catalog.~) '^(t.*)$'; n.nspname = 'Te st'"
        );
        assert_eq!(conditions("s.*"), "; n.nspname = 's'");
        assert_eq!(conditions("*.*"), "");
        assert_eq!(
            conditions("a?[0-9]$"),
            "; c.relname OPERATOR(pg_catalog.~)  E'^(a.[0-9]\\\\$)$'; visible"
        );
        assert_eq!(conditions("\"a.b\""), "; c.relname = 'a.b'; visible");
    }

    #[test]
    fn too_many_dots_are_an_error() {
        assert!(Pattern::of(Some("a.b.c")).is_ok());
        assert!(Pattern::of(Some("a.b.c.d")).is_err());
    }
}
