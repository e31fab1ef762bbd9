//! What a text means, noted while it is bound: what the deparser needs to know of it besides its syntax.
//!
//! D1. Expressions are known by their places in the text, FROM items by where they begin; the trace is of one text only, so
//!     whatever binds another one (the query of a view that is named, a domain's condition) goes on without it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_exec::plan::{ExprKind, TypedExpr};
use verso_parser::syntax::Span;
use verso_types::SqlType;

use super::scope::{Scope, is_hidden};
use super::table_number::RowNumber;
use super::walk::same;

/// What a name of a column means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// The column with that number of the FROM item that begins there.
    Column(u32, usize),
    /// What the rows of the FROM item that begins there have beside its columns, by name.
    Number(u32, &'static str),
    /// What USING of a FULL JOIN has made of two columns.
    Merged(Arc<str>),
    /// A whole row of the FROM item that begins there.
    Row(u32),
    /// The argument of a function with that number, from 0 on.
    Variable(usize),
    /// A field of such an argument, or a field of that one: their names of today.
    Fields(usize, Vec<Arc<str>>),
}

/// One of the columns that a star stands for.
#[derive(Clone, Debug)]
pub(crate) struct Starred {
    pub(crate) name: Arc<str>,
    pub(crate) source: Source,
    pub(crate) ty: SqlType,
}

/// One of the fields that `(row).*` stands for.
#[derive(Clone, Debug)]
pub(crate) struct StarredField {
    /// The name that it has in the text.
    pub(crate) name: Arc<str>,
    /// The one that it has today, and where it is among the fields.
    pub(crate) today: Arc<str>,
    pub(crate) at: usize,
    pub(crate) ty: SqlType,
}

/// Names and types of columns.
type Columns = Vec<(Arc<str>, SqlType)>;

/// A schema and a name in it.
type QualifiedName = (Arc<str>, Arc<str>);

/// What was noted of a text.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    exprs: RefCell<HashMap<(u32, u32), SqlType>>,
    columns: RefCell<HashMap<u32, Source>>,
    operands: RefCell<HashMap<u32, Vec<SqlType>>>,
    stars: RefCell<HashMap<u32, Vec<Starred>>>,
    fields: RefCell<HashMap<u32, Vec<StarredField>>>,
    outputs: RefCell<HashMap<u32, SqlType>>,
    items: RefCell<HashMap<u32, Columns>>,
    aliases: RefCell<HashMap<u32, Vec<usize>>>,
    functions: RefCell<HashMap<u32, QualifiedName>>,
    lists: RefCell<HashMap<u32, usize>>,
    operators: RefCell<HashMap<u32, (QualifiedName, bool)>>,
    row_calls: RefCell<HashSet<u32>>,
}

impl Trace {
    /// An expression was bound and has this type.
    pub(super) fn expr(&self, at: Span, ty: &SqlType) {
        self.exprs.borrow_mut().insert((at.start, at.end), ty.clone());
    }

    /// A name of a column means this. A row that is taken apart stays a row, whatever its columns are.
    pub(super) fn column(&self, place: u32, source: Source) {
        let mut columns = self.columns.borrow_mut();
        if !matches!(columns.get(&place), Some(Source::Row(_))) {
            columns.insert(place, source);
        }
    }

    /// A name means what rows have beside their columns, whatever it was taken for before that was known.
    pub(super) fn number(&self, place: u32, source: Source) {
        self.columns.borrow_mut().insert(place, source);
    }

    /// An operator or function takes its arguments as these types.
    pub(super) fn operands(&self, place: u32, types: &[SqlType]) {
        self.operands.borrow_mut().insert(place, types.to_vec());
    }

    /// A star stands for these columns.
    pub(super) fn star(&self, place: u32, scope: &Scope, columns: &[(Arc<str>, TypedExpr)]) {
        let one = |(name, expr): &(Arc<str>, TypedExpr)| {
            let source = source_of(scope, expr).unwrap_or_else(|| Source::Merged(Arc::clone(name)));
            Starred { name: Arc::clone(name), source, ty: expr.ty.clone() }
        };
        self.stars.borrow_mut().insert(place, columns.iter().map(one).collect());
    }

    /// The star of `(row).*` at a place stands for these fields.
    pub(super) fn starred_fields(&self, place: u32, fields: Vec<StarredField>) {
        self.fields.borrow_mut().insert(place, fields);
    }

    /// The column of an output list at a place has this type, where it is no longer open.
    pub(super) fn output(&self, place: u32, ty: &SqlType) {
        self.outputs.borrow_mut().insert(place, ty.clone());
    }

    /// A FROM item has these columns.
    pub(super) fn item(&self, place: u32, columns: &[(Arc<str>, SqlType)]) {
        self.items.borrow_mut().insert(place, columns.to_vec());
    }

    /// Columns of a FROM item that have their names from its list of aliases.
    pub(super) fn aliased(&self, place: u32, columns: Vec<usize>) {
        self.aliases.borrow_mut().insert(place, columns);
    }

    /// A call means a user's function: its schema and name.
    pub(super) fn function(&self, place: u32, schema: &Arc<str>, name: &Arc<str>) {
        self.functions.borrow_mut().insert(place, (Arc::clone(schema), Arc::clone(name)));
    }

