//! The same language, or a larger one, for the `regex` crate, which says in time linear in the text whether anything matches,
//! and where the first match may begin. Which of several matches from there is meant, is not asked of it.

use regex::{Regex, RegexBuilder};
use verso_env::stack;

use super::syntax::{Assert, Class, Node, Set};

/// An expression that matches wherever a tree does.
#[derive(Debug)]
pub(super) struct Fast {
    pub regex: Regex,
    /// It matches nowhere else: nothing was left out that the crate's language lacks.
    pub exact: bool,
}

/// The expression of a tree; none for one that is too large.
pub(super) fn fast_of(node: &Node) -> Option<Fast> {
    let (mut text, mut exact) = (String::new(), true);
    write(node, &mut text, &mut exact)?;
    Some(Fast { regex: RegexBuilder::new(&text).dfa_size_limit(STATES_BYTES).build().ok()?, exact })
}

/// What the states that an expression meets in texts may take: many expressions are kept.
const STATES_BYTES: usize = 256 << 10;

fn write(node: &Node, out: &mut String, exact: &mut bool) -> Option<()> {
    stack::check().ok()?;
    match node {
        Node::Empty => {}
        Node::Set(set) => write_set(set, out)?,
        Node::Assert(assert) => out.push_str(match assert {
            Assert::Start => r"\A",
            Assert::End => r"\z",
            Assert::LineStart => "(?m:^)",
            Assert::LineEnd => "(?m:$)",
            // Its words are others beyond ASCII.
            Assert::WordStart | Assert::WordEnd | Assert::WordEdge | Assert::NoWordEdge => {
                *exact = false;
                ""
            }
        }),
        Node::Look { .. } => *exact = false,
        Node::Back(_) => {
            *exact = false;
            out.push_str("(?s:.*)");
        }
        Node::Concat(parts) => parts.iter().try_for_each(|part| write(part, out, exact))?,
        Node::Alternate(branches) => {
            out.push_str("(?:");
            for (n, branch) in branches.iter().enumerate() {
                if n > 0 {
                    out.push('|');
                }
                write(branch, out, exact)?;
            }
            out.push(')');
        }
        Node::Repeat { node, min, max, .. } => {
            out.push_str("(?:");
            write(node, out, exact)?;
            out.push(')');
            out.push_str(&match max {
                None => format!("{{{min},}}"),
                Some(max) => format!("{{{min},{max}}}"),
            });
        }
        Node::Group(_, node) => {
            out.push_str("(?:");
            write(node, out, exact)?;
            out.push(')');
        }
    }
    Some(())
}

fn write_set(set: &Set, out: &mut String) -> Option<()> {
    if set.ranges.is_empty() && set.classes.is_empty() {
        // a set of nothing has no form there
        if !set.negated {
            return None;
        }
        out.push_str(if set.in_line { r"[^\n]" } else { "(?s:.)" });
        return Some(());
    }
    let range = |low: char, high: char, out: &mut String| {
        out.push_str(&format!(r"\x{{{:x}}}-\x{{{:x}}}", u32::from(low), u32::from(high)));
    };
    out.push('[');
    if set.negated {
        out.push('^');
    }
    if set.in_line {
        out.push_str(r"\n");
    }
    for (low, high) in &set.ranges {
        range(*low, *high, out);
    }
    for (class, negated) in &set.classes {
        let text = match class {
            Class::Alnum => r"\p{Alphabetic}\p{N}",
            Class::Alpha => r"\p{Alphabetic}",
            Class::Ascii => r"\x00-\x7f",
            Class::Blank => r"\x20\t",
            Class::Cntrl => r"\p{Cc}",
            Class::Digit => "0-9",
            Class::Graph => r"[^\p{Cc}\s]",
            Class::Lower => r"\p{Lowercase}",
            Class::Print => r"\P{Cc}",
            Class::Punct => r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e[^\x00-\x7f\p{Alphabetic}\p{N}\s\p{Cc}]",
            Class::Space => r"[\s--[\x{a0}\x{2007}\x{202f}]]",
            Class::Upper => r"\p{Uppercase}",
            Class::Xdigit => "0-9a-fA-F",
            Class::Word => r"\p{Alphabetic}\p{N}_",
        };
        out.push_str(if *negated { "[^" } else { "[" });
        out.push_str(text);
        out.push(']');
    }
    out.push(']');
    Some(())
}
