//! `ts_rewrite`: a query in place of each part of another one that is equal to a third.
//!
//! Operands of `&` and `|` have no order, and those of the same operator within one another are its own: a query is taken as a
//! tree with any number of children, in an order of its own, and made binary again at the end.

use std::cmp::Ordering;

use verso_types::text_search::{Item, TsQuery};
use verso_types::{SqlType, TypeError, Value};

use super::{ASKED, QUERY, TEXT, function, query};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{BuiltinFunction, ResultType, Volatility};

/// Operators one within another, those of the same kind counted as one.
const DEPTH_MAX: usize = 500;

#[derive(Clone)]
struct Node {
    item: Item,
    children: Vec<Node>,
    /// Came in place of something: it is not looked into.
    new: bool,
}

/// The order of parts as PostgreSQL sorts them.
fn compare(a: &Node, b: &Node) -> Ordering {
    let code = |item: &Item| match item {
        Item::Operand(_) => 0,
        Item::Not => 1,
        Item::And => 2,
        Item::Or => 3,
        Item::Phrase(_) => 4,
    };
    match (&a.item, &b.item) {
        (Item::Operand(x), Item::Operand(y)) => {
            let sum = |word: &str| verso_types::text_search::checksum(word).cast_signed();
            sum(&y.word).cmp(&sum(&x.word)).then_with(|| x.word.as_bytes().cmp(y.word.as_bytes()))
        }
        (Item::Operand(_), _) => Ordering::Greater,
        (_, Item::Operand(_)) => Ordering::Less,
        (x, y) => {
            code(y).cmp(&code(x)).then_with(|| b.children.len().cmp(&a.children.len())).then_with(|| {
                let children = a.children.iter().zip(&b.children).map(|(a, b)| compare(a, b));
                children.fold(Ordering::Equal, Ordering::then).then_with(|| match (x, y) {
                    (Item::Phrase(x), Item::Phrase(y)) => y.cmp(x),
                    _ => Ordering::Equal,
                })
            })
        }
    }
}

fn sort(node: &mut Node) {
    if matches!(node.item, Item::And | Item::Or) {
        node.children.sort_by(compare);
    }
}

/// A node whose children are in order, and theirs.
fn sorted(mut node: Node) -> Node {
    node.children = node.children.into_iter().map(sorted).collect();
    sort(&mut node);
    node
}

/// The tree of a query; none of an empty one.
fn tree(query: &TsQuery) -> Result<Option<Node>> {
    let mut done: Vec<(Node, usize)> = Vec::new();
    for item in query.items().iter().rev() {
        let mut children = Vec::new();
        let mut depth = 0;
        for _ in 0..item.arity() {
            let Some((child, below)) = done.pop() else { return Ok(None) };
            depth = depth.max(below);
            match item {
                Item::And | Item::Or if child.item == *item => children.extend(child.children),
                _ => {
                    depth = depth.max(below + 1);
                    children.push(child);
                }
            }
        }
        if depth > DEPTH_MAX {
            return Err(TypeError::new("54001", "stack depth limit exceeded").into());
        }
        let mut node = Node { item: item.clone(), children, new: false };
        sort(&mut node);
        done.push((node, depth));
    }
    Ok(done.pop().map(|(node, _)| node))
}

/// Appends the items of a tree. Of more than two children the first two become one, then that and the last, and so on, as in
/// PostgreSQL.
fn binary(node: Node, items: &mut Vec<Item>) {
    let Node { item, mut children, .. } = node;
    items.extend(std::iter::repeat_n(item, children.len().saturating_sub(1).max(1)));
    let others = children.split_off(children.len().min(2));
    children.into_iter().chain(others.into_iter().rev()).for_each(|child| binary(child, items));
}

struct Rewrite<'q> {
    wanted: &'q Node,
    with: Option<&'q Node>,
}

