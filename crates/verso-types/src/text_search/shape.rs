//! Queries without what cannot be looked for: stop words, negations.

use super::parse::Built;
use super::query::{Item, TsQuery};

/// A tree of which parts are taken out, from the leaves up.
#[derive(Default)]
struct Tree {
    nodes: Vec<(Item, Option<usize>, Option<usize>)>,
}

impl Tree {
    fn add(&mut self, item: Item, right: Option<usize>, left: Option<usize>) -> usize {
        self.nodes.push((item, right, left));
        self.nodes.len() - 1
    }

    /// The items below a node in prefix order.
    fn items(mut self, root: Option<usize>) -> Vec<Item> {
        let mut items = Vec::new();
        let mut open: Vec<usize> = root.into_iter().collect();
        while let Some(at) = open.pop() {
            let Some((item, right, left)) = self.nodes.get_mut(at) else { continue };
            open.extend(*left);
            open.extend(*right);
            items.push(std::mem::replace(item, Item::Not));
        }
        items
    }
}

/// What is left of a part without its stop words: `before` and `behind` are to be added to the distances of phrases to the
/// left and to the right of it.
struct Left {
    node: Option<usize>,
    before: u16,
    behind: u16,
}

/// The query without stop words. Phrases around a stop word become as much wider as it was. Of a part of nothing but stop
/// words the width is the same on both sides, and counted once. `None` where the items are no list in prefix order.
pub(super) fn without_stops(items: Vec<Built>) -> Option<TsQuery> {
    let mut tree = Tree::default();
    let mut done: Vec<Left> = Vec::new();
    for item in items.into_iter().rev() {
        let item = match item {
            Built::Stop => {
                done.push(Left { node: None, before: 0, behind: 0 });
                continue;
            }
            Built::Item(item) => item,
        };
        match item.arity() {
            0 => {
                let node = Some(tree.add(item, None, None));
                done.push(Left { node, before: 0, behind: 0 });
            }
            1 => {
                let below = done.pop()?;
                let node = below.node.map(|node| tree.add(item, Some(node), None));
                done.push(Left { node, ..below });
            }
            _ => {
                let (right, left) = (done.pop()?, done.pop()?);
                done.push(joined(&mut tree, item, &left, &right));
            }
        }
    }
    let root = done.pop()?;
    if !done.is_empty() {
        return None;
    }
    TsQuery::new(tree.items(root.node))
}

fn joined(tree: &mut Tree, item: Item, left: &Left, right: &Left) -> Left {
    let distance = if let Item::Phrase(distance) = item { Some(distance) } else { None };
    let sum = |parts: [u16; 3]| parts.into_iter().fold(0u16, u16::saturating_add);
    match (left.node, right.node, distance) {
        (None, None, Some(distance)) => {
            let width = sum([left.before, distance, right.before]);
            Left { node: None, before: width, behind: width }
        }
        (None, None, None) => {
            let width = left.before.max(right.before);
            Left { node: None, before: width, behind: width }
        }
        (None, node, Some(distance)) => {
            Left { node, before: sum([left.before, distance, right.before]), behind: right.behind }
        }
        (None, node, None) => Left { node, before: right.before, behind: right.behind },
        (node, None, Some(distance)) => {
            Left { node, before: left.before, behind: sum([left.behind, distance, right.behind]) }
        }
        (node, None, None) => Left { node, before: left.before, behind: left.behind },
        (Some(l), Some(r), Some(distance)) => {
            let wide = Item::Phrase(sum([distance, left.behind, right.before]));
            let node = Some(tree.add(wide, Some(r), Some(l)));
            Left { node, before: left.before, behind: right.behind }
        }
        (Some(l), Some(r), None) => {
            Left { node: Some(tree.add(item, Some(r), Some(l))), before: 0, behind: 0 }
        }
    }
}

impl TsQuery {
    /// What an index can be asked for: the query without negations, which say nothing; empty where nothing is left.
    #[must_use]
    pub fn without_negations(&self) -> TsQuery {
        let mut tree = Tree::default();
        let mut done: Vec<Option<usize>> = Vec::new();
        for item in self.items().iter().rev() {
            let node = match item {
                Item::Operand(_) => Some(tree.add(item.clone(), None, None)),
                Item::Not => {
                    done.pop();
                    None
                }
                _ => {
                    let (right, left) = (done.pop().flatten(), done.pop().flatten());
                    match (left, right) {
                        (Some(_), Some(_)) => Some(tree.add(item.clone(), right, left)),
                        (None, _) | (_, None) if *item == Item::Or => None,
                        (left, right) => left.or(right),
                    }
                }
            };
            done.push(node);
        }
        TsQuery::new(tree.items(done.pop().flatten())).unwrap_or_default()
    }
}
