//! Trees of inner joins, taken apart and put together in another order (rules `order`, `lookup`, `equalities`).
//!
//! ```text
//! Join(Project(Join(a, b)), c)  ─flatten─►  leaves a, b, c · conditions over the columns of all leaves · output
//!                               ─connect─►  a condition goes to its leaf, or to the first join that has all of its columns
//! ```
//!
//! G1. Columns of the graph are numbered through all leaves, in the order in which they were written.
//! G2. Equal columns form classes. In what has been joined the columns of a class are equal already, so one pair for each
//!     class is enough for a join; and what equals a constant makes the whole class equal it.
//!
//! Termination: the leaves are parts of the tree that is consumed, and each is handed on once (R3). What is put together is
//! not looked at again. Projections between joins are written into their readers only while the expressions stay within
//! [`FLAT_MAX`] parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_exec::functions::{ArgType, BuiltinFunction, operator_candidates};
use verso_exec::plan::{ExprKind as K, JoinKind, OutputColumn, Plan, SetCall, SortKey, TypedExpr};
use verso_types::{KeyType, SqlType};

use super::order::{self, First, Tree};
use super::push::{is_plain, keep, substitute};
use super::{Rewriter, nothing};
use crate::bind::{columns_of, exactly, map_columns, same};
use crate::errors::SqlError;
use verso_env::recursion::check;

/// So many parts an expression between two joins may have to be computed above the upper one.
const FLAT_MAX: usize = 16;

/// One input of a tree of inner joins.
#[derive(Clone)]
pub(super) struct Leaf {
    pub plan: Plan,
    /// Its columns within those of the graph.
    pub start: usize,
    pub width: usize,
    /// What is asked of its rows.
    own: Vec<TypedExpr>,
    /// Its plan has been rewritten where it comes from.
    pub(super) is_rewritten: bool,
}

/// Columns that are equal wherever all of their leaves are joined.
#[derive(Clone)]
pub(super) struct Class {
    /// Leaf and column of the graph.
    pub members: Vec<(usize, usize)>,
    /// The type in which they are compared.
    ty: SqlType,
}

/// A condition on several leaves.
#[derive(Clone)]
pub(super) struct Shared {
    /// Which, ascending.
    pub leaves: Vec<usize>,
    pub condition: TypedExpr,
}

/// A tree of inner joins, taken apart.
#[derive(Clone, Default)]
pub(super) struct Graph {
    pub leaves: Vec<Leaf>,
    pub classes: Vec<Class>,
    pub shared: Vec<Shared>,
    /// Types of the columns of all leaves.
    types: Vec<SqlType>,
    pub(super) conditions: Vec<TypedExpr>,
    /// Columns that were equal pairs already, and their type.
    equal: Vec<(usize, usize, SqlType)>,
    volatile: Vec<TypedExpr>,
    /// Conditions on one leaf, which is named, that run a query for each row.
    asking: Vec<(usize, TypedExpr)>,
}

/// What has been put together of a graph.
struct Part {
    plan: Plan,
    leaves: Vec<usize>,
    /// Columns of the graph in the order of the plan's.
    columns: Vec<usize>,
}

