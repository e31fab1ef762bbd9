//! Which documents a query matches, and where.
//!
//! A query is evaluated from its last item to its first, so that operands come before their operators, with a stack in place
//! of recursion. Above phrases only whether a word is there counts; within one, the places where a part matches are lists,
//! and a negated part matches everywhere but there.

use super::query::{Item, Operand, TsQuery};
use super::vector::{StoredVector, TsVector, positions_of};

/// Whether something matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// No.
    No,
    /// Yes.
    Yes,
    /// The word is there, but it is not known where.
    Maybe,
}

/// Where a part of a query matches: at the ends of matches, which begin `width` places before.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// In order, each once.
    pub places: Vec<u16>,
    /// Whether it matches everywhere else.
    pub negated: bool,
    /// Places from the first word of a match to its last.
    pub width: u32,
}

/// What may be true where it is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags {
    /// Negations say yes.
    pub skip_not: bool,
    /// Phrases of words whose places are not known may match.
    pub unplaced_phrases: bool,
}

/// A word of a query, looked up: whether it is there and, if places are asked for, where.
pub type Look<'l> = &'l mut dyn FnMut(usize, &Operand, Option<&mut Vec<u16>>) -> Matches;

/// Which items are below a phrase.
fn within_phrases(query: &TsQuery) -> Vec<bool> {
    let (items, sizes) = (query.items(), query.sizes());
    let mut within = vec![false; items.len()];
    for n in 0..items.len() {
        let below = within[n] || matches!(items[n], Item::Phrase(_));
        if below && items[n].arity() > 0 {
            within[n + 1] = true;
            if items[n].arity() == 2 {
                within[n + 1 + sizes[n + 1] as usize] = true;
            }
        }
    }
    within
}

/// Which places of two lists are wanted.
#[derive(Clone, Copy)]
struct Emit {
    left: bool,
    right: bool,
    both: bool,
}

fn merged(left: &Places, right: &Places, emit: Emit, offsets: (u32, u32)) -> Vec<u16> {
    let mut out = Vec::new();
    let (mut l, mut r) = (left.places.iter().peekable(), right.places.iter().peekable());
    loop {
        let a = l.peek().map(|place| u32::from(**place) + offsets.0);
        let b = r.peek().map(|place| u32::from(**place) + offsets.1);
        let (place, wanted) = match (a, b) {
            (None, None) => break,
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                l.next();
                (a, emit.left)
            }
            (Some(a), Some(b)) if a == b => {
                l.next();
                r.next();
                (b, emit.both)
            }
            (_, Some(b)) => {
                r.next();
                (b, emit.right)
            }
            (Some(_), None) => break,
        };
        if wanted && place > 0 {
            // Positions are cut to 16 bits, as PostgreSQL's are.
            out.push(place as u16);
        }
    }
    out
}

type Part = (Matches, Places);

/// Whether there is a place, as the outcome of an operator.
fn placed(places: Vec<u16>, width: u32) -> Part {
    match places.is_empty() {
        true => (Matches::No, Places { width, ..Places::default() }),
        false => (Matches::Yes, Places { places, negated: false, width }),
    }
}

fn everywhere_but(places: Vec<u16>, width: u32) -> Part {
    (Matches::Yes, Places { places, negated: true, width })
}

/// `!` within a phrase.
fn not_placed((matches, mut places): Part, flags: Flags) -> Part {
    if flags.skip_not {
        return everywhere_but(Vec::new(), 0);
    }
    match matches {
        Matches::Maybe => (Matches::Maybe, Places::default()),
        Matches::No => everywhere_but(Vec::new(), places.width),
        Matches::Yes if places.places.is_empty() && places.negated => {
            (Matches::No, Places { width: places.width, ..Places::default() })
        }
        Matches::Yes => {
            places.negated = !places.negated;
            (Matches::Yes, places)
        }
    }
}

const LEFT: Emit = Emit { left: true, right: false, both: false };
const RIGHT: Emit = Emit { left: false, right: true, both: false };
const BOTH: Emit = Emit { left: false, right: false, both: true };
const ANY: Emit = Emit { left: true, right: true, both: true };

/// `&` and phrases within a phrase; a phrase has a distance.
fn and_placed(left: &Part, right: &Part, distance: Option<u16>) -> Part {
    if left.0 == Matches::No || right.0 == Matches::No {
        return (Matches::No, Places::default());
    }
    if left.0 == Matches::Maybe || right.0 == Matches::Maybe {
        return (Matches::Maybe, Places::default());
    }
    let (left, right) = (&left.1, &right.1);
    let (offsets, width) = match distance {
        Some(distance) => {
            let distance = u32::from(distance);
            ((distance + right.width, 0), distance + left.width + right.width)
        }
        None => {
            let widest = left.width.max(right.width);
            ((widest - left.width, widest - right.width), widest)
        }
    };
    match (left.negated, right.negated) {
        (true, true) => everywhere_but(merged(left, right, ANY, offsets), width),
        (true, false) => placed(merged(left, right, RIGHT, offsets), width),
        (false, true) => placed(merged(left, right, LEFT, offsets), width),
        (false, false) => placed(merged(left, right, BOTH, offsets), width),
    }
}

