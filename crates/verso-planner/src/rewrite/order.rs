//! Rule `order`: which leaves of a graph are joined first, and how.
//!
//! ```text
//! leaves, conditions ─► subsets with their rows ─► the cheapest tree of each, small ones first (dynamic programming)
//!                                             └──► beyond EXACT_MAX leaves: the pair with the fewest rows, again and again
//! ```
//!
//! O1. Parts that no condition ties together are joined only where nothing else is left; when, the costs say.
//! O2. The hash table is made of the right part; a leaf with an index on the columns that tie it may be looked up for each
//!     row of the left part instead.
//!     Without an equality that is done by ranges, where the conditions have them.
//!
//! O3. Where the first rows in an order are wanted, the leaf that has the order may be walked by an index and the others looked up
//!     for each of its rows, until there are enough.
//!
//! Termination: subsets are visited once each, by size; the greedy way joins two parts at each step. Source: Selinger et
//! al., 1979; Fegaras, "A new heuristic for optimizing large queries", 1998.

use verso_exec::plan::{ExprKind, Plan, SortKey, TypedExpr};

use super::graph::{Graph, Leaf};
use super::unnest::fixed;
use crate::bind::{columns_of, map_columns};
use crate::estimate::{BUILD, Estimate, FETCH, LOOKUP, OUT, PAIR, PROBE, SCAN};
use crate::hints::{Hints, JoinHints, JoinMethod, Method};
use crate::methods::Methods;
use crate::plan::Asked;

/// With more leaves not all orders are compared.
const EXACT_MAX: usize = 10;

/// What makes a product of two parts the last resort (O1).
const CROSSING: f64 = 1e12;

/// Steps that it takes to begin a sort.
const SORT: f64 = 1000.0;
/// What makes a join of a method that is switched off the last resort.
const OFF: f64 = 1e12;
/// What makes a join that hints want otherwise the last resort of all.
const UNWANTED: f64 = 1e15;

/// How many rows of a join are wanted, and in which order: over the columns of the graph.
pub(super) struct First {
    pub rows: f64,
    pub keys: Vec<SortKey>,
}

/// How the leaves of a graph are joined.
pub(super) enum Tree {
    Leaf(usize),
    /// The right part is held in memory.
    Hash(Box<Tree>, Box<Tree>),
    /// Both parts are sorted.
    Merge(Box<Tree>, Box<Tree>),
    /// The leaf is looked up for each row of the left part.
    Lookup(Box<Tree>, usize),
}

/// What is known of a leaf.
struct Known {
    rows: f64,
    /// Those of its table, whatever its conditions leave of them.
    whole: f64,
    cost: f64,
}

/// A set of leaves joined.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    rows: f64,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Leaf,
    Hash(u32, u32),
    Merge(u32, u32),
    Lookup(u32, usize),
}

/// Chooses the order for a graph whose leaves are rewritten already.
pub(super) fn choose(
    graph: &Graph,
    estimate: Estimate<'_>,
    lookups: bool,
    hints: Option<&Hints>,
    first: Option<&First>,
) -> Tree {
    let plans: Vec<&Plan> = graph.leaves.iter().map(|leaf| &leaf.plan).collect();
    let asked = hints.map(|hints| hints.of_joins(&plans)).unwrap_or_default();
    let orders = Orders::new(graph, estimate, lookups, &asked);
    let exact = graph.leaves.len() <= EXACT_MAX;
    let in_order = first.filter(|_| exact && asked.leading.is_empty() && asked.methods.is_empty());
    let tree = match in_order {
        Some(first) => orders.first(first),
        None if exact => orders.exact().0,
        None => orders.greedy(),
    };
    // With more leaves hints are not looked at.
    if let Some(hints) = hints.filter(|_| exact) {
        hints.follow_leading(&asked);
        follow(&tree, &asked, hints);
    }
    tree
}

