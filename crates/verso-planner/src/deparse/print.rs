//! Expressions as text: PostgreSQL's `get_rule_expr` and `isSimpleNode`.

use verso_exec::functions::quote_ident;
use verso_types::SqlType;

use super::bound::quoted as literal;
use super::layout::Printer;
use super::node::{Connective, Node, Sublink, SublinkKind, Subscript, Written};
use crate::bind::RETURNED_ROWS;
use crate::bind::trace::Source;

/// Steps of indentation of CASE.
const CASE_STEP: i32 = 4;

/// Whether a constant says its type.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Label {
    Never,
    AsNeeded,
    Always,
}

/// A constant.
pub(super) fn constant(text: Option<&str>, ty: &SqlType, label: Label) -> String {
    let Some(text) = text else {
        return if label == Label::Never { "NULL".into() } else { format!("NULL::{ty}") };
    };
    let float = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['.', 'e', 'E']);
    let (shown, needed) = match ty {
        SqlType::Int4 if !text.starts_with('-') => (text.to_string(), false),
        SqlType::Int4 => (format!("'{text}'"), true),
        SqlType::Numeric(_) if float => (text.to_string(), false),
        SqlType::Numeric(_) => (format!("'{text}'"), true),
        SqlType::Bool => (if text.starts_with('t') { "true".into() } else { "false".into() }, false),
        SqlType::Unknown => (literal(text), false),
        _ => (literal(text), true),
    };
    match label {
        Label::Always => format!("{shown}::{ty}"),
        Label::AsNeeded if needed => format!("{shown}::{ty}"),
        _ => shown,
    }
}

impl Printer {
    /// An expression. `implicit`: casts that nobody wrote are shown.
    pub(super) fn expr(&mut self, node: &Node, implicit: bool) -> Option<()> {
        verso_env::stack::check().ok()?;
        match node {
            Node::Var { .. } => {
                let name = self.variable(node, false)?;
                self.out.push_str(&name);
            }
            Node::Whole { row, ty } => {
                self.expr(row, false)?;
                self.out.push_str(&format!("::{ty}"));
            }
            Node::Const { text, ty } => {
                let text = constant(text.as_deref(), ty, Label::AsNeeded);
                self.out.push_str(&text);
            }
            Node::Param(number) => self.argument(*number),
            Node::Op { op, args } => {
                self.open();
                match args.as_slice() {
                    [left, right] => {
                        self.within(left, true, node)?;
                        self.out.push_str(&format!(" {op} "));
                        self.within(right, true, node)?;
                    }
                    [arg] => {
                        self.out.push_str(&format!("{op} "));
                        self.within(arg, true, node)?;
                    }
                    _ => return None,
                }
                self.close();
            }
            Node::Bool(word, args) => {
                self.open();
                if *word == Connective::Not {
                    self.out.push_str("NOT ");
                }
                let between = if *word == Connective::And { " AND " } else { " OR " };
                for (n, arg) in args.iter().enumerate() {
                    if n > 0 {
                        self.out.push_str(between);
                    }
                    self.within(arg, false, node)?;
                }
                self.close();
            }
            Node::Func { name, args, names, variadic } => {
                self.out.push_str(&format!("{name}("));
                let plain = args.len().saturating_sub(names.len());
                for (n, arg) in args.iter().enumerate() {
                    if n > 0 {
                        self.out.push_str(", ");
                    }
                    if *variadic && n + 1 == args.len() {
                        self.out.push_str("VARIADIC ");
                    }
                    if let Some(name) = n.checked_sub(plain).and_then(|n| names.get(n)) {
                        self.out.push_str(&format!("{name} => "));
                    }
                    self.expr(arg, true)?;
                }
                self.out.push(')');
            }
            Node::Sql(form, args) => self.sql_form(*form, args, node)?,
            Node::Aggregate(aggregate) => self.aggregate(aggregate)?,
            Node::Cast { arg, implicit: true, .. } if !implicit => self.within(arg, false, node)?,
            Node::Cast { arg, ty, .. } => {
                match &**arg {
                    Node::Const { text: Some(text), ty: own } if *own == ty.without_modifiers() => {
                        self.out.push_str(&constant(Some(text), own, Label::Never));
                    }
                    Node::Const { text: None, ty: own } if *own == ty.without_modifiers() => {
                        self.out.push_str("NULL");
                    }
                    // A row that is made of a type.
                    Node::Form("ROW", _) if ty.is_row() => self.expr(arg, false)?,
                    _ => {
                        self.open();
                        self.within(arg, false, node)?;
                        self.close();
                    }
                }
                self.out.push_str(&format!("::{ty}"));
            }
            Node::Case { operand, branches, otherwise } => {
                self.keyword("CASE", 0, CASE_STEP, 0);
                if let Some(operand) = operand {
                    self.out.push(' ');
                    self.expr(operand, true)?;
                }
                for (condition, result) in branches {
                    self.keyword(if self.flat { " WHEN " } else { "WHEN " }, 0, 0, 0);
                    self.expr(condition, false)?;
                    self.out.push_str(" THEN ");
                    self.expr(result, true)?;
                }
                self.keyword(if self.flat { " ELSE " } else { "ELSE " }, 0, 0, 0);
                self.expr(otherwise, true)?;
                self.keyword(if self.flat { " END" } else { "END" }, -CASE_STEP, 0, 0);
            }
            Node::Form(name, args) => {
                self.out.push_str(&format!("{name}("));
                self.list(args, ", ", true)?;
                self.out.push(')');
            }
            Node::Array(items, ty) => {
                self.out.push_str("ARRAY[");
                self.list(items, ", ", true)?;
                self.out.push(']');
                if let Some(ty) = ty {
                    self.out.push_str(&format!("::{ty}"));
                }
            }
            Node::IsNull { arg, negated } => {
                self.open();
                self.within(arg, true, node)?;
                self.out.push_str(if *negated { " IS NOT NULL" } else { " IS NULL" });
                self.close();
            }
            Node::IsTruth { arg, test } => {
                self.open();
                self.within(arg, false, node)?;
                self.out.push_str(&format!(" {test}"));
                self.close();
            }
            Node::IsJson { arg, words } => {
                self.open();
                self.within(arg, true, node)?;
                self.out.push_str(&format!(" {words}"));
                self.close();
            }
            Node::Distinct(left, right) => {
                self.open();
                self.within(left, true, node)?;
                self.out.push_str(" IS DISTINCT FROM ");
                self.within(right, true, node)?;
                self.close();
            }
            Node::Each { op, all, left, right } => {
                self.open();
                self.within(left, true, node)?;
                self.out.push_str(&format!(" {op} {} (", if *all { "ALL" } else { "ANY" }));
                self.within(right, true, node)?;
                self.out.push(')');
                self.close();
            }
            Node::Rows { op, left, right } => {
                self.out.push_str("(ROW(");
                self.list(left, ", ", true)?;
                self.out.push_str(&format!(") {op} ROW("));
                self.list(right, ", ", true)?;
                self.out.push_str("))");
            }
            Node::Sublink(sublink) => self.sublink(sublink)?,
            Node::Subscript { array, steps } => self.subscript(array, steps)?,
            Node::Field { arg, name } => {
                let bare = matches!(**arg, Node::Field { .. } | Node::Subscript { .. });
                if !bare {
                    self.out.push('(');
                }
                self.expr(arg, true)?;
                if !bare {
                    self.out.push(')');
                }
                self.out.push_str(&format!(".{}", quote_ident(name)));
            }
            Node::Collate { arg, name } => {
                self.open();
                self.within(arg, implicit, node)?;
                self.out.push_str(&format!(" COLLATE {name}"));
                self.close();
            }
            Node::Word(word) => self.out.push_str(word),
            Node::Written(parts) => self.written(parts)?,
        }
        Some(())
    }