impl Rewriter<'_> {
    /// A tree of inner joins; `first` says how many of its rows are wanted, and in which order, where not all are.
    pub(super) fn inner(
        &mut self,
        plan: Plan,
        conditions: Vec<TypedExpr>,
        first: Option<(f64, Vec<SortKey>)>,
    ) -> Result<Plan, SqlError> {
        let output = plan.output();
        let mut graph = Graph::default();
        let columns = self.flatten(plan, &mut graph)?;
        let (volatile, conditions): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(TypedExpr::is_volatile);
        for condition in conditions {
            graph.conditions.push(substitute(condition, &columns));
        }
        graph.volatile.extend(volatile.into_iter().map(|condition| substitute(condition, &columns)));
        if graph.leaves.is_empty() {
            graph.leaf(Plan::Values { rows: vec![Vec::new()], columns: Vec::new() });
        }
        self.few_members(&mut graph);
        graph.sort(self.rules.equalities);
        graph.own_volatile();
        for leaf in &mut graph.leaves {
            let (plan, own) = (std::mem::replace(&mut leaf.plan, nothing()), std::mem::take(&mut leaf.own));
            leaf.plan = if leaf.is_rewritten { keep(plan, own) } else { self.push(plan, own)? };
        }
        let over = |key: SortKey| SortKey { expr: substitute(key.expr, &columns), ..key };
        let first = first.map(|(rows, keys)| First { rows, keys: keys.into_iter().map(over).collect() });
        let part = self.connect_all(&mut graph, first.as_ref())?;
        let mut place = vec![0; part.columns.len()];
        part.columns.iter().enumerate().for_each(|(at, column)| place[*column] = at);
        let here = |mut expr: TypedExpr| {
            map_columns(&mut expr, &mut |column| place[column]);
            expr
        };
        let volatile: Vec<TypedExpr> = std::mem::take(&mut graph.volatile).into_iter().map(here).collect();
        let exprs: Vec<TypedExpr> = columns.into_iter().map(here).collect();
        let plan = keep(part.plan, volatile);
        let same = exprs.len() == part.columns.len()
            && exprs.iter().enumerate().all(|(n, expr)| matches!(expr.kind, K::Column(at) if at == n));
        let alike = |ours: &OutputColumn, theirs: &OutputColumn| {
            ours.name == theirs.name && ours.collation == theirs.collation
        };
        if same && plan.output().iter().zip(&output).all(|(ours, theirs)| alike(ours, theirs)) {
            return Ok(plan);
        }
        let names = output.iter().map(|column| Arc::clone(&column.name)).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }

    /// Takes a tree apart; its columns over those of the graph.
    fn flatten(&mut self, mut plan: Plan, graph: &mut Graph) -> Result<Vec<TypedExpr>, SqlError> {
        check()?;
        if is_tree(&plan) {
            super::plain::conditions(&mut plan);
            self.expressions(&mut plan)?;
        }
        match plan {
            Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } => {
                let mut columns = self.flatten(*left, graph)?;
                let theirs = self.flatten(*right, graph)?;
                for (left, right) in equal {
                    graph.equal(
                        substitute(left, &columns),
                        substitute(right, &theirs),
                        self.rules.equalities,
                    );
                }
                columns.extend(theirs);
                for condition in filter.map(TypedExpr::conjuncts).unwrap_or_default() {
                    let volatile = condition.is_volatile();
                    let condition = substitute(condition, &columns);
                    if volatile { &mut graph.volatile } else { &mut graph.conditions }.push(condition);
                }
                Ok(columns)
            }
            Plan::Filter { input, predicate } if is_tree(&input) && !predicate.is_volatile() => {
                let columns = self.flatten(*input, graph)?;
                let conditions = predicate.conjuncts().into_iter();
                graph.conditions.extend(conditions.map(|condition| substitute(condition, &columns)));
                Ok(columns)
            }
            Plan::Project { input, exprs, names: _ } if is_tree(&input) && exprs.iter().all(is_light) => {
                let columns = self.flatten(*input, graph)?;
                Ok(exprs.into_iter().map(|expr| substitute(expr, &columns)).collect())
            }
            Plan::Shared { plan, fence: false, .. } if is_tree(&plan) && self.is_only_reader(&plan) => {
                self.flatten(Arc::unwrap_or_clone(plan), graph)
            }
            plan => Ok(row_of(&plan).unwrap_or_else(|| graph.leaf(plan))),
        }
    }

    /// Puts the graph together. Conditions that run a query for each row are asked where the fewest rows are expected: of their
    /// leaf's, or of all joined.
    fn connect_all(&mut self, graph: &mut Graph, first: Option<&First>) -> Result<Part, SqlError> {
        if graph.asking.is_empty() {
            return self.connect(graph, first);
        }
        let asking = std::mem::take(&mut graph.asking);
        let of_leaves = asking.iter().map(|(leaf, _)| self.estimate.rows(&graph.leaves[*leaf].plan));
        let least = of_leaves.fold(f64::INFINITY, f64::min);
        let mut part = self.connect(&mut graph.clone(), first)?;
        if self.estimate.rows(&part.plan) <= least {
            let above = asking.into_iter().map(|(_, mut condition)| {
                map_columns(&mut condition, &mut |column| {
                    part.columns.iter().position(|at| *at == column).unwrap_or(0)
                });
                condition
            });
            let above = above.collect();
            part.plan = keep(part.plan, above);
            return Ok(part);
        }
        for (leaf, mut condition) in asking {
            let Leaf { plan, start, .. } = &mut graph.leaves[leaf];
            map_columns(&mut condition, &mut |column| column - *start);
            *plan = match std::mem::replace(plan, nothing()) {
                Plan::TableScan { table, columns, filter } => {
                    let mut all = filter.map(TypedExpr::conjuncts).unwrap_or_default();
                    all.push(condition);
                    Plan::TableScan { table, columns, filter: TypedExpr::conjunction(all) }
                }
                plan => keep(plan, vec![condition]),
            };
        }
        self.connect(graph, first)
    }

    /// Puts the graph together.
    fn connect(&mut self, graph: &mut Graph, first: Option<&First>) -> Result<Part, SqlError> {
        if self.rules.order {
            let tree = order::choose(graph, self.estimate, self.rules.lookup, self.hints, first);
            return graph.built(tree);
        }
        let mut part = graph.part(0);
        for leaf in 1..graph.leaves.len() {
            let right = graph.part(leaf);
            part = graph.join(part, right);
        }
        Ok(part)
    }
}

