//! Checks histories of transactions on lists that are only appended to, after Adya (1999) and Elle (Kingsbury and
//! Alvaro 2020): a list shows the order of its writers, so who depends on whom can be read off the results.
//!
//! ```text
//! ww  A appended to a list right before B       wr  B read the list as A left it
//! rw  A read the list as it was before B appended
//! ```
//!
//! H1. Every value is appended once in a history. H2. A cycle of ww is G0, with wr G1c, with one rw G-single, with more
//! G2; a read of what was rolled back is G1a, one of a value that its writer appended to afterwards G1b.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One operation of a transaction, with what it returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Appended `value` to the list `key`.
    Append {
        /// The list.
        key: u64,
        /// The value, unlike any other.
        value: u64,
    },
    /// Read the whole list `key`.
    Read {
        /// The list.
        key: u64,
        /// What it held.
        values: Vec<u64>,
    },
}

/// A transaction that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// In their order.
    pub ops: Vec<Op>,
    /// Whether it committed; if not, nobody may see anything of it.
    pub committed: bool,
}

/// What a history shows that some level refuses; transactions by their place in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// Two reads of a list are no prefixes of one another, or a value stands twice.
    Incompatible(u64),
    /// A transaction does not see its own appends at the end of a list it has read.
    OwnLost(usize),
    /// A committed append that is in no later list: an update was lost.
    Lost(usize, u64),
    /// Read of a value that was rolled back.
    G1a(usize),
    /// Read of a value that its writer went on from.
    G1b(usize),
    /// A cycle of overwrites.
    G0(Vec<usize>),
    /// A cycle of overwrites and reads.
    G1c(Vec<usize>),
    /// A cycle with one anti-dependency.
    GSingle(Vec<usize>),
    /// A cycle with several.
    G2(Vec<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Ww,
    Wr,
    Rw,
}

/// Everything that is wrong with the history; `lists` are the lists at its end.
pub fn check(history: &[Executed], lists: &BTreeMap<u64, Vec<u64>>) -> Vec<Anomaly> {
    let mut found = Vec::new();
    let mut writers: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for (at, txn) in history.iter().enumerate() {
        for op in &txn.ops {
            if let Op::Append { key, value } = op {
                let before = writers.insert((*key, *value), at);
                assert!(before.is_none(), "value {value} was appended twice (H1)");
            }
        }
    }
    let mut edges: BTreeMap<usize, BTreeSet<(Edge, usize)>> = BTreeMap::new();
    for (key, list) in lists {
        let distinct: BTreeSet<&u64> = list.iter().collect();
        if distinct.len() != list.len() {
            found.push(Anomaly::Incompatible(*key));
        }
        let owners: Vec<Option<usize>> =
            list.iter().map(|value| writers.get(&(*key, *value)).copied()).collect();
        for pair in owners.windows(2) {
            if let [Some(a), Some(b)] = pair
                && a != b
            {
                edges.entry(*a).or_default().insert((Edge::Ww, *b));
            }
        }
        for (at, txn) in history.iter().enumerate().filter(|(_, txn)| txn.committed) {
            let mut own: Vec<u64> = Vec::new();
            for op in &txn.ops {
                match op {
                    Op::Append { key: its, value } if its == key => {
                        if !list.contains(value) {
                            found.push(Anomaly::Lost(at, *value));
                        }
                        own.push(*value);
                    }
                    Op::Read { key: its, values } if its == key => {
                        read(history, &writers, *key, list, at, values, &own, &mut edges, &mut found);
                    }
                    _ => {}
                }
            }
        }
    }
    cycles(&edges, &mut found);
    found
}

#[allow(clippy::too_many_arguments, reason = "one read in all of its surroundings")]
fn read(
    history: &[Executed],
    writers: &BTreeMap<(u64, u64), usize>,
    key: u64,
    list: &[u64],
    at: usize,
    values: &[u64],
    own: &[u64],
    edges: &mut BTreeMap<usize, BTreeSet<(Edge, usize)>>,
    found: &mut Vec<Anomaly>,
) {
    if !values.ends_with(own) {
        found.push(Anomaly::OwnLost(at));
        return;
    }
    let others = &values[..values.len() - own.len()];
    let aborted = |value: &u64| writers.get(&(key, *value)).is_none_or(|writer| !history[*writer].committed);
    if others.iter().any(aborted) {
        found.push(Anomaly::G1a(at));
        return;
    }
    if !list.starts_with(others) {
        found.push(Anomaly::Incompatible(key));
        return;
    }
    if let Some(last) = others.last() {
        let writer = writers[&(key, *last)];
        let goes_on = list.get(others.len()).is_some_and(|next| writers.get(&(key, *next)) == Some(&writer));
        if goes_on && writer != at {
            found.push(Anomaly::G1b(at));
        } else if writer != at {
            edges.entry(writer).or_default().insert((Edge::Wr, at));
        }
    }
    // Who came next, other than this transaction itself.
    let next = list[others.len()..].iter().filter_map(|value| writers.get(&(key, *value)));
    if let Some(next) = next.copied().find(|next| *next != at)
        && (own.is_empty() || list.get(others.len()) != own.first())
    {
        edges.entry(at).or_default().insert((Edge::Rw, next));
    }
}

