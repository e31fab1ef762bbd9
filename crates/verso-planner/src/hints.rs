//! Hints: what a comment behind SELECT asks of the plan.
//!
//! ```text
//! /*+ Leading(a b) HashJoin(a b) IndexScan(a a_x) */ ─read─► hints with the names of FROM ─► order of joins, access paths
//!                                                                                       └► those not followed: notices
//! ```
//!
//! H1. A hint chooses among plans with the same answer. One that nothing fits is told to the client, and planning goes on.
//! H2. Names are those of FROM, aliases included. A table that stands there several times is told apart by its alias within
//!     joins, and not for scans: a hint for one is a hint for all.
//!
//! H3. `Leading` may be a tree of pairs: each pair is joined by itself, the first outside, the second inside.
//!
//! Names and meanings are those of pg_hint_plan, Oracle (`USE_HASH`, `USE_NL`, `FULL`, `INDEX`) and Informix (`ORDERED`,
//! `AVOID_INDEX`).

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use verso_exec::plan::Plan;

/// The hints of a statement.
#[derive(Debug, Default)]
pub struct Hints {
    sets: RefCell<Vec<Set>>,
}

/// The hints of one SELECT.
#[derive(Debug)]
struct Set {
    /// Names in FROM and the tables that they are.
    tables: Vec<(Arc<str>, u32)>,
    hints: Vec<Hint>,
}

#[derive(Debug)]
struct Hint {
    text: String,
    kind: Kind,
    followed: Cell<bool>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// These first, in this order.
    Leading(Order),
    /// All tables as they stand in FROM.
    Ordered,
    /// The join of just these, or (`each`) of one of these with what is joined before it, is done so, or (`not`) otherwise.
    Join { method: JoinMethod, each: bool, not: bool, tables: Vec<String> },
    /// How a table is read.
    Scan { table: String, index: bool, indexes: Vec<String> },
    /// These indexes are not used.
    Avoid { table: String, indexes: Vec<String> },
    /// How many rows the join of these has.
    Rows { tables: Vec<String>, change: Change },
    /// Why it cannot be followed.
    Never(&'static str),
}

/// In which order tables are joined.
#[derive(Clone, Debug, PartialEq)]
enum Order {
    Table(String),
    /// Two parts, of which (`written`) the first is the outer one.
    Pair {
        parts: Box<[Order; 2]>,
        written: bool,
    },
}

/// Leaves that are joined with each other before any other one, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub all: u32,
    /// The outer part of the last join, where that was said.
    pub outer: Option<u32>,
}

/// What the hints say about one graph of joins, by the numbers of its leaves.
#[derive(Debug, Default)]
pub(crate) struct JoinHints {
    /// The leaves to be joined first, from small groups to that of all.
    pub leading: Vec<Group>,
    /// How one of these leaves is joined, or just these.
    pub methods: Vec<Method>,
    /// What the estimate of rows becomes.
    pub rows: Vec<RowsOf>,
    /// Leaves that are read as a whole.
    pub whole: Vec<usize>,
    /// The set, and the numbers in it of those that say which are joined first.
    set: usize,
    numbers: Vec<usize>,
}

/// How many rows the join of some leaves is taken to have.
#[derive(Debug)]
pub(crate) struct RowsOf {
    pub leaves: Vec<usize>,
    change: Change,
    /// Some order has this join, of leaves that conditions tie to each other.
    used: Cell<bool>,
    number: usize,
}

impl RowsOf {
    /// What becomes of the estimate.
    pub(crate) fn of(&self, estimate: f64) -> f64 {
        self.change.of(estimate)
    }

    /// An order with the join of a set of leaves was looked at.
    pub(crate) fn looked_at(&self, set: u32) {
        let all = self.leaves.iter().try_fold(0, |all, leaf| Some(all | 1u32.checked_shl(*leaf as u32)?));
        if all == Some(set) {
            self.used.set(true);
        }
    }
}

/// What a hint makes of an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    To(f64),
    Plus(f64),
    Minus(f64),
    Times(f64),
}

impl Change {
    /// As `#10`, `+10`, `-10`, `*10` say it.
    fn read(text: &str) -> Option<Change> {
        let mut characters = text.chars();
        let kind = characters.next()?;
        let number = characters.as_str().parse().ok().filter(|number: &f64| number.is_finite())?;
        Some(match kind {
            '#' => Change::To(number),
            '+' => Change::Plus(number),
            '-' => Change::Minus(number),
            '*' => Change::Times(number),
            _ => return None,
        })
    }

