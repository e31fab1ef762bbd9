//! `to_char` of numbers: a number's digits on their way into a template.

use std::rc::Rc;

use verso_types::Value;

use super::roman::roman;
use super::source::Source;
use super::template::{Anchor, Pattern, Template};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::templates::ordinal;

/// A number as the templates want it: its sign, and digits with a point.
struct Digits {
    negative: bool,
    text: String,
}

/// A number on its way into a template.
struct Walk<'a> {
    template: Template,
    negative: bool,
    digits: &'a [u8],
    /// The next digit.
    at: usize,
    /// Digits of the template passed.
    passed: usize,
    /// Digits of the template that the number is too short for.
    blanks: usize,
    /// The last digit that `FM` shows.
    last: Option<usize>,
    sign_written: bool,
    /// How many digits there are, the sign among them where it has no place of its own.
    count: usize,
    in_number: bool,
    out: String,
}

impl Walk<'_> {
    fn digit(&self) -> u8 {
        self.digits.get(self.at).copied().unwrap_or(0)
    }

    /// The zero before the point of `0.5` beside `9.9` is a blank.
    fn before_point(&self) -> bool {
        !self.template.zero && self.at == 0 && self.digits.first() == Some(&b'0') && self.template.post != 0
    }

    fn last_is_point(&self) -> bool {
        self.last.is_some_and(|last| self.digits.get(last) == Some(&b'.'))
    }

    /// The sign, where it is due before a digit.
    fn sign(&mut self) {
        let due = self.passed >= self.blanks || self.template.zero && self.template.zero_start == self.passed;
        if self.sign_written || !due || self.before_point() && !self.last_is_point() {
            return;
        }
        if self.template.sign != Anchor::None {
            if self.template.sign == Anchor::Before {
                self.out.push(if self.negative { '-' } else { '+' });
                self.sign_written = true;
            }
        } else if self.template.brackets {
            self.out.push(if self.negative { '<' } else { ' ' });
            self.sign_written = true;
        } else if self.negative {
            self.out.push('-');
            self.sign_written = true;
        } else {
            if !self.template.fill {
                self.out.push(' ');
            }
            self.sign_written = true;
        }
    }

    /// A digit or the point.
    fn part(&mut self, pattern: Pattern) {
        self.in_number = false;
        self.sign();
        let template = &self.template;
        let missing = self.passed < self.blanks;
        if missing && (!template.zero || template.zero_start > self.passed) {
            if !template.fill {
                self.out.push(' ');
            }
        } else if missing {
            self.out.push('0');
            self.in_number = true;
        } else {
            let digit = self.digit();
            if digit == b'.' {
                if !self.last_is_point() || template.fill {
                    self.out.push('.');
                }
            } else if self.last.is_some_and(|last| self.at > last) && pattern != Pattern::Zero {
            } else if self.before_point() {
                if !template.fill {
                    self.out.push(' ');
                } else if self.last_is_point() {
                    self.out.push('0');
                }
            } else if digit != 0 {
                self.out.push(char::from(digit));
                self.in_number = true;
            }
            if digit != 0 {
                self.at += 1;
            }
        }
        let mut end = self.count + usize::from(self.blanks > 0) + usize::from(self.template.decimal);
        if self.last.is_some_and(|last| last == self.at) {
            end = self.passed;
        }
        if self.passed + 1 == end {
            if self.sign_written && self.template.brackets {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if self.template.sign == Anchor::Behind {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.passed += 1;
    }
}

/// The digits in the template.
fn filled(mut template: Template, number: &Digits, blanks: usize) -> String {
    template.zero_start = template.zero_start.saturating_sub(1);
    let negative = number.negative;
    let sign_written;
    if template.plus || template.minus {
        sign_written = !template.plus || template.minus;
    } else {
        if !negative && template.fill {
            template.brackets = false;
        }
        sign_written = !negative && template.fill && template.sign == Anchor::None;
        if template.sign == Anchor::Before && template.pre == template.sign_at {
            template.sign = Anchor::Behind;
        }
    }
    let digits = number.text.as_bytes();
    let mut last = None;
    if template.fill && template.decimal {
        last = last_relevant(digits);
        if let Some(relevant) = last
            && template.zero_end > blanks
        {
            let zero = (digits.len() - 1).min(template.zero_end - blanks);
            last = Some(relevant.max(zero));
        }
    }
    let count = (template.post + template.pre + usize::from(!sign_written && blanks == 0)).saturating_sub(1);
    let nodes = Rc::clone(&template.nodes);
    let mut walk = Walk {
        template,
        negative,
        digits,
        at: 0,
        passed: 0,
        blanks,
        last,
        sign_written,
        count,
        in_number: false,
        out: String::new(),
    };
    for node in nodes.iter().copied() {
        let fill = walk.template.fill;
        match node {
            Pattern::Nine | Pattern::Zero | Pattern::Point => walk.part(node),
            Pattern::Comma | Pattern::Group if walk.in_number => walk.out.push(','),
            Pattern::Comma | Pattern::Group | Pattern::Currency if !fill => walk.out.push(' '),
            Pattern::Currency => walk.out.push(' '),
            Pattern::Ordinal(upper) => {
                let none = walk.digits.first() == Some(&b'#') || negative || walk.template.decimal;
                if !none {
                    let suffix = ordinal(&number.text);
                    walk.out.push_str(&if upper { suffix.to_uppercase() } else { suffix.into() });
                }
            }
            Pattern::Minus if negative => walk.out.push('-'),
            Pattern::Plus if !negative => walk.out.push('+'),
            Pattern::Minus | Pattern::Plus if !fill => walk.out.push(' '),
            Pattern::PlusMinus => walk.out.push(if negative { '-' } else { '+' }),
            Pattern::Other(c) => walk.out.push(c),
            _ => {}
        }
    }
    walk.out
}

/// The last digit behind the point that is not 0, or the point.
fn last_relevant(digits: &[u8]) -> Option<usize> {
    let point = digits.iter().position(|digit| *digit == b'.')?;
    let last = digits[point..].iter().rposition(|digit| *digit != b'0')?;
    Some(point + last)
}

/// A number by a template.
fn number_to_char(mut number: Source, text: &str) -> Result<String> {
    let mut template = Template::clone(&*Template::kept(text)?);
    if template.roman {
        let numeral = number.whole().and_then(roman);
        let numeral = numeral.unwrap_or_else(|| "#".repeat(15));
        let upper = template.nodes.contains(&Pattern::Roman(true));
        let numeral = if upper { numeral } else { numeral.to_lowercase() };
        return Ok(if template.fill { numeral } else { format!("{numeral:>15}") });
    }
    if template.exponent && !number.is_finite() {
        // a sign, the point, `e`, its sign and two digits more than the digits
        let (before, behind) = ("#".repeat(template.pre), "#".repeat(template.post + 4));
        return Ok(format!(" {before}.{behind}"));
    }
    if template.exponent {
        return Ok(number.scientific(template.post));
    }
    if template.shifted {
        number = number.times_ten_to(template.shift)?;
        template.pre += template.shift;
    }
    if let Source::Float { value, known } = number {
        // no digits beyond those that are known
        let whole = match value.is_finite() {
            true => format!("{:.0}", value.abs()).len(),
            false => Source::Float { value: value.abs(), known }.rounded(0).len(),
        };
        template.post = template.post.min(known.saturating_sub(whole));
    }
    let mut digits = number.rounded(template.post);
    let negative = digits.starts_with('-');
    if negative {
        digits.remove(0);
    }
    let before = digits.find('.').unwrap_or(digits.len());
    let blanks = template.pre.saturating_sub(before);
    if template.pre < before {
        digits = format!("{}.{}", "#".repeat(template.pre), "#".repeat(template.post));
    }
    Ok(filled(template, &Digits { negative, text: digits }, blanks))
}

pub(super) fn to_char(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [number, Value::Text(template)] = args else { return Err(unexpected("to_char", args)) };
    if template.is_empty() {
        return Ok(Value::text(""));
    }
    let source = Source::of(number).ok_or_else(|| unexpected("to_char", args))?;
    Ok(Value::Text(number_to_char(source, template)?.into()))
}
