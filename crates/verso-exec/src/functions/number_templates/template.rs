//! Templates of numbers, as they are read: patterns and characters, and what they ask for together.

use std::rc::Rc;

use verso_types::TypeError;

use crate::error::{ExecError, Result};
use crate::functions::templates::Recent;

/// The patterns, longer ones first where they start alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pattern {
    Nine,
    Zero,
    Point,
    Comma,
    Group,
    Blank,
    Exponent,
    Fill,
    Currency,
    Minus,
    Plus,
    Brackets,
    Roman(bool),
    PlusMinus,
    Sign,
    Ordinal(bool),
    Shift,
    Other(char),
}

static PATTERNS: &[(&str, Pattern)] = &[
    ("EEEE", Pattern::Exponent),
    ("FM", Pattern::Fill),
    ("MI", Pattern::Minus),
    ("PL", Pattern::Plus),
    ("PR", Pattern::Brackets),
    ("rn", Pattern::Roman(false)),
    ("RN", Pattern::Roman(true)),
    ("SG", Pattern::PlusMinus),
    ("th", Pattern::Ordinal(false)),
    ("TH", Pattern::Ordinal(true)),
    (",", Pattern::Comma),
    (".", Pattern::Point),
    ("0", Pattern::Zero),
    ("9", Pattern::Nine),
    ("B", Pattern::Blank),
    ("D", Pattern::Point),
    ("G", Pattern::Group),
    ("L", Pattern::Currency),
    ("S", Pattern::Sign),
    ("V", Pattern::Shift),
];

/// Where the sign of `S` stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    None,
    Before,
    Behind,
}

/// What a template asks for.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) nodes: Rc<[Pattern]>,
    /// Digits before and behind the point, and behind `V`.
    pub(super) pre: usize,
    pub(super) post: usize,
    pub(super) shift: usize,
    /// The first and the last `0`, counted from 1 among the digits.
    pub(super) zero_start: usize,
    pub(super) zero_end: usize,
    pub(super) zero: bool,
    pub(super) decimal: bool,
    pub(super) shifted: bool,
    pub(super) fill: bool,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) brackets: bool,
    pub(super) roman: bool,
    pub(super) exponent: bool,
    pub(super) blank: bool,
    pub(super) sign: Anchor,
    /// How many digits stand before `S`.
    pub(super) sign_at: usize,
}

#[cold]
fn syntax(text: &str) -> ExecError {
    TypeError::new("42601", text).into()
}