    fn of(self, estimate: f64) -> f64 {
        let changed = match self {
            Change::To(number) => number,
            Change::Plus(number) => estimate + number,
            Change::Minus(number) => estimate - number,
            Change::Times(number) => estimate * number,
        };
        changed.max(1.0)
    }
}

/// How two inputs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinMethod {
    /// The right one is hashed.
    Hash,
    /// Partners are looked up, or all of them tried, for each left row.
    Loop,
    /// Both are sorted.
    Merge,
}

/// How some leaves are joined.
#[derive(Debug)]
pub(crate) struct Method {
    pub method: JoinMethod,
    pub each: bool,
    /// Any other method.
    pub not: bool,
    pub leaves: Vec<usize>,
    number: usize,
}

impl Hints {
    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.sets.borrow().is_empty()
    }

    /// Takes the hints of a SELECT over these tables.
    pub(crate) fn add(&self, texts: &[&str], tables: Vec<(Arc<str>, u32)>) {
        let hints = texts.iter().flat_map(|text| read(text));
        let hints: Vec<Hint> =
            hints.map(|(text, kind)| Hint { text, kind, followed: Cell::new(false) }).collect();
        if !hints.is_empty() {
            self.sets.borrow_mut().push(Set { tables, hints });
        }
    }

    /// The hints that were not followed, and why.
    pub(crate) fn told(&self) -> Vec<String> {
        let sets = self.sets.borrow();
        let left = sets.iter().flat_map(|set| &set.hints).filter(|hint| !hint.followed.get());
        left.map(|hint| {
            let why = match hint.kind {
                Kind::Never(why) => why,
                _ => "no plan of this statement fits it",
            };
            format!("hint \"{}\" is not followed: {why}", hint.text)
        })
        .collect()
    }

    /// What is asked of the joins of these leaves.
    pub(crate) fn of_joins(&self, leaves: &[&Plan]) -> JoinHints {
        let sets = self.sets.borrow();
        for (number, set) in sets.iter().enumerate() {
            let mut used = vec![false; leaves.len()];
            let mut leaf_of: Vec<(&str, usize)> = Vec::new();
            for (name, oid) in &set.tables {
                let at = (0..leaves.len()).find(|at| !used[*at] && base(leaves[*at]) == Some(*oid));
                let Some(at) = at else { continue };
                used[at] = true;
                leaf_of.push((name, at));
            }
            // The graph of another SELECT.
            if leaf_of.len() < 2 || leaf_of.len() != set.tables.len() {
                continue;
            }
            return set.of_joins(number, &leaf_of);
        }
        JoinHints::default()
    }

    /// What the estimate of a join becomes, if a hint is about just the tables that it joins.
    pub(crate) fn rows(&self, join: &Plan, estimate: f64) -> Option<f64> {
        let sets = self.sets.borrow();
        let asks = |hint: &Hint| matches!(hint.kind, Kind::Rows { .. });
        if !sets.iter().flat_map(|set| &set.hints).any(asks) {
            return None;
        }
        let mut joined = Vec::new();
        joined_by(join, &mut joined)?;
        joined.sort_unstable();
        for set in sets.iter() {
            let known = |name: &String| set.tables.iter().find(|(known, _)| **known == **name);
            for hint in &set.hints {
                let Kind::Rows { tables, change } = &hint.kind else { continue };
                let asked = tables.iter().map(|name| known(name).map(|(name, oid)| (&**name, *oid)));
                let Some(mut asked) = asked.collect::<Option<Vec<(&str, u32)>>>() else { continue };
                asked.sort_unstable();
                if asked == joined {
                    hint.followed.set(true);
                    return Some(change.of(estimate));
                }
            }
        }
        None
    }

    /// One of the hints for joins was followed.
    pub(crate) fn follow_leading(&self, hints: &JoinHints) {
        let sets = self.sets.borrow();
        let Some(set) = sets.get(hints.set) else { return };
        let rows = hints.rows.iter().filter(|rows| rows.used.get()).map(|rows| &rows.number);
        hints.numbers.iter().chain(rows).for_each(|number| set.hints[*number].followed.set(true));
    }

    /// A method was followed.
    pub(crate) fn follow_method(&self, hints: &JoinHints, method: &Method) {
        if let Some(set) = self.sets.borrow().get(hints.set) {
            set.hints[method.number].followed.set(true);
        }
    }

    /// Whether an index of a table may be used; none where the hints do not say.
    pub(crate) fn index(&self, table: u32, index: &str) -> Option<bool> {
        let mut says = None;
        self.each_scan(table, |hint| match &hint.kind {
            Kind::Scan { index: false, .. } => says = Some(false),
            Kind::Scan { index: true, indexes, .. } => {
                let named = indexes.is_empty() || indexes.iter().any(|name| name == index);
                says = Some(says.unwrap_or(false) || named);
            }
            Kind::Avoid { indexes, .. } if indexes.is_empty() || indexes.iter().any(|name| name == index) => {
                says = Some(false);
            }
            _ => {}
        });
        says
    }

    /// A table is read by this index, or as a whole.
    pub(crate) fn follow_scan(&self, table: u32, index: Option<&str>) {
        self.each_scan(table, |hint| {
            let followed = match (&hint.kind, index) {
                (Kind::Scan { index: false, .. }, None) => true,
                (Kind::Scan { index: true, indexes, .. }, Some(used)) => {
                    indexes.is_empty() || indexes.iter().any(|name| name == used)
                }
                (Kind::Avoid { indexes, .. }, used) => {
                    used.is_none_or(|used| !indexes.is_empty() && !indexes.iter().any(|name| name == used))
                }
                _ => false,
            };
            if followed {
                hint.followed.set(true);
            }
        });
    }

    fn each_scan(&self, table: u32, mut visit: impl FnMut(&Hint)) {
        for set in self.sets.borrow().iter() {
            for hint in &set.hints {
                let (Kind::Scan { table: name, .. } | Kind::Avoid { table: name, .. }) = &hint.kind else {
                    continue;
                };
                if set.tables.iter().any(|(known, oid)| **known == **name && *oid == table) {
                    visit(hint);
                }
            }
        }
    }
}

