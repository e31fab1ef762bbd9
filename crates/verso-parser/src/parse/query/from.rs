//! FROM: tables, functions, queries, and joins of them.
//!
//! Source: PostgreSQL 18, `table_ref` and `joined_table` of `gram.y`.

use super::super::cursor::Cursor;
use super::super::lexer::{Class, Token};
use crate::error::SyntaxError;
use crate::syntax::{
    Call, ExprKind, FromItem, FromSource, Join, JoinCondition, JoinKind, Name, Past, QualifiedName, Sample,
    Span,
};
use verso_types::SqlType;

fn join(left: FromItem, right: FromItem, kind: JoinKind, condition: JoinCondition) -> FromItem {
    FromItem::of(FromSource::Join(Box::new(Join { left, right, kind, condition })))
}

impl Cursor<'_> {
    /// Items with commas between: joins without a condition.
    pub(in crate::parse) fn items_of_from(&mut self) -> Result<FromItem, SyntaxError> {
        let mut all = self.joined()?;
        loop {
            let point = self.here().start;
            if !self.accept_token(&Token::Comma) {
                return Ok(all);
            }
            let height = std::mem::take(&mut self.height);
            let next = self.joined()?;
            self.height = self.height.max(height);
            self.grow(point)?;
            all = join(all, next, JoinKind::Inner, JoinCondition::None);
        }
    }

    /// An item with the joins behind it.
    pub(in crate::parse) fn joined(&mut self) -> Result<FromItem, SyntaxError> {
        let mut left = self.nested(Cursor::item_of_from)?;
        while self.is_join() {
            left = self.join_behind(left)?;
        }
        Ok(left)
    }

    /// Whether a join goes on here.
    fn is_join(&self) -> bool {
        self.is_any(&["join", "inner", "left", "right", "full", "cross", "natural"])
    }

    /// One join behind its left side.
    fn join_behind(&mut self, left: FromItem) -> Result<FromItem, SyntaxError> {
        let point = self.here().start;
        let height = std::mem::take(&mut self.height);
        let (cross, natural) = (self.accept(&["cross"]), self.accept(&["natural"]));
        let mut kind = JoinKind::Inner;
        if !cross && !self.accept(&["inner"]) {
            for (word, outer) in
                [("left", JoinKind::Left), ("right", JoinKind::Right), ("full", JoinKind::Full)]
            {
                if self.accept(&[word]) {
                    self.accept(&["outer"]);
                    kind = outer;
                    break;
                }
            }
        }
        self.expect(&["join"])?;
        let mut right = self.nested(Cursor::item_of_from)?;
        let condition = if cross {
            JoinCondition::None
        } else if natural {
            JoinCondition::Natural
        } else {
            // `a JOIN b JOIN c ON … ON …`: the inner join has the first condition.
            right = self.nested(|cursor| {
                let mut right = right;
                while cursor.is_join() {
                    right = cursor.join_behind(right)?;
                }
                Ok(right)
            })?;
            self.join_condition()?
        };
        self.height = self.height.max(height);
        self.grow(point)?;
        Ok(join(left, right, kind, condition))
    }

    fn join_condition(&mut self) -> Result<JoinCondition, SyntaxError> {
        if self.accept(&["on"]) {
            return self.expr().map(JoinCondition::On);
        }
        self.expect(&["using"])?;
        let columns = self.listed(Cursor::name)?;
        let alias = if self.accept(&["as"]) { Some(self.name()?) } else { None };
        Ok(JoinCondition::Using(columns, alias))
    }

    /// One item without the joins behind it.
    fn item_of_from(&mut self) -> Result<FromItem, SyntaxError> {
        let lateral = self.accept(&["lateral"]);
        let start = self.here();
        let mut item = if self.peek() == Token::LParen {
            if !self.is_query(0) {
                if lateral {
                    return Err(self.unexpected());
                }
                return self.join_in_parentheses();
            }
            let query = Box::new(self.query_in_parentheses()?);
            FromItem::of(FromSource::Query(query, self.since(start)))
        } else if self.is(&["rows", "from"]) && self.peek_at(2) == Token::LParen {
            self.advance();
            self.advance();
            let functions = self.listed(|cursor| {
                let call = cursor.table_function()?;
                let definitions = if cursor.accept(&["as"]) { cursor.definitions()? } else { Vec::new() };
                Ok((call, definitions))
            })?;
            FromItem::of(FromSource::Rows(functions, self.since(start)))
        } else {
            self.table_or_function(lateral)?
        };
        if self.is(&["with", "ordinality"]) {
            if !matches!(item.source, FromSource::Function(..) | FromSource::Rows(..)) {
                return Err(self.unexpected());
            }
            self.advance();
            self.advance();
            item.ordinality = true;
        }
        item.lateral = lateral;
        self.alias(&mut item)?;
        if self.is_any(&["tablesample"]) && matches!(item.source, FromSource::Table(_)) {
            item.sample = Some(Box::new(self.sample()?));
        }
        Ok(item)
    }

    /// A table, or a function with its arguments.
    fn table_or_function(&mut self, lateral: bool) -> Result<FromItem, SyntaxError> {
        let start = self.here();
        if self.is(&["xmltable"]) && self.peek_at(1) == Token::LParen {
            return Err(self.unsupported("XMLTABLE"));
        }
        if self.is(&["json_table"]) && self.peek_at(1) == Token::LParen {
            let table = self.nested(Cursor::json_table)?;
            return Ok(FromItem::of(FromSource::JsonTable(Box::new(table))));
        }
        if self.is_function() {
            let call = self.table_function()?;
            return Ok(FromItem::of(FromSource::Function(call, self.since(start))));
        }
        if lateral {
            return Err(self.unexpected());
        }
        let only = self.accept(&["only"]);
        let parenthesis = only && self.accept_token(&Token::LParen);
        if matches!(self.peek(), Token::Word(Class::Function)) {
            return Err(self.unexpected());
        }
        let name = self.qualified()?;
        if parenthesis {
            self.expect_token(&Token::RParen)?;
        }
        if !only {
            self.accept_token(&Token::Mul);
        }
        let mut item = FromItem::of(FromSource::Table(name));
        if self.is(&["as", "of", "timestamp"]) || self.is(&["as", "of", "snapshot"]) {
            self.advance();
            item.past = Some(Box::new(self.past()?));
        }
        Ok(item)
    }

    /// `{OF | TO} {TIMESTAMP time | SNAPSHOT number}`.
    pub(in crate::parse) fn past(&mut self) -> Result<Past, SyntaxError> {
        let at = self.here().start;
        self.advance();
        let numbered = self.is_any(&["snapshot"]);
        self.advance();
        let start = self.here();
        let moment = self.restricted_expr()?;
        let text = self.source().slice(self.since(start)).to_owned();
        Ok(Past { moment, text, numbered, at })
    }

    /// Whether a call comes next: a name, perhaps with its schema, and a parenthesis; or a form without any.
    fn is_function(&self) -> bool {
        let word = |n: usize| matches!(self.peek_at(n), Token::Word(_) | Token::Quoted(_));
        let named = word(0)
            && (self.peek_at(1) == Token::LParen
                || self.peek_at(1) == Token::Period && word(2) && self.peek_at(3) == Token::LParen);
        let keyword = [
            "current_date",
            "current_timestamp",
            "current_time",
            "localtime",
            "localtimestamp",
            "current_user",
            "session_user",
            "current_role",
            "current_catalog",
            "current_schema",
            "user",
            "system_user",
        ];
        let collation = self.is(&["collation", "for"]) && self.peek_at(2) == Token::LParen;
        named && !self.is(&["only"]) || self.is_any(&keyword) || collation
    }

    fn table_function(&mut self) -> Result<Call, SyntaxError> {
        let at = self.here();
        let expr = self.function_expr()?;
        let name = match &expr.kind {
            ExprKind::Cast { ty, .. } => {
                let mut ty = ty;
                while let SqlType::Array(element) = ty {
                    ty = element;
                }
                ty.without_modifiers().internal_name()
            }
            ExprKind::Json(form) => form.name().to_string(),
            ExprKind::Call(_) => String::new(),
            _ => return Err(self.source().near(at.start)),
        };
        match expr.kind {
            ExprKind::Call(call) => Ok(*call),
            _ => {
                let name = QualifiedName { schema: None, name: Name { text: name, at } };
                Ok(Call { form: true, ..Call::plain(name, vec![expr]) })
            }
        }
    }

    /// `(a JOIN b …)`, perhaps with an alias.
    fn join_in_parentheses(&mut self) -> Result<FromItem, SyntaxError> {
        self.expect_token(&Token::LParen)?;
        let mut item = self.joined()?;
        // A table or a join with an alias stands in no parentheses.
        if !matches!(item.source, FromSource::Join(_)) || item.alias.is_some() {
            return Err(self.unexpected());
        }
        self.expect_token(&Token::RParen)?;
        self.alias(&mut item)?;
        Ok(item)
    }

    /// `[AS] alias [(columns)]`, `AS (definitions)`.
    fn alias(&mut self, item: &mut FromItem) -> Result<(), SyntaxError> {
        let function = matches!(item.source, FromSource::Function(..));
        let word = self.accept(&["as"]);
        if word && function && self.peek() == Token::LParen {
            item.definitions = self.definitions()?;
            return Ok(());
        }
        if !word && !self.is_column_name(0) {
            return Ok(());
        }
        item.alias = Some(self.name()?);
        if self.peek() != Token::LParen {
            return Ok(());
        }
        let defines = matches!(self.peek_at(1), Token::Word(_) | Token::Quoted(_))
            && !matches!(self.peek_at(2), Token::Comma | Token::RParen);
        if defines {
            if !function {
                self.advance();
                self.advance();
                return Err(self.unexpected());
            }
            item.definitions = self.definitions()?;
        } else {
            item.columns = self.listed(Cursor::name)?;
        }
        Ok(())
    }

    /// `(a int, b text)`.
    fn definitions(&mut self) -> Result<Vec<(Name, SqlType)>, SyntaxError> {
        self.listed(|cursor| {
            let name = cursor.name()?;
            let ty = cursor.data_type()?;
            if cursor.is(&["collate"]) {
                return Err(cursor.unsupported("COLLATE in a column definition list"));
            }
            Ok((name, ty))
        })
    }

    /// `TABLESAMPLE method (arguments) [REPEATABLE (seed)]`.
    fn sample(&mut self) -> Result<Sample, SyntaxError> {
        let at = self.here().start;
        self.advance();
        let method: QualifiedName = self.qualified()?;
        let args = self.listed(Cursor::expr)?;
        let mut seed = None;
        if self.accept(&["repeatable"]) {
            self.expect_token(&Token::LParen)?;
            seed = Some(self.expr()?);
            self.expect_token(&Token::RParen)?;
        }
        Ok(Sample { method, args, seed, at })
    }

    /// The table of a change, with its alias: `[ONLY] t [*] [[AS] a]`.
    pub(in crate::parse) fn target(&mut self, stops: &[&str]) -> Result<FromItem, SyntaxError> {
        let only = self.accept(&["only"]);
        let at: Span = self.here();
        if self.is_query(0) || self.peek() == Token::LParen && !only {
            return Err(self.source().near(at.start));
        }
        let name = self.qualified()?;
        if !only {
            self.accept_token(&Token::Mul);
        }
        let mut item = FromItem::of(FromSource::Table(name));
        if self.accept(&["as"]) || self.is_column_name(0) && !self.is_any(stops) {
            item.alias = Some(self.name()?);
        }
        Ok(item)
    }
}
