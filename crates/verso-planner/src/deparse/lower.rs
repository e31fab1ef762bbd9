//! Expressions: from the syntax of a text and the trace of its meaning to nodes.

use std::sync::Arc;

use verso_catalog::{BTREE_GIST, PG_TRGM, extension_of_type, extensions_with_operator};
use verso_env::stack;
use verso_exec::functions::quote_ident;
use verso_parser::syntax::{
    Expr, ExprKind, JsonForm, JsonFormat, JsonKind, JsonOutput, Literal, Query, Span,
};
use verso_types::datetime::heeds_clock;
use verso_types::{SqlType, SystemType, format_text, parse_text};

use super::node::{
    Body, Connective, Item, ItemKind, Node, Select, Sublink, SublinkKind, Subscript, Target, Written,
};
use super::operands;
use crate::bind::trace::{Source, Starred, StarredField, Trace};
use crate::bind::{Binder, called_of_row, common_type, is_hidden};

/// Lowers one text. What has no node yields none, for the whole text.
pub(super) struct Lowering<'b> {
    pub(super) binder: &'b Binder<'b>,
    pub(super) trace: &'b Trace,
    /// The text by characters, as places count them.
    pub(super) text: Vec<char>,
    /// Names of the queries of WITH that are in scope.
    pub(super) ctes: Vec<String>,
    /// Names by which USING and NATURAL put columns together in the joins around: tables below have them, whatever their
    /// columns are called today.
    pub(super) merged: Vec<String>,
    /// The only column is what a domain checks.
    pub(super) of_domain: bool,
}

/// The base of a type, as far as casts that nobody sees are concerned.
fn same(a: &SqlType, b: &SqlType) -> bool {
    a.same_base(b)
}