impl Rewrite<'_> {
    fn replacement(&self) -> Option<Node> {
        self.with.map(|node| Node { new: true, ..node.clone() })
    }

    /// A node in which what is wanted is replaced; none where nothing is left.
    fn node(&self, mut node: Node) -> Option<Node> {
        let wanted = self.wanted;
        if node.new {
            return Some(node);
        }
        if compare(&node, wanted).is_eq() {
            return self.replacement();
        }
        let unordered = matches!(node.item, Item::And | Item::Or) && node.item == wanted.item;
        if unordered && node.children.len() > wanted.children.len() && !wanted.children.is_empty() {
            self.some_of(&mut node);
        }
        if node.children.is_empty() {
            return matches!(node.item, Item::Operand(_)).then_some(node);
        }
        node.children =
            std::mem::take(&mut node.children).into_iter().filter_map(|child| self.node(child)).collect();
        match (node.children.len(), &node.item) {
            (0, _) => None,
            (1, item) if *item != Item::Not => node.children.pop(),
            _ => Some(node),
        }
    }

    /// Replaces those children that together are what is wanted.
    fn some_of(&self, node: &mut Node) {
        let wanted = &self.wanted.children;
        let mut matched = vec![false; node.children.len()];
        let (mut own, mut other) = (0, 0);
        while own < node.children.len() && other < wanted.len() {
            match compare(&node.children[own], &wanted[other]) {
                Ordering::Equal => {
                    matched[own] = true;
                    own += 1;
                    other += 1;
                }
                Ordering::Less => own += 1,
                Ordering::Greater => return,
            }
        }
        if other < wanted.len() {
            return;
        }
        let mut matched = matched.into_iter();
        node.children.retain(|_| !matched.next().unwrap_or(false));
        node.children.extend(self.replacement().map(sorted));
        sort(node);
    }
}

fn rewrite(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own), Value::Opaque(wanted), Value::Opaque(with)] = args else {
        return Err(unexpected("ts_rewrite", args));
    };
    let (own, wanted, with) = (query(own)?, query(wanted)?, query(with)?);
    let (Some(root), Some(wanted)) = (tree(&own)?, tree(&wanted)?) else { return Ok(own.into_value()) };
    // What comes in keeps its form.
    let with = plain(&with)?;
    let rewrite = Rewrite { wanted: &wanted, with: with.as_ref() };
    let mut items = Vec::new();
    if let Some(root) = rewrite.node(root) {
        binary(root, &mut items);
    }
    Ok(TsQuery::new(items).unwrap_or_default().into_value())
}

/// The tree of a query as it is written.
fn plain(query: &TsQuery) -> Result<Option<Node>> {
    let mut done: Vec<(Node, usize)> = Vec::new();
    for item in query.items().iter().rev() {
        let (mut children, mut depth) = (Vec::new(), 0);
        for _ in 0..item.arity() {
            let Some((child, below)) = done.pop() else { return Ok(None) };
            depth = depth.max(below + 1);
            children.push(child);
        }
        if depth > DEPTH_MAX {
            return Err(TypeError::new("54001", "stack depth limit exceeded").into());
        }
        done.push((Node { item: item.clone(), children, new: false }, depth));
    }
    Ok(done.pop().map(|(node, _)| node))
}

/// Those that take a query of SQL are written in PL/pgSQL, which binding puts in their place.
fn written(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Err(unexpected("a function that is written in PL/pgSQL", args))
}

static COUNTED: [(&str, ResultType); 3] = [
    ("word", ResultType::Fixed(SqlType::Text)),
    ("ndoc", ResultType::Fixed(SqlType::Int4)),
    ("nentry", ResultType::Fixed(SqlType::Int4)),
];
const STATISTICS: ResultType = ResultType::Mixed(&COUNTED);

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    function!("ts_rewrite" [ASKED, ASKED, ASKED] => QUERY, Volatility::Immutable, rewrite),
    function!("ts_rewrite" [ASKED, TEXT] => QUERY, Volatility::Volatile, written),
    function!("ts_stat" [TEXT] => STATISTICS, Volatility::Volatile, written),
    function!("ts_stat" [TEXT, TEXT] => STATISTICS, Volatility::Volatile, written),
];