    /// A text as it was written, but for the expressions in it.
    pub(super) fn written(&mut self, parts: &Written) -> Option<()> {
        for (text, node) in parts {
            self.out.push_str(text);
            if let Some(node) = node {
                self.expr(node, true)?;
            }
        }
        Some(())
    }

    /// A parameter; the argument of a function by its name, behind that of the function where columns are in scope.
    fn argument(&mut self, number: u32) {
        let place = (number as usize).checked_sub(1);
        let name = place.and_then(|place| self.arguments.get(place)).filter(|name| !name.is_empty());
        let Some(name) = name else {
            self.out.push_str(&format!("${number}"));
            return;
        };
        let name = quote_ident(name);
        if self.levels.iter().any(|level| !level.items.is_empty()) {
            self.out.push_str(&format!("{}.{name}", self.function));
        } else {
            self.out.push_str(&name);
        }
    }

    /// A parenthesis that precedence may make needless.
    fn open(&mut self) {
        if !self.style.pretty {
            self.out.push('(');
        }
    }

    fn close(&mut self) {
        if !self.style.pretty {
            self.out.push(')');
        }
    }

    /// A part of an expression, in parentheses where only its parent makes them necessary.
    pub(super) fn within(&mut self, node: &Node, implicit: bool, parent: &Node) -> Option<()> {
        let needed = self.style.pretty && !is_simple(node, parent);
        if needed {
            self.out.push('(');
        }
        self.expr(node, implicit)?;
        if needed {
            self.out.push(')');
        }
        Some(())
    }

    pub(super) fn list(&mut self, nodes: &[Node], between: &str, implicit: bool) -> Option<()> {
        for (n, node) in nodes.iter().enumerate() {
            if n > 0 {
                self.out.push_str(between);
            }
            self.expr(node, implicit)?;
        }
        Some(())
    }

