//! The library in this process as a target.

use std::collections::BTreeMap;

use versodb::{Appender, Connection, Database, Statement, Value};

use super::procedures::Call;
use super::rows::Row;
use super::session::{Console, Failure, Fill, Session, Sql, Target, texts};
use crate::BenchError;

fn refused(error: versodb::Error) -> BenchError {
    BenchError::engine("verso")(error)
}

fn failure(error: &versodb::Error) -> Failure {
    Failure { sqlstate: error.sqlstate.to_owned(), message: error.to_string() }
}

/// An open database.
pub(crate) struct Embedded {
    database: Database,
}

impl Embedded {
    /// Takes the database over.
    pub fn new(database: Database) -> Embedded {
        Embedded { database }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Closes it.
    pub fn close(self) -> Result<(), BenchError> {
        self.database.close().map_err(refused)
    }
}

/// A connection with all statements prepared.
pub(crate) struct Prepared {
    statements: Vec<Statement>,
    connection: Connection,
}

impl Prepared {
    fn query(&mut self, at: usize, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        let rows = self.statements[at].query(parameters).map_err(|error| failure(&error))?;
        Ok(rows.into_rows().iter().map(|row| row.values().to_vec()).collect())
    }
}

impl Session for Prepared {
    fn run(&mut self, sql: Sql, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        self.query(sql as usize, parameters)
    }

    fn call(&mut self, call: Call, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        self.query(call as usize, parameters)
    }

    fn control(&mut self, sql: &'static str) -> Result<(), Failure> {
        self.connection.execute(sql).map(drop).map_err(|error| failure(&error))
    }
}

/// A connection for texts that are not prepared.
struct Plain(Connection);

impl Console for Plain {
    fn row(&mut self, sql: &str) -> Result<Vec<String>, BenchError> {
        let rows = self.0.query(sql).map_err(refused)?.into_rows();
        let texts = |row: &versodb::Row| (0..row.values().len()).map(|at| row.text(at)).collect();
        Ok(rows.first().map(texts).unwrap_or_default())
    }
}

impl Target for Embedded {
    type Session = Prepared;

    fn name(&self) -> &str {
        "verso, embedded"
    }

    fn connect(&self, procedures: bool) -> Result<Prepared, BenchError> {
        let mut connection = self.database.connect().map_err(refused)?;
        let prepared =
            texts(procedures).iter().map(|text| connection.prepare(text)).collect::<Result<_, _>>();
        Ok(Prepared { statements: prepared.map_err(refused)?, connection })
    }

    fn console(&self) -> Result<Box<dyn Console>, BenchError> {
        Ok(Box::new(Plain(self.database.connect().map_err(refused)?)))
    }

    fn load(&self, fill: Fill<'_>) -> Result<(), BenchError> {
        // An appender keeps its connection; rows of several tables come in turns.
        let mut appenders: BTreeMap<&'static str, Appender> = BTreeMap::new();
        fill(&mut |table, row| {
            if !appenders.contains_key(table) {
                let mut connection = self.database.connect().map_err(refused)?;
                appenders.insert(table, connection.appender(table, &[]).map_err(refused)?);
            }
            match appenders.get_mut(table) {
                Some(appender) => appender.append(row).map_err(refused),
                None => Ok(()),
            }
        })?;
        appenders.into_values().try_for_each(|appender| appender.finish().map(drop).map_err(refused))
    }

    fn server_nanos(&self) -> Option<u64> {
        None
    }
}
