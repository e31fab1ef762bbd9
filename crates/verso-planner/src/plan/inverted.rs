//! Conditions that an inverted index finds candidates for.
//!
//! All of them stay in the filter: what an inverted index finds is tested again, as keys say less than values.

use std::sync::Arc;

use verso_catalog::{IndexDef, KeyClass, TableDef};
use verso_exec::plan::{ExprKind, IndexAccess, Searched, TypedExpr};
use verso_types::inverted::Strategy;
use verso_types::{KeyType, SqlType, SystemType};

use super::derived::{Derived, serving_inverted};
use super::terms::{Read, column, for_each_conjunct, is_fixed};

/// The inverted index that the most conjuncts of a filter can be looked up in; of several one that knows the ways to scalars
/// of jsonb, which has fewer keys.
pub(super) fn access(
    table: &TableDef,
    columns: &[usize],
    filter: &TypedExpr,
    derived: &Derived,
    usable: &dyn Fn(&Arc<IndexDef>) -> bool,
) -> Option<IndexAccess> {
    let read = Read { table, columns, derived };
    let mut best: Option<(usize, IndexAccess)> = None;
    for index in serving_inverted(table, derived, columns, Some(filter)).filter(|index| usable(index)) {
        let mut searched = Vec::new();
        let mut n = 0;
        for_each_conjunct(filter, &mut |conjunct| {
            searched.extend(through(&read, index, conjunct, n));
            n += 1;
        });
        let ways = |one: &&Searched| index.parts[one.part].class == KeyClass::JsonbPaths;
        let rank = 2 * searched.len() + searched.iter().filter(ways).count();
        if rank > best.as_ref().map_or(0, |(rank, _)| *rank) {
            best = Some((rank, IndexAccess { searched, ..IndexAccess::all(Arc::clone(index)) }));
        }
    }
    best.map(|(_, access)| access)
}

/// What a conjunct looks up in an index.
fn through(read: &Read<'_>, index: &IndexDef, conjunct: &TypedExpr, n: usize) -> Option<Searched> {
    let (arg, strategy, value) = asked(read, conjunct)?;
    let at = column(read, arg)?;
    let own = &read.table.columns[at];
    let part = index.parts.iter().position(|part| part.column == own.id)?;
    let ty = index.parts[part].class.key_type(&own.ty)?;
    (ty.finds(strategy) && is_fixed(value) && fits(ty, strategy, &own.ty, &value.ty)).then(|| Searched {
        part,
        strategy,
        value: value.clone(),
        conjunct: n,
    })
}

/// Whether the keys of a column can be compared with what a value asks for.
fn fits(ty: KeyType, strategy: Strategy, own: &SqlType, value: &SqlType) -> bool {
    match (ty, strategy) {
        (KeyType::Elements, _) => match (own, value) {
            (SqlType::Array(own), SqlType::Array(value)) => own.same_base(value),
            _ => own.same_base(value),
        },
        (KeyType::Trigrams, _) => matches!(value, SqlType::Text | SqlType::Varchar(_)),
        (KeyType::Lexemes, _) => *value == SqlType::System(SystemType::TsQuery),
        _ => true,
    }
}

/// Whether a side of `@@` is a query of text search.
fn of_query(ty: &SqlType) -> bool {
    *ty == SqlType::System(SystemType::TsQuery)
}

/// The side of a condition that may be a column, the strategy, and the other side.
fn asked<'e>(read: &Read<'_>, conjunct: &'e TypedExpr) -> Option<(&'e TypedExpr, Strategy, &'e TypedExpr)> {
    match &conjunct.kind {
        ExprKind::Call { function, args } => {
            let [left, right] = args.as_slice() else { return None };
            let strategy = |mirrored: bool| {
                Some(match (function.operator?, mirrored) {
                    ("@>", false) | ("<@", true) => Strategy::Contains,
                    ("<@", false) | ("@>", true) => Strategy::ContainedBy,
                    ("&&", _) => Strategy::Overlaps,
                    ("=", _) => Strategy::Equal,
                    ("?", false) => Strategy::HasKey,
                    ("?|", false) => Strategy::HasAnyKey,
                    ("?&", false) => Strategy::HasAllKeys,
                    ("@?", false) => Strategy::PathExists,
                    ("@@" | "@@@", _) if of_query(&left.ty) || of_query(&right.ty) => Strategy::Matches,
                    ("@@", false) => Strategy::PathMatches,
                    ("%", _) => Strategy::Similar,
                    ("~", false) => Strategy::Regex { fold: false },
                    ("~*", false) => Strategy::Regex { fold: true },
                    _ => return None,
                })
            };
            match column(read, left).is_some() {
                true => Some((left, strategy(false)?, right)),
                false => Some((right, strategy(true)?, left)),
            }
        }
        ExprKind::Like { arg, pattern, escape: None, negated: false, .. } => {
            Some((arg, Strategy::Like, pattern))
        }
        _ => None,
    }
}