impl<'b> Lowering<'b> {
    pub(super) fn new(binder: &'b Binder<'b>, trace: &'b Trace, text: &str) -> Lowering<'b> {
        let text = text.chars().collect();
        Lowering { binder, trace, text, ctes: Vec::new(), merged: Vec::new(), of_domain: false }
    }

    /// The type of an expression as it was bound; `Unknown` for a literal without one.
    pub(super) fn type_of(&self, expr: &Expr) -> SqlType {
        match &expr.kind {
            ExprKind::Literal(Literal::String(_) | Literal::Null) => SqlType::Unknown,
            _ => self.trace.type_of(expr.at).unwrap_or(SqlType::Unknown),
        }
    }

    /// What stands at a place: its characters.
    pub(super) fn between(&self, start: u32, end: u32) -> String {
        let end = (end as usize).min(self.text.len());
        self.text.get(start as usize..end).unwrap_or_default().iter().collect()
    }

    /// An expression of that type, with the cast that makes it one.
    pub(super) fn typed(&mut self, expr: &Expr, to: &SqlType) -> Option<Node> {
        let node = self.expr(expr)?;
        Some(self.coerced(node, &self.type_of(expr), to))
    }

    /// An expression that is text where nothing else is known of it.
    pub(super) fn settled(&mut self, expr: &Expr) -> Option<Node> {
        match self.type_of(expr) {
            SqlType::Unknown => self.typed(expr, &SqlType::Text),
            _ => self.expr(expr),
        }
    }

    /// The cast of a node that nobody has written.
    pub(super) fn coerced(&self, node: Node, from: &SqlType, to: &SqlType) -> Node {
        match node {
            Node::Const { text, ty: SqlType::Unknown } => self.constant(text, to),
            Node::Form("ROW", parts) => self.row_of(parts, to),
            node if same(from, to) || matches!(to, SqlType::Unknown | SqlType::Record) => node,
            node if *from == SqlType::Unknown || from.is_row() => node,
            node => cast(node, from, to.without_modifiers(), true),
        }
    }

    /// ROW where a row of a type is wanted: literals in it are of the types of its fields.
    fn row_of(&self, parts: Vec<Node>, to: &SqlType) -> Node {
        let fields = match to {
            SqlType::Row(row) if row.of.is_some() => &row.fields[..],
            _ => &[],
        };
        let unknown = SqlType::Unknown;
        let typed = |(at, part): (usize, Node)| match (fields.get(at), part) {
            (Some((_, ty)), part @ (Node::Const { ty: SqlType::Unknown, .. } | Node::Form("ROW", _))) => {
                self.coerced(part, &unknown, ty)
            }
            (_, part) => part,
        };
        Node::Form("ROW", parts.into_iter().enumerate().map(typed).collect())
    }

    /// A literal that becomes a constant of a type, as the type writes it.
    pub(super) fn constant(&self, text: Option<String>, to: &SqlType) -> Node {
        let ty = of_constants(to);
        let shown = text.map(|text| {
            if to.has_times() && heeds_clock(&text) {
                return text;
            }
            // What is kept means the same for everybody, and is shown as the session likes it.
            match parse_text(&ty, &text, &verso_types::TimeStyle::UTC) {
                Ok(value) => {
                    let mut out = String::new();
                    format_text(&value, &ty, self.binder.time_zone, &mut out);
                    out
                }
                Err(_) => text,
            }
        });
        Node::Const { text: shown, ty }
    }

    /// Expressions brought to the type that they have in common.
    pub(super) fn unified(&mut self, exprs: &[&Expr]) -> Option<Vec<Node>> {
        let types: Vec<SqlType> = exprs.iter().map(|expr| self.type_of(expr)).collect();
        let common = common_type(types.iter()).ok()?;
        exprs.iter().map(|expr| self.typed(expr, &common)).collect()
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) -> Option<Vec<Node>> {
        exprs.iter().map(|expr| self.settled(expr)).collect()
    }

    /// The parts of ROW or of a row of VALUES: `t.*` is all columns of an item, the name of an item its row.
    pub(super) fn row_parts(&mut self, parts: &[Expr]) -> Option<Vec<Node>> {
        let settle = |parts: &mut Self, part: &Expr| parts.settled(part);
        self.row_parts_by(parts, settle)
    }

    /// ROW: literals in it get types only where it becomes a row of a type.
    fn row_form(&mut self, parts: &[Expr]) -> Option<Node> {
        let parts = self.row_parts_by(parts, |parts, part| parts.expr(part))?;
        Some(Node::Form("ROW", parts))
    }

    fn row_parts_by(
        &mut self,
        parts: &[Expr],
        mut lower: impl FnMut(&mut Self, &Expr) -> Option<Node>,
    ) -> Option<Vec<Node>> {
        let mut nodes = Vec::new();
        for part in parts {
            let is_starred = part.is_starred();
            match &part.kind {
                // A field that came later (`Binder::row_then`) stands nowhere in the text.
                ExprKind::Literal(Literal::Null) if part.at.start == part.at.end => {
                    nodes.push(Node::Word("NULL".into()));
                    continue;
                }
                ExprKind::Field { arg, .. } if is_starred => {
                    let fields = self.trace.fields_at(part.at.start)?;
                    let row = self.expr(arg)?;
                    nodes.extend(fields.iter().map(|field| field_node(&row, field)));
                    continue;
                }
                ExprKind::Column(_)
                    if is_starred && let Some(fields) = self.fields_of_variable(part.at.start) =>
                {
                    nodes.extend(fields.into_iter().map(|(node, _)| node));
                    continue;
                }
                _ => {}
            }
            let node = lower(self, part)?;
            match (&node, &part.kind) {
                (Node::Var { source: Source::Row(place), .. }, ExprKind::Column(_)) if part.is_starred() => {
                    let columns = self.trace.columns_of(*place)?;
                    let shown = columns.into_iter().enumerate().filter(|(_, (name, _))| !is_hidden(name));
                    nodes.extend(shown.map(|(number, (name, _))| Node::Var {
                        source: Source::Column(*place, number),
                        name,
                    }));
                }
                _ => nodes.push(self.whole(node, part)),
            }
        }
        Some(nodes)
    }

    /// What the star of `p.*` at a place stands for, where `p` is an argument of the function.
    fn fields_of_variable(&self, place: u32) -> Option<Vec<(Node, StarredField)>> {
        let (Source::Variable(slot) | Source::Fields(slot, _)) = self.trace.source(place)? else {
            return None;
        };
        let row = Node::Param(u32::try_from(slot + 1).ok()?);
        let fields = self.trace.fields_at(place)?;
        Some(fields.into_iter().map(|field| (field_node(&row, &field), field)).collect())
    }

    /// What the star of `t.*` or `p.*` in an output list stands for, with names and types.
    pub(super) fn starred(&self, place: u32) -> Option<Vec<(Node, Arc<str>, SqlType)>> {
        if let Some(columns) = self.trace.starred(place) {
            let column = |column: Starred| {
                let node = Node::Var { source: column.source, name: Arc::clone(&column.name) };
                (node, column.name, column.ty)
            };
            return Some(columns.into_iter().map(column).collect());
        }
        let fields = self.fields_of_variable(place)?;
        Some(fields.into_iter().map(|(node, field)| (node, field.name, field.ty)).collect())
    }

    /// The row of an item where `t.*` would be taken apart: with its type.
    pub(super) fn whole(&self, node: Node, expr: &Expr) -> Node {
        match node.is_row_of_item() {
            true => Node::Whole { row: Box::new(node), ty: self.type_of(expr) },
            false => node,
        }
    }

    fn boxed(&mut self, expr: &Expr, to: &SqlType) -> Option<Box<Node>> {
        self.typed(expr, to).map(Box::new)
    }

    /// An expression as it stands; a literal without a type stays one.
    pub(super) fn expr(&mut self, expr: &Expr) -> Option<Node> {
        stack::check().ok()?;
        Some(match &expr.kind {
            ExprKind::Column(parts)
                if parts.last().is_some_and(|name| self.trace.is_row_call(name.at.start))
                    && let Some((row, function)) = called_of_row(parts) =>
            {
                self.row_call(row, function, expr)?
            }
            ExprKind::Field { arg, name } if self.trace.is_row_call(name.at.start) => {
                self.row_call((**arg).clone(), name, expr)?
            }
            ExprKind::Column(_) if self.of_domain => Node::Word("VALUE".to_owned()),
            ExprKind::Column(parts) => {
                let source = self.trace.source(parts.first()?.at.start)?;
                if let Source::Variable(slot) = source {
                    return Some(Node::Param(u32::try_from(slot + 1).ok()?));
                }
                if let Source::Fields(slot, names) = &source {
                    let whole = Node::Param(u32::try_from(slot + 1).ok()?);
                    let field =
                        |arg, name: &Arc<str>| Node::Field { arg: Box::new(arg), name: name.to_string() };
                    return Some(names.iter().fold(whole, field));
                }
                Node::Var { source, name: parts.last()?.text.as_str().into() }
            }
            ExprKind::Literal(literal) => self.literal(literal)?,
            ExprKind::Parameter(number) => Node::Param(*number),
            ExprKind::Unary { op, arg } => self.unary(op, arg, expr)?,
            ExprKind::Binary { op, left, right } => self.binary(op, left, right, expr.point)?,
            ExprKind::And(args) => Node::Bool(Connective::And, self.conditions(args)?),
            ExprKind::Or(args) => Node::Bool(Connective::Or, self.conditions(args)?),
            ExprKind::Not(arg) => not(self.typed(arg, &SqlType::Bool)?),
            ExprKind::IsNull { arg, negated } => {
                Node::IsNull { arg: Box::new(self.settled(arg)?), negated: *negated }
            }
            ExprKind::IsTruth { arg, truth, negated } => {
                let test = match (truth, negated) {
                    (Some(true), false) => "IS TRUE",
                    (Some(true), true) => "IS NOT TRUE",
                    (Some(false), false) => "IS FALSE",
                    (Some(false), true) => "IS NOT FALSE",
                    (None, false) => "IS UNKNOWN",
                    (None, true) => "IS NOT UNKNOWN",
                };
                Node::IsTruth { arg: self.boxed(arg, &SqlType::Bool)?, test }
            }
            ExprKind::IsDistinct { left, right, negated }
                if let (ExprKind::Row(ours), ExprKind::Row(theirs)) = (&left.kind, &right.kind)
                    && ours.len() == theirs.len()
                    && !ours.iter().chain(theirs).any(Expr::is_starred) =>
            {
                let test = self.rows_distinct(ours, theirs)?;
                if *negated { not(test) } else { test }
            }
            ExprKind::IsDistinct { left, right, negated } => {
                let [left, right] = self.operands("=", [left, right], expr.point)?;
                let test = Node::Distinct(Box::new(left), Box::new(right));
                if *negated { not(test) } else { test }
            }
            ExprKind::InList { arg, list, negated } => self.in_list(arg, list, *negated)?,
            ExprKind::Between { arg, low, high, negated } => {
                let (below, above) = if *negated { ("<", ">") } else { (">=", "<=") };
                let sides = [(below, low), (above, high)];
                let parts = sides.map(|(op, bound)| self.tested(op, [arg, bound], u32::MAX));
                let [Some(first), Some(second)] = parts else { return None };
                let word = if *negated { Connective::Or } else { Connective::And };
                Node::Bool(word, vec![first, second])
            }
            ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
                let op = match (case_insensitive, negated) {
                    (false, false) => "~~",
                    (false, true) => "!~~",
                    (true, false) => "~~*",
                    (true, true) => "!~~*",
                };
                let [to, of] = self.sides_of_pattern(op, arg, pattern, escape.is_some());
                let left = self.typed(arg, &to)?;
                let mut right = self.typed(pattern, &of)?;
                if let Some(escape) = escape {
                    right = call("like_escape", vec![right, self.typed(escape, &of)?]);
                }
                Node::Op { op: self.named_between(op, &[to, of]), args: vec![left, right] }
            }
            ExprKind::SimilarTo { arg, pattern, escape, negated } => {
                let to = self.matched(arg);
                let left = self.typed(arg, &to)?;
                let mut args = vec![self.typed(pattern, &SqlType::Text)?];
                if let Some(escape) = escape {
                    args.push(self.typed(escape, &SqlType::Text)?);
                }
                let op = self.named_between(if *negated { "!~" } else { "~" }, &[to, SqlType::Text]);
                Node::Op { op, args: vec![left, call("similar_to_escape", args)] }
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())?
            }
            ExprKind::Cast { arg, ty, .. } => {
                let to = self.binder.type_in_text(ty).ok()?;
                let then = self.binder.row_then(arg, ty, &to);
                self.cast(then.as_ref().unwrap_or(arg), &to)?
            }
            ExprKind::Call(called) => self.call(called, expr)?,
            ExprKind::Array(items) => Node::Array(self.unified(&items.iter().collect::<Vec<_>>())?, None),
            ExprKind::Subscript { .. } | ExprKind::Slice { .. } => self.subscripts(expr)?,
            ExprKind::Field { name, .. } if name.text == "*" => return None,
            ExprKind::Field { arg, name } => {
                let row = self.expr(arg)?;
                let name_text = self.binder.field_named(&name.text);
                // A field of an item's row is a column of it.
                if let Node::Var { source: Source::Row(place), .. } = &row
                    && let Some(columns) = self.trace.columns_of(*place)
                    && let Some(at) = columns.iter().position(|(known, _)| **known == *name_text)
                {
                    let source = Source::Column(*place, at);
                    return Some(Node::Var { source, name: (&*name_text).into() });
                }
                let name = self.binder.field_today(&self.type_of(arg), &name_text);
                Node::Field { arg: Box::new(row), name }
            }
            ExprKind::Row(parts) => self.row_form(parts)?,
            ExprKind::Subquery(query) => self.sublink(SublinkKind::Scalar, Vec::new(), query)?,
            ExprKind::Exists(query) => self.sublink(SublinkKind::Exists, Vec::new(), query)?,
            ExprKind::ArraySubquery(query) => self.sublink(SublinkKind::Array, Vec::new(), query)?,
            ExprKind::InSubquery { args, query, negated } => {
                let is_all = *negated && self.is_all(expr.at);
                let (how, op) = if is_all { (Quantified::All, "<>") } else { (Quantified::In, "=") };
                let test = self.compared(how, (op, u32::MAX), args, query)?;
                if *negated && !is_all { not(test) } else { test }
            }
            ExprKind::QuantifiedSubquery { args, op, all, query } => {
                let op = if op == "!=" { "<>" } else { op.as_str() };
                let how = if *all { Quantified::All } else { Quantified::Any };
                self.compared(how, (op, expr.point), args, query)?
            }
            ExprKind::Collate { arg, collation } => {
                let number = verso_catalog::kept::number_of(collation.schema_text());
                let user = number.and_then(|oid| self.binder.catalog.collation_by_oid(oid.0));
                let name = match collation.schema_text() {
                    _ if let Some(user) = user => {
                        let (schema, name) = (&user.collation.schema, &user.collation.name);
                        match self.binder.catalog.search_path().searched().contains(schema) {
                            true => quote_ident(name),
                            false => format!("{}.{}", quote_ident(schema), quote_ident(name)),
                        }
                    }
                    Some("pg_catalog") | None => quote_ident(&collation.name.text),
                    Some(schema) => format!("{}.{}", quote_ident(schema), quote_ident(&collation.name.text)),
                };
                Node::Collate { arg: Box::new(self.settled(arg)?), name }
            }
            ExprKind::IsJson { arg, kind, unique_keys, negated } => {
                let arg = match self.type_of(arg) {
                    SqlType::Json | SqlType::Jsonb | SqlType::Bytea => self.expr(arg)?,
                    _ => self.typed(arg, &SqlType::Text)?,
                };
                let words = is_json_words(*kind, *unique_keys);
                let test = Node::IsJson { arg: Box::new(arg), words };
                if *negated { not(test) } else { test }
            }
            ExprKind::Json(form) => self.json(form, expr.at)?,
            ExprKind::Default => return None,
        })
    }

    /// A form of SQL/JSON.
    fn json(&mut self, form: &JsonForm, at: Span) -> Option<Node> {
        match form {
            JsonForm::ArrayQuery { query, format, returning } => {
                self.json_array_of_query(query, (format.as_ref(), returning.as_ref()), at)
            }
            form => self.json_form(form, at),
        }
    }

    /// `JSON_ARRAY(query)`: an aggregate over the rows of the query, as PostgreSQL takes it and shows it.
    fn json_array_of_query(
        &mut self,
        query: &Query,
        (format, returning): (Option<&JsonFormat>, Option<&JsonOutput>),
        at: Span,
    ) -> Option<Node> {
        let rows = self.query(query)?;
        let words = |format: Option<&JsonFormat>| match format {
            None => String::new(),
            Some(JsonFormat { encoding: None, .. }) => " FORMAT JSON".to_owned(),
            Some(JsonFormat { encoding: Some(name), .. }) => {
                format!(" FORMAT JSON ENCODING {}", name.text.to_uppercase())
            }
        };
        let ty = match returning {
            Some(output) => self.binder.type_in_text(&output.ty).ok()?,
            None => SqlType::Json,
        };
        let behind = words(returning.and_then(|output| output.format.as_ref()));
        let behind = format!("{} RETURNING {}{behind})", words(format), ty.pg_name());
        // The query has a name of its own, and its only column.
        let value = Node::Var { source: Source::Column(at.start, 0), name: "a".into() };
        let item = Item {
            place: at.start,
            kind: ItemKind::Query(Box::new(rows)),
            alias: Some("q".to_owned()),
            own: None,
            columns: vec!["a".to_owned()],
            today: vec![("a".to_owned(), false)],
            shows_columns: true,
            lateral: false,
            sample: None,
            past: None,
        };
        let call = Node::Written(vec![("JSON_ARRAYAGG(".to_owned(), Some(value)), (behind, None)]);
        let targets = vec![Target::plain(call, "json_arrayagg".to_owned())];
        let select = Select { targets, from: vec![item], ..Select::default() };
        let query =
            super::node::Query { body: Body::Select(Box::new(select)), ..super::node::Query::default() };
        Some(Node::Sublink(Box::new(Sublink { kind: SublinkKind::Scalar, left: Vec::new(), query })))
    }

    /// A part of the text with these expressions as they are today; literals stay as they were written.
    pub(super) fn written(&mut self, at: Span, exprs: &[&Expr]) -> Option<Written> {
        let mut exprs: Vec<&Expr> = exprs.to_vec();
        exprs.sort_by_key(|expr| expr.at.start);
        let (mut parts, mut from) = (Vec::new(), at.start);
        for expr in exprs.into_iter().filter(|expr| !matches!(expr.kind, ExprKind::Literal(_))) {
            if expr.at.start < from || expr.at.end > at.end {
                return None;
            }
            let before = self.named(&self.between(from, expr.at.start));
            parts.push((before, Some(self.expr(expr)?)));
            from = expr.at.end;
        }
        parts.push((self.named(&self.between(from, at.end)), None));
        Some(parts)
    }

    /// A part of the text, in which types have their names.
    pub(super) fn named(&self, text: &str) -> String {
        verso_catalog::kept::with_names(self.binder.catalog, text)
    }

    /// `<> ALL (query)`, not NOT IN.
    fn is_all(&self, at: Span) -> bool {
        let before = self.between(at.start, at.end);
        !before.to_lowercase().split_whitespace().any(|word| word == "in" || word.starts_with("in("))
    }

    fn literal(&self, literal: &Literal) -> Option<Node> {
        Some(match literal {
            Literal::Null => Node::Const { text: None, ty: SqlType::Unknown },
            Literal::Bool(value) => Node::Const { text: Some(value.to_string()), ty: SqlType::Bool },
            Literal::String(text) => Node::Const { text: Some(text.clone()), ty: SqlType::Unknown },
            Literal::Bits(digits) => self.constant(Some(digits.clone()), &SqlType::Bit(None)),
            Literal::Number(digits) => number(digits)?,
        })
    }

    fn conditions(&mut self, args: &[Expr]) -> Option<Vec<Node>> {
        args.iter().map(|arg| self.typed(arg, &SqlType::Bool)).collect()
    }

    /// As what a value is looked at for a pattern: of `char(n)` and `citext`, as the value itself.
    fn matched(&self, arg: &Expr) -> SqlType {
        match self.type_of(arg) {
            own @ (SqlType::Char(_) | SqlType::Name | SqlType::System(SystemType::Citext)) => own,
            _ => SqlType::Text,
        }
    }

    /// As what LIKE takes a value and the pattern that is looked for in it. `escaped`: the pattern is what a function makes of it.
    fn sides_of_pattern(&self, op: &str, arg: &Expr, pattern: &Expr, escaped: bool) -> [SqlType; 2] {
        let types = [self.type_of(arg), self.type_of(pattern)];
        if types.contains(&SqlType::Bytea) {
            return [SqlType::Bytea, SqlType::Bytea];
        }
        match types.contains(&SqlType::System(SystemType::Citext)) {
            true if !escaped => operands::taken(op, &types, None),
            _ => [self.matched(arg), SqlType::Text],
        }
    }

    fn unary(&mut self, op: &str, arg: &Expr, whole: &Expr) -> Option<Node> {
        if let (true, ExprKind::Literal(Literal::Number(digits))) = (matches!(op, "-" | "+"), &arg.kind) {
            // A sign belongs to its number.
            return match op {
                "-" => number(&format!("-{digits}")),
                _ => Some(Node::Op { op: op.into(), args: vec![number(digits)?] }),
            };
        }
        let types = self.trace.taken(whole.point);
        let to = types.and_then(|types| types.first().cloned()).unwrap_or_else(|| self.type_of(arg));
        let op = self.operator_shown(op, whole.point, std::slice::from_ref(&to));
        Some(Node::Op { op, args: vec![self.typed(arg, &to)?] })
    }

    fn binary(&mut self, op: &str, left: &Expr, right: &Expr, point: u32) -> Option<Node> {
        let op = if op == "!=" { "<>" } else { op };
        let each = op.strip_suffix(" ANY").map(|op| (op, false));
        if let Some((op, all)) = each.or_else(|| op.strip_suffix(" ALL").map(|op| (op, true))) {
            return self.each(if op == "!=" { "<>" } else { op }, all, [left, right], point);
        }
        if let (ExprKind::Row(ours), ExprKind::Row(theirs)) = (&left.kind, &right.kind) {
            if ours.iter().chain(theirs).any(Expr::is_starred) {
                let sides = [self.row_parts(ours)?, self.row_parts(theirs)?];
                let args = sides.into_iter().map(|parts| Node::Form("ROW", parts)).collect();
                return Some(Node::Op { op: op.to_string(), args });
            }
            return self.rows_compared(op, ours, theirs);
        }
        self.tested(op, [left, right], point)
    }

    /// An operator between two operands.
    fn tested(&mut self, op: &str, sides: [&Expr; 2], point: u32) -> Option<Node> {
        let types = self.sides_taken(op, sides, point);
        let args = self.operands(op, sides, point)?;
        Some(Node::Op { op: self.operator_shown(op, point, &types), args: args.into() })
    }

    /// An operator as it is shown: one of users with its schema where it is not found without it. `types`: what it takes.
    fn operator_shown(&self, op: &str, point: u32, types: &[SqlType]) -> String {
        let Some(((schema, symbol), is_hidden)) = self.trace.operator_at(point) else {
            // one of an extension, which is built in
            return match op.rsplit_once('.') {
                Some((schema, symbol)) if self.is_searched(schema) => symbol.to_string(),
                Some((schema, symbol)) => format!("OPERATOR({}.{symbol})", quote_ident(schema)),
                None => self.named_between(op, types),
            };
        };
        let path = self.binder.catalog.search_path();
        match !is_hidden && path.searched().contains(&schema) {
            true => symbol.to_string(),
            false => format!("OPERATOR({}.{symbol})", quote_ident(&schema)),
        }
    }

    /// An operator that is built in as it is shown between values of these types: one that came with an extension with the schema of
    /// that, where it is not searched, as the bare symbol would mean another one there.
    fn named_between(&self, op: &str, types: &[SqlType]) -> String {
        let brings = |ty: &SqlType| {
            let of = match ty {
                SqlType::System(SystemType::Citext | SystemType::Hstore) => extension_of_type(ty)?,
                SqlType::Text | SqlType::Unknown => PG_TRGM,
                ty if ty.is_number() => BTREE_GIST,
                _ => return None,
            };
            extensions_with_operator(op).contains(&of).then_some(of)
        };
        let extension = types.iter().find_map(brings).and_then(|name| self.binder.catalog.extension(name));
        match extension {
            Some(extension) if !self.is_searched(&extension.schema) => {
                format!("OPERATOR({}.{op})", quote_ident(&extension.schema))
            }
            _ => op.to_string(),
        }
    }

    /// The symbol of an operator that is built in, which may be named with the schema of its extension; one of users is no such symbol.
    fn symbol_of<'o>(&self, op: &'o str, point: u32) -> &'o str {
        match op.rsplit_once('.') {
            Some((_, symbol)) if self.trace.operator_at(point).is_none() => symbol,
            _ => op,
        }
    }

    fn is_searched(&self, schema: &str) -> bool {
        self.binder.catalog.search_path().searched().iter().any(|searched| **searched == *schema)
    }

    /// The operands of an operator, cast as PostgreSQL's operator of that name takes them.
    pub(super) fn operands(&mut self, op: &str, sides: [&Expr; 2], point: u32) -> Option<[Node; 2]> {
        let [left, right] = self.sides_taken(op, sides, point);
        Some([self.typed(sides[0], &left)?, self.typed(sides[1], &right)?])
    }

    /// The types as which PostgreSQL's operator of that name takes them.
    fn sides_taken(&self, op: &str, sides: [&Expr; 2], point: u32) -> [SqlType; 2] {
        let types = [self.type_of(sides[0]), self.type_of(sides[1])];
        let traced = self.trace.taken(point);
        match traced.as_deref() {
            // One of users takes what it is declared to take.
            Some([left, right]) if self.trace.operator_at(point).is_some() => [left.clone(), right.clone()],
            traced => operands::taken(self.symbol_of(op, point), &types, traced),
        }
    }

    fn rows_compared(&mut self, op: &str, ours: &[Expr], theirs: &[Expr]) -> Option<Node> {
        let mut pairs = ours.iter().zip(theirs);
        let word = match op {
            "=" => Connective::And,
            "<>" => Connective::Or,
            _ => {
                // The operator of the first pair names that of the rows.
                let first =
                    pairs.clone().next().map(|(left, right)| self.sides_taken(op, [left, right], u32::MAX));
                let shown = self.named_between(op, first.as_ref().map_or(&[], |first| &first[..]));
                let sides: Option<Vec<[Node; 2]>> =
                    pairs.map(|(left, right)| self.operands(op, [left, right], u32::MAX)).collect();
                let (left, right) = sides?.into_iter().map(|[left, right]| (left, right)).unzip();
                return Some(Node::Rows { op: shown, left, right });
            }
        };
        let tests = pairs.try_fold(Vec::new(), |mut tests, (left, right)| {
            tests.push(self.tested(op, [left, right], u32::MAX)?);
            Some(tests)
        });
        Some(Node::Bool(word, tests?))
    }

    /// Rows that are distinct where some of their parts are, each test with those before it.
    fn rows_distinct(&mut self, ours: &[Expr], theirs: &[Expr]) -> Option<Node> {
        let mut test: Option<Node> = None;
        for (left, right) in ours.iter().zip(theirs) {
            let [left, right] = self.operands("=", [left, right], u32::MAX)?;
            let own = Node::Distinct(Box::new(left), Box::new(right));
            test = Some(match test {
                Some(before) => Node::Bool(Connective::Or, vec![before, own]),
                None => own,
            });
        }
        test
    }

    /// `a op ANY (array)`.
    fn each(&mut self, op: &str, all: bool, [left, right]: [&Expr; 2], point: u32) -> Option<Node> {
        let (ours, array) = (self.type_of(left), self.type_of(right));
        let element = match (&array, self.trace.operator_at(point), self.trace.taken(point)) {
            (SqlType::Array(element), _, _) => (**element).clone(),
            (_, Some(_), Some(types)) if types.len() == 2 && types[0] == ours => types[1].clone(),
            _ => ours.clone(),
        };
        let [to, of] = operands::taken(self.symbol_of(op, point), &[ours, element], None);
        let shown = self.operator_shown(op, point, &[to.clone(), of.clone()]);
        let left = self.typed(left, &to)?;
        let right = match self.typed(right, &SqlType::Array(Box::new(of)))? {
            // without the type its rows would be compared
            Node::Sublink(query) if query.kind == SublinkKind::Scalar => {
                Node::Whole { row: Box::new(Node::Sublink(query)), ty: array }
            }
            right => right,
        };
        Some(Node::Each { op: shown, all, left: Box::new(left), right: Box::new(right) })
    }

    /// IN (…): constants as an array, columns one by one.
    fn in_list(&mut self, arg: &Expr, list: &[Expr], negated: bool) -> Option<Node> {
        let (op, word) = if negated { ("<>", Connective::And) } else { ("=", Connective::Or) };
        let mut tests = Vec::new();
        let mut plain = Vec::new();
        let mut varying = Vec::new();
        for item in list {
            if self.reads_columns(item)? { varying.push(item) } else { plain.push(item) }
        }
        if let (ExprKind::Row(ours), true) = (&arg.kind, true) {
            for item in list {
                let ExprKind::Row(theirs) = &item.kind else { return None };
                tests.push(self.rows_compared(op, ours, theirs)?);
            }
        } else {
            let types: Vec<SqlType> =
                [arg].into_iter().chain(plain.iter().copied()).map(|expr| self.type_of(expr)).collect();
            // Rows of different types are compared one by one.
            let common = common_type(types.iter())
                .ok()
                .filter(|common| !common.is_row() || common.composite().is_some());
            if let Some(common) = common
                && plain.len() > 1
            {
                let items: Option<Vec<Node>> = plain.iter().map(|item| self.typed(item, &common)).collect();
                let mut array = Node::Array(items?, None);
                let [to, of] = operands::taken(op, &[types[0].clone(), common.clone()], None);
                let shown = self.named_between(op, &[to.clone(), of.clone()]);
                if !same(&of, &common) {
                    array = cast(array, &common, SqlType::Array(Box::new(of)), true);
                }
                let left = Box::new(self.typed(arg, &to)?);
                tests.push(Node::Each { op: shown, all: negated, left, right: Box::new(array) });
            } else if types.iter().any(SqlType::is_row) {
                varying = list.iter().collect();
            } else {
                varying.splice(0..0, plain);
            }
            for item in varying {
                tests.push(self.tested(op, [arg, item], u32::MAX)?);
            }
        }
        match tests.len() {
            1 => tests.pop(),
            _ => Some(Node::Bool(word, tests)),
        }
    }

    fn reads_columns(&mut self, expr: &Expr) -> Option<bool> {
        let node = self.expr(expr)?;
        Some(node.reads_columns())
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
    ) -> Option<Node> {
        let mut results: Vec<&Expr> = otherwise.into_iter().collect();
        results.extend(branches.iter().map(|(_, result)| result));
        let types: Vec<SqlType> = results.iter().map(|expr| self.type_of(expr)).collect();
        let common = common_type(types.iter()).ok()?;
        let mut lowered = Vec::new();
        for (condition, result) in branches {
            let condition = match operand {
                // The comparison of both decides what the second one is.
                Some(operand) => self.operands("=", [operand, condition], u32::MAX)?.into_iter().nth(1)?,
                None => self.typed(condition, &SqlType::Bool)?,
            };
            lowered.push((condition, self.typed(result, &common)?));
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.typed(otherwise, &common)?,
            None => Node::Const { text: None, ty: common.without_modifiers() },
        };
        let operand = match operand {
            Some(operand) => Some(Box::new(self.settled(operand)?)),
            None => None,
        };
        Some(Node::Case { operand, branches: lowered, otherwise: Box::new(otherwise) })
    }

    /// A cast that somebody wrote.
    fn cast(&mut self, arg: &Expr, to: &SqlType) -> Option<Node> {
        if let (ExprKind::Array(items), SqlType::Array(element)) = (&arg.kind, to) {
            let inner = items.iter().any(|item| matches!(item.kind, ExprKind::Array(_)));
            let to = if inner { to.clone() } else { (**element).clone() };
            let lowered: Option<Vec<Node>> = items.iter().map(|item| self.cast(item, &to)).collect();
            let ty = items.is_empty().then(|| SqlType::Array(element.clone()));
            return Some(Node::Array(lowered?, ty));
        }
        let from = self.type_of(arg);
        let node = match self.expr(arg)? {
            Node::Form("ROW", parts) => self.row_of(parts, to),
            node => node,
        };
        Some(match node {
            Node::Const { text, ty: SqlType::Unknown } => {
                let constant = self.constant(text, to);
                match of_constants(to) == *to {
                    true => constant,
                    // the length is applied to the constant
                    false => Node::Cast {
                        arg: Box::new(constant),
                        ty: to.clone(),
                        implicit: false,
                        function: true,
                    },
                }
            }
            // A row of a type is a record as it is.
            node if *to == SqlType::Record && from.is_row() => node,
            // A cast to the type that it has is none.
            node if from == *to || same(&from, to) && to.without_modifiers() == *to => {
                match from == *to || matches!(from, SqlType::Unknown) {
                    true => node,
                    false => cast(node, &from, to.clone(), false),
                }
            }
            node => cast(node, &from, to.clone(), false),
        })
    }

    fn subscripts(&mut self, expr: &Expr) -> Option<Node> {
        let mut steps = Vec::new();
        let mut base = expr;
        loop {
            match &base.kind {
                ExprKind::Subscript { array, index } => {
                    let upper = Some(self.expr(index)?);
                    steps.push(Subscript { slice: false, lower: None, upper });
                    base = array;
                }
                ExprKind::Slice { array, lower, upper } => {
                    let mut bound = |bound: &Option<Box<Expr>>| match bound {
                        Some(bound) => self.expr(bound).map(Some),
                        None => Some(None),
                    };
                    steps.push(Subscript { slice: true, lower: bound(lower)?, upper: bound(upper)? });
                    base = array;
                }
                _ => break,
            }
        }
        steps.reverse();
        let has_keys = matches!(self.type_of(base), SqlType::Jsonb | SqlType::System(SystemType::Hstore));
        for step in &mut steps {
            // a key of a JSON object or an hstore is a text
            for key in step.lower.iter_mut().chain(&mut step.upper) {
                if has_keys && matches!(key, Node::Const { ty: SqlType::Unknown, .. }) {
                    let literal = std::mem::replace(key, Node::Param(0));
                    *key = self.coerced(literal, &SqlType::Unknown, &SqlType::Text);
                }
            }
        }
        Some(Node::Subscript { array: Box::new(self.expr(base)?), steps })
    }

    fn sublink(&mut self, kind: SublinkKind, left: Vec<Node>, query: &Query) -> Option<Node> {
        let query = self.query(query)?;
        Some(Node::Sublink(Box::new(Sublink { kind, left, query })))
    }

    /// Values compared with what a query yields.
    fn compared(
        &mut self,
        how: Quantified,
        (op, point): (&str, u32),
        args: &[Expr],
        query: &Query,
    ) -> Option<Node> {
        let (args, is_row) = match args {
            [Expr { kind: ExprKind::Row(parts), .. }] => (parts.as_slice(), true),
            args => (args, args.len() > 1),
        };
        if is_row && args.iter().any(Expr::is_starred) {
            let left = self.row_parts_by(args, |lower, part| lower.expr(part))?;
            let kind = how.by(self.operator_shown(op, point, &[]));
            return self.sublink(kind, left, query);
        }
        let theirs = self.output_types(query);
        let (mut left, mut first) = (Vec::new(), Vec::new());
        for (n, arg) in args.iter().enumerate() {
            let own = self.type_of(arg);
            let other = theirs.get(n).cloned().unwrap_or_else(|| own.clone());
            let taken = operands::taken(self.symbol_of(op, point), &[own, other], None);
            left.push(self.typed(arg, &taken[0])?);
            if n == 0 {
                first = taken.to_vec();
            }
        }
        // The operator of the first pair names that of all.
        let kind = how.by(self.operator_shown(op, point, &first));
        self.sublink(kind, left, query)
    }
}