/// Reads the text as patterns and characters; what is quoted is characters.
fn nodes(text: &str) -> Vec<Pattern> {
    let (mut rest, mut nodes) = (text, Vec::new());
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let mut chars = rest.chars();
            chars.next();
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => nodes.extend(chars.next().map(Pattern::Other)),
                    c => nodes.push(Pattern::Other(c)),
                }
            }
            rest = chars.as_str();
            continue;
        }
        if let Some(escaped) = rest.strip_prefix("\\\"") {
            nodes.push(Pattern::Other('"'));
            rest = escaped;
            continue;
        }
        // A keyword of PostgreSQL's that asks for nothing.
        if let Some(behind) = rest.strip_prefix(['C', 'c']) {
            rest = behind;
            continue;
        }
        // Besides those of one case, patterns are written in capitals or in small letters alike.
        let found = PATTERNS.iter().find(|(name, _)| {
            rest.starts_with(name)
                || rest.get(..name.len()).is_some_and(|head| {
                    head.eq_ignore_ascii_case(name) && !head.bytes().any(|byte| byte.is_ascii_uppercase())
                })
        });
        match found {
            Some((name, pattern)) => {
                nodes.push(*pattern);
                rest = &rest[name.len()..];
            }
            None => {
                nodes.push(Pattern::Other(c));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    nodes
}

thread_local! {
    static TEMPLATES: Recent<Template> = const { Recent::new() };
}

impl Template {
    /// What is kept of a template, or what is read of it now.
    pub(super) fn kept(text: &str) -> Result<Rc<Template>> {
        TEMPLATES.with(|kept| kept.get(text, || Template::read(text).map(Rc::new)))
    }

    fn read(text: &str) -> Result<Template> {
        let mut template = Template {
            nodes: nodes(text).into(),
            pre: 0,
            post: 0,
            shift: 0,
            zero_start: 0,
            zero_end: 0,
            zero: false,
            decimal: false,
            shifted: false,
            fill: false,
            minus: false,
            plus: false,
            brackets: false,
            roman: false,
            exponent: false,
            blank: false,
            sign: Anchor::None,
            sign_at: 0,
        };
        for node in Rc::clone(&template.nodes).iter() {
            template.take(*node)?;
        }
        let signs = template.sign != Anchor::None || template.minus || template.plus || template.brackets;
        let numbers = template.zero || template.decimal || template.shifted || template.blank;
        if template.roman && (signs || numbers) {
            return Err(TypeError::new("42601", "\"RN\" is incompatible with other formats")
                .with_detail("\"RN\" may only be used together with \"FM\".")
                .into());
        }
        Ok(template)
    }

    fn digit(&mut self) {
        if self.decimal { self.post += 1 } else { self.pre += 1 }
    }

    fn take(&mut self, node: Pattern) -> Result<()> {
        if let Pattern::Other(_) = node {
            return Ok(());
        }
        if self.exponent && node != Pattern::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        let together = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
        match node {
            Pattern::Nine if self.brackets => return Err(syntax("\"9\" must be ahead of \"PR\"")),
            Pattern::Nine if self.shifted => self.shift += 1,
            Pattern::Nine => self.digit(),
            Pattern::Zero if self.brackets => return Err(syntax("\"0\" must be ahead of \"PR\"")),
            Pattern::Zero => {
                if !self.zero && !self.decimal {
                    (self.zero, self.zero_start) = (true, self.pre + 1);
                }
                self.digit();
                self.zero_end = self.pre + self.post;
            }
            Pattern::Blank => self.blank |= self.pre == 0 && self.post == 0 && !self.zero,
            Pattern::Point if self.decimal => return Err(syntax("multiple decimal points")),
            Pattern::Point if self.shifted => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            Pattern::Point => self.decimal = true,
            Pattern::Fill => self.fill = true,
            Pattern::Sign => {
                if self.sign != Anchor::None {
                    return Err(syntax("cannot use \"S\" twice"));
                }
                if self.plus || self.minus || self.brackets {
                    return Err(syntax(together));
                }
                (self.sign, self.sign_at) =
                    if self.decimal { (Anchor::Behind, 0) } else { (Anchor::Before, self.pre) };
            }
            Pattern::Minus | Pattern::Plus | Pattern::PlusMinus if self.sign != Anchor::None => {
                let name = match node {
                    Pattern::Minus => "MI",
                    Pattern::Plus => "PL",
                    _ => "SG",
                };
                return Err(syntax(&format!("cannot use \"S\" and \"{name}\" together")));
            }
            Pattern::Minus => self.minus = true,
            Pattern::Plus => self.plus = true,
            Pattern::PlusMinus => (self.minus, self.plus) = (true, true),
            Pattern::Brackets => {
                if self.sign != Anchor::None || self.plus || self.minus {
                    return Err(syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.brackets = true;
            }
            Pattern::Roman(_) if self.roman => return Err(syntax("cannot use \"RN\" twice")),
            Pattern::Roman(_) => self.roman = true,
            Pattern::Shift if self.decimal => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            Pattern::Shift => self.shifted = true,
            Pattern::Exponent if self.exponent => return Err(syntax("cannot use \"EEEE\" twice")),
            Pattern::Exponent => {
                let signs = self.sign != Anchor::None || self.brackets || self.minus || self.plus;
                if self.blank || self.fill || signs || self.roman || self.shifted {
                    return Err(TypeError::new("42601", "\"EEEE\" is incompatible with other formats")
                        .with_detail(
                            "\"EEEE\" may only be used together with digit and decimal point patterns.",
                        )
                        .into());
                }
                self.exponent = true;
            }
            Pattern::Comma | Pattern::Group | Pattern::Currency | Pattern::Ordinal(_) | Pattern::Other(_) => {
            }
        }
        Ok(())
    }
}
