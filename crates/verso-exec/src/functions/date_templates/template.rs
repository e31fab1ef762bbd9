//! The pieces of a template: patterns, separators and letters.

use std::rc::Rc;

use verso_types::TypeError;

use crate::error::Result;
use crate::functions::templates::{Recent, behind, pattern};

/// A piece of a template.
pub(super) enum Node {
    /// The pattern, and as it is written.
    Field {
        name: &'static str,
        shown: Box<str>,
        fill: bool,
        ordinal: bool,
    },
    Separator(char),
    Letter(char),
}

pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_punctuation()
}

thread_local! {
    /// The templates that were used last.
    static TEMPLATES: Recent<[Node]> = const { Recent::new() };
    /// The same of the standard's.
    static STANDARD: Recent<[Node]> = const { Recent::new() };
}

/// The pieces of a template; one of the standard's has no other letters between the patterns than `-./,':; `.
pub(super) fn nodes(template: &str, standard: bool) -> Result<Rc<[Node]>> {
    let kept = if standard { &STANDARD } else { &TEMPLATES };
    kept.with(|kept| kept.get(template, || Ok(read(template, standard)?.into())))
}

fn read(template: &str, standard: bool) -> Result<Vec<Node>> {
    let (mut rest, mut nodes) = (template, Vec::new());
    while let Some(c) = rest.chars().next() {
        let (mut fill, mut at) = (true, rest);
        while let Some(next) = behind(at, &["FM", "fm", "TM", "tm"]) {
            fill &= !at.starts_with(['F', 'f']);
            at = next;
        }
        if let Some((name, _)) = pattern(at) {
            let (shown, behind_it) = at.split_at(name.len());
            rest = behind_it;
            let suffix = behind(rest, &["TH", "th"]);
            nodes.push(Node::Field { name, shown: shown.into(), fill, ordinal: suffix.is_some() });
            rest = suffix.or_else(|| behind(rest, &["SP"])).unwrap_or(rest);
            continue;
        }
        if at.len() < rest.len() {
            rest = at;
            continue;
        }
        let mut chars = rest.chars();
        chars.next();
        // A backslash before a quote makes it a character like others.
        if c == '\\' && chars.as_str().starts_with('"') {
            chars.next();
            nodes.push(Node::Separator('"'));
            rest = chars.as_str();
            continue;
        }
        if standard && !"-./,':; \"".contains(c) {
            let text = format!("invalid datetime format separator: \"{c}\"");
            return Err(TypeError::new("22007", text).into());
        }
        if c == '"' {
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => nodes.extend(chars.next().map(Node::Letter)),
                    c => nodes.push(Node::Letter(c)),
                }
            }
        } else if c.is_ascii_whitespace() || is_separator(c) {
            nodes.push(Node::Separator(c));
        } else {
            nodes.push(Node::Letter(c));
        }
        rest = chars.as_str();
    }
    Ok(nodes)
}

fn is_digits(name: &str) -> bool {
    !matches!(
        name,
        "A.D."
            | "A.M."
            | "AD"
            | "AM"
            | "B.C."
            | "BC"
            | "P.M."
            | "PM"
            | "DAY"
            | "DY"
            | "MONTH"
            | "MON"
            | "FX"
            | "OF"
            | "RM"
            | "TZ"
            | "TZH"
    )
}

/// Whether no digit can follow a field, so that it takes all digits there are.
pub(super) fn is_open(nodes: &[Node], at: usize) -> bool {
    if let Node::Field { fill: false, .. } | Node::Field { ordinal: true, .. } = nodes[at] {
        return true;
    }
    match nodes.get(at + 1) {
        Some(Node::Field { name, .. }) => !is_digits(name),
        Some(Node::Letter(c)) => !c.is_ascii_digit(),
        Some(Node::Separator(_)) | None => true,
    }
}

/// Whether `TH` behind the pattern stands for two characters of the text.
pub(super) fn has_suffix(name: &str) -> bool {
    is_digits(name)
}