/// Whether a plan is a tree of inner joins, below filters and projections that go with it.
fn is_tree(plan: &Plan) -> bool {
    match plan {
        Plan::Join { kind, .. } => *kind == JoinKind::Inner,
        Plan::Filter { input, predicate } => !predicate.is_volatile() && is_tree(input),
        Plan::Project { input, exprs, .. } => exprs.iter().all(is_light) && is_tree(input),
        _ => false,
    }
}

/// The columns of an input that is one row known before any table is read, and is cheaper to write into its readers than to join:
/// `FROM t, to_tsquery('a & b') q WHERE t.v @@ q` asks `t.v @@ to_tsquery('a & b')`, which indexes serve.
fn row_of(plan: &Plan) -> Option<Vec<TypedExpr>> {
    let exprs = match plan {
        Plan::FunctionScan { call: SetCall::Builtin { function, args }, columns } => {
            let [column] = columns.as_slice() else { return None };
            if function.returns_set() || matches!(column.ty, SqlType::Row(_) | SqlType::Record) {
                return None;
            }
            let call = K::Call { function, args: args.clone() };
            vec![TypedExpr::new(call, column.ty.clone())]
        }
        Plan::Project { input, exprs, .. } => match &**input {
            Plan::Values { rows, columns } if rows.len() == 1 && columns.is_empty() => exprs.clone(),
            _ => return None,
        },
        _ => return None,
    };
    exprs.iter().all(is_light).then_some(exprs)
}

/// Whether an expression grows by no more than its own size when it is written over others.
fn is_light(expr: &TypedExpr) -> bool {
    columns_of(expr).len() <= 1 && expr.size(FLAT_MAX + 1) <= FLAT_MAX && is_plain(expr)
}

impl Graph {
    /// A new leaf; its columns.
    pub(super) fn leaf(&mut self, plan: Plan) -> Vec<TypedExpr> {
        let start = self.types.len();
        self.types.extend(plan.output().into_iter().map(|column| column.ty));
        let width = self.types.len() - start;
        self.leaves.push(Leaf { plan, start, width, own: Vec::new(), is_rewritten: false });
        (start..start + width).map(|at| TypedExpr::column(at, self.types[at].clone())).collect()
    }

    /// Two expressions of one type that are equal and not NULL.
    pub(super) fn equal(&mut self, left: TypedExpr, right: TypedExpr, equalities: bool) {
        if let (K::Column(a), K::Column(b), true) = (&left.kind, &right.kind, equalities) {
            self.equal.push((*a, *b, left.ty));
            return;
        }
        // NULL equals nothing there, either.
        if let Some(function) = equality(&left.ty) {
            let kind = K::Call { function, args: vec![left, right] };
            self.conditions.push(TypedExpr::new(kind, SqlType::Bool));
            return;
        }
        let negated = true;
        self.conditions.push(TypedExpr::is_there(left.clone()));
        let kind = K::IsDistinct { left: Box::new(left), right: Box::new(right), negated };
        self.conditions.push(TypedExpr::new(kind, SqlType::Bool));
    }

    pub fn leaf_of(&self, column: usize) -> usize {
        self.leaves.partition_point(|leaf| leaf.start + leaf.width <= column)
    }