impl Set {
    fn of_joins(&self, set: usize, leaf_of: &[(&str, usize)]) -> JoinHints {
        let leaves = |names: &[String]| {
            let leaf = |name: &String| leaf_of.iter().find(|(known, _)| known == name).map(|(_, at)| *at);
            names.iter().map(leaf).collect::<Option<Vec<usize>>>()
        };
        let mut found = JoinHints { set, ..JoinHints::default() };
        for (number, hint) in self.hints.iter().enumerate() {
            match &hint.kind {
                Kind::Ordered => {
                    let tables = leaf_of.iter().map(|(name, _)| Order::Table((*name).to_string()));
                    if let Some(order) = in_turn(tables.collect(), false) {
                        found.leading.clear();
                        group(&order, &leaves, &mut found.leading);
                        found.numbers.push(number);
                    }
                }
                Kind::Leading(order) => {
                    let mut groups = Vec::new();
                    if group(order, &leaves, &mut groups).is_some() {
                        found.leading = groups;
                        found.numbers.push(number);
                    }
                }
                Kind::Join { method, each, not, tables } => {
                    if let Some(leaves) = leaves(tables) {
                        found.methods.push(Method {
                            method: *method,
                            each: *each,
                            not: *not,
                            leaves,
                            number,
                        });
                    }
                }
                Kind::Rows { tables, change } => {
                    let rows = |leaves| RowsOf { leaves, change: *change, used: Cell::new(false), number };
                    found.rows.extend(leaves(tables).map(rows));
                }
                Kind::Scan { table, index: false, .. } => {
                    found.whole.extend(leaves(std::slice::from_ref(table)).unwrap_or_default());
                }
                Kind::Scan { .. } | Kind::Avoid { .. } | Kind::Never(_) => {}
            }
        }
        found
    }
}

/// Adds the groups of leaves that an order makes, small ones first; all of its leaves. None where a table is not among them.
fn group(
    order: &Order,
    leaves: &impl Fn(&[String]) -> Option<Vec<usize>>,
    groups: &mut Vec<Group>,
) -> Option<u32> {
    verso_env::stack::check().ok()?;
    match order {
        Order::Table(name) => {
            let leaf = *leaves(std::slice::from_ref(name))?.first()?;
            1u32.checked_shl(leaf.try_into().ok()?)
        }
        Order::Pair { parts, written } => {
            let outer = group(&parts[0], leaves, groups)?;
            let inner = group(&parts[1], leaves, groups)?;
            groups.push(Group { all: outer | inner, outer: written.then_some(outer) });
            Some(outer | inner)
        }
    }
}