    /// The name of a column, behind that of its item where names alone could mean another. `forced`: in any case.
    pub(super) fn variable(&self, node: &Node, forced: bool) -> Option<String> {
        let Node::Var { source, .. } = node else { return None };
        match source {
            Source::Merged(name) => Some(quote_ident(name)),
            Source::Variable(_) | Source::Fields(..) => None,
            Source::Row(place) => {
                let item = self.named(*place)?;
                Some(format!("{}.*", quote_ident(item.name.as_deref()?)))
            }
            Source::Column(place, _) | Source::Number(place, _) => {
                let item = self.named(*place)?;
                let column = match source {
                    Source::Column(_, number) => quote_ident(item.columns.get(*number)?),
                    Source::Number(_, name) => quote_ident(name),
                    _ => return None,
                };
                // What RETURNING calls OLD and NEW is never meant by a name alone.
                let forced = forced || RETURNED_ROWS.contains(place);
                let qualified = forced || self.levels.last().is_some_and(|level| level.qualified);
                Some(match (&item.name, qualified) {
                    (Some(name), true) => format!("{}.{column}", quote_ident(name)),
                    _ => column,
                })
            }
        }
    }

    fn subscript(&mut self, array: &Node, steps: &[Subscript]) -> Option<()> {
        let bare = array.is_var() || matches!(array, Node::Field { .. });
        if !bare {
            self.out.push('(');
        }
        self.expr(array, true)?;
        if !bare {
            self.out.push(')');
        }
        steps.iter().try_for_each(|step| self.bracket(step))
    }

    /// `[i]`, `[i:j]`.
    pub(super) fn bracket(&mut self, step: &Subscript) -> Option<()> {
        self.out.push('[');
        if let Some(lower) = &step.lower {
            self.expr(lower, false)?;
        }
        if step.slice {
            self.out.push(':');
        }
        if let Some(upper) = &step.upper {
            self.expr(upper, false)?;
        }
        self.out.push(']');
        Some(())
    }

    fn sublink(&mut self, sublink: &Sublink) -> Option<()> {
        self.out.push_str(if sublink.kind == SublinkKind::Array { "ARRAY(" } else { "(" });
        match sublink.left.as_slice() {
            [] => {}
            [one] => self.expr(one, true)?,
            several => {
                self.out.push('(');
                self.list(several, ", ", true)?;
                self.out.push(')');
            }
        }
        let words = match &sublink.kind {
            SublinkKind::Scalar | SublinkKind::Array => None,
            SublinkKind::Exists => Some("EXISTS ".to_string()),
            SublinkKind::In => Some(" IN ".to_string()),
            SublinkKind::Any(op) => Some(format!(" {op} ANY ")),
            SublinkKind::All(op) => Some(format!(" {op} ALL ")),
        };
        if let Some(words) = &words {
            self.out.push_str(&format!("{words}("));
        }
        self.inner(&sublink.query, false)?;
        self.out.push_str(if words.is_some() { "))" } else { ")" });
        Some(())
    }
}

/// `+`, `-`: 1; `*`, `/`, `%`: 2; others bind in ways that this does not know.
fn strength(op: &str) -> u8 {
    match op {
        "+" | "-" => 1,
        "*" | "/" | "%" => 2,
        _ => 0,
    }
}

/// Whether an expression needs no parentheses within another one.
fn is_simple(node: &Node, parent: &Node) -> bool {
    match node {
        Node::Op { op, args } => {
            if let (Node::Op { op: outer, args: around }, [_, _]) = (parent, args.as_slice())
                && around.len() == 2
            {
                let (own, outer) = (strength(op), strength(outer));
                return own > 0
                    && outer > 0
                    && (own > outer
                        || own == outer && around.first().is_some_and(|first| std::ptr::eq(first, node)));
            }
            closed(parent)
        }
        Node::Each { .. } | Node::Rows { .. } => false,
        Node::Sublink(_)
        | Node::IsNull { .. }
        | Node::IsTruth { .. }
        | Node::IsJson { .. }
        | Node::Distinct(..) => closed(parent),
        Node::Bool(word, _) => match parent {
            Node::Bool(outer, _) => match word {
                Connective::Not | Connective::And => *outer != Connective::Not,
                Connective::Or => *outer == Connective::Or,
            },
            _ => encloses(parent),
        },
        Node::Cast { arg, function: false, .. } => is_simple(arg, node),
        Node::Field { .. } => !matches!(parent, Node::Field { .. }),
        Node::Collate { .. } => false,
        _ => true,
    }
}

/// Whether the parent binds less tightly than any operator, or has parentheses of its own.
fn closed(parent: &Node) -> bool {
    matches!(parent, Node::Bool(..)) || encloses(parent)
}

/// Whether the parent has parentheses or words of its own around its parts.
fn encloses(parent: &Node) -> bool {
    matches!(
        parent,
        Node::Func { .. }
            | Node::Form(..)
            | Node::Written(_)
            | Node::Array(..)
            | Node::Aggregate(_)
            | Node::Case { .. }
            | Node::Subscript { .. }
    )
}
