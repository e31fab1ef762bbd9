//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use verso_backup::Compression;

/// The relational database Verso: shell, tools, benchmarks.
#[derive(Debug, Parser)]
#[command(
    name = "verso",
    version,
    about = "Verso, a relational database: shell, server, tools, benchmarks",
    max_term_width = 110
)]
pub struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub task: Task,
}

/// The tools of the binary.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Open a database and answer SQL
    Shell(ShellArguments),
    /// Remove what dead transactions left and nobody sees any more
    Sweep(SweepArguments),
    /// Build the indexes anew that a release with other collations has made
    #[command(name = "reindex-collations")]
    ReindexCollations(SweepArguments),
    /// Read every page and prove the rules of the file format
    Check(DatabaseArguments),
    /// Show the markers, the space and the log
    Stat(StatArguments),
    /// Serve a database to clients of PostgreSQL's protocol
    Serve(ServeArguments),
    /// Save a database, while it is used, to one archive or as SQL
    Backup(BackupArguments),
    /// Make a database of an archive, or put tables of it into one
    Restore(RestoreArguments),
    /// The archive of the log
    Archive {
        /// What to do with it
        #[command(subcommand)]
        task: ArchiveTask,
    },
    /// Measure a published experiment beside other databases
    Bench {
        /// Which
        #[command(subcommand)]
        workload: verso_bench::Workload,
    },
    /// One task of a benchmark, in a process of its own
    #[command(name = "bench-child", hide = true)]
    BenchChild {
        /// As JSON
        task: String,
    },
}

/// `verso archive`
#[derive(Debug, Subcommand)]
pub enum ArchiveTask {
    /// Read all of an archive, and prove that it can be restored from
    Verify {
        /// The folder that archive_target names
        archive: PathBuf,
        /// A base backup, and increments upon it in their order: their pages are read, too, and the log that goes on behind
        base: Vec<PathBuf>,
    },
    /// Remove the log that none of these backups needs
    Prune {
        /// The folder that archive_target names
        archive: PathBuf,
        /// The base backups and increments that are kept
        #[arg(required = true)]
        kept: Vec<PathBuf>,
        /// Say what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// `verso shell`
#[derive(Debug, Args)]
pub struct ShellArguments {
    /// The database, made if it is missing; or a server, postgres://USER@HOST:PORT/DATABASE
    pub database: Option<PathBuf>,
    /// Run a script, - for standard input; may be repeated, also between --command
    #[arg(short, long, value_name = "SCRIPT")]
    pub file: Vec<PathBuf>,
    /// Run statements; may be repeated
    #[arg(short, long, value_name = "SQL")]
    pub command: Vec<String>,
    /// Fill a new database with sample data; without a database, a temporary one
    #[arg(long)]
    pub demo: bool,
    /// How pages are cached, and made
    #[command(flatten)]
    pub pages: PageArguments,
}

/// Sizes of pages and pool.
#[derive(Clone, Debug, Args)]
pub struct PageArguments {
    /// Bytes of a page of a new database: 4096, 8192, 16384 or 32768
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// Bytes of the buffer pool; a quarter of the machine's memory without it
    #[arg(long, value_name = "BYTES", value_parser = pool_bytes)]
    pub pool_bytes: Option<u64>,
    /// Open a database whose log is damaged, without what stands behind the damage: that is lost then
    #[arg(long)]
    pub open_damaged_log: bool,
}

/// `verso serve`
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The database; made if it is missing. A folder: each file NAME.verso in it is a database; FOLDER/ makes one
    pub database: PathBuf,
    /// Address to listen on; may be repeated; 127.0.0.1:5432 if nothing is said
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Vec<String>,
    /// Address at which Prometheus asks for figures, at /metrics; nowhere if nothing is said. May be repeated
    #[arg(long, value_name = "HOST:PORT")]
    pub metrics: Vec<String>,
    /// Directory for the Unix socket .s.PGSQL.PORT
    #[arg(long, value_name = "DIRECTORY")]
    pub socket: Option<PathBuf>,
    /// Settings, one `name = value` a line; read again on SIGHUP
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One setting, behind those of the file; may be repeated
    #[arg(short = 'c', value_name = "NAME=VALUE")]
    pub setting: Vec<String>,
    /// How pages are cached, and made
    #[command(flatten)]
    pub pages: PageArguments,
}

/// A tool's database.
#[derive(Debug, Args)]
pub struct DatabaseArguments {
    /// The database
    pub database: PathBuf,
    /// How pages are cached
    #[arg(long, value_name = "BYTES", value_parser = pool_bytes)]
    pub pool_bytes: Option<u64>,
    /// Open a database whose log is damaged, without what stands behind the damage: that is lost then
    #[arg(long)]
    pub open_damaged_log: bool,
}

/// `verso stat`
#[derive(Debug, Args)]
pub struct StatArguments {
    /// The database
    #[arg(required_unless_present = "server")]
    pub database: Option<PathBuf>,
    /// Ask a running server: HOST:PORT, postgres://USER:PASSWORD@HOST:PORT/DATABASE, or host=… port=… user=… password=…
    #[arg(long, value_name = "CONNECTION", conflicts_with = "database")]
    pub server: Option<String>,
    /// How pages are cached
    #[arg(long, value_name = "BYTES", value_parser = pool_bytes)]
    pub pool_bytes: Option<u64>,
    /// Show rates on a page that is drawn anew, of a running server
    #[arg(long, requires = "server")]
    pub live: bool,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, requires = "live", value_parser = interval)]
    pub interval: f64,
    /// So many pages, then end
    #[arg(long, value_name = "PAGES", requires = "live")]
    pub count: Option<u64>,
}

