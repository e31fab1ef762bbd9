//! Calls with words between their arguments, or without parentheses: `EXTRACT(year FROM d)`, `CURRENT_DATE`.

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use super::{builtin, node};
use crate::error::SyntaxError;
use crate::syntax::{Call, Expr, ExprKind, Literal, Name, QualifiedName, Span};
use verso_types::SqlType;

impl Cursor<'_> {
    /// The form that begins with this word, if it does begin one.
    pub(super) fn form(&mut self, word: &str) -> Result<Option<Expr>, SyntaxError> {
        let start = self.here();
        let open = self.peek_at(1) == Token::LParen;
        match word {
            "current_date" | "current_role" | "current_user" | "session_user" | "user" | "system_user"
            | "current_catalog" => {}
            "current_schema" if !open => {}
            "current_time" | "current_timestamp" | "localtime" | "localtimestamp" if !open => {}
            "current_time" | "current_timestamp" | "localtime" | "localtimestamp" => {
                let name = self.own_name();
                let call = self.call_of(name)?;
                return Ok(Some(node(ExprKind::Call(Box::new(call)), self.since(start), start.start)));
            }
            "collation" if self.is_at(1, "for") => {
                let mut name = self.own_name();
                name.name.text = "pg_collation_for".into();
                self.expect(&["for"])?;
                self.expect_token(&Token::LParen)?;
                let args = vec![self.expr()?];
                self.expect_token(&Token::RParen)?;
                let call = ExprKind::Call(Box::new(Call::plain(name, args)));
                return Ok(Some(node(call, self.since(start), start.start)));
            }
            "cast" | "treat" | "extract" | "position" | "substring" | "substr" | "overlay" | "trim"
            | "normalize"
                if open =>
            {
                let name = self.own_name();
                self.advance();
                return self.keyword_call(name, start);
            }
            "xmlattributes" | "xmlconcat" | "xmlelement" | "xmlexists" | "xmlforest" | "xmlnamespaces"
            | "xmlparse" | "xmlpi" | "xmlroot" | "xmlserialize" | "xmltable"
                if open =>
            {
                return Err(self.unsupported(&word.to_uppercase()));
            }
            _ if word.starts_with("json") => return self.json_form(word, start),
            _ => return Ok(None),
        }
        let name = self.own_name();
        let call = Call { keyword: true, ..Call::plain(name, Vec::new()) };
        Ok(Some(node(ExprKind::Call(Box::new(call)), start, start.start)))
    }

    /// A word that is taken as the name of a function, whatever its class.
    fn own_name(&mut self) -> QualifiedName {
        QualifiedName { schema: None, name: self.take_name() }
    }

    /// Behind the opening parenthesis.
    fn keyword_call(&mut self, name: QualifiedName, start: Span) -> Result<Option<Expr>, SyntaxError> {
        let word = name.name.text.clone();
        // written as a call of any function is
        let mut plain = false;
        let (function, args) = match word.as_str() {
            "cast" | "treat" => {
                let arg = Box::new(self.expr()?);
                self.expect(&["as"])?;
                let ty = self.data_type()?;
                if self.is(&["format"]) {
                    return Err(self.unsupported("CAST … FORMAT"));
                }
                self.expect_token(&Token::RParen)?;
                if word == "treat" {
                    // As in PostgreSQL: a call of the type's own function.
                    let name = match &ty {
                        SqlType::Array(element) => element.internal_name(),
                        ty => ty.internal_name(),
                    };
                    let named =
                        |text: String| Name { text, at: Span { start: start.start, end: start.start } };
                    let name = QualifiedName { schema: Some(named("pg_catalog".into())), name: named(name) };
                    let call = ExprKind::Call(Box::new(Call::plain(name, vec![*arg])));
                    return Ok(Some(node(call, self.since(start), start.start)));
                }
                let kind = ExprKind::Cast { arg, ty, at_type: start.start };
                return Ok(Some(node(kind, self.since(start), start.start)));
            }
            "extract" => ("extract", self.extract()?),
            "position" => {
                let what = self.restricted_expr()?;
                self.expect(&["in"])?;
                // The built-in function takes them the other way round.
                ("position", vec![self.restricted_expr()?, what])
            }
            "overlay" => {
                let mut args = vec![self.expr()?];
                if self.accept(&["placing"]) {
                    args.push(self.expr()?);
                    self.expect(&["from"])?;
                    args.push(self.expr()?);
                    if self.accept(&["for"]) {
                        args.push(self.expr()?);
                    }
                } else {
                    self.more(&mut args)?;
                    plain = true;
                }
                ("overlay", args)
            }
            "trim" => self.trim()?,
            "normalize" => {
                let mut args = vec![self.expr()?];
                if self.accept_token(&Token::Comma) {
                    let at = self.here();
                    if !self.is_any(&["nfc", "nfd", "nfkc", "nfkd"]) {
                        return Err(self.unexpected());
                    }
                    let form = self.written().to_uppercase();
                    self.advance();
                    args.push(node(ExprKind::Literal(Literal::String(form)), at, at.start));
                }
                ("normalize", args)
            }
            _ => {
                let args = self.substring(&mut plain)?;
                (word.as_str(), args)
            }
        };
        self.expect_token(&Token::RParen)?;
        if plain {
            let call = ExprKind::Call(Box::new(Call::plain(name, args)));
            return Ok(Some(node(call, self.since(start), start.start)));
        }
        Ok(Some(builtin(function, args, self.since(start), start.start)))
    }

    /// Arguments behind a comma.
    fn more(&mut self, args: &mut Vec<Expr>) -> Result<(), SyntaxError> {
        while self.accept_token(&Token::Comma) {
            args.push(self.expr()?);
        }
        Ok(())
    }

    /// `field FROM value`.
    fn extract(&mut self) -> Result<Vec<Expr>, SyntaxError> {
        let at = self.here();
        let field = match self.peek() {
            Token::String(text) => self.source().meaning(text).to_lowercase(),
            Token::Word(_) => self.written().to_lowercase(),
            Token::Quoted(text) => self.source().meaning(text).to_string(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.source().note_constant(at, false);
        self.expect(&["from"])?;
        let field = node(ExprKind::Literal(Literal::String(field)), at, at.start);
        Ok(vec![field, self.expr()?])
    }

    /// `a FROM b FOR c`, `a FOR c FROM b`, `a SIMILAR b ESCAPE c`, `a, b, c`.
    fn substring(&mut self, plain: &mut bool) -> Result<Vec<Expr>, SyntaxError> {
        if self.peek() == Token::RParen {
            *plain = true;
            return Ok(Vec::new());
        }
        let mut args = vec![self.expr()?];
        if self.accept(&["similar"]) {
            args.push(self.expr()?);
            self.expect(&["escape"])?;
            args.push(self.expr()?);
            return Ok(args);
        }
        let (mut from, mut length) = (None, None);
        loop {
            if from.is_none() && self.accept(&["from"]) {
                from = Some(self.expr()?);
            } else if length.is_none() && self.accept(&["for"]) {
                length = Some(self.expr()?);
            } else {
                break;
            }
        }
        if from.is_none() && length.is_none() {
            self.more(&mut args)?;
            *plain = true;
            return Ok(args);
        }
        let at = args[0].at;
        let one = || node(ExprKind::Literal(Literal::Number("1".into())), at, at.start);
        args.push(from.unwrap_or_else(one));
        args.extend(length);
        Ok(args)
    }

    /// `[BOTH | LEADING | TRAILING] [characters] FROM text`, `text, characters`.
    fn trim(&mut self) -> Result<(&'static str, Vec<Expr>), SyntaxError> {
        let function = if self.accept(&["leading"]) {
            "ltrim"
        } else if self.accept(&["trailing"]) {
            "rtrim"
        } else {
            self.accept(&["both"]);
            "btrim"
        };
        let mut args = Vec::new();
        if !self.accept(&["from"]) {
            let first = self.expr()?;
            if !self.accept(&["from"]) {
                args.push(first);
                self.more(&mut args)?;
                return Ok((function, args));
            }
            args.push(self.expr()?);
            args.push(first);
            return Ok((function, args));
        }
        args.push(self.expr()?);
        self.more(&mut args)?;
        Ok((function, args))
    }
}
