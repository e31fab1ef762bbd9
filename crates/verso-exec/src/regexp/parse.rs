//! From text to tree: PostgreSQL's regular expressions (manual, 9.7.3), the advanced ones, and the extended and the basic ones
//! of POSIX.
//!
//! What is special in a basic expression depends on what stands before it: `*` at the start, behind `\(` and behind the
//! anchor `^` is a character, and so is `^` anywhere but at a start ([`Parser::start`], [`Parser::caret`]).

use verso_env::stack;
use verso_types::TypeError;

use super::syntax::{Assert, Class, Greed, Node, Set};
use super::{Flavor, Options, case, collating, invalid};

/// The most that a quantifier counts.
const COUNT_MAX: u32 = 255;

/// The greatest number that PostgreSQL takes for a character's.
const CODE_MAX: u32 = 0x7fff_fffe;

/// The tree of a pattern, and how many groups it has.
pub(super) fn parse(pattern: &str, options: Options) -> Result<(Node, usize, Options), TypeError> {
    let (mut options, mut rest) = (options, pattern);
    if options.literal && (options.expanded || options.dot_in_line || options.lines) {
        return Err(invalid("invalid argument to regex function"));
    }
    if let Some(behind) = rest.strip_prefix("***").filter(|_| !options.literal) {
        if let Some(literal) = behind.strip_prefix('=') {
            (options.literal, rest) = (true, literal);
        } else {
            let Some(behind) = behind.strip_prefix(':') else { return Err(invalid(OPERAND)) };
            (options.literal, options.flavor, rest) = (false, Flavor::Advanced, behind);
        }
    }
    if options.literal {
        let one = |c| Node::Set(Set::one(c, options.fold));
        return Ok((Node::Concat(rest.chars().map(one).collect()), 0, options));
    }
    if options.flavor == Flavor::Advanced
        && let Some(embedded) = rest.strip_prefix("(?")
        && embedded.starts_with(|c: char| c.is_alphabetic())
    {
        let (letters, behind) = embedded.split_once(')').ok_or_else(|| invalid("invalid embedded option"))?;
        for letter in letters.chars() {
            if !options.set(letter) {
                return Err(invalid("invalid embedded option"));
            }
            // among the flags of a function the letter means basic expressions, as in PostgreSQL
            if letter == 'e' {
                options.flavor = Flavor::Extended;
            }
        }
        rest = behind;
        if options.literal {
            let one = |c| Node::Set(Set::one(c, options.fold));
            return Ok((Node::Concat(rest.chars().map(one).collect()), 0, options));
        }
    }
    let chars: Vec<char> = rest.chars().collect();
    let mut parser = Parser {
        chars: &chars,
        at: 0,
        options,
        groups: 0,
        closed: Vec::new(),
        looking: false,
        start: true,
        caret: false,
    };
    let node = parser.alternatives(0)?;
    if parser.at < chars.len() {
        return Err(invalid(PARENTHESES));
    }
    Ok((node, parser.groups, options))
}

const OPERAND: &str = "quantifier operand invalid";
const PARENTHESES: &str = "parentheses () not balanced";
const BRACES: &str = "braces {} not balanced";
const BRACKETS: &str = "brackets [] not balanced";
const ESCAPE: &str = "invalid escape \\ sequence";
const RANGE: &str = "invalid character range";

/// What an escape means.
enum Escape {
    /// A character by its number, which may be none.
    Char(u32),
    Class(Class, bool),
    Assert(Assert),
    Back(usize),
}

