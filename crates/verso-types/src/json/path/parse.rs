//! From text to tree.

use super::lex::{Word, near, syntax, words};
use super::{Accessor, Arithmetic, Comparison, DEPTH_MAX, Expr, Flags, JsonPath, Method};
use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};

/// How many parentheses, filters and subscripts may be within each other: each takes a dozen calls to read.
const RULES_MAX: usize = 40;

/// An expression, whether it is a predicate, and how high its tree is.
struct Parsed {
    expr: Expr,
    predicate: bool,
    height: usize,
}

struct Parser<'t> {
    text: &'t str,
    words: Vec<(Word, usize)>,
    at: usize,
    /// How many rules are within each other.
    depth: usize,
    filters: usize,
    subscripts: usize,
}

pub(super) fn parse(text: &str) -> Result<JsonPath, TypeError> {
    if text.trim().is_empty() {
        return Err(TypeError::syntax("jsonpath", text));
    }
    let mut parser = Parser { text, words: words(text)?, at: 0, depth: 0, filters: 0, subscripts: 0 };
    let lax = match parser.key_word() {
        Some("strict") => {
            parser.at += 1;
            false
        }
        Some("lax") => {
            parser.at += 1;
            true
        }
        _ => true,
    };
    let root = parser.any()?.expr;
    if *parser.peek() != Word::End {
        return Err(parser.unexpected());
    }
    Ok(JsonPath { lax, root })
}

#[cold]
fn too_deep() -> TypeError {
    TypeError::new("54001", "stack depth limit exceeded")
        .with_hint(format!("A path of JSON may be nested {RULES_MAX} levels deep."))
}

fn plain(expr: Expr) -> Parsed {
    Parsed { expr, predicate: false, height: 1 }
}

