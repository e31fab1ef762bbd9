//! What the names in an expression may mean: columns of FROM, and variables of PL/pgSQL.

use std::sync::Arc;

use verso_types::SqlType;

use crate::errors::{SqlError, sqlstate};
use crate::syntax::Name;

/// The columns an expression may use.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The name of the FROM item, or its alias.
    pub table: Option<Arc<str>>,
    /// The table's own name, where an alias hides it.
    pub hidden: Option<Arc<str>>,
    /// Name and type of each column, by its index in the input.
    pub columns: Vec<(Arc<str>, SqlType)>,
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
}

/// What a name means.
#[derive(Debug)]
pub enum Meaning {
    /// A column of the input.
    Column(usize),
    /// A slot and its type.
    Variable(usize, SqlType),
}

impl Scope {
    /// Finds what a name with or without a qualifier means. `variables` are searched from the end, innermost first.
    pub fn find(&self, parts: &[Name], variables: &[Variable]) -> Result<Meaning, SqlError> {
        let at = parts.first().map_or(0, |part| part.at.start);
        match parts {
            [name] => self.find_plain(name, variables),
            [table, name] => self.find_qualified(table, name, variables),
            [_, table, name] => self.find_qualified(table, name, &[]),
            _ => Err(SqlError::unsupported("a reference to another database").at(at)),
        }
    }

    fn find_plain(&self, name: &Name, variables: &[Variable]) -> Result<Meaning, SqlError> {
        let mut columns = self.columns.iter().enumerate().filter(|(_, (column, _))| **column == *name.text);
        let variable = variables.iter().rev().find(|variable| *variable.name == *name.text);
        let ambiguous = || {
            SqlError::new(
                sqlstate::AMBIGUOUS_COLUMN,
                format!("column reference \"{}\" is ambiguous", name.text),
            )
            .at(name.at.start)
        };
        match (columns.next(), columns.next(), variable) {
            (Some((index, _)), None, None) => Ok(Meaning::Column(index)),
            (None, _, Some(variable)) => Ok(Meaning::Variable(variable.slot, variable.ty.clone())),
            (Some(_), None, Some(_)) => {
                Err(ambiguous()
                    .with_detail("It could refer to either a PL/pgSQL variable or a table column."))
            }
            (Some(_), Some(_), _) => Err(ambiguous()),
            (None, _, None) => Err(self.missing(None, name)),
        }
    }

    fn find_qualified(&self, table: &Name, name: &Name, variables: &[Variable]) -> Result<Meaning, SqlError> {
        if self.table.as_deref() == Some(&table.text) {
            return match self.columns.iter().position(|(column, _)| **column == *name.text) {
                Some(index) => Ok(Meaning::Column(index)),
                None => Err(self.missing(Some(table), name)),
            };
        }
        let variable = |variable: &&Variable| *variable.block == *table.text && *variable.name == *name.text;
        if let Some(variable) = variables.iter().rev().find(variable) {
            return Ok(Meaning::Variable(variable.slot, variable.ty.clone()));
        }
        Err(self.missing_table(table))
    }

    /// `42P01` for a qualifier that names nothing in FROM.
    pub fn missing_table(&self, table: &Name) -> SqlError {
        let hidden = self.hidden.as_deref() == Some(&table.text);
        let error = |text: String| SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(table.at.start);
        match &self.table {
            Some(alias) if hidden => {
                error(format!("invalid reference to FROM-clause entry for table \"{}\"", table.text))
                    .with_hint(format!("Perhaps you meant to reference the table alias \"{alias}\"."))
            }
            _ => error(format!("missing FROM-clause entry for table \"{}\"", table.text)),
        }
    }

    /// `42703`, with the column that was perhaps meant.
    fn missing(&self, table: Option<&Name>, name: &Name) -> SqlError {
        let text = match table {
            Some(table) => format!("column {}.{} does not exist", table.text, name.text),
            None => format!("column \"{}\" does not exist", name.text),
        };
        let start = table.map_or(name.at.start, |table| table.at.start);
        let error = SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(start);
        let near = closest(&name.text, self.columns.iter().map(|(column, _)| &**column));
        let Some(table) = &self.table else { return error };
        match near.as_slice() {
            [one] => error.with_hint(format!("Perhaps you meant to reference the column \"{table}.{one}\".")),
            [one, two] => error.with_hint(format!(
                "Perhaps you meant to reference the column \"{table}.{one}\" or the column \"{table}.{two}\"."
            )),
            _ => error,
        }
    }
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
