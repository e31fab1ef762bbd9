//! What the names in an expression may mean: columns of FROM, and variables of PL/pgSQL.

mod correlation;
mod lookup;

use std::ops::Range;
use std::sync::Arc;

use verso_catalog::Oid;
use verso_exec::plan::TypedExpr;
use verso_types::{Derivation, RowType, SqlType};

use super::rights::Noted;
use super::walk::columns_of;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Name, PlConflict};

pub use correlation::{Correlation, Hidden};
pub(super) use lookup::{is_part_of_row, part_of_row};

/// The transaction that PostgreSQL's catalogs are filled by when a database is made.
const BOOTSTRAP: i64 = 1;

/// What the name of a column begins with that is younger than the text.
const LATER: &str = "\0later ";
/// Before the name of a column that SEARCH or CYCLE adds.
const ADDED: &str = "\0added ";

/// Calls of GROUPING(): their arguments, and where they stand.
pub type Groupings = Vec<(Vec<TypedExpr>, u32)>;

/// A column and its name.
pub type NamedExpr = (Arc<str>, TypedExpr);

/// The columns an expression may use.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The FROM items.
    pub tables: Vec<ScopeTable>,
    /// Name and type of each column, by its index in the input.
    pub columns: Vec<(Arc<str>, SqlType)>,
    /// What a name without a table means, and `*`, in order: the columns, where USING has not merged some.
    pub visible: Vec<(Arc<str>, TypedExpr)>,
    /// FROM items that may not be used here, though they are there.
    pub closed: Vec<ScopeTable>,
    /// Columns from here on repeat others under further names (OLD, NEW).
    pub repeats: Option<usize>,
    /// A recursive query reads itself here.
    pub recursive: bool,
    /// Which relations columns are of: where they are used, that is noted.
    pub noted: Noted,
}

/// A FROM item.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    /// Its alias or name; none for what has neither.
    pub name: Option<Arc<str>>,
    /// The table's own name, where an alias hides it.
    pub hidden: Option<Arc<str>>,
    /// The schema that may stand before its name.
    pub schema: InSchema,
    /// Its columns within the input.
    pub columns: Range<usize>,
    /// Where it begins in the text; 0 of what is not written.
    pub place: u32,
    /// The oid of the table that it is; none for queries and functions.
    pub relation: Option<u32>,
    /// The composite type of its rows, where it is a view or a function.
    pub row: Option<Arc<RowType>>,
    /// A function that yields one value a row: its name means that, not a row of it.
    pub scalar: bool,
    /// A column that is NULL where an outer join has found no row of it, and only there.
    pub there: Option<usize>,
    /// Of an alias of a join or of its USING: what it names, instead of columns of the input.
    pub merged: Vec<(Arc<str>, TypedExpr)>,
}

/// The schema that a FROM item is named with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InSchema {
    /// Not known: whichever one is written.
    #[default]
    Any,
    /// That of a relation that has no alias.
    Of(Arc<str>),
    /// None: it is no relation, or has an alias.
    Nowhere,
}

impl InSchema {
    fn is(&self, name: &str) -> bool {
        match self {
            InSchema::Of(own) => **own == *name || name == "pg_temp" && own.starts_with("pg_temp"),
            InSchema::Any | InSchema::Nowhere => false,
        }
    }
}

/// The type of the values of a variable or an argument, with the collation that it was declared with.
pub(super) fn value_type(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Collated(collated) => {
            let collation = Derivation::of_kept(&collated.collation);
            collated.base.erased().collated(&collation)
        }
        // A domain may have one of its own.
        SqlType::Domain(_) => ty.seen(),
        other => other.erased(),
    }
}

/// A variable of PL/pgSQL.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The block's label or the function's name.
    pub block: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The slot.
    pub slot: usize,
    /// The type.
    pub ty: SqlType,
    /// What is meant where a column has the same name.
    pub conflict: PlConflict,
}

/// NEW or OLD of a trigger: a record of slots, one for each column, and a mark behind them whether it is a row.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name.
    pub name: Arc<str>,
    /// Names and types of its columns.
    pub columns: Arc<[(Arc<str>, SqlType)]>,
    /// Its type as a whole: that of the rows of the trigger's table.
    pub row: Arc<RowType>,
    /// The first slot.
    pub first: usize,
    /// The slot of the number of the table that the row is stored in.
    pub table: usize,
}

/// What a name means.
#[derive(Debug)]
pub enum Meaning {
    /// A column of the input, or what USING made of two.
    Column(TypedExpr),
    /// A slot and its type.
    Variable(usize, SqlType),
}

impl Scope {
    /// The same columns once more, as those of a second table behind it.
    pub fn with_second(mut self, name: &str) -> Scope {
        let own = self.columns.len();
        self.columns.extend_from_within(..);
        for index in own..2 * own {
            let (column, ty) = self.columns[index].clone();
            self.visible.push((column, TypedExpr::column(index, ty)));
        }
        self.tables.push(ScopeTable {
            name: Some(name.into()),
            hidden: None,
            schema: InSchema::Any,
            columns: own..2 * own,
            place: 0,
            relation: None,
            row: None,
            scalar: false,
            there: None,
            merged: Vec::new(),
        });
        self
    }

