//! Texts of queries.
//!
//! Operands are handed to a caller, which appends to the [`Builder`] what they stand for: a word, several words and operators,
//! or nothing but a stop word.

use super::query::{Item, Operand, TsQuery};
use super::words::{Of, is_blank, is_operator, next, syntax};
use super::{LEXEME_MAX, POSITION_MAX, TEXT_MAX};
use crate::error::{TypeError, sqlstate};

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With operators.
    Standard,
    /// All of it is one operand.
    Plain,
    /// As people type it: quotation marks, `or`, `-`.
    Web,
}

/// Operators that wait for their right operands, as many as PostgreSQL holds.
const WAITING_MAX: usize = 32;

/// A query while it is read, in postfix order.
#[derive(Debug)]
pub struct Builder<'t> {
    text: &'t str,
    items: Vec<Built>,
    bytes: usize,
}

/// An item, or what stands for a stop word until [`TsQuery`] is made.
#[derive(Clone, Debug)]
pub(super) enum Built {
    Item(Item),
    Stop,
}

impl Builder<'_> {
    /// A word.
    ///
    /// # Errors
    /// 54000.
    pub fn word(&mut self, word: &str, weights: u8, prefix: bool) -> Result<(), TypeError> {
        let too = |what: &str| {
            let text = format!("{what} in tsquery: \"{}\"", self.text);
            TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
        };
        if word.len() >= LEXEME_MAX {
            return Err(too("word is too long"));
        }
        if self.bytes >= TEXT_MAX {
            return Err(too("value is too big"));
        }
        self.bytes += word.len() + 1;
        self.items.push(Built::Item(Item::Operand(Operand { word: word.into(), weights, prefix })));
        Ok(())
    }

    /// An operator over what was appended last.
    pub fn operator(&mut self, item: Item) {
        self.items.push(Built::Item(item));
    }

    /// Stands for a stop word.
    pub fn stop(&mut self) {
        self.items.push(Built::Stop);
    }
}

