//! Scopes around a query: which of their columns it reads, and how they are handed in.

use std::cell::RefCell;
use std::sync::Arc;

use verso_exec::plan::{AggregateCall, ExprKind, TypedExpr};

use super::super::trace::{Source, source_of};
use super::super::walk::same;
use super::lookup::out_of_reach;
use super::{Groupings, NamedExpr, Scope};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::Name;

/// The columns of a query around this one, level by level.
#[derive(Clone, Copy, Debug)]
pub struct Correlation<'s> {
    /// What is in scope there.
    pub scope: &'s Scope,
    /// The query around that.
    pub parent: Option<&'s Correlation<'s>>,
    /// What the query inside uses of it: the values of its `Outer(n)`.
    pub refs: &'s RefCell<Vec<TypedExpr>>,
    /// Why nothing here may be used, only what is further out.
    pub hidden: Option<Hidden>,
    /// These are the FROM items before one, not a query around.
    pub lateral: bool,
    /// Where the query there gathers its aggregates; why it takes none here.
    pub aggregates: Option<(&'s RefCell<Vec<AggregateCall>>, Option<&'s str>)>,
    /// Where it gathers its calls of GROUPING().
    pub groupings: Option<&'s RefCell<Groupings>>,
}

/// Why items of FROM may not be used.
#[derive(Clone, Copy, Debug)]
pub enum Hidden {
    /// By a subquery without LATERAL.
    Lateral,
    /// They stand beside the part of the query.
    Beside,
    /// They are what UPDATE, DELETE or MERGE changes, for items of its FROM.
    Changed,
}

impl Hidden {
    /// What is said to somebody who has named a table.
    fn table(self, table: &Name) -> SqlError {
        let (name, at) = (&table.text, table.at.start);
        match self {
            Hidden::Lateral => out_of_reach(name, at)
                .with_hint("To reference that table, you must mark this subquery with LATERAL."),
            Hidden::Beside => out_of_reach(name, at),
            Hidden::Changed => {
                let text = format!("invalid reference to FROM-clause entry for table \"{name}\"");
                SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(at).with_hint(format!(
                    "There is an entry for table \"{name}\", but it cannot be referenced from this part of the query."
                ))
            }
        }
    }
}

impl Correlation<'_> {
    /// What a name means in a query around this one.
    pub fn find(&self, parts: &[Name]) -> Result<Option<TypedExpr>, SqlError> {
        let here = if self.hidden.is_some() { None } else { self.scope.lookup(parts)? };
        let found = match (here, self.parent) {
            (Some(expr), _) => expr,
            (None, Some(parent)) => match parent.find(parts)? {
                Some(expr) => expr,
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        Ok(Some(self.hand_in(found)))
    }

    /// Calls `work` with the queries around as one sees them who may not use the items before it in FROM.
    pub fn without_items<T>(
        outer: Option<&Correlation<'_>>,
        why: Hidden,
        work: &mut dyn FnMut(Option<&Correlation<'_>>) -> T,
    ) -> T {
        match outer {
            Some(outer) if outer.lateral => Correlation::without_items(outer.parent, why, &mut |parent| {
                let why = if outer.hidden.is_some() { Hidden::Beside } else { why };
                work(Some(&Correlation { hidden: Some(why), parent, ..*outer }))
            }),
            outer => work(outer),
        }
    }

    /// Why a name means nothing here, where it is that of an item before this one in FROM: nothing of it may be used.
    pub fn refused(&self, parts: &[Name]) -> Option<SqlError> {
        match (self.hidden, parts) {
            (Some(why), [table, _]) if self.scope.table(&table.text).is_some() => Some(why.table(table)),
            (Some(why), [column]) if self.scope.has_visible(&column.text) => {
                let error = self.scope.closed_column(column, None);
                Some(match why {
                    Hidden::Lateral => {
                        error.with_hint("To reference that column, you must mark this subquery with LATERAL.")
                    }
                    Hidden::Beside | Hidden::Changed => error,
                })
            }
            _ => self.parent?.refused(parts),
        }
    }

    /// The column of which item a name means in a query around this one.
    pub fn source(&self, parts: &[Name]) -> Option<Source> {
        let here = if self.hidden.is_some() { None } else { self.scope.lookup(parts).ok().flatten() };
        let named = match parts {
            [table, star] if star.text == "*" => Some(table),
            [table] => Some(table),
            _ => None,
        };
        let row = named.filter(|_| self.hidden.is_none()).and_then(|table| self.scope.table(&table.text));
        match (here, row) {
            (Some(expr), _) => source_of(self.scope, &expr),
            (None, Some(item)) => Some(Source::Row(item.place)),
            (None, None) => self.parent?.source(parts),
        }
    }

    /// The names of the columns of an item in the nearest query around this one that has one, and where the item stands.
    pub fn names_of(&self, name: &str) -> Option<(Vec<Arc<str>>, u32)> {
        match self.scope.table(name).filter(|_| self.hidden.is_none()) {
            Some(item) => {
                let names = self.scope.starred(item).into_iter().map(|(name, _)| name);
                Some((names.collect(), item.place))
            }
            None => self.parent?.names_of(name),
        }
    }

    /// What `make` says of the FROM item of that name in the nearest query around this one that has one.
    pub fn of_table(
        &self,
        name: &str,
        make: &mut dyn FnMut(&Scope) -> Vec<NamedExpr>,
    ) -> Option<Vec<(Arc<str>, TypedExpr)>> {
        let made = match (self.hidden.is_none() && self.scope.table(name).is_some(), self.parent) {
            (true, _) => make(self.scope),
            (false, parent) => parent?.of_table(name, make)?,
        };
        Some(made.into_iter().map(|(name, expr)| (name, self.hand_in(expr))).collect())
    }

    /// What stands inside for an expression over the columns here.
    pub fn hand_in(&self, expr: TypedExpr) -> TypedExpr {
        let mut refs = self.refs.borrow_mut();
        let known = refs.iter().position(|known| same(known, &expr));
        let ty = expr.seen();
        let index = known.unwrap_or_else(|| {
            refs.push(expr);
            refs.len() - 1
        });
        TypedExpr::new(ExprKind::Outer(index), ty)
    }

    /// What stands inside for an expression over the columns of a query further out, around which `depth` queries are.
    pub fn carry(&self, expr: TypedExpr, depth: usize) -> TypedExpr {
        let parent = self.parent.filter(|parent| parent.depth() > depth);
        self.hand_in(match parent {
            Some(parent) => parent.carry(expr, depth),
            None => expr,
        })
    }

    /// How many queries are around this one.
    pub fn depth(&self) -> usize {
        1 + self.parent.map_or(0, Correlation::depth)
    }
}
