//! Verso, through its library.

use versodb::{Connection, Database as Versodb, Options, Statement, params};

use super::driver::{Client, Database};
use super::{KeysTask, name_of, value_of};
use crate::BenchError;

fn error(error: versodb::Error) -> BenchError {
    BenchError::engine("verso")(error)
}

/// An open database with the table.
pub struct Verso {
    database: Versodb,
}

impl Verso {
    /// Makes it.
    pub fn create(task: &KeysTask) -> Result<Verso, BenchError> {
        let options = Options::new().buffer_pool(task.pool_bytes);
        let database = Versodb::create(&task.database, options).map_err(error)?;
        let mut connection = database.connect().map_err(error)?;
        connection
            .execute("CREATE TABLE item (id bigint PRIMARY KEY, value bigint, name text)")
            .map_err(error)?;
        Ok(Verso { database })
    }
}

impl Database for Verso {
    type Client = Prepared;
    const WRITERS: bool = true;
    const NAME: &'static str = "verso";

    fn connect(&self) -> Result<Prepared, BenchError> {
        let mut connection = self.database.connect().map_err(error)?;
        let mut prepare = |sql: &str| connection.prepare(sql).map_err(error);
        Ok(Prepared {
            insert: prepare("INSERT INTO item VALUES ($1, $2, $3)")?,
            update: prepare("UPDATE item SET value = value + 1 WHERE id = $1")?,
            find: prepare("SELECT value FROM item WHERE id = $1")?,
            connection,
        })
    }
}

/// A connection and its statements.
pub struct Prepared {
    insert: Statement,
    update: Statement,
    find: Statement,
    connection: Connection,
}

impl Prepared {
    fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        self.connection.execute(sql).map(drop).map_err(error)
    }
}

impl Client for Prepared {
    fn begin(&mut self) -> Result<(), BenchError> {
        self.run("BEGIN")
    }

    fn begin_snapshot(&mut self) -> Result<(), BenchError> {
        self.run("BEGIN ISOLATION LEVEL SNAPSHOT")
    }

    fn commit(&mut self) -> Result<(), BenchError> {
        self.run("COMMIT")
    }

    fn checkpoint(&mut self) -> Result<(), BenchError> {
        self.run("CHECKPOINT")
    }

    fn insert(&mut self, id: u64) -> Result<(), BenchError> {
        let row = params![id.cast_signed(), value_of(id), name_of(id)];
        self.insert.execute(&row).map(drop).map_err(error)
    }

    fn update(&mut self, id: u64) -> Result<u64, BenchError> {
        self.update.execute(&params![id.cast_signed()]).map_err(error)
    }

    fn find(&mut self, id: u64) -> Result<Option<i64>, BenchError> {
        self.find.query_row(&params![id.cast_signed()], |row| row.get(0)).map_err(error)
    }

    fn sums(&mut self) -> Result<(i64, i64), BenchError> {
        let sql = "SELECT count(*), cast(sum(value) AS bigint) FROM item WHERE id < 1000000000000";
        let rows = self.connection.query(sql).map_err(error)?.into_rows();
        Ok((rows[0].get(0).map_err(error)?, rows[0].get::<Option<i64>>(1).map_err(error)?.unwrap_or(0)))
    }
}
