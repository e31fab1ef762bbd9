//! What a name means in a scope, and what is told where it means nothing.

use std::ops::Range;

use verso_catalog::{Oid, SystemRelation};
use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::opaque::tid::Tid;
use verso_types::{SqlType, SystemType, Value};

use super::super::rights::Need;
use super::super::table_number::{ROW_TABLE, RowNumber};
use super::super::walk::columns_of;
use super::{BOOTSTRAP, Meaning, Scope, ScopeTable, Variable, added, value_type};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Name, PlConflict, Span};

impl Scope {
    /// Finds what a name with or without a qualifier means. `variables` are searched from the end, innermost first.
    pub fn find(&self, parts: &[Name], variables: &[Variable]) -> Result<Meaning, SqlError> {
        let found = self.find_named(parts, variables)?;
        match &found {
            Meaning::Column(expr) if is_part_of_row(parts) => self.used_in_row(expr),
            Meaning::Column(expr) => self.used(expr),
            Meaning::Variable(..) => {}
        }
        Ok(found)
    }

    /// The columns from `at` on are those of the first `own` once more: to read them is to read these.
    pub fn note_again(&mut self, own: usize, at: usize) {
        let again = self.noted.iter().filter(|(range, _)| range.start < own);
        let again: Vec<_> =
            again.map(|(range, need)| (range.start + at..range.end.min(own) + at, need.clone())).collect();
        self.noted.extend(again);
    }

    /// Notes that the columns of an expression are read.
    pub fn used(&self, expr: &TypedExpr) {
        self.for_needs(expr, Need::selects);
    }

    /// The same of columns that are read as parts of a whole row.
    pub fn used_in_row(&self, expr: &TypedExpr) {
        self.for_needs(expr, Need::selects_in_row);
    }

    fn for_needs(&self, expr: &TypedExpr, note: fn(&Need, usize)) {
        if self.noted.is_empty() {
            return;
        }
        for column in columns_of(expr) {
            for (range, need) in self.noted.iter().filter(|(range, _)| range.contains(&column)) {
                note(need, column - range.start);
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
            [name] => self.has_visible(&name.text) || self.added(0..self.columns.len(), name).is_some(),
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
            (None, _, None) if let Some(column) = self.added(0..self.columns.len(), name) => {
                Ok(Meaning::Column(column))
            }
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

    /// A column that SEARCH or CYCLE adds, among some columns.
    fn added(&self, among: Range<usize>, name: &Name) -> Option<TypedExpr> {
        let is_it = |at: &usize| *self.columns[*at].0 == *added(&name.text);
        let at = among.into_iter().find(is_it)?;
        Some(TypedExpr::column(at, self.columns[at].1.clone()))
    }

    /// A column that records have beside those of their table, where the rows of this one have it, or of a relation of the system
    /// catalogs; NULL where its row is none, beside an outer join.
    fn table_number(&self, item: &ScopeTable, name: &Name) -> Option<TypedExpr> {
        let is_it = |at: &usize| *self.columns[*at].0 == *ROW_TABLE && name.text == RowNumber::Table.name();
        if let Some(at) = item.columns.clone().find(is_it) {
            return Some(TypedExpr::column(at, self.columns[at].1.clone()));
        }
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
        if let Some(item) = item {
            let mut fits = item.columns.clone().filter(|index| *self.columns[*index].0 == *name.text);
            return match (fits.next(), fits.next()) {
                (Some(index), None) => {
                    Ok(Meaning::Column(TypedExpr::column(index, self.columns[index].1.clone())))
                }
                (None, _) => {
                    let found = self.added(item.columns.clone(), name);
                    match found.or_else(|| self.table_number(item, name)) {
                        Some(column) => Ok(Meaning::Column(column)),
                        None => Err(self.missing(Some(table), name)),
                    }
                }
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
    pub(super) fn has_visible(&self, column: &str) -> bool {
        self.visible.iter().any(|(name, _)| **name == *column)
    }

    /// `42703` for a column of an item that may not be used; none is given where it is the first with such a column.
    pub(super) fn closed_column(&self, name: &Name, item: Option<&ScopeTable>) -> SqlError {
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

/// The name of a column as a part of the row that a name alone means: the text has only that of the row.
pub(in crate::bind) fn part_of_row(row: &Name, column: &str) -> [Name; 2] {
    let nowhere = Span { end: row.at.start, ..row.at };
    [row.clone(), Name { text: column.to_string(), at: nowhere }]
}

/// Whether these names come from there.
pub(in crate::bind) fn is_part_of_row(parts: &[Name]) -> bool {
    let [row, column] = parts else { return false };
    let is_written = row.at.start < row.at.end;
    is_written && column.at.start == row.at.start && column.at.end == column.at.start
}

/// `42P01` for an item of FROM that is there, but not for whoever names it.
pub(super) fn out_of_reach(table: &str, at: u32) -> SqlError {
    let text = format!("invalid reference to FROM-clause entry for table \"{table}\"");
    let entry = format!(
        "There is an entry for table \"{table}\", but it cannot be referenced from this part of the query."
    );
    SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(at).with_detail(entry)
}

/// The names most like `wanted`, if they are like enough: at most half of its letters differ.
fn closest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
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