    /// Brings volatile conditions on one leaf there, as PostgreSQL does: they are asked of each of its rows, not of each pair.
    fn own_volatile(&mut self) {
        for condition in std::mem::take(&mut self.volatile) {
            let leaves: BTreeSet<usize> =
                columns_of(&condition).into_iter().map(|column| self.leaf_of(column)).collect();
            match leaves.first().filter(|_| leaves.len() == 1) {
                Some(leaf) => self.own(*leaf, condition),
                None => self.volatile.push(condition),
            }
        }
    }

    /// Brings the conditions to their leaves, into classes, and the others to those shared by several leaves.
    fn sort(&mut self, equalities: bool) {
        let mut constants = Vec::new();
        for (a, b, ty) in std::mem::take(&mut self.equal) {
            self.unite(a, b, ty);
        }
        let common: Vec<TypedExpr> = self.conditions.iter().flat_map(in_all_branches).collect();
        for condition in &self.conditions.clone() {
            self.own_branches(condition, &common);
        }
        self.conditions.extend(common);
        for condition in std::mem::take(&mut self.conditions) {
            let mut leaves: Vec<usize> =
                columns_of(&condition).into_iter().map(|column| self.leaf_of(column)).collect();
            leaves.sort_unstable();
            leaves.dedup();
            match leaves.as_slice() {
                [] => self.own(0, condition),
                [one] => {
                    if equalities && let Some(column) = equals_constant(&condition) {
                        constants.push((column, condition.clone()));
                    }
                    let asks = condition.any(&mut |part| matches!(part.kind, K::Subquery { .. }));
                    match asks && self.leaves.len() > 1 {
                        true => self.asking.push((*one, condition)),
                        false => self.own(*one, condition),
                    }
                }
                _ => match equal_columns(&condition) {
                    Some((a, b, ty)) if equalities => self.unite(a, b, ty),
                    _ => self.shared.push(Shared { leaves, condition }),
                },
            }
        }
        for class in 0..self.classes.len() {
            self.spread(class, &constants);
        }
    }

    /// What the branches of an OR over several leaves say of one of them: `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` says
    /// `a.x = 1 OR a.x = 3`, which drops rows before the join. `known` is said by itself.
    fn own_branches(&mut self, condition: &TypedExpr, known: &[TypedExpr]) {
        let K::Or(branches) = &condition.kind else { return };
        let leaves_of = |expr: &TypedExpr| {
            let mut leaves: Vec<usize> =
                columns_of(expr).into_iter().map(|column| self.leaf_of(column)).collect();
            leaves.sort_unstable();
            leaves.dedup();
            leaves
        };
        let leaves = leaves_of(condition);
        if leaves.len() < 2 {
            return;
        }
        let of_leaf = |leaf: usize| {
            let said = branches.iter().map(|branch| {
                let its = branch.clone().conjuncts().into_iter().filter(|part| {
                    is_plain(part)
                        && leaves_of(part) == [leaf]
                        && !known.iter().any(|known| same(part, known))
                });
                TypedExpr::conjunction(its.collect())
            });
            Some((leaf, TypedExpr::new(K::Or(said.collect::<Option<_>>()?), SqlType::Bool)))
        };
        let said: Vec<(usize, TypedExpr)> = leaves.into_iter().filter_map(of_leaf).collect();
        for (leaf, condition) in said {
            self.own(leaf, condition);
        }
    }

    fn own(&mut self, leaf: usize, mut condition: TypedExpr) {
        let start = self.leaves[leaf].start;
        map_columns(&mut condition, &mut |column| column - start);
        self.leaves[leaf].own.push(condition);
    }