    /// The arguments of a call behind the first ones, so many, are the elements of an array: its parameter is VARIADIC.
    pub(super) fn list(&self, place: u32, first: usize) {
        self.lists.borrow_mut().insert(place, first);
    }

    /// The name behind a row is no field of it, but a function that is called with the row.
    pub(super) fn row_call(&self, place: u32) {
        self.row_calls.borrow_mut().insert(place);
    }

    /// Whether the name at a place is a function's that is called with the row in front of it.
    pub(crate) fn is_row_call(&self, place: u32) -> bool {
        self.row_calls.borrow().contains(&place)
    }

    /// An operator's symbol means one that users have made: its schema and symbol, and whether the symbol alone would mean
    /// one that is built in.
    pub(super) fn operator(&self, place: u32, schema: &Arc<str>, symbol: &Arc<str>, is_hidden: bool) {
        let name = (Arc::clone(schema), Arc::clone(symbol));
        self.operators.borrow_mut().insert(place, (name, is_hidden));
    }

    /// The users' operator whose symbol stands at a place: its schema and symbol, and whether the symbol alone would mean
    /// one that is built in.
    pub(crate) fn operator_at(&self, place: u32) -> Option<(QualifiedName, bool)> {
        self.operators.borrow().get(&place).cloned()
    }

    /// The type of an expression; none where it was not bound by itself.
    pub(crate) fn type_of(&self, at: Span) -> Option<SqlType> {
        self.exprs.borrow().get(&(at.start, at.end)).cloned()
    }

    /// What the name of a column at a place means.
    pub(crate) fn source(&self, place: u32) -> Option<Source> {
        self.columns.borrow().get(&place).cloned()
    }

    /// Where names of columns and of whole rows begin, with what they mean; in order.
    pub(crate) fn named(&self) -> Vec<(u32, Source)> {
        let columns = self.columns.borrow();
        let mut named: Vec<(u32, Source)> = columns.iter().map(|(at, one)| (*at, one.clone())).collect();
        named.sort_by_key(|(at, _)| *at);
        named
    }

    /// The types that an operator or function takes its arguments as.
    pub(crate) fn taken(&self, place: u32) -> Option<Vec<SqlType>> {
        self.operands.borrow().get(&place).cloned()
    }

    /// The type that the column of an output list at a place has.
    pub(crate) fn output_type(&self, place: u32) -> Option<SqlType> {
        self.outputs.borrow().get(&place).cloned()
    }

    /// What the star at a place stands for.
    pub(crate) fn starred(&self, place: u32) -> Option<Vec<Starred>> {
        self.stars.borrow().get(&place).cloned()
    }

    /// What the star of `(row).*` at a place stands for.
    pub(crate) fn fields_at(&self, place: u32) -> Option<Vec<StarredField>> {
        self.fields.borrow().get(&place).cloned()
    }

    /// The columns of the FROM item that begins at a place.
    pub(crate) fn columns_of(&self, place: u32) -> Option<Columns> {
        self.items.borrow().get(&place).cloned()
    }

    /// Which of them have their names from the item's list of aliases.
    pub(crate) fn aliased_of(&self, place: u32) -> Vec<usize> {
        self.aliases.borrow().get(&place).cloned().unwrap_or_default()
    }

    /// Where the arguments of the call at a place begin that are elements of an array.
    pub(crate) fn list_at(&self, place: u32) -> Option<usize> {
        self.lists.borrow().get(&place).copied()
    }

    /// The user's function that the call at a place means: its schema and name.
    pub(crate) fn function_at(&self, place: u32) -> Option<QualifiedName> {
        self.functions.borrow().get(&place).cloned()
    }
}

/// Which column of which FROM item an expression of a scope is.
pub(super) fn source_of(scope: &Scope, expr: &TypedExpr) -> Option<Source> {
    if let ExprKind::Column(index) = expr.kind
        && let Some(item) = scope.tables.iter().find(|item| item.columns.contains(&index))
    {
        // Of a view whose rows are changed, the columns are what it shows, and those of the table below have no names.
        let shows = scope.columns.get(index).is_some_and(|(name, _)| is_hidden(name));
        let shown = shows.then(|| item.merged.iter().position(|(_, known)| same(known, expr))).flatten();
        return Some(Source::Column(item.place, shown.unwrap_or(index - item.columns.start)));
    }
    // Such numbers stand behind the columns of their item.
    if let ExprKind::Column(index) = expr.kind
        && let Some(number) = scope.columns.get(index).and_then(|(name, _)| RowNumber::of_column(name))
    {
        let before = scope.tables.iter().filter(|item| item.merged.is_empty() && item.columns.end <= index);
        let item = before.max_by_key(|item| item.columns.end)?;
        return Some(Source::Number(item.place, number.name()));
    }
    // a column of a join that has a name of its own
    scope.tables.iter().filter(|item| item.place > 0).find_map(|item| {
        let number = item.merged.iter().position(|(_, known)| same(known, expr))?;
        Some(Source::Column(item.place, number))
    })
}