struct Parser<'c> {
    chars: &'c [char],
    at: usize,
    options: Options,
    groups: usize,
    /// The groups that are closed by now.
    closed: Vec<usize>,
    /// Within what looks ahead or behind, where nothing is captured.
    looking: bool,
    /// No atom of the branch is read yet.
    start: bool,
    /// The last atom was the anchor `^`.
    caret: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.follows(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// Do the next characters read so?
    fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(n, c)| self.chars.get(self.at + n) == Some(&c))
    }

    fn basic(&self) -> bool {
        self.options.flavor == Flavor::Basic
    }

    fn advanced(&self) -> bool {
        self.options.flavor == Flavor::Advanced
    }

    /// What opens or closes a group, or a count.
    fn mark(&self, plain: &'static str, basic: &'static str) -> &'static str {
        if self.basic() { basic } else { plain }
    }

    /// Passes over comments, and over white space where that means nothing. A comment may be left open.
    fn skip(&mut self) {
        loop {
            if self.options.expanded {
                match self.peek() {
                    Some(c) if c.is_whitespace() => {
                        self.at += 1;
                        continue;
                    }
                    Some('#') => {
                        while self.peek().is_some_and(|c| c != '\n') {
                            self.at += 1;
                        }
                        continue;
                    }
                    _ => {}
                }
            }
            if !self.advanced() || !self.accept("(?#") {
                return;
            }
            while self.peek().is_some_and(|c| c != ')') {
                self.at += 1;
            }
            self.accept(")");
        }
    }

    fn alternatives(&mut self, depth: usize) -> Result<Node, TypeError> {
        if stack::check().is_err() {
            return Err(invalid("regular expression is too complex"));
        }
        let mut branches = vec![self.branch(depth)?];
        while !self.basic() && self.accept("|") {
            branches.push(self.branch(depth)?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Alternate(branches) })
    }

    fn branch(&mut self, depth: usize) -> Result<Node, TypeError> {
        let mut parts = Vec::new();
        (self.start, self.caret) = (true, false);
        loop {
            self.skip();
            match self.peek() {
                None => break,
                Some('|') if !self.basic() => break,
                Some(')') if !self.basic() && depth > 0 => break,
                Some('\\') if self.basic() && self.follows(r"\)") => break,
                _ => {}
            }
            // within what looks ahead or behind no group is kept, so its node does not tell
            let grouped = match self.chars[self.at..] {
                ['(', '?', ':', ..] => true,
                ['(', '?', ..] => false,
                ['(', ..] => true,
                _ => false,
            };
            let atom = self.atom(depth)?;
            self.start = false;
            self.skip();
            let part = self.quantified(atom, grouped)?;
            parts.push(part);
        }
        Ok(match parts.len() {
            0 => Node::Empty,
            1 => parts.remove(0),
            _ => Node::Concat(parts),
        })
    }

    /// An atom with what stands behind it. Places and what looks ahead or behind are counted within a group only.
    fn quantified(&mut self, atom: Node, grouped: bool) -> Result<Node, TypeError> {
        if self.plain_star() {
            return Ok(atom);
        }
        let Some((min, max, fixed)) = self.quantifier()? else { return Ok(atom) };
        if !grouped && matches!(atom, Node::Assert(_) | Node::Look { .. }) {
            return Err(invalid(OPERAND));
        }
        let greed = match (self.advanced() && self.accept("?"), fixed) {
            (_, true) => Greed::None,
            (true, false) => Greed::Shortest,
            (false, false) => Greed::Longest,
        };
        self.skip();
        if self.quantifier_follows() {
            return Err(invalid(OPERAND));
        }
        if (min, max, greed) == (1, Some(1), Greed::None) {
            return Ok(atom);
        }
        Ok(Node::Repeat { node: Box::new(atom), min, max, greed })
    }

    /// Is the next a `*` that is a character, because nothing stands before it that might be repeated?
    fn plain_star(&self) -> bool {
        self.basic() && (self.start || self.caret) && self.peek() == Some('*')
    }

    fn quantifier_follows(&self) -> bool {
        match self.peek() {
            _ if self.basic() => self.follows("*") && !self.plain_star() || self.follows(r"\{"),
            Some('*' | '+' | '?') => true,
            Some('{') => self.chars.get(self.at + 1).is_some_and(char::is_ascii_digit),
            _ => false,
        }
    }

    /// How often, and whether that is one number.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>, bool)>, TypeError> {
        if !self.quantifier_follows() {
            return Ok(None);
        }
        let sign = self.peek();
        self.at += 1;
        Ok(Some(match sign {
            Some('*') => (0, None, false),
            Some('\\') => {
                self.at += 1;
                self.counts(r"\}")?
            }
            Some('+') => (1, None, false),
            Some('?') => (0, Some(1), false),
            _ => self.counts("}")?,
        }))
    }

    /// How often, behind the brace.
    fn counts(&mut self, close: &str) -> Result<(u32, Option<u32>, bool), TypeError> {
        let min = match self.peek() {
            Some(',') if self.basic() => 0,
            _ => self.count()?,
        };
        let (max, fixed) = match self.accept(",") {
            false => (Some(min), true),
            true if self.follows(close) => (None, false),
            true => (Some(self.count()?), false),
        };
        if !self.accept(close) {
            let closed = self.at < self.chars.len();
            let flaw = if closed { "invalid repetition count(s)" } else { BRACES };
            return Err(invalid(flaw));
        }
        if max.is_some_and(|max| max < min) {
            return Err(invalid("invalid repetition count(s)"));
        }
        Ok((min, max, fixed))
    }

    fn count(&mut self) -> Result<u32, TypeError> {
        let (mut count, start) = (0u32, self.at);
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            count = (count * 10 + digit).min(COUNT_MAX + 1);
            self.at += 1;
        }
        match self.at > start && count <= COUNT_MAX {
            _ if self.at == self.chars.len() => Err(invalid(BRACES)),
            true => Ok(count),
            false => Err(invalid("invalid repetition count(s)")),
        }
    }

    fn atom(&mut self, depth: usize) -> Result<Node, TypeError> {
        if self.quantifier_follows() {
            return Err(invalid(OPERAND));
        }
        let Some(c) = self.peek() else { return Ok(Node::Empty) };
        self.at += 1;
        let lines = self.options.lines;
        let start = self.start;
        self.caret = false;
        Ok(match c {
            '(' if !self.basic() => return self.group(depth),
            ')' if self.advanced() => return Err(invalid(PARENTHESES)),
            '^' if !self.basic() || start => {
                self.caret = true;
                Node::Assert(if lines { Assert::LineStart } else { Assert::Start })
            }
            '$' if !self.basic() || self.ends() => {
                Node::Assert(if lines { Assert::LineEnd } else { Assert::End })
            }
            '.' => Node::Set(Set::any(self.options.dot_in_line)),
            '[' if self.accept("[:<:]]") => Node::Assert(Assert::WordStart),
            '[' if self.accept("[:>:]]") => Node::Assert(Assert::WordEnd),
            '[' => Node::Set(self.bracket()?),
            '\\' if !self.advanced() => return self.plain_escape(depth),
            '\\' => match self.escape(false)? {
                Escape::Char(code) => Node::Set(self.one(code)),
                Escape::Class(class, negated) => {
                    Node::Set(Set { classes: vec![(class, negated)], ..Set::default() })
                }
                Escape::Assert(assert) => Node::Assert(assert),
                Escape::Back(group) => Node::Back(group),
            },
            c => Node::Set(Set::one(c, self.options.fold)),
        })
    }

    /// Does the expression, or the group of a basic one, end here?
    fn ends(&mut self) -> bool {
        self.skip();
        self.at == self.chars.len() || self.follows(r"\)")
    }

    /// The character of that number, in every case if case does not count; nothing for a number that no character has.
    fn one(&self, code: u32) -> Set {
        char::from_u32(code).map_or_else(Set::default, |c| Set::one(c, self.options.fold))
    }

    /// Behind a backslash, in expressions of POSIX.
    fn plain_escape(&mut self, depth: usize) -> Result<Node, TypeError> {
        let Some(c) = self.peek() else { return Err(invalid(ESCAPE)) };
        self.at += 1;
        Ok(match (c, c.to_digit(10)) {
            ('(', _) if self.basic() => return self.group(depth),
            ('<', _) if self.basic() => Node::Assert(Assert::WordStart),
            ('>', _) if self.basic() => Node::Assert(Assert::WordEnd),
            (_, Some(number @ 1..=9)) if self.basic() => {
                let number = number as usize;
                if !self.closed.contains(&number) {
                    return Err(invalid("invalid backreference number"));
                }
                Node::Back(number)
            }
            _ => Node::Set(Set::one(c, self.options.fold)),
        })
    }

    /// Behind a parenthesis.
    fn group(&mut self, depth: usize) -> Result<Node, TypeError> {
        let kinds = [("?:", None), ("?=", Some((false, false))), ("?!", Some((false, true)))];
        let behind = [("?<=", Some((true, false))), ("?<!", Some((true, true)))];
        let advanced = self.advanced();
        let kind = kinds.into_iter().chain(behind).find(|(text, _)| advanced && self.accept(text));
        let node = match kind {
            None if advanced && self.peek() == Some('?') => return Err(invalid(OPERAND)),
            None if self.looking => self.alternatives(depth + 1)?,
            None => {
                self.groups += 1;
                let number = self.groups;
                let node = self.alternatives(depth + 1)?;
                self.closed.push(number);
                Node::Group(number, Box::new(node))
            }
            Some((_, None)) => self.alternatives(depth + 1)?,
            Some((_, Some((behind, negated)))) => {
                let outer = std::mem::replace(&mut self.looking, true);
                let node = Box::new(self.alternatives(depth + 1)?);
                self.looking = outer;
                Node::Look { behind, negated, node }
            }
        };
        if !self.accept(self.mark(")", r"\)")) {
            return Err(invalid(PARENTHESES));
        }
        self.caret = false;
        Ok(node)
    }

    /// Behind a backslash.
    fn escape(&mut self, bracket: bool) -> Result<Escape, TypeError> {
        let Some(c) = self.peek() else { return Err(invalid(ESCAPE)) };
        self.at += 1;
        let class = |class, negated| Ok(Escape::Class(class, negated));
        match c {
            'd' => return class(Class::Digit, false),
            's' => return class(Class::Space, false),
            'w' => return class(Class::Word, false),
            'D' => return class(Class::Digit, true),
            'S' => return class(Class::Space, true),
            'W' => return class(Class::Word, true),
            _ => {}
        }
        let assert = match c {
            'A' => Some(Assert::Start),
            'Z' => Some(Assert::End),
            'm' => Some(Assert::WordStart),
            'M' => Some(Assert::WordEnd),
            'y' => Some(Assert::WordEdge),
            'Y' => Some(Assert::NoWordEdge),
            _ => None,
        };
        if let Some(assert) = assert {
            return if bracket { Err(invalid(ESCAPE)) } else { Ok(Escape::Assert(assert)) };
        }
        let c = match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => {
                let Some(next) = self.peek() else { return Err(invalid(ESCAPE)) };
                self.at += 1;
                char::from((next as u32 & 0x1f) as u8)
            }
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'u' => return self.number(16, 4, 4).map(Escape::Char),
            'U' => return self.number(16, 8, 8).map(Escape::Char),
            'x' => return self.number(16, 1, 255).map(Escape::Char),
            '0' => {
                self.at -= 1;
                return self.number(8, 1, 3).map(Escape::Char);
            }
            '1'..='9' => return self.back_or_octal(bracket),
            c if c.is_ascii_alphanumeric() => return Err(invalid(ESCAPE)),
            c => c,
        };
        Ok(Escape::Char(c.into()))
    }

    /// The number of a character, which may be greater than that of any. Numbers of many digits begin again at 2^32.
    fn number(&mut self, radix: u32, least: usize, most: usize) -> Result<u32, TypeError> {
        let (mut number, start) = (0u32, self.at);
        while self.at - start < most
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(radix))
        {
            number = number.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
        }
        match self.at - start >= least && number <= CODE_MAX {
            true => Ok(number),
            false => Err(invalid(ESCAPE)),
        }
    }

    /// Behind the backslash and the first digit, which is no zero.
    fn back_or_octal(&mut self, bracket: bool) -> Result<Escape, TypeError> {
        self.at -= 1;
        let start = self.at;
        let mut number = 0usize;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit as usize);
            self.at += 1;
        }
        let digits = self.at - start;
        if !bracket && (digits == 1 || number <= self.groups) {
            if self.looking || !self.closed.contains(&number) {
                return Err(invalid("invalid backreference number"));
            }
            return Ok(Escape::Back(number));
        }
        self.at = start;
        self.number(8, 1, 3).map(Escape::Char)
    }

    /// Behind a bracket.
    fn bracket(&mut self) -> Result<Set, TypeError> {
        let negated = self.accept("^");
        let in_line = negated && self.options.dot_in_line;
        let mut set = Set { negated, in_line, ..Set::default() };
        let mut first = true;
        loop {
            let Some(c) = self.peek() else { return Err(invalid(BRACKETS)) };
            if c == ']' && !first {
                self.at += 1;
                if self.options.fold {
                    let given = set.ranges.clone();
                    given.into_iter().for_each(|(low, high)| case::others(low, high, &mut set.ranges));
                }
                return Ok(set);
            }
            first = false;
            let low = self.item(&mut set)?;
            let low = match (low, self.range_follows()) {
                (None, true) => return Err(invalid(RANGE)),
                (None, false) => continue,
                (Some(low), false) => {
                    set.ranges.extend(range_of(low, low));
                    continue;
                }
                (Some(low), true) => low,
            };
            self.at += 1;
            let Some(high) = self.item(&mut set)? else { return Err(invalid(RANGE)) };
            if high < low || self.range_follows() {
                return Err(invalid(RANGE));
            }
            set.ranges.extend(range_of(low, high));
        }
    }

    /// Is the next a hyphen that is not the last of its bracket?
    fn range_follows(&self) -> bool {
        self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']')
    }

    /// A character of a bracket; none where it was a class, which the set has now.
    fn item(&mut self, set: &mut Set) -> Result<Option<u32>, TypeError> {
        let Some(c) = self.peek() else { return Err(invalid(BRACKETS)) };
        self.at += 1;
        if c == '\\' && self.advanced() {
            return match self.escape(true)? {
                Escape::Char(code) => Ok(Some(code)),
                Escape::Class(class, negated) => {
                    set.classes.push((class, negated));
                    Ok(None)
                }
                Escape::Assert(_) | Escape::Back(_) => Err(invalid(ESCAPE)),
            };
        }
        let kind = match (c, self.peek()) {
            ('[', Some(kind @ (':' | '.' | '='))) => kind,
            _ => return Ok(Some(c.into())),
        };
        self.at += 1;
        let ends = |at: usize| self.chars.get(at) == Some(&kind) && self.chars.get(at + 1) == Some(&']');
        let Some(end) = (self.at..self.chars.len()).find(|at| ends(*at)) else {
            return Err(invalid(BRACKETS));
        };
        let name: String = self.chars[self.at..end].iter().collect();
        self.at = end + 2;
        // a bracket that is left open is found before the name is looked up
        if self.at == self.chars.len() {
            return Err(invalid(BRACKETS));
        }
        if kind == ':' {
            let class = Class::named(&name).ok_or_else(|| invalid("invalid character class"))?;
            let class = match class {
                Class::Lower | Class::Upper if self.options.fold => Class::Alpha,
                class => class,
            };
            set.classes.push((class, false));
            return Ok(None);
        }
        let c = collating::element(&name).ok_or_else(|| invalid("invalid collating element"))?;
        if kind == '=' {
            // no locale of PostgreSQL has classes of more than one
            set.ranges.push((c, c));
            return Ok(None);
        }
        Ok(Some(c.into()))
    }
}

/// The characters whose numbers lie in a range, both ends included.
fn range_of(low: u32, high: u32) -> Option<(char, char)> {
    // the only gap is that of the surrogates
    let low = char::from_u32(low).or_else(|| char::from_u32(low.max(0xe000)))?;
    let high = char::from_u32(high.min(char::MAX.into())).unwrap_or('\u{d7ff}');
    (low <= high).then_some((low, high))
}
