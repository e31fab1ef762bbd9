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
    Leading(Vec<String>),
    /// All tables as they stand in FROM.
    Ordered,
    /// The join of just these, or (`each`) of one of these with what is joined before it.
    Join { method: JoinMethod, each: bool, tables: Vec<String> },
    /// How a table is read.
    Scan { table: String, index: bool, indexes: Vec<String> },
    /// These indexes are not used.
    Avoid { table: String, indexes: Vec<String> },
    /// How many rows the join of these has.
    Rows { tables: Vec<String>, change: char, number: f64 },
    /// Why it cannot be followed.
    Never(&'static str),
}

/// What the hints say about one graph of joins, by the numbers of its leaves.
#[derive(Debug, Default)]
pub(crate) struct JoinHints {
    /// The leaves to be joined first.
    pub leading: Vec<usize>,
    /// How one of these leaves is joined, or just these.
    pub methods: Vec<Method>,
    /// What the estimate of rows becomes.
    pub rows: Vec<(Vec<usize>, char, f64)>,
    /// Leaves that are read as a whole.
    pub whole: Vec<usize>,
    /// The set, and the numbers in it of those above in their order: leading, methods, rows.
    set: usize,
    numbers: Vec<usize>,
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

    /// One of the hints for joins was followed.
    pub(crate) fn follow_leading(&self, hints: &JoinHints) {
        let sets = self.sets.borrow();
        let Some(set) = sets.get(hints.set) else { return };
        hints.numbers.iter().for_each(|number| set.hints[*number].followed.set(true));
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
                    found.leading = leaf_of.iter().map(|(_, at)| *at).collect();
                    found.numbers.push(number);
                }
                Kind::Leading(names) => {
                    if let Some(order) = leaves(names) {
                        found.leading = order;
                        found.numbers.push(number);
                    }
                }
                Kind::Join { method, each, tables } => {
                    if let Some(leaves) = leaves(tables) {
                        found.methods.push(Method { method: *method, each: *each, leaves, number });
                    }
                }
                Kind::Rows { tables, change, number: rows } => {
                    if let Some(leaves) = leaves(tables) {
                        found.rows.push((leaves, *change, *rows));
                        found.numbers.push(number);
                    }
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

/// The table that a leaf reads.
fn base(plan: &Plan) -> Option<u32> {
    match plan {
        Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } => Some(table.oid.0),
        Plan::Filter { input, .. } | Plan::Project { input, .. } => base(input),
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
        let mut args = Vec::new();
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
            // Pairs in parentheses say the same as the list that they make.
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
        hints.push((shown, kind(name, args)));
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

fn kind(name: &str, mut args: Vec<String>) -> Kind {
    let arity = Kind::Never("it has other arguments");
    match (name.to_lowercase().as_str(), args.len()) {
        ("ordered", 0) => Kind::Ordered,
        ("leading", 2..) => Kind::Leading(args),
        ("hashjoin", 2..) => Kind::Join { method: JoinMethod::Hash, each: false, tables: args },
        ("nestloop", 2..) => Kind::Join { method: JoinMethod::Loop, each: false, tables: args },
        ("mergejoin", 2..) => Kind::Join { method: JoinMethod::Merge, each: false, tables: args },
        ("use_hash", 1..) => Kind::Join { method: JoinMethod::Hash, each: true, tables: args },
        ("use_nl", 1..) => Kind::Join { method: JoinMethod::Loop, each: true, tables: args },
        ("use_merge", 1..) => Kind::Join { method: JoinMethod::Merge, each: true, tables: args },
        ("seqscan" | "full" | "noindexscan", 1) => {
            Kind::Scan { table: args.remove(0), index: false, indexes: Vec::new() }
        }
        ("indexscan" | "index", 1..) => Kind::Scan { table: args.remove(0), index: true, indexes: args },
        ("avoid_index" | "no_index", 1..) => Kind::Avoid { table: args.remove(0), indexes: args },
        ("rows", 3..) => {
            let number = args.pop().unwrap_or_default();
            let mut characters = number.chars();
            let change = characters.next().unwrap_or(' ');
            match characters.as_str().parse() {
                Ok(number) if "#+-*".contains(change) => Kind::Rows { tables: args, change, number },
                _ => arity,
            }
        }
        (
            "ordered" | "leading" | "hashjoin" | "nestloop" | "mergejoin" | "use_hash" | "use_nl"
            | "use_merge" | "seqscan" | "full" | "noindexscan" | "indexscan" | "index" | "avoid_index"
            | "no_index" | "rows",
            _,
        ) => arity,
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
            tables: tables.iter().map(ToString::to_string).collect(),
        };
        let found: Vec<Kind> = read("Leading((A \"B\") c), hashjoin(a b)\n USE_NL(c)ORDERED")
            .into_iter()
            .map(|hint| hint.1)
            .collect();
        assert_eq!(
            found,
            [
                Kind::Leading(vec!["a".into(), "B".into(), "c".into()]),
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
            ("Leading(a b", ""),
        ] {
            let found = read(text);
            assert_eq!(found.len(), 1, "{text}");
            if !why.is_empty() {
                assert_eq!(found[0], (text.to_string(), Kind::Never(why)));
            }
        }
        assert!(read(" , ").is_empty());
        assert_eq!(read(")(").len(), 1);
    }
}
