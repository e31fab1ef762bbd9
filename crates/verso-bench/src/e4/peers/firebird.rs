//! Firebird, the experiment's own, by its tools on a file of their own: `isql`, `gbak`, `gfix`. Their seconds include that they start
//! and connect. Before Firebird 5 they have one worker; how many an index gets, `firebird.conf` says in any case.

use std::path::Path;
use std::process::Command;

use verso_env::Env;

use super::super::words::{Comparison, INDEX};
use super::super::{Backup, E4Task, Found, Restore};
use super::program;
use crate::BenchError;

pub(in crate::e4) const NAME: &str = "firebird";
/// A program of this name may be another one's, of ODBC.
const SHELLS: [&str; 2] = ["isql-fb", "isql"];
/// The first release with workers.
const PARALLEL_SINCE: u32 = 5;

/// Its shell and its release; what is missing, where it is not here.
pub(in crate::e4) fn find(env: &Env) -> Result<(&'static str, u32), String> {
    for tool in ["gbak", "gfix"] {
        // Without work to do they fail, having said who they are.
        if let Err(error) = Command::new(tool).arg("-z").stdin(std::process::Stdio::null()).output() {
            return Err(format!("{tool}: {error}"));
        }
    }
    for shell in SHELLS {
        let mut asked = tool(shell);
        let Ok((_, text)) = program(env, asked.args(["-z", "-q"])) else { continue };
        let release = text.split_once("-V").and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
        if let Some(release) = release.filter(|_| text.contains("Firebird")) {
            return Ok((shell, release));
        }
    }
    Err(format!("neither {} is Firebird's", SHELLS.join(" nor ")))
}

/// A tool as the owner of what it makes.
fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    if std::env::var_os("ISC_USER").is_none() {
        command.env("ISC_USER", "SYSDBA");
    }
    command
}

struct Tools<'e> {
    env: &'e Env,
    shell: &'static str,
    database: std::path::PathBuf,
}

impl Tools<'_> {
    fn run(&self, command: &mut Command) -> Result<(f64, String), BenchError> {
        program(self.env, command).map_err(|message| BenchError::Engine { engine: NAME, message })
    }

    /// Runs a script in the database: seconds, and its output.
    fn script(&self, script: &str) -> Result<(f64, String), BenchError> {
        let file = self.database.with_extension("sql");
        let connect = format!("CONNECT '{}';\n", self.database.display());
        let head = if script.starts_with("CREATE DATABASE") { "" } else { &connect };
        std::fs::write(&file, format!("{head}{script}")).map_err(BenchError::file(&file))?;
        self.run(tool(self.shell).args(["-q", "-b", "-i"]).arg(&file))
    }
}