impl Node {
    /// Whether a column is read by it.
    fn reads_columns(&self) -> bool {
        match self {
            Node::Const { .. } | Node::Param(_) | Node::Word(_) => false,
            Node::Cast { arg, .. } | Node::Collate { arg, .. } => arg.reads_columns(),
            Node::Op { args, .. } | Node::Func { args, .. } | Node::Form(_, args) | Node::Array(args, _) => {
                args.iter().any(Node::reads_columns)
            }
            _ => true,
        }
    }

    /// Whether it is a column or a row of an item of FROM.
    pub(super) fn is_var(&self) -> bool {
        matches!(self, Node::Var { source: Source::Column(..) | Source::Number(..) | Source::Merged(_), .. })
    }

    /// Whether it is the row of an item.
    pub(super) fn is_row_of_item(&self) -> bool {
        matches!(self, Node::Var { source: Source::Row(_), .. })
    }
}

/// How values are compared with the rows of a query.
enum Quantified {
    In,
    Any,
    All,
}

impl Quantified {
    /// The same with its operator as it is shown: where that needs a schema, IN has no room for it.
    fn by(self, op: String) -> SublinkKind {
        match self {
            Quantified::In if op == "=" => SublinkKind::In,
            Quantified::In | Quantified::Any => SublinkKind::Any(op),
            Quantified::All => SublinkKind::All(op),
        }
    }
}