/// Notes which methods a tree has; its leaves.
fn follow(tree: &Tree, asked: &JoinHints, hints: &Hints) -> Vec<usize> {
    let (left, right, found) = match tree {
        Tree::Leaf(leaf) => return vec![*leaf],
        Tree::Hash(left, right) => {
            (follow(left, asked, hints), follow(right, asked, hints), JoinMethod::Hash)
        }
        Tree::Merge(left, right) => {
            (follow(left, asked, hints), follow(right, asked, hints), JoinMethod::Merge)
        }
        Tree::Lookup(left, leaf) => (follow(left, asked, hints), vec![*leaf], JoinMethod::Loop),
    };
    for method in &asked.methods {
        if (method.method == found) != method.not && is_about(method, &left, &right) {
            hints.follow_method(asked, method);
        }
    }
    [left, right].concat()
}

/// Whether a hint is about the join of these leaves.
fn is_about(method: &Method, left: &[usize], right: &[usize]) -> bool {
    if method.each {
        return [left, right].iter().any(|side| matches!(side, [leaf] if method.leaves.contains(leaf)));
    }
    let all = |leaf: &usize| left.contains(leaf) || right.contains(leaf);
    method.leaves.len() == left.len() + right.len() && method.leaves.iter().all(all)
}

struct Orders<'g> {
    hints: &'g JoinHints,
    graph: &'g Graph,
    estimate: Estimate<'g>,
    lookups: bool,
    leaves: Vec<Known>,
    /// Those that are relations of the catalogs.
    catalogs: Vec<Option<Asked>>,
    /// The columns of each table that its own conditions fix.
    fixed: Vec<Vec<u16>>,
    /// Of each class, per member its leaf and the number of its values.
    values: Vec<Vec<(usize, f64)>>,
    /// Of each shared condition the part of the pairs that fulfils it.
    selectivity: Vec<f64>,
}