    /// The scope of one FROM item.
    pub fn of(table: Option<Arc<str>>, hidden: Option<Arc<str>>, columns: Vec<(Arc<str>, SqlType)>) -> Scope {
        let visible = columns
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| !is_hidden(name))
            .map(|(index, (name, ty))| (Arc::clone(name), TypedExpr::column(index, ty.clone())))
            .collect();
        let columns_of_it = 0..columns.len();
        let tables = vec![ScopeTable {
            name: table,
            hidden,
            schema: InSchema::Any,
            columns: columns_of_it,
            place: 0,
            relation: None,
            row: None,
            scalar: false,
            there: None,
            merged: Vec::new(),
        }];
        Scope {
            tables,
            columns,
            visible,
            closed: Vec::new(),
            repeats: None,
            recursive: false,
            noted: Vec::new(),
        }
    }

    /// The same where items with some of the columns may not be used.
    pub fn without(&self, closed: impl Fn(usize) -> bool) -> Scope {
        let mut scope = self.clone();
        (scope.closed, scope.tables) =
            scope.tables.into_iter().partition(|table| closed(table.columns.start));
        scope.visible.retain(|(_, expr)| !columns_of(expr).into_iter().any(&closed));
        scope
    }

    /// Gives columns that a join has merged a name, as those of one item.
    pub fn add_merged(&mut self, alias: &Name, columns: usize) -> Result<(), SqlError> {
        if self.table(&alias.text).is_some() {
            let text = format!("table name \"{}\" specified more than once", alias.text);
            return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text).at(alias.at.start));
        }
        let merged = self.visible.iter().take(columns).cloned().collect();
        let name = Some(alias.text.as_str().into());
        self.tables.push(ScopeTable {
            name,
            hidden: None,
            schema: InSchema::Nowhere,
            columns: 0..0,
            place: 0,
            relation: None,
            row: None,
            scalar: false,
            there: None,
            merged,
        });
        Ok(())
    }

    /// The columns of a join under an alias, which hides the items of the join.
    pub fn of_join(mut self, alias: &Name, columns: &[Name]) -> Result<Scope, SqlError> {
        if columns.len() > self.visible.len() {
            let text = format!(
                "join expression \"{}\" has {} columns available but {} columns specified",
                alias.text,
                self.visible.len(),
                columns.len()
            );
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(alias.at.start));
        }
        for ((name, _), column) in self.visible.iter_mut().zip(columns) {
            *name = column.text.as_str().into();
        }
        self.closed.append(&mut self.tables);
        let all = self.visible.len();
        self.add_merged(alias, all)?;
        Ok(self)
    }

    /// The same, whose only item is that relation: its rows are of its type.
    #[must_use]
    pub fn of_relation(mut self, oid: Oid) -> Scope {
        self.tables.iter_mut().for_each(|item| item.relation = Some(oid.0));
        self
    }

    /// The item of that name.
    pub fn table(&self, name: &str) -> Option<&ScopeTable> {
        self.tables.iter().find(|table| table.name.as_deref() == Some(name))
    }

    /// The item of that name, perhaps with the schema that stands before it.
    pub fn item(&self, schema: Option<&str>, name: &str) -> Option<&ScopeTable> {
        let Some(schema) = schema else { return self.table(name) };
        let mut named = self.tables.iter().filter(|item| item.name.as_deref() == Some(name));
        let exact = named.clone().find(|item| item.schema.is(schema));
        exact.or_else(|| named.find(|item| item.schema == InSchema::Any))
    }

    /// A name that an item here and one there have, which may not: relations without aliases may be of different schemas.
    pub fn shared_name(&self, other: &Scope) -> Option<Arc<str>> {
        let differ = |a: &InSchema, b: &InSchema| match (a, b) {
            (InSchema::Of(a), InSchema::Of(b)) => a != b,
            (InSchema::Nowhere, _) | (_, InSchema::Nowhere) => false,
            // of a kept text, which was looked at when it was made
            (InSchema::Any, _) | (_, InSchema::Any) => true,
        };
        let clashes = |item: &&ScopeTable| {
            let same = |own: &&ScopeTable| own.name.is_some() && own.name == item.name;
            self.tables.iter().filter(same).any(|own| !differ(&own.schema, &item.schema))
        };
        other.tables.iter().find(clashes).and_then(|item| item.name.clone())
    }

    /// The columns that `item.*` means.
    pub(super) fn starred(&self, item: &ScopeTable) -> Vec<(Arc<str>, TypedExpr)> {
        let one = |index: usize| {
            let (name, ty) = &self.columns[index];
            (Arc::clone(name), TypedExpr::column(index, ty.clone()))
        };
        let own = item.columns.clone().map(one).filter(|(name, _)| !is_hidden(name));
        own.chain(item.merged.iter().cloned()).collect()
    }
}

/// Whether a column has a name of the binder's own, which no text has: `*` leaves it out.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('\0')
}

/// The name of a column that SEARCH or CYCLE adds within the recursion: its own name means it, `*` does not.
pub(super) fn added(column: &str) -> String {
    format!("{ADDED}{column}")
}

/// The name that a column of a relation has in the scope of a kept text that is older than it: no name means it, nor does `*`, but
/// the rows of the relation have it.
pub(super) fn later(column: &str) -> Arc<str> {
    if is_hidden(column) { column.into() } else { format!("{LATER}{column}").into() }
}

/// The column's own name, of such a one.
pub(crate) fn came_later(name: &str) -> Option<&str> {
    name.strip_prefix(LATER)
}