/// Each of some parts joined with those before it. Two that were written as a pair say which one is the outer one.
fn in_turn(parts: Vec<Order>, written: bool) -> Option<Order> {
    let written = written && parts.len() == 2;
    parts.into_iter().reduce(|before, next| Order::Pair { parts: Box::new([before, next]), written })
}

/// The table that a leaf reads.
fn base(plan: &Plan) -> Option<u32> {
    match plan {
        Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } => Some(table.oid.0),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => base(input),
        _ => None,
    }
}

/// The tables that a join joins, by the names that the statement gives them; none where something else is among its inputs.
fn joined_by<'p>(plan: &'p Plan, found: &mut Vec<(&'p str, u32)>) -> Option<()> {
    verso_env::stack::check().ok()?;
    match plan {
        Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } => {
            found.push((table.called(), table.oid.0));
            Some(())
        }
        Plan::Filter { input, .. }
        | Plan::Project { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Estimated { input, .. } => joined_by(input, found),
        Plan::Join { left, right, .. }
        | Plan::MergeJoin { left, right, .. }
        | Plan::Apply { left, right, .. }
        | Plan::Semi { left, right, .. } => {
            joined_by(left, found)?;
            joined_by(right, found)
        }
        _ => None,
    }
}

/// The hints in a text: names with arguments in parentheses, some without.
fn read(text: &str) -> Vec<(String, Kind)> {
    let mut hints = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ',').unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        let (mut args, mut inside) = (Vec::new(), "");
        let mut shown = name.to_string();
        rest = behind;
        if behind.starts_with('(') {
            let mut depth = 0usize;
            let close = behind.char_indices().find(|(_, c)| {
                match c {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let close = close.map_or(behind.len(), |(at, _)| at + 1);
            shown.push_str(&behind[..close]);
            inside = &behind[..close];
            let words = behind[..close].split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ','));
            args.extend(words.filter(|word| !word.is_empty()).map(folded));
            rest = &behind[close..];
        }
        if name.is_empty() && args.is_empty() {
            // A comma, or something that is no name.
            let skip = rest.chars().next().map_or(0, char::len_utf8);
            rest = rest[skip..].trim_start();
            continue;
        }
        hints.push((shown, kind(name, args, inside)));
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }
    hints
}

fn folded(name: &str) -> String {
    match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => name.to_lowercase(),
    }
}

/// The tables within parentheses, perhaps pairs in parentheses themselves.
fn order(inside: &str) -> Option<Order> {
    let mut open: Vec<Vec<Order>> = Vec::new();
    let mut rest = inside;
    let mut done = None;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '(' => open.push(Vec::new()),
            ')' => {
                let parts = open.pop()?;
                // Around a single pair parentheses say nothing more; a list of the hint itself has no directions.
                let part = in_turn(parts, !open.is_empty())?;
                match open.last_mut() {
                    Some(around) => around.push(part),
                    None => done = Some(part),
                }
            }
            _ if first == ',' || first.is_whitespace() => {}
            _ => {
                let end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',');
                length = rest.find(end).unwrap_or(rest.len());
                open.last_mut()?.push(Order::Table(folded(&rest[..length])));
            }
        }
        rest = &rest[length..];
    }
    // A list that is not closed ends with the comment.
    while let Some(parts) = open.pop() {
        let part = in_turn(parts, !open.is_empty())?;
        match open.last_mut() {
            Some(around) => around.push(part),
            None => done = Some(part),
        }
    }
    done
}

