//! Calls: arguments, DISTINCT, ORDER BY, WITHIN GROUP, FILTER, OVER; windows.

use super::super::cursor::Cursor;
use super::super::lexer::{Class, Token};
use super::node;
use crate::error::SyntaxError;
use crate::syntax::{
    Call, Expr, ExprKind, Frame, FrameBound, FrameExclude, FrameMode, Name, Over, QualifiedName, Span,
    WindowSpec,
};

/// A call of a built-in function that has no name of its own in the text.
pub(in crate::parse) fn builtin(function: &str, args: Vec<Expr>, at: Span, point: u32) -> Expr {
    let name = Name { text: function.to_string(), at: Span { start: point, end: point } };
    let call = Call::plain(QualifiedName { schema: None, name }, args);
    node(ExprKind::Call(Box::new(call)), at, point)
}

/// Whether it is a form of SQL that is written as a call; in quotes it is a function's name.
fn is_form(name: &QualifiedName) -> bool {
    let Name { text, at } = &name.name;
    name.schema.is_none()
        && matches!(text.as_str(), "coalesce" | "greatest" | "least" | "nullif" | "grouping")
        && (at.end - at.start) as usize == text.len()
}

impl Cursor<'_> {
    /// A call; its name was read.
    pub(super) fn call(&mut self, mut parts: Vec<Name>) -> Result<Expr, SyntaxError> {
        self.without_database(&mut parts, 2, false)?;
        let name = parts.pop().ok_or_else(|| self.unexpected())?;
        let name = QualifiedName { schema: parts.pop(), name };
        let start = name.at();
        let call = self.call_of(name)?;
        Ok(node(ExprKind::Call(Box::new(call)), self.since(start), start.start))
    }

    /// A call from its parenthesis on.
    pub(in crate::parse) fn call_of(&mut self, name: QualifiedName) -> Result<Call, SyntaxError> {
        let mut call = Call::plain(name, Vec::new());
        if is_form(&call.name) {
            self.form_of_call(&mut call)?;
            return Ok(call);
        }
        self.arguments(&mut call)?;
        self.behind_call(&mut call)?;
        Ok(call)
    }

    /// `(…)` of a form of SQL: expressions, and nothing else.
    fn form_of_call(&mut self, call: &mut Call) -> Result<(), SyntaxError> {
        self.expect_token(&Token::LParen)?;
        call.args.push(self.expr()?);
        if call.name.name.text == "nullif" {
            self.expect_token(&Token::Comma)?;
            call.args.push(self.expr()?);
        } else {
            while self.accept_token(&Token::Comma) {
                call.args.push(self.expr()?);
            }
        }
        self.expect_token(&Token::RParen)
    }

    /// `(…)`.
    fn arguments(&mut self, call: &mut Call) -> Result<(), SyntaxError> {
        self.expect_token(&Token::LParen)?;
        if self.accept_token(&Token::RParen) {
            return Ok(());
        }
        if self.accept_token(&Token::Mul) {
            call.star = true;
            return self.expect_token(&Token::RParen);
        }
        call.distinct = self.accept(&["distinct"]);
        let whole = call.distinct || self.accept(&["all"]);
        loop {
            call.variadic = !whole && self.accept(&["variadic"]);
            let named = matches!(self.peek(), Token::Quoted(_) | Token::Word(Class::Plain | Class::Function))
                && matches!(self.peek_at(1), Token::Arrow | Token::Assignment);
            if named {
                call.names.push(self.take_name());
                self.advance();
            } else if !call.names.is_empty() {
                let text = "positional argument cannot follow named argument";
                return Err(SyntaxError::syntax(text).at(self.here().start));
            }
            call.args.push(self.expr()?);
            if call.variadic || !self.accept_token(&Token::Comma) {
                break;
            }
        }
        if self.is(&["order", "by"]) {
            call.order_by = self.order_by()?;
        }
        for (words, what) in [
            (&["ignore", "nulls"][..], "IGNORE NULLS"),
            (&["respect", "nulls"], "RESPECT NULLS"),
            (&["null", "on"], "NULL ON NULL"),
            (&["absent", "on"], "ABSENT ON NULL"),
            (&["returning"], "RETURNING inside a call"),
            (&["separator"], "SEPARATOR"),
        ] {
            if self.is(words) {
                return Err(self.unsupported(what));
            }
        }
        self.expect_token(&Token::RParen)
    }

    /// `WITHIN GROUP (ORDER BY …) FILTER (WHERE …) OVER …`.
    pub(super) fn behind_call(&mut self, call: &mut Call) -> Result<(), SyntaxError> {
        if self.is(&["within", "group"]) {
            let at = self.here().start;
            self.expect(&["within", "group"])?;
            self.expect_token(&Token::LParen)?;
            for (wrong, text) in [
                (!call.order_by.is_empty(), "cannot use multiple ORDER BY clauses with WITHIN GROUP"),
                (call.distinct, "cannot use DISTINCT with WITHIN GROUP"),
                (call.variadic, "cannot use VARIADIC with WITHIN GROUP"),
            ] {
                if wrong {
                    return Err(SyntaxError::syntax(text).at(at));
                }
            }
            call.within_group = self.order_by()?;
            self.expect_token(&Token::RParen)?;
        }
        if self.is(&["filter"]) && self.peek_at(1) == Token::LParen {
            self.advance();
            self.advance();
            self.expect(&["where"])?;
            call.filter = Some(Box::new(self.expr()?));
            self.expect_token(&Token::RParen)?;
        }
        for what in [["ignore", "nulls"], ["respect", "nulls"]] {
            if self.is(&what) && self.is_at(2, "over") {
                return Err(self.unsupported(&what.join(" ").to_uppercase()));
            }
        }
        if self.accept(&["over"]) {
            call.over = Some(match self.peek() {
                Token::LParen => Over::Spec(Box::new(self.window_spec()?)),
                _ => Over::Name(self.name()?),
            });
        }
        Ok(())
    }

    /// `([name] [PARTITION BY …] [ORDER BY …] [frame])`.
    pub(in crate::parse) fn window_spec(&mut self) -> Result<WindowSpec, SyntaxError> {
        let start = self.here();
        self.expect_token(&Token::LParen)?;
        let clause = self.is_any(&["partition", "order", "rows", "range", "groups"]);
        let base = match self.peek() {
            Token::Quoted(_) => Some(self.name()?),
            Token::Word(_) if !clause => Some(self.name()?),
            _ => None,
        };
        let partition_by = if self.accept(&["partition", "by"]) { self.exprs()? } else { Vec::new() };
        let order_by = if self.is(&["order", "by"]) { self.order_by()? } else { Vec::new() };
        let frame = self.frame()?;
        self.expect_token(&Token::RParen)?;
        Ok(WindowSpec { base, partition_by, order_by, frame, at: self.since(start) })
    }

    /// A frame, if one comes next.
    fn frame(&mut self) -> Result<Option<Frame>, SyntaxError> {
        let at = self.here().start;
        let mode = if self.accept(&["rows"]) {
            FrameMode::Rows
        } else if self.accept(&["range"]) {
            FrameMode::Range
        } else if self.accept(&["groups"]) {
            FrameMode::Groups
        } else {
            return Ok(None);
        };
        let wrong = |text: &str, at: u32| Err(SyntaxError::new("42P20", text).at(at));
        let between = self.accept(&["between"]);
        let first = self.here().start;
        let start = self.frame_bound()?;
        if matches!(start, FrameBound::UnboundedFollowing) {
            return wrong("frame start cannot be UNBOUNDED FOLLOWING", first);
        }
        let mut end = FrameBound::CurrentRow;
        if between {
            self.expect(&["and"])?;
            let second = self.here().start;
            end = self.frame_bound()?;
            match (&start, &end) {
                (_, FrameBound::UnboundedPreceding) => {
                    return wrong("frame end cannot be UNBOUNDED PRECEDING", second);
                }
                (FrameBound::CurrentRow, FrameBound::Preceding(_)) => {
                    return wrong("frame starting from current row cannot have preceding rows", second);
                }
                (FrameBound::Following(_), FrameBound::Preceding(_) | FrameBound::CurrentRow) => {
                    return wrong("frame starting from following row cannot have preceding rows", second);
                }
                _ => {}
            }
        } else if matches!(start, FrameBound::Following(_)) {
            return wrong("frame starting from following row cannot end with current row", first);
        }
        let mut exclude = FrameExclude::NoOthers;
        if self.accept(&["exclude"]) {
            let kinds = [
                (&["current", "row"][..], FrameExclude::CurrentRow),
                (&["group"], FrameExclude::Group),
                (&["ties"], FrameExclude::Ties),
                (&["no", "others"], FrameExclude::NoOthers),
            ];
            let found = kinds.into_iter().find(|(words, _)| self.accept(words));
            exclude = found.ok_or_else(|| self.unexpected())?.1;
        }
        Ok(Some(Frame { mode, start, end, exclude, at }))
    }

    fn frame_bound(&mut self) -> Result<FrameBound, SyntaxError> {
        if self.accept(&["unbounded", "preceding"]) {
            return Ok(FrameBound::UnboundedPreceding);
        }
        if self.accept(&["unbounded", "following"]) {
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.accept(&["current", "row"]) {
            return Ok(FrameBound::CurrentRow);
        }
        let distance = Box::new(self.expr()?);
        if self.accept(&["preceding"]) {
            return Ok(FrameBound::Preceding(distance));
        }
        self.expect(&["following"])?;
        Ok(FrameBound::Following(distance))
    }
}
