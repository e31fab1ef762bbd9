//! `to_number`: a text that is read by a template.

use verso_types::{Decimal, Number, TypeError, Value};

use super::roman::of_roman;
use super::template::{Anchor, Pattern, Template};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;

/// A text that is read by a template of numbers.
struct Reading<'t> {
    template: &'t Template,
    input: Vec<char>,
    at: usize,
    /// The sign, once it is read.
    sign: Option<char>,
    /// The digits and the point.
    number: String,
    point: bool,
    /// Digits before and behind the point.
    before: usize,
    behind: usize,
}

impl Reading<'_> {
    fn next(&self) -> Option<char> {
        self.input.get(self.at).copied()
    }

    fn takes_sign(&mut self, signs: &[char]) -> bool {
        let Some(sign) = self.next().filter(|c| signs.contains(c)) else { return false };
        self.sign = Some(if sign == '<' { '-' } else { sign });
        true
    }

    /// Passes over so many characters, none of which may be part of a number.
    fn eat(&mut self, count: usize) {
        for _ in 0..count {
            match self.next() {
                Some(c) if !"0123456789.,+-".contains(c) => self.at += 1,
                _ => return,
            }
        }
    }

    /// A digit or the point, with the sign that may stand before or behind it. The caller goes on by a character.
    fn part(&mut self, pattern: Pattern) {
        let template = self.template;
        if self.next() == Some(' ') {
            self.at += 1;
        }
        let none_read = |reading: &Self| reading.sign.is_none() && reading.before + reading.behind == 0;
        if none_read(self) && pattern != Pattern::Point {
            let signs: &[char] = match () {
                () if template.sign == Anchor::Before => &['-', '+'],
                () if template.brackets => &['-', '<', '+'],
                () => &['-', '+'],
            };
            if self.takes_sign(signs) {
                self.at += 1;
            }
        }
        let mut read = false;
        match self.next() {
            None => return,
            Some(digit) if digit.is_ascii_digit() => {
                if self.point && self.behind == template.post {
                    return;
                }
                self.number.push(digit);
                *(if self.point { &mut self.behind } else { &mut self.before }) += 1;
                read = true;
            }
            Some('.') if template.decimal && !self.point => {
                self.number.push('.');
                (self.point, read) = (true, true);
            }
            Some(_) => {}
        }
        if self.sign.is_some() || self.before + self.behind == 0 {
            return;
        }
        // The sign of `S`, `MI` or `PL` may stand right behind the last digit.
        if template.sign != Anchor::None {
            let behind = self.input.get(self.at + 1).copied();
            if read && behind.is_some_and(|c| !c.is_ascii_digit()) {
                self.at += 1;
                if !self.takes_sign(&['-', '+']) {
                    self.at -= 1;
                }
            }
        } else if !read && (template.plus || template.minus) {
            self.takes_sign(&['-', '+']);
        }
    }

    fn read(&mut self) {
        for node in self.template.nodes.iter() {
            if self.at >= self.input.len() {
                break;
            }
            match node {
                Pattern::Nine | Pattern::Zero | Pattern::Point => self.part(*node),
                Pattern::Comma | Pattern::Group if self.template.fill || self.next() != Some(',') => continue,
                Pattern::Comma | Pattern::Group => {}
                Pattern::Currency => {
                    self.eat(1);
                    continue;
                }
                Pattern::Ordinal(_) if self.sign == Some('-') || self.template.decimal => continue,
                Pattern::Ordinal(_) => {
                    self.eat(2);
                    continue;
                }
                Pattern::Minus | Pattern::Plus | Pattern::PlusMinus => {
                    let signs: &[char] = match node {
                        Pattern::Minus => &['-'],
                        Pattern::Plus => &['+'],
                        _ => &['-', '+'],
                    };
                    if !self.takes_sign(signs) {
                        self.eat(1);
                        continue;
                    }
                }
                // Whatever stands there.
                Pattern::Other(_) => {}
                _ => continue,
            }
            self.at += 1;
        }
    }
}

/// Refuses more digits before the point than the template has places for, as PostgreSQL does: those of a sign or a word may
/// have become places of digits.
fn check_places(digits: &str, template: &Template, behind: usize) -> Result<()> {
    let places = template.pre + template.shift;
    let whole = digits.split('.').next().unwrap_or_default().trim_start_matches('0');
    if whole.len() <= places {
        return Ok(());
    }
    let limit = if places == 0 { "1".to_owned() } else { format!("10^{places}") };
    let field = format!("A field with precision {}, scale {behind}", places + behind);
    let detail = format!("{field} must round to an absolute value less than {limit}.");
    Err(TypeError::new("22003", "numeric field overflow").with_detail(detail).into())
}

/// `to_number`: the digits, the sign and the point of a text, where the template has their places.
pub(super) fn to_number(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else { return Err(unexpected("to_number", args)) };
    if template.is_empty() {
        return Ok(Value::Null);
    }
    let template = Template::kept(template)?;
    if template.exponent {
        return Err(TypeError::new("0A000", "\"EEEE\" not supported for input").into());
    }
    if template.roman {
        let number = of_roman(text).ok_or_else(|| TypeError::new("22P02", "invalid Roman numeral"))?;
        return Ok(Value::Numeric(Decimal::from(number)));
    }
    let mut reading = Reading {
        template: &template,
        input: text.chars().collect(),
        at: 0,
        sign: None,
        number: String::new(),
        point: false,
        before: 0,
        behind: 0,
    };
    reading.read();
    let sign = reading.sign.unwrap_or(' ');
    if reading.before + reading.behind == 0 {
        let text = format!("{sign}{}", reading.number.trim_end_matches('.'));
        return Err(TypeError::syntax("numeric", &text).into());
    }
    let mut digits = reading.number.trim_end_matches('.').to_owned();
    check_places(&digits, &template, reading.behind)?;
    if template.shifted {
        // Digits behind `V` are those behind the point; the factor, a power of ten, adds 16 places.
        while digits.len() <= template.shift {
            digits.insert(0, '0');
        }
        digits.insert(digits.len() - template.shift, '.');
        digits.push_str(&"0".repeat(16));
    }
    let sign = if sign == '-' { "-" } else { "" };
    Ok(Number::parse_value(&format!("{sign}{digits}"))?)
}
