//! The binary `verso`: shell, server, sweep, check, stat, backup, restore, bench.
//!
//!     command line ─► run_shell ─► shell ─► versodb
//!                ├──► serve ──► verso-server
//!                ├──► tools ──────────────► versodb
//!                ├──► backup ─► verso-backup
//!                ├──► physical ► verso-storage, archive/
//!                └──► verso-bench, which runs this binary again for each measurement

mod args;
mod backup;
mod demo;
mod interrupt;
mod live;
mod physical;
mod remote;
mod run_shell;
mod serve;
mod server_stat;
mod shell;
mod tools;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches};

use args::{ArchiveTask, Arguments, Task};
use run_shell::EXIT_USAGE;

/// What the system refuses comes from a region that was set aside, and ends statements instead of the process.
#[global_allocator]
static MEMORY: verso_env::spare::Spare<std::alloc::System> =
    verso_env::spare::Spare::over(std::alloc::System);

fn main() -> ExitCode {
    if !MEMORY.prepare() {
        eprintln!("verso: error: the system has no memory");
        return ExitCode::FAILURE;
    }
    if let Err(error) = interrupt::outlive_file_limit() {
        eprintln!("verso: error: {error}");
        return ExitCode::from(EXIT_USAGE);
    }
    // Not `Arguments::parse()`: the order of --file and --command is known to the matches alone.
    let parsed = Arguments::command()
        .try_get_matches()
        .and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    let (arguments, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let code = if error.use_stderr() { EXIT_USAGE } else { 0 };
            // Help that nobody reads is no failure.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match &arguments.task {
        Task::Shell(shell) => {
            let matches = matches.subcommand_matches("shell").expect("the subcommand is shell");
            run_shell::run(shell, matches)
        }
        Task::Sweep(sweep) => tools::sweep(sweep),
        Task::ReindexCollations(arguments) => tools::reindex_collations(arguments),
        Task::Check(database) => tools::check(database),
        Task::Stat(stat) => match (&stat.database, &stat.server) {
            (_, Some(server)) if stat.live => {
                live::run(server, Duration::from_secs_f64(stat.interval), stat.count)
            }
            (_, Some(server)) => server_stat::run(server),
            (Some(database), None) => tools::stat(database, stat.pool_bytes),
            (None, None) => ExitCode::from(EXIT_USAGE), // the parser asks for one of them
        },
        Task::Serve(serve) => serve::run(serve),
        Task::Backup(arguments) if arguments.physical => physical::back_up(arguments),
        Task::Restore(arguments) if arguments.physical => physical::restore(arguments),
        Task::Archive { task: ArchiveTask::Verify { archive, base } } => physical::verify(archive, base),
        Task::Archive { task: ArchiveTask::Prune { archive, kept, dry_run } } => {
            physical::prune(archive, kept, *dry_run)
        }
        Task::Backup(arguments) => backup::run_backup(arguments),
        Task::Restore(arguments) => backup::run_restore(arguments),
        Task::Bench { workload } => {
            clean_up_when_interrupted();
            // Terminals are connections of this process, too.
            verso_env::process::raise_open_files();
            bench(verso_bench::run(workload))
        }
        Task::BenchChild { task } => bench(verso_bench::run_child(task)),
    }
}

/// The world of the tools: the disk, and the object stores that this binary was built with.
fn environment() -> verso_env::Env {
    let env = verso_env::Env::real();
    #[cfg(feature = "s3")]
    let env = verso_objects::with_object_stores(env);
    env
}

/// A benchmark that a signal ends leaves no folder behind, and no server.
fn clean_up_when_interrupted() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    match signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        Ok(mut signals) => {
            let env = verso_env::Env::real();
            env.spawn("verso-signals", move || {
                if let Some(signal) = signals.forever().next() {
                    verso_bench::give_up();
                    std::process::exit(128 + signal);
                }
            });
        }
        Err(error) => eprintln!("verso: warning: Ctrl-C leaves the benchmark's folder behind: {error}"),
    }
}

fn bench(result: Result<(), verso_bench::BenchError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("verso: error: {error}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}