/// A number without a type of its own choice.
fn number(digits: &str) -> Option<Node> {
    let ty = if digits.parse::<i32>().is_ok() {
        SqlType::Int4
    } else if digits.parse::<i64>().is_ok() {
        SqlType::Int8
    } else {
        SqlType::Numeric(None)
    };
    let value = parse_text(&ty, digits, &verso_types::TimeStyle::UTC).ok()?;
    let mut text = String::new();
    format_text(&value, &ty, &verso_types::TimeStyle::UTC, &mut text);
    Some(Node::Const { text: Some(text), ty })
}

/// `IS JSON` with what is behind it.
pub(super) fn is_json_words(kind: JsonKind, unique_keys: bool) -> &'static str {
    match (kind, unique_keys) {
        (JsonKind::Value, false) => "IS JSON",
        (JsonKind::Value, true) => "IS JSON WITH UNIQUE KEYS",
        (JsonKind::Object, false) => "IS JSON OBJECT",
        (JsonKind::Object, true) => "IS JSON OBJECT WITH UNIQUE KEYS",
        (JsonKind::Array, false) => "IS JSON ARRAY",
        (JsonKind::Array, true) => "IS JSON ARRAY WITH UNIQUE KEYS",
        (JsonKind::Scalar, false) => "IS JSON SCALAR",
        (JsonKind::Scalar, true) => "IS JSON SCALAR WITH UNIQUE KEYS",
    }
}

