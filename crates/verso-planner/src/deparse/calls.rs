//! Calls of functions, aggregates and functions over windows.

use verso_catalog::{CITEXT, extension_with};
use verso_exec::functions::{aggregate_candidates, quote_ident, window_candidates};
use verso_parser::syntax::{Call, Expr, ExprKind, Frame as SyntaxFrame, FrameBound};
use verso_parser::syntax::{Literal, Name, OrderItem, Over as SyntaxOver, QualifiedName, WindowSpec};
use verso_types::{SqlType, SystemType};

use super::lower::Lowering;
use super::node::{Aggregate, Bound, Frame, Node, Over, Sort, SortKey, SqlForm, Window};
use crate::bind::{common_type, is_json_aggregate};

impl Lowering<'_> {
    /// A function that is called like a field of a row.
    pub(super) fn row_call(&mut self, row: Expr, function: &Name, whole: &Expr) -> Option<Node> {
        let name = QualifiedName { schema: None, name: function.clone() };
        self.call(&Call::plain(name, vec![row]), whole)
    }

    /// A call.
    pub(super) fn call(&mut self, call: &Call, whole: &Expr) -> Option<Node> {
        let name = call.name.name.text.as_str();
        let plain = !call.star && !call.distinct && call.filter.is_none() && call.over.is_none();
        if call.name.schema.is_none()
            && plain
            && let Some(node) = self.special(name, call, whole)?
        {
            return Some(node);
        }
        let place = call.name.at().start;
        let mut args = self.arguments(call, place)?;
        let user = self.trace.function_at(place);
        if matches!(name, "nextval" | "currval" | "setval")
            && user.is_none()
            && let Some(Node::Const { text: Some(sequence), ty }) = args.first_mut()
        {
            // PostgreSQL's functions take the sequence itself
            *sequence = self.sequence_name(sequence);
            *ty = SqlType::System(SystemType::Regclass);
        }
        if call.name.schema.is_none()
            && let Some(form) = self.sql_form(name, call, whole)
        {
            return Some(Node::Sql(form, args));
        }
        let shown = match &user {
            Some((schema, name)) => self.function_name(schema, name),
            None => self.built_in_name(call, place),
        };
        let gathers = user.is_none()
            && (!aggregate_candidates(name).is_empty()
                || !window_candidates(name).is_empty()
                || is_json_aggregate(name));
        if call.over.is_some() || gathers {
            let within = &call.within_group;
            let filter = match &call.filter {
                Some(filter) => Some(self.typed(filter, &SqlType::Bool)?),
                None => None,
            };
            let over = match &call.over {
                None => None,
                Some(SyntaxOver::Name(name)) => Some(Over::Name(name.text.clone())),
                Some(SyntaxOver::Spec(spec)) => Some(Over::Spec(Box::new(self.window(spec)?))),
            };
            let taken = self.trace.taken(place).unwrap_or_default();
            let ordered = taken.get(call.args.len()..).unwrap_or_default().to_vec();
            return Some(Node::Aggregate(Box::new(Aggregate {
                name: shown,
                star: call.star,
                distinct: call.distinct,
                args,
                order_by: self.sorts(&call.order_by, &[])?,
                within: self.sorts(within, &ordered)?,
                behind: String::new(),
                filter,
                over,
            })));
        }
        let names = call.names.iter().map(|name| quote_ident(&name.text)).collect();
        // PostgreSQL keeps such a call with the array that it hands over.
        let first = self.trace.list_at(place);
        if let Some(first) = first {
            let list = args.split_off(first.min(args.len()));
            args.push(Node::Array(list, None));
        }
        let variadic = call.variadic || first.is_some();
        Some(Node::Func { name: shown, args, names, variadic })
    }

    /// The name of a built-in function: of one that an extension has with the schema of that, where it is not searched.
    fn built_in_name(&self, call: &Call, place: u32) -> String {
        let name = call.name.name.text.as_str();
        let catalog = self.binder.catalog;
        let is_named = call.name.schema_text().is_some_and(|schema| schema != "pg_catalog");
        let first = self.trace.taken(place).and_then(|types| types.into_iter().next());
        let of_citext = first == Some(SqlType::System(SystemType::Citext));
        let (brings, is_its) = match extension_with(name) {
            None if of_citext && matches!(name, "min" | "max") => (Some(CITEXT), true),
            // PostgreSQL itself has functions of these names: of texts those are meant, whatever else there is.
            Some(CITEXT) => (Some(CITEXT), of_citext || name.starts_with("citext")),
            brings => (brings, is_named || name != "gen_random_uuid"),
        };
        let extension = brings.and_then(|extension| catalog.extension(extension));
        match extension.filter(|_| is_its) {
            Some(of) if !catalog.search_path().searched().contains(&of.schema) => {
                format!("{}.{}", quote_ident(&of.schema), quote_ident(name))
            }
            _ => quote_ident(name),
        }
    }

    fn arguments(&mut self, call: &Call, place: u32) -> Option<Vec<Node>> {
        let taken = self.trace.taken(place).unwrap_or_default();
        let extreme = matches!(call.name.name.text.as_str(), "min" | "max");
        // Of built-in functions the types are in the order of the parameters.
        let user = self.trace.function_at(place).is_some();
        if !user && is_json_aggregate(&call.name.name.text) {
            // What was traced are the calls that it stands for.
            return call.args.iter().map(|arg| self.expr(arg)).collect();
        }
        let plain = if call.variadic { 0 } else { call.args.len() - call.names.len().min(call.args.len()) };
        let mut args = Vec::new();
        for (n, arg) in call.args.iter().enumerate() {
            args.push(match taken.get(n) {
                // a literal that a function takes without a type
                Some(SqlType::Unknown) => self.expr(arg)?,
                Some(SqlType::Varchar(_) | SqlType::Name) if extreme => self.typed(arg, &SqlType::Text)?,
                Some(SqlType::System(SystemType::Cidr)) if extreme => {
                    self.typed(arg, &SqlType::System(SystemType::Inet))?
                }
                // rows that became another value on the way
                Some(SqlType::Array(_))
                    if !matches!(self.type_of(arg), SqlType::Array(_) | SqlType::Unknown) =>
                {
                    self.settled(arg)?
                }
                Some(to) if user || n < plain => self.typed(arg, to)?,
                _ => self.settled(arg)?,
            });
        }
        Some(args)
    }

    /// The name of a sequence as a text has it, without a schema that the path leads to.
    fn sequence_name(&self, text: &str) -> String {
        let Some((schema, name)) = text.split_once('.') else { return text.to_string() };
        let bare = |part: &str| part.trim_matches('"').to_string();
        let found = self.binder.catalog.sequence(None, &bare(name));
        match found.is_some_and(|sequence| *sequence.schema == *bare(schema)) {
            true => name.to_string(),
            false => text.to_string(),
        }
    }

    /// Forms of the language that look like calls. The outer `Option` is that of the lowering.
    fn special(&mut self, name: &str, call: &Call, whole: &Expr) -> Option<Option<Node>> {
        let args: Vec<&Expr> = call.args.iter().collect();
        Some(Some(match name {
            _ if call.keyword => Node::Word(name.to_uppercase()),
            // a word of the language as a function's name would be in quotes
            "merge_action" if args.is_empty() && self.trace.function_at(call.name.at().start).is_none() => {
                Node::Word("MERGE_ACTION()".to_owned())
            }
            "current_timestamp" | "current_time" | "localtimestamp" | "localtime" if args.len() == 1 => {
                let ExprKind::Literal(Literal::Number(digits)) = &args[0].kind else { return None };
                Node::Word(format!("{}({digits})", name.to_uppercase()))
            }
            "coalesce" if !args.is_empty() => Node::Form("COALESCE", self.unified(&args)?),
            "greatest" if !args.is_empty() => Node::Form("GREATEST", self.unified(&args)?),
            "least" if !args.is_empty() => Node::Form("LEAST", self.unified(&args)?),
            "nullif" if args.len() == 2 => {
                let sides = self.operands("=", [args[0], args[1]], whole.at.start)?;
                Node::Form("NULLIF", sides.into())
            }
            "grouping" if !args.is_empty() => Node::Form("GROUPING", self.exprs(&call.args)?),
            _ => return Some(None),
        }))
    }

    /// The syntax of its own that the standard gives a function, where the text uses it.
    fn sql_form(&self, name: &str, call: &Call, whole: &Expr) -> Option<SqlForm> {
        let written = self.between(whole.at.start, whole.at.end).to_lowercase();
        let commas = || {
            let [first, second, ..] = call.args.as_slice() else { return written.contains(',') };
            self.between(first.at.end, second.at.start).contains(',')
        };
        let by_pattern = || {
            let taken = self.trace.taken(call.name.at().start);
            taken.is_some_and(|types| types.get(1).is_some_and(SqlType::is_text))
        };
        Some(match name {
            "extract" => SqlForm::Extract,
            "position" => SqlForm::Position,
            "overlay" if !commas() => SqlForm::Overlay,
            // A pattern stands in no form of its own.
            "substring" if call.args.len() == 2 && by_pattern() => return None,
            "substring" if !commas() && call.args.len() > 1 => SqlForm::Substring,
            "btrim" if written.starts_with("trim") => SqlForm::Trim("BOTH"),
            "ltrim" if written.starts_with("trim") => SqlForm::Trim("LEADING"),
            "rtrim" if written.starts_with("trim") => SqlForm::Trim("TRAILING"),
            "normalize" => SqlForm::Normalize,
            "is_normalized" if !written.starts_with("is_normalized") => SqlForm::IsNormalized,
            "overlaps" if written.starts_with('(') || written.starts_with("row") => SqlForm::Overlaps,
            "timezone" if !written.starts_with("timezone") => SqlForm::AtTimeZone,
            _ => return None,
        })
    }

    /// ORDER BY of a call: expressions only. `types`: what an ordered-set aggregate takes.
    pub(super) fn sorts(&mut self, items: &[OrderItem], types: &[SqlType]) -> Option<Vec<Sort>> {
        let mut sorts = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let node = match types.get(n) {
                Some(to) => self.typed(&item.expr, to)?,
                None => self.settled(&item.expr)?,
            };
            let key = SortKey { node, target: None };
            sorts.push(Sort::of(key, item));
        }
        Some(sorts)
    }

    pub(super) fn window(&mut self, spec: &WindowSpec) -> Option<Window> {
        let frame = match &spec.frame {
            Some(frame) => Some(self.frame(frame)?),
            None => None,
        };
        Some(Window {
            base: spec.base.as_ref().map(|name| name.text.clone()),
            partition_by: self.exprs(&spec.partition_by)?,
            order_by: self.sorts(&spec.order_by, &[])?,
            frame,
        })
    }

    fn frame(&mut self, frame: &SyntaxFrame) -> Option<Frame> {
        let behind = self.between(frame.at, frame.at + 64).to_lowercase();
        let between = behind.split_whitespace().nth(1) == Some("between");
        let (start, end) = (self.bound(&frame.start)?, self.bound(&frame.end)?);
        Some(Frame { mode: frame.mode, start, end: between.then_some(end), exclude: frame.exclude })
    }

    fn bound(&mut self, bound: &FrameBound) -> Option<Bound> {
        Some(match bound {
            FrameBound::UnboundedPreceding => Bound::Fixed("UNBOUNDED PRECEDING"),
            FrameBound::CurrentRow => Bound::Fixed("CURRENT ROW"),
            FrameBound::UnboundedFollowing => Bound::Fixed("UNBOUNDED FOLLOWING"),
            FrameBound::Preceding(expr) => Bound::Distance(self.expr(expr)?, "PRECEDING"),
            FrameBound::Following(expr) => Bound::Distance(self.expr(expr)?, "FOLLOWING"),
        })
    }

    /// The types that the columns of a query come out with, as far as its first SELECT says.
    pub(super) fn output_types(&self, query: &verso_parser::syntax::Query) -> Vec<SqlType> {
        use verso_parser::syntax::{QueryBody, SelectItem};
        let mut body = &query.body;
        loop {
            match body {
                QueryBody::Nested(inner) => body = &inner.body,
                QueryBody::Set { left, .. } => body = &left.body,
                QueryBody::Select(select) => {
                    let mut types = Vec::new();
                    for item in &select.items {
                        match item {
                            SelectItem::Expr { expr, .. } => types.push(
                                self.trace.output_type(expr.at.start).unwrap_or_else(|| self.type_of(expr)),
                            ),
                            SelectItem::Wildcard { at, .. } => {
                                let starred = self.starred(at.start).unwrap_or_default();
                                types.extend(starred.into_iter().map(|(_, _, ty)| ty));
                            }
                            SelectItem::Fields { .. } => return Vec::new(),
                        }
                    }
                    return types;
                }
                QueryBody::Values(rows) => {
                    let width = rows.first().map_or(0, Vec::len);
                    return (0..width)
                        .filter_map(|n| {
                            let column: Vec<SqlType> = rows
                                .iter()
                                .filter_map(|row| row.get(n))
                                .map(|expr| self.type_of(expr))
                                .collect();
                            common_type(column.iter()).ok()
                        })
                        .collect();
                }
                QueryBody::Change(_) => return Vec::new(),
            }
        }
    }
}
