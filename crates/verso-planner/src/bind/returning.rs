//! RETURNING: a changed row as it was (OLD) and as it is (NEW), and what it was joined with.
//!
//! ```text
//! scope of the change: table │ others
//! scope of RETURNING : table │ others │ old │ new │ whether there is an old row │ a new one │ merge_action()
//! ```
//!
//! Behind the columns of OLD and NEW is what rows have beside them (`ctid`), where the statement asks for it: columns of the table, too,
//! as far as [`Returned`] goes.
//!
//! Bound once over this scope; each change says which of its columns stands where ([`Returned`]).

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{ExprKind, Generated, Returning, TypedExpr};
use verso_types::SqlType;

use super::Binder;
use super::context::{Clause, Context};
use super::scope::{InSchema, Scope, ScopeTable};
use super::shown::hidden;
use super::table_number::RowNumbers;
use super::walk::{map_columns, replace_columns};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Name};

/// Stands for MERGE_ACTION() in a scope, as a table and its column.
pub(super) const MERGE_ACTION: &str = "merge_action()";

/// Where the texts of bodies have OLD and NEW, as items of FROM.
pub(crate) const RETURNED_ROWS: [u32; 2] = [u32::MAX - 2, u32::MAX - 1];

/// A column that RETURNING may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// Of the table: as it is now; before it is gone.
    Own(usize),
    /// Of the others.
    Other(usize),
    /// Of the table, as it was.
    Old(usize),
    /// Of the table, as it is now.
    New(usize),
    /// NULL where there was no row before, and true otherwise.
    WasThere,
    /// NULL where there is no row any more, and true otherwise.
    IsThere,
    /// What MERGE has done.
    Action,
}

/// RETURNING, bound over its own scope.
#[derive(Clone)]
pub(super) struct BoundReturning {
    returning: Returning,
    /// Columns of the table, of the scope of the change, and of OLD and NEW each.
    own: usize,
    width: usize,
    again: usize,
    /// What the virtual columns of the table are.
    computed: Vec<Generated>,
}

impl BoundReturning {
    /// With the expressions that stand for its columns.
    pub(super) fn over(&self, place: &mut dyn FnMut(Returned, &SqlType) -> TypedExpr) -> Returning {
        let (own, width, again) = (self.own, self.width, self.again);
        let mut returning = self.returning.clone();
        for expr in &mut returning.exprs {
            replace_columns(expr, &mut |column, ty| {
                let returned = match column {
                    _ if column < own => Returned::Own(column),
                    _ if column < width => Returned::Other(column),
                    _ if column < width + again => Returned::Old(column - width),
                    _ if column < width + 2 * again => Returned::New(column - width - again),
                    _ if column == width + 2 * again => Returned::WasThere,
                    _ if column == width + 2 * again + 1 => Returned::IsThere,
                    _ => Returned::Action,
                };
                self.placed(returned, ty, place)
            });
        }
        returning
    }

    /// What stands for a column; of a virtual one its expression, unless there is no row.
    fn placed(
        &self,
        returned: Returned,
        ty: &SqlType,
        place: &mut dyn FnMut(Returned, &SqlType) -> TypedExpr,
    ) -> TypedExpr {
        let (column, of): (_, fn(usize) -> Returned) = match returned {
            Returned::Own(column) => (column, Returned::Own),
            Returned::Old(column) => (column, Returned::Old),
            Returned::New(column) => (column, Returned::New),
            Returned::Other(_) | Returned::WasThere | Returned::IsThere | Returned::Action => {
                return place(returned, ty);
            }
        };
        let stored = place(returned, ty);
        let computed = self.computed.iter().find(|known| known.column == column);
        match (computed, &stored.kind) {
            (Some(Generated { value, .. }), ExprKind::Column(_)) => {
                let mut value = value.clone();
                replace_columns(&mut value, &mut |column, ty| place(of(column), ty));
                value
            }
            _ => stored,
        }
    }

    /// Whether it asks for a column of the scope of the change.
    pub(super) fn uses(&self, column: usize) -> bool {
        self.returning.exprs.iter().any(|expr| super::walk::columns_of(expr).contains(&column))
    }

    /// Whether it asks for the row as it was.
    pub(super) fn uses_old(&self) -> bool {
        let (old, was_there) = (self.width..self.width + self.again, self.width + 2 * self.again);
        let is_old = |column: &usize| old.contains(column) || *column == was_there;
        self.returning.exprs.iter().any(|expr| super::walk::columns_of(expr).iter().any(is_old))
    }
}