impl<'g> Orders<'g> {
    fn new(graph: &'g Graph, estimate: Estimate<'g>, lookups: bool, hints: &'g JoinHints) -> Orders<'g> {
        let leaves: Vec<Known> = (graph.leaves.iter())
            .map(|leaf| {
                let rows = estimate.rows(&leaf.plan);
                let whole = estimate.whole(&leaf.plan).unwrap_or(rows);
                Known { rows, whole, cost: cost(&leaf.plan, rows, estimate) }
            })
            .collect();
        let of_column = |leaf: usize, column: usize| {
            let leaf = &graph.leaves[leaf];
            let expr = TypedExpr::column(column - leaf.start, verso_types::SqlType::Int4);
            estimate.values(&expr, &leaf.plan).max(1.0)
        };
        let values = graph.classes.iter().map(|class| {
            class.members.iter().map(|(leaf, column)| (*leaf, of_column(*leaf, *column))).collect()
        });
        let selectivity = graph.shared.iter().map(|shared| {
            let alike = matches!(shared.condition.kind, ExprKind::IsDistinct { negated: true, .. });
            if !alike && !super::graph::is_equality(&shared.condition) {
                return 0.33;
            }
            let values = columns_of(&shared.condition).into_iter().map(|column| {
                let leaf = graph.leaf_of(column);
                of_column(leaf, column)
            });
            1.0 / values.fold(1.0, f64::max)
        });
        Orders {
            hints,
            values: values.collect(),
            selectivity: selectivity.collect(),
            graph,
            estimate,
            lookups,
            catalogs: graph.leaves.iter().map(|leaf| Asked::of(&leaf.plan, estimate)).collect(),
            fixed: graph.leaves.iter().map(|leaf| fixed(&leaf.plan)).collect(),
            leaves,
        }
    }

    /// Rows of a set of leaves joined by all that is said of them.
    fn rows(&self, has: &dyn Fn(usize) -> bool) -> f64 {
        let mut rows: f64 = (self.leaves.iter().enumerate())
            .filter(|(leaf, _)| has(*leaf))
            .map(|(_, known)| known.rows)
            .product();
        // How many values the columns have by which two leaves are tied together.
        let mut tied: Vec<((usize, usize), f64)> = Vec::new();
        for class in &self.values {
            // One of the columns tells how many values there are, the others are equal to it.
            let mut of_leaf: Vec<(usize, f64)> = Vec::new();
            for (leaf, values) in class.iter().filter(|(leaf, _)| has(*leaf)) {
                if !of_leaf.iter().any(|(known, _)| known == leaf) {
                    of_leaf.push((*leaf, *values));
                }
            }
            // The one with the fewest values; of those with about as many the one of the largest table, which references the others.
            let fewest = of_leaf.iter().map(|(_, values)| *values).fold(f64::INFINITY, f64::min);
            let about = of_leaf.iter().enumerate().filter(|(_, (_, values))| *values <= fewest * 1.25);
            let whole = |leaf: usize| self.leaves[leaf].whole;
            let telling = about.max_by(|(_, a), (_, b)| whole(a.0).total_cmp(&whole(b.0)));
            let Some((telling, of_telling)) = telling.map(|(at, (leaf, _))| (at, *leaf)) else { continue };
            for (_, (leaf, values)) in of_leaf.iter().enumerate().filter(|(at, _)| *at != telling) {
                let pair = (*leaf.min(&of_telling), *leaf.max(&of_telling));
                let values = values.min(whole(*leaf));
                match tied.iter_mut().find(|(known, _)| *known == pair) {
                    Some((_, all)) => {
                        // Whichever of the two tells of which column: neither has more combinations than rows.
                        let fewer = whole(pair.0).min(whole(pair.1));
                        *all = (*all * values).min(fewer.max(all.max(values)));
                    }
                    None => tied.push((pair, values)),
                }
            }
        }
        tied.iter().for_each(|(_, values)| rows /= values);
        for (shared, part) in self.graph.shared.iter().zip(&self.selectivity) {
            if shared.leaves.iter().all(|leaf| has(*leaf)) {
                rows *= part;
            }
        }
        for hint in &self.hints.rows {
            if (0..self.leaves.len()).all(|leaf| has(leaf) == hint.leaves.contains(&leaf)) {
                rows = hint.of(rows);
            }
        }
        rows.max(1.0)
    }

    /// Whether hints let a set of leaves be joined: those of a group come before others, and the groups before what is in none.
    fn allowed(&self, set: u32) -> bool {
        let groups = &self.hints.leading;
        let fits = |all: u32| set & all == 0 || set & all == set || set & all == all;
        let begins = groups.last().is_none_or(|all| set & all.all != 0);
        set.count_ones() < 2 || begins && groups.iter().all(|group| fits(group.all))
    }

    /// Whether hints let a set be made of these two.
    fn directed(&self, left: u32, right: u32) -> bool {
        let of = self.hints.leading.iter().find(|group| group.all == left | right);
        of.and_then(|group| group.outer).is_none_or(|outer| outer == left)
    }

    /// What a method costs that the session has switched off, beside its steps.
    fn off(&self, method: JoinMethod) -> f64 {
        let Methods { hash_join, merge_join, nested_loop, .. } = self.estimate.methods;
        let on = match method {
            JoinMethod::Hash => hash_join,
            JoinMethod::Merge => merge_join,
            JoinMethod::Loop => nested_loop,
        };
        if on { 0.0 } else { OFF }
    }

    /// What a join costs that hints want to have another method.
    fn unwanted(&self, method: JoinMethod, left: u32, right: u32) -> f64 {
        let leaves = |set: u32| (0..self.leaves.len()).filter(|leaf| set & (1 << leaf) != 0).collect();
        let (left, right): (Vec<usize>, Vec<usize>) = (leaves(left), leaves(right));
        let mut asked = self.hints.methods.iter().filter(|asked| is_about(asked, &left, &right));
        if asked.any(|asked| (asked.method != method) != asked.not) { UNWANTED } else { 0.0 }
    }

    /// Whether a condition ties two sets together, and whether by an equality.
    fn tied(&self, left: &dyn Fn(usize) -> bool, right: &dyn Fn(usize) -> bool) -> (bool, bool) {
        let class = self.values.iter().any(|members| {
            members.iter().any(|(leaf, _)| left(*leaf)) && members.iter().any(|(leaf, _)| right(*leaf))
        });
        let shared = |equal: bool| {
            self.graph.shared.iter().any(|shared| {
                (!equal || super::graph::is_equality(&shared.condition))
                    && shared.leaves.iter().all(|leaf| left(*leaf) || right(*leaf))
                    && shared.leaves.iter().any(|leaf| left(*leaf))
                    && shared.leaves.iter().any(|leaf| right(*leaf))
            })
        };
        let equal = class || shared(true);
        (equal || shared(false), equal)
    }

    /// Rows that a lookup of a leaf by what ties it to others finds.
    fn lookup(&self, leaf: usize, others: &dyn Fn(usize) -> bool) -> Option<f64> {
        if let Some(found) = self.asked_for(leaf, others) {
            return Some(found);
        }
        let Plan::TableScan { table, columns, .. } = &self.graph.leaves[leaf].plan else { return None };
        if !self.lookups || !self.estimate.methods.index_scan || self.hints.whole.contains(&leaf) {
            return None;
        }
        let start = self.graph.leaves[leaf].start;
        let known: Vec<u16> = self
            .graph
            .lookups(leaf, others)
            .into_iter()
            .filter_map(|column| Some(table.columns.get(*columns.get(column - start)?)?.id))
            .collect();
        self.estimate.lookup(table, &known, &self.fixed[leaf])
    }

    /// What asking a relation of the catalogs for the rows of a key costs, in rows that an index finds.
    fn asked_for(&self, leaf: usize, others: &dyn Fn(usize) -> bool) -> Option<f64> {
        let asked = self.catalogs[leaf].as_ref()?;
        if !self.lookups || self.hints.whole.contains(&leaf) {
            return None;
        }
        let start = self.graph.leaves[leaf].start;
        let columns = self.graph.lookups(leaf, others).into_iter();
        let told: Vec<usize> = columns.map(|column| column - start).collect();
        asked.has_key(&told).then(|| asked.cost(&told, self.estimate) / FETCH)
    }

    /// Rows of a leaf that an index finds by ranges of what the others have.
    fn ranged(&self, leaf: usize, others: &dyn Fn(usize) -> bool) -> Option<f64> {
        if !self.lookups || self.hints.whole.contains(&leaf) {
            return None;
        }
        let tied = self.graph.shared.iter().filter(|shared| {
            shared.leaves.contains(&leaf) && shared.leaves.iter().all(|one| *one == leaf || others(*one))
        });
        let conditions: Vec<TypedExpr> = tied.map(|shared| shared.condition.clone()).collect();
        let Leaf { plan, start, width, .. } = &self.graph.leaves[leaf];
        crate::plan::ranged(plan, (*start, start + width), &conditions, self.estimate, None)
    }

    /// What a hash join adds.
    fn hash(&self, left: f64, right: f64, rows: f64, equal: bool) -> f64 {
        let pairs = if equal { right * BUILD + left * PROBE } else { right * OUT + left * right * PAIR };
        pairs + rows * OUT
    }

    /// The cheaper of two: all rows, to be sorted, or those of one leaf in the order of an index, the others looked up for each
    /// until there are enough.
    fn first(&self, first: &First) -> Tree {
        let (all, cost) = self.exact();
        match self.in_order(first) {
            Some((tree, less)) if less < cost => tree,
            _ => all,
        }
    }

    fn in_order(&self, first: &First) -> Option<(Tree, f64)> {
        let n = self.leaves.len();
        let mut used = first.keys.iter().flat_map(|key| columns_of(&key.expr));
        let leaf = self.graph.leaf_of(used.next()?);
        if n < 2 || used.any(|column| self.graph.leaf_of(column) != leaf) {
            return None;
        }
        let Leaf { plan, start, .. } = &self.graph.leaves[leaf];
        let Plan::TableScan { table, .. } = plan else { return None };
        let own = |key: &SortKey| {
            let mut expr = key.expr.clone();
            map_columns(&mut expr, &mut |column| column - start);
            SortKey { expr, ..key.clone() }
        };
        let keys: Vec<SortKey> = first.keys.iter().map(own).collect();
        crate::plan::has_order(plan, &keys, self.estimate).then_some(())?;
        let all = self.rows(&|_| true);
        // So many rows of the leaf are needed, of so many of the index.
        let mut rows = (first.rows * self.leaves[leaf].rows / all).min(self.leaves[leaf].rows).max(1.0);
        let walked = rows * self.estimate.table(table) / self.leaves[leaf].rows;
        let mut cost = LOOKUP + walked * FETCH;
        let mut joined = vec![false; n];
        joined[leaf] = true;
        let mut tree = Tree::Leaf(leaf);
        for _ in 1..n {
            let found = (0..n).filter(|leaf| !joined[*leaf]).filter_map(|leaf| {
                let found = self.lookup(leaf, &|other| joined[other])?;
                Some((leaf, found))
            });
            let (next, found) = found.min_by(|a, b| a.1.total_cmp(&b.1))?;
            cost += rows * (LOOKUP + found * FETCH);
            rows *= found;
            joined[next] = true;
            tree = Tree::Lookup(Box::new(tree), next);
        }
        Some((tree, cost))
    }

    /// The best tree, and its cost.
    fn exact(&self) -> (Tree, f64) {
        let n = self.leaves.len();
        let full = (1u32 << n) - 1;
        let mut best: Vec<Option<Best>> = vec![None; 1 << n];
        for (leaf, known) in self.leaves.iter().enumerate() {
            best[1 << leaf] = Some(Best { cost: known.cost, rows: known.rows, step: Step::Leaf });
        }
        for set in 1..=full {
            if set.count_ones() < 2 || !self.allowed(set) {
                continue;
            }
            let rows = self.rows(&|leaf| set & (1 << leaf) != 0);
            // Ascending: of equals the order as written.
            let mut left = set & set.wrapping_neg();
            while left != set {
                self.consider(&mut best, (left, set & !left), rows);
                left = left.wrapping_sub(set) & set;
            }
        }
        let cost = best[full as usize].map_or(f64::INFINITY, |best| best.cost);
        (tree(&best, full), cost)
    }

    fn consider(&self, best: &mut [Option<Best>], (left, right): (u32, u32), rows: f64) {
        let (Some(ours), Some(theirs)) = (best[left as usize], best[right as usize]) else { return };
        if !self.directed(left, right) {
            return;
        }
        let in_left = |leaf: usize| left & (1 << leaf) != 0;
        let in_right = |leaf: usize| right & (1 << leaf) != 0;
        let (tied, equal) = self.tied(&in_left, &in_right);
        if tied {
            self.hints.rows.iter().for_each(|hint| hint.looked_at(left | right));
        }
        let set = (left | right) as usize;
        let mut take = |cost: f64, step: Step| {
            let cost = if tied { cost } else { cost + CROSSING };
            if best[set].is_none_or(|best| cost < best.cost) {
                best[set] = Some(Best { cost, rows, step });
            }
        };
        let hinted = !self.hints.methods.is_empty();
        let unwanted = |method| if hinted { self.unwanted(method, left, right) } else { 0.0 };
        let both = ours.cost + theirs.cost;
        let hash = self.hash(ours.rows, theirs.rows, rows, equal) + self.off(JoinMethod::Hash);
        take(both + hash + unwanted(JoinMethod::Hash), Step::Hash(left, right));
        if equal {
            let merge = merge(ours.rows, theirs.rows, rows) + self.off(JoinMethod::Merge);
            take(both + merge + unwanted(JoinMethod::Merge), Step::Merge(left, right));
        }
        if right.count_ones() == 1 {
            let leaf = right.trailing_zeros() as usize;
            if tied
                && !equal
                && let Some(found) = self.ranged(leaf, &in_left)
            {
                let cost = ours.cost + ours.rows * (LOOKUP + found * FETCH) + rows * OUT;
                // The plan of the join decides it again.
                take(cost + unwanted(JoinMethod::Loop), Step::Hash(left, right));
            }
            if let Some(found) = self.lookup(leaf, &in_left) {
                let cost = ours.cost + ours.rows * (LOOKUP + found * FETCH) + rows * OUT;
                let cost = cost + self.off(JoinMethod::Loop);
                take(cost + unwanted(JoinMethod::Loop), Step::Lookup(left, leaf));
            }
        }
    }

    fn greedy(&self) -> Tree {
        struct Part {
            tree: Tree,
            leaves: Vec<bool>,
            rows: f64,
        }
        let n = self.leaves.len();
        let mut parts: Vec<Part> = (0..n)
            .map(|leaf| Part {
                tree: Tree::Leaf(leaf),
                leaves: (0..n).map(|other| other == leaf).collect(),
                rows: self.leaves[leaf].rows,
            })
            .collect();
        // With very many leaves only neighbours are compared, so that the time stays in bounds.
        let near = if n > 64 { 2 } else { n };
        while parts.len() > 1 {
            let mut best: Option<(bool, f64, usize, usize)> = None;
            for a in 0..parts.len() {
                for b in a + 1..parts.len().min(a + near) {
                    let (one, two) = (&parts[a], &parts[b]);
                    let (tied, _) = self.tied(&|leaf| one.leaves[leaf], &|leaf| two.leaves[leaf]);
                    let rows = if tied {
                        self.rows(&|leaf| one.leaves[leaf] || two.leaves[leaf])
                    } else {
                        one.rows * two.rows
                    };
                    let better = best.is_none_or(|(known, least, _, _)| (!tied, rows) < (!known, least));
                    if better {
                        best = Some((tied, rows, a, b));
                    }
                }
            }
            let Some((_, rows, a, b)) = best else { break };
            let (two, one) = (parts.remove(b), parts.remove(a));
            // The smaller part goes into the hash table.
            let (left, right) = if one.rows >= two.rows { (one, two) } else { (two, one) };
            let leaves = (0..n).map(|leaf| left.leaves[leaf] || right.leaves[leaf]).collect();
            let looked_up = |part: &Part, other: &Part| match part.tree {
                Tree::Leaf(leaf) => {
                    let found = self.lookup(leaf, &|at| other.leaves[at])?;
                    let cost = other.rows * (LOOKUP + found * FETCH) + self.off(JoinMethod::Loop);
                    let hash = self.hash(left.rows, right.rows, rows, true) + self.leaves[leaf].cost;
                    (cost < hash + self.off(JoinMethod::Hash)).then_some(leaf)
                }
                _ => None,
            };
            let tree = if let Some(leaf) = looked_up(&right, &left) {
                Tree::Lookup(Box::new(left.tree), leaf)
            } else if let Some(leaf) = looked_up(&left, &right) {
                Tree::Lookup(Box::new(right.tree), leaf)
            } else {
                Tree::Hash(Box::new(left.tree), Box::new(right.tree))
            };
            parts.insert(a, Part { tree, leaves, rows });
        }
        parts.pop().map_or(Tree::Leaf(0), |part| part.tree)
    }
}

/// What it costs to read a leaf.
fn cost(plan: &Plan, rows: f64, estimate: Estimate<'_>) -> f64 {
    match plan {
        Plan::TableScan { table, columns, filter } => {
            let whole = estimate.table(table) * SCAN;
            let found =
                filter.as_ref().and_then(|filter| crate::plan::found(table, columns, filter, estimate));
            match found {
                Some(access) => {
                    let scan = Plan::IndexScan {
                        table: table.clone(),
                        columns: columns.clone(),
                        access,
                        filter: None,
                    };
                    whole.min(LOOKUP + estimate.rows(&scan) * FETCH)
                }
                None => whole,
            }
        }
        Plan::Past { input, .. } => cost(input, rows, estimate),
        plan if let Some(asked) = Asked::of(plan, estimate) => asked.cost(&[], estimate) + rows * OUT,
        Plan::Filter { input, .. } | Plan::Project { input, .. } => {
            cost(input, estimate.rows(input), estimate) + rows * OUT
        }
        Plan::Aggregate { input, .. } | Plan::Distinct { input } | Plan::Sort { input, .. } => {
            let below = estimate.rows(input);
            cost(input, below, estimate) + below * BUILD
        }
        _ => rows * OUT,
    }
}

/// What it costs to sort two inputs and to merge them.
fn merge(left: f64, right: f64, rows: f64) -> f64 {
    let sort = |rows: f64| SORT + rows * PAIR * rows.max(2.0).log2();
    sort(left) + sort(right) + (left + right) * PAIR + rows * OUT
}

fn tree(best: &[Option<Best>], set: u32) -> Tree {
    match best[set as usize].map(|best| best.step) {
        Some(Step::Hash(left, right)) => Tree::Hash(Box::new(tree(best, left)), Box::new(tree(best, right))),
        Some(Step::Merge(left, right)) => {
            Tree::Merge(Box::new(tree(best, left)), Box::new(tree(best, right)))
        }
        Some(Step::Lookup(left, leaf)) => Tree::Lookup(Box::new(tree(best, left)), leaf),
        Some(Step::Leaf) | None => Tree::Leaf(set.trailing_zeros() as usize),
    }
}
