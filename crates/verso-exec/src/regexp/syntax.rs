//! Regular expressions as trees, and how greedy their parts are.

use super::case;

/// A part of a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// The empty text.
    Empty,
    /// One character of a set.
    Set(Set),
    /// A place in the text.
    Assert(Assert),
    /// Whether a text follows here, or ends here.
    Look { behind: bool, negated: bool, node: Box<Node> },
    /// What group `n` has matched.
    Back(usize),
    /// One behind the other.
    Concat(Vec<Node>),
    /// One of these.
    Alternate(Vec<Node>),
    /// So many in a row; `None` has no end.
    Repeat { node: Box<Node>, min: u32, max: Option<u32>, greed: Greed },
    /// A group that is captured.
    Group(usize, Box<Node>),
}

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assert {
    /// `\A`, and `^` without lines.
    Start,
    /// `\Z`, and `$` without lines.
    End,
    /// `^` of lines.
    LineStart,
    /// `$` of lines.
    LineEnd,
    /// `\m`.
    WordStart,
    /// `\M`.
    WordEnd,
    /// `\y`.
    WordEdge,
    /// `\Y`.
    NoWordEdge,
}

/// Which of several lengths a part prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    /// It has one length, or no preference of its own.
    None,
    /// The longest.
    Longest,
    /// The shortest.
    Shortest,
}

/// A set of characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Set {
    /// Ranges, both ends included.
    pub ranges: Vec<(char, char)>,
    /// Classes, and whether each is turned round.
    pub classes: Vec<(Class, bool)>,
    /// All but these.
    pub negated: bool,
    /// Never the end of a line, although it is negated.
    pub in_line: bool,
}

/// A class of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Alnum,
    Alpha,
    Ascii,
    Blank,
    Cntrl,
    Digit,
    Graph,
    Lower,
    Print,
    Punct,
    Space,
    Upper,
    Xdigit,
    /// Alphanumeric or an underscore.
    Word,
}

impl Class {
    /// The class of that name.
    pub fn named(name: &str) -> Option<Class> {
        Some(match name {
            "alnum" => Class::Alnum,
            "alpha" => Class::Alpha,
            "ascii" => Class::Ascii,
            "blank" => Class::Blank,
            "cntrl" => Class::Cntrl,
            "digit" => Class::Digit,
            "graph" => Class::Graph,
            "lower" => Class::Lower,
            "print" => Class::Print,
            "punct" => Class::Punct,
            "space" => Class::Space,
            "upper" => Class::Upper,
            "xdigit" => Class::Xdigit,
            "word" => Class::Word,
            _ => return None,
        })
    }

    pub fn has(self, c: char) -> bool {
        match self {
            Class::Alnum => c.is_alphanumeric(),
            Class::Alpha => c.is_alphabetic(),
            Class::Ascii => c.is_ascii(),
            Class::Blank => c == ' ' || c == '\t',
            Class::Cntrl => c.is_control(),
            Class::Digit => c.is_ascii_digit(),
            Class::Graph => !c.is_control() && !c.is_whitespace(),
            Class::Lower => c.is_lowercase(),
            Class::Print => !c.is_control(),
            Class::Punct => match c.is_ascii() {
                true => c.is_ascii_punctuation(),
                false => !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control(),
            },
            Class::Space => c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}'),
            Class::Upper => c.is_uppercase(),
            Class::Xdigit => c.is_ascii_hexdigit(),
            Class::Word => c.is_alphanumeric() || c == '_',
        }
    }
}

impl Set {
    /// The set of one character; in every case if `fold`.
    pub fn one(c: char, fold: bool) -> Set {
        let mut ranges = vec![(c, c)];
        if fold {
            case::others(c, c, &mut ranges);
        }
        Set { ranges, ..Set::default() }
    }

    /// Every character; within a line only.
    pub fn any(in_line: bool) -> Set {
        Set { negated: true, in_line, ..Set::default() }
    }

    fn lists(&self, c: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&c))
            || self.classes.iter().any(|(class, negated)| class.has(c) != *negated)
    }

    pub fn has(&self, c: char) -> bool {
        if self.in_line && c == '\n' {
            return false;
        }
        self.lists(c) != self.negated
    }
}

impl Node {
    /// Which length it prefers (PostgreSQL's manual, 9.7.3.5): a branch what its first quantified part prefers, several
    /// branches the longest.
    pub fn greed(&self) -> Greed {
        match self {
            Node::Empty | Node::Set(_) | Node::Assert(_) | Node::Look { .. } | Node::Back(_) => Greed::None,
            Node::Concat(parts) => {
                parts.iter().map(Node::greed).find(|greed| *greed != Greed::None).unwrap_or(Greed::None)
            }
            Node::Alternate(_) => Greed::Longest,
            Node::Repeat { node, greed: Greed::None, .. } => node.greed(),
            Node::Repeat { greed, .. } => *greed,
            Node::Group(_, node) => node.greed(),
        }
    }

    /// The parts of it.
    pub fn children(&self) -> &[Node] {
        match self {
            Node::Concat(parts) | Node::Alternate(parts) => parts,
            Node::Repeat { node, .. } | Node::Group(_, node) | Node::Look { node, .. } => {
                std::slice::from_ref(&**node)
            }
            _ => &[],
        }
    }

    /// Is any part, itself included, so? Groups within what looks ahead or behind are none.
    pub fn any(&self, test: &mut dyn FnMut(&Node) -> bool) -> bool {
        test(self) || self.children().iter().any(|child| child.any(test))
    }

    pub fn has_back(&self) -> bool {
        self.any(&mut |node| matches!(node, Node::Back(_)))
    }

    pub fn captures(&self) -> bool {
        self.any(&mut |node| matches!(node, Node::Group(..)))
    }
}
