//! `tsquery`: a condition over lexemes, as a list in prefix order: operator, right operand, left operand.
//!
//! ```text
//! stored = items u32, size in PostgreSQL u32, then the items: 1, operator │ 2, checksum of the word u32, word, 0;
//!          behind the operands of a phrase its distance u16; at the end weights and prefix of each operand, a byte each
//! ```
//!
//! Numbers are big-endian, and inverted where PostgreSQL has greater ones first. So bytes are in order as PostgreSQL has
//! queries in order; of queries that differ in weights or prefixes alone PostgreSQL says that they are equal, these bytes do not.

use super::vector::{COUNT_MAX, Rest};
use super::{LEXEME_MAX, TEXT_MAX, words};
use crate::error::{TypeError, sqlstate};
use crate::inverted::trigram::legacy_checksum;
use crate::opaque::{Opaque, OpaqueKind};
use crate::value::Value;

/// A word that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The word.
    pub word: Box<str>,
    /// The weights one of which its positions must have, a bit each from D up; 0: whichever.
    pub weights: u8,
    /// Whether any lexeme that begins so will do.
    pub prefix: bool,
}

/// PostgreSQL's checksum of a word, by which it sorts operands.
#[must_use]
pub fn checksum(word: &str) -> u32 {
    legacy_checksum(word.as_bytes())
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A lexeme is there.
    Operand(Operand),
    /// `!`
    Not,
    /// `&`
    And,
    /// `|`
    Or,
    /// `<->`: the right operand so many places behind the left one.
    Phrase(u16),
}

impl Item {
    /// How many operands it has.
    #[must_use]
    pub fn arity(&self) -> usize {
        match self {
            Item::Operand(_) => 0,
            Item::Not => 1,
            Item::And | Item::Or | Item::Phrase(_) => 2,
        }
    }

    /// PostgreSQL's number of the operator.
    fn code(&self) -> u8 {
        match self {
            Item::Operand(_) => 0,
            Item::Not => 1,
            Item::And => 2,
            Item::Or => 3,
            Item::Phrase(_) => 4,
        }
    }

    /// How tightly it binds.
    pub(super) fn priority(&self) -> u8 {
        match self {
            Item::Operand(_) => 5,
            Item::Not => 4,
            Item::Phrase(_) => 3,
            Item::And => 2,
            Item::Or => 1,
        }
    }

    fn operator(code: u32, distance: u16) -> Option<Item> {
        Some(match code {
            1 => Item::Not,
            2 => Item::And,
            3 => Item::Or,
            4 => Item::Phrase(distance),
            _ => return None,
        })
    }
}

/// A query; one without items matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TsQuery {
    items: Vec<Item>,
}

impl TsQuery {
    /// A query of these items; `None` where they are no list in prefix order.
    #[must_use]
    pub fn new(items: Vec<Item>) -> Option<TsQuery> {
        let mut open = 1usize;
        for (n, item) in items.iter().enumerate() {
            open = open.checked_sub(1)? + item.arity();
            if open == 0 && n + 1 < items.len() {
                return None;
            }
        }
        (items.is_empty() || open == 0).then_some(TsQuery { items })
    }

