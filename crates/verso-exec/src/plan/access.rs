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
    /// The next part lies in any of these ranges; then `lower` and `upper` are not there.
    pub spans: Vec<Span>,
    /// Against the order of the index.
    pub descending: bool,
    /// What is looked up in an inverted index; the filter says it, too.
    pub searched: Vec<Searched>,
    /// Where the range turns out to be a large part of the table, the table itself is read instead, in no order, and
    /// this is the range as a condition, over the columns read. `None`: it is the index in any case.
    pub instead: Option<Box<TypedExpr>>,
    /// What several accesses find together, in the order of the table, in place of all that the rest says; `index` is one of
    /// theirs. The filter says all of it, too.
    pub together: Option<Box<Together>>,
}

/// A range of the values of one part of a key.
#[derive(Clone, Debug)]
pub enum Span {
    /// One value.
    Equal(TypedExpr),
    /// From one value to another one; a bound is inclusive or not.
    Between {
        /// At least this, or (`false`) greater.
        lower: Option<(TypedExpr, bool)>,
        /// At most this, or (`false`) less.
        upper: Option<(TypedExpr, bool)>,
    },
}

/// A side of a range, if it has one: the value, and whether it belongs to the range.
type Side<'a> = Option<(&'a TypedExpr, bool)>;

impl Span {
    /// Its bounds.
    #[must_use]
    pub fn bounds(&self) -> (Side<'_>, Side<'_>) {
        match self {
            Span::Equal(value) => (Some((value, true)), Some((value, true))),
            Span::Between { lower, upper } => (
                lower.as_ref().map(|(expr, inclusive)| (expr, *inclusive)),
                upper.as_ref().map(|(expr, inclusive)| (expr, *inclusive)),
            ),
        }
    }

    fn exprs(&self) -> Vec<&TypedExpr> {
        match self {
            Span::Equal(value) => vec![value],
            Span::Between { lower, upper } => lower.iter().chain(upper).map(|(expr, _)| expr).collect(),
        }
    }

    fn exprs_mut(&mut self) -> Vec<&mut TypedExpr> {
        match self {
            Span::Equal(value) => vec![value],
            Span::Between { lower, upper } => lower.iter_mut().chain(upper).map(|(expr, _)| expr).collect(),
        }
    }
}

/// Several accesses of one table; what each of them says, over the columns read, is its `instead`.
#[derive(Clone, Debug)]
pub struct Together {
    /// Records that all of them find, or (`false`) any.
    pub all: bool,
    /// The accesses.
    pub parts: Vec<IndexAccess>,
    /// The conjuncts of the filter that they say as a whole.
    pub conjuncts: Vec<usize>,
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
            spans: Vec::new(),
            descending: false,
            searched: Vec::new(),
            instead: None,
            together: None,
        }
    }

    /// Whether it finds records in the order of the table, others than those wanted among them: the filter tells.
    #[must_use]
    pub fn finds_candidates(&self) -> bool {
        self.together.is_some() || self.index.is_inverted()
    }

    /// The indexes that it reads.
    #[must_use]
    pub fn indexes(&self) -> Vec<&Arc<IndexDef>> {
        match &self.together {
            Some(together) => together.parts.iter().flat_map(IndexAccess::indexes).collect(),
            None => vec![&self.index],
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
        !self.finds_candidates()
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
        self.spans.iter_mut().flat_map(Span::exprs_mut).for_each(&mut *visit);
        self.searched.iter_mut().for_each(|searched| visit(&mut searched.value));
        let parts = self.together.iter_mut().flat_map(|together| &mut together.parts);
        parts.for_each(|part| part.for_each_expr_mut(visit));
        self.instead.iter_mut().for_each(|expr| visit(expr));
    }

    /// The expressions that make the range; `instead` has no others.
    pub fn exprs(&self) -> Box<dyn Iterator<Item = &TypedExpr> + '_> {
        let equals = self.equals.iter().flat_map(KeyMatch::exprs);
        let bounds = self.lower.iter().chain(&self.upper).map(|(expr, _)| expr);
        let spans = self.spans.iter().flat_map(Span::exprs);
        let parts = self.together.iter().flat_map(|together| &together.parts).flat_map(IndexAccess::exprs);
        let searched = self.searched.iter().map(|searched| &searched.value);
        Box::new(equals.chain(bounds).chain(spans).chain(searched).chain(parts))
    }
}