    /// Columns `a` and `b` are equal.
    fn unite(&mut self, a: usize, b: usize, ty: SqlType) {
        let class_of = |classes: &[Class], column: usize| {
            classes
                .iter()
                .position(|class| class.ty == ty && class.members.iter().any(|(_, member)| *member == column))
        };
        let member = |column: usize| (self.leaf_of(column), column);
        match (class_of(&self.classes, a), class_of(&self.classes, b)) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                let mut other = self.classes.swap_remove(a.max(b));
                self.classes[a.min(b)].members.append(&mut other.members);
            }
            (Some(class), None) => {
                let member = member(b);
                self.classes[class].members.push(member);
            }
            (None, Some(class)) => {
                let member = member(a);
                self.classes[class].members.push(member);
            }
            (None, None) => self.classes.push(Class { members: vec![member(a), member(b)], ty }),
        }
    }

    /// What follows from a class for single leaves: two columns of one leaf are equal; a constant.
    fn spread(&mut self, class: usize, constants: &[(usize, TypedExpr)]) {
        let members = self.classes[class].members.clone();
        let ty = self.classes[class].ty.clone();
        for (n, (leaf, column)) in members.iter().enumerate() {
            if let Some((_, first)) = members[..n].iter().find(|(other, _)| other == leaf) {
                let one = |at: usize| Box::new(exactly(TypedExpr::column(at, self.types[at].clone()), &ty));
                let kind = K::IsDistinct { left: one(*first), right: one(*column), negated: true };
                let there = TypedExpr::is_there(*one(*first));
                self.own(*leaf, TypedExpr::new(kind, SqlType::Bool));
                self.own(*leaf, there);
            }
        }
        for (known, condition) in constants {
            if !members.iter().any(|(_, column)| column == known) {
                continue;
            }
            for (leaf, column) in &members {
                let told = constants.iter().any(|(other, _)| other == column);
                if !told && self.types[*column] == self.types[*known] {
                    let mut condition = condition.clone();
                    map_columns(&mut condition, &mut |_| *column);
                    self.own(*leaf, condition);
                }
            }
        }
    }

    /// Columns of a leaf, numbered as the graph's, that equal columns of the others.
    pub fn lookups(&self, leaf: usize, others: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let tied = self.classes.iter().filter(|class| {
            equality(&class.ty).is_some() && class.members.iter().any(|(other, _)| others(*other))
        });
        // An index by another type's keys finds nothing, but that integers and texts have one order each.
        let found_by = |column: usize, ty: &SqlType| {
            let own = &self.types[column];
            own.same_base(ty) || !matches!(own, SqlType::Char(_) | SqlType::Float4)
        };
        tied.filter_map(|class| {
            let (_, column) = class.members.iter().find(|(other, _)| *other == leaf)?;
            found_by(*column, &class.ty).then_some(*column)
        })
        .collect()
    }

    /// The joins of a tree.
    fn built(&mut self, tree: Tree) -> Result<Part, SqlError> {
        check()?;
        Ok(match tree {
            Tree::Leaf(leaf) => self.part(leaf),
            Tree::Hash(left, right) => {
                let (left, right) = (self.built(*left)?, self.built(*right)?);
                self.join(left, right)
            }
            Tree::Merge(left, right) => {
                let (left, right) = (self.built(*left)?, self.built(*right)?);
                sorted(self.join(left, right))
            }
            Tree::Lookup(left, leaf) => {
                let left = self.built(*left)?;
                let right = self.part(leaf);
                self.look_up(left, right)
            }
        })
    }

    /// The join that looks a leaf up for each row of the left part: what equals its columns is handed in.
    fn look_up(&mut self, left: Part, right: Part) -> Part {
        if !matches!(right.plan, Plan::TableScan { .. }) {
            return self.join(left, right);
        }
        let mut outer = Vec::new();
        let mut known = Vec::new();
        let mut rest = Vec::new();
        let joined = self.join(left, right);
        let Plan::Join { left, right, equal, filter, .. } = joined.plan else { return joined };
        let Plan::TableScan { table, columns, filter: own } = *right else {
            let plan = Plan::Join { left, right, kind: JoinKind::Inner, equal, filter };
            return Part { plan, ..joined };
        };
        let width = left.output().len();
        // What the leaf asks of a query around it is handed on (P5 of the plan).
        let mut conditions = own.map(TypedExpr::conjuncts).unwrap_or_default();
        conditions.iter_mut().for_each(|condition| hand_on(condition, &mut outer));
        for (ours, mut theirs) in equal {
            match equality(&ours.ty) {
                Some(function) => {
                    let handed = TypedExpr::new(K::Outer(outer.len()), ours.ty.clone());
                    outer.push(ours);
                    known.push(TypedExpr::new(
                        K::Call { function, args: vec![theirs, handed] },
                        SqlType::Bool,
                    ));
                }
                None => {
                    map_columns(&mut theirs, &mut |column| column + width);
                    rest.push(TypedExpr::is_there(ours.clone()));
                    let kind = K::IsDistinct { left: Box::new(ours), right: Box::new(theirs), negated: true };
                    rest.push(TypedExpr::new(kind, SqlType::Bool));
                }
            }
        }
        known.append(&mut conditions);
        rest.extend(filter.map(TypedExpr::conjuncts).unwrap_or_default());
        let right = Box::new(Plan::TableScan { table, columns, filter: TypedExpr::conjunction(known) });
        let filter = TypedExpr::conjunction(rest);
        let plan = Plan::Apply { left, right, outer, kind: JoinKind::Inner, filter, unread: Vec::new() };
        Part { plan, ..joined }
    }

    fn part(&mut self, leaf: usize) -> Part {
        let Leaf { plan, start, width, .. } = &mut self.leaves[leaf];
        let plan = std::mem::replace(plan, nothing());
        Part { plan, leaves: vec![leaf], columns: (*start..*start + *width).collect() }
    }

    /// The join of two parts, with all conditions that it has the columns for.
    fn join(&mut self, left: Part, right: Part) -> Part {
        let width = left.columns.len();
        let leaves = [left.leaves.as_slice(), &right.leaves].concat();
        let columns = [left.columns.as_slice(), &right.columns].concat();
        let mut equal = Vec::new();
        for class in &self.classes {
            let of = |part: &Part| {
                let (_, column) = class.members.iter().find(|(leaf, _)| part.leaves.contains(leaf))?;
                let at = part.columns.iter().position(|at| at == column)?;
                Some(exactly(TypedExpr::column(at, self.types[*column].clone()), &class.ty))
            };
            equal.extend(of(&left).zip(of(&right)));
        }
        let all = |shared: &Shared| shared.leaves.iter().all(|leaf| leaves.contains(leaf));
        let (here, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.shared).into_iter().partition(all);
        self.shared = later;
        let mut rest = Vec::new();
        for Shared { mut condition, .. } in here {
            map_columns(&mut condition, &mut |column| {
                columns.iter().position(|at| *at == column).unwrap_or(0)
            });
            match pair(condition, width) {
                Ok(pair) => equal.push(pair),
                Err(condition) => rest.push(condition),
            }
        }
        let plan = Plan::Join {
            left: Box::new(left.plan),
            right: Box::new(right.plan),
            kind: JoinKind::Inner,
            equal,
            filter: TypedExpr::conjunction(rest),
        };
        Part { plan, leaves, columns }
    }
}

