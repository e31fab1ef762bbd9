//! Prepared statements that have a name: of PREPARE, or of the protocol's Parse.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_types::{SqlType, Value};

use super::Prepared;
use verso_planner::errors::{SqlError, sqlstate};

/// The named statements of a session.
#[derive(Debug, Default)]
pub(crate) struct NamedStatements {
    statements: BTreeMap<String, Named>,
}

impl NamedStatements {
    /// The statement of that name.
    pub(crate) fn get(&self, name: &str) -> Result<&Arc<Prepared>, SqlError> {
        self.statements.get(name).map(|named| &named.prepared).ok_or_else(|| {
            let text = format!("prepared statement \"{name}\" does not exist");
            SqlError::new(sqlstate::INVALID_STATEMENT_NAME, text)
        })
    }

    /// Refuses a name that is taken.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), SqlError> {
        if self.statements.contains_key(name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_STATEMENT, text));
        }
        Ok(())
    }

    /// Gives a statement a name that is free; `from_sql` by PREPARE, `at` the moment.
    pub(crate) fn keep(&mut self, name: &str, prepared: Arc<Prepared>, from_sql: bool, at: i64) {
        self.statements.insert(name.to_string(), Named { prepared, from_sql, at });
    }

    /// Forgets one; whether there was one.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        self.statements.remove(name).is_some()
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.statements.clear();
    }

    /// As `pg_prepared_statements` shows them.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        self.statements.iter().map(|(name, statement)| statement.row(name)).collect()
    }
}

/// A prepared statement that has a name.
#[derive(Debug)]
struct Named {
    prepared: Arc<Prepared>,
    /// By PREPARE, not by the protocol.
    from_sql: bool,
    /// When.
    at: i64,
}

impl Named {
    /// As `pg_prepared_statements` shows it.
    fn row(&self, name: &str) -> Vec<Value> {
        let columns = self.prepared.columns();
        vec![
            Value::text(name),
            Value::Text(Arc::clone(self.prepared.text())),
            Value::Timestamptz(self.at),
            type_names(self.prepared.params().iter()),
            columns.map_or(Value::Null, |columns| type_names(columns.iter().map(|column| &column.ty))),
            Value::Bool(self.from_sql),
            Value::Int8(0),
            Value::Int8(0),
        ]
    }
}

fn type_names<'t>(types: impl Iterator<Item = &'t SqlType>) -> Value {
    Value::Array(types.map(|ty| Value::Int8(ty.pg_oid().into())).collect())
}
