//! Prepared statements.

use std::borrow::Cow;
use std::sync::Arc;

use verso_session::{CommandTag, Notice, OutputColumn, Prepared, StatementSink};
use verso_types::{Batch, SqlType, Value};

use crate::connection::{Collector, Inner};
use crate::convert::{FromValue, read};
use crate::{ColumnIndex, Error, Rows};

/// A statement parsed and planned once, to be executed with different parameters; see
/// [`Connection::prepare`](crate::Connection::prepare).
///
/// It works on its connection, in whatever transaction that is in, and outlives changes of the schema: then it is
/// planned again. Cheap to clone; several threads may share it, one at a time executes.
///
/// ```
/// # use versodb::{Database, Options, params};
/// # fn main() -> Result<(), versodb::Error> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let database = Database::create(directory.path().join("s.verso"), Options::new())?;
/// let mut connection = database.connect()?;
/// connection.execute("CREATE TABLE item (id bigint, name text)")?;
///
/// let insert = connection.prepare("INSERT INTO item VALUES ($1, $2)")?;
/// insert.execute(&params![1, "tea"])?;
/// insert.execute_batch([params![2, "coffee"], params![3, "cake"]])?; // one transaction, one statement
///
/// let find = connection.prepare("SELECT name FROM item WHERE id = $1")?;
/// let name: Option<String> = find.query_row(&params![2], |row| row.get(0))?;
/// assert_eq!(name.as_deref(), Some("coffee"));
///
/// for row in find.query(&params![3])? {
///     assert_eq!(row.get::<String>("name")?, "cake");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Statement {
    inner: Arc<Inner>,
    prepared: Arc<Prepared>,
}

impl Statement {
    pub(crate) fn new(inner: Arc<Inner>, prepared: Arc<Prepared>) -> Statement {
        Statement { inner, prepared }
    }

    /// Types of `$1`, `$2` …, as their first uses in the statement say.
    pub fn params(&self) -> &[SqlType] {
        self.prepared.params()
    }

    /// What it yields; none if it yields no rows.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.prepared.columns()
    }

    /// Executes it and gives how many rows it inserted, changed, deleted or gave. Integers are widened or narrowed to
    /// the parameters' types, texts are read as PostgreSQL reads them.
    ///
    /// # Errors
    /// The statement's; 08P01 for another number of parameters.
    pub fn execute(&self, params: &[Value]) -> Result<u64, Error> {
        self.inner.session().run(&self.prepared, params, &mut Nothing)
    }

    /// Executes it once for each set of parameters, as one statement: if one fails, none of them has happened. Rows of an
    /// INSERT reach the table many at a time. Gives the number of rows of all.
    ///
    /// # Errors
    /// As [`Statement::execute`].
    pub fn execute_batch<S: Into<Vec<Value>>>(
        &self,
        sets: impl IntoIterator<Item = S>,
    ) -> Result<u64, Error> {
        let sets = sets.into_iter().map(Into::into).collect();
        self.inner.session().run_sets(&self.prepared, sets, &mut Nothing)
    }

    /// Executes it and gives its rows.
    ///
    /// # Errors
    /// As [`Statement::execute`].
    pub fn query(&self, params: &[Value]) -> Result<Rows, Error> {
        let mut sink = Collector::default();
        let mut session = self.inner.session();
        session.run(&self.prepared, params, &mut sink)?;
        Ok(sink.into_rows(session.timezone().clone()))
    }

    /// Executes it and reads its first row in place, the quickest way to look something up; `None` without a row.
    ///
    /// # Errors
    /// As [`Statement::execute`], and those of `read`.
    pub fn query_row<T>(
        &self,
        params: &[Value],
        read: impl FnMut(&RowRef<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let mut sink =
            First { columns: Cow::Borrowed(self.prepared.columns().unwrap_or_default()), read, found: None };
        self.inner.session().run(&self.prepared, params, &mut sink)?;
        Ok(sink.found)
    }

    /// Executes it and calls `each` with every row as it comes; nothing is kept, so the result may be larger than memory.
    /// The connection is busy until it ends.
    ///
    /// # Errors
    /// As [`Statement::execute`], and those of `each`, which end the statement.
    pub fn query_each(
        &self,
        params: &[Value],
        each: impl FnMut(&RowRef<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut sink = Each { columns: Cow::Borrowed(self.prepared.columns().unwrap_or_default()), each };
        self.inner.session().run(&self.prepared, params, &mut sink)
    }
}

/// A row of a result, where it stands; see [`Statement::query_row`].
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'r> {
    columns: &'r [OutputColumn],
    batch: &'r Batch,
    row: usize,
}

impl RowRef<'_> {
    /// The value of a column, named by its position from 0 or by its name.
    ///
    /// # Errors
    /// As [`Row::get`](crate::Row::get).
    pub fn get<T: FromValue>(&self, column: impl ColumnIndex) -> Result<T, Error> {
        let at = column.find(self.columns)?;
        let output = &self.columns[at];
        read(&self.batch.columns[at].value(self.row, &output.ty), &output.name, &output.ty)
    }

    /// The columns: their names and types.
    pub fn columns(&self) -> &[OutputColumn] {
        self.columns
    }
}

/// Wants no rows.
struct Nothing;

/// Reads the first row.
struct First<'c, T, F> {
    columns: Cow<'c, [OutputColumn]>,
    read: F,
    found: Option<T>,
}

/// Reads every row.
struct Each<'c, F> {
    columns: Cow<'c, [OutputColumn]>,
    each: F,
}

/// Notes the columns that rows come with: a type of users may be defined otherwise than when the statement was prepared.
fn note(known: &mut Cow<'_, [OutputColumn]>, columns: &[OutputColumn]) {
    if !std::ptr::eq(&**known, columns) && **known != *columns {
        *known = Cow::Owned(columns.to_vec());
    }
}

macro_rules! quiet {
    () => {
        fn complete(&mut self, _: &CommandTag) -> Result<(), Error> {
            Ok(())
        }

        fn notice(&mut self, _: &Notice) -> Result<(), Error> {
            Ok(())
        }
    };
}

impl StatementSink for Nothing {
    quiet!();

    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), Error> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), Error> {
        Ok(())
    }
}

impl<T, F: FnMut(&RowRef<'_>) -> Result<T, Error>> StatementSink for First<'_, T, F> {
    quiet!();

    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        note(&mut self.columns, columns);
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        if self.found.is_none() && batch.rows > 0 {
            self.found = Some((self.read)(&RowRef { columns: &self.columns, batch, row: 0 })?);
        }
        Ok(())
    }
}

impl<F: FnMut(&RowRef<'_>) -> Result<(), Error>> StatementSink for Each<'_, F> {
    quiet!();

    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        note(&mut self.columns, columns);
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        (0..batch.rows).try_for_each(|row| (self.each)(&RowRef { columns: &self.columns, batch, row }))
    }
}