/// A join as one of sorted inputs, where the keys of both have one order.
fn sorted(part: Part) -> Part {
    let Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } = part.plan else { return part };
    let alike = |(ours, theirs): &(TypedExpr, TypedExpr)| {
        let key = KeyType::of(&ours.ty);
        key.is_some() && key == KeyType::of(&theirs.ty)
    };
    if equal.is_empty() || !equal.iter().all(alike) {
        return Part { plan: Plan::Join { left, right, kind: JoinKind::Inner, equal, filter }, ..part };
    }
    let in_order = |input: Box<Plan>, keys: Vec<TypedExpr>| {
        let key = |expr| SortKey { expr, descending: false, nulls_first: false };
        Box::new(Plan::Sort { input, keys: keys.into_iter().map(key).collect(), sorted: 0 })
    };
    let (ours, theirs) = equal.iter().cloned().unzip();
    let (left, right) = (in_order(left, ours), in_order(right, theirs));
    Part { plan: Plan::MergeJoin { left, right, equal, filter }, ..part }
}

/// What each branch of an OR says: `(a AND b) OR (a AND c)` says `a`.
fn in_all_branches(condition: &TypedExpr) -> Vec<TypedExpr> {
    let K::Or(branches) = &condition.kind else { return Vec::new() };
    let parts = |branch: &TypedExpr| match &branch.kind {
        K::And(parts) => parts.clone(),
        _ => vec![branch.clone()],
    };
    let mut branches = branches.iter().map(parts);
    let mut common = branches.next().unwrap_or_default();
    for branch in branches {
        common.retain(|part| branch.iter().any(|other| same(part, other)));
    }
    common.retain(|part| !part.is_volatile());
    common
}

