//! What the names in an expression may mean: columns of FROM, and variables of PL/pgSQL.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use verso_catalog::{Oid, SystemRelation};
use verso_exec::plan::{AggregateCall, ExprKind, TypedExpr};
use verso_types::opaque::tid::Tid;
use verso_types::{Derivation, RowType, SqlType, SystemType, Value};

use super::rights::Noted;
use super::table_number::RowNumber;
use super::trace::{Source, source_of};
use super::walk::{columns_of, same};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Name, PlConflict};

/// The transaction that PostgreSQL's catalogs are filled by when a database is made.
const BOOTSTRAP: i64 = 1;

/// What the name of a column begins with that is younger than the text.
const LATER: &str = "\0later ";

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

/// The type of the values of a variable or an argument, with the collation that it was declared with.
pub(super) fn value_type(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Collated(collated) => {
            let collation = Derivation::of_kept(&collated.collation);
            collated.base.erased().collated(&collation)
        }
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

    /// Finds what a name with or without a qualifier means. `variables` are searched from the end, innermost first.
    pub fn find(&self, parts: &[Name], variables: &[Variable]) -> Result<Meaning, SqlError> {
        let found = self.find_named(parts, variables)?;
        if let Meaning::Column(expr) = &found {
            self.used(expr);
        }
        Ok(found)
    }

    /// The columns from `at` on are those of the first `own` once more: to read them is to read these.
    pub fn note_again(&mut self, own: usize, at: usize) {
        let again = self.noted.iter().filter(|(range, _)| range.end <= own);
        let again: Vec<_> =
            again.map(|(range, need)| (range.start + at..range.end + at, need.clone())).collect();
        self.noted.extend(again);
    }

    /// Notes that the columns of an expression are read.
    pub fn used(&self, expr: &TypedExpr) {
        if self.noted.is_empty() {
            return;
        }
        for column in columns_of(expr) {
            for (range, need) in self.noted.iter().filter(|(range, _)| range.contains(&column)) {
                need.selects(column - range.start);
            }
        }
    }

    fn find_named(&self, parts: &[Name], variables: &[Variable]) -> Result<Meaning, SqlError> {
        let at = parts.first().map_or(0, |part| part.at.start);
        match parts {
            [name] => self.find_plain(name, variables),
            [table, name] => self.find_qualified(None, table, name, variables),
            [schema, table, name] => self.find_qualified(Some(schema), table, name, &[]),
            _ => Err(SqlError::unsupported("a reference to another database").at(at)),
        }
    }

    /// Whether this names a FROM item.
    pub fn is_table(&self, parts: &[Name]) -> bool {
        matches!(parts, [name] if self.table(&name.text).is_some())
    }

    /// The same among columns only; none where nothing here has that name.
    pub fn lookup(&self, parts: &[Name]) -> Result<Option<TypedExpr>, SqlError> {
        if parts.last().is_some_and(|name| name.text == "*") {
            return Ok(None);
        }
        let here = match parts {
            [name] => self.visible.iter().any(|(column, _)| **column == *name.text),
            [table, _] => self.table(&table.text).is_some(),
            [schema, table, _] => self.item(Some(&schema.text), &table.text).is_some(),
            _ => false,
        };
        if !here {
            return Ok(None);
        }
        match self.find(parts, &[])? {
            Meaning::Column(expr) => Ok(Some(expr)),
            Meaning::Variable(..) => Ok(None),
        }
    }

    fn find_plain(&self, name: &Name, variables: &[Variable]) -> Result<Meaning, SqlError> {
        let mut columns = self.visible.iter().filter(|(column, _)| **column == *name.text);
        let variable = variables.iter().rev().find(|variable| *variable.name == *name.text);
        let ambiguous = || {
            SqlError::new(
                sqlstate::AMBIGUOUS_COLUMN,
                format!("column reference \"{}\" is ambiguous", name.text),
            )
            .at(name.at.start)
        };
        match (columns.next(), columns.next(), variable) {
            (Some((_, expr)), None, None) => Ok(Meaning::Column(expr.clone())),
            (None, _, Some(variable)) => Ok(Meaning::Variable(variable.slot, value_type(&variable.ty))),
            (Some(_), _, Some(variable)) if variable.conflict == PlConflict::Variable => {
                Ok(Meaning::Variable(variable.slot, value_type(&variable.ty)))
            }
            (Some((_, expr)), None, Some(variable)) if variable.conflict == PlConflict::Column => {
                Ok(Meaning::Column(expr.clone()))
            }
            (Some(_), None, Some(_)) => {
                Err(ambiguous()
                    .with_detail("It could refer to either a PL/pgSQL variable or a table column."))
            }
            (Some(_), Some(_), _) => Err(ambiguous()),
            (None, _, None) => {
                // OLD and NEW of RETURNING are the table once more.
                let first = |item: &&ScopeTable| self.repeats.is_none_or(|width| item.columns.start < width);
                let mut items = self.tables.iter().filter(first);
                match (items.next(), items.next()) {
                    (Some(item), None) => {
                        let number = self.table_number(item, name).map(Meaning::Column);
                        number.ok_or_else(|| self.missing(None, name))
                    }
                    _ if self.tables.iter().any(|item| self.table_number(item, name).is_some()) => {
                        Err(ambiguous())
                    }
                    _ => Err(self.missing(None, name)),
                }
            }
        }
    }

    /// A column that records have beside those of their table, where the rows of this one have it, or of a relation of the system
    /// catalogs; NULL where its row is none, beside an outer join.
    fn table_number(&self, item: &ScopeTable, name: &Name) -> Option<TypedExpr> {
        // The place of a record that is locked comes first, without a name.
        let behind = self.columns.iter().enumerate().skip(item.columns.end);
        let mut behind =
            behind.skip_while(|(at, (known, _))| *at == item.columns.end && known.is_empty()).peekable();
        if behind.peek().is_some_and(|(_, (known, _))| RowNumber::of_column(known).is_some()) {
            let mut own = behind.map_while(|(at, (known, ty))| Some((at, RowNumber::of_column(known)?, ty)));
            let found = own.find(|(_, number, _)| number.name() == name.text);
            return found.map(|(at, _, ty)| TypedExpr::column(at, ty.clone()));
        }
        let relation = SystemRelation::by_oid(Oid(item.relation?))?;
        let first = item.columns.start;
        if relation.kind != 'r' || !relation.columns.first()?.not_null {
            return None;
        }
        // Rows of the catalogs are made when they are read: what is asked of records is the same of all of them.
        let xid = SqlType::System(SystemType::Xid);
        let (value, ty) = match name.text.as_str() {
            "tableoid" => (Value::Int8(relation.oid.0.into()), SqlType::Oid),
            "xmin" => (Value::Int8(BOOTSTRAP), xid),
            "xmax" | "cmin" | "cmax" => (Value::Int8(0), xid),
            "ctid" => (Value::Opaque(Tid { page: 0, slot: 1 }.value()), SqlType::System(SystemType::Tid)),
            _ => return None,
        };
        let column = TypedExpr::column(first, self.columns.get(first)?.1.clone());
        let missing = ExprKind::IsNull { arg: Box::new(column), negated: false };
        let branches = vec![(TypedExpr::new(missing, SqlType::Bool), TypedExpr::null(ty.clone()))];
        let known = Some(Box::new(TypedExpr::literal(value, ty.clone())));
        Some(TypedExpr::new(ExprKind::Case { branches, otherwise: known }, ty))
    }

    fn find_qualified(
        &self,
        schema: Option<&Name>,
        table: &Name,
        name: &Name,
        variables: &[Variable],
    ) -> Result<Meaning, SqlError> {
        self.check_one(schema, table)?;
        let item = self.item(schema.map(|schema| &*schema.text), &table.text);
        if let Some(item) = item.filter(|item| !item.merged.is_empty()) {
            let mut fits = item.merged.iter().filter(|(column, _)| **column == *name.text);
            return match (fits.next(), fits.next()) {
                (Some((_, expr)), None) => Ok(Meaning::Column(expr.clone())),
                (None, _) => Err(self.missing(Some(table), name)),
                (Some(_), Some(_)) => {
                    let text = format!("column reference \"{}\" is ambiguous", name.text);
                    Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, text).at(table.at.start))
                }
            };
        }
        if let Some(item) = item {
            let mut fits = item.columns.clone().filter(|index| *self.columns[*index].0 == *name.text);
            return match (fits.next(), fits.next()) {
                (Some(index), None) => {
                    Ok(Meaning::Column(TypedExpr::column(index, self.columns[index].1.clone())))
                }
                (None, _) => match self.table_number(item, name) {
                    Some(number) => Ok(Meaning::Column(number)),
                    None => Err(self.missing(Some(table), name)),
                },
                (Some(_), Some(_)) => {
                    let text = format!("column reference \"{}\" is ambiguous", name.text);
                    Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, text).at(table.at.start))
                }
            };
        }
        let variable = |variable: &&Variable| *variable.block == *table.text && *variable.name == *name.text;
        if let Some(variable) = variables.iter().rev().find(variable) {
            return Ok(Meaning::Variable(variable.slot, value_type(&variable.ty)));
        }
        Err(match schema.is_some() && self.table(&table.text).is_some() {
            true => out_of_reach(&table.text, schema.map_or(table.at.start, |schema| schema.at.start)),
            false => self.missing_table(table),
        })
    }

    /// Refuses a name without a schema that several items have.
    pub fn check_one(&self, schema: Option<&Name>, table: &Name) -> Result<(), SqlError> {
        let mut named = self.tables.iter().filter(|item| item.name.as_deref() == Some(&*table.text));
        match (schema, named.next(), named.next()) {
            (None, Some(_), Some(_)) => {
                let text = format!("table reference \"{}\" is ambiguous", table.text);
                Err(SqlError::new("42P09", text).at(table.at.start))
            }
            _ => Ok(()),
        }
    }

    /// `42P01` for a qualifier that names nothing in FROM.
    pub fn missing_table(&self, table: &Name) -> SqlError {
        let hidden = self.tables.iter().find(|item| item.hidden.as_deref() == Some(&table.text));
        let error = |text: String| SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(table.at.start);
        if self.closed.iter().any(|item| item.name.as_deref() == Some(&table.text)) {
            return out_of_reach(&table.text, table.at.start);
        }
        match hidden.and_then(|item| item.name.as_deref()) {
            Some(alias) => {
                error(format!("invalid reference to FROM-clause entry for table \"{}\"", table.text))
                    .with_hint(format!("Perhaps you meant to reference the table alias \"{alias}\"."))
            }
            None => error(format!("missing FROM-clause entry for table \"{}\"", table.text)),
        }
    }

    /// Whether a column may be named without its table.
    fn has_visible(&self, column: &str) -> bool {
        self.visible.iter().any(|(name, _)| **name == *column)
    }

    /// `42703` for a column of an item that may not be used; none is given where it is the first with such a column.
    fn closed_column(&self, name: &Name, item: Option<&ScopeTable>) -> SqlError {
        let has_it =
            |item: &&ScopeTable| item.columns.clone().any(|index| *self.columns[index].0 == *name.text);
        let item = item.or_else(|| self.tables.iter().find(has_it));
        let text = format!("column \"{}\" does not exist", name.text);
        SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(name.at.start).with_detail(format!(
            "There is a column named \"{}\" in table \"{}\", but it cannot be referenced from this part of the query.",
            name.text,
            item.and_then(|item| item.name.as_deref()).unwrap_or_default()
        ))
    }

    /// `42703`, with the column that was perhaps meant.
    fn missing(&self, table: Option<&Name>, name: &Name) -> SqlError {
        let text = match table {
            Some(table) => format!("column {}.{} does not exist", table.text, name.text),
            None => format!("column \"{}\" does not exist", name.text),
        };
        let start = table.map_or(name.at.start, |table| table.at.start);
        let error = SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(start);
        if matches!(&*name.text, "cmin" | "cmax") && !self.columns.is_empty() {
            let text = format!("the system column {}", name.text);
            let hint =
                "xmin tells which transaction has written a row; which of its statements did is not kept.";
            return SqlError::unsupported(text).at(start).with_hint(hint);
        }
        if name.text == "_prev" {
            return error.with_hint(
                "\"_xid\" is the transaction that has written the row; which ones have written it before is not kept. SELECT … AS OF reads older versions.",
            );
        }
        let has_it =
            |item: &&ScopeTable| item.columns.clone().any(|index| *self.columns[index].0 == *name.text);
        if let Some(item) = self.closed.iter().find(has_it).filter(|_| table.is_none()) {
            return self.closed_column(name, Some(item));
        }
        let near = closest(
            &name.text,
            self.columns[..self.repeats.unwrap_or(self.columns.len())].iter().map(|(column, _)| &**column),
        );
        let full = |column: &str| {
            let index = self.columns.iter().position(|(name, _)| **name == *column)?;
            let item = self.tables.iter().find(|item| item.columns.contains(&index))?;
            Some(format!("\"{}.{column}\"", item.name.as_deref()?))
        };
        let near: Option<Vec<String>> = near.into_iter().map(full).collect();
        match near.as_deref() {
            Some([one]) => error.with_hint(format!("Perhaps you meant to reference the column {one}.")),
            Some([one, two]) => error
                .with_hint(format!("Perhaps you meant to reference the column {one} or the column {two}.")),
            _ => error,
        }
    }
}

/// `42P01` for an item of FROM that is there, but not for whoever names it.
fn out_of_reach(table: &str, at: u32) -> SqlError {
    let text = format!("invalid reference to FROM-clause entry for table \"{table}\"");
    let entry = format!(
        "There is an entry for table \"{table}\", but it cannot be referenced from this part of the query."
    );
    SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(at).with_detail(entry)
}

/// Whether a column has a name of the binder's own, which no text has: `*` leaves it out.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with('\0')
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

/// The names most like `wanted`, if they are like enough: at most half of its letters differ.
pub fn closest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let distances: Vec<(usize, &str)> = names.map(|name| (distance(wanted, name), name)).collect();
    let best = distances.iter().map(|(distance, _)| *distance).min().unwrap_or(usize::MAX);
    if best > wanted.chars().count() / 2 || best > 3 {
        return Vec::new();
    }
    distances.into_iter().filter(|(distance, _)| *distance == best).map(|(_, name)| name).collect()
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let here = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = here;
        }
    }
    row[b.len()]
}