    /// The items in prefix order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The words that it asks for.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        self.items.iter().filter_map(|item| match item {
            Item::Operand(operand) => Some(operand),
            _ => None,
        })
    }

    /// How many items each item has below it, itself counted. The right operand of item `n` is `n + 1`, the left one is behind
    /// the items of that.
    #[must_use]
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![1u32; self.items.len()];
        for n in (0..self.items.len()).rev() {
            let right = sizes.get(n + 1).copied().unwrap_or(0);
            sizes[n] = match self.items[n].arity() {
                0 => 1,
                1 => 1 + right,
                _ => 1 + right + sizes.get(n + 1 + right as usize).copied().unwrap_or(0),
            };
        }
        sizes
    }

    /// This operator over two queries, or over the left one alone; an empty one gives way to the other.
    #[must_use]
    pub fn joined(operator: Item, left: TsQuery, right: TsQuery) -> TsQuery {
        if left.is_empty() {
            return right;
        }
        if right.is_empty() {
            return left;
        }
        let mut items = Vec::with_capacity(1 + left.items.len() + right.items.len());
        items.push(operator);
        items.extend(right.items);
        items.extend(left.items);
        TsQuery { items }
    }

    /// What the other does not match.
    #[must_use]
    pub fn negated(mut self) -> TsQuery {
        if !self.is_empty() {
            self.items.insert(0, Item::Not);
        }
        self
    }

    /// Bytes of the whole value in PostgreSQL.
    #[must_use]
    pub fn size(&self) -> usize {
        8 + 12 * self.items.len() + self.operands().map(|operand| operand.word.len() + 1).sum::<usize>()
    }

    /// Appends its text.
    pub fn format(&self, out: &mut String) {
        use std::fmt::Write as _;
        enum Task {
            Item { at: usize, around: u8, right_of_phrase: bool },
            Text(&'static str),
            Distance(u16),
        }
        if self.is_empty() {
            return;
        }
        let sizes = self.sizes();
        let mut tasks = vec![Task::Item { at: 0, around: 0, right_of_phrase: false }];
        while let Some(task) = tasks.pop() {
            let (at, around, right_of_phrase) = match task {
                Task::Item { at, around, right_of_phrase } => (at, around, right_of_phrase),
                Task::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Task::Distance(distance) => {
                    // writing to a String cannot fail
                    let _ = match distance {
                        1 => write!(out, " <-> "),
                        distance => write!(out, " <{distance}> "),
                    };
                    continue;
                }
            };
            let item = &self.items[at];
            let within = item.priority();
            let is_phrase = matches!(item, Item::Phrase(_));
            if within < around || (is_phrase && right_of_phrase) {
                out.push_str("( ");
                tasks.push(Task::Text(" )"));
            }
            match item {
                Item::Operand(operand) => {
                    words::put_quoted(&operand.word, out);
                    if operand.weights > 0 || operand.prefix {
                        out.push(':');
                        if operand.prefix {
                            out.push('*');
                        }
                        out.extend(
                            [(8, 'A'), (4, 'B'), (2, 'C'), (1, 'D')]
                                .iter()
                                .filter(|(bit, _)| operand.weights & bit != 0)
                                .map(|(_, letter)| *letter),
                        );
                    }
                }
                Item::Not => {
                    out.push('!');
                    tasks.push(Task::Item { at: at + 1, around: within, right_of_phrase: false });
                }
                Item::And | Item::Or | Item::Phrase(_) => {
                    tasks.push(Task::Item { at: at + 1, around: within, right_of_phrase: is_phrase });
                    tasks.push(match item {
                        Item::Phrase(distance) => Task::Distance(*distance),
                        Item::And => Task::Text(" & "),
                        _ => Task::Text(" | "),
                    });
                    let left = at + 1 + sizes[at + 1] as usize;
                    tasks.push(Task::Item { at: left, around: within, right_of_phrase: false });
                }
            }
        }
    }

    /// Appends the binary form of the protocol.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.items.len() as u32).to_be_bytes());
        for item in &self.items {
            match item {
                Item::Operand(operand) => {
                    out.extend([1, operand.weights, operand.prefix.into()]);
                    out.extend_from_slice(operand.word.as_bytes());
                    out.push(0);
                }
                operator => {
                    out.extend([2, operator.code()]);
                    if let Item::Phrase(distance) = operator {
                        out.extend_from_slice(&distance.to_be_bytes());
                    }
                }
            }
        }
    }

    /// Reads the binary form of the protocol.
    ///
    /// # Errors
    /// 08P01 for too few bytes, 22P03 for too many, XX000 as PostgreSQL for what is no query.
    pub fn receive(bytes: &[u8]) -> Result<TsQuery, TypeError> {
        let wrong = |text: String| TypeError::new(sqlstate::INTERNAL_ERROR, text);
        let mut rest = Rest(bytes);
        let count = rest.number::<4>()?;
        if count as usize > COUNT_MAX {
            return Err(wrong("invalid size of tsquery".into()));
        }
        if count == 0 {
            return Err(wrong("malformed tsquery: operand not found".into()));
        }
        let (mut items, mut total) = (Vec::new(), 0);
        for n in 0..count {
            match rest.number::<1>()? {
                1 => {
                    let (weights, prefix) = (rest.number::<1>()?, rest.number::<1>()?);
                    let word = rest.text()?;
                    if weights > 0xf {
                        return Err(wrong("invalid tsquery: invalid weight bitmap".into()));
                    }
                    if word.len() > LEXEME_MAX {
                        return Err(wrong("invalid tsquery: operand too long".into()));
                    }
                    total += word.len() + 1;
                    if total > TEXT_MAX {
                        return Err(wrong("invalid tsquery: total operand length exceeded".into()));
                    }
                    let operand = Operand { word: word.into(), weights: weights as u8, prefix: prefix != 0 };
                    items.push(Item::Operand(operand));
                }
                2 => {
                    let code = rest.number::<1>()?;
                    let distance = if code == 4 { rest.number::<2>()? } else { 0 };
                    let item = Item::operator(code, distance as u16).ok_or_else(|| {
                        wrong(format!("invalid tsquery: unrecognized operator type {code}"))
                    })?;
                    if n + 1 == count {
                        return Err(wrong("invalid pointer to right operand".into()));
                    }
                    items.push(item);
                }
                other => return Err(wrong(format!("unrecognized tsquery node type: {other}"))),
            }
        }
        rest.end()?;
        let missing: usize = items.iter().map(Item::arity).sum::<usize>() + 1;
        let what = if missing > items.len() { "operand not found" } else { "extra nodes" };
        TsQuery::new(items).ok_or_else(|| wrong(format!("malformed tsquery: {what}")))
    }

    /// The stored value.
    #[must_use]
    pub fn value(&self) -> Opaque {
        let size = self.size();
        let mut out = Vec::with_capacity(size + 8);
        out.extend_from_slice(&(self.items.len() as u32).to_be_bytes());
        out.extend_from_slice(&(size as u32).to_be_bytes());
        // What is still to come of the operators that are open, and the distance that ends each.
        let mut open: Vec<(usize, Option<u16>)> = Vec::new();
        for item in &self.items {
            match item {
                Item::Operand(operand) => {
                    out.push(2);
                    let checksum = checksum(&operand.word);
                    out.extend_from_slice(&(!(checksum ^ 1 << 31)).to_be_bytes());
                    out.extend_from_slice(operand.word.as_bytes());
                    out.push(0);
                    while let Some((missing, distance)) = open.last_mut() {
                        *missing -= 1;
                        if *missing > 0 {
                            break;
                        }
                        if let Some(distance) = distance {
                            out.extend_from_slice(&(!*distance).to_be_bytes());
                        }
                        open.pop();
                    }
                }
                operator => {
                    out.extend([1, 5 - operator.code()]);
                    let distance = if let Item::Phrase(distance) = operator { Some(*distance) } else { None };
                    open.push((operator.arity(), distance));
                }
            }
        }
        out.extend(self.operands().map(|operand| operand.weights << 1 | u8::from(operand.prefix)));
        Opaque::new(OpaqueKind::TsQuery, out)
    }

    /// As [`TsQuery::value`], a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The query that a stored value is; bytes that break the form are the empty one.
    #[must_use]
    pub fn of(value: &Opaque) -> TsQuery {
        TsQuery::read(value.bytes()).unwrap_or_default()
    }

    fn read(bytes: &[u8]) -> Option<TsQuery> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = u32::from_be_bytes(*count) as usize;
        let mut rest = rest.get(4..)?;
        let mut items = Vec::with_capacity(count.min(bytes.len()));
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut operands = 0;
        for _ in 0..count {
            let (mark, behind) = rest.split_first()?;
            rest = behind;
            if *mark == 1 {
                let (code, behind) = rest.split_first()?;
                rest = behind;
                let item = Item::operator(5u32.checked_sub((*code).into())?, 0)?;
                open.push((item.arity(), items.len()));
                items.push(item);
                continue;
            }
            let behind = rest.get(4..)?;
            let end = behind.iter().position(|byte| *byte == 0)?;
            let word = std::str::from_utf8(&behind[..end]).ok()?;
            items.push(Item::Operand(Operand { word: word.into(), weights: 0, prefix: false }));
            rest = &behind[end + 1..];
            operands += 1;
            while let Some((missing, at)) = open.last_mut() {
                *missing -= 1;
                if *missing > 0 {
                    break;
                }
                let at = *at;
                open.pop();
                if let Item::Phrase(distance) = items.get_mut(at)? {
                    let (bytes, behind) = rest.split_first_chunk::<2>()?;
                    *distance = !u16::from_be_bytes(*bytes);
                    rest = behind;
                }
            }
        }
        let mut marks = rest.get(..operands)?.iter();
        for item in &mut items {
            if let Item::Operand(operand) = item {
                let mark = marks.next()?;
                operand.weights = mark >> 1 & 0xf;
                operand.prefix = mark & 1 == 1;
            }
        }
        TsQuery::new(items)
    }
}