/// Hands values of a query around on to a plan that runs for each row.
fn hand_on(expr: &mut TypedExpr, outer: &mut Vec<TypedExpr>) {
    if let K::Outer(_) = expr.kind {
        let handed = TypedExpr::new(K::Outer(outer.len()), expr.ty.clone());
        outer.push(std::mem::replace(expr, handed));
        return;
    }
    expr.for_each_child_mut(&mut |child| hand_on(child, outer));
}

/// The function of `=` for two values of a type.
pub(crate) fn equality(ty: &SqlType) -> Option<&'static BuiltinFunction> {
    let wanted = if matches!(ty, SqlType::Varchar(_)) { &SqlType::Text } else { ty };
    let fits = |arg: &ArgType| matches!(arg, ArgType::Exact(exact) if exact.same_base(wanted));
    operator_candidates("=").iter().copied().find(|function| {
        function.comparison().is_some() && function.args.len() == 2 && function.args.iter().all(fits)
    })
}

pub(super) fn is_equality(condition: &TypedExpr) -> bool {
    matches!(&condition.kind, K::Call { function, args } if function.comparison() == Some("=") && args.len() == 2)
}

/// Two columns that a condition says are equal, and the type in which they are compared.
fn equal_columns(condition: &TypedExpr) -> Option<(usize, usize, SqlType)> {
    let K::Call { args, .. } = &condition.kind else { return None };
    match args.as_slice() {
        [TypedExpr { kind: K::Column(a), ty, .. }, TypedExpr { kind: K::Column(b), ty: other, .. }]
            if is_equality(condition) =>
        {
            key_type(ty, other).map(|ty| (*a, *b, ty))
        }
        _ => None,
    }
}

/// The column that a condition says equals something without columns, of the column's type.
fn equals_constant(condition: &TypedExpr) -> Option<usize> {
    let K::Call { args, .. } = &condition.kind else { return None };
    let [left, right] = args.as_slice() else { return None };
    if !is_equality(condition) || !left.ty.same_base(&right.ty) {
        return None;
    }
    match (&left.kind, &right.kind) {
        (K::Column(column), K::Literal(_) | K::Parameter(_) | K::Outer(_))
        | (K::Literal(_) | K::Parameter(_) | K::Outer(_), K::Column(column)) => Some(*column),
        _ => None,
    }
}

/// An equality between the left `width` columns and the others as a pair to hash by; else the condition again.
pub(super) fn pair(condition: TypedExpr, width: usize) -> Result<(TypedExpr, TypedExpr), TypedExpr> {
    if !is_equality(&condition) || condition.is_volatile() {
        return Err(condition);
    }
    let K::Call { args, .. } = &condition.kind else { return Err(condition) };
    let sides: Vec<Vec<usize>> = args.iter().map(columns_of).collect();
    let on_left = |used: &Vec<usize>| !used.is_empty() && used.iter().all(|column| *column < width);
    let on_right = |used: &Vec<usize>| !used.is_empty() && used.iter().all(|column| *column >= width);
    let (left, right) = if on_left(&sides[0]) && on_right(&sides[1]) {
        (0, 1)
    } else if on_left(&sides[1]) && on_right(&sides[0]) {
        (1, 0)
    } else {
        return Err(condition);
    };
    let Some(ty) = key_type(&args[0].ty, &args[1].ty) else { return Err(condition) };
    let (left, mut right) = (args[left].clone(), args[right].clone());
    map_columns(&mut right, &mut |column| column - width);
    Ok((exactly(left, &ty), exactly(right, &ty)))
}

/// The type in which equal values of both have equal keys.
pub(super) fn key_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    if a == b {
        return Some(a.clone());
    }
    if a.same_base(b) && !matches!(a, SqlType::Char(_)) {
        return Some(a.without_modifiers());
    }
    if a.is_integer() && b.is_integer() {
        return Some(SqlType::Int8);
    }
    // A float4 is a float8, and compared with one as such.
    let float = |ty: &SqlType| matches!(ty, SqlType::Float4 | SqlType::Float8);
    if float(a) && float(b) {
        return Some(SqlType::Float8);
    }
    // As a text a char has no blanks at its end, which do not count: those of lengths that differ, and what became one.
    let padded = |ty: &SqlType| matches!(ty, SqlType::Char(_));
    let varying = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_));
    (varying(a) && varying(b) || padded(a) && padded(b)).then_some(SqlType::Text)
}