enum Token<'t> {
    Operand { word: std::borrow::Cow<'t, str>, weights: u8, prefix: bool },
    Operator(Item),
    Open,
    Close,
    End,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    mode: Mode,
    /// Parentheses that are open.
    open: usize,
    wants: Wants,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    First,
    Operand,
    Operator,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn wrong(&self) -> TypeError {
        syntax(Of::Query, self.text)
    }

    fn token(&mut self, builder: &mut Builder<'_>) -> Result<Token<'t>, TypeError> {
        match self.mode {
            Mode::Standard => self.standard(),
            Mode::Web => self.web(builder),
            Mode::Plain => {
                let word = &self.text[self.at..];
                self.at = self.text.len();
                Ok(match word {
                    "" => Token::End,
                    word => Token::Operand { word: word.into(), weights: 0, prefix: false },
                })
            }
        }
    }

    fn standard(&mut self) -> Result<Token<'t>, TypeError> {
        loop {
            let c = self.peek();
            if self.wants == Wants::Operator {
                match c {
                    None if self.open > 0 => return Err(self.wrong()),
                    None => return Ok(Token::End),
                    Some('&' | '|') => {
                        self.at += 1;
                        self.wants = Wants::Operand;
                        return Ok(Token::Operator(if c == Some('&') { Item::And } else { Item::Or }));
                    }
                    Some('<') => {
                        let distance = self.distance()?.ok_or_else(|| self.wrong())?;
                        self.wants = Wants::Operand;
                        return Ok(Token::Operator(Item::Phrase(distance)));
                    }
                    Some(')') => {
                        self.at += 1;
                        self.open = self.open.checked_sub(1).ok_or_else(|| self.wrong())?;
                        return Ok(Token::Close);
                    }
                    Some(c) if is_blank(c) => self.at += c.len_utf8(),
                    Some(_) => return Err(self.wrong()),
                }
                continue;
            }
            match c {
                Some('!') => {
                    self.at += 1;
                    self.wants = Wants::Operand;
                    return Ok(Token::Operator(Item::Not));
                }
                Some('(') => {
                    self.at += 1;
                    self.open += 1;
                    self.wants = Wants::Operand;
                    return Ok(Token::Open);
                }
                Some(':') => return Err(self.wrong()),
                Some(c) if is_blank(c) => self.at += c.len_utf8(),
                _ => match next(Of::Query, self.text, self.at)? {
                    Some(word) => {
                        self.at = word.end;
                        let (weights, prefix) = self.modifiers();
                        self.wants = Wants::Operator;
                        return Ok(Token::Operand { word: word.text.into(), weights, prefix });
                    }
                    None if self.wants == Wants::First => return Ok(Token::End),
                    None => {
                        let text = format!("no operand in tsquery: \"{}\"", self.text);
                        return Err(TypeError::new(crate::sqlstate::SYNTAX_ERROR, text));
                    }
                },
            }
        }
    }

    /// `:*AB` behind a word.
    fn modifiers(&mut self) -> (u8, bool) {
        let (mut weights, mut prefix) = (0, false);
        if self.peek() != Some(':') {
            return (weights, prefix);
        }
        self.at += 1;
        while let Some(c) = self.peek() {
            match c.to_ascii_uppercase() {
                'A' => weights |= 8,
                'B' => weights |= 4,
                'C' => weights |= 2,
                'D' => weights |= 1,
                '*' => prefix = true,
                _ => break,
            }
            self.at += 1;
        }
        (weights, prefix)
    }

    /// `<->` or `<N>`; none where it is neither.
    fn distance(&mut self) -> Result<Option<u16>, TypeError> {
        let inner = &self.text[self.at + 1..];
        if inner.starts_with("->") {
            self.at += 3;
            return Ok(Some(1));
        }
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(None);
        }
        let number = inner[..digits].parse::<u64>().unwrap_or(u64::MAX);
        let most = POSITION_MAX + 1;
        if number > most.into() {
            let text = format!(
                "distance in phrase operator must be an integer value between zero and {most} inclusive"
            );
            return Err(TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if !inner[digits..].starts_with('>') {
            return Ok(None);
        }
        self.at += digits + 2;
        Ok(Some(number as u16))
    }

    fn web(&mut self, builder: &mut Builder<'_>) -> Result<Token<'t>, TypeError> {
        loop {
            let c = self.peek();
            if self.wants == Wants::Operator {
                match c {
                    None => return Ok(Token::End),
                    Some(_) if self.takes_or() => {
                        self.wants = Wants::Operand;
                        return Ok(Token::Operator(Item::Or));
                    }
                    Some(c) if is_operator(c) || is_blank(c) => self.at += c.len_utf8(),
                    Some(_) => {
                        self.wants = Wants::Operand;
                        return Ok(Token::Operator(Item::And));
                    }
                }
                continue;
            }
            match c {
                Some('-') => {
                    self.at += 1;
                    self.wants = Wants::Operand;
                    return Ok(Token::Operator(Item::Not));
                }
                Some('"') => {
                    let inner = &self.text[self.at + 1..];
                    let (word, behind) = match inner.find('"') {
                        Some(end) => (&inner[..end], end + 1),
                        None => (inner, inner.len()),
                    };
                    self.at += 1 + behind;
                    self.wants = Wants::Operator;
                    return Ok(Token::Operand { word: word.into(), weights: 0, prefix: false });
                }
                Some(c) if is_operator(c) => {
                    self.at += 1;
                    self.wants = Wants::Operand;
                }
                Some(c) if is_blank(c) => self.at += c.len_utf8(),
                _ => match next(Of::Web, self.text, self.at)? {
                    Some(word) => {
                        self.at = word.end;
                        self.wants = Wants::Operator;
                        return Ok(Token::Operand { word: word.text.into(), weights: 0, prefix: false });
                    }
                    None if self.wants == Wants::First => return Ok(Token::End),
                    None => {
                        // An operator wants an operand in any case.
                        builder.stop();
                        return Ok(Token::End);
                    }
                },
            }
        }
    }

    /// Goes behind `or`, where it is a word of its own and something follows.
    fn takes_or(&mut self) -> bool {
        let rest = &self.text[self.at..];
        if !rest.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("or")) {
            return false;
        }
        let mut behind = rest[2..].chars();
        let ends = behind.next().is_some_and(|c| !matches!(c, '-' | '_') && !c.is_alphanumeric());
        let found = ends && behind.any(|c| !is_blank(c));
        if found {
            self.at += 2;
        }
        found
    }
}

/// Moves operators that bind at least as tightly as `item` to the query.
fn settle(waiting: &mut Vec<Item>, item: &Item, builder: &mut Builder<'_>) {
    let own = item.priority();
    while let Some(last) = waiting.last() {
        // NOT is right associative, unlike the others.
        let stays = if *item == Item::Not { own >= last.priority() } else { own > last.priority() };
        if stays {
            return;
        }
        builder.items.extend(waiting.pop().map(Built::Item));
    }
}

/// Reads a query; `operand` appends what a word stands for. The second result says whether there was any operand.
///
/// # Errors
/// 42601, 22023, 54000, and what `operand` returns.
pub fn parse<E: From<TypeError>>(
    text: &str,
    mode: Mode,
    mut operand: impl FnMut(&mut Builder<'_>, &str, u8, bool) -> Result<(), E>,
) -> Result<Parsed, E> {
    let mut builder = Builder { text, items: Vec::new(), bytes: 0 };
    let mut reader = Reader { text, at: 0, mode, open: 0, wants: Wants::First };
    // Operators that wait, of each open parenthesis.
    let mut levels: Vec<Vec<Item>> = vec![Vec::new()];
    loop {
        let token = reader.token(&mut builder)?;
        let Some(waiting) = levels.last_mut() else { return Err(reader.wrong().into()) };
        match token {
            Token::Operand { word, weights, prefix } => operand(&mut builder, &word, weights, prefix)?,
            Token::Operator(item) => {
                settle(waiting, &item, &mut builder);
                if waiting.len() == WAITING_MAX {
                    return Err(TypeError::new(sqlstate::INTERNAL_ERROR, "tsquery stack too small").into());
                }
                waiting.push(item);
            }
            Token::Open => levels.push(Vec::new()),
            Token::Close => {
                settle(waiting, &Item::Or, &mut builder);
                levels.pop();
            }
            Token::End => {
                while let Some(mut waiting) = levels.pop() {
                    settle(&mut waiting, &Item::Or, &mut builder);
                }
                break;
            }
        }
    }
    let mut items = builder.items;
    if items.is_empty() {
        return Ok(Parsed { query: TsQuery::default(), left: Left::NoOperand });
    }
    items.reverse();
    let had_stops = items.iter().any(|item| matches!(item, Built::Stop));
    let query = super::shape::without_stops(items).ok_or_else(|| reader.wrong())?;
    let left = if had_stops && query.is_empty() { Left::OnlyStops } else { Left::Query };
    Ok(Parsed { query, left })
}

/// A query that was read.
#[derive(Debug)]
pub struct Parsed {
    /// The query, without stop words.
    pub query: TsQuery,
    /// What is left of the text.
    pub left: Left,
}

/// What is left of the text of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// A query.
    Query,
    /// Nothing: there was no operand.
    NoOperand,
    /// Nothing: all operands were stop words.
    OnlyStops,
}

impl TsQuery {
    /// Reads a text such as `'fat' & !cat:*A`, its words as they are.
    ///
    /// # Errors
    /// 42601, 22023, 54000.
    pub fn parse(text: &str) -> Result<TsQuery, TypeError> {
        let word =
            |builder: &mut Builder<'_>, word: &str, weights, prefix| builder.word(word, weights, prefix);
        Ok(parse::<TypeError>(text, Mode::Standard, word)?.query)
    }
}