/// `|` within a phrase.
fn or_placed(left: &Part, right: &Part) -> Part {
    if left.0 == Matches::No && right.0 == Matches::No {
        return (Matches::No, Places::default());
    }
    if left.0 == Matches::Maybe || right.0 == Matches::Maybe {
        return (Matches::Maybe, Places::default());
    }
    let width = |part: &Part| if part.0 == Matches::No { 0 } else { part.1.width };
    let widest = width(left).max(width(right));
    let offsets = (widest - width(left), widest - width(right));
    let (left, right) = (&left.1, &right.1);
    match (left.negated, right.negated) {
        (true, true) => everywhere_but(merged(left, right, BOTH, offsets), widest),
        (true, false) => everywhere_but(merged(left, right, LEFT, offsets), widest),
        (false, true) => everywhere_but(merged(left, right, RIGHT, offsets), widest),
        (false, false) => placed(merged(left, right, ANY, offsets), widest),
    }
}

/// A binary operator within a phrase, or a phrase itself.
fn combine(item: &Item, left: &Part, right: &Part) -> Part {
    match item {
        Item::Phrase(distance) => and_placed(left, right, Some(*distance)),
        Item::And => and_placed(left, right, None),
        _ => or_placed(left, right),
    }
}

impl TsQuery {
    /// Whether the query matches what `look` knows; an empty one does not.
    pub fn matches(&self, flags: Flags, look: Look<'_>) -> Matches {
        let within = within_phrases(self);
        let mut done: Vec<Part> = Vec::new();
        for (n, item) in self.items().iter().enumerate().rev() {
            let part = match item {
                Item::Operand(operand) => {
                    let mut places = Vec::new();
                    let wanted = within[n].then_some(&mut places);
                    let found = look(n, operand, wanted);
                    (found, Places { places, ..Places::default() })
                }
                Item::Not => {
                    let below = done.pop().unwrap_or((Matches::No, Places::default()));
                    match within[n] {
                        true => not_placed(below, flags),
                        false if flags.skip_not => (Matches::Yes, Places::default()),
                        false => (negated(below.0), Places::default()),
                    }
                }
                _ => {
                    let (Some(right), Some(left)) = (done.pop(), done.pop()) else { return Matches::No };
                    match item {
                        Item::Phrase(_) => {
                            let part = combine(item, &left, &right);
                            match part.0 {
                                Matches::Maybe if !within[n] && !flags.unplaced_phrases => {
                                    (Matches::No, Places::default())
                                }
                                _ => part,
                            }
                        }
                        _ if within[n] => combine(item, &left, &right),
                        Item::And => (and(left.0, right.0), Places::default()),
                        _ => (or(left.0, right.0), Places::default()),
                    }
                }
            };
            done.push(part);
        }
        done.pop().map_or(Matches::No, |part| part.0)
    }

    /// Where the query matches: the places of each part that must be there; `None` where it does not match, or where places
    /// are not known. Negations have none.
    pub fn locations(&self, look: Look<'_>) -> Option<Vec<Places>> {
        enum Done {
            Placed(Part),
            Listed(bool, Vec<Places>),
        }
        impl Done {
            /// As what stands above phrases has it.
            fn listed(self) -> (bool, Vec<Places>) {
                match self {
                    Done::Listed(matches, list) => (matches, list),
                    Done::Placed((Matches::Yes, places)) if places.negated => (true, Vec::new()),
                    Done::Placed((Matches::Yes, places)) => (true, vec![places]),
                    Done::Placed(_) => (false, Vec::new()),
                }
            }
            fn part(self) -> Part {
                match self {
                    Done::Placed(part) => part,
                    Done::Listed(..) => (Matches::No, Places::default()),
                }
            }
        }
        let within = within_phrases(self);
        let mut done: Vec<Done> = Vec::new();
        for (n, item) in self.items().iter().enumerate().rev() {
            let next = match item {
                Item::Operand(operand) => {
                    let mut places = Vec::new();
                    let found = look(n, operand, Some(&mut places));
                    Done::Placed((found, Places { places, ..Places::default() }))
                }
                Item::Not if within[n] => Done::Placed(not_placed(done.pop()?.part(), Flags::default())),
                Item::Not => Done::Listed(!done.pop()?.listed().0, Vec::new()),
                Item::Phrase(_) => {
                    let (right, left) = (done.pop()?.part(), done.pop()?.part());
                    Done::Placed(combine(item, &left, &right))
                }
                _ if within[n] => {
                    let (right, left) = (done.pop()?.part(), done.pop()?.part());
                    Done::Placed(combine(item, &left, &right))
                }
                _ => {
                    let ((right, right_list), (left, mut left_list)) =
                        (done.pop()?.listed(), done.pop()?.listed());
                    match item {
                        Item::And if left && right => {
                            left_list.extend(right_list);
                            Done::Listed(true, left_list)
                        }
                        Item::And => Done::Listed(false, Vec::new()),
                        _ if !left && !right => Done::Listed(false, Vec::new()),
                        _ if left_list.is_empty() => Done::Listed(true, right_list),
                        _ if right_list.is_empty() => Done::Listed(true, left_list),
                        _ => {
                            let pair = |left: &Places, right: &Places| Places {
                                places: merged(left, right, ANY, (0, 0)),
                                negated: false,
                                width: left.width.max(right.width),
                            };
                            let pairs = left_list
                                .iter()
                                .flat_map(|left| right_list.iter().map(move |right| pair(left, right)));
                            Done::Listed(true, pairs.collect())
                        }
                    }
                }
            };
            done.push(next);
        }
        let (matches, list) = done.pop()?.listed();
        matches.then_some(list)
    }