/// How a backup or a restore is watched.
#[derive(Clone, Debug, Args)]
pub struct WatchArguments {
    /// Say on standard error what is done
    #[arg(short, long)]
    pub verbose: bool,
    /// Write what is done to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// A line for every so many rows of a table
    #[arg(long, value_name = "ROWS", default_value_t = 1_000_000)]
    pub verbint: u64,
    /// Figures in front of each line: t seconds since the beginning, d since the line before, r pages read, w pages
    /// written since then; without --log as --verbose
    #[arg(long, value_name = "tdrw")]
    pub stat: Option<Columns>,
}

/// The figures that `--stat` asks for, each at most once; they stand in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Seconds since the beginning.
    pub total: bool,
    /// Seconds since the line before.
    pub delta: bool,
    /// Pages read since the line before.
    pub reads: bool,
    /// Pages written since the line before.
    pub writes: bool,
}

impl std::str::FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Columns, String> {
        let mut columns = Columns::default();
        for letter in text.chars() {
            let column = match letter.to_ascii_lowercase() {
                't' => &mut columns.total,
                'd' => &mut columns.delta,
                'r' => &mut columns.reads,
                'w' => &mut columns.writes,
                _ => return Err(format!("unknown figure {letter}: t, d, r and w are known")),
            };
            if std::mem::replace(column, true) {
                return Err(format!("{letter} stands there twice"));
            }
        }
        if columns == Columns::default() { Err("t, d, r or w is wanted".to_owned()) } else { Ok(columns) }
    }
}

/// What a backup is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BackupFormat {
    /// An archive for verso restore
    #[default]
    Archive,
    /// Statements for psql and verso shell
    Sql,
    /// A folder of Parquet files, with the statements that load them
    Parquet,
}

/// `verso backup`
#[derive(Debug, Args)]
pub struct BackupArguments {
    /// The database: its file, or with --server its name there
    pub database: PathBuf,
    /// The archive, or the folder of Parquet files; - for standard output
    pub file: PathBuf,
    /// A base backup: FILE is a new folder, with the pages and the log that makes them consistent; with --server one of the server's machine, or
    /// s3://…
    #[arg(long, conflicts_with_all = ["table", "schema_only", "data_only", "format", "replace", "compress"])]
    pub physical: bool,
    /// Save only the pages that have changed since the base backup, or increment, in this folder
    #[arg(long, value_name = "FOLDER", requires = "physical")]
    pub incremental_from: Option<PathBuf>,
    /// Save a database of a running server: HOST:PORT, postgres://USER:PASSWORD@HOST:PORT, or host=… port=… user=…;
    /// without a password there, PGPASSWORD
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["no_gc", "pool_bytes"])]
    pub server: Option<String>,
    /// Threads that read and pack; without it as many as there are processors
    #[arg(long, value_name = "THREADS", value_parser = threads)]
    pub parallel: Option<usize>,
    /// zstd, zstd:1 to zstd:22, lz4 or none; lz4 if nothing is said
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "zstd")]
    pub compress: Option<Compression>,
    /// Only this table, schema.table or table; may be repeated
    #[arg(long, value_name = "TABLE")]
    pub table: Vec<String>,
    /// No rows
    #[arg(long, conflicts_with = "data_only")]
    pub schema_only: bool,
    /// No definitions
    #[arg(long)]
    pub data_only: bool,
    /// Remove no garbage meanwhile
    #[arg(long)]
    pub no_gc: bool,
    /// An archive, SQL, or a folder of Parquet files
    #[arg(long, value_enum, default_value_t)]
    pub format: BackupFormat,
    /// Replace FILE if it is there
    #[arg(long)]
    pub replace: bool,
    /// How pages are cached
    #[arg(long, value_name = "BYTES", value_parser = pool_bytes)]
    pub pool_bytes: Option<u64>,
    /// How it is watched
    #[command(flatten)]
    pub watch: WatchArguments,
}