pub(super) fn not(node: Node) -> Node {
    Node::Bool(Connective::Not, vec![node])
}

pub(super) fn call(name: &str, args: Vec<Node>) -> Node {
    Node::Func { name: name.into(), args, names: Vec::new(), variadic: false }
}

/// The type that a literal gets where one of type `to` is wanted. The fields of an interval say what the literal means: `'1'` is a day as
/// `interval day`; lengths of other types are applied to the constant.
fn of_constants(to: &SqlType) -> SqlType {
    if matches!(to, SqlType::Interval(_)) { to.clone() } else { to.without_modifiers() }
}

pub(super) fn cast(node: Node, from: &SqlType, to: SqlType, implicit: bool) -> Node {
    let textual = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Unknown);
    let function = match (from, &to) {
        (SqlType::Array(_), _) | (_, SqlType::Array(_)) => false,
        (SqlType::Char(_) | SqlType::Name, to) if textual(to) => true,
        (_, SqlType::Varchar(Some(_)) | SqlType::Char(_)) => true,
        (from, to) => !textual(from) && !textual(to),
    };
    Node::Cast { arg: Box::new(node), ty: to, implicit, function }
}

/// A field of a row; the row of an item is its columns.
pub(super) fn field_node(row: &Node, field: &StarredField) -> Node {
    match row {
        Node::Var { source: Source::Row(place), .. } => {
            Node::Var { source: Source::Column(*place, field.at), name: Arc::clone(&field.name) }
        }
        row => Node::Field { arg: Box::new(row.clone()), name: field.today.to_string() },
    }
}
