//! Objects that wait until what they need is made.
//!
//! Q1. An object comes as soon as nothing that still waits makes what it needs; objects that are free of each other keep their order.
//! Q2. Where all wait for each other, objects come whose *loose* needs are the only ones left: those of parts that can be given to
//!     them later. Where there are none of these either, the order is that of the list.

use std::collections::HashMap;

use verso_catalog::Oid;

use super::needs::Needs;

/// An object that waits.
pub(super) struct Waiting<W> {
    /// What it is.
    pub what: W,
    /// The numbers of what is there when it is made.
    pub makes: Vec<Oid>,
    /// What it cannot be made without.
    pub needs: Needs,
    /// What parts of it need that can come later.
    pub loose: Needs,
}

impl<W> Waiting<W> {
    pub fn new(what: W, makes: impl IntoIterator<Item = Oid>, needs: Needs) -> Waiting<W> {
        Waiting { what, makes: makes.into_iter().collect(), needs, loose: Needs::new() }
    }
}

/// What nobody has made yet, of all that is to be made.
pub(super) struct Pending(HashMap<Oid, usize>);

impl Pending {
    fn of<W>(waiting: &[Waiting<W>]) -> Pending {
        let mut pending = HashMap::new();
        for oid in waiting.iter().flat_map(|one| &one.makes) {
            *pending.entry(*oid).or_default() += 1;
        }
        Pending(pending)
    }

    fn made(&mut self, makes: &[Oid]) {
        for oid in makes {
            if let Some(count) = self.0.get_mut(oid) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(oid);
                }
            }
        }
    }

    /// Is all of it there?
    pub fn has_none_of(&self, needs: &Needs) -> bool {
        needs.iter().all(|oid| !self.0.contains_key(oid))
    }
}

/// Makes all of them in order; `make` gives the parts of an object that have to come later.
pub(super) fn run<W, E>(
    mut waiting: Vec<Waiting<W>>,
    mut make: impl FnMut(W, &Pending) -> Result<Vec<Waiting<W>>, E>,
) -> Result<(), E> {
    let mut pending = Pending::of(&waiting);
    let mut patience = Patience::All;
    while !waiting.is_empty() {
        let (mut later, mut parts) = (Vec::new(), Vec::new());
        let mut any = false;
        for one in waiting {
            let comes = match patience {
                Patience::All => pending.has_none_of(&one.needs) && pending.has_none_of(&one.loose),
                Patience::Needs => pending.has_none_of(&one.needs),
                Patience::None => !any,
            };
            if !comes {
                later.push(one);
                continue;
            }
            any = true;
            pending.made(&one.makes);
            parts.extend(make(one.what, &pending)?);
        }
        patience = match (any, patience) {
            (true, _) => Patience::All,
            (false, Patience::All) => Patience::Needs,
            (false, _) => Patience::None,
        };
        later.append(&mut parts);
        waiting = later;
    }
    Ok(())
}

/// What an object waits for (Q2).
#[derive(Clone, Copy)]
enum Patience {
    All,
    Needs,
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(what: u32, needs: &[u32], loose: &[u32]) -> Waiting<u32> {
        let numbers = |all: &[u32]| all.iter().map(|oid| Oid(*oid)).collect();
        Waiting { what, makes: vec![Oid(what)], needs: numbers(needs), loose: numbers(loose) }
    }

    fn order(waiting: Vec<Waiting<u32>>) -> Vec<(u32, bool)> {
        let mut order = Vec::new();
        let loose: HashMap<u32, Needs> = waiting.iter().map(|one| (one.what, one.loose.clone())).collect();
        let done: Result<(), ()> = run(waiting, |what, pending| {
            let Some(loose) = loose.get(&what) else {
                order.push((what, true));
                return Ok(Vec::new());
            };
            let whole = pending.has_none_of(loose);
            order.push((what, whole));
            // A part that comes later makes nothing.
            Ok(if whole { Vec::new() } else { vec![Waiting::new(what + 100, [], loose.clone())] })
        });
        done.expect("nothing fails");
        order
    }

    #[test]
    fn what_is_free_keeps_its_order_and_the_rest_waits() {
        let all = vec![one(1, &[3], &[]), one(2, &[], &[]), one(3, &[9], &[2]), one(4, &[1], &[])];
        assert_eq!(order(all), [(2, true), (3, true), (1, true), (4, true)]);
    }

    #[test]
    fn a_circle_is_opened_where_a_part_can_come_later() {
        let all = vec![one(1, &[2], &[]), one(2, &[], &[1]), one(3, &[], &[])];
        assert_eq!(order(all), [(3, true), (2, false), (1, true), (102, true)]);
    }

    #[test]
    fn a_circle_without_such_a_part_is_made_as_it_stands() {
        let all = vec![one(1, &[2], &[]), one(2, &[1], &[]), one(3, &[2], &[])];
        assert_eq!(order(all), [(1, true), (2, true), (3, true)]);
    }
}