/// The shortest way along `kinds` of edges.
fn way(
    edges: &BTreeMap<usize, BTreeSet<(Edge, usize)>>,
    kinds: &[Edge],
    from: usize,
    to: usize,
) -> Option<Vec<usize>> {
    let mut before = BTreeMap::from([(from, from)]);
    let mut open = VecDeque::from([from]);
    while let Some(at) = open.pop_front() {
        if at == to {
            let mut way = vec![to];
            while way[way.len() - 1] != from {
                way.push(before[&way[way.len() - 1]]);
            }
            way.reverse();
            return Some(way);
        }
        for (kind, next) in edges.get(&at).into_iter().flatten() {
            if kinds.contains(kind) && !before.contains_key(next) {
                before.insert(*next, at);
                open.push_back(*next);
            }
        }
    }
    None
}

/// One cycle of each kind, if there is one.
fn cycles(edges: &BTreeMap<usize, BTreeSet<(Edge, usize)>>, found: &mut Vec<Anomaly>) {
    let of = |kind: Edge| {
        edges.iter().flat_map(move |(from, all)| {
            all.iter().filter(move |(its, _)| *its == kind).map(move |(_, to)| (*from, *to))
        })
    };
    use Edge::{Rw, Wr, Ww};
    let cycle = |kind: Edge, kinds: &[Edge]| of(kind).find_map(|(from, to)| way(edges, kinds, to, from));
    if let Some(cycle) = cycle(Ww, &[Ww]) {
        found.push(Anomaly::G0(cycle));
    }
    if let Some(cycle) = cycle(Wr, &[Ww, Wr]) {
        found.push(Anomaly::G1c(cycle));
    }
    let single = cycle(Rw, &[Ww, Wr]);
    if let Some(cycle) = &single {
        found.push(Anomaly::GSingle(cycle.clone()));
    }
    let several = of(Rw).find_map(|(from, to)| {
        // A cycle that needs a second one: there is no way back without.
        way(edges, &[Ww, Wr], to, from).is_none().then(|| way(edges, &[Ww, Wr, Rw], to, from)).flatten()
    });
    if let Some(cycle) = several {
        found.push(Anomaly::G2(cycle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(key: u64, value: u64) -> Op {
        Op::Append { key, value }
    }

    fn read(key: u64, values: &[u64]) -> Op {
        Op::Read { key, values: values.to_vec() }
    }

    fn done(ops: Vec<Op>) -> Executed {
        Executed { ops, committed: true }
    }

    fn lists(lists: &[(u64, &[u64])]) -> BTreeMap<u64, Vec<u64>> {
        lists.iter().map(|(key, list)| (*key, list.to_vec())).collect()
    }

    #[test]
    fn a_serial_history_is_clean() {
        let history = [
            done(vec![append(1, 10), read(1, &[10])]),
            done(vec![read(1, &[10]), append(1, 11), read(1, &[10, 11]), read(2, &[])]),
            done(vec![append(2, 20)]),
        ];
        assert_eq!(check(&history, &lists(&[(1, &[10, 11]), (2, &[20])])), []);
    }

    #[test]
    fn each_anomaly_is_named() {
        let dirty = [done(vec![append(1, 10), append(2, 20)]), done(vec![append(1, 11), append(2, 21)])];
        assert!(matches!(check(&dirty, &lists(&[(1, &[10, 11]), (2, &[21, 20])]))[..], [Anomaly::G0(_)]));
        let aborted = [Executed { ops: vec![append(1, 10)], committed: false }, done(vec![read(1, &[10])])];
        assert_eq!(check(&aborted, &lists(&[(1, &[])])), [Anomaly::G1a(1)]);
        let intermediate = [done(vec![append(1, 10), append(1, 11)]), done(vec![read(1, &[10])])];
        assert!(check(&intermediate, &lists(&[(1, &[10, 11])])).contains(&Anomaly::G1b(1)));
        let flow = [done(vec![append(1, 10), read(2, &[20])]), done(vec![append(2, 20), read(1, &[10])])];
        assert!(matches!(check(&flow, &lists(&[(1, &[10]), (2, &[20])]))[..], [Anomaly::G1c(_)]));
        let skew = [done(vec![read(1, &[]), read(2, &[20])]), done(vec![append(1, 10), append(2, 20)])];
        assert!(matches!(check(&skew, &lists(&[(1, &[10]), (2, &[20])]))[..], [Anomaly::GSingle(_)]));
        let write_skew = [done(vec![read(1, &[]), append(2, 20)]), done(vec![read(2, &[]), append(1, 10)])];
        assert!(matches!(check(&write_skew, &lists(&[(1, &[10]), (2, &[20])]))[..], [Anomaly::G2(_)]));
        let lost = [done(vec![append(1, 10)])];
        assert_eq!(check(&lost, &lists(&[(1, &[])])), [Anomaly::Lost(0, 10)]);
        let own = [done(vec![append(1, 10), read(1, &[])])];
        assert_eq!(check(&own, &lists(&[(1, &[10])])), [Anomaly::OwnLost(0)]);
    }
}
