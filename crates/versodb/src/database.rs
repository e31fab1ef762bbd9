//! An open database.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use verso_session::{Background, Instance, Session};
use verso_storage::recovery::{is_unborn, remove_new};
use verso_storage::{
    Engine, EngineStatistics, Markers, SpaceReport, StorageError, SweepOptions, SweepProgress, SweepReport,
};

use crate::{Connection, Error, Options};

/// An open database: a file, and its log beside it. One process has it open at a time, with as many connections and
/// threads as it likes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Database {
    /// Ends before the instance goes.
    background: Arc<Background>,
    instance: Arc<Instance>,
}

impl Database {
    /// Creates a database.
    ///
    /// # Errors
    /// 58P01 … if there is a file of that name already that has something in it, or it cannot be written. Nothing is left of it then.
    pub fn create(path: impl AsRef<Path>, mut options: Options) -> Result<Database, Error> {
        let member = options.place();
        let engine = Engine::create(options.env.clone(), path.as_ref(), options.engine)?;
        let made = match options.unfinished {
            true => Instance::create_unfinished(engine, member),
            false => Instance::create(engine, member),
        };
        let instance = made.inspect_err(|_| {
            // The first error is the one that is told. What cannot be removed says that its creation did not end.
            let _ = remove_new(&options.env, path.as_ref());
        })?;
        Ok(Database::of(instance, options.auto_analyze))
    }

    /// Whether there is nothing to open at `path`: no file, or one whose creation did not end, on a full disk for example, and that holds
    /// nothing. [`Database::create`] makes a database there.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn is_missing(path: impl AsRef<Path>, options: &Options) -> Result<bool, Error> {
        let path = path.as_ref();
        let there = options.env.vfs.exists(path);
        let there =
            there.map_err(|error| StorageError::io(format!("looking for {}", path.display()), error))?;
        // What cannot be read is there: opening it says why.
        Ok(!there || is_unborn(&options.env, path).unwrap_or(false))
    }

    /// Opens an existing database. After a crash it is as it was when the last commit was acknowledged.
    ///
    /// # Errors
    /// If there is no such file, another process has it open, it is no database or a damaged one.
    pub fn open(path: impl AsRef<Path>, mut options: Options) -> Result<Database, Error> {
        let member = options.place();
        let engine = Engine::open(options.env.clone(), path.as_ref(), options.engine)?;
        let instance = Instance::open(engine, member)?;
        if !options.unfinished && instance.is_unfinished()? {
            let message = format!("database \"{}\" is unfinished", path.as_ref().display());
            return Err(Error::new("55000", message)
                .with_detail("A restore into it has begun and not ended.")
                .with_hint("Run the restore again: it goes on with what is there, or replaces it."));
        }
        Ok(Database::of(instance, options.auto_analyze))
    }

    /// The database that a server has open: what is done here is done there. For tools that run within a server.
    pub fn over(instance: &Arc<Instance>) -> Database {
        Database { background: Arc::default(), instance: Arc::clone(instance) }
    }

    fn of(instance: Instance, analyzes: bool) -> Database {
        #[cfg(feature = "parquet")]
        verso_parquet::provide();
        let instance = Arc::new(instance);
        let analyzes = analyzes && instance.engine.options().background;
        let background = if analyzes { Background::start(&instance) } else { Background::default() };
        Database { background: Arc::new(background), instance }
    }

    /// Analyzes the tables of which enough rows have changed, as the background does by itself; see
    /// [`Options::auto_analyze`].
    ///
    /// # Errors
    /// Those of storage.
    pub fn analyze_changed(&self) -> Result<(), Error> {
        self.instance.analyze_changed()
    }

    /// Whether a restore into this database has begun and not ended; see [`Options::unfinished`].
    ///
    /// # Errors
    /// Those of storage.
    pub fn is_unfinished(&self) -> Result<bool, Error> {
        self.instance.is_unfinished()
    }

    /// Ends a restore: from now on the database can be opened by everybody.
    ///
    /// # Errors
    /// Those of storage.
    pub fn finish(&self) -> Result<(), Error> {
        self.instance.finish()
    }

    /// Opens the database, or creates it if there is no such file, or one that holds nothing.
    ///
    /// # Errors
    /// As [`Database::create`] and [`Database::open`].
    pub fn open_or_create(path: impl AsRef<Path>, options: Options) -> Result<Database, Error> {
        if Database::is_missing(&path, &options)? {
            Database::create(path, options)
        } else {
            Database::open(path, options)
        }
    }

    /// A new connection: a session with settings and transactions of its own.
    ///
    /// # Errors
    /// 08003 if the database was closed.
    pub fn connect(&self) -> Result<Connection, Error> {
        Ok(Connection::new(Session::new(Arc::clone(&self.instance)), Arc::clone(&self.background)))
    }

    /// Closes the database: everything committed is in the file, so that the next open has nothing to recover.
    ///
    /// Dropping the last clone closes too, but cannot tell what went wrong.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn close(self) -> Result<(), Error> {
        self.background.stop();
        Ok(self.instance.engine.close()?)
    }

    /// What the connections share; for servers, which make sessions of their own.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// How many indexes are out of use because they were built with other data of collations than this program has: `REINDEX
    /// COLLATIONS` builds them anew.
    ///
    /// # Errors
    /// Those of reading the catalog.
    pub fn outdated_indexes(&self) -> Result<usize, Error> {
        self.instance.outdated_indexes()
    }

    /// Objects whose definitions could not be read, and what definitions name by number and is not there, told one by one: nothing
    /// in a sound database.
    ///
    /// # Errors
    /// Those of reading the catalog; `XX001` where its rows make no catalog.
    pub fn catalog_problems(&self) -> Result<Vec<String>, Error> {
        let lost = self.instance.losses()?.into_iter();
        let damage = lost.chain(self.instance.damage()?.into_iter().map(|one| one.to_string()));
        Ok(damage.chain(self.instance.dangling()?.iter().map(ToString::to_string)).collect())
    }

    /// What stands between SQL and the pages; for tools.
    pub fn engine(&self) -> &Engine {
        &self.instance.engine
    }

    /// Removes what dead transactions and old versions have left; `progress` may stop it.
    ///
    /// # Errors
    /// Those of storage.
    pub fn sweep(
        &self,
        options: SweepOptions,
        progress: &mut dyn FnMut(SweepProgress) -> ControlFlow<()>,
    ) -> Result<SweepReport, Error> {
        Ok(self.instance.engine.sweep(options, progress)?)
    }

    /// Waits until everything that is committed is on disk: commits of `COMMIT WRITE NOWAIT`, or of
    /// `synchronous_commit = off`, among them. Other connections may go on meanwhile.
    ///
    /// # Errors
    /// 58030 if the log could not be written.
    pub fn wait_durable(&self) -> Result<(), Error> {
        self.instance.wait_durable().map(drop)
    }

    /// Writes all changed pages, so that the log before can go.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn checkpoint(&self) -> Result<(), Error> {
        Ok(self.instance.engine.checkpoint()?)
    }

    /// The four markers: next transaction, oldest active, oldest snapshot, oldest not committed.
    pub fn markers(&self) -> Markers {
        self.instance.engine.markers()
    }

    /// Counters since the database was opened.
    pub fn statistics(&self) -> EngineStatistics {
        self.instance.engine.statistics()
    }

    /// Where the pages of the file have gone.
    pub fn space(&self) -> SpaceReport {
        self.instance.engine.space()
    }
}