/// `verso restore`
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The archive; - for standard input
    pub file: PathBuf,
    /// The database; it must not be there, unless --table or --data-only says what of it is meant
    #[arg(required_unless_present = "verify")]
    pub database: Option<PathBuf>,
    /// FILE is a base backup, of which a new database is made
    #[arg(long, conflicts_with_all = ["verify", "table", "schema_only", "data_only", "page_size"])]
    pub physical: bool,
    /// An increment upon the base, or upon the one before; may be repeated, in their order
    #[arg(long, value_name = "FOLDER", requires = "physical")]
    pub increment: Vec<PathBuf>,
    /// Replay the log in this archive upon the base
    #[arg(long, value_name = "FOLDER", requires = "physical")]
    pub archive: Option<PathBuf>,
    /// Restore what was committed at this time, such as '2026-01-31 12:00:00+01'; UTC without a zone
    #[arg(long, value_name = "TIME", requires = "archive", conflicts_with = "to_lsn")]
    pub to_time: Option<String>,
    /// Restore what was logged before this LSN: a number, or '0/1BA0D2F' as SQL shows it
    #[arg(long, value_name = "LSN", requires = "physical", value_parser = lsn)]
    pub to_lsn: Option<u64>,
    /// Restore what was logged before this restore point (pg_create_restore_point)
    #[arg(long, value_name = "NAME", requires = "physical", conflicts_with_all = ["to_lsn", "to_time"])]
    pub to_name: Option<String>,
    /// Read the whole archive and compare every checksum; write nothing
    #[arg(long, conflicts_with_all = ["database", "table", "schema_only", "data_only"])]
    pub verify: bool,
    /// Threads that unpack, insert and build indexes; without it as many as there are processors
    #[arg(long, value_name = "THREADS", value_parser = threads)]
    pub parallel: Option<usize>,
    /// Only this table, schema.table or table; may be repeated
    #[arg(long, value_name = "TABLE")]
    pub table: Vec<String>,
    /// No rows
    #[arg(long, conflicts_with = "data_only")]
    pub schema_only: bool,
    /// No definitions
    #[arg(long)]
    pub data_only: bool,
    /// Leave out what fails, and tell all of it at the end; the exit code is 3 then
    #[arg(long, conflicts_with_all = ["verify", "physical"])]
    pub continue_on_error: bool,
    /// Bytes of a page of the new database, 4096, 8192, 16384 or 32768, instead of the archive's
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// How pages are cached
    #[arg(long, value_name = "BYTES", value_parser = pool_bytes)]
    pub pool_bytes: Option<u64>,
    /// How it is watched
    #[command(flatten)]
    pub watch: WatchArguments,
}

/// `verso sweep`, `verso reindex-collations`
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// The database
    #[command(flatten)]
    pub database: DatabaseArguments,
    /// Threads that work; one for each processor without it
    #[arg(long, value_name = "WORKERS", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub parallel: Option<u32>,
}

/// An LSN as a number, or in two parts of sixteen.
fn lsn(text: &str) -> Result<u64, String> {
    let Some((high, low)) = text.split_once('/') else {
        return text.parse().map_err(|error| format!("{error}"));
    };
    let part = |text: &str| u32::from_str_radix(text, 16).map_err(|error| format!("{error}"));
    Ok(u64::from(part(high)?) << 32 | u64::from(part(low)?))
}

/// Bytes of a pool: as many as the setting `buffer_pool` takes at least.
fn pool_bytes(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<u64>().map_err(|error| format!("{error}"))?;
    if bytes >= 1 << 20 { Ok(bytes) } else { Err("at least 1048576 bytes".to_owned()) }
}

/// Threads that share a job.
fn threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|threads| (1..=1024).contains(threads));
    threads.ok_or_else(|| "between 1 and 1024 threads".to_owned())
}

/// Seconds between two looks at a server.
fn interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "between 0.1 and 3600 seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn figures_are_chosen_by_letters() {
        let all: super::Columns = "wRtd".parse().unwrap();
        assert!(all.total && all.delta && all.reads && all.writes);
        let two: super::Columns = "td".parse().unwrap();
        assert!(two.total && two.delta && !two.reads && !two.writes);
        for wrong in ["", "x", "tt"] {
            assert!(wrong.parse::<super::Columns>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }

    #[test]
    fn counts_of_threads_and_sizes_of_pools_have_bounds() {
        assert_eq!(super::threads("1"), Ok(1));
        assert!(super::threads("0").is_err() && super::threads("1025").is_err());
        assert_eq!(super::pool_bytes("1048576"), Ok(1 << 20));
        assert!(super::pool_bytes("1").is_err());
    }

    #[test]
    fn lsns_are_read_as_numbers_and_as_sql_shows_them() {
        assert_eq!(super::lsn("28970287"), Ok(0x1BA_0D2F));
        assert_eq!(super::lsn("0/1BA0D2F"), Ok(0x1BA_0D2F));
        assert_eq!(super::lsn("2/10"), Ok((2 << 32) + 16));
        assert!(super::lsn("x/1").is_err());
    }
}
