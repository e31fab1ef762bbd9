//! Prepared statements that have a name: of PREPARE, or of the protocol's Parse.
//!
//! No transaction takes them back. A statement that is run again does: what its functions have prepared they prepare anew.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use verso_types::{SqlType, Value};

use super::Prepared;
use crate::views::int;
use verso_planner::errors::{SqlError, sqlstate};

/// The named statements of a session.
#[derive(Debug, Default)]
pub(crate) struct NamedStatements {
    statements: RefCell<Arc<BTreeMap<String, Named>>>,
}

/// Those of a moment.
#[derive(Debug)]
pub(crate) struct NamedThen(Arc<BTreeMap<String, Named>>);

impl NamedStatements {
    /// The statement of that name.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Prepared>, SqlError> {
        let known = self.statements.borrow().get(name).map(|named| Arc::clone(&named.prepared));
        known.ok_or_else(|| {
            let text = format!("prepared statement \"{name}\" does not exist");
            SqlError::new(sqlstate::INVALID_STATEMENT_NAME, text)
        })
    }

    /// Refuses a name that is taken.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), SqlError> {
        if self.statements.borrow().contains_key(name) {
            let text = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new(sqlstate::DUPLICATE_STATEMENT, text));
        }
        Ok(())
    }

    /// Gives a statement a name that is free; `from_sql` by PREPARE, `at` the moment.
    pub(crate) fn keep(&self, name: &str, prepared: Arc<Prepared>, from_sql: bool, at: i64) {
        let named = Named { prepared, from_sql, at };
        Arc::make_mut(&mut self.statements.borrow_mut()).insert(name.to_string(), named);
    }

    /// Forgets one; whether there was one.
    pub(crate) fn forget(&self, name: &str) -> bool {
        Arc::make_mut(&mut self.statements.borrow_mut()).remove(name).is_some()
    }

    /// DEALLOCATE of one, or of all.
    ///
    /// # Errors
    /// 26000.
    pub(crate) fn deallocate(&self, name: Option<&str>) -> Result<(), SqlError> {
        let Some(name) = name else {
            self.clear();
            return Ok(());
        };
        self.get(name)?;
        self.forget(name);
        Ok(())
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        self.statements.take();
    }

    /// Those that there are.
    pub(crate) fn now(&self) -> NamedThen {
        NamedThen(Arc::clone(&self.statements.borrow()))
    }

    /// There are those again that there were then.
    pub(crate) fn return_to(&self, then: &NamedThen) {
        *self.statements.borrow_mut() = Arc::clone(&then.0);
    }

    /// As `pg_prepared_statements` shows them.
    pub(crate) fn rows(&self) -> Vec<Vec<Value>> {
        self.statements.borrow().iter().map(|(name, statement)| statement.row(name)).collect()
    }
}

/// A prepared statement that has a name.
#[derive(Clone, Debug)]
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
        let [generic, custom] = self.prepared.runs();
        vec![
            Value::text(name),
            Value::Text(Arc::clone(self.prepared.text())),
            Value::Timestamptz(self.at),
            type_names(self.prepared.params().iter()),
            columns.map_or(Value::Null, |columns| type_names(columns.iter().map(|column| &column.ty))),
            Value::Bool(self.from_sql),
            int(generic),
            int(custom),
        ]
    }
}

fn type_names<'t>(types: impl Iterator<Item = &'t SqlType>) -> Value {
    Value::Array(types.map(|ty| Value::Int8(ty.pg_oid().into())).collect())
}