/// Measures what there is to measure.
pub(in crate::e4) fn run(env: &Env, task: &E4Task) -> Result<Found, BenchError> {
    let (shell, release) = find(env).map_err(|message| BenchError::Engine { engine: NAME, message })?;
    let tools = Tools { env, shell, database: task.folder.join("e4.fdb") };
    let (saved, restored) = (task.folder.join("e4.fbk"), task.folder.join("e4-restored.fdb"));
    let mut found = Found::default();
    let workers = |found: &mut Found| -> Vec<usize> {
        if release < PARALLEL_SINCE && task.workers.iter().any(|workers| *workers > 1) {
            let why = format!("Firebird {release} has one, {PARALLEL_SINCE} has more");
            found.skipped.insert("several workers".to_owned(), why);
            return vec![1];
        }
        task.workers.clone()
    };
    let workers = workers(&mut found);
    let _ = std::fs::remove_file(&tools.database);
    tools.script(&format!(
        "CREATE DATABASE '{}' PAGE_SIZE 8192 DEFAULT CHARACTER SET UTF8;
         CREATE TABLE word_dictionary (code_dictionary bigint NOT NULL, name varchar(100) NOT NULL, code_parent bigint);
         COMMIT;",
        tools.database.display()
    ))?;
    (found.load_s, _) = tools.script(&insert(task.rows))?;
    tools.script("ALTER TABLE word_dictionary ADD PRIMARY KEY (code_dictionary); COMMIT;")?;
    tools.script("SELECT count(*) FROM word_dictionary;")?;
    let (seconds, _) = tools.script(&format!("{INDEX}; COMMIT;"))?;
    found.index.insert(1, seconds);
    found.bytes = bytes(&tools.database)?;
    for workers in &workers {
        tools.run(&mut parallel(&["-sweep"], "gfix", *workers, &[&tools.database]))?;
        tools.script("UPDATE word_dictionary SET name = name; ROLLBACK;")?;
        let (seconds, _) = tools.run(&mut parallel(&["-sweep"], "gfix", *workers, &[&tools.database]))?;
        found.sweep.insert(*workers, seconds);
    }
    let mut backup = Backup::default();
    for workers in &workers {
        let _ = std::fs::remove_file(&saved);
        let mut command = parallel(&["-b", "-g"], "gbak", *workers, &[&tools.database, &saved]);
        backup.seconds.insert(*workers, tools.run(&mut command)?.0);
    }
    backup.bytes = bytes(&saved)?;
    found.backup.insert("gbak".to_owned(), backup);
    for workers in &workers {
        let _ = std::fs::remove_file(&restored);
        let switches = ["-c", "-v", "-st", "t"];
        let (s, told) = tools.run(&mut parallel(&switches, "gbak", *workers, &[&saved, &restored]))?;
        let data_s = data_seconds(&told).unwrap_or(s);
        found.restore.insert(*workers, Restore { data_s, index_s: s - data_s, s });
        compare(&Tools { env, shell, database: restored.clone() }, task.rows)?;
    }
    for file in [&tools.database, &saved, &restored] {
        std::fs::remove_file(file).map_err(BenchError::file(file))?;
    }
    Ok(found)
}

fn parallel(switches: &[&str], name: &str, workers: usize, files: &[&Path]) -> Command {
    let mut command = tool(name);
    command.args(switches);
    if workers > 1 {
        command.args(["-parallel", &workers.to_string()]);
    }
    command.args(files);
    command
}

fn bytes(path: &Path) -> Result<u64, BenchError> {
    Ok(std::fs::metadata(path).map_err(BenchError::file(path))?.len())
}

/// Seconds up to the first index, of what `gbak -v -st t` tells.
fn data_seconds(told: &str) -> Option<f64> {
    let line = told.lines().find(|line| line.contains("creating indexes"))?;
    line.strip_prefix("gbak:")?.split_whitespace().next()?.parse().ok()
}

/// The words by the same formula.
fn insert(rows: u64) -> String {
    format!(
        "SET TERM ^;
         EXECUTE BLOCK AS DECLARE g BIGINT = 1; BEGIN WHILE (g <= {rows}) DO BEGIN
           INSERT INTO word_dictionary VALUES (:g,
             ascii_char(97 + mod(:g * 7919, 26)) || ascii_char(97 + mod(:g * 104729, 26)) || ascii_char(97 + mod(:g * 1299709, 26))
               || substring('ationsmentingablyousness' from cast(1 + mod(:g, 17) as integer) for cast(3 + mod(:g, 5) as integer))
               || mod(:g * 2654435761, 1000003), :g / 7);
           g = g + 1; END END^
         SET TERM ;^
         COMMIT;"
    )
}

fn compare(tools: &Tools<'_>, rows: u64) -> Result<(), BenchError> {
    let wrong = |message: String| BenchError::Wrong { engine: NAME, message };
    let all = "SET HEADING OFF;
        SELECT code_dictionary || '|' || name || '|' || code_parent FROM word_dictionary;";
    let (_, told) = tools.script(all)?;
    let mut comparison = Comparison::new(rows);
    for line in told.lines().map(str::trim).filter(|line| !line.is_empty()) {
        comparison.texts(&line.split('|').collect::<Vec<_>>()).map_err(wrong)?;
    }
    comparison.end().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seconds_before_the_indexes_are_read_from_what_gbak_tells() {
        let told = "gbak:    0.424    200000 records restored\ngbak:    0.427 creating indexes\ngbak:    0.807 fixing views dbkey length\n";
        assert_eq!(data_seconds(told), Some(0.427));
        assert_eq!(data_seconds("gbak:opened file w.fbk"), None);
    }
}