    /// Whether every document that matches has one of the words.
    #[must_use]
    pub fn requires_a_word(&self) -> bool {
        let mut done: Vec<bool> = Vec::new();
        for item in self.items().iter().rev() {
            let next = match item {
                Item::Operand(_) => true,
                Item::Not => {
                    done.pop();
                    false
                }
                _ => {
                    let (right, left) = (done.pop().unwrap_or(false), done.pop().unwrap_or(false));
                    if *item == Item::Or { left && right } else { left || right }
                }
            };
            done.push(next);
        }
        done.pop().unwrap_or(false)
    }
}

fn negated(matches: Matches) -> Matches {
    match matches {
        Matches::No => Matches::Yes,
        Matches::Yes => Matches::No,
        Matches::Maybe => Matches::Maybe,
    }
}

fn and(left: Matches, right: Matches) -> Matches {
    match (left, right) {
        (Matches::No, _) | (_, Matches::No) => Matches::No,
        (Matches::Maybe, _) | (_, Matches::Maybe) => Matches::Maybe,
        _ => Matches::Yes,
    }
}

fn or(left: Matches, right: Matches) -> Matches {
    match (left, right) {
        (Matches::Yes, _) | (_, Matches::Yes) => Matches::Yes,
        (Matches::Maybe, _) | (_, Matches::Maybe) => Matches::Maybe,
        _ => Matches::No,
    }
}

/// Whether a lexeme at these positions has one of the weights, and where; without positions it has any.
fn fits(positions: &[u8], operand: &Operand, places: Option<&mut Vec<u16>>) -> Matches {
    if positions.is_empty() {
        return if places.is_some() { Matches::Maybe } else { Matches::Yes };
    }
    let mut wanted = positions_of(positions)
        .filter(|position| operand.weights == 0 || operand.weights >> position.weight() & 1 == 1);
    let found = match places {
        Some(places) => {
            let before = places.len();
            places.extend(wanted.map(|position| position.place()));
            places.len() > before
        }
        None => wanted.next().is_some(),
    };
    if found { Matches::Yes } else { Matches::No }
}

impl StoredVector<'_> {
    /// Looks a word of a query up.
    fn look(&self, operand: &Operand, mut places: Option<&mut Vec<u16>>) -> Matches {
        let mut matches = Matches::No;
        let found = self.find(operand.word.as_bytes(), operand.prefix);
        for (_, positions) in found {
            match fits(positions, operand, places.as_deref_mut()) {
                Matches::No => {}
                Matches::Maybe => {
                    places.iter_mut().for_each(|places| places.clear());
                    return Matches::Maybe;
                }
                Matches::Yes => matches = Matches::Yes,
            }
            if matches == Matches::Yes && places.is_none() {
                break;
            }
        }
        if let (Some(places), true) = (places, found.len() > 1) {
            places.sort_unstable();
            places.dedup();
        }
        matches
    }

    /// `@@`
    #[must_use]
    pub fn is_matched_by(&self, query: &TsQuery) -> bool {
        query.matches(Flags::default(), &mut |_, operand, places| self.look(operand, places)) != Matches::No
    }
}

impl TsVector {
    /// `@@`
    #[must_use]
    pub fn is_matched_by(&self, query: &TsQuery) -> bool {
        StoredVector::read(self.value().bytes()).is_matched_by(query)
    }
}
