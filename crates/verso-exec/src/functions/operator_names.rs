//! PostgreSQL's names of the functions behind operators: `int4eq(1, 1)` is `1 = 1`.
//!
//! Each line of `operators.tsv` has a function, its operator and the numbers of the operands' types (0 where there is
//! none). They come from PostgreSQL 18:
//!
//! ```sql
//! SELECT p.proname, o.oprname, o.oprleft, o.oprright FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode
//! WHERE o.oid < 16384 AND o.oprright <> 0 ORDER BY p.proname, o.oid;
//! ```
//!
//! Where Verso has no operator of just these types, as for `integer = bigint`, the function is that of the types which
//! both operands become.

use std::sync::OnceLock;

use verso_types::{CastKind, SqlType, cast_kind};

use super::registry::{Index, operator_candidates};
use super::{ArgType, BuiltinFunction};

static OPERATORS: &str = include_str!("operators.tsv");

/// LIKE has no operators in the registry, but functions.
static LIKES: [(&str, &str); 4] =
    [("~~", "like"), ("!~~", "notlike"), ("~~*", "texticlike"), ("!~~*", "texticnlike")];

/// What an operand is, by the number of its type.
fn operand(oid: u32) -> Option<ArgType> {
    Some(match oid {
        2277 | 5078 => ArgType::AnyArray,
        2283 | 5077 => ArgType::AnyElement,
        3500 => ArgType::AnyEnum,
        3831 => ArgType::AnyRange,
        4537 => ArgType::AnyMultirange,
        oid => ArgType::Exact(SqlType::from_pg_oid(oid, -1)?),
    })
}

/// How well an operand fits where `wanted` is taken: not at all, as another type, as it is.
fn fit(wanted: &ArgType, given: &ArgType) -> usize {
    match (wanted, given) {
        (wanted, given) if wanted == given => 2,
        (ArgType::Exact(wanted), ArgType::Exact(given)) => {
            usize::from(cast_kind(given, wanted) == Some(CastKind::Implicit))
        }
        _ => 0,
    }
}

/// A function that takes wider types than PostgreSQL's of that name, and the types of PostgreSQL's.
type Widened = (&'static str, &'static BuiltinFunction, Vec<ArgType>);

static WIDENED: OnceLock<Vec<Widened>> = OnceLock::new();

/// What PostgreSQL's function of this name takes, where this one takes what its operands become.
#[must_use]
pub fn operand_types(name: &str, function: &'static BuiltinFunction) -> Option<&'static [ArgType]> {
    let known = WIDENED.get()?;
    let start = known.partition_point(|(known, ..)| *known < name);
    let same = known[start..].iter().take_while(|(known, ..)| *known == name);
    same.into_iter().find(|(_, known, _)| *known == function).map(|(.., operands)| operands.as_slice())
}

/// Adds the functions of the table to those that have names of their own.
pub(super) fn add(index: &mut Index<BuiltinFunction>) {
    let mut widened = Vec::new();
    for line in OPERATORS.lines() {
        let fields: Vec<&'static str> = line.split('\t').collect();
        let [name, symbol, left, right] = fields[..] else { continue };
        let oids = [left, right].into_iter().filter_map(|oid| oid.parse().ok()).filter(|oid| *oid != 0);
        let Some(operands) = oids.map(operand).collect::<Option<Vec<ArgType>>>() else { continue };
        let known = index.get(name).map_or(&[][..], Vec::as_slice);
        if known.iter().any(|function| function.declared(operands.len()) == operands) {
            continue;
        }
        let like = LIKES.iter().find(|(operator, _)| *operator == symbol);
        let entries = match like.and_then(|(_, function)| index.get(function)) {
            Some(functions) => functions.as_slice(),
            None => operator_candidates(symbol),
        };
        let mut best: Option<(usize, &'static BuiltinFunction)> = None;
        for entry in entries.iter().filter(|entry| entry.args.len() == operands.len()) {
            let declared = entry.declared(0);
            let fits: Vec<usize> =
                declared.iter().zip(&operands).map(|(wanted, given)| fit(wanted, given)).collect();
            let sum = if fits.contains(&0) { 0 } else { fits.iter().sum() };
            if sum > best.map_or(0, |(most, _)| most) {
                best = Some((sum, entry));
            }
        }
        if let Some((_, entry)) = best {
            index.entry(name).or_default().push(entry);
            if entry.declared(0) != operands {
                widened.push((name, entry, operands));
            }
        }
    }
    widened.sort_by_key(|(name, ..)| *name);
    let _ = WIDENED.set(widened);
}
