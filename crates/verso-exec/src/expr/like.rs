//! LIKE and ILIKE patterns, compiled once.

use verso_types::TypeError;

use crate::plan::{ExprKind, TypedExpr};

/// A text in lower case, each character by itself: only the last sigma of a word would depend on what stands around it.
fn lower(text: &str) -> String {
    match text.contains('Σ') {
        true => text.chars().flat_map(char::to_lowercase).collect(),
        false => text.to_lowercase(),
    }
}

/// One step of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// These bytes.
    Text(Vec<u8>),
    /// `_`: one character.
    One,
    /// `%`: any characters.
    Many,
    /// The escape character at the end of the pattern: an error if the match comes to it before the text ends.
    Lone,
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
        escape_mark(escape)?;
        let mark = escape.chars().next();
        let folded = if fold { lower(pattern) } else { pattern.to_owned() };
        let mut steps: Vec<Step> = Vec::new();
        let mut chars = folded.chars();
        while let Some(c) = chars.next() {
            let literal = if Some(c) == mark {
                match chars.next() {
                    Some(next) => next,
                    None => {
                        steps.push(Step::Lone);
                        break;
                    }
                }
            } else if c == '%' {
                if steps.last() != Some(&Step::Many) {
                    steps.push(Step::Many);
                }
                continue;
            } else if c == '_' {
                // `%_` is `_%`: characters that are counted once need not be counted at each place where what follows may begin.
                match steps.last() {
                    Some(Step::Many) => steps.insert(steps.len() - 1, Step::One),
                    _ => steps.push(Step::One),
                }
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

    /// Whether the whole of a text, whose bytes these are, fits the pattern.
    ///
    /// # Errors
    /// Those of `work`; 22025.
    pub fn matches<E: From<TypeError>>(&self, text: &[u8], work: &mut Work<'_, E>) -> Result<bool, E> {
        if self.fold {
            work.add(text.len())?;
            fits(&self.steps, lower(&String::from_utf8_lossy(text)).as_bytes(), work)
        } else {
            fits(&self.steps, text, work)
        }
    }
}

/// Whether a text fits a pattern that is for this text only: as [`LikePattern::matches`], without compiling it. `mark` are the bytes
/// of the escape character, none where there is none.
///
/// # Errors
/// Those of `work`; 22025.
pub(crate) fn fits_given<E: From<TypeError>>(
    pattern: &[u8],
    mark: &[u8],
    text: &[u8],
    work: &mut Work<'_, E>,
) -> Result<bool, E> {
    let is_mark = |at: usize| !mark.is_empty() && pattern[at..].starts_with(mark);
    let (mut step, mut at) = (0, 0);
    // Behind the last `%` seen, and where in the text what follows it was tried.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let advanced = match pattern.get(step) {
            None if at == text.len() => return Ok(true),
            None => false,
            Some(_) if is_mark(step) => {
                let literal = step + mark.len();
                if literal == pattern.len() {
                    if at < text.len() {
                        let message = "LIKE pattern must not end with escape character";
                        return Err(TypeError::new("22025", message).into());
                    }
                    false
                } else {
                    let length = char_len(&pattern[literal..]);
                    let here = text[at..].starts_with(&pattern[literal..literal + length]);
                    if here {
                        (step, at) = (literal + length, at + length);
                    }
                    here
                }
            }
            Some(b'%') => {
                step += 1;
                // `%_` is `_%`, as characters that are counted once need not be counted at each place.
                while let Some(byte) = pattern.get(step).filter(|_| !is_mark(step)) {
                    match byte {
                        b'%' => {}
                        b'_' if at < text.len() => at += char_len(&text[at..]),
                        b'_' => return Ok(false),
                        _ => break,
                    }
                    step += 1;
                }
                if step == pattern.len() {
                    return Ok(true);
                }
                retry = Some((step, at));
                true
            }
            Some(b'_') => {
                let here = at < text.len();
                if here {
                    (step, at) = (step + 1, at + char_len(&text[at..]));
                }
                here
            }
            Some(byte) => {
                let here = text.get(at) == Some(byte);
                if here {
                    (step, at) = (step + 1, at + 1);
                }
                here
            }
        };
        if advanced {
            continue;
        }
        let Some((after, from)) = retry else { return Ok(false) };
        work.add(at.saturating_sub(from) + 1)?;
        if from >= text.len() {
            return Ok(false);
        }
        let mut next = from + char_len(&text[from..]);
        // Where the byte is that has to come first.
        let first = if is_mark(after) { after + mark.len() } else { after };
        if let Some(byte) = pattern.get(first) {
            match text[next..].iter().position(|one| one == byte) {
                Some(skipped) => {
                    work.add(skipped)?;
                    next += skipped;
                }
                None => {
                    work.add(text.len() - next)?;
                    return Ok(false);
                }
            }
        }
        (step, at) = (after, next);
        retry = Some((after, next));
    }
}

