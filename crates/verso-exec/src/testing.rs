//! Helpers of this crate's tests: a session without a database, tables in memory, expressions by name.

mod cursors;
mod expressions;
mod session;
mod tables;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use verso_catalog::{CatalogSnapshot, ColumnDef, Oid, TableDef};
use verso_storage::ObjectId;
use verso_types::{Batch, SqlType, Value};

use crate::context::{Binding, Described};
use crate::error::{ExecError, Result};
use crate::exec::{ExecContext, Sink, TransactionControl, execute};
use crate::expr::Executor;
use crate::plan::Statement;
pub(crate) use expressions::{call, cast, column, literal};
pub(crate) use session::TestSession;
use tables::MemoryTables;

/// A table of these columns.
pub(crate) fn table(oid: u32, name: &str, columns: &[(&str, SqlType)]) -> Arc<TableDef> {
    let columns = columns.iter().zip(1..).map(|((name, ty), id)| ColumnDef {
        not_null: name.ends_with('!'),
        // the number is not the position, so that the two are told apart
        ..ColumnDef::new(*name, id * 10, ty.clone())
    });
    Arc::new(TableDef::new(Oid(oid), "public", name, ObjectId(oid), columns.collect()))
}

/// A session over tables in memory.
pub(crate) struct World {
    pub session: TestSession,
    pub tables: MemoryTables,
    pub catalog: Arc<CatalogSnapshot>,
    pub cancel: Arc<AtomicBool>,
}

#[derive(Default)]
struct Rows {
    types: Vec<SqlType>,
    rows: Vec<Vec<Value>>,
}

impl Sink for Rows {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        batch.check().expect("a sound batch");
        self.rows.extend((0..batch.rows).map(|row| batch.row(row, &self.types)));
        Ok(())
    }
}

impl World {
    pub fn new(build: impl FnOnce(&mut verso_catalog::SnapshotBuilder)) -> Self {
        let mut builder = CatalogSnapshot::builder(1);
        build(&mut builder);
        Self {
            session: TestSession::default(),
            tables: MemoryTables::default(),
            catalog: builder.build(),
            cancel: Arc::default(),
        }
    }

    /// Runs a statement in a frame of its own; rows and count, or SQLSTATE and message.
    pub fn run(&self, statement: &Statement, executor: Executor) -> Result<(Vec<Vec<Value>>, u64), String> {
        let services = self.session.services();
        let cx = ExecContext::new(&self.tables, &self.catalog, &[], &services, &self.cancel, executor);
        let mut rows = Rows {
            types: statement.output().into_iter().map(|column| column.ty).collect(),
            ..Rows::default()
        };
        self.tables.begin_statement().expect("frames open");
        match execute(statement, &cx, &mut rows) {
            Ok(count) => {
                self.tables.end_statement().expect("frames close");
                assert_eq!(self.tables.open_frames(), 0);
                Ok((rows.rows, count))
            }
            Err(error) => {
                self.tables.abort_statement().expect("frames close");
                assert_eq!(self.tables.open_frames(), 0);
                let Described { sqlstate, message, .. } = self.session.describe_error(&error);
                let context = match &error {
                    ExecError::InFunction { context, .. } => format!("\n{context}"),
                    _ => String::new(),
                };
                Err(format!("{sqlstate} {message}{context}"))
            }
        }
    }

    /// Rows of a query by both executors, which agree.
    pub fn query(&self, plan: crate::plan::Plan) -> Result<Vec<Vec<Value>>, String> {
        let statement = Statement::Query(plan);
        let by_rows = self.run(&statement, Executor::Row);
        let by_columns = self.run(&statement, Executor::Vector);
        assert_eq!(format!("{by_rows:?}"), format!("{by_columns:?}"));
        by_rows.map(|(rows, _)| rows)
    }
}
