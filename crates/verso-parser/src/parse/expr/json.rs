//! SQL/JSON: `JSON_VALUE(…)` and its relatives, constructors, aggregates, JSON_TABLE.
//!
//! Source: PostgreSQL 18, `func_expr_common_subexpr`, `json_aggregate_func` and `json_table` of `gram.y`.

use super::super::cursor::Cursor;
use super::super::lexer::Token;
use super::node;
use crate::error::SyntaxError;
use crate::syntax::{
    Call, Expr, ExprKind, JsonAggregate, JsonColumn, JsonFallback, JsonForm, JsonFormat, JsonInput,
    JsonOutput, JsonPassing, JsonPathQuery, JsonQueryKind, JsonResult, JsonRows, JsonTable, JsonWrapper,
    Literal, Name, QualifiedName, Span,
};

/// A fallback with the place where it stands.
type Placed = (JsonFallback, u32);

impl Cursor<'_> {
    /// The form of SQL/JSON that begins with this word, if it does begin one.
    pub(super) fn json_form(&mut self, word: &str, start: Span) -> Result<Option<Expr>, SyntaxError> {
        let known = matches!(
            word,
            "json"
                | "json_array"
                | "json_arrayagg"
                | "json_exists"
                | "json_object"
                | "json_objectagg"
                | "json_query"
                | "json_scalar"
                | "json_serialize"
                | "json_value"
        );
        if !known || self.peek_at(1) != Token::LParen {
            return Ok(None);
        }
        let before = (self.mark(), self.height);
        self.advance();
        self.advance();
        let form = match word {
            "json_exists" => self.json_path_query(JsonQueryKind::Exists)?,
            "json_value" => self.json_path_query(JsonQueryKind::Value)?,
            "json_query" => self.json_path_query(JsonQueryKind::Query)?,
            "json" => {
                let input = self.json_input()?;
                JsonForm::Parse { input, unique: self.unique_keys()? }
            }
            "json_scalar" => JsonForm::Scalar(self.expr()?),
            "json_serialize" => {
                let input = self.json_input()?;
                JsonForm::Serialize { input, returning: self.json_returning()? }
            }
            "json_array" => self.json_array()?,
            "json_object" => match self.json_object()? {
                Some(form) => form,
                // `json_object(text[])` is a function
                None => {
                    self.back(before.0);
                    self.height = before.1;
                    return Ok(None);
                }
            },
            "json_arrayagg" | "json_objectagg" => {
                let aggregate = self.json_aggregate(word == "json_objectagg")?;
                let kind = ExprKind::Json(Box::new(JsonForm::Aggregate(aggregate)));
                return Ok(Some(node(kind, self.since(start), start.start)));
            }
            _ => return Ok(None),
        };
        self.expect_token(&Token::RParen)?;
        Ok(Some(node(ExprKind::Json(Box::new(form)), self.since(start), start.start)))
    }

    /// `document, path PASSING … RETURNING … WRAPPER QUOTES … ON EMPTY … ON ERROR`.
    fn json_path_query(&mut self, kind: JsonQueryKind) -> Result<JsonForm, SyntaxError> {
        let document = self.json_input()?;
        self.expect_token(&Token::Comma)?;
        let path = self.expr()?;
        let passing = self.json_passing()?;
        let returning = if kind == JsonQueryKind::Exists { None } else { self.json_returning()? };
        let (mut wrapper, mut quotes) = (JsonWrapper::Unspecified, None);
        if kind == JsonQueryKind::Query {
            wrapper = self.json_wrapper()?;
            quotes = self.json_quotes()?;
        }
        let (on_empty, on_error) = self.json_fallbacks(kind != JsonQueryKind::Exists)?;
        let result = JsonResult { wrapper, quotes, on_empty, on_error };
        Ok(JsonForm::PathQuery(JsonPathQuery { kind, document, path, passing, returning, result }))
    }

    /// `a [FORMAT JSON [ENCODING e]]`.
    fn json_input(&mut self) -> Result<JsonInput, SyntaxError> {
        let value = self.expr()?;
        Ok(JsonInput { value, format: self.json_format()? })
    }

    fn json_format(&mut self) -> Result<Option<JsonFormat>, SyntaxError> {
        let at = self.here().start;
        if !self.accept(&["format", "json"]) {
            return Ok(None);
        }
        let encoding = if self.accept(&["encoding"]) { Some(self.name()?) } else { None };
        Ok(Some(JsonFormat { encoding, at }))
    }

    /// `RETURNING t [FORMAT JSON]`, if it comes next.
    fn json_returning(&mut self) -> Result<Option<JsonOutput>, SyntaxError> {
        if self.accept(&["returning"]) { self.json_output().map(Some) } else { Ok(None) }
    }

    fn json_output(&mut self) -> Result<JsonOutput, SyntaxError> {
        let at = self.here().start;
        let set = self.accept(&["setof"]);
        let ty = self.data_type()?;
        Ok(JsonOutput { ty, at, set, format: self.json_format()? })
    }

    /// `PASSING a AS b, …`.
    fn json_passing(&mut self) -> Result<JsonPassing, SyntaxError> {
        if !self.accept(&["passing"]) {
            return Ok(Vec::new());
        }
        self.list(|cursor| {
            let input = cursor.json_input()?;
            cursor.expect(&["as"])?;
            Ok((input, cursor.label()?))
        })
    }

    /// `WITHOUT [ARRAY] WRAPPER`, `WITH [CONDITIONAL | UNCONDITIONAL] [ARRAY] WRAPPER`.
    fn json_wrapper(&mut self) -> Result<JsonWrapper, SyntaxError> {
        let wrapper = if self.accept(&["without"]) {
            JsonWrapper::Without
        } else if self.accept(&["with"]) {
            match self.accept(&["conditional"]) {
                true => JsonWrapper::Conditional,
                false => {
                    self.accept(&["unconditional"]);
                    JsonWrapper::Always
                }
            }
        } else {
            return Ok(JsonWrapper::Unspecified);
        };
        self.accept(&["array"]);
        self.expect(&["wrapper"])?;
        Ok(wrapper)
    }

    /// `KEEP | OMIT QUOTES [ON SCALAR STRING]`.
    fn json_quotes(&mut self) -> Result<Option<bool>, SyntaxError> {
        let quotes = if self.accept(&["keep"]) {
            true
        } else if self.accept(&["omit"]) {
            false
        } else {
            return Ok(None);
        };
        self.expect(&["quotes"])?;
        if self.accept(&["on"]) {
            self.expect(&["scalar", "string"])?;
        }
        Ok(Some(quotes))
    }

    /// `… ON EMPTY … ON ERROR`; the first one only where it may stand.
    fn json_fallbacks(&mut self, empty: bool) -> Result<(Option<Placed>, Option<Placed>), SyntaxError> {
        let Some(first) = self.json_fallback()? else { return Ok((None, None)) };
        self.expect(&["on"])?;
        if !empty || !self.accept(&["empty"]) {
            self.expect(&["error"])?;
            return Ok((None, Some(first)));
        }
        let second = self.json_fallback()?;
        if second.is_some() {
            self.expect(&["on", "error"])?;
        }
        Ok((Some(first), second))
    }

    fn json_fallback(&mut self) -> Result<Option<Placed>, SyntaxError> {
        let at = self.here().start;
        let plain = [
            ("error", JsonFallback::Error),
            ("null", JsonFallback::Null),
            ("true", JsonFallback::Truth(Some(true))),
            ("false", JsonFallback::Truth(Some(false))),
            ("unknown", JsonFallback::Truth(None)),
        ];
        if let Some((_, fallback)) = plain.into_iter().find(|(word, _)| self.accept(&[word])) {
            return Ok(Some((fallback, at)));
        }
        if self.accept(&["empty"]) {
            let object = self.accept(&["object"]);
            if !object {
                self.accept(&["array"]);
            }
            let fallback = if object { JsonFallback::EmptyObject } else { JsonFallback::EmptyArray };
            return Ok(Some((fallback, at)));
        }
        if self.accept(&["default"]) {
            return Ok(Some((JsonFallback::Default(self.expr()?), at)));
        }
        Ok(None)
    }

    // ── constructors ─────────────────────────────────────────────────────────────────────────────────────────────

    /// `NULL ON NULL`, `ABSENT ON NULL`: whether NULLs are left out.
    fn absent_on_null(&mut self, otherwise: bool) -> Result<bool, SyntaxError> {
        let absent = if self.accept(&["absent"]) {
            true
        } else if self.accept(&["null"]) {
            false
        } else {
            return Ok(otherwise);
        };
        self.expect(&["on", "null"])?;
        Ok(absent)
    }

    /// `WITH UNIQUE [KEYS]`, `WITHOUT UNIQUE [KEYS]`.
    fn unique_keys(&mut self) -> Result<bool, SyntaxError> {
        let unique = if self.accept(&["with"]) {
            true
        } else if self.accept(&["without"]) {
            false
        } else {
            return Ok(false);
        };
        self.expect(&["unique"])?;
        self.accept(&["keys"]);
        Ok(unique)
    }

    /// `key: value`, `key VALUE value`; none where neither word stands behind the first expression.
    fn json_pair(&mut self) -> Result<Option<(Expr, JsonInput)>, SyntaxError> {
        let key = self.expr()?;
        if !self.accept_token(&Token::Colon) && !self.accept(&["value"]) {
            return Ok(None);
        }
        Ok(Some((key, self.json_input()?)))
    }

    /// None where it is a call of the function of this name.
    fn json_object(&mut self) -> Result<Option<JsonForm>, SyntaxError> {
        let mut pairs = Vec::new();
        let (mut absent, mut unique) = (false, false);
        if self.peek() != Token::RParen && !self.is(&["returning"]) {
            if self.is(&["variadic"]) {
                return Ok(None);
            }
            match self.json_pair()? {
                Some(pair) => pairs.push(pair),
                None => return Ok(None),
            }
            while self.accept_token(&Token::Comma) {
                pairs.push(self.json_pair()?.ok_or_else(|| self.unexpected())?);
            }
            absent = self.absent_on_null(false)?;
            unique = self.unique_keys()?;
        }
        Ok(Some(JsonForm::Object { pairs, absent, unique, returning: self.json_returning()? }))
    }

    fn json_array(&mut self) -> Result<JsonForm, SyntaxError> {
        // a query in no parentheses of its own
        let query = self.is_any(&["select", "values", "with", "table"]);
        if query {
            let query = Box::new(self.nested(Cursor::query)?);
            let format = self.json_format()?;
            return Ok(JsonForm::ArrayQuery { query, format, returning: self.json_returning()? });
        }
        let (mut values, mut absent) = (Vec::new(), true);
        if self.peek() != Token::RParen && !self.is(&["returning"]) {
            values = self.list(Cursor::json_input)?;
            absent = self.absent_on_null(true)?;
        }
        Ok(JsonForm::Array { values, absent, returning: self.json_returning()? })
    }

    /// JSON_ARRAYAGG or JSON_OBJECTAGG behind its opening parenthesis, with what stands behind the closing one.
    fn json_aggregate(&mut self, object: bool) -> Result<JsonAggregate, SyntaxError> {
        let (mut key, mut order_by, mut unique) = (None, Vec::new(), false);
        let value = if object {
            let (first, value) = self.json_pair()?.ok_or_else(|| self.unexpected())?;
            key = Some(first);
            value
        } else {
            self.json_input()?
        };
        if !object && self.is(&["order", "by"]) {
            order_by = self.order_by()?;
        }
        let absent = self.absent_on_null(!object)?;
        if object {
            unique = self.unique_keys()?;
        }
        let returning = self.json_returning()?;
        self.expect_token(&Token::RParen)?;
        // FILTER and OVER, as behind any call
        let name = Name { text: String::new(), at: self.last() };
        let mut call = Call::plain(QualifiedName { schema: None, name }, Vec::new());
        self.behind_call(&mut call)?;
        if !call.within_group.is_empty() {
            return Err(self.source().near(self.last().start));
        }
        let filter = call.filter.map(|filter| *filter);
        Ok(JsonAggregate { key, value, order_by, absent, unique, returning, filter, over: call.over })
    }

    // ── JSON_TABLE ───────────────────────────────────────────────────────────────────────────────────────────────

    /// `JSON_TABLE (document, path [AS name] [PASSING …] COLUMNS (…) [… ON ERROR])`.
    pub(in crate::parse) fn json_table(&mut self) -> Result<JsonTable, SyntaxError> {
        let start = self.here();
        self.expect(&["json_table"])?;
        self.expect_token(&Token::LParen)?;
        let document = self.json_input()?;
        self.expect_token(&Token::Comma)?;
        let path = self.expr()?;
        let name = if self.accept(&["as"]) { Some(self.name()?) } else { None };
        let passing = self.json_passing()?;
        self.expect(&["columns"])?;
        let columns = self.listed(Cursor::json_column)?;
        let (_, on_error) = self.json_fallbacks(false)?;
        self.expect_token(&Token::RParen)?;
        let rows = JsonRows { path, name, columns, at: self.since(start) };
        Ok(JsonTable { document, passing, rows, on_error })
    }

    fn json_column(&mut self) -> Result<JsonColumn, SyntaxError> {
        let start = self.here();
        let path_behind = |n: usize| matches!(self.peek_at(n), Token::String(_));
        if self.is(&["nested"]) && (path_behind(1) || self.is_at(1, "path") && path_behind(2)) {
            self.advance();
            self.accept(&["path"]);
            let path = self.string_literal()?;
            let name = if self.accept(&["as"]) { Some(self.name()?) } else { None };
            self.expect(&["columns"])?;
            let columns = self.nested(|cursor| cursor.listed(Cursor::json_column))?;
            return Ok(JsonColumn::Nested(JsonRows { path, name, columns, at: self.since(start) }));
        }
        let name = self.name()?;
        if self.accept(&["for"]) {
            self.expect(&["ordinality"])?;
            return Ok(JsonColumn::Ordinality(name));
        }
        let ty = self.json_output()?;
        let exists = ty.format.is_none() && self.accept(&["exists"]);
        let path = if self.accept(&["path"]) { Some(self.string_literal()?) } else { None };
        let (mut wrapper, mut quotes) = (JsonWrapper::Unspecified, None);
        if !exists {
            wrapper = self.json_wrapper()?;
            quotes = self.json_quotes()?;
        }
        let (on_empty, on_error) = self.json_fallbacks(!exists)?;
        let result = JsonResult { wrapper, quotes, on_empty, on_error };
        Ok(JsonColumn::Regular { name, ty, exists, path, result: Box::new(result) })
    }

    /// A string in quotes, and nothing else.
    fn string_literal(&mut self) -> Result<Expr, SyntaxError> {
        let at = self.here();
        let Token::String(text) = self.peek() else { return Err(self.unexpected()) };
        let text = self.source().meaning(text).to_string();
        self.advance();
        self.source().note_constant(at, false);
        Ok(node(ExprKind::Literal(Literal::String(text)), at, at.start))
    }
}