impl Binder<'_> {
    /// RETURNING of a change whose columns these are, those of the table first; MERGE says also what it did. OLD and NEW have these
    /// `numbers`, too, which the scope has behind the table's columns.
    pub(super) fn returning_of(
        &self,
        returning: &syntax::Returning,
        scope: &Scope,
        (table, numbers): (&TableDef, RowNumbers),
        merge: bool,
    ) -> Result<Option<BoundReturning>, SqlError> {
        if returning.is_empty() {
            return Ok(None);
        }
        let (own, width) = (table.columns.len(), scope.columns.len());
        let target = scope.tables.first().filter(|first| first.columns == (0..own)).cloned();
        let mut scope = Scope { repeats: Some(width), ..scope.clone() };
        let again = own + numbers.count();
        let there = width + 2 * again;
        let added = Again { table, numbers, target: target.as_ref() };
        let [old, new] = RETURNED_ROWS;
        added.to(&mut scope, returning.old.as_ref(), ("old", old), there)?;
        added.to(&mut scope, returning.new.as_ref(), ("new", new), there + 1)?;
        scope.columns.extend([("\0was there".into(), SqlType::Bool), ("\0is there".into(), SqlType::Bool)]);
        if merge {
            let at = scope.columns.len();
            scope.columns.push((MERGE_ACTION.into(), SqlType::Text));
            scope.tables.push(ScopeTable {
                name: Some(MERGE_ACTION.into()),
                hidden: None,
                schema: InSchema::Nowhere,
                columns: at..at + 1,
                place: 0,
                relation: None,
                row: None,
                scalar: false,
                there: None,
                merged: Vec::new(),
            });
        }
        let mut cx = Context::new(&scope, Clause::Returning);
        let mut bound = Returning { exprs: Vec::new(), names: Vec::new() };
        for item in self.items(&returning.items, &mut cx)? {
            bound.exprs.push(self.settle(item.expr, 0)?);
            bound.names.push(item.name);
        }
        // The expressions name the columns as the table does, not as a view over it.
        let base = self.catalog.table_by_oid(table.oid).filter(|base| base.has_virtual());
        let computed = base.map_or(Ok(Vec::new()), |base| self.virtual_columns(&base))?;
        Ok(Some(BoundReturning { returning: bound, own, width, again, computed }))
    }
}

impl Binder<'_> {
    /// MERGE_ACTION().
    pub(super) fn merge_action(&self, at: syntax::Span, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let name = Name { text: MERGE_ACTION.to_string(), at };
        let parts = [name.clone(), name];
        let found = match cx.scope().lookup(&parts)? {
            Some(expr) => Some(expr),
            None => self.outer.map_or(Ok(None), |outer| outer.find(&parts))?,
        };
        found.ok_or_else(|| {
            let text = "MERGE_ACTION() can only be used in the RETURNING list of a MERGE command";
            SqlError::syntax(text).at(at.start)
        })
    }
}

/// The table whose rows change, once more.
struct Again<'t> {
    table: &'t TableDef,
    /// What its rows have beside their columns.
    numbers: RowNumbers,
    /// The same in the scope of the change: a view there has columns that it computes.
    target: Option<&'t ScopeTable>,
}

impl Again<'_> {
    /// What a view shows, over columns from `first` on, with their types in front; nothing of a table.
    fn shown(&self, first: usize, there: usize) -> Vec<(Arc<str>, TypedExpr)> {
        let shown = |(name, expr): &(Arc<str>, TypedExpr)| {
            let mut expr = expr.clone();
            map_columns(&mut expr, &mut |column| column + first);
            if matches!(expr.kind, ExprKind::Column(_)) {
                return (Arc::clone(name), expr);
            }
            // What is computed is NULL where there is no row, whatever it is made of.
            let (ty, collation) = (expr.ty.clone(), expr.collation.clone());
            let mark = Box::new(TypedExpr::column(there, SqlType::Bool));
            let missing = TypedExpr::new(ExprKind::IsNull { arg: mark, negated: false }, SqlType::Bool);
            let branches = vec![(missing, TypedExpr::null(ty.clone()))];
            let kind = ExprKind::Case { branches, otherwise: Some(Box::new(expr)) };
            (Arc::clone(name), TypedExpr { collation, ..TypedExpr::new(kind, ty) })
        };
        self.target.iter().flat_map(|target| &target.merged).map(shown).collect()
    }

    /// Adds its columns, as those of OLD or NEW, unless something else has that name; column `there` says whether there is such a
    /// row.
    fn to(
        &self,
        scope: &mut Scope,
        alias: Option<&Name>,
        (word, place): (&str, u32),
        there: usize,
    ) -> Result<(), SqlError> {
        let table = self.table;
        let name: Option<Arc<str>> = match alias {
            Some(alias) if scope.table(&alias.text).is_some() => {
                let text = format!("table name \"{}\" specified more than once", alias.text);
                return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text).at(alias.at.start));
            }
            Some(alias) => Some(alias.text.as_str().into()),
            None => scope.table(word).is_none().then(|| word.into()),
        };
        let first = scope.columns.len();
        let merged = self.shown(first, there);
        let columns = table.columns.iter().enumerate().map(|(at, column)| match merged.is_empty() {
            true => (Arc::clone(&column.name), column.seen()),
            false => (hidden(at), column.seen()),
        });
        scope.columns.extend(columns);
        let columns = first..scope.columns.len();
        self.numbers.add_to(scope);
        scope.note_again(table.columns.len() + self.numbers.count(), first);
        if name.is_some() {
            scope.tables.push(ScopeTable {
                name,
                hidden: None,
                schema: InSchema::Nowhere,
                columns,
                place,
                relation: self.target.map_or(Some(table.oid.0), |target| target.relation),
                row: self.target.and_then(|target| target.row.clone()),
                scalar: false,
                there: Some(there),
                merged,
            });
        }
        Ok(())
    }
}