/// The bytes of an escape character, of which there may be none.
///
/// # Errors
/// 22025 for several.
pub(crate) fn escape_mark(escape: &str) -> Result<&[u8], TypeError> {
    match escape.chars().nth(1) {
        None => Ok(escape.as_bytes()),
        Some(_) => Err(TypeError::new("22025", "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// Bytes looked at between two questions.
const STEP: usize = 1 << 22;

/// Counts the bytes that are looked at, of one text or many, and asks now and then whether to go on: a pattern with many
/// parts may look at each byte of a long text again and again.
pub(crate) struct Work<'w, E> {
    done: usize,
    go_on: &'w mut dyn FnMut() -> Result<(), E>,
}

impl<'w, E> Work<'w, E> {
    pub fn new(go_on: &'w mut dyn FnMut() -> Result<(), E>) -> Self {
        Work { done: 0, go_on }
    }

    #[inline]
    fn add(&mut self, bytes: usize) -> Result<(), E> {
        self.done += bytes;
        if self.done < STEP {
            return Ok(());
        }
        self.done = 0;
        (self.go_on)()
    }
}

/// Greedy with one point of return: the last `%` seen takes one character more each time.
fn fits<E: From<TypeError>>(steps: &[Step], text: &[u8], work: &mut Work<'_, E>) -> Result<bool, E> {
    let (mut step, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let advanced = match steps.get(step) {
            None if at == text.len() => return Ok(true),
            None => false,
            Some(Step::Many) if step + 1 == steps.len() => return Ok(true),
            Some(Step::Lone) if at == text.len() => false,
            Some(Step::Lone) => {
                let message = "LIKE pattern must not end with escape character";
                return Err(TypeError::new("22025", message).into());
            }
            Some(Step::Many) => {
                step += 1;
                retry = Some((step, at));
                continue;
            }
            Some(Step::Text(literal)) => {
                work.add(literal.len())?;
                let here = text[at..].starts_with(literal);
                at += if here { literal.len() } else { 0 };
                here
            }
            Some(Step::One) if at < text.len() => {
                work.add(1)?;
                at += char_len(&text[at..]);
                true
            }
            Some(Step::One) => false,
        };
        if advanced {
            step += 1;
            continue;
        }
        let Some((after, from)) = retry else { return Ok(false) };
        work.add(1)?;
        let next = match &steps[after] {
            Step::Text(literal) => {
                find(&text[(from + 1).min(text.len())..], literal, work)?.map(|i| from + 1 + i)
            }
            _ if from < text.len() => Some(from + char_len(&text[from..])),
            _ => None,
        };
        let Some(next) = next else { return Ok(false) };
        (step, at) = (after, next);
        retry = Some((after, next));
    }
}

/// Bytes of the first character.
fn char_len(text: &[u8]) -> usize {
    1 + text[1..].iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
}

/// Where `needle` is in `text` first.
fn find<E>(text: &[u8], needle: &[u8], work: &mut Work<'_, E>) -> Result<Option<usize>, E> {
    let Some((first, rest)) = needle.split_first() else { return Ok(None) };
    let mut from = 0;
    while let Some(i) = text[from..].iter().position(|byte| byte == first) {
        let at = from + i;
        work.add(i + needle.len())?;
        if text[at + 1..].starts_with(rest) {
            return Ok(Some(at));
        }
        from = at + 1;
    }
    work.add(text.len() - from)?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &LikePattern, text: &str) -> bool {
        pattern.matches::<TypeError>(text.as_bytes(), &mut Work::new(&mut || Ok(()))).expect("never ended")
    }

    fn like(text: &str, pattern: &str) -> bool {
        matches(&LikePattern::new(pattern, "\\", false).unwrap(), text)
    }

    #[test]
    fn long_work_asks_whether_to_go_on() {
        let text = "a".repeat(60_000);
        for pattern in ["%".to_string() + &"a_".repeat(1_500) + "b", format!("%{}b%", "a".repeat(3_000))] {
            let pattern = LikePattern::new(&pattern, "", false).unwrap();
            let mut asked = 0;
            let mut go_on = || {
                asked += 1;
                if asked < 3 { Ok(()) } else { Err(TypeError::new("57014", "enough")) }
            };
            let result = pattern.matches(text.as_bytes(), &mut Work::new(&mut go_on));
            assert_eq!(result.unwrap_err().sqlstate, "57014");
        }
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
            ("äöü", "%___", true),
            ("äöü", "%_%_ü", true),
            ("äöü", "_%_%_ü", false),
            ("äöü", "%____", false),
            ("mississippi", "m%iss%i_p%", true),
            ("mississippi", "m%iss%x%", false),
            ("aaa", "%a_", true),
            ("a", "%a_", false),
        ] {
            assert_eq!(like(text, pattern), fits, "{text} LIKE {pattern}");
        }
        assert!(matches(&LikePattern::new("ab", "", true).unwrap(), "AB"));
        assert!(matches(&LikePattern::new("a#%", "#", false).unwrap(), "a%"));
    }

    #[test]
    fn a_pattern_that_is_not_compiled_means_the_same() {
        let parts = ["a", "b", "ä", "%", "_", "\\", "ab", "c"];
        let mut seed = 7_u64;
        let mut draw = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        for _ in 0..20_000 {
            let mut made = |parts: &[&str], most: u64| -> String {
                (0..draw(most)).map(|_| parts[draw(parts.len() as u64) as usize]).collect()
            };
            let (pattern, text) = (made(&parts, 7), made(&["a", "b", "ä", "c", "%"], 9));
            for escape in ["\\", "", "b", "ä"] {
                let mut go_on = || Ok(());
                let mut work: Work<'_, TypeError> = Work::new(&mut go_on);
                let compiled = LikePattern::new(&pattern, escape, false).unwrap();
                let wanted = compiled.matches(text.as_bytes(), &mut work).map_err(|error| error.sqlstate);
                let mark = escape_mark(escape).unwrap();
                let found = fits_given(pattern.as_bytes(), mark, text.as_bytes(), &mut work);
                assert_eq!(
                    found.map_err(|error| error.sqlstate),
                    wanted,
                    "{text} LIKE {pattern} ESCAPE {escape}"
                );
            }
        }
    }

    #[test]
    fn bad_escapes_are_errors() {
        let lone = LikePattern::new("a\\", "\\", false).unwrap();
        let matches = |text: &str| {
            let mut go_on = || Ok(());
            lone.matches::<TypeError>(text.as_bytes(), &mut Work::new(&mut go_on))
                .map_err(|error| error.sqlstate)
        };
        assert_eq!(matches("ab"), Err("22025"));
        // As PostgreSQL, which does not come to it.
        assert_eq!((matches("a"), matches("b"), matches("")), (Ok(false), Ok(false), Ok(false)));
        assert_eq!(LikePattern::new("a", "xy", false).unwrap_err().sqlstate, "22025");
    }
}
