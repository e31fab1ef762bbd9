//! LIKE and ILIKE patterns, compiled once.

use verso_types::TypeError;

use crate::plan::{ExprKind, TypedExpr};

/// One step of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// These bytes.
    Text(Vec<u8>),
    /// `_`: one character.
    One,
    /// `%`: any characters.
    Many,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct LikePattern {
    steps: Vec<Step>,
    fold: bool,
}

impl LikePattern {
    /// Compiles a pattern; an empty `escape` means there is none.
    pub fn new(pattern: &str, escape: &str, fold: bool) -> Result<Self, TypeError> {
        let mut marks = escape.chars();
        let mark = marks.next();
        if marks.next().is_some() {
            return Err(TypeError::new("22025", "invalid escape string")
                .with_hint("Escape string must be empty or one character."));
        }
        let folded = if fold { pattern.to_lowercase() } else { pattern.to_owned() };
        let mut steps: Vec<Step> = Vec::new();
        let mut chars = folded.chars();
        while let Some(c) = chars.next() {
            let literal = if Some(c) == mark {
                chars.next().ok_or_else(|| {
                    TypeError::new("22025", "LIKE pattern must not end with escape character")
                })?
            } else if c == '%' {
                if steps.last() != Some(&Step::Many) {
                    steps.push(Step::Many);
                }
                continue;
            } else if c == '_' {
                steps.push(Step::One);
                continue;
            } else {
                c
            };
            let mut buffer = [0; 4];
            let bytes = literal.encode_utf8(&mut buffer).as_bytes();
            match steps.last_mut() {
                Some(Step::Text(text)) => text.extend_from_slice(bytes),
                _ => steps.push(Step::Text(bytes.to_vec())),
            }
        }
        Ok(Self { steps, fold })
    }

    /// The pattern of a LIKE whose pattern and escape are literals; `None` when they are not.
    pub fn of_literals(
        pattern: &TypedExpr,
        escape: Option<&TypedExpr>,
        fold: bool,
    ) -> Option<Result<Self, TypeError>> {
        let text = |expr: &TypedExpr| match &expr.kind {
            ExprKind::Literal(value) => value.as_str().map(str::to_owned),
            _ => None,
        };
        let escape = match escape {
            None => "\\".to_owned(),
            Some(escape) => text(escape)?,
        };
        Some(Self::new(&text(pattern)?, &escape, fold))
    }

    /// Whether the whole text fits the pattern.
    pub fn matches(&self, text: &str) -> bool {
        if self.fold {
            fits(&self.steps, text.to_lowercase().as_bytes())
        } else {
            fits(&self.steps, text.as_bytes())
        }
    }

    /// The same over the bytes of a valid text.
    pub fn matches_bytes(&self, text: &[u8]) -> bool {
        if self.fold { self.matches(&String::from_utf8_lossy(text)) } else { fits(&self.steps, text) }
    }
}

/// Greedy with one point of return: the last `%` seen takes one character more each time.
fn fits(steps: &[Step], text: &[u8]) -> bool {
    let (mut step, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let advanced = match steps.get(step) {
            None if at == text.len() => return true,
            None => false,
            Some(Step::Many) if step + 1 == steps.len() => return true,
            Some(Step::Many) => {
                step += 1;
                retry = Some((step, at));
                continue;
            }
            Some(Step::Text(literal)) if text[at..].starts_with(literal) => {
                at += literal.len();
                true
            }
            Some(Step::One) if at < text.len() => {
                at += char_len(&text[at..]);
                true
            }
            Some(_) => false,
        };
        if advanced {
            step += 1;
            continue;
        }
        let Some((after, from)) = retry else { return false };
        let next = match &steps[after] {
            Step::Text(literal) => find(&text[(from + 1).min(text.len())..], literal).map(|i| from + 1 + i),
            _ if from < text.len() => Some(from + char_len(&text[from..])),
            _ => None,
        };
        let Some(next) = next else { return false };
        (step, at) = (after, next);
        retry = Some((after, next));
    }
}

/// Bytes of the first character.
fn char_len(text: &[u8]) -> usize {
    1 + text[1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
}

/// Where `needle` is in `text` first.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, rest) = needle.split_first()?;
    let mut from = 0;
    while let Some(i) = text[from..].iter().position(|byte| byte == first) {
        let at = from + i;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern, "\\", false).unwrap().matches(text)
    }

    #[test]
    fn like_follows_postgresql() {
        for (text, pattern, fits) in [
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "_b_", true),
            ("abc", "c", false),
            ("", "", true),
            ("", "%", true),
            ("a", "", false),
            ("aab", "%ab", true),
            ("abab", "%ab", true),
            ("ababa", "%ab", false),
            ("a%b", "a\\%b", true),
            ("axb", "a\\%b", false),
            ("äöü", "_ö_", true),
            ("äöü", "%_ü", true),
            ("mississippi", "m%iss%i_p%", true),
            ("mississippi", "m%iss%x%", false),
            ("aaa", "%a_", true),
            ("a", "%a_", false),
        ] {
            assert_eq!(like(text, pattern), fits, "{text} LIKE {pattern}");
        }
        assert!(LikePattern::new("ab", "", true).unwrap().matches("AB"));
        assert!(LikePattern::new("a#%", "#", false).unwrap().matches("a%"));
    }

    #[test]
    fn bad_escapes_are_errors() {
        assert_eq!(LikePattern::new("a\\", "\\", false).unwrap_err().sqlstate, "22025");
        assert_eq!(LikePattern::new("a", "xy", false).unwrap_err().sqlstate, "22025");
    }
}
