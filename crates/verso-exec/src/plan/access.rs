//! How the rows of a table are found: through an index.

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_types::KeyType;
use verso_types::inverted::Strategy;

use super::{RECORD_COLUMN, TypedExpr};

/// A range of an index's keys, in the order of the index or against it.
///
/// The expressions have no columns. They need not have the columns' types: a value that no column value can equal finds
/// nothing. What the range does not say is left to a filter.
#[derive(Clone, Debug)]
pub struct IndexAccess {
    /// The index.
    pub index: Arc<IndexDef>,
    /// What the first parts of the key are.
    pub equals: Vec<KeyMatch>,
    /// The next part is at least this, or (`false`) greater.
    pub lower: Option<(TypedExpr, bool)>,
    /// The next part is at most this, or (`false`) less.
    pub upper: Option<(TypedExpr, bool)>,
    /// Against the order of the index.
    pub descending: bool,
    /// What is looked up in an inverted index; the filter says it, too.
    pub searched: Vec<Searched>,
    /// Where the range turns out to be a large part of the table, the table itself is read instead, in no order, and
    /// this is the range as a condition, over the columns read. `None`: it is the index in any case.
    pub instead: Option<Box<TypedExpr>>,
}

/// A condition whose candidates an inverted index finds.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Which part of the index.
    pub part: usize,
    /// What the column is to the value.
    pub strategy: Strategy,
    /// The value.
    pub value: TypedExpr,
    /// Which conjunct of the filter it is.
    pub conjunct: usize,
}

/// What one part of a key is.
#[derive(Clone, Debug)]
pub enum KeyMatch {
    /// Equal to a value; to NULL nothing is.
    Equal(TypedExpr),
    /// Equal to one of these values.
    In(Vec<TypedExpr>),
    /// Equal to one of the elements of this array.
    Any(TypedExpr),
    /// NULL.
    Null,
}

impl KeyMatch {
    /// The expressions in it.
    #[must_use]
    pub fn exprs(&self) -> &[TypedExpr] {
        match self {
            KeyMatch::Equal(expr) | KeyMatch::Any(expr) => std::slice::from_ref(expr),
            KeyMatch::In(list) => list,
            KeyMatch::Null => &[],
        }
    }

    /// The same, to change them.
    pub fn exprs_mut(&mut self) -> &mut [TypedExpr] {
        match self {
            KeyMatch::Equal(expr) | KeyMatch::Any(expr) => std::slice::from_mut(expr),
            KeyMatch::In(list) => list,
            KeyMatch::Null => &mut [],
        }
    }
}

impl IndexAccess {
    /// The whole index.
    #[must_use]
    pub fn all(index: Arc<IndexDef>) -> IndexAccess {
        IndexAccess {
            index,
            equals: Vec::new(),
            lower: None,
            upper: None,
            descending: false,
            searched: Vec::new(),
            instead: None,
        }
    }

    /// Whether the keys say what these columns of the table hold, so that rows of clean pages are not visited. One row is
    /// read by its record all the same.
    #[must_use]
    pub fn answers(&self, table: &TableDef, columns: &[usize]) -> bool {
        let exact = |at: usize| {
            let ty = table.columns.get(at).and_then(|column| KeyType::of(&column.ty));
            ty.is_some_and(KeyType::is_exact)
        };
        let parts: Vec<usize> = self.index.held().filter_map(|column| table.column_with_id(column)).collect();
        let once = |list: &[usize]| (1..list.len()).all(|at| !list[..at].contains(&list[at]));
        let columns: Vec<usize> = columns.iter().copied().filter(|column| *column != RECORD_COLUMN).collect();
        !self.index.is_inverted()
            && !self.is_point()
            && parts.len() == self.index.held().count()
            && parts.iter().all(|at| exact(*at))
            && self
                .index
                .parts
                .iter()
                .all(|part| part.collation.as_ref().is_none_or(|one| one.collator.is_none()))
            && once(&parts)
            && once(&columns)
            && columns.iter().all(|column| parts.contains(column))
    }

    /// Whether it finds one row at most.
    #[must_use]
    pub fn is_point(&self) -> bool {
        self.index.unique
            && !self.index.deferrable
            && self.equals.len() == self.index.parts.len()
            && self.equals.iter().all(|part| matches!(part, KeyMatch::Equal(_)))
    }

    /// Calls `visit` on the expressions in it, to change them.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut TypedExpr)) {
        self.equals.iter_mut().flat_map(KeyMatch::exprs_mut).for_each(&mut *visit);
        self.lower.iter_mut().chain(&mut self.upper).for_each(|(expr, _)| visit(expr));
        self.searched.iter_mut().for_each(|searched| visit(&mut searched.value));
        self.instead.iter_mut().for_each(|expr| visit(expr));
    }

    /// The expressions that make the range; `instead` has no others.
    pub fn exprs(&self) -> impl Iterator<Item = &TypedExpr> {
        let equals = self.equals.iter().flat_map(KeyMatch::exprs);
        let bounds = self.lower.iter().chain(&self.upper).map(|(expr, _)| expr);
        equals.chain(bounds).chain(self.searched.iter().map(|searched| &searched.value))
    }
}