impl Parser<'_> {
    fn peek(&self) -> &Word {
        &self.words[self.at.min(self.words.len() - 1)].0
    }

    fn peek_second(&self) -> &Word {
        &self.words[(self.at + 1).min(self.words.len() - 1)].0
    }

    /// The name that comes next, in lower case where it is a key word.
    fn key_word(&self) -> Option<&'static str> {
        const WORDS: [&str; 12] = [
            "strict",
            "lax",
            "exists",
            "is",
            "unknown",
            "starts",
            "with",
            "like_regex",
            "flag",
            "last",
            "to",
            "not",
        ];
        match self.peek() {
            Word::Name(name) => WORDS.into_iter().find(|word| name.eq_ignore_ascii_case(word)),
            _ => None,
        }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Word::Sign(found) if *found == sign)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), TypeError> {
        if self.accept(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: &str) -> Result<(), TypeError> {
        if self.key_word() != Some(word) {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn unexpected(&self) -> TypeError {
        let word = self.at.min(self.words.len() - 1);
        let start = self.words[word].1;
        let end = self.words.get(word + 1).map_or(self.text.len(), |(_, next)| *next);
        near(self.text[start..end].trim_end())
    }

    /// A node above others.
    fn node(&self, expr: Expr, predicate: bool, height: usize) -> Result<Parsed, TypeError> {
        match height < DEPTH_MAX {
            true => Ok(Parsed { expr, predicate, height: height + 1 }),
            false => Err(too_deep()),
        }
    }

    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T, TypeError>) -> Result<T, TypeError> {
        if self.depth >= RULES_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn want(&self, parsed: Parsed, predicate: bool) -> Result<Parsed, TypeError> {
        if parsed.predicate == predicate { Ok(parsed) } else { Err(self.unexpected()) }
    }

    /// An expression or a predicate.
    fn any(&mut self) -> Result<Parsed, TypeError> {
        self.deeper(|parser| {
            let mut left = parser.and()?;
            while parser.is("||") {
                left = parser.want(left, true)?;
                parser.at += 1;
                let right = parser.and()?;
                let right = parser.want(right, true)?;
                let height = left.height.max(right.height);
                left = parser.node(Expr::Or(left.expr.into(), right.expr.into()), true, height)?;
            }
            Ok(left)
        })
    }

    fn predicate(&mut self) -> Result<Expr, TypeError> {
        let parsed = self.any()?;
        Ok(self.want(parsed, true)?.expr)
    }

    fn expr(&mut self) -> Result<Expr, TypeError> {
        let parsed = self.any()?;
        Ok(self.want(parsed, false)?.expr)
    }

    fn and(&mut self) -> Result<Parsed, TypeError> {
        let mut left = self.comparison()?;
        while self.is("&&") {
            left = self.want(left, true)?;
            self.at += 1;
            let right = self.comparison()?;
            let right = self.want(right, true)?;
            let height = left.height.max(right.height);
            left = self.node(Expr::And(left.expr.into(), right.expr.into()), true, height)?;
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Parsed, TypeError> {
        if self.accept("!") {
            let inner = self.deeper(Self::delimited)?;
            return self.node(Expr::Not(inner.expr.into()), true, inner.height);
        }
        let left = self.sum()?;
        let sign = match self.peek() {
            Word::Sign("==") => Comparison::Equal,
            Word::Sign("!=") => Comparison::NotEqual,
            Word::Sign("<") => Comparison::Less,
            Word::Sign("<=") => Comparison::LessOrEqual,
            Word::Sign(">") => Comparison::Greater,
            Word::Sign(">=") => Comparison::GreaterOrEqual,
            _ => return self.words_behind(left),
        };
        let left = self.want(left, false)?;
        self.at += 1;
        let right = self.sum()?;
        let right = self.want(right, false)?;
        let height = left.height.max(right.height);
        self.node(Expr::Compare(sign, left.expr.into(), right.expr.into()), true, height)
    }

    /// `starts with`, `like_regex`.
    fn words_behind(&mut self, left: Parsed) -> Result<Parsed, TypeError> {
        match self.key_word() {
            Some("starts") => {
                let left = self.want(left, false)?;
                self.at += 1;
                self.expect_word("with")?;
                let start = match self.peek().clone() {
                    Word::String(text) => Expr::String(text),
                    Word::Variable(name) => Expr::Variable(name),
                    _ => return Err(self.unexpected()),
                };
                self.at += 1;
                self.node(Expr::StartsWith(left.expr.into(), start.into()), true, left.height)
            }
            Some("like_regex") => {
                let left = self.want(left, false)?;
                self.at += 1;
                let pattern = self.string()?;
                let mut flags = Flags::default();
                if self.key_word() == Some("flag") {
                    self.at += 1;
                    flags = flags_of(&self.string()?)?;
                }
                self.node(Expr::LikeRegex(left.expr.into(), pattern, flags), true, left.height)
            }
            _ => Ok(left),
        }
    }

    fn string(&mut self) -> Result<String, TypeError> {
        let Word::String(text) = self.peek().clone() else { return Err(self.unexpected()) };
        self.at += 1;
        Ok(text)
    }

    /// A predicate in parentheses, or `exists (…)`.
    fn delimited(&mut self) -> Result<Parsed, TypeError> {
        if self.key_word() == Some("exists") {
            return self.exists();
        }
        self.expect("(")?;
        let inner = self.any()?;
        let inner = self.want(inner, true)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn exists(&mut self) -> Result<Parsed, TypeError> {
        self.at += 1;
        self.expect("(")?;
        let inner = self.any()?;
        let inner = self.want(inner, false)?;
        self.expect(")")?;
        self.node(Expr::Exists(inner.expr.into()), true, inner.height)
    }

    fn sum(&mut self) -> Result<Parsed, TypeError> {
        let mut left = self.product()?;
        loop {
            let sign = match self.peek() {
                Word::Sign("+") => Arithmetic::Add,
                Word::Sign("-") => Arithmetic::Subtract,
                _ => return Ok(left),
            };
            left = self.arithmetic(sign, left, Self::product)?;
        }
    }

    fn product(&mut self) -> Result<Parsed, TypeError> {
        let mut left = self.signed()?;
        loop {
            let sign = match self.peek() {
                Word::Sign("*") => Arithmetic::Multiply,
                Word::Sign("/") => Arithmetic::Divide,
                Word::Sign("%") => Arithmetic::Modulo,
                _ => return Ok(left),
            };
            left = self.arithmetic(sign, left, Self::signed)?;
        }
    }

    fn arithmetic(
        &mut self,
        sign: Arithmetic,
        left: Parsed,
        operand: impl FnOnce(&mut Self) -> Result<Parsed, TypeError>,
    ) -> Result<Parsed, TypeError> {
        let left = self.want(left, false)?;
        self.at += 1;
        let right = operand(self)?;
        let right = self.want(right, false)?;
        let height = left.height.max(right.height);
        self.node(Expr::Arithmetic(sign, left.expr.into(), right.expr.into()), false, height)
    }

    fn signed(&mut self) -> Result<Parsed, TypeError> {
        let negative = self.is("-");
        if !negative && !self.is("+") {
            return self.access();
        }
        self.at += 1;
        let inner = self.deeper(Self::signed)?;
        let inner = self.want(inner, false)?;
        // a number with its sign is a number
        let expr = match inner.expr {
            Expr::Number(number) if negative => Expr::Number(number.negate()),
            Expr::Number(number) => Expr::Number(number),
            expr => return self.node(Expr::Sign(negative, expr.into()), false, inner.height),
        };
        Ok(plain(expr))
    }

    fn access(&mut self) -> Result<Parsed, TypeError> {
        let mut head = self.primary()?;
        let mut accessors = Vec::new();
        while let Some(accessor) = self.accessor()? {
            accessors.push(accessor);
        }
        if !accessors.is_empty() {
            head = self.node(Expr::Access(head.expr.into(), accessors), false, head.height)?;
        }
        Ok(head)
    }

    fn primary(&mut self) -> Result<Parsed, TypeError> {
        if self.is("(") {
            self.at += 1;
            let inner = self.any()?;
            self.expect(")")?;
            if inner.predicate && self.key_word() == Some("is") {
                self.at += 1;
                self.expect_word("unknown")?;
                return self.node(Expr::IsUnknown(inner.expr.into()), true, inner.height);
            }
            return Ok(inner);
        }
        if self.key_word() == Some("exists") && *self.peek_second() == Word::Sign("(") {
            return self.deeper(Self::exists);
        }
        let expr = match self.peek().clone() {
            Word::Sign("$") => Expr::Root,
            Word::Sign("@") if self.filters == 0 => {
                return Err(syntax("@ is not allowed in root expressions"));
            }
            Word::Sign("@") => Expr::Current,
            Word::String(text) => Expr::String(text),
            Word::Variable(name) => Expr::Variable(name),
            Word::Integer(digits) => Expr::Number(Decimal::parse(&digits)?),
            Word::Number(number) => Expr::Number(number),
            Word::Name(name) => match name.as_str() {
                "null" => Expr::Null,
                "true" => Expr::Bool(true),
                "false" => Expr::Bool(false),
                _ if self.key_word() == Some("last") => {
                    if self.subscripts == 0 {
                        return Err(syntax("LAST is allowed only in array subscripts"));
                    }
                    Expr::Last
                }
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(plain(expr))
    }

    fn accessor(&mut self) -> Result<Option<Accessor>, TypeError> {
        if self.accept("[") {
            return self.elements().map(Some);
        }
        if self.accept("?") {
            self.expect("(")?;
            self.filters += 1;
            let predicate = self.predicate()?;
            self.filters -= 1;
            self.expect(")")?;
            return Ok(Some(Accessor::Filter(predicate)));
        }
        if !self.accept(".") {
            return Ok(None);
        }
        if self.accept("**") {
            return self.levels().map(Some);
        }
        if self.accept("*") {
            return Ok(Some(Accessor::AnyMember));
        }
        let name = match self.peek().clone() {
            Word::String(text) => {
                self.at += 1;
                return Ok(Some(Accessor::Member(text)));
            }
            Word::Name(name) => name,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        match Method::named(&name.to_ascii_lowercase()) {
            Some((method, most)) if self.accept("(") => self.arguments(method, most).map(Some),
            _ if self.is("(") => Err(self.unexpected()),
            _ => Ok(Some(Accessor::Member(name))),
        }
    }

    fn arguments(&mut self, method: Method, most: usize) -> Result<Accessor, TypeError> {
        let mut args = Vec::new();
        while !self.accept(")") {
            if args.len() == most || !args.is_empty() && !self.accept(",") {
                return Err(self.unexpected());
            }
            args.push(match (method, self.peek().clone()) {
                (Method::DateTime, Word::String(text)) => {
                    self.at += 1;
                    Expr::String(text)
                }
                (Method::DateTime, _) => return Err(self.unexpected()),
                _ => {
                    let negative = self.accept("-");
                    if !negative {
                        self.accept("+");
                    }
                    let Word::Integer(digits) = self.peek().clone() else { return Err(self.unexpected()) };
                    self.at += 1;
                    let number = Decimal::parse(&digits)?;
                    Expr::Number(if negative { number.negate() } else { number })
                }
            });
        }
        Ok(Accessor::Method(method, args))
    }

    fn elements(&mut self) -> Result<Accessor, TypeError> {
        if self.is("*") && *self.peek_second() == Word::Sign("]") {
            self.at += 2;
            return Ok(Accessor::AnyElement);
        }
        self.subscripts += 1;
        let mut subscripts = Vec::new();
        loop {
            let first = self.expr()?;
            let last = match self.key_word() {
                Some("to") => {
                    self.at += 1;
                    Some(self.expr()?)
                }
                _ => None,
            };
            subscripts.push((first, last));
            if !self.accept(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Accessor::Elements(subscripts))
    }

    /// Behind `**`: `{2}`, `{1 to last}`, or nothing.
    fn levels(&mut self) -> Result<Accessor, TypeError> {
        if !self.accept("{") {
            return Ok(Accessor::Deep(Some(0), None));
        }
        let level = |parser: &mut Self| match parser.peek().clone() {
            Word::Integer(digits) => {
                parser.at += 1;
                digits.parse().map(Some).map_err(|_| TypeError::out_of_range("integer"))
            }
            _ if parser.key_word() == Some("last") => {
                parser.at += 1;
                Ok(None)
            }
            _ => Err(parser.unexpected()),
        };
        let first = level(self)?;
        let last = match self.key_word() {
            Some("to") => {
                self.at += 1;
                level(self)?
            }
            _ => first,
        };
        self.expect("}")?;
        Ok(Accessor::Deep(first, last))
    }
}

fn flags_of(text: &str) -> Result<Flags, TypeError> {
    let mut flags = Flags::default();
    for c in text.chars() {
        let flag = match c {
            'i' => &mut flags.fold,
            's' => &mut flags.dot_all,
            'm' => &mut flags.lines,
            'x' => &mut flags.expanded,
            'q' => &mut flags.literal,
            c => {
                let detail = format!("Unrecognized flag character \"{c}\" in LIKE_REGEX predicate.");
                return Err(syntax("invalid input syntax for type jsonpath").with_detail(detail));
            }
        };
        *flag = true;
    }
    if flags.expanded && !flags.literal {
        let text = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
        return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    Ok(flags)
}