fn kind(name: &str, mut args: Vec<String>, inside: &str) -> Kind {
    const SETTINGS: &str = "SET LOCAL says it for a transaction";
    let join = |method, each, not, tables| Kind::Join { method, each, not, tables };
    let arity = Kind::Never("it has other arguments");
    match (name.to_lowercase().as_str(), args.len()) {
        ("ordered", 0) => Kind::Ordered,
        ("leading", 2..) => order(inside).map_or(arity, Kind::Leading),
        ("hashjoin", 2..) => join(JoinMethod::Hash, false, false, args),
        ("nestloop", 2..) => join(JoinMethod::Loop, false, false, args),
        ("mergejoin", 2..) => join(JoinMethod::Merge, false, false, args),
        ("nohashjoin", 2..) => join(JoinMethod::Hash, false, true, args),
        ("nonestloop", 2..) => join(JoinMethod::Loop, false, true, args),
        ("nomergejoin", 2..) => join(JoinMethod::Merge, false, true, args),
        ("use_hash", 1..) => join(JoinMethod::Hash, true, false, args),
        ("use_nl", 1..) => join(JoinMethod::Loop, true, false, args),
        ("use_merge", 1..) => join(JoinMethod::Merge, true, false, args),
        ("no_use_hash", 1..) => join(JoinMethod::Hash, true, true, args),
        ("no_use_nl", 1..) => join(JoinMethod::Loop, true, true, args),
        ("no_use_merge", 1..) => join(JoinMethod::Merge, true, true, args),
        ("seqscan" | "full" | "noindexscan", 1) => {
            Kind::Scan { table: args.remove(0), index: false, indexes: Vec::new() }
        }
        ("noseqscan", 1) => Kind::Scan { table: args.remove(0), index: true, indexes: Vec::new() },
        ("indexscan" | "indexonlyscan" | "index", 1..) => {
            Kind::Scan { table: args.remove(0), index: true, indexes: args }
        }
        ("avoid_index" | "no_index", 1..) => Kind::Avoid { table: args.remove(0), indexes: args },
        ("rows", 3..) => {
            let change = args.pop().and_then(|said| Change::read(&said));
            change.map_or(arity, |change| Kind::Rows { tables: args, change })
        }
        (
            "ordered" | "leading" | "hashjoin" | "nestloop" | "mergejoin" | "nohashjoin" | "nonestloop"
            | "nomergejoin" | "use_hash" | "use_nl" | "use_merge" | "no_use_hash" | "no_use_nl"
            | "no_use_merge" | "seqscan" | "noseqscan" | "full" | "noindexscan" | "indexscan"
            | "indexonlyscan" | "index" | "avoid_index" | "no_index" | "rows",
            _,
        ) => arity,
        ("set" | "parallel", _) => Kind::Never(SETTINGS),
        _ => Kind::Never("it is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_read_whatever_stands_between_them() {
        let join = |method, each, tables: &[&str]| Kind::Join {
            method,
            each,
            not: false,
            tables: tables.iter().map(ToString::to_string).collect(),
        };
        let pair = |a: Order, b: Order, written| Order::Pair { parts: Box::new([a, b]), written };
        let table = |name: &str| Order::Table(name.to_string());
        let found: Vec<Kind> = read("Leading((A \"B\") c), hashjoin(a b)\n USE_NL(c)ORDERED")
            .into_iter()
            .map(|hint| hint.1)
            .collect();
        assert_eq!(
            found,
            [
                Kind::Leading(pair(pair(table("a"), table("B"), true), table("c"), false)),
                join(JoinMethod::Hash, false, &["a", "b"]),
                join(JoinMethod::Loop, true, &["c"]),
                Kind::Ordered
            ]
        );
        for (text, why) in [
            ("MergeJoin(a)", "it has other arguments"),
            ("Nosuch", "it is not known"),
            ("Leading(a)", "it has other arguments"),
            ("Rows(a b ten)", "it has other arguments"),
            ("Rows(a b #)", "it has other arguments"),
            ("Rows(a #3)", "it has other arguments"),
            ("Leading(a b", ""),
        ] {
            let found = read(text);
            assert_eq!(found.len(), 1, "{text}");
            if !why.is_empty() {
                assert_eq!(found[0], (text.to_string(), Kind::Never(why)));
            }
        }
        let nested = pair(table("c"), pair(table("s"), table("p"), true), true);
        assert_eq!(read("Leading((c (s p)))")[0].1, Kind::Leading(nested));
        let listed = pair(pair(table("a"), table("b"), false), table("c"), false);
        assert_eq!(read("Leading(a, b c)")[0].1, Kind::Leading(listed));
        assert_eq!(read("Leading(a b) c) Ordered").len(), 3);
        assert!(read(" , ").is_empty());
        assert_eq!(read(")(").len(), 1);
    }
}
